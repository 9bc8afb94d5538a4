/*
 * Virtio GPGPU device: which thread runs the queues
 *
 * How it works: without an iothread everything happens with the BQL, in the
 * main loop (or in a vCPU without ioeventfd). With one, its AioContext runs all
 * queues but the event queue, and the responses, from start_ioeventfd to
 * stop_ioeventfd; since one context runs both ends, the ring needs no lock. The
 * transport stops ioeventfd before a reset, an unplug, and after a stop of the
 * VM, so these find the device under the BQL again.
 *
 * Threads: BQL, but for what is said to run in the iothread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "block/aio-wait.h"
#include "exec/address-spaces.h"
#include "hw/virtio/virtio-bus.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "virtio-gpgpu.h"

static VirtIOGpgpu *call_device(EventNotifier *n)
{
    return container_of(n, VirtIOGpgpu, session.call);
}

/* The device's context: the worker has signalled. */
static void call_read(EventNotifier *n)
{
    if (event_notifier_test_and_clear(n)) {
        VirtIOGpgpu *s = call_device(n);

        /* it signals for responses, and for room in the request ring */
        virtio_gpgpu_run_responses(s);
        virtio_gpgpu_run_queues(s);
    }
}

/* iothread: polling */
static bool call_poll(void *opaque)
{
    VirtIOGpgpu *s = call_device(opaque);

    return s->online && s->running && gpgpu_ring_pending(&s->session.ring);
}

static void call_poll_ready(EventNotifier *n)
{
    virtio_gpgpu_run_responses(call_device(n));
}

/* While QEMU polls, the worker need not signal. */
static void call_poll_begin(EventNotifier *n)
{
    VirtIOGpgpu *s = call_device(n);

    if (s->online) {
        gpgpu_ring_set_sleeping(&s->session.ring, false);
    }
}

static void call_poll_end(EventNotifier *n)
{
    VirtIOGpgpu *s = call_device(n);

    /* the caller polls once more after this */
    if (s->online) {
        gpgpu_ring_set_sleeping(&s->session.ring, true);
    }
}

void virtio_gpgpu_attach_call(VirtIOGpgpu *s)
{
    EventNotifier *call = &s->session.call;

    if (s->ctx) {
        aio_set_event_notifier(s->ctx, call, call_read, call_poll,
                               call_poll_ready);
        aio_set_event_notifier_poll(s->ctx, call, call_poll_begin,
                                    call_poll_end);
    } else {
        event_notifier_set_handler(call, call_read);
    }
    /* what came while nobody watched */
    event_notifier_set(call);
}

void virtio_gpgpu_detach_call(VirtIOGpgpu *s)
{
    if (s->ctx) {
        aio_set_event_notifier(s->ctx, &s->session.call, NULL, NULL, NULL);
    } else {
        event_notifier_set_handler(&s->session.call, NULL);
    }
}

void virtio_gpgpu_in_context(VirtIOGpgpu *s, void (*fn)(void *opaque))
{
    if (s->ctx) {
        aio_wait_bh_oneshot(s->ctx, fn, s);
    } else {
        fn(s);
    }
}

bool virtio_gpgpu_dataplane_check(VirtIOGpgpu *s, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    BusState *qbus = qdev_get_parent_bus(DEVICE(vdev));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);

    if (!s->iothread) {
        return true;
    }
    if (!k->set_guest_notifiers || !k->ioeventfd_assign) {
        error_setg(errp, "property 'iothread': the transport does not support "
                   "notifiers");
        return false;
    }
    if (!virtio_device_ioeventfd_enabled(vdev)) {
        error_setg(errp, "property 'iothread' needs property 'ioeventfd' on");
        return false;
    }
    return true;
}

static unsigned dataplane_queues(VirtIOGpgpu *s)
{
    return s->num_queues + 1;   /* and the event queue */
}

static AioContext *dataplane_context(VirtIOGpgpu *s, unsigned i)
{
    return i == VIRTIO_GPGPU_VQ_EVENT ? qemu_get_aio_context() :
                                        iothread_get_aio_context(s->iothread);
}

/* Remove @num host notifiers. */
static void dataplane_remove(VirtIOGpgpu *s, unsigned num)
{
    VirtioBusState *bus = VIRTIO_BUS(qdev_get_parent_bus(DEVICE(s)));
    unsigned i;

    for (i = 0; i < num; i++) {
        virtio_bus_set_host_notifier(bus, i, false);
    }
    /* the transaction wants the ioeventfds open when it commits */
    memory_region_transaction_commit();
    for (i = 0; i < num; i++) {
        virtio_bus_cleanup_host_notifier(bus, i);
    }
}

static bool is_memory(VirtIODevice *vdev, hwaddr addr, hwaddr size)
{
    hwaddr length = size, offset;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(vdev->dma_as, addr, &offset, &length, true,
                                 MEMTXATTRS_UNSPECIFIED);
    return memory_region_is_ram(mr) && length >= size;
}

/*
 * Are the rings in memory? In a device's registers an iothread cannot access
 * them without the BQL, for whose owner it would then wait, who in turn waits
 * for the iothread when it stops it. So queues whose rings are not in memory
 * never run there: this is asked before they are attached, and whenever the
 * memory map changes. A guest IOMMU can change what an address stands for
 * without either; and what a request's descriptor names is mapped by virtio's
 * own code, which reads registers into a bounce buffer. In both ways, as with
 * QEMU's other devices with an iothread, a guest can hang its own QEMU.
 */
static bool dataplane_rings_are_memory(VirtIODevice *vdev, int n)
{
    return !virtio_queue_get_desc_addr(vdev, n) ||
           (is_memory(vdev, virtio_queue_get_desc_addr(vdev, n),
                      virtio_queue_get_desc_size(vdev, n)) &&
            is_memory(vdev, virtio_queue_get_avail_addr(vdev, n),
                      virtio_queue_get_avail_size(vdev, n)) &&
            is_memory(vdev, virtio_queue_get_used_addr(vdev, n),
                      virtio_queue_get_used_size(vdev, n)));
}

static void dataplane_stop_queue(void *opaque)
{
    VirtQueue *vq = opaque;

    virtio_queue_aio_detach_host_notifier(vq, qemu_get_current_aio_context());
    /* it may have been signalled with the handler not run yet */
    virtio_queue_host_notifier_read(virtio_queue_get_host_notifier(vq));
}

/* Its handler does not run, nor is it polled, until it is attached again. */
static void dataplane_detach_queue(VirtIOGpgpu *s, unsigned i)
{
    aio_wait_bh_oneshot(dataplane_context(s, i), dataplane_stop_queue,
                        virtio_get_queue(VIRTIO_DEVICE(s), i));
}

static void dataplane_attach_queue(VirtIOGpgpu *s, unsigned i)
{
    VirtQueue *vq = virtio_get_queue(VIRTIO_DEVICE(s), i);

    if (i == VIRTIO_GPGPU_VQ_EVENT) {
        virtio_queue_aio_attach_host_notifier_no_poll(vq,
                                                      dataplane_context(s, i));
    } else {
        virtio_queue_aio_attach_host_notifier(vq, dataplane_context(s, i));
    }
}

/* Reset by itself: its rings are looked at when it is enabled. */
static bool dataplane_queue_disabled(VirtIOGpgpu *s, unsigned i)
{
    return i != VIRTIO_GPGPU_VQ_EVENT &&
           s->queues[i == VIRTIO_GPGPU_VQ_CONTROL ? 0 : i - 1].disabled;
}

static bool dataplane_runs(VirtIOGpgpu *s)
{
    return s->iothread && s->ioeventfd_started && !s->ioeventfd_disabled &&
           !s->ioeventfd_stopping;
}

void virtio_gpgpu_dataplane_queue(VirtIOGpgpu *s, unsigned i, bool enable)
{
    if (!dataplane_runs(s)) {
        return;
    }
    if (enable) {
        dataplane_attach_queue(s, i);
    } else {
        dataplane_detach_queue(s, i);
    }
}

bool virtio_gpgpu_dataplane_may_enable(VirtIOGpgpu *s, unsigned i)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    if (!dataplane_runs(s) || dataplane_rings_are_memory(vdev, i)) {
        return true;
    }
    virtio_error(vdev, "virtio-gpgpu: queue %u outside of memory", i);
    return false;
}

/*
 * The guest has moved something, maybe away from under its rings. This
 * listener comes before virtio's own, which takes the new map from here on:
 * until then the iothread sees the old one, in which they are memory.
 */
static void dataplane_memory_changed(MemoryListener *listener)
{
    VirtIOGpgpu *s = container_of(listener, VirtIOGpgpu, listener);
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    unsigned num = dataplane_queues(s), i;

    if (!dataplane_runs(s)) {
        return;
    }
    for (i = 0; i < num; i++) {
        if (!dataplane_rings_are_memory(vdev, i)) {
            break;
        }
    }
    if (i == num) {
        return;
    }
    if (!vdev->broken) {
        virtio_error(vdev, "virtio-gpgpu: queue %u outside of memory", i);
    }
    /* a broken device's rings are still touched where polling begins or ends */
    for (i = 0; i < num; i++) {
        dataplane_detach_queue(s, i);
    }
}

void virtio_gpgpu_dataplane_init(VirtIOGpgpu *s)
{
    if (!s->iothread) {
        return;
    }
    object_ref(OBJECT(s->iothread));
    s->listener = (MemoryListener) {
        .name = "virtio-gpgpu",
        .commit = dataplane_memory_changed,
    };
    /* which address space does not matter: a commit is of all of them */
    memory_listener_register(&s->listener, &address_space_memory);
}

void virtio_gpgpu_dataplane_cleanup(VirtIOGpgpu *s)
{
    if (!s->iothread) {
        return;
    }
    memory_listener_unregister(&s->listener);
    object_unref(OBJECT(s->iothread));
}

static VirtioDeviceClass *parent_class(void)
{
    return VIRTIO_DEVICE_CLASS(object_class_by_name(TYPE_VIRTIO_DEVICE));
}

int virtio_gpgpu_start_ioeventfd(VirtIODevice *vdev)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);
    unsigned num = dataplane_queues(s), i;
    int ret;

    if (!s->iothread) {
        return parent_class()->start_ioeventfd(vdev);
    }
    if (s->ioeventfd_started || s->ioeventfd_starting) {
        return 0;
    }
    for (i = 0; i < num; i++) {
        if (!dataplane_rings_are_memory(vdev, i)) {
            virtio_error(vdev, "virtio-gpgpu: queue %u outside of memory", i);
            goto fail;
        }
    }
    s->ioeventfd_starting = true;

    ret = k->set_guest_notifiers(qbus->parent, num, true);
    if (ret) {
        error_report("virtio-gpgpu: cannot set guest notifiers: %s",
                     strerror(-ret));
        goto fail;
    }
    /* one transaction: else each notifier walks the whole memory map */
    memory_region_transaction_begin();
    for (i = 0; i < num; i++) {
        ret = virtio_bus_set_host_notifier(VIRTIO_BUS(qbus), i, true);
        if (ret) {
            error_report("virtio-gpgpu: cannot set host notifier %u: %s", i,
                         strerror(-ret));
            dataplane_remove(s, i);
            k->set_guest_notifiers(qbus->parent, num, false);
            goto fail;
        }
    }
    memory_region_transaction_commit();

    virtio_gpgpu_detach_call(s);
    s->ctx = iothread_get_aio_context(s->iothread);
    s->ioeventfd_starting = false;
    s->ioeventfd_started = true;
    smp_wmb(); /* paired with aio_notify_accept() */

    virtio_gpgpu_attach_call(s);
    for (i = 0; i < num; i++) {
        if (!dataplane_queue_disabled(s, i)) {
            dataplane_attach_queue(s, i);
        }
    }
    return 0;

fail:
    /* the queues run with the BQL then, as without an iothread */
    s->ioeventfd_disabled = true;
    s->ioeventfd_starting = false;
    s->ioeventfd_started = true;
    return -ENOSYS;
}

static void dataplane_stop_call(void *opaque)
{
    virtio_gpgpu_detach_call(opaque);
}

void virtio_gpgpu_stop_ioeventfd(VirtIODevice *vdev)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);
    unsigned num = dataplane_queues(s), i;

    if (!s->iothread) {
        parent_class()->stop_ioeventfd(vdev);
        return;
    }
    if (!s->ioeventfd_started || s->ioeventfd_stopping) {
        return;
    }
    /* better luck next time */
    if (s->ioeventfd_disabled) {
        s->ioeventfd_disabled = false;
        s->ioeventfd_started = false;
        return;
    }
    s->ioeventfd_stopping = true;

    for (i = 0; i < num; i++) {
        dataplane_detach_queue(s, i);
    }
    virtio_gpgpu_in_context(s, dataplane_stop_call);
    /* from here on the BQL owns what the context owned */
    s->ctx = NULL;
    virtio_gpgpu_attach_call(s);

    memory_region_transaction_begin();
    dataplane_remove(s, num);
    k->set_guest_notifiers(qbus->parent, num, false);
    s->ioeventfd_started = false;
    s->ioeventfd_stopping = false;
}
