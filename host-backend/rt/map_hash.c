/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_hash.c - what changes hash maps. map_hash.h says how they work.
 *
 * Writers take the lock of one bucket; all that happens under it is a walk of that chain and the copy of one
 * value. Elements that were never used are handed out in order (so that a fresh map's memory stays
 * untouched), freed ones from a lock-free stack whose head carries a tag against reuse.
 *
 * state[0]: tag << 32 | first free element + 1. state[8]: elements handed out that were never used before.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "map_hash.h"

enum { HASH_FREE = 0, HASH_USED = 8 };

static uint32_t gp_hash_alloc(struct gp_map *map)
{
	uint64_t old = __atomic_load_n(&map->state[HASH_FREE], __ATOMIC_ACQUIRE), used, head;

	while ((uint32_t)old) {
		head = gp_load32(&gp_hash_elem(map, (uint32_t)old - 1, map->key_size)->next);
		head |= ((old >> 32) + 1) << 32;
		if (__atomic_compare_exchange_n(&map->state[HASH_FREE], &old, head, true, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE))
			return (uint32_t)old;
	}
	if (gp_load64(&map->state[HASH_USED]) >= map->max_entries)
		return 0;
	used = __atomic_fetch_add(&map->state[HASH_USED], 1, __ATOMIC_RELAXED);
	return used < map->max_entries ? (uint32_t)used + 1 : 0;
}

static void gp_hash_free(struct gp_map *map, uint32_t at)
{
	struct gp_hash_elem *e = gp_hash_elem(map, at - 1, map->key_size);
	uint64_t old = gp_load64(&map->state[HASH_FREE]), head;

	do {
		gp_store32(&e->next, (uint32_t)old);
		head = ((old >> 32) + 1) << 32 | at;
	} while (!__atomic_compare_exchange_n(&map->state[HASH_FREE], &old, head, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static void gp_hash_get_key(const struct gp_map *map, const uint8_t *key, uint64_t *words)
{
	uint32_t i;

	for (i = 0; i < gp_words(map->key_size); i++)
		words[i] = gp_get_word(key, map->key_size, i);
}

uint64_t gp_hash_find_words(const struct gp_map *map, const uint64_t *key)
{
	uint32_t steps = 0, at = 0, tries, *bucket;

	for (tries = 0; tries < GP_READ_TRIES; tries++)
		if (gp_hash_try(map, key, map->key_size, map->max_entries, map->num_buckets, &steps, &at))
			return (uint64_t)steps << 32 | at;
	bucket = gp_hash_bucket(map, key, gp_words(map->key_size), map->num_buckets);
	if (gp_lock(&bucket[1])) {
		at = gp_hash_walk(map, bucket, key, map->key_size, map->max_entries, &steps);
		gp_unlock(&bucket[1]);
	} else {
		steps = GP_STEPS_WITHOUT_LOCK;
	}
	return (uint64_t)steps << 32 | at;
}

uint64_t gp_hash_find_any(const struct gp_map *map, const uint8_t *key)
{
	uint64_t words[GP_HASH_MAX_WORDS];

	gp_hash_get_key(map, key, words);
	return gp_hash_find_words(map, words);
}

static int64_t gp_hash_insert(struct gp_map *map, uint32_t *bucket, const uint64_t *key, const uint8_t *value)
{
	struct gp_hash_elem *e;
	uint32_t i, at = gp_hash_alloc(map);

	if (!at)
		return -E2BIG;
	/* A reader that still walks this element sees the bump of the chain it left before any of these. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	e = gp_hash_elem(map, at - 1, map->key_size);
	for (i = 0; i < gp_words(map->key_size); i++)
		gp_store64(&e->key[i], key[i]);
	gp_copy_in(map->values + (uint64_t)(at - 1) * map->stride, value, map->value_size);
	gp_store32(&e->next, gp_load32(&bucket[0]));
	gp_store32_release(&bucket[0], at);
	return 0;
}

int64_t gp_hash_update(struct gp_map *map, const uint8_t *key, const uint8_t *value, uint64_t flags,
		       uint32_t *steps)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at;
	int64_t err = 0;

	if (flags > BPF_EXIST)
		return -EINVAL;
	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	if (!gp_lock(&bucket[1]))
		return -EBUSY;
	at = gp_hash_walk(map, bucket, words, map->key_size, map->max_entries, steps);
	if (at && flags == BPF_NOEXIST)
		err = -EEXIST;
	else if (at)
		gp_copy_in(map->values + (uint64_t)(at - 1) * map->stride, value, map->value_size);
	else if (flags == BPF_EXIST)
		err = -ENOENT;
	else
		err = gp_hash_insert(map, bucket, words, value);
	gp_unlock(&bucket[1]);
	return err;
}

int64_t gp_hash_delete(struct gp_map *map, const uint8_t *key, uint32_t *steps)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	struct gp_hash_elem *e;
	uint32_t *bucket, *link, at, n;

	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	if (!gp_lock(&bucket[1]))
		return -EBUSY;
	link = &bucket[0];
	at = gp_load32(link);
	for (n = 0; at && n < map->max_entries; n++) {
		e = gp_hash_elem(map, at - 1, map->key_size);
		if (gp_hash_same(e, words, gp_words(map->key_size)))
			break;
		link = &e->next;
		at = gp_load32(link);
	}
	*steps += n;
	if (at) {
		e = gp_hash_elem(map, at - 1, map->key_size);
		gp_store32_release(link, gp_load32(&e->next));
		gp_lock_bump(&bucket[1]);
	}
	gp_unlock(&bucket[1]);
	if (!at)
		return -ENOENT;
	gp_hash_free(map, at);
	return 0;
}

#ifndef GP_RT_BITCODE
/* Under the lock: without it the element could become another key's between the walk and the copy. */
int gp_hash_copy(struct gp_map *map, const uint8_t *key, uint8_t *value)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at, steps = 0;

	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	if (!gp_lock(&bucket[1]))
		return -EBUSY;
	at = gp_hash_walk(map, bucket, words, map->key_size, map->max_entries, &steps);
	if (at)
		gp_copy_out(value, map->values + (uint64_t)(at - 1) * map->stride, map->value_size);
	gp_unlock(&bucket[1]);
	return at ? 0 : -ENOENT;
}

/* The first key in or behind bucket @b. */
static int gp_hash_first(struct gp_map *map, uint64_t b, uint8_t *next)
{
	for (; b < map->num_buckets; b++) {
		uint32_t *bucket = map->buckets + 2 * b, at;

		if (!gp_load32(&bucket[0]))
			continue;
		if (!gp_lock(&bucket[1]))
			return -EBUSY;
		at = gp_load32(&bucket[0]);
		if (at)
			gp_copy_out(next, (uint8_t *)gp_hash_elem(map, at - 1, map->key_size)->key,
				    map->key_size);
		gp_unlock(&bucket[1]);
		if (at)
			return 0;
	}
	return -ENOENT;
}

int gp_hash_next(struct gp_map *map, const uint8_t *key, uint8_t *next)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at, after = 0, steps = 0;

	if (!key)
		return gp_hash_first(map, 0, next);
	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	if (!gp_lock(&bucket[1]))
		return -EBUSY;
	at = gp_hash_walk(map, bucket, words, map->key_size, map->max_entries, &steps);
	if (at) {
		after = gp_load32(&gp_hash_elem(map, at - 1, map->key_size)->next);
		if (after)
			gp_copy_out(next, (uint8_t *)gp_hash_elem(map, after - 1, map->key_size)->key,
				    map->key_size);
	}
	gp_unlock(&bucket[1]);
	if (!at)
		return gp_hash_first(map, 0, next);
	return after ? 0 : gp_hash_first(map, (bucket - map->buckets) / 2 + 1, next);
}
#endif
