/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_device.c - the AMD device on the real libdrm, on top of the software card (tests/amdgpu-sim).
 *
 * Arguments: directory with the objects of kernels.c. Environment: the card, preloaded, and its generation.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "harness.h"
#include "rt/abi.h"

/* Whether the CPU can read at @at, found out without a signal. */
static bool readable(const void *at)
{
	int fds[2];
	bool ok;

	ck_assert_int_eq(pipe(fds), 0);
	ok = write(fds[1], at, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return ok;
}

static bool is_all(const uint8_t *at, uint64_t size, int value)
{
	for (uint64_t i = 0; i < size; i++)
		if (at[i] != (value & 0xff))
			return false;
	return true;
}

/* Each libdrm that we say we run on: its path has its version where tests/amdgpu/other-libdrm found it. */
START_TEST(libdrm_is_what_was_meant)
{
	const char *dir = getenv("LIBDRM_DIR"), *version = dir ? strstr(dir, "/libdrm/2.4.") : NULL;
	const struct gp_drm *drm = gp_drm_load(NULL);
	void *call;
	Dl_info where;

	ck_assert_ptr_nonnull(drm);
	memcpy(&call, &drm->amdgpu_cs_submit_raw2, sizeof(call));
	ck_assert_int_ne(dladdr(call, &where), 0);
	printf("%s, amdgpu_device_initialize2: %s\n", where.dli_fname,
	       drm->amdgpu_device_initialize2 ? "yes" : "no");
	if (!dir)
		return;
	ck_assert_int_eq(strncmp(where.dli_fname, dir, strlen(dir)), 0);
	if (version)
		ck_assert_int_eq(drm->amdgpu_device_initialize2 != NULL, atoi(version + 12) >= 123);
}
END_TEST

START_TEST(found)
{
	GError *error = NULL;
	uint64_t first, second;

	open_card();
	ck_assert_str_eq(ops->name, "amdgpu");
	ck_assert_msg(strstr(info.title, "amdgpu 3."), "%s", info.title);
	ck_assert_msg(strstr(info.title, "iB"), "%s", info.title);
	ck_assert_ptr_nonnull(gp_generation_find(info.target));
	ck_assert_msg(strstr(info.title, gpu->chip->name), "%s", info.title);
	ck_assert_uint_eq(info.wave, gp_generation_find(info.target)->wave);
	ck_assert_uint_gt(info.waves, 0);
	ck_assert_uint_ge(info.depth, 8);
	ck_assert_uint_gt(info.memory, 0);
	ck_assert_uint_gt(info.tick_hz, 1000000);
	ck_assert(ops->ticks(gpu, &first));
	usleep(1000);
	ck_assert(ops->ticks(gpu, &second));
	ck_assert_uint_gt(second, first);
	ck_assert_uint_lt(second - first, info.tick_hz);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
	close_card();

	gpu = ops->open("/dev/dri/renderD128", &info, &error);
	ck_assert_msg(gpu, "%s", error ? error->message : "");
	close_card();
}
END_TEST

static void not_opened(const char *where, const char *words)
{
	GError *error = NULL;

	ck_assert_ptr_null(ops->open(where, &info, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(strstr(error->message, words), "'%s' does not say '%s'", error->message, words);
	g_error_free(error);
}

START_TEST(not_found)
{
	not_opened("/dev/dri/renderD190", "No such file");
	not_opened("/dev/null", "no DRM driver answers");
	not_opened("a card", "neither a render node");
	not_opened("0000:03:00", "neither a render node");
	not_opened("0000:03:00.0 ", "neither a render node");
	not_opened("fffe:ff:1f.7", "no AMD GPU at fffe:ff:1f.7");
}
END_TEST

START_TEST(memory_is_zero)
{
	static const uint64_t sizes[] = { 1, 4096, 100000, 262144, 262145, 3u << 20 };
	uint8_t *at;

	open_card();
	for (int round = 0; round < 3; round++)
		for (int kind = GP_GPU_MEM_DEVICE; kind <= GP_GPU_MEM_TABLE; kind++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
				at = must_alloc(sizes[i], (enum gp_gpu_mem)kind);
				ck_assert_uint_eq((uintptr_t)at % 4096, 0);
				ck_assert(is_all(at, sizes[i], 0));
				memset(at, 0xa5, sizes[i]);
				ck_assert(!readable(at - 1));
				ck_assert(!readable(at - GP_GUARD));
				ck_assert(!readable(at + gp_round_up(sizes[i], 4096)));
				ck_assert(!readable(at + sizes[i] + GP_GUARD - 1));
				ops->free(gpu, at, sizes[i]);
				ck_assert(!readable(at));
			}
	ck_assert_ptr_null(ops->alloc(gpu, 0, GP_GPU_MEM_DEVICE));
	ck_assert_ptr_null(ops->alloc(gpu, 1ull << 50, GP_GPU_MEM_DEVICE));
	ck_assert_ptr_null(ops->alloc(gpu, UINT64_MAX, GP_GPU_MEM_HOST));
	close_card();
}
END_TEST

/* Many small pieces share a few buffer objects; what is left over is given back when the card is closed. */
START_TEST(small_pieces)
{
	void *at[300];
	guint before;

	open_card();
	before = gpu->list->len;
	for (int i = 0; i < 300; i++) {
		at[i] = must_alloc(5000, GP_GPU_MEM_DEVICE);
		memset(at[i], i, 5000);
	}
	ck_assert_uint_le(gpu->list->len - before, 2);
	for (int i = 0; i < 300; i += 2)
		ops->free(gpu, at[i], 5000);
	for (int i = 1; i < 300; i += 2)
		ck_assert(is_all(at[i], 5000, i));
	for (int i = 1; i < 299; i += 2)
		ops->free(gpu, at[i], 5000);
	ck_assert_uint_eq(gpu->list->len - before, 1);
	ops->free(gpu, at[299], 5000);
	ck_assert_uint_eq(gpu->list->len, before);
	must_alloc(1, GP_GPU_MEM_DEVICE);
	must_alloc(1 << 20, GP_GPU_MEM_HOST);
	must_load(KERNEL_COPY);
	close_card();
}
END_TEST

/* A GPU with fewer addresses than the process: what the kernel would choose will not do. */
START_TEST(few_addresses)
{
	struct gp_gpu few = { .va_min = 2u << 20, .va_end = 1ull << 45 },
		      none = { .va_min = 4096, .va_end = 8192 };
	struct gp_range ranges[20], range;

	for (int i = 0; i < 20; i++) {
		uint64_t size = i % 2 ? 5000 : 3u << 20;
		uintptr_t base;

		ck_assert(gp_range_reserve(&few, size, &ranges[i]));
		base = (uintptr_t)ranges[i].base;
		ck_assert_uint_eq(base % (i % 2 ? GP_GUARD : 2u << 20), 0);
		ck_assert_uint_ge((uintptr_t)ranges[i].whole, few.va_min);
		ck_assert_uint_le((uintptr_t)ranges[i].whole + ranges[i].whole_size, few.va_end);
		ck_assert_uint_ge(base - (uintptr_t)ranges[i].whole, GP_GUARD);
		ck_assert_uint_ge((uintptr_t)ranges[i].whole + ranges[i].whole_size, base + size + GP_GUARD);
		for (int n = 0; n < i; n++)
			ck_assert(base >= (uintptr_t)ranges[n].whole + ranges[n].whole_size ||
				  base + size <= (uintptr_t)ranges[n].whole);
	}
	for (int i = 0; i < 20; i++)
		gp_range_release(&ranges[i]);
	ck_assert(!gp_range_reserve(&none, 4096, &range));
	ck_assert(!gp_range_reserve(&few, 0, &range));
	ck_assert(!gp_range_reserve(&few, UINT64_MAX, &range));
}
END_TEST

START_TEST(launches)
{
	struct gp_gpu_end ends[32];
	struct copy c;
	uint64_t ticket, last = 0;
	int n;

	open_card();
	make_copy(&c, 1000);
	for (int i = 0; i < 40; i++)
		run_copy(&c);
	/* Several in flight, which end in order. */
	for (int ended = 0; ended < 100;) {
		while (!launch(c.code, c.args, 64, &ticket))
			;
		n = ops->wait(gpu, SECOND, ends, 32);
		ck_assert_int_ge(n, 0);
		for (int e = 0; e < n; e++, ended++) {
			if (last)
				ck_assert_uint_eq(ends[e].ticket, last + 1);
			last = ends[e].ticket;
		}
	}
	ck_assert_int_eq(launch(c.code, c.args, 0, &ticket), -EINVAL);
	ck_assert_int_eq(ops->launch(gpu, c.code, 0, 1, 2048, 1, &ticket), -EINVAL);
	ck_assert_int_eq(ops->launch(gpu, c.code, 0, 1, 64, 0, &ticket), -EINVAL);
	ck_assert_int_eq(ops->launch(gpu, c.code, 0, 1, 64, GP_PACKETS_TIMES + 1, &ticket), -EINVAL);
	close_card();
}
END_TEST

START_TEST(depth)
{
	struct gp_gpu_end ends[64];
	uint64_t tickets[64], more;
	struct gate g;
	uint32_t n = 0, ended = 0;
	int ret;

	open_card();
	make_gate(&g);
	while (n < 64 && !(ret = launch(g.code, g.args, info.wave, &tickets[n])))
		n++;
	ck_assert_uint_eq(n, info.depth);
	ck_assert_int_eq(ret, -EAGAIN);
	ck_assert_int_eq(ops->wait(gpu, SECOND / 20, ends, 64), 0);
	__atomic_store_n(g.word, 1, __ATOMIC_SEQ_CST);
	while (ended < n) {
		ret = ops->wait(gpu, 10 * SECOND, ends, 64);
		ck_assert_int_gt(ret, 0);
		for (int i = 0; i < ret; i++)
			ck_assert_uint_eq(ends[i].ticket, tickets[ended++]);
	}
	ck_assert_int_eq(launch(g.code, g.args, info.wave, &more), 0);
	ck_assert_uint_eq(more, tickets[n - 1] + 1);
	close_card();
}
END_TEST

static gpointer wake_later(gpointer unused)
{
	usleep(50000);
	ops->wake(gpu);
	return NULL;
}

START_TEST(waking)
{
	struct gp_gpu_end end;
	uint64_t start, ticket;
	GThread *thread;
	struct gate g;

	open_card();
	start = now();
	ck_assert_int_eq(ops->wait(gpu, SECOND / 4, &end, 1), 0);
	ck_assert_uint_ge(now() - start, SECOND / 4);
	/* before, and during a wait, with nothing queued and with something that does not end */
	ops->wake(gpu);
	start = now();
	ck_assert_int_eq(ops->wait(gpu, 30 * SECOND, &end, 1), 0);
	ck_assert_uint_lt(now() - start, SECOND);
	make_gate(&g);
	for (int i = 0; i < 6; i++) {
		if (i == 3)
			ck_assert_int_eq(launch(g.code, g.args, info.wave, &ticket), 0);
		thread = g_thread_new("wake", wake_later, NULL);
		start = now();
		ck_assert_int_eq(ops->wait(gpu, 30 * SECOND, &end, 1), 0);
		ck_assert_uint_lt(now() - start, 5 * SECOND);
		g_thread_join(thread);
	}
	*g.word = 1;
	ck_assert_int_eq(wait_one(&end), 1);
	close_card();
}
END_TEST

/* What no program may write to, though it is mapped, or near. */
START_TEST(no_write)
{
	struct gp_gpu_end end;
	struct copy c;
	struct args *wrong;
	uint64_t ticket;
	void *targets[7];

	open_card();
	make_copy(&c, 64);
	wrong = must_alloc(sizeof(*wrong), GP_GPU_MEM_HOST_RO);
	targets[0] = (uint8_t *)c.out - 64; /* guards */
	targets[1] = (uint8_t *)c.out + 4096;
	targets[2] = wrong; /* read-only memory */
	targets[3] = c.code->range.base; /* code */
	targets[4] = gpu->ring->range.base; /* packets */
	targets[5] = must_alloc(4096, GP_GPU_MEM_TABLE);
	targets[6] = NULL;
	for (int i = 0; i < 7; i++) {
		*wrong = (struct args){ 1, targets[i], c.in };
		ck_assert_int_eq(launch(c.code, wrong, 1, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), -ENODEV);
		ck_assert_int_eq(ops->state(gpu), GP_GPU_GUILTY);
		ck_assert_int_eq(launch(c.code, wrong, 1, &ticket), -ENODEV);
		recovered(&c, true);
	}
	close_card();
}
END_TEST

/* Scratch memory is there, each lane's own, and nobody sees what was in it before. */
START_TEST(scratch)
{
	static const uint32_t waves[] = { 1, 1, 20, 3, 20, 1 };
	struct gp_gpu_code *code;
	struct gp_gpu_end end;
	struct args *args;
	uint64_t ticket;
	uint32_t *out;

	open_card();
	code = must_load(KERNEL_SCRATCH);
	args = must_alloc(sizeof(*args), GP_GPU_MEM_HOST_RO);
	out = must_alloc(info.wave * 20 * 4, GP_GPU_MEM_DEVICE);
	for (uint32_t i = 0; i < sizeof(waves) / sizeof(*waves); i++) {
		uint32_t lanes = info.wave * waves[i];

		memset(out, 0xff, lanes * 4);
		*args = (struct args){ 0x12345678 + i, out, out };
		ck_assert_int_eq(launch(code, args, lanes, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), 1);
		ck_assert(is_all((uint8_t *)out, lanes * 4, 0));
	}
	close_card();
}
END_TEST

/* More of it than there is: not while a launch may be using that. */
START_TEST(scratch_grows)
{
	struct gp_gpu_code *code;
	struct gp_gpu_end end;
	struct args *args;
	uint64_t ticket;
	uint32_t *out;
	struct gate g;
	guint before;

	open_card();
	make_gate(&g);
	code = must_load(KERNEL_SCRATCH);
	args = must_alloc(sizeof(*args), GP_GPU_MEM_HOST_RO);
	out = must_alloc(info.wave * 20 * 4, GP_GPU_MEM_DEVICE);
	*args = (struct args){ 1, out, out };
	before = gpu->list->len;
	ck_assert_int_eq(launch(g.code, g.args, 1, &ticket), 0);
	ck_assert_int_eq(launch(code, args, 1, &ticket), -EAGAIN);
	*g.word = 1;
	ck_assert_int_eq(wait_one(&end), 1);
	for (uint32_t waves = 1; waves <= 20; waves += 19) {
		ck_assert_int_eq(launch(code, args, info.wave * waves, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), 1);
		ck_assert_uint_eq(gpu->list->len, before + 1);
	}
	close_card();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("device");
	TCase *tc = tcase_create("simulated");
	SRunner *runner;
	int failed;

	if (argc < 2)
		return EXIT_FAILURE;
	harness_start(argv[1]);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, close_card);
	tcase_add_test(tc, libdrm_is_what_was_meant);
	tcase_add_test(tc, found);
	tcase_add_test(tc, not_found);
	tcase_add_test(tc, memory_is_zero);
	tcase_add_test(tc, small_pieces);
	tcase_add_test(tc, few_addresses);
	tcase_add_test(tc, launches);
	tcase_add_test(tc, depth);
	tcase_add_test(tc, waking);
	tcase_add_test(tc, no_write);
	tcase_add_test(tc, scratch);
	tcase_add_test(tc, scratch_grows);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
