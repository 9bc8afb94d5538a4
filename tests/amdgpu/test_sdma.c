/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sdma.c - the packets of a copy, for every generation, field by field.
 *
 * What is expected is written down here a second time, from the kernel's headers and not from amdgpu/sdma.c or
 * amdgpu/generations.c: Linux 6.12, drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h (SDMA 4), navi10_sdma_pkt_open.h (5.0,
 * 5.2), sdma_v6_0_0_pkt_open.h (6.0; 7.0 uses it, too); limits from sdma_v*.c (copy_max_bytes, fill_max_bytes): 0x400000 for
 * 4.x and 5.0, 0x40000000 for 5.2 and later. SDMA 7's copies are eight dwords (sdma_v7_0_emit_copy_buffer).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/packets.h"

static const struct expected {
	const char *name;
	int version; /* of SDMA */
	uint64_t max; /* bytes that one packet may move */
} generations[] = {
	{ "gfx900", 4, 0x400000 },    { "gfx906", 4, 0x400000 },    { "gfx908", 4, 0x400000 },
	{ "gfx90a", 4, 0x400000 },    { "gfx942", 4, 0x400000 },    { "gfx1010", 5, 0x400000 },
	{ "gfx1030", 5, 0x40000000 }, { "gfx1100", 6, 0x40000000 }, { "gfx1101", 6, 0x40000000 },
	{ "gfx1102", 6, 0x40000000 }, { "gfx1200", 7, 0x40000000 }, { "gfx1201", 7, 0x40000000 },
};
#define GENERATIONS ((int)(sizeof(generations) / sizeof(*generations)))

/* SDMA_PKT_*_HEADER: OP 7:0, SUB_OP 15:8. */
#define OP(op, sub) ((uint32_t)(op) | (uint32_t)(sub) << 8)
#define COPY	    OP(1, 0) /* SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR */
#define FENCE	    OP(5, 0)
#define FILL	    (OP(11, 0) | 2u << 30) /* SDMA_OP_CONST_FILL; FILLSIZE 31:30: 2 is dwords */
#define TIME_STAMP  OP(13, 2) /* SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL */
#define MTYPE_UC    (3u << 16) /* SDMA_PKT_FENCE_HEADER_MTYPE 18:16, SDMA 5 and later */

static uint64_t pair(const uint32_t *at)
{
	return at[0] | (uint64_t)at[1] << 32;
}

/* Takes the stream apart. Return: bytes that it moves, every one of them once and in order. */
static uint64_t check_stream(const struct expected *e, const struct gp_move *m, const uint32_t *ib,
			     uint32_t count)
{
	uint32_t at = 0, copy_dwords = e->version == 7 ? 8 : 7;
	uint64_t moved = 0;

	ck_assert_uint_eq(ib[at], TIME_STAMP);
	ck_assert_uint_eq(pair(ib + at + 1), m->stamps);
	at += 3;
	while (at < count && (ib[at] == COPY || ib[at] == FILL)) {
		bool fill = ib[at] == FILL;
		uint64_t bytes = (uint64_t)ib[at + (fill ? 4 : 1)] + 1;

		ck_assert_int_eq(fill, !m->from);
		ck_assert_uint_le(bytes, e->max);
		ck_assert_uint_eq(pair(ib + at + (fill ? 1 : 5)), m->to + moved);
		if (fill) {
			ck_assert_uint_eq(ib[at + 3], m->pattern);
			ck_assert_uint_eq(bytes % 4, 0);
		} else {
			ck_assert_uint_eq(ib[at + 2], 0); /* DST_SW, SRC_SW, cache policies */
			ck_assert_uint_eq(pair(ib + at + 3), m->from + moved);
			if (e->version == 7)
				ck_assert_uint_eq(ib[at + 7], 0);
		}
		moved += bytes;
		at += fill ? 5 : copy_dwords;
	}
	ck_assert_uint_eq(ib[at], TIME_STAMP);
	ck_assert_uint_eq(pair(ib + at + 1), m->stamps + 8);
	at += 3;
	for (int half = 1; half >= 0; half--) {
		ck_assert_uint_eq(ib[at], FENCE | (e->version == 4 ? 0 : MTYPE_UC));
		ck_assert_uint_eq(pair(ib + at + 1), m->stamps + 16 + 4 * (uint64_t)half);
		ck_assert_uint_eq(ib[at + 3], (uint32_t)(m->ticket >> 32 * half));
		at += 4;
	}
	for (; at < count; at++)
		ck_assert_uint_eq(ib[at], 0); /* SDMA_OP_NOP, of one dword */
	return moved;
}

START_TEST(streams)
{
	static const uint64_t sizes[] = { 1, 3, 4096, 0x3fffff, 0x400000, 0x400001, 20u << 20 };
	const struct expected *e = &generations[_i];
	const struct gp_generation *gen = gp_generation_find(e->name);
	uint32_t ib[GP_PACKETS_MAX], count;

	ck_assert_ptr_nonnull(gen);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct gp_move m = {
			.to = 0x7f0123456789ull,
			.from = 0x7e89abcdef01ull,
			.bytes = sizes[i],
			.stamps = 0x7f7000001040ull,
			.ticket = 0x123456789abcdefull,
			.align = 16,
		};

		count = gp_sdma_build(gen, &m, ib);
		ck_assert_uint_gt(count, 0);
		ck_assert_uint_eq(count % 16, 0);
		ck_assert_uint_eq(check_stream(e, &m, ib, count), m.bytes);
		m = (struct gp_move){ .to = 0x7f0123456780ull,
				      .bytes = sizes[i] * 4,
				      .pattern = 0x12345678,
				      .stamps = m.stamps,
				      .ticket = 1 };
		count = gp_sdma_build(gen, &m, ib);
		ck_assert_uint_gt(count, 0);
		ck_assert_uint_eq(count % 8, 0);
		ck_assert_uint_eq(check_stream(e, &m, ib, count), m.bytes);
	}
}
END_TEST

/* The whole of one, dword by dword. */
START_TEST(one)
{
	const struct gp_move m = {
		.to = 0x7f0000002000ull,
		.from = 0x7f0000001000ull,
		.bytes = 0x100,
		.stamps = 0x7f0000003000ull,
		.ticket = 0x100000002ull,
	};
	static const uint32_t want[] = {
		0x20d, 0x3000, 0x7f00, /* the clock, at the begin */
		0x001, 0xff,   0,      0x1000, 0x7f00, 0x2000, 0x7f00, /* 256 bytes */
		0x20d, 0x3008, 0x7f00, /* the clock, at the end */
		0x005, 0x3014, 0x7f00, 1, /* the number, high and low */
		0x005, 0x3010, 0x7f00, 2,      0,      0,      0,
	};
	uint32_t ib[GP_PACKETS_MAX];

	ck_assert_uint_eq(gp_sdma_build(gp_generation_find("gfx900"), &m, ib), sizeof(want) / 4);
	ck_assert_mem_eq(ib, want, sizeof(want));
}
END_TEST

/* More than there is room for is refused, and nothing is written behind it. */
START_TEST(too_much)
{
	struct gp_move m = { .to = 0x10000, .from = 0x7f0000000000ull, .bytes = 4ull << 30 };
	uint32_t ib[GP_PACKETS_MAX + 1];

	ib[GP_PACKETS_MAX] = 0x5a5a5a5a;
	ck_assert_uint_eq(gp_sdma_build(gp_generation_find("gfx900"), &m, ib), 0);
	ck_assert_uint_eq(ib[GP_PACKETS_MAX], 0x5a5a5a5a);
	ck_assert_uint_gt(gp_sdma_build(gp_generation_find("gfx1030"), &m, ib), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sdma");
	TCase *tc = tcase_create("copy");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, streams, 0, GENERATIONS);
	tcase_add_test(tc, one);
	tcase_add_test(tc, too_much);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
