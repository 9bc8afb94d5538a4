// SPDX-License-Identifier: BSD-3-Clause
/*
 * alu.c - arithmetic, byte swaps and comparisons of RFC 9669, sections 4.1 to 4.3.
 *
 * Pure functions of an instruction and two 64-bit values. 32-bit forms work on the low halves and clear
 * the high half of the result. Division by zero gives zero, modulo by zero leaves the destination (its low
 * half in 32-bit forms), the one signed division that overflows gives the dividend and modulo zero; shift counts
 * are masked.
 */
#include "priv.h"

static uint64_t sdiv(int64_t a, int64_t b, int64_t min)
{
	if (b == 0)
		return 0;
	if (a == min && b == -1)
		return (uint64_t)a;
	return (uint64_t)(a / b);
}

static uint64_t smod(int64_t a, int64_t b)
{
	if (b == 0)
		return (uint64_t)a;
	if (b == -1)
		return 0;
	return (uint64_t)(a % b);
}

static bool alu64(uint8_t op, int16_t off, uint64_t a, uint64_t b, uint64_t *r)
{
	if (off && op != BPF_DIV && op != BPF_MOD && op != BPF_MOV)
		return false;
	switch (op) {
	case BPF_ADD:
		*r = a + b;
		return true;
	case BPF_SUB:
		*r = a - b;
		return true;
	case BPF_MUL:
		*r = a * b;
		return true;
	case BPF_DIV:
		if (off == 0)
			*r = b ? a / b : 0;
		else
			*r = sdiv((int64_t)a, (int64_t)b, INT64_MIN);
		return off == 0 || off == 1;
	case BPF_MOD:
		if (off == 0)
			*r = b ? a % b : a;
		else
			*r = smod((int64_t)a, (int64_t)b);
		return off == 0 || off == 1;
	case BPF_OR:
		*r = a | b;
		return true;
	case BPF_AND:
		*r = a & b;
		return true;
	case BPF_XOR:
		*r = a ^ b;
		return true;
	case BPF_LSH:
		*r = a << (b & 63);
		return true;
	case BPF_RSH:
		*r = a >> (b & 63);
		return true;
	case BPF_ARSH:
		*r = (uint64_t)((int64_t)a >> (b & 63));
		return true;
	case BPF_NEG:
		*r = 0 - a;
		return true;
	case BPF_MOV:
		switch (off) {
		case 0:
			*r = b;
			return true;
		case 8:
			*r = (uint64_t)(int64_t)(int8_t)b;
			return true;
		case 16:
			*r = (uint64_t)(int64_t)(int16_t)b;
			return true;
		case 32:
			*r = (uint64_t)(int64_t)(int32_t)b;
			return true;
		}
		return false;
	}
	return false;
}

static bool alu32(uint8_t op, int16_t off, uint32_t a, uint32_t b, uint64_t *r)
{
	uint32_t low;

	if (off && op != BPF_DIV && op != BPF_MOD && op != BPF_MOV)
		return false;
	switch (op) {
	case BPF_ADD:
		low = a + b;
		break;
	case BPF_SUB:
		low = a - b;
		break;
	case BPF_MUL:
		low = a * b;
		break;
	case BPF_DIV:
		if (off != 0 && off != 1)
			return false;
		low = off ? (uint32_t)sdiv((int32_t)a, (int32_t)b, INT32_MIN) : b ? a / b : 0;
		break;
	case BPF_MOD:
		if (off != 0 && off != 1)
			return false;
		low = off ? (uint32_t)smod((int32_t)a, (int32_t)b) : b ? a % b : a;
		break;
	case BPF_OR:
		low = a | b;
		break;
	case BPF_AND:
		low = a & b;
		break;
	case BPF_XOR:
		low = a ^ b;
		break;
	case BPF_LSH:
		low = a << (b & 31);
		break;
	case BPF_RSH:
		low = a >> (b & 31);
		break;
	case BPF_ARSH:
		low = (uint32_t)((int32_t)a >> (b & 31));
		break;
	case BPF_NEG:
		low = 0 - a;
		break;
	case BPF_MOV:
		if (off == 0)
			low = b;
		else if (off == 8)
			low = (uint32_t)(int32_t)(int8_t)b;
		else if (off == 16)
			low = (uint32_t)(int32_t)(int16_t)b;
		else
			return false;
		break;
	default:
		return false;
	}
	*r = low;
	return true;
}

/* Reverses the low @bits bits by bytes and clears the rest. */
static uint64_t reverse(uint64_t value, uint32_t bits)
{
	uint64_t r = 0;

	for (uint32_t i = 0; i < bits; i += 8)
		r |= (value >> i & 0xff) << (bits - 8 - i);
	return r;
}

static bool swap(const struct bpf_insn *insn, uint64_t dst, uint64_t *result)
{
	uint32_t bits = (uint32_t)insn->imm;

	if ((bits != 16 && bits != 32 && bits != 64) || insn->off || insn->src_reg)
		return false;
	if (BPF_CLASS(insn->code) == BPF_ALU64) {
		if (BPF_SRC(insn->code))
			return false;
		*result = reverse(dst, bits);
	} else if (BPF_SRC(insn->code) == BPF_TO_BE) {
		*result = reverse(dst, bits); /* this machine is little endian: see interp.c */
	} else {
		*result = bits == 64 ? dst : dst & ((1ull << bits) - 1);
	}
	return true;
}

bool interp_alu(const struct bpf_insn *insn, uint64_t dst, uint64_t src, uint64_t *result)
{
	uint8_t op = BPF_OP(insn->code);
	bool reg = BPF_SRC(insn->code) == BPF_X;

	if (op == BPF_END)
		return swap(insn, dst, result);
	/* Sign extension exists from a register only, NEG without an operand. */
	if (op == BPF_MOV && insn->off && !reg)
		return false;
	if (op == BPF_NEG && (reg || insn->src_reg || insn->imm))
		return false;
	if (reg ? insn->imm != 0 : insn->src_reg != 0)
		return false;
	if (!reg)
		src = (uint64_t)(int64_t)insn->imm;
	if (BPF_CLASS(insn->code) == BPF_ALU64)
		return alu64(op, insn->off, dst, src, result);
	return alu32(op, insn->off, (uint32_t)dst, (uint32_t)src, result);
}

int interp_jump(const struct bpf_insn *insn, uint64_t a, uint64_t b)
{
	bool reg = BPF_SRC(insn->code) == BPF_X;
	int64_t sa, sb;

	if (reg ? insn->imm != 0 : insn->src_reg != 0)
		return -1;
	if (!reg)
		b = (uint64_t)(int64_t)insn->imm;
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		a = (uint32_t)a;
		b = (uint32_t)b;
		sa = (int32_t)a;
		sb = (int32_t)b;
	} else {
		sa = (int64_t)a;
		sb = (int64_t)b;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	case BPF_JSLE:
		return sa <= sb;
	case BPF_JSET:
		return (a & b) != 0;
	}
	return -1;
}
