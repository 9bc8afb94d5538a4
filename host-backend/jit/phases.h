/* SPDX-License-Identifier: BSD-3-Clause */
/* phases.h - what the translators of items (phases.c) and of vectors of them (simd_wait.c) share of phases. */
#ifndef GPGPU_JIT_PHASES_H
#define GPGPU_JIT_PHASES_H

#include "jit/translate.h"

#define GP_FIRST_KEPT \
	6 /* registers that a call leaves alone: r6 to r9, in the first rows; then words of the frame */
#define GP_NUM_KEPT 4

struct gp_phases {
	uint32_t count;
	uint32_t *number; /* by instruction: of the phase behind it, or 0 */
	LLVMBasicBlockRef *resume; /* by phase */
	/* Words of the main function's frame, a bit each: what an instruction reads, what it overwrites, by instruction; */
	uint64_t *use, *def;
	uint64_t *live; /* what is read before it is overwritten from the start of a block on */
};

struct gp_needed {
	uint64_t words;
	uint16_t regs;
};

/* gp_tr_needed_behind() - what is read behind the instruction @last before it is written. */
struct gp_needed gp_tr_needed_behind(const struct gp_tr *tr, uint32_t last);

/* gp_tr_is_kept() - whether register @r is one of @regs, and one that its kind does not say all about. */
bool gp_tr_is_kept(const struct gp_tr *tr, int r, uint16_t regs);

/* gp_tr_group_row() - where the item keeps row @n. */
LLVMValueRef gp_tr_group_row(struct gp_tr *tr, uint32_t n);

#endif
