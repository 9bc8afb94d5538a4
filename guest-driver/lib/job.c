// SPDX-License-Identifier: BSD-3-Clause
/*
 * job.c - submitting work, waiting for it, and fences between jobs.
 *
 * A job is a handle of the node. The kernel holds what a running job uses, so buffers, programs and the job's
 * own handle may go while it runs. Fences are DRM sync objects; the library adds nothing to them but a name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "virtio_gpgpu.h"

#define DEFAULT_GROUP 64 /* work items: a wave of the widest GPU */

/* The kernel checks that what a kind of job does not use is zero, all of the union included. */
static void submit_init(struct drm_virtio_gpgpu_submit *submit, uint32_t type)
{
	memset(submit, 0, sizeof(*submit));
	submit->type = type;
}

static int submit_job(struct gpgpu_device *dev, const char *what, const struct gpgpu_submit *how,
		      struct drm_virtio_gpgpu_submit *submit, struct gpgpu_job **out)
{
	struct gpgpu_job *job;
	int r;

	*out = NULL;
	job = calloc(1, sizeof(*job));
	if (!job)
		return gpgpu_fail(-ENOMEM, "out of memory");
	if (how) {
		submit->timeline = how->timeline;
		submit->queue = how->queue;
		submit->in_syncobjs = (uintptr_t)how->wait;
		submit->num_in_syncobjs = how->num_wait;
		submit->out_syncobj = how->signal;
	}
	r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_SUBMIT, submit);
	if (r) {
		free(job);
		return gpgpu_fail(r, "%s was not submitted: %s", what, strerror(-r));
	}
	job->dev = gpgpu_device_get(dev);
	job->handle = submit->job;
	job->what = what;
	*out = job;
	return 0;
}

/*
 * A group that divides the grid, so that no group is partly filled: powers of two, first dimension first.
 */
static void choose_group(const struct gpgpu_device *dev, const uint32_t grid[3], uint32_t group[3])
{
	uint32_t room = dev->max_group < DEFAULT_GROUP ? dev->max_group : DEFAULT_GROUP;

	for (int d = 0; d < 3; d++) {
		group[d] = 1;
		while (room >= 2 && grid[d] % (group[d] * 2) == 0) {
			group[d] *= 2;
			room /= 2;
		}
	}
}

static int convert_args(const struct gpgpu_program *prog, const struct gpgpu_arg *args,
			struct drm_virtio_gpgpu_arg *out)
{
	for (uint32_t i = 0; i < prog->num_args; i++) {
		const char *name = prog->args[i].name ? prog->args[i].name : "";
		bool value = prog->args[i].kind == GPGPU_ARG_VALUE;

		if (args[i].kind != prog->args[i].kind)
			return gpgpu_fail(-EINVAL, "kernel '%.64s': argument %u (%.64s) %s", prog->name, i,
					  name, args[i].kind ? "is of another kind" : "is not given");
		if (value != !args[i].buffer)
			return gpgpu_fail(-EINVAL, "kernel '%.64s': argument %u (%.64s) is a %s", prog->name,
					  i, name, value ? "value" : "buffer");
		if (!value && args[i].buffer->dev != prog->dev)
			return gpgpu_fail(-EINVAL,
					  "kernel '%.64s': the buffer of argument %u (%.64s) is another "
					  "device's",
					  prog->name, i, name);
		out[i] = (struct drm_virtio_gpgpu_arg){
			.kind = args[i].kind,
			.handle = value ? 0 : args[i].buffer->handle,
			.value = args[i].value,
			.size = args[i].size,
		};
	}
	return 0;
}

static int check_program(const struct gpgpu_program *prog, uint32_t kind)
{
	if (prog->kind != kind)
		return gpgpu_fail(-EINVAL, "'%.64s' is not %s", prog->name,
				  kind == GPGPU_PROGRAM_XDP ? "an XDP program" : "a compute kernel");
	if (!prog->dev)
		return gpgpu_fail(-ENODEV, "program '%.64s' is not loaded", prog->name);
	return 0;
}

int gpgpu_dispatch(struct gpgpu_program *prog, const uint32_t grid[3], const uint32_t group[3],
		   const struct gpgpu_arg *args, uint32_t num_args, const struct gpgpu_submit *how,
		   struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_arg raw[GPGPU_MAX_ARGS];
	struct drm_virtio_gpgpu_submit submit;
	int r = check_program(prog, GPGPU_PROGRAM_KERNEL);

	*job = NULL;
	if (r)
		return r;
	if (num_args != prog->num_args)
		return gpgpu_fail(-EINVAL, "kernel '%.64s' takes %u arguments, not %u", prog->name,
				  prog->num_args, num_args);
	if (!grid[0] || !grid[1] || !grid[2])
		return gpgpu_fail(-EINVAL, "a grid of 0 work items");
	r = convert_args(prog, args, raw);
	if (r)
		return r;
	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_DISPATCH);
	submit.dispatch.prog = prog->handle;
	submit.dispatch.num_args = num_args;
	submit.dispatch.args = (uintptr_t)raw;
	memcpy(submit.dispatch.grid, grid, sizeof(submit.dispatch.grid));
	if (group)
		memcpy(submit.dispatch.group, group, sizeof(submit.dispatch.group));
	else
		choose_group(prog->dev, grid, submit.dispatch.group);
	return submit_job(prog->dev, "the dispatch", how, &submit, job);
}

int gpgpu_packets(struct gpgpu_program *prog, struct gpgpu_buffer *buf, uint64_t offset, uint32_t stride,
		  const struct gpgpu_packet *packets, uint32_t num_packets, uint32_t flags,
		  const struct gpgpu_submit *how, struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_submit submit;
	int r = check_program(prog, GPGPU_PROGRAM_XDP);

	_Static_assert(sizeof(*packets) == sizeof(struct drm_virtio_gpgpu_packet_desc), "layout");
	*job = NULL;
	if (r)
		return r;
	if (buf->dev != prog->dev)
		return gpgpu_fail(-EINVAL, "the packets' buffer is another device's");
	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_PACKETS);
	submit.flags = flags;
	submit.packets.prog = prog->handle;
	submit.packets.buffer = buf->handle;
	submit.packets.offset = offset;
	submit.packets.stride = stride;
	submit.packets.num_packets = num_packets;
	submit.packets.descs = (uintptr_t)packets;
	return submit_job(prog->dev, "the batch of packets", how, &submit, job);
}

int gpgpu_copy(struct gpgpu_buffer *dst, uint64_t dst_offset, struct gpgpu_buffer *src, uint64_t src_offset,
	       uint64_t size, const struct gpgpu_submit *how, struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_submit submit;

	*job = NULL;
	if (dst->dev != src->dev)
		return gpgpu_fail(-EINVAL, "a copy between two devices");
	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_COPY);
	submit.copy.dst = dst->handle;
	submit.copy.src = src->handle;
	submit.copy.dst_offset = dst_offset;
	submit.copy.src_offset = src_offset;
	submit.copy.size = size;
	return submit_job(dst->dev, "the copy", how, &submit, job);
}

int gpgpu_fill(struct gpgpu_buffer *dst, uint64_t offset, uint64_t size, uint32_t pattern,
	       const struct gpgpu_submit *how, struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_submit submit;

	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_FILL);
	submit.copy.dst = dst->handle;
	submit.copy.dst_offset = offset;
	submit.copy.size = size;
	submit.copy.pattern = pattern;
	return submit_job(dst->dev, "the fill", how, &submit, job);
}

int gpgpu_nop(struct gpgpu_device *dev, const struct gpgpu_submit *how, struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_submit submit;

	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_NOP);
	return submit_job(dev, "the empty job", how, &submit, job);
}

static void convert_result(const struct drm_virtio_gpgpu_job_wait *wait, struct gpgpu_job_result *result)
{
	*result = (struct gpgpu_job_result){
		.result = { wait->result.status, wait->result.reason, wait->result.detail },
		.device_ns = wait->device_ns,
		.queued_ns = wait->queued_ns,
		.fault_count = wait->fault_count,
		.fault_insn = wait->fault_insn,
		.slices = wait->slices,
		.bytes = wait->bytes,
	};
	memcpy(result->verdicts, wait->verdicts, sizeof(result->verdicts));
}

static int job_fail(const struct gpgpu_job *job, int r, const struct drm_virtio_gpgpu_job_wait *wait)
{
	char message[160];

	if (wait->result.status != VIRTIO_GPGPU_S_FAULT)
		return gpgpu_fail_device(r, job->what, &wait->result, NULL);
	snprintf(message, sizeof(message), "%s: %llu work items, the first is %llu at instruction %u",
		 gpgpu_reason_name(wait->result.reason), (unsigned long long)wait->fault_count,
		 (unsigned long long)wait->result.detail, wait->fault_insn);
	return gpgpu_fail_device(r, job->what, &wait->result, message);
}

int gpgpu_job_wait(struct gpgpu_job *job, int64_t timeout_ns, struct gpgpu_job_result *result,
		   struct gpgpu_packet_result *packets, uint32_t max_packets)
{
	struct drm_virtio_gpgpu_job_wait wait = {
		.job = job->handle,
		.timeout_ns = timeout_ns,
		.results = (uintptr_t)packets,
		.max_results = packets ? max_packets : 0,
	};
	int r = gpgpu_ioctl(job->dev, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &wait);

	_Static_assert(sizeof(*packets) == sizeof(struct drm_virtio_gpgpu_packet_result), "layout");
	if (r == -ETIME)
		return gpgpu_fail(r, "%s has not ended yet", job->what);
	if (result)
		convert_result(&wait, result);
	return r ? job_fail(job, r, &wait) : 0;
}

int gpgpu_job_cancel(struct gpgpu_job *job)
{
	struct drm_virtio_gpgpu_handle cancel = { .handle = job->handle };
	int r = gpgpu_ioctl(job->dev, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, &cancel);

	return r ? gpgpu_fail_device(r, "cancelling a job", &cancel.result, NULL) : 0;
}

void gpgpu_job_destroy(struct gpgpu_job *job)
{
	struct drm_virtio_gpgpu_handle destroy = { 0 };

	if (!job)
		return;
	destroy.handle = job->handle;
	gpgpu_ioctl(job->dev, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, &destroy);
	gpgpu_close(job->dev);
	free(job);
}

int gpgpu_fence_create(struct gpgpu_device *dev, uint32_t *fence)
{
	struct drm_syncobj_create create = { 0 };
	int r = gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	*fence = r ? 0 : create.handle;
	return r ? gpgpu_fail(r, "making a fence: %s", strerror(-r)) : 0;
}

int gpgpu_fence_wait(struct gpgpu_device *dev, uint32_t fence, int64_t timeout_ns)
{
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&fence, .count_handles = 1 };
	struct timespec now;
	int64_t start;
	int r;

	/* The kernel wants a point in time on the monotonic clock. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	start = now.tv_sec * 1000000000ll + now.tv_nsec;
	wait.timeout_nsec = timeout_ns == 0				       ? 0
			    : timeout_ns < 0 || timeout_ns > INT64_MAX - start ? INT64_MAX
									       : start + timeout_ns;
	r = gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	return r ? gpgpu_fail(r, "waiting for a fence: %s", strerror(-r)) : 0;
}

void gpgpu_fence_destroy(struct gpgpu_device *dev, uint32_t fence)
{
	struct drm_syncobj_destroy destroy = { .handle = fence };

	if (fence)
		gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
}
