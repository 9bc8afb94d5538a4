/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opcodes.c - the table of instructions: all of RFC 9669 but legacy packet access.
 *
 * A binary operation has four rows (64 and 32 bits, register and immediate), a jump likewise; the
 * macros below write those four out so that an operation is one line.
 */
#include "bpf/opcodes.h"

/* clang-format off */
#define DST GP_OP_READ_DST
#define WR GP_OP_WRITE_DST
#define SRC GP_OP_READ_SRC
#define IMM GP_OP_IMM
#define OFF GP_OP_OFF

#define BINARY(op, name, extra)							\
	[BPF_ALU64 | BPF_K | (op)] = { name "64 imm", DST | WR | IMM | (extra) },	\
	[BPF_ALU64 | BPF_X | (op)] = { name "64 reg", DST | WR | SRC | (extra) },	\
	[BPF_ALU | BPF_K | (op)] = { name "32 imm", DST | WR | IMM | (extra) },	\
	[BPF_ALU | BPF_X | (op)] = { name "32 reg", DST | WR | SRC | (extra) }

#define JUMP(op, name)								\
	[BPF_JMP | BPF_K | (op)] = { name " imm", DST | IMM | OFF },		\
	[BPF_JMP | BPF_X | (op)] = { name " reg", DST | SRC | OFF },		\
	[BPF_JMP32 | BPF_K | (op)] = { name "32 imm", DST | IMM | OFF },	\
	[BPF_JMP32 | BPF_X | (op)] = { name "32 reg", DST | SRC | OFF }

#define MEMORY(size, bits)							\
	[BPF_LDX | BPF_MEM | (size)] = { "load" bits, WR | SRC | OFF },		\
	[BPF_ST | BPF_MEM | (size)] = { "store" bits " imm", DST | IMM | OFF },	\
	[BPF_STX | BPF_MEM | (size)] = { "store" bits " reg", DST | SRC | OFF }

const struct gp_opcode gp_opcodes[256] = {
	BINARY(BPF_ADD, "add", 0),
	BINARY(BPF_SUB, "sub", 0),
	BINARY(BPF_MUL, "mul", 0),
	BINARY(BPF_DIV, "div", GP_OP_SIGNED),
	BINARY(BPF_MOD, "mod", GP_OP_SIGNED),
	BINARY(BPF_OR, "or", 0),
	BINARY(BPF_AND, "and", 0),
	BINARY(BPF_XOR, "xor", 0),
	BINARY(BPF_LSH, "lsh", 0),
	BINARY(BPF_RSH, "rsh", 0),
	BINARY(BPF_ARSH, "arsh", 0),

	[BPF_ALU64 | BPF_K | BPF_MOV] = { "mov64 imm", WR | IMM },
	[BPF_ALU64 | BPF_X | BPF_MOV] = { "mov64 reg", WR | SRC | GP_OP_MOVSX },
	[BPF_ALU | BPF_K | BPF_MOV] = { "mov32 imm", WR | IMM },
	[BPF_ALU | BPF_X | BPF_MOV] = { "mov32 reg", WR | SRC | GP_OP_MOVSX },

	[BPF_ALU64 | BPF_NEG] = { "neg64", DST | WR },
	[BPF_ALU | BPF_NEG] = { "neg32", DST | WR },

	[BPF_ALU | BPF_END | BPF_TO_LE] = { "le", DST | WR | GP_OP_END },
	[BPF_ALU | BPF_END | BPF_TO_BE] = { "be", DST | WR | GP_OP_END },
	[BPF_ALU64 | BPF_END] = { "bswap", DST | WR | GP_OP_END },

	JUMP(BPF_JEQ, "jeq"),
	JUMP(BPF_JNE, "jne"),
	JUMP(BPF_JGT, "jgt"),
	JUMP(BPF_JGE, "jge"),
	JUMP(BPF_JLT, "jlt"),
	JUMP(BPF_JLE, "jle"),
	JUMP(BPF_JSET, "jset"),
	JUMP(BPF_JSGT, "jsgt"),
	JUMP(BPF_JSGE, "jsge"),
	JUMP(BPF_JSLT, "jslt"),
	JUMP(BPF_JSLE, "jsle"),

	[BPF_JMP | BPF_JA] = { "goto", OFF },
	[BPF_JMP32 | BPF_JA] = { "gotol", IMM },
	[BPF_JMP | BPF_CALL] = { "call", IMM | GP_OP_CALL },
	[BPF_JMP | BPF_EXIT] = { "exit", 0 },

	MEMORY(BPF_B, "8"),
	MEMORY(BPF_H, "16"),
	MEMORY(BPF_W, "32"),
	MEMORY(BPF_DW, "64"),
	[BPF_LDX | BPF_MEMSX | BPF_B] = { "load8 signed", WR | SRC | OFF },
	[BPF_LDX | BPF_MEMSX | BPF_H] = { "load16 signed", WR | SRC | OFF },
	[BPF_LDX | BPF_MEMSX | BPF_W] = { "load32 signed", WR | SRC | OFF },

	[BPF_STX | BPF_ATOMIC | BPF_W] = { "atomic32", DST | SRC | OFF | GP_OP_ATOMIC },
	[BPF_STX | BPF_ATOMIC | BPF_DW] = { "atomic64", DST | SRC | OFF | GP_OP_ATOMIC },

	[BPF_LD | BPF_IMM | BPF_DW] = { "ld_imm64", WR | IMM | GP_OP_LDIMM64 },
};
/* clang-format on */

const char *gp_opcode_unsupported(uint8_t code)
{
	if (BPF_CLASS(code) == BPF_LD && (BPF_MODE(code) == BPF_ABS || BPF_MODE(code) == BPF_IND))
		return "loads of the classic packet filter; read the packet through xdp_md.data";
	if (code == GP_BPF_JCOND)
		return "may_goto; write the loop as it is, every loop burns fuel here anyway";
	if (code == GP_BPF_CALLX)
		return "calls through a register; call the function itself, or use bpf_loop()";
	return NULL;
}
