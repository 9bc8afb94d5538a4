/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Maps.
 */
#ifndef VGPGPU_MAP_H
#define VGPGPU_MAP_H

struct drm_device;
struct drm_file;

int vgpgpu_map_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_freeze_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_map_op_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
