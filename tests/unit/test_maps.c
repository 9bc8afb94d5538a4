/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_maps.c - maps against models: random operations beside a GHashTable and a brute-force prefix list, by
 * the guest's interface and by the helpers that programs call, in turn; and threads that work on one map
 * while others look up what must always be there.
 */
#include <check.h>
#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "box.h"
#include "rt/map_hash.h"
#include "rt/map_lpm.h"

/* ------------------------------------------------------------------- shapes */

static const struct shape {
	uint32_t type, key_size, value_size, max_entries, flags, cpus, reason;
} shapes[] = {
	{ 0, 4, 8, 1, 0, 1, VIRTIO_GPGPU_R_KIND },
	{ 7, 4, 8, 1, 0, 1, VIRTIO_GPGPU_R_KIND },
	{ UINT32_MAX, 4, 8, 1, 0, 1, VIRTIO_GPGPU_R_KIND },
	{ VIRTIO_GPGPU_MAP_HASH, 0, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_HASH, 512, 65536, 1, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_HASH, 513, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 0, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 65537, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_HASH, 4, UINT32_MAX, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 8, 0, 0, 1, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 8, 1u << 30, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 8, UINT32_MAX, 0, 1, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 8, 1, 1, 1, 0 },
	{ VIRTIO_GPGPU_MAP_HASH, 4, 8, 1, 2, 1, VIRTIO_GPGPU_R_FLAGS },
	{ VIRTIO_GPGPU_MAP_ARRAY, 3, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_ARRAY, 8, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 16 << 20, 1, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, (16 << 20) + 1, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 16 << 20, 2, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 1, UINT32_MAX, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_ARRAY, 4, 65536, UINT32_MAX, 0, 1, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 8, 1, 0, 0, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 8, 1, 0, UINT32_MAX, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 65536, UINT32_MAX, 0, 1024, VIRTIO_GPGPU_R_COUNT },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 4, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 5, 8, 1, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 260, 8, 1, 0, 1, 0 },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 261, 8, 1, 0, 1, VIRTIO_GPGPU_R_SIZE },
	{ VIRTIO_GPGPU_MAP_LPM_TRIE, 8, 8, UINT32_MAX, 0, 1, VIRTIO_GPGPU_R_COUNT },
};

START_TEST(test_shape)
{
	const struct shape *s = &shapes[_i];
	struct gp_map_desc desc = {
		.type = s->type,
		.key_size = s->key_size,
		.value_size = s->value_size,
		.max_entries = s->max_entries,
		.flags = s->flags,
		/* What the caller left in the other members must not count. */
		.stride = UINT32_MAX,
		.num_cpus = UINT32_MAX,
		.num_buckets = UINT32_MAX,
		.values_size = UINT64_MAX,
	};

	ck_assert_uint_eq(gp_map_check(&desc, s->cpus), s->reason);
	if (s->reason)
		return;
	ck_assert_uint_ge(desc.stride, s->value_size);
	ck_assert_uint_ge(desc.values_size, (uint64_t)s->value_size * s->max_entries);
	ck_assert_uint_lt(gp_map_bytes(&desc), UINT64_C(1) << 48);
	ck_assert_uint_ge(gp_map_bytes(&desc), desc.values_size);
}
END_TEST

/* ------------------------------------------------------------------- arrays */

START_TEST(test_array)
{
	uint8_t value[13] = "hello, array", got[13];
	uint32_t key = 4, next = 0;
	struct box b;
	int way;

	box_open(&b, VIRTIO_GPGPU_MAP_ARRAY, 4, 13, 5, 4);
	for (way = 0; way < 3; way++) {
		key = 4;
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, got, way), 0);
		value[0] = (uint8_t)way;
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, BPF_ANY, way), 0);
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, got, way), 0);
		ck_assert_mem_eq(got, value, 13);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, BPF_EXIST, way), 0);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, BPF_NOEXIST, way), -EEXIST);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, 3, way), -EINVAL);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, UINT64_MAX, way), -EINVAL);
		ck_assert_int_eq(op_delete(&b, (uint8_t *)&key, way), -EINVAL);
		for (key = 5; key; key = key < 1u << 31 ? key * 2 : 0) {
			ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, got, way), -ENOENT);
			ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, BPF_ANY, way), -E2BIG);
			ck_assert_int_eq(op_update(&b, (uint8_t *)&key, value, BPF_NOEXIST, way), -E2BIG);
		}
	}
	ck_assert_int_eq(gp_map_next_key(&b.map, NULL, &next), 0);
	for (key = 0; key < 4; key++) {
		ck_assert_uint_eq(next, key);
		ck_assert_int_eq(gp_map_next_key(&b.map, &next, &next), 0);
	}
	ck_assert_int_eq(gp_map_next_key(&b.map, &next, &next), -ENOENT);
	key = 77;
	ck_assert_int_eq(gp_map_next_key(&b.map, &key, &next), 0);
	ck_assert_uint_eq(next, 0);
	box_close(&b);
}
END_TEST

START_TEST(test_percpu)
{
	uint64_t value[4] = { 10, 11, 12, 13 }, got[4], mine = 99;
	uint32_t key;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 6, 3, 4);
	ck_assert_uint_eq(gp_map_value_bytes(&b.map), sizeof(value));
	for (key = 0; key < 3; key++)
		ck_assert_int_eq(gp_map_update(&b.map, &key, value, BPF_ANY), 0);
	key = 1;
	thread.cpu = 2;
	ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_ANY, 1), 0);
	value[2] = 99;
	ck_assert_int_eq(gp_map_lookup(&b.map, &key, got), 0);
	ck_assert_mem_eq(got, value, sizeof(value));
	for (thread.cpu = 0; thread.cpu < 4; thread.cpu++) {
		mine = 0;
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&mine, 1), 0);
		ck_assert_uint_eq(mine, value[thread.cpu]);
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&mine, 2), 0);
		ck_assert_uint_eq(mine, value[thread.cpu]);
	}
	/* A CPU that the map has no copy for. */
	ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&mine, 1), -ENOENT);
	ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_ANY, 1), -E2BIG);
	thread.cpu = 0;
	key = 3;
	ck_assert_int_eq(gp_map_lookup(&b.map, &key, got), -ENOENT);
	ck_assert_int_eq(gp_map_update(&b.map, &key, value, BPF_ANY), -E2BIG);
	ck_assert_int_eq(gp_map_delete(&b.map, &key), -EINVAL);
	box_close(&b);
}
END_TEST

START_TEST(test_frozen)
{
	static const uint32_t types[] = { VIRTIO_GPGPU_MAP_ARRAY, VIRTIO_GPGPU_MAP_PERCPU_ARRAY,
					  VIRTIO_GPGPU_MAP_HASH };
	uint32_t key = 0, value = 7;
	size_t t;
	int way;

	for (t = 0; t < G_N_ELEMENTS(types); t++) {
		struct box b;

		box_open(&b, types[t], 4, 4, 2, 1);
		b.map.frozen = 1;
		for (way = 1; way < 3; way++) {
			ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&value, 0, way), -EPERM);
			ck_assert_int_eq(op_delete(&b, (uint8_t *)&key, way), -EPERM);
		}
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&value, 0, 0), 0);
		box_close(&b);
	}
}
END_TEST

/* --------------------------------------------------------------------- hash */

static const struct {
	uint32_t key_size, value_size, max_entries;
} hashes[] = {
	{ 1, 1, 16 },	 { 4, 8, 64 },	{ 4, 4, 1 },	  { 5, 3, 33 },	 { 8, 16, 100 },
	{ 13, 12, 100 }, { 16, 8, 64 }, { 20, 40, 60 },	  { 37, 5, 60 }, { 48, 9, 60 },
	{ 49, 8, 60 },	 { 64, 8, 60 }, { 512, 300, 40 },
};

static void random_key(uint8_t *key, uint32_t size, uint32_t space)
{
	uint32_t n = g_random_int_range(0, (gint32)space), i;

	/* Differs from others in one place only, and not always in the first word. */
	memset(key, 0x5a, size);
	i = n % size;
	key[i] = (uint8_t)(n / size + 1);
}

static GBytes *bytes(const void *p, gsize n)
{
	return g_bytes_new(p, n);
}

static void check_walk(struct box *b, GHashTable *model)
{
	GHashTable *seen =
		g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
	uint8_t key[512];
	int err;

	err = gp_map_next_key(&b->map, NULL, key);
	while (!err) {
		GBytes *k = bytes(key, b->map.key_size);

		ck_assert(g_hash_table_contains(model, k));
		ck_assert(g_hash_table_add(seen, k));
		err = gp_map_next_key(&b->map, key, key);
	}
	ck_assert_int_eq(err, -ENOENT);
	ck_assert_uint_eq(g_hash_table_size(seen), g_hash_table_size(model));
	g_hash_table_destroy(seen);
}

START_TEST(test_hash_model)
{
	uint32_t ks = hashes[_i].key_size, vs = hashes[_i].value_size, max = hashes[_i].max_entries, n;
	GHashTable *model = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
						  (GDestroyNotify)g_bytes_unref);
	/* Keys and values at odd addresses, ending where their memory does. */
	uint8_t *kmem = malloc(ks + 1), *vmem = malloc(vs + 1), *key = kmem + 1, *value = vmem + 1;
	uint8_t *got = malloc(vs);
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_HASH, ks, vs, max, 1);
	for (n = 0; n < 60000; n++) {
		int what = g_random_int_range(0, 10), way = g_random_int_range(0, 3), err, want = 0;
		uint64_t flags = (uint64_t)g_random_int_range(0, 4);
		GBytes *k, *old;
		uint32_t i;

		random_key(key, ks, max + max / 2 + 2);
		k = bytes(key, ks);
		old = g_hash_table_lookup(model, k);
		if (what < 4) {
			for (i = 0; i < vs; i++)
				value[i] = (uint8_t)g_random_int();
			if (flags > BPF_EXIST)
				want = -EINVAL;
			else if (old && flags == BPF_NOEXIST)
				want = -EEXIST;
			else if (!old && flags == BPF_EXIST)
				want = -ENOENT;
			else if (!old && g_hash_table_size(model) == max)
				want = -E2BIG;
			err = op_update(&b, key, value, flags, way);
			ck_assert_int_eq(err, want);
			if (!err)
				g_hash_table_replace(model, g_bytes_ref(k), bytes(value, vs));
		} else if (what < 7) {
			ck_assert_int_eq(op_delete(&b, key, way), old ? 0 : -ENOENT);
			g_hash_table_remove(model, k);
		} else {
			ck_assert_int_eq(op_lookup(&b, key, got, way), old ? 0 : -ENOENT);
			if (old)
				ck_assert_mem_eq(got, g_bytes_get_data(old, NULL), vs);
		}
		g_bytes_unref(k);
		if (n % 5000 == 0)
			check_walk(&b, model);
	}
	check_walk(&b, model);
	g_hash_table_destroy(model);
	box_close(&b);
	free(kmem);
	free(vmem);
	free(got);
}
END_TEST

START_TEST(test_hash_fuel)
{
	enum { CHAIN = 64 };
	uint32_t *bucket = NULL, chain = 0, max = 1 << 16;
	struct gp_lane lane;
	struct box b;
	uint64_t key, last = 0, value = 1;

	box_open(&b, VIRTIO_GPGPU_MAP_HASH, 8, 8, max, 1);
	for (key = 0; chain < CHAIN; key++) {
		if (bucket && gp_hash_bucket(&b.map, &key, 1, b.map.num_buckets) != bucket)
			continue;
		bucket = gp_hash_bucket(&b.map, &key, 1, b.map.num_buckets);
		ck_assert_int_eq(gp_map_update(&b.map, &key, &value, BPF_ANY), 0);
		if (!chain++)
			last = key;
	}
	/* The first one is at the end of the chain by now. */
	lane = new_lane();
	ck_assert_uint_ne(gp_helper_map_lookup(&lane, &b.map, (uint8_t *)&last, DESC(&b)), 0);
	ck_assert_uint_lt(lane.fuel, new_lane().fuel);
	ck_assert_uint_gt(lane.fuel, new_lane().fuel - CHAIN);
	lane.fuel = 1;
	gp_helper_map_lookup(&lane, &b.map, (uint8_t *)&last, DESC(&b));
	ck_assert_uint_eq(lane.fuel, 0);
	lane.fuel = 1;
	gp_helper_map_update(&lane, &b.map, (uint8_t *)&last, (uint8_t *)&value, 0, DESC(&b));
	ck_assert_uint_eq(lane.fuel, 0);
	lane.fuel = 1;
	gp_helper_map_delete(&lane, &b.map, (uint8_t *)&last, DESC(&b));
	ck_assert_uint_eq(lane.fuel, 0);
	box_close(&b);
}
END_TEST

static uint64_t left(const struct gp_lane *lane)
{
	return lane->fuel + lane->reserve;
}

/* Every prefix of one address: a look-up goes past all of them. */
START_TEST(test_lpm_fuel)
{
	uint64_t value = 1, units = 257 / 4;
	uint8_t key[4 + 32] = { 0 };
	struct gp_lane lane;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_LPM_TRIE, sizeof(key), 8, 257, 1);
	for (uint32_t bits = 0; bits <= 256; bits++) {
		memcpy(key, &bits, 4);
		ck_assert_int_eq(gp_map_update(&b.map, key, &value, BPF_ANY), 0);
	}
	for (int what = 0; what < 4; what++) {
		lane = new_lane();
		/* What the portion at hand does not pay is taken from the reserve. */
		lane.fuel = 3;
		lane.reserve = 1000;
		if (what == 0)
			ck_assert(gp_helper_map_lookup(&lane, &b.map, key, DESC(&b)));
		else if (what == 1)
			ck_assert(gp_helper_map_lookup_any(&lane, &b.map, key));
		else if (what == 2)
			ck_assert(!gp_helper_map_update(&lane, &b.map, key, (uint8_t *)&value, 0, DESC(&b)));
		else
			ck_assert(!gp_helper_map_delete(&lane, &b.map, key, DESC(&b)));
		ck_assert_uint_le(left(&lane), 1003 - units + 1);
		ck_assert_uint_ge(left(&lane), 1003 - units - 1);
	}
	box_close(&b);
}
END_TEST

START_TEST(test_value_fuel)
{
	static uint8_t value[4096];
	struct gp_lane lane = new_lane();
	uint32_t key = 0;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_ARRAY, 4, sizeof(value), 1, 1);
	ck_assert_int_eq((int)gp_helper_map_update(&lane, &b.map, (uint8_t *)&key, value, BPF_ANY, DESC(&b)),
			 0);
	ck_assert_uint_eq(left(&lane), 1000000 - sizeof(value) / 64);
	box_close(&b);
}
END_TEST

/* A lock that is not to be had takes longer than anything: it costs all that there is. */
START_TEST(test_lock_fuel)
{
	uint32_t kind = _i ? VIRTIO_GPGPU_MAP_LPM_TRIE : VIRTIO_GPGPU_MAP_HASH;
	uint64_t key = 8, value = 1;
	struct gp_lane lane = new_lane();
	struct box b;

	box_open(&b, kind, 8, 8, 1, 1);
	*(_i ? gp_lpm_lock(&b.map) : &b.map.buckets[1]) |= 1;
	lane.reserve = 1000;
	ck_assert_int_eq((int)gp_helper_map_update(&lane, &b.map, (uint8_t *)&key, (uint8_t *)&value, BPF_ANY,
						   DESC(&b)),
			 -EBUSY);
	ck_assert_uint_eq(left(&lane), 0);
	lane = new_lane();
	ck_assert_int_eq((int)gp_helper_map_delete(&lane, &b.map, (uint8_t *)&key, DESC(&b)), -EBUSY);
	ck_assert_uint_eq(left(&lane), 0);
	box_close(&b);
}
END_TEST

/* ---------------------------------------------------------------------- LPM */

struct prefix {
	uint32_t bits;
	uint8_t data[256];
	uint64_t value;
	bool used;
};

static bool same_bits(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	uint32_t i;

	for (i = 0; i < bits; i++)
		if ((a[i / 8] ^ b[i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

static struct prefix *prefix_exact(struct prefix *list, uint32_t n, uint32_t bits, const uint8_t *data)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (list[i].used && list[i].bits == bits && same_bits(list[i].data, data, bits))
			return &list[i];
	return NULL;
}

static struct prefix *prefix_longest(struct prefix *list, uint32_t n, uint32_t bits, const uint8_t *data)
{
	struct prefix *best = NULL;
	uint32_t i;

	for (i = 0; i < n; i++)
		if (list[i].used && list[i].bits <= bits && same_bits(list[i].data, data, list[i].bits) &&
		    (!best || list[i].bits > best->bits))
			best = &list[i];
	return best;
}

static void lpm_check_walk(struct box *b, struct prefix *list, uint32_t max, uint32_t size)
{
	uint8_t key[260];
	uint32_t seen = 0, used = 0, i, bits;
	bool *met = calloc(max, sizeof(*met));
	int err;

	for (i = 0; i < max; i++)
		used += list[i].used;
	for (err = gp_map_next_key(&b->map, NULL, key); !err; err = gp_map_next_key(&b->map, key, key)) {
		struct prefix *p;

		memcpy(&bits, key, 4);
		p = prefix_exact(list, max, bits, key + 4);
		ck_assert_ptr_nonnull(p);
		ck_assert(!met[p - list]);
		/* The data as last written, also behind the prefix. */
		ck_assert_mem_eq(p->data, key + 4, size);
		met[p - list] = true;
		ck_assert_uint_le(++seen, used);
	}
	ck_assert_int_eq(err, -ENOENT);
	ck_assert_uint_eq(seen, used);
	free(met);
}

static const uint32_t lpm_sizes[] = { 1, 2, 4, 5, 8, 12, 16, 31, 256 };

START_TEST(test_lpm_model)
{
	enum { MAX = 40 };
	uint32_t size = lpm_sizes[_i], n, i, bits, used = 0;
	struct prefix *list = calloc(MAX, sizeof(*list)), *p;
	uint8_t *kmem = malloc(size + 5), *key = kmem + 1;
	uint64_t value, got;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_LPM_TRIE, 4 + size, 8, MAX, 1);
	for (n = 0; n < 60000; n++) {
		int what = g_random_int_range(0, 10), way = g_random_int_range(0, 3), want = 0, err;
		uint64_t flags = (uint64_t)g_random_int_range(0, 4);

		/* Few distinct bits, so that prefixes nest; now and then too long a prefix. */
		for (i = 0; i < size; i++)
			key[4 + i] = (uint8_t)(g_random_int() & g_random_int() & g_random_int());
		bits = (uint32_t)g_random_int_range(0, (gint32)size * 8 + 1);
		if (g_random_int_range(0, 20) == 0)
			bits = size * 8 + (uint32_t)g_random_int_range(1, 1 << 30);
		memcpy(key, &bits, 4);
		if (used && what != 9 && g_random_int_range(0, 2)) {
			/* One that is there. */
			do
				p = &list[g_random_int_range(0, MAX)];
			while (!p->used);
			bits = p->bits;
			memcpy(key, &bits, 4);
			memcpy(key + 4, p->data, size);
		}
		p = bits <= size * 8 ? prefix_exact(list, MAX, bits, key + 4) : NULL;
		if (what < 4) {
			value = (uint64_t)g_random_int() << 32 | g_random_int();
			if (flags > BPF_EXIST || bits > size * 8)
				want = -EINVAL;
			else if (p && flags == BPF_NOEXIST)
				want = -EEXIST;
			else if (!p && flags == BPF_EXIST)
				want = -ENOENT;
			else if (!p && used == MAX)
				want = -ENOSPC;
			err = op_update(&b, key, (uint8_t *)&value, flags, way);
			ck_assert_int_eq(err, want);
			if (err)
				continue;
			for (i = 0; !p; i++)
				if (!list[i].used)
					p = &list[i];
			used += !p->used;
			p->used = true;
			p->bits = bits;
			p->value = value;
			memcpy(p->data, key + 4, size);
		} else if (what < 7) {
			want = bits > size * 8 ? -EINVAL : p ? 0 : -ENOENT;
			ck_assert_int_eq(op_delete(&b, key, way), want);
			if (p) {
				p->used = false;
				used--;
			}
		} else {
			p = bits <= size * 8 ? prefix_longest(list, MAX, bits, key + 4) : NULL;
			ck_assert_int_eq(op_lookup(&b, key, (uint8_t *)&got, way), p ? 0 : -ENOENT);
			if (p)
				ck_assert_uint_eq(got, p->value);
		}
		if (n % 5000 == 0)
			lpm_check_walk(&b, list, MAX, size);
	}
	lpm_check_walk(&b, list, MAX, size);
	box_close(&b);
	free(list);
	free(kmem);
}
END_TEST

/* ------------------------------------------------------------------ threads
 * Keys 0..15 are never deleted, so a look-up must always find them, whatever happens around them; the
 * others come and go.  At the end nothing may be lost: the map can be filled to the brim.
 */
enum { STABLE = 16, KEYS = 64, ROUNDS = 60000 };

struct crowd {
	struct box b;
	bool lpm;
	int stop;
	int errors;
};

/* For the trie, prefixes of 16..32 bits below one another. */
static uint64_t crowd_key(const struct crowd *c, uint32_t n)
{
	uint8_t key[8] = { 0 };
	uint32_t bits = n < STABLE ? 32 : 8 + n % 24;

	if (!c->lpm)
		return n;
	memcpy(key, &bits, 4);
	key[4] = 10;
	key[5] = (uint8_t)(n % 4);
	key[6] = (uint8_t)(n * 37);
	key[7] = (uint8_t)n;
	memcpy(&n, key, 4);
	return (uint64_t)n | (uint64_t)key[4] << 32 | (uint64_t)key[5] << 40 | (uint64_t)key[6] << 48 |
	       (uint64_t)key[7] << 56;
}

static void *crowd_write(void *arg)
{
	struct crowd *c = arg;
	GRand *random = g_rand_new();
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		uint32_t n = (uint32_t)g_rand_int_range(random, 0, KEYS);
		uint64_t key = crowd_key(c, n), value = n;
		struct gp_lane lane = new_lane();
		int64_t err;

		if (n >= STABLE && g_rand_boolean(random))
			err = gp_helper_map_delete(&lane, &c->b.map, (uint8_t *)&key, DESC(&c->b));
		else
			err = gp_helper_map_update(&lane, &c->b.map, (uint8_t *)&key, (uint8_t *)&value, 0,
						   DESC(&c->b));
		if (err && err != -ENOENT)
			__atomic_fetch_add(&c->errors, 1, __ATOMIC_RELAXED);
	}
	g_rand_free(random);
	return NULL;
}

static void *crowd_read(void *arg)
{
	struct crowd *c = arg;
	uint32_t i;

	for (i = 0; !__atomic_load_n(&c->stop, __ATOMIC_RELAXED); i++) {
		uint64_t key = crowd_key(c, i % STABLE), at;
		struct gp_lane lane = new_lane();

		at = gp_helper_map_lookup(&lane, &c->b.map, (uint8_t *)&key, DESC(&c->b));
		if (!at || gp_load64((uint64_t *)(void *)(c->b.map.values + at - 1)) != i % STABLE)
			__atomic_fetch_add(&c->errors, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Large values, each filled with its key, that come and go and are written again. */
enum { WHOLE_KEYS = 4, WHOLE_WORDS = 512 };

static void *whole_write(void *arg)
{
	struct crowd *c = arg;
	uint64_t value[WHOLE_WORDS], round = 0;
	uint32_t i;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		uint64_t key = crowd_key(c, round++ % WHOLE_KEYS);
		struct gp_lane lane = new_lane();

		for (i = 0; i < WHOLE_WORDS; i++)
			value[i] = key ^ round << 56;
		if (round % 3 == 0)
			gp_helper_map_delete_any(&lane, &c->b.map, (uint8_t *)&key);
		gp_helper_map_update_any(&lane, &c->b.map, (uint8_t *)&key, (uint8_t *)value, 0);
	}
	return NULL;
}

START_TEST(test_whole)
{
	struct crowd c = { .lpm = _i };
	uint64_t value[WHOLE_WORDS], key;
	uint32_t i, n, found = 0, torn = 0, other = 0;
	pthread_t writer[2];

	box_open(&c.b, c.lpm ? VIRTIO_GPGPU_MAP_LPM_TRIE : VIRTIO_GPGPU_MAP_HASH, 8, sizeof(value),
		 WHOLE_KEYS, 1);
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&writer[i], NULL, whole_write, &c), 0);
	for (n = 0; n < 2000000 && found < 20000; n++) {
		key = crowd_key(&c, n % WHOLE_KEYS);
		if (gp_map_lookup(&c.b.map, &key, value))
			continue;
		found++;
		other += (value[0] ^ key) << 8 != 0;
		for (i = 1; i < WHOLE_WORDS; i++)
			torn += value[i] != value[0];
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(writer[i], NULL);
	ck_assert_uint_gt(found, 0);
	ck_assert_uint_eq(torn, 0);
	ck_assert_uint_eq(other, 0);
	box_close(&c.b);
}
END_TEST

START_TEST(test_threads)
{
	struct crowd c = { .lpm = _i };
	pthread_t writer[2], reader[2];
	uint32_t i, count = 0;
	uint64_t key, value;
	int err;

	box_open(&c.b, c.lpm ? VIRTIO_GPGPU_MAP_LPM_TRIE : VIRTIO_GPGPU_MAP_HASH, 8, 8, KEYS, 1);
	if (!c.lpm) {
		/* Long chains. */
		c.b.map.num_buckets = 4;
		c.b.desc.num_buckets = 4;
	}
	for (i = 0; i < STABLE; i++) {
		key = crowd_key(&c, i);
		value = i;
		ck_assert_int_eq(gp_map_update(&c.b.map, &key, &value, 0), 0);
	}
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_create(&reader[i], NULL, crowd_read, &c), 0);
		ck_assert_int_eq(pthread_create(&writer[i], NULL, crowd_write, &c), 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(writer[i], NULL);
	__atomic_store_n(&c.stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	ck_assert_int_eq(c.errors, 0);

	for (err = gp_map_next_key(&c.b.map, NULL, &key); !err; err = gp_map_next_key(&c.b.map, &key, &key))
		ck_assert_uint_le(++count, KEYS);
	ck_assert_int_eq(err, -ENOENT);
	for (i = 0; count < KEYS; i++) {
		/* Fresh keys: another first octet. */
		key = c.lpm ? UINT64_C(32) | (uint64_t)(i + 1) << 48 | UINT64_C(77) << 32 : 1000 + i;
		value = 0;
		ck_assert_int_eq(gp_map_update(&c.b.map, &key, &value, BPF_NOEXIST), 0);
		count++;
	}
	key = c.lpm ? UINT64_C(32) | UINT64_C(78) << 32 : 5000;
	ck_assert_int_eq(gp_map_update(&c.b.map, &key, &value, 0), c.lpm ? -ENOSPC : -E2BIG);
	box_close(&c.b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("maps");
	TCase *t = tcase_create("maps");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_shape, 0, G_N_ELEMENTS(shapes));
	tcase_add_test(t, test_array);
	tcase_add_test(t, test_percpu);
	tcase_add_test(t, test_frozen);
	tcase_add_loop_test(t, test_hash_model, 0, G_N_ELEMENTS(hashes));
	tcase_add_test(t, test_hash_fuel);
	tcase_add_test(t, test_lpm_fuel);
	tcase_add_test(t, test_value_fuel);
	tcase_add_loop_test(t, test_lock_fuel, 0, 2);
	tcase_add_loop_test(t, test_lpm_model, 0, G_N_ELEMENTS(lpm_sizes));
	tcase_add_loop_test(t, test_threads, 0, 2);
	tcase_add_loop_test(t, test_whole, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
