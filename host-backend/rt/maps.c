/* SPDX-License-Identifier: BSD-3-Clause */
/* maps.c - shapes and memory of maps, and the guest's operations on them; native only. See maps.h. */
#include <errno.h>
#include <string.h>
#include "virtio_gpgpu.h"
#include "map_array.h"
#include "map_hash.h"
#include "map_lpm.h"
#include "map_queue.h"
#include "maps.h"
#include "records.h"

#define GP_STATE_BYTES 128

enum {
	HASHED = 1, /* elements in chains */
	PERCPU = 2,
	HIDDEN = 4, /* values that no program may see */
	RDONLY = 8, /* may be read only for programs */
};

/* One row for each type: what its keys and values may be, how many elements it may have, how it is stored. */
static const struct gp_map_rule {
	uint32_t type, key_min, key_max, value_min, value_max, max_entries, how;
} gp_map_rules[] = {
	{ VIRTIO_GPGPU_MAP_HASH, 1, VIRTIO_GPGPU_MAX_KEY, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30,
	  HASHED | RDONLY },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 4, 1, VIRTIO_GPGPU_MAX_VALUE, UINT32_MAX, RDONLY },
	{ VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, 4, 4, 1u << 20, HIDDEN },
	{ VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY, 4, 4, 4, 4, UINT32_MAX, 0 },
	{ VIRTIO_GPGPU_MAP_PERCPU_HASH, 1, VIRTIO_GPGPU_MAX_KEY, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30,
	  HASHED | PERCPU | RDONLY },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 4, 1, VIRTIO_GPGPU_MAX_VALUE, UINT32_MAX, PERCPU | RDONLY },
	{ VIRTIO_GPGPU_MAP_LRU_HASH, 1, VIRTIO_GPGPU_MAX_KEY, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30,
	  HASHED | RDONLY },
	{ VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH, 1, VIRTIO_GPGPU_MAX_KEY, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30,
	  HASHED | PERCPU | RDONLY },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 4 + 1, 4 + GP_LPM_MAX_DATA, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30,
	  RDONLY },
	{ VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 4, 4, 1u << 20, HIDDEN },
	{ VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 1, VIRTIO_GPGPU_MAX_KEY, 4, 4, 1u << 20, HASHED | HIDDEN },
	{ VIRTIO_GPGPU_MAP_DEVMAP, 4, 4, 4, 8, 1u << 20, 0 },
	{ VIRTIO_GPGPU_MAP_CPUMAP, 4, 4, 4, 8, 1u << 16, HIDDEN },
	{ VIRTIO_GPGPU_MAP_QUEUE, 0, 0, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30, HIDDEN },
	{ VIRTIO_GPGPU_MAP_STACK, 0, 0, 1, VIRTIO_GPGPU_MAX_VALUE, 1u << 30, HIDDEN },
	{ VIRTIO_GPGPU_MAP_DEVMAP_HASH, 4, 4, 4, 8, 1u << 20, HASHED },
	{ VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 0, 0, 1u << 30, 0 },
	{ VIRTIO_GPGPU_MAP_BLOOM_FILTER, 0, 0, 1, GP_BLOOM_MAX_VALUE, 1u << 30, 0 },
	{ VIRTIO_GPGPU_MAP_FIB, sizeof(struct virtio_gpgpu_fib_key), sizeof(struct virtio_gpgpu_fib_key),
	  sizeof(struct virtio_gpgpu_fib_entry), sizeof(struct virtio_gpgpu_fib_entry), 1u << 20, HIDDEN },
};

/* An array of one element is how a program's global data travels, and may be large. */
#define GP_MAX_GLOBALS (16u << 20)

static const struct gp_map_rule *gp_map_rule(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(gp_map_rules) / sizeof(*gp_map_rules); i++)
		if (gp_map_rules[i].type == type)
			return &gp_map_rules[i];
	return NULL;
}

static bool gp_map_is(uint32_t type, uint32_t how)
{
	const struct gp_map_rule *rule = gp_map_rule(type);

	return rule && (rule->how & how);
}

static bool gp_map_is_outer(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS || type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS;
}

static bool gp_map_is_trie(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_LPM_TRIE || type == VIRTIO_GPGPU_MAP_FIB;
}

static bool gp_map_is_queue(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_QUEUE || type == VIRTIO_GPGPU_MAP_STACK;
}

static uint32_t gp_round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

/* What a single type asks for beside its row. Return: VIRTIO_GPGPU_R_NONE or why not. */
static uint32_t gp_map_check_type(const struct gp_map_desc *desc)
{
	switch (desc->type) {
	case VIRTIO_GPGPU_MAP_DEVMAP:
	case VIRTIO_GPGPU_MAP_DEVMAP_HASH:
	case VIRTIO_GPGPU_MAP_CPUMAP:
		return desc->value_size % 4 ? VIRTIO_GPGPU_R_SIZE : VIRTIO_GPGPU_R_NONE;
	case VIRTIO_GPGPU_MAP_RINGBUF:
		if (desc->max_entries % 4096 || (desc->max_entries & (desc->max_entries - 1)))
			return VIRTIO_GPGPU_R_COUNT;
		return VIRTIO_GPGPU_R_NONE;
	default:
		return VIRTIO_GPGPU_R_NONE;
	}
}

/* Bytes of the region with the values, HIDDEN or not. At most 2^32 * 2^16 * 2^10. */
static uint64_t gp_map_store_bytes(const struct gp_map_desc *desc)
{
	if (gp_map_is(desc->type, PERCPU))
		return gp_array_copy_bytes(desc->value_size, desc->max_entries) * desc->num_cpus;
	switch (desc->type) {
	case VIRTIO_GPGPU_MAP_RINGBUF:
		return GP_RECORDS_REGION(desc->max_entries);
	case VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY:
		return GP_RECORDS_REGION(GP_PERF_BYTES);
	case VIRTIO_GPGPU_MAP_BLOOM_FILTER:
		return 0;
	default:
		return (uint64_t)desc->max_entries * desc->stride;
	}
}

uint32_t gp_map_check(struct gp_map_desc *desc, uint32_t num_cpus)
{
	const struct gp_map_rule *rule = gp_map_rule(desc->type);
	uint32_t max_value, reason;
	uint64_t bytes;

	if (!rule)
		return VIRTIO_GPGPU_R_KIND;
	if (desc->flags & ~(rule->how & RDONLY ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0))
		return VIRTIO_GPGPU_R_FLAGS;
	if (!desc->max_entries || desc->max_entries > rule->max_entries)
		return VIRTIO_GPGPU_R_COUNT;
	max_value = rule->value_max;
	if (desc->type == VIRTIO_GPGPU_MAP_ARRAY && desc->max_entries == 1)
		max_value = GP_MAX_GLOBALS;
	if (desc->key_size < rule->key_min || desc->key_size > rule->key_max ||
	    desc->value_size < rule->value_min || desc->value_size > max_value)
		return VIRTIO_GPGPU_R_SIZE;
	if (!num_cpus || num_cpus > GP_MAP_MAX_CPUS)
		return VIRTIO_GPGPU_R_COUNT;
	reason = gp_map_check_type(desc);
	if (reason)
		return reason;

	desc->stride = gp_stride(desc->value_size);
	desc->num_cpus = rule->how & PERCPU ? num_cpus : 1;
	desc->num_buckets = rule->how & HASHED ? gp_round_up_pow2(desc->max_entries) : 0;
	if (desc->type == VIRTIO_GPGPU_MAP_BLOOM_FILTER)
		desc->num_buckets = gp_bloom_words(desc->max_entries);
	bytes = gp_map_store_bytes(desc);
	desc->values_size = rule->how & HIDDEN ? 0 : bytes;
	/* An offset has 48 bits in a handle. */
	return bytes < GP_OFFSET_MASK / 2 ? VIRTIO_GPGPU_R_NONE : VIRTIO_GPGPU_R_COUNT;
}

static uint64_t gp_round_up_64(uint64_t bytes)
{
	return (bytes + 63) & ~63ull;
}

static uint64_t gp_map_key_bytes(const struct gp_map_desc *desc)
{
	uint64_t n = desc->max_entries, bytes = 0;

	if (gp_map_is(desc->type, HASHED))
		bytes = n * gp_hash_elem_bytes(desc->key_size);
	else if (gp_map_is_trie(desc->type))
		bytes = 2 * n * (sizeof(struct gp_lpm_node) + gp_words(desc->key_size - 4) * 8);
	else if (desc->type == VIRTIO_GPGPU_MAP_RINGBUF)
		bytes = n;
	else if (desc->type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY)
		bytes = GP_PERF_BYTES;
	return gp_round_up_64(bytes);
}

static uint64_t gp_map_link_bytes(const struct gp_map_desc *desc)
{
	return gp_map_is_trie(desc->type) ? gp_round_up_64(desc->max_entries * 4ull) : 0;
}

static uint64_t gp_map_hidden_bytes(const struct gp_map_desc *desc)
{
	return gp_map_is(desc->type, HIDDEN) ? gp_round_up_64(gp_map_store_bytes(desc)) : 0;
}

static uint64_t gp_map_member_bytes(const struct gp_map_desc *desc)
{
	return gp_map_is_outer(desc->type) ? GP_MAX_INNER / 8 : 0;
}

uint64_t gp_map_index_bytes(const struct gp_map_desc *desc)
{
	return GP_STATE_BYTES + gp_map_key_bytes(desc) + gp_map_link_bytes(desc) + gp_map_hidden_bytes(desc) +
	       gp_map_member_bytes(desc) + desc->num_buckets * 8ull;
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
		/* Programs read the ports of a device map, and only read them. */
		.frozen = gp_map_frozen(desc),
		.seed = seed,
		.values = values,
		.values_size = desc->values_size,
		.num_buckets = desc->num_buckets,
		.store = values,
	};
	if (gp_map_is(desc->type, PERCPU))
		map->copy_bytes = gp_array_copy_bytes(desc->value_size, desc->max_entries);
	map->state = (uint64_t *)(void *)at;
	at += GP_STATE_BYTES;
	map->keys = at;
	at += gp_map_key_bytes(desc);
	map->links = (uint32_t *)(void *)at;
	at += gp_map_link_bytes(desc);
	if (gp_map_hidden_bytes(desc))
		map->store = at;
	at += gp_map_hidden_bytes(desc);
	if (gp_map_member_bytes(desc))
		map->members = (uint64_t *)(void *)at;
	at += gp_map_member_bytes(desc);
	map->buckets = (uint32_t *)(void *)at;
}

uint32_t gp_map_value_bytes(const struct gp_map *map)
{
	return gp_map_is(map->type, PERCPU) ? map->num_cpus * map->stride : map->value_size;
}

static uint32_t gp_map_word(const void *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static uint32_t *gp_map_slot(const struct gp_map *map, uint32_t index)
{
	return (uint32_t *)(void *)(map->store + (uint64_t)index * map->stride);
}

/* --------------------------------------------------------------------- arrays */

static int gp_array_lookup(const struct gp_map *map, const void *key, uint8_t *value)
{
	uint32_t index = gp_map_word(key), cpu;
	const uint8_t *from;

	if (index >= map->max_entries)
		return -ENOENT;
	from = map->store + (uint64_t)index * map->stride;
	if (!gp_map_is(map->type, PERCPU)) {
		gp_copy_out(value, from, map->value_size);
		return 0;
	}
	for (cpu = 0; cpu < map->num_cpus; cpu++)
		gp_copy_out(value + (size_t)cpu * map->stride, from + cpu * map->copy_bytes, map->stride);
	return 0;
}

static int gp_array_update(struct gp_map *map, const void *key, const uint8_t *value, uint64_t flags)
{
	uint32_t index = gp_map_word(key), cpu;
	int err = (int)gp_array_may_update(index, flags, map->max_entries);

	for (cpu = 0; !err && cpu < map->num_cpus; cpu++)
		gp_copy_in(map->store + (uint64_t)index * map->stride + cpu * map->copy_bytes,
			   value + (size_t)cpu * map->stride, map->value_size);
	return err;
}

/*
 * An array whose elements may be absent, which is where their first word is 0: PROG_ARRAY, ARRAY_OF_MAPS, DEVMAP,
 * CPUMAP. The rules are the kernel's, each type's own.
 */
static bool gp_map_is_sparse(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PROG_ARRAY || type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS ||
	       type == VIRTIO_GPGPU_MAP_DEVMAP || type == VIRTIO_GPGPU_MAP_CPUMAP;
}

static int gp_sparse_lookup(const struct gp_map *map, const void *key, uint8_t *value)
{
	uint32_t index = gp_map_word(key);

	if (index >= map->max_entries || !gp_load32(gp_map_slot(map, index)))
		return -ENOENT;
	gp_copy_out(value, (uint8_t *)gp_map_slot(map, index), map->value_size);
	return gp_map_word(value) ? 0 : -ENOENT;
}

static int gp_sparse_delete(struct gp_map *map, const void *key)
{
	bool port = map->type == VIRTIO_GPGPU_MAP_DEVMAP || map->type == VIRTIO_GPGPU_MAP_CPUMAP;
	uint32_t index = gp_map_word(key), old;

	if (index >= map->max_entries)
		return port ? -EINVAL : -E2BIG;
	old = __atomic_exchange_n(gp_map_slot(map, index), 0, __ATOMIC_RELAXED);
	return old || port ? 0 : -ENOENT;
}

static int gp_sparse_update(struct gp_map *map, const void *key, const uint8_t *value, uint64_t flags)
{
	uint32_t index = gp_map_word(key);

	if (map->type == VIRTIO_GPGPU_MAP_PROG_ARRAY || map->type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS) {
		if (flags != BPF_ANY)
			return -EINVAL;
		if (index >= map->max_entries)
			return -E2BIG;
	} else {
		int err = (int)gp_array_may_update(index, flags, map->max_entries);

		if (err)
			return err;
	}
	gp_copy_in((uint8_t *)gp_map_slot(map, index), value, map->value_size);
	return 0;
}

/* ---------------------------------------------------------- ports, CPUs, maps of maps */

#define GP_CPUMAP_MAX_QUEUE 16384 /* as in the kernel */

/* The value that is stored for what the guest gave, for types where that is not the same. Return: 0 or an errno. */
static int gp_map_judge(const struct gp_map *map, const uint8_t *value, uint64_t *flags)
{
	uint32_t word;

	switch (map->type) {
	case VIRTIO_GPGPU_MAP_DEVMAP_HASH:
		if (*flags > BPF_EXIST || !gp_map_word(value))
			return -EINVAL;
		*flags &= BPF_NOEXIST; /* the kernel looks at no other */
		/* fallthrough */
	case VIRTIO_GPGPU_MAP_DEVMAP:
	case VIRTIO_GPGPU_MAP_CPUMAP:
		word = map->value_size == 8 ? gp_map_word(value + 4) : 0;
		if ((int32_t)word > 0) /* a program of the entry's own */
			return -EINVAL;
		if (map->type == VIRTIO_GPGPU_MAP_CPUMAP && gp_map_word(value) > GP_CPUMAP_MAX_QUEUE)
			return -EOVERFLOW;
		return 0;
	case VIRTIO_GPGPU_MAP_PROG_ARRAY:
		return gp_map_word(value) == 1 ? 0 : -EINVAL;
	case VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS:
	case VIRTIO_GPGPU_MAP_HASH_OF_MAPS:
		word = gp_map_word(value);
		return word && word <= GP_MAX_INNER ? 0 : -EINVAL;
	default:
		return 0;
	}
}

bool gp_map_may_be_inner(uint32_t type)
{
	return gp_map_rule(type) && !gp_map_is_outer(type) && type != VIRTIO_GPGPU_MAP_PROG_ARRAY &&
	       type != VIRTIO_GPGPU_MAP_FIB;
}

bool gp_map_inner_fits(const struct gp_map_desc *outer, const struct gp_map_desc *desc)
{
	const struct gp_map_shape *want = &outer->inner;

	/* The kernel inlines look-ups in arrays, so there the number of elements counts as well. */
	return gp_map_may_be_inner(desc->type) && want->type == desc->type &&
	       want->key_size == desc->key_size && want->value_size == desc->value_size &&
	       want->flags == desc->flags &&
	       (desc->type != VIRTIO_GPGPU_MAP_ARRAY || want->max_entries == desc->max_entries);
}

/* Programs get access to slot @n. Return: whether they had it. */
static bool gp_map_admit(struct gp_map *map, uint32_t n)
{
	uint64_t bit = 1ull << n % 64;

	return __atomic_fetch_or(&map->members[n / 64], bit, __ATOMIC_RELEASE) & bit;
}

void gp_map_forget_inner(struct gp_map *map, uint32_t slot)
{
	if (map->members && slot < GP_MAX_INNER)
		__atomic_fetch_and(&map->members[slot / 64], ~(1ull << slot % 64), __ATOMIC_RELAXED);
}

/* --------------------------------------------------------------- the guest's operations */

int gp_map_lookup(struct gp_map *map, const void *key, void *value)
{
	if (gp_map_is(map->type, HASHED))
		return gp_hash_copy(map, key, value);
	if (gp_map_is_trie(map->type))
		return gp_lpm_copy(map, key, value);
	if (gp_map_is_sparse(map->type))
		return gp_sparse_lookup(map, key, value);
	switch (map->type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		return gp_array_lookup(map, key, value);
	case VIRTIO_GPGPU_MAP_QUEUE:
	case VIRTIO_GPGPU_MAP_STACK:
		return (int)gp_queue_pop(map, value, false);
	case VIRTIO_GPGPU_MAP_BLOOM_FILTER:
		return (int)gp_bloom_peek(map, key);
	default:
		return -EINVAL;
	}
}

static int gp_map_store(struct gp_map *map, const void *key, const uint8_t *value, uint64_t flags)
{
	uint32_t steps = 0;

	if (gp_map_is(map->type, HASHED))
		return (int)gp_hash_update(map, key, value, flags, GP_EVERY_CPU, &steps);
	if (gp_map_is_trie(map->type))
		return (int)gp_lpm_update(map, key, value, flags, &steps);
	if (gp_map_is_sparse(map->type))
		return gp_sparse_update(map, key, value, flags);
	switch (map->type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		return gp_array_update(map, key, value, flags);
	case VIRTIO_GPGPU_MAP_QUEUE:
	case VIRTIO_GPGPU_MAP_STACK:
		return (int)gp_queue_push(map, value, flags);
	case VIRTIO_GPGPU_MAP_BLOOM_FILTER:
		return (int)gp_bloom_push(map, value, flags);
	default:
		return -EINVAL;
	}
}

int gp_map_update(struct gp_map *map, const void *key, const void *value, uint64_t flags)
{
	int err = gp_map_judge(map, value, &flags);
	uint32_t slot;
	bool had;

	if (err)
		return err;
	/* Before a program can find it. */
	slot = map->members ? gp_map_word(value) - 1 : 0;
	had = map->members && gp_map_admit(map, slot);
	err = gp_map_store(map, key, value, flags);
	if (err && map->members && !had)
		gp_map_forget_inner(map, slot);
	return err;
}

int gp_map_delete(struct gp_map *map, const void *key)
{
	uint32_t steps = 0;

	if (gp_map_is(map->type, HASHED))
		return (int)gp_hash_delete(map, key, NULL, &steps);
	if (gp_map_is_trie(map->type))
		return (int)gp_lpm_delete(map, key, &steps);
	if (gp_map_is_sparse(map->type))
		return gp_sparse_delete(map, key);
	return -EINVAL;
}

int gp_map_pop(struct gp_map *map, const void *key, void *value)
{
	uint32_t steps = 0;

	if (gp_map_is_queue(map->type))
		return (int)gp_queue_pop(map, value, true);
	/* What the values of others stand for is for look-ups to say. */
	if (gp_map_is(map->type, HASHED) && !gp_map_is(map->type, HIDDEN))
		return (int)gp_hash_delete(map, key, value, &steps);
	return -EINVAL;
}

static int gp_map_next_index(const struct gp_map *map, const void *key, void *next)
{
	uint32_t index = key ? gp_map_word(key) : UINT32_MAX;

	if (index == map->max_entries - 1)
		return -ENOENT;
	index = index < map->max_entries ? index + 1 : 0;
	memcpy(next, &index, sizeof(index));
	return 0;
}

int gp_map_next_key(struct gp_map *map, const void *key, void *next)
{
	if (gp_map_is(map->type, HASHED))
		return gp_hash_next(map, key, next);
	if (gp_map_is_trie(map->type))
		return gp_lpm_next(map, key, next);
	if (gp_map_is_sparse(map->type) || map->type == VIRTIO_GPGPU_MAP_ARRAY ||
	    map->type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY)
		return gp_map_next_index(map, key, next);
	return -EINVAL;
}
