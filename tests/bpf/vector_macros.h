/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vector_macros.h - how the tables of vectors are written. For files that define ASM_TABLE first.
 */
#ifndef TESTS_BPF_VECTOR_MACROS_H
#define TESTS_BPF_VECTOR_MACROS_H

#include "vectors.h"

#define NARGS(...) (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define VEC(kind, flags, name, expect, at, ...) \
	{ name, kind, flags, expect, (const struct bpf_insn[]){ __VA_ARGS__ }, NARGS(__VA_ARGS__), at }
#define V(name, expect, ...) VEC(VECTOR_R0, 0, name, expect, 0, __VA_ARGS__)
/* Programs that the kernel's verifier refuses, or whose result it defines otherwise. */
#define VX(name, expect, ...)	    VEC(VECTOR_R0, VECTOR_NO_KERNEL, name, expect, 0, __VA_ARGS__)
#define VERDICT(name, expect, ...)  VEC(VECTOR_VERDICT, 0, name, expect, 0, __VA_ARGS__)
#define VERDICTX(name, expect, ...) VEC(VECTOR_VERDICT, VECTOR_NO_KERNEL, name, expect, 0, __VA_ARGS__)
#define FAULT(name, reason, ...) \
	VEC(VECTOR_FAULT, VECTOR_NO_KERNEL, name, VIRTIO_GPGPU_R_##reason, 0, __VA_ARGS__)
#define REFUSED(name, reason, at, ...) \
	VEC(VECTOR_REFUSED, VECTOR_NO_KERNEL, name, VIRTIO_GPGPU_R_##reason, at, __VA_ARGS__)
#define KERNEL(name, expect, ...) VEC(VECTOR_KERNEL, VECTOR_NO_KERNEL, name, expect, 0, __VA_ARGS__)

#define ALU_ADD(dst, imm)	  ALU64K(BPF_ADD, dst, imm)

/* R6 = data, R7 = data_end, checked for 64 bytes; R0 = -99 at label 30 when there are fewer. */
#define PACKET                                                                                          \
	MOV64K(R0, -99), LDX(W, R6, R9, 0), LDX(W, R7, R9, 4), MOV64X(R2, R6), ALU_ADD(R2, VECTOR_LEN), \
		JX(BPF_JGT, R2, R7, L(30))

/* u32 key on the stack at -4, its address in R2 and the map in R1. */
#define KEY(map, key) ST(W, R10, -4, key), MOV64X(R2, R10), ALU_ADD(R2, -4), LDMAP(R1, map)
/* u64 value on the stack at -16, its address in R3. */
#define VALUE(value)	 ST(DW, R10, -16, value), MOV64X(R3, R10), ALU_ADD(R3, -16)
#define LOOKUP(map, key) KEY(map, key), CALL(BPF_FUNC_map_lookup_elem)
#define UPDATE(map, key, value, flags) \
	KEY(map, key), VALUE(value), MOV64K(R4, flags), CALL(BPF_FUNC_map_update_elem)
#define DELETE(map, key) KEY(map, key), CALL(BPF_FUNC_map_delete_elem)
/* R0 = the u64 that R0 points to, or -1 if R0 is NULL. */
#define FETCH_OR_NONE JK(BPF_JNE, R0, 0, 2), MOV64K(R0, -1), JA(1), LDX(DW, R0, R0, 0)

/* LPM key of 8 bytes at -8: prefix length, address; its address in R2 and the map in R1. */
#define LPM_KEY(bits, address) \
	ST(W, R10, -8, bits), ST(W, R10, -4, address), MOV64X(R2, R10), ALU_ADD(R2, -8), LDMAP(R1, MAP_LPM)
#define IP(a, b, c, d)	((int32_t)((uint32_t)(d) << 24 | (c) << 16 | (b) << 8 | (a)))
#define FETCH32_OR_NONE JK(BPF_JNE, R0, 0, 2), MOV64K(R0, -1), JA(1), LDX(W, R0, R0, 0)

/* One's complement sum in R0 to 16 bits. */
#define FOLD                                                                                           \
	MOV64X(R1, R0), ALU64K(BPF_RSH, R1, 16), ALU64K(BPF_AND, R0, 0xffff), ALU64X(BPF_ADD, R0, R1), \
		MOV64X(R1, R0), ALU64K(BPF_RSH, R1, 16), ALU64K(BPF_AND, R0, 0xffff),                  \
		ALU64X(BPF_ADD, R0, R1)

/* On the stack at -16: -8 holds a, R0 = before and R1 = operand; the atomic; R0 = memory afterwards. */
#define ATOM(size, op, memory, operand)                                                           \
	LD64(R2, memory), STX(DW, R10, -8, R2), LD64(R1, operand), ATOMIC(size, op, R10, -8, R1), \
		LDX(DW, R0, R10, -8)
/* The same; R0 = what the operand register holds afterwards. */
#define ATOM_FETCH(size, op, memory, operand)                                                     \
	LD64(R2, memory), STX(DW, R10, -8, R2), LD64(R1, operand), ATOMIC(size, op, R10, -8, R1), \
		MOV64X(R0, R1)

#endif
