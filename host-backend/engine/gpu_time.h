/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu_time.h - what a launch is charged; gpu_time.c says by which clocks. */
#ifndef GPGPU_GPU_TIME_H
#define GPGPU_GPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Others that may use the GPU at the same time without our being charged for theirs. */
#define GP_GPU_OTHERS 8u

/* Of one GPU. All zeros: nothing was ever queued. Times are the host's, monotonic, in ns. */
struct gp_gpu_times {
	uint64_t since; /* something has been queued all the time since then */
	uint64_t charged; /* of the time since then */
	uint64_t last; /* when a launch was last seen to have ended */
	bool caught; /* the GPU once said what cannot be */
};

/* gp_gpu_times_begin() - something is about to be queued, and nothing is. */
void gp_gpu_times_begin(struct gp_gpu_times *times, uint64_t now);

/*
 * gp_gpu_times_end() - a launch is seen to have ended, those before it were before.
 * @queued: when it was queued; @ns: what the GPU says that it took; @odd: and that cannot be.
 * Return: ns to be charged.
 */
uint64_t gp_gpu_times_end(struct gp_gpu_times *times, uint64_t queued, uint64_t ns, bool odd, uint64_t now);

#endif
