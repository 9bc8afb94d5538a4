/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_atomics.c - atomic operations for NVIDIA GPUs, as LLVM 19 cannot write them: its loads and stores know no order and the
 * whole system's scope only, of other operations it forgets the order.
 *
 * So up to here they are LLVM's own, which its passes understand, and behind the last pass each becomes the instruction
 * that it is, as inline assembly. The scope is the GPU: maps, buffers and launches are shared by the lanes of one card,
 * and what the host changes meanwhile is not read this way (rt/nvptx.h). Operations at that scope are carried out in the L2, on
 * memory of the card's own and, between its lanes, on the host's memory, too.
 *
 * Orders, after the mapping from C11 that the PTX ISA's memory model is made for:
 *
 *	load	relaxed ld.relaxed	acquire ld.acquire	seq_cst fence.sc; ld.acquire
 *	store	relaxed st.relaxed	release st.release	seq_cst fence.sc; st.release
 *	others	atom with the order's name			seq_cst fence.sc; atom.acq_rel
 *	fence	fence.acq_rel					seq_cst fence.sc
 *
 * What has less than 32 bits is left to LLVM, which makes loops of compare-and-swap of it; only counters do that
 * (lanes.c), which need no order.
 */
#include <stdio.h>
#include <string.h>
#include "jit/ptx.h"

/* One instruction that is being rewritten. */
struct op {
	LLVMBuilderRef b;
	LLVMContextRef ctx;
	LLVMValueRef old;
};

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1, SPACE_SHARED = 3 };

static const char *space(LLVMValueRef at)
{
	unsigned int n = LLVMGetPointerAddressSpace(LLVMTypeOf(at));

	return n == SPACE_GLOBAL ? ".global" : n == SPACE_SHARED ? ".shared" : "";
}

static const char *order_name(LLVMAtomicOrdering order)
{
	switch (order) {
	case LLVMAtomicOrderingAcquire:
		return "acquire";
	case LLVMAtomicOrderingRelease:
		return "release";
	case LLVMAtomicOrderingAcquireRelease:
	case LLVMAtomicOrderingSequentiallyConsistent:
		return "acq_rel";
	default:
		return "relaxed";
	}
}

static LLVMValueRef assemble(struct op *op, const char *code, const char *operands, LLVMTypeRef type,
			     LLVMValueRef *args, unsigned int count)
{
	LLVMTypeRef params[3];
	LLVMValueRef as;

	for (unsigned int i = 0; i < count; i++)
		params[i] = LLVMTypeOf(args[i]);
	type = LLVMFunctionType(type, params, count, 0);
	as = LLVMGetInlineAsm(type, code, strlen(code), operands, strlen(operands), 1, 0,
			      LLVMInlineAsmDialectATT, 0);
	return LLVMBuildCall2(op->b, type, as, args, count, "");
}

static void fence(struct op *op, bool seq_cst)
{
	assemble(op, seq_cst ? "fence.sc.gpu;" : "fence.acq_rel.gpu;", "~{memory}",
		 LLVMVoidTypeInContext(op->ctx), NULL, 0);
}

static void fence_before(struct op *op, LLVMAtomicOrdering order)
{
	if (order == LLVMAtomicOrderingSequentiallyConsistent)
		fence(op, true);
}

/* 32 or 64: as wide as an operation here may be; else 0. */
static unsigned int width(LLVMTypeRef type)
{
	unsigned int bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;

	return bits == 32 || bits == 64 ? bits : 0;
}

static LLVMValueRef load(struct op *op)
{
	LLVMAtomicOrdering order = LLVMGetOrdering(op->old);
	LLVMValueRef at = LLVMGetOperand(op->old, 0);
	unsigned int bits = width(LLVMTypeOf(op->old));
	char code[80];

	if (order == LLVMAtomicOrderingNotAtomic || !bits)
		return NULL;
	fence_before(op, order);
	snprintf(code, sizeof(code), "ld.%s.gpu%s.b%u $0, [$1];",
		 order <= LLVMAtomicOrderingMonotonic ? "relaxed" : "acquire", space(at), bits);
	return assemble(op, code, bits == 64 ? "=l,l,~{memory}" : "=r,l,~{memory}", LLVMTypeOf(op->old), &at,
			1);
}

static LLVMValueRef store(struct op *op)
{
	LLVMAtomicOrdering order = LLVMGetOrdering(op->old);
	LLVMValueRef args[2] = { LLVMGetOperand(op->old, 1), LLVMGetOperand(op->old, 0) };
	unsigned int bits = width(LLVMTypeOf(args[1]));
	char code[80];

	if (order == LLVMAtomicOrderingNotAtomic || !bits)
		return NULL;
	fence_before(op, order);
	snprintf(code, sizeof(code), "st.%s.gpu%s.b%u [$0], $1;",
		 order <= LLVMAtomicOrderingMonotonic ? "relaxed" : "release", space(args[0]), bits);
	return assemble(op, code, bits == 64 ? "l,l,~{memory}" : "l,r,~{memory}",
			LLVMVoidTypeInContext(op->ctx), args, 2);
}

/* With the type's letter. */
static const char *operation(LLVMAtomicRMWBinOp op)
{
	switch (op) {
	case LLVMAtomicRMWBinOpXchg:
		return "exch.b";
	case LLVMAtomicRMWBinOpAdd:
	case LLVMAtomicRMWBinOpSub:
		return "add.u";
	case LLVMAtomicRMWBinOpAnd:
		return "and.b";
	case LLVMAtomicRMWBinOpOr:
		return "or.b";
	case LLVMAtomicRMWBinOpXor:
		return "xor.b";
	case LLVMAtomicRMWBinOpMax:
		return "max.s";
	case LLVMAtomicRMWBinOpMin:
		return "min.s";
	case LLVMAtomicRMWBinOpUMax:
		return "max.u";
	case LLVMAtomicRMWBinOpUMin:
		return "min.u";
	default:
		return NULL;
	}
}

static LLVMValueRef modify(struct op *op)
{
	LLVMAtomicOrdering order = LLVMGetOrdering(op->old);
	LLVMAtomicRMWBinOp what = LLVMGetAtomicRMWBinOp(op->old);
	LLVMValueRef args[2] = { LLVMGetOperand(op->old, 0), LLVMGetOperand(op->old, 1) };
	unsigned int bits = width(LLVMTypeOf(args[1]));
	char code[80];

	if (!bits || !operation(what))
		return NULL;
	if (what == LLVMAtomicRMWBinOpSub)
		args[1] = LLVMBuildNeg(op->b, args[1], "");
	fence_before(op, order);
	snprintf(code, sizeof(code), "atom.%s.gpu%s.%s%u $0, [$1], $2;", order_name(order), space(args[0]),
		 operation(what), bits);
	return assemble(op, code, bits == 64 ? "=l,l,l,~{memory}" : "=r,l,r,~{memory}", LLVMTypeOf(op->old),
			args, 2);
}

/* The order of success, which is never the weaker one here. */
static LLVMValueRef compare_exchange(struct op *op)
{
	LLVMAtomicOrdering order = LLVMGetCmpXchgSuccessOrdering(op->old);
	LLVMValueRef args[3] = { LLVMGetOperand(op->old, 0), LLVMGetOperand(op->old, 1),
				 LLVMGetOperand(op->old, 2) };
	unsigned int bits = width(LLVMTypeOf(args[1]));
	LLVMValueRef was, both;
	char code[80];

	if (!bits)
		return NULL;
	fence_before(op, order);
	snprintf(code, sizeof(code), "atom.%s.gpu%s.cas.b%u $0, [$1], $2, $3;", order_name(order),
		 space(args[0]), bits);
	was = assemble(op, code, bits == 64 ? "=l,l,l,l,~{memory}" : "=r,l,r,r,~{memory}",
		       LLVMTypeOf(args[1]), args, 3);
	both = LLVMBuildInsertValue(op->b, LLVMGetUndef(LLVMTypeOf(op->old)), was, 0, "");
	return LLVMBuildInsertValue(op->b, both, LLVMBuildICmp(op->b, LLVMIntEQ, was, args[1], ""), 1, "");
}

static LLVMValueRef rewritten(struct op *op)
{
	switch (LLVMGetInstructionOpcode(op->old)) {
	case LLVMLoad:
		return load(op);
	case LLVMStore:
		return store(op);
	case LLVMAtomicRMW:
		return modify(op);
	case LLVMAtomicCmpXchg:
		return compare_exchange(op);
	default:
		return NULL;
	}
}

static void rewrite(struct op *op)
{
	LLVMValueRef new;

	LLVMPositionBuilderBefore(op->b, op->old);
	if (LLVMGetInstructionOpcode(op->old) == LLVMFence) {
		fence(op, LLVMGetOrdering(op->old) == LLVMAtomicOrderingSequentiallyConsistent);
		LLVMInstructionEraseFromParent(op->old);
		return;
	}
	new = rewritten(op);
	if (!new)
		return;
	if (LLVMGetTypeKind(LLVMTypeOf(op->old)) != LLVMVoidTypeKind)
		LLVMReplaceAllUsesWith(op->old, new);
	LLVMInstructionEraseFromParent(op->old);
}

void gp_ptx_atomics(LLVMModuleRef mod)
{
	struct op op = { .ctx = LLVMGetModuleContext(mod) };

	op.b = LLVMCreateBuilderInContext(op.ctx);
	for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
			LLVMValueRef next;

			for (op.old = LLVMGetFirstInstruction(bb); op.old; op.old = next) {
				next = LLVMGetNextInstruction(op.old);
				rewrite(&op);
			}
		}
	LLVMDisposeBuilder(op.b);
}
