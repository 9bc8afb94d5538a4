/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds.h - what is known of each register and stack slot at each instruction.
 *
 * Kinds make code fast and give early, readable refusals. They are never what makes code safe: every
 * access is checked at run time against the region that it ends up in.
 *
 * How a value is represented follows from its kind alone:
 *
 *	CTX, STACK, PACKET, ARG, LOCAL	offset in the region
 *	everything else			the 64 bits as they are; a pointer is a handle,
 *					(region << 48) + offset
 *
 * Memory always holds handles. Where a known kind is lost (a join, a store, a call) the
 * translator adds the region's bias, where one is known again it takes it away.
 */
#ifndef GPGPU_BPF_KINDS_H
#define GPGPU_BPF_KINDS_H

#include "bpf/cfg.h"
#include "bpf/helpers.h"
#include "bpf/opcodes.h"

#define GP_SLOTS (GP_STACK_FRAME / 8)

enum gp_kind {
	GP_KIND_UNINIT = 0, /* not written on some path here: may not be read */
	GP_KIND_SCALAR, /* a number; `known`: it is `off` */
	GP_KIND_CTX,  /* `known`: offset `off` in the context */
	GP_KIND_STACK,  /* `known`: this function's frame pointer + `off`; else some frame's */
	GP_KIND_PACKET, /* `known`: from the context, with only constants added: `off` in all */
	GP_KIND_ARG,  /* buffer argument `arg`; `known` likewise */
	GP_KIND_LOCAL, /* the group's local memory; `known`: at `off` */
	GP_KIND_MAPVAL, /* value of one of `maps`, or NULL, plus anything */
	GP_KIND_MAPPTR, /* one of `maps` itself */
	GP_KIND_INNER, /* a map that one of `maps`, maps of maps, holds; or NULL */
	GP_KIND_FUNC, /* `known`: function number `off` of the program, for helpers that call back */
	GP_KIND_ANY,  /* a number or any pointer, as a handle */
};

struct gp_val {
	uint8_t kind;
	uint8_t known;
	uint8_t arg;
	uint8_t low; /* an offset that may be below its region, so negative: something was taken away */
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
	uint16_t memory;	 /* bytes at the top of its frame that pointers may reach: these lie in memory */
	bool leaves;   /* a pointer to its frame goes where it cannot be followed */
};

struct gp_kinds {
	const struct gp_prog *prog;
	const struct gp_cfg *cfg;
	struct gp_state *entry; /* by block: before its first instruction */
	bool *reached;   /* by block */
	struct gp_func_kinds *funcs;
	uint32_t stack_bytes;  /* of all frames that may be active at once, as far as they lie in memory */
	uint32_t local_bytes; /* of the group's local memory */
	bool settled;   /* the solution has been found: steps change nothing here any more */
	bool ctx_lost;   /* a context pointer went where it cannot be followed: loads may find one */
	bool goes_down; /* something goes down through a pointer that may be to any frame */
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

/* gp_kinds_expose() - a pointer to @func's frame became variable, or went where it cannot be followed. */
void gp_kinds_expose(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, const struct gp_val *val);

/* gp_kinds_escape() - a value went where its kind cannot be followed. */
void gp_kinds_escape(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, const struct gp_val *val);

/* gp_kinds_written() - unknown bytes went through @ptr + @off; size -1: not known how many. */
void gp_kinds_written(struct gp_state *state, const struct gp_val *ptr, int64_t off, int64_t size);

/* gp_kinds_unseen_write() - something that cannot be followed wrote to what is exposed of this frame. */
void gp_kinds_unseen_write(struct gp_state *state);

/* gp_kinds_call() - what the call at @insn does (calls.c). */
void gp_kinds_call(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, uint32_t insn);

/* gp_kinds_goes_on() - whether anything runs behind @insn; not so for a call that never returns. */
static inline bool gp_kinds_goes_on(const struct gp_kinds *kinds, uint32_t insn)
{
	return !gp_insn_is_local_call(&kinds->prog->insns[insn]) ||
	       kinds->funcs[gp_cfg_callee(kinds->cfg, kinds->prog, insn)].returns;
}

/* gp_callback() - the function that the call at @insn calls back. Return: its number, or -1. */
int64_t gp_callback(const struct gp_prog *prog, const struct gp_state *state, uint32_t insn);

/* gp_callback_args() - what it gets: @args[1..5]. */
void gp_callback_args(const struct gp_state *state, struct gp_val *args);

/*
 * gp_arg_bytes() - the size of the memory that a helper's argument points to.
 * @arg: from 0; state->reg[arg + 1] holds it.
 *
 * Return: bytes, -1 where they are not known before it runs, -2 where the argument is no pointer to memory.
 */
int64_t gp_arg_bytes(const struct gp_kinds *kinds, const struct gp_state *state,
		     const struct gp_helper *helper, int arg);

/* Bytes of a frame, from its lowest; see gp_frame_bytes(). */
struct gp_frame_bytes {
	bool touched[GP_STACK_FRAME]; /* at a constant offset */
	bool joined[GP_STACK_FRAME]; /* by one access together with the next byte */
};

/* gp_frame_bytes() - which bytes of @func's frame are reached at constant offsets. */
void gp_frame_bytes(struct gp_kinds *kinds, uint32_t func, struct gp_frame_bytes *bytes);

/* gp_frames_settle() - with all kinds known: what lies in memory, and how much that is at most. */
void gp_frames_settle(struct gp_kinds *kinds);

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

/* gp_ctx_holds_pointers() - whether a load of this form, from the context, may yield a pointer. */
bool gp_ctx_holds_pointers(const struct gp_prog *prog, uint32_t size, bool sign);

/* A load through this pointer may find itself in the context, at an offset that is not known. */
static inline bool gp_may_be_ctx(const struct gp_kinds *kinds, const struct gp_val *ptr)
{
	return ptr->kind == GP_KIND_CTX ? !ptr->known : ptr->kind == GP_KIND_ANY && kinds->ctx_lost;
}

/* gp_val_region() - the region of a pointer that is represented as an offset, else GP_REGION_NONE. */
uint32_t gp_val_region(const struct gp_val *val);

static inline bool gp_val_is_pointer(const struct gp_val *val)
{
	return val->kind >= GP_KIND_CTX && val->kind < GP_KIND_ANY;
}

/* Where an access of @off through @val is; the value of a number may be any, so this wraps as the program does. */
static inline int64_t gp_val_at(const struct gp_val *val, int16_t off)
{
	return (int64_t)((uint64_t)val->off + (uint64_t)off);
}

/* A pointer to a map itself rather than to memory. */
static inline bool gp_val_is_map(const struct gp_val *val)
{
	return val->kind == GP_KIND_MAPPTR || val->kind == GP_KIND_INNER;
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
