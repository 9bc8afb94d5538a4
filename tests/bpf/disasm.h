/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disasm.h - BPF as text, the way the kernel's verifier and llvm-objdump write it.
 *
 * The tests' own, so that a failing program is shown by code that did not compile it.
 */
#ifndef TESTS_BPF_DISASM_H
#define TESTS_BPF_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/bpf.h>

/* disasm() - one instruction; of an ld_imm64, both halves. @insn: followed by its second half, if it has one. */
void disasm(const struct bpf_insn *insn, char *buf, size_t size);

/* disasm_all() - a whole program, a line each, numbered; behind every line's @prefix. */
void disasm_all(FILE *out, const char *prefix, const struct bpf_insn *insns, uint32_t num);

#endif
