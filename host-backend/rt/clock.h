/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - the clock that bpf_ktime_get_ns reads in programs; native only. */
#ifndef GPGPU_RT_CLOCK_H
#define GPGPU_RT_CLOCK_H

#include "rt/abi.h"

/*
 * gp_clock_read() - set a job's clock from CLOCK_MONOTONIC.
 *
 * The first call of a process measures the counter's rate for 2 ms; later ones improve on it and cost a
 * few clock_gettime(). Any thread.
 */
void gp_clock_read(struct gp_clock *clock);

#endif
