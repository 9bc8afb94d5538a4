/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device: what one virtio GPGPU device is to this driver.
 *
 * Who owns what: an open file owns a context; a context is kept alive by the objects made in it and by
 * its jobs; every context holds a reference on the drm_device. So this structure outlives the virtio
 * device for as long as something of it can still be reached.
 */
#ifndef VGPGPU_DRV_H
#define VGPGPU_DRV_H

#include <linux/idr.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_mm.h>

#include "virtio_gpgpu.h"

struct virtio_device;
struct vgpgpu_queue;
struct vgpgpu_events;
struct vgpgpu_executioner;

/* Kinds of objects; ids are chosen by the driver, per kind and for the whole device. */
enum vgpgpu_object {
	VGPGPU_CTX,
	VGPGPU_BUFFER,
	VGPGPU_MAP,
	VGPGPU_PROG,
	VGPGPU_NUM_OBJECTS
};

struct vgpgpu_device {
	struct drm_device drm;

	/* @state_lock: start, stop, reset, suspend and removal exclude each other */
	struct mutex state_lock;
	struct virtio_device *vdev;	/* not to be touched once @removed */
	bool running;			/* the queues are live */
	bool removed;

	/* set before the first start, constant afterwards */
	struct vgpgpu_queue *queues;
	unsigned int num_queues;
	unsigned int num_compute;
	unsigned int num_packet;
	u32 max_request;		/* bytes */
	u32 max_response;
	unsigned int max_chain;		/* descriptors of one request */
	unsigned int ring_slots;	/* jobs that a ring has room for */
	unsigned int max_segment;	/* bytes that one descriptor of it may have */
	phys_addr_t shm_phys;
	u64 shm_size;
	void *shm;			/* only between drm_dev_enter() and drm_dev_exit() */

	/*
	 * A context is alive as long as neither has changed since it was made: @generation is the
	 * device's, @resets counts how often this driver reset the device.
	 */
	u32 generation;
	u32 resets;

	struct mutex caps_lock;		/* protects @caps; @caps_valid is cleared without it */
	bool caps_valid;
	struct virtio_gpgpu_caps caps;

	spinlock_t mm_lock;		/* protects @mm and each context's shm_bytes */
	struct drm_mm mm;		/* of the shared-memory region */
	wait_queue_head_t mm_wait;	/* woken when a range comes back */

	struct ida ids[VGPGPU_NUM_OBJECTS];

	struct llist_head free_list;	/* objects that the device no longer has */
	struct work_struct free_work;
	struct llist_head job_free_list;	/* jobs whose last reference went in an atomic context */
	struct work_struct job_free_work;
	struct llist_head retry_list;	/* objects whose destruction was answered BUSY */
	struct delayed_work retry_work;

	spinlock_t slot_lock;		/* protects the following and each context's counts */
	unsigned int max_jobs;		/* that the device takes */
	unsigned int max_slots;		/* the same, and no more than a ring has room for */
	unsigned int num_slots;		/* jobs that the device has, and slots granted for more */
	struct list_head slot_queue;	/* contexts that have a job ready and no slot for it */
	wait_queue_head_t slot_wait;	/* woken when a file may submit more */

	spinlock_t cancel_lock;		/* protects the three below */
	struct list_head cancel_list;	/* contexts whose cancelled jobs have not ended */
	unsigned int cancel_delay_ms;
	bool cancel_stopped;
	struct delayed_work cancel_work;

	struct xarray record_maps;	/* irq safe; by id: maps with records, for the event queue */
	wait_queue_head_t map_wait;	/* woken when one of them has records, or the device was lost */

	struct vgpgpu_events *events;
	struct vgpgpu_executioner *executioner;	/* the watchdog's */
	struct work_struct config_work;
	struct work_struct reset_work;
	struct delayed_work watchdog;
};

#define to_vgpgpu(dev) container_of(dev, struct vgpgpu_device, drm)

extern struct workqueue_struct *vgpgpu_wq;	/* drained before the module goes */
extern unsigned int vgpgpu_job_timeout_ms;
extern unsigned int vgpgpu_control_timeout_ms;
extern unsigned int vgpgpu_shm_percent;

int vgpgpu_dev_start(struct vgpgpu_device *gdev);
void vgpgpu_dev_stop(struct vgpgpu_device *gdev);
void vgpgpu_dev_restart(struct vgpgpu_device *gdev);
void vgpgpu_dev_saw_generation(struct vgpgpu_device *gdev, u32 generation);

#endif
