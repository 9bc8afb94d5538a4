// SPDX-License-Identifier: BSD-3-Clause
/*
 * maps.c - models of the map types.
 *
 * A hash is a table that is searched from its start, a trie is a list of prefixes of which the longest that
 * matches wins, a bloom filter is an exact set, an LRU hash forgets the key that was used longest ago. What programs can
 * tell is the same as with clever structures: which keys there are, their values, and the error of each operation. Where a
 * program can tell more (which key an LRU forgets, false positives), the tests do not compare.
 *
 * Maps of maps and prog arrays hold numbers: the index of a map in the environment, or of a tail, plus 1.
 */
#include <stdlib.h>
#include "priv.h"

#define PERF_BYTES   (256u << 10)
#define RECORD_HEAD  8u
#define RECORD_LIMIT (UINT32_MAX / 4)

static bool is_array(const struct interp_map *map)
{
	switch (map->type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
	case VIRTIO_GPGPU_MAP_PROG_ARRAY:
	case VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS:
	case VIRTIO_GPGPU_MAP_DEVMAP:
	case VIRTIO_GPGPU_MAP_CPUMAP:
		return true;
	default:
		return false;
	}
}

static bool is_percpu(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

static bool is_lru(const struct interp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_LRU_HASH || map->type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

static bool is_lpm(const struct interp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_LPM_TRIE || map->type == VIRTIO_GPGPU_MAP_FIB;
}

bool interp_map_is_records(const struct interp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_RINGBUF || map->type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY;
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
	map->copies = is_percpu(type) ? num_cpus : 1;
	map->rdonly = rdonly;
	map->values_size = (uint64_t)map->copies * max_entries * map->stride;
	if (type == VIRTIO_GPGPU_MAP_RINGBUF)
		map->values_size = max_entries;
	if (type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY)
		map->values_size = PERF_BYTES;
	map->keys = calloc(max_entries, key_size ? key_size : 1);
	map->used = calloc(max_entries, 1);
	map->stamps = calloc(max_entries, sizeof(*map->stamps));
	map->values = calloc(1, map->values_size + 1);
	if (!map->keys || !map->used || !map->values || !map->stamps)
		abort();
	return map;
}

void interp_map_free(struct interp_map *map)
{
	if (!map)
		return;
	free(map->keys);
	free(map->used);
	free(map->stamps);
	free(map->values);
	free(map->records);
	free(map->set);
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
	bool lpm = is_lpm(map);

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

static void touch(struct interp_map *map, uint32_t i)
{
	map->stamps[i] = ++map->now;
}

void *interp_map_lookup(struct interp_map *map, const void *key, uint32_t cpu)
{
	int64_t i;

	if (map->key_size == 0)
		return NULL;
	if (is_array(map)) {
		uint32_t index;

		memcpy(&index, key, 4);
		return index < map->max_entries ? value_at(map, index, cpu) : NULL;
	}
	i = is_lpm(map) ? find_longest(map, key) : find_exact(map, key);
	if (i < 0)
		return NULL;
	touch(map, (uint32_t)i);
	return value_at(map, (uint32_t)i, cpu);
}

/* A place for a new key; -1 if there is none. */
static int64_t room(struct interp_map *map)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < map->max_entries; i++) {
		if (!map->used[i])
			return i;
		if (map->stamps[i] < map->stamps[oldest])
			oldest = i;
	}
	if (!is_lru(map))
		return -1;
	map->evicted = true;
	return oldest;
}

static int keyed_update(struct interp_map *map, const void *key, const void *value, uint64_t flags,
			uint32_t cpu)
{
	bool lpm = is_lpm(map);
	int64_t i;

	if (lpm && prefix_of(key) > max_prefix(map))
		return -EINVAL;
	i = find_exact(map, key);
	if (i >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (i < 0 && flags == BPF_EXIST)
		return -ENOENT;
	if (i < 0) {
		i = room(map);
		if (i < 0)
			return lpm ? -ENOSPC : -E2BIG;
		memcpy(map->keys + (uint64_t)i * map->key_size, key, map->key_size);
		map->used[i] = 1;
		/* Other CPUs' copies of a new element are zeros. */
		for (uint32_t c = 0; c < map->copies; c++)
			memset(value_at(map, (uint32_t)i, c), 0, map->stride);
	}
	touch(map, (uint32_t)i);
	memcpy(value_at(map, (uint32_t)i, cpu), value, map->value_size);
	return 0;
}

int interp_map_update(struct interp_map *map, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (map->key_size == 0)
		return interp_map_push(map, value, flags);
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
	return keyed_update(map, key, value, flags, cpu);
}

int interp_map_delete(struct interp_map *map, const void *key)
{
	int64_t i;

	if (map->key_size == 0 || is_array(map))
		return -EINVAL;
	if (is_lpm(map) && prefix_of(key) > max_prefix(map))
		return -EINVAL;
	i = find_exact(map, key);
	if (i < 0)
		return -ENOENT;
	map->used[i] = 0;
	return 0;
}

/* ------------------------------------------------------------------ queue, stack, bloom filter */
static bool in_set(const struct interp_map *map, const void *value)
{
	for (uint32_t i = 0; i < map->set_size; i++)
		if (!memcmp(map->set + (uint64_t)i * map->value_size, value, map->value_size))
			return true;
	return false;
}

int interp_map_push(struct interp_map *map, const void *value, uint64_t flags)
{
	if (map->type == VIRTIO_GPGPU_MAP_BLOOM_FILTER) {
		if (flags != BPF_ANY)
			return -EINVAL;
		if (!in_set(map, value)) {
			map->set = realloc(map->set, (uint64_t)(map->set_size + 1) * map->value_size);
			memcpy(map->set + (uint64_t)map->set_size++ * map->value_size, value,
			       map->value_size);
		}
		return 0;
	}
	if (flags != BPF_ANY && flags != BPF_EXIST)
		return -EINVAL;
	if (map->count == map->max_entries) {
		if (flags != BPF_EXIST)
			return -E2BIG;
		/* The oldest makes room. */
		map->first = (map->first + 1) % map->max_entries;
		map->count--;
	}
	memcpy(value_at(map, (map->first + map->count++) % map->max_entries, 0), value, map->value_size);
	return 0;
}

static int take(struct interp_map *map, void *value, bool remove)
{
	bool stack = map->type == VIRTIO_GPGPU_MAP_STACK;

	if (map->count == 0) {
		memset(value, 0, map->value_size);
		return -ENOENT;
	}
	memcpy(value, value_at(map, (map->first + (stack ? map->count - 1 : 0)) % map->max_entries, 0),
	       map->value_size);
	if (remove) {
		map->count--;
		if (!stack)
			map->first = (map->first + 1) % map->max_entries;
	}
	return 0;
}

int interp_map_peek(struct interp_map *map, void *value)
{
	if (map->type == VIRTIO_GPGPU_MAP_BLOOM_FILTER)
		return in_set(map, value) ? 0 : -ENOENT;
	return take(map, value, false);
}

int interp_map_pop(struct interp_map *map, void *value)
{
	return take(map, value, true);
}

/* ------------------------------------------------------------------ records */
int64_t interp_map_reserve(struct interp_map *map, uint64_t size)
{
	uint64_t need = (size + RECORD_HEAD + 7) & ~7ull;
	struct interp_record *record;

	if (size > RECORD_LIMIT || need > map->values_size || map->records_end + need >= map->values_size) {
		map->lost++;
		return -1;
	}
	map->records = realloc(map->records, (map->num_records + 1) * sizeof(*record));
	if (!map->records)
		abort();
	record = &map->records[map->num_records++];
	*record = (struct interp_record){ .offset = map->records_end + RECORD_HEAD, .size = (uint32_t)size };
	memset(map->values + record->offset, 0, size);
	map->records_end += need;
	return (int64_t)record->offset;
}

bool interp_map_commit(struct interp_map *map, uint64_t offset, bool keep)
{
	for (uint32_t i = 0; i < map->num_records; i++) {
		struct interp_record *record = &map->records[i];

		if (record->offset != offset || record->state != INTERP_RECORD_OPEN)
			continue;
		record->state = keep ? INTERP_RECORD_KEPT : INTERP_RECORD_GONE;
		return true;
	}
	return false;
}

void interp_map_discard_open(struct interp_map *map)
{
	for (uint32_t i = 0; i < map->num_records; i++)
		if (map->records[i].state == INTERP_RECORD_OPEN)
			map->records[i].state = INTERP_RECORD_GONE;
}

uint32_t interp_map_num_records(const struct interp_map *map)
{
	return map->num_records;
}

const void *interp_map_record(const struct interp_map *map, uint32_t i, uint32_t *size)
{
	*size = map->records[i].size;
	return map->records[i].state == INTERP_RECORD_KEPT ? map->values + map->records[i].offset : NULL;
}

/* ------------------------------------------------------------------ walking */
uint32_t interp_map_count(const struct interp_map *map)
{
	uint32_t count = 0;

	if (map->key_size == 0)
		return map->count;
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
