/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps: map.c makes them and moves single entries, map_bulk.c many, map_read.c records.
 */
#ifndef VGPGPU_MAP_H
#define VGPGPU_MAP_H

#include <linux/poll.h>

#include "obj.h"

struct drm_device;
struct drm_file;

struct vgpgpu_map {
	struct vgpgpu_obj obj;
	u32 type;			/* enum virtio_gpgpu_map_type */
	u32 key_size;
	u32 value_size;			/* as it travels: of all CPUs, each padded to 8 */
	bool has_data;			/* there may be records to read */
};

/* Takes records out, and is told of them by events. */
static inline bool vgpgpu_map_has_records(const struct vgpgpu_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_RINGBUF ||
	       map->type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY;
}

struct vgpgpu_map *vgpgpu_map_find(struct vgpgpu_ctx *ctx, u32 handle);
int vgpgpu_map_value_id(struct vgpgpu_ctx *ctx, const struct vgpgpu_map *map, void *value);

int vgpgpu_map_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_freeze_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_op_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_bulk_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

int vgpgpu_map_records_init(struct vgpgpu_map *map);
void vgpgpu_map_records_fini(struct vgpgpu_map *map);
void vgpgpu_map_has_data(struct vgpgpu_device *gdev, u64 id);
void vgpgpu_maps_have_data(struct vgpgpu_device *gdev);
int vgpgpu_map_read_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
__poll_t vgpgpu_poll(struct file *filp, struct poll_table_struct *wait);

#endif
