/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_groups.c - work groups: local memory, barriers, what items exchange, and what is refused.
 *
 * Kernels are written instruction by instruction; those in C are guest-driver/examples.
 */
#include <stdlib.h>
#include <string.h>
#include <gpgpu_bpf.h>
#include "fixture.h"

enum { PROG = 20, OUT = 4096, GROUP_MAX = 1024 };

#define BARRIER()     CALL(GPGPU_HELPER_barrier)
#define ID(name, dim) MOV(BPF_REG_1, dim), CALL(GPGPU_HELPER_##name)
#define LOCAL(d, offset, size) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, VIRTIO_GPGPU_LD_LOCAL, 0, offset), INSN(0, 0, 0, 0, size)

static const uint8_t args[] = { VIRTIO_GPGPU_ARG_BUFFER, VIRTIO_GPGPU_ARG_VALUE };

static uint32_t make(const struct bpf_insn *insns, size_t count, struct wire_answer **a)
{
	return load_prog(client, PROG, VIRTIO_GPGPU_PROG_GPGPU, insns, (uint32_t)count, args, 2, a);
}

#define MAKE(...)                                                                              \
	do {                                                                                   \
		const struct bpf_insn insns[] = { __VA_ARGS__ };                               \
		struct wire_answer *made;                                                      \
		uint32_t status = make(insns, sizeof(insns) / sizeof(insns[0]), &made);        \
                                                                                               \
		ck_assert_msg(!status, "refused: %s", (const char *)made->resp->prog.message); \
		wire_answer_free(made);                                                        \
	} while (0)

/* Runs PROG over @items in groups of @group; one 8-byte word of the buffer per item. */
static struct wire_answer *run(const uint32_t grid[3], const uint32_t group[3], uint64_t value)
{
	uint64_t items = (uint64_t)grid[0] * grid[1] * grid[2];
	const struct virtio_gpgpu_arg a[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, OUT, items * 8 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, value, 0 },
	};

	memset(wire_shm(client) + OUT, 0xee, items * 8);
	return wire_wait(client, wire_dispatch(client, CTX, next_point(), PROG, grid, group, a, 2));
}

static struct wire_answer *run1(uint32_t items, uint32_t group, uint64_t value)
{
	return run((uint32_t[]){ items, 1, 1 }, (uint32_t[]){ group, 1, 1 }, value);
}

static const uint64_t *out(void)
{
	return (const uint64_t *)(wire_shm(client) + OUT);
}

static void destroy(void)
{
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, PROG, NULL));
}

/* r7 = &out[global id], of a context in r6; clobbers r0 to r5, r8. */
#define OUT_POINTER                                                               \
	ID(global_id, 0), MOVR(BPF_REG_8, BPF_REG_0), ALU(BPF_LSH, BPF_REG_8, 3), \
		LDX(BPF_DW, BPF_REG_7, BPF_REG_6, 0), ALUR(BPF_ADD, BPF_REG_7, BPF_REG_8)

/* Each item writes its word of local memory, and reads that of its mirror image in the group. */
START_TEST(mirror)
{
	static const uint32_t groups[] = { 1, 2, 64, 100, GROUP_MAX };

	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, ID(local_id, 0), MOVR(BPF_REG_8, BPF_REG_0),
	     ID(global_id, 0), LOCAL(BPF_REG_9, 0, 8 * GROUP_MAX), MOVR(BPF_REG_1, BPF_REG_8),
	     ALU(BPF_LSH, BPF_REG_1, 3), ALUR(BPF_ADD, BPF_REG_1, BPF_REG_9),
	     STX(BPF_DW, BPF_REG_1, BPF_REG_0, 0), BARRIER(), ID(local_size, 0), ALU(BPF_SUB, BPF_REG_0, 1),
	     ALUR(BPF_SUB, BPF_REG_0, BPF_REG_8), ALU(BPF_LSH, BPF_REG_0, 3),
	     ALUR(BPF_ADD, BPF_REG_0, BPF_REG_9), LDX(BPF_DW, BPF_REG_0, BPF_REG_0, 0),
	     STX(BPF_DW, BPF_REG_7, BPF_REG_0, 0), MOV(BPF_REG_0, 0), EXIT());
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		uint32_t size = groups[g], count = size * 7;
		struct wire_answer *a = run1(count, size, 0);

		check_ok(a->status);
		wire_answer_free(a);
		for (uint32_t i = 0; i < count; i++)
			ck_assert_uint_eq(out()[i], i / size * size + size - 1 - i % size);
	}
	destroy();
}
END_TEST

static uint64_t bits32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static float float32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

/* out[i] = helper(f(i), second), where f(i) is the item's number times the argument. */
static void make_exchange(int32_t helper, int32_t second)
{
	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, ID(local_id, 0), LDX(BPF_DW, BPF_REG_1, BPF_REG_6, 8),
	     ALUR(BPF_MUL, BPF_REG_1, BPF_REG_0), MOV(BPF_REG_2, second), CALL(helper),
	     STX(BPF_DW, BPF_REG_7, BPF_REG_0, 0), MOV(BPF_REG_0, 0), EXIT());
}

START_TEST(exchange)
{
	struct wire_answer *a;

	make_exchange(GPGPU_HELPER_broadcast, 3);
	a = run1(40, 20, 7);
	check_ok(a->status);
	wire_answer_free(a);
	for (int i = 0; i < 40; i++)
		ck_assert_uint_eq(out()[i], 21);
	destroy();
	/* Of an item that there is not. */
	make_exchange(GPGPU_HELPER_broadcast, 20);
	a = run1(40, 20, 7);
	check_ok(a->status);
	wire_answer_free(a);
	for (int i = 0; i < 40; i++)
		ck_assert_uint_eq(out()[i], 0);
	destroy();
	make_exchange(GPGPU_HELPER_reduce, GP_ADD);
	a = run1(99, 33, 5);
	check_ok(a->status);
	wire_answer_free(a);
	for (int i = 0; i < 99; i++)
		ck_assert_uint_eq(out()[i], 5 * 32 * 33 / 2);
	destroy();
	make_exchange(GPGPU_HELPER_reduce, GP_MIN_S);
	a = run1(99, 33, (uint64_t)-5);
	check_ok(a->status);
	wire_answer_free(a);
	for (int i = 0; i < 99; i++)
		ck_assert_int_eq((int64_t)out()[i], -5 * 32);
	destroy();
	make_exchange(GPGPU_HELPER_scan, GP_ADD);
	a = run1(99, 33, 2);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 99; i++)
		ck_assert_uint_eq(out()[i], i % 33 * (i % 33 + 1));
	destroy();
	make_exchange(GPGPU_HELPER_scan_before, GP_MAX_U);
	a = run1(99, 33, 2);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 99; i++)
		ck_assert_uint_eq(out()[i], i % 33 ? (i % 33 - 1) * 2 : 0);
	destroy();
}
END_TEST

/* Floats are added in the order that the specification gives. */
START_TEST(float_order)
{
	float v[128] = { 0 };
	struct wire_answer *a;

	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, ID(local_id, 0), MOVR(BPF_REG_1, BPF_REG_0),
	     ALU(BPF_MUL, BPF_REG_1, 0x01234567),
	     INSN(BPF_ALU | BPF_AND | BPF_K, BPF_REG_1, 0, 0, 0x3fffffff), ALU(BPF_OR, BPF_REG_1, 0x3c000000),
	     MOV(BPF_REG_2, GP_FADD32), CALL(GPGPU_HELPER_reduce), STX(BPF_DW, BPF_REG_7, BPF_REG_0, 0),
	     MOV(BPF_REG_0, 0), EXIT());
	a = run1(100, 100, 0);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint32_t i = 0; i < 128; i++)
		v[i] = i < 100 ? float32((i * 0x01234567ull & 0x3fffffff) | 0x3c000000) : -0.0f;
	for (uint32_t s = 64; s; s /= 2)
		for (uint32_t i = 0; i < s; i++)
			v[i] += v[i + s];
	for (uint32_t i = 0; i < 100; i++)
		ck_assert_uint_eq(out()[i], bits32(v[0]));
	destroy();
}
END_TEST

/* In three dimensions, and ids of the group. */
START_TEST(dimensions)
{
	static const uint32_t grid[3] = { 6, 4, 6 }, group[3] = { 3, 2, 2 };
	struct wire_answer *a;

	/* out[number in the grid] = sum over the group of 1000 * local_id(0) + 100 * local_id(1) + local_id(2) */
	MAKE(MOVR(BPF_REG_6, BPF_REG_1), ID(global_id, 2), MOVR(BPF_REG_7, BPF_REG_0), ID(global_size, 1),
	     ALUR(BPF_MUL, BPF_REG_7, BPF_REG_0), ID(global_id, 1), ALUR(BPF_ADD, BPF_REG_7, BPF_REG_0),
	     ID(global_size, 0), ALUR(BPF_MUL, BPF_REG_7, BPF_REG_0), ID(global_id, 0),
	     ALUR(BPF_ADD, BPF_REG_7, BPF_REG_0), ALU(BPF_LSH, BPF_REG_7, 3),
	     LDX(BPF_DW, BPF_REG_8, BPF_REG_6, 0), ALUR(BPF_ADD, BPF_REG_7, BPF_REG_8), ID(local_id, 0),
	     MOVR(BPF_REG_8, BPF_REG_0), ALU(BPF_MUL, BPF_REG_8, 10), ID(local_id, 1),
	     ALUR(BPF_ADD, BPF_REG_8, BPF_REG_0), ALU(BPF_MUL, BPF_REG_8, 100), ID(local_id, 2),
	     ALUR(BPF_ADD, BPF_REG_8, BPF_REG_0), MOVR(BPF_REG_1, BPF_REG_8), MOV(BPF_REG_2, GP_ADD),
	     CALL(GPGPU_HELPER_reduce), MOVR(BPF_REG_8, BPF_REG_0), ID(group_id, 2),
	     ALU(BPF_LSH, BPF_REG_0, 16), ALUR(BPF_ADD, BPF_REG_8, BPF_REG_0),
	     STX(BPF_DW, BPF_REG_7, BPF_REG_8, 0), MOV(BPF_REG_0, 0), EXIT());
	a = run(grid, group, 0);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 6 * 4 * 6; i++)
		ck_assert_uint_eq(out()[i], 12000 + 600 + 6 + (i / 24 / 2 << 16));
	destroy();
}
END_TEST

/* A loop with a barrier in each turn; what is in registers and on the stack is there again. */
START_TEST(loop)
{
	struct wire_answer *a;

	/* r9: turns; the word at r10-8: a sum; in each turn each item adds what its neighbour gave */
	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, LDX(BPF_DW, BPF_REG_9, BPF_REG_6, 8), ID(local_id, 0),
	     MOVR(BPF_REG_8, BPF_REG_0), ST(BPF_DW, BPF_REG_10, -8, 5),
	     /* loop: */
	     MOVR(BPF_REG_1, BPF_REG_8), MOVR(BPF_REG_2, BPF_REG_8), ALU(BPF_XOR, BPF_REG_2, 1),
	     CALL(GPGPU_HELPER_shuffle), LDX(BPF_DW, BPF_REG_1, BPF_REG_10, -8),
	     ALUR(BPF_ADD, BPF_REG_1, BPF_REG_0), STX(BPF_DW, BPF_REG_10, BPF_REG_1, -8), BARRIER(),
	     ALU(BPF_SUB, BPF_REG_9, 1), JMP(BPF_JNE, BPF_REG_9, 0, -10),
	     LDX(BPF_DW, BPF_REG_0, BPF_REG_10, -8), STX(BPF_DW, BPF_REG_7, BPF_REG_0, 0), MOV(BPF_REG_0, 0),
	     EXIT());
	a = run1(64, 16, 1000);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 64; i++)
		ck_assert_uint_eq(out()[i], 5 + 1000 * ((i % 16) ^ 1));
	destroy();
}
END_TEST

/* One item faults in front of a barrier: the others go on, and it is reported. */
START_TEST(fault)
{
	struct wire_answer *a;

	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, ID(global_id, 0), JMP(BPF_JNE, BPF_REG_0, 21, 2),
	     LDX(BPF_DW, BPF_REG_1, BPF_REG_6, 0), LDX(BPF_DW, BPF_REG_1, BPF_REG_1, -8), BARRIER(),
	     MOV(BPF_REG_1, 1), MOV(BPF_REG_2, GP_ADD), CALL(GPGPU_HELPER_reduce),
	     STX(BPF_DW, BPF_REG_7, BPF_REG_0, 0), MOV(BPF_REG_0, 0), EXIT());
	a = run1(48, 16, 0);
	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	ck_assert_uint_eq(a->detail, 21);
	ck_assert_uint_eq(a->resp->job.fault_count, 1);
	ck_assert_uint_eq(a->resp->job.fault_insn, 11);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 48; i++)
		ck_assert_uint_eq(out()[i], i == 21 ? 0xeeeeeeeeeeeeeeee : i / 16 == 1 ? 15 : 16);
	destroy();
}
END_TEST

/* A loop without an end with a barrier in it. */
START_TEST(endless)
{
	struct wire_answer *a;

	MAKE(BARRIER(), JA(-2));
	a = run1(4, 4, 0);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->resp->job.fault_count, 4);
	wire_answer_free(a);
	destroy();
}
END_TEST

/* No group and no program sees what another one left in local memory. */
START_TEST(left_over)
{
	struct wire_answer *a;

	MAKE(MOVR(BPF_REG_6, BPF_REG_1), OUT_POINTER, ID(local_id, 0), ALU(BPF_LSH, BPF_REG_0, 3),
	     LOCAL(BPF_REG_9, 0, 1024), ALUR(BPF_ADD, BPF_REG_9, BPF_REG_0),
	     LDX(BPF_DW, BPF_REG_1, BPF_REG_9, 0), STX(BPF_DW, BPF_REG_7, BPF_REG_1, 0),
	     ST(BPF_DW, BPF_REG_9, 0, 0x5a5a5a5a), MOV(BPF_REG_0, 0), EXIT());
	for (int turn = 0; turn < 2; turn++) {
		a = run1(12800, 128, 0);
		check_ok(a->status);
		wire_answer_free(a);
		for (int i = 0; i < 12800; i++)
			ck_assert_uint_eq(out()[i], 0);
	}
	/* Behind its end. */
	a = run1(129, 129, 0);
	check_status(a->status, FAULT);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	ck_assert_uint_eq(a->detail, 128);
	ck_assert_uint_eq(a->resp->job.fault_count, 1);
	wire_answer_free(a);
	destroy();
}
END_TEST

/* Groups that are too large, or do not fill the grid. */
START_TEST(sizes)
{
	static const struct {
		uint32_t grid[3], group[3];
		bool ok;
	} rows[] = {
		{ { 2048, 1, 1 }, { 1024, 1, 1 }, true }, { { 2050, 1, 1 }, { 1025, 1, 1 }, false },
		{ { 2048, 4, 1 }, { 512, 4, 1 }, false }, { { 100, 1, 1 }, { 64, 1, 1 }, false },
		{ { 128, 1, 1 }, { 64, 1, 1 }, true },	  { { 64, 3, 1 }, { 64, 2, 1 }, false },
		{ { 64, 4, 3 }, { 8, 2, 3 }, true },	  { { 64, 1, 1 }, { 0, 1, 1 }, false },
	};

	MAKE(BARRIER(), MOV(BPF_REG_0, 0), EXIT());
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_answer *a = run(rows[i].grid, rows[i].group, 0);

		ck_assert_uint_eq(a->status, rows[i].ok ? VIRTIO_GPGPU_S_OK : VIRTIO_GPGPU_S_INVALID);
		if (!rows[i].ok) {
			ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_SIZE);
			ck_assert_uint_eq(a->detail, offsetof(struct virtio_gpgpu_req_dispatch, group));
		}
		wire_answer_free(a);
	}
	destroy();
}
END_TEST

/* Many groups on two threads, cut into slices. */
START_TEST(many)
{
	struct wire_answer *a;

	make_exchange(GPGPU_HELPER_scan, GP_ADD);
	a = run1(65536, 64, 1);
	check_ok(a->status);
	wire_answer_free(a);
	for (uint64_t i = 0; i < 65536; i++)
		ck_assert_uint_eq(out()[i], i % 64 * (i % 64 + 1) / 2);
	destroy();
}
END_TEST

/* A device of another kind has no groups yet, and says so. */
START_TEST(refused_on_gpu)
{
	const struct bpf_insn insns[] = { BARRIER(), MOV(BPF_REG_0, 0), EXIT() };
	struct wire_answer *a;

	check_status(make(insns, sizeof(insns) / sizeof(insns[0]), &a), REJECTED);
	ck_assert_uint_eq(a->reason, VIRTIO_GPGPU_R_HELPER);
	ck_assert_msg(strstr((const char *)a->resp->prog.message, "not built for GPUs") != NULL, "%s",
		      (const char *)a->resp->prog.message);
	wire_answer_free(a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("groups");
	TCase *tc = tcase_create("groups");

	tcase_add_checked_fixture(tc, setup_objects, teardown);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	if (getenv("GPGPU_TEST_DEVICE")) {
		tcase_add_test(tc, refused_on_gpu);
		return run_suite(s);
	}
	tcase_add_test(tc, mirror);
	tcase_add_test(tc, exchange);
	tcase_add_test(tc, float_order);
	tcase_add_test(tc, dimensions);
	tcase_add_test(tc, loop);
	tcase_add_test(tc, fault);
	tcase_add_test(tc, endless);
	tcase_add_test(tc, left_over);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, many);
	return run_suite(s);
}
