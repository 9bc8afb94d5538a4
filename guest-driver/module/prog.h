/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs.
 */
#ifndef VGPGPU_PROG_H
#define VGPGPU_PROG_H

struct drm_device;
struct drm_file;

int vgpgpu_prog_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_prog_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
