/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.h - one job: what it runs, where it stands on its timeline, how far it has got.
 *
 * A job is HELD until it is the first of its timeline and its fences have been reached, then READY (the
 * scheduler hands its chunks out), then DONE. State and timeline: the session's lock. Everything below
 * "progress": the engine's lock. What runs is constant once the job is READY.
 */
#ifndef GPGPU_JOB_H
#define GPGPU_JOB_H

#include "engine.h"

enum gp_job_state { GP_JOB_HELD, GP_JOB_READY, GP_JOB_DONE };

/* Where a job stands among those that wait. */
struct gp_wait {
	struct virtio_gpgpu_fence fence;
	GSequenceIter *place; /* in session->waiting, or NULL */
};

/* Of a job that waits for fences: is what it waits for on its way? */
enum gp_job_outlook { GP_OUTLOOK_UNKNOWN, GP_OUTLOOK_MOVES, GP_OUTLOOK_STUCK };

struct gp_span {
	uint64_t first, end;
};

/* A share of a batch whose packets run one after the other (order=flow, order=all). */
struct gp_part {
	uint32_t next, end; /* in gp_job.order, or packet numbers without one */
	bool busy;
};

struct gp_job {
	struct gpgpu_session *session;
	struct gp_context *ctx;
	struct gp_request *req;
	struct list link;  /* in session->jobs */
	struct list timeline_link; /* in timeline->jobs */
	struct list held_link; /* in session->heads, at times; HELD */
	struct gp_wait wait; /* HELD, and not on session->heads: what it waits for */
	struct gp_timeline *timeline;
	uint64_t seq;
	struct virtio_gpgpu_fence fences[VIRTIO_GPGPU_MAX_FENCES]; /* host endian */
	uint64_t bytes; /* of request and response */
	uint64_t fence_ctx[VIRTIO_GPGPU_MAX_FENCES]; /* serial of each fence's context */
	uint32_t num_fences;  /* those behind have been reached */
	enum gp_job_state state;
	uint64_t arrived;  /* ns */
	uint64_t head_since;  /* session clock: when it became the first of its timeline */
	uint64_t ready_since;  /* session clock */
	struct gp_result result; /* why it was ended early, S_OK otherwise */

	/* gp_jobs_check_time() */
	uint64_t round; /* of the session's, in which the rest was set */
	enum gp_job_outlook outlook;
	uint32_t next_fence;  /* the fences before have been seen to move */
	struct gp_job *waited_by; /* on the way from the job that is asked about */

	/* what runs */
	uint32_t type;   /* enum virtio_gpgpu_cmd */
	uint64_t items; /* of a group program: groups; 0: nothing runs */
	struct gp_program *prog; /* reference, or NULL */
	struct gp_buffer *buffers[VIRTIO_GPGPU_MAX_ARGS]; /* references */
	uint32_t num_buffers;
	struct gp_env env;
	struct gp_clock clock;
	struct gp_region args[VIRTIO_GPGPU_MAX_ARGS];
	uint64_t arg_values[VIRTIO_GPGPU_MAX_ARGS];
	struct gp_grid grid;
	uint8_t *dst;   /* COPY, FILL */
	const uint8_t *src;
	uint64_t size;
	uint32_t pattern;
	const struct gp_packet_in *in; /* in the request's copy */
	struct gp_packet_out *out; /* in the response */
	uint32_t *order;	 /* order=flow: packet numbers, part by part */
	struct gp_part *parts;  /* NULL: any item may run at any time */
	uint32_t num_parts;

	/* progress */
	struct gp_sched_entry entry;
	bool cancelled; /* hand out no more */
	uint32_t lost_status, lost_reason; /* why the device gave up on it, S_OK otherwise */
	struct gp_gpu_staging *staging; /* of a GPU: copies that it works on (gpu_stage.c) */
	uint32_t part_packets; /* of a GPU: packets of a part that are run by one launch */
	uint64_t next;   /* without parts: first item not handed out */
	struct gp_span *left;  /* handed out and not run, because a slice was ended early */
	uint32_t num_left;
	uint64_t remaining;  /* items not handed out */
	uint32_t in_flight;  /* chunks that run */
	double item_ns; /* 0: unknown */
	uint64_t last_count;  /* items of the last chunk */
	uint64_t device_ns;
	uint64_t first_slice;  /* ns, 0: none yet */
	uint32_t slices;
	struct gp_faults faults;
	bool finishing; /* whoever set it ends the job */
};

#define GP_CHUNK_OTHERS 16

/* What one slice runs. */
struct gp_chunk {
	uint64_t first, count;  /* with parts: positions in the part */
	uint32_t part;
	bool all_parts; /* instead of one: of each, up to whatever is left */
	uint64_t ran;   /* out */
	struct gp_faults faults; /* out */
	struct gp_program *others[GP_CHUNK_OTHERS]; /* out: reached by tail calls, that leave something */
	uint32_t num_others;
	uint32_t phase; /* gp_slice_end() */
};

#define GP_COPY_ITEM (64u << 10) /* bytes that COPY and FILL count as one item */

/* job.c: life of a job; session's lock held */

/*
 * gp_job_new() - check the common part of a job request and make a job of it.
 * @fixed: size of the command's own structure, after which the fences lie.
 * @ctx: its context; @out: the job, to be submitted or dropped.
 */
struct gp_result gp_job_new(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
			    size_t fixed, struct gp_job **out);
/* gp_job_drop() - forget a job that was not submitted; the request stays the caller's. */
void gp_job_drop(struct gp_job *job);
/* gp_job_submit() - put it on its timeline. Return: always GP_PENDING. */
struct gp_result gp_job_submit(struct gp_job *job, struct list *done);
/* gp_job_use() - take a reference to @object until the job ends. */
void gp_job_use(struct gp_job *job, struct gp_object *object);

/* gp_job_end_early() - cancel or time out; it is answered once its slices have ended. */
void gp_job_end_early(struct gp_job *job, struct gp_result result, struct list *done);
/* gp_jobs_end_early() - every job of @ctx (NULL: of all contexts). */
void gp_jobs_end_early(struct gpgpu_session *s, const struct gp_context *ctx, struct gp_result result,
		       struct list *done);
/* gp_jobs_advance() - let jobs run whose fences have been reached. */
void gp_jobs_advance(struct gpgpu_session *s, struct list *done);
/* gp_jobs_context_gone() - @ctx is being taken away: its points count as reached at the next advance. */
void gp_jobs_context_gone(struct gpgpu_session *s, const struct gp_context *ctx);
/* gp_jobs_check_time() - end jobs that are over their time limit. Return: whether there are jobs. */
bool gp_jobs_check_time(struct gpgpu_session *s, uint64_t now, struct list *done);

/* gp_job_finish() - end a job that ran; gp_job_put() returned true. No lock held. */
void gp_job_finish(struct gp_job *job);

/* run.c: handing out work; engine's lock held, but for gp_job_run() */

/* gp_job_cancel() - hand out no more. Return: true if nothing runs and the caller must end the job. */
bool gp_job_cancel(struct gp_job *job, uint64_t now);
/* gp_job_start() - prepare progress; @job has items. */
void gp_job_start(struct gp_job *job);
/* gp_job_has_work() - can a chunk be taken now? */
bool gp_job_has_work(const struct gp_job *job);
/* gp_job_take() - the next chunk, of about @slice_ns; takes the job out of the scheduler with the last. */
void gp_job_take(struct gp_job *job, uint64_t slice_ns, struct gp_chunk *chunk, uint64_t now);
/*
 * gp_job_run() - run @chunk on the calling thread. No lock held.
 * @stop: two enum gp_stop: what has been asked for, and that if it is GP_STOP_NOW.
 */
void gp_job_run(struct gp_job *job, struct gp_chunk *chunk, struct gp_thread *thread,
		const volatile uint32_t *stop);
/* gp_job_run_item() - run one item. Return: whether it ran; not so once the slice is to end. */
bool gp_job_run_item(const struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env,
		     struct gp_thread *thread, uint64_t item);
/* gp_faults_add() - @more to @sum. */
void gp_faults_add(struct gp_faults *sum, const struct gp_faults *more);
/* gp_job_lose() - the device gives up on @job, a chunk of which it has; it is put after that as usual. */
void gp_job_lose(struct gp_job *job, uint32_t status, uint32_t reason, uint64_t now);
/* gp_job_put() - @chunk took @ns. Return: true if the job has ended and the caller must finish it. */
bool gp_job_put(struct gp_job *job, struct gp_chunk *chunk, uint64_t ns, uint64_t now);

/* chain.c */

/* gp_packets_run() - run packets, and what they call in turn. Return: how many; fewer only when told to stop. */
uint64_t gp_packets_run(const struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env,
			struct gp_thread *thread, uint64_t first, uint64_t count);

/* flow.c */

/* gp_flow_hash() - of the packet's addresses, protocol and ports. Reads only @length bytes. */
uint32_t gp_flow_hash(const uint8_t *packet, uint32_t length);
/* gp_flow_split() - fill job->order and job->parts so that packets of a flow stay in order. */
void gp_flow_split(struct gp_job *job, uint32_t parts);

#endif
