// SPDX-License-Identifier: BSD-3-Clause
/*
 * map.c - maps on the device.
 *
 * A struct gpgpu_map of an object exists before its device side does: gpgpu_map_attach() makes that, and every
 * call on a map that has none is refused here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Longest that a name in a message gets. */
#define NAME_FMT "map '%.64s'"

static int map_fail(const struct gpgpu_map *map, int r, const char *what,
		    const struct drm_virtio_gpgpu_result *result)
{
	char text[128];

	snprintf(text, sizeof(text), NAME_FMT "%s%s", map->name, what[0] ? ": " : "", what);
	return gpgpu_fail_device(r, text, result, NULL);
}

static int create(const struct gpgpu_map *map, struct gpgpu_device *dev, const struct gpgpu_map_info *info,
		  uint32_t inner, uint32_t *handle)
{
	struct drm_virtio_gpgpu_map_create create = {
		.type = info->type,
		.key_size = info->key_size,
		.value_size = info->value_size,
		.max_entries = info->max_entries,
		.flags = info->flags,
		.inner = inner,
	};
	int r;

	if (info->type >= 32 || !(dev->map_types & (1u << info->type)))
		return gpgpu_fail(-EOPNOTSUPP, NAME_FMT ": the device does not offer maps of BPF type %u",
				  map->name, info->type);
	memcpy(create.name, info->name, sizeof(create.name));
	r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE, &create);
	if (r)
		return map_fail(map, r, "", &create.result);
	*handle = create.handle;
	return 0;
}

int gpgpu_map_attach(struct gpgpu_map *map, struct gpgpu_device *dev)
{
	struct drm_virtio_gpgpu_handle template = { .handle = 0 };
	uint32_t inner = map->info.inner ? map->info.inner->handle : 0;
	int r = 0;

	/* Another device's handle may mean something here, too. */
	if (map->info.inner && map->info.inner->dev != dev)
		return gpgpu_fail(-EINVAL, NAME_FMT ": its inner map is not on this device", map->name);
	/* The device wants a map as a pattern; what it is declared with may have fewer entries, or be nothing. */
	if (map->inner) {
		r = create(map, dev, map->inner, 0, &template.handle);
		inner = template.handle;
	}
	if (!r)
		r = create(map, dev, &map->info, inner, &map->handle);
	if (template.handle)
		gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, &template);
	if (r)
		return r;
	map->dev = gpgpu_device_get(dev);
	return 0;
}

void gpgpu_map_detach(struct gpgpu_map *map)
{
	struct drm_virtio_gpgpu_handle destroy = { .handle = map->handle };

	if (!map->dev)
		return;
	gpgpu_ioctl(map->dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, &destroy);
	gpgpu_close(map->dev);
	map->dev = NULL;
	map->handle = 0;
	free(map->records);
	map->records = NULL;
	map->records_at = map->records_end = 0;
}

int gpgpu_map_create(struct gpgpu_device *dev, const struct gpgpu_map_info *info, struct gpgpu_map **out)
{
	struct gpgpu_map *map = calloc(1, sizeof(*map));
	int r;

	*out = NULL;
	if (!map)
		return gpgpu_fail(-ENOMEM, "out of memory");
	map->info = *info;
	map->info.name[sizeof(map->info.name) - 1] = '\0';
	map->name = strdup(map->info.name);
	r = map->name ? gpgpu_map_attach(map, dev) : gpgpu_fail(-ENOMEM, "out of memory");
	if (r) {
		free(map->name);
		free(map);
		return r;
	}
	*out = map;
	return 0;
}

void gpgpu_map_get_info(const struct gpgpu_map *map, struct gpgpu_map_info *info)
{
	*info = map->info;
	info->inner = NULL;
}

const char *gpgpu_map_name(const struct gpgpu_map *map)
{
	return map->name;
}

void *gpgpu_map_initial_value(struct gpgpu_map *map, size_t *size)
{
	*size = map->data ? map->info.value_size : 0;
	return map->data;
}

int gpgpu_map_set_max_entries(struct gpgpu_map *map, uint32_t max_entries)
{
	if (map->dev)
		return gpgpu_fail(-EBUSY, NAME_FMT " is there already", map->name);
	map->info.max_entries = max_entries;
	return 0;
}

int gpgpu_map_inner(const struct gpgpu_map *map, struct gpgpu_map_info *info)
{
	if (!map->inner)
		return gpgpu_fail(-ENOENT, NAME_FMT " is no map of maps", map->name);
	*info = *map->inner;
	return 0;
}

int gpgpu_map_declared(const struct gpgpu_map *map, uint32_t index, struct gpgpu_declared *value)
{
	const struct gpgpu_value *v;

	if (index >= map->num_values)
		return gpgpu_fail(-ENOENT, NAME_FMT " is declared with %u values", map->name,
				  map->num_values);
	v = &map->values[index];
	*value = (struct gpgpu_declared){ .key = v->index };
	if (map->info.type == BPF_MAP_TYPE_PROG_ARRAY)
		value->program = &map->obj->programs[v->target];
	else
		value->map = &map->obj->maps[v->target];
	return 0;
}

size_t gpgpu_map_value_bytes(const struct gpgpu_map *map)
{
	size_t size = map->info.value_size;

	if (map->info.type == BPF_MAP_TYPE_PERCPU_ARRAY || map->info.type == BPF_MAP_TYPE_PERCPU_HASH ||
	    map->info.type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		return ((size + 7) & ~(size_t)7) * (map->dev ? map->dev->num_cpus : 1);
	return size;
}

static int map_op(struct gpgpu_map *map, const char *what, struct drm_virtio_gpgpu_map_op *op)
{
	int r;

	if (!map->dev)
		return gpgpu_fail(-ENODEV, NAME_FMT " is not on a device: no loaded program uses it",
				  map->name);
	op->handle = map->handle;
	r = gpgpu_ioctl(map->dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_OP, op);
	return r ? map_fail(map, r, what, &op->result) : 0;
}

/* LOOKUP and POP: a value comes back. */
static int read_value(struct gpgpu_map *map, uint32_t what, const char *words, const void *key, void *value,
		      size_t size)
{
	size_t need = gpgpu_map_value_bytes(map);
	struct drm_virtio_gpgpu_map_op op = {
		.op = what,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.value_size = need,
	};

	if (size < need)
		return gpgpu_fail(-EINVAL, NAME_FMT ": a value takes %zu bytes, not %zu", map->name, need,
				  size);
	return map_op(map, words, &op);
}

int gpgpu_map_lookup(struct gpgpu_map *map, const void *key, void *value, size_t size)
{
	return read_value(map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, "looking up", key, value, size);
}

int gpgpu_map_update(struct gpgpu_map *map, const void *key, const void *value, size_t size, uint32_t flags)
{
	size_t need = gpgpu_map_value_bytes(map);
	struct drm_virtio_gpgpu_map_op op = {
		.op = DRM_VIRTIO_GPGPU_MAP_UPDATE,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.value_size = need,
		.flags = flags,
	};

	if (size != need)
		return gpgpu_fail(-EINVAL, NAME_FMT ": a value takes %zu bytes, not %zu", map->name, need,
				  size);
	return map_op(map, "updating", &op);
}

int gpgpu_map_delete(struct gpgpu_map *map, const void *key)
{
	struct drm_virtio_gpgpu_map_op op = { .op = DRM_VIRTIO_GPGPU_MAP_DELETE, .key = (uintptr_t)key };

	return map_op(map, "deleting", &op);
}

int gpgpu_map_next_key(struct gpgpu_map *map, const void *key, void *next)
{
	struct drm_virtio_gpgpu_map_op op = {
		.op = DRM_VIRTIO_GPGPU_MAP_NEXT_KEY,
		.key = (uintptr_t)key,
		.value = (uintptr_t)next,
		.value_size = map->info.key_size,
	};

	return map_op(map, "next key", &op);
}

int gpgpu_map_pop(struct gpgpu_map *map, const void *key, void *value, size_t size)
{
	return read_value(map, DRM_VIRTIO_GPGPU_MAP_POP, "popping", key, value, size);
}

size_t gpgpu_map_entry_bytes(const struct gpgpu_map *map)
{
	return (((size_t)map->info.key_size + 7) & ~(size_t)7) +
	       ((gpgpu_map_value_bytes(map) + 7) & ~(size_t)7);
}

static int map_bulk(struct gpgpu_map *map, const char *what, struct drm_virtio_gpgpu_map_bulk *bulk)
{
	int r;

	if (!map->dev)
		return gpgpu_fail(-ENODEV, NAME_FMT " is not on a device: no loaded program uses it",
				  map->name);
	bulk->handle = map->handle;
	r = gpgpu_ioctl(map->dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_BULK, bulk);
	return r ? map_fail(map, r, what, &bulk->result) : 0;
}

int gpgpu_map_dump(struct gpgpu_map *map, const void *key, void *entries, uint32_t *count)
{
	struct drm_virtio_gpgpu_map_bulk bulk = {
		.op = DRM_VIRTIO_GPGPU_MAP_DUMP,
		.key = (uintptr_t)key,
		.entries = (uintptr_t)entries,
		.count = *count,
	};
	int r = map_bulk(map, "dumping", &bulk);

	*count = r ? 0 : bulk.count;
	return r;
}

/* Bytes of entries of one command, as the driver's own requests are limited. */
#define MAX_LOAD (512u << 10)

int gpgpu_map_load(struct gpgpu_map *map, const void *entries, uint32_t *count, uint32_t flags)
{
	size_t each = gpgpu_map_entry_bytes(map);
	uint32_t left = *count, most = each && each < MAX_LOAD ? (uint32_t)(MAX_LOAD / each) : 1;
	const uint8_t *at = entries;
	int r = 0;

	if (most > 16384)
		most = 16384;
	*count = 0;
	while (!r && left) {
		struct drm_virtio_gpgpu_map_bulk bulk = {
			.op = DRM_VIRTIO_GPGPU_MAP_LOAD,
			.entries = (uintptr_t)at,
			.count = left < most ? left : most,
			.flags = flags,
		};

		r = map_bulk(map, "loading", &bulk);
		*count += bulk.count;
		at += bulk.count * each;
		left -= bulk.count;
		if (r == -EBUSY && bulk.count)
			r = 0; /* entries that are slow to come by: the device wants the rest in a new command */
		else if (!r && !bulk.count)
			r = gpgpu_fail(-EPROTO, NAME_FMT ": the device took nothing", map->name);
	}
	return r;
}

int gpgpu_map_freeze(struct gpgpu_map *map)
{
	struct drm_virtio_gpgpu_handle freeze = { .handle = map->handle };
	int r;

	if (!map->dev)
		return gpgpu_fail(-ENODEV, NAME_FMT " is not on a device", map->name);
	r = gpgpu_ioctl(map->dev, DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE, &freeze);
	return r ? map_fail(map, r, "freezing", &freeze.result) : 0;
}

uint32_t gpgpu_map_handle(const struct gpgpu_map *map)
{
	return map->handle;
}

void gpgpu_map_destroy(struct gpgpu_map *map)
{
	if (!map || map->obj)
		return;
	gpgpu_map_detach(map);
	free(map->name);
	free(map);
}
