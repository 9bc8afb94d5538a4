/*
 * The request ring between QEMU and gpgpu-worker, QEMU's end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_VIRTIO_GPGPU_RING_H
#define HW_VIRTIO_GPGPU_RING_H

#include "hw/virtio/gpgpu-connection.h"

typedef struct GpgpuRange {
    uint64_t offset;            /* bytes from the start of the shared memory */
    uint64_t size;
} GpgpuRange;

typedef struct GpgpuRing {
    struct gpgpu_ring *shared;  /* NULL: no ring */
    uint8_t *req;               /* data of the request ring */
    uint8_t *resp;              /* data of the response ring */
    size_t file_size;
    int fd;
    uint64_t req_tail;          /* what we produced, never read back */
    uint64_t req_head;          /* the worker's, as last seen and checked */
    uint64_t resp_head;         /* what we consumed, never read back */
    uint64_t resp_next;         /* where the record after that starts */
} GpgpuRing;

typedef struct GpgpuResponse {
    uint64_t tag;
    const uint8_t *data;        /* in the ring: it may still change */
    uint32_t length;            /* bytes of data */
    uint32_t num_ranges;
    GpgpuRange ranges[GPGPU_MAX_RANGES];
} GpgpuResponse;

/**
 * gpgpu_ring_init: make an empty ring in a memory file of sealed size
 */
bool gpgpu_ring_init(GpgpuRing *ring, Error **errp);
void gpgpu_ring_destroy(GpgpuRing *ring);

/**
 * gpgpu_ring_reserve: room for one request
 *
 * @broken: set to true if the worker's index is impossible
 *
 * Returns: where the @length bytes of the request go, or NULL if there is no
 * room now; then the worker signals the call notifier once there is some.
 */
uint8_t *gpgpu_ring_reserve(GpgpuRing *ring, uint32_t kind, uint64_t tag,
                            uint32_t length, uint32_t capacity, bool *broken);

/* gpgpu_ring_commit: hand the reserved request to the worker */
void gpgpu_ring_commit(GpgpuRing *ring);

/* gpgpu_ring_must_kick: does the worker sleep, so that it wants a signal? */
bool gpgpu_ring_must_kick(GpgpuRing *ring);

/**
 * gpgpu_ring_peek: look at the next response
 *
 * Returns: 1 with @response filled (release it with gpgpu_ring_release()), 0 if
 * there is none, -1 if the ring is broken.
 */
int gpgpu_ring_peek(GpgpuRing *ring, uint64_t shm_size,
                    GpgpuResponse *response);

/**
 * gpgpu_ring_release: free the peeked response
 *
 * Returns: true if the worker waits for room and must be kicked.
 */
bool gpgpu_ring_release(GpgpuRing *ring);

/* gpgpu_ring_pending: are there responses? Cheap, for polling. */
bool gpgpu_ring_pending(GpgpuRing *ring);

/* gpgpu_ring_set_sleeping: does QEMU want a signal for the next response? */
void gpgpu_ring_set_sleeping(GpgpuRing *ring, bool sleeping);

/**
 * gpgpu_ring_stats: a consistent copy of the worker's counters
 *
 * Returns: false if the worker never left them alone; @stats is as it was.
 */
bool gpgpu_ring_stats(GpgpuRing *ring, struct gpgpu_ring_stats *stats);

#endif
