/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_bulk.c - many entries of a map in one command: MAP_DUMP and MAP_LOAD.
 *
 * A dump goes on behind the key that it is given, so a map of any size is read by as many commands as its
 * entries need, each of which holds the session's lock for a bounded time: MAX_BULK entries, and no more of them once
 * DUMP_NS or LOAD_NS have passed. A guest can make entries slow to come by: by keys that share a bucket, or by programs
 * that take out the very key from which the walk would go on, so that it begins again. What programs do to the map
 * meanwhile is seen or not, as with one NEXT_KEY and LOOKUP after the other.
 *
 * Threads: under the session's lock.
 */
#include <errno.h>
#include <string.h>
#include "map_call.h"

#define MAX_BULK VIRTIO_GPGPU_MAX_ENTRIES
#define DUMP_NS	 200000000ull
#define LOAD_NS	 500000000ull /* longer, since the guest has to send the rest again */

static struct gp_result find_map(struct gpgpu_session *s, uint32_t id, uint32_t ctx,
				 struct gp_map_object **out)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, id, ctx, &object);

	*out = (struct gp_map_object *)object;
	return result;
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_map_dump, member)

static struct gp_result check_dump(const struct gp_map_object *map, const struct gp_request *req)
{
	const struct virtio_gpgpu_req_map_dump *r = (const void *)req->bytes;
	uint32_t room = gp_pad8(r->key_size);

	if (!map->desc.key_size || gp_map_has_records(map->desc.type))
		return GP_ERR(INVALID, KIND, map->desc.type);
	if (r->key_size && r->key_size != map->desc.key_size)
		return GP_ERR(INVALID, SIZE, OFF(key_size));
	if (!r->max_entries || r->max_entries > MAX_BULK)
		return GP_ERR(INVALID, COUNT, r->max_entries);
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, OFF(reserved));
	if (req->length != sizeof(*r) + room)
		return GP_ERR(INVALID, LENGTH, offsetof(struct virtio_gpgpu_req_hdr, length));
	if (!gp_bytes_zero(req->bytes + sizeof(*r) + r->key_size, room - r->key_size))
		return GP_ERR(INVALID, RESERVED, sizeof(*r) + r->key_size);
	return GP_OK;
}

/*
 * dump_refs() - ids in place of what is stored, which only the engine knows.
 * @op: as for GP_MAP_OP_DUMP; filled in likewise.
 */
static void dump_refs(struct gp_map_object *map, struct gp_map_op *op)
{
	uint32_t key_bytes = gp_pad8(map->desc.key_size);
	uint8_t last[VIRTIO_GPGPU_MAX_KEY], *to = op->value;
	const uint8_t *key = op->key;
	uint64_t start = gp_now();
	struct gp_result result;

	op->result = 0;
	for (uint32_t step = 0; step < 2 * MAX_BULK && op->done < op->count && !op->result; step++) {
		if (step && gp_now() - start > DUMP_NS) {
			op->result = -EINTR;
			break;
		}
		op->result = gp_map_next_key(map->map, key, to);
		if (op->result)
			break;
		memcpy(last, to, map->desc.key_size);
		key = last;
		result = gp_refs_lookup(map, to, to + key_bytes);
		/* An element of an array that is empty comes as zeros, so that the walk gets on. */
		if (!result.status || gp_map_has_gaps(map->desc.type)) {
			to += op->stride;
			op->done++;
		} else {
			memset(to, 0, op->stride);
		}
	}
}

static struct gp_result finish_dump(struct gp_map_call *call)
{
	struct gp_request *req = call->req;
	struct virtio_gpgpu_resp_map_dump *resp = (void *)req->response;
	const struct gp_map_op *op = &call->ops[0];
	bool over = !op->result || op->result == -EINTR;

	if (op->done && (over || op->result == -ENOENT)) {
		resp->count = op->done;
		req->response_length = sizeof(*resp) + (size_t)op->done * op->stride;
		return GP_OK;
	}
	gp_response_drop(req);
	if (over)
		return GP_ERR(BUSY, IN_USE, call->map->object.id);
	return op->result == -ENOENT ? GP_ERR(END, NONE, 0) : gp_map_result((int)op->result, call->map);
}

struct gp_result gp_cmd_map_dump(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_map_dump *r = (const void *)req->bytes;
	struct virtio_gpgpu_resp_map_dump *resp;
	struct gp_map_object *map;
	struct gp_result result = find_map(s, r->id, ctx->id, &map);
	struct gp_map_call call;
	uint32_t bytes, room;

	if (!result.status)
		result = check_dump(map, req);
	if (result.status)
		return result;
	bytes = gp_pad8(map->desc.key_size) + gp_pad8(gp_map_value_room(&map->desc));
	room = (uint32_t)MIN((req->capacity - sizeof(*resp)) / bytes, r->max_entries);
	/* The response may be longer than any that the transport takes. */
	room = MIN(room, (GP_MAX_REQUEST - (uint32_t)sizeof(*resp)) / bytes);
	if (!room)
		return GP_ERR(INVALID, RESPONSE_SPACE, sizeof(*resp) + bytes);
	resp = gp_response(req, sizeof(*resp) + (size_t)room * bytes);
	call = (struct gp_map_call){
		.session = s,
		.req = req,
		.map = map,
		.num_ops = 1,
		.key_bytes = r->key_size,
		.out_bytes = room * bytes,
		.finish = finish_dump,
	};
	call.ops[0] = (struct gp_map_op){
		.kind = GP_MAP_OP_DUMP,
		.map = map->map,
		.key = r->key_size ? req->bytes + sizeof(*r) : NULL,
		.value = (uint8_t *)(resp + 1),
		.count = room,
		.stride = bytes,
		.ticks = gp_map_ticks(s, DUMP_NS),
	};
	if (!gp_map_is_refs(map->desc.type))
		return gp_map_run(&call);
	dump_refs(map, &call.ops[0]);
	return finish_dump(&call);
}

#undef OFF
#define OFF(member) offsetof(struct virtio_gpgpu_req_map_load, member)

static struct gp_result check_load(const struct gp_map_object *map, const struct gp_request *req,
				   uint32_t bytes)
{
	const struct virtio_gpgpu_req_map_load *r = (const void *)req->bytes;

	if (!r->count || r->count > MAX_BULK)
		return GP_ERR(INVALID, COUNT, r->count);
	if (r->op_flags > BPF_EXIST)
		return GP_ERR(INVALID, FLAGS, r->op_flags);
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, OFF(reserved));
	if (req->length != sizeof(*r) + (uint64_t)r->count * bytes)
		return GP_ERR(INVALID, LENGTH, offsetof(struct virtio_gpgpu_req_hdr, length));
	if (map->frozen)
		return GP_ERR(PERMISSION, FROZEN, map->object.id);
	return GP_OK;
}

/* Return: what is wrong with the entry at @at, whatever is in the map. */
static struct gp_result check_entry(const struct gp_map_object *map, const struct gp_request *req,
				    const uint8_t *at)
{
	uint32_t key_bytes = gp_pad8(map->desc.key_size), value_size = gp_map_value_room(&map->desc);
	const uint8_t *value = at + key_bytes;

	if (!gp_bytes_zero(at + map->desc.key_size, key_bytes - map->desc.key_size) ||
	    !gp_bytes_zero(value + value_size, gp_pad8(value_size) - value_size))
		return GP_ERR(INVALID, RESERVED, (uint64_t)(at - req->bytes));
	return gp_map_update_check(map, value);
}

/* Stores are made up to the first that fails; those that cannot be made come behind all that were. */
static struct gp_result finish_load(struct gp_map_call *call)
{
	struct virtio_gpgpu_resp_map_load *resp = (void *)call->req->response;
	const struct gp_map_op *op = &call->ops[0];
	const struct virtio_gpgpu_req_map_load *r = (const void *)call->req->bytes;

	resp->count = op->done;
	if (op->result == -EINTR)
		return GP_ERR(BUSY, IN_USE, call->map->object.id);
	if (op->result)
		return gp_map_result((int)op->result, call->map);
	if (op->done < r->count)
		return check_entry(call->map, call->req, op->value + (size_t)op->done * op->stride);
	return GP_OK;
}

static struct gp_result load_refs(struct gp_map_object *map, const struct gp_request *req,
				  struct virtio_gpgpu_resp_map_load *resp, uint32_t bytes)
{
	const struct virtio_gpgpu_req_map_load *r = (const void *)req->bytes;
	const uint8_t *at = req->bytes + sizeof(*r);
	uint64_t start = gp_now();
	struct gp_result result;

	for (uint32_t i = 0; i < r->count; i++, at += bytes) {
		if (i && gp_now() - start > LOAD_NS)
			return GP_ERR(BUSY, IN_USE, r->id);
		result = check_entry(map, req, at);
		if (!result.status)
			result = gp_refs_update(map, req->ctx_id, at, at + gp_pad8(map->desc.key_size),
						r->op_flags);
		if (result.status)
			return result;
		resp->count++;
	}
	return GP_OK;
}

struct gp_result gp_cmd_map_load(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_map_load *r = (const void *)req->bytes;
	uint8_t *at = req->bytes + sizeof(*r);
	struct virtio_gpgpu_resp_map_load *resp;
	struct gp_map_object *map;
	struct gp_result result = find_map(s, r->id, ctx->id, &map);
	struct gp_map_call call;
	uint32_t bytes, count;

	if (result.status)
		return result;
	bytes = gp_pad8(map->desc.key_size) + gp_pad8(gp_map_value_room(&map->desc));
	result = check_load(map, req, bytes);
	if (result.status)
		return result;
	resp = gp_response(req, sizeof(*resp));
	if (gp_map_is_refs(map->desc.type))
		return load_refs(map, req, resp, bytes);
	for (count = 0; count < r->count; count++)
		if (check_entry(map, req, at + (size_t)count * bytes).status)
			break;
	call = (struct gp_map_call){
		.session = s,
		.req = req,
		.map = map,
		.num_ops = 1,
		.in_bytes = count * bytes,
		.finish = finish_load,
	};
	call.ops[0] = (struct gp_map_op){
		.kind = GP_MAP_OP_LOAD,
		.flags = r->op_flags,
		.map = map->map,
		.value = at,
		.count = count,
		.stride = bytes,
		.ticks = gp_map_ticks(s, LOAD_NS),
	};
	return gp_map_run(&call);
}
