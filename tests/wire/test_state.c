/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_state.c - pauses, resets and quotas while jobs run; shares of the device; memory that changes under our feet.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

static const uint32_t one[3] = { 1, 1, 1 };

static uint64_t checksum(void)
{
	const uint64_t *words = (const uint64_t *)wire_shm(client);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < SHM_SIZE / 8; i++)
		sum = sum * 31 + __atomic_load_n(&words[i], __ATOMIC_RELAXED);
	return sum;
}

/* While paused nothing is written and nothing is answered; afterwards everything is. */
START_TEST(quiesce_under_load)
{
	for (int round = 0; round < 10; round++) {
		uint64_t tickets[32], sum, during;
		struct virtio_gpgpu_req_hdr r = { 0 };

		for (int i = 0; i < 32; i++)
			tickets[i] = dispatch_add(CTX, next_point_on((uint32_t)i % 8), 100000, 4096,
						  (uint64_t)round * 100);
		if (round % 2)
			sleep_ms((unsigned int)round);
		gpgpu_session_quiesce(wire_session(client));
		sum = checksum();
		wire_hdr(&r, VIRTIO_GPGPU_CMD_GET_STATS, 0, sizeof(r));
		during = wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		sleep_ms(10);
		ck_assert(still_waits(during));
		ck_assert_uint_eq(checksum(), sum);
		gpgpu_session_resume(wire_session(client));
		check_ok(wire_status(client, during));
		for (int i = 0; i < 32; i++)
			check_ok(wire_status(client, tickets[i]));
		ck_assert_uint_eq(first_wrong((uint64_t *)(wire_shm(client) + 4096), 100000,
					      (uint64_t)round * 100),
				  100000);
	}
}
END_TEST

START_TEST(quiesce_is_short)
{
	uint64_t ticket = spin(client, next_point_on(20), 1 << 30), start;

	for (int i = 0; i < 5; i++) {
		sleep_ms(20);
		start = now_ns();
		gpgpu_session_quiesce(wire_session(client));
		ck_assert_uint_lt(now_ns() - start, 3000000000ull);
		ck_assert(still_waits(ticket));
		gpgpu_session_resume(wire_session(client));
	}
	gpgpu_session_reset(wire_session(client), 3, 1);
	check_status(wire_status(client, ticket), CANCELLED);
}
END_TEST

/*
 * A client whose job is one item that copies 64 KiB over and over, with fuel for many seconds of that. What ends it
 * must not wait for the fuel: far less than it would take, far more than it should.
 */
#define LARGE	65536u
#define SOON_NS 3000000000ull

static struct wire_client *long_item(uint64_t *ticket)
{
	struct gpgpu_session_options options = {
		.name = "long",
		.features = 1 << VIRTIO_GPGPU_F_PACKET | 1 << VIRTIO_GPGPU_F_DEVICE_MEM,
		.generation = 1,
		.quota = { .memory_limit = 64 << 20 },
		.limits = { .fuel = 1 << 28 },
	};
	const struct bpf_insn copies[] = {
		LDX(BPF_DW, 6, 1, 0),
		ST(BPF_DW, 10, -8, 0),
		LD_MAP(1, 1),
		MOVR(2, 10),
		ALU(BPF_ADD, 2, -8),
		MOVR(3, 6),
		MOV(4, 0),
		CALL(2),
		JA(-8),
	};
	const uint8_t buffer[] = { VIRTIO_GPGPU_ARG_BUFFER };
	struct virtio_gpgpu_arg args[] = { { VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 0, LARGE } };
	struct wire_client *c = wire_client_engine(engine, SHM_SIZE, &options);

	check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(c, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_map(c, CTX, 1, VIRTIO_GPGPU_MAP_HASH, 4, LARGE, 1, 0));
	check_ok(load_prog(c, 1, VIRTIO_GPGPU_PROG_GPGPU, copies, sizeof(copies) / sizeof(copies[0]), buffer,
			   1, NULL));
	*ticket = wire_dispatch(c, CTX, (struct wire_point){ 1, 1, NULL, 0 }, 1, one, one, args, 1);
	sleep_ms(50);
	ck_assert_ptr_null(wire_poll(c, *ticket));
	return c;
}

START_TEST(quiesce_long_item)
{
	struct wire_answer *a;
	uint64_t ticket, start;
	struct wire_client *c = long_item(&ticket);

	start = now_ns();
	gpgpu_session_quiesce(wire_session(c));
	ck_assert_uint_lt(now_ns() - start, SOON_NS);
	ck_assert_ptr_null(wire_poll(c, ticket));
	gpgpu_session_resume(wire_session(c));
	a = wire_wait(c, ticket);
	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	wire_answer_free(a);
	wire_client_free(c);
}
END_TEST

START_TEST(cancel_long_item)
{
	struct virtio_gpgpu_req_job_cancel r = { .timeline = 1, .seq = 1 };
	uint64_t ticket, start;
	struct wire_client *c = long_item(&ticket);

	start = now_ns();
	wire_hdr(&r, VIRTIO_GPGPU_CMD_JOB_CANCEL, CTX, sizeof(r));
	wire_answer_free(wire_call(c, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096));
	check_status(wire_status(c, ticket), CANCELLED);
	ck_assert_uint_lt(now_ns() - start, SOON_NS);
	wire_client_free(c);
}
END_TEST

START_TEST(reset_long_item)
{
	uint64_t ticket, start;
	struct wire_client *c = long_item(&ticket);

	start = now_ns();
	gpgpu_session_reset(wire_session(c), 3, 2);
	ck_assert_uint_lt(now_ns() - start, SOON_NS);
	check_status(wire_status(c, ticket), CANCELLED);
	wire_client_free(c);
}
END_TEST

/* Nobody pauses or cancels: it still cannot keep the device to itself for as long as it likes. */
START_TEST(long_item_ends)
{
	uint64_t ticket, start = now_ns();
	struct wire_client *c = long_item(&ticket);
	struct wire_answer *a = wire_wait(c, ticket);

	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	ck_assert_uint_lt(now_ns() - start, 2 * SOON_NS);
	wire_answer_free(a);
	wire_client_free(c);
}
END_TEST

START_TEST(reset_under_load)
{
	for (uint32_t round = 0; round < 6; round++) {
		struct virtio_gpgpu_fence never = { .ctx_id = OTHER_CTX, .timeline = 63, .seq = 1 };
		struct virtio_gpgpu_resp_stats stats;
		uint64_t tickets[30], before;
		struct wire_answer *a;

		for (uint32_t i = 0; i < 30; i++) {
			if (i % 3 == 0)
				tickets[i] = spin(client, (struct wire_point){ i, 1, NULL, 0 }, 1 << 30);
			else if (i % 3 == 1)
				tickets[i] = dispatch_add(CTX, (struct wire_point){ i, 1, NULL, 0 }, 100000,
							  4096, i);
			else
				tickets[i] = wire_nop(client, CTX, (struct wire_point){ i, 1, &never, 1 });
		}
		sleep_ms(round);
		if (round % 2)
			gpgpu_session_quiesce(wire_session(client));
		gpgpu_session_reset(wire_session(client), 3, round + 2);
		/* Every one has been answered by now. */
		for (int i = 0; i < 30; i++) {
			a = wire_poll(client, tickets[i]);
			ck_assert_ptr_nonnull(a);
			if (a->status) {
				check_status(a->status, CANCELLED);
				ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESET);
			}
			wire_answer_free(a);
		}
		if (round % 2)
			gpgpu_session_resume(wire_session(client));
		check_ok(wire_stats(client, &stats));
		ck_assert_uint_eq(stats.memory, 0);
		ck_assert_uint_eq(stats.hdr.generation, round + 2);
		ck_assert_uint_gt(stats.jobs, 0);
		before = stats.jobs;
		check_status(wire_simple(client, VIRTIO_GPGPU_CMD_GET_STATS, CTX, NULL), NOT_FOUND);
		/* And it starts afresh. */
		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
		check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, OTHER_CTX, NULL));
		check_ok(wire_buffer(client, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
		check_ok(wire_map(client, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
		make_programs(client);
		check_ok(wire_status(client,
				     dispatch_add(CTX, (struct wire_point){ 50, 1, NULL, 0 }, 10, 4096, 1)));
		check_ok(wire_stats(client, &stats));
		ck_assert_uint_eq(stats.jobs, before + 1);
	}
}
END_TEST

/* Keeps @c busy: @depth jobs at a time, of about @turns loop turns for each of 4,096 items. */
struct load {
	struct wire_client *c;
	uint64_t tickets[4];
	uint64_t seq;
};

static void load_turn(struct load *load, uint64_t turns)
{
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 4096, 4096 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, turns, 0 },
	};

	for (uint32_t i = 0; i < 4; i++) {
		struct wire_answer *a = load->tickets[i] ? wire_poll(load->c, load->tickets[i]) : NULL;

		if (load->tickets[i] && !a)
			continue;
		if (a)
			check_ok(a->status);
		wire_answer_free(a);
		load->tickets[i] = wire_dispatch(load->c, CTX, (struct wire_point){ i, ++load->seq, NULL, 0 },
						 PROG_WORK, (uint32_t[]){ 4096, 1, 1 }, one, args, 2);
	}
}

static uint64_t device_time(struct load *load)
{
	struct gpgpu_stats stats;

	gpgpu_session_stats(wire_session(load->c), &stats);
	return stats.device_ns;
}

static void start_load(struct load *load)
{
	*load = (struct load){ .c = new_client(0, 0) };
	check_ok(wire_simple(load->c, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_buffer(load->c, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_map(load->c, CTX, MAP_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, 0));
	make_programs(load->c);
}

/* Runs both for @ms. @used: device time of each. */
static void run_loads(struct load loads[2], uint64_t turns_a, uint64_t turns_b, unsigned int ms,
		      uint64_t used[2])
{
	uint64_t from[2] = { device_time(&loads[0]), device_time(&loads[1]) }, start = now_ns();

	while (now_ns() - start < ms * 1000000ull) {
		load_turn(&loads[0], turns_a);
		load_turn(&loads[1], turns_b);
		sleep_ms(1);
	}
	used[0] = device_time(&loads[0]) - from[0];
	used[1] = device_time(&loads[1]) - from[1];
}

/*
 * On real threads and measured time. The bounds are far wider than what is promised (tests/unit/test_sched.c
 * judges that, on a virtual clock): a host that is busy with other things must not fail it.
 */
START_TEST(shares)
{
	struct gpgpu_quota quota = { .weight = 300 };
	struct load loads[2];
	uint64_t used[2];

	start_load(&loads[0]);
	start_load(&loads[1]);
	/* Jobs of very different sizes. */
	run_loads(loads, 1000, 10000, 100, used);
	run_loads(loads, 1000, 10000, 1000, used);
	ck_assert_msg(used[0] < used[1] * 1.3 && used[1] < used[0] * 1.3, "1:1 became %.3f",
		      (double)used[0] / (double)used[1]);
	gpgpu_session_set_quota(wire_session(loads[0].c), &quota);
	run_loads(loads, 1000, 10000, 1000, used);
	ck_assert_msg(used[0] > used[1] * 2.2 && used[0] < used[1] * 4, "3:1 became %.3f",
		      (double)used[0] / (double)used[1]);
	quota = (struct gpgpu_quota){ .weight = 300, .cap = 2000 };
	gpgpu_session_set_quota(wire_session(loads[0].c), &quota);
	run_loads(loads, 1000, 10000, 1000, used);
	/* A fifth of two threads, if the host gives us both. */
	ck_assert_msg(used[0] < 500000000, "a cap of 400 ms became %.3f ms", (double)used[0] / 1e6);
	wire_client_free(loads[0].c);
	wire_client_free(loads[1].c);
}
END_TEST

static bool stop;

/* Another processor of the guest: it writes whatever it likes wherever it likes. */
static void *hostile_writer(void *opaque)
{
	uint64_t *words = opaque, x = 88172645463325252ull;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Mostly what belongs there, so that programs are also accepted. */
		__atomic_store_n(&words[x % 4], x & 0xf00 ? 0x00000002000000b7ull : x, __ATOMIC_RELAXED);
		__atomic_store_n(&words[4], 0x95, __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(memory_changes_meanwhile)
{
	static struct virtio_gpgpu_packet_desc descs[64];
	pthread_t code, packets;

	packet_slots(client, descs, 64);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	pthread_create(&code, NULL, hostile_writer, wire_shm(client) + CODE_OFFSET + 65536);
	pthread_create(&packets, NULL, hostile_writer, wire_shm(client) + HEADROOM);
	for (uint32_t i = 0; i < 300; i++) {
		struct virtio_gpgpu_req_prog_create r = {
			.id = 100,
			.kind = VIRTIO_GPGPU_PROG_XDP,
			.num_insns = 5,
			.insns_buffer = BUF_SHM,
			.insns_offset = CODE_OFFSET + 65536,
		};
		struct wire_answer *a;

		wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, CTX, sizeof(r));
		a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		ck_assert(a->status == VIRTIO_GPGPU_S_OK || a->status == VIRTIO_GPGPU_S_REJECTED);
		if (!a->status)
			check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 100, NULL));
		wire_answer_free(a);
		check_ok(wire_status(client, wire_packets(client, CTX, next_point(), i % 3, PROG_COUNT,
							  BUF_SHM, 0, SLOT, descs, 64)));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(code, NULL);
	pthread_join(packets, NULL);
}
END_TEST

/* Pauses, resets, quotas and counters from one thread while another submits. */
static void *meddler(void *opaque)
{
	struct gpgpu_session *s = opaque;
	struct gpgpu_quota quota = { .weight = 1, .memory_limit = 32 << 20 };
	struct gpgpu_stats stats;

	for (uint32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		quota.weight = i % 10000 + 1;
		quota.cap = i % 3 ? 10000 : 9000;
		gpgpu_session_set_quota(s, &quota);
		gpgpu_session_stats(s, &stats);
		gpgpu_session_quiesce(s);
		if (i % 4 == 3)
			gpgpu_session_reset(s, 3, i);
		gpgpu_session_resume(s);
		sleep_ms(1);
	}
	return NULL;
}

START_TEST(meddling)
{
	uint64_t start = now_ns();
	uint32_t rounds = 0;
	pthread_t thread;

	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	pthread_create(&thread, NULL, meddler, wire_session(client));
	while (now_ns() - start < 2000000000ull) {
		uint64_t tickets[16];

		/* Any of them may find that everything is gone. */
		wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL);
		wire_buffer(client, CTX, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE);
		wire_buffer(client, CTX, BUF_DEV, VIRTIO_GPGPU_MEM_DEVICE, 0, 1 << 20);
		for (uint32_t i = 0; i < 16; i++) {
			struct wire_point at = next_point_on(i);

			/* Each timeline in memory of its own. */
			tickets[i] = rounds % 2 ? wire_fill(client, CTX, at, BUF_DEV, i << 16, 1 << 16, i)
						: wire_copy(client, CTX, at, BUF_SHM, i << 16, BUF_DEV,
							    i << 16, 1 << 16);
		}
		for (int i = 0; i < 16; i++)
			wire_status(client, tickets[i]);
		if (rounds % 3 == 0)
			wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, CTX, NULL);
		rounds++;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ck_assert_uint_gt(rounds, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("state");
	TCase *tc = tcase_create("state");

	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, quiesce_under_load);
	tcase_add_test(tc, quiesce_is_short);
	tcase_add_test(tc, quiesce_long_item);
	tcase_add_test(tc, cancel_long_item);
	tcase_add_test(tc, reset_long_item);
	tcase_add_test(tc, long_item_ends);
	tcase_add_test(tc, reset_under_load);
	tcase_add_test(tc, shares);
	tcase_add_test(tc, memory_changes_meanwhile);
	tcase_add_test(tc, meddling);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
