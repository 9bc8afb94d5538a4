/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.h - which code is of which BPF instruction, for those who look at code.
 *
 * Only with GP_PROG_LINES. The translator gives everything that it builds a debug location whose line says the BPF
 * instruction (lines.c); LLVM carries that through its passes as it does for any language, and puts a line table into
 * the object, which is read back there and turned into places of the flat image (line_table.c). Debug locations
 * change no code.
 */
#ifndef GPGPU_JIT_LINES_H
#define GPGPU_JIT_LINES_H

#include <llvm-c/Core.h>
#include "jit/emit.h"

struct gp_lines;

/* gp_lines_new() - start to note lines in a module. gp_lines_free() - done: to be called before passes run. */
struct gp_lines *gp_lines_new(LLVMModuleRef mod);
void gp_lines_free(struct gp_lines *lines);

/* gp_lines_function() - what is built from now on is in @fn, which is the translator's. NULL @lines: nothing. */
void gp_lines_function(struct gp_lines *lines, LLVMBuilderRef b, LLVMValueRef fn);

/* gp_lines_insn() - what is built from now on is of an instruction, or of none (GP_LINE_NONE). */
void gp_lines_insn(struct gp_lines *lines, LLVMBuilderRef b, uint32_t insn);

/*
 * gp_lines_callers() - give those functions that @prog will be inlined into locations of their own, or LLVM would
 * count their code to the instruction in front of it.
 */
void gp_lines_callers(struct gp_lines *lines, LLVMValueRef prog);

/*
 * gp_line_table() - read the line table of an object (line_table.c).
 * @code: flattened from @elf; out: lines, num_lines.
 *
 * Return: true, or false with the reason in @error.
 */
bool gp_line_table(const uint8_t *elf, size_t size, struct gp_code *code, char error[GP_MESSAGE]);

#endif
