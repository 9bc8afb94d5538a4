/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuel.c - how much fuel a turn of a loop and a call of a function cost.
 *
 * How it works: fuel bounds time, so what burns it must be as expensive as what it pays for. Each instruction has
 * a weight, about its time in simple instructions. A back edge pays for the loop's body: the blocks from which
 * it is reached without passing the loop's head. A call pays for the function's blocks, once. Inner loops and
 * calls pay for themselves again each time, so a call counts like a simple instruction where it is made.
 * What is outside of any loop runs once per item and is free. 64 of weight are a unit, rounded down, and one unit
 * is always due: a small loop costs what it costs to count.
 *
 * All of it is known when the program is compiled, so a burn stays a subtraction of a constant. What depends on
 * data (bytes copied, chains walked) is charged by the helpers (rt/fuel.h).
 */
#include <stdlib.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/opcodes.h"
#include "jit/translate.h"

#define WEIGHT_PER_UNIT	    64
#define WEIGHT_ATOMIC	    8
#define WEIGHT_SMALL_HELPER 8 /* a few instructions: floating point, ids, random numbers */
#define WEIGHT_HELPER	    64 /* with memory, a map or the packet */
#define BYTES_PER_WEIGHT    8
#define SHORT_LPM_KEY	    (4 + 16) /* up to an IPv6 address: few nodes */

/* Bytes of the largest key or value that a map argument may have. */
static uint64_t map_bytes(const struct gp_tr *tr, const struct gp_val *map, bool key)
{
	uint64_t max = 0;

	for (uint32_t m = 0; m < tr->prog->num_maps; m++) {
		const struct gp_map_desc *desc = &tr->prog->maps[m];
		bool inner = map->kind == GP_KIND_INNER;
		uint64_t size = key ? desc->key_size : desc->value_size;

		if (inner)
			size = key ? desc->inner.key_size : desc->inner.value_size;
		if ((!gp_val_is_map(map) || (map->maps & 1ull << m)) && size > max)
			max = size;
	}
	return max;
}

static uint64_t helper_weight(const struct gp_tr *tr, const struct gp_state *state,
			      const struct gp_helper *helper)
{
	uint64_t bytes = 0;
	bool small = true;

	for (int i = 0; i < GP_HELPER_ARGS && helper->args[i] != GP_ARG_NONE; i++) {
		const struct gp_val *val = &state->reg[i + 1];

		if (helper->args[i] != GP_ARG_SCALAR)
			small = false;
		if (helper->args[i] == GP_ARG_KEY || helper->args[i] == GP_ARG_VALUE ||
		    helper->args[i] == GP_ARG_VALUE_OUT)
			bytes += map_bytes(tr, &state->reg[gp_helper_map_reg(helper)],
					   helper->args[i] == GP_ARG_KEY);
		else if (helper->args[i] == GP_ARG_SIZE && val->known && val->off > 0 &&
			 val->off <= UINT32_MAX)
			bytes += (uint64_t)val->off;
	}
	return (small ? WEIGHT_SMALL_HELPER : WEIGHT_HELPER) + bytes / BYTES_PER_WEIGHT;
}

static uint64_t insn_weight(const struct gp_tr *tr, const struct gp_state *state, const struct bpf_insn *insn)
{
	const struct gp_helper *helper;

	if (BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC)
		return WEIGHT_ATOMIC;
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != GP_CALL_HELPER)
		return 1;
	helper = gp_helper_find(insn->imm);
	return helper ? helper_weight(tr, state, helper) : 1;
}

static uint64_t block_weight(const struct gp_tr *tr, uint32_t b)
{
	struct gp_state state = tr->kinds->entry[b];
	uint64_t weight = 0;

	if (!tr->kinds->reached[b])
		return 0;
	for (uint32_t i = tr->cfg->blocks[b].start; i < tr->cfg->blocks[b].end; i++) {
		weight += insn_weight(tr, &state, &tr->prog->insns[i]);
		if (!gp_tr_returns(tr, i))
			break;
		gp_kinds_step(tr->kinds, &state, i);
		i += gp_insn_is_ld_imm64(&tr->prog->insns[i]);
	}
	return weight;
}

/* Where each block is reached from: pred[first[b] .. first[b + 1]). */
struct preds {
	uint32_t *first, *pred;
};

static bool find_preds(const struct gp_cfg *cfg, struct preds *preds)
{
	uint32_t *at = calloc(cfg->num_blocks + 1, sizeof(*at));

	preds->first = calloc(cfg->num_blocks + 2, sizeof(*preds->first));
	preds->pred = calloc(2 * (size_t)cfg->num_blocks, sizeof(*preds->pred));
	if (!at || !preds->first || !preds->pred) {
		free(at);
		return false;
	}
	for (uint32_t b = 0; b < cfg->num_blocks; b++)
		for (int e = 0; e < 2; e++)
			if (cfg->blocks[b].succ[e] != GP_NO_BLOCK)
				preds->first[cfg->blocks[b].succ[e] + 1]++;
	for (uint32_t b = 0; b < cfg->num_blocks; b++) {
		preds->first[b + 1] += preds->first[b];
		at[b] = preds->first[b];
	}
	for (uint32_t b = 0; b < cfg->num_blocks; b++)
		for (int e = 0; e < 2; e++)
			if (cfg->blocks[b].succ[e] != GP_NO_BLOCK)
				preds->pred[at[cfg->blocks[b].succ[e]]++] = b;
	free(at);
	return true;
}

/*
 * Weight of the loop with this head, or 0 where it is none: from the sources of its back edges backwards. All edges
 * of a loop are taken together, since the program chooses which it goes through. @seen: by block, the last
 * head + 1 that came there; @todo: room for every block.
 */
static uint64_t loop_weight(const struct gp_cfg *cfg, const struct preds *preds, const uint64_t *weight,
			    uint32_t head, uint32_t *seen, uint32_t *todo)
{
	uint64_t sum = weight[head];
	uint32_t count = 0;
	bool loop = false;

	seen[head] = head + 1;
	for (uint32_t p = preds->first[head]; p < preds->first[head + 1]; p++) {
		uint32_t from = preds->pred[p];
		const struct gp_block *block = &cfg->blocks[from];

		for (int e = 0; e < 2; e++) {
			if (block->succ[e] != head || !(block->back & 1u << e))
				continue;
			loop = true;
			if (seen[from] != head + 1) {
				seen[from] = head + 1;
				todo[count++] = from;
			}
		}
	}
	while (count) {
		uint32_t b = todo[--count];

		sum += weight[b];
		for (uint32_t p = preds->first[b]; p < preds->first[b + 1]; p++) {
			uint32_t from = preds->pred[p];

			if (seen[from] == head + 1)
				continue;
			seen[from] = head + 1;
			todo[count++] = from;
		}
	}
	return loop ? sum : 0;
}

bool gp_tr_weigh(struct gp_tr *tr)
{
	const struct gp_cfg *cfg = tr->cfg;
	uint64_t *weight = calloc(cfg->num_blocks, sizeof(*weight));
	uint32_t *scratch = calloc(2 * (size_t)cfg->num_blocks, sizeof(*scratch));
	struct preds preds = { 0 };
	bool ok;

	tr->loop_cost = calloc(cfg->num_blocks, sizeof(*tr->loop_cost));
	ok = weight && scratch && tr->loop_cost && find_preds(cfg, &preds);
	for (uint32_t b = 0; ok && b < cfg->num_blocks; b++) {
		weight[b] = block_weight(tr, b);
		tr->func_cost[cfg->blocks[b].func] += weight[b];
	}
	for (uint32_t f = 0; ok && f < cfg->num_funcs; f++)
		tr->func_cost[f] = 1 + tr->func_cost[f] / WEIGHT_PER_UNIT;
	for (uint32_t b = 0; ok && b < cfg->num_blocks; b++)
		tr->loop_cost[b] =
			1 + loop_weight(cfg, &preds, weight, b, scratch, scratch + cfg->num_blocks) /
				    WEIGHT_PER_UNIT;
	free(weight);
	free(scratch);
	free(preds.first);
	free(preds.pred);
	return ok;
}

bool gp_tr_slow_helper(const struct gp_tr *tr, const struct gp_helper *helper, const struct gp_val *map)
{
	int m = map->kind == GP_KIND_MAPPTR ? gp_val_one_map(map) : -1;

	if (helper->args[0] == GP_ARG_PLACE32 || helper->args[0] == GP_ARG_PLACE64)
		return true; /* others may keep it from its turn */
	if (!gp_helper_map_reg(helper))
		return helper->number == BPF_FUNC_trace_printk || helper->number == BPF_FUNC_fib_lookup ||
		       helper->number == BPF_FUNC_strncmp || helper->number == GPGPU_HELPER_fmod32 ||
		       helper->number == GPGPU_HELPER_fmod64;
	if (helper->number == BPF_FUNC_tail_call)
		return false;
	if (helper->number == BPF_FUNC_redirect_map)
		return m < 0 || tr->prog->maps[m].type == VIRTIO_GPGPU_MAP_DEVMAP_HASH;
	if (helper->ret != GP_RET_VALUE || m < 0) /* an update, a delete, any map */
		return true;
	return tr->prog->maps[m].type == VIRTIO_GPGPU_MAP_LPM_TRIE &&
	       tr->prog->maps[m].key_size > SHORT_LPM_KEY;
}
