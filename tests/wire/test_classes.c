/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_classes.c - classes of bugs that guest-facing device code has had, as far as the other files here do not
 * send them yet (tests/README.md has the list).
 */
#include <string.h>
#include "fixture.h"

static uint64_t memory(void)
{
	struct virtio_gpgpu_resp_stats stats;

	check_ok(wire_stats(client, &stats));
	return stats.memory;
}

static void check_zero(const void *bytes, size_t from, size_t to)
{
	for (; from < to; from++)
		ck_assert_uint_eq(((const uint8_t *)bytes)[from], 0);
}

/* Every byte of an answer was meant: names, messages and padding are zero behind what they say. */
START_TEST(answers_are_filled)
{
	const struct bpf_insn falls[] = { MOV(0, 2) };
	struct {
		struct virtio_gpgpu_req_map_op op;
		uint8_t key[8];
	} r = { .op = { .id = 500, .key_size = 4 } };
	struct virtio_gpgpu_caps caps;
	struct wire_answer *a;
	uint8_t value[8] = { 0xff, 0xff, 0xff };
	uint32_t key = 0;

	check_ok(wire_caps(client, &caps));
	check_zero(caps.device_name, strlen((char *)caps.device_name), sizeof(caps.device_name));
	check_zero(caps.target, strlen((char *)caps.target), sizeof(caps.target));
	ck_assert_uint_eq(caps.reserved, 0);

	/* Memory that was somebody's and is not zero. */
	for (uint32_t i = 0; i < 20; i++) {
		check_ok(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_HASH, 4, 3, 4, 0));
		check_ok(wire_map_op(client, VIRTIO_GPGPU_CMD_MAP_UPDATE, CTX, 500, &key, 4, value, 3,
				     BPF_ANY, NULL));
		wire_hdr(&r, VIRTIO_GPGPU_CMD_MAP_LOOKUP, CTX, sizeof(r));
		a = wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		check_ok(a->status);
		ck_assert_uint_eq(a->resp->map_op.size, 3);
		ck_assert_uint_eq(a->resp->map_op.reserved, 0);
		ck_assert_uint_eq(a->length, sizeof(a->resp->map_op) + 8);
		ck_assert_mem_eq(&a->resp->map_op + 1, value, 8);
		wire_answer_free(a);
		check_status(load_prog(client, 500, VIRTIO_GPGPU_PROG_XDP, falls, 1, NULL, 0, &a), REJECTED);
		ck_assert_uint_eq(a->length, sizeof(a->resp->prog));
		ck_assert_uint_ne(a->resp->prog.message[0], 0);
		check_zero(a->resp->prog.message,
			   strnlen((char *)a->resp->prog.message, VIRTIO_GPGPU_MESSAGE - 1),
			   VIRTIO_GPGPU_MESSAGE);
		ck_assert_uint_eq(a->resp->prog.code_bytes, 0);
		wire_answer_free(a);
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_MAP_DESTROY, CTX, 500, NULL));
	}
}
END_TEST

/* A job that turns out to be wrong once half of it is built holds nothing of that half. */
START_TEST(half_built)
{
	static const uint32_t one[3] = { 1, 1, 1 };
	struct virtio_gpgpu_packet_desc descs[64];
	struct virtio_gpgpu_fence fences[8];
	struct virtio_gpgpu_arg args[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, 500, 0, 4096 },
		{ VIRTIO_GPGPU_ARG_BUFFER, 500, 0, 4096 }, /* the program's is a value */
	};
	struct wire_point at;
	uint64_t before;

	check_ok(wire_buffer(client, CTX, 500, VIRTIO_GPGPU_MEM_DEVICE, 0, 64 * SLOT));
	before = memory();
	packet_slots(client, descs, 64);
	descs[63].data_len = 13;
	for (int i = 0; i < 8; i++)
		fences[i] = (struct virtio_gpgpu_fence){ .ctx_id = CTX, .timeline = 60, .seq = 100 + i };
	fences[7].timeline = 64;
	for (uint32_t i = 0; i < 1000; i++) {
		check_status(wire_status(client, wire_dispatch(client, CTX, next_point(), PROG_ADD, one, one,
							       args, 2)),
			     INVALID);
		check_status(wire_status(client, wire_copy(client, CTX, next_point(), 500, 0, 4711, 0, 64)),
			     NOT_FOUND);
		check_status(wire_status(client, wire_packets(client, CTX, next_point(), 0, PROG_PASS, 500, 0,
							      SLOT, descs, 64)),
			     INVALID);
		at = next_point();
		at.fences = fences;
		at.num_fences = 8;
		check_status(wire_status(client, wire_nop(client, CTX, at)), INVALID);
	}
	ck_assert_uint_eq(memory(), before);
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_BUFFER_DESTROY, CTX, 500, NULL));
	/* Nor have their points been taken: what follows on the same timelines goes. */
	check_ok(wire_status(client, wire_nop(client, CTX, next_point())));
}
END_TEST

/* Sizes whose product is small, or nothing, in 32 bits. */
START_TEST(map_size_overflow)
{
	uint64_t before = memory();

	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, 1 << 16, 1 << 16, 0), LIMIT);
	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, UINT32_MAX, 0), LIMIT);
	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 1 << 15, 1 << 16, 0),
		     LIMIT);
	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_HASH, 512, 1 << 16, 1 << 20, 0), LIMIT);
	check_status(wire_map(client, CTX, 500, VIRTIO_GPGPU_MAP_LPM_TRIE, 260, 1 << 16, 1 << 16, 0), LIMIT);
	ck_assert_uint_eq(memory(), before);
}
END_TEST

/* An id is taken from the request that makes the object, not from when it is made. */
START_TEST(id_in_the_making)
{
	const struct bpf_insn pass[] = { MOV(0, XDP_PASS), EXIT() };
	struct virtio_gpgpu_req_prog_create r = {
		.id = 500,
		.kind = VIRTIO_GPGPU_PROG_XDP,
		.num_insns = 2,
		.insns_buffer = BUF_SHM,
		.insns_offset = CODE_OFFSET,
	};

	for (int i = 0; i < 20; i++) {
		uint64_t first;

		memcpy(wire_shm(client) + CODE_OFFSET, pass, sizeof(pass));
		wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, CTX, sizeof(r));
		first = wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
		check_status(wire_status(client,
					 wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096)),
			     EXISTS);
		check_ok(wire_status(client, first));
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 500, NULL));
	}
}
END_TEST

/* A kernel without an end takes its share, and no more than that: other contexts have theirs. */
START_TEST(endless_kernel)
{
	struct virtio_gpgpu_req_job_cancel r = { .timeline = 20 };
	struct wire_point at = next_point_on(20);
	uint64_t ticket = spin(client, at, UINT32_MAX);

	sleep_ms(20);
	for (uint32_t i = 0; i < 10; i++)
		check_ok(wire_status(client, wire_fill(client, OTHER_CTX, next_point_on(21), BUF_SHM, 0,
						       1 << 20, i)));
	ck_assert(still_waits(ticket));
	r.seq = at.seq;
	wire_hdr(&r, VIRTIO_GPGPU_CMD_JOB_CANCEL, CTX, sizeof(r));
	wire_answer_free(wire_call(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096));
	check_status(wire_status(client, ticket), CANCELLED);
}
END_TEST

/* As long as may be, and values that meet everywhere: compiled or refused in bounded time, nobody waits for it. */
START_TEST(long_program)
{
	enum { INSNS = 16384 };
	static struct bpf_insn insns[INSNS];
	struct virtio_gpgpu_req_prog_create r = {
		.id = 500,
		.kind = VIRTIO_GPGPU_PROG_XDP,
		.num_insns = INSNS,
		.insns_buffer = BUF_SHM,
		.insns_offset = CODE_OFFSET,
	};
	uint64_t ticket, before = memory();
	struct wire_answer *a;
	int i;

	insns[0] = LDX(BPF_W, 1, 1, 12);
	for (i = 1; i < 10; i++)
		insns[i] = MOVR(i == 1 ? 0 : i, 1);
	for (; i < INSNS - 2; i += 2) {
		insns[i] = JMPR(BPF_JGT, i / 2 % 10, i / 3 % 10, i + 40 < INSNS ? i * 7 % 32 : 0);
		insns[i + 1] = ALUR(BPF_ADD, i / 2 % 10, i / 5 % 10);
	}
	insns[INSNS - 2] = MOV(0, XDP_PASS);
	insns[INSNS - 1] = EXIT();
	memcpy(wire_shm(client) + CODE_OFFSET, insns, sizeof(insns));
	wire_hdr(&r, VIRTIO_GPGPU_CMD_PROG_CREATE, CTX, sizeof(r));
	ticket = wire_submit(client, GPGPU_QUEUE_CONTROL, &r, sizeof(r), 4096);
	check_ok(wire_status(client, dispatch_add(CTX, next_point(), 100, 4096, 1)));
	a = wire_wait(client, ticket);
	if (a->status) {
		check_status(a->status, LIMIT);
		ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_COMPILE_LIMIT);
		ck_assert_uint_ne(a->resp->prog.message[0], 0);
	} else {
		check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, 500, NULL));
	}
	wire_answer_free(a);
	ck_assert_uint_eq(memory(), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("classes");
	TCase *tc = tcase_create("classes");

	tcase_add_checked_fixture(tc, setup_programs, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, answers_are_filled);
	tcase_add_test(tc, half_built);
	tcase_add_test(tc, map_size_overflow);
	tcase_add_test(tc, id_in_the_making);
	tcase_add_test(tc, endless_kernel);
	tcase_add_test(tc, long_program);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
