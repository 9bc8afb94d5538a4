/*
 * Virtio GPGPU device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_VIRTIO_GPGPU_H
#define HW_VIRTIO_GPGPU_H

#include "hw/virtio/gpgpu-wire.h"
#include "block/aio.h"
#include "exec/memory.h"
#include "hw/virtio/virtio.h"
#include "qapi/qapi-types-gpgpu.h"
#include "qom/object.h"
#include "system/iothread.h"
#include "system/runstate.h"
#include "gpgpu-backend.h"

#define TYPE_VIRTIO_GPGPU "virtio-gpgpu-device"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOGpgpu, VIRTIO_GPGPU)

/* A request in flight: taken from its queue, not given back yet. */
typedef struct VirtIOGpgpuRequest {
    VirtQueueElement elem;      /* first: virtqueue_pop() makes it */
    uint32_t request_size;      /* bytes the driver offers */
    uint32_t capacity;          /* bytes the response may have */
} VirtIOGpgpuRequest;

typedef struct VirtIOGpgpuQueue {
    VirtIOGpgpu *dev;
    VirtQueue *vq;
    uint32_t kind;              /* enum gpgpu_record_kind */
    VirtIOGpgpuRequest *stalled; /* popped, but the ring was full */
    unsigned filled;            /* used elements, not shown to the guest yet */
    bool disabled;              /* reset by itself, not enabled again yet */
} VirtIOGpgpuQueue;

/* Where a request waits for its response; the tag names slot and serial. */
typedef struct VirtIOGpgpuSlot {
    VirtIOGpgpuRequest *request; /* NULL: nobody wants the response any more */
    VirtIOGpgpuQueue *queue;
    uint32_t serial;            /* so that a response cannot come twice */
    bool busy;
} VirtIOGpgpuSlot;

struct VirtIOGpgpu {
    VirtIODevice parent_obj;

    /* Properties */
    GpgpuBackend *backend;
    IOThread *iothread;
    uint16_t num_compute_queues;
    uint16_t num_packet_queues;
    uint16_t queue_size;
    uint64_t shm_size;
    GpgpuQuota quota;
    GpgpuSession session;       /* its limits are properties too */
    uint64_t host_features;

    /* Fixed while realized */
    MemoryRegion shm;
    VirtIOGpgpuQueue *queues;   /* control, then compute, then packet */
    unsigned num_queues;
    VirtQueue *event_vq;
    uint32_t num_slots;
    bool default_backend;
    Error *migration_blocker;
    VMChangeStateEntry *vm_state;
    QEMUBH *broken_bh;
    MemReentrancyGuard *guard;  /* the transport's device's */

    /*
     * Where queues and responses are handled now: the iothread's context
     * while its notifiers are set up, else NULL, the BQL. Set under the BQL
     * while neither runs.
     */
    AioContext *ctx;

    /* Used in that context only */
    VirtIOGpgpuSlot *slots;
    uint32_t *free_slots;       /* stack of numbers */
    uint32_t num_free;
    bool running;               /* the guest's memory may be touched */
    bool draining;              /* responses are taken, and all dropped */
    bool online;                /* there is a worker with a good ring */
    bool lost;                  /* a dead worker's requests are to be failed */
    bool used;                  /* the worker got requests since a reset */

    /* Used with the BQL only */
    uint32_t generation;
    uint64_t events_dropped;
    bool ioeventfd_starting, ioeventfd_started, ioeventfd_stopping;
    bool ioeventfd_disabled;
    MemoryListener listener;    /* with an iothread */
    bool lost_notify;           /* tell the guest when it runs again */
    bool ready_notify;
    bool data_missed;           /* the guest was not told of a map's records */
    QTAILQ_ENTRY(VirtIOGpgpu) next;
};

/* virtio-gpgpu-queue.c: in the device's context unless stated */

/* Queue handler: take requests and pass them on. */
void virtio_gpgpu_handle_output(VirtIODevice *vdev, VirtQueue *vq);
/* Take requests from every queue. */
void virtio_gpgpu_run_queues(VirtIOGpgpu *s);
/* Give responses to the guest. Returns: whether there were any. */
bool virtio_gpgpu_run_responses(VirtIOGpgpu *s);
/* Answer everything in flight with "device lost". */
void virtio_gpgpu_fail_requests(VirtIOGpgpu *s);
/*
 * Forget the requests in flight of @queue, or of all if NULL; their elements
 * are unmapped, nothing is written.
 */
void virtio_gpgpu_detach_requests(VirtIOGpgpu *s, VirtIOGpgpuQueue *queue);
/* After a reset: no response is outstanding. */
void virtio_gpgpu_init_slots(VirtIOGpgpu *s);
/* Deliver an event, or count it as dropped. BQL. */
void virtio_gpgpu_send_event(VirtIOGpgpu *s, uint32_t type, uint32_t reason,
                             uint64_t value);
/* Make up for a dropped MAP_DATA, if there is room now. BQL. */
void virtio_gpgpu_tell_missed(VirtIOGpgpu *s);

/* virtio-gpgpu-dataplane.c: BQL */

/* Call @fn in the device's context and wait for it. BQL. */
void virtio_gpgpu_in_context(VirtIOGpgpu *s, void (*fn)(void *opaque));
bool virtio_gpgpu_dataplane_check(VirtIOGpgpu *s, Error **errp);
/* In realize, before virtio's own listener is there, and in unrealize. */
void virtio_gpgpu_dataplane_init(VirtIOGpgpu *s);
void virtio_gpgpu_dataplane_cleanup(VirtIOGpgpu *s);
/* Virtqueue @i is reset, or was enabled anew. */
void virtio_gpgpu_dataplane_queue(VirtIOGpgpu *s, unsigned i, bool enable);
/* Virtqueue @i has new rings. Returns: false if an iothread cannot use them. */
bool virtio_gpgpu_dataplane_may_enable(VirtIOGpgpu *s, unsigned i);
/* Watch the session's call notifier; to be called once it is open. */
void virtio_gpgpu_attach_call(VirtIOGpgpu *s);
void virtio_gpgpu_detach_call(VirtIOGpgpu *s);
int virtio_gpgpu_start_ioeventfd(VirtIODevice *vdev);
void virtio_gpgpu_stop_ioeventfd(VirtIODevice *vdev);

/* virtio-gpgpu-state.c: BQL */

extern const GpgpuSessionOps virtio_gpgpu_session_ops;
/* Bottom half: the device's context found the ring broken. */
void virtio_gpgpu_broken(void *opaque);
void virtio_gpgpu_vm_state_change(void *opaque, bool running, RunState state);
/*
 * Destroy what the driver made and answer nothing of what it asked for.
 * @features: what it negotiated
 */
void virtio_gpgpu_reset_session(VirtIOGpgpu *s, uint64_t features);
void virtio_gpgpu_queue_reset(VirtIODevice *vdev, uint32_t index);
void virtio_gpgpu_queue_enable(VirtIODevice *vdev, uint32_t index);

/* virtio-gpgpu.c: BQL */

/* num-packet-queues: one if there is the feature */
#define VIRTIO_GPGPU_AUTO_QUEUES    UINT16_MAX
void virtio_gpgpu_auto_queues(VirtIOGpgpu *s);

/* Devices by user-given id or QOM path; NULL with @errp set. */
VirtIOGpgpu *virtio_gpgpu_find(const char *id, Error **errp);
void virtio_gpgpu_foreach(void (*fn)(VirtIOGpgpu *s, void *opaque),
                          void *opaque);
const char *virtio_gpgpu_id(VirtIOGpgpu *s);
bool virtio_gpgpu_check_quota(const GpgpuQuota *quota, Error **errp);

#endif
