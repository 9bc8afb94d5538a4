/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listing.h - instructions and where they come from, for people.
 */
#ifndef GPGPU_BPF_LISTING_H
#define GPGPU_BPF_LISTING_H

#include <stddef.h>

struct bpf_insn;
struct gpgpu_program;
struct loaded;

/*
 * insn_text() - one instruction of a program in the kernel verifier's manner, with maps, helpers, functions and
 * targets of jumps by name.
 * @l: the object that it is of, or NULL
 * @prog: the program in it, or NULL with @l NULL
 * @insns: the program's instructions
 * @i: which one; not the second half of an ld_imm64
 *
 * Return: @buf.
 */
char *insn_text(char *buf, size_t size, const struct loaded *l, const struct gpgpu_program *prog,
		const struct bpf_insn *insns, size_t count, size_t i);

/* source_text() - "file.c:12: the line", or "" where it is not known. Return: @buf. */
char *source_text(char *buf, size_t size, const struct gpgpu_program *prog, size_t i);

#endif
