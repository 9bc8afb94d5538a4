/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asm.h - a small macro assembler for tables of BPF programs.
 *
 * A program is an array of struct bpf_insn written with the macros below. Two kinds of pseudo-instructions
 * make it readable: LABEL(n) marks a place, and L(n), LC(n) name it where a jump or call wants a distance.
 * asm_resolve() removes the marks and fills the distances in. DONE marks where a vector's result is in R0
 * (see vectors.h); it expands to the epilogue.
 */
#ifndef TESTS_BPF_ASM_H
#define TESTS_BPF_ASM_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* newer than the installed <linux/bpf.h> may be */
#endif

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };
enum { B = BPF_B, H = BPF_H, W = BPF_W, DW = BPF_DW };

#define ASM_FIELDS(c, d, s, o, i) \
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (int16_t)(o), .imm = (int32_t)(i) }
#ifdef ASM_TABLE /* in a file of tables an instruction is an initialiser, elsewhere an expression */
#define INSN(c, d, s, o, i) ASM_FIELDS(c, d, s, o, i)
#else
#define INSN(c, d, s, o, i) ((struct bpf_insn)ASM_FIELDS(c, d, s, o, i))
#endif

/* op: BPF_ADD, ...; X: from a register, K: from an immediate; 64 or 32 bits */
#define ALU64X(op, dst, src)	INSN(BPF_ALU64 | BPF_X | (op), dst, src, 0, 0)
#define ALU64K(op, dst, imm)	INSN(BPF_ALU64 | BPF_K | (op), dst, 0, 0, imm)
#define ALU32X(op, dst, src)	INSN(BPF_ALU | BPF_X | (op), dst, src, 0, 0)
#define ALU32K(op, dst, imm)	INSN(BPF_ALU | BPF_K | (op), dst, 0, 0, imm)
#define MOV64X(dst, src)	ALU64X(BPF_MOV, dst, src)
#define MOV64K(dst, imm)	ALU64K(BPF_MOV, dst, imm)
#define MOV32X(dst, src)	ALU32X(BPF_MOV, dst, src)
#define MOV32K(dst, imm)	ALU32K(BPF_MOV, dst, imm)
#define MOVSX64(bits, dst, src) INSN(BPF_ALU64 | BPF_X | BPF_MOV, dst, src, bits, 0)
#define MOVSX32(bits, dst, src) INSN(BPF_ALU | BPF_X | BPF_MOV, dst, src, bits, 0)
#define TO_LE(bits, dst)	INSN(BPF_ALU | BPF_END | BPF_TO_LE, dst, 0, 0, bits)
#define TO_BE(bits, dst)	INSN(BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, bits)
#define BSWAP(bits, dst)	INSN(BPF_ALU64 | BPF_END, dst, 0, 0, bits)

/* Two instructions each. */
#define LD64(dst, value)                                                           \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (uint32_t)((uint64_t)(value))), \
		INSN(0, 0, 0, 0, (uint32_t)((uint64_t)(value) >> 32))
#define LDMAP(dst, map) INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, map), INSN(0, 0, 0, 0, 0)
#define LDVALUE(dst, map, offset) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, map), INSN(0, 0, 0, 0, offset)

#define LDFUNC(dst, label) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_FUNC, 0, label), INSN(0, 0, 0, 0, 0)

/* The address of a function of the program; @label as of CALL_LOCAL. */
#define LDFUNC(dst, label) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_FUNC, 0, label), INSN(0, 0, 0, 0, 0)

#define LDX(size, dst, src, off)	INSN(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define LDSX(size, dst, src, off)	INSN(BPF_LDX | BPF_MEMSX | (size), dst, src, off, 0)
#define STX(size, dst, off, src)	INSN(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define ST(size, dst, off, imm)		INSN(BPF_ST | BPF_MEM | (size), dst, 0, off, imm)
#define ATOMIC(size, op, dst, off, src) INSN(BPF_STX | BPF_ATOMIC | (size), dst, src, off, op)

#define JX(op, dst, src, off)		INSN(BPF_JMP | BPF_X | (op), dst, src, off, 0)
#define JK(op, dst, imm, off)		INSN(BPF_JMP | BPF_K | (op), dst, 0, off, imm)
#define J32X(op, dst, src, off)		INSN(BPF_JMP32 | BPF_X | (op), dst, src, off, 0)
#define J32K(op, dst, imm, off)		INSN(BPF_JMP32 | BPF_K | (op), dst, 0, off, imm)
#define JA(off)				INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define GOTOL(imm)			INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, imm)
#define CALL(helper)			INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define CALL_LOCAL(imm)			INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, imm)
#define EXIT				INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Marks. L(): a jump's `off`; LC(): the `imm` of CALL_LOCAL, LDFUNC and GOTOL. Labels are 0..31. */
#define ASM_LABEL  0xf0 /* class LD, mode and size that do not exist */
#define ASM_DONE   0xf8
#define ASM_OFF	   0x7f00
#define ASM_IMM	   0x7fffff00
#define ASM_LABELS 32
#define LABEL(n)   INSN(ASM_LABEL, 0, 0, n, 0)
#define DONE	   INSN(ASM_DONE, 0, 0, 0, 0)
#define L(n)	   (ASM_OFF + (n))
#define LC(n)	   (ASM_IMM + (n))

/*
 * asm_resolve() - turn a table's program into instructions.
 * @in, @num: as written
 * @out, @max: room for the result
 * @done: what DONE stands for, @num_done instructions; appended when there is no DONE. NULL: nothing
 *
 * Return: number of instructions. Exits with a message on a label that does not exist or lack of room,
 * which are mistakes in a table.
 */
uint32_t asm_resolve(const struct bpf_insn *in, uint32_t num, struct bpf_insn *out, uint32_t max,
		     const struct bpf_insn *done, uint32_t num_done);

#endif
