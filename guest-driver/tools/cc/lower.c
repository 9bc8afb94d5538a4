// SPDX-License-Identifier: BSD-3-Clause
/*
 * lower.c - floating point to integers of the same bits, and calls of helpers.
 *
 * How it works: each instruction is replaced on its own, in any order. What it makes is an integer; a bit cast in
 * front of the old instruction's users makes a float of that again, and whoever is translated later looks through
 * the cast (as_int()). When all is done no cast has a user that is not another cast, and they go. Phis are
 * translated empty and filled at the end. Functions get integers for floats in their parameters and results first.
 *
 * Comparisons need only three helpers: what else there is, is said with the operands exchanged, negated, or with two. The
 * device's compiler makes one instruction of it. Helpers are pure, which LLVM is told, so that equal calls become one
 * and loops lose what does not change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "gpgpu_bpf.h"
#include "lower.h"

/* -------------------------------------------------------------------- types */

/* Return: 32 or 64 for a floating-point type that devices have, else 0. */
static unsigned int float_bits(LLVMTypeRef type)
{
	switch (LLVMGetTypeKind(type)) {
	case LLVMFloatTypeKind:
		return 32;
	case LLVMDoubleTypeKind:
		return 64;
	default:
		return 0;
	}
}

static bool is_float(LLVMValueRef v)
{
	return float_bits(LLVMTypeOf(v)) != 0;
}

static LLVMTypeRef int_of(struct lower *l, LLVMTypeRef type)
{
	unsigned int bits = float_bits(type);

	return bits ? LLVMIntTypeInContext(l->ctx, bits) : type;
}

LLVMValueRef lower_as_int(struct lower *l, LLVMValueRef v)
{
	LLVMTypeRef type = int_of(l, LLVMTypeOf(v));

	if (type == LLVMTypeOf(v))
		return v;
	if (LLVMIsUndef(v)) /* poison, too */
		return LLVMGetUndef(type);
	if (LLVMIsConstant(v))
		return LLVMConstBitCast(v, type);
	if (LLVMIsABitCastInst(v) && LLVMTypeOf(LLVMGetOperand(v, 0)) == type)
		return LLVMGetOperand(v, 0);
	return LLVMBuildBitCast(l->b, v, type, "");
}

static LLVMValueRef operand(struct lower *l, LLVMValueRef insn, unsigned int i)
{
	return lower_as_int(l, LLVMGetOperand(insn, i));
}

/* @v, an integer, in the place of @insn, which may be a float. */
static void replace(struct lower *l, LLVMValueRef insn, LLVMValueRef v)
{
	if (LLVMTypeOf(v) != LLVMTypeOf(insn))
		v = LLVMBuildBitCast(l->b, v, LLVMTypeOf(insn), "");
	LLVMReplaceAllUsesWith(insn, v);
	LLVMInstructionEraseFromParent(insn);
}

/* ----------------------------------------------------------- one instruction */

static int32_t arithmetic_helper(LLVMOpcode opcode, bool wide)
{
	switch (opcode) {
	case LLVMFAdd:
		return wide ? GPGPU_HELPER_fadd64 : GPGPU_HELPER_fadd32;
	case LLVMFSub:
		return wide ? GPGPU_HELPER_fsub64 : GPGPU_HELPER_fsub32;
	case LLVMFMul:
		return wide ? GPGPU_HELPER_fmul64 : GPGPU_HELPER_fmul32;
	case LLVMFDiv:
		return wide ? GPGPU_HELPER_fdiv64 : GPGPU_HELPER_fdiv32;
	default:
		return wide ? GPGPU_HELPER_fmod64 : GPGPU_HELPER_fmod32;
	}
}

static void lower_arithmetic(struct lower *l, LLVMValueRef insn)
{
	LLVMTypeRef type = int_of(l, LLVMTypeOf(insn));
	LLVMValueRef args[2] = { operand(l, insn, 0), operand(l, insn, 1) };
	int32_t number = arithmetic_helper(LLVMGetInstructionOpcode(insn), LLVMGetIntTypeWidth(type) == 64);

	replace(l, insn, lower_helper(l, number, args, 2, type));
}

static void lower_negation(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef v = operand(l, insn, 0);
	unsigned int bits = LLVMGetIntTypeWidth(LLVMTypeOf(v));

	replace(l, insn, LLVMBuildXor(l->b, v, LLVMConstInt(LLVMTypeOf(v), 1ull << (bits - 1), 0), ""));
}

/* a < b, a <= b or a == b, as an i1. */
static LLVMValueRef compare(struct lower *l, int32_t narrow, int32_t wide, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef args[2] = { a, b };
	LLVMValueRef v =
		lower_helper(l, LLVMGetIntTypeWidth(LLVMTypeOf(a)) == 64 ? wide : narrow, args, 2, l->i64);

	return LLVMBuildICmp(l->b, LLVMIntNE, v, LLVMConstInt(l->i64, 0, 0), "");
}

static LLVMValueRef less(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
	return compare(l, GPGPU_HELPER_flt32, GPGPU_HELPER_flt64, a, b);
}

static LLVMValueRef less_equal(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
	return compare(l, GPGPU_HELPER_fle32, GPGPU_HELPER_fle64, a, b);
}

static LLVMValueRef equal(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
	return compare(l, GPGPU_HELPER_feq32, GPGPU_HELPER_feq64, a, b);
}

static LLVMValueRef not(struct lower * l, LLVMValueRef v)
{
	return LLVMBuildNot(l->b, v, "");
}

/* Neither is a NaN. */
static LLVMValueRef ordered(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
	LLVMValueRef x = equal(l, a, a);

	return a == b ? x : LLVMBuildAnd(l->b, x, equal(l, b, b), "");
}

static LLVMValueRef differ(struct lower *l, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildOr(l->b, less(l, a, b), less(l, b, a), "");
}

static void lower_comparison(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef a = operand(l, insn, 0), b = operand(l, insn, 1), v;

	switch (LLVMGetFCmpPredicate(insn)) {
	case LLVMRealOEQ:
		v = equal(l, a, b);
		break;
	case LLVMRealOGT:
		v = less(l, b, a);
		break;
	case LLVMRealOGE:
		v = less_equal(l, b, a);
		break;
	case LLVMRealOLT:
		v = less(l, a, b);
		break;
	case LLVMRealOLE:
		v = less_equal(l, a, b);
		break;
	case LLVMRealONE:
		v = differ(l, a, b);
		break;
	case LLVMRealORD:
		v = ordered(l, a, b);
		break;
	case LLVMRealUNO:
		v = not(l, ordered(l, a, b));
		break;
	case LLVMRealUEQ:
		v = not(l, differ(l, a, b));
		break;
	case LLVMRealUGT:
		v = not(l, less_equal(l, a, b));
		break;
	case LLVMRealUGE:
		v = not(l, less(l, a, b));
		break;
	case LLVMRealULT:
		v = not(l, less_equal(l, b, a));
		break;
	case LLVMRealULE:
		v = not(l, less(l, b, a));
		break;
	case LLVMRealUNE:
		v = not(l, equal(l, a, b));
		break;
	case LLVMRealPredicateTrue:
		v = LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 1, 0);
		break;
	default:
		v = LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, 0);
	}
	LLVMReplaceAllUsesWith(insn, v);
	LLVMInstructionEraseFromParent(insn);
}

static void copy_access(struct lower *l, LLVMValueRef from, LLVMValueRef to)
{
	LLVMValueRef tbaa = LLVMGetMetadata(from, l->tbaa);

	LLVMSetAlignment(to, LLVMGetAlignment(from));
	LLVMSetVolatile(to, LLVMGetVolatile(from));
	if (LLVMGetOrdering(from) != LLVMAtomicOrderingNotAtomic)
		LLVMSetOrdering(to, LLVMGetOrdering(from));
	if (tbaa)
		LLVMSetMetadata(to, l->tbaa, tbaa);
}

static void lower_load(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef v = LLVMBuildLoad2(l->b, int_of(l, LLVMTypeOf(insn)), LLVMGetOperand(insn, 0), "");

	copy_access(l, insn, v);
	replace(l, insn, v);
}

static void lower_store(struct lower *l, LLVMValueRef insn)
{
	copy_access(l, insn, LLVMBuildStore(l->b, operand(l, insn, 0), LLVMGetOperand(insn, 1)));
	LLVMInstructionEraseFromParent(insn);
}

static void lower_phi(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef phi = LLVMBuildPhi(l->b, int_of(l, LLVMTypeOf(insn)), ""), next = insn, cast;

	while (LLVMIsAPHINode(next))
		next = LLVMGetNextInstruction(next);
	LLVMPositionBuilderBefore(l->b, next);
	cast = LLVMBuildBitCast(l->b, phi, LLVMTypeOf(insn), "");
	LLVMReplaceAllUsesWith(insn, cast);
	if (l->num_phis == l->room_phis) {
		l->room_phis = l->room_phis ? l->room_phis * 2 : 64;
		l->phis = realloc(l->phis, l->room_phis * sizeof(*l->phis));
		if (!l->phis)
			die("out of memory");
	}
	l->phis[l->num_phis++] = (struct lower_phi){ insn, phi };
}

static void fill_phi(struct lower *l, const struct lower_phi *phi)
{
	for (unsigned int i = 0; i < LLVMCountIncoming(phi->old); i++) {
		LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi->old, i);
		LLVMValueRef v = NULL;

		/* A block that is there twice has to bring the very same value. */
		for (unsigned int j = 0; j < i && !v; j++)
			if (LLVMGetIncomingBlock(phi->new, j) == block)
				v = LLVMGetIncomingValue(phi->new, j);
		if (!v) {
			LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(block));
			v = lower_as_int(l, LLVMGetIncomingValue(phi->old, i));
		}
		LLVMAddIncoming(phi->new, &v, &block, 1);
	}
	LLVMInstructionEraseFromParent(phi->old);
}

/* A call of a function of the file, whose floats have become integers. */
static void lower_own_call(struct lower *l, LLVMValueRef insn)
{
	LLVMTypeRef type = LLVMGetCalledFunctionType(insn), types[16];
	unsigned int count = LLVMGetNumArgOperands(insn);
	LLVMValueRef args[16], call;

	if (count > sizeof(args) / sizeof(*args)) {
		report(insn, "a call with more than five arguments");
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		args[i] = operand(l, insn, i);
		types[i] = LLVMTypeOf(args[i]);
	}
	type = LLVMFunctionType(int_of(l, LLVMGetReturnType(type)), types, count, 0);
	call = LLVMBuildCall2(l->b, type, LLVMGetCalledValue(insn), args, count, "");
	LLVMSetInstructionCallConv(call, LLVMGetInstructionCallConv(insn));
	LLVMSetTailCall(call, LLVMIsTailCall(insn));
	replace(l, insn, call);
}

static void lower_call(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef callee = LLVMGetCalledValue(insn);
	const struct math *math = NULL;
	unsigned int width = 0;
	size_t length;

	if (LLVMIsAFunction(callee) && !LLVMCountBasicBlocks(callee)) {
		const char *name = LLVMGetValueName2(callee, &length);

		math = math_intrinsic(name);
		if (!math)
			math = math_function(name, &width);
		if (!math) {
			if (strncmp(name, "llvm.dbg.", 9))
				report(insn, "'%s' of floating-point numbers is not there on devices", name);
			return;
		}
	}
	if (math)
		lower_math(l, insn, math, width);
	else
		lower_own_call(l, insn);
}

static void lower_cast(struct lower *l, LLVMValueRef insn)
{
	LLVMTypeRef to = LLVMTypeOf(insn);
	LLVMValueRef v = operand(l, insn, 0);

	switch (LLVMGetInstructionOpcode(insn)) {
	case LLVMFPToSI:
	case LLVMFPToUI:
		v = lower_to_int(l, v, to, LLVMGetInstructionOpcode(insn) == LLVMFPToSI);
		break;
	case LLVMSIToFP:
	case LLVMUIToFP:
		v = lower_from_int(l, v, float_bits(to) == 64, LLVMGetInstructionOpcode(insn) == LLVMSIToFP);
		break;
	case LLVMFPExt:
		v = lower_helper(l, GPGPU_HELPER_f64_from_f32, &v, 1, l->i64);
		break;
	default:
		v = lower_helper(l, GPGPU_HELPER_f32_from_f64, &v, 1, l->i32);
	}
	replace(l, insn, v);
}

static bool touches_float(LLVMValueRef insn)
{
	size_t length;

	if (is_float(insn))
		return true;
	for (int i = 0; i < LLVMGetNumOperands(insn); i++) {
		LLVMValueRef op = LLVMGetOperand(insn, (unsigned int)i);

		if (!LLVMIsABasicBlock(op) && LLVMGetTypeKind(LLVMTypeOf(op)) != LLVMMetadataTypeKind &&
		    is_float(op))
			return true;
	}
	/* No floats, but about them. */
	return LLVMGetInstructionOpcode(insn) == LLVMCall && LLVMIsAFunction(LLVMGetCalledValue(insn)) &&
	       !strncmp(LLVMGetValueName2(LLVMGetCalledValue(insn), &length), "llvm.convert.", 13);
}

static void lower_instruction(struct lower *l, LLVMValueRef insn)
{
	LLVMValueRef v;

	if (!touches_float(insn))
		return;
	LLVMPositionBuilderBefore(l->b, insn);
	switch (LLVMGetInstructionOpcode(insn)) {
	case LLVMFAdd:
	case LLVMFSub:
	case LLVMFMul:
	case LLVMFDiv:
	case LLVMFRem:
		lower_arithmetic(l, insn);
		return;
	case LLVMFNeg:
		lower_negation(l, insn);
		return;
	case LLVMFCmp:
		lower_comparison(l, insn);
		return;
	case LLVMFPToSI:
	case LLVMFPToUI:
	case LLVMSIToFP:
	case LLVMUIToFP:
	case LLVMFPExt:
	case LLVMFPTrunc:
		lower_cast(l, insn);
		return;
	case LLVMLoad:
		lower_load(l, insn);
		return;
	case LLVMStore:
		lower_store(l, insn);
		return;
	case LLVMPHI:
		lower_phi(l, insn);
		return;
	case LLVMSelect:
		v = LLVMBuildSelect(l->b, LLVMGetOperand(insn, 0), operand(l, insn, 1), operand(l, insn, 2),
				    "");
		replace(l, insn, v);
		return;
	case LLVMFreeze:
		replace(l, insn, LLVMBuildFreeze(l->b, operand(l, insn, 0), ""));
		return;
	case LLVMBitCast:
		return; /* settle() */
	case LLVMCall:
		lower_call(l, insn);
		return;
	case LLVMRet:
		LLVMBuildRet(l->b, operand(l, insn, 0));
		LLVMInstructionEraseFromParent(insn);
		return;
	case LLVMAtomicRMW:
		lower_atomic(l, insn);
		return;
	case LLVMExtractElement:
	case LLVMInsertElement:
	case LLVMShuffleVector:
		report(insn, "this vector of floating-point numbers cannot be taken apart");
		return;
	default:
		report(insn,
		       "floating-point numbers in a structure that is not in memory cannot be translated");
	}
}

/* -------------------------------------------------------------- one function */

/* Casts that undo each other, and then those that nobody uses. */
static void settle(struct lower *l, LLVMValueRef fn)
{
	LLVMValueRef next;
	bool again = true;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
			next = LLVMGetNextInstruction(i);
			if (!LLVMIsABitCastInst(i) || is_float(i) || !is_float(LLVMGetOperand(i, 0)))
				continue;
			LLVMPositionBuilderBefore(l->b, i);
			if (LLVMIsABitCastInst(LLVMGetOperand(i, 0)) ||
			    LLVMIsConstant(LLVMGetOperand(i, 0))) {
				LLVMReplaceAllUsesWith(i, lower_as_int(l, LLVMGetOperand(i, 0)));
				LLVMInstructionEraseFromParent(i);
			}
		}
	while (again) {
		again = false;
		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
			for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMIsABitCastInst(i) && is_float(i) && !LLVMGetFirstUse(i)) {
					LLVMInstructionEraseFromParent(i);
					again = true;
				}
			}
	}
}

static void lower_function(struct lower *l, LLVMValueRef fn)
{
	LLVMValueRef next;

	l->num_phis = 0;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
			next = LLVMGetNextInstruction(i);
			lower_instruction(l, i);
		}
	for (size_t i = 0; i < l->num_phis; i++)
		fill_phi(l, &l->phis[i]);
	settle(l, fn);
	if (report_count())
		return;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (touches_float(i))
				report(i, "this use of a floating-point number cannot be translated");
}

static bool has_floats(LLVMValueRef fn)
{
	bool found = float_bits(LLVMGetReturnType(LLVMGlobalGetValueType(fn))) != 0;

	for (unsigned int i = 0; i < LLVMCountParams(fn); i++)
		found |= is_float(LLVMGetParam(fn, i));
	return found;
}

/* The same function with integers for floats. Its calls are translated with the instructions. */
static void new_signature(struct lower *l, LLVMModuleRef module, LLVMValueRef old)
{
	LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
	unsigned int count = LLVMCountParams(old), num = LLVMGetAttributeCountAtIndex(old, at);
	LLVMAttributeRef *attributes = calloc(num + 1, sizeof(*attributes));
	LLVMTypeRef types[16], ret = int_of(l, LLVMGetReturnType(LLVMGlobalGetValueType(old)));
	LLVMMetadataRef subprogram = LLVMGetSubprogram(old);
	LLVMBasicBlockRef block;
	LLVMValueRef fn;
	char *name;
	size_t length;

	if (!attributes)
		die("out of memory");
	for (unsigned int i = 0; i < count; i++)
		types[i] = int_of(l, LLVMTypeOf(LLVMGetParam(old, i)));
	name = strdup(LLVMGetValueName2(old, &length));
	if (!name)
		die("out of memory");
	LLVMSetValueName2(old, "", 0);
	fn = LLVMAddFunction(module, name, LLVMFunctionType(ret, types, count, 0));
	free(name);
	LLVMSetLinkage(fn, LLVMGetLinkage(old));
	LLVMSetVisibility(fn, LLVMGetVisibility(old));
	LLVMSetFunctionCallConv(fn, LLVMGetFunctionCallConv(old));
	if (LLVMGetSection(old) && *LLVMGetSection(old))
		LLVMSetSection(fn, LLVMGetSection(old));
	LLVMGetAttributesAtIndex(old, at, attributes);
	for (unsigned int i = 0; i < num; i++)
		LLVMAddAttributeAtIndex(fn, at, attributes[i]);
	free(attributes);
	while ((block = LLVMGetFirstBasicBlock(old))) {
		LLVMRemoveBasicBlockFromParent(block);
		LLVMAppendExistingBasicBlock(fn, block);
	}
	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	for (unsigned int i = 0; i < count; i++) {
		LLVMValueRef param = LLVMGetParam(fn, i), was = LLVMGetParam(old, i);

		if (is_float(was))
			param = LLVMBuildBitCast(l->b, param, LLVMTypeOf(was), "");
		LLVMReplaceAllUsesWith(was, param);
	}
	LLVMReplaceAllUsesWith(old, fn);
	LLVMDeleteFunction(old);
	if (subprogram)
		LLVMSetSubprogram(fn, subprogram);
}

void lower_module(LLVMModuleRef module)
{
	struct lower l = { .ctx = LLVMGetModuleContext(module) };
	LLVMValueRef next;

	l.b = LLVMCreateBuilderInContext(l.ctx);
	l.i32 = LLVMInt32TypeInContext(l.ctx);
	l.i64 = LLVMInt64TypeInContext(l.ctx);
	l.tbaa = LLVMGetMDKindIDInContext(l.ctx, "tbaa", 4);
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = next) {
		next = LLVMGetNextFunction(fn);
		if (LLVMCountBasicBlocks(fn) && has_floats(fn))
			new_signature(&l, module, fn);
	}
	for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
		if (LLVMCountBasicBlocks(fn))
			lower_function(&l, fn);
	/* Intrinsics that nobody calls now have floats in their types, which the back end does not mind. */
	free(l.phis);
	LLVMDisposeBuilder(l.b);
}
