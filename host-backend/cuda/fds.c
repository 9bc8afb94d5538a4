/* SPDX-License-Identifier: BSD-3-Clause */
/* fds.c - messages with a descriptor, for ptx.c and ptx_main.c. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cuda/ptx_wire.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

bool gp_fd_send(int socket, const void *message, size_t size, int fd)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	do {
		sent = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)size;
}

int gp_fd_receive(int socket, void *message, size_t size, int *fd)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = message, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *cmsg;
	ssize_t got;

	*fd = -1;
	do {
		got = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got ? -1 : 0;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(int));
	if (got == (ssize_t)size && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -1;
}
