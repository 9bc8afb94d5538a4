/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfg.h - a program's functions and basic blocks.
 *
 * Built once the instructions are known to be well formed (validate.c). Blocks are numbered in the order of
 * their first instruction, so that those of a function are consecutive; functions likewise, function
 * 0 being the program's entry.
 *
 * Ownership: the caller's, freed with gp_cfg_free(). Threads: none of its own.
 */
#ifndef GPGPU_BPF_CFG_H
#define GPGPU_BPF_CFG_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/prog.h"

#define GP_MAX_FUNCS 256
#define GP_NO_BLOCK  UINT32_MAX

struct gp_block {
	uint32_t start, end; /* instructions [start, end) */
	uint32_t func;
	uint32_t succ[2]; /* GP_NO_BLOCK: none; [0] falls through or goes on, [1] is the jump taken */
	uint32_t back;  /* bit i: succ[i] is a back edge */
	uint32_t order; /* position in cfg->rpo; GP_NO_BLOCK: not reached */
	uint32_t idom;  /* immediate dominator */
	uint16_t live_in; /* registers that are read before they are written, from here on */
};

struct gp_func {
	uint32_t start, end; /* instructions */
	uint32_t first_block, num_blocks;
	uint32_t first_order; /* its blocks in cfg->rpo start here */
	uint32_t depth; /* frames in use when it runs, at most; 1 for the entry */
	uint16_t live_in;
	bool ends; /* what it returns the program returns at once, whoever called it */
};

struct gp_cfg {
	struct gp_block *blocks;
	uint32_t num_blocks;
	uint32_t *block_of; /* by instruction */
	uint32_t *rpo;  /* reached blocks, function by function, in reverse post-order */
	uint32_t num_rpo;
	struct gp_func funcs[GP_MAX_FUNCS];
	uint32_t num_funcs;
	uint32_t callee_first[GP_MAX_FUNCS]; /* functions so that callees come before callers */
	uint32_t max_depth;
};

/*
 * gp_cfg_build() - find functions, blocks, loops and live registers.
 * @verdict: out: why the program was refused: jumps, calls, unreachable code, irreducible loops.
 *
 * Return: false if it was refused; @cfg is to be freed in either case.
 */
bool gp_cfg_build(struct gp_cfg *cfg, const struct gp_prog *prog, struct gp_verdict *verdict);
void gp_cfg_free(struct gp_cfg *cfg);

/* gp_cfg_callee() - the function that the local call at @insn calls. */
uint32_t gp_cfg_callee(const struct gp_cfg *cfg, const struct gp_prog *prog, uint32_t insn);

/* gp_insn_regs() - registers that an instruction reads and writes, as masks; r10 left out. */
void gp_insn_regs(const struct gp_cfg *cfg, const struct gp_prog *prog, uint32_t insn, uint16_t *use,
		  uint16_t *def);

/*
 * gp_refuse() - fill a verdict: REJECTED, with a message that opens with the instruction.
 *
 * Return: false, for the caller to hand on.
 */
bool gp_refuse(struct gp_verdict *verdict, const struct gp_prog *prog, uint32_t reason, uint32_t insn,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
