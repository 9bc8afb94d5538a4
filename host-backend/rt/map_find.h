/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_find.h - look-ups in hash maps as programs make them: inlined, with fuel.
 *
 * A call takes neither the lane nor a pointer to a short key or value of the program's, but a copy: what a call
 * may see has to be in memory, and the lane and the program's stack are to stay in registers.
 */
#ifndef GPGPU_RT_MAP_FIND_H
#define GPGPU_RT_MAP_FIND_H

#include "fuel.h"
#include "map_array.h"
#include "map_hash.h"
#include "rt.h"

GP_ALWAYS uint64_t gp_offset(uint32_t at, uint32_t value_size)
{
	return at ? (uint64_t)(at - 1) * gp_stride(value_size) + 1 : 0;
}

/* Bytes of the largest key and value that are copied for a call. */
#define GP_COPY_MAX 64

struct gp_copy {
	uint64_t words[GP_COPY_MAX / 8];
};

/* @at itself where it is large, else a copy in @copy. */
GP_ALWAYS const uint8_t *gp_copied(struct gp_copy *copy, const uint8_t *at, uint32_t size)
{
	uint32_t i;

	if (size > GP_COPY_MAX)
		return at;
	for (i = 0; i < gp_words(size); i++)
		copy->words[i] = gp_get_halves(at, size, i);
	return (const uint8_t *)copy->words;
}

/* gp_lookup_hash() - Return: element + 1, or 0. */
GP_ALWAYS uint32_t gp_lookup_hash(struct gp_lane *lane, const struct gp_map *map, const uint8_t *key,
				  uint32_t key_size, uint32_t max_entries, uint32_t num_buckets)
{
	uint64_t words[GP_HASH_INLINE / 8], found;
	struct gp_copy copy;
	uint32_t i;

	if (key_size > GP_HASH_INLINE) {
		found = gp_hash_find_any(map, gp_copied(&copy, key, key_size));
	} else {
		for (i = 0; i < gp_words(key_size); i++)
			words[i] = gp_get_halves(key, key_size, i);
#if defined(GP_RT_GPU)
		found = gp_hash_find_here(map, words, key_size, max_entries, num_buckets);
#else
		uint64_t again[GP_HASH_INLINE / 8];
		uint32_t steps = 0, at;

		if (gp_likely(gp_hash_try(map, words, key_size, max_entries, num_buckets, &steps, &at))) {
			gp_charge(lane, steps / GP_STEPS_PER_FUEL);
			return at;
		}
		for (i = 0; i < gp_words(key_size); i++)
			again[i] = words[i];
		found = gp_hash_find_words(map, again);
#endif
	}
	gp_charge_steps(lane, (uint32_t)(found >> 32));
	return (uint32_t)found;
}

#endif
