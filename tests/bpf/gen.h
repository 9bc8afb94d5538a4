/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen.h - the state of the program generator, shared by its files.
 *
 * Registers: R9 is the context (main function only), R6 points at `len` bytes that may be accessed (packet,
 * buffer or the caller's stack), R7 and R8 count loops; whatever else is initialised holds a scalar and is in `live`.
 * Stack: slots 1..GEN_SLOTS below R10 are scalars, all initialised on entry; behind them a key, a value and a
 * spill slot for a pointer.
 */
#ifndef TESTS_BPF_GEN_H
#define TESTS_BPF_GEN_H

#include "asm.h"
#include "random.h"

#define GEN_SLOTS 8
#define GEN_KEY	  (-8 * (GEN_SLOTS + 1))	 /* 8 bytes */
#define GEN_VALUE (-8 * (GEN_SLOTS + 3)) /* 16 bytes */
#define GEN_SPILL (-8 * (GEN_SLOTS + 4))
#define GEN_SUBS  3

enum { GEN_ARRAY, GEN_HASH, GEN_PERCPU, GEN_LPM, GEN_DATA };

struct gen {
	struct random_case *made;
	uint64_t state;
	uint32_t n;  /* instructions so far */
	/* the function that is being written */
	uint32_t live;  /* bit per register: initialised scalar that may be read and written */
	uint32_t held;  /* bit per register: holds something else for the moment */
	uint32_t len;  /* bytes behind R6 */
	bool aligned;  /* those want natural alignment */
	bool main;
	int loops;  /* loops around this place */
	int depth;  /* of statements in statements */
	int level;  /* main 0, then the number of the subprogram + 1 */
	/* calls to patch: instruction, and which subprogram */
	uint32_t calls[64], callee[64], num_calls;
	bool pointer_sub[GEN_SUBS]; /* takes a pointer to 16 bytes in R1 */
};

uint64_t gen_random(struct gen *g);
uint32_t gen_below(struct gen *g, uint32_t n);
bool gen_chance(struct gen *g, uint32_t percent);
uint64_t gen_constant(struct gen *g);
void gen_emit(struct gen *g, struct bpf_insn insn);
/* gen_read() - a live scalar; makes one if there is none. gen_write() - a register that becomes one. */
uint8_t gen_read(struct gen *g);
uint8_t gen_write(struct gen *g);
/* gen_after_call() - R0 is a scalar, R1-R5 are gone. */
void gen_after_call(struct gen *g);
/* gen_jump() - a forward jump to be patched by gen_here(). */
uint32_t gen_jump(struct gen *g, struct bpf_insn insn);
void gen_here(struct gen *g, uint32_t jump);
/* gen_packet() - (re)load R6 and check for @len bytes, or return XDP_DROP. */
void gen_packet(struct gen *g, uint32_t len);

void gen_alu(struct gen *g);
void gen_load_constant(struct gen *g);
void gen_stack(struct gen *g);
void gen_memory(struct gen *g);
void gen_data(struct gen *g);
void gen_map(struct gen *g);
void gen_helper(struct gen *g);
void gen_pointer(struct gen *g);
void gen_fault(struct gen *g);
struct bpf_insn gen_condition(struct gen *g);

#endif
