/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * isa.h - machine code of AMD GPUs, executed: what the card (../card/) and tests use.
 *
 * A dispatch is run to its end, or to a fault, by sim_run(). Memory is the caller's: every access goes through
 * struct sim_memory with the compute unit that makes it, so that caches and page tables are the card's.
 *
 * Threads: one sim_run() at a time per struct sim_machine; several machines at once.
 */
#ifndef AMDGPU_SIM_ISA_H
#define AMDGPU_SIM_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_gfx { SIM_GFX900, SIM_GFX906, SIM_GFX908, SIM_GFX90A, SIM_GFX1030 };

/* Of an access. */
enum {
	SIM_READ = 1,
	SIM_WRITE = 2,
	SIM_EXECUTE = 4, /* instruction fetch */
	SIM_SCALAR = 8, /* through the scalar cache */
	SIM_GLC = 16, /* the instruction's cache bits as they are */
	SIM_SLC = 32,
	SIM_DLC = 64,
	SIM_SCRATCH = 128,
};

enum sim_cache {
	SIM_CACHE_VECTOR_INV,
	SIM_CACHE_SCALAR_INV,
	SIM_CACHE_L2_INV,
	SIM_CACHE_L2_WB,
	SIM_CACHE_GL1_INV
};

enum sim_atomic {
	SIM_ATOMIC_SWAP,
	SIM_ATOMIC_CMPSWAP,
	SIM_ATOMIC_ADD,
	SIM_ATOMIC_SUB,
	SIM_ATOMIC_SMIN,
	SIM_ATOMIC_UMIN,
	SIM_ATOMIC_SMAX,
	SIM_ATOMIC_UMAX,
	SIM_ATOMIC_AND,
	SIM_ATOMIC_OR,
	SIM_ATOMIC_XOR,
	SIM_ATOMIC_INC,
	SIM_ATOMIC_DEC,
	SIM_ATOMIC_ADD_F32,
	SIM_ATOMIC_ADD_F64,
};

/* Return of each: 0, or not 0 for a memory fault at @va. @cu: compute unit that asks. */
struct sim_memory {
	void *opaque;
	int (*read)(void *opaque, unsigned int cu, uint64_t va, void *to, uint32_t size, uint32_t flags);
	int (*write)(void *opaque, unsigned int cu, uint64_t va, const void *from, uint32_t size,
		     uint32_t flags);
	/* @size: 4 or 8. @old: out, what was there. Atomics are done in the L2. */
	int (*atomic)(void *opaque, unsigned int cu, uint64_t va, enum sim_atomic op, uint32_t size,
		      uint64_t operand, uint64_t compare, uint64_t *old, uint32_t flags);
	void (*cache)(void *opaque, unsigned int cu, enum sim_cache what);
	/*
	 * Nanoseconds of the card's clock, now that the dispatch has executed @instructions, of all waves. Asked for where
	 * a wave reads it, and told now and then. May be NULL.
	 */
	uint64_t (*clock)(void *opaque, uint64_t instructions);
};

/* What DISPATCH_DIRECT starts, as the compute registers say. */
struct sim_dispatch {
	enum sim_gfx gfx;
	uint32_t wave; /* 64 or 32, by the initiator */
	uint64_t code; /* address of the first instruction */
	uint32_t rsrc1, rsrc2, rsrc3;
	uint32_t user_data[16];
	uint32_t groups[3], group_size[3];
	uint64_t scratch; /* base address; 0: none */
	uint32_t scratch_wave_bytes, scratch_waves;
};

enum sim_fault_kind {
	SIM_FAULT_NONE,
	SIM_FAULT_MEMORY, /* va, flags */
	SIM_FAULT_FETCH, /* code not there, or not executable */
	SIM_FAULT_OPCODE, /* no such instruction on this generation, or a reserved field */
	SIM_FAULT_REGISTER, /* beyond what the dispatch has, misaligned, or read before it was written */
	SIM_FAULT_LDS, /* outside of the group's */
	SIM_FAULT_HAZARD, /* a result used without the wait or the independent instructions that hardware needs */
	SIM_FAULT_BARRIER, /* a barrier that cannot be reached by all waves */
	SIM_FAULT_DISPATCH, /* a field of the dispatch that hardware does not take */
	SIM_FAULT_WATCHDOG, /* the limit of instructions */
};

struct sim_fault {
	enum sim_fault_kind kind;
	uint64_t pc, va;
	uint32_t flags, group[3], wave, lane;
	char text[160]; /* instruction and reason */
};

/* Instructions executed, by class, added up over waves. */
struct sim_counts {
	uint64_t valu, salu, vmem_load, vmem_store, vmem_atomic, flat, smem, lds, scratch, branch, message,
		other;
	uint64_t lanes; /* active, added up over the vector instructions */
	uint64_t bytes_loaded, bytes_stored; /* by lanes, vector memory */
};

struct sim_options {
	uint64_t seed; /* 0: waves in order, one after the other; else they take turns at random */
	uint64_t max_instructions; /* of one dispatch, all waves; 0: none */
	unsigned int compute_units; /* that groups are spread over; 0: 4 */
	const volatile uint32_t *stop; /* ends the run with SIM_FAULT_WATCHDOG once it is not 0; may be NULL */
	/* called per executed instruction if not NULL: text of it, wave's number, exec mask */
	void (*trace)(void *opaque, uint64_t wave, uint64_t pc, const char *text, uint64_t exec);
	void *trace_opaque;
	uint32_t trace_lane; /* whose registers are shown behind the text */
};

struct sim_machine;

/* sim_machine_new() - @memory and @options are copied. sim_machine_free() - no run under way. */
struct sim_machine *sim_machine_new(const struct sim_memory *memory, const struct sim_options *options);
void sim_machine_free(struct sim_machine *machine);
/* sim_machine_forget() - code may have changed: nothing decoded is kept. */
void sim_machine_forget(struct sim_machine *machine);

/* sim_run() - one dispatch, all groups. Return: true if it ended without a fault. @counts: added to; may be NULL. */
bool sim_run(struct sim_machine *machine, const struct sim_dispatch *dispatch, struct sim_counts *counts,
	     struct sim_fault *fault);

/*
 * sim_atomic_result() - what @old becomes by @op, for struct sim_memory.atomic(). @size: 4, where the high halves of all
 * are 0, or 8. Of the result only @size bytes count.
 */
uint64_t sim_atomic_result(enum sim_atomic op, uint32_t size, uint64_t old, uint64_t operand,
			   uint64_t compare);

/*
 * sim_disassemble() - the instruction at @code as LLVM's llvm-mc prints it.
 * Return: its bytes, or 0 where there is none.
 */
uint32_t sim_disassemble(enum sim_gfx gfx, const uint8_t *code, size_t size, uint64_t pc, char *text,
			 size_t room);

/* sim_executes() - whether the instruction at @code is one that sim_run() has a meaning for. */
bool sim_executes(enum sim_gfx gfx, const uint8_t *code, size_t size);

#endif
