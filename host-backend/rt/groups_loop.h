/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups_loop.h - the loop around a group program (groups.c says how it works), once for items one by one and once, with
 * GP_VECTORS defined, for kernels that run as vectors as well (simd.c).
 */
#ifndef GPGPU_RT_GROUPS_LOOP_H
#define GPGPU_RT_GROUPS_LOOP_H

#include "fuel.h"
#include "mem.h"
#include "rt.h"
#include "virtio_gpgpu.h"

/* The group that runs: where it is. */
struct gp_place {
	uint32_t grp[3];
	uint32_t items;
	uint64_t fuel, reserve;
};

GP_ALWAYS void gp_begin_group(struct gp_group *group, const struct gp_place *at)
{
	uint32_t i;

	for (i = 0; i < at->items; i++) {
		group->fuel[i] = at->fuel;
		group->reserve[i] = at->reserve;
		group->fault[i] = 0;
		group->fault_insn[i] = 0;
	}
}

/* What all items that are still there have come to; first to come says what. */
struct gp_meeting {
	uint32_t next, what, op;
	bool set;
};

GP_ALWAYS void gp_meet(struct gp_meeting *meeting, struct gp_lane *lane)
{
	if (lane->fault)
		return;
	if (!meeting->set)
		*meeting = (struct gp_meeting){ lane->next, lane->what, lane->op, true };
	else if (gp_unlikely(lane->next != meeting->next))
		lane->fault = gp_fault(VIRTIO_GPGPU_R_DIVERGENT, 0);
}

GP_ALWAYS struct gp_lane gp_group_lane(const struct gp_env *env, struct gp_thread *thread,
				       const struct gp_grid *grid, const struct gp_place *at, uint32_t phase,
				       const uint32_t *lid, uint32_t item)
{
	struct gp_group *group = thread->group;
	struct gp_lane lane = {
		.env = env,
		.thread = thread,
		.base = thread->local,
		.data_end = (uint32_t)env->local_bytes,
		.fuel = group->fuel[item],
		.reserve = group->reserve[item],
		.fault = gp_fault(group->fault[item], group->fault_insn[item]),
		.gid = { at->grp[0] * grid->group[0] + lid[0], at->grp[1] * grid->group[1] + lid[1],
			 at->grp[2] * grid->group[2] + lid[2] },
		.lid = { lid[0], lid[1], lid[2] },
		.grp = { at->grp[0], at->grp[1], at->grp[2] },
		.grid = grid,
		.item = item,
		.phase = phase,
		.next = GP_PHASE_END,
	};

	return lane;
}

#ifdef GP_VECTORS
/* Whether the items from @first on are all still there, with the same fuel. */
GP_ALWAYS bool gp_alike(const struct gp_group *group, uint32_t first)
{
	uint64_t differ = 0;
	uint32_t i;

	for (i = first; i < first + GP_SIMD; i++)
		differ |= group->fault[i] | (group->fuel[i] ^ group->fuel[first]) |
			  (group->reserve[i] ^ group->reserve[first]);
	return !differ;
}

/* A phase of GP_SIMD neighbours. Return: false where nothing has happened. */
GP_ALWAYS bool gp_run_vector(struct gp_lane *lane, struct gp_meeting *meeting)
{
	struct gp_group *group = lane->thread->group;
	bool all_gone = true;
	uint32_t i;

	if (!gp_alike(group, lane->item) || !gp_simd(lane, NULL, lane->item))
		return false;
	for (i = lane->item; i < lane->item + GP_SIMD; i++) {
		group->fuel[i] = lane->fuel;
		group->reserve[i] = lane->reserve;
		all_gone &= group->fault[i] != 0;
	}
	if (gp_likely(!all_gone))
		gp_meet(meeting, lane);
	if (gp_unlikely(lane->fault)) /* as gp_meet() has found */
		for (i = lane->item; i < lane->item + GP_SIMD; i++)
			group->fault[i] = group->fault[i] ? group->fault[i] : gp_fault_reason(lane->fault);
	return true;
}
#endif

/* One loop over the items that are still there. */
GP_ALWAYS struct gp_meeting gp_run_phase(const struct gp_env *env, struct gp_thread *thread,
					 const struct gp_grid *grid, const struct gp_place *at,
					 uint32_t phase)
{
	struct gp_meeting meeting = { GP_PHASE_END, 0, 0, false };
	struct gp_group *group = thread->group;
	uint32_t lid[3] = { 0 }, i, done;
#ifdef GP_VECTORS
	uint32_t alone = 0; /* items from here on that run one by one */
#endif

	for (i = 0; i < at->items; i += done) {
		struct gp_lane lane = gp_group_lane(env, thread, grid, at, phase, lid, i);

		done = 1;
#ifdef GP_VECTORS
		if (!alone && grid->group[0] - lid[0] >= GP_SIMD) {
			struct gp_lane first = lane;

			if (gp_run_vector(&first, &meeting))
				done = GP_SIMD;
			else
				alone = GP_SIMD;
		}
		alone -= alone != 0;
#endif
		if (done == 1 && gp_likely(!lane.fault)) {
			gp_prog(&lane);
			gp_lane_end(&lane);
			gp_meet(&meeting, &lane);
			group->fuel[i] = lane.fuel;
			group->reserve[i] = lane.reserve;
			group->fault[i] = gp_fault_reason(lane.fault);
			group->fault_insn[i] = gp_fault_insn(lane.fault);
		}
		lid[0] += done;
		if (lid[0] == grid->group[0]) {
			lid[0] = 0;
			if (++lid[1] == grid->group[1]) {
				lid[1] = 0;
				lid[2]++;
			}
		}
	}
	return meeting;
}

GP_ALWAYS uint64_t gp_run_groups(const struct gp_env *env, struct gp_thread *thread,
				 const struct gp_grid *grid, uint64_t first, uint64_t count,
				 struct gp_faults *faults)
{
	uint32_t groups[2] = { grid->size[0] / grid->group[0], grid->size[1] / grid->group[1] };
	struct gp_place at = { .items = grid->group[0] * grid->group[1] * grid->group[2] };
	struct gp_meeting meeting;
	uint64_t n, number;
	uint32_t phase;

	at.fuel = gp_first_portion(env->fuel);
	at.reserve = env->fuel - at.fuel;
	for (n = 0; n < count && gp_stop_value(env) == GP_STOP_NONE; n++) {
		number = first + n;
		at.grp[0] = (uint32_t)(number % groups[0]);
		at.grp[1] = (uint32_t)(number / groups[0] % groups[1]);
		at.grp[2] = (uint32_t)(number / groups[0] / groups[1]);
		gp_begin_group(thread->group, &at);
		memset(thread->local, 0, env->local_bytes);
		for (phase = 0; phase != GP_PHASE_END; phase = meeting.next) {
			meeting = gp_run_phase(env, thread, grid, &at, phase);
			if (meeting.set && meeting.what)
				gp_group_combine(thread->group, at.items, meeting.what, meeting.op);
		}
		gp_group_faults(thread->group, grid, at.grp, at.items, faults);
	}
	return n;
}

#endif
