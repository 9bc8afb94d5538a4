// SPDX-License-Identifier: BSD-3-Clause
/*
 * lower_math.c - calls of helpers: conversions, math functions, intrinsics.
 */
#include <string.h>
#include "gpgpu_bpf.h"
#include "lower.h"

static void add_attribute(struct lower *l, LLVMValueRef call, const char *name)
{
	unsigned int kind = LLVMGetEnumAttributeKindForName(name, strlen(name));

	/* For "memory" 0 is: none. */
	LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				 LLVMCreateEnumAttribute(l->ctx, kind, 0));
}

LLVMValueRef lower_helper(struct lower *l, int32_t number, const LLVMValueRef *args, unsigned int count,
			  LLVMTypeRef type)
{
	LLVMValueRef wide[3], call;

	for (unsigned int i = 0; i < count; i++) {
		/* Helpers do not look at the rest of the register, so what another one returned is as good as its low half. */
		if (LLVMIsATruncInst(args[i]) && LLVMTypeOf(LLVMGetOperand(args[i], 0)) == l->i64)
			wide[i] = LLVMGetOperand(args[i], 0);
		else
			wide[i] = LLVMBuildZExt(l->b, args[i], l->i64, "");
	}
	call = helper_call(l->b, number, wide, count);
	add_attribute(l, call, "memory");
	add_attribute(l, call, "nounwind");
	add_attribute(l, call, "willreturn");
	return LLVMBuildTrunc(l->b, call, type, "");
}

/* -------------------------------------------------------------- conversions */

/* The nearest number of @bits bits, within one of 32. */
static LLVMValueRef clamp(struct lower *l, LLVMValueRef v, unsigned int bits, bool is_signed)
{
	uint64_t high = is_signed ? (1ull << (bits - 1)) - 1 : (1ull << bits) - 1;
	LLVMValueRef top = LLVMConstInt(l->i32, high, 0), low = LLVMConstInt(l->i32, ~high, 0);
	LLVMIntPredicate over = is_signed ? LLVMIntSGT : LLVMIntUGT;

	v = LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, over, v, top, ""), top, v, "");
	if (is_signed)
		v = LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntSLT, v, low, ""), low, v, "");
	return v;
}

LLVMValueRef lower_to_int(struct lower *l, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
	unsigned int bits = LLVMGetIntTypeWidth(to);
	bool wide = LLVMGetIntTypeWidth(LLVMTypeOf(v)) == 64;
	int32_t number;

	if (bits > 32) {
		number = is_signed ? wide ? GPGPU_HELPER_s_from_f64 : GPGPU_HELPER_s_from_f32
			 : wide	   ? GPGPU_HELPER_u_from_f64
				   : GPGPU_HELPER_u_from_f32;
		/* No such type in C; what is between comes from LLVM, which knows that it fits. */
		return lower_helper(l, number, &v, 1, to);
	}
	number = is_signed ? wide ? GPGPU_HELPER_s32_from_f64 : GPGPU_HELPER_s32_from_f32
		 : wide	   ? GPGPU_HELPER_u32_from_f64
			   : GPGPU_HELPER_u32_from_f32;
	v = lower_helper(l, number, &v, 1, l->i32);
	if (bits == 32)
		return v;
	return LLVMBuildTrunc(l->b, clamp(l, v, bits, is_signed), to, "");
}

LLVMValueRef lower_from_int(struct lower *l, LLVMValueRef v, bool wide, bool is_signed)
{
	int32_t number = is_signed ? wide ? GPGPU_HELPER_f64_from_s : GPGPU_HELPER_f32_from_s
			 : wide	   ? GPGPU_HELPER_f64_from_u
				   : GPGPU_HELPER_f32_from_u;

	v = is_signed ? LLVMBuildSExt(l->b, v, l->i64, "") : LLVMBuildZExt(l->b, v, l->i64, "");
	return lower_helper(l, number, &v, 1, wide ? l->i64 : l->i32);
}

/* ------------------------------------------------------------------ classes */

/* Bits of llvm.is.fpclass's second argument, as LLVM's manual has them. */
enum {
	SIGNALLING = 1 << 0,
	QUIET = 1 << 1,
	MINUS_INFINITY = 1 << 2,
	MINUS_NORMAL = 1 << 3,
	MINUS_DENORMAL = 1 << 4,
	MINUS_ZERO = 1 << 5,
	ZERO = 1 << 6,
	DENORMAL = 1 << 7,
	NORMAL = 1 << 8,
	INFINITE = 1 << 9,
};

struct class_test {
	struct lower *l;
	LLVMTypeRef type;
	LLVMValueRef magnitude, negative;
	LLVMValueRef result;
	unsigned int mask;
};

static LLVMValueRef number(struct class_test *t, uint64_t n)
{
	return LLVMConstInt(t->type, n, 0);
}

/* @is where the mask has one of the two bits, with that sign; where it has both, with any. */
static void add_class(struct class_test *t, LLVMValueRef is, unsigned int plus, unsigned int minus)
{
	LLVMBuilderRef b = t->l->b;
	bool on_plus = t->mask & plus, on_minus = t->mask & minus;

	if (!on_plus && !on_minus)
		return;
	if (!on_plus)
		is = LLVMBuildAnd(b, is, t->negative, "");
	if (!on_minus)
		is = LLVMBuildAnd(b, is, LLVMBuildNot(b, t->negative, ""), "");
	t->result = LLVMBuildOr(b, t->result, is, "");
}

/* Magnitude from @first on, @count of them. */
static LLVMValueRef in_range(struct class_test *t, uint64_t first, uint64_t count)
{
	LLVMBuilderRef b = t->l->b;

	return LLVMBuildICmp(b, LLVMIntULT, LLVMBuildSub(b, t->magnitude, number(t, first), ""),
			     number(t, count), "");
}

static LLVMValueRef is_class(struct lower *l, LLVMValueRef v, unsigned int mask)
{
	struct class_test t = { .l = l, .type = LLVMTypeOf(v), .mask = mask };
	bool wide = LLVMGetIntTypeWidth(t.type) == 64;
	uint64_t sign = wide ? 1ull << 63 : 1ull << 31, infinite = wide ? 0x7ffull << 52 : 0xffull << 23;
	uint64_t normal = wide ? 1ull << 52 : 1ull << 23, quiet = normal >> 1;

	t.magnitude = LLVMBuildAnd(l->b, v, number(&t, sign - 1), "");
	t.negative = LLVMBuildICmp(l->b, LLVMIntSLT, v, number(&t, 0), "");
	t.result = LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, 0);
	if (mask & SIGNALLING)
		add_class(&t, in_range(&t, infinite + 1, quiet - 1), SIGNALLING, SIGNALLING);
	if (mask & QUIET)
		add_class(&t, LLVMBuildICmp(l->b, LLVMIntUGE, t.magnitude, number(&t, infinite | quiet), ""),
			  QUIET, QUIET);
	add_class(&t, LLVMBuildICmp(l->b, LLVMIntEQ, t.magnitude, number(&t, infinite), ""), INFINITE,
		  MINUS_INFINITY);
	add_class(&t, in_range(&t, normal, infinite - normal), NORMAL, MINUS_NORMAL);
	add_class(&t, in_range(&t, 1, normal - 1), DENORMAL, MINUS_DENORMAL);
	add_class(&t, LLVMBuildICmp(l->b, LLVMIntEQ, t.magnitude, number(&t, 0), ""), ZERO, MINUS_ZERO);
	return t.result;
}

/* ---------------------------------------------------------------- functions */

static LLVMValueRef sign_bit(LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);

	return LLVMConstInt(type, 1ull << (LLVMGetIntTypeWidth(type) - 1), 0);
}

static LLVMValueRef without_sign(struct lower *l, LLVMValueRef v)
{
	return LLVMBuildAnd(l->b, v, LLVMConstNot(sign_bit(v)), "");
}

/* Return: whether a function that the user declared has the type that math.h would have given it. */
static bool as_declared(LLVMValueRef call, const struct math *math, unsigned int width)
{
	LLVMTypeKind kind = width == 32 ? LLVMFloatTypeKind : LLVMDoubleTypeKind;

	if (LLVMGetNumArgOperands(call) != math->args || LLVMGetTypeKind(LLVMTypeOf(call)) != kind)
		return false;
	for (unsigned int i = 0; i < math->args; i++)
		if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(call, i))) != kind)
			return false;
	return true;
}

void lower_math(struct lower *l, LLVMValueRef call, const struct math *math, unsigned int width)
{
	LLVMTypeRef type = LLVMTypeOf(call);
	bool wide = LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
	LLVMValueRef args[3] = { NULL }, v;

	if (width && !as_declared(call, math, width)) {
		report(call, "'%s%s' is declared otherwise than in <math.h>", math->name,
		       width == 32 ? "f" : "");
		return;
	}
	for (unsigned int i = 0; i < math->args; i++)
		args[i] = lower_as_int(l, LLVMGetOperand(call, i));
	switch (math->kind) {
	case MATH_FABS:
		v = without_sign(l, args[0]);
		break;
	case MATH_COPYSIGN:
		v = LLVMBuildAnd(l->b, args[1], sign_bit(args[1]), "");
		v = LLVMBuildOr(l->b, without_sign(l, args[0]), v, "");
		break;
	case MATH_IS_CLASS:
		v = is_class(l, args[0], (unsigned int)LLVMConstIntGetZExtValue(args[1]));
		break;
	case MATH_TO_INT:
	case MATH_TO_UINT:
		v = lower_to_int(l, args[0], type, math->kind == MATH_TO_INT);
		break;
	case MATH_FROM_HALF:
		v = lower_helper(l, GPGPU_HELPER_f32_from_f16, args, 1, l->i32);
		if (wide)
			v = lower_helper(l, GPGPU_HELPER_f64_from_f32, &v, 1, l->i64);
		break;
	case MATH_TO_HALF:
		wide = LLVMGetIntTypeWidth(LLVMTypeOf(args[0])) == 64;
		v = lower_helper(l, wide ? GPGPU_HELPER_f16_from_f64 : GPGPU_HELPER_f16_from_f32, args, 1,
				 type);
		break;
	default:
		v = lower_helper(l, math->helper[wide], args, math->args, wide ? l->i64 : l->i32);
	}
	if (LLVMTypeOf(v) != type)
		v = LLVMBuildBitCast(l->b, v, type, "");
	LLVMReplaceAllUsesWith(call, v);
	LLVMInstructionEraseFromParent(call);
}
