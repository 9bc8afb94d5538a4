/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.c - records in and out of the ring; see gpgpu-connection.h for the protocol.
 *
 * Threads: one at a time for requests (ring_next() .. ring_awake()), one at a time for responses; the caller has a
 * lock for each.
 */
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ring.h"

#define MIN_SIZE (64u << 10)
#define MAX_SIZE (1u << 30)
#define RECORD	 sizeof(struct gpgpu_record)

static bool area_ok(uint64_t offset, uint64_t size, uint64_t file)
{
	return size >= MIN_SIZE && size <= MAX_SIZE && !(size & (size - 1)) && offset % 8 == 0 &&
	       offset >= sizeof(struct gpgpu_ring) && offset <= file && size <= file - offset;
}

const char *ring_map(struct ring *ring, int fd, uint64_t size, int kick, int call)
{
	struct gpgpu_ring head;

	memset(ring, 0, sizeof(*ring));
	if (size < sizeof(head) || size > 4ull * MAX_SIZE)
		return "the ring's size is out of bounds";
	ring->shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->shared == MAP_FAILED) {
		ring->shared = NULL;
		return "the ring cannot be mapped";
	}
	ring->map_bytes = size;
	memcpy(&head, ring->shared, sizeof(head));
	if (head.magic != GPGPU_CONNECTION_MAGIC || head.version != GPGPU_CONNECTION_VERSION ||
	    !area_ok(head.req_offset, head.req_size, size) ||
	    !area_ok(head.resp_offset, head.resp_size, size) || head.req.head || head.resp.tail) {
		ring_unmap(ring);
		return "the ring's header is wrong";
	}
	ring->req = (uint8_t *)ring->shared + head.req_offset;
	ring->req_size = head.req_size;
	ring->resp = (uint8_t *)ring->shared + head.resp_offset;
	ring->resp_size = head.resp_size;
	ring->kick = kick;
	ring->call = call;
	return NULL;
}

void ring_unmap(struct ring *ring)
{
	if (ring->shared)
		munmap(ring->shared, ring->map_bytes);
	ring->shared = NULL;
}

static void signal_other(const struct ring *ring)
{
	uint64_t one = 1;

	/* A counter that is full already says what is to be said. */
	if (write(ring->call, &one, sizeof(one)) < 0)
		return;
}

static void consumed(struct ring *ring, uint64_t bytes)
{
	struct gpgpu_ring_index *index = &ring->shared->req;

	ring->req_head += bytes;
	__atomic_store_n(&index->head, ring->req_head, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&index->blocked, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&index->blocked, 0, __ATOMIC_SEQ_CST))
		signal_other(ring);
}

/* Looks at the record at the head, which may be padding. */
static enum ring_status look(struct ring *ring, struct ring_request *req)
{
	uint64_t avail = __atomic_load_n(&ring->shared->req.tail, __ATOMIC_ACQUIRE) - ring->req_head;
	uint64_t pos = ring->req_head & (ring->req_size - 1);
	uint64_t room = ring->req_size - pos;
	struct gpgpu_record record = { 0 };

	if (!avail)
		return RING_EMPTY;
	if (avail > ring->req_size || avail % 8)
		return RING_BROKEN;
	/* Padding may be too short for a whole header. */
	memcpy(&record, ring->req + pos, avail < room ? MIN(avail, RECORD) : MIN(room, RECORD));
	if (record.size < 8 || record.size % 8 || record.size > avail || record.size > room)
		return RING_BROKEN;
	req->kind = record.kind;
	req->size = record.size;
	if (record.kind == GPGPU_RING_PAD)
		return RING_REQUEST;
	if (record.kind > GPGPU_RING_PACKET || record.size < RECORD || record.length > GPGPU_MAX_REQUEST ||
	    record.length > record.size - RECORD || record.capacity > GPGPU_MAX_RESPONSE ||
	    record.capacity + RECORD + GPGPU_MAX_RANGES * sizeof(struct gpgpu_range) > ring->resp_size / 2)
		return RING_BROKEN;
	req->tag = record.tag;
	req->bytes = ring->req + pos + RECORD;
	req->length = record.length;
	req->capacity = record.capacity;
	return RING_REQUEST;
}

enum ring_status ring_next(struct ring *ring, struct ring_request *req)
{
	enum ring_status status;

	while ((status = look(ring, req)) == RING_REQUEST && req->kind == GPGPU_RING_PAD)
		consumed(ring, req->size);
	return status;
}

void ring_done(struct ring *ring, const struct ring_request *req)
{
	consumed(ring, req->size);
}

bool ring_sleep(struct ring *ring)
{
	struct gpgpu_ring_index *index = &ring->shared->req;

	__atomic_store_n(&index->sleeping, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&index->tail, __ATOMIC_SEQ_CST) == ring->req_head)
		return true;
	ring_awake(ring);
	return false;
}

void ring_awake(struct ring *ring)
{
	__atomic_store_n(&ring->shared->req.sleeping, 0, __ATOMIC_RELAXED);
}

/* Room for @size bytes in one piece, padded if need be. Return: NULL if there is none. */
static uint8_t *reserve(struct ring *ring, uint64_t size)
{
	struct gpgpu_ring_index *index = &ring->shared->resp;
	uint64_t used = ring->resp_tail - __atomic_load_n(&index->head, __ATOMIC_SEQ_CST);
	uint64_t pos = ring->resp_tail & (ring->resp_size - 1);
	uint64_t room = ring->resp_size - pos, pad = room < size ? room : 0;

	/* A head that is ahead of the tail, or far behind, is the other side's to regret. */
	if (used > ring->resp_size || size + pad > ring->resp_size - used)
		return NULL;
	if (pad) {
		struct gpgpu_record record = { .size = (uint32_t)pad, .kind = GPGPU_RING_PAD };

		memcpy(ring->resp + pos, &record, MIN(pad, RECORD));
		ring->resp_tail += pad;
		pos = 0;
	}
	return ring->resp + pos;
}

bool ring_respond(struct ring *ring, uint64_t tag, const void *bytes, size_t length,
		  const struct gpgpu_range *ranges, size_t num_ranges)
{
	struct gpgpu_ring_index *index = &ring->shared->resp;
	size_t ranges_bytes = num_ranges * sizeof(*ranges);
	size_t size = (RECORD + ranges_bytes + length + 7) & ~(size_t)7;
	struct gpgpu_record record = {
		.size = (uint32_t)size,
		.kind = GPGPU_RING_RESPONSE,
		.tag = tag,
		.length = (uint32_t)length,
		.capacity = (uint32_t)num_ranges,
	};
	uint8_t *at = reserve(ring, size);

	if (!at) {
		__atomic_store_n(&index->blocked, 1, __ATOMIC_SEQ_CST);
		/* It may have made room before it could see that. */
		at = reserve(ring, size);
		if (!at)
			return false;
		__atomic_store_n(&index->blocked, 0, __ATOMIC_SEQ_CST);
	}
	memcpy(at, &record, RECORD);
	if (num_ranges)
		memcpy(at + RECORD, ranges, ranges_bytes);
	if (length)
		memcpy(at + RECORD + ranges_bytes, bytes, length);
	ring->resp_tail += size;
	__atomic_store_n(&index->tail, ring->resp_tail, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&index->sleeping, __ATOMIC_SEQ_CST))
		signal_other(ring);
	return true;
}

void ring_publish(struct ring *ring, const struct gpgpu_stats *stats)
{
	struct gpgpu_ring_stats *to = &ring->shared->stats;
	uint32_t sequence = __atomic_load_n(&to->sequence, __ATOMIC_RELAXED) | 1;

	__atomic_store_n(&to->sequence, sequence, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	to->device_ns = stats->device_ns;
	to->waited_ns = stats->waited_ns;
	to->throttled_ns = stats->throttled_ns;
	to->jobs = stats->jobs;
	to->packets = stats->packets;
	to->bytes = stats->bytes;
	memcpy(to->verdicts, stats->verdicts, sizeof(to->verdicts));
	to->faults = stats->faults;
	to->memory = stats->memory;
	to->memory_max = stats->memory_max;
	to->compiles = stats->compiles;
	to->compile_ns = stats->compile_ns;
	to->rejected = stats->rejected;
	__atomic_store_n(&to->sequence, sequence + 1, __ATOMIC_RELEASE);
}
