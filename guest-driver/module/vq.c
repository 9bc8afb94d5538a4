// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests and the virtqueues that carry them.
 *
 * How it works: a request is a piece of kernel memory for the device to read and one for it to write.
 * vgpgpu_queue_add() never blocks and never fails for want of room: what does not fit into the ring
 * waits in a list and goes in when something comes out. Completions are taken out in the interrupt and
 * handed to the request's done(), so an answer costs no more than the wake-up of its waiter.
 *
 * Invariants: a request is on exactly one list of exactly one queue from a successful
 * vgpgpu_queue_add() until its done() is called. done() sees a well-formed response header whatever the
 * device wrote. No queue lock is held while done() runs, so that it may add further requests.
 *
 * Memory for the device is never on a stack and never shares an allocation with anything else. Large
 * requests (packet batches) may lie in vmalloc space: then a table of their pages is given to virtio,
 * which maps it through the DMA API where VIRTIO_F_ACCESS_PLATFORM asks for that.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "drv.h"
#include "event.h"
#include "job.h"
#include "vq.h"

#define MAX_STUCK	5	/* looks of the watchdog at a request that does not go into an empty ring */

/* ---------------------------------------------------------------------------------------- requests */

/*
 * Describes @len bytes at @p: in @one where one segment will do, else in a table in @table. Longer
 * segments than @max_segment could never be mapped: a bounce buffer has its limits.
 */
static int req_map(struct sg_table *table, struct scatterlist *one, void *p, size_t len,
		   unsigned int max_segment)
{
	unsigned int i, offset = offset_in_page(p), n = DIV_ROUND_UP(offset + len, PAGE_SIZE);
	struct page **pages;
	void *page;
	int ret;

	if (!is_vmalloc_addr(p) && len <= max_segment) {
		sg_init_one(one, p, len);
		return 0;
	}

	pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		page = p - offset + i * PAGE_SIZE;
		pages[i] = is_vmalloc_addr(p) ? vmalloc_to_page(page) : virt_to_page(page);
	}
	ret = sg_alloc_table_from_pages_segment(table, pages, n, offset, len, max_segment, GFP_KERNEL);
	kvfree(pages);
	return ret;
}

static unsigned int req_nents(const struct vgpgpu_req *req)
{
	return (req->out_sgt.nents ?: 1) + (req->in_sgt.nents ?: 1);
}

/**
 * vgpgpu_req_init() - allocate a request and the room for its response
 * @gdev:	device
 * @req:	zeroed structure to set up
 * @out_len:	bytes of the request
 * @in_cap:	bytes that the response may have, at least those of a header
 *
 * Return: 0, -ENOMEM, or -E2BIG if the device takes no request of that size
 */
int vgpgpu_req_init(struct vgpgpu_device *gdev, struct vgpgpu_req *req, size_t out_len,
		    size_t in_cap)
{
	int ret;

	if (out_len > gdev->max_request || in_cap > gdev->max_response)
		return -E2BIG;

	req->out_len = out_len;
	req->in_cap = in_cap;
	req->out = kvzalloc(out_len, GFP_KERNEL_ACCOUNT);
	req->in = kvzalloc(in_cap, GFP_KERNEL_ACCOUNT);
	if (!req->out || !req->in) {
		ret = -ENOMEM;
		goto fail;
	}
	ret = req_map(&req->out_sgt, &req->out_sg, req->out, out_len, gdev->max_segment);
	if (!ret)
		ret = req_map(&req->in_sgt, &req->in_sg, req->in, in_cap, gdev->max_segment);
	/* The specification forbids chains that are longer than the ring. */
	if (!ret && req_nents(req) > gdev->max_chain)
		ret = -ENOMEM;
	if (!ret)
		return 0;
fail:
	vgpgpu_req_fini(req);
	return ret;
}

/* Any context. The request must not be on a queue. */
void vgpgpu_req_fini(struct vgpgpu_req *req)
{
	sg_free_table(&req->out_sgt);
	sg_free_table(&req->in_sgt);
	kvfree(req->out);
	kvfree(req->in);
	req->out = NULL;
	req->in = NULL;
}

/* For a person who reads a trace: numbers the requests. */
static atomic64_t cookie;

void vgpgpu_req_header(struct vgpgpu_req *req, u32 type, u32 flags, u32 ctx_id)
{
	struct virtio_gpgpu_req_hdr *hdr = req->out;

	hdr->type = cpu_to_le32(type);
	hdr->flags = cpu_to_le32(flags);
	hdr->ctx_id = cpu_to_le32(ctx_id);
	hdr->length = cpu_to_le32(req->out_len);
	hdr->cookie = cpu_to_le64(atomic64_inc_return(&cookie));
	hdr->reserved = 0;
}

/* Writes the response that the device did not give. */
void vgpgpu_req_fail(struct vgpgpu_req *req, u32 status, u32 reason)
{
	struct virtio_gpgpu_resp_hdr *hdr = req->in;

	memset(hdr, 0, sizeof(*hdr));
	hdr->status = cpu_to_le32(status);
	hdr->reason = cpu_to_le32(reason);
	hdr->length = cpu_to_le32(sizeof(*hdr));
	req->in_len = sizeof(*hdr);
}

/* Hands over what the device wrote, made well formed. */
static void req_complete(struct vgpgpu_device *gdev, struct vgpgpu_req *req)
{
	const struct virtio_gpgpu_resp_hdr *hdr = req->in;

	if (req->in_len < sizeof(*hdr) || le32_to_cpu(hdr->length) != req->in_len) {
		dev_err_ratelimited(gdev->drm.dev, "malformed response of %zu bytes\n", req->in_len);
		/* A device that has failed; the work looks whether it is running. */
		queue_work(vgpgpu_wq, &gdev->reset_work);
		vgpgpu_req_fail(req, VIRTIO_GPGPU_S_DEVICE_LOST, VIRTIO_GPGPU_R_LENGTH);
	} else {
		vgpgpu_dev_saw_generation(gdev, le32_to_cpu(hdr->generation));
	}
	req->done(req);
}

/* ------------------------------------------------------------------------------------------ queues */

/* Moves what waits into the ring, as far as there is room. Called with the queue's lock held. */
static void queue_fill(struct vgpgpu_queue *q)
{
	struct vgpgpu_req *req, *next;
	unsigned int timeout_ms;
	bool kick = false;

	lockdep_assert_held(&q->lock);
	if (!q->live)
		return;

	list_for_each_entry_safe(req, next, &q->waiting, node) {
		struct scatterlist *sgs[2] = {
			req->out_sgt.nents ? req->out_sgt.sgl : &req->out_sg,
			req->in_sgt.nents ? req->in_sgt.sgl : &req->in_sg,
		};

		/*
		 * No room, or no memory for an indirect table or a bounce buffer: these pass, with the next
		 * completion or with one of the watchdog's next looks at the queue, which counts them.
		 */
		if (virtqueue_add_sgs(q->vq, sgs, 1, 1, req, GFP_ATOMIC))
			break;
		list_move_tail(&req->node, &q->inflight);
		timeout_ms = READ_ONCE(req->timeout_ms);
		if (timeout_ms)
			WRITE_ONCE(req->deadline, jiffies + msecs_to_jiffies(timeout_ms));
		kick = true;
	}
	if (kick)
		virtqueue_kick(q->vq);
}

/**
 * vgpgpu_queue_add() - send a request
 * @q:		queue
 * @req:	request, on no queue
 *
 * Return: false if the device is stopped: nothing has been done and done() will not be called
 */
bool vgpgpu_queue_add(struct vgpgpu_queue *q, struct vgpgpu_req *req)
{
	unsigned long flags;
	bool live;

	spin_lock_irqsave(&q->lock, flags);
	live = q->live;
	if (live) {
		list_add_tail(&req->node, &q->waiting);
		queue_fill(q);
		/* Under the lock, so that a stopped device's watchdog stays cancelled. */
		vgpgpu_watchdog_arm(q->gdev);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return live;
}

static void queue_callback(struct virtqueue *vq)
{
	struct vgpgpu_device *gdev = vq->vdev->priv;
	struct vgpgpu_queue *q = &gdev->queues[vq->index];
	struct vgpgpu_req *req, *next;
	unsigned long flags;
	unsigned int len;
	LIST_HEAD(done);

	spin_lock_irqsave(&q->lock, flags);
	do {
		virtqueue_disable_cb(vq);
		while ((req = virtqueue_get_buf(vq, &len))) {
			req->in_len = min_t(size_t, len, req->in_cap);
			list_move_tail(&req->node, &done);
		}
	} while (!virtqueue_enable_cb(vq));
	queue_fill(q);
	spin_unlock_irqrestore(&q->lock, flags);

	list_for_each_entry_safe(req, next, &done, node) {
		list_del(&req->node);
		req_complete(gdev, req);
	}
}

/* Sets up the queues' structures, which live as long as the drm_device. */
int vgpgpu_queues_alloc(struct vgpgpu_device *gdev)
{
	unsigned int i;

	gdev->queues = drmm_kcalloc(&gdev->drm, gdev->num_queues, sizeof(*gdev->queues), GFP_KERNEL);
	if (!gdev->queues)
		return -ENOMEM;

	for (i = 0; i < gdev->num_queues; i++) {
		struct vgpgpu_queue *q = &gdev->queues[i];
		unsigned int job = i - VIRTIO_GPGPU_VQ_FIRST_JOB;

		q->gdev = gdev;
		spin_lock_init(&q->lock);
		INIT_LIST_HEAD(&q->waiting);
		INIT_LIST_HEAD(&q->inflight);
		if (i == VIRTIO_GPGPU_VQ_CONTROL)
			strscpy(q->name, "control");
		else if (i == VIRTIO_GPGPU_VQ_EVENT)
			strscpy(q->name, "event");
		else if (job < gdev->num_compute)
			snprintf(q->name, sizeof(q->name), "compute%u", job);
		else
			snprintf(q->name, sizeof(q->name), "packet%u", job - gdev->num_compute);
	}
	return 0;
}

/* Makes the virtqueues. Called with state_lock held and the device not started. */
int vgpgpu_queues_find(struct vgpgpu_device *gdev)
{
	struct virtqueue_info *info;
	struct virtqueue **vqs;
	unsigned int i;
	int ret = -ENOMEM;

	vqs = kcalloc(gdev->num_queues, sizeof(*vqs), GFP_KERNEL);
	info = kcalloc(gdev->num_queues, sizeof(*info), GFP_KERNEL);
	if (!vqs || !info)
		goto out;

	for (i = 0; i < gdev->num_queues; i++) {
		info[i].name = gdev->queues[i].name;
		info[i].callback = i == VIRTIO_GPGPU_VQ_EVENT ? vgpgpu_event_callback :
								queue_callback;
	}
	ret = virtio_find_vqs(gdev->vdev, gdev->num_queues, vqs, info, NULL);
	if (ret)
		goto out;
	gdev->max_segment = max_t(size_t, min(virtio_max_dma_size(gdev->vdev), UINT_MAX), PAGE_SIZE);
	gdev->max_chain = UINT_MAX;
	for (i = 0; i < gdev->num_queues; i++) {
		gdev->queues[i].vq = vqs[i];
		gdev->max_chain = min(gdev->max_chain, virtqueue_get_vring_size(vqs[i]));
	}
	/* A request is one descriptor where there are indirect ones, and at least two where not. */
	gdev->ring_slots = gdev->max_chain;
	if (!virtio_has_feature(gdev->vdev, VIRTIO_RING_F_INDIRECT_DESC))
		gdev->ring_slots = max(gdev->ring_slots / 2, 1U);
out:
	kfree(info);
	kfree(vqs);
	return ret;
}

static void queues_set_live(struct vgpgpu_device *gdev, bool live)
{
	unsigned int i;

	for (i = 0; i < gdev->num_queues; i++) {
		struct vgpgpu_queue *q = &gdev->queues[i];

		spin_lock_irq(&q->lock);
		q->live = live;
		spin_unlock_irq(&q->lock);
	}
}

void vgpgpu_queues_enable(struct vgpgpu_device *gdev)
{
	queues_set_live(gdev, true);
}

/* After this no request is added; those that are under way may still be answered. */
void vgpgpu_queues_disable(struct vgpgpu_device *gdev)
{
	queues_set_live(gdev, false);
}

/*
 * Completes every request as lost and deletes the virtqueues. The device has been reset: it writes
 * to nothing any more and raises no interrupt.
 */
void vgpgpu_queues_drop(struct vgpgpu_device *gdev)
{
	struct vgpgpu_req *req, *next;
	unsigned int i;

	for (i = 0; i < gdev->num_queues; i++) {
		struct vgpgpu_queue *q = &gdev->queues[i];
		LIST_HEAD(lost);

		spin_lock_irq(&q->lock);
		while (virtqueue_detach_unused_buf(q->vq))
			;
		list_splice_tail_init(&q->inflight, &lost);
		list_splice_tail_init(&q->waiting, &lost);
		q->num_stuck = 0;
		q->vq = NULL;
		spin_unlock_irq(&q->lock);

		list_for_each_entry_safe(req, next, &lost, node) {
			list_del(&req->node);
			vgpgpu_req_fail(req, VIRTIO_GPGPU_S_DEVICE_LOST, VIRTIO_GPGPU_R_RESET);
			req->done(req);
		}
	}
	gdev->vdev->config->del_vqs(gdev->vdev);
}

/*
 * A request that does not go into a ring that is empty, again and again, would block those behind it for
 * ever. Called with the queue's lock held. Return: the request, to be failed, or NULL
 */
static struct vgpgpu_req *queue_stuck(struct vgpgpu_queue *q)
{
	if (!q->live || virtqueue_is_broken(q->vq) || list_empty(&q->waiting) ||
	    !list_empty(&q->inflight)) {
		q->num_stuck = 0;
		return NULL;
	}
	if (++q->num_stuck < MAX_STUCK)
		return NULL;
	q->num_stuck = 0;
	return list_first_entry(&q->waiting, struct vgpgpu_req, node);
}

/**
 * vgpgpu_queues_check() - the watchdog's look at what the device has not answered
 * @gdev:	device
 * @victim:	out: a job that has run for too long and has just been marked as to be cancelled, with
 *		a reference for the caller, or NULL
 * @hung:	out: the device owes an answer for longer than it may
 *
 * Return: whether anything is under way
 */
bool vgpgpu_queues_check(struct vgpgpu_device *gdev, struct vgpgpu_job **victim, bool *hung)
{
	const struct virtio_gpgpu_req_hdr *hdr;
	struct vgpgpu_req *req;
	bool can_cancel = vgpgpu_executioner_free(gdev);
	struct vgpgpu_req *next;
	bool busy = false;
	unsigned int i;
	LIST_HEAD(stuck);

	*victim = NULL;
	*hung = false;
	for (i = 0; i < gdev->num_queues; i++) {
		struct vgpgpu_queue *q = &gdev->queues[i];

		spin_lock_irq(&q->lock);
		list_for_each_entry(req, &q->inflight, node) {
			unsigned long deadline = READ_ONCE(req->deadline);

			if (!deadline || time_before(jiffies, deadline))
				continue;
			if (req->job && !vgpgpu_job_overdue(req->job)) {
				/* Else with a later look: every job has its turn. */
				if (can_cancel && !*victim)
					*victim = vgpgpu_job_condemn(req->job);
				continue;
			}
			hdr = req->out;
			dev_err_ratelimited(gdev->drm.dev,
					    "no answer to command %#x of context %u\n",
					    le32_to_cpu(hdr->type), le32_to_cpu(hdr->ctx_id));
			*hung = true;
		}
		queue_fill(q);
		req = queue_stuck(q);
		if (req) {
			list_move_tail(&req->node, &stuck);
			queue_fill(q);
		}
		busy |= !list_empty(&q->inflight) || !list_empty(&q->waiting);
		*hung |= q->live && virtqueue_is_broken(q->vq);
		spin_unlock_irq(&q->lock);
	}

	list_for_each_entry_safe(req, next, &stuck, node) {
		list_del(&req->node);
		dev_err_ratelimited(gdev->drm.dev, "no memory to send a request of %zu and %zu bytes\n",
				    req->out_len, req->in_cap);
		vgpgpu_req_fail(req, VIRTIO_GPGPU_S_NO_MEMORY, VIRTIO_GPGPU_R_NONE);
		req->done(req);
	}
	return busy;
}
