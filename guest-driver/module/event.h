/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the device says by itself, and the watchdog over what it should say.
 */
#ifndef VGPGPU_EVENT_H
#define VGPGPU_EVENT_H

struct virtqueue;
struct vgpgpu_device;
struct work_struct;

int vgpgpu_events_init(struct vgpgpu_device *gdev);
void vgpgpu_events_fill(struct vgpgpu_device *gdev);
void vgpgpu_event_callback(struct virtqueue *vq);

void vgpgpu_config_work(struct work_struct *work);
void vgpgpu_watchdog_work(struct work_struct *work);
void vgpgpu_watchdog_arm(struct vgpgpu_device *gdev);

#endif
