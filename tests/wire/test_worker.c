/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_worker.c - gpgpu-worker from outside, over socket and ring, as QEMU uses it.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "worker_fixture.h"

/* Reads the counters as QEMU does. */
static struct gpgpu_ring_stats read_stats(void)
{
	struct gpgpu_ring_stats *from = &wire_ring(c)->stats, stats;
	uint32_t before, after;

	do {
		before = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
		stats = *from;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = __atomic_load_n(&from->sequence, __ATOMIC_RELAXED);
	} while (before != after || before & 1);
	return stats;
}

START_TEST(whole_path)
{
	static struct virtio_gpgpu_packet_desc descs[4096];
	struct gpgpu_ring_stats stats;
	struct wire_answer *a;

	start_session();
	make_worker_objects();
	make_programs(c);
	packet_slots(c, descs, 4096);
	for (int i = 0; i < 50; i++) {
		a = wire_wait(c, wire_packets(c, CTX, next_point(), VIRTIO_GPGPU_PACKETS_ORDER_ALL,
					      PROG_COUNT, BUF_SHM, 0, SLOT, descs, 4096));
		check_ok(a->status);
		ck_assert_uint_eq(a->resp->packets.verdicts[XDP_DROP], 4096);
		ck_assert_uint_eq(a->num_ranges, 1);
		ck_assert_uint_eq(a->ranges[0].size, 4096 * SLOT);
		wire_answer_free(a);
	}
	check_ok(plain(GPGPU_MSG_PAUSE));
	stats = read_stats();
	ck_assert_uint_eq(stats.packets, 50 * 4096);
	ck_assert_uint_eq(stats.verdicts[XDP_DROP], 50 * 4096);
	ck_assert_uint_eq(stats.jobs, 50);
	ck_assert_uint_gt(stats.device_ns, 0);
	check_ok(plain(GPGPU_MSG_RESUME));
	stop_worker();
}
END_TEST

/* What QEMU has open is not the worker's: the other end of a pipe sees that nobody has it any more. */
START_TEST(inherits_nothing)
{
	struct pollfd pfd = { .events = POLLIN };
	int ends[2], high;
	char byte;

	ck_assert_int_eq(pipe2(ends, 0), 0);
	ck_assert_int_eq(fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
	high = fcntl(ends[1], F_DUPFD, 100);
	ck_assert_int_ge(high, 100);
	start_session();
	close(ends[1]);
	close(high);
	pfd.fd = ends[0];
	ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	/* The worker itself is well. */
	make_worker_objects();
	check_ok(wire_status(c, wire_fill(c, CTX, next_point(), BUF_SHM, 0, 4096, 1)));
	stop_worker();
	close(ends[0]);
}
END_TEST

/* More requests at once than the ring holds, with responses larger than it holds: nobody is stuck. */
START_TEST(full_rings)
{
	static struct virtio_gpgpu_packet_desc descs[8192];
	uint64_t tickets[100];

	start_session();
	make_worker_objects();
	make_programs(c);
	packet_slots(c, descs, 8192);
	for (int i = 0; i < 100; i++)
		tickets[i] = wire_packets(c, CTX, next_point(), 0, PROG_PASS, BUF_SHM, 0, SLOT, descs, 8192);
	for (int i = 0; i < 100; i++)
		check_ok(wire_status(c, tickets[i]));
	/* Many small ones, so that the positions wrap around at every alignment. */
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 100; i++)
			tickets[i] = wire_nop(c, CTX, next_point());
		for (int i = 0; i < 100; i++)
			check_ok(wire_status(c, tickets[i]));
	}
	stop_worker();
}
END_TEST

START_TEST(pause_and_resume)
{
	uint64_t ticket;
	struct wire_answer *a;

	start_session();
	make_worker_objects();
	for (int i = 0; i < 20; i++) {
		check_ok(plain(GPGPU_MSG_PAUSE));
		ticket = wire_fill(c, CTX, next_point(), BUF_SHM, 0, 4096, (uint32_t)i);
		sleep_ms(5);
		a = wire_poll(c, ticket);
		ck_assert_ptr_null(a);
		check_ok(plain(GPGPU_MSG_RESUME));
		check_ok(wire_status(c, ticket));
		ck_assert_uint_eq(*(uint32_t *)wire_shm(c), (uint32_t)i);
	}
	stop_worker();
}
END_TEST

/* Requests that are still in the ring are answered too, paused or not. */
START_TEST(reset_answers_all)
{
	for (int paused = 0; paused < 2; paused++) {
		struct virtio_gpgpu_fence never = { .ctx_id = 0, .timeline = 63, .seq = 1 };
		uint64_t tickets[200];
		int cancelled = 0;

		start_session();
		make_worker_objects();
		if (paused)
			check_ok(plain(GPGPU_MSG_PAUSE));
		for (uint32_t i = 0; i < 200; i++)
			tickets[i] = wire_nop(c, CTX, (struct wire_point){ i % 50, i + 1, &never, 1 });
		check_ok(reset(2));
		for (int i = 0; i < 200; i++) {
			struct wire_answer *a = wire_poll(c, tickets[i]);

			ck_assert_ptr_nonnull(a);
			ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_RESET);
			cancelled += a->status == VIRTIO_GPGPU_S_CANCELLED;
			wire_answer_free(a);
		}
		ck_assert_int_eq(cancelled, 200);
		if (paused)
			check_ok(plain(GPGPU_MSG_RESUME));
		make_worker_objects();
		check_ok(wire_status(c, wire_nop(c, CTX, (struct wire_point){ 1, 1, NULL, 0 })));
		stop_worker();
	}
}
END_TEST

START_TEST(quota_message)
{
	struct gpgpu_msg_quota quota = { .weight = 300, .cap = 2000, .memory_limit = 1 << 20 };
	struct virtio_gpgpu_resp_stats stats;

	start_session();
	ck_assert_int_eq(wire_message(sock, GPGPU_MSG_QUOTA, 1, &quota, sizeof(quota)), 0);
	check_ok(wire_stats(c, &stats));
	ck_assert_uint_eq(stats.weight, 300);
	ck_assert_uint_eq(stats.cap, 2000);
	ck_assert_uint_eq(stats.memory_limit, 1 << 20);
	check_status(wire_buffer(c, 0, 1, VIRTIO_GPGPU_MEM_DEVICE, 0, 2 << 20), NO_MEMORY);
	stop_worker();
}
END_TEST

START_TEST(two_sessions)
{
	struct wire_client *second;

	start_session();
	second = wire_client_worker(sock, 2, SHM_SIZE, RING_SIZE);
	make_worker_objects();
	/* Ids and memory are each session's own. */
	check_ok(wire_buffer(second, 0, BUF_SHM, VIRTIO_GPGPU_MEM_SHM, 0, SHM_SIZE));
	check_ok(wire_status(c, wire_fill(c, CTX, next_point(), BUF_SHM, 0, 4096, 1)));
	check_ok(wire_status(second, wire_fill(second, 0, next_point(), BUF_SHM, 0, 4096, 2)));
	ck_assert_uint_eq(*(uint32_t *)wire_shm(c), 1);
	ck_assert_uint_eq(*(uint32_t *)wire_shm(second), 2);
	wire_client_free(second);
	check_ok(wire_status(c, wire_nop(c, CTX, next_point())));
	stop_worker();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker");
	TCase *tc = tcase_create("worker");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, whole_path);
	tcase_add_test(tc, inherits_nothing);
	tcase_add_test(tc, full_rings);
	tcase_add_test(tc, pause_and_resume);
	tcase_add_test(tc, reset_answers_all);
	tcase_add_test(tc, quota_message);
	tcase_add_test(tc, two_sessions);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
