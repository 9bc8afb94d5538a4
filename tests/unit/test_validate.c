/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_validate.c - the validator's limits, one by one, and what it does with noise.
 *
 * Its rules are tested by test_rules.c.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "asm.h"
#include "bpf/opcodes.h"
#include "bpf/prog.h"
#include "virtio_gpgpu.h"

enum { MAP_ARRAY, MAP_HASH, MAP_RODATA, MAP_PROGS, NUM_MAPS };

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
	[MAP_PROGS] = { .type = VIRTIO_GPGPU_MAP_PROG_ARRAY,
			.key_size = 4,
			.value_size = 4,
			.max_entries = 4,
			.stride = 8,
			.num_cpus = 1 },
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
			insns[program.count++] = CALL_LOCAL(1);
			insns[program.count++] = EXIT;
		}
		insns[program.count++] = MOV64K(R0, 0);
		insns[program.count++] = EXIT;
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
			insns[i] = MOV64K(R0, 0);
		insns[program.count - 1] = EXIT;
		ck_assert_int_eq(validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict),
				 program.count <= GP_MAX_INSNS);
	}
	ck_assert_uint_eq(verdict.reason, VIRTIO_GPGPU_R_INSN_LIMIT);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_LIMIT);
	free(insns);
}
END_TEST

/* ------------------------------------------------------------ as much of one thing as there can be */

static uint32_t conditional_jumps(struct bpf_insn *insns)
{
	uint32_t n = 0;

	insns[n++] = MOV64K(R0, 0);
	while (n < GP_MAX_INSNS - 1)
		insns[n++] = JK(BPF_JEQ, R0, 0, 0);
	insns[n++] = EXIT;
	return n;
}

/* Loops in loops: as many heads, then as many ways back, inner ones first. */
static uint32_t nested_loops(struct bpf_insn *insns)
{
	uint32_t depth = GP_MAX_INSNS / 2 - 2, n = 0;

	insns[n++] = MOV64K(R0, 0);
	for (uint32_t i = 0; i < depth; i++)
		insns[n++] = ALU64K(BPF_ADD, R0, 1);
	for (uint32_t i = 0; i < depth; i++)
		insns[n++] = JK(BPF_JLT, R0, 9, -2 * (int32_t)i - 2);
	insns[n++] = EXIT;
	return n;
}

static uint32_t loops_to_one_head(struct bpf_insn *insns)
{
	uint32_t n = 0;

	insns[n++] = MOV64K(R0, 0);
	insns[n++] = ALU64K(BPF_ADD, R0, 1);
	while (n < GP_MAX_INSNS - 1) {
		insns[n] = JK(BPF_JEQ, R0, n, -(int32_t)n);
		n++;
	}
	insns[n++] = EXIT;
	return n;
}

/* Every function calls the next one as often as there is room for, seven deep. */
static uint32_t calls(struct bpf_insn *insns)
{
	const uint32_t body = GP_MAX_INSNS / 8;
	uint32_t n = 0;

	for (uint32_t f = 0; f < 8; f++) {
		for (uint32_t i = 0; i < body - 1; i++, n++)
			insns[n] = f == 7 ? MOV64K(R0, 0) : CALL_LOCAL(body - i - 1);
		insns[n++] = EXIT;
	}
	return n;
}

/* Every function returns what one of many calls of the next one does, and the last makes tail calls. */
static uint32_t tail_calls(struct bpf_insn *insns)
{
	const struct bpf_insn tail[] = { LDMAP(R2, MAP_PROGS), CALL(BPF_FUNC_tail_call) };
	const uint32_t body = GP_MAX_INSNS / 8;
	uint32_t n = 0;

	for (uint32_t f = 0; f < 7; f++) {
		const uint32_t next = (f + 1) * body;

		for (uint32_t i = 0; n + 3 < next; i++) {
			insns[n++] = JK(BPF_JEQ, R1, i, 2);
			insns[n] = CALL_LOCAL(next - n - 1);
			n++;
			insns[n++] = EXIT;
		}
		insns[n++] = MOV64K(R0, 0);
		while (n < next)
			insns[n++] = EXIT;
	}
	insns[n++] = MOV64X(R6, R1);
	while (n + 6 < GP_MAX_INSNS) {
		insns[n++] = MOV64X(R1, R6);
		insns[n++] = MOV64K(R3, 0);
		memcpy(&insns[n], tail, sizeof(tail));
		n += sizeof(tail) / sizeof(*tail);
	}
	insns[n++] = MOV64K(R0, 0);
	insns[n++] = EXIT;
	return n;
}

/* A pointer to each of 256 functions, which use it as another kind every other time. */
static uint32_t functions(struct bpf_insn *insns)
{
	uint32_t n = 0, first = 4 * 255 + 2;

	insns[n++] = MOV64X(R6, R1);
	for (uint32_t f = 0; f < 255; f++) {
		insns[n++] = MOV64X(R1, R6);
		insns[n++] = f & 1 ? LDX(W, R1, R6, 0) : MOV64X(R1, R10);
		insns[n++] = MOV64X(R7, R1);
		insns[n] = CALL_LOCAL(first + 4 * f - n - 1);
		n++;
	}
	insns[n++] = EXIT;
	for (uint32_t f = 0; f < 255; f++) {
		insns[n++] = STX(DW, R10, -8, R1);
		insns[n++] = LDX(DW, R2, R10, -8);
		insns[n++] = MOV64K(R0, 0);
		insns[n++] = EXIT;
	}
	return n;
}

static uint32_t helper_calls(struct bpf_insn *insns)
{
	uint32_t n = 0;

	while (n < GP_MAX_INSNS - 1)
		insns[n++] = CALL(BPF_FUNC_get_prandom_u32);
	insns[n++] = EXIT;
	return n;
}

/* The last jump of many makes a loop that is entered at two places. */
static uint32_t irreducible_at_last(struct bpf_insn *insns)
{
	uint32_t n = conditional_jumps(insns);

	insns[n - 2] = JK(BPF_JEQ, R0, 1, -3);
	insns[1] = JK(BPF_JEQ, R0, 2, (int16_t)(n - 4));
	return n;
}

/* Switches from a state to any other, as a loop without a head: every entry is one of many. */
static uint32_t state_machine(struct bpf_insn *insns)
{
	uint32_t n = 0;

	insns[n++] = MOV64K(R0, 0);
	for (uint32_t state = 0; state < 1000; state++) {
		insns[n] = JK(BPF_JEQ, R0, state, (int32_t)(state * 7919 % 3000) - (int32_t)n);
		n++;
		insns[n++] = ALU64K(BPF_ADD, R0, 3);
		insns[n++] = ALU64K(BPF_XOR, R0, 5);
	}
	insns[n++] = EXIT;
	return n;
}

static const struct largest {
	const char *name;
	uint32_t (*make)(struct bpf_insn *insns);
	uint32_t reason; /* 0: accepted */
} largest[] = {
	{ "conditional jumps", conditional_jumps, 0 },
	{ "loops in loops", nested_loops, 0 },
	{ "loops to one head", loops_to_one_head, 0 },
	{ "calls", calls, 0 },
	{ "tail calls", tail_calls, 0 },
	{ "functions with arguments of several kinds", functions, 0 },
	{ "helper calls", helper_calls, 0 },
	{ "an irreducible loop at last", irreducible_at_last, VIRTIO_GPGPU_R_IRREDUCIBLE },
	{ "a state machine", state_machine, VIRTIO_GPGPU_R_IRREDUCIBLE },
};

START_TEST(test_largest)
{
	struct bpf_insn *insns = calloc(GP_MAX_INSNS + 1, sizeof(*insns));
	struct program program = { insns, largest[_i].make(insns) };
	struct gp_verdict verdict;
	bool ok = validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict);

	ck_assert_msg(ok == !largest[_i].reason && verdict.reason == largest[_i].reason,
		      "%s, %u instructions: reason %u instead of %u: %s", largest[_i].name, program.count,
		      verdict.reason, largest[_i].reason, verdict.message);
	free(insns);
}
END_TEST

/* ------------------------------------------------------------ loops with one entry, in all small graphs */

#define NODES 6

/* Reducible by the book: take away loops of one node, and merge nodes that have one predecessor into that. */
static bool reducible(const uint32_t *jump)
{
	bool edge[NODES + 1][NODES + 1] = { 0 }, changed = true;
	uint32_t left = NODES + 1;

	for (uint32_t n = 0; n < NODES; n++)
		edge[n][n + 1] = edge[n][jump[n]] = true;
	while (changed) {
		changed = false;
		for (uint32_t n = 0; n <= NODES; n++) {
			uint32_t preds = 0, pred = 0;

			edge[n][n] = false;
			for (uint32_t m = 0; m <= NODES; m++) {
				preds += edge[m][n];
				pred = edge[m][n] ? m : pred;
			}
			if (!n || preds != 1)
				continue;
			edge[pred][n] = false;
			for (uint32_t m = 0; m <= NODES; m++) {
				edge[pred][m] |= edge[n][m];
				edge[n][m] = false;
			}
			left--;
			changed = true;
		}
	}
	return left == 1;
}

/* Node n goes on to n + 1 or jumps to any. */
START_TEST(test_reducible)
{
	uint32_t count[2] = { 0 }, all = 1;

	for (uint32_t n = 0; n < NODES; n++)
		all *= NODES + 1;
	for (uint32_t graph = 0; graph < all; graph++) {
		struct bpf_insn insns[NODES + 2] = { MOV64K(R0, 0) };
		struct program program = { insns, NODES + 2 };
		uint32_t jump[NODES], rest = graph;
		struct gp_verdict verdict;
		bool ok;

		for (uint32_t n = 0; n < NODES; n++, rest /= NODES + 1) {
			jump[n] = rest % (NODES + 1);
			insns[n + 1] = JK(BPF_JEQ, R0, n, (int)jump[n] - (int)n - 1);
		}
		insns[NODES + 1] = EXIT;
		ok = validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict);
		ck_assert_msg(ok == reducible(jump), "graph %u: %s", graph,
			      ok ? "accepted" : verdict.message);
		ck_assert(ok || verdict.reason == VIRTIO_GPGPU_R_IRREDUCIBLE);
		count[ok]++;
	}
	ck_assert(count[0] && count[1]);
}
END_TEST

/* A number is no pointer, whatever its value: what it comes to with an offset must not overflow. */
START_TEST(test_far_numbers)
{
	static const int64_t numbers[] = { INT64_MIN, INT64_MIN + 1, -1, INT64_MAX };
	static const int16_t offs[] = { INT16_MIN, -16, 16, INT16_MAX };

	for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
		for (size_t o = 0; o < sizeof(offs) / sizeof(offs[0]); o++) {
			struct bpf_insn insns[] = {
				LD64(R2, numbers[n]),
				STX(BPF_DW, R2, offs[o], R2),
				LDX(BPF_DW, R0, R2, offs[o]),
				ST(BPF_W, R2, offs[o], 1),
				EXIT,
			};
			struct program program = { insns, sizeof(insns) / sizeof(insns[0]) };
			struct gp_verdict verdict;

			ck_assert(!validate(VIRTIO_GPGPU_PROG_XDP, &program, &verdict));
			ck_assert_int_eq(verdict.insn, 2);
		}
	}
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
		insns[program.count - 1] = EXIT;
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
	tcase_add_test(tcase, test_far_numbers);
	tcase_add_test(tcase, test_noise);
	tcase_add_test(tcase, test_reducible);
	tcase_add_loop_test(tcase, test_largest, 0, sizeof(largest) / sizeof(*largest));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
