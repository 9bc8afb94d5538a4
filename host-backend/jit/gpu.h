/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu.h - what is particular to code for AMD GPUs; for emit.c.
 */
#ifndef GPGPU_JIT_GPU_H
#define GPGPU_JIT_GPU_H

#include <llvm-c/Core.h>
#include "amdgpu/generations.h"
#include "jit/emit.h"

#define GP_GPU_TRIPLE "amdgcn-amd-amdhsa"

/* gp_gpu_spaces() - say of the run-time library's accesses which memory they go to; once it is inlined (spaces.c). */
void gp_gpu_spaces(LLVMModuleRef mod);

/* gp_gpu_inline() - let a function of the run-time library be inlined wherever it is called. */
void gp_gpu_inline(LLVMValueRef fn);

/* gp_gpu_function() - set the target of a function, and what its code does not need of the hardware. */
void gp_gpu_function(LLVMValueRef fn, const struct gp_generation *gen);

#endif
