/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_ready.c - launches on their way from one list to the next: what is made goes to `ready`, or to `later` while there is
 * no code for it; what has ended brings more of its slice, or ends it. For the submitter and the waiter, both.
 */
#include "gpu_priv.h"

void gp_gpu_move_all(struct list *from, struct list *to)
{
	struct list *link;

	while ((link = list_pop(from)))
		list_add_tail(to, link);
}

void gp_gpu_hurry(struct gpu_launch *launch)
{
	const struct gp_job *job = launch->slice ? launch->slice->job : NULL;

	if (!job || (!job->cancelled && !job->session->waited_for))
		return;
	launch->hurry = true;
	gp_gpu_stop(launch, job->cancelled ? GP_STOP_NOW : GP_STOP_SOON);
}

void gp_gpu_make_ready(struct gp_device *dev, struct list *from)
{
	struct list *link;

	while ((link = list_pop(from))) {
		struct gpu_launch *launch = container_of(link, struct gpu_launch, link);
		bool look = launch->kind == GPU_LOOK;

		gp_gpu_hurry(launch);
		if (look)
			launch->code = dev->map_kernel;
		launch->skip = look && !launch->code && launch->hurry;
		list_add_tail(launch->code || launch->skip || dev->gone ? &dev->ready : &dev->later, link);
	}
}

void gp_gpu_try_later(struct gp_device *dev)
{
	struct list later, *pos;

	list_init(&later);
	gp_gpu_move_all(&dev->later, &later);
	gp_gpu_make_ready(dev, &later);
	if (!dev->map_kernel && !dev->gone)
		return;
	list_for_each(pos, &dev->engine->sessions)
		gp_calls_start(container_of(pos, struct gpgpu_session, engine_link), gp_now());
}

void gp_gpu_end_launch(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status)
{
	struct gpu_slice *slice = launch->slice;
	struct list ready;

	if (launch->kind == GPU_CALLS) {
		gp_gpu_calls_ended(dev, launch, ns, status);
		return;
	}
	list_init(&ready);
	if (gp_gpu_slice_ended(dev, launch, ns, status, &ready)) {
		gp_gpu_slice_finish(dev, slice);
		return;
	}
	pthread_mutex_lock(&dev->engine->lock);
	gp_gpu_make_ready(dev, &ready);
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
}
