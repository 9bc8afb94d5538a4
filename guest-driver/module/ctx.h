/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contexts: what an open file is to the device.
 */
#ifndef VGPGPU_CTX_H
#define VGPGPU_CTX_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include <drm/drm_file.h>

#include "obj.h"

#define VGPGPU_NUM_TIMELINES	16	/* of the uapi; the device has VIRTIO_GPGPU_MAX_TIMELINES */

struct vgpgpu_timeline {
	struct list_head jobs;		/* in order of their sequence numbers, until they have ended */
	u64 seq;			/* of the last one */
	u64 cancel_seq;			/* jobs up to this one are to end early */
};

struct vgpgpu_ctx {
	struct vgpgpu_obj obj;		/* its reference count is the context's */

	struct mutex lock;		/* creation on the device; attaching of shared buffers */
	u32 generation;			/* of the device, when it was created there; 0: not yet */
	u32 resets;
	bool lost;			/* the device said so */
	bool abandoned;			/* whoever created it was killed meanwhile */

	/* handles of this file */
	struct xarray maps, progs, jobs;
	struct xarray attached;		/* by id: struct attachment, of buffers of other contexts */

	spinlock_t tl_lock;		/* irq safe; protects the timelines; outside queue locks */
	struct vgpgpu_timeline timelines[VGPGPU_NUM_TIMELINES];
	bool closing;			/* the file is closed: jobs that wait are cancelled */
	struct work_struct pump_work;	/* holds a reference while pending */
	u64 fence_context;		/* of timeline 0, the others follow */
	struct list_head cancel_node;	/* on the device's cancel_list, with a reference */

	/* under slot_lock */
	unsigned int num_reserved;	/* jobs that have not ended */
	unsigned int num_slots;		/* slots that it has */
	unsigned int num_granted;	/* those of them that no job has taken yet */
	bool wants_slot;		/* has its share of slots, and a job that is ready for one more */
	struct list_head slot_node;	/* on the device's slot_queue, with a reference */

	u64 shm_bytes;			/* of the shared region, under mm_lock */
	atomic64_t job_bytes;		/* kernel memory that job handles hold */
	atomic64_t compute_ns, packet_ns, num_jobs;	/* device time used */
};

int vgpgpu_ctx_open(struct drm_device *drm, struct drm_file *file);
void vgpgpu_ctx_postclose(struct drm_device *drm, struct drm_file *file);
void vgpgpu_ctx_show_fdinfo(struct drm_printer *p, struct drm_file *file);

bool vgpgpu_ctx_alive(struct vgpgpu_ctx *ctx);
void vgpgpu_ctx_created(struct vgpgpu_obj *obj, u32 generation);
int vgpgpu_ctx_get_ready(struct vgpgpu_ctx *ctx, struct drm_virtio_gpgpu_result *result);
struct vgpgpu_obj *vgpgpu_ctx_find(struct xarray *handles, u32 handle);
int vgpgpu_ctx_destroy_handle(struct xarray *handles, u32 handle);

int vgpgpu_caps_get(struct vgpgpu_device *gdev, struct virtio_gpgpu_caps *caps);
int vgpgpu_get_caps_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vgpgpu_get_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif
