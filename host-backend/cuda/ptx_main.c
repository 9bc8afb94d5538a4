/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu-ptx BUS-ID [SECONDS] - machine code of PTX, for the device; descriptor 3 is the socket (ptx_wire.h).
 *
 * How it works: three processes. The first ends when it has started the second, so that whoever started it need not wait
 * for anything later. The second starts the third, and again when that has died: it answers for the text that it died of.
 * The third loads the driver, makes a context on the card, whose code the driver's linker then makes, assembles something
 * small, so that everything that needs a file is loaded, and closes itself in: no files, no other processes, no network, and
 * of the driver what its open nodes answer. It has SECONDS (GP_PTX_SECONDS) for a text, by the clock, and DATA_BYTES of memory.
 *
 * What a context of its own can do to others: nothing that theirs cannot; no memory is shared. It holds some hundred MiB of the
 * card's memory (docs/cuda.md).
 */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cuda/driver.h"
#include "cuda/ptx_wire.h"
#include "jit/message.h"
#include "jit/ptx_targets.h"
#include "sanitized.h"

#define SOCKET_FD  3
#define DATA_BYTES (6ull << 30)
#define MAX_DEATHS 64 /* in a process's life, all together */
#define LOG_BYTES  1024

/* Between the second process and the third. */
struct state {
	uint32_t number; /* of the request that is being served, or 0 */
	bool ready; /* it has been said that it can serve */
};

static void answer(uint32_t number, const char *why)
{
	struct gp_ptx_reply reply = { .magic = GP_PTX_MAGIC, .number = number };

	g_strlcpy(reply.why, why, sizeof(reply.why));
	gp_message_send(SOCKET_FD, &reply, sizeof(reply), NULL, 0);
}

/* ------------------------------------------------------------------- closed in */

static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(lseek),
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(setitimer),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(sysinfo),
	SCMP_SYS(times),
	SCMP_SYS(getrusage),
	SCMP_SYS(sched_getaffinity),
};

/* Anything else fails: drivers differ in what they try and do without. */
static bool close_in(void)
{
	const struct rlimit data = { DATA_BYTES, DATA_BYTES }, none = { 0, 0 };
	scmp_filter_ctx ctx;
	bool ok;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    setrlimit(RLIMIT_CORE, &none))
		return false;
	if (SANITIZED)
		return true;
	if (setrlimit(RLIMIT_DATA, &data))
		return false;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	ok = ctx && !seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	for (size_t i = 0; ok && i < G_N_ELEMENTS(allowed); i++)
		ok = !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	ok = ok &&
	     !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
			       SCMP_A1_32(SCMP_CMP_EQ, F_ADD_SEALS, 0)) &&
	     !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
			       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) &&
	     !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) &&
	     /* The driver's nodes: those of the cards have a letter, that of memory has bare numbers. */
	     !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, 'F' << 8)) &&
	     !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
			       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffff00, 0)) &&
	     !seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return ok;
}

/* ------------------------------------------------------------------- assembling */

/* The first line of what the assembler has to say. */
static void first_line(const char *log, char *why, size_t size)
{
	size_t length = strcspn(log, "\n");

	snprintf(why, size, "%.*s", (int)MIN(length, size - 1), log);
	for (char *at = why; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

/* Return: whether there is code, in @code until the state is destroyed. */
static bool assemble(const struct gp_cuda *cuda, uint32_t sm, const char *text, size_t size,
		     CUlinkState *state, void **code, size_t *code_size, char why[GP_MESSAGE])
{
	char log[LOG_BYTES] = "", says[160];
	int options[] = { CU_JIT_TARGET, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { (void *)(uintptr_t)sm, log, (void *)(uintptr_t)sizeof(log) };
	CUresult ret = cuda->cuLinkCreate_v2(G_N_ELEMENTS(options), options, values, state);

	if (ret) {
		*state = NULL;
		snprintf(why, GP_MESSAGE, "the assembler: %s", gp_cuda_text(cuda, ret, says));
		return false;
	}
	/* It wants the zero that ends the text counted. */
	ret = cuda->cuLinkAddData_v2(*state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, size + 1, "program",
				     0, NULL, NULL);
	if (!ret)
		ret = cuda->cuLinkComplete(*state, code, code_size);
	if (!ret)
		return true;
	first_line(log[0] ? log : gp_cuda_text(cuda, ret, says), says, sizeof(says));
	snprintf(why, GP_MESSAGE, "the assembler: %s", says);
	return false;
}

static bool seal(int fd, const void *bytes, size_t size)
{
	return gp_write_all(fd, bytes, size) && !fcntl(fd, F_ADD_SEALS, GP_PTX_SEALS);
}

/* What @file holds, with a zero behind it. Return: NULL where that cannot be. */
static char *read_text(int file, uint32_t size)
{
	struct stat st;
	char *text;

	if (file < 0 || !size || size > GP_PTX_MAX_BYTES || fstat(file, &st) || st.st_size != (off_t)size)
		return NULL;
	text = g_try_malloc0(size + 1);
	for (uint32_t at = 0; text && at < size;) {
		ssize_t n = pread(file, text + at, size - at, at);

		if (n <= 0) {
			g_free(text);
			return NULL;
		}
		at += (uint32_t)n;
	}
	return text;
}

static void serve_one(const struct gp_cuda *cuda, const struct gp_ptx_request *request, int file)
{
	struct gp_ptx_reply reply = { .magic = GP_PTX_MAGIC, .number = request->number };
	char *text = request->magic == GP_PTX_MAGIC ? read_text(file, request->size) : NULL;
	CUlinkState state = NULL;
	size_t size = 0;
	void *code;
	int fd = -1;

	if (!text)
		g_strlcpy(reply.why, "the assembler was given no text", sizeof(reply.why));
	else if (assemble(cuda, request->sm, text, request->size, &state, &code, &size, reply.why)) {
		fd = size && size <= GP_PTX_CODE_MAX ? memfd_create("cubin", MFD_CLOEXEC | MFD_ALLOW_SEALING)
						     : -1;
		if (fd >= 0 && seal(fd, code, size))
			reply.size = (uint32_t)size;
		else
			g_strlcpy(reply.why, "the assembler has no memory for code", sizeof(reply.why));
	}
	gp_message_send(SOCKET_FD, &reply, sizeof(reply), &fd, reply.size ? 1 : 0);
	if (fd >= 0)
		close(fd);
	if (state)
		cuda->cuLinkDestroy(state);
	g_free(text);
}

/* ------------------------------------------------------------------- the third process */

/* A context on the card at @bus_id. Return: NULL with @why. */
static const struct gp_cuda *start(const char *bus_id, char why[GP_MESSAGE])
{
	g_autoptr(GError) error = NULL;
	const struct gp_cuda *cuda = gp_cuda_load(&error);
	CUdevice device;
	CUcontext context;
	char id[32], says[160];
	int count = 0, i;
	CUresult ret;

	if (!cuda) {
		g_strlcpy(why, error->message, GP_MESSAGE);
		return NULL;
	}
	ret = cuda->cuDeviceGetCount(&count);
	for (i = 0; !ret && i < count; i++) {
		if (cuda->cuDeviceGet(&device, i) || cuda->cuDeviceGetPCIBusId(id, sizeof(id), device))
			continue;
		if (!g_ascii_strcasecmp(id, bus_id))
			break;
	}
	if (!ret && i == count)
		ret = CUDA_ERROR_INVALID_DEVICE;
	if (!ret)
		ret = cuda->cuCtxCreate_v2(&context, CU_CTX_SCHED_BLOCKING_SYNC, device);
	if (!ret)
		return cuda;
	snprintf(why, GP_MESSAGE, "no context for the assembler: %s", gp_cuda_text(cuda, ret, says));
	return NULL;
}

static const char first[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
			    ".visible .entry " GP_PTX_KERNEL "(.param .u64 arg)\n{\n\tret;\n}\n";

static void G_GNUC_NORETURN serve(const char *bus_id, int seconds, struct state *state)
{
	const struct itimerval limit = { .it_value.tv_sec = seconds }, none = { 0 };
	struct gp_ptx_request request;
	const struct gp_cuda *cuda;
	CUlinkState link = NULL;
	char why[GP_MESSAGE] = "";
	size_t size;
	void *code;
	int file;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	setitimer(ITIMER_REAL, &limit, NULL);
	cuda = start(bus_id, why);
	if (cuda && assemble(cuda, 70, first, sizeof(first) - 1, &link, &code, &size, why))
		cuda->cuLinkDestroy(link);
	else
		cuda = NULL;
	if (cuda && !close_in()) {
		g_strlcpy(why, "the assembler cannot be closed in", sizeof(why));
		cuda = NULL;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	if (!state->ready)
		answer(0, cuda ? "" : why);
	if (!cuda)
		_exit(1);
	state->ready = true;
	while (gp_message_receive(SOCKET_FD, &request, sizeof(request), &file, 1) == sizeof(request)) {
		state->number = request.number;
		setitimer(ITIMER_REAL, &limit, NULL);
		serve_one(cuda, &request, file);
		setitimer(ITIMER_REAL, &none, NULL);
		state->number = 0;
		if (file >= 0)
			close(file);
	}
	_exit(0);
}

/* ------------------------------------------------------------------- the second */

static void G_GNUC_NORETURN keep(const char *bus_id, int seconds)
{
	struct state *state =
		mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;

	signal(SIGINT, SIG_IGN);
	for (int deaths = 0; state != MAP_FAILED && deaths < MAX_DEATHS; deaths++) {
		pid_t pid = fork();
		uint32_t number;

		if (!pid)
			serve(bus_id, seconds, state);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			break;
		if (WIFEXITED(status))
			break;
		number = state->number;
		state->number = 0;
		if (number || !state->ready)
			answer(number, WTERMSIG(status) == SIGALRM ? "the assembler took too long"
								   : "the assembler died of it");
		if (!state->ready)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int seconds = argc > 2 ? atoi(argv[2]) : GP_PTX_SECONDS;
	pid_t pid;

	if (argc < 2 || argc > 3 || seconds <= 0) {
		fprintf(stderr, "usage: gpgpu-ptx BUS-ID [SECONDS], started by what needs it\n");
		return 2;
	}
	close_range(SOCKET_FD + 1, ~0u, 0);
	pid = fork();
	if (!pid)
		keep(argv[1], seconds);
	return pid < 0;
}
