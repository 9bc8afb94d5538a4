/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c - a program's ways to memory, and helpers that need only the lane.
 *
 * Where a pointer's region is known when the program is compiled, generated code checks and accesses it
 * itself. gp_rt_region() is for the others: the one place where a handle becomes an address.
 */
#include "clock.h"
#include "fuel.h"
#include "mem.h"
#include "rt.h"

/* ------------------------------------------------------------------- memory */

/* A copy of the lane's values, so that the lane itself need not be in memory for it. */
struct gp_window {
	uint8_t *base;
	uint64_t size;
};

uint8_t *gp_resolve(const struct gp_env *env, struct gp_window packet, struct gp_window stack,
		    uint64_t handle, uint32_t size, uint32_t write);

__attribute__((noinline)) uint8_t *gp_resolve(const struct gp_env *env, struct gp_window packet,
					      struct gp_window stack, uint64_t handle, uint32_t size,
					      uint32_t write)
{
	uint64_t id = handle >> GP_REGION_SHIFT, offset = handle & GP_OFFSET_MASK;
	struct gp_window to = { NULL, 0 };

	if (id == GP_REGION_STACK) {
		to = stack;
	} else if (id == GP_REGION_PACKET) {
		to = packet;
	} else if (id >= GP_REGION_ARG0 && id - GP_REGION_ARG0 < env->num_args) {
		const struct gp_region *arg = &env->args[id - GP_REGION_ARG0];

		if (arg->writable || !write)
			to = (struct gp_window){ arg->base, arg->size };
	} else if (id >= GP_REGION_MAP0 && id - GP_REGION_MAP0 < env->num_maps) {
		const struct gp_map *map = env->maps[id - GP_REGION_MAP0];

		if (!map->frozen || !write)
			to = (struct gp_window){ map->values, map->values_size };
	}
	if (offset > to.size || size > to.size - offset || !to.size)
		return NULL;
	/* A wrong guess of that branch reads offset 0. */
	return to.base + (offset & gp_if_room(to.size - offset - size));
}

GP_RT uint8_t *gp_rt_region(struct gp_lane *lane, uint64_t handle, uint32_t size, uint32_t write)
{
	struct gp_window packet = { lane->base, lane->base ? lane->data_end : 0 };
	struct gp_window stack = { lane->stack.base, lane->stack.size };

	return gp_resolve(lane->env, packet, stack, handle, size, write);
}

GP_RT uint8_t *gp_rt_pkt_base(struct gp_lane *lane)
{
	return lane->base;
}

GP_RT uint64_t gp_rt_pkt_end(struct gp_lane *lane)
{
	return lane->data_end;
}

GP_RT uint8_t *gp_rt_arg_base(struct gp_lane *lane, uint32_t n)
{
	return n < lane->env->num_args ? lane->env->args[n].base : NULL;
}

GP_RT uint64_t gp_rt_arg_size(struct gp_lane *lane, uint32_t n)
{
	return n < lane->env->num_args ? lane->env->args[n].size : 0;
}

GP_RT uint64_t gp_rt_arg_writable(struct gp_lane *lane, uint32_t n)
{
	return n < lane->env->num_args ? lane->env->args[n].writable : 0;
}

GP_RT uint64_t gp_rt_arg_value(struct gp_lane *lane, uint32_t n)
{
	return n < lane->env->num_args ? lane->env->arg_values[n] : 0;
}

GP_RT struct gp_map *gp_rt_map(struct gp_lane *lane, uint32_t n)
{
	return lane->env->maps[n];
}

GP_RT uint8_t *gp_rt_map_values(struct gp_lane *lane, uint32_t n)
{
	return lane->env->maps[n]->values;
}

GP_RT uint32_t gp_rt_map_type(const struct gp_map *map)
{
	return map->type;
}

GP_RT uint32_t gp_rt_map_key_size(const struct gp_map *map)
{
	return map->key_size;
}

GP_RT uint32_t gp_rt_map_value_size(const struct gp_map *map)
{
	return map->value_size;
}

GP_RT uint32_t gp_rt_map_frozen(const struct gp_map *map)
{
	return map->frozen;
}

/* --------------------------------------------------------------------- lane */

GP_RT uint32_t gp_rt_data(struct gp_lane *lane)
{
	return lane->data_off;
}

GP_RT uint32_t gp_rt_data_end(struct gp_lane *lane)
{
	return lane->data_end;
}

GP_RT uint32_t gp_rt_data_meta(struct gp_lane *lane)
{
	return lane->meta_off;
}

GP_RT uint32_t gp_rt_ingress(struct gp_lane *lane)
{
	return lane->ingress;
}

GP_RT uint32_t gp_rt_rx_queue(struct gp_lane *lane)
{
	return lane->rx_queue;
}

GP_RT uint32_t gp_rt_egress(struct gp_lane *lane)
{
	return 0;
}

GP_RT uint32_t gp_rt_burn(struct gp_lane *lane, uint64_t cost)
{
	return gp_burn(lane, cost);
}

GP_RT void gp_rt_fault(struct gp_lane *lane, uint32_t reason, uint32_t insn)
{
	lane->fault = reason;
	lane->fault_insn = insn;
}

GP_RT uint32_t gp_rt_faulted(struct gp_lane *lane)
{
	return lane->fault;
}

GP_RT uint32_t gp_rt_alone(struct gp_lane *lane)
{
	return lane->env->alone;
}

GP_RT void gp_rt_yield(struct gp_lane *lane)
{
	lane->env->yield(lane->env);
}

GP_RT void gp_rt_set_stack(struct gp_lane *lane, uint8_t *base, uint64_t size)
{
	lane->stack.base = base;
	lane->stack.size = size;
	lane->stack.writable = 1;
}

GP_RT uint64_t gp_helper_cpu(struct gp_lane *lane)
{
	return lane->thread->cpu;
}

/* A xorshift with a multiplication; not for keys. */
GP_RT uint64_t gp_helper_prandom(struct gp_lane *lane)
{
	uint64_t x = lane->thread->random;

	if (!x)
		x = 0x9e3779b97f4a7c15ull;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	lane->thread->random = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

/* Time of the job's clock; never backwards on one thread, also where two jobs' clocks differ a little. */
GP_RT uint64_t gp_helper_ktime(struct gp_lane *lane)
{
	__extension__ typedef unsigned __int128 gp_u128;
	const struct gp_clock *clock = lane->env->clock;
	uint64_t ticks, now;

	if (!clock)
		return 0;
	ticks = gp_ticks();
	ticks = ticks > clock->tsc ? ticks - clock->tsc : 0;
	now = clock->ns + (uint64_t)((gp_u128)ticks * clock->mult >> 32);
	if (now < lane->thread->ktime)
		return lane->thread->ktime;
	lane->thread->ktime = now;
	return now;
}

/* ------------------------------------------------------- ids of a work item
 * A dimension that does not exist has one work item, number 0.
 */
#define GP_ID(name, member)                                                                                \
	GP_RT uint64_t gp_helper_##name(struct gp_lane *lane, uint64_t dimension)                          \
	{                                                                                                  \
		uint32_t d = (uint32_t)dimension;                                                          \
                                                                                                           \
		return d == 0 ? lane->member[0] : d == 1 ? lane->member[1] : d == 2 ? lane->member[2] : 0; \
	}

GP_ID(global_id, gid)
GP_ID(local_id, lid)
GP_ID(group_id, grp)

GP_RT uint64_t gp_helper_global_size(struct gp_lane *lane, uint64_t dimension)
{
	uint32_t d = (uint32_t)dimension;

	return d < 3 ? lane->grid->size[d] : 1;
}

GP_RT uint64_t gp_helper_local_size(struct gp_lane *lane, uint64_t dimension)
{
	uint32_t d = (uint32_t)dimension;

	return d < 3 ? lane->grid->group[d] : 1;
}

GP_RT uint64_t gp_helper_num_groups(struct gp_lane *lane, uint64_t dimension)
{
	uint32_t d = (uint32_t)dimension;

	return d < 3 ? (lane->grid->size[d] + (uint64_t)lane->grid->group[d] - 1) / lane->grid->group[d] : 1;
}
