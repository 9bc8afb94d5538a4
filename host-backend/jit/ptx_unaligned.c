/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_unaligned.c - accesses to any address for NVIDIA GPUs, whose loads and stores want multiples of their size.
 *
 * A program's accesses may be to any address, and most that are to packets are: an address in an Ethernet frame that
 * begins at a multiple of 4 is at 2 more than one. LLVM takes such an access apart into bytes. Where it does not know
 * better (this runs behind infer-alignment):
 *
 *	loads	of 2, 4 and 8 bytes take the aligned words that hold the first and the last byte, and what lies between, and shift:
 *		no more is touched than words of which bytes are asked for, so that no page is that was not.
 *	stores	of 2, 4 and 8 bytes look how far the address is aligned and store the largest pieces that they may. Lanes hardly
 *		ever differ there. It is done by predicates, not by branches.
 *
 * For global memory, and packets, which are there or among what a work group shares (rt/slots.h); what a lane has of its own
 * is aligned by us, and never comes here.
 */
#include <stdio.h>
#include <string.h>
#include "jit/ptx.h"

struct op {
	LLVMBuilderRef b;
	LLVMContextRef ctx;
	LLVMModuleRef mod;
	LLVMTypeRef i32, i64;
};

enum { SPACE_GENERIC = 0, SPACE_GLOBAL = 1 };

static LLVMValueRef number(struct op *op, uint64_t n)
{
	return LLVMConstInt(op->i64, n, 0);
}

/* The word that byte @byte behind @at is in. */
static LLVMValueRef word_at(struct op *op, LLVMValueRef at, uint64_t byte, LLVMTypeRef pointer)
{
	LLVMValueRef where = byte ? LLVMBuildAdd(op->b, at, number(op, byte), "") : at, word;

	where = LLVMBuildAnd(op->b, where, number(op, ~3ull), "");
	word = LLVMBuildLoad2(op->b, op->i32, LLVMBuildIntToPtr(op->b, where, pointer, ""), "");
	LLVMSetAlignment(word, 4);
	return word;
}

static LLVMValueRef funnel(struct op *op, LLVMValueRef high, LLVMValueRef low, LLVMValueRef shift)
{
	unsigned int id = LLVMLookupIntrinsicID("llvm.fshr", 9);
	LLVMValueRef fn = LLVMGetIntrinsicDeclaration(op->mod, id, &op->i32, 1),
		     args[3] = { high, low, shift };

	return LLVMBuildCall2(op->b, LLVMIntrinsicGetType(op->ctx, id, &op->i32, 1), fn, args, 3, "");
}

static LLVMValueRef load(struct op *op, LLVMValueRef old, unsigned int bits)
{
	LLVMValueRef at = LLVMBuildPtrToInt(op->b, LLVMGetOperand(old, 0), op->i64, ""), shift, first, last,
		     middle;
	LLVMTypeRef pointer = LLVMTypeOf(LLVMGetOperand(old, 0));

	shift = LLVMBuildShl(op->b, LLVMBuildTrunc(op->b, at, op->i32, ""), LLVMConstInt(op->i32, 3, 0), "");
	shift = LLVMBuildAnd(op->b, shift, LLVMConstInt(op->i32, 24, 0), "");
	first = word_at(op, at, 0, pointer);
	last = word_at(op, at, bits / 8 - 1, pointer);
	if (bits == 16)
		return LLVMBuildTrunc(op->b, funnel(op, last, first, shift), LLVMInt16TypeInContext(op->ctx),
				      "");
	if (bits == 32)
		return funnel(op, last, first, shift);
	middle = word_at(op, at, 4, pointer);
	first = LLVMBuildZExt(op->b, funnel(op, middle, first, shift), op->i64, "");
	last = LLVMBuildZExt(op->b, funnel(op, last, middle, shift), op->i64, "");
	return LLVMBuildOr(op->b, first, LLVMBuildShl(op->b, last, number(op, 32), ""), "");
}

/* Adds to @code the stores of @bits in pieces of @piece for lanes for which the predicate @when holds. */
static size_t pieces(char *code, size_t room, unsigned int bits, unsigned int piece, const char *when,
		     const char *space)
{
	size_t n = 0;

	for (unsigned int at = 0; at < bits; at += piece) {
		if (at)
			n += (size_t)snprintf(code + n, room - n, "shr.u%u v, $1, %u;\n\t",
					      bits > 32 ? 64 : 32, at);
		n += (size_t)snprintf(code + n, room - n, "@%s st%s.u%u [$0+%u], %s;\n\t", when, space, piece,
				      at / 8, at ? "v" : "$1");
	}
	return n;
}

/* Aligned as a whole, at even addresses, and at odd ones. For 64 bits also at multiples of 4. */
static void store(struct op *op, LLVMValueRef old, unsigned int bits)
{
	static const char *const predicates[] = { "odd", "even", "four", "eight" };
	LLVMValueRef args[2] = { LLVMGetOperand(old, 1), LLVMGetOperand(old, 0) }, as;
	LLVMTypeRef params[2], type;
	unsigned int steps = bits == 64 ? 4 : bits == 32 ? 3 : 2;
	const char *space = LLVMGetPointerAddressSpace(LLVMTypeOf(args[0])) == SPACE_GLOBAL ? ".global" : "";
	char code[1600];
	size_t n;

	if (bits == 16)
		args[1] = LLVMBuildZExt(op->b, args[1], op->i32, "");
	n = (size_t)snprintf(code, sizeof(code),
			     "{\n\t.reg .pred odd, even, four, eight;\n\t.reg .b32 low, part;\n\t"
			     ".reg .b%u v;\n\tcvt.u32.u64 low, $0;\n\t",
			     bits > 32 ? 64 : 32);
	/* Bit i of the address: the largest piece that it allows. */
	n += (size_t)snprintf(code + n, sizeof(code) - n,
			      "and.b32 part, low, %u;\n\tsetp.eq.u32 %s, part, 0;\n\t", bits / 8 - 1,
			      predicates[steps - 1]);
	for (unsigned int i = 0; i + 1 < steps; i++)
		n += (size_t)snprintf(code + n, sizeof(code) - n,
				      "and.b32 part, low, %u;\n\tsetp.eq.u32 %s, part, %u;\n\t",
				      (2u << i) - 1, predicates[i], 1u << i);
	for (unsigned int i = 0; i < steps; i++)
		n += pieces(code + n, sizeof(code) - n, bits, 8u << i, predicates[i], space);
	snprintf(code + n, sizeof(code) - n, "}");
	params[0] = LLVMTypeOf(args[0]);
	params[1] = LLVMTypeOf(args[1]);
	type = LLVMFunctionType(LLVMVoidTypeInContext(op->ctx), params, 2, 0);
	as = LLVMGetInlineAsm(type, code, strlen(code), bits == 64 ? "l,l,~{memory}" : "l,r,~{memory}", 13, 1,
			      0, LLVMInlineAsmDialectATT, 0);
	LLVMBuildCall2(op->b, type, as, args, 2, "");
}

static LLVMValueRef at_byte(struct op *op, LLVMValueRef at, unsigned int byte)
{
	LLVMValueRef offset = number(op, byte);

	return byte ? LLVMBuildGEP2(op->b, LLVMInt8TypeInContext(op->ctx), at, &offset, 1, "") : at;
}

/*
 * Of 3, 5, 6 or 7 bytes, as LLVM makes them of an Ethernet address: in pieces of 4, 2 and 1, which then are looked at in
 * turn. @value: what is stored, or NULL. Return: what was loaded.
 */
static LLVMValueRef split(struct op *op, LLVMValueRef old, LLVMValueRef value, LLVMTypeRef type,
			  LLVMValueRef at)
{
	unsigned int bytes = LLVMGetIntTypeWidth(type) / 8, align = LLVMGetAlignment(old), byte = 0;
	LLVMValueRef all = LLVMConstInt(type, 0, 0), part;

	for (unsigned int piece = 4; piece; piece /= 2) {
		LLVMTypeRef piece_type = LLVMIntTypeInContext(op->ctx, piece * 8);
		LLVMValueRef shift = LLVMConstInt(type, byte * 8, 0);
		unsigned int own = byte ? byte & -byte : align;

		if (!(bytes & piece))
			continue;
		if (value) {
			part = LLVMBuildTrunc(op->b, LLVMBuildLShr(op->b, value, shift, ""), piece_type, "");
			part = LLVMBuildStore(op->b, part, at_byte(op, at, byte));
		} else {
			part = LLVMBuildLoad2(op->b, piece_type, at_byte(op, at, byte), "");
			all = LLVMBuildOr(op->b, all,
					  LLVMBuildShl(op->b, LLVMBuildZExt(op->b, part, type, ""), shift,
						       ""),
					  "");
		}
		LLVMSetAlignment(part, own < align ? own : align);
		byte += piece;
	}
	return all;
}

/* Of two bytes at once, which code generation would take apart by way of the stack. Return: whether it was one. */
static bool split_pair(struct op *op, LLVMValueRef old)
{
	LLVMTypeRef type = LLVMTypeOf(old), i8 = LLVMInt8TypeInContext(op->ctx),
		    i16 = LLVMInt16TypeInContext(op->ctx);
	LLVMValueRef both, part, pair = LLVMGetUndef(type);

	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetVectorSize(type) != 2 ||
	    LLVMGetElementType(type) != i8)
		return false;
	both = LLVMBuildLoad2(op->b, i16, LLVMGetOperand(old, 0), "");
	LLVMSetAlignment(both, LLVMGetAlignment(old));
	for (unsigned int i = 0; i < 2; i++) {
		part = LLVMBuildTrunc(op->b, LLVMBuildLShr(op->b, both, LLVMConstInt(i16, i * 8, 0), ""), i8,
				      "");
		pair = LLVMBuildInsertElement(op->b, pair, part, LLVMConstInt(op->i32, i, 0), "");
	}
	LLVMReplaceAllUsesWith(old, pair);
	LLVMInstructionEraseFromParent(old);
	return true;
}

static bool is_plain(LLVMValueRef v)
{
	return (LLVMIsALoadInst(v) || LLVMIsAStoreInst(v)) && !LLVMGetVolatile(v) &&
	       LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic;
}

/* Return: the next instruction to look at. */
static LLVMValueRef rewrite(struct op *op, LLVMValueRef old)
{
	LLVMValueRef next = LLVMGetNextInstruction(old), before = LLVMGetPreviousInstruction(old), value, at,
		     new;
	bool loads = LLVMIsALoadInst(old) != NULL;
	unsigned int bits, space;
	LLVMTypeRef type;

	if (!is_plain(old))
		return next;
	value = loads ? old : LLVMGetOperand(old, 0);
	at = LLVMGetOperand(old, loads ? 0 : 1);
	type = LLVMTypeOf(value);
	space = LLVMGetPointerAddressSpace(LLVMTypeOf(at));
	LLVMPositionBuilderBefore(op->b, old);
	if (loads && split_pair(op, old))
		return next;
	bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
	if ((space != SPACE_GENERIC && space != SPACE_GLOBAL) || bits % 8 || bits < 16 || bits > 64)
		return next;
	if (bits & (bits - 1)) {
		new = split(op, old, loads ? NULL : value, type, at);
		next = before ? LLVMGetNextInstruction(before)
			      : LLVMGetFirstInstruction(LLVMGetInstructionParent(old));
	} else if (LLVMGetAlignment(old) * 8 >= bits) {
		return next;
	} else if (loads) {
		new = load(op, old, bits);
	} else {
		store(op, old, bits);
		new = NULL;
	}
	if (loads)
		LLVMReplaceAllUsesWith(old, new);
	LLVMInstructionEraseFromParent(old);
	return next;
}

void gp_ptx_unaligned(LLVMModuleRef mod)
{
	struct op op = { .mod = mod, .ctx = LLVMGetModuleContext(mod) };

	op.b = LLVMCreateBuilderInContext(op.ctx);
	op.i32 = LLVMInt32TypeInContext(op.ctx);
	op.i64 = LLVMInt64TypeInContext(op.ctx);
	for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
			LLVMValueRef v = LLVMGetFirstInstruction(bb);

			while (v)
				v = rewrite(&op, v);
		}
	LLVMDisposeBuilder(op.b);
}
