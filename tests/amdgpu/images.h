/* SPDX-License-Identifier: BSD-3-Clause */
/* images.h - images of many programs for many targets, compiled on all processors, for tests that look at code. */
#ifndef TESTS_AMDGPU_IMAGES_H
#define TESTS_AMDGPU_IMAGES_H

#include "jit/jit.h"
#include "programs.h"

#define MAX_IMAGES 1024

/* What was made, or why not. */
struct made {
	const char *target;
	const void *row; /* the test's own, of the target */
	const struct program *program; /* NULL: a kernel that is no program's */
	enum gp_kernel kernel;
	struct gp_image *image;
	struct gp_verdict verdict;
};

extern struct made made[MAX_IMAGES];
extern size_t num_made, num_programs;

/* images_read() - the programs of the objects that a test's command line names. Too many end the process. */
void images_read(int argc, char **argv);

/* images_plan() - for @target (which stays): the programs that are @wanted for its @row, and the kernels that are no program's. */
void images_plan(const char *target, const void *row,
		 bool (*wanted)(const struct program *program, const void *row));

/* images_compile() - all that is planned, by the compiler that GPGPU_JIT names. */
void images_compile(void);

const char *image_name(const struct made *m);

/*
 * images_check() - all are there; those of programs that need their group's other items, which is not built for GPUs, are refused
 * by that name. Return: how many are there. In a test of Check's.
 */
size_t images_check(void);

void images_free(void);

#endif
