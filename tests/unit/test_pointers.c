/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pointers.c - the ways in which real programs handle pointers, compiled and run.
 *
 * Each must be accepted and do what the reference interpreter does, or fault where it faults: pointers that
 * join, are spilled, stored, passed and returned, maps chosen at run time, forged handles.
 *
 * Every program gets a packet of 64 bytes whose byte i is i, ingress port 2, receive queue 3.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#define ASM_TABLE
#include "asm.h"
#include "target.h"
#include "gpgpu_bpf.h"

enum { MAP_A, MAP_B, MAP_HASH, MAP_INNER, MAP_OUTER, MAP_RING, NUM_MAPS };

/* Two arrays of one shape and a hash; keys are 4 bytes, values 8. Element 1 of A is 3, of B 2; the hash has 5: 4. */
static const uint8_t init_a[] = { 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t init_b[] = { 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t init_hash[] = { 5, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0 };
/* And a map of maps: 0 is an array of the same shape whose element 1 is 4, 1 is B. */
static const uint8_t init_inner[] = { 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0 };
static const uint8_t init_outer[] = { 0, 0, 0, 0, MAP_INNER, 0, 0, 0, 1, 0, 0, 0, MAP_B, 0, 0, 0 };
static const struct run_map maps[NUM_MAPS] = {
	[MAP_A] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, false, init_a, 1, 0 },
	[MAP_B] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, false, init_b, 1, 0 },
	[MAP_HASH] = { VIRTIO_GPGPU_MAP_HASH, 4, 8, 4, false, init_hash, 1, 0 },
	[MAP_INNER] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, false, init_inner, 1, 0 },
	[MAP_OUTER] = { VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 3, false, init_outer, 2, MAP_INNER },
	[MAP_RING] = { VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 4096, false, NULL, 0, 0 },
};

struct pattern {
	const char *name;
	uint32_t kind;
	uint32_t verdict; /* XDP: verdict; compute: first byte of buffer 0 */
	uint32_t fault; /* or VIRTIO_GPGPU_R_* */
	bool ours; /* the interpreter is more lenient, or names the fault otherwise */
	const struct bpf_insn *insns;
	uint32_t count;
};

#define COUNT(...) (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define ROW(name, kind, verdict, fault, ours, ...) \
	{ name, kind, verdict, fault, ours, (const struct bpf_insn[]){ __VA_ARGS__ }, COUNT(__VA_ARGS__) }
#define XDP(name, verdict, ...) ROW(name, VIRTIO_GPGPU_PROG_XDP, verdict, 0, false, __VA_ARGS__)
#define FAULTS(name, reason, ...) \
	ROW(name, VIRTIO_GPGPU_PROG_XDP, 0, VIRTIO_GPGPU_R_##reason, false, __VA_ARGS__)
#define OURS(name, reason, ...) \
	ROW(name, VIRTIO_GPGPU_PROG_XDP, 0, VIRTIO_GPGPU_R_##reason, true, __VA_ARGS__)
#define GRID(name, result, ...) ROW(name, VIRTIO_GPGPU_PROG_GPGPU, result, 0, false, __VA_ARGS__)
#define GRID_FAULTS(name, reason, ...) \
	ROW(name, VIRTIO_GPGPU_PROG_GPGPU, 0, VIRTIO_GPGPU_R_##reason, false, __VA_ARGS__)

/* r9 context, r6 data, r7 data_end. */
#define BEGIN MOV64X(R9, R1), LDX(W, R6, R1, 0), LDX(W, R7, R1, 4)
/* r2 = address of a 4-byte key on the stack. */
#define KEY(key) ST(W, R10, -4, key), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4)
/* r0 = element 1 of a map. */
#define VALUE(map) KEY(1), LDMAP(R1, map), CALL(BPF_FUNC_map_lookup_elem)
/* r0 = a map of the map of maps. */
#define OUTER(key)                                                                           \
	ST(W, R10, -8, key), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), LDMAP(R1, MAP_OUTER), \
		CALL(BPF_FUNC_map_lookup_elem)
/* r0 = record of 16 bytes. */
#define RECORD LDMAP(R1, MAP_RING), MOV64K(R2, 16), MOV64K(R3, 0), CALL(BPF_FUNC_ringbuf_reserve)
/* r8 = what r reads back from memory that anything may be in. */
#define THROUGH_MAP(r) LDVALUE(R8, MAP_A, 0), STX(DW, R8, 0, r), LDX(DW, R8, R8, 0)

/* clang-format off */
static const struct pattern patterns[] = {
	/* joins */
	XDP("packet or NULL", 3, BEGIN, MOV64K(R8, 0), MOV64X(R2, R6), ALU64K(BPF_ADD, R2, 16),
	    JX(BPF_JGT, R2, R7, 1), MOV64X(R8, R6), MOV64K(R0, 1), JK(BPF_JEQ, R8, 0, 1), LDX(B, R0, R8, 3), EXIT),
	XDP("packet or map value", 3, BEGIN, VALUE(MAP_A), JK(BPF_JNE, R0, 0, 1), MOV64X(R0, R6),
	    LDX(B, R0, R0, 0), EXIT),
	XDP("packet or stack", 2, BEGIN, ST(DW, R10, -8, 1), MOV64X(R8, R10), ALU64K(BPF_ADD, R8, -8),
	    LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1), MOV64X(R8, R6), LDX(B, R0, R8, 2), EXIT),
	XDP("one of two stack slots", 4, BEGIN, ST(DW, R10, -8, 3), ST(DW, R10, -16, 4), MOV64X(R8, R10),
	    ALU64K(BPF_ADD, R8, -8), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1), ALU64K(BPF_ADD, R8, -8),
	    LDX(DW, R0, R8, 0), EXIT),
	XDP("NULL before a loop finds something", 2, BEGIN, MOV64K(R8, 0), MOV64K(R5, 0), LABEL(0),
	    JK(BPF_JEQ, R8, 0, 2), LDX(B, R0, R8, 0), JK(BPF_JEQ, R0, 2, L(1)), MOV64X(R8, R6),
	    ALU64X(BPF_ADD, R8, R5), ALU64K(BPF_ADD, R5, 1), JK(BPF_JNE, R5, 9, L(0)), MOV64K(R0, 0), LABEL(1), EXIT),
	XDP("value of one of two maps", 2, BEGIN, LDX(W, R8, R9, 12), VALUE(MAP_A), JK(BPF_JNE, R8, 2, L(0)),
	    VALUE(MAP_B), LABEL(0), JK(BPF_JEQ, R0, 0, L(1)), LDX(DW, R0, R0, 0), EXIT, LABEL(1), MOV64K(R0, 0), EXIT),
	/* maps chosen at run time */
	XDP("one of two maps", 2, BEGIN, LDX(W, R8, R9, 12), LDMAP(R1, MAP_A), JK(BPF_JNE, R8, 2, L(0)),
	    LDMAP(R1, MAP_B), LABEL(0), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1),
	    LDX(DW, R0, R0, 0), EXIT),
	XDP("one of two maps of different types", 4, BEGIN, LDX(W, R8, R9, 12), LDMAP(R1, MAP_A),
	    JK(BPF_JNE, R8, 2, L(0)), LDMAP(R1, MAP_HASH), LABEL(0), KEY(5), CALL(BPF_FUNC_map_lookup_elem),
	    JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	XDP("a map from memory", 2, BEGIN, LDMAP(R3, MAP_B), THROUGH_MAP(R3), MOV64X(R1, R8), KEY(1),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	XDP("update of a map from memory", 1, BEGIN, LDMAP(R3, MAP_HASH), THROUGH_MAP(R3), MOV64X(R1, R8), KEY(9),
	    ST(DW, R10, -16, 1), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -16), MOV64K(R4, 0),
	    CALL(BPF_FUNC_map_update_elem), LDMAP(R1, MAP_HASH), KEY(9), CALL(BPF_FUNC_map_lookup_elem),
	    JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	XDP("delete in a map from memory", 0, BEGIN, LDMAP(R3, MAP_HASH), THROUGH_MAP(R3), MOV64X(R1, R8), KEY(5),
	    CALL(BPF_FUNC_map_delete_elem), LDMAP(R1, MAP_HASH), KEY(5), CALL(BPF_FUNC_map_lookup_elem),
	    JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	OURS("a packet as a map", OUT_OF_BOUNDS, BEGIN, THROUGH_MAP(R6), MOV64X(R1, R8), KEY(1),
	       CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	OURS("a map that is none, from memory", OUT_OF_BOUNDS, BEGIN, LD64(R3, (4096ull + NUM_MAPS) << 48),
	       THROUGH_MAP(R3), MOV64X(R1, R8), KEY(1), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	OURS("a map with an offset, from memory", OUT_OF_BOUNDS, BEGIN, LDMAP(R3, MAP_B), THROUGH_MAP(R3),
	       MOV64X(R1, R8), ALU64K(BPF_ADD, R1, 1), KEY(1), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	/* maps in maps */
	XDP("a map from a map of maps", 4, OUTER(0), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(1),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("no map in a map of maps", 2, OUTER(2), JK(BPF_JEQ, R0, 0, L(0)), MOV64K(R0, 1), EXIT, LABEL(0), MOV64K(R0, 2), EXIT),
	OURS("no map in a map of maps, not tested for", OUT_OF_BOUNDS, OUTER(2), MOV64X(R1, R0), KEY(1),
	     CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	XDP("one of two maps from a map of maps", 2, BEGIN, OUTER(0), MOV64X(R8, R0), OUTER(1), LDX(W, R2, R9, 12),
	    JK(BPF_JEQ, R2, 2, 1), MOV64X(R0, R8), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(1),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("a map or one from a map of maps", 4, BEGIN, OUTER(0), LDX(W, R2, R9, 12), JK(BPF_JEQ, R2, 2, 2), LDMAP(R0, MAP_A),
	    MOV64X(R1, R0), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), EXIT,
	    LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("one from a map of maps, or a map", 3, BEGIN, OUTER(0), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 2), LDMAP(R0, MAP_A),
	    MOV64X(R1, R0), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), EXIT,
	    LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("a map of a map of maps, from memory", 4, OUTER(0), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R3, R0), THROUGH_MAP(R3),
	    MOV64X(R1, R8), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 0), EXIT,
	    LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("a map of a map of maps to a function", 4, OUTER(0), JK(BPF_JEQ, R0, 0, L(1)), MOV64X(R1, R0), CALL_LOCAL(LC(0)), EXIT,
	    LABEL(1), MOV64K(R0, 1), EXIT, LABEL(0), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1),
	    LDX(DW, R0, R0, 0), EXIT),
	XDP("write to a value of a map in a map", 3, OUTER(0), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(1),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 3), VALUE(MAP_INNER), LDX(DW, R0, R0, 0),
	    EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("value of a map in a map, or packet", 4, BEGIN, OUTER(0), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(1),
	    CALL(BPF_FUNC_map_lookup_elem), LDX(W, R2, R9, 12), JK(BPF_JEQ, R2, 2, 1), MOV64X(R0, R6),
	    JK(BPF_JEQ, R0, 0, L(0)), LDX(B, R0, R0, 0), EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	OURS("value of a map in a map, past its end", OUT_OF_BOUNDS, OUTER(0), JK(BPF_JEQ, R0, 0, L(0)), MOV64X(R1, R0), KEY(3),
	     CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, L(0)), LDX(DW, R0, R0, 8), LABEL(0), MOV64K(R0, 1), EXIT),
	OURS("handle of a map in a map that there is not", OUT_OF_BOUNDS, BEGIN, LD64(R3, (32768ull + 9000) << 48),
	     THROUGH_MAP(R3), MOV64X(R1, R8), KEY(1), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	OURS("handle of values of a map in a map that there is not", OUT_OF_BOUNDS, BEGIN, LD64(R3, (16384ull + 9000) << 48),
	     THROUGH_MAP(R3), LDX(B, R0, R8, 0), EXIT),
	OURS("value of a map of maps as memory", OUT_OF_BOUNDS, BEGIN, LD64(R3, (32ull + MAP_OUTER) << 48), THROUGH_MAP(R3),
	     LDX(W, R0, R8, 0), MOV64K(R0, 2), EXIT),
	/* records */
	XDP("record that is filled", 2, RECORD, JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 1), ST(DW, R0, 8, 2), MOV64X(R1, R0),
	    MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 2), EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("record or stack", 2, BEGIN, ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), RECORD, MOV64X(R8, R0),
	    JK(BPF_JEQ, R8, 0, L(0)), MOV64X(R1, R8), LDX(W, R2, R9, 12), JK(BPF_JEQ, R2, 2, 2), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -16), ST(DW, R1, 0, 2), LDX(DW, R6, R8, 0), MOV64X(R1, R8), MOV64K(R2, 0),
	    CALL(BPF_FUNC_ringbuf_submit), MOV64X(R0, R6), EXIT, LABEL(0), MOV64K(R0, 1), EXIT),
	XDP("record that a function fills, spilled", 2, RECORD, JK(BPF_JEQ, R0, 0, L(1)), STX(DW, R10, -8, R0), MOV64X(R1, R0),
	    CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -8), LDX(DW, R6, R1, 8), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_discard),
	    MOV64X(R0, R6), EXIT, LABEL(1), MOV64K(R0, 1), EXIT, LABEL(0), ST(DW, R1, 0, 0), ST(DW, R1, 8, 2), MOV64K(R0, 0),
	    EXIT),
	OURS("record that is none", HELPER_ARG, BEGIN, VALUE(MAP_A), MOV64X(R1, R0), MOV64K(R2, 0),
	     CALL(BPF_FUNC_ringbuf_submit), MOV64K(R0, 2), EXIT),
	OURS("record submitted twice", HELPER_ARG, RECORD, JK(BPF_JEQ, R0, 0, L(0)), ST(DW, R0, 0, 0), ST(DW, R0, 8, 0),
	     MOV64X(R6, R0), MOV64X(R1, R6), MOV64K(R2, 0), CALL(BPF_FUNC_ringbuf_submit), MOV64X(R1, R6), MOV64K(R2, 0),
	     CALL(BPF_FUNC_ringbuf_submit), LABEL(0), MOV64K(R0, 2), EXIT),
	/* spills, memory */
	XDP("packet pointer spilled", 4, BEGIN, STX(DW, R10, -8, R6), LDX(DW, R1, R10, -8), LDX(B, R0, R1, 4), EXIT),
	XDP("context spilled", 3, BEGIN, STX(DW, R10, -8, R9), MOV64K(R9, 0), LDX(DW, R1, R10, -8), LDX(W, R0, R1, 16),
	    EXIT),
	XDP("map spilled", 3, BEGIN, LDMAP(R1, MAP_A), STX(DW, R10, -16, R1), KEY(1), LDX(DW, R1, R10, -16),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	XDP("one slot, packet or map value", 3, BEGIN, VALUE(MAP_A), STX(DW, R10, -16, R0), LDX(W, R2, R9, 16),
	    JK(BPF_JEQ, R2, 3, 1), STX(DW, R10, -16, R6), LDX(DW, R1, R10, -16), LDX(B, R0, R1, 0), EXIT),
	XDP("packet pointer in a map value", 2, BEGIN, THROUGH_MAP(R6), LDX(B, R0, R8, 2), EXIT),
	XDP("packet pointer in the packet", 1, BEGIN, STX(DW, R6, 8, R6), LDX(DW, R8, R6, 8), LDX(B, R0, R8, 1), EXIT),
	XDP("stack pointer in a map value", 3, BEGIN, ST(DW, R10, -8, 3), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8),
	    THROUGH_MAP(R3), LDX(DW, R0, R8, 0), EXIT),
	XDP("write through a stack pointer from memory", 4, BEGIN, ST(DW, R10, -8, 3), MOV64X(R3, R10),
	    ALU64K(BPF_ADD, R3, -8), THROUGH_MAP(R3), ST(DW, R8, 0, 4), LDX(DW, R0, R10, -8), EXIT),
	XDP("spilled pointer overwritten by half", 1, BEGIN, STX(DW, R10, -8, R6), ST(W, R10, -8, 1),
	    LDX(W, R0, R10, -8), EXIT),
	XDP("stack array by a variable index", 2, BEGIN, ST(B, R10, -16, 1), ST(B, R10, -15, 2), ST(B, R10, -14, 3),
	    LDX(B, R1, R6, 1), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -16), ALU64X(BPF_ADD, R2, R1), LDX(B, R0, R2, 0),
	    EXIT),
	XDP("stack array filled from its end", 1, ST(DW, R10, -8, 0), ST(DW, R10, -16, 0), ST(DW, R10, -24, 0),
	    ST(DW, R10, -32, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64K(R3, 4), LABEL(0), STX(DW, R2, 0, R3),
	    ALU64K(BPF_ADD, R2, -8), ALU64K(BPF_SUB, R3, 1), JK(BPF_JNE, R3, 0, L(0)), LDX(DW, R0, R10, -32), EXIT),
	XDP("a spilled pointer overwritten from above", 1, BEGIN, STX(DW, R10, -32, R6), MOV64X(R2, R10),
	    ALU64K(BPF_ADD, R2, -8), MOV64K(R3, 4), LABEL(0), STX(DW, R2, 0, R3), ALU64K(BPF_SUB, R2, 8),
	    ALU64K(BPF_SUB, R3, 1), JK(BPF_JNE, R3, 0, L(0)), LDX(DW, R0, R10, -32), EXIT),
	XDP("the end of a stack array to a function", 2, ST(DW, R10, -16, 0), ST(DW, R10, -24, 0), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(LC(0)), LDX(DW, R0, R10, -24), EXIT, LABEL(0), ST(DW, R1, -16, 2), EXIT),
	/* the context among other pointers, and wherever a frame has room */
	XDP("context or packet", 3, BEGIN, MOV64X(R8, R9), LDX(W, R2, R9, 12), JK(BPF_JEQ, R2, 2, 1), MOV64X(R8, R6),
	    LDX(W, R0, R8, 16), EXIT),
	XDP("packet or context", 1, BEGIN, MOV64X(R8, R9), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1), MOV64X(R8, R6),
	    LDX(B, R0, R8, 16), ALU64K(BPF_RSH, R0, 4), EXIT),
	XDP("context or NULL", 3, BEGIN, MOV64K(R8, 0), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1), MOV64X(R8, R9),
	    MOV64K(R0, 1), JK(BPF_JEQ, R8, 0, 1), LDX(W, R0, R8, 16), EXIT),
	XDP("context or map value", 3, BEGIN, VALUE(MAP_A), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1), MOV64X(R0, R9),
	    LDX(W, R0, R0, 16), EXIT),
	XDP("context at one of two offsets", 3, BEGIN, MOV64X(R8, R9), ALU64K(BPF_ADD, R8, 4), LDX(W, R2, R9, 12),
	    JK(BPF_JEQ, R2, 2, 1), ALU64K(BPF_SUB, R8, 4), LDX(W, R0, R8, 12), EXIT),
	XDP("context at a variable offset", 3, LDX(W, R2, R1, 12), ALU64K(BPF_MUL, R2, 8), ALU64X(BPF_ADD, R1, R2),
	    LDX(W, R0, R1, 0), EXIT),
	FAULTS("context at a variable offset between fields", CTX_ACCESS, LDX(W, R2, R1, 12), ALU64X(BPF_ADD, R1, R2),
	       LDX(W, R0, R1, 0), EXIT),
	XDP("context spilled between and above objects that a function writes", 3, STX(DW, R10, -24, R1), STX(DW, R10, -8, R1),
	    ST(DW, R10, -32, 0), ST(DW, R10, -16, 0), MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -32), MOV64X(R2, R10),
	    ALU64K(BPF_ADD, R2, -16), CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -24), LDX(W, R0, R1, 16), LDX(DW, R1, R10, -8),
	    LDX(W, R2, R1, 12), ALU64X(BPF_ADD, R0, R2), LDX(DW, R2, R10, -32), ALU64X(BPF_SUB, R0, R2),
	    LDX(DW, R2, R10, -16), ALU64X(BPF_SUB, R0, R2), EXIT, LABEL(0), ST(DW, R1, 0, 1), ST(DW, R2, 0, 1),
	    MOV64K(R0, 0), EXIT),
	XDP("context among what a function gets by its address", 3, STX(DW, R10, -16, R1), ST(DW, R10, -8, 0), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -16), CALL_LOCAL(LC(0)), EXIT, LABEL(0), LDX(DW, R2, R1, 0), LDX(W, R0, R2, 16), EXIT),
	XDP("context that a function writes into its caller's frame", 3, MOV64X(R2, R1), ST(DW, R10, -8, 0), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -8), LDX(W, R0, R1, 16), EXIT, LABEL(0),
	    STX(DW, R1, 0, R2), MOV64K(R0, 0), EXIT),
	XDP("context that a function returns", 3, CALL_LOCAL(LC(0)), LDX(W, R0, R0, 16), EXIT, LABEL(0), MOV64X(R0, R1), EXIT),
	XDP("context or NULL that a function returns", 3, CALL_LOCAL(LC(0)), JK(BPF_JEQ, R0, 0, 1), LDX(W, R0, R0, 16), EXIT,
	    LABEL(0), LDX(W, R2, R1, 12), MOV64X(R0, R1), JK(BPF_JEQ, R2, 2, 1), MOV64K(R0, 0), EXIT),
	XDP("context from memory to a helper", 2, BEGIN, THROUGH_MAP(R9), MOV64X(R1, R8), MOV64K(R2, 8),
	    CALL(BPF_FUNC_xdp_adjust_head), LDX(W, R2, R9, 0), LDX(B, R0, R2, 0), ALU64K(BPF_RSH, R0, 2), EXIT),
	OURS("what is no context to a helper", CTX_ACCESS, BEGIN, THROUGH_MAP(R6), MOV64X(R1, R8), MOV64K(R2, 8),
	     CALL(BPF_FUNC_xdp_adjust_head), MOV64K(R0, 2), EXIT),
	OURS("context with an offset, from memory, to a helper", CTX_ACCESS, BEGIN, THROUGH_MAP(R9), MOV64X(R1, R8),
	     ALU64K(BPF_ADD, R1, 4), MOV64K(R2, 8), CALL(BPF_FUNC_xdp_adjust_head), MOV64K(R0, 2), EXIT),
	XDP("packet pointers that a function reads from its caller's frame", 4, BEGIN, STX(DW, R10, -16, R6),
	    STX(DW, R10, -8, R7), MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -16), CALL_LOCAL(LC(0)), EXIT, LABEL(0),
	    LDX(DW, R2, R1, 0), LDX(DW, R3, R1, 8), MOV64X(R4, R2), ALU64K(BPF_ADD, R4, 8), MOV64K(R0, 1),
	    JX(BPF_JGT, R4, R3, 1), LDX(B, R0, R2, 4), EXIT),
	/* what is spilled beside an array comes into memory with it where one access touches both */
	XDP("context beside an array, and an access over the border", 3, BEGIN, STX(DW, R10, -24, R9), ST(DW, R10, -16, 0),
	    ST(DW, R10, -8, 0), MOV64X(R8, R10), ALU64K(BPF_ADD, R8, -16), LDX(W, R2, R9, 12), ALU64X(BPF_ADD, R8, R2),
	    ST(B, R8, 0, 1), LDX(W, R3, R10, -18), LDX(DW, R1, R10, -24), LDX(W, R0, R1, 16), EXIT),
	XDP("stack pointer beside an array, and an access over the border", 3, BEGIN, ST(DW, R10, -40, 3), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -40), STX(DW, R10, -24, R1), ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), MOV64X(R8, R10),
	    ALU64K(BPF_ADD, R8, -16), LDX(W, R2, R9, 12), ALU64X(BPF_ADD, R8, R2), ST(B, R8, 0, 1), LDX(W, R3, R10, -18),
	    LDX(DW, R1, R10, -24), LDX(DW, R0, R1, 0), EXIT),
	XDP("stack pointer spilled where no pointer reaches", 3, BEGIN, ST(DW, R10, -40, 3), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -40), STX(DW, R10, -24, R1), ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), MOV64X(R8, R10),
	    ALU64K(BPF_ADD, R8, -16), LDX(W, R2, R9, 12), ALU64X(BPF_ADD, R8, R2), ST(B, R8, 0, 1), LDX(DW, R1, R10, -24),
	    LDX(DW, R0, R1, 0), EXIT),
	/* arithmetic and comparison */
	XDP("arithmetic on a map value before its NULL test", 3, BEGIN, VALUE(MAP_A), MOV64X(R1, R0),
	    ALU64K(BPF_ADD, R1, 4), JK(BPF_JEQ, R0, 0, 2), LDX(W, R2, R1, 0), LDX(W, R0, R1, -4), EXIT),
	FAULTS("the same of NULL", OUT_OF_BOUNDS, BEGIN, KEY(77), LDMAP(R1, MAP_A), CALL(BPF_FUNC_map_lookup_elem),
	       ALU64K(BPF_ADD, R0, 4), LDX(W, R0, R0, 0), EXIT),
	XDP("length in 32 bits", 2, BEGIN, MOV32X(R1, R7), ALU32X(BPF_SUB, R1, R6), MOV64K(R0, 1), J32K(BPF_JNE, R1, 64, 1),
	    MOV64K(R0, 2), EXIT),
	XDP("length in 64 bits", 2, BEGIN, MOV64X(R1, R7), ALU64X(BPF_SUB, R1, R6), MOV64K(R0, 1), JK(BPF_JNE, R1, 64, 1),
	    MOV64K(R0, 2), EXIT),
	XDP("pointers that are never equal", 2, BEGIN, VALUE(MAP_A), MOV64X(R8, R0), MOV64K(R0, 1), JX(BPF_JEQ, R6, R10, L(0)),
	    JX(BPF_JEQ, R6, R8, L(0)), JX(BPF_JEQ, R10, R9, L(0)), JK(BPF_JEQ, R10, 0, L(0)), JK(BPF_JEQ, R6, 0, L(0)),
	    JK(BPF_JEQ, R9, 0, L(0)), MOV64K(R0, 2), LABEL(0), EXIT),
	XDP("pointers that are equal after all", 2, BEGIN, THROUGH_MAP(R6), MOV64K(R0, 1), JX(BPF_JNE, R8, R6, 1),
	    MOV64K(R0, 2), EXIT),
	XDP("difference to a pointer from memory", 4, BEGIN, MOV64X(R3, R6), ALU64K(BPF_ADD, R3, 4), THROUGH_MAP(R3),
	    MOV64X(R0, R8), ALU64X(BPF_SUB, R0, R6), EXIT),
	XDP("pointer aligned down", 4, BEGIN, MOV64X(R1, R6), ALU64K(BPF_ADD, R1, 7), ALU64K(BPF_AND, R1, -4),
	    LDX(B, R0, R1, 0), EXIT),
	XDP("number plus pointer", 3, BEGIN, MOV64K(R1, 3), ALU64X(BPF_ADD, R1, R6), LDX(B, R0, R1, 0), EXIT),
	XDP("64-bit number from memory plus pointer", 3, BEGIN, MOV64K(R3, 3), THROUGH_MAP(R3), ALU64X(BPF_ADD, R8, R6),
	    LDX(B, R0, R8, 0), EXIT),
	XDP("pointer minus 64-bit number from memory", 1, BEGIN, MOV64K(R3, 3), THROUGH_MAP(R3), MOV64X(R1, R6),
	    ALU64K(BPF_ADD, R1, 4), ALU64X(BPF_SUB, R1, R8), LDX(B, R0, R1, 0), EXIT),
	XDP("packet pointer from before adjust_head", 2, BEGIN, MOV64X(R1, R9), MOV64K(R2, 8),
	    CALL(BPF_FUNC_xdp_adjust_head), LDX(B, R0, R6, 2), EXIT),
	FAULTS("packet pointer from before adjust_tail", OUT_OF_BOUNDS, BEGIN, MOV64X(R1, R9), MOV64K(R2, -32),
	       CALL(BPF_FUNC_xdp_adjust_tail), LDX(B, R0, R7, -1), EXIT),
	/* functions */
	XDP("function that gets packet and map value", 3, BEGIN, MOV64X(R1, R6), CALL_LOCAL(LC(0)), MOV64X(R8, R0),
	    VALUE(MAP_A), MOV64X(R1, R0), CALL_LOCAL(LC(0)), ALU64X(BPF_ADD, R0, R8), EXIT, LABEL(0),
	    JK(BPF_JNE, R1, 0, 2), MOV64K(R0, 0), EXIT, LDX(B, R0, R1, 0), EXIT),
	XDP("function that returns packet or NULL", 2, BEGIN, MOV64X(R1, R6), MOV64X(R2, R7), CALL_LOCAL(LC(0)),
	    JK(BPF_JNE, R0, 0, 2), MOV64K(R0, 1), EXIT, LDX(B, R0, R0, 2), EXIT, LABEL(0), MOV64X(R0, R1),
	    ALU64K(BPF_ADD, R1, 16), JX(BPF_JLE, R1, R2, 1), MOV64K(R0, 0), EXIT),
	XDP("cursor that a function moves", 2, BEGIN, STX(DW, R10, -16, R6), STX(DW, R10, -8, R7), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -16), CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -16), LDX(B, R0, R1, 0), EXIT, LABEL(0),
	    LDX(DW, R2, R1, 0), LDX(DW, R3, R1, 8), ALU64K(BPF_ADD, R2, 2), JX(BPF_JGE, R2, R3, 1), STX(DW, R1, 0, R2),
	    MOV64K(R0, 0), EXIT),
	/* as compilers do: what they spill lies below the objects whose addresses are passed */
	XDP("context spilled across a function that gets a stack pointer", 4, STX(DW, R10, -16, R1), ST(DW, R10, -8, 7),
	    MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -16), LDX(W, R0, R1, 16),
	    LDX(DW, R2, R10, -8), ALU64X(BPF_ADD, R0, R2), EXIT, LABEL(0), ST(DW, R1, 0, 1), MOV64K(R0, 0), EXIT),
	XDP("context spilled below two objects, then a helper's", 2, STX(DW, R10, -24, R1), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -16), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), CALL_LOCAL(LC(0)),
	    LDX(DW, R1, R10, -24), LDX(DW, R2, R10, -16), CALL(BPF_FUNC_xdp_adjust_head), MOV64K(R0, 1),
	    LDX(DW, R1, R10, -24), LDX(W, R2, R1, 0), LDX(W, R3, R1, 4), LDX(DW, R4, R10, -8), ALU64X(BPF_ADD, R2, R4),
	    JX(BPF_JNE, R2, R3, 1), MOV64K(R0, 2), EXIT, LABEL(0), ST(DW, R1, 0, 8), ST(DW, R2, 0, 56), MOV64K(R0, 0), EXIT),
	XDP("context spilled in two functions, a stack pointer passed on", 3, STX(DW, R10, -16, R1), MOV64X(R1, R10),
	    ALU64K(BPF_ADD, R1, -8), LDX(DW, R2, R10, -16), CALL_LOCAL(LC(0)), LDX(DW, R1, R10, -16), LDX(W, R0, R1, 12),
	    LDX(DW, R2, R10, -8), ALU64X(BPF_ADD, R0, R2), EXIT, LABEL(0), STX(DW, R10, -16, R2), STX(DW, R10, -8, R1),
	    MOV64X(R1, R10), ALU64K(BPF_ADD, R1, -8), CALL_LOCAL(LC(1)), LDX(DW, R2, R10, -16), LDX(W, R0, R2, 16), EXIT,
	    LABEL(1), LDX(DW, R1, R1, 0), ST(DW, R1, 0, 1), MOV64K(R0, 0), EXIT),
	XDP("context passed down twice", 3, MOV64K(R2, 0), CALL_LOCAL(LC(0)), EXIT, LABEL(0), CALL_LOCAL(LC(1)), EXIT,
	    LABEL(1), LDX(W, R0, R1, 16), EXIT),
	XDP("map passed to a function", 2, BEGIN, LDMAP(R1, MAP_A), CALL_LOCAL(LC(0)), LDMAP(R1, MAP_B),
	    CALL_LOCAL(LC(0)), EXIT, LABEL(0), KEY(1), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1),
	    LDX(DW, R0, R0, 0), EXIT),
	FAULTS("function that faults", OUT_OF_BOUNDS, BEGIN, MOV64X(R1, R7), CALL_LOCAL(LC(0)), MOV64K(R0, 2), EXIT,
	       LABEL(0), LDX(B, R0, R1, 0), EXIT),
	XDP("function that begins with a loop over packet and map value", 2, LDX(W, R1, R1, 0), CALL_LOCAL(LC(0)), EXIT,
	    LABEL(0), LDX(B, R0, R1, 2), JK(BPF_JEQ, R0, 2, L(1)), LDVALUE(R1, MAP_A, 0), JA(L(0)), LABEL(1), EXIT),
	OURS("a caller's frame, from its callee's", OUT_OF_BOUNDS, CALL_LOCAL(LC(0)), EXIT, LABEL(0), MOV64K(R3, 0), MOV64K(R0, 2),
	    LABEL(1), MOV64X(R2, R10), ALU64K(BPF_SUB, R2, 1024), ALU64X(BPF_ADD, R2, R3), LDX(DW, R4, R2, 0),
	    JK(BPF_JEQ, R4, 0, 1), MOV64K(R0, 1), ALU64K(BPF_ADD, R3, 8), JK(BPF_JLT, R3, 512, L(1)), EXIT),
	/* functions that bpf_loop calls back */
	XDP("loop with a sum on its caller's stack", 3, ST(DW, R10, -8, 0), MOV64K(R1, 3), LDFUNC(R2, LC(0)), MOV64X(R3, R10),
	    ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 0), CALL(BPF_FUNC_loop), LDX(DW, R0, R10, -8), EXIT, LABEL(0),
	    LDX(DW, R3, R2, 0), ALU64X(BPF_ADD, R3, R1), STX(DW, R2, 0, R3), MOV64K(R0, 0), EXIT),
	XDP("loop that its function ends", 3, MOV64K(R1, 100), LDFUNC(R2, LC(0)), MOV64K(R3, 0), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), EXIT, LABEL(0), MOV64K(R0, 0), JK(BPF_JNE, R1, 2, 1), MOV64K(R0, 1), EXIT),
	XDP("loop over nothing", 2, MOV64K(R1, 0), LDFUNC(R2, LC(0)), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop),
	    ALU64K(BPF_ADD, R0, 2), EXIT, LABEL(0), MOV64K(R0, 0), EXIT),
	XDP("loop whose count has more than 32 bits", 2, LD64(R1, 0x700000002), LDFUNC(R2, LC(0)), MOV64K(R3, 0), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), EXIT, LABEL(0), MOV64K(R0, 0), EXIT),
	XDP("loop with flags", 2, MOV64K(R1, 3), LDFUNC(R2, LC(0)), MOV64K(R3, 0), MOV64K(R4, 1), CALL(BPF_FUNC_loop),
	    JK(BPF_JNE, R0, -22, 2), MOV64K(R0, 2), EXIT, MOV64K(R0, 1), EXIT, LABEL(0), MOV64K(R0, 0), EXIT),
	XDP("loop of too many turns", 2, MOV64K(R1, (1 << 23) + 1), LDFUNC(R2, LC(0)), MOV64K(R3, 0), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), JK(BPF_JNE, R0, -7, 2), MOV64K(R0, 2), EXIT, MOV64K(R0, 1), EXIT, LABEL(0),
	    MOV64K(R0, 0), EXIT),
	FAULTS("loop of the most turns, for which the fuel does not do", OUT_OF_FUEL, MOV64K(R1, 1 << 23), LDFUNC(R2, LC(0)),
	       MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), MOV64K(R0, 2), EXIT, LABEL(0), MOV64K(R0, 0), EXIT),
	FAULTS("loop whose function faults", OUT_OF_BOUNDS, BEGIN, MOV64K(R1, 3), LDFUNC(R2, LC(0)), MOV64X(R3, R7),
	       MOV64K(R4, 0), CALL(BPF_FUNC_loop), MOV64K(R0, 2), EXIT, LABEL(0), LDX(B, R0, R2, 0), MOV64K(R0, 0), EXIT),
	XDP("loop that gets a packet pointer", 4, BEGIN, MOV64K(R1, 10), LDFUNC(R2, LC(0)), MOV64X(R3, R6), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), EXIT, LABEL(0), LDX(B, R0, R2, 1), JK(BPF_JEQ, R1, 3, 1), MOV64K(R0, 0), EXIT),
	XDP("loop that gets the context", 3, MOV64X(R3, R1), MOV64K(R1, 10), LDFUNC(R2, LC(0)), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), EXIT, LABEL(0), LDX(W, R3, R2, 12), MOV64K(R0, 0), JX(BPF_JNE, R1, R3, 1), MOV64K(R0, 1), EXIT),
	XDP("loop that gets packet or map value", 1, BEGIN, VALUE(MAP_A), LDX(W, R2, R9, 12), JK(BPF_JNE, R2, 2, 1),
	    MOV64X(R0, R6), MOV64X(R3, R0), MOV64K(R1, 10), LDFUNC(R2, LC(0)), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT,
	    LABEL(0), LDX(B, R0, R2, 1), EXIT),
	XDP("two loops with one function, of different pointers", 4, BEGIN, ST(DW, R10, -8, 1), MOV64K(R1, 10),
	    LDFUNC(R2, LC(0)), MOV64X(R3, R6), ALU64K(BPF_ADD, R3, 2), MOV64K(R4, 0), CALL(BPF_FUNC_loop), MOV64X(R6, R0),
	    MOV64K(R1, 3), LDFUNC(R2, LC(0)), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -16), ST(DW, R10, -16, 0), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), ALU64X(BPF_ADD, R0, R6), EXIT, LABEL(0), LDX(B, R0, R2, 0), EXIT),
	XDP("loop whose function knows the context from a structure", 3, STX(DW, R10, -16, R1), ST(DW, R10, -8, 0),
	    MOV64K(R1, 1), LDFUNC(R2, LC(0)), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -16), MOV64K(R4, 0), CALL(BPF_FUNC_loop),
	    LDX(DW, R0, R10, -8), EXIT, LABEL(0), LDX(DW, R3, R2, 0), LDX(W, R3, R3, 16), STX(DW, R2, 8, R3), MOV64K(R0, 0),
	    EXIT),
	XDP("loop in a loop", 4, ST(DW, R10, -8, 0), MOV64K(R1, 2), LDFUNC(R2, LC(0)), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8),
	    MOV64K(R4, 0), CALL(BPF_FUNC_loop), LDX(DW, R0, R10, -8), EXIT, LABEL(0), MOV64X(R3, R2), MOV64K(R1, 2),
	    LDFUNC(R2, LC(1)), MOV64K(R4, 0), CALL(BPF_FUNC_loop), MOV64K(R0, 0), EXIT, LABEL(1), LDX(DW, R3, R2, 0),
	    ALU64K(BPF_ADD, R3, 1), STX(DW, R2, 0, R3), MOV64K(R0, 0), EXIT),
	XDP("loop whose function was kept on the stack", 2, LDFUNC(R2, LC(0)), STX(DW, R10, -8, R2), MOV64K(R1, 2),
	    LDX(DW, R2, R10, -8), MOV64K(R3, 0), MOV64K(R4, 0), CALL(BPF_FUNC_loop), EXIT, LABEL(0), MOV64K(R0, 0), EXIT),
	XDP("function that is called, too", 3, MOV64K(R1, 2), LDFUNC(R2, LC(0)), MOV64K(R3, 1), MOV64K(R4, 0),
	    CALL(BPF_FUNC_loop), MOV64X(R6, R0), MOV64K(R1, 0), MOV64K(R2, 1), CALL_LOCAL(LC(0)), ALU64K(BPF_ADD, R6, 1),
	    ALU64X(BPF_ADD, R0, R6), EXIT, LABEL(0), MOV64X(R0, R1), EXIT),
	FAULTS("nonsense behind a call that never returns", OUT_OF_FUEL, MOV64K(R6, 0), CALL_LOCAL(LC(0)), MOV64X(R2, R10),
	       ALU64K(BPF_ADD, R2, -8), MOV64K(R1, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64X(R3, R10),
	       STX(DW, R3, 64, R0), LDX(DW, R0, R6, 0), EXIT, LABEL(0), MOV64K(R0, 0), LABEL(1), JA(L(1))),
	/* memory for helpers */
	XDP("key in a map value", 3, BEGIN, LDVALUE(R8, MAP_B, 0), ST(W, R8, 0, 1), MOV64X(R2, R8), LDMAP(R1, MAP_A),
	    CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1), LDX(DW, R0, R0, 0), EXIT),
	XDP("key behind a pointer from memory", 3, BEGIN, ST(W, R10, -4, 1), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -4),
	    THROUGH_MAP(R3), MOV64X(R2, R8), LDMAP(R1, MAP_A), CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JEQ, R0, 0, 1),
	    LDX(DW, R0, R0, 0), EXIT),
	FAULTS("key behind a number from memory", OUT_OF_BOUNDS, BEGIN, MOV64K(R3, 4), THROUGH_MAP(R3), MOV64X(R2, R8),
	       LDMAP(R1, MAP_A), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 2), EXIT),
	XDP("buffer of a variable size", 4, BEGIN, ST(DW, R10, -8, 0), MOV64X(R1, R9), MOV64K(R2, 2), MOV64X(R3, R10),
	    ALU64K(BPF_ADD, R3, -8), LDX(B, R4, R6, 3), CALL(BPF_FUNC_xdp_load_bytes), LDX(B, R0, R10, -6), EXIT),
	FAULTS("buffer of a variable size over the stack's top", OUT_OF_BOUNDS, BEGIN, MOV64X(R1, R9), MOV64K(R2, 0),
	       MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), LDX(B, R4, R6, 9), CALL(BPF_FUNC_xdp_load_bytes),
	       MOV64K(R0, 2), EXIT),
	FAULTS("buffer whose size wraps", OUT_OF_BOUNDS, BEGIN, MOV64X(R1, R9), MOV64K(R2, 0), MOV64X(R3, R6),
	       MOV64K(R4, 0), ALU64K(BPF_SUB, R4, 1), LDX(B, R5, R6, 1), ALU64X(BPF_SUB, R4, R5),
	       CALL(BPF_FUNC_xdp_load_bytes), MOV64K(R0, 2), EXIT),
	XDP("NULL with size 0", 2, BEGIN, MOV64K(R1, 0), MOV64K(R2, 0), MOV64X(R3, R6), MOV64K(R4, 4), MOV64K(R5, 0),
	    CALL(BPF_FUNC_csum_diff), MOV64K(R1, 0), MOV64K(R0, 2), EXIT),
	XDP("NULL from memory with size 0", 2, BEGIN, MOV64K(R3, 0), THROUGH_MAP(R3), MOV64X(R1, R8), MOV64X(R2, R8),
	    MOV64X(R3, R6), MOV64K(R4, 4), MOV64K(R5, 0), CALL(BPF_FUNC_csum_diff), MOV64K(R0, 2), EXIT),
	FAULTS("NULL from memory with a size", OUT_OF_BOUNDS, BEGIN, MOV64K(R3, 0), THROUGH_MAP(R3), MOV64X(R1, R8),
	       MOV64K(R2, 4), MOV64X(R3, R6), MOV64K(R4, 4), MOV64K(R5, 0), CALL(BPF_FUNC_csum_diff), MOV64K(R0, 2),
	       EXIT),
	/* forged handles name at most what the program may use anyway */
	FAULTS("handle of no region", OUT_OF_BOUNDS, BEGIN, MOV64K(R3, 216), THROUGH_MAP(R3), LDX(B, R0, R8, 0), EXIT),
	XDP("handle of the context", 3, BEGIN, THROUGH_MAP(R9), LDX(W, R0, R8, 16), EXIT),
	XDP("packet through a handle of the context", 4, BEGIN, THROUGH_MAP(R9), LDX(W, R1, R8, 0), LDX(B, R0, R1, 4), EXIT),
	FAULTS("no such field behind a handle of the context", CTX_ACCESS, BEGIN, THROUGH_MAP(R9), LDX(W, R0, R8, 24), EXIT),
	FAULTS("two bytes of a field behind a handle of the context", CTX_ACCESS, BEGIN, THROUGH_MAP(R9), LDX(H, R0, R8, 16),
	       EXIT),
	FAULTS("store through a handle of the context", OUT_OF_BOUNDS, BEGIN, THROUGH_MAP(R9), ST(W, R8, 16, 0),
	       MOV64K(R0, 2), EXIT),
	OURS("forged handle of the context, of nothing in it", OUT_OF_BOUNDS, BEGIN, LD64(R3, (1ull << 48) + 4096),
	     THROUGH_MAP(R3), LDX(W, R0, R8, 0), EXIT),
	FAULTS("handle of a map itself", OUT_OF_BOUNDS, BEGIN, LDMAP(R3, MAP_A), THROUGH_MAP(R3), LDX(W, R0, R8, 0), EXIT),
	FAULTS("handle of a region that is none", OUT_OF_BOUNDS, BEGIN, LD64(R3, 0xffffull << 48), THROUGH_MAP(R3),
	       LDX(B, R0, R8, 0), EXIT),
	FAULTS("handle of a map that is none", OUT_OF_BOUNDS, BEGIN, LD64(R3, (32ull + NUM_MAPS) << 48), THROUGH_MAP(R3),
	       LDX(B, R0, R8, 0), EXIT),
	FAULTS("packet pointer moved far, from memory", OUT_OF_BOUNDS, BEGIN, THROUGH_MAP(R6), LD64(R1, 1ull << 40),
	       ALU64X(BPF_ADD, R8, R1), LDX(B, R0, R8, 0), EXIT),
	FAULTS("map pointer moved one past its region, from memory", OUT_OF_BOUNDS, BEGIN, LDVALUE(R3, MAP_A, 0),
	       THROUGH_MAP(R3), LDX(B, R0, R8, 32), EXIT),
	FAULTS("packet offset that wraps around 64 bits", OUT_OF_BOUNDS, BEGIN, LDX(DW, R1, R6, 0), ALU64K(BPF_OR, R1, -1),
	       MOV64X(R2, R6), ALU64X(BPF_ADD, R2, R1), ALU64K(BPF_SUB, R2, 300), LDX(DW, R0, R2, 0), EXIT),
	FAULTS("misaligned atomic through a pointer from memory", MISALIGNED, BEGIN, MOV64X(R3, R6),
	       ALU64K(BPF_ADD, R3, 4), THROUGH_MAP(R3), MOV64K(R1, 1), ATOMIC(DW, BPF_ADD, R8, 0, R1), MOV64K(R0, 2), EXIT),
	XDP("aligned atomic through a pointer from memory", 2, BEGIN, MOV64X(R3, R6), ALU64K(BPF_ADD, R3, 8),
	    THROUGH_MAP(R3), MOV64K(R1, 1), ATOMIC(DW, BPF_ADD, R8, 0, R1), MOV64K(R0, 2), EXIT),
	/* kept in a map value from one packet to the next: harmless */
	XDP("stack pointer from a call that has ended", 2, ST(DW, R10, -8, 1), CALL_LOCAL(LC(0)), LDVALUE(R8, MAP_A, 0),
	    LDX(DW, R8, R8, 0), ST(DW, R8, 0, 7), LDX(DW, R0, R10, -8), ALU64K(BPF_ADD, R0, 1), EXIT, LABEL(0),
	    ST(DW, R10, -8, 3), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), LDVALUE(R8, MAP_A, 0), STX(DW, R8, 0, R3),
	    MOV64K(R0, 0), EXIT),
	FAULTS("packet pointer from before adjust_tail, from memory", OUT_OF_BOUNDS, BEGIN, ALU64K(BPF_ADD, R6, 60),
	       LDVALUE(R8, MAP_A, 0), STX(DW, R8, 0, R6), MOV64X(R1, R9), MOV64K(R2, -32), CALL(BPF_FUNC_xdp_adjust_tail),
	       LDX(DW, R8, R8, 0), LDX(B, R0, R8, 0), EXIT),
	/* arguments of kernels: buffer 0 of zeros, buffer 1 read only, byte i is i, value 2 is 1 */
	GRID("one of two buffers", 7, LDX(DW, R6, R1, 0), LDX(DW, R7, R1, 8), LDX(DW, R2, R1, 16), MOV64X(R3, R6),
	     JK(BPF_JEQ, R2, 0, 1), MOV64X(R3, R7), LDX(B, R0, R3, 7), STX(B, R6, 0, R0), MOV64K(R0, 0), EXIT),
	GRID("buffer is not NULL", 9, LDX(DW, R6, R1, 0), JK(BPF_JEQ, R6, 0, 1), ST(B, R6, 0, 9), MOV64K(R0, 0), EXIT),
	GRID("buffer through the stack and back", 8, LDX(DW, R6, R1, 0), STX(DW, R10, -8, R6), LDX(DW, R2, R10, -8),
	     ST(B, R2, 0, 8), MOV64K(R0, 0), EXIT),
	GRID("buffer through memory and back", 8, LDX(DW, R6, R1, 0), STX(DW, R6, 8, R6), LDX(DW, R2, R6, 8),
	     ST(B, R2, 0, 8), MOV64K(R0, 0), EXIT),
	GRID("arguments through a handle of the context", 5, LDX(DW, R6, R1, 0), STX(DW, R6, 8, R1), LDX(DW, R8, R6, 8),
	     LDX(DW, R7, R8, 8), LDX(B, R2, R7, 4), LDX(DW, R3, R8, 16), ALU64X(BPF_ADD, R2, R3), LDX(DW, R6, R8, 0),
	     STX(B, R6, 0, R2), MOV64K(R0, 0), EXIT),
	GRID("half of a value through a handle of the context", 1, LDX(DW, R6, R1, 0), STX(DW, R6, 8, R1), LDX(DW, R8, R6, 8),
	     LDX(W, R2, R8, 16), STX(B, R6, 0, R2), MOV64K(R0, 0), EXIT),
	GRID_FAULTS("half of a buffer through a handle of the context", CTX_ACCESS, LDX(DW, R6, R1, 0), STX(DW, R6, 8, R1),
		    LDX(DW, R8, R6, 8), LDX(W, R2, R8, 0), MOV64K(R0, 0), EXIT),
	GRID_FAULTS("argument that is none through a handle of the context", CTX_ACCESS, LDX(DW, R6, R1, 0),
		    STX(DW, R6, 8, R1), LDX(DW, R8, R6, 8), LDX(DW, R2, R8, 24), MOV64K(R0, 0), EXIT),
	GRID_FAULTS("store to a buffer that is read only", OUT_OF_BOUNDS, LDX(DW, R7, R1, 8), ST(B, R7, 0, 9), MOV64K(R0, 0), EXIT),
	GRID_FAULTS("the same where it is one of two", OUT_OF_BOUNDS, LDX(DW, R6, R1, 0), LDX(DW, R7, R1, 8),
		    LDX(DW, R2, R1, 16), JK(BPF_JEQ, R2, 0, 1), MOV64X(R6, R7), ST(B, R6, 0, 9), MOV64K(R0, 0), EXIT),
	GRID_FAULTS("buffer's end", OUT_OF_BOUNDS, LDX(DW, R6, R1, 0), LDX(DW, R2, R1, 16), ALU64K(BPF_ADD, R2, 63),
		    ALU64X(BPF_ADD, R6, R2), ST(B, R6, 0, 9), MOV64K(R0, 0), EXIT),
};
/* clang-format on */

static void run(const struct pattern *p, const struct target *target, struct outcome *outcome)
{
	static uint8_t packet[64], zeros[64];
	struct bpf_insn insns[128];
	struct run run = { .name = p->name,
			   .kind = p->kind,
			   .insns = insns,
			   .maps = maps,
			   .num_maps = NUM_MAPS,
			   .fuel = 10000,
			   .packets = { { packet, sizeof(packet), 0, 3, 2 } },
			   .num_packets = 1 };

	for (uint32_t i = 0; i < sizeof(packet); i++)
		packet[i] = (uint8_t)i;
	if (p->kind == VIRTIO_GPGPU_PROG_GPGPU) {
		run.num_packets = 0;
		run.num_args = 3;
		run.args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, zeros, sizeof(zeros) };
		run.args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER_RO, 0, packet, sizeof(packet) };
		run.args[2] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, 1, NULL, 0 };
		for (int d = 0; d < 3; d++)
			run.grid[d] = run.group[d] = 1;
	}
	run.num_insns = asm_resolve(p->insns, p->count, insns, sizeof(insns) / sizeof(*insns), NULL, 0);
	memset(outcome, 0, sizeof(*outcome));
	target->run(&run, outcome);
}

static void expect(const struct pattern *p, const struct target *target)
{
	struct outcome outcome;

	run(p, target, &outcome);
	ck_assert_msg(!outcome.refused, "%s on %s: refused: %s", p->name, target->name, outcome.message);
	if (p->fault) {
		ck_assert_msg(outcome.faults == 1 && outcome.fault == p->fault,
			      "%s on %s: fault %u instead of %u", p->name, target->name,
			      outcome.faults ? outcome.fault : 0, p->fault);
	} else {
		uint32_t got = p->kind == VIRTIO_GPGPU_PROG_XDP ? outcome.packets[0].verdict
								: outcome.bytes[0];

		ck_assert_msg(!outcome.faults, "%s on %s: fault %u at %u", p->name, target->name,
			      outcome.fault, outcome.fault_insn);
		ck_assert_msg(got == p->verdict, "%s on %s: %u instead of %u", p->name, target->name, got,
			      p->verdict);
	}
	outcome_free(&outcome);
}

START_TEST(test_compiled)
{
	expect(&patterns[_i], &target_jit);
}
END_TEST

/* That the table is right: the interpreter shares no code with the compiler. */
START_TEST(test_interpreted)
{
	if (!patterns[_i].ours)
		expect(&patterns[_i], &target_interp);
}
END_TEST

static void open_jit(void)
{
	const char *why = target_jit.open();

	ck_assert_msg(!why, "%s", why);
}

static void close_jit(void)
{
	target_jit.close();
}

int main(void)
{
	Suite *suite = suite_create("pointers");
	TCase *compiled = tcase_create("compiled"), *interpreted = tcase_create("interpreted");
	SRunner *runner;
	int failed;

	/* One compiler for all: the tests run in one process. */
	tcase_add_unchecked_fixture(compiled, open_jit, close_jit);
	tcase_set_timeout(compiled, 120);
	tcase_add_loop_test(compiled, test_compiled, 0, sizeof(patterns) / sizeof(*patterns));
	tcase_add_loop_test(interpreted, test_interpreted, 0, sizeof(patterns) / sizeof(*patterns));
	suite_add_tcase(suite, compiled);
	suite_add_tcase(suite, interpreted);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
