// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_events.c - what the library makes of the kernel's answers: who is called back and when, whose job may be waited for, when a
 * job was where, what an imported buffer is.
 *
 * The kernel is played: gpgpu_ioctl() is this file's, a fence is an eventfd that the test makes readable, a dma-buf a file in memory.
 * It stands in for answers and orders that a device gives only now and then; lib_test asks a real driver in the guest.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define MAX_FENCES 64

static struct {
	int fences[MAX_FENCES]; /* by handle, from 1 */
	uint32_t num_fences, num_jobs, closed; /* GEM handles */
	int wait_error, import_error;
	struct drm_virtio_gpgpu_job_wait answer;
} kernel;

int gpgpu_ioctl(const struct gpgpu_device *dev, unsigned long request, void *arg)
{
	struct drm_virtio_gpgpu_job_wait *wait = arg;
	struct drm_syncobj_handle *sync = arg;

	switch (request) {
	case DRM_IOCTL_SYNCOBJ_CREATE:
		ck_assert_uint_lt(kernel.num_fences + 1, MAX_FENCES);
		kernel.fences[++kernel.num_fences] = eventfd(0, EFD_CLOEXEC);
		((struct drm_syncobj_create *)arg)->handle = kernel.num_fences;
		return 0;
	case DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD:
		sync->fd = dup(kernel.fences[sync->handle]);
		return sync->fd < 0 ? -errno : 0;
	case DRM_IOCTL_VIRTIO_GPGPU_SUBMIT:
		((struct drm_virtio_gpgpu_submit *)arg)->job = ++kernel.num_jobs;
		return 0;
	case DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT:
		kernel.answer.job = wait->job;
		*wait = kernel.answer;
		return kernel.wait_error;
	case DRM_IOCTL_PRIME_FD_TO_HANDLE:
		((struct drm_prime_handle *)arg)->handle = 7;
		return kernel.import_error;
	case DRM_IOCTL_GEM_CLOSE:
		kernel.closed++;
		return 0;
	}
	return 0;
}

struct gpgpu_device *gpgpu_device_get(struct gpgpu_device *dev)
{
	__atomic_add_fetch(&dev->refs, 1, __ATOMIC_RELAXED);
	return dev;
}

void gpgpu_close(struct gpgpu_device *dev)
{
	__atomic_sub_fetch(&dev->refs, 1, __ATOMIC_ACQ_REL);
}

static struct gpgpu_device devices[2];

static void setup(void)
{
	memset(&kernel, 0, sizeof(kernel));
	for (int i = 0; i < 2; i++) {
		devices[i] = (struct gpgpu_device){ .fd = -1, .refs = 1, .max_group = 64 };
		pthread_mutex_init(&devices[i].lock, NULL);
	}
}

static void ended(uint32_t fence)
{
	ck_assert_int_eq(eventfd_write(kernel.fences[fence], 1), 0);
}

static struct gpgpu_job *make_job(struct gpgpu_device *dev)
{
	struct gpgpu_job *job = NULL;

	ck_assert_int_eq(gpgpu_submit_marker(dev, 1, &job), 0);
	return job;
}

static int sem; /* eventfd: one for each call */
static int may_return;
static uintptr_t order[16];
static int calls;

static void note(void *opaque, int status, const struct gpgpu_job_result *result)
{
	order[calls++] = (uintptr_t)opaque;
	eventfd_write(sem, 1);
}

static void note_and_wait(void *opaque, int status, const struct gpgpu_job_result *result)
{
	eventfd_t n;

	note(opaque, status, result);
	eventfd_read(may_return, &n);
}

static void wait_calls(int n)
{
	eventfd_t one;

	while (n--)
		ck_assert_int_eq(eventfd_read(sem, &one), 0);
}

/* Also those that came while another was called: a job that ended early is not passed by all that come later. */
START_TEST(in_order)
{
	struct gpgpu_job *jobs[8];

	sem = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	may_return = eventfd(0, EFD_CLOEXEC);
	calls = 0;
	for (int i = 0; i < 8; i++)
		jobs[i] = make_job(&devices[0]);
	ck_assert_int_eq(gpgpu_job_notify(jobs[0], note_and_wait, (void *)0), 0);
	ended(1);
	wait_calls(1);
	for (int i = 1; i < 8; i++) {
		ck_assert_int_eq(gpgpu_job_notify(jobs[i], note, (void *)(uintptr_t)i), 0);
		ended((uint32_t)i + 1);
	}
	for (int i = 0; i < 8; i++)
		gpgpu_job_destroy(jobs[i]);
	eventfd_write(may_return, 1);
	wait_calls(7);
	for (int i = 0; i < 8; i++)
		ck_assert_uint_eq(order[i], i);
	/* The thread goes when there is nobody to call. */
	while (__atomic_load_n(&devices[0].refs, __ATOMIC_ACQUIRE) > 1)
		usleep(1000);
	ck_assert_ptr_null(devices[0].notifier);
	close(sem);
	close(may_return);
}
END_TEST

/* Those that ended in another order than they were asked for, and more of them after the last was taken out. */
START_TEST(out_of_order)
{
	struct gpgpu_job *jobs[5];

	sem = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	calls = 0;
	for (int i = 0; i < 5; i++)
		jobs[i] = make_job(&devices[0]);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(gpgpu_job_notify(jobs[i], note, (void *)(uintptr_t)i), 0);
	ended(3);
	wait_calls(1);
	for (int i = 3; i < 5; i++)
		ck_assert_int_eq(gpgpu_job_notify(jobs[i], note, (void *)(uintptr_t)i), 0);
	for (uint32_t fence = 5; fence; fence--) {
		if (fence == 3)
			continue;
		ended(fence);
		wait_calls(1);
	}
	ck_assert(order[0] == 2 && order[1] == 4 && order[2] == 3 && order[3] == 1 && order[4] == 0);
	for (int i = 0; i < 5; i++)
		gpgpu_job_destroy(jobs[i]);
	while (__atomic_load_n(&devices[0].refs, __ATOMIC_ACQUIRE) > 1)
		usleep(1000);
	close(sem);
}
END_TEST

START_TEST(jobs_of_another_device)
{
	struct gpgpu_job *theirs = make_job(&devices[1]), *job = NULL;
	const struct gpgpu_submit submit = { .after = &theirs, .num_after = 1 };

	ck_assert_int_eq(gpgpu_nop(&devices[0], &submit, &job), -EINVAL);
	ck_assert_ptr_nonnull(strstr(gpgpu_error_message(), "another device's"));
	ck_assert_ptr_null(job);
	ck_assert_int_eq(gpgpu_nop(&devices[1], &submit, &job), 0);
	gpgpu_job_destroy(job);
	gpgpu_job_destroy(theirs);
}
END_TEST

START_TEST(times)
{
	struct gpgpu_job *job = make_job(&devices[0]);
	struct gpgpu_job_times t;

	kernel.answer = (struct drm_virtio_gpgpu_job_wait){
		.taken_ns = 100, .sent_ns = 200, .queued_ns = 30, .ended_ns = 500
	};
	ck_assert_int_eq(gpgpu_job_times(job, &t), 0);
	ck_assert(t.queued == 100 && t.submitted == 200 && t.started == 230 && t.ended == 500);
	/* What it ended with is not asked. */
	kernel.wait_error = -ECANCELED;
	kernel.answer.result.status = 11;
	ck_assert_int_eq(gpgpu_job_times(job, &t), 0);
	kernel.answer.queued_ns = UINT64_MAX - 10;
	ck_assert_int_eq(gpgpu_job_times(job, &t), 0);
	ck_assert(t.submitted <= t.started && t.started <= t.ended);
	/* A driver that does not know of times leaves what it was given. */
	kernel.answer = (struct drm_virtio_gpgpu_job_wait){ .result.status = 11 };
	ck_assert_int_eq(gpgpu_job_times(job, &t), -EOPNOTSUPP);
	kernel.wait_error = 0;
	kernel.answer.result.status = 0;
	ck_assert_int_eq(gpgpu_job_times(job, &t), -EOPNOTSUPP);
	/* One that has gone does not answer at all. */
	kernel.wait_error = -ENODEV;
	ck_assert_int_eq(gpgpu_job_times(job, &t), -ENODEV);
	kernel.wait_error = -ETIME;
	ck_assert_int_eq(gpgpu_job_times(job, &t), -ETIME);
	gpgpu_job_destroy(job);
}
END_TEST

START_TEST(import)
{
	struct gpgpu_buffer *buf = NULL;
	int fd = memfd_create("bytes", MFD_CLOEXEC), again;
	char path[32];
	void *p;

	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], fd, &buf), -EINVAL); /* of 0 bytes */
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	kernel.import_error = -EOPNOTSUPP;
	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], fd, &buf), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(gpgpu_error_message(), "not this device's"));
	/* What else can go wrong is said as it is. */
	kernel.import_error = -ENODEV;
	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], fd, &buf), -ENODEV);
	kernel.import_error = 0;

	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], fd, &buf), 0);
	ck_assert_int_eq(gpgpu_buffer_map(buf, &p), 0);
	memset(p, 1, 4096);
	gpgpu_buffer_destroy(buf);
	ck_assert_uint_eq(kernel.closed, 1);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], again, &buf), 0);
	ck_assert_int_eq(gpgpu_buffer_map(buf, &p), -EINVAL); /* as device memory */
	gpgpu_buffer_destroy(buf);
	ck_assert_uint_eq(kernel.closed, 2);

	/* Shared memory that finds no room here is not taken for device memory. */
	ck_assert_int_eq(ftruncate(fd, 1ll << 60), 0);
	ck_assert_int_eq(gpgpu_buffer_import(&devices[0], fd, &buf), -ENOMEM);
	ck_assert_ptr_null(buf);
	ck_assert_uint_eq(kernel.closed, 3);
	ck_assert_ptr_null(devices[0].shared);
	ck_assert_int_eq(devices[0].refs, 1);
	close(again);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("events");
	TCase *tc = tcase_create("events");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, in_order);
	tcase_add_test(tc, out_of_order);
	tcase_add_test(tc, jobs_of_another_device);
	tcase_add_test(tc, times);
	tcase_add_test(tc, import);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
