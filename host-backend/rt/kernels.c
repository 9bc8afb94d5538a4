/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.c - what a launch runs on a GPU (launch.h): one lane does one packet, one part, one work item or one
 * piece of a copy; map operations are done by the first lane alone.
 *
 * The program inlines into its kernel, and struct gp_lane is taken apart into registers. What a lane has of its own
 * (struct gp_thread: its CPU number, its random numbers) is a local variable here.
 *
 * Natively these are ordinary functions that run the lane gp_kernel_lane, for tests, which bring a gp_prog() of their
 * own.
 */
#include "virtio_gpgpu.h"
#include "clock.h"
#include "fuel.h"
#include "launch.h"
#include "loops.h"
#include "maps.h"
#include "mem.h"
#include "rt.h"
#include "slots.h"

#if defined(__NVPTX__)
GP_ALWAYS uint64_t gp_lane_number(const struct gp_launch *launch)
{
	return (uint64_t)__nvvm_read_ptx_sreg_ctaid_x() * launch->group + __nvvm_read_ptx_sreg_tid_x();
}
#elif defined(GP_RT_GPU)
GP_ALWAYS uint64_t gp_lane_number(const struct gp_launch *launch)
{
	return (uint64_t)__builtin_amdgcn_workgroup_id_x() * launch->group + __builtin_amdgcn_workitem_id_x();
}
#else
__thread uint64_t gp_kernel_lane;

GP_ALWAYS uint64_t gp_lane_number(const struct gp_launch *launch)
{
	return gp_kernel_lane;
}
#endif

/* A bijection that leaves no bit where it was (the finaliser of splitmix64). */
GP_ALWAYS uint64_t gp_scramble(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

GP_ALWAYS struct gp_thread gp_own_thread(const struct gp_launch *launch, uint64_t lane, uint64_t item)
{
	struct gp_thread thread = {
		.cpu = (uint32_t)lane % launch->num_cpus & (GP_MAP_MAX_CPUS - 1), /* no GP_EVERY_CPU */
		.random = gp_scramble(launch->seed + item * 0x9e3779b97f4a7c15ull),
	};

	return thread;
}

/* The fuel is opaque, so that it is each lane's own to the compiler, too (jit/fuel.c). */
GP_ALWAYS void gp_start_lane(struct gp_lane *lane, const struct gp_launch *launch, uint64_t began)
{
	uint64_t fuel = gp_first_portion(launch->env.fuel);

	lane->fuel = gp_opaque(fuel);
	lane->reserve = launch->env.fuel - fuel;
#if defined(GP_RT_GPU)
	lane->deadline = launch->ticks ? began + launch->ticks : UINT64_MAX;
#endif
}

/* ------------------------------------------------------------------ packets */

/* @base: its slot. Return: whether that was written to, where anybody wants to know. */
GP_ALWAYS bool gp_run_packet(const struct gp_launch *launch, struct gp_thread *thread, uint64_t began,
			     uint64_t n, uint8_t *base)
{
	const struct gp_packet_in *in = &launch->in[n];
	struct gp_packet_out *out = &launch->out[n];
	struct gp_lane lane = {
		.env = &launch->env,
		.thread = thread,
		.base = base,
		.data_off = in->data_off,
		.data_end = in->data_off + in->data_len,
		.meta_off = in->data_off - in->meta_len,
		.ingress = in->ingress_port,
		.rx_queue = in->rx_queue,
	};
	bool stopped = !launch->parts && gp_stop_value(&launch->env) == GP_STOP_NOW;
	int64_t ret = 0;

	gp_start_lane(&lane, launch, began);
#if defined(GP_RT_GPU)
	lane.out = out;
	gp_put_place(&lane, out);
	ret = gp_fault(VIRTIO_GPGPU_R_OUT_OF_FUEL, 0);
	if (gp_likely(!stopped))
		ret = gp_prog(&lane);
	gp_put_end(&lane, out, (uint32_t)ret);
#else
	if (gp_unlikely(stopped))
		lane.fault = gp_fault(VIRTIO_GPGPU_R_OUT_OF_FUEL, 0);
	else
		ret = gp_prog(&lane);
	gp_end_packet(&lane, out, ret);
#endif
	gp_lane_end(&lane);
#if defined(__NVPTX__)
	return lane.written;
#else
	return false;
#endif
}

GP_ALWAYS uint64_t gp_packet_number(const struct gp_launch *launch, uint64_t item)
{
	return launch->order ? launch->order[item] : item;
}

/*
 * Runs the lane's packet, or the next one of its part. Return: whether its part may have another one. Where slots are moved
 * all lanes of a wave come here, those without a packet, too.
 */
GP_ALWAYS bool gp_run_next(const struct gp_launch *given, uint64_t lane, uint64_t began)
{
	bool moves = gp_slots_move(given), has_one = lane < given->count, written = false;
	struct gp_launch_part *part = NULL;
	uint64_t item = given->first + lane, n;
	struct gp_thread thread;
	struct gp_slot slot;
	uint32_t ran = 0;

	if (given->parts) {
		part = &given->parts[item];
		ran = gp_load32(&part->ran);
		item = (uint64_t)part->next + ran;
		/* Only a part has to wait for the answer before anything else is asked for. */
		if (item >= part->end || gp_stop_value(&given->env) != GP_STOP_NONE)
			return false;
	}
	n = has_one ? gp_packet_number(given, item) : 0;
	if (moves)
		slot = gp_slots_in(given, has_one, n);
	if (has_one) {
		thread = gp_own_thread(given, lane, item);
		written = gp_run_packet(given, &thread, began, n,
					moves ? gp_slot_here() : given->env.slots + n * given->env.stride);
	}
	if (moves)
		gp_slots_out(given, slot, written);
	if (!part)
		return false;
	gp_store32(&part->ran, ran + 1);
	return true;
}

/*
 * On an AMD GPU each launch runs one packet of a part (launch.h): where the program is the body of a loop, LLVM 19 makes its
 * control flow fit for lanes in such a way that hundreds of values go round that loop which nobody reads, and a large
 * program takes two to three times the registers, and the time to compile.
 */
GP_KERNEL void gp_kernel_packets(GP_KERNEL_ARGS)
{
	const struct gp_launch *given = GP_GIVEN;
	uint64_t lane = gp_lane_number(given), began = given->ticks ? gp_ticks() : 0;

	if (lane >= given->count && !gp_slots_move(given))
		return;
#if defined(__AMDGCN__)
	gp_run_next(given, lane, began);
#else
	while (gp_run_next(given, lane, began))
		;
#endif
}

/* --------------------------------------------------------------------- grids */

GP_ALWAYS void gp_note_first(struct gp_launch *launch, const struct gp_lane *lane, uint64_t item)
{
	uint64_t first = (item - launch->first) << 32 | lane->fault;

	__atomic_fetch_add(&launch->fault_count, 1, __ATOMIC_RELAXED);
#if defined(GP_RT_GPU)
	__atomic_fetch_min(&launch->fault_first, first, __ATOMIC_RELAXED);
#else
	if (first < launch->fault_first)
		launch->fault_first = first;
#endif
}

GP_KERNEL void gp_kernel_grid(GP_KERNEL_ARGS)
{
	const struct gp_launch *given = GP_GIVEN;
	uint64_t n = gp_lane_number(given), began = given->ticks ? gp_ticks() : 0;
	struct gp_thread thread;
	struct gp_lane lane = { .env = &given->env, .thread = &thread, .grid = &given->grid };

	if (n >= given->count)
		return;
	thread = gp_own_thread(given, n, given->first + n);
	gp_grid_place(&lane, &given->grid, given->first + n);
	gp_start_lane(&lane, given, began);
	if (gp_unlikely(gp_stop_value(&given->env) == GP_STOP_NOW))
		lane.fault = gp_fault(VIRTIO_GPGPU_R_OUT_OF_FUEL, 0);
	else
		gp_prog(&lane);
	gp_lane_end(&lane);
	if (gp_unlikely(lane.fault))
		gp_note_first(launch, &lane, given->first + n);
}

/* ------------------------------------------------------------------ built in */

GP_KERNEL void gp_kernel_map_ops(GP_KERNEL_ARGS)
{
	const struct gp_launch *given = GP_GIVEN;
	uint32_t i;

	if (gp_lane_number(given) != 0)
		return;
	for (i = 0; i < given->num_ops; i++)
		gp_map_op_run(&given->ops[i]);
}

/* Where source and destination are aligned alike a lane's piece is moved in words; else in bytes. */
GP_KERNEL void gp_kernel_copy(GP_KERNEL_ARGS)
{
	const struct gp_launch *given = GP_GIVEN;
	uint64_t lane = gp_lane_number(given), at, left;
	const struct gp_launch_copy *copy = &given->copy;
	uint32_t pattern = (uint32_t)gp_opaque(copy->pattern), i, n;

	if (lane >= given->count)
		return;
	at = (given->first + lane) * GP_COPY_LANE;
	if (at >= copy->size)
		return;
	left = copy->size - at;
	n = left < GP_COPY_LANE ? (uint32_t)left : GP_COPY_LANE;
	if (n == GP_COPY_LANE && !(((uintptr_t)copy->dst | (uintptr_t)copy->src) & 3)) {
		uint32_t *to = (uint32_t *)(void *)(copy->dst + at);
		const uint32_t *from = (const uint32_t *)(const void *)(copy->src + at);

		for (i = 0; i < GP_COPY_LANE / 4; i++)
			to[i] = copy->src ? from[i] : pattern;
		return;
	}
	for (i = 0; i < n; i++)
		copy->dst[at + i] = copy->src ? copy->src[at + i] : (uint8_t)(pattern >> (at + i) % 4 * 8);
}
