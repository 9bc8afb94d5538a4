/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.c - requests: the copy, the checks that all commands share, the table of commands, the answers.
 *
 * How it works: a request is copied once, as it comes in, and only the copy is read. One row of the table
 * per command says which queue takes it, how long it may be, which flags and feature it knows and how
 * much room its response needs; one function checks all of that, so that a handler can cast the copy to the
 * command's structure and look at nothing but its own fields. A handler returns what it found, or
 * GP_PENDING when a job or a compile will answer later.
 *
 * Answers are built in zeroed memory, so that no byte of the host's leaves with one.
 *
 * Threads: any; gp_execute() under the session's lock.
 */
#include <endian.h>
#include <string.h>
#include "engine.h"
#include "job.h"

/* Requests and packet descriptors are read in place, and generated code reads them too. */
_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "the wire format is little endian, and so is the engine");

struct command {
	uint32_t type;
	enum gpgpu_queue_kind queue;
	uint32_t flags; /* that the header may have */
	uint32_t size;  /* of the request, header included */
	uint32_t max;  /* the same if 0, otherwise it may be as long as this */
	uint32_t response; /* bytes of room needed, at least */
	uint64_t features;
	bool no_context; /* hdr.ctx_id need not exist */
	gp_handler *handler;
};

#define HDR	       sizeof(struct virtio_gpgpu_req_hdr)
#define RESP	       sizeof(struct virtio_gpgpu_resp_hdr)
#define REQ(type)      sizeof(struct virtio_gpgpu_req_##type)
#define CONTROL	       GPGPU_QUEUE_CONTROL
#define COMPUTE	       GPGPU_QUEUE_COMPUTE
#define PACKET	       GPGPU_QUEUE_PACKET
#define MAX_OP	       GP_MAX_REQUEST
#define FENCES	       (VIRTIO_GPGPU_MAX_FENCES * sizeof(struct virtio_gpgpu_fence))
#define ARGS	       (VIRTIO_GPGPU_MAX_ARGS * sizeof(struct virtio_gpgpu_arg))
#define DESCS	       (VIRTIO_GPGPU_MAX_BATCH * sizeof(struct virtio_gpgpu_packet_desc))
#define ORDER	       (VIRTIO_GPGPU_PACKETS_ORDER_FLOW | VIRTIO_GPGPU_PACKETS_ORDER_ALL)

#define CMD(n, q, ...) { .type = VIRTIO_GPGPU_CMD_##n, .queue = q, .response = RESP, __VA_ARGS__ }

/* A row may set .response once more. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif
static const struct command commands[] = {
	CMD(GET_CAPS, CONTROL, .size = REQ(caps), .response = sizeof(struct virtio_gpgpu_resp_caps),
	    .handler = gp_cmd_get_caps),
	CMD(GET_STATS, CONTROL, .size = HDR, .response = sizeof(struct virtio_gpgpu_resp_stats),
	    .handler = gp_cmd_get_stats),
	CMD(CTX_CREATE, CONTROL, .size = HDR, .no_context = true, .handler = gp_cmd_ctx_create),
	CMD(CTX_DESTROY, CONTROL, .size = HDR, .handler = gp_cmd_ctx_destroy),
	CMD(CTX_ATTACH, CONTROL, .size = REQ(ctx_attach), .handler = gp_cmd_ctx_attach),
	CMD(CTX_DETACH, CONTROL, .size = REQ(ctx_attach), .handler = gp_cmd_ctx_detach),
	CMD(BUFFER_CREATE, CONTROL, .size = REQ(buffer_create), .handler = gp_cmd_buffer_create),
	CMD(BUFFER_DESTROY, CONTROL, .size = REQ(id), .handler = gp_cmd_buffer_destroy),
	CMD(MAP_CREATE, CONTROL, .size = REQ(map_create), .handler = gp_cmd_map_create),
	CMD(MAP_DESTROY, CONTROL, .size = REQ(id), .handler = gp_cmd_map_destroy),
	CMD(MAP_FREEZE, CONTROL, .size = REQ(id), .handler = gp_cmd_map_freeze),
	CMD(MAP_LOOKUP, CONTROL, .size = REQ(map_op), .max = MAX_OP,
	    .response = sizeof(struct virtio_gpgpu_resp_map_op), .handler = gp_cmd_map_op),
	CMD(MAP_UPDATE, CONTROL, .size = REQ(map_op), .max = MAX_OP, .handler = gp_cmd_map_op),
	CMD(MAP_DELETE, CONTROL, .size = REQ(map_op), .max = MAX_OP, .handler = gp_cmd_map_op),
	CMD(MAP_NEXT_KEY, CONTROL, .size = REQ(map_op), .max = MAX_OP,
	    .response = sizeof(struct virtio_gpgpu_resp_map_op), .handler = gp_cmd_map_op),
	CMD(MAP_POP, CONTROL, .size = REQ(map_op), .max = MAX_OP,
	    .response = sizeof(struct virtio_gpgpu_resp_map_op), .handler = gp_cmd_map_op),
	CMD(MAP_READ, CONTROL, .size = REQ(map_read), .response = sizeof(struct virtio_gpgpu_resp_map_read),
	    .handler = gp_cmd_map_read),
	CMD(MAP_DUMP, CONTROL, .size = REQ(map_dump), .max = REQ(map_dump) + VIRTIO_GPGPU_MAX_KEY,
	    .response = sizeof(struct virtio_gpgpu_resp_map_dump), .handler = gp_cmd_map_dump),
	CMD(MAP_LOAD, CONTROL, .size = REQ(map_load), .max = MAX_OP,
	    .response = sizeof(struct virtio_gpgpu_resp_map_load), .handler = gp_cmd_map_load),
	CMD(PROG_CREATE, CONTROL, .size = REQ(prog_create), .response = sizeof(struct virtio_gpgpu_resp_prog),
	    .handler = gp_cmd_prog_create),
	CMD(PROG_DESTROY, CONTROL, .size = REQ(id), .handler = gp_cmd_prog_destroy),
	CMD(PROG_INFO, CONTROL, .size = REQ(id), .response = sizeof(struct virtio_gpgpu_resp_prog),
	    .handler = gp_cmd_prog_info),
	CMD(JOB_CANCEL, CONTROL, .size = REQ(job_cancel), .handler = gp_cmd_job_cancel),
	CMD(DISPATCH, COMPUTE, .size = REQ(dispatch), .max = REQ(dispatch) + FENCES + ARGS,
	    .response = sizeof(struct virtio_gpgpu_resp_job), .handler = gp_cmd_dispatch),
	CMD(COPY, COMPUTE, .size = REQ(copy), .max = REQ(copy) + FENCES,
	    .response = sizeof(struct virtio_gpgpu_resp_job), .handler = gp_cmd_copy),
	CMD(FILL, COMPUTE, .size = REQ(copy), .max = REQ(copy) + FENCES,
	    .response = sizeof(struct virtio_gpgpu_resp_job), .handler = gp_cmd_copy),
	CMD(NOP, COMPUTE, .size = REQ(nop), .max = REQ(nop) + FENCES,
	    .response = sizeof(struct virtio_gpgpu_resp_job), .handler = gp_cmd_nop),
	CMD(PACKETS, PACKET, .flags = ORDER, .size = REQ(packets), .max = REQ(packets) + FENCES + DESCS,
	    .response = sizeof(struct virtio_gpgpu_resp_packets), .features = 1 << VIRTIO_GPGPU_F_PACKET,
	    .handler = gp_cmd_packets),
};
#pragma GCC diagnostic pop

bool gp_bytes_zero(const void *bytes, size_t length)
{
	const uint8_t *p = bytes;

	while (length--)
		if (*p++)
			return false;
	return true;
}

bool gp_padded(const uint8_t *name, size_t size)
{
	size_t length = strnlen((const char *)name, size);

	return gp_bytes_zero(name + length, size - length);
}

/* gp_request_new() - copy a request; a length that no command has is kept in mind, not copied. */
struct gp_request *gp_request_new(enum gpgpu_queue_kind queue, const void *bytes, size_t length,
				  size_t capacity, gpgpu_complete_fn *complete, void *opaque)
{
	size_t copied = length > GP_MAX_REQUEST ? HDR : length;
	struct gp_request *req = g_malloc(sizeof(*req) + copied);
	struct virtio_gpgpu_req_hdr hdr = { 0 };

	if (copied)
		memcpy(req->bytes, bytes, copied);
	memcpy(&hdr, req->bytes, copied < HDR ? copied : HDR);
	list_init(&req->link);
	req->complete = complete;
	req->opaque = opaque;
	req->queue = queue;
	req->capacity = capacity;
	req->cookie = copied < HDR ? 0 : hdr.cookie;
	req->type = hdr.type;
	req->flags = hdr.flags;
	req->ctx_id = hdr.ctx_id;
	req->generation = 0;
	req->num_ranges = 0;
	req->response = NULL;
	req->response_length = 0;
	req->length = length;
	return req;
}

void gp_request_free(struct gp_request *req)
{
	if (req->response != req->small)
		g_free(req->response);
	g_free(req);
}

void *gp_response(struct gp_request *req, size_t length)
{
	if (length <= sizeof(req->small)) {
		req->response = req->small;
		memset(req->small, 0, length);
	} else {
		req->response = g_malloc0(length);
	}
	req->response_length = length;
	return req->response;
}

void gp_response_drop(struct gp_request *req)
{
	if (req->response != req->small)
		g_free(req->response);
	req->response = NULL;
	req->response_length = 0;
}

void gp_answer(struct gpgpu_session *s, struct gp_request *req, struct gp_result result, struct list *done)
{
	struct virtio_gpgpu_resp_hdr *hdr;

	if (!req->response)
		gp_response(req, RESP);
	hdr = (struct virtio_gpgpu_resp_hdr *)req->response;
	hdr->status = result.status;
	hdr->reason = result.reason;
	hdr->detail = result.detail;
	hdr->cookie = req->cookie;
	hdr->length = (uint32_t)req->response_length;
	hdr->generation = s->generation;
	if (req->response_length > req->capacity)
		req->response_length = 0;
	list_add_tail(done, &req->link);
}

static const struct command *find(uint32_t type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
		if (commands[i].type == type)
			return &commands[i];
	return NULL;
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_hdr, member)

static struct gp_result check_header(struct gpgpu_session *s, struct gp_request *req,
				     const struct command **out)
{
	const struct virtio_gpgpu_req_hdr *hdr = (const void *)req->bytes;
	const struct command *cmd;

	if (req->length < HDR || req->length > GP_MAX_REQUEST || hdr->length != req->length)
		return GP_ERR(INVALID, LENGTH, OFF(length));
	cmd = find(hdr->type);
	if (!cmd)
		return GP_ERR(UNSUPPORTED, TYPE, hdr->type);
	if (cmd->queue != req->queue)
		return GP_ERR(INVALID, QUEUE, hdr->type);
	if (cmd->features & ~s->features)
		return GP_ERR(UNSUPPORTED, FEATURE, cmd->features);
	if (hdr->flags & ~cmd->flags)
		return GP_ERR(UNSUPPORTED, FLAGS, hdr->flags);
	if (hdr->reserved)
		return GP_ERR(INVALID, RESERVED, OFF(reserved));
	if (req->length < cmd->size || req->length > (cmd->max ? cmd->max : cmd->size))
		return GP_ERR(INVALID, LENGTH, OFF(length));
	if (req->capacity < cmd->response)
		return GP_ERR(INVALID, RESPONSE_SPACE, cmd->response);
	*out = cmd;
	return GP_OK;
}

void gp_execute(struct gpgpu_session *s, struct gp_request *req, struct list *done)
{
	const struct command *cmd = NULL;
	struct gp_context *ctx = NULL;
	struct gp_result result;

	result = check_header(s, req, &cmd);
	if (result.status == VIRTIO_GPGPU_S_OK) {
		ctx = gp_context_find(s, req->ctx_id);
		/* One that is being destroyed keeps its id, but takes no more commands. */
		if (!cmd->no_context && (!ctx || ctx->destroy))
			result = GP_ERR(NOT_FOUND, CTX, req->ctx_id);
		else
			result = cmd->handler(s, ctx, req, done);
	}
	if (result.status != GP_PENDING.status)
		gp_answer(s, req, result, done);
}
