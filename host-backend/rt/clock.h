/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - the clock that bpf_ktime_get_ns reads in programs. */
#ifndef GPGPU_RT_CLOCK_H
#define GPGPU_RT_CLOCK_H

#include "rt/abi.h"

/* gp_ticks() - the counter that runs at one rate on every processor. */
static inline uint64_t gp_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#elif defined(__AMDGCN__)
	return __builtin_readsteadycounter();
#elif defined(__NVPTX__)
	uint64_t t;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); /* nanoseconds */
	return t;
#else
	return 0;
#endif
}

/*
 * gp_clock_read() - set a job's clock from CLOCK_MONOTONIC. Native only.
 *
 * The first call of a process measures the counter's rate for 2 ms; later ones improve on it and cost a
 * few clock_gettime(). Any thread.
 */
void gp_clock_read(struct gp_clock *clock);

#endif
