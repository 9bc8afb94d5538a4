/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine.h - inside of the engine: the engine, sessions and requests.
 *
 * Locks, in the order in which they are taken:
 *   session->lock	objects, contexts, timelines, job lists, memory and counters of a session
 *   engine->lock	the scheduler, the progress of jobs, what runs where, the list of sessions
 *   compiler->lock	the queue of programs to compile (compile.c)
 * Callbacks are called with none held: whoever ends requests under a session's lock puts them on a list
 * that gp_session_unlock() delivers.
 */
#ifndef GPGPU_ENGINE_H
#define GPGPU_ENGINE_H

#include <pthread.h>
#include <time.h>
#include "device.h"
#include "gpgpu-host.h"
#include "list.h"
#include "object.h"
#include "sched.h"

#define GP_MAX_REQUEST	 (1u << 20)
#define GP_MAX_JOB_BYTES (64u << 20) /* of requests and responses of jobs that have not ended */
#define GP_MAX_THREADS	 256

/* How long a job may wait for its fences, and run, before it is answered S_TIMEOUT. */
#define GP_HOLD_NS (10ull * 1000000000)
#define GP_RUN_NS  (60ull * 1000000000)

struct gp_compiler;
struct gp_cache;

struct gpgpu_engine {
	const struct gp_device_ops *ops;
	struct gp_device *device;
	const struct gp_gpu_ops *gpu; /* of gp_device_gpu */

	/* set by the device's create() */
	char title[64], target[32]; /* for struct virtio_gpgpu_caps */
	uint32_t servers; /* slices that can run at the same time */
	uint32_t cpus;   /* that programs see; of a CPU, one for each item that may be under way */
	uint32_t lanes; /* items that a GPU has under way at once, and so what a slice is worth starting for; 0: a CPU */
	uint64_t tick_hz; /* of gp_ticks() where operations on maps run */

	uint64_t slice_ns;
	uint32_t prog_flags; /* GP_PROG_* of everything that is compiled */
	struct gp_fibers *fibers; /* items run interleaved; else NULL */
	struct gp_compiler *compiler;

	pthread_mutex_t lock;
	pthread_cond_t slice_end; /* a slice of a session that is waited for has ended */
	struct gp_sched sched;
	struct list sessions;

	pthread_t timer;
	pthread_cond_t timer_cond;
	bool timer_sleeps; /* without a time limit */
	bool quit;
};

/* One request from submit to callback. */
struct gp_request {
	struct list link;
	gpgpu_complete_fn *complete;
	void *opaque;
	enum gpgpu_queue_kind queue;
	size_t capacity; /* bytes the response may have */
	uint64_t cookie;
	uint32_t type, flags, ctx_id, generation;
	struct gpgpu_range ranges[VIRTIO_GPGPU_MAX_ARGS];
	size_t num_ranges;
	uint8_t *response; /* zeroed; `small` or on the heap */
	size_t response_length; /* header included; 0: header only */
	uint8_t small[384];
	size_t length;
	uint8_t bytes[]; /* the copy of what the guest sent */
};

/* What a struct gp_sched_entry is part of. */
enum gp_entry_kind {
	GP_ENTRY_JOB, /* struct gp_job */
	GP_ENTRY_CALLS, /* struct gp_calls */
};

/* Operations on maps that a device is to do and has not begun; shared with jobs as one more context. Engine's lock. */
struct gp_calls {
	struct list waiting; /* struct gp_map_call, in the order in which they came */
	uint32_t num_waiting;
	struct gp_sched_queue queue;
	struct gp_sched_entry entry; /* queued while something waits that the device can do */
	uint64_t op_ns; /* that an operation usually takes */
};

struct gpgpu_session {
	struct gpgpu_engine *engine;
	char *name;
	uint8_t *shm;
	uint64_t shm_size;
	bool shared; /* the device reaches it in place, where it has memory of its own */
	gpgpu_event_fn *event;
	gpgpu_log_fn *log;
	void *event_opaque;
	struct gpgpu_limits limits; /* all filled in */
	int refs; /* atomic: the owner's, and programs being compiled */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* busy, jobs or gate changed while somebody waits */
	uint64_t features;
	uint32_t generation;
	bool paused; /* between quiesce and resume */
	bool resetting;
	bool closed;
	uint32_t busy; /* threads that execute a request or deliver answers */
	struct list deferred; /* requests that came while paused or resetting */
	struct list answered; /* requests answered while paused */
	struct list jobs; /* not ended */
	uint32_t num_jobs;
	uint32_t num_calls; /* operations on maps that are a device's and were not answered, those waiting included */
	uint64_t job_bytes;
	struct list heads; /* jobs that are the first of their timeline, HELD, and to be looked at */
	GSequence *waiting; /* struct gp_wait of the others that are the first and HELD, by their point */
	uint64_t contexts_made;
	uint64_t check_round; /* of gp_jobs_check_time() */
	struct list compiles; /* struct gp_compile of this session, not answered */
	struct gp_table tables[VIRTIO_GPGPU_OBJ_PROG + 1]; /* by enum virtio_gpgpu_object */
	GHashTable *contexts;
	uint64_t memory, memory_max, memory_limit;
	struct gpgpu_stats stats; /* but the times and the memory */
	struct list retired_fresh, retired_waiting; /* retire.c */
	uint32_t num_retired;
	uint32_t num_programs; /* that there are, with and without an id */
	bool retiring;
	struct gp_map **inner; /* GP_MAX_INNER: maps that are values of others, as programs see them; or NULL */
	struct gp_map_object **inner_objects; /* the same */
	uint32_t inner_used, inner_next;
	struct list fibs; /* FIB maps, those made last first */
	struct gp_cache *cache;
	int64_t compile_budget; /* ns of compiling that it may still use */
	uint64_t compile_refilled; /* when that was last topped up; 0: never */
	uint64_t pause_start, paused_ns; /* time in pauses does not count for time limits */

	pthread_mutex_t records_lock; /* innermost: records.c */
	uint64_t prints_since, prints_hidden; /* lines that programs printed; records_lock */
	uint32_t prints;

	/* compiler's lock */
	uint64_t compile_vtime;
	uint32_t compiles_queued, compiles_again;
	bool compiling;

	/* engine's lock */
	struct list engine_link;
	struct gp_sched_tenant tenant;
	struct gp_calls calls;
	uint32_t slices; /* running now */
	uint32_t phase, phase_slices[2]; /* retire.c */
	bool waited_for; /* somebody waits for slices to become 0 */
	bool corked; /* atomic: do not wake threads yet */
	bool unkicked; /* a job came while corked */
};

static inline uint64_t gp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * gp_session_unlock() - release the session's lock and deliver what is on @done.
 * While the session is paused the answers are kept until it resumes.
 */
void gp_session_unlock(struct gpgpu_session *s, struct list *done);
void gp_session_ref(struct gpgpu_session *s);
void gp_session_unref(struct gpgpu_session *s);

/* gp_session_clock() - time without pauses, for time limits. Session's lock. */
uint64_t gp_session_clock(const struct gpgpu_session *s, uint64_t now);

/* gp_timer_wake() - something needs the timer: a job is held or runs. Engine's lock. */
void gp_timer_wake(struct gpgpu_engine *engine);

/* wire.c */

/*
 * gp_execute() - parse and carry out one request. Session's lock held. If it is answered at once it is
 * put on @done; otherwise a job or a compile owns it.
 */
void gp_execute(struct gpgpu_session *s, struct gp_request *req, struct list *done);
struct gp_request *gp_request_new(enum gpgpu_queue_kind queue, const void *bytes, size_t length,
				  size_t capacity, gpgpu_complete_fn *complete, void *opaque);
void gp_request_free(struct gp_request *req);
/* gp_response() - zeroed room for a response of @length bytes, header included. */
void *gp_response(struct gp_request *req, size_t length);
/* gp_response_drop() - the response is a header only after all. */
void gp_response_drop(struct gp_request *req);
/* gp_answer() - fill in the header and put the request on @done. */
void gp_answer(struct gpgpu_session *s, struct gp_request *req, struct gp_result result, struct list *done);

/* What handlers return when the answer comes later. */
#define GP_PENDING ((struct gp_result){ UINT32_MAX, 0, 0 })

/* gp_padded() - is a name zero behind its first NUL? */
bool gp_padded(const uint8_t *name, size_t size);
bool gp_bytes_zero(const void *bytes, size_t length);
/* gp_range_ok() - does [offset, offset + size) lie in an object of @limit bytes? Cannot overflow. */
static inline bool gp_range_ok(uint64_t offset, uint64_t size, uint64_t limit)
{
	return offset <= limit && size <= limit - offset;
}

/* Handlers; session's lock held. They may assume what the table in wire.c says of sizes. */
typedef struct gp_result gp_handler(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				    struct list *done);
gp_handler gp_cmd_get_caps, gp_cmd_get_stats;
gp_handler gp_cmd_ctx_create, gp_cmd_ctx_destroy, gp_cmd_ctx_attach, gp_cmd_ctx_detach;
gp_handler gp_cmd_buffer_create, gp_cmd_buffer_destroy;
gp_handler gp_cmd_map_create, gp_cmd_map_destroy, gp_cmd_map_op, gp_cmd_map_freeze;
gp_handler gp_cmd_map_dump, gp_cmd_map_load, gp_cmd_map_read;
gp_handler gp_cmd_prog_create, gp_cmd_prog_destroy, gp_cmd_prog_info;
gp_handler gp_cmd_job_cancel, gp_cmd_dispatch, gp_cmd_copy, gp_cmd_nop, gp_cmd_packets;

/* groups.c; engine's lock */

/* gp_group_ready() - give a thread what it needs to run group programs. Return: false without memory. */
bool gp_group_ready(struct gpgpu_engine *engine, struct gp_thread *thread);
void gp_group_free(struct gpgpu_engine *engine, struct gp_thread *thread);

/* compile.c */
struct gp_compiler *gp_compiler_new(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
				    GError **error);
/* gp_compiler_stop() - from now on what asks it is refused, and who waits for an answer gets none. */
void gp_compiler_stop(struct gp_compiler *compiler);
void gp_compiler_free(struct gp_compiler *compiler);
/* gp_compiles_cancel() - answer @ctx's (NULL: all) programs in the making. Session's lock. */
void gp_compiles_cancel(struct gpgpu_session *s, const struct gp_context *ctx, struct gp_result result,
			struct list *done);
/* gp_compiler_kernel() - one that is no program's, for the device. Return: NULL, and why not. */
struct gp_image *gp_compiler_kernel(struct gp_compiler *compiler, enum gp_kernel kernel,
				    char why[GP_MESSAGE]);
struct gp_cache *gp_cache_new(void);
void gp_cache_free(struct gp_cache *cache);

#endif
