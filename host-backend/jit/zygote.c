/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * zygote.c - gpgpu-jit: loads LLVM once and forks for each program.
 *
 * How it works: one thread waits for requests and for children. A request is handed to a new child, which inherits LLVM
 * and the parsed run-time library by fork, enters its sandbox and answers on the socket that came with the
 * request (child.c). The zygote keeps that socket too: when the child ended without an answer, it says why.
 * The zygote itself never looks at a program.
 *
 * It lives as long as its engine: with --fd, the end of the connection ends it and its children. With
 * --listen it serves several engines until it is told to stop.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "jit/child.h"
#include "jit/emit.h"
#include "jit/message.h"
#include "jit/sandbox.h"

#define MAX_CHILDREN 16
#define MAX_ENGINES  64

struct child {
	pid_t pid; /* 0: free */
	int reply;
};

static struct child children[MAX_CHILDREN];
static int engines[MAX_ENGINES];
static unsigned int num_engines, num_children;
static int listen_fd = -1, signal_fd;
static const char *listen_path;

static void usage(FILE *to)
{
	fprintf(to, "usage: gpgpu-jit --fd N | --listen PATH [--target NAME]\n"
		    "\n"
		    "Compiles BPF programs for gpgpu-worker. Usually started by it.\n"
		    "  --fd N         serve the connected SOCK_SEQPACKET socket N, end with it\n"
		    "  --listen PATH  make a socket at PATH and serve whoever connects\n"
		    "  --target NAME  compile for a GPU, as gfx1030 or sm_90, instead of this machine\n");
}

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "gpgpu-jit: %s: %s\n", what, why);
	exit(1);
}

/* Without LLVM's destructors, which take longer than its start and have nothing to save. */
static _Noreturn void stop(int status)
{
	for (unsigned int i = 0; i < MAX_CHILDREN; i++)
		if (children[i].pid)
			kill(children[i].pid, SIGKILL);
	if (listen_path)
		unlink(listen_path);
	_exit(status);
}

/* Only what one compile needs stays open. */
static void drop_descriptors(void)
{
	for (unsigned int i = 0; i < num_engines; i++)
		close(engines[i]);
	for (unsigned int i = 0; i < MAX_CHILDREN; i++)
		if (children[i].pid)
			close(children[i].reply);
	if (listen_fd >= 0)
		close(listen_fd);
	close(signal_fd);
}

static void start_child(const struct gp_jit_request *request, int program, int reply)
{
	unsigned int i = 0;
	sigset_t none;
	pid_t pid;

	while (children[i].pid)
		i++;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		drop_descriptors();
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		gp_child_run(request, program, reply);
	}
	close(program);
	if (pid < 0) {
		close(reply); /* the engine sees an end of file */
		return;
	}
	children[i] = (struct child){ .pid = pid, .reply = reply };
	num_children++;
}

static void reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(signal_fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
		stop(0);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned int i = 0; i < MAX_CHILDREN; i++) {
			struct gp_jit_reply reply = { .magic = GP_JIT_MAGIC };

			if (children[i].pid != pid)
				continue;
			if (!WIFEXITED(status) || WEXITSTATUS(status) != GP_CHILD_ANSWERED) {
				gp_child_verdict(status, &reply.verdict);
				/* An engine that brought a socket that is full has itself to blame; others wait. */
				gp_message_try_send(children[i].reply, &reply, sizeof(reply), NULL, 0);
			}
			close(children[i].reply);
			children[i].pid = 0;
			num_children--;
		}
	}
}

/* Return: false when the engine is gone or talks nonsense. */
static bool serve(int fd)
{
	struct gp_jit_request request;
	int fds[2];
	ssize_t n = gp_message_receive(fd, &request, sizeof(request), fds, 2);
	bool ok = n == sizeof(request) && request.magic == GP_JIT_MAGIC &&
		  request.version == GP_JIT_VERSION && fds[0] >= 0 && fds[1] >= 0 && request.cpu_seconds &&
		  request.cpu_seconds <= 3600 && request.memory <= 1ull << 40;

	if (ok) {
		start_child(&request, fds[0], fds[1]);
		return true;
	}
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return false;
}

static void accept_engine(void)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && num_engines < MAX_ENGINES)
		engines[num_engines++] = fd;
	else if (fd >= 0)
		close(fd);
}

static _Noreturn void run(void)
{
	struct pollfd polls[MAX_ENGINES + 2];

	for (;;) {
		unsigned int n = 0, served = num_engines;

		polls[n++] = (struct pollfd){ .fd = signal_fd, .events = POLLIN };
		polls[n++] = (struct pollfd){ .fd = listen_fd, .events = POLLIN };
		/* With all children busy, requests wait in their sockets. */
		for (unsigned int i = 0; i < served; i++)
			polls[n++] = (struct pollfd){ .fd = engines[i],
						      .events = num_children < MAX_CHILDREN ? POLLIN : 0 };
		if (poll(polls, n, -1) < 0 && errno != EINTR)
			die("poll", strerror(errno));
		if (polls[0].revents)
			reap();
		for (unsigned int i = served; i-- > 0;) {
			bool gone = polls[i + 2].revents & (POLLHUP | POLLERR | POLLNVAL);

			if ((polls[i + 2].revents & POLLIN) && num_children < MAX_CHILDREN)
				gone = !serve(engines[i]);
			if (!gone)
				continue;
			if (listen_fd < 0)
				stop(0);
			close(engines[i]);
			engines[i] = engines[--num_engines];
		}
		if (polls[1].revents & POLLIN)
			accept_engine();
	}
}

static void listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path))
		die(path, "path too long for a socket");
	strcpy(addr.sun_path, path);
	listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listen_fd < 0 || bind(listen_fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(listen_fd, 16))
		die(path, strerror(errno));
	listen_path = path;
}

static void take_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);
	int type = 0;
	socklen_t size = sizeof(type);

	if (*end || end == text || fd < 0 || fd > 1 << 20)
		die(text, "not a descriptor");
	if (getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
		die(text, "not a SOCK_SEQPACKET socket");
	fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	engines[num_engines++] = (int)fd;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "fd", required_argument, NULL, 'f' },
		{ "listen", required_argument, NULL, 'l' },
		{ "target", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *error, *target = NULL;
	sigset_t signals;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'f' && !num_engines && listen_fd < 0) {
			take_fd(optarg);
		} else if (c == 'l' && !num_engines && listen_fd < 0) {
			listen_at(optarg);
		} else if (c == 't') {
			target = optarg;
		} else {
			usage(c == 'h' ? stdout : stderr);
			return c != 'h';
		}
	}
	if (optind != argc || (!num_engines && listen_fd < 0)) {
		usage(stderr);
		return 1;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (signal_fd < 0)
		die("signalfd", strerror(errno));
	if (!gp_sandbox_prepare())
		die("system call filter", strerror(errno));
	error = gp_emit_init(target);
	if (error)
		die("LLVM", error);
	run();
}
