/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_reach.c - memory that the AMD device does not own, or that its lanes do not move: the shared region in windows, the
 * engine of copies, times that were written over. As test_device.c, on the real libdrm and the software card.
 *
 * Arguments: directory with the objects of kernels.c. Environment: the card, preloaded, and its generation.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "harness.h"

static bool is_all(const uint8_t *at, uint64_t size, int value)
{
	for (uint64_t i = 0; i < size; i++)
		if (at[i] != (value & 0xff))
			return false;
	return true;
}

/* -------------------------------------------------------------------- shared region */

static bool is_handle(uint32_t handle)
{
	struct drm_amdgpu_gem_create_in created;
	struct drm_amdgpu_gem_op op = { handle, AMDGPU_GEM_OP_GET_GEM_CREATE_INFO, (uintptr_t)&created };

	return !gpu->drm->drmCommandWriteRead(gpu->fd, DRM_AMDGPU_GEM_OP, &op, sizeof(op));
}

static uint32_t windows_made(const struct gp_shared *shared)
{
	uint32_t made = 0;

	for (uint32_t i = 0; i < shared->num_windows; i++)
		made += shared->windows[i].bo != NULL;
	return made;
}

/* A region of 130 MiB: the GPU reads the first and writes the last page, and reaches what buffers are in. */
static void check_share(bool udmabuf)
{
	const uint64_t size = 130u << 20;
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct gp_shared *shared;
	struct gp_gpu_code *code;
	struct gp_gpu_end end;
	struct args *args;
	uint64_t ticket;
	uint32_t handle;
	uint8_t *at;
	guint before;

	open_card();
	before = gpu->list->len;
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	if (udmabuf) {
		ck_assert_int_ge(gpu->udmabuf, 0);
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	}
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_eq(ops->share(gpu, at, size, fd), 0);
	/* nothing of it is held yet */
	ck_assert_uint_eq(gpu->list->len, before);
	shared = g_ptr_array_index(gpu->shares, 0);
	ck_assert_int_eq(shared->udmabuf, udmabuf);
	ck_assert_uint_eq(shared->window, 4u << 20);
	ck_assert_int_eq(ops->reach(gpu, at, 4096), 0);
	ck_assert_int_eq(ops->reach(gpu, at, 8192), 0);
	ck_assert_uint_eq(windows_made(shared), 1);
	ck_assert_int_eq(ops->reach(gpu, at + size - (5u << 20), 5u << 20), 0);
	ck_assert_uint_eq(windows_made(shared), 3);
	ck_assert_uint_eq(gpu->list->len - before, 3);
	/* which of the two it was */
	ck_assert_int_eq(shared->windows[0].bo->lib != NULL, udmabuf);
	ck_assert_int_eq(ops->reach(gpu, at + size - 4096, 8192), -EINVAL);
	ck_assert_int_eq(ops->reach(gpu, at - 4096, 4096), -EINVAL);
	ck_assert_int_eq(ops->reach(gpu, at, 0), -EINVAL);

	code = must_load(KERNEL_COPY);
	args = must_alloc(sizeof(*args), GP_GPU_MEM_HOST);
	for (uint32_t i = 0; i < 1024; i++)
		((uint32_t *)at)[i] = i ^ 0x5555;
	*args = (struct args){ 1024, (uint32_t *)(at + size - 4096), (uint32_t *)at };
	ck_assert_int_eq(launch(code, args, 1024, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	for (uint32_t i = 0; i < 1024; i++)
		ck_assert_uint_eq(((uint32_t *)(at + size - 4096))[i], (i ^ 0x5555) * 3 + i);
	/* with one of two buffers it stays, with none it goes */
	handle = shared->windows[0].bo->handle;
	ops->unreach(gpu, at, 4096);
	ck_assert(is_handle(handle));
	ck_assert_int_eq(launch(code, args, 1024, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ops->unreach(gpu, at, 8192);
	ck_assert_uint_eq(windows_made(shared), 2);
	ck_assert(!is_handle(handle));
	ck_assert_int_eq(ops->reach(gpu, at, 4096), 0);
	/* windows that cannot be made leave nothing behind */
	control(udmabuf ? "fail PRIME_FD_TO_HANDLE 3 ENOMEM" : "fail GEM_USERPTR 3 ENOMEM");
	ck_assert_int_eq(ops->reach(gpu, at + (2u << 20), 30u << 20), -ENOMEM);
	ck_assert_uint_eq(windows_made(shared), 3);
	/* not shared any more, and nothing is kept */
	handle = shared->windows[0].bo->handle;
	ck_assert(is_handle(handle));
	ops->unshare(gpu, at, size);
	ck_assert_uint_le(gpu->list->len, before + 2);
	ck_assert(!is_handle(handle));
	ck_assert_int_eq(launch(code, args, 1024, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	close_card();
	munmap(at, size);
	close(fd);
}

START_TEST(share_udmabuf)
{
	check_share(true);
}
END_TEST

START_TEST(share_user)
{
	check_share(false);
}
END_TEST

START_TEST(share_refused)
{
	int fd = memfd_create("region", MFD_CLOEXEC);
	uint8_t *none;

	open_card();
	none = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_lt(ops->share(gpu, none, 1 << 20, fd), 0);
	ck_assert_int_eq(ops->share(gpu, none + 1, 4096, fd), -EINVAL);
	ck_assert_int_eq(ops->share(gpu, none, 0, fd), -EINVAL);
	ck_assert_int_eq(ops->share(gpu, none, 100, fd), -EINVAL);
	ck_assert_int_eq(ops->share(gpu, none, UINT64_MAX - 4095, fd), -EINVAL);
	ck_assert_int_eq(ops->share(gpu, (void *)(uintptr_t)(1ull << 47), 4096, fd), -EINVAL);
	close_card();
	close(fd);
}
END_TEST

/* --------------------------------------------------------------------------- copies */

static int copy(void *to, const void *from, uint64_t bytes, uint32_t pattern)
{
	uint64_t ticket;

	return ops->copy(gpu, to, from, bytes, pattern, &ticket);
}

/* A program that got out of its bounds may write over what says how long it took: no longer than there was time. */
START_TEST(false_times)
{
	static const uint32_t begins[] = { 0, 1, 0x55555555 };
	struct gp_gpu_end end;
	uint64_t start, ticket;
	struct args *args;
	struct copy c;

	open_card();
	make_copy(&c, 64);
	args = must_alloc(sizeof(*args), GP_GPU_MEM_HOST_RO);
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		struct gp_stamps *stamps =
			(struct gp_stamps *)(void *)gpu->stamps->range.base + gpu->next % GP_GPU_DEPTH;

		c.in[0] = c.in[1] = begins[i];
		*args = (struct args){ 2, (uint32_t *)&stamps->begin, c.in };
		start = now();
		ck_assert_int_eq(launch(c.code, args, 2, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), 1);
		ck_assert_uint_eq(stamps->begin,
				  (begins[i] * 3ull & 0xffffffff) | (uint64_t)(begins[i] * 3 + 1) << 32);
		ck_assert_uint_le(end.ns, now() - start + 2000000);
	}
	close_card();
}
END_TEST

/*
 * The engine of copies, in order with launches: what lanes wrote is copied, what was copied is read by lanes, in caches or
 * not, with nobody waiting in between.
 */
START_TEST(copies)
{
	static const uint64_t sizes[] = { 1, 3, 4096, (4u << 20) - 1, 9u << 20 };
	const uint32_t count = 5000;
	struct gp_gpu_end ends[8];
	struct copy c;
	uint32_t *host;
	uint8_t *from, *to;
	uint64_t ticket;
	int n = 0;

	open_card();
	ck_assert_uint_gt(gpu->sdma_align, 0);
	make_copy(&c, count);
	host = must_alloc(count * 4, GP_GPU_MEM_HOST);
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < count; i++)
			host[i] = i * 7 + round;
		/* host -> in, lanes: in -> out, out -> host; then out is filled, and lanes write it once more */
		ck_assert_int_eq(copy(c.in, host, count * 4, 0), 0);
		ck_assert_int_eq(launch(c.code, c.args, count, &ticket), 0);
		ck_assert_int_eq(copy(host, c.out, count * 4, 0), 0);
		ck_assert_int_eq(copy(c.out, NULL, count * 4, 0x01020304), 0);
		ck_assert_int_eq(copy(host + 10, c.out + 20, 5, 0), 0);
		ck_assert_int_eq(launch(c.code, c.args, count, &ticket), 0);
		for (n = 0; n < 6;) {
			int got = ops->wait(gpu, 20 * SECOND, ends + n, 8 - (uint32_t)n);

			ck_assert_int_gt(got, 0);
			for (int i = 0; i < got; i++, n++)
				ck_assert_uint_eq(ends[n].ticket, ticket - 5 + (uint64_t)n);
		}
		for (uint32_t i = 0; i < count; i++) {
			uint32_t in = i * 7 + round, want = in * 3 + i;

			ck_assert_uint_eq(c.in[i], in);
			ck_assert_uint_eq(c.out[i], want);
			if (i == 10)
				want = 0x01020304;
			if (i == 11)
				want = (want & ~0xffu) | 4;
			ck_assert_uint_eq(host[i], want);
		}
	}
	from = must_alloc(10u << 20, GP_GPU_MEM_DEVICE);
	to = must_alloc(10u << 20, GP_GPU_MEM_HOST);
	for (uint32_t i = 0; i < 10u << 20; i++)
		from[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(to, 0, 10u << 20);
		ck_assert_int_eq(copy(to + 5, from + 2, sizes[i], 0), 0);
		ck_assert_int_eq(wait_one(ends), 1);
		ck_assert_uint_gt(ends[0].ns, 0);
		ck_assert(is_all(to, 5, 0));
		ck_assert(!memcmp(to + 5, from + 2, sizes[i]));
		ck_assert(is_all(to + 5 + sizes[i], (10u << 20) - 5 - sizes[i], 0));
	}
	/* what it cannot do is for lanes */
	ck_assert_int_eq(copy(to + 1, NULL, 8, 1), -EOPNOTSUPP);
	ck_assert_int_eq(copy(to, NULL, 7, 1), -EOPNOTSUPP);
	ck_assert_int_eq(copy(to, from, 0, 0), -EOPNOTSUPP);
	gpu->sdma_align = 0;
	ck_assert_int_eq(copy(to, from, 4, 0), -EOPNOTSUPP);
	close_card();
}
END_TEST

/* Nor may it write what lanes may not, or read what is not there; after that all is as before. */
START_TEST(copies_out_of_bounds)
{
	struct gp_gpu_end end;
	struct copy c;

	open_card();
	make_copy(&c, 64);
	for (int i = 0; i < 4; i++) {
		void *to = i == 0   ? must_alloc(4096, GP_GPU_MEM_TABLE)
			   : i == 1 ? gpu->ring->range.base
			   : i == 2 ? (uint8_t *)c.out + 4096
				    : (void *)c.out;

		ck_assert_int_eq(copy(to, i == 3 ? (uint8_t *)c.in - 64 : (uint8_t *)c.in, 64, 0), 0);
		ck_assert_int_eq(wait_one(&end), -ENODEV);
		ck_assert_int_eq(ops->state(gpu), GP_GPU_GUILTY);
		recovered(&c, true);
	}
	close_card();
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("reach");
	TCase *tc = tcase_create("simulated");
	SRunner *runner;
	int failed;

	if (argc < 2)
		return EXIT_FAILURE;
	harness_start(argv[1]);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, close_card);
	tcase_add_test(tc, share_udmabuf);
	tcase_add_test(tc, share_user);
	tcase_add_test(tc, share_refused);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, copies_out_of_bounds);
	tcase_add_test(tc, false_times);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
