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
		v = helper_call(l->b, number, (LLVMValueRef[]){ at, LLVMBuildZExt(l->b, value, l->i64, "") },
				2);
		v = LLVMBuildTrunc(l->b, v, LLVMTypeOf(value), "");
	} else {
		report(insn,
		       "an atomic operation on a floating-point number that is none of add, subtract, minimum, "
		       "maximum and exchange");
		return;
	}
	LLVMReplaceAllUsesWith(insn, LLVMBuildBitCast(l->b, v, LLVMTypeOf(insn), ""));
	LLVMInstructionEraseFromParent(insn);
}
