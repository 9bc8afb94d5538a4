/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lanes.c - what lanes change in the meaning of a program, and what they do not (docs/lanes.md).
 *
 * On the CPU device, in interleavings by several seeds and with several threads. What must hold is asserted for every
 * seed; that something can be lost is asserted for some seed, since without that a test that finds nothing lost
 * would say nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bpf.h>
#include "lanes_fixture.h"

#define FLOW VIRTIO_GPGPU_PACKETS_ORDER_FLOW
#define ALL  VIRTIO_GPGPU_PACKETS_ORDER_ALL

enum { FEW = 1500, THREADS = 4, FLOWS = 16 };

static struct lanes l;

/* Packets over FLOWS flows, each with other values. */
static void fill(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct packet *p = lanes_packet(&l, i);

		p->dst[3] = (uint8_t)((i * 2654435761u >> 16) % FLOWS);
		p->body.value = i + 1;
		p->body.out = UINT32_MAX;
		p->body.time = i / 20;
	}
}

static void make_flows(void)
{
	const struct flow flow = { .tokens = RACES_BURST };

	for (uint32_t i = 0; i < FLOWS; i++)
		lanes_set(&l, MAP_flows, i, &flow, sizeof(flow));
}

static void start(int64_t seed, uint32_t count)
{
	lanes_start(&l, seed < 0 ? THREADS : 1, seed, false, 0);
	fill(count);
	make_flows();
}

/* One batch of @name in a fresh engine. Return: the counters. */
static struct counters run_one(int64_t seed, const char *name, uint32_t count, uint32_t order)
{
	struct counters c;

	start(seed, count);
	lanes_run(&l, lanes_prog(&l, name), count, order);
	c = lanes_counters(&l);
	lanes_stop(&l);
	return c;
}

/* --------------------------------------------------------------------- counters */

static void check_count(const struct counters *c, uint64_t count)
{
	ck_assert_uint_eq(c->packets, count);
	ck_assert_uint_eq(c->bytes, count * PACKET_LEN);
	ck_assert_uint_eq(c->small, count);
}

START_TEST(count)
{
	struct counters c = run_one(_i, "count", FEW, 0);

	check_count(&c, FEW);
}
END_TEST

START_TEST(count_threads)
{
	enum { BATCHES = 40 };
	uint64_t tickets[BATCHES];
	struct counters c;
	uint32_t prog;

	start(-1, MAX_BATCH);
	prog = lanes_prog(&l, "count");
	for (int i = 0; i < BATCHES; i++)
		tickets[i] = lanes_submit(&l, prog, MAX_BATCH, 0);
	for (int i = 0; i < BATCHES; i++)
		ck_assert_uint_eq(lanes_wait(&l, tickets[i], MAX_BATCH), VIRTIO_GPGPU_S_OK);
	c = lanes_counters(&l);
	check_count(&c, (uint64_t)BATCHES * MAX_BATCH);
	lanes_stop(&l);
}
END_TEST

/* The same without the pass that finds sums: what `count` would look like if it found none. */
START_TEST(count_without_sums)
{
	struct counters c;
	uint32_t lost = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		lanes_start(&l, 1, seed, true, 0);
		fill(FEW);
		lanes_run(&l, lanes_prog(&l, "count"), FEW, 0);
		c = lanes_counters(&l);
		lanes_stop(&l);
		lost += c.packets < FEW && c.bytes < FEW * PACKET_LEN && c.small < FEW;
	}
	ck_assert_uint_gt(lost, 0);
	lanes_start(&l, 1, 1, true, 0);
	lanes_run(&l, lanes_prog(&l, "count"), FEW, ALL);
	c = lanes_counters(&l);
	check_count(&c, FEW);
	lanes_stop(&l);
}
END_TEST

/* `n = c->next++` gives every packet another number, and with order=all its own. */
static void check_numbers(int64_t seed)
{
	bool seen[FEW] = { false };
	uint32_t prog, zero = 0;
	struct counters c = { 0 };

	start(seed, FEW);
	prog = lanes_prog(&l, "number");
	lanes_run(&l, prog, FEW, 0);
	for (uint32_t i = 0; i < FEW; i++) {
		uint32_t n = lanes_packet(&l, i)->body.out;

		ck_assert_uint_lt(n, FEW);
		ck_assert(!seen[n]);
		seen[n] = true;
		zero += n == i;
	}
	if (seed >= 0)
		ck_assert_uint_lt(zero, FEW); /* they did interleave */
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	lanes_run(&l, prog, FEW, ALL);
	for (uint32_t i = 0; i < FEW; i++)
		ck_assert_uint_eq(lanes_packet(&l, i)->body.out, i);
	lanes_stop(&l);
}

START_TEST(numbers)
{
	check_numbers(_i);
}
END_TEST

START_TEST(numbers_threads)
{
	check_numbers(-1);
}
END_TEST

/* What `operations` does, one packet after the other. */
static void operations_model(struct wide *w, uint64_t *time, uint32_t *out, uint32_t count)
{
	uint64_t odd;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = lanes_packet(&l, i)->body.value;

		w->add += v * 0x100000001ull;
		w->sub -= v;
		w->or |= 1ull << (v & 63);
		w->and &= ~(1ull << (v % 61));
		w->xor ^= v * 0x9e3779b97f4a7c15ull;
		w->add32 += v * 0x10001u;
		w->add16 = (uint16_t)(w->add16 + v);
		w->or16 |= (uint16_t)(1u << (v & 15));
		w->add8 = (uint8_t)(w->add8 + v);
		w->xor8 ^= (uint8_t)v;
		memcpy(&odd, (uint8_t *)w->odd + 1, 8);
		odd += v;
		memcpy((uint8_t *)w->odd + 1, &odd, 8);
		time[i] = w->next * 3 + w->next + v;
		w->next += v;
		out[i] = (w->next32 += v) ^ v;
	}
}

/* In order, everything is as in the model, whoever runs it; without, what commutes is. */
static void check_operations(uint32_t threads, int64_t seed, bool plain_sums, uint32_t order)
{
	static uint64_t time[FEW];
	static uint32_t out[FEW];
	struct wide start_value, expected, w;

	lanes_start(&l, threads, seed, plain_sums, 0);
	fill(FEW);
	memset(&start_value, 0xa5, sizeof(start_value));
	expected = start_value;
	operations_model(&expected, time, out, FEW);
	lanes_set(&l, MAP_wide, 0, &start_value, sizeof(start_value));
	lanes_run(&l, lanes_prog(&l, "operations"), FEW, order);
	ck_assert(lanes_get(&l, MAP_wide, 0, &w, sizeof(w)));
	if (threads > 1 && !order) /* which only aligned places promise */
		memcpy(w.odd, expected.odd, sizeof(w.odd));
	ck_assert_mem_eq(&w, &expected, sizeof(w));
	for (uint32_t i = 0; order == ALL && i < FEW; i++) {
		ck_assert_uint_eq(lanes_packet(&l, i)->body.time, time[i]);
		ck_assert_uint_eq(lanes_packet(&l, i)->body.out, out[i]);
	}
	lanes_stop(&l);
}

START_TEST(operations)
{
	check_operations(1, -1, false, ALL); /* plain, one thread being alone */
	check_operations(THREADS, -1, false, ALL); /* atomic */
	check_operations(1, -1, true, ALL); /* loads and stores */
	check_operations(THREADS, -1, false, 0);
	for (int seed = 0; seed < SEEDS; seed++)
		check_operations(1, seed, false, 0);
}
END_TEST

/* clang-format off */
#define OP(code, dst, src, off, imm) { code, dst, src, off, imm }
#define LOAD_MAP(dst, map)	     OP(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, map), OP(0, 0, 0, 0, 0)
/* r0 = element 0 of a map; 6 instructions. */
#define ELEMENT(map)                                                                              \
	OP(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0), OP(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0), \
	OP(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4), LOAD_MAP(1, map), OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem)
/* *r0 += 1; return 2. */
#define ADD_ONE                                                                                     \
	OP(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0), OP(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, 1), \
	OP(BPF_STX | BPF_MEM | BPF_DW, 0, 1, 0, 0), OP(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 2), \
	OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* clang-format on */
#define COUNT(insns) (sizeof(insns) / sizeof(*(insns)))

/* Faults are where they would be: the load's at the load, the store's at the store, the map untouched. */
START_TEST(faults)
{
	enum { MAP_read_only = 9 };
	static const struct bpf_insn out[] = {
		ELEMENT(MAP_wide),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 4096),
		ADD_ONE,
	};
	static const struct bpf_insn none[] = {
		OP(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 1), /* an element that does not exist */
		OP(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		OP(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		LOAD_MAP(1, MAP_wide),
		OP(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		ADD_ONE,
	};
	static const struct bpf_insn frozen[] = { ELEMENT(MAP_read_only), ADD_ONE };
	struct wide w = { .add = 7 }, after;
	uint32_t progs[3];

	for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
		lanes_start(&l, (uint32_t)threads, -1, false, 0);
		fill(10);
		lanes_set(&l, MAP_wide, 0, &w, sizeof(w));
		ck_assert_uint_eq(wire_map(l.client, CTX, MAP_read_only, VIRTIO_GPGPU_MAP_ARRAY, 4, sizeof(w),
					   1, VIRTIO_GPGPU_MAP_F_RDONLY_PROG),
				  VIRTIO_GPGPU_S_OK);
		lanes_set(&l, MAP_read_only, 0, &w, sizeof(w));
		progs[0] = lanes_load(&l, "out", VIRTIO_GPGPU_PROG_XDP, out, COUNT(out), NULL, 0);
		progs[1] = lanes_load(&l, "none", VIRTIO_GPGPU_PROG_XDP, none, COUNT(none), NULL, 0);
		progs[2] = lanes_load(&l, "frozen", VIRTIO_GPGPU_PROG_XDP, frozen, COUNT(frozen), NULL, 0);
		for (int n = 0; n < 3; n++) {
			lanes_run(&l, progs[n], 10, 0);
			ck_assert_uint_eq(l.fault_count, 10);
			for (int i = 0; i < 10; i++) {
				ck_assert_uint_eq(l.verdicts[i], XDP_ABORTED);
				ck_assert_uint_eq(l.faults[i], VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
				ck_assert_uint_eq(l.fault_insns[i], n == 0 ? 7 : n == 1 ? 6 : 8);
			}
			ck_assert(lanes_get(&l, n == 2 ? MAP_read_only : MAP_wide, 0, &after, sizeof(after)));
			ck_assert_mem_eq(&after, &w, sizeof(w));
		}
		lanes_stop(&l);
	}
}
END_TEST

/* Work items: counters in maps are exact; a buffer is a kernel's own business, as in OpenCL. */
static void run_grid(int64_t seed, uint64_t *counted, uint64_t *added)
{
	static const uint8_t arg_kind[] = { VIRTIO_GPGPU_ARG_BUFFER };
	static const struct bpf_insn map[] = { ELEMENT(MAP_counters),
					       OP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0), ADD_ONE };
	static const struct bpf_insn buffer[] = { OP(BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 0, 0), ADD_ONE };
	struct virtio_gpgpu_arg arg = { VIRTIO_GPGPU_ARG_BUFFER, BUF, 0, 8 };
	uint32_t size[3] = { FEW, 1, 1 }, one[3] = { 1, 1, 1 }, prog[2];
	uint64_t *sum;

	lanes_start(&l, seed < 0 ? THREADS : 1, seed, false, 0);
	sum = (uint64_t *)wire_shm(l.client);
	*sum = 0;
	prog[0] = lanes_load(&l, "map", VIRTIO_GPGPU_PROG_GPGPU, map, COUNT(map), arg_kind, 1);
	prog[1] = lanes_load(&l, "buffer", VIRTIO_GPGPU_PROG_GPGPU, buffer, COUNT(buffer), arg_kind, 1);
	for (int n = 0; n < 2; n++) {
		struct wire_point at = { .seq = ++l.seq };

		ck_assert_uint_eq(wire_status(l.client,
					      wire_dispatch(l.client, CTX, at, prog[n], size, one, &arg, 1)),
				  VIRTIO_GPGPU_S_OK);
	}
	*counted = lanes_counters(&l).packets;
	*added = *sum;
	lanes_stop(&l);
}

START_TEST(work_items)
{
	uint64_t counted, added;
	uint32_t lost = 0;

	for (int seed = -1; seed < SEEDS; seed++) {
		run_grid(seed, &counted, &added);
		ck_assert_uint_eq(counted, FEW);
		ck_assert_uint_le(added, FEW);
		lost += seed >= 0 && added < FEW;
	}
	ck_assert_uint_gt(lost, 0);
}
END_TEST

/* ---------------------------------------------------------- what is no counter */

START_TEST(no_sum)
{
	uint32_t lost = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		struct counters c = run_one(seed, "saturate", FEW, 0);

		ck_assert_uint_gt(c.packets, 0);
		ck_assert_uint_le(c.packets, FEW);
		lost += c.packets < FEW;
		/* Flows do not help where all share one counter: their parts interleave. */
		c = run_one(seed, "saturate", FEW, FLOW);
		lost += c.packets < FEW;
		c = run_one(seed, "saturate", FEW, ALL);
		ck_assert_uint_eq(c.packets, FEW);
	}
	ck_assert_uint_gt(lost, SEEDS);
	ck_assert_uint_eq(run_one(-1, "saturate", MAX_BATCH, ALL).packets, MAX_BATCH);
}
END_TEST

/* The largest value comes first, and many have loaded 0 by then. */
START_TEST(maximum)
{
	uint32_t lost = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		for (uint32_t order = 0; order <= ALL; order += ALL) {
			struct counters c;

			start(seed, FEW);
			for (uint32_t i = 0; i < FEW; i++)
				lanes_packet(&l, i)->body.value = FEW - i;
			lanes_run(&l, lanes_prog(&l, "maximum"), FEW, order);
			c = lanes_counters(&l);
			lanes_stop(&l);
			if (order)
				ck_assert_uint_eq(c.bytes, FEW);
			else
				lost += c.bytes != FEW;
		}
	}
	ck_assert_uint_gt(lost, 0);
}
END_TEST

/* Each flow's counter, read, compared and stored. Return: how many flows lost something. */
static uint32_t lost_in_flows(int64_t seed, uint32_t count, uint32_t order)
{
	uint32_t expected[FLOWS] = { 0 }, lost = 0;
	struct flow flow;

	start(seed, count);
	for (uint32_t i = 0; i < count; i++)
		expected[lanes_packet(&l, i)->dst[3]]++;
	lanes_run(&l, lanes_prog(&l, "saturate_flow"), count, order);
	for (uint32_t i = 0; i < FLOWS; i++) {
		ck_assert(lanes_get(&l, MAP_flows, i, &flow, sizeof(flow)));
		ck_assert_uint_le(flow.packets, expected[i]);
		lost += flow.packets != expected[i];
	}
	lanes_stop(&l);
	return lost;
}

START_TEST(by_flow)
{
	uint32_t lost = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		lost += lost_in_flows(seed, FEW, 0);
		ck_assert_uint_eq(lost_in_flows(seed, FEW, FLOW), 0);
		ck_assert_uint_eq(lost_in_flows(seed, FEW, ALL), 0);
	}
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_eq(lost_in_flows(-1, MAX_BATCH, FLOW), 0);
	ck_assert_uint_eq(lost_in_flows(-1, MAX_BATCH, ALL), 0);
}
END_TEST

/* ------------------------------------------------------------------ token bucket */

/* What the program does, one packet after the other. */
static void bucket_model(uint8_t *verdicts, uint32_t count)
{
	struct flow flows[FLOWS];

	for (uint32_t i = 0; i < FLOWS; i++)
		flows[i] = (struct flow){ .tokens = RACES_BURST };
	for (uint32_t i = 0; i < count; i++) {
		const struct packet *p = lanes_packet(&l, i);
		struct flow *flow = &flows[p->dst[3]];
		uint64_t tokens = flow->tokens + (p->body.time - flow->time) * RACES_RATE;

		tokens = tokens > RACES_BURST ? RACES_BURST : tokens;
		verdicts[i] = tokens < RACES_COST ? XDP_DROP : XDP_PASS;
		flow->tokens = tokens - (verdicts[i] == XDP_PASS ? RACES_COST : 0);
		flow->time = p->body.time;
	}
}

static uint32_t wrong_verdicts(int64_t seed, uint32_t count, uint32_t order)
{
	static uint8_t expected[MAX_BATCH];
	uint32_t wrong = 0;

	start(seed, count);
	bucket_model(expected, count);
	lanes_run(&l, lanes_prog(&l, "bucket"), count, order);
	for (uint32_t i = 0; i < count; i++)
		wrong += l.verdicts[i] != expected[i];
	ck_assert_uint_gt(l.counts[XDP_PASS], 0);
	ck_assert_uint_gt(l.counts[XDP_DROP], 0);
	lanes_stop(&l);
	return wrong;
}

START_TEST(token_bucket)
{
	uint32_t wrong = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		wrong += wrong_verdicts(seed, FEW, 0);
		ck_assert_uint_eq(wrong_verdicts(seed, FEW, FLOW), 0);
		ck_assert_uint_eq(wrong_verdicts(seed, FEW, ALL), 0);
	}
	ck_assert_uint_gt(wrong, 0);
	ck_assert_uint_eq(wrong_verdicts(-1, MAX_BATCH, FLOW), 0);
}
END_TEST

/* --------------------------------------------------------- inserting and evicting */

/* Counts of flows whose entries the packets themselves make. Return: how many flows lost something. */
static uint32_t lost_inserting(int64_t seed, const char *name, uint32_t count, uint32_t order)
{
	uint32_t expected[FLOWS] = { 0 }, lost = 0;
	struct flow flow;

	lanes_start(&l, seed < 0 ? THREADS : 1, seed, false, 0);
	fill(count);
	for (uint32_t i = 0; i < count; i++)
		expected[lanes_packet(&l, i)->dst[3]]++;
	lanes_run(&l, lanes_prog(&l, name), count, order);
	ck_assert_uint_eq(l.counts[XDP_PASS], count);
	for (uint32_t i = 0; i < FLOWS; i++) {
		ck_assert(lanes_get(&l, MAP_flows, i, &flow, sizeof(flow)));
		ck_assert_uint_le(flow.packets, expected[i]);
		lost += flow.packets != expected[i];
	}
	lanes_stop(&l);
	return lost;
}

START_TEST(inserting)
{
	uint32_t lost = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		lost += lost_inserting(seed, "insert_any", FEW, 0);
		ck_assert_uint_eq(lost_inserting(seed, "insert_any", FEW, FLOW), 0);
		ck_assert_uint_eq(lost_inserting(seed, "insert_once", FEW, 0), 0);
	}
	ck_assert_uint_gt(lost, 0);
	ck_assert_uint_eq(lost_inserting(-1, "insert_any", MAX_BATCH, FLOW), 0);
	ck_assert_uint_eq(lost_inserting(-1, "insert_once", MAX_BATCH, 0), 0);
}
END_TEST

/* Every other packet uses key 0; the rest bring new keys, five times as many as the map holds. */
static void run_lru(int64_t seed, uint32_t order, uint32_t *hits, uint32_t *present, bool *last)
{
	enum { COUNT = 10 * RACES_RECENT };
	struct counters c;
	uint64_t value;

	lanes_start(&l, seed < 0 ? THREADS : 1, seed, false, 0);
	fill(COUNT);
	for (uint32_t i = 0; i < COUNT; i += 2)
		lanes_packet(&l, i)->body.value = 0;
	lanes_run(&l, lanes_prog(&l, "lru"), COUNT, order);
	c = lanes_counters(&l);
	/* An insert always finds room. */
	ck_assert_uint_eq(c.small, 0);
	ck_assert_uint_eq(c.packets + c.bytes, COUNT);
	*hits = (uint32_t)c.packets;
	*present = 0;
	for (uint32_t key = 0; key <= COUNT; key++) {
		if (!lanes_get(&l, MAP_recent, key, &value, sizeof(value)))
			continue;
		++*present;
		ck_assert_uint_ge(value, 1);
		/* Who brought a key counted it once. */
		if (key)
			ck_assert_uint_eq(value, 1);
	}
	*last = lanes_get(&l, MAP_recent, COUNT, &value, sizeof(value)) &&
		lanes_get(&l, MAP_recent, 0, &value, sizeof(value));
	lanes_stop(&l);
}

START_TEST(evicting)
{
	uint32_t hits, present;
	bool last;

	/* In order, what is used again and again stays, and so does what came last. */
	run_lru(_i, ALL, &hits, &present, &last);
	ck_assert_uint_eq(hits, 5 * RACES_RECENT - 1);
	ck_assert_uint_eq(present, RACES_RECENT);
	ck_assert(last);
	/* Without, which keys are left depends on who came when; never more than there is room for. */
	run_lru(_i, 0, &hits, &present, &last);
	ck_assert_uint_lt(hits, 5 * RACES_RECENT);
	ck_assert_uint_gt(present, 0);
	ck_assert_uint_le(present, RACES_RECENT);
}
END_TEST

START_TEST(evicting_threads)
{
	uint32_t hits, present;
	bool last;

	run_lru(-1, 0, &hits, &present, &last);
	ck_assert_uint_gt(present, 0);
	ck_assert_uint_le(present, RACES_RECENT);
}
END_TEST

/* ------------------------------------------------------------------- per-CPU maps */

/* Copies are added up; a lane has its copy for itself while it runs, also where it is no sum. */
static void check_percpu(int64_t seed, uint32_t count)
{
	struct counters copies[64], sum = { 0 };
	uint32_t cpus, used = 0;

	start(seed, count);
	cpus = lanes_num_cpus(&l);
	ck_assert_uint_eq(cpus, seed < 0 ? THREADS : 64);
	lanes_run(&l, lanes_prog(&l, "per_cpu"), count, 0);
	ck_assert(lanes_get(&l, MAP_percpu, 0, copies, cpus * sizeof(struct counters)));
	for (uint32_t i = 0; i < cpus; i++) {
		sum.packets += copies[i].packets;
		sum.small += copies[i].small;
		used += copies[i].packets > 0;
	}
	ck_assert_uint_eq(sum.packets, count);
	ck_assert_uint_eq(sum.small, count);
	if (seed >= 0)
		ck_assert_uint_gt(used, 1);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(lanes_packet(&l, i)->body.out, i + 1);
	lanes_stop(&l);
}

START_TEST(percpu)
{
	check_percpu(_i, FEW);
}
END_TEST

START_TEST(percpu_threads)
{
	check_percpu(-1, MAX_BATCH);
}
END_TEST

/* -------------------------------------------------------------------------- locks */

static uint32_t refuse(const struct bpf_insn *insns, uint32_t count, char *message, size_t size)
{
	struct wire_answer *a;
	uint32_t status = wire_prog(l.client, CTX, 99, VIRTIO_GPGPU_PROG_XDP, insns, count, BUF, 7 << 20,
				    7 << 20, NULL, 0, &a);

	snprintf(message, size, "%s", (char *)a->resp->prog.message);
	wire_answer_free(a);
	return status;
}

START_TEST(spin_locks)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = MAP_counters },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_spin_lock },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char message[256];

	lanes_start(&l, 1, -1, false, 0);
	ck_assert_uint_eq(refuse(insns, 5, message, sizeof(message)), VIRTIO_GPGPU_S_REJECTED);
	ck_assert_msg(strstr(message, "spin_lock") && strstr(message, "atomics"), "%s", message);
	lanes_stop(&l);
}
END_TEST

/* A bounded try: who has it is alone; who does not get it in time goes without, and nothing hangs. */
START_TEST(own_lock)
{
	struct counters c;

	start(_i, 300);
	lanes_run(&l, lanes_prog(&l, "lock"), 300, 0);
	c = lanes_counters(&l);
	ck_assert_uint_eq(l.fault_count, 0);
	ck_assert_uint_eq(c.packets, l.counts[XDP_PASS]);
	ck_assert_uint_gt(c.packets, 200);
	ck_assert_uint_eq(c.lock, 0);
	lanes_stop(&l);
}
END_TEST

START_TEST(own_lock_threads)
{
	struct counters c;

	start(-1, MAX_BATCH);
	lanes_run(&l, lanes_prog(&l, "lock"), MAX_BATCH, 0);
	c = lanes_counters(&l);
	ck_assert_uint_eq(l.fault_count, 0);
	ck_assert_uint_eq(c.packets, l.counts[XDP_PASS]);
	ck_assert_uint_gt(c.packets, 0);
	lanes_stop(&l);
}
END_TEST

/* One that is never given back costs those that wait without a bound their fuel, and nobody else anything. */
static void check_lost_lock(int64_t seed)
{
	struct counters c, zero = { 0 };
	uint32_t prog;

	lanes_start(&l, THREADS, seed, false, 3000);
	fill(200);
	lanes_packet(&l, 20)->body.value = 0;
	prog = lanes_prog(&l, "lock_for_ever");
	lanes_run(&l, prog, 200, 0);
	c = lanes_counters(&l);
	ck_assert_uint_eq(c.lock, 1);
	ck_assert_uint_eq(c.packets, l.counts[XDP_PASS]);
	ck_assert_uint_gt(l.counts[XDP_PASS], 0);
	ck_assert_uint_gt(l.fault_count, 0);
	ck_assert_uint_eq(l.fault_count, l.counts[XDP_ABORTED]);
	for (uint32_t i = 0; i < 200; i++)
		ck_assert_uint_eq(l.faults[i], l.verdicts[i] == XDP_ABORTED ? VIRTIO_GPGPU_R_OUT_OF_FUEL : 0);
	lanes_set(&l, MAP_counters, 0, &zero, sizeof(zero));
	lanes_run(&l, lanes_prog(&l, "count"), 200, 0);
	c = lanes_counters(&l);
	check_count(&c, 200);
	lanes_stop(&l);
}

START_TEST(lost_lock)
{
	check_lost_lock(_i);
}
END_TEST

START_TEST(lost_lock_threads)
{
	check_lost_lock(-1);
}
END_TEST

/* ------------------------------------------------------ the interleavings themselves */

START_TEST(seeds)
{
	uint64_t first = 0;
	uint32_t other = 0;

	for (int seed = 0; seed < SEEDS; seed++) {
		uint64_t n = run_one(seed, "saturate", FEW, 0).packets;

		ck_assert_uint_eq(run_one(seed, "saturate", FEW, 0).packets, n);
		if (!seed)
			first = n;
		other += n != first;
	}
	ck_assert_uint_gt(other, 0);
}
END_TEST

/* A job that is cancelled half way ends, and what was under way ends with it. */
START_TEST(cancelled)
{
	struct counters c = { .lock = 1 };
	struct virtio_gpgpu_req_job_cancel r = { 0 };
	struct wire_answer *a;
	uint64_t ticket;

	start(1, FEW);
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	ticket = lanes_submit(&l, lanes_prog(&l, "lock_for_ever"), FEW, 0);
	r.seq = l.seq;
	wire_hdr(&r, VIRTIO_GPGPU_CMD_JOB_CANCEL, CTX, sizeof(r));
	a = wire_call(l.client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
	ck_assert_uint_eq(a->status, VIRTIO_GPGPU_S_OK);
	wire_answer_free(a);
	ck_assert_uint_eq(lanes_wait(&l, ticket, FEW), VIRTIO_GPGPU_S_CANCELLED);
	c = (struct counters){ 0 };
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	lanes_run(&l, lanes_prog(&l, "count"), FEW, FLOW);
	c = lanes_counters(&l);
	check_count(&c, FEW);
	lanes_stop(&l);
}
END_TEST

/* Pauses cut a job where no lane is under way; afterwards it goes on with the rest. */
START_TEST(paused)
{
	const uint32_t orders[] = { 0, FLOW, ALL };
	struct counters c;
	uint32_t prog;

	start(3, MAX_BATCH);
	prog = lanes_prog(&l, "count");
	for (int n = 0; n < 3; n++) {
		uint64_t ticket = lanes_submit(&l, prog, MAX_BATCH, orders[n]);

		for (int i = 0; i < 5; i++) {
			gpgpu_session_quiesce(wire_session(l.client));
			gpgpu_session_resume(wire_session(l.client));
		}
		ck_assert_uint_eq(lanes_wait(&l, ticket, MAX_BATCH), VIRTIO_GPGPU_S_OK);
		ck_assert_uint_eq(l.counts[XDP_PASS], MAX_BATCH);
	}
	c = lanes_counters(&l);
	check_count(&c, 3 * MAX_BATCH);
	lanes_stop(&l);
}
END_TEST

/* In a worker, which does this in its sandbox. */
START_TEST(in_a_worker)
{
	struct counters c;
	uint32_t lost = 0;

	lanes_start_worker(&l, "5");
	fill(FEW);
	lanes_run(&l, lanes_prog(&l, "count"), FEW, 0);
	c = lanes_counters(&l);
	check_count(&c, FEW);
	memset(&c, 0, sizeof(c));
	lanes_set(&l, MAP_counters, 0, &c, sizeof(c));
	lanes_run(&l, lanes_prog(&l, "saturate"), FEW, 0);
	lost += lanes_counters(&l).packets < FEW;
	lanes_stop(&l);
	ck_assert_uint_eq(lost, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lanes");
	TCase *tcase = tcase_create("lanes");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, count, 0, SEEDS);
	tcase_add_test(tcase, count_threads);
	tcase_add_test(tcase, count_without_sums);
	tcase_add_loop_test(tcase, numbers, 0, SEEDS);
	tcase_add_test(tcase, numbers_threads);
	tcase_add_test(tcase, operations);
	tcase_add_test(tcase, faults);
	tcase_add_test(tcase, work_items);
	tcase_add_test(tcase, no_sum);
	tcase_add_test(tcase, maximum);
	tcase_add_test(tcase, by_flow);
	tcase_add_test(tcase, token_bucket);
	tcase_add_test(tcase, inserting);
	tcase_add_loop_test(tcase, evicting, 0, SEEDS);
	tcase_add_test(tcase, evicting_threads);
	tcase_add_loop_test(tcase, percpu, 0, SEEDS);
	tcase_add_test(tcase, percpu_threads);
	tcase_add_test(tcase, spin_locks);
	tcase_add_loop_test(tcase, own_lock, 0, 3);
	tcase_add_test(tcase, own_lock_threads);
	tcase_add_loop_test(tcase, lost_lock, 0, 3);
	tcase_add_test(tcase, lost_lock_threads);
	tcase_add_test(tcase, seeds);
	tcase_add_test(tcase, cancelled);
	tcase_add_test(tcase, paused);
	tcase_add_test(tcase, in_a_worker);
	suite_add_tcase(suite, tcase);
	return lanes_main(suite);
}
