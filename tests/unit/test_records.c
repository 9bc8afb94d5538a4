/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_records.c - what programs tell the outside: records against a model with the kernel's accounting, lines of the
 * log against printf, and both with threads; routes.
 */
#include <pthread.h>
#include <stdio.h>
#include "box.h"
#include "rt/log.h"
#include "rt/mem.h"

static const uint32_t types[] = { VIRTIO_GPGPU_MAP_RINGBUF, VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY };

static void ring_open(struct box *b, uint32_t bytes)
{
	box_open(b, VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, bytes, 1);
}

/* Byte @i of the record with this number. */
static uint8_t pattern(uint32_t number, uint32_t i)
{
	return (uint8_t)(number * 31 + i * 7);
}

/* ------------------------------------------------------------------ one by one
 * The model: records in order, each with the 8 bytes and the rounding that the kernel counts.
 */
enum { RING = 4096, MAX_OPEN = GP_LANE_RECORDS };

struct record {
	uint32_t number, size;
	bool finished, discarded;
};

struct model {
	struct box b;
	GQueue *records; /* struct record, oldest first */
	uint64_t used, dropped;
	uint32_t numbers;
	struct gp_map *maps[1];
	struct gp_env env;
	struct gp_lane lane;
	uint64_t open[MAX_OPEN];
	struct record *open_record[MAX_OPEN];
};

static uint64_t cost(uint32_t size)
{
	return 8 + (size + 7) / 8 * 8;
}

static struct record *model_add(struct model *m, uint32_t size)
{
	struct record *r = g_new0(struct record, 1);

	r->number = m->numbers++;
	r->size = size;
	m->used += cost(size);
	g_queue_push_tail(m->records, r);
	return r;
}

static void model_output(struct model *m, uint32_t size)
{
	bool room = m->used + cost(size) < RING;
	uint8_t *data = g_malloc(size + 1);
	uint32_t i;

	for (i = 0; i < size; i++)
		data[i] = pattern(m->numbers, i);
	ck_assert_int_eq(gp_helper_ringbuf_output(&m->lane, &m->b.map, data, size, 0), room ? 0 : -EAGAIN);
	if (room)
		model_add(m, size)->finished = true;
	else
		m->dropped++;
	g_free(data);
}

static void model_reserve(struct model *m, uint32_t size)
{
	bool room = m->used + cost(size) < RING;
	uint32_t k, i;
	uint64_t at;

	for (k = 0; k < MAX_OPEN && m->open[k]; k++)
		;
	at = gp_helper_ringbuf_reserve(&m->lane, &m->b.map, size, 0);
	if (k == MAX_OPEN || !room) {
		ck_assert_uint_eq(at, 0);
		m->dropped += k < MAX_OPEN;
		return;
	}
	ck_assert_uint_ne(at, 0);
	ck_assert_uint_eq((at - 1) % 8, 0);
	ck_assert_uint_le(at - 1 + size, m->b.map.values_size);
	for (i = 0; i < size; i++)
		m->b.map.values[at - 1 + i] = pattern(m->numbers, i);
	m->open[k] = (32ull << 48) + at - 1;
	m->open_record[k] = model_add(m, size);
}

static void model_finish(struct model *m, uint32_t k, bool discard)
{
	int64_t err;

	if (!m->open[k])
		return;
	err = discard ? gp_helper_ringbuf_discard(&m->lane, m->open[k], 0)
		      : gp_helper_ringbuf_submit(&m->lane, m->open[k], 0);
	ck_assert_int_eq(err, 0);
	ck_assert_int_ne(gp_helper_ringbuf_submit(&m->lane, m->open[k], 0), 0);
	m->open[k] = 0;
	m->open_record[k]->finished = true;
	m->open_record[k]->discarded = discard;
}

/* The lane ends: what it has open is discarded. */
static void model_end(struct model *m)
{
	gp_lane_end(&m->lane);
	for (uint32_t k = 0; k < MAX_OPEN; k++) {
		if (!m->open[k])
			continue;
		m->open[k] = 0;
		m->open_record[k]->finished = true;
		m->open_record[k]->discarded = true;
	}
	m->lane = new_lane();
	m->lane.env = &m->env;
}

static void drop_discarded(struct model *m)
{
	struct record *r;

	while ((r = g_queue_peek_head(m->records)) && r->finished && r->discarded) {
		m->used -= cost(r->size);
		g_free(g_queue_pop_head(m->records));
	}
}

static void model_read(struct model *m, uint64_t room)
{
	uint8_t *buf = g_malloc(room + 1), *at = buf;
	uint32_t num, count = 0;
	uint64_t dropped, used = 0;
	struct record *r;
	int64_t got;

	got = gp_map_records_read(&m->b.map, buf, room, &num, &dropped);
	ck_assert_uint_eq(dropped, m->dropped);
	for (;;) {
		struct virtio_gpgpu_record head;
		uint64_t padded;

		drop_discarded(m);
		r = g_queue_peek_head(m->records);
		if (!r || !r->finished)
			break;
		padded = sizeof(head) + (r->size + 7) / 8 * 8;
		if (used + padded > room)
			break;
		memcpy(&head, at, sizeof(head));
		ck_assert_uint_eq(head.size, r->size);
		for (uint32_t i = 0; i < r->size; i++)
			ck_assert_uint_eq(at[sizeof(head) + i], pattern(r->number, i));
		for (uint32_t i = r->size; i < padded - sizeof(head); i++)
			ck_assert_uint_eq(at[sizeof(head) + i], 0);
		at += padded;
		used += padded;
		m->used -= cost(r->size);
		g_free(g_queue_pop_head(m->records));
		count++;
	}
	ck_assert_uint_eq(num, count);
	ck_assert_int_eq(got, !count && r && r->finished ? -EMSGSIZE : (int64_t)used);
	ck_assert_int_eq(gp_map_records_pending(&m->b.map), r && r->finished);
	g_free(buf);
}

START_TEST(test_ring_model)
{
	struct model m = { .records = g_queue_new() };
	uint32_t n;

	ring_open(&m.b, RING);
	m.maps[0] = &m.b.map;
	m.env = (struct gp_env){ .maps = m.maps, .num_maps = 1 };
	model_end(&m);
	for (n = 0; n < 40000; n++) {
		uint32_t size = (uint32_t)g_random_int_range(0, g_random_int_range(0, 8) ? 300 : RING + 50);

		switch (g_random_int_range(0, 8)) {
		case 0:
		case 1:
			model_output(&m, size);
			break;
		case 2:
		case 3:
			model_reserve(&m, size);
			break;
		case 4:
		case 5:
			model_finish(&m, (uint32_t)g_random_int_range(0, MAX_OPEN),
				     g_random_int_range(0, 4) == 0);
			break;
		case 6:
			if (g_random_int_range(0, 10) == 0)
				model_end(&m);
			break;
		default:
			model_read(&m, (uint64_t)g_random_int_range(0, 2 * RING));
		}
		drop_discarded(&m);
		gp_map_records_pending(&m.b.map); /* which gives room back as that does */
		ck_assert_uint_eq(gp_helper_ringbuf_query(&m.lane, &m.b.map, BPF_RB_AVAIL_DATA), m.used);
		m.lane.fuel = 1000000;
	}
	model_end(&m);
	model_read(&m, 2 * RING);
	ck_assert_uint_eq(g_queue_get_length(m.records), 0);
	ck_assert_uint_eq(m.used, 0);
	g_queue_free(m.records);
	box_close(&m.b);
}
END_TEST

/* ------------------------------------------------------------------ what is refused */

START_TEST(test_ring_refuses)
{
	struct gp_lane lane = new_lane();
	uint8_t data[16] = { 0 };
	uint64_t dropped;
	uint32_t num;
	struct box b, other;

	ring_open(&b, 4096);
	box_open(&other, VIRTIO_GPGPU_MAP_HASH, 4, 8, 4, 1);
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 8, 4), -EINVAL);
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 8, 1ull << 63), -EINVAL);
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 8, BPF_RB_FORCE_WAKEUP), 0);
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &other.map, data, 8, 0), -EINVAL);
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &b.map, 8, 1), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &other.map, 8, 0), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &b.map, UINT64_MAX, 0), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &b.map, UINT64_MAX - 7, 0), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &b.map, 4088, 0), 0);
	ck_assert_uint_ne(gp_helper_ringbuf_reserve(&lane, &b.map, 4000, 0), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &b.map, BPF_RB_RING_SIZE), 4096);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &b.map, BPF_RB_PROD_POS), 16 + 4008);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &b.map, BPF_RB_CONS_POS), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &b.map, 4), 0);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &other.map, BPF_RB_RING_SIZE), 0);
	/* Handles that are no record. */
	ck_assert_int_ne(gp_helper_ringbuf_submit(&lane, 0, 0), 0);
	ck_assert_int_ne(gp_helper_ringbuf_submit(&lane, UINT64_MAX, 0), 0);
	ck_assert_int_ne(gp_helper_ringbuf_submit(&lane, 32ull << 48, 0), 0);
	ck_assert_int_ne(gp_helper_ringbuf_discard(&lane, 16384ull << 48, 0), 0);
	gp_lane_end(&lane);
	ck_assert_int_eq(gp_map_records_read(&other.map, data, 16, &num, &dropped), -EINVAL);
	ck_assert(!gp_map_records_pending(&other.map));
	ck_assert_int_eq(gp_map_records_read(&b.map, data, 15, &num, &dropped), -EMSGSIZE);
	ck_assert_int_eq(gp_map_records_read(&b.map, data, 16, &num, &dropped), 16);
	ck_assert_uint_eq(dropped, 3);
	box_close(&b);
	box_close(&other);
}
END_TEST

static const struct perf_row {
	uint64_t flags, size;
	int64_t err;
} perf_rows[] = {
	{ BPF_F_CURRENT_CPU, 8, 0 },
	{ 1, 8, 0 }, /* this CPU, by number */
	{ 0, 8, -EOPNOTSUPP },
	{ 2, 8, -E2BIG },
	{ BPF_F_CURRENT_CPU | 64ull << 32, 8, 0 },
	{ BPF_F_CURRENT_CPU | 65ull << 32, 8, -EFAULT },
	{ BPF_F_CURRENT_CPU | 0xfffffull << 32, 8, -EFAULT },
	{ BPF_F_CURRENT_CPU | 1ull << 52, 8, -EINVAL },
	{ UINT64_MAX, 8, -EINVAL },
	{ BPF_F_CURRENT_CPU, 0, 0 },
	{ BPF_F_CURRENT_CPU | 3ull << 32, 5, 0 }, /* the packet's part is not aligned */
	{ BPF_F_CURRENT_CPU, 256 << 10, -ENOSPC },
};

START_TEST(test_perf)
{
	const struct perf_row *row = &perf_rows[_i];
	uint8_t *data = g_malloc0(256 << 10), slot[128], buf[256];
	uint32_t packet = (uint32_t)(row->flags >> 32), num, i;
	struct gp_lane lane = new_lane();
	uint64_t dropped;
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY, 4, 4, 2, 1);
	thread.cpu = 1;
	lane.base = slot;
	lane.data_off = 32;
	lane.data_end = 96;
	for (i = 0; i < sizeof(slot); i++)
		slot[i] = (uint8_t)i;
	memset(data, 0xaa, row->size);
	ck_assert_int_eq(gp_helper_perf_output(&lane, &b.map, row->flags, data, row->size), row->err);
	if (row->err) {
		ck_assert_int_eq(gp_map_records_read(&b.map, buf, sizeof(buf), &num, &dropped), 0);
		ck_assert_uint_eq(dropped, row->err == -ENOSPC);
	} else {
		struct virtio_gpgpu_record head;

		ck_assert_int_gt(gp_map_records_read(&b.map, buf, sizeof(buf), &num, &dropped), 0);
		memcpy(&head, buf, sizeof(head));
		ck_assert_uint_eq(head.size, row->size + packet);
		ck_assert_uint_eq(head.cpu, 1);
		for (i = 0; i < head.size; i++)
			ck_assert_uint_eq(buf[8 + i], i < row->size ? 0xaa : 32 + i - row->size);
	}
	b.map.type = VIRTIO_GPGPU_MAP_HASH;
	ck_assert_int_eq(gp_helper_perf_output(&lane, &b.map, BPF_F_CURRENT_CPU, data, 8), -EINVAL);
	thread.cpu = 0;
	g_free(data);
	box_close(&b);
}
END_TEST

/* What a copy costs, and that a lock which never comes costs everything. */
START_TEST(test_record_fuel)
{
	uint8_t *data = g_malloc0(100000);
	struct gp_lane lane = new_lane();
	uint64_t fuel = lane.fuel;
	struct box b;

	ring_open(&b, 1 << 20);
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 64000, 0), 0);
	ck_assert_uint_eq(fuel - lane.fuel, 1000);
	ck_assert(gp_lock((uint32_t *)(void *)b.map.state));
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 8, 0), -EBUSY);
	ck_assert_uint_eq(lane.fuel, 0);
	lane = new_lane();
	ck_assert_uint_eq(gp_helper_ringbuf_reserve(&lane, &b.map, 8, 0), 0);
	ck_assert_uint_eq(lane.fuel, 0);
	box_close(&b);

	/* What there is no fuel for is not copied. */
	ring_open(&b, 1 << 20);
	lane = new_lane();
	lane.fuel = 100;
	lane.reserve = 900;
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 64064, 0), -EAGAIN);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 0);
	ck_assert_uint_eq(gp_helper_ringbuf_query(&lane, &b.map, BPF_RB_PROD_POS), 0);
	lane.fuel = 100;
	lane.reserve = 900;
	ck_assert_int_eq(gp_helper_ringbuf_output(&lane, &b.map, data, 64000, 0), 0);
	ck_assert_uint_eq(lane.fuel + lane.reserve, 0);
	g_free(data);
	box_close(&b);
}
END_TEST

/* However a lane ends, the queue does not wait for what it had reserved. */
static struct gp_map *ring;

int64_t gp_prog(struct gp_lane *lane)
{
	uint32_t n = lane->ingress + lane->gid[0], i;
	uint64_t at;

	for (i = 0; i < n % 4; i++)
		gp_helper_ringbuf_reserve(lane, ring, 8 * i, 0);
	at = gp_helper_ringbuf_reserve(lane, ring, 8, 0);
	ck_assert_uint_ne(at, 0);
	gp_store64((uint64_t *)(void *)(ring->values + at - 1), n);
	ck_assert_int_eq(gp_helper_ringbuf_submit(lane, (32ull << 48) + at - 1, 0), 0);
	if (n % 3 == 1)
		gp_rt_fault(lane, gp_fault(VIRTIO_GPGPU_R_OUT_OF_FUEL, 1));
	if (n % 3 == 2)
		gp_rt_fault(lane, gp_fault(GP_FAULT_TAIL, 0));
	return XDP_PASS;
}

START_TEST(test_lane_ends)
{
	enum { COUNT = 24 };
	struct gp_grid grid = { { COUNT, 1, 1 }, { 1, 1, 1 } };
	struct gp_packet_in in[COUNT] = { { .data_len = 60 } };
	struct gp_packet_out out[COUNT];
	struct gp_faults faults = { 0 };
	struct gp_map *maps[1];
	uint32_t stop = 0, num, i;
	static uint8_t slots[64];
	struct gp_env e = { .maps = maps, .num_maps = 1, .fuel = 1000, .stop = &stop, .slots = slots };
	uint64_t buf[2 * COUNT + 2], dropped;
	struct box b;

	ring_open(&b, 4096);
	maps[0] = ring = &b.map;
	for (i = 0; i < COUNT; i++)
		in[i].ingress_port = i;
	if (_i)
		ck_assert_uint_eq(gp_entry_grid(&e, &thread, &grid, 0, COUNT, &faults), COUNT);
	else
		ck_assert_uint_eq(gp_entry_xdp(&e, &thread, in, out, 0, COUNT, &faults), COUNT);
	ck_assert_int_eq(gp_map_records_read(&b.map, buf, sizeof(buf), &num, &dropped), 16 * COUNT);
	ck_assert_uint_eq(num, COUNT);
	for (i = 0; i < COUNT; i++)
		ck_assert_uint_eq(buf[2 * i + 1], i);
	/* A tail call is no fault of a packet. */
	ck_assert_uint_eq(faults.count, _i ? 2 * COUNT / 3 : COUNT / 3);
	ck_assert_uint_eq(gp_helper_ringbuf_query(NULL, &b.map, BPF_RB_AVAIL_DATA), 0);
	box_close(&b);
}
END_TEST

/* -------------------------------------------------------------------- threads */

/* A ring of 4 KiB goes round some hundred times, more where there is no sanitizer to slow it down. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NUMBERS 5000
#endif
#endif
#ifndef NUMBERS
#define NUMBERS 20000
#endif
enum { PRODUCERS = 3 };

/* For what is asked for each record: ck_assert() writes to a file, every time. */
#define must(expression)                                 \
	do {                                             \
		if (!(expression))                       \
			ck_abort_msg("%s", #expression); \
	} while (0)

struct belt {
	struct box b;
	uint32_t type, started, done;
};

/* Records of 1 to 8 numbers, all the same; some are reserved and thrown away. */
static void *produce(void *arg)
{
	struct belt *belt = arg;
	uint32_t self = __atomic_fetch_add(&belt->started, 1, __ATOMIC_RELAXED);
	struct gp_thread mine = { .cpu = self };
	struct gp_map *maps[1] = { &belt->b.map };
	struct gp_env e = { .maps = maps, .num_maps = 1 };
	uint64_t words[8], n = 0, before = 1, at;

	while (n < NUMBERS) {
		struct gp_lane lane = { .env = &e, .thread = &mine, .fuel = 100000 };
		uint32_t count = 1 + (uint32_t)(n % 8), i;

		/* It was full: who empties it may have no processor. */
		if (n == before)
			sched_yield();
		before = n;
		for (i = 0; i < count; i++)
			words[i] = n;
		if (belt->type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY) {
			n += !gp_helper_perf_output(&lane, &belt->b.map, BPF_F_CURRENT_CPU, (uint8_t *)words,
						    count * 8);
		} else if (n % 3) {
			n += !gp_helper_ringbuf_output(&lane, &belt->b.map, (uint8_t *)words, count * 8, 0);
		} else {
			at = gp_helper_ringbuf_reserve(&lane, &belt->b.map, 8, 0);
			gp_helper_ringbuf_reserve(&lane, &belt->b.map, 40, 0);
			if (at) {
				gp_store64((uint64_t *)(void *)(belt->b.map.values + at - 1), n);
				gp_helper_ringbuf_submit(&lane, (32ull << 48) + at - 1, 0);
				n++;
			}
		}
		gp_lane_end(&lane);
	}
	__atomic_fetch_add(&belt->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

START_TEST(test_record_threads)
{
	struct belt belt = { .type = types[_i] };
	uint64_t next[PRODUCERS] = { 0 }, dropped, buf[1024];
	pthread_t threads[PRODUCERS];
	uint32_t i, num;
	int64_t got;

	if (belt.type == VIRTIO_GPGPU_MAP_RINGBUF)
		ring_open(&belt.b, 4096);
	else
		box_open(&belt.b, belt.type, 4, 4, 8, 1);
	for (i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &belt), 0);
	for (;;) {
		bool end = __atomic_load_n(&belt.done, __ATOMIC_ACQUIRE) == PRODUCERS;
		uint64_t *at = buf;

		got = gp_map_records_read(&belt.b.map, buf, sizeof(buf), &num, &dropped);
		must(got >= 0);
		while ((uint8_t *)at < (uint8_t *)buf + got) {
			struct virtio_gpgpu_record head;

			memcpy(&head, at++, sizeof(head));
			must(head.cpu < PRODUCERS);
			must(head.size > 0);
			must(head.size <= 64);
			for (i = 0; i < head.size / 8; i++)
				must(at[i] == next[head.cpu]);
			at += head.size / 8;
			next[head.cpu]++;
		}
		if (end && !got)
			break;
		if (!got)
			sched_yield();
	}
	for (i = 0; i < PRODUCERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(next[i], NUMBERS);
	}
	box_close(&belt.b);
}
END_TEST

/* ------------------------------------------------------------------------ log */

#define BIG 0xfedcba9876543210ull

static const struct line {
	const char *format;
	uint64_t args[3];
	const char *text; /* NULL: refused */
} lines[] = {
	{ "", { 0 }, "" },
	{ "plain", { 0 }, "plain" },
	{ "100%%", { 0 }, "100%" },
	{ "%d", { (uint64_t)-5 }, "-5" },
	{ "%d", { 0xfffffffffffffffbull }, "-5" },
	{ "%d", { 0x80000000 }, "-2147483648" },
	{ "%i %i", { 1, 2 }, "1 2" },
	{ "%ld", { (uint64_t)INT64_MIN }, "-9223372036854775808" },
	{ "%lld", { (uint64_t)-1 }, "-1" },
	{ "%u", { BIG }, "1985229328" },
	{ "%lu", { UINT64_MAX }, "18446744073709551615" },
	{ "%llu", { 0 }, "0" },
	{ "%x", { BIG }, "76543210" },
	{ "%lx", { BIG }, "fedcba9876543210" },
	{ "%llX", { BIG }, "FEDCBA9876543210" },
	{ "%X", { 0xabc }, "ABC" },
	{ "%8x|", { 0xabc }, "     abc|" },
	{ "%08x|", { 0xabc }, "00000abc|" },
	{ "%-8x|", { 0xabc }, "abc     |" },
	{ "%+d %+d", { 5, (uint64_t)-5 }, "+5 -5" },
	{ "% d", { 5 }, " 5" },
	{ "%05d", { (uint64_t)-5 }, "-0005" },
	{ "%5d", { (uint64_t)-5 }, "   -5" },
	{ "%c%c%c", { 'a', 'b', 'c' }, "abc" },
	{ "%3c|", { 'a' }, "  a|" },
	{ "%c|", { 27 }, " |" }, /* no escape reaches a terminal */
	{ "%p", { BIG }, "fedcba9876543210" },
	{ "%p", { 1 }, "0000000000000001" },
	{ "a\tb", { 0 }, "a b" },
	{ "line\n", { 0 }, "line" },
	{ "a\nb\n", { 0 }, "a b" },
	{ "%d %d %d", { 1, 2, 3 }, "1 2 3" },
	{ "%d %d %d %d", { 1, 2, 3 }, NULL },
	{ "%s", { 1 }, NULL },
	{ "%pI4", { 1 }, NULL },
	{ "%pS", { 1 }, NULL },
	{ "%p.", { 1 }, "0000000000000001." },
	{ "%lp", { 1 }, NULL },
	{ "%lc", { 1 }, NULL },
	{ "%n", { 1 }, NULL },
	{ "%f", { 1 }, NULL },
	{ "%hd", { 1 }, NULL },
	{ "%llld", { 1 }, NULL },
	{ "%*d", { 1 }, NULL },
	{ "%", { 1 }, NULL },
	{ "%l", { 1 }, NULL },
	{ "%5", { 1 }, NULL },
	{ "esc\033", { 0 }, NULL },
	{ "\xc3\xa9", { 0 }, NULL },
	{ "\x7f", { 0 }, NULL },
};

START_TEST(test_line)
{
	const struct line *line = &lines[_i];
	struct gp_log *log = g_new0(struct gp_log, 1);
	/* Exactly as long as it is, for a sanitizer's sake. */
	uint32_t size = (uint32_t)strlen(line->format) + 1;
	uint8_t *format = g_memdup2(line->format, size);
	struct gp_env e = { .log = log };
	struct gp_lane lane = new_lane();
	char text[GP_LOG_TEXT];
	int64_t ret;

	lane.env = &e;
	ret = gp_helper_trace(&lane, format, size, line->args[0], line->args[1], line->args[2]);
	if (!line->text) {
		ck_assert_int_eq(ret, -EINVAL);
		ck_assert_int_eq(gp_log_take(log, text), -1);
	} else {
		ck_assert_int_ge(gp_log_take(log, text), 0);
		ck_assert_str_eq(text, line->text);
		/* As the kernel: with what was trimmed. */
		ck_assert_int_ge(ret, (int64_t)strlen(text));
		ck_assert_int_le(ret, (int64_t)strlen(text) + 1);
		/* Without its NUL it is none. */
		ck_assert_int_eq(gp_helper_trace(&lane, format, size - 1, 0, 0, 0), -EINVAL);
		/* Where nobody reads, nothing else changes. */
		e.log = NULL;
		ck_assert_int_eq(gp_helper_trace(&lane, format, size, line->args[0], line->args[1],
						 line->args[2]),
				 ret);
	}
	g_free(format);
	g_free(log);
}
END_TEST

START_TEST(test_log_bounds)
{
	struct gp_log *log = g_new0(struct gp_log, 1);
	uint8_t format[2048], wide[] = "%99999999999d%64d%64d";
	struct gp_env e = { .log = log };
	struct gp_lane lane = new_lane();
	char text[GP_LOG_TEXT];
	uint32_t i, round;

	lane.env = &e;
	memset(format, 'a', sizeof(format));
	ck_assert_int_eq(gp_helper_trace(&lane, format, 0, 0, 0, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_trace(&lane, format, sizeof(format), 0, 0, 0), -EINVAL);
	ck_assert_int_eq(gp_helper_trace(&lane, format, UINT64_MAX, 0, 0, 0), -EINVAL);
	format[1023] = 0;
	ck_assert_int_eq(gp_helper_trace(&lane, format, 1024, 0, 0, 0), 1023);
	ck_assert_int_eq(gp_log_take(log, text), GP_LOG_TEXT - 1);
	/* A width is bounded, however it is written. */
	ck_assert_int_eq(gp_helper_trace(&lane, wide, sizeof(wide), 1, 2, 3), 3 * 64);
	ck_assert_int_eq(gp_log_take(log, text), 3 * 64);
	/* Full: the oldest stay, the rest is counted; and it goes on after that. */
	for (round = 0; round < 3; round++) {
		for (i = 0; i < GP_LOG_ENTRIES + 5; i++)
			ck_assert_int_gt(gp_log_put(log, (const uint8_t *)"%d", 3, i, 0, 0), 0);
		ck_assert_uint_eq(log->dropped, 5 * (round + 1));
		for (i = 0; i < GP_LOG_ENTRIES; i++) {
			ck_assert_int_gt(gp_log_take(log, text), 0);
			ck_assert_int_eq(atoi(text), (int)i);
		}
		ck_assert_int_eq(gp_log_take(log, text), -1);
	}
	g_free(log);
}
END_TEST

struct press {
	struct gp_log log;
	uint32_t started, done;
};

static void *print(void *arg)
{
	struct press *press = arg;
	uint64_t self = __atomic_fetch_add(&press->started, 1, __ATOMIC_RELAXED), n;

	for (n = 0; n < NUMBERS; n++)
		gp_log_put(&press->log, (const uint8_t *)"%d %d %d", 9, self, n, n * 3);
	__atomic_fetch_add(&press->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Lines are whole, and each thread's in order; what is missing was counted. */
START_TEST(test_log_threads)
{
	struct press *press = g_new0(struct press, 1);
	int last[PRODUCERS] = { -1, -1, -1 }, self, n, m;
	pthread_t threads[PRODUCERS];
	char text[GP_LOG_TEXT];
	uint64_t taken = 0;
	uint32_t i;

	for (i = 0; i < PRODUCERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, print, press), 0);
	for (;;) {
		bool end = __atomic_load_n(&press->done, __ATOMIC_ACQUIRE) == PRODUCERS;

		if (gp_log_take(&press->log, text) < 0) {
			if (end)
				break;
			sched_yield();
			continue;
		}
		must(sscanf(text, "%d %d %d", &self, &n, &m) == 3);
		must(self >= 0 && self < PRODUCERS && m == n * 3 && n > last[self]);
		last[self] = n;
		taken++;
	}
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(taken + press->log.dropped, PRODUCERS * NUMBERS);
	g_free(press);
}
END_TEST

/* --------------------------------------------------------------------- routes */

enum { INET = VIRTIO_GPGPU_FIB_INET, INET6 = VIRTIO_GPGPU_FIB_INET6 };

static const struct route {
	struct virtio_gpgpu_fib_key key;
	struct virtio_gpgpu_fib_entry entry;
} routes[] = {
	{ { 32 + 8, INET, { 10 } }, { .ifindex = 2, .mtu = 1500, .smac = { 1 }, .dmac = { 2 } } },
	{ { 32 + 24, INET, { 10, 1, 2 } }, { .ifindex = 3, .smac = { 3 }, .dmac = { 4 } } },
	{ { 32 + 32, INET, { 10, 1, 2, 9 } }, { .ifindex = 4, .flags = VIRTIO_GPGPU_FIB_F_NO_NEIGH } },
	{ { 32 + 16, INET, { 10, 2 } }, { .flags = VIRTIO_GPGPU_FIB_F_BLACKHOLE } },
	{ { 32 + 16, INET, { 10, 3 } }, { .flags = VIRTIO_GPGPU_FIB_F_UNREACHABLE } },
	{ { 32 + 16, INET, { 10, 4 } }, { .flags = VIRTIO_GPGPU_FIB_F_PROHIBIT } },
	{ { 32 + 64, INET6, { 0x20, 1, 0xd, 0xb8 } },
	  { .ifindex = 6, .mtu = 1280, .smac = { 5 }, .dmac = { 6 } } },
	{ { 32 + 0, INET6, { 0 } }, { .ifindex = 7, .mtu = 9000 } },
};

static const struct query {
	uint32_t family;
	uint8_t addr[16];
	uint32_t tot_len;
	uint64_t flags;
	int64_t ret;
	uint32_t ifindex, mtu; /* afterwards */
	uint8_t smac, dmac;
} queries[] = {
	{ INET, { 10, 9, 9, 9 }, 1500, 0, BPF_FIB_LKUP_RET_SUCCESS, 2, 1500, 1, 2 },
	{ INET, { 10, 9, 9, 9 }, 1501, 0, BPF_FIB_LKUP_RET_FRAG_NEEDED, 99, 1500, 0, 0 },
	{ INET, { 10, 9, 9, 9 }, 0, 0, BPF_FIB_LKUP_RET_SUCCESS, 2, 1500, 1, 2 },
	{ INET, { 10, 1, 2, 3 }, 9000, 0, BPF_FIB_LKUP_RET_SUCCESS, 3, 9000, 3, 4 },
	{ INET, { 10, 1, 2, 9 }, 100, 0, BPF_FIB_LKUP_RET_NO_NEIGH, 4, 100, 0, 0 },
	{ INET, { 10, 1, 2, 9 }, 100, 4, BPF_FIB_LKUP_RET_SUCCESS, 4, 100, 0, 0 },
	{ INET, { 10, 1, 2, 3 }, 100, 1 | 2, BPF_FIB_LKUP_RET_SUCCESS, 3, 100, 3, 4 },
	{ INET, { 10, 2, 0, 1 }, 100, 0, BPF_FIB_LKUP_RET_BLACKHOLE, 99, 100, 0, 0 },
	{ INET, { 10, 3, 0, 1 }, 100, 0, BPF_FIB_LKUP_RET_UNREACHABLE, 99, 100, 0, 0 },
	{ INET, { 10, 4, 0, 1 }, 100, 0, BPF_FIB_LKUP_RET_PROHIBIT, 99, 100, 0, 0 },
	{ INET, { 11, 0, 0, 1 }, 100, 0, BPF_FIB_LKUP_RET_NOT_FWDED, 99, 100, 0, 0 },
	{ INET, { 10, 1, 2, 3 }, 100, 8, -EINVAL, 99, 100, 0, 0 },
	{ INET, { 10, 1, 2, 3 }, 100, 1ull << 32, -EINVAL, 99, 100, 0, 0 },
	{ INET6, { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 9 }, 1280, 0, BPF_FIB_LKUP_RET_SUCCESS, 6, 1280, 5, 6 },
	{ INET6, { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 9 }, 1281, 0, BPF_FIB_LKUP_RET_FRAG_NEEDED, 99, 1280, 0, 0 },
	{ INET6, { 0xfe, 0x80 }, 100, 0, BPF_FIB_LKUP_RET_SUCCESS, 7, 9000, 0, 0 },
	{ 0, { 10, 1, 2, 3 }, 100, 0, -EAFNOSUPPORT, 99, 100, 0, 0 },
	{ 255, { 10, 1, 2, 3 }, 100, 0, -EAFNOSUPPORT, 99, 100, 0, 0 },
};

START_TEST(test_fib)
{
	const struct query *q = &queries[_i];
	struct bpf_fib_lookup params = { .family = (uint8_t)q->family,
					 .tot_len = (uint16_t)q->tot_len,
					 .ifindex = 99,
					 .h_vlan_proto = 1 };
	/* At an odd address, and no byte longer than it has to be. */
	uint8_t *at = g_malloc(sizeof(params) + 1);
	struct gp_env e = { 0 };
	struct gp_lane lane = new_lane();
	struct box b;

	box_open(&b, VIRTIO_GPGPU_MAP_FIB, sizeof(struct virtio_gpgpu_fib_key),
		 sizeof(struct virtio_gpgpu_fib_entry), 16, 1);
	for (uint32_t i = 0; i < G_N_ELEMENTS(routes); i++)
		ck_assert_int_eq(gp_map_update(&b.map, &routes[i].key, &routes[i].entry, 0), 0);
	memcpy(params.ipv6_dst, q->addr, 16);
	memcpy(at + 1, &params, sizeof(params));
	lane.env = &e;
	e.fib = &b.map;
	ck_assert_int_eq(gp_helper_fib_lookup(&lane, at + 1, sizeof(params) - 1, q->flags), -EINVAL);
	ck_assert_int_eq(gp_helper_fib_lookup(&lane, at + 1, sizeof(params), q->flags), q->ret);
	memcpy(&params, at + 1, sizeof(params));
	ck_assert_uint_eq(params.ifindex, q->ifindex);
	ck_assert_uint_eq(params.mtu_result, q->mtu);
	ck_assert_uint_eq(params.smac[0], q->smac);
	ck_assert_uint_eq(params.dmac[0], q->dmac);
	ck_assert_uint_eq(params.h_vlan_proto, q->ret == BPF_FIB_LKUP_RET_SUCCESS ? 0 : 1);
	/* Programs see the table only through the helper. */
	ck_assert_uint_eq(b.map.values_size, 0);
	e.fib = NULL;
	if (q->ret >= 0)
		ck_assert_int_eq(gp_helper_fib_lookup(&lane, at + 1, sizeof(params), q->flags),
				 BPF_FIB_LKUP_RET_NOT_FWDED);
	g_free(at);
	box_close(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("records");
	TCase *t = tcase_create("records");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_ring_model);
	tcase_add_test(t, test_ring_refuses);
	tcase_add_loop_test(t, test_perf, 0, G_N_ELEMENTS(perf_rows));
	tcase_add_test(t, test_record_fuel);
	tcase_add_loop_test(t, test_lane_ends, 0, 2);
	tcase_add_loop_test(t, test_record_threads, 0, G_N_ELEMENTS(types));
	tcase_add_loop_test(t, test_line, 0, G_N_ELEMENTS(lines));
	tcase_add_test(t, test_log_bounds);
	tcase_add_test(t, test_log_threads);
	tcase_add_loop_test(t, test_fib, 0, G_N_ELEMENTS(queries));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
