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

static int64_t gp_queue_add(struct gp_map *map, const uint8_t *value, uint64_t flags)
{
	uint32_t *count = gp_queue_state(map, QUEUE_COUNT);

	if (gp_load32(count) >= map->max_entries && flags == BPF_EXIST)
		gp_queue_drop_first(map);
	if (gp_load32(count) >= map->max_entries)
		return -E2BIG;
	gp_copy_in(gp_queue_value(map, gp_load32(count)), value, map->value_size);
	gp_store32(count, gp_load32(count) + 1);
	return 0;
}

int64_t gp_queue_push(struct gp_map *map, const uint8_t *value, uint64_t flags)
{
	int64_t err = -EBUSY;
	bool held;

	if (flags != BPF_ANY && flags != BPF_EXIST)
		return -EINVAL;
	gp_with_lock(gp_queue_state(map, QUEUE_LOCK), held) err = gp_queue_add(map, value, flags);
	return err;
}

static int64_t gp_queue_get(struct gp_map *map, uint8_t *value, bool take)
{
	uint32_t *count = gp_queue_state(map, QUEUE_COUNT), n = gp_load32(count);
	bool stack = map->type == VIRTIO_GPGPU_MAP_STACK;

	if (!n)
		return -ENOENT;
	gp_copy_out(value, gp_queue_value(map, stack ? n - 1 : 0), map->value_size);
	if (take && stack)
		gp_store32(count, n - 1);
	else if (take)
		gp_queue_drop_first(map);
	return 0;
}

int64_t gp_queue_pop(struct gp_map *map, uint8_t *value, bool take)
{
	int64_t err = -EBUSY;
	bool held;

	gp_with_lock(gp_queue_state(map, QUEUE_LOCK), held) err = gp_queue_get(map, value, take);
	if (err)
		memset(value, 0, map->value_size);
	return err;
}
