/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests and the virtqueues that carry them.
 */
#ifndef VGPGPU_VQ_H
#define VGPGPU_VQ_H

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>

#include "virtio_gpgpu.h"

struct virtqueue;
struct vgpgpu_device;
struct vgpgpu_job;

/* One of the control, compute and packet queues; the event queue is event.c's. */
struct vgpgpu_queue {
	struct vgpgpu_device *gdev;
	struct virtqueue *vq;		/* valid while @live, or in the queue's own callback */
	spinlock_t lock;		/* irq safe; see drv.c for what may be taken inside */
	bool live;
	struct list_head waiting;	/* requests for which the ring has no room yet */
	struct list_head inflight;	/* requests that the device has */
	unsigned int num_stuck;		/* the watchdog's, see queue_stuck() */
	char name[24];
};

/*
 * One request and the room for its response. Whoever starts it may not free it before @done has been
 * called, which happens once: when the device answers, or when the device is stopped. That is what
 * keeps the memory allocated for as long as the device may write to it.
 */
struct vgpgpu_req {
	struct list_head node;
	void *out;			/* the request, struct virtio_gpgpu_req_hdr first */
	void *in;			/* the response, struct virtio_gpgpu_resp_hdr first */
	size_t out_len;
	size_t in_cap;
	size_t in_len;			/* bytes that the device filled; at least a header */
	struct sg_table out_sgt, in_sgt;
	struct scatterlist out_sg, in_sg;	/* instead of a table, for contiguous memory */
	unsigned long deadline;		/* jiffies, 0: none */
	unsigned int timeout_ms;	/* deadline from the moment when the device has it; 0: none */
	struct vgpgpu_job *job;		/* or NULL */
	void (*done)(struct vgpgpu_req *req);	/* any context, no locks held; may free @req */
};

int vgpgpu_req_init(struct vgpgpu_device *gdev, struct vgpgpu_req *req, size_t out_len,
		    size_t in_cap);
void vgpgpu_req_fini(struct vgpgpu_req *req);
void vgpgpu_req_header(struct vgpgpu_req *req, u32 type, u32 flags, u32 ctx_id);
void vgpgpu_req_fail(struct vgpgpu_req *req, u32 status, u32 reason);

static inline const struct virtio_gpgpu_resp_hdr *vgpgpu_req_resp(const struct vgpgpu_req *req)
{
	return req->in;
}

static inline u32 vgpgpu_req_status(const struct vgpgpu_req *req)
{
	return le32_to_cpu(vgpgpu_req_resp(req)->status);
}

int vgpgpu_queues_alloc(struct vgpgpu_device *gdev);
int vgpgpu_queues_find(struct vgpgpu_device *gdev);
void vgpgpu_queues_enable(struct vgpgpu_device *gdev);
void vgpgpu_queues_disable(struct vgpgpu_device *gdev);
void vgpgpu_queues_drop(struct vgpgpu_device *gdev);

bool vgpgpu_queue_add(struct vgpgpu_queue *q, struct vgpgpu_req *req);
bool vgpgpu_queues_check(struct vgpgpu_device *gdev, struct vgpgpu_job **victim, bool *hung);

#endif
