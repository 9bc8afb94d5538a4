/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.c - streams of the fake driver: each has a thread that does what is queued, in order.
 *
 * Work of two streams runs at the same time. What a kernel or a copy touches must be the card's memory or registered when it
 * runs, not only when it was queued.
 */
#include <string.h>
#include <time.h>
#include "lanes.h"
#include "private.h"

static GPtrArray *streams; /* CUstream */

uint64_t fake_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_us(uint32_t us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	if (us)
		nanosleep(&ts, NULL);
}

static void run_kernel(const struct work *work)
{
	struct gp_launch *launch = (struct gp_launch *)work->arg;

	if (work->module->clock) {
		/* Its own epoch. */
		__atomic_store_n((uint64_t *)work->arg, fake_now() + 1000000000000ull, __ATOMIC_RELEASE);
		return;
	}
	if (!launch->group || work->lanes < launch->count)
		fake_die("a launch has too few lanes");
	lanes_run(launch, work->module->image, work->module->kernel, false);
	lanes_scribble(launch);
}

static uint64_t bytes_of(const struct work *work)
{
	switch (work->kind) {
	case WORK_KERNEL:
		return work->module->clock ? sizeof(uint64_t) : sizeof(struct gp_launch);
	case WORK_WRITE:
		return sizeof(uint32_t);
	case WORK_FILL32:
		return 4 * work->count;
	case WORK_RECORD:
		return 0;
	default:
		return work->count;
	}
}

static uint64_t where(const struct work *work)
{
	return work->kind == WORK_KERNEL ? work->arg : work->to;
}

static void check(const struct work *work)
{
	enum fake_memory memory;

	if (work->kind == WORK_RECORD)
		return;
	memory = fake_where(where(work), bytes_of(work));
	if (memory == FAKE_NOWHERE || memory == FAKE_HOST_RO)
		fake_die("work on memory that is not the card's to write");
	if (work->kind == WORK_COPY && fake_where(work->from, work->count) == FAKE_NOWHERE)
		fake_die("a copy of memory that the card does not see");
}

/* Does it touch the card's memory? What a kernel does is not known. */
static bool needs_card(const struct work *work)
{
	switch (work->kind) {
	case WORK_RECORD:
	case WORK_WRITE:
		return false;
	case WORK_KERNEL:
		return !work->module->clock;
	default:
		return true;
	}
}

/* Without fake_lock: it may take its time. */
static void do_work(const struct work *work)
{
	uint32_t *words = (uint32_t *)work->to;

	switch (work->kind) {
	case WORK_KERNEL:
		run_kernel(work);
		break;
	case WORK_RECORD:
		work->event->ns = fake_now();
		break;
	case WORK_WRITE:
		__atomic_store_n(words, work->value, __ATOMIC_RELEASE);
		break;
	case WORK_COPY:
		memcpy((void *)work->to, (const void *)work->from, work->count);
		break;
	case WORK_FILL8:
		memset((void *)work->to, (int)work->value, work->count);
		break;
	case WORK_FILL32:
		for (uint64_t i = 0; i < work->count; i++)
			words[i] = work->value;
		break;
	}
}

/* The first of @stream's. With fake_lock, not all the time. Return: false: the context has ended. */
static bool run_first(CUstream stream)
{
	struct work *work = g_queue_peek_head(&stream->work);
	bool heavy = work->kind == WORK_KERNEL || work->kind == WORK_COPY;
	bool kernel = work->kind == WORK_KERNEL && !work->module->clock;
	bool card = needs_card(work);

	check(work);
	if (card)
		fake_card_open();
	pthread_mutex_unlock(&fake_lock);
	sleep_us(heavy ? fake_plan.delay_us : 0);
	do_work(work);
	sleep_us(heavy ? fake_plan.took_us : 0);
	pthread_mutex_lock(&fake_lock);
	if (card)
		fake_card_close();
	while (kernel && fake_plan.hang && !stream->quit)
		pthread_cond_wait(&fake_cond, &fake_lock);
	if (kernel && fake_plan.fault) {
		fake_poisoned = fake_plan.fault;
		fake_plan.fault = 0;
		return false;
	}
	if (work->kind == WORK_RECORD)
		work->event->done = true;
	if (work->kind == WORK_KERNEL)
		work->module->queued--;
	g_free(g_queue_pop_head(&stream->work));
	pthread_cond_broadcast(&fake_cond);
	return true;
}

static void *stream_thread(void *opaque)
{
	CUstream stream = opaque;

	pthread_mutex_lock(&fake_lock);
	while (!stream->quit)
		if (g_queue_is_empty(&stream->work) || fake_poisoned || !run_first(stream))
			pthread_cond_wait(&fake_cond, &fake_lock);
	pthread_mutex_unlock(&fake_lock);
	return NULL;
}

CUstream fake_stream_new(void)
{
	CUstream stream = g_new0(struct CUstream_st, 1);

	stream->thing = THING_STREAM;
	g_queue_init(&stream->work);
	if (!streams)
		streams = g_ptr_array_new();
	g_ptr_array_add(streams, stream);
	if (pthread_create(&stream->thread, NULL, stream_thread, stream))
		fake_die("no thread");
	return stream;
}

void fake_stream_free(CUstream stream)
{
	struct work *work;

	/* What is queued is done first, unless nothing is any more. */
	while (!g_queue_is_empty(&stream->work) && !fake_poisoned && !fake_plan.hang)
		pthread_cond_wait(&fake_cond, &fake_lock);
	stream->quit = true;
	pthread_cond_broadcast(&fake_cond);
	pthread_mutex_unlock(&fake_lock);
	pthread_join(stream->thread, NULL);
	pthread_mutex_lock(&fake_lock);
	while ((work = g_queue_pop_head(&stream->work))) {
		if (work->kind == WORK_KERNEL)
			work->module->queued--;
		g_free(work);
	}
	g_ptr_array_remove_fast(streams, stream);
	g_free(stream);
}

void fake_stream_add(CUstream stream, struct work work)
{
	bool quick = work.kind != WORK_KERNEL || work.module->clock;

	check(&work);
	/* Nothing is before it, and it takes no time. */
	if (quick && g_queue_is_empty(&stream->work) && !fake_plan.delay_us && !fake_plan.took_us) {
		if (needs_card(&work))
			fake_card_open();
		do_work(&work);
		if (needs_card(&work))
			fake_card_close();
		if (work.kind == WORK_RECORD)
			work.event->done = true;
		return;
	}
	if (work.kind == WORK_KERNEL)
		work.module->queued++;
	g_queue_push_tail(&stream->work, g_memdup2(&work, sizeof(work)));
	pthread_cond_broadcast(&fake_cond);
}

bool fake_work_uses(uint64_t at, uint64_t size)
{
	for (guint i = 0; streams && !fake_poisoned && i < streams->len; i++) {
		CUstream stream = g_ptr_array_index(streams, i);

		for (GList *l = stream->work.head; l; l = l->next) {
			const struct work *work = l->data;

			if (where(work) < at + size && at < where(work) + bytes_of(work))
				return true;
			if (work->kind == WORK_COPY && work->from < at + size &&
			    at < work->from + work->count)
				return true;
		}
	}
	return false;
}
