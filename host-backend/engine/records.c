/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.c - what programs leave for somebody to read: records in ring buffers, and lines in the log.
 *
 * How it works: at the end of a slice the maps with records that its program uses are looked at. Where there are some,
 * and the guest has not been told since a read emptied the map, it is told by one event; so a map has at most one
 * event under way however much is written. `notified` is cleared before a read looks: what is written after that is
 * seen by the slice that wrote it, when it ends.
 *
 * Lines that a program prints are queued in its own struct gp_log (rt/log.h) and shown after the slice, at most
 * MAX_LINES a second for a session; the rest is counted.
 *
 * Threads: device threads, and whoever executes MAP_READ. records_lock, a leaf, makes readers and those who look take
 * turns; it also covers the log's reader and the rate.
 */
#include <errno.h>
#include <string.h>
#include "map_call.h"
#include "rt/log.h"

#define MAX_LINES 10 /* a second */

/* ---------------------------------------------------------------------- records */

/* @pending: what the device says; where the map is the engine's, it looks itself. */
static void tell(struct gpgpu_session *s, struct gp_map_object *map, bool pending)
{
	bool news;

	pthread_mutex_lock(&s->records_lock);
	news = !map->notified && (map->here ? gp_map_records_pending(map->map) : pending);
	map->notified |= news;
	pthread_mutex_unlock(&s->records_lock);
	if (news && s->event)
		s->event(s->event_opaque, VIRTIO_GPGPU_EV_MAP_DATA, VIRTIO_GPGPU_R_NONE, map->object.id);
}

void gp_records_found(struct gpgpu_session *s, struct gp_map_object *map)
{
	tell(s, map, true);
}

/* Any of the maps in @outer: which, only its program knew. Others may go meanwhile. */
static void each_inner(struct gpgpu_session *s, const struct gp_map_object *outer, gp_records_fn *fn,
		       void *opaque)
{
	for (uint32_t i = 0; i < GP_MAX_INNER / 64; i++) {
		uint64_t slots = __atomic_load_n(&outer->map->members[i], __ATOMIC_ACQUIRE);

		for (; slots; slots &= slots - 1) {
			uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(slots);
			struct gp_map_object *map =
				__atomic_load_n(&s->inner_objects[slot], __ATOMIC_ACQUIRE);

			if (map)
				fn(s, map, opaque);
		}
	}
}

void gp_records_each(struct gpgpu_session *s, const struct gp_program *prog, gp_records_fn *fn, void *opaque)
{
	if (!prog->has_records)
		return;
	for (uint32_t i = 0; i < prog->num_maps; i++) {
		struct gp_map_object *map = prog->map_objects[i];

		if (gp_map_has_records(map->desc.type))
			fn(s, map, opaque);
		else if (gp_map_is_outer(map->desc.type) && gp_map_has_records(map->desc.inner.type))
			each_inner(s, map, fn, opaque);
	}
}

static void look(struct gpgpu_session *s, struct gp_map_object *map, void *opaque)
{
	tell(s, map, false);
}

void gp_records_tell(struct gpgpu_session *s, const struct gp_program *prog)
{
	gp_records_each(s, prog, look, NULL);
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_map_read, member)

/* records_lock held, or what was found was found where only one reads at a time. */
static struct gp_result answer_read(struct gp_map_call *call)
{
	struct virtio_gpgpu_resp_map_read *resp = (void *)call->req->response;
	const struct gp_map_op *op = &call->ops[0];

	/* What is left is no news: the guest is reading. */
	call->map->notified = call->ops[1].result != 0;
	if (op->result < 0) {
		gp_response_drop(call->req);
		return op->result == -EMSGSIZE ? GP_ERR(INVALID, RESPONSE_SPACE, op->count)
					       : gp_map_result((int)op->result, call->map);
	}
	resp->bytes = (uint32_t)op->result;
	resp->num_records = op->done;
	resp->dropped = op->dropped;
	call->req->response_length = sizeof(*resp) + (size_t)op->result;
	return GP_OK;
}

static struct gp_result finish_read(struct gp_map_call *call)
{
	struct gp_result result;

	if (!call->away)
		return answer_read(call);
	pthread_mutex_lock(&call->session->records_lock);
	result = answer_read(call);
	pthread_mutex_unlock(&call->session->records_lock);
	return result;
}

struct gp_result gp_cmd_map_read(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_map_read *r = (const void *)req->bytes;
	struct virtio_gpgpu_resp_map_read *resp;
	struct gp_map_object *map;
	struct gp_map_call call;
	struct gp_object *object;
	struct gp_result result;
	uint64_t room;

	result = gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, r->id, ctx->id, &object);
	if (result.status)
		return result;
	map = (struct gp_map_object *)object;
	if (!gp_map_has_records(map->desc.type))
		return GP_ERR(INVALID, KIND, map->desc.type);
	if (r->max_bytes < sizeof(struct virtio_gpgpu_record))
		return GP_ERR(INVALID, SIZE, OFF(max_bytes));
	room = MIN(req->capacity, GP_MAX_REQUEST) - sizeof(*resp);
	room = MIN(room, r->max_bytes);
	resp = gp_response(req, sizeof(*resp) + room);
	call = (struct gp_map_call){
		.session = s,
		.req = req,
		.map = map,
		.num_ops = 2,
		.out_bytes = (uint32_t)room,
		.finish = finish_read,
	};
	call.ops[0] = (struct gp_map_op){
		.kind = GP_MAP_OP_READ,
		.map = map->map,
		.value = (uint8_t *)(resp + 1),
		.count = (uint32_t)room,
	};
	call.ops[1] = (struct gp_map_op){ .kind = GP_MAP_OP_PENDING, .map = map->map };

	pthread_mutex_lock(&s->records_lock);
	map->notified = false;
	result = map->here ? gp_map_run(&call) : GP_OK;
	pthread_mutex_unlock(&s->records_lock);
	return map->here ? result : gp_map_run(&call);
}

/* ------------------------------------------------------------------------ lines */

/* Return: whether one more line may be shown now. records_lock held. */
static bool may_show(struct gpgpu_session *s, uint64_t *hidden)
{
	uint64_t now = gp_now();

	*hidden = 0;
	if (now - s->prints_since >= 1000000000) {
		s->prints_since = now;
		s->prints = 0;
		*hidden = s->prints_hidden;
		s->prints_hidden = 0;
	}
	if (s->prints >= MAX_LINES) {
		s->prints_hidden++;
		return false;
	}
	s->prints++;
	return true;
}

static void show(struct gpgpu_session *s, const struct gp_program *prog, const char *text, uint64_t hidden)
{
	char line[128 + GP_LOG_TEXT], clean[GP_LOG_TEXT];

	if (!s->log)
		return;
	/* It ends in a log of the host's: no line of its own, no command to whoever shows it. */
	g_strlcpy(clean, text, sizeof(clean));
	for (char *at = clean; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	if (hidden) {
		g_snprintf(line, sizeof(line), "%s: %" G_GUINT64_FORMAT " lines of programs were not shown",
			   s->name, hidden);
		s->log(s->event_opaque, line);
	}
	g_snprintf(line, sizeof(line), "%.64s: program '%s' prints: %s", s->name, prog->name, clean);
	s->log(s->event_opaque, line);
}

void gp_prints_line(struct gpgpu_session *s, const struct gp_program *prog, const char *text)
{
	uint64_t hidden;
	bool shown;

	pthread_mutex_lock(&s->records_lock);
	shown = may_show(s, &hidden);
	pthread_mutex_unlock(&s->records_lock);
	if (shown)
		show(s, prog, text, hidden);
}

void gp_prints_show(struct gpgpu_session *s, struct gp_program *prog)
{
	char text[GP_LOG_TEXT];
	uint64_t hidden;
	bool shown;
	int length;

	if (!prog->log)
		return;
	/*
	 * A look without the lock costs nothing; what is missed is shown after the next slice. No more than there can be
	 * at once: others may print as fast as this one takes, and a slice has to end.
	 */
	for (uint32_t i = 0;
	     i < GP_LOG_ENTRIES && __atomic_load_n(&prog->log->head, __ATOMIC_RELAXED) !=
					   __atomic_load_n(&prog->log->tail, __ATOMIC_RELAXED);
	     i++) {
		pthread_mutex_lock(&s->records_lock);
		length = gp_log_take(prog->log, text);
		shown = length >= 0 && may_show(s, &hidden);
		pthread_mutex_unlock(&s->records_lock);
		if (length < 0)
			return;
		if (shown)
			show(s, prog, text, hidden);
	}
}
