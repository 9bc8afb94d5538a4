/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_fuel.c - what burns how much fuel, and what `stop` ends.
 *
 * Each program is compiled and run as one work item with a buffer of 8-byte words; it counts in word 0 how far it
 * came. Word 1 is also what env->stop points at, so that a program can be stopped at a known place.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "asm.h"
#include "jit/jit.h"
#include "rt/maps.h"
#include "virtio_gpgpu.h"

#define FUEL 100000ull

static struct gp_jit *jit;

static void open_jit(void)
{
	struct gp_jit_options options = { .program = getenv("GPGPU_JIT"), .fd = -1, .cpu_seconds = 60 };

	ck_assert_msg(options.program, "GPGPU_JIT does not name the compiler");
	jit = gp_jit_new(&options, NULL);
	ck_assert_ptr_nonnull(jit);
}

static void close_jit(void)
{
	gp_jit_free(jit);
}

/* A program that grows: no table fits thousands of instructions. */
static struct bpf_insn text[8192];
static uint32_t text_len;

#define ADD(...)                                                        \
	do {                                                            \
		const struct bpf_insn more[] = { __VA_ARGS__ };         \
		memcpy(text + text_len, more, sizeof(more));            \
		text_len += (uint32_t)(sizeof(more) / sizeof(more[0])); \
	} while (0)

/* r6: the buffer, r7: turns, r8: ballast */
static void begin(void)
{
	text_len = 0;
	ADD(LDX(DW, R6, R1, 0), MOV64K(R7, 0), MOV64K(R8, 1));
}

/* One turn more, in word 0. */
#define TURN ALU64K(BPF_ADD, R7, 1), STX(DW, R6, 0, R7), STX(DW, R6, 16, R8)

/* Something that is not optimised away and is `count` instructions. */
static void ballast(uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++)
		ADD(ALU64K(BPF_MUL, R8, (int)i + 3), ALU64X(BPF_XOR, R8, R7));
}

enum { MAP_LARGE, MAP_SMALL, NUM_MAPS };

static const struct gp_map_desc shapes[NUM_MAPS] = {
	[MAP_LARGE] = { .type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 65536, .max_entries = 1 },
	[MAP_SMALL] = { .type = VIRTIO_GPGPU_MAP_HASH, .key_size = 4, .value_size = 8, .max_entries = 4 },
};

static void *zeroed(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	return at;
}

struct result {
	uint64_t turns, ran, faults;
	uint32_t reason;
};

GP_CALLS_AN_IMAGE static struct result run(uint64_t fuel, uint32_t items)
{
	static struct bpf_insn insns[8192];
	struct gp_map_desc descs[NUM_MAPS];
	struct gp_map maps[NUM_MAPS], *pointers[NUM_MAPS];
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_GPGPU,
				.insns = insns,
				.maps = descs,
				.num_maps = NUM_MAPS,
				.num_args = 1,
				.arg_kind = { VIRTIO_GPGPU_ARG_BUFFER } };
	uint64_t *buffer = zeroed(4096), values[1] = { 0 };
	struct gp_region arg = { .base = (uint8_t *)buffer, .size = 4096, .writable = 1 };
	struct gp_env env = { .maps = pointers,
			      .num_maps = NUM_MAPS,
			      .args = &arg,
			      .arg_values = values,
			      .num_args = 1,
			      .fuel = fuel,
			      .stop = (uint32_t *)&buffer[1] };
	struct gp_grid grid = { { items, 1, 1 }, { 1, 1, 1 } };
	struct gp_thread thread = { .random = 1 };
	struct gp_faults faults = { 0 };
	struct gp_verdict verdict;
	struct gp_image *image;
	struct result result;
	void *index[NUM_MAPS];

	for (int m = 0; m < NUM_MAPS; m++) {
		descs[m] = shapes[m];
		ck_assert_uint_eq(gp_map_check(&descs[m], 1), VIRTIO_GPGPU_R_NONE);
		index[m] = zeroed(gp_map_index_bytes(&descs[m]));
		gp_map_layout(&maps[m], &descs[m], zeroed(descs[m].values_size), index[m], 1);
		pointers[m] = &maps[m];
	}
	prog.num_insns = asm_resolve(text, text_len, insns, sizeof(insns) / sizeof(insns[0]), NULL, 0);
	ck_assert_msg(gp_validate(&prog, &verdict), "%s", verdict.message);
	image = gp_jit_compile(jit, &prog, &verdict);
	ck_assert_msg(image, "%s", verdict.message);
	result.ran = ((gp_grid_entry *)((uintptr_t)image->code + image->entry))(&env, &thread, &grid, 0,
										items, &faults);
	result.turns = buffer[0];
	result.faults = faults.count;
	result.reason = faults.reason;
	gp_image_unref(image);
	for (int m = 0; m < NUM_MAPS; m++) {
		munmap(maps[m].values, descs[m].values_size);
		munmap(index[m], gp_map_index_bytes(&descs[m]));
	}
	munmap(buffer, 4096);
	return result;
}

/* An endless program: how many turns it makes. */
static uint64_t turns(uint64_t fuel)
{
	struct result result = run(fuel, 1);

	ck_assert_uint_eq(result.faults, 1);
	ck_assert_uint_eq(result.reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	return result.turns;
}

START_TEST(test_small_loop)
{
	static const uint64_t amounts[] = { 0, 1, 2, 16383, 16384, 16385, 40000, FUEL };

	for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
		begin();
		ADD(LABEL(0), TURN, JA(L(0)));
		ck_assert_uint_eq(turns(amounts[i]), amounts[i] + 1);
	}
}
END_TEST

/* The body is what counts, on whichever side it goes; what comes behind a loop does not. */
START_TEST(test_large_loop)
{
	begin();
	ADD(LABEL(0), TURN);
	ballast(640);
	ADD(JA(L(0)));
	ck_assert_uint_eq(turns(FUEL), FUEL / 11 + 1);

	begin();
	ADD(LABEL(0), TURN, LDX(DW, R2, R6, 8), JK(BPF_JEQ, R2, 0, L(1)));
	ballast(1000);
	ADD(LABEL(1), JA(L(0)));
	ck_assert_uint_le(turns(FUEL), FUEL / 16 + 1);

	begin();
	ADD(LABEL(0), TURN, LDX(DW, R2, R6, 8), JK(BPF_JEQ, R2, 0, L(0)));
	ballast(1000);
	ADD(MOV64K(R0, 0), EXIT);
	ck_assert_uint_eq(turns(FUEL), FUEL + 1);
}
END_TEST

/* Two back edges to one head are one loop: the cheap way does not pay for the dear one. */
START_TEST(test_two_ways_back)
{
	begin();
	ADD(LABEL(0), TURN, LDX(DW, R2, R6, 8), JK(BPF_JEQ, R2, 0, L(1)), JA(L(0)), LABEL(1));
	ballast(1000);
	ADD(JA(L(0)));
	ck_assert_uint_le(turns(FUEL), FUEL / 16 + 1);
}
END_TEST

START_TEST(test_function)
{
	begin();
	ADD(LABEL(0), MOV64X(R1, R6), CALL_LOCAL(LC(1)), TURN, JA(L(0)), LABEL(1));
	for (int i = 0; i < 640; i++)
		ADD(LDX(DW, R0, R1, i % 8 * 8), STX(DW, R1, 64, R0));
	ADD(MOV64K(R0, 0), EXIT);
	/* 1 for the turn, 21 for the call */
	ck_assert_uint_eq(turns(FUEL), FUEL / 22);
}
END_TEST

#define UPDATE                                                                                     \
	LDMAP(R1, MAP_LARGE), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), LDVALUE(R3, MAP_LARGE, 0), \
		MOV64K(R4, 0), CALL(BPF_FUNC_map_update_elem)

/* Copies cost what they copy, in a loop and where there is none. */
START_TEST(test_update)
{
	begin();
	ADD(ST(DW, R10, -8, 0), LABEL(0), UPDATE, TURN, JA(L(0)));
	ck_assert_uint_le(turns(FUEL), FUEL / 1024);
	ck_assert_uint_ge(turns(FUEL), FUEL / 2048);

	begin();
	ADD(ST(DW, R10, -8, 0));
	for (int i = 0; i < 500; i++)
		ADD(UPDATE, TURN);
	ADD(MOV64K(R0, 0), EXIT);
	ck_assert_uint_le(turns(FUEL), FUEL / 1024);
	ck_assert_uint_ge(turns(FUEL), FUEL / 2048);
}
END_TEST

/* GP_STOP_NOW ends an item within one portion of fuel; GP_STOP_SOON does not touch it, but the next do not start. */
START_TEST(test_stop)
{
	struct result result;

	begin();
	ADD(ST(W, R6, 8, GP_STOP_NOW), LABEL(0), TURN, JA(L(0)));
	result = run(1ull << 40, 3);
	ck_assert_uint_eq(result.ran, 1);
	ck_assert_uint_eq(result.faults, 1);
	ck_assert_uint_eq(result.reason, VIRTIO_GPGPU_R_OUT_OF_FUEL);
	ck_assert_uint_le(result.turns, 65537);

	begin();
	ADD(ST(W, R6, 8, GP_STOP_SOON), LABEL(0), TURN, JK(BPF_JNE, R7, 1000000, L(0)), MOV64K(R0, 0), EXIT);
	result = run(1ull << 40, 3);
	ck_assert_uint_eq(result.ran, 1);
	ck_assert_uint_eq(result.faults, 0);
	ck_assert_uint_eq(result.turns, 1000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fuel");
	TCase *tcase = tcase_create("fuel");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, open_jit, close_jit);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_small_loop);
	tcase_add_test(tcase, test_large_loop);
	tcase_add_test(tcase, test_two_ways_back);
	tcase_add_test(tcase, test_function);
	tcase_add_test(tcase, test_update);
	tcase_add_test(tcase, test_stop);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
