/* SPDX-License-Identifier: BSD-3-Clause */
/* map_queue.h - maps without keys: queues, stacks and Bloom filters (map_queue.c, map_bloom.c). */
#ifndef GPGPU_RT_MAP_QUEUE_H
#define GPGPU_RT_MAP_QUEUE_H

#include <stdbool.h>
#include "rt/abi.h"

#define GP_BLOOM_MAX_VALUE 512

/*
 * gp_queue_push() - BPF_ANY: -E2BIG where it is full; BPF_EXIST: throw out what came first. gp_queue_pop() - take, or
 * with !@take only read, what is first (QUEUE) or last (STACK); -ENOENT and a value of zeros where there is none.
 *
 * Return: 0, -E2BIG, -ENOENT, -EINVAL (flags), -EBUSY.
 */
int64_t gp_queue_push(struct gp_map *map, const uint8_t *value, uint64_t flags);
int64_t gp_queue_pop(struct gp_map *map, uint8_t *value, bool take);

/* gp_bloom_words() - size of the filter, in words of 64 bits: a power of two. */
uint32_t gp_bloom_words(uint32_t max_entries);

/* gp_bloom_push() - 0, -EINVAL (flags). gp_bloom_peek() - 0: may be there; -ENOENT: is not. */
int64_t gp_bloom_push(struct gp_map *map, const uint8_t *value, uint64_t flags);
int64_t gp_bloom_peek(const struct gp_map *map, const uint8_t *value);

#endif
