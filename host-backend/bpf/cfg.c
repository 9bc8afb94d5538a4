/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cfg.c - functions, basic blocks, loops and live registers of a program.
 *
 * How it works: the targets of local calls, and of addresses for callbacks, are the functions; jumps may not leave
 * their function, so each is a range of instructions. Blocks follow from jumps and their targets. A
 * depth-first walk per function gives the reverse post-order; dominators come from one round over it; an edge
 * that goes back in the walk to a block that does not dominate its source makes the graph irreducible,
 * and then a fuel counter could be defeated, so the program is refused. Live registers are the
 * least solution of the backward equations, callees before callers.
 *
 * All of it is iterative: the program may be 16,384 jumps deep and must not choose our stack.
 */
#include <glib.h>
#include <stdlib.h>
#include <virtio_gpgpu.h>
#include "bpf/cfg.h"
#include "bpf/helpers.h"
#include "bpf/opcodes.h"

static uint32_t insn_slots(const struct bpf_insn *insn)
{
	return gp_insn_is_ld_imm64(insn) ? 2 : 1;
}

/* Second slots of ld_imm64: no jump and no call may land there. */
static bool *find_tails(const struct gp_prog *prog)
{
	bool *tail = g_new0(bool, prog->num_insns);

	for (uint32_t i = 0; i < prog->num_insns; i += insn_slots(&prog->insns[i]))
		if (gp_insn_is_ld_imm64(&prog->insns[i]))
			tail[i + 1] = true;
	return tail;
}

static int compare_start(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint32_t find_func(const struct gp_cfg *cfg, uint32_t insn)
{
	uint32_t lo = 0, hi = cfg->num_funcs;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cfg->funcs[mid].start <= insn)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

uint32_t gp_cfg_callee(const struct gp_cfg *cfg, const struct gp_prog *prog, uint32_t insn)
{
	return find_func(cfg, (uint32_t)((int64_t)insn + 1 + prog->insns[insn].imm));
}

/* A call, or an address for a helper that calls back: either way the function it names may run below this one. */
static bool names_func(const struct bpf_insn *insn)
{
	return gp_insn_is_local_call(insn) || gp_insn_is_func_address(insn);
}

static bool find_funcs(struct gp_cfg *cfg, const struct gp_prog *prog, const bool *tail,
		       struct gp_verdict *verdict)
{
	bool *is_start = g_new0(bool, prog->num_insns);
	uint32_t starts[GP_MAX_FUNCS], count = 0;
	bool ok = true;

	is_start[0] = true;
	starts[count++] = 0;
	for (uint32_t i = 0; ok && i < prog->num_insns; i += insn_slots(&prog->insns[i])) {
		int64_t target = (int64_t)i + 1 + prog->insns[i].imm;

		if (!names_func(&prog->insns[i]))
			continue;
		if (target < 0 || target >= prog->num_insns)
			ok = gp_refuse(verdict, prog, VIRTIO_GPGPU_R_JUMP, i,
				       "names a function at instruction %lld, which is outside the program",
				       (long long)target);
		else if (tail[target])
			ok = gp_refuse(verdict, prog, VIRTIO_GPGPU_R_JUMP, i,
				       "names a function in the second half of an ld_imm64");
		else if (!target)
			ok = gp_refuse(verdict, prog, VIRTIO_GPGPU_R_CALL_DEPTH, i,
				       "recursion: the program's entry is already running");
		else if (is_start[target])
			continue;
		else if (count == GP_MAX_FUNCS)
			ok = gp_refuse(verdict, prog, VIRTIO_GPGPU_R_INSN_LIMIT, i,
				       "the program has more than %d functions", GP_MAX_FUNCS);
		else {
			is_start[target] = true;
			starts[count++] = (uint32_t)target;
		}
	}
	g_free(is_start);
	if (!ok)
		return false;
	qsort(starts, count, sizeof(*starts), compare_start);
	cfg->num_funcs = count;
	for (uint32_t f = 0; f < count; f++) {
		cfg->funcs[f].start = starts[f];
		cfg->funcs[f].end = f + 1 < count ? starts[f + 1] : prog->num_insns;
	}
	return true;
}

/* Marks the first instruction of every block; checks where jumps go and that nothing runs off a function's end. */
static bool find_leaders(struct gp_cfg *cfg, const struct gp_prog *prog, const bool *tail, bool *leader,
			 struct gp_verdict *verdict)
{
	for (uint32_t f = 0; f < cfg->num_funcs; f++) {
		struct gp_func *func = &cfg->funcs[f];
		uint32_t last = func->start;

		leader[func->start] = true;
		for (uint32_t i = func->start; i < func->end; i += insn_slots(&prog->insns[i])) {
			const struct bpf_insn *insn = &prog->insns[i];
			bool cond = gp_insn_is_cond_jump(insn);
			int64_t target;

			last = i;
			if (gp_insn_is_exit(insn) && i + 1 < func->end)
				leader[i + 1] = true;
			if (!cond && !gp_insn_is_ja(insn))
				continue;
			target = (int64_t)i + 1 + gp_insn_jump_distance(insn);
			if (target < func->start || target >= func->end)
				return gp_refuse(
					verdict, prog, VIRTIO_GPGPU_R_JUMP, i,
					"jumps to instruction %lld, outside of its function, which is %u to %u",
					(long long)target, func->start, func->end - 1);
			if (tail[target])
				return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_JUMP, i,
						 "jumps into the second half of an ld_imm64");
			leader[target] = true;
			if (i + 1 < func->end)
				leader[i + 1] = true;
		}
		if (!gp_insn_is_exit(&prog->insns[last]) && !gp_insn_is_ja(&prog->insns[last]))
			return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_FALL_OFF, last,
					 "control runs off the end of the function; end it with exit");
	}
	return true;
}

static void make_blocks(struct gp_cfg *cfg, const struct gp_prog *prog, const bool *leader)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < prog->num_insns; i++)
		count += leader[i];
	cfg->blocks = g_new0(struct gp_block, count);
	cfg->rpo = g_new0(uint32_t, count);
	cfg->block_of = g_new0(uint32_t, prog->num_insns);

	for (uint32_t f = 0; f < cfg->num_funcs; f++) {
		struct gp_func *func = &cfg->funcs[f];

		func->first_block = cfg->num_blocks;
		for (uint32_t i = func->start; i < func->end; i++) {
			if (leader[i])
				cfg->blocks[cfg->num_blocks++] =
					(struct gp_block){ .start = i,
							   .func = f,
							   .order = GP_NO_BLOCK,
							   .succ = { GP_NO_BLOCK, GP_NO_BLOCK } };
			cfg->block_of[i] = cfg->num_blocks - 1;
			cfg->blocks[cfg->num_blocks - 1].end = i + 1;
		}
		func->num_blocks = cfg->num_blocks - func->first_block;
	}
}

static void link_blocks(struct gp_cfg *cfg, const struct gp_prog *prog)
{
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		struct gp_block *block = &cfg->blocks[b];
		uint32_t last = block->start;
		const struct bpf_insn *insn;
		int64_t target;

		for (uint32_t i = block->start; i < block->end; i += insn_slots(&prog->insns[i]))
			last = i;
		insn = &prog->insns[last];
		if (gp_insn_is_exit(insn))
			continue;
		if (!gp_insn_is_ja(insn)) /* there is a next one: see find_leaders() */
			block->succ[0] = b + 1;
		target = (int64_t)last + 1 + gp_insn_jump_distance(insn);
		if (gp_insn_is_ja(insn))
			block->succ[0] = cfg->block_of[target];
		else if (gp_insn_is_cond_jump(insn))
			block->succ[1] = cfg->block_of[target];
	}
}

/* Depth-first from a function's entry: reverse post-order, and edges to a block still on the path as `back`. */
static void walk(struct gp_cfg *cfg, struct gp_func *func)
{
	struct frame {
		uint32_t block, next;
	} *stack = g_new(struct frame, func->num_blocks + 1);
	uint8_t *state = g_new0(uint8_t, func->num_blocks); /* 1: on the path, 2: done */
	uint32_t *post = g_new(uint32_t, func->num_blocks);
	uint32_t depth = 0, count = 0;

	stack[depth++] = (struct frame){ func->first_block, 0 };
	state[0] = 1;
	while (depth) {
		struct frame *top = &stack[depth - 1];
		struct gp_block *block = &cfg->blocks[top->block];
		uint32_t edge = top->next++, to;

		if (edge == 2) {
			state[top->block - func->first_block] = 2;
			post[count++] = top->block;
			depth--;
			continue;
		}
		to = block->succ[edge];
		if (to == GP_NO_BLOCK)
			continue;
		if (state[to - func->first_block] == 1) {
			block->back |= 1u << edge;
		} else if (!state[to - func->first_block]) {
			state[to - func->first_block] = 1;
			stack[depth++] = (struct frame){ to, 0 };
		}
	}
	func->first_order = cfg->num_rpo;
	while (count--) {
		cfg->blocks[post[count]].order = cfg->num_rpo;
		cfg->rpo[cfg->num_rpo++] = post[count];
	}
	g_free(stack);
	g_free(state);
	g_free(post);
}

/* Of the tree of dominators, in the order of a walk. */
struct gp_range {
	uint32_t start, count;
};

static uint32_t common_dominator(const struct gp_cfg *cfg, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (cfg->blocks[a].order > cfg->blocks[b].order)
			a = cfg->blocks[a].idom;
		while (cfg->blocks[b].order > cfg->blocks[a].order)
			b = cfg->blocks[b].idom;
	}
	return a;
}

/*
 * The function's blocks are rpo[first .. end). Edges that go back in the walk are left out: where each leads to a block
 * that dominates its source even so, they change nothing, and where one does not the program is refused. So
 * one round does.
 */
static void find_dominators(struct gp_cfg *cfg, uint32_t first, uint32_t end)
{
	uint32_t entry = cfg->rpo[first];

	for (uint32_t i = first; i < end; i++)
		cfg->blocks[cfg->rpo[i]].idom = GP_NO_BLOCK;
	cfg->blocks[entry].idom = entry;
	for (uint32_t i = first; i < end; i++) {
		uint32_t b = cfg->rpo[i];

		for (int e = 0; e < 2; e++) {
			uint32_t to = cfg->blocks[b].succ[e];

			if (to == GP_NO_BLOCK || (cfg->blocks[b].back & 1u << e))
				continue;
			cfg->blocks[to].idom = cfg->blocks[to].idom == GP_NO_BLOCK
						       ? b
						       : common_dominator(cfg, cfg->blocks[to].idom, b);
		}
	}
}

/* Numbers the tree of dominators so that what a block dominates is a range; [first .. end) as above. */
static void number_dominated(struct gp_cfg *cfg, uint32_t first, uint32_t end, struct gp_range *ranges)
{
	uint32_t *next = g_new(uint32_t, cfg->num_blocks);

	for (uint32_t i = first; i < end; i++)
		ranges[cfg->rpo[i]].count = 1;
	for (uint32_t i = end; i-- > first + 1;)
		ranges[cfg->blocks[cfg->rpo[i]].idom].count += ranges[cfg->rpo[i]].count;
	for (uint32_t i = first; i < end; i++) {
		uint32_t b = cfg->rpo[i], up = cfg->blocks[b].idom;

		ranges[b].start = i == first ? 0 : next[up];
		next[b] = ranges[b].start + 1;
		if (i > first)
			next[up] += ranges[b].count;
	}
	g_free(next);
}

static bool dominates(const struct gp_range *ranges, uint32_t a, uint32_t b)
{
	return ranges[b].start - ranges[a].start < ranges[a].count; /* unsigned: not below it either */
}

static bool check_loops(struct gp_cfg *cfg, const struct gp_prog *prog, const struct gp_range *ranges,
			struct gp_verdict *verdict)
{
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		struct gp_block *block = &cfg->blocks[b];

		for (int e = 0; e < 2; e++) {
			uint32_t to = block->succ[e];

			if ((block->back & 1u << e) && !dominates(ranges, to, b))
				return gp_refuse(
					verdict, prog, VIRTIO_GPGPU_R_IRREDUCIBLE, block->end - 1,
					"jumps back into a loop that is also entered elsewhere than at its start "
					"(instruction %u); give each loop one entry",
					cfg->blocks[to].start);
		}
	}
	return true;
}

/*
 * Orders the call graph, callees first, and gives each function its depth. A function's calls are found by
 * scanning it; `next` remembers how far that went, so that each is scanned once.
 */
static bool order_calls(struct gp_cfg *cfg, const struct gp_prog *prog, struct gp_verdict *verdict)
{
	uint32_t next[GP_MAX_FUNCS], path[GP_MAX_FUNCS], depth = 0, count = 0;
	uint8_t state[GP_MAX_FUNCS] = { 0 };

	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		next[f] = cfg->funcs[f].start;
	path[depth++] = 0;
	state[0] = 1;
	while (depth) {
		uint32_t f = path[depth - 1], i = next[f], callee;

		if (i >= cfg->funcs[f].end) {
			state[f] = 2;
			cfg->callee_first[count++] = f;
			depth--;
			continue;
		}
		next[f] += insn_slots(&prog->insns[i]);
		if (!names_func(&prog->insns[i]))
			continue;
		callee = gp_cfg_callee(cfg, prog, i);
		if (state[callee] == 1)
			return gp_refuse(verdict, prog, VIRTIO_GPGPU_R_CALL_DEPTH, i,
					 "recursion: the function at instruction %u is already running",
					 cfg->funcs[callee].start);
		if (state[callee])
			continue;
		state[callee] = 1;
		path[depth++] = callee;
	}
	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		if (!state[f])
			return gp_refuse(
				verdict, prog, VIRTIO_GPGPU_R_UNREACHABLE, cfg->funcs[f].start,
				"nothing that the program's entry calls calls this function; remove it");

	cfg->funcs[0].depth = 1;
	while (count--) {
		struct gp_func *func = &cfg->funcs[cfg->callee_first[count]];

		cfg->max_depth = MAX(cfg->max_depth, func->depth);
		for (uint32_t i = func->start; i < func->end; i += insn_slots(&prog->insns[i])) {
			struct gp_func *callee;

			if (!names_func(&prog->insns[i]))
				continue;
			callee = &cfg->funcs[gp_cfg_callee(cfg, prog, i)];
			callee->depth = MAX(callee->depth, func->depth + 1);
			if (callee->depth > GP_MAX_FRAMES)
				return gp_refuse(
					verdict, prog, VIRTIO_GPGPU_R_CALL_DEPTH, i,
					"calls are more than %d functions deep, the entry and callbacks included",
					GP_MAX_FRAMES);
		}
	}
	return true;
}

/* Where the program ends with what a function returns: callers first, so that each call is looked at once. */
static void find_ends(struct gp_cfg *cfg, const struct gp_prog *prog)
{
	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		cfg->funcs[f].ends = true;
	for (uint32_t n = cfg->num_funcs; n-- > 0;) {
		const struct gp_func *func = &cfg->funcs[cfg->callee_first[n]];

		for (uint32_t i = func->start; i < func->end; i += insn_slots(&prog->insns[i])) {
			const struct bpf_insn *insn = &prog->insns[i];

			/* Who calls a function back goes on. */
			if (names_func(insn) &&
			    !(func->ends && gp_insn_is_local_call(insn) && gp_insn_is_exit(insn + 1)))
				cfg->funcs[gp_cfg_callee(cfg, prog, i)].ends = false;
		}
	}
}

void gp_insn_regs(const struct gp_cfg *cfg, const struct gp_prog *prog, uint32_t i, uint16_t *use,
		  uint16_t *def)
{
	const struct bpf_insn *insn = &prog->insns[i];
	uint16_t flags = gp_opcodes[insn->code].flags;

	*use = *def = 0;
	if (flags & GP_OP_CALL) {
		const struct gp_helper *helper = gp_helper_find(insn->imm);

		*def = 0x3f;
		if (insn->src_reg == GP_CALL_LOCAL)
			*use = cfg->funcs[gp_cfg_callee(cfg, prog, i)].live_in & 0x3e;
		else if (helper)
			*use = (uint16_t)gp_helper_uses(helper);
		return;
	}
	if (gp_insn_is_exit(insn))
		*use = 1;
	if (flags & GP_OP_READ_DST)
		*use |= (uint16_t)(1u << insn->dst_reg);
	if (flags & GP_OP_WRITE_DST)
		*def |= (uint16_t)(1u << insn->dst_reg);
	if (flags & GP_OP_READ_SRC)
		*use |= (uint16_t)(1u << insn->src_reg);
	if (flags & GP_OP_ATOMIC) {
		if (insn->imm == BPF_CMPXCHG) {
			*use |= 1;
			*def |= 1;
		} else if (insn->imm & BPF_FETCH) {
			*def |= (uint16_t)(1u << insn->src_reg);
		}
	}
	*use &= 0x3ff;
}

static void find_live(struct gp_cfg *cfg, const struct gp_prog *prog, struct gp_func *func, uint16_t *use,
		      uint16_t *def)
{
	bool changed = true;

	/* What each block reads before it writes, and what it writes. */
	for (uint32_t b = func->first_block; b < func->first_block + func->num_blocks; b++) {
		use[b] = def[b] = 0;
		for (uint32_t i = cfg->blocks[b].start; i < cfg->blocks[b].end;
		     i += insn_slots(&prog->insns[i])) {
			uint16_t u, d;

			gp_insn_regs(cfg, prog, i, &u, &d);
			use[b] |= u & (uint16_t)~def[b];
			def[b] |= d;
		}
	}
	while (changed) {
		changed = false;
		for (uint32_t b = func->first_block + func->num_blocks; b-- > func->first_block;) {
			struct gp_block *block = &cfg->blocks[b];
			uint16_t live = 0;

			for (int e = 0; e < 2; e++)
				if (block->succ[e] != GP_NO_BLOCK)
					live |= cfg->blocks[block->succ[e]].live_in;
			live = (uint16_t)(use[b] | (live & ~def[b]));
			if (live != block->live_in) {
				block->live_in = live;
				changed = true;
			}
		}
	}
	func->live_in = cfg->blocks[func->first_block].live_in;
}

bool gp_cfg_build(struct gp_cfg *cfg, const struct gp_prog *prog, struct gp_verdict *verdict)
{
	bool *leader = g_new0(bool, prog->num_insns);
	bool *tail = find_tails(prog);
	struct gp_range *ranges = NULL;
	uint16_t *use = NULL;
	bool ok = false;

	*cfg = (struct gp_cfg){ 0 };
	if (!find_funcs(cfg, prog, tail, verdict) || !find_leaders(cfg, prog, tail, leader, verdict) ||
	    !order_calls(cfg, prog, verdict))
		goto out;
	find_ends(cfg, prog);
	make_blocks(cfg, prog, leader);
	link_blocks(cfg, prog);
	ranges = g_new0(struct gp_range, cfg->num_blocks);
	for (uint32_t f = 0; f < cfg->num_funcs; f++) {
		walk(cfg, &cfg->funcs[f]);
		find_dominators(cfg, cfg->funcs[f].first_order, cfg->num_rpo);
		number_dominated(cfg, cfg->funcs[f].first_order, cfg->num_rpo, ranges);
	}
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		if (cfg->blocks[b].order == GP_NO_BLOCK) {
			gp_refuse(verdict, prog, VIRTIO_GPGPU_R_UNREACHABLE, cfg->blocks[b].start,
				  "no path leads here; remove it");
			goto out;
		}
	}
	if (!check_loops(cfg, prog, ranges, verdict))
		goto out;
	use = g_new(uint16_t, 2 * (size_t)cfg->num_blocks);
	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		find_live(cfg, prog, &cfg->funcs[cfg->callee_first[f]], use, use + cfg->num_blocks);
	ok = true;
out:
	g_free(ranges);
	g_free(use);
	g_free(leader);
	g_free(tail);
	return ok;
}

void gp_cfg_free(struct gp_cfg *cfg)
{
	g_free(cfg->blocks);
	g_free(cfg->block_of);
	g_free(cfg->rpo);
	*cfg = (struct gp_cfg){ 0 };
}
