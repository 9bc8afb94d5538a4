/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slots.h - packets that travel to a GPU and back in company.
 *
 * How it works: packets lie in the host's memory, and a lane that reads a few bytes of its own packet at a time asks the bus
 * for each of them. So where slots are small the lanes of a warp first move all of their slots together, in pieces of 16
 * bytes that lie one behind the other, to memory of the work group's. The program runs on the copy: a lane's base is
 * there, and offsets are what they are. Behind the program the slots that were written to go back, likewise.
 *
 * A slot is moved up to the packet's end (what a program may reach begins at the slot's start), or all of it where the
 * program may make the packet longer. Copies lie a word further apart than they are long, so that lanes which read the
 * same field read from different banks.
 *
 * Where slots are larger, and where a lane has several packets one after the other (launch.parts), a program runs on
 * the packets where they are; and so it does on AMD's GPUs, whose lanes are as many more as that costs.
 */
#ifndef GPGPU_RT_SLOTS_H
#define GPGPU_RT_SLOTS_H

#include "launch.h"
#include "mem.h"
#include "rt.h"

#if defined(__NVPTX__)

#include "jit/ptx_targets.h"

#define GP_SLOT_MAX   128 /* bytes of a slot that is moved; a power of two */
#define GP_SLOT_PIECE 16
#define GP_SLOT_WORDS (GP_SLOT_MAX / 4 + 1)
#define GP_SLOT_AHEAD 4 /* pieces that a lane asks for before it waits for the first */
#define GP_WHOLE_WARP 0xffffffffu

typedef uint32_t gp_piece __attribute__((vector_size(GP_SLOT_PIECE)));
typedef __attribute__((address_space(1))) gp_piece gp_piece_there;
typedef __attribute__((address_space(3))) uint32_t gp_word_here;

static __attribute__((loader_uninitialized)) gp_word_here gp_slot_words[GP_PTX_MAX_GROUP * GP_SLOT_WORDS];

/* One lane's. */
struct gp_slot {
	uint64_t at;
	uint32_t pieces; /* that are moved; 0: none */
};

/* Whether this launch's slots are moved: the same for all lanes. */
GP_ALWAYS bool gp_slots_move(const struct gp_launch *launch)
{
	return !launch->parts && launch->env.stride <= GP_SLOT_MAX;
}

GP_ALWAYS gp_word_here *gp_slot_words_of(uint32_t thread)
{
	return gp_slot_words + thread * GP_SLOT_WORDS;
}

/* Where the copy of this lane's slot is. */
GP_ALWAYS uint8_t *gp_slot_here(void)
{
	return (uint8_t *)gp_slot_words_of(__nvvm_read_ptx_sreg_tid_x());
}

GP_ALWAYS uint32_t gp_of_lane(uint32_t value, uint32_t lane)
{
	return (uint32_t)__nvvm_shfl_sync_idx_i32(GP_WHOLE_WARP, (int)value, (int)lane, 31);
}

/* What one lane moves in one turn. */
struct gp_move {
	gp_piece_there *there;
	gp_word_here *here;
	bool moves;
};

/* @each: log2 of the pieces of a slot. Lanes side by side move pieces side by side. */
GP_ALWAYS struct gp_move gp_slots_turn(const struct gp_slot *slot, uint32_t each, uint32_t turn)
{
	uint32_t me = __nvvm_read_ptx_sreg_laneid(), first = __nvvm_read_ptx_sreg_tid_x() - me;
	uint32_t k = turn * GP_PTX_WAVE + me, whose = k >> each, piece = k & ((1u << each) - 1);
	uint64_t at = (uint64_t)gp_of_lane((uint32_t)(slot->at >> 32), whose) << 32 |
		      gp_of_lane((uint32_t)slot->at, whose);

	return (struct gp_move){
		.there = (gp_piece_there *)(at + piece * GP_SLOT_PIECE),
		.here = gp_slot_words_of(first + whose) + piece * (GP_SLOT_PIECE / 4),
		.moves = piece < gp_of_lane(slot->pieces, whose),
	};
}

/* All lanes of the warp, whether they have a slot or not. */
GP_ALWAYS void gp_slots_pass(const struct gp_launch *launch, const struct gp_slot *slot, bool back)
{
	uint32_t each = launch->env.stride > GP_SLOT_MAX / 2 ? 3 : 2, turn, i, w;

	for (turn = 0; turn < 1u << each; turn += GP_SLOT_AHEAD) {
		struct gp_move move[GP_SLOT_AHEAD];
		gp_piece piece[GP_SLOT_AHEAD];

#pragma unroll
		for (i = 0; i < GP_SLOT_AHEAD; i++) {
			move[i] = gp_slots_turn(slot, each, turn + i);
			if (!move[i].moves)
				continue;
			if (!back)
				piece[i] = *move[i].there;
			else
				for (w = 0; w < GP_SLOT_PIECE / 4; w++)
					piece[i][w] = move[i].here[w];
		}
#pragma unroll
		for (i = 0; i < GP_SLOT_AHEAD; i++) {
			if (!move[i].moves)
				continue;
			if (back)
				*move[i].there = piece[i];
			else
				for (w = 0; w < GP_SLOT_PIECE / 4; w++)
					move[i].here[w] = piece[i][w];
		}
	}
}

/* gp_slots_in() - fetch. @n: this lane's packet, if it has one. All lanes of the warp come here, where gp_slots_move(). */
GP_ALWAYS struct gp_slot gp_slots_in(const struct gp_launch *launch, bool has_one, uint64_t n)
{
	struct gp_slot slot = { 0 };

	if (has_one) {
		uint64_t stride = launch->env.stride;
		uint64_t end = gp_prog_grows() ? stride
					       : (uint64_t)launch->in[n].data_off + launch->in[n].data_len;

		slot.at = (uintptr_t)launch->env.slots + n * stride;
		slot.pieces = (uint32_t)(((end < stride ? end : stride) + GP_SLOT_PIECE - 1) / GP_SLOT_PIECE);
	}
	gp_slots_pass(launch, &slot, false);
	__nvvm_bar_warp_sync(GP_WHOLE_WARP);
	return slot;
}

/* gp_slots_out() - bring back what was @written to. As gp_slots_in(). */
GP_ALWAYS void gp_slots_out(const struct gp_launch *launch, struct gp_slot slot, bool written)
{
	if (!written)
		slot.pieces = 0;
	if (!__nvvm_vote_any_sync(GP_WHOLE_WARP, written))
		return;
	__nvvm_bar_warp_sync(GP_WHOLE_WARP); /* a vote says nothing of memory */
	gp_slots_pass(launch, &slot, true);
}

/* gp_written() - the lane's packet is not what it was. */
GP_ALWAYS void gp_written(struct gp_lane *lane)
{
	lane->written = 1;
}

#else

struct gp_slot {
	char none;
};

GP_ALWAYS bool gp_slots_move(const struct gp_launch *launch)
{
	return false;
}

GP_ALWAYS uint8_t *gp_slot_here(void)
{
	return NULL;
}

GP_ALWAYS struct gp_slot gp_slots_in(const struct gp_launch *launch, bool has_one, uint64_t n)
{
	return (struct gp_slot){ 0 };
}

GP_ALWAYS void gp_slots_out(const struct gp_launch *launch, struct gp_slot slot, bool written)
{
}

GP_ALWAYS void gp_written(struct gp_lane *lane)
{
}

#endif

#endif
