/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.c - may this instruction do what it does to what its registers hold?
 *
 * Refuses what could only fault at run time, what would make no sense, and what the translator has no
 * form for; everything else is left to the checks at run time. Each message says what the register
 * holds and what to change.
 */
#include <glib.h>
#include <virtio_gpgpu.h>
#include "bpf/helpers.h"
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

static bool check_initialised(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
			      struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	uint32_t func = kinds->cfg->blocks[kinds->cfg->block_of[i]].func;
	uint16_t use, def;

	if (gp_insn_is_exit(insn) && func)
		return true; /* a function need not return anything; its caller may then not read r0 */
	gp_insn_regs(kinds->cfg, kinds->prog, i, &use, &def);
	if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == GP_CALL_HELPER &&
	    gp_helper_find(insn->imm))
		use &= (uint16_t)gp_helper_needs(gp_helper_find(insn->imm));
	for (int r = 0; r < 10; r++)
		if ((use & 1u << r) && state->reg[r].kind == GP_KIND_UNINIT)
			return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_UNINITIALISED, i,
					 "r%d is read but not written on every path here", r);
	return true;
}

/* The frame of the running function, at a constant offset. */
static bool check_stack(const struct gp_kinds *kinds, uint32_t i, int64_t off, int64_t size,
			struct gp_verdict *verdict)
{
	if (off >= -GP_STACK_FRAME && size >= 0 && off + size <= 0)
		return true;
	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_STACK, i,
			 "stack bytes r10%+lld .. %+lld; a frame is r10-%d .. r10", (long long)off,
			 (long long)(off + size), GP_STACK_FRAME);
}

static bool check_memory(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
			 struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	bool store = BPF_CLASS(insn->code) != BPF_LDX;
	int reg = store ? insn->dst_reg : insn->src_reg;
	const struct gp_val *ptr = &state->reg[reg];
	int64_t off = ptr->off + insn->off;
	struct gp_ctx_field field;
	char text[64];

	switch (ptr->kind) {
	case GP_KIND_CTX:
		if (store)
			return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_CTX_ACCESS, i,
					 "the context is read only");
		if (!ptr->known)
			return true; /* found at run time */
		if (!gp_ctx_field(kinds->prog, off, gp_insn_size(insn), BPF_MODE(insn->code) == BPF_MEMSX,
				  &field))
			return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_CTX_ACCESS, i,
					 "no %u-byte field at offset %lld of the context", gp_insn_size(insn),
					 (long long)off);
		return true;
	case GP_KIND_STACK:
		return !ptr->known || check_stack(kinds, i, off, gp_insn_size(insn), verdict);
	case GP_KIND_SCALAR:
	case GP_KIND_MAPPTR:
	case GP_KIND_INNER:
	case GP_KIND_FUNC:
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
				 "r%d is %s, not a pointer to memory", reg,
				 gp_val_print(text, sizeof(text), ptr));
	default:
		return true;
	}
}

static bool refuse_arithmetic(const struct gp_kinds *kinds, uint32_t i, int reg, const struct gp_val *val,
			      struct gp_verdict *verdict)
{
	char text[64];

	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
			 "r%d is %s; only numbers may be added to and subtracted from it", reg,
			 gp_val_print(text, sizeof(text), val));
}

/* Pointers that nothing may be added to. */
static bool is_no_memory(const struct gp_val *val)
{
	return gp_val_is_map(val) || val->kind == GP_KIND_FUNC;
}

static bool check_alu(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
		      struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	const struct gp_val *dst = &state->reg[insn->dst_reg], *src = &state->reg[insn->src_reg];
	bool reg = BPF_SRC(insn->code) == BPF_X && BPF_OP(insn->code) != BPF_END;
	bool pd = gp_val_is_pointer(dst), ps = reg && gp_val_is_pointer(src);

	if (BPF_CLASS(insn->code) == BPF_ALU && BPF_OP(insn->code) != BPF_END)
		return true; /* 32 bits of an offset are a number */
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return true;
	case BPF_ADD:
		if (pd && (ps || is_no_memory(dst)))
			return refuse_arithmetic(kinds, i, insn->dst_reg, dst, verdict);
		if (ps && is_no_memory(src))
			return refuse_arithmetic(kinds, i, insn->src_reg, src, verdict);
		return true;
	case BPF_SUB:
		if (pd && is_no_memory(dst))
			return refuse_arithmetic(kinds, i, insn->dst_reg, dst, verdict);
		if (ps && dst->kind == GP_KIND_SCALAR)
			return refuse_arithmetic(kinds, i, insn->src_reg, src, verdict);
		return true;
	case BPF_AND:
	case BPF_OR:
	case BPF_XOR:
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		return true; /* alignment, zero extension; the result is checked where it is used */
	default:
		if (pd)
			return refuse_arithmetic(kinds, i, insn->dst_reg, dst, verdict);
		if (ps)
			return refuse_arithmetic(kinds, i, insn->src_reg, src, verdict);
		return true;
	}
}

static bool points_to_memory(const struct gp_val *val)
{
	return val->kind == GP_KIND_STACK || val->kind == GP_KIND_PACKET || val->kind == GP_KIND_ARG ||
	       val->kind == GP_KIND_MAPVAL || val->kind == GP_KIND_ANY;
}

/* Every map that it may be must be of a type that the helper works on. */
static bool check_map_types(const struct gp_kinds *kinds, const struct gp_val *map,
			    const struct gp_helper *helper, uint32_t i, struct gp_verdict *verdict)
{
	bool inner = map->kind == GP_KIND_INNER;

	for (uint32_t m = 0; gp_val_is_map(map) && m < kinds->prog->num_maps; m++) {
		const struct gp_map_desc *desc = &kinds->prog->maps[m];
		uint32_t type = inner ? desc->inner.type : desc->type;
		const char *name = gp_map_type_name(type);

		if ((map->maps & 1ull << m) && !gp_helper_map_ok(helper, type))
			return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i,
					 "%s does not work on %smap %u, which is of type %s", helper->name,
					 inner ? "the elements of " : "", m, name ? name : "unknown");
	}
	return true;
}

static bool check_map_argument(const struct gp_kinds *kinds, const struct gp_val *map,
			       const struct gp_helper *helper, uint32_t i, struct gp_verdict *verdict)
{
	bool writes = helper->number == BPF_FUNC_map_update_elem ||
		      helper->number == BPF_FUNC_map_delete_elem;
	int m = map->kind == GP_KIND_MAPPTR ? gp_val_one_map(map) : -1;
	char text[64];

	if (!gp_val_is_map(map) && map->kind != GP_KIND_ANY)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i,
				 "%s takes a map in r%d, not %s", helper->name, gp_helper_map_reg(helper),
				 gp_val_print(text, sizeof(text), map));
	if (!kinds->prog->num_maps)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i, "the program has no maps");
	if (m >= 0 && writes && (kinds->prog->maps[m].flags & VIRTIO_GPGPU_MAP_F_RDONLY_PROG))
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "map %d is read only for programs", m);
	return check_map_types(kinds, map, helper, i, verdict);
}

static bool check_callback(const struct gp_kinds *kinds, const struct gp_val *val,
			   const struct gp_helper *helper, int arg, uint32_t i, struct gp_verdict *verdict)
{
	const struct gp_func_kinds *func;
	char text[64];

	if (val->kind != GP_KIND_FUNC || !val->known)
		return gp_refuse(
			verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i,
			"%s calls back one function, whose address is loaded where it is called; r%d is %s",
			helper->name, arg + 1, gp_val_print(text, sizeof(text), val));
	func = &kinds->funcs[val->off];
	if (func->returns && func->ret.kind == GP_KIND_UNINIT)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_UNINITIALISED, i,
				 "the function at %u, which %s calls back, does not always set r0",
				 kinds->cfg->funcs[val->off].start, helper->name);
	if (func->returns && gp_val_is_pointer(&func->ret))
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
				 "the function at %u, which %s calls back, returns %s; return 0 or 1",
				 kinds->cfg->funcs[val->off].start, helper->name,
				 gp_val_print(text, sizeof(text), &func->ret));
	return true;
}

static bool check_argument(const struct gp_kinds *kinds, const struct gp_state *state,
			   const struct gp_helper *helper, int arg, uint32_t i, struct gp_verdict *verdict)
{
	int64_t bytes = gp_arg_bytes(kinds, state, helper, arg);
	const struct gp_val *val = &state->reg[arg + 1];
	const char *wanted = "memory";
	char text[64];

	switch (helper->args[arg]) {
	case GP_ARG_SCALAR:
	case GP_ARG_SIZE:
		wanted = "a number";
		if (gp_val_is_pointer(val))
			break;
		if (helper->args[arg] == GP_ARG_SIZE && val->known && (val->off < 0 || val->off > UINT32_MAX))
			break;
		return true;
	case GP_ARG_CTX:
		wanted = "the context as the program got it";
		if ((val->kind == GP_KIND_CTX && (!val->known || !val->off)) || val->kind == GP_KIND_ANY)
			return true; /* at run time, where it is not known */
		break;
	case GP_ARG_MAP:
		return check_map_argument(kinds, val, helper, i, verdict);
	case GP_ARG_ANYTHING:
	case GP_ARG_OPTIONAL:
		return true;
	case GP_ARG_RECORD:
		wanted = "what bpf_ringbuf_reserve returned";
		if (val->kind == GP_KIND_MAPVAL || val->kind == GP_KIND_ANY)
			return true; /* the lane knows what it has reserved */
		break;
	case GP_ARG_FUNC:
		return check_callback(kinds, val, helper, arg, i, verdict);
	case GP_ARG_MEM_READ_NULL:
		if (val->kind == GP_KIND_SCALAR && val->known && val->off == 0)
			return true;
		break;
	}
	if (bytes != -2 && points_to_memory(val)) {
		if (val->kind == GP_KIND_STACK && val->known && bytes >= 0)
			return check_stack(kinds, i, val->off, bytes, verdict);
		return true;
	}
	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i, "%s takes %s in r%d, not %s",
			 helper->name, wanted, arg + 1, gp_val_print(text, sizeof(text), val));
}

static bool check_call(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
		       struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	const struct gp_helper *helper;

	if (insn->src_reg == GP_CALL_LOCAL)
		return true;
	helper = gp_helper_find(insn->imm);
	if (!helper)
		return true; /* refused by form */
	for (int arg = 0; arg < GP_HELPER_ARGS && helper->args[arg] != GP_ARG_NONE; arg++)
		if (!check_argument(kinds, state, helper, arg, i, verdict))
			return false;
	return true;
}

bool gp_kinds_check(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
		    struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	char text[64];

	if (!check_initialised(kinds, state, i, verdict))
		return false;
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(kinds, state, i, verdict);
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		return check_memory(kinds, state, i, verdict);
	case BPF_JMP:
		if (BPF_OP(insn->code) == BPF_CALL)
			return check_call(kinds, state, i, verdict);
		if (gp_insn_is_exit(insn) && !kinds->cfg->blocks[kinds->cfg->block_of[i]].func &&
		    gp_val_is_pointer(&state->reg[0]))
			return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
					 "the program returns %s; return a number",
					 gp_val_print(text, sizeof(text), &state->reg[0]));
		return true;
	default:
		return true;
	}
}
