/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.c - what becomes of the queue when the driver resets the card, drops what we had queued, or the card is gone.
 *
 * A loss is noticed by an error of a submission, of a wait or of a launch's fence, by a launch whose point was signalled
 * though the GPU never wrote that it ended, or by asking the driver, which is done while something seems to take long. From then on nothing is
 * queued until recover(). Whose fault it was the driver knows (QUERY_STATE2); where it cannot be asked the error
 * says it: -ECANCELED for somebody else's, -ENODATA and -ETIME for a launch of ours that hung.
 *
 * recover() waits until the driver has ended whatever it still had of ours, since the engine uses memory again
 * afterwards; then it makes a new context and a new timeline. Buffer objects and page tables survive: the driver
 * restores them. What the card's own memory held does not survive where the driver says so: it is cleared, since what is
 * there now may be anybody's, and code is written again.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "amdgpu/private.h"

#define SETTLE_NS  (10ull * 1000 * 1000 * 1000) /* for launches of ours that are left */
#define TRIES	   5
#define TRY_US	   50000
#define MAX_LOSSES 8 /* one after the other without a launch that ended */

static void set_state(struct gp_gpu *gpu, enum gp_gpu_state state)
{
	g_atomic_int_set(&gpu->state, (int)state);
	if (state == GP_GPU_OK)
		return;
	/* None of those that were queued is reported any more. */
	gpu->oldest = gpu->next;
}

/*
 * ask() - Return: what the driver says of our context. A reset alone (or a soft recovery, which counts as one) is nothing to
 * us: somebody else's launch was ended, and fences say whether any of ours was. @reset: out: there was one.
 */
static enum gp_gpu_state ask(struct gp_gpu *gpu, bool *reset)
{
	uint64_t flags = 0;
	int ret = gpu->drm->amdgpu_cs_query_reset_state2(gpu->context, &flags);

	*reset = flags & AMDGPU_CTX_QUERY2_FLAGS_RESET;
	if (ret == -ENODEV)
		return GP_GPU_GONE;
	if (ret)
		return GP_GPU_OK;
	if (flags & AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST)
		gpu->memory_lost = true;
	if (flags & AMDGPU_CTX_QUERY2_FLAGS_GUILTY)
		return GP_GPU_GUILTY;
	return flags & AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST ? GP_GPU_INNOCENT : GP_GPU_OK;
}

void gp_lost(struct gp_gpu *gpu, int error)
{
	enum gp_gpu_state state;
	bool reset;

	if (g_atomic_int_get(&gpu->state) != GP_GPU_OK)
		return;
	state = error == -ENODEV ? GP_GPU_GONE : ask(gpu, &reset);
	if (state != GP_GPU_GONE && (error == -ENODATA || error == -ETIME))
		state = GP_GPU_GUILTY;
	else if (state == GP_GPU_OK)
		state = GP_GPU_INNOCENT;
	g_info("amdgpu: the queue is lost (error %d, state %d)", -error, (int)state);
	set_state(gpu, state);
}

bool gp_lost_poll(struct gp_gpu *gpu)
{
	bool reset = false;
	enum gp_gpu_state state = ask(gpu, &reset);

	if (state != GP_GPU_OK && g_atomic_int_get(&gpu->state) == GP_GPU_OK)
		set_state(gpu, state);
	return reset;
}

enum gp_gpu_state gp_amdgpu_state(struct gp_gpu *gpu)
{
	return (enum gp_gpu_state)g_atomic_int_get(&gpu->state);
}

/* settle() - everything that was ever queued has ended, one way or the other. Return: false: it does not. */
static bool settle(struct gp_gpu *gpu, uint64_t last)
{
	uint32_t first;
	struct timespec now;
	int64_t until;
	int ret;

	if (!last)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + (int64_t)SETTLE_NS;
	for (int i = 0; i < TRIES; i++) {
		ret = gpu->drm->amdgpu_cs_syncobj_timeline_wait(gpu->device, &gpu->timeline, &last, 1, until,
								0, &first);
		/* EINVAL: nothing was ever submitted for that point. */
		if (!ret || ret == -EINVAL)
			return true;
		if (ret == -ETIME || ret == -ENODEV)
			return false;
		g_usleep(TRY_US);
	}
	return false;
}

static bool new_context(struct gp_gpu *gpu)
{
	const char *what;
	int ret;

	gpu->drm->amdgpu_cs_destroy_syncobj(gpu->device, gpu->timeline);
	gpu->timeline = 0;
	gpu->drm->amdgpu_cs_ctx_free(gpu->context);
	gpu->context = NULL;
	for (int i = 0; i < TRIES; i++) {
		ret = gp_queue_context(gpu, &what);
		if (!ret)
			return true;
		if (ret == -ENODEV)
			return false;
		g_usleep(TRY_US);
	}
	return false;
}

bool gp_amdgpu_recover(struct gp_gpu *gpu, bool *contents)
{
	uint64_t last;
	bool ok, reset;

	*contents = true;
	if (g_atomic_int_get(&gpu->state) == GP_GPU_OK)
		return true;
	g_mutex_lock(&gpu->queue);
	last = gpu->next - 1;
	ok = g_atomic_int_get(&gpu->state) != GP_GPU_GONE && ++gpu->losses <= MAX_LOSSES;
	g_mutex_unlock(&gpu->queue);
	/* Nobody queues or waits meanwhile: the state says that it is lost. */
	ok = ok && settle(gpu, last);

	g_mutex_lock(&gpu->queue);
	if (ok)
		ask(gpu, &reset); /* once more: it may only just have been done */
	ok = ok && new_context(gpu);
	if (ok && gpu->memory_lost) {
		gp_memory_clear(gpu);
		ok = gp_load_again(gpu);
		*contents = false;
	}
	gpu->memory_lost = false;
	set_state(gpu, ok ? GP_GPU_OK : GP_GPU_GONE);
	g_mutex_unlock(&gpu->queue);
	return ok;
}
