/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyse.c - kinds over a whole program: the least solution over all paths and calls.
 *
 * How it works: a work list of blocks. The state after a block is joined into those that follow, the
 * arguments of a call into its callee's entry, what a callee returns goes to all its callers. Kinds only ever
 * become vaguer, so it ends; a budget ends it earlier on programs made to be slow. Refusals are decided
 * only afterwards, since a value that is too narrow half way (NULL before the loop finds something) may be
 * fine in the end.
 *
 * Registers that nobody reads later are dropped at joins, so that left-overs neither cost
 * conversions nor let frame pointers escape.
 */
#include <glib.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "bpf/kinds.h"
#include "bpf/opcodes.h"

struct work {
	struct gp_kinds *kinds;
	uint32_t *queue; /* ring of blocks */
	uint32_t head, count;
	bool *queued;
	uint64_t budget; /* joins left */
};

static void enqueue(struct work *work, uint32_t block)
{
	uint32_t size = work->kinds->cfg->num_blocks;

	if (work->queued[block])
		return;
	work->queued[block] = true;
	work->queue[(work->head + work->count++) % size] = block;
}

static bool is_null(const struct gp_val *val)
{
	return val->kind == GP_KIND_SCALAR && val->known && val->off == 0;
}

static bool may_be_null(const struct gp_val *val)
{
	return val->kind == GP_KIND_MAPVAL || val->kind == GP_KIND_INNER;
}

/* Join @from into @to. Return: true if @to changed. */
static bool join_val(struct gp_val *to, const struct gp_val *from)
{
	struct gp_val old = *to;

	if (to->kind == GP_KIND_UNINIT || from->kind == GP_KIND_UNINIT) {
		*to = (struct gp_val){ 0 };
	} else if (may_be_null(to) && is_null(from)) {
		return false;
	} else if (may_be_null(from) && is_null(to)) {
		*to = *from;
	} else if (to->kind != from->kind || to->arg != from->arg) {
		*to = (struct gp_val){ .kind = GP_KIND_ANY };
	} else if (to->kind == GP_KIND_MAPVAL || gp_val_is_map(to)) {
		to->maps |= from->maps;
	} else {
		to->low |= from->low;
		if (to->known && (!from->known || to->off != from->off)) {
			to->known = 0;
			to->off = 0;
		}
	}
	return old.kind != to->kind || old.known != to->known || old.arg != to->arg || old.off != to->off ||
	       old.low != to->low;
}

/* A frame pointer that stops being constant needs its object in memory; one that becomes a handle escapes. */
static void note_lost(struct gp_kinds *kinds, uint32_t func, struct gp_state *entry,
		      const struct gp_val *from, const struct gp_val *to)
{
	if (to->kind == GP_KIND_UNINIT || (to->kind == from->kind && to->known == from->known))
		return;
	if (to->kind != from->kind)
		gp_kinds_escape(kinds, entry, func, from);
	else if (from->known)
		gp_kinds_expose(kinds, entry, func, from);
}

static void flow(struct work *work, const struct gp_state *state, uint32_t to)
{
	struct gp_kinds *kinds = work->kinds;
	const struct gp_block *block = &kinds->cfg->blocks[to];
	struct gp_state *entry = &kinds->entry[to];
	bool changed = !kinds->reached[to], was_escaped;
	int16_t was_exposed;

	if (!kinds->reached[to]) {
		*entry = *state;
		for (int r = 0; r < 10; r++)
			if (!(block->live_in & 1u << r))
				entry->reg[r] = (struct gp_val){ 0 };
		kinds->reached[to] = true;
		enqueue(work, to);
		return;
	}
	was_escaped = entry->escaped;
	was_exposed = entry->exposed;
	entry->escaped |= state->escaped;
	entry->exposed = MIN(entry->exposed, state->exposed);
	for (int r = 0; r < 10; r++) {
		struct gp_val before = entry->reg[r];

		if (!(block->live_in & 1u << r))
			continue;
		changed |= join_val(&entry->reg[r], &state->reg[r]);
		note_lost(kinds, block->func, entry, &state->reg[r], &entry->reg[r]);
		note_lost(kinds, block->func, entry, &before, &entry->reg[r]);
	}
	for (int i = 0; i < GP_SLOTS; i++) {
		struct gp_val before = entry->slot[i];

		changed |= join_val(&entry->slot[i], &state->slot[i]);
		note_lost(kinds, block->func, entry, &state->slot[i], &entry->slot[i]);
		note_lost(kinds, block->func, entry, &before, &entry->slot[i]);
	}
	if (changed || entry->escaped != was_escaped || entry->exposed != was_exposed)
		enqueue(work, to);
}

/* Arguments of a call flow into the callee. Return: false while it is not known to return. */
static bool flow_call(struct work *work, const struct gp_state *state, uint32_t callee)
{
	struct gp_kinds *kinds = work->kinds;
	struct gp_func_kinds *func = &kinds->funcs[callee];
	uint32_t first = kinds->cfg->funcs[callee].first_block;
	bool changed = !func->called;

	for (int r = 1; r <= 5; r++) {
		struct gp_val val = state->reg[r];

		if (!(kinds->cfg->funcs[callee].live_in & 1u << r))
			continue;
		if (val.kind == GP_KIND_STACK)
			val.known = 0, val.off = 0; /* not the callee's frame */
		if (val.kind == GP_KIND_FUNC)
			val = (struct gp_val){ .kind = GP_KIND_SCALAR }; /* who calls whom must be known */
		if (func->called) {
			const struct gp_val *to = &func->args[r];

			kinds->ctx_lost |= to->kind == GP_KIND_CTX && val.kind != GP_KIND_CTX;
			changed |= join_val(&func->args[r], &val);
			kinds->ctx_lost |= val.kind == GP_KIND_CTX && to->kind != GP_KIND_CTX;
		} else {
			func->args[r] = val;
		}
	}
	func->called = true;
	if (changed) {
		struct gp_state *entry = &kinds->entry[first];
		struct gp_state fresh = { 0 };

		memcpy(&fresh.reg[1], &func->args[1], 5 * sizeof(fresh.reg[0]));
		fresh.reg[10] = (struct gp_val){ .kind = GP_KIND_STACK, .known = 1 };
		for (int i = 0; i < GP_SLOTS; i++)
			fresh.slot[i] = (struct gp_val){ .kind = GP_KIND_SCALAR, .known = 1 };
		if (kinds->reached[first]) {
			flow(work, &fresh, first);
		} else {
			*entry = fresh;
			kinds->reached[first] = true;
			enqueue(work, first);
		}
	}
	return func->returns;
}

static void flow_return(struct work *work, const struct gp_state *state, uint32_t func)
{
	struct gp_kinds *kinds = work->kinds;
	struct gp_func_kinds *f = &kinds->funcs[func];
	const struct gp_cfg *cfg = kinds->cfg;
	struct gp_val val = state->reg[0];
	bool changed = !f->returns;

	if (val.kind == GP_KIND_STACK) {
		struct gp_state left = *state;

		gp_kinds_escape(kinds, &left, func, &val);
		val.known = 0, val.off = 0;
	}
	if (f->returns) {
		kinds->ctx_lost |= f->ret.kind == GP_KIND_CTX && val.kind != GP_KIND_CTX;
		changed = join_val(&f->ret, &val);
		kinds->ctx_lost |= val.kind == GP_KIND_CTX && f->ret.kind != GP_KIND_CTX;
	} else {
		f->ret = val;
	}
	f->returns = true;
	if (!changed || !func)
		return;
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		if (!kinds->reached[b])
			continue;
		for (uint32_t i = cfg->blocks[b].start; i < cfg->blocks[b].end; i++) {
			const struct bpf_insn *insn = &kinds->prog->insns[i];

			if (gp_insn_is_local_call(insn) && gp_cfg_callee(cfg, kinds->prog, i) == func) {
				enqueue(work, b);
				break;
			}
			i += gp_insn_is_ld_imm64(insn);
		}
	}
}

/* A helper that calls a function back: its arguments flow there. */
static void flow_callback(struct work *work, const struct gp_state *state, uint32_t i)
{
	int64_t callee = gp_callback(work->kinds->prog, state, i);
	struct gp_state args = { 0 };

	if (callee < 0)
		return;
	gp_callback_args(state, args.reg);
	flow_call(work, &args, (uint32_t)callee);
}

static void run_block(struct work *work, uint32_t b)
{
	struct gp_kinds *kinds = work->kinds;
	const struct gp_block *block = &kinds->cfg->blocks[b];
	struct gp_state state = kinds->entry[b];

	for (uint32_t i = block->start; i < block->end; i++) {
		const struct bpf_insn *insn = &kinds->prog->insns[i];

		if (gp_insn_is_exit(insn)) {
			flow_return(work, &state, block->func);
			return;
		}
		if (gp_insn_is_local_call(insn) &&
		    !flow_call(work, &state, gp_cfg_callee(kinds->cfg, kinds->prog, i)))
			return; /* comes back when the callee has returned something */
		flow_callback(work, &state, i);
		gp_kinds_step(kinds, &state, i);
		i += gp_insn_is_ld_imm64(insn);
	}
	for (int e = 0; e < 2; e++)
		if (block->succ[e] != GP_NO_BLOCK)
			flow(work, &state, block->succ[e]);
}

/* What one pass may decide by, and learn only at its end. */
struct facts {
	uint64_t memory;
	uint32_t leaves, ctx_lost;
};

static struct facts facts(const struct gp_kinds *kinds)
{
	struct facts facts = { .ctx_lost = kinds->ctx_lost };

	for (uint32_t f = 0; f < kinds->cfg->num_funcs; f++) {
		facts.memory += kinds->funcs[f].memory;
		facts.leaves += kinds->funcs[f].leaves;
	}
	return facts;
}

static bool settle(struct work *work, struct gp_verdict *verdict)
{
	const struct gp_cfg *cfg = work->kinds->cfg;

	while (work->count) {
		uint32_t b = work->queue[work->head];

		work->head = (work->head + 1) % cfg->num_blocks;
		work->count--;
		work->queued[b] = false;
		if (work->budget-- == 0)
			return gp_refuse(verdict, work->kinds->prog, VIRTIO_GPGPU_R_COMPILE_LIMIT,
					 cfg->blocks[b].start,
					 "too many joins of different pointers to follow; split the program");
		run_block(work, b);
	}
	return true;
}

static bool solve(struct gp_kinds *kinds, struct gp_verdict *verdict)
{
	const struct gp_cfg *cfg = kinds->cfg;
	struct work work = { .kinds = kinds, .budget = 20ull * cfg->num_blocks + 20000 };
	struct gp_state start = { 0 };
	struct facts before, after;
	bool ok;

	work.queue = g_new(uint32_t, cfg->num_blocks);
	work.queued = g_new0(bool, cfg->num_blocks);
	start.reg[1] = (struct gp_val){ .kind = GP_KIND_CTX, .known = 1 };
	flow_call(&work, &start, 0);
	ok = settle(&work, verdict);
	/*
	 * Again while what was learnt late changes what was decided early; all of it only grows. In the end a step from
	 * any block's state teaches nothing new, which is what the translator, who steps again, rests on.
	 */
	do {
		gp_frames_settle(kinds);
		before = facts(kinds);
		for (uint32_t b = 0; b < cfg->num_blocks; b++)
			if (kinds->reached[b])
				enqueue(&work, b);
		ok = ok && settle(&work, verdict);
		gp_frames_settle(kinds);
		after = facts(kinds);
	} while (ok && (before.memory != after.memory || before.leaves != after.leaves ||
			before.ctx_lost != after.ctx_lost));
	kinds->settled = true;
	g_free(work.queue);
	g_free(work.queued);
	return ok;
}

/* With all kinds known: every instruction once, in order. */
static bool check(struct gp_kinds *kinds, struct gp_verdict *verdict)
{
	const struct gp_cfg *cfg = kinds->cfg;

	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		struct gp_state state = kinds->entry[b];

		if (!kinds->reached[b])
			continue; /* behind a call that never returns */
		for (uint32_t i = cfg->blocks[b].start; i < cfg->blocks[b].end; i++) {
			const struct bpf_insn *insn = &kinds->prog->insns[i];

			if (!gp_kinds_check(kinds, &state, i, verdict))
				return false;
			if (!gp_kinds_goes_on(kinds, i))
				break;
			gp_kinds_step(kinds, &state, i);
			i += gp_insn_is_ld_imm64(insn);
		}
	}
	return true;
}

bool gp_kinds_analyse(struct gp_kinds *kinds, const struct gp_prog *prog, const struct gp_cfg *cfg,
		      struct gp_verdict *verdict)
{
	struct gp_group_needs needs;

	gp_group_find(prog->insns, prog->num_insns, &needs);
	*kinds = (struct gp_kinds){
		.prog = prog,
		.local_bytes = needs.local_bytes,
		.cfg = cfg,
		.entry = g_new0(struct gp_state, cfg->num_blocks),
		.reached = g_new0(bool, cfg->num_blocks),
		.funcs = g_new0(struct gp_func_kinds, cfg->num_funcs),
	};
	return solve(kinds, verdict) && check(kinds, verdict);
}

void gp_kinds_free(struct gp_kinds *kinds)
{
	g_free(kinds->entry);
	g_free(kinds->reached);
	g_free(kinds->funcs);
	*kinds = (struct gp_kinds){ 0 };
}
