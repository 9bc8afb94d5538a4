// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_run.c - images with many lanes on the simulator of the instruction set: locks that a whole wave wants, lanes that
 * do not end, faults, parts, and the kernels that are no program's.
 *
 * Every test runs for a generation with waves of 64 lanes and one with 32, waves one after the other and taking turns. A
 * lane that waits for another of its wave would never end: the simulator's limit of instructions is the failure.
 */
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "launch.h"
#include "programs.h"
#include "rt/maps.h"

#define PACKETS	 192 /* six waves of 32 lanes, three of 64 */
#define STRIDE	 512
#define DATA_OFF 256
#define FUEL	 400

static const char *const generations[] = { "gfx900", "gfx1030" };
#define NUM_GENERATIONS (sizeof(generations) / sizeof(*generations))

static const char *object;
static struct program *programs;
static size_t num_programs;

/* ------------------------------------------------------------------- rig */

struct rig {
	const struct gp_generation *gen;
	struct gp_jit *jit;
	struct gp_map maps[GP_MAX_PROG_MAPS], *pointers[GP_MAX_PROG_MAPS];
	void *values[GP_MAX_PROG_MAPS], *index[GP_MAX_PROG_MAPS];
	uint32_t num_maps, stop;
	uint8_t slots[PACKETS * STRIDE];
	struct gp_packet_in in[PACKETS];
	struct gp_packet_out out[PACKETS];
	struct gp_launch launch;
};

static void *zeroed(uint64_t size)
{
	void *at = aligned_alloc(64, (size + 127) & ~63ull);

	ck_assert_ptr_nonnull(at);
	memset(at, 0, (size + 127) & ~63ull);
	return at;
}

static struct rig *rig_new(const char *generation)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct gp_jit_options options = {
		.program = getenv("GPGPU_JIT"), .fd = -1, .cpu_seconds = 60, .target = generation
	};
	const struct gp_prog *prog = &programs[0].prog;

	ck_assert_ptr_nonnull(r);
	r->gen = gp_generation_find(generation);
	r->jit = gp_jit_new(&options, NULL);
	ck_assert_ptr_nonnull(r->jit);
	r->num_maps = prog->num_maps;
	for (uint32_t m = 0; m < r->num_maps; m++) {
		r->values[m] = zeroed(prog->maps[m].values_size);
		r->index[m] = zeroed(gp_map_index_bytes(&prog->maps[m]));
		gp_map_layout(&r->maps[m], &prog->maps[m], r->values[m], r->index[m], 0x5eed);
		r->pointers[m] = &r->maps[m];
	}
	for (uint32_t i = 0; i < PACKETS; i++) {
		memcpy(r->slots + i * STRIDE + DATA_OFF, &i, sizeof(i));
		r->in[i] = (struct gp_packet_in){ .data_off = DATA_OFF, .data_len = 64 };
	}
	r->launch = (struct gp_launch){ .env = { .maps = r->pointers,
						 .num_maps = r->num_maps,
						 .slots = r->slots,
						 .stride = STRIDE,
						 .fuel = FUEL,
						 .stop = &r->stop },
					.num_cpus = PROGRAMS_CPUS,
					.count = PACKETS,
					.in = r->in,
					.out = r->out,
					.fault_first = UINT64_MAX };
	return r;
}

static void rig_free(struct rig *r)
{
	gp_jit_free(r->jit);
	for (uint32_t m = 0; m < r->num_maps; m++) {
		free(r->values[m]);
		free(r->index[m]);
	}
	free(r);
}

static struct gp_map *map_of(struct rig *r, uint32_t type)
{
	for (uint32_t m = 0; m < r->num_maps; m++)
		if (r->maps[m].type == type)
			return &r->maps[m];
	ck_abort_msg("no such map");
}

static struct gp_image *compile(struct rig *r, const char *name)
{
	struct gp_verdict verdict;
	struct gp_image *image;

	for (size_t i = 0; i < num_programs; i++) {
		if (strcmp(strchr(programs[i].name, ':') + 1, name))
			continue;
		image = gp_jit_compile(r->jit, &programs[i].prog, &verdict);
		ck_assert_msg(image, "%s: %s", name, verdict.message);
		return image;
	}
	ck_abort_msg("no program %s", name);
}

static void launch(struct rig *r, const struct gp_image *image, uint64_t seed)
{
	struct sim_options options = { .seed = seed, .max_instructions = 100000000 };
	char why[256];

	ck_assert_msg(launch_run(r->gen, image, &r->launch, &options, NULL, why), "%s: %s", r->gen->name,
		      why);
}

/* Run one program on all packets, each of which is to end with XDP_PASS. @i: generation and order of waves. */
static struct rig *run(int i, const char *name)
{
	struct rig *r = rig_new(generations[i % (int)NUM_GENERATIONS]);
	struct gp_image *image = compile(r, name);

	launch(r, image, (uint64_t)i / NUM_GENERATIONS * 12345);
	gp_image_unref(image);
	for (uint32_t p = 0; p < PACKETS; p++) {
		ck_assert_msg(r->out[p].verdict == XDP_PASS, "%s, packet %u: verdict %u, fault %u", name, p,
			      r->out[p].verdict, r->out[p].fault);
		ck_assert_uint_eq(r->out[p].data_len, 64);
	}
	return r;
}

static uint32_t count_keys(struct gp_map *map)
{
	uint8_t key[VIRTIO_GPGPU_MAX_KEY], next[VIRTIO_GPGPU_MAX_KEY];
	uint32_t n = 0;

	for (int err = gp_map_next_key(map, NULL, key); !err; n++) {
		err = gp_map_next_key(map, key, next);
		memcpy(key, next, map->key_size);
	}
	return n;
}

/* ------------------------------------------------------------------ locks */

START_TEST(a_wave_on_one_bucket)
{
	struct rig *r = run(_i, "same_key");
	uint32_t key = 7;
	uint64_t value;

	ck_assert_uint_eq(count_keys(map_of(r, VIRTIO_GPGPU_MAP_HASH)), 1);
	ck_assert_int_eq(gp_map_lookup(map_of(r, VIRTIO_GPGPU_MAP_HASH), &key, &value), 0);
	ck_assert_uint_lt(value, PACKETS);
	rig_free(r);
}
END_TEST

START_TEST(inserted_and_deleted)
{
	struct rig *r = run(_i, "own_key");
	struct gp_map *map = map_of(r, VIRTIO_GPGPU_MAP_HASH);

	ck_assert_uint_eq(count_keys(map), PACKETS / 2);
	for (uint32_t key = 0; key < PACKETS; key++) {
		uint64_t value;

		ck_assert_int_eq(gp_map_lookup(map, &key, &value), key & 1 ? -ENOENT : 0);
		if (!(key & 1))
			ck_assert_uint_eq(value, key * 3);
	}
	rig_free(r);
}
END_TEST

/* Sixteen elements, and waves of more lanes than that. */
START_TEST(evicted)
{
	struct rig *r = run(_i, "evict");

	ck_assert_uint_eq(count_keys(map_of(r, VIRTIO_GPGPU_MAP_LRU_HASH)), 16);
	rig_free(r);
}
END_TEST

static void all_numbers_once(const uint64_t *values, uint32_t count)
{
	bool seen[PACKETS] = { false };

	ck_assert_uint_eq(count, PACKETS);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_uint_lt(values[i], PACKETS);
		ck_assert(!seen[values[i]]);
		seen[values[i]] = true;
	}
}

START_TEST(queued)
{
	struct rig *r = run(_i, "push");
	uint64_t values[PACKETS + 1];
	uint32_t n = 0;

	while (n <= PACKETS && !gp_map_pop(map_of(r, VIRTIO_GPGPU_MAP_QUEUE), NULL, &values[n]))
		n++;
	all_numbers_once(values, n);
	rig_free(r);
}
END_TEST

START_TEST(queued_and_taken)
{
	struct rig *r = run(_i, "push_and_pop");
	uint64_t value;

	ck_assert_int_eq(gp_map_pop(map_of(r, VIRTIO_GPGPU_MAP_QUEUE), NULL, &value), -ENOENT);
	rig_free(r);
}
END_TEST

START_TEST(recorded)
{
	struct rig *r = run(_i, "record");
	static uint8_t buf[1 << 16];
	uint64_t values[PACKETS], dropped;
	uint32_t num;

	ck_assert_int_gt(gp_map_records_read(map_of(r, VIRTIO_GPGPU_MAP_RINGBUF), buf, sizeof(buf), &num,
					     &dropped),
			 0);
	ck_assert_uint_eq(dropped, 0);
	ck_assert_uint_eq(num, PACKETS);
	for (uint32_t i = 0; i < num; i++)
		memcpy(&values[i],
		       buf + i * (sizeof(struct virtio_gpgpu_record) + 8) +
			       sizeof(struct virtio_gpgpu_record),
		       8);
	all_numbers_once(values, num);
	rig_free(r);
}
END_TEST

START_TEST(routed)
{
	struct rig *r = run(_i, "route");

	ck_assert_uint_eq(count_keys(map_of(r, VIRTIO_GPGPU_MAP_LPM_TRIE)), PACKETS);
	rig_free(r);
}
END_TEST

/* ------------------------------------------------------------ fuel, parts */

/* A lane without an end ends, and its neighbours are not in the least concerned. */
START_TEST(out_of_fuel)
{
	struct rig *r = rig_new(generations[_i]);
	struct gp_image *image = compile(r, "endless");

	launch(r, image, 0);
	for (uint32_t p = 0; p < PACKETS; p++) {
		ck_assert_uint_eq(r->out[p].verdict, p % 3 ? XDP_PASS : XDP_ABORTED);
		ck_assert_uint_eq(r->out[p].fault, p % 3 ? 0 : VIRTIO_GPGPU_R_OUT_OF_FUEL);
	}
	/* With all the fuel there is, the clock ends it; and so does the engine. */
	r->launch.env.fuel = UINT64_MAX / 2;
	r->launch.ticks = 1;
	launch(r, image, 0);
	ck_assert_uint_eq(r->out[0].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	ck_assert_uint_eq(r->out[1].verdict, XDP_PASS);
	r->launch.ticks = 0;
	r->stop = GP_STOP_NOW;
	launch(r, image, 0);
	for (uint32_t p = 0; p < PACKETS; p++)
		ck_assert_uint_eq(r->out[p].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	gp_image_unref(image);
	rig_free(r);
}
END_TEST

/* Lanes that run several packets in order, by a list; others than those are left alone. */
START_TEST(in_parts)
{
	struct gp_launch_part parts[3] = { { 0, 100, 0, 0 }, { 100, 101, 0, 0 }, { 101, PACKETS - 1, 0, 0 } };
	struct rig *r = rig_new(generations[_i]);
	struct gp_image *image = compile(r, "push");
	uint32_t order[PACKETS];
	uint64_t value;

	for (uint32_t i = 0; i < PACKETS; i++)
		order[i] = PACKETS - 1 - i;
	memset(r->out, 0xee, sizeof(r->out));
	r->launch.parts = parts;
	r->launch.order = order;
	r->launch.count = 3;
	/* Each launch runs one of each part, as long as there are. */
	launch(r, image, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(parts[i].ran, 1);
	for (uint32_t n = 0; n < PACKETS; n++)
		launch(r, image, 0);
	ck_assert_uint_eq(parts[0].ran, 100);
	ck_assert_uint_eq(parts[1].ran, 1);
	ck_assert_uint_eq(parts[2].ran, PACKETS - 102);
	ck_assert_uint_eq(r->out[0].verdict, 0xeeeeeeee); /* order[PACKETS - 1] */
	for (uint32_t p = 1; p < PACKETS; p++)
		ck_assert_uint_eq(r->out[p].verdict, XDP_PASS);
	for (uint32_t n = 0, last[3] = { PACKETS, PACKETS, PACKETS }; n < PACKETS - 1; n++) {
		uint32_t at, part;

		ck_assert_int_eq(gp_map_pop(map_of(r, VIRTIO_GPGPU_MAP_QUEUE), NULL, &value), 0);
		at = PACKETS - 1 - (uint32_t)value;
		part = at < 100 ? 0 : at < 101 ? 1 : 2;
		ck_assert_uint_lt(value, last[part]);
		last[part] = (uint32_t)value;
	}
	for (int i = 0; i < 3; i++)
		parts[i].ran = 0;
	r->stop = GP_STOP_SOON;
	launch(r, image, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(parts[i].ran, 0);
	gp_image_unref(image);
	rig_free(r);
}
END_TEST

/* ---------------------------------------------------- kernels of their own */

START_TEST(map_operations)
{
	struct rig *r = rig_new(generations[_i]);
	struct gp_map *map = map_of(r, VIRTIO_GPGPU_MAP_HASH);
	uint32_t keys[3] = { 11, 12, 13 }, next;
	uint64_t values[3] = { 110, 120, 130 }, got = 0, dump[8] = { 0 };
	struct gp_map_op ops[] = {
		{ .kind = GP_MAP_OP_UPDATE, .map = map, .key = (void *)&keys[0], .value = (void *)&values[0] },
		{ .kind = GP_MAP_OP_UPDATE, .map = map, .key = (void *)&keys[1], .value = (void *)&values[1] },
		{ .kind = GP_MAP_OP_UPDATE,
		  .map = map,
		  .key = (void *)&keys[1],
		  .value = (void *)&values[2],
		  .flags = BPF_NOEXIST },
		{ .kind = GP_MAP_OP_LOOKUP, .map = map, .key = (void *)&keys[1], .value = (void *)&got },
		{ .kind = GP_MAP_OP_NEXT_KEY, .map = map, .value = (void *)&next },
		{ .kind = GP_MAP_OP_DUMP, .map = map, .value = (void *)dump, .count = 4, .stride = 16 },
		{ .kind = GP_MAP_OP_DELETE, .map = map, .key = (void *)&keys[0] },
		{ .kind = GP_MAP_OP_LOOKUP, .map = map, .key = (void *)&keys[0], .value = (void *)&got },
	};
	static const int64_t results[] = { 0, 0, -EEXIST, 0, 0, -ENOENT, 0, -ENOENT };
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_kernel(r->jit, GP_KERNEL_MAP_OPS, &verdict);

	ck_assert_msg(image, "%s", verdict.message);
	r->launch.ops = ops;
	r->launch.num_ops = sizeof(ops) / sizeof(*ops);
	r->launch.count = 1;
	launch(r, image, 0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		ck_assert_msg(ops[i].result == results[i], "operation %zu: %lld", i,
			      (long long)ops[i].result);
	ck_assert_uint_eq(got, 120);
	ck_assert(next == 11 || next == 12);
	ck_assert_uint_eq(ops[5].done, 2);
	ck_assert_uint_eq(dump[0] + dump[2], 23);
	ck_assert_uint_eq(dump[1] + dump[3], 230);
	ck_assert_uint_eq(count_keys(map), 1);
	gp_image_unref(image);
	rig_free(r);
}
END_TEST

START_TEST(copies)
{
	struct rig *r = rig_new(generations[_i]);
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_kernel(r->jit, GP_KERNEL_COPY, &verdict);
	uint8_t from[3000], to[3008];

	ck_assert_msg(image, "%s", verdict.message);
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t off = 0; off < 5; off++) {
		memset(to, 0xee, sizeof(to));
		r->launch.copy = (struct gp_launch_copy){ .dst = to + off, .src = from, .size = 2999 };
		r->launch.count = (2999 + GP_COPY_LANE - 1) / GP_COPY_LANE;
		launch(r, image, 0);
		ck_assert_int_eq(memcmp(to + off, from, 2999), 0);
		ck_assert_uint_eq(to[off + 2999], 0xee);
	}
	memset(to, 0xee, sizeof(to));
	r->launch.copy = (struct gp_launch_copy){ .dst = to, .pattern = 0x04030201, .size = 1003 };
	launch(r, image, 0);
	for (uint32_t i = 0; i < 1003; i++)
		ck_assert_uint_eq(to[i], i % 4 + 1);
	ck_assert_uint_eq(to[1003], 0xee);
	gp_image_unref(image);
	rig_free(r);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("amdgpu run");
	TCase *tc = tcase_create("run");
	SRunner *runner;
	int failed;

	if (argc != 2) {
		fprintf(stderr, "usage: test_run OBJECT\n");
		return 1;
	}
	object = argv[1];
	programs = programs_read(object, &num_programs);
	tcase_set_timeout(tc, 0);
	tcase_add_loop_test(tc, a_wave_on_one_bucket, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, inserted_and_deleted, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, evicted, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, queued, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, queued_and_taken, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, recorded, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, routed, 0, 2 * NUM_GENERATIONS);
	tcase_add_loop_test(tc, out_of_fuel, 0, NUM_GENERATIONS);
	tcase_add_loop_test(tc, in_parts, 0, NUM_GENERATIONS);
	tcase_add_loop_test(tc, map_operations, 0, NUM_GENERATIONS);
	tcase_add_loop_test(tc, copies, 0, NUM_GENERATIONS);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	programs_free(programs, num_programs);
	return failed != 0;
}
