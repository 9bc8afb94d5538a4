// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpgpu - a virtio GPGPU device at the command line.
 *
 * One file per command; this one finds it.
 */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "info", "show devices, what they offer and what they did", cmd_info },
	{ "run", "run a compute kernel over a grid", cmd_run },
	{ "pkt", "run an XDP program on a capture", cmd_pkt },
	{ "bench", "measure a device, or keep it busy", cmd_bench },
	{ "top", "show how busy devices are", cmd_top },
};

static void usage(FILE *to)
{
	fprintf(to, "usage: gpgpu COMMAND [ARGUMENTS]; gpgpu COMMAND --help\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-6s %s\n", commands[i].name, commands[i].what);
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2) {
		usage(stderr);
		return 1;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		status = commands[i].run(argc - 1, argv + 1);
		/* A full disk or a closed pipe is a failure too. */
		if (fflush(stdout) || ferror(stdout))
			die("writing the output failed");
		return status;
	}
	die("'%s' is no command: info, run, pkt, bench or top", argv[1]);
}
