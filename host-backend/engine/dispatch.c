/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dispatch.c - job commands: what they name is looked up and checked here, once, so that running them
 * needs no more checks.
 *
 * A handler makes the job (job.c checks timeline and fences), fills in what runs, and submits it. Whatever
 * fails before that leaves nothing behind: the job is dropped and with it the references it took.
 *
 * Threads: under the session's lock.
 */
#include <linux/if_ether.h>
#include <string.h>
#include "engine.h"
#include "job.h"

#define MAX_ITEMS      (1ull << 40)
#define MAX_FLOW_PARTS 4096u /* of a GPU: more than flows in most batches */
#define TAIL_LENGTH    GP_ERR(INVALID, LENGTH, offsetof(struct virtio_gpgpu_req_hdr, length))

static size_t fences_bytes(const struct virtio_gpgpu_job *job)
{
	return job->num_fences * sizeof(struct virtio_gpgpu_fence);
}

/* The guest's shared memory that a job writes must be marked dirty by whoever migrates it. */
static void add_range(struct gp_request *req, const struct gp_buffer *buffer, uint64_t offset, uint64_t size)
{
	if (buffer->mem != VIRTIO_GPGPU_MEM_SHM)
		return;
	req->ranges[req->num_ranges++] = (struct gpgpu_range){
		.offset = buffer->offset + offset,
		.size = size,
	};
}

/* Looks up a buffer and keeps it for the job. */
static struct gp_result use_buffer(struct gp_job *job, uint32_t id, struct gp_buffer **out)
{
	struct gp_object *object;
	struct gp_result result =
		gp_object_find(job->session, VIRTIO_GPGPU_OBJ_BUFFER, id, job->ctx->id, &object);

	if (result.status)
		return result;
	gp_job_use(job, object);
	*out = (struct gp_buffer *)object;
	return GP_OK;
}

static struct gp_result use_program(struct gp_job *job, uint32_t id, uint32_t kind)
{
	struct gp_object *object;
	struct gp_result result =
		gp_object_find(job->session, VIRTIO_GPGPU_OBJ_PROG, id, job->ctx->id, &object);
	struct gp_program *prog = (struct gp_program *)object;

	if (result.status)
		return result;
	if (!prog->image)
		return GP_ERR(BUSY, PROG, id);
	if (prog->kind != kind)
		return GP_ERR(INVALID, KIND, prog->kind);
	gp_job_use(job, object);
	gp_program_env(prog, &job->env);
	job->env.inner = job->session->inner;
	job->env.num_inner = job->session->inner ? GP_MAX_INNER : 0;
	job->env.fuel = job->session->limits.fuel;
	return GP_OK;
}

/* product() - of three sizes, 0 if one is 0 or the product is over @limit. Cannot overflow. */
static uint64_t product(const __le32 size[3], uint64_t limit)
{
	uint64_t n = size[0];

	for (int i = 1; i < 3; i++) {
		if (size[i] && n > limit / size[i])
			return 0;
		n *= size[i];
	}
	return n > limit ? 0 : n;
}

static struct gp_result use_argument(struct gp_job *job, uint32_t n, const struct virtio_gpgpu_arg *arg)
{
	struct gp_result bad = GP_ERR(INVALID, ARGUMENT, n);
	struct gp_buffer *buffer;
	struct gp_result result;

	if (arg->kind != job->prog->arg_kind[n])
		return bad;
	if (arg->kind == VIRTIO_GPGPU_ARG_VALUE) {
		if (arg->buffer || arg->size)
			return bad;
		job->arg_values[n] = arg->value;
		return GP_OK;
	}
	result = use_buffer(job, arg->buffer, &buffer);
	if (result.status)
		return result;
	if (arg->value % 8 || !arg->size || !gp_range_ok(arg->value, arg->size, buffer->size))
		return bad;
	job->args[n] = (struct gp_region){
		.base = buffer->base + arg->value,
		.size = arg->size,
		.writable = arg->kind == VIRTIO_GPGPU_ARG_BUFFER,
	};
	if (job->args[n].writable)
		add_range(job->req, buffer, arg->value, arg->size);
	return GP_OK;
}

/* Group programs run group by group, and only whole ones. */
static struct gp_result whole_groups(struct gp_job *job, const struct virtio_gpgpu_req_dispatch *r)
{
	for (int i = 0; i < 3; i++) {
		if (r->grid[i] % r->group[i])
			return GP_ERR(INVALID, SIZE, offsetof(struct virtio_gpgpu_req_dispatch, group));
		job->items /= r->group[i];
	}
	return GP_OK;
}

static struct gp_result fill_dispatch(struct gp_job *job, const struct virtio_gpgpu_req_dispatch *r)
{
	const struct virtio_gpgpu_arg *args =
		(const void *)((const uint8_t *)(r + 1) + fences_bytes(&r->job));
	struct gp_result result;

	if (r->num_args > VIRTIO_GPGPU_MAX_ARGS)
		return GP_ERR(INVALID, COUNT, r->num_args);
	if (job->req->length != sizeof(*r) + fences_bytes(&r->job) + r->num_args * sizeof(*args))
		return TAIL_LENGTH;
	job->items = product(r->grid, MAX_ITEMS);
	if (!job->items)
		return GP_ERR(INVALID, SIZE, offsetof(struct virtio_gpgpu_req_dispatch, grid));
	if (!product(r->group, GP_MAX_GROUP))
		return GP_ERR(INVALID, SIZE, offsetof(struct virtio_gpgpu_req_dispatch, group));
	result = use_program(job, r->prog, VIRTIO_GPGPU_PROG_GPGPU);
	if (result.status)
		return result;
	if (r->num_args != job->prog->num_args)
		return GP_ERR(INVALID, COUNT, r->num_args);
	for (uint32_t i = 0; i < r->num_args; i++) {
		result = use_argument(job, i, &args[i]);
		if (result.status)
			return result;
	}
	if (job->prog->grouped) {
		result = whole_groups(job, r);
		if (result.status)
			return result;
	}
	for (int i = 0; i < 3; i++) {
		job->grid.size[i] = r->grid[i];
		job->grid.group[i] = r->group[i];
	}
	job->env.args = job->args;
	job->env.arg_values = job->arg_values;
	job->env.num_args = r->num_args;
	return GP_OK;
}

static bool overlap(const uint8_t *a, const uint8_t *b, uint64_t size)
{
	return a < b + size && b < a + size;
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_copy, member)

static struct gp_result fill_copy(struct gp_job *job, const struct virtio_gpgpu_req_copy *r)
{
	struct gp_buffer *dst, *src;
	struct gp_result result;

	if (job->req->length != sizeof(*r) + fences_bytes(&r->job))
		return TAIL_LENGTH;
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, OFF(reserved));
	if (!r->size)
		return GP_ERR(INVALID, SIZE, 0);
	if (job->type == VIRTIO_GPGPU_CMD_FILL) {
		if (r->src)
			return GP_ERR(INVALID, RESERVED, OFF(src));
		if (r->src_offset)
			return GP_ERR(INVALID, RESERVED, OFF(src_offset));
		if (r->size % sizeof(r->pattern))
			return GP_ERR(INVALID, ALIGN, OFF(size));
		if (r->dst_offset % sizeof(r->pattern))
			return GP_ERR(INVALID, ALIGN, OFF(dst_offset));
	} else if (r->pattern) {
		return GP_ERR(INVALID, RESERVED, OFF(pattern));
	}
	result = use_buffer(job, r->dst, &dst);
	if (result.status)
		return result;
	if (!gp_range_ok(r->dst_offset, r->size, dst->size))
		return GP_ERR(INVALID, RANGE, OFF(dst_offset));
	job->dst = dst->base + r->dst_offset;
	job->size = r->size;
	job->pattern = r->pattern;
	job->items = (r->size + GP_COPY_ITEM - 1) / GP_COPY_ITEM;
	add_range(job->req, dst, r->dst_offset, r->size);
	if (job->type == VIRTIO_GPGPU_CMD_FILL)
		return GP_OK;

	result = use_buffer(job, r->src, &src);
	if (result.status)
		return result;
	if (!gp_range_ok(r->src_offset, r->size, src->size))
		return GP_ERR(INVALID, RANGE, OFF(src_offset));
	job->src = src->base + r->src_offset;
	/* Blocks are copied by several threads at once, so there is no order in which it would work. */
	if (overlap(job->dst, job->src, r->size))
		return GP_ERR(INVALID, RANGE, OFF(src_offset));
	return GP_OK;
}

static struct gp_result fill_nop(struct gp_job *job, const struct virtio_gpgpu_req_nop *r)
{
	return job->req->length != sizeof(*r) + fences_bytes(&r->job) ? TAIL_LENGTH : GP_OK;
}

static bool packet_ok(const struct gp_packet_in *in, uint32_t stride)
{
	return in->data_off <= stride && in->data_len <= stride - in->data_off && in->data_len >= ETH_HLEN &&
	       in->meta_len <= in->data_off && in->meta_len <= 252 && in->meta_len % 4 == 0;
}

_Static_assert(sizeof(struct gp_packet_in) == sizeof(struct virtio_gpgpu_packet_desc) &&
		       sizeof(struct gp_packet_out) == sizeof(struct virtio_gpgpu_packet_result) &&
		       offsetof(struct gp_packet_in, ingress_port) ==
			       offsetof(struct virtio_gpgpu_packet_desc, ingress_port) &&
		       offsetof(struct gp_packet_out, fault_insn) ==
			       offsetof(struct virtio_gpgpu_packet_result, fault_insn),
	       "generated code reads descriptors and writes results in place");

#undef OFF
#define OFF(member) offsetof(struct virtio_gpgpu_req_packets, member)

/* As many as may run at once; each of their lanes has a CPU of its own where that matters. */
static uint32_t flow_parts(const struct gp_job *job)
{
	const struct gpgpu_engine *engine = job->session->engine;

	if (!engine->lanes || job->prog->per_cpu)
		return engine->cpus;
	return (uint32_t)MIN(engine->lanes, MAX_FLOW_PARTS);
}

static struct gp_result fill_packets(struct gp_job *job, const struct virtio_gpgpu_req_packets *r)
{
	const struct gpgpu_limits *limits = &job->session->limits;
	struct virtio_gpgpu_resp_packets *resp;
	struct gp_buffer *buffer;
	struct gp_result result;
	uint64_t span;
	size_t length;

	if (r->hdr.flags == (VIRTIO_GPGPU_PACKETS_ORDER_FLOW | VIRTIO_GPGPU_PACKETS_ORDER_ALL))
		return GP_ERR(INVALID, FLAGS, r->hdr.flags);
	if (!r->num_packets || r->num_packets > limits->max_batch)
		return GP_ERR(INVALID, COUNT, r->num_packets);
	if (job->req->length !=
	    sizeof(*r) + fences_bytes(&r->job) + r->num_packets * sizeof(struct virtio_gpgpu_packet_desc))
		return TAIL_LENGTH;
	if (!r->stride || r->stride > limits->max_stride)
		return GP_ERR(INVALID, SIZE, r->stride);
	if (r->stride % 64)
		return GP_ERR(INVALID, ALIGN, OFF(stride));
	if (r->offset % 64)
		return GP_ERR(INVALID, ALIGN, OFF(offset));
	length = sizeof(*resp) + r->num_packets * sizeof(struct virtio_gpgpu_packet_result);
	if (job->req->capacity < length)
		return GP_ERR(INVALID, RESPONSE_SPACE, length);
	result = use_program(job, r->prog, VIRTIO_GPGPU_PROG_XDP);
	if (result.status)
		return result;
	result = use_buffer(job, r->buffer, &buffer);
	if (result.status)
		return result;
	span = (uint64_t)r->num_packets * r->stride;
	if (!gp_range_ok(r->offset, span, buffer->size))
		return GP_ERR(INVALID, RANGE, OFF(offset));
	job->in = (const void *)((const uint8_t *)(r + 1) + fences_bytes(&r->job));
	for (uint32_t i = 0; i < r->num_packets; i++)
		if (!packet_ok(&job->in[i], r->stride))
			return GP_ERR(INVALID, PACKET, i);

	job->items = r->num_packets;
	job->env.slots = buffer->base + r->offset;
	job->env.stride = r->stride;
	resp = gp_response(job->req, length);
	job->out = (struct gp_packet_out *)(resp + 1);
	add_range(job->req, buffer, r->offset, span);
	if (r->hdr.flags & VIRTIO_GPGPU_PACKETS_ORDER_FLOW) {
		gp_flow_split(job, flow_parts(job));
	} else if (r->hdr.flags & VIRTIO_GPGPU_PACKETS_ORDER_ALL) {
		job->parts = g_new0(struct gp_part, 1);
		job->parts[0].end = r->num_packets;
		job->num_parts = 1;
	}
	return GP_OK;
}

static struct gp_result submit(struct gp_job *job, struct gp_result result, struct list *done)
{
	struct gpgpu_session *s = job->session;

	job->bytes = job->req->length + job->req->response_length;
	if (!result.status && job->bytes > GP_MAX_JOB_BYTES - s->job_bytes) {
		gp_response_drop(job->req);
		result = GP_ERR(LIMIT, JOB_LIMIT, GP_MAX_JOB_BYTES);
	}
	if (!result.status)
		return gp_job_submit(job, done);
	job->req->num_ranges = 0;
	gp_job_drop(job);
	return result;
}

struct gp_result gp_cmd_dispatch(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				 struct list *done)
{
	struct gp_job *job;
	struct gp_result result = gp_job_new(s, ctx, req, sizeof(struct virtio_gpgpu_req_dispatch), &job);

	if (result.status)
		return result;
	return submit(job, fill_dispatch(job, (const void *)req->bytes), done);
}

struct gp_result gp_cmd_copy(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
			     struct list *done)
{
	struct gp_job *job;
	struct gp_result result = gp_job_new(s, ctx, req, sizeof(struct virtio_gpgpu_req_copy), &job);

	if (result.status)
		return result;
	return submit(job, fill_copy(job, (const void *)req->bytes), done);
}

struct gp_result gp_cmd_nop(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
			    struct list *done)
{
	struct gp_job *job;
	struct gp_result result = gp_job_new(s, ctx, req, sizeof(struct virtio_gpgpu_req_nop), &job);

	if (result.status)
		return result;
	return submit(job, fill_nop(job, (const void *)req->bytes), done);
}

struct gp_result gp_cmd_packets(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				struct list *done)
{
	struct gp_job *job;
	struct gp_result result = gp_job_new(s, ctx, req, sizeof(struct virtio_gpgpu_req_packets), &job);

	if (result.status)
		return result;
	return submit(job, fill_packets(job, (const void *)req->bytes), done);
}
