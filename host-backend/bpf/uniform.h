/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uniform.h - what is the same for items that run side by side (uniform.c), for whoever translates them as vectors.
 */
#ifndef GPGPU_BPF_UNIFORM_H
#define GPGPU_BPF_UNIFORM_H

#include "bpf/kinds.h"

#define GP_NO_STEP INT32_MIN

/* 0: the same for all; else 1 + the instruction that made it differ. */
struct gp_causes {
	uint32_t reg[11];
	uint32_t slot[GP_SLOTS];
	/* Of rows: from one item's value to the next one's, where it is the same all along and known; else GP_NO_STEP. */
	int32_t step[11];
	int32_t slot_step[GP_SLOTS];
	uint16_t number; /* by register: an item's number as it is, which has 32 bits */
};

struct gp_uniform;

/*
 * gp_uniform_rows() - for items that are neighbours in the first dimension and of one group, and take each step
 * together.
 * @stored: by block of the main function, whether something may have been stored before its end. Where nothing has, a
 *	branch on an item's number counts as uniform: where it is not, such a run can begin anew, item by item. Outlives
 *	the result.
 *
 * What is loaded through a pointer that is the same for all is the same for all.
 *
 * Return: gp_uniform_free(); NULL where it takes too long.
 */
struct gp_uniform *gp_uniform_rows(struct gp_kinds *kinds, const bool *stored);
void gp_uniform_free(struct gp_uniform *u);

/* gp_uniform_is_split() - whether some items come through block @b that others do not. */
bool gp_uniform_is_split(const struct gp_uniform *u, uint32_t b);

/* gp_uniform_entry() - what differs at its start. */
const struct gp_causes *gp_uniform_entry(const struct gp_uniform *u, uint32_t b);

/* gp_uniform_step() - turn what differs before an instruction into what does after it. @state: before it. */
void gp_uniform_step(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t insn);

#endif
