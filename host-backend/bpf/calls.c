/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.c - what calls do to kinds: helpers by their rows, the program's own functions, callbacks.
 *
 * A function that is called keeps nothing of its caller's constants; what it may write through pointers that it
 * got, or found, is unknown afterwards. So is what a helper writes. A helper that calls a function back is
 * like a call of it, any number of times.
 */
#include <glib.h>
#include <virtio_gpgpu.h>
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

static const struct gp_val any = { .kind = GP_KIND_ANY };
static const struct gp_val scalar = { .kind = GP_KIND_SCALAR };

/* Bytes of the largest key or value among the maps that @map may be; @same: out: all have as many. */
static uint32_t map_bytes(const struct gp_kinds *kinds, const struct gp_val *map, bool key, bool *same)
{
	uint32_t max = 0, min = UINT32_MAX;

	for (uint32_t m = 0; m < kinds->prog->num_maps; m++) {
		const struct gp_map_desc *desc = &kinds->prog->maps[m];
		bool inner = map->kind == GP_KIND_INNER;
		uint32_t key_size = inner ? desc->inner.key_size : desc->key_size;
		uint32_t value_size = inner ? desc->inner.value_size : desc->value_size;
		uint32_t bytes = key ? key_size : value_size;

		if (gp_val_is_map(map) && !(map->maps & 1ull << m))
			continue;
		max = MAX(max, bytes);
		min = MIN(min, bytes);
	}
	*same = gp_val_is_map(map) && max == min;
	return max;
}

int64_t gp_arg_bytes(const struct gp_kinds *kinds, const struct gp_state *state,
		     const struct gp_helper *helper, int arg)
{
	const struct gp_val *size = &state->reg[arg + 2], *map = &state->reg[gp_helper_map_reg(helper)];
	uint32_t bytes;
	bool same;

	switch (helper->args[arg]) {
	case GP_ARG_MEM_READ:
	case GP_ARG_MEM_READ_NULL:
	case GP_ARG_MEM_WRITE:
		return size->kind == GP_KIND_SCALAR && size->known ? size->off : -1;
	case GP_ARG_KEY:
	case GP_ARG_VALUE:
	case GP_ARG_VALUE_OUT:
		bytes = map_bytes(kinds, map, helper->args[arg] == GP_ARG_KEY, &same);
		return same && gp_val_one_map(map) >= 0 ? (int64_t)bytes : -1;
	case GP_ARG_STRING:
		return -1;
	case GP_ARG_PLACE32:
		return 4;
	case GP_ARG_PLACE64:
		return 8;
	default:
		return -2;
	}
}

static struct gp_val helper_returns(const struct gp_kinds *kinds, const struct gp_helper *helper,
				    const struct gp_val *map)
{
	bool inner = false, value = false;

	if (helper->ret == GP_RET_SCALAR)
		return scalar;
	if (map->kind != GP_KIND_MAPPTR)
		return any; /* of a map that is chosen at run time */
	for (uint32_t m = 0; m < kinds->prog->num_maps; m++) {
		if (!(map->maps & 1ull << m))
			continue;
		if (gp_helper_returns(helper, kinds->prog->maps[m].type) == GP_RET_INNER)
			inner = true;
		else
			value = true;
	}
	if (inner && value)
		return any;
	return (struct gp_val){ .kind = inner ? GP_KIND_INNER : GP_KIND_MAPVAL, .maps = map->maps };
}

static struct gp_val step_helper(struct gp_kinds *kinds, struct gp_state *state, uint32_t func,
				 const struct bpf_insn *insn)
{
	const struct gp_helper *helper = gp_helper_find(insn->imm);

	if (!helper)
		return scalar; /* refused */
	for (int arg = 0; arg < GP_HELPER_ARGS; arg++) {
		const struct gp_val *val = &state->reg[arg + 1];
		int64_t bytes = gp_arg_bytes(kinds, state, helper, arg);

		if (bytes == -1)
			gp_kinds_escape(kinds, state, func, val);
		if (bytes != -2 && gp_helper_writes(helper, arg))
			gp_kinds_written(state, val, 0, bytes);
	}
	return helper_returns(kinds, helper, &state->reg[gp_helper_map_reg(helper)]);
}

/* @state->reg[first .. first + 4] are the arguments. */
static void step_func(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, uint32_t callee,
		      const struct gp_val *args)
{
	for (int r = 1; r <= 5; r++)
		if (kinds->cfg->funcs[callee].live_in & 1u << r && args[r].kind == GP_KIND_STACK)
			gp_kinds_escape(kinds, state, func, &args[r]);
	if (state->escaped)
		gp_kinds_unseen_write(state);
}

void gp_callback_args(const struct gp_state *state, struct gp_val *args)
{
	for (int r = 0; r <= 5; r++)
		args[r] = (struct gp_val){ 0 };
	args[1] = scalar; /* turn of the loop */
	args[2] = state->reg[3];
}

int64_t gp_callback(const struct gp_prog *prog, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &prog->insns[i];

	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != GP_CALL_HELPER ||
	    insn->imm != BPF_FUNC_loop || state->reg[2].kind != GP_KIND_FUNC || !state->reg[2].known)
		return -1;
	return state->reg[2].off;
}

void gp_kinds_call(struct gp_kinds *kinds, struct gp_state *state, uint32_t func, uint32_t i)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	int64_t callback = gp_callback(kinds->prog, state, i);
	struct gp_val ret;

	if (insn->src_reg == GP_CALL_LOCAL) {
		uint32_t callee = gp_cfg_callee(kinds->cfg, kinds->prog, i);

		step_func(kinds, state, func, callee, state->reg);
		ret = kinds->funcs[callee].ret;
		if (ret.kind == GP_KIND_STACK)
			ret.known = 0, ret.off = 0;
	} else {
		if (callback >= 0) {
			struct gp_val args[6];

			gp_callback_args(state, args);
			step_func(kinds, state, func, (uint32_t)callback, args);
		}
		ret = step_helper(kinds, state, func, insn);
	}
	state->reg[0] = ret;
	for (int r = 1; r <= 5; r++)
		state->reg[r] = (struct gp_val){ 0 };
}
