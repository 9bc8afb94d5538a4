/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_ring.c - the client of a worker: QEMU's end of the socket and of the ring, written apart from the
 * worker's own so that both agree with gpgpu-connection.h and not with each other.
 *
 * Threads: one per client.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "wire_internal.h"

struct wire_link {
	int socket;
	uint32_t session;
	int kick, call;
	struct gpgpu_ring *ring;
	size_t ring_bytes;
	uint64_t size;  /* of each direction */
	bool lost;
};

struct gpgpu_ring *wire_ring(struct wire_client *c)
{
	return c->link ? c->link->ring : NULL;
}

int wire_memfd(const char *name, uint64_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		wire_fail("cannot make a memory file");
	return fd;
}

int wire_spawn(const char *program, pid_t *pid, const char *const *args)
{
	const char *argv[16] = { program, "--fd", "3" };
	int pair[2], n = 3;

	while (args && *args && n < 15)
		argv[n++] = *args++;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		wire_fail("cannot make a socket");
	*pid = fork();
	if (!*pid) {
		/* dup2() onto itself would leave it close-on-exec. */
		int fd = fcntl(pair[1], F_DUPFD, 10);

		dup2(fd, 3);
		close(fd);
		execv(program, (char **)argv);
		perror(program);
		_exit(127);
	}
	close(pair[1]);
	return pair[0];
}

/* Return: bytes, 0 when the other side is gone. */
static size_t receive(int socket, void *buffer, size_t size)
{
	struct pollfd pfd = { .fd = socket, .events = POLLIN };
	ssize_t n;

	if (poll(&pfd, 1, WIRE_TIMEOUT_MS) != 1)
		wire_fail("the worker does not answer");
	n = recv(socket, buffer, size, 0);
	return n > 0 ? (size_t)n : 0;
}

bool wire_hello(int socket, struct gpgpu_msg_welcome *welcome)
{
	struct gpgpu_msg_hello hello = {
		.msg = { GPGPU_MSG_HELLO, sizeof(hello), 0, 7 },
		.magic = GPGPU_CONNECTION_MAGIC,
		.version = GPGPU_CONNECTION_VERSION,
	};

	if (send(socket, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		return false;
	return receive(socket, welcome, sizeof(*welcome)) == sizeof(*welcome) &&
	       welcome->msg.type == GPGPU_MSG_WELCOME && welcome->msg.token == 7 &&
	       welcome->magic == GPGPU_CONNECTION_MAGIC;
}

/* Waits for the ACK of @token; events on the way are skipped. */
static int wait_ack(int socket, uint32_t token, char message[128])
{
	union {
		struct gpgpu_msg msg;
		struct gpgpu_msg_ack ack;
		uint8_t bytes[GPGPU_MSG_MAX];
	} m;

	for (;;) {
		size_t n = receive(socket, &m, sizeof(m));

		if (!n)
			return -EPIPE;
		if (m.msg.type == GPGPU_MSG_EVENT)
			continue;
		if (n != sizeof(m.ack) || m.msg.type != GPGPU_MSG_ACK || m.msg.token != token)
			wire_fail("the worker sent something else than an ACK");
		if (message)
			memcpy(message, m.ack.message, sizeof(m.ack.message));
		return m.ack.error;
	}
}

static uint32_t next_token;

int wire_message(int socket, uint32_t type, uint32_t session, void *message, size_t size)
{
	struct gpgpu_msg *msg = message;

	*msg = (struct gpgpu_msg){ type, (uint32_t)size, session, ++next_token };
	if (send(socket, message, size, MSG_NOSIGNAL) != (ssize_t)size)
		return -EPIPE;
	return wait_ack(socket, msg->token, NULL);
}

int wire_send_open(int socket, struct gpgpu_msg_open *msg, const int *fds, int num_fds, char message[128])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	msg->msg.type = GPGPU_MSG_OPEN;
	msg->msg.size = sizeof(*msg);
	msg->msg.token = ++next_token;
	if (num_fds) {
		struct cmsghdr *cmsg;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE((size_t)num_fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&m);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN((size_t)num_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, (size_t)num_fds * sizeof(int));
	}
	if (sendmsg(socket, &m, MSG_NOSIGNAL) != sizeof(*msg))
		return -EPIPE;
	return wait_ack(socket, msg->msg.token, message);
}

struct wire_client *wire_client_worker(int socket, uint32_t id, uint64_t shm_size, uint64_t ring_size)
{
	struct wire_client *c = wire_client_new();
	struct wire_link *l = calloc(1, sizeof(*l));
	struct gpgpu_msg_open msg = {
		.msg.session = id,
		.shm_size = shm_size,
		.features = 3,
		.generation = 1,
		.name = "test",
	};
	int shm = wire_memfd("shm", shm_size), ring, err;

	l->socket = socket;
	l->session = id;
	l->size = ring_size;
	l->ring_bytes = GPGPU_RING_DATA_OFFSET + 2 * ring_size;
	ring = wire_memfd("ring", l->ring_bytes);
	c->shm_size = shm_size;
	c->shm = mmap(NULL, shm_size, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
	l->ring = mmap(NULL, l->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	l->ring->magic = GPGPU_CONNECTION_MAGIC;
	l->ring->version = GPGPU_CONNECTION_VERSION;
	l->ring->req_offset = GPGPU_RING_DATA_OFFSET;
	l->ring->resp_offset = GPGPU_RING_DATA_OFFSET + ring_size;
	l->ring->req_size = l->ring->resp_size = ring_size;
	l->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	msg.ring_size = l->ring_bytes;
	err = wire_send_open(socket, &msg, (int[]){ shm, ring, l->kick, l->call }, 4, NULL);
	if (err)
		wire_fail("the worker does not open a session");
	close(shm);
	close(ring);
	c->link = l;
	return c;
}

void wire_client_lost(struct wire_client *c)
{
	c->link->lost = true;
}

void wire_link_close(struct wire_client *c)
{
	struct wire_link *l = c->link;
	struct gpgpu_msg msg;

	if (!l->lost)
		wire_message(l->socket, GPGPU_MSG_CLOSE, l->session, &msg, sizeof(msg));
	munmap(l->ring, l->ring_bytes);
	close(l->kick);
	close(l->call);
	free(l);
}

static void signal_worker(struct wire_link *l)
{
	uint64_t one = 1;

	if (write(l->kick, &one, sizeof(one)) != sizeof(one))
		wire_fail("cannot signal the worker");
}

/* The worker takes requests meanwhile, unless it is paused: then this fails after the time limit. */
static void wait_for_room(struct wire_client *c, uint64_t size)
{
	struct gpgpu_ring_index *index = &c->link->ring->req;
	uint64_t count;

	for (int tries = 0;
	     c->link->size - (index->tail - __atomic_load_n(&index->head, __ATOMIC_SEQ_CST)) < size;
	     tries++) {
		struct pollfd pfd = { .fd = c->link->call, .events = POLLIN };

		__atomic_store_n(&index->blocked, 1, __ATOMIC_SEQ_CST);
		if (c->link->size - (index->tail - __atomic_load_n(&index->head, __ATOMIC_SEQ_CST)) >= size)
			break;
		/* It may be blocked in its turn, until we take responses. */
		wire_link_poll(c);
		if (poll(&pfd, 1, 10) == 1 && read(c->link->call, &count, sizeof(count)) < 0 &&
		    errno != EAGAIN)
			wire_fail("cannot read an eventfd");
		if (tries > WIRE_TIMEOUT_MS / 10)
			wire_fail("the request ring stays full");
	}
}

void wire_link_submit(struct wire_client *c, uint64_t ticket, enum gpgpu_queue_kind queue,
		      const void *request, size_t length, size_t capacity)
{
	struct wire_link *l = c->link;
	struct gpgpu_ring_index *index = &l->ring->req;
	uint8_t *data = (uint8_t *)l->ring + GPGPU_RING_DATA_OFFSET;
	struct gpgpu_record record = {
		.size = (uint32_t)((sizeof(record) + length + 7) & ~7ul),
		.kind = GPGPU_RING_CONTROL + queue,
		.tag = ticket,
		.length = (uint32_t)length,
		.capacity = (uint32_t)capacity,
	};
	uint64_t pos = index->tail & (l->size - 1), room = l->size - pos;

	if (room < record.size) {
		struct gpgpu_record pad = { .size = (uint32_t)room, .kind = GPGPU_RING_PAD };

		wait_for_room(c, room + record.size);
		memcpy(data + pos, &pad, room < sizeof(pad) ? room : sizeof(pad));
		__atomic_store_n(&index->tail, index->tail + room, __ATOMIC_SEQ_CST);
		pos = 0;
	}
	wait_for_room(c, record.size);
	memcpy(data + pos, &record, sizeof(record));
	memcpy(data + pos + sizeof(record), request, length);
	__atomic_store_n(&index->tail, index->tail + record.size, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&index->sleeping, __ATOMIC_SEQ_CST))
		signal_worker(l);
}

void wire_link_poll(struct wire_client *c)
{
	struct wire_link *l = c->link;
	struct gpgpu_ring_index *index = &l->ring->resp;
	uint8_t *data = (uint8_t *)l->ring + l->ring->resp_offset;
	uint64_t tail;

	while ((tail = __atomic_load_n(&index->tail, __ATOMIC_ACQUIRE)) != index->head) {
		uint64_t pos = index->head & (l->size - 1);
		struct gpgpu_record record = { 0 };

		memcpy(&record, data + pos, 8);
		if (!record.size || record.size % 8 || record.size > tail - index->head ||
		    record.size > l->size - pos)
			wire_fail("the response ring is broken");
		if (record.kind != GPGPU_RING_PAD) {
			const struct gpgpu_range *ranges;
			size_t ranges_bytes;

			memcpy(&record, data + pos, sizeof(record));
			ranges = (void *)(data + pos + sizeof(record));
			ranges_bytes = record.capacity * sizeof(*ranges);
			if (record.kind != GPGPU_RING_RESPONSE || record.capacity > GPGPU_MAX_RANGES ||
			    sizeof(record) + ranges_bytes + record.length > record.size)
				wire_fail("a response record is broken");
			wire_answered(c, record.tag, (const uint8_t *)ranges + ranges_bytes, record.length,
				      ranges, record.capacity);
		}
		__atomic_store_n(&index->head, index->head + record.size, __ATOMIC_SEQ_CST);
		if (__atomic_exchange_n(&index->blocked, 0, __ATOMIC_SEQ_CST))
			signal_worker(l);
	}
}

void wire_link_wait(struct wire_client *c, const struct timespec *until)
{
	struct wire_link *l = c->link;
	struct pollfd pfd[2] = {
		{ .fd = l->call, .events = POLLIN },
		{ .fd = l->socket, .events = 0 },
	};
	struct timespec now;
	uint64_t count;

	/* Look for a while, as QEMU does when it polls. */
	for (int i = 0; i < 2000; i++) {
		if (__atomic_load_n(&l->ring->resp.tail, __ATOMIC_ACQUIRE) != l->ring->resp.head)
			return;
		__builtin_ia32_pause();
	}
	__atomic_store_n(&l->ring->resp.sleeping, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&l->ring->resp.tail, __ATOMIC_SEQ_CST) == l->ring->resp.head) {
		poll(pfd, 2, 1000);
		if (pfd[1].revents & POLLHUP)
			wire_fail("the worker is gone");
		if (read(l->call, &count, sizeof(count)) < 0 && errno != EAGAIN)
			wire_fail("cannot read an eventfd");
	}
	__atomic_store_n(&l->ring->resp.sleeping, 0, __ATOMIC_SEQ_CST);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > until->tv_sec)
		wire_fail("no answer");
}
