/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_targets.h - the NVIDIA GPUs that programs are compiled for, and what an image for them is.
 *
 * An image is PTX: text that ends with a NUL, of GP_PTX_MAX_BYTES at most, which the driver makes machine code of. It
 * has one kernel, GP_PTX_KERNEL, with two parameters: 64 bits, the address of a struct gp_launch (rt/launch.h), and the bytes
 * that lie there, which are read from the parameters at no cost where the host's memory is far away.
 * Its other functions, if there are any, are in the text, too; nothing is left to be linked. A work group is a multiple
 * of 32 lanes and GP_PTX_MAX_GROUP at most, and struct gp_launch says how many; the grid is one-dimensional, with
 * nothing asked of shared memory at the launch.
 *
 * Addresses are generic ones, so that host memory which is mapped for the GPU at the CPU's addresses, and device memory,
 * are reached alike. The clock (gp_ticks(), struct gp_launch.ticks) is %globaltimer: nanoseconds.
 *
 * A row is a compute capability. Newer cards than the last row's run its PTX; in between the next older one's.
 */
#ifndef GPGPU_JIT_PTX_TARGETS_H
#define GPGPU_JIT_PTX_TARGETS_H

#include <stddef.h>
#include <stdint.h>

#define GP_PTX_KERNEL	 "gp_kernel"
#define GP_PTX_WAVE	 32
#define GP_PTX_MAX_GROUP 128
#define GP_PTX_MAX_BYTES (16u << 20)

struct gp_ptx_target {
	const char *name; /* the compiler's: "sm_90" */
	uint32_t major, minor; /* compute capability */
	const char *version; /* of PTX, as the text says it: "7.8" */
	const char *features; /* the same for LLVM */
};

/* gp_ptx_targets() - the table. @count: out: rows. */
const struct gp_ptx_target *gp_ptx_targets(size_t *count);

/* gp_ptx_target_find() - by name. Return: NULL: there is none. */
const struct gp_ptx_target *gp_ptx_target_find(const char *name);

/* gp_ptx_target_for() - whose code a card runs. Return: NULL: it is older than all of them. */
const struct gp_ptx_target *gp_ptx_target_for(uint32_t major, uint32_t minor);

#endif
