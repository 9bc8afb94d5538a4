// SPDX-License-Identifier: BSD-3-Clause
/*
 * vectors_more.c - vectors of loads, stores and atomics in every place, of callbacks, tail calls, and of the wider
 * set of maps and helpers.
 *
 * vectors.h says what a vector may assume. Register use is the author's own, but R9 is the context.
 */
#include <errno.h>
#define ASM_TABLE
#include "gpgpu_bpf.h"
#include "vector_macros.h"
#include "virtio_gpgpu.h"

/* R6 = byte 16 of MAP_DATA, R1 = the operand; the atomic. */
#define ON_DATA(size, op, operand) LDVALUE(R6, MAP_DATA, 16), LD64(R1, operand), ATOMIC(size, op, R6, 0, R1)

/* u64 on the stack at -16, its address in R2 and the map in R1. */
#define TOP(map, value)		ST(DW, R10, -16, value), MOV64X(R2, R10), ALU_ADD(R2, -16), LDMAP(R1, map)
#define PUSH(map, value, flags) TOP(map, value), MOV64K(R3, flags), CALL(BPF_FUNC_map_push_elem)
/* R0 = the u64 that was popped (peeked at), or the error. */
#define TAKE(map, how) \
	TOP(map, 99), CALL(BPF_FUNC_map_##how##_elem), JK(BPF_JNE, R0, 0, 1), LDX(DW, R0, R10, -16)
#define OF_CPU(map, key, cpu) KEY(map, key), MOV64K(R3, cpu), CALL(BPF_FUNC_map_lookup_percpu_elem)
/* R0 = element @key of the inner map that @outer has at @which, or -1, or -2 where there is no inner map. */
#define INNER(outer, which, key)                                                                       \
	LOOKUP(outer, which), JK(BPF_JNE, R0, 0, 2), MOV64K(R0, -2), JA(9), MOV64X(R1, R0),            \
		ST(W, R10, -4, key), MOV64X(R2, R10), ALU_ADD(R2, -4), CALL(BPF_FUNC_map_lookup_elem), \
		FETCH_OR_NONE
#define REDIRECT(map, key, flags) \
	LDMAP(R1, map), MOV64K(R2, key), MOV64K(R3, flags), CALL(BPF_FUNC_redirect_map), EXIT
#define TAIL_CALL(index) MOV64X(R1, R9), LDMAP(R2, MAP_PROGS), MOV64K(R3, index), CALL(BPF_FUNC_tail_call)
/* 16 bytes on the stack, 1 and 2. */
#define OUTPUT(size, flags)                                                                              \
	ST(DW, R10, -16, 1), ST(DW, R10, -8, 2), LDMAP(R1, MAP_RING), MOV64X(R2, R10), ALU_ADD(R2, -16), \
		MOV64K(R3, size), MOV64K(R4, flags), CALL(BPF_FUNC_ringbuf_output)
#define RESERVE(size, flags) \
	LDMAP(R1, MAP_RING), MOV64K(R2, size), MOV64K(R3, flags), CALL(BPF_FUNC_ringbuf_reserve)
#define QUERY(what) LDMAP(R1, MAP_RING), MOV64K(R2, what), CALL(BPF_FUNC_ringbuf_query)
#define EVENT(flags, size)                                                                             \
	ST(DW, R10, -16, 1), ST(DW, R10, -8, 2), MOV64X(R1, R9), LDMAP(R2, MAP_PERF), LD64(R3, flags), \
		MOV64X(R4, R10), ALU_ADD(R4, -16), MOV64K(R5, size), CALL(BPF_FUNC_perf_event_output)
/* R0 = @num rounds of the function at @label, whose context is the u64 0 at -8. */
#define LOOP(num, label, flags)                                                                     \
	ST(DW, R10, -8, 0), LDFUNC(R2, LC(label)), MOV64X(R3, R10), ALU_ADD(R3, -8), LD64(R1, num), \
		MOV64K(R4, flags), CALL(BPF_FUNC_loop)
/* The sign of a comparison of "GET" on the stack with the string at @offset. */
#define COMPARE(size, offset)                                                                    \
	ST(W, R10, -8, 0x544547), MOV64X(R1, R10), ALU_ADD(R1, -8), MOV64K(R2, size),            \
		LDVALUE(R3, MAP_STRINGS, offset), CALL(BPF_FUNC_strncmp), JK(BPF_JEQ, R0, 0, 2), \
		ALU32K(BPF_ARSH, R0, 31), ALU32K(BPF_OR, R0, 1)
/* The way to @a.@b..., of @bytes; struct bpf_fib_lookup is at -64. */
#define ROUTE(family, a, b, bytes, size, flags)                                                          \
	ST(DW, R10, -64, 0), ST(DW, R10, -56, 0), ST(DW, R10, -48, 0), ST(DW, R10, -40, 0),              \
		ST(DW, R10, -32, 0), ST(DW, R10, -24, 0), ST(DW, R10, -16, 0), ST(DW, R10, -8, 0),       \
		ST(B, R10, -64, family), ST(H, R10, -58, bytes), ST(B, R10, -32, a), ST(B, R10, -31, b), \
		MOV64X(R1, R9), MOV64X(R2, R10), ALU_ADD(R2, -64), MOV64K(R3, size), MOV64K(R4, flags),  \
		CALL(BPF_FUNC_fib_lookup)
#define CLOCK(helper)                                                                                      \
	CALL(helper), MOV64X(R6, R0), CALL(helper), MOV64X(R7, R0), MOV64K(R0, 1), JX(BPF_JGE, R7, R6, 1), \
		MOV64K(R0, 0)

/* Writes over the packet's first 8 bytes. */
static const struct bpf_insn tail_0[] = {
	MOV64X(R9, R1),		LDX(W, R6, R9, 0),     LDX(W, R7, R9, 4),  MOV64X(R2, R6), ALU_ADD(R2, 8),
	JX(BPF_JGT, R2, R7, 1), ST(DW, R6, 0, 0x7a11), MOV64K(R0, XDP_TX), EXIT,
};

/* Counts in the packet's first byte; the last of 33 finds it as it should be. */
static const struct bpf_insn tail_1[] = {
	MOV64X(R9, R1),		 MOV64K(R0, XDP_ABORTED),
	LDX(W, R6, R9, 0),	 LDX(W, R7, R9, 4),
	MOV64X(R2, R6),		 ALU_ADD(R2, 1),
	JX(BPF_JGT, R2, R7, 11), LDX(B, R8, R6, 0),
	ALU_ADD(R8, 1),		 STX(B, R6, 0, R8),
	MOV64X(R1, R9),		 LDMAP(R2, MAP_PROGS),
	MOV64K(R3, 1),		 CALL(BPF_FUNC_tail_call),
	MOV64K(R0, XDP_TX),	 JK(BPF_JEQ, R8, 0xc0 + 33, 1),
	MOV64K(R0, XDP_ABORTED), EXIT,
};

const struct bpf_insn *const vector_tails[VECTOR_TAILS] = { tail_0, tail_1 };
const uint32_t num_vector_tails[VECTOR_TAILS] = { sizeof(tail_0) / sizeof(tail_0[0]),
						  sizeof(tail_1) / sizeof(tail_1[0]) };

const struct vector more_vectors[] = {
	/* ---- arithmetic that is no row of operands */
	V("movsx32 8, positive", 0x70, LD64(R1, 0x123456789abcde70), MOVSX32(8, R0, R1)),
	V("neg of 0", 0, MOV64K(R0, 0), ALU64K(BPF_NEG, R0, 0)),
	V("neg32 of the least", 0x80000000, LD64(R0, 0xffffffff80000000), ALU32K(BPF_NEG, R0, 0)),

	/* ---- loads and stores in every place */
	V("map value: ldx b", 0x10, LDVALUE(R6, MAP_DATA, 8), LDX(B, R0, R6, 8)),
	V("map value: ldsx b", 0x4, LDVALUE(R6, MAP_DATA, 0), LDSX(B, R0, R6, 4)),
	V("read-only value: ldsx b", 0xffffffffffffff84, LDVALUE(R6, MAP_RODATA, 0), LDSX(B, R0, R6, 4)),
	V("packet: ldsx b", 0xffffffffffffffc8, PACKET, LDSX(B, R0, R6, 8), LABEL(30)),
	V("packet: ldx b, not aligned", 0xc9, PACKET, LDX(B, R0, R6, 9), LABEL(30)),
	V("map value: ldx h", 0x1110, LDVALUE(R6, MAP_DATA, 8), LDX(H, R0, R6, 8)),
	V("map value: ldx h, not aligned", 0xc0b, LDVALUE(R6, MAP_DATA, 8), LDX(H, R0, R6, 3)),
	V("map value: ldsx h", 0x504, LDVALUE(R6, MAP_DATA, 0), LDSX(H, R0, R6, 4)),
	V("read-only value: ldsx h", 0xffffffffffff8584, LDVALUE(R6, MAP_RODATA, 0), LDSX(H, R0, R6, 4)),
	V("packet: ldsx h", 0xffffffffffffc9c8, PACKET, LDSX(H, R0, R6, 8), LABEL(30)),
	V("packet: ldx h, not aligned", 0xcac9, PACKET, LDX(H, R0, R6, 9), LABEL(30)),
	V("map value: ldx w", 0x13121110, LDVALUE(R6, MAP_DATA, 8), LDX(W, R0, R6, 8)),
	V("map value: ldx w, not aligned", 0xe0d0c0b, LDVALUE(R6, MAP_DATA, 8), LDX(W, R0, R6, 3)),
	V("map value: ldsx w", 0x7060504, LDVALUE(R6, MAP_DATA, 0), LDSX(W, R0, R6, 4)),
	V("read-only value: ldsx w", 0xffffffff87868584, LDVALUE(R6, MAP_RODATA, 0), LDSX(W, R0, R6, 4)),
	V("packet: ldsx w", 0xffffffffcbcac9c8, PACKET, LDSX(W, R0, R6, 8), LABEL(30)),
	V("packet: ldx w, not aligned", 0xcccbcac9, PACKET, LDX(W, R0, R6, 9), LABEL(30)),
	V("map value: ldx dw", 0x1716151413121110, LDVALUE(R6, MAP_DATA, 8), LDX(DW, R0, R6, 8)),
	V("map value: ldx dw, not aligned", 0x1211100f0e0d0c0b, LDVALUE(R6, MAP_DATA, 8), LDX(DW, R0, R6, 3)),
	V("packet: ldx dw, not aligned", 0xd0cfcecdcccbcac9, PACKET, LDX(DW, R0, R6, 9), LABEL(30)),
	V("ldsx h, positive", 0x7899, LD64(R1, 0x7899aabbccddeeff), STX(DW, R10, -8, R1),
	  LDSX(H, R0, R10, -2)),
	V("map value: stx b", 0xf0e0d0c0b0a0988, LDVALUE(R6, MAP_DATA, 8), LD64(R1, 0x1122334455667788),
	  STX(B, R6, 0, R1), LDX(DW, R0, R6, 0)),
	V("map value: st b of a negative number", 0xf0e0d0c0b0a09fe, LDVALUE(R6, MAP_DATA, 8),
	  ST(B, R6, 0, -2), LDX(DW, R0, R6, 0)),
	V("packet: stx b", 0xc7c6c5c4c3c2c188, PACKET, LD64(R1, 0x1122334455667788), STX(B, R6, 0, R1),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: st b of a negative number", 0xc7c6c5c4c3c2c1fe, PACKET, ST(B, R6, 0, -2),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("map value: stx h", 0xf0e0d0c0b0a7788, LDVALUE(R6, MAP_DATA, 8), LD64(R1, 0x1122334455667788),
	  STX(H, R6, 0, R1), LDX(DW, R0, R6, 0)),
	V("map value: stx h, not aligned", 0xf0e0d0c0b778808, LDVALUE(R6, MAP_DATA, 8),
	  LD64(R1, 0x1122334455667788), STX(H, R6, 1, R1), LDX(DW, R0, R6, 0)),
	V("map value: st h of a negative number", 0xf0e0d0c0b0afffe, LDVALUE(R6, MAP_DATA, 8),
	  ST(H, R6, 0, -2), LDX(DW, R0, R6, 0)),
	V("packet: stx h", 0xc7c6c5c4c3c27788, PACKET, LD64(R1, 0x1122334455667788), STX(H, R6, 0, R1),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: stx h, not aligned", 0xc7c6c5c4c37788c0, PACKET, LD64(R1, 0x1122334455667788),
	  STX(H, R6, 1, R1), LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: st h of a negative number", 0xc7c6c5c4c3c2fffe, PACKET, ST(H, R6, 0, -2),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("map value: stx w", 0xf0e0d0c55667788, LDVALUE(R6, MAP_DATA, 8), LD64(R1, 0x1122334455667788),
	  STX(W, R6, 0, R1), LDX(DW, R0, R6, 0)),
	V("map value: stx w, not aligned", 0xf0e0d5566778808, LDVALUE(R6, MAP_DATA, 8),
	  LD64(R1, 0x1122334455667788), STX(W, R6, 1, R1), LDX(DW, R0, R6, 0)),
	V("map value: st w of a negative number", 0xf0e0d0cfffffffe, LDVALUE(R6, MAP_DATA, 8),
	  ST(W, R6, 0, -2), LDX(DW, R0, R6, 0)),
	V("packet: stx w", 0xc7c6c5c455667788, PACKET, LD64(R1, 0x1122334455667788), STX(W, R6, 0, R1),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: stx w, not aligned", 0xc7c6c555667788c0, PACKET, LD64(R1, 0x1122334455667788),
	  STX(W, R6, 1, R1), LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: st w of a negative number", 0xc7c6c5c4fffffffe, PACKET, ST(W, R6, 0, -2),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("map value: stx dw", 0x1122334455667788, LDVALUE(R6, MAP_DATA, 8), LD64(R1, 0x1122334455667788),
	  STX(DW, R6, 0, R1), LDX(DW, R0, R6, 0)),
	V("map value: stx dw, not aligned", 0x1122334455667788, LDVALUE(R6, MAP_DATA, 8),
	  LD64(R1, 0x1122334455667788), STX(DW, R6, 1, R1), LDX(DW, R0, R6, 1)),
	V("map value: st dw of a negative number", 0xfffffffffffffffe, LDVALUE(R6, MAP_DATA, 8),
	  ST(DW, R6, 0, -2), LDX(DW, R0, R6, 0)),
	V("packet: stx dw", 0x1122334455667788, PACKET, LD64(R1, 0x1122334455667788), STX(DW, R6, 0, R1),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("packet: stx dw, not aligned", 0x1122334455667788, PACKET, LD64(R1, 0x1122334455667788),
	  STX(DW, R6, 1, R1), LDX(DW, R0, R6, 1), LABEL(30)),
	V("packet: st dw of a negative number", 0xfffffffffffffffe, PACKET, ST(DW, R6, 0, -2),
	  LDX(DW, R0, R6, 0), LABEL(30)),
	V("st b of a negative number", 0xfe, ST(DW, R10, -8, 0), ST(B, R10, -8, -2), LDX(DW, R0, R10, -8)),
	V("st h of a negative number", 0xfffe, ST(DW, R10, -8, 0), ST(H, R10, -8, -2), LDX(DW, R0, R10, -8)),
	V("st w of a negative number", 0xfffffffe, ST(DW, R10, -8, 0), ST(W, R10, -8, -2),
	  LDX(DW, R0, R10, -8)),
	V("st dw of a negative number", 0xfffffffffffffffe, ST(DW, R10, -8, 0), ST(DW, R10, -8, -2),
	  LDX(DW, R0, R10, -8)),
	KERNEL("buffer: ldx b", 0x14, LDX(DW, R1, R9, 8), LDX(B, R0, R1, 20)),
	KERNEL("buffer: ldx h", 0x1514, LDX(DW, R1, R9, 8), LDX(H, R0, R1, 20)),
	KERNEL("buffer: ldx w", 0x17161514, LDX(DW, R1, R9, 8), LDX(W, R0, R1, 20)),
	KERNEL("buffer: ldx dw", 0x1b1a191817161514, LDX(DW, R1, R9, 8), LDX(DW, R0, R1, 20)),

	/* ---- atomics on a map's value: what is there afterwards, and what the register holds */
	V("map value: atomic add", 0x1716151322212015, ON_DATA(DW, BPF_ADD, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic add leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(DW, BPF_ADD, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch add stores", 0x1716151322212015,
	  ON_DATA(DW, BPF_ADD | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch add", 0x1716151413121110, ON_DATA(DW, BPF_ADD | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic or", 0xffffffff1f1f1f15, ON_DATA(DW, BPF_OR, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic or leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(DW, BPF_OR, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch or stores", 0xffffffff1f1f1f15,
	  ON_DATA(DW, BPF_OR | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch or", 0x1716151413121110, ON_DATA(DW, BPF_OR | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic and", 0x1716151403020100, ON_DATA(DW, BPF_AND, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic and leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(DW, BPF_AND, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch and stores", 0x1716151403020100,
	  ON_DATA(DW, BPF_AND | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch and", 0x1716151413121110, ON_DATA(DW, BPF_AND | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic xor", 0xe8e9eaeb1c1d1e15, ON_DATA(DW, BPF_XOR, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic xor leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(DW, BPF_XOR, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch xor stores", 0xe8e9eaeb1c1d1e15,
	  ON_DATA(DW, BPF_XOR | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch xor", 0x1716151413121110, ON_DATA(DW, BPF_XOR | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: fetch xchg stores", 0xffffffff0f0f0f05, ON_DATA(DW, BPF_XCHG, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: fetch xchg", 0x1716151413121110, ON_DATA(DW, BPF_XCHG, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: cmpxchg that succeeds stores", 0xffffffff0f0f0f05, LD64(R0, 0x1716151413121110),
	  ON_DATA(DW, BPF_CMPXCHG, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: cmpxchg that succeeds", 0x1716151413121110, LD64(R0, 0x1716151413121110),
	  ON_DATA(DW, BPF_CMPXCHG, 0xffffffff0f0f0f05)),
	V("map value: cmpxchg that fails stores", 0x1716151413121110, LD64(R0, 0x1716151413121111),
	  ON_DATA(DW, BPF_CMPXCHG, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: cmpxchg that fails", 0x1716151413121110, LD64(R0, 0x1716151413121111),
	  ON_DATA(DW, BPF_CMPXCHG, 0xffffffff0f0f0f05)),
	V("map value: atomic add 32", 0x1716151422212015, ON_DATA(W, BPF_ADD, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic add 32 leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(W, BPF_ADD, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch add 32 stores", 0x1716151422212015,
	  ON_DATA(W, BPF_ADD | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch add 32", 0x13121110, ON_DATA(W, BPF_ADD | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic or 32", 0x171615141f1f1f15, ON_DATA(W, BPF_OR, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic or 32 leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(W, BPF_OR, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch or 32 stores", 0x171615141f1f1f15,
	  ON_DATA(W, BPF_OR | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch or 32", 0x13121110, ON_DATA(W, BPF_OR | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic and 32", 0x1716151403020100, ON_DATA(W, BPF_AND, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic and 32 leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(W, BPF_AND, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch and 32 stores", 0x1716151403020100,
	  ON_DATA(W, BPF_AND | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch and 32", 0x13121110, ON_DATA(W, BPF_AND | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: atomic xor 32", 0x171615141c1d1e15, ON_DATA(W, BPF_XOR, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: atomic xor 32 leaves its operand", 0xffffffff0f0f0f05,
	  ON_DATA(W, BPF_XOR, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: fetch xor 32 stores", 0x171615141c1d1e15,
	  ON_DATA(W, BPF_XOR | BPF_FETCH, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: fetch xor 32", 0x13121110, ON_DATA(W, BPF_XOR | BPF_FETCH, 0xffffffff0f0f0f05),
	  MOV64X(R0, R1)),
	V("map value: fetch xchg 32 stores", 0x171615140f0f0f05, ON_DATA(W, BPF_XCHG, 0xffffffff0f0f0f05),
	  LDX(DW, R0, R6, 0)),
	V("map value: fetch xchg 32", 0x13121110, ON_DATA(W, BPF_XCHG, 0xffffffff0f0f0f05), MOV64X(R0, R1)),
	V("map value: cmpxchg 32 that succeeds stores", 0x171615140f0f0f05, LD64(R0, 0x5513121110),
	  ON_DATA(W, BPF_CMPXCHG, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: cmpxchg 32 that succeeds", 0x13121110, LD64(R0, 0x5513121110),
	  ON_DATA(W, BPF_CMPXCHG, 0xffffffff0f0f0f05)),
	V("map value: cmpxchg 32 that fails stores", 0x1716151413121110, LD64(R0, 0x5513121111),
	  ON_DATA(W, BPF_CMPXCHG, 0xffffffff0f0f0f05), LDX(DW, R0, R6, 0)),
	V("map value: cmpxchg 32 that fails", 0x13121110, LD64(R0, 0x5513121111),
	  ON_DATA(W, BPF_CMPXCHG, 0xffffffff0f0f0f05)),
	V("atomic add 32, high half of the operand", 0x1234567800000001,
	  ATOM(W, BPF_ADD, 0x12345678ffffffff, 0xff00000000000002)),

	/* ---- functions that a helper calls */
	V("bpf_loop: rounds", 5, LOOP(5, 0, 0), DONE, LABEL(0), MOV64K(R0, 0), EXIT),
	V("bpf_loop: no round", 0, LOOP(0, 0, 0), DONE, LABEL(0), MOV64K(R0, 0), EXIT),
	V("bpf_loop: the context adds up", 45, LOOP(10, 0, 0), LDX(DW, R0, R10, -8), DONE, LABEL(0),
	  LDX(DW, R3, R2, 0), ALU64X(BPF_ADD, R3, R1), STX(DW, R2, 0, R3), MOV64K(R0, 0), EXIT),
	V("bpf_loop: ends early", 4, LOOP(10, 0, 0), DONE, LABEL(0), MOV64K(R0, 0), JK(BPF_JNE, R1, 3, 1),
	  MOV64K(R0, 1), EXIT),
	V("bpf_loop: ends early, the context", 3, LOOP(10, 0, 0), LDX(DW, R0, R10, -8), DONE, LABEL(0),
	  STX(DW, R2, 0, R1), MOV64K(R0, 0), JK(BPF_JNE, R1, 3, 1), MOV64K(R0, 1), EXIT),
	V("bpf_loop: R6 to R8 are kept", 0x678, MOV64K(R6, 6), MOV64K(R7, 7), MOV64K(R8, 8), LOOP(3, 0, 0),
	  MOV64X(R0, R6), ALU64K(BPF_LSH, R0, 4), ALU64X(BPF_OR, R0, R7), ALU64K(BPF_LSH, R0, 4),
	  ALU64X(BPF_OR, R0, R8), DONE, LABEL(0), MOV64K(R6, 66), MOV64K(R7, 77), MOV64K(R8, 88),
	  MOV64K(R0, 0), EXIT),
	V("bpf_loop: a flag", -EINVAL, LOOP(5, 0, 1), DONE, LABEL(0), MOV64K(R0, 0), EXIT),
	/* Where the kernel inlines it, these two are otherwise: an error of 32 bits, and 64 bits of rounds. */
	VX("bpf_loop: too many rounds", -E2BIG, LOOP((8 << 20) + 1, 0, 0), DONE, LABEL(0), MOV64K(R0, 0),
	   EXIT),
	VX("bpf_loop: 32 bits of the rounds count", 3, LOOP(0x700000003, 0, 0), DONE, LABEL(0), MOV64K(R0, 0),
	   EXIT),
	V("bpf_loop in bpf_loop", 12, LOOP(3, 0, 0), LDX(DW, R0, R10, -8), DONE, LABEL(0), MOV64X(R6, R2),
	  MOV64K(R1, 4), LDFUNC(R2, LC(1)), MOV64X(R3, R6), MOV64K(R4, 0), CALL(BPF_FUNC_loop), MOV64K(R0, 0),
	  EXIT, LABEL(1), LDX(DW, R3, R2, 0), ALU_ADD(R3, 1), STX(DW, R2, 0, R3), MOV64K(R0, 0), EXIT),

	/* ---- tail calls */
	VERDICT("tail call", XDP_TX, MOV64X(R9, R1), TAIL_CALL(0), MOV64K(R0, XDP_DROP), EXIT),
	VERDICT("tail call of an empty place", XDP_DROP, MOV64X(R9, R1), TAIL_CALL(2), MOV64K(R0, XDP_DROP),
		EXIT),
	VERDICT("tail call over the end", XDP_DROP, MOV64X(R9, R1), TAIL_CALL(4), MOV64K(R0, XDP_DROP), EXIT),
	VERDICT("tail call far over the end", XDP_DROP, MOV64X(R9, R1), TAIL_CALL(-1), MOV64K(R0, XDP_DROP),
		EXIT),
	VERDICT("a chain of 33 tail calls", XDP_TX, MOV64X(R9, R1), TAIL_CALL(1), MOV64K(R0, XDP_DROP), EXIT),

	VERDICT("tail call in a function whose result is the program's", XDP_TX, CALL_LOCAL(LC(0)), EXIT,
		LABEL(0), LDMAP(R2, MAP_PROGS), MOV64K(R3, 0), CALL(BPF_FUNC_tail_call), MOV64K(R0, XDP_DROP),
		EXIT),
	VERDICT("tail call in such a function, of an empty place", XDP_DROP, CALL_LOCAL(LC(0)), EXIT,
		LABEL(0), LDMAP(R2, MAP_PROGS), MOV64K(R3, 2), CALL(BPF_FUNC_tail_call), MOV64K(R0, XDP_DROP),
		EXIT),
	/* The kernel's comes back to the caller with the target's result. */
	REFUSED("tail call in a function whose caller goes on", HELPER, ANY_INSN, CALL_LOCAL(LC(0)),
		MOV64K(R0, XDP_PASS), EXIT, LABEL(0), LDMAP(R2, MAP_PROGS), MOV64K(R3, 0),
		CALL(BPF_FUNC_tail_call), MOV64K(R0, XDP_DROP), EXIT),

	/* ---- per-CPU hash, LRU */
	V("per-CPU hash: lookup", 22, LOOKUP(MAP_PERCPU_HASH, 2), FETCH_OR_NONE),
	V("per-CPU hash: lookup of none", -1ull, LOOKUP(MAP_PERCPU_HASH, 3), FETCH_OR_NONE),
	V("per-CPU hash: insert", 33, UPDATE(MAP_PERCPU_HASH, 3, 33, BPF_ANY), LOOKUP(MAP_PERCPU_HASH, 3),
	  FETCH_OR_NONE),
	V("per-CPU hash: EXIST of none", -ENOENT, UPDATE(MAP_PERCPU_HASH, 3, 33, BPF_EXIST)),
	V("per-CPU hash: NOEXIST of one that is", -EEXIST, UPDATE(MAP_PERCPU_HASH, 1, 33, BPF_NOEXIST)),
	V("per-CPU hash: a flag that is none", -EINVAL, UPDATE(MAP_PERCPU_HASH, 1, 33, 8)),
	V("per-CPU hash: full", -E2BIG, UPDATE(MAP_PERCPU_HASH, 3, 33, BPF_ANY),
	  UPDATE(MAP_PERCPU_HASH, 4, 44, BPF_ANY), UPDATE(MAP_PERCPU_HASH, 5, 55, BPF_ANY)),
	V("per-CPU hash: delete removes", -1ull, DELETE(MAP_PERCPU_HASH, 1), LOOKUP(MAP_PERCPU_HASH, 1),
	  FETCH_OR_NONE),
	V("per-CPU hash: delete of none", -ENOENT, DELETE(MAP_PERCPU_HASH, 9)),
	V("lookup_percpu_elem: array", 102, OF_CPU(MAP_PERCPU, 2, 0), FETCH_OR_NONE),
	V("lookup_percpu_elem: hash", 22, OF_CPU(MAP_PERCPU_HASH, 2, 0), FETCH_OR_NONE),
	V("lookup_percpu_elem: no such element", -1ull, OF_CPU(MAP_PERCPU, 4, 0), FETCH_OR_NONE),
	V("lookup_percpu_elem: no such key", -1ull, OF_CPU(MAP_PERCPU_HASH, 3, 0), FETCH_OR_NONE),
	V("lookup_percpu_elem: no such CPU", -1ull, OF_CPU(MAP_PERCPU, 2, 100000), FETCH_OR_NONE),
	V("lookup_percpu_elem: CPU -1", -1ull, OF_CPU(MAP_PERCPU_HASH, 2, -1), FETCH_OR_NONE),
	V("LRU: lookup", 22, LOOKUP(MAP_LRU, 2), FETCH_OR_NONE),
	V("LRU: lookup of none", -1ull, LOOKUP(MAP_LRU, 3), FETCH_OR_NONE),
	V("LRU: insert", 33, UPDATE(MAP_LRU, 3, 33, BPF_ANY), LOOKUP(MAP_LRU, 3), FETCH_OR_NONE),
	V("LRU: replace", 33, UPDATE(MAP_LRU, 1, 33, BPF_EXIST), LOOKUP(MAP_LRU, 1), FETCH_OR_NONE),
	V("LRU: EXIST of none", -ENOENT, UPDATE(MAP_LRU, 3, 33, BPF_EXIST)),
	V("LRU: NOEXIST of one that is", -EEXIST, UPDATE(MAP_LRU, 1, 33, BPF_NOEXIST)),
	V("LRU: a flag that is none", -EINVAL, UPDATE(MAP_LRU, 1, 33, 8)),
	V("LRU: delete removes", -1ull, DELETE(MAP_LRU, 1), LOOKUP(MAP_LRU, 1), FETCH_OR_NONE),
	V("LRU: delete of none", -ENOENT, DELETE(MAP_LRU, 9)),
	V("per-CPU LRU: insert", 33, UPDATE(MAP_LRU_PERCPU, 3, 33, BPF_ANY), LOOKUP(MAP_LRU_PERCPU, 3),
	  FETCH_OR_NONE),
	V("per-CPU LRU: delete removes", -1ull, DELETE(MAP_LRU_PERCPU, 1), LOOKUP(MAP_LRU_PERCPU, 1),
	  FETCH_OR_NONE),
	/* 1,200 new keys: none fails, though others have to go, and the newest is there. */
	V("LRU: full", 1199, MOV64K(R6, 100), MOV64K(R7, 0), LABEL(0), STX(W, R10, -4, R6), MOV64X(R2, R10),
	  ALU_ADD(R2, -4), MOV64X(R1, R6), ALU_ADD(R1, -100), STX(DW, R10, -16, R1), MOV64X(R3, R10),
	  ALU_ADD(R3, -16), LDMAP(R1, MAP_LRU), MOV64K(R4, BPF_ANY), CALL(BPF_FUNC_map_update_elem),
	  ALU64X(BPF_OR, R7, R0), ALU_ADD(R6, 1), JK(BPF_JLT, R6, 1300, L(0)), MOV64K(R0, -3),
	  JK(BPF_JNE, R7, 0, L(30)), LOOKUP(MAP_LRU, 1299), FETCH_OR_NONE, LABEL(30)),

	/* ---- queue, stack, Bloom filter */
	V("queue: pop", 71, TAKE(MAP_QUEUE, pop)),
	V("queue: pop twice", 72, TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, pop)),
	V("queue: peek leaves it", 71, TAKE(MAP_QUEUE, peek), TAKE(MAP_QUEUE, peek)),
	V("queue: pop of none", -ENOENT, TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, pop)),
	V("queue: peek of none", -ENOENT, TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, peek)),
	V("queue: pop of none leaves zeros", 0, TAKE(MAP_QUEUE, pop), TAKE(MAP_QUEUE, pop),
	  TAKE(MAP_QUEUE, pop), LDX(DW, R0, R10, -16)),
	V("queue: push", 0, PUSH(MAP_QUEUE, 73, 0)),
	V("queue: push, then pop", 71, PUSH(MAP_QUEUE, 73, 0), TAKE(MAP_QUEUE, pop)),
	V("queue: full", -E2BIG, PUSH(MAP_QUEUE, 73, 0), PUSH(MAP_QUEUE, 74, 0)),
	V("queue: the oldest makes room", 72, PUSH(MAP_QUEUE, 73, 0), PUSH(MAP_QUEUE, 74, BPF_EXIST),
	  TAKE(MAP_QUEUE, pop)),
	V("queue: push with NOEXIST", -EINVAL, PUSH(MAP_QUEUE, 73, BPF_NOEXIST)),
	V("queue: push with a flag that is none", -EINVAL, PUSH(MAP_QUEUE, 73, 4)),
	V("stack: pop", 72, TAKE(MAP_STACK, pop)),
	V("stack: pop twice", 71, TAKE(MAP_STACK, pop), TAKE(MAP_STACK, pop)),
	V("stack: peek leaves it", 72, TAKE(MAP_STACK, peek), TAKE(MAP_STACK, peek)),
	V("stack: pop of none", -ENOENT, TAKE(MAP_STACK, pop), TAKE(MAP_STACK, pop), TAKE(MAP_STACK, pop)),
	V("stack: push, then pop", 73, PUSH(MAP_STACK, 73, 0), TAKE(MAP_STACK, pop)),
	V("stack: full", -E2BIG, PUSH(MAP_STACK, 73, 0), PUSH(MAP_STACK, 74, 0)),
	V("stack: the oldest makes room", 72, PUSH(MAP_STACK, 73, 0), PUSH(MAP_STACK, 74, BPF_EXIST),
	  TAKE(MAP_STACK, pop), TAKE(MAP_STACK, pop), TAKE(MAP_STACK, pop)),
	V("Bloom filter: what is in it", 0, TOP(MAP_BLOOM, 7), CALL(BPF_FUNC_map_peek_elem)),
	V("Bloom filter: what was pushed", 0, PUSH(MAP_BLOOM, 123, 0), TOP(MAP_BLOOM, 123),
	  CALL(BPF_FUNC_map_peek_elem)),
	V("Bloom filter: push with a flag", -EINVAL, PUSH(MAP_BLOOM, 123, 1)),

	/* ---- redirect_map */
	VERDICT("redirect_map: DEVMAP", XDP_REDIRECT, REDIRECT(MAP_DEVMAP, 1, 0)),
	VERDICT("redirect_map: DEVMAP without the element", XDP_ABORTED, REDIRECT(MAP_DEVMAP, 2, 0)),
	VERDICT("redirect_map: DEVMAP without the element, what the flags say", XDP_PASS,
		REDIRECT(MAP_DEVMAP, 2, XDP_PASS)),
	VERDICT("redirect_map: DEVMAP over the end", XDP_TX, REDIRECT(MAP_DEVMAP, 4, XDP_TX)),
	VERDICT("redirect_map: flags that are none", XDP_ABORTED, REDIRECT(MAP_DEVMAP, 1, 0x100)),
	VERDICT("redirect_map: DEVMAP_HASH", XDP_REDIRECT, REDIRECT(MAP_DEVMAP_HASH, 1, 0)),
	VERDICT("redirect_map: DEVMAP_HASH without the key", XDP_DROP,
		REDIRECT(MAP_DEVMAP_HASH, 2, XDP_DROP)),
	VERDICTX("redirect_map: CPUMAP", XDP_REDIRECT, REDIRECT(MAP_CPUMAP, 1, 0)),
	VERDICTX("redirect_map: CPUMAP without the element", XDP_PASS, REDIRECT(MAP_CPUMAP, 0, XDP_PASS)),
	VERDICTX("redirect_map: to all", XDP_ABORTED, REDIRECT(MAP_DEVMAP, 1, BPF_F_BROADCAST)),

	/* ---- maps of maps */
	V("array of maps", 0x102, INNER(MAP_ARRAY_OF, 0, 2)),
	V("array of maps: the other", 0x203, INNER(MAP_ARRAY_OF, 2, 3)),
	V("array of maps: no element", -1ull, INNER(MAP_ARRAY_OF, 2, 4)),
	V("array of maps: no map", -2ull, INNER(MAP_ARRAY_OF, 1, 2)),
	V("array of maps: over the end", -2ull, INNER(MAP_ARRAY_OF, 4, 2)),
	V("hash of maps", 0x102, INNER(MAP_HASH_OF, 5, 2)),
	V("hash of maps: the other", 0x203, INNER(MAP_HASH_OF, 6, 3)),
	V("hash of maps: no map", -2ull, INNER(MAP_HASH_OF, 7, 2)),
	V("array of maps: an update is seen by the map's own name", 0x77, LOOKUP(MAP_ARRAY_OF, 0),
	  JK(BPF_JEQ, R0, 0, L(30)), MOV64X(R1, R0), ST(W, R10, -4, 1), MOV64X(R2, R10), ALU_ADD(R2, -4),
	  VALUE(0x77), MOV64K(R4, BPF_ANY), CALL(BPF_FUNC_map_update_elem), LOOKUP(MAP_INNER, 1),
	  FETCH_OR_NONE, LABEL(30)),
	VX("a map of maps is no memory", -2ull, LOOKUP(MAP_ARRAY_OF, 1), JK(BPF_JNE, R0, 0, 1),
	   MOV64K(R0, -2)),

	/* ---- records */
	V("ringbuf_output", 0, OUTPUT(16, 0)),
	V("ringbuf_output, no wake-up", 0, OUTPUT(16, 1)),
	V("ringbuf_output with a flag that is none", -EINVAL, OUTPUT(16, 4)),
	V("ringbuf_query: size", 4096, QUERY(BPF_RB_RING_SIZE)),
	V("ringbuf_query: what is none", 0, QUERY(77)),
	V("ringbuf_query: bytes to read", 24, OUTPUT(16, 0), QUERY(BPF_RB_AVAIL_DATA)),
	V("ringbuf_query: where the next goes", 48, OUTPUT(16, 0), OUTPUT(9, 0), QUERY(BPF_RB_PROD_POS)),
	V("ringbuf_reserve and submit", 24, RESERVE(16, 0), JK(BPF_JEQ, R0, 0, L(30)), ST(DW, R0, 0, 5),
	  ST(DW, R0, 8, 6), MOV64X(R1, R0), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit),
	  QUERY(BPF_RB_PROD_POS), LABEL(30)),
	V("ringbuf_reserve and discard", 24, RESERVE(16, 0), JK(BPF_JEQ, R0, 0, L(30)), MOV64X(R1, R0),
	  MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), QUERY(BPF_RB_PROD_POS), LABEL(30)),
	V("ringbuf_reserve: what is written is there", 0x605, RESERVE(16, 0), JK(BPF_JEQ, R0, 0, L(30)),
	  MOV64X(R6, R0), ST(DW, R6, 0, 5), ST(DW, R6, 8, 6), LDX(DW, R7, R6, 8), ALU64K(BPF_LSH, R7, 8),
	  LDX(DW, R8, R6, 0), ALU64X(BPF_OR, R7, R8), MOV64X(R1, R6), MOV64K(R2, 0),
	  CALL(BPF_FUNC_ringbuf_submit), MOV64X(R0, R7), LABEL(30)),
	V("ringbuf_reserve: more than there is", 7, RESERVE(8192, 0), JK(BPF_JEQ, R0, 0, L(0)),
	  MOV64X(R1, R0), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), MOV64K(R0, 6), JA(L(30)), LABEL(0),
	  MOV64K(R0, 7), LABEL(30)),
	V("ringbuf_reserve: a flag", 7, RESERVE(16, 1), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0),
	  MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard), MOV64K(R0, 6), JA(L(30)), LABEL(0), MOV64K(R0, 7),
	  LABEL(30)),
	VX("perf_event_output", 0, EVENT(0xffffffff, 16)),
	VX("perf_event_output, by the CPU's number", 0, EVENT(0, 16)),
	VX("perf_event_output, with bytes of the packet", 0, EVENT(0x20ffffffff, 16)),
	VX("perf_event_output of more than the packet has", -EFAULT, EVENT(0x41ffffffff, 16)),
	VX("perf_event_output to another CPU's place", -EOPNOTSUPP, EVENT(3, 16)),
	VX("perf_event_output over the end", -E2BIG, EVENT(4, 16)),
	VX("perf_event_output with a flag that is none", -EINVAL, EVENT(1ull << 52, 16)),

	/* ---- routes */
	VX("fib_lookup: the longest prefix", 2, ROUTE(2, 10, 1, 100, 64, 0), LDX(W, R0, R10, -56)),
	VX("fib_lookup: its result", BPF_FIB_LKUP_RET_SUCCESS, ROUTE(2, 10, 1, 100, 64, 0)),
	VX("fib_lookup: a shorter one", 1, ROUTE(2, 10, 9, 100, 64, 0), LDX(W, R0, R10, -56)),
	VX("fib_lookup: IPv6", 5, ROUTE(10, 0xfd, 0, 100, 64, 0), LDX(W, R0, R10, -56)),
	VX("fib_lookup: MAC addresses", 0x0201, ROUTE(2, 10, 1, 100, 64, 0), LDX(B, R0, R10, -7),
	   ALU64K(BPF_LSH, R0, 8), LDX(B, R1, R10, -2), ALU64X(BPF_OR, R0, R1)),
	VX("fib_lookup: the MTU", 100, ROUTE(2, 10, 1, 100, 64, 0), LDX(H, R0, R10, -58)),
	VX("fib_lookup: longer than the MTU", BPF_FIB_LKUP_RET_FRAG_NEEDED, ROUTE(2, 10, 1, 101, 64, 0)),
	VX("fib_lookup: a black hole", BPF_FIB_LKUP_RET_BLACKHOLE, ROUTE(2, 10, 2, 100, 64, 0)),
	VX("fib_lookup: no neighbour", BPF_FIB_LKUP_RET_NO_NEIGH, ROUTE(2, 10, 3, 100, 64, 0)),
	VX("fib_lookup: no neighbour is asked for", BPF_FIB_LKUP_RET_SUCCESS, ROUTE(2, 10, 3, 100, 64, 4)),
	VX("fib_lookup: no route", BPF_FIB_LKUP_RET_NOT_FWDED, ROUTE(2, 11, 1, 100, 64, 0)),
	VX("fib_lookup: a family that is none", -EAFNOSUPPORT, ROUTE(1, 10, 1, 100, 64, 0)),
	VX("fib_lookup: too few bytes", -EINVAL, ROUTE(2, 10, 1, 100, 63, 0)),
	VX("fib_lookup: a flag that is none", -EINVAL, ROUTE(2, 10, 1, 100, 64, 1 << 20)),

	/* ---- other helpers */
	V("strncmp: equal", 0, COMPARE(4, 0)),
	V("strncmp: equal as far as it goes", 0, COMPARE(2, 8)),
	V("strncmp: less", 0xffffffff, COMPARE(4, 4)),
	V("strncmp: greater", 1, COMPARE(4, 12)),
	V("strncmp: bytes have no sign", 0xffffffff, COMPARE(4, 16)),
	V("xdp_get_buff_len", VECTOR_LEN, MOV64X(R1, R9), CALL(BPF_FUNC_xdp_get_buff_len)),
	V("get_numa_node_id", 0, CALL(BPF_FUNC_get_numa_node_id)),
	V("ktime_get_boot_ns does not run backward", 1, CLOCK(BPF_FUNC_ktime_get_boot_ns)),
	V("ktime_get_coarse_ns does not run backward", 1, CLOCK(BPF_FUNC_ktime_get_coarse_ns)),
	V("jiffies64 does not run backward", 1, CLOCK(BPF_FUNC_jiffies64)),

	/* ---- refused */
	REFUSED("bpf_loop of a function that is none", ANY, ANY_INSN, MOV64K(R1, 3), LDFUNC(R2, 100),
		MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT),
	REFUSED("bpf_loop of a number", HELPER_ARG, 4, MOV64K(R1, 3), MOV64K(R2, 5), MOV64K(R3, 0),
		MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT),
	REFUSED("a queue that is looked up", ANY, ANY_INSN, LOOKUP(MAP_QUEUE, 0), MOV64K(R0, 0), EXIT),
	REFUSED("a hash that is pushed to", ANY, ANY_INSN, PUSH(MAP_HASH, 1, 0), EXIT),
	REFUSED("a spin lock", HELPER, ANY_INSN, LDVALUE(R1, MAP_DATA, 0), CALL(BPF_FUNC_spin_lock),
		MOV64K(R0, 0), EXIT),
};
const uint32_t num_more_vectors = sizeof(more_vectors) / sizeof(more_vectors[0]);
