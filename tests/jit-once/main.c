// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-jit-once - stands in gpgpu-jit's place for tests: what was compiled once in a run of the tests is not compiled again.
 *
 * How it works: a test names this program in GPGPU_JIT. It takes the requests of jit/wire.h. An image is kept as a file
 * whose name is a hash of all that was asked but the limits: the target, the program to the byte, and which
 * gpgpu-jit it is. Who asks for the same again gets that; for anything else gpgpu-jit is started and asked. Only images
 * are kept, no refusals. tests/run empties the folder before it begins.
 *
 * It is for tests of what runs programs, which would spend nearly all their time on compiling the same examples and
 * vectors. Tests of the compiler ask the compiler.
 *
 * Threads: one for each request; the lock is for asking, and for starting, gpgpu-jit. Descriptors and memory are
 * freed by the thread of the request. Ends when its connection does; gpgpu-jit, whose connection that ends, too.
 */
#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "jit/message.h"
#include "jit/wire.h"

struct work {
	struct gp_jit_request request;
	int program, answer; /* descriptors */
};

static const char *target = "";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int compiler = -1; /* connection, or -1: not started */

/* ------------------------------------------------------------------ the compiler */
static bool start(void)
{
	char *argv[] = { (char *)COMPILER, (char *)"--fd", (char *)"3", NULL, NULL, NULL };
	posix_spawn_file_actions_t actions;
	int pair[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return false;
	if (*target) {
		argv[3] = (char *)"--target";
		argv[4] = (char *)target;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
	error = posix_spawn(&pid, COMPILER, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	if (error) {
		close(pair[0]);
		return false;
	}
	compiler = pair[0];
	return true;
}

/* Return: where the answer will come, or -1. */
static int ask(const struct work *work)
{
	int pair[2], fds[2];
	bool sent = false;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	fds[0] = work->program;
	fds[1] = pair[1];
	pthread_mutex_lock(&lock);
	for (int tries = 0; tries < 2 && !sent && (compiler >= 0 || start()); tries++) {
		sent = gp_message_send(compiler, &work->request, sizeof(work->request), fds, 2) > 0;
		if (!sent) {
			close(compiler);
			compiler = -1;
		}
	}
	pthread_mutex_unlock(&lock);
	close(pair[1]);
	if (sent)
		return pair[0];
	close(pair[0]);
	return -1;
}

/* ------------------------------------------------------------------ what is kept */
/* Return: the file's path, to be freed with g_free(), or NULL: this is not to be kept. */
static char *place(const struct work *work)
{
	const uint64_t limit = sizeof(struct gp_jit_prog) + (16u << 20);
	GChecksum *sum;
	struct stat st;
	char *path, *bytes;

	if (work->request.size > limit || stat(COMPILER, &st))
		return NULL;
	bytes = g_malloc(work->request.size + 1);
	if (pread(work->program, bytes, work->request.size, 0) != (ssize_t)work->request.size) {
		g_free(bytes);
		return NULL;
	}
	sum = g_checksum_new(G_CHECKSUM_SHA256);
	g_checksum_update(sum, (const guchar *)target, (gssize)strlen(target) + 1);
	g_checksum_update(sum, (const guchar *)&st.st_mtim, sizeof(st.st_mtim));
	g_checksum_update(sum, (const guchar *)&st.st_size, sizeof(st.st_size));
	g_checksum_update(sum, (const guchar *)&work->request.kernel, sizeof(work->request.kernel));
	g_checksum_update(sum, (const guchar *)bytes, (gssize)work->request.size);
	path = g_strdup_printf("%s/%s", FOLDER, g_checksum_get_string(sum));
	g_checksum_free(sum);
	g_free(bytes);
	return path;
}

/* A memory file as the compiler makes them. Return: its descriptor, or -1. */
static int sealed(const char *bytes, size_t size, bool code)
{
	int fd = gp_memory_file(code ? "gpgpu-image" : "gpgpu-lines", code);

	if (fd >= 0 && gp_write_all(fd, bytes, size) && !fcntl(fd, F_ADD_SEALS, GP_JIT_SEALS))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Return: whether @path holds an answer; @fds are then the caller's. */
static bool recall(const char *path, struct gp_jit_reply *reply, int fds[2])
{
	size_t size, lines;
	char *bytes;
	bool ok;

	if (!g_file_get_contents(path, &bytes, &size, NULL))
		return false;
	ok = size >= sizeof(*reply);
	if (ok) {
		memcpy(reply, bytes, sizeof(*reply));
		lines = reply->num_lines * sizeof(struct gp_line);
		ok = size == sizeof(*reply) + reply->code_bytes + lines;
	}
	if (ok) {
		fds[0] = sealed(bytes + sizeof(*reply), reply->code_bytes, true);
		if (lines)
			fds[1] = sealed(bytes + sizeof(*reply) + reply->code_bytes, lines, false);
		ok = fds[0] >= 0 && (!lines || fds[1] >= 0);
	}
	g_free(bytes);
	return ok;
}

/* Under its name only when it is whole, since other processes look for it. */
static void keep(const char *path, const struct gp_jit_reply *reply, const int fds[2])
{
	size_t lines = fds[1] >= 0 ? reply->num_lines * sizeof(struct gp_line) : 0;
	size_t size = sizeof(*reply) + reply->code_bytes + lines;
	char *bytes = g_malloc(size), *code = bytes + sizeof(*reply);

	memcpy(bytes, reply, sizeof(*reply));
	if ((reply->num_lines != 0) == (fds[1] >= 0) &&
	    pread(fds[0], code, reply->code_bytes, 0) == (ssize_t)reply->code_bytes &&
	    (!lines || pread(fds[1], code + reply->code_bytes, lines, 0) == (ssize_t)lines))
		g_file_set_contents_full(path, bytes, (gssize)size, G_FILE_SET_CONTENTS_CONSISTENT, 0644,
					 NULL);
	g_free(bytes);
}

/* ------------------------------------------------------------------ requests */
static void *serve(void *opaque)
{
	struct work *work = opaque;
	char *path = place(work);
	struct gp_jit_reply reply;
	int fds[2] = { -1, -1 }, from;
	ssize_t n = sizeof(reply);

	if (!path || !recall(path, &reply, fds)) {
		from = ask(work);
		n = from >= 0 ? gp_message_receive(from, &reply, sizeof(reply), fds, 2) : 0;
		if (path && n == sizeof(reply) && reply.verdict.status == VIRTIO_GPGPU_S_OK && fds[0] >= 0)
			keep(path, &reply, fds);
		if (from >= 0)
			close(from);
	}
	/* Who gets nothing reads the end of the connection: the compiler died. */
	if (n > 0)
		gp_message_send(work->answer, &reply, (size_t)n, fds, (fds[0] >= 0) + (fds[1] >= 0));
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(work->program);
	close(work->answer);
	g_free(path);
	g_free(work);
	return NULL;
}

static void take(const struct gp_jit_request *request, const int fds[2])
{
	struct work *work = g_new(struct work, 1);
	pthread_t thread;

	*work = (struct work){ .request = *request, .program = fds[0], .answer = fds[1] };
	if (pthread_create(&thread, NULL, serve, work))
		serve(work);
	else
		pthread_detach(thread);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "fd", required_argument, NULL, 'f' },
						 { "target", required_argument, NULL, 't' },
						 { NULL, 0, NULL, 0 } };
	struct gp_jit_request request;
	int fd = -1, fds[2], c;
	ssize_t n;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'f')
			fd = atoi(optarg);
		else if (c == 't')
			target = optarg;
		else
			return 2;
	}
	if (fd < 0) {
		fprintf(stderr, "usage: gpgpu-jit-once --fd N [--target NAME]\n");
		return 2;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	g_mkdir_with_parents(FOLDER, 0755);
	while ((n = gp_message_receive(fd, &request, sizeof(request), fds, 2)) > 0) {
		if (n == sizeof(request) && request.magic == GP_JIT_MAGIC &&
		    request.version == GP_JIT_VERSION && fds[0] >= 0 && fds[1] >= 0) {
			take(&request, fds);
			continue;
		}
		for (int i = 0; i < 2; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	_exit(0);
}
