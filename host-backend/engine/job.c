/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * job.c - the life of a job: accepted, held, ready, ended; timelines, fences, cancelling, time limits.
 *
 * How it works: jobs of one timeline end in order. When one becomes the first of its timeline it is put on the
 * session's `heads`, which gp_jobs_advance() empties: what has a fence left is filed under that fence's point in
 * `waiting`, the rest gets ready. When a job ends, those that are filed under the points that have been reached
 * with it, and no others, are put on `heads` again. gp_jobs_advance() goes on until nothing is left there, so
 * that a chain of empty jobs is a loop and never a recursion.
 *
 * A job that is ended early (cancelled, or over its time) while others of its timeline run before it is
 * only marked: it ends when its turn comes, which is at most a slice later for those that are ended
 * together. So a timeline's `reached` never runs ahead of a job that still runs.
 *
 * Every job ends: fences are given GP_HOLD_NS from when the job is the first of its timeline, longer only
 * while everything that they wait for is running or waits in turn for what runs; running is given GP_RUN_NS.
 *
 * Threads: under the session's lock; the engine's lock is taken inside it.
 */
#include <string.h>
#include "engine.h"
#include "job.h"
#include "retire.h"
#include "rt/clock.h"

static void end_job(struct gp_job *job, struct list *done);

/* By the point that they wait for. */
static gint compare_waiting(gconstpointer a, gconstpointer b, gpointer opaque)
{
	const struct virtio_gpgpu_fence *x = &((const struct gp_wait *)a)->fence;
	const struct virtio_gpgpu_fence *y = &((const struct gp_wait *)b)->fence;

	if (x->ctx_id != y->ctx_id)
		return x->ctx_id < y->ctx_id ? -1 : 1;
	if (x->timeline != y->timeline)
		return x->timeline < y->timeline ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* The context that fence @i of @job names; NULL if it has been destroyed, also if another has its id now. */
static struct gp_context *fence_context(const struct gp_job *job, uint32_t i)
{
	struct gp_context *ctx = gp_context_find(job->session, job->fences[i].ctx_id);

	return ctx && ctx->serial == job->fence_ctx[i] ? ctx : NULL;
}

static bool fence_reached(const struct gp_job *job, uint32_t i)
{
	const struct gp_context *ctx = fence_context(job, i);

	return !ctx || ctx->timelines[job->fences[i].timeline].reached >= job->fences[i].seq;
}

/* Forgets the fences that have been reached. Return: true if none is left. */
static bool fences_reached(struct gp_job *job)
{
	while (job->num_fences && fence_reached(job, job->num_fences - 1))
		job->num_fences--;
	return !job->num_fences;
}

static bool is_head(const struct gp_job *job)
{
	return job->timeline->jobs.next == &job->timeline_link;
}

/* Files @job under the last of its fences. */
static void wait_for_fence(struct gp_job *job)
{
	job->wait.fence = job->fences[job->num_fences - 1];
	job->wait.place = g_sequence_insert_sorted(job->session->waiting, &job->wait, compare_waiting, NULL);
}

static void stop_waiting(struct gp_job *job)
{
	if (job->wait.place)
		g_sequence_remove(job->wait.place);
	job->wait.place = NULL;
}

/* To gp_jobs_advance(): it is the first of its timeline, and may not have to wait any more. */
static void look_again(struct gp_job *job)
{
	stop_waiting(job);
	if (list_empty(&job->held_link))
		list_add_tail(&job->session->heads, &job->held_link);
}

/* Takes up those that wait for a point from @first to @last. No job waits for seq 0. */
static void points_reached(struct gpgpu_session *s, const struct virtio_gpgpu_fence *first,
			   const struct virtio_gpgpu_fence *last)
{
	struct gp_wait from = { .fence = *first }, to = { .fence = *last };
	GSequenceIter *pos = g_sequence_search(s->waiting, &from, compare_waiting, NULL), *next;

	for (; !g_sequence_iter_is_end(pos); pos = next) {
		struct gp_wait *wait = g_sequence_get(pos);

		if (compare_waiting(wait, &to, NULL) > 0)
			break;
		next = g_sequence_iter_next(pos);
		look_again(container_of(wait, struct gp_job, wait));
	}
}

void gp_jobs_context_gone(struct gpgpu_session *s, const struct gp_context *ctx)
{
	points_reached(s, &(struct virtio_gpgpu_fence){ ctx->id, 0, 0 },
		       &(struct virtio_gpgpu_fence){ ctx->id, UINT32_MAX, UINT64_MAX });
}

static struct gp_result check_fences(struct gpgpu_session *s, struct gp_job *job,
				     const struct virtio_gpgpu_job *r)
{
	for (uint32_t i = 0; i < job->num_fences; i++) {
		const struct virtio_gpgpu_fence *fence = &job->fences[i];
		const struct gp_context *ctx;

		if (fence->timeline >= VIRTIO_GPGPU_MAX_TIMELINES || !fence->seq)
			return GP_ERR(INVALID, FENCE, i);
		ctx = gp_context_find(s, fence->ctx_id);
		if (!ctx)
			return GP_ERR(NOT_FOUND, FENCE, i);
		job->fence_ctx[i] = ctx->serial;
		/* It would wait for itself. */
		if (fence->ctx_id == job->ctx->id && fence->timeline == r->timeline && fence->seq >= r->seq)
			return GP_ERR(INVALID, FENCE, i);
	}
	return GP_OK;
}

struct gp_result gp_job_new(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
			    size_t fixed, struct gp_job **out)
{
	const struct virtio_gpgpu_job *r = (const void *)(req->bytes + sizeof(struct virtio_gpgpu_req_hdr));
	struct gp_timeline *timeline;
	struct gp_result result;
	struct gp_job *job;

	*out = NULL;
	if (r->num_fences > VIRTIO_GPGPU_MAX_FENCES)
		return GP_ERR(INVALID, COUNT, r->num_fences);
	if (req->length - fixed < r->num_fences * sizeof(struct virtio_gpgpu_fence))
		return GP_ERR(INVALID, LENGTH, offsetof(struct virtio_gpgpu_req_hdr, length));
	if (r->timeline >= VIRTIO_GPGPU_MAX_TIMELINES)
		return GP_ERR(INVALID, ID, r->timeline);
	timeline = &ctx->timelines[r->timeline];
	if (r->seq <= timeline->submitted)
		return GP_ERR(INVALID, SEQUENCE, timeline->submitted);
	if (s->num_jobs >= s->limits.max_jobs)
		return GP_ERR(LIMIT, JOB_LIMIT, s->limits.max_jobs);

	job = g_new0(struct gp_job, 1);
	job->session = s;
	job->ctx = ctx;
	job->req = req;
	job->timeline = timeline;
	job->seq = r->seq;
	job->type = req->type;
	job->num_fences = r->num_fences;
	memcpy(job->fences, req->bytes + fixed, r->num_fences * sizeof(job->fences[0]));
	result = check_fences(s, job, r);
	if (result.status) {
		g_free(job);
		return result;
	}
	list_init(&job->link);
	list_init(&job->timeline_link);
	list_init(&job->held_link);
	gp_sched_entry_init(&job->entry);
	*out = job;
	return GP_OK;
}

static void free_job(struct gp_job *job)
{
	for (uint32_t i = 0; i < job->num_buffers; i++)
		gp_object_unref(&job->buffers[i]->object);
	if (job->prog)
		gp_object_unref(&job->prog->object);
	if (job->session->engine->ops->forget)
		job->session->engine->ops->forget(job->session->engine->device, job);
	g_free(job->order);
	g_free(job->parts);
	g_free(job->left);
	g_free(job);
}

void gp_job_drop(struct gp_job *job)
{
	free_job(job);
}

void gp_job_use(struct gp_job *job, struct gp_object *object)
{
	gp_object_ref(object);
	if (object->type == VIRTIO_GPGPU_OBJ_PROG)
		job->prog = (struct gp_program *)object;
	else
		job->buffers[job->num_buffers++] = (struct gp_buffer *)object;
}

/* It is the first of its timeline now. */
static void becomes_head(struct gp_job *job)
{
	job->head_since = gp_session_clock(job->session, gp_now());
	look_again(job);
}

static struct gp_job *head_of(const struct gp_timeline *timeline)
{
	if (list_empty(&timeline->jobs))
		return NULL;
	return container_of(timeline->jobs.next, struct gp_job, timeline_link);
}

struct gp_result gp_job_submit(struct gp_job *job, struct list *done)
{
	struct gpgpu_session *s = job->session;
	bool first = list_empty(&job->timeline->jobs);

	job->arrived = gp_now();
	job->timeline->submitted = job->seq;
	list_add_tail(&job->timeline->jobs, &job->timeline_link);
	list_add_tail(&s->jobs, &job->link);
	s->num_jobs++;
	s->job_bytes += job->bytes;
	job->ctx->jobs++;
	if (first) {
		becomes_head(job);
		gp_jobs_advance(s, done);
	}
	return GP_PENDING;
}

/* Its fences have been reached: to the scheduler, or ended at once if it has nothing to run. */
static void make_ready(struct gp_job *job, struct list *done)
{
	struct gpgpu_session *s = job->session;
	struct gpgpu_engine *engine = s->engine;
	uint64_t now = gp_now();

	job->state = GP_JOB_READY;
	if (!job->items || job->result.status) {
		end_job(job, done);
		return;
	}
	job->ready_since = gp_session_clock(s, now);
	if (job->prog) {
		gp_clock_read(&job->clock);
		job->env.clock = &job->clock;
	}
	pthread_mutex_lock(&engine->lock);
	gp_job_start(job);
	gp_sched_enqueue(&engine->sched, &job->ctx->queue, &job->entry, false, now);
	gp_timer_wake(engine);
	if (__atomic_load_n(&s->corked, __ATOMIC_RELAXED))
		s->unkicked = true;
	else
		engine->ops->kick(engine->device);
	pthread_mutex_unlock(&engine->lock);
}

void gp_jobs_advance(struct gpgpu_session *s, struct list *done)
{
	struct list *link;

	while ((link = list_pop(&s->heads))) {
		struct gp_job *job = container_of(link, struct gp_job, held_link);

		if (job->result.status || fences_reached(job))
			make_ready(job, done);
		else
			wait_for_fence(job);
	}
	if (!g_sequence_is_empty(s->waiting)) {
		pthread_mutex_lock(&s->engine->lock);
		gp_timer_wake(s->engine);
		pthread_mutex_unlock(&s->engine->lock);
	}
}

static void answer_packets(struct gp_job *job)
{
	struct virtio_gpgpu_resp_packets *resp = (void *)job->req->response;
	struct gpgpu_stats *stats = &job->session->stats;

	if (!job->slices)
		return;
	for (uint64_t i = 0; i < job->items; i++) {
		uint32_t verdict = job->out[i].verdict;

		if (verdict < G_N_ELEMENTS(resp->verdicts))
			resp->verdicts[verdict]++;
		resp->bytes += job->in[i].data_len;
	}
	stats->packets += job->items;
	stats->bytes += resp->bytes;
	for (size_t i = 0; i < G_N_ELEMENTS(resp->verdicts); i++)
		stats->verdicts[i] += resp->verdicts[i];
}

/*
 * Answers @job and forgets it. Nothing of it runs. Its timeline goes on when the caller calls
 * gp_jobs_advance().
 */
static void end_job(struct gp_job *job, struct list *done)
{
	struct gpgpu_session *s = job->session;
	struct gp_context *ctx = job->ctx;
	struct gp_request *req = job->req;
	struct virtio_gpgpu_resp_job *resp;
	struct gp_result result = job->result;
	uint32_t timeline = (uint32_t)(job->timeline - ctx->timelines);
	struct gp_job *next;

	job->state = GP_JOB_DONE;
	list_del(&job->link);
	list_del(&job->timeline_link);
	job->timeline->reached = job->seq;
	points_reached(s, &(struct virtio_gpgpu_fence){ ctx->id, timeline, 0 },
		       &(struct virtio_gpgpu_fence){ ctx->id, timeline, job->seq });
	next = head_of(job->timeline);
	if (next)
		becomes_head(next);

	resp = (void *)req->response;
	if (!resp)
		resp = gp_response(req, sizeof(*resp));
	if (job->type == VIRTIO_GPGPU_CMD_PACKETS)
		answer_packets(job);
	/* A packet's fault is in its result; a grid's can only be told here. */
	if (job->lost_status && !result.status)
		result = (struct gp_result){ job->lost_status, job->lost_reason, 0 };
	else if (job->type != VIRTIO_GPGPU_CMD_PACKETS && !result.status && job->faults.count)
		result = (struct gp_result){ VIRTIO_GPGPU_S_FAULT, job->faults.reason, job->faults.first };
	resp->device_ns = job->device_ns;
	resp->queued_ns = (job->first_slice ? job->first_slice : gp_now()) - job->arrived;
	resp->fault_count = job->faults.count;
	resp->fault_insn = job->faults.insn;
	resp->slices = job->slices;
	if (!job->slices)
		req->num_ranges = 0;
	s->stats.jobs++;
	s->stats.faults += job->faults.count;
	gp_answer(s, req, result, done);

	s->num_jobs--;
	s->job_bytes -= job->bytes;
	ctx->jobs--;
	free_job(job);
	if (s->resetting)
		pthread_cond_broadcast(&s->changed);
	gp_context_ended(s, ctx, done);
	gp_retire_run(s);
}

void gp_job_finish(struct gp_job *job)
{
	struct gpgpu_session *s = job->session;
	struct list done;

	list_init(&done);
	pthread_mutex_lock(&s->lock);
	end_job(job, &done);
	gp_jobs_advance(s, &done);
	gp_session_unlock(s, &done);
}

void gp_job_end_early(struct gp_job *job, struct gp_result result, struct list *done)
{
	struct gpgpu_engine *engine = job->session->engine;
	bool end;

	if (job->result.status)
		return;
	if (job->state != GP_JOB_READY) {
		job->result = result;
		if (is_head(job))
			look_again(job);
		return;
	}
	pthread_mutex_lock(&engine->lock);
	/* It has ended by itself, and whoever ran it waits for the session's lock to say so. */
	if (job->finishing) {
		pthread_mutex_unlock(&engine->lock);
		return;
	}
	job->result = result;
	end = gp_job_cancel(job, gp_now());
	pthread_mutex_unlock(&engine->lock);
	if (end)
		end_job(job, done);
}

void gp_jobs_end_early(struct gpgpu_session *s, const struct gp_context *ctx, struct gp_result result,
		       struct list *done)
{
	struct list *pos, *next;

	/* Only the job itself leaves the list meanwhile: the others are ended below. */
	list_for_each_safe(pos, next, &s->jobs)
	{
		struct gp_job *job = container_of(pos, struct gp_job, link);

		if (!ctx || job->ctx == ctx)
			gp_job_end_early(job, result, done);
	}
	gp_jobs_advance(s, done);
}

/*
 * What the first fence of @job from its `next_fence` on that has not been reached says of it: MOVES if there is
 * none, STUCK if nobody has submitted its point, UNKNOWN with the job that comes next on that timeline in @on.
 */
static enum gp_job_outlook look_at_fences(struct gp_job *job, struct gp_job **on)
{
	for (; job->next_fence < job->num_fences; job->next_fence++) {
		const struct virtio_gpgpu_fence *fence = &job->fences[job->next_fence];
		const struct gp_timeline *timeline;

		if (fence_reached(job, job->next_fence))
			continue;
		timeline = &fence_context(job, job->next_fence)->timelines[fence->timeline];
		if (fence->seq > timeline->submitted)
			return GP_OUTLOOK_STUCK;
		*on = head_of(timeline);
		return GP_OUTLOOK_UNKNOWN;
	}
	return GP_OUTLOOK_MOVES;
}

/*
 * Does everything that @job waits for move, so that waiting longer makes sense?
 *
 * Depth first along the fences, the way back kept in the jobs. Each job is looked at once in a @round; one that is
 * met again on its own way waits for itself.
 */
static bool will_be_reached(struct gp_job *job, uint64_t round)
{
	struct gp_job *at = job->round == round ? NULL : job;

	job->waited_by = NULL;
	while (at) {
		struct gp_job *on = NULL;

		if (at->round != round) {
			at->round = round;
			at->next_fence = 0;
			/* If it does not come to be known to move, it does not. */
			at->outlook = GP_OUTLOOK_STUCK;
		}
		switch (look_at_fences(at, &on)) {
		case GP_OUTLOOK_MOVES:
			at->outlook = GP_OUTLOOK_MOVES;
			at = at->waited_by;
			continue;
		case GP_OUTLOOK_STUCK:
			return false;
		case GP_OUTLOOK_UNKNOWN:
			break;
		}
		if (on->state == GP_JOB_READY || (on->round == round && on->outlook == GP_OUTLOOK_MOVES)) {
			at->next_fence++;
		} else if (on->round == round) {
			return false;
		} else {
			on->waited_by = at;
			at = on;
		}
	}
	return job->outlook == GP_OUTLOOK_MOVES;
}

/* @since may be later than @clock: it was read before the lock was taken. */
static bool over(uint64_t clock, uint64_t since, uint64_t limit)
{
	return clock > since && clock - since >= limit;
}

bool gp_jobs_check_time(struct gpgpu_session *s, uint64_t now, struct list *done)
{
	uint64_t clock = gp_session_clock(s, now);
	struct list *pos, *next;
	bool ended = false;
	uint64_t round = ++s->check_round;

	if (s->paused || s->resetting)
		return s->num_jobs;
	list_for_each_safe(pos, next, &s->jobs)
	{
		struct gp_job *job = container_of(pos, struct gp_job, link);

		if (job->state == GP_JOB_READY) {
			if (!over(clock, job->ready_since, GP_RUN_NS))
				continue;
			gp_job_end_early(job, GP_ERR(TIMEOUT, NONE, GP_RUN_NS / 1000000), done);
			ended = true;
		} else if (is_head(job)) {
			if (!over(clock, job->head_since, GP_HOLD_NS) || will_be_reached(job, round))
				continue;
			gp_job_end_early(job, GP_ERR(TIMEOUT, FENCE, GP_HOLD_NS / 1000000), done);
			ended = true;
		}
	}
	if (ended)
		gp_jobs_advance(s, done);
	return s->num_jobs;
}

struct gp_result gp_cmd_job_cancel(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	const struct virtio_gpgpu_req_job_cancel *r = (const void *)req->bytes;
	struct gp_timeline *timeline;
	struct list *pos, *next;

	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, offsetof(struct virtio_gpgpu_req_job_cancel, reserved));
	if (r->timeline >= VIRTIO_GPGPU_MAX_TIMELINES)
		return GP_ERR(INVALID, ID, r->timeline);
	timeline = &ctx->timelines[r->timeline];
	if (!r->seq || r->seq > timeline->submitted)
		return GP_ERR(NOT_FOUND, SEQUENCE, timeline->submitted);
	list_for_each_safe(pos, next, &timeline->jobs)
	{
		struct gp_job *job = container_of(pos, struct gp_job, timeline_link);

		if (job->seq > r->seq)
			break;
		gp_job_end_early(job, GP_ERR(CANCELLED, NONE, 0), done);
	}
	gp_jobs_advance(s, done);
	return GP_OK;
}
