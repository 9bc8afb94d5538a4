/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.c - the engine: one device, one scheduler, one compiler, and the timer.
 *
 * The timer thread does two things: it ends slices that run for longer than planned (the device's
 * watch(), every two slices while something runs, ten times a second at least), and jobs that are over their
 * time (ten times a second while there are any). Without work it sleeps until gp_timer_wake().
 *
 * Threads: gpgpu_engine_new() and _free() by the owner; the rest by any.
 */
#include <string.h>
#include "amdgpu/ops.h"
#include "cuda/ops.h"
#include "engine.h"
#include "fibers.h"
#include "gpu.h"
#include "job.h"
#include "map_call.h"
#include "rt/clock.h"

#define DEFAULT_SLICE_US    2000u
#define MAX_SLICE_US	    1000000u
#define INTERLEAVE_SLICE_NS 5000000000ull /* a slice that ends early is not the same one twice */
#define JOBS_CHECK_NS	    100000000ull
#define LINGER_TICKS	    250 /* without work before the timer sleeps for good */

/* GPUs that gp_device_gpu drives. */
static const struct gp_gpu_ops *gpus[4] = { &gp_gpu_amdgpu, &gp_gpu_cuda };

void gp_gpu_register(const struct gp_gpu_ops *ops)
{
	for (size_t i = 0; i < G_N_ELEMENTS(gpus); i++) {
		if (gpus[i] && gpus[i] != ops)
			continue;
		gpus[i] = ops;
		return;
	}
}

void gp_timer_wake(struct gpgpu_engine *engine)
{
	if (!engine->timer_sleeps)
		return;
	engine->timer_sleeps = false;
	pthread_cond_signal(&engine->timer_cond);
}

/* Goes through the sessions, each under its own lock. Return: whether any has jobs. */
static bool check_jobs(struct gpgpu_engine *engine, uint64_t now)
{
	g_autoptr(GPtrArray) sessions = g_ptr_array_new_with_free_func((GDestroyNotify)gp_session_unref);
	struct list *pos;
	bool jobs = false;

	pthread_mutex_lock(&engine->lock);
	list_for_each(pos, &engine->sessions)
	{
		struct gpgpu_session *s = container_of(pos, struct gpgpu_session, engine_link);

		gp_session_ref(s);
		g_ptr_array_add(sessions, s);
	}
	pthread_mutex_unlock(&engine->lock);
	for (guint i = 0; i < sessions->len; i++) {
		struct gpgpu_session *s = g_ptr_array_index(sessions, i);
		struct list done;

		list_init(&done);
		pthread_mutex_lock(&s->lock);
		if (!s->closed) {
			jobs |= gp_jobs_check_time(s, now, &done);
			jobs |= gp_calls_check_time(s, now, &done);
		}
		gp_session_unlock(s, &done);
	}
	return jobs;
}

static void *timer_thread(void *opaque)
{
	struct gpgpu_engine *engine = opaque;
	uint64_t tick = CLAMP(2 * engine->slice_ns, 1000000, JOBS_CHECK_NS), checked = 0;
	int idle = 0;

	pthread_mutex_lock(&engine->lock);
	while (!engine->quit) {
		struct timespec ts;
		uint64_t now = gp_now(), wake = now + tick;

		if (idle > LINGER_TICKS) {
			engine->timer_sleeps = true;
			while (engine->timer_sleeps && !engine->quit)
				pthread_cond_wait(&engine->timer_cond, &engine->lock);
			idle = 0;
			continue;
		}
		ts.tv_sec = (time_t)(wake / 1000000000);
		ts.tv_nsec = (long)(wake % 1000000000);
		pthread_cond_timedwait(&engine->timer_cond, &engine->lock, &ts);
		now = gp_now();
		if (engine->ops->watch(engine->device, now) || engine->sched.entries)
			idle = 0;
		else
			idle++;
		if (now - checked < JOBS_CHECK_NS || engine->quit)
			continue;
		checked = now;
		pthread_mutex_unlock(&engine->lock);
		if (check_jobs(engine, now))
			idle = 0;
		pthread_mutex_lock(&engine->lock);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

/* @name: as gpgpu_engine_options.device, which may say where it is, too. */
static bool is_named(const char *name, const char *device)
{
	size_t length = strlen(device);

	return !strncmp(name, device, length) && (!name[length] || name[length] == ':');
}

static bool find_device(struct gpgpu_engine *engine, const char *name, bool interleave, GError **error)
{
	if (!name || !strcmp(name, gp_device_cpu.name)) {
		engine->ops = &gp_device_cpu;
		return true;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(gpus) && gpus[i]; i++) {
		if (!is_named(name, gpus[i]->name))
			continue;
		engine->ops = &gp_device_gpu;
		engine->gpu = gpus[i];
		if (!interleave)
			return true;
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: interleavings are for the CPU",
			    name);
		return false;
	}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no device named '%s'", name);
	return false;
}

/* Ticks of the counter that is read where operations on maps run, if that is here. */
static uint64_t ticks_per_second(const struct gp_clock *clock)
{
	return clock->mult ? (uint64_t)(1e9 * 4294967296.0 / (double)clock->mult) : 1000000000;
}

static bool open_device(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
			GError **error)
{
	const char *where = options->where, *colon = options->device ? strchr(options->device, ':') : NULL;

	if (colon)
		where = colon + 1;
	engine->device = engine->ops->create(engine, options, where, error);
	if (!engine->device)
		return false;
	engine->sched.servers = engine->servers;
	if (engine->fibers)
		engine->cpus = GP_FIBERS;
	if (engine->cpus == 1 || options->plain_sums)
		engine->prog_flags |= GP_PROG_ALONE;
	engine->compiler = gp_compiler_new(engine, options, error);
	return engine->compiler && (!engine->ops->start || engine->ops->start(engine->device, error));
}

static void end_compiler(struct gpgpu_engine *engine)
{
	if (engine->compiler)
		gp_compiler_stop(engine->compiler);
	if (engine->device && engine->ops->stop)
		engine->ops->stop(engine->device);
	gp_compiler_free(engine->compiler);
}

struct gpgpu_engine *gpgpu_engine_new(const struct gpgpu_engine_options *options, GError **error)
{
	uint32_t slice_us = options->slice_us ? options->slice_us : DEFAULT_SLICE_US;
	struct gpgpu_engine *engine = g_new0(struct gpgpu_engine, 1);
	pthread_condattr_t attr;
	struct gp_clock clock;

	if (!find_device(engine, options->device, options->interleave, error)) {
		g_free(engine);
		return NULL;
	}
	/* Its first call measures the counter's rate: not in the middle of a job. */
	gp_clock_read(&clock);
	engine->tick_hz = ticks_per_second(&clock);
	engine->slice_ns = MIN(slice_us, MAX_SLICE_US) * 1000ull;
	if (options->interleave) {
		engine->prog_flags |= GP_PROG_INTERLEAVE;
		engine->slice_ns = INTERLEAVE_SLICE_NS;
		engine->fibers = gp_fibers_new(options->interleave_seed);
		if (!engine->fibers) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "no memory for fibers");
			g_free(engine);
			return NULL;
		}
	}
	pthread_mutex_init(&engine->lock, NULL);
	pthread_cond_init(&engine->slice_end, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->timer_cond, &attr);
	pthread_condattr_destroy(&attr);
	list_init(&engine->sessions);
	gp_sched_init(&engine->sched, 1);
	if (!open_device(engine, options, error))
		goto fail;
	if (pthread_create(&engine->timer, NULL, timer_thread, engine)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "cannot start the timer thread");
		goto fail;
	}
	return engine;

fail:
	end_compiler(engine);
	if (engine->device)
		engine->ops->destroy(engine->device);
	pthread_cond_destroy(&engine->timer_cond);
	pthread_cond_destroy(&engine->slice_end);
	pthread_mutex_destroy(&engine->lock);
	gp_fibers_free(engine->fibers);
	g_free(engine);
	return NULL;
}

void gpgpu_engine_free(struct gpgpu_engine *engine)
{
	if (!engine)
		return;
	/* Ends the compiles that sessions left behind; they hold the last references to them. */
	end_compiler(engine);
	pthread_mutex_lock(&engine->lock);
	engine->quit = true;
	pthread_cond_signal(&engine->timer_cond);
	pthread_mutex_unlock(&engine->lock);
	pthread_join(engine->timer, NULL);
	engine->ops->destroy(engine->device);
	pthread_cond_destroy(&engine->timer_cond);
	pthread_cond_destroy(&engine->slice_end);
	pthread_mutex_destroy(&engine->lock);
	gp_fibers_free(engine->fibers);
	g_free(engine);
}

const char *gpgpu_engine_device_name(const struct gpgpu_engine *engine)
{
	return engine->title;
}

uint32_t gpgpu_engine_threads(const struct gpgpu_engine *engine)
{
	return engine->servers;
}
