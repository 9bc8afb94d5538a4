/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c - the shared region where it is, without copies.
 *
 * Two ways, in this order, in windows of at most 64 MiB:
 *  - /dev/udmabuf (opened before the sandbox closed) makes a dma-buf of a part of the memory file, which is imported. The
 *    pages are held from then on. It wants a file that cannot shrink (F_SEAL_SHRINK) and has a limit on one
 *    buffer's size, a parameter of its module.
 *  - A user pointer: the driver looks pages up where the process has them mapped. Each submission looks again at every
 *    page, so this is the slower way.
 * All windows are made in the same way. Where neither works the engine copies.
 *
 * The GPU may read and write but never execute; caches are as for the card's memory, since launches begin and end
 * with what makes the host's writes and the card's visible.
 */
#include <errno.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "amdgpu/private.h"

#define WINDOW	    (64ull << 20)
#define SHARE_FLAGS (AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_MTYPE_DEFAULT)

static int window_udmabuf(struct gp_gpu *gpu, struct gp_shared *shared, uint64_t offset, uint64_t size,
			  int fd, struct gp_bo **bo)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)fd,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.offset = offset,
		.size = size,
	};
	int dmabuf, ret;

	dmabuf = ioctl(gpu->udmabuf, UDMABUF_CREATE, &create);
	if (dmabuf < 0)
		return -errno;
	ret = gp_bo_import(gpu, dmabuf, size, bo);
	close(dmabuf);
	return ret;
}

static int window_user(struct gp_gpu *gpu, struct gp_shared *shared, uint64_t offset, uint64_t size, int fd,
		       struct gp_bo **bo)
{
	return gp_bo_user(gpu, shared->at + offset, size, bo);
}

static void drop_windows(struct gp_gpu *gpu, struct gp_shared *shared)
{
	struct gp_bo *bo;

	for (guint i = 0; i < shared->windows->len; i++) {
		bo = g_ptr_array_index(shared->windows, i);
		gp_bo_unmap(gpu, bo, 0, bo->size, shared->at + i * shared->window);
		gp_bo_free(gpu, bo);
	}
	g_ptr_array_set_size(shared->windows, 0);
}

typedef int make_window(struct gp_gpu *gpu, struct gp_shared *shared, uint64_t offset, uint64_t size, int fd,
			struct gp_bo **bo);

static int make_windows(struct gp_gpu *gpu, struct gp_shared *shared, int fd, make_window *make)
{
	struct gp_bo *bo;
	uint64_t size;
	int ret = 0;

	for (uint64_t offset = 0; offset < shared->size && !ret; offset += size) {
		size = MIN(shared->window, shared->size - offset);
		ret = make(gpu, shared, offset, size, fd, &bo);
		if (ret)
			break;
		ret = gp_bo_map(gpu, bo, 0, size, shared->at + offset, SHARE_FLAGS);
		if (ret)
			gp_bo_free(gpu, bo);
		else
			g_ptr_array_add(shared->windows, bo);
	}
	if (ret)
		drop_windows(gpu, shared);
	return ret;
}

static void free_shared(struct gp_gpu *gpu, struct gp_shared *shared)
{
	drop_windows(gpu, shared);
	g_ptr_array_free(shared->windows, true);
	g_free(shared);
}

int gp_amdgpu_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd)
{
	struct gp_shared *shared;
	const char *how = "udmabuf";
	int ret = -ENODEV, first;

	if (!size || ((uintptr_t)at | size) % GP_GPU_PAGE || (uintptr_t)at < gpu->va_min ||
	    (uintptr_t)at >= gpu->va_end || size > gpu->va_end - (uintptr_t)at)
		return -EINVAL;
	shared = g_new0(struct gp_shared, 1);
	shared->at = at;
	shared->size = size;
	shared->windows = g_ptr_array_new();
	if (gpu->udmabuf >= 0) {
		shared->window = MIN(WINDOW, gpu->udmabuf_max);
		ret = make_windows(gpu, shared, fd, window_udmabuf);
	}
	first = ret;
	if (ret) {
		how = "user pointers";
		shared->window = WINDOW;
		ret = make_windows(gpu, shared, fd, window_user);
	}
	if (ret) {
		g_info("amdgpu: the shared region cannot be reached in place: udmabuf: %s; user pointers: %s",
		       strerror(-first), strerror(-ret));
		free_shared(gpu, shared);
		return ret;
	}
	g_info("amdgpu: %" G_GUINT64_FORMAT " MiB of shared region in %u windows by %s", size >> 20,
	       shared->windows->len, how);
	g_mutex_lock(&gpu->memory);
	g_ptr_array_add(gpu->shares, shared);
	g_mutex_unlock(&gpu->memory);
	return 0;
}

void gp_amdgpu_unshare(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared = NULL, *one;

	g_mutex_lock(&gpu->memory);
	for (guint i = 0; i < gpu->shares->len && !shared; i++) {
		one = g_ptr_array_index(gpu->shares, i);
		if (one->at == at) {
			shared = one;
			g_ptr_array_remove_index_fast(gpu->shares, i);
		}
	}
	g_mutex_unlock(&gpu->memory);
	if (shared)
		free_shared(gpu, shared);
}

void gp_share_close(struct gp_gpu *gpu)
{
	for (guint i = 0; i < gpu->shares->len; i++)
		free_shared(gpu, g_ptr_array_index(gpu->shares, i));
	g_ptr_array_set_size(gpu->shares, 0);
}
