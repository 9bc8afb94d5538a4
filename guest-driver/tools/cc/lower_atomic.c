// SPDX-License-Identifier: BSD-3-Clause
/*
 * lower_atomic.c - atomic operations on floats: what C's __atomic_fetch_add() and its kin become.
 *
 * BPF has none, so sums, minima and maxima are calls of helpers, which are sequentially consistent whatever order was
 * asked for; an exchange is one of the bits. Compare-and-exchange has no floats: clang takes the bits itself.
 */
#include "gpgpu_bpf.h"
#include "lower.h"

/* Return: the helper, 0 where there is none. */
static int32_t helper_of(LLVMAtomicRMWBinOp op, bool wide)
{
	switch (op) {
	case LLVMAtomicRMWBinOpFAdd:
	case LLVMAtomicRMWBinOpFSub:
		return wide ? GPGPU_HELPER_atomic_fadd64 : GPGPU_HELPER_atomic_fadd32;
	case LLVMAtomicRMWBinOpFMin:
		return wide ? GPGPU_HELPER_atomic_fmin64 : GPGPU_HELPER_atomic_fmin32;
	case LLVMAtomicRMWBinOpFMax:
		return wide ? GPGPU_HELPER_atomic_fmax64 : GPGPU_HELPER_atomic_fmax32;
	default:
		return 0;
	}
}

static LLVMValueRef call(struct lower *l, int32_t number, LLVMValueRef at, LLVMValueRef value)
{
	LLVMTypeRef types[2] = { LLVMTypeOf(at), l->i64 };
	LLVMValueRef args[2] = { at, LLVMBuildZExt(l->b, value, l->i64, "") };
	LLVMValueRef callee = LLVMConstIntToPtr(LLVMConstInt(l->i64, (uint64_t)number, 0),
						LLVMPointerTypeInContext(l->ctx, 0));

	return LLVMBuildCall2(l->b, LLVMFunctionType(l->i64, types, 2, 0), callee, args, 2, "");
}

void lower_atomic(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef at = LLVMGetOperand(insn, 0), value = lower_as_int(l, LLVMGetOperand(insn, 1)), v;
	LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(insn);
	unsigned int bits = LLVMGetIntTypeWidth(LLVMTypeOf(value));
	int32_t number = helper_of(op, bits == 64);

	if (op == LLVMAtomicRMWBinOpXchg) {
		v = LLVMBuildAtomicRMW(l->b, op, at, value, LLVMGetOrdering(insn), 0);
	} else if (number) {
		if (op == LLVMAtomicRMWBinOpFSub)
			value = LLVMBuildXor(l->b, value,
					     LLVMConstInt(LLVMTypeOf(value), 1ull << (bits - 1), 0), "");
		v = LLVMBuildTrunc(l->b, call(l, number, at, value), LLVMTypeOf(value), "");
	} else {
		report(insn,
		       "an atomic operation on a floating-point number that is none of add, subtract, minimum, "
		       "maximum and exchange");
		return;
	}
	LLVMReplaceAllUsesWith(insn, LLVMBuildBitCast(l->b, v, LLVMTypeOf(insn), ""));
	LLVMInstructionEraseFromParent(insn);
}
