/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_map_kinds.c - maps that are not look-up tables of data: ports, CPUs, programs, maps of maps, queues, stacks,
 * Bloom filters, routes. Results are the kernel's, row by row.
 */
#include <pthread.h>
#include "box.h"
#include "rt/map_queue.h"
#include "rt/mem.h"

/* ------------------------------------------------------------------- shapes */

#define M(type)	  VIRTIO_GPGPU_MAP_##type
#define R(reason) VIRTIO_GPGPU_R_##reason

static const struct shape {
	uint32_t type, key_size, value_size, max_entries, flags, reason;
} shapes[] = {
	{ M(LRU_HASH), 512, 65536, 1, 0, 0 },
	{ M(LRU_HASH), 0, 8, 1, 0, R(SIZE) },
	{ M(LRU_HASH), 4, 8, 1, 1, 0 },
	{ M(PERCPU_HASH), 4, 0, 1, 0, R(SIZE) },
	{ M(PERCPU_HASH), 4, 65536, 1u << 20, 0, 0 },
	{ M(PERCPU_HASH), 4, 65536, 1u << 30, 0, R(COUNT) },
	{ M(LRU_PERCPU_HASH), 513, 8, 1, 0, R(SIZE) },
	{ M(PROG_ARRAY), 4, 4, 1, 0, 0 },
	{ M(PROG_ARRAY), 4, 8, 1, 0, R(SIZE) },
	{ M(PROG_ARRAY), 8, 4, 1, 0, R(SIZE) },
	{ M(PROG_ARRAY), 4, 4, UINT32_MAX, 0, R(COUNT) },
	{ M(PROG_ARRAY), 4, 4, 1, 1, R(FLAGS) },
	{ M(PERF_EVENT_ARRAY), 4, 4, 128, 0, 0 },
	{ M(PERF_EVENT_ARRAY), 4, 4, UINT32_MAX, 0, 0 },
	{ M(PERF_EVENT_ARRAY), 4, 8, 1, 0, R(SIZE) },
	{ M(ARRAY_OF_MAPS), 4, 4, 1u << 20, 0, 0 },
	{ M(ARRAY_OF_MAPS), 8, 4, 1, 0, R(SIZE) },
	{ M(HASH_OF_MAPS), 40, 4, 1, 0, 0 },
	{ M(HASH_OF_MAPS), 40, 8, 1, 0, R(SIZE) },
	{ M(DEVMAP), 4, 4, 1, 0, 0 },
	{ M(DEVMAP), 4, 8, 1, 0, 0 },
	{ M(DEVMAP), 4, 5, 1, 0, R(SIZE) },
	{ M(DEVMAP), 4, 12, 1, 0, R(SIZE) },
	{ M(DEVMAP_HASH), 4, 7, 1, 0, R(SIZE) },
	{ M(DEVMAP_HASH), 8, 8, 1, 0, R(SIZE) },
	{ M(CPUMAP), 4, 8, 64, 0, 0 },
	{ M(CPUMAP), 4, 0, 64, 0, R(SIZE) },
	{ M(QUEUE), 0, 1, 1, 0, 0 },
	{ M(QUEUE), 4, 8, 1, 0, R(SIZE) },
	{ M(QUEUE), 0, 0, 1, 0, R(SIZE) },
	{ M(STACK), 0, 8, 0, 0, R(COUNT) },
	{ M(BLOOM_FILTER), 0, 512, 1, 0, 0 },
	{ M(BLOOM_FILTER), 0, 513, 1, 0, R(SIZE) },
	{ M(BLOOM_FILTER), 0, 8, 1u << 30, 0, 0 },
	{ M(RINGBUF), 0, 0, 4096, 0, 0 },
	{ M(RINGBUF), 0, 0, 1u << 30, 0, 0 },
	{ M(RINGBUF), 0, 0, 2048, 0, R(COUNT) },
	{ M(RINGBUF), 0, 0, 4097, 0, R(COUNT) },
	{ M(RINGBUF), 0, 0, 12288, 0, R(COUNT) },
	{ M(RINGBUF), 0, 0, 1u << 31, 0, R(COUNT) },
	{ M(RINGBUF), 0, 4, 4096, 0, R(SIZE) },
	{ M(RINGBUF), 4, 0, 4096, 0, R(SIZE) },
	{ M(FIB), 24, 32, 100, 0, 0 },
	{ M(FIB), 20, 32, 100, 0, R(SIZE) },
	{ M(FIB), 24, 16, 100, 0, R(SIZE) },
};

START_TEST(test_shape)
{
	const struct shape *s = &shapes[_i];
	struct gp_map_desc desc = { .type = s->type,
				    .key_size = s->key_size,
				    .value_size = s->value_size,
				    .max_entries = s->max_entries,
				    .flags = s->flags };

	ck_assert_uint_eq(gp_map_check(&desc, 4), s->reason);
	if (s->reason)
		return;
	ck_assert_uint_gt(gp_map_index_bytes(&desc), 0);
	ck_assert_uint_lt(gp_map_bytes(&desc), UINT64_C(1) << 48);
}
END_TEST

/* ------------------------------------------- arrays of things that may be absent */

enum { UPDATE, DELETE, LOOKUP, NEXT };

/* On a map of 4 elements, of which element 1 is there. */
static const struct step {
	uint32_t type, what, key;
	uint32_t value[2];
	uint64_t flags;
	int err;
} steps[] = {
	{ M(DEVMAP), LOOKUP, 1, { 7, 0 }, 0, 0 },
	{ M(DEVMAP), LOOKUP, 0, { 0, 0 }, 0, -ENOENT },
	{ M(DEVMAP), LOOKUP, 4, { 0, 0 }, 0, -ENOENT },
	{ M(DEVMAP), LOOKUP, UINT32_MAX, { 0, 0 }, 0, -ENOENT },
	{ M(DEVMAP), UPDATE, 0, { 3, 0 }, 0, 0 },
	{ M(DEVMAP), UPDATE, 0, { 3, 0 }, BPF_EXIST, 0 },
	{ M(DEVMAP), UPDATE, 0, { 3, 0 }, BPF_NOEXIST, -EEXIST },
	{ M(DEVMAP), UPDATE, 0, { 3, 0 }, 3, -EINVAL },
	{ M(DEVMAP), UPDATE, 0, { 3, 0 }, UINT64_MAX, -EINVAL },
	{ M(DEVMAP), UPDATE, 4, { 3, 0 }, 0, -E2BIG },
	{ M(DEVMAP), UPDATE, 0, { 3, 5 }, 0, -EINVAL }, /* with a program of its own */
	{ M(DEVMAP), UPDATE, 1, { 0, 0 }, 0, 0 },
	{ M(DEVMAP), DELETE, 1, { 0, 0 }, 0, 0 },
	{ M(DEVMAP), DELETE, 0, { 0, 0 }, 0, 0 },
	{ M(DEVMAP), DELETE, 4, { 0, 0 }, 0, -EINVAL },
	{ M(DEVMAP_HASH), LOOKUP, 1, { 7, 0 }, 0, 0 },
	{ M(DEVMAP_HASH), LOOKUP, 2, { 7, 0 }, 0, -ENOENT },
	{ M(DEVMAP_HASH), UPDATE, 1000, { 3, 0 }, 0, 0 },
	{ M(DEVMAP_HASH), UPDATE, 1000, { 3, 0 }, BPF_EXIST, 0 }, /* as the kernel has it */
	{ M(DEVMAP_HASH), UPDATE, 1, { 3, 0 }, BPF_NOEXIST, -EEXIST },
	{ M(DEVMAP_HASH), UPDATE, 1, { 0, 0 }, 0, -EINVAL },
	{ M(DEVMAP_HASH), UPDATE, 1, { 3, 0 }, 3, -EINVAL },
	{ M(DEVMAP_HASH), UPDATE, 1, { 3, 5 }, 0, -EINVAL },
	{ M(DEVMAP_HASH), DELETE, 1, { 0, 0 }, 0, 0 },
	{ M(DEVMAP_HASH), DELETE, 2, { 0, 0 }, 0, -ENOENT },
	{ M(CPUMAP), LOOKUP, 1, { 7, 0 }, 0, 0 },
	{ M(CPUMAP), UPDATE, 0, { 16384, 0 }, 0, 0 },
	{ M(CPUMAP), UPDATE, 0, { 16385, 0 }, 0, -EOVERFLOW },
	{ M(CPUMAP), UPDATE, 0, { 3, 5 }, 0, -EINVAL },
	{ M(CPUMAP), UPDATE, 4, { 3, 0 }, 0, -E2BIG },
	{ M(CPUMAP), DELETE, 4, { 0, 0 }, 0, -EINVAL },
	{ M(PROG_ARRAY), LOOKUP, 1, { 1, 0 }, 0, 0 },
	{ M(PROG_ARRAY), UPDATE, 0, { 1, 0 }, 0, 0 },
	{ M(PROG_ARRAY), UPDATE, 0, { 2, 0 }, 0, -EINVAL },
	{ M(PROG_ARRAY), UPDATE, 0, { 0, 0 }, 0, -EINVAL },
	{ M(PROG_ARRAY), UPDATE, 0, { 1, 0 }, BPF_EXIST, -EINVAL },
	{ M(PROG_ARRAY), UPDATE, 4, { 1, 0 }, 0, -E2BIG },
	{ M(PROG_ARRAY), DELETE, 1, { 0, 0 }, 0, 0 },
	{ M(PROG_ARRAY), DELETE, 0, { 0, 0 }, 0, -ENOENT },
	{ M(PROG_ARRAY), DELETE, 4, { 0, 0 }, 0, -E2BIG },
	{ M(ARRAY_OF_MAPS), LOOKUP, 1, { 1, 0 }, 0, 0 },
	{ M(ARRAY_OF_MAPS), UPDATE, 0, { GP_MAX_INNER, 0 }, 0, 0 },
	{ M(ARRAY_OF_MAPS), UPDATE, 0, { GP_MAX_INNER + 1, 0 }, 0, -EINVAL },
	{ M(ARRAY_OF_MAPS), UPDATE, 0, { 0, 0 }, 0, -EINVAL },
	{ M(ARRAY_OF_MAPS), UPDATE, 0, { UINT32_MAX, 0 }, 0, -EINVAL },
	{ M(ARRAY_OF_MAPS), UPDATE, 0, { 1, 0 }, BPF_NOEXIST, -EINVAL },
	{ M(ARRAY_OF_MAPS), DELETE, 0, { 0, 0 }, 0, -ENOENT },
	{ M(HASH_OF_MAPS), LOOKUP, 1, { 1, 0 }, 0, 0 },
	{ M(HASH_OF_MAPS), UPDATE, 2, { 5, 0 }, BPF_NOEXIST, 0 },
	{ M(HASH_OF_MAPS), UPDATE, 1, { 5, 0 }, BPF_NOEXIST, -EEXIST },
	{ M(HASH_OF_MAPS), UPDATE, 1, { 0, 0 }, 0, -EINVAL },
	{ M(HASH_OF_MAPS), DELETE, 2, { 0, 0 }, 0, -ENOENT },
	{ M(PERF_EVENT_ARRAY), UPDATE, 0, { 1, 0 }, 0, -EINVAL },
	{ M(PERF_EVENT_ARRAY), DELETE, 0, { 0, 0 }, 0, -EINVAL },
	{ M(PERF_EVENT_ARRAY), LOOKUP, 0, { 0, 0 }, 0, -EINVAL },
	{ M(PERF_EVENT_ARRAY), NEXT, 0, { 0, 0 }, 0, -EINVAL },
	{ M(DEVMAP), NEXT, 3, { 0, 0 }, 0, -ENOENT },
	{ M(DEVMAP), NEXT, 2, { 0, 0 }, 0, 0 },
	{ M(DEVMAP_HASH), NEXT, 1, { 0, 0 }, 0, -ENOENT },
	{ M(PROG_ARRAY), NEXT, 9, { 0, 0 }, 0, 0 },
};

START_TEST(test_step)
{
	const struct step *step = &steps[_i];
	bool port = step->type == M(DEVMAP) || step->type == M(DEVMAP_HASH) || step->type == M(CPUMAP);
	uint32_t one = 1, first[2] = { port ? 7 : 1, 0 }, got[2] = { 0 }, next;
	struct box b;
	int err;

	box_open(&b, step->type, 4, port ? 8 : 4, 4, 1);
	if (step->type != M(PERF_EVENT_ARRAY))
		ck_assert_int_eq(gp_map_update(&b.map, &one, first, 0), 0);
	switch (step->what) {
	case UPDATE:
		err = gp_map_update(&b.map, &step->key, step->value, step->flags);
		break;
	case DELETE:
		err = gp_map_delete(&b.map, &step->key);
		break;
	case LOOKUP:
		err = gp_map_lookup(&b.map, &step->key, got);
		break;
	default:
		err = gp_map_next_key(&b.map, &step->key, &next);
	}
	ck_assert_int_eq(err, step->err);
	if (!err && step->what == LOOKUP)
		ck_assert_uint_eq(got[0], step->value[0]);
	if (!err && step->what == DELETE)
		ck_assert_int_eq(gp_map_lookup(&b.map, &step->key, got), -ENOENT);
	if (!err && step->what == UPDATE) {
		ck_assert_int_eq(gp_map_lookup(&b.map, &step->key, got), step->value[0] ? 0 : -ENOENT);
		ck_assert_uint_eq(got[0], step->value[0]);
	}
	/* What stands for something else is not taken out as data. */
	if (step->type != M(DEVMAP_HASH))
		ck_assert_int_eq(gp_map_pop(&b.map, &one, got), -EINVAL);
	box_close(&b);
}
END_TEST

/* ------------------------------------------------------------------- redirect */

static const struct redirect {
	uint32_t type;
	uint64_t key, flags, verdict;
	uint32_t port;
} redirects[] = {
	{ M(DEVMAP), 1, 0, XDP_REDIRECT, 7 },
	{ M(DEVMAP), 1, XDP_PASS, XDP_REDIRECT, 7 },
	{ M(DEVMAP), 0x100000001, 0, XDP_REDIRECT, 7 }, /* the low half counts */
	{ M(DEVMAP), 0, 0, XDP_ABORTED, 0 },
	{ M(DEVMAP), 0, 3, XDP_TX, 0 },
	{ M(DEVMAP), 4, 2, XDP_PASS, 0 },
	{ M(DEVMAP), UINT32_MAX, 1, XDP_DROP, 0 },
	{ M(DEVMAP), 1, 4, XDP_ABORTED, 0 },
	{ M(DEVMAP), 1, BPF_F_BROADCAST, XDP_ABORTED, 0 },
	{ M(DEVMAP), 1, BPF_F_EXCLUDE_INGRESS, XDP_REDIRECT, 7 },
	{ M(DEVMAP), 1, 1ull << 63, XDP_ABORTED, 0 },
	{ M(DEVMAP_HASH), 1, 0, XDP_REDIRECT, 7 },
	{ M(DEVMAP_HASH), 2, 2, XDP_PASS, 0 },
	{ M(DEVMAP_HASH), 0x100000001, 0, XDP_REDIRECT, 7 },
	{ M(CPUMAP), 1, 0, XDP_REDIRECT, VIRTIO_GPGPU_EGRESS_CPU | 1 },
	{ M(CPUMAP), 2, 3, XDP_TX, 0 },
	{ M(CPUMAP), 1, BPF_F_EXCLUDE_INGRESS, XDP_ABORTED, 0 },
	{ M(HASH), 1, 0, XDP_ABORTED, 0 },
};

START_TEST(test_redirect)
{
	const struct redirect *row = &redirects[_i];
	uint32_t one = 1, value[2] = { 7, 0 };
	struct gp_lane lane;
	struct box b;
	int any;

	box_open(&b, row->type, 4, 8, 4, 1);
	ck_assert_int_eq(gp_map_update(&b.map, &one, value, 0), 0);
	for (any = 0; any < 2; any++) {
		lane = new_lane();
		ck_assert_uint_eq(any ? gp_helper_redirect_map_any(&lane, &b.map, row->key, row->flags)
				      : gp_helper_redirect_map(&lane, &b.map, row->key, row->flags, DESC(&b)),
				  row->verdict);
		ck_assert_uint_eq(lane.egress_port, row->port);
	}
	box_close(&b);
}
END_TEST

/* Where it fails, an earlier one does not count. */
START_TEST(test_redirect_forgets)
{
	struct gp_lane lane = new_lane();
	struct box b;

	box_open(&b, M(DEVMAP), 4, 4, 4, 1);
	gp_helper_redirect(&lane, 5, 0);
	ck_assert_uint_eq(gp_helper_redirect_map(&lane, &b.map, 0, XDP_PASS, DESC(&b)), XDP_PASS);
	ck_assert_uint_eq(lane.egress_port, 0);
	box_close(&b);
}
END_TEST

/* ------------------------------------------------------------------ maps of maps */

START_TEST(test_members)
{
	struct gp_map *table[40] = { NULL }, *maps[2];
	uint32_t key = 1, value = 12, other = 2;
	uint64_t handle = (32768ull + 11) << 48;
	struct gp_env e = { .maps = maps, .num_maps = 2, .inner = table, .num_inner = 40 };
	struct gp_lane lane = new_lane();
	struct box outer, inner, plain;

	box_open(&outer, _i ? M(HASH_OF_MAPS) : M(ARRAY_OF_MAPS), 4, 4, 4, 1);
	box_open(&inner, M(ARRAY), 4, 8, 2, 1);
	box_open(&plain, M(HASH), 4, 8, 2, 1);
	maps[0] = &plain.map;
	maps[1] = &outer.map;
	table[11] = table[30] = &inner.map;
	lane.env = &e;
	/* Programs see nothing of the values. */
	ck_assert_uint_eq(outer.map.values_size, 0);
	ck_assert_uint_eq(gp_helper_map_lookup(&lane, &outer.map, (uint8_t *)&key, DESC(&outer)), 0);
	ck_assert_uint_eq(gp_helper_map_lookup_any(&lane, &outer.map, (uint8_t *)&key), 0);

	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, handle));
	ck_assert_ptr_null(gp_rt_map_any(&lane, handle));
	ck_assert_int_eq(gp_map_update(&outer.map, &key, &value, 0), 0);
	ck_assert_uint_eq(gp_helper_map_lookup_inner(&lane, &outer.map, (uint8_t *)&key, DESC(&outer)),
			  handle);
	ck_assert_uint_eq(gp_helper_map_lookup_handle(&lane, &outer.map, (uint8_t *)&key, 0), handle);
	ck_assert_uint_eq(gp_helper_map_lookup_inner(&lane, &outer.map, (uint8_t *)&other, DESC(&outer)), 0);
	ck_assert_ptr_eq(gp_rt_inner(&lane, &outer.map, handle), &inner.map);
	ck_assert_ptr_eq(gp_rt_map_any(&lane, handle), &inner.map);
	ck_assert_uint_eq(gp_rt_map_bias(handle), (16384ull + 11) << 48);
	ck_assert_uint_eq(gp_rt_map_bias((4096ull + 1) << 48), (32ull + 1) << 48);

	/* Nothing near it. */
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, handle + 1));
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, handle - 1));
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, (32768ull + 30) << 48));
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, (32768ull + 40) << 48));
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, UINT64_MAX << 48));
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, 0));
	ck_assert_ptr_null(gp_rt_map_any(&lane, handle + 1));
	ck_assert_ptr_null(gp_rt_map_any(&lane, (32768ull + 30) << 48));
	ck_assert_ptr_null(gp_rt_map_any(&lane, (4096ull + 2) << 48));
	ck_assert_ptr_null(gp_rt_map_any(&lane, 0));
	ck_assert_ptr_eq(gp_rt_map_any(&lane, 4096ull << 48), &plain.map);
	/* Its values, by a handle. */
	ck_assert_ptr_eq(gp_rt_region(&lane, ((16384ull + 11) << 48) + 8, 8, 1), inner.map.values + 8);
	ck_assert_ptr_null(gp_rt_region(&lane, ((16384ull + 11) << 48) + 9, 8, 1));
	ck_assert_ptr_null(gp_rt_region(&lane, (16384ull + 30) << 48, 8, 0));
	ck_assert_ptr_null(gp_rt_region(&lane, (32ull + 1) << 48, 1, 0));

	/* An element that is gone can still be reached until the engine says so; one that never came in cannot. */
	ck_assert_int_eq(gp_map_delete(&outer.map, &key), 0);
	ck_assert_ptr_eq(gp_rt_inner(&lane, &outer.map, handle), &inner.map);
	gp_map_forget_inner(&outer.map, 11);
	ck_assert_ptr_null(gp_rt_inner(&lane, &outer.map, handle));
	value = 31;
	other = 9;
	ck_assert_int_ne(gp_map_update(&outer.map, &other, &value, BPF_EXIST), 0);
	ck_assert_ptr_null(gp_rt_map_any(&lane, (32768ull + 30) << 48));
	gp_map_forget_inner(&outer.map, UINT32_MAX);
	gp_map_forget_inner(&plain.map, 1);
	box_close(&outer);
	box_close(&inner);
	box_close(&plain);
}
END_TEST

START_TEST(test_fits)
{
	struct gp_map_desc outer = { .type = M(HASH_OF_MAPS),
				     .inner = { M(HASH), 4, 8, 16, VIRTIO_GPGPU_MAP_F_RDONLY_PROG, 0 } };
	struct gp_map_desc desc = { .type = M(HASH),
				    .key_size = 4,
				    .value_size = 8,
				    .max_entries = 99,
				    .flags = VIRTIO_GPGPU_MAP_F_RDONLY_PROG };
	struct gp_map_desc bad;

	ck_assert(gp_map_inner_fits(&outer, &desc));
	bad = desc, bad.key_size = 8;
	ck_assert(!gp_map_inner_fits(&outer, &bad));
	bad = desc, bad.value_size = 4;
	ck_assert(!gp_map_inner_fits(&outer, &bad));
	bad = desc, bad.flags = 0;
	ck_assert(!gp_map_inner_fits(&outer, &bad));
	bad = desc, bad.type = M(LRU_HASH);
	ck_assert(!gp_map_inner_fits(&outer, &bad));
	outer.inner.type = desc.type = M(ARRAY);
	ck_assert(!gp_map_inner_fits(&outer, &desc));
	desc.max_entries = 16;
	ck_assert(gp_map_inner_fits(&outer, &desc));
	outer.inner.type = desc.type = M(PROG_ARRAY);
	ck_assert(!gp_map_inner_fits(&outer, &desc));
	ck_assert(!gp_map_may_be_inner(M(ARRAY_OF_MAPS)) && !gp_map_may_be_inner(M(HASH_OF_MAPS)));
	ck_assert(!gp_map_may_be_inner(M(PROG_ARRAY)) && !gp_map_may_be_inner(M(FIB)));
	ck_assert(!gp_map_may_be_inner(0) && !gp_map_may_be_inner(UINT32_MAX));
	ck_assert(gp_map_may_be_inner(M(RINGBUF)) && gp_map_may_be_inner(M(LRU_HASH)));
}
END_TEST

/* ------------------------------------------------------------------ tail calls */

static const struct tail {
	uint32_t made;
	uint64_t index;
	int64_t err;
} tails[] = {
	{ 0, 1, 0 },
	{ 32, 1, 0 }, /* the 33rd */
	{ 33, 1, -ELOOP },
	{ UINT32_MAX, 1, -ELOOP },
	{ 0, 0, -ENOENT },
	{ 33, 0, -ENOENT },
	{ 0, 4, -E2BIG },
	{ 0, UINT32_MAX, -E2BIG },
	{ 0, 1ull << 32 | 1, 0 }, /* the low half counts */
};

START_TEST(test_tail)
{
	const struct tail *row = &tails[_i];
	struct gp_env e = { .tail_calls = row->made };
	struct gp_lane lane = new_lane();
	uint32_t one = 1;
	struct box b;

	box_open(&b, M(PROG_ARRAY), 4, 4, 4, 1);
	ck_assert_int_eq(gp_map_update(&b.map, &one, &one, 0), 0);
	lane.env = &e;
	ck_assert_int_eq(gp_helper_tail_call(&lane, &b.map, 5, row->index), row->err);
	ck_assert_uint_eq(lane.fault, row->err ? 0 : gp_fault(GP_FAULT_TAIL, 0));
	if (!row->err) {
		ck_assert_uint_eq(lane.tail_map, 5);
		ck_assert_uint_eq(lane.tail_index, 1);
	}
	ck_assert_int_eq(gp_map_delete(&b.map, &one), 0);
	ck_assert_int_eq(gp_helper_tail_call(&lane, &b.map, 5, 1), -ENOENT);
	/* Not the number that another type of map has there. */
	b.map.type = M(CPUMAP);
	ck_assert_int_eq(gp_helper_tail_call(&lane, &b.map, 5, 1), -EINVAL);
	box_close(&b);
}
END_TEST

/* ------------------------------------------------------------- queues and stacks */

START_TEST(test_queue_model)
{
	bool stack = _i;
	GQueue *model = g_queue_new();
	uint32_t max = 7, n, key = 0;
	struct box b;

	box_open(&b, stack ? M(STACK) : M(QUEUE), 0, 12, max, 1);
	for (n = 0; n < 20000; n++) {
		struct gp_lane lane = new_lane();
		uint8_t value[12] = { 0 }, got[12];
		uint32_t want = ++key;
		uint64_t flags = g_random_boolean() ? BPF_ANY : BPF_EXIST;
		bool guest = g_random_boolean(), full = g_queue_get_length(model) == max;
		int64_t err;

		memcpy(value + 8, &want, 4);
		switch (g_random_int_range(0, 5)) {
		case 0:
		case 1:
			err = guest ? gp_map_update(&b.map, NULL, value, flags)
				    : gp_helper_map_push(&lane, &b.map, value, flags);
			ck_assert_int_eq(err, full && flags == BPF_ANY ? -E2BIG : 0);
			if (err)
				break;
			if (full)
				g_queue_pop_head(model);
			g_queue_push_tail(model, GUINT_TO_POINTER(want));
			break;
		case 2:
		case 3:
			memset(got, 0xee, sizeof(got));
			err = guest ? gp_map_pop(&b.map, NULL, got) : gp_helper_map_pop(&lane, &b.map, got);
			want = GPOINTER_TO_UINT(stack ? g_queue_pop_tail(model) : g_queue_pop_head(model));
			goto compare;
		default:
			memset(got, 0xee, sizeof(got));
			err = guest ? gp_map_lookup(&b.map, NULL, got)
				    : gp_helper_map_peek(&lane, &b.map, got);
			want = GPOINTER_TO_UINT(stack ? g_queue_peek_tail(model) : g_queue_peek_head(model));
compare:
			ck_assert_int_eq(err, want ? 0 : -ENOENT);
			memset(value, 0, sizeof(value));
			memcpy(value + 8, &want, 4);
			ck_assert_mem_eq(got, value, sizeof(value));
		}
	}
	g_queue_free(model);
	box_close(&b);
}
END_TEST

START_TEST(test_queue_refuses)
{
	struct gp_lane lane = new_lane();
	uint64_t value = 1, got;
	struct box b;

	box_open(&b, _i ? M(STACK) : M(QUEUE), 0, 8, 2, 1);
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, (uint8_t *)&value, BPF_NOEXIST), -EINVAL);
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, (uint8_t *)&value, 4), -EINVAL);
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, (uint8_t *)&value, UINT64_MAX), -EINVAL);
	ck_assert_int_eq(gp_map_next_key(&b.map, NULL, &got), -EINVAL);
	ck_assert_int_eq(gp_map_delete(&b.map, NULL), -EINVAL);
	/* Its values are nobody's memory. */
	ck_assert_uint_eq(b.map.values_size, 0);
	/* A map of another type, as it may come from memory. */
	b.map.type = M(HASH);
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, (uint8_t *)&value, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_map_pop(&lane, &b.map, (uint8_t *)&got), -EOPNOTSUPP);
	ck_assert_int_eq(gp_helper_map_peek(&lane, &b.map, (uint8_t *)&got), -EINVAL);
	box_close(&b);
}
END_TEST

/* Each number is taken once, whoever takes it; by one consumer of a queue in the order of each producer. */
enum { PRODUCERS = 2, CONSUMERS = 2, NUMBERS = 30000 };

struct belt {
	struct box b;
	uint32_t made, done;
	uint8_t seen[PRODUCERS * NUMBERS];
	int errors;
};

static void *produce(void *arg)
{
	struct belt *belt = arg;
	uint64_t first = (uint64_t)__atomic_fetch_add(&belt->made, 1, __ATOMIC_RELAXED) * NUMBERS, i;

	for (i = first; i < first + NUMBERS;) {
		struct gp_lane lane = new_lane();

		if (!gp_helper_map_push(&lane, &belt->b.map, (uint8_t *)&i, 0))
			i++;
	}
	__atomic_fetch_add(&belt->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *consume(void *arg)
{
	struct belt *belt = arg;
	uint64_t last[PRODUCERS] = { 0 }, got;

	for (;;) {
		bool end = __atomic_load_n(&belt->done, __ATOMIC_ACQUIRE) == PRODUCERS;
		struct gp_lane lane = new_lane();

		if (gp_helper_map_pop(&lane, &belt->b.map, (uint8_t *)&got)) {
			if (end)
				return NULL;
			continue;
		}
		if (got >= PRODUCERS * NUMBERS || __atomic_fetch_add(&belt->seen[got], 1, __ATOMIC_RELAXED) ||
		    (belt->b.map.type == M(QUEUE) && got + 1 < last[got / NUMBERS]))
			__atomic_fetch_add(&belt->errors, 1, __ATOMIC_RELAXED);
		last[got / NUMBERS] = got + 1;
	}
}

START_TEST(test_queue_threads)
{
	struct belt *belt = calloc(1, sizeof(*belt));
	pthread_t threads[PRODUCERS + CONSUMERS];
	uint32_t i;

	box_open(&belt->b, _i ? M(STACK) : M(QUEUE), 0, 8, 100, 1);
	for (i = 0; i < PRODUCERS + CONSUMERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, i < PRODUCERS ? produce : consume, belt),
				 0);
	for (i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(belt->errors, 0);
	for (i = 0; i < PRODUCERS * NUMBERS; i++)
		ck_assert_uint_eq(belt->seen[i], 1);
	box_close(&belt->b);
	free(belt);
}
END_TEST

/* A lock that is never given back costs the lane all of its fuel, and ends. */
START_TEST(test_queue_lock)
{
	struct gp_lane lane = new_lane();
	uint64_t value = 0;
	struct box b;

	box_open(&b, M(QUEUE), 0, 8, 2, 1);
	ck_assert(gp_lock((uint32_t *)(void *)b.map.state));
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, (uint8_t *)&value, 0), -EBUSY);
	ck_assert_uint_eq(lane.fuel, 0);
	box_close(&b);
}
END_TEST

/* --------------------------------------------------------------- Bloom filters */

static const uint32_t bloom_sizes[] = { 1, 4, 7, 8, 20, 64, 512 };

START_TEST(test_bloom)
{
	enum { MAX = 1000 };
	uint32_t size = bloom_sizes[_i], n, wrong = 0, count = size == 1 ? 100 : MAX;
	struct gp_lane lane = new_lane();
	uint8_t value[512] = { 0 };
	struct box b;

	box_open(&b, M(BLOOM_FILTER), 0, size, MAX, 1);
	for (n = 0; n < count; n++) {
		memcpy(value, &n, MIN(size, 4));
		value[size - 1] ^= 0x80;
		ck_assert_int_eq(n % 2 ? gp_map_update(&b.map, NULL, value, 0)
				       : gp_helper_map_push(&lane, &b.map, value, 0),
				 0);
		value[size - 1] ^= 0x80;
	}
	for (n = 0; n < count; n++) {
		memcpy(value, &n, MIN(size, 4));
		value[size - 1] ^= 0x80;
		ck_assert_int_eq(gp_helper_map_peek(&lane, &b.map, value), 0);
		ck_assert_int_eq(gp_map_lookup(&b.map, value, NULL), 0);
		value[size - 1] ^= 0xc0;
		wrong += !gp_helper_map_peek(&lane, &b.map, value);
		value[size - 1] ^= 0x40;
	}
	/* By its size 2 in 100; nothing of its kind is as bad as 10. */
	if (size > 1)
		ck_assert_uint_lt(wrong, count / 10);
	ck_assert_int_eq(gp_helper_map_push(&lane, &b.map, value, BPF_EXIST), -EINVAL);
	ck_assert_int_eq(gp_helper_map_pop(&lane, &b.map, value), -EOPNOTSUPP);
	ck_assert_int_eq(gp_map_pop(&b.map, NULL, value), -EINVAL);
	ck_assert_int_eq(gp_map_delete(&b.map, value), -EINVAL);
	ck_assert_int_eq(gp_map_next_key(&b.map, NULL, value), -EINVAL);
	box_close(&b);
}
END_TEST

START_TEST(test_bloom_words)
{
	ck_assert_uint_eq(gp_bloom_words(1), 1);
	ck_assert_uint_eq(gp_bloom_words(9), 1); /* 63 bits */
	ck_assert_uint_eq(gp_bloom_words(10), 2);
	ck_assert_uint_eq(gp_bloom_words(1000), 128);
	ck_assert_uint_eq(gp_bloom_words(1u << 30), 1u << 26); /* as the kernel: no more than 2^32 bits */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("map kinds");
	TCase *t = tcase_create("map kinds");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_shape, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(t, test_step, 0, G_N_ELEMENTS(steps));
	tcase_add_loop_test(t, test_redirect, 0, G_N_ELEMENTS(redirects));
	tcase_add_test(t, test_redirect_forgets);
	tcase_add_loop_test(t, test_members, 0, 2);
	tcase_add_test(t, test_fits);
	tcase_add_loop_test(t, test_tail, 0, G_N_ELEMENTS(tails));
	tcase_add_loop_test(t, test_queue_model, 0, 2);
	tcase_add_loop_test(t, test_queue_refuses, 0, 2);
	tcase_add_loop_test(t, test_queue_threads, 0, 2);
	tcase_add_test(t, test_queue_lock);
	tcase_add_loop_test(t, test_bloom, 0, G_N_ELEMENTS(bloom_sizes));
	tcase_add_test(t, test_bloom_words);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
