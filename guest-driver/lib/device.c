// SPDX-License-Identifier: BSD-3-Clause
/*
 * device.c - finding and opening devices, their capabilities and counters.
 *
 * A node is ours if the kernel's DRM version call names the driver virtio_gpgpu; every accelerator driver answers
 * that call, so asking is safe. A device counts references: the caller's own and one for each buffer, map,
 * program and job, and the node is closed with the last. This is the only file that calls ioctl().
 */
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"
#include "virtio_gpgpu.h"

#define DRIVER_NAME  "virtio_gpgpu"
#define ACCEL_DIR    "/dev/accel"
#define ACCEL_PREFIX "accel"
#define MAX_NODES    64 /* minors that the kernel gives to accelerators, and then some */

int gpgpu_ioctl(const struct gpgpu_device *dev, unsigned long request, void *arg)
{
	int r;

	/* The kernel restarts nothing by itself here: a signal is no failure. */
	do {
		r = ioctl(dev->fd, request, arg);
	} while (r < 0 && (errno == EINTR || errno == EAGAIN));
	return r < 0 ? -errno : 0;
}

/* Return: 0 and the driver's name and version, or negative errno. */
static int driver_version(int fd, struct gpgpu_device_info *info)
{
	struct drm_version v = { .name = info->driver, .name_len = sizeof(info->driver) - 1 };

	if (ioctl(fd, DRM_IOCTL_VERSION, &v) < 0)
		return -errno;
	info->driver[v.name_len < sizeof(info->driver) ? v.name_len : sizeof(info->driver) - 1] = '\0';
	info->version_major = v.version_major;
	info->version_minor = v.version_minor;
	return 0;
}

/* Who drives a node that may not be opened; sysfs tells everybody. */
static bool sysfs_says_ours(const char *node)
{
	char path[128], target[256];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/driver", node);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	return !strcmp(base ? base + 1 : target, DRIVER_NAME);
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Return: how many nodes there are, their numbers sorted in @numbers. */
static int list_nodes(int *numbers)
{
	DIR *dir = opendir(ACCEL_DIR);
	struct dirent *e;
	int n = 0;

	if (!dir)
		return 0;
	while (n < MAX_NODES && (e = readdir(dir))) {
		char extra;

		if (sscanf(e->d_name, ACCEL_PREFIX "%d%c", &numbers[n], &extra) == 1)
			n++;
	}
	closedir(dir);
	qsort(numbers, n, sizeof(*numbers), by_number);
	return n;
}

int gpgpu_enumerate(struct gpgpu_device_info *infos, int max)
{
	int numbers[MAX_NODES], nodes = list_nodes(numbers), found = 0;

	for (int i = 0; i < nodes; i++) {
		struct gpgpu_device_info info = { 0 };
		char node[32];
		int fd;

		snprintf(node, sizeof(node), ACCEL_PREFIX "%d", numbers[i]);
		snprintf(info.path, sizeof(info.path), ACCEL_DIR "/%s", node);
		fd = open(info.path, O_RDWR | O_CLOEXEC);
		if (fd >= 0) {
			info.accessible = !driver_version(fd, &info) && !strcmp(info.driver, DRIVER_NAME);
			close(fd);
			if (!info.accessible)
				continue;
		} else if (!sysfs_says_ours(node)) {
			continue;
		}
		if (found < max)
			infos[found] = info;
		found++;
	}
	return found;
}

static int read_limits(struct gpgpu_device *dev)
{
	struct gpgpu_caps caps;
	int r = gpgpu_get_caps(dev, &caps);

	if (r)
		return r;
	dev->num_cpus = caps.num_cpus ? caps.num_cpus : 1;
	dev->map_types = caps.map_types;
	dev->max_insns = caps.max_insns;
	dev->max_group = caps.max_group ? caps.max_group : 1;
	return 0;
}

static int open_first(struct gpgpu_device **dev)
{
	struct gpgpu_device_info infos[MAX_NODES];
	int n = gpgpu_enumerate(infos, MAX_NODES);

	for (int i = 0; i < n && i < MAX_NODES; i++) {
		if (infos[i].accessible)
			return gpgpu_open(infos[i].path, dev);
	}
	if (n > 0)
		return gpgpu_fail(-EACCES, "%s: permission denied: join the group that owns it",
				  infos[0].path);
	return gpgpu_fail(-ENODEV, "no GPGPU device: is the module virtio_gpgpu loaded?");
}

int gpgpu_open(const char *path, struct gpgpu_device **out)
{
	struct gpgpu_device_info info = { 0 };
	struct gpgpu_device *dev;
	int r, fd;

	*out = NULL;
	if (!path)
		return open_first(out);
	if (strlen(path) >= sizeof(dev->path))
		return gpgpu_fail(-ENAMETOOLONG, "%s: path too long", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return gpgpu_fail(-errno, "%s: %s", path, strerror(errno));
	r = driver_version(fd, &info);
	if (r || strcmp(info.driver, DRIVER_NAME)) {
		close(fd);
		return gpgpu_fail(-ENODEV, "%s: not a GPGPU device", path);
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		close(fd);
		return gpgpu_fail(-ENOMEM, "out of memory");
	}
	dev->fd = fd;
	dev->refs = 1;
	pthread_mutex_init(&dev->lock, NULL);
	strcpy(dev->path, path);
	r = read_limits(dev);
	if (r) {
		gpgpu_close(dev);
		return r;
	}
	*out = dev;
	return 0;
}

struct gpgpu_device *gpgpu_device_get(struct gpgpu_device *dev)
{
	__atomic_add_fetch(&dev->refs, 1, __ATOMIC_RELAXED);
	return dev;
}

void gpgpu_close(struct gpgpu_device *dev)
{
	if (!dev || __atomic_sub_fetch(&dev->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	close(dev->fd);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

int gpgpu_device_fd(const struct gpgpu_device *dev)
{
	return dev->fd;
}

const char *gpgpu_device_path(const struct gpgpu_device *dev)
{
	return dev->path;
}

int gpgpu_get_caps(struct gpgpu_device *dev, struct gpgpu_caps *caps)
{
	struct virtio_gpgpu_caps c = { 0 };
	struct drm_virtio_gpgpu_get_caps get = { .ptr = (uintptr_t)&c, .size = sizeof(c) };
	int r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &get);

	if (r)
		return gpgpu_fail(r, "%s: reading the capabilities: %s", dev->path, strerror(-r));
	memset(caps, 0, sizeof(*caps));
	memcpy(caps->device_name, c.device_name, sizeof(c.device_name));
	memcpy(caps->target, c.target, sizeof(c.target));
	caps->generation = get.generation;
	caps->version = le32toh(c.version);
	caps->memory_limit = le64toh(c.memory_limit);
	caps->shm_size = le64toh(c.shm_size);
	caps->max_buffer = le64toh(c.max_buffer);
	caps->max_map = le64toh(c.max_map);
	caps->max_contexts = le32toh(c.max_contexts);
	caps->max_buffers = le32toh(c.max_buffers);
	caps->max_maps = le32toh(c.max_maps);
	caps->max_programs = le32toh(c.max_programs);
	caps->max_jobs = le32toh(c.max_jobs);
	caps->max_insns = le32toh(c.max_insns);
	caps->max_batch = le32toh(c.max_batch);
	caps->max_stride = le32toh(c.max_stride);
	caps->max_group = le32toh(c.max_group);
	caps->num_cpus = le32toh(c.num_cpus);
	caps->map_types = le32toh(c.map_types);
	caps->prog_kinds = le32toh(c.prog_kinds);
	caps->fuel = le64toh(c.fuel);
	caps->slice_us = le32toh(c.slice_us);
	return 0;
}

int gpgpu_get_stats(struct gpgpu_device *dev, struct gpgpu_stats *stats)
{
	struct virtio_gpgpu_resp_stats s = { 0 };
	struct drm_virtio_gpgpu_get_stats get = { .ptr = (uintptr_t)&s, .size = sizeof(s) };
	int r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_GET_STATS, &get);

	if (r)
		return gpgpu_fail(r, "%s: reading the counters: %s", dev->path, strerror(-r));
	memset(stats, 0, sizeof(*stats));
	stats->device_ns = le64toh(s.device_ns);
	stats->waited_ns = le64toh(s.waited_ns);
	stats->throttled_ns = le64toh(s.throttled_ns);
	stats->jobs = le64toh(s.jobs);
	stats->packets = le64toh(s.packets);
	stats->bytes = le64toh(s.bytes);
	for (size_t i = 0; i < ARRAY_SIZE(stats->verdicts); i++)
		stats->verdicts[i] = le64toh(s.verdicts[i]);
	stats->faults = le64toh(s.faults);
	stats->memory = le64toh(s.memory);
	stats->memory_max = le64toh(s.memory_max);
	stats->memory_limit = le64toh(s.memory_limit);
	stats->weight = le32toh(s.weight);
	stats->cap = le32toh(s.cap);
	return 0;
}
