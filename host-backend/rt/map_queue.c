/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_queue.c - queues and stacks: a ring of max_entries values, under one lock.
 *
 * Values lie where no program reaches them, so a value that was taken is the taker's alone. Under the lock there is
 * the copy of one value.
 *
 * state[0]: the lock. state[1], by 32 bits: index of the oldest value; how many there are.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "map_queue.h"
#include "mem.h"

enum { QUEUE_LOCK = 0, QUEUE_FIRST = 2, QUEUE_COUNT = 3 };

static uint32_t *gp_queue_state(const struct gp_map *map, uint32_t n)
{
	return (uint32_t *)(void *)map->state + n;
}

/* Value @n of those in the ring, from the oldest. */
static uint8_t *gp_queue_value(const struct gp_map *map, uint32_t n)
{
	uint64_t at = (uint64_t)gp_load32(gp_queue_state(map, QUEUE_FIRST)) + n;

	if (at >= map->max_entries)
		at -= map->max_entries;
	return map->store + at * map->stride;
}

static void gp_queue_drop_first(struct gp_map *map)
{
	uint32_t *first = gp_queue_state(map, QUEUE_FIRST), *count = gp_queue_state(map, QUEUE_COUNT);
	uint32_t next = gp_load32(first) + 1;

	gp_store32(first, next < map->max_entries ? next : 0);
	gp_store32(count, gp_load32(count) - 1);
}

int64_t gp_queue_push(struct gp_map *map, const uint8_t *value, uint64_t flags)
{
	uint32_t *count = gp_queue_state(map, QUEUE_COUNT), *lock = gp_queue_state(map, QUEUE_LOCK);
	int64_t err = 0;

	if (flags != BPF_ANY && flags != BPF_EXIST)
		return -EINVAL;
	if (!gp_lock(lock))
		return -EBUSY;
	if (gp_load32(count) >= map->max_entries && flags == BPF_EXIST)
		gp_queue_drop_first(map);
	if (gp_load32(count) >= map->max_entries) {
		err = -E2BIG;
	} else {
		gp_copy_in(gp_queue_value(map, gp_load32(count)), value, map->value_size);
		gp_store32(count, gp_load32(count) + 1);
	}
	gp_unlock(lock);
	return err;
}

int64_t gp_queue_pop(struct gp_map *map, uint8_t *value, bool take)
{
	uint32_t *count = gp_queue_state(map, QUEUE_COUNT), *lock = gp_queue_state(map, QUEUE_LOCK), n;
	bool stack = map->type == VIRTIO_GPGPU_MAP_STACK;

	if (!gp_lock(lock)) {
		memset(value, 0, map->value_size);
		return -EBUSY;
	}
	n = gp_load32(count);
	if (n) {
		gp_copy_out(value, gp_queue_value(map, stack ? n - 1 : 0), map->value_size);
		if (take && stack)
			gp_store32(count, n - 1);
		else if (take)
			gp_queue_drop_first(map);
	}
	gp_unlock(lock);
	if (n)
		return 0;
	memset(value, 0, map->value_size);
	return -ENOENT;
}
