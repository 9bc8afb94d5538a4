/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd_plan.c - which programs become vectors, and in what order their blocks run.
 *
 * Parts. Split blocks that edges connect, or that the same branch leads to, are a part: it is entered with all lanes and
 * left, for one block, when none waits in it any more.
 */
#include <stdlib.h>
#include <string.h>
#include <gpgpu_bpf.h>
#include <virtio_gpgpu.h>
#include "bpf/groups.h"
#include "bpf/opcodes.h"
#include "bpf/sums.h"
#include "jit/simd.h"

/* A copy of a large program takes LLVM long, and registers would not last. */
#define MAX_INSNS 1500

static bool is_memory(const struct bpf_insn *insn)
{
	int class = BPF_CLASS(insn->code);

	return class == BPF_LDX || class == BPF_ST || class == BPF_STX;
}

/* An access to the stack: to a word as a whole, or always to the same part of it. */
static bool plan_slot(struct gp_simd *simd, int64_t off, uint32_t size)
{
	uint32_t at = (uint32_t)(off + GP_STACK_FRAME), slot = at / 8;

	if (off < -GP_STACK_FRAME || off + size > 0 || (at + size - 1) / 8 != slot)
		return false;
	if (simd->slot_size[slot])
		return simd->slot_size[slot] == size && simd->slot_off[slot] == at % 8;
	simd->slot_size[slot] = (uint8_t)size;
	simd->slot_off[slot] = (uint8_t)(at % 8);
	return true;
}

static bool plan_memory(struct gp_tr *tr, struct gp_simd *simd, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &tr->prog->insns[i];
	bool load = BPF_CLASS(insn->code) == BPF_LDX;
	const struct gp_val *ptr = &state->reg[load ? insn->src_reg : insn->dst_reg];
	const struct gp_val *value = &state->reg[insn->src_reg];

	if (tr->sums.at[i].role != GP_SUM_NONE || gp_may_be_ctx(tr->kinds, ptr))
		return false;
	if (!load && BPF_MODE(insn->code) != BPF_MEM)
		return false;
	switch (ptr->kind) {
	case GP_KIND_CTX:
		return load;
	case GP_KIND_STACK:
		return ptr->known && plan_slot(simd, ptr->off + insn->off, gp_insn_size(insn));
	case GP_KIND_MAPVAL:
		if (gp_val_one_map(ptr) < 0 || gp_map_is_percpu(tr->prog->maps[gp_val_one_map(ptr)].type))
			return false;
		break;
	case GP_KIND_ARG:
	case GP_KIND_LOCAL:
		break;
	default:
		return false;
	}
	return load || BPF_CLASS(insn->code) == BPF_ST || !gp_val_is_pointer(value);
}

static bool plan_insn(struct gp_tr *tr, struct gp_simd *simd, const struct gp_state *state, uint32_t i)
{
	const struct bpf_insn *insn = &tr->prog->insns[i];

	if (is_memory(insn))
		return plan_memory(tr, simd, state, i);
	if (insn->code == (BPF_JMP | BPF_CALL)) {
		if (insn->src_reg != GP_CALL_HELPER || !gp_simd_knows(tr, state, insn))
			return false;
		simd->in_group |= insn->imm == GPGPU_HELPER_local_id || insn->imm == GPGPU_HELPER_group_id;
	}
	return true;
}

/* Registers that mean something else behind an edge are not for vectors. */
static bool plan_edges(const struct gp_tr *tr, const struct gp_state *state, uint32_t b)
{
	for (int e = 0; e < 2; e++) {
		uint32_t to = tr->cfg->blocks[b].succ[e];

		if (to == GP_NO_BLOCK)
			continue;
		for (int r = 0; r < 10; r++)
			if ((tr->cfg->blocks[to].live_in & 1u << r) &&
			    tr->kinds->entry[to].reg[r].kind != GP_KIND_UNINIT &&
			    gp_val_region(&tr->kinds->entry[to].reg[r]) != gp_val_region(&state->reg[r]))
				return false;
	}
	return true;
}

/* Also notes which blocks store. */
static bool plan_block(struct gp_tr *tr, struct gp_simd *simd, uint32_t b)
{
	struct gp_state state = tr->kinds->entry[b];

	for (uint32_t i = tr->cfg->blocks[b].start; i < tr->cfg->blocks[b].end; i++) {
		const struct bpf_insn *insn = &tr->prog->insns[i];

		if (!plan_insn(tr, simd, &state, i))
			return false;
		if (gp_group_is_wait(insn)) {
			simd->waits[b] = true;
			simd->stored[b] = false;
		}
		if (is_memory(insn) && BPF_CLASS(insn->code) != BPF_LDX &&
		    state.reg[insn->dst_reg].kind != GP_KIND_STACK)
			simd->stored[b] = true;
		gp_kinds_step(tr->kinds, &state, i);
		i += (uint32_t)gp_insn_is_ld_imm64(insn);
	}
	return plan_edges(tr, &state, b);
}

static void follow_stores(const struct gp_tr *tr, struct gp_simd *simd, uint32_t blocks)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < blocks; b++) {
			simd->stored[b] |= simd->stored_in[b] && !simd->waits[b];
			for (int e = 0; e < 2; e++) {
				uint32_t to = tr->cfg->blocks[b].succ[e];

				if (to == GP_NO_BLOCK || !simd->stored[b] || simd->stored_in[to])
					continue;
				simd->stored_in[to] = changed = true;
			}
		}
	}
}

/* ------------------------------------------------------------------------- parts */

static uint32_t find_part(uint32_t *up, uint32_t b)
{
	while (up[b] != b)
		b = up[b] = up[up[b]];
	return b;
}

static void connect(const struct gp_tr *tr, struct gp_simd *simd, uint32_t blocks, uint32_t *up)
{
	for (uint32_t b = 0; b < blocks; b++)
		up[b] = b;
	for (uint32_t b = 0; b < blocks; b++) {
		const uint32_t *succ = tr->cfg->blocks[b].succ;
		bool split[2];

		if (!tr->kinds->reached[b])
			continue;
		for (int e = 0; e < 2; e++) {
			split[e] = succ[e] != GP_NO_BLOCK && gp_uniform_is_split(simd->uniform, succ[e]);
			if (split[e] && gp_uniform_is_split(simd->uniform, b))
				up[find_part(up, b)] = find_part(up, succ[e]);
		}
		if (split[0] && split[1])
			up[find_part(up, succ[0])] = find_part(up, succ[1]);
	}
}

/* Where a part's lanes go must be one block. */
static bool find_exits(const struct gp_tr *tr, struct gp_simd *simd, uint32_t blocks)
{
	for (uint32_t b = 0; b < blocks; b++) {
		uint32_t *to = &simd->part_exit[simd->part[b]];

		for (int e = 0; e < 2 && simd->part[b] && tr->kinds->reached[b]; e++) {
			uint32_t succ = tr->cfg->blocks[b].succ[e];

			if (succ == GP_NO_BLOCK || simd->part[succ] == simd->part[b])
				continue;
			if (simd->part[succ] || (*to != GP_NO_BLOCK && *to != succ))
				return false;
			*to = succ;
		}
	}
	return true;
}

/* A program's fuel must be known exactly where it cannot begin anew. */
static bool fuel_is_exact(const struct gp_tr *tr, const struct gp_simd *simd, uint32_t blocks)
{
	bool split_loop = false, stored_loop = false;

	for (uint32_t b = 0; b < blocks; b++) {
		const struct gp_block *block = &tr->cfg->blocks[b];

		for (int e = 0; e < 2; e++) {
			if (!(block->back & 1u << e))
				continue;
			split_loop |= simd->part[block->succ[e]] != 0;
			stored_loop |= simd->stored[b];
		}
	}
	/* Items of a group keep what they have left for the next phase. */
	return !split_loop || !(stored_loop || tr->grouped);
}

static bool find_parts(const struct gp_tr *tr, struct gp_simd *simd, uint32_t blocks)
{
	uint32_t *up = calloc(blocks, sizeof(*up));

	if (!up)
		return false;
	connect(tr, simd, blocks, up);
	for (uint32_t b = 0; b < blocks; b++)
		simd->part[b] = gp_uniform_is_split(simd->uniform, b) ? 1 + find_part(up, b) : 0;
	free(up);
	memset(simd->part_exit, 0xff, (blocks + 1) * sizeof(*simd->part_exit)); /* GP_NO_BLOCK */
	return find_exits(tr, simd, blocks) && fuel_is_exact(tr, simd, blocks);
}

bool gp_simd_plan(struct gp_tr *tr, struct gp_simd *simd)
{
	uint32_t blocks = tr->cfg->funcs[0].num_blocks;

	if (tr->gpu || tr->prog->kind != VIRTIO_GPGPU_PROG_GPGPU || tr->cfg->num_funcs != 1 ||
	    (tr->prog->flags & (GP_PROG_QUICK | GP_PROG_INTERLEAVE)) || tr->prog->num_insns > MAX_INSNS ||
	    tr->kinds->funcs[0].memory || tr->kinds->ctx_lost)
		return false;
	simd->stored = calloc(blocks, sizeof(*simd->stored));
	simd->stored_in = calloc(blocks, sizeof(*simd->stored_in));
	simd->waits = calloc(blocks, sizeof(*simd->waits));
	simd->part = calloc(blocks, sizeof(*simd->part));
	simd->part_exit = calloc(blocks + 1, sizeof(*simd->part_exit));
	if (!simd->stored || !simd->stored_in || !simd->waits || !simd->part || !simd->part_exit)
		return false;
	for (uint32_t b = 0; b < blocks; b++)
		if (tr->kinds->reached[b] && !plan_block(tr, simd, b))
			return false;
	follow_stores(tr, simd, blocks);
	simd->uniform = gp_uniform_rows(tr->kinds, simd->stored);
	return simd->uniform && find_parts(tr, simd, blocks);
}
