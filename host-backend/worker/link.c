/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link.c - one session of the engine and the ring that leads to it.
 *
 * How it works: a thread per link takes requests out of the ring and submits them; the engine copies each from
 * the ring. Before it sleeps it looks at the ring for a while, if that has paid lately, since waking costs
 * more than a small request. Responses come from whatever engine thread ends a request and go into the ring
 * under `resp_lock`. Where the ring is full they wait in `backlog`, and no more requests are taken until
 * it is empty again, so that it is bounded by what the ring and the engine's limits let in.
 *
 * Pausing only stops the engine and the taking of requests; what is in the ring stays there. A reset takes
 * everything out of the ring first, so that it is answered too.
 *
 * Invariants: nothing from the ring is trusted (ring.c); a ring that makes no sense ends the process.
 *
 * Threads: link_*() by the thread that serves the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "ring.h"
#include "worker.h"

#define GUARD	    (64u << 10) /* as GP_GUARD: around what generated code reaches */
#define MIN_SPIN_NS 2000
#define MAX_SPIN_NS 50000
#define MAX_TAKE    16 /* requests before device threads are woken for them */

enum { FD_SHM, FD_RING, FD_KICK, FD_CALL };

struct pending {
	struct link *link;
	uint64_t tag;
};

struct waiting {
	struct waiting *next;
	uint64_t tag;
	size_t length, num_ranges;
	struct gpgpu_range ranges[GPGPU_MAX_RANGES];
	uint8_t bytes[];
};

struct link {
	struct gpgpu_session *session;
	struct ring ring;
	int kick, call;
	uint8_t *reserved;  /* address space around the shared memory */
	size_t reserved_bytes;
	pthread_t thread;
	bool stop, paused;  /* atomic */
	uint64_t spin_ns;

	pthread_mutex_t req_lock; /* who takes requests */
	pthread_mutex_t resp_lock; /* who writes responses; backlog */
	struct waiting *backlog, **backlog_end;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void wake(struct link *link)
{
	uint64_t one = 1;

	if (write(link->kick, &one, sizeof(one)) < 0 && errno != EAGAIN)
		die("cannot signal a session's thread: %s", strerror(errno));
}

static void complete(void *opaque, const void *response, size_t length, const struct gpgpu_range *ranges,
		     size_t num_ranges)
{
	struct pending *pending = opaque;
	struct link *link = pending->link;
	struct waiting *w;

	pthread_mutex_lock(&link->resp_lock);
	if (link->backlog || !ring_respond(&link->ring, pending->tag, response, length, ranges, num_ranges)) {
		w = g_malloc(sizeof(*w) + length);
		w->next = NULL;
		w->tag = pending->tag;
		w->length = length;
		w->num_ranges = num_ranges;
		if (num_ranges)
			memcpy(w->ranges, ranges, num_ranges * sizeof(*ranges));
		if (length)
			memcpy(w->bytes, response, length);
		*link->backlog_end = w;
		link->backlog_end = &w->next;
	}
	pthread_mutex_unlock(&link->resp_lock);
	g_free(pending);
}

/* Return: true if nothing waits for room any more. */
static bool flush_backlog(struct link *link)
{
	bool empty;

	pthread_mutex_lock(&link->resp_lock);
	while (link->backlog) {
		struct waiting *w = link->backlog;

		if (!ring_respond(&link->ring, w->tag, w->bytes, w->length, w->ranges, w->num_ranges))
			break;
		link->backlog = w->next;
		if (!link->backlog)
			link->backlog_end = &link->backlog;
		g_free(w);
	}
	empty = !link->backlog;
	pthread_mutex_unlock(&link->resp_lock);
	return empty;
}

/* Takes one request out of the ring, if there is one; req_lock held. */
static bool take(struct link *link)
{
	static const enum gpgpu_queue_kind queues[] = {
		[GPGPU_RING_CONTROL] = GPGPU_QUEUE_CONTROL,
		[GPGPU_RING_COMPUTE] = GPGPU_QUEUE_COMPUTE,
		[GPGPU_RING_PACKET] = GPGPU_QUEUE_PACKET,
	};
	struct ring_request req;
	struct pending *pending;

	switch (ring_next(&link->ring, &req)) {
	case RING_EMPTY:
		return false;
	case RING_BROKEN:
		die("the request ring is broken");
	case RING_REQUEST:
		break;
	}
	pending = g_new(struct pending, 1);
	pending->link = link;
	pending->tag = req.tag;
	gpgpu_session_submit(link->session, queues[req.kind], req.bytes, req.length, req.capacity, complete,
			     pending);
	ring_done(&link->ring, &req);
	return true;
}

static bool may_take(struct link *link)
{
	return !__atomic_load_n(&link->paused, __ATOMIC_ACQUIRE) && flush_backlog(link);
}

/* Takes some of what there is. Return: whether there was anything. */
static bool take_some(struct link *link)
{
	int taken = 0;

	pthread_mutex_lock(&link->req_lock);
	gpgpu_session_cork(link->session);
	while (taken < MAX_TAKE && may_take(link) && take(link))
		taken++;
	gpgpu_session_uncork(link->session);
	pthread_mutex_unlock(&link->req_lock);
	return taken;
}

/* Looks at the ring for a while. Return: whether a request came. */
static bool spin(struct link *link)
{
	struct gpgpu_ring_index *index = &link->ring.shared->req;
	uint64_t start;
	bool found = false;

	if (!link->spin_ns || __atomic_load_n(&link->paused, __ATOMIC_RELAXED))
		return false;
	start = now_ns();
	do {
		for (int i = 0; i < 64 && !found; i++) {
			found = __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE) != link->ring.req_head;
			__builtin_ia32_pause();
		}
	} while (!found && now_ns() - start < link->spin_ns);
	link->spin_ns = found ? MIN(link->spin_ns * 2, MAX_SPIN_NS) : MAX(link->spin_ns / 2, MIN_SPIN_NS);
	return found;
}

static void wait_for_kick(struct link *link)
{
	struct pollfd pfd = { .fd = link->kick, .events = POLLIN };
	uint64_t count;

	while (poll(&pfd, 1, -1) < 0)
		if (errno != EINTR)
			die("cannot wait for a session's requests: %s", strerror(errno));
	if (read(link->kick, &count, sizeof(count)) != sizeof(count) && errno != EAGAIN)
		die("a session's eventfd is none");
}

static void *link_thread(void *opaque)
{
	struct link *link = opaque;

	while (!__atomic_load_n(&link->stop, __ATOMIC_ACQUIRE)) {
		if (take_some(link) || spin(link))
			continue;
		/* Paused or blocked, it is woken on purpose, not by a request that it may not take. */
		if (may_take(link) && !ring_sleep(&link->ring))
			continue;
		wait_for_kick(link);
		ring_awake(&link->ring);
	}
	return NULL;
}

/* Must not shrink under us (SIGBUS), and must be as large as was said. */
static const char *check_file(int fd, uint64_t size)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "is not a memory file sealed against shrinking";
	if (fstat(fd, &st) || st.st_size < 0 || (uint64_t)st.st_size < size)
		return "is smaller than was said";
	return NULL;
}

/* Nothing but the shared memory lies within reach of an offset that generated code has masked. */
static const char *map_shm(struct link *link, int fd, uint64_t size)
{
	uint64_t window = 4096;
	void *at;

	if (size > 1ull << 42 || size % 4096)
		return "has a size that is not allowed";
	while (window < size)
		window <<= 1;
	link->reserved_bytes = GUARD + 2 * window + GUARD;
	at = mmap(NULL, link->reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return "does not fit into the address space";
	link->reserved = at;
	if (mmap(link->reserved + GUARD, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return "cannot be mapped";
	return NULL;
}

static bool map_all(struct link *link, const struct gpgpu_msg_open *msg, const int fds[4], GError **error)
{
	const char *wrong = NULL, *what = "the shared memory";

	if (msg->shm_size) {
		wrong = check_file(fds[FD_SHM], msg->shm_size);
		if (!wrong)
			wrong = map_shm(link, fds[FD_SHM], msg->shm_size);
	}
	if (!wrong) {
		what = "the ring";
		wrong = check_file(fds[FD_RING], msg->ring_size);
	}
	if (wrong) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s %s", what, wrong);
		return false;
	}
	wrong = ring_map(&link->ring, fds[FD_RING], msg->ring_size, link->kick, link->call);
	if (wrong)
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, wrong);
	return !wrong;
}

static void fill_options(const struct gpgpu_msg_open *msg, const char *name,
			 struct gpgpu_session_options *options)
{
	*options = (struct gpgpu_session_options){
		.name = name,
		.shm_size = msg->shm_size,
		.features = msg->features,
		.generation = msg->generation,
		.quota = { msg->weight, msg->cap, msg->memory_limit },
		.limits = {
			.max_contexts = msg->max_contexts,
			.max_buffers = msg->max_buffers,
			.max_maps = msg->max_maps,
			.max_programs = msg->max_programs,
			.max_jobs = msg->max_jobs,
			.max_insns = msg->max_insns,
			.max_batch = msg->max_batch,
			.max_stride = msg->max_stride,
			.max_buffer = msg->max_buffer,
			.max_map = msg->max_map,
			.fuel = msg->fuel,
		},
	};
}

static void free_link(struct link *link)
{
	ring_unmap(&link->ring);
	if (link->reserved)
		munmap(link->reserved, link->reserved_bytes);
	while (link->backlog) {
		struct waiting *w = link->backlog;

		link->backlog = w->next;
		g_free(w);
	}
	close(link->kick);
	close(link->call);
	pthread_mutex_destroy(&link->req_lock);
	pthread_mutex_destroy(&link->resp_lock);
	g_free(link);
}

/* What a program printed. */
static void put_line(void *opaque, const char *line)
{
	log_line("%s", line);
}

struct link *link_open(struct gpgpu_engine *engine, const struct gpgpu_msg_open *msg, int fds[4],
		       gpgpu_event_fn *event, void *event_opaque, GError **error)
{
	struct link *link = g_new0(struct link, 1);
	struct gpgpu_session_options options;
	char name[sizeof(msg->name) + 1] = "";
	bool ok;

	memcpy(name, msg->name, sizeof(msg->name));
	link->backlog_end = &link->backlog;
	pthread_mutex_init(&link->req_lock, NULL);
	pthread_mutex_init(&link->resp_lock, NULL);
	link->kick = fds[FD_KICK];
	link->call = fds[FD_CALL];
	link->spin_ns = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? MIN_SPIN_NS : 0;
	/* A thread must never wait in read() or write() of these. */
	if (fcntl(link->kick, F_SETFL, O_NONBLOCK) || fcntl(link->call, F_SETFL, O_NONBLOCK)) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "an eventfd is none");
		ok = false;
	} else {
		ok = map_all(link, msg, fds, error);
	}
	close(fds[FD_RING]);
	if (!ok) {
		close(fds[FD_SHM]);
		goto fail;
	}

	fill_options(msg, name, &options);
	options.shm_fd = fds[FD_SHM];
	options.shm = link->reserved ? link->reserved + GUARD : NULL;
	options.event = event;
	options.event_opaque = event_opaque;
	options.log = put_line;
	link->session = gpgpu_session_new(engine, &options, error);
	/* The mappings keep the memory. */
	close(fds[FD_SHM]);
	if (!link->session)
		goto fail;
	link_publish(link);
	if (pthread_create(&link->thread, NULL, link_thread, link)) {
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM,
				    "cannot start a session's thread");
		gpgpu_session_free(link->session);
		goto fail;
	}
	return link;

fail:
	free_link(link);
	return NULL;
}

void link_close(struct link *link)
{
	__atomic_store_n(&link->stop, true, __ATOMIC_RELEASE);
	wake(link);
	pthread_join(link->thread, NULL);
	gpgpu_session_free(link->session);
	free_link(link);
}

void link_pause(struct link *link)
{
	__atomic_store_n(&link->paused, true, __ATOMIC_RELEASE);
	gpgpu_session_quiesce(link->session);
	link_publish(link);
}

void link_resume(struct link *link)
{
	gpgpu_session_resume(link->session);
	__atomic_store_n(&link->paused, false, __ATOMIC_RELEASE);
	wake(link);
}

void link_reset(struct link *link, uint64_t features, uint32_t generation)
{
	bool paused = __atomic_load_n(&link->paused, __ATOMIC_ACQUIRE);

	pthread_mutex_lock(&link->req_lock);
	/* The engine keeps what is submitted while it is paused, and the reset answers it. */
	gpgpu_session_quiesce(link->session);
	while (take(link))
		;
	gpgpu_session_reset(link->session, features, generation);
	if (!paused)
		gpgpu_session_resume(link->session);
	pthread_mutex_unlock(&link->req_lock);
	link_publish(link);
	wake(link);
}

void link_quota(struct link *link, const struct gpgpu_quota *quota)
{
	gpgpu_session_set_quota(link->session, quota);
}

void link_publish(struct link *link)
{
	struct gpgpu_stats stats;

	gpgpu_session_stats(link->session, &stats);
	ring_publish(&link->ring, &stats);
}
