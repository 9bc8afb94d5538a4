/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.c - a job's work in chunks: how much a slice takes, running it on a CPU, what is left.
 *
 * How it works: items (work items, packets, 64 KiB blocks of a copy) are handed out in chunks of about a slice,
 * by what an item cost before; the first chunk of an unknown program is small, and chunks grow at most
 * sixteenfold, so that items that suddenly cost more do not make an endless slice. Several threads
 * work on one job at once. With ordered parts (order=flow, order=all) a part is with one thread at a time.
 *
 * A slice that was ended early puts what it did not run on `left`, which is handed out first.
 *
 * Threads: engine's lock, but for gp_job_run().
 */
#include <string.h>
#include "engine.h"
#include "fibers.h"
#include "job.h"
#include "map.h"
#include "rt/launch.h"

#define MIN_CHUNK_NS 20000 /* less is not worth handing to another thread */
#define MAX_GROWTH   16
#define COPY_ITEM_NS 5000 /* until it has been measured */
#define MAX_LANES    (1u << 24) /* of a launch */

static struct gpgpu_engine *engine_of(const struct gp_job *job)
{
	return job->session->engine;
}

/* Items of the first chunk while their cost is unknown. */
static uint64_t first_chunk(const struct gp_job *job)
{
	return job->type == VIRTIO_GPGPU_CMD_PACKETS ? 64 : job->prog && job->prog->grouped ? 1 : 16;
}

static uint64_t items_in(double ns, double item_ns)
{
	double items = ns / item_ns;

	return items < 1 ? 1 : items > 1e12 ? (uint64_t)1e12 : (uint64_t)items;
}

/*
 * Of a GPU: as many as run at once take hardly longer than one, however little is known. With fewer, an item would
 * seem to cost the more the fewer there are, and chunks would shrink to nothing.
 */
static uint64_t plan_lanes(const struct gp_job *job, uint64_t slice_ns)
{
	const struct gpgpu_engine *engine = engine_of(job);
	uint64_t least = engine->lanes, count;

	if (!job->prog)
		least = MAX(least * GP_COPY_LANE / GP_COPY_ITEM, 1);
	count = job->item_ns > 0 ? items_in((double)slice_ns, job->item_ns) : least;
	if (job->last_count && count / MAX_GROWTH > job->last_count)
		count = job->last_count * MAX_GROWTH;
	count = CLAMP(count, least, MAX_LANES);
	/* Lanes of one launch must not meet on a copy; launches do not run at the same time. */
	return job->prog && job->prog->per_cpu ? MIN(count, engine->cpus) : count;
}

static uint64_t plan(const struct gp_job *job, uint64_t slice_ns)
{
	struct gpgpu_engine *engine = engine_of(job);
	uint64_t count, share, least;

	/* All of it, so that what interleaves does not depend on how long it takes. */
	if (engine->fibers && job->prog)
		return job->remaining;
	if (engine->lanes)
		return plan_lanes(job, slice_ns);
	if (job->item_ns <= 0)
		return first_chunk(job);
	count = items_in((double)slice_ns, job->item_ns);
	least = items_in(MIN_CHUNK_NS, job->item_ns);
	share = job->remaining / engine->servers + 1;
	count = MIN(count, MAX(share, least));
	if (job->last_count && count / MAX_GROWTH > job->last_count)
		count = job->last_count * MAX_GROWTH;
	return count;
}

static void set_estimate(struct gp_job *job)
{
	uint64_t count = MIN(plan(job, engine_of(job)->slice_ns), job->remaining);
	double ns = (double)count * (job->item_ns > 0 ? job->item_ns : 100);

	job->entry.estimate = (uint64_t)MIN(ns, (double)engine_of(job)->slice_ns) + 1;
}

void gp_job_start(struct gp_job *job)
{
	job->remaining = job->items;
	job->item_ns = job->prog ? job->prog->item_ns : COPY_ITEM_NS;
	set_estimate(job);
}

static struct gp_part *free_part(const struct gp_job *job)
{
	for (uint32_t i = 0; i < job->num_parts; i++)
		if (!job->parts[i].busy && job->parts[i].next < job->parts[i].end)
			return &job->parts[i];
	return NULL;
}

bool gp_job_has_work(const struct gp_job *job)
{
	if (job->cancelled || !job->remaining)
		return false;
	return !job->parts || free_part(job);
}

void gp_job_take(struct gp_job *job, uint64_t slice_ns, struct gp_chunk *chunk, uint64_t now)
{
	uint64_t count = plan(job, slice_ns);

	memset(chunk, 0, sizeof(*chunk));
	if (job->parts && (engine_of(job)->fibers || engine_of(job)->lanes)) {
		chunk->all_parts = true;
		chunk->count = job->remaining;
		for (uint32_t i = 0; i < job->num_parts; i++)
			job->parts[i].busy = true;
	} else if (job->parts) {
		struct gp_part *part = free_part(job);

		part->busy = true;
		chunk->part = (uint32_t)(part - job->parts);
		chunk->first = part->next;
		chunk->count = MIN(count, part->end - part->next);
		part->next += (uint32_t)chunk->count;
	} else if (job->num_left) {
		struct gp_span *span = &job->left[job->num_left - 1];

		chunk->first = span->first;
		chunk->count = MIN(count, span->end - span->first);
		span->first += chunk->count;
		if (span->first == span->end)
			job->num_left--;
	} else {
		chunk->first = job->next;
		chunk->count = MIN(count, job->items - job->next);
		job->next += chunk->count;
	}
	job->remaining -= chunk->count;
	job->last_count = chunk->count;
	job->in_flight++;
	job->slices++;
	if (!job->first_slice)
		job->first_slice = now;
	if (!gp_job_has_work(job))
		gp_sched_dequeue(&engine_of(job)->sched, &job->entry, now);
}

void gp_faults_add(struct gp_faults *sum, const struct gp_faults *more)
{
	if (more->count && (!sum->count || more->first < sum->first)) {
		sum->first = more->first;
		sum->reason = more->reason;
		sum->insn = more->insn;
	}
	sum->count += more->count;
}

static bool stopped(const volatile uint32_t *stop)
{
	return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

static void run_copy(const struct gp_job *job, struct gp_chunk *chunk, const volatile uint32_t *stop)
{
	for (; chunk->ran < chunk->count && !stopped(stop); chunk->ran++) {
		uint64_t at = (chunk->first + chunk->ran) * GP_COPY_ITEM;
		size_t size = MIN(job->size - at, GP_COPY_ITEM);

		if (job->src) {
			memcpy(job->dst + at, job->src + at, size);
			continue;
		}
		for (size_t i = 0; i < size; i += sizeof(job->pattern))
			memcpy(job->dst + at + i, &job->pattern, sizeof(job->pattern));
	}
}

/* Packets of a part, in order; those that are neighbours in the batch too are run by one call. */
static void run_flow(const struct gp_job *job, const struct gp_env *env, struct gp_thread *thread,
		     struct gp_chunk *chunk)
{
	const uint32_t *order = job->order + chunk->first;

	while (chunk->ran < chunk->count && !stopped(env->stop)) {
		uint64_t i = chunk->ran, n = 1, ran;

		while (i + n < chunk->count && order[i + n] == order[i] + n)
			n++;
		ran = gp_packets_run(job, chunk, env, thread, order[i], n);
		chunk->ran += ran;
		if (ran < n)
			break;
	}
}

GP_CALLS_AN_IMAGE static uint64_t run_grid(const struct gp_job *job, struct gp_chunk *chunk,
					   const struct gp_env *env, struct gp_thread *thread, uint64_t first,
					   uint64_t count)
{
	const struct gp_image *image = gp_image_best(job->prog->image);
	gp_grid_entry *entry = (gp_grid_entry *)((uintptr_t)image->code + image->entry);
	struct gp_faults found = { 0 };
	uint64_t ran;

	if (job->prog->grouped && !thread->group)
		return 0; /* given up (gp_job_lose()) */
	ran = entry(env, thread, &job->grid, first, count, &found);
	gp_faults_add(&chunk->faults, &found);
	return ran;
}

bool gp_job_run_item(const struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env,
		     struct gp_thread *thread, uint64_t item)
{
	if (job->type == VIRTIO_GPGPU_CMD_PACKETS)
		return gp_packets_run(job, chunk, env, thread, item, 1);
	return run_grid(job, chunk, env, thread, item, 1);
}

/* What programs left for somebody to read. */
static void show_what_is_left(const struct gp_job *job, const struct gp_chunk *chunk)
{
	for (uint32_t i = 0; i <= chunk->num_others; i++) {
		struct gp_program *prog = i ? chunk->others[i - 1] : job->prog;

		gp_records_tell(job->session, prog);
		gp_prints_show(job->session, prog);
	}
}

void gp_job_run(struct gp_job *job, struct gp_chunk *chunk, struct gp_thread *thread,
		const volatile uint32_t *stop)
{
	struct gp_env env = job->env;

	env.stop = stop;
	if (!job->prog)
		run_copy(job, chunk, stop);
	else if (engine_of(job)->fibers)
		gp_fibers_run(engine_of(job)->fibers, job, chunk, &env);
	else if (job->type == VIRTIO_GPGPU_CMD_DISPATCH)
		chunk->ran = run_grid(job, chunk, &env, thread, chunk->first, chunk->count);
	else if (job->order)
		run_flow(job, &env, thread, chunk);
	else
		chunk->ran = gp_packets_run(job, chunk, &env, thread, chunk->first, chunk->count);
	if (job->prog)
		show_what_is_left(job, chunk);
}

/* What a slice that was ended early did not run. */
static void put_back(struct gp_job *job, const struct gp_chunk *chunk)
{
	uint64_t count = chunk->count - chunk->ran;

	job->remaining += count;
	if (chunk->all_parts)
		return; /* each knows how far it has got */
	if (job->parts) {
		job->parts[chunk->part].next -= (uint32_t)count;
		return;
	}
	/* At most one span per slice that runs, so it never grows beyond the number of servers. */
	job->left = g_renew(struct gp_span, job->left, job->num_left + 1);
	job->left[job->num_left++] = (struct gp_span){
		.first = chunk->first + chunk->ran,
		.end = chunk->first + chunk->count,
	};
}

static void measure(struct gp_job *job, uint64_t items, uint64_t ns)
{
	double item_ns = (double)ns / (double)items;

	job->item_ns = job->item_ns > 0 ? (3 * job->item_ns + item_ns) / 4 : item_ns;
	if (job->prog)
		job->prog->item_ns = job->item_ns;
}

static bool ends(struct gp_job *job)
{
	if (job->in_flight || job->finishing || (job->remaining && !job->cancelled))
		return false;
	job->finishing = true;
	return true;
}

void gp_job_lose(struct gp_job *job, uint32_t status, uint32_t reason, uint64_t now)
{
	if (!job->lost_status) {
		job->lost_status = status;
		job->lost_reason = reason;
	}
	job->cancelled = true;
	gp_sched_dequeue(&engine_of(job)->sched, &job->entry, now);
}

bool gp_job_put(struct gp_job *job, struct gp_chunk *chunk, uint64_t ns, uint64_t now)
{
	struct gpgpu_engine *engine = engine_of(job);

	job->in_flight--;
	job->device_ns += ns;
	gp_faults_add(&job->faults, &chunk->faults);
	for (uint32_t i = 0; chunk->all_parts && i < job->num_parts; i++)
		job->parts[i].busy = false;
	if (job->parts && !chunk->all_parts)
		job->parts[chunk->part].busy = false;
	/* Where parts differ in length, most lanes of a GPU wait for a few: that says nothing of an item. */
	if (chunk->ran && !(chunk->all_parts && engine->lanes))
		measure(job, chunk->ran, ns);
	if (chunk->ran < chunk->count)
		put_back(job, chunk);
	if (ends(job))
		return true;
	if (gp_job_has_work(job)) {
		set_estimate(job);
		if (list_empty(&job->entry.link)) {
			gp_sched_enqueue(&engine->sched, &job->ctx->queue, &job->entry, true, now);
			engine->ops->kick(engine->device);
		}
	}
	return false;
}

bool gp_job_cancel(struct gp_job *job, uint64_t now)
{
	struct gpgpu_engine *engine = engine_of(job);

	job->cancelled = true;
	gp_sched_dequeue(&engine->sched, &job->entry, now);
	if (job->in_flight)
		engine->ops->interrupt(engine->device, job->session, job);
	return ends(job);
}
