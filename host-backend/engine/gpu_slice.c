/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_slice.c - a chunk of a job as launches, and what comes back from them.
 *
 * A grid and a copy are one launch. A batch of packets is one launch, and one more for each program that some of them
 * go on to by a tail call, and so on (gpu_tail.c); descriptors and results lie in memory of the slice's own meanwhile. Where
 * programs leave something to be read, a last launch looks for it (gpu_look.c) before the slice is over.
 *
 * Parts (order=flow, order=all): a lane runs the packets of a part one after the other. All parts that have packets left
 * go into one launch, with `part_packets` of each at most, which is how long a launch may take: it grows and shrinks as
 * the launches before were shorter or longer than a slice. A program that makes tail calls gets one packet of each part,
 * so that the chain of a packet ends before the next begins.
 *
 * Threads: a slice is the submitter's until it is launched, the waiter's from then on. The job is kept by its chunk.
 */
#include <linux/bpf.h>
#include <string.h>
#include "gpu_priv.h"
#include "retire.h"

#define FIRST_PART_PACKETS 16
#define MAX_PART_PACKETS   4096
#define STAGED_ITEMS	   ((4u << 20) / GP_COPY_ITEM)

static void fail(struct gpu_slice *slice, uint32_t status, uint32_t reason)
{
	if (slice->status)
		return;
	slice->status = status;
	slice->reason = reason;
}

static bool no_memory(struct gpu_slice *slice)
{
	fail(slice, VIRTIO_GPGPU_S_NO_MEMORY, VIRTIO_GPGPU_R_HOST_MEMORY);
	return false;
}

static void add(struct gpu_slice *slice, struct gpu_launch *launch, struct list *ready)
{
	launch->slice = slice;
	slice->outstanding++;
	list_add_tail(ready, &launch->link);
}

/* ------------------------------------------------------------------------ grids */

static bool begin_grid(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	struct gp_job *job = slice->job;
	uint64_t room = gp_gpu_room(sizeof(job->args)) + gp_gpu_room(sizeof(job->arg_values)) +
			gp_gpu_room(sizeof(slice->clock));
	struct gpu_launch *launch = gp_gpu_launch_new(dev, GPU_GRID, room);
	struct gp_env *env;
	struct gp_clock *clock;
	struct gp_region *args;
	uint64_t *values;

	if (!launch)
		return no_memory(slice);
	args = gp_gpu_take(launch->block, sizeof(job->args));
	values = gp_gpu_take(launch->block, sizeof(job->arg_values));
	clock = gp_gpu_take(launch->block, sizeof(*clock));
	memcpy(args, job->args, sizeof(job->args));
	if (!job->session->shared && !gp_gpu_stage_args(dev, job, args)) {
		gp_gpu_launch_free(dev, launch);
		return no_memory(slice);
	}
	memcpy(values, job->arg_values, sizeof(job->arg_values));
	*clock = slice->clock;
	env = &launch->args->env;
	*env = job->env;
	env->args = args;
	env->arg_values = values;
	env->clock = clock;
	env->stop = launch->stop;
	launch->args->grid = job->grid;
	launch->args->first = slice->chunk.first;
	gp_gpu_launch_lanes(launch, slice->chunk.count);
	launch->code = job->prog->code;
	add(slice, launch, ready);
	return true;
}

static void end_grid(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	uint64_t count = gp_gpu_read(launch->args->fault_count);
	uint64_t first = gp_gpu_read(launch->args->fault_first);

	slice->chunk.ran = slice->chunk.count;
	if (!count)
		return;
	slice->chunk.faults = (struct gp_faults){
		.count = MIN(count, slice->chunk.count),
		.first = slice->chunk.first + MIN(first >> 32, slice->chunk.count - 1),
		.reason = first >> 16 & 0xffff,
		.insn = first & 0xffff,
	};
}

/* ----------------------------------------------------------------------- copies */

/* All of it in shared memory that the GPU does not reach. */
static void copy_here(const struct gp_job *job, uint64_t at, uint64_t size)
{
	if (job->src)
		memcpy(job->dst + at, job->src + at, size);
	for (uint64_t i = 0; !job->src && i < size; i += sizeof(job->pattern))
		memcpy(job->dst + at + i, &job->pattern, sizeof(job->pattern));
}

/*
 * Where one end is there, by way of memory that both reach.
 * @copy: as it would be; changed. Return: false without memory.
 */
static bool stage_copy(struct gp_device *dev, struct gpu_slice *slice, struct gp_launch_copy *copy)
{
	slice->staging = gp_gpu_block(dev, copy->size);
	if (!slice->staging)
		return no_memory(slice);
	if (gp_gpu_is_far(slice->job, copy->dst)) {
		copy->dst = slice->staging->base;
		return true;
	}
	memcpy(slice->staging->base, copy->src, copy->size);
	copy->src = slice->staging->base;
	return true;
}

static bool in_shm(const struct gp_job *job, const uint8_t *at)
{
	const struct gpgpu_session *s = job->session;

	return at >= s->shm && at < s->shm + s->shm_size;
}

/* Return: false if it is over, done or failed. */
static bool begin_copy(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	struct gp_job *job = slice->job;
	uint64_t at = slice->chunk.first * GP_COPY_ITEM;
	bool dst_far = gp_gpu_is_far(job, job->dst), src_far = job->src && gp_gpu_is_far(job, job->src);
	uint64_t count = dst_far || src_far ? MIN(slice->chunk.count, STAGED_ITEMS) : slice->chunk.count;
	struct gp_launch_copy copy = {
		.dst = job->dst + at,
		.src = job->src ? job->src + at : NULL,
		.size = MIN(job->size - at, count * GP_COPY_ITEM),
		.pattern = job->pattern,
	};
	struct gpu_launch *launch;

	slice->chunk.ran = count;
	if (dst_far && (src_far || !job->src)) {
		copy_here(job, at, copy.size);
		return false;
	}
	if ((dst_far || src_far) && !stage_copy(dev, slice, &copy))
		return false;
	launch = gp_gpu_launch_new(dev, GPU_COPY, 0);
	if (!launch)
		return no_memory(slice);
	launch->args->copy = launch->copy = copy;
	/* Where the host's memory is at one end: lanes would wait for the bus. */
	launch->by_engine = dev->ops->copy && (in_shm(job, job->dst) || in_shm(job, job->src));
	gp_gpu_launch_lanes(launch, (copy.size + GP_COPY_LANE - 1) / GP_COPY_LANE);
	launch->code = dev->copy_kernel;
	add(slice, launch, ready);
	return true;
}

static void end_copy(struct gpu_slice *slice)
{
	struct gp_job *job = slice->job;
	uint64_t at = slice->chunk.first * GP_COPY_ITEM;

	if (slice->staging && gp_gpu_is_far(job, job->dst))
		memcpy(job->dst + at, slice->staging->base,
		       MIN(job->size - at, slice->chunk.ran * GP_COPY_ITEM));
}

/* ---------------------------------------------------------------------- packets */

/* Room for the slice's packets; what comes in is copied there. */
static bool take_packets(struct gp_device *dev, struct gpu_slice *slice)
{
	struct gp_job *job = slice->job;
	uint64_t in_bytes, out_bytes;

	slice->base = job->parts ? 0 : (uint32_t)slice->chunk.first;
	slice->num = (uint32_t)(job->parts ? job->items : slice->chunk.count);
	in_bytes = slice->num * sizeof(*slice->in);
	out_bytes = slice->num * sizeof(*slice->out);
	slice->packets = gp_gpu_block(dev, gp_gpu_room(in_bytes) + gp_gpu_room(out_bytes));
	if (!slice->packets)
		return no_memory(slice);
	slice->in = gp_gpu_take(slice->packets, in_bytes);
	slice->out = gp_gpu_take(slice->packets, out_bytes);
	memcpy(slice->in, job->in + slice->base, in_bytes);
	slice->slots = job->env.slots + slice->base * job->env.stride;
	if (!gp_gpu_is_far(job, slice->slots))
		return true;
	slice->staging = gp_gpu_block(dev, slice->num * job->env.stride);
	if (!slice->staging)
		return no_memory(slice);
	memcpy(slice->staging->base, slice->slots, slice->num * job->env.stride);
	slice->slots = slice->staging->base;
	return true;
}

static bool begin_parts(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	struct gp_job *job = slice->job;
	uint32_t most = job->part_packets, num = 0;
	uint64_t room = gp_gpu_room(job->num_parts * sizeof(struct gp_launch_part));
	struct gp_launch_part *parts;
	struct gpu_launch *launch;

	if (!most)
		most = job->part_packets = FIRST_PART_PACKETS;
	if (job->prog->tail_calls)
		most = 1;
	if (dev->info.times)
		most = MIN(most, dev->info.times);
	launch = gp_gpu_packets(dev, slice, job->prog, job->order, (uint32_t)job->items, room);
	if (!launch)
		return no_memory(slice);
	parts = gp_gpu_take(launch->block, job->num_parts * sizeof(*parts));
	launch->part_of = g_new(uint32_t, job->num_parts);
	slice->ran = g_new0(uint32_t, job->num_parts);
	for (uint32_t i = 0; i < job->num_parts; i++) {
		const struct gp_part *part = &job->parts[i];

		if (part->next == part->end)
			continue;
		launch->part_of[num] = i;
		parts[num] = (struct gp_launch_part){
			.next = part->next,
			.end = part->next + MIN(most, part->end - part->next),
		};
		launch->times = MAX(launch->times, parts[num].end - parts[num].next);
		num++;
	}
	launch->args->parts = launch->parts = parts;
	launch->num = num;
	gp_gpu_launch_lanes(launch, num);
	add(slice, launch, ready);
	return true;
}

static bool begin_packets(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	struct gp_job *job = slice->job;
	struct gpu_launch *launch;

	if (!take_packets(dev, slice))
		return false;
	if (job->parts)
		return begin_parts(dev, slice, ready);
	launch = gp_gpu_packets(dev, slice, job->prog, NULL, slice->num, 0);
	if (!launch)
		return no_memory(slice);
	add(slice, launch, ready);
	return true;
}

static void give_up_packet(struct gpu_slice *slice, const struct gp_part *part)
{
	uint32_t packet = slice->job->order ? slice->job->order[part->next] : part->next;
	const struct gp_packet_in *in = &slice->in[packet];

	slice->out[packet] = (struct gp_packet_out){
		.verdict = XDP_ABORTED,
		.data_off = in->data_off,
		.data_len = in->data_len,
		.meta_len = in->meta_len,
		.fault = VIRTIO_GPGPU_R_OUT_OF_FUEL,
	};
}

static void end_parts(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	for (uint32_t i = 0; i < launch->num; i++) {
		const struct gp_part *part = &slice->job->parts[launch->part_of[i]];
		uint32_t most = MIN(part->end - part->next, MAX_PART_PACKETS);
		uint32_t ran = gp_gpu_read(launch->parts[i].ran);

		ran = MIN(ran, most);
		/* Told to stop before it began even one: that one is what took too long, or nothing would ever get on. */
		if (!ran && *launch->stop == GP_STOP_NOW) {
			give_up_packet(slice, part);
			ran = 1;
		}
		slice->ran[launch->part_of[i]] = ran;
		slice->chunk.ran += ran;
	}
}

static void end_packets(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	if (launch->parts)
		end_parts(slice, launch);
	else if (!slice->pass)
		slice->chunk.ran = slice->chunk.count;
	gp_gpu_tails_note(slice, launch);
}

static void answer_packet(struct gpu_slice *slice, uint32_t packet)
{
	struct gp_packet_out *out = &slice->job->out[packet];
	uint64_t stride = slice->job->env.stride;
	struct gp_faults fault = { .count = 1, .first = packet };

	*out = slice->out[packet - slice->base];
	fault.reason = out->fault;
	fault.insn = out->fault_insn;
	if (slice->staging)
		memcpy(slice->job->env.slots + packet * stride,
		       slice->slots + (packet - slice->base) * stride, stride);
	if (out->fault)
		gp_faults_add(&slice->chunk.faults, &fault);
}

/* Results of the packets that were run go to the response. */
static void answer_packets(struct gpu_slice *slice)
{
	const struct gp_job *job = slice->job;

	if (!job->parts) {
		for (uint32_t i = 0; i < slice->num; i++)
			answer_packet(slice, slice->base + i);
		return;
	}
	for (uint32_t p = 0; p < job->num_parts; p++) {
		for (uint32_t i = 0; i < slice->ran[p]; i++) {
			uint32_t at = job->parts[p].next + i;

			answer_packet(slice, job->order ? job->order[at] : at);
		}
	}
}

/* ----------------------------------------------------------------------- slices */

bool gp_gpu_slice_begin(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	struct gp_job *job = slice->job;

	slice->progs = g_ptr_array_new();
	slice->tails = g_array_new(FALSE, FALSE, sizeof(struct gpu_tail));
	if (!job->prog)
		return begin_copy(dev, slice, ready);
	g_ptr_array_add(slice->progs, job->prog);
	gp_gpu_clock(dev, &slice->clock);
	if (job->type == VIRTIO_GPGPU_CMD_DISPATCH)
		return begin_grid(dev, slice, ready);
	return begin_packets(dev, slice, ready);
}

static void take_results(struct gpu_slice *slice, const struct gpu_launch *launch)
{
	switch (launch->kind) {
	case GPU_PACKETS:
		end_packets(slice, launch);
		break;
	case GPU_GRID:
		end_grid(slice, launch);
		break;
	case GPU_COPY:
		end_copy(slice);
		break;
	case GPU_LOOK:
		gp_gpu_looked(slice, launch);
		break;
	case GPU_CALLS:
		break;
	}
}

/* What a slice needs beside what it was begun with. */
static void go_on(struct gp_device *dev, struct gpu_slice *slice, struct list *ready)
{
	if (slice->status)
		return;
	if (slice->tails->len && !gp_gpu_tails_launch(dev, slice, ready))
		no_memory(slice);
	if (slice->outstanding || slice->looked || slice->status)
		return;
	slice->looked = true;
	if (slice->job->prog) {
		struct gpu_launch *launch = gp_gpu_look(dev, slice);

		if (launch)
			add(slice, launch, ready);
	}
}

bool gp_gpu_slice_ended(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status,
			struct list *ready)
{
	struct gpu_slice *slice = launch->slice;

	slice->ns += ns;
	slice->outstanding--;
	/* What programs have left is found when another slice ends. */
	if (status && (launch->kind != GPU_LOOK || status != VIRTIO_GPGPU_S_NO_MEMORY))
		fail(slice, status, gp_gpu_reason(dev, status));
	else if (!status)
		take_results(slice, launch);
	gp_gpu_launch_free(dev, launch);
	if (!slice->outstanding)
		go_on(dev, slice, ready);
	return !slice->outstanding;
}

/* Fewer packets of each part for the next launch, or more. Engine's lock. */
static void adjust_parts(struct gp_device *dev, struct gpu_slice *slice)
{
	struct gp_job *job = slice->job;

	for (uint32_t p = 0; slice->ran && p < job->num_parts; p++)
		job->parts[p].next += slice->ran[p];
	if (slice->ns > dev->engine->slice_ns)
		job->part_packets = MAX(job->part_packets / 2, 1);
	else if (slice->ns < dev->engine->slice_ns / 4)
		job->part_packets = MIN(job->part_packets * 2, MAX_PART_PACKETS);
}

static void free_slice(struct gp_device *dev, struct gpu_slice *slice)
{
	gp_gpu_block_put(dev, slice->packets);
	gp_gpu_block_put(dev, slice->staging);
	if (slice->progs)
		g_ptr_array_unref(slice->progs);
	if (slice->tails)
		g_array_unref(slice->tails);
	g_free(slice->ran);
	g_free(slice);
}

void gp_gpu_slice_finish(struct gp_device *dev, struct gpu_slice *slice)
{
	struct gpgpu_engine *engine = dev->engine;
	struct gp_job *job = slice->job;
	struct gpgpu_session *s = job->session;
	uint64_t now;
	bool ended;

	if (slice->status)
		slice->chunk.ran = slice->chunk.count;
	else if (job->type == VIRTIO_GPGPU_CMD_PACKETS)
		answer_packets(slice);
	pthread_mutex_lock(&engine->lock);
	now = gp_now();
	if (slice->status)
		gp_job_lose(job, slice->status, slice->reason, now);
	if (job->parts)
		adjust_parts(dev, slice);
	dev->planned_ns -= slice->grant.estimate;
	gp_sched_settle(&engine->sched, &slice->grant, slice->ns, now);
	ended = gp_job_put(job, &slice->chunk, slice->ns, now);
	if (ended && job->staging) {
		/* Before the slice has ended, since nothing may be written once that is so. */
		pthread_mutex_unlock(&engine->lock);
		gp_gpu_stage_end(job, !slice->status);
		pthread_mutex_lock(&engine->lock);
	}
	gp_slice_end(s, slice->chunk.phase);
	if (!s->slices && s->waited_for)
		pthread_cond_broadcast(&engine->slice_end);
	pthread_cond_signal(&dev->wake);
	pthread_mutex_unlock(&engine->lock);
	if (ended)
		gp_job_finish(job);
	free_slice(dev, slice);
}
