// SPDX-License-Identifier: BSD-3-Clause
/*
 * buffer.c - buffers: GEM objects of the device's node, mapped on first use.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

int gpgpu_buffer_create(struct gpgpu_device *dev, uint64_t size, uint32_t memory, struct gpgpu_buffer **out)
{
	struct drm_virtio_gpgpu_bo_create create = { .size = size, .mem = memory };
	struct gpgpu_buffer *buf;
	int r;

	*out = NULL;
	if (size == 0)
		return gpgpu_fail(-EINVAL, "a buffer of 0 bytes");
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE, &create);
	if (r) {
		char what[64];

		snprintf(what, sizeof(what), "buffer of %llu bytes", (unsigned long long)size);
		free(buf);
		return gpgpu_fail_device(r, what, &create.result, NULL);
	}
	buf->dev = gpgpu_device_get(dev);
	buf->size = create.size;
	buf->mmap_offset = create.mmap_offset;
	buf->handle = create.handle;
	buf->memory = memory;
	*out = buf;
	return 0;
}

int gpgpu_buffer_map(struct gpgpu_buffer *buf, void **ptr)
{
	*ptr = NULL;
	if (buf->memory != GPGPU_BUFFER_SHARED)
		return gpgpu_fail(-EINVAL, "device memory cannot be mapped");
	if (!buf->ptr) {
		void *p = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, buf->dev->fd,
			       (off_t)buf->mmap_offset);

		if (p == MAP_FAILED)
			return gpgpu_fail(-errno, "mapping a buffer: %s", strerror(errno));
		buf->ptr = p;
	}
	*ptr = buf->ptr;
	return 0;
}

uint64_t gpgpu_buffer_size(const struct gpgpu_buffer *buf)
{
	return buf->size;
}

uint32_t gpgpu_buffer_handle(const struct gpgpu_buffer *buf)
{
	return buf->handle;
}

void gpgpu_buffer_destroy(struct gpgpu_buffer *buf)
{
	struct drm_gem_close gem = { 0 };

	if (!buf)
		return;
	if (buf->ptr)
		munmap(buf->ptr, buf->size);
	gem.handle = buf->handle;
	gpgpu_ioctl(buf->dev, DRM_IOCTL_GEM_CLOSE, &gem);
	gpgpu_close(buf->dev);
	free(buf);
}
