/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sandbox.c - what a compiling child can do to the host, should its program have taken it over.
 *
 * Each row forks a child that enters the sandbox, with a memory file as the one it may write to, and tries one thing.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "jit/sandbox.h"
#include "jit/message.h"
#include "jit/wire.h"

enum { NO_SANDBOX = 100, NO_FILE, ALLOWED = 0 }; /* exit statuses; else an errno */

static int result(long ret)
{
	return ret < 0 ? errno : ALLOWED;
}

static int try_memfd(int file)
{
	(void)file;
	return result(syscall(SYS_memfd_create, "more", 0));
}

static int try_dup(int file)
{
	return result(syscall(SYS_dup, file));
}

static int try_fcntl_dup(int file)
{
	return result(fcntl(file, F_DUPFD, 0));
}

static int try_fcntl_owner(int file)
{
	return result(fcntl(file, F_SETOWN, getpid()));
}

static int try_seal(int file)
{
	return result(fcntl(file, F_ADD_SEALS, GP_JIT_SEALS));
}

static int try_socket(int file)
{
	(void)file;
	return result(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
}

/* The test program itself; the zygote has the same user and would be as near. */
static pid_t parent;

static int try_kill(int file)
{
	(void)file;
	return result(syscall(SYS_kill, parent, SIGTERM));
}

static int try_tgkill(int file)
{
	(void)file;
	return result(syscall(SYS_tgkill, parent, parent, SIGTERM));
}

static int try_truncate(int file)
{
	return result(syscall(SYS_ftruncate, file, 1l << 40));
}

static int try_execute(int file)
{
	(void)file;
	return result((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static int try_image(int file)
{
	void *code = mmap(NULL, GP_JIT_MAX_CODE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return code == MAP_FAILED ? errno : gp_write_all(file, code, GP_JIT_MAX_CODE) ? ALLOWED : errno;
}

static int try_more_than_an_image(int file)
{
	int ret = try_image(file);

	return ret ? NO_FILE : result(syscall(SYS_write, file, "", 1));
}

static int try_abort(int file)
{
	(void)file;
	abort();
}

static const struct row {
	const char *name;
	int (*try)(int file);
	int status; /* exit status */
	int sig; /* or the signal that ends it */
} rows[] = {
	{ "another memory file", try_memfd, 0, SIGSYS },
	{ "a copy of a descriptor", try_dup, 0, SIGSYS },
	{ "the same by fcntl", try_fcntl_dup, EPERM, 0 },
	{ "signals by fcntl", try_fcntl_owner, EPERM, 0 },
	{ "sealing the image", try_seal, ALLOWED, 0 },
	{ "a socket", try_socket, 0, SIGSYS },
	{ "a signal to another process", try_kill, 0, SIGSYS },
	{ "a signal to another process's thread", try_tgkill, EPERM, 0 },
	{ "a large sparse file", try_truncate, 0, SIGSYS },
	{ "memory that can be executed", try_execute, 0, SIGSYS },
	{ "the largest image", try_image, ALLOWED, 0 },
	{ "a larger one", try_more_than_an_image, 0, SIGXFSZ },
	{ "abort()", try_abort, 0, SIGSEGV },
};

START_TEST(test_row)
{
	const struct row *row = &rows[_i];
	int file = gp_memory_file("image", true), status;
	pid_t pid;

	ck_assert_int_ge(file, 0);
	ck_assert(gp_sandbox_prepare());
	parent = getpid();
	pid = fork();
	if (!pid) {
		if (!gp_sandbox_enter(10, 256 << 20, 60))
			_exit(NO_SANDBOX);
		_exit(row->try(file));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (row->sig)
		ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == row->sig, "%s: status %#x",
			      row->name, status);
	else
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == row->status, "%s: status %#x",
			      row->name, status);
	close(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tcase = tcase_create("sandbox");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, test_row, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
