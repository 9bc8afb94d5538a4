/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_time.c - what a launch is charged: what the GPU's clock says, within what the host's clock has seen.
 *
 * A GPU writes down itself when a launch began and ended. It does so in memory of the address space that programs run in, so a
 * program that got out of its bounds could make its own launch, or one that has ended and was not looked at yet, look
 * short, and its VM would have more of the device than its cap. Nothing in that address space is out of its reach. So
 * there are two books, and the second one no program can write to: launches run one after the other, so one has had at most the time
 * from when it was queued, or from when the one before it was seen to have ended, whichever is later, until it was seen to
 * have ended itself.
 *
 *  - Not more: all launches since the queue was last empty are charged no more than that time in all. (One by one would be too
 *    strict: the host may see the end of a launch late, when most of the next one has run.)
 *  - Not less than one part in GP_GPU_OTHERS of it. The rest may be others' who use the same GPU, and what it takes until the host
 *    looks; an honest launch is charged too much only with more others than that.
 *  - A GPU that said what cannot be (an end before its beginning) was written over. Then the host's clock alone counts from
 *    there on, for good.
 *
 * So who gets out of its bounds and lies well has at most GP_GPU_OTHERS times its cap, and who does not lie well, less than its cap.
 *
 * Threads: any, under the engine's lock.
 */
#include "gpu_time.h"

void gp_gpu_times_begin(struct gp_gpu_times *times, uint64_t now)
{
	/* What has ended was seen to only just now, where another thread saw it. */
	times->since = now > times->last ? now : times->last;
	times->last = times->since;
	times->charged = 0;
}

uint64_t gp_gpu_times_end(struct gp_gpu_times *times, uint64_t queued, uint64_t ns, bool odd, uint64_t now)
{
	uint64_t from = queued > times->last ? queued : times->last;
	uint64_t seen = now > from ? now - from : 0;
	uint64_t whole = now > times->since ? now - times->since : 0;
	uint64_t most = whole > times->charged ? whole - times->charged : 0;

	times->caught = times->caught || odd;
	if (times->caught || ns < seen / GP_GPU_OTHERS)
		ns = times->caught ? seen : seen / GP_GPU_OTHERS;
	if (ns > most)
		ns = most;
	times->charged += ns;
	if (now > times->last)
		times->last = now;
	return ns;
}
