/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_trouble.c - what goes wrong below the AMD device: resets, hangs, a card that is pulled out, and every ioctl failing
 * with every errno that it may return.
 *
 * Arguments and environment as test_device.c has them. Leaks are AddressSanitizer's to find, in the build that has it; of
 * buffer objects they are found here.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "harness.h"

static struct copy copy;

static void start(void)
{
	open_card();
	make_copy(&copy, 500);
	run_copy(&copy);
}

/* lose() - a launch that does not end well, and all behind it. */
static void lose(enum gp_gpu_state state)
{
	struct gp_gpu_end end;
	uint64_t ticket;
	int ret = launch(copy.code, copy.args, copy.count, &ticket);

	ck_assert(ret == 0 || ret == -ENODEV);
	/* more of them: none is reported as ended, unless it ended before */
	for (int i = 0; i < 3 && !ret; i++)
		ret = launch(copy.code, copy.args, copy.count, &ticket);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->wait(gpu, SECOND, &end, 1), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), state);
	ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), -ENODEV);
}

START_TEST(guilty)
{
	start();
	for (int i = 0; i < 3; i++) {
		control("reset guilty");
		lose(GP_GPU_GUILTY);
		recovered(&copy, true);
	}
	close_card();
}
END_TEST

START_TEST(guilty_vram_lost)
{
	start();
	control("reset guilty vram-lost");
	lose(GP_GPU_GUILTY);
	recovered(&copy, false);
	close_card();
}
END_TEST

/* With a launch of ours on the card, which waits for its gate. */
static void reset_running(const char *command, enum gp_gpu_state state, bool contents)
{
	struct gp_gpu_end end;
	struct gate gate;
	uint64_t ticket;

	start();
	make_gate(&gate);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(launch(gate.code, gate.args, 1, &ticket), 0);
	ck_assert_int_eq(ops->wait(gpu, SECOND / 20, &end, 1), 0);
	control(command);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), state);
	recovered(&copy, contents);
	close_card();
}

START_TEST(innocent)
{
	reset_running("reset innocent", GP_GPU_INNOCENT, true);
}
END_TEST

START_TEST(innocent_vram_lost)
{
	reset_running("reset innocent vram-lost", GP_GPU_INNOCENT, false);
}
END_TEST

START_TEST(guilty_running)
{
	reset_running("reset guilty", GP_GPU_GUILTY, true);
}
END_TEST

/* While nothing is queued: the next launch finds out, if there is anything to find. */
START_TEST(innocent_idle)
{
	struct gp_gpu_end end;
	uint64_t ticket;
	bool kept;
	int ret;

	start();
	control("reset innocent vram-lost");
	ret = launch(copy.code, copy.args, copy.count, &ticket);
	if (!ret)
		ret = wait_one(&end);
	ck_assert_int_eq(ret, -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_INNOCENT);
	recovered(&copy, false);

	control("reset innocent");
	ret = launch(copy.code, copy.args, copy.count, &ticket);
	if (!ret)
		ret = wait_one(&end);
	if (ret == -ENODEV)
		ck_assert(ops->recover(gpu, &kept));
	run_copy(&copy);
	close_card();
}
END_TEST

/* The packet processor hangs; code that does not end. Both are ended by the driver's timeout. */
START_TEST(hang)
{
	struct gp_gpu_end end;
	struct gate gate;
	uint64_t ticket;

	control("timeout 300");
	start();
	control("hang");
	lose(GP_GPU_GUILTY);
	recovered(&copy, true);
	make_gate(&gate);
	ck_assert_int_eq(launch(gate.code, gate.args, 1, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_GUILTY);
	recovered(&copy, true);
	close_card();
}
END_TEST

/*
 * The driver resets one ring instead of the card: nobody is guilty by its books, but whose launch hung is, and all behind it on
 * the queue fails with it. Others do not notice.
 */
START_TEST(ring_reset)
{
	struct gp_gpu *mine, *other;
	struct gp_gpu_end end;
	struct copy theirs;
	struct gate gate;
	uint64_t ticket;

	control("timeout 300");
	control("recovery ring");
	start();
	mine = gpu;
	open_card();
	other = gpu;
	make_copy(&theirs, 64);
	run_copy(&theirs);
	gpu = mine;
	for (int i = 0; i < 2; i++) {
		control("hang");
		lose(GP_GPU_GUILTY);
		recovered(&copy, true);
		gpu = other;
		run_copy(&theirs);
		ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
		gpu = mine;
	}
	/* and where waves do not end, which are killed */
	make_gate(&gate);
	ck_assert_int_eq(launch(gate.code, gate.args, 1, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_GUILTY);
	recovered(&copy, true);
	close_card();
	gpu = other;
	run_copy(&theirs);
	close_card();
}
END_TEST

START_TEST(unplugged)
{
	struct gp_gpu_end end;
	struct gate gate;
	uint64_t ticket, ticks;
	char why[GP_MESSAGE];
	bool kept;

	start();
	make_gate(&gate);
	ck_assert_int_eq(launch(gate.code, gate.args, 1, &ticket), 0);
	control("unplug");
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_GONE);
	ck_assert(!ops->recover(gpu, &kept));
	ck_assert_int_eq(launch(copy.code, copy.args, 1, &ticket), -ENODEV);
	ck_assert_int_eq(ops->wait(gpu, 0, &end, 1), -ENODEV);
	ck_assert_ptr_null(ops->alloc(gpu, 1 << 20, GP_GPU_MEM_DEVICE));
	ck_assert_ptr_null(load(KERNEL_COPY, why));
	ck_assert(!ops->ticks(gpu, &ticks));
	ops->wake(gpu);
	free_copy(&copy);
	close_card();
	/* and not a new one */
	gpu = ops->open(NULL, &info, NULL);
	ck_assert_ptr_null(gpu);
}
END_TEST

/* While nothing is queued, and nobody waits. */
START_TEST(unplugged_idle)
{
	uint64_t ticket;
	bool kept;

	start();
	control("unplug");
	ck_assert_int_eq(launch(copy.code, copy.args, 1, &ticket), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_GONE);
	ck_assert(!ops->recover(gpu, &kept));
	close_card();
}
END_TEST

START_TEST(no_memory_now)
{
	uint64_t ticket;

	start();
	control("enomem-cs 3");
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), -ENOMEM);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
	run_copy(&copy);
	close_card();
}
END_TEST

/* A card that is lost again and again is given up. */
START_TEST(no_end_of_it)
{
	struct gp_gpu_end end;
	uint64_t ticket;
	bool kept, alive = true;
	int tries = 0;

	start();
	while (alive && tries++ < 100) {
		control("reset guilty");
		ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), -ENODEV);
		alive = ops->recover(gpu, &kept);
	}
	ck_assert(!alive);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_GONE);
	ck_assert_int_gt(tries, 3);
	close_card();
}
END_TEST

/* The driver says that it ended, and the GPU never wrote so. */
START_TEST(never_ran)
{
	struct gp_gpu_end end;
	struct gp_stamps *stamps;
	uint64_t ticket;

	start();
	ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), 0);
	stamps = (struct gp_stamps *)gpu->stamps->range.base + ticket % GP_GPU_DEPTH;
	for (int i = 0; i < 1000 && *(volatile uint64_t *)&stamps->ticket != ticket; i++)
		usleep(10000);
	ck_assert_uint_eq(stamps->ticket, ticket);
	stamps->ticket = 0;
	ck_assert_int_eq(wait_one(&end), -ENODEV);
	ck_assert_int_eq(ops->state(gpu), GP_GPU_INNOCENT);
	recovered(&copy, true);
	close_card();
}
END_TEST

/* Code out of its bounds writes over what the GPU wrote down of the launch that it is part of: that is noticed. */
START_TEST(times_written_over)
{
	struct gp_gpu_end end;
	struct args *wild;
	uint64_t ticket;

	start();
	wild = must_alloc(sizeof(*wild), GP_GPU_MEM_HOST);
	*wild = (struct args){
		2, (uint32_t *)((struct gp_stamps *)gpu->stamps->range.base + gpu->next % GP_GPU_DEPTH),
		copy.in
	};
	ck_assert_uint_eq(offsetof(struct gp_stamps, begin), 0);
	copy.in[1] = 0x10000000; /* times 3 for the upper half: long after the end */
	ck_assert_int_eq(launch(copy.code, wild, 2, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert_uint_eq(end.ticket, ticket);
	ck_assert(end.odd);
	ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), 0);
	ck_assert_int_eq(wait_one(&end), 1);
	ck_assert(!end.odd);
	ck_assert_uint_gt(end.ns, 0);
	close_card();
}
END_TEST

/* Somebody else's launch is ended by the driver, again and again. */
static void others(bool fence_errors)
{
	struct gp_gpu *mine, *other;
	struct args *wrong;
	struct gp_gpu_end end;
	struct copy theirs;
	uint64_t ticket;
	bool kept;
	int ret;

	start();
	mine = gpu;
	mine->fence_errors = fence_errors;
	open_card();
	other = gpu;
	make_copy(&theirs, 64);
	wrong = must_alloc(sizeof(*wrong), GP_GPU_MEM_HOST);
	*wrong = (struct args){ 64, NULL, theirs.in };
	for (int i = 0; i < 3; i++) {
		gpu = other;
		ck_assert_int_eq(launch(theirs.code, wrong, 64, &ticket), 0);
		ck_assert_int_eq(wait_one(&end), -ENODEV);
		ck_assert_int_eq(ops->state(gpu), GP_GPU_GUILTY);
		ck_assert(ops->recover(gpu, &kept) && kept);
		gpu = mine;
		if (!fence_errors) {
			/* Which of us it was cannot be known. */
			ck_assert_int_eq(launch(copy.code, copy.args, copy.count, &ticket), 0);
			ret = wait_one(&end);
			ck_assert_int_eq(ret, -ENODEV);
			ck_assert_int_eq(ops->state(gpu), GP_GPU_INNOCENT);
			ck_assert(ops->recover(gpu, &kept) && kept);
		}
		run_copy(&copy);
		ck_assert_int_eq(ops->state(gpu), GP_GPU_OK);
	}
	gpu = other;
	run_copy(&theirs);
	close_card();
	gpu = mine;
	run_copy(&copy);
	close_card();
}

START_TEST(others_fault)
{
	others(true);
}
END_TEST

START_TEST(others_fault_old_driver)
{
	others(false);
}
END_TEST

/*
 * What each may return, by its code in Linux 6.12. What libdrm itself repeats (EINTR, EAGAIN) is here too. All of the
 * driver's may return EIO, when the card cannot be woken (amdgpu_drm_ioctl()): each does so once.
 */
static const struct {
	const char *ioctl;
	const char *errnos;
	int most; /* how often it is called in one life before the calls repeat themselves */
} failures[] = {
	/* Not more: libdrm's own look at the version does not survive that it fails. */
	{ "VERSION", "ENODEV EFAULT EACCES", 2 },
	{ "GET_CAP", "ENODEV EINVAL EOPNOTSUPP", 1 },
	{ "INFO", "ENODEV EINVAL EFAULT ENOMEM EPERM", 14 },
	{ "CTX", "ENODEV EINVAL ENOMEM EACCES EPERM ENOSPC", 4 },
	{ "SYNCOBJ_CREATE", "ENODEV ENOMEM EINVAL ENOSPC", 2 },
	{ "SYNCOBJ_DESTROY", "ENODEV EINVAL", 2 },
	{ "SYNCOBJ_TIMELINE_WAIT", "ENODEV ENOMEM EINVAL ENOENT ETIME EINTR EFAULT", 1 },
	{ "SYNCOBJ_TIMELINE_SIGNAL", "ENODEV ENOMEM EINVAL ENOENT EFAULT", 1 },
	{ "SYNCOBJ_QUERY", "ENODEV ENOMEM EINVAL ENOENT EFAULT", 2 },
	{ "GEM_CREATE", "ENODEV ENOMEM EINVAL EINTR ENOSPC", 7 },
	{ "GEM_MMAP", "ENODEV ENOENT EPERM", 7 },
	{ "GEM_VA", "ENODEV ENOMEM EINVAL ENOENT EINTR", 14 },
	{ "GEM_CLOSE", "ENODEV EINVAL", 8 },
	{ "GEM_USERPTR", "ENODEV ENOMEM EINVAL EFAULT EACCES EPERM EINTR", 1 },
	{ "PRIME_FD_TO_HANDLE", "ENODEV ENOMEM EINVAL ENOENT EACCES EBADF EOPNOTSUPP", 1 },
	{ "UDMABUF_CREATE", "ENODEV ENOMEM EINVAL EBADFD EMFILE EFAULT", 1 },
	{ "CS",
	  "ENODEV ENOMEM EINVAL ENOENT EFAULT ECANCELED ENODATA ETIME EPERM EINTR EAGAIN EBUSY EHWPOISON",
	  2 },
	{ "WAIT_CS", "ENODEV EINVAL ENOMEM ECANCELED ENODATA ETIME EINTR", 2 },
};
#define FAILURES ((int)(sizeof(failures) / sizeof(*failures)))

static gpointer wake_later(gpointer unused)
{
	/* Only who waits is signalled; on a busy host that may be later than now. */
	for (int i = 0; i < 200 && !g_atomic_int_get(&gpu->waiting); i++)
		usleep(1000);
	usleep(2000);
	ops->wake(gpu);
	return NULL;
}

/* What a worker does, in which every step may fail; nothing is left behind. Return: whether all went well. */
static bool whole_life(uint8_t *region, uint64_t size, int fd)
{
	struct gp_gpu_end end = { 0 };
	char why[GP_MESSAGE] = "";
	GError *error = NULL;
	uint64_t ticket, ticks;
	struct copy c = { .count = 300 };
	bool ok = false, kept, shared;
	GThread *thread;
	guint before;
	int ret;

	gpu = ops->open(NULL, &info, &error);
	if (!gpu) {
		ck_assert_ptr_nonnull(error);
		ck_assert_uint_gt(strlen(error->message), 10);
		g_error_free(error);
		return false;
	}
	before = gpu->list->len;
	shared = !ops->share(gpu, region, size, fd);
	ops->ticks(gpu, &ticks);
	c.args = ops->alloc(gpu, sizeof(*c.args), GP_GPU_MEM_HOST_RO);
	c.in = ops->alloc(gpu, c.count * 4, GP_GPU_MEM_DEVICE);
	c.out = ops->alloc(gpu, 1 << 20, GP_GPU_MEM_DEVICE);
	c.code = load(KERNEL_COPY, why);
	if (!c.code)
		ck_assert_uint_gt(strlen(why), 10);
	if (c.args && c.in && c.out && c.code) {
		fill_copy(&c);
		thread = g_thread_new("wake", wake_later, NULL);
		ck_assert_int_le(ops->wait(gpu, SECOND / 4, &end, 1), 0);
		g_thread_join(thread);
		ret = ops->state(gpu) == GP_GPU_OK ? launch(c.code, c.args, c.count, &ticket) : -ENODEV;
		if (ret == -ENOMEM)
			ret = launch(c.code, c.args, c.count, &ticket);
		ck_assert(ret == 0 || ret == -ENODEV);
		if (!ret)
			ret = wait_one(&end) == 1 ? 0 : -ENODEV;
		if (!ret) {
			ck_assert_uint_eq(end.ticket, ticket);
			ck_assert(right_copy(&c));
			ok = true;
		} else {
			ck_assert_int_ne(ops->state(gpu), GP_GPU_OK);
		}
		/* whatever it was, it happened once: later launches work, unless the card is said to be gone */
		if (ops->state(gpu) != GP_GPU_GONE && ops->state(gpu) != GP_GPU_OK &&
		    ops->recover(gpu, &kept)) {
			if (!kept)
				fill_copy(&c);
			run_copy(&c);
		}
	}
	ops->free(gpu, c.args, sizeof(*c.args));
	ops->free(gpu, c.in, c.count * 4);
	ops->free(gpu, c.out, 1 << 20);
	ops->unload(gpu, c.code);
	if (shared)
		ops->unshare(gpu, region, size);
	/* Of chunks that could not be unmapped at most one stays until the end. */
	ck_assert_uint_le(gpu->list->len, before + 1);
	close_card();
	return ok && shared;
}

static void fail_once(const char *ioctl, const char *name, int nth, bool seals)
{
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t size = 1 << 20;
	char command[100];
	uint8_t *region;

	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	if (seals)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(command, sizeof(command), "fail %s %d %s", ioctl, nth, name);
	control(command);
	/* Each life reaches it once at least. */
	for (int i = 0; i < nth; i++)
		whole_life(region, size, fd);
	ck_assert_msg(whole_life(region, size, fd), "after '%s'", command);
	munmap(region, size);
	close(fd);
}

START_TEST(each_ioctl)
{
	char copied[200], *save = NULL;

	control("timeout 1000");
	g_strlcpy(copied, failures[_i].errnos, sizeof(copied));
	for (char *name = strtok_r(copied, " ", &save); name; name = strtok_r(NULL, " ", &save))
		for (int nth = 1; nth <= failures[_i].most; nth++)
			fail_once(failures[_i].ioctl, name, nth, strcmp(failures[_i].ioctl, "GEM_USERPTR"));
	fail_once(failures[_i].ioctl, "EIO", 1, strcmp(failures[_i].ioctl, "GEM_USERPTR"));
	/* None of them is left, or there were no room for as many as there can be (of a call that nobody makes). */
	for (int i = 0; i < 16; i++)
		control("fail SCHED 1 EPERM");
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("trouble");
	TCase *tc = tcase_create("simulated");
	SRunner *runner;
	int failed;

	if (argc < 2)
		return EXIT_FAILURE;
	harness_start(argv[1]);
	tcase_set_timeout(tc, 200);
	tcase_add_test(tc, guilty);
	tcase_add_test(tc, guilty_vram_lost);
	tcase_add_test(tc, guilty_running);
	tcase_add_test(tc, innocent);
	tcase_add_test(tc, innocent_vram_lost);
	tcase_add_test(tc, innocent_idle);
	tcase_add_test(tc, hang);
	tcase_add_test(tc, ring_reset);
	tcase_add_test(tc, unplugged);
	tcase_add_test(tc, unplugged_idle);
	tcase_add_test(tc, no_memory_now);
	tcase_add_test(tc, no_end_of_it);
	tcase_add_test(tc, never_ran);
	tcase_add_test(tc, times_written_over);
	tcase_add_test(tc, others_fault);
	tcase_add_test(tc, others_fault_old_driver);
	tcase_add_loop_test(tc, each_ioctl, 0, FAILURES);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
