/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session.h - a device of one's own: an engine with one session in this process, and its compiler beside it.
 *
 * What a guest's kernel does with a virtqueue is done here by calls: each function makes one request of the
 * wire protocol, hands it in and waits for the answer. Ids are counted up and never used again, since a command ends
 * before it runs out of them; everything goes with session_close().
 *
 * One thread uses a session. What cannot go wrong by the user's input (a compiler that is not there, no memory)
 * ends the program with a message; what can is returned as a struct refusal.
 */
#ifndef GPGPU_BPF_SESSION_H
#define GPGPU_BPF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtio_gpgpu.h"

struct session;
struct bpf_insn;

struct session_options {
	const char *device; /* NULL: cpu; else as gpgpu_engine_options.device */
	uint32_t threads; /* 0: one per processor */
	uint64_t shm_size; /* bytes for session_buffer(), in all */
	uint64_t memory; /* bytes that maps may take; 0: 4 GiB */
	bool interleave; /* packets take turns, in an order that follows from the seed */
	uint64_t seed;
};

/* What a device answered other than OK. */
struct refusal {
	uint32_t status, reason;
	uint64_t detail;
	char message[VIRTIO_GPGPU_MESSAGE]; /* a program's; else empty */
};

/* refusal_text() - in words, one line; valid until the next call (listing.c). */
const char *refusal_text(const struct refusal *refusal);

/* session_open() - or die. session_close() - ends engine and compiler. */
struct session *session_open(const struct session_options *options);
void session_close(struct session *s);

/* session_clear() - destroy all that was made: maps, programs, buffers. */
void session_clear(struct session *s);

/* What GET_CAPS answered, host endian. */
const struct virtio_gpgpu_caps *session_caps(const struct session *s);
const char *session_compiler(const struct session *s); /* path of gpgpu-jit */

struct buffer {
	uint32_t id;
	uint8_t *bytes; /* zeroed */
	uint64_t size;
};

/* session_buffer() - a buffer of at least @size bytes out of shm_size, or die. */
struct buffer session_buffer(struct session *s, uint64_t size);

/* All below: 0, or the status with @refusal filled. */

/* @shape: map_type, key_size, value_size, max_entries, map_flags, inner, name; @id: out. */
uint32_t session_map(struct session *s, const struct virtio_gpgpu_req_map_create *shape, uint32_t *id,
		     struct refusal *refusal);
uint32_t session_map_freeze(struct session *s, uint32_t id, struct refusal *refusal);

/*
 * session_map_op() - LOOKUP, UPDATE, DELETE or NEXT_KEY.
 * @key: NULL for the first key. @value: in, for UPDATE; @out: value or key, at most @out_size bytes, or NULL.
 */
uint32_t session_map_op(struct session *s, uint32_t type, uint32_t id, const void *key, uint32_t key_size,
			const void *value, uint32_t value_size, void *out, size_t out_size,
			struct refusal *refusal);

/*
 * session_map_read() - take records out of a RINGBUF or PERF_EVENT_ARRAY.
 * @records: out: struct virtio_gpgpu_record each, with its bytes, padded to 8; @size bytes of them fit, @used are.
 * @dropped: out: records that found no room since the map was made.
 */
uint32_t session_map_read(struct session *s, uint32_t id, void *records, uint32_t size, uint32_t *used,
			  uint64_t *dropped, struct refusal *refusal);

struct program_desc {
	const char *name;
	uint32_t kind; /* VIRTIO_GPGPU_PROG_* */
	const struct bpf_insn *insns; /* maps by id */
	uint32_t num_insns, num_args;
	const uint8_t *arg_kind;
};

struct program_cost {
	uint64_t compile_ns;
	uint32_t code_bytes;
};

uint32_t session_program(struct session *s, const struct program_desc *desc, uint32_t *id,
			 struct program_cost *cost, struct refusal *refusal);

struct job_result {
	uint64_t device_ns, fault_count;
	uint32_t fault_insn;
};

/* session_dispatch() - one work item, to its end. S_FAULT is an answer: @result says where. */
uint32_t session_dispatch(struct session *s, uint32_t program, const struct virtio_gpgpu_arg *args,
			  uint32_t num_args, struct job_result *result, struct refusal *refusal);

/*
 * session_packets() - hand a batch in; session_packets_wait() - its results. One batch at a time per buffer; batches
 * run in order.
 * @flags: VIRTIO_GPGPU_PACKETS_ORDER_*.
 */
void session_packets(struct session *s, uint32_t program, const struct buffer *buffer, uint32_t stride,
		     uint32_t flags, const struct virtio_gpgpu_packet_desc *packets, uint32_t count,
		     uint64_t *ticket);
uint32_t session_packets_wait(struct session *s, uint64_t ticket, struct virtio_gpgpu_packet_result *results,
			      uint32_t count, struct job_result *result, struct refusal *refusal);

#endif
