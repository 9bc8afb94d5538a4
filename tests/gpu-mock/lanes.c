/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.c - see lanes.h. */
#include <linux/bpf.h>
#include <string.h>
#include "lanes.h"
#include "rt/clock.h"
#include "rt/maps.h"
#include "virtio_gpgpu.h"

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static struct gp_thread lane_thread(const struct gp_launch *launch, uint64_t n)
{
	return (struct gp_thread){ .cpu = (uint32_t)(n % launch->num_cpus),
				   .random = mix(launch->seed + launch->first + n) | 1 };
}

static bool stopped(const struct gp_launch *launch, enum gp_stop at)
{
	return __atomic_load_n(launch->env.stop, __ATOMIC_RELAXED) >= (uint32_t)at;
}

GP_CALLS_AN_IMAGE static void run_packet(const struct gp_launch *launch, const struct gp_image *image,
					 struct gp_thread *thread, uint32_t packet)
{
	gp_xdp_entry *entry = (gp_xdp_entry *)((uintptr_t)image->code + image->entry);
	struct gp_packet_out *out = &launch->out[packet];
	struct gp_faults faults = { 0 };

	if (entry(&launch->env, thread, launch->in, launch->out, packet, 1, &faults))
		return;
	*out = (struct gp_packet_out){ .verdict = XDP_ABORTED, .fault = VIRTIO_GPGPU_R_OUT_OF_FUEL };
}

static void run_part(struct gp_launch *launch, const struct gp_image *image, struct gp_thread *thread,
		     struct gp_launch_part *part)
{
	uint32_t i;

	for (i = part->next; i < part->end && !stopped(launch, GP_STOP_SOON); i++)
		run_packet(launch, image, thread, launch->order ? launch->order[i] : i);
	part->ran = i - part->next;
}

static void note_fault(struct gp_launch *launch, uint64_t n, uint32_t reason, uint32_t insn)
{
	uint64_t fault = n << 32 | (uint64_t)reason << 16 | insn;

	launch->fault_count++;
	if (fault < launch->fault_first)
		launch->fault_first = fault;
}

GP_CALLS_AN_IMAGE static void run_item(struct gp_launch *launch, const struct gp_image *image,
				       struct gp_thread *thread, uint64_t n)
{
	gp_grid_entry *entry = (gp_grid_entry *)((uintptr_t)image->code + image->entry);
	struct gp_faults faults = { 0 };

	if (!entry(&launch->env, thread, &launch->grid, launch->first + n, 1, &faults))
		note_fault(launch, n, VIRTIO_GPGPU_R_OUT_OF_FUEL, 0);
	else if (faults.count)
		note_fault(launch, n, faults.reason, faults.insn);
}

static void run_copy(const struct gp_launch *launch, uint64_t n)
{
	const struct gp_launch_copy *copy = &launch->copy;
	uint64_t at = (launch->first + n) * GP_COPY_LANE, size = MIN(copy->size - at, GP_COPY_LANE);

	if (copy->src)
		memcpy(copy->dst + at, copy->src + at, size);
	for (uint64_t i = 0; !copy->src && i < size; i += sizeof(copy->pattern))
		memcpy(copy->dst + at + i, &copy->pattern, sizeof(copy->pattern));
}

static void run_lane(struct gp_launch *launch, const struct gp_image *image, enum gp_kernel kernel,
		     uint64_t n)
{
	struct gp_thread thread = lane_thread(launch, n);
	uint64_t item = launch->first + n;

	if (!image && kernel == GP_KERNEL_COPY) {
		run_copy(launch, n);
	} else if (!image) {
		for (uint32_t i = 0; i < launch->num_ops; i++)
			gp_map_op_run(&launch->ops[i]);
	} else if (!launch->in) {
		run_item(launch, image, &thread, n);
	} else if (launch->parts) {
		run_part(launch, image, &thread, &launch->parts[item]);
	} else {
		run_packet(launch, image, &thread, launch->order ? launch->order[item] : (uint32_t)item);
	}
}

void lanes_move(const struct gp_launch_copy *copy)
{
	if (copy->src)
		memcpy(copy->dst, copy->src, copy->size);
	for (uint64_t i = 0; !copy->src && i < copy->size; i += sizeof(copy->pattern))
		memcpy(copy->dst + i, &copy->pattern, sizeof(copy->pattern));
}

void lanes_run(struct gp_launch *launch, const struct gp_image *image, enum gp_kernel kernel, bool in_order)
{
	uint64_t from = in_order ? 0 : mix(launch->seed) % MAX(launch->count, 1);

	for (uint64_t n = 0; n < launch->count; n++)
		run_lane(launch, image, kernel, (from + n) % launch->count);
}

static void *nowhere(void)
{
	return (void *)(uintptr_t)0xdead000000000000ull;
}

void lanes_scribble(struct gp_launch *launch)
{
	struct gp_launch garbage;

	for (uint32_t i = 0; i < launch->num_ops; i++) {
		struct gp_map_op *op = &launch->ops[i];

		*op = (struct gp_map_op){ .kind = UINT32_MAX,
					  .map = nowhere(),
					  .key = nowhere(),
					  .value = nowhere(),
					  .count = UINT32_MAX,
					  .done = op->done,
					  .dropped = op->dropped,
					  .result = op->result };
	}
	for (uint64_t i = 0; launch->in && i < launch->count; i++) {
		if (launch->parts)
			launch->parts[i].next = launch->parts[i].end = UINT32_MAX;
		else if (launch->order)
			((uint32_t *)(uintptr_t)launch->order)[i] = UINT32_MAX;
	}
	memset(&garbage, 0xa5, sizeof(garbage));
	garbage.num_ops = 0;
	garbage.fault_count = launch->fault_count;
	garbage.fault_first = launch->fault_first;
	*launch = garbage;
}
