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
					 "r%d is uninitialised: not every path to here writes it%s", r,
					 r && r <= 5 ? "; calls leave r1 to r5 without a value" : "");
	return true;
}

/* The frame of the running function, at a constant offset. */
static bool check_stack(const struct gp_kinds *kinds, uint32_t i, int64_t off, int64_t size,
			struct gp_verdict *verdict)
{
	if (off >= -GP_STACK_FRAME && size >= 0 && off + size <= 0)
		return true;
	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_STACK, i,
			 "a function's stack is r10-%d to r10+0, this is r10%+lld to r10%+lld",
			 GP_STACK_FRAME, (long long)off, (long long)(off + size));
}

/* Local memory, at a constant offset. */
static bool check_local(const struct gp_kinds *kinds, uint32_t i, int64_t off, int64_t size,
			struct gp_verdict *verdict)
{
	if (off >= 0 && size >= 0 && off <= kinds->local_bytes && size <= kinds->local_bytes - off)
		return true;
	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_LOCAL_MEMORY, i,
			 "bytes %lld to %lld of local memory; the program has %u of it", (long long)off,
			 (long long)(off + size), kinds->local_bytes);
}

static bool check_context(const struct gp_kinds *kinds, const struct gp_val *ptr, int reg, uint32_t i,
			  struct gp_verdict *verdict)
{
	const struct gp_prog *prog = kinds->prog;
	const struct bpf_insn *insn = &prog->insns[i];
	uint32_t size = gp_insn_size(insn);
	int64_t off = gp_val_at(ptr, insn->off);
	struct gp_ctx_field field;

	if (BPF_CLASS(insn->code) != BPF_LDX)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_CTX_ACCESS, i,
				 "r%d is the context, which is read only; write to the %s instead", reg,
				 prog->kind == VIRTIO_GPGPU_PROG_XDP ? "packet or to a map" : "buffers");
	if (!ptr->known || gp_ctx_field(prog, off, size, BPF_MODE(insn->code) == BPF_MEMSX, &field))
		return true; /* where the offset is not known, it is looked at when it runs */
	if (prog->kind == VIRTIO_GPGPU_PROG_XDP)
		return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_CTX_ACCESS, i,
				 "r%d is the context (struct xdp_md), which has no field of %u bytes at %lld; "
				 "fields are 4 bytes at 0, 4, .. 20",
				 reg, size, (long long)off);
	return gp_refuse(
		verdict, prog, VIRTIO_GPGPU_R_CTX_ACCESS, i,
		"r%d is the context, which has no %u bytes at %lld to read so; it holds %u arguments of 8 "
		"bytes, and a pointer is read as a whole",
		reg, size, (long long)off, prog->num_args);
}

static bool check_memory(const struct gp_kinds *kinds, const struct gp_state *state, uint32_t i,
			 struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	int reg = BPF_CLASS(insn->code) == BPF_LDX ? insn->src_reg : insn->dst_reg;
	const struct gp_val *ptr = &state->reg[reg];
	char text[64];

	switch (ptr->kind) {
	case GP_KIND_CTX:
		return check_context(kinds, ptr, reg, i, verdict);
	case GP_KIND_STACK:
		return !ptr->known ||
		       check_stack(kinds, i, gp_val_at(ptr, insn->off), gp_insn_size(insn), verdict);
	case GP_KIND_LOCAL:
		return !ptr->known ||
		       check_local(kinds, i, gp_val_at(ptr, insn->off), gp_insn_size(insn), verdict);
	case GP_KIND_SCALAR:
	case GP_KIND_FUNC:
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
				 "r%d is %s, not a pointer to memory", reg,
				 gp_val_print(text, sizeof(text), ptr));
	case GP_KIND_MAPPTR:
	case GP_KIND_INNER:
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
				 "r%d is %s, not memory; bpf_map_lookup_elem() gives a pointer to a value",
				 reg, gp_val_print(text, sizeof(text), ptr));
	default:
		return true;
	}
}

static bool refuse_arithmetic(const struct gp_kinds *kinds, uint32_t i, int reg, const struct gp_val *val,
			      const char *rule, struct gp_verdict *verdict)
{
	char text[64];

	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i, "r%d is %s; %s", reg,
			 gp_val_print(text, sizeof(text), val), rule);
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
	static const char only_numbers[] = "of a pointer, only sums with numbers and differences make sense",
			  two[] = "two pointers may be subtracted, not added",
			  minus[] = "a pointer may not be subtracted from a number",
			  opaque[] = "nothing may be added to or subtracted from it";
	bool pd = gp_val_is_pointer(dst), ps = reg && gp_val_is_pointer(src);

	if (BPF_CLASS(insn->code) == BPF_ALU && BPF_OP(insn->code) != BPF_END)
		return true; /* 32 bits of an offset are a number */
	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		return true;
	case BPF_ADD:
	case BPF_SUB:
		if (pd && is_no_memory(dst))
			return refuse_arithmetic(kinds, i, insn->dst_reg, dst, opaque, verdict);
		if (ps && is_no_memory(src))
			return refuse_arithmetic(kinds, i, insn->src_reg, src, opaque, verdict);
		if (pd && ps && BPF_OP(insn->code) == BPF_ADD)
			return refuse_arithmetic(kinds, i, insn->src_reg, src, two, verdict);
		if (ps && dst->kind == GP_KIND_SCALAR && BPF_OP(insn->code) == BPF_SUB)
			return refuse_arithmetic(kinds, i, insn->src_reg, src, minus, verdict);
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
			return refuse_arithmetic(kinds, i, insn->dst_reg, dst, only_numbers, verdict);
		if (ps)
			return refuse_arithmetic(kinds, i, insn->src_reg, src, only_numbers, verdict);
		return true;
	}
}

static bool points_to_memory(const struct gp_val *val)
{
	return val->kind == GP_KIND_STACK || val->kind == GP_KIND_PACKET || val->kind == GP_KIND_ARG ||
	       val->kind == GP_KIND_LOCAL || val->kind == GP_KIND_MAPVAL || val->kind == GP_KIND_ANY;
}

static bool writes_map(const struct gp_helper *helper)
{
	return helper->number == BPF_FUNC_map_update_elem || helper->number == BPF_FUNC_map_delete_elem ||
	       helper->number == BPF_FUNC_map_push_elem || helper->number == BPF_FUNC_map_pop_elem;
}

/* One of the maps that the argument may be; or, of an inner map, one that may hold it. */
static bool check_one_map(const struct gp_kinds *kinds, const struct gp_helper *helper, uint32_t m,
			  bool inner, uint32_t i, struct gp_verdict *verdict)
{
	const struct gp_map_desc *map = &kinds->prog->maps[m];
	uint32_t type = inner ? map->inner.type : map->type, flags = inner ? map->inner.flags : map->flags;
	const char *name = gp_map_type_name(type);

	if (!gp_helper_map_ok(helper, type))
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "%s does not work on %smap %u, which is of type %s", helper->name,
				 inner ? "the elements of " : "", m, name ? name : "unknown");
	if (writes_map(helper) && (flags & VIRTIO_GPGPU_MAP_F_RDONLY_PROG))
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "map %u is read only for programs; %s would write to it", m, helper->name);
	return true;
}

static bool check_map_argument(const struct gp_kinds *kinds, const struct gp_val *map,
			       const struct gp_helper *helper, uint32_t i, struct gp_verdict *verdict)
{
	char text[64];

	if (!gp_val_is_map(map) && map->kind != GP_KIND_ANY)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i,
				 "r%d is %s; %s takes a map there", gp_helper_map_reg(helper),
				 gp_val_print(text, sizeof(text), map), helper->name);
	if (!kinds->prog->num_maps)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_MAP_REF, i,
				 "r%d cannot be a map: the program has none", gp_helper_map_reg(helper));
	for (uint32_t m = 0; gp_val_is_map(map) && m < kinds->prog->num_maps; m++)
		if ((map->maps & 1ull << m) &&
		    !check_one_map(kinds, helper, m, map->kind == GP_KIND_INNER, i, verdict))
			return false;
	return true;
}

static bool check_callback(const struct gp_kinds *kinds, const struct gp_val *val,
			   const struct gp_helper *helper, int arg, uint32_t i, struct gp_verdict *verdict)
{
	const struct gp_func_kinds *func;
	char text[64];

	if (val->kind != GP_KIND_FUNC || !val->known)
		return gp_refuse(
			verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i,
			"r%d is %s; %s takes there the address of one function, loaded in the function that calls it",
			arg + 1, gp_val_print(text, sizeof(text), val), helper->name);
	func = &kinds->funcs[val->off];
	if (func->returns && func->ret.kind == GP_KIND_UNINIT)
		return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_UNINITIALISED, i,
				 "the function at instruction %u, which %s calls back, does not always set r0",
				 kinds->cfg->funcs[val->off].start, helper->name);
	if (func->returns && gp_val_is_pointer(&func->ret))
		return gp_refuse(
			verdict, kinds->prog, VIRTIO_GPGPU_R_POINTER, i,
			"the function at instruction %u, which %s calls back, returns %s; return 0 or 1",
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
		wanted = helper->args[arg] == GP_ARG_SIZE ? "a size of 0 to 4294967295" : "a number";
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
	case GP_ARG_PLACE32:
	case GP_ARG_PLACE64:
		wanted = "memory that other items reach, too,";
		if (val->kind == GP_KIND_STACK)
			bytes = -2;
		break;
	case GP_ARG_MEM_READ_NULL:
		if (val->kind == GP_KIND_SCALAR && val->known && val->off == 0)
			return true;
		break;
	}
	if (bytes != -2 && points_to_memory(val)) {
		if (val->kind == GP_KIND_STACK && val->known && bytes >= 0)
			return check_stack(kinds, i, val->off, bytes, verdict);
		if (val->kind == GP_KIND_LOCAL && val->known && bytes >= 0)
			return check_local(kinds, i, val->off, bytes, verdict);
		return true;
	}
	return gp_refuse(verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER_ARG, i, "r%d is %s; %s takes %s there",
			 arg + 1, gp_val_print(text, sizeof(text), val), helper->name, wanted);
}

/*
 * The kernel comes back from a tail call to the caller of the function that made it, where the target's result is that
 * function's. Here the whole program goes on with the target, which is the same only if its result is.
 */
static bool check_tail_call(const struct gp_kinds *kinds, uint32_t i, struct gp_verdict *verdict)
{
	if (kinds->cfg->funcs[kinds->cfg->blocks[kinds->cfg->block_of[i]].func].ends)
		return true;
	return gp_refuse(
		verdict, kinds->prog, VIRTIO_GPGPU_R_HELPER, i,
		"a tail call in a function whose caller goes on after it; make it in the main function, or "
		"return what the function returns");
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
	if (helper->number == BPF_FUNC_tail_call && !check_tail_call(kinds, i, verdict))
		return false;
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
					 "r0 is %s; a program returns a number",
					 gp_val_print(text, sizeof(text), &state->reg[0]));
		return true;
	default:
		return true;
	}
}
