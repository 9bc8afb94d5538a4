/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c - what a program asks of the lane itself: its packet's offsets, fuel, faults, numbers, time, ids. */
#include <linux/bpf.h>
#include "clock.h"
#include "fuel.h"
#include "mem.h"
#include "rt.h"

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

GP_RT uint64_t gp_rt_verdict(uint64_t ret)
{
	return (uint32_t)ret > XDP_REDIRECT ? XDP_ABORTED : (uint32_t)ret;
}

GP_RT void gp_rt_fault(struct gp_lane *lane, uint32_t fault)
{
	lane->fault = fault;
}

GP_RT uint32_t gp_rt_faulted(struct gp_lane *lane)
{
	return lane->fault;
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

/* The kernel's timer at the rate that Debian builds it with. */
#define GP_NS_PER_JIFFY 4000000

GP_RT uint64_t gp_helper_jiffies(struct gp_lane *lane)
{
	return gp_helper_ktime(lane) / GP_NS_PER_JIFFY;
}

GP_RT uint64_t gp_helper_boot_time(struct gp_lane *lane)
{
	uint64_t now = gp_helper_ktime(lane);

	return lane->env->clock ? now + lane->env->clock->boot : now;
}

GP_RT uint64_t gp_helper_numa_node(struct gp_lane *lane)
{
	return 0;
}

GP_RT uint64_t gp_helper_buff_len(struct gp_lane *lane)
{
	return lane->data_end - lane->data_off;
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
