/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emit.h - from a program to the bytes of an image; runs in the compiler process only.
 */
#ifndef GPGPU_JIT_EMIT_H
#define GPGPU_JIT_EMIT_H

#include <stddef.h>
#include "bpf/prog.h"
#include "jit/image.h"
#include "rt/launch.h"

struct gp_code {
	uint8_t *bytes; /* flat, free of relocations; free() */
	uint32_t size;
	uint32_t entry; /* byte offset */
	uint32_t *place; /* by section of the object: offset in `bytes`, or GP_NOT_PLACED; free() */
	uint32_t num_places;
	/* with GP_PROG_LINES */
	struct gp_line *lines; /* free() */
	uint32_t num_lines;
	uint32_t frame_bytes;
	/* GPUs: of a lane, but the scalar ones of a wave; bytes of a lane, of a work group */
	uint32_t vgprs, sgprs, vgpr_spills, sgpr_spills, scratch_bytes, lds_bytes;
};

#define GP_NOT_PLACED UINT32_MAX

/*
 * gp_emit_init() - load LLVM, the run-time library and the target; once, before the zygote forks.
 * @target: an AMD GPU ("gfx1030", amdgpu/generations.h), an NVIDIA GPU ("sm_90", ptx_targets.h); NULL or "": this machine.
 *
 * Return: NULL, or what went wrong.
 */
const char *gp_emit_init(const char *target);

/* gp_emit_target() - what code is made for, as "x86-64-v3", "gfx1030", "sm_90". */

const char *gp_emit_target(void);

/* gp_emit_kind() - of all images that this process makes. */
enum gp_image_kind gp_emit_kind(void);

/*
 * gp_emit() - validate and compile one program. Uses up the module that gp_emit_init() made: once per process.
 * @budget_ns: CPU time that it should stay within, by making slower code where need be.
 * @verdict: out: OK, or why not.
 *
 * Return: true if @code was filled.
 */
bool gp_emit(const struct gp_prog *prog, uint64_t budget_ns, struct gp_code *code,
	     struct gp_verdict *verdict);

/*
 * gp_emit_kernel() - likewise, a kernel that is no program's: GP_KERNEL_MAP_OPS, GP_KERNEL_COPY. GPUs only.
 */
bool gp_emit_kernel(enum gp_kernel kernel, struct gp_code *code, struct gp_verdict *verdict);

/*
 * gp_emit_on_fatal() - what to do when LLVM gives up: called with a message and must not return.
 */
void gp_emit_on_fatal(void (*fatal)(const char *message));

/*
 * gp_image_flatten() - lay the sections of an ELF relocatable out and apply its relocations (image.c).
 * @library: another one, for what the first does not define.
 * @entry: name of the function that the image starts at.
 * @error: out: what does not fit.
 *
 * Return: true if @code was filled.
 */
bool gp_image_flatten(const uint8_t *elf, size_t size, const uint8_t *library, size_t library_size,
		      const char *entry, struct gp_code *code, char error[GP_MESSAGE]);

/*
 * gp_image_flatten_gpu() - likewise for an AMD GPU (image_gpu.c). @kernel: its name; the image's entry is the kernel's
 * descriptor.
 */
struct gp_generation;
bool gp_image_flatten_gpu(const uint8_t *elf, size_t size, const char *kernel,
			  const struct gp_generation *gen, struct gp_code *code, char error[GP_MESSAGE]);

#endif
