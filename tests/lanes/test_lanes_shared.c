/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lanes_shared.c - what lanes share: entries that they make and evict, per-CPU values, locks; and the
 * interleavings themselves, which must be the same for a seed and end when they are told to.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lanes_fixture.h"

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

	lanes_start(&l, THREADS, seed, false, 500);
	fill(120);
	lanes_packet(&l, 20)->body.value = 0;
	prog = lanes_prog(&l, "lock_for_ever");
	lanes_run(&l, prog, 120, 0);
	c = lanes_counters(&l);
	ck_assert_uint_eq(c.lock, 1);
	ck_assert_uint_eq(c.packets, l.counts[XDP_PASS]);
	ck_assert_uint_gt(l.counts[XDP_PASS], 0);
	ck_assert_uint_gt(l.fault_count, 0);
	ck_assert_uint_eq(l.fault_count, l.counts[XDP_ABORTED]);
	for (uint32_t i = 0; i < 120; i++)
		ck_assert_uint_eq(l.faults[i], l.verdicts[i] == XDP_ABORTED ? VIRTIO_GPGPU_R_OUT_OF_FUEL : 0);
	lanes_set(&l, MAP_counters, 0, &zero, sizeof(zero));
	lanes_run(&l, lanes_prog(&l, "count"), 120, 0);
	c = lanes_counters(&l);
	check_count(&c, 120);
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
	Suite *suite = suite_create("lanes_shared");
	TCase *tcase = tcase_create("lanes_shared");

	tcase_set_timeout(tcase, 120);
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
