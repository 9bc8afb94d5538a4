// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps: created, read and written by control commands.
 *
 * How it works: keys and values are copied between the user and the command; the driver knows their
 * sizes from the map's creation and checks what the user says against them, so that a command is as long
 * as its map wants it and an answer is never copied past the user's room.
 *
 * Values of a PROG_ARRAY and of a map of maps name programs and maps: the user writes handles of its own file, and the
 * device gets its ids for them. An id that is given back meanwhile is refused by the device, since only this
 * file's context may use what this file has.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "map.h"

static void map_free(struct vgpgpu_obj *obj)
{
	struct vgpgpu_map *map = container_of(obj, struct vgpgpu_map, obj);

	vgpgpu_map_records_fini(map);
	kfree(map);
}

static bool has_copies(u32 type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

/* Return: the map behind a handle of this file, with a reference, or NULL */
struct vgpgpu_map *vgpgpu_map_find(struct vgpgpu_ctx *ctx, u32 handle)
{
	struct vgpgpu_obj *obj = vgpgpu_ctx_find(&ctx->maps, handle);

	return obj ? container_of(obj, struct vgpgpu_map, obj) : NULL;
}

/**
 * vgpgpu_map_value_id() - make the device's id of a handle that is written to a map
 * @ctx:	context of the file that the handle is of
 * @map:	map; others than PROG_ARRAY and maps of maps are left alone
 * @value:	in the request
 *
 * Return: 0, or -ENOENT if the file has no such handle
 */
int vgpgpu_map_value_id(struct vgpgpu_ctx *ctx, const struct vgpgpu_map *map, void *value)
{
	struct vgpgpu_obj *obj;
	struct xarray *handles;
	u32 handle;

	switch (map->type) {
	case VIRTIO_GPGPU_MAP_PROG_ARRAY:
		handles = &ctx->progs;
		break;
	case VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS:
	case VIRTIO_GPGPU_MAP_HASH_OF_MAPS:
		handles = &ctx->maps;
		break;
	default:
		return 0;
	}
	if (map->value_size != sizeof(handle))
		return -EINVAL;
	memcpy(&handle, value, sizeof(handle));
	obj = vgpgpu_ctx_find(handles, handle);
	if (!obj)
		return -ENOENT;
	*(__le32 *)value = cpu_to_le32(obj->id);
	vgpgpu_obj_put(obj);
	return 0;
}

/* Return: bytes of a value as it travels, or -errno */
static int travel_size(struct vgpgpu_device *gdev, u32 type, u32 value_size, u32 *size)
{
	struct virtio_gpgpu_caps caps;
	int ret;

	*size = value_size;
	if (!has_copies(type))
		return 0;
	ret = vgpgpu_caps_get(gdev, &caps);
	if (ret)
		return ret;
	if (value_size > VIRTIO_GPGPU_MAX_VALUE ||
	    check_mul_overflow(round_up(value_size, 8), le32_to_cpu(caps.num_cpus), size))
		return -E2BIG;
	return 0;
}

int vgpgpu_map_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct drm_virtio_gpgpu_map_create *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct virtio_gpgpu_req_map_create *req;
	struct vgpgpu_cmd *cmd;
	struct vgpgpu_map *map, *inner = NULL;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (ret)
		return ret;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	ret = travel_size(gdev, args->type, args->value_size, &map->value_size);
	if (!ret)
		ret = vgpgpu_obj_init(&map->obj, gdev, ctx, VGPGPU_MAP, map_free);
	if (ret) {
		kfree(map);
		return ret;
	}
	map->type = args->type;
	map->key_size = args->key_size;
	if (args->inner) {
		inner = vgpgpu_map_find(ctx, args->inner);
		if (!inner) {
			ret = -ENOENT;
			goto put_map;
		}
	}
	ret = vgpgpu_map_records_init(map);
	if (ret)
		goto put_map;

	cmd = vgpgpu_cmd_alloc(gdev, VIRTIO_GPGPU_CMD_MAP_CREATE, ctx->obj.id, sizeof(*req),
			       sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd)) {
		ret = PTR_ERR(cmd);
		goto put_map;
	}
	req = cmd->req.out;
	req->id = cpu_to_le32(map->obj.id);
	req->map_type = cpu_to_le32(args->type);
	req->key_size = cpu_to_le32(args->key_size);
	req->value_size = cpu_to_le32(args->value_size);
	req->max_entries = cpu_to_le32(args->max_entries);
	req->map_flags = cpu_to_le32(args->flags);
	static_assert(sizeof(req->name) == sizeof(args->name));
	memcpy(req->name, args->name, sizeof(req->name));
	if (inner) {
		req->inner = cpu_to_le32(inner->obj.id);
		vgpgpu_obj_get(&inner->obj);
		cmd->uses = &inner->obj;
	}
	vgpgpu_obj_get(&map->obj);
	cmd->creates = &map->obj;
	ret = vgpgpu_cmd_run(cmd, &args->result);
	vgpgpu_cmd_put(cmd);
	if (ret)
		goto put_map;

	ret = xa_alloc(&ctx->maps, &args->handle, &map->obj, xa_limit_31b, GFP_KERNEL_ACCOUNT);
put_map:
	if (inner)
		vgpgpu_obj_put(&inner->obj);
	if (ret)
		vgpgpu_obj_put(&map->obj);
	return ret;
}

int vgpgpu_map_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_handle *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	return vgpgpu_ctx_destroy_handle(&ctx->maps, args->handle);
}

int vgpgpu_map_freeze_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_handle *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_obj *obj;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	obj = vgpgpu_ctx_find(&ctx->maps, args->handle);
	if (!obj)
		return -ENOENT;
	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (!ret)
		ret = vgpgpu_cmd_id(obj, ctx, VIRTIO_GPGPU_CMD_MAP_FREEZE, &args->result);
	vgpgpu_obj_put(obj);
	return ret;
}

/* What each operation sends and gets back. */
static const struct {
	u32 type;
	bool sends_key, key_optional, sends_value, gets_value, gets_key;
} map_ops[] = {
	[DRM_VIRTIO_GPGPU_MAP_LOOKUP] = {
		.type = VIRTIO_GPGPU_CMD_MAP_LOOKUP, .sends_key = true, .gets_value = true,
	},
	[DRM_VIRTIO_GPGPU_MAP_UPDATE] = {
		.type = VIRTIO_GPGPU_CMD_MAP_UPDATE, .sends_key = true, .sends_value = true,
	},
	[DRM_VIRTIO_GPGPU_MAP_DELETE] = {
		.type = VIRTIO_GPGPU_CMD_MAP_DELETE, .sends_key = true,
	},
	[DRM_VIRTIO_GPGPU_MAP_NEXT_KEY] = {
		.type = VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, .sends_key = true, .key_optional = true,
		.gets_key = true,
	},
	[DRM_VIRTIO_GPGPU_MAP_POP] = {
		.type = VIRTIO_GPGPU_CMD_MAP_POP, .sends_key = true, .gets_value = true,
	},
};

/* Copies the answer to the user; @want bytes are what the map's sizes say. */
static int map_copy_answer(struct vgpgpu_cmd *cmd, u64 user, u32 want)
{
	const struct virtio_gpgpu_resp_map_op *resp = cmd->req.in;

	if (cmd->req.in_len < sizeof(*resp) || le32_to_cpu(resp->size) != want ||
	    cmd->req.in_len - sizeof(*resp) < want)
		return -EPROTO;
	return copy_to_user(u64_to_user_ptr(user), resp + 1, want) ? -EFAULT : 0;
}

static int map_op(struct vgpgpu_ctx *ctx, struct vgpgpu_map *map,
		  struct drm_virtio_gpgpu_map_op *args)
{
	u32 type = map_ops[args->op].type;
	bool gets_value = map_ops[args->op].gets_value;
	bool gets_key = map_ops[args->op].gets_key;
	struct vgpgpu_device *gdev = map->obj.gdev;
	bool has = type == VIRTIO_GPGPU_CMD_MAP_LOOKUP && map->type == VIRTIO_GPGPU_MAP_BLOOM_FILTER;
	u64 user_key = has ? args->value : args->key;
	u32 out_key = 0, out_value = 0, in = 0;
	size_t in_cap = sizeof(struct virtio_gpgpu_resp_hdr);
	struct virtio_gpgpu_req_map_op *req;
	struct vgpgpu_cmd *cmd;
	void *key, *value;
	int ret;

	if (map_ops[args->op].sends_key && (args->key || !map_ops[args->op].key_optional))
		out_key = map->key_size;
	if (has) {
		/* What is asked for is a value, which travels as a key; there is nothing to get. */
		out_key = map->value_size;
		gets_value = false;
		in_cap = sizeof(struct virtio_gpgpu_resp_map_op);
		if (args->flags || args->value_size != out_key)
			return -EINVAL;
	} else if (map_ops[args->op].sends_value) {
		out_value = map->value_size;
		if (args->value_size != out_value)
			return -EINVAL;
	} else if (args->flags) {
		return -EINVAL;
	}
	if (gets_value || gets_key) {
		in = gets_value ? map->value_size : map->key_size;
		if (args->value_size < in)
			return -EINVAL;
		in_cap = sizeof(struct virtio_gpgpu_resp_map_op) + round_up((size_t)in, 8);
	} else if (!has && !out_value && (args->value || args->value_size)) {
		return -EINVAL;
	}

	if (out_key > gdev->max_request || out_value > gdev->max_request || in > gdev->max_response)
		return -E2BIG;
	cmd = vgpgpu_cmd_alloc(gdev, type, ctx->obj.id,
			       sizeof(*req) + round_up((size_t)out_key, 8) +
					round_up((size_t)out_value, 8), in_cap);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	req = cmd->req.out;
	req->id = cpu_to_le32(map->obj.id);
	req->key_size = cpu_to_le32(out_key);
	req->value_size = cpu_to_le32(out_value);
	req->op_flags = cpu_to_le32(args->flags);
	key = req + 1;
	value = key + round_up((size_t)out_key, 8);
	ret = -EFAULT;
	if (copy_from_user(key, u64_to_user_ptr(user_key), out_key) ||
	    copy_from_user(value, u64_to_user_ptr(args->value), out_value))
		goto put;
	ret = out_value ? vgpgpu_map_value_id(ctx, map, value) : 0;
	if (ret)
		goto put;

	vgpgpu_obj_get(&map->obj);
	cmd->uses = &map->obj;
	ret = vgpgpu_cmd_run(cmd, &args->result);
	if (!ret && in)
		ret = map_copy_answer(cmd, args->value, in);
put:
	vgpgpu_cmd_put(cmd);
	return ret;
}

int vgpgpu_map_op_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_map_op *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_map *map;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->op >= ARRAY_SIZE(map_ops) || !map_ops[args->op].type)
		return -EINVAL;
	map = vgpgpu_map_find(ctx, args->handle);
	if (!map)
		return -ENOENT;
	ret = vgpgpu_ctx_get_ready(ctx, &args->result);
	if (!ret)
		ret = map_op(ctx, map, args);
	vgpgpu_obj_put(&map->obj);
	return ret;
}
