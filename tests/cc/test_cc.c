/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cc.c - kernels.c through gpgpu-cc, against the same source compiled for this machine.
 *
 *	test_cc OBJECT [TARGET...]	targets of tests/bpf; without: the compiler, and the interpreter
 *
 * Each kernel runs over all pairs of values where things go wrong, and over random ones; every byte of every result is
 * compared, NaNs with NaNs. Some kernels stop early on the interpreter's account, which knows mathematics only to within a
 * bound: inexact_math is left out there.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chosen.h"
#include "gpgpu.h"
#include "kernels.h"
#include "twin.h"

#define ITEMS 1200
#define FUEL  1000000

__thread int twin_item;

static float a[ITEMS], b[ITEMS];
static double c[ITEMS], d[ITEMS];

struct results {
	float f[ITEMS * WIDTH];
	double e[ITEMS * WIDTH];
	long long i[ITEMS * WIDTH];
	unsigned short h[ITEMS * WIDTH];
};

static struct results want, got;

static const double edges[] = { 0.0,	      -0.0,	    1,		-1,	      0.5,
				-0.5,	      1.5,	    2.5,	-2.5,	      3,
				100.25,	      -127.5,	    255.5,	32767.5,      -32769,
				65535.5,      1e9,	    2147483647, 2147483648.0, -2147483649.0,
				4294967295.0, 4294967296.0, 1e19,	-1e19,	      1.8e19,
				9.3e18,	      0x1p-149,	    0x1p-126,	0x1p-1074,    3.4e38,
				-3.5e38,      1.7e308,	    INFINITY,	-INFINITY,    NAN };
#define NUM_EDGES (sizeof(edges) / sizeof(*edges))

static unsigned long long random64(void)
{
	static unsigned long long state = 1;
	/* splitmix64 */
	unsigned long long z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void make_input(void)
{
	for (size_t k = 0; k < ITEMS; k++) {
		double x = edges[k % NUM_EDGES], y = edges[k / NUM_EDGES % NUM_EDGES];

		/* Behind the last pair: any bits, every other of them of an ordinary size. */
		if (k >= NUM_EDGES * NUM_EDGES) {
			unsigned long long u = random64(), v = random64();

			memcpy(&x, &u, 8);
			memcpy(&y, &v, 8);
			if (k & 1) {
				x = (double)(long long)(u >> 32) / 65536 - 30000;
				y = (double)(v >> 40) / 0x1p20;
			}
		}
		a[k] = (float)x;
		b[k] = (float)y;
		c[k] = x;
		d[k] = y;
	}
}

static struct run_arg buffer(const void *init, size_t size, bool writable)
{
	return (struct run_arg){ writable ? VIRTIO_GPGPU_ARG_BUFFER : VIRTIO_GPGPU_ARG_BUFFER_RO, 0, init,
				 size };
}

static uint64_t bits(const void *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static void run_twin(const struct twin *twin, struct arguments *arg)
{
	memset(&want, 0x55, sizeof(want));
	arg->f = want.f;
	arg->e = want.e;
	arg->i = want.i;
	arg->h = want.h;
	for (twin_item = 0; twin_item < ITEMS; twin_item++)
		twin->run(arg);
}

/* Constant tables of the source. */
static uint32_t add_maps(struct run_map maps[RUN_MAX_MAPS])
{
	struct gpgpu_map *map = NULL;
	uint32_t count = 0;

	while ((map = gpgpu_object_next_map(object, map)) && count < RUN_MAX_MAPS) {
		struct gpgpu_map_info info;
		uint8_t *init;
		void *value;
		size_t size;

		gpgpu_map_get_info(map, &info);
		value = gpgpu_map_initial_value(map, &size);
		init = calloc(1, info.key_size + info.value_size);
		ck_assert(value && init && size <= info.value_size);
		memcpy(init + info.key_size, value, size);
		maps[count++] = (struct run_map){ .type = info.type,
						  .key_size = info.key_size,
						  .value_size = info.value_size,
						  .max_entries = info.max_entries,
						  .init = init,
						  .num_init = 1 };
	}
	return count;
}

static void run_target(const struct target *target, const char *name, const struct arguments *arg)
{
	struct gpgpu_program *program = gpgpu_object_program(object, name);
	static struct results init;
	struct outcome outcome = { 0 };
	size_t count = 0;
	struct run run = { .name = name,
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .fuel = FUEL,
			   .grid = { ITEMS, 1, 1 },
			   .group = { 1, 1, 1 },
			   .num_args = 11 };
	const size_t inputs = sizeof(a) + sizeof(b) + sizeof(c) + sizeof(d);
	struct run_map maps[RUN_MAX_MAPS];
	uint8_t *at;

	run.maps = maps;
	run.num_maps = add_maps(maps);
	ck_assert_msg(program != NULL, "no kernel %s: %s", name, gpgpu_error_message());
	memset(&init, 0x55, sizeof(init));
	run.insns = gpgpu_program_insns(program, &count);
	run.num_insns = (uint32_t)count;
	run.args[0] = buffer(a, sizeof(a), false);
	run.args[1] = buffer(b, sizeof(b), false);
	run.args[2] = buffer(c, sizeof(c), false);
	run.args[3] = buffer(d, sizeof(d), false);
	run.args[4] = buffer(init.f, sizeof(init.f), true);
	run.args[5] = buffer(init.e, sizeof(init.e), true);
	run.args[6] = buffer(init.i, sizeof(init.i), true);
	run.args[7] = buffer(init.h, sizeof(init.h), true);
	run.args[8] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, bits(&arg->s, 4), NULL, 0 };
	run.args[9] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, bits(&arg->t, 8), NULL, 0 };
	run.args[10] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, (uint64_t)arg->n, NULL, 0 };
	target->run(&run, &outcome);
	ck_assert_msg(!outcome.refused, "%s on %s is refused: %s", name, target->name, outcome.message);
	ck_assert_msg(!outcome.faults, "%s on %s: fault %u at %u", name, target->name, outcome.fault,
		      outcome.fault_insn);
	/* Buffers in the order of the arguments, then maps. */
	ck_assert_msg(outcome.num_bytes >= inputs + sizeof(got), "%s on %s: %zu bytes", name, target->name,
		      outcome.num_bytes);
	at = outcome.bytes + inputs;
	memcpy(got.f, at, sizeof(got.f));
	memcpy(got.e, at += sizeof(got.f), sizeof(got.e));
	memcpy(got.i, at += sizeof(got.e), sizeof(got.i));
	memcpy(got.h, at += sizeof(got.i), sizeof(got.h));
	outcome_free(&outcome);
	for (uint32_t m = 0; m < run.num_maps; m++)
		free((uint8_t *)(uintptr_t)maps[m].init);
}

static bool half_nan(unsigned short h)
{
	return (h & 0x7fff) > 0x7c00;
}

static void compare(const char *name, const char *target)
{
	for (size_t k = 0; k < (size_t)ITEMS * WIDTH; k++) {
		size_t item = k / WIDTH, n = k % WIDTH;
		double x = (double)a[item], y = (double)b[item];

		if (!(isnan(want.f[k]) && isnan(got.f[k])) && memcmp(&want.f[k], &got.f[k], 4))
			ck_abort_msg("%s on %s, %a and %a: f[%zu] is %a, not %a", name, target, x, y, n,
				     (double)got.f[k], (double)want.f[k]);
		if (!(isnan(want.e[k]) && isnan(got.e[k])) && memcmp(&want.e[k], &got.e[k], 8))
			ck_abort_msg("%s on %s, %a and %a: e[%zu] is %a, not %a", name, target, c[item],
				     d[item], n, got.e[k], want.e[k]);
		if (want.i[k] != got.i[k])
			ck_abort_msg("%s on %s, %a (%a) and %a (%a): i[%zu] is %#llx, not %#llx", name,
				     target, x, c[item], y, d[item], n, got.i[k], want.i[k]);
		if (!(half_nan(want.h[k]) && half_nan(got.h[k])) && want.h[k] != got.h[k])
			ck_abort_msg("%s on %s, %a and %a: h[%zu] is %#x, not %#x", name, target, c[item], y,
				     n, got.h[k], want.h[k]);
	}
}

START_TEST(test_kernel)
{
	const struct twin *twin = &twins[_i];
	struct arguments arg = { .a = a, .b = b, .c = c, .d = d, .s = 0.3f, .t = 1.7, .n = 11 };

	run_twin(twin, &arg);
	for (int t = 0; t < num_chosen; t++) {
		if (chosen[t] == &target_interp && !strcmp(twin->name, "inexact_math"))
			continue;
		run_target(chosen[t], twin->name, &arg);
		compare(twin->name, chosen[t]->name);
	}
}
END_TEST

/* Names and types of the arguments come through. */
START_TEST(test_arguments)
{
	static const struct gpgpu_arg_info expect[] = {
		{ "a", GPGPU_ARG_BUFFER_RO, 4, true, true, true },
		{ "b", GPGPU_ARG_BUFFER_RO, 4, true, true, true },
		{ "c", GPGPU_ARG_BUFFER_RO, 8, true, true, true },
		{ "d", GPGPU_ARG_BUFFER_RO, 8, true, true, true },
		{ "f", GPGPU_ARG_BUFFER, 4, true, true, true },
		{ "e", GPGPU_ARG_BUFFER, 8, true, true, true },
		{ "i", GPGPU_ARG_BUFFER, 8, true, true, false },
		{ "h", GPGPU_ARG_BUFFER, 2, true, false, false },
		{ "s", GPGPU_ARG_VALUE, 4, true, true, true },
		{ "t", GPGPU_ARG_VALUE, 8, true, true, true },
		{ "n", GPGPU_ARG_VALUE, 4, true, false, false },
	};

	for (int p = 0; p < num_twins; p++) {
		struct gpgpu_program *program = gpgpu_object_program(object, twins[p].name);

		ck_assert_msg(program != NULL, "no kernel %s", twins[p].name);
		for (uint32_t i = 0; i < sizeof(expect) / sizeof(*expect); i++) {
			struct gpgpu_arg_info info;

			ck_assert_int_eq(gpgpu_program_arg(program, i, &info), 0);
			ck_assert_str_eq(info.name, expect[i].name);
			ck_assert_uint_eq(info.kind, expect[i].kind);
			ck_assert_uint_eq(info.size, expect[i].size);
			ck_assert_int_eq(info.is_float, expect[i].is_float);
		}
	}
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("gpgpu-cc");
	TCase *tcase = tcase_create("kernels");
	SRunner *runner;
	int failed;

	if (!chosen_read(argc, argv))
		return 2;
	make_input();
	tcase_add_unchecked_fixture(tcase, chosen_open, chosen_close);
	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, test_arguments);
	tcase_add_loop_test(tcase, test_kernel, 0, num_twins);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
