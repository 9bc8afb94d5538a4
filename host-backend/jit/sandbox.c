/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox.c - limits and system call filter of a compiling child.
 *
 * The filter is made once, since that takes longer than a small compile, and installed as plain BPF after the
 * fork. It allows computing, anonymous memory that is not executable, writing to the one memory file that was made
 * before, which has a limit, and messages. Nothing here makes a descriptor, so that what the child may write
 * stays bounded. Anything else kills the process: there is nothing in a compile that could sensibly go on. The list
 * is what LLVM and the C library were seen to call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include "jit/sandbox.h"
#include "jit/wire.h"
#include "sanitized.h"

static struct sock_fprog program;

static const int allowed[] = {
	/* memory; mmap and mprotect below */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(brk),
	SCMP_SYS(madvise),
	/* the program in, the image and the answer out */
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write), /* fcntl below */
	SCMP_SYS(sendmsg),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	/* the C library and LLVM's timers and hash seeds */
	SCMP_SYS(futex),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrandom),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sysinfo),
	SCMP_SYS(sched_getaffinity),
	/* the end, in its various forms */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(restart_syscall),
};

/* What the C library and LLVM try on the way to an error and do without: fail it, so that the error arrives. */
static const int refused[] = {
	SCMP_SYS(openat),   SCMP_SYS(prctl),  SCMP_SYS(getpeername), SCMP_SYS(ioctl),
	SCMP_SYS(readlink), SCMP_SYS(tgkill), /* of abort(), which then traps: no signals to others */
};

static bool add_rules(scmp_filter_ctx ctx)
{
	static const int memory[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0))
			return false;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0))
			return false;
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, memory[i], 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)))
			return false;
	return !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				 SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS, 0)) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1,
				 SCMP_A1(SCMP_CMP_NE, F_ADD_SEALS, 0));
}

/* libseccomp writes the filter to a file; read it back into memory. */
static bool export_filter(scmp_filter_ctx ctx)
{
	int fd = memfd_create("filter", MFD_CLOEXEC);
	off_t size;
	bool ok;

	if (fd < 0)
		return false;
	ok = !seccomp_export_bpf(ctx, fd);
	size = lseek(fd, 0, SEEK_END);
	ok = ok && size > 0 && size % (off_t)sizeof(struct sock_filter) == 0;
	if (ok) {
		program.len = (unsigned short)((size_t)size / sizeof(struct sock_filter));
		program.filter = malloc((size_t)size);
		ok = program.filter && pread(fd, program.filter, (size_t)size, 0) == size;
	}
	close(fd);
	return ok;
}

bool gp_sandbox_prepare(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	bool ok;

	if (!ctx) {
		errno = ENOMEM;
		return false;
	}
	ok = add_rules(ctx) && export_filter(ctx);
	seccomp_release(ctx);
	return ok;
}

/* Bytes of address space in use. */
static uint64_t mapped(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool limit(int resource, uint64_t soft, uint64_t hard)
{
	struct rlimit r = { .rlim_cur = soft, .rlim_max = hard };

	return !setrlimit((__rlimit_resource_t)resource, &r);
}

bool gp_sandbox_enter(uint32_t cpu_seconds, uint64_t memory, uint32_t wall_seconds)
{
	struct itimerval wall = { .it_value.tv_sec = wall_seconds };

	/* A sanitizer's shadow does not fit any limit. */
	if (!SANITIZED && !limit(RLIMIT_AS, mapped() + memory, mapped() + memory))
		return false;
	if (!limit(RLIMIT_CPU, cpu_seconds, cpu_seconds + 1) || !limit(RLIMIT_CORE, 0, 0) ||
	    !limit(RLIMIT_FSIZE, GP_JIT_MAX_CODE, GP_JIT_MAX_CODE) || !limit(RLIMIT_NPROC, 0, 0))
		return false;
	if (setitimer(ITIMER_REAL, &wall, NULL))
		return false;
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
