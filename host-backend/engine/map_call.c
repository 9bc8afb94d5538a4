/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_call.c - see map_call.h.
 *
 * Ownership: a call that is the device's has a reference to its map and owns its request. The session counts them
 * (num_calls), so that a reset waits for them; each ends within the device's bounds.
 *
 * Threads: gp_map_run() under the session's lock, gp_map_call_ended() on a thread of the device.
 */
#include "map_call.h"

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
	gp_object_ref(&copy->map->object);
	copy->session->num_calls++;
	engine->ops->map_call(engine->device, copy);
	return GP_PENDING;
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
	gp_answer(s, call->req, result, &done);
	gp_object_unref(&call->map->object);
	s->num_calls--;
	if (s->resetting || s->paused)
		pthread_cond_broadcast(&s->changed);
	gp_session_unlock(s, &done);
	g_free(call);
}
