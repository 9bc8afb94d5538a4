// SPDX-License-Identifier: BSD-3-Clause
/*
 * clang.c - stock clang, told to stop at LLVM IR.
 *
 * What it is told beside the user's own options, and why:
 *  - nothing is contracted (devices would differ), and conversions to integers saturate rather than being undefined;
 *  - math functions are no builtins, or clang would fold sinf(1) by this machine's C library, which rounds otherwise than
 *    devices do;
 *  - nor is printf(), or clang would make puts() of it;
 *  - no vectorisers: what they make for BPF, which has no vectors, is taken apart again; the device's compiler
 *    vectorises over work items;
 *  - long double has 128 bits, so that it is told apart from double, which is what it would be to BPF;
 *  - debug information, for the names and types of arguments, and for our own messages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cc.h"

static const char *const fixed[] = {
	"-O2", "-g", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
};

/* Behind the user's: what they may not change. */
static const char *const last[] = {
	"-target",
	"bpfel",
	"-fno-strict-float-cast-overflow",
	"-fno-vectorize",
	"-fno-slp-vectorize",
	"-Xclang",
	"-mlong-double-128",
	"-emit-llvm",
	"-c",
};

struct list {
	char **item;
	size_t count, room;
};

static void add(struct list *list, const char *text)
{
	if (list->count + 1 >= list->room) {
		list->room = list->room ? list->room * 2 : 64;
		list->item = realloc(list->item, list->room * sizeof(*list->item));
		if (!list->item)
			die("out of memory");
	}
	list->item[list->count] = text ? strdup(text) : NULL;
	if (text && !list->item[list->count])
		die("out of memory");
	list->item[++list->count] = NULL;
}

static void add_three(struct list *list, const char *first, const char *second, const char *third)
{
	char *text;

	if (asprintf(&text, "%s%s%s", first, second, third) < 0)
		die("out of memory");
	add(list, text);
	free(text);
}

static void arguments(const struct options *options, const char *file, struct list *list)
{
	struct utsname machine;

	add(list, options->clang);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		add(list, fixed[i]);
	for (size_t i = 0; math_name(i); i++) {
		add_three(list, "-fno-builtin-", math_name(i), "");
		add_three(list, "-fno-builtin-", math_name(i), "f");
	}
	add(list, "-fno-builtin-printf");
	if (options->include) {
		add(list, "-isystem");
		add(list, options->include);
	}
	for (int i = 0; i < options->num_args; i++)
		add(list, options->args[i]);
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
		add(list, last[i]);
	add_three(list, "-mcpu=", options->cpu, "");
	/* Where Debian keeps <asm/types.h>, which <linux/types.h> needs; clang only knows it for its own target. */
	if (!uname(&machine)) {
		add(list, "-idirafter");
		add_three(list, "/usr/include/", machine.machine, "-linux-gnu");
	}
	if (options->depend) {
		add(list, "-MD");
		add(list, "-MF");
		if (options->depfile)
			add(list, options->depfile);
		else
			add_three(list, options->output, ".d", "");
		add(list, "-MT");
		add(list, options->output);
	}
	add(list, options->input);
	add(list, "-o");
	add(list, file);
}

static int run(char **argv)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		execvp(argv[0], argv);
		fprintf(stderr, "gpgpu-cc: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("wait: %s", strerror(errno));
	if (WIFSIGNALED(status))
		die("%s: %s", argv[0], strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}

int clang_to_bitcode(const struct options *options, char file[4096])
{
	const char *folder = getenv("TMPDIR");
	struct list list = { 0 };
	int fd, status;

	snprintf(file, 4096, "%s/gpgpu-cc-XXXXXX.bc", folder && *folder ? folder : "/tmp");
	fd = mkstemps(file, 3);
	if (fd < 0)
		die("%s: %s", file, strerror(errno));
	close(fd);
	arguments(options, file, &list);
	if (options->verbose) {
		for (size_t i = 0; i < list.count; i++)
			fprintf(stderr, "%s%s", i ? " " : "", list.item[i]);
		fputc('\n', stderr);
	}
	status = run(list.item);
	for (size_t i = 0; i < list.count; i++)
		free(list.item[i]);
	free(list.item);
	if (status)
		unlink(file);
	return status;
}
