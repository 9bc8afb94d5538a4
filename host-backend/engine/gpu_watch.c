/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_watch.c - launches that take too long: first they are told to end, and if they do not, the GPU is taken to be lost.
 *
 * By the GPU's clock, which is asked only once a launch takes long; by the host's where it cannot be asked, and
 * from STUCK_NS on whatever it says (device_gpu.c says why). Engine's lock, dropped while the clock is asked.
 */
#include "gpu_priv.h"

#define PATIENCE_NS 200000000ull
#define LAUNCH_NS   2000000000ull
#define HANG_NS	    10000000000ull
#define STUCK_NS    60000000000ull
#define LOOK_NS	    20000000ull /* before which nobody looks how long a launch takes */
#define HANG_WAITS  ((uint32_t)(HANG_NS / GP_GPU_WAIT_NS / 2)) /* without an end, at least */

/* The oldest that is on the GPU, or NULL. Engine's lock. */
static struct gpu_launch *oldest(const struct gp_device *dev)
{
	if (list_empty(&dev->launches) || dev->lost)
		return NULL;
	return container_of(dev->launches.next, struct gpu_launch, link);
}

bool gp_gpu_watch(struct gp_device *dev, uint64_t now)
{
	struct gpu_launch *launch = oldest(dev);
	uint64_t took, ran, limit, ticket, ticks;
	bool known;

	if (!launch)
		return !list_empty(&dev->launches);
	/* It may have ended long ago. */
	if (!launch->front || !dev->waiting) {
		launch->front = now;
		launch->looked = false;
	}
	took = now - launch->front;
	limit = launch->hurry ? PATIENCE_NS : LAUNCH_NS;
	if (took <= (launch->looked ? limit : LOOK_NS))
		return true;
	ticket = launch->ticket;
	pthread_mutex_unlock(&dev->engine->lock);
	known = dev->ops->ticks(dev->gpu, &ticks);
	pthread_mutex_lock(&dev->engine->lock);
	launch = oldest(dev);
	if (!launch || launch->ticket != ticket || !dev->waiting)
		return true;
	if (known && !launch->looked) {
		launch->looked = true;
		launch->ticks = ticks;
	}
	ran = took;
	if (known && took < STUCK_NS)
		ran = ticks > launch->ticks
			      ? (uint64_t)((double)(ticks - launch->ticks) * 1e9 / (double)dev->info.tick_hz)
			      : 0;
	if (ran > (launch->hurry ? PATIENCE_NS : LAUNCH_NS))
		gp_gpu_stop(launch, GP_STOP_NOW);
	if (ran > HANG_NS && dev->fruitless >= HANG_WAITS) {
		dev->lost = dev->hung = true;
		dev->ops->wake(dev->gpu);
	}
	return true;
}
