/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops.c - the loops around a program: an image's entry points.
 *
 * The program inlines into gp_entry_xdp() or gp_entry_grid(), the lane is taken apart into registers, and
 * what is left is one loop without calls. The next packets' first lines are fetched ahead, since a batch is
 * larger than the caches that hold one packet.
 *
 * Every lane starts with its own fuel and no fault; a fault ends that lane only, and discards the records that it
 * has left reserved. A tail call ends it in the same way (tail.c). A stop asked for by
 * the engine is seen between any two lanes, and by a lane that needs more fuel (fuel.h). Natively this is for tests, which bring a gp_prog() of their own.
 */
#include "fuel.h"
#include "loops.h"
#include "mem.h"
#include "rt.h"

#define GP_PREFETCH_AHEAD 4 /* packets */

GP_ALWAYS void gp_note_fault(struct gp_faults *faults, const struct gp_lane *lane, uint64_t item)
{
	if (!faults->count++) {
		faults->first = item;
		faults->reason = gp_fault_reason(lane->fault);
		faults->insn = gp_fault_insn(lane->fault);
	}
}

uint64_t gp_entry_xdp(const struct gp_env *env, struct gp_thread *thread, const struct gp_packet_in *in,
		      struct gp_packet_out *out, uint64_t first, uint64_t count, struct gp_faults *faults)
{
	uint64_t i, end = first + count, stride = env->stride;
	uint64_t fuel = gp_first_portion(env->fuel), reserve = env->fuel - fuel;
	uint8_t *slots = env->slots;

	for (i = first; i < end && gp_stop_value(env) == GP_STOP_NONE; i++) {
		struct gp_lane lane = {
			.env = env,
			.thread = thread,
			.base = slots + i * stride,
			.data_off = in[i].data_off,
			.data_end = in[i].data_off + in[i].data_len,
			.meta_off = in[i].data_off - in[i].meta_len,
			.ingress = in[i].ingress_port,
			.rx_queue = in[i].rx_queue,
			.fuel = fuel,
			.reserve = reserve,
		};

		if (end - i > GP_PREFETCH_AHEAD)
			__builtin_prefetch(slots + (i + GP_PREFETCH_AHEAD) * stride +
						   in[i + GP_PREFETCH_AHEAD].data_off,
					   1, 3);
		gp_end_packet(&lane, &out[i], gp_prog(&lane));
		gp_lane_end(&lane);
		if (gp_unlikely(lane.fault && lane.fault != gp_fault(GP_FAULT_TAIL, 0)))
			gp_note_fault(faults, &lane, i);
	}
	return i - first;
}

/* One step along x. Return: false at the end of a row. */
GP_ALWAYS bool gp_grid_step(struct gp_lane *at, const struct gp_grid *grid)
{
	at->gid[0]++;
	if (++at->lid[0] == grid->group[0]) {
		at->lid[0] = 0;
		at->grp[0]++;
	}
	return at->gid[0] < grid->size[0];
}

uint64_t gp_entry_grid(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
		       uint64_t first, uint64_t count, struct gp_faults *faults)
{
	uint64_t i, fuel = gp_first_portion(env->fuel), reserve = env->fuel - fuel;
	struct gp_lane at = { .env = env };

	gp_grid_place(&at, grid, first);
	for (i = 0; i < count && gp_stop_value(env) == GP_STOP_NONE; i++) {
		struct gp_lane lane = {
			.env = env,
			.thread = thread,
			.fuel = fuel,
			.reserve = reserve,
			.gid = { at.gid[0], at.gid[1], at.gid[2] },
			.lid = { at.lid[0], at.lid[1], at.lid[2] },
			.grp = { at.grp[0], at.grp[1], at.grp[2] },
			.grid = grid,
		};

		gp_prog(&lane);
		gp_lane_end(&lane);
		if (gp_unlikely(lane.fault))
			gp_note_fault(faults, &lane, first + i);
		if (!gp_grid_step(&at, grid))
			gp_grid_place(&at, grid, first + i + 1);
	}
	return i;
}
