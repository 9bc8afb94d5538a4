/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lanes.c - counters, and what is none: what lanes change, and what they do not (docs/lanes.md).
 *
 * On the CPU device, in interleavings by several seeds and with several threads. What must hold is asserted for every
 * seed; that something can be lost is asserted for some seed, since without that a test that finds nothing lost
 * would say nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "lanes_fixture.h"

/* --------------------------------------------------------------------- counters */

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
	suite_add_tcase(suite, tcase);
	return lanes_main(suite);
}
