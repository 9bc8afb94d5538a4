// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records that programs leave in ring buffers, and who waits for them.
 *
 * How it works: the device says by an event that a map has records, once, and again only after a read
 * has emptied it. So has_data is set by the event, is cleared before a read is sent, and set again if that brings
 * something: an event that comes while the read is under way is not lost. One wait queue serves all maps of
 * the device; there are few, and whoever is woken looks at its own.
 *
 * An event can be lost, which a later one says, and the device can: both wake everybody.
 */
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "map.h"

/* Makes the map known to events. No context of its own: the map is not on the device yet. */
int vgpgpu_map_records_init(struct vgpgpu_map *map)
{
	if (!vgpgpu_map_has_records(map))
		return 0;
	return xa_err(xa_store_irq(&map->obj.gdev->record_maps, map->obj.id, map,
				   GFP_KERNEL_ACCOUNT));
}

/* The device does not have the map any more; its id is still its own. */
void vgpgpu_map_records_fini(struct vgpgpu_map *map)
{
	if (vgpgpu_map_has_records(map))
		xa_erase_irq(&map->obj.gdev->record_maps, map->obj.id);
}

/* An event says so. Any context. */
void vgpgpu_map_has_data(struct vgpgpu_device *gdev, u64 id)
{
	struct vgpgpu_map *map;
	unsigned long flags;

	if (id >= VIRTIO_GPGPU_MAX_ID)
		return;
	xa_lock_irqsave(&gdev->record_maps, flags);
	map = xa_load(&gdev->record_maps, id);
	if (map)
		WRITE_ONCE(map->has_data, true);
	xa_unlock_irqrestore(&gdev->record_maps, flags);
	if (map)
		wake_up_all(&gdev->map_wait);
}

/* Events were lost, of whichever maps. Any context. */
void vgpgpu_maps_have_data(struct vgpgpu_device *gdev)
{
	struct vgpgpu_map *map;
	unsigned long flags, id;

	xa_lock_irqsave(&gdev->record_maps, flags);
	xa_for_each(&gdev->record_maps, id, map)
		WRITE_ONCE(map->has_data, true);
	xa_unlock_irqrestore(&gdev->record_maps, flags);
	wake_up_all(&gdev->map_wait);
}

/*
 * There may be records of which no event tells any more. Whoever was woken by one that did may have found has_data
 * cleared by this read, and sleeps again.
 */
static void may_have_more(struct vgpgpu_map *map)
{
	WRITE_ONCE(map->has_data, true);
	wake_up_all(&map->obj.gdev->map_wait);
}

/* Takes out what there is. Return: 0, also if that is nothing, or -errno */
static int map_read(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map,
		    struct drm_virtio_gpgpu_map_read *args)
{
	const struct virtio_gpgpu_resp_map_read *resp;
	struct vgpgpu_device *gdev = map->obj.gdev;
	struct virtio_gpgpu_req_map_read *req;
	struct vgpgpu_cmd *cmd;
	u32 room, bytes;
	int ret;

	room = min_t(u32, args->size, gdev->max_response - sizeof(*resp));
	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_MAP_READ, ctx->obj.id, sizeof(*req),
			       sizeof(*resp) + room);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(map->obj.id);
	req->max_bytes = cpu_to_le32(room);
	vgpgpu_obj_get(&map->obj);
	cmd->uses = &map->obj;
	/* Before the command: an event of what it does not bring any more must not go unnoticed. */
	smp_store_mb(map->has_data, false);
	ret = vgpgpu_cmd_run(cmd, &args->result);
	if (ret) {
		may_have_more(map);
		goto put;
	}

	resp = cmd->req.in;
	ret = -EPROTO;
	if (cmd->req.in_len < sizeof(*resp))
		goto put;
	bytes = le32_to_cpu(resp->bytes);
	if (bytes > room || cmd->req.in_len - sizeof(*resp) < bytes)
		goto put;
	args->bytes = bytes;
	args->num_records = le32_to_cpu(resp->num_records);
	args->dropped = le64_to_cpu(resp->dropped);
	if (args->num_records)
		may_have_more(map);
	ret = copy_to_user(u64_to_user_ptr(args->data), resp + 1, bytes) ? -EFAULT : 0;
put:
	vgpgpu_cmd_put(cmd);
	return ret;
}

static bool may_read(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map)
{
	return READ_ONCE(map->has_data) || !vgpgpu_ctx_alive(ctx);
}

/* Return: 0 to try again, -ETIME, -ENODEV or -ERESTARTSYS */
static int wait_for_data(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map, ktime_t deadline)
{
	wait_queue_head_t *wait = &map->obj.gdev->map_wait;
	ktime_t left;
	int ret;

	if (deadline == KTIME_MAX) {
		ret = wait_event_interruptible(*wait, may_read(ctx, map));
	} else {
		left = ktime_sub(deadline, ktime_get());
		if (left <= 0)
			return -ETIME;
		ret = wait_event_interruptible_hrtimeout(*wait, may_read(ctx, map), left);
	}
	return !ret && !vgpgpu_ctx_alive(ctx) ? -ENODEV : ret;
}

int vgpgpu_map_read_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_map_read *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	s64 timeout_ns = args->timeout_ns;
	struct vgpgpu_map *map;
	ktime_t deadline;
	int ret;

	*args = (struct drm_virtio_gpgpu_map_read) {
		.handle = args->handle,
		.size = args->size,
		.data = args->data,
		.timeout_ns = timeout_ns,
	};
	if (args->size < sizeof(struct virtio_gpgpu_record))
		return -EINVAL;
	map = vgpgpu_map_find(ctx, args->handle);
	if (!map)
		return -ENOENT;
	ret = vgpgpu_map_has_records(map) ? vgpgpu_ctx_get_ready(ctx, &args->result) : -EINVAL;
	if (ret)
		goto put;

	deadline = timeout_ns < 0 ? KTIME_MAX : ktime_add_safe(ktime_get(), ns_to_ktime(timeout_ns));
	do {
		ret = map_read(ctx, map, args);
		if (ret || args->num_records)
			break;
		ret = wait_for_data(ctx, map, deadline);
	} while (!ret);
	if (ret == -ERESTARTSYS && timeout_ns > 0)
		/* The call may be restarted: what is left of the time goes back with it. */
		args->timeout_ns = max(ktime_to_ns(ktime_sub(deadline, ktime_get())), 0LL);
put:
	vgpgpu_obj_put(&map->obj);
	return ret;
}

__poll_t vgpgpu_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct drm_file *file = filp->private_data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	__poll_t mask = drm_poll(filp, wait);
	struct vgpgpu_obj *obj;
	unsigned long handle;

	poll_wait(filp, &ctx->obj.gdev->map_wait, wait);
	if (READ_ONCE(ctx->generation) && !vgpgpu_ctx_alive(ctx))
		return mask | EPOLLHUP | EPOLLERR;
	xa_lock(&ctx->maps);
	xa_for_each(&ctx->maps, handle, obj) {
		struct vgpgpu_map *map = container_of(obj, struct vgpgpu_map, obj);

		if (vgpgpu_map_has_records(map) && READ_ONCE(map->has_data)) {
			mask |= EPOLLIN | EPOLLRDNORM;
			break;
		}
	}
	xa_unlock(&ctx->maps);
	return mask;
}
