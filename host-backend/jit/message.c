/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.c - messages with descriptors, and memory files; for both ends of the compiler's, the keeper's and the assembler's socket.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "jit/message.h"

#define MAX_FDS 4

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
};

static ssize_t send_with(int fd, const void *bytes, size_t size, const int *fds, unsigned int num_fds,
			 int flags)
{
	struct iovec iov = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	if (num_fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(num_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(num_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, num_fds * sizeof(int));
	}
	do {
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | flags);
	} while (n < 0 && errno == EINTR);
	return n;
}

ssize_t gp_message_send(int fd, const void *bytes, size_t size, const int *fds, unsigned int num_fds)
{
	return send_with(fd, bytes, size, fds, num_fds, 0);
}

ssize_t gp_message_try_send(int fd, const void *bytes, size_t size, const int *fds, unsigned int num_fds)
{
	return send_with(fd, bytes, size, fds, num_fds, MSG_DONTWAIT);
}

ssize_t gp_message_receive(int fd, void *bytes, size_t size, int *fds, unsigned int num_fds)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = size };
	union control control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	unsigned int got = 0;
	ssize_t n;

	for (unsigned int i = 0; i < num_fds; i++)
		fds[i] = -1;
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return n;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (got < num_fds)
				fds[got++] = one;
			else
				close(one);
		}
	}
	if (!(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	for (unsigned int i = 0; i < got; i++) {
		close(fds[i]);
		fds[i] = -1;
	}
	errno = EMSGSIZE;
	return -1;
}

int gp_memory_file(const char *name, bool executable)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | (executable ? MFD_EXEC : MFD_NOEXEC_SEAL));

	/* Kernels before 6.3 know neither and need neither. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd;
}

bool gp_write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		size -= (size_t)n;
	}
	return true;
}
