/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compiler.c - the keeper: a small process that starts gpgpu-jit when the worker asks.
 *
 * How it works: the worker's sandbox lets it start no programs, and a compiler may die at any time. So
 * before it closes its sandbox the worker forks the keeper, which does one thing: for each message on the control socket
 * it ends the old compiler, starts a new one with one end of a fresh socket pair, and sends the other
 * end back. The message is what the compiler is to compile for, or one zero byte for this machine. It lives as long as the control socket is open.
 *
 * Threads: compiler_start() before there are any; compiler_connect() by one at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "jit/message.h"
#include "worker.h"

#define MAX_TARGET 64

/* In the compiler's process: @socket becomes its descriptor 3. */
static void G_GNUC_NORETURN exec_compiler(const char *program, const char *target, int socket)
{
	char *argv[] = {
		(char *)program, (char *)"--fd", (char *)"3", target[0] ? (char *)"--target" : NULL,
		(char *)target,	 NULL,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (socket == 3) {
		if (fcntl(3, F_SETFD, 0))
			die("cannot pass a socket to %s: %s", program, strerror(errno));
	} else if (dup2(socket, 3) < 0) {
		die("cannot pass a socket to %s: %s", program, strerror(errno));
	}
	execv(program, argv);
	die("cannot start %s: %s", program, strerror(errno));
}

/* Return: the worker's end of a socket to a new compiler, or -1. */
static int start(const char *program, const char *target, pid_t *pid)
{
	int pair[2];

	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
		*pid = -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	*pid = fork();
	if (!*pid)
		exec_compiler(program, target, pair[1]);
	close(pair[1]);
	if (*pid > 0)
		return pair[0];
	close(pair[0]);
	return -1;
}

static void G_GNUC_NORETURN keep(const char *program, int control)
{
	char target[MAX_TARGET] = "";
	pid_t pid = -1;

	prctl(PR_SET_NAME, "gpgpu-keeper");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	/* Nothing of the worker's but the log and this socket: descriptors that were passed stay with it. */
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		if (fd != control && fd != log_descriptor())
			close(fd);
	while (recv(control, target, sizeof(target) - 1, 0) > 0) {
		int fd = start(program, target, &pid);

		char started = fd >= 0;

		if (gp_message_send(control, &started, 1, &fd, started) != 1)
			break;
		if (fd >= 0)
			close(fd);
		memset(target, 0, sizeof(target));
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	_exit(0);
}

int compiler_start(const char *program, GError **error)
{
	int pair[2];
	pid_t pid;

	if (access(program, X_OK) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "%s: %s", program,
			    strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid) {
		close(pair[0]);
		keep(program, pair[1]);
	}
	close(pair[1]);
	if (pid > 0)
		return pair[0];
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot fork: %s", strerror(errno));
	close(pair[0]);
	return -1;
}

int compiler_connect(void *opaque, const char *target)
{
	const char *message = target ? target : "";
	int control = *(int *)opaque, fd = -1;
	size_t size = strlen(message) + 1;
	char started;

	if (size < MAX_TARGET && send(control, message, size, MSG_NOSIGNAL) == (ssize_t)size)
		gp_message_receive(control, &started, 1, &fd, 1);
	log_line(fd >= 0 ? "started a compiler" : "cannot start a compiler");
	return fd;
}
