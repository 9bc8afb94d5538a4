/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simd.c - the loop around a kernel that runs as vectors (jit/simd.h), and what is done lane by lane there.
 *
 * gp_simd() runs GP_SIMD items that are neighbours in a row of the grid, or of a group a phase of them (groups_loop.h). Where it leaves them alone, and at the end of a row,
 * they run one by one. A kernel that leaves most of its runs alone is not asked any more.
 *
 * What is called lane by lane takes vectors in memory, GP_SIMD words each, and is no part of the program: compiled for the
 * processor. So is floating point that is not one operation (lanes.h).
 */
#define GP_VECTORS
#include "groups_loop.h"
#include "loops.h"
#include "mem.h"
#include "rt.h"

#define GP_TRIES 64 /* runs that the first verdict is about */
#define GP_RUNS	 64 /* between two looks at whether to stop */

GP_ALWAYS void gp_at(struct gp_lane *lane, const struct gp_lane *at)
{
	int d;

	for (d = 0; d < 3; d++) {
		lane->gid[d] = at->gid[d];
		lane->lid[d] = at->lid[d];
		lane->grp[d] = at->grp[d];
	}
}

GP_ALWAYS void gp_row_step(struct gp_lane *at, const struct gp_grid *grid, uint32_t items)
{
	at->gid[0] += items;
	at->lid[0] += items;
	if (at->lid[0] >= grid->group[0]) {
		at->grp[0] += at->lid[0] / grid->group[0];
		at->lid[0] %= grid->group[0];
	}
}

GP_ALWAYS void gp_one_fault(struct gp_faults *faults, uint64_t item, uint32_t reason, uint32_t insn)
{
	if (!faults->count++ || item < faults->first) {
		faults->first = item;
		faults->reason = reason;
		faults->insn = insn;
	}
}

/* As many runs as a row has, up to GP_RUNS; ends at one that is left alone. Return: items that ran. */
GP_ALWAYS uint32_t gp_run_row(const struct gp_lane *first, struct gp_lane *at, uint64_t items, uint64_t item,
			      struct gp_faults *faults)
{
	uint32_t left = items < GP_RUNS * GP_SIMD ? (uint32_t)items : GP_RUNS * GP_SIMD, ran = 0;

	for (; left - ran >= GP_SIMD; ran += GP_SIMD) {
		struct gp_lane lane = *first;

		gp_at(&lane, at);
		if (gp_unlikely(!gp_simd(&lane, faults, item + ran)))
			break;
		gp_row_step(at, lane.grid, GP_SIMD);
	}
	return ran;
}

uint64_t gp_entry_simd(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
		       uint64_t first, uint64_t count, struct gp_faults *faults)
{
	uint64_t i = 0, fuel = gp_first_portion(env->fuel), tries = 0, left = 0, items;
	uint32_t ran, alone = 0; /* items that run one by one */
	const struct gp_lane begin = {
		.env = env, .thread = thread, .fuel = fuel, .reserve = env->fuel - fuel, .grid = grid
	};
	struct gp_lane at = { .env = env };

	gp_grid_place(&at, grid, first);
	while (i < count && gp_stop_value(env) == GP_STOP_NONE) {
		items = grid->size[0] - at.gid[0];
		items = items < count - i ? items : count - i;
		ran = 0;
		if (!alone && items >= GP_SIMD && (tries < GP_TRIES || left < tries / 2)) {
			ran = gp_run_row(&begin, &at, items, first + i, faults);
			tries += ran ? ran / GP_SIMD : 1;
			if (!ran) {
				left++;
				alone = GP_SIMD;
			}
		}
		if (!ran) {
			struct gp_lane lane = begin;

			gp_at(&lane, &at);
			gp_prog(&lane);
			gp_lane_end(&lane);
			if (gp_unlikely(lane.fault))
				gp_one_fault(faults, first + i, gp_fault_reason(lane.fault),
					     gp_fault_insn(lane.fault));
			gp_row_step(&at, grid, 1);
			alone -= alone != 0;
			ran = 1;
		}
		i += ran;
		if (at.gid[0] >= grid->size[0])
			gp_grid_place(&at, grid, first + i);
	}
	return i;
}

void gp_simd_fault(struct gp_faults *faults, uint64_t item, uint32_t lanes, uint32_t reason, uint32_t insn)
{
	uint32_t i;

	for (i = 0; i < GP_SIMD; i++)
		if (lanes >> i & 1)
			gp_one_fault(faults, item + i, reason, insn);
}

uint64_t gp_entry_groups_simd(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			      uint64_t first, uint64_t count, struct gp_faults *faults)
{
	return gp_run_groups(env, thread, grid, first, count, faults);
}

void gp_simd_group_fault(struct gp_group *group, uint64_t item, uint32_t lanes, uint32_t reason,
			 uint32_t insn)
{
	uint32_t i;

	for (i = 0; i < GP_SIMD; i++) {
		if (!(lanes >> i & 1))
			continue;
		group->fault[item + i] = reason;
		group->fault_insn[item + i] = insn;
	}
}

/* ---------------------------------------------------------------------- accesses */

/* Masks the offset against speculation. Return: whether it is within the region. */
GP_ALWAYS bool gp_simd_within(uint64_t len, uint64_t *off, uint32_t size)
{
	if (*off > len || len - *off < size)
		return false;
	*off &= gp_if_room(len - size - *off);
	return true;
}

/* Of one size, so that a loop over lanes has no other branches. */
#define GP_SIMD_ACCESS(bits)                                                                       \
	static uint32_t gp_simd_load##bits(const uint8_t *base, uint64_t len, const uint64_t *off, \
					   uint32_t lanes, uint64_t *value)                        \
	{                                                                                          \
		uint32_t i, bad = 0;                                                               \
                                                                                                   \
		for (i = 0; i < GP_SIMD; i++) {                                                    \
			uint64_t at = off[i];                                                      \
			uint##bits##_t v = 0;                                                      \
                                                                                                   \
			if (lanes >> i & 1) {                                                      \
				if (gp_likely(gp_simd_within(len, &at, sizeof(v))))                \
					memcpy(&v, base + at, sizeof(v));                          \
				else                                                               \
					bad |= 1u << i;                                            \
			}                                                                          \
			value[i] = v;                                                              \
		}                                                                                  \
		return bad;                                                                        \
	}                                                                                          \
                                                                                                   \
	static uint32_t gp_simd_store##bits(uint8_t *base, uint64_t len, const uint64_t *off,      \
					    uint32_t lanes, const uint64_t *value)                 \
	{                                                                                          \
		uint32_t i, bad = 0;                                                               \
                                                                                                   \
		for (i = 0; i < GP_SIMD; i++) {                                                    \
			uint64_t at = off[i];                                                      \
			uint##bits##_t v = (uint##bits##_t)value[i];                               \
                                                                                                   \
			if (!(lanes >> i & 1))                                                     \
				continue;                                                          \
			if (gp_likely(gp_simd_within(len, &at, sizeof(v))))                        \
				memcpy(base + at, &v, sizeof(v));                                  \
			else                                                                       \
				bad |= 1u << i;                                                    \
		}                                                                                  \
		return bad;                                                                        \
	}

GP_SIMD_ACCESS(8)
GP_SIMD_ACCESS(16)
GP_SIMD_ACCESS(32)
GP_SIMD_ACCESS(64)

uint32_t gp_simd_load(const uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes, uint64_t *value,
		      uint32_t size)
{
	if (size == 8)
		return gp_simd_load64(base, len, off, lanes, value);
	if (size == 4)
		return gp_simd_load32(base, len, off, lanes, value);
	if (size == 2)
		return gp_simd_load16(base, len, off, lanes, value);
	return gp_simd_load8(base, len, off, lanes, value);
}

uint32_t gp_simd_store(uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes,
		       const uint64_t *value, uint32_t size)
{
	if (size == 8)
		return gp_simd_store64(base, len, off, lanes, value);
	if (size == 4)
		return gp_simd_store32(base, len, off, lanes, value);
	if (size == 2)
		return gp_simd_store16(base, len, off, lanes, value);
	return gp_simd_store8(base, len, off, lanes, value);
}

uint32_t gp_simd_store_all(uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes,
			   const uint64_t *value, uint32_t size)
{
	uint32_t i, bad = 0;

	for (i = 0; i < GP_SIMD; i++)
		if ((lanes >> i & 1) && (off[i] > len || len - off[i] < size))
			bad |= 1u << i;
	return bad ? bad : gp_simd_store(base, len, off, lanes, value, size);
}
