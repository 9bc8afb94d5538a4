/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.h - the kernels that are no program's, compiled when the compiler itself was built: for each generation one
 * record a kernel, one behind the other. gpgpu-kernels writes them, gpgpu-jit has them in it.
 */
#ifndef GPGPU_JIT_KERNELS_H
#define GPGPU_JIT_KERNELS_H

#include "jit/emit.h"

/* In front of each image, which is padded to 8 bytes. */
struct gp_made_kernel {
	char target[16]; /* "gfx1030" */
	uint32_t kernel; /* enum gp_kernel */
	uint32_t size; /* of the image */
	uint32_t entry;
	uint32_t vgprs, sgprs, vgpr_spills, sgpr_spills, scratch_bytes, lds_bytes; /* as in struct gp_code */
	uint32_t reserved;
};

/*
 * gp_kernel_made() - look for a kernel that was compiled ahead.
 * @code: out: its bytes stay where they are and must not be changed or freed.
 *
 * Return: whether there is one.
 */
bool gp_kernel_made(const char *target, enum gp_kernel kernel, struct gp_code *code);

#endif
