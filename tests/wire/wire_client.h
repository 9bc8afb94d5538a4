/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_client.h - requests of the wire protocol for tests, to an engine in this process or to a worker.
 *
 * A client has one way to hand in bytes and a list of answers that came. wire_call() hands in and waits for
 * the answer; wire_submit() and wire_wait() are the two halves. An answer keeps its bytes and its ranges until
 * it is freed.
 *
 * All functions end the test process with a message where the transport itself fails (an answer that does not
 * come, a broken ring), so that tests only look at answers.
 */
#ifndef WIRE_CLIENT_H
#define WIRE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "gpgpu-connection.h"
#include "gpgpu-host.h"
#include "virtio_gpgpu.h"

#define WIRE_TIMEOUT_MS 20000 /* GPGPU_TEST_TIMEOUT: seconds instead, for answers */

struct wire_client;

struct wire_answer {
	size_t length;   /* 0: not even a header fitted */
	uint32_t status, reason;
	uint64_t detail;
	struct gpgpu_range ranges[GPGPU_MAX_RANGES];
	size_t num_ranges;
	union {
		struct virtio_gpgpu_resp_hdr hdr;
		struct virtio_gpgpu_resp_caps caps;
		struct virtio_gpgpu_resp_stats stats;
		struct virtio_gpgpu_resp_prog prog;
		struct virtio_gpgpu_resp_map_op map_op;
		struct virtio_gpgpu_resp_map_dump map_dump;
		struct virtio_gpgpu_resp_map_load map_load;
		struct virtio_gpgpu_resp_map_read map_read;
		struct virtio_gpgpu_resp_job job;
		struct virtio_gpgpu_resp_packets packets;
		uint8_t bytes[1];
	} *resp;	 /* what came, and zeros up to the largest of these */
};

/* wire_client_engine() - a session of @engine with @shm_size bytes of shared memory. */
struct wire_client *wire_client_engine(struct gpgpu_engine *engine, uint64_t shm_size,
				       const struct gpgpu_session_options *options);

/*
 * wire_client_worker() - a session of a worker.
 * @socket: connected and greeted; several clients may share it if one at a time sends control messages.
 * @id: of the session. @ring_size: bytes in each direction.
 */
struct wire_client *wire_client_worker(int socket, uint32_t id, uint64_t shm_size, uint64_t ring_size);

void wire_client_free(struct wire_client *c);
/* wire_client_lost() - the worker is gone: wire_client_free() does not talk to it. */
void wire_client_lost(struct wire_client *c);

/* wire_events() - events that a map has data. @map: out: of the last. Sessions of an engine only. */
uint32_t wire_events(struct wire_client *c, uint64_t *map);
/* wire_lines() - lines for the log. @last: out. Sessions of an engine only. */
uint32_t wire_lines(struct wire_client *c, char last[512]);

struct gpgpu_session *wire_session(struct wire_client *c); /* NULL with a worker */
uint8_t *wire_shm(struct wire_client *c);
struct gpgpu_ring *wire_ring(struct wire_client *c);  /* NULL without one */

/* wire_submit() - hand in @length bytes. Return: a ticket for wire_wait(). */
uint64_t wire_submit(struct wire_client *c, enum gpgpu_queue_kind queue, const void *request, size_t length,
		     size_t capacity);
/* wire_poll() - Return: the answer, or NULL if there is none yet. */
struct wire_answer *wire_poll(struct wire_client *c, uint64_t ticket);
struct wire_answer *wire_wait(struct wire_client *c, uint64_t ticket);
struct wire_answer *wire_call(struct wire_client *c, enum gpgpu_queue_kind queue, const void *request,
			      size_t length, size_t capacity);
void wire_answer_free(struct wire_answer *a);

/*
 * Requests. Each hands in one request and returns its answer's status; with @a, the answer too.
 * wire_hdr() fills in type, context and length of a request in place.
 */
void wire_hdr(void *request, uint32_t type, uint32_t ctx, size_t length);
uint32_t wire_simple(struct wire_client *c, uint32_t type, uint32_t ctx, struct wire_answer **a);
uint32_t wire_id(struct wire_client *c, uint32_t type, uint32_t ctx, uint32_t id, struct wire_answer **a);
uint32_t wire_caps(struct wire_client *c, struct virtio_gpgpu_caps *caps);
uint32_t wire_stats(struct wire_client *c, struct virtio_gpgpu_resp_stats *stats);
uint32_t wire_attach(struct wire_client *c, bool attach, uint32_t ctx, uint32_t object, uint32_t id);
uint32_t wire_buffer(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t mem, uint64_t offset,
		     uint64_t size);
uint32_t wire_map(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t type, uint32_t key_size,
		  uint32_t value_size, uint32_t max_entries, uint32_t flags);
/* A map of maps, with the template @inner. */
uint32_t wire_map_of(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t type, uint32_t key_size,
		     uint32_t max_entries, uint32_t inner);
/* LOOKUP, UPDATE, DELETE, NEXT_KEY, POP. @key: NULL for the first; @value_size: as it travels. */
uint32_t wire_map_op(struct wire_client *c, uint32_t type, uint32_t ctx, uint32_t id, const void *key,
		     uint32_t key_size, const void *value, uint32_t value_size, uint32_t flags,
		     struct wire_answer **a);
/* The instructions are copied to @offset of the shared memory, which must lie in buffer @buffer at @in_buffer. */
uint32_t wire_prog(struct wire_client *c, uint32_t ctx, uint32_t id, uint32_t kind, const void *insns,
		   uint32_t num_insns, uint32_t buffer, uint64_t in_buffer, uint64_t offset,
		   const uint8_t *arg_kind, uint32_t num_args, struct wire_answer **a);

struct wire_point {
	uint32_t timeline;
	uint64_t seq;
	const struct virtio_gpgpu_fence *fences;
	uint32_t num_fences;
};

/* Jobs: hand in, and return the ticket. */
uint64_t wire_nop(struct wire_client *c, uint32_t ctx, struct wire_point at);
uint64_t wire_copy(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t dst,
		   uint64_t dst_offset, uint32_t src, uint64_t src_offset, uint64_t size);
uint64_t wire_fill(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t dst,
		   uint64_t dst_offset, uint64_t size, uint32_t pattern);
uint64_t wire_dispatch(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t prog,
		       const uint32_t grid[3], const uint32_t group[3], const struct virtio_gpgpu_arg *args,
		       uint32_t num_args);
uint64_t wire_packets(struct wire_client *c, uint32_t ctx, struct wire_point at, uint32_t flags,
		      uint32_t prog, uint32_t buffer, uint64_t offset, uint32_t stride,
		      const struct virtio_gpgpu_packet_desc *descs, uint32_t num_packets);

/* wire_status() - wait for a ticket and throw the answer away but for its status. */
uint32_t wire_status(struct wire_client *c, uint64_t ticket);

/* ---- the socket to a worker ---- */

/* wire_spawn() - start a worker with --fd and these further arguments (NULL at the end). Return: the socket. */
int wire_spawn(const char *program, pid_t *pid, const char *const *args);
/* wire_hello() - greet. Return: false if the worker went away. */
bool wire_hello(int socket, struct gpgpu_msg_welcome *welcome);
/* wire_message() - send a message of @size bytes and wait for its ACK. Return: its error, or -EPIPE. */
int wire_message(int socket, uint32_t type, uint32_t session, void *message, size_t size);
/* wire_memfd() - a memory file of @size bytes sealed against shrinking. */
int wire_memfd(const char *name, uint64_t size);
/* wire_send_open() - the bare OPEN, for tests that send it wrong. Return: ACK's error, or -EPIPE. */
int wire_send_open(int socket, struct gpgpu_msg_open *msg, const int *fds, int num_fds, char message[128]);

#endif
