/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.c - what the translator does so that lanes may run at once: sums, and interleavings for tests.
 *
 * Sums. bpf/sums.c has found loads and stores that only accumulate. The load checks the address and yields the
 * operation's neutral element; the store is the operation, atomic. Relaxed order suffices: a counter says nothing
 * about other memory. Where the value is not aligned, which programs do not do to counters, the operation stays
 * a load and a store. A locked addition costs as much as twenty plain ones, so images that one thread runs alone
 * (GP_PROG_ALONE) have no sums at all; asking at run time instead would take three blocks for each, and programs
 * have a hundred.
 *
 * Interleavings. An image made with GP_PROG_INTERLEAVE calls the engine before each access to memory that other
 * lanes can see: map values, buffers, map helpers, atomics. Between any two of those, other lanes may run. What a
 * helper does is one step.
 */
#include "bpf/opcodes.h"
#include "bpf/sums.h"
#include "jit/translate.h"

static LLVMValueRef apply(struct gp_tr *tr, uint8_t op, LLVMValueRef a, LLVMValueRef b)
{
	return op == BPF_ADD   ? LLVMBuildAdd(tr->b, a, b, "")
	       : op == BPF_OR  ? LLVMBuildOr(tr->b, a, b, "")
	       : op == BPF_AND ? LLVMBuildAnd(tr->b, a, b, "")
			       : LLVMBuildXor(tr->b, a, b, "");
}

static LLVMValueRef plain(struct gp_tr *tr, uint8_t op, LLVMValueRef at, LLVMValueRef value)
{
	LLVMValueRef old = LLVMBuildLoad2(tr->b, LLVMTypeOf(value), at, ""), store;

	LLVMSetAlignment(old, 1);
	old = LLVMBuildFreeze(tr->b, old, "");
	store = LLVMBuildStore(tr->b, apply(tr, op, old, value), at);
	LLVMSetAlignment(store, 1);
	return old;
}

/* The operation on memory. Return: what was there before. */
static LLVMValueRef operate(struct gp_tr *tr, const struct bpf_insn *insn, uint8_t op, LLVMValueRef at,
			    LLVMValueRef value)
{
	uint32_t size = gp_insn_size(insn);
	LLVMValueRef misaligned = gp_tr_misaligned(tr, insn, at), values[2], phi, branch;
	LLVMBasicBlockRef next, blocks[2];

	if (LLVMIsAConstantInt(misaligned) && !LLVMConstIntGetZExtValue(misaligned))
		return gp_tr_rmw(tr, op, at, value, size, true);
	blocks[0] = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	blocks[1] = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	next = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
	branch = LLVMBuildCondBr(tr->b, misaligned, blocks[1], blocks[0]);
	LLVMSetMetadata(branch, tr->md_prof, LLVMMetadataAsValue(tr->ctx, tr->unlikely));

	LLVMPositionBuilderAtEnd(tr->b, blocks[0]);
	values[0] = gp_tr_rmw(tr, op, at, value, size, true);
	blocks[0] = LLVMGetInsertBlock(tr->b);
	LLVMBuildBr(tr->b, next);

	LLVMPositionBuilderAtEnd(tr->b, blocks[1]);
	values[1] = plain(tr, op, at, value);
	LLVMBuildBr(tr->b, next);

	LLVMPositionBuilderAtEnd(tr->b, next);
	phi = LLVMBuildPhi(tr->b, LLVMTypeOf(value), "");
	LLVMAddIncoming(phi, values, blocks, 2);
	return phi;
}

bool gp_tr_sum_load(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_sum *sum = &tr->sums.at[tr->insn];

	if (sum->role != GP_SUM_LOAD)
		return false;
	/* A fault comes where it would have come. */
	gp_tr_address(tr, insn->src_reg, insn->off, gp_tr_const(tr, gp_insn_size(insn)), false);
	gp_tr_set(tr, insn->dst_reg, gp_tr_const(tr, sum->op == BPF_AND ? -1 : 0));
	return true;
}

bool gp_tr_sum_store(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_sum *sum = &tr->sums.at[tr->insn];
	uint32_t size = gp_insn_size(insn);
	LLVMValueRef at, gathered, old, new;

	if (sum->role != GP_SUM_STORE)
		return false;
	gathered = gp_tr_get(tr, insn->src_reg);
	at = gp_tr_address(tr, insn->dst_reg, insn->off, gp_tr_const(tr, size), true);
	old = operate(tr, insn, sum->op, at,
		      LLVMBuildTrunc(tr->b, gathered, LLVMIntTypeInContext(tr->ctx, size * 8), ""));
	old = LLVMBuildZExt(tr->b, old, tr->i64, "");
	new = apply(tr, sum->op, old, gathered);
	if (sum->width == GP_SUM_32)
		new = LLVMBuildAnd(tr->b, new, gp_tr_const(tr, UINT32_MAX), "");
	for (int r = 0; r < 10; r++)
		if (sum->before & 1u << r)
			gp_tr_set(tr, r, old);
	gp_tr_set(tr, insn->src_reg, new);
	return true;
}

/* Can other lanes see what @val points at? Values of a per-CPU map are this lane's while it runs. */
static bool seen_by_others(const struct gp_tr *tr, const struct gp_val *val)
{
	if (val->kind == GP_KIND_CTX || val->kind == GP_KIND_STACK || val->kind == GP_KIND_PACKET)
		return false;
	if (val->kind == GP_KIND_MAPVAL && gp_val_one_map(val) >= 0)
		return !gp_map_is_percpu(tr->prog->maps[gp_val_one_map(val)].type);
	return true;
}

void gp_tr_yield(struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_helper *helper;
	int class = BPF_CLASS(insn->code);
	bool yields = false;

	if (!(tr->prog->flags & GP_PROG_INTERLEAVE))
		return;
	if (class == BPF_LDX || class == BPF_ST || class == BPF_STX) {
		/* The load of a sum reads nothing. */
		yields = seen_by_others(tr,
					&tr->state.reg[class == BPF_LDX ? insn->src_reg : insn->dst_reg]) &&
			 tr->sums.at[tr->insn].role != GP_SUM_LOAD;
	} else if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER) {
		helper = gp_helper_find(insn->imm);
		yields = helper && (helper->args[0] == GP_ARG_MAP || helper->args[0] == GP_ARG_PLACE32 ||
				    helper->args[0] == GP_ARG_PLACE64);
	}
	if (yields)
		gp_tr_rt(tr, "gp_rt_yield", &tr->lane, 1);
}
