/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_gpu.c - a GPU as a device: asynchronous, several launches in flight, over the operations of gpu.h.
 *
 * How it works: two threads. The submitter takes chunks of jobs from the scheduler, makes launches of them
 * (gpu_slice.c) and queues them. The waiter waits for launches to end, takes out what they bring, and settles. What a slice
 * needs beyond its first launch (tail calls, a look at what programs have left) the waiter puts on `ready`, which goes before
 * another slice. The guest's operations on maps (gpu_calls.c) are slices, too. So everything goes through one queue of the
 * GPU's, and is ordered by it.
 *
 * How much is in flight: as many launches as the GPU takes, but no more slices than two take in time, so that neither a
 * pause nor another guest waits for long. One slice is always let in. What a launch took is what the GPU's clock says, within
 * what the host's has seen (gpu_time.c); that is charged.
 *
 * Nothing waits for ever. A lane has LANE_NS by the GPU's clock (gpu_launch.c). A launch that has been the oldest for
 * LAUNCH_NS, or for PATIENCE_NS while somebody waits for its end, is told to stop, upon which lanes end at their
 * next burn. If it has not ended HANG_NS after it became the oldest, the GPU is taken to be lost for good. These times are
 * the GPU's clock's, too, which is asked only once a launch takes long: so a GPU that is made of software, whose clock
 * goes as far as its waves get, loses no work because the host was busy. Where the clock cannot be read, and from STUCK_NS
 * on whatever it says, the host's counts.
 *
 * A launch counts as hanging only while the waiter waits for it, and has looked again and again: neither what it has to
 * do with those that have ended, nor a host that gives us no processor, makes a GPU a lost one.
 *
 * The kernel of map operations is large. The compiler has it ready (jit/kernels.h), but may be starting, and nobody who
 * starts a virtual machine should wait for that: it is loaded by a thread of its own, and what needs it waits (`later`;
 * operations on maps, of which the scheduler is not told before), but neither the submitter nor the waiter does. It is asked for MAKE_TRIES times in all before the device is given
 * up. A look for what programs have left is given up where somebody waits for its slice.
 *
 * Loss: operations return -ENODEV. The waiter answers what was in flight with S_DEVICE_LOST, and asks the GPU to recover. If
 * memory has kept what it held, all goes on with what had not been queued. Otherwise the device is `gone`: jobs
 * are still taken from the scheduler, and answered S_DEVICE_LOST, until whoever has the engine gives it up (the
 * worker ends, and its successor begins anew).
 *
 * Locks: engine's lock for all of struct gp_device that is marked so; no operation of gpu.h but wake() is called with
 * it held.
 */
#include <errno.h>
#include <string.h>
#include "gpu_priv.h"
#include "retire.h"

#define GPU_CPUS    256u /* copies of per-CPU maps, and so lanes of a launch that uses some */
#define MAX_AT_ONCE (1u << 20)
#define PATIENCE_NS 200000000ull
#define LAUNCH_NS   2000000000ull
#define HANG_NS	    10000000000ull
#define STUCK_NS    60000000000ull
#define LOOK_NS	    20000000ull /* before which nobody looks how long a launch takes */
#define WAIT_NS	    200000000ull
#define HANG_WAITS  ((uint32_t)(HANG_NS / WAIT_NS / 2)) /* without an end, at least */
#define RETRY_NS    1000000ull /* when the driver has no memory */
#define MAX_TRIES   2000
#define MAX_ENDS    16
#define MAKE_TRIES  5

/* ---------------------------------------------------------------------- submitter */

static void sleep_until(struct gp_device *dev, uint64_t wake)
{
	struct timespec ts = { .tv_sec = (time_t)(wake / 1000000000), .tv_nsec = (long)(wake % 1000000000) };

	if (wake == UINT64_MAX)
		pthread_cond_wait(&dev->wake, &dev->engine->lock);
	else
		pthread_cond_timedwait(&dev->wake, &dev->engine->lock, &ts);
}

static void move_all(struct list *from, struct list *to)
{
	struct list *link;

	while ((link = list_pop(from)))
		list_add_tail(to, link);
}

/* It is told to end where somebody waits for that. Engine's lock, as of all that changes it. */
static void hurry(struct gpu_launch *launch)
{
	const struct gp_job *job = launch->slice ? launch->slice->job : NULL;

	if (!job || (!job->cancelled && !job->session->waited_for))
		return;
	launch->hurry = true;
	gp_gpu_stop(launch, job->cancelled ? GP_STOP_NOW : GP_STOP_SOON);
}

/* Those of @from are to be queued, once there is code for them. Engine's lock. */
static void make_ready(struct gp_device *dev, struct list *from)
{
	struct list *link;

	while ((link = list_pop(from))) {
		struct gpu_launch *launch = container_of(link, struct gpu_launch, link);
		bool look = launch->kind == GPU_LOOK;

		hurry(launch);
		if (look)
			launch->code = dev->map_kernel;
		launch->skip = look && !launch->code && launch->hurry;
		list_add_tail(launch->code || launch->skip || dev->gone ? &dev->ready : &dev->later, link);
	}
}

/* Those that have waited for a map kernel, or do so in vain. Engine's lock. */
static void try_later(struct gp_device *dev)
{
	struct list later, *pos;

	list_init(&later);
	move_all(&dev->later, &later);
	make_ready(dev, &later);
	if (!dev->map_kernel && !dev->gone)
		return;
	list_for_each(pos, &dev->engine->sessions)
		gp_calls_start(container_of(pos, struct gpgpu_session, engine_link), gp_now());
}

/* A launch has ended, or will not for what @status says. No lock held. */
static void end_launch(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status)
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
	make_ready(dev, &ready);
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
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
	make_ready(dev, &ready);
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
	end_launch(dev, launch, 0, status);
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
	hurry(launch); /* it was in no list meanwhile */
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

static void *submit_thread(void *opaque)
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

/* ------------------------------------------------------------------------- waiter */

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
			end_launch(dev, launch, ns, VIRTIO_GPGPU_S_OK);
	}
}

/* Ends what was queued, and calls. Engine's lock held, not all the time. */
static void end_all(struct gp_device *dev)
{
	struct list lost, *link;

	list_init(&lost);
	while (dev->launching)
		pthread_cond_wait(&dev->flying, &dev->engine->lock);
	move_all(&dev->launches, &lost);
	dev->in_flight = 0;
	dev->full = false;
	pthread_mutex_unlock(&dev->engine->lock);
	while ((link = list_pop(&lost)))
		end_launch(dev, container_of(link, struct gpu_launch, link), 0, VIRTIO_GPGPU_S_DEVICE_LOST);
	pthread_mutex_lock(&dev->engine->lock);
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
	end_all(dev);
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
	try_later(dev);
	pthread_cond_signal(&dev->wake);
}

static void *wait_thread(void *opaque)
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
		num = dev->ops->wait(dev->gpu, WAIT_NS, ends, MAX_ENDS);
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

/* ----------------------------------------------------------------------- operations */

static void gpu_kick(struct gp_device *dev)
{
	pthread_cond_signal(&dev->wake);
}

/* Whose slices are to end is known: the job is cancelled, or the session waited for. Others are as they were. */
static void gpu_interrupt(struct gp_device *dev, struct gpgpu_session *session, struct gp_job *job)
{
	struct list *pos;

	list_for_each(pos, &dev->launches) hurry(container_of(pos, struct gpu_launch, link));
	list_for_each(pos, &dev->ready) hurry(container_of(pos, struct gpu_launch, link));
	try_later(dev);
	pthread_cond_signal(&dev->wake);
}

/* The oldest that is on the GPU, or NULL. Engine's lock. */
static struct gpu_launch *oldest(const struct gp_device *dev)
{
	if (list_empty(&dev->launches) || dev->lost)
		return NULL;
	return container_of(dev->launches.next, struct gpu_launch, link);
}

static bool gpu_watch(struct gp_device *dev, uint64_t now)
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

static void gpu_map_call(struct gp_device *dev, struct gp_map_call *call)
{
	pthread_mutex_lock(&dev->engine->lock);
	gp_calls_add(call);
	if (dev->map_kernel || dev->gone)
		gp_calls_start(call->session, gp_now());
	gp_timer_wake(dev->engine); /* it watches over what runs */
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
}

/* -------------------------------------------------------------------------- life */

static void gpu_destroy(struct gp_device *dev)
{
	if (dev->started) {
		pthread_mutex_lock(&dev->engine->lock);
		dev->quit = true;
		pthread_cond_signal(&dev->wake);
		pthread_cond_signal(&dev->flying);
		pthread_mutex_unlock(&dev->engine->lock);
		dev->ops->wake(dev->gpu);
		pthread_join(dev->submitter, NULL);
		pthread_join(dev->waiter, NULL);
	}
	if (dev->copy_kernel)
		dev->ops->unload(dev->gpu, dev->copy_kernel);
	if (dev->map_kernel)
		dev->ops->unload(dev->gpu, dev->map_kernel);
	gp_gpu_blocks_free(dev);
	g_ptr_array_unref(dev->stops);
	g_ptr_array_unref(dev->stop_pages);
	dev->ops->close(dev->gpu);
	pthread_cond_destroy(&dev->flying);
	pthread_cond_destroy(&dev->wake);
	pthread_mutex_destroy(&dev->blocks_lock);
	g_free(dev);
}

static struct gp_device *gpu_create(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
				    const char *where, GError **error)
{
	struct gp_device *dev = g_new0(struct gp_device, 1);
	pthread_condattr_t attr;

	dev->engine = engine;
	dev->ops = engine->gpu;
	dev->lost_fn = options->lost;
	dev->lost_opaque = options->lost_opaque;
	list_init(&dev->launches);
	list_init(&dev->ready);
	list_init(&dev->later);
	dev->gpu = dev->ops->open(where, &dev->info, error);
	if (!dev->gpu) {
		g_free(dev);
		return NULL;
	}
	if (!dev->info.group)
		dev->info.group = dev->info.wave;
	dev->stops = g_ptr_array_new();
	dev->stop_pages = g_ptr_array_new();
	pthread_mutex_init(&dev->blocks_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dev->wake, &attr);
	pthread_cond_init(&dev->flying, &attr);
	pthread_condattr_destroy(&attr);
	g_strlcpy(engine->title, dev->info.title, sizeof(engine->title));
	g_strlcpy(engine->target, dev->info.target, sizeof(engine->target));
	engine->servers = 1;
	engine->lanes = (uint32_t)CLAMP((uint64_t)dev->info.wave * dev->info.waves, 1, MAX_AT_ONCE);
	engine->cpus = MIN(engine->lanes, dev->info.cpus ? dev->info.cpus : GPU_CPUS);
	engine->tick_hz = dev->info.tick_hz;
	return dev;
}

static struct gp_gpu_code *make_kernel(struct gp_device *dev, enum gp_kernel kernel, char why[GP_MESSAGE])
{
	struct gp_gpu_code *code;
	struct gp_image *image;

	if (dev->ops->builtin)
		return dev->ops->builtin(dev->gpu, kernel);
	image = gp_compiler_kernel(dev->engine->compiler, kernel, why);
	if (!image)
		return NULL;
	code = dev->ops->load(dev->gpu, image, why);
	gp_image_unref(image);
	return code;
}

/* There is no map kernel, and never will be: maps cannot be used, which is as if the device were lost. */
static void make_failed(struct gp_device *dev, const char *why)
{
	char text[GP_MESSAGE + 64];
	bool tell;

	pthread_mutex_lock(&dev->engine->lock);
	dev->map_kernel_failed = true;
	tell = dev->lost_fn && !dev->stopping;
	dev->gone = true;
	dev->lost_reason = VIRTIO_GPGPU_R_WORKER_DIED;
	try_later(dev);
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
	g_snprintf(text, sizeof(text), "a part of the device's own does not load: %s", why);
	if (tell)
		dev->lost_fn(dev->lost_opaque, GPGPU_LOSS_UNKNOWN, true, text);
}

static void *make_thread(void *opaque)
{
	struct gp_device *dev = opaque;
	char why[GP_MESSAGE] = "";
	struct gp_gpu_code *code = NULL;
	bool stopping = false;

	for (int i = 0; i < MAKE_TRIES && !code && !stopping; i++) {
		code = make_kernel(dev, GP_KERNEL_MAP_OPS, why);
		pthread_mutex_lock(&dev->engine->lock);
		stopping = dev->stopping;
		pthread_mutex_unlock(&dev->engine->lock);
	}
	if (!code) {
		make_failed(dev, why);
		return NULL;
	}
	pthread_mutex_lock(&dev->engine->lock);
	dev->map_kernel = code;
	try_later(dev);
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
	return NULL;
}

static void gpu_stop(struct gp_device *dev)
{
	pthread_mutex_lock(&dev->engine->lock);
	dev->stopping = true;
	pthread_mutex_unlock(&dev->engine->lock);
	if (dev->making)
		pthread_join(dev->maker, NULL);
	dev->making = false;
}

static bool start_threads(struct gp_device *dev)
{
	if (pthread_create(&dev->submitter, NULL, submit_thread, dev))
		return false;
	if (!pthread_create(&dev->waiter, NULL, wait_thread, dev)) {
		dev->started = true;
		return true;
	}
	pthread_mutex_lock(&dev->engine->lock);
	dev->quit = true;
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
	pthread_join(dev->submitter, NULL);
	return false;
}

static bool gpu_start(struct gp_device *dev, GError **error)
{
	char why[GP_MESSAGE] = "";

	/* A small one, at once: where it can be made and loaded, so can others. */
	dev->copy_kernel = make_kernel(dev, GP_KERNEL_COPY, why);
	if (!dev->copy_kernel) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "%s: a part of its own does not load: %s", dev->info.title, why);
		return false;
	}
	dev->making = !pthread_create(&dev->maker, NULL, make_thread, dev);
	if (dev->making && start_threads(dev))
		return true;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "cannot start the device's threads");
	return false;
}

const struct gp_device_ops gp_device_gpu = {
	.name = "gpu",
	.create = gpu_create,
	.start = gpu_start,
	.stop = gpu_stop,
	.destroy = gpu_destroy,
	.kick = gpu_kick,
	.interrupt = gpu_interrupt,
	.watch = gpu_watch,
	.help = gpu_kick,
	.alloc = gp_gpu_alloc,
	.free = gp_gpu_free,
	.write = gp_gpu_write,
	.load = gp_gpu_load,
	.unload = gp_gpu_unload,
	.session_new = gp_gpu_session_new,
	.session_free = gp_gpu_session_free,
	.reach = gp_gpu_reach,
	.unreach = gp_gpu_unreach,
	.forget = gp_gpu_forget,
	.map_call = gpu_map_call,
};
