// SPDX-License-Identifier: BSD-3-Clause
/*
 * queue.c - queues: jobs in the order that they have, on the timelines that a file has.
 *
 * The driver orders jobs of one timeline and no others. A queue in order is a timeline; one out of order takes turns over a few,
 * and what its jobs have to wait for they name. There are more queues than timelines: the least used is shared, which
 * orders more than was asked for, never less. A job in a queue signals a fence of its own, which others may wait for.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Called with the device's lock held. */
static uint32_t least_used(struct gpgpu_device *dev)
{
	uint32_t best = 1;

	for (uint32_t i = 2; i < NUM_TIMELINES; i++) {
		if (dev->timeline_users[i] < dev->timeline_users[best])
			best = i;
	}
	return best;
}

int gpgpu_queue_create(struct gpgpu_device *dev, uint32_t order, struct gpgpu_queue **out)
{
	struct gpgpu_queue *queue;

	*out = NULL;
	if (order != GPGPU_QUEUE_IN_ORDER && order != GPGPU_QUEUE_OUT_OF_ORDER)
		return gpgpu_fail(-EINVAL, "a queue is in order or out of order");
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return gpgpu_fail(-ENOMEM, "out of memory");
	queue->num_timelines = order == GPGPU_QUEUE_IN_ORDER ? 1 : QUEUE_TIMELINES;
	pthread_mutex_lock(&dev->lock);
	for (uint32_t i = 0; i < queue->num_timelines; i++) {
		queue->timelines[i] = least_used(dev);
		dev->timeline_users[queue->timelines[i]]++;
	}
	pthread_mutex_unlock(&dev->lock);
	queue->dev = gpgpu_device_get(dev);
	*out = queue;
	return 0;
}

uint32_t gpgpu_queue_next(struct gpgpu_queue *queue)
{
	uint32_t n = __atomic_fetch_add(&queue->next, 1, __ATOMIC_RELAXED);

	return queue->timelines[n % queue->num_timelines];
}

int gpgpu_queue_finish(struct gpgpu_queue *queue, int64_t timeout_ns)
{
	struct gpgpu_job *jobs[QUEUE_TIMELINES];
	uint32_t num = 0;
	int r = 0;

	/* Behind all of each timeline: an empty job. */
	while (!r && num < queue->num_timelines) {
		r = gpgpu_submit_marker(queue->dev, queue->timelines[num], &jobs[num]);
		num += !r;
	}
	if (!r)
		r = gpgpu_jobs_wait(jobs, num, true, timeout_ns, NULL);
	for (uint32_t i = 0; i < num; i++)
		gpgpu_job_destroy(jobs[i]);
	return r;
}

void gpgpu_queue_destroy(struct gpgpu_queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_lock(&queue->dev->lock);
	for (uint32_t i = 0; i < queue->num_timelines; i++)
		queue->dev->timeline_users[queue->timelines[i]]--;
	pthread_mutex_unlock(&queue->dev->lock);
	gpgpu_close(queue->dev);
	free(queue);
}
