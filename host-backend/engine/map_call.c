/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_call.c - see map_call.h.
 *
 * Ownership: a call that is the device's has a reference to its map and owns its request. The session counts them
 * (num_calls), so that a reset waits for those that were begun; each ends within the device's bounds. Those that wait for the
 * session's share are answered by a reset, and stay where they are in a pause.
 *
 * Threads: gp_map_run() under the session's lock, gp_map_call_ended() on a thread of the device.
 */
#include "map_call.h"

#define FIRST_OP_NS 20000u /* before one was measured */

uint64_t gp_map_ticks(const struct gpgpu_session *s, uint64_t ns)
{
	return (uint64_t)((double)ns * (double)s->engine->tick_hz / 1e9) + 1;
}

struct gp_result gp_map_run(struct gp_map_call *call)
{
	struct gpgpu_engine *engine = call->session->engine;
	struct gp_map_call *copy;

	if (call->map->here) {
		for (uint32_t i = 0; i < call->num_ops; i++)
			gp_map_op_run(&call->ops[i]);
		return call->finish(call);
	}
	copy = g_memdup2(call, sizeof(*call));
	list_init(&copy->link);
	copy->away = true;
	copy->since = gp_session_clock(copy->session, gp_now());
	gp_object_ref(&copy->map->object);
	copy->session->num_calls++;
	engine->ops->map_call(engine->device, copy);
	return GP_PENDING;
}

/* ------------------------------------------------------------------------ those that wait */

void gp_calls_init(struct gpgpu_session *s)
{
	list_init(&s->calls.waiting);
	gp_sched_queue_init(&s->calls.queue, &s->tenant);
	gp_sched_entry_init(&s->calls.entry);
	s->calls.entry.kind = GP_ENTRY_CALLS;
	s->calls.op_ns = FIRST_OP_NS;
}

void gp_calls_free(struct gpgpu_session *s)
{
	gp_sched_queue_remove(&s->engine->sched, &s->calls.queue);
}

/* As many as wait, within a slice. */
static void set_estimate(struct gpgpu_session *s)
{
	uint64_t ns = s->calls.num_waiting * s->calls.op_ns;

	s->calls.entry.estimate = CLAMP(ns, 1, s->engine->slice_ns);
}

void gp_calls_add(struct gp_map_call *call)
{
	struct gp_calls *calls = &call->session->calls;

	list_add_tail(&calls->waiting, &call->link);
	calls->num_waiting++;
	set_estimate(call->session);
}

void gp_calls_start(struct gpgpu_session *s, uint64_t now)
{
	struct gp_calls *calls = &s->calls;

	if (calls->num_waiting && list_empty(&calls->entry.link))
		gp_sched_enqueue(&s->engine->sched, &calls->queue, &calls->entry, false, now);
}

/* The first of those that wait, or NULL. */
static struct gp_map_call *first(struct gpgpu_session *s)
{
	struct list *waiting = &s->calls.waiting;

	return list_empty(waiting) ? NULL : container_of(waiting->next, struct gp_map_call, link);
}

/* Moves the first to @to. */
static void take_first(struct gpgpu_session *s, struct list *to)
{
	list_add_tail(to, list_pop(&s->calls.waiting));
	s->calls.num_waiting--;
}

/* Some were taken out. */
static void taken(struct gpgpu_session *s, uint64_t now)
{
	set_estimate(s);
	if (!s->calls.num_waiting)
		gp_sched_dequeue(&s->engine->sched, &s->calls.entry, now);
}

void gp_calls_take(struct gpgpu_session *s, uint32_t max, uint64_t most,
		   uint64_t (*bytes)(const struct gp_map_call *call), struct list *calls, uint64_t now)
{
	uint64_t fit = s->engine->slice_ns / MAX(s->calls.op_ns, 1), num = 0, sum = 0;
	const struct gp_map_call *call;

	max = (uint32_t)CLAMP(fit, 1, max);
	for (; (call = first(s)) && num < max; num++) {
		sum += bytes(call);
		if (num && sum > most)
			break;
		take_first(s, calls);
	}
	taken(s, now);
}

uint32_t gp_calls_waiting(struct gpgpu_session *s)
{
	uint32_t num;

	pthread_mutex_lock(&s->engine->lock);
	num = s->calls.num_waiting;
	pthread_mutex_unlock(&s->engine->lock);
	return num;
}

static void answer(struct gp_map_call *call, struct gp_result result, struct list *done)
{
	struct gpgpu_session *s = call->session;

	gp_answer(s, call->req, result, done);
	gp_object_unref(&call->map->object);
	s->num_calls--;
	if (s->resetting || s->paused)
		pthread_cond_broadcast(&s->changed);
	g_free(call);
}

static void answer_all(struct list *calls, struct gp_result result, struct list *done)
{
	struct list *link;

	while ((link = list_pop(calls))) {
		struct gp_map_call *call = container_of(link, struct gp_map_call, link);

		gp_response_drop(call->req);
		answer(call, result, done);
	}
}

void gp_calls_cancel(struct gpgpu_session *s, struct gp_result result, struct list *done)
{
	struct list calls;

	list_init(&calls);
	pthread_mutex_lock(&s->engine->lock);
	while (first(s))
		take_first(s, &calls);
	taken(s, gp_now());
	pthread_mutex_unlock(&s->engine->lock);
	answer_all(&calls, result, done);
}

bool gp_calls_check_time(struct gpgpu_session *s, uint64_t now, struct list *done)
{
	uint64_t clock = gp_session_clock(s, now);
	const struct gp_map_call *call;
	struct list calls;

	if (!s->num_calls || s->paused || s->resetting)
		return s->num_calls;
	list_init(&calls);
	pthread_mutex_lock(&s->engine->lock);
	while ((call = first(s)) && clock > call->since && clock - call->since >= GP_RUN_NS)
		take_first(s, &calls);
	taken(s, now);
	pthread_mutex_unlock(&s->engine->lock);
	answer_all(&calls, GP_ERR(TIMEOUT, NONE, GP_RUN_NS / 1000000), done);
	return s->num_calls;
}

void gp_map_call_ended(struct gp_map_call *call, uint32_t status, uint32_t reason)
{
	struct gpgpu_session *s = call->session;
	struct gp_result result;
	struct list done;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	if (status) {
		gp_response_drop(call->req);
		result = (struct gp_result){ .status = status, .reason = reason };
	} else {
		result = call->finish(call);
	}
	answer(call, result, &done);
	gp_session_unlock(s, &done);
}
