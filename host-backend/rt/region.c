/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region.c - a program's ways to memory, maps and the context.
 *
 * Where a pointer's region is known when the program is compiled, generated code checks and accesses it
 * itself. gp_rt_region() is for the others: the one place where a handle becomes an address. Likewise
 * gp_rt_map_any() for maps that come from anywhere.
 *
 * Elements of maps of maps have numbers that hold for the whole session, but a program reaches only those that
 * are, or were while it ran, elements of its own maps: each such map has a bit per number (gp_map.members).
 */
#include "fuel.h"
#include "map_array.h"
#include "mem.h"
#include "rt.h"
#include "slots.h"

/* ------------------------------------------------------------------- memory */

/* A copy of the lane's values, so that the lane itself need not be in memory for it. */
struct gp_window {
	uint8_t *base;
	uint64_t size;
};

/* Not inlined: what a handle points at, from there to the region's end; none where it may not be touched. */
struct gp_window gp_window_at(const struct gp_env *env, struct gp_window packet, struct gp_window stack,
			      uint64_t handle, uint32_t write);
uint8_t *gp_resolve(const struct gp_env *env, struct gp_window packet, struct gp_window stack,
		    uint64_t handle, uint32_t size, uint32_t write);
struct gp_map *gp_map_at(const struct gp_env *env, uint64_t handle);

/* The map in slot @slot, if it is an element of @outer. */
GP_ALWAYS struct gp_map *gp_member(const struct gp_env *env, const struct gp_map *outer, uint64_t slot)
{
	uint64_t keep;

	if (slot >= env->num_inner)
		return NULL;
	keep = gp_if_room(env->num_inner - 1 - slot);
	slot &= keep;
	if (!(__atomic_load_n(&outer->members[slot / 64], __ATOMIC_ACQUIRE) >> slot % 64 & 1))
		return NULL;
	return (struct gp_map *)((uintptr_t)gp_load_map(&env->inner[slot]) & keep);
}

/* The map in slot @slot, if it is an element of any of the program's maps. */
static struct gp_map *gp_member_of_any(const struct gp_env *env, uint64_t slot)
{
	uint32_t i;

	for (i = 0; i < env->num_maps; i++) {
		struct gp_map *map = env->maps[i]->members ? gp_member(env, env->maps[i], slot) : NULL;

		if (map)
			return map;
	}
	return NULL;
}

GP_ALWAYS struct gp_window gp_find(const struct gp_env *env, struct gp_window packet, struct gp_window stack,
				   uint64_t id, uint32_t write)
{
	struct gp_window none = { NULL, 0 };
	const struct gp_map *map = NULL;

	if (id == GP_REGION_STACK)
		return stack;
	if (id == GP_REGION_PACKET)
		return packet;
	if (id >= GP_REGION_ARG0 && id - GP_REGION_ARG0 < env->num_args) {
		const struct gp_region *arg = &env->args[id - GP_REGION_ARG0];

		return arg->writable || !write ? (struct gp_window){ arg->base, arg->size } : none;
	}
	if (id >= GP_REGION_INNER0 && id < GP_REGION_INNERPTR0)
		map = gp_member_of_any(env, id - GP_REGION_INNER0);
	else if (id >= GP_REGION_MAP0 && id - GP_REGION_MAP0 < env->num_maps)
		map = env->maps[id - GP_REGION_MAP0];
	return map && (!map->frozen || !write) ? (struct gp_window){ map->values, map->values_size } : none;
}

__attribute__((noinline)) uint8_t *gp_resolve(const struct gp_env *env, struct gp_window packet,
					      struct gp_window stack, uint64_t handle, uint32_t size,
					      uint32_t write)
{
	struct gp_window to = gp_find(env, packet, stack, handle >> GP_REGION_SHIFT, write);
	uint64_t offset = handle & GP_OFFSET_MASK;

	if (offset > to.size || size > to.size - offset || !to.size)
		return NULL;
	/* A wrong guess of that branch reads offset 0. */
	return to.base + (offset & gp_if_room(to.size - offset - size));
}

__attribute__((noinline)) struct gp_window gp_window_at(const struct gp_env *env, struct gp_window packet,
							struct gp_window stack, uint64_t handle,
							uint32_t write)
{
	struct gp_window to = gp_find(env, packet, stack, handle >> GP_REGION_SHIFT, write);
	uint64_t offset = handle & GP_OFFSET_MASK, keep;

	if (offset >= to.size)
		return (struct gp_window){ NULL, 0 };
	keep = gp_if_room(to.size - 1 - offset);
	return (struct gp_window){ to.base + (offset & keep), (to.size - offset) & keep };
}

__attribute__((noinline)) struct gp_map *gp_map_at(const struct gp_env *env, uint64_t handle)
{
	uint64_t id = handle >> GP_REGION_SHIFT;

	if (handle & GP_OFFSET_MASK)
		return NULL;
	if (id >= GP_REGION_INNERPTR0)
		return gp_member_of_any(env, id - GP_REGION_INNERPTR0);
	id -= GP_REGION_MAPPTR0;
	return id < env->num_maps ? env->maps[id & gp_if_room(env->num_maps - 1 - id)] : NULL;
}

GP_RT uint8_t *gp_rt_region(struct gp_lane *lane, uint64_t handle, uint32_t size, uint32_t write)
{
	struct gp_window packet = { lane->base, lane->base ? lane->data_end : 0 };
	struct gp_window stack = { lane->stack.base, lane->stack.size };

	if (write)
		gp_written(lane);
	return gp_resolve(lane->env, packet, stack, handle, size, write);
}

#if defined(__NVPTX__)
GP_RT void gp_rt_packet_written(struct gp_lane *lane)
{
	gp_written(lane);
}
#endif

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
#if defined(GP_RT_GPU)
	/* One load whatever @n is, so that what it yields is global memory to LLVM; where there is no such buffer, none of it. */
	return lane->env->args[n < lane->env->num_args ? n : 0].base;
#else
	return n < lane->env->num_args ? lane->env->args[n].base : NULL;
#endif
}

GP_RT uint64_t gp_rt_arg_size(struct gp_lane *lane, uint32_t n)
{
	return n < lane->env->num_args ? lane->env->args[n].size : 0;
}

GP_RT uint32_t gp_rt_num_args(struct gp_lane *lane)
{
	return lane->env->num_args;
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

#if defined(GP_RT_GPU)
GP_RT struct gp_map *gp_rt_map_shaped(struct gp_map *own, struct gp_lane *lane, uint32_t n, uint32_t type,
				      uint32_t key_size, uint32_t value_size, uint32_t max_entries,
				      uint32_t num_cpus, uint32_t num_buckets, uint32_t frozen)
{
	const struct gp_map *map = lane->env->maps[n];

	own->type = type;
	own->key_size = key_size;
	own->value_size = value_size;
	own->max_entries = max_entries;
	own->stride = gp_stride(value_size);
	own->num_cpus = num_cpus;
	own->frozen = frozen;
	own->seed = map->seed;
	own->values = map->values;
	own->values_size = map->values_size;
	own->keys = map->keys;
	own->links = map->links;
	own->buckets = map->buckets;
	own->state = map->state;
	own->num_buckets = num_buckets;
	own->copy_bytes = map->copy_bytes;
	own->store = map->store;
	own->members = map->members;
	return own;
}
#endif

GP_RT uint8_t *gp_rt_map_values(struct gp_lane *lane, uint32_t n)
{
	return lane->env->maps[n]->values;
}

GP_RT struct gp_map *gp_rt_map_any(struct gp_lane *lane, uint64_t handle)
{
	return gp_map_at(lane->env, handle);
}

GP_RT struct gp_map *gp_rt_inner(struct gp_lane *lane, const struct gp_map *outer, uint64_t handle)
{
	uint64_t slot = handle - ((uint64_t)GP_REGION_INNERPTR0 << GP_REGION_SHIFT);

	/* The number of the slot, with whatever bits do not belong there on top. */
	return gp_member(lane->env, outer, slot >> GP_REGION_SHIFT | slot << (64 - GP_REGION_SHIFT));
}

GP_RT uint64_t gp_rt_map_bias(uint64_t handle)
{
	uint64_t inner = (uint64_t)GP_REGION_INNERPTR0 << GP_REGION_SHIFT;

	return handle - ((handle >= inner ? GP_REGION_INNERPTR0 - GP_REGION_INNER0
					  : GP_REGION_MAPPTR0 - GP_REGION_MAP0) *
			 (1ull << GP_REGION_SHIFT));
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

GP_RT uint32_t gp_rt_map_max_entries(const struct gp_map *map)
{
	return map->max_entries;
}

GP_RT uint32_t gp_rt_map_num_cpus(const struct gp_map *map)
{
	return map->num_cpus;
}

GP_RT uint32_t gp_rt_map_num_buckets(const struct gp_map *map)
{
	return map->num_buckets;
}

/* ------------------------------------------------------------------ context
 * Where a context pointer is known, generated code reads fields itself; this is for one that was lost among others.
 */

/* A copy of the lane's values, as struct gp_window is. */
struct gp_ctx_values {
	uint32_t xdp_md[6];
	const uint64_t *args;
};

static __attribute__((noinline)) uint32_t gp_ctx_holds(uint32_t num_args, uint64_t handle, uint32_t form,
						       uint32_t buffers)
{
	uint64_t offset = handle & GP_OFFSET_MASK, size = form & 0xff;

	if (handle >> GP_REGION_SHIFT != GP_REGION_CTX)
		return 0;
	if (buffers == GP_CTX_XDP)
		return form == 4 && offset % 4 == 0 && offset < 4 * 6;
	if (offset >= 8ull * num_args || offset % 8 + size > 8)
		return 0;
	return !(buffers & 1u << offset / 8) || (form == 8 && offset % 8 == 0);
}

/* Only for what gp_ctx_holds(). */
static __attribute__((noinline)) uint64_t gp_ctx_load(struct gp_ctx_values ctx, uint32_t num_args,
						      uint64_t handle, uint32_t form, uint32_t buffers)
{
	uint64_t offset = handle & GP_OFFSET_MASK, value;
	uint32_t bits = (form & 0xff) * 8;

	if (buffers == GP_CTX_XDP) {
		if (offset / 4 >= 6)
			return 0;
		/* A wrong guess of that branch reads field 0; of the one below, argument 0. */
		value = ctx.xdp_md[(offset / 4) & gp_if_room(5 - offset / 4)];
		return offset < 12 ? ((uint64_t)GP_REGION_PACKET << GP_REGION_SHIFT) + value : value;
	}
	if (offset / 8 >= num_args)
		return 0;
	if (buffers & 1u << offset / 8)
		return (GP_REGION_ARG0 + offset / 8) << GP_REGION_SHIFT;
	value = ctx.args[(offset / 8) & gp_if_room(num_args - 1 - offset / 8)] >> offset % 8 * 8;
	if (form & GP_CTX_SIGN)
		return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

GP_RT uint32_t gp_rt_ctx_holds(struct gp_lane *lane, uint64_t handle, uint32_t form, uint32_t buffers)
{
	return gp_ctx_holds(lane->env->num_args, handle, form, buffers);
}

GP_RT uint64_t gp_rt_ctx_load(struct gp_lane *lane, uint64_t handle, uint32_t form, uint32_t buffers)
{
	struct gp_ctx_values ctx = {
		.xdp_md = { lane->data_off, lane->data_end, lane->meta_off, lane->ingress, lane->rx_queue,
			    0 },
		.args = lane->env->arg_values,
	};

	return gp_ctx_load(ctx, lane->env->num_args, handle, form, buffers);
}

/* ------------------------------------------------------------------- strings */

/* As the kernel's strncmp(): -1, 0, 1. @b ends with @b_size bytes as if with a NUL. */
int64_t gp_compare(const uint8_t *a, const uint8_t *b, uint64_t size, uint64_t b_size);

__attribute__((noinline)) int64_t gp_compare(const uint8_t *a, const uint8_t *b, uint64_t size,
					     uint64_t b_size)
{
	uint64_t i;

	for (i = 0; i < size; i++) {
		uint8_t x = a[i], y = i < b_size ? b[i] : 0;

		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			break;
	}
	return 0;
}

GP_RT int64_t gp_helper_strncmp(struct gp_lane *lane, const uint8_t *at, uint64_t size, uint64_t string)
{
	struct gp_window packet = { lane->base, lane->base ? lane->data_end : 0 };
	struct gp_window stack = { lane->stack.base, lane->stack.size };
	struct gp_window to = gp_window_at(lane->env, packet, stack, string, false);

	if (gp_unlikely(!gp_charge_bytes(lane, size * 8))) /* byte by byte */
		return 0; /* which nobody sees: the lane ends */
	return gp_compare(at, to.base, size, to.size);
}
