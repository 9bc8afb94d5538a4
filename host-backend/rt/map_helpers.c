/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_helpers.c - bpf_map_lookup_elem, _update_elem and _delete_elem as programs call them.
 *
 * After inlining, the map's constants have picked the case and only that one is left. Look-ups in arrays and
 * in hash maps with short keys inline whole; everything else is a call. A call takes neither the lane nor a
 * pointer to a short key or value of the program's, but a copy: what a call may see has to be in memory, and
 * the lane and the program's stack are to stay in registers. Walking a chain or a trie and copying a value cost
 * fuel, so that no program can make long chains and then look at them for free; waiting in vain for a lock,
 * which takes longer than anything else, costs all of it.
 */
#include "virtio_gpgpu.h"
#include "fuel.h"
#include "map_array.h"
#include "map_hash.h"
#include "map_lpm.h"
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

GP_ALWAYS uint32_t gp_lookup_hash(struct gp_lane *lane, const struct gp_map *map, const uint8_t *key,
				  uint32_t key_size, uint32_t max_entries, uint32_t num_buckets)
{
	uint64_t words[GP_HASH_INLINE / 8], again[GP_HASH_INLINE / 8], found;
	uint32_t steps = 0, at, i;
	struct gp_copy copy;

	if (key_size > GP_HASH_INLINE) {
		found = gp_hash_find_any(map, gp_copied(&copy, key, key_size));
	} else {
		for (i = 0; i < gp_words(key_size); i++)
			words[i] = gp_get_halves(key, key_size, i);
		if (gp_likely(gp_hash_try(map, words, key_size, max_entries, num_buckets, &steps, &at))) {
			gp_charge(lane, steps / GP_STEPS_PER_FUEL);
			return at;
		}
		for (i = 0; i < gp_words(key_size); i++)
			again[i] = words[i];
		found = gp_hash_find_words(map, again);
	}
	gp_charge_steps(lane, (uint32_t)(found >> 32));
	return (uint32_t)found;
}

GP_ALWAYS uint32_t gp_lookup_lpm(struct gp_lane *lane, const struct gp_map *map, const uint8_t *key,
				 uint32_t key_size)
{
	uint32_t prefix = (uint32_t)gp_get_word(key, 4, 0);
	struct gp_copy copy;
	uint64_t found;

	if (key_size == 4 + 4)
		found = gp_lpm_find_4(map, prefix, gp_lpm_word(key + 4, 4, 0));
	else if (key_size == 4 + 16)
		found = gp_lpm_find_16(map, prefix, gp_lpm_word(key + 4, 16, 0), gp_lpm_word(key + 4, 16, 1));
	else
		found = gp_lpm_find_any(map, gp_copied(&copy, key, key_size));
	gp_charge_steps(lane, (uint32_t)(found >> 32));
	return (uint32_t)found;
}

GP_RT uint64_t gp_helper_map_lookup(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				    uint32_t type, uint32_t key_size, uint32_t value_size,
				    uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets)
{
	switch (type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
		return gp_array_find(gp_array_index(key), value_size, max_entries);
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		return gp_percpu_find(gp_array_index(key), lane->thread->cpu, value_size, max_entries,
				      num_cpus);
	case VIRTIO_GPGPU_MAP_HASH:
		return gp_offset(gp_lookup_hash(lane, map, key, key_size, max_entries, num_buckets),
				 value_size);
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return gp_offset(gp_lookup_lpm(lane, map, key, key_size), value_size);
	default:
		return 0;
	}
}

GP_ALWAYS void gp_charge_change(struct gp_lane *lane, int64_t err, uint32_t steps)
{
	gp_charge_steps(lane, err == -EBUSY ? GP_STEPS_WITHOUT_LOCK : steps);
}

GP_ALWAYS int64_t gp_store_value(struct gp_map *map, uint64_t at, const uint8_t *value, uint32_t value_size)
{
	if (!at)
		return -E2BIG;
	gp_copy_in(map->values + at - 1, value, value_size);
	return 0;
}

GP_RT int64_t gp_helper_map_update(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				   const uint8_t *value, uint64_t flags, uint32_t type, uint32_t key_size,
				   uint32_t value_size, uint32_t max_entries, uint32_t num_cpus,
				   uint32_t num_buckets)
{
	struct gp_copy key_copy, value_copy;
	uint32_t index, steps = 0;
	int64_t err;

	if (map->frozen)
		return -EPERM;
	gp_charge_bytes(lane, value_size);
	switch (type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		index = gp_array_index(key);
		err = gp_array_may_update(index, flags, max_entries);
		if (err)
			return err;
		if (type == VIRTIO_GPGPU_MAP_ARRAY)
			return gp_store_value(map, gp_array_find(index, value_size, max_entries), value,
					      value_size);
		return gp_store_value(map,
				      gp_percpu_find(index, lane->thread->cpu, value_size, max_entries,
						     num_cpus),
				      value, value_size);
	case VIRTIO_GPGPU_MAP_HASH:
		err = gp_hash_update(map, gp_copied(&key_copy, key, key_size),
				     gp_copied(&value_copy, value, value_size), flags, &steps);
		gp_charge_change(lane, err, steps);
		return err;
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		err = gp_lpm_update(map, gp_copied(&key_copy, key, key_size),
				    gp_copied(&value_copy, value, value_size), flags, &steps);
		gp_charge_change(lane, err, steps);
		return err;
	default:
		return -EINVAL;
	}
}

GP_RT int64_t gp_helper_map_delete(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				   uint32_t type, uint32_t key_size, uint32_t value_size,
				   uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets)
{
	struct gp_copy copy;
	uint32_t steps = 0;
	int64_t err;

	if (map->frozen)
		return -EPERM;
	switch (type) {
	case VIRTIO_GPGPU_MAP_HASH:
		err = gp_hash_delete(map, gp_copied(&copy, key, key_size), &steps);
		gp_charge_change(lane, err, steps);
		return err;
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		err = gp_lpm_delete(map, gp_copied(&copy, key, key_size), &steps);
		gp_charge_change(lane, err, steps);
		return err;
	default:
		return -EINVAL;
	}
}

/* Constants of the map itself, where the program chooses the map at run time. */
#define GP_MAP_OWN(map)                                                                       \
	(map)->type, (map)->key_size, (map)->value_size, (map)->max_entries, (map)->num_cpus, \
		(map)->num_buckets

GP_RT uint64_t gp_helper_map_lookup_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key)
{
	uint64_t found;

	if (map->type == VIRTIO_GPGPU_MAP_HASH) {
		found = gp_hash_find_any(map, key);
	} else if (map->type == VIRTIO_GPGPU_MAP_LPM_TRIE) {
		found = gp_lpm_find_any(map, key);
	} else {
		return gp_helper_map_lookup(lane, map, key, GP_MAP_OWN(map));
	}
	gp_charge_steps(lane, (uint32_t)(found >> 32));
	return gp_offset((uint32_t)found, map->value_size);
}

GP_RT int64_t gp_helper_map_update_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				       const uint8_t *value, uint64_t flags)
{
	return gp_helper_map_update(lane, map, key, value, flags, GP_MAP_OWN(map));
}

GP_RT int64_t gp_helper_map_delete_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key)
{
	return gp_helper_map_delete(lane, map, key, GP_MAP_OWN(map));
}
