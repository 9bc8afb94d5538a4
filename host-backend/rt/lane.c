/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lane.c - the loops around a program, its ways to memory, and helpers that need only the lane.
 *
 * gp_entry_xdp() and gp_entry_grid() are an image's entry points. The program inlines into them, the lane is
 * taken apart into registers, and what is left is one loop without calls. The next packets' first lines
 * are fetched ahead, since a batch is larger than the caches that hold one packet.
 *
 * Every lane starts with its own fuel and no fault; a fault ends that lane only. A stop asked for by
 * the engine is seen between lanes.
 */
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "mem.h"
#include "rt.h"

#define GP_PREFETCH_AHEAD 4	/* packets */
#define GP_STOP_EVERY 64	/* work items between two looks at *env->stop; power of two */

GP_ALWAYS bool gp_stopped(const struct gp_env *env)
{
	return __atomic_load_n(env->stop, __ATOMIC_RELAXED) != 0;
}

GP_ALWAYS void gp_note_fault(struct gp_faults *faults, const struct gp_lane *lane, uint64_t item)
{
	if (!faults->count++) {
		faults->first = item;
		faults->reason = lane->fault;
		faults->insn = lane->fault_insn;
	}
}

GP_ALWAYS void gp_fetch_ahead(const struct gp_env *env, const struct gp_packet_in *in, uint64_t packet)
{
	const uint8_t *data = env->slots + packet * env->stride + in[packet].data_off;

	__builtin_prefetch(data, 1, 3);
}

GP_ALWAYS void gp_end_packet(struct gp_lane *lane, struct gp_packet_out *out, int64_t ret)
{
	uint32_t verdict = (uint32_t)ret;

	if (gp_unlikely(lane->fault || verdict > XDP_REDIRECT))
		verdict = XDP_ABORTED;
	out->verdict = verdict;
	out->egress_port = verdict == XDP_REDIRECT ? lane->egress_port : 0;
	out->data_off = lane->data_off;
	out->data_len = lane->data_end - lane->data_off;
	out->meta_len = (uint16_t)(lane->data_off - lane->meta_off);
	out->fault = (uint16_t)lane->fault;
	out->fault_insn = lane->fault_insn;
}

uint64_t gp_entry_xdp(const struct gp_env *env, struct gp_thread *thread, const struct gp_packet_in *in,
		      struct gp_packet_out *out, uint64_t first, uint64_t count, struct gp_faults *faults)
{
	uint64_t i, end = first + count;

	for (i = first; i < end && !gp_stopped(env); i++) {
		struct gp_lane lane = {
			.env = env,
			.thread = thread,
			.base = env->slots + i * env->stride,
			.data_off = in[i].data_off,
			.data_end = in[i].data_off + in[i].data_len,
			.meta_off = in[i].data_off - in[i].meta_len,
			.ingress = in[i].ingress_port,
			.rx_queue = in[i].rx_queue,
			.fuel = env->fuel,
		};

		if (end - i > GP_PREFETCH_AHEAD)
			gp_fetch_ahead(env, in, i + GP_PREFETCH_AHEAD);
		gp_end_packet(&lane, &out[i], gp_prog(&lane));
		if (gp_unlikely(lane.fault))
			gp_note_fault(faults, &lane, i);
	}
	return i - first;
}

/* Where work item @item is in the grid. */
static void gp_grid_place(struct gp_lane *at, const struct gp_grid *grid, uint64_t item)
{
	uint64_t row = item / grid->size[0];
	int d;

	at->gid[0] = (uint32_t)(item % grid->size[0]);
	at->gid[1] = (uint32_t)(row % grid->size[1]);
	at->gid[2] = (uint32_t)(row / grid->size[1]);
	for (d = 0; d < 3; d++) {
		at->lid[d] = at->gid[d] % grid->group[d];
		at->grp[d] = at->gid[d] / grid->group[d];
	}
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
	struct gp_lane at = { .env = env };
	uint64_t i;

	gp_grid_place(&at, grid, first);
	for (i = 0; i < count; i++) {
		struct gp_lane lane = {
			.env = env,
			.thread = thread,
			.fuel = env->fuel,
			.gid = { at.gid[0], at.gid[1], at.gid[2] },
			.lid = { at.lid[0], at.lid[1], at.lid[2] },
			.grp = { at.grp[0], at.grp[1], at.grp[2] },
			.grid = grid,
		};

		if (i % GP_STOP_EVERY == 0 && gp_stopped(env))
			break;
		gp_prog(&lane);
		if (gp_unlikely(lane.fault))
			gp_note_fault(faults, &lane, first + i);
		if (!gp_grid_step(&at, grid))
			gp_grid_place(&at, grid, first + i + 1);
	}
	return i;
}

/* ------------------------------------------------------------------- memory */

/* A copy of the lane's values, so that the lane itself need not be in memory for it. */
struct gp_window {
	uint8_t *base;
	uint64_t size;
};

static __attribute__((noinline)) uint8_t *gp_resolve(const struct gp_env *env, struct gp_window packet,
						     struct gp_window stack, uint64_t handle, uint32_t size,
						     uint32_t write)
{
	uint64_t id = handle >> GP_REGION_SHIFT, offset = handle & GP_OFFSET_MASK, room;
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
	/* The same again as arithmetic that no compiler can drop: a wrong guess of the branch reads offset 0. */
	room = gp_opaque(to.size - offset - size);
	return to.base + (offset & ~(uint64_t)((int64_t)room >> 63));
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

/* --------------------------------------------------------------------- lane */

GP_RT uint32_t gp_rt_burn(struct gp_lane *lane, uint64_t cost)
{
	uint32_t out = lane->fuel < cost;

	lane->fuel = out ? 0 : lane->fuel - cost;
	return out;
}

GP_RT void gp_rt_fault(struct gp_lane *lane, uint32_t reason, uint32_t insn)
{
	lane->fault = reason;
	lane->fault_insn = insn;
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

static uint64_t gp_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
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
#define GP_ID(name, member)								\
GP_RT uint64_t gp_helper_##name(struct gp_lane *lane, uint64_t dimension)		\
{											\
	uint32_t d = (uint32_t)dimension;						\
											\
	return d == 0 ? lane->member[0] : d == 1 ? lane->member[1] :			\
	       d == 2 ? lane->member[2] : 0;						\
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
