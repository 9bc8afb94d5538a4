// SPDX-License-Identifier: BSD-3-Clause
/*
 * notify.c - the thread that calls back when jobs have ended.
 *
 * It is there while there is somebody to call, and one for each device. It polls a descriptor of each job's fence, and one that wakes it
 * when there is another job. What is in the list belongs to the list, under the device's lock; what is taken out of it belongs to the
 * thread. The thread has a reference to the device and each entry one to its job, so that both outlive their owners' interest.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "internal.h"

#define FEW 64 /* descriptors that room is made for at once */

struct waiting {
	struct waiting *next;
	struct gpgpu_job *job;
	gpgpu_job_fn fn;
	void *opaque;
	int fd; /* readable when the job's fence has signalled */
};

struct notifier {
	struct gpgpu_device *dev;
	struct waiting *list,
		**end; /* in the order of the calls, so that nobody who is ready waits for those who came later */
	nfds_t count;
	int wake;
	/* the thread's own */
	struct pollfd *fds;
	nfds_t room;
};

/*
 * Return: how many descriptors there are to poll, the first being that which wakes; 0: nobody waits any more, and from now on the
 * next who does makes a thread of its own.
 */
static nfds_t collect(struct notifier *n)
{
	nfds_t num = 0;

	pthread_mutex_lock(&n->dev->lock);
	if (n->count + 1 > n->room) {
		struct pollfd *more = realloc(n->fds, (n->count + FEW) * sizeof(*more));

		/* Without memory for all of them some wait until others have ended. */
		if (more) {
			n->fds = more;
			n->room = n->count + FEW;
		}
	}
	if (n->list)
		n->fds[num++] = (struct pollfd){ .fd = n->wake, .events = POLLIN };
	else
		n->dev->notifier = NULL;
	for (struct waiting *w = n->list; w && num < n->room; w = w->next)
		n->fds[num++] = (struct pollfd){ .fd = w->fd, .events = POLLIN };
	pthread_mutex_unlock(&n->dev->lock);
	return num;
}

/* Return: the one in the list that has that descriptor, taken out of it. */
static struct waiting *take(struct notifier *n, int fd)
{
	struct waiting **at, *w;

	pthread_mutex_lock(&n->dev->lock);
	for (at = &n->list; *at && (*at)->fd != fd; at = &(*at)->next)
		;
	w = *at;
	if (w) {
		*at = w->next;
		n->count--;
		if (!w->next)
			n->end = at;
	}
	pthread_mutex_unlock(&n->dev->lock);
	return w;
}

/* Return: the first in the list whose descriptor is ready, taken out of it, or NULL. */
static struct waiting *take_ended(struct notifier *n, nfds_t num)
{
	nfds_t i = 1;

	while (i < num && !n->fds[i].revents)
		i++;
	return i < num ? take(n, n->fds[i].fd) : NULL;
}

static void tell(struct waiting *w)
{
	struct gpgpu_job_result result = { 0 };
	int r = gpgpu_job_wait(w->job, -1, &result, NULL, 0);

	w->fn(w->opaque, r, &result);
	close(w->fd);
	gpgpu_job_put(w->job);
	free(w);
}

static void notifier_free(struct notifier *n)
{
	struct gpgpu_device *dev = n->dev;

	if (n->wake >= 0)
		close(n->wake);
	free(n->fds);
	free(n);
	gpgpu_close(dev);
}

static void *run(void *opaque)
{
	struct notifier *n = opaque;
	uint64_t times;
	nfds_t num;

	while ((num = collect(n))) {
		struct waiting *w;

		if (poll(n->fds, num, -1) < 0) {
			/* No memory, or the limit of descriptors was lowered: the first is waited for, as a job can always be. */
			w = take(n, n->fds[1].fd);
		} else {
			if (n->fds[0].revents && read(n->wake, &times, sizeof(times)) < 0)
				times = 0; /* was read already */
			w = take_ended(n, num);
		}
		if (w)
			tell(w);
	}
	notifier_free(n);
	return NULL;
}

/* Return: a notifier without a thread, or NULL with errno set. */
static struct notifier *notifier_new(struct gpgpu_device *dev)
{
	struct notifier *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return NULL;
	n->dev = gpgpu_device_get(dev);
	n->end = &n->list;
	n->fds = calloc(FEW, sizeof(*n->fds));
	n->room = FEW;
	n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->fds && n->wake >= 0)
		return n;
	err = errno;
	notifier_free(n);
	errno = err;
	return NULL;
}

/* The thread gets no signals: those are for threads that know of them. */
static int start(struct notifier *n)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, run, n);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

static void add(struct notifier *n, struct waiting *w)
{
	*n->end = w;
	n->end = &w->next;
	n->count++;
}

/* Called with the device's lock held. */
static int wait_for(struct gpgpu_device *dev, struct waiting *w)
{
	const uint64_t once = 1;
	struct notifier *n = dev->notifier;
	int r;

	if (n) {
		/* Where it cannot be written, it is readable already. The thread looks at the list after this call. */
		if (write(n->wake, &once, sizeof(once)) < 0 && errno != EAGAIN)
			return -errno;
		add(n, w);
		return 0;
	}
	n = notifier_new(dev);
	if (!n)
		return -errno;
	add(n, w);
	r = start(n);
	if (!r)
		dev->notifier = n;
	else
		notifier_free(n);
	return r;
}

int gpgpu_job_notify(struct gpgpu_job *job, gpgpu_job_fn fn, void *opaque)
{
	struct drm_syncobj_handle sync = { .handle = job->fence,
					   .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
					   .fd = -1 };
	struct waiting *w;
	int r;

	if (!job->fence)
		return gpgpu_fail(-EINVAL, "the job was not submitted in a queue");
	w = calloc(1, sizeof(*w));
	if (!w)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = gpgpu_ioctl(job->dev, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &sync);
	if (r) {
		free(w);
		return gpgpu_fail(r, "a job's fence as a descriptor: %s", strerror(-r));
	}
	__atomic_add_fetch(&job->refs, 1, __ATOMIC_RELAXED);
	*w = (struct waiting){ .job = job, .fn = fn, .opaque = opaque, .fd = sync.fd };
	pthread_mutex_lock(&job->dev->lock);
	r = wait_for(job->dev, w);
	pthread_mutex_unlock(&job->dev->lock);
	if (!r)
		return 0;
	close(sync.fd);
	__atomic_sub_fetch(&job->refs, 1, __ATOMIC_RELAXED);
	free(w);
	return gpgpu_fail(r, "no thread to tell of a job's end: %s", strerror(-r));
}
