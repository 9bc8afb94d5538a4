/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mock.c - see mock.h.
 *
 * Threads: `lock` covers everything; the thread that runs launches drops it while one runs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "lanes.h"
#include "mock.h"
#include "rt/clock.h"

#define WAVE	  64u
#define MAX_DEPTH 64u

struct gp_gpu_code {
	struct gp_gpu_code *next;
	const struct gp_image *image; /* NULL: built in */
	enum gp_kernel kernel;
	struct gp_image *ref;
};

struct memory {
	uint8_t *base;
	uint64_t size;
	enum gp_gpu_mem mem;
};

struct queued {
	struct gp_gpu_code *code;
	struct gp_launch *launch; /* NULL: a copy */
	struct gp_launch_copy copy;
	uint64_t ticket;
};

struct gp_gpu {
	pthread_mutex_t lock;
	pthread_cond_t work, ended;
	pthread_t thread;
	GHashTable *memory; /* by base */
	uint64_t num_code;
	struct queued queue[MAX_DEPTH]; /* from `head` on; the first may be running */
	uint32_t head, num, num_ends;
	struct gp_gpu_end ends[2 * MAX_DEPTH];
	uint64_t tickets;
	uint32_t depth;
	enum gp_gpu_state state;
	bool woken, quit;
	void *shared;
	struct gp_mock_counts counts;
};

struct gp_mock_plan gp_mock_plan;
static struct gp_gpu *current;

static void die(const char *what)
{
	fprintf(stderr, "mock GPU: %s\n", what);
	abort();
}

static uint64_t time_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* All over HOST memory, but for what stops launches, which others ask for. With `lock`. */
static void vandalise(struct gp_gpu *gpu)
{
	static uint64_t seed = 1;
	GHashTableIter iter;
	struct memory *m;

	g_hash_table_iter_init(&iter, gpu->memory);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&m)) {
		if (m->mem != GP_GPU_MEM_HOST)
			continue;
		if (gp_mock_plan.vandal > 1)
			memset(m->base, (int)(gp_mock_plan.vandal & 0xff), m->size);
		for (uint64_t i = 0; gp_mock_plan.vandal == 1 && i + 8 <= m->size; i += 8) {
			seed = mix(seed + i);
			memcpy(m->base + i, &seed, 8);
		}
	}
}

/* ------------------------------------------------------------------------- queue */

static void lose(struct gp_gpu *gpu, enum gp_gpu_state state)
{
	gpu->state = state;
	gpu->num = 0;
	gp_mock_plan.lose = GP_GPU_OK;
	pthread_cond_broadcast(&gpu->ended);
}

static void sleep_us(uint32_t us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	if (us)
		nanosleep(&ts, NULL);
}

static void run_first(struct gp_gpu *gpu)
{
	struct queued q = gpu->queue[gpu->head];
	uint64_t start = 0, lanes = gp_mock_plan.vandal || !q.launch ? 1 : q.launch->count;
	bool odd = gp_mock_plan.vandal;

	if (gp_mock_plan.lose && !gp_mock_plan.lose_after) {
		pthread_mutex_unlock(&gpu->lock);
		sleep_us(gp_mock_plan.took_us);
		pthread_mutex_lock(&gpu->lock);
		lose(gpu, gp_mock_plan.lose);
		return;
	}
	if (gp_mock_plan.lose_after)
		gp_mock_plan.lose_after--;
	if (gp_mock_plan.vandal) {
		vandalise(gpu);
		pthread_mutex_unlock(&gpu->lock);
		sleep_us(gp_mock_plan.took_us);
		pthread_mutex_lock(&gpu->lock);
		goto ended;
	}
	pthread_mutex_unlock(&gpu->lock);
	sleep_us(gp_mock_plan.delay_us);
	start = time_ns(CLOCK_THREAD_CPUTIME_ID); /* what other processes take meanwhile is nobody's */
	if (q.launch)
		lanes_run(q.launch, q.code->image, q.code->kernel, gp_mock_plan.in_order);
	else
		lanes_move(&q.copy);
	start = time_ns(CLOCK_THREAD_CPUTIME_ID) - start + gp_mock_plan.took_us * 1000ull;
	sleep_us(gp_mock_plan.took_us);
	if (gp_mock_plan.claims_none)
		start = 1;
	if (q.launch)
		lanes_scribble(q.launch);
	pthread_mutex_lock(&gpu->lock);
	while (gp_mock_plan.hang && !gpu->quit)
		pthread_cond_wait(&gpu->work, &gpu->lock);
ended:
	gpu->head = (gpu->head + 1) % MAX_DEPTH;
	gpu->num--;
	gpu->counts.launches++;
	gpu->counts.copies += !q.launch;
	gpu->counts.lanes += lanes;
	gpu->ends[gpu->num_ends++] = (struct gp_gpu_end){ .ticket = q.ticket, .ns = start, .odd = odd };
	pthread_cond_broadcast(&gpu->ended);
}

static void *mock_thread(void *opaque)
{
	struct gp_gpu *gpu = opaque;

	pthread_mutex_lock(&gpu->lock);
	while (!gpu->quit) {
		if (gpu->num && !gpu->state)
			run_first(gpu);
		else
			pthread_cond_wait(&gpu->work, &gpu->lock);
	}
	pthread_mutex_unlock(&gpu->lock);
	return NULL;
}

/* Return: whether [at, at + size) lies in memory that was given out. */
static bool is_ours(struct gp_gpu *gpu, uint64_t at, uint64_t size)
{
	GHashTableIter iter;
	struct memory *m;

	g_hash_table_iter_init(&iter, gpu->memory);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&m))
		if (at >= (uintptr_t)m->base && at + size <= (uintptr_t)m->base + m->size)
			return true;
	return false;
}

static int mock_launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		       uint32_t group, uint32_t times, uint64_t *ticket)
{
	struct gp_launch *launch = (struct gp_launch *)(uintptr_t)arg;
	int err = 0;

	pthread_mutex_lock(&gpu->lock);
	if (!is_ours(gpu, arg, sizeof(*launch)))
		die("a launch is not in its memory");
	if (group != WAVE || !groups ||
	    (!gp_mock_plan.vandal &&
	     (launch->group != group || (uint64_t)groups * group < launch->count || !launch->count)))
		die("a launch has too few lanes");
	if (!times || (times > 1 && !launch->parts))
		die("a launch is to run never, or several times");
	if (gpu->state) {
		err = -ENODEV;
	} else if (gp_mock_plan.fail_launch) {
		gp_mock_plan.fail_launch--;
		err = gp_mock_plan.fail_errno;
	} else if (gpu->num + gpu->num_ends >= gpu->depth) {
		err = -EAGAIN;
	} else {
		*ticket = ++gpu->tickets;
		gpu->queue[(gpu->head + gpu->num++) % MAX_DEPTH] =
			(struct queued){ .code = code, .launch = launch, .ticket = *ticket };
		gpu->counts.most_queued = MAX(gpu->counts.most_queued, gpu->num);
		pthread_cond_broadcast(&gpu->work);
	}
	pthread_mutex_unlock(&gpu->lock);
	return err;
}

static int mock_copy(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		     uint64_t *ticket)
{
	struct queued q = { .copy = { .dst = to, .src = from, .size = bytes, .pattern = pattern } };
	int err = 0;

	pthread_mutex_lock(&gpu->lock);
	if (gpu->state)
		err = -ENODEV;
	else if (gp_mock_plan.no_copy)
		err = -EOPNOTSUPP;
	else if (gpu->num + gpu->num_ends >= gpu->depth)
		err = -EAGAIN;
	if (!err) {
		q.ticket = *ticket = ++gpu->tickets;
		gpu->queue[(gpu->head + gpu->num++) % MAX_DEPTH] = q;
		pthread_cond_broadcast(&gpu->work);
	}
	pthread_mutex_unlock(&gpu->lock);
	return err;
}

static int mock_wait(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + ns;
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000),
			       .tv_nsec = (long)(until % 1000000000) };
	int num = 0, err = 0;

	pthread_mutex_lock(&gpu->lock);
	while (!gpu->num_ends && !gpu->woken && !gpu->state && !err)
		err = pthread_cond_timedwait(&gpu->ended, &gpu->lock, &ts);
	gpu->woken = false;
	if (gpu->num_ends) {
		num = (int)MIN(gpu->num_ends, max);
		memcpy(ends, gpu->ends, (size_t)num * sizeof(*ends));
		gpu->num_ends -= (uint32_t)num;
		memmove(gpu->ends, gpu->ends + num, gpu->num_ends * sizeof(*ends));
	} else if (gpu->state) {
		num = -ENODEV;
	}
	pthread_mutex_unlock(&gpu->lock);
	return num;
}

static void mock_wake(struct gp_gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->woken = true;
	pthread_cond_broadcast(&gpu->ended);
	pthread_mutex_unlock(&gpu->lock);
}

/* ------------------------------------------------------------------------- memory */

static uint64_t round_page(uint64_t size)
{
	return (size + 4095) & ~4095ull;
}

static bool may_alloc(enum gp_gpu_mem mem)
{
	uint32_t *fail = mem == GP_GPU_MEM_DEVICE ? &gp_mock_plan.fail_alloc_device
						  : &gp_mock_plan.fail_alloc;

	if (!*fail)
		return true;
	--*fail;
	return false;
}

static void *mock_alloc(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem)
{
	uint64_t whole = round_page(size) + 2 * GP_GUARD;
	struct memory *m;
	uint8_t *base;
	bool may;

	pthread_mutex_lock(&gpu->lock);
	may = may_alloc(mem);
	pthread_mutex_unlock(&gpu->lock);
	if (!may)
		return NULL;
	base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (mprotect(base + GP_GUARD, round_page(size), PROT_READ | PROT_WRITE)) {
		munmap(base, whole);
		return NULL;
	}
	m = g_new0(struct memory, 1);
	*m = (struct memory){ .base = base + GP_GUARD, .size = size, .mem = mem };
	pthread_mutex_lock(&gpu->lock);
	g_hash_table_insert(gpu->memory, m->base, m);
	gpu->counts.allocs++;
	gpu->counts.bytes += size;
	pthread_mutex_unlock(&gpu->lock);
	return m->base;
}

static void mock_free(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct memory *m;

	pthread_mutex_lock(&gpu->lock);
	m = g_hash_table_lookup(gpu->memory, at);
	if (!m || m->size != size)
		die("memory is given back that was not had so");
	g_hash_table_remove(gpu->memory, at);
	gpu->counts.bytes -= size;
	pthread_mutex_unlock(&gpu->lock);
	munmap((uint8_t *)at - GP_GUARD, round_page(size) + 2 * GP_GUARD);
}

static int mock_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd)
{
	if (gp_mock_plan.no_share)
		return -EPERM;
	pthread_mutex_lock(&gpu->lock);
	gpu->counts.shares++;
	pthread_mutex_unlock(&gpu->lock);
	return 0;
}

static void mock_unshare(struct gp_gpu *gpu, void *at, uint64_t size)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->counts.unshares++;
	pthread_mutex_unlock(&gpu->lock);
}

static struct gp_gpu_code *new_code(struct gp_gpu *gpu, struct gp_gpu_code code)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->num_code++;
	gpu->counts.loads++;
	pthread_mutex_unlock(&gpu->lock);
	return g_memdup2(&code, sizeof(code));
}

static struct gp_gpu_code *mock_load(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE])
{
	struct gp_image *ref = (struct gp_image *)(uintptr_t)image;

	return new_code(gpu, (struct gp_gpu_code){ .image = image, .ref = gp_image_ref(ref) });
}

static void mock_unload(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	pthread_mutex_lock(&gpu->lock);
	for (uint32_t i = 0; i < gpu->num && !gp_mock_plan.hang; i++)
		if (gpu->queue[(gpu->head + i) % MAX_DEPTH].code == code)
			die("code is taken away that is to run");
	gpu->num_code--;
	gpu->counts.unloads++;
	pthread_mutex_unlock(&gpu->lock);
	gp_image_unref(code->ref);
	g_free(code);
}

static struct gp_gpu_code *mock_builtin(struct gp_gpu *gpu, enum gp_kernel kernel)
{
	return new_code(gpu, (struct gp_gpu_code){ .kernel = kernel });
}

/* ---------------------------------------------------------------------- open, loss */

static bool mock_ticks(struct gp_gpu *gpu, uint64_t *ticks)
{
	*ticks = gp_ticks();
	return !gp_mock_plan.no_clock;
}

static enum gp_gpu_state mock_state(struct gp_gpu *gpu)
{
	enum gp_gpu_state state;

	pthread_mutex_lock(&gpu->lock);
	state = gpu->state;
	pthread_mutex_unlock(&gpu->lock);
	return state;
}

static bool mock_recover(struct gp_gpu *gpu, bool *contents)
{
	GHashTableIter iter;
	struct memory *m;

	pthread_mutex_lock(&gpu->lock);
	gpu->counts.recovers++;
	*contents = gp_mock_plan.keeps_contents;
	g_hash_table_iter_init(&iter, gpu->memory);
	while (!*contents && g_hash_table_iter_next(&iter, NULL, (void **)&m))
		if (m->mem == GP_GPU_MEM_DEVICE)
			memset(m->base, 0xee, m->size);
	if (gpu->state != GP_GPU_GONE)
		gpu->state = GP_GPU_OK;
	pthread_mutex_unlock(&gpu->lock);
	return gpu->state == GP_GPU_OK;
}

static struct gp_gpu *mock_open(const char *where, struct gp_gpu_info *info, GError **error)
{
	struct gp_gpu *gpu;
	pthread_condattr_t attr;
	struct gp_clock clock;

	if (where && strcmp(where, "here")) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "mock: there is none at %s", where);
		return NULL;
	}
	gp_clock_read(&clock);
	gpu = g_new0(struct gp_gpu, 1);
	gpu->depth = gp_mock_plan.depth ? gp_mock_plan.depth : 4;
	gpu->memory = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	*info = (struct gp_gpu_info){
		.title = "mock: this machine as a GPU",
		.target = "x86_64",
		.wave = WAVE,
		.waves = gp_mock_plan.waves ? gp_mock_plan.waves : 4,
		.depth = gpu->depth,
		.cpus = gp_mock_plan.cpus,
		.memory = 1ull << 30,
		.tick_hz = (uint64_t)(1e9 * 4294967296.0 / (double)clock.mult),
	};
	pthread_mutex_init(&gpu->lock, NULL);
	pthread_cond_init(&gpu->work, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&gpu->ended, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&gpu->thread, NULL, mock_thread, gpu))
		die("no thread");
	current = gpu;
	return gpu;
}

static void mock_close(struct gp_gpu *gpu)
{
	pthread_mutex_lock(&gpu->lock);
	gpu->quit = true;
	pthread_cond_broadcast(&gpu->work);
	pthread_mutex_unlock(&gpu->lock);
	pthread_join(gpu->thread, NULL);
	if (g_hash_table_size(gpu->memory) || gpu->num_code || gpu->counts.shares != gpu->counts.unshares)
		die("memory, code or a share was not given back");
	g_hash_table_destroy(gpu->memory);
	pthread_cond_destroy(&gpu->ended);
	pthread_cond_destroy(&gpu->work);
	pthread_mutex_destroy(&gpu->lock);
	current = NULL;
	g_free(gpu);
}

void gp_mock_counts(struct gp_mock_counts *counts)
{
	pthread_mutex_lock(&current->lock);
	*counts = current->counts;
	pthread_mutex_unlock(&current->lock);
}

const char *gp_mock_use(void)
{
	const char *device = getenv("GPGPU_TEST_DEVICE");

	gp_gpu_register(&gp_gpu_mock);
	gp_mock_plan.cpus = 2;
	gp_mock_plan.no_share = getenv("GPGPU_MOCK_NO_SHARE") != NULL;
	return device ? device : "cpu";
}

const struct gp_gpu_ops gp_gpu_mock = {
	.name = "mock",
	.open = mock_open,
	.close = mock_close,
	.alloc = mock_alloc,
	.free = mock_free,
	.share = mock_share,
	.unshare = mock_unshare,
	.load = mock_load,
	.unload = mock_unload,
	.builtin = mock_builtin,
	.launch = mock_launch,
	.copy = mock_copy,
	.wait = mock_wait,
	.wake = mock_wake,
	.ticks = mock_ticks,
	.state = mock_state,
	.recover = mock_recover,
};
