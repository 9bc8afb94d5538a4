/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.h - the code that the compiler makes of a loaded program, with what is of which instruction.
 *
 * The engine keeps its images to itself. So the compiler is asked once more, with GP_PROG_LINES; the code is the
 * same byte for byte.
 */
#ifndef GPGPU_BPF_CODE_H
#define GPGPU_BPF_CODE_H

#include "bpf/sums.h"
#include "jit/jit.h"
#include "load.h"

/* code_open() - start the compiler for @target (NULL: the session's), or die. code_close() - end it. */
struct gp_jit *code_open(const struct session *s, const char *target);
void code_close(struct gp_jit *jit);

/*
 * code_compile() - a program that the session has accepted, or die.
 * @lanes: out, unless NULL: what lanes mean for it.
 *
 * Return: gp_image_unref().
 */
struct gp_image *code_compile(struct gp_jit *jit, const struct loaded *l,
			      const struct loaded_program *program, struct gp_sums_info *lanes);

#endif
