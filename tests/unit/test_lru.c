/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lru.c - hashes with a copy for each CPU and hashes that evict: what they keep, what they throw out, what is
 * left over by those that work on them at once.
 */
#include <pthread.h>
#include "box.h"
#include "rt/map_hash.h"
#include "rt/mem.h"

static uint32_t count_keys(struct box *b)
{
	uint64_t key;
	uint32_t n = 0;
	int err;

	for (err = gp_map_next_key(&b->map, NULL, &key); !err; err = gp_map_next_key(&b->map, &key, &key))
		ck_assert_uint_le(++n, b->desc.max_entries);
	ck_assert_int_eq(err, -ENOENT);
	return n;
}

/* -------------------------------------------------------------- copies per CPU */

enum { CPUS = 3 };

static const uint32_t percpu_types[] = { VIRTIO_GPGPU_MAP_PERCPU_HASH, VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH };

START_TEST(test_percpu_hash)
{
	uint64_t key = 7, mine, all[CPUS] = { 1, 2, 3 }, got[CPUS];
	struct box b;
	int way;

	box_open(&b, percpu_types[_i], 8, 8, 4, CPUS);
	ck_assert_uint_eq(gp_map_value_bytes(&b.map), sizeof(all));
	for (way = 1; way < 3; way++) {
		/* A new element is zeros for all others, whatever was in its place. */
		ck_assert_int_eq(gp_map_update(&b.map, &key, all, BPF_NOEXIST), 0);
		ck_assert_int_eq(gp_map_lookup(&b.map, &key, got), 0);
		ck_assert_mem_eq(got, all, sizeof(all));
		ck_assert_int_eq(op_delete(&b, (uint8_t *)&key, way), 0);
		thread.cpu = 1;
		mine = 9;
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_NOEXIST, way), 0);
		ck_assert_int_eq(gp_map_lookup(&b.map, &key, got), 0);
		ck_assert(got[0] == 0 && got[1] == 9 && got[2] == 0);
		/* An old one only changes here. */
		thread.cpu = 2;
		mine = 5;
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_EXIST, way), 0);
		ck_assert_int_eq(gp_map_lookup(&b.map, &key, got), 0);
		ck_assert(got[0] == 0 && got[1] == 9 && got[2] == 5);
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&mine, way), 0);
		ck_assert_uint_eq(mine, 5);
		thread.cpu = 0;
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&mine, way), 0);
		ck_assert_uint_eq(mine, 0);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_NOEXIST, way), -EEXIST);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, 3, way), -EINVAL);
		ck_assert_int_eq(gp_map_pop(&b.map, &key, got), 0);
		ck_assert(got[0] == 0 && got[1] == 9 && got[2] == 5);
		ck_assert_int_eq(gp_map_pop(&b.map, &key, got), -ENOENT);
		ck_assert_int_eq(op_update(&b, (uint8_t *)&key, (uint8_t *)&mine, BPF_EXIST, way), -ENOENT);
	}
	box_close(&b);
}
END_TEST

START_TEST(test_other_copy)
{
	uint32_t types[] = { VIRTIO_GPGPU_MAP_PERCPU_ARRAY, VIRTIO_GPGPU_MAP_PERCPU_HASH,
			     VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH };
	uint64_t all[CPUS] = { 11, 12, 13 }, at, cpu;
	struct gp_lane lane = new_lane();
	uint32_t key = 2, none = 9;
	struct box b;

	box_open(&b, types[_i], 4, 8, 4, CPUS);
	ck_assert_int_eq(gp_map_update(&b.map, &key, all, 0), 0);
	for (cpu = 0; cpu < CPUS; cpu++) {
		at = gp_helper_map_lookup_percpu(&lane, &b.map, (uint8_t *)&key, cpu, DESC(&b));
		ck_assert_uint_ne(at, 0);
		ck_assert_uint_le(at - 1 + 8, b.map.values_size);
		ck_assert_uint_eq(*(uint64_t *)(void *)(b.map.values + at - 1), all[cpu]);
		ck_assert_uint_eq(gp_helper_map_lookup_percpu_any(&lane, &b.map, (uint8_t *)&key, cpu), at);
	}
	ck_assert_uint_eq(gp_helper_map_lookup_percpu(&lane, &b.map, (uint8_t *)&key, CPUS, DESC(&b)), 0);
	ck_assert_uint_eq(gp_helper_map_lookup_percpu_any(&lane, &b.map, (uint8_t *)&key, UINT32_MAX), 0);
	ck_assert_uint_eq(gp_helper_map_lookup_percpu(&lane, &b.map, (uint8_t *)&none, 0, DESC(&b)), 0);
	/* A thread that has no copy has no values. */
	thread.cpu = CPUS;
	ck_assert_uint_eq(gp_helper_map_lookup(&lane, &b.map, (uint8_t *)&key, DESC(&b)), 0);
	ck_assert_uint_eq(gp_helper_map_lookup_any(&lane, &b.map, (uint8_t *)&key), 0);
	thread.cpu = 0;
	b.map.type = VIRTIO_GPGPU_MAP_HASH;
	ck_assert_uint_eq(gp_helper_map_lookup_percpu_any(&lane, &b.map, (uint8_t *)&key, 0), 0);
	box_close(&b);
}
END_TEST

/* ------------------------------------------------------------------- eviction */

static const uint32_t lru_types[] = { VIRTIO_GPGPU_MAP_LRU_HASH, VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH };

static int put(struct box *b, uint64_t key, uint64_t flags, int way)
{
	uint64_t value[CPUS] = { key * 3, key * 3, key * 3 };

	return op_update(b, (uint8_t *)&key, (uint8_t *)value, flags, way);
}

static bool has(struct box *b, uint64_t key)
{
	uint64_t value[CPUS];

	return !gp_map_lookup(&b->map, &key, value);
}

/* Random keys, more than there is room for: never an error, the map fills and stays full, the last one is there. */
START_TEST(test_lru_random)
{
	enum { MAX = 50, RANGE = 400, STEPS = 20000 };
	struct gp_lane lane = new_lane();
	uint64_t key, value, seen = 0, at;
	struct box b;
	uint32_t n;

	box_open(&b, lru_types[_i], 8, 8, MAX, 1);
	for (n = 0; n < STEPS; n++) {
		int way = g_random_int_range(0, 3);

		key = (uint64_t)g_random_int_range(0, RANGE);
		ck_assert_int_eq(put(&b, key, BPF_ANY, way), 0);
		ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&value, 1 + way % 2), 0);
		ck_assert_uint_eq(value, key * 3);
		/* It was looked at a moment ago, so the next insert does not take it. */
		do {
			seen = (uint64_t)g_random_int_range(RANGE, 2 * RANGE);
		} while (has(&b, seen));
		ck_assert_int_eq(put(&b, seen, BPF_NOEXIST, way), 0);
		ck_assert(has(&b, key));
		if (n % 7 == 0)
			ck_assert_int_eq(op_delete(&b, (uint8_t *)&seen, way), 0);
		if (n % 1000 == 0)
			count_keys(&b);
	}
	while (count_keys(&b) < MAX)
		ck_assert_int_eq(put(&b, 100000 + seen++, BPF_NOEXIST, 0), 0);
	at = gp_helper_map_lookup(&lane, &b.map, (uint8_t *)&key, DESC(&b));
	ck_assert_uint_le(at, b.map.values_size);
	box_close(&b);
}
END_TEST

/* Whom the program looks at stays; whom only the guest looks at does not count. */
START_TEST(test_lru_choice)
{
	uint64_t value, key = 1;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_LRU_HASH, 8, 8, 3, 1);
	ck_assert_int_eq(put(&b, 1, BPF_ANY, 0), 0);
	ck_assert_int_eq(put(&b, 2, BPF_ANY, 0), 0);
	ck_assert_int_eq(put(&b, 3, BPF_ANY, 0), 0);
	ck_assert(has(&b, 1));
	ck_assert_int_eq(put(&b, 4, BPF_ANY, 0), 0);
	ck_assert(!has(&b, 1) && has(&b, 2) && has(&b, 3) && has(&b, 4));
	/* Element 2 is next; it is looked at, so 3 goes. */
	key = 2;
	ck_assert_int_eq(op_lookup(&b, (uint8_t *)&key, (uint8_t *)&value, _i), 0);
	ck_assert_int_eq(put(&b, 5, BPF_ANY, 0), 0);
	ck_assert_int_eq(has(&b, 2), _i != 0);
	ck_assert_int_eq(has(&b, 3), _i == 0);
	/* What need not be made evicts nobody. */
	ck_assert_int_eq(put(&b, 77, BPF_EXIST, 1), -ENOENT);
	ck_assert_int_eq(put(&b, 5, BPF_NOEXIST, 1), -EEXIST);
	ck_assert_uint_eq(count_keys(&b), 3);
	/* Where one was deleted there is room. */
	key = 4;
	ck_assert_int_eq(op_delete(&b, (uint8_t *)&key, 1), 0);
	ck_assert_int_eq(put(&b, 6, BPF_NOEXIST, 1), 0);
	ck_assert(has(&b, 5) && has(&b, 6));
	box_close(&b);
}
END_TEST

/* All of them looked at, and many more than the hand takes marks away: an insert is bounded, and is paid for. */
START_TEST(test_lru_all_marked)
{
	enum { MAX = 20 * GP_LRU_MARKS };
	struct gp_lane lane = new_lane();
	uint64_t key, value = 1, fuel;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_LRU_HASH, 8, 8, MAX, 1);
	for (key = 0; key < MAX; key++) {
		ck_assert_int_eq(put(&b, key, BPF_NOEXIST, 0), 0);
		gp_helper_map_lookup(&lane, &b.map, (uint8_t *)&key, DESC(&b));
	}
	fuel = lane.fuel;
	ck_assert_int_eq(gp_helper_map_update(&lane, &b.map, (uint8_t *)&key, (uint8_t *)&value, 0, DESC(&b)),
			 0);
	ck_assert_uint_ge(fuel - lane.fuel, GP_LRU_MARKS / 4);
	ck_assert_uint_lt(fuel - lane.fuel, GP_LRU_MARKS);
	ck_assert_uint_eq(count_keys(&b), MAX);
	box_close(&b);
}
END_TEST

/* -------------------------------------------------------------------- threads */

enum { THREADS = 4, ROUNDS = 30000 };

struct crowd {
	struct box b;
	uint64_t range;
	int errors;
};

static void *crowd_work(void *arg)
{
	struct crowd *c = arg;
	GRand *random = g_rand_new();
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t key = (uint64_t)g_rand_int_range(random, 0, (int)c->range), value = key * 3;
		struct gp_thread self = { .cpu = 0 };
		struct gp_lane lane = { .env = &env, .thread = &self, .fuel = 100000000 };
		int64_t err = 0;

		switch (g_rand_int_range(random, 0, 8)) {
		case 0:
			gp_helper_map_delete(&lane, &c->b.map, (uint8_t *)&key, DESC(&c->b));
			break;
		case 1:
		case 2:
			gp_helper_map_lookup(&lane, &c->b.map, (uint8_t *)&key, DESC(&c->b));
			break;
		case 3:
			/* Whole, and the key's own. */
			err = gp_map_lookup(&c->b.map, &key, &value);
			err = err == -ENOENT || (!err && value == key * 3) ? 0 : -1;
			break;
		default:
			err = gp_helper_map_update(&lane, &c->b.map, (uint8_t *)&key, (uint8_t *)&value, 0,
						   DESC(&c->b));
		}
		if (err)
			__atomic_fetch_add(&c->errors, 1, __ATOMIC_RELAXED);
	}
	g_rand_free(random);
	return NULL;
}

/* How many elements, in how many chains, for how many keys. */
static const struct {
	uint32_t max, buckets;
	uint64_t range;
} crowds[] = { { 64, 64, 300 }, { 64, 4, 300 }, { 64, 1, 80 }, { 2, 2, 10 }, { 1, 1, 4 } };

START_TEST(test_lru_threads)
{
	struct crowd c = { .range = crowds[_i].range };
	pthread_t thread_of[THREADS];
	uint64_t key;
	int i;

	box_open(&c.b, VIRTIO_GPGPU_MAP_LRU_HASH, 8, 8, crowds[_i].max, 1);
	c.b.map.num_buckets = c.b.desc.num_buckets = crowds[_i].buckets;
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread_of[i], NULL, crowd_work, &c), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread_of[i], NULL);
	ck_assert_int_eq(c.errors, 0);
	/* Nothing was lost: fresh keys fill it to the brim. */
	for (key = 1000; key < 1000 + 2 * crowds[_i].max; key++)
		ck_assert_int_eq(put(&c.b, key, BPF_NOEXIST, 1), 0);
	ck_assert_uint_eq(count_keys(&c.b), crowds[_i].max);
	box_close(&c.b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lru");
	TCase *t = tcase_create("lru");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_percpu_hash, 0, G_N_ELEMENTS(percpu_types));
	tcase_add_loop_test(t, test_other_copy, 0, 3);
	tcase_add_loop_test(t, test_lru_random, 0, G_N_ELEMENTS(lru_types));
	tcase_add_loop_test(t, test_lru_choice, 0, 3);
	tcase_add_test(t, test_lru_all_marked);
	tcase_add_loop_test(t, test_lru_threads, 0, G_N_ELEMENTS(crowds));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
