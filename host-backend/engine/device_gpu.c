/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_gpu.c - a GPU as a device: asynchronous, several launches in flight, over the operations of gpu.h.
 *
 * How it works: two threads. The submitter (gpu_submit.c) takes chunks of jobs from the scheduler, makes launches of them
 * (gpu_slice.c) and queues them. The waiter (gpu_wait.c) waits for launches to end, takes out what they bring, and settles.
 * What a slice needs beyond its first launch (tail calls, a look at what programs have left) the waiter puts on `ready`,
 * which goes before another slice (gpu_ready.c). The guest's operations on maps (gpu_calls.c) are slices, too. So everything
 * goes through one queue of the GPU's, and is ordered by it.
 *
 * How much is in flight: as many launches as the GPU takes, but no more slices than two take in time, so that neither a
 * pause nor another guest waits for long. One slice is always let in. What a launch took is what the GPU's clock says, within
 * what the host's has seen (gpu_time.c); that is charged.
 *
 * Nothing waits for ever (gpu_watch.c). A lane has LANE_NS by the GPU's clock (gpu_launch.c). A launch that has been the oldest
 * for LAUNCH_NS, or for PATIENCE_NS while somebody waits for its end, is told to stop, upon which lanes end at their
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
 * operations on maps, of which the scheduler is not told before), but neither the submitter nor the waiter does. It is asked
 * for MAKE_TRIES times in all before the device is given up. A look for what programs have left is given up where somebody
 * waits for its slice.
 *
 * Loss: operations return -ENODEV. The waiter answers what was in flight with S_DEVICE_LOST, and asks the GPU to recover. If
 * memory has kept what it held, all goes on with what had not been queued. Otherwise the device is `gone`: jobs
 * are still taken from the scheduler, and answered S_DEVICE_LOST, until whoever has the engine gives it up (the
 * worker ends, and its successor begins anew).
 *
 * Locks: engine's lock for all of struct gp_device that is marked so; no operation of gpu.h but wake() is called with
 * it held.
 */
#include "gpu_priv.h"

#define GPU_CPUS    256u /* copies of per-CPU maps, and so lanes of a launch that uses some */
#define MAX_AT_ONCE (1u << 20)
#define MAKE_TRIES  5

/* ----------------------------------------------------------------------- operations */

static void gpu_kick(struct gp_device *dev)
{
	pthread_cond_signal(&dev->wake);
}

/* Whose slices are to end is known: the job is cancelled, or the session waited for. Others are as they were. */
static void gpu_interrupt(struct gp_device *dev, struct gpgpu_session *session, struct gp_job *job)
{
	struct list *pos;

	list_for_each(pos, &dev->launches) gp_gpu_hurry(container_of(pos, struct gpu_launch, link));
	list_for_each(pos, &dev->ready) gp_gpu_hurry(container_of(pos, struct gpu_launch, link));
	gp_gpu_try_later(dev);
	pthread_cond_signal(&dev->wake);
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
	gp_gpu_try_later(dev);
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
	gp_gpu_try_later(dev);
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
	if (pthread_create(&dev->submitter, NULL, gp_gpu_submit_thread, dev))
		return false;
	if (!pthread_create(&dev->waiter, NULL, gp_gpu_wait_thread, dev)) {
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
	.watch = gp_gpu_watch,
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
