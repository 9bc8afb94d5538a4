/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen.h - the state of the program generator, shared by its files.
 *
 * Registers: R9 is the context (main function only), R6 points at `len` bytes that may be accessed (packet,
 * buffer or the caller's stack), R7 and R8 count loops; whatever else is initialised holds a scalar and is in `live`.
 * Stack: slots 1..slots below R10 are scalars, all initialised on entry; at fixed places behind the eighth a key, a
 * value and a spill slot for a pointer.
 */
#ifndef TESTS_BPF_GEN_H
#define TESTS_BPF_GEN_H

#include "asm.h"
#include "random.h"

#define GEN_SLOTS     8 /* at most */
#define GEN_KEY	      (-8 * (GEN_SLOTS + 1)) /* 8 bytes */
#define GEN_VALUE     (-8 * (GEN_SLOTS + 3)) /* 16 bytes */
#define GEN_SPILL     (-8 * (GEN_SLOTS + 4))
#define GEN_ROUTE     (GEN_SPILL - 40 - 64) /* behind the arguments of calls: struct bpf_fib_lookup */
#define GEN_SUBS      3
#define GEN_CALLBACKS 2
#define GEN_FUNCS     (GEN_SUBS + GEN_CALLBACKS) /* callbacks behind subprograms */
#define GEN_CALLS     64
#define GEN_BREAKS    8

/* Maps of a program; each is made when the first instruction needs it. */
enum gen_map {
	GEN_ARRAY,
	GEN_ARRAY_2, /* of the same shape */
	GEN_HASH,
	GEN_HASH_2,
	GEN_PERCPU,
	GEN_LPM,
	GEN_DATA,
	GEN_STRINGS,
	GEN_PERCPU_HASH,
	GEN_LRU,
	GEN_LRU_PERCPU,
	GEN_QUEUE,
	GEN_STACK,
	GEN_BLOOM,
	GEN_DEVMAP,
	GEN_DEVMAP_HASH,
	GEN_CPUMAP,
	GEN_ARRAY_OF,
	GEN_HASH_OF,
	GEN_RING,
	GEN_PERF,
	GEN_PROGS,
	GEN_FIB, /* no program names it */
	GEN_MAPS
};

struct gen {
	struct random_case *made;
	struct bpf_insn *out; /* the program that is being written, and its room */
	uint32_t max;
	uint32_t without; /* RANDOM_WITHOUT_* */
	uint64_t state;
	uint32_t n;  /* instructions so far */
	/* the function that is being written */
	uint32_t live;  /* bit per register: initialised scalar that may be read and written */
	uint32_t held;  /* bit per register: holds something else for the moment */
	uint32_t len;  /* bytes behind R6 */
	int slots;
	bool aligned;  /* those want natural alignment */
	bool anywhere; /* R6 may be a packet, on which the kernel allows no atomics */
	bool main;
	int loops;  /* loops around this place */
	int depth;  /* of statements in statements */
	int level;  /* main 0, then the number of the subprogram + 1 */
	/* breaks of the innermost loop to patch */
	uint32_t breaks[GEN_BREAKS], num_breaks;
	/* calls to patch: instruction, and which function */
	uint32_t calls[GEN_CALLS], callee[GEN_CALLS], num_calls;
	bool pointer_sub[GEN_SUBS]; /* takes a pointer to 16 bytes in R1 */
	uint32_t map_at[GEN_MAPS]; /* index in the run + 1; 0: not made */
};

uint64_t gen_random(struct gen *g);
uint32_t gen_below(struct gen *g, uint32_t n);
bool gen_chance(struct gen *g, uint32_t percent);
uint64_t gen_constant(struct gen *g);
void gen_emit(struct gen *g, struct bpf_insn insn);
void gen_emit2(struct gen *g, const struct bpf_insn pair[2]);
/* gen_read() - a live scalar; makes one if there is none. gen_write() - a register that becomes one. */
uint8_t gen_read(struct gen *g);
uint8_t gen_write(struct gen *g);
/* gen_after_call() - R0 is a scalar, R1-R5 are gone. gen_void() - so is what R0 held: it becomes a constant. */
void gen_after_call(struct gen *g);
void gen_void(struct gen *g);
/* gen_jump() - a forward jump to be patched by gen_here(). */
uint32_t gen_jump(struct gen *g, struct bpf_insn insn);
void gen_here(struct gen *g, uint32_t jump);
/* gen_packet() - (re)load R6 and check for @len bytes, or return XDP_DROP. */
void gen_packet(struct gen *g, uint32_t len);
/* gen_stack_pointer() - R10 - @below in @reg. */
void gen_stack_pointer(struct gen *g, uint8_t reg, int32_t below);
struct bpf_insn gen_condition(struct gen *g);

/* gen_data.c */
void gen_alu(struct gen *g);
void gen_load_constant(struct gen *g);
void gen_stack(struct gen *g);
void gen_memory(struct gen *g);
/* gen_access() - a load, store or atomic at @base + @off .. @off + @room, aligned to its size if @aligned. */
void gen_access(struct gen *g, uint8_t base, int32_t off, uint32_t room, bool aligned, bool atomic,
		bool write);
void gen_pointer(struct gen *g);
void gen_fault(struct gen *g);

/* gen_helpers.c */
void gen_helper(struct gen *g);

/* gen_maps.c */
void gen_load_map(struct gen *g, uint8_t reg, enum gen_map map);
/* gen_load_value() - the address of a map's only value. */
void gen_load_value(struct gen *g, uint8_t reg, enum gen_map map, int32_t offset);
void gen_data(struct gen *g);
void gen_map(struct gen *g);
/* gen_make_map() - that the run has it. */
void gen_make_map(struct gen *g, enum gen_map map);
/* gen_verdict() - R0 = what a redirect of some kind returns. */
void gen_verdict(struct gen *g);
/* gen_tail_call() - and it may come back. */
void gen_tail_call(struct gen *g);

#endif
