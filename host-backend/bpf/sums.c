/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums.c - finds loads of map values whose only use is to be added to (or and-ed, ...) and stored back.
 *
 * How it works: from each load that may be one, all paths are followed forwards, with the registers that hold
 * what was loaded (`same`), the one that holds it after some operations (`sum`), and those that were left behind
 * with something between (`stale`). The first addition, subtraction, or, and or xor fixes the operation. A store of
 * the sum to where it was loaded from is the other end. There may be several ends on different paths: compilers
 * load before a switch and store behind it.
 *
 * The translator then has the load yield the neutral element, lets the operations in between run as they are, so
 * that the register gathers what is to be added, and has the store be the atomic operation. What was the value
 * before (`same`) and after (`sum`) is known again behind the store, so it may be used there: `id = c->next++` is
 * one operation, too.
 *
 * What makes it sound, also where no lanes race:
 *  - nothing but those operations reads any of the registers between load and store;
 *  - nothing between may have written to that place: the value is now read at the store. No calls, no stores
 *    through pointers that may point there;
 *  - a register that is live where paths meet has come from this load on all of them;
 *  - no store ends two sums.
 * Whatever is not clear stays a load and a store.
 *
 * Ownership: the caller's, freed with gp_sums_free(). Threads: none of its own.
 */
#include <glib.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "bpf/opcodes.h"
#include "bpf/sums.h"

/* What is followed from one load; more is not worth the time, and does not happen. */
#define MAX_BLOCKS 32
#define MAX_STORES 16
#define MAX_STEPS  400

struct track {
	uint16_t same, stale;
	uint16_t based; /* registers that point at a constant distance from where the load's did */
	int8_t sum;  /* register, or -1 */
	uint8_t width;
	bool stored;  /* on this path */
	int64_t distance[11];
};

struct visit {
	uint32_t block;
	uint32_t edges; /* that came with the same track */
	struct track track;
	struct gp_state state;
};

struct site {
	struct gp_kinds *kinds;
	const struct gp_sums *sums;
	const uint32_t *edges_in; /* by block */
	uint32_t load;
	uint32_t size;
	int16_t off;  /* of the load */
	struct gp_val ptr;
	int map; /* the load's pointer is a constant place in this map's values, or -1 */
	int64_t map_off;
	int op; /* -1: none yet */
	struct {
		uint32_t insn;
		uint16_t before;
		uint8_t width;
	} stores[MAX_STORES];
	uint32_t num_stores;
	struct visit *visits;
	uint32_t num_visits;
	uint32_t steps;
};

bool gp_map_is_percpu(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

static uint16_t bit(int reg)
{
	return (uint16_t)(1u << reg);
}

static uint16_t sum_bit(const struct track *t)
{
	return t->sum >= 0 ? bit(t->sum) : 0;
}

static uint16_t tracked(const struct track *t)
{
	return t->same | t->stale | sum_bit(t);
}

/* @reg gets another value. */
static void forget(struct track *t, int reg)
{
	t->same &= (uint16_t)~bit(reg);
	t->stale &= (uint16_t)~bit(reg);
	t->based &= (uint16_t)~bit(reg);
	if (t->sum == reg)
		t->sum = -1;
}

static void set_based(struct track *t, int reg, int64_t distance)
{
	forget(t, reg);
	t->based |= bit(reg);
	t->distance[reg] = distance;
}

/* Arithmetic that involves no tracked register: only what keeps pointers in sight. */
static void plain_alu(struct track *t, const struct bpf_insn *insn)
{
	bool reg = BPF_SRC(insn->code) == BPF_X;
	int op = BPF_OP(insn->code);

	if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && !insn->off && (t->based & bit(insn->src_reg)))
		set_based(t, insn->dst_reg, t->distance[insn->src_reg]);
	else if (BPF_CLASS(insn->code) == BPF_ALU64 && !reg && (t->based & bit(insn->dst_reg)) &&
		 (op == BPF_ADD || op == BPF_SUB))
		t->distance[insn->dst_reg] += op == BPF_ADD ? insn->imm : -(int64_t)insn->imm;
	else
		forget(t, insn->dst_reg);
}

static bool track_move(const struct site *site, struct track *t, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	int from = insn->src_reg, to = insn->dst_reg;

	if (insn->off || (!wide && site->size == 8) || (t->stale & bit(from)))
		return false;
	if (t->same & bit(from)) {
		/* Narrow values are zero-extended already. */
		forget(t, to);
		t->same |= bit(to);
		return true;
	}
	t->width |= wide ? 0 : GP_SUM_32;
	if (from == to)
		return true;
	forget(t, to);
	t->stale |= bit(from);
	t->sum = (int8_t)to;
	return true;
}

/* Arithmetic on what was loaded, or with it. Return: false if this is no sum. */
static bool track_alu(struct site *site, struct track *t, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64, reg = BPF_SRC(insn->code) == BPF_X;
	bool to = tracked(t) & bit(insn->dst_reg), from = reg && (tracked(t) & bit(insn->src_reg));
	int op = BPF_OP(insn->code), value = to ? insn->dst_reg : insn->src_reg;

	if (op == BPF_MOV) {
		if (from)
			return track_move(site, t, insn);
		forget(t, insn->dst_reg);
		return true;
	}
	if (op != BPF_ADD && op != BPF_SUB && op != BPF_OR && op != BPF_AND && op != BPF_XOR)
		return false;
	if ((to && from) || (from && op == BPF_SUB) || (!wide && site->size == 8))
		return false;
	if (op == BPF_SUB)
		op = BPF_ADD;
	if (site->op >= 0 && site->op != op)
		return false;
	if (value != t->sum && (t->sum >= 0 || !(t->same & bit(value))))
		return false; /* stale, or a second sum */
	site->op = op;
	if (from) {
		if (value == t->sum)
			t->stale |= bit(value);
		t->based &= (uint16_t)~bit(insn->dst_reg);
	} else {
		t->same &= (uint16_t)~bit(insn->dst_reg);
	}
	t->sum = (int8_t)insn->dst_reg;
	t->width |= wide ? GP_SUM_64 : GP_SUM_32;
	return true;
}

static bool overlap(int64_t a, int64_t a_size, int64_t b, int64_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

/* May a write of @size bytes through @reg be to where the load was from? */
static bool may_alias(const struct site *site, const struct track *t, const struct gp_state *state,
		      const struct bpf_insn *insn)
{
	const struct gp_val *ptr = &state->reg[insn->dst_reg];

	if (t->based & bit(insn->dst_reg))
		return overlap(t->distance[insn->dst_reg] + insn->off, gp_insn_size(insn), site->off,
			       site->size);
	if (site->ptr.kind != GP_KIND_MAPVAL)
		return true;
	switch (ptr->kind) {
	case GP_KIND_STACK:
	case GP_KIND_PACKET:
	case GP_KIND_ARG:
	case GP_KIND_LOCAL:
		return false;
	case GP_KIND_MAPVAL:
		return ptr->maps & site->ptr.maps;
	default:
		return true;
	}
}

/* Is this the store that ends the sum? */
static bool is_end(const struct site *site, const struct track *t, const struct gp_state *state,
		   const struct bpf_insn *insn)
{
	const struct gp_val *val = &state->reg[insn->src_reg];

	return insn->code == (BPF_STX | BPF_MEM | BPF_SIZE(site->kinds->prog->insns[site->load].code)) &&
	       t->sum == insn->src_reg && (t->based & bit(insn->dst_reg)) &&
	       t->distance[insn->dst_reg] + insn->off == site->off && !gp_val_is_pointer(val) &&
	       !(val->kind == GP_KIND_SCALAR && val->known);
}

static bool end_sum(struct site *site, struct track *t, uint32_t i)
{
	if (site->num_stores == MAX_STORES || site->sums->at[i].role)
		return false;
	for (uint32_t n = 0; n < site->num_stores; n++)
		if (site->stores[n].insn == i)
			return false;
	site->stores[site->num_stores].insn = i;
	site->stores[site->num_stores].before = t->same;
	site->stores[site->num_stores].width = t->width;
	site->num_stores++;
	t->stored = true;
	/* Both widths took part: what the register would hold is not known, so nobody may look. */
	if (t->width == (GP_SUM_32 | GP_SUM_64) && site->size < 8)
		t->stale |= sum_bit(t);
	t->same = 0;
	t->sum = -1;
	return true;
}

/* What one instruction does to @t. Return: false if this is no sum. */
static bool track_insn(struct site *site, struct track *t, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &site->kinds->prog->insns[i];
	int class = BPF_CLASS(insn->code);
	bool store = class == BPF_ST || class == BPF_STX;
	uint16_t use, def;

	gp_insn_regs(site->kinds->cfg, site->kinds->prog, i, &use, &def);
	if ((class == BPF_ALU || class == BPF_ALU64) && BPF_OP(insn->code) != BPF_END &&
	    BPF_OP(insn->code) != BPF_NEG) {
		if (!((use | def) & tracked(t))) {
			plain_alu(t, insn);
			return true;
		}
		if (t->stored && (use & tracked(t)))
			return false;
		return track_alu(site, t, insn);
	}
	if (!t->stored && store && is_end(site, t, state, insn) && !(tracked(t) & bit(insn->dst_reg)))
		return end_sum(site, t, i);
	if (use & tracked(t))
		return false;
	if (!t->stored && gp_opcodes[insn->code].flags & GP_OP_CALL)
		return false;
	if (!t->stored && store &&
	    (may_alias(site, t, state, insn) ||
	     (BPF_MODE(insn->code) == BPF_ATOMIC && insn->imm & BPF_FETCH)))
		return false;
	for (int r = 0; r < 10; r++)
		if (def & bit(r))
			forget(t, r);
	if (gp_insn_is_ld_imm64(insn) && insn->src_reg == GP_LD_MAP_VALUE && insn->imm == site->map)
		set_based(t, insn->dst_reg, (int64_t)(uint32_t)insn[1].imm - site->map_off);
	return true;
}

static bool over(const struct track *t)
{
	return !tracked(t);
}

static bool same_track(const struct track *a, const struct track *b)
{
	if (a->same != b->same || a->sum != b->sum || a->width != b->width || a->based != b->based)
		return false;
	for (int r = 0; r < 11; r++)
		if ((a->based & bit(r)) && a->distance[r] != b->distance[r])
			return false;
	return true;
}

/* Goes on in block @to. Return: false if this is no sum. */
static bool track_edge(struct site *site, struct track t, const struct gp_state *state, uint32_t to)
{
	uint16_t live = site->kinds->cfg->blocks[to].live_in | bit(10);
	struct visit *v;

	if (t.stale & live)
		return false;
	t.stale = 0;
	t.same &= live;
	t.based &= live;
	if (t.sum >= 0 && !(live & bit(t.sum)))
		t.sum = -1;
	if (over(&t) || t.stored)
		return true;
	for (uint32_t n = 0; n < site->num_visits; n++) {
		v = &site->visits[n];
		if (v->block != to)
			continue;
		v->edges++;
		return same_track(&v->track, &t);
	}
	if (site->num_visits == MAX_BLOCKS)
		return false;
	v = &site->visits[site->num_visits++];
	v->block = to;
	v->edges = 1;
	v->track = t;
	v->state = site->kinds->entry[to];
	return true;
}

/* From instruction @i of block @b to where nothing is left to follow. */
static bool track_block(struct site *site, uint32_t b, uint32_t i, struct track t, struct gp_state *state)
{
	const struct gp_block *block = &site->kinds->cfg->blocks[b];
	const struct gp_prog *prog = site->kinds->prog;

	for (; i < block->end; i += 1 + (uint32_t)gp_insn_is_ld_imm64(&prog->insns[i])) {
		if (site->steps++ == MAX_STEPS || !track_insn(site, &t, state, i))
			return false;
		if (over(&t))
			return true;
		if (gp_insn_is_exit(&prog->insns[i]))
			return true;
		if (!gp_kinds_goes_on(site->kinds, i))
			return true;
		gp_kinds_step(site->kinds, state, i);
	}
	for (int e = 0; e < 2; e++)
		if (block->succ[e] != GP_NO_BLOCK && !track_edge(site, t, state, block->succ[e]))
			return false;
	return true;
}

/* Follows all paths from the load. Return: whether it is a sum. */
static bool track_site(struct site *site, uint32_t b, const struct track *start, const struct gp_state *state)
{
	struct gp_state s = *state;

	gp_kinds_step(site->kinds, &s, site->load);
	if (!track_block(site, b, site->load + 1, *start, &s))
		return false;
	for (uint32_t n = 0; n < site->num_visits; n++) {
		struct visit *v = &site->visits[n];

		if (!track_block(site, v->block, site->kinds->cfg->blocks[v->block].start, v->track,
				 &v->state))
			return false;
	}
	/* Nobody else comes there. */
	for (uint32_t n = 0; n < site->num_visits; n++)
		if (site->visits[n].edges != site->edges_in[site->visits[n].block])
			return false;
	return site->num_stores > 0;
}

/* Is what the load is from shared between lanes, and not ordinary memory of this one? */
static bool may_be_shared(const struct gp_kinds *kinds, const struct gp_val *ptr)
{
	const struct gp_prog *prog = kinds->prog;

	/* A load may find the context there, which a sum has no form for. */
	if (ptr->kind == GP_KIND_ANY)
		return !kinds->ctx_lost;
	if (ptr->kind != GP_KIND_MAPVAL)
		return false;
	for (uint32_t m = 0; m < prog->num_maps; m++)
		if ((ptr->maps & 1ull << m) && !gp_map_is_percpu(prog->maps[m].type))
			return true;
	return false;
}

/* Registers that hold the address of a constant place in a map's values, in one block. */
struct places {
	int map[11]; /* -1: none */
	int64_t off[11];
};

static void note_place(struct places *p, const struct gp_kinds *kinds, uint32_t i)
{
	const struct bpf_insn *insn = &kinds->prog->insns[i];
	uint16_t use, def;

	gp_insn_regs(kinds->cfg, kinds->prog, i, &use, &def);
	for (int r = 0; r < 10; r++)
		if (def & bit(r))
			p->map[r] = -1;
	if (!gp_insn_is_ld_imm64(insn) || insn->src_reg != GP_LD_MAP_VALUE)
		return;
	p->map[insn->dst_reg] = insn->imm;
	p->off[insn->dst_reg] = (uint32_t)insn[1].imm;
}

static void start_track(const struct site *site, const struct places *p, const struct bpf_insn *load,
			struct track *t)
{
	*t = (struct track){ .sum = -1, .same = bit(load->dst_reg) };
	for (int r = 0; site->map >= 0 && r < 10; r++)
		if (p->map[r] == site->map)
			set_based(t, r, p->off[r] - site->map_off);
	set_based(t, load->src_reg, 0);
	t->based &= (uint16_t)~bit(load->dst_reg);
	t->same = bit(load->dst_reg);
}

static void take(struct gp_sums *sums, const struct site *site)
{
	sums->at[site->load] = (struct gp_sum){ .role = GP_SUM_LOAD, .op = (uint8_t)site->op };
	for (uint32_t n = 0; n < site->num_stores; n++)
		sums->at[site->stores[n].insn] = (struct gp_sum){
			.role = GP_SUM_STORE,
			.op = (uint8_t)site->op,
			.width = site->stores[n].width,
			.before = site->stores[n].before,
		};
	sums->found += site->num_stores;
}

static void look_at(struct gp_sums *sums, struct site *site, const struct places *p, uint32_t b, uint32_t i,
		    const struct gp_state *state)
{
	const struct bpf_insn *insn = &site->kinds->prog->insns[i];
	struct track start;

	if (BPF_CLASS(insn->code) != BPF_LDX || BPF_MODE(insn->code) != BPF_MEM ||
	    !may_be_shared(site->kinds, &state->reg[insn->src_reg]))
		return;
	site->load = i;
	site->size = gp_insn_size(insn);
	site->off = insn->off;
	site->ptr = state->reg[insn->src_reg];
	site->map = p->map[insn->src_reg];
	site->map_off = p->off[insn->src_reg];
	site->op = -1;
	site->num_stores = site->num_visits = site->steps = 0;
	start_track(site, p, insn, &start);
	if (track_site(site, b, &start, state))
		take(sums, site);
}

static uint32_t *count_edges(const struct gp_kinds *kinds)
{
	const struct gp_cfg *cfg = kinds->cfg;
	uint32_t *in = g_new0(uint32_t, cfg->num_blocks);

	for (uint32_t f = 0; f < cfg->num_funcs; f++)
		in[cfg->funcs[f].first_block]++; /* the call */
	for (uint32_t b = 0; b < cfg->num_blocks; b++)
		for (int e = 0; kinds->reached[b] && e < 2; e++)
			if (cfg->blocks[b].succ[e] != GP_NO_BLOCK)
				in[cfg->blocks[b].succ[e]]++;
	return in;
}

void gp_sums_find(struct gp_sums *sums, struct gp_kinds *kinds, uint32_t flags)
{
	const struct gp_cfg *cfg = kinds->cfg;
	struct site site = { .kinds = kinds, .sums = sums };
	uint32_t *edges_in;

	*sums = (struct gp_sums){ .at = g_new0(struct gp_sum, kinds->prog->num_insns) };
	if (flags & GP_PROG_ALONE)
		return;
	site.edges_in = edges_in = count_edges(kinds);
	site.visits = g_new(struct visit, MAX_BLOCKS);
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		struct gp_state state = kinds->entry[b];
		struct places places;

		if (!kinds->reached[b])
			continue;
		memset(places.map, 0xff, sizeof(places.map));
		memset(places.off, 0, sizeof(places.off));
		for (uint32_t i = cfg->blocks[b].start; i < cfg->blocks[b].end; i++) {
			const struct bpf_insn *insn = &kinds->prog->insns[i];

			look_at(sums, &site, &places, b, i, &state);
			if (!gp_kinds_goes_on(kinds, i))
				break;
			gp_kinds_step(kinds, &state, i);
			note_place(&places, kinds, i);
			i += (uint32_t)gp_insn_is_ld_imm64(insn);
		}
	}
	g_free(site.visits);
	g_free(edges_in);
}

void gp_sums_free(struct gp_sums *sums)
{
	g_free(sums->at);
	*sums = (struct gp_sums){ 0 };
}

static void count_stores(struct gp_kinds *kinds, const struct gp_sums *sums, struct gp_sums_info *info)
{
	const struct gp_prog *prog = kinds->prog;

	for (uint32_t b = 0; b < kinds->cfg->num_blocks; b++) {
		struct gp_state state = kinds->entry[b];

		for (uint32_t i = kinds->cfg->blocks[b].start;
		     kinds->reached[b] && i < kinds->cfg->blocks[b].end; i++) {
			const struct bpf_insn *insn = &prog->insns[i];
			int class = BPF_CLASS(insn->code);

			if ((class == BPF_ST || class == BPF_STX) && BPF_MODE(insn->code) == BPF_MEM &&
			    sums->at[i].role == GP_SUM_NONE &&
			    may_be_shared(kinds, &state.reg[insn->dst_reg]) && !info->others++)
				info->first_other = i;
			if (!gp_kinds_goes_on(kinds, i))
				break;
			gp_kinds_step(kinds, &state, i);
			i += (uint32_t)gp_insn_is_ld_imm64(insn);
		}
	}
	info->sums = sums->found;
}

bool gp_sums_of(const struct gp_prog *prog, struct gp_sums_info *info)
{
	struct gp_sums sums = { 0 };
	struct gp_kinds kinds = { 0 };
	struct gp_verdict verdict;
	struct gp_cfg cfg = { 0 };
	bool ok;

	*info = (struct gp_sums_info){ 0 };
	if (!gp_validate(prog, &verdict))
		return false;
	ok = gp_cfg_build(&cfg, prog, &verdict) && gp_kinds_analyse(&kinds, prog, &cfg, &verdict);
	if (ok) {
		gp_sums_find(&sums, &kinds, 0);
		count_stores(&kinds, &sums, info);
	}
	gp_sums_free(&sums);
	gp_kinds_free(&kinds);
	gp_cfg_free(&cfg);
	return ok;
}
