/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernel_btf.h - types for the kernel's verifier, which takes callbacks only where it knows the functions of a program.
 */
#ifndef TESTS_BPF_KERNEL_BTF_H
#define TESTS_BPF_KERNEL_BTF_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>

#define KERNEL_MAX_FUNCS 64

struct kernel_funcs {
	struct bpf_func_info info[KERNEL_MAX_FUNCS];
	uint32_t num;
};

/* kernel_needs_btf() - whether a program has callbacks, or may have a tail call in a subprogram. */
bool kernel_needs_btf(const struct bpf_insn *insns, uint32_t num);

/*
 * kernel_load_btf() - describe every function of a program, all static, as `int f(void)`.
 * Return: a descriptor, or -1.
 */
int kernel_load_btf(const struct bpf_insn *insns, uint32_t num, struct kernel_funcs *funcs);

#endif
