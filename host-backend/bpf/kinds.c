/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds.c - what one instruction does to the kinds of registers and stack slots; calls are in calls.c.
 *
 * The rules are those of kinds.h. Beside the kinds, three things are tracked. Constants, as far as offsets and
 * sizes need them. Whether a pointer to the function's frame `escaped`, that is became a handle, went to memory or to
 * another function: from then on a store through an unknown pointer or a call may change any slot of an object
 * whose address was taken. And whether a pointer to the context was lost likewise: from then on a load through an
 * unknown pointer may read the context, and yield a pointer.
 *
 * Objects extend upwards: what lies below the lowest address that escaped (`exposed`) keeps its kind, and
 * stays in registers. That is where compilers put what they spill. A pointer that goes down exposes the whole
 * frame; one that was an object's end when it left may go down out of sight, so numbers do not count as known below
 * it either, and where any pointer goes down out of sight (`goes_down`), frames lie in memory as a whole. A
 * program that gets below its objects by a variable gets a wrong value or a fault, as in C.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <virtio_gpgpu.h>
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
	case GP_KIND_LOCAL:
		return GP_REGION_LOCAL;
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
		[GP_KIND_LOCAL] = "a pointer to local memory",
		[GP_KIND_MAPVAL] = "a value of one of several maps, or NULL",
		[GP_KIND_MAPPTR] = "one of several maps",
		[GP_KIND_INNER] = "a map from one of several maps of maps, or NULL",
		[GP_KIND_FUNC] = "a function's address",
		[GP_KIND_ANY] = "a number or some pointer",
	};

	const char *name = names[val->kind];
	int map;

	switch (val->kind) {
	case GP_KIND_ARG:
		snprintf(buf, size, "%s %u", name, val->arg);
		break;
	case GP_KIND_SCALAR:
		if (val->known)
			snprintf(buf, size, "the number %lld", (long long)val->off);
		else
			snprintf(buf, size, "%s", name);
		break;
	case GP_KIND_STACK:
		if (val->known)
			snprintf(buf, size, "r10%+lld", (long long)val->off);
		else
			snprintf(buf, size, "%s", name);
		break;
	case GP_KIND_CTX:
		if (val->known && val->off)
			snprintf(buf, size, "%s%+lld", name, (long long)val->off);
		else
			snprintf(buf, size, "%s%s", name, val->known ? "" : " at some offset");
		break;
	case GP_KIND_MAPVAL:
	case GP_KIND_MAPPTR:
	case GP_KIND_INNER:
		map = gp_val_one_map(val);
		if (map < 0)
			snprintf(buf, size, "%s", name);
		else if (val->kind == GP_KIND_MAPPTR)
			snprintf(buf, size, "map %d", map);
		else
			snprintf(buf, size, "%s map %d or NULL",
				 val->kind == GP_KIND_MAPVAL ? "a value of" : "a map from", map);
		break;
	default:
		snprintf(buf, size, "%s", name);
	}
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

bool gp_ctx_holds_pointers(const struct gp_prog *prog, uint32_t size, bool sign)
{
	return size == (prog->kind == VIRTIO_GPGPU_PROG_XDP ? 4 : 8) && !sign;
}

void gp_kinds_expose(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, const struct gp_val *val)
{
	int64_t off = val->known && val->off < 0 && val->off >= -GP_STACK_FRAME ? val->off : -GP_STACK_FRAME;
	struct gp_func_kinds *f = &kinds->funcs[func];

	if (val->kind != GP_KIND_STACK)
		return;
	if (off < state->exposed)
		state->exposed = (int16_t)off;
	if (!kinds->settled)
		f->memory = (uint16_t)MAX(f->memory, (-off + 7) & ~7);
}

void gp_kinds_escape(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, const struct gp_val *val)
{
	if (val->kind == GP_KIND_CTX && !kinds->settled)
		kinds->ctx_lost = true;
	if (val->kind != GP_KIND_STACK)
		return;
	/* One of unknown offset was exposed when it became so, or is of another frame. */
	if (val->known)
		gp_kinds_expose(kinds, state, func, val);
	state->escaped = true;
	kinds->funcs[func].leaves = true;
}

static void clobber_slots(struct gp_state *state, int64_t off, int64_t size)
{
	int64_t first = (off + GP_STACK_FRAME) / 8, last = (off + size - 1 + GP_STACK_FRAME) / 8;

	if (off < -GP_STACK_FRAME || size <= 0 || size > GP_STACK_FRAME || off + size > 0)
		return; /* refused, or a fault at run time */
	for (int64_t i = first; i <= last; i++)
		state->slot[i] = any;
}

void gp_kinds_unseen_write(struct gp_state *state)
{
	/* Numbers below as well: a register holds them as it holds anything, so that costs nothing. */
	for (int i = 0; i < GP_SLOTS; i++)
		if (i >= (state->exposed + GP_STACK_FRAME) / 8 || state->slot[i].kind == GP_KIND_SCALAR)
			state->slot[i] = any;
}

void gp_kinds_written(struct gp_state *state, const struct gp_val *ptr, int64_t off, int64_t size)
{
	if (ptr->kind == GP_KIND_STACK && ptr->known && size >= 0)
		clobber_slots(state, ptr->off + off, size);
	else if (ptr->kind == GP_KIND_STACK || (ptr->kind == GP_KIND_ANY && state->escaped))
		gp_kinds_unseen_write(state);
}

/* An access or a move of @off through a pointer that may be to a frame, no matter which. */
static void note_down(struct gp_kinds *kinds, const struct gp_val *ptr, bool down)
{
	if (down && (ptr->kind == GP_KIND_ANY || (ptr->kind == GP_KIND_STACK && !ptr->known)))
		kinds->goes_down = true;
}

/* The pointer @ptr plus (or minus) what @add is. */
static struct gp_val move_pointer(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
				  struct gp_val ptr, const struct gp_val *add, bool minus)
{
	bool trusted = ptr.kind == GP_KIND_PACKET || ptr.kind == GP_KIND_ARG;
	int64_t range = trusted ? TRUSTED_RANGE : STACK_RANGE;
	bool down;
	int64_t off;

	if (ptr.kind >= GP_KIND_MAPVAL)
		return ptr; /* map values with anything added; the others are refused */
	if (ptr.known && add->kind == GP_KIND_SCALAR && add->known && add->off >= -range &&
	    add->off <= range) {
		off = minus ? ptr.off - add->off : ptr.off + add->off;
		if (off >= -range && off <= range) {
			ptr.off = off;
			ptr.low = off < 0;
			return ptr;
		}
	}
	down = minus ? !add->known || add->off > 0 : add->known && add->off < 0;
	note_down(kinds, &ptr, down);
	if (ptr.kind == GP_KIND_STACK && ptr.known)
		gp_kinds_expose(kinds, state, func, &ptr);
	/* Downwards: the object begins somewhere below; in this frame if a pointer to it is about. */
	if (ptr.kind == GP_KIND_STACK && state->exposed && down)
		gp_kinds_expose(kinds, state, func, &(struct gp_val){ .kind = GP_KIND_STACK });
	ptr.low |= down;
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
	note_down(kinds, &any, (a->known && a->off < 0) || (b->known && b->off < 0));
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
	gp_kinds_escape(kinds, state, func, a);
	gp_kinds_escape(kinds, state, func, b);
	note_down(kinds, &any, !b->known || b->off > 0);
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
		gp_kinds_escape(kinds, state, func, dst);
		gp_kinds_escape(kinds, state, func, &src);
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
	int64_t off = gp_val_at(ptr, insn->off);
	struct gp_ctx_field field;

	note_down(kinds, ptr, insn->off < 0);
	if (ptr->kind == GP_KIND_CTX && ptr->known) {
		gp_ctx_field(kinds->prog, off, size, sign, &field);
		*dst = field.val;
	} else if (gp_may_be_ctx(kinds, ptr) && gp_ctx_holds_pointers(kinds->prog, size, sign)) {
		*dst = any;
	} else if (size < 8) {
		*dst = scalar;
	} else if (ptr->kind == GP_KIND_STACK && ptr->known && off % 8 == 0 && off >= -GP_STACK_FRAME &&
		   off < 0) {
		*dst = state->slot[(off + GP_STACK_FRAME) / 8];
		/* Memory is not trusted to hold what was stored: mask against speculation. */
		if (dst->kind == GP_KIND_PACKET || dst->kind == GP_KIND_ARG || dst->kind == GP_KIND_LOCAL)
			dst->known = 0, dst->off = 0;
	} else {
		*dst = any;
	}
}

/* What is in a slot that no pointer reaches is not lost. */
static void escape_store(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
			 const struct gp_val *ptr, int64_t off, const struct gp_val *val)
{
	if (ptr->kind != GP_KIND_STACK || !ptr->known || off % 8 ||
	    off + 8 > -(int64_t)kinds->funcs[func].memory)
		gp_kinds_escape(kinds, state, func, val);
}

static void step_store(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
		       const struct bpf_insn *insn)
{
	const struct gp_val *ptr = &state->reg[insn->dst_reg];
	struct gp_val val = BPF_CLASS(insn->code) == BPF_STX ? state->reg[insn->src_reg]
							     : constant(insn->imm);
	uint32_t size = gp_insn_size(insn);
	int64_t off = gp_val_at(ptr, insn->off);

	if (size == 8)
		escape_store(kinds, state, func, ptr, off, &val);
	note_down(kinds, ptr, insn->off < 0);
	gp_kinds_written(state, ptr, insn->off, size);
	if (size == 8 && ptr->kind == GP_KIND_STACK && ptr->known && off % 8 == 0 && off >= -GP_STACK_FRAME &&
	    off < 0)
		state->slot[(off + GP_STACK_FRAME) / 8] = val;
}

static void step_atomic(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
			const struct bpf_insn *insn)
{
	struct gp_val old = gp_insn_size(insn) == 8 ? any : scalar;

	gp_kinds_escape(kinds, state, func, &state->reg[insn->src_reg]);
	note_down(kinds, &state->reg[insn->dst_reg], insn->off < 0);
	gp_kinds_written(state, &state->reg[insn->dst_reg], insn->off, gp_insn_size(insn));
	if (insn->imm == BPF_CMPXCHG) {
		gp_kinds_escape(kinds, state, func, &state->reg[0]);
		state->reg[0] = old;
	} else if (insn->imm & BPF_FETCH) {
		state->reg[insn->src_reg] = old;
	}
}

static struct gp_val step_ld_imm64(const struct gp_kinds *kinds, uint32_t i)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];

	switch (insn->src_reg) {
	case GP_LD_FUNC:
		return (struct gp_val){ .kind = GP_KIND_FUNC,
					.known = 1,
					.off = gp_cfg_callee(kinds->cfg, kinds->prog, i) };
	case GP_LD_LOCAL:
		return (struct gp_val){ .kind = GP_KIND_LOCAL, .known = 1, .off = insn->imm };
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
		state->reg[insn->dst_reg] = step_ld_imm64(kinds, i);
		break;
	default:
		if (BPF_OP(insn->code) == BPF_CALL && BPF_CLASS(insn->code) == BPF_JMP)
			gp_kinds_call(kinds, state, func, i);
	}
}
