/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_lpm.c - what changes longest-prefix-match tries. map_lpm.h says how they work.
 *
 * Everything here runs under the map's lock. A node is finished before the one store that links it; what
 * is unlinked is announced (gp_lock_bump()) before it can be used again, which is under the lock too.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "map_lpm.h"

/* Words of state beside the lock and the root, by 32 bits. */
enum {
	LPM_ENTRIES = 16, /* values in use */
	LPM_NODE_FREE,  /* + 1 */
	LPM_NODE_USED,  /* nodes that were handed out, ever */
	LPM_VALUE_FREE,
	LPM_VALUE_USED,
};

struct gp_lpm_key {
	uint32_t prefix;
	uint64_t data[GP_LPM_MAX_WORDS];
};

static uint32_t *gp_lpm_state(struct gp_map *map, uint32_t n)
{
	return (uint32_t *)(void *)map->state + n;
}

static uint32_t gp_lpm_words(const struct gp_map *map)
{
	return gp_words(map->key_size - 4);
}

static struct gp_lpm_node *gp_lpm_at(const struct gp_map *map, uint32_t at)
{
	return gp_lpm_node(map, at - 1, gp_lpm_words(map));
}

static bool gp_lpm_get_key(const struct gp_map *map, const uint8_t *key, struct gp_lpm_key *k)
{
	uint32_t i, size = map->key_size - 4;

	k->prefix = (uint32_t)gp_get_word(key, 4, 0);
	for (i = 0; i < gp_words(size); i++)
		k->data[i] = gp_lpm_word(key + 4, size, i);
	return k->prefix <= size * 8;
}

uint64_t gp_lpm_find_any(const struct gp_map *map, const uint8_t *key)
{
	struct gp_lpm_key k;

	if (!gp_lpm_get_key(map, key, &k))
		return 0;
	return gp_lpm_find(map, k.data, k.prefix, map->key_size - 4);
}

uint64_t gp_lpm_find_4(const struct gp_map *map, uint32_t prefix, uint64_t data)
{
	return gp_lpm_find(map, &data, prefix, 4);
}

uint64_t gp_lpm_find_16(const struct gp_map *map, uint32_t prefix, uint64_t data0, uint64_t data1)
{
	uint64_t data[2] = { data0, data1 };

	return gp_lpm_find(map, data, prefix, 16);
}

static uint32_t gp_lpm_new_node(struct gp_map *map, uint32_t prefix, uint32_t value, const uint64_t *data)
{
	uint32_t *list = gp_lpm_state(map, LPM_NODE_FREE), *used = gp_lpm_state(map, LPM_NODE_USED);
	uint32_t at = gp_load32(list), i;
	struct gp_lpm_node *node;

	if (at) {
		gp_store32(list, gp_load32(&gp_lpm_at(map, at)->child[0]));
	} else {
		if (gp_load32(used) >= 2 * map->max_entries)
			return 0;
		at = gp_load32(used) + 1;
		gp_store32(used, at);
	}
	node = gp_lpm_at(map, at);
	gp_store32(&node->child[0], 0);
	gp_store32(&node->child[1], 0);
	gp_store32(&node->prefix, prefix);
	gp_store32(&node->value, value);
	for (i = 0; i < gp_lpm_words(map); i++)
		gp_store64(&node->data[i], data[i]);
	return at;
}

static void gp_lpm_free_node(struct gp_map *map, uint32_t at)
{
	uint32_t *list = gp_lpm_state(map, LPM_NODE_FREE);

	gp_store32(&gp_lpm_at(map, at)->child[0], gp_load32(list));
	gp_store32(list, at);
}

/* A new value, filled; 0 when the map is full, which the caller has ruled out. */
static uint32_t gp_lpm_new_value(struct gp_map *map, const uint8_t *value)
{
	uint32_t *list = gp_lpm_state(map, LPM_VALUE_FREE), *used = gp_lpm_state(map, LPM_VALUE_USED);
	uint32_t *entries = gp_lpm_state(map, LPM_ENTRIES), at = gp_load32(list);

	if (at) {
		gp_store32(list, gp_load32(&map->links[at - 1]));
	} else {
		if (gp_load32(used) >= map->max_entries)
			return 0;
		at = gp_load32(used) + 1;
		gp_store32(used, at);
	}
	gp_copy_in(map->store + (uint64_t)(at - 1) * map->stride, value, map->value_size);
	gp_store32(entries, gp_load32(entries) + 1);
	return at;
}

static void gp_lpm_free_value(struct gp_map *map, uint32_t at)
{
	uint32_t *list = gp_lpm_state(map, LPM_VALUE_FREE), *entries = gp_lpm_state(map, LPM_ENTRIES);

	gp_store32(&map->links[at - 1], gp_load32(list));
	gp_store32(list, at);
	gp_store32(entries, gp_load32(entries) - 1);
}

/*
 * gp_lpm_descend() - find where a prefix is or belongs.
 * @match: out: bits that it shares with the node there.
 * @parent: out: where the link to the node above is, and that node; NULL and 0 at the root.
 * @steps: grows by the nodes passed over.
 *
 * Return: the link whose node is the prefix, or differs from it, or which is 0.
 */
static uint32_t *gp_lpm_descend(struct gp_map *map, const struct gp_lpm_key *k, uint32_t *match,
				uint32_t **parent_link, uint32_t *parent, uint32_t *steps)
{
	uint32_t *link = gp_lpm_root(map), at;

	*match = 0;
	*parent_link = NULL;
	*parent = 0;
	while ((at = gp_load32(link))) {
		struct gp_lpm_node *node = gp_lpm_at(map, at);
		uint32_t own = gp_load32(&node->prefix);

		*match = gp_lpm_match(node, k->data, own < k->prefix ? own : k->prefix, gp_lpm_words(map));
		if (*match != own || own == k->prefix)
			break;
		*parent_link = link;
		*parent = at;
		(*steps)++;
		link = &node->child[gp_lpm_bit(k->data, own)];
	}
	return link;
}

/* The prefix is at @node already: give it the value. */
static int64_t gp_lpm_set(struct gp_map *map, struct gp_lpm_node *node, const struct gp_lpm_key *k,
			  const uint8_t *value, uint64_t flags)
{
	uint32_t at = gp_load32(&node->value), i;

	if (at) {
		if (flags == BPF_NOEXIST)
			return -EEXIST;
		gp_copy_in(map->store + (uint64_t)(at - 1) * map->stride, value, map->value_size);
	} else {
		if (flags == BPF_EXIST)
			return -ENOENT;
		at = gp_lpm_new_value(map, value);
		if (!at)
			return -ENOSPC;
		__atomic_store_n(&node->value, at, __ATOMIC_RELEASE);
	}
	/* The bits behind the prefix are the last writer's, as in the kernel; no look-up sees them. */
	for (i = 0; i < gp_lpm_words(map); i++)
		gp_store64(&node->data[i], k->data[i]);
	return 0;
}

static int64_t gp_lpm_insert(struct gp_map *map, uint32_t *link, uint32_t match, const struct gp_lpm_key *k,
			     const uint8_t *value)
{
	uint32_t below = gp_load32(link), at, fork, v;
	struct gp_lpm_node *node;
	uint32_t bit;

	if (gp_load32(gp_lpm_state(map, LPM_ENTRIES)) >= map->max_entries)
		return -ENOSPC;
	v = gp_lpm_new_value(map, value);
	if (!v)
		return -ENOSPC;
	at = gp_lpm_new_node(map, k->prefix, v, k->data);
	if (!at)
		goto no_node;
	if (!below) {
		gp_store32_release(link, at);
		return 0;
	}
	node = gp_lpm_at(map, below);
	if (match == k->prefix) {
		/* Between the node and what links to it. */
		gp_store32(&gp_lpm_at(map, at)->child[gp_lpm_bit(node->data, match)], below);
		gp_store32_release(link, at);
		return 0;
	}
	fork = gp_lpm_new_node(map, match, 0, node->data);
	if (!fork) {
		gp_lpm_free_node(map, at);
		goto no_node;
	}
	bit = gp_lpm_bit(k->data, match);
	gp_store32(&gp_lpm_at(map, fork)->child[bit], at);
	gp_store32(&gp_lpm_at(map, fork)->child[!bit], below);
	gp_store32_release(link, fork);
	return 0;

no_node:
	gp_lpm_free_value(map, v);
	return -ENOSPC;
}

static int64_t gp_lpm_store(struct gp_map *map, const struct gp_lpm_key *k, const uint8_t *value,
			    uint64_t flags, uint32_t *steps)
{
	uint32_t *link, *parent_link, parent, match, at;

	link = gp_lpm_descend(map, k, &match, &parent_link, &parent, steps);
	at = gp_load32(link);
	if (at && gp_load32(&gp_lpm_at(map, at)->prefix) == match && match == k->prefix)
		return gp_lpm_set(map, gp_lpm_at(map, at), k, value, flags);
	if (flags == BPF_EXIST)
		return -ENOENT;
	return gp_lpm_insert(map, link, match, k, value);
}

int64_t gp_lpm_update(struct gp_map *map, const uint8_t *key, const uint8_t *value, uint64_t flags,
		      uint32_t *steps)
{
	struct gp_lpm_key k;
	int64_t err = -EBUSY;
	bool held;

	if (flags > BPF_EXIST || !gp_lpm_get_key(map, key, &k))
		return -EINVAL;
	gp_with_lock(gp_lpm_lock(map), held) err = gp_lpm_store(map, &k, value, flags, steps);
	return err;
}

/* Takes the value off a node, and the node out of the trie where nothing needs it. */
static void gp_lpm_remove(struct gp_map *map, uint32_t *link, uint32_t *parent_link, uint32_t parent)
{
	uint32_t at = gp_load32(link), value, child[2], other;
	struct gp_lpm_node *node = gp_lpm_at(map, at), *above = parent ? gp_lpm_at(map, parent) : NULL;

	value = gp_load32(&node->value);
	child[0] = gp_load32(&node->child[0]);
	child[1] = gp_load32(&node->child[1]);
	if (child[0] && child[1]) {
		gp_store32(&node->value, 0);
		gp_lock_bump(gp_lpm_lock(map));
		gp_lpm_free_value(map, value);
		return;
	}
	if (above && !gp_load32(&above->value) && !child[0] && !child[1]) {
		/* The node above only told this one from its sibling. */
		other = gp_load32(&above->child[link == &above->child[0]]);
		gp_store32_release(parent_link, other);
	} else {
		parent = 0;
		gp_store32_release(link, child[0] ? child[0] : child[1]);
	}
	gp_lock_bump(gp_lpm_lock(map));
	gp_lpm_free_value(map, value);
	gp_lpm_free_node(map, at);
	if (parent)
		gp_lpm_free_node(map, parent);
}

static int64_t gp_lpm_unlink(struct gp_map *map, const struct gp_lpm_key *k, uint32_t *steps)
{
	uint32_t *link, *parent_link, parent, match, at;
	struct gp_lpm_node *node;

	link = gp_lpm_descend(map, k, &match, &parent_link, &parent, steps);
	at = gp_load32(link);
	node = at ? gp_lpm_at(map, at) : NULL;
	if (!node || gp_load32(&node->prefix) != match || match != k->prefix || !gp_load32(&node->value))
		return -ENOENT;
	gp_lpm_remove(map, link, parent_link, parent);
	return 0;
}

int64_t gp_lpm_delete(struct gp_map *map, const uint8_t *key, uint32_t *steps)
{
	struct gp_lpm_key k;
	int64_t err = -EBUSY;
	bool held;

	if (!gp_lpm_get_key(map, key, &k))
		return -EINVAL;
	gp_with_lock(gp_lpm_lock(map), held) err = gp_lpm_unlink(map, &k, steps);
	return err;
}

#ifdef GP_RT_MAP_OPS
int gp_lpm_copy(struct gp_map *map, const uint8_t *key, uint8_t *value)
{
	struct gp_lpm_key k;
	uint32_t at = 0, steps = 0;
	bool held;

	if (!gp_lpm_get_key(map, key, &k))
		return -ENOENT;
	gp_with_lock(gp_lpm_lock(map), held)
	{
		at = gp_lpm_walk(map, k.data, k.prefix, map->key_size - 4, &steps);
		if (at)
			gp_copy_out(value, map->store + (uint64_t)(at - 1) * map->stride, map->value_size);
	}
	if (!held)
		return -EBUSY;
	return at ? 0 : -ENOENT;
}

static void gp_lpm_put_key(const struct gp_map *map, uint32_t at, uint8_t *key)
{
	const struct gp_lpm_node *node = gp_lpm_at(map, at);
	uint32_t i, size = map->key_size - 4, prefix = gp_load32(&node->prefix);

	memcpy(key, &prefix, 4);
	for (i = 0; i < gp_words(size); i++) {
		uint64_t v = __builtin_bswap64(gp_load64(&node->data[i]));
		uint32_t left = size - i * 8;

		memcpy(key + 4 + i * 8, &v, left < 8 ? left : 8);
	}
}

/* The first node in order of the subtree at @at: as deep and as far to the left as values go. */
static uint32_t gp_lpm_leftmost(const struct gp_map *map, uint32_t at)
{
	uint32_t found = 0;

	while (at) {
		const struct gp_lpm_node *node = gp_lpm_at(map, at);
		uint32_t left = gp_load32(&node->child[0]);

		if (gp_load32(&node->value))
			found = at;
		at = left ? left : gp_load32(&node->child[1]);
	}
	return found;
}

/* The node that follows the prefix @k, which is there; 0 when it is the last. Sets *@found. */
static uint32_t gp_lpm_after(const struct gp_map *map, const struct gp_lpm_key *k, bool *found)
{
	uint32_t path[GP_LPM_MAX_DATA * 8 + 2], depth = 0, at = gp_load32(gp_lpm_root(map)), child;

	*found = false;
	while (at) {
		const struct gp_lpm_node *node = gp_lpm_at(map, at);
		uint32_t own = gp_load32(&node->prefix);

		if (gp_lpm_match(node, k->data, own < k->prefix ? own : k->prefix, gp_lpm_words(map)) != own)
			return 0;
		path[depth++] = at;
		if (own == k->prefix) {
			*found = gp_load32(&node->value) != 0;
			break;
		}
		at = gp_load32(&node->child[gp_lpm_bit(k->data, own)]);
	}
	if (!*found)
		return 0;
	for (child = path[--depth]; depth > 0; child = path[depth]) {
		const struct gp_lpm_node *above = gp_lpm_at(map, path[--depth]);
		uint32_t right = gp_load32(&above->child[1]);

		if (gp_load32(&above->child[0]) == child && right)
			return gp_lpm_leftmost(map, right);
		if (gp_load32(&above->value))
			return path[depth];
	}
	return 0;
}

int gp_lpm_next(struct gp_map *map, const uint8_t *key, uint8_t *next)
{
	struct gp_lpm_key k;
	bool found = false, held;
	uint32_t at = 0;

	gp_with_lock(gp_lpm_lock(map), held)
	{
		if (key && gp_lpm_get_key(map, key, &k))
			at = gp_lpm_after(map, &k, &found);
		if (!found)
			at = gp_lpm_leftmost(map, gp_load32(gp_lpm_root(map)));
		if (at)
			gp_lpm_put_key(map, at, next);
	}
	if (!held)
		return -EBUSY;
	return at ? 0 : -ENOENT;
}
#endif
