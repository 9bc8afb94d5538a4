/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_bloom.c - Bloom filters: a set that only grows, and may say that a value is in it which is not.
 *
 * Sized as the kernel's for its 5 hash functions: 7 bits for each of max_entries values, rounded up to a power of
 * two. The bits lie in `buckets`, as words of 64 bits. The 5 places are taken from two hashes, h1 + i * h2
 * with an odd h2, so that a value is hashed twice only.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "map_hash.h"
#include "map_queue.h"

#define GP_BLOOM_HASHES	  5
#define GP_BLOOM_MAX_BITS (1ull << 32)

uint32_t gp_bloom_words(uint32_t max_entries)
{
	uint64_t bits = 64;

	while (bits < (uint64_t)max_entries * GP_BLOOM_HASHES * 7 / 5 && bits < GP_BLOOM_MAX_BITS)
		bits *= 2;
	return (uint32_t)(bits / 64);
}

/* The value's first place, and from one to the next. */
static uint64_t gp_bloom_hash(const struct gp_map *map, const uint8_t *value, uint64_t *step)
{
	uint64_t words[GP_BLOOM_MAX_VALUE / 8];
	uint32_t i, n = gp_words(map->value_size);

	for (i = 0; i < n; i++)
		words[i] = gp_get_word(value, map->value_size, i);
	*step = gp_hash_key(words, n, ~map->seed) | 1;
	return gp_hash_key(words, n, map->seed);
}

static uint64_t *gp_bloom_word(const struct gp_map *map, uint64_t place)
{
	return (uint64_t *)(void *)map->buckets + (place / 64 & (map->num_buckets - 1));
}

int64_t gp_bloom_push(struct gp_map *map, const uint8_t *value, uint64_t flags)
{
	uint64_t step, place;
	uint32_t i;

	if (flags != BPF_ANY)
		return -EINVAL;
	place = gp_bloom_hash(map, value, &step);
	for (i = 0; i < GP_BLOOM_HASHES; i++, place += step) {
		uint64_t *word = gp_bloom_word(map, place), bit = 1ull << place % 64;

		if (!(gp_load64(word) & bit))
			__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
	}
	return 0;
}

int64_t gp_bloom_peek(const struct gp_map *map, const uint8_t *value)
{
	uint64_t step, place = gp_bloom_hash(map, value, &step);
	uint32_t i;

	for (i = 0; i < GP_BLOOM_HASHES; i++, place += step)
		if (!(gp_load64(gp_bloom_word(map, place)) & 1ull << place % 64))
			return -ENOENT;
	return 0;
}
