/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * syncobj.c - sync objects, by the rules of drm_syncobj.c and dma-fence-chain.c.
 *
 * A sync object holds an array of (point, fence), rising. A binary one has one entry, with point 0. A point is done
 * once its fence and those of all points below are. Entries that are done are forgotten, but for the last.
 * Whoever asked for an event (SYNCOBJ_EVENTFD, and descriptors that stand for one fence) is told when a fence ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "card.h"
#include "shim/shim.h"

/* Newer than the headers of Debian 12. */
#ifndef DRM_IOCTL_SYNCOBJ_EVENTFD
struct drm_syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};
#define DRM_IOCTL_SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct drm_syncobj_eventfd)
#endif
#define WAIT_FLAG_DEADLINE (1 << 3)

/* To be told: of @obj's @point, or of @fence. */
struct watch {
	struct watch *next;
	struct sim_syncobj *obj;
	struct sim_fence *fence;
	uint64_t point;
	bool available; /* submitted is enough */
	int fd;
};

static struct watch *watches;

void sim_syncobj_put(struct sim_syncobj *obj)
{
	if (--obj->refs)
		return;
	for (uint32_t i = 0; i < obj->count; i++)
		sim_fence_put(obj->points[i].fence);
	free(obj->points);
	free(obj);
}

/* Index of the entry that @point waits for, or -1. */
static int64_t entry_of(const struct sim_syncobj *obj, uint64_t point)
{
	if (!obj->count)
		return -1;
	if (!point)
		return obj->count - 1;
	for (uint32_t i = 0; i < obj->count; i++)
		if (obj->points[i].point >= point)
			return i;
	return -1;
}

static bool is_done(const struct sim_syncobj *obj, uint64_t point)
{
	int64_t last = entry_of(obj, point);

	for (int64_t i = 0; i <= last; i++)
		if (!obj->points[i].fence->done)
			return false;
	return last >= 0;
}

static void forget_done(struct sim_syncobj *obj)
{
	while (obj->count > 1 && obj->points[0].fence->done) {
		sim_fence_put(obj->points[0].fence);
		obj->passed = obj->points[0].point;
		obj->count--;
		memmove(obj->points, obj->points + 1, obj->count * sizeof(*obj->points));
	}
}

void sim_syncobj_notify(void)
{
	for (struct watch **at = &watches; *at;) {
		struct watch *w = *at;
		uint64_t one = 1;

		if (w->obj ? (w->available ? entry_of(w->obj, w->point) >= 0 : is_done(w->obj, w->point))
			   : w->fence->done) {
			if (write(w->fd, &one, sizeof(one)) < 0)
				sim_say("an event could not be told");
			close(w->fd);
			if (w->obj)
				sim_syncobj_put(w->obj);
			sim_fence_put(w->fence);
			*at = w->next;
			free(w);
		} else {
			at = &w->next;
		}
	}
}

static void clear(struct sim_syncobj *obj)
{
	while (obj->count)
		sim_fence_put(obj->points[--obj->count].fence);
	obj->passed = 0;
}

static int append(struct sim_syncobj *obj, struct sim_fence *fence, uint64_t point)
{
	struct sim_point *points = realloc(obj->points, (obj->count + 1) * sizeof(*points));

	if (!points)
		return -ENOMEM;
	obj->points = points;
	points[obj->count++] = (struct sim_point){ point, sim_fence_ref(fence) };
	pthread_cond_broadcast(&sim.changed);
	sim_syncobj_notify();
	return 0;
}

void sim_syncobj_set(struct sim_syncobj *obj, struct sim_fence *fence)
{
	clear(obj);
	if (fence)
		append(obj, fence, 0);
}

int sim_syncobj_add_point(struct sim_syncobj *obj, struct sim_fence *fence, uint64_t point)
{
	if (obj->count && obj->points[obj->count - 1].point >= point) {
		/* The driver takes it, warns once, and the order of the points is undefined: nobody wants it. */
		sim_say("syncobj: point %llu is not above %llu", (unsigned long long)point,
			(unsigned long long)obj->points[obj->count - 1].point);
	}
	forget_done(obj);
	return append(obj, fence, point);
}

int sim_syncobj_deps(struct sim_syncobj *obj, uint64_t point, struct sim_fences *set)
{
	int64_t last = entry_of(obj, point);
	int error = 0;

	if (last < 0)
		return -EINVAL;
	for (int64_t i = 0; i <= last && !error; i++)
		error = sim_fences_add(set, obj->points[i].fence);
	return error;
}

static struct sim_syncobj *find(struct sim_client *client, uint32_t handle)
{
	return sim_idr_find(&client->syncobjs, handle);
}

static struct sim_fence *ended_fence(void)
{
	struct sim_fence *fence = sim_fence_new();

	if (fence)
		fence->done = true;
	return fence;
}

static int signal_one(struct sim_syncobj *obj, uint64_t point)
{
	struct sim_fence *fence = ended_fence();
	int error = 0;

	if (!fence)
		return -ENOMEM;
	if (point)
		error = sim_syncobj_add_point(obj, fence, point);
	else
		sim_syncobj_set(obj, fence);
	sim_fence_put(fence);
	return error;
}

int sim_syncobj_new(struct sim_client *client, struct sim_fence *fence, uint32_t *handle)
{
	struct sim_syncobj *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return -ENOMEM;
	obj->refs = 1;
	*handle = sim_idr_add(&client->syncobjs, obj);
	if (!*handle) {
		free(obj);
		return -ENOMEM;
	}
	if (fence)
		sim_syncobj_set(obj, fence);
	return 0;
}

static int create(struct sim_client *client, struct drm_syncobj_create *args)
{
	struct sim_fence *fence = NULL;
	int error;

	if (args->flags & ~DRM_SYNCOBJ_CREATE_SIGNALED)
		return -EINVAL;
	if (args->flags & DRM_SYNCOBJ_CREATE_SIGNALED)
		fence = ended_fence();
	error = sim_syncobj_new(client, fence, &args->handle);
	sim_fence_put(fence);
	return error;
}

static int destroy(struct sim_client *client, const struct drm_syncobj_destroy *args)
{
	struct sim_syncobj *obj;

	if (args->pad)
		return -EINVAL;
	obj = sim_idr_remove(&client->syncobjs, args->handle);
	if (!obj)
		return -EINVAL;
	sim_syncobj_put(obj);
	return 0;
}

/* Waiting, both kinds: @points NULL for binary. Handles are resolved before the lock is let go. */
static int wait(struct sim_client *client, const uint32_t *handles, const uint64_t *points, uint32_t count,
		int64_t until, uint32_t flags, uint32_t *first)
{
	const uint32_t valid = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
			       (points ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE : 0) | WAIT_FLAG_DEADLINE;
	struct sim_syncobj **objs;
	int error = 0;

	if (flags & ~valid)
		return -EINVAL;
	if (!count)
		return 0;
	objs = calloc(count, sizeof(*objs));
	if (!objs)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		objs[i] = find(client, handles[i]);
		if (!objs[i]) {
			count = i;
			error = -ENOENT;
			break;
		}
		objs[i]->refs++;
	}
	while (!error) {
		uint32_t done = 0;

		*first = UINT32_MAX;
		for (uint32_t i = 0; i < count && !error; i++) {
			uint64_t point = points ? points[i] : 0;
			bool there = entry_of(objs[i], point) >= 0;

			if (!there && !(flags & (DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
						 DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE)))
				error = -EINVAL;
			if (there &&
			    ((flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE) || is_done(objs[i], point))) {
				if (*first == UINT32_MAX)
					*first = i;
				done++;
			}
		}
		if (error || done == count || (done && !(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL)))
			break;
		if (!sim_wait_until(until))
			error = -ETIME;
	}
	for (uint32_t i = 0; i < count; i++)
		sim_syncobj_put(objs[i]);
	free(objs);
	return error;
}

static int64_t deadline(int64_t ns)
{
	return ns < 0 ? 0 : ns;
}

static int many(struct sim_client *client, const struct drm_syncobj_array *args, bool reset)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)args->handles;

	if (args->pad || !args->count_handles)
		return -EINVAL;
	for (uint32_t i = 0; i < args->count_handles; i++)
		if (!find(client, handles[i]))
			return -ENOENT;
	for (uint32_t i = 0; i < args->count_handles; i++) {
		int error = 0;

		if (reset)
			sim_syncobj_set(find(client, handles[i]), NULL);
		else
			error = signal_one(find(client, handles[i]), 0);
		if (error)
			return error;
	}
	return 0;
}

static int timeline_signal(struct sim_client *client, const struct drm_syncobj_timeline_array *args)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)args->handles;
	const uint64_t *points = (const uint64_t *)(uintptr_t)args->points;
	int error = 0;

	if (args->flags || !args->count_handles)
		return -EINVAL;
	for (uint32_t i = 0; i < args->count_handles; i++)
		if (!find(client, handles[i]))
			return -ENOENT;
	for (uint32_t i = 0; i < args->count_handles && !error; i++)
		error = signal_one(find(client, handles[i]), points ? points[i] : 0);
	return error;
}

static int query(struct sim_client *client, const struct drm_syncobj_timeline_array *args)
{
	const uint32_t *handles = (const uint32_t *)(uintptr_t)args->handles;
	uint64_t *points = (uint64_t *)(uintptr_t)args->points;

	if (args->flags & ~DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED || !args->count_handles)
		return -EINVAL;
	for (uint32_t i = 0; i < args->count_handles; i++) {
		struct sim_syncobj *obj = find(client, handles[i]);

		if (!obj)
			return -ENOENT;
		points[i] = obj->passed;
		for (uint32_t j = 0; j < obj->count; j++) {
			if (!(args->flags & DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED) &&
			    !obj->points[j].fence->done)
				break;
			points[i] = obj->points[j].point;
		}
	}
	return 0;
}

static int transfer(struct sim_client *client, const struct drm_syncobj_transfer *args)
{
	struct sim_syncobj *from = find(client, args->src_handle), *to = find(client, args->dst_handle);
	int64_t at, until = sim_now() + 5000000000;

	if (args->pad)
		return -EINVAL;
	if (!from || !to)
		return -ENOENT;
	while ((at = entry_of(from, args->src_point)) < 0) {
		/* The driver waits 5 s for it to be submitted. */
		if (!(args->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT))
			return -EINVAL;
		if (!sim_wait_until(until))
			return -ETIME;
	}
	if (args->dst_point)
		return sim_syncobj_add_point(to, from->points[at].fence, args->dst_point);
	sim_syncobj_set(to, from->points[at].fence);
	return 0;
}

static int watch(struct sim_syncobj *obj, struct sim_fence *fence, uint64_t point, bool available, int fd)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct watch){ watches, obj,	 sim_fence_ref(fence),
			     point,   available, fcntl(fd, F_DUPFD_CLOEXEC, 0) };
	if (w->fd < 0) {
		free(w);
		return -EBADF;
	}
	if (obj)
		obj->refs++;
	watches = w;
	sim_syncobj_notify();
	return 0;
}

static int event(struct sim_client *client, const struct drm_syncobj_eventfd *args)
{
	struct sim_syncobj *obj = find(client, args->handle);

	if (args->flags & ~DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE || args->pad)
		return -EINVAL;
	if (!obj)
		return -ENOENT;
	return watch(obj, NULL, args->point, args->flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE, args->fd);
}

int sim_sync_file_new(struct sim_fence *fence)
{
	int event_fd = eventfd(0, EFD_CLOEXEC), fd;

	if (event_fd < 0)
		return -errno;
	fd = sim_fd_new(SIM_FILE_SYNC, sim_fence_ref(fence), event_fd, true);
	if (fd < 0)
		sim_fence_put(fence);
	else
		watch(NULL, fence, 0, false, event_fd);
	close(event_fd);
	return fd;
}

int sim_syncobj_fd_new(struct sim_syncobj *obj)
{
	int fd;

	obj->refs++;
	fd = sim_fd_new(SIM_FILE_SYNCOBJ, obj, sim.file, true);
	if (fd < 0)
		sim_syncobj_put(obj);
	return fd;
}

static int to_fd(struct sim_client *client, struct drm_syncobj_handle *args)
{
	struct sim_syncobj *obj = find(client, args->handle);
	int fd;

	if (args->pad || args->flags & ~DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE)
		return -EINVAL;
	if (!obj)
		return -EINVAL;
	if (args->flags) {
		int64_t at = entry_of(obj, 0);

		if (at < 0)
			return -EINVAL;
		fd = sim_sync_file_new(obj->points[at].fence);
	} else {
		fd = sim_syncobj_fd_new(obj);
	}
	args->fd = fd;
	return fd < 0 ? fd : 0;
}

static int from_fd(struct sim_client *client, struct drm_syncobj_handle *args)
{
	struct sim_file *file = sim_fd_find(args->fd);

	if (args->pad || args->flags & ~DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE)
		return -EINVAL;
	if (args->flags) {
		struct sim_syncobj *obj = find(client, args->handle);

		if (!file || file->kind != SIM_FILE_SYNC)
			return -EINVAL;
		if (!obj)
			return -ENOENT;
		sim_syncobj_set(obj, file->object);
		return 0;
	}
	if (!file || file->kind != SIM_FILE_SYNCOBJ)
		return -EINVAL;
	args->handle = sim_idr_add(&client->syncobjs, file->object);
	if (!args->handle)
		return -ENOMEM;
	((struct sim_syncobj *)file->object)->refs++;
	return 0;
}

int sim_syncobj_ioctl(struct sim_client *client, unsigned int nr, void *arg)
{
	switch (nr) {
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
		return create(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
		return destroy(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD):
		return to_fd(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
		return from_fd(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT): {
		struct drm_syncobj_wait *w = arg;

		return w->count_handles
			       ? wait(client, (const uint32_t *)(uintptr_t)w->handles, NULL, w->count_handles,
				      deadline(w->timeout_nsec), w->flags, &w->first_signaled)
			       : -EINVAL;
	}
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT): {
		struct drm_syncobj_timeline_wait *w = arg;

		return w->count_handles ? wait(client, (const uint32_t *)(uintptr_t)w->handles,
					       (const uint64_t *)(uintptr_t)w->points, w->count_handles,
					       deadline(w->timeout_nsec), w->flags, &w->first_signaled)
					: -EINVAL;
	}
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
		return many(client, arg, true);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
		return many(client, arg, false);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
		return timeline_signal(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY):
		return query(client, arg);
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
		return transfer(client, arg);
	default:
		return event(client, arg);
	}
}
