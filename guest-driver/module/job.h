/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs and their timelines.
 */
#ifndef VGPGPU_JOB_H
#define VGPGPU_JOB_H

#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/llist.h>

#include "vq.h"

struct drm_device;
struct drm_file;
struct drm_virtio_gpgpu_result;
struct vgpgpu_ctx;
struct vgpgpu_obj;
struct work_struct;

/* A fence that a job waits for, of another job, device or driver. */
struct vgpgpu_dep {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct vgpgpu_job *job;
};

enum vgpgpu_job_state {
	VGPGPU_JOB_HELD,		/* waits in the driver for its fences */
	VGPGPU_JOB_SENT,		/* the device has it, or is about to */
	VGPGPU_JOB_DONE,
};

/*
 * References: the handle's, the timeline's from submission until the fence has been signalled, and
 * one for each dependency whose callback has not run.
 */
struct vgpgpu_job {
	struct kref ref;
	struct llist_node free_node;	/* on the device's job_free_list, when all are gone */
	struct vgpgpu_ctx *ctx;		/* with a reference */
	struct vgpgpu_req req;
	struct vgpgpu_queue *queue;
	size_t bytes;			/* of kernel memory */
	bool packet;			/* for the statistics */
	u32 num_packets;

	u32 timeline;
	u64 seq;
	struct dma_fence *fence;	/* with a reference */

	/* protected by the context's tl_lock */
	struct list_head node;		/* on its timeline */
	struct list_head fail_node;	/* while it is being ended without the device */
	enum vgpgpu_job_state state;
	bool cancelled;
	bool has_slot;			/* counts among the device's jobs */

	atomic_t num_waits;		/* dependencies not yet signalled, and one during submission */
	struct vgpgpu_dep *deps;
	unsigned int num_deps;

	/* protected by the queue's lock */
	bool condemned;			/* has run for too long; JOB_CANCEL is on its way */

	/* what the device needs for it, with a reference each, until it is done */
	struct vgpgpu_obj **objs;
	unsigned int num_objs;

	/* by the clock that user space calls monotonic; read once the job is done */
	u64 taken_ns, sent_ns, ended_ns;

	struct completion done;		/* the response is in req.in */
};

/* job.c */
int vgpgpu_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_job_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_job_cancel_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_job_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
void vgpgpu_job_drop_handles(struct vgpgpu_ctx *ctx);
void vgpgpu_job_put(struct vgpgpu_job *job);
void vgpgpu_job_put_atomic(struct vgpgpu_job *job);
void vgpgpu_job_free_work(struct work_struct *work);

/* timeline.c */
int vgpgpu_timeline_reserve(struct vgpgpu_ctx *ctx);
void vgpgpu_timeline_unreserve(struct vgpgpu_ctx *ctx);
void vgpgpu_timeline_set_slots(struct vgpgpu_device *gdev, unsigned int num);
struct dma_fence *vgpgpu_fence_alloc(bool shared);
void vgpgpu_timeline_append(struct vgpgpu_job *job, struct virtio_gpgpu_job *wire);
void vgpgpu_timeline_submit(struct vgpgpu_job *job);
int vgpgpu_timeline_cancel(struct vgpgpu_job *job, struct drm_virtio_gpgpu_result *result);
void vgpgpu_timeline_close(struct vgpgpu_ctx *ctx);
bool vgpgpu_timeline_orders(struct vgpgpu_ctx *ctx, u32 timeline, struct dma_fence *fence);
void vgpgpu_timeline_pump_work(struct work_struct *work);
void vgpgpu_timeline_cancel_work(struct work_struct *work);
void vgpgpu_timeline_cancel_stop(struct vgpgpu_device *gdev);

/* Both with the queue's lock held. */
bool vgpgpu_job_overdue(struct vgpgpu_job *job);
struct vgpgpu_job *vgpgpu_job_condemn(struct vgpgpu_job *job);

/* For the watchdog, with no locks held. */
int vgpgpu_executioner_init(struct vgpgpu_device *gdev);
bool vgpgpu_executioner_free(struct vgpgpu_device *gdev);
void vgpgpu_job_execute(struct vgpgpu_job *job);

#endif
