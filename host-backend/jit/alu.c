/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alu.c - arithmetic and comparisons, by RFC 9669.
 *
 * Where a pointer is represented as an offset, adding to it and taking differences work on the offset; where
 * two kinds meet, both sides become handles. 32-bit operations see the low half of either, which is
 * the same, and make numbers.
 */
#include "bpf/opcodes.h"
#include "jit/translate.h"

static LLVMValueRef low_half(struct gp_tr *tr, LLVMValueRef value)
{
	return LLVMBuildTrunc(tr->b, value, gp_tr_int(tr, 32), "");
}

static LLVMValueRef is_const(struct gp_tr *tr, LLVMValueRef value, uint64_t to)
{
	return LLVMBuildICmp(tr->b, LLVMIntEQ, value, gp_tr_number(LLVMTypeOf(value), to), "");
}

/* x / 0 = 0, x % 0 = x, INT_MIN / -1 = INT_MIN, INT_MIN % -1 = 0; never LLVM's undefined cases. */
static LLVMValueRef divide(struct gp_tr *tr, LLVMValueRef x, LLVMValueRef y, bool is_signed, bool mod)
{
	LLVMTypeRef type = LLVMTypeOf(x);
	LLVMValueRef zero = gp_tr_number(type, 0), one = gp_tr_number(type, 1), result;
	LLVMValueRef by_zero = is_const(tr, y, 0), by_minus = is_const(tr, y, UINT64_MAX);
	LLVMValueRef safe = LLVMBuildSelect(tr->b, by_zero, one, y, "");

	if (is_signed) {
		safe = LLVMBuildSelect(tr->b, by_minus, one, safe, "");
		result = mod ? LLVMBuildSRem(tr->b, x, safe, "") : LLVMBuildSDiv(tr->b, x, safe, "");
		result = LLVMBuildSelect(tr->b, by_minus, mod ? zero : LLVMBuildSub(tr->b, zero, x, ""),
					 result, "");
	} else {
		result = mod ? LLVMBuildURem(tr->b, x, safe, "") : LLVMBuildUDiv(tr->b, x, safe, "");
	}
	return LLVMBuildSelect(tr->b, by_zero, mod ? x : zero, result, "");
}

/* Both of one width. */
static LLVMValueRef binary(struct gp_tr *tr, const struct bpf_insn *insn, LLVMValueRef x, LLVMValueRef y)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	LLVMValueRef mask = gp_tr_number(LLVMTypeOf(x), wide ? 63 : 31);

	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		return LLVMBuildAdd(tr->b, x, y, "");
	case BPF_SUB:
		return LLVMBuildSub(tr->b, x, y, "");
	case BPF_MUL:
		return LLVMBuildMul(tr->b, x, y, "");
	case BPF_DIV:
		return divide(tr, x, y, insn->off == 1, false);
	case BPF_MOD:
		return divide(tr, x, y, insn->off == 1, true);
	case BPF_OR:
		return LLVMBuildOr(tr->b, x, y, "");
	case BPF_AND:
		return LLVMBuildAnd(tr->b, x, y, "");
	case BPF_XOR:
		return LLVMBuildXor(tr->b, x, y, "");
	case BPF_LSH:
		return LLVMBuildShl(tr->b, x, LLVMBuildAnd(tr->b, y, mask, ""), "");
	case BPF_RSH:
		return LLVMBuildLShr(tr->b, x, LLVMBuildAnd(tr->b, y, mask, ""), "");
	default: /* BPF_ARSH */
		return LLVMBuildAShr(tr->b, x, LLVMBuildAnd(tr->b, y, mask, ""), "");
	}
}

static LLVMValueRef byte_swap(struct gp_tr *tr, const struct bpf_insn *insn, LLVMValueRef x)
{
	LLVMTypeRef type = gp_tr_int(tr, (unsigned int)insn->imm);
	bool swap = BPF_CLASS(insn->code) == BPF_ALU64 || BPF_SRC(insn->code) == BPF_TO_BE;

	/* The target is little endian: to_le only cuts off. */
	x = LLVMBuildTrunc(tr->b, x, type, "");
	if (swap) {
		unsigned int id = LLVMLookupIntrinsicID("llvm.bswap", 10);
		LLVMValueRef fn = LLVMGetIntrinsicDeclaration(tr->mod, id, &type, 1);

		x = LLVMBuildCall2(tr->b, LLVMIntrinsicGetType(tr->ctx, id, &type, 1), fn, &x, 1, "");
	}
	return LLVMBuildZExt(tr->b, x, gp_tr_int(tr, 64), "");
}

static LLVMValueRef move(struct gp_tr *tr, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	LLVMValueRef y;

	if (BPF_SRC(insn->code) != BPF_X)
		y = gp_tr_const(tr, insn->imm);
	else
		y = wide || insn->off ? gp_tr_get(tr, insn->src_reg) : gp_tr_get_low(tr, insn->src_reg);
	if (insn->off) {
		y = LLVMBuildTrunc(tr->b, y, gp_tr_int(tr, (unsigned int)insn->off), "");
		y = LLVMBuildSExt(tr->b, y, gp_tr_int(tr, wide ? 64 : 32), "");
	} else if (!wide && BPF_SRC(insn->code) != BPF_X) {
		y = low_half(tr, y);
	}
	return wide ? y : LLVMBuildZExt(tr->b, y, gp_tr_int(tr, 64), "");
}

/* A 64-bit operation in which a pointer and something of another kind meet needs handles, but for pointer + number. */
static bool needs_handles(const struct gp_tr *tr, const struct bpf_insn *insn)
{
	const struct gp_val *x = &tr->state.reg[insn->dst_reg], *y = &tr->state.reg[insn->src_reg];
	bool reg = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_OP(insn->code)) {
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		return gp_val_is_pointer(x) || (reg && gp_val_is_pointer(y));
	case BPF_SUB:
		if (!reg || y->kind == GP_KIND_SCALAR)
			return false;
		return gp_val_region(x) != gp_val_region(y) || x->kind == GP_KIND_ANY ||
		       y->kind == GP_KIND_ANY;
	default:
		return false;
	}
}

void gp_tr_alu(struct gp_tr *tr, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64, reg = BPF_SRC(insn->code) == BPF_X;
	int op = BPF_OP(insn->code);
	LLVMValueRef x = NULL, y = NULL;

	if (op == BPF_END) {
		gp_tr_set(tr, insn->dst_reg, byte_swap(tr, insn, gp_tr_get(tr, insn->dst_reg)));
		return;
	}
	if (op == BPF_MOV) {
		gp_tr_set(tr, insn->dst_reg, move(tr, insn));
		return;
	}
	if (!wide) {
		x = gp_tr_get_low(tr, insn->dst_reg);
		y = reg ? gp_tr_get_low(tr, insn->src_reg) : low_half(tr, gp_tr_const(tr, insn->imm));
	} else if (needs_handles(tr, insn)) {
		x = gp_tr_handle(tr, insn->dst_reg);
		y = reg ? gp_tr_handle(tr, insn->src_reg) : gp_tr_const(tr, insn->imm);
	} else {
		x = gp_tr_get(tr, insn->dst_reg);
		y = reg ? gp_tr_get(tr, insn->src_reg) : gp_tr_const(tr, insn->imm);
	}
	if (op == BPF_NEG) {
		y = x;
		x = gp_tr_number(LLVMTypeOf(y), 0);
	}
	x = op == BPF_NEG ? LLVMBuildSub(tr->b, x, y, "") : binary(tr, insn, x, y);
	gp_tr_set(tr, insn->dst_reg, wide ? x : LLVMBuildZExt(tr->b, x, gp_tr_int(tr, 64), ""));
}

LLVMValueRef gp_tr_compare(struct gp_tr *tr, const struct bpf_insn *insn)
{
	static const LLVMIntPredicate predicates[16] = {
		[BPF_JEQ >> 4] = LLVMIntEQ,   [BPF_JNE >> 4] = LLVMIntNE,   [BPF_JGT >> 4] = LLVMIntUGT,
		[BPF_JGE >> 4] = LLVMIntUGE,  [BPF_JLT >> 4] = LLVMIntULT,  [BPF_JLE >> 4] = LLVMIntULE,
		[BPF_JSGT >> 4] = LLVMIntSGT, [BPF_JSGE >> 4] = LLVMIntSGE, [BPF_JSLT >> 4] = LLVMIntSLT,
		[BPF_JSLE >> 4] = LLVMIntSLE,
	};
	/* Of offsets that may be negative, for what asks which address is above the other. */
	static const LLVMIntPredicate of_low[16] = {
		[BPF_JGT >> 4] = LLVMIntSGT,
		[BPF_JGE >> 4] = LLVMIntSGE,
		[BPF_JLT >> 4] = LLVMIntSLT,
		[BPF_JLE >> 4] = LLVMIntSLE,
	};
	const struct gp_val *a = &tr->state.reg[insn->dst_reg], *b = &tr->state.reg[insn->src_reg];
	bool wide = BPF_CLASS(insn->code) == BPF_JMP, reg = BPF_SRC(insn->code) == BPF_X;
	uint8_t op = BPF_OP(insn->code);
	/* The bits of a pointer are those of a handle. */
	bool same = reg && gp_val_region(a) == gp_val_region(b) && op != BPF_JSET;
	LLVMIntPredicate predicate = predicates[op >> 4];
	LLVMValueRef x, y;

	if (!wide) {
		x = gp_tr_get_low(tr, insn->dst_reg);
		y = reg ? gp_tr_get_low(tr, insn->src_reg) : low_half(tr, gp_tr_const(tr, insn->imm));
	} else {
		x = same ? gp_tr_get(tr, insn->dst_reg) : gp_tr_handle(tr, insn->dst_reg);
		y = !reg   ? gp_tr_const(tr, insn->imm)
		    : same ? gp_tr_get(tr, insn->src_reg)
			   : gp_tr_handle(tr, insn->src_reg);
	}
	if (op == BPF_JSET)
		return LLVMBuildICmp(tr->b, LLVMIntNE, LLVMBuildAnd(tr->b, x, y, ""),
				     gp_tr_number(LLVMTypeOf(x), 0), "");
	/* Memory does not begin at a packet: one in front of it is below, not far above. */
	if (wide && same && gp_val_region(a) != GP_REGION_NONE && (a->low || b->low) && of_low[op >> 4])
		predicate = of_low[op >> 4];
	return LLVMBuildICmp(tr->b, predicate, x, y, "");
}
