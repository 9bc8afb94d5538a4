/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_form.c - every command once right, then with each of its fields wrong, one at a time.
 *
 * How it works: a row of `commands` is a request that is right. For each, the header is spoiled in every
 * way that all commands share; then come the rows of `wrongs` for it, which replace one field. After every wrong
 * request nothing may have changed: memory, objects and jobs are as before, and the right request still is
 * accepted.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

#define CONTROL	    GPGPU_QUEUE_CONTROL
#define COMPUTE	    GPGPU_QUEUE_COMPUTE
#define PACKET	    GPGPU_QUEUE_PACKET
#define NUM_PACKETS 4

union request {
	struct virtio_gpgpu_req_hdr hdr;
	struct virtio_gpgpu_req_caps caps;
	struct virtio_gpgpu_req_ctx_attach attach;
	struct virtio_gpgpu_req_buffer_create buffer;
	struct virtio_gpgpu_req_id id;
	struct virtio_gpgpu_req_map_create map;
	struct {
		struct virtio_gpgpu_req_map_op op;
		uint8_t key[8], value[8];
	} map_op;
	struct {
		struct virtio_gpgpu_req_map_load r;
		uint8_t key[8], value[8];
	} load;
	struct {
		struct virtio_gpgpu_req_map_dump r;
		uint8_t key[8];
	} dump;
	struct virtio_gpgpu_req_map_read read;
	struct virtio_gpgpu_req_prog_create prog;
	struct {
		struct virtio_gpgpu_req_dispatch r;
		struct virtio_gpgpu_fence fence;
		struct virtio_gpgpu_arg args[2];
	} dispatch;
	struct {
		struct virtio_gpgpu_req_copy r;
		struct virtio_gpgpu_fence fence;
	} copy;
	struct {
		struct virtio_gpgpu_req_nop r;
		struct virtio_gpgpu_fence fence;
	} nop;
	struct virtio_gpgpu_req_job_cancel cancel;
	struct {
		struct virtio_gpgpu_req_packets r;
		struct virtio_gpgpu_fence fence;
		struct virtio_gpgpu_packet_desc descs[NUM_PACKETS];
	} packets;
	uint8_t bytes[512];
};

struct command {
	uint32_t type;
	enum gpgpu_queue_kind queue;
	size_t length, response;
	union request r;
	uint32_t status; /* that the right one has */
};

#define RESP sizeof(struct virtio_gpgpu_resp_hdr)
#define HDR  { .ctx_id = CTX }
/* A point of its own each time: send() fills in seq. The fence is on a point that has been reached. */
#define JOB		     { .timeline = 40, .num_fences = 1 }
#define FENCE		     { .ctx_id = CTX, .timeline = 41, .seq = 1 }

#define DESC(off, len, meta) { .data_off = (off), .data_len = (len), .meta_len = (meta), .ingress_port = 1 }

#define CMD(n, q, len, resp, ...)                                                              \
	{                                                                                      \
		.type = VIRTIO_GPGPU_CMD_##n, .queue = q, .length = (len), .response = (resp), \
		.r = { __VA_ARGS__ }                                                           \
	}

static const struct command commands[] = {
	CMD(GET_CAPS, CONTROL, 40, 240, .caps = { .hdr = HDR, .version = 1 }),
	CMD(GET_STATS, CONTROL, 32, 160, .hdr = HDR),
	CMD(CTX_CREATE, CONTROL, 32, RESP, .hdr = { .ctx_id = 9 }),
	CMD(CTX_DESTROY, CONTROL, 32, RESP, .hdr = { .ctx_id = 9 }),
	CMD(CTX_ATTACH, CONTROL, 40, RESP,
	    .attach = { .hdr = HDR, .object = VIRTIO_GPGPU_OBJ_MAP, .id = MAP_OTHER }),
	CMD(CTX_DETACH, CONTROL, 40, RESP,
	    .attach = { .hdr = HDR, .object = VIRTIO_GPGPU_OBJ_MAP, .id = MAP_OTHER }),
	CMD(BUFFER_CREATE, CONTROL, 56, RESP,
	    .buffer = { .hdr = HDR, .id = 20, .mem = VIRTIO_GPGPU_MEM_SHM, .offset = 4096, .size = 8192 }),
	CMD(BUFFER_DESTROY, CONTROL, 40, RESP, .id = { .hdr = HDR, .id = 20 }),
	CMD(MAP_CREATE, CONTROL, 80, RESP,
	    .map = { .hdr = HDR,
		     .id = 20,
		     .map_type = VIRTIO_GPGPU_MAP_HASH,
		     .key_size = 4,
		     .value_size = 8,
		     .max_entries = 8,
		     .name = "m" }),
	CMD(MAP_DESTROY, CONTROL, 40, RESP, .id = { .hdr = HDR, .id = 20 }),
	CMD(MAP_UPDATE, CONTROL, 64, RESP,
	    .map_op = { .op = { .hdr = HDR, .id = MAP_HASH, .key_size = 4, .value_size = 8 }, .key = { 1 } }),
	CMD(MAP_LOOKUP, CONTROL, 56, 48,
	    .map_op = { .op = { .hdr = HDR, .id = MAP_HASH, .key_size = 4 }, .key = { 1 } }),
	CMD(MAP_NEXT_KEY, CONTROL, 48, 48, .map_op = { .op = { .hdr = HDR, .id = MAP_HASH } }),
	CMD(MAP_LOAD, CONTROL, 64, 40,
	    .load = { .r = { .hdr = HDR, .id = MAP_HASH, .count = 1 }, .key = { 2 }, .value = { 7 } }),
	CMD(MAP_DUMP, CONTROL, 56, 40 + 16,
	    .dump = { .r = { .hdr = HDR, .id = MAP_HASH, .key_size = 4, .max_entries = 1 }, .key = { 9 } }),
	CMD(MAP_POP, CONTROL, 56, 48,
	    .map_op = { .op = { .hdr = HDR, .id = MAP_HASH, .key_size = 4 }, .key = { 2 } }),
	CMD(MAP_READ, CONTROL, 40, 48, .read = { .hdr = HDR, .id = MAP_RING, .max_bytes = 8 }),
	CMD(MAP_DELETE, CONTROL, 56, RESP,
	    .map_op = { .op = { .hdr = HDR, .id = MAP_HASH, .key_size = 4 }, .key = { 1 } }),
	CMD(MAP_FREEZE, CONTROL, 40, RESP, .id = { .hdr = HDR, .id = MAP_LPM }),
	CMD(PROG_CREATE, CONTROL, 112, 304,
	    .prog = { .hdr = HDR,
		      .id = 20,
		      .kind = VIRTIO_GPGPU_PROG_XDP,
		      .num_insns = 2,
		      .insns_buffer = BUF_SHM,
		      .insns_offset = CODE_OFFSET,
		      .name = "p" }),
	CMD(PROG_INFO, CONTROL, 40, 304, .id = { .hdr = HDR, .id = 20 }),
	CMD(PROG_DESTROY, CONTROL, 40, RESP, .id = { .hdr = HDR, .id = 20 }),
	CMD(JOB_CANCEL, CONTROL, 48, RESP, .cancel = { .hdr = HDR, .timeline = 41, .seq = 1 }),
	CMD(DISPATCH, COMPUTE, sizeof(commands[0].r.dispatch), 64,
	    .dispatch = { .r = { .hdr = HDR,
				 .job = JOB,
				 .prog = PROG_ADD,
				 .num_args = 2,
				 .grid = { 4, 100, 4 },
				 .group = { 1, 1, 1 } },
			  .fence = FENCE,
			  .args = { { VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 4096, 12800 },
				    { VIRTIO_GPGPU_ARG_VALUE, 0, 3, 0 } } }),
	CMD(COPY, COMPUTE, sizeof(commands[0].r.copy), 64,
	    .copy = { .r = { .hdr = HDR, .job = JOB, .dst = BUF_SHM, .src = BUF_DEV, .size = 100 },
		      .fence = FENCE }),
	CMD(FILL, COMPUTE, sizeof(commands[0].r.copy), 64,
	    .copy = { .r = { .hdr = HDR, .job = JOB, .dst = BUF_SHM, .size = 100, .pattern = 7 },
		      .fence = FENCE }),
	CMD(NOP, COMPUTE, sizeof(commands[0].r.nop), 64,
	    .nop = { .r = { .hdr = HDR, .job = JOB }, .fence = FENCE }),
	CMD(PACKETS, PACKET, sizeof(commands[0].r.packets), 112 + NUM_PACKETS * 24,
	    .packets = { .r = { .hdr = HDR,
				.job = JOB,
				.prog = PROG_PASS,
				.num_packets = NUM_PACKETS,
				.buffer = BUF_SHM,
				.stride = 128,
				.offset = 64 },
			 .fence = FENCE,
			 .descs = { DESC(48, 64, 0), DESC(64, 64, 16), DESC(0, 128, 0),
				    DESC(114, 14, 112) } }),
};

struct wrong {
	uint32_t type;
	const char *what;
	size_t offset, width;
	uint64_t value;
	uint32_t status, reason;
};

#define W(n, str, member, val, st, re)                      \
	{ VIRTIO_GPGPU_CMD_##n,                             \
	  #member " = " #val,                               \
	  offsetof(struct virtio_gpgpu_##str, member),      \
	  sizeof(((struct virtio_gpgpu_##str *)0)->member), \
	  (val),                                            \
	  VIRTIO_GPGPU_S_##st,                              \
	  VIRTIO_GPGPU_R_##re }
/* A field of what lies behind the command's own structure. */
#define WT(n, part, member, val, st, re)             \
	{ VIRTIO_GPGPU_CMD_##n,                      \
	  #member " = " #val,                        \
	  offsetof(union request, part.member),      \
	  sizeof(((union request *)0)->part.member), \
	  (val),                                     \
	  VIRTIO_GPGPU_S_##st,                       \
	  VIRTIO_GPGPU_R_##re }
#define JOB_WRONGS(n, part)                                                                                 \
	WT(n, part, r.job.timeline, 64, INVALID, ID), WT(n, part, r.job.timeline, UINT32_MAX, INVALID, ID), \
		WT(n, part, r.job.num_fences, 9, INVALID, COUNT),                                           \
		WT(n, part, r.job.num_fences, UINT32_MAX, INVALID, COUNT),                                  \
		WT(n, part, r.job.num_fences, 8, INVALID, LENGTH),                                          \
		WT(n, part, r.job.num_fences, 0, INVALID, LENGTH),                                          \
		WT(n, part, r.job.seq, 0, INVALID, SEQUENCE),                                               \
		WT(n, part, fence.ctx_id, 77, NOT_FOUND, FENCE),                                            \
		WT(n, part, fence.timeline, 64, INVALID, FENCE), WT(n, part, fence.seq, 0, INVALID, FENCE)

static const struct wrong wrongs[] = {
	W(GET_CAPS, req_caps, version, 2, UNSUPPORTED, KIND),
	W(GET_CAPS, req_caps, version, 0, UNSUPPORTED, KIND),
	W(GET_CAPS, req_caps, reserved, 1, INVALID, RESERVED),
	W(CTX_CREATE, req_hdr, ctx_id, 0, INVALID, ID),
	W(CTX_CREATE, req_hdr, ctx_id, VIRTIO_GPGPU_MAX_ID, INVALID, ID),
	W(CTX_CREATE, req_hdr, ctx_id, CTX, EXISTS, CTX),
	W(CTX_DESTROY, req_hdr, ctx_id, 0, INVALID, ID),
	W(CTX_ATTACH, req_ctx_attach, object, 0, INVALID, KIND),
	W(CTX_ATTACH, req_ctx_attach, object, 4, INVALID, KIND),
	W(CTX_ATTACH, req_ctx_attach, object, UINT32_MAX, INVALID, KIND),
	W(CTX_ATTACH, req_ctx_attach, id, 0, NOT_FOUND, MAP),
	W(CTX_ATTACH, req_ctx_attach, id, UINT32_MAX, NOT_FOUND, MAP),
	W(CTX_ATTACH, req_ctx_attach, id, MAP_HASH, EXISTS, MAP),
	W(CTX_DETACH, req_ctx_attach, object, 0, INVALID, KIND),
	W(CTX_DETACH, req_ctx_attach, object, VIRTIO_GPGPU_OBJ_BUFFER, PERMISSION, BUFFER),
	W(CTX_DETACH, req_ctx_attach, id, 50, NOT_FOUND, MAP),
	W(BUFFER_CREATE, req_buffer_create, id, 0, INVALID, ID),
	W(BUFFER_CREATE, req_buffer_create, id, VIRTIO_GPGPU_MAX_ID, INVALID, ID),
	W(BUFFER_CREATE, req_buffer_create, id, BUF_SHM, EXISTS, BUFFER),
	W(BUFFER_CREATE, req_buffer_create, mem, 0, INVALID, KIND),
	W(BUFFER_CREATE, req_buffer_create, mem, 3, INVALID, KIND),
	W(BUFFER_CREATE, req_buffer_create, mem, VIRTIO_GPGPU_MEM_DEVICE, INVALID, RANGE),
	W(BUFFER_CREATE, req_buffer_create, offset, 8, INVALID, ALIGN),
	W(BUFFER_CREATE, req_buffer_create, offset, SHM_SIZE, INVALID, RANGE),
	W(BUFFER_CREATE, req_buffer_create, offset, SHM_SIZE - 4096, INVALID, RANGE),
	W(BUFFER_CREATE, req_buffer_create, offset, UINT64_MAX - 4095, INVALID, RANGE),
	W(BUFFER_CREATE, req_buffer_create, size, 0, INVALID, SIZE),
	W(BUFFER_CREATE, req_buffer_create, size, 100, INVALID, ALIGN),
	W(BUFFER_CREATE, req_buffer_create, size, SHM_SIZE, INVALID, RANGE),
	W(BUFFER_CREATE, req_buffer_create, size, UINT64_MAX - 4095, INVALID, RANGE),
	W(BUFFER_DESTROY, req_id, id, 0, NOT_FOUND, BUFFER),
	W(BUFFER_DESTROY, req_id, id, UINT32_MAX, NOT_FOUND, BUFFER),
	W(BUFFER_DESTROY, req_id, id, BUF_OTHER, PERMISSION, BUFFER),
	W(BUFFER_DESTROY, req_id, reserved, 1, INVALID, RESERVED),
	W(MAP_CREATE, req_map_create, id, 0, INVALID, ID),
	W(MAP_CREATE, req_map_create, id, MAP_HASH, EXISTS, MAP),
	W(MAP_CREATE, req_map_create, map_type, 0, INVALID, KIND),
	W(MAP_CREATE, req_map_create, map_type, 7, INVALID, KIND),
	W(MAP_CREATE, req_map_create, map_type, UINT32_MAX, INVALID, KIND),
	W(MAP_CREATE, req_map_create, key_size, 0, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, key_size, VIRTIO_GPGPU_MAX_KEY + 1, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, key_size, UINT32_MAX, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, value_size, 0, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, value_size, UINT32_MAX, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, max_entries, 0, INVALID, COUNT),
	W(MAP_CREATE, req_map_create, map_flags, 1u << 31, UNSUPPORTED, FLAGS),
	W(MAP_CREATE, req_map_create, name[15], 1, INVALID, RESERVED),
	W(MAP_CREATE, req_map_create, inner, MAP_ARRAY, INVALID, INNER), /* not of a map of maps */
	W(MAP_CREATE, req_map_create, reserved, 1, INVALID, RESERVED),
	/* What needs another shape than this one. */
	W(MAP_CREATE, req_map_create, map_type, VIRTIO_GPGPU_MAP_RINGBUF, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, map_type, VIRTIO_GPGPU_MAP_QUEUE, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, map_type, VIRTIO_GPGPU_MAP_PROG_ARRAY, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, map_type, VIRTIO_GPGPU_MAP_FIB, INVALID, SIZE),
	W(MAP_CREATE, req_map_create, map_type, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, INVALID, SIZE),
	W(MAP_DESTROY, req_id, id, 50, NOT_FOUND, MAP),
	W(MAP_DESTROY, req_id, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_DESTROY, req_id, reserved, 1, INVALID, RESERVED),
	W(MAP_FREEZE, req_id, id, 50, NOT_FOUND, MAP),
	W(MAP_FREEZE, req_id, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_FREEZE, req_id, reserved, 1, INVALID, RESERVED),
	W(MAP_LOOKUP, req_map_op, id, 50, NOT_FOUND, MAP),
	W(MAP_LOOKUP, req_map_op, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_LOOKUP, req_map_op, key_size, 0, INVALID, SIZE),
	W(MAP_LOOKUP, req_map_op, key_size, 8, INVALID, SIZE),
	W(MAP_LOOKUP, req_map_op, key_size, UINT32_MAX, INVALID, SIZE),
	W(MAP_LOOKUP, req_map_op, value_size, 8, INVALID, SIZE),
	W(MAP_LOOKUP, req_map_op, op_flags, 1, INVALID, FLAGS),
	WT(MAP_LOOKUP, map_op, key[0], 99, NOT_FOUND, KEY),
	WT(MAP_LOOKUP, map_op, key[4], 1, INVALID, RESERVED),
	WT(MAP_LOOKUP, map_op, key[7], 1, INVALID, RESERVED),
	W(MAP_UPDATE, req_map_op, key_size, 8, INVALID, SIZE),
	W(MAP_UPDATE, req_map_op, value_size, 0, INVALID, SIZE),
	W(MAP_UPDATE, req_map_op, value_size, 16, INVALID, SIZE),
	W(MAP_UPDATE, req_map_op, value_size, UINT32_MAX, INVALID, SIZE),
	W(MAP_UPDATE, req_map_op, op_flags, 3, INVALID, FLAGS),
	W(MAP_UPDATE, req_map_op, op_flags, UINT32_MAX, INVALID, FLAGS),
	WT(MAP_UPDATE, map_op, key[5], 1, INVALID, RESERVED),
	W(MAP_POP, req_map_op, id, 50, NOT_FOUND, MAP),
	W(MAP_POP, req_map_op, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_POP, req_map_op, id, MAP_RING, INVALID, KIND),
	W(MAP_POP, req_map_op, id, MAP_OUTER, INVALID, KIND),
	W(MAP_POP, req_map_op, id, MAP_PROGS, INVALID, KIND),
	W(MAP_POP, req_map_op, key_size, 8, INVALID, SIZE),
	W(MAP_POP, req_map_op, value_size, 8, INVALID, SIZE),
	W(MAP_POP, req_map_op, op_flags, 1, INVALID, FLAGS),
	WT(MAP_POP, map_op, key[0], 99, NOT_FOUND, KEY),
	WT(MAP_POP, map_op, key[4], 1, INVALID, RESERVED),
	W(MAP_LOAD, req_map_load, id, 50, NOT_FOUND, MAP),
	W(MAP_LOAD, req_map_load, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_LOAD, req_map_load, count, 0, INVALID, COUNT),
	W(MAP_LOAD, req_map_load, count, 2, INVALID, LENGTH),
	W(MAP_LOAD, req_map_load, count, VIRTIO_GPGPU_MAX_ENTRIES + 1, INVALID, COUNT),
	W(MAP_LOAD, req_map_load, count, UINT32_MAX, INVALID, COUNT),
	W(MAP_LOAD, req_map_load, op_flags, 3, INVALID, FLAGS),
	W(MAP_LOAD, req_map_load, reserved, 1, INVALID, RESERVED),
	W(MAP_LOAD, req_map_load, op_flags, BPF_EXIST, NOT_FOUND, KEY),
	WT(MAP_LOAD, load, key[4], 1, INVALID, RESERVED),
	W(MAP_DUMP, req_map_dump, id, 50, NOT_FOUND, MAP),
	W(MAP_DUMP, req_map_dump, id, MAP_OTHER, PERMISSION, MAP),
	W(MAP_DUMP, req_map_dump, id, MAP_RING, INVALID, KIND),
	W(MAP_DUMP, req_map_dump, key_size, 0, INVALID, LENGTH),
	W(MAP_DUMP, req_map_dump, key_size, 8, INVALID, SIZE),
	W(MAP_DUMP, req_map_dump, key_size, UINT32_MAX, INVALID, SIZE),
	W(MAP_DUMP, req_map_dump, max_entries, 0, INVALID, COUNT),
	W(MAP_DUMP, req_map_dump, max_entries, VIRTIO_GPGPU_MAX_ENTRIES + 1, INVALID, COUNT),
	W(MAP_DUMP, req_map_dump, reserved, 1, INVALID, RESERVED),
	WT(MAP_DUMP, dump, key[7], 1, INVALID, RESERVED),
	W(MAP_READ, req_map_read, id, 50, NOT_FOUND, MAP),
	W(MAP_READ, req_map_read, id, MAP_HASH, INVALID, KIND),
	W(MAP_READ, req_map_read, max_bytes, 0, INVALID, SIZE),
	W(MAP_READ, req_map_read, max_bytes, 7, INVALID, SIZE),
	W(MAP_LOOKUP, req_map_op, id, MAP_RING, INVALID, KIND),
	W(MAP_UPDATE, req_map_op, id, MAP_RING, INVALID, KIND),
	W(MAP_DELETE, req_map_op, id, MAP_RING, INVALID, KIND),
	W(MAP_NEXT_KEY, req_map_op, id, MAP_RING, INVALID, KIND),
	W(MAP_DELETE, req_map_op, value_size, 8, INVALID, SIZE),
	W(MAP_DELETE, req_map_op, op_flags, 1, INVALID, FLAGS),
	WT(MAP_DELETE, map_op, key[0], 99, NOT_FOUND, KEY),
	W(MAP_NEXT_KEY, req_map_op, key_size, 4, INVALID, LENGTH),
	W(MAP_NEXT_KEY, req_map_op, key_size, 8, INVALID, SIZE),
	W(MAP_NEXT_KEY, req_map_op, value_size, 1, INVALID, SIZE),
	W(PROG_CREATE, req_prog_create, id, 0, INVALID, ID),
	W(PROG_CREATE, req_prog_create, id, PROG_PASS, EXISTS, PROG),
	W(PROG_CREATE, req_prog_create, kind, 0, INVALID, KIND),
	W(PROG_CREATE, req_prog_create, kind, 3, INVALID, KIND),
	W(PROG_CREATE, req_prog_create, prog_flags, VIRTIO_GPGPU_PROG_F_BIG_ENDIAN, UNSUPPORTED, FLAGS),
	W(PROG_CREATE, req_prog_create, prog_flags, 2, UNSUPPORTED, FLAGS),
	W(PROG_CREATE, req_prog_create, num_insns, 0, INVALID, COUNT),
	W(PROG_CREATE, req_prog_create, num_insns, 16385, LIMIT, INSN_LIMIT),
	W(PROG_CREATE, req_prog_create, num_insns, UINT32_MAX, LIMIT, INSN_LIMIT),
	W(PROG_CREATE, req_prog_create, insns_buffer, 50, NOT_FOUND, BUFFER),
	W(PROG_CREATE, req_prog_create, insns_buffer, BUF_OTHER, PERMISSION, BUFFER),
	W(PROG_CREATE, req_prog_create, num_args, 1, INVALID, COUNT),
	W(PROG_CREATE, req_prog_create, num_args, UINT32_MAX, INVALID, COUNT),
	W(PROG_CREATE, req_prog_create, insns_offset, CODE_OFFSET + 4, INVALID, ALIGN),
	W(PROG_CREATE, req_prog_create, insns_offset, SHM_SIZE - 8, INVALID, RANGE),
	W(PROG_CREATE, req_prog_create, insns_offset, UINT64_MAX - 7, INVALID, RANGE),
	W(PROG_CREATE, req_prog_create, arg_kind[15], 1, INVALID, RESERVED),
	W(PROG_CREATE, req_prog_create, name[31], 1, INVALID, RESERVED),
	W(PROG_INFO, req_id, id, 50, NOT_FOUND, PROG),
	W(PROG_INFO, req_id, reserved, 1, INVALID, RESERVED),
	W(PROG_DESTROY, req_id, id, 50, NOT_FOUND, PROG),
	W(PROG_DESTROY, req_id, reserved, 1, INVALID, RESERVED),
	W(JOB_CANCEL, req_job_cancel, timeline, 64, INVALID, ID),
	W(JOB_CANCEL, req_job_cancel, reserved, 1, INVALID, RESERVED),
	W(JOB_CANCEL, req_job_cancel, seq, 0, NOT_FOUND, SEQUENCE),
	W(JOB_CANCEL, req_job_cancel, seq, 2, NOT_FOUND, SEQUENCE),
	JOB_WRONGS(NOP, nop),
	JOB_WRONGS(COPY, copy),
	JOB_WRONGS(FILL, copy),
	JOB_WRONGS(DISPATCH, dispatch),
	JOB_WRONGS(PACKETS, packets),
	W(COPY, req_copy, dst, 50, NOT_FOUND, BUFFER),
	W(COPY, req_copy, dst, BUF_OTHER, PERMISSION, BUFFER),
	W(COPY, req_copy, dst, BUF_DEV, INVALID, RANGE), /* it is the source too */
	W(COPY, req_copy, src, 50, NOT_FOUND, BUFFER),
	W(COPY, req_copy, src, BUF_OTHER, PERMISSION, BUFFER),
	W(COPY, req_copy, dst_offset, SHM_SIZE - 99, INVALID, RANGE),
	W(COPY, req_copy, dst_offset, UINT64_MAX, INVALID, RANGE),
	W(COPY, req_copy, src_offset, 1 << 20, INVALID, RANGE),
	W(COPY, req_copy, src_offset, UINT64_MAX - 50, INVALID, RANGE),
	W(COPY, req_copy, size, 0, INVALID, SIZE),
	W(COPY, req_copy, size, (1 << 20) + 1, INVALID, RANGE),
	W(COPY, req_copy, size, UINT64_MAX, INVALID, RANGE),
	W(COPY, req_copy, pattern, 1, INVALID, RESERVED),
	W(COPY, req_copy, reserved, 1, INVALID, RESERVED),
	W(FILL, req_copy, src, BUF_DEV, INVALID, RESERVED),
	W(FILL, req_copy, src_offset, 8, INVALID, RESERVED),
	W(FILL, req_copy, size, 0, INVALID, SIZE),
	W(FILL, req_copy, size, 7, INVALID, ALIGN),
	W(FILL, req_copy, size, UINT64_MAX - 3, INVALID, RANGE),
	W(FILL, req_copy, dst_offset, 2, INVALID, ALIGN),
	W(FILL, req_copy, dst_offset, UINT64_MAX - 3, INVALID, RANGE),
	W(DISPATCH, req_dispatch, prog, 50, NOT_FOUND, PROG),
	W(DISPATCH, req_dispatch, prog, PROG_PASS, INVALID, KIND),
	W(DISPATCH, req_dispatch, num_args, 1, INVALID, LENGTH),
	W(DISPATCH, req_dispatch, num_args, 17, INVALID, COUNT),
	W(DISPATCH, req_dispatch, num_args, UINT32_MAX, INVALID, COUNT),
	W(DISPATCH, req_dispatch, grid[0], 0, INVALID, SIZE),
	W(DISPATCH, req_dispatch, grid[1], 0, INVALID, SIZE),
	W(DISPATCH, req_dispatch, grid[2], 0, INVALID, SIZE),
	W(DISPATCH, req_dispatch, grid[0], UINT32_MAX, INVALID, SIZE),
	W(DISPATCH, req_dispatch, grid[2], UINT32_MAX, INVALID, SIZE),
	W(DISPATCH, req_dispatch, group[0], 0, INVALID, SIZE),
	W(DISPATCH, req_dispatch, group[2], 0, INVALID, SIZE),
	W(DISPATCH, req_dispatch, group[1], 1025, INVALID, SIZE),
	W(DISPATCH, req_dispatch, group[2], UINT32_MAX, INVALID, SIZE),
	WT(DISPATCH, dispatch, args[0].kind, 0, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].kind, VIRTIO_GPGPU_ARG_BUFFER_RO, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].buffer, 50, NOT_FOUND, BUFFER),
	WT(DISPATCH, dispatch, args[0].buffer, BUF_OTHER, PERMISSION, BUFFER),
	WT(DISPATCH, dispatch, args[0].value, 4, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].value, SHM_SIZE - 12792, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].value, UINT64_MAX - 7, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].size, 0, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].size, SHM_SIZE, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[0].size, UINT64_MAX, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[1].kind, VIRTIO_GPGPU_ARG_BUFFER, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[1].buffer, BUF_SHM, INVALID, ARGUMENT),
	WT(DISPATCH, dispatch, args[1].size, 8, INVALID, ARGUMENT),
	W(PACKETS, req_packets, hdr.flags, 3, INVALID, FLAGS),
	W(PACKETS, req_packets, prog, 50, NOT_FOUND, PROG),
	W(PACKETS, req_packets, prog, PROG_ADD, INVALID, KIND),
	W(PACKETS, req_packets, num_packets, 0, INVALID, COUNT),
	W(PACKETS, req_packets, num_packets, NUM_PACKETS - 1, INVALID, LENGTH),
	W(PACKETS, req_packets, num_packets, NUM_PACKETS + 1, INVALID, LENGTH),
	W(PACKETS, req_packets, num_packets, 16385, INVALID, COUNT),
	W(PACKETS, req_packets, num_packets, UINT32_MAX, INVALID, COUNT),
	W(PACKETS, req_packets, buffer, 50, NOT_FOUND, BUFFER),
	W(PACKETS, req_packets, buffer, BUF_OTHER, PERMISSION, BUFFER),
	W(PACKETS, req_packets, stride, 0, INVALID, SIZE),
	W(PACKETS, req_packets, stride, 100, INVALID, ALIGN),
	W(PACKETS, req_packets, stride, 65536 + 64, INVALID, SIZE),
	W(PACKETS, req_packets, stride, 64, INVALID, PACKET),
	W(PACKETS, req_packets, offset, 32, INVALID, ALIGN),
	W(PACKETS, req_packets, offset, SHM_SIZE - 128, INVALID, RANGE),
	W(PACKETS, req_packets, offset, UINT64_MAX - 63, INVALID, RANGE),
	WT(PACKETS, packets, descs[0].data_off, 65, INVALID, PACKET),
	WT(PACKETS, packets, descs[3].data_off, UINT32_MAX, INVALID, PACKET),
	WT(PACKETS, packets, descs[0].data_len, 13, INVALID, PACKET),
	WT(PACKETS, packets, descs[0].data_len, 0, INVALID, PACKET),
	WT(PACKETS, packets, descs[1].data_len, UINT32_MAX, INVALID, PACKET),
	WT(PACKETS, packets, descs[2].meta_len, 4, INVALID, PACKET),
	WT(PACKETS, packets, descs[0].meta_len, 6, INVALID, PACKET),
	WT(PACKETS, packets, descs[0].meta_len, 256, INVALID, PACKET),
};

static void point(union request *r, enum gpgpu_queue_kind queue)
{
	if (queue != CONTROL)
		r->nop.r.job.seq = next_point_on(r->nop.r.job.timeline & 63).seq;
}

static struct wire_answer *send_bytes(const union request *r, enum gpgpu_queue_kind queue, size_t length,
				      size_t capacity)
{
	return wire_call(client, queue, r, length, capacity);
}

/* What nothing that was refused may have changed. */
static uint64_t state(void)
{
	struct gpgpu_stats stats;

	gpgpu_session_stats(wire_session(client), &stats);
	return stats.memory;
}

static void expect(const struct command *cmd, const union request *r, enum gpgpu_queue_kind queue,
		   size_t length, size_t capacity, uint32_t status, uint32_t reason, const char *what)
{
	uint64_t before = state();
	struct wire_answer *a = send_bytes(r, queue, length, capacity);

	ck_assert_msg(a->status == status && a->reason == reason,
		      "command %#x, %s: status %u, reason %u, detail %llu; expected %u, %u", cmd->type, what,
		      a->status, a->reason, (unsigned long long)a->detail, status, reason);
	ck_assert_uint_eq(a->num_ranges, 0);
	ck_assert_uint_eq(state(), before);
	wire_answer_free(a);
}

/* What is wrong with the header or the lengths of any command. */
static void spoil_header(const struct command *cmd, union request *r)
{
	enum gpgpu_queue_kind wrong_queue = cmd->queue == CONTROL ? COMPUTE : CONTROL;
	union request w;

	point(r, cmd->queue);
	for (size_t length = 0; length < cmd->length; length++)
		expect(cmd, r, cmd->queue, length, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
		       "cut short");
	expect(cmd, r, cmd->queue, cmd->length + 8, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
	       "too long");
	expect(cmd, r, wrong_queue, cmd->length, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_QUEUE,
	       "wrong queue");
	/* Without room for a header there is no answer to look at: no_room_for_a_header. */
	if (cmd->response > RESP)
		expect(cmd, r, cmd->queue, cmd->length, cmd->response - 1, VIRTIO_GPGPU_S_INVALID,
		       VIRTIO_GPGPU_R_RESPONSE_SPACE, "no room");
	w = *r;
	w.hdr.length = (uint32_t)cmd->length - 8;
	expect(cmd, &w, cmd->queue, cmd->length - 8, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
	       "honestly too short");
	w.hdr.length = (uint32_t)cmd->length + 8;
	expect(cmd, &w, cmd->queue, cmd->length + 8, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
	       "honestly too long");
	w.hdr.length = UINT32_MAX;
	expect(cmd, &w, cmd->queue, cmd->length, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
	       "hdr.length");
	for (int bit = 2; bit < 32; bit++) {
		w = *r;
		w.hdr.flags = 1u << bit;
		expect(cmd, &w, cmd->queue, cmd->length, 4096, VIRTIO_GPGPU_S_UNSUPPORTED,
		       VIRTIO_GPGPU_R_FLAGS, "hdr.flags");
	}
	w = *r;
	w.hdr.reserved = 1ull << 63;
	expect(cmd, &w, cmd->queue, cmd->length, 4096, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_RESERVED,
	       "hdr.reserved");
	if (cmd->type == VIRTIO_GPGPU_CMD_CTX_CREATE)
		return;
	w = *r;
	w.hdr.ctx_id = 12345;
	expect(cmd, &w, cmd->queue, cmd->length, 4096, VIRTIO_GPGPU_S_NOT_FOUND, VIRTIO_GPGPU_R_CTX,
	       "hdr.ctx_id");
}

static void spoil_fields(const struct command *cmd, const union request *r, unsigned int *used)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const struct wrong *w = &wrongs[i];
		union request spoiled = *r;

		if (w->type != cmd->type)
			continue;
		point(&spoiled, cmd->queue);
		memcpy(spoiled.bytes + w->offset, &w->value, w->width);
		expect(cmd, &spoiled, cmd->queue, cmd->length, 4096, w->status, w->reason, w->what);
		(*used)++;
	}
}

START_TEST(every_command)
{
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	unsigned int used = 0;

	memcpy(wire_shm(client) + CODE_OFFSET, pass, sizeof(pass));
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ .timeline = 41, .seq = 1 })));
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct command *cmd = &commands[i];
		union request r = cmd->r;
		struct wire_answer *a;

		r.hdr.type = cmd->type;
		r.hdr.length = (uint32_t)cmd->length;
		r.hdr.cookie = 0x1234567800000000ull + i;
		spoil_header(cmd, &r);
		spoil_fields(cmd, &r, &used);
		point(&r, cmd->queue);
		/* Exactly the room that it needs. */
		a = send_bytes(&r, cmd->queue, cmd->length, cmd->response);
		ck_assert_msg(!a->status, "command %#x: status %u, reason %u, detail %llu", cmd->type,
			      a->status, a->reason, (unsigned long long)a->detail);
		ck_assert_uint_eq(a->reason, 0);
		ck_assert_uint_eq(a->detail, 0);
		ck_assert_uint_eq(a->length, cmd->response);
		ck_assert_uint_eq(a->resp->hdr.cookie, r.hdr.cookie);
		ck_assert_uint_eq(a->resp->hdr.generation, 1);
		wire_answer_free(a);
	}
	ck_assert_uint_eq(used, sizeof(wrongs) / sizeof(wrongs[0]));
}
END_TEST

START_TEST(no_room_for_a_header)
{
	struct virtio_gpgpu_req_hdr r = { 0 };
	struct wire_answer *a;

	wire_hdr(&r, VIRTIO_GPGPU_CMD_GET_STATS, 0, sizeof(r));
	for (size_t capacity = 0; capacity < RESP; capacity++) {
		a = wire_call(client, CONTROL, &r, sizeof(r), capacity);
		ck_assert_uint_eq(a->length, 0);
		wire_answer_free(a);
	}
	a = wire_call(client, CONTROL, &r, sizeof(r), RESP);
	ck_assert_uint_eq(a->length, RESP);
	check_status(a->status, INVALID);
	wire_answer_free(a);
}
END_TEST

START_TEST(unknown_commands)
{
	struct virtio_gpgpu_req_hdr r = { 0 };

	for (int queue = CONTROL; queue <= PACKET; queue++) {
		for (uint32_t type = 0; type < 0x400; type++) {
			struct wire_answer *a;
			bool known = false;

			for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
				known |= commands[i].type == type;
			if (known)
				continue;
			wire_hdr(&r, type, 0, sizeof(r));
			a = wire_call(client, queue, &r, sizeof(r), 4096);
			check_status(a->status, UNSUPPORTED);
			ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_TYPE);
			ck_assert_uint_eq(a->detail, type);
			wire_answer_free(a);
		}
	}
}
END_TEST

/* More than any command has, and more than is ever copied. */
START_TEST(huge_requests)
{
	static const size_t lengths[] = { (1 << 20) - 8, 1 << 20, (1 << 20) + 8, 4 << 20 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct virtio_gpgpu_req_hdr *r = calloc(1, lengths[i]);
		struct wire_answer *a;

		wire_hdr(r, VIRTIO_GPGPU_CMD_NOP, CTX, lengths[i]);
		a = wire_call(client, COMPUTE, r, lengths[i], 4096);
		check_status(a->status, INVALID);
		ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_LENGTH);
		wire_answer_free(a);
		free(r);
	}
}
END_TEST

/* A service that was not negotiated is not there. */
START_TEST(features)
{
	struct gpgpu_session_options options = { .name = "bare", .generation = 5 };
	struct wire_client *bare = wire_client_engine(engine, SHM_SIZE, &options);
	struct virtio_gpgpu_packet_desc desc = { .data_len = 64 };
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	struct virtio_gpgpu_caps caps;
	struct wire_answer *a;

	check_ok(wire_caps(bare, &caps));
	ck_assert_uint_eq(caps.prog_kinds, 1u << VIRTIO_GPGPU_PROG_GPGPU);
	check_ok(wire_buffer(bare, 0, 1, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_status(wire_buffer(bare, 0, 2, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096), UNSUPPORTED);
	check_status(wire_status(bare, wire_packets(bare, 0, next_point(), 0, 1, 1, 0, 128, &desc, 1)),
		     UNSUPPORTED);
	check_status(wire_prog(bare, 0, 1, VIRTIO_GPGPU_PROG_XDP, pass, 2, 1, 0, 0, NULL, 0, &a),
		     UNSUPPORTED);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_FEATURE);
	ck_assert_uint_eq(a->resp->hdr.generation, 5);
	wire_answer_free(a);
	wire_client_free(bare);
}
END_TEST

/* Products that wrap around 2^32 and 2^64. */
START_TEST(grid_overflow)
{
	static const uint32_t sizes[][3] = {
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX },
		{ 1u << 31, 1u << 31, 4 },
		{ 1u << 16, 1u << 16, 1u << 16 },
		{ 1u << 31, 1u << 31, 1u << 2 },
		{ 65536, 65536, 257 },
		{ 1u << 22, 1u << 21, 1u << 21 },
	};
	static const uint32_t one[3] = { 1, 1, 1 };
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 4096, 4096 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_status(wire_status(client, wire_dispatch(client, CTX, next_point(), PROG_ADD, sizes[i],
							       one, args, 2)),
			     INVALID);
		check_status(wire_status(client, wire_dispatch(client, CTX, next_point(), PROG_ADD, one,
							       sizes[i], args, 2)),
			     INVALID);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("form");
	TCase *tc = tcase_create("commands");

	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_command);
	tcase_add_test(tc, no_room_for_a_header);
	tcase_add_test(tc, unknown_commands);
	tcase_add_test(tc, huge_requests);
	tcase_add_test(tc, features);
	tcase_add_test(tc, grid_overflow);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
