/* SPDX-License-Identifier: BSD-3-Clause */
/* programs.h - the programs of an object as the compiler takes them. */
#ifndef TESTS_AMDGPU_PROGRAMS_H
#define TESTS_AMDGPU_PROGRAMS_H

#include "bpf/prog.h"

#define PROGRAMS_CPUS 64 /* copies of per-CPU maps */

struct program {
	char name[64]; /* its file's name and its own: "xdp_lb:xdp_lb" */
	struct gp_prog prog;
};

/* programs_read() - all programs of an object; out of an error: a message, and the process ends. @count: out. */
struct program *programs_read(const char *path, size_t *count);
void programs_free(struct program *programs, size_t count);

#endif
