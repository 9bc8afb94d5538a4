/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sandbox.c - what the worker can still do once it serves a guest.
 *
 * How it works: everything that needs a path, a program or a privilege is done before. Then: no new privileges,
 * no core dumps (they would hold the guest's memory), no tracing by others of the same user, limits, and a list of
 * the system calls that threads, memory, clocks and the sockets that are open need. Any other kills
 * the process, which QEMU sees as a lost device. Memory can be mapped writable or executable, never both, and only
 * mapped executable from a descriptor: images of the compiler are sealed memory files.
 *
 * With a GPU there is what its driver's library is answered by, a row of `drivers` each. For all of them that is ioctl(), of
 * requests that only the nodes that are open answer: a letter that is no other descriptor's of the worker. Their mmap() is as any
 * other, never executable: what a GPU may execute its own page tables say.
 *
 * A build with a sanitizer needs more than that and stays outside the list.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sanitized.h"
#include "worker.h"

#define MAX_FILES 1024

static const int allowed[] = {
	/* sockets, eventfds, the log */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(lseek),
	SCMP_SYS(accept4),
	/* memory */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	/* asking the compiler (jit/client.c): the program in a memory file; a socket pair for the answer is below */
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	/* threads */
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	/* clocks, chance */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(sysinfo),
};

/* fcntl() that neither asks for signals nor takes locks; F_SETFL, without O_ASYNC, is below. */
static const int allowed_fcntl[] = {
	F_GETFL, F_GETFD, F_SETFD, F_GET_SEALS, F_ADD_SEALS, F_DUPFD_CLOEXEC,
};

static bool add_rules(scmp_filter_ctx ctx)
{
	const scmp_datum_t wx = PROT_WRITE | PROT_EXEC;

	for (size_t i = 0; i < G_N_ELEMENTS(allowed); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0))
			return false;
	for (size_t i = 0; i < G_N_ELEMENTS(allowed_fcntl); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1_32(SCMP_CMP_EQ, (uint32_t)allowed_fcntl[i], 0)))
			return false;
	/* clone3() takes its flags in memory, where a filter cannot look: libc falls back to clone(). */
	return !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				 SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) &&
	       /* Not executable, or executable, not writable and from a file. */
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, wx, PROT_EXEC),
				 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0)) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2, SCMP_A1_32(SCMP_CMP_EQ, F_SETFL, 0),
				 SCMP_A2(SCMP_CMP_MASKED_EQ, O_ASYNC, 0)) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 2,
				 SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX, 0),
				 SCMP_A1_32(SCMP_CMP_EQ, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) &&
	       /* abort() and the like; never a thread of another process. */
	       !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				 SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)getpid(), 0)) &&
	       /* The names that libc gives to regions; harmless, and missing on older kernels. */
	       !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 0) &&
	       !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(openat), 0);
}

#define IOCTL_LETTER 0xff00u /* of a request: what kind of file it is for */
#define IOCTL_NUMBER 0xffffff00u

/* What the library of a GPU's driver needs: requests, and system calls that fail or do no harm. */
static const struct driver {
	const char *device;
	struct {
		uint64_t mask, request;
	} requests[2];
	int allowed[4], refused[8];
} drivers[] = {
	/* DRM's requests, and the one that makes a dma-buf of the shared memory's file. */
	{ "amdgpu", { { IOCTL_LETTER, 'd' << 8 }, { UINT32_MAX, UDMABUF_CREATE } }, { 0 }, { 0 } },
	/*
	 * The cards' nodes, and that of memory, whose requests are bare numbers. What it opens later it does without (openat()
	 * fails, as for all); seen of 580.159: nothing that we have it do. docs/cuda.md.
	 */
	{ "cuda",
	  { { IOCTL_LETTER, 'F' << 8 }, { IOCTL_NUMBER, 0 } },
	  { SCMP_SYS(get_mempolicy), SCMP_SYS(getrusage), SCMP_SYS(eventfd2), SCMP_SYS(mbind) },
	  { SCMP_SYS(stat), SCMP_SYS(access), SCMP_SYS(readlink), SCMP_SYS(unlink), SCMP_SYS(socket),
	    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_getscheduler), SCMP_SYS(pipe2) } },
};

/* @name: as gpgpu_engine_options.device, which may say where it is, too. */
static bool add_driver_rules(scmp_filter_ctx ctx, const char *name)
{
	const struct driver *driver = NULL;
	bool ok = true;

	for (size_t i = 0; i < G_N_ELEMENTS(drivers); i++) {
		size_t length = strlen(drivers[i].device);

		if (!strncmp(name, drivers[i].device, length) && (!name[length] || name[length] == ':'))
			driver = &drivers[i];
	}
	if (!driver)
		return true;
	for (size_t i = 0; ok && i < G_N_ELEMENTS(driver->requests); i++)
		ok = !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, driver->requests[i].mask,
					       driver->requests[i].request));
	/* 0 is read(), which is there anyway; below are those that this processor does not have. */
	for (size_t i = 0; ok && i < G_N_ELEMENTS(driver->allowed); i++)
		ok = driver->allowed[i] <= 0 || !seccomp_rule_add(ctx, SCMP_ACT_ALLOW, driver->allowed[i], 0);
	for (size_t i = 0; ok && i < G_N_ELEMENTS(driver->refused); i++)
		ok = driver->refused[i] <= 0 ||
		     !seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), driver->refused[i], 0);
	return ok;
}

static bool set_limit(int resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return false;
	limit.rlim_cur = MIN(value, limit.rlim_max);
	limit.rlim_max = limit.rlim_cur;
	return !setrlimit(resource, &limit);
}

bool sandbox_enter(uint64_t memory, const char *device, GError **error)
{
	scmp_filter_ctx ctx;
	bool ok;

	ok = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) &&
	     set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, 64 << 20) &&
	     set_limit(RLIMIT_NOFILE, MAX_FILES);
	if (ok && memory && !SANITIZED)
		ok = set_limit(RLIMIT_DATA, memory);
	if (!ok) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot set limits: %s",
			    strerror(errno));
		return false;
	}
	if (SANITIZED) {
		log_line("built with a sanitizer: system calls are not restricted");
		return true;
	}
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	/* Threads that were started before must be in it too. */
	ok = ctx && !seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1) && add_rules(ctx) &&
	     (!device || add_driver_rules(ctx, device)) && !seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	if (!ok)
		g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot restrict system calls");
	return ok;
}
