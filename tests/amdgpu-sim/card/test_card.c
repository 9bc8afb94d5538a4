/* SPDX-License-Identifier: BSD-3-Clause */
/* test_card.c - packets, dispatches and caches: what works, and that everything that must not work does not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"

#define LOOP_GENERATIONS 2 /* those that differ for most tests */
#define ALL_GENERATIONS	 6

static const char *const generations[ALL_GENERATIONS] = { "gfx900", "gfx1030", "gfx906",
							  "gfx908", "gfx90a",  "gfx1032" };

static struct card card;

static void open_card(int which, const char *commands)
{
	card_open(&card, generations[which], commands);
}

/* The @number-th of several cases on one card: a context that nothing went wrong in, and no memory but its own. */
static void begin_case(int which, size_t number)
{
	if (!number)
		open_card(which, NULL);
	else
		ck_assert_int_eq(amdgpu_cs_ctx_create(card.dev, &card.ctx), 0);
	card.count = 0;
}

START_TEST(test_packets)
{
	struct stream s, next;
	struct mem *m;
	uint64_t before = 0, after = 0;

	open_card(_i, NULL);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	s = stream_new(&card);
	next = stream_new(&card);
	put_write(&s, m->va, 0x11111111);
	/* COPY_DATA: 8 bytes of an immediate; then of memory; then of the clock */
	put(&s, PACKET(0x40, 5));
	put(&s, 5 | 5u << 8 | 1u << 16 | 1u << 20);
	put(&s, 0x22222222);
	put(&s, 0x33333333);
	put_address(&s, m->va + 8);
	put(&s, PACKET(0x40, 5));
	put(&s, 1 | 5u << 8 | 1u << 16 | 1u << 20);
	put_address(&s, m->va + 8);
	put_address(&s, m->va + 16);
	put(&s, PACKET(0x40, 5));
	put(&s, 9 | 5u << 8 | 1u << 16 | 1u << 20);
	put(&s, 0);
	put(&s, 0);
	put_address(&s, m->va + 24);
	/* DMA_DATA: 64 bytes filled, then copied */
	put(&s, PACKET(0x50, 6));
	put(&s, 2u << 29 | 1u << 31);
	put(&s, 0x44444444);
	put(&s, 0);
	put_address(&s, m->va + 64);
	put(&s, 64);
	put(&s, PACKET(0x50, 6));
	put(&s, 1u << 31);
	put_address(&s, m->va + 64);
	put_address(&s, m->va + 128);
	put(&s, 64);
	/* COND_EXEC: the word is 0, so the write is left out */
	put(&s, PACKET(0x22, 4));
	put_address(&s, m->va + 512);
	put(&s, 0);
	put(&s, 5);
	put_write(&s, m->va + 4, 0x55555555);
	/* WAIT_REG_MEM: equal */
	put(&s, PACKET(0x3c, 6));
	put(&s, 3 | 1u << 4);
	put_address(&s, m->va);
	put(&s, 0x11111111);
	put(&s, 0xffffffff);
	put(&s, 4);
	put(&s, 0xc0001000); /* NOP of two dwords */
	put(&s, 0xdeadbeef);
	put(&s, PACKET(0x3f, 3));
	put_address(&s, next.mem->va);
	put(&s, 8 | 1u << 20 | 1u << 23);
	ck_assert_uint_le(s.n & 7, 7);
	/* a chain is the last packet: put what pads in front of it */
	while (s.n & 7) {
		memmove(&s.mem->cpu[s.n - 3], &s.mem->cpu[s.n - 4], 16);
		s.mem->cpu[s.n - 4] = 0xffff1000;
		s.n++;
	}
	put(&next, PACKET(0x49, 7));
	put(&next, 0x514);
	put(&next, 3u << 29);
	put_address(&next, m->va + 32);
	put(&next, 0);
	put(&next, 0);
	put(&next, 0);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(m->cpu[0], 0x11111111);
	ck_assert_uint_eq(m->cpu[1], 0);
	ck_assert_uint_eq(m->cpu[2], 0x22222222);
	ck_assert_uint_eq(m->cpu[5], 0x33333333);
	memcpy(&before, m->cpu + 6, 8);
	memcpy(&after, m->cpu + 8, 8);
	ck_assert_uint_gt(before, 0);
	ck_assert_uint_ge(after, before);
	ck_assert_uint_eq(m->cpu[16], 0x44444444);
	ck_assert_uint_eq(m->cpu[47], 0x44444444);
	ck_assert_uint_eq(m->cpu[48], 0);
	card_close(&card);
}
END_TEST

/* One wrong thing in a stream each: the ring hangs on it, is reset, and the context is guilty. */
struct wrong {
	const char *what;
	uint32_t words[8], count;
	uint32_t generations; /* by index */
};

static const struct wrong wrongs[] = {
	{ "an unknown packet", { 0xc0007b00, 0 }, 2, 3 },
	{ "a packet of type 0", { 0x00000000 }, 1, 3 },
	{ "a packet of type 2", { 0x80000000 }, 1, 3 },
	{ "predication", { 0xc0004601, 0x407 }, 2, 3 },
	{ "a header's reserved bits", { 0xc0004680, 0x407 }, 2, 3 },
	{ "an event that is not known", { 0xc0004600, 0x40f }, 2, 3 },
	{ "a reserved bit of EVENT_WRITE", { 0xc0004600, 0x10407 }, 2, 3 },
	{ "a register that is none", { 0xc0017600, 0x2ff, 0 }, 3, 3 },
	{ "a register of the driver (COMPUTE_VMID)", { 0xc0017600, 0x214, 0 }, 3, 3 },
	{ "a reserved bit of a register", { 0xc0017600, 0x20d, 0x100 }, 3, 3 },
	{ "PRIV in RSRC1", { 0xc0017600, 0x212, 1u << 20 }, 3, 3 },
	{ "gfx10's register on gfx9", { 0xc0017600, 0x228, 0 }, 3, 1 },
	{ "SGPRS in RSRC1 of gfx10", { 0xc0017600, 0x212, 0x40 }, 3, 2 },
	{ "SET_SH_REG with an index", { 0xc0017600, 0x30000216, 0 }, 3, 3 },
	{ "SET_SH_REG_INDEX on gfx9", { 0xc0019b00, 0x30000216, 0 }, 3, 1 },
	{ "SET_SH_REG_INDEX for another register", { 0xc0019b00, 0x30000212, 0 }, 3, 2 },
	{ "ACQUIRE_MEM of gfx10 on gfx9", { 0xc0065800, 0, ~0u, 0xffffff, 0, 0, 10, 0xc3b1 }, 8, 1 },
	{ "ACQUIRE_MEM of gfx9 on gfx10", { 0xc0055800, 0x28c40000, ~0u, 0xffffff, 0, 0, 10 }, 7, 2 },
	{ "a reserved bit of ACQUIRE_MEM", { 0xc0055800, 0x28c40001, ~0u, 0xffffff, 0, 0, 10 }, 7, 1 },
	{ "WRITE_DATA to a register", { 0xc0033700, 0, 0x2e00, 0, 1 }, 5, 3 },
	{ "WRITE_DATA to what is not mapped", { 0xc0033700, 0x100500, 0x10000, 0x7f00, 1 }, 5, 3 },
	{ "COPY_DATA from a register", { 0xc0044000, 0x500, 0x2e00, 0, 0x10000, 0 }, 6, 3 },
	{ "INDIRECT_BUFFER without a chain", { 0xc0023f00, 0x10000, 1, 8 | 1u << 23 }, 4, 3 },
	{ "DISPATCH_DIRECT without registers", { 0xc0031500, 1, 1, 1, 5 }, 5, 3 },
	{ "a packet that ends behind its stream", { 0xc0ff1000 }, 1, 3 },
};

START_TEST(test_wrong_packets)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		const struct wrong *w = &wrongs[i];
		struct stream s;
		uint64_t flags = 0;

		if (!(w->generations >> _i & 1))
			continue;
		begin_case(_i, i);
		s = stream_new(&card);
		for (uint32_t n = 0; n < w->count; n++)
			put(&s, w->words[n]);
		ck_assert_msg(run(&card, &s) == -ETIME, "%s is let through", w->what);
		ck_assert_int_eq(amdgpu_cs_query_reset_state2(card.ctx, &flags), 0);
		ck_assert_uint_eq(flags, AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY);
		ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, NULL), -ECANCELED);
		ck_assert_int_eq(amdgpu_cs_ctx_free(card.ctx), 0);
	}
}
END_TEST

START_TEST(test_alignment)
{
	struct stream s;

	open_card(_i, NULL);
	s = stream_new(&card);
	put(&s, 0xffff1000);
	while (s.n & 7)
		put(&s, 0xffff1000);
	s.mem->va += 4;
	ck_assert_int_eq(run(&card, &s), -ETIME);
}
END_TEST

/* What the job does not name in its list, or may not do with it. */
START_TEST(test_permissions)
{
	static const struct {
		uint64_t flags;
		int expected;
	} rows[] = { { RW, 0 }, { AMDGPU_VM_PAGE_READABLE, -ETIME }, { 0, -ETIME } };

	for (size_t i = 0; i < 4; i++) {
		uint64_t flags = i < 3 ? rows[i].flags : RW;
		struct stream s;
		struct mem *m;

		begin_case(_i, i);
		s = stream_new(&card);
		m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VRAM_CLEARED, flags);
		put_write(&s, m->va, 7);
		if (i == 3)
			card.count--; /* not in the list */
		ck_assert_int_eq(run(&card, &s), i < 3 ? rows[i].expected : -ETIME);
		ck_assert_uint_eq(*m->cpu, i ? 0 : 7);
		ck_assert_int_eq(amdgpu_cs_ctx_free(card.ctx), 0);
	}
}
END_TEST

START_TEST(test_sdma)
{
	struct stream s;
	struct mem *m;
	uint64_t sequence;

	open_card(_i, NULL);
	m = mem_new(&card, 4 * PAGE, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_VRAM_CLEARED, RW);
	s = stream_new(&card);
	put(&s, 11 | 2u << 30); /* fill */
	put_address(&s, m->va);
	put(&s, 0x12345678);
	put(&s, 2 * PAGE - 1);
	put(&s, 1); /* copy */
	put(&s, 256 - 1);
	put(&s, 0);
	put_address(&s, m->va);
	put(&s, (uint32_t)(m->va + 3 * PAGE));
	put(&s, (uint32_t)(m->va >> 32));
	put(&s, 5); /* fence */
	put(&s, (uint32_t)(m->va + 3 * PAGE + 1024));
	put(&s, (uint32_t)(m->va >> 32));
	put(&s, 99);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_DMA, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_DMA, sequence, 20 * SECOND), 0);
	ck_assert_uint_eq(m->cpu[2 * PAGE / 4 - 1], 0x12345678);
	ck_assert_uint_eq(m->cpu[2 * PAGE / 4], 0);
	ck_assert_uint_eq(m->cpu[3 * PAGE / 4 + 63], 0x12345678);
	ck_assert_uint_eq(m->cpu[3 * PAGE / 4 + 64], 0);
	ck_assert_uint_eq(m->cpu[3 * PAGE / 4 + 256], 99);
	/* what it has no row for, and reserved bits */
	s.n = 0;
	put(&s, 3);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_DMA, 0, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_DMA, sequence, 20 * SECOND), -ETIME);
	card_close(&card);
}
END_TEST

START_TEST(test_dispatch)
{
	struct mem *out;
	struct launch l;
	struct stream s;

	open_card(_i, NULL);
	l = launch_ids(&card, &out);
	s = stream_new(&card);
	l.groups = 10;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_uint_eq(out->cpu[0], 0xdbdbdbdb);
	ck_assert_int_eq(run(&card, &s), 0);
	for (uint32_t i = 0; i < l.groups * l.size; i++)
		ck_assert_uint_eq(out->cpu[i], i);
	ck_assert_uint_eq(out->cpu[l.groups * l.size], 0xdbdbdbdb);
	card_close(&card);
}
END_TEST

/*
 * Code that waits for a time takes the same number of instructions every time: of 1 us each here, so 100 us are over behind
 * the third instruction and seventeen turns more.
 */
START_TEST(test_clock)
{
	struct mem *code, *out;
	struct launch l;
	struct stream s;

	open_card(_i, "clock 1000");
	code = programs(&card);
	out = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	s = stream_new(&card);
	for (uint32_t i = 0; i < 3; i++) {
		s.n = 0;
		*out->cpu = 0;
		l = launch_new(&card, code, P_TIME, out->va, 0);
		l.user = 2;
		l.size = 1;
		put_acquire(&s, card.gfx10);
		put_launch(&s, &card, &l);
		ck_assert_int_eq(run(&card, &s), 0);
		ck_assert_uint_eq(*out->cpu, 18);
	}
	card_close(&card);
}
END_TEST

/* A register that is left out is what another client left; each of these is needed. */
START_TEST(test_missing_registers)
{
	static const uint32_t needed[] = { 0x204, 0x205, 0x206, 0x207, 0x208, 0x209, 0x20c, 0x20d, 0x212,
					   0x213, 0x215, 0x216, 0x217, 0x218, 0x219, 0x21a, 0x240, 0x241,
					   0x224, 0x225, 0x226, 0x227, 0x228, 0x22a, 0x27d };
	uint32_t count = _i ? 25 : 18;

	for (uint32_t i = 0; i < count; i++) {
		struct mem *out;
		struct launch l;
		struct stream s;

		begin_case(_i, i);
		l = launch_ids(&card, &out);
		s = stream_new(&card);
		l.skip = needed[i];
		put_launch(&s, &card, &l);
		ck_assert_msg(run(&card, &s) == -ETIME, "register %#x is not missed", needed[i]);
		ck_assert_uint_eq(*out->cpu, 0xdbdbdbdb);
		ck_assert_int_eq(amdgpu_cs_ctx_free(card.ctx), 0);
	}
}
END_TEST

/* Fields that the chip has not. */
START_TEST(test_dispatch_fields)
{
	for (uint32_t i = 0; i < 7; i++) {
		struct mem *out;
		struct launch l;
		struct stream s;

		begin_case(_i, i);
		l = launch_ids(&card, &out);
		s = stream_new(&card);
		switch (i) {
		case 0:
			l.groups = 0;
			break;
		case 1:
			l.size = 1025;
			break;
		case 2:
			l.size = 0;
			break;
		case 3:
			l.rsrc2 = 129u << 15; /* more than 64 KiB of LDS */
			break;
		case 4:
			l.rsrc2 = 1; /* scratch without a ring */
			break;
		case 5:
			l.initiator = 1u << 20;
			break;
		default:
			l.rsrc1 = 1u << 10; /* priority */
			break;
		}
		put_launch(&s, &card, &l);
		ck_assert_msg(run(&card, &s) == -ETIME, "case %u", i);
		ck_assert_uint_eq(*out->cpu, 0xdbdbdbdb);
		ck_assert_int_eq(amdgpu_cs_ctx_free(card.ctx), 0);
	}
}
END_TEST

/* Waves that fault are killed: soft recovery, the context stays, what is queued on it fails likewise. */
START_TEST(test_wave_faults)
{
	static const struct {
		const char *what;
		uint64_t code_flags, from, to_flags;
	} rows[] = {
		{ "code that is not executable", RW, 0, RW },
		{ "a load of what is not mapped", RX, 0x7f0000000000, RW },
		{ "a store to what is read-only", RX, 0, AMDGPU_VM_PAGE_READABLE },
		{ "code at what is not mapped", 0, 0, RW },
	};

	for (size_t i = 0; i < 4; i++) {
		struct mem *code, *out;
		struct launch l;
		struct stream s;

		begin_case(_i, i);
		code = programs(&card);
		ck_assert_int_eq(amdgpu_bo_va_op_raw(card.dev, code->bo, 0, code->size, code->va,
						     rows[i].code_flags, AMDGPU_VA_OP_REPLACE),
				 0);
		out = mem_new(&card, 4 * PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, rows[i].to_flags);
		s = stream_new(&card);
		l = launch_new(&card, code, P_VLOAD, rows[i].from ? rows[i].from : out->va, out->va + 64);
		put_acquire(&s, card.gfx10);
		put_launch(&s, &card, &l);
		ck_assert_msg(run(&card, &s) == -ENODATA, "%s is let through", rows[i].what);
		ck_assert_msg(run(&card, &s) == -ENODATA, "what follows does not fail");
		ck_assert_int_eq(amdgpu_cs_ctx_free(card.ctx), 0);
	}
}
END_TEST

/*
 * Two loads of one word in one job, between which the packet processor changes it: the second sees what the cache has,
 * unless that is invalidated or gone around.
 */
static uint32_t second_load(enum program which, bool acquire)
{
	struct mem *code = programs(&card), *data = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM, 0, RW);
	struct stream s = stream_new(&card);
	struct launch l = launch_new(&card, code, which, data->va, data->va + 1024);

	data->cpu[0] = 1;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	put_write(&s, data->va, 2);
	if (acquire)
		put_acquire(&s, card.gfx10);
	l.data[2] += 1024;
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(data->cpu[256], 1);
	return data->cpu[512];
}

START_TEST(test_stale)
{
	open_card(_i, NULL);
	ck_assert_uint_eq(second_load(P_VLOAD, false), 1);
	ck_assert_uint_eq(second_load(P_VLOAD, true), 2);
	ck_assert_uint_eq(second_load(P_SLOAD, false), 1);
	ck_assert_uint_eq(second_load(P_SLOAD, true), 2);
	ck_assert_uint_eq(second_load(P_VLOAD_GLC, false), 2);
	card_close(&card);
}
END_TEST

START_TEST(test_no_caches)
{
	open_card(_i, "caches off");
	ck_assert_uint_eq(second_load(P_VLOAD, false), 2);
	ck_assert_uint_eq(second_load(P_SLOAD, false), 2);
	card_close(&card);
}
END_TEST

/* What the CPU changes between two jobs: without an acquire the second may see what the L2 or the scalar cache has. */
static uint32_t second_job(enum program which, bool acquire, uint32_t flags)
{
	struct mem *code = programs(&card), *data = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	struct launch l = launch_new(&card, code, which, data->va, data->va + 1024);
	struct stream s = stream_new(&card), t = stream_new(&card);
	uint64_t sequence;

	data->cpu[0] = 1;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(data->cpu[256], 1);
	data->cpu[0] = 2;
	l.data[2] += 1024;
	if (acquire)
		put_acquire(&t, card.gfx10);
	put_launch(&t, &card, &l);
	ck_assert_int_eq(submit(&card, &t, AMDGPU_HW_IP_COMPUTE, flags, &sequence), 0);
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), 0);
	return data->cpu[512];
}

START_TEST(test_stale_between_jobs)
{
	open_card(_i, NULL);
	/* gfx9's end fence invalidates vector caches and the L2, gfx10's does not; the scalar cache stays on both */
	ck_assert_uint_eq(second_job(P_VLOAD, false, 0), card.gfx10 ? 1 : 2);
	ck_assert_uint_eq(second_job(P_SLOAD, false, 0), 1);
	ck_assert_uint_eq(second_job(P_VLOAD, true, 0), 2);
	ck_assert_uint_eq(second_job(P_SLOAD, true, 0), 2);
	ck_assert_uint_eq(second_job(P_VLOAD, false, AMDGPU_IB_FLAG_EMIT_MEM_SYNC), 2);
	ck_assert_uint_eq(second_job(P_SLOAD, false, AMDGPU_IB_FLAG_EMIT_MEM_SYNC), 2);
	card_close(&card);
}
END_TEST

/*
 * What waves store stays in the L2 until it is written back: by the end of the job, by RELEASE_MEM, or at once where the
 * mapping goes around it. Return: what the CPU sees while the job still waits for it.
 */
static uint32_t seen_early(uint64_t mtype, bool release)
{
	struct mem *code = programs(&card),
		   *data = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW | mtype);
	struct mem *flags = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	struct launch l = launch_new(&card, code, P_IDS, data->va, 0);
	struct stream s = stream_new(&card);
	uint64_t sequence;
	uint32_t seen;

	l.user = 2;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	if (release) {
		put(&s, PACKET(0x49, 7));
		put(&s, 0x514 | (card.gfx10 ? 1u << 21 : 1u << 15));
		put(&s, 0);
		for (uint32_t i = 0; i < 5; i++)
			put(&s, 0);
	}
	put_write(&s, flags->va, 1);
	put(&s, PACKET(0x3c, 6)); /* WAIT_REG_MEM: until the CPU has looked */
	put(&s, 3 | 1u << 4);
	put_address(&s, flags->va + 4);
	put(&s, 1);
	put(&s, 0xffffffff);
	put(&s, 4);
	ck_assert_int_eq(submit(&card, &s, AMDGPU_HW_IP_COMPUTE, 0, &sequence), 0);
	while (!*(volatile uint32_t *)flags->cpu)
		usleep(1000);
	seen = ((volatile uint32_t *)data->cpu)[5];
	((volatile uint32_t *)flags->cpu)[1] = 1;
	ck_assert_int_eq(wait_for(&card, AMDGPU_HW_IP_COMPUTE, sequence, 20 * SECOND), 0);
	ck_assert_uint_eq(data->cpu[5], 5);
	return seen;
}

START_TEST(test_write_back)
{
	open_card(_i, NULL);
	ck_assert_uint_eq(seen_early(AMDGPU_VM_MTYPE_DEFAULT, false), 0);
	ck_assert_uint_eq(seen_early(AMDGPU_VM_MTYPE_DEFAULT, true), 5);
	ck_assert_uint_eq(seen_early(AMDGPU_VM_MTYPE_UC, false), 5);
	card_close(&card);
}
END_TEST

/* A buffer that is always valid is in no list, and in no other address space. */
START_TEST(test_always_valid)
{
	struct stream s;
	struct mem *m;
	uint32_t fd;

	open_card(_i, NULL);
	s = stream_new(&card);
	m = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_VRAM,
		    AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_VRAM_CLEARED, RW);
	put_write(&s, m->va, 7);
	card.count--;
	ck_assert_int_eq(run(&card, &s), 0);
	card.count++;
	ck_assert_uint_eq(*m->cpu, 7);
	ck_assert_int_ne(amdgpu_bo_export(m->bo, amdgpu_bo_handle_type_dma_buf_fd, &fd), 0);
	card_close(&card);
}
END_TEST

/* Code that was changed runs as it was until the instruction cache is invalidated. */
START_TEST(test_stale_code)
{
	struct mem *code, *data;
	struct launch l;
	struct stream s, t;

	open_card(_i, NULL);
	code = programs(&card);
	data = mem_new(&card, PAGE, AMDGPU_GEM_DOMAIN_GTT, 0, RW);
	data->cpu[0] = 5;
	l = launch_new(&card, code, P_VLOAD, data->va, data->va + 1024);
	s = stream_new(&card);
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(data->cpu[256], 5);
	code->cpu[64] = 0xbf810000; /* it ends at once */
	data->cpu[256] = 0;
	t = stream_new(&card);
	put_launch(&t, &card, &l);
	ck_assert_int_eq(run(&card, &t), 0);
	ck_assert_uint_eq(data->cpu[256], 5);
	data->cpu[256] = 0;
	s.n = 0;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	ck_assert_uint_eq(data->cpu[256], 0);
	card_close(&card);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("card");
	TCase *tc = tcase_create("card");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_packets, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_wrong_packets, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_alignment, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_permissions, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_sdma, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_dispatch, 0, ALL_GENERATIONS);
	tcase_add_loop_test(tc, test_missing_registers, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_dispatch_fields, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_wave_faults, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_stale, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_no_caches, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_stale_between_jobs, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_write_back, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_always_valid, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_stale_code, 0, LOOP_GENERATIONS);
	tcase_add_loop_test(tc, test_clock, 0, LOOP_GENERATIONS);
	suite_add_tcase(suite, tc);
	return sim_main(suite, argv);
}
