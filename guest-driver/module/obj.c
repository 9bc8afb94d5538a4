// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects of the device, and synchronous control commands.
 *
 * How it works: an object is reference counted, and everything that needs it on the device holds a
 * reference: the handle, each job that uses it, each object that refers to it (a program its maps, a
 * buffer its context), and each command that is under way and names it. When the last one goes, the
 * object's DESTROY is sent; when that has been answered, the id (and a buffer's memory) is free again.
 * Nobody waits for any of this, which is why closing a file never blocks, and why nothing can be freed
 * that the device may still touch.
 *
 * A waiter may be killed: the command then goes on without it and keeps what it needs by its
 * references. An object that such a command creates is destroyed as soon as it has been created.
 *
 * Contexts: vgpgpu_obj_put() may be called in any; free() functions run in vgpgpu_wq.
 */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "obj.h"

/* ------------------------------------------------------------------------------------------ errors */

static const int status_errno[VIRTIO_GPGPU_S_COUNT] = {
	[VIRTIO_GPGPU_S_OK]		= 0,
	[VIRTIO_GPGPU_S_INVALID]	= -EINVAL,
	[VIRTIO_GPGPU_S_UNSUPPORTED]	= -EOPNOTSUPP,
	[VIRTIO_GPGPU_S_NOT_FOUND]	= -ENOENT,
	[VIRTIO_GPGPU_S_EXISTS]		= -EEXIST,
	[VIRTIO_GPGPU_S_BUSY]		= -EBUSY,
	[VIRTIO_GPGPU_S_NO_MEMORY]	= -ENOMEM,
	[VIRTIO_GPGPU_S_LIMIT]		= -EDQUOT,	/* R_MAP_FULL: -E2BIG, as bpf(2) says it */
	[VIRTIO_GPGPU_S_PERMISSION]	= -EACCES,
	[VIRTIO_GPGPU_S_REJECTED]	= -EINVAL,
	[VIRTIO_GPGPU_S_FAULT]		= -EIO,
	[VIRTIO_GPGPU_S_CANCELLED]	= -ECANCELED,
	[VIRTIO_GPGPU_S_DEVICE_LOST]	= -ENODEV,
	[VIRTIO_GPGPU_S_TIMEOUT]	= -ETIMEDOUT,
	[VIRTIO_GPGPU_S_END]		= -ENOENT,
};

/* Return: what an ioctl returns for what the device said */
int vgpgpu_errno(u32 status, u32 reason)
{
	if (status >= ARRAY_SIZE(status_errno))
		return -EPROTO;
	if (status == VIRTIO_GPGPU_S_LIMIT && reason == VIRTIO_GPGPU_R_MAP_FULL)
		return -E2BIG;
	return status_errno[status];
}

/* ---------------------------------------------------------------------------------------- commands */

static void cmd_release(struct kref *ref)
{
	struct vgpgpu_cmd *cmd = container_of(ref, struct vgpgpu_cmd, ref);

	if (cmd->creates)
		vgpgpu_obj_put(cmd->creates);
	if (cmd->uses)
		vgpgpu_obj_put(cmd->uses);
	vgpgpu_req_fini(&cmd->req);
	kfree(cmd);
}

void vgpgpu_cmd_put(struct vgpgpu_cmd *cmd)
{
	kref_put(&cmd->ref, cmd_release);
}

static void cmd_done(struct vgpgpu_req *req)
{
	struct vgpgpu_cmd *cmd = container_of(req, struct vgpgpu_cmd, req);

	if (cmd->creates && vgpgpu_req_status(req) == VIRTIO_GPGPU_S_OK) {
		cmd->creates->created = true;
		if (cmd->creates->kind == VGPGPU_CTX)
			vgpgpu_ctx_created(cmd->creates,
					   le32_to_cpu(vgpgpu_req_resp(req)->generation));
	}
	complete_all(&cmd->done);
	vgpgpu_cmd_put(cmd);
}

/**
 * vgpgpu_cmd_alloc() - prepare a control command
 * @gdev:	device
 * @type:	VIRTIO_GPGPU_CMD_*
 * @ctx_id:	context that it acts in
 * @out_len:	bytes of the request, header included; the header is filled in
 * @in_cap:	bytes that the response may have
 *
 * Return: the command, or an ERR_PTR: -ENOMEM, -E2BIG
 */
struct vgpgpu_cmd *vgpgpu_cmd_alloc(struct vgpgpu_device *gdev, u32 type, u32 ctx_id,
				    size_t out_len, size_t in_cap)
{
	struct vgpgpu_cmd *cmd = kzalloc(sizeof(*cmd), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!cmd)
		return ERR_PTR(-ENOMEM);
	ret = vgpgpu_req_init(gdev, &cmd->req, out_len, in_cap);
	if (ret) {
		kfree(cmd);
		return ERR_PTR(ret);
	}
	kref_init(&cmd->ref);
	init_completion(&cmd->done);
	cmd->gdev = gdev;
	cmd->req.done = cmd_done;
	cmd->req.timeout_ms = vgpgpu_control_timeout_ms;
	vgpgpu_req_header(&cmd->req, type, 0, ctx_id);
	return cmd;
}

static bool cmd_send(struct vgpgpu_cmd *cmd)
{
	kref_get(&cmd->ref);
	if (vgpgpu_queue_add(&cmd->gdev->queues[VIRTIO_GPGPU_VQ_CONTROL], &cmd->req))
		return true;
	vgpgpu_cmd_put(cmd);
	return false;
}

/**
 * vgpgpu_cmd_run() - send a command and wait for its answer
 * @cmd:	command; stays the caller's
 * @result:	filled with what the device said; may be NULL
 *
 * The wait is bounded by the watchdog, which resets a device that does not answer.
 *
 * Return: 0, the errno of the device's status, or -EINTR if the caller is being killed
 */
int vgpgpu_cmd_run(struct vgpgpu_cmd *cmd, struct drm_virtio_gpgpu_result *result)
{
	const struct virtio_gpgpu_resp_hdr *hdr;
	u32 status, reason;

	if (!cmd_send(cmd))
		return -ENODEV;
	if (wait_for_completion_killable(&cmd->done))
		return -EINTR;

	hdr = vgpgpu_req_resp(&cmd->req);
	status = le32_to_cpu(hdr->status);
	reason = le32_to_cpu(hdr->reason);
	if (result) {
		result->status = status;
		result->reason = reason;
		result->detail = le64_to_cpu(hdr->detail);
	}
	return vgpgpu_errno(status, reason);
}

/* Sends a command whose answer nobody needs, and lets go of it. */
void vgpgpu_cmd_post(struct vgpgpu_cmd *cmd)
{
	cmd_send(cmd);
	vgpgpu_cmd_put(cmd);
}

/* A command that names an object and has no further answer: MAP_FREEZE. */
int vgpgpu_cmd_id(struct vgpgpu_obj *obj, struct vgpgpu_ctx *ctx, u32 type,
		  struct drm_virtio_gpgpu_result *result)
{
	struct virtio_gpgpu_req_id *req;
	struct vgpgpu_cmd *cmd;
	int ret;

	cmd = vgpgpu_cmd_alloc(obj->gdev, type, ctx->obj.id, sizeof(*req),
			       sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(obj->id);
	vgpgpu_obj_get(obj);
	cmd->uses = obj;
	ret = vgpgpu_cmd_run(cmd, result);
	vgpgpu_cmd_put(cmd);
	return ret;
}

/* ----------------------------------------------------------------------------------------- objects */

static const u32 destroy_type[VGPGPU_NUM_OBJECTS] = {
	[VGPGPU_CTX]	= VIRTIO_GPGPU_CMD_CTX_DESTROY,
	[VGPGPU_BUFFER]	= VIRTIO_GPGPU_CMD_BUFFER_DESTROY,
	[VGPGPU_MAP]	= VIRTIO_GPGPU_CMD_MAP_DESTROY,
	[VGPGPU_PROG]	= VIRTIO_GPGPU_CMD_PROG_DESTROY,
};

/* Any context. The device does not have the object any more: the rest of it goes in vgpgpu_wq. */
static void obj_queue_free(struct vgpgpu_obj *obj)
{
	struct vgpgpu_device *gdev = obj->gdev;

	/*
	 * Whoever finds the list empty queues the work, once, and a run of the work takes one such list.
	 * So what is listed keeps the device until the work runs, and nobody drops a reference on it here.
	 */
	if (llist_add(&obj->node, &gdev->free_list))
		queue_work(vgpgpu_wq, &gdev->free_work);
}

static void obj_send_destroy(struct vgpgpu_obj *obj)
{
	struct vgpgpu_queue *q = &obj->gdev->queues[VIRTIO_GPGPU_VQ_CONTROL];
	struct vgpgpu_ctx *ctx = obj->kind == VGPGPU_CTX ?
					 container_of(obj, struct vgpgpu_ctx, obj) : obj->ctx;

	if (!obj->created || !vgpgpu_ctx_alive(ctx) || !vgpgpu_queue_add(q, &obj->destroy))
		obj_queue_free(obj);
}

static void obj_destroyed(struct vgpgpu_req *req)
{
	struct vgpgpu_obj *obj = container_of(req, struct vgpgpu_obj, destroy);
	struct vgpgpu_device *gdev = obj->gdev;

	/*
	 * BUSY can come although every job that used the object has been answered: queues are not
	 * ordered with each other, and another context may use a buffer that was shared. NO_MEMORY is
	 * this driver's: the request was not sent.
	 */
	if (vgpgpu_req_status(req) == VIRTIO_GPGPU_S_BUSY ||
	    vgpgpu_req_status(req) == VIRTIO_GPGPU_S_NO_MEMORY) {
		WRITE_ONCE(req->deadline, 0);
		llist_add(&obj->node, &gdev->retry_list);
		queue_delayed_work(vgpgpu_wq, &gdev->retry_work, msecs_to_jiffies(10));
		return;
	}
	obj_queue_free(obj);
}

static void obj_release(struct kref *ref)
{
	obj_send_destroy(container_of(ref, struct vgpgpu_obj, ref));
}

void vgpgpu_obj_put(struct vgpgpu_obj *obj)
{
	kref_put(&obj->ref, obj_release);
}

/**
 * vgpgpu_obj_init() - set up an object that the device does not have yet
 * @obj:	zeroed, in the structure of its kind
 * @gdev:	device
 * @ctx:	context that it belongs to, or NULL if it is a context
 * @kind:	what it is
 * @free:	frees the structure, and what else belongs to it; not called if this fails
 *
 * Return: 0 with one reference for the caller, -ENOMEM, or -ENOSPC if there are no ids left
 */
int vgpgpu_obj_init(struct vgpgpu_obj *obj, struct vgpgpu_device *gdev, struct vgpgpu_ctx *ctx,
		    enum vgpgpu_object kind, void (*free)(struct vgpgpu_obj *obj))
{
	bool is_ctx = kind == VGPGPU_CTX;
	size_t len = is_ctx ? sizeof(struct virtio_gpgpu_req_hdr) :
			      sizeof(struct virtio_gpgpu_req_id);
	int ret;

	ret = vgpgpu_req_init(gdev, &obj->destroy, len, sizeof(struct virtio_gpgpu_resp_hdr));
	if (ret)
		return ret;
	ret = ida_alloc_range(&gdev->ids[kind], 1, VIRTIO_GPGPU_MAX_ID - 1, GFP_KERNEL);
	if (ret < 0) {
		vgpgpu_req_fini(&obj->destroy);
		return ret;
	}

	kref_init(&obj->ref);
	obj->gdev = gdev;
	obj->kind = kind;
	obj->id = ret;
	obj->free = free;
	obj->destroy.done = obj_destroyed;
	obj->destroy.timeout_ms = vgpgpu_control_timeout_ms;
	vgpgpu_req_header(&obj->destroy, destroy_type[kind], 0, is_ctx ? obj->id : ctx->obj.id);
	if (is_ctx) {
		drm_dev_get(&gdev->drm);
	} else {
		struct virtio_gpgpu_req_id *req = obj->destroy.out;

		req->id = cpu_to_le32(obj->id);
		vgpgpu_obj_get(&ctx->obj);
		obj->ctx = ctx;
	}
	return 0;
}

void vgpgpu_obj_free_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev = container_of(work, struct vgpgpu_device, free_work);
	struct llist_node *list;
	struct vgpgpu_obj *obj, *next;

	drm_dev_get(&gdev->drm);
	list = llist_del_all(&gdev->free_list);
	llist_for_each_entry_safe(obj, next, list, node) {
		struct vgpgpu_ctx *ctx = obj->ctx;
		enum vgpgpu_object kind = obj->kind;
		u32 id = obj->id;

		vgpgpu_req_fini(&obj->destroy);
		obj->free(obj);
		/* Last: free() may know the object by its id, which the next one then gets. */
		ida_free(&gdev->ids[kind], id);
		if (kind == VGPGPU_CTX)
			drm_dev_put(&gdev->drm);
		else
			vgpgpu_obj_put(&ctx->obj);
	}
	drm_dev_put(&gdev->drm);
}

void vgpgpu_obj_retry_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev =
		container_of(to_delayed_work(work), struct vgpgpu_device, retry_work);
	struct llist_node *list = llist_del_all(&gdev->retry_list);
	struct vgpgpu_obj *obj, *next;

	llist_for_each_entry_safe(obj, next, list, node)
		obj_send_destroy(obj);
}
