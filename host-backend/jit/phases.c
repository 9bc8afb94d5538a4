/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * phases.c - programs whose work items wait for each other: leaving at a call of the group, going on behind it.
 *
 * How it works: rt/groups.c runs the items of a group phase by phase, and gp_prog() is called once for each item and
 * phase. Each call of the group in the main function has a number, its phase. Where the program comes to one it
 * keeps what is still needed and returns; its entry block is a switch on the phase that leads behind the call, where
 * that is put back. So a phase is a piece of ordinary code in a loop over items, nothing is kept on a machine stack in
 * between, and what the loop keeps lies in rows, a row for each register or word of the stack.
 *
 * What is needed: r6 to r9 where they are read before they are written (calls leave r1 to r5 without a value, and r0 is
 * the result), in the form that their kinds say, which is the same before and behind the call; and likewise words
 * of what of the frame is in registers (access.c). Frames that lie in memory lie in the group's, and stay.
 *
 * A loop with a call of the group in it can be entered behind that call, so to LLVM it may have two entries. It burns
 * fuel on its back edges like any other.
 */
#include <stdlib.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "bpf/opcodes.h"
#include "jit/phases.h"
#include "jit/translate.h"

#define FIRST_KEPT GP_FIRST_KEPT
#define NUM_KEPT   GP_NUM_KEPT
#define WORDS	   GP_SLOTS

_Static_assert(NUM_KEPT + WORDS <= GP_GROUP_SAVED, "rows of struct gp_group");

/* ----------------------------------------------------------------- what is needed */

static uint64_t words(int64_t off, int64_t size)
{
	uint64_t mask = 0;

	for (int64_t at = off; at < off + size; at++)
		if (at >= -GP_STACK_FRAME && at < 0)
			mask |= 1ull << (at + GP_STACK_FRAME) / 8;
	return mask;
}

static void note_memory(struct gp_tr *tr, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &tr->prog->insns[i];
	bool load = BPF_CLASS(insn->code) == BPF_LDX, atomic = BPF_MODE(insn->code) == BPF_ATOMIC;
	const struct gp_val *ptr = &state->reg[load ? insn->src_reg : insn->dst_reg];
	int64_t off = gp_val_at(ptr, insn->off);
	uint32_t size = gp_insn_size(insn);

	if (ptr->kind != GP_KIND_STACK || !ptr->known)
		return;
	if (load || atomic)
		tr->phases->use[i] = words(off, size);
	else if (size == 8 && off % 8 == 0)
		tr->phases->def[i] = words(off, size);
}

/* What a helper is given it may read. */
static void note_call(struct gp_tr *tr, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &tr->prog->insns[i];
	const struct gp_helper *helper;

	if (insn->src_reg == GP_CALL_LOCAL)
		return;
	helper = gp_helper_find(insn->imm);
	for (int a = 0; a < GP_HELPER_ARGS && helper->args[a] != GP_ARG_NONE; a++) {
		const struct gp_val *ptr = &state->reg[a + 1];
		int64_t bytes = gp_arg_bytes(tr->kinds, state, helper, a);

		if (ptr->kind == GP_KIND_STACK && ptr->known && bytes > 0 && bytes <= GP_STACK_FRAME)
			tr->phases->use[i] |= words(ptr->off, bytes);
	}
}

static void note_block(struct gp_tr *tr, uint32_t b)
{
	struct gp_state state = tr->kinds->entry[b];

	for (uint32_t i = tr->cfg->blocks[b].start; i < tr->cfg->blocks[b].end; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];
		int class = BPF_CLASS(insn->code);

		if (class == BPF_LDX || class == BPF_ST || class == BPF_STX)
			note_memory(tr, &state, i);
		else if (insn->code == (BPF_JMP | BPF_CALL))
			note_call(tr, &state, i);
		if (!gp_tr_returns(tr, i))
			return;
		gp_kinds_step(tr->kinds, &state, i);
		i += (uint32_t)gp_insn_is_ld_imm64(insn);
	}
}

struct gp_needed gp_tr_needed_behind(const struct gp_tr *tr, uint32_t last)
{
	uint32_t b = tr->cfg->block_of[last];
	const struct gp_block *block = &tr->cfg->blocks[b];
	struct gp_needed n = { 0 };

	for (int e = 0; e < 2; e++) {
		if (block->succ[e] == GP_NO_BLOCK)
			continue;
		n.words |= tr->phases->live[block->succ[e]];
		n.regs |= tr->cfg->blocks[block->succ[e]].live_in;
	}
	for (uint32_t i = block->end; i-- > last + 1;) {
		uint16_t use, def; /* none, of the other half of an ld_imm64 */

		gp_insn_regs(tr->cfg, tr->prog, i, &use, &def);
		n.regs = (uint16_t)((n.regs & ~def) | use);
		n.words = (n.words & ~tr->phases->def[i]) | tr->phases->use[i];
	}
	return n;
}

static void find_needed(struct gp_tr *tr)
{
	uint32_t blocks = tr->cfg->funcs[0].num_blocks;
	bool changed = true;

	for (uint32_t b = 0; b < blocks; b++)
		if (tr->kinds->reached[b])
			note_block(tr, b);
	while (changed) {
		changed = false;
		for (uint32_t b = blocks; b-- > 0;) {
			const struct gp_block *block = &tr->cfg->blocks[b];
			uint64_t live = 0;

			for (int e = 0; e < 2; e++)
				if (block->succ[e] != GP_NO_BLOCK)
					live |= tr->phases->live[block->succ[e]];
			for (uint32_t i = block->end; i-- > block->start;)
				live = (live & ~tr->phases->def[i]) | tr->phases->use[i];
			changed |= live != tr->phases->live[b];
			tr->phases->live[b] = live;
		}
	}
}

bool gp_tr_phases_find(struct gp_tr *tr)
{
	uint32_t n = tr->prog->num_insns;
	struct gp_phases *p;
	struct gp_group_needs needs;

	gp_group_find(tr->prog->insns, n, &needs);
	tr->grouped = needs.any;
	if (!needs.waits)
		return true;
	tr->phases = p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	p->number = calloc(n, sizeof(*p->number));
	p->use = calloc(n, sizeof(*p->use));
	p->def = calloc(n, sizeof(*p->def));
	p->live = calloc(tr->cfg->num_blocks, sizeof(*p->live));
	p->resume = calloc(needs.waits + 1, sizeof(*p->resume));
	if (!p->number || !p->use || !p->def || !p->live || !p->resume)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (gp_group_is_wait(&tr->prog->insns[i]))
			p->number[i] = ++p->count;
		i += (uint32_t)gp_insn_is_ld_imm64(&tr->prog->insns[i]);
	}
	find_needed(tr);
	return true;
}

void gp_tr_phases_free(struct gp_tr *tr)
{
	struct gp_phases *p = tr->phases;

	if (!p)
		return;
	free(p->number);
	free(p->use);
	free(p->def);
	free(p->live);
	free(p->resume);
	free(p);
}

/* --------------------------------------------------------------------------- code */

void gp_tr_phases_begin(struct gp_tr *tr, LLVMBasicBlockRef first)
{
	struct gp_phases *p = tr->phases;
	LLVMValueRef phase, choice;

	if (!p || tr->func) {
		LLVMBuildBr(tr->b, first);
		return;
	}
	phase = gp_tr_rt(tr, "gp_rt_phase", &tr->lane, 1);
	choice = LLVMBuildSwitch(tr->b, phase, first, p->count);
	for (uint32_t n = 1; n <= p->count; n++) {
		p->resume[n] = LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
		LLVMAddCase(choice, LLVMConstInt(LLVMTypeOf(phase), n, 0), p->resume[n]);
	}
}

LLVMValueRef gp_tr_group_row(struct gp_tr *tr, uint32_t n)
{
	LLVMValueRef args[2] = { tr->lane, LLVMConstInt(tr->i32, n, 0) };

	return gp_tr_rt(tr, "gp_rt_group_row", args, 2);
}

bool gp_tr_is_kept(const struct gp_tr *tr, int r, uint16_t regs)
{
	const struct gp_val *val = &tr->state.reg[r];

	return (regs & 1u << r) && val->kind != GP_KIND_UNINIT &&
	       !(val->known && (val->kind == GP_KIND_SCALAR || val->kind == GP_KIND_STACK));
}

/* Bytes of one word that are one piece of the split frame, there and back. */
static void move_piece(struct gp_tr *tr, int from, int end, bool back)
{
	LLVMValueRef off = gp_tr_const(tr, from - tr->part_start[from]), at = gp_tr_const(tr, from % 8),
		     value;
	LLVMTypeRef type = LLVMIntTypeInContext(tr->ctx, (unsigned int)(end - from) * 8);
	LLVMValueRef part = LLVMBuildGEP2(tr->b, tr->i8, tr->part[from], &off, 1, "");
	LLVMValueRef kept = gp_tr_group_row(tr, NUM_KEPT + (uint32_t)from / 8);

	kept = LLVMBuildGEP2(tr->b, tr->i8, kept, &at, 1, "");
	value = LLVMBuildLoad2(tr->b, type, back ? kept : part, "");
	LLVMSetAlignment(value, 1);
	LLVMSetAlignment(LLVMBuildStore(tr->b, value, back ? part : kept), 1);
}

static void move_frame(struct gp_tr *tr, uint64_t mask, bool back)
{
	for (int i = 0, end; i < GP_STACK_FRAME; i = end) {
		for (end = i + 1; end % 8 && tr->part[end] == tr->part[i]; end++)
			;
		if (tr->part[i] && (mask & 1ull << i / 8))
			move_piece(tr, i, end, back);
	}
}

static void move_registers(struct gp_tr *tr, uint16_t regs, bool back)
{
	for (int r = FIRST_KEPT; r < FIRST_KEPT + NUM_KEPT; r++) {
		LLVMValueRef kept;

		if (!gp_tr_is_kept(tr, r, regs))
			continue;
		kept = gp_tr_group_row(tr, (uint32_t)(r - FIRST_KEPT));
		if (back)
			gp_tr_set(tr, r, LLVMBuildLoad2(tr->b, tr->i64, kept, ""));
		else
			LLVMBuildStore(tr->b, gp_tr_get(tr, r), kept);
	}
}

void gp_tr_wait(struct gp_tr *tr, const struct bpf_insn *insn)
{
	uint32_t n = tr->phases->number[tr->insn];
	struct gp_needed needed = gp_tr_needed_behind(tr, tr->insn);
	bool barrier = insn->imm == GPGPU_HELPER_barrier;
	LLVMValueRef args[5] = { tr->lane }, busy;

	/* Records are the lane's, and a lane does not outlive its phase. */
	busy = gp_tr_rt(tr, "gp_rt_group_busy", args, 1);
	gp_tr_fault_if(tr, LLVMBuildICmp(tr->b, LLVMIntNE, busy, LLVMConstInt(LLVMTypeOf(busy), 0, 0), ""),
		       VIRTIO_GPGPU_R_HELPER_ARG);
	move_registers(tr, needed.regs, false);
	move_frame(tr, needed.words, false);
	args[1] = LLVMConstInt(tr->i32, n, 0);
	args[2] = LLVMConstInt(tr->i32, (uint32_t)insn->imm, 0);
	args[3] = barrier ? gp_tr_const(tr, 0) : gp_tr_get(tr, 1);
	args[4] = barrier ? gp_tr_const(tr, 0) : gp_tr_get(tr, 2);
	gp_tr_rt(tr, "gp_rt_group_wait", args, 5);
	LLVMBuildRet(tr->b, gp_tr_const(tr, 0));

	LLVMPositionBuilderAtEnd(tr->b, tr->phases->resume[n]);
	move_registers(tr, needed.regs, true);
	move_frame(tr, needed.words, true);
	gp_tr_set(tr, 0, barrier ? gp_tr_const(tr, 0) : gp_tr_rt(tr, "gp_rt_group_result", args, 1));
}
