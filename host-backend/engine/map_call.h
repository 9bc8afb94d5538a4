/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_call.h - an operation on a map on its way to whatever the map's memory is near to, and back.
 *
 * A command fills in a struct gp_map_call and hands it to gp_map_run(). Where the map is the engine's to operate on,
 * that does it and finishes at once; else the device gets a copy, the command answers GP_PENDING, and finish()
 * is called when the operation is done. Nothing of the session's is locked meanwhile, and the commands behind it go on;
 * the device does a session's in the order in which they came, with what else it runs, when the scheduler says so:
 * they wait for their share as jobs do (struct gp_calls), for at most GP_RUN_NS.
 */
#ifndef GPGPU_MAP_CALL_H
#define GPGPU_MAP_CALL_H

#include "map.h"
#include "rt/launch.h"

#define GP_CALL_OPS 2

struct gp_map_call {
	struct list link; /* the device's */
	struct gpgpu_session *session;
	struct gp_request *req;
	struct gp_map_object *map; /* with a reference while it is the device's */
	struct gp_map_op ops[GP_CALL_OPS]; /* of op 0, key and value are in the request and in the response */
	uint32_t num_ops;
	uint32_t key_bytes; /* at ops[0].key that are read */
	uint32_t in_bytes, out_bytes; /* at ops[0].value that are read; that may be written */
	bool away; /* it is the device's */
	uint64_t since; /* then by the session's clock */
	const uint8_t *far_value; /* the device's: where it has what ops[0].value is to get */
	uint32_t param; /* for finish() */
	/* Session's lock held. Return: the answer. */
	struct gp_result (*finish)(struct gp_map_call *call);
};

/* gp_map_run() - have @call done. Session's lock held. Return: the answer, or GP_PENDING. */
struct gp_result gp_map_run(struct gp_map_call *call);

/*
 * gp_map_call_ended() - a device has done @call, and filled in its operations and what they wrote.
 * @status: why it has not, or S_OK. No lock held; @call is freed.
 */
void gp_map_call_ended(struct gp_map_call *call, uint32_t status, uint32_t reason);

/* gp_calls_init() - of a new session, whose tenant there is. gp_calls_free() - nothing waits. Engine's lock. */
void gp_calls_init(struct gpgpu_session *s);
void gp_calls_free(struct gpgpu_session *s);

/*
 * What a device does with them; engine's lock. gp_calls_add() - @call waits. gp_calls_start() - the device can do what waits:
 * the scheduler is told. gp_calls_take() - up to @max of those that wait, whose memory @bytes() says, and no more than
 * @most of it in all but for the first, into @calls. The scheduler has picked their entry.
 */
void gp_calls_add(struct gp_map_call *call);
void gp_calls_start(struct gpgpu_session *s, uint64_t now);
void gp_calls_take(struct gpgpu_session *s, uint32_t max, uint64_t most,
		   uint64_t (*bytes)(const struct gp_map_call *call), struct list *calls, uint64_t now);

/*
 * gp_calls_waiting() - how many wait that were not begun. gp_calls_cancel() - answer those with @result. gp_calls_check_time() -
 * answer those that have waited for too long. Return: whether there are any left, begun or not. Session's lock held.
 */
uint32_t gp_calls_waiting(struct gpgpu_session *s);
void gp_calls_cancel(struct gpgpu_session *s, struct gp_result result, struct list *done);
bool gp_calls_check_time(struct gpgpu_session *s, uint64_t now, struct list *done);

/* gp_map_ticks() - of the clock that operations see, for a time limit. */
uint64_t gp_map_ticks(const struct gpgpu_session *s, uint64_t ns);

#endif
