/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uniform.c - do all work items of a group get to each of the group's calls together?
 *
 * A barrier that some items of a group never reach is a group that waits for ever, on devices that run the items at the same
 * time, and nonsense on those that do not. So a call of the group may only lie where control flow is uniform: whether it is
 * reached does not depend on anything that may differ from one item of the group to another.
 *
 * How it works. A value differs if it comes from an item's number, from memory (but for the arguments), from an
 * atomic operation, from a function of the program, or from another value that differs. It is uniform if it comes from
 * arguments, constants, sizes, group numbers, or from a broadcast or reduction. A conditional jump on a value that differs makes
 * everything between it and where its paths have joined again for certain (its immediate post-dominator) `split`: there
 * nothing of the group may be called, and what is written there differs, since other items may come by
 * without having written it. Both grow together until nothing changes. An exit on one path means that the paths join only at
 * the end; so does a loop whose turns differ.
 *
 * Stack slots that compilers spill to count like registers: those that no pointer reaches (frames.c). All other
 * memory is an item's own.
 *
 * Each item also is checked when it runs (rt/groups.c), so that a mistake here ends items and nothing else.
 *
 * Only the main function may call for the group. Compilers inline what they are asked to.
 */
#include <glib.h>
#include <string.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "bpf/kinds.h"
#include "bpf/opcodes.h"
#include "bpf/uniform.h"

#define MAX_ROUNDS 100

struct gp_uniform {
	struct gp_kinds *kinds;
	const struct gp_prog *prog;
	const struct gp_cfg *cfg;
	uint32_t blocks; /* of the main function: 0 .. blocks - 1; `blocks` stands for the end */
	const bool *rows; /* or NULL; see gp_uniform_rows() */
	struct gp_causes *entry; /* by block */
	bool *reached;
	uint32_t *split; /* by block: 1 + the jump that not all items take alike, or 0 */
	uint32_t *branch; /* by block: why its jump differs, or 0 */
	uint32_t *join; /* by block: immediate post-dominator */
	uint32_t *seen, *todo; /* by block */
	uint32_t turn; /* of what `seen` says */
	bool changed;
};

/* ------------------------------------------------------------ where paths join */

struct tree {
	uint32_t *first, *pred; /* predecessors of b: pred[first[b] .. first[b + 1]) */
	uint32_t *order; /* by block: position in a post-order from the end; the end's is the highest */
	uint32_t *list; /* blocks in that order */
	bool *root; /* it leads to the end at once, or to nowhere */
	uint32_t count;
};

static bool leaves(const struct gp_uniform *u, uint32_t b)
{
	return u->cfg->blocks[b].succ[0] == GP_NO_BLOCK && u->cfg->blocks[b].succ[1] == GP_NO_BLOCK;
}

static void find_preds(const struct gp_uniform *u, struct tree *t)
{
	uint32_t *at = g_new0(uint32_t, u->blocks + 1);

	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t b = 0; b < u->blocks; b++) {
			for (int e = 0; e < 2; e++) {
				uint32_t to = u->cfg->blocks[b].succ[e];

				if (to == GP_NO_BLOCK)
					continue;
				if (fill)
					t->pred[at[to]++] = b;
				else
					t->first[to + 1]++;
			}
		}
		if (fill)
			break;
		for (uint32_t b = 0; b < u->blocks; b++) {
			t->first[b + 1] += t->first[b];
			at[b] = t->first[b];
		}
	}
	g_free(at);
}

/* Depth-first backwards from @root. @next: by block, the predecessor to look at next. */
static void walk_back(struct gp_uniform *u, struct tree *t, uint32_t root, uint32_t *next)
{
	uint32_t depth = 0;

	t->root[root] = true;
	u->seen[root] = u->turn;
	u->todo[depth++] = root;
	while (depth) {
		uint32_t b = u->todo[depth - 1];

		if (next[b] == t->first[b + 1]) {
			t->order[b] = t->count;
			t->list[t->count++] = b;
			depth--;
			continue;
		}
		b = t->pred[next[b]++];
		if (u->seen[b] == u->turn)
			continue;
		u->seen[b] = u->turn;
		u->todo[depth++] = b;
	}
}

static uint32_t common(const struct gp_uniform *u, const struct tree *t, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (t->order[a] < t->order[b])
			a = u->join[a];
		while (t->order[b] < t->order[a])
			b = u->join[b];
	}
	return a;
}

/* Return: false if that takes too long. Loops without an end count as if they might end where they begin. */
static bool find_joins(struct gp_uniform *u)
{
	struct tree t = {
		.first = g_new0(uint32_t, u->blocks + 2),
		.pred = g_new0(uint32_t, 2 * (size_t)u->blocks),
		.order = g_new0(uint32_t, u->blocks + 1),
		.list = g_new0(uint32_t, u->blocks + 1),
		.root = g_new0(bool, u->blocks + 1),
	};
	uint32_t *next = g_new0(uint32_t, u->blocks + 1), rounds = 0;
	bool changed = true;

	find_preds(u, &t);
	memcpy(next, t.first, u->blocks * sizeof(*next));
	u->turn++;
	for (uint32_t b = 0; b < u->blocks; b++)
		if (leaves(u, b))
			walk_back(u, &t, b, next);
	for (uint32_t i = 0; i < u->blocks; i++)
		if (u->seen[u->cfg->rpo[u->cfg->funcs[0].first_order + i]] != u->turn)
			walk_back(u, &t, u->cfg->rpo[u->cfg->funcs[0].first_order + i], next);
	t.order[u->blocks] = t.count;
	u->join[u->blocks] = u->blocks;
	while (changed && ++rounds < MAX_ROUNDS) {
		changed = false;
		for (uint32_t i = t.count; i-- > 0;) {
			uint32_t b = t.list[i], to = t.root[b] ? u->blocks : GP_NO_BLOCK;

			for (int e = 0; e < 2; e++) {
				uint32_t s = u->cfg->blocks[b].succ[e];

				if (s == GP_NO_BLOCK || u->join[s] == GP_NO_BLOCK)
					continue;
				to = to == GP_NO_BLOCK ? s : common(u, &t, to, s);
			}
			changed |= to != u->join[b];
			u->join[b] = to;
		}
	}
	g_free(t.first);
	g_free(t.pred);
	g_free(t.order);
	g_free(t.list);
	g_free(t.root);
	g_free(next);
	return !changed;
}

/* ------------------------------------------------------------------ what differs */

static bool is_spilled(const struct gp_uniform *u, const struct gp_val *ptr, int64_t off, uint32_t size)
{
	return ptr->kind == GP_KIND_STACK && ptr->known && off >= -GP_STACK_FRAME &&
	       off + size <= -(int64_t)u->kinds->funcs[0].memory;
}

static uint32_t load_slots(const struct gp_causes *c, int64_t off, uint32_t size)
{
	uint32_t first = (uint32_t)(off + GP_STACK_FRAME) / 8;
	uint32_t last = (uint32_t)(off + size - 1 + GP_STACK_FRAME) / 8;

	for (uint32_t i = first; i <= last; i++)
		if (c->slot[i])
			return c->slot[i];
	return 0;
}

static void store_slots(struct gp_causes *c, int64_t off, uint32_t size, uint32_t cause)
{
	uint32_t first = (uint32_t)(off + GP_STACK_FRAME) / 8;
	uint32_t last = (uint32_t)(off + size - 1 + GP_STACK_FRAME) / 8;

	for (uint32_t i = first; i <= last; i++)
		if (cause || (size == 8 && off % 8 == 0))
			c->slot[i] = cause;
}

/* Whether the helper's result is the same for items whose arguments are. */
static bool is_pure(const struct gp_uniform *u, const struct gp_state *state, const struct gp_helper *helper)
{
	switch (helper->number) {
	case GPGPU_HELPER_global_id:
	case GPGPU_HELPER_local_id:
		/* Items of a row differ in the first dimension only. */
		if (u->rows && state->reg[1].kind == GP_KIND_SCALAR && state->reg[1].known &&
		    (uint32_t)state->reg[1].off)
			return true;
		return false;
	case GPGPU_HELPER_shuffle:
	case GPGPU_HELPER_scan:
	case GPGPU_HELPER_scan_before:
		return false;
	}
	if (helper->number < GPGPU_HELPER_FIRST || helper->ret != GP_RET_SCALAR)
		return false;
	for (int i = 0; i < GP_HELPER_ARGS && helper->args[i] != GP_ARG_NONE; i++)
		if (helper->args[i] != GP_ARG_SCALAR)
			return false;
	return true;
}

static uint32_t step_call(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t i)
{
	const struct bpf_insn *insn = &u->prog->insns[i];
	const struct gp_helper *helper;

	if (insn->src_reg == GP_CALL_LOCAL)
		return i + 1;
	helper = gp_helper_find(insn->imm);
	for (int a = 0; a < GP_HELPER_ARGS && helper->args[a] != GP_ARG_NONE; a++) {
		const struct gp_val *ptr = &state->reg[a + 1];
		int64_t bytes = gp_arg_bytes(u->kinds, state, helper, a);

		if (gp_helper_writes(helper, a) && bytes > 0 && bytes <= GP_STACK_FRAME &&
		    is_spilled(u, ptr, ptr->off, (uint32_t)bytes))
			store_slots(c, ptr->off, (uint32_t)bytes, i + 1);
	}
	if (helper->number == GPGPU_HELPER_broadcast || helper->number == GPGPU_HELPER_reduce)
		return 0;
	if (!is_pure(u, state, helper))
		return i + 1;
	for (int a = 0; a < GP_HELPER_ARGS && helper->args[a] != GP_ARG_NONE; a++)
		if (c->reg[a + 1])
			return u->rows ? i + 1 : c->reg[a + 1];
	return 0;
}

static void step_memory(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t i,
			uint32_t split)
{
	const struct bpf_insn *insn = &u->prog->insns[i];
	bool load = BPF_CLASS(insn->code) == BPF_LDX;
	int reg = load ? insn->src_reg : insn->dst_reg;
	const struct gp_val *ptr = &state->reg[reg];
	int64_t off = gp_val_at(ptr, insn->off);
	uint32_t size = gp_insn_size(insn), cause = i + 1;
	bool spilled = is_spilled(u, ptr, off, size);

	if (load) {
		if (ptr->kind == GP_KIND_CTX)
			cause = c->reg[reg];
		else if (spilled)
			cause = load_slots(c, off, size);
		else if (u->rows && !c->reg[reg])
			cause = 0; /* read once for all */
		c->reg[insn->dst_reg] = cause ? cause : split;
		return;
	}
	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC) {
		if (insn->imm == BPF_CMPXCHG)
			c->reg[0] = i + 1;
		else if (insn->imm & BPF_FETCH)
			c->reg[insn->src_reg] = i + 1;
	} else {
		cause = BPF_CLASS(insn->code) == BPF_STX ? c->reg[insn->src_reg] : 0;
		cause = cause ? cause : split;
	}
	if (spilled)
		store_slots(c, off, size, cause);
}

static void step_causes(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t i,
			uint32_t split)
{
	const struct bpf_insn *insn = &u->prog->insns[i];
	uint32_t *dst = &c->reg[insn->dst_reg];
	bool reg = BPF_SRC(insn->code) == BPF_X && BPF_OP(insn->code) != BPF_END;

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		if (BPF_OP(insn->code) == BPF_MOV)
			*dst = reg ? c->reg[insn->src_reg] : 0;
		else if (!*dst && reg)
			*dst = c->reg[insn->src_reg];
		if (!*dst)
			*dst = split;
		break;
	case BPF_LD:
		*dst = split;
		break;
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		step_memory(u, state, c, i, split);
		break;
	default:
		if (insn->code != (BPF_JMP | BPF_CALL))
			break;
		c->reg[0] = step_call(u, state, c, i);
		if (!c->reg[0])
			c->reg[0] = split;
		memset(&c->reg[1], 0, 5 * sizeof(c->reg[0]));
	}
}

/* ------------------------------------------------------- how much it differs, in rows */

/* A step that 32 bits and all that is computed of it hold. */
static int32_t fitting_step(int64_t step)
{
	return step > -(1 << 24) && step < 1 << 24 ? (int32_t)step : GP_NO_STEP;
}

static int32_t step_of_alu(const struct gp_state *state, const struct gp_causes *c,
			   const struct bpf_insn *insn)
{
	bool reg = BPF_SRC(insn->code) == BPF_X;
	int32_t a = c->step[insn->dst_reg], b = reg ? c->step[insn->src_reg] : 0;
	const struct gp_val *y = &state->reg[insn->src_reg];
	bool known = !reg || (y->kind == GP_KIND_SCALAR && y->known);
	int64_t by = reg ? y->off : insn->imm;

	if (BPF_OP(insn->code) == BPF_MOV) {
		bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

		return !insn->off && (wide || (reg && (c->number & 1u << insn->src_reg))) ? b : GP_NO_STEP;
	}
	if (BPF_CLASS(insn->code) != BPF_ALU64 || a == GP_NO_STEP || b == GP_NO_STEP)
		return GP_NO_STEP;
	switch (BPF_OP(insn->code)) {
	case BPF_ADD:
		return fitting_step((int64_t)a + b);
	case BPF_SUB:
		return fitting_step((int64_t)a - b);
	case BPF_NEG:
		return fitting_step(-(int64_t)a);
	case BPF_MUL:
		return !b && known && by > -(1 << 24) && by < 1 << 24 ? fitting_step(a * by) : GP_NO_STEP;
	case BPF_LSH:
		return !b && known && by >= 0 && by < 24 ? fitting_step(a * (1ll << by)) : GP_NO_STEP;
	default:
		return GP_NO_STEP;
	}
}

/* A word of the stack, as a whole. */
static int32_t *slot_step(const struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c,
			  const struct bpf_insn *insn)
{
	bool load = BPF_CLASS(insn->code) == BPF_LDX;
	const struct gp_val *ptr = &state->reg[load ? insn->src_reg : insn->dst_reg];
	int64_t off = gp_val_at(ptr, insn->off);

	if (!is_spilled(u, ptr, off, gp_insn_size(insn)))
		return NULL;
	return &c->slot_step[(off + GP_STACK_FRAME) / 8];
}

/* @before: as it was; @c: with all else done. */
static void step_steps(const struct gp_uniform *u, const struct gp_state *state,
		       const struct gp_causes *before, struct gp_causes *c, uint32_t i, bool split)
{
	const struct bpf_insn *insn = &u->prog->insns[i];
	int class = BPF_CLASS(insn->code), dst = insn->dst_reg;
	int32_t step = GP_NO_STEP, *slot = NULL;
	bool number = false;

	if (class == BPF_LDX || class == BPF_ST || class == BPF_STX)
		slot = slot_step(u, state, c, insn);
	if (class == BPF_ST || class == BPF_STX) {
		if (slot)
			*slot = class == BPF_STX && BPF_SIZE(insn->code) == BPF_DW && !split
					? before->step[insn->src_reg]
					: GP_NO_STEP;
		return;
	}
	if (class == BPF_JMP || class == BPF_JMP32) {
		if (insn->code != (BPF_JMP | BPF_CALL))
			return;
		dst = 0;
		number = insn->src_reg == GP_CALL_HELPER && c->reg[0] &&
			 (insn->imm == GPGPU_HELPER_global_id || insn->imm == GPGPU_HELPER_local_id) &&
			 state->reg[1].kind == GP_KIND_SCALAR && state->reg[1].known;
		if (number)
			step = 1;
	} else if (class == BPF_ALU || class == BPF_ALU64) {
		step = step_of_alu(state, before, insn);
		number = BPF_OP(insn->code) == BPF_MOV && BPF_SRC(insn->code) == BPF_X &&
			 step != GP_NO_STEP && (before->number & 1u << insn->src_reg);
	} else if (slot && BPF_SIZE(insn->code) == BPF_DW) {
		step = *slot;
	}
	if (split)
		step = GP_NO_STEP;
	c->step[dst] = c->reg[dst] ? step : 0;
	c->number = (uint16_t)((c->number & ~(1u << dst)) | (uint32_t)(number && !split) << dst);
}

static bool join_steps(struct gp_causes *to, const struct gp_causes *from, uint16_t live)
{
	bool changed = false;

	for (int r = 0; r < 10; r++) {
		if (to->step[r] == from->step[r] || to->step[r] == GP_NO_STEP || !(live & 1u << r))
			continue;
		to->step[r] = GP_NO_STEP;
		changed = true;
	}
	for (int i = 0; i < GP_SLOTS; i++) {
		if (to->slot_step[i] == from->slot_step[i] || to->slot_step[i] == GP_NO_STEP)
			continue;
		to->slot_step[i] = GP_NO_STEP;
		changed = true;
	}
	if (to->number & ~from->number & live) {
		to->number &= from->number;
		changed = true;
	}
	return changed;
}

static void step(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t i,
		 uint32_t split)
{
	struct gp_causes before;

	if (!u->rows) {
		step_causes(u, state, c, i, split);
		return;
	}
	before = *c;
	step_causes(u, state, c, i, split);
	step_steps(u, state, &before, c, i, split);
}

/* Everything from the jump at the end of @b to where its paths join. */
static void split_from(struct gp_uniform *u, uint32_t b, uint32_t jump)
{
	uint32_t count = 0;

	u->turn++;
	for (int e = 0; e < 2; e++) {
		uint32_t to = u->cfg->blocks[b].succ[e];

		if (to != GP_NO_BLOCK && to != u->join[b] && u->seen[to] != u->turn) {
			u->seen[to] = u->turn;
			u->todo[count++] = to;
		}
	}
	while (count) {
		uint32_t at = u->todo[--count];

		if (!u->split[at]) {
			u->split[at] = jump + 1;
			u->changed = true;
		}
		for (int e = 0; e < 2; e++) {
			uint32_t to = u->cfg->blocks[at].succ[e];

			if (to == GP_NO_BLOCK || to == u->join[b] || u->seen[to] == u->turn)
				continue;
			u->seen[to] = u->turn;
			u->todo[count++] = to;
		}
	}
}

/* A comparison of numbers of items that the rows' run is left at where it is mixed. */
static bool is_assumed(const struct gp_uniform *u, uint32_t b, uint32_t cause)
{
	const struct bpf_insn *insn = &u->prog->insns[cause - 1];

	return u->rows && !u->rows[b] && insn->code == (BPF_JMP | BPF_CALL) &&
	       insn->src_reg == GP_CALL_HELPER &&
	       (insn->imm == GPGPU_HELPER_global_id || insn->imm == GPGPU_HELPER_local_id);
}

static void flow(struct gp_uniform *u, const struct gp_causes *c, uint32_t to)
{
	struct gp_causes *entry = &u->entry[to];

	if (!u->reached[to]) {
		*entry = *c;
		u->reached[to] = u->changed = true;
		return;
	}
	for (int r = 0; r < 10; r++) {
		if (!entry->reg[r] && c->reg[r] && (u->cfg->blocks[to].live_in & 1u << r)) {
			entry->reg[r] = c->reg[r];
			u->changed = true;
		}
	}
	for (int i = 0; i < GP_SLOTS; i++) {
		if (!entry->slot[i] && c->slot[i]) {
			entry->slot[i] = c->slot[i];
			u->changed = true;
		}
	}
	if (u->rows)
		u->changed |= join_steps(entry, c, u->cfg->blocks[to].live_in);
}

/* Runs @b from what is known at its start. @check: called before each instruction, or NULL. Return: false if that does. */
static bool run_block(struct gp_uniform *u, uint32_t b, struct gp_verdict *verdict,
		      bool (*check)(struct gp_uniform *u, const struct gp_state *state,
				    const struct gp_causes *c, uint32_t i, struct gp_verdict *verdict))
{
	const struct gp_block *block = &u->cfg->blocks[b];
	struct gp_state state = u->kinds->entry[b];
	struct gp_causes c = u->entry[b];

	for (uint32_t i = block->start; i < block->end; i++) {
		const struct bpf_insn *insn = &u->prog->insns[i];

		if (check && !check(u, &state, &c, i, verdict))
			return false;
		if (gp_insn_is_cond_jump(insn) && !u->branch[b]) {
			uint32_t cause = c.reg[insn->dst_reg];

			if (!cause && BPF_SRC(insn->code) == BPF_X)
				cause = c.reg[insn->src_reg];
			if (cause && !is_assumed(u, b, cause)) {
				u->branch[b] = cause;
				split_from(u, b, i);
			}
		}
		if (!gp_kinds_goes_on(u->kinds, i))
			return true;
		step(u, &state, &c, i, u->split[b]);
		gp_kinds_step(u->kinds, &state, i);
		i += (uint32_t)gp_insn_is_ld_imm64(insn);
	}
	for (int e = 0; e < 2; e++)
		if (block->succ[e] != GP_NO_BLOCK)
			flow(u, &c, block->succ[e]);
	return true;
}

/* ------------------------------------------------------------------------- rules */

/* Why something differs, for a person. */
static char *say(const struct gp_uniform *u, uint32_t cause, char *buf, size_t size)
{
	uint32_t i = cause - 1;
	const struct bpf_insn *insn = &u->prog->insns[i];

	if (gp_insn_is_cond_jump(insn))
		g_snprintf(buf, size, "what was set behind the branch at instruction %u", i);
	else if (gp_insn_is_local_call(insn))
		g_snprintf(buf, size, "what the function called at instruction %u returns", i);
	else if (insn->code == (BPF_JMP | BPF_CALL))
		g_snprintf(buf, size, "%s (instruction %u)", gp_helper_find(insn->imm)->name, i);
	else
		g_snprintf(buf, size, "memory (instruction %u)", i);
	return buf;
}

static bool takes_op(int32_t number)
{
	return number >= GPGPU_HELPER_reduce;
}

static bool check_wait(struct gp_uniform *u, const struct gp_state *state, const struct gp_causes *c,
		       uint32_t i, struct gp_verdict *verdict)
{
	const struct bpf_insn *insn = &u->prog->insns[i];
	uint32_t b = u->cfg->block_of[i];
	const char *name;
	char text[80];

	if (!gp_group_is_wait(insn))
		return true;
	name = gp_helper_find(insn->imm)->name;
	if (u->split[b]) {
		uint32_t jump = u->split[b] - 1;

		return gp_refuse(verdict, u->prog, VIRTIO_GPGPU_R_DIVERGENT, i,
				 "%s is for all items of a group, and not all may get here: the branch at "
				 "instruction %u depends on %s",
				 name, jump, say(u, u->branch[u->cfg->block_of[jump]], text, sizeof(text)));
	}
	if (insn->imm == GPGPU_HELPER_broadcast && c->reg[2])
		return gp_refuse(verdict, u->prog, VIRTIO_GPGPU_R_DIVERGENT, i,
				 "r2, whose value to broadcast, differs between items: it depends on %s; "
				 "gp_shuffle takes any",
				 say(u, c->reg[2], text, sizeof(text)));
	if (takes_op(insn->imm) && (state->reg[2].kind != GP_KIND_SCALAR || !state->reg[2].known ||
				    state->reg[2].off < 0 || state->reg[2].off >= GP_NUM_OPS))
		return gp_refuse(verdict, u->prog, VIRTIO_GPGPU_R_HELPER_ARG, i,
				 "r2 is %s; %s takes a constant there, 0 to %d (enum gp_op)",
				 gp_val_print(text, sizeof(text), &state->reg[2]), name, GP_NUM_OPS - 1);
	return true;
}

/* Functions but the main one. */
static bool check_others(const struct gp_uniform *u, struct gp_verdict *verdict)
{
	for (uint32_t f = 1; f < u->cfg->num_funcs; f++) {
		const struct gp_func *func = &u->cfg->funcs[f];

		for (uint32_t i = func->start; i < func->end; i++) {
			const struct bpf_insn *insn = &u->prog->insns[i];

			if (gp_group_is_wait(insn))
				return gp_refuse(verdict, u->prog, VIRTIO_GPGPU_R_DIVERGENT, i,
						 "%s in a function of the kernel's; only the kernel itself "
						 "may call it: have the function inlined (static "
						 "__always_inline)",
						 gp_helper_find(insn->imm)->name);
			i += (uint32_t)gp_insn_is_ld_imm64(insn);
		}
	}
	return true;
}

static bool too_complicated(const struct gp_uniform *u, struct gp_verdict *verdict)
{
	return gp_refuse(verdict, u->prog, VIRTIO_GPGPU_R_COMPILE_LIMIT, 0,
			 "too many branches to follow what differs between work items; split the program");
}

static bool find(struct gp_uniform *u)
{
	uint32_t rounds = 0;

	if (!find_joins(u))
		return false;
	u->reached[0] = true;
	do {
		u->changed = false;
		if (++rounds > MAX_ROUNDS)
			return false;
		for (uint32_t i = 0; i < u->blocks; i++) {
			uint32_t b = u->cfg->rpo[u->cfg->funcs[0].first_order + i];

			if (u->reached[b] && u->kinds->reached[b])
				run_block(u, b, NULL, NULL);
		}
	} while (u->changed);
	return true;
}

static bool solve(struct gp_uniform *u, struct gp_verdict *verdict)
{
	if (!find(u))
		return too_complicated(u, verdict);
	for (uint32_t b = 0; b < u->blocks; b++)
		if (u->reached[b] && u->kinds->reached[b] && !run_block(u, b, verdict, check_wait))
			return false;
	return true;
}

static void make(struct gp_uniform *u, struct gp_kinds *kinds)
{
	u->kinds = kinds;
	u->prog = kinds->prog;
	u->cfg = kinds->cfg;
	u->blocks = u->cfg->funcs[0].num_blocks;
	u->entry = g_new0(struct gp_causes, u->blocks);
	u->reached = g_new0(bool, u->blocks);
	u->split = g_new0(uint32_t, u->blocks);
	u->branch = g_new0(uint32_t, u->blocks);
	u->join = g_new(uint32_t, u->blocks + 1);
	memset(u->join, 0xff, (u->blocks + 1) * sizeof(*u->join)); /* GP_NO_BLOCK */
	u->seen = g_new0(uint32_t, u->blocks);
	u->todo = g_new0(uint32_t, u->blocks);
}

static void unmake(struct gp_uniform *u)
{
	g_free(u->entry);
	g_free(u->reached);
	g_free(u->split);
	g_free(u->branch);
	g_free(u->join);
	g_free(u->seen);
	g_free(u->todo);
}

bool gp_uniform_check(struct gp_kinds *kinds, struct gp_verdict *verdict)
{
	struct gp_uniform u = { .kinds = kinds, .prog = kinds->prog, .cfg = kinds->cfg };
	struct gp_group_needs needs;
	bool ok;

	gp_group_find(u.prog->insns, u.prog->num_insns, &needs);
	if (!needs.waits)
		return true;
	if (!check_others(&u, verdict))
		return false;
	make(&u, kinds);
	ok = solve(&u, verdict);
	unmake(&u);
	return ok;
}

/* ------------------------------------------------------------------------ rows */

struct gp_uniform *gp_uniform_rows(struct gp_kinds *kinds, const bool *stored)
{
	struct gp_uniform *u = g_new0(struct gp_uniform, 1);

	make(u, kinds);
	u->rows = stored;
	if (find(u))
		return u;
	gp_uniform_free(u);
	return NULL;
}

void gp_uniform_free(struct gp_uniform *u)
{
	if (u)
		unmake(u);
	g_free(u);
}

bool gp_uniform_is_split(const struct gp_uniform *u, uint32_t b)
{
	return u->split[b];
}

const struct gp_causes *gp_uniform_entry(const struct gp_uniform *u, uint32_t b)
{
	return &u->entry[b];
}

void gp_uniform_step(struct gp_uniform *u, const struct gp_state *state, struct gp_causes *c, uint32_t insn)
{
	step(u, state, c, insn, u->split[u->cfg->block_of[insn]]);
}
