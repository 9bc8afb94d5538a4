/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mock.h - a GPU that is none: struct gp_gpu_ops in plain C, for tests of what lies above.
 *
 * How it works: memory is the process's, images are compiled for this machine, and a thread runs launches one after the
 * other, lane by lane, beginning somewhere in the middle. What a real one does to those who use it can be asked for:
 * no memory, no room in the queue, a region that cannot be shared, and losses of each kind.
 *
 * It is strict: memory must be given back with the size with which it was had, code and memory before close(), and
 * a launch must lie in memory that it gave out; else it aborts. What came in with a launch is garbage when that has ended.
 */
#ifndef GPU_MOCK_H
#define GPU_MOCK_H

#include "engine/gpu.h"

extern const struct gp_gpu_ops gp_gpu_mock;

/* What to do to the next users; all zeros: nothing. Set before the engine is made, or while it has nothing to do. */
struct gp_mock_plan {
	uint32_t waves; /* 0: 4 */
	uint32_t depth; /* 0: 4 */
	bool in_order; /* lanes begin with the first */
	uint32_t cpus; /* 0: the engine's choice */
	uint32_t delay_us; /* before each launch */
	uint32_t took_us; /* that each takes in any case, by all clocks */
	bool claims_none; /* each is said to have taken 1 ns, whatever it took */
	bool no_share; /* share() fails */
	uint32_t fail_alloc; /* that many calls of alloc() for HOST memory return NULL ... */
	uint32_t fail_alloc_device; /* ... and for DEVICE memory */
	uint32_t fail_launch; /* that many calls of launch() return ... */
	int fail_errno; /* ... this */
	enum gp_gpu_state lose; /* the launch that runs next, or is now, is lost; once */
	uint32_t lose_after; /* after that many launches */
	bool keeps_contents; /* what recover() says */
	bool hang; /* the next launch does not end, whatever it is told */
	bool no_clock; /* ticks() fails */
	bool no_copy; /* copy() does none */
	/*
	 * As where programs got out of their bounds: launches do nothing of what they are to do, but write all over HOST memory, that
	 * of launches to come and their own times too, so that those cannot be. 1: random bytes; 0x100 and more: the low byte of it.
	 */
	uint32_t vandal;
};

extern struct gp_mock_plan gp_mock_plan;

struct gp_mock_counts {
	uint64_t launches, copies, lanes, allocs, bytes; /* bytes: had now */
	uint64_t loads, unloads, shares, unshares, recovers;
	uint32_t most_queued;
};

void gp_mock_counts(struct gp_mock_counts *counts);
/*
 * gp_mock_use() - make engines on "mock" possible, with as many CPUs as tests give to an engine on the CPU.
 * Return: what $GPGPU_TEST_DEVICE says, or "cpu". With $GPGPU_MOCK_NO_SHARE shared memory is not reached in place.
 */
const char *gp_mock_use(void);

#endif
