/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_cpu.c - the host's own processors as a device: a pool of threads.
 *
 * How it works: a thread that has nothing to do asks the scheduler for a job, takes a chunk of it, runs it,
 * and settles it with the CPU time that it took (CLOCK_THREAD_CPUTIME_ID, so that what other processes of
 * the host take is not charged). Threads work on one job together. Whatever runs has one of `slots`: the
 * identity that programs see as their CPU, with its own copies of per-CPU maps. There are as many slots as
 * threads, so a thread that helps (help(), the one that serves the ring) takes a slot that is free
 * rather than adding a processor. It runs small jobs only, since nobody serves the ring meanwhile.
 *
 * Waking a sleeping thread costs more than a small job. So a thread spins for a little while before it sleeps,
 * one at a time, and only on hosts with several processors; how long depends on whether that has paid lately.
 *
 * `stop` of a slot (enum gp_stop) ends its slice: at the end of a work item for a pause or a slice that takes much
 * longer than planned (watch()), within it for a cancelled job. An item that does not end within PATIENCE_NS
 * of a pause, or keeps its slice for ITEM_MAX_NS, is ended too, and its job goes on without it: no guest may hold up a
 * pause, or the other guests, for as long as its fuel lasts.
 *
 * Threads: everything in struct gp_device is under the engine's lock, but for `work` and slot.stop, which are
 * atomic.
 */
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "engine.h"
#include "fibers.h"
#include "job.h"
#include "retire.h"

#define MIN_SPIN_NS 2000
#define MAX_SPIN_NS 50000
#define HELP_NS	    25000 /* the slice of a thread that has something else to do */
/* Of the wall clock, so with room for a host that is busy with other things. */
#define PATIENCE_NS 200000000ull
#define ITEM_MAX_NS 2000000000ull
#define NUM_SEEDS   64

struct slot {
	struct gp_thread thread;
	uint32_t stop[2]; /* enum gp_stop, and the same where it is GP_STOP_NOW: of what must not end before */
	struct gp_job *job; /* NULL: free */
	uint64_t deadline, hard_deadline; /* for GP_STOP_SOON, GP_STOP_NOW */
} __attribute__((aligned(128)));

struct gp_device {
	struct gpgpu_engine *engine;
	struct slot *slots;
	uint32_t num_slots, num_threads, running;
	pthread_t *threads;
	pthread_cond_t wake;
	uint32_t sleeping; /* threads in pthread_cond_wait() */
	bool spinning; /* a thread looks at `work` */
	bool quit;
	uint32_t work; /* atomic: grows with every kick */
	uint64_t spin_ns; /* 0: never */
	uint64_t seeds[NUM_SEEDS]; /* from the kernel, each used once */
	uint32_t num_seeds;
};

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * For the next slice. What a program draws tells it the generator's state, so no slice goes on where one of another
 * guest stopped. Never 0, from which the generator does not move.
 */
static uint64_t new_seed(struct gp_device *dev)
{
	if (!dev->num_seeds) {
		/* Without it, the old ones again, each other than before. */
		if (getrandom(dev->seeds, sizeof(dev->seeds), 0) != sizeof(dev->seeds))
			for (uint32_t i = 0; i < NUM_SEEDS; i++)
				dev->seeds[i] = (dev->seeds[i] ^ gp_now()) * 0x9e3779b97f4a7c15ull + i;
		dev->num_seeds = NUM_SEEDS;
	}
	return dev->seeds[--dev->num_seeds] | 1;
}

static struct slot *free_slot(struct gp_device *dev)
{
	for (uint32_t i = 0; i < dev->num_slots; i++)
		if (!dev->slots[i].job)
			return &dev->slots[i];
	return NULL;
}

static void cpu_kick(struct gp_device *dev)
{
	__atomic_add_fetch(&dev->work, 1, __ATOMIC_RELEASE);
	if (!dev->spinning && dev->sleeping)
		pthread_cond_signal(&dev->wake);
}

static bool ready_groups(struct gpgpu_engine *engine, struct slot *slot)
{
	return gp_group_ready(engine, &slot->thread) &&
	       (!engine->fibers || gp_fibers_ready_groups(engine->fibers, engine));
}

/*
 * run_slice() - pick a job and run one chunk of it. Engine's lock held, but not while it runs.
 * @slice_ns: how long it should take at most.
 * @wake: out: when to look again, if nothing was run.
 */
static bool run_slice(struct gp_device *dev, uint64_t slice_ns, uint64_t *wake)
{
	struct gpgpu_engine *engine = dev->engine;
	struct slot *slot = free_slot(dev);
	struct gp_sched_entry *entry;
	struct gp_sched_grant grant;
	struct gpgpu_session *s;
	struct gp_chunk chunk;
	struct gp_job *job;
	uint64_t now, ns;
	bool ended;

	*wake = UINT64_MAX;
	if (!slot)
		return false;
	now = gp_now();
	entry = gp_sched_pick(&engine->sched, now, &grant, wake);
	if (!entry)
		return false;
	job = container_of(entry, struct gp_job, entry);
	s = job->session;
	gp_job_take(job, slice_ns, &chunk, now);
	slot->job = job;
	slot->thread.random = new_seed(dev);
	slot->deadline = now + 2 * engine->slice_ns;
	slot->hard_deadline = slot->deadline + ITEM_MAX_NS;
	__atomic_store_n(&slot->stop[0], GP_STOP_NONE, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->stop[1], GP_STOP_NONE, __ATOMIC_RELAXED);
	dev->running++;
	if (job->prog && job->prog->grouped && !ready_groups(engine, slot))
		gp_job_lose(job, VIRTIO_GPGPU_S_NO_MEMORY, VIRTIO_GPGPU_R_HOST_MEMORY, now);
	chunk.phase = gp_slice_begin(s);
	/* There may be work for another thread too: it wakes the next one in its turn. */
	if (engine->sched.entries && dev->running < dev->num_slots)
		cpu_kick(dev);
	pthread_mutex_unlock(&engine->lock);

	ns = cpu_time();
	gp_job_run(job, &chunk, &slot->thread, slot->stop);
	ns = cpu_time() - ns;

	pthread_mutex_lock(&engine->lock);
	now = gp_now();
	slot->job = NULL;
	dev->running--;
	gp_sched_settle(&engine->sched, &grant, ns, now);
	ended = gp_job_put(job, &chunk, ns, now);
	gp_slice_end(s, chunk.phase);
	if (!s->slices && s->waited_for)
		pthread_cond_broadcast(&engine->slice_end);
	if (ended) {
		pthread_mutex_unlock(&engine->lock);
		gp_job_finish(job);
		pthread_mutex_lock(&engine->lock);
	}
	return true;
}

/* Looks at `work` for a while, without the lock. Return: whether there is some. */
static bool spin(struct gp_device *dev)
{
	uint32_t seen = __atomic_load_n(&dev->work, __ATOMIC_ACQUIRE);
	uint64_t start, limit = dev->spin_ns;
	bool found = false;

	dev->spinning = true;
	pthread_mutex_unlock(&dev->engine->lock);
	start = gp_now();
	do {
		for (int i = 0; i < 64 && !found; i++) {
			found = __atomic_load_n(&dev->work, __ATOMIC_ACQUIRE) != seen;
			__builtin_ia32_pause();
		}
	} while (!found && gp_now() - start < limit);
	pthread_mutex_lock(&dev->engine->lock);
	dev->spinning = false;
	found = __atomic_load_n(&dev->work, __ATOMIC_ACQUIRE) != seen;
	dev->spin_ns = found ? MIN(limit * 2, MAX_SPIN_NS) : MAX(limit / 2, MIN_SPIN_NS);
	return found;
}

static void sleep_until(struct gp_device *dev, uint64_t wake)
{
	dev->sleeping++;
	if (wake == UINT64_MAX) {
		pthread_cond_wait(&dev->wake, &dev->engine->lock);
	} else {
		struct timespec ts = {
			.tv_sec = (time_t)(wake / 1000000000),
			.tv_nsec = (long)(wake % 1000000000),
		};

		pthread_cond_timedwait(&dev->wake, &dev->engine->lock, &ts);
	}
	dev->sleeping--;
}

static void *device_thread(void *opaque)
{
	struct gp_device *dev = opaque;
	struct gpgpu_engine *engine = dev->engine;
	uint64_t wake;

	pthread_mutex_lock(&engine->lock);
	while (!dev->quit) {
		if (run_slice(dev, engine->slice_ns, &wake))
			continue;
		if (dev->spin_ns && !dev->spinning && spin(dev))
			continue;
		/* What came while nobody held the lock was not kicked to us. */
		if (dev->quit || run_slice(dev, engine->slice_ns, &wake))
			continue;
		sleep_until(dev, wake);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

/* A job that one short slice does is done by then. If it was larger, run_slice() has woken a thread. */
static void cpu_help(struct gp_device *dev)
{
	uint64_t wake;

	if (dev->engine->sched.entries == 1 && !dev->engine->fibers)
		run_slice(dev, HELP_NS, &wake);
	if (dev->engine->sched.entries)
		cpu_kick(dev);
}

/* Engine's lock held, so that a later GP_STOP_SOON does not undo GP_STOP_NOW. */
static void stop_slot(struct slot *slot, enum gp_stop stop)
{
	if (slot->stop[0] >= (uint32_t)stop)
		return;
	__atomic_store_n(&slot->stop[0], (uint32_t)stop, __ATOMIC_RELAXED);
	if (stop == GP_STOP_NOW)
		__atomic_store_n(&slot->stop[1], (uint32_t)stop, __ATOMIC_RELAXED);
}

static void cpu_interrupt(struct gp_device *dev, struct gpgpu_session *session, struct gp_job *job)
{
	uint64_t hard_deadline = gp_now() + PATIENCE_NS;

	for (uint32_t i = 0; i < dev->num_slots; i++) {
		struct slot *slot = &dev->slots[i];

		if (!slot->job || slot->job->session != session || (job && slot->job != job))
			continue;
		stop_slot(slot, slot->job->cancelled ? GP_STOP_NOW : GP_STOP_SOON);
		slot->hard_deadline = MIN(slot->hard_deadline, hard_deadline);
	}
}

static bool cpu_watch(struct gp_device *dev, uint64_t now)
{
	for (uint32_t i = 0; i < dev->num_slots; i++) {
		struct slot *slot = &dev->slots[i];

		if (slot->job && now > slot->hard_deadline)
			stop_slot(slot, GP_STOP_NOW);
		else if (slot->job && now > slot->deadline)
			stop_slot(slot, GP_STOP_SOON);
	}
	return dev->running;
}

static void cpu_destroy(struct gp_device *dev)
{
	pthread_mutex_lock(&dev->engine->lock);
	dev->quit = true;
	pthread_cond_broadcast(&dev->wake);
	pthread_mutex_unlock(&dev->engine->lock);
	for (uint32_t i = 0; i < dev->num_threads; i++)
		pthread_join(dev->threads[i], NULL);
	pthread_cond_destroy(&dev->wake);
	for (uint32_t i = 0; i < dev->num_slots; i++)
		gp_group_free(dev->engine, &dev->slots[i].thread);
	if (dev->engine->fibers)
		gp_fibers_free_groups(dev->engine->fibers, dev->engine);
	g_free(dev->threads);
	free(dev->slots);
	g_free(dev);
}

static bool init_slots(struct gp_device *dev, uint32_t count)
{
	size_t bytes = count * sizeof(*dev->slots);

	dev->slots = aligned_alloc(__alignof__(struct slot), bytes);
	if (!dev->slots)
		return false;
	memset(dev->slots, 0, bytes);
	dev->num_slots = count;
	for (uint32_t i = 0; i < count; i++)
		dev->slots[i].thread.cpu = i;
	return true;
}

static struct gp_device *cpu_create(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
				    const char *where, GError **error)
{
	uint32_t threads = engine->fibers ? 1 : options->threads;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct gp_device *dev = g_new0(struct gp_device, 1);
	pthread_condattr_t attr;

	if (cpus < 1)
		cpus = 1;
	if (!threads)
		threads = (uint32_t)cpus;
	threads = MIN(threads, GP_MAX_THREADS);
	dev->engine = engine;
	dev->spin_ns = cpus > 1 ? MIN_SPIN_NS : 0;
	dev->threads = g_new0(pthread_t, threads);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dev->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (!init_slots(dev, threads))
		goto fail;
	/* Before any thread runs: they may be asked for at once. */
	engine->servers = engine->cpus = threads;
	for (; dev->num_threads < threads; dev->num_threads++)
		if (pthread_create(&dev->threads[dev->num_threads], NULL, device_thread, dev))
			goto fail;
	g_snprintf(engine->title, sizeof(engine->title), "cpu: x86-64, %u thread%s", threads,
		   threads == 1 ? "" : "s");
	g_strlcpy(engine->target, "x86_64", sizeof(engine->target));
	return dev;

fail:
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "cannot start %u device threads", threads);
	cpu_destroy(dev);
	return NULL;
}

const struct gp_device_ops gp_device_cpu = {
	.name = "cpu",
	.create = cpu_create,
	.destroy = cpu_destroy,
	.kick = cpu_kick,
	.interrupt = cpu_interrupt,
	.watch = cpu_watch,
	.help = cpu_help,
};
