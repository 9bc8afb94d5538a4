/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx.h - what is particular to code for NVIDIA GPUs; for emit.c.
 */
#ifndef GPGPU_JIT_PTX_H
#define GPGPU_JIT_PTX_H

#include <llvm-c/Core.h>
#include "jit/emit.h"
#include "jit/ptx_targets.h"

#define GP_PTX_TRIPLE "nvptx64-nvidia-cuda"

/* gp_ptx_function() - set the target of a function. */
void gp_ptx_function(LLVMValueRef fn, const struct gp_ptx_target *target);

/* gp_ptx_kernel() - make @fn the image's kernel. */
void gp_ptx_kernel(LLVMValueRef fn);

/* gp_ptx_unaligned() - accesses that LLVM would take apart into bytes; behind infer-alignment (ptx_unaligned.c). */
void gp_ptx_unaligned(LLVMModuleRef mod);

/* gp_ptx_atomics() - the last of all passes: give atomic operations their scope and order (ptx_atomics.c). */
void gp_ptx_atomics(LLVMModuleRef mod);

/*
 * gp_image_ptx() - look LLVM's text over and make an image of it.
 * @error: out: what does not fit.
 *
 * Return: true if @code was filled.
 */
bool gp_image_ptx(const char *text, size_t size, const struct gp_ptx_target *target, struct gp_code *code,
		  char error[GP_MESSAGE]);

#endif
