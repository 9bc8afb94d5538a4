/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c - which part of each function's frame lies in memory.
 *
 * How it works: a frame's top, from the lowest address that a pointer of the program may reach (kinds.c finds
 * it), lies in memory: that is where compilers put arrays and what is passed by address. Below it, bytes are
 * reached at constant offsets only; the translator splits them into the ranges that are accessed together,
 * and LLVM keeps these in registers. An access over the border moves the border.
 *
 * In memory, frames lie one behind the other without what is in registers: a function's starts where its caller's
 * ends. So the region of stack handles is as small as the program needs, and all of it is zeroed.
 */
#include <glib.h>
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

static void join_bytes(struct gp_frame_bytes *bytes, int64_t off, int64_t size)
{
	int64_t first = off + GP_STACK_FRAME;

	if (size <= 0 || first < 0 || size > GP_STACK_FRAME || first + size > GP_STACK_FRAME)
		return;
	for (int64_t i = first; i < first + size; i++) {
		bytes->touched[i] = true;
		bytes->joined[i] |= i + 1 < first + size;
	}
}

static void note_access(const struct gp_kinds *kinds, const struct gp_state *state,
			const struct bpf_insn *insn, struct gp_frame_bytes *bytes)
{
	int class = BPF_CLASS(insn->code);
	const struct gp_helper *helper;

	if (class == BPF_LDX || class == BPF_ST || class == BPF_STX) {
		const struct gp_val *ptr = &state->reg[class == BPF_LDX ? insn->src_reg : insn->dst_reg];

		if (ptr->kind == GP_KIND_STACK && ptr->known)
			join_bytes(bytes, ptr->off + insn->off, gp_insn_size(insn));
		return;
	}
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != GP_CALL_HELPER)
		return;
	helper = gp_helper_find(insn->imm);
	for (int arg = 0; helper && arg < GP_HELPER_ARGS; arg++) {
		const struct gp_val *ptr = &state->reg[arg + 1];

		if (ptr->kind == GP_KIND_STACK && ptr->known)
			join_bytes(bytes, ptr->off, gp_arg_bytes(kinds, state, helper, arg));
	}
}

void gp_frame_bytes(struct gp_kinds *kinds, uint32_t func, struct gp_frame_bytes *bytes)
{
	const struct gp_cfg *cfg = kinds->cfg;
	const struct gp_func *f = &cfg->funcs[func];

	*bytes = (struct gp_frame_bytes){ 0 };
	for (uint32_t b = f->first_block; b < f->first_block + f->num_blocks; b++) {
		struct gp_state state = kinds->entry[b];

		if (!kinds->reached[b])
			continue;
		for (uint32_t i = cfg->blocks[b].start; i < cfg->blocks[b].end; i++) {
			note_access(kinds, &state, &kinds->prog->insns[i], bytes);
			if (!gp_kinds_goes_on(kinds, i))
				break;
			gp_kinds_step(kinds, &state, i);
			i += gp_insn_is_ld_imm64(&kinds->prog->insns[i]);
		}
	}
}

/* No access may cross from registers to memory. */
static void settle_func(struct gp_kinds *kinds, uint32_t func)
{
	struct gp_func_kinds *f = &kinds->funcs[func];
	struct gp_frame_bytes bytes;
	int start;

	if (f->leaves && kinds->goes_down)
		f->memory = GP_STACK_FRAME;
	if (!f->memory || f->memory == GP_STACK_FRAME)
		return;
	gp_frame_bytes(kinds, func, &bytes);
	for (start = GP_STACK_FRAME - f->memory; start && bytes.joined[start - 1];) {
		while (start && bytes.joined[start - 1])
			start--;
		start &= ~7;
	}
	f->memory = (uint16_t)(GP_STACK_FRAME - start);
}

void gp_frames_settle(struct gp_kinds *kinds)
{
	const struct gp_cfg *cfg = kinds->cfg;
	uint32_t top[GP_MAX_FUNCS] = { 0 }; /* where a function's frame ends, at most */

	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		settle_func(kinds, f);
	kinds->stack_bytes = 0;
	/* Callers first. */
	for (uint32_t n = cfg->num_funcs; n-- > 0;) {
		uint32_t f = cfg->callee_first[n];

		top[f] += kinds->funcs[f].memory;
		kinds->stack_bytes = MAX(kinds->stack_bytes, top[f]);
		for (uint32_t i = cfg->funcs[f].start; i < cfg->funcs[f].end; i++) {
			const struct bpf_insn *insn = &kinds->prog->insns[i];

			if (gp_insn_is_local_call(insn) || gp_insn_is_func_address(insn)) {
				uint32_t callee = gp_cfg_callee(cfg, kinds->prog, i);

				top[callee] = MAX(top[callee], top[f]);
			}
			i += gp_insn_is_ld_imm64(insn);
		}
	}
}
