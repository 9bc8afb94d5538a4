/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx.c - the assembler, as the device sees it: gpgpu-ptx, a process that makes machine code of PTX.
 *
 * The assembler is part of NVIDIA's driver: it works on text that a guest's program led to, is as large as a
 * compiler, and takes what time it takes. The driver lets nobody use it who has no context on a card. So it
 * has a process with a context of its own, which holds nothing of the virtual machine's (ptx_main.c).
 *
 * It is started when the card is opened, before the sandbox closes, and starts itself anew when it dies. It is nobody's child
 * here, since a sandboxed process could not wait for it; it ends with the socket.
 *
 * Where the program is: what GPGPU_PTX says, beside this program, or where a build folder has it. GPGPU_PTX_SECONDS is for
 * tests.
 *
 * Threads: any; one text at a time.
 */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cuda/private.h"
#include "cuda/ptx_wire.h"
#include "jit/message.h"

#define START_SECONDS 60
#define SOCKET_FD     3

extern char **environ;

struct gp_ptx {
	GMutex lock;
	int socket;
	uint32_t number;
};

static char *find_program(void)
{
	static const char *const beside[] = { "gpgpu-ptx", "../libexec/gpgpu/gpgpu-ptx", "../cuda/gpgpu-ptx",
					      "../../host-backend/cuda/gpgpu-ptx" };
	const char *given = g_getenv("GPGPU_PTX");
	char *self, *dir, *path = given && given[0] ? g_strdup(given) : NULL;

	if (path)
		return path;
	self = g_file_read_link("/proc/self/exe", NULL);
	dir = self ? g_path_get_dirname(self) : NULL;
	for (size_t i = 0; dir && !path && i < G_N_ELEMENTS(beside); i++) {
		path = g_build_filename(dir, beside[i], NULL);
		if (access(path, X_OK))
			g_clear_pointer(&path, g_free);
	}
	g_free(dir);
	g_free(self);
	return path;
}

/* Return: whether it was started: it leaves a grandchild behind and ends at once. */
static bool spawn(const char *program, const char *bus_id, int socket, GError **error)
{
	char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t)bus_id,
			 (char *)(uintptr_t)g_getenv("GPGPU_PTX_SECONDS"), NULL };
	posix_spawn_file_actions_t actions;
	int err, status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, socket, SOCKET_FD);
	err = posix_spawn(&pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(err), "cannot start %s: %s", program,
			    strerror(err));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s does not start", program);
	return false;
}

/* The reply with @number. Return: false: there is none within @seconds. */
static bool await(struct gp_ptx *ptx, uint32_t number, int seconds, struct gp_ptx_reply *reply, int *fd)
{
	uint64_t until = gp_cuda_now() + (uint64_t)seconds * 1000000000, now;

	while ((now = gp_cuda_now()) < until) {
		struct pollfd poll_fd = { .fd = ptx->socket, .events = POLLIN };
		int got = poll(&poll_fd, 1, (int)((until - now) / 1000000) + 1);

		if (got < 0 && errno != EINTR)
			return false;
		if (got <= 0)
			continue;
		if (gp_message_receive(ptx->socket, reply, sizeof(*reply), fd, 1) != sizeof(*reply))
			return false;
		if (reply->magic == GP_PTX_MAGIC && reply->number == number) {
			reply->why[sizeof(reply->why) - 1] = 0;
			return true;
		}
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	return false;
}

struct gp_ptx *gp_ptx_new(const char *bus_id, GError **error)
{
	char *program = find_program();
	struct gp_ptx_reply reply;
	struct gp_ptx *ptx = NULL;
	int pair[2], fd = -1;

	if (!program) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "there is no gpgpu-ptx beside this program (GPGPU_PTX says where else it is)");
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "no socket: %s",
			    strerror(errno));
		g_free(program);
		return NULL;
	}
	if (spawn(program, bus_id, pair[1], error)) {
		ptx = g_new0(struct gp_ptx, 1);
		g_mutex_init(&ptx->lock);
		ptx->socket = pair[0];
	} else {
		close(pair[0]);
	}
	close(pair[1]);
	if (ptx && (!await(ptx, 0, START_SECONDS, &reply, &fd) || reply.why[0])) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s does not start: %s", program,
			    fd >= 0 || reply.magic != GP_PTX_MAGIC ? "no answer" : reply.why);
		gp_ptx_free(ptx);
		ptx = NULL;
	}
	if (fd >= 0)
		close(fd);
	g_free(program);
	return ptx;
}

void gp_ptx_free(struct gp_ptx *ptx)
{
	if (!ptx)
		return;
	close(ptx->socket);
	g_mutex_clear(&ptx->lock);
	g_free(ptx);
}

/* Return: a memory file with the text, or -1. */
static int make_file(const char *text, size_t size)
{
	int fd = gp_memory_file("ptx", false);

	if (fd >= 0 && !gp_write_all(fd, text, size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* What came, mapped; the process it comes from may be another than it was. */
static void *take_code(const struct gp_ptx_reply *reply, int fd, char why[GP_MESSAGE])
{
	struct stat st;
	void *code;

	if (fd < 0 || !reply->size || reply->size > GP_PTX_CODE_MAX ||
	    fcntl(fd, F_GET_SEALS) != GP_PTX_SEALS || fstat(fd, &st) || st.st_size != (off_t)reply->size) {
		g_strlcpy(why, reply->why[0] && fd < 0 ? reply->why : "the assembler's answer is wrong",
			  GP_MESSAGE);
		return NULL;
	}
	code = mmap(NULL, reply->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (code != MAP_FAILED)
		return code;
	g_strlcpy(why, "no memory for code", GP_MESSAGE);
	return NULL;
}

void *gp_ptx_assemble(struct gp_ptx *ptx, const char *text, size_t size, uint32_t sm, size_t *code_size,
		      char why[GP_MESSAGE])
{
	struct gp_ptx_request request = { .magic = GP_PTX_MAGIC, .sm = sm, .size = (uint32_t)size };
	int file = make_file(text, size), fd = -1;
	struct gp_ptx_reply reply;
	void *code = NULL;
	bool sent;

	if (file < 0) {
		g_strlcpy(why, "no memory for the assembler's text", GP_MESSAGE);
		return NULL;
	}
	g_mutex_lock(&ptx->lock);
	request.number = ++ptx->number ? ptx->number : ++ptx->number;
	sent = gp_message_send(ptx->socket, &request, sizeof(request), &file, 1) == sizeof(request);
	close(file);
	/* It says itself when its time is over; a little longer than that, for that. */
	if (sent && await(ptx, request.number, GP_PTX_SECONDS + 15, &reply, &fd)) {
		code = take_code(&reply, fd, why);
		*code_size = reply.size;
	} else {
		g_strlcpy(why, "the assembler does not answer", GP_MESSAGE);
	}
	if (fd >= 0)
		close(fd);
	g_mutex_unlock(&ptx->lock);
	return code;
}

void gp_ptx_release(void *code, size_t size)
{
	munmap(code, size);
}
