/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu-host.h - libgpgpu-host, the engine: sessions that speak the wire protocol, on one device.
 *
 * How it works: an engine owns one device (what runs code), one scheduler and one connection to the
 * compiler. A session is one guest device: its objects, limits and counters. Request bytes go in
 * through gpgpu_session_submit(); the completion callback brings response bytes and the shared ranges
 * that were written. The worker's ring is one transport, tests and fuzzers are another.
 *
 * Invariants: a request is copied before it is parsed; the callback is called exactly once for every
 * submit, from submit itself or from an engine thread, never with an engine lock held; after
 * gpgpu_session_quiesce() returns nothing of the guest's is written and no callback comes until
 * gpgpu_session_resume(); after gpgpu_session_reset() and _free() every callback has been called.
 *
 * Ownership: the caller owns the shared memory mapping and keeps it until gpgpu_session_free(). All
 * functions may be called from any thread unless stated.
 */
#ifndef GPGPU_HOST_H
#define GPGPU_HOST_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpgpu_engine;
struct gpgpu_session;

enum gpgpu_loss {
	GPGPU_LOSS_UNKNOWN,
	GPGPU_LOSS_GUILTY, /* by what this engine had it do */
	GPGPU_LOSS_INNOCENT, /* by somebody else's work */
	GPGPU_LOSS_GONE, /* unplugged, or it does not come back */
};

/*
 * Called on an engine thread when a GPU was lost; what it ran is answered S_DEVICE_LOST.
 * @over: it is not back with what was in its memory: everything from now on is answered so.
 * @what: for the log.
 */
typedef void gpgpu_lost_fn(void *opaque, enum gpgpu_loss loss, bool over, const char *what);

struct gpgpu_engine_options {
	/*
	 * NULL or "cpu"; of a GPU its name, "amdgpu", behind which may follow a colon and its render node or PCI
	 * address, which `where` says otherwise. Without either: the first that will do.
	 */
	const char *device;
	const char *where;
	uint32_t threads;  /* CPU device: worker threads; 0: one per host CPU */
	const char *jit_program; /* path of gpgpu-jit, or NULL with jit_fd */
	int jit_fd;   /* connected socket to a gpgpu-jit, or -1 */
	uint32_t slice_us;  /* planned slice; 0: 2,000 */
	/*
	 * For finding races in programs: items of a job run interleaved, in an order that the seed decides. Slow: one
	 * device thread, long slices.
	 */
	bool interleave;
	uint64_t interleave_seed;
	bool one_step;   /* for who measures: programs never start with code that was made quickly */
	bool plain_sums;	 /* for tests: counters lose counts as any other load and store */
	/*
	 * Instead of jit_program and jit_fd (-1): where to get a socket to a compiler, now and again when one
	 * has died. @target: what it is to compile for, as gpgpu-jit's --target; NULL: this machine. Called on a compile
	 * thread. Return: a descriptor that passes to the engine, or -1.
	 */
	int (*jit_connect)(void *opaque, const char *target);
	void *jit_opaque;
	gpgpu_lost_fn *lost; /* may be NULL */
	void *lost_opaque;
};

/* gpgpu_engine_new() - Return: NULL with @error set on failure. */
struct gpgpu_engine *gpgpu_engine_new(const struct gpgpu_engine_options *options, GError **error);
void gpgpu_engine_free(struct gpgpu_engine *engine); /* all sessions must be gone */
const char *gpgpu_engine_device_name(const struct gpgpu_engine *engine);
uint32_t gpgpu_engine_threads(const struct gpgpu_engine *engine);

struct gpgpu_quota {
	uint32_t weight;	 /* 1..10,000; default 100 */
	uint32_t cap;   /* 1..10,000 of the device's time in 1/10,000; 10,000: no cap */
	uint64_t memory_limit;  /* bytes of maps, device buffers and programs */
};

struct gpgpu_limits {   /* 0: the engine's default; larger than its maximum: the maximum */
	uint32_t max_contexts, max_buffers, max_maps, max_programs, max_jobs;
	uint32_t max_insns, max_batch, max_stride;
	uint64_t max_buffer, max_map;
	uint64_t fuel;
};

/* Called on an engine thread. @event: struct virtio_gpgpu_event's type, reason and value. */
typedef void gpgpu_event_fn(void *opaque, uint32_t type, uint32_t reason, uint64_t value);

/* Called on an engine thread with a line for the log, without a newline. */
typedef void gpgpu_log_fn(void *opaque, const char *line);

struct gpgpu_session_options {
	const char *name;  /* for logs; copied */
	void *shm;   /* the device's shared memory, mapped; NULL with shm_size 0 */
	uint64_t shm_size;
	int shm_fd; /* the file that it is mapped from, for devices that can use it in place; 0 or less: none */
	uint64_t features; /* virtio_gpgpu feature bits that were negotiated, as 1 << bit */
	uint32_t generation;
	struct gpgpu_quota quota;
	struct gpgpu_limits limits;
	gpgpu_event_fn *event; /* may be NULL */
	gpgpu_log_fn *log; /* may be NULL */
	void *event_opaque; /* of both */
};

struct gpgpu_session *gpgpu_session_new(struct gpgpu_engine *engine,
					const struct gpgpu_session_options *options, GError **error);
void gpgpu_session_free(struct gpgpu_session *session);

struct gpgpu_range { /* bytes of the shared memory */
	uint64_t offset, size;
};

/*
 * @response: valid during the call; @length bytes, at most the capacity given; 0 if not even a
 * response header fitted.
 * @ranges: shared memory that the request wrote, to be marked dirty.
 */
typedef void gpgpu_complete_fn(void *opaque, const void *response, size_t length,
			       const struct gpgpu_range *ranges, size_t num_ranges);

enum gpgpu_queue_kind { GPGPU_QUEUE_CONTROL, GPGPU_QUEUE_COMPUTE, GPGPU_QUEUE_PACKET };

/*
 * gpgpu_session_submit() - hand in one request.
 * @request, @length: untrusted bytes, copied before return.
 * @capacity: bytes the response may have.
 */
void gpgpu_session_submit(struct gpgpu_session *session, enum gpgpu_queue_kind queue, const void *request,
			  size_t length, size_t capacity, gpgpu_complete_fn *complete, void *opaque);

/*
 * gpgpu_session_cork() - requests will be handed in by the calling thread, one behind the other: device threads
 * need not be woken for each.
 * gpgpu_session_uncork() - that was all for now. A single small job is run on the calling thread, if the device
 * has a place free, which costs less than waking another; anything else wakes the device's threads.
 */
void gpgpu_session_cork(struct gpgpu_session *session);
void gpgpu_session_uncork(struct gpgpu_session *session);

/*
 * gpgpu_session_quiesce() - stop at the end of the running slices. Blocks for about a slice; an item that takes much
 * longer than that (a fifth of a second) is ended, with R_OUT_OF_FUEL.
 */
void gpgpu_session_quiesce(struct gpgpu_session *session);
void gpgpu_session_resume(struct gpgpu_session *session);

/*
 * gpgpu_session_reset() - cancel every job (answered CANCELLED, reason RESET) and destroy every object.
 * Also while quiesced, in which case it calls back and the session stays quiesced. Running items are ended where they are.
 */
void gpgpu_session_reset(struct gpgpu_session *session, uint64_t features, uint32_t generation);

void gpgpu_session_set_quota(struct gpgpu_session *session, const struct gpgpu_quota *quota);

struct gpgpu_stats { /* since the session was made; survive a reset */
	uint64_t device_ns, waited_ns, throttled_ns;
	uint64_t jobs, packets, bytes, verdicts[5], faults;
	uint64_t memory, memory_max;
	uint64_t compiles, compile_ns, rejected;
	struct gpgpu_quota quota;
};

void gpgpu_session_stats(struct gpgpu_session *session, struct gpgpu_stats *stats);

#endif
