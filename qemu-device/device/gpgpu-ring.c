/*
 * The request ring between QEMU and gpgpu-worker, QEMU's end
 *
 * How it works: gpgpu-connection.h says how the ring is laid out. QEMU makes
 * the memory file, seals its size (so that no access can fault later) and is
 * the producer of requests and the consumer of responses.
 *
 * Invariants: the worker is not trusted. Our own indices are private and only
 * ever written to the ring. Each of the worker's indices and each record header
 * is read once, into a local, and checked before it is used; a response's bytes
 * are not interpreted at all, they go to the guest, whose worker it is.
 *
 * Threads: one at a time, the AioContext that runs the device's queues;
 * gpgpu_ring_stats() from any.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/memfd.h"
#include "qemu/units.h"
#include "gpgpu-ring.h"

#define RING_MASK   (GPGPU_RING_SIZE - 1)
#define STATS_TRIES 64

QEMU_BUILD_BUG_ON(sizeof(struct gpgpu_ring) > GPGPU_RING_DATA_OFFSET);
QEMU_BUILD_BUG_ON(GPGPU_MAX_REQUEST + sizeof(struct gpgpu_record) >
                  GPGPU_RING_SIZE / 2);

bool gpgpu_ring_init(GpgpuRing *ring, Error **errp)
{
    struct gpgpu_ring *shared;
    size_t size = GPGPU_RING_DATA_OFFSET + 2 * (size_t)GPGPU_RING_SIZE;
    int fd;

    memset(ring, 0, sizeof(*ring));
    ring->fd = -1;

    fd = qemu_memfd_create("gpgpu-ring", size, false, 0,
                           F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, errp);
    if (fd < 0) {
        return false;
    }
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) {
        error_setg_errno(errp, errno, "cannot map the ring (%zu MiB)",
                         size / MiB);
        close(fd);
        return false;
    }
    shared->magic = GPGPU_CONNECTION_MAGIC;
    shared->version = GPGPU_CONNECTION_VERSION;
    shared->req_offset = GPGPU_RING_DATA_OFFSET;
    shared->req_size = GPGPU_RING_SIZE;
    shared->resp_offset = GPGPU_RING_DATA_OFFSET + GPGPU_RING_SIZE;
    shared->resp_size = GPGPU_RING_SIZE;
    /* we wait for the first response */
    shared->resp.sleeping = 1;

    ring->shared = shared;
    ring->req = (uint8_t *)shared + shared->req_offset;
    ring->resp = (uint8_t *)shared + shared->resp_offset;
    ring->file_size = size;
    ring->fd = fd;
    return true;
}

void gpgpu_ring_destroy(GpgpuRing *ring)
{
    if (!ring->shared) {
        return;
    }
    munmap(ring->shared, ring->file_size);
    close(ring->fd);
    ring->shared = NULL;
    ring->fd = -1;
}

/* Requests ------------------------------------------------------------------*/

/* Is there room for @need bytes? Reads and checks the worker's head. */
static bool ring_has_room(GpgpuRing *ring, uint64_t need, bool *broken)
{
    uint64_t head;

    if (ring->req_tail - ring->req_head + need <= GPGPU_RING_SIZE) {
        return true;
    }
    head = qatomic_load_acquire(&ring->shared->req.head);
    if (head - ring->req_head > ring->req_tail - ring->req_head || head % 8) {
        *broken = true;
        return false;
    }
    ring->req_head = head;
    return ring->req_tail - head + need <= GPGPU_RING_SIZE;
}

uint8_t *gpgpu_ring_reserve(GpgpuRing *ring, uint32_t kind, uint64_t tag,
                            uint32_t length, uint32_t capacity, bool *broken)
{
    uint32_t size = ROUND_UP(sizeof(struct gpgpu_record) + length, 8);
    uint32_t position = ring->req_tail & RING_MASK;
    uint32_t pad = GPGPU_RING_SIZE - position;
    struct gpgpu_record *record;

    if (pad >= size) {
        pad = 0;
    }
    if (!ring_has_room(ring, (uint64_t)size + pad, broken)) {
        if (*broken) {
            return NULL;
        }
        qatomic_set_mb(&ring->shared->req.blocked, 1);
        /* the worker may have freed some just before it could see that */
        if (!ring_has_room(ring, (uint64_t)size + pad, broken)) {
            return NULL;
        }
        qatomic_set(&ring->shared->req.blocked, 0);
    }
    if (pad) {
        record = (struct gpgpu_record *)(ring->req + position);
        /* at the very end only the first 8 bytes of a header fit */
        record->size = pad;
        record->kind = GPGPU_RING_PAD;
        ring->req_tail += pad;
        position = 0;
    }
    record = (struct gpgpu_record *)(ring->req + position);
    *record = (struct gpgpu_record) {
        .size = size,
        .kind = kind,
        .tag = tag,
        .length = length,
        .capacity = capacity,
    };
    ring->req_tail += size;
    return (uint8_t *)(record + 1);
}

void gpgpu_ring_commit(GpgpuRing *ring)
{
    qatomic_store_release(&ring->shared->req.tail, ring->req_tail);
}

bool gpgpu_ring_must_kick(GpgpuRing *ring)
{
    smp_mb(); /* our tail before the worker's `sleeping` */
    return qatomic_read(&ring->shared->req.sleeping);
}

/* Responses -----------------------------------------------------------------*/

int gpgpu_ring_peek(GpgpuRing *ring, uint64_t shm_size, GpgpuResponse *response)
{
    uint64_t tail = qatomic_load_acquire(&ring->shared->resp.tail);
    uint64_t filled = tail - ring->resp_head;
    struct gpgpu_record *shared, record;
    uint32_t position, to_end, ranges_size, i;

    if (filled > GPGPU_RING_SIZE || tail % 8) {
        return -1;
    }
    while (filled) {
        position = ring->resp_head & RING_MASK;
        to_end = GPGPU_RING_SIZE - position;
        shared = (struct gpgpu_record *)(ring->resp + position);

        record.size = qatomic_read(&shared->size);
        record.kind = qatomic_read(&shared->kind);
        if (!record.size || record.size % 8 || record.size > filled ||
            record.size > to_end) {
            return -1;
        }
        if (record.kind == GPGPU_RING_PAD) {
            /* it is there to fill the end, so there is one in each round */
            if (record.size != to_end) {
                return -1;
            }
            ring->resp_head += record.size;
            filled -= record.size;
            continue;
        }
        if (record.kind != GPGPU_RING_RESPONSE ||
            record.size < sizeof(record)) {
            return -1;
        }
        response->tag = qatomic_read(&shared->tag);
        response->length = qatomic_read(&shared->length);
        response->num_ranges = qatomic_read(&shared->capacity);
        if (response->num_ranges > GPGPU_MAX_RANGES) {
            return -1;
        }
        ranges_size = response->num_ranges * sizeof(GpgpuRange);
        if (ranges_size > record.size - sizeof(record) ||
            response->length > record.size - sizeof(record) - ranges_size) {
            return -1;
        }
        memcpy(response->ranges, shared + 1, ranges_size);
        for (i = 0; i < response->num_ranges; i++) {
            const GpgpuRange *range = &response->ranges[i];

            if (range->size > shm_size ||
                range->offset > shm_size - range->size) {
                return -1;
            }
        }
        response->data = (uint8_t *)(shared + 1) + ranges_size;
        ring->resp_next = ring->resp_head + record.size;
        return 1;
    }
    qatomic_store_release(&ring->shared->resp.head, ring->resp_head);
    return 0;
}

bool gpgpu_ring_release(GpgpuRing *ring)
{
    ring->resp_head = ring->resp_next;
    qatomic_store_release(&ring->shared->resp.head, ring->resp_head);
    smp_mb(); /* our head before the worker's `blocked` */
    return qatomic_read(&ring->shared->resp.blocked) &&
           qatomic_xchg(&ring->shared->resp.blocked, 0);
}

bool gpgpu_ring_pending(GpgpuRing *ring)
{
    return qatomic_read(&ring->shared->resp.tail) != ring->resp_head;
}

void gpgpu_ring_set_sleeping(GpgpuRing *ring, bool sleeping)
{
    qatomic_set_mb(&ring->shared->resp.sleeping, sleeping);
}

/* Counters ------------------------------------------------------------------*/

bool gpgpu_ring_stats(GpgpuRing *ring, struct gpgpu_ring_stats *stats)
{
    struct gpgpu_ring_stats *shared = &ring->shared->stats, copy;
    uint32_t before;
    int i;

    for (i = 0; i < STATS_TRIES; i++) {
        before = qatomic_load_acquire(&shared->sequence);
        if (!(before & 1)) {
            memcpy(&copy, shared, sizeof(copy));
            smp_rmb(); /* the counters before the sequence */
            if (qatomic_read(&shared->sequence) == before) {
                *stats = copy;
                return true;
            }
        }
    }
    return false;
}
