/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_submit.c - the submitter: what the scheduler picks becomes launches, and those that are ready are queued on the GPU, as
 * many as it takes. device_gpu.c says how much is let in.
 *
 * Locks: engine's, dropped while anything is made or queued.
 */
#include <errno.h>
#include "gpu_priv.h"
#include "retire.h"

#define RETRY_NS  1000000ull /* when the driver has no memory */
#define MAX_TRIES 2000

static void sleep_until(struct gp_device *dev, uint64_t wake)
{
	struct timespec ts = { .tv_sec = (time_t)(wake / 1000000000), .tv_nsec = (long)(wake % 1000000000) };

	if (wake == UINT64_MAX)
		pthread_cond_wait(&dev->wake, &dev->engine->lock);
	else
		pthread_cond_timedwait(&dev->wake, &dev->engine->lock, &ts);
}

/* Launches of a chunk of @job. Engine's lock held, not all the time. */
static void begin_slice(struct gp_device *dev, struct gp_job *job, const struct gp_sched_grant *grant,
			uint64_t now)
{
	struct gpgpu_engine *engine = dev->engine;
	struct gpu_slice *slice = g_new0(struct gpu_slice, 1);
	struct list ready;

	slice->grant = *grant;
	slice->job = job;
	gp_job_take(job, engine->slice_ns, &slice->chunk, now);
	slice->chunk.phase = gp_slice_begin(job->session);
	if (dev->gone) {
		slice->status = VIRTIO_GPGPU_S_DEVICE_LOST;
		slice->reason = dev->lost_reason;
	}
	pthread_mutex_unlock(&engine->lock);

	list_init(&ready);
	if (slice->status || !gp_gpu_slice_begin(dev, slice, &ready))
		gp_gpu_slice_finish(dev, slice);

	pthread_mutex_lock(&engine->lock);
	gp_gpu_make_ready(dev, &ready);
}

/* More work for `ready`. Engine's lock held, not all the time. Return: false if there is none now. */
static bool find_work(struct gp_device *dev, uint64_t *wake)
{
	struct gpgpu_engine *engine = dev->engine;
	struct gp_sched_entry *entry;
	struct gp_sched_grant grant;
	struct gpu_launch *launch;
	uint64_t now = gp_now();

	*wake = UINT64_MAX;
	if (dev->planned_ns >= 2 * engine->slice_ns && !dev->gone)
		return false;
	entry = gp_sched_pick(&engine->sched, now, &grant, wake);
	if (!entry)
		return false;
	dev->planned_ns += grant.estimate;
	if (entry->kind == GP_ENTRY_JOB) {
		begin_slice(dev, container_of(entry, struct gp_job, entry), &grant, now);
		return true;
	}
	launch = gp_gpu_calls_begin(dev, container_of(entry, struct gpgpu_session, calls.entry), &grant);
	if (launch)
		list_add_tail(&dev->ready, &launch->link);
	return true;
}

/* Engine's lock held, not all the time. */
static void give_up(struct gp_device *dev, struct gpu_launch *launch, uint32_t status)
{
	pthread_mutex_unlock(&dev->engine->lock);
	gp_gpu_end_launch(dev, launch, 0, status);
	pthread_mutex_lock(&dev->engine->lock);
}

/* Return: as of launch(). No lock held. */
static int hand_over(struct gp_device *dev, struct gpu_launch *launch)
{
	uint32_t group = dev->info.group, groups = (uint32_t)((launch->count + group - 1) / group);
	const struct gp_launch_copy *copy = &launch->copy;
	int err = -EOPNOTSUPP;

	if (launch->by_engine)
		err = dev->ops->copy(dev->gpu, copy->dst, copy->src, copy->size, copy->pattern,
				     &launch->ticket);
	if (err != -EOPNOTSUPP)
		return err;
	return dev->ops->launch(dev->gpu, launch->code, (uintptr_t)launch->args, groups, group,
				MAX(launch->times, 1), &launch->ticket);
}

/* Queues @launch. Engine's lock held, not all the time. */
static void queue_launch(struct gp_device *dev, struct gpu_launch *launch, uint64_t *wake)
{
	int err;

	*wake = UINT64_MAX;
	dev->launching = true;
	launch->queued = gp_now();
	if (!dev->in_flight)
		gp_gpu_times_begin(&dev->times, launch->queued);
	pthread_mutex_unlock(&dev->engine->lock);
	err = hand_over(dev, launch);
	pthread_mutex_lock(&dev->engine->lock);
	dev->launching = false;
	pthread_cond_signal(&dev->flying);
	gp_gpu_hurry(launch); /* it was in no list meanwhile */
	if (!err) {
		list_add_tail(&dev->launches, &launch->link);
		dev->in_flight++;
		return;
	}
	/* When nothing is in flight, nothing will ever end. */
	if (err == -EAGAIN && dev->in_flight)
		dev->full = true;
	else if (err == -EAGAIN || err == -ENOMEM)
		launch->tries++;
	else
		dev->lost = true;
	if (launch->tries > MAX_TRIES) {
		give_up(dev, launch, VIRTIO_GPGPU_S_NO_MEMORY);
		return;
	}
	list_add(&dev->ready, &launch->link);
	*wake = gp_now() + RETRY_NS;
}

/* The first that is ready, or NULL. */
static struct gpu_launch *first_ready(const struct gp_device *dev)
{
	return list_empty(&dev->ready) ? NULL : container_of(dev->ready.next, struct gpu_launch, link);
}

void *gp_gpu_submit_thread(void *opaque)
{
	struct gp_device *dev = opaque;
	struct gpgpu_engine *engine = dev->engine;
	struct gpu_launch *launch;

	pthread_mutex_lock(&engine->lock);
	while (!dev->quit) {
		uint64_t wake = UINT64_MAX;

		launch = first_ready(dev);
		if (dev->lost && !dev->gone) {
			pthread_cond_signal(&dev->flying);
			sleep_until(dev, wake);
		} else if (launch && (dev->gone || launch->skip)) {
			list_del(&launch->link);
			give_up(dev, launch,
				dev->gone ? VIRTIO_GPGPU_S_DEVICE_LOST : VIRTIO_GPGPU_S_NO_MEMORY);
		} else if (launch && !dev->full && dev->in_flight < dev->info.depth) {
			list_del(&launch->link);
			queue_launch(dev, launch, &wake);
			if (wake != UINT64_MAX && !dev->lost)
				sleep_until(dev, wake);
		} else if (launch || !find_work(dev, &wake)) {
			sleep_until(dev, wake);
		}
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}
