// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_device.c - what only root can bring about: jobs that the watchdog ends, and a device that goes away.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node.h"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		groan("%s: %s", path, strerror(errno));
	close(fd);
}

/* A job that takes too long is cancelled, and only that one. */
void test_watchdog(void)
{
	const char *param = "/sys/module/virtio_gpgpu/parameters/job_timeout_ms";
	uint32_t prog, job, behind, other, sync;
	int fd = node_open();
	double start;

	write_file(param, "1000");
	must(new_busy_prog(fd, &prog));
	must(syncobj_new(fd, &sync));
	start = now();
	must(submit_busy(fd, prog, 0, sync, &job));
	must(submit_nop(fd, 0, 0, 0, &behind));
	must(submit_nop(fd, 1, sync, 0, &other));
	is(job_end(fd, job), -ECANCELED, "watchdog: a job that takes hours is cancelled");
	ok(now() - start > 0.9 && now() - start < 8, "watchdog: after %.1f s", now() - start);
	is(job_end(fd, behind), 0, "watchdog: the job behind it runs");
	is(job_end(fd, other), 0, "watchdog: and so does the one that waited for it");
	is(submit_nop(fd, 0, 0, 0, &job), 0, "watchdog: the context lives on");
	is(job_end(fd, job), 0, "watchdog: and works");
	write_file(param, "90000");
	close(fd);
}

static sigjmp_buf bus_jump;

static void on_bus(int sig)
{
	siglongjmp(bus_jump, sig);
}

/* The device as a new file sees it, once it is there again. */
static int open_again(uint32_t *generation)
{
	struct drm_virtio_gpgpu_get_caps g = { 0 };
	uint32_t job;

	for (int i = 0; i < 300; i++) {
		int fd = node_open();

		if (fd >= 0 && !call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g) &&
		    !submit_nop(fd, 0, 0, 0, &job) && !job_end(fd, job)) {
			*generation = g.generation;
			return fd;
		}
		if (fd >= 0)
			close(fd);
		usleep(100000);
	}
	return -ENODEV;
}

/* Everything under way ends, nothing old works, everything new does. */
static void lose_device(const char *what)
{
	struct drm_virtio_gpgpu_get_caps g = { 0 };
	uint32_t prog, job, held, map, sync, key = 0, after = 0;
	const char *command = getenv("LOSE");
	uint64_t value = 0;
	struct buffer bo, more;
	int fd = node_open(), fd2;
	double start;

	if (!command)
		groan("$LOSE is not set");
	call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g);
	must(bo_new(fd, 1 << 20, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	bo.map[0] = 1;
	must(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, &map));
	must(syncobj_new(fd, &sync));
	must(new_busy_prog(fd, &prog));
	must(submit_busy(fd, prog, 0, sync, &job));
	must(submit_nop(fd, 1, sync, sync, &held));

	start = now();
	if (system(command))
		groan("%s: failed", command);
	/* A command is what finds out that nobody answers. */
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0), -ENODEV, "%s: a command", what);
	is(job_end(fd, job), -ENODEV, "%s: a job that was running", what);
	is(job_end(fd, held), -ENODEV, "%s: a job that was waiting", what);
	is(syncobj_wait(fd, sync, 30), 0, "%s: the fence signals", what);
	ok(now() - start < 30, "%s: all over within %.1f s", what, now() - start);

	fd2 = open_again(&after);
	ok(fd2 >= 0, "%s: a new file works", what);
	is(submit_nop(fd, 0, 0, 0, &job), -ENODEV, "%s: the old file does not: jobs", what);
	is(bo_new(fd, 4096, DRM_VIRTIO_GPGPU_BO_SHM, &more), -ENODEV, "%s: nor buffers", what);
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &value, 8, 0), -ENODEV, "%s: nor maps", what);
	is(submit_busy(fd, prog, 0, 0, &job), -ENODEV, "%s: nor programs", what);
	is(bo.map[0], 1, "%s: the mapping is as it was", what);
	ok(!bo_new(fd2, 1 << 20, DRM_VIRTIO_GPGPU_BO_SHM, &more) &&
		   !submit_fill(fd2, more.handle, 0, more.size, 0x07070707, &job) && !job_end(fd2, job) &&
		   more.map[0] == 7 && bo.map[0] == 1,
	   "%s: the new file's buffer is another", what);
	munmap(bo.map, bo.size);
	close(fd);
	ok(!submit_nop(fd2, 0, 0, 0, &job) && !job_end(fd2, job), "%s: closing the old file is harmless",
	   what);
	printf("# generation %u, then %u\n", g.generation, after);
	close(fd2);
}

void test_lost(void)
{
	for (int i = 0; i < 3; i++)
		lose_device("lost");
}

void test_hung(void)
{
	const char *param = "/sys/module/virtio_gpgpu/parameters/control_timeout_ms";

	write_file(param, "3000");
	lose_device("hung");
	write_file(param, "30000");
}

struct waiter {
	int fd, r;
	uint32_t job;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->r = job_wait(w->fd, w->job, -1);
	return NULL;
}

static char virtio_name[64];

/* The name of the device in sysfs, e.g. "virtio1". */
static void find_device(void)
{
	DIR *d = opendir("/sys/bus/virtio/drivers/virtio_gpgpu");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!strncmp(e->d_name, "virtio", 6))
			snprintf(virtio_name, sizeof(virtio_name), "%.63s", e->d_name);
	}
	if (!d || !virtio_name[0])
		groan("the driver has no device");
	closedir(d);
}

static void unbind(void)
{
	write_file("/sys/bus/virtio/drivers/virtio_gpgpu/unbind", virtio_name);
}

static void unplug(void)
{
	const char *command = getenv("LOSE");

	if (!command || system(command))
		groan("$LOSE: failed");
	for (int i = 0; i < 300 && !access(node_path, F_OK); i++)
		usleep(100000);
}

/* Takes the device away under everything. Return: the file that was open. */
static int take_away(const char *what, void (*take)(void))
{
	volatile int signalled;
	struct waiter w = { .r = 1 };
	uint32_t prog, sync;
	struct buffer bo, dev;
	pthread_t thread;
	double start;
	int fd = node_open();

	must(bo_new(fd, 65536, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	must(bo_new(fd, 65536, DRM_VIRTIO_GPGPU_BO_DEVICE, &dev));
	must(syncobj_new(fd, &sync));
	bo.map[0] = 1;
	must(new_busy_prog(fd, &prog));
	must(submit_busy(fd, prog, 0, sync, &w.job));
	w.fd = fd;
	pthread_create(&thread, NULL, wait_thread, &w);
	usleep(100000);

	start = now();
	take();
	ok(now() - start < 20, "%s: took %.0f ms", what, (now() - start) * 1e3);
	pthread_join(thread, NULL);
	is(w.r, -ENODEV, "%s: a waiter is told that the device is gone", what);
	signal(SIGBUS, on_bus);
	signalled = sigsetjmp(bus_jump, 1);
	if (!signalled)
		bo.map[0] = 2;
	is(signalled, SIGBUS, "%s: the mapping is gone", what);
	signal(SIGBUS, SIG_DFL);
	is(submit_nop(fd, 0, 0, 0, &w.job), -ENODEV, "%s: no more calls", what);
	ok(access(node_path, F_OK), "%s: the node is gone", what);
	munmap(bo.map, bo.size);
	return fd;
}

/* Takes the driver off the device, and puts it back. */
void test_unbind(void)
{
	int fd, fd2 = -ENODEV;
	uint32_t job;

	find_device();
	fd = take_away("unbind", unbind);
	write_file("/sys/bus/virtio/drivers/virtio_gpgpu/bind", virtio_name);
	for (int i = 0; i < 50 && fd2 < 0; i++) {
		/* The old file is still open, so the node has the next number. */
		node_path = i % 2 ? "/dev/accel/accel0" : "/dev/accel/accel1";
		fd2 = node_open();
		usleep(100000);
	}
	ok(fd2 >= 0, "bind: %s opens", node_path);
	ok(!submit_nop(fd2, 0, 0, 0, &job) && !job_end(fd2, job), "bind: the device works");
	is(submit_nop(fd, 0, 0, 0, &job), -ENODEV, "bind: not for the old file");
	close(fd);
	ok(!submit_nop(fd2, 0, 0, 0, &job) && !job_end(fd2, job), "bind: closing the old file is harmless");
	close(fd2);
}

/* The host unplugs the device. */
void test_unplug(void)
{
	close(take_away("unplug", unplug));
}

/* All of a suspend but the sleep: what was open before is lost, what is opened afterwards works. */
void test_suspend(void)
{
	uint32_t prog, job, after;
	int fd = node_open(), fd2;

	must(new_busy_prog(fd, &prog));
	must(submit_busy(fd, prog, 0, 0, &job));
	write_file("/sys/power/pm_test", "devices");
	write_file("/sys/power/state", "mem");
	write_file("/sys/power/pm_test", "none");
	is(job_end(fd, job), -ENODEV, "suspend: a job that was running is lost");
	is(submit_nop(fd, 0, 0, 0, &job), -ENODEV, "suspend: so is the file");
	fd2 = open_again(&after);
	ok(fd2 >= 0, "suspend: a new file works");
	close(fd);
	ok(!submit_nop(fd2, 0, 0, 0, &job) && !job_end(fd2, job),
	   "suspend: closing the old file is harmless");
	close(fd2);
}
