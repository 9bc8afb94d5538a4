/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds.h - what is known of each register and stack slot at each instruction.
 *
 * Kinds make code fast and give early, readable refusals. They are never what makes code safe: every
 * access is checked at run time against the region that it ends up in.
 *
 * How a value is represented follows from its kind alone:
 *
 *	CTX, STACK, PACKET, ARG		offset in the region
 *	everything else			the 64 bits as they are; a pointer is a handle,
 *					(region << 48) + offset
 *
 * Memory always holds handles. Where a known kind is lost (a join, a store, a call) the
 * translator adds the region's bias, where one is known again it takes it away.
 */
#ifndef GPGPU_BPF_KINDS_H
#define GPGPU_BPF_KINDS_H

#include "bpf/cfg.h"

#define GP_SLOTS (GP_STACK_FRAME / 8)

enum gp_kind {
	GP_KIND_UNINIT = 0, /* not written on some path here: may not be read */
	GP_KIND_SCALAR, /* a number; `known`: it is `off` */
	GP_KIND_CTX,  /* `known`: offset `off` in the context */
	GP_KIND_STACK,  /* `known`: this function's frame pointer + `off`; else some frame's */
	GP_KIND_PACKET, /* `known`: from the context, with only constants added: `off` in all */
	GP_KIND_ARG,  /* buffer argument `arg`; `known` likewise */
	GP_KIND_MAPVAL, /* value of one of `maps`, or NULL, plus anything */
	GP_KIND_MAPPTR, /* one of `maps` itself */
	GP_KIND_ANY,  /* a number or any pointer, as a handle */
};

struct gp_val {
	uint8_t kind;
	uint8_t known;
	uint8_t arg;
	union {
		int64_t off;
		uint64_t maps; /* mask */
	};
};

struct gp_state {
	struct gp_val reg[11];
	struct gp_val slot[GP_SLOTS]; /* slot[i]: 8 bytes at frame pointer - 512 + 8 * i */
	bool escaped;   /* a pointer to this frame is where it can no longer be followed */
	int16_t exposed;	 /* no such pointer, nor a variable one, began below this offset; 0: none */
};

struct gp_func_kinds {
	struct gp_val args[6];  /* [1..5]: joined over all calls */
	struct gp_val ret;
	bool called, returns;  /* args, ret hold something */
	bool frame_in_memory;  /* its frame is reached by pointers that are not constant */
};

struct gp_kinds {
	const struct gp_prog *prog;
	const struct gp_cfg *cfg;
	struct gp_state *entry; /* by block: before its first instruction */
	bool *reached;   /* by block */
	struct gp_func_kinds *funcs;
	bool frames_in_memory;  /* some function's are */
};

/*
 * gp_kinds_analyse() - compute kinds, then check every instruction against them.
 * @verdict: out: why the program was refused.
 *
 * Return: false if it was refused; @kinds is to be freed in either case.
 */
bool gp_kinds_analyse(struct gp_kinds *kinds, const struct gp_prog *prog, const struct gp_cfg *cfg,
		      struct gp_verdict *verdict);
void gp_kinds_free(struct gp_kinds *kinds);

/* gp_kinds_step() - turn the state before instruction @insn into the one after it. */
void gp_kinds_step(struct gp_kinds *kinds, struct gp_state *state, uint32_t insn);

/* gp_kinds_expose() - a frame pointer became variable, or went where it cannot be followed. */
void gp_kinds_expose(struct gp_state *state, const struct gp_val *val);

/* gp_kinds_check() - check one instruction against the state before it. */
bool gp_kinds_check(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t insn,
		    struct gp_verdict *verdict);

/* Where a context load reads; see gp_ctx_field(). */
struct gp_ctx_field {
	struct gp_val val; /* what it yields */
	uint32_t field; /* offset in xdp_md, or argument number */
	uint32_t shift; /* argument: bits to shift right */
};

/* gp_ctx_field() - look a context access up. Return: false where there is no such field. */
bool gp_ctx_field(const struct gp_prog *prog, int64_t off, uint32_t size, bool sign,
		  struct gp_ctx_field *field);

/* gp_val_region() - the region of a pointer that is represented as an offset, else GP_REGION_NONE. */
uint32_t gp_val_region(const struct gp_val *val);

static inline bool gp_val_is_pointer(const struct gp_val *val)
{
	return val->kind >= GP_KIND_CTX && val->kind <= GP_KIND_MAPPTR;
}

/* One map is known: its number, else -1. */
static inline int gp_val_one_map(const struct gp_val *val)
{
	if (!val->maps || (val->maps & (val->maps - 1)))
		return -1;
	return __builtin_ctzll(val->maps);
}

/* gp_val_print() - a kind for people, as "packet", "stack-8", "scalar 4". Return: @buf. */
char *gp_val_print(char *buf, size_t size, const struct gp_val *val);

#endif
