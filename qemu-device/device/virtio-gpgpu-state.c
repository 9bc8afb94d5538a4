/*
 * Virtio GPGPU device: a lost worker, stop and continue, reset
 *
 * How it works: what happens to the device as a whole while it exists. Each of
 * these finds the data path in the device's context (VirtIOGpgpu.ctx), does its
 * part there, and waits for it.
 *
 * Invariants: after reset and stop nothing writes the guest's memory on the
 * device's behalf: the worker says so within GPGPU_ACK_TIMEOUT_MS, or it is
 * ended (but see gpgpu-backend.h). The generation grows by one with each lost
 * worker, and every request that the lost one had is answered, once the guest
 * runs.
 *
 * Threads: BQL, but for functions that say they run in the device's context.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "block/aio-wait.h"
#include "qapi/error.h"
#include "qapi/qapi-events-gpgpu.h"
#include "qemu/main-loop.h"
#include "virtio-gpgpu.h"
#include "trace.h"

/* Worker lost and found -----------------------------------------------------*/

/* Context: as s->ctx */
static void gpgpu_lost_in_context(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    s->online = false;
    s->lost = true;
    if (s->running) {
        s->lost = false;
        virtio_gpgpu_fail_requests(s);
    }
}

/* Context: as s->ctx */
static void gpgpu_online_in_context(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    s->online = true;
    s->used = false;
    /* else a stopped guest still has requests with the dead worker */
    if (!s->lost) {
        virtio_gpgpu_run_queues(s);
    }
}

/* Tell the guest what happened, if it runs; else when it does. */
static void gpgpu_notify_guest(VirtIOGpgpu *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    if (!vdev->vm_running) {
        return;
    }
    if (s->lost_notify) {
        s->lost_notify = false;
        virtio_gpgpu_send_event(s, VIRTIO_GPGPU_EV_DEVICE_LOST,
                                VIRTIO_GPGPU_R_WORKER_DIED, s->generation);
        virtio_notify_config(vdev);
    }
    if (s->ready_notify) {
        s->ready_notify = false;
        virtio_gpgpu_send_event(s, VIRTIO_GPGPU_EV_DEVICE_READY,
                                VIRTIO_GPGPU_R_NONE, s->generation);
    }
    virtio_gpgpu_tell_missed(s);
}

/* Who brought the GPU down; false: there is none, or nobody knows. */
static bool gpgpu_loss_cause(uint32_t loss, GpgpuLossCause *cause)
{
    switch (loss) {
    case GPGPU_MSG_LOSS_GUILTY:
        *cause = GPGPU_LOSS_CAUSE_GUILTY;
        return true;
    case GPGPU_MSG_LOSS_INNOCENT:
        *cause = GPGPU_LOSS_CAUSE_INNOCENT;
        return true;
    case GPGPU_MSG_LOSS_GONE:
        *cause = GPGPU_LOSS_CAUSE_GONE;
        return true;
    default:
        return false;
    }
}

static void gpgpu_lost(void *opaque, const char *reason, uint32_t loss)
{
    VirtIOGpgpu *s = opaque;
    GpgpuLossCause cause = 0;
    bool known = gpgpu_loss_cause(loss, &cause);
    g_autofree char *path = object_get_canonical_path(OBJECT(s));
    const char *id = virtio_gpgpu_id(s);

    trace_virtio_gpgpu_lost(s, reason, s->generation + 1);
    qatomic_set(&s->generation, s->generation + 1);
    s->session.generation = s->generation;
    virtio_gpgpu_in_context(s, gpgpu_lost_in_context);
    /* whatever was wrong with it, the next worker has a new ring */
    qemu_bh_cancel(s->broken_bh);

    qapi_event_send_gpgpu_device_lost(id, path, reason, s->generation,
                                      known, cause);
    s->lost_notify = true;
    s->ready_notify = false;
    gpgpu_notify_guest(s);
}

static void gpgpu_ready(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    trace_virtio_gpgpu_ready(s, s->generation);
    virtio_gpgpu_in_context(s, gpgpu_online_in_context);
    s->ready_notify = true;
    gpgpu_notify_guest(s);
}

static void gpgpu_event(void *opaque, uint32_t type, uint32_t reason,
                        uint64_t value)
{
    /* lost and ready are for the device to say */
    if (type == VIRTIO_GPGPU_EV_QUOTA || type == VIRTIO_GPGPU_EV_MAP_DATA) {
        virtio_gpgpu_send_event(opaque, type, reason, value);
    }
}

static void gpgpu_poll(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    if (!s->ctx) {
        virtio_gpgpu_run_responses(s);
    }
}

const GpgpuSessionOps virtio_gpgpu_session_ops = {
    .ready = gpgpu_ready,
    .lost = gpgpu_lost,
    .event = gpgpu_event,
    .poll = gpgpu_poll,
};

/* The ring was found broken in the device's context. */
void virtio_gpgpu_broken(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    gpgpu_backend_lost(s->session.backend, "worker broke the ring");
}

/* Stop and continue ---------------------------------------------------------*/

/* Context: as s->ctx */
static void gpgpu_stop_in_context(void *opaque)
{
    VirtIOGpgpu *s = opaque;
    bool more = true;

    /* what the worker finished before it paused */
    while (more) {
        more = virtio_gpgpu_run_responses(s);
    }
    s->running = false;
}

/* Context: as s->ctx */
static void gpgpu_start_in_context(void *opaque)
{
    VirtIOGpgpu *s = opaque;

    s->running = true;
    if (s->lost) {
        s->lost = false;
        virtio_gpgpu_fail_requests(s);
    }
    virtio_gpgpu_run_responses(s);
    virtio_gpgpu_run_queues(s);
}

void virtio_gpgpu_vm_state_change(void *opaque, bool running, RunState state)
{
    VirtIOGpgpu *s = opaque;

    trace_virtio_gpgpu_vm_state(s, running);
    if (running) {
        gpgpu_session_resume(&s->session);
        virtio_gpgpu_in_context(s, gpgpu_start_in_context);
        gpgpu_notify_guest(s);
    } else {
        gpgpu_session_pause(&s->session);
        virtio_gpgpu_in_context(s, gpgpu_stop_in_context);
    }
}

/* Reset ---------------------------------------------------------------------*/

/*
 * The worker has answered everything, but where the ring was full some of it
 * may still be on its way. A response may not come later than this.
 */
static void gpgpu_take_all_responses(VirtIOGpgpu *s)
{
    int64_t deadline = g_get_monotonic_time() + GPGPU_ACK_TIMEOUT_MS * 1000LL;

    while (s->num_free < s->num_slots && s->online) {
        if (g_get_monotonic_time() >= deadline) {
            gpgpu_backend_lost(s->session.backend,
                               "worker did not answer every request");
            return;
        }
        if (!virtio_gpgpu_run_responses(s)) {
            g_usleep(100);
        }
    }
}

/*
 * Destroy what the driver made and forget what it asked for. The transport has
 * stopped ioeventfd, so the queues are ours.
 */
void virtio_gpgpu_reset_session(VirtIOGpgpu *s, uint64_t features)
{
    virtio_gpgpu_detach_requests(s, NULL);
    if (s->lost) {
        /*
         * All that is outstanding was a dead worker's: there is none to wait
         * for, and none that a new worker, if there is one, knows of.
         */
        s->lost = false;
        virtio_gpgpu_init_slots(s);
    }
    if (!s->used && s->session.features == features) {
        return;
    }
    s->draining = true;
    gpgpu_session_reset(&s->session, features);
    gpgpu_take_all_responses(s);
    s->draining = false;
    /* here again if it was lost of this: without requests that is no matter */
    s->lost = false;
    s->used = false;
    virtio_gpgpu_init_slots(s);
}

struct queue_change {
    VirtIOGpgpu *s;
    VirtIOGpgpuQueue *queue;
    bool disabled;
};

/* Context: as s->ctx */
static void gpgpu_queue_change_in_context(void *opaque)
{
    struct queue_change *data = opaque;

    data->queue->disabled = data->disabled;
    if (data->disabled) {
        virtio_gpgpu_detach_requests(data->s, data->queue);
    }
}

static void gpgpu_queue_change(VirtIODevice *vdev, uint32_t index,
                               bool disabled)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    struct queue_change data = { .s = s, .disabled = disabled };

    if (index == VIRTIO_GPGPU_VQ_EVENT || index > s->num_queues) {
        return;
    }
    data.queue = &s->queues[index == VIRTIO_GPGPU_VQ_CONTROL ? 0 : index - 1];
    if (disabled) {
        virtio_gpgpu_dataplane_queue(s, index, false);
    }
    if (s->ctx) {
        aio_wait_bh_oneshot(s->ctx, gpgpu_queue_change_in_context, &data);
    } else {
        gpgpu_queue_change_in_context(&data);
    }
    if (!disabled) {
        virtio_gpgpu_dataplane_queue(s, index, true);
    }
}

/*
 * The caller forgets the rings after this, and an iothread, whom a vCPU may
 * kick just now, must not use them any more.
 */
void virtio_gpgpu_queue_reset(VirtIODevice *vdev, uint32_t index)
{
    gpgpu_queue_change(vdev, index, true);
}

/*
 * What an iothread could not use stays disabled: it looks at all queues that
 * are not, whichever it was called for.
 */
void virtio_gpgpu_queue_enable(VirtIODevice *vdev, uint32_t index)
{
    if (virtio_gpgpu_dataplane_may_enable(VIRTIO_GPGPU(vdev), index)) {
        gpgpu_queue_change(vdev, index, false);
    }
}
