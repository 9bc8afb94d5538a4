/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue.c - the queue: launches and copies go in, and come out in order.
 *
 * How it works: one stream. What goes in is, in this order: an event, the kernel or the copy, another event, and a write of
 * the ticket to a word of the host's memory (the stamp), which the card makes with everything before it visible. So whoever
 * wants to know how far the card is reads a word, with no call to the driver and no thread that is blocked in one, however
 * many are in flight; and the time between the two events, by the card's clock, is what a launch took.
 *
 * Waiting: for SPIN_NS the stamp is looked at again and again, since small batches take less than it costs to sleep. Then
 * between naps that get longer with what they wait for, at most NAP_MAX_NS; wake() ends one. The driver is asked how it is
 * only then, every ASK_NS: an error of the card's ends nothing else of what is waited for.
 *
 * Bounds: no call here waits for the card. (The driver may, in a launch, where its own queue is full: it takes 1024, we
 * give it at most four for each of GP_CUDA_DEPTH.)
 */
#include <errno.h>
#include <string.h>
#include "cuda/private.h"

#define SPIN_NS	    50000u
#define NAP_MIN_NS  20000u
#define NAP_MAX_NS  1000000u
#define ASK_NS	    2000000u
#define STAMP_BYTES 4096u
#define TIME_TRIES  100 /* for events that the stamp says have passed */

CUresult gp_cuda_queue_open(struct gp_gpu *gpu)
{
	CUresult ret = gpu->cuda->cuStreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING);

	for (uint32_t i = 0; i < GP_CUDA_DEPTH && !ret; i++) {
		ret = gpu->cuda->cuEventCreate(&gpu->slots[i].begin, CU_EVENT_DEFAULT);
		if (!ret)
			ret = gpu->cuda->cuEventCreate(&gpu->slots[i].end, CU_EVENT_DEFAULT);
	}
	if (ret)
		return ret;
	gpu->next = gpu->oldest = 1;
	gpu->stamp = gp_cuda_alloc(gpu, STAMP_BYTES, GP_GPU_MEM_HOST);
	return gpu->stamp ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The driver waits for nothing when it destroys these, and gives their memory back when they are done with. */
void gp_cuda_queue_close(struct gp_gpu *gpu)
{
	for (uint32_t i = 0; i < GP_CUDA_DEPTH; i++) {
		if (gpu->slots[i].begin)
			gpu->cuda->cuEventDestroy_v2(gpu->slots[i].begin);
		if (gpu->slots[i].end)
			gpu->cuda->cuEventDestroy_v2(gpu->slots[i].end);
	}
	if (gpu->stream)
		gpu->cuda->cuStreamDestroy_v2(gpu->stream);
	if (gpu->stamp)
		gp_cuda_free(gpu, gpu->stamp, STAMP_BYTES);
}

/* -------------------------------------------------------------------- in */

/* What goes in between the two events. */
struct work {
	struct gp_gpu_code *code; /* NULL: a copy */
	uint64_t arg;
	uint32_t groups, group;
	uintptr_t to, from; /* from 0: filled with `pattern` */
	uint64_t bytes;
	uint32_t pattern;
};

static CUresult submit(struct gp_gpu *gpu, struct work *work)
{
	void *arguments[] = { &work->arg, (void *)(uintptr_t)work->arg }; /* jit/ptx_targets.h */

	if (work->code)
		return gpu->cuda->cuLaunchKernel(work->code->function, work->groups, 1, 1, work->group, 1, 1,
						 0, gpu->stream, arguments, NULL);
	if (work->from)
		return gpu->cuda->cuMemcpyAsync(work->to, work->from, work->bytes, gpu->stream);
	return gpu->cuda->cuMemsetD32Async(work->to, work->pattern, work->bytes / 4, gpu->stream);
}

/* Return: as launch(). `queue` held. */
static int queue_work(struct gp_gpu *gpu, struct work *work, uint64_t *ticket)
{
	struct gp_slot *slot = &gpu->slots[gpu->next % GP_CUDA_DEPTH];
	const struct gp_cuda *cuda = gpu->cuda;
	CUresult ret;

	if (gp_cuda_is_lost(gpu))
		return -ENODEV;
	if (gpu->next - gpu->oldest >= GP_CUDA_DEPTH)
		return -EAGAIN;
	slot->since = gp_cuda_now();
	ret = gp_cuda_check(gpu, cuda->cuEventRecord(slot->begin, gpu->stream));
	if (!ret)
		ret = gp_cuda_check(gpu, submit(gpu, work));
	/* Until here nothing is queued: it may be tried again. */
	if (ret)
		return gp_cuda_is_lost(gpu) ? -ENODEV : -ENOMEM;
	ret = cuda->cuEventRecord(slot->end, gpu->stream);
	if (!ret)
		ret = cuda->cuStreamWriteValue32_v2(gpu->stream, (uintptr_t)gpu->stamp, (uint32_t)gpu->next,
						    CU_STREAM_WRITE_VALUE_DEFAULT);
	if (ret) {
		/* Nobody would see it end; nor may anything be freed before it has. */
		gp_cuda_settle(gpu, gpu->stream);
		gp_cuda_lost(gpu, ret);
		return -ENODEV;
	}
	*ticket = gpu->next++;
	return 0;
}

int gp_cuda_launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		   uint32_t group, uint32_t times, uint64_t *ticket)
{
	/* The kernel runs all packets of a part (rt/kernels.c): once does. */
	struct work work = { .code = code, .arg = arg, .groups = groups, .group = group };
	int err;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->queue);
	err = queue_work(gpu, &work, ticket);
	g_mutex_unlock(&gpu->queue);
	return err;
}

int gp_cuda_copy(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		 uint64_t *ticket)
{
	struct work work = {
		.to = (uintptr_t)to, .from = (uintptr_t)from, .bytes = bytes, .pattern = pattern
	};
	int err;

	if (!bytes || (!from && ((uintptr_t)to | bytes) % 4) || !gp_cuda_share_is_whole(gpu, to, bytes) ||
	    (from && !gp_cuda_share_is_whole(gpu, from, bytes)))
		return -EOPNOTSUPP;
	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->queue);
	err = queue_work(gpu, &work, ticket);
	g_mutex_unlock(&gpu->queue);
	return err;
}

/* -------------------------------------------------------------------- out */

/* What the launch in @slot took, which has ended; what it took to the eye of who queued it where events do not say. */
static uint64_t took(struct gp_gpu *gpu, const struct gp_slot *slot)
{
	CUresult ret = CUDA_ERROR_NOT_READY;
	float ms = 0;

	for (int i = 0; i < TIME_TRIES && ret == CUDA_ERROR_NOT_READY; i++)
		ret = gpu->cuda->cuEventElapsedTime(&ms, slot->begin, slot->end);
	gp_cuda_check(gpu, ret);
	if (ret || !(ms >= 0))
		return gp_cuda_now() - slot->since;
	return (uint64_t)((double)ms * 1e6);
}

/* Return: how many have ended that were not reported. */
static uint32_t ended(const struct gp_gpu *gpu)
{
	uint32_t stamp = __atomic_load_n(gpu->stamp, __ATOMIC_ACQUIRE), before = (uint32_t)gpu->oldest - 1;

	return stamp - before <= GP_CUDA_DEPTH ? stamp - before : 0;
}

static int reap(struct gp_gpu *gpu, struct gp_gpu_end *ends, uint32_t max)
{
	uint32_t num;

	g_mutex_lock(&gpu->queue);
	num = MIN(MIN(ended(gpu), max), (uint32_t)(gpu->next - gpu->oldest));
	for (uint32_t i = 0; i < num; i++) {
		const struct gp_slot *slot = &gpu->slots[gpu->oldest % GP_CUDA_DEPTH];

		ends[i] = (struct gp_gpu_end){ .ticket = gpu->oldest, .ns = took(gpu, slot) };
		gpu->oldest++;
	}
	g_mutex_unlock(&gpu->queue);
	return (int)num;
}

/* A nap of @ns, unless somebody has called wake(). */
static void nap(struct gp_gpu *gpu, uint64_t ns)
{
	int64_t until = g_get_monotonic_time() + (int64_t)(ns / 1000);

	g_mutex_lock(&gpu->waking);
	if (!g_atomic_int_get(&gpu->woken))
		g_cond_wait_until(&gpu->woken_cond, &gpu->waking, until);
	g_mutex_unlock(&gpu->waking);
}

int gp_cuda_wait(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max)
{
	uint64_t began = gp_cuda_now(), asked = began, now;
	int num;

	gp_cuda_enter(gpu);
	for (;;) {
		num = reap(gpu, ends, max);
		if (num)
			return num;
		if (gp_cuda_is_lost(gpu))
			return -ENODEV;
		if (g_atomic_int_compare_and_exchange(&gpu->woken, 1, 0))
			return 0;
		now = gp_cuda_now();
		if (now - began >= ns)
			return 0;
		if (now - began < SPIN_NS) {
			for (int i = 0; i < 64 && !ended(gpu); i++)
				__builtin_ia32_pause();
			continue;
		}
		if (now - asked >= ASK_NS) {
			gp_cuda_check(gpu, gpu->cuda->cuStreamQuery(gpu->stream));
			asked = now;
		}
		nap(gpu, MIN(CLAMP((now - began) / 8, NAP_MIN_NS, NAP_MAX_NS), ns - (now - began)));
	}
}

void gp_cuda_wake(struct gp_gpu *gpu)
{
	g_mutex_lock(&gpu->waking);
	g_atomic_int_set(&gpu->woken, 1);
	g_cond_broadcast(&gpu->woken_cond);
	g_mutex_unlock(&gpu->waking);
}
