// SPDX-License-Identifier: BSD-3-Clause
/*
 * share.c - buffers that have one memory: dma-bufs, out and in.
 *
 * The kernel gives a file one handle for one memory: what is imported again, or was exported by the same file, comes back as
 * the handle that is there already. Closing it would close it for all, so handles that may be had by several buffers are
 * counted here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

struct shared_handle {
	struct shared_handle *next;
	uint32_t handle, refs; /* buffers */
};

static struct shared_handle **find(struct gpgpu_device *dev, uint32_t handle)
{
	struct shared_handle **at = &dev->shared;

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

/* Return: the count of a handle, new with one buffer where there was none; NULL: no memory. */
static struct shared_handle *count(struct gpgpu_device *dev, uint32_t handle)
{
	struct shared_handle **at = find(dev, handle);

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (*at)
			**at = (struct shared_handle){ .handle = handle, .refs = 1 };
	}
	return *at;
}

bool gpgpu_handle_drop(struct gpgpu_device *dev, uint32_t handle)
{
	struct shared_handle **at = find(dev, handle), *gone = *at;

	if (!gone)
		return true;
	if (--gone->refs)
		return false;
	*at = gone->next;
	free(gone);
	return true;
}

int gpgpu_buffer_export(struct gpgpu_buffer *buf, int *fd)
{
	struct drm_prime_handle prime = { .handle = buf->handle, .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	struct shared_handle *counted;
	int r;

	*fd = -1;
	pthread_mutex_lock(&buf->dev->lock);
	counted = count(buf->dev, buf->handle);
	pthread_mutex_unlock(&buf->dev->lock);
	if (!counted)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = gpgpu_ioctl(buf->dev, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	if (r)
		return gpgpu_fail(r, "exporting a buffer: %s", strerror(-r));
	*fd = prime.fd;
	return 0;
}

/* Return: 0 and the handle, which is counted, or negative errno. Called with the device's lock held. */
static int take_handle(struct gpgpu_device *dev, int fd, uint32_t *handle)
{
	struct drm_prime_handle prime = { .fd = fd };
	struct drm_gem_close gem = { 0 };
	struct shared_handle *counted;
	bool had;
	int r = gpgpu_ioctl(dev, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	if (r)
		return r;
	had = *find(dev, prime.handle);
	counted = count(dev, prime.handle);
	if (counted) {
		counted->refs += had;
		*handle = prime.handle;
		return 0;
	}
	gem.handle = prime.handle;
	gpgpu_ioctl(dev, DRM_IOCTL_GEM_CLOSE, &gem);
	return -ENOMEM;
}

/* Whether the memory has an address is found by mapping it. Return: 0 or negative errno. */
static int map_imported(struct gpgpu_buffer *buf, int fd)
{
	void *p = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED) {
		buf->memory = GPGPU_BUFFER_SHARED;
		buf->ptr = p;
		return 0;
	}
	/* Device memory, or a descriptor that others made for reading alone: reached by copies. */
	buf->memory = GPGPU_BUFFER_DEVICE;
	return errno == ENODEV || errno == EACCES ? 0 : -errno;
}

int gpgpu_buffer_import(struct gpgpu_device *dev, int fd, struct gpgpu_buffer **out)
{
	struct gpgpu_buffer *buf = calloc(1, sizeof(*buf));
	off_t size = lseek(fd, 0, SEEK_END);
	int r;

	*out = NULL;
	if (!buf)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = size > 0 ? 0 : -EINVAL;
	if (!r) {
		pthread_mutex_lock(&dev->lock);
		r = take_handle(dev, fd, &buf->handle);
		pthread_mutex_unlock(&dev->lock);
	}
	if (r) {
		free(buf);
		if (r == -ENOMEM)
			return gpgpu_fail(r, "out of memory");
		if (r == -EINVAL || r == -EBADF || r == -ENOTTY)
			return gpgpu_fail(-EINVAL, "importing a buffer: descriptor %d is no dma-buf", fd);
		if (r == -EOPNOTSUPP)
			return gpgpu_fail(
				r,
				"importing a buffer: its memory is not this device's: copy it to a buffer");
		return gpgpu_fail(r, "importing a buffer: %s", strerror(-r));
	}
	buf->dev = gpgpu_device_get(dev);
	buf->size = (uint64_t)size;
	r = map_imported(buf, fd);
	if (r) {
		gpgpu_buffer_destroy(buf);
		return gpgpu_fail(r, "mapping an imported buffer: %s", strerror(-r));
	}
	*out = buf;
	return 0;
}
