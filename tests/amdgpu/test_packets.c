/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_packets.c - the packets of a launch, for every generation, field by field.
 *
 * What is expected is written down here a second time, from the kernel's headers and not from amdgpu/packets.c or
 * amdgpu/generations.c:
 *  - packets: Linux 6.12, drivers/gpu/drm/amd/amdgpu/soc15d.h (gfx9) and nvd.h (gfx10 and later);
 *  - registers: drivers/gpu/drm/amd/include/asic_reg/gc/gc_*_offset.h. Offsets there are relative to a segment of the block
 *    (0x2000 on gfx9, 0x1260 on gfx10 and later); SET_SH_REG counts from PACKET3_SET_SH_REG_START, 0x2c00. Here is the
 *    sum, as the processor sees it (gfx11: regCOMPUTE_PGM_LO is 0x1bac + 0x1260 = 0x2e0c);
 *  - fields: gc_*_sh_mask.h.
 * The stream is also taken apart by its headers alone, as the processor does.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/packets.h"

#define SH 0x2c00u

/* Headers: type 3, count of what follows less one, opcode, and SHADER_TYPE (PACKET3_COMPUTE). */
#define PACKET3(op, n)	       (0xc0000000u | (uint32_t)(n) << 16 | (uint32_t)(op) << 8)
#define PACKET3_COMPUTE(op, n) (PACKET3(op, n) | 2u)

enum { gfx9, gfx10, gfx11, gfx12 };

/* A generation, as the headers have it. */
static const struct expected {
	const char *name;
	int family;
	uint32_t rsrc3; /* COMPUTE_PGM_RSRC3; 0: there is none */
	bool scratch_base; /* COMPUTE_DISPATCH_SCRATCH_BASE_LO, _HI */
	bool wave32;
	bool engines8; /* COMPUTE_STATIC_THREAD_MGMT_SE4 to _SE7 */
} generations[] = {
	/* gc_9_0: no RSRC3. gc_9_4_2, gc_9_4_3: 0x0e2d + 0x2000. gc_10, gc_11, gc_12: 0x1bc8 + 0x1260. */
	{ "gfx900", gfx9, 0, false, false, false },	  { "gfx906", gfx9, 0, false, false, false },
	{ "gfx908", gfx9, 0, false, false, true },	  { "gfx90a", gfx9, 0x2e2d, false, false, true },
	{ "gfx942", gfx9, 0x2e2d, true, false, false },	  { "gfx1010", gfx10, 0x2e28, false, true, false },
	{ "gfx1030", gfx10, 0x2e28, false, true, false }, { "gfx1100", gfx11, 0x2e28, true, true, true },
	{ "gfx1101", gfx11, 0x2e28, true, true, true },	  { "gfx1102", gfx11, 0x2e28, true, true, true },
	{ "gfx1200", gfx12, 0x2e28, true, true, true },	  { "gfx1201", gfx12, 0x2e28, true, true, true },
};
#define GENERATIONS ((int)(sizeof(generations) / sizeof(*generations)))

/* CP_COHER_CNTL (gfx9): TC_WB_ACTION_ENA 18, TCL1_ACTION_ENA 22, TC_ACTION_ENA 23, SH_KCACHE_ACTION_ENA 27, SH_ICACHE_ACTION_ENA 29. */
#define COHER_CNTL (1u << 18 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 29)
/*
 * GCR_CNTL (PACKET3_ACQUIRE_MEM_GCR_CNTL_*): GLI_INV 1:0, GLM_WB 4, GLM_INV 5, GLK_INV 7, GLV_INV 8, GL1_INV 9, GL2_INV 14,
 * GL2_WB 15. gfx12 has no GLM.
 */
#define GCR_CNTL_GFX12 (1u << 0 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 14 | 1u << 15)
#define GCR_CNTL_GFX10 (GCR_CNTL_GFX12 | 1u << 4 | 1u << 5)
/* COMPUTE_DISPATCH_INITIATOR: COMPUTE_SHADER_EN 0, FORCE_START_AT_000 2, ORDER_MODE 6, CS_W32_EN 15. */
#define START	   (1u << 0 | 1u << 2)
#define ORDER_MODE (1u << 6)
#define CS_W32_EN  (1u << 15)
/* EVENT_WRITE, RELEASE_MEM: EVENT_TYPE 5:0, EVENT_INDEX 11:8. */
#define CS_PARTIAL_FLUSH (7u | 4u << 8)
#define FLUSH_AND_INV_TS (0x14u | 5u << 8)
/* RELEASE_MEM: DATA_SEL 31:29: 2 the data, 3 the GPU's clock. INT_SEL 26:24 none, DST_SEL 17:16 memory. */
#define DATA_64	   (2u << 29)
#define DATA_CLOCK (3u << 29)
/* DMA_DATA: SRC_SEL 30:29: 2 data. DST_SEL 21:20: 3 memory by L2. CP_SYNC 31. */
#define DMA_FILL (2u << 29 | 3u << 20)
#define DMA_SYNC (1u << 31)

struct stream {
	uint32_t dwords[GP_PACKETS_MAX];
	uint32_t count;
};

#define PUT(stream, ...)                                                        \
	do {                                                                    \
		const uint32_t put_[] = { __VA_ARGS__ };                        \
		memcpy((stream)->dwords + (stream)->count, put_, sizeof(put_)); \
		(stream)->count += sizeof(put_) / 4;                            \
	} while (0)

/* SET_SH_REG of one register more than @n values may follow it for. */
#define SET(stream, reg, n, ...) PUT(stream, PACKET3_COMPUTE(0x76, n), (reg) - SH, __VA_ARGS__)

static void expect_release(struct stream *s, uint64_t at, uint32_t select, uint64_t data)
{
	PUT(s, PACKET3(0x49, 6), FLUSH_AND_INV_TS, select, (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)data,
	    (uint32_t)(data >> 32), 0);
}

static void expect_masks(struct stream *s, const struct expected *e)
{
	/*
	 * COMPUTE_STATIC_THREAD_MGMT_SE0, _SE1, _SE2, _SE3. _SE4 to _SE7: on gfx9 v9_mqd's dwords 39 to 42, where 1 is
	 * COMPUTE_DISPATCH_INITIATOR, 0x2e00; gc_11: 0x1bcb + 0x1260.
	 */
	static const uint32_t se[] = { 0x2e16, 0x2e17, 0x2e19, 0x2e1a };

	if (e->family == gfx10) {
		/* SET_SH_REG_INDEX: INDEX 31:28 is 3, "apply the driver's CU mask". */
		for (int i = 0; i < 4; i++)
			PUT(s, PACKET3_COMPUTE(0x9b, 1), (se[i] - SH) | 3u << 28, 0xffffffff);
		return;
	}
	SET(s, 0x2e16, 2, 0xffffffff, 0xffffffff);
	SET(s, 0x2e19, 2, 0xffffffff, 0xffffffff);
	if (e->engines8)
		SET(s, e->family == gfx9 ? 0x2e00 + 39 - 1 : 0x2e2b, 4, 0xffffffff, 0xffffffff, 0xffffffff,
		    0xffffffff);
}

static void expect_acquire(struct stream *s, const struct expected *e)
{
	if (e->family == gfx9)
		PUT(s, PACKET3_COMPUTE(0x58, 5), COHER_CNTL, 0xffffffff, 0xff, 0, 0, 10);
	else
		PUT(s, PACKET3_COMPUTE(0x58, 6), 0, 0xffffffff, 0xff, 0, 0, 10,
		    e->family == gfx12 ? GCR_CNTL_GFX12 : GCR_CNTL_GFX10);
}

/* The whole stream but for what is beyond DISPATCH_DIRECT. */
static void expect(struct stream *s, const struct expected *e, const struct gp_dispatch *d)
{
	uint64_t scratch = d->scratch >> 8;

	s->count = 0;
	expect_release(s, d->stamps, DATA_CLOCK, 0);
	if (d->scratch)
		PUT(s, PACKET3(0x50, 5), DMA_FILL | DMA_SYNC, 0, 0, (uint32_t)d->scratch,
		    (uint32_t)(d->scratch >> 32), (uint32_t)d->scratch_bytes);
	expect_acquire(s, e);
	SET(s, 0x2e04, 6, 0, 0, 0, d->group, 1, 1); /* START_X, NUM_THREAD_X */
	SET(s, 0x2e0c, 2, (uint32_t)(d->code >> 8), (uint32_t)(d->code >> 40)); /* PGM_LO, _HI */
	SET(s, 0x2e12, 2, d->rsrc1, d->rsrc2); /* PGM_RSRC1, _RSRC2 */
	if (e->rsrc3)
		SET(s, e->rsrc3, 1, d->rsrc3);
	SET(s, 0x2e15, 1, 0); /* RESOURCE_LIMITS */
	expect_masks(s, e);
	/* TMPRING_SIZE: WAVES 11:0, WAVESIZE from 12 */
	SET(s, 0x2e18, 1, d->scratch ? d->scratch_units << 12 | d->scratch_waves : 0);
	if (e->scratch_base)
		SET(s, 0x2e10, 2, (uint32_t)scratch, (uint32_t)(scratch >> 32));
	if (e->family >= gfx10) {
		SET(s, 0x2e24, 4, 0, 0, 0, 0); /* USER_ACCUM_0 to _3 */
		SET(s, 0x2e2a, 1, 0); /* SHADER_CHKSUM */
		SET(s, 0x2e7d, 1, 0); /* DISPATCH_TUNNEL */
	}
	if (e->family >= gfx11)
		SET(s, 0x2e2f, 1, 64); /* DISPATCH_INTERLEAVE */
	PUT(s, PACKET3_COMPUTE(0x76, d->num_user), 0x2e40 - SH);
	for (uint32_t i = 0; i < d->num_user; i++)
		PUT(s, d->user[i]);
	for (uint32_t i = 0; i < d->times; i++) {
		if (i)
			expect_acquire(s, e);
		PUT(s, PACKET3_COMPUTE(0x15, 3), d->groups, 1, 1,
		    START | (e->family == gfx9 ? ORDER_MODE : 0) | (e->wave32 ? CS_W32_EN : 0));
		PUT(s, PACKET3(0x46, 0), CS_PARTIAL_FLUSH);
	}
	expect_release(s, d->stamps + 8, DATA_CLOCK, 0);
	expect_release(s, d->stamps + 16, DATA_64, d->ticket);
	while (s->count % 8)
		PUT(s, 0xffff1000);
}

static const struct gp_dispatch plain = {
	.code = 0x7f12345678900ull,
	.rsrc1 = 0x00ac0081,
	.rsrc2 = 0x0000008c,
	.rsrc3 = 0x00000007,
	.user = { 0, 0, 0, 0, 0x89abc3c0, 0x00007f01 },
	.num_user = 6,
	.groups = 0x12345,
	.group = 64,
	.times = 1,
	.stamps = 0x7f0123456040ull,
	.ticket = 0x123456789abull,
};

static const struct gp_dispatch with_scratch = {
	.code = 0x7ff0aa55a500ull,
	.rsrc1 = 0x00ac0041,
	.rsrc2 = 0x00000091,
	.user = { 1, 2, 3, 4, 5, 6, 7, 8 },
	.num_user = 8,
	.groups = 1,
	.group = 32,
	.times = 1,
	.scratch = 0x7f8877600000ull,
	.scratch_bytes = 0x320000,
	.scratch_waves = 0x64,
	.scratch_units = 0x21,
	.stamps = 0x7f0123456000ull,
	.ticket = 1,
};

static void compare(const struct expected *e, const struct gp_dispatch *d)
{
	const struct gp_generation *gen = gp_generation_find(e->name);
	uint32_t got[GP_PACKETS_MAX], count;
	struct stream want;

	ck_assert_ptr_nonnull(gen);
	count = gp_packets_build(gen, d, got);
	expect(&want, e, d);
	for (uint32_t i = 0; i < want.count && i < count; i++)
		ck_assert_msg(got[i] == want.dwords[i], "%s: dword %u is 0x%08x, not 0x%08x", e->name, i,
			      got[i], want.dwords[i]);
	ck_assert_msg(count == want.count, "%s: %u dwords, not %u", e->name, count, want.count);
}

START_TEST(stream)
{
	compare(&generations[_i], &plain);
	compare(&generations[_i], &with_scratch);
}
END_TEST

/* The packets of parts: one dispatch behind the other, with nothing in the caches of what the last one's lanes read. */
START_TEST(several_times)
{
	struct gp_dispatch d = plain;

	d.times = 3;
	compare(&generations[_i], &d);
	d.times = GP_PACKETS_TIMES;
	compare(&generations[_i], &d);
}
END_TEST

/* Taken apart by headers alone: what registers hold when the groups are started. */
struct state {
	uint32_t value[0x400];
	bool set[0x400];
	int packets[256];
};

static void take_apart(const uint32_t *ib, uint32_t count, struct state *state, bool stop_at_dispatch)
{
	memset(state, 0, sizeof(*state));
	for (uint32_t at = 0; at < count;) {
		uint32_t header = ib[at], op = header >> 8 & 0xff, body = (header >> 16 & 0x3fff) + 1;

		if (header == 0xffff1000) {
			at++;
			continue;
		}
		ck_assert_uint_eq(header >> 30, 3);
		ck_assert_uint_eq(header & 0xfd, 0); /* PREDICATE 0, and nothing but SHADER_TYPE */
		ck_assert_uint_le(at + 1 + body, count);
		state->packets[op]++;
		if (op == 0x76 || op == 0x9b) {
			uint32_t reg = ib[at + 1] & 0xffff;

			ck_assert_uint_ge(reg, 0x200); /* of the compute pipe */
			for (uint32_t i = 1; i < body; i++, reg++) {
				ck_assert_uint_lt(reg, 0x400);
				ck_assert_msg(!state->set[reg], "register 0x%x is set twice", reg);
				state->set[reg] = true;
				state->value[reg] = ib[at + 1 + i];
			}
		}
		if (op == 0x15 && stop_at_dispatch)
			return;
		at += 1 + body;
	}
}

START_TEST(registers)
{
	/* What a dispatch depends on, for which no other client's value may be left (names as in gc_9_0_offset.h). */
	static const uint32_t needed[] = {
		0x2e04, 0x2e05, 0x2e06, /* START_X, _Y, _Z */
		0x2e07, 0x2e08, 0x2e09, /* NUM_THREAD_X, _Y, _Z */
		0x2e0c, 0x2e0d, /* PGM_LO, _HI */
		0x2e12, 0x2e13, /* PGM_RSRC1, _RSRC2 */
		0x2e15, /* RESOURCE_LIMITS */
		0x2e16, 0x2e17, 0x2e19, 0x2e1a, /* STATIC_THREAD_MGMT_SE0 to _SE3 */
		0x2e18, /* TMPRING_SIZE */
		0x2e40, 0x2e41, 0x2e42, 0x2e43, 0x2e44, 0x2e45, /* USER_DATA_0 to _5 */
	};
	const struct expected *e = &generations[_i];
	uint32_t ib[GP_PACKETS_MAX], count = gp_packets_build(gp_generation_find(e->name), &plain, ib);
	struct state state;

	take_apart(ib, count, &state, true);
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		ck_assert_msg(state.set[needed[i] - SH], "%s: register 0x%x is not set", e->name, needed[i]);
	ck_assert_uint_eq((uint64_t)state.value[0x20d] << 40 | (uint64_t)state.value[0x20c] << 8, plain.code);
	take_apart(ib, count, &state, false);
	ck_assert_int_eq(state.packets[0x15], 1);
	ck_assert_int_eq(state.packets[0x49], 3);
	ck_assert_int_eq(state.packets[0x46], 1);
	ck_assert_int_eq(state.packets[0x58], 1);
	ck_assert_int_eq(state.packets[0x50], 0);
}
END_TEST

/* The table has no generation that is not expected here. */
START_TEST(all_of_them)
{
	size_t count;
	const struct gp_generation *table = gp_generations(&count);

	ck_assert_int_eq((int)count, GENERATIONS);
	for (size_t i = 0; i < count; i++) {
		int n = 0;

		while (n < GENERATIONS && strcmp(generations[n].name, table[i].name))
			n++;
		ck_assert_msg(n < GENERATIONS, "%s", table[i].name);
	}
}
END_TEST

START_TEST(padding)
{
	struct gp_dispatch d = plain;
	uint32_t ib[GP_PACKETS_MAX], short_count, count;

	short_count = gp_packets_build(gp_generation_find("gfx900"), &d, ib);
	d.align = 64;
	count = gp_packets_build(gp_generation_find("gfx900"), &d, ib);
	ck_assert_uint_eq(count % 64, 0);
	ck_assert_uint_ge(count, short_count);
	for (uint32_t i = short_count; i < count; i++)
		ck_assert_uint_eq(ib[i], 0xffff1000);
}
END_TEST

/* A fill has 26 bits for its length: more is several, and only the last one is waited for. */
START_TEST(large_scratch)
{
	struct gp_dispatch d = with_scratch;
	uint32_t ib[GP_PACKETS_MAX], count;
	uint64_t at, left = 200u << 20;
	int fills = 0;

	d.scratch_bytes = left;
	at = d.scratch;
	count = gp_packets_build(gp_generation_find("gfx1030"), &d, ib);
	ck_assert_uint_gt(count, 0);
	for (uint32_t i = 0; i + 7 < count; i++) {
		if (ib[i] != PACKET3(0x50, 5))
			continue;
		fills++;
		ck_assert_uint_eq(ib[i + 4], (uint32_t)at);
		ck_assert_uint_eq(ib[i + 5], (uint32_t)(at >> 32));
		ck_assert_uint_lt(ib[i + 6], 1u << 26);
		ck_assert_uint_eq(ib[i + 6] % 32, 0);
		at += ib[i + 6];
		left -= ib[i + 6];
		ck_assert_uint_eq(ib[i + 1], left ? DMA_FILL : DMA_FILL | DMA_SYNC);
	}
	ck_assert_int_eq(fills, 4);
	ck_assert_uint_eq(left, 0);
}
END_TEST

/* More than the ring has room for is refused and nothing is written behind it. */
START_TEST(too_much)
{
	struct gp_dispatch d = with_scratch;
	uint32_t ib[GP_PACKETS_MAX + 1];

	ib[GP_PACKETS_MAX] = 0x5a5a5a5a;
	d.scratch_bytes = 8ull << 30;
	ck_assert_uint_eq(gp_packets_build(gp_generation_find("gfx900"), &d, ib), 0);
	ck_assert_uint_eq(ib[GP_PACKETS_MAX], 0x5a5a5a5a);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("packets");
	TCase *tc = tcase_create("launch");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, stream, 0, GENERATIONS);
	tcase_add_loop_test(tc, several_times, 0, GENERATIONS);
	tcase_add_loop_test(tc, registers, 0, GENERATIONS);
	tcase_add_test(tc, all_of_them);
	tcase_add_test(tc, padding);
	tcase_add_test(tc, large_scratch);
	tcase_add_test(tc, too_much);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
