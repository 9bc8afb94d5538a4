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
#include "engine.h"
#include "fibers.h"
#include "job.h"
#include "rt/clock.h"

#define DEFAULT_SLICE_US    2000u
#define MAX_SLICE_US	    1000000u
#define INTERLEAVE_SLICE_NS 5000000000ull /* a slice that ends early is not the same one twice */
#define JOBS_CHECK_NS	    100000000ull
#define LINGER_TICKS	    250 /* without work before the timer sleeps for good */

static const struct gp_device_ops *const devices[] = { &gp_device_cpu };

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
		if (!s->closed)
			jobs |= gp_jobs_check_time(s, now, &done);
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
		engine->ops->watch(engine->device, now);
		if (engine->sched.entries)
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

static const struct gp_device_ops *find_device(const char *name, GError **error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(devices); i++)
		if (!strcmp(name, devices[i]->name))
			return devices[i];
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "no device named '%s'", name);
	return NULL;
}

struct gpgpu_engine *gpgpu_engine_new(const struct gpgpu_engine_options *options, GError **error)
{
	uint32_t slice_us = options->slice_us ? options->slice_us : DEFAULT_SLICE_US;
	const struct gp_device_ops *ops;
	struct gpgpu_engine *engine;
	pthread_condattr_t attr;
	struct gp_clock clock;

	ops = find_device(options->device ? options->device : gp_device_cpu.name, error);
	if (!ops)
		return NULL;
	/* Its first call measures the counter's rate: not in the middle of a job. */
	gp_clock_read(&clock);

	engine = g_new0(struct gpgpu_engine, 1);
	engine->ops = ops;
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
	engine->compiler = gp_compiler_new(options, error);
	if (!engine->compiler)
		goto fail;
	engine->device = ops->create(engine, engine->fibers ? 1 : options->threads, &engine->servers,
				     engine->title, engine->target, error);
	if (!engine->device)
		goto fail;
	engine->sched.servers = engine->servers;
	engine->cpus = engine->fibers ? GP_FIBERS : engine->servers;
	if (engine->cpus == 1 || options->plain_sums)
		engine->prog_flags |= GP_PROG_ALONE;
	if (pthread_create(&engine->timer, NULL, timer_thread, engine)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "cannot start the timer thread");
		goto fail;
	}
	return engine;

fail:
	if (engine->device)
		ops->destroy(engine->device);
	gp_compiler_free(engine->compiler);
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
	gp_compiler_free(engine->compiler);
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
