/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_jobs.c - jobs: what they compute, in which order, fences, cancelling, limits.
 */
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

static const uint32_t one[3] = { 1, 1, 1 };

static uint32_t cancel(struct wire_point at)
{
	struct virtio_gpgpu_req_job_cancel r = { .timeline = at.timeline, .seq = at.seq };
	struct wire_answer *a;
	uint32_t status;

	wire_hdr(&r, VIRTIO_GPGPU_CMD_JOB_CANCEL, CTX, sizeof(r));
	a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
	status = a->status;
	wire_answer_free(a);
	return status;
}

START_TEST(compute)
{
	static const uint32_t counts[] = { 1, 63, 64, 65, 1000, 100000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t *out = (uint64_t *)(wire_shm(client) + 4096);
		struct wire_answer *a;

		memset(out, 0xff, counts[i] * 8 + 8);
		a = wire_wait(client, dispatch_add(CTX, next_point(), counts[i], 4096, 77));
		check_ok(a->status);
		ck_assert_uint_eq(a->resp->job.fault_count, 0);
		ck_assert_uint_gt(a->resp->job.slices, 0);
		ck_assert_uint_gt(a->resp->job.device_ns, 0);
		ck_assert_uint_eq(a->num_ranges, 1);
		ck_assert_uint_eq(a->ranges[0].offset, 4096);
		ck_assert_uint_eq(a->ranges[0].size, counts[i] * 8ull);
		ck_assert_uint_eq(first_wrong(out, counts[i], 77), counts[i]);
		ck_assert_uint_eq(out[counts[i]], UINT64_MAX);
		wire_answer_free(a);
	}
}
END_TEST

/* Items that reach outside their buffer fault, their neighbours go on. */
START_TEST(out_of_bounds)
{
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, 4096, 100 * 8 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, 5, 0 },
	};
	uint64_t *out = (uint64_t *)(wire_shm(client) + 4096);
	struct wire_answer *a;

	memset(out, 0, 2000 * 8);
	a = wire_wait(client, wire_dispatch(client, CTX, next_point(), PROG_ADD, (uint32_t[]){ 1000, 1, 1 },
					    one, args, 2));
	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	ck_assert_uint_eq(a->detail, 100);
	ck_assert_uint_eq(a->resp->job.fault_count, 900);
	for (uint32_t n = 0; n < 2000; n++)
		ck_assert_uint_eq(out[n], n < 100 ? n + 5 : 0);
	wire_answer_free(a);
}
END_TEST

START_TEST(copy_and_fill)
{
	uint8_t *shm = wire_shm(client);
	struct wire_answer *a;

	for (uint32_t i = 0; i < 300000; i++)
		shm[i] = (uint8_t)(i * 7 + i / 251);
	check_ok(wire_status(client,
			     wire_copy(client, CTX, next_point_on(1), BUF_DEV, 11, BUF_SHM, 3, 299997)));
	a = wire_wait(client,
		      wire_copy(client, CTX, next_point_on(1), BUF_SHM, 1000001, BUF_DEV, 11, 299997));
	check_ok(a->status);
	ck_assert_uint_eq(a->num_ranges, 1);
	ck_assert_uint_eq(a->ranges[0].offset, 1000001);
	ck_assert_uint_eq(a->ranges[0].size, 299997);
	wire_answer_free(a);
	ck_assert_mem_eq(shm + 1000001, shm + 3, 299997);
	ck_assert_uint_eq(shm[1000000], 0);
	ck_assert_uint_eq(shm[1000001 + 299997], 0);

	check_ok(wire_status(client,
			     wire_fill(client, CTX, next_point(), BUF_SHM, 2000004, 200000, 0x04030201)));
	ck_assert_uint_eq(shm[2000003], 0);
	for (uint32_t i = 0; i < 200000; i++)
		ck_assert_uint_eq(shm[2000004 + i], i % 4 + 1);
	ck_assert_uint_eq(shm[2200004], 0);
	/* To device memory: nothing of the guest's is dirty. */
	a = wire_wait(client, wire_fill(client, CTX, next_point(), BUF_DEV, 0, 4096, 1));
	check_ok(a->status);
	ck_assert_uint_eq(a->num_ranges, 0);
	wire_answer_free(a);
	/* Onto itself. */
	check_status(wire_status(client, wire_copy(client, CTX, next_point(), BUF_SHM, 0, BUF_SHM, 100, 101)),
		     INVALID);
	check_ok(wire_status(client, wire_copy(client, CTX, next_point(), BUF_SHM, 0, BUF_SHM, 100, 100)));
}
END_TEST

START_TEST(packets)
{
	static struct virtio_gpgpu_packet_desc descs[5000];
	struct virtio_gpgpu_resp_packets *resp;
	struct virtio_gpgpu_packet_result *results;
	struct wire_answer *a;

	packet_slots(client, descs, 5000);
	a = wire_wait(client,
		      wire_packets(client, CTX, next_point(), 0, PROG_PASS, BUF_SHM, 0, SLOT, descs, 5000));
	check_ok(a->status);
	resp = &a->resp->packets;
	results = (void *)(resp + 1);
	ck_assert_uint_eq(a->length, sizeof(*resp) + 5000 * sizeof(*results));
	ck_assert_uint_eq(resp->verdicts[XDP_PASS], 5000);
	ck_assert_uint_eq(resp->bytes, 5000 * PACKET_LEN);
	for (int i = 0; i < 5000; i++) {
		ck_assert_uint_eq(results[i].verdict, XDP_PASS);
		ck_assert_uint_eq(results[i].data_off, HEADROOM);
		ck_assert_uint_eq(results[i].data_len, PACKET_LEN);
	}
	ck_assert_uint_eq(a->num_ranges, 1);
	ck_assert_uint_eq(a->ranges[0].size, 5000 * SLOT);
	wire_answer_free(a);
}
END_TEST

/* A packet that never ends is aborted; the others are not. */
START_TEST(packet_without_end)
{
	struct virtio_gpgpu_packet_desc descs[3];
	struct virtio_gpgpu_packet_result *results;
	struct wire_answer *a;

	packet_slots(client, descs, 3);
	a = wire_wait(client,
		      wire_packets(client, CTX, next_point(), 0, PROG_XDP_SPIN, BUF_SHM, 0, SLOT, descs, 3));
	check_ok(a->status);
	results = (void *)(&a->resp->packets + 1);
	ck_assert_uint_eq(a->resp->job.fault_count, 3);
	ck_assert_uint_eq(a->resp->packets.verdicts[XDP_ABORTED], 3);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(results[i].fault, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	wire_answer_free(a);
}
END_TEST

static uint64_t seen_before(uint32_t packet)
{
	uint64_t n;

	memcpy(&n, wire_shm(client) + (uint64_t)packet * SLOT + HEADROOM + 20, 8);
	return n;
}

START_TEST(order_all)
{
	static struct virtio_gpgpu_packet_desc descs[8000];
	struct wire_answer *a;

	packet_slots(client, descs, 8000);
	a = wire_wait(client, wire_packets(client, CTX, next_point(), VIRTIO_GPGPU_PACKETS_ORDER_ALL,
					   PROG_COUNT, BUF_SHM, 0, SLOT, descs, 8000));
	check_ok(a->status);
	ck_assert_uint_eq(a->resp->packets.verdicts[XDP_DROP], 8000);
	for (uint32_t i = 0; i < 8000; i++)
		ck_assert_uint_eq(seen_before(i), i);
	wire_answer_free(a);
}
END_TEST

/* Four flows, told apart by a MAC address, each with a counter of its own: each in order. */
START_TEST(order_flow)
{
	static struct virtio_gpgpu_packet_desc descs[8000];
	uint64_t counts[4] = { 0 };
	struct wire_answer *a;

	packet_slots(client, descs, 8000);
	for (uint32_t i = 0; i < 8000; i++) {
		uint8_t *packet = wire_shm(client) + (uint64_t)i * SLOT + HEADROOM;

		packet[14] = (uint8_t)(i * 2654435761u >> 16) % 4;
		packet[3] = packet[14];
	}
	a = wire_wait(client, wire_packets(client, CTX, next_point(), VIRTIO_GPGPU_PACKETS_ORDER_FLOW,
					   PROG_COUNT, BUF_SHM, 0, SLOT, descs, 8000));
	check_ok(a->status);
	ck_assert_uint_eq(a->resp->packets.verdicts[XDP_DROP], 8000);
	for (uint32_t i = 0; i < 8000; i++) {
		uint32_t flow = wire_shm(client)[(uint64_t)i * SLOT + HEADROOM + 14];

		ck_assert_uint_eq(seen_before(i), counts[flow]++);
	}
	wire_answer_free(a);
}
END_TEST

START_TEST(timeline_in_order)
{
	uint64_t tickets[200];

	/* The same words, written again and again: the last one wins only if they run in order. */
	for (int i = 0; i < 200; i++)
		tickets[i] = wire_fill(client, CTX, next_point_on(3), BUF_SHM, 0, 256 << 10, (uint32_t)i);
	for (int i = 0; i < 200; i++)
		check_ok(wire_status(client, tickets[i]));
	for (int i = 0; i < 65536; i++)
		ck_assert_uint_eq(((uint32_t *)wire_shm(client))[i], 199);
}
END_TEST

START_TEST(sequences)
{
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 50, 10, NULL, 0 })));
	check_status(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 50, 10, NULL, 0 })),
		     INVALID);
	check_status(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 50, 9, NULL, 0 })),
		     INVALID);
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 50, UINT64_MAX, NULL, 0 })));
	check_status(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 50, 11, NULL, 0 })),
		     INVALID);
	/* Other timelines and contexts are not concerned. */
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 51, 1, NULL, 0 })));
	check_ok(wire_status(client, wire_nop(client, OTHER_CTX, (struct wire_point){ 50, 1, NULL, 0 })));
}
END_TEST

/* A fence on a point that comes later, in another context, holds the job until then. */
START_TEST(fences)
{
	struct virtio_gpgpu_fence fences[] = {
		{ .ctx_id = OTHER_CTX, .timeline = 5, .seq = 3 },
		{ .ctx_id = 0, .timeline = 6, .seq = 1 },
	};
	uint64_t held = wire_nop(client, CTX, (struct wire_point){ 60, 1, fences, 2 });
	uint64_t behind = wire_nop(client, CTX, (struct wire_point){ 60, 2, NULL, 0 });

	check_ok(wire_status(client, wire_nop(client, OTHER_CTX, (struct wire_point){ 5, 2, NULL, 0 })));
	ck_assert(still_waits(held));
	check_ok(wire_status(client, wire_nop(client, 0, (struct wire_point){ 6, 1, NULL, 0 })));
	ck_assert(still_waits(held));
	ck_assert(still_waits(behind));
	/* A later point of the same timeline will do. */
	check_ok(wire_status(client, wire_nop(client, OTHER_CTX, (struct wire_point){ 5, 4, NULL, 0 })));
	check_ok(wire_status(client, held));
	check_ok(wire_status(client, behind));
}
END_TEST

/* A thousand jobs that each wait for the one before, the first for something that comes last. */
START_TEST(long_chain)
{
	uint64_t tickets[1000];

	for (uint32_t i = 0; i < 1000; i++) {
		struct virtio_gpgpu_fence fence = { .ctx_id = CTX, .timeline = 62, .seq = 1 };

		if (i)
			fence = (struct virtio_gpgpu_fence){ .ctx_id = CTX,
							     .timeline = (i - 1) % 60,
							     .seq = (i - 1) / 60 + 1 };
		tickets[i] = wire_nop(client, CTX, (struct wire_point){ i % 60, i / 60 + 1, &fence, 1 });
	}
	ck_assert(still_waits(tickets[0]));
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 62, 1, NULL, 0 })));
	for (int i = 0; i < 1000; i++)
		check_ok(wire_status(client, tickets[i]));
}
END_TEST

/* Two that wait for each other, one that waits for what never comes, and one for itself. */
START_TEST(fences_without_end)
{
	struct virtio_gpgpu_fence a = { .ctx_id = CTX, .timeline = 2, .seq = 1 };
	struct virtio_gpgpu_fence b = { .ctx_id = CTX, .timeline = 1, .seq = 1 };
	struct virtio_gpgpu_fence never = { .ctx_id = CTX, .timeline = 3, .seq = 100 };
	struct virtio_gpgpu_fence self = { .ctx_id = CTX, .timeline = 5, .seq = 1 };
	uint64_t start = now_ns(), tickets[] = {
		wire_nop(client, CTX, (struct wire_point){ 1, 1, &a, 1 }),
		wire_nop(client, CTX, (struct wire_point){ 2, 1, &b, 1 }),
		wire_nop(client, CTX, (struct wire_point){ 4, 1, &never, 1 }),
	};
	struct wire_answer *answer;

	check_status(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 5, 1, &self, 1 })),
		     INVALID);
	answer = wire_wait(client, tickets[2]);
	check_status(answer->status, TIMEOUT);
	ck_assert_uint_eq(answer->reason, VIRTIO_GPGPU_R_FENCE);
	wire_answer_free(answer);
	/* One of the two times out, and with that the other's fence has been reached. */
	for (int i = 0; i < 2; i++) {
		uint32_t status = wire_status(client, tickets[i]);

		ck_assert(status == VIRTIO_GPGPU_S_TIMEOUT || status == VIRTIO_GPGPU_S_OK);
	}
	ck_assert_uint_gt(now_ns() - start, 9000000000ull);
	ck_assert_uint_lt(now_ns() - start, 15000000000ull);
}
END_TEST

/*
 * What runs keeps those waiting that wait for it, over any number of others; not those that wait for more than
 * that, be it a point that is still to be submitted, another fence, or one another.
 */
START_TEST(fences_on_what_runs)
{
	struct virtio_gpgpu_fence beyond = { .ctx_id = CTX, .timeline = 9, .seq = 1000 };
	struct virtio_gpgpu_fence and_never[] = {
		{ .ctx_id = CTX, .timeline = 9, .seq = 1 },
		{ .ctx_id = CTX, .timeline = 63, .seq = 5 },
	};
	struct virtio_gpgpu_fence and_other[] = {
		{ .ctx_id = CTX, .timeline = 9, .seq = 1 },
		{ .ctx_id = CTX, .timeline = 11, .seq = 1 },
	};
	uint64_t running = spin(client, (struct wire_point){ 9, 1, NULL, 0 }, 1 << 30);
	uint64_t chain[40],
		start = now_ns(),
		lost[] = {
			wire_nop(client, CTX, (struct wire_point){ 62, 1, &beyond, 1 }),
			wire_nop(client, CTX, (struct wire_point){ 61, 1, and_never, 2 }),
		/* Waits for 61, which is answered in the same round. */
			wire_nop(client, CTX,
				 (struct wire_point){ 11, 1, &(struct virtio_gpgpu_fence){ CTX, 61, 1 }, 1 }),
			wire_nop(client, CTX, (struct wire_point){ 12, 1, and_other, 2 }),
		};

	for (uint32_t i = 0; i < 40; i++) {
		struct virtio_gpgpu_fence fences[] = {
			{ .ctx_id = CTX, .timeline = i ? 20 + i - 1 : 9, .seq = 1 },
			{ .ctx_id = CTX, .timeline = i > 1 ? 20 + i - 2 : 9, .seq = 1 },
		};

		chain[i] = wire_nop(client, CTX, (struct wire_point){ 20 + i, 1, fences, 2 });
	}
	check_status(wire_status(client, lost[0]), TIMEOUT);
	check_status(wire_status(client, lost[1]), TIMEOUT);
	ck_assert_uint_gt(now_ns() - start, 9000000000ull);
	ck_assert_uint_lt(now_ns() - start, 15000000000ull);
	wire_answer_free(wire_wait(client, lost[2]));
	sleep_ms(1500);
	ck_assert(still_waits(running));
	for (int i = 0; i < 40; i++)
		ck_assert(still_waits(chain[i]));
	check_ok(cancel((struct wire_point){ 9, 1, NULL, 0 }));
	check_status(wire_status(client, running), CANCELLED);
	for (int i = 0; i < 40; i++)
		check_ok(wire_status(client, chain[i]));
	wire_answer_free(wire_wait(client, lost[3]));
}
END_TEST

START_TEST(cancelling)
{
	struct wire_point at = next_point_on(7), behind = next_point_on(7), later = next_point_on(7);
	uint64_t running = spin(client, at, 1 << 30), queued, rest, start;
	struct wire_answer *a;

	queued = spin(client, behind, 1 << 30);
	rest = wire_nop(client, CTX, later);
	sleep_ms(20);
	start = now_ns();
	check_ok(cancel(behind));
	a = wire_wait(client, running);
	check_status(a->status, CANCELLED);
	ck_assert_uint_gt(a->resp->job.device_ns, 0);
	wire_answer_free(a);
	check_status(wire_status(client, queued), CANCELLED);
	check_ok(wire_status(client, rest));
	ck_assert_uint_lt(now_ns() - start, 5000000000ull);
	/* They have ended: nothing happens. */
	check_ok(cancel(behind));
}
END_TEST

START_TEST(context_goes)
{
	struct virtio_gpgpu_fence never = { .ctx_id = OTHER_CTX, .timeline = 9, .seq = 1 };
	struct virtio_gpgpu_fence on_ctx = { .ctx_id = CTX, .timeline = 8, .seq = 1000 };
	uint64_t running = spin(client, next_point_on(8), 1 << 30);
	uint64_t held = wire_nop(client, CTX, (struct wire_point){ 10, 1, &never, 1 });
	uint64_t other = wire_nop(client, OTHER_CTX, (struct wire_point){ 1, 1, &on_ctx, 1 });

	sleep_ms(10);
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, CTX, NULL));
	check_status(wire_status(client, running), CANCELLED);
	check_status(wire_status(client, held), CANCELLED);
	/* Waiting for a context that is gone makes no sense. */
	check_ok(wire_status(client, other));
	check_status(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, CTX, NULL), NOT_FOUND);
	/* The id may be used again, with new timelines. */
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, CTX, NULL));
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 8, 1, NULL, 0 })));
}
END_TEST

/* A context that comes later with the same id has other points. */
START_TEST(context_comes_again)
{
	struct virtio_gpgpu_fence on_other[] = {
		{ .ctx_id = OTHER_CTX, .timeline = 3, .seq = 7 },
		{ .ctx_id = CTX, .timeline = 14, .seq = 1 },
	};
	struct virtio_gpgpu_fence never = { .ctx_id = CTX, .timeline = 13, .seq = 1 };
	uint64_t first = wire_nop(client, CTX, (struct wire_point){ 15, 1, &never, 1 });
	uint64_t behind = wire_nop(client, CTX, (struct wire_point){ 15, 2, on_other, 1 });
	uint64_t beside = wire_nop(client, CTX, (struct wire_point){ 16, 1, on_other, 2 });

	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, OTHER_CTX, NULL));
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_CREATE, OTHER_CTX, NULL));
	ck_assert(still_waits(behind));
	ck_assert(still_waits(beside));
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 13, 1, NULL, 0 })));
	check_ok(wire_status(client, first));
	check_ok(wire_status(client, behind));
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 14, 1, NULL, 0 })));
	check_ok(wire_status(client, beside));
}
END_TEST

/* Jobs that wait cost those nothing that do not, however many they are. */
START_TEST(many_wait)
{
	enum { CONTEXTS = 500, TIMELINES = 60, HELD = CONTEXTS * TIMELINES, OTHERS = 10000 };
	static uint64_t tickets[HELD];
	struct gpgpu_session_options options = {
		.name = "many",
		.features = 3,
		.limits = { .max_contexts = 1000, .max_jobs = 65536 },
	};
	struct wire_client *c = wire_client_engine(engine, SHM_SIZE, &options);
	struct virtio_gpgpu_fence fences[VIRTIO_GPGPU_MAX_FENCES];
	uint64_t start;

	for (uint32_t i = 0; i < VIRTIO_GPGPU_MAX_FENCES; i++)
		fences[i] = (struct virtio_gpgpu_fence){ .ctx_id = 0, .timeline = 1 + i % 2, .seq = 1 + i };
	for (uint32_t i = 0; i < CONTEXTS; i++)
		check_ok(wire_simple(c, VIRTIO_GPGPU_CMD_CTX_CREATE, 1 + i, NULL));
	start = now_ns();
	for (uint32_t i = 0; i < HELD; i++)
		tickets[i] =
			wire_nop(c, 1 + i / TIMELINES,
				 (struct wire_point){ i % TIMELINES, 1, fences, VIRTIO_GPGPU_MAX_FENCES });
	for (uint32_t i = 0; i < OTHERS; i++)
		check_ok(wire_status(c, wire_nop(c, 0, (struct wire_point){ 0, 1 + i, NULL, 0 })));
	for (uint32_t i = 0; i < VIRTIO_GPGPU_MAX_FENCES; i++) {
		check_ok(wire_status(c, wire_nop(c, 0, (struct wire_point){ 1 + i % 2, 1 + i, NULL, 0 })));
		if (i + 1 < VIRTIO_GPGPU_MAX_FENCES)
			ck_assert_ptr_null(wire_poll(c, tickets[HELD - 1]));
	}
	for (uint32_t i = 0; i < HELD; i++)
		check_ok(wire_status(c, tickets[i]));
	ck_assert_uint_lt(now_ns() - start, 8000000000ull);
	wire_client_free(c);
}
END_TEST

START_TEST(busy_buffer)
{
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_DEV, 0, 4096 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, 5, 0 },
	};
	struct virtio_gpgpu_fence never = { .ctx_id = OTHER_CTX, .timeline = 9, .seq = 1 };
	struct wire_point at = { 11, 1, &never, 1 };
	uint64_t held = wire_dispatch(client, CTX, at, PROG_ADD, (uint32_t[]){ 8, 1, 1 }, one, args, 2);

	check_status(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, BUF_DEV, NULL), BUSY);
	/* The job keeps the program, whose id is free at once. */
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, PROG_ADD, NULL));
	check_status(wire_id(client, VIRTIO_GPGPU_CMD_PROG_INFO, CTX, PROG_ADD, NULL), NOT_FOUND);
	check_ok(wire_status(client, wire_nop(client, OTHER_CTX, (struct wire_point){ 9, 1, NULL, 0 })));
	check_ok(wire_status(client, held));
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, BUF_DEV, NULL));
}
END_TEST

START_TEST(job_limit)
{
	struct virtio_gpgpu_fence never = { .ctx_id = OTHER_CTX, .timeline = 9, .seq = 1 };
	uint64_t tickets[1024];
	struct wire_answer *a;

	for (uint32_t i = 0; i < 1024; i++)
		tickets[i] = wire_nop(client, CTX, (struct wire_point){ 0, i + 1, &never, 1 });
	a = wire_wait(client, wire_nop(client, CTX, (struct wire_point){ 0, 1025, NULL, 0 }));
	check_status(a->status, LIMIT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_JOB_LIMIT);
	ck_assert_uint_eq(a->detail, 1024);
	wire_answer_free(a);
	check_ok(cancel((struct wire_point){ 0, 1024, NULL, 0 }));
	for (int i = 0; i < 1024; i++)
		check_status(wire_status(client, tickets[i]), CANCELLED);
	check_ok(wire_status(client, wire_nop(client, CTX, (struct wire_point){ 0, 1025, NULL, 0 })));
}
END_TEST

/* Large jobs that wait take no more of the host than a bound. */
START_TEST(job_bytes)
{
	struct virtio_gpgpu_fence never = { .ctx_id = OTHER_CTX, .timeline = 9, .seq = 1 };
	static struct virtio_gpgpu_packet_desc descs[16384];
	uint64_t tickets[300];
	uint32_t i, accepted = 0;

	packet_slots(client, descs, 16384);
	for (i = 0; i < 300; i++)
		tickets[i] = wire_packets(client, CTX, (struct wire_point){ 0, i + 1, &never, 1 }, 0,
					  PROG_PASS, BUF_SHM, 0, SLOT, descs, 16384);
	check_ok(cancel((struct wire_point){ 0, 1, NULL, 0 }));
	for (i = 0; i < 300; i++) {
		struct wire_answer *a = wire_poll(client, tickets[i]);

		if (a && a->status == VIRTIO_GPGPU_S_LIMIT)
			ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_JOB_LIMIT);
		else
			accepted++;
		if (a)
			tickets[i] = 0;
		wire_answer_free(a);
	}
	ck_assert_uint_gt(accepted, 50);
	ck_assert_uint_lt(accepted, 150);
	check_ok(wire_simple(client, VIRTIO_GPGPU_CMD_CTX_DESTROY, CTX, NULL));
	for (i = 0; i < 300; i++)
		if (tickets[i])
			check_status(wire_status(client, tickets[i]), CANCELLED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("jobs");
	TCase *tc = tcase_create("jobs");

	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, compute);
	tcase_add_test(tc, out_of_bounds);
	tcase_add_test(tc, copy_and_fill);
	tcase_add_test(tc, packets);
	tcase_add_test(tc, packet_without_end);
	tcase_add_test(tc, order_all);
	tcase_add_test(tc, order_flow);
	tcase_add_test(tc, timeline_in_order);
	tcase_add_test(tc, sequences);
	tcase_add_test(tc, fences);
	tcase_add_test(tc, long_chain);
	tcase_add_test(tc, fences_without_end);
	tcase_add_test(tc, fences_on_what_runs);
	tcase_add_test(tc, cancelling);
	tcase_add_test(tc, context_goes);
	tcase_add_test(tc, context_comes_again);
	tcase_add_test(tc, many_wait);
	tcase_add_test(tc, busy_buffer);
	tcase_add_test(tc, job_limit);
	tcase_add_test(tc, job_bytes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
