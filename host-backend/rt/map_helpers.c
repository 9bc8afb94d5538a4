/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_helpers.c - bpf_map_lookup_elem, _update_elem and _delete_elem as programs call them.
 *
 * After inlining, the map's constants have picked the case and only that one is left. Look-ups in arrays and
 * in hash maps with short keys inline whole; everything else is a call. Walking a chain or a trie and copying a
 * value cost fuel, so that no program can make long chains and then look at them for free; waiting in vain for a
 * lock, which takes longer than anything else, costs all of it.
 */
#include "virtio_gpgpu.h"
#include "fuel.h"
#include "map_array.h"
#include "map_find.h"
#include "map_lpm.h"
#include "rt.h"

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

GP_ALWAYS bool gp_is_lru(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_LRU_HASH || type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

GP_ALWAYS bool gp_is_percpu(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

/* As gp_lookup_hash(), and an LRU map notices. */
GP_ALWAYS uint32_t gp_find_hash(struct gp_lane *lane, const struct gp_map *map, const uint8_t *key,
				uint32_t type, uint32_t key_size, uint32_t max_entries, uint32_t num_buckets)
{
	uint32_t at = gp_lookup_hash(lane, map, key, key_size, max_entries, num_buckets);

	if (gp_is_lru(type) && at)
		gp_lru_mark(map, at, key_size);
	return at;
}

GP_RT uint64_t gp_helper_map_lookup(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				    uint32_t type, uint32_t key_size, uint32_t value_size,
				    uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets)
{
	uint64_t at;

	switch (type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
		return gp_array_find(gp_array_index(key), value_size, max_entries);
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		return gp_percpu_find(gp_array_index(key), gp_own_copy(lane->thread->cpu, num_cpus),
				      value_size, max_entries, num_cpus);
	case VIRTIO_GPGPU_MAP_HASH:
	case VIRTIO_GPGPU_MAP_DEVMAP_HASH:
	case VIRTIO_GPGPU_MAP_LRU_HASH:
	case VIRTIO_GPGPU_MAP_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH:
		at = gp_offset(gp_find_hash(lane, map, key, type, key_size, max_entries, num_buckets),
			       value_size);
		return gp_is_percpu(type) ? gp_percpu_copy(at, gp_own_copy(lane->thread->cpu, num_cpus),
							   value_size, max_entries, num_cpus)
					  : at;
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return gp_offset(gp_lookup_lpm(lane, map, key, key_size), value_size);
	case VIRTIO_GPGPU_MAP_DEVMAP:
		at = gp_array_find_here(gp_array_index(key), value_size, max_entries);
		return at && gp_load32((uint32_t *)(void *)(map->values + at - 1)) ? at : 0;
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
				      gp_percpu_find(index, gp_own_copy(lane->thread->cpu, num_cpus),
						     value_size, max_entries, num_cpus),
				      value, value_size);
	case VIRTIO_GPGPU_MAP_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH:
		/* A new element is cleared for all others. */
		gp_charge_bytes(lane, (uint64_t)value_size * num_cpus);
		/* fallthrough */
	case VIRTIO_GPGPU_MAP_HASH:
	case VIRTIO_GPGPU_MAP_LRU_HASH:
		err = gp_hash_update(map, gp_copied(&key_copy, key, key_size),
				     gp_copied(&value_copy, value, value_size), flags, lane->thread->cpu,
				     &steps);
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
	case VIRTIO_GPGPU_MAP_LRU_HASH:
	case VIRTIO_GPGPU_MAP_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH:
		err = gp_hash_delete(map, gp_copied(&copy, key, key_size), NULL, &steps);
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

/* ------------------------------------------------------- other copies, other maps */

GP_RT uint64_t gp_helper_map_lookup_percpu(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
					   uint64_t cpu, uint32_t type, uint32_t key_size,
					   uint32_t value_size, uint32_t max_entries, uint32_t num_cpus,
					   uint32_t num_buckets)
{
	uint64_t at;

	if (!gp_is_percpu(type))
		return 0;
	if (type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY)
		at = gp_array_find(gp_array_index(key), value_size, max_entries);
	else
		at = gp_offset(gp_find_hash(lane, map, key, type, key_size, max_entries, num_buckets),
			       value_size);
	return gp_percpu_copy(at, (uint32_t)cpu, value_size, max_entries, num_cpus);
}

GP_RT uint64_t gp_helper_map_lookup_inner(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
					  uint32_t type, uint32_t key_size, uint32_t value_size,
					  uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets)
{
	uint64_t at = 0;
	uint32_t slot;

	if (type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS)
		at = gp_array_find_here(gp_array_index(key), value_size, max_entries);
	else if (type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS)
		at = gp_offset(gp_lookup_hash(lane, map, key, key_size, max_entries, num_buckets),
			       value_size);
	if (!at)
		return 0;
	slot = gp_load32((const uint32_t *)(const void *)(map->store + at - 1));
	if (!slot)
		return 0;
	return (GP_REGION_INNERPTR0 + (uint64_t)((slot - 1) & (GP_MAX_INNER - 1))) << GP_REGION_SHIFT;
}

/* Constants of the map itself, where the program chooses the map at run time. */
#define GP_MAP_OWN(map)                                                                       \
	(map)->type, (map)->key_size, (map)->value_size, (map)->max_entries, (map)->num_cpus, \
		(map)->num_buckets

/* The key in hash maps: not inlined. */
GP_ALWAYS uint32_t gp_find_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key)
{
	uint64_t found = gp_hash_find_any(map, key);

	gp_charge_steps(lane, (uint32_t)(found >> 32));
	if ((uint32_t)found && gp_is_lru(map->type))
		gp_lru_mark(map, (uint32_t)found, map->key_size);
	return (uint32_t)found;
}

GP_RT uint64_t gp_helper_map_lookup_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key)
{
	uint64_t found;

	switch (map->type) {
	case VIRTIO_GPGPU_MAP_HASH:
	case VIRTIO_GPGPU_MAP_DEVMAP_HASH:
	case VIRTIO_GPGPU_MAP_LRU_HASH:
		return gp_offset(gp_find_any(lane, map, key), map->value_size);
	case VIRTIO_GPGPU_MAP_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH:
		return gp_percpu_copy(gp_offset(gp_find_any(lane, map, key), map->value_size),
				      lane->thread->cpu, map->value_size, map->max_entries, map->num_cpus);
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		found = gp_lpm_find_any(map, key);
		gp_charge_steps(lane, (uint32_t)(found >> 32));
		return gp_offset((uint32_t)found, map->value_size);
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
	case VIRTIO_GPGPU_MAP_DEVMAP:
		return gp_helper_map_lookup(lane, map, key, GP_MAP_OWN(map));
	default:
		return 0;
	}
}

GP_RT uint64_t gp_helper_map_lookup_handle(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
					   uint64_t bias)
{
	uint64_t at;

	if (map->type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS || map->type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS)
		return gp_helper_map_lookup_inner(lane, map, key, GP_MAP_OWN(map));
	at = gp_helper_map_lookup_any(lane, map, key);
	return at ? bias + at - 1 : 0;
}

GP_RT uint64_t gp_helper_map_lookup_percpu_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
					       uint64_t cpu)
{
	return gp_helper_map_lookup_percpu(lane, map, key, cpu, GP_MAP_OWN(map));
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
