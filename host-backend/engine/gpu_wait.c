/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_wait.c - the waiter: takes launches out that have ended, charges and settles them, and deals with a lost GPU: answers what
 * was in flight, has it recover, and tells whoever has the engine. device_gpu.c says what becomes of the device then.
 *
 * Locks: engine's, dropped while it waits, and while anything ends.
 */
#include "gpu_priv.h"

#define MAX_ENDS 16

/* The launch with @ticket, out of the list, in which the submitter may be just about to put it. Engine's lock. */
static struct gpu_launch *take_launch(struct gp_device *dev, uint64_t ticket)
{
	struct list *pos, *next;

	while (dev->launching)
		pthread_cond_wait(&dev->flying, &dev->engine->lock);
	list_for_each_safe(pos, next, &dev->launches)
	{
		struct gpu_launch *launch = container_of(pos, struct gpu_launch, link);

		if (launch->ticket != ticket)
			continue;
		list_del(&launch->link);
		dev->in_flight--;
		dev->full = false;
		return launch;
	}
	return NULL;
}

static void take_ends(struct gp_device *dev, const struct gp_gpu_end *ends, int num)
{
	for (int i = 0; i < num; i++) {
		struct gpu_launch *launch;
		uint64_t ns = 0;

		pthread_mutex_lock(&dev->engine->lock);
		launch = take_launch(dev, ends[i].ticket);
		if (launch)
			ns = gp_gpu_times_end(&dev->times, launch->queued, ends[i].ns, ends[i].odd, gp_now());
		pthread_cond_signal(&dev->wake);
		pthread_mutex_unlock(&dev->engine->lock);
		if (launch)
			gp_gpu_end_launch(dev, launch, ns, VIRTIO_GPGPU_S_OK);
	}
}

/*
 * Ends what was queued. @guilty: it was ours that had the GPU reset, and is charged for the time until then: or a launch that
 * hangs would cost nothing. Engine's lock held, not all the time.
 */
static void end_all(struct gp_device *dev, bool guilty)
{
	struct list lost, *link;
	uint64_t now, ns;

	list_init(&lost);
	while (dev->launching)
		pthread_cond_wait(&dev->flying, &dev->engine->lock);
	gp_gpu_move_all(&dev->launches, &lost);
	dev->in_flight = 0;
	dev->full = false;
	now = gp_now();
	while ((link = list_pop(&lost))) {
		struct gpu_launch *launch = container_of(link, struct gpu_launch, link);

		ns = guilty ? gp_gpu_times_end(&dev->times, launch->queued, now - launch->queued, false, now)
			    : 0;
		pthread_mutex_unlock(&dev->engine->lock);
		gp_gpu_end_launch(dev, launch, ns, VIRTIO_GPGPU_S_DEVICE_LOST);
		pthread_mutex_lock(&dev->engine->lock);
	}
}

static const char *say(enum gpgpu_loss loss, bool hung, bool contents)
{
	if (hung)
		return "the GPU does not end what it runs";
	if (loss == GPGPU_LOSS_GONE)
		return "the GPU is gone";
	if (!contents)
		return "the GPU was reset, and its memory is lost";
	return loss == GPGPU_LOSS_GUILTY ? "the GPU was reset because of what this guest ran"
					 : "the GPU was reset";
}

/* Engine's lock held, not all the time. */
static void deal_with_loss(struct gp_device *dev)
{
	static const enum gpgpu_loss losses[] = {
		[GP_GPU_OK] = GPGPU_LOSS_UNKNOWN,
		[GP_GPU_GUILTY] = GPGPU_LOSS_GUILTY,
		[GP_GPU_INNOCENT] = GPGPU_LOSS_INNOCENT,
		[GP_GPU_GONE] = GPGPU_LOSS_GONE,
	};
	enum gpgpu_loss loss = dev->hung ? GPGPU_LOSS_GUILTY : losses[dev->ops->state(dev->gpu)];
	bool contents = false, back = false;

	if (dev->hung || loss == GPGPU_LOSS_GONE)
		dev->lost_reason = VIRTIO_GPGPU_R_WORKER_DIED; /* it is about to */
	else
		dev->lost_reason = VIRTIO_GPGPU_R_RESET;
	end_all(dev, loss == GPGPU_LOSS_GUILTY);
	pthread_mutex_unlock(&dev->engine->lock);
	/* One that hangs may still write to its memory, so nothing that has some may go on. */
	if (!dev->hung && loss != GPGPU_LOSS_GONE)
		back = dev->ops->recover(dev->gpu, &contents);
	if (!back && !dev->hung)
		loss = GPGPU_LOSS_GONE;
	if (dev->lost_fn)
		dev->lost_fn(dev->lost_opaque, loss, !back || !contents, say(loss, dev->hung, contents));
	pthread_mutex_lock(&dev->engine->lock);
	dev->lost = false;
	dev->gone = !back || !contents || dev->map_kernel_failed;
	if (dev->gone)
		dev->lost_reason = VIRTIO_GPGPU_R_WORKER_DIED;
	gp_gpu_try_later(dev);
	pthread_cond_signal(&dev->wake);
}

void *gp_gpu_wait_thread(void *opaque)
{
	struct gp_device *dev = opaque;
	struct gpgpu_engine *engine = dev->engine;
	struct gp_gpu_end ends[MAX_ENDS];

	pthread_mutex_lock(&engine->lock);
	while (!dev->quit) {
		int num;

		if (dev->lost && !dev->gone) {
			deal_with_loss(dev);
			continue;
		}
		if (!dev->in_flight) {
			pthread_cond_wait(&dev->flying, &engine->lock);
			continue;
		}
		dev->waiting = true;
		pthread_mutex_unlock(&engine->lock);
		num = dev->ops->wait(dev->gpu, GP_GPU_WAIT_NS, ends, MAX_ENDS);
		pthread_mutex_lock(&engine->lock);
		dev->waiting = !num;
		dev->fruitless = num ? 0 : dev->fruitless + 1;
		if (num < 0)
			dev->lost = true;
		if (num <= 0)
			continue;
		pthread_mutex_unlock(&engine->lock);
		take_ends(dev, ends, num);
		pthread_mutex_lock(&engine->lock);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}
