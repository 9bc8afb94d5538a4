// SPDX-License-Identifier: BSD-3-Clause
/*
 * requests.c - valid skeletons of every command, and what may be done to them.
 *
 * Each field is drawn by input_pick(): a small usual value, so that requests meet each other's objects, or a
 * strange one. Afterwards some bytes may be changed, and length, queue and room for the response may lie.
 */
#include "gpgpu-host.h"
#include "requests.h"

static void *grow(struct request *r, size_t size)
{
	void *at = r->bytes + r->length;

	memset(at, 0, size);
	r->length += size;
	return at;
}

static uint32_t id(struct input *in)
{
	return (uint32_t)input_pick(in, 1, FUZZ_IDS);
}

static uint32_t context(struct input *in)
{
	return (uint32_t)input_pick(in, 0, 3);
}

static void set_type(struct request *r, uint32_t type)
{
	((struct virtio_gpgpu_req_hdr *)r->bytes)->type = type;
}

static void ctx_create(struct input *in, struct request *r)
{
	struct virtio_gpgpu_req_hdr *hdr = grow(r, sizeof(*hdr));

	hdr->ctx_id = (uint32_t)input_pick(in, 1, 2);
	set_type(r, input_byte(in) & 1 ? VIRTIO_GPGPU_CMD_CTX_DESTROY : VIRTIO_GPGPU_CMD_CTX_CREATE);
}

static void ctx_attach(struct input *in, struct request *r)
{
	struct virtio_gpgpu_req_ctx_attach *req = grow(r, sizeof(*req));

	req->hdr.ctx_id = context(in);
	req->object = (uint32_t)input_pick(in, 1, 3);
	req->id = id(in);
	set_type(r, input_byte(in) & 1 ? VIRTIO_GPGPU_CMD_CTX_DETACH : VIRTIO_GPGPU_CMD_CTX_ATTACH);
}

static void buffer_create(struct input *in, struct request *r)
{
	struct virtio_gpgpu_req_buffer_create *req = grow(r, sizeof(*req));

	req->hdr.ctx_id = context(in);
	req->id = id(in);
	req->mem = (uint32_t)input_pick(in, 1, 2);
	req->size = FUZZ_BUFFER;
	req->offset = req->mem == VIRTIO_GPGPU_MEM_SHM ? (uint64_t)(req->id % (FUZZ_IDS + 1)) * FUZZ_BUFFER
						       : 0;
	if (input_byte(in) & 1)
		req->size = input_strange(in);
	if (input_byte(in) & 1)
		req->offset = input_strange(in);
	set_type(r, VIRTIO_GPGPU_CMD_BUFFER_CREATE);
}

static void by_id(struct input *in, struct request *r)
{
	static const uint32_t types[] = { VIRTIO_GPGPU_CMD_BUFFER_DESTROY, VIRTIO_GPGPU_CMD_MAP_DESTROY,
					  VIRTIO_GPGPU_CMD_MAP_FREEZE, VIRTIO_GPGPU_CMD_PROG_DESTROY,
					  VIRTIO_GPGPU_CMD_PROG_INFO };
	struct virtio_gpgpu_req_id *req = grow(r, sizeof(*req));

	req->hdr.ctx_id = context(in);
	req->id = id(in);
	set_type(r, types[input_byte(in) % 5]);
}

/* The maps that the programs of tests/bpf/vectors.c use, with ids 1 to 6, and one of each other kind of behaviour. */
static const struct virtio_gpgpu_req_map_create maps[] = {
	{ .map_type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_HASH, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_PERCPU_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_LPM_TRIE, .key_size = 8, .value_size = 4, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 64, .max_entries = 1 },
	{ .map_type = VIRTIO_GPGPU_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1,
	  .map_flags = VIRTIO_GPGPU_MAP_F_RDONLY_PROG },
	{ .map_type = VIRTIO_GPGPU_MAP_PROG_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS,
	  .key_size = 4,
	  .value_size = 4,
	  .max_entries = 4,
	  .inner = 1 },
	{ .map_type = VIRTIO_GPGPU_MAP_HASH_OF_MAPS,
	  .key_size = 4,
	  .value_size = 4,
	  .max_entries = 4,
	  .inner = 2 },
	{ .map_type = VIRTIO_GPGPU_MAP_RINGBUF, .max_entries = 4096 },
	{ .map_type = VIRTIO_GPGPU_MAP_QUEUE, .value_size = 8, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_BLOOM_FILTER, .value_size = 8, .max_entries = 4 },
	{ .map_type = VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH, .key_size = 4, .value_size = 8, .max_entries = 4 },
};
#define MAPS (sizeof(maps) / sizeof(maps[0]))

static uint32_t map_id(struct input *in)
{
	return (uint32_t)input_pick(in, 1, MAPS);
}

/* Of one of the maps above, as it travels: the device has two threads. */
static uint32_t value_bytes(uint32_t id)
{
	const struct virtio_gpgpu_req_map_create *map = &maps[id - 1];

	if (map->map_type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY ||
	    map->map_type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH)
		return 2 * ((map->value_size + 7) & ~7u);
	return map->value_size;
}

static void put_key(struct input *in, struct request *r, uint32_t size)
{
	uint8_t *key = grow(r, (size + 7) & ~7u);

	for (uint32_t i = 0; i < size; i++)
		key[i] = i < 4 && i ? 0 : input_byte(in);
}

static void put_value(struct input *in, struct request *r, uint32_t size)
{
	uint8_t *value = grow(r, (size + 7) & ~7u);

	/* Small numbers are ids of programs and maps. */
	for (uint32_t i = 0; i < size && i < 8; i++)
		value[i] = i && size == 4 ? 0 : input_byte(in) % (size == 4 ? 16 : 256);
}

static void map_create(struct input *in, struct request *r)
{
	struct virtio_gpgpu_req_map_create *req = grow(r, sizeof(*req));
	uint8_t change = input_byte(in);

	*req = maps[change % MAPS];
	req->id = (uint32_t)input_pick(in, change % MAPS + 1, 1);
	if (change >= 0xc0) {
		req->key_size = (uint32_t)input_pick(in, 4, 32);
		req->value_size = (uint32_t)input_pick(in, 1, 64);
		req->max_entries = (uint32_t)input_pick(in, 1, 100);
		req->map_flags = (uint32_t)input_pick(in, 0, 2);
		req->map_type = (uint32_t)input_pick(in, 1, 31);
		req->inner = (uint32_t)input_pick(in, 0, MAPS);
	}
	req->hdr.ctx_id = context(in);
	set_type(r, VIRTIO_GPGPU_CMD_MAP_CREATE);
}

static void map_op(struct input *in, struct request *r)
{
	static const uint32_t types[] = { VIRTIO_GPGPU_CMD_MAP_UPDATE, VIRTIO_GPGPU_CMD_MAP_LOOKUP,
					  VIRTIO_GPGPU_CMD_MAP_DELETE, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY,
					  VIRTIO_GPGPU_CMD_MAP_POP };
	struct virtio_gpgpu_req_map_op *req = grow(r, sizeof(*req));
	uint32_t type = types[input_byte(in) % 5];

	req->hdr.ctx_id = context(in);
	req->id = map_id(in);
	if (req->id - 1 < MAPS) {
		req->key_size = maps[req->id - 1].key_size;
		req->value_size = value_bytes(req->id);
		if (maps[req->id - 1].map_type == VIRTIO_GPGPU_MAP_BLOOM_FILTER &&
		    type == VIRTIO_GPGPU_CMD_MAP_LOOKUP)
			req->key_size = req->value_size;
	}
	if (type == VIRTIO_GPGPU_CMD_MAP_NEXT_KEY && !input_byte(in))
		req->key_size = 0;
	if (type != VIRTIO_GPGPU_CMD_MAP_UPDATE)
		req->value_size = 0;
	else
		req->op_flags = (uint32_t)input_pick(in, 0, 3);
	put_key(in, r, req->key_size);
	put_value(in, r, req->value_size);
	set_type(r, type);
}

/* Many entries, and records. */
static void map_bulk(struct input *in, struct request *r)
{
	uint32_t which = input_byte(in) % 3, map = map_id(in), ctx = context(in);
	bool usual = map - 1 < MAPS;

	if (which == 0) {
		struct virtio_gpgpu_req_map_dump *req = grow(r, sizeof(*req));

		req->hdr.ctx_id = ctx;
		req->id = map;
		req->max_entries = (uint32_t)input_pick(in, 0, 5);
		if (usual && input_byte(in) & 1) {
			req->key_size = maps[map - 1].key_size;
			put_key(in, r, req->key_size);
		}
		set_type(r, VIRTIO_GPGPU_CMD_MAP_DUMP);
	} else if (which == 1) {
		struct virtio_gpgpu_req_map_load *req = grow(r, sizeof(*req));
		uint32_t count = 1 + input_byte(in) % 4;

		req->hdr.ctx_id = ctx;
		req->id = map;
		req->count = (uint32_t)input_pick(in, count, 1);
		req->op_flags = (uint32_t)input_pick(in, 0, 3);
		for (uint32_t i = 0; usual && i < count; i++) {
			put_key(in, r, maps[map - 1].key_size);
			put_value(in, r, value_bytes(map));
		}
		set_type(r, VIRTIO_GPGPU_CMD_MAP_LOAD);
	} else {
		struct virtio_gpgpu_req_map_read *req = grow(r, sizeof(*req));

		req->hdr.ctx_id = ctx;
		req->id = map;
		req->max_bytes = (uint32_t)input_pick(in, 8, 200);
		set_type(r, VIRTIO_GPGPU_CMD_MAP_READ);
	}
}

static void prog_create(struct input *in, struct request *r, const struct world *world)
{
	struct virtio_gpgpu_req_prog_create *req = grow(r, sizeof(*req));

	req->hdr.ctx_id = context(in);
	req->id = id(in);
	req->kind = (uint32_t)input_pick(in, world->kind, 1);
	req->num_insns = (uint32_t)input_pick(in, world->num_insns, 1);
	/* Where fuzz_session.c puts programs. */
	req->insns_buffer = (uint32_t)input_pick(in, 1, 1);
	req->insns_offset = input_pick(in, 0, 1);
	if (req->kind == VIRTIO_GPGPU_PROG_GPGPU) {
		req->num_args = (uint32_t)input_pick(in, 3, 2);
		for (uint32_t i = 0; i < req->num_args && i < VIRTIO_GPGPU_MAX_ARGS; i++)
			req->arg_kind[i] = (uint8_t)(i % 3 == 0 ? 2 : i % 3 == 1 ? 3 : 1);
	}
	set_type(r, VIRTIO_GPGPU_CMD_PROG_CREATE);
}

/* The part that all jobs have; their header and own fields are there. Fences follow. */
static void job(struct input *in, struct request *r, uint64_t counter)
{
	struct virtio_gpgpu_job *j = (void *)(r->bytes + sizeof(struct virtio_gpgpu_req_hdr));
	struct virtio_gpgpu_fence *fence;

	((struct virtio_gpgpu_req_hdr *)r->bytes)->ctx_id = context(in);
	j->timeline = (uint32_t)input_pick(in, 0, 3);
	j->seq = input_pick(in, counter + 1, 1);
	j->num_fences = (uint32_t)input_pick(in, 0, 2);
	for (uint32_t i = 0; i < j->num_fences && i < VIRTIO_GPGPU_MAX_FENCES; i++) {
		fence = grow(r, sizeof(*fence));
		fence->ctx_id = context(in);
		fence->timeline = (uint32_t)input_pick(in, 0, 3);
		fence->seq = input_pick(in, counter > 4 ? counter - 4 : 1, 6);
	}
}

static void dispatch(struct input *in, struct request *r, uint64_t counter)
{
	struct virtio_gpgpu_req_dispatch *req = grow(r, sizeof(*req));
	struct virtio_gpgpu_arg *arg;

	req->prog = id(in);
	req->num_args = (uint32_t)input_pick(in, 3, 2);
	for (int i = 0; i < 3; i++) {
		req->grid[i] = (uint32_t)input_pick(in, 1, 20);
		req->group[i] = (uint32_t)input_pick(in, 1, 4);
	}
	job(in, r, counter);
	for (uint32_t i = 0; i < req->num_args && i < VIRTIO_GPGPU_MAX_ARGS; i++) {
		arg = grow(r, sizeof(*arg));
		arg->kind = i % 3 == 0 ? 2 : i % 3 == 1 ? 3 : 1;
		if (arg->kind != VIRTIO_GPGPU_ARG_VALUE) {
			arg->buffer = id(in);
			arg->size = input_pick(in, 64, 64);
			arg->value = input_pick(in, 0, 1);
		}
	}
	r->queue = GPGPU_QUEUE_COMPUTE;
	set_type(r, VIRTIO_GPGPU_CMD_DISPATCH);
}

static void copy(struct input *in, struct request *r, uint64_t counter)
{
	struct virtio_gpgpu_req_copy *req = grow(r, sizeof(*req));
	bool fill = input_byte(in) & 1;

	req->dst = id(in);
	req->src = fill ? 0 : id(in);
	req->dst_offset = input_pick(in, 0, 64) * 4;
	req->src_offset = fill ? 0 : input_pick(in, 0, 64) * 4;
	req->size = input_pick(in, 1, 64) * 4;
	req->pattern = fill ? 0x01020304 : 0;
	job(in, r, counter);
	r->queue = GPGPU_QUEUE_COMPUTE;
	set_type(r, fill ? VIRTIO_GPGPU_CMD_FILL : VIRTIO_GPGPU_CMD_COPY);
}

static void nop(struct input *in, struct request *r, uint64_t counter)
{
	grow(r, sizeof(struct virtio_gpgpu_req_nop));
	job(in, r, counter);
	r->queue = GPGPU_QUEUE_COMPUTE;
	set_type(r, VIRTIO_GPGPU_CMD_NOP);
}

static void packets(struct input *in, struct request *r, uint64_t counter)
{
	struct virtio_gpgpu_req_packets *req = grow(r, sizeof(*req));
	struct virtio_gpgpu_packet_desc *desc;

	req->prog = id(in);
	req->num_packets = (uint32_t)input_pick(in, 1, 64);
	req->buffer = id(in);
	req->stride = (uint32_t)input_pick(in, 4, 4) * 64;
	req->offset = input_pick(in, 0, 4) * 64;
	req->hdr.flags = (uint32_t)input_pick(in, 0, 3);
	job(in, r, counter);
	for (uint32_t i = 0; i < req->num_packets && i < VIRTIO_GPGPU_MAX_BATCH; i++) {
		desc = grow(r, sizeof(*desc));
		desc->data_off = 64;
		desc->data_len = 64;
		desc->meta_len = 8;
		if (i >= 8)
			continue;
		desc->data_off = (uint32_t)input_pick(in, 64, 32);
		desc->data_len = (uint32_t)input_pick(in, 64, 64);
	}
	r->queue = GPGPU_QUEUE_PACKET;
	set_type(r, VIRTIO_GPGPU_CMD_PACKETS);
}

static void job_cancel(struct input *in, struct request *r, uint64_t counter)
{
	struct virtio_gpgpu_req_job_cancel *req = grow(r, sizeof(*req));

	req->hdr.ctx_id = context(in);
	req->timeline = (uint32_t)input_pick(in, 0, 3);
	req->seq = input_pick(in, counter > 3 ? counter - 3 : 1, 4);
	set_type(r, VIRTIO_GPGPU_CMD_JOB_CANCEL);
}

static void get_caps(struct input *in, struct request *r)
{
	struct virtio_gpgpu_req_caps *req = grow(r, sizeof(*req));

	req->version = (uint32_t)input_pick(in, 1, 1);
	req->hdr.ctx_id = context(in);
	set_type(r, VIRTIO_GPGPU_CMD_GET_CAPS);
}

static void get_stats(struct input *in, struct request *r)
{
	grow(r, sizeof(struct virtio_gpgpu_req_hdr));
	set_type(r, VIRTIO_GPGPU_CMD_GET_STATS);
}

/* Any bytes at all. */
static void raw(struct input *in, struct request *r)
{
	uint32_t size = input_byte(in);
	uint8_t *at = grow(r, size);

	for (uint32_t i = 0; i < size; i++)
		at[i] = input_byte(in);
	r->queue = input_byte(in) % 3;
}

/* Often used kinds come more often. */
enum {
	CTX,
	ATTACH,
	BUFFER,
	BUFFER2,
	BY_ID,
	MAP,
	MAP2,
	MAP_OP,
	MAP_OP2,
	MAP_BULK,
	PROG,
	PROG2,
	DISPATCH,
	DISPATCH2,
	COPY,
	NOP,
	PACKETS,
	PACKETS2,
	CANCEL,
	CAPS,
	STATS,
	RAW,
	KINDS
};

static void make(struct input *in, uint8_t which, const struct world *world, struct request *r)
{
	uint64_t counter = world->counter;

	switch (which % KINDS) {
	case CTX:
		ctx_create(in, r);
		return;
	case ATTACH:
		ctx_attach(in, r);
		return;
	case BUFFER:
	case BUFFER2:
		buffer_create(in, r);
		return;
	case BY_ID:
		by_id(in, r);
		return;
	case MAP:
	case MAP2:
		map_create(in, r);
		return;
	case MAP_OP:
	case MAP_OP2:
		map_op(in, r);
		return;
	case MAP_BULK:
		map_bulk(in, r);
		return;
	case PROG:
	case PROG2:
		prog_create(in, r, world);
		return;
	case DISPATCH:
	case DISPATCH2:
		dispatch(in, r, counter);
		return;
	case COPY:
		copy(in, r, counter);
		return;
	case NOP:
		nop(in, r, counter);
		return;
	case PACKETS:
	case PACKETS2:
		packets(in, r, counter);
		return;
	case CANCEL:
		job_cancel(in, r, counter);
		return;
	case CAPS:
		get_caps(in, r);
		return;
	case STATS:
		get_stats(in, r);
		return;
	default:
		raw(in, r);
	}
}

/* Lies about a request that was well formed so far. */
static void distort(struct input *in, struct request *r)
{
	uint8_t how = input_byte(in);

	switch (how & 7) {
	case 0:
		r->queue = (how >> 3) % 3;
		return;
	case 1:
		r->capacity = (size_t)input_strange(in) % 1024;
		return;
	case 2:
		r->length = (size_t)input_strange(in) % (r->length + 1);
		return;
	case 3:
		if (r->length + 64 < FUZZ_MAX)
			grow(r, how >> 3);
		return;
	default:
		for (int i = 0; i < 1 + (how & 3) && r->length; i++) {
			size_t at = (size_t)input_bytes(in, 2) % r->length;

			r->bytes[at] = input_byte(in);
		}
	}
}

void request_make(struct input *in, uint8_t which, const struct world *world, struct request *r)
{
	struct virtio_gpgpu_req_hdr *hdr = (void *)r->bytes;

	r->queue = GPGPU_QUEUE_CONTROL;
	r->length = 0;
	r->capacity = FUZZ_MAX;
	make(in, which, world, r);
	if (which % KINDS != RAW) {
		hdr->length = (uint32_t)r->length;
		hdr->cookie = world->counter;
	}
	if (input_byte(in) >= 0xd0)
		distort(in, r);
}
