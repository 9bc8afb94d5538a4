/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fibers.c - seeded random interleavings: what a GPU's lanes may do to each other, on one thread.
 *
 * How it works: up to GP_FIBERS items of a job are under way at once, each on a stack of its own. Images for this
 * (GP_PROG_INTERLEAVE) call yield() before each access to memory that items share, and there a generator decides who
 * goes on. It is seeded by the engine's seed and the job, so a run that shows a race shows it again. Items start
 * in their order; what has started is always finished, so that what a stop leaves undone is the end of the
 * chunk. Each fiber is a CPU to programs: nobody else uses its copies of per-CPU values, as on a GPU, where lanes
 * that are under way have copies of their own.
 *
 * Order. With order=flow the parts of a batch interleave and the packets of a part do not; with order=all
 * there is one part. While a chunk runs all parts are busy, so that nobody but us touches them.
 *
 * Not for production: an access costs a system call (swapcontext() sets the signal mask) and a job is not shared
 * between threads.
 *
 * Threads: the one that runs the chunk. One chunk at a time.
 */
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "fibers.h"
#include "job.h"

#if defined(__SANITIZE_ADDRESS__)
#define ASAN_FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN_FIBERS 1
#endif
#endif
#ifdef ASAN_FIBERS
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (1u << 20) /* a frame of the largest program is a fraction of that */
#define GUARD_BYTES (1u << 20) /* no frame reaches across */

struct fiber {
	ucontext_t context;
	uint8_t *stack;
	struct gp_thread thread;
	uint32_t part; /* with parts: the one at hand */
};

struct gp_fibers {
	uint64_t seed, random;
	uint8_t *stacks;
	struct fiber fibers[GP_FIBERS];
	ucontext_t outside;
	uint32_t live[GP_FIBERS], num_live; /* fibers that have not ended */
	uint32_t current;  /* index in fibers */

	/* of the chunk that runs */
	struct gp_job *job;
	struct gp_chunk *chunk;
	struct gp_env env;
	uint64_t next;   /* without parts: items started */
	uint32_t next_part;
#ifdef ASAN_FIBERS
	const void *outside_stack;
	size_t outside_size;
#endif
};

/* Of this thread, while it runs a chunk: env may be a copy, so it cannot say. */
static __thread struct gp_fibers *running;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t draw(struct gp_fibers *f, uint32_t below)
{
	f->random = mix(f->random);
	return (uint32_t)((f->random >> 32) * below >> 32);
}

/* ------------------------------------------------------------------- switching */

#ifdef ASAN_FIBERS
/* @from: NULL where it will not be gone on with. */
static void switch_begins(void **fake, const void *stack, size_t size)
{
	__sanitizer_start_switch_fiber(fake, stack, size);
}

static void switch_ends(void *fake, const void **stack, size_t *size)
{
	__sanitizer_finish_switch_fiber(fake, stack, size);
}
#else
#define switch_begins(fake, stack, size) ((void)(fake))
#define switch_ends(fake, stack, size)	 ((void)(fake))
#endif

/* From the fiber that runs to @to; comes back when somebody switches to it again. */
static void switch_to(struct gp_fibers *f, uint32_t to)
{
	struct fiber *from = &f->fibers[f->current];
	void *fake = NULL;

	if (to == f->current)
		return;
	f->current = to;
	switch_begins(&fake, f->fibers[to].stack, STACK_BYTES);
	swapcontext(&from->context, &f->fibers[to].context);
	switch_ends(fake, NULL, NULL);
}

static void yield(const struct gp_env *env)
{
	struct gp_fibers *f = running;

	switch_to(f, f->live[draw(f, f->num_live)]);
}

/* The fiber that runs has nothing left to do. */
static _Noreturn void end_fiber(struct gp_fibers *f)
{
	struct fiber *to = NULL;

	for (uint32_t i = 0; i < f->num_live; i++) {
		if (f->live[i] == f->current) {
			f->live[i] = f->live[--f->num_live];
			break;
		}
	}
	if (f->num_live) {
		f->current = f->live[draw(f, f->num_live)];
		to = &f->fibers[f->current];
		switch_begins(NULL, to->stack, STACK_BYTES);
		setcontext(&to->context);
	}
#ifdef ASAN_FIBERS
	switch_begins(NULL, f->outside_stack, f->outside_size);
#endif
	setcontext(&f->outside);
	g_assert_not_reached();
}

/* ----------------------------------------------------------------------- items */

/* Return: whether it ran; it does not once the slice is to end. */
static bool run_item(struct gp_fibers *f, struct fiber *fiber, uint64_t item)
{
	bool ran = gp_job_run_item(f->job, f->chunk, &f->env, &fiber->thread, item);

	f->chunk->ran += ran;
	return ran;
}

static void run_unordered(struct gp_fibers *f, struct fiber *fiber)
{
	while (f->next < f->chunk->count && run_item(f, fiber, f->chunk->first + f->next++))
		;
}

static void run_parts(struct gp_fibers *f, struct fiber *fiber)
{
	while (f->next_part < f->job->num_parts) {
		struct gp_part *part = &f->job->parts[f->next_part++];

		while (part->next < part->end) {
			if (!run_item(f, fiber, f->job->order ? f->job->order[part->next] : part->next))
				return;
			part->next++;
		}
	}
}

static void fiber_main(void)
{
	struct gp_fibers *f = running;
	struct fiber *fiber = &f->fibers[f->current];

#ifdef ASAN_FIBERS
	if (f->outside_stack)
		switch_ends(NULL, NULL, NULL);
	else
		switch_ends(NULL, &f->outside_stack, &f->outside_size);
#endif
	if (f->job->parts)
		run_parts(f, fiber);
	else
		run_unordered(f, fiber);
	end_fiber(f);
}

/* On its own, since getcontext() counts as a function that returns twice. */
static void prepare(struct fiber *fiber, uint64_t random)
{
	fiber->thread.random = random | 1;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK_BYTES;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, fiber_main, 0);
}

void gp_fibers_run(struct gp_fibers *f, struct gp_job *job, struct gp_chunk *chunk, const struct gp_env *env)
{
	uint64_t count = job->parts ? job->num_parts : chunk->count;
	void *fake = NULL;

	f->job = job;
	f->chunk = chunk;
	f->env = *env;
	f->env.yield = yield;
	f->next = f->next_part = 0;
	f->random = mix(f->seed ^ mix(job->seq) ^ chunk->first);
	f->num_live = (uint32_t)MIN(count, GP_FIBERS);
	if (!f->num_live)
		return;
	for (uint32_t i = 0; i < f->num_live; i++) {
		f->live[i] = i;
		prepare(&f->fibers[i], mix(f->random + i));
	}
	running = f;
	f->current = draw(f, f->num_live);
#ifdef ASAN_FIBERS
	f->outside_stack = NULL;
#endif
	switch_begins(&fake, f->fibers[f->current].stack, STACK_BYTES);
	swapcontext(&f->outside, &f->fibers[f->current].context);
	switch_ends(fake, NULL, NULL);
	running = NULL;
}

struct gp_fibers *gp_fibers_new(uint64_t seed)
{
	size_t each = GUARD_BYTES + STACK_BYTES, size = GP_FIBERS * each + GUARD_BYTES;
	struct gp_fibers *f = g_new0(struct gp_fibers, 1);

	f->seed = seed;
	f->stacks = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->stacks == MAP_FAILED) {
		g_free(f);
		return NULL;
	}
	for (uint32_t i = 0; i < GP_FIBERS; i++) {
		f->fibers[i].stack = f->stacks + i * each + GUARD_BYTES;
		f->fibers[i].thread.cpu = i;
		if (mprotect(f->fibers[i].stack, STACK_BYTES, PROT_READ | PROT_WRITE)) {
			gp_fibers_free(f);
			return NULL;
		}
	}
	return f;
}

bool gp_fibers_ready_groups(struct gp_fibers *f, struct gpgpu_engine *engine)
{
	for (uint32_t i = 0; i < GP_FIBERS; i++)
		if (!gp_group_ready(engine, &f->fibers[i].thread))
			return false;
	return true;
}

void gp_fibers_free_groups(struct gp_fibers *f, struct gpgpu_engine *engine)
{
	for (uint32_t i = 0; i < GP_FIBERS; i++)
		gp_group_free(engine, &f->fibers[i].thread);
}

void gp_fibers_free(struct gp_fibers *f)
{
	if (!f)
		return;
	munmap(f->stacks, GP_FIBERS * (size_t)(GUARD_BYTES + STACK_BYTES) + GUARD_BYTES);
	g_free(f);
}
