// SPDX-License-Identifier: BSD-3-Clause
/*
 * buffer.c - buffers: GEM objects of the device's node, mapped on first use.
 *
 * A range of device memory is mapped as a copy: a shared buffer of the range's size, filled and brought back by jobs on timeline
 * 0. So the buffer's struct knows its mapped ranges, each by the address that it was given out as.
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

int gpgpu_buffer_create_user(struct gpgpu_device *dev, void *memory, uint64_t size, struct gpgpu_buffer **out)
{
	struct gpgpu_buffer *buf;
	void *ptr;
	int r;

	*out = NULL;
	if (!memory || size > UINTPTR_MAX - (uintptr_t)memory)
		return gpgpu_fail(-EINVAL, "a buffer of memory that is none");
	r = gpgpu_buffer_create(dev, size, GPGPU_BUFFER_SHARED, &buf);
	if (r)
		return r;
	r = gpgpu_buffer_map(buf, &ptr);
	if (r) {
		gpgpu_buffer_destroy(buf);
		return r;
	}
	buf->user = memory;
	buf->user_size = size;
	*out = buf;
	return 0;
}

int gpgpu_buffer_sync(struct gpgpu_buffer *buf, uint64_t offset, uint64_t size, uint32_t direction)
{
	uint8_t *user, *copy;

	if (!buf->user)
		return gpgpu_fail(-EINVAL, "the buffer is not of an application's memory");
	if (direction != GPGPU_TO_DEVICE && direction != GPGPU_FROM_DEVICE)
		return gpgpu_fail(-EINVAL, "memory goes to the device or comes from it");
	if (offset > buf->user_size || size > buf->user_size - offset)
		return gpgpu_fail(-EINVAL, "%llu bytes at %llu are not within the memory's %llu",
				  (unsigned long long)size, (unsigned long long)offset,
				  (unsigned long long)buf->user_size);
	user = (uint8_t *)buf->user + offset;
	copy = (uint8_t *)buf->ptr + offset;
	if (direction == GPGPU_TO_DEVICE)
		memcpy(copy, user, size);
	else
		memcpy(user, copy, size);
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

struct mapped_range {
	struct mapped_range *next;
	uint64_t offset, size;
	uint32_t access;
	struct gpgpu_buffer *copy;
	void *ptr;
};

static int copy_now(struct gpgpu_buffer *dst, uint64_t dst_offset, struct gpgpu_buffer *src,
		    uint64_t src_offset, uint64_t size)
{
	struct gpgpu_job *job;
	int r = gpgpu_copy(dst, dst_offset, src, src_offset, size, NULL, &job);

	if (r)
		return r;
	r = gpgpu_job_wait(job, -1, NULL, NULL, 0);
	gpgpu_job_destroy(job);
	return r;
}

static int map_copy(struct gpgpu_buffer *buf, uint64_t offset, uint64_t size, uint32_t access, void **ptr)
{
	struct mapped_range *range = calloc(1, sizeof(*range));
	int r;

	if (!range)
		return gpgpu_fail(-ENOMEM, "out of memory");
	*range = (struct mapped_range){
		.next = buf->ranges, .offset = offset, .size = size, .access = access
	};
	r = gpgpu_buffer_create(buf->dev, size, GPGPU_BUFFER_SHARED, &range->copy);
	if (!r)
		r = gpgpu_buffer_map(range->copy, &range->ptr);
	if (!r && (access & GPGPU_ACCESS_READ))
		r = copy_now(range->copy, 0, buf, offset, size);
	if (r) {
		gpgpu_buffer_destroy(range->copy);
		free(range);
		return r;
	}
	buf->ranges = range;
	*ptr = range->ptr;
	return 0;
}

int gpgpu_buffer_map_range(struct gpgpu_buffer *buf, uint64_t offset, uint64_t size, uint32_t access,
			   void **ptr)
{
	void *start;
	int r;

	*ptr = NULL;
	if (!access || (access & ~(GPGPU_ACCESS_READ | GPGPU_ACCESS_WRITE)))
		return gpgpu_fail(-EINVAL, "mapping a buffer: neither for reading nor for writing");
	if (!size || offset > buf->size || size > buf->size - offset)
		return gpgpu_fail(-EINVAL, "mapping a buffer: %llu bytes at %llu are not within its %llu",
				  (unsigned long long)size, (unsigned long long)offset,
				  (unsigned long long)buf->size);
	if (buf->memory != GPGPU_BUFFER_SHARED)
		return map_copy(buf, offset, size, access, ptr);
	r = gpgpu_buffer_map(buf, &start);
	if (!r)
		*ptr = (uint8_t *)start + offset;
	return r;
}

static void free_range(struct mapped_range *range)
{
	gpgpu_buffer_destroy(range->copy);
	free(range);
}

int gpgpu_buffer_unmap(struct gpgpu_buffer *buf, void *ptr)
{
	struct mapped_range **at = &buf->ranges, *range;
	uintptr_t start = (uintptr_t)buf->ptr;
	int r = 0;

	if (buf->memory == GPGPU_BUFFER_SHARED) {
		if (!buf->ptr || (uintptr_t)ptr < start || (uintptr_t)ptr - start >= buf->size)
			return gpgpu_fail(-EINVAL, "unmapping a buffer: not an address of it");
		return 0;
	}
	while (*at && (*at)->ptr != ptr)
		at = &(*at)->next;
	range = *at;
	if (!range)
		return gpgpu_fail(-EINVAL, "unmapping a buffer: not an address of it");
	*at = range->next;
	if (range->access & GPGPU_ACCESS_WRITE)
		r = copy_now(buf, range->offset, range->copy, 0, range->size);
	free_range(range);
	return r;
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
	while (buf->ranges) {
		struct mapped_range *range = buf->ranges;

		buf->ranges = range->next;
		free_range(range);
	}
	if (buf->ptr)
		munmap(buf->ptr, buf->size);
	gem.handle = buf->handle;
	pthread_mutex_lock(&buf->dev->lock);
	if (gpgpu_handle_drop(buf->dev, buf->handle))
		gpgpu_ioctl(buf->dev, DRM_IOCTL_GEM_CLOSE, &gem);
	pthread_mutex_unlock(&buf->dev->lock);
	gpgpu_close(buf->dev);
	free(buf);
}
