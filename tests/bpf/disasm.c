// SPDX-License-Identifier: BSD-3-Clause
/* disasm.c - see disasm.h. Anything that is no instruction prints as its bytes. */
#include "disasm.h"

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* newer than the installed <linux/bpf.h> may be */
#endif

static const char *const alu_ops[16] = { "+=", "-=", "*=", "/=", "|=",	 "&=", "<<=", ">>=",
					 NULL, "%=", "^=", "=",	 "s>>=", NULL, NULL,  NULL };
static const char *const jump_ops[16] = { NULL, "==", ">", ">=", "&",  "!=",  "s>", "s>=",
					  NULL, NULL, "<", "<=", "s<", "s<=", NULL, NULL };
static const int sizes[4] = { 32, 16, 8, 64 };

static void unknown(const struct bpf_insn *insn, char *buf, size_t size)
{
	snprintf(buf, size, ".insn %#04x r%u r%u %+d %#x", insn->code, insn->dst_reg, insn->src_reg,
		 insn->off, (uint32_t)insn->imm);
}

static void alu(const struct bpf_insn *insn, char *buf, size_t size)
{
	uint32_t op = BPF_OP(insn->code) >> 4;
	char r = BPF_CLASS(insn->code) == BPF_ALU64 ? 'r' : 'w';
	bool is_signed = (op == BPF_DIV >> 4 || op == BPF_MOD >> 4) && insn->off == 1;
	bool reg = BPF_SRC(insn->code) == BPF_X;

	if (BPF_OP(insn->code) == BPF_NEG) {
		snprintf(buf, size, "%c%u = -%c%u", r, insn->dst_reg, r, insn->dst_reg);
	} else if (BPF_OP(insn->code) == BPF_END) {
		snprintf(buf, size, "r%u = %s%d r%u", insn->dst_reg,
			 r == 'r' ? "bswap"
			 : reg	  ? "be"
				  : "le",
			 insn->imm, insn->dst_reg);
	} else if (BPF_OP(insn->code) == BPF_MOV && insn->off && reg) {
		snprintf(buf, size, "%c%u = (s%d)%c%u", r, insn->dst_reg, insn->off, r, insn->src_reg);
	} else if (!alu_ops[op]) {
		unknown(insn, buf, size);
	} else if (reg) {
		snprintf(buf, size, "%c%u %s%s %c%u", r, insn->dst_reg, is_signed ? "s" : "", alu_ops[op], r,
			 insn->src_reg);
	} else {
		snprintf(buf, size, "%c%u %s%s %d", r, insn->dst_reg, is_signed ? "s" : "", alu_ops[op],
			 insn->imm);
	}
}

static void jump(const struct bpf_insn *insn, char *buf, size_t size)
{
	uint32_t op = BPF_OP(insn->code) >> 4;
	char r = BPF_CLASS(insn->code) == BPF_JMP ? 'r' : 'w';

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		snprintf(buf, size, r == 'r' ? "goto %+d" : "gotol %+d", r == 'r' ? insn->off : insn->imm);
		return;
	case BPF_EXIT:
		snprintf(buf, size, "exit");
		return;
	case BPF_CALL:
		if (insn->src_reg == BPF_PSEUDO_CALL)
			snprintf(buf, size, "call pc%+d", insn->imm);
		else
			snprintf(buf, size, "call %d", insn->imm);
		return;
	}
	if (!jump_ops[op])
		unknown(insn, buf, size);
	else if (BPF_SRC(insn->code) == BPF_X)
		snprintf(buf, size, "if %c%u %s %c%u goto %+d", r, insn->dst_reg, jump_ops[op], r,
			 insn->src_reg, insn->off);
	else
		snprintf(buf, size, "if %c%u %s %d goto %+d", r, insn->dst_reg, jump_ops[op], insn->imm,
			 insn->off);
}

static void atomic(const struct bpf_insn *insn, char *buf, size_t size)
{
	static const char *const names[16] = {
		[BPF_ADD >> 4] = "add", [BPF_OR >> 4] = "or", [BPF_AND >> 4] = "and", [BPF_XOR >> 4] = "xor"
	};
	const char *name = names[(insn->imm >> 4) & 15];
	int bits = sizes[BPF_SIZE(insn->code) >> 3];

	if (insn->imm == BPF_XCHG)
		snprintf(buf, size, "r%u = xchg_%d(r%u %+d, r%u)", insn->src_reg, bits, insn->dst_reg,
			 insn->off, insn->src_reg);
	else if (insn->imm == BPF_CMPXCHG)
		snprintf(buf, size, "r0 = cmpxchg_%d(r%u %+d, r0, r%u)", bits, insn->dst_reg, insn->off,
			 insn->src_reg);
	else if (!name)
		unknown(insn, buf, size);
	else if (insn->imm & BPF_FETCH)
		snprintf(buf, size, "r%u = atomic_fetch_%s((u%d *)(r%u %+d), r%u)", insn->src_reg, name, bits,
			 insn->dst_reg, insn->off, insn->src_reg);
	else
		snprintf(buf, size, "lock *(u%d *)(r%u %+d) %s r%u", bits, insn->dst_reg, insn->off,
			 alu_ops[(insn->imm >> 4) & 15], insn->src_reg);
}

static void load_imm64(const struct bpf_insn *insn, char *buf, size_t size)
{
	static const char *const kinds[] = { NULL, "map", "map value", NULL, "func" };
	uint64_t value = (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm;

	if (insn->src_reg == 0)
		snprintf(buf, size, "r%u = %#llx ll", insn->dst_reg, (unsigned long long)value);
	else if (insn->src_reg == BPF_PSEUDO_FUNC)
		snprintf(buf, size, "r%u = func[pc%+d] ll", insn->dst_reg, insn->imm);
	else if (insn->src_reg <= BPF_PSEUDO_MAP_VALUE)
		snprintf(buf, size, "r%u = %s[%d][%d] ll", insn->dst_reg, kinds[insn->src_reg], insn->imm,
			 insn[1].imm);
	else
		unknown(insn, buf, size);
}

void disasm(const struct bpf_insn *insn, char *buf, size_t size)
{
	int bits = sizes[BPF_SIZE(insn->code) >> 3];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		alu(insn, buf, size);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		jump(insn, buf, size);
		return;
	case BPF_LDX:
		snprintf(buf, size, "r%u = *(%c%d *)(r%u %+d)", insn->dst_reg,
			 BPF_MODE(insn->code) == BPF_MEMSX ? 's' : 'u', bits, insn->src_reg, insn->off);
		return;
	case BPF_ST:
		snprintf(buf, size, "*(u%d *)(r%u %+d) = %d", bits, insn->dst_reg, insn->off, insn->imm);
		return;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			atomic(insn, buf, size);
		else
			snprintf(buf, size, "*(u%d *)(r%u %+d) = r%u", bits, insn->dst_reg, insn->off,
				 insn->src_reg);
		return;
	default:
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			load_imm64(insn, buf, size);
		else
			unknown(insn, buf, size);
	}
}

void disasm_all(FILE *out, const char *prefix, const struct bpf_insn *insns, uint32_t num)
{
	char text[128];

	for (uint32_t i = 0; i < num; i++) {
		bool two = insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && i + 1 < num;

		disasm(&insns[i], text, sizeof(text));
		fprintf(out, "%s%4u: %s\n", prefix, i, text);
		i += two;
	}
}
