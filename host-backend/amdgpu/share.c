/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c - the shared region where it is, without copies.
 *
 * Two ways, in this order:
 *  - /dev/udmabuf (opened before the sandbox closed) makes a dma-buf of a part of the memory file, which is imported. The
 *    pages are held from then on. It wants a file that cannot shrink (F_SEAL_SHRINK) and has a limit on one
 *    buffer's size, a parameter of its module (size_limit_mb; list_limit is of buffers made of several parts, which these
 *    are not).
 *  - A user pointer: the driver looks pages up where the process has them mapped. Each submission looks again at every
 *    page, so this is the slower way.
 * share() finds out with one page whether either works. Where neither does the engine copies.
 *
 * Pages that are held are memory that the host cannot have back, and that is there whether the guest ever touched it or not.
 * So the region is cut into windows, and only those are made that a buffer of the guest's lies in, from when it is made
 * until it is gone (reach(), unreach()). What cannot be made fails that buffer, with the reason in the log.
 *
 * The GPU may read and write but never execute; caches are as for the card's memory, since launches begin and end
 * with what makes the host's writes and the card's visible.
 *
 * Threads: any; the lock `memory`.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "amdgpu/private.h"

#define MIN_WINDOW  (4ull << 20)
#define MAX_WINDOW  (64ull << 20)
#define WINDOWS	    128 /* that a region is cut into, within these */
#define SHARE_FLAGS (AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_MTYPE_DEFAULT)

static int window_udmabuf(struct gp_gpu *gpu, const struct gp_shared *shared, uint64_t offset, uint64_t size,
			  struct gp_bo **bo)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)shared->fd,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.offset = offset,
		.size = size,
	};
	int dmabuf, ret;

	if (gpu->udmabuf < 0)
		return -ENODEV;
	dmabuf = ioctl(gpu->udmabuf, UDMABUF_CREATE, &create);
	if (dmabuf < 0)
		return -errno;
	ret = gp_bo_import(gpu, dmabuf, size, bo);
	close(dmabuf);
	return ret;
}

/* Return: 0 or -errno, with `memory` held. */
static int make_window(struct gp_gpu *gpu, const struct gp_shared *shared, uint64_t offset, uint64_t size,
		       struct gp_bo **bo)
{
	int ret = shared->udmabuf ? window_udmabuf(gpu, shared, offset, size, bo)
				  : gp_bo_user(gpu, shared->at + offset, size, bo);

	if (ret)
		return ret;
	ret = gp_bo_map(gpu, *bo, 0, size, shared->at + offset, SHARE_FLAGS);
	if (ret)
		gp_bo_free(gpu, *bo);
	return ret;
}

static void drop_window(struct gp_gpu *gpu, const struct gp_shared *shared, uint64_t offset, struct gp_bo *bo)
{
	gp_bo_unmap(gpu, bo, 0, bo->size, shared->at + offset);
	gp_bo_free(gpu, bo);
}

/* Does a window of one page work? */
static int probe(struct gp_gpu *gpu, const struct gp_shared *shared)
{
	struct gp_bo *bo;
	int ret = make_window(gpu, shared, 0, GP_GPU_PAGE, &bo);

	if (!ret)
		drop_window(gpu, shared, 0, bo);
	return ret;
}

static void free_shared(struct gp_gpu *gpu, struct gp_shared *shared)
{
	for (uint32_t i = 0; i < shared->num_windows; i++)
		if (shared->windows[i].bo)
			drop_window(gpu, shared, i * shared->window, shared->windows[i].bo);
	if (shared->fd >= 0)
		close(shared->fd);
	g_free(shared->windows);
	g_free(shared);
}

int gp_amdgpu_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd)
{
	struct gp_shared *shared;
	int ret, first;

	if (!size || ((uintptr_t)at | size) % GP_GPU_PAGE || (uintptr_t)at < gpu->va_min ||
	    (uintptr_t)at >= gpu->va_end || size > gpu->va_end - (uintptr_t)at)
		return -EINVAL;
	shared = g_new0(struct gp_shared, 1);
	shared->at = at;
	shared->size = size;
	shared->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	shared->window = CLAMP(gp_round_up(size / WINDOWS, MIN_WINDOW), MIN_WINDOW, MAX_WINDOW);
	shared->udmabuf = true;
	g_mutex_lock(&gpu->memory);
	ret = first = probe(gpu, shared);
	if (ret) {
		shared->udmabuf = false;
		ret = probe(gpu, shared);
	} else {
		shared->window = MIN(shared->window, gpu->udmabuf_max);
	}
	if (!ret) {
		shared->num_windows = (uint32_t)((size + shared->window - 1) / shared->window);
		shared->windows = g_new0(struct gp_window, shared->num_windows);
		g_ptr_array_add(gpu->shares, shared);
	}
	g_mutex_unlock(&gpu->memory);
	if (ret) {
		g_info("amdgpu: the shared region cannot be reached in place: udmabuf: %s; user pointers: %s",
		       strerror(-first), strerror(-ret));
		free_shared(gpu, shared);
		return ret;
	}
	g_info("amdgpu: %" G_GUINT64_FORMAT " MiB of shared region, in windows of %" G_GUINT64_FORMAT
	       " KiB by %s as buffers need them",
	       size >> 20, shared->window >> 10, shared->udmabuf ? "udmabuf" : "user pointers");
	return 0;
}

/* The region that [@at, @at + @size) is in, or NULL. With `memory`. */
static struct gp_shared *find(struct gp_gpu *gpu, const uint8_t *at, uint64_t size)
{
	for (guint i = 0; i < gpu->shares->len; i++) {
		struct gp_shared *shared = g_ptr_array_index(gpu->shares, i);

		if (at >= shared->at && size && size <= shared->size &&
		    (uint64_t)(at - shared->at) <= shared->size - size)
			return shared;
	}
	return NULL;
}

/* One buffer fewer in windows [@first, @end). */
static void put_windows(struct gp_gpu *gpu, struct gp_shared *shared, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++) {
		struct gp_window *window = &shared->windows[i];

		if (--window->uses)
			continue;
		drop_window(gpu, shared, i * shared->window, window->bo);
		window->bo = NULL;
	}
}

int gp_amdgpu_reach(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;
	uint64_t first, i, end;
	int ret = 0;

	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at, size);
	if (!shared) {
		g_mutex_unlock(&gpu->memory);
		return -EINVAL;
	}
	first = (uint64_t)((uint8_t *)at - shared->at) / shared->window;
	end = ((uint64_t)((uint8_t *)at - shared->at) + size - 1) / shared->window + 1;
	for (i = first; i < end; i++) {
		struct gp_window *window = &shared->windows[i];
		uint64_t offset = i * shared->window;

		if (!window->uses)
			ret = make_window(gpu, shared, offset, MIN(shared->window, shared->size - offset),
					  &window->bo);
		if (ret) {
			window->bo = NULL;
			break;
		}
		window->uses++;
	}
	if (ret) {
		put_windows(gpu, shared, first, i);
		g_info("amdgpu: %" G_GUINT64_FORMAT
		       " KiB of the shared region cannot be reached in place: %s",
		       size >> 10, strerror(-ret));
	}
	g_mutex_unlock(&gpu->memory);
	return ret;
}

void gp_amdgpu_unreach(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;
	uint64_t offset;

	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at, size);
	if (shared) {
		offset = (uint64_t)((uint8_t *)at - shared->at);
		put_windows(gpu, shared, offset / shared->window, (offset + size - 1) / shared->window + 1);
	}
	g_mutex_unlock(&gpu->memory);
}

void gp_amdgpu_unshare(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;

	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at, size);
	if (shared) {
		g_ptr_array_remove_fast(gpu->shares, shared);
		free_shared(gpu, shared);
	}
	g_mutex_unlock(&gpu->memory);
}

void gp_share_close(struct gp_gpu *gpu)
{
	for (guint i = 0; i < gpu->shares->len; i++)
		free_shared(gpu, g_ptr_array_index(gpu->shares, i));
	g_ptr_array_set_size(gpu->shares, 0);
}
