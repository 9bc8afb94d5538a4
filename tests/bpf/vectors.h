/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vectors.h - the table of test vectors for every instruction of RFC 9669, and how to read it.
 *
 * Expected results are written out in the table; nothing computes them at run time. Rows of operands
 * (arithmetic, comparisons) are packed many to a program by vectors_run.c, in register and immediate forms, with the
 * operands loaded from the packet so that no compiler knows them. Vectors are programs of their own:
 * body instructions, with R9 and R1 the context on entry, and R0 stored over the packet's first 8 bytes by
 * the epilogue at DONE (or at the end).
 */
#ifndef TESTS_BPF_VECTORS_H
#define TESTS_BPF_VECTORS_H

#include "asm.h"

enum row_op { ADD, SUB, MUL, DIV, SDIV, OR, AND, LSH, RSH, MOD, SMOD, XOR, MOV, ARSH, ROW_OPS };

struct alu_row {
	enum row_op op;
	uint64_t a, b;  /* a op= b */
	uint64_t wide;  /* result of the 64-bit form */
	uint32_t narrow; /* result of the 32-bit form */
};

struct jump_row {
	uint8_t op;  /* BPF_J* */
	uint64_t a, b;
	bool wide, narrow; /* taken, 64-bit and 32-bit form */
};

struct float_row {
	uint32_t helper; /* GPGPU_HELPER_* */
	uint64_t a, b, c;
	uint64_t expect; /* F32_NAN, F64_NAN: any quiet NaN; two zeros of different sign are never asked for */
};

#define F32_NAN 0x7fc00000u
#define F64_NAN 0x7ff8000000000000ull

/* What a vector checks. */
enum vector_kind {
	VECTOR_R0, /* R0 as a 64-bit value */
	VECTOR_VERDICT, /* whole program, no epilogue; its verdict */
	VECTOR_FAULT, /* that the run faults; reason VIRTIO_GPGPU_R_* */
	VECTOR_REFUSED, /* that the validator refuses the program as it stands; reason */
	VECTOR_KERNEL, /* a compute kernel of one work item; stores its result in argument 0 */
};

#define VECTOR_NO_KERNEL 1 /* the kernel's verifier would refuse it, or answers otherwise */

struct vector {
	const char *name;
	enum vector_kind kind;
	uint32_t flags;
	uint64_t expect;
	const struct bpf_insn *insns;
	uint32_t num_insns;
	uint32_t at; /* VECTOR_REFUSED: instruction that is named, or ANY_INSN */
};

#define ANY_INSN	   UINT32_MAX
#define VIRTIO_GPGPU_R_ANY UINT32_MAX /* any reason will do */

/* Maps that every vector may use, by index. */
enum {
	MAP_ARRAY, /* 4 of u64; element i holds i * 0x0101010101010101 */
	MAP_HASH, /* u32 -> u64, 4 at most; holds 1 -> 11, 2 -> 22 */
	MAP_PERCPU, /* 4 of u64; element i holds i + 100 */
	MAP_LPM, /* IPv4 -> u32, 4 at most; 10/8 -> 8, 10.1/16 -> 16, 10.1.2.3/32 -> 32 */
	MAP_DATA, /* one element of 64 bytes; byte i holds i */
	MAP_RODATA, /* one element of 64 bytes, read only; byte i holds 0x80 + i */
	VECTOR_OLD_MAPS, /* those that any target has */
	MAP_PERCPU_HASH = VECTOR_OLD_MAPS, /* u32 -> u64, 4 at most; holds 1 -> 11, 2 -> 22 */
	MAP_LRU, /* the same, of 1,024 */
	MAP_LRU_PERCPU, /* the same */
	MAP_QUEUE, /* of 3 u64; 71, then 72 */
	MAP_STACK, /* the same */
	MAP_BLOOM, /* of u32, 16 at most; 7 and 8 are in it */
	MAP_DEVMAP, /* 4 ports; element 1 is port 1 */
	MAP_DEVMAP_HASH, /* the same: key 1 */
	MAP_CPUMAP, /* 4 CPUs; element 1 is there */
	MAP_INNER, /* as MAP_ARRAY; element i holds i + 0x100 */
	MAP_INNER_2, /* as that; i + 0x200 */
	MAP_ARRAY_OF, /* 4; 0: MAP_INNER, 2: MAP_INNER_2 */
	MAP_HASH_OF, /* 4; 5: MAP_INNER, 6: MAP_INNER_2 */
	MAP_RING, /* 4,096 bytes */
	MAP_PERF, /* 4 */
	MAP_PROGS, /* 4; 0: tail 0, 1: tail 1 */
	MAP_STRINGS, /* 24 bytes, read only; at 0 "GET", at 4 "PUT", at 8 "GEX", at 12 "GEA", at 16 "GE\xff" */
	MAP_FIB, /* 10/8, 10.1/16 with MTU 100, 10.2/16 a black hole, 10.3/16 without a neighbour, fd00::/8 */
	VECTOR_MAPS
};

/*
 * Programs to go on with. 0: writes 0x7a11 over the packet's first 8 bytes, XDP_TX. 1: adds 1 to the packet's first
 * byte and goes on with itself; when that does not work any more XDP_TX after 33 times, else XDP_ABORTED.
 */
#define VECTOR_TAILS 2
extern const struct bpf_insn *const vector_tails[VECTOR_TAILS];
extern const uint32_t num_vector_tails[VECTOR_TAILS];

/* The packet of every vector: 64 bytes, byte i holds 0xc0 + i, metadata of 8 bytes a0..a7. */
#define VECTOR_LEN  64
#define VECTOR_META 8

/* What DONE stands for in an XDP vector and in a kernel. */
extern const struct bpf_insn done_xdp[], done_kernel[];
extern const uint32_t num_done_xdp, num_done_kernel;

extern const struct alu_row alu_rows[];
extern const uint32_t num_alu_rows;
extern const struct jump_row jump_rows[];
extern const uint32_t num_jump_rows;
extern const struct float_row float_rows[];
extern const uint32_t num_float_rows;
extern const struct vector vectors[], more_vectors[];
extern const uint32_t num_vectors, num_more_vectors;

#endif
