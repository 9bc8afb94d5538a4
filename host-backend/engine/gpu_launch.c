/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu_launch.c - what all launches have: memory, a stop word, a seed, the clock, how long a lane may take. */
#include <string.h>
#include <sys/random.h>
#include "gpu_priv.h"
#include "rt/clock.h"

#define LANE_NS	 1000000000ull /* of one lane; the driver takes 60 s for a hang, on some hosts 2 s */
#define CLOCK_NS 100000000ull /* between two readings */

/* What a program draws tells it the generator's state: none goes on where another stopped. */
static uint64_t new_seed(void)
{
	static uint64_t last; /* atomic */
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = __atomic_add_fetch(&last, gp_now() | 1, __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15ull;
	return seed | 1;
}

struct gpu_launch *gp_gpu_launch_new(struct gp_device *dev, enum gpu_launch_kind kind, uint64_t room)
{
	uint64_t size = gp_gpu_room(sizeof(struct gp_launch)) + room;
	struct gpu_block *block = gp_gpu_block(dev, size);
	uint32_t *stop = gp_gpu_stop_word(dev);
	struct gpu_launch *launch;

	if (!block || !stop) {
		gp_gpu_block_put(dev, block);
		if (stop)
			gp_gpu_stop_word_put(dev, stop);
		return NULL;
	}
	launch = g_new0(struct gpu_launch, 1);
	list_init(&launch->link);
	list_init(&launch->calls);
	launch->kind = kind;
	launch->block = block;
	launch->args = gp_gpu_take(block, sizeof(*launch->args));
	launch->stop = stop;
	*launch->args = (struct gp_launch){
		.env.stop = launch->stop,
		.group = dev->info.group,
		.num_cpus = dev->engine->cpus,
		.seed = new_seed(),
		.ticks = (uint64_t)((double)LANE_NS * (double)dev->info.tick_hz / 1e9),
		.fault_first = UINT64_MAX,
	};
	return launch;
}

void gp_gpu_launch_free(struct gp_device *dev, struct gpu_launch *launch)
{
	gp_gpu_block_put(dev, launch->block);
	gp_gpu_stop_word_put(dev, launch->stop);
	if (launch->looked_at)
		g_ptr_array_unref(launch->looked_at);
	g_free(launch->part_of);
	g_free(launch->order);
	g_free(launch->texts);
	g_free(launch);
}

/*
 * relate() - what a program that reads @ticks is to take for the time. @now: the host's. Where the GPU's clock is ahead of
 * what the last reading made of it, that stays, since programs know a clock that never goes backwards.
 */
static uint64_t relate(const struct gp_clock *last, uint64_t ticks, uint64_t now)
{
	__extension__ typedef unsigned __int128 u128;
	uint64_t said;

	if (!last->mult || ticks <= last->tsc)
		return now;
	said = last->ns + (uint64_t)((u128)(ticks - last->tsc) * last->mult >> 32);
	return MAX(said, now);
}

void gp_gpu_clock(struct gp_device *dev, struct gp_clock *clock)
{
	uint64_t now = gp_now(), ticks;
	struct gp_clock host;

	if (!dev->clock_read || now - dev->clock_read > CLOCK_NS) {
		gp_clock_read(&host);
		if (!dev->ops->ticks(dev->gpu, &ticks))
			ticks = 0;
		dev->clock = (struct gp_clock){
			.tsc = ticks,
			.ns = relate(&dev->clock, ticks, now),
			/* Time stands still in a launch whose clock cannot be related to ours. */
			.mult = ticks ? (uint64_t)(1e9 * 4294967296.0 / (double)dev->info.tick_hz) : 0,
			.boot = host.boot,
		};
		dev->clock_read = now;
	}
	*clock = dev->clock;
}

void gp_gpu_stop(struct gpu_launch *launch, enum gp_stop stop)
{
	/* Lanes of the others are not asked before they begin: nobody would know which had. */
	if (stop == GP_STOP_SOON && !launch->part_of)
		return;
	if (*launch->stop < (uint32_t)stop)
		__atomic_store_n(launch->stop, (uint32_t)stop, __ATOMIC_RELAXED);
}
