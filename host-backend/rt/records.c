/* SPDX-License-Identifier: BSD-3-Clause */
/* records.c - queues of records and the helpers that fill them. records.h says how they work. */
#include <errno.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "fuel.h"
#include "maps.h"
#include "mem.h"
#include "records.h"
#include "rt.h"

enum { RING_LOCK = 0, RING_RESERVED = 1, RING_DROPPED = 2, RING_READ = 8 };

#define RECORD_HEAD    8
#define RECORD_SIZE    0x3fffffffull
#define RECORD_DISCARD (1ull << 30)
#define RECORD_BUSY    (1ull << 31)
#define RECORD_CPU     32 /* shift */

static uint64_t gp_ring_bytes(const struct gp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_RINGBUF ? map->max_entries : GP_PERF_BYTES;
}

/* The head of the record at position @pos, or of what is at that offset. */
static uint64_t *gp_record_head(const struct gp_map *map, uint64_t pos)
{
	return (uint64_t *)(void *)map->keys + (pos & (gp_ring_bytes(map) - 1)) / 8;
}

static uint64_t gp_record_length(uint64_t size)
{
	return RECORD_HEAD + ((size + 7) & ~7ull);
}

/* Under the lock. Return: as gp_record_reserve(). */
static uint64_t gp_record_place(struct gp_map *map, uint64_t size, uint32_t cpu)
{
	uint64_t ring = gp_ring_bytes(map), reserved = gp_load64(&map->state[RING_RESERVED]);
	uint64_t length = gp_record_length(size);

	if (reserved + length - __atomic_load_n(&map->state[RING_READ], __ATOMIC_ACQUIRE) >= ring)
		return 0;
	gp_store64(gp_record_head(map, reserved), (uint64_t)cpu << RECORD_CPU | RECORD_BUSY | size);
	__atomic_store_n(&map->state[RING_RESERVED], reserved + length, __ATOMIC_RELEASE);
	return (reserved & (ring - 1)) + RECORD_HEAD + 1;
}

uint64_t gp_record_reserve(struct gp_map *map, uint64_t size, uint32_t cpu)
{
	uint64_t at = 0;
	bool held = true;

	if (size <= gp_ring_bytes(map) - RECORD_HEAD)
		gp_with_lock((uint32_t *)(void *)&map->state[RING_LOCK], held)
			at = gp_record_place(map, size, cpu);
	if (!held)
		return GP_RECORD_BUSY;
	if (!at)
		__atomic_fetch_add(&map->state[RING_DROPPED], 1, __ATOMIC_RELAXED);
	return at;
}

void gp_record_finish(struct gp_map *map, uint32_t offset, bool discard)
{
	uint64_t *head = gp_record_head(map, offset - RECORD_HEAD);
	uint64_t done = (gp_load64(head) & ~RECORD_BUSY) | (discard ? RECORD_DISCARD : 0);

	__atomic_store_n(head, done, __ATOMIC_RELEASE);
}

int64_t gp_record_put(struct gp_map *map, uint32_t cpu, const uint8_t *first, uint64_t first_size,
		      const uint8_t *second, uint64_t second_size)
{
	uint64_t at = gp_record_reserve(map, first_size + second_size, cpu);
	uint8_t *to;

	if (!at)
		return -ENOSPC;
	if (at == GP_RECORD_BUSY)
		return -EBUSY;
	to = map->values + at - 1;
	gp_copy_in(to, first, (uint32_t)first_size);
	if (second_size)
		memcpy(to + first_size, second, second_size);
	gp_record_finish(map, (uint32_t)(at - 1), false);
	return 0;
}

uint64_t gp_record_query(const struct gp_map *map, uint64_t what)
{
	uint64_t read = gp_load64(&map->state[RING_READ]), reserved = gp_load64(&map->state[RING_RESERVED]);

	switch (what) {
	case BPF_RB_AVAIL_DATA:
		return reserved - read;
	case BPF_RB_RING_SIZE:
		return gp_ring_bytes(map);
	case BPF_RB_CONS_POS:
		return read;
	case BPF_RB_PROD_POS:
		return reserved;
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------ helpers */

GP_RT uint64_t gp_helper_ringbuf_reserve(struct gp_lane *lane, struct gp_map *map, uint64_t size,
					 uint64_t flags)
{
	bool room = false;
	uint64_t at;
	uint32_t i;

	for (i = 0; i < GP_LANE_RECORDS; i++)
		room |= !lane->open_map[i];
	if (map->type != VIRTIO_GPGPU_MAP_RINGBUF || flags || !room)
		return 0;
	at = gp_record_reserve(map, size, lane->thread->cpu);
	if (at == GP_RECORD_BUSY) {
		gp_charge_steps(lane, GP_STEPS_WITHOUT_LOCK);
		return 0;
	}
	if (!at)
		return 0;
	/* Every index a constant, or the lane could not live in registers. */
	for (i = 0; i < GP_LANE_RECORDS; i++) {
		if (!room || lane->open_map[i])
			continue;
		lane->open_map[i] = map;
		lane->open_at[i] = (uint32_t)(at - 1);
		room = false;
	}
	return at;
}

/* The map whose values a handle is in: only to be compared. */
GP_ALWAYS const struct gp_map *gp_map_of_value(const struct gp_env *env, uint64_t handle)
{
	uint64_t id = handle >> GP_REGION_SHIFT;

	if (id >= GP_REGION_INNER0 && id - GP_REGION_INNER0 < env->num_inner)
		return gp_load_map(&env->inner[id - GP_REGION_INNER0]);
	if (id >= GP_REGION_MAP0 && id - GP_REGION_MAP0 < env->num_maps)
		return env->maps[id - GP_REGION_MAP0];
	return NULL;
}

GP_ALWAYS int64_t gp_close(struct gp_lane *lane, uint64_t record, bool discard)
{
	const struct gp_map *map = gp_map_of_value(lane->env, record);
	uint64_t offset = record & GP_OFFSET_MASK;
	bool found = false;
	uint32_t i;

	for (i = 0; i < GP_LANE_RECORDS; i++) {
		if (found || !map || lane->open_map[i] != map || lane->open_at[i] != offset)
			continue;
		gp_record_finish(lane->open_map[i], lane->open_at[i], discard);
		lane->open_map[i] = NULL;
		found = true;
	}
	return found ? 0 : -EINVAL;
}

GP_RT int64_t gp_helper_ringbuf_submit(struct gp_lane *lane, uint64_t record, uint64_t flags)
{
	return gp_close(lane, record, false);
}

GP_RT int64_t gp_helper_ringbuf_discard(struct gp_lane *lane, uint64_t record, uint64_t flags)
{
	return gp_close(lane, record, true);
}

GP_RT void gp_lane_end(struct gp_lane *lane)
{
	uint32_t i;

	for (i = 0; i < GP_LANE_RECORDS; i++)
		if (gp_unlikely(lane->open_map[i]))
			gp_record_finish(lane->open_map[i], lane->open_at[i], true);
}

GP_ALWAYS int64_t gp_put(struct gp_lane *lane, struct gp_map *map, const uint8_t *first, uint64_t first_size,
			 const uint8_t *second, uint64_t second_size)
{
	int64_t err;

	if (gp_unlikely(!gp_charge_bytes(lane, first_size + second_size)))
		return -ENOSPC; /* which nobody sees: the lane ends */
	err = gp_record_put(map, lane->thread->cpu, first, first_size, second, second_size);
	if (gp_unlikely(err == -EBUSY))
		gp_charge_steps(lane, GP_STEPS_WITHOUT_LOCK);
	return err;
}

GP_RT int64_t gp_helper_ringbuf_output(struct gp_lane *lane, struct gp_map *map, const uint8_t *data,
				       uint64_t size, uint64_t flags)
{
	int64_t err;

	/* Who is woken is the reader's to decide. */
	if (map->type != VIRTIO_GPGPU_MAP_RINGBUF ||
	    flags & ~(uint64_t)(BPF_RB_NO_WAKEUP | BPF_RB_FORCE_WAKEUP))
		return -EINVAL;
	err = gp_put(lane, map, data, size, NULL, 0);
	return err == -ENOSPC ? -EAGAIN : err;
}

GP_RT uint64_t gp_helper_ringbuf_query(struct gp_lane *lane, struct gp_map *map, uint64_t flags)
{
	return map->type == VIRTIO_GPGPU_MAP_RINGBUF ? gp_record_query(map, flags) : 0;
}

/* @size bytes of data, then as many bytes of the packet as the flags ask for. */
GP_RT int64_t gp_helper_perf_output(struct gp_lane *lane, struct gp_map *map, uint64_t flags,
				    const uint8_t *data, uint64_t size)
{
	uint64_t packet = (flags & BPF_F_CTXLEN_MASK) >> 32, index = flags & BPF_F_INDEX_MASK;
	uint64_t room = (uint64_t)lane->data_end - lane->data_off - packet;

	if (map->type != VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY || flags & ~(BPF_F_CTXLEN_MASK | BPF_F_INDEX_MASK))
		return -EINVAL;
	if ((int64_t)room < 0)
		return -EFAULT;
	if (index != BPF_F_CURRENT_CPU && index >= map->max_entries)
		return -E2BIG;
	if (index != BPF_F_CURRENT_CPU && index != lane->thread->cpu)
		return -EOPNOTSUPP;
	return gp_put(lane, map, data, size, packet ? lane->base + lane->data_off : NULL,
		      packet & gp_if_room(room));
}

/* ------------------------------------------------------------------- reader */

#ifdef GP_RT_MAP_OPS
static bool gp_has_records(const struct gp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_RINGBUF || map->type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY;
}

/* Past what was discarded. Return: the head of the next record, finished; or 0. */
static uint64_t gp_record_next(struct gp_map *map, uint64_t *pos)
{
	uint64_t reserved = __atomic_load_n(&map->state[RING_RESERVED], __ATOMIC_ACQUIRE), head;

	while (*pos != reserved) {
		head = __atomic_load_n(gp_record_head(map, *pos), __ATOMIC_ACQUIRE);
		if (head & RECORD_BUSY)
			return 0;
		if (!(head & RECORD_DISCARD))
			return head | RECORD_BUSY; /* not 0, also where the size and the CPU are */
		*pos += gp_record_length(head & RECORD_SIZE);
	}
	return 0;
}

int64_t gp_map_records_read(struct gp_map *map, void *buf, uint64_t size, uint32_t *num, uint64_t *dropped)
{
	uint64_t pos, head, done = 0;
	uint8_t *to = buf;

	*num = 0;
	*dropped = 0;
	if (!gp_has_records(map))
		return -EINVAL;
	pos = gp_load64(&map->state[RING_READ]);
	while ((head = gp_record_next(map, &pos))) {
		struct virtio_gpgpu_record record = { .size = (uint32_t)(head & RECORD_SIZE),
						      .cpu = (uint32_t)(head >> RECORD_CPU) };
		uint64_t padded = (record.size + 7ull) & ~7ull;

		if (sizeof(record) + padded > size - done)
			break;
		memcpy(to + done, &record, sizeof(record));
		done += sizeof(record);
		memset(to + done, 0, padded);
		gp_copy_out(to + done, map->values + (pos & (gp_ring_bytes(map) - 1)) + RECORD_HEAD,
			    record.size);
		done += padded;
		pos += gp_record_length(record.size);
		++*num;
	}
	/* What was copied is no longer needed once this is seen. */
	__atomic_store_n(&map->state[RING_READ], pos, __ATOMIC_RELEASE);
	*dropped = gp_load64(&map->state[RING_DROPPED]);
	return head && !*num ? -EMSGSIZE : (int64_t)done;
}

bool gp_map_records_pending(struct gp_map *map)
{
	uint64_t pos;
	bool found;

	if (!gp_has_records(map))
		return false;
	pos = gp_load64(&map->state[RING_READ]);
	found = gp_record_next(map, &pos);
	__atomic_store_n(&map->state[RING_READ], pos, __ATOMIC_RELEASE);
	return found;
}
#endif
