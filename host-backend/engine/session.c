/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.c - one guest device: submit, quiesce, reset, limits and counters.
 *
 * How it works: submit copies the request, takes the session's lock, executes, releases the lock and
 * delivers what has been answered. Jobs and compiles are answered later, from the threads that end them, in
 * the same way.
 *
 * Quiesce and reset close a gate: requests that come are kept (`deferred`), and while the session
 * is paused so are answers (`answered`). `busy` counts the threads that are behind the gate, either
 * executing or delivering. A paused session has busy == 0 and no running slice, so nothing of the
 * guest's is written and nothing is called back. A reset delivers everything, also when paused.
 *
 * Callbacks must not call quiesce, reset or free.
 *
 * Threads: any. Ownership: a session lives until its owner has freed it and the last program that is being
 * compiled for it has ended.
 */
#include <string.h>
#include "engine.h"
#include "job.h"
#include "map_call.h"
#include "retire.h"

static const struct gpgpu_limits limit_default = {
	.max_contexts = 256,
	.max_buffers = 65536,
	.max_maps = 4096,
	.max_programs = 1024,
	.max_jobs = 1024,
	.max_insns = GP_MAX_INSNS,
	.max_batch = VIRTIO_GPGPU_MAX_BATCH,
	.max_stride = VIRTIO_GPGPU_MAX_STRIDE,
	.max_buffer = 64ull << 30,
	.max_map = 1ull << 30,
	.fuel = 1 << 22,
};

static const struct gpgpu_limits limit_max = {
	.max_contexts = 4096,
	.max_buffers = 1 << 20,
	.max_maps = 65536,
	.max_programs = 65536,
	.max_jobs = 65536,
	.max_insns = GP_MAX_INSNS,
	.max_batch = VIRTIO_GPGPU_MAX_BATCH,
	.max_stride = VIRTIO_GPGPU_MAX_STRIDE,
	.max_buffer = 1ull << 40,
	.max_map = 64ull << 30,
	.fuel = 1 << 28,
};

#define LIMIT(member) l->member = !l->member ? limit_default.member : MIN(l->member, limit_max.member)

static void fill_limits(struct gpgpu_limits *l)
{
	LIMIT(max_contexts);
	LIMIT(max_buffers);
	LIMIT(max_maps);
	LIMIT(max_programs);
	LIMIT(max_jobs);
	LIMIT(max_insns);
	LIMIT(max_batch);
	LIMIT(max_stride);
	LIMIT(max_buffer);
	LIMIT(max_map);
	LIMIT(fuel);
}

static struct gpgpu_quota clamp_quota(const struct gpgpu_quota *quota)
{
	struct gpgpu_quota q = *quota;

	q.weight = CLAMP(q.weight ? q.weight : 100, 1, 10000);
	q.cap = CLAMP(q.cap ? q.cap : GP_SCHED_NO_CAP, 1, GP_SCHED_NO_CAP);
	if (!q.memory_limit)
		q.memory_limit = 1ull << 30;
	return q;
}

struct gpgpu_session *gpgpu_session_new(struct gpgpu_engine *engine,
					const struct gpgpu_session_options *options, GError **error)
{
	struct gpgpu_quota quota = clamp_quota(&options->quota);
	struct gpgpu_session *s;

	if (options->shm_size % 4096 || (options->shm_size && !options->shm)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "shared memory must be mapped and a multiple of 4096 bytes");
		return NULL;
	}
	s = g_new0(struct gpgpu_session, 1);
	s->engine = engine;
	s->name = g_strdup(options->name ? options->name : "");
	s->shm = options->shm;
	s->shm_size = options->shm_size;
	s->event = options->event;
	s->log = options->log;
	s->event_opaque = options->event_opaque;
	s->limits = options->limits;
	fill_limits(&s->limits);
	s->refs = 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->records_lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	gp_retire_init(s);
	list_init(&s->fibs);
	s->features = options->features;
	s->generation = options->generation;
	list_init(&s->deferred);
	list_init(&s->answered);
	list_init(&s->jobs);
	list_init(&s->heads);
	s->waiting = g_sequence_new(NULL);
	list_init(&s->compiles);
	s->memory_limit = quota.memory_limit;
	s->cache = gp_cache_new();

	pthread_mutex_lock(&engine->lock);
	gp_sched_tenant_add(&engine->sched, &s->tenant, quota.weight, quota.cap, gp_now());
	gp_calls_init(s);
	list_add_tail(&engine->sessions, &s->engine_link);
	pthread_mutex_unlock(&engine->lock);

	gp_tables_init(s);
	if (engine->ops->session_new)
		engine->ops->session_new(engine->device, s, options->shm_fd);
	return s;
}

void gp_session_ref(struct gpgpu_session *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
}

void gp_session_unref(struct gpgpu_session *s)
{
	if (__atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	gp_cache_free(s->cache);
	g_sequence_free(s->waiting);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->records_lock);
	pthread_mutex_destroy(&s->lock);
	gp_table_free(s->engine, s->inner, GP_MAX_INNER * sizeof(*s->inner));
	g_free(s->inner_objects);
	g_free(s->name);
	g_free(s);
}

uint64_t gp_session_clock(const struct gpgpu_session *s, uint64_t now)
{
	return (s->paused ? s->pause_start : now) - s->paused_ns;
}

static bool gate_closed(const struct gpgpu_session *s)
{
	return s->paused || s->resetting;
}

/* Calls back for everything on @list, with no lock held. */
static void deliver(struct list *list)
{
	struct list *link;

	while ((link = list_pop(list))) {
		struct gp_request *req = container_of(link, struct gp_request, link);

		req->complete(req->opaque, req->response_length ? req->response : NULL, req->response_length,
			      req->ranges, req->num_ranges);
		gp_request_free(req);
	}
}

/* Session's lock held. */
static void not_busy(struct gpgpu_session *s)
{
	s->busy--;
	if (gate_closed(s))
		pthread_cond_broadcast(&s->changed);
}

void gp_session_unlock(struct gpgpu_session *s, struct list *done)
{
	if (list_empty(done)) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	if (s->paused && !s->resetting) {
		struct list *link;

		while ((link = list_pop(done)))
			list_add_tail(&s->answered, link);
		pthread_mutex_unlock(&s->lock);
		return;
	}
	s->busy++;
	pthread_mutex_unlock(&s->lock);
	deliver(done);
	pthread_mutex_lock(&s->lock);
	not_busy(s);
	pthread_mutex_unlock(&s->lock);
}

void gpgpu_session_submit(struct gpgpu_session *s, enum gpgpu_queue_kind queue, const void *request,
			  size_t length, size_t capacity, gpgpu_complete_fn *complete, void *opaque)
{
	struct gp_request *req = gp_request_new(queue, request, length, capacity, complete, opaque);
	struct list done;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	if (gate_closed(s))
		list_add_tail(&s->deferred, &req->link);
	else
		gp_execute(s, req, &done);
	gp_session_unlock(s, &done);
}

void gpgpu_session_cork(struct gpgpu_session *s)
{
	__atomic_store_n(&s->corked, true, __ATOMIC_RELAXED);
}

void gpgpu_session_uncork(struct gpgpu_session *s)
{
	struct gpgpu_engine *engine = s->engine;

	__atomic_store_n(&s->corked, false, __ATOMIC_RELAXED);
	pthread_mutex_lock(&engine->lock);
	if (s->unkicked) {
		s->unkicked = false;
		engine->ops->help(engine->device);
	}
	pthread_mutex_unlock(&engine->lock);
}

/* Waits until no thread executes or delivers, and no device operates on a map; what was not begun stays. Session's lock held. */
static void wait_not_busy(struct gpgpu_session *s)
{
	while (s->busy || s->num_calls > gp_calls_waiting(s))
		pthread_cond_wait(&s->changed, &s->lock);
}

/* Ends the running slices and waits for them; no lock held. */
static void wait_slices(struct gpgpu_session *s)
{
	struct gpgpu_engine *engine = s->engine;

	pthread_mutex_lock(&engine->lock);
	s->waited_for = true;
	while (s->slices) {
		engine->ops->interrupt(engine->device, s, NULL);
		pthread_cond_wait(&engine->slice_end, &engine->lock);
	}
	s->waited_for = false;
	pthread_mutex_unlock(&engine->lock);
}

static void pause_tenant(struct gpgpu_session *s, bool paused)
{
	struct gpgpu_engine *engine = s->engine;

	pthread_mutex_lock(&engine->lock);
	gp_sched_tenant_pause(&engine->sched, &s->tenant, paused, gp_now());
	if (!paused)
		engine->ops->kick(engine->device);
	pthread_mutex_unlock(&engine->lock);
}

void gpgpu_session_quiesce(struct gpgpu_session *s)
{
	uint64_t now = gp_now();

	pthread_mutex_lock(&s->lock);
	if (!s->paused) {
		s->paused = true;
		s->pause_start = now;
		pause_tenant(s, true);
	}
	pthread_mutex_unlock(&s->lock);
	wait_slices(s);
	pthread_mutex_lock(&s->lock);
	wait_not_busy(s);
	pthread_mutex_unlock(&s->lock);
}

/* Executes what came while the gate was closed; session's lock held, not released. */
static void execute_deferred(struct gpgpu_session *s, struct list *done)
{
	struct list *link;

	while (!gate_closed(s) && (link = list_pop(&s->deferred)))
		gp_execute(s, container_of(link, struct gp_request, link), done);
}

void gpgpu_session_resume(struct gpgpu_session *s)
{
	struct list done, *link;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	if (s->paused) {
		s->paused_ns += gp_now() - s->pause_start;
		s->paused = false;
		pause_tenant(s, false);
		while ((link = list_pop(&s->answered)))
			list_add_tail(&done, link);
		execute_deferred(s, &done);
	}
	gp_session_unlock(s, &done);
}

/* Answers and drops everything; on return the session is empty but for contexts, and the gate closed. */
static void drain(struct gpgpu_session *s)
{
	struct gp_result reset = GP_ERR(CANCELLED, RESET, 0);
	struct list done, *link;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	s->resetting = true;
	/* They were answered before; those that came while the gate was closed were not executed. */
	while ((link = list_pop(&s->answered)))
		list_add_tail(&done, link);
	gp_jobs_end_early(s, NULL, reset, &done);
	gp_compiles_cancel(s, NULL, reset, &done);
	gp_calls_cancel(s, reset, &done);
	while ((link = list_pop(&s->deferred)))
		gp_answer(s, container_of(link, struct gp_request, link), reset, &done);
	gp_session_unlock(s, &done);

	wait_slices(s);
	pthread_mutex_lock(&s->lock);
	while (s->num_jobs || s->num_calls || s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	gp_objects_remove_all(s);
	pthread_mutex_unlock(&s->lock);
}

void gpgpu_session_reset(struct gpgpu_session *s, uint64_t features, uint32_t generation)
{
	struct list done;

	list_init(&done);
	drain(s);
	pthread_mutex_lock(&s->lock);
	s->features = features;
	s->generation = generation;
	s->resetting = false;
	execute_deferred(s, &done);
	gp_session_unlock(s, &done);
}

void gpgpu_session_free(struct gpgpu_session *s)
{
	struct gpgpu_engine *engine;

	if (!s)
		return;
	engine = s->engine;
	drain(s);
	pthread_mutex_lock(&engine->lock);
	gp_calls_free(s);
	gp_sched_tenant_remove(&engine->sched, &s->tenant);
	list_del(&s->engine_link);
	pthread_mutex_unlock(&engine->lock);
	pthread_mutex_lock(&s->lock);
	s->closed = true;
	gp_tables_free(s);
	pthread_mutex_unlock(&s->lock);
	if (engine->ops->session_free)
		engine->ops->session_free(engine->device, s);
	gp_session_unref(s);
}

void gpgpu_session_set_quota(struct gpgpu_session *s, const struct gpgpu_quota *quota)
{
	struct gpgpu_quota q = clamp_quota(quota);
	struct gpgpu_engine *engine = s->engine;

	pthread_mutex_lock(&s->lock);
	s->memory_limit = q.memory_limit;
	pthread_mutex_lock(&engine->lock);
	gp_sched_tenant_quota(&engine->sched, &s->tenant, q.weight, q.cap, gp_now());
	engine->ops->kick(engine->device);
	pthread_mutex_unlock(&engine->lock);
	pthread_mutex_unlock(&s->lock);
	if (s->event)
		s->event(s->event_opaque, VIRTIO_GPGPU_EV_QUOTA, VIRTIO_GPGPU_R_NONE, q.memory_limit);
}

/* Session's lock held. */
static void get_stats(struct gpgpu_session *s, struct gpgpu_stats *stats)
{
	struct gpgpu_engine *engine = s->engine;

	*stats = s->stats;
	stats->memory = s->memory;
	stats->memory_max = s->memory_max;
	stats->quota.memory_limit = s->memory_limit;
	pthread_mutex_lock(&engine->lock);
	gp_sched_tenant_update(&engine->sched, &s->tenant, gp_now());
	stats->device_ns = s->tenant.device_ns;
	stats->waited_ns = s->tenant.waited_ns;
	stats->throttled_ns = s->tenant.throttled_ns;
	stats->quota.weight = s->tenant.weight;
	stats->quota.cap = s->tenant.cap;
	pthread_mutex_unlock(&engine->lock);
}

void gpgpu_session_stats(struct gpgpu_session *s, struct gpgpu_stats *stats)
{
	pthread_mutex_lock(&s->lock);
	get_stats(s, stats);
	pthread_mutex_unlock(&s->lock);
}

struct gp_result gp_cmd_get_stats(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				  struct list *done)
{
	struct virtio_gpgpu_resp_stats *resp = gp_response(req, sizeof(*resp));
	struct gpgpu_stats stats;

	get_stats(s, &stats);
	resp->device_ns = stats.device_ns;
	resp->waited_ns = stats.waited_ns;
	resp->throttled_ns = stats.throttled_ns;
	resp->jobs = stats.jobs;
	resp->packets = stats.packets;
	resp->bytes = stats.bytes;
	memcpy(resp->verdicts, stats.verdicts, sizeof(resp->verdicts));
	resp->faults = stats.faults;
	resp->memory = stats.memory;
	resp->memory_max = stats.memory_max;
	resp->memory_limit = stats.quota.memory_limit;
	resp->weight = stats.quota.weight;
	resp->cap = stats.quota.cap;
	return GP_OK;
}

struct gp_result gp_cmd_get_caps(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_caps *r = (const void *)req->bytes;
	const struct gpgpu_limits *l = &s->limits;
	struct virtio_gpgpu_resp_caps *resp;
	struct virtio_gpgpu_caps *caps;

	if (r->version != VIRTIO_GPGPU_CAPS_VERSION)
		return GP_ERR(UNSUPPORTED, KIND, r->version);
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, offsetof(struct virtio_gpgpu_req_caps, reserved));
	resp = gp_response(req, sizeof(*resp));
	caps = &resp->caps;
	caps->version = VIRTIO_GPGPU_CAPS_VERSION;
	caps->size = sizeof(*caps);
	memcpy(caps->device_name, s->engine->title, sizeof(caps->device_name));
	memcpy(caps->target, s->engine->target, sizeof(caps->target));
	caps->memory_limit = s->memory_limit;
	caps->shm_size = s->shm_size;
	caps->max_buffer = l->max_buffer;
	caps->max_map = l->max_map;
	caps->max_contexts = l->max_contexts;
	caps->max_buffers = l->max_buffers;
	caps->max_maps = l->max_maps;
	caps->max_programs = l->max_programs;
	caps->max_jobs = l->max_jobs;
	caps->max_insns = l->max_insns;
	caps->max_batch = l->max_batch;
	caps->max_stride = l->max_stride;
	caps->max_args = VIRTIO_GPGPU_MAX_ARGS;
	caps->max_fences = VIRTIO_GPGPU_MAX_FENCES;
	caps->max_group = GP_MAX_GROUP;
	caps->num_cpus = s->engine->cpus;
	caps->map_types = gp_map_types(s);
	caps->prog_kinds = 1u << VIRTIO_GPGPU_PROG_GPGPU;
	if (s->features & 1 << VIRTIO_GPGPU_F_PACKET)
		caps->prog_kinds |= 1u << VIRTIO_GPGPU_PROG_XDP;
	caps->fuel = l->fuel;
	caps->slice_us = (uint32_t)(s->engine->slice_ns / 1000);
	return GP_OK;
}
