// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timelines: the order of jobs, their fences, and their end.
 *
 * How it works: a timeline is a list of jobs in the order in which they were submitted. A job goes to
 * the device when everything that it waits for has signalled and everything before it has gone. The
 * device runs the jobs of a timeline in order; answers may still overtake each other, since queues are
 * not ordered, so a job's waiter is woken by its own answer but its fence signals only when those
 * before it have.
 *
 * Fences between timelines are waited for here and not sent along: the device takes no sequence number for a job
 * that it refuses, so a fence on one would hold others until a later job ended.
 *
 * Slots: the device takes so many jobs at a time, and a ring has so much room. A job has a slot from
 * when it is sent until it has ended, and not before: one that waits for a slow fence keeps nobody off
 * the device. There are no more slots than fit into one ring, and a context has a share of them only, so
 * that jobs behind one that runs for long do not fill a ring that others need too. Contexts whose
 * jobs find no slot wait in line; a slot that comes free is granted to the first, one a turn.
 *
 * Invariants: a fence that anybody outside has seen signals in bounded time. A job that waits in the
 * driver waits for fences, which promise the same, or for the slot of a job that the device has. A job that the device has is first asked to
 * end (JOB_CANCEL) when it has been the first of its timeline for too long, and then taken from it by
 * a reset of the device. Nothing allocates memory between the two, nor for the first.
 *
 * Locks: tl_lock is taken outside queue locks and outside fences' locks. A dependency's callback runs
 * under a foreign fence's lock; it takes none of ours and leaves the rest to a work item, which also
 * keeps a chain of dependent jobs from ending recursively.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/virtio_gpgpu_drm.h>

#include "ctx.h"
#include "job.h"

#define CANCEL_GRACE_MS		10000	/* for the device to end a job that it was told to end */

/*
 * What one file may have under way, as a share: of the jobs that the device takes, together with those
 * that wait here, and of the slots.
 */
#define FILE_SHARE		4

/* ------------------------------------------------------------------------------------------ fences */

struct vgpgpu_fence {
	struct dma_fence base;		/* first: it is freed as such */
	spinlock_t lock;
	/*
	 * Others can get hold of it and keep it for longer than any file, in a sync_file or another
	 * driver. It needs this code until then, so it holds the module.
	 */
	bool shared;
};

static const char *fence_driver_name(struct dma_fence *fence)
{
	return KBUILD_MODNAME;
}

static const char *fence_timeline_name(struct dma_fence *fence)
{
	return "job";
}

static void fence_release(struct dma_fence *fence)
{
	struct vgpgpu_fence *f = container_of(fence, struct vgpgpu_fence, base);
	bool shared = f->shared;

	dma_fence_free(fence);
	if (shared)
		module_put(THIS_MODULE);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name	= fence_driver_name,
	.get_timeline_name	= fence_timeline_name,
	.release		= fence_release,
};

/*
 * @shared: others will get hold of it
 * Return: memory for a fence, to be initialised by vgpgpu_timeline_append() or freed, or NULL
 */
struct dma_fence *vgpgpu_fence_alloc(bool shared)
{
	struct vgpgpu_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	static_assert(offsetof(struct vgpgpu_fence, base) == 0);
	if (!fence)
		return NULL;
	fence->shared = shared;
	return &fence->base;
}

/* Return: whether jobs of @timeline come after @fence anyway */
bool vgpgpu_timeline_orders(struct vgpgpu_ctx *ctx, u32 timeline, struct dma_fence *fence)
{
	return fence->ops == &fence_ops && fence->context == ctx->fence_context + timeline;
}

/* ------------------------------------------------------------------------- how many may be under way */

static bool try_reserve(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	bool ok;

	spin_lock_irq(&gdev->slot_lock);
	ok = ctx->num_reserved < max(gdev->max_jobs / FILE_SHARE, 1U);
	if (ok)
		ctx->num_reserved++;
	spin_unlock_irq(&gdev->slot_lock);
	return ok;
}

/* Waits until one more job may be submitted. Return: 0 or -ERESTARTSYS */
int vgpgpu_timeline_reserve(struct vgpgpu_ctx *ctx)
{
	return wait_event_interruptible(ctx->obj.gdev->slot_wait, try_reserve(ctx));
}

/* Any context. */
void vgpgpu_timeline_unreserve(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	unsigned long flags;

	spin_lock_irqsave(&gdev->slot_lock, flags);
	ctx->num_reserved--;
	spin_unlock_irqrestore(&gdev->slot_lock, flags);
	wake_up_all(&gdev->slot_wait);
}

/* Queues a look at what the context can send; takes over a reference of the caller's. Any context. */
static void queue_pump(struct vgpgpu_ctx *ctx)
{
	/* Pending already: it has a reference of its own. */
	if (!queue_work(vgpgpu_wq, &ctx->pump_work))
		vgpgpu_obj_put(&ctx->obj);
}

/* Called with slot_lock held. */
static void stand_in_line(struct vgpgpu_ctx *ctx)
{
	if (list_empty(&ctx->slot_node)) {
		vgpgpu_obj_get(&ctx->obj);
		list_add_tail(&ctx->slot_node, &ctx->obj.gdev->slot_queue);
	}
}

/* Hands out what is free to those in line. Called with slot_lock held. */
static void grant_slots(struct vgpgpu_device *gdev)
{
	struct vgpgpu_ctx *ctx;

	lockdep_assert_held(&gdev->slot_lock);
	while (gdev->num_slots < gdev->max_slots && !list_empty(&gdev->slot_queue)) {
		ctx = list_first_entry(&gdev->slot_queue, struct vgpgpu_ctx, slot_node);
		list_del_init(&ctx->slot_node);
		gdev->num_slots++;
		ctx->num_slots++;
		ctx->num_granted++;
		queue_pump(ctx);	/* with the line's reference */
	}
}

/* Return: whether a job of @ctx may be sent; if not, the context waits in line and is pumped again */
static bool take_slot(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	bool ok = false;

	lockdep_assert_held(&ctx->tl_lock);
	spin_lock(&gdev->slot_lock);
	if (ctx->num_granted) {
		ctx->num_granted--;
		ok = true;
	} else if (ctx->num_slots >= max(gdev->max_slots / FILE_SHARE, 1U)) {
		ctx->wants_slot = true;	/* when a job of its own has ended */
	} else if (gdev->num_slots < gdev->max_slots) {
		gdev->num_slots++;
		ctx->num_slots++;
		ok = true;
	} else {
		stand_in_line(ctx);
	}
	spin_unlock(&gdev->slot_lock);
	return ok;
}

/* Called with slot_lock held. */
static void give_slots(struct vgpgpu_ctx *ctx, unsigned int num)
{
	ctx->obj.gdev->num_slots -= num;
	ctx->num_slots -= num;
	if (ctx->wants_slot && num) {
		ctx->wants_slot = false;
		stand_in_line(ctx);
	}
	grant_slots(ctx->obj.gdev);
}

/* Any context. */
static void give_slot(struct vgpgpu_ctx *ctx)
{
	unsigned long flags;

	spin_lock_irqsave(&ctx->obj.gdev->slot_lock, flags);
	give_slots(ctx, 1);
	spin_unlock_irqrestore(&ctx->obj.gdev->slot_lock, flags);
}

/* Gives back what was granted and found no use: the job was cancelled, or another slot came first. */
static void give_granted(struct vgpgpu_ctx *ctx)
{
	spin_lock_irq(&ctx->obj.gdev->slot_lock);
	give_slots(ctx, ctx->num_granted);
	ctx->num_granted = 0;
	spin_unlock_irq(&ctx->obj.gdev->slot_lock);
}

/* The device has said how many jobs it takes. */
void vgpgpu_timeline_set_slots(struct vgpgpu_device *gdev, unsigned int num)
{
	spin_lock_irq(&gdev->slot_lock);
	gdev->max_jobs = max(num, 1U);
	gdev->max_slots = min(gdev->max_jobs, gdev->ring_slots);
	grant_slots(gdev);
	spin_unlock_irq(&gdev->slot_lock);
	wake_up_all(&gdev->slot_wait);
}

/* --------------------------------------------------------------------------------------- a job's end */

static void account(struct vgpgpu_job *job)
{
	const struct virtio_gpgpu_resp_job *resp = job->req.in;
	struct vgpgpu_ctx *ctx = job->ctx;

	atomic64_inc(&ctx->num_jobs);
	if (job->req.in_len >= sizeof(*resp))
		atomic64_add(le64_to_cpu(resp->device_ns),
			     job->packet ? &ctx->packet_ns : &ctx->compute_ns);
}

/* The first job of a timeline that the device has gets a deadline. Called with tl_lock held. */
static void watch_head(struct vgpgpu_timeline *tl)
{
	struct vgpgpu_job *head = list_first_entry_or_null(&tl->jobs, struct vgpgpu_job, node);

	if (head && head->state == VGPGPU_JOB_SENT && !READ_ONCE(head->req.timeout_ms)) {
		/* Where it has to wait for room in the ring, the deadline is set again after that. */
		WRITE_ONCE(head->req.timeout_ms, vgpgpu_job_timeout_ms);
		WRITE_ONCE(head->req.deadline, jiffies + msecs_to_jiffies(vgpgpu_job_timeout_ms));
	}
}

/* The response is there, from the device or in its place. Any context. */
static void job_finish(struct vgpgpu_job *job)
{
	struct vgpgpu_ctx *ctx = job->ctx;
	struct vgpgpu_timeline *tl = &ctx->timelines[job->timeline];
	struct vgpgpu_job *head, *next;
	const struct virtio_gpgpu_resp_hdr *hdr;
	unsigned long flags;
	bool has_slot;
	unsigned int i;
	LIST_HEAD(ended);
	int error;

	/* The timeline's may go in another thread as soon as the lock is dropped. */
	kref_get(&job->ref);
	account(job);
	/* The device keeps its objects when its GPU was reset; of a reset of its own this driver knows. */
	if (vgpgpu_req_status(&job->req) == VIRTIO_GPGPU_S_DEVICE_LOST &&
	    le32_to_cpu(vgpgpu_req_resp(&job->req)->reason) != VIRTIO_GPGPU_R_RESET)
		WRITE_ONCE(ctx->lost, true);
	for (i = 0; i < job->num_objs; i++)
		vgpgpu_obj_put(job->objs[i]);
	job->num_objs = 0;

	spin_lock_irqsave(&ctx->tl_lock, flags);
	job->state = VGPGPU_JOB_DONE;
	job->ended_ns = ktime_get_ns();
	has_slot = job->has_slot;
	complete_all(&job->done);
	list_for_each_entry_safe(head, next, &tl->jobs, node) {
		if (head->state != VGPGPU_JOB_DONE)
			break;
		list_move_tail(&head->node, &ended);
		hdr = vgpgpu_req_resp(&head->req);
		error = vgpgpu_errno(le32_to_cpu(hdr->status), le32_to_cpu(hdr->reason));
		if (error)
			dma_fence_set_error(head->fence, error);
		dma_fence_signal(head->fence);
	}
	watch_head(tl);
	spin_unlock_irqrestore(&ctx->tl_lock, flags);

	list_for_each_entry_safe(head, next, &ended, node) {
		list_del_init(&head->node);
		vgpgpu_job_put_atomic(head);
	}
	if (has_slot)
		give_slot(ctx);
	vgpgpu_timeline_unreserve(ctx);
	vgpgpu_job_put_atomic(job);	/* and perhaps the context with it */
}

static void job_done(struct vgpgpu_req *req)
{
	job_finish(req->job);
}

/*
 * Takes back what the job has registered on foreign fences: those may signal much later, when neither
 * the device nor this module need be there any more. Process context, no locks held; afterwards none
 * of the job's callbacks runs, nor will.
 */
static void job_drop_deps(struct vgpgpu_job *job)
{
	unsigned int i;

	for (i = 0; i < job->num_deps; i++) {
		if (dma_fence_remove_callback(job->deps[i].fence, &job->deps[i].cb))
			vgpgpu_job_put(job);
	}
}

/* Ends jobs that the device does not get. Process context, no locks held. */
static void fail_jobs(struct list_head *jobs)
{
	struct vgpgpu_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, fail_node) {
		list_del_init(&job->fail_node);
		job_drop_deps(job);
		if (job->cancelled)
			vgpgpu_req_fail(&job->req, VIRTIO_GPGPU_S_CANCELLED, VIRTIO_GPGPU_R_NONE);
		else
			vgpgpu_req_fail(&job->req, VIRTIO_GPGPU_S_DEVICE_LOST,
					VIRTIO_GPGPU_R_RESET);
		job_finish(job);
	}
}

/* ------------------------------------------------------------------------------------- a job's start */

/* Sends what can go. Called with tl_lock held; what cannot go at all is collected in @failed. */
static void pump(struct vgpgpu_ctx *ctx, struct vgpgpu_timeline *tl, struct list_head *failed)
{
	struct vgpgpu_job *job;
	bool send;

	list_for_each_entry(job, &tl->jobs, node) {
		if (job->state != VGPGPU_JOB_HELD)
			continue;
		if (ctx->closing)
			job->cancelled = true;
		if (atomic_read(&job->num_waits) && !job->cancelled)
			break;
		send = !job->cancelled && vgpgpu_ctx_alive(ctx);
		if (send && !take_slot(ctx))
			break;
		job->has_slot = send;
		job->state = VGPGPU_JOB_SENT;
		if (send)
			job->sent_ns = ktime_get_ns();
		if (!send || !vgpgpu_queue_add(job->queue, &job->req)) {
			job->sent_ns = 0;
			list_add_tail(&job->fail_node, failed);
		}
	}
	watch_head(tl);
}

void vgpgpu_timeline_pump_work(struct work_struct *work)
{
	struct vgpgpu_ctx *ctx = container_of(work, struct vgpgpu_ctx, pump_work);
	unsigned int i;
	LIST_HEAD(failed);

	spin_lock_irq(&ctx->tl_lock);
	for (i = 0; i < VGPGPU_NUM_TIMELINES; i++)
		pump(ctx, &ctx->timelines[i], &failed);
	spin_unlock_irq(&ctx->tl_lock);
	fail_jobs(&failed);
	give_granted(ctx);
	vgpgpu_obj_put(&ctx->obj);
}

static void dep_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct vgpgpu_dep *dep = container_of(cb, struct vgpgpu_dep, cb);
	struct vgpgpu_job *job = dep->job;

	if (atomic_dec_and_test(&job->num_waits)) {
		vgpgpu_obj_get(&job->ctx->obj);
		queue_pump(job->ctx);
	}
	vgpgpu_job_put_atomic(job);
}

/**
 * vgpgpu_timeline_append() - give a job its place in the order
 * @job:	complete but for this; a place was reserved, @job->fence allocated
 * @wire:	where in the request the timeline and sequence number go
 *
 * From here on the job ends, and the fence signals, whatever happens. The job is held until
 * vgpgpu_timeline_submit() has been called, which must follow.
 */
void vgpgpu_timeline_append(struct vgpgpu_job *job, struct virtio_gpgpu_job *wire)
{
	struct vgpgpu_ctx *ctx = job->ctx;
	struct vgpgpu_timeline *tl = &ctx->timelines[job->timeline];
	struct vgpgpu_fence *fence = container_of(job->fence, struct vgpgpu_fence, base);

	job->req.job = job;
	job->req.done = job_done;
	atomic_set(&job->num_waits, 1);
	spin_lock_init(&fence->lock);
	if (fence->shared)
		__module_get(THIS_MODULE);

	spin_lock_irq(&ctx->tl_lock);
	job->seq = ++tl->seq;
	wire->timeline = cpu_to_le32(job->timeline);
	wire->num_fences = 0;
	wire->seq = cpu_to_le64(job->seq);
	dma_fence_init(&fence->base, &fence_ops, &fence->lock, ctx->fence_context + job->timeline,
		       job->seq);
	kref_get(&job->ref);
	list_add_tail(&job->node, &tl->jobs);
	spin_unlock_irq(&ctx->tl_lock);
}

/* Waits for the job's dependencies without blocking, and sends it when there are none left. */
void vgpgpu_timeline_submit(struct vgpgpu_job *job)
{
	struct vgpgpu_ctx *ctx = job->ctx;
	bool cancelled;
	unsigned int i;
	LIST_HEAD(failed);

	for (i = 0; i < job->num_deps; i++) {
		struct vgpgpu_dep *dep = &job->deps[i];

		dep->job = job;
		kref_get(&job->ref);
		atomic_inc(&job->num_waits);
		if (dma_fence_add_callback(dep->fence, &dep->cb, dep_signalled)) {
			atomic_dec(&job->num_waits);
			vgpgpu_job_put(job);
		}
	}

	spin_lock_irq(&ctx->tl_lock);
	atomic_dec(&job->num_waits);
	pump(ctx, &ctx->timelines[job->timeline], &failed);
	cancelled = job->cancelled;
	spin_unlock_irq(&ctx->tl_lock);
	fail_jobs(&failed);
	/* JOB_CANCEL on a handle that was guessed may have ended it in the middle of the above. */
	if (cancelled)
		job_drop_deps(job);
}

/* ------------------------------------------------------------------------------------- cancellation */

static struct vgpgpu_cmd *cancel_cmd(struct vgpgpu_ctx *ctx, u32 timeline, u64 seq)
{
	struct virtio_gpgpu_req_job_cancel *req;
	struct vgpgpu_cmd *cmd;

	cmd = vgpgpu_cmd_alloc(ctx->obj.gdev, VIRTIO_GPGPU_CMD_JOB_CANCEL, ctx->obj.id,
			       sizeof(*req), sizeof(struct virtio_gpgpu_resp_hdr));
	if (IS_ERR(cmd))
		return cmd;
	req = cmd->req.out;
	req->timeline = cpu_to_le32(timeline);
	req->seq = cpu_to_le64(seq);
	vgpgpu_obj_get(&ctx->obj);
	cmd->uses = &ctx->obj;
	return cmd;
}

/*
 * The control queue is not ordered with the job queues: JOB_CANCEL may reach the device before the job does,
 * and then finds nothing. So it is repeated until the job has ended.
 */
#define CANCEL_DELAY_MS		10	/* before the first repetition, then doubled */
#define CANCEL_DELAY_MAX_MS	640

/*
 * Marks jobs as to be cancelled. Return: the last of them that the device has been sent, or 0. It knows
 * none after that one, and would refuse to cancel up to there.
 */
static u64 mark_cancelled(struct vgpgpu_ctx *ctx, struct vgpgpu_timeline *tl, u64 seq)
{
	struct vgpgpu_job *job;
	u64 sent = 0;

	lockdep_assert_held(&ctx->tl_lock);
	tl->cancel_seq = max(tl->cancel_seq, seq);
	list_for_each_entry(job, &tl->jobs, node) {
		if (job->seq > tl->cancel_seq)
			break;
		if (job->state == VGPGPU_JOB_HELD)
			job->cancelled = true;
		if (job->state == VGPGPU_JOB_SENT && job->has_slot)
			sent = job->seq;
	}
	return sent;
}

/* Have the device's cancelled jobs looked at again later. */
static void cancel_again(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_device *gdev = ctx->obj.gdev;

	spin_lock_irq(&gdev->cancel_lock);
	if (!gdev->cancel_stopped) {
		gdev->cancel_delay_ms = CANCEL_DELAY_MS;
		if (list_empty(&ctx->cancel_node)) {
			vgpgpu_obj_get(&ctx->obj);
			list_add_tail(&ctx->cancel_node, &gdev->cancel_list);
		}
		mod_delayed_work(vgpgpu_wq, &gdev->cancel_work,
				 msecs_to_jiffies(gdev->cancel_delay_ms));
	}
	spin_unlock_irq(&gdev->cancel_lock);
}

/* Sends what has to be sent to a context. Return: whether anything has not ended */
static bool cancel_sent(struct vgpgpu_ctx *ctx)
{
	struct vgpgpu_cmd *cmd;
	bool left = false;
	unsigned int i;
	u64 sent;

	for (i = 0; i < VGPGPU_NUM_TIMELINES; i++) {
		spin_lock_irq(&ctx->tl_lock);
		sent = mark_cancelled(ctx, &ctx->timelines[i], 0);
		spin_unlock_irq(&ctx->tl_lock);
		if (!sent)
			continue;
		left = true;
		cmd = vgpgpu_ctx_alive(ctx) ? cancel_cmd(ctx, i, sent) : ERR_PTR(-ENODEV);
		if (!IS_ERR(cmd))
			vgpgpu_cmd_post(cmd);
	}
	return left;
}

/* Looks at every context that has cancelled jobs on the device, and forgets those where none are left. */
void vgpgpu_timeline_cancel_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev =
		container_of(to_delayed_work(work), struct vgpgpu_device, cancel_work);
	struct vgpgpu_ctx *ctx, *next;
	LIST_HEAD(again);
	LIST_HEAD(list);

	spin_lock_irq(&gdev->cancel_lock);
	list_splice_init(&gdev->cancel_list, &list);
	list_for_each_entry_safe(ctx, next, &list, cancel_node) {
		list_del_init(&ctx->cancel_node);
		spin_unlock_irq(&gdev->cancel_lock);
		if (cancel_sent(ctx)) {
			spin_lock_irq(&gdev->cancel_lock);
			/* Somebody may have put it back meanwhile, with a reference. */
			if (list_empty(&ctx->cancel_node)) {
				vgpgpu_obj_get(&ctx->obj);
				list_add_tail(&ctx->cancel_node, &again);
			}
			spin_unlock_irq(&gdev->cancel_lock);
		}
		vgpgpu_obj_put(&ctx->obj);
		spin_lock_irq(&gdev->cancel_lock);
	}
	list_splice_tail(&again, &gdev->cancel_list);
	if (!list_empty(&gdev->cancel_list) && !gdev->cancel_stopped) {
		gdev->cancel_delay_ms = clamp(2 * gdev->cancel_delay_ms, CANCEL_DELAY_MS,
					      CANCEL_DELAY_MAX_MS);
		queue_delayed_work(vgpgpu_wq, &gdev->cancel_work,
				   msecs_to_jiffies(gdev->cancel_delay_ms));
	}
	spin_unlock_irq(&gdev->cancel_lock);
}

/* The device has gone, and every job with it. */
void vgpgpu_timeline_cancel_stop(struct vgpgpu_device *gdev)
{
	struct vgpgpu_ctx *ctx, *next;
	LIST_HEAD(list);

	spin_lock_irq(&gdev->cancel_lock);
	gdev->cancel_stopped = true;
	spin_unlock_irq(&gdev->cancel_lock);
	cancel_delayed_work_sync(&gdev->cancel_work);

	spin_lock_irq(&gdev->cancel_lock);
	list_splice_init(&gdev->cancel_list, &list);
	spin_unlock_irq(&gdev->cancel_lock);
	list_for_each_entry_safe(ctx, next, &list, cancel_node) {
		list_del_init(&ctx->cancel_node);
		vgpgpu_obj_put(&ctx->obj);
	}
}

/**
 * vgpgpu_timeline_cancel() - cancel a job, and those before it on its timeline
 * @job:	the last one to cancel
 * @result:	filled with what the device said
 *
 * Return: 0, also if it has ended already, or -errno
 */
int vgpgpu_timeline_cancel(struct vgpgpu_job *job, struct drm_virtio_gpgpu_result *result)
{
	struct vgpgpu_ctx *ctx = job->ctx;
	struct vgpgpu_timeline *tl = &ctx->timelines[job->timeline];
	struct vgpgpu_cmd *cmd;
	LIST_HEAD(failed);
	u64 sent;
	int ret;

	spin_lock_irq(&ctx->tl_lock);
	sent = mark_cancelled(ctx, tl, job->seq);
	pump(ctx, tl, &failed);
	spin_unlock_irq(&ctx->tl_lock);
	fail_jobs(&failed);
	if (!sent)
		return 0;

	cmd = cancel_cmd(ctx, job->timeline, sent);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	ret = vgpgpu_cmd_run(cmd, result);
	vgpgpu_cmd_put(cmd);
	if (ret == -ENOENT) {	/* ended meanwhile, or not there yet */
		memset(result, 0, sizeof(*result));
		ret = 0;
	}
	if (!ret)
		cancel_again(ctx);
	return ret;
}

/* The file is closed: whatever has not ended is to end, and nobody waits for it. */
void vgpgpu_timeline_close(struct vgpgpu_ctx *ctx)
{
	bool sent = false;
	LIST_HEAD(failed);
	unsigned int i;

	spin_lock_irq(&ctx->tl_lock);
	ctx->closing = true;
	for (i = 0; i < VGPGPU_NUM_TIMELINES; i++) {
		sent |= mark_cancelled(ctx, &ctx->timelines[i], ctx->timelines[i].seq) != 0;
		pump(ctx, &ctx->timelines[i], &failed);
	}
	spin_unlock_irq(&ctx->tl_lock);
	fail_jobs(&failed);
	if (sent && cancel_sent(ctx))
		cancel_again(ctx);
}

/* ----------------------------------------------------------------------------------------- watchdog */

/* Return: whether the device was told to end the job and has not, for too long */
bool vgpgpu_job_overdue(struct vgpgpu_job *job)
{
	return job->condemned;
}

/* The job has been running for too long. Return: the job, with a reference, for the next function */
struct vgpgpu_job *vgpgpu_job_condemn(struct vgpgpu_job *job)
{
	job->condemned = true;
	WRITE_ONCE(job->req.deadline, jiffies + msecs_to_jiffies(CANCEL_GRACE_MS));
	kref_get(&job->ref);
	return job;
}

/*
 * The watchdog's JOB_CANCEL. Memory is not to be had where others may wait for the very fence before
 * there is any, so it is made beforehand, and there is one. While it is under way it is not free.
 */
struct vgpgpu_executioner {
	struct vgpgpu_req req;
	struct vgpgpu_ctx *ctx;		/* of the job, with a reference; NULL: free */
};

static void executed(struct vgpgpu_req *req)
{
	struct vgpgpu_executioner *e = container_of(req, struct vgpgpu_executioner, req);
	struct vgpgpu_ctx *ctx = e->ctx;

	WRITE_ONCE(req->deadline, 0);
	smp_store_release(&e->ctx, NULL);
	vgpgpu_obj_put(&ctx->obj);
}

static void executioner_free(struct drm_device *drm, void *data)
{
	struct vgpgpu_executioner *e = data;

	vgpgpu_req_fini(&e->req);
	kfree(e);
}

/* Once, after the queues' first start, before there is any job. Return: 0 or -errno */
int vgpgpu_executioner_init(struct vgpgpu_device *gdev)
{
	struct vgpgpu_executioner *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int ret;

	if (!e)
		return -ENOMEM;
	ret = vgpgpu_req_init(gdev, &e->req, sizeof(struct virtio_gpgpu_req_job_cancel),
			      sizeof(struct virtio_gpgpu_resp_hdr));
	if (ret) {
		kfree(e);
		return ret;
	}
	e->req.done = executed;
	ret = drmm_add_action_or_reset(&gdev->drm, executioner_free, e);
	if (!ret)
		gdev->executioner = e;
	return ret;
}

/* For the watchdog alone. Return: whether vgpgpu_job_execute() can be called */
bool vgpgpu_executioner_free(struct vgpgpu_device *gdev)
{
	return gdev->executioner && !smp_load_acquire(&gdev->executioner->ctx);
}

/* Asks the device to end the job; drops the reference. The executioner is free. */
void vgpgpu_job_execute(struct vgpgpu_job *job)
{
	struct vgpgpu_ctx *ctx = job->ctx;
	struct vgpgpu_device *gdev = ctx->obj.gdev;
	struct vgpgpu_executioner *e = gdev->executioner;
	struct virtio_gpgpu_req_job_cancel *req = e->req.out;

	drm_notice(&ctx->obj.gdev->drm,
		   "job %llu on timeline %u of context %u takes too long, cancelling it\n",
		   job->seq, job->timeline, ctx->obj.id);
	vgpgpu_req_header(&e->req, VIRTIO_GPGPU_CMD_JOB_CANCEL, 0, ctx->obj.id);
	req->timeline = cpu_to_le32(job->timeline);
	req->seq = cpu_to_le64(job->seq);
	e->req.timeout_ms = vgpgpu_control_timeout_ms;
	vgpgpu_obj_get(&ctx->obj);
	e->ctx = ctx;
	if (!vgpgpu_queue_add(&gdev->queues[VIRTIO_GPGPU_VQ_CONTROL], &e->req))
		executed(&e->req);
	vgpgpu_job_put(job);
}
