/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_kernels.c - what clang compiles for GPUs gives what it gives on the CPU.
 *
 * OBJECTS names the code objects, as NAME:GFX:WAVE:PATH, one for each generation and level of optimisation. Inputs
 * are all pairs of edge values, and random bits of several shapes.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"
#include "kernels_cpu.h"

#define GROUP  64
#define GROUPS 12
#define LANES  (GROUP * GROUPS)

struct object {
	char name[32], path[400];
	enum sim_gfx gfx;
	unsigned int wave;
};

static struct object objects[32];
static int object_count;

static u64 state = 88172645463325252ull;

static u64 draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Integers at the ends of their types, and floating point numbers of all classes in each of the three sizes. */
static const u64 edges[] = {
	0,
	1,
	2,
	3,
	7,
	0x7f,
	0x80,
	0xff,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xffffffffffffffff,
	0xfffffffffffffff6,
	0x3f800000,
	0xbf800000,
	0x00000001,
	0x807fffff,
	0x00800000,
	0x7f7fffff,
	0xff7fffff,
	0x7f800000,
	0xff800000,
	0x7fc00000,
	0x7f800001,
	0x4b000001,
	0x3effffff,
	0x3f000000,
	0x4f000000,
	0x5f000000,
	0x3ff0000000000000,
	0xbff0000000000000,
	0x000fffffffffffff,
	0x0010000000000000,
	0x7fefffffffffffff,
	0x7ff0000000000000,
	0xfff0000000000000,
	0x7ff8000000000000,
	0x7ff0000000000001,
	0x4330000000000001,
	0x41e0000000000000,
	0x43e0000000000000,
	0x3fe0000000000000,
	0x3c00,
	0xbc00,
	0x0001,
	0x03ff,
	0x0400,
	0x7bff,
	0x7c00,
	0x7e00,
	0xfc00,
};
#define EDGES (sizeof(edges) / sizeof(edges[0]))

static u64 shaped(void)
{
	u64 x = draw();

	switch (draw() % 8) {
	case 0:
		return x >> (draw() & 63);
	case 1:
		return (u64)((s64)x >> (draw() & 63));
	case 2: /* doubles and singles near one */
		return (x & 0x800fffffffffffff) | (1023 + draw() % 80 - 40) << 52;
	case 3:
		return (x & 0x807fffff) | (127 + draw() % 60 - 30) << 23;
	case 4:
		return edges[draw() % EDGES];
	case 5: /* denormals and huge ones */
		return (x & 0x800fffffffffffff) | (draw() & 1 ? draw() % 60 : 2046 - draw() % 60) << 52;
	case 6:
		return (x & 0x807fffff) | (draw() & 1 ? draw() % 30 : 254 - draw() % 30) << 23;
	default:
		return x;
	}
}

static void inputs(u64 *in)
{
	static unsigned int pair;

	for (unsigned int i = 0; i < LANES; i++) {
		in[3 * i + 2] = shaped();
		if (i & 1) {
			in[3 * i] = edges[pair / EDGES % EDGES];
			in[3 * i + 1] = edges[pair++ % EDGES];
		} else {
			in[3 * i] = shaped();
			in[3 * i + 1] = shaped();
		}
	}
}

static bool is_nan(char type, u64 x)
{
	return type == 'f'   ? (x & 0x7fffffff) > 0x7f800000
	       : type == 'd' ? (x & 0x7fffffffffffffff) > 0x7ff0000000000000
	       : type == 'h' ? (x & 0x7fff) > 0x7c00
			     : false;
}

static void open_object(struct harness *h, const struct object *o, const struct sim_options *options)
{
	harness_open(h, o->gfx, o->wave, options);
	ck_assert_msg(harness_load(h, o->path), "%s", o->path);
}

struct arguments {
	void *out;
	const void *in;
	u32 size, pad;
};

static bool launch(struct harness *h, const char *kernel, void *out, const void *in, struct arguments *args,
		   u32 groups, u32 size)
{
	struct launch l = { .kernel = kernel, .args = args, .groups = groups, .group_size = size };

	*args = (struct arguments){ .out = out, .in = in, .size = size };
	return harness_launch(h, &l);
}

START_TEST(test_functions)
{
	const struct object *o = &objects[_i];
	struct arguments *args;
	u64 *in, *out;
	unsigned int wrong = 0;
	struct harness h;

	open_object(&h, o, NULL);
	in = harness_memory(&h, LANES * 24, SIM_READ, 0);
	out = harness_memory(&h, LANES * 8, SIM_WRITE | SIM_READ, 0x5a);
	args = harness_memory(&h, 4096, SIM_READ, 0);
	for (unsigned int k = 0; k < reference_count; k++) {
		const struct reference *r = &references[k];
		unsigned int bad = 0;

		inputs(in);
		if (!launch(&h, r->kernel, out, in, args, GROUPS, GROUP)) {
			wrong++;
			continue;
		}
		for (unsigned int i = 0; i < LANES; i++) {
			u64 want = r->run(in[3 * i], in[3 * i + 1], in[3 * i + 2]);

			if (out[i] == want || (is_nan(r->type, out[i]) && is_nan(r->type, want)))
				continue;
			if (!bad++)
				fprintf(stderr, "%s %s(%llx, %llx, %llx) = %llx, CPU %llx\n", o->name,
					r->kernel, in[3 * i], in[3 * i + 1], in[3 * i + 2], out[i], want);
		}
		wrong += bad != 0;
	}
	harness_close(&h);
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

static void check_atomics(const struct object *o, u64 seed)
{
	struct sim_options options = { .seed = seed, .max_instructions = 50000000 };
	enum { SIZE = 64, COUNT = 4 * SIZE };
	u32 *w, and = ~0u, sum = 0, or = 0, xor = 0;
	u64 *out, *words, wide = 0, xor64 = 0, seen = 0, swaps = 0;
	struct arguments *args;
	struct harness h;

	open_object(&h, o, &options);
	out = harness_memory(&h, 3 * COUNT * 8, SIM_READ | SIM_WRITE, 0);
	words = harness_memory(&h, 4096, SIM_READ | SIM_WRITE, 0);
	args = harness_memory(&h, 4096, SIM_READ, 0);
	w = (u32 *)words;
	w[2] = w[5] = ~0u;
	words[12] = ~0ull;
	ck_assert(launch(&h, "k_atomics", out, words, args, 4, SIZE));
	for (u32 i = 0; i < COUNT; i++) {
		sum += i;
		and &= ~(1u << (i & 31));
		or |= 1u << (i & 31);
		xor ^= i * 3;
		wide += (u64)i << 20;
		xor64 ^= (u64)i * 0x100000001ull;
		seen += out[i];
		swaps += out[4 * SIZE + i];
	}
	ck_assert_uint_eq(w[0], sum);
	ck_assert_uint_eq(w[1], 0u - sum - COUNT);
	ck_assert_uint_eq(w[2], and);
	ck_assert_uint_eq(w[3], or);
	ck_assert_uint_eq(w[4], xor);
	ck_assert_uint_eq(w[5], 5);
	ck_assert_uint_eq(w[6], COUNT - 1);
	ck_assert_int_eq((s32)w[7], 3 - (COUNT - 1));
	ck_assert_int_eq((s32)w[8], COUNT - 1 - 7);
	ck_assert_uint_eq(words[8], wide);
	ck_assert_uint_eq(words[9], ~0ull);
	ck_assert_uint_eq(words[10], xor64);
	ck_assert_uint_eq(words[11], (u64)(COUNT - 1) << 33);
	ck_assert_uint_eq(words[12], 0);
	ck_assert_uint_eq(seen, (u64)COUNT * (COUNT - 1) / 2);
	ck_assert_uint_eq(swaps + w[27], (u64)COUNT * (COUNT + 1) / 2);
	ck_assert_uint_eq(w[28], 2 * COUNT);
	ck_assert_uint_eq(words[15], (u64)sum << 8);
	harness_close(&h);
}

START_TEST(test_atomics)
{
	for (u64 seed = 0; seed < 4; seed++)
		check_atomics(&objects[_i], seed);
}
END_TEST

START_TEST(test_groups)
{
	const struct object *o = &objects[_i];

	for (u64 seed = 0; seed < 3; seed++) {
		struct sim_options options = { .seed = seed, .max_instructions = 50000000 };
		struct arguments *args;
		struct harness h;
		u64 *in, *out;

		open_object(&h, o, &options);
		in = harness_memory(&h, 512 * 8, SIM_READ, 0);
		out = harness_memory(&h, 512 * 8, SIM_WRITE | SIM_READ, 0);
		args = harness_memory(&h, 4096, SIM_READ, 0);
		for (u32 i = 0; i < 512; i++)
			in[i] = draw();
		ck_assert(launch(&h, "k_groups", out, in, args, 2, 256));
		for (u32 g = 0; g < 2; g++) {
			u32 sum = 255 * 128;

			for (u32 i = 0; i < 256; i++)
				sum += (u32)in[256 * g + i];
			for (u32 i = 0; i < 256; i++)
				ck_assert_uint_eq(out[256 * g + i],
						  (u64)sum << 32 | (u32)in[256 * g + 255 - i]);
		}
		harness_close(&h);
	}
}
END_TEST

START_TEST(test_lock)
{
	const struct object *o = &objects[_i];
	struct sim_options options = { .seed = 5, .max_instructions = 50000000 };
	struct arguments *args;
	struct harness h;
	u64 *words, *out;
	bool seen[8] = { false };

	open_object(&h, o, &options);
	words = harness_memory(&h, 4096, SIM_READ | SIM_WRITE, 0);
	out = harness_memory(&h, 4096, SIM_READ | SIM_WRITE, 0);
	args = harness_memory(&h, 4096, SIM_READ, 0);
	ck_assert(launch(&h, "k_lock", out, words, args, 8, 64));
	ck_assert_uint_eq(words[1], 8);
	for (u32 i = 0; i < 8; i++) {
		ck_assert_uint_lt(words[2 + i], 512);
		seen[words[2 + i] / 64] = true;
	}
	for (u32 i = 0; i < 8; i++)
		ck_assert(seen[i]);
	harness_close(&h);
}
END_TEST

static u64 scratch_reference(u64 x)
{
	u32 words[96];
	u64 r = 0;

	for (u32 k = 0; k < 96; k++)
		words[k] = (u32)x * k + k;
	for (u32 k = 0; k < 8; k++)
		r = r * 31 + words[(x >> 4 * k) % 96] + (u8)(x >> ((x >> 3 * k) % 33 & 31)) +
		    (u16)(x + (x >> k) % 9);
	return r;
}

static u64 calls_reference(u64 x)
{
	if (x & 1)
		x = x ^ ((x >> 3) * 2 + 1);
	return x * 2 + 1 + ((x + 1) ^ (((x + 1) >> 3) * 2 + 1));
}

START_TEST(test_lanes)
{
	const struct object *o = &objects[_i];
	struct arguments *args;
	struct harness h;
	u64 *in, *out;
	u32 wave = o->wave;

	open_object(&h, o, NULL);
	in = harness_memory(&h, 128 * 8, SIM_READ, 0);
	out = harness_memory(&h, 128 * 8, SIM_WRITE | SIM_READ, 0);
	args = harness_memory(&h, 4096, SIM_READ, 0);
	for (u32 i = 0; i < 128; i++)
		in[i] = draw();
	ck_assert(launch(&h, "k_scratch", out, in, args, 2, 64));
	for (u32 i = 0; i < 128; i++)
		ck_assert_uint_eq(out[i], scratch_reference(in[i]));
	ck_assert(launch(&h, "k_calls", out, in, args, 2, 64));
	for (u32 i = 0; i < 128; i++)
		ck_assert_uint_eq(out[i], calls_reference(in[i]));
	ck_assert(launch(&h, "k_cross", out, in, args, 2, 64));
	for (u32 i = 0; i < 128; i++) {
		u32 lane = i % wave, first = i - lane;
		u64 r = (u32)in[first + (lane ^ 5)];

		r = r * 3 + (u32)in[first];
		r = r * 3 + (u32)in[first + 7];
		r = r * 3 + (u32)in[first + (lane ^ 1)];
		r = r * 3 + (u32)in[first + (lane & ~3u) + (3 - (lane & 3))];
		r = r * 3 + (u32)in[first + (lane ^ 3)];
		ck_assert_uint_eq(out[i], r * 64 + lane);
	}
	harness_close(&h);
}
END_TEST

struct __attribute__((packed)) odd {
	u8 a;
	u16 b;
	u32 c;
	u64 d;
	u32 e[4];
	s8 f;
	s16 g;
};

START_TEST(test_memory)
{
	const struct object *o = &objects[_i];
	struct arguments *args;
	struct odd *in, *out;
	struct harness h;

	open_object(&h, o, NULL);
	in = harness_memory(&h, 64 * sizeof(*in), SIM_READ, 0);
	out = harness_memory(&h, 64 * sizeof(*in), SIM_WRITE | SIM_READ, 0);
	args = harness_memory(&h, 4096, SIM_READ, 0);
	for (size_t i = 0; i < 64 * sizeof(*in); i++)
		((u8 *)in)[i] = (u8)draw();
	ck_assert(launch(&h, "k_memory", out, in, args, 1, 64));
	for (u32 i = 0; i < 64; i++) {
		struct odd want = in[i];

		want.a++;
		want.b = (u16)(want.b + 2);
		want.c += 3;
		want.d += 4;
		for (int k = 0; k < 4; k++)
			want.e[k] = in[i].e[3 - k];
		want.f = (s8)(in[i].f / 2);
		want.g = (s16)(in[i].g - in[i].f);
		ck_assert_mem_eq(&out[i], &want, sizeof(want));
	}
	harness_close(&h);
}
END_TEST

static void read_objects(char *list)
{
	for (char *at = strtok(list, " "); at && object_count < 32; at = strtok(NULL, " ")) {
		struct object *o = &objects[object_count];
		unsigned int gfx;

		if (sscanf(at, "%31[^:]:%u:%u:%399s", o->name, &gfx, &o->wave, o->path) == 4) {
			o->gfx = (enum sim_gfx)gfx;
			object_count++;
		}
	}
}

int main(void)
{
	char *list = getenv("OBJECTS");
	Suite *s = suite_create("sim-kernels");
	TCase *t = tcase_create("kernels");
	SRunner *r;
	int failed;

	if (list)
		read_objects(strdup(list));
	if (!object_count) {
		fprintf(stderr, "OBJECTS names none\n");
		return EXIT_FAILURE;
	}
	tcase_set_timeout(t, 240);
	tcase_add_loop_test(t, test_functions, 0, object_count);
	tcase_add_loop_test(t, test_atomics, 0, object_count);
	tcase_add_loop_test(t, test_groups, 0, object_count);
	tcase_add_loop_test(t, test_lock, 0, object_count);
	tcase_add_loop_test(t, test_lanes, 0, object_count);
	tcase_add_loop_test(t, test_memory, 0, object_count);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
