/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h - what the checks of the example kernels share.
 *
 * Each check_*.c makes input, runs one kernel on the device, computes the same on this machine's CPU in plain C
 * and compares. check.c has the device's side of that; all of it dies with one line when something fails.
 */
#ifndef EXAMPLES_CHECK_H
#define EXAMPLES_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "gpgpu.h"

struct kernel {
	struct gpgpu_object *obj;
	struct gpgpu_program *prog;
	struct gpgpu_arg args[GPGPU_MAX_ARGS];
	uint32_t num_args;
	uint64_t device_ns; /* of the last run */
};

void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *allocate(size_t count, size_t size);

/* Loads the object NAME.bpf.o from the folder of objects and takes the kernel of that name. */
struct kernel kernel_load(struct gpgpu_device *dev, const char *name);

/* Makes a buffer for an argument. Return: its bytes, which are zero. */
void *kernel_buffer(struct kernel *k, struct gpgpu_device *dev, const char *argument, uint64_t size);
void kernel_value(struct kernel *k, const char *argument, uint64_t value);

/* Runs it to its end. */
void kernel_run(struct kernel *k, uint32_t x, uint32_t y, uint32_t z);
/* The same by groups of that size, which divides the grid. */
void kernel_run_group(struct kernel *k, const uint32_t grid[3], const uint32_t group[3]);
void kernel_free(struct kernel *k);

/* A generator that gives the same numbers every time. */
uint64_t next_random(uint64_t *state);
/* -1 .. 1, of many magnitudes, so that rounding matters. */
float random_float(uint64_t *state);
/* 0 .. 1, evenly, 1 not included. */
float random_unit(uint64_t *state);
/* -1 .. 1 in double. */
double random_double(uint64_t *state);

/* The items' values added up in the order of gp_reduce(): a tree. @values are overwritten. */
float group_sum(float *values, uint32_t group);

/* Leaves a PNG file of 3 bytes for each pixel, or dies. */
void write_picture(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height);

/* One line for a check that went well, with the device's time. */
void passed(const char *name, const struct kernel *k, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For products of matrices: makes the factors; dies where a bit of @c is not that of their product. */
void fill_factors(float *a, float *b, uint64_t *random, uint32_t rows, uint32_t inner, uint32_t columns);
void compare_product(const char *name, const float *a, const float *b, const float *c, uint32_t rows,
		     uint32_t inner, uint32_t columns);

/* Each dies on a difference; @out: file to leave, or NULL. */
void check_sha256(struct gpgpu_device *dev, const char *out);
void check_matmul(struct gpgpu_device *dev, const char *out);
void check_mandelbrot(struct gpgpu_device *dev, const char *out);
void check_histogram(struct gpgpu_device *dev, const char *out);
void check_saxpy(struct gpgpu_device *dev, const char *out);
void check_matmul_tiled(struct gpgpu_device *dev, const char *out);
void check_dot(struct gpgpu_device *dev, const char *out);
void check_scan(struct gpgpu_device *dev, const char *out);
void check_histogram_local(struct gpgpu_device *dev, const char *out);
void check_bitonic(struct gpgpu_device *dev, const char *out);
void check_radix(struct gpgpu_device *dev, const char *out);
void check_aes_gcm(struct gpgpu_device *dev, const char *out);
void check_life(struct gpgpu_device *dev, const char *out);
/* Of kernels in plain C, which gpgpu-cc has compiled. */
void check_nbody(struct gpgpu_device *dev, const char *out);
void check_blackscholes(struct gpgpu_device *dev, const char *out);
void check_conv2d(struct gpgpu_device *dev, const char *out);
void check_matmul_f64(struct gpgpu_device *dev, const char *out);
void check_fft(struct gpgpu_device *dev, const char *out);
void check_spmv(struct gpgpu_device *dev, const char *out);
void check_kmeans(struct gpgpu_device *dev, const char *out);

#endif
