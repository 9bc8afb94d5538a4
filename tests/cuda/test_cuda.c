/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda.c - the back end for NVIDIA GPUs over a driver that is none (tests/cuda-fake): what it calls and in which
 * order, who owns what, what becomes of every error of every call, and what it says of cards that will not do.
 *
 * The fake ends the process where it is misused, so that much of what is tested stands in no assertion here.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cuda/ops.h"
#include "use.h"

#define SHM_BYTES (10u << 20)
#define MANY	  40
#define SECOND	  1000000000ull

static const struct gp_gpu_ops *ops;
static struct fake_plan *plan;
static struct gp_gpu *gpu;
static struct gp_gpu_info info;

static void setup(void)
{
	ops = cuda_fake_ops();
	plan = cuda_fake_plan();
	memset(plan, 0, sizeof(*plan));
}

static void open_it(void)
{
	GError *error = NULL;

	gpu = ops->open(NULL, &info, &error);
	ck_assert_msg(gpu != NULL, "%s", error ? error->message : "no reason");
}

static void setup_open(void)
{
	setup();
	open_it();
}

static void teardown(void)
{
	if (gpu)
		ops->close(gpu);
	gpu = NULL;
}

/* ------------------------------------------------------------------- launches */

struct filler {
	struct gp_gpu_code *code;
	struct gp_launch *launch;
	uint32_t *stop;
};

/* A launch of the copying kernel that fills @size bytes at @to with @pattern. */
static bool make_filler(struct filler *f, void *to, uint64_t size, uint32_t pattern)
{
	memset(f, 0, sizeof(*f));
	f->code = ops->builtin(gpu, GP_KERNEL_COPY);
	f->launch = ops->alloc(gpu, sizeof(*f->launch), GP_GPU_MEM_HOST);
	f->stop = ops->alloc(gpu, 64, GP_GPU_MEM_HOST_RO);
	if (!f->code || !f->launch || !f->stop)
		return false;
	*f->launch = (struct gp_launch){ .env.stop = f->stop,
					 .group = info.group,
					 .num_cpus = 1,
					 .count = (size + GP_COPY_LANE - 1) / GP_COPY_LANE,
					 .seed = 1,
					 .copy = { .dst = to, .size = size, .pattern = pattern } };
	return true;
}

static int run_filler(const struct filler *f, uint64_t *ticket)
{
	return ops->launch(gpu, f->code, (uintptr_t)f->launch,
			   (uint32_t)((f->launch->count + info.group - 1) / info.group), info.group, 1,
			   ticket);
}

static void free_filler(struct filler *f)
{
	if (f->code)
		ops->unload(gpu, f->code);
	if (f->launch)
		ops->free(gpu, f->launch, sizeof(*f->launch));
	if (f->stop)
		ops->free(gpu, f->stop, 64);
}

/* Waits for one end. Return: as wait(). */
static int wait_one(struct gp_gpu_end *end)
{
	int num = 0;

	for (int i = 0; i < 50 && !num; i++)
		num = ops->wait(gpu, SECOND / 10, end, 1);
	return num;
}

START_TEST(what_it_is)
{
	ck_assert_str_eq(info.target, "x86_64"); /* use.c; else sm_90 */
	ck_assert_uint_eq(info.wave, 32);
	ck_assert_uint_eq(info.group % info.wave, 0);
	ck_assert_uint_eq(info.waves, 4 * 64 / 32);
	ck_assert_uint_eq(info.memory, 8ull << 30);
	ck_assert_uint_ge(info.depth, 8);
}
END_TEST

START_TEST(a_launch_is_four_calls)
{
	uint8_t *to = ops->alloc(gpu, 8192, GP_GPU_MEM_HOST);
	char trace[FAKE_TRACE];
	struct gp_gpu_end end;
	struct filler f;
	uint64_t ticket;

	ck_assert(make_filler(&f, to, 8192, 0x01020304));
	cuda_fake_trace(trace);
	ck_assert_int_eq(run_filler(&f, &ticket), 0);
	cuda_fake_trace(trace);
	ck_assert_str_eq(trace, "cuEventRecord cuLaunchKernel cuEventRecord cuStreamWriteValue32_v2 ");
	ck_assert_uint_eq(ticket, 1);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert_uint_eq(end.ticket, 1);
	for (int i = 0; i < 8192; i++)
		ck_assert_uint_eq(to[i], 4 - i % 4);
	free_filler(&f);
	ops->free(gpu, to, 8192);
}
END_TEST

START_TEST(ends_are_in_order_and_depth_is_kept)
{
	uint8_t *to = ops->alloc(gpu, 4096, GP_GPU_MEM_DEVICE);
	struct gp_gpu_end ends[MANY];
	struct filler f[MANY];
	uint64_t ticket, next = 1;
	uint32_t queued = 0;

	plan->took_us = 3000;
	for (int i = 0; i < MANY; i++)
		ck_assert(make_filler(&f[i], to, 64, (uint32_t)i));
	while (queued < MANY) {
		int err = run_filler(&f[queued], &ticket), num;

		if (!err) {
			ck_assert_uint_eq(ticket, ++queued);
			continue;
		}
		ck_assert_int_eq(err, -EAGAIN);
		ck_assert_uint_eq(queued + 1 - next, info.depth);
		num = wait_one(ends);
		ck_assert_int_eq(num, 1);
		ck_assert_uint_eq(ends[0].ticket, next++);
		ck_assert_uint_ge(ends[0].ns, 3000000);
	}
	while (next <= MANY) {
		int num = ops->wait(gpu, SECOND, ends, MANY);

		ck_assert_int_ge(num, 0);
		for (int i = 0; i < num; i++)
			ck_assert_uint_eq(ends[i].ticket, next++);
	}
	for (int i = 0; i < MANY; i++)
		free_filler(&f[i]);
	ops->free(gpu, to, 4096);
}
END_TEST

START_TEST(copies_are_in_order_with_launches)
{
	uint8_t *card = ops->alloc(gpu, 65536, GP_GPU_MEM_DEVICE),
		*host = ops->alloc(gpu, 65536, GP_GPU_MEM_HOST);
	struct gp_gpu_end end;
	struct filler f;
	uint64_t ticket;

	plan->delay_us = 2000;
	ck_assert(make_filler(&f, card, 65536, 0x55555555));
	ck_assert_int_eq(run_filler(&f, &ticket), 0);
	ck_assert_int_eq(ops->copy(gpu, card, NULL, 4096, 0x66666666, &ticket), 0);
	ck_assert_int_eq(ops->copy(gpu, host, card, 65536, 0, &ticket), 0);
	ck_assert_uint_eq(ticket, 3);
	for (uint64_t i = 1; i <= 3; i++) {
		ck_assert_int_eq(wait_one(&end), 1);
		ck_assert_uint_eq(end.ticket, i);
	}
	ck_assert_uint_eq(host[4095], 0x66);
	ck_assert_uint_eq(host[4096], 0x55);
	ck_assert_int_eq(ops->copy(gpu, card, NULL, 6, 0, &ticket), -EOPNOTSUPP);
	ck_assert_int_eq(ops->copy(gpu, card + 2, NULL, 8, 0, &ticket), -EOPNOTSUPP);
	free_filler(&f);
	ops->free(gpu, card, 65536);
	ops->free(gpu, host, 65536);
}
END_TEST

static void *wake_soon(void *opaque)
{
	struct timespec ts = { 0, 20000000 };

	nanosleep(&ts, NULL);
	ops->wake(gpu);
	return NULL;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

START_TEST(waits_are_bounded_and_woken)
{
	uint64_t began = now();
	struct gp_gpu_end end;
	pthread_t thread;

	ck_assert_int_eq(ops->wait(gpu, SECOND / 20, &end, 1), 0);
	ck_assert_uint_ge(now() - began, SECOND / 20);
	began = now();
	ck_assert_int_eq(pthread_create(&thread, NULL, wake_soon, NULL), 0);
	ck_assert_int_eq(ops->wait(gpu, 100 * SECOND, &end, 1), 0);
	ck_assert_uint_lt(now() - began, 20 * SECOND);
	pthread_join(thread, NULL);
}
END_TEST

/* ------------------------------------------------------------------- memory */

START_TEST(memory_is_zero_and_apart)
{
	static const uint64_t sizes[] = { 1, 4096, 4097, 100000, 262144, 262145, 3 << 20 };
	uint8_t *at[2 * G_N_ELEMENTS(sizes)], *host = ops->alloc(gpu, 3 << 20, GP_GPU_MEM_HOST);
	struct gp_gpu_end end;
	uint64_t ticket;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < G_N_ELEMENTS(at); i++) {
			uint64_t size = sizes[i / 2];

			at[i] = ops->alloc(gpu, size, GP_GPU_MEM_DEVICE);
			ck_assert_ptr_nonnull(at[i]);
			memset(host, 0xff, 3 << 20);
			ck_assert_int_eq(ops->copy(gpu, host, at[i], size, 0, &ticket), 0);
			ck_assert_int_eq(wait_one(&end), 1);
			ck_assert(!host[0] && !memcmp(host, host + 1, size - 1));
			/* What is there when it is had again. */
			ck_assert_int_eq(ops->copy(gpu, at[i], NULL, (size + 3) & ~3ull, 0xdddddddd, &ticket),
					 0);
			ck_assert_int_eq(wait_one(&end), 1);
			for (size_t k = 0; k < i; k++)
				ck_assert(at[k] + sizes[k / 2] + GP_GUARD <= at[i] ||
					  at[i] + size + GP_GUARD <= at[k]);
		}
		for (size_t i = 0; i < G_N_ELEMENTS(at); i++)
			ops->free(gpu, at[i], sizes[i / 2]);
	}
	ops->free(gpu, host, 3 << 20);
}
END_TEST

START_TEST(what_is_written_arrives)
{
	uint64_t size = 200000, ticket;
	uint8_t *card = ops->alloc(gpu, size, GP_GPU_MEM_DEVICE),
		*host = ops->alloc(gpu, size, GP_GPU_MEM_HOST);
	g_autofree uint8_t *from = g_malloc(size);
	struct gp_gpu_end end;

	for (uint64_t i = 0; i < size; i++)
		from[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(ops->write(gpu, card, from, size), 0);
	ck_assert_int_eq(ops->write(gpu, card + 13, "thirteen", 8), 0);
	memcpy(from + 13, "thirteen", 8);
	ck_assert_int_eq(ops->copy(gpu, host, card, size, 0, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert_mem_eq(host, from, size);
	ops->free(gpu, card, size);
	ops->free(gpu, host, size);
}
END_TEST

static uint8_t *shm;
static int shm_fd;

static void make_shm(void)
{
	shm_fd = memfd_create("shm", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(shm_fd, SHM_BYTES), 0);
	shm = mmap(NULL, SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shm_fd, 0);
	ck_assert_ptr_ne(shm, MAP_FAILED);
}

/* Windows come with the first buffer in them and go with the last. */
START_TEST(shared_memory_by_windows)
{
	const uint64_t window = 4 << 20;
	struct gp_gpu_end end;
	uint64_t ticket;

	make_shm();
	ck_assert_int_eq(ops->share(gpu, shm, SHM_BYTES, shm_fd), 0);
	ck_assert_int_eq(ops->reach(gpu, shm + 4096, 8192), 0);
	ck_assert_int_eq(ops->reach(gpu, shm + window - 4096, 8192), 0);
	ck_assert_int_eq(ops->copy(gpu, shm + 4096, NULL, 8192, 0x77777777, &ticket), 0);
	/* Over the edge of two registrations: the driver does not, a kernel does. */
	ck_assert_int_eq(ops->copy(gpu, shm + window - 4096, NULL, 8192, 0x77777777, &ticket), -EOPNOTSUPP);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert_uint_eq(shm[4096 + 8191], 0x77);
	ops->unreach(gpu, shm + 4096, 8192);
	ck_assert_int_eq(ops->copy(gpu, shm + 4096, NULL, 8192, 0x78787878, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ops->unreach(gpu, shm + window - 4096, 8192);
	ck_assert_int_eq(ops->reach(gpu, shm + SHM_BYTES - 4096, 8192), -EINVAL);
	ck_assert_int_eq(ops->reach(gpu, shm + SHM_BYTES, 4096), -EINVAL);
	ck_assert_int_eq(ops->reach(gpu, shm, SHM_BYTES), 0);
	ops->unshare(gpu, shm, SHM_BYTES);
}
END_TEST

/* ------------------------------------------------------------------- errors */

/* Those that end the context, and what that is taken for. */
static const struct {
	int error;
	enum gp_gpu_state state;
} losses[] = {
	{ CUDA_ERROR_ILLEGAL_ADDRESS, GP_GPU_GUILTY },
	{ CUDA_ERROR_LAUNCH_TIMEOUT, GP_GPU_GUILTY },
	{ CUDA_ERROR_ASSERT, GP_GPU_GUILTY },
	{ CUDA_ERROR_HARDWARE_STACK_ERROR, GP_GPU_GUILTY },
	{ CUDA_ERROR_ILLEGAL_INSTRUCTION, GP_GPU_GUILTY },
	{ CUDA_ERROR_MISALIGNED_ADDRESS, GP_GPU_GUILTY },
	{ CUDA_ERROR_INVALID_ADDRESS_SPACE, GP_GPU_GUILTY },
	{ CUDA_ERROR_INVALID_PC, GP_GPU_GUILTY },
	{ CUDA_ERROR_LAUNCH_FAILED, GP_GPU_GUILTY },
	{ CUDA_ERROR_ECC_UNCORRECTABLE, GP_GPU_INNOCENT },
	{ CUDA_ERROR_NVLINK_UNCORRECTABLE, GP_GPU_INNOCENT },
	{ CUDA_ERROR_CONTAINED, GP_GPU_INNOCENT },
	{ CUDA_ERROR_UNKNOWN, GP_GPU_INNOCENT },
	{ CUDA_ERROR_NO_DEVICE, GP_GPU_GONE },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, GP_GPU_GONE },
	{ CUDA_ERROR_DEINITIALIZED, GP_GPU_GONE },
};

START_TEST(a_fault_is_a_loss)
{
	uint8_t *to = ops->alloc(gpu, 4096, GP_GPU_MEM_DEVICE);
	struct gp_gpu_end end;
	bool contents = true;
	struct filler f;
	uint64_t ticket;
	int err;

	ck_assert(make_filler(&f, to, 4096, 1));
	plan->fault = losses[_i].error;
	/* It may have happened before the call is over. */
	err = run_filler(&f, &ticket);
	ck_assert(!err || err == -ENODEV);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), losses[_i].state);
	ck_assert_int_eq(run_filler(&f, &ticket), -ENODEV);
	ck_assert_ptr_null(ops->alloc(gpu, 4096, GP_GPU_MEM_HOST));
	/* The card is there, but nothing that it held is anybody's any more. */
	ck_assert_int_eq(ops->recover(gpu, &contents), losses[_i].state != GP_GPU_GONE);
	ck_assert(!contents);
	free_filler(&f);
	ops->free(gpu, to, 4096);
}
END_TEST

START_TEST(no_memory_is_no_loss)
{
	static const char *const names[] = { "cuEventRecord", "cuLaunchKernel" };
	uint8_t *to = ops->alloc(gpu, 4096, GP_GPU_MEM_DEVICE);
	struct gp_gpu_end end;
	struct filler f;
	uint64_t ticket;

	ck_assert(make_filler(&f, to, 4096, 1));
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		memset(plan, 0, sizeof(*plan));
		g_strlcpy(plan->name, names[i], sizeof(plan->name));
		plan->error = CUDA_ERROR_OUT_OF_MEMORY;
		ck_assert_int_eq(run_filler(&f, &ticket), -ENOMEM);
		memset(plan, 0, sizeof(*plan));
		ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
	}
	ck_assert_int_eq(run_filler(&f, &ticket), 0);
	ck_assert_uint_eq(ticket, 1);
	ck_assert_int_eq(wait_one(&end), 1);
	free_filler(&f);
	ops->free(gpu, to, 4096);
}
END_TEST

/* A launch whose end nobody would see. */
START_TEST(half_a_launch_is_a_loss)
{
	uint8_t *to = ops->alloc(gpu, 4096, GP_GPU_MEM_DEVICE);
	struct filler f;
	uint64_t ticket;

	ck_assert(make_filler(&f, to, 4096, 1));
	g_strlcpy(plan->name, "cuStreamWriteValue32_v2", sizeof(plan->name));
	plan->error = CUDA_ERROR_OUT_OF_MEMORY;
	plan->sticky = true;
	ck_assert_int_eq(run_filler(&f, &ticket), -ENODEV);
	ck_assert_int_ne(ops->state(gpu), GP_GPU_OK);
	free_filler(&f);
	ops->free(gpu, to, 4096);
}
END_TEST

/* Everything that there is, once; whatever fails on the way. */
static void use_everything(void)
{
	uint8_t *small, *large = NULL, *table = NULL;
	struct gp_gpu_end end;
	struct filler f = { 0 };
	uint64_t ticket;
	GError *error = NULL;
	bool shared;

	gpu = ops->open(NULL, &info, &error);
	if (!gpu) {
		ck_assert_ptr_nonnull(error);
		ck_assert_uint_gt(strlen(error->message), 10);
		return;
	}
	small = ops->alloc(gpu, 5000, GP_GPU_MEM_DEVICE);
	large = ops->alloc(gpu, 3 << 20, GP_GPU_MEM_DEVICE);
	table = ops->alloc(gpu, 4096, GP_GPU_MEM_TABLE);
	if (small)
		ops->write(gpu, small, "abc", 3);
	shared = !ops->share(gpu, shm, SHM_BYTES, shm_fd);
	if (shared && !ops->reach(gpu, shm, 5 << 20)) {
		if (!ops->copy(gpu, shm, NULL, 4096, 1, &ticket))
			wait_one(&end);
		if (large && !ops->copy(gpu, shm, large, 4096, 1, &ticket))
			wait_one(&end);
		ops->unreach(gpu, shm, 5 << 20);
	}
	if (large && make_filler(&f, large, 4096, 1) && !run_filler(&f, &ticket))
		wait_one(&end);
	free_filler(&f);
	if (shared)
		ops->unshare(gpu, shm, SHM_BYTES);
	if (table)
		ops->free(gpu, table, 4096);
	if (large)
		ops->free(gpu, large, 3 << 20);
	if (small)
		ops->free(gpu, small, 5000);
	ops->close(gpu);
	gpu = NULL;
}

/* In a process of its own, which has not opened anything. Return: how many calls that took. */
static uint32_t use_everything_apart(const struct fake_plan *with, const char *what)
{
	uint32_t *calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), num;
	pid_t pid = fork();
	int status;

	if (!pid) {
		*plan = *with;
		use_everything();
		*calls = cuda_fake_calls();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s, error %d: status %#x", what,
		      with->error, (unsigned int)status);
	num = *calls;
	munmap(calls, 4096);
	return num;
}

/*
 * One of all calls fails, whichever: no crash, nothing that the fake ends the process for, and an end within the time of
 * the test.
 */
START_TEST(any_call_fails)
{
	struct fake_plan with = { .version = 12000 }; /* so that calls are counted */
	uint32_t calls;

	make_shm();
	calls = use_everything_apart(&with, "none");
	ck_assert_uint_gt(calls, 80);
	for (uint32_t nth = 1; nth <= calls; nth++) {
		g_autofree char *what = g_strdup_printf("call %u", nth);

		with = (struct fake_plan){ .nth = nth, .error = CUDA_ERROR_OUT_OF_MEMORY };
		use_everything_apart(&with, what);
	}
}
END_TEST

#define NAME(name, args) #name,
static const char *const names[] = { GP_CUDA_CALLS(NAME) };

static const struct {
	int error;
	bool sticky;
} errors[] = {
	{ CUDA_ERROR_INVALID_VALUE, false },
	{ CUDA_ERROR_NOT_SUPPORTED, false },
	{ CUDA_ERROR_LAUNCH_FAILED, true },
	{ CUDA_ERROR_NO_DEVICE, true },
};

/* The first of each kind, with each kind of error. */
START_TEST(each_call_fails_in_each_way)
{
	make_shm();
	for (size_t i = 0; i < G_N_ELEMENTS(errors); i++) {
		struct fake_plan with = { .error = errors[i].error, .sticky = errors[i].sticky };

		g_strlcpy(with.name, names[_i], sizeof(with.name));
		use_everything_apart(&with, names[_i]);
	}
}
END_TEST

/* ------------------------------------------------------------------- code */

#define HEAD  "//@run 0 3\n.version 7.8\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry gp_kernel(.param .u64 launch)\n{\n\tret;\n}\n"

static const struct {
	const char *text, *why; /* what is said, or part of it; NULL: it is taken */
} texts[] = {
	{ ".version 7.8\n.target sm_90\n" HEAD ENTRY, NULL },
	{ "nonsense", "no text" },
	{ ".version 7.8\n.target sm_100\n" ENTRY, "too new" },
	{ ".version 7.8\n.target sm_90\n" FAKE_DIE "\n" ENTRY, "died" },
	{ ".version 7.8\n.target sm_90\n" FAKE_HANG "\n" ENTRY, "too long" },
};

static struct gp_gpu_code *load(const char *text, uint32_t bytes, enum gp_image_kind kind,
				char why[GP_MESSAGE])
{
	struct gp_image image = {
		.kind = kind, .code = (void *)(uintptr_t)text, .code_bytes = bytes, .map_bytes = bytes
	};

	return gp_gpu_cuda.load(gpu, &image, why);
}

/* Also that the assembler is there again for the next. */
START_TEST(what_the_assembler_says)
{
	char why[GP_MESSAGE] = "";
	struct gp_gpu_code *code;

	code = load(texts[_i].text, (uint32_t)strlen(texts[_i].text) + 1, GP_IMAGE_PTX, why);
	if (texts[_i].why) {
		ck_assert_ptr_null(code);
		ck_assert_msg(strstr(why, texts[_i].why) != NULL, "%s", why);
		code = load(texts[0].text, (uint32_t)strlen(texts[0].text) + 1, GP_IMAGE_PTX, why);
	}
	ck_assert_msg(code != NULL, "%s", why);
	ops->unload(gpu, code);
}
END_TEST

START_TEST(images_that_are_none)
{
	char why[GP_MESSAGE] = "";
	uint32_t size = (uint32_t)strlen(texts[0].text) + 1;
	g_autofree char *text = g_memdup2(texts[0].text, size);

	ck_assert_ptr_null(load(text, size, GP_IMAGE_CODE, why));
	ck_assert_ptr_null(load(text, size - 1, GP_IMAGE_PTX, why));
	ck_assert_ptr_null(load(text, 0, GP_IMAGE_PTX, why));
	text[20] = 0;
	ck_assert_ptr_null(load(text, size, GP_IMAGE_PTX, why));
	ck_assert_ptr_nonnull(strstr(why, "no text"));
}
END_TEST

/* What the driver says that code needs. */
START_TEST(code_that_needs_too_much)
{
	static const struct {
		int attribute, value;
		const char *why;
	} needs[] = {
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64, "lanes" },
		{ CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 16 << 20, "local memory" },
	};
	char why[GP_MESSAGE] = "";

	for (size_t i = 0; i < G_N_ELEMENTS(needs); i++) {
		plan->attribute = -1 - needs[i].attribute;
		plan->value = needs[i].value;
		ck_assert_ptr_null(
			load(texts[0].text, (uint32_t)strlen(texts[0].text) + 1, GP_IMAGE_PTX, why));
		ck_assert_msg(strstr(why, needs[i].why) != NULL, "%s", why);
	}
}
END_TEST

/* ------------------------------------------------------------------- cards */

static const struct {
	const char *where, *title, *why;
} wheres[] = {
	{ NULL, "Fake 0", NULL },
	{ "1", "Fake 1", NULL },
	{ "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", "Fake 1", NULL },
	{ "gpu-00010203-0405-0607-0809-0a0b0c0d0e0f", "Fake 0", NULL },
	{ "0000:66:00.0", "Fake 1", NULL },
	{ "66:00.0", "Fake 1", NULL },
	{ "2", NULL, "no NVIDIA GPU 2" },
	{ "GPU-nobody", NULL, "there are others" },
	{ "0000:67:00.0", NULL, "there are others" },
	{ "/dev/nvidia0", NULL, "neither a number" },
	{ "", NULL, "neither a number" },
	{ "-1", NULL, "neither a number" },
	{ "1x", NULL, "neither a number" },
};

START_TEST(which_card)
{
	GError *error = NULL;

	/* The back end's own, since use.c gives it another name. */
	gpu = gp_gpu_cuda.open(wheres[_i].where, &info, &error);
	if (wheres[_i].title) {
		ck_assert_msg(gpu != NULL, "%s", error ? error->message : "");
		ck_assert_msg(strstr(info.title, wheres[_i].title) != NULL, "%s", info.title);
		ck_assert_str_eq(info.target, "sm_90");
		return;
	}
	ck_assert_ptr_null(gpu);
	ck_assert_msg(strstr(error->message, wheres[_i].why) != NULL, "%s", error->message);
	g_error_free(error);
}
END_TEST

static const struct {
	struct fake_plan plan;
	const char *why;
} unfit[] = {
	{ { .version = 11080 }, "too old: it has CUDA 11.8" },
	{ { .devices = -1 }, "there is no NVIDIA GPU" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, .value = 6 },
	  "capability 6.0 is too old" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING }, "one address" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED }, "in place" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM }, "at its address" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED }, "of our choice" },
	{ { .attribute = CU_DEVICE_ATTRIBUTE_WARP_SIZE, .value = 64 }, "waves of 32" },
	{ { .name = "cuInit", .error = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH }, "does not start" },
	{ { .name = "cuCtxCreate_v2", .error = CUDA_ERROR_OUT_OF_MEMORY, .sticky = true }, "no context" },
};

START_TEST(cards_that_will_not_do)
{
	GError *error = NULL;

	*plan = unfit[_i].plan;
	gpu = ops->open(NULL, &info, &error);
	ck_assert_ptr_null(gpu);
	ck_assert_msg(strstr(error->message, unfit[_i].why) != NULL, "%s", error->message);
	g_error_free(error);
}
END_TEST

START_TEST(no_assembler)
{
	GError *error = NULL;

	g_setenv("GPGPU_PTX", "/nowhere/gpgpu-ptx", TRUE);
	gpu = ops->open(NULL, &info, &error);
	ck_assert_ptr_null(gpu);
	ck_assert_msg(strstr(error->message, "/nowhere/gpgpu-ptx") != NULL, "%s", error->message);
	g_error_free(error);
}
END_TEST

/* It follows ours, whatever its epoch is. */
START_TEST(the_clock)
{
	uint64_t before, after, then = now();
	struct timespec ts = { 0, 20000000 };

	ck_assert(gp_gpu_cuda.ticks(gpu, &before));
	nanosleep(&ts, NULL);
	ck_assert(gp_gpu_cuda.ticks(gpu, &after));
	ck_assert_uint_ge(after - before, 20000000);
	ck_assert_uint_le(after - before, now() - then);
	ck_assert_uint_ge(before, then + 900 * SECOND);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda");
	TCase *tc = tcase_create("open"), *closed = tcase_create("closed");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup_open, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, what_it_is);
	tcase_add_test(tc, a_launch_is_four_calls);
	tcase_add_test(tc, ends_are_in_order_and_depth_is_kept);
	tcase_add_test(tc, copies_are_in_order_with_launches);
	tcase_add_test(tc, waits_are_bounded_and_woken);
	tcase_add_test(tc, memory_is_zero_and_apart);
	tcase_add_test(tc, what_is_written_arrives);
	tcase_add_test(tc, shared_memory_by_windows);
	tcase_add_loop_test(tc, a_fault_is_a_loss, 0, G_N_ELEMENTS(losses));
	tcase_add_test(tc, no_memory_is_no_loss);
	tcase_add_test(tc, half_a_launch_is_a_loss);
	tcase_add_loop_test(tc, what_the_assembler_says, 0, G_N_ELEMENTS(texts));
	tcase_add_test(tc, images_that_are_none);
	tcase_add_test(tc, code_that_needs_too_much);
	tcase_add_test(tc, the_clock);
	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(closed, setup, teardown);
	tcase_set_timeout(closed, 240);
	tcase_add_loop_test(closed, which_card, 0, G_N_ELEMENTS(wheres));
	tcase_add_loop_test(closed, cards_that_will_not_do, 0, G_N_ELEMENTS(unfit));
	tcase_add_test(closed, no_assembler);
	tcase_add_test(closed, any_call_fails);
	tcase_add_loop_test(closed, each_call_fails_in_each_way, 0, G_N_ELEMENTS(names));
	suite_add_tcase(suite, closed);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
