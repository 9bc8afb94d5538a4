/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: ranges of the shared-memory region or of device memory, and the GEM objects that name them.
 */
#ifndef VGPGPU_BO_H
#define VGPGPU_BO_H

#include <drm/drm_mm.h>

#include "obj.h"

struct dma_buf;
struct drm_device;
struct drm_file;
struct drm_gem_object;

/* The device's buffer. Jobs refer to this and not to the GEM object, as it can be put anywhere. */
struct vgpgpu_buf {
	struct vgpgpu_obj obj;
	u32 mem;			/* DRM_VIRTIO_GPGPU_BO_* */
	u64 size;			/* bytes */
	struct drm_mm_node node;	/* of kind SHM: where in the region */
};

struct vgpgpu_buf *vgpgpu_buf_create(struct vgpgpu_ctx *ctx, u32 mem, u64 size, const void *data,
				     size_t data_len, struct drm_virtio_gpgpu_result *result);
struct drm_gem_object *vgpgpu_gem_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct vgpgpu_buf *vgpgpu_buf_find(struct drm_file *file, u32 handle);

int vgpgpu_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
