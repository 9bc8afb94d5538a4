/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_requests.c - one function per command: fill in a request, hand it in.
 */
#include <stdlib.h>
#include <string.h>
#include "wire_internal.h"

#define CAPACITY (128u << 10)

void wire_hdr(void *request, uint32_t type, uint32_t ctx, size_t length)
{
	struct virtio_gpgpu_req_hdr *hdr = request;

	hdr->type = type;
	hdr->ctx_id = ctx;
	hdr->length = (uint32_t)length;
	hdr->cookie = 0xc00c1e0000000000ull | type;
}

static uint32_t control(struct wire_client *c, void *request, uint32_t type, uint32_t ctx, size_t length,
			size_t capacity, struct wire_answer **out)
{
	struct wire_answer *a;
	uint32_t status;

	wire_hdr(request, type, ctx, length);
	a = wire_call(c, GPGPU_QUEUE_CONTROL, request, length, capacity);
	status = a->status;
	if (out)
		*out = a;
	else
		wire_answer_free(a);
	return status;
}

uint32_t wire_simple(struct wire_client *c, uint32_t type, uint32_t ctx, struct wire_answer **a)
{
	struct virtio_gpgpu_req_hdr r = { 0 };

	return control(c, &r, type, ctx, sizeof(r), CAPACITY, a);
}

uint32_t wire_id(struct wire_client *c, uint32_t type, uint32_t ctx, uint32_t id, struct wire_answer **a)
{
	struct virtio_gpgpu_req_id r = { .id = id };

	return control(c, &r, type, ctx, sizeof(r), CAPACITY, a);
}

uint32_t wire_caps(struct wire_client *c, struct virtio_gpgpu_caps *caps)
{
	struct virtio_gpgpu_req_caps r = { .version = VIRTIO_GPGPU_CAPS_VERSION };
	struct wire_answer *a;
	uint32_t status = control(c, &r, VIRTIO_GPGPU_CMD_GET_CAPS, 0, sizeof(r), CAPACITY, &a);

	*caps = a->resp->caps.caps;
	wire_answer_free(a);
	return status;
}

uint32_t wire_stats(struct wire_client *c, struct virtio_gpgpu_resp_stats *stats)
{
	struct wire_answer *a;
	uint32_t status = wire_simple(c, VIRTIO_GPGPU_CMD_GET_STATS, 0, &a);

	*stats = a->resp->stats;
	wire_answer_free(a);
	return status;
}

uint32_t wire_attach(struct wire_client *c, bool attach, uint32_t ctx, uint32_t object, uint32_t id)
{
	struct virtio_gpgpu_req_ctx_attach r = { .object = object, .id = id };

	return control(c, &r, attach ? VIRTIO_GPGPU_CMD_CTX_ATTACH : VIRTIO_GPGPU_CMD_CTX_DETACH, ctx,
		       sizeof(r), CAPACITY, NULL);
}

uint32_t wire_buffer(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t mem, uint64_t offset,
		     uint64_t size)
{
	struct virtio_gpgpu_req_buffer_create r = { .id = id, .mem = mem, .offset = offset, .size = size };

	return control(c, &r, VIRTIO_GPGPU_CMD_BUFFER_CREATE, ctx, sizeof(r), CAPACITY, NULL);
}

static uint32_t make_map(struct wire_client *c, uint32_t ctx, struct virtio_gpgpu_req_map_create r)
{
	memcpy(r.name, "test", 4);
	return control(c, &r, VIRTIO_GPGPU_CMD_MAP_CREATE, ctx, sizeof(r), CAPACITY, NULL);
}

uint32_t wire_map(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t type, uint32_t key_size,
		  uint32_t value_size, uint32_t max_entries, uint32_t flags)
{
	return make_map(c, ctx,
			(struct virtio_gpgpu_req_map_create){
				.id = id,
				.map_type = type,
				.key_size = key_size,
				.value_size = value_size,
				.max_entries = max_entries,
				.map_flags = flags,
			});
}

uint32_t wire_map_of(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t type, uint32_t key_size,
		     uint32_t max_entries, uint32_t inner)
{
	return make_map(c, ctx,
			(struct virtio_gpgpu_req_map_create){
				.id = id,
				.map_type = type,
				.key_size = key_size,
				.value_size = 4,
				.max_entries = max_entries,
				.inner = inner,
			});
}

static size_t pad8(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

uint32_t wire_map_op(struct wire_client *c, uint32_t type, uint32_t ctx, uint32_t id, const void *key,
		     uint32_t key_size, const void *value, uint32_t value_size, uint32_t flags,
		     struct wire_answer **a)
{
	size_t length = sizeof(struct virtio_gpgpu_req_map_op) + pad8(key ? key_size : 0) + pad8(value_size);
	struct virtio_gpgpu_req_map_op *r = calloc(1, length);
	uint8_t *at = (uint8_t *)(r + 1);
	uint32_t status;

	r->id = id;
	r->op_flags = flags;
	if (key) {
		r->key_size = key_size;
		memcpy(at, key, key_size);
		at += pad8(key_size);
	}
	r->value_size = value_size;
	if (value_size)
		memcpy(at, value, value_size);
	status = control(c, r, type, ctx, length, CAPACITY, a);
	free(r);
	return status;
}

uint32_t wire_prog(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t kind, const void *insns,
		   uint32_t num_insns, uint32_t buffer, uint64_t in_buffer, uint64_t offset,
		   const uint8_t *arg_kind, uint32_t num_args, struct wire_answer **a)
{
	struct virtio_gpgpu_req_prog_create r = {
		.id = id,
		.kind = kind,
		.num_insns = num_insns,
		.insns_buffer = buffer,
		.num_args = num_args,
		.insns_offset = in_buffer,
		.name = "test",
	};

	if (num_args)
		memcpy(r.arg_kind, arg_kind, num_args);
	memcpy(c->shm + offset, insns, num_insns * 8ul);
	return control(c, &r, VIRTIO_GPGPU_CMD_PROG_CREATE, ctx, sizeof(r), CAPACITY, a);
}

/* A job request: @fixed bytes at @request, the fences, @tail bytes. */
static uint64_t job(struct wire_client *c, enum gpgpu_queue_kind queue, void *request, size_t fixed,
		    uint32_t type, uint32_t ctx, struct wire_point at, const void *tail, size_t tail_size,
		    size_t capacity)
{
	size_t fences = at.num_fences * sizeof(struct virtio_gpgpu_fence);
	size_t length = fixed + fences + tail_size;
	uint8_t *bytes = calloc(1, length);
	struct virtio_gpgpu_job *j = (void *)((uint8_t *)request + sizeof(struct virtio_gpgpu_req_hdr));
	uint64_t ticket;

	j->timeline = at.timeline;
	j->num_fences = at.num_fences;
	j->seq = at.seq;
	wire_hdr(request, type, ctx, length);
	memcpy(bytes, request, fixed);
	if (fences)
		memcpy(bytes + fixed, at.fences, fences);
	if (tail_size)
		memcpy(bytes + fixed + fences, tail, tail_size);
	ticket = wire_submit(c, queue, bytes, length, capacity);
	free(bytes);
	return ticket;
}

uint64_t wire_nop(struct wire_client *c, uint32_t ctx, struct wire_point at)
{
	struct virtio_gpgpu_req_nop r = { 0 };

	return job(c, GPGPU_QUEUE_COMPUTE, &r, sizeof(r), VIRTIO_GPGPU_CMD_NOP, ctx, at, NULL, 0, CAPACITY);
}

uint64_t wire_copy(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t dst,
		   uint64_t dst_offset, uint32_t src, uint64_t src_offset, uint64_t size)
{
	struct virtio_gpgpu_req_copy r = {
		.dst = dst,
		.src = src,
		.dst_offset = dst_offset,
		.src_offset = src_offset,
		.size = size,
	};

	return job(c, GPGPU_QUEUE_COMPUTE, &r, sizeof(r), VIRTIO_GPGPU_CMD_COPY, ctx, at, NULL, 0, CAPACITY);
}

uint64_t wire_fill(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t dst,
		   uint64_t dst_offset, uint64_t size, uint32_t pattern)
{
	struct virtio_gpgpu_req_copy r = {
		.dst = dst,
		.dst_offset = dst_offset,
		.size = size,
		.pattern = pattern,
	};

	return job(c, GPGPU_QUEUE_COMPUTE, &r, sizeof(r), VIRTIO_GPGPU_CMD_FILL, ctx, at, NULL, 0, CAPACITY);
}

uint64_t wire_dispatch(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t prog,
		       const uint32_t grid[3], const uint32_t group[3], const struct virtio_gpgpu_arg *args,
		       uint32_t num_args)
{
	struct virtio_gpgpu_req_dispatch r = { .prog = prog, .num_args = num_args };

	for (int i = 0; i < 3; i++) {
		r.grid[i] = grid[i];
		r.group[i] = group[i];
	}
	return job(c, GPGPU_QUEUE_COMPUTE, &r, sizeof(r), VIRTIO_GPGPU_CMD_DISPATCH, ctx, at, args,
		   num_args * sizeof(*args), CAPACITY);
}

uint64_t wire_packets(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t flags,
		      uint32_t prog, uint32_t buffer, uint64_t offset, uint32_t stride,
		      const struct virtio_gpgpu_packet_desc *descs, uint32_t num_packets)
{
	struct virtio_gpgpu_req_packets r = {
		.hdr.flags = flags,
		.prog = prog,
		.num_packets = num_packets,
		.buffer = buffer,
		.stride = stride,
		.offset = offset,
	};
	size_t capacity = sizeof(struct virtio_gpgpu_resp_packets) +
			  num_packets * sizeof(struct virtio_gpgpu_packet_result);

	return job(c, GPGPU_QUEUE_PACKET, &r, sizeof(r), VIRTIO_GPGPU_CMD_PACKETS, ctx, at, descs,
		   num_packets * sizeof(*descs), capacity);
}
