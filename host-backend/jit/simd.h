/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd.h - a kernel for GP_SIMD work items at once; what its files share.
 *
 * How it works: beside gp_prog(), which runs one item, the translator makes gp_simd(), which runs GP_SIMD items that are
 * neighbours in the first dimension, a lane of a vector each. bpf/uniform.c says what is the same for all of
 * them: that stays a scalar, and so do branches on it. All else is a vector. Blocks that some lanes come through and others
 * do not (`split`) are run one after the other, in an order in which edges go forward, each for the lanes that wait in front of
 * it (a mask by block); behind the last back edge to a loop's head it is looked whether lanes wait there.
 *
 * Results are those of gp_prog(), bit by bit, and so are faults:
 *  - Until something has been stored, an item that faults, lacks fuel or leaves its neighbours' path where that was
 *    not foreseen costs nothing: gp_simd() is left with 0, and the items run one by one from their start.
 *  - Behind the first store a lane that faults is noted (rt/simd.c) and is `dead`: it computes on, but none of its accesses
 *    is made.
 *  - All lanes burn the same fuel, that of the lane that goes round most often. Where that runs out, it is as for a fault; so
 *    programs that could not begin anew there do not become vectors (gp_simd_plan()).
 *
 * Where lanes are a known step apart, only the first lane's value is computed. So an access is one check and one mask against
 * speculation. Where the step is not known it is looked whether lanes are neighbours when it runs; else the access is done lane by lane
 * by a function of rt/simd.c.
 *
 * What cannot be a vector (maps that change, atomic operations, functions, pointers that are joined, ...) leaves the program as it was.
 */
#ifndef GPGPU_JIT_SIMD_H
#define GPGPU_JIT_SIMD_H

#include "bpf/uniform.h"
#include "jit/translate.h"

#define GP_SIMD	     8 /* as in rt/rt.h */
#define GP_SIMD_SLOT 10 /* registers from here on are words of the stack */
#define GP_SIMD_REGS (GP_SIMD_SLOT + GP_SLOTS)

struct gp_simd {
	struct gp_uniform *uniform;
	bool *stored; /* by block: something may have been stored before its end */
	bool *stored_in; /* before its start */
	bool *waits; /* it has a call of the group: what was stored before that counts for nothing behind it */
	uint32_t *part; /* by block: 1 + the part of split blocks that it belongs to, or 0 */
	uint32_t *part_exit; /* by part: the block where its lanes meet, or GP_NO_BLOCK: the end */
	uint8_t slot_off[GP_SLOTS],
		slot_size[GP_SLOTS]; /* of the accesses to a word of the stack, which are all alike */
	bool in_group; /* numbers in the group are asked for */

	/* of the code being made */
	LLVMTypeRef v32, v64, mask_type;
	LLVMValueRef wide[GP_SIMD_REGS],
		low[GP_SIMD_REGS]; /* allocas: registers as vectors, and their low halves */
	LLVMValueRef
		scalar[GP_SIMD_REGS]; /* and, where steps are known or all have the same, the first lane's */
	LLVMValueRef *mask; /* by block: alloca: lanes that wait in front of it; NULL: it is not split */
	LLVMBasicBlockRef *guard; /* by block: where it is looked whether some wait */
	LLVMBasicBlockRef *resume; /* by phase */
	LLVMBasicBlockRef bail, done;
	LLVMMetadataRef likely;
	LLVMValueRef faults, item; /* parameters */
	LLVMValueRef dead; /* alloca: bits of lanes that have faulted */
	LLVMValueRef room[4]; /* allocas: vectors for functions of rt/simd.c */

	/* of the block being translated */
	struct gp_causes now; /* what differs before the instruction */
	bool split, may_store; /* something may have been stored */
	int32_t step; /* of what is set while not tr->lanes: from one lane to the next */
	LLVMValueRef cur, cur_bits; /* split: its lanes */
	LLVMBasicBlockRef after; /* split: where it goes on */
	LLVMValueRef new_wide[GP_SIMD_REGS], new_low[GP_SIMD_REGS]; /* split: registers that it has written */
};

/* gp_simd_translate() - make gp_simd() in the module, if the program is one that can be vectors. */
void gp_simd_translate(struct gp_tr *tr);

/* gp_simd_plan() - whether it is (simd_plan.c); fills the first part of @simd. */
bool gp_simd_plan(struct gp_tr *tr, struct gp_simd *simd);

/* ------------------------------------------------------------------------ values (simd_value.c) */

LLVMValueRef gp_simd_splat(struct gp_tr *tr, LLVMValueRef scalar);
LLVMValueRef gp_simd_iota(struct gp_tr *tr, int64_t step); /* 0, step, 2 step, ... */

/* gp_simd_step() - by how much lanes differ there; GP_NO_STEP: by anything. */
int32_t gp_simd_step(const struct gp_simd *simd, int reg);

/* A register: as 64 bits, or their low half; of vectors where tr->lanes, else of the first lane, if steps are known. */
LLVMValueRef gp_simd_get(struct gp_tr *tr, int reg);
LLVMValueRef gp_simd_get_low(struct gp_tr *tr, int reg);
void gp_simd_set(struct gp_tr *tr, int reg, LLVMValueRef value);
void gp_simd_set_low(struct gp_tr *tr, int reg, LLVMValueRef value);

/* gp_simd_bits() - lanes where the i1 of @cond holds, as bits of an i32. */
LLVMValueRef gp_simd_bits(struct gp_tr *tr, LLVMValueRef cond);

/* gp_simd_live() - lanes of the block that have not faulted, as bits. */
LLVMValueRef gp_simd_live(struct gp_tr *tr);

/* gp_simd_leave_if() - what a fault in all lanes of the block does, where the scalar @cond holds. */
void gp_simd_leave_if(struct gp_tr *tr, LLVMValueRef cond, uint32_t reason);

/* gp_simd_lose() - likewise, a fault in the lanes @bits: goes on without them. */
void gp_simd_lose(struct gp_tr *tr, LLVMValueRef bits, uint32_t reason);

/* ------------------------------------------------------------------- instructions */

void gp_simd_load(struct gp_tr *tr, const struct bpf_insn *insn, const struct gp_causes *after);
void gp_simd_store(struct gp_tr *tr, const struct bpf_insn *insn);
void gp_simd_helper(struct gp_tr *tr, const struct bpf_insn *insn);

/* gp_simd_begin() - to where the phase begins, if there are some. gp_simd_wait() - a call of the group. (simd_wait.c) */
void gp_simd_begin(struct gp_tr *tr);
void gp_simd_wait(struct gp_tr *tr, const struct bpf_insn *insn, const struct gp_causes *after);

/* gp_simd_knows() - whether a helper can be called for vectors. */
bool gp_simd_knows(struct gp_tr *tr, const struct gp_state *state, const struct bpf_insn *insn);

#endif
