/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_compute.h - what is measured, and PoCL. */
#ifndef BENCH_COMPUTE_H
#define BENCH_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPUTE_ARGS 8

struct compute {
	const char *name; /* of the example, its kernel and the one in OpenCL C */
	uint32_t grid[2], group[2];
	bool counts; /* results are no floats */
	uint32_t num_args;
	struct {
		uint64_t bytes; /* of a buffer; 0: a value */
		uint64_t value;
		uint32_t size; /* of the value in OpenCL C */
	} args[COMPUTE_ARGS];
	void (*fill)(uint8_t *const *buffers);
	void (*twin)(uint8_t *const *buffers); /* the same in plain C, on one thread */
	const char *opencl;
};

/* One behind the last has no name. */
extern const struct compute compute_kernels[];

void compute_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* PoCL on one thread (bench_pocl.c). pocl_open() - NULL and @why where there is none. */
struct pocl;
struct pocl_kernel;
struct pocl *pocl_open(const char **why);

/* pocl_load() - compile the kernel, with copies of @buffers. */
struct pocl_kernel *pocl_load(struct pocl *pocl, const struct compute *c, uint8_t *const *buffers);
double pocl_run(struct pocl_kernel *kernel); /* milliseconds, as the device says it */
void pocl_read(struct pocl_kernel *kernel, uint8_t *const *buffers);
void pocl_free(struct pocl_kernel *kernel);

#endif
