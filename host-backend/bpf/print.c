/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print.c - one BPF instruction as text, in the manner of the kernel's verifier log.
 *
 * For messages to people only: nothing reads it back. Takes any bytes; what is no instruction prints as
 * its opcode.
 */
#include <stdio.h>
#include "bpf/opcodes.h"

/* clang-format off */
static const char *const alu_ops[16] = {
	[BPF_ADD >> 4] = "+=", [BPF_SUB >> 4] = "-=", [BPF_MUL >> 4] = "*=", [BPF_DIV >> 4] = "/=",
	[BPF_OR >> 4] = "|=", [BPF_AND >> 4] = "&=", [BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=",
	[BPF_MOD >> 4] = "%=", [BPF_XOR >> 4] = "^=", [BPF_MOV >> 4] = "=", [BPF_ARSH >> 4] = "s>>=",
};
/* clang-format on */

/* clang-format off */
static const char *const jump_ops[16] = {
	[BPF_JEQ >> 4] = "==", [BPF_JGT >> 4] = ">", [BPF_JGE >> 4] = ">=", [BPF_JSET >> 4] = "&",
	[BPF_JNE >> 4] = "!=", [BPF_JSGT >> 4] = "s>", [BPF_JSGE >> 4] = "s>=",
	[BPF_JLT >> 4] = "<", [BPF_JLE >> 4] = "<=", [BPF_JSLT >> 4] = "s<", [BPF_JSLE >> 4] = "s<=",
};
/* clang-format on */

static const char *atomic_name(int32_t imm)
{
	switch (imm) {
	case BPF_ADD:
		return "add";
	case BPF_OR:
		return "or";
	case BPF_AND:
		return "and";
	case BPF_XOR:
		return "xor";
	case BPF_ADD | BPF_FETCH:
		return "fetch_add";
	case BPF_OR | BPF_FETCH:
		return "fetch_or";
	case BPF_AND | BPF_FETCH:
		return "fetch_and";
	case BPF_XOR | BPF_FETCH:
		return "fetch_xor";
	case BPF_XCHG:
		return "xchg";
	case BPF_CMPXCHG:
		return "cmpxchg";
	default:
		return "?";
	}
}

static void print_alu(char *buf, size_t size, const struct bpf_insn *insn)
{
	char c = BPF_CLASS(insn->code) == BPF_ALU64 ? 'r' : 'w';
	const char *sign = (insn->off == 1) ? "s" : "";
	int op = BPF_OP(insn->code);

	if (op == BPF_END) {
		const char *name = BPF_CLASS(insn->code) == BPF_ALU64 ? "bswap"
				   : BPF_SRC(insn->code) == BPF_TO_BE ? "be"
								      : "le";

		snprintf(buf, size, "r%d = %s%d r%d", insn->dst_reg, name, insn->imm, insn->dst_reg);
	} else if (op == BPF_NEG) {
		snprintf(buf, size, "%c%d = -%c%d", c, insn->dst_reg, c, insn->dst_reg);
	} else if (op == BPF_MOV && BPF_SRC(insn->code) == BPF_X && insn->off) {
		snprintf(buf, size, "%c%d = (s%d)%c%d", c, insn->dst_reg, insn->off, c, insn->src_reg);
	} else {
		if (op != BPF_DIV && op != BPF_MOD)
			sign = "";
		if (BPF_SRC(insn->code) == BPF_X)
			snprintf(buf, size, "%c%d %s%s %c%d", c, insn->dst_reg, sign, alu_ops[op >> 4], c,
				 insn->src_reg);
		else
			snprintf(buf, size, "%c%d %s%s %d", c, insn->dst_reg, sign, alu_ops[op >> 4],
				 insn->imm);
	}
}

static void print_jump(char *buf, size_t size, const struct bpf_insn *insn)
{
	char c = BPF_CLASS(insn->code) == BPF_JMP ? 'r' : 'w';

	if (gp_insn_is_ja(insn))
		snprintf(buf, size, "goto %+lld", (long long)gp_insn_jump_distance(insn));
	else if (gp_insn_is_exit(insn))
		snprintf(buf, size, "exit");
	else if (gp_insn_is_local_call(insn))
		snprintf(buf, size, "call pc%+d", insn->imm);
	else if (BPF_OP(insn->code) == BPF_CALL)
		snprintf(buf, size, "call #%d", insn->imm);
	else if (BPF_SRC(insn->code) == BPF_X)
		snprintf(buf, size, "if %c%d %s %c%d goto %+d", c, insn->dst_reg,
			 jump_ops[BPF_OP(insn->code) >> 4], c, insn->src_reg, insn->off);
	else
		snprintf(buf, size, "if %c%d %s %d goto %+d", c, insn->dst_reg,
			 jump_ops[BPF_OP(insn->code) >> 4], insn->imm, insn->off);
}

static void print_load(char *buf, size_t size, const struct bpf_insn *insn)
{
	unsigned int bits = gp_insn_size(insn) * 8;
	char sign = BPF_MODE(insn->code) == BPF_MEMSX ? 's' : 'u';

	snprintf(buf, size, "r%d = *(%c%u *)(r%d %+d)", insn->dst_reg, sign, bits, insn->src_reg, insn->off);
}

static void print_store(char *buf, size_t size, const struct bpf_insn *insn)
{
	unsigned int bits = gp_insn_size(insn) * 8;

	if (BPF_MODE(insn->code) == BPF_ATOMIC)
		snprintf(buf, size, "lock %s *(u%u *)(r%d %+d), r%d", atomic_name(insn->imm), bits,
			 insn->dst_reg, insn->off, insn->src_reg);
	else if (BPF_CLASS(insn->code) == BPF_STX)
		snprintf(buf, size, "*(u%u *)(r%d %+d) = r%d", bits, insn->dst_reg, insn->off, insn->src_reg);
	else
		snprintf(buf, size, "*(u%u *)(r%d %+d) = %d", bits, insn->dst_reg, insn->off, insn->imm);
}

static void print_ld_imm64(char *buf, size_t size, const struct bpf_insn *insn)
{
	if (insn->src_reg == GP_LD_MAP)
		snprintf(buf, size, "r%d = map[%d]", insn->dst_reg, insn->imm);
	else if (insn->src_reg == GP_LD_LOCAL)
		snprintf(buf, size, "r%d = local+%u", insn->dst_reg, (uint32_t)insn->imm);
	else if (insn->src_reg == GP_LD_FUNC)
		snprintf(buf, size, "r%d = func pc%+d", insn->dst_reg, insn->imm);
	else if (insn->src_reg == GP_LD_MAP_VALUE)
		snprintf(buf, size, "r%d = map_value[%d]+%u", insn->dst_reg, insn->imm,
			 (uint32_t)insn[1].imm);
	else
		snprintf(buf, size, "r%d = 0x%llx ll", insn->dst_reg,
			 (unsigned long long)((uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn[0].imm));
}

char *gp_insn_print(char *buf, size_t size, const struct bpf_insn *insn)
{
	if (!gp_opcodes[insn->code].name) {
		snprintf(buf, size, "opcode 0x%02x", insn->code);
		return buf;
	}
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		print_alu(buf, size, insn);
		break;
	case BPF_JMP:
	case BPF_JMP32:
		print_jump(buf, size, insn);
		break;
	case BPF_LDX:
		print_load(buf, size, insn);
		break;
	case BPF_ST:
	case BPF_STX:
		print_store(buf, size, insn);
		break;
	default:
		print_ld_imm64(buf, size, insn);
	}
	return buf;
}
