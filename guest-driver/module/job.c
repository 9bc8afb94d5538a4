// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: from what a user asks for to what the device is sent, and back.
 *
 * How it works: the request is built completely, with everything copied from the user and every handle
 * resolved and referenced, before the job gets its place on a timeline (timeline.c); from then on
 * nothing can fail. The response stays with the job until its handle is destroyed, so that it can be
 * asked for as often as one likes.
 *
 * What is checked here is what the device cannot check for us: that handles are this file's and that
 * sizes do not overflow. Ranges, alignments, grids and the like are the device's to judge; what it
 * objects to comes back as the job's result.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_syncobj.h>
#include <drm/virtio_gpgpu_drm.h>

#include "bo.h"
#include "ctx.h"
#include "job.h"

#define MAX_IN_SYNCOBJS		64U
#define MAX_JOB_BYTES		(256LL << 20)	/* kernel memory that one file's job handles may hold */
#define MAX_JOB_HANDLES		XA_LIMIT(1, 65535)

/* May sleep: the request may lie in vmalloc space. */
static void job_free(struct vgpgpu_job *job)
{
	unsigned int i;

	for (i = 0; i < job->num_objs; i++)
		vgpgpu_obj_put(job->objs[i]);
	kfree(job->objs);
	for (i = 0; i < job->num_deps; i++)
		dma_fence_put(job->deps[i].fence);
	kfree(job->deps);
	dma_fence_put(job->fence);
	vgpgpu_req_fini(&job->req);
	atomic64_sub(job->bytes, &job->ctx->job_bytes);
	vgpgpu_obj_put(&job->ctx->obj);
	kfree(job);
}

static void job_release(struct kref *ref)
{
	job_free(container_of(ref, struct vgpgpu_job, ref));
}

/* Process context, no locks held. */
void vgpgpu_job_put(struct vgpgpu_job *job)
{
	kref_put(&job->ref, job_release);
}

static void job_release_later(struct kref *ref)
{
	struct vgpgpu_job *job = container_of(ref, struct vgpgpu_job, ref);
	struct vgpgpu_device *gdev = job->ctx->obj.gdev;

	/* Whoever finds the list empty queues the work, and it takes all; what is listed keeps the device. */
	if (llist_add(&job->free_node, &gdev->job_free_list))
		queue_work(vgpgpu_wq, &gdev->job_free_work);
}

/* Any context, also below the locks of fences. */
void vgpgpu_job_put_atomic(struct vgpgpu_job *job)
{
	kref_put(&job->ref, job_release_later);
}

void vgpgpu_job_free_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev = container_of(work, struct vgpgpu_device, job_free_work);
	struct llist_node *list;
	struct vgpgpu_job *job, *next;

	drm_dev_get(&gdev->drm);
	list = llist_del_all(&gdev->job_free_list);
	llist_for_each_entry_safe(job, next, list, free_node)
		job_free(job);
	drm_dev_put(&gdev->drm);
}

static struct vgpgpu_job *job_find(struct vgpgpu_ctx *ctx, u32 handle)
{
	struct vgpgpu_job *job;

	xa_lock(&ctx->jobs);
	job = xa_load(&ctx->jobs, handle);
	if (job)
		kref_get(&job->ref);
	xa_unlock(&ctx->jobs);
	return job;
}

void vgpgpu_job_drop_handles(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_job *job;
	unsigned long handle;

	xa_for_each(&ctx->jobs, handle, job) {
		xa_erase(&ctx->jobs, handle);
		vgpgpu_job_put(job);
	}
}

/* -------------------------------------------------------------------------------- building requests */

/* Allocates the request and response, and room for references. */
static int job_alloc(struct vgpgpu_job *job, u32 type, u32 flags, size_t out_len, size_t in_cap,
		     u32 num_objs)
{
	struct vgpgpu_ctx *ctx = job->ctx;

	job->bytes = out_len + in_cap;
	if (atomic64_add_return(job->bytes, &ctx->job_bytes) > MAX_JOB_BYTES)
		return -ENOMEM;
	job->objs = kcalloc(num_objs, sizeof(*job->objs), GFP_KERNEL_ACCOUNT);
	if (!job->objs)
		return -ENOMEM;
	/* The first words of every job's request, up to struct virtio_gpgpu_job, are the same. */
	if (vgpgpu_req_init(ctx->obj.gdev, &job->req, out_len, in_cap))
		return out_len > ctx->obj.gdev->max_request ||
		       in_cap > ctx->obj.gdev->max_response ? -E2BIG : -ENOMEM;
	vgpgpu_req_header(&job->req, type, flags, ctx->obj.id);
	return 0;
}

/* Return: the buffer, which the job keeps from now on, or NULL */
static struct vgpgpu_buf *job_use_buf(struct vgpgpu_job *job, struct drm_file *file, u32 handle)
{
	struct vgpgpu_buf *buf = vgpgpu_buf_find(file, handle);

	if (buf)
		job->objs[job->num_objs++] = &buf->obj;
	return buf;
}

static struct vgpgpu_obj *job_use_prog(struct vgpgpu_job *job, u32 handle)
{
	struct vgpgpu_obj *prog = vgpgpu_ctx_find(&job->ctx->progs, handle);

	if (prog)
		job->objs[job->num_objs++] = prog;
	return prog;
}

/* Are the words of the union that this kind of job has no use for zero? */
static bool rest_is_zero(const struct drm_virtio_gpgpu_submit *args, size_t used)
{
	return !memchr_inv((const u8 *)args->space + used, 0, sizeof(args->space) - used);
}

static int build_nop(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
		     struct drm_file *file)
{
	if (!rest_is_zero(args, 0))
		return -EINVAL;
	return job_alloc(job, VIRTIO_GPGPU_CMD_NOP, 0, sizeof(struct virtio_gpgpu_req_nop),
			 sizeof(struct virtio_gpgpu_resp_job), 0);
}

static int build_copy(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
		      struct drm_file *file)
{
	bool fill = args->type == DRM_VIRTIO_GPGPU_JOB_FILL;
	struct virtio_gpgpu_req_copy *req;
	struct vgpgpu_buf *buf;
	int ret;

	if (args->copy.pad || !rest_is_zero(args, sizeof(args->copy)))
		return -EINVAL;
	if (fill ? args->copy.src || args->copy.src_offset : args->copy.pattern)
		return -EINVAL;
	ret = job_alloc(job, fill ? VIRTIO_GPGPU_CMD_FILL : VIRTIO_GPGPU_CMD_COPY, 0, sizeof(*req),
			sizeof(struct virtio_gpgpu_resp_job), 2);
	if (ret)
		return ret;

	req = job->req.out;
	buf = job_use_buf(job, file, args->copy.dst);
	if (!buf)
		return -ENOENT;
	req->dst = cpu_to_le32(buf->obj.id);
	if (!fill) {
		buf = job_use_buf(job, file, args->copy.src);
		if (!buf)
			return -ENOENT;
		req->src = cpu_to_le32(buf->obj.id);
	}
	req->dst_offset = cpu_to_le64(args->copy.dst_offset);
	req->src_offset = cpu_to_le64(args->copy.src_offset);
	req->size = cpu_to_le64(args->copy.size);
	req->pattern = cpu_to_le32(args->copy.pattern);
	return 0;
}

static int build_arg(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_arg *arg,
		     struct drm_file *file, struct virtio_gpgpu_arg *wire)
{
	struct vgpgpu_buf *buf;
	u64 size = arg->size;

	switch (arg->kind) {
	case VIRTIO_GPGPU_ARG_VALUE:
		if (arg->handle || arg->size)
			return -EINVAL;
		break;
	case VIRTIO_GPGPU_ARG_BUFFER:
	case VIRTIO_GPGPU_ARG_BUFFER_RO:
		buf = job_use_buf(job, file, arg->handle);
		if (!buf)
			return -ENOENT;
		if (!size) {
			if (arg->value >= buf->size)
				return -EINVAL;
			size = buf->size - arg->value;
		}
		wire->buffer = cpu_to_le32(buf->obj.id);
		break;
	default:
		return -EINVAL;
	}
	wire->kind = cpu_to_le32(arg->kind);
	wire->value = cpu_to_le64(arg->value);
	wire->size = cpu_to_le64(size);
	return 0;
}

static int build_dispatch(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
			  struct drm_file *file)
{
	const struct drm_virtio_gpgpu_arg __user *user = u64_to_user_ptr(args->dispatch.args);
	struct virtio_gpgpu_req_dispatch *req;
	u32 i, num = args->dispatch.num_args;
	struct drm_virtio_gpgpu_arg arg;
	struct virtio_gpgpu_arg *wire;
	struct vgpgpu_obj *prog;
	int ret;

	if (num > VIRTIO_GPGPU_MAX_ARGS || !rest_is_zero(args, sizeof(args->dispatch)))
		return -EINVAL;
	ret = job_alloc(job, VIRTIO_GPGPU_CMD_DISPATCH, 0, sizeof(*req) + num * sizeof(*wire),
			sizeof(struct virtio_gpgpu_resp_job), num + 1);
	if (ret)
		return ret;

	req = job->req.out;
	wire = (struct virtio_gpgpu_arg *)(req + 1);
	prog = job_use_prog(job, args->dispatch.prog);
	if (!prog)
		return -ENOENT;
	req->prog = cpu_to_le32(prog->id);
	req->num_args = cpu_to_le32(num);
	for (i = 0; i < 3; i++) {
		req->grid[i] = cpu_to_le32(args->dispatch.grid[i]);
		req->group[i] = cpu_to_le32(args->dispatch.group[i]);
	}
	for (i = 0; i < num; i++) {
		if (copy_from_user(&arg, &user[i], sizeof(arg)))
			return -EFAULT;
		ret = build_arg(job, &arg, file, &wire[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int build_packets(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
			 struct drm_file *file)
{
	u32 i, num = args->packets.num_packets;
	struct virtio_gpgpu_packet_desc *descs;
	struct virtio_gpgpu_req_packets *req;
	struct vgpgpu_buf *buf;
	struct vgpgpu_obj *prog;
	int ret;

	static_assert(sizeof(struct drm_virtio_gpgpu_packet_desc) == sizeof(*descs));
	static_assert(sizeof(struct drm_virtio_gpgpu_packet_result) ==
		      sizeof(struct virtio_gpgpu_packet_result));
	if (!num || num > VIRTIO_GPGPU_MAX_BATCH || !rest_is_zero(args, sizeof(args->packets)))
		return -EINVAL;
	ret = job_alloc(job, VIRTIO_GPGPU_CMD_PACKETS, args->flags,
			sizeof(*req) + num * sizeof(*descs),
			sizeof(struct virtio_gpgpu_resp_packets) +
				num * sizeof(struct virtio_gpgpu_packet_result), 2);
	if (ret)
		return ret;

	job->packet = true;
	job->num_packets = num;
	req = job->req.out;
	descs = (struct virtio_gpgpu_packet_desc *)(req + 1);
	prog = job_use_prog(job, args->packets.prog);
	buf = job_use_buf(job, file, args->packets.buffer);
	if (!prog || !buf)
		return -ENOENT;
	req->prog = cpu_to_le32(prog->id);
	req->num_packets = cpu_to_le32(num);
	req->buffer = cpu_to_le32(buf->obj.id);
	req->stride = cpu_to_le32(args->packets.stride);
	req->offset = cpu_to_le64(args->packets.offset);

	/* The same structure but for the byte order, so it goes straight where it is wanted. */
	if (copy_from_user(descs, u64_to_user_ptr(args->packets.descs), num * sizeof(*descs)))
		return -EFAULT;
	for (i = 0; i < num && IS_ENABLED(CONFIG_CPU_BIG_ENDIAN); i++) {
		cpu_to_le32s((u32 *)&descs[i].data_off);
		cpu_to_le32s((u32 *)&descs[i].data_len);
		cpu_to_le16s((u16 *)&descs[i].meta_len);
		cpu_to_le16s((u16 *)&descs[i].rx_queue);
		cpu_to_le32s((u32 *)&descs[i].ingress_port);
	}
	return 0;
}

static const struct {
	int (*build)(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
		     struct drm_file *file);
	u32 flags;			/* that the user may set */
	bool packet;			/* goes to a packet queue, not to a compute queue */
} job_types[] = {
	[DRM_VIRTIO_GPGPU_JOB_NOP]	= { .build = build_nop },
	[DRM_VIRTIO_GPGPU_JOB_DISPATCH]	= { .build = build_dispatch },
	[DRM_VIRTIO_GPGPU_JOB_PACKETS]	= {
		.build = build_packets, .packet = true,
		.flags = VIRTIO_GPGPU_PACKETS_ORDER_FLOW | VIRTIO_GPGPU_PACKETS_ORDER_ALL,
	},
	[DRM_VIRTIO_GPGPU_JOB_COPY]	= { .build = build_copy },
	[DRM_VIRTIO_GPGPU_JOB_FILL]	= { .build = build_copy },
};

/* Looks up what the job has to wait for. */
static int job_get_deps(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
			struct drm_file *file)
{
	const u32 __user *user = u64_to_user_ptr(args->in_syncobjs);
	struct dma_fence *fence;
	u32 i, handle;
	int ret;

	if (!args->num_in_syncobjs)
		return 0;
	job->deps = kcalloc(args->num_in_syncobjs, sizeof(*job->deps), GFP_KERNEL_ACCOUNT);
	if (!job->deps)
		return -ENOMEM;
	for (i = 0; i < args->num_in_syncobjs; i++) {
		if (get_user(handle, &user[i]))
			return -EFAULT;
		ret = drm_syncobj_find_fence(file, handle, 0, 0, &fence);
		if (ret)
			return ret;
		if (dma_fence_is_signaled(fence) ||
		    vgpgpu_timeline_orders(job->ctx, job->timeline, fence)) {
			dma_fence_put(fence);
			continue;
		}
		/* May be looked at before it is registered, by who cancels the job. */
		INIT_LIST_HEAD(&job->deps[job->num_deps].cb.node);
		job->deps[job->num_deps++].fence = fence;
	}
	return 0;
}

static int job_build(struct vgpgpu_job *job, const struct drm_virtio_gpgpu_submit *args,
		     struct drm_file *file)
{
	struct vgpgpu_device *gdev = job->ctx->obj.gdev;
	bool packet = job_types[args->type].packet;
	unsigned int index = VIRTIO_GPGPU_VQ_FIRST_JOB;
	int ret;

	if (packet)
		index += gdev->num_compute + args->queue % gdev->num_packet;
	else
		index += args->queue % gdev->num_compute;
	job->queue = &gdev->queues[index];
	job->timeline = args->timeline;

	ret = job_types[args->type].build(job, args, file);
	if (ret)
		return ret;
	ret = job_get_deps(job, args, file);
	if (ret)
		return ret;
	job->fence = vgpgpu_fence_alloc(args->out_syncobj);
	return job->fence ? 0 : -ENOMEM;
}

/* A job that was not submitted: its fence has not been initialised. */
static void job_discard(struct vgpgpu_job *job)
{
	kfree(job->fence);
	job->fence = NULL;
	vgpgpu_job_put(job);
}

static int submit_check(struct vgpgpu_device *gdev, const struct drm_virtio_gpgpu_submit *args)
{
	if (args->pad || args->type >= ARRAY_SIZE(job_types) || !job_types[args->type].build)
		return -EINVAL;
	if (args->flags & ~job_types[args->type].flags)
		return -EINVAL;
	if (args->timeline >= VGPGPU_NUM_TIMELINES || args->num_in_syncobjs > MAX_IN_SYNCOBJS)
		return -EINVAL;
	if (job_types[args->type].packet && !gdev->num_packet)
		return -EOPNOTSUPP;
	return 0;
}

int vgpgpu_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vgpgpu_device *gdev = to_vgpgpu(drm);
	struct drm_virtio_gpgpu_submit *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct drm_syncobj *out = NULL;
	struct vgpgpu_job *job;
	int ret;

	ret = submit_check(gdev, args);
	if (!ret)
		ret = vgpgpu_ctx_get_ready(ctx, NULL);
	if (ret)
		return ret;

	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return -ENOMEM;
	kref_init(&job->ref);
	init_completion(&job->done);
	INIT_LIST_HEAD(&job->node);
	INIT_LIST_HEAD(&job->fail_node);
	vgpgpu_obj_get(&ctx->obj);
	job->ctx = ctx;
	job->taken_ns = ktime_get_ns();
	ret = job_build(job, args, file);
	if (ret)
		goto discard;
	if (args->out_syncobj) {
		out = drm_syncobj_find(file, args->out_syncobj);
		if (!out) {
			ret = -ENOENT;
			goto discard;
		}
	}
	ret = vgpgpu_timeline_reserve(ctx);
	if (ret)
		goto put_syncobj;

	/* A handle that was guessed is harmless: the job is complete but for its place. */
	kref_get(&job->ref);
	ret = xa_alloc(&ctx->jobs, &args->job, job, MAX_JOB_HANDLES, GFP_KERNEL_ACCOUNT);
	if (ret) {
		vgpgpu_job_put(job);
		vgpgpu_timeline_unreserve(ctx);
		goto put_syncobj;
	}
	vgpgpu_timeline_append(job, job->req.out + sizeof(struct virtio_gpgpu_req_hdr));
	if (out) {
		drm_syncobj_replace_fence(out, job->fence);
		drm_syncobj_put(out);
	}
	vgpgpu_timeline_submit(job);
	vgpgpu_job_put(job);
	return 0;

put_syncobj:
	if (out)
		drm_syncobj_put(out);
discard:
	job_discard(job);
	return ret;
}

/* ------------------------------------------------------------------------------------ what came of it */

static int copy_results(struct vgpgpu_job *job, struct drm_virtio_gpgpu_job_wait *args)
{
	const struct virtio_gpgpu_resp_packets *resp = job->req.in;
	const struct virtio_gpgpu_packet_result *wire = (const void *)(resp + 1);
	struct drm_virtio_gpgpu_packet_result __user *user = u64_to_user_ptr(args->results);
	struct drm_virtio_gpgpu_packet_result chunk[16];
	u32 i, j, n, num;

	/* A job that the device refused has no results. */
	if (!job->num_packets || job->req.in_len < sizeof(*resp))
		return 0;
	for (i = 0; i < ARRAY_SIZE(args->verdicts); i++)
		args->verdicts[i] = le64_to_cpu(resp->verdicts[i]);
	args->bytes = le64_to_cpu(resp->bytes);

	num = (job->req.in_len - sizeof(*resp)) / sizeof(*wire);
	args->num_results = num;
	if (!args->results)
		return 0;
	num = min(num, args->max_results);
	for (i = 0; i < num; i += n) {
		n = min_t(u32, num - i, ARRAY_SIZE(chunk));
		for (j = 0; j < n; j++) {
			chunk[j].verdict = le32_to_cpu(wire[i + j].verdict);
			chunk[j].egress_port = le32_to_cpu(wire[i + j].egress_port);
			chunk[j].data_off = le32_to_cpu(wire[i + j].data_off);
			chunk[j].data_len = le32_to_cpu(wire[i + j].data_len);
			chunk[j].meta_len = le16_to_cpu(wire[i + j].meta_len);
			chunk[j].fault = le16_to_cpu(wire[i + j].fault);
			chunk[j].fault_insn = le32_to_cpu(wire[i + j].fault_insn);
		}
		if (copy_to_user(user + i, chunk, n * sizeof(*chunk)))
			return -EFAULT;
	}
	return 0;
}

static int job_report(struct vgpgpu_job *job, struct drm_virtio_gpgpu_job_wait *args)
{
	const struct virtio_gpgpu_resp_job *resp = job->req.in;
	int ret;

	args->result.status = le32_to_cpu(resp->hdr.status);
	args->result.reason = le32_to_cpu(resp->hdr.reason);
	args->result.detail = le64_to_cpu(resp->hdr.detail);
	args->taken_ns = job->taken_ns;
	args->sent_ns = job->sent_ns;
	args->ended_ns = job->ended_ns;
	if (job->req.in_len >= sizeof(*resp)) {
		args->device_ns = le64_to_cpu(resp->device_ns);
		args->queued_ns = le64_to_cpu(resp->queued_ns);
		args->fault_count = le64_to_cpu(resp->fault_count);
		args->fault_insn = le32_to_cpu(resp->fault_insn);
		args->slices = le32_to_cpu(resp->slices);
	}
	ret = copy_results(job, args);
	return ret ?: vgpgpu_errno(args->result.status, args->result.reason);
}

/* Waits by the clock: jiffies can run ahead of it. */
static int job_wait_until(struct vgpgpu_job *job, ktime_t deadline)
{
	long left;
	s64 ns;

	while (!completion_done(&job->done)) {
		ns = ktime_to_ns(ktime_sub(deadline, ktime_get()));
		if (ns <= 0)
			return -ETIME;
		left = min_t(u64, nsecs_to_jiffies64(ns) + 1, MAX_SCHEDULE_TIMEOUT);
		left = wait_for_completion_interruptible_timeout(&job->done, left);
		if (left < 0)
			return left;
	}
	return 0;
}

int vgpgpu_job_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_job_wait *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	s64 timeout_ns = args->timeout_ns;
	struct vgpgpu_job *job;
	ktime_t deadline;
	int ret;

	if (args->pad || (args->max_results && !args->results))
		return -EINVAL;
	/* The rest is out only. */
	*args = (struct drm_virtio_gpgpu_job_wait) {
		.job = args->job,
		.timeout_ns = timeout_ns,
		.results = args->results,
		.max_results = args->max_results,
	};
	job = job_find(ctx, args->job);
	if (!job)
		return -ENOENT;

	deadline = timeout_ns < 0 ? KTIME_MAX : ktime_add_safe(ktime_get(), ns_to_ktime(timeout_ns));
	ret = job_wait_until(job, deadline);
	if (!ret)
		ret = job_report(job, args);
	else if (ret == -ERESTARTSYS && timeout_ns > 0)
		/* The call may be restarted: what is left of the time goes back with it. */
		args->timeout_ns = max(ktime_to_ns(ktime_sub(deadline, ktime_get())), 0LL);
	vgpgpu_job_put(job);
	return ret;
}

int vgpgpu_job_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_handle *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_job *job;
	int ret;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	job = job_find(ctx, args->handle);
	if (!job)
		return -ENOENT;
	ret = vgpgpu_timeline_cancel(job, &args->result);
	vgpgpu_job_put(job);
	return ret;
}

int vgpgpu_job_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_virtio_gpgpu_handle *args = data;
	struct vgpgpu_ctx *ctx = file->driver_priv;
	struct vgpgpu_job *job;

	memset(&args->result, 0, sizeof(args->result));
	if (args->pad)
		return -EINVAL;
	job = xa_erase(&ctx->jobs, args->handle);
	if (!job)
		return -ENOENT;
	vgpgpu_job_put(job);
	return 0;
}
