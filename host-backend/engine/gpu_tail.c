/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_tail.c - packets of a slice as launches, and tail calls: pass by pass.
 *
 * A tail call ends a program with GP_FAULT_TAIL and says which element of which map is meant (chain.c does the same for
 * one packet at a time). When all launches of a pass have ended, the packets that a tail call is due for are sorted by the
 * program that they go on to, and each program gets a launch over its packets, as they were left. So all packets under way
 * have made as many tail calls; the run-time library refuses the 34th, so there are GP_MAX_TAIL passes at most.
 *
 * A program with per-CPU maps gets several launches where it has more packets than there are CPUs.
 *
 * Programs in a map are kept until the slice has ended (retire.c).
 */
#include <linux/bpf.h>
#include <string.h>
#include "gpu_priv.h"

struct gpu_launch *gp_gpu_packets(struct gp_device *dev, struct gpu_slice *slice, struct gp_program *prog,
				  const uint32_t *order, uint32_t count, uint64_t room)
{
	struct gp_job *job = slice->job;
	uint64_t order_bytes = order ? count * sizeof(*order) : 0;
	struct gpu_launch *launch =
		gp_gpu_launch_new(dev, GPU_PACKETS,
				  gp_gpu_room(sizeof(slice->clock)) + gp_gpu_room(order_bytes) + room);
	struct gp_launch *args;
	struct gp_clock *clock;

	if (!launch)
		return NULL;
	clock = gp_gpu_take(launch->block, sizeof(*clock));
	*clock = slice->clock;
	args = launch->args;
	args->env = job->env;
	args->env.stop = launch->stop;
	args->env.clock = clock;
	args->env.slots = slice->slots;
	gp_program_env(prog, &args->env);
	args->env.tail_calls = slice->pass;
	args->in = slice->in;
	args->out = slice->out;
	launch->num = count;
	gp_gpu_launch_lanes(launch, count);
	if (order) {
		uint32_t *copy = gp_gpu_take(launch->block, order_bytes);

		memcpy(copy, order, order_bytes);
		args->order = copy;
	}
	launch->prog = prog;
	launch->code = prog->code;
	return launch;
}

static void abort_packet(struct gp_packet_out *out, uint32_t reason)
{
	out->verdict = XDP_ABORTED;
	out->egress_port = 0;
	out->fault = (uint16_t)reason;
	out->fault_insn = 0;
}

/* The program that packet @packet goes on to, whose out may be anything if a program got out of its bounds. */
static void note_packet(struct gpu_slice *slice, const struct gp_program *prog, uint32_t packet)
{
	struct gp_packet_out *out = &slice->out[packet];
	struct gpu_tail tail = { .packet = packet };

	if (gp_gpu_read(out->fault) != GP_FAULT_TAIL)
		return;
	tail.to = gp_tail_target(prog, gp_gpu_read(out->egress_port), gp_gpu_read(out->fault_insn));
	/* It may have gone after the program had seen it. */
	if (tail.to)
		g_array_append_val(slice->tails, tail);
	else
		abort_packet(out, VIRTIO_GPGPU_R_MAP_REF);
}

void gp_gpu_tails_note(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	const struct gp_job *job = slice->job;

	if (!launch->prog->tail_calls)
		return;
	if (!launch->parts) {
		for (uint32_t i = 0; i < launch->num; i++)
			note_packet(slice, launch->prog, launch->order ? launch->order[i] : i);
		return;
	}
	for (uint32_t i = 0; i < launch->num; i++) {
		uint32_t p = launch->part_of[i], at = job->parts[p].next;

		if (slice->ran[p])
			note_packet(slice, launch->prog, job->order ? job->order[at] : at);
	}
}

static gint by_program(gconstpointer a, gconstpointer b)
{
	const struct gpu_tail *x = a, *y = b;

	if (x->to != y->to)
		return (uintptr_t)x->to < (uintptr_t)y->to ? -1 : 1;
	return x->packet < y->packet ? -1 : x->packet > y->packet;
}

/* The packet as it was left is what comes in. What says so may have been written by others meanwhile. */
static bool turn_around(const struct gpu_slice *slice, uint32_t packet)
{
	struct gp_packet_in *in = &slice->in[packet];
	const struct gp_packet_out out = slice->out[packet];
	uint32_t stride = (uint32_t)slice->job->env.stride;

	in->data_off = out.data_off;
	in->data_len = out.data_len;
	in->meta_len = out.meta_len;
	return out.data_off <= stride && out.data_len <= stride - out.data_off &&
	       out.meta_len <= out.data_off;
}

static bool add_launch(struct gp_device *dev, struct gpu_slice *slice, struct gp_program *prog,
		       const uint32_t *order, uint32_t count, struct list *ready)
{
	struct gpu_launch *launch = gp_gpu_packets(dev, slice, prog, order, count, 0);

	if (!launch)
		return false;
	launch->order = g_memdup2(order, count * sizeof(*order));
	launch->slice = slice;
	slice->outstanding++;
	list_add_tail(ready, &launch->link);
	return true;
}

/* Launches for @count packets that go on to one program. */
static bool launch_program(struct gp_device *dev, struct gpu_slice *slice, const struct gpu_tail *tails,
			   uint32_t count, struct list *ready)
{
	struct gp_program *prog = tails[0].to;
	uint32_t most = prog->per_cpu ? dev->engine->cpus : count, num = 0;
	g_autofree uint32_t *order = g_new(uint32_t, count);

	if (!g_ptr_array_find(slice->progs, prog, NULL))
		g_ptr_array_add(slice->progs, prog);
	for (uint32_t i = 0; i < count; i++) {
		if (turn_around(slice, tails[i].packet))
			order[num++] = tails[i].packet;
		else
			abort_packet(&slice->out[tails[i].packet], VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	}
	for (uint32_t at = 0; at < num; at += most)
		if (!add_launch(dev, slice, prog, order + at, MIN(most, num - at), ready))
			return false;
	return true;
}

static bool is_cancelled(const struct gp_device *dev, const struct gp_job *job)
{
	bool cancelled;

	pthread_mutex_lock(&dev->engine->lock);
	cancelled = job->cancelled;
	pthread_mutex_unlock(&dev->engine->lock);
	return cancelled;
}

bool gp_gpu_tails_launch(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	g_autoptr(GArray) tails = g_steal_pointer(&slice->tails);
	const struct gpu_tail *all = (const struct gpu_tail *)(const void *)tails->data;
	bool over = is_cancelled(dev, slice->job) || slice->pass >= GP_MAX_TAIL;

	slice->tails = g_array_new(FALSE, FALSE, sizeof(struct gpu_tail));
	slice->pass++;
	if (over) {
		for (uint32_t i = 0; i < tails->len; i++)
			abort_packet(&slice->out[all[i].packet], VIRTIO_GPGPU_R_OUT_OF_FUEL);
		return true;
	}
	g_array_sort(tails, by_program);
	for (uint32_t at = 0, n; at < tails->len; at += n) {
		for (n = 1; at + n < tails->len && all[at + n].to == all[at].to; n++)
			;
		if (!launch_program(dev, slice, all + at, n, ready))
			return false;
	}
	return true;
}
