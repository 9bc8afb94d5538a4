/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.c - maps and the guest's operations on them.
 *
 * What a map is made of, and how an operation works while programs use the map, is rt/maps.c's: the same
 * code that programs run. Here: ids, sizes, memory, what may be read and written.
 *
 * The guest's operations are refused on a frozen map if they write, as the kernel does; MAP_F_RDONLY_PROG
 * keeps programs from writing and the guest not.
 *
 * What maps hold that is not just bytes is map_refs.c's.
 *
 * Threads: under the session's lock; device threads may run programs on the same map.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include "map_call.h"

/* The largest value that fits into an UPDATE of an array. */
#define MAX_GLOBALS (GP_MAX_REQUEST - sizeof(struct virtio_gpgpu_req_map_op) - 8)

/*
 * Where a GPU runs programs, struct gp_map lies in front of the index, since lanes read it, and often. On a CPU it is
 * the heap's: looked at from several threads, it must not be on a line with what others write.
 */
#define HEAD_BYTES ((sizeof(struct gp_map) + 127) & ~127ull)

static uint64_t head_bytes(const struct gpgpu_engine *engine)
{
	return engine->ops->alloc ? HEAD_BYTES : 0;
}

static void free_map(struct gpgpu_engine *engine, struct gp_map_object *map)
{
	uint64_t head = head_bytes(engine);

	gp_window_free(engine, map->values, map->desc.values_size);
	gp_window_free(engine, map->index, head + gp_map_index_bytes(&map->desc));
	if (!head)
		g_free(map->map);
}

void gp_map_release(struct gp_map_object *map)
{
	gp_refs_release(map);
	list_del(&map->fib_link);
	free_map(map->object.session->engine, map);
	g_free(map);
}

/* rt/maps.c says which of the fields it does not like. */
static struct gp_result bad_shape(uint32_t reason, const struct virtio_gpgpu_req_map_create *r)
{
	struct gp_result result = { VIRTIO_GPGPU_S_INVALID, reason, 0 };

	switch (reason) {
	case VIRTIO_GPGPU_R_KIND:
		result.detail = r->map_type;
		break;
	case VIRTIO_GPGPU_R_FLAGS:
		result.status = VIRTIO_GPGPU_S_UNSUPPORTED;
		result.detail = r->map_flags;
		break;
	case VIRTIO_GPGPU_R_COUNT:
		result.detail = r->max_entries;
		break;
	default:
		result.detail = (uint64_t)r->key_size << 32 | r->value_size;
		break;
	}
	return result;
}

static struct gp_map_object *make_map(struct gpgpu_engine *engine, const struct gp_map_desc *desc)
{
	struct gp_map_object *map = g_new0(struct gp_map_object, 1);
	uint64_t head = head_bytes(engine);
	struct gp_map made;
	enum gp_mem mem;
	uint32_t seed;

	map->desc = *desc;
	/* What values stand for is the engine's to look after, and no program writes them. */
	map->here = !engine->ops->map_call || gp_map_is_refs(desc->type);
	mem = map->here ? GP_MEM_HOST : GP_MEM_DEVICE;
	if (desc->values_size)
		map->values = gp_window_alloc(engine, desc->values_size, mem);
	map->index = gp_window_alloc(engine, head + gp_map_index_bytes(desc), mem);
	if ((desc->values_size && !map->values) || !map->index ||
	    getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
		free_map(engine, map);
		g_free(map);
		return NULL;
	}
	map->map = head ? map->index : g_new0(struct gp_map, 1);
	gp_map_layout(&made, desc, map->values, (uint8_t *)map->index + head, seed);
	if (!gp_window_write(engine, mem, map->map, &made, sizeof(made))) {
		free_map(engine, map);
		g_free(map);
		return NULL;
	}
	list_init(&map->fib_link);
	return map;
}

struct gp_result gp_cmd_map_create(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	const struct virtio_gpgpu_req_map_create *r = (const void *)req->bytes;
	struct gp_map_desc desc = {
		.type = r->map_type,
		.key_size = r->key_size,
		.value_size = r->value_size,
		.max_entries = r->max_entries,
		.flags = r->map_flags,
	};
	struct gp_map_object *object;
	struct gp_result result;
	uint32_t reason;
	uint64_t bytes;

	if (!gp_padded(r->name, sizeof(r->name)))
		return GP_ERR(INVALID, RESERVED, offsetof(struct virtio_gpgpu_req_map_create, name));
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, offsetof(struct virtio_gpgpu_req_map_create, reserved));
	reason = gp_map_check(&desc, s->engine->cpus);
	/* An array of one element is global data, which the guest must be able to fill. */
	if (!reason && desc.type == VIRTIO_GPGPU_MAP_ARRAY && desc.value_size > MAX_GLOBALS)
		reason = VIRTIO_GPGPU_R_SIZE;
	if (reason)
		return bad_shape(reason, r);
	result = gp_refs_template(s, ctx->id, r->inner, &desc);
	if (result.status)
		return result;
	bytes = gp_map_bytes(&desc) + gp_refs_bytes(&desc);
	if (bytes > s->limits.max_map)
		return GP_ERR(LIMIT, SIZE, s->limits.max_map);
	result = gp_object_new_check(s, VIRTIO_GPGPU_OBJ_MAP, r->id);
	if (result.status)
		return result;
	if (!gp_charge(s, bytes))
		return GP_ERR(NO_MEMORY, MEMORY_LIMIT, s->memory_limit);
	object = make_map(s->engine, &desc);
	if (!object) {
		gp_uncharge(s, bytes);
		return GP_ERR(NO_MEMORY, HOST_MEMORY, bytes);
	}
	object->object.memory = bytes;
	if (desc.type == VIRTIO_GPGPU_MAP_FIB)
		list_add(&s->fibs, &object->fib_link);
	gp_object_add(s, &object->object, VIRTIO_GPGPU_OBJ_MAP, r->id, ctx->id);
	gp_refs_init(object);
	return GP_OK;
}

struct gp_result gp_cmd_map_destroy(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				    struct list *done)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find_req(s, VIRTIO_GPGPU_OBJ_MAP, req, true, &object);

	if (result.status)
		return result;
	/* Programs that refer to it keep it, without its id. */
	gp_object_remove(object);
	return GP_OK;
}

struct gp_result gp_cmd_map_freeze(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find_req(s, VIRTIO_GPGPU_OBJ_MAP, req, false, &object);
	struct gp_map_object *map = (struct gp_map_object *)object;

	if (result.status)
		return result;
	if (map->frozen)
		return GP_ERR(BUSY, FROZEN, object->id);
	map->frozen = true;
	return GP_OK;
}

uint32_t gp_map_types(const struct gpgpu_session *s)
{
	uint32_t types = 0;

	for (uint32_t type = 0; type < 32; type++) {
		struct gp_map_desc desc = { .type = type };

		if (gp_map_check(&desc, s->engine->cpus) != VIRTIO_GPGPU_R_KIND)
			types |= 1u << type;
	}
	return types;
}

struct gp_result gp_map_result(int err, const struct gp_map_object *map)
{
	switch (err) {
	case 0:
		return GP_OK;
	case -ENOENT:
		return GP_ERR(NOT_FOUND, KEY, map->object.id);
	case -EEXIST:
		return GP_ERR(EXISTS, KEY, map->object.id);
	case -E2BIG:
		/* For an array it is the index that is too large, which the kernel says in the same way. */
		return GP_ERR(LIMIT, MAP_FULL, map->desc.max_entries);
	case -ENOSPC:
		return GP_ERR(LIMIT, MAP_FULL, map->desc.max_entries);
	case -EBUSY:
	case -ENOMEM: /* LRU: all elements were changing hands */
		return GP_ERR(BUSY, IN_USE, map->object.id);
	default:
		return GP_ERR(INVALID, KEY, map->object.id);
	}
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_map_op, member)

/* What the operations take of each kind of map, beside what the run-time library refuses itself. */
static struct gp_result check_kind(const struct gp_map_object *map, uint32_t command)
{
	bool keyless = !map->desc.key_size;

	/* Records are read by MAP_READ, and written by programs. */
	if (gp_map_has_records(map->desc.type) || (keyless && command == VIRTIO_GPGPU_CMD_MAP_NEXT_KEY) ||
	    (keyless && command == VIRTIO_GPGPU_CMD_MAP_DELETE))
		return GP_ERR(INVALID, KIND, map->desc.type);
	if (command == VIRTIO_GPGPU_CMD_MAP_POP && gp_map_is_refs(map->desc.type))
		return GP_ERR(INVALID, KIND, map->desc.type);
	return GP_OK;
}

/* Bytes of the key as it travels: of a Bloom filter it is the value that is asked for. */
static uint32_t key_bytes(const struct gp_map_object *map, uint32_t command)
{
	if (map->desc.type == VIRTIO_GPGPU_MAP_BLOOM_FILTER && command == VIRTIO_GPGPU_CMD_MAP_LOOKUP)
		return map->desc.value_size;
	return map->desc.key_size;
}

/* Sizes must be the map's, the length must be exactly what they say, and padding must be zero. */
static struct gp_result check_op(const struct gp_map_object *map, const struct gp_request *req,
				 const uint8_t **key, const uint8_t **value)
{
	const struct virtio_gpgpu_req_map_op *r = (const void *)req->bytes;
	uint32_t value_bytes = gp_map_value_room(&map->desc);
	bool first = req->type == VIRTIO_GPGPU_CMD_MAP_NEXT_KEY && !r->key_size;
	bool update = req->type == VIRTIO_GPGPU_CMD_MAP_UPDATE;
	struct gp_result result = check_kind(map, req->type);
	uint64_t key_room, value_room;

	if (result.status)
		return result;
	if (!first && r->key_size != key_bytes(map, req->type))
		return GP_ERR(INVALID, SIZE, OFF(key_size));
	if (r->value_size != (update ? value_bytes : 0))
		return GP_ERR(INVALID, SIZE, OFF(value_size));
	if (update ? r->op_flags > BPF_EXIST : r->op_flags != 0)
		return GP_ERR(INVALID, FLAGS, r->op_flags);
	key_room = gp_pad8(r->key_size);
	value_room = gp_pad8(r->value_size);
	if (req->length != sizeof(*r) + key_room + value_room)
		return GP_ERR(INVALID, LENGTH, offsetof(struct virtio_gpgpu_req_hdr, length));
	*key = first ? NULL : req->bytes + sizeof(*r);
	*value = req->bytes + sizeof(*r) + key_room;
	if (!first && !gp_bytes_zero(*key + r->key_size, key_room - r->key_size))
		return GP_ERR(INVALID, RESERVED, sizeof(*r) + r->key_size);
	if (!gp_bytes_zero(*value + r->value_size, value_room - r->value_size))
		return GP_ERR(INVALID, RESERVED, sizeof(*r) + key_room + r->value_size);
	return GP_OK;
}

/* Ports and CPUs: the second word of a value would be a program that runs behind the redirect; there is none. */
static bool asks_for_program(const struct gp_map_object *map, const uint8_t *value)
{
	bool ports = map->desc.type == VIRTIO_GPGPU_MAP_DEVMAP ||
		     map->desc.type == VIRTIO_GPGPU_MAP_DEVMAP_HASH ||
		     map->desc.type == VIRTIO_GPGPU_MAP_CPUMAP;

	return ports && !gp_bytes_zero(value + 4, map->desc.value_size - 4);
}

struct gp_result gp_map_update_check(const struct gp_map_object *map, const uint8_t *value)
{
	if (gp_map_has_records(map->desc.type))
		return GP_ERR(INVALID, KIND, map->desc.type);
	return asks_for_program(map, value) ? GP_ERR(UNSUPPORTED, PROG, 0) : GP_OK;
}

/* Of one operation: what was to follow the response does so only where it went well. */
static struct gp_result finish_op(struct gp_map_call *call)
{
	struct gp_result result = gp_map_result((int)call->ops[0].result, call->map);

	if (result.status)
		gp_response_drop(call->req);
	if (call->ops[0].kind == GP_MAP_OP_NEXT_KEY && result.status == VIRTIO_GPGPU_S_NOT_FOUND)
		return GP_ERR(END, NONE, 0);
	return result;
}

static struct gp_result run_op(struct gp_map_object *map, struct gp_request *req, struct gp_map_op op,
			       uint32_t key_bytes, uint32_t in_bytes, uint32_t out_bytes)
{
	struct gp_map_call call = {
		.session = map->object.session,
		.req = req,
		.map = map,
		.num_ops = 1,
		.key_bytes = key_bytes,
		.in_bytes = in_bytes,
		.out_bytes = out_bytes,
		.finish = finish_op,
	};

	op.map = map->map;
	call.ops[0] = op;
	return gp_map_run(&call);
}

/* LOOKUP, POP and NEXT_KEY: a value or a key follows the response. */
static struct gp_result answer_op(struct gp_map_object *map, struct gp_request *req, const uint8_t *key)
{
	bool next = req->type == VIRTIO_GPGPU_CMD_MAP_NEXT_KEY;
	bool bloom = map->desc.type == VIRTIO_GPGPU_MAP_BLOOM_FILTER;
	uint32_t size = next ? map->desc.key_size : bloom ? 0 : gp_map_value_room(&map->desc);
	struct virtio_gpgpu_resp_map_op *resp;
	size_t length = sizeof(*resp) + gp_pad8(size);
	struct gp_map_op op = { .key = key };
	struct gp_result result;

	if (req->capacity < length)
		return GP_ERR(INVALID, RESPONSE_SPACE, length);
	resp = gp_response(req, length);
	resp->size = size;
	if (req->type == VIRTIO_GPGPU_CMD_MAP_LOOKUP && gp_map_is_refs(map->desc.type)) {
		result = gp_refs_lookup(map, key, (uint8_t *)(resp + 1));
		if (result.status)
			gp_response_drop(req);
		return result;
	}
	op.value = (uint8_t *)(resp + 1);
	op.kind = next ? GP_MAP_OP_NEXT_KEY
		       : (req->type == VIRTIO_GPGPU_CMD_MAP_POP ? GP_MAP_OP_POP : GP_MAP_OP_LOOKUP);
	return run_op(map, req, op, key ? key_bytes(map, req->type) : 0, 0, size);
}

static struct gp_result update_op(struct gp_map_object *map, struct gp_request *req, const uint8_t *key,
				  const uint8_t *value, uint32_t flags)
{
	struct gp_result result = gp_map_update_check(map, value);

	if (result.status)
		return result;
	if (gp_map_is_refs(map->desc.type))
		return gp_refs_update(map, req->ctx_id, key, value, flags);
	return run_op(map, req,
		      (struct gp_map_op){ .kind = GP_MAP_OP_UPDATE,
					  .flags = flags,
					  .key = key,
					  .value = (uint8_t *)(uintptr_t)value },
		      map->desc.key_size, gp_map_value_room(&map->desc), 0);
}

static struct gp_result delete_op(struct gp_map_object *map, struct gp_request *req, const uint8_t *key)
{
	if (gp_map_is_refs(map->desc.type))
		return gp_refs_delete(map, key);
	return run_op(map, req, (struct gp_map_op){ .kind = GP_MAP_OP_DELETE, .key = key },
		      map->desc.key_size, 0, 0);
}

struct gp_result gp_cmd_map_op(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
			       struct list *done)
{
	const struct virtio_gpgpu_req_map_op *r = (const void *)req->bytes;
	const uint8_t *key = NULL, *value = NULL;
	struct gp_map_object *map;
	struct gp_object *object;
	struct gp_result result;

	result = gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, r->id, ctx->id, &object);
	if (result.status)
		return result;
	map = (struct gp_map_object *)object;
	result = check_op(map, req, &key, &value);
	if (result.status)
		return result;
	if (req->type == VIRTIO_GPGPU_CMD_MAP_LOOKUP || req->type == VIRTIO_GPGPU_CMD_MAP_NEXT_KEY)
		return answer_op(map, req, key);
	if (map->frozen)
		return GP_ERR(PERMISSION, FROZEN, object->id);
	if (req->type == VIRTIO_GPGPU_CMD_MAP_POP)
		return answer_op(map, req, key);
	if (req->type == VIRTIO_GPGPU_CMD_MAP_UPDATE)
		return update_op(map, req, key, value, r->op_flags);
	return delete_op(map, req, key);
}
