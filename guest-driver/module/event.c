// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the device says by itself, and the watchdog over what it should say.
 *
 * How it works: the event queue is kept full of elements of one event each; the interrupt takes them
 * out, acts on them and puts them back. An event matters only as a hint: that the device was lost
 * is also seen in the generation of any response, and the configuration says it too.
 *
 * The watchdog runs once a second while anything is under way. A job that has been the first of its
 * timeline for job_timeout_ms is cancelled; a device that then, or to any control command, gives no answer is
 * reset, which ends everything with DEVICE_LOST. That is what bounds every wait in this driver.
 */
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "drv.h"
#include "event.h"
#include "job.h"
#include "map.h"
#include "vq.h"

#define NUM_EVENTS	16

struct vgpgpu_events {
	struct virtio_gpgpu_event *event[NUM_EVENTS];	/* an allocation each: the device writes */
};

static void events_free(struct drm_device *drm, void *data)
{
	struct vgpgpu_events *events = data;
	unsigned int i;

	for (i = 0; i < NUM_EVENTS; i++)
		kfree(events->event[i]);
}

int vgpgpu_events_init(struct vgpgpu_device *gdev)
{
	unsigned int i;

	gdev->events = drmm_kzalloc(&gdev->drm, sizeof(*gdev->events), GFP_KERNEL);
	if (!gdev->events)
		return -ENOMEM;
	for (i = 0; i < NUM_EVENTS; i++) {
		gdev->events->event[i] = kzalloc(sizeof(*gdev->events->event[i]), GFP_KERNEL);
		if (!gdev->events->event[i])
			break;
	}
	if (i < NUM_EVENTS) {
		events_free(&gdev->drm, gdev->events);
		return -ENOMEM;
	}
	return drmm_add_action_or_reset(&gdev->drm, events_free, gdev->events);
}

/* Gives the device an element. Called with the queue's lock held. */
static void event_offer(struct virtqueue *vq, struct virtio_gpgpu_event *event)
{
	struct scatterlist sg;

	sg_init_one(&sg, event, sizeof(*event));
	/* Without memory for it the ring has one less, and the device counts what it had to drop. */
	virtqueue_add_inbuf(vq, &sg, 1, event, GFP_ATOMIC);
}

/* The device has just been started. */
void vgpgpu_events_fill(struct vgpgpu_device *gdev)
{
	struct vgpgpu_queue *q = &gdev->queues[VIRTIO_GPGPU_VQ_EVENT];
	unsigned int i;

	spin_lock_irq(&q->lock);
	for (i = 0; i < NUM_EVENTS && i < virtqueue_get_vring_size(q->vq); i++)
		event_offer(q->vq, gdev->events->event[i]);
	virtqueue_kick(q->vq);
	spin_unlock_irq(&q->lock);
}

static void event_act(struct vgpgpu_device *gdev, const struct virtio_gpgpu_event *event)
{
	u32 generation = le32_to_cpu(event->generation);
	u32 reason = le32_to_cpu(event->reason);
	u64 value = le64_to_cpu(event->value);

	switch (le32_to_cpu(event->type)) {
	case VIRTIO_GPGPU_EV_DEVICE_LOST:
		dev_warn(gdev->drm.dev, "device lost, reason %u; open files have to be opened again\n",
			 reason);
		generation = value;
		break;
	case VIRTIO_GPGPU_EV_DEVICE_READY:
		dev_info(gdev->drm.dev, "device ready, generation %llu\n", value);
		generation = value;
		break;
	case VIRTIO_GPGPU_EV_MAP_DATA:
		if (value)
			vgpgpu_map_has_data(gdev, value);
		else
			vgpgpu_maps_have_data(gdev);
		break;
	case VIRTIO_GPGPU_EV_QUOTA:
		WRITE_ONCE(gdev->caps_valid, false);	/* the memory limit is in there */
		break;
	}
	vgpgpu_dev_saw_generation(gdev, generation);

	/* What was lost can have been of any kind: ask for everything again. */
	if (event->dropped) {
		WRITE_ONCE(gdev->caps_valid, false);
		vgpgpu_maps_have_data(gdev);
		queue_work(vgpgpu_wq, &gdev->config_work);
	}
}

void vgpgpu_event_callback(struct virtqueue *vq)
{
	struct vgpgpu_device *gdev = vq->vdev->priv;
	struct vgpgpu_queue *q = &gdev->queues[VIRTIO_GPGPU_VQ_EVENT];
	struct virtio_gpgpu_event *event;
	unsigned long flags;
	unsigned int len;

	spin_lock_irqsave(&q->lock, flags);
	do {
		virtqueue_disable_cb(vq);
		while ((event = virtqueue_get_buf(vq, &len))) {
			if (len >= sizeof(*event))
				event_act(gdev, event);
			if (q->live)
				event_offer(vq, event);
		}
	} while (!virtqueue_enable_cb(vq));
	if (q->live)
		virtqueue_kick(vq);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* The configuration changed, or a status bit in it. */
void vgpgpu_config_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev = container_of(work, struct vgpgpu_device, config_work);
	u32 generation;

	mutex_lock(&gdev->state_lock);
	if (gdev->running) {
		virtio_cread_le(gdev->vdev, struct virtio_gpgpu_config, generation, &generation);
		vgpgpu_dev_saw_generation(gdev, generation);
		if (gdev->vdev->config->get_status(gdev->vdev) & VIRTIO_CONFIG_S_NEEDS_RESET)
			queue_work(vgpgpu_wq, &gdev->reset_work);
	}
	mutex_unlock(&gdev->state_lock);
}

/* -------------------------------------------------------------------------------------------- watchdog */

/* Called with a live queue's lock held; a no-op while it is armed. */
void vgpgpu_watchdog_arm(struct vgpgpu_device *gdev)
{
	queue_delayed_work(vgpgpu_wq, &gdev->watchdog, HZ);
}

void vgpgpu_watchdog_work(struct work_struct *work)
{
	struct vgpgpu_device *gdev =
		container_of(to_delayed_work(work), struct vgpgpu_device, watchdog);
	struct vgpgpu_job *victim;
	bool busy, hung;

	busy = vgpgpu_queues_check(gdev, &victim, &hung);
	if (hung)
		queue_work(vgpgpu_wq, &gdev->reset_work);
	if (victim)
		vgpgpu_job_execute(victim);
	if (busy)
		queue_delayed_work(vgpgpu_wq, &gdev->watchdog, HZ);
}
