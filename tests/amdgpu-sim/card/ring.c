/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.c - the rings: whose job is next, running it, and what happens if it goes wrong.
 *
 * Each ring has a thread, started with the first open node, and takes the queues that have a job whose
 * dependencies are done in turn. A third thread watches the clock, as the driver's timeout handler does.
 *
 * Trouble (amdgpu_job.c, amdgpu_ring.c, gpu_scheduler):
 *  - waves that fault or do not end are killed, the job's fence fails with -ENODATA (soft recovery);
 *  - a packet processor that hangs needs a reset: -ETIME, its context is guilty, and other rings' jobs that were running
 *    are lost with -ECANCELED;
 *  - or, where the driver can reset one ring (from 6.12 on those of compute, if firmware takes it: `recovery ring`), -ETIME as
 *    well, but nobody is guilty and other rings go on;
 *  - whatever follows a failed job on its queue fails as that did: the context has to be made anew;
 *  - but jobs of a guilty context, and jobs made before local memory was lost, do not run whatever came before: -ECANCELED.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include "card.h"

#define LOOK_NS 50000000ll /* the watchdog's, while something runs */

struct ring {
	pthread_t thread;
	struct sim_entity *round; /* circular, of those with jobs: the one served last */
	struct sim_job *running;
	int lost; /* the running job ends with this error whatever it does */
};

static struct ring rings[SIM_RINGS];
static pthread_t watchdog;

bool sim_job_has(const struct sim_job *job, const struct sim_bo *bo)
{
	if (!bo || bo->owner)
		return true;
	for (uint32_t i = 0; i < job->buffers.count; i++)
		if (job->buffers.bos[i] == bo)
			return true;
	return false;
}

void sim_ring_push(struct sim_job *job)
{
	struct sim_entity *entity = job->entity;
	struct ring *ring = &rings[entity->ring];

	job->next = NULL;
	if (entity->last) {
		entity->last->next = job;
	} else {
		entity->first = job;
		/* At the round's end. */
		if (ring->round) {
			entity->next = ring->round->next;
			ring->round->next = entity;
		} else {
			entity->next = entity;
		}
		ring->round = entity;
	}
	entity->last = job;
	pthread_cond_broadcast(&sim.changed);
}

/* Takes the next job that can run. */
static struct sim_job *pop(struct ring *ring)
{
	struct sim_entity *before = ring->round;

	for (struct sim_entity *stop = before; before;) {
		struct sim_entity *entity = before->next;
		struct sim_job *job = entity->first;

		if (sim_fences_done(&job->deps) || entity->error || sim.unplugged) {
			entity->first = job->next;
			if (!entity->first) {
				entity->last = NULL;
				before->next = entity->next;
				ring->round = before == entity ? NULL : before;
			} else {
				ring->round = entity;
			}
			return job;
		}
		before = entity;
		if (before == stop)
			break;
	}
	return NULL;
}

/* Why a job is not even started, or 0. */
static int skip(const struct sim_job *job)
{
	if (sim.unplugged)
		return -ECANCELED;
	if (job->ctx->guilty || job->vram_losses != sim.vram_losses)
		return -ECANCELED;
	return job->entity->error;
}

/* As HW_IP_INFO says it. */
static bool aligned(struct sim_exec *exec, const struct sim_ib *ib)
{
	bool sdma = exec->ring == SIM_RING_SDMA;

	if (!(ib->va & (sdma ? 255 : 31)) && !(ib->dwords & (sdma ? 0 : 7)) && ib->dwords)
		return true;
	return sim_trouble(exec, SIM_TROUBLE_RING,
			   "IB at %#llx of %u dwords: its start or its size is not aligned",
			   (unsigned long long)ib->va, ib->dwords);
}

static void run(struct sim_exec *exec, bool hang)
{
	struct sim_job *job = exec->job;

	for (uint32_t i = 0; i < job->num_ibs; i++) {
		const struct sim_ib *ib = &job->ibs[i];

		sim_capture(exec, ib);
		if (!aligned(exec, ib))
			break;
		if (!(exec->ring == SIM_RING_SDMA ? sim_sdma_run(exec, ib) : sim_pm4_run(exec, ib)))
			break;
	}
	while (hang && !__atomic_load_n(&exec->stop, __ATOMIC_ACQUIRE)) {
		struct timespec ts = { 0, 1000000 };

		nanosleep(&ts, NULL);
	}
	if (hang)
		sim_trouble(exec, SIM_TROUBLE_RING, "hung, as it was told to");
	sim_exec_end(exec);
}

static void user_fence(const struct sim_job *job)
{
	if (job->user_fence)
		__atomic_store_n((uint64_t *)(void *)(job->user_fence->host + job->user_fence_offset),
				 job->sequence, __ATOMIC_RELEASE);
}

/* The reset itself; the running jobs of @but's ring have been seen to. */
static void reset(bool vram_lost, const struct ring *but)
{
	sim.resets++;
	for (size_t i = 0; i < SIM_RINGS; i++) {
		if (&rings[i] == but || !rings[i].running)
			continue;
		rings[i].lost = -ECANCELED;
		__atomic_store_n(&sim.exec[i]->stop, 1, __ATOMIC_RELEASE);
	}
	if (vram_lost) {
		sim.vram_losses++;
		sim_memory_lose_vram();
	}
}

static int judge(struct ring *ring, struct sim_exec *exec, struct sim_job *job)
{
	if (ring->lost)
		return ring->lost;
	if (exec->trouble == SIM_TROUBLE_NONE)
		return 0;
	sim_say("client %u, ring %s.%u, job %llu: %s", job->client->number,
		exec->ring == SIM_RING_SDMA ? "sdma" : "comp", job->entity->number,
		(unsigned long long)job->sequence, exec->why);
	if (*exec->page_fault)
		job->client->fault_va = exec->fault_va;
	if (exec->trouble == SIM_TROUBLE_WAVES && !sim.options.hard) {
		sim.resets++;
		return -ENODATA;
	}
	if (sim.options.ring_reset) {
		sim.resets++;
		return -ETIME;
	}
	job->ctx->guilty = true;
	reset(sim.options.reset_loses, ring);
	return -ETIME;
}

static void serve(struct ring *ring, struct sim_exec *exec, struct sim_job *job)
{
	int error = skip(job);
	bool hang = false;

	if (!error && sim.armed != SIM_ARMED_NOTHING) {
		error = sim.armed == SIM_ARMED_GUILTY ? -ETIME : -ECANCELED;
		job->ctx->guilty = sim.armed == SIM_ARMED_GUILTY;
		sim.armed = SIM_ARMED_NOTHING;
		reset(sim.armed_loses, ring);
	}
	if (!error) {
		hang = sim.hang;
		sim.hang = false;
		job->started = sim_clock_ns();
		ring->running = job;
		ring->lost = 0;
		pthread_cond_broadcast(&sim.changed); /* the clock is watched from now on */
		sim_exec_begin(exec, job);
		pthread_mutex_unlock(&sim.lock);
		run(exec, hang);
		pthread_mutex_lock(&sim.lock);
		ring->running = NULL;
		error = judge(ring, exec, job);
	}
	if (!error)
		user_fence(job);
	job->entity->error = error;
	sim_fence_end(job->fence, error);
	sim_job_free(job);
}

static void *ring_thread(void *opaque)
{
	struct ring *ring = opaque;
	struct sim_exec *exec = sim.exec[ring - rings];

	pthread_mutex_lock(&sim.lock);
	for (;;) {
		struct sim_job *job = pop(ring);

		if (job)
			serve(ring, exec, job);
		else
			sim_wait_until(INT64_MAX);
	}
	return NULL;
}

static void *watchdog_thread(void *opaque)
{
	(void)opaque;
	pthread_mutex_lock(&sim.lock);
	for (;;) {
		int64_t next = INT64_MAX, now = sim_clock_ns();

		for (size_t i = 0; i < SIM_RINGS; i++) {
			struct sim_job *job = rings[i].running;

			if (!job || __atomic_load_n(&sim.exec[i]->stop, __ATOMIC_RELAXED))
				continue;
			if (now >= job->started + sim.options.timeout)
				__atomic_store_n(&sim.exec[i]->stop, 1, __ATOMIC_RELEASE);
			else if (job->started + sim.options.timeout - now < next)
				next = job->started + sim.options.timeout - now;
		}
		/* The card's clock may be the faster one. */
		if (next != INT64_MAX)
			next = sim_now() + (next < LOOK_NS ? next : LOOK_NS);
		sim_wait_until(next);
	}
	return NULL;
}

void sim_ring_reset(bool guilty, bool vram_lost)
{
	bool any = false;

	for (size_t i = 0; i < SIM_RINGS; i++) {
		struct sim_job *job = rings[i].running;

		if (!job)
			continue;
		any = true;
		job->ctx->guilty = job->ctx->guilty || guilty;
		rings[i].lost = guilty ? -ETIME : -ECANCELED;
		__atomic_store_n(&sim.exec[i]->stop, 1, __ATOMIC_RELEASE);
	}
	if (!any && guilty) {
		/* Nobody's fault yet: the next job's. */
		sim.armed = SIM_ARMED_GUILTY;
		sim.armed_loses = vram_lost;
		return;
	}
	sim.resets++;
	if (vram_lost) {
		sim.vram_losses++;
		sim_memory_lose_vram();
	}
	pthread_cond_broadcast(&sim.changed);
}

void sim_ring_unplug(void)
{
	sim.unplugged = true;
	for (size_t i = 0; i < SIM_RINGS; i++)
		if (rings[i].running) {
			rings[i].lost = -ECANCELED;
			__atomic_store_n(&sim.exec[i]->stop, 1, __ATOMIC_RELEASE);
		}
	pthread_cond_broadcast(&sim.changed);
}

int sim_thread_start(pthread_t *thread, void *(*run)(void *), void *opaque)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, run, opaque);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -error;
}

int sim_ring_start(void)
{
	int error = 0;

	for (size_t i = 0; i < SIM_RINGS && !error; i++) {
		sim.exec[i] = sim_exec_new((enum sim_ring)i);
		error = sim.exec[i] ? sim_thread_start(&rings[i].thread, ring_thread, &rings[i]) : -ENOMEM;
	}
	return error ? error : sim_thread_start(&watchdog, watchdog_thread, NULL);
}
