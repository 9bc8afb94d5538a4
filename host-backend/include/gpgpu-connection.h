/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu-connection.h - between QEMU and a gpgpu-worker: one UNIX socket, and per session a ring.
 *
 * How it works: the socket (SOCK_SEQPACKET, one message a datagram, struct gpgpu_msg in front) carries
 * set-up, descriptors, state changes and death. A session (one device) brings four descriptors: its
 * shared memory, its ring (a sealed-size memory file), and two eventfds. Requests go to the worker through
 * the request ring, responses come back through the response ring; neither side makes a system call
 * when the other is awake.
 *
 * Neither side trusts the other: every size and index read from the ring is copied once and checked. A
 * broken ring or an unknown message ends the connection, which QEMU treats as a lost device.
 *
 * All integers are in host byte order: both ends are on one host.
 */
#ifndef GPGPU_CONNECTION_H
#define GPGPU_CONNECTION_H

#include <stdint.h>

#define GPGPU_CONNECTION_MAGIC	 0x47504731u /* "GPG1" */
#define GPGPU_CONNECTION_VERSION 1

enum gpgpu_msg_type {
	/* QEMU to worker */
	GPGPU_MSG_HELLO = 1, /* struct gpgpu_msg_hello */
	GPGPU_MSG_OPEN = 2, /* struct gpgpu_msg_open; descriptors: shm, ring, kick, call */
	GPGPU_MSG_CLOSE = 3, /* header only; quiesces, then ACK */
	GPGPU_MSG_PAUSE = 4, /* header only; ACK once nothing of the guest's is written any more */
	GPGPU_MSG_RESUME = 5, /* header only; ACK */
	GPGPU_MSG_RESET = 6, /* struct gpgpu_msg_reset; every request answered, then ACK */
	GPGPU_MSG_QUOTA = 7, /* struct gpgpu_msg_quota; ACK */
	/* worker to QEMU */
	GPGPU_MSG_WELCOME = 32, /* struct gpgpu_msg_welcome, answer to HELLO */
	GPGPU_MSG_ACK = 33, /* struct gpgpu_msg_ack */
	GPGPU_MSG_EVENT = 34, /* struct gpgpu_msg_event */
	GPGPU_MSG_LOST = 35, /* struct gpgpu_msg_lost: a GPU was; the process may end behind it */
};

struct gpgpu_msg {
	uint32_t type;  /* enum gpgpu_msg_type */
	uint32_t size;  /* of the whole message */
	uint32_t session; /* chosen by QEMU, not 0 for session messages */
	uint32_t token; /* QEMU's own; an ACK returns it */
};

struct gpgpu_msg_hello {
	struct gpgpu_msg msg;
	uint32_t magic, version;
};

struct gpgpu_msg_welcome {
	struct gpgpu_msg msg;
	uint32_t magic, version;
	uint32_t threads; /* of the device */
	uint32_t pid;
	char device[64]; /* name, NUL terminated */
};

struct gpgpu_msg_quota {
	struct gpgpu_msg msg;
	uint32_t weight, cap; /* as struct gpgpu_quota */
	uint64_t memory_limit;
};

struct gpgpu_msg_open {
	struct gpgpu_msg msg;
	uint64_t shm_size;
	uint64_t ring_size; /* bytes of the ring file */
	uint64_t features; /* 1 << bit */
	uint32_t generation;
	uint32_t weight, cap;
	uint32_t max_contexts, max_buffers, max_maps, max_programs, max_jobs; /* 0: default */
	uint32_t max_insns, max_batch, max_stride;
	uint32_t reserved;
	uint64_t memory_limit, max_buffer, max_map, fuel;
	char name[64];  /* QEMU's device id, for the log */
};

struct gpgpu_msg_reset {
	struct gpgpu_msg msg;
	uint64_t features;
	uint32_t generation, reserved;
};

struct gpgpu_msg_ack {
	struct gpgpu_msg msg; /* session and token of what is acknowledged */
	int32_t error;  /* 0 or negative errno */
	uint32_t reserved;
	char message[128]; /* why, NUL terminated */
};

struct gpgpu_msg_event {
	struct gpgpu_msg msg;
	uint32_t type, reason; /* enum virtio_gpgpu_event_type, _reason */
	uint64_t value;
};

enum gpgpu_msg_loss { /* by whom */
		      GPGPU_MSG_LOSS_UNKNOWN = 0,
		      GPGPU_MSG_LOSS_GUILTY = 1, /* by what this worker had it do */
		      GPGPU_MSG_LOSS_INNOCENT = 2, /* by somebody else's work */
		      GPGPU_MSG_LOSS_GONE = 3, /* unplugged, or it does not come back */
};

/* What the GPU ran has been answered S_DEVICE_LOST. */
struct gpgpu_msg_lost {
	struct gpgpu_msg msg; /* session 0: of all */
	uint32_t loss; /* enum gpgpu_msg_loss */
	uint32_t over; /* 1: what was in its memory is lost, too, and the process ends; 0: it goes on */
	char message[128]; /* for the log, NUL terminated */
};

#define GPGPU_MSG_MAX 512

/*
 * The ring file: struct gpgpu_ring, then at req_offset req_size bytes, at resp_offset resp_size bytes;
 * sizes are powers of two. head and tail count bytes and never wrap (64 bits); the position is count &
 * (size - 1). A record is contiguous: where one would cross the end, a GPGPU_RING_PAD record
 * fills the rest. Producer: write record, then store-release tail; if `sleeping` of the consumer is
 * set (sequentially consistent), signal the eventfd. Consumer: load-acquire tail, copy what it needs, then
 * store-release head. A consumer sets `sleeping`, looks once more, then blocks on its eventfd.
 * A producer that finds the ring full sets `blocked`; the consumer, having freed space, clears it and signals
 * the producer's eventfd.
 */
struct gpgpu_ring_index {
	uint64_t tail;  /* producer's */
	uint32_t blocked; /* set by the producer, cleared by the consumer */
	uint32_t pad0[13];
	uint64_t head;  /* consumer's */
	uint32_t sleeping; /* consumer's */
	uint32_t pad1[13];
};

/* Counters that the worker publishes; read under the sequence lock: odd while being written. */
struct gpgpu_ring_stats {
	uint32_t sequence, reserved;
	uint64_t device_ns, waited_ns, throttled_ns;
	uint64_t jobs, packets, bytes, verdicts[5], faults;
	uint64_t memory, memory_max;
	uint64_t compiles, compile_ns, rejected;
};

struct gpgpu_ring {
	uint32_t magic, version;
	uint64_t req_offset, req_size;
	uint64_t resp_offset, resp_size;
	uint64_t pad[3];
	struct gpgpu_ring_index req; /* QEMU produces */
	struct gpgpu_ring_index resp; /* the worker produces */
	struct gpgpu_ring_stats stats;
};

#define GPGPU_RING_DATA_OFFSET 4096
#define GPGPU_RING_SIZE	       (4u << 20) /* default of req_size and resp_size */
#define GPGPU_MAX_REQUEST      (1u << 20) /* bytes of a request; config.max_request */
#define GPGPU_MAX_RESPONSE     (1u << 20)
#define GPGPU_MAX_RANGES       64  /* dirty ranges of a response; more are merged */

enum gpgpu_record_kind {
	GPGPU_RING_PAD = 0,
	GPGPU_RING_CONTROL = 1, /* request for the control queue */
	GPGPU_RING_COMPUTE = 2,
	GPGPU_RING_PACKET = 3,
	GPGPU_RING_RESPONSE = 4,
};

struct gpgpu_record {  /* 8-byte aligned in the ring */
	uint32_t size;  /* of the record, this header included; multiple of 8 */
	uint32_t kind;  /* enum gpgpu_record_kind */
	uint64_t tag;  /* QEMU's; a response returns it */
	uint32_t length; /* bytes of the request or response that follow (after the ranges) */
	uint32_t capacity; /* request: bytes its response may have; response: number of ranges */
	/* response: struct { uint64_t offset, size; } ranges[capacity]; then length bytes */
};

#endif
