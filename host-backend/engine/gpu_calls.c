/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_calls.c - the guest's operations on maps as launches: one lane that does one after the other.
 *
 * Keys and values travel in the launch's memory, both ways. Those of a session that wait go together, in the order in which
 * they came, as many as go into a slice: such a launch is a slice like a job's, picked and charged by the scheduler.
 *
 * Threads: made by the submitter, answered by the waiter.
 */
#include <string.h>
#include "gpu_priv.h"

#define MAX_CALLS 64
#define MAX_BYTES (4ull << 20) /* of keys and values; more only where one call has more */

static uint64_t value_bytes(const struct gp_map_call *call)
{
	return MAX(call->in_bytes, call->out_bytes);
}

/* Whole words, since maps are read and written in such. */
static uint64_t call_room(const struct gp_map_call *call)
{
	return gp_gpu_room(call->key_bytes + 8ull) + gp_gpu_room(value_bytes(call) + 8);
}

static void fill_call(struct gpu_block *block, struct gp_map_call *call, struct gp_map_op *ops)
{
	memcpy(ops, call->ops, call->num_ops * sizeof(*ops));
	if (call->ops[0].key) {
		uint8_t *key = gp_gpu_take(block, call->key_bytes + 8ull);

		memcpy(key, call->ops[0].key, call->key_bytes);
		ops[0].key = key;
	}
	if (call->ops[0].value) {
		uint8_t *value = gp_gpu_take(block, value_bytes(call) + 8);

		memcpy(value, call->ops[0].value, call->in_bytes);
		/* What is not written is zero in the response, too. */
		memset(value + call->in_bytes, 0, value_bytes(call) + 8 - call->in_bytes);
		ops[0].value = value;
		call->far_value = value;
	}
}

/* There is a map kernel: the submitter has seen it, and it stays. Return: NULL without memory. */
static struct gpu_launch *make_launch(struct gp_device *dev, struct list *calls)
{
	uint32_t num_ops = 0, at = 0;
	struct gpu_launch *launch;
	struct gp_map_op *ops;
	struct list *pos, *next;
	uint64_t bytes = 0;

	list_for_each_safe(pos, next, calls)
	{
		struct gp_map_call *call = container_of(pos, struct gp_map_call, link);

		bytes += call_room(call);
		num_ops += call->num_ops;
	}
	launch = gp_gpu_launch_new(dev, GPU_CALLS, gp_gpu_room(num_ops * sizeof(*ops)) + bytes);
	if (!launch)
		return NULL;
	ops = launch->ops = gp_gpu_take(launch->block, num_ops * sizeof(*ops));
	list_for_each_safe(pos, next, calls)
	{
		struct gp_map_call *call = container_of(pos, struct gp_map_call, link);

		fill_call(launch->block, call, ops + at);
		at += call->num_ops;
		list_del(pos);
		list_add_tail(&launch->calls, pos);
	}
	launch->args->ops = ops;
	launch->args->num_ops = launch->num = num_ops;
	gp_gpu_launch_lanes(launch, 1);
	launch->code = dev->map_kernel;
	return launch;
}

/* @num: operations that took @ns; 0: none was done. Engine's lock. */
static void settle(struct gp_device *dev, const struct gp_sched_grant *grant, struct gpgpu_session *s,
		   uint32_t num, uint64_t ns)
{
	dev->planned_ns -= grant->estimate;
	gp_sched_settle(&dev->engine->sched, grant, ns, gp_now());
	if (num)
		s->calls.op_ns = (3 * s->calls.op_ns + ns / num) / 4;
	pthread_cond_signal(&dev->wake);
}

struct gpu_launch *gp_gpu_calls_begin(struct gp_device *dev, struct gpgpu_session *s,
				      const struct gp_sched_grant *grant)
{
	uint32_t status = dev->gone ? VIRTIO_GPGPU_S_DEVICE_LOST : VIRTIO_GPGPU_S_OK;
	struct gpu_launch *launch = NULL;
	struct list calls, *link;

	list_init(&calls);
	gp_calls_take(s, MAX_CALLS, MAX_BYTES, call_room, &calls, gp_now());
	pthread_mutex_unlock(&dev->engine->lock);
	if (!status)
		launch = make_launch(dev, &calls);
	pthread_mutex_lock(&dev->engine->lock);
	if (launch) {
		launch->session = s;
		launch->grant = *grant;
		return launch;
	}
	if (!status)
		status = VIRTIO_GPGPU_S_NO_MEMORY;
	/* Before they are answered, upon which the session may go. */
	settle(dev, grant, s, 0, 0);
	pthread_mutex_unlock(&dev->engine->lock);
	while ((link = list_pop(&calls)))
		gp_map_call_ended(container_of(link, struct gp_map_call, link), status,
				  gp_gpu_reason(dev, status));
	pthread_mutex_lock(&dev->engine->lock);
	return NULL;
}

/* What the GPU says is kept to what there is room for. */
static void take_results(struct gp_map_call *call, const struct gp_map_op *ops)
{
	for (uint32_t i = 0; i < call->num_ops; i++) {
		struct gp_map_op *op = &call->ops[i];
		int64_t result = gp_gpu_read(ops[i].result);
		uint32_t done = gp_gpu_read(ops[i].done);

		op->result = MIN(result, i ? 1 : (int64_t)call->out_bytes);
		op->done = MIN(done, op->count);
		op->dropped = gp_gpu_read(ops[i].dropped);
	}
	if (call->out_bytes)
		memcpy(call->ops[0].value, call->far_value, call->out_bytes);
}

void gp_gpu_calls_ended(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status)
{
	const struct gp_map_op *ops = launch->ops;
	struct list *link;

	pthread_mutex_lock(&dev->engine->lock);
	settle(dev, &launch->grant, launch->session, status ? 0 : launch->num, ns);
	pthread_mutex_unlock(&dev->engine->lock);
	while ((link = list_pop(&launch->calls))) {
		struct gp_map_call *call = container_of(link, struct gp_map_call, link);

		if (!status)
			take_results(call, ops);
		ops += call->num_ops;
		gp_map_call_ended(call, status, gp_gpu_reason(dev, status));
	}
	gp_gpu_launch_free(dev, launch);
}
