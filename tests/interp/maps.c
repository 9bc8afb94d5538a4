// SPDX-License-Identifier: BSD-3-Clause
/*
 * maps.c - models of the map types: arrays, hash, per-CPU array, LPM trie.
 *
 * A hash is a table that is searched from its start, a trie is a list of prefixes of which the longest that
 * matches wins. What programs can tell is the same as with clever structures: which keys there are, their
 * values, and the error of each operation.
 */
#include <stdlib.h>
#include "priv.h"

static bool is_array(const struct interp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_ARRAY || map->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY;
}

struct interp_map *interp_map_new(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t max_entries,
				  uint32_t num_cpus, bool rdonly)
{
	struct interp_map *map = calloc(1, sizeof(*map));

	if (!map)
		abort();
	map->type = type;
	map->key_size = key_size;
	map->value_size = value_size;
	map->max_entries = max_entries;
	map->stride = (value_size + 7) & ~7u;
	map->copies = type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY ? num_cpus : 1;
	map->rdonly = rdonly;
	map->values_size = (uint64_t)map->copies * max_entries * map->stride;
	map->keys = calloc(max_entries, key_size);
	map->used = calloc(max_entries, 1);
	map->values = calloc(1, map->values_size);
	if (!map->keys || !map->used || !map->values)
		abort();
	return map;
}

void interp_map_free(struct interp_map *map)
{
	if (!map)
		return;
	free(map->keys);
	free(map->used);
	free(map->values);
	free(map);
}

static uint8_t *value_at(const struct interp_map *map, uint32_t i, uint32_t cpu)
{
	return map->values + ((uint64_t)(map->copies > 1 ? cpu : 0) * map->max_entries + i) * map->stride;
}

static uint32_t prefix_of(const uint8_t *key)
{
	uint32_t bits;

	memcpy(&bits, key, 4);
	return bits;
}

static uint32_t max_prefix(const struct interp_map *map)
{
	return (map->key_size - 4) * 8;
}

/* Bit 0 is the first on the wire: the highest of the first byte. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	for (uint32_t i = 0; i < bits; i++)
		if (((a[4 + i / 8] ^ b[4 + i / 8]) >> (7 - i % 8)) & 1)
			return false;
	return true;
}

/* The element with exactly @key; -1 if there is none. */
static int64_t find_exact(const struct interp_map *map, const uint8_t *key)
{
	bool lpm = map->type == VIRTIO_GPGPU_MAP_LPM_TRIE;

	for (uint32_t i = 0; i < map->max_entries; i++) {
		const uint8_t *at = map->keys + (uint64_t)i * map->key_size;

		if (!map->used[i])
			continue;
		/* Bits behind a prefix do not count. */
		if (lpm ? prefix_of(at) == prefix_of(key) && same_prefix(at, key, prefix_of(key))
			: !memcmp(at, key, map->key_size))
			return i;
	}
	return -1;
}

static int64_t find_longest(const struct interp_map *map, const uint8_t *key)
{
	int64_t best = -1;
	uint32_t best_bits = 0;

	if (prefix_of(key) > max_prefix(map))
		return -1;
	for (uint32_t i = 0; i < map->max_entries; i++) {
		const uint8_t *at = map->keys + (uint64_t)i * map->key_size;
		uint32_t bits = prefix_of(at);

		if (!map->used[i] || bits > prefix_of(key) || !same_prefix(at, key, bits))
			continue;
		if (best < 0 || bits > best_bits) {
			best = i;
			best_bits = bits;
		}
	}
	return best;
}

void *interp_map_lookup(struct interp_map *map, const void *key, uint32_t cpu)
{
	int64_t i;

	if (is_array(map)) {
		uint32_t index;

		memcpy(&index, key, 4);
		return index < map->max_entries ? value_at(map, index, cpu) : NULL;
	}
	i = map->type == VIRTIO_GPGPU_MAP_LPM_TRIE ? find_longest(map, key) : find_exact(map, key);
	return i < 0 ? NULL : value_at(map, (uint32_t)i, cpu);
}

int interp_map_update(struct interp_map *map, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu)
{
	bool lpm = map->type == VIRTIO_GPGPU_MAP_LPM_TRIE;
	int64_t i;

	if (flags > BPF_EXIST)
		return -EINVAL;
	if (is_array(map)) {
		uint32_t index;

		memcpy(&index, key, 4);
		if (index >= map->max_entries)
			return -E2BIG;
		if (flags == BPF_NOEXIST)
			return -EEXIST;
		memcpy(value_at(map, index, cpu), value, map->value_size);
		return 0;
	}
	if (lpm && prefix_of(key) > max_prefix(map))
		return -EINVAL;
	i = find_exact(map, key);
	if (i >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (i < 0 && flags == BPF_EXIST)
		return -ENOENT;
	if (i < 0) {
		for (i = 0; i < map->max_entries && map->used[i]; i++)
			;
		if (i == map->max_entries)
			return lpm ? -ENOSPC : -E2BIG;
		memcpy(map->keys + (uint64_t)i * map->key_size, key, map->key_size);
		map->used[i] = 1;
	}
	memcpy(value_at(map, (uint32_t)i, cpu), value, map->value_size);
	return 0;
}

int interp_map_delete(struct interp_map *map, const void *key)
{
	int64_t i;

	if (is_array(map))
		return -EINVAL;
	if (map->type == VIRTIO_GPGPU_MAP_LPM_TRIE && prefix_of(key) > max_prefix(map))
		return -EINVAL;
	i = find_exact(map, key);
	if (i < 0)
		return -ENOENT;
	map->used[i] = 0;
	return 0;
}

uint32_t interp_map_count(const struct interp_map *map)
{
	uint32_t count = 0;

	if (is_array(map))
		return map->max_entries;
	for (uint32_t i = 0; i < map->max_entries; i++)
		count += map->used[i];
	return count;
}

void interp_map_at(const struct interp_map *map, uint32_t n, const void **key, const void **value,
		   uint32_t cpu)
{
	uint32_t i = n;

	*key = NULL;
	if (!is_array(map)) {
		for (i = 0; i < map->max_entries; i++)
			if (map->used[i] && n-- == 0)
				break;
		*key = map->keys + (uint64_t)i * map->key_size;
	}
	*value = value_at(map, i, cpu);
}
