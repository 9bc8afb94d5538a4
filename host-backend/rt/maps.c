/* SPDX-License-Identifier: BSD-3-Clause */
/* maps.c - shapes and memory of maps, and the guest's operations on them; native only. See maps.h. */
#include <errno.h>
#include <string.h>
#include "virtio_gpgpu.h"
#include "map_array.h"
#include "map_hash.h"
#include "map_lpm.h"
#include "maps.h"

#define GP_STATE_BYTES 128

/* One row for each type: what its keys may be, and how many elements it may have. */
static const struct gp_map_rule {
	uint32_t type, key_min, key_max, max_entries;
} gp_map_rules[] = {
	{ VIRTIO_GPGPU_MAP_HASH, 1, VIRTIO_GPGPU_MAX_KEY, 1u << 30 },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 4, UINT32_MAX },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 4, UINT32_MAX },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 4 + 1, 4 + GP_LPM_MAX_DATA, 1u << 30 },
};

/* An array of one element is how a program's global data travels, and may be large. */
#define GP_MAX_GLOBALS (16u << 20)

static uint32_t gp_round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

uint32_t gp_map_check(struct gp_map_desc *desc, uint32_t num_cpus)
{
	const struct gp_map_rule *rule = NULL;
	uint32_t max_value = VIRTIO_GPGPU_MAX_VALUE;
	size_t i;

	for (i = 0; i < sizeof(gp_map_rules) / sizeof(*gp_map_rules); i++)
		if (gp_map_rules[i].type == desc->type)
			rule = &gp_map_rules[i];
	if (!rule)
		return VIRTIO_GPGPU_R_KIND;
	if (desc->flags & ~VIRTIO_GPGPU_MAP_F_RDONLY_PROG)
		return VIRTIO_GPGPU_R_FLAGS;
	if (!desc->max_entries || desc->max_entries > rule->max_entries)
		return VIRTIO_GPGPU_R_COUNT;
	if (desc->type == VIRTIO_GPGPU_MAP_ARRAY && desc->max_entries == 1)
		max_value = GP_MAX_GLOBALS;
	if (desc->key_size < rule->key_min || desc->key_size > rule->key_max || !desc->value_size ||
	    desc->value_size > max_value)
		return VIRTIO_GPGPU_R_SIZE;
	if (!num_cpus || num_cpus > GP_MAP_MAX_CPUS)
		return VIRTIO_GPGPU_R_COUNT;

	desc->stride = gp_stride(desc->value_size);
	desc->num_cpus = desc->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY ? num_cpus : 1;
	desc->num_buckets = desc->type == VIRTIO_GPGPU_MAP_HASH ? gp_round_up_pow2(desc->max_entries) : 0;
	/* At most 2^32 * 2^16 * 2^10 bytes. */
	if (desc->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY)
		desc->values_size = gp_array_copy_bytes(desc->value_size, desc->max_entries) * desc->num_cpus;
	else
		desc->values_size = (uint64_t)desc->max_entries * desc->stride;
	/* An offset has 48 bits in a handle. */
	return desc->values_size < GP_OFFSET_MASK / 2 ? VIRTIO_GPGPU_R_NONE : VIRTIO_GPGPU_R_COUNT;
}

static uint64_t gp_map_key_bytes(const struct gp_map_desc *desc)
{
	uint64_t n = desc->max_entries, bytes = 0;

	if (desc->type == VIRTIO_GPGPU_MAP_HASH)
		bytes = n * gp_hash_elem_bytes(desc->key_size);
	else if (desc->type == VIRTIO_GPGPU_MAP_LPM_TRIE)
		bytes = 2 * n * (sizeof(struct gp_lpm_node) + gp_words(desc->key_size - 4) * 8);
	return (bytes + 63) & ~63ull;
}

static uint64_t gp_map_link_bytes(const struct gp_map_desc *desc)
{
	uint64_t bytes = desc->type == VIRTIO_GPGPU_MAP_LPM_TRIE ? desc->max_entries * 4ull : 0;

	return (bytes + 63) & ~63ull;
}

uint64_t gp_map_index_bytes(const struct gp_map_desc *desc)
{
	return GP_STATE_BYTES + gp_map_key_bytes(desc) + gp_map_link_bytes(desc) + desc->num_buckets * 8ull;
}

uint64_t gp_map_bytes(const struct gp_map_desc *desc)
{
	return desc->values_size + gp_map_index_bytes(desc);
}

void gp_map_layout(struct gp_map *map, const struct gp_map_desc *desc, void *values, void *index,
		   uint32_t seed)
{
	uint8_t *at = index;

	*map = (struct gp_map){
		.type = desc->type,
		.key_size = desc->key_size,
		.value_size = desc->value_size,
		.max_entries = desc->max_entries,
		.stride = desc->stride,
		.num_cpus = desc->num_cpus,
		.frozen = !!(desc->flags & VIRTIO_GPGPU_MAP_F_RDONLY_PROG),
		.seed = seed,
		.values = values,
		.values_size = desc->values_size,
		.num_buckets = desc->num_buckets,
	};
	map->state = (uint64_t *)(void *)at;
	at += GP_STATE_BYTES;
	map->keys = at;
	at += gp_map_key_bytes(desc);
	map->links = (uint32_t *)(void *)at;
	at += gp_map_link_bytes(desc);
	map->buckets = (uint32_t *)(void *)at;
}

uint32_t gp_map_value_bytes(const struct gp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY ? map->num_cpus * map->stride : map->value_size;
}

static uint32_t gp_map_index(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

/* An array's: offset of @cpu's copy of a value, plus 1, or 0. */
static uint64_t gp_map_find(struct gp_map *map, const void *key, uint32_t cpu)
{
	if (map->type == VIRTIO_GPGPU_MAP_ARRAY)
		return gp_array_find(gp_map_index(key), map->value_size, map->max_entries);
	return gp_percpu_find(gp_map_index(key), cpu, map->value_size, map->max_entries, map->num_cpus);
}

int gp_map_lookup(struct gp_map *map, const void *key, void *value)
{
	uint8_t *to = value;
	uint32_t cpu;
	uint64_t at;

	if (map->type == VIRTIO_GPGPU_MAP_HASH)
		return gp_hash_copy(map, key, value);
	if (map->type == VIRTIO_GPGPU_MAP_LPM_TRIE)
		return gp_lpm_copy(map, key, value);
	for (cpu = 0; cpu < map->num_cpus; cpu++) {
		at = gp_map_find(map, key, cpu);
		if (!at)
			return -ENOENT;
		gp_copy_out(to + (size_t)cpu * map->stride, map->values + at - 1,
			    map->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY ? map->stride : map->value_size);
	}
	return 0;
}

static int gp_map_update_array(struct gp_map *map, const void *key, const uint8_t *value, uint64_t flags)
{
	int err = (int)gp_array_may_update(gp_map_index(key), flags, map->max_entries);
	uint32_t cpu;

	for (cpu = 0; !err && cpu < map->num_cpus; cpu++)
		gp_copy_in(map->values + gp_map_find(map, key, cpu) - 1, value + (size_t)cpu * map->stride,
			   map->value_size);
	return err;
}

int gp_map_update(struct gp_map *map, const void *key, const void *value, uint64_t flags)
{
	uint32_t steps = 0;

	switch (map->type) {
	case VIRTIO_GPGPU_MAP_HASH:
		return (int)gp_hash_update(map, key, value, flags, &steps);
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return (int)gp_lpm_update(map, key, value, flags, &steps);
	default:
		return gp_map_update_array(map, key, value, flags);
	}
}

int gp_map_delete(struct gp_map *map, const void *key)
{
	uint32_t steps = 0;

	switch (map->type) {
	case VIRTIO_GPGPU_MAP_HASH:
		return (int)gp_hash_delete(map, key, &steps);
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return (int)gp_lpm_delete(map, key, &steps);
	default:
		return -EINVAL;
	}
}

static int gp_map_next_index(const struct gp_map *map, const void *key, void *next)
{
	uint32_t index = key ? gp_map_index(key) : UINT32_MAX;

	if (index == map->max_entries - 1)
		return -ENOENT;
	index = index < map->max_entries ? index + 1 : 0;
	memcpy(next, &index, sizeof(index));
	return 0;
}

int gp_map_next_key(struct gp_map *map, const void *key, void *next)
{
	switch (map->type) {
	case VIRTIO_GPGPU_MAP_HASH:
		return gp_hash_next(map, key, next);
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return gp_lpm_next(map, key, next);
	default:
		return gp_map_next_index(map, key, next);
	}
}
