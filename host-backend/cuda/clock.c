/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c - the card's clock (%globaltimer, in nanoseconds), which the CPU cannot read.
 *
 * A kernel of one lane writes it to the host's memory, by the second stream, so that it does not wait for launches. What
 * comes back is how far that clock is ahead of ours, between the two readings of ours around it; from then on ours says
 * what it is. It is looked at again after AGAIN_NS, so that what one clock gains on the other stays below what one look
 * is wrong by. A look that is not over within LOOK_NS is given up, and where it took long it is the less exact: then what was
 * known before stays.
 */
#include "cuda/private.h"
#include "jit/ptx_targets.h"

#define AGAIN_NS 1000000000ull
#define LOOK_NS	 20000000ull
#define EXACT_NS 200000ull

static const char text[] = ".version 7.0\n"
			   ".target sm_50\n"
			   ".address_size 64\n"
			   ".visible .entry " GP_PTX_KERNEL "(.param .u64 to)\n"
			   "{\n"
			   "	.reg .b64 at, now;\n"
			   "	ld.param.u64 at, [to];\n"
			   "	mov.u64 now, %globaltimer;\n"
			   "	st.u64 [at], now;\n"
			   "	ret;\n"
			   "}\n";

/* `writing` held. Return: whether clock_ahead is known. */
static bool look(struct gp_gpu *gpu)
{
	uint64_t arg = (uintptr_t)gpu->clock_word, before, after, ticks = 0;
	void *arguments[] = { &arg };
	CUresult ret;

	__atomic_store_n(gpu->clock_word, 0, __ATOMIC_RELAXED);
	before = after = gp_cuda_now();
	ret = gpu->cuda->cuLaunchKernel(gpu->clock->function, 1, 1, 1, 1, 1, 1, 0, gpu->side, arguments,
					NULL);
	if (gp_cuda_check(gpu, ret))
		return false;
	while (!ticks && after - before < LOOK_NS && !gp_cuda_is_lost(gpu)) {
		ticks = __atomic_load_n(gpu->clock_word, __ATOMIC_ACQUIRE);
		after = gp_cuda_now();
	}
	/* It may still write: the next look is behind it in the stream, and later than what it reads. */
	if (!ticks)
		return false;
	if (gpu->clock_read && after - before > EXACT_NS)
		return true;
	gpu->clock_ahead = (int64_t)(ticks - (before + (after - before) / 2));
	gpu->clock_read = after;
	return true;
}

bool gp_cuda_ticks(struct gp_gpu *gpu, uint64_t *ticks)
{
	uint64_t now = gp_cuda_now();
	bool known;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->writing);
	if (!gpu->clock_read || now - gpu->clock_read > AGAIN_NS)
		look(gpu);
	known = gpu->clock_read;
	*ticks = gp_cuda_now() + (uint64_t)gpu->clock_ahead;
	g_mutex_unlock(&gpu->writing);
	return known;
}

bool gp_cuda_clock_open(struct gp_gpu *gpu, char why[GP_MESSAGE])
{
	uint64_t ticks;

	gpu->clock = gp_cuda_load_text(gpu, text, sizeof(text) - 1, why);
	if (!gpu->clock)
		return false;
	gpu->clock_word = gp_cuda_alloc(gpu, sizeof(*gpu->clock_word), GP_GPU_MEM_HOST);
	if (!gpu->clock_word) {
		g_strlcpy(why, "no memory for its clock", GP_MESSAGE);
		return false;
	}
	if (gp_cuda_ticks(gpu, &ticks))
		return true;
	g_snprintf(why, GP_MESSAGE, "a first kernel does not end%s%s", gpu->lost_by[0] ? ": " : "",
		   gpu->lost_by);
	return false;
}

void gp_cuda_clock_close(struct gp_gpu *gpu)
{
	/* A look that was given up may still be under way. */
	if (gpu->clock) {
		g_mutex_lock(&gpu->writing);
		gp_cuda_settle(gpu, gpu->side);
		g_mutex_unlock(&gpu->writing);
	}
	if (gpu->clock_word)
		gp_cuda_free(gpu, gpu->clock_word, sizeof(*gpu->clock_word));
	gp_cuda_unload(gpu, gpu->clock);
}
