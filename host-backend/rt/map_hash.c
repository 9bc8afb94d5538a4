/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_hash.c - what changes hash maps. map_hash.h says how they work.
 *
 * Writers take the lock of one bucket; all that happens under it is a walk of that chain and the copy of one
 * value. Elements that were never used are handed out in order (so that a fresh map's memory stays
 * untouched), freed ones from a lock-free stack whose head carries a tag against reuse.
 *
 * state[0]: tag << 32 | first free element + 1. state[8]: elements handed out that were never used before. state[9]:
 * where the clock's hand is.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "map_hash.h"

enum { HASH_FREE = 0, HASH_USED = 8, HASH_HAND = 9 };

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
#if defined(GP_RT_GPU)
	return gp_hash_find_here(map, key, map->key_size, map->max_entries, map->num_buckets);
#else
	uint32_t steps = 0, at = 0, tries, *bucket;
	bool held;

	for (tries = 0; tries < GP_READ_TRIES; tries++)
		if (gp_hash_try(map, key, map->key_size, map->max_entries, map->num_buckets, &steps, &at))
			return (uint64_t)steps << 32 | at;
#ifdef GP_RT_GPU
	/* The host's to write, and read-only for a GPU. It stays as the launch found it: in the middle of a change. */
	if (map->type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS)
		return (uint64_t)GP_STEPS_WITHOUT_LOCK << 32;
#endif
	bucket = gp_hash_bucket(map, key, gp_words(map->key_size), map->num_buckets);
	gp_with_lock(&bucket[1], held)
		at = gp_hash_walk(map, bucket, key, map->key_size, map->max_entries, &steps);
	if (!held)
		steps = GP_STEPS_WITHOUT_LOCK;
	return (uint64_t)steps << 32 | at;
#endif
}

uint64_t gp_hash_find_any(const struct gp_map *map, const uint8_t *key)
{
	uint64_t words[GP_HASH_MAX_WORDS];

	gp_hash_get_key(map, key, words);
	return gp_hash_find_words(map, words);
}

static bool gp_hash_is_lru(const struct gp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_LRU_HASH || map->type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

static uint8_t *gp_hash_value(const struct gp_map *map, uint32_t at)
{
	return map->store + (uint64_t)(at - 1) * map->stride;
}

/* Store the value of element @at; @fresh: nothing of what was there may be seen. */
static void gp_hash_put(struct gp_map *map, uint32_t at, const uint8_t *value, uint32_t cpu, bool fresh)
{
	uint8_t *to = gp_hash_value(map, at);
	uint32_t c;

	if (map->num_cpus == 1) {
		gp_copy_in(to, value, map->value_size);
		return;
	}
	for (c = 0; c < map->num_cpus; c++, to += map->copy_bytes) {
		if (cpu == GP_EVERY_CPU)
			gp_copy_in(to, value + (uint64_t)c * map->stride, map->value_size);
		else if (c == cpu)
			gp_copy_in(to, value, map->value_size);
		else if (fresh)
			gp_clear(to, map->value_size);
	}
}

#ifdef GP_RT_MAP_OPS
static void gp_hash_get(const struct gp_map *map, uint32_t at, uint8_t *value)
{
	const uint8_t *from = gp_hash_value(map, at);
	uint32_t c;

	if (map->num_cpus == 1) {
		gp_copy_out(value, from, map->value_size);
		return;
	}
	for (c = 0; c < map->num_cpus; c++)
		gp_copy_out(value + (uint64_t)c * map->stride, from + c * map->copy_bytes, map->stride);
}
#endif

static void gp_hash_insert(struct gp_map *map, uint32_t *bucket, uint32_t at, const uint64_t *key,
			   const uint8_t *value, uint32_t cpu)
{
	struct gp_hash_elem *e = gp_hash_elem(map, at - 1, map->key_size);
	uint32_t i;

	/* A reader that still walks this element sees the bump of the chain it left before any of these. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (i = 0; i < gp_words(map->key_size); i++)
		gp_store64(&e->key[i], key[i]);
	gp_store32(&e->mark, 0);
	gp_hash_put(map, at, value, cpu, true);
	gp_store32(&e->next, gp_load32(&bucket[0]));
	gp_store32_release(&bucket[0], at);
}

/* Take element @at out of the chain that its key belongs to, if it is in it. Nobody is waited for. */
static bool gp_lru_take(struct gp_map *map, uint32_t at, uint32_t *steps)
{
	struct gp_hash_elem *e = gp_hash_elem(map, at - 1, map->key_size);
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, *link, i, n;

	/* It may change meanwhile: then the chain is the wrong one and it is not found there. */
	for (i = 0; i < gp_words(map->key_size); i++)
		words[i] = gp_load64(&e->key[i]);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	if (!gp_trylock(&bucket[1]))
		return false;
	link = &bucket[0];
	for (n = 0, i = gp_load32(link); i && i != at && n < map->max_entries; n++) {
		link = &gp_hash_elem(map, i - 1, map->key_size)->next;
		i = gp_load32(link);
	}
	*steps += n;
	if (i == at) {
		gp_store32_release(link, gp_load32(&e->next));
		gp_lock_bump(&bucket[1]);
	}
	gp_unlock(&bucket[1]);
	return i == at;
}

/* An element of a full map, which is the caller's then. */
static uint32_t gp_lru_evict(struct gp_map *map, uint32_t *steps)
{
	struct gp_hash_elem *e;
	uint32_t n, at;

	for (n = 0; n < GP_LOCK_SPINS; n++) {
		at = (uint32_t)(__atomic_fetch_add(&map->state[HASH_HAND], 1, __ATOMIC_RELAXED) %
				map->max_entries) +
		     1;
		e = gp_hash_elem(map, at - 1, map->key_size);
		++*steps;
		if (n < GP_LRU_MARKS && gp_load32(&e->mark)) {
			gp_store32(&e->mark, 0);
			continue;
		}
		if (gp_lru_take(map, at, steps))
			return at;
		/* It is free, or on its way into a chain. */
		at = gp_hash_alloc(map);
		if (at)
			return at;
		gp_pause();
	}
	return 0;
}

/* Under the lock of @bucket, in which @at is the key or 0. @spare: an element for the key, or 0. */
static int64_t gp_hash_change(struct gp_map *map, uint32_t *bucket, uint32_t at, uint32_t *spare,
			      const uint64_t *key, const uint8_t *value, uint64_t flags, uint32_t cpu)
{
	if (at && flags == BPF_NOEXIST)
		return -EEXIST;
	if (at) {
		gp_hash_put(map, at, value, cpu, false);
		if (gp_hash_is_lru(map))
			gp_lru_mark(map, at, map->key_size);
		return 0;
	}
	if (flags == BPF_EXIST)
		return -ENOENT;
	if (!*spare)
		*spare = gp_hash_alloc(map);
	if (!*spare)
		return -E2BIG;
	gp_hash_insert(map, bucket, *spare, key, value, cpu);
	*spare = 0;
	return 0;
}

/* Take the bucket's lock and change what is there. Return: as gp_hash_change(), -EBUSY. */
static int64_t gp_hash_store(struct gp_map *map, uint32_t *bucket, uint32_t *spare, const uint64_t *key,
			     const uint8_t *value, uint64_t flags, uint32_t cpu, uint32_t *steps)
{
	int64_t err = -EBUSY;
	bool held;

	gp_with_lock(&bucket[1], held)
	{
		uint32_t at = gp_hash_walk(map, bucket, key, map->key_size, map->max_entries, steps);

		err = gp_hash_change(map, bucket, at, spare, key, value, flags, cpu);
	}
	return err;
}

/* Into a full map. Elements are evicted without the lock, since one may be in a chain that waits for it. */
static int64_t gp_lru_store(struct gp_map *map, uint32_t *bucket, const uint64_t *key, const uint8_t *value,
			    uint64_t flags, uint32_t cpu, uint32_t *steps)
{
	uint32_t spare;
	int64_t err;

	do {
		spare = gp_lru_evict(map, steps);
		if (!spare)
			return -ENOMEM;
		err = gp_hash_store(map, bucket, &spare, key, value, flags, cpu, steps);
	} while (err == -E2BIG);
	if (spare)
		gp_hash_free(map, spare);
	return err;
}

int64_t gp_hash_update(struct gp_map *map, const uint8_t *key, const uint8_t *value, uint64_t flags,
		       uint32_t cpu, uint32_t *steps)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, spare = 0;
	int64_t err;

	if (flags > BPF_EXIST)
		return -EINVAL;
	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	err = gp_hash_store(map, bucket, &spare, words, value, flags, cpu, steps);
	if (err != -E2BIG || !gp_hash_is_lru(map))
		return err;
	/* Lanes of a wave could hold all the elements that others of it wait for. */
	gp_each_lane() err = gp_lru_store(map, bucket, words, value, flags, cpu, steps);
	return err;
}

/* Under the lock of @bucket: take the key's element out of it. Return: element + 1, or 0. */
static uint32_t gp_hash_unlink(struct gp_map *map, uint32_t *bucket, const uint64_t *key, uint8_t *value,
			       uint32_t *steps)
{
	struct gp_hash_elem *e = NULL;
	uint32_t *link = &bucket[0], at = gp_load32(link), n;

	for (n = 0; at && n < map->max_entries; n++) {
		e = gp_hash_elem(map, at - 1, map->key_size);
		if (gp_hash_same(e, key, gp_words(map->key_size)))
			break;
		link = &e->next;
		at = gp_load32(link);
	}
	*steps += n;
	if (!at)
		return 0;
	e = gp_hash_elem(map, at - 1, map->key_size);
#ifdef GP_RT_MAP_OPS
	if (value)
		gp_hash_get(map, at, value);
#endif
	gp_store32_release(link, gp_load32(&e->next));
	gp_lock_bump(&bucket[1]);
	return at;
}

int64_t gp_hash_delete(struct gp_map *map, const uint8_t *key, uint8_t *value, uint32_t *steps)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at = 0;
	bool held;

	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	gp_with_lock(&bucket[1], held) at = gp_hash_unlink(map, bucket, words, value, steps);
	if (!held)
		return -EBUSY;
	if (!at)
		return -ENOENT;
	gp_hash_free(map, at);
	return 0;
}

#ifdef GP_RT_MAP_OPS
/* Under the lock: without it the element could become another key's between the walk and the copy. */
int gp_hash_copy(struct gp_map *map, const uint8_t *key, uint8_t *value)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at = 0, steps = 0;
	bool held;

	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	gp_with_lock(&bucket[1], held)
	{
		at = gp_hash_walk(map, bucket, words, map->key_size, map->max_entries, &steps);
		if (at)
			gp_hash_get(map, at, value);
	}
	if (!held)
		return -EBUSY;
	return at ? 0 : -ENOENT;
}

/* The first key in or behind bucket @b. */
static int gp_hash_first(struct gp_map *map, uint64_t b, uint8_t *next)
{
	for (; b < map->num_buckets; b++) {
		uint32_t *bucket = map->buckets + 2 * b, at = 0;
		bool held;

		if (!gp_load32(&bucket[0]))
			continue;
		gp_with_lock(&bucket[1], held)
		{
			at = gp_load32(&bucket[0]);
			if (at)
				gp_copy_out(next, (uint8_t *)gp_hash_elem(map, at - 1, map->key_size)->key,
					    map->key_size);
		}
		if (!held)
			return -EBUSY;
		if (at)
			return 0;
	}
	return -ENOENT;
}

int gp_hash_next(struct gp_map *map, const uint8_t *key, uint8_t *next)
{
	uint64_t words[GP_HASH_MAX_WORDS];
	uint32_t *bucket, at = 0, after = 0, steps = 0;
	bool held;

	if (!key)
		return gp_hash_first(map, 0, next);
	gp_hash_get_key(map, key, words);
	bucket = gp_hash_bucket(map, words, gp_words(map->key_size), map->num_buckets);
	gp_with_lock(&bucket[1], held)
	{
		at = gp_hash_walk(map, bucket, words, map->key_size, map->max_entries, &steps);
		if (at)
			after = gp_load32(&gp_hash_elem(map, at - 1, map->key_size)->next);
		if (after)
			gp_copy_out(next, (uint8_t *)gp_hash_elem(map, after - 1, map->key_size)->key,
				    map->key_size);
	}
	if (!held)
		return -EBUSY;
	if (!at)
		return gp_hash_first(map, 0, next);
	return after ? 0 : gp_hash_first(map, (bucket - map->buckets) / 2 + 1, next);
}
#endif
