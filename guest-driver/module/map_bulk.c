// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many entries of a map in one command.
 *
 * How it works: entries travel as the user lays them out, so they are copied as a whole; what the device says of
 * their number is checked against what was asked for before anything is copied back.
 */
#include <linux/overflow.h>
#include <linux/uaccess.h>

#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "map.h"

static size_t entry_bytes(const struct vgpgpu_map *map)
{
	return round_up((size_t)map->key_size, 8) + round_up((size_t)map->value_size, 8);
}

static int map_dump(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map,
		    struct drm_virtio_gpgpu_map_bulk *args)
{
	struct vgpgpu_device *gdev = map->obj.gdev;
	const struct virtio_gpgpu_resp_map_dump *resp;
	struct virtio_gpgpu_req_map_dump *req;
	size_t each = entry_bytes(map);
	u32 want = min_t(u32, args->count, VIRTIO_GPGPU_MAX_ENTRIES);
	u32 key = args->key ? map->key_size : 0, count;
	struct vgpgpu_cmd *cmd;
	int ret;

	args->count = 0;
	if (!want || args->flags)
		return -EINVAL;
	if (!each || key > gdev->max_request || each > gdev->max_response - sizeof(*resp))
		return -E2BIG;
	want = min_t(size_t, want, (gdev->max_response - sizeof(*resp)) / each);
	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_MAP_DUMP, ctx->obj.id,
			       sizeof(*req) + round_up((size_t)key, 8), sizeof(*resp) + want * each);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(map->obj.id);
	req->key_size = cpu_to_le32(key);
	req->max_entries = cpu_to_le32(want);
	ret = -EFAULT;
	if (copy_from_user(req + 1, u64_to_user_ptr(args->key), key))
		goto put;
	vgpgpu_obj_get(&map->obj);
	cmd->uses = &map->obj;
	ret = vgpgpu_cmd_run(cmd, &args->result);
	if (ret)
		goto put;

	resp = cmd->req.in;
	ret = -EPROTO;
	if (cmd->req.in_len < sizeof(*resp))
		goto put;
	count = le32_to_cpu(resp->count);
	if (!count || count > want || cmd->req.in_len - sizeof(*resp) < count * each)
		goto put;
	ret = -EFAULT;
	if (copy_to_user(u64_to_user_ptr(args->entries), resp + 1, count * each))
		goto put;
	args->count = count;
	ret = 0;
put:
	vgpgpu_cmd_put(cmd);
	return ret;
}

static int map_load(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map,
		    struct drm_virtio_gpgpu_map_bulk *args)
{
	size_t each = entry_bytes(map), value_at = round_up((size_t)map->key_size, 8), bytes;
	const struct virtio_gpgpu_resp_map_load *resp;
	struct virtio_gpgpu_req_map_load *req;
	u32 count = args->count, i;
	struct vgpgpu_cmd *cmd;
	int ret;

	args->count = 0;
	if (args->key || !count)
		return -EINVAL;
	if (count > VIRTIO_GPGPU_MAX_ENTRIES || check_mul_overflow(each, count, &bytes) ||
	    bytes > map->obj.gdev->max_request)
		return -E2BIG;
	cmd = vgpgpu_cmd_alloc(map->obj.gdev, VIRTIO_GPGPU_CMD_MAP_LOAD, ctx->obj.id,
			       sizeof(*req) + bytes, sizeof(*resp));
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(map->obj.id);
	req->count = cpu_to_le32(count);
	req->op_flags = cpu_to_le32(args->flags);
	ret = -EFAULT;
	if (copy_from_user(req + 1, u64_to_user_ptr(args->entries), bytes))
		goto put;
	for (i = 0, ret = 0; i < count && !ret; i++)
		ret = vgpgpu_map_value_id(ctx, map, (void *)(req + 1) + i * each + value_at);
	if (ret)
		goto put;
	vgpgpu_obj_get(&map->obj);
	cmd->uses = &map->obj;
	ret = vgpgpu_cmd_run(cmd, &args->result);
	resp = cmd->req.in;
	if (ret != -EINTR && cmd->req.in_len >= sizeof(*resp))
		args->count = min(le32_to_cpu(resp->count), count);
put:
	vgpgpu_cmd_put(cmd);
	return ret;
}

int vgpgpu_map_bulk_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_map_bulk *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_map *map;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->op != DRM_VIRTIO_GPGPU_MAP_DUMP && args->op != DRM_VIRTIO_GPGPU_MAP_LOAD)
		return -EINVAL;
	map = vgpgpu_map_find(ctx, args->handle);
	if (!map)
		return -ENOENT;
	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (!ret && args->op == DRM_VIRTIO_GPGPU_MAP_DUMP)
		ret = map_dump(ctx, map, args);
	else if (!ret)
		ret = map_load(ctx, map, args);
	vgpgpu_obj_put(&map->obj);
	return ret;
}
