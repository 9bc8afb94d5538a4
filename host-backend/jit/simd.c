/* SPDX-License-Identifier: BSD-3-Clause */
/* simd.c - gp_simd(): its blocks, and how lanes get from one to the next; simd.h says how it works. */
#include <stdlib.h>
#include <string.h>
#include "bpf/groups.h"
#include "bpf/opcodes.h"
#include "jit/phases.h"
#include "jit/simd.h"

static LLVMBasicBlockRef new_block(struct gp_tr *tr)
{
	return LLVMAppendBasicBlockInContext(tr->ctx, tr->fn, "");
}

/* ---------------------------------------------------------------------- edges */

/* All lanes go to @to. */
static void go(struct gp_tr *tr, uint32_t to)
{
	struct gp_simd *simd = tr->simd;

	if (to == GP_NO_BLOCK) {
		LLVMBuildBr(tr->b, simd->done);
		return;
	}
	if (simd->part[to]) {
		LLVMBuildStore(tr->b, LLVMConstAllOnes(simd->v32), simd->mask[to]);
		LLVMBuildBr(tr->b, simd->guard[to]);
		return;
	}
	LLVMBuildBr(tr->b, tr->blocks[to]);
}

/* An edge that all lanes take. */
static void take_edge(struct gp_tr *tr, const struct gp_block *block, int e)
{
	if (block->back & 1u << e)
		gp_tr_burn(tr, tr->loop_cost[block->succ[e]]);
	go(tr, block->succ[e]);
}

static LLVMBasicBlockRef edge_block(struct gp_tr *tr, const struct gp_block *block, int e)
{
	LLVMBasicBlockRef from = LLVMGetInsertBlock(tr->b), edge = new_block(tr);

	LLVMPositionBuilderAtEnd(tr->b, edge);
	take_edge(tr, block, e);
	LLVMPositionBuilderAtEnd(tr->b, from);
	return edge;
}

/* The lanes where the i1 of @cond holds wait in front of @to from now on. */
static void wait_at(struct gp_tr *tr, uint32_t to, LLVMValueRef cond)
{
	struct gp_simd *simd = tr->simd;
	LLVMValueRef more = LLVMBuildSExt(tr->b, cond, simd->v32, ""), mask;

	if (to == GP_NO_BLOCK || !simd->part[to])
		return; /* where the part's lanes meet */
	mask = LLVMBuildLoad2(tr->b, simd->v32, simd->mask[to], "");
	LLVMBuildStore(tr->b, LLVMBuildOr(tr->b, mask, more, ""), simd->mask[to]);
}

/* Whether a branch that not all lanes need to take alike leaves the block split; else it is one that was assumed to be taken alike. */
static bool divides(const struct gp_simd *simd, const struct gp_block *block)
{
	for (int e = 0; e < 2; e++)
		if (block->succ[e] != GP_NO_BLOCK && simd->part[block->succ[e]])
			return true;
	return false;
}

static void divide(struct gp_tr *tr, const struct gp_block *block, LLVMValueRef cond)
{
	struct gp_simd *simd = tr->simd;
	uint32_t first = GP_NO_BLOCK;

	wait_at(tr, block->succ[1], cond);
	wait_at(tr, block->succ[0], LLVMBuildNot(tr->b, cond, ""));
	/* From the foremost on; guards in between find nobody. */
	for (int e = 0; e < 2; e++) {
		uint32_t to = block->succ[e];

		if (simd->part[to] &&
		    (first == GP_NO_BLOCK || tr->cfg->blocks[to].order < tr->cfg->blocks[first].order))
			first = to;
	}
	LLVMBuildBr(tr->b, simd->guard[first]);
}

/* All take the branch, or none; else the items run one by one. */
static void all_or_none(struct gp_tr *tr, const struct gp_block *block, LLVMValueRef cond)
{
	LLVMValueRef bits = gp_simd_bits(tr, cond), all = LLVMConstInt(tr->i32, (1u << GP_SIMD) - 1, 0), one;
	LLVMBasicBlockRef other = new_block(tr), taken = edge_block(tr, block, 1),
			  next = edge_block(tr, block, 0);

	one = LLVMBuildICmp(tr->b, LLVMIntEQ, bits, all, "");
	LLVMBuildCondBr(tr->b, one, taken, other);
	LLVMPositionBuilderAtEnd(tr->b, other);
	one = LLVMBuildICmp(tr->b, LLVMIntEQ, bits, LLVMConstInt(tr->i32, 0, 0), "");
	LLVMBuildCondBr(tr->b, one, next, tr->simd->bail);
}

static LLVMValueRef compare(struct gp_tr *tr, const struct bpf_insn *insn, bool lanes)
{
	LLVMValueRef cond;

	tr->lanes = lanes ? GP_SIMD : 0;
	cond = gp_tr_compare(tr, insn);
	tr->lanes = 0;
	return cond;
}

static void end_block(struct gp_tr *tr, const struct gp_block *block, const struct bpf_insn *last)
{
	struct gp_simd *simd = tr->simd;
	bool differs;

	if (gp_insn_is_exit(last)) {
		LLVMBuildBr(tr->b, simd->done);
	} else if (gp_insn_is_cond_jump(last)) {
		differs = simd->now.reg[last->dst_reg] ||
			  (BPF_SRC(last->code) == BPF_X && simd->now.reg[last->src_reg]);
		if (!differs) {
			LLVMValueRef cond = compare(tr, last, false);
			LLVMBasicBlockRef taken = edge_block(tr, block, 1), next = edge_block(tr, block, 0);

			LLVMBuildCondBr(tr->b, cond, taken, next);
		} else if (divides(simd, block) || block->succ[0] == block->succ[1]) {
			if (block->succ[0] == block->succ[1])
				take_edge(tr, block, 0);
			else
				divide(tr, block, compare(tr, last, true));
		} else {
			all_or_none(tr, block, compare(tr, last, true));
		}
	} else {
		take_edge(tr, block, 0);
	}
}

/* ----------------------------------------------------------------- instructions */

static void translate_insn(struct gp_tr *tr, const struct bpf_insn *insn)
{
	struct gp_simd *simd = tr->simd;
	struct gp_causes after = simd->now;

	gp_uniform_step(simd->uniform, &tr->state, &after, tr->insn);
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		if (simd->split || after.step[insn->dst_reg] == GP_NO_STEP)
			tr->lanes = after.reg[insn->dst_reg] ? GP_SIMD : 0;
		else
			simd->step = after.reg[insn->dst_reg] ? after.step[insn->dst_reg] : 0;
		gp_tr_alu(tr, insn);
		tr->lanes = 0;
		simd->step = 0;
		break;
	case BPF_LD:
		gp_tr_ld_imm64(tr, insn);
		break;
	case BPF_LDX:
		gp_simd_load(tr, insn, &after);
		break;
	case BPF_ST:
	case BPF_STX:
		gp_simd_store(tr, insn);
		break;
	default:
		if (gp_group_is_wait(insn))
			gp_simd_wait(tr, insn, &after);
		else
			gp_simd_helper(tr, insn);
	}
	simd->now = after;
}

/* All but a jump at the end. Return: that instruction. */
static const struct bpf_insn *translate_insns(struct gp_tr *tr, uint32_t b)
{
	const struct gp_block *block = &tr->cfg->blocks[b];
	struct gp_simd *simd = tr->simd;

	tr->state = tr->kinds->entry[b];
	simd->now = *gp_uniform_entry(simd->uniform, b);
	simd->may_store = simd->stored_in[b];
	for (uint32_t i = block->start; i < block->end; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];

		tr->insn = i;
		gp_lines_insn(tr->lines, tr->b, i);
		if (gp_insn_is_exit(insn) || gp_insn_is_ja(insn) || gp_insn_is_cond_jump(insn))
			break;
		translate_insn(tr, insn);
		gp_kinds_step(tr->kinds, &tr->state, i);
		i += (uint32_t)gp_insn_is_ld_imm64(insn);
	}
	return &tr->prog->insns[block->end - 1];
}

static void translate_block(struct gp_tr *tr, uint32_t b)
{
	const struct bpf_insn *last;

	LLVMPositionBuilderAtEnd(tr->b, tr->blocks[b]);
	tr->simd->split = false;
	last = translate_insns(tr, b);
	end_block(tr, &tr->cfg->blocks[b], last);
}

/* ------------------------------------------------------------------- split blocks */

/* What the block wrote, for its lanes. */
static void blend(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;

	for (int r = 0; r < GP_SIMD_REGS; r++) {
		LLVMValueRef old;

		if (!simd->new_wide[r])
			continue;
		old = LLVMBuildLoad2(tr->b, simd->v64, simd->wide[r], "");
		LLVMBuildStore(tr->b, LLVMBuildSelect(tr->b, simd->cur, simd->new_wide[r], old, ""),
			       simd->wide[r]);
		old = LLVMBuildLoad2(tr->b, simd->v32, simd->low[r], "");
		LLVMBuildStore(tr->b, LLVMBuildSelect(tr->b, simd->cur, simd->new_low[r], old, ""),
			       simd->low[r]);
	}
	memset(simd->new_wide, 0, sizeof(simd->new_wide));
	memset(simd->new_low, 0, sizeof(simd->new_low));
}

static void end_split(struct gp_tr *tr, const struct gp_block *block, const struct bpf_insn *last)
{
	LLVMValueRef cur = tr->simd->cur, cond;

	if (gp_insn_is_exit(last))
		return;
	if (!gp_insn_is_cond_jump(last)) {
		wait_at(tr, block->succ[0], cur);
		return;
	}
	cond = compare(tr, last, true);
	wait_at(tr, block->succ[1], LLVMBuildAnd(tr->b, cur, cond, ""));
	wait_at(tr, block->succ[0], LLVMBuildAnd(tr->b, cur, LLVMBuildNot(tr->b, cond, ""), ""));
}

/* The lanes in front of @b, as i1. */
static LLVMValueRef waiting(struct gp_tr *tr, uint32_t b)
{
	LLVMValueRef mask = LLVMBuildLoad2(tr->b, tr->simd->v32, tr->simd->mask[b], "");

	return LLVMBuildICmp(tr->b, LLVMIntSLT, mask, LLVMConstNull(tr->simd->v32), "");
}

/* Whether @b, the block at @at of the order, has the last back edge to @head. */
static bool is_last_latch(const struct gp_tr *tr, uint32_t head, uint32_t at)
{
	for (uint32_t i = at + 1; i < tr->cfg->funcs[0].num_blocks; i++) {
		const struct gp_block *block =
			&tr->cfg->blocks[tr->cfg->rpo[tr->cfg->funcs[0].first_order + i]];

		for (int e = 0; e < 2; e++)
			if (block->succ[e] == head && (block->back & 1u << e))
				return false;
	}
	return true;
}

/* Behind @b: back to the heads of loops that end here and that lanes wait in front of. */
static void go_round(struct gp_tr *tr, uint32_t b, uint32_t at)
{
	const struct gp_block *block = &tr->cfg->blocks[b];
	struct gp_simd *simd = tr->simd;

	for (int e = 0; e < 2; e++) {
		LLVMBasicBlockRef again, next;
		LLVMValueRef any;

		if (!(block->back & 1u << e) || !is_last_latch(tr, block->succ[e], at))
			continue;
		again = new_block(tr);
		next = new_block(tr);
		any = LLVMBuildICmp(tr->b, LLVMIntNE, gp_simd_bits(tr, waiting(tr, block->succ[e])),
				    LLVMConstInt(tr->i32, 0, 0), "");
		LLVMBuildCondBr(tr->b, any, again, next);
		LLVMPositionBuilderAtEnd(tr->b, again);
		gp_tr_burn(tr, tr->loop_cost[block->succ[e]]);
		LLVMBuildBr(tr->b, simd->guard[block->succ[e]]);
		LLVMPositionBuilderAtEnd(tr->b, next);
	}
}

/* The block of the same part that comes next, or where the part's lanes meet. @at: of its place in the order. */
static LLVMBasicBlockRef next_of_part(struct gp_tr *tr, uint32_t b, uint32_t at)
{
	struct gp_simd *simd = tr->simd;
	uint32_t to = simd->part_exit[simd->part[b]];

	for (uint32_t i = at + 1; i < tr->cfg->funcs[0].num_blocks; i++) {
		uint32_t other = tr->cfg->rpo[tr->cfg->funcs[0].first_order + i];

		if (simd->part[other] == simd->part[b] && tr->kinds->reached[other])
			return simd->guard[other];
	}
	return to == GP_NO_BLOCK ? simd->done : tr->blocks[to];
}

static void translate_split(struct gp_tr *tr, uint32_t b, uint32_t at)
{
	struct gp_simd *simd = tr->simd;
	const struct bpf_insn *last;
	LLVMValueRef any;

	LLVMPositionBuilderAtEnd(tr->b, simd->guard[b]);
	simd->cur = waiting(tr, b);
	simd->cur_bits = gp_simd_bits(tr, simd->cur);
	simd->after = new_block(tr);
	any = LLVMBuildICmp(tr->b, LLVMIntNE, simd->cur_bits, LLVMConstInt(tr->i32, 0, 0), "");
	LLVMBuildCondBr(tr->b, any, tr->blocks[b], simd->after);

	LLVMPositionBuilderAtEnd(tr->b, tr->blocks[b]);
	LLVMBuildStore(tr->b, LLVMConstNull(simd->v32), simd->mask[b]);
	simd->split = true;
	last = translate_insns(tr, b);
	end_split(tr, &tr->cfg->blocks[b], last);
	blend(tr);
	LLVMBuildBr(tr->b, simd->after);

	LLVMPositionBuilderAtEnd(tr->b, simd->after);
	simd->split = false;
	go_round(tr, b, at);
	LLVMBuildBr(tr->b, next_of_part(tr, b, at));
}

/* ------------------------------------------------------------------- the function */

static LLVMValueRef zeroed(struct gp_tr *tr, LLVMTypeRef type)
{
	LLVMValueRef at = LLVMBuildAlloca(tr->b, type, "");

	LLVMBuildStore(tr->b, LLVMConstNull(type), at);
	return at;
}

static void make_registers(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;

	for (int r = 0; r < GP_SIMD_REGS; r++) {
		if (r >= GP_SIMD_SLOT && !simd->slot_size[r - GP_SIMD_SLOT])
			continue;
		simd->scalar[r] = zeroed(tr, tr->i64);
		simd->wide[r] = zeroed(tr, simd->v64);
		simd->low[r] = zeroed(tr, simd->v32);
	}
	for (int i = 0; i < 4; i++)
		simd->room[i] = LLVMBuildAlloca(tr->b, simd->v64, "");
	simd->dead = zeroed(tr, tr->i32);
}

/* Neighbours that are not all of one group have different numbers in it, and different group numbers. */
static void check_group(struct gp_tr *tr)
{
	LLVMValueRef args[2] = { tr->lane, gp_tr_const(tr, 0) }, first, size;

	if (!tr->simd->in_group || tr->grouped)
		return;
	first = gp_tr_rt(tr, "gp_helper_local_id", args, 2);
	size = gp_tr_rt(tr, "gp_helper_local_size", args, 2);
	first = LLVMBuildAdd(tr->b, first, gp_tr_const(tr, GP_SIMD), "");
	gp_simd_leave_if(tr, LLVMBuildICmp(tr->b, LLVMIntUGT, first, size, ""), 0);
}

/* All arguments are there, so that nothing asks for each of them again, and LLVM finds them before the loop. */
static void check_arguments(struct gp_tr *tr)
{
	LLVMValueRef count = gp_tr_rt(tr, "gp_rt_num_args", &tr->lane, 1);

	gp_simd_leave_if(tr,
			 LLVMBuildICmp(tr->b, LLVMIntULT, count,
				       LLVMConstInt(LLVMTypeOf(count), tr->prog->num_args, 0), ""),
			 0);
}

static LLVMMetadataRef make_likely(struct gp_tr *tr)
{
	LLVMMetadataRef weights[3] = { LLVMMDStringInContext2(tr->ctx, "branch_weights", 14),
				       LLVMValueAsMetadata(LLVMConstInt(tr->i32, 100000, 0)),
				       LLVMValueAsMetadata(LLVMConstInt(tr->i32, 1, 0)) };

	return LLVMMDNodeInContext2(tr->ctx, weights, 3);
}

static void translate_entry(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;
	uint32_t blocks = tr->cfg->funcs[0].num_blocks;

	LLVMPositionBuilderAtEnd(tr->b, new_block(tr));
	tr->lane = LLVMGetParam(tr->fn, 0);
	simd->faults = LLVMGetParam(tr->fn, 1);
	simd->item = LLVMGetParam(tr->fn, 2);
	tr->fp = gp_tr_const(tr, 0);
	make_registers(tr);
	simd->bail = new_block(tr);
	simd->done = new_block(tr);
	for (uint32_t b = 0; b < blocks; b++) {
		tr->blocks[b] = new_block(tr);
		if (!simd->part[b])
			continue;
		simd->guard[b] = new_block(tr);
		simd->mask[b] = zeroed(tr, simd->v32);
	}
	simd->split = simd->may_store = false;
	simd->likely = make_likely(tr);
	check_arguments(tr);
	check_group(tr);
	gp_simd_begin(tr);
	go(tr, 0); /* r1, the context, is offset 0 */

	LLVMPositionBuilderAtEnd(tr->b, simd->bail);
	LLVMBuildRet(tr->b, LLVMConstInt(tr->i32, 0, 0));
	LLVMPositionBuilderAtEnd(tr->b, simd->done);
	LLVMBuildRet(tr->b, LLVMConstInt(tr->i32, 1, 0));
}

static void translate(struct gp_tr *tr)
{
	struct gp_simd *simd = tr->simd;
	const struct gp_func *func = &tr->cfg->funcs[0];

	simd->v32 = LLVMVectorType(tr->i32, GP_SIMD);
	simd->v64 = LLVMVectorType(tr->i64, GP_SIMD);
	tr->func = 0;
	translate_entry(tr);
	for (uint32_t i = 0; i < func->num_blocks; i++) {
		uint32_t b = tr->cfg->rpo[func->first_order + i];

		if (simd->part[b] && tr->kinds->reached[b])
			translate_split(tr, b, i);
		else if (tr->kinds->reached[b])
			translate_block(tr, b);
	}
	/* Nothing goes to those that are not reached. */
	for (uint32_t b = 0; b < func->num_blocks; b++) {
		LLVMBasicBlockRef each[2] = { tr->blocks[b], simd->guard[b] };

		for (int k = 0; k < 2; k++) {
			if (!each[k] || LLVMGetBasicBlockTerminator(each[k]))
				continue;
			LLVMPositionBuilderAtEnd(tr->b, each[k]);
			LLVMBuildUnreachable(tr->b);
		}
	}
}

void gp_simd_translate(struct gp_tr *tr)
{
	LLVMValueRef fn = LLVMGetNamedFunction(tr->mod, "gp_simd");
	uint32_t blocks = tr->cfg->funcs[0].num_blocks;
	struct gp_simd *simd = calloc(1, sizeof(*simd));

	if (!simd || !fn)
		goto out;
	simd->mask = calloc(blocks, sizeof(*simd->mask));
	simd->guard = calloc(blocks, sizeof(*simd->guard));
	simd->resume = calloc((tr->phases ? tr->phases->count : 0) + 1, sizeof(*simd->resume));
	if (!simd->mask || !simd->guard || !simd->resume || !gp_simd_plan(tr, simd))
		goto out;
	tr->simd = simd;
	tr->fn = fn;
	gp_lines_function(tr->lines, tr->b, fn);
	translate(tr);
	tr->simd = NULL;
out:
	if (simd) {
		gp_uniform_free(simd->uniform);
		free(simd->stored);
		free(simd->stored_in);
		free(simd->waits);
		free(simd->resume);
		free(simd->part);
		free(simd->part_exit);
		free(simd->mask);
		free(simd->guard);
	}
	free(simd);
}
