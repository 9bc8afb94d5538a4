/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_gpu.c - the engine's device for GPUs where one misbehaves: no memory, no room, losses of each kind, a hang; and
 * that several launches are in flight, that time is charged, that nothing is left over (the mock aborts if so).
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "mock.h"

static struct {
	enum gpgpu_loss loss;
	bool over;
	uint32_t times;
} lost; /* atomic enough: written before jobs are answered */

static void on_loss(void *opaque, enum gpgpu_loss loss, bool over, const char *what)
{
	lost.loss = loss;
	lost.over = over;
	__atomic_add_fetch(&lost.times, 1, __ATOMIC_RELEASE);
	ck_assert_ptr_nonnull(what);
}

static void start(void)
{
	memset(&gp_mock_plan, 0, sizeof(gp_mock_plan));
	memset(&lost, 0, sizeof(lost));
	gp_mock_use();
	engine_lost = on_loss;
	setup_programs();
}

/* Losses are told after the jobs are answered. */
static void wait_for_loss(enum gpgpu_loss loss, bool over)
{
	for (int i = 0; i < 2000 && !__atomic_load_n(&lost.times, __ATOMIC_ACQUIRE); i++)
		sleep_ms(5);
	ck_assert_uint_eq(lost.times, 1);
	ck_assert_int_eq(lost.loss, loss);
	ck_assert_int_eq(lost.over, over);
}

static uint32_t add(uint32_t items, uint64_t value)
{
	return wire_status(client, dispatch_add(CTX, next_point(), items, 0, value));
}

/* The device is as if nothing had been. */
static void works(void)
{
	uint32_t key = 7;
	uint64_t value = 0x1122334455667788, got = 0;
	struct wire_answer *a;

	check_ok(add(3000, 41));
	ck_assert_uint_eq(first_wrong((uint64_t *)(void *)wire_shm(client), 3000, 41), 3000);
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, MAP_HASH, &key, 4, &value, 8, BPF_ANY,
			     NULL));
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP_HASH, &key, 4, NULL, 0, 0, &a));
	memcpy(&got, &a->resp->map_op + 1, sizeof(got));
	wire_answer_free(a);
	ck_assert_uint_eq(got, value);
}

START_TEST(several_in_flight)
{
	struct gp_mock_counts counts;
	struct virtio_gpgpu_resp_stats stats;
	uint64_t tickets[16];

	gp_mock_plan.delay_us = 2000;
	for (int i = 0; i < 16; i++)
		tickets[i] =
			dispatch_add(CTX, next_point_on((uint32_t)i), 64, 4096u * (uint32_t)i, (uint64_t)i);
	for (uint32_t i = 0; i < 16; i++) {
		check_ok(wire_status(client, tickets[i]));
		ck_assert_uint_eq(first_wrong((uint64_t *)(void *)(wire_shm(client) + 4096 * i), 64, i), 64);
	}
	gp_mock_counts(&counts);
	ck_assert_uint_gt(counts.most_queued, 1);
	check_ok(wire_stats(client, &stats));
	ck_assert_uint_gt(stats.device_ns, 0);
}
END_TEST

static const int launch_errors[] = { -EAGAIN, -ENOMEM };

START_TEST(launches_that_are_refused)
{
	gp_mock_plan.fail_errno = launch_errors[_i];
	gp_mock_plan.fail_launch = 5;
	works();
	ck_assert_uint_eq(gp_mock_plan.fail_launch, 0);
	ck_assert_uint_eq(lost.times, 0);
}
END_TEST

START_TEST(launches_that_are_refused_for_ever)
{
	gp_mock_plan.fail_errno = -ENOMEM;
	gp_mock_plan.fail_launch = UINT32_MAX;
	check_status(add(10, 1), NO_MEMORY);
	gp_mock_plan.fail_launch = 0;
	ck_assert_uint_eq(lost.times, 0);
	works();
}
END_TEST

START_TEST(launches_without_memory)
{
	uint32_t key = 1;

	/* None has been had before, so that the first of each asks for some. */
	gp_mock_plan.fail_alloc = 1;
	check_status(add(10, 1), NO_MEMORY);
	gp_mock_plan.fail_alloc = 1;
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_DELETE, CTX, MAP_HASH, &key, 4, NULL, 0, 0,
				 NULL),
		     NO_MEMORY);
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_DELETE, CTX, MAP_HASH, &key, 4, NULL, 0, 0,
				 NULL),
		     NOT_FOUND);
	works();
	ck_assert_uint_eq(lost.times, 0);
}
END_TEST

START_TEST(objects_without_memory)
{
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	struct wire_answer *a;

	gp_mock_plan.fail_alloc_device = 1;
	check_status(wire_map(client, CTX, 100, VIRTIO_GPGPU_MAP_HASH, 4, 8, 16, 0), NO_MEMORY);
	check_ok(wire_map(client, CTX, 100, VIRTIO_GPGPU_MAP_HASH, 4, 8, 16, 0));
	gp_mock_plan.fail_alloc_device = 1;
	check_status(wire_buffer(client, CTX, 100, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096), NO_MEMORY);
	check_ok(wire_buffer(client, CTX, 100, VIRTIO_GPGPU_MEM_DEVICE, 0, 4096));
	gp_mock_plan.fail_alloc_device = 1;
	check_status(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, pass, 2, NULL, 0, &a), REJECTED);
	ck_assert(strstr((char *)a->resp->prog.message, "memory"));
	wire_answer_free(a);
	check_ok(load_prog(client, 100, VIRTIO_GPGPU_PROG_XDP, pass, 2, NULL, 0, NULL));
	works();
}
END_TEST

static const struct {
	enum gp_gpu_state state;
	enum gpgpu_loss loss;
	bool keeps, over;
} losses[] = {
	{ GP_GPU_GUILTY, GPGPU_LOSS_GUILTY, true, false },
	{ GP_GPU_INNOCENT, GPGPU_LOSS_INNOCENT, true, false },
	{ GP_GPU_GUILTY, GPGPU_LOSS_GUILTY, false, true },
	{ GP_GPU_INNOCENT, GPGPU_LOSS_INNOCENT, false, true },
	{ GP_GPU_GONE, GPGPU_LOSS_GONE, false, true },
};

/* Of jobs, one is lost in any case; what comes later is well where the GPU has kept its memory. */
START_TEST(loses)
{
	uint64_t value = 5, tickets[8];
	uint32_t key = 3, num_lost = 0;
	struct wire_answer *a;

	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, MAP_HASH, &key, 4, &value, 8, BPF_ANY,
			     NULL));
	gp_mock_plan.delay_us = 1000;
	gp_mock_plan.keeps_contents = losses[_i].keeps;
	gp_mock_plan.lose_after = 2;
	gp_mock_plan.lose = losses[_i].state;
	for (uint32_t i = 0; i < 8; i++)
		tickets[i] = dispatch_add(CTX, next_point_on(i), 64, 4096 * i, 1);
	for (uint32_t i = 0; i < 8; i++) {
		a = wire_wait(client, tickets[i]);
		if (a->status) {
			ck_assert_uint_eq(a->status, VIRTIO_GPGPU_S_DEVICE_LOST);
			/* Where it is for good some are answered when that is known, and some before. */
			if (losses[_i].state == GP_GPU_GONE)
				ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_WORKER_DIED);
			else if (!losses[_i].over || !num_lost)
				ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESET);
			num_lost++;
		}
		wire_answer_free(a);
	}
	ck_assert_uint_gt(num_lost, 0);
	wait_for_loss(losses[_i].loss, losses[_i].over);
	if (losses[_i].over) {
		check_status(add(10, 1), DEVICE_LOST);
		check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP_HASH, &key, 4, NULL, 0,
					 0, NULL),
			     DEVICE_LOST);
		gpgpu_session_quiesce(wire_session(client));
		gpgpu_session_resume(wire_session(client));
		gpgpu_session_reset(wire_session(client), 0, 2);
		return;
	}
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP_HASH, &key, 4, NULL, 0, 0, &a));
	ck_assert_mem_eq(&a->resp->map_op + 1, &value, sizeof(value));
	wire_answer_free(a);
	works();
}
END_TEST

/* What was asked of a map when the GPU was lost is answered. */
START_TEST(loses_map_operations)
{
	uint32_t key = 3;

	gp_mock_plan.keeps_contents = true;
	gp_mock_plan.lose = GP_GPU_INNOCENT;
	check_status(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_DELETE, CTX, MAP_HASH, &key, 4, NULL, 0, 0,
				 NULL),
		     DEVICE_LOST);
	wait_for_loss(GPGPU_LOSS_INNOCENT, false);
	works();
}
END_TEST

/* A launch that does not end, whatever it is told: after ten seconds that is a loss, and all is answered. */
START_TEST(hangs)
{
	uint64_t start = now_ns(), ticket;

	gp_mock_plan.hang = true;
	ticket = dispatch_add(CTX, next_point(), 64, 0, 1);
	check_status(wire_status(client, ticket), DEVICE_LOST);
	ck_assert_uint_gt(now_ns() - start, 9000000000ull);
	wait_for_loss(GPGPU_LOSS_GUILTY, true);
	check_status(add(10, 1), DEVICE_LOST);
}
END_TEST

/* A pause does not wait for items without an end, nor do jobs that come behind them. */
START_TEST(pauses)
{
	uint64_t start = now_ns(), ticket = spin(client, next_point_on(1), 64);

	sleep_ms(20);
	gpgpu_session_quiesce(wire_session(client));
	ck_assert_uint_lt(now_ns() - start, 5000000000ull);
	gpgpu_session_resume(wire_session(client));
	wire_answer_free(wire_wait(client, ticket));
	works();
}
END_TEST

static const struct {
	bool no_copy;
	uint32_t copies; /* by the GPU's engine */
} copies[] = { { false, 3 }, { true, 0 } };

/* Copies by the GPU's engine where the shared memory is at one end, and it has one; in order with launches. */
START_TEST(copies_by_engine)
{
	struct gp_mock_counts counts;
	uint64_t *shm = (uint64_t *)(void *)wire_shm(client);

	gp_mock_plan.no_copy = copies[_i].no_copy;
	gp_mock_plan.delay_us = 1000;
	/* One timeline, so that they are in order; nobody waits in between. */
	dispatch_add(CTX, next_point_on(40), 1000, 0, 77);
	wire_copy(client, CTX, next_point_on(40), BUF_DEV, 0, BUF_SHM, 0, 8000);
	dispatch_add(CTX, next_point_on(40), 1000, 0, 0);
	wire_copy(client, CTX, next_point_on(40), BUF_DEV, 8001, BUF_DEV, 0, 8000);
	wire_fill(client, CTX, next_point_on(40), BUF_DEV, 0, 8000, 0);
	wire_copy(client, CTX, next_point_on(40), BUF_SHM, 1 << 20, BUF_DEV, 8001, 8000);
	check_ok(wire_status(client,
			     wire_fill(client, CTX, next_point_on(40), BUF_SHM, 2 << 20, 4096, 0x01020304)));
	ck_assert_uint_eq(first_wrong(shm, 1000, 0), 1000);
	ck_assert_uint_eq(first_wrong(shm + (1 << 17), 1000, 77), 1000);
	ck_assert_uint_eq(shm[(2 << 17) + 511], 0x0102030401020304ull);
	gp_mock_counts(&counts);
	ck_assert_uint_eq(counts.copies, copies[_i].copies);
}
END_TEST

/* One job at a time, each sent when the one before has been answered, until @until. */
struct chain {
	struct wire_client *c;
	bool maps; /* operations on maps instead */
	uint64_t until;
};

static void *run_chain(void *opaque)
{
	const struct chain *chain = opaque;
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 4096, 4096 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, 1, 0 },
	};

	for (uint32_t key = 1; chain->maps && now_ns() < chain->until;)
		check_status(wire_map_op(chain->c, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP_HASH, &key, 4, NULL,
					 0, 0, NULL),
			     NOT_FOUND);
	for (uint64_t seq; (seq = now_ns()) < chain->until;)
		wire_answer_free(wire_wait(chain->c, wire_dispatch(chain->c, CTX,
								   (struct wire_point){ 60, seq, NULL, 0 },
								   PROG_ADD, (uint32_t[]){ 64, 1, 1 },
								   (uint32_t[]){ 64, 1, 1 }, args, 2)));
	return NULL;
}

static double share_of_first(uint64_t ms, bool maps)
{
	struct chain chains[2] = { { client, false, 0 }, { new_client(0, 100), maps, 0 } };
	uint64_t used[2] = { 0, 0 };
	struct gpgpu_stats stats;
	pthread_t threads[2];

	make_objects(chains[1].c);
	make_programs(chains[1].c);
	for (int i = 0; i < 2; i++) {
		gpgpu_session_stats(wire_session(chains[i].c), &stats);
		used[i] = stats.device_ns;
		chains[i].until = now_ns() + ms * 1000000;
	}
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_chain, &chains[i]), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		gpgpu_session_stats(wire_session(chains[i].c), &stats);
		used[i] = stats.device_ns - used[i];
	}
	wire_client_free(chains[1].c);
	return (double)used[0] / (double)used[1];
}

static uint64_t send_lookup(uint32_t key)
{
	struct {
		struct virtio_gpgpu_req_map_op op;
		uint32_t key, pad;
	} req = { .op = { .id = MAP_HASH, .key_size = 4 }, .key = key };

	wire_hdr(&req, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, sizeof(req));
	return wire_submit(client, GPGPU_QUEUE_CONTROL, &req, sizeof(req), 4096);
}

/*
 * Weights hold for those, too, who have nothing queued when their job ends. On a clock of its own that is shown in
 * tests/unit/test_share.c; here threads do it, on a host that may have no time for them: any of several tries will do. The
 * second time one of them only has operations on maps.
 */
START_TEST(shares_one_by_one)
{
	struct gpgpu_quota quota = { .weight = 300 };
	double share = 0;

	gpgpu_session_set_quota(wire_session(client), &quota);
	gp_mock_plan.took_us = 10000;
	for (int i = 0; i < 8 && (share < 2.5 || share > 3.5); i++)
		share = share_of_first(1000, _i);
	ck_assert_msg(share >= 2.5 && share <= 3.5, "3:1 became %.2f", share);
}
END_TEST

/* Operations on maps that wait for their share: neither a pause nor a reset waits with them, and neither loses one. */
START_TEST(map_operations_wait)
{
	struct gpgpu_quota quota = { .cap = 1 };
	struct wire_answer *a;
	uint64_t start, ticket;

	works();
	gp_mock_plan.took_us = 50000;
	gpgpu_session_set_quota(wire_session(client), &quota);
	check_ok(add(64, 1));
	for (int reset = 0; reset < 2; reset++) {
		start = now_ns();
		ticket = send_lookup(7);
		sleep_ms(100);
		ck_assert_ptr_null(wire_poll(client, ticket));
		gpgpu_session_quiesce(wire_session(client));
		ck_assert_ptr_null(wire_poll(client, ticket));
		if (reset) {
			gpgpu_session_reset(wire_session(client), 0, 2);
			ck_assert_uint_lt(now_ns() - start, 5000000000ull);
		}
		gpgpu_session_resume(wire_session(client));
		if (!reset) {
			sleep_ms(50);
			ck_assert_ptr_null(wire_poll(client, ticket));
			gpgpu_session_set_quota(wire_session(client), &(struct gpgpu_quota){ .weight = 1 });
		}
		a = wire_wait(client, ticket);
		ck_assert_uint_eq(a->resp->hdr.status, reset ? VIRTIO_GPGPU_S_CANCELLED : VIRTIO_GPGPU_S_OK);
		wire_answer_free(a);
		gpgpu_session_set_quota(wire_session(client), &quota);
		if (!reset)
			check_ok(add(64, 1));
	}
}
END_TEST

/* ------------------------------------------------------------------------ vandals */

enum { PROG_TAIL = 30, PROG_TALKS = 31 };

static void load_talkers(void)
{
	const struct bpf_insn tail[] = {
		LD_MAP(2, MAP_PROGS), MOV(3, 0), CALL(BPF_FUNC_tail_call), MOV(0, XDP_PASS), EXIT(),
	};
	const struct bpf_insn talks[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0x6e656573), /* "seen" */
		INSN(0, 0, 0, 0, 0),
		STX(BPF_DW, 10, 1, -16),
		MOVR(1, 10),
		ALU(BPF_ADD, 1, -16),
		MOV(2, 5),
		CALL(BPF_FUNC_trace_printk),
		LD_MAP(1, MAP_RING),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -16),
		MOV(3, 8),
		MOV(4, 0),
		CALL(BPF_FUNC_ringbuf_output),
		MOV(0, XDP_PASS),
		EXIT(),
	};

	check_ok(
		load_prog(client, PROG_TAIL, VIRTIO_GPGPU_PROG_XDP, tail, G_N_ELEMENTS(tail), NULL, 0, NULL));
	check_ok(load_prog(client, PROG_TALKS, VIRTIO_GPGPU_PROG_XDP, talks, G_N_ELEMENTS(talks), NULL, 0,
			   NULL));
}

/* Of every kind one, at the same time, and operations on maps. Whatever they are answered, they are. */
static void everything(bool ordered)
{
	static const uint32_t progs[] = { PROG_PASS, PROG_COUNT, PROG_TAIL, PROG_TALKS };
	static struct virtio_gpgpu_packet_desc descs[500];
	struct virtio_gpgpu_req_map_read read = { .id = MAP_RING, .max_bytes = 4096 };
	struct virtio_gpgpu_req_map_dump dump = { .id = MAP_HASH, .max_entries = 64 };
	uint64_t tickets[32], value = 1;
	uint32_t num = 0, key = 1;

	packet_slots(client, descs, 500);
	for (uint32_t i = 0; i < G_N_ELEMENTS(progs); i++) {
		tickets[num] = wire_packets(client, CTX, next_point_on(num), 0, progs[i], BUF_SHM, 0, SLOT,
					    descs, 500);
		num++;
		if (!ordered)
			continue;
		tickets[num] = wire_packets(client, CTX, next_point_on(num), VIRTIO_GPGPU_PACKETS_ORDER_FLOW,
					    progs[i], BUF_SHM, 0, SLOT, descs, 500);
		num++;
		tickets[num] = wire_packets(client, CTX, next_point_on(num), VIRTIO_GPGPU_PACKETS_ORDER_ALL,
					    progs[i], BUF_SHM, 0, SLOT, descs, 100);
		num++;
	}
	tickets[num] = dispatch_add(CTX, next_point_on(num), 3000, 0, 41);
	num++;
	tickets[num] = wire_copy(client, CTX, next_point_on(num), BUF_DEV, 0, BUF_SHM, 0, 1 << 20);
	num++;
	tickets[num] = wire_copy(client, CTX, next_point_on(num), BUF_SHM, 0, BUF_DEV, 0, 1 << 20);
	num++;
	tickets[num] = wire_fill(client, CTX, next_point_on(num), BUF_DEV, 0, 1 << 20, 1);
	num++;
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, MAP_HASH, &key, 4, &value, 8, BPF_ANY, NULL);
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, MAP_HASH, &key, 4, NULL, 0, 0, NULL);
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, CTX, MAP_HASH, &key, 4, NULL, 0, 0, NULL);
	wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_DELETE, CTX, MAP_HASH, &key, 4, NULL, 0, 0, NULL);
	wire_hdr(&read, VIRTIO_GPGPU_CMD_MAP_READ, CTX, sizeof(read));
	wire_answer_free(wire_call(client, GPGPU_QUEUE_CONTROL, &read, sizeof(read), 1 << 16));
	wire_hdr(&dump, VIRTIO_GPGPU_CMD_MAP_DUMP, CTX, sizeof(dump));
	wire_answer_free(wire_call(client, GPGPU_QUEUE_CONTROL, &dump, sizeof(dump), 1 << 16));
	for (uint32_t i = 0; i < num; i++)
		wire_answer_free(wire_wait(client, tickets[i]));
}

static const uint32_t vandals[] = { 1, 0x100, 0x101, 0x17f, 0x180, 0x1ff, 0x120 };

/*
 * Whatever a launch leaves in memory that the GPU can write, its own or that of launches that are still to be queued: the
 * host reads nothing that is not there, divides by no zero, and goes on.
 */
START_TEST(out_of_bounds_everywhere)
{
	uint32_t key = 0, value = PROG_COUNT;

	load_talkers();
	check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, MAP_PROGS, &key, 4, &value, 4, BPF_ANY,
			     NULL));
	everything(true);
	for (uint32_t i = 0; i < G_N_ELEMENTS(vandals); i++) {
		gp_mock_plan.vandal = vandals[i];
		/* With zeros parts are tried again and again, since of none anything ran. */
		for (int round = 0; round < 3; round++)
			everything(vandals[i] != 0x100);
	}
	gp_mock_plan.vandal = 0;
	works();
	ck_assert_uint_eq(lost.times, 0);
}
END_TEST

/* What the host has seen to go by is charged, whatever a program out of its bounds makes of the GPU's own figures. */
static uint64_t charged_for(uint32_t jobs)
{
	struct gpgpu_stats before, after;

	gpgpu_session_stats(wire_session(client), &before);
	for (uint32_t i = 0; i < jobs; i++)
		wire_answer_free(wire_wait(client, dispatch_add(CTX, next_point(), 64, 0, 1)));
	gpgpu_session_stats(wire_session(client), &after);
	return after.device_ns - before.device_ns;
}

START_TEST(time_is_charged)
{
	check_ok(add(10, 1));
	gp_mock_plan.took_us = 8000;
	ck_assert_uint_ge(charged_for(4), 32000000);
	/* A lie that could be true: one part in eight, at least. */
	gp_mock_plan.claims_none = true;
	ck_assert_uint_ge(charged_for(4), 4000000);
	gp_mock_plan.claims_none = false;
	/* One that could not: all, and from then on of every launch. */
	gp_mock_plan.vandal = 0x100;
	ck_assert_uint_ge(charged_for(4), 32000000);
	gp_mock_plan.vandal = 0;
	gp_mock_plan.claims_none = true;
	ck_assert_uint_ge(charged_for(4), 32000000);
	gp_mock_plan.claims_none = false;
	works();
}
END_TEST

/* A launch that had the GPU reset costs what it took; somebody else's reset costs nothing. */
START_TEST(losses_are_charged)
{
	check_ok(add(10, 1));
	gp_mock_plan.keeps_contents = true;
	gp_mock_plan.took_us = 20000;
	gp_mock_plan.lose = GP_GPU_GUILTY;
	ck_assert_uint_ge(charged_for(1), 20000000);
	gp_mock_plan.lose = GP_GPU_INNOCENT;
	ck_assert_uint_eq(charged_for(1), 0);
	gp_mock_plan.took_us = 0;
	works();
}
END_TEST

/* A cap holds against such programs. */
START_TEST(caps_hold)
{
	struct gpgpu_quota quota = { .weight = 100, .cap = 1000 };
	uint64_t from, jobs = 0;

	check_ok(add(10, 1));
	gp_mock_plan.took_us = 4000;
	gp_mock_plan.vandal = 0x100;
	gpgpu_session_set_quota(wire_session(client), &quota);
	for (from = now_ns(); now_ns() - from < 600000000; jobs++)
		wire_answer_free(wire_wait(client, dispatch_add(CTX, next_point(), 64, 0, 1)));
	/* A tenth of 150 and what may have been saved up; without a cap it were all of them. */
	ck_assert_uint_le(jobs, 25);
	gp_mock_plan.vandal = 0;
}
END_TEST

/* Without a clock programs see a time that stands still, and everything else is as it was. */
START_TEST(no_clock)
{
	gp_mock_plan.no_clock = true;
	works();
}
END_TEST

/* Copies that jobs work on are kept to the memory limit, and given back. */
START_TEST(copies_within_limit)
{
	struct gpgpu_quota quota = { .memory_limit = 1 << 20 };

	setenv("GPGPU_MOCK_NO_SHARE", "1", 1);
	start();
	check_ok(add(100, 41));
	gpgpu_session_set_quota(wire_session(client), &quota);
	for (int i = 0; i < 3; i++) {
		check_status(add(100000, 1), NO_MEMORY);
		check_ok(add(60000, 1));
	}
	ck_assert_uint_eq(first_wrong((uint64_t *)(void *)wire_shm(client), 60000, 1), 60000);
	quota.memory_limit = 8 << 20;
	gpgpu_session_set_quota(wire_session(client), &quota);
	check_ok(add(100000, 1));
	teardown();
}
END_TEST

START_TEST(nothing_there)
{
	struct gpgpu_engine_options options = { .device = "mock:elsewhere", .jit_fd = -1 };
	GError *error = NULL;

	gp_mock_use();
	ck_assert_ptr_null(gpgpu_engine_new(&options, &error));
	ck_assert(strstr(error->message, "elsewhere"));
	g_clear_error(&error);
	options.device = "moc";
	ck_assert_ptr_null(gpgpu_engine_new(&options, &error));
	ck_assert(strstr(error->message, "moc"));
	g_clear_error(&error);
	options.device = "mock";
	options.where = "elsewhere";
	ck_assert_ptr_null(gpgpu_engine_new(&options, &error));
	g_clear_error(&error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu");
	TCase *tc = tcase_create("gpu"), *none = tcase_create("none");

	tcase_add_checked_fixture(tc, start, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, several_in_flight);
	tcase_add_loop_test(tc, launches_that_are_refused, 0, G_N_ELEMENTS(launch_errors));
	tcase_add_test(tc, launches_that_are_refused_for_ever);
	tcase_add_test(tc, launches_without_memory);
	tcase_add_test(tc, objects_without_memory);
	tcase_add_loop_test(tc, loses, 0, G_N_ELEMENTS(losses));
	tcase_add_test(tc, loses_map_operations);
	tcase_add_test(tc, hangs);
	tcase_add_test(tc, pauses);
	tcase_add_test(tc, no_clock);
	tcase_add_loop_test(tc, shares_one_by_one, 0, 2);
	tcase_add_test(tc, map_operations_wait);
	tcase_add_loop_test(tc, copies_by_engine, 0, G_N_ELEMENTS(copies));
	tcase_add_test(tc, out_of_bounds_everywhere);
	tcase_add_test(tc, time_is_charged);
	tcase_add_test(tc, losses_are_charged);
	tcase_add_test(tc, caps_hold);
	tcase_add_test(none, nothing_there);
	tcase_set_timeout(none, 60);
	tcase_add_test(none, copies_within_limit);
	suite_add_tcase(suite, tc);
	suite_add_tcase(suite, none);
	return run_suite(suite);
}
