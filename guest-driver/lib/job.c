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

/* The fences that a job waits for: those that are given, and those of other jobs. Return: 0 or negative errno, noted. */
static int collect_waits(struct gpgpu_device *dev, const struct gpgpu_submit *how, const char *what,
			 uint32_t waits[MAX_WAITS])
{
	uint32_t num = 0;

	if (how->num_wait > MAX_WAITS || how->num_after > MAX_WAITS - how->num_wait)
		return gpgpu_fail(-E2BIG, "%s: is to wait for more than %d fences and jobs", what, MAX_WAITS);
	for (uint32_t i = 0; i < how->num_wait; i++)
		waits[num++] = how->wait[i];
	for (uint32_t i = 0; i < how->num_after; i++) {
		if (!how->after[i]->fence)
			return gpgpu_fail(-EINVAL,
					  "%s: a job that it is to wait for was not submitted in a queue",
					  what);
		/* Elsewhere its fence's number is another fence's, or none's. */
		if (how->after[i]->dev != dev)
			return gpgpu_fail(-EINVAL, "%s: a job that it is to wait for is another device's",
					  what);
		waits[num++] = how->after[i]->fence;
	}
	return 0;
}

static int apply_how(struct gpgpu_device *dev, const char *what, const struct gpgpu_submit *how,
		     struct drm_virtio_gpgpu_submit *submit, uint32_t waits[MAX_WAITS])
{
	int r = collect_waits(dev, how, what, waits);

	if (r)
		return r;
	if (how->in && how->in->dev != dev)
		return gpgpu_fail(-EINVAL, "%s: the queue is another device's", what);
	if (how->in && how->signal)
		return gpgpu_fail(-EINVAL, "%s: a job in a queue signals a fence of its own", what);
	submit->timeline = how->in ? gpgpu_queue_next(how->in) : how->timeline;
	submit->queue = how->queue;
	submit->in_syncobjs = (uintptr_t)waits;
	submit->num_in_syncobjs = how->num_wait + how->num_after;
	submit->out_syncobj = how->signal;
	return 0;
}

/* With a fence of its own the job can be waited for by others. */
static int submit_raw(struct gpgpu_device *dev, const char *what, struct drm_virtio_gpgpu_submit *submit,
		      bool own_fence, struct gpgpu_job **out)
{
	struct gpgpu_job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return gpgpu_fail(-ENOMEM, "out of memory");
	if (own_fence) {
		r = gpgpu_fence_create(dev, &job->fence);
		if (r) {
			free(job);
			return r;
		}
		submit->out_syncobj = job->fence;
	}
	r = gpgpu_ioctl(dev, DRM_IOCTL_VIRTIO_GPGPU_SUBMIT, submit);
	if (r) {
		gpgpu_fence_destroy(dev, job->fence);
		free(job);
		return gpgpu_fail(r, "%s was not submitted: %s", what, strerror(-r));
	}
	job->dev = gpgpu_device_get(dev);
	job->refs = 1;
	job->handle = submit->job;
	job->what = what;
	*out = job;
	return 0;
}

static int submit_job(struct gpgpu_device *dev, const char *what, const struct gpgpu_submit *how,
		      struct drm_virtio_gpgpu_submit *submit, struct gpgpu_job **out)
{
	uint32_t waits[MAX_WAITS];
	int r = how ? apply_how(dev, what, how, submit, waits) : 0;

	*out = NULL;
	return r ? r : submit_raw(dev, what, submit, how && how->in, out);
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

/* What the device would refuse as well, in words that name the numbers. */
static int check_group(const struct gpgpu_program *prog, const uint32_t grid[3], const uint32_t group[3])
{
	uint64_t items = 1;

	for (int d = 0; d < 3; d++) {
		if (!group[d])
			return gpgpu_fail(-EINVAL, "a group of 0 work items");
		items = items * group[d] > UINT32_MAX ? UINT32_MAX : items * group[d];
	}
	if (items > prog->dev->max_group)
		return gpgpu_fail(-EINVAL, "a group of %u x %u x %u work items, the device takes %u",
				  group[0], group[1], group[2], prog->dev->max_group);
	for (int d = 0; d < 3 && prog->has_groups; d++) {
		if (grid[d] % group[d])
			return gpgpu_fail(
				-EINVAL,
				"kernel '%.64s' is run by whole groups, and a grid of %u x %u x %u is none of "
				"groups of %u x %u x %u: round it up",
				prog->name, grid[0], grid[1], grid[2], group[0], group[1], group[2]);
	}
	return 0;
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
	if (group && (group[0] || group[1] || group[2]))
		memcpy(submit.dispatch.group, group, sizeof(submit.dispatch.group));
	else
		choose_group(prog->dev, grid, submit.dispatch.group);
	r = check_group(prog, grid, submit.dispatch.group);
	return r ? r : submit_job(prog->dev, "the dispatch", how, &submit, job);
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

int gpgpu_submit_marker(struct gpgpu_device *dev, uint32_t timeline, struct gpgpu_job **job)
{
	struct drm_virtio_gpgpu_submit submit;

	submit_init(&submit, DRM_VIRTIO_GPGPU_JOB_NOP);
	submit.timeline = timeline;
	return submit_raw(dev, "the end of a queue", &submit, true, job);
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

int gpgpu_job_times(struct gpgpu_job *job, struct gpgpu_job_times *times)
{
	struct drm_virtio_gpgpu_job_wait wait = { .job = job->handle };
	int r = gpgpu_ioctl(job->dev, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &wait);

	memset(times, 0, sizeof(*times));
	/* How it ended is not asked. */
	if (r == -ETIME)
		return gpgpu_fail(r, "%s has not ended yet", job->what);
	/* Nor is the job there to be asked where there is no result of it: the device has gone. */
	if (r && !wait.ended_ns && !wait.result.status)
		return gpgpu_fail(r, "when %s ended: %s", job->what, strerror(-r));
	if (!wait.ended_ns)
		return gpgpu_fail(-EOPNOTSUPP, "the driver does not say when jobs end");
	*times = (struct gpgpu_job_times){
		.queued = wait.taken_ns,
		.submitted = wait.sent_ns,
		.started = wait.sent_ns ? wait.sent_ns + wait.queued_ns : 0,
		.ended = wait.ended_ns,
	};
	/* The device has a clock of its own, and what it says is not to be believed. */
	if (times->started > times->ended || times->started < times->submitted)
		times->started = times->ended;
	return 0;
}

int gpgpu_jobs_wait(struct gpgpu_job *const *jobs, uint32_t num_jobs, bool all, int64_t timeout_ns,
		    uint32_t *first)
{
	struct drm_syncobj_wait wait = { .count_handles = num_jobs,
					 .timeout_nsec = gpgpu_deadline(timeout_ns),
					 .flags = all ? DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL : 0 };
	uint32_t *fences;
	int r = 0;

	if (!num_jobs)
		return gpgpu_fail(-EINVAL, "waiting for no jobs");
	fences = calloc(num_jobs, sizeof(*fences));
	if (!fences)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < num_jobs && !r; i++) {
		fences[i] = jobs[i]->fence;
		if (!fences[i])
			r = gpgpu_fail(-EINVAL, "job %u was not submitted in a queue", i);
		else if (jobs[i]->dev != jobs[0]->dev)
			r = gpgpu_fail(-EINVAL, "job %u is another device's", i);
	}
	wait.handles = (uintptr_t)fences;
	if (!r) {
		r = gpgpu_ioctl(jobs[0]->dev, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
		if (r)
			gpgpu_fail(r, "waiting for jobs: %s",
				   r == -ETIME ? "they have not ended yet" : strerror(-r));
	}
	if (!r && first && !all)
		*first = wait.first_signaled;
	free(fences);
	return r;
}

void gpgpu_job_put(struct gpgpu_job *job)
{
	struct drm_virtio_gpgpu_handle destroy = { .handle = job->handle };

	if (__atomic_sub_fetch(&job->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	gpgpu_ioctl(job->dev, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, &destroy);
	gpgpu_fence_destroy(job->dev, job->fence);
	gpgpu_close(job->dev);
	free(job);
}

void gpgpu_job_destroy(struct gpgpu_job *job)
{
	if (job)
		gpgpu_job_put(job);
}

int gpgpu_fence_create(struct gpgpu_device *dev, uint32_t *fence)
{
	struct drm_syncobj_create create = { 0 };
	int r = gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	*fence = r ? 0 : create.handle;
	return r ? gpgpu_fail(r, "making a fence: %s", strerror(-r)) : 0;
}

int64_t gpgpu_deadline(int64_t timeout_ns)
{
	struct timespec now;
	int64_t start;

	clock_gettime(CLOCK_MONOTONIC, &now);
	start = now.tv_sec * 1000000000ll + now.tv_nsec;
	if (timeout_ns == 0)
		return 0;
	return timeout_ns < 0 || timeout_ns > INT64_MAX - start ? INT64_MAX : start + timeout_ns;
}

int gpgpu_fence_wait(struct gpgpu_device *dev, uint32_t fence, int64_t timeout_ns)
{
	/* The kernel wants a point in time on the monotonic clock. */
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&fence,
					 .count_handles = 1,
					 .timeout_nsec = gpgpu_deadline(timeout_ns) };
	int r;

	r = gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	return r ? gpgpu_fail(r, "waiting for a fence: %s", strerror(-r)) : 0;
}

void gpgpu_fence_destroy(struct gpgpu_device *dev, uint32_t fence)
{
	struct drm_syncobj_destroy destroy = { .handle = fence };

	if (fence)
		gpgpu_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
}
