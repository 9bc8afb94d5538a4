/*
 * Virtio GPGPU device: the data path
 *
 * How it works: a request is popped, copied into the request ring and kept in a
 * slot whose number and serial are its tag. When the response with that tag
 * arrives, it is copied into the element, which goes back to the guest; the
 * guest is notified once per queue and run. A full ring stalls a queue: the
 * popped element waits in it and is the first to go once the worker has made
 * room. What is malformed as seen from here (no room for a header) is answered
 * here; what a request means is the engine's business.
 *
 * Invariants: an element is in exactly one place: a slot, `stalled`, or back
 * with the guest. Sizes are taken from the element once. Nothing is written to
 * the guest unless `running`. While the guest's memory is written, no slot or
 * queue names the element: should that write come back to us (DMA to our own
 * registers), there is nothing to be freed twice.
 *
 * A guest may point DMA at its devices' registers, ours included, where a write
 * can mean "reset". Elements whose response is not in memory are refused. What
 * is left are the rings: with the BQL the transport's device counts as being in
 * I/O while we work, so that accesses to its registers are denied; with an
 * iothread the rings' addresses are checked when it takes over.
 *
 * Threads: the device's context (VirtIOGpgpu.ctx) only, so no locks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "virtio-gpgpu.h"
#include "trace.h"

/* Responses handled before other work of the context gets its turn */
#define RESPONSES_PER_TURN  1024
/* ... and looks at the ring for more, whether or not there were any */
#define LOOKS_PER_TURN      8

/* Against DMA to our own registers ------------------------------------------*/

/* Returns: for device_leave() */
static bool device_enter(VirtIOGpgpu *s)
{
    bool engaged = s->guard->engaged_in_io;

    /* an iothread must not: to a vCPU that would look like its own access */
    if (!s->ctx) {
        s->guard->engaged_in_io = true;
    }
    return engaged;
}

static void device_leave(VirtIOGpgpu *s, bool engaged)
{
    if (!s->ctx) {
        s->guard->engaged_in_io = engaged;
    }
}

/* Memory, or registers, for which there is a bounce buffer? */
static bool element_is_memory(const VirtQueueElement *elem)
{
    ram_addr_t offset;
    unsigned i;

    RCU_READ_LOCK_GUARD();
    for (i = 0; i < elem->in_num; i++) {
        if (!memory_region_from_host(elem->in_sg[i].iov_base, &offset)) {
            return false;
        }
    }
    return true;
}

/* Take an element of @size bytes; NULL if there is none that can be used. */
static void *element_pop(VirtIOGpgpu *s, VirtQueue *vq, size_t size)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    VirtQueueElement *elem;

    /* virtqueue_fill() has a place for as many as the queue was made for */
    if (virtio_queue_get_num(vdev, virtio_get_queue_index(vq)) >
        s->queue_size) {
        virtio_error(vdev, "virtio-gpgpu: queue of more than %u elements",
                     s->queue_size);
        return NULL;
    }
    elem = virtqueue_pop(vq, size);
    if (elem && !element_is_memory(elem)) {
        virtqueue_detach_element(vq, elem, 0);
        g_free(elem);
        virtio_error(vdev, "virtio-gpgpu: response outside of memory");
        return NULL;
    }
    return elem;
}

/* Giving elements back ------------------------------------------------------*/

/* Let the guest see what was filled. */
static void queue_flush(VirtIOGpgpuQueue *q)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(q->dev);

    if (!q->filled) {
        return;
    }
    WITH_RCU_READ_LOCK_GUARD() {
        virtqueue_flush(q->vq, q->filled);
    }
    q->filled = 0;
    if (q->dev->ctx) {
        virtio_notify_irqfd(vdev, q->vq);
    } else {
        virtio_notify(vdev, q->vq);
    }
}

static void queue_fill(VirtIOGpgpuQueue *q, VirtIOGpgpuRequest *request,
                       uint32_t length)
{
    WITH_RCU_READ_LOCK_GUARD() {
        virtqueue_fill(q->vq, &request->elem, length, q->filled++);
    }
    g_free(request);
    /*
     * The guest may have made the queue larger since the element was taken, if
     * this is an iothread.
     */
    if (q->filled == q->dev->queue_size) {
        queue_flush(q);
    }
}

/* Answer in the engine's place. */
static void queue_answer(VirtIOGpgpuQueue *q, VirtIOGpgpuRequest *request,
                         uint32_t status, uint32_t reason, uint64_t detail)
{
    VirtQueueElement *elem = &request->elem;
    struct virtio_gpgpu_req_hdr req = {};
    struct virtio_gpgpu_resp_hdr resp = {
        .status = cpu_to_le32(status),
        .reason = cpu_to_le32(reason),
        .detail = cpu_to_le64(detail),
        .length = cpu_to_le32(sizeof(resp)),
        .generation = cpu_to_le32(qatomic_read(&q->dev->generation)),
    };

    trace_virtio_gpgpu_answer(q->dev, virtio_get_queue_index(q->vq), status,
                              reason);
    if (request->capacity < sizeof(resp)) {
        queue_fill(q, request, 0);
        return;
    }
    if (iov_to_buf(elem->out_sg, elem->out_num, 0, &req, sizeof(req)) ==
        sizeof(req)) {
        resp.cookie = req.cookie;
    }
    iov_from_buf(elem->in_sg, elem->in_num, 0, &resp, sizeof(resp));
    queue_fill(q, request, sizeof(resp));
}

/* Requests ------------------------------------------------------------------*/

static void device_broken(VirtIOGpgpu *s)
{
    if (s->online) {
        s->online = false;
        s->lost = true;
        /* the connection belongs to the main loop */
        qemu_bh_schedule(s->broken_bh);
    }
}

/*
 * Put one request on the ring.
 * Returns: false if there is no room; then @request is still the caller's.
 */
static bool queue_send(VirtIOGpgpuQueue *q, VirtIOGpgpuRequest *request)
{
    VirtIOGpgpu *s = q->dev;
    VirtQueueElement *elem = &request->elem;
    bool broken = false;
    uint32_t number;
    VirtIOGpgpuSlot *slot;
    uint8_t *payload;

    if (!s->num_free) {
        /* orphans of a queue reset: the worker has not answered them yet */
        return false;
    }
    number = s->free_slots[s->num_free - 1];
    slot = &s->slots[number];
    payload = gpgpu_ring_reserve(&s->session.ring, q->kind,
                                 (uint64_t)slot->serial << 32 | number,
                                 request->request_size, request->capacity,
                                 &broken);
    if (!payload) {
        if (broken) {
            device_broken(s);
        }
        return false;
    }
    iov_to_buf(elem->out_sg, elem->out_num, 0, payload, request->request_size);
    gpgpu_ring_commit(&s->session.ring);

    s->num_free--;
    slot->busy = true;
    slot->queue = q;
    slot->request = request;
    s->used = true;
    trace_virtio_gpgpu_request(s, virtio_get_queue_index(q->vq), number,
                               request->request_size, request->capacity);
    return true;
}

/* Take one request. Returns: false if its queue must wait for room. */
static bool queue_take(VirtIOGpgpuQueue *q, VirtIOGpgpuRequest *request)
{
    VirtIOGpgpu *s = q->dev;

    if (request->capacity < sizeof(struct virtio_gpgpu_resp_hdr)) {
        /* not even a status fits, so nothing is done */
        queue_answer(q, request, VIRTIO_GPGPU_S_INVALID,
                     VIRTIO_GPGPU_R_RESPONSE_SPACE, 0);
    } else if (request->request_size < sizeof(struct virtio_gpgpu_req_hdr) ||
               request->request_size > GPGPU_MAX_REQUEST) {
        queue_answer(q, request, VIRTIO_GPGPU_S_INVALID, VIRTIO_GPGPU_R_LENGTH,
                     request->request_size);
    } else if (!s->online) {
        queue_answer(q, request, VIRTIO_GPGPU_S_DEVICE_LOST,
                     VIRTIO_GPGPU_R_NO_WORKER, 0);
    } else if (!queue_send(q, request)) {
        if (s->online) {
            return false;
        }
        queue_answer(q, request, VIRTIO_GPGPU_S_DEVICE_LOST,
                     VIRTIO_GPGPU_R_WORKER_DIED, 0);
    }
    return true;
}

/* A size of the guest's, limited to what fits the ring's fields */
static uint32_t request_limit(size_t size, uint32_t limit)
{
    return MIN(size, limit);
}

static void queue_run(VirtIOGpgpuQueue *q)
{
    VirtIOGpgpu *s = q->dev;
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    VirtIOGpgpuRequest *request;

    if (!s->running || q->disabled || vdev->broken ||
        !(vdev->status & VIRTIO_CONFIG_S_DRIVER_OK) ||
        !virtio_queue_get_num(vdev, virtio_get_queue_index(q->vq))) {
        return;
    }
    if (q->stalled) {
        request = q->stalled;
        q->stalled = NULL;
        if (!queue_take(q, request)) {
            q->stalled = request;
            return;
        }
    }
    do {
        virtio_queue_set_notification(q->vq, 0);
        while (!q->stalled) {
            request = element_pop(s, q->vq, sizeof(*request));
            if (!request) {
                break;
            }
            /* one more than the limit is enough to be too long */
            request->request_size = request_limit(
                iov_size(request->elem.out_sg, request->elem.out_num),
                GPGPU_MAX_REQUEST + 1);
            request->capacity = request_limit(
                iov_size(request->elem.in_sg, request->elem.in_num),
                GPGPU_MAX_RESPONSE);
            if (!queue_take(q, request)) {
                trace_virtio_gpgpu_stall(s, virtio_get_queue_index(q->vq));
                q->stalled = request;
            }
        }
        virtio_queue_set_notification(q->vq, 1);
    } while (!q->stalled && !vdev->broken && !virtio_queue_empty(q->vq));
    queue_flush(q);
}

static void device_kick(VirtIOGpgpu *s)
{
    if (s->online && gpgpu_ring_must_kick(&s->session.ring)) {
        event_notifier_set(&s->session.kick);
    }
}

void virtio_gpgpu_handle_output(VirtIODevice *vdev, VirtQueue *vq)
{
    VirtIOGpgpu *s = VIRTIO_GPGPU(vdev);
    int index = virtio_get_queue_index(vq);
    bool engaged;

    /* the event queue's elements wait for events, but for one: */
    if (vq == s->event_vq) {
        virtio_gpgpu_tell_missed(s);
        return;
    }
    engaged = device_enter(s);
    queue_run(&s->queues[index == VIRTIO_GPGPU_VQ_CONTROL ? 0 : index - 1]);
    device_leave(s, engaged);
    device_kick(s);
}

void virtio_gpgpu_run_queues(VirtIOGpgpu *s)
{
    bool engaged = device_enter(s);
    unsigned i;

    for (i = 0; i < s->num_queues; i++) {
        queue_run(&s->queues[i]);
    }
    device_leave(s, engaged);
    device_kick(s);
}

/* Responses -----------------------------------------------------------------*/

static void slot_free(VirtIOGpgpu *s, uint32_t number)
{
    VirtIOGpgpuSlot *slot = &s->slots[number];

    slot->request = NULL;
    slot->queue = NULL;
    slot->busy = false;
    slot->serial++;
    s->free_slots[s->num_free++] = number;
}

/* Returns: false if the worker broke the rules. */
static bool response_deliver(VirtIOGpgpu *s, const GpgpuResponse *response)
{
    uint32_t number = response->tag;
    VirtIOGpgpuSlot *slot;
    VirtIOGpgpuQueue *q;
    VirtIOGpgpuRequest *request;
    uint32_t i;

    if (number >= s->num_slots) {
        return false;
    }
    slot = &s->slots[number];
    if (!slot->busy || slot->serial != response->tag >> 32) {
        return false;
    }
    q = slot->queue;
    request = slot->request;
    if (request && response->length > request->capacity) {
        return false;
    }
    for (i = 0; i < response->num_ranges; i++) {
        const GpgpuRange *range = &response->ranges[i];

        if (range->size) {
            memory_region_set_dirty(&s->shm, range->offset, range->size);
        }
    }
    slot_free(s, number);
    if (request) {
        iov_from_buf(request->elem.in_sg, request->elem.in_num, 0,
                     response->data, response->length);
        trace_virtio_gpgpu_response(s, number, response->length);
        queue_fill(q, request, response->length);
    }
    return true;
}

bool virtio_gpgpu_run_responses(VirtIOGpgpu *s)
{
    GpgpuRing *ring = &s->session.ring;
    bool kick = false, stalled = false, engaged;
    GpgpuResponse response;
    unsigned count = 0, looks = 0, i;
    int ret = 0;

    if (!s->online || (!s->running && !s->draining)) {
        return false;
    }
    engaged = device_enter(s);
    gpgpu_ring_set_sleeping(ring, false);
    do {
        while (count < RESPONSES_PER_TURN &&
               (ret = gpgpu_ring_peek(ring, s->shm_size, &response)) > 0) {
            count++;
            if (!response_deliver(s, &response)) {
                ret = -1;
                break;
            }
            kick |= gpgpu_ring_release(ring);
        }
        if (ret < 0) {
            break;
        }
        if (count >= RESPONSES_PER_TURN || ++looks > LOOKS_PER_TURN) {
            /* come back, after others had their turn */
            event_notifier_set(&s->session.call);
            break;
        }
        gpgpu_ring_set_sleeping(ring, true);
    } while (gpgpu_ring_pending(ring));

    for (i = 0; i < s->num_queues; i++) {
        queue_flush(&s->queues[i]);
        stalled |= s->queues[i].stalled != NULL;
    }
    device_leave(s, engaged);
    if (ret < 0) {
        device_broken(s);
    } else {
        if (kick) {
            event_notifier_set(&s->session.kick);
        }
        if (stalled) {
            virtio_gpgpu_run_queues(s);
        }
    }
    return count > 0;
}

/* Ends ----------------------------------------------------------------------*/

void virtio_gpgpu_fail_requests(VirtIOGpgpu *s)
{
    bool engaged = device_enter(s);
    VirtIOGpgpuRequest *request;
    VirtIOGpgpuQueue *q;
    uint32_t number;
    unsigned i;

    for (number = 0; number < s->num_slots; number++) {
        VirtIOGpgpuSlot *slot = &s->slots[number];

        if (!slot->busy) {
            continue;
        }
        q = slot->queue;
        request = slot->request;
        slot_free(s, number);
        if (request) {
            queue_answer(q, request, VIRTIO_GPGPU_S_DEVICE_LOST,
                         VIRTIO_GPGPU_R_WORKER_DIED, 0);
        }
    }
    for (i = 0; i < s->num_queues; i++) {
        q = &s->queues[i];
        if (q->stalled) {
            request = q->stalled;
            q->stalled = NULL;
            queue_answer(q, request, VIRTIO_GPGPU_S_DEVICE_LOST,
                         VIRTIO_GPGPU_R_WORKER_DIED, 0);
        }
        queue_flush(q);
    }
    device_leave(s, engaged);
}

void virtio_gpgpu_detach_requests(VirtIOGpgpu *s, VirtIOGpgpuQueue *queue)
{
    uint32_t number;
    unsigned i;

    for (number = 0; number < s->num_slots; number++) {
        VirtIOGpgpuSlot *slot = &s->slots[number];

        if (slot->request && (!queue || slot->queue == queue)) {
            virtqueue_detach_element(slot->queue->vq, &slot->request->elem, 0);
            g_free(slot->request);
            slot->request = NULL;
        }
    }
    for (i = 0; i < s->num_queues; i++) {
        VirtIOGpgpuQueue *q = &s->queues[i];

        if (q->stalled && (!queue || q == queue)) {
            virtqueue_detach_element(q->vq, &q->stalled->elem, 0);
            g_free(q->stalled);
            q->stalled = NULL;
        }
    }
}

void virtio_gpgpu_init_slots(VirtIOGpgpu *s)
{
    uint32_t number;

    s->num_free = 0;
    for (number = s->num_slots; number-- > 0;) {
        slot_free(s, number);
    }
}

/* Events --------------------------------------------------------------------*/

void virtio_gpgpu_send_event(VirtIOGpgpu *s, uint32_t type, uint32_t reason,
                             uint64_t value)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    struct virtio_gpgpu_event event = {
        .type = cpu_to_le32(type),
        .reason = cpu_to_le32(reason),
        .value = cpu_to_le64(value),
        .dropped = cpu_to_le64(s->events_dropped),
        .generation = cpu_to_le32(s->generation),
    };
    bool engaged = s->guard->engaged_in_io;
    VirtQueueElement *elem;

    if (!(vdev->status & VIRTIO_CONFIG_S_DRIVER_OK)) {
        return;
    }
    /* this is with the BQL even if the other queues have an iothread */
    s->guard->engaged_in_io = true;
    elem = vdev->vm_running ? element_pop(s, s->event_vq, sizeof(*elem)) : NULL;
    trace_virtio_gpgpu_event(s, type, reason, value, elem != NULL);
    if (!elem) {
        s->guard->engaged_in_io = engaged;
        s->events_dropped++;
        s->data_missed |= type == VIRTIO_GPGPU_EV_MAP_DATA;
        return;
    }
    if (iov_size(elem->in_sg, elem->in_num) < sizeof(event)) {
        /* too small for an event: given back empty, the event is lost */
        s->events_dropped++;
        virtqueue_push(s->event_vq, elem, 0);
    } else {
        iov_from_buf(elem->in_sg, elem->in_num, 0, &event, sizeof(event));
        virtqueue_push(s->event_vq, elem, sizeof(event));
        s->events_dropped = 0;
    }
    virtio_notify(vdev, s->event_vq);
    s->guard->engaged_in_io = engaged;
    g_free(elem);
}

/*
 * Somebody may sleep until a map has records, and nothing else may ever be
 * said on this queue: so that a dropped event of that kind is made up for.
 */
void virtio_gpgpu_tell_missed(VirtIOGpgpu *s)
{
    if (s->data_missed && VIRTIO_DEVICE(s)->vm_running &&
        !virtio_queue_empty(s->event_vq)) {
        s->data_missed = false;
        virtio_gpgpu_send_event(s, VIRTIO_GPGPU_EV_MAP_DATA,
                                VIRTIO_GPGPU_R_NONE, 0);
    }
}
