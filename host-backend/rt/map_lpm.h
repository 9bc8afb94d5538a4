/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_lpm.h - look-ups in longest-prefix-match tries; map_lpm.c has the rest.
 *
 * How it works: the kernel's trie. A node stands for a prefix; its children are longer prefixes that begin
 * with it, told apart by the bit behind it. Nodes that only tell two children apart carry no value. Keys
 * are struct bpf_lpm_trie_key: a prefix length of the guest's endianness (little), then data whose first
 * bit is the top bit of the first byte.
 *
 * Nodes come from a pool of 2 * max_entries (a node without a value always has two children, so there
 * are fewer of them than values) and lie in `keys`; values come from a pool of their own, numbered in
 * `links` while they are free. Data is kept as words in which the first bit is the top one, so that
 * comparing prefixes is an exclusive or and a count of leading zeros.
 *
 * Writers take the map's one lock; readers take none unless they were disturbed GP_READ_TRIES times, and
 * notice what left the trie by the lock word's count, as in map_hash.h. A walk ends after as many nodes as a
 * key has bits, and one.
 *
 * state[0]: the lock word, low half; root node + 1, high half. The rest of state is map_lpm.c's.
 */
#ifndef GPGPU_RT_MAP_LPM_H
#define GPGPU_RT_MAP_LPM_H

#include "rt/abi.h"
#include "mem.h"

#define GP_LPM_MAX_DATA	 256
#define GP_LPM_MAX_WORDS (GP_LPM_MAX_DATA / 8)

struct gp_lpm_node {
	uint32_t child[2]; /* node + 1; child[0] also links free nodes */
	uint32_t prefix; /* bits */
	uint32_t value; /* value + 1, or 0 */
	uint64_t data[]; /* bit 0 of the prefix on top */
};

GP_ALWAYS struct gp_lpm_node *gp_lpm_node(const struct gp_map *map, uint32_t index, uint32_t words)
{
	uint64_t bytes = sizeof(struct gp_lpm_node) + words * 8;

	return (struct gp_lpm_node *)(void *)(map->keys + index * bytes);
}

GP_ALWAYS uint32_t *gp_lpm_lock(const struct gp_map *map)
{
	return (uint32_t *)(void *)map->state;
}

GP_ALWAYS uint32_t *gp_lpm_root(const struct gp_map *map)
{
	return (uint32_t *)(void *)map->state + 1;
}

/* gp_lpm_word() - word @i of a key's data, first bit on top. */
GP_ALWAYS uint64_t gp_lpm_word(const uint8_t *data, uint32_t size, uint32_t i)
{
	return __builtin_bswap64(gp_get_halves(data, size, i));
}

GP_ALWAYS uint32_t gp_lpm_bit(const uint64_t *data, uint32_t bit)
{
	return data[bit / 64] >> (63 - bit % 64) & 1;
}

/* gp_lpm_key_bit() - likewise, of a key of @words; up to an IPv6 address it is in registers, which have no index. */
GP_ALWAYS uint32_t gp_lpm_key_bit(const uint64_t *data, uint32_t words, uint32_t bit)
{
	uint64_t word;

	if (words > 2)
		return gp_lpm_bit(data, bit);
	word = words > 1 && bit >= 64 ? data[1] : data[0];
	return word >> (63 - bit % 64) & 1;
}

/* gp_lpm_match() - how many bits, up to @limit, two prefixes share. */
GP_ALWAYS uint32_t gp_lpm_match(const struct gp_lpm_node *node, const uint64_t *data, uint32_t limit,
				uint32_t words)
{
	uint32_t i, match;

	for (i = 0; i < words; i++) {
		uint64_t diff = gp_load64(&node->data[i]) ^ data[i];

		if (diff) {
			match = i * 64 + __builtin_clzll(diff);
			return match < limit ? match : limit;
		}
		if ((i + 1) * 64 >= limit)
			break;
	}
	return limit;
}

/* gp_lpm_walk() - Return: as gp_lpm_find(). @steps grows by the nodes that were looked at. */
GP_ALWAYS uint32_t gp_lpm_walk(const struct gp_map *map, const uint64_t *data, uint32_t prefix,
			       uint32_t data_size, uint32_t *steps)
{
	uint32_t at = gp_load32_acquire(gp_lpm_root(map)), found = 0, max = data_size * 8, n;

	for (n = 0; at && n <= max; n++) {
		const struct gp_lpm_node *node = gp_lpm_node(map, at - 1, gp_words(data_size));
		uint32_t own = gp_load32(&node->prefix), value;

		if (gp_lpm_match(node, data, own < prefix ? own : prefix, gp_words(data_size)) < own)
			break;
		value = gp_load32(&node->value);
		if (value)
			found = value;
		if (own >= max)
			break;
		at = gp_load32_acquire(&node->child[gp_lpm_key_bit(data, gp_words(data_size), own)]);
	}
	*steps += n;
	return found;
}

/*
 * gp_lpm_find() - find the longest prefix that matches. @data private to the caller.
 *
 * Return: its value + 1 in the low half, or 0; steps in the high half.
 */
GP_ALWAYS uint64_t gp_lpm_find(const struct gp_map *map, const uint64_t *data, uint32_t prefix,
			       uint32_t data_size)
{
	uint32_t tries, begin, found = 0, steps = 0;
	bool held;

	if (prefix > data_size * 8)
		return 0;
	for (tries = 0; tries < GP_READ_TRIES; tries++) {
		begin = gp_read_begin(gp_lpm_lock(map));
		found = gp_lpm_walk(map, data, prefix, data_size, &steps);
		if (gp_likely(gp_read_valid(gp_lpm_lock(map), begin)))
			return (uint64_t)steps << 32 | found;
	}
	found = 0;
	gp_with_lock(gp_lpm_lock(map), held) found = gp_lpm_walk(map, data, prefix, data_size, &steps);
	if (!held)
		steps = GP_STEPS_WITHOUT_LOCK;
	return (uint64_t)steps << 32 | found;
}

/* Not inlined: any key, IPv4 and IPv6 addresses. */
uint64_t gp_lpm_find_any(const struct gp_map *map, const uint8_t *key);
uint64_t gp_lpm_find_4(const struct gp_map *map, uint32_t prefix, uint64_t data);
uint64_t gp_lpm_find_16(const struct gp_map *map, uint32_t prefix, uint64_t data0, uint64_t data1);

/*
 * gp_lpm_update(), gp_lpm_delete() - as bpf_map_update_elem and bpf_map_delete_elem.
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOENT, -ENOSPC, -EBUSY. @steps grows by the nodes passed over.
 */
int64_t gp_lpm_update(struct gp_map *map, const uint8_t *key, const uint8_t *value, uint64_t flags,
		      uint32_t *steps);
int64_t gp_lpm_delete(struct gp_map *map, const uint8_t *key, uint32_t *steps);

/*
 * gp_lpm_copy() - the value of the longest prefix that matches, as a whole. Native only.
 *
 * Return: 0, -ENOENT, -EBUSY.
 */
int gp_lpm_copy(struct gp_map *map, const uint8_t *key, uint8_t *value);

/* gp_lpm_next() - the kernel's order: what is below a prefix comes before it. */
int gp_lpm_next(struct gp_map *map, const uint8_t *key, uint8_t *next);

#endif
