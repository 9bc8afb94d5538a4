/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sums.c - which loads and stores are taken for sums (bpf/sums.c).
 *
 * What clang makes of idioms.bpf.c, for every version of BPF, and programs by hand that come close to being one but
 * are not: there, taking it for one would change what the program computes even where nothing races.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#define ASM_TABLE
#include "asm.h"
#include "virtio_gpgpu.h"
#include "bpf/sums.h"

enum { MAP_array, MAP_other, MAP_hash, MAP_percpu, MAP_bss, NUM_MAPS };

#include "idioms.h"

static const struct gp_map_desc maps[NUM_MAPS] = {
	[MAP_array] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 32, 16, 32, 1, 0, 0, 512, { 0 } },
	[MAP_other] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 32, 16, 32, 1, 0, 0, 512, { 0 } },
	[MAP_hash] = { VIRTIO_GPGPU_MAP_HASH, 4, 32, 16, 32, 1, 16, 0, 512, { 0 } },
	[MAP_percpu] = { VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 32, 16, 32, 2, 0, 0, 1024, { 0 } },
	[MAP_bss] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 24, 1, 24, 1, 0, 0, 24, { 0 } },
};

/* Sums of each program. */
static const struct {
	const char *name;
	uint32_t sums;
} idioms[] = {
	{ "count", 1 },		{ "count_two", 2 },
	{ "count_32", 2 },	{ "count_small", 3 },
	{ "operations", 4 },	{ "value_first", 2 },
	{ "globals", 3 },	{ "in_function", 2 },
	{ "insert", 2 },	{ "one_of_two_fields", 2 },
	{ "in_a_switch", 2 },	{ "by_index", 1 },
	{ "mixed_pointer", 1 }, { "limit", 1 },
	{ "next_id", 1 },	{ "with_packet", 3 },
	{ "two_maps", 4 },	{ "per_cpu", 0 },
	{ "maximum", 0 },	{ "average", 0 },
	{ "bucket", 0 },
};

/* Sums found in a program, which must be accepted. */
static void find(struct gp_sums *sums, const struct bpf_insn *insns, uint32_t count, uint32_t flags)
{
	struct gp_prog prog = { .kind = VIRTIO_GPGPU_PROG_XDP,
				.insns = insns,
				.num_insns = count,
				.maps = maps,
				.num_maps = NUM_MAPS };
	struct gp_verdict verdict;
	struct gp_kinds kinds = { 0 };
	struct gp_cfg cfg = { 0 };

	ck_assert_msg(gp_validate(&prog, &verdict), "%s", verdict.message);
	ck_assert(gp_cfg_build(&cfg, &prog, &verdict) && gp_kinds_analyse(&kinds, &prog, &cfg, &verdict));
	gp_sums_find(sums, &kinds, flags);
	gp_kinds_free(&kinds);
	gp_cfg_free(&cfg);
}

START_TEST(compiled)
{
	const struct gp_sum none = { 0 };
	struct gp_sums sums;
	size_t n = 0;

	while (strcmp(idioms[n].name, programs[_i].name))
		ck_assert_msg(++n < sizeof(idioms) / sizeof(*idioms), "%s: not in the table",
			      programs[_i].name);
	find(&sums, programs[_i].insns, programs[_i].count, 0);
	ck_assert_msg(sums.found == idioms[n].sums, "%s of %s: %u sums, not %u", programs[_i].name,
		      programs[_i].cpu, sums.found, idioms[n].sums);
	gp_sums_free(&sums);
	find(&sums, programs[_i].insns, programs[_i].count, GP_PROG_ALONE);
	ck_assert_uint_eq(sums.found, 0);
	for (uint32_t i = 0; i < programs[_i].count; i++)
		ck_assert_mem_eq(&sums.at[i], &none, sizeof(none));
	gp_sums_free(&sums);
}
END_TEST

/* r9 context, r0 a value of the map. */
#define BEGIN(map)                                                                                          \
	MOV64X(R9, R1), ST(W, R10, -4, 1), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), LDMAP(R1, map),        \
		CALL(BPF_FUNC_map_lookup_elem), JK(BPF_JNE, R0, 0, 2), MOV64K(R0, 0), EXIT, MOV64X(R6, R0), \
		LDX(W, R7, R9, 12)
#define END		     MOV64K(R0, 2), EXIT
#define COUNT(...)	     (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define ROW(name, sums, ...) { name, sums, (const struct bpf_insn[]){ __VA_ARGS__ }, COUNT(__VA_ARGS__) }

/* clang-format off */
static const struct {
	const char *name;
	uint32_t sums;
	const struct bpf_insn *insns;
	uint32_t count;
} byhand[] = {
	ROW("two at once", 2, BEGIN(MAP_array), LDX(DW, R1, R6, 0), LDX(DW, R2, R6, 8), ALU64K(BPF_ADD, R1, 1),
	    ALU64X(BPF_ADD, R2, R7), STX(DW, R6, 8, R2), STX(DW, R6, 0, R1), END),
	ROW("through another register", 1, BEGIN(MAP_array), MOV64X(R8, R6), ALU64K(BPF_ADD, R8, 8),
	    LDX(DW, R1, R6, 8), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 8, R1), END),
	ROW("base moved in between", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 8), ALU64K(BPF_ADD, R6, 4),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 4, R1), END),
	ROW("base moved elsewhere", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 8), ALU64K(BPF_ADD, R6, 4),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 8, R1), END),
	ROW("base moved by a variable", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64X(BPF_ADD, R6, R7),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("another size", 0, BEGIN(MAP_array), LDX(W, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("low half of a 64-bit counter", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU32K(BPF_ADD, R1, 1),
	    STX(DW, R6, 0, R1), END),
	ROW("written in between", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ST(DW, R6, 0, 5), ALU64K(BPF_ADD, R1, 1),
	    STX(DW, R6, 0, R1), END),
	ROW("half of it written in between", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ST(W, R6, 4, 5),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("its neighbour written in between", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ST(DW, R6, 8, 5),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("written through an unknown pointer", 0, BEGIN(MAP_array), LDX(DW, R8, R6, 16), LDX(DW, R1, R6, 0),
	    ST(DW, R8, 0, 5), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("the stack written in between", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ST(DW, R10, -16, 5),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("a helper in between", 0, BEGIN(MAP_array), LDX(DW, R8, R6, 0), CALL(BPF_FUNC_get_prandom_u32),
	    ALU64K(BPF_ADD, R8, 1), STX(DW, R6, 0, R8), END),
	ROW("an atomic of its own in between", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0),
	    ATOMIC(DW, BPF_ADD, R6, 0, R7), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("an atomic of a neighbour", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ATOMIC(DW, BPF_ADD, R6, 8, R7),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("read in between", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), MOV64X(R8, R1), ALU64K(BPF_MUL, R8, 2),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("spilled in between", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), STX(DW, R10, -16, R1),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("compared before", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), JK(BPF_JGT, R1, 7, 2), ALU64K(BPF_ADD, R1, 1),
	    STX(DW, R6, 0, R1), END),
	ROW("old value used behind", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), MOV64X(R2, R1), ALU64K(BPF_ADD, R2, 1),
	    STX(DW, R6, 0, R2), STX(DW, R10, -16, R1), END),
	ROW("both values used behind", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), MOV64X(R2, R1), ALU64K(BPF_ADD, R2, 1),
	    STX(DW, R6, 0, R2), ALU64X(BPF_XOR, R1, R2), STX(DW, R10, -16, R1), END),
	ROW("half-way value used behind", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1),
	    MOV64X(R2, R1), ALU64K(BPF_ADD, R2, 1), STX(DW, R6, 0, R2), STX(DW, R10, -16, R1), END),
	ROW("the sum stored twice", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1),
	    STX(DW, R6, 8, R1), STX(DW, R6, 0, R1), END),
	ROW("doubled", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64X(BPF_ADD, R1, R1), STX(DW, R6, 0, R1), END),
	ROW("doubled by two loads", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), LDX(DW, R2, R6, 0),
	    ALU64X(BPF_ADD, R1, R2), STX(DW, R6, 0, R1), END),
	ROW("taken from something", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64X(BPF_SUB, R7, R1),
	    STX(DW, R6, 0, R7), END),
	ROW("two operations", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), ALU64K(BPF_AND, R1, 7),
	    STX(DW, R6, 0, R1), END),
	ROW("two of a kind", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), ALU64X(BPF_SUB, R1, R7),
	    STX(DW, R6, 0, R1), END),
	ROW("into another place", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1),
	    STX(DW, R6, 8, R1), END),
	ROW("stored as it was", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), STX(DW, R6, 0, R1), END),
	ROW("stored on one path", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), JK(BPF_JEQ, R7, 9, 2),
	    ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("different on two paths", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), MOV64K(R2, 5), JK(BPF_JEQ, R7, 9, 1),
	    MOV64K(R2, 7), ALU64X(BPF_ADD, R1, R2), STX(DW, R6, 0, R1), END),
	ROW("from elsewhere on one path", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), JK(BPF_JEQ, R7, 9, 1),
	    MOV64K(R1, 7), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1), END),
	ROW("in a loop", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), ALU64K(BPF_SUB, R7, 1),
	    JK(BPF_JNE, R7, 0, -3), STX(DW, R6, 0, R1), END),
	ROW("a loop of sums", 1, BEGIN(MAP_array), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1),
	    ALU64K(BPF_SUB, R7, 1), JK(BPF_JNE, R7, 0, -5), END),
	ROW("both widths, nobody looks", 1, BEGIN(MAP_array), LDX(W, R1, R6, 0), ALU64K(BPF_ADD, R1, 1),
	    ALU32K(BPF_ADD, R1, 1), STX(W, R6, 0, R1), END),
	ROW("both widths, looked at", 0, BEGIN(MAP_array), LDX(W, R1, R6, 0), ALU64K(BPF_ADD, R1, 1),
	    ALU32K(BPF_ADD, R1, 1), STX(W, R6, 0, R1), STX(DW, R10, -16, R1), END),
	ROW("a pointer", 0, BEGIN(MAP_array), LDX(DW, R1, R6, 0), MOV64X(R2, R10), ALU64X(BPF_ADD, R2, R1),
	    STX(DW, R6, 0, R2), END),
	ROW("sign-extended", 0, BEGIN(MAP_array), LDSX(W, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), STX(W, R6, 0, R1), END),
	ROW("of a per-CPU map", 0, BEGIN(MAP_percpu), LDX(DW, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), STX(DW, R6, 0, R1),
	    END),
	ROW("of the stack", 0, ST(DW, R10, -8, 1), LDX(DW, R1, R10, -8), ALU64K(BPF_ADD, R1, 1), STX(DW, R10, -8, R1),
	    END),
	ROW("of the packet", 0, LDX(W, R6, R1, 0), LDX(W, R1, R6, 0), ALU64K(BPF_ADD, R1, 1), STX(W, R6, 0, R1), END),
	ROW("two names of one variable", 1, LDVALUE(R1, MAP_bss, 8), LDX(DW, R3, R1, 0), LDVALUE(R2, MAP_bss, 0),
	    ALU64K(BPF_ADD, R3, 1), STX(DW, R2, 8, R3), END),
	ROW("another variable", 0, LDVALUE(R1, MAP_bss, 8), LDX(DW, R3, R1, 0), LDVALUE(R2, MAP_bss, 0),
	    ALU64K(BPF_ADD, R3, 1), STX(DW, R2, 0, R3), END),
};
/* clang-format on */

START_TEST(by_hand)
{
	struct gp_sums sums;

	find(&sums, byhand[_i].insns, byhand[_i].count, 0);
	ck_assert_msg(sums.found == byhand[_i].sums, "%s: %u sums, not %u", byhand[_i].name, sums.found,
		      byhand[_i].sums);
	gp_sums_free(&sums);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sums");
	TCase *tcase = tcase_create("sums");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, compiled, 0, sizeof(programs) / sizeof(*programs));
	tcase_add_loop_test(tcase, by_hand, 0, sizeof(byhand) / sizeof(*byhand));
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
