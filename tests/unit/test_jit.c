/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_jit.c - the compiler as a process: limits, deaths, lies in both directions; and what its code looks like
 * where speculation matters.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "asm.h"
#include "jit/jit.h"
#include "jit/message.h"
#include "jit/wire.h"
#include "sanitized.h"
#include "virtio_gpgpu.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const char *compiler(void)
{
	const char *path = getenv("GPGPU_JIT");

	ck_assert_msg(path, "GPGPU_JIT does not name the compiler");
	return path;
}

static struct gp_jit *start_jit(uint32_t cpu_seconds, uint64_t memory)
{
	struct gp_jit_options options = {
		.program = compiler(), .fd = -1, .cpu_seconds = cpu_seconds, .memory = memory
	};
	GError *error = NULL;
	struct gp_jit *jit = gp_jit_new(&options, &error);

	ck_assert_msg(jit, "%s", error ? error->message : "no compiler, no reason");
	return jit;
}

static const struct bpf_insn pass[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 2 },
	{ .code = BPF_JMP | BPF_EXIT },
};
static const struct gp_prog small = { .kind = VIRTIO_GPGPU_PROG_XDP,
				      .num_insns = COUNT(pass),
				      .insns = pass };

/* A program that takes a good part of a second to compile. */
static struct gp_prog large_program(void)
{
	struct bpf_insn *insns = calloc(GP_MAX_INSNS, sizeof(*insns));
	uint32_t n = 0;

	insns[n++] = LDX(W, R6, R1, 0);
	insns[n++] = LDX(W, R7, R1, 4);
	while (n + 8 < GP_MAX_INSNS) {
		insns[n] = MOV64X(R2, R6);
		insns[n + 1] = ALU64K(BPF_ADD, R2, (int)(n % 64) + 1);
		insns[n + 2] = JX(BPF_JGT, R2, R7, 3);
		insns[n + 3] = LDX(B, R3, R2, -1);
		insns[n + 4] = ALU64X(BPF_ADD, R6, R3);
		insns[n + 5] = STX(B, R6, (int)(n % 32), R3);
		n += 6;
	}
	insns[n++] = MOV64K(R0, 2);
	insns[n++] = EXIT;
	return (struct gp_prog){ .kind = VIRTIO_GPGPU_PROG_XDP, .num_insns = n, .insns = insns };
}

static void expect_refused(struct gp_image *image, const struct gp_verdict *verdict, uint32_t status,
			   uint32_t reason)
{
	ck_assert_ptr_null(image);
	ck_assert_msg(verdict->status == status && verdict->reason == reason, "status %u reason %u: %s",
		      verdict->status, verdict->reason, verdict->message);
	ck_assert_uint_gt(strlen(verdict->message), 8);
}

static void expect_compiles(struct gp_jit *jit)
{
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_compile(jit, &small, &verdict);

	ck_assert_msg(image, "%s", verdict.message);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_OK);
	ck_assert_uint_lt(image->entry, image->code_bytes);
	ck_assert_uint_gt(image->cpu_ns, 0);
	ck_assert_ptr_eq(gp_image_ref(image), image);
	gp_image_unref(image);
	gp_image_unref(image);
}

START_TEST(test_compiles)
{
	struct gp_jit *jit = start_jit(0, 0);

	expect_compiles(jit);
	expect_compiles(jit);
	gp_jit_free(jit);
}
END_TEST

/* The compiler validates for itself. */
START_TEST(test_refuses)
{
	struct bpf_insn bad[] = { LDX(W, R0, R1, 24), EXIT };
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP, .num_insns = COUNT(bad), .insns = bad };
	struct gp_jit *jit = start_jit(0, 0);
	struct gp_verdict verdict;

	expect_refused(gp_jit_compile(jit, &prog, &verdict), &verdict, VIRTIO_GPGPU_S_REJECTED,
		       VIRTIO_GPGPU_R_CTX_ACCESS);
	prog.num_insns = 1; /* falls off */
	expect_refused(gp_jit_compile(jit, &prog, &verdict), &verdict, VIRTIO_GPGPU_S_REJECTED,
		       VIRTIO_GPGPU_R_FALL_OFF);
	gp_jit_free(jit);
}
END_TEST

static void *compile_some(void *jit)
{
	for (int i = 0; i < 4; i++)
		expect_compiles(jit);
	return NULL;
}

START_TEST(test_many_at_once)
{
	struct gp_jit *jit = start_jit(0, 0);
	pthread_t threads[6];

	for (size_t i = 0; i < COUNT(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, compile_some, jit), 0);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	gp_jit_free(jit);
}
END_TEST

/* ------------------------------------------------------------------- deaths */

static void kill_and_wait(pid_t pid)
{
	siginfo_t info;

	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

START_TEST(test_killed_between)
{
	struct gp_jit *jit = start_jit(0, 0);
	struct gp_verdict verdict;
	int first = gp_jit_pid(jit);

	expect_compiles(jit);
	kill_and_wait(first);
	expect_compiles(jit);  /* a new one */
	ck_assert_int_ne(gp_jit_pid(jit), first);
	gp_jit_no_respawn(jit);
	kill_and_wait(gp_jit_pid(jit));
	expect_refused(gp_jit_compile(jit, &small, &verdict), &verdict, VIRTIO_GPGPU_S_REJECTED,
		       VIRTIO_GPGPU_R_COMPILER);
	gp_jit_free(jit);
}
END_TEST

struct compile {
	struct gp_jit *jit;
	struct gp_prog prog;
	struct gp_verdict verdict;
	struct gp_image *image;
};

static void *compile_one(void *opaque)
{
	struct compile *c = opaque;

	c->image = gp_jit_compile(c->jit, &c->prog, &c->verdict);
	return NULL;
}

/* The process that compiles now. */
static pid_t wait_for_child(pid_t zygote)
{
	char path[64];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", zygote, zygote);
	for (int i = 0; i < 5000 && !pid; i++) {
		FILE *f = fopen(path, "r");

		if (f && fscanf(f, "%d", &pid) != 1)
			pid = 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

/* A number in /proc/PID/status. */
static int status_number(pid_t pid, const char *name)
{
	char path[64], line[256];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = atoi(line + strlen(name) + 1);
	if (f)
		fclose(f);
	return value;
}

static const struct death {
	bool zygote;
	int sig;
	uint32_t status, reason;
} deaths[] = {
	{ true, SIGKILL, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_COMPILER },
	{ false, SIGXCPU, VIRTIO_GPGPU_S_LIMIT, VIRTIO_GPGPU_R_COMPILE_LIMIT },
	{ false, SIGALRM, VIRTIO_GPGPU_S_LIMIT, VIRTIO_GPGPU_R_COMPILE_LIMIT },
	{ false, SIGSEGV, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_COMPILER },
	{ false, SIGABRT, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_COMPILER },
	{ false, SIGSYS, VIRTIO_GPGPU_S_REJECTED, VIRTIO_GPGPU_R_COMPILER },
};

/* In the middle of a compile, by every way that a compile can end; the next one works. */
START_TEST(test_killed_within)
{
	const struct death *death = &deaths[_i];
	struct compile c = { .jit = start_jit(60, 0), .prog = large_program() };
	pthread_t thread;
	pid_t child;

	ck_assert_int_eq(pthread_create(&thread, NULL, compile_one, &c), 0);
	child = wait_for_child(gp_jit_pid(c.jit));
	/* Past reading the program, that is in its sandbox. */
	for (int i = 0; i < 5000 && status_number(child, "Seccomp") != 2; i++)
		usleep(1000);
	ck_assert_int_eq(status_number(child, "Seccomp"), 2);
	ck_assert_int_eq(status_number(child, "NoNewPrivs"), 1);
	ck_assert_int_eq(kill(death->zygote ? gp_jit_pid(c.jit) : child, death->sig), 0);
	pthread_join(thread, NULL);
	expect_refused(c.image, &c.verdict, death->status, death->reason);
	expect_compiles(c.jit);
	gp_jit_free(c.jit);
	free((void *)c.prog.insns);
}
END_TEST

START_TEST(test_memory_limit)
{
	struct gp_prog prog = large_program();
	struct gp_jit *jit = start_jit(60, 4 << 20);
	struct gp_verdict verdict;

	expect_refused(gp_jit_compile(jit, &prog, &verdict), &verdict, VIRTIO_GPGPU_S_LIMIT,
		       VIRTIO_GPGPU_R_COMPILE_LIMIT);
	gp_jit_free(jit);
	free((void *)prog.insns);
}
END_TEST

/* ---------------------------------------------------- requests that are wrong */

static pid_t spawn(const char *option, const char *value, int socket)
{
	pid_t pid = fork();

	if (!pid) {
		if (socket >= 0)
			dup2(socket, 3);
		if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(99);
		execl(compiler(), "gpgpu-jit", option, value, NULL);
		_exit(98);
	}
	return pid;
}

static int exit_status(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(test_usage)
{
	ck_assert_int_eq(exit_status(spawn("--nonsense", "1", -1)), 1);
	ck_assert_int_eq(exit_status(spawn("--fd", "x", -1)), 1);
	ck_assert_int_eq(exit_status(spawn("--fd", "99", -1)), 1);
	ck_assert_int_eq(exit_status(spawn("--listen", "/nonexistent/socket", -1)), 1);
	ck_assert_int_eq(exit_status(spawn("--help", NULL, -1)), 0);
}
END_TEST

static const struct gp_jit_request fine = { .magic = GP_JIT_MAGIC,
					    .version = GP_JIT_VERSION,
					    .cpu_seconds = 2,
					    .memory = 1 << 30 };

/* What is no request ends the compiler: its engine is not what it was built with. */
START_TEST(test_bad_request)
{
	struct gp_jit_request request = fine;
	int pair[2], files[2], fds[2], zygote;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files), 0);
	zygote = spawn("--fd", "3", pair[1]);
	close(pair[1]);
	fds[0] = gp_memory_file("test", false);
	fds[1] = files[1];
	switch (_i) {
	case 0:
		request.magic++;
		break;
	case 1:
		request.version++;
		break;
	case 2:
		request.cpu_seconds = 0;
		break;
	case 3:
		request.memory = UINT64_MAX;
		break;
	}
	if (_i == 4)
		ck_assert_int_gt(gp_message_send(pair[0], &request, sizeof(request), fds, 1), 0);
	else if (_i == 5)
		ck_assert_int_gt(gp_message_send(pair[0], &request, 3, fds, 2), 0);
	else
		ck_assert_int_gt(gp_message_send(pair[0], &request, sizeof(request), fds, 2), 0);
	ck_assert_int_eq(exit_status(zygote), 0);
	close(fds[0]);
	close(files[0]);
	close(files[1]);
	close(pair[0]);
}
END_TEST

/* A program that is not what the request says costs that request only. */
START_TEST(test_bad_program)
{
	static const struct gp_jit_prog heads[] = {
		{ .num_insns = 2 },
		{ .num_insns = UINT32_MAX },
		{ .num_insns = 1, .num_maps = UINT32_MAX },
	};
	struct gp_jit_request request = fine;
	struct gp_jit_reply reply;
	int pair[2], answer[2], fds[2], none;
	pid_t zygote;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	zygote = spawn("--fd", "3", pair[1]);
	close(pair[1]);
	for (size_t i = 0; i < COUNT(heads) + 2; i++) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, answer), 0);
		fds[0] = gp_memory_file("test", false);
		fds[1] = answer[1];
		request.size = sizeof(heads[0]) + 8;
		if (i < COUNT(heads)) {
			ck_assert(gp_write_all(fds[0], &heads[i], sizeof(heads[i])));
			ck_assert(gp_write_all(fds[0], pass, 8));
		} else if (i == COUNT(heads)) {
			request.size = UINT64_MAX;
		} /* else: an empty file */
		ck_assert_int_gt(gp_message_send(pair[0], &request, sizeof(request), fds, 2), 0);
		close(fds[0]);
		close(fds[1]);
		ck_assert_int_eq(gp_message_receive(answer[0], &reply, sizeof(reply), &none, 1),
				 sizeof(reply));
		ck_assert_int_eq(none, -1);
		ck_assert_uint_eq(reply.verdict.reason, VIRTIO_GPGPU_R_COMPILER);
		close(answer[0]);
	}
	close(pair[0]); /* its engine is gone */
	ck_assert_int_eq(exit_status(zygote), 0);
}
END_TEST

START_TEST(test_listen)
{
	struct gp_jit_options options = { .fd = -1 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/gpgpu-test-XXXXXX";
	struct gp_jit *jits[2];
	pid_t zygote;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/jit", dir);
	zygote = spawn("--listen", addr.sun_path, -1);
	for (size_t i = 0; i < COUNT(jits); i++) {
		options.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		for (int t = 0; t < 5000 && connect(options.fd, (struct sockaddr *)&addr, sizeof(addr)); t++)
			usleep(1000);
		jits[i] = gp_jit_new(&options, NULL);
		ck_assert_ptr_nonnull(jits[i]);
		ck_assert_int_eq(gp_jit_pid(jits[i]), -1);
	}
	expect_compiles(jits[0]);
	expect_compiles(jits[1]);
	gp_jit_free(jits[0]);
	expect_compiles(jits[1]); /* one engine less is nothing to the others */
	ck_assert_int_eq(kill(zygote, SIGTERM), 0);
	ck_assert_int_eq(exit_status(zygote), 0);
	ck_assert_int_eq(access(addr.sun_path, F_OK), -1);
	ck_assert_int_eq(rmdir(dir), 0);
	gp_jit_free(jits[1]);
}
END_TEST

/* One that wants its answer where there is no room: the others' compiler does not wait for that. */
START_TEST(test_listen_full)
{
	struct gp_jit_options options = { .fd = -1 };
	struct gp_jit_request request = {
		.magic = GP_JIT_MAGIC, .version = GP_JIT_VERSION, .cpu_seconds = 1, .memory = 1 << 30
	};
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/gpgpu-test-XXXXXX";
	int ends[2], fds[2], others[2];
	struct gp_jit *jit;
	pid_t zygote;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/jit", dir);
	zygote = spawn("--listen", addr.sun_path, -1);
	for (int i = 0; i < 2; i++) {
		others[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		for (int t = 0; t < 5000 && connect(others[i], (struct sockaddr *)&addr, sizeof(addr)); t++)
			usleep(1000);
	}
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	while (send(ends[0], &request, sizeof(request), MSG_DONTWAIT) > 0)
		;
	/* No program at all, so that the zygote has to answer. */
	fds[0] = gp_memory_file("nothing", false);
	fds[1] = ends[0];
	ck_assert_int_eq(gp_message_send(others[0], &request, sizeof(request), fds, 2), sizeof(request));
	usleep(100000);
	options.fd = others[1];
	jit = gp_jit_new(&options, NULL);
	ck_assert_ptr_nonnull(jit);
	expect_compiles(jit);
	gp_jit_free(jit);
	ck_assert_int_eq(kill(zygote, SIGTERM), 0);
	ck_assert_int_eq(exit_status(zygote), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	close(others[0]);
	close(fds[0]);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* ----------------------------------------------------- answers that are wrong */

enum lie { MAGIC, SHORT, STATUS, NO_IMAGE, NOT_SEALED, HALF_SEALED, ENTRY, SIZE, EMPTY, HANGS_UP, NUM_LIES };

static void *liar(void *opaque)
{
	int fd = *(int *)opaque, fds[2], image = -1;
	int lie = ((int *)opaque)[1];
	struct gp_jit_request request;
	struct gp_jit_reply reply = { .magic = GP_JIT_MAGIC, .code_bytes = 4096, .entry = 16 };
	size_t size = sizeof(reply);
	uint8_t code[4096] = { 0xc3 };

	gp_message_receive(fd, &request, sizeof(request), fds, 2);
	image = gp_memory_file("image", true);
	gp_write_all(image, code, sizeof(code));
	/* clang-format off */
	switch (lie) {
	case MAGIC: reply.magic = 1; break;
	case SHORT: size -= 8; break;
	case STATUS: reply.verdict.status = 77; break;
	case ENTRY: reply.entry = 4096; break;
	case SIZE: reply.code_bytes = 8192; break;
	case EMPTY: reply.code_bytes = 0; break;
	}
	/* clang-format on */
	if (lie == HALF_SEALED)
		fcntl(image, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	else if (lie != NOT_SEALED)
		fcntl(image, F_ADD_SEALS, GP_JIT_SEALS);
	if (lie != HANGS_UP)
		gp_message_send(fds[1], &reply, size, &image, lie != NO_IMAGE);
	close(image);
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

START_TEST(test_bad_answer)
{
	struct gp_jit_options options = { .fd = -1 };
	struct gp_verdict verdict;
	struct gp_jit *jit;
	int pair[2], args[2];
	pthread_t thread;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	options.fd = pair[0];
	jit = gp_jit_new(&options, NULL);
	args[0] = pair[1];
	args[1] = _i;
	ck_assert_int_eq(pthread_create(&thread, NULL, liar, args), 0);
	expect_refused(gp_jit_compile(jit, &small, &verdict), &verdict, VIRTIO_GPGPU_S_REJECTED,
		       VIRTIO_GPGPU_R_COMPILER);
	pthread_join(thread, NULL);
	close(pair[1]);
	expect_refused(gp_jit_compile(jit, &small, &verdict), &verdict, VIRTIO_GPGPU_S_REJECTED,
		       VIRTIO_GPGPU_R_COMPILER);
	gp_jit_free(jit);
}
END_TEST

/* -------------------------------------------------------------- speculation */

/*
 * Masks in machine code: lea 0x8000(o), s; cmp len, s; sbb s, s; and o, s. The compiler proper cannot see
 * through them; this looks whether they are there.
 */
static unsigned int count_masks(const struct gp_image *image)
{
	const uint8_t *code = image->code;
	unsigned int masks = 0;

	for (uint32_t i = 0; i + 32 < image->code_bytes; i++) {
		const uint8_t *p = code + i;
		uint32_t disp, at;

		if ((p[0] & 0xf8) != 0x48 || p[1] != 0x8d || (p[2] & 0xc0) != 0x80)
			continue;
		at = (p[2] & 7) == 4 ? 4 : 3; /* a base of r12 needs one more byte */
		memcpy(&disp, p + at, 4);
		if (disp != 0x8000)
			continue;
		for (at += 4; at < 16; at++)
			if ((p[at] & 0xf8) == 0x48 && p[at + 1] == 0x19 && p[at + 2] >= 0xc0 &&
			    (p[at + 2] >> 3 & 7) == (p[at + 2] & 7) && (p[at + 3] & 0xf8) == 0x48 &&
			    p[at + 4] == 0x21 && p[at + 5] >= 0xc0)
				break;
		masks += at < 16;
	}
	return masks;
}

/* How often some bytes occur. */
static unsigned int count_bytes(const struct gp_image *image, const char *bytes, uint32_t size)
{
	const uint8_t *code = image->code;
	unsigned int count = 0;

	for (uint32_t i = 0; i + size <= image->code_bytes; i++)
		count += !memcmp(code + i, bytes, size);
	return count;
}

/* Sign masks: sar $63, r. */
static unsigned int count_signs(const struct gp_image *image)
{
	const uint8_t *code = image->code;
	unsigned int count = 0;

	for (uint32_t i = 0; i + 4 <= image->code_bytes; i++)
		count += (code[i] & 0xfe) == 0x48 && code[i + 1] == 0xc1 && code[i + 2] >= 0xf8 &&
			 code[i + 3] == 63;
	return count;
}

static struct gp_image *image_of(struct gp_prog *prog)
{
	struct gp_jit *jit = start_jit(0, 0);
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_compile(jit, prog, &verdict);

	ck_assert_msg(image, "%s", verdict.message);
	gp_jit_free(jit);
	return image;
}

static unsigned int masks_of(struct gp_prog *prog)
{
	struct gp_image *image = image_of(prog);
	unsigned int masks = count_masks(image);

	gp_image_unref(image);
	return masks;
}

START_TEST(test_speculation)
{
	/* clang-format off */
	/* r6 data, r7 data_end, r8 the first bytes: a length that the packet chooses */
#define HEADER MOV64K(R0, 1), LDX(W, R6, R1, 0), LDX(W, R7, R1, 4), MOV64X(R2, R6), ALU64K(BPF_ADD, R2, 64)
	struct bpf_insn constant[] = { HEADER, JX(BPF_JGT, R2, R7, 2), LDX(B, R0, R6, 0), LDX(B, R0, R6, 63), EXIT };
	struct bpf_insn checked[] = { HEADER, JX(BPF_JGT, R2, R7, 5), LDX(W, R8, R6, 0), ALU64X(BPF_ADD, R6, R8),
				      ALU64K(BPF_ADD, R6, 8), JX(BPF_JGT, R6, R7, 1), LDX(B, R0, R6, -8), EXIT };
	/* a length that is short whatever it is */
	struct bpf_insn narrow[] = { HEADER, JX(BPF_JGT, R2, R7, 6), LDX(B, R8, R6, 0), ALU64K(BPF_LSH, R8, 2),
				     ALU64X(BPF_ADD, R6, R8), ALU64K(BPF_ADD, R6, 8), JX(BPF_JGT, R6, R7, 1),
				     LDX(B, R0, R6, -8), EXIT };
	/* one that is short because a branch says so, and one that grows in a loop, however few bits of it are used */
	struct bpf_insn branch[] = { HEADER, JX(BPF_JGT, R2, R7, 6), LDX(W, R8, R6, 0), JK(BPF_JGT, R8, 60, 4),
				     ALU64X(BPF_ADD, R6, R8), ALU64K(BPF_ADD, R6, 8), JX(BPF_JGT, R6, R7, 1),
				     LDX(B, R0, R6, -8), EXIT };
	struct bpf_insn loop[] = { HEADER, JX(BPF_JGT, R2, R7, 13), LDX(W, R8, R6, 0), MOV64K(R9, 0), MOV64X(R3, R9),
				   ALU64K(BPF_AND, R3, 63), MOV64X(R2, R6), ALU64X(BPF_ADD, R2, R3), MOV64X(R3, R2),
				   ALU64K(BPF_ADD, R3, 1), JX(BPF_JGT, R3, R7, 4), LDX(B, R2, R2, 0),
				   ALU64X(BPF_ADD, R0, R2), ALU64X(BPF_ADD, R9, R2), JX(BPF_JLT, R9, R8, -11), EXIT };
	struct bpf_insn thrice[] = { HEADER, JX(BPF_JGT, R2, R7, 9), LDX(W, R8, R6, 0), ALU64X(BPF_ADD, R6, R8),
				     MOV64X(R2, R6), ALU64K(BPF_ADD, R2, 8), JX(BPF_JGT, R2, R7, 4),
				     LDX(B, R0, R6, 0), LDX(B, R3, R6, 4), ALU64X(BPF_ADD, R0, R3),
				     STX(B, R6, 2, R0), EXIT };
	struct bpf_insn array[] = { HEADER, JX(BPF_JGT, R2, R7, 9), LDX(W, R8, R6, 0), STX(W, R10, -4, R8),
				    MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), LDMAP(R1, 0),
				    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT };
	struct bpf_insn element[] = { ST(W, R10, -4, 3), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), LDMAP(R1, 0),
				      CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT };
	struct bpf_insn kernel[] = { LDX(DW, R6, R1, 0), LDX(DW, R7, R1, 8), ALU64X(BPF_ADD, R6, R7),
				     LDX(B, R0, R6, 0), STX(B, R6, 0, R0), EXIT };
	/* clang-format on */
	struct gp_map_desc map = { .type = VIRTIO_GPGPU_MAP_ARRAY,
				   .key_size = 4,
				   .value_size = 8,
				   .max_entries = 16,
				   .stride = 8,
				   .num_cpus = 1,
				   .values_size = 128 };
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP, .num_maps = 1, .maps = &map };

#define MASKS(program) (prog.insns = program, prog.num_insns = COUNT(program), masks_of(&prog))
	for (int quick = 0; quick < 2; quick++) {
		prog.kind = VIRTIO_GPGPU_PROG_XDP;
		prog.flags = quick ? GP_PROG_QUICK : 0;
		prog.num_args = 0;
		ck_assert_uint_eq(MASKS(constant), 0); /* a trusted base and constants */
		ck_assert_uint_eq(MASKS(checked),
				  1); /* although the program's own check makes it redundant */
		ck_assert_uint_eq(MASKS(branch), 1);
		ck_assert_uint_ge(MASKS(loop), 1);
		ck_assert_uint_eq(MASKS(array), 1);
		if (quick) {
			ck_assert_uint_ge(MASKS(thrice), 1);
		} else {
			ck_assert_uint_eq(MASKS(thrice), 1); /* once per pointer, not per access */
			ck_assert_uint_eq(MASKS(narrow), 0);
			ck_assert_uint_eq(MASKS(element), 0); /* a constant of the map */
		}
		prog.kind = VIRTIO_GPGPU_PROG_GPGPU;
		prog.num_args = 2;
		prog.arg_kind[0] = VIRTIO_GPGPU_ARG_BUFFER;
		prog.arg_kind[1] = VIRTIO_GPGPU_ARG_VALUE;
		ck_assert_uint_ge(MASKS(kernel), 1);
		if (!quick) /* for neighbours in a row, and for an item by itself */
			ck_assert_uint_eq(MASKS(kernel), 2);
	}
}
END_TEST

/* What helpers do to a packet is masked; a size that is not constant waits. */
START_TEST(test_speculation_bytes)
{
	/* clang-format off */
	struct bpf_insn none[] = { HEADER, JX(BPF_JGT, R2, R7, 1), LDX(B, R0, R6, 0), EXIT };
#define BYTES(helper, ...) { HEADER, ST(DW, R10, -8, 0), JX(BPF_JGT, R2, R7, L(0)), LDX(B, R2, R6, 0), \
			     LDX(B, R4, R6, 1), __VA_ARGS__, MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), CALL(helper), \
			     LDX(B, R0, R10, -8), LABEL(0), EXIT }
	struct bpf_insn load[] = BYTES(BPF_FUNC_xdp_load_bytes, MOV64K(R4, 8));
	struct bpf_insn store[] = BYTES(BPF_FUNC_xdp_store_bytes, MOV64K(R4, 8));
	/* Where the packet begins and ends is what other accesses rest on. */
#define ADJUST(helper) { HEADER, MOV64X(R9, R1), JX(BPF_JGT, R2, R7, L(0)), LDX(W, R2, R6, 0), MOV64X(R1, R9), \
			 CALL(helper), LABEL(0), EXIT }
	struct bpf_insn head[] = ADJUST(BPF_FUNC_xdp_adjust_head);
	struct bpf_insn tail[] = ADJUST(BPF_FUNC_xdp_adjust_tail);
	struct bpf_insn meta[] = ADJUST(BPF_FUNC_xdp_adjust_meta);
	struct bpf_insn load_any[] = BYTES(BPF_FUNC_xdp_load_bytes, MOV64X(R5, R4));
	struct bpf_insn store_any[] = BYTES(BPF_FUNC_xdp_store_bytes, MOV64X(R5, R4));
	/* clang-format on */
	static const char lfence[] = "\x0f\xae\xe8";
	const struct {
		const struct bpf_insn *insns;
		uint32_t num;
		unsigned int signs, waits;
	} rows[] = {
		{ none, COUNT(none), 0, 0 },	       { load, COUNT(load), 1, 0 },
		{ store, COUNT(store), 1, 0 },	       { load_any, COUNT(load_any), 1, 1 },
		{ store_any, COUNT(store_any), 1, 1 }, { head, COUNT(head), 2, 0 },
		{ tail, COUNT(tail), 2, 0 },	       { meta, COUNT(meta), 2, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bpf_insn insns[64];
		struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP, .insns = insns };
		struct gp_image *image;

		prog.num_insns = asm_resolve(rows[i].insns, rows[i].num, insns, COUNT(insns), NULL, 0);
		image = image_of(&prog);
		ck_assert_msg(count_signs(image) == rows[i].signs, "%zu: %u sign masks", i,
			      count_signs(image));
		ck_assert_msg(count_bytes(image, lfence, 3) == rows[i].waits, "%zu: %u waits", i,
			      count_bytes(image, lfence, 3));
		gp_image_unref(image);
	}
}
END_TEST

/* Where a helper itself reads an array at an index that the packet chooses, it is masked; a constant needs none. */
START_TEST(test_speculation_index)
{
	/* clang-format off */
#define INDEX(...) { MOV64X(R9, R1), MOV64K(R0, 1), LDX(W, R6, R1, 0), LDX(W, R7, R1, 4), MOV64X(R2, R6), \
		     ALU64K(BPF_ADD, R2, 64), JX(BPF_JGT, R2, R7, L(0)), LDX(W, R8, R6, 0), __VA_ARGS__, LABEL(0), EXIT }
#define REDIRECT LDMAP(R1, 0), MOV64K(R3, 0), CALL(BPF_FUNC_redirect_map)
#define TAIL_CALL LDMAP(R2, 1), MOV64X(R1, R9), CALL(BPF_FUNC_tail_call)
	struct bpf_insn redirect[] = INDEX(MOV64X(R2, R8), REDIRECT);
	struct bpf_insn redirect_one[] = INDEX(MOV64K(R2, 1), REDIRECT);
	struct bpf_insn tail[] = INDEX(MOV64X(R3, R8), TAIL_CALL);
	struct bpf_insn element[] = INDEX(STX(W, R10, -4, R8), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), LDMAP(R1, 2),
					  CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), MOV64K(R0, 2));
	/* clang-format on */
	const struct gp_map_desc maps[] = {
		{ .type = VIRTIO_GPGPU_MAP_DEVMAP,
		  .key_size = 4,
		  .value_size = 4,
		  .max_entries = 16,
		  .stride = 8,
		  .num_cpus = 1,
		  .values_size = 128 },
		{ .type = VIRTIO_GPGPU_MAP_PROG_ARRAY,
		  .key_size = 4,
		  .value_size = 4,
		  .max_entries = 16,
		  .stride = 8,
		  .num_cpus = 1 },
		{ .type = VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS,
		  .key_size = 4,
		  .value_size = 4,
		  .max_entries = 16,
		  .stride = 8,
		  .num_cpus = 1,
		  .inner = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			     .key_size = 4,
			     .value_size = 8,
			     .max_entries = 1 } },
	};
	const struct {
		const struct bpf_insn *insns;
		uint32_t num;
		unsigned int signs;
	} rows[] = {
		{ redirect, COUNT(redirect), 1 },
		{ redirect_one, COUNT(redirect_one), 0 },
		{ tail, COUNT(tail), 1 },
		{ element, COUNT(element), 1 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct bpf_insn insns[64];
		struct gp_prog prog = {
			.kind = VIRTIO_GPGPU_PROG_XDP, .insns = insns, .maps = maps, .num_maps = COUNT(maps)
		};
		struct gp_image *image;

		prog.num_insns = asm_resolve(rows[i].insns, rows[i].num, insns, COUNT(insns), NULL, 0);
		image = image_of(&prog);
		ck_assert_msg(count_signs(image) == rows[i].signs, "%zu: %u sign masks", i,
			      count_signs(image));
		gp_image_unref(image);
	}
}
END_TEST

/* A message that is longer than what is wanted is none, and what came with it is closed. */
START_TEST(test_long_message)
{
	int pair[2], sent = open("/dev/null", O_RDONLY | O_CLOEXEC), got = sent;
	char bytes[8] = { 0 };

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gp_message_send(pair[0], bytes, 8, &sent, 1), 8);
	ck_assert_int_eq(gp_message_receive(pair[1], bytes, 4, &got, 1), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(got, -1);
	ck_assert_int_eq(gp_message_send(pair[0], bytes, 8, &sent, 1), 8);
	ck_assert_int_eq(gp_message_receive(pair[1], bytes, 8, &got, 1), 8);
	ck_assert_int_ge(got, 0);
	close(got);
	close(sent);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jit");
	TCase *tcase = tcase_create("process");
	SRunner *runner;
	int failed;

	signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_long_message);
	tcase_add_test(tcase, test_compiles);
	tcase_add_test(tcase, test_refuses);
	tcase_add_test(tcase, test_many_at_once);
	tcase_add_test(tcase, test_killed_between);
	tcase_add_loop_test(tcase, test_killed_within, 0, COUNT(deaths));
	if (!SANITIZED) /* there is no limit on address space then */
		tcase_add_test(tcase, test_memory_limit);
	tcase_add_test(tcase, test_usage);
	tcase_add_loop_test(tcase, test_bad_request, 0, 6);
	tcase_add_test(tcase, test_bad_program);
	tcase_add_test(tcase, test_listen);
	tcase_add_test(tcase, test_listen_full);
	tcase_add_loop_test(tcase, test_bad_answer, 0, NUM_LIES);
	tcase_add_test(tcase, test_speculation);
	tcase_add_test(tcase, test_speculation_bytes);
	tcase_add_test(tcase, test_speculation_index);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
