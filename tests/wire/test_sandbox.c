/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sandbox.c - which system calls the worker can make once it serves a guest, each tried in a process of its own.
 *
 * A build with a sanitizer has no list, and nothing to be tested here.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sanitized.h"
#include "worker/worker.h"

/* Left out of `call`'s arguments: this process, filled in by the child. */
#define SELF (-1000)

/* As <drm/drm.h> and <linux/udmabuf.h> have them. */
#define DRM_IOWR(n, size)   (3l << 30 | (size) << 16 | 'd' << 8 | (n))
#define DRM_IOCTL_VERSION   DRM_IOWR(0, 64)
#define UDMABUF_CREATE	    (1l << 30 | 24 << 16 | 'u' << 8 | 0x42)
#define UDMABUF_CREATE_LIST (1l << 30 | 8 << 16 | 'u' << 8 | 0x43)

/* Of NVIDIA's nodes: one with a letter, and one of those of memory, which are bare numbers. */
#define NVIDIA_IOCTL	 (3l << 30 | 32 << 16 | 'F' << 8 | 0x2a)
#define NVIDIA_UVM_IOCTL 0x21l

static int pair_fds[2];

struct call {
	const char *name;
	long number;
	long args[6];
	bool killed; /* by the filter; otherwise it gets an answer, good or bad */
};

static const struct call calls[] = {
	{ "getfl", SYS_fcntl, { 0, F_GETFL }, false },
	{ "setfl", SYS_fcntl, { 0, F_SETFL, O_NONBLOCK }, false },
	{ "setfl async", SYS_fcntl, { 0, F_SETFL, O_ASYNC | O_NONBLOCK }, true },
	{ "getfd", SYS_fcntl, { 0, F_GETFD }, false },
	{ "setfd", SYS_fcntl, { 0, F_SETFD, FD_CLOEXEC }, false },
	{ "get seals", SYS_fcntl, { 0, F_GET_SEALS }, false },
	{ "add seals", SYS_fcntl, { 0, F_ADD_SEALS, F_SEAL_SEAL }, false },
	{ "dupfd cloexec", SYS_fcntl, { 0, F_DUPFD_CLOEXEC, 0 }, false },
	{ "setown", SYS_fcntl, { 0, F_SETOWN, SELF }, true },
	{ "setsig", SYS_fcntl, { 0, F_SETSIG, SIGKILL }, true },
	{ "setlease", SYS_fcntl, { 0, F_SETLEASE, F_RDLCK }, true },
	{ "dupfd", SYS_fcntl, { 0, F_DUPFD, 0 }, true },
	{ "tgkill itself", SYS_tgkill, { SELF, SELF, 0 }, false },
	{ "tgkill init", SYS_tgkill, { 1, 1, 0 }, true },
	{ "kill", SYS_kill, { SELF, 0 }, true },
	{ "socketpair", SYS_socketpair, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, (long)pair_fds }, false },
	{ "socketpair of datagrams",
	  SYS_socketpair,
	  { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, (long)pair_fds },
	  true },
	{ "socketpair that is inherited",
	  SYS_socketpair,
	  { AF_UNIX, SOCK_SEQPACKET, 0, (long)pair_fds },
	  true },
	{ "socketpair of TIPC",
	  SYS_socketpair,
	  { AF_TIPC, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, (long)pair_fds },
	  true },
	{ "socket", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, true },
	{ "memory", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, false },
	{ "writable code", SYS_mmap, { 0, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE, 0 }, true },
	{ "anonymous code", SYS_mmap, { 0, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 }, true },
	{ "code by mprotect", SYS_mprotect, { 0, 0, PROT_EXEC }, true },
	{ "fork", SYS_clone, { SIGCHLD, 0, 0, 0, 0 }, true },
	{ "execve", SYS_execve, { 0, 0, 0 }, true },
	{ "open", SYS_openat, { AT_FDCWD, 0, O_RDONLY }, false },
	{ "ptrace", SYS_ptrace, { 0, 0, 0, 0 }, true },
	{ "DRM's ioctl without a GPU", SYS_ioctl, { 0, DRM_IOCTL_VERSION, 0 }, true },
};

/* With a GPU as the device. */
static const struct call gpu_calls[] = {
	{ "DRM's ioctl", SYS_ioctl, { 0, DRM_IOCTL_VERSION, 0 }, false },
	{ "DRM's driver's ioctl", SYS_ioctl, { 0, (long)DRM_IOWR(0x44, 8), 0 }, false },
	{ "a dma-buf of a memory file", SYS_ioctl, { 0, UDMABUF_CREATE, 0 }, false },
	{ "several of them", SYS_ioctl, { 0, UDMABUF_CREATE_LIST, 0 }, true },
	{ "a terminal's ioctl", SYS_ioctl, { 0, TIOCSTI, 0 }, true },
	{ "a socket's ioctl", SYS_ioctl, { 0, SIOCGIFCONF, 0 }, true },
	{ "code of a GPU's memory", SYS_mmap, { 0, 4096, PROT_WRITE | PROT_EXEC, MAP_SHARED, 0 }, true },
	{ "open with a GPU", SYS_openat, { AT_FDCWD, 0, O_RDONLY }, false },
	{ "fork with a GPU", SYS_clone, { SIGCHLD, 0, 0, 0, 0 }, true },
};

static const struct call cuda_calls[] = {
	{ "a card's ioctl", SYS_ioctl, { 0, NVIDIA_IOCTL, 0 }, false },
	{ "its memory's ioctl", SYS_ioctl, { 0, NVIDIA_UVM_IOCTL, 0 }, false },
	{ "DRM's ioctl with cuda", SYS_ioctl, { 0, DRM_IOCTL_VERSION, 0 }, true },
	{ "a terminal's ioctl with cuda", SYS_ioctl, { 0, TIOCSTI, 0 }, true },
	{ "a node that is missing", SYS_openat, { AT_FDCWD, 0, O_RDWR }, false },
	{ "a socket with cuda", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, false },
	{ "connect with cuda", SYS_connect, { 0, 0, 0 }, true },
	{ "code with cuda", SYS_mmap, { 0, 4096, PROT_WRITE | PROT_EXEC, MAP_SHARED, 0 }, true },
	{ "fork with cuda", SYS_clone, { SIGCHLD, 0, 0, 0, 0 }, true },
	{ "execve with cuda", SYS_execve, { 0, 0, 0 }, true },
};

static void child(const long *args, long number, const char *device)
{
	long a[6];

	for (int i = 0; i < 6; i++)
		a[i] = args[i] == SELF ? getpid() : args[i];
	if (!sandbox_enter(0, device, NULL))
		_exit(2);
	syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	_exit(0);
}

static void try(const struct call *call, const char *device)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		child(call->args, call->number, device);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (call->killed)
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s is allowed", call->name);
	else
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %#x", call->name,
			      (unsigned int)status);
}

START_TEST(system_call)
{
	try(&calls[_i], _i % 2 ? "cpu" : NULL);
}
END_TEST

START_TEST(system_call_with_gpu)
{
	try(&gpu_calls[_i], _i % 2 ? "amdgpu" : "amdgpu:/dev/dri/renderD128");
}
END_TEST

START_TEST(system_call_with_cuda)
{
	try(&cuda_calls[_i], _i % 2 ? "cuda" : "cuda:1");
}
END_TEST

int main(void)
{
	SRunner *runner;
	Suite *suite;
	TCase *tc;
	int failed;

	if (SANITIZED)
		return 77; /* skipped */
	suite = suite_create("sandbox");
	tc = tcase_create("sandbox");
	tcase_add_loop_test(tc, system_call, 0, sizeof(calls) / sizeof(calls[0]));
	tcase_add_loop_test(tc, system_call_with_gpu, 0, sizeof(gpu_calls) / sizeof(gpu_calls[0]));
	tcase_add_loop_test(tc, system_call_with_cuda, 0, sizeof(cuda_calls) / sizeof(cuda_calls[0]));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
