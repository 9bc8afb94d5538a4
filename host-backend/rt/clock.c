/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.c - relates the time stamp counter to CLOCK_MONOTONIC.
 *
 * Programs cannot call the system, so ktime_get_ns extrapolates from the pair that was taken when their job
 * began. The rate is measured from the process's first pair to the newest, so its error shrinks as the
 * process runs; within one job it is far below a microsecond.
 */
#include <pthread.h>
#include <time.h>
#include "clock.h"

#define GP_CALIBRATE_NS 2000000
#define GP_PAIRS	4
#define GP_BOOT_STEP	1000000

static pthread_mutex_t gp_clock_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_clock gp_clock_first;

static uint64_t gp_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The thread may lose its processor between the two clocks: the closest of a few pairs is taken. */
static void gp_clock_pair(struct gp_clock *clock)
{
	uint64_t before, ns, after, best = UINT64_MAX;
	int i;

	for (i = 0; i < GP_PAIRS; i++) {
		before = gp_ticks();
		ns = gp_clock_ns(CLOCK_MONOTONIC);
		after = gp_ticks();
		if (after - before >= best)
			continue;
		best = after - before;
		clock->tsc = before + best / 2;
		clock->ns = ns;
	}
}

void gp_clock_read(struct gp_clock *clock)
{
	__extension__ typedef unsigned __int128 gp_u128;
	uint64_t ticks, ns, boot;

	pthread_mutex_lock(&gp_clock_lock);
	if (!gp_clock_first.ns)
		gp_clock_pair(&gp_clock_first);
	do {
		gp_clock_pair(clock);
	} while (clock->ns - gp_clock_first.ns < GP_CALIBRATE_NS);
	ticks = clock->tsc - gp_clock_first.tsc;
	clock->mult = ticks ? (uint64_t)(((gp_u128)(clock->ns - gp_clock_first.ns) << 32) / ticks) : 0;
	pthread_mutex_unlock(&gp_clock_lock);
	ns = gp_clock_ns(CLOCK_MONOTONIC);
	boot = gp_clock_ns(CLOCK_BOOTTIME);
	/* To the millisecond: what passes between the two readings is not sleep. */
	clock->boot = boot > ns ? (boot - ns) / GP_BOOT_STEP * GP_BOOT_STEP : 0;
}
