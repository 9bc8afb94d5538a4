/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.c - reads one program, enters the sandbox, compiles, answers, exits.
 *
 * The program's file belongs to the engine, which may be in a guest's hands: it is copied before it is read,
 * sizes are checked, and the validator runs again. Everything from the sandbox on is under limits; a child that
 * meets one just dies, and the zygote answers in its place.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <virtio_gpgpu.h>
#include "jit/child.h"
#include "jit/emit.h"
#include "jit/kernels.h"
#include "jit/message.h"
#include "jit/sandbox.h"

static int reply_fd;

static void answer(struct gp_jit_reply *reply, const int files[2])
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	reply->magic = GP_JIT_MAGIC;
	reply->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	gp_message_send(reply_fd, reply, sizeof(*reply), files, files ? (files[1] >= 0 ? 2 : 1) : 0);
}

static void on_fatal(const char *message)
{
	struct gp_jit_reply reply = { .verdict = { .status = VIRTIO_GPGPU_S_REJECTED,
						   .reason = VIRTIO_GPGPU_R_COMPILER } };

	snprintf(reply.verdict.message, sizeof(reply.verdict.message), "compiler: %s", message);
	answer(&reply, NULL);
	_exit(GP_CHILD_ANSWERED);
}

/* LLVM and GLib abort when memory runs out, as they do for other reasons: try whether there is any. */
static void on_abort(int sig)
{
	void *probe = mmap(NULL, 16 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (probe == MAP_FAILED)
		_exit(GP_CHILD_NO_MEMORY);
	_exit(GP_CHILD_SIGNAL + sig); /* the sandbox lets no signal through, not even to itself */
}

static bool read_all(int fd, uint8_t *to, uint64_t size)
{
	uint64_t at = 0;

	while (at < size) {
		ssize_t n = pread(fd, to + at, size - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (uint64_t)n;
	}
	return true;
}

/* @bytes stays in use by @prog. */
static bool read_program(const struct gp_jit_request *request, int fd, struct gp_prog *prog)
{
	struct gp_jit_prog head;
	uint8_t *bytes;

	if (request->size < sizeof(head) || request->size > gp_jit_prog_bytes(GP_MAX_PROG_MAPS, GP_MAX_INSNS))
		return false;
	bytes = malloc(request->size);
	if (!bytes || !read_all(fd, bytes, request->size))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.num_maps > GP_MAX_PROG_MAPS || head.num_insns > GP_MAX_INSNS ||
	    gp_jit_prog_bytes(head.num_maps, head.num_insns) != request->size)
		return false;
	*prog = (struct gp_prog){
		.kind = head.kind,
		.flags = head.flags,
		.num_insns = head.num_insns,
		.num_maps = head.num_maps,
		.num_args = head.num_args,
		.maps = (const void *)(bytes + sizeof(head)),
		.insns = (const void *)(bytes + sizeof(head) + head.num_maps * sizeof(struct gp_map_desc)),
	};
	memcpy(prog->arg_kind, head.arg_kind, sizeof(prog->arg_kind));
	return true;
}

static bool fill(int fd, const void *bytes, size_t size)
{
	return gp_write_all(fd, bytes, size) && !fcntl(fd, F_ADD_SEALS, GP_JIT_SEALS);
}

_Noreturn void gp_child_run(const struct gp_jit_request *request, int program, int reply)
{
	struct gp_jit_reply result = { 0 };
	struct gp_code code = { 0 };
	struct gp_prog prog;
	int files[2] = { -1, -1 };
	bool ok;

	reply_fd = reply;
	if (!read_program(request, program, &prog))
		_exit(GP_CHILD_BAD_REQUEST);
	signal(SIGABRT, on_abort);
	signal(SIGTRAP, on_abort); /* GLib's way */
	signal(SIGSEGV, on_abort);
	gp_emit_on_fatal(on_fatal);
	/* The only files there will be. */
	files[0] = gp_memory_file("gpgpu-image", true);
	if (prog.flags & GP_PROG_LINES)
		files[1] = gp_memory_file("gpgpu-lines", false);
	if (files[0] < 0 || ((prog.flags & GP_PROG_LINES) && files[1] < 0))
		_exit(GP_CHILD_NO_MEMORY);
	if (!gp_sandbox_enter(request->cpu_seconds, request->memory,
			      GP_JIT_WALL_SECONDS(request->cpu_seconds)))
		_exit(GP_CHILD_NO_SANDBOX);
	ok = request->kernel == GP_JIT_PROGRAM
		     ? gp_emit(&prog, request->cpu_seconds * 1000000000ull, &code, &result.verdict)
		     : gp_kernel_made(gp_emit_target(), request->kernel, &code) ||
			       gp_emit_kernel(request->kernel, &code, &result.verdict);
	if (ok) {
		if (code.size > GP_JIT_MAX_CODE || code.num_lines > GP_JIT_MAX_LINES ||
		    !fill(files[0], code.bytes, code.size) ||
		    (files[1] >= 0 && !fill(files[1], code.lines, code.num_lines * sizeof(*code.lines))))
			_exit(GP_CHILD_NO_MEMORY);
		result.code_bytes = code.size;
		result.entry = code.entry;
		result.num_lines = code.num_lines;
		result.frame_bytes = code.frame_bytes;
		result.vgprs = code.vgprs;
		result.sgprs = code.sgprs;
		result.vgpr_spills = code.vgpr_spills;
		result.sgpr_spills = code.sgpr_spills;
		result.scratch_bytes = code.scratch_bytes;
		result.lds_bytes = code.lds_bytes;
		result.kind = gp_emit_kind();
		answer(&result, files);
	} else {
		answer(&result, NULL);
	}
	_exit(GP_CHILD_ANSWERED);
}

void gp_child_verdict(int status, struct gp_verdict *verdict)
{
	const char *what = NULL;
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (WIFEXITED(status) && WEXITSTATUS(status) > GP_CHILD_SIGNAL)
		sig = WEXITSTATUS(status) - GP_CHILD_SIGNAL;
	memset(verdict, 0, sizeof(*verdict));
	verdict->status = VIRTIO_GPGPU_S_LIMIT;
	verdict->reason = VIRTIO_GPGPU_R_COMPILE_LIMIT;
	if (sig == SIGXCPU || sig == SIGKILL)
		what = "compiling takes too much CPU time";
	else if (sig == SIGALRM)
		what = "compiling takes too long";
	else if (WIFEXITED(status) && WEXITSTATUS(status) == GP_CHILD_NO_MEMORY)
		what = "compiling takes too much memory";
	if (what) {
		snprintf(verdict->message, sizeof(verdict->message), "compiler: %s; make the program smaller",
			 what);
		return;
	}
	verdict->status = VIRTIO_GPGPU_S_REJECTED;
	verdict->reason = VIRTIO_GPGPU_R_COMPILER;
	if (sig)
		snprintf(verdict->message, sizeof(verdict->message), "compiler: ended by signal %d (%s)", sig,
			 strsignal(sig));
	else if (WEXITSTATUS(status) == GP_CHILD_NO_SANDBOX)
		snprintf(verdict->message, sizeof(verdict->message), "compiler: cannot enter its sandbox");
	else
		snprintf(verdict->message, sizeof(verdict->message), "compiler: exit status %d",
			 WEXITSTATUS(status));
}
