/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_hash.h - look-ups in hash maps of all kinds; map_hash.c has the rest.
 *
 * How it works: chains of elements from a pool of max_entries. Element i has its header and key in `keys`
 * (next element, then the key as words) and its value at values + i * stride. `buckets` has two
 * words for each bucket: the first element plus 1, and a lock word (mem.h). Links are element plus 1,
 * 0 ends a chain.
 *
 * Readers take no lock. An insert publishes a finished element with one store, so it disturbs nobody. A
 * delete unlinks, then bumps the bucket's count, and only then is the element free for another
 * chain; so a reader whose count did not change walked elements that stayed where they were. Otherwise it
 * walks again, GP_READ_TRIES times at most, and then under the lock. Whatever happens, a walk ends after
 * max_entries elements and yields an index in the pool.
 *
 * What programs see, as with the kernel's preallocated maps: a value whose element was deleted while a
 * program still holds its offset may become another key's. Other than there, an update of a key that exists
 * writes the value in place, word by word.
 *
 * Per-CPU kinds: each CPU has a copy of all values, copy_bytes behind the last one's, on cache lines of its own.
 *
 * LRU kinds evict by the clock: a look-up of a program's marks the element (one store, where it is not marked
 * already, to the line that the comparison has just read), and an insert into a full map sends a hand round
 * that takes marks away and takes the first element without one. It looks at GP_LRU_MARKS marks at
 * most, then takes what comes.
 */
#ifndef GPGPU_RT_MAP_HASH_H
#define GPGPU_RT_MAP_HASH_H

#include "rt/abi.h"
#include "mem.h"

#define GP_HASH_MAX_WORDS 64 /* keys up to 512 bytes */
#define GP_HASH_INLINE	  48 /* bytes of the largest key whose look-up is inlined */
#define GP_LRU_MARKS	  128

/* Words of a key up to which all are compared at once: a branch a word costs more, most of all where lanes diverge. */
#if defined(GP_RT_GPU)
#define GP_HASH_WHOLE (GP_HASH_INLINE / 8)
#else
#define GP_HASH_WHOLE 4
#endif

#define GP_EVERY_CPU UINT32_MAX

struct gp_hash_elem {
	uint32_t next; /* + 1; also in the list of free elements */
	uint32_t mark; /* LRU: looked up since the hand came by */
	uint64_t key[];
};

GP_ALWAYS uint32_t gp_hash_elem_bytes(uint32_t key_size)
{
	return sizeof(struct gp_hash_elem) + gp_words(key_size) * 8;
}

GP_ALWAYS struct gp_hash_elem *gp_hash_elem(const struct gp_map *map, uint32_t index, uint32_t key_size)
{
	return (struct gp_hash_elem *)(void *)(map->keys + (uint64_t)index * gp_hash_elem_bytes(key_size));
}

/*
 * A multiply-and-fold hash. Keyed, so that a chain cannot be made long from outside without knowing the
 * seed; long chains would cost the program its own fuel only.
 */
GP_ALWAYS uint64_t gp_hash_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 gp_u128;
	gp_u128 p = (gp_u128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Pairs of words are hashed beside one another: a processor multiplies several at once. */
GP_ALWAYS uint32_t gp_hash_key(const uint64_t *key, uint32_t words, uint32_t seed)
{
	uint64_t k = (uint64_t)seed << 32 ^ 0x9e3779b97f4a7c15ull, h = 0;
	uint32_t i;

	for (i = 0; i + 1 < words; i += 2) {
		h ^= gp_hash_mix(key[i] ^ k, key[i + 1] ^ (k + 0x6a09e667f3bcc909ull));
		k = (k << 23 | k >> 41) + words;
	}
	if (i < words)
		h ^= gp_hash_mix(key[i] ^ k, 0xbb67ae8584caa73bull);
	return h ^ h >> 32;
}

GP_ALWAYS uint32_t *gp_hash_bucket(const struct gp_map *map, const uint64_t *key, uint32_t words,
				   uint32_t num_buckets)
{
	uint32_t b = gp_hash_key(key, words, map->seed) & (num_buckets - 1);

	return map->buckets + 2 * (uint64_t)b;
}

GP_ALWAYS bool gp_hash_same(const struct gp_hash_elem *e, const uint64_t *key, uint32_t words)
{
	uint64_t diff = 0;
	uint32_t i;

	if (words <= GP_HASH_WHOLE) {
		for (i = 0; i < words; i++)
			diff |= gp_load64(&e->key[i]) ^ key[i];
		return !diff;
	}
	for (i = 0; i < words; i++)
		if (gp_load64(&e->key[i]) != key[i])
			return false;
	return true;
}

/* gp_hash_walk() - Return: element + 1, or 0. @steps grows by the elements that were looked at. */
GP_ALWAYS uint32_t gp_hash_walk(const struct gp_map *map, const uint32_t *bucket, const uint64_t *key,
				uint32_t key_size, uint32_t max_entries, uint32_t *steps)
{
	uint32_t at = gp_load32_acquire(&bucket[0]), n;

	for (n = 0; at && n < max_entries; n++) {
		const struct gp_hash_elem *e = gp_hash_elem(map, at - 1, key_size);

		if (gp_hash_same(e, key, gp_words(key_size)))
			break;
		at = gp_load32_acquire(&e->next);
	}
	*steps += n;
	return n < max_entries ? at : 0;
}

/*
 * gp_hash_try() - find a key, in one walk.
 * @key: the key as words, private to the caller.
 * @steps: grows by the elements passed over.
 * @at: out: element + 1, or 0.
 *
 * Return: false where elements left the chain meanwhile, so that @at means nothing.
 */
GP_ALWAYS bool gp_hash_try(const struct gp_map *map, const uint64_t *key, uint32_t key_size,
			   uint32_t max_entries, uint32_t num_buckets, uint32_t *steps, uint32_t *at)
{
	const uint32_t *bucket = gp_hash_bucket(map, key, gp_words(key_size), num_buckets);
	uint32_t begin = gp_read_begin(&bucket[1]);

	*at = gp_hash_walk(map, bucket, key, key_size, max_entries, steps);
	return gp_read_valid(&bucket[1], begin);
}

#if defined(GP_RT_GPU)
/*
 * gp_hash_find_here() - find a key; all in one loop, since each look-up of a program's is a copy of this. Its turns are
 * walks without the lock, and behind GP_READ_TRIES of them walks with it, for the lanes that get it. The lanes of a wave
 * leave together, as gp_with_lock() has it.
 *
 * Return: element + 1 in the low half, steps in the high half.
 */
GP_ALWAYS uint64_t gp_hash_find_here(const struct gp_map *map, const uint64_t *key, uint32_t key_size,
				     uint32_t max_entries, uint32_t num_buckets)
{
	uint32_t *bucket = gp_hash_bucket(map, key, gp_words(key_size), num_buckets);
	uint32_t at = 0, steps = 0, turn = 0;
	bool want = true;

	do {
		bool tries = turn < GP_READ_TRIES, locked = want && !tries && gp_trylock(&bucket[1]);

		if (locked || (want && tries)) {
			uint32_t begin = gp_read_begin(&bucket[1]);

			at = gp_hash_walk(map, bucket, key, key_size, max_entries, &steps);
			want = !locked && !gp_read_valid(&bucket[1], begin);
		}
		if (locked)
			gp_unlock(&bucket[1]);
		if (++turn == GP_READ_TRIES + GP_LOCK_SPINS && want) {
			steps = GP_STEPS_WITHOUT_LOCK;
			want = false;
		}
		if (!tries)
			gp_pause();
	} while (gp_wave_any(want));
	return (uint64_t)steps << 32 | at;
}
#endif

/* gp_lru_mark() - @at: element + 1. */
GP_ALWAYS void gp_lru_mark(const struct gp_map *map, uint32_t at, uint32_t key_size)
{
	struct gp_hash_elem *e = gp_hash_elem(map, at - 1, key_size);

	if (!gp_load32(&e->mark))
		gp_store32(&e->mark, 1);
}

/*
 * Not inlined: gp_hash_find_any() any key, gp_hash_find_words() one in words.
 *
 * Return: element + 1 in the low half, steps in the high half.
 */
uint64_t gp_hash_find_any(const struct gp_map *map, const uint8_t *key);
uint64_t gp_hash_find_words(const struct gp_map *map, const uint64_t *key);

/*
 * gp_hash_update(), gp_hash_delete() - as bpf_map_update_elem and bpf_map_delete_elem.
 *
 * @cpu: whose copy @value is for (the others of a new element become zeros); GP_EVERY_CPU: @value has one for each,
 *	 a stride apart.
 * @value: of gp_hash_delete(): out: the value, of each CPU, as gp_hash_copy() has it; or NULL.
 *
 * Return: 0, -EINVAL, -EEXIST, -ENOENT, -E2BIG (full, not LRU), -ENOMEM (LRU: all elements were on their way from
 * one chain to another for longer than a lock is waited for), -EBUSY. @steps grows by the elements passed over.
 */
int64_t gp_hash_update(struct gp_map *map, const uint8_t *key, const uint8_t *value, uint64_t flags,
		       uint32_t cpu, uint32_t *steps);
int64_t gp_hash_delete(struct gp_map *map, const uint8_t *key, uint8_t *value, uint32_t *steps);

/*
 * gp_hash_copy() - a key's value (per-CPU kinds: all copies, a stride apart), as a whole: no update is half in it, and
 * no other key's value. Native only.
 *
 * Return: 0, -ENOENT, -EBUSY.
 */
int gp_hash_copy(struct gp_map *map, const uint8_t *key, uint8_t *value);

/* gp_hash_next() - the key behind @key in the map's order; NULL or a key that is gone: the first. */
int gp_hash_next(struct gp_map *map, const uint8_t *key, uint8_t *next);

#endif
