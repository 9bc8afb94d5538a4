/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_atomics.c - atomics of floats from many items at once: sums of whole numbers, which are exact in any order; minima,
 * maxima, and what each item is told was there before. And places that are none.
 */
#include <stdlib.h>
#include <string.h>
#include <gpgpu_bpf.h>
#include "fixture.h"

enum { PROG = 20, OUT = 4096, ITEMS = 1000, TICKETS = 64 };

struct results {
	float sum, least, most, pad;
	double sum64, least64, most64;
	uint32_t tickets; /* as a float, how many were given out */
};

static const uint8_t args[] = { VIRTIO_GPGPU_ARG_BUFFER, VIRTIO_GPGPU_ARG_BUFFER_RO, VIRTIO_GPGPU_ARG_VALUE };

#define MAKE(...)                                                                              \
	do {                                                                                   \
		const struct bpf_insn insns[] = { __VA_ARGS__ };                               \
		struct wire_answer *made;                                                      \
		uint32_t status = load_prog(client, PROG, VIRTIO_GPGPU_PROG_GPGPU, insns,      \
					    sizeof(insns) / sizeof(insns[0]), args, 3, &made); \
                                                                                               \
		ck_assert_msg(!status, "refused: %s", (const char *)made->resp->prog.message); \
		wire_answer_free(made);                                                        \
	} while (0)

static struct wire_answer *run(uint32_t items, uint64_t value)
{
	const struct virtio_gpgpu_arg a[] = {
		{ VIRTIO_GPGPU_ARG_BUFFER, BUF_SHM, OUT, TICKETS + ITEMS },
		{ VIRTIO_GPGPU_ARG_BUFFER_RO, BUF_SHM, 0, 64 },
		{ VIRTIO_GPGPU_ARG_VALUE, 0, value, 0 },
	};

	return wire_wait(client, wire_dispatch(client, CTX, next_point(), PROG, (uint32_t[]){ items, 1, 1 },
					       (uint32_t[]){ items < 50 ? items : 50, 1, 1 }, a, 3));
}

static void destroy(void)
{
	check_ok(wire_id(client, VIRTIO_GPGPU_CMD_PROG_DESTROY, CTX, PROG, NULL));
}

/* r6: the context, r7: the item's number, r8: its float, r9: its double. */
#define BEGIN                                                                                          \
	MOVR(BPF_REG_6, BPF_REG_1), MOV(BPF_REG_1, 0), CALL(GPGPU_HELPER_global_id),                   \
		MOVR(BPF_REG_7, BPF_REG_0), MOVR(BPF_REG_1, BPF_REG_0), CALL(GPGPU_HELPER_f32_from_u), \
		MOVR(BPF_REG_8, BPF_REG_0), MOVR(BPF_REG_1, BPF_REG_7), CALL(GPGPU_HELPER_f64_from_u), \
		MOVR(BPF_REG_9, BPF_REG_0)
#define ATOMIC_ON(member, reg, op)                                                                       \
	LDX(BPF_DW, BPF_REG_1, BPF_REG_6, 0), ALU(BPF_ADD, BPF_REG_1, offsetof(struct results, member)), \
		MOVR(BPF_REG_2, reg), CALL(GPGPU_HELPER_atomic_##op)

START_TEST(many)
{
	struct results *r = (void *)(wire_shm(client) + OUT);
	const uint8_t *tickets = wire_shm(client) + OUT + TICKETS;
	struct wire_answer *a;

	/* The old value of a counter that all add 1 to is a number of its own for each. */
	MAKE(BEGIN, ATOMIC_ON(sum, BPF_REG_8, fadd32), ATOMIC_ON(least, BPF_REG_8, fmin32),
	     ATOMIC_ON(most, BPF_REG_8, fmax32), ATOMIC_ON(sum64, BPF_REG_9, fadd64),
	     ATOMIC_ON(least64, BPF_REG_9, fmin64), ATOMIC_ON(most64, BPF_REG_9, fmax64),
	     MOV(BPF_REG_8, 0x3f800000), ATOMIC_ON(tickets, BPF_REG_8, fadd32), MOVR(BPF_REG_1, BPF_REG_0),
	     CALL(GPGPU_HELPER_u_from_f32), LDX(BPF_DW, BPF_REG_1, BPF_REG_6, 0),
	     ALUR(BPF_ADD, BPF_REG_1, BPF_REG_0), LDX(BPF_B, BPF_REG_2, BPF_REG_1, TICKETS),
	     ALU(BPF_ADD, BPF_REG_2, 1), STX(BPF_B, BPF_REG_1, BPF_REG_2, TICKETS), MOV(BPF_REG_0, 0),
	     EXIT());
	memset(r, 0, TICKETS + ITEMS);
	r->least = 77;
	r->most = -1;
	r->least64 = 0x1p60;
	r->most64 = 0.5;
	a = run(ITEMS, 0);
	check_ok(a->status);
	wire_answer_free(a);
	ck_assert(r->sum == ITEMS * (ITEMS - 1) / 2);
	ck_assert(r->sum64 == ITEMS * (ITEMS - 1) / 2);
	ck_assert(r->least == 0 && r->most == ITEMS - 1);
	ck_assert(r->least64 == 0 && r->most64 == ITEMS - 1);
	for (int i = 0; i < ITEMS; i++)
		ck_assert_msg(tickets[i] == 1, "%d was given out %u times", i, tickets[i]);
	destroy();
}
END_TEST

/* A place in argument 0, moved by the value that the kernel is given; or in the read-only one. */
static void make_at(bool writable, bool wide)
{
	MAKE(LDX(BPF_DW, BPF_REG_2, BPF_REG_1, 16), LDX(BPF_DW, BPF_REG_1, BPF_REG_1, writable ? 0 : 8),
	     ALUR(BPF_ADD, BPF_REG_1, BPF_REG_2), MOV(BPF_REG_2, 0),
	     CALL(wide ? GPGPU_HELPER_atomic_fadd64 : GPGPU_HELPER_atomic_fadd32), MOV(BPF_REG_0, 0), EXIT());
}

static void faults(uint64_t at, uint32_t reason)
{
	struct wire_answer *a = run(1, at);

	if (reason) {
		check_status(a->status, FAULT);
		ck_assert_uint_eq(a->reason, reason);
	} else {
		check_ok(a->status);
	}
	wire_answer_free(a);
}

START_TEST(places)
{
	make_at(true, false);
	faults(0, 0);
	faults(2, VIRTIO_GPGPU_R_MISALIGNED);
	faults(TICKETS + ITEMS - 4, 0);
	faults(TICKETS + ITEMS, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	faults((uint64_t)-4, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	destroy();
	make_at(true, true);
	faults(8, 0);
	faults(4, VIRTIO_GPGPU_R_MISALIGNED);
	faults(TICKETS + ITEMS, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	destroy();
	make_at(false, false);
	faults(0, VIRTIO_GPGPU_R_OUT_OF_BOUNDS);
	destroy();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("atomics");
	TCase *tc = tcase_create("atomics");

	tcase_add_checked_fixture(tc, setup_objects, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, many);
	tcase_add_test(tc, places);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
