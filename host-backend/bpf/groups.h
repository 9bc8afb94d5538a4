/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.h - what a program needs of its work group, and the rule that all of the group get there together.
 *
 * A program that has local memory or calls a helper of the group is a group program: it is run group by group
 * (rt/groups.c), its grid is a multiple of the group, and the group is the one that was asked for.
 */
#ifndef GPGPU_BPF_GROUPS_H
#define GPGPU_BPF_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/prog.h"

struct gp_kinds;

struct gp_group_needs {
	bool any; /* it is a group program */
	uint32_t local_bytes; /* of local memory: as its first address says; all say the same */
	uint32_t waits; /* calls of helpers of the group */
};

/* gp_group_find() - what the instructions say. They need not have been checked. */
void gp_group_find(const struct bpf_insn *insns, uint32_t num_insns, struct gp_group_needs *needs);

/* gp_group_is_wait() - a call of a helper at which items of the group wait for each other. */
bool gp_group_is_wait(const struct bpf_insn *insn);

/* gp_group_check_local() - check the form of an address of local memory. */
bool gp_group_check_local(const struct gp_prog *prog, uint32_t insn, struct gp_verdict *verdict);

/*
 * gp_uniform_check() - with all kinds known: every call of the group is one that all its items make, or none does
 * (uniform.c).
 *
 * Return: false if the program was refused.
 */
bool gp_uniform_check(struct gp_kinds *kinds, struct gp_verdict *verdict);

#endif
