/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_validate.c - the validator's limits, one by one, and what it does with noise.
 *
 * Its rules are tested by test_rules.c.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#define ASM_TABLE
#include "asm.h"
#include "bpf/opcodes.h"
#include "bpf/prog.h"
#include "virtio_gpgpu.h"

enum { MAP_ARRAY, MAP_HASH, MAP_RODATA, NUM_MAPS };

static const struct gp_map_desc maps[NUM_MAPS] = {
	[MAP_ARRAY] = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			.key_size = 4,
			.value_size = 16,
			.max_entries = 4,
			.stride = 16,
			.num_cpus = 1,
			.values_size = 64 },
	[MAP_HASH] = { .type = VIRTIO_GPGPU_MAP_HASH,
		       .key_size = 8,
		       .value_size = 8,
		       .max_entries = 4,
		       .stride = 8,
		       .num_cpus = 1,
		       .num_buckets = 4,
		       .values_size = 32 },
	[MAP_RODATA] = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			 .key_size = 4,
			 .value_size = 8,
			 .max_entries = 1,
			 .stride = 8,
			 .num_cpus = 1,
			 .flags = VIRTIO_GPGPU_MAP_F_RDONLY_PROG,
			 .values_size = 8 },
};

struct program {
	const struct bpf_insn *insns;
	uint32_t count;
};

static bool validate(uint32_t kind, const struct program *program, struct gp_verdict *verdict)
{
	struct gp_prog prog = { .kind = kind,
				.num_insns = program->count,
				.insns = program->insns,
				.num_maps = NUM_MAPS,
				.maps = maps };

	if (kind == VIRTIO_GPGPU_PROG_GPGPU) {
		prog.num_args = 3;
		prog.arg_kind[0] = VIRTIO_GPGPU_ARG_BUFFER;
		prog.arg_kind[1] = VIRTIO_GPGPU_ARG_BUFFER_RO;
		prog.arg_kind[2] = VIRTIO_GPGPU_ARG_VALUE;
	}
	return gp_validate(&prog, verdict);
}

/* Chains of calls: eight frames are allowed, nine are not. */
START_TEST(test_depth)
{
	for (uint32_t depth = 2; depth <= 9; depth++) {
		struct bpf_insn insns[32];
		struct program program = { insns, 0 };
		struct gp_verdict verdict;

		for (uint32_t f = 1; f < depth; f++) {
			insns[program.count++] = (struct bpf_insn)CALL_LOCAL(1);
			insns[program.count++] = (struct bpf_insn)EXIT;
		}
		insns[program.count++] = (struct bpf_insn)MOV64K(R0, 0);
		insns[program.count++] = (struct bpf_insn)EXIT;
		ck_assert_int_eq(validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict), depth <= 8);
		if (depth > 8)
			ck_assert_uint_eq(verdict.reason, VIRTIO_GPGPU_R_CALL_DEPTH);
	}
}
END_TEST

START_TEST(test_length)
{
	struct bpf_insn *insns = calloc(GP_MAX_INSNS + 1, sizeof(*insns));
	struct program program = { insns, 0 };
	struct gp_verdict verdict;

	ck_assert(!validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict));
	ck_assert_uint_eq(verdict.reason, VIRTIO_GPGPU_R_INSN_LIMIT);
	for (program.count = GP_MAX_INSNS; program.count <= GP_MAX_INSNS + 1; program.count++) {
		for (uint32_t i = 0; i + 1 < program.count; i++)
			insns[i] = (struct bpf_insn)MOV64K(R0, 0);
		insns[program.count - 1] = (struct bpf_insn)EXIT;
		ck_assert_int_eq(validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict),
				 program.count <= GP_MAX_INSNS);
	}
	ck_assert_uint_eq(verdict.reason, VIRTIO_GPGPU_R_INSN_LIMIT);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_LIMIT);
	free(insns);
}
END_TEST

/* Whatever the bytes, the validator ends with a verdict. */
START_TEST(test_noise)
{
	uint32_t seed = 1, accepted = 0;

	for (int round = 0; round < 20000; round++) {
		struct bpf_insn insns[24];
		struct program program = { insns, 1 + (uint32_t)round % 24 };
		struct gp_verdict verdict;

		for (size_t i = 0; i < sizeof(insns); i++) {
			seed = seed * 1103515245 + 12345;
			((uint8_t *)insns)[i] = (uint8_t)(seed >> 16);
		}
		/* Mostly instructions that exist, registers that exist and short jumps: deeper in. */
		for (uint32_t i = 0; i < program.count; i++) {
			while (!gp_opcodes[insns[i].code].name)
				insns[i].code++;
			insns[i].dst_reg %= 11;
			insns[i].src_reg %= 11;
			insns[i].off %= 8;
			if (round % 3)
				insns[i].imm %= 8;
		}
		insns[program.count - 1] = (struct bpf_insn)EXIT;
		accepted += validate(round & 1 ? VIRTIO_GPGPU_PROG_XDP : VIRTIO_GPGPU_PROG_GPGPU, &program,
				     &verdict);
	}
	ck_assert_uint_lt(accepted, 20000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("validate");
	TCase *tcase = tcase_create("limits");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_depth);
	tcase_add_test(tcase, test_length);
	tcase_add_test(tcase, test_noise);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
