/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * translate.h - BPF to LLVM IR; what the files of the translator share.
 *
 * How it works: the program becomes gp_prog() of the run-time library's module, its bpf-to-bpf functions become
 * internal functions beside it. BPF registers are stack slots of the LLVM function (LLVM makes
 * values of them), basic blocks map one to one. The kinds (bpf/kinds.h) are stepped through each block along
 * with the emission, so that every instruction knows how its registers are represented.
 *
 * The rules that make it safe, wherever the program comes from:
 *  - A base address is added to an offset in gp_tr_address() only, after the check, and what it returns goes
 *    into one access and nowhere else.
 *  - Nothing tells LLVM what a guest could falsify: no nuw, nsw, inbounds, noalias; loads of memory
 *    that others write are frozen; accesses have alignment 1.
 *  - Every back edge and every local call burns fuel, as much as the loop or the function is heavy (fuel.c); every
 *    call of a helper that may take long burns some, so that it is noticed what the helper charged.
 */
#ifndef GPGPU_JIT_TRANSLATE_H
#define GPGPU_JIT_TRANSLATE_H

#include <llvm-c/Core.h>
#include "bpf/cfg.h"
#include "bpf/helpers.h"
#include "bpf/kinds.h"
#include "bpf/sums.h"
#include "jit/lines.h"

/* Look-ups in one map beyond this many sites share one function instead of being inlined; GP_PROG_QUICK: all do. */
#define GP_INLINE_LOOKUPS 6

/* Instructions of a program, functions counted where they are called, up to which all becomes one function. */
#define GP_INLINE_INSNS	      4000 /* packet programs */
#define GP_GPU_INLINE_INSNS   8000
#define GP_GPU_INLINE_LOOKUPS 16
#define GP_GPU_UNROLL_INSNS   1000 /* loops of larger programs are not unrolled: each turn would be compiled */

struct gp_tr {
	LLVMContextRef ctx;
	LLVMModuleRef mod;
	LLVMBuilderRef b;
	LLVMTypeRef i1, i8, i16, i32, i64, ptr;
	LLVMMetadataRef unlikely;
	unsigned int md_prof, md_loop;
	LLVMMetadataRef as_it_is; /* on a back edge: the loop is not unrolled; or NULL */

	bool gpu; /* nothing runs ahead of a check there; atomic operations have a scope */
	const struct gp_prog *prog;
	const struct gp_cfg *cfg;
	struct gp_kinds *kinds;
	struct gp_sums sums;
	struct gp_lines *lines; /* or NULL: nobody wants them */
	LLVMValueRef funcs[GP_MAX_FUNCS];
	LLVMTypeRef local_type; /* of every function but the entry */
	uint32_t lookups[GP_MAX_PROG_MAPS]; /* look-up sites by map */
	uint32_t inlined_lookups; /* GPUs: as many are inlined */
	LLVMValueRef shared_lookup[GP_MAX_PROG_MAPS];
	uint64_t *loop_cost; /* fuel of one turn, by block at the loop's head */
	uint64_t func_cost[GP_MAX_FUNCS]; /* fuel of a call */
	bool grouped; /* a group program (bpf/groups.h) */
	struct gp_phases *phases; /* or NULL: its items do not wait for each other */
	const char *missing; /* function that the run-time library lacks: an internal error */

	/* of vectors (simd.h), while gp_simd() is made */
	struct gp_simd *simd;
	unsigned int lanes; /* values are vectors of so many; 0: of one item */

	/* of the function being translated */
	uint32_t func;
	LLVMValueRef fn, lane;
	LLVMValueRef stack; /* all frames, or NULL: no frame lies in memory */
	LLVMValueRef fp; /* r10: offset in the stack's region */
	LLVMValueRef reg[10];
	LLVMValueRef part[GP_STACK_FRAME]; /* split frame: by byte, the alloca that holds it */
	int16_t part_start[GP_STACK_FRAME]; /* and which byte of the frame that starts at */
	LLVMBasicBlockRef *blocks; /* by block of the cfg */
	LLVMBasicBlockRef fault, leave;
	LLVMValueRef faulted; /* phi in `fault`: what happened, and where (gp_fault() of rt/rt.h) */
	struct gp_state state; /* before the instruction being translated */
	uint32_t insn;
};

/*
 * gp_translate() - make gp_prog() and its functions in @mod, the run-time library's module.
 *
 * Return: NULL, or what was missing in the run-time library.
 */
const char *gp_translate(LLVMModuleRef mod, const struct gp_prog *prog, const struct gp_cfg *cfg,
			 struct gp_kinds *kinds);

/* ---------------------------------------------------------------- values (value.c) */

LLVMValueRef gp_tr_const(struct gp_tr *tr, int64_t value);

/* gp_tr_int() - the type of so many bits; a vector of it where tr->lanes. gp_tr_number(): a constant of such a type. */
LLVMTypeRef gp_tr_int(struct gp_tr *tr, unsigned int bits);
LLVMValueRef gp_tr_number(LLVMTypeRef type, uint64_t value);

/* gp_tr_get() - a register as it is represented. gp_tr_set() - likewise. */
LLVMValueRef gp_tr_get(struct gp_tr *tr, int reg);
void gp_tr_set(struct gp_tr *tr, int reg, LLVMValueRef value);

/* gp_tr_get_low() - the low half of a register, which is the same in every representation. */
LLVMValueRef gp_tr_get_low(struct gp_tr *tr, int reg);

/* gp_tr_convert() - a value represented as @from's kind says, as @to's kind says. */
LLVMValueRef gp_tr_convert(struct gp_tr *tr, LLVMValueRef value, const struct gp_val *from,
			   const struct gp_val *to);

/* gp_tr_handle() - a register as memory holds it: a number, or a handle. */
LLVMValueRef gp_tr_handle(struct gp_tr *tr, int reg);

/* gp_tr_rt() - call a function of the run-time library; integer arguments are fitted to its parameters. */
LLVMValueRef gp_tr_rt(struct gp_tr *tr, const char *name, LLVMValueRef *args, unsigned int count);

/* gp_tr_fault_if() - end the program with @reason where the i1 @cond holds; goes on in a new block. */
void gp_tr_fault_if(struct gp_tr *tr, LLVMValueRef cond, uint32_t reason);

/* gp_tr_leave_if() - return from the function where @cond holds: the fault has been noted. */
void gp_tr_leave_if(struct gp_tr *tr, LLVMValueRef cond);

/* gp_tr_opaque() - @value & @mask, in a way that LLVM cannot drop whatever it knows of @value (i32). */
LLVMValueRef gp_tr_opaque(struct gp_tr *tr, LLVMValueRef value, uint32_t mask);

/* gp_tr_asm() - inline assembly without side effects. */
LLVMValueRef gp_tr_asm(struct gp_tr *tr, const char *code, const char *operands, LLVMTypeRef type,
		       LLVMValueRef *args, unsigned int count);

/* --------------------------------------------------------------- memory (access.c) */

/* gp_tr_stack() - lay out the function's frame; at the end of its entry block. */
void gp_tr_stack(struct gp_tr *tr, LLVMValueRef caller_stack);

/*
 * gp_tr_address() - check an access and say where it goes.
 * @reg: register with the pointer; its kind is in tr->state.
 * @off: constant to add.
 * @size: bytes: a constant, or any i64.
 * @write: the access stores.
 *
 * Return: the address.
 */
LLVMValueRef gp_tr_address(struct gp_tr *tr, int reg, int64_t off, LLVMValueRef size, bool write);

/*
 * gp_tr_rmw() - an atomic operation on @size bytes, aligned to that: BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_XCHG.
 * @relaxed: it orders nothing. Return: what was there, as @value's type.
 */
LLVMValueRef gp_tr_rmw(struct gp_tr *tr, uint8_t op, LLVMValueRef at, LLVMValueRef value, uint32_t size,
		       bool relaxed);

/*
 * gp_tr_misaligned() - whether @at, which the store @insn goes to, is no multiple of its size (i1). Bases are aligned to 8
 * and maps begin at a page, so the offset says it where its region is known; else the address does.
 */
LLVMValueRef gp_tr_misaligned(struct gp_tr *tr, const struct bpf_insn *insn, LLVMValueRef at);

void gp_tr_load(struct gp_tr *tr, const struct bpf_insn *insn);
void gp_tr_store(struct gp_tr *tr, const struct bpf_insn *insn);
void gp_tr_atomic(struct gp_tr *tr, const struct bpf_insn *insn);

/* ---------------------------------------------------- masks against speculation (nospec.c) */

/*
 * gp_tr_nospec() - an offset that the processor cannot use before the check has passed, unless it is close to the region.
 * @len: of the region.
 * @start: an offset within it that @off may be made from, or NULL.
 *
 * Return: @off, or, if it cannot pass the check, perhaps 0.
 */
LLVMValueRef gp_tr_nospec(struct gp_tr *tr, LLVMValueRef off, LLVMValueRef len, LLVMValueRef start);

/* gp_nospec_constants() - take away what masks constants, between two runs of LLVM's passes. */
void gp_nospec_constants(LLVMModuleRef mod);

/* gp_nospec_finish() - put masks where they are needed; nothing but code generation may come behind it. */
void gp_nospec_finish(LLVMModuleRef mod);

/* ----------------------------------------------------------------- lanes (lanes.c) */

/* gp_tr_sum_load(), gp_tr_sum_store() - translate an end of a sum. Return: false if the instruction is none. */
bool gp_tr_sum_load(struct gp_tr *tr, const struct bpf_insn *insn);
bool gp_tr_sum_store(struct gp_tr *tr, const struct bpf_insn *insn);

/* gp_tr_yield() - before @insn: let other lanes run, if the image is for that and they could see what it does. */
void gp_tr_yield(struct gp_tr *tr, const struct bpf_insn *insn);

/* ------------------------------------------------------- the rest (alu.c, call.c) */

void gp_tr_alu(struct gp_tr *tr, const struct bpf_insn *insn);
void gp_tr_ld_imm64(struct gp_tr *tr, const struct bpf_insn *insn);

/* gp_tr_compare() - the condition of a conditional jump. Return: i1. */
LLVMValueRef gp_tr_compare(struct gp_tr *tr, const struct bpf_insn *insn);

void gp_tr_helper(struct gp_tr *tr, const struct bpf_insn *insn);
void gp_tr_local_call(struct gp_tr *tr);

/* gp_tr_callback_loop() - bpf_loop() (callback.c). */
void gp_tr_callback_loop(struct gp_tr *tr);

/*
 * gp_tr_call_func() - run a function of the program, with fuel burnt and a fault in it seen.
 * @args: [1..5]: what it gets, represented as @kinds[1..5] say; those that it does not read are left out.
 *
 * Return: what it returns, as its kinds say.
 */
LLVMValueRef gp_tr_call_func(struct gp_tr *tr, uint32_t callee, LLVMValueRef *args,
			     const struct gp_val *kinds);
void gp_tr_burn(struct gp_tr *tr, uint64_t cost);

/* gp_tr_returns() - whether anything runs behind the instruction @i; not so for a call that never returns. */
bool gp_tr_returns(const struct gp_tr *tr, uint32_t i);

/* ------------------------------------------------------------- groups (phases.c) */

/* gp_tr_phases_find() - what calls of the group there are. Return: false without memory. */
bool gp_tr_phases_find(struct gp_tr *tr);
void gp_tr_phases_free(struct gp_tr *tr);

/* gp_tr_phases_begin() - end the entry block: to @first, or to where the item goes on. */
void gp_tr_phases_begin(struct gp_tr *tr, LLVMBasicBlockRef first);

/* gp_tr_wait() - a call of the group. */
void gp_tr_wait(struct gp_tr *tr, const struct bpf_insn *insn);

/* ----------------------------------------------------------------- fuel (fuel.c) */

/* gp_tr_weigh() - fill loop_cost and func_cost. Return: false without memory. */
bool gp_tr_weigh(struct gp_tr *tr);

/* gp_tr_slow_helper() - whether a call may take much longer than its weight, or charges for more. */
bool gp_tr_slow_helper(const struct gp_tr *tr, const struct gp_helper *helper, const struct gp_val *map);

#endif
