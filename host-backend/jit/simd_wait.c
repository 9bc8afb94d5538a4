/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd_wait.c - calls of the group in vectors: what phases.c does, for neighbours whose rows lie beside each other.
 *
 * A phase that is left with nothing done begins anew item by item, so what a phase stored before counts for nothing in the
 * next one.
 */
#include <gpgpu_bpf.h>
#include "jit/phases.h"
#include "jit/simd.h"

void gp_simd_begin(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;
	LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	LLVMValueRef phase, choice;

	if (!tr->phases) {
		LLVMBuildBr(tr->b, start);
	} else {
		phase = gp_tr_rt(tr, "gp_rt_phase", &tr->lane, 1);
		choice = LLVMBuildSwitch(tr->b, phase, start, tr->phases->count);
		for (uint32_t n = 1; n <= tr->phases->count; n++) {
			simd->resume[n] = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
			LLVMAddCase(choice, LLVMConstInt(LLVMTypeOf(phase), n, 0), simd->resume[n]);
		}
	}
	LLVMPositionBuilderAtEnd(tr->b, start);
}

static void store_vector(struct gp_tr *tr, LLVMValueRef value, LLVMValueRef at)
{
	LLVMSetAlignment(LLVMBuildStore(tr->b, value, at), 8);
}

static void keep(struct gp_tr *tr, const struct gp_needed *needed)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef value;

	tr->lanes = GP_SIMD;
	for (int r = GP_FIRST_KEPT; r < GP_FIRST_KEPT + GP_NUM_KEPT; r++) {
		if (!gp_tr_is_kept(tr, r, needed->regs))
			continue;
		value = gp_simd_get(tr, r);
		store_vector(tr, value, gp_tr_group_row(tr, (uint32_t)(r - GP_FIRST_KEPT)));
	}
	for (uint32_t i = 0; i < GP_SLOTS; i++) {
		if (!(needed->words & 1ull << i) || !simd->slot_size[i])
			continue;
		value = gp_simd_get(tr, GP_SIMD_SLOT + (int)i);
		value = LLVMBuildShl(tr->b, value, gp_tr_const(tr, 8 * simd->slot_off[i]), "");
		store_vector(tr, value, gp_tr_group_row(tr, GP_NUM_KEPT + i));
	}
	tr->lanes = 0;
}

/* A word, in the form that is known of it behind the call; only the first lane's where that says all. */
static void take_back(struct gp_tr *tr, int reg, int32_t step, LLVMValueRef at, uint32_t off, uint32_t size)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef value;

	tr->lanes = step == GP_NO_STEP ? GP_SIMD : 0;
	simd->step = step == GP_NO_STEP ? 0 : step;
	value = LLVMBuildLoad2(tr->b, gp_tr_int(tr, 64), at, "");
	LLVMSetAlignment(value, 8);
	if (off)
		value = LLVMBuildLShr(tr->b, value, gp_tr_const(tr, 8 * off), "");
	if (size < 8)
		value = LLVMBuildAnd(tr->b, value, gp_tr_const(tr, (int64_t)((1ull << size * 8) - 1)), "");
	gp_simd_set(tr, reg, value);
	tr->lanes = 0;
	simd->step = 0;
}

static void put_back(struct gp_tr *tr, const struct gp_needed *needed, const struct gp_causes *after)
{
	struct gp_simd *simd = tr->simd;

	for (int r = GP_FIRST_KEPT; r < GP_FIRST_KEPT + GP_NUM_KEPT; r++)
		if (gp_tr_is_kept(tr, r, needed->regs))
			take_back(tr, r, after->reg[r] ? after->step[r] : 0,
				  gp_tr_group_row(tr, (uint32_t)(r - GP_FIRST_KEPT)), 0, 8);
	for (uint32_t i = 0; i < GP_SLOTS; i++)
		if ((needed->words & 1ull << i) && simd->slot_size[i])
			take_back(tr, GP_SIMD_SLOT + (int)i, after->slot[i] ? after->slot_step[i] : 0,
				  gp_tr_group_row(tr, GP_NUM_KEPT + i), simd->slot_off[i],
				  simd->slot_size[i]);
}

void gp_simd_wait(struct gp_tr *tr, const struct bpf_insn *insn, const struct gp_causes *after)
{
	struct gp_simd *simd = tr->simd;
	struct gp_needed needed = gp_tr_needed_behind(tr, tr->insn);
	uint32_t n = tr->phases->number[tr->insn];
	bool barrier = insn->imm == GPGPU_HELPER_barrier;
	bool chooses = insn->imm == GPGPU_HELPER_broadcast || insn->imm == GPGPU_HELPER_shuffle;
	LLVMValueRef args[5] = { tr->lane, LLVMConstInt(tr->i32, n, 0),
				 LLVMConstInt(tr->i32, (uint32_t)insn->imm, 0), gp_tr_const(tr, 0),
				 gp_tr_const(tr, 0) };
	LLVMValueRef give[2];

	keep(tr, &needed);
	tr->lanes = GP_SIMD;
	give[0] = barrier ? NULL : gp_tr_get(tr, 1);
	give[1] = chooses ? gp_tr_get(tr, 2) : NULL;
	tr->lanes = 0;
	if (!barrier && !chooses)
		args[4] = gp_tr_get(tr, 2); /* the operation */
	gp_tr_rt(tr, "gp_rt_group_wait", args, 5);
	if (give[0])
		store_vector(tr, give[0], gp_tr_rt(tr, "gp_rt_group_values", args, 1));
	if (give[1])
		store_vector(tr, give[1], gp_tr_rt(tr, "gp_rt_group_from", args, 1));
	LLVMBuildBr(tr->b, simd->done);

	LLVMPositionBuilderAtEnd(tr->b, simd->resume[n]);
	simd->may_store = false;
	put_back(tr, &needed, after);
	if (barrier)
		gp_simd_set(tr, 0, gp_tr_const(tr, 0));
	else
		take_back(tr, 0, after->reg[0] ? GP_NO_STEP : 0, gp_tr_rt(tr, "gp_rt_group_values", args, 1),
			  0, 8);
}
