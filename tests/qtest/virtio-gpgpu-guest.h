/*
 * A small guest for the virtio-gpgpu qtests: one QEMU, drivers for its devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESTS_QTEST_VIRTIO_GPGPU_GUEST_H
#define TESTS_QTEST_VIRTIO_GPGPU_GUEST_H

#include "hw/virtio/gpgpu-wire.h"
#include "libqtest.h"
#include "libqos/pci.h"
#include "libqos/libqos-malloc.h"
#include "libqos/virtio.h"
#include "libqos/virtio-pci.h"

#define CONTROL         VIRTIO_GPGPU_VQ_CONTROL
#define EVENT           VIRTIO_GPGPU_VQ_EVENT
#define COMPUTE         VIRTIO_GPGPU_VQ_FIRST_JOB
#define PACKET          (VIRTIO_GPGPU_VQ_FIRST_JOB + 1)
#define NUM_QUEUES      4
#define SHM_BAR         4

#define SLOTS           64          /* requests in flight per queue */
#define SLOT_BYTES      4096        /* of request, and again of response */
#define TIMEOUT_US      (30 * G_USEC_PER_SEC)

typedef struct Guest {
    QTestState *qts;
    QPCIBus *bus;
    QGuestAllocator alloc;
} Guest;

typedef struct Queue {
    QVirtQueue *vq;
    uint64_t memory;                /* SLOTS requests, then SLOTS responses */
    uint64_t busy;                  /* bit per slot */
    uint16_t avail_idx;
    uint16_t used_idx;
} Queue;

typedef struct Device {
    Guest *guest;
    QVirtioPCIDevice *pci;
    QVirtioDevice *vdev;
    QPCIBar shm;
    uint64_t shm_size;
    uint64_t refused;               /* features not to be negotiated */
    uint64_t iova_offset;           /* device's address of slots - guest's */
    Queue queue[NUM_QUEUES];
} Device;

typedef struct Part {
    uint64_t addr;
    uint32_t size;
    bool write;                     /* by the device */
} Part;

typedef struct Response {
    uint32_t length;                /* the used length */
    uint32_t status, reason, generation;
    uint64_t detail, cookie;
    uint8_t bytes[SLOT_BYTES];
} Response;

/* "worker=PATH" of the program to test, from the environment, or "" */
const char *worker_option(void);
/* Start QEMU with a backend named gpu0 and what @format adds. */
Guest *guest_start(const char *machine, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
Guest *guest_start_raw(const char *machine, const char *format, ...)
    G_GNUC_PRINTF(2, 3);
void guest_stop(Guest *guest);

/* Find the device in @slot and map it. */
Device *device_new(Guest *guest, int slot);
/* Negotiate features and start the queues; again after a reset. */
void device_start(Device *dev);
void device_reset(Device *dev);
/* Reset one queue; set it up again. */
void device_reset_queue(Device *dev, int queue);
void device_restart_queue(Device *dev, int queue);
void device_free(Device *dev);

/* Put a request on a queue. Returns: its slot. */
int device_post(Device *dev, int queue, const void *request, uint32_t length,
                uint32_t capacity);
/* Put an element of any shape on an idle queue, with descriptors from 0 on. */
void device_post_iov(Device *dev, int queue, const Part *parts, int num);
/* Where the guest sees a register of the common configuration */
uint64_t device_register(Device *dev, uint32_t offset);
/* Wait until the device wants a reset. */
void device_wait_broken(Device *dev);
void device_kick(Device *dev, int queue);
/* Take one response if there is one. Returns: its slot, or -1. */
int device_poll(Device *dev, int queue, Response *response);
/* Wait for one response. Returns: its slot. */
int device_wait(Device *dev, int queue, Response *response);
/* Put, kick, wait. */
void device_call(Device *dev, int queue, const void *request, uint32_t length,
                 uint32_t capacity, Response *response);

uint32_t device_generation(Device *dev);
void device_post_events(Device *dev, int count);
/* Wait for an event of @type; others are dropped. */
struct virtio_gpgpu_event device_wait_event(Device *dev, uint32_t type);

/* Requests */
struct virtio_gpgpu_req_hdr req_hdr(uint32_t type, uint32_t length,
                                    uint64_t cookie);
struct virtio_gpgpu_req_caps req_caps(uint64_t cookie);
struct virtio_gpgpu_req_nop req_nop(uint64_t seq, uint64_t cookie);
/* The same with a fence that nobody ever reaches: it stays in flight. */
typedef struct HeldNop {
    struct virtio_gpgpu_req_nop nop;
    struct virtio_gpgpu_fence fence;
} HeldNop;
HeldNop req_held(uint64_t seq, uint64_t cookie);
struct virtio_gpgpu_req_buffer_create req_buffer(uint32_t id, uint64_t offset,
                                                 uint64_t size);
struct virtio_gpgpu_req_copy req_fill(uint32_t buffer, uint64_t size,
                                      uint32_t pattern, uint64_t seq,
                                      uint64_t cookie);

void check_status(const Response *response, uint32_t status, uint32_t reason);
/* GET_CAPS and a NOP work. */
void check_alive(Device *dev);

/* QMP: the row of query-gpgpu for a device */
QDict *query_gpgpu(Guest *guest, const char *id);

#endif
