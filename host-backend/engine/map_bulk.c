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
#include "map.h"

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
 * fill_dump() - entries behind @key (NULL: from the first) to @to.
 * @room: entries that fit there, at most MAX_BULK; @count: out: entries written.
 */
static struct gp_result fill_dump(struct gp_map_object *map, const uint8_t *key, uint8_t *to, uint32_t room,
				  uint32_t *count)
{
	uint32_t key_bytes = gp_pad8(map->desc.key_size);
	uint32_t bytes = key_bytes + gp_pad8(gp_map_value_bytes(map->map));
	uint64_t start = gp_now();
	uint8_t last[VIRTIO_GPGPU_MAX_KEY];
	struct gp_result result;

	*count = 0;
	/* An entry that goes between the two calls takes a step and no room. */
	for (uint32_t step = 0; step < 2 * MAX_BULK && *count < room; step++) {
		int err;

		if (step && gp_now() - start > DUMP_NS)
			break;
		err = gp_map_next_key(map->map, key, to);
		if (err == -ENOENT)
			return *count ? GP_OK : GP_ERR(END, NONE, 0);
		if (err)
			return gp_map_result(err, map);
		result = gp_map_lookup_value(map, to, to + key_bytes);
		memcpy(last, to, map->desc.key_size);
		key = last;
		/* An element of an array that is empty comes as zeros, so that the walk gets on. */
		if (result.status == VIRTIO_GPGPU_S_NOT_FOUND && gp_map_has_gaps(map->desc.type))
			result = GP_OK;
		if (result.status == VIRTIO_GPGPU_S_NOT_FOUND) {
			memset(to, 0, bytes);
			continue;
		}
		if (result.status)
			return result;
		to += bytes;
		++*count;
	}
	return *count ? GP_OK : GP_ERR(BUSY, IN_USE, map->object.id);
}

struct gp_result gp_cmd_map_dump(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_map_dump *r = (const void *)req->bytes;
	struct virtio_gpgpu_resp_map_dump *resp;
	struct gp_map_object *map;
	struct gp_result result = find_map(s, r->id, ctx->id, &map);
	uint32_t bytes, room, count;

	if (!result.status)
		result = check_dump(map, req);
	if (result.status)
		return result;
	bytes = gp_pad8(map->desc.key_size) + gp_pad8(gp_map_value_bytes(map->map));
	room = (uint32_t)MIN((req->capacity - sizeof(*resp)) / bytes, r->max_entries);
	/* The response may be longer than any that the transport takes. */
	room = MIN(room, (GP_MAX_REQUEST - (uint32_t)sizeof(*resp)) / bytes);
	if (!room)
		return GP_ERR(INVALID, RESPONSE_SPACE, sizeof(*resp) + bytes);
	resp = gp_response(req, sizeof(*resp) + (size_t)room * bytes);
	result = fill_dump(map, r->key_size ? req->bytes + sizeof(*r) : NULL, (uint8_t *)(resp + 1), room,
			   &count);
	if (result.status) {
		gp_response_drop(req);
		return result;
	}
	resp->count = count;
	req->response_length = sizeof(*resp) + (size_t)count * bytes;
	return GP_OK;
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

struct gp_result gp_cmd_map_load(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	const struct virtio_gpgpu_req_map_load *r = (const void *)req->bytes;
	const uint8_t *at = req->bytes + sizeof(*r);
	struct virtio_gpgpu_resp_map_load *resp;
	uint32_t key_bytes, value_size, value_bytes;
	struct gp_map_object *map;
	struct gp_result result = find_map(s, r->id, ctx->id, &map);
	uint64_t start;

	if (result.status)
		return result;
	key_bytes = gp_pad8(map->desc.key_size);
	value_size = gp_map_value_bytes(map->map);
	value_bytes = gp_pad8(value_size);
	result = check_load(map, req, key_bytes + value_bytes);
	if (result.status)
		return result;
	resp = gp_response(req, sizeof(*resp));
	start = gp_now();
	for (uint32_t i = 0; i < r->count; i++, at += key_bytes + value_bytes) {
		const uint8_t *value = at + key_bytes;

		if (i && gp_now() - start > LOAD_NS)
			return GP_ERR(BUSY, IN_USE, r->id);
		if (!gp_bytes_zero(at + map->desc.key_size, key_bytes - map->desc.key_size) ||
		    !gp_bytes_zero(value + value_size, value_bytes - value_size))
			return GP_ERR(INVALID, RESERVED, (uint64_t)(at - req->bytes));
		result = gp_map_update_value(map, ctx->id, at, value, r->op_flags);
		if (result.status)
			return result;
		resp->count++;
	}
	return GP_OK;
}
