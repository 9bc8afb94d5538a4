// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu-bpf - for authors of programs: what will a device do with this object? No virtual machine is needed.
 *
 * How it works: a command opens an engine with one session in this process (session.c), with the compiler gpgpu-jit
 * beside it as a worker has it, and speaks the wire protocol to it. So it is the same validator, compiler and run-time
 * library that answers here and that answers a guest. One file per command:
 *
 *	check.c		is it accepted, and what does it cost
 *	run.c		run it on a capture
 *	disasm.c	show it beside the code that was made of it
 *	exec.c		run bare instructions, as test suites want it
 *
 * Two things are borrowed from the guest's side, which nothing else of the host does: libgpgpu, by its public header
 * gpgpu.h, because what an object means must not be decided twice; and from the gpgpu command the text form of maps,
 * captures and output files (tool.h, capture.h), because people use the same files for both.
 *
 * Unlike in a worker, the engine runs without a sandbox: whoever starts this runs programs of their own choice.
 *
 * A failure prints one line and exits with status 1; output files appear whole or not at all.
 */
#include <string.h>

#include "commands.h"
#include "tool.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "check", "say whether programs are accepted, and what they cost", cmd_check },
	{ "run", "run an XDP program on a capture", cmd_run },
	{ "disasm", "show a program beside the code made of it", cmd_disasm },
	{ "exec", "run instructions given as hexadecimal digits", cmd_exec },
};

static void usage(FILE *to)
{
	fprintf(to, "usage: gpgpu-bpf COMMAND [ARGUMENTS]; gpgpu-bpf COMMAND --help\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].what);
}

/* bpf_conformance puts a test's memory in front of all options, and with it of the command. */
static void memory_behind_command(int argc, char **argv)
{
	char *memory = argv[1];

	if (argc > 2 && !strcmp(argv[2], "exec") &&
	    memory[strspn(memory, "0123456789abcdefABCDEF \t")] == '\0') {
		argv[1] = argv[2];
		argv[2] = memory;
	}
}

int main(int argc, char **argv)
{
	int status;

	tool_name = "gpgpu-bpf";
	if (argc < 2) {
		usage(stderr);
		return 1;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	memory_behind_command(argc, argv);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		status = commands[i].run(argc - 1, argv + 1);
		/* A full disk or a closed pipe is a failure too. */
		if (fflush(stdout) || ferror(stdout))
			die("writing the output failed");
		return status;
	}
	die("'%s' is no command: check, run, disasm or exec", argv[1]);
}
