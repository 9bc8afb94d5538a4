/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * groups.c - the loop around a program whose work items wait for each other, and what they exchange.
 *
 * How it works: a group runs in phases. A phase is one loop over the group's items; each runs from where it
 * waited last to where it waits next (or ends), and leaves what it still needs in rows of struct gp_group, item by item. After
 * the loop every item has come to the same call of the group: the validator has proved it (bpf/uniform.c), and an item that
 * came elsewhere all the same ends with R_DIVERGENT. Then the call is carried out for all of them at once and the
 * next phase begins. There are no threads, fibers or locks in it, and nothing to wait for: an item that faults is
 * left out of the phases that follow, so it holds nobody up. jit/phases.c makes the program one that can go on at
 * each call.
 *
 * What reductions and scans come to is the same on every device, floats too, since the order is fixed. With n items, numbered x
 * fastest, padded with neutral values to a power of two:
 *	reduce	for s = half of that, .. 2, 1: v[i] = op(v[i], v[i + s]) for all i < s
 *	scan	for d = 1, 2, 4, ..: v[i] = op(v[i - d], v[i]) for all i >= d, at once
 * An item that faulted gives the neutral value.
 *
 * Each item has its own fuel, so a loop with a barrier in it ends when the items' fuel does. Local memory is
 * zeroed before each group. A stop is seen between two groups, and by an item that needs more fuel.
 *
 * Owner of struct gp_group and of local memory: the thread that runs the group (engine), one group at a time.
 */
#include <gpgpu_bpf.h>
#include "groups_loop.h"
#include "mem.h"
#include "rt.h"
#include "virtio_gpgpu.h"

GP_RT uint32_t gp_rt_phase(struct gp_lane *lane)
{
	return lane->phase;
}

GP_RT uint8_t *gp_rt_group_stack(struct gp_lane *lane, uint64_t bytes)
{
	uint8_t *stack = lane->thread->group->stack + lane->item * bytes;

	if (!lane->phase)
		memset(stack, 0, bytes);
	return stack;
}

GP_RT uint64_t *gp_rt_group_row(struct gp_lane *lane, uint32_t row)
{
	return &lane->thread->group->saved[row][lane->item];
}

GP_RT uint32_t gp_rt_group_busy(struct gp_lane *lane)
{
	uint32_t i, busy = 0;

	for (i = 0; i < GP_LANE_RECORDS; i++)
		busy |= lane->open_map[i] != NULL;
	return busy;
}

GP_RT void gp_rt_group_wait(struct gp_lane *lane, uint32_t next, uint32_t what, uint64_t value,
			    uint64_t second)
{
	struct gp_group *group = lane->thread->group;

	lane->next = next;
	lane->what = what;
	lane->op = (uint32_t)second;
	if (what == GPGPU_HELPER_barrier)
		return;
	group->value[lane->item] = value;
	if (what == GPGPU_HELPER_broadcast || what == GPGPU_HELPER_shuffle)
		group->from[lane->item] = second;
}

GP_RT uint64_t *gp_rt_group_values(struct gp_lane *lane)
{
	return &lane->thread->group->value[lane->item];
}

GP_RT uint64_t *gp_rt_group_from(struct gp_lane *lane)
{
	return &lane->thread->group->from[lane->item];
}

GP_RT struct gp_group *gp_rt_group(struct gp_lane *lane)
{
	return lane->thread->group;
}

GP_RT uint64_t gp_rt_group_result(struct gp_lane *lane)
{
	return lane->thread->group->value[lane->item];
}

/* ------------------------------------------------------------------- operations */

GP_ALWAYS uint64_t gp_add32(uint64_t a, uint64_t b)
{
	uint32_t x = (uint32_t)a, y = (uint32_t)b;
	float f, g;

	memcpy(&f, &x, sizeof(f));
	memcpy(&g, &y, sizeof(g));
	f += g;
	memcpy(&x, &f, sizeof(x));
	return x;
}

GP_ALWAYS uint64_t gp_add64(uint64_t a, uint64_t b)
{
	double f, g;

	memcpy(&f, &a, sizeof(f));
	memcpy(&g, &b, sizeof(g));
	f += g;
	memcpy(&a, &f, sizeof(a));
	return a;
}

#define GP_NAN32 0x7fc00000u
#define GP_NAN64 0x7ff8000000000000ull
#define GP_INF32 0x7f800000u
#define GP_INF64 0x7ff0000000000000ull
#define GP_NEG32 0x80000000u
#define GP_NEG64 0x8000000000000000ull

/*
 * X(op, what it does, its neutral value, what scan_before gives to the first item). Minus zero and NaN are what changes
 * no float at all.
 */
#define GP_OPS(X)                                                                              \
	X(GP_ADD, a + b, 0, 0)                                                                 \
	X(GP_MIN_U, a < b ? a : b, UINT64_MAX, UINT64_MAX)                                     \
	X(GP_MAX_U, a > b ? a : b, 0, 0)                                                       \
	X(GP_MIN_S, (int64_t)a < (int64_t)b ? a : b, INT64_MAX, INT64_MAX)                     \
	X(GP_MAX_S, (int64_t)a > (int64_t)b ? a : b, (uint64_t)INT64_MIN, (uint64_t)INT64_MIN) \
	X(GP_AND, a &b, UINT64_MAX, UINT64_MAX)                                                \
	X(GP_OR, a | b, 0, 0)                                                                  \
	X(GP_XOR, a ^ b, 0, 0)                                                                 \
	X(GP_FADD32, gp_add32(a, b), GP_NEG32, 0)                                              \
	X(GP_FMIN32, gp_helper_fmin32(NULL, a, b), GP_NAN32, GP_INF32)                         \
	X(GP_FMAX32, gp_helper_fmax32(NULL, a, b), GP_NAN32, GP_NEG32 | GP_INF32)              \
	X(GP_FADD64, gp_add64(a, b), GP_NEG64, 0)                                              \
	X(GP_FMIN64, gp_helper_fmin64(NULL, a, b), GP_NAN64, GP_INF64)                         \
	X(GP_FMAX64, gp_helper_fmax64(NULL, a, b), GP_NAN64, GP_NEG64 | GP_INF64)

#define GP_REDUCE(name, does, neutral, first)                    \
	case name:                                               \
		for (i = items; i < width; i++)                  \
			v[i] = neutral;                          \
		for (s = width / 2; s; s /= 2) {                 \
			for (i = 0; i < s; i++) {                \
				uint64_t a = v[i], b = v[i + s]; \
                                                                 \
				v[i] = does;                     \
			}                                        \
		}                                                \
		break;

/* Downwards, so that what is read is what was there before. */
#define GP_SCAN(name, does, neutral, first)                      \
	case name:                                               \
		for (s = 1; s < items; s *= 2) {                 \
			for (i = items; i-- > s;) {              \
				uint64_t a = v[i - s], b = v[i]; \
                                                                 \
				v[i] = does;                     \
			}                                        \
		}                                                \
		break;

#define GP_NEUTRAL(name, does, neutral, first) \
	case name:                             \
		return begin ? first : neutral;

static uint64_t gp_neutral(uint32_t op, bool begin)
{
	switch (op) {
		GP_OPS(GP_NEUTRAL)
	default:
		return 0;
	}
}

static void gp_reduce(uint64_t *v, uint32_t items, uint32_t op)
{
	uint32_t width = 1, i, s;

	while (width < items)
		width *= 2;
	switch (op) {
		GP_OPS(GP_REDUCE)
	}
	for (i = 1; i < items; i++)
		v[i] = v[0];
}

static void gp_scan(uint64_t *v, uint32_t items, uint32_t op)
{
	uint32_t i, s;

	switch (op) {
		GP_OPS(GP_SCAN)
	}
}

/* What item @from gave; 0 where there is none. */
GP_ALWAYS uint64_t gp_given(const struct gp_group *group, const uint64_t *given, uint32_t items,
			    uint64_t from)
{
	if (from >= items)
		return 0;
	from &= gp_if_room(items - 1 - from);
	return group->fault[from] ? 0 : given[from];
}

__attribute__((noinline)) void gp_group_combine(struct gp_group *group, uint32_t items, uint32_t what,
						uint32_t op)
{
	uint64_t *v = group->value, *given = group->given, value;
	uint32_t i, asks;

	switch (what) {
	case GPGPU_HELPER_broadcast:
		for (asks = 0; asks < items && group->fault[asks]; asks++)
			;
		value = asks < items ? gp_given(group, v, items, group->from[asks]) : 0;
		for (i = 0; i < items; i++)
			v[i] = value;
		break;
	case GPGPU_HELPER_shuffle:
		memcpy(given, v, items * sizeof(*v));
		for (i = 0; i < items; i++)
			v[i] = gp_given(group, given, items, group->from[i]);
		break;
	case GPGPU_HELPER_reduce:
	case GPGPU_HELPER_scan:
	case GPGPU_HELPER_scan_before:
		for (i = 0; i < items; i++)
			if (group->fault[i])
				v[i] = gp_neutral(op, false);
		if (what == GPGPU_HELPER_reduce) {
			gp_reduce(v, items, op);
			break;
		}
		gp_scan(v, items, op);
		if (what == GPGPU_HELPER_scan)
			break;
		for (i = items - 1; i; i--)
			v[i] = v[i - 1];
		v[0] = gp_neutral(op, true);
		break;
	}
}

/* -------------------------------------------------------------------- the loop */

__attribute__((noinline)) void gp_group_faults(const struct gp_group *group, const struct gp_grid *grid,
					       const uint32_t *grp, uint32_t items, struct gp_faults *faults)
{
	uint32_t i;

	for (i = 0; i < items; i++) {
		uint64_t x = grp[0] * (uint64_t)grid->group[0] + i % grid->group[0];
		uint64_t y = grp[1] * (uint64_t)grid->group[1] + i / grid->group[0] % grid->group[1];
		uint64_t z = grp[2] * (uint64_t)grid->group[2] + i / grid->group[0] / grid->group[1];
		uint64_t item = (z * grid->size[1] + y) * grid->size[0] + x;

		if (!group->fault[i])
			continue;
		if (!faults->count++ || item < faults->first) {
			faults->first = item;
			faults->reason = group->fault[i];
			faults->insn = group->fault_insn[i];
		}
	}
}

uint64_t gp_entry_groups(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			 uint64_t first, uint64_t count, struct gp_faults *faults)
{
	return gp_run_groups(env, thread, grid, first, count, faults);
}
