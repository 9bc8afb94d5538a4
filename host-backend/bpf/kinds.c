/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds.c - what one instruction does to the kinds of registers and stack slots.
 *
 * The rules are those of kinds.h. Two things beside the kinds are tracked. Constants, as far as stack and
 * context offsets and sizes need them. And whether a pointer to the function's frame `escaped`, that is became
 * a handle, went to memory or to another function: from then on a store through an unknown pointer or a call
 * may change any slot, and the frame must lie in memory rather than be split into registers.
 *
 * Any slot of an object whose address was taken, that is: objects extend upwards, so a pointer that lies below
 * the lowest such address (`exposed`) keeps its kind. That is where compilers put the registers that they
 * spill, and without it a context that is spilled across a call would no longer be one. A pointer that goes
 * down exposes the whole frame; one that was an object's end when it left may go down out of sight, so numbers
 * do not count as known below it either. A program that goes below its objects gets a wrong value or a
 * fault, as in C.
 */
#include <stdio.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

/* Constants that are worth following; beyond that a pointer counts as variable. */
#define STACK_RANGE   (1 << 20)
#define TRUSTED_RANGE (1 << 14) /* below a quarter of GP_GUARD: needs no mask against speculation */

static const struct gp_val any = { .kind = GP_KIND_ANY };
static const struct gp_val scalar = { .kind = GP_KIND_SCALAR };

static struct gp_val constant(int64_t value)
{
	return (struct gp_val){ .kind = GP_KIND_SCALAR, .known = 1, .off = value };
}

uint32_t gp_val_region(const struct gp_val *val)
{
	switch (val->kind) {
	case GP_KIND_CTX:
		return GP_REGION_CTX;
	case GP_KIND_STACK:
		return GP_REGION_STACK;
	case GP_KIND_PACKET:
		return GP_REGION_PACKET;
	case GP_KIND_ARG:
		return GP_REGION_ARG0 + val->arg;
	default:
		return GP_REGION_NONE;
	}
}

char *gp_val_print(char *buf, size_t size, const struct gp_val *val)
{
	static const char *const names[] = {
		[GP_KIND_UNINIT] = "uninitialised",
		[GP_KIND_SCALAR] = "a number",
		[GP_KIND_CTX] = "the context",
		[GP_KIND_STACK] = "a stack pointer",
		[GP_KIND_PACKET] = "a packet pointer",
		[GP_KIND_ARG] = "a pointer to argument",
		[GP_KIND_MAPVAL] = "a map value or NULL",
		[GP_KIND_MAPPTR] = "a map",
		[GP_KIND_ANY] = "a number or some pointer",
	};

	if (val->kind == GP_KIND_ARG)
		snprintf(buf, size, "%s %u", names[val->kind], val->arg);
	else if (val->kind == GP_KIND_SCALAR && val->known)
		snprintf(buf, size, "the number %lld", (long long)val->off);
	else if (val->kind == GP_KIND_STACK && val->known)
		snprintf(buf, size, "r10%+lld", (long long)val->off);
	else
		snprintf(buf, size, "%s", names[val->kind]);
	return buf;
}

bool gp_ctx_field(const struct gp_prog *prog, int64_t off, uint32_t size, bool sign,
		  struct gp_ctx_field *field)
{
	*field = (struct gp_ctx_field){ .val = scalar };

	if (off < 0)
		return false;
	if (prog->kind == VIRTIO_GPGPU_PROG_XDP) {
		if (size != 4 || off % 4 || off > 20 || sign)
			return false;
		field->field = (uint32_t)off;
		if (off <= 8) /* data, data_end, data_meta */
			field->val = (struct gp_val){ .kind = GP_KIND_PACKET, .known = 1 };
		return true;
	}
	if (off >= 8 * (int64_t)prog->num_args || off % 8 + size > 8)
		return false;
	field->field = (uint32_t)off / 8;
	field->shift = (uint32_t)off % 8 * 8;
	if (prog->arg_kind[field->field] == VIRTIO_GPGPU_ARG_VALUE)
		return true;
	field->val = (struct gp_val){ .kind = GP_KIND_ARG, .known = 1, .arg = (uint8_t)field->field };
	return size == 8 && !sign;
}

void gp_kinds_expose(struct gp_state *state, const struct gp_val *val)
{
	int64_t off = val->known && val->off < 0 && val->off >= -GP_STACK_FRAME ? val->off : -GP_STACK_FRAME;

	if (val->kind == GP_KIND_STACK && off < state->exposed)
		state->exposed = (int16_t)off;
}

/* A pointer to the running function's frame went where it cannot be followed. */
static void escape(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, const struct gp_val *val)
{
	if (val->kind != GP_KIND_STACK)
		return;
	/* One of unknown offset was exposed when it became so, or is of another frame. */
	if (val->known)
		gp_kinds_expose(state, val);
	state->escaped = true;
	kinds->funcs[func].frame_in_memory = true;
	kinds->frames_in_memory = true;
}

static void clobber_slots(struct gp_state *state, int64_t off, int64_t size)
{
	int64_t first = (off + GP_STACK_FRAME) / 8, last = (off + size - 1 + GP_STACK_FRAME) / 8;

	if (off < -GP_STACK_FRAME || size <= 0 || size > GP_STACK_FRAME || off + size > 0)
		return; /* refused, or a fault at run time */
	for (int64_t i = first; i <= last; i++)
		state->slot[i] = any;
}

/* Something unknown was written through a pointer that may point at what is exposed of this frame. */
static void clobber_frame(struct gp_state *state)
{
	/* Numbers below as well: memory holds them as it holds anything, so that costs nothing. */
	for (int i = 0; i < GP_SLOTS; i++)
		if (i >= (state->exposed + GP_STACK_FRAME) / 8 || state->slot[i].kind == GP_KIND_SCALAR)
			state->slot[i] = any;
}

/* Something unknown of @size bytes was written through @ptr; size -1: not known how much. */
static void written(struct gp_state *state, const struct gp_val *ptr, int64_t off, int64_t size)
{
	if (ptr->kind == GP_KIND_STACK && ptr->known && size >= 0)
		clobber_slots(state, ptr->off + off, size);
	else if (ptr->kind == GP_KIND_STACK || (ptr->kind == GP_KIND_ANY && state->escaped))
		clobber_frame(state);
}

/* The pointer @ptr plus (or minus) what @add is. */
static struct gp_val move_pointer(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
				  struct gp_val ptr, const struct gp_val *add, bool minus)
{
	int64_t range = ptr.kind == GP_KIND_PACKET || ptr.kind == GP_KIND_ARG ? TRUSTED_RANGE : STACK_RANGE;
	int64_t off;

	if (ptr.kind == GP_KIND_MAPVAL || ptr.kind == GP_KIND_MAPPTR)
		return ptr;
	if (ptr.known && add->kind == GP_KIND_SCALAR && add->known && add->off >= -range &&
	    add->off <= range) {
		off = minus ? ptr.off - add->off : ptr.off + add->off;
		if (off >= -range && off <= range) {
			ptr.off = off;
			return ptr;
		}
	}
	if (ptr.kind == GP_KIND_STACK && ptr.known) {
		gp_kinds_expose(state, &ptr);
		kinds->funcs[func].frame_in_memory = true;
		kinds->frames_in_memory = true;
	}
	/* Downwards: the object begins somewhere below; in this frame if a pointer to it is about. */
	if (ptr.kind == GP_KIND_STACK && state->exposed &&
	    (minus ? !add->known || add->off > 0 : add->known && add->off < 0))
		state->exposed = -GP_STACK_FRAME;
	ptr.known = 0;
	ptr.off = 0;
	return ptr;
}

static struct gp_val add64(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
			   const struct gp_val *a, const struct gp_val *b)
{
	bool pa = gp_val_is_pointer(a), pb = gp_val_is_pointer(b);

	if (pa && pb)
		return scalar;  /* refused */
	if (pa)
		return move_pointer(kinds, state, func, *a, b, false);
	if (pb)
		return move_pointer(kinds, state, func, *b, a, false);
	if (a->kind == GP_KIND_SCALAR && b->kind == GP_KIND_SCALAR)
		return a->known && b->known ? constant((int64_t)((uint64_t)a->off + (uint64_t)b->off))
					    : scalar;
	return any;
}

static struct gp_val sub64(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
			   const struct gp_val *a, const struct gp_val *b)
{
	bool pa = gp_val_is_pointer(a), pb = gp_val_is_pointer(b);

	if (pa && b->kind == GP_KIND_SCALAR)
		return move_pointer(kinds, state, func, *a, b, true);
	if (pa && pb)
		return scalar;
	if (a->kind == GP_KIND_SCALAR && b->kind == GP_KIND_SCALAR)
		return a->known && b->known ? constant((int64_t)((uint64_t)a->off - (uint64_t)b->off))
					    : scalar;
	if (a->kind == GP_KIND_SCALAR && pb)
		return scalar;  /* refused */
	/* One side may be a handle or a number: both become handles. */
	escape(kinds, state, func, a);
	escape(kinds, state, func, b);
	return any;
}

static void step_alu(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
		     const struct bpf_insn *insn)
{
	struct gp_val *dst = &state->reg[insn->dst_reg];
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct gp_val src = BPF_SRC(insn->code) == BPF_X && BPF_OP(insn->code) != BPF_END
				    ? state->reg[insn->src_reg]
				    : constant(insn->imm);

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		if (insn->off)
			*dst = scalar;
		else if (wide)
			*dst = src;
		else if (src.kind == GP_KIND_SCALAR && src.known)
			*dst = constant((uint32_t)src.off);
		else
			*dst = scalar;
		return;
	case BPF_ADD:
		*dst = wide ? add64(kinds, state, func, dst, &src) : scalar;
		return;
	case BPF_SUB:
		*dst = wide ? sub64(kinds, state, func, dst, &src) : scalar;
		return;
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
		if (!wide || (dst->kind == GP_KIND_SCALAR && src.kind == GP_KIND_SCALAR)) {
			*dst = scalar;
			return;
		}
		escape(kinds, state, func, dst);
		escape(kinds, state, func, &src);
		*dst = any;
		return;
	default:
		*dst = scalar;
	}
}

static void step_load(struct gp_kinds *kinds, struct gp_state *state, const struct bpf_insn *insn)
{
	const struct gp_val *ptr = &state->reg[insn->src_reg];
	struct gp_val *dst = &state->reg[insn->dst_reg];
	uint32_t size = gp_insn_size(insn);
	bool sign = BPF_MODE(insn->code) == BPF_MEMSX;
	int64_t off = ptr->off + insn->off;
	struct gp_ctx_field field;

	if (ptr->kind == GP_KIND_CTX) {
		gp_ctx_field(kinds->prog, off, size, sign, &field);
		*dst = field.val;
	} else if (size < 8) {
		*dst = scalar;
	} else if (ptr->kind == GP_KIND_STACK && ptr->known && off % 8 == 0 && off >= -GP_STACK_FRAME &&
		   off < 0) {
		*dst = state->slot[(off + GP_STACK_FRAME) / 8];
		/* Memory is not trusted to hold what was stored: mask against speculation. */
		if (dst->kind == GP_KIND_PACKET || dst->kind == GP_KIND_ARG)
			dst->known = 0, dst->off = 0;
	} else {
		*dst = any;
	}
}

static void step_store(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
		       const struct bpf_insn *insn)
{
	const struct gp_val *ptr = &state->reg[insn->dst_reg];
	struct gp_val val = BPF_CLASS(insn->code) == BPF_STX ? state->reg[insn->src_reg]
							     : constant(insn->imm);
	uint32_t size = gp_insn_size(insn);
	int64_t off = ptr->off + insn->off;

	if (size == 8)
		escape(kinds, state, func, &val);
	written(state, ptr, insn->off, size);
	if (size == 8 && ptr->kind == GP_KIND_STACK && ptr->known && off % 8 == 0 && off >= -GP_STACK_FRAME &&
	    off < 0)
		state->slot[(off + GP_STACK_FRAME) / 8] = val;
}

static void step_atomic(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
			const struct bpf_insn *insn)
{
	struct gp_val old = gp_insn_size(insn) == 8 ? any : scalar;

	escape(kinds, state, func, &state->reg[insn->src_reg]);
	written(state, &state->reg[insn->dst_reg], insn->off, gp_insn_size(insn));
	if (insn->imm == BPF_CMPXCHG) {
		escape(kinds, state, func, &state->reg[0]);
		state->reg[0] = old;
	} else if (insn->imm & BPF_FETCH) {
		state->reg[insn->src_reg] = old;
	}
}

static uint64_t all_maps(const struct gp_prog *prog)
{
	return prog->num_maps >= 64 ? UINT64_MAX : (1ull << prog->num_maps) - 1;
}

static struct gp_val step_helper(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
				 const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);
	const struct gp_val *map = &state->reg[1];

	if (!helper)
		return scalar;  /* refused */
	for (int i = 0; i < GP_HELPER_ARGS; i++) {
		const struct gp_val *val = &state->reg[i + 1], *size = &state->reg[i + 2];

		switch (helper->args[i]) {
		case GP_ARG_MEM_READ:
		case GP_ARG_MEM_READ_NULL:
		case GP_ARG_MEM_WRITE:
			if (!size->known)
				escape(kinds, state, func, val);
			if (helper->args[i] == GP_ARG_MEM_WRITE)
				written(state, val, 0, size->known ? size->off : -1);
			break;
		case GP_ARG_KEY:
		case GP_ARG_VALUE:
			if (map->kind != GP_KIND_MAPPTR || gp_val_one_map(map) < 0)
				escape(kinds, state, func, val);
			break;
		}
	}
	if (helper->ret == GP_RET_VALUE)
		return (struct gp_val){ .kind = GP_KIND_MAPVAL,
					.maps = map->kind == GP_KIND_MAPPTR ? map->maps
									    : all_maps(kinds->prog) };
	return scalar;
}

static void step_call(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, uint32_t i)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	struct gp_val ret;

	if (insn->src_reg == GP_CALL_LOCAL) {
		uint32_t callee = gp_cfg_callee(kinds->cfg, kinds->prog, i);

		for (int r = 1; r <= 5; r++)
			if (kinds->cfg->funcs[callee].live_in & 1u << r)
				escape(kinds, state, func, &state->reg[r]);
		if (state->escaped)
			clobber_frame(state);
		ret = kinds->funcs[callee].ret;
		if (ret.kind == GP_KIND_STACK)
			ret.known = 0, ret.off = 0;
	} else {
		ret = step_helper(kinds, state, func, insn);
	}
	state->reg[0] = ret;
	for (int r = 1; r <= 5; r++)
		state->reg[r] = (struct gp_val){ 0 };
}

static struct gp_val step_ld_imm64(const struct bpf_insn *insn)
{
	switch (insn->src_reg) {
	case GP_LD_MAP:
		return (struct gp_val){ .kind = GP_KIND_MAPPTR, .maps = 1ull << (insn->imm & 63) };
	case GP_LD_MAP_VALUE:
		return (struct gp_val){ .kind = GP_KIND_MAPVAL, .maps = 1ull << (insn->imm & 63) };
	default:
		return constant((int64_t)((uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn[0].imm));
	}
}

void gp_kinds_step(struct gp_kinds *kinds, struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	uint32_t func = kinds->cfg->blocks[kinds->cfg->block_of[i]].func;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(kinds, state, func, insn);
		break;
	case BPF_LDX:
		step_load(kinds, state, insn);
		break;
	case BPF_ST:
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			step_atomic(kinds, state, func, insn);
		else
			step_store(kinds, state, func, insn);
		break;
	case BPF_LD:
		state->reg[insn->dst_reg] = step_ld_imm64(insn);
		break;
	default:
		if (BPF_OP(insn->code) == BPF_CALL && BPF_CLASS(insn->code) == BPF_JMP)
			step_call(kinds, state, func, i);
	}
}
