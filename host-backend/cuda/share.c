/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c - the shared region where it is, without copies: registered with the driver.
 *
 * Pages that are registered are pinned: memory that the host cannot have back, and that is there whether the guest ever
 * touched it or not. So the region is cut into windows, and only those are registered that a buffer of the guest's
 * lies in, from when it is made until it is gone (reach(), unreach()). Registering takes the driver 0.3 ms a MiB (docs/cuda.md).
 *
 * A kernel goes from one window to the next, since addresses go on. A copy of the driver's does not: it belongs to one
 * registration, and what is not in one a kernel copies (queue.c).
 *
 * Threads: any; the lock `memory`.
 */
#include <errno.h>
#include "cuda/private.h"

#define MIN_WINDOW (4ull << 20)
#define MAX_WINDOW (64ull << 20)
#define WINDOWS	   128 /* that a region is cut into, within these */

static uint64_t window_bytes(const struct gp_shared *shared, uint32_t n)
{
	return MIN(shared->window, shared->size - n * shared->window);
}

static int to_errno(CUresult ret)
{
	if (!ret)
		return 0;
	return ret == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

int gp_cuda_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd)
{
	struct gp_shared *shared;
	CUresult ret;

	if (!size || ((uintptr_t)at | size) % GP_CUDA_PAGE)
		return -EINVAL;
	gp_cuda_enter(gpu);
	/* Does one page work? */
	ret = gp_cuda_register(gpu, at, GP_CUDA_PAGE, false);
	if (!ret)
		ret = gp_cuda_check(gpu, gpu->cuda->cuMemHostUnregister(at));
	if (ret) {
		char text[160];

		g_message("cuda: shared memory is copied, since it cannot be registered: %s",
			  gp_cuda_text(gpu->cuda, ret, text));
		return to_errno(ret);
	}
	shared = g_new0(struct gp_shared, 1);
	shared->at = at;
	shared->size = size;
	shared->window = CLAMP(gp_round_up(size / WINDOWS, MIN_WINDOW), MIN_WINDOW, MAX_WINDOW);
	shared->num_windows = (uint32_t)((size + shared->window - 1) / shared->window);
	shared->windows = g_new0(struct gp_window, shared->num_windows);
	g_mutex_lock(&gpu->memory);
	g_ptr_array_add(gpu->shares, shared);
	g_mutex_unlock(&gpu->memory);
	return 0;
}

/* With `memory`, as those below. */
static struct gp_shared *find(struct gp_gpu *gpu, const void *at)
{
	for (guint i = 0; i < gpu->shares->len; i++) {
		struct gp_shared *shared = g_ptr_array_index(gpu->shares, i);

		if ((const uint8_t *)at >= shared->at && (const uint8_t *)at < shared->at + shared->size)
			return shared;
	}
	return NULL;
}

static void leave(struct gp_gpu *gpu, struct gp_shared *shared, uint32_t n)
{
	struct gp_window *w = &shared->windows[n];

	if (--w->uses)
		return;
	/* What the driver does not let go of is found registered when the next buffer is made there. */
	w->registered = gp_cuda_check(gpu, gpu->cuda->cuMemHostUnregister(shared->at + n * shared->window));
}

static CUresult use(struct gp_gpu *gpu, struct gp_shared *shared, uint32_t n)
{
	struct gp_window *w = &shared->windows[n];
	CUresult ret = CUDA_SUCCESS;

	if (!w->registered)
		ret = gp_cuda_register(gpu, shared->at + n * shared->window, window_bytes(shared, n), false);
	if (ret)
		return ret;
	w->registered = true;
	w->uses++;
	return CUDA_SUCCESS;
}

static void range(const struct gp_shared *shared, const void *at, uint64_t size, uint32_t *first,
		  uint32_t *end)
{
	uint64_t offset = (uint64_t)((const uint8_t *)at - shared->at);

	*first = (uint32_t)(offset / shared->window);
	*end = (uint32_t)((offset + size - 1) / shared->window) + 1;
}

int gp_cuda_reach(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;
	uint32_t first = 0, end = 0, n = 0;
	CUresult ret = CUDA_SUCCESS;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at);
	if (!shared || !size || size > shared->size - (uint64_t)((uint8_t *)at - shared->at)) {
		g_mutex_unlock(&gpu->memory);
		return -EINVAL;
	}
	range(shared, at, size, &first, &end);
	for (n = first; n < end && !ret; n++)
		ret = use(gpu, shared, n);
	if (ret)
		for (n--; n > first; n--)
			leave(gpu, shared, n - 1);
	g_mutex_unlock(&gpu->memory);
	if (ret) {
		char text[160];

		g_message("cuda: a buffer in shared memory cannot be registered: %s",
			  gp_cuda_text(gpu->cuda, ret, text));
	}
	return to_errno(ret);
}

void gp_cuda_unreach(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;
	uint32_t first, end;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at);
	if (shared) {
		range(shared, at, size, &first, &end);
		for (uint32_t n = first; n < end; n++)
			leave(gpu, shared, n);
	}
	g_mutex_unlock(&gpu->memory);
}

void gp_cuda_unshare(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_shared *shared;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at);
	if (shared) {
		for (uint32_t n = 0; n < shared->num_windows; n++)
			if (shared->windows[n].registered)
				gp_cuda_check(gpu, gpu->cuda->cuMemHostUnregister(shared->at +
										  n * shared->window));
		g_ptr_array_remove_fast(gpu->shares, shared);
		g_free(shared->windows);
		g_free(shared);
	}
	g_mutex_unlock(&gpu->memory);
}

bool gp_cuda_share_is_whole(struct gp_gpu *gpu, const void *at, uint64_t bytes)
{
	struct gp_shared *shared;
	uint32_t first = 0, end = 1;

	g_mutex_lock(&gpu->memory);
	shared = find(gpu, at);
	if (shared)
		range(shared, at, bytes, &first, &end);
	g_mutex_unlock(&gpu->memory);
	return end == first + 1;
}
