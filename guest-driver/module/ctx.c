// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: what an open file is to the device.
 *
 * How it works: opening a file allocates a context in the driver; the device hears of it with the first
 * ioctl that needs it. Closing the file drops its handles and cancels its jobs. What is then still
 * under way on the device keeps the context by its references and goes in the right order by itself:
 * jobs, programs, maps and buffers, at last the context.
 *
 * A device that was lost has forgotten every context. The files that were open then keep getting
 * -ENODEV; a file that is opened afterwards works.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include <drm/drm_print.h>
#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "job.h"

static void ctx_free(struct vgpgpu_obj *obj)
{
	struct vgpgpu_ctx *ctx = container_of(obj, struct vgpgpu_ctx, obj);

	xa_destroy(&ctx->maps);
	xa_destroy(&ctx->progs);
	xa_destroy(&ctx->jobs);
	xa_destroy(&ctx->attached);
	mutex_destroy(&ctx->lock);
	kfree(ctx);
}

int vgpgpu_ctx_open(struct drm_device *drm, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct vgpgpu_ctx *ctx;
	unsigned int i;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return -ENOMEM;
	ret = vgpgpu_obj_init(&ctx->obj, gdev, NULL, VGPGPU_CTX, ctx_free);
	if (ret) {
		kfree(ctx);
		return ret;
	}

	mutex_init(&ctx->lock);
	xa_init_flags(&ctx->maps, XA_FLAGS_ALLOC1);
	xa_init_flags(&ctx->progs, XA_FLAGS_ALLOC1);
	xa_init_flags(&ctx->jobs, XA_FLAGS_ALLOC1);
	xa_init(&ctx->attached);
	spin_lock_init(&ctx->tl_lock);
	for (i = 0; i < VGPGPU_NUM_TIMELINES; i++)
		INIT_LIST_HEAD(&ctx->timelines[i].jobs);
	INIT_WORK(&ctx->pump_work, vgpgpu_timeline_pump_work);
	INIT_LIST_HEAD(&ctx->cancel_node);
	INIT_LIST_HEAD(&ctx->slot_node);
	ctx->fence_context = dma_fence_context_alloc(VGPGPU_NUM_TIMELINES);
	file->driver_priv = ctx;
	return 0;
}

static void drop_handles(struct xarray *handles)
{
	struct vgpgpu_obj *obj;
	unsigned long handle;

	xa_for_each(handles, handle, obj) {
		xa_erase(handles, handle);
		vgpgpu_obj_put(obj);
	}
}

void vgpgpu_ctx_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct vgpgpu_ctx *ctx = file->driver_priv;

	vgpgpu_timeline_close(ctx);
	vgpgpu_job_drop_handles(ctx);
	drop_handles(&ctx->progs);
	drop_handles(&ctx->maps);
	vgpgpu_obj_put(&ctx->obj);
}

/* Return: whether the device has this context, as far as is known */
bool vgpgpu_ctx_alive(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;

	return !READ_ONCE(ctx->lost) && ctx->generation == READ_ONCE(gdev->generation) &&
	       ctx->resets == READ_ONCE(gdev->resets);
}

/* Any context. The device has just made it, in this generation. */
void vgpgpu_ctx_created(struct vgpgpu_obj *obj, u32 generation)
{
	container_of(obj, struct vgpgpu_ctx, obj)->generation = generation;
}

/**
 * vgpgpu_ctx_get_ready() - make sure that the device has the context
 * @ctx:	context
 * @result:	filled with what the device said, or NULL
 *
 * Return: 0, -ENODEV if it had it and was lost since, or another errno of its creation
 */
int vgpgpu_ctx_get_ready(struct vgpgpu_ctx *ctx, struct drm_virtio_gpgpu_result *result)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	struct vgpgpu_cmd *cmd;
	int ret;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (ctx->generation || ctx->abandoned) {
		ret = vgpgpu_ctx_alive(ctx) ? 0 : -ENODEV;
		goto unlock;
	}

	/* Before the command: a reset that overtakes it must not go unnoticed. */
	ctx->resets = READ_ONCE(gdev->resets);
	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_CTX_CREATE, ctx->obj.id,
			       sizeof(struct virtio_gpgpu_req_hdr),
			       sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd)) {
		ret = PTR_ERR(cmd);
		goto unlock;
	}
	vgpgpu_obj_get(&ctx->obj);
	cmd->creates = &ctx->obj;
	ret = vgpgpu_cmd_run(cmd, result);
	/* The answer may still come and make the context; another try would find its id taken. */
	if (ret == -EINTR)
		ctx->abandoned = true;
	vgpgpu_cmd_put(cmd);
unlock:
	mutex_unlock(&ctx->lock);
	return ret;
}

/* Return: the object behind a handle of this file, with a reference, or NULL */
struct vgpgpu_obj *vgpgpu_ctx_find(struct xarray *handles, u32 handle)
{
	struct vgpgpu_obj *obj;

	xa_lock(handles);
	obj = xa_load(handles, handle);
	if (obj)
		vgpgpu_obj_get(obj);
	xa_unlock(handles);
	return obj;
}

int vgpgpu_ctx_destroy_handle(struct xarray *handles, u32 handle)
{
	struct vgpgpu_obj *obj = xa_erase(handles, handle);

	if (!obj)
		return -ENOENT;
	vgpgpu_obj_put(obj);
	return 0;
}

/* What nvtop and the like read from /proc/PID/fdinfo; see Documentation/gpu/drm-usage-stats.rst. */
void vgpgpu_ctx_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct vgpgpu_ctx *ctx = file->driver_priv;

	drm_printf(p, "drm-engine-compute:\t%lld ns\n", atomic64_read(&ctx->compute_ns));
	drm_printf(p, "drm-engine-packet:\t%lld ns\n", atomic64_read(&ctx->packet_ns));
	drm_printf(p, "virtio-gpgpu-jobs:\t%lld\n", atomic64_read(&ctx->num_jobs));
	drm_show_memory_stats(p, file);
}

/* ------------------------------------------------------------------------------- caps and statistics */

/**
 * vgpgpu_caps_get() - what the device can do
 * @gdev:	device
 * @caps:	out: as on the wire, little endian
 *
 * Return: 0 or -errno
 */
int vgpgpu_caps_get(struct vgpgpu_device *gdev, struct virtio_gpgpu_caps *caps)
{
	const struct virtio_gpgpu_resp_caps *resp;
	struct virtio_gpgpu_req_caps *req;
	struct vgpgpu_cmd *cmd;
	u32 max_jobs;
	int ret = 0;

	if (mutex_lock_interruptible(&gdev->caps_lock))
		return -ERESTARTSYS;
	if (READ_ONCE(gdev->caps_valid))
		goto copy;

	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_GET_CAPS, 0, sizeof(*req), sizeof(*resp));
	if (IS_ERR(cmd)) {
		ret = PTR_ERR(cmd);
		goto unlock;
	}
	req = cmd->req.out;
	req->version = cpu_to_le32(VIRTIO_GPGPU_CAPS_VERSION);
	/* Before the command: what makes the answer stale must not go unnoticed. */
	WRITE_ONCE(gdev->caps_valid, true);
	ret = vgpgpu_cmd_run(cmd, NULL);
	if (!ret) {
		/* A later version's record may be longer; its start is this one's. */
		resp = cmd->req.in;
		if (cmd->req.in_len < sizeof(*resp))
			ret = -EPROTO;
		else
			gdev->caps = resp->caps;
	}
	if (ret) {
		WRITE_ONCE(gdev->caps_valid, false);
	} else {
		max_jobs = le32_to_cpu(gdev->caps.max_jobs);
		vgpgpu_timeline_set_slots(gdev, max_jobs);
	}
	vgpgpu_cmd_put(cmd);
copy:
	if (!ret)
		*caps = gdev->caps;
unlock:
	mutex_unlock(&gdev->caps_lock);
	return ret;
}

/* Copies a record of @len bytes to a user who has room for *@size; *@size becomes what was copied. */
static int copy_record(u64 ptr, u32 *size, const void *record, size_t len)
{
	*size = min_t(size_t, *size, len);
	return copy_to_user(u64_to_user_ptr(ptr), record, *size) ? -EFAULT : 0;
}

int vgpgpu_get_caps_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct drm_virtio_gpgpu_get_caps *args = data;
	struct virtio_gpgpu_caps caps;
	int ret;

	ret = vgpgpu_caps_get(gdev, &caps);
	if (ret)
		return ret;
	args->generation = READ_ONCE(gdev->generation);
	return copy_record(args->ptr, &args->size, &caps, sizeof(caps));
}

int vgpgpu_get_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct drm_virtio_gpgpu_get_stats *args = data;
	struct vgpgpu_cmd *cmd;
	int ret;

	if (args->pad)
		return -EINVAL;

	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_GET_STATS, 0,
			       sizeof(struct virtio_gpgpu_req_hdr),
			       sizeof(struct virtio_gpgpu_resp_stats));
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	ret = vgpgpu_cmd_run(cmd, NULL);
	if (!ret)
		ret = copy_record(args->ptr, &args->size, cmd->req.in, cmd->req.in_len);
	vgpgpu_cmd_put(cmd);
	return ret;
}
