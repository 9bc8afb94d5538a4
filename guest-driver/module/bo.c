// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: ranges of the shared-memory region or of device memory, and the GEM objects that name them.
 *
 * How it works: a vgpgpu_buf is what the device knows. The GEM object holds one reference on it, every
 * job that uses it another; the device's buffer, and its range of the region, go when all have. A range
 * is overwritten before anybody gets to see it: with zeros for a user, with instructions for a program.
 *
 * User space reaches the region's pages, which have no struct page, through faults, so that
 * drm_dev_unplug() can take them away again. The mapping is write-back: the region is ordinary memory
 * of the host's.
 *
 * A buffer that is shared (PRIME, within this device) is attached to each context that has a handle to
 * it. It stays a buffer of the context that made it, which lives at least as long on the device.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/virtio_gpgpu_drm.h>

#include "bo.h"
#include "ctx.h"

#define FAULT_AROUND	64	/* pages */

static_assert((int)DRM_VIRTIO_GPGPU_BO_SHM == (int)VIRTIO_GPGPU_MEM_SHM);
static_assert((int)DRM_VIRTIO_GPGPU_BO_DEVICE == (int)VIRTIO_GPGPU_MEM_DEVICE);

struct vgpgpu_bo {
	struct drm_gem_object gem;
	struct vgpgpu_buf *buf;
};

#define to_bo(gem_obj) container_of(gem_obj, struct vgpgpu_bo, gem)

/* -------------------------------------------------------------------------------- the device's buffer */

static void buf_free(struct vgpgpu_obj *obj)
{
	struct vgpgpu_buf *buf = container_of(obj, struct vgpgpu_buf, obj);
	struct vgpgpu_device *gdev = obj->gdev;

	if (drm_mm_node_allocated(&buf->node)) {
		spin_lock(&gdev->mm_lock);
		drm_mm_remove_node(&buf->node);
		obj->ctx->shm_bytes -= buf->size;
		spin_unlock(&gdev->mm_lock);
		wake_up_all(&gdev->mm_wait);
	}
	kfree(buf);
}

static u64 max_per_file(struct vgpgpu_device *gdev)
{
	return mul_u64_u32_div(gdev->shm_size, READ_ONCE(vgpgpu_shm_percent), 100);
}

static int buf_try_place(struct vgpgpu_device *gdev, struct vgpgpu_buf *buf)
{
	struct vgpgpu_ctx *ctx = buf->obj.ctx;
	int ret = -ENOSPC;

	spin_lock(&gdev->mm_lock);
	if (ctx->shm_bytes + buf->size <= max_per_file(gdev))
		ret = drm_mm_insert_node_generic(&gdev->mm, &buf->node, buf->size, PAGE_SIZE, 0,
						 DRM_MM_INSERT_BEST);
	if (!ret)
		ctx->shm_bytes += buf->size;
	spin_unlock(&gdev->mm_lock);
	return ret;
}

/*
 * Finds room in the region, of which no file gets all, so that others get something. What was closed a
 * moment ago may still be on its way to the device and back, so a full region is given a little time.
 */
static int buf_place(struct vgpgpu_device *gdev, struct vgpgpu_buf *buf)
{
	int ret = 0;
	long left;

	if (buf->size > max_per_file(gdev))
		return -ENOMEM;
	left = wait_event_interruptible_timeout(gdev->mm_wait,
						(ret = buf_try_place(gdev, buf)) != -ENOSPC,
						msecs_to_jiffies(200));
	if (left < 0)
		return left;
	return ret == -ENOSPC ? -ENOMEM : ret;
}

/* Overwrites the whole range, so that nothing of a former user's is left in it. */
static int buf_fill(struct vgpgpu_device *gdev, struct vgpgpu_buf *buf, const void *data, size_t len)
{
	u64 pos, n;
	int idx;

	for (pos = 0; pos < buf->size; pos += n) {
		n = min_t(u64, buf->size - pos, SZ_1M);
		if (fatal_signal_pending(current))
			return -EINTR;
		if (!drm_dev_enter(&gdev->drm, &idx))
			return -ENODEV;
		memset(gdev->shm + buf->node.start + pos, 0, n);
		if (!pos && len)
			memcpy(gdev->shm + buf->node.start, data, len);
		drm_dev_exit(idx);
		cond_resched();
	}
	return 0;
}

/**
 * vgpgpu_buf_create() - make a buffer on the device
 * @ctx:	context, which the device has
 * @mem:	DRM_VIRTIO_GPGPU_BO_*
 * @size:	bytes, a multiple of PAGE_SIZE
 * @data:	what it starts with, zeros follow; for kind SHM only
 * @data_len:	bytes of @data, at most 1 MiB and @size
 * @result:	filled with what the device said
 *
 * Return: the buffer with one reference, or an ERR_PTR
 */
struct vgpgpu_buf *vgpgpu_buf_create(struct vgpgpu_ctx *ctx, u32 mem, u64 size, const void *data,
				     size_t data_len, struct drm_virtio_gpgpu_result *result)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	struct virtio_gpgpu_req_buffer_create *req;
	struct vgpgpu_cmd *cmd;
	struct vgpgpu_buf *buf;
	int ret;

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	ret = vgpgpu_obj_init(&buf->obj, gdev, ctx, VGPGPU_BUFFER, buf_free);
	if (ret) {
		kfree(buf);
		return ERR_PTR(ret);
	}
	buf->mem = mem;
	buf->size = size;
	if (mem == DRM_VIRTIO_GPGPU_BO_SHM) {
		ret = buf_place(gdev, buf);
		if (!ret)
			ret = buf_fill(gdev, buf, data, data_len);
		if (ret)
			goto fail;
	}

	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_BUFFER_CREATE, ctx->obj.id, sizeof(*req),
			       sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd)) {
		ret = PTR_ERR(cmd);
		goto fail;
	}
	req = cmd->req.out;
	req->id = cpu_to_le32(buf->obj.id);
	req->mem = cpu_to_le32(mem);
	req->offset = cpu_to_le64(mem == DRM_VIRTIO_GPGPU_BO_SHM ? buf->node.start : 0);
	req->size = cpu_to_le64(size);
	vgpgpu_obj_get(&buf->obj);
	cmd->creates = &buf->obj;
	ret = vgpgpu_cmd_run(cmd, result);
	vgpgpu_cmd_put(cmd);
	if (!ret)
		return buf;
fail:
	vgpgpu_obj_put(&buf->obj);
	return ERR_PTR(ret);
}

/* ------------------------------------------------------------------------------------ the GEM object */

static void bo_free(struct drm_gem_object *gem)
{
	struct vgpgpu_bo *bo = to_bo(gem);

	drm_gem_object_release(gem);
	if (bo->buf)
		vgpgpu_obj_put(&bo->buf->obj);
	kfree(bo);
}

/* A context's right to a buffer of another one, for as long as the file has handles to it. */
struct attachment {
	unsigned long handles;
	struct vgpgpu_cmd *detach;	/* made beforehand: giving it up cannot fail */
};

static struct vgpgpu_cmd *attach_cmd(struct vgpgpu_ctx *ctx, struct vgpgpu_buf *buf, u32 type)
{
	struct virtio_gpgpu_req_ctx_attach *req;
	struct vgpgpu_cmd *cmd;

	cmd = vgpgpu_cmd_alloc(buf->obj.gdev, type, ctx->obj.id, sizeof(*req),
			       sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd))
		return cmd;
	req = cmd->req.out;
	req->object = cpu_to_le32(VIRTIO_GPGPU_OBJ_BUFFER);
	req->id = cpu_to_le32(buf->obj.id);
	vgpgpu_obj_get(&buf->obj);
	cmd->uses = &buf->obj;
	return cmd;
}

/* Gives the context the buffer. Called with its lock held. */
static int attach(struct vgpgpu_ctx *ctx, struct vgpgpu_buf *buf)
{
	struct vgpgpu_cmd *cmd, *detach;
	struct attachment *a;
	int ret;

	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	detach = attach_cmd(ctx, buf, VIRTIO_GPGPU_CMD_CTX_DETACH);
	if (IS_ERR(detach)) {
		ret = PTR_ERR(detach);
		goto free;
	}
	cmd = attach_cmd(ctx, buf, VIRTIO_GPGPU_CMD_CTX_ATTACH);
	if (IS_ERR(cmd)) {
		ret = PTR_ERR(cmd);
		goto put;
	}
	a->handles = 1;
	a->detach = detach;
	ret = xa_err(xa_store(&ctx->attached, buf->obj.id, a, GFP_KERNEL_ACCOUNT));
	if (!ret) {
		ret = vgpgpu_cmd_run(cmd, NULL);
		if (ret == -EEXIST)
			ret = 0;
		if (ret)
			xa_erase(&ctx->attached, buf->obj.id);
	}
	vgpgpu_cmd_put(cmd);
	if (!ret)
		return 0;
	/* Who is being killed does not know what came of it. */
	if (ret == -EINTR) {
		vgpgpu_cmd_post(detach);
		kfree(a);
		return ret;
	}
put:
	vgpgpu_cmd_put(detach);
free:
	kfree(a);
	return ret;
}

/* A file gets a handle: its context may use the buffer from now on. */
static int bo_open(struct drm_gem_object *gem, struct drm_file *file)
{
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_buf *buf = to_bo(gem)->buf;
	struct attachment *a;
	int ret;

	if (buf->obj.ctx == ctx)
		return 0;
	if (!vgpgpu_ctx_alive(buf->obj.ctx))
		return -ENODEV;
	ret = vgpgpu_ctx_get_ready(ctx, NULL);
	if (ret)
		return ret;

	mutex_lock(&ctx->lock);
	a = xa_load(&ctx->attached, buf->obj.id);
	if (a)
		a->handles++;
	else
		ret = attach(ctx, buf);
	mutex_unlock(&ctx->lock);
	return ret;
}

static void bo_close(struct drm_gem_object *gem, struct drm_file *file)
{
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_buf *buf = to_bo(gem)->buf;
	struct attachment *a;

	if (buf->obj.ctx == ctx)
		return;
	mutex_lock(&ctx->lock);
	a = xa_load(&ctx->attached, buf->obj.id);
	if (a && !--a->handles) {
		xa_erase(&ctx->attached, buf->obj.id);
		if (vgpgpu_ctx_alive(ctx))
			vgpgpu_cmd_post(a->detach);
		else
			vgpgpu_cmd_put(a->detach);
		kfree(a);
	}
	mutex_unlock(&ctx->lock);
}

static vm_fault_t bo_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *gem = vma->vm_private_data;
	struct vgpgpu_device *gdev = to_vgpgpu(gem->dev);
	struct vgpgpu_buf *buf = to_bo(gem)->buf;
	pgoff_t page = vmf->pgoff - drm_vma_node_start(&gem->vma_node);
	pgoff_t first, last, i;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long pfn;
	int idx;

	if (page >= buf->size >> PAGE_SHIFT || !drm_dev_enter(gem->dev, &idx))
		return ret;

	pfn = (gdev->shm_phys + buf->node.start) >> PAGE_SHIFT;
	ret = vmf_insert_pfn(vma, vmf->address, pfn + page);
	/* Neighbours will most likely be wanted too; where one fails it has its own fault later. */
	first = page - min3(page, (vmf->address - vma->vm_start) >> PAGE_SHIFT,
			    (unsigned long)page % FAULT_AROUND);
	last = min3(first + FAULT_AROUND, page + ((vma->vm_end - vmf->address - 1) >> PAGE_SHIFT) + 1,
		    (unsigned long)(buf->size >> PAGE_SHIFT));
	for (i = first; i < last && ret == VM_FAULT_NOPAGE; i++) {
		unsigned long address = (vmf->address & PAGE_MASK) - (page - i) * PAGE_SIZE;

		if (i != page && vmf_insert_pfn(vma, address, pfn + i) != VM_FAULT_NOPAGE)
			break;
	}
	drm_dev_exit(idx);
	return ret;
}

static const struct vm_operations_struct bo_vm_ops = {
	.open	= drm_gem_vm_open,
	.close	= drm_gem_vm_close,
	.fault	= bo_fault,
};

static int bo_mmap(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	if (to_bo(gem)->buf->mem != DRM_VIRTIO_GPGPU_BO_SHM)
		return -ENODEV;
	if (is_cow_mapping(vma->vm_flags))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	return 0;
}

/*
 * Nor can the device reach memory that is not its own. DRM says -EINVAL to that, which is also what it says to a descriptor that
 * is no dma-buf.
 */
struct drm_gem_object *vgpgpu_gem_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *gem = drm_gem_prime_import(drm, dma_buf);

	return gem == ERR_PTR(-EINVAL) ? ERR_PTR(-EOPNOTSUPP) : gem;
}

/* Other devices cannot reach a buffer: its pages are the host's, not the guest's. */
static int bo_pin(struct drm_gem_object *gem)
{
	return -EOPNOTSUPP;
}

static enum drm_gem_object_status bo_status(struct drm_gem_object *gem)
{
	return DRM_GEM_OBJECT_RESIDENT;
}

static const struct drm_gem_object_funcs bo_funcs = {
	.free	= bo_free,
	.open	= bo_open,
	.close	= bo_close,
	.pin	= bo_pin,
	.mmap	= bo_mmap,
	.status	= bo_status,
	.vm_ops	= &bo_vm_ops,
};

/* Return: the buffer behind a GEM handle, with a reference, or NULL */
struct vgpgpu_buf *vgpgpu_buf_find(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, handle);
	struct vgpgpu_buf *buf;

	if (!gem)
		return NULL;
	buf = to_bo(gem)->buf;
	vgpgpu_obj_get(&buf->obj);
	drm_gem_object_put(gem);
	return buf;
}

int vgpgpu_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_bo_create *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_buf *buf;
	struct vgpgpu_bo *bo;
	u64 size;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->mem != DRM_VIRTIO_GPGPU_BO_SHM && args->mem != DRM_VIRTIO_GPGPU_BO_DEVICE)
		return -EINVAL;
	if (!args->size || args->size > S64_MAX - PAGE_SIZE || args->size > SIZE_MAX - PAGE_SIZE)
		return -EINVAL;
	size = round_up(args->size, PAGE_SIZE);

	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (ret)
		return ret;
	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo)
		return -ENOMEM;
	buf = vgpgpu_buf_create(ctx, args->mem, size, NULL, 0, &args->result);
	if (IS_ERR(buf)) {
		kfree(bo);
		return PTR_ERR(buf);
	}

	bo->buf = buf;
	bo->gem.funcs = &bo_funcs;
	drm_gem_private_object_init(drm, &bo->gem, size);
	ret = 0;
	if (args->mem == DRM_VIRTIO_GPGPU_BO_SHM)
		ret = drm_gem_create_mmap_offset(&bo->gem);
	if (!ret)
		ret = drm_gem_handle_create(file, &bo->gem, &args->handle);
	if (!ret) {
		args->size = size;
		args->mmap_offset = args->mem == DRM_VIRTIO_GPGPU_BO_SHM ?
					    drm_vma_node_offset_addr(&bo->gem.vma_node) : 0;
	}
	drm_gem_object_put(&bo->gem);	/* the handle has its own reference */
	return ret;
}
