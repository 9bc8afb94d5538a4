/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nospec.c - masks against speculation, and where none is needed.
 *
 * The processor may run ahead of a check that fails. So an offset goes through a mask before the region's base is added:
 * an instruction sequence that LLVM cannot see into, which leaves offsets alone that can pass the check and turns
 * all others into 0. Until the program has been optimised, a call of gp_nospec(), which does not exist, stands for it, so
 * that equal ones become one; gp_nospec_finish() puts the sequence there. Should one be forgotten, the image has an
 * undefined symbol and is refused.
 *
 * No mask is needed where the arithmetic itself keeps the offset close to the region: 14 bytes behind the packet's start,
 * or a byte of the packet times four. What a branch says does not count, since a branch is what the processor guesses.
 * So this looks at operations and the widths of what they work on, nothing else: not at LLVM's flags and ranges, which
 * branches may be behind (and which are taken away where this has looked), and through no loop, whose number of turns is a branch's. It looks last of all, when
 * nothing can turn an operation into a branch's word any more. Constants are different: they stay what they are.
 * Masks of constants go early, so that LLVM sees a stack frame of constant offsets for what it is.
 */
#include <stdbool.h>
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include "jit/translate.h"

/*
 * The mask keeps o where 0 <= o + 32768 < len + 65024, else 0. The check lets o through from -32000 to len + 31999
 * (displacements), and what is kept reaches from -32768 - 32000 to len + 32255 + 32000 + 8, which is within GP_GUARD.
 */
#define BELOW  32768
#define BEYOND 32255
#define CODE   "leaq 32768($1), $0\n\tcmpq $2, $0\n\tsbbq $0, $0\n\tandq $1, $0"

static const char name[] = "gp_nospec";

/* ---------------------------------------------------------------- what is known of a value */

/* Values from @low to @high; neither where @any: nothing is known. Of types of less than 64 bits without a sign. */
struct range {
	int64_t low, high;
	bool any;
};

/* How far it is looked, so that it takes no time. */
#define MAX_DEPTH 12
#define MAX_STEPS 128

struct look {
	bool constants; /* only what is made of constants counts */
	uint32_t steps;
};

#define LARGE (1ll << 48) /* beyond this, nothing is known */

static bool set_range(struct range *r, unsigned int bits, int64_t low, int64_t high)
{
	bool narrow = bits < 64;

	*r = (struct range){ low, high, false };
	if (low < -LARGE || high > LARGE || (narrow && (low < 0 || high >= 1ll << bits)))
		*r = narrow && bits < 48 ? (struct range){ 0, (1ll << bits) - 1, false }
					 : (struct range){ 0, 0, true };
	return true;
}

static bool look_at(struct look *look, LLVMValueRef v, int depth, struct range *r);

static bool join(struct look *look, LLVMValueRef v, int depth, struct range *r, bool first)
{
	struct range one;

	if (!look_at(look, v, depth, &one))
		return false;
	if (first) {
		*r = one;
		return true;
	}
	r->any |= one.any;
	r->low = one.low < r->low ? one.low : r->low;
	r->high = one.high > r->high ? one.high : r->high;
	return true;
}

/* Smallest 2^n - 1 that is not below @x. */
static int64_t ones(int64_t x)
{
	return x > 0 ? (int64_t)(~0ull >> __builtin_clzll((uint64_t)x)) : 0;
}

static bool look_at_two(LLVMOpcode op, unsigned int bits, const struct range *a, const struct range *b,
			struct range *r)
{
	bool positive = !a->any && !b->any && a->low >= 0 && b->low >= 0;
	bool constant = !b->any && b->low == b->high && b->low >= 0;

	switch (op) {
	case LLVMAnd:
		if (!b->any && b->low >= 0)
			return set_range(r, bits, 0, positive && a->high < b->high ? a->high : b->high);
		if (!a->any && a->low >= 0)
			return set_range(r, bits, 0, a->high);
		break;
	case LLVMLShr:
		if (constant && b->low && b->low < bits && (a->any || a->low < 0))
			return set_range(r, bits, 0, (int64_t)(~0ull >> (64 - bits) >> b->low));
		if (constant && b->low < bits && positive)
			return set_range(r, bits, a->low >> b->low, a->high >> b->low);
		break;
	case LLVMURem:
		if (constant && b->low)
			return set_range(r, bits, 0, b->low - 1);
		break;
	case LLVMAdd:
		if (!a->any && !b->any)
			return set_range(r, bits, a->low + b->low, a->high + b->high);
		break;
	case LLVMSub:
		if (!a->any && !b->any)
			return set_range(r, bits, a->low - b->high, a->high - b->low);
		break;
	case LLVMOr:
	case LLVMXor:
		if (positive)
			return set_range(r, bits, 0, ones(a->high | b->high));
		break;
	case LLVMShl:
		if (constant && positive && b->low < 48 && a->high <= LARGE >> b->low)
			return set_range(r, bits, a->low << b->low, a->high << b->low);
		break;
	case LLVMMul:
		if (positive && (!b->high || a->high <= LARGE / b->high))
			return set_range(r, bits, a->low * b->low, a->high * b->high);
		break;
	default:
		break;
	}
	return set_range(r, bits, 0, INT64_MAX);
}

/*
 * What LLVM was told, or found, about an operation's result may be a branch's word: code generation is not to
 * rest on it where this does not.
 */
static void forget_flags(LLVMValueRef v)
{
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMAdd:
	case LLVMSub:
	case LLVMMul:
	case LLVMShl:
	case LLVMTrunc:
		LLVMSetNUW(v, 0);
		LLVMSetNSW(v, 0);
		break;
	case LLVMLShr:
		LLVMSetExact(v, 0);
		break;
	case LLVMOr:
		LLVMSetIsDisjoint(v, 0);
		break;
	case LLVMZExt:
		LLVMSetNNeg(v, 0);
		break;
	default:
		break;
	}
}

/* Return: false where nothing may be said of @v, nor of anything that is made of it. */
static bool look_at(struct look *look, LLVMValueRef v, int depth, struct range *r)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	struct range a, b;
	unsigned int bits;
	LLVMOpcode op;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64 ||
	    depth > MAX_DEPTH || look->steps++ > MAX_STEPS)
		return false;
	bits = LLVMGetIntTypeWidth(type);
	if (LLVMIsAConstantInt(v)) {
		int64_t value = bits < 64 ? (int64_t)LLVMConstIntGetZExtValue(v)
					  : LLVMConstIntGetSExtValue(v);

		return set_range(r, bits, value, value);
	}
	if (!look->constants && LLVMIsAInstruction(v))
		forget_flags(v);
	if (LLVMIsAPHINode(v)) {
		for (unsigned int i = 0; i < LLVMCountIncoming(v); i++)
			if (!join(look, LLVMGetIncomingValue(v, i), depth + 1, r, !i))
				return false;
		return true;
	}
	if (LLVMIsASelectInst(v))
		return join(look, LLVMGetOperand(v, 1), depth + 1, r, true) &&
		       join(look, LLVMGetOperand(v, 2), depth + 1, r, false);
	if (LLVMIsABinaryOperator(v)) {
		op = LLVMGetInstructionOpcode(v);
		if (look->constants && op != LLVMAdd)
			return false;
		return look_at(look, LLVMGetOperand(v, 0), depth + 1, &a) &&
		       look_at(look, LLVMGetOperand(v, 1), depth + 1, &b) && look_at_two(op, bits, &a, &b, r);
	}
	if (look->constants)
		return false;
	if (LLVMIsAZExtInst(v) || LLVMIsATruncInst(v)) {
		if (!look_at(look, LLVMGetOperand(v, 0), depth + 1, &a))
			return false;
		return a.any ? set_range(r, bits, 0, INT64_MAX) : set_range(r, bits, a.low, a.high);
	}
	/* What comes from elsewhere is as wide as its type. */
	if (LLVMIsALoadInst(v) || LLVMIsACallInst(v) || LLVMIsAArgument(v))
		return set_range(r, bits, 0, INT64_MAX);
	/* A load that is frozen is what was loaded. */
	if (LLVMIsAFreezeInst(v) && LLVMIsALoadInst(LLVMGetOperand(v, 0)))
		return set_range(r, bits, 0, INT64_MAX);
	return false;
}

/* How far @v is from @start, of which nothing is known. */
static bool distance(struct look *look, LLVMValueRef v, LLVMValueRef start, int depth, struct range *r)
{
	struct range one, more;

	if (v == start)
		return set_range(r, 64, 0, 0);
	if (depth > MAX_DEPTH || look->steps++ > MAX_STEPS)
		return false;
	if (LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMAdd) {
		if (!look->constants)
			forget_flags(v);
		for (unsigned int i = 0; i < 2; i++)
			if (distance(look, LLVMGetOperand(v, i), start, depth + 1, &one) &&
			    look_at(look, LLVMGetOperand(v, 1 - i), depth + 1, &more) && !one.any &&
			    !more.any)
				return set_range(r, 64, one.low + more.low, one.high + more.high);
		return false;
	}
	if (!LLVMIsAPHINode(v))
		return false;
	for (unsigned int i = 0; i < LLVMCountIncoming(v); i++) {
		if (!distance(look, LLVMGetIncomingValue(v, i), start, depth + 1, &one) || one.any)
			return false;
		if (!i)
			*r = one;
		r->low = one.low < r->low ? one.low : r->low;
		r->high = one.high > r->high ? one.high : r->high;
	}
	return true;
}

/* ------------------------------------------------------------------------ masks */

static bool is_close(const struct range *r, int64_t len)
{
	return !r->any && r->low >= -BELOW && r->high <= len + BEYOND;
}

static bool needs_none(LLVMValueRef call, bool constants)
{
	LLVMValueRef off = LLVMGetOperand(call, 0), len = LLVMGetOperand(call, 1),
		     start = LLVMGetOperand(call, 2);
	struct look look = { .constants = constants };
	struct range r;
	int64_t size = LLVMIsAConstantInt(len) ? LLVMConstIntGetSExtValue(len) : 0;

	if (size < 0 || size > LARGE)
		return false;
	if (look_at(&look, off, 0, &r) && is_close(&r, size))
		return true;
	look.steps = 0;
	return !LLVMIsAConstantInt(start) && distance(&look, off, start, 0, &r) && is_close(&r, 0);
}

static LLVMValueRef declaration(LLVMModuleRef mod)
{
	static const char *const attributes[] = { "memory", "nounwind", "willreturn", "nosync", "nofree" };
	LLVMContextRef ctx = LLVMGetModuleContext(mod);
	LLVMTypeRef i64 = LLVMInt64TypeInContext(ctx), params[3] = { i64, i64, i64 };
	LLVMValueRef fn = LLVMGetNamedFunction(mod, name);

	if (fn)
		return fn;
	fn = LLVMAddFunction(mod, name, LLVMFunctionType(i64, params, 3, 0));
	/* memory(none): so that equal ones become one. */
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		unsigned int kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));

		LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
					LLVMCreateEnumAttribute(ctx, kind, 0));
	}
	return fn;
}

LLVMValueRef gp_tr_nospec(struct gp_tr *tr, LLVMValueRef off, LLVMValueRef len, LLVMValueRef start)
{
	LLVMValueRef args[3] = { off, len, start ? start : gp_tr_const(tr, 0) }, fn;

#ifdef GPGPU_UNCHECKED /* a compiler for a benchmark, which nothing installs */
	return off;
#endif
	if (tr->gpu)
		return off;
	fn = declaration(tr->mod);
	return LLVMBuildCall2(tr->b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
}

static LLVMValueRef mask(struct gp_tr *tr, LLVMValueRef call)
{
	LLVMValueRef args[2] = { LLVMGetOperand(call, 0), LLVMGetOperand(call, 1) };
	bool small;

	LLVMPositionBuilderBefore(tr->b, call);
	LLVMSetCurrentDebugLocation2(tr->b, LLVMInstructionGetDebugLoc(call));
	args[1] = LLVMBuildAdd(tr->b, args[1], gp_tr_const(tr, BELOW + BEYOND + 1), "");
	small = LLVMIsAConstantInt(args[1]) && LLVMConstIntGetSExtValue(args[1]) <= INT32_MAX;
	return gp_tr_asm(tr, CODE, small ? "=&r,r,i,~{flags}" : "=&r,r,r,~{flags}", tr->i64, args, 2);
}

static void replace(LLVMModuleRef mod, bool last)
{
	LLVMValueRef fn = LLVMGetNamedFunction(mod, name), call;
	struct gp_tr tr = { .mod = mod, .ctx = LLVMGetModuleContext(mod) };
	LLVMUseRef use, next;

	if (!fn)
		return;
	tr.b = LLVMCreateBuilderInContext(tr.ctx);
	tr.i32 = LLVMInt32TypeInContext(tr.ctx);
	tr.i64 = LLVMInt64TypeInContext(tr.ctx);
	for (use = LLVMGetFirstUse(fn); use; use = next) {
		LLVMValueRef by = NULL;

		next = LLVMGetNextUse(use);
		call = LLVMGetUser(use);
		if (needs_none(call, !last))
			by = LLVMGetOperand(call, 0);
		else if (last)
			by = mask(&tr, call);
		if (!by)
			continue;
		LLVMReplaceAllUsesWith(call, by);
		LLVMInstructionEraseFromParent(call);
	}
	LLVMDisposeBuilder(tr.b);
	if (last)
		LLVMDeleteFunction(fn);
}

void gp_nospec_constants(LLVMModuleRef mod)
{
	replace(mod, false);
}

void gp_nospec_finish(LLVMModuleRef mod)
{
	replace(mod, true);
}
