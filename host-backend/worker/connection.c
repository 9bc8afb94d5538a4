/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection.c - the socket to QEMU: greeting, sessions coming and going, state changes, events.
 *
 * How it works: one message a datagram. The first is HELLO. A table says for each type how long it is; what does
 * not fit ends the process, since the other side is then not what we think. What can go wrong with a
 * well-formed message (a session that cannot be made) is told in its ACK.
 *
 * Counters are published every PUBLISH_MS while there are sessions.
 *
 * Threads: the main thread; events are sent by engine threads, each in one datagram.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "worker.h"

#define PUBLISH_MS 50
#define MAX_FDS	   4

struct connection {
	struct gpgpu_engine *engine;
	int fd;
	bool greeted;
	GHashTable *sessions; /* id to struct session */
};

struct session {
	struct connection *connection;
	uint32_t id;
	struct link *link;
};

union message {
	struct gpgpu_msg msg;
	struct gpgpu_msg_hello hello;
	struct gpgpu_msg_open open;
	struct gpgpu_msg_reset reset;
	struct gpgpu_msg_quota quota;
	uint8_t bytes[GPGPU_MSG_MAX];
};

static void send_message(struct connection *c, const void *msg, size_t size, int flags)
{
	if (send(c->fd, msg, size, MSG_NOSIGNAL | flags) == (ssize_t)size)
		return;
	if (errno == EAGAIN)
		log_line("QEMU does not read its socket: an event was lost");
	else if (errno != EPIPE && errno != ECONNRESET)
		die("cannot write to QEMU's socket: %s", strerror(errno));
}

static void acknowledge(struct connection *c, const struct gpgpu_msg *msg, int error, const char *message)
{
	struct gpgpu_msg_ack ack = {
		.msg = { GPGPU_MSG_ACK, sizeof(ack), msg->session, msg->token },
		.error = error,
	};

	if (message)
		g_strlcpy(ack.message, message, sizeof(ack.message));
	send_message(c, &ack, sizeof(ack), 0);
}

static void send_event(void *opaque, uint32_t type, uint32_t reason, uint64_t value)
{
	struct session *session = opaque;
	struct gpgpu_msg_event event = {
		.msg = { GPGPU_MSG_EVENT, sizeof(event), session->id, 0 },
		.type = type,
		.reason = reason,
		.value = value,
	};

	send_message(session->connection, &event, sizeof(event), MSG_DONTWAIT);
}

/* The one that is served; `lost` is told there by whatever thread. */
static struct connection *serving;
static pthread_mutex_t serving_lock = PTHREAD_MUTEX_INITIALIZER;

static const uint32_t losses[] = {
	[GPGPU_LOSS_UNKNOWN] = GPGPU_MSG_LOSS_UNKNOWN,
	[GPGPU_LOSS_GUILTY] = GPGPU_MSG_LOSS_GUILTY,
	[GPGPU_LOSS_INNOCENT] = GPGPU_MSG_LOSS_INNOCENT,
	[GPGPU_LOSS_GONE] = GPGPU_MSG_LOSS_GONE,
};

void connection_lost(void *opaque, enum gpgpu_loss loss, bool over, const char *what)
{
	struct gpgpu_msg_lost lost = {
		.msg = { GPGPU_MSG_LOST, sizeof(lost), 0, 0 },
		.loss = losses[loss],
		.over = over,
	};

	g_strlcpy(lost.message, what, sizeof(lost.message));
	pthread_mutex_lock(&serving_lock);
	if (serving && serving->greeted)
		send_message(serving, &lost, sizeof(lost), MSG_DONTWAIT);
	pthread_mutex_unlock(&serving_lock);
	if (over)
		die("device lost: %s", what);
	log_line("device lost: %s; going on", what);
}

static void serve(struct connection *c)
{
	pthread_mutex_lock(&serving_lock);
	serving = c;
	pthread_mutex_unlock(&serving_lock);
}

static void hello(struct connection *c, const union message *m)
{
	struct gpgpu_msg_welcome welcome = {
		.msg = { GPGPU_MSG_WELCOME, sizeof(welcome), 0, m->msg.token },
		.magic = GPGPU_CONNECTION_MAGIC,
		.version = GPGPU_CONNECTION_VERSION,
		.threads = gpgpu_engine_threads(c->engine),
		.pid = (uint32_t)getpid(),
	};

	if (m->hello.magic != GPGPU_CONNECTION_MAGIC)
		die("the other side is no QEMU with a GPGPU device");
	/* A newer QEMU learns from the answer what we speak. */
	g_strlcpy(welcome.device, gpgpu_engine_device_name(c->engine), sizeof(welcome.device));
	send_message(c, &welcome, sizeof(welcome), 0);
	c->greeted = m->hello.version == GPGPU_CONNECTION_VERSION;
}

static void open_session(struct connection *c, const union message *m, int fds[MAX_FDS])
{
	g_autoptr(GError) error = NULL;
	struct session *session;

	if (!m->msg.session || g_hash_table_contains(c->sessions, GUINT_TO_POINTER(m->msg.session)))
		die("QEMU opened session %u twice", m->msg.session);
	session = g_new0(struct session, 1);
	session->connection = c;
	session->id = m->msg.session;
	session->link = link_open(c->engine, &m->open, fds, send_event, session, &error);
	if (!session->link) {
		log_line("session %u: %s", m->msg.session, error->message);
		acknowledge(c, &m->msg, -EINVAL, error->message);
		g_free(session);
		return;
	}
	g_hash_table_insert(c->sessions, GUINT_TO_POINTER(session->id), session);
	acknowledge(c, &m->msg, 0, NULL);
}

static void free_session(gpointer opaque)
{
	struct session *session = opaque;

	link_close(session->link);
	g_free(session);
}

static void change_session(struct connection *c, const union message *m)
{
	struct session *session = g_hash_table_lookup(c->sessions, GUINT_TO_POINTER(m->msg.session));

	if (!session) {
		acknowledge(c, &m->msg, -ENOENT, "there is no such session");
		return;
	}
	switch (m->msg.type) {
	case GPGPU_MSG_CLOSE:
		g_hash_table_remove(c->sessions, GUINT_TO_POINTER(m->msg.session));
		break;
	case GPGPU_MSG_PAUSE:
		link_pause(session->link);
		break;
	case GPGPU_MSG_RESUME:
		link_resume(session->link);
		break;
	case GPGPU_MSG_RESET:
		link_reset(session->link, m->reset.features, m->reset.generation);
		break;
	case GPGPU_MSG_QUOTA:
		link_quota(session->link,
			   &(struct gpgpu_quota){ m->quota.weight, m->quota.cap, m->quota.memory_limit });
		break;
	}
	acknowledge(c, &m->msg, 0, NULL);
}

static size_t size_of(uint32_t type)
{
	switch (type) {
	case GPGPU_MSG_HELLO:
		return sizeof(struct gpgpu_msg_hello);
	case GPGPU_MSG_OPEN:
		return sizeof(struct gpgpu_msg_open);
	case GPGPU_MSG_CLOSE:
	case GPGPU_MSG_PAUSE:
	case GPGPU_MSG_RESUME:
		return sizeof(struct gpgpu_msg);
	case GPGPU_MSG_RESET:
		return sizeof(struct gpgpu_msg_reset);
	case GPGPU_MSG_QUOTA:
		return sizeof(struct gpgpu_msg_quota);
	default:
		return 0;
	}
}

static void handle(struct connection *c, const union message *m, size_t size, int fds[MAX_FDS], int num_fds)
{
	if (size < sizeof(m->msg) || m->msg.size != size || size != size_of(m->msg.type))
		die("QEMU sent a message that is unknown or malformed");
	if (num_fds != (m->msg.type == GPGPU_MSG_OPEN ? MAX_FDS : 0))
		die("QEMU sent %d descriptors with message %u", num_fds, m->msg.type);
	if ((m->msg.type == GPGPU_MSG_HELLO) == c->greeted)
		die("QEMU must say hello once, and first");
	switch (m->msg.type) {
	case GPGPU_MSG_HELLO:
		hello(c, m);
		break;
	case GPGPU_MSG_OPEN:
		open_session(c, m, fds);
		break;
	default:
		change_session(c, m);
		break;
	}
}

/* Return: bytes, 0 at the end. */
static size_t receive(struct connection *c, union message *m, int fds[MAX_FDS], int *num_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *cmsg;
	ssize_t n;

	*num_fds = 0;
	do {
		n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		die("QEMU sent a message that is too long");
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		*num_fds = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cmsg), (size_t)*num_fds * sizeof(int));
	}
	return (size_t)n;
}

static void publish(struct connection *c)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, c->sessions);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		link_publish(((struct session *)value)->link);
}

void connection_serve(struct gpgpu_engine *engine, int fd)
{
	struct connection c = { .engine = engine, .fd = fd };
	int fds[MAX_FDS], num_fds;
	union message m;
	size_t size;

	c.sessions = g_hash_table_new_full(NULL, NULL, NULL, free_session);
	serve(&c);
	for (;;) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		int n = poll(&pfd, 1, g_hash_table_size(c.sessions) ? PUBLISH_MS : -1);

		if (n < 0 && errno != EINTR)
			die("cannot wait for QEMU: %s", strerror(errno));
		if (!n)
			publish(&c);
		if (n <= 0)
			continue;
		size = receive(&c, &m, fds, &num_fds);
		if (!size)
			break;
		handle(&c, &m, size, fds, num_fds);
	}
	serve(NULL);
	/* Nobody waits for its jobs any more. */
	g_hash_table_destroy(c.sessions);
	close(fd);
}
