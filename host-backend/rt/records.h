/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.h - queues of records: RINGBUF, and the one queue of a PERF_EVENT_ARRAY.
 *
 * How it works: the kernel's ring buffer, with its accounting: a record takes 8 bytes and its size rounded up to 8,
 * and one byte of the ring always stays free. A record is reserved under the map's lock (its place is then fixed),
 * filled without it, and submitted or discarded by one store. The reader takes records in order up to the first
 * that is neither yet.
 *
 * What the kernel keeps in front of a record lies in `keys` here, one word for each 8 bytes of the ring, since
 * the ring itself is a region that programs may write anywhere. A record that begins near the end goes on behind it:
 * the region is twice the ring, so that every record is in one piece.
 *
 * state[0]: the lock. state[1]: bytes reserved, ever. state[2]: records that found no room. state[8]: bytes read, ever.
 */
#ifndef GPGPU_RT_RECORDS_H
#define GPGPU_RT_RECORDS_H

#include <stdbool.h>
#include "rt/abi.h"

#define GP_PERF_BYTES		(256u << 10) /* the ring of a PERF_EVENT_ARRAY */
#define GP_RECORDS_REGION(ring) (2 * (uint64_t)(ring))
#define GP_RECORD_BUSY		UINT64_MAX /* gp_record_reserve(): the lock could not be had */

/* gp_record_reserve() - Return: offset in the map's values, plus 1; 0 where there is no room; GP_RECORD_BUSY. */
uint64_t gp_record_reserve(struct gp_map *map, uint64_t size, uint32_t cpu);

/* gp_record_finish() - submit or discard what was reserved at @offset. */
void gp_record_finish(struct gp_map *map, uint32_t offset, bool discard);

/* gp_record_put() - a whole record out of two parts. Return: 0, -ENOSPC, -EBUSY. */
int64_t gp_record_put(struct gp_map *map, uint32_t cpu, const uint8_t *first, uint64_t first_size,
		      const uint8_t *second, uint64_t second_size);

/* gp_record_query() - bpf_ringbuf_query(). */
uint64_t gp_record_query(const struct gp_map *map, uint64_t what);

#endif
