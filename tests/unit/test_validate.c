/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_validate.c - each rule of the validator: a program that breaks it, and the nearest one that does not.
 *
 * The pair is the point: a validator that refuses everything, or for another reason, fails here.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#define ASM_TABLE
#include "asm.h"
#include "bpf/opcodes.h"
#include "bpf/prog.h"
#include "gpgpu_bpf.h"
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

#define COUNT(...)   (sizeof((const struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define PROGRAM(...) { (const struct bpf_insn[]){ __VA_ARGS__ }, COUNT(__VA_ARGS__) }

struct program {
	const struct bpf_insn *insns;
	uint32_t count;
};

/* clang-format off */
static const struct rule {
	const char *name;
	uint32_t kind, reason, at;
	struct program bad, good;
} rules[] = {
#define XDP(name, reason, at, bad, good) \
	{ name, VIRTIO_GPGPU_PROG_XDP, VIRTIO_GPGPU_R_##reason, at, PROGRAM bad, PROGRAM good }
#define GRID(name, reason, at, bad, good) \
	{ name, VIRTIO_GPGPU_PROG_GPGPU, VIRTIO_GPGPU_R_##reason, at, PROGRAM bad, PROGRAM good }

	/* form */
	XDP("opcode that is none", OPCODE, 0, (INSN(0xff, 0, 0, 0, 0), EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("may_goto", OPCODE, 1, (MOV64K(R0, 0), INSN(GP_BPF_JCOND, 0, 0, 0, 0), EXIT),
	    (MOV64K(R0, 0), JA(0), EXIT)),
	XDP("indirect call", OPCODE, 1, (MOV64K(R0, 0), INSN(GP_BPF_CALLX, 0, 0, 0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("atomic nand", OPCODE, 2, (MOV64K(R0, 0), ST(DW, R10, -8, 0), ATOMIC(DW, 0x70, R10, -8, R0), EXIT),
	    (MOV64K(R0, 0), ST(DW, R10, -8, 0), ATOMIC(DW, BPF_XOR, R10, -8, R0), EXIT)),
	XDP("ld_imm64 of a BTF id", OPCODE, 0, (INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 3, 0, 1), INSN(0, 0, 0, 0, 0), EXIT),
	    (LD64(R0, 1), EXIT)),
	XDP("register 11", REGISTER, 0, (MOV64X(R0, 11), EXIT), (MOV64X(R0, R10), MOV64K(R0, 0), EXIT)),
	XDP("r10 written", REGISTER, 0, (MOV64K(R10, 0), EXIT), (MOV64K(R9, 0), MOV64K(R0, 0), EXIT)),
	XDP("r10 fetched into", REGISTER, 1, (ST(DW, R10, -8, 0), ATOMIC(DW, BPF_XCHG, R10, -8, R10), EXIT),
	    (ST(DW, R10, -8, 0), MOV64X(R0, R10), ATOMIC(DW, BPF_XCHG, R10, -8, R0), MOV64K(R0, 0), EXIT)),
	XDP("source register of a move of a constant", INSN_FIELD, 0,
	    (INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R1, 0, 0), EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("offset of an addition", INSN_FIELD, 1, (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_ADD | BPF_K, R0, 0, 1, 1), EXIT),
	    (MOV64K(R0, 0), ALU64K(BPF_ADD, R0, 1), EXIT)),
	XDP("division of a third kind", INSN_FIELD, 1,
	    (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 2, 1), EXIT),
	    (MOV64K(R0, 0), INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 1, 1), EXIT)),
	XDP("swap of 8 bits", INSN_FIELD, 1, (MOV64K(R0, 0), BSWAP(8, R0), EXIT), (MOV64K(R0, 0), BSWAP(16, R0), EXIT)),
	XDP("call with a source register", INSN_FIELD, 0, (INSN(BPF_JMP | BPF_CALL, 0, 3, 0, 5), EXIT),
	    (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("ld_imm64 without its second half", FALL_OFF, 1, (MOV64K(R0, 0), INSN(BPF_LD | BPF_IMM | BPF_DW, R0, 0, 0, 0)),
	    (MOV64K(R0, 0), LD64(R0, 0), EXIT)),
	/* helpers and maps by number */
	XDP("helper not offered", HELPER, 0, (CALL(BPF_FUNC_get_current_task), EXIT), (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("helper of compute kernels", HELPER, 1, (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_id), EXIT),
	    (MOV64K(R1, 0), CALL(BPF_FUNC_get_prandom_u32), EXIT)),
	GRID("helper of XDP programs", HELPER, 2, (MOV64K(R1, 0), MOV64K(R2, 0), CALL(BPF_FUNC_redirect), EXIT),
	     (MOV64K(R1, 0), CALL(GPGPU_HELPER_global_id), EXIT)),
	XDP("kernel function", HELPER, 0, (INSN(BPF_JMP | BPF_CALL, 0, GP_CALL_KFUNC, 0, 5), EXIT),
	    (CALL(BPF_FUNC_ktime_get_ns), EXIT)),
	XDP("map that is none", MAP_REF, 0, (LDMAP(R1, NUM_MAPS), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, NUM_MAPS - 1), MOV64K(R0, 0), EXIT)),
	XDP("value of a hash", MAP_REF, 0, (LDVALUE(R1, MAP_HASH, 0), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), MOV64K(R0, 0), EXIT)),
	XDP("offset behind a value", MAP_REF, 0, (LDVALUE(R1, MAP_ARRAY, 16), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 15), MOV64K(R0, 0), EXIT)),
	XDP("update of read-only data", MAP_REF, 7,
	    (ST(DW, R10, -8, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64K(R4, 0),
	     LDMAP(R1, MAP_RODATA), CALL(BPF_FUNC_map_update_elem), EXIT),
	    (ST(DW, R10, -8, 0), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64X(R3, R2), MOV64K(R4, 0),
	     LDMAP(R1, MAP_HASH), CALL(BPF_FUNC_map_update_elem), EXIT)),
	/* control flow */
	XDP("jump past the end", JUMP, 1, (MOV64K(R0, 0), JA(1), EXIT), (MOV64K(R0, 0), JA(0), EXIT)),
	XDP("jump into an ld_imm64", JUMP, 1, (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), LD64(R0, 1), EXIT),
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 2), LD64(R0, 1), EXIT)),
	XDP("jump into another function", JUMP, 1, (CALL_LOCAL(2), JA(1), EXIT, MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(2), JA(0), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("function without an end", FALL_OFF, 1, (CALL_LOCAL(1), MOV64K(R0, 0), MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("recursion", CALL_DEPTH, 2, (CALL_LOCAL(1), EXIT, CALL_LOCAL(-1), EXIT),
	    (CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	XDP("instructions that nothing reaches", UNREACHABLE, 2, (MOV64K(R0, 0), EXIT, MOV64K(R0, 1), EXIT),
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), EXIT, MOV64K(R0, 1), EXIT)),
	XDP("function that nothing calls", UNREACHABLE, 2, (MOV64K(R0, 0), EXIT, CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT),
	    (CALL_LOCAL(1), EXIT, CALL_LOCAL(1), EXIT, MOV64K(R0, 0), EXIT)),
	/* A loop of two blocks that is entered at either. */
	XDP("loop with two entries", IRREDUCIBLE, 5,
	    (CALL(BPF_FUNC_get_prandom_u32), JK(BPF_JEQ, R0, 0, 1), JK(BPF_JEQ, R0, 1, 1), ALU64K(BPF_ADD, R0, 1),
	     ALU64K(BPF_ADD, R0, 2), JK(BPF_JGT, R0, 9, -3), EXIT),
	    (CALL(BPF_FUNC_get_prandom_u32), JK(BPF_JEQ, R0, 0, 1), JK(BPF_JEQ, R0, 1, 0), ALU64K(BPF_ADD, R0, 1),
	     ALU64K(BPF_ADD, R0, 2), JK(BPF_JGT, R0, 9, -3), EXIT)),
	/* registers */
	XDP("register never written", UNINITIALISED, 0, (MOV64X(R0, R2), EXIT), (MOV64X(R2, R1), MOV64K(R0, 0), EXIT)),
	XDP("register written on one path", UNINITIALISED, 3,
	    (MOV64K(R0, 0), JK(BPF_JEQ, R0, 0, 1), MOV64K(R3, 1), MOV64X(R0, R3), EXIT),
	    (MOV64K(R0, 0), MOV64K(R3, 0), JK(BPF_JEQ, R0, 0, 1), MOV64K(R3, 1), MOV64X(R0, R3), EXIT)),
	XDP("argument read after a call", UNINITIALISED, 2, (MOV64K(R1, 0), CALL(BPF_FUNC_ktime_get_ns), MOV64X(R0, R1), EXIT),
	    (MOV64K(R6, 0), CALL(BPF_FUNC_ktime_get_ns), MOV64X(R0, R6), EXIT)),
	XDP("exit without a result", UNINITIALISED, 0, (EXIT), (MOV64K(R0, 0), EXIT)),
	XDP("result of a function that has none", UNINITIALISED, 1, (CALL_LOCAL(1), EXIT, MOV64K(R1, 0), EXIT),
	    (CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64K(R1, 0), EXIT)),
	XDP("callee reads its caller's r6", UNINITIALISED, 4,
	    (MOV64K(R6, 1), CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64X(R0, R6), EXIT),
	    (MOV64K(R1, 1), CALL_LOCAL(2), MOV64K(R0, 0), EXIT, MOV64X(R0, R1), EXIT)),
	/* context */
	XDP("field behind xdp_md", CTX_ACCESS, 0, (LDX(W, R0, R1, 24), EXIT), (LDX(W, R0, R1, 20), EXIT)),
	XDP("eight bytes of xdp_md", CTX_ACCESS, 0, (LDX(DW, R0, R1, 0), MOV64K(R0, 0), EXIT),
	    (LDX(W, R0, R1, 0), MOV64K(R0, 0), EXIT)),
	XDP("store to the context", CTX_ACCESS, 0, (ST(W, R1, 0, 0), MOV64K(R0, 0), EXIT),
	    (ST(W, R10, -4, 0), MOV64K(R0, 0), EXIT)),
	GRID("argument that is none", CTX_ACCESS, 0, (LDX(DW, R0, R1, 24), EXIT), (LDX(DW, R0, R1, 16), EXIT)),
	GRID("half a pointer", CTX_ACCESS, 0, (LDX(W, R2, R1, 0), MOV64K(R0, 0), EXIT),
	     (LDX(W, R2, R1, 20), MOV64K(R0, 0), EXIT)),
	/* pointers */
	XDP("number as a pointer", POINTER, 1, (LDX(W, R2, R1, 12), LDX(DW, R0, R2, 0), EXIT),
	    (LDX(W, R2, R1, 0), LDX(DW, R0, R2, 0), EXIT)),
	XDP("map as memory", POINTER, 2, (LDMAP(R1, MAP_ARRAY), LDX(DW, R0, R1, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), LDX(DW, R0, R1, 0), EXIT)),
	XDP("product of a pointer", POINTER, 1, (LDX(W, R2, R1, 0), ALU64K(BPF_MUL, R2, 2), MOV64K(R0, 0), EXIT),
	    (LDX(W, R2, R1, 0), ALU32K(BPF_MUL, R2, 2), MOV64K(R0, 0), EXIT)),
	XDP("sum of two pointers", POINTER, 2,
	    (LDX(W, R2, R1, 0), LDX(W, R3, R1, 4), ALU64X(BPF_ADD, R3, R2), MOV64K(R0, 0), EXIT),
	    (LDX(W, R2, R1, 0), LDX(W, R3, R1, 4), ALU64X(BPF_SUB, R3, R2), MOV64K(R0, 0), EXIT)),
	XDP("number minus a pointer", POINTER, 2, (LDX(W, R2, R1, 0), MOV64K(R0, 0), ALU64X(BPF_SUB, R0, R2), EXIT),
	    (LDX(W, R2, R1, 0), MOV64K(R0, 0), ALU64X(BPF_SUB, R2, R0), EXIT)),
	XDP("offset added to a map", POINTER, 2, (LDMAP(R1, MAP_ARRAY), ALU64K(BPF_ADD, R1, 8), MOV64K(R0, 0), EXIT),
	    (LDVALUE(R1, MAP_ARRAY, 0), ALU64K(BPF_ADD, R1, 8), MOV64K(R0, 0), EXIT)),
	XDP("pointer returned", POINTER, 1, (LDX(W, R0, R1, 0), EXIT), (LDX(W, R0, R1, 0), ALU32K(BPF_ADD, R0, 0), EXIT)),
	XDP("stack below its frame", STACK, 0, (ST(DW, R10, -520, 0), MOV64K(R0, 0), EXIT),
	    (ST(DW, R10, -512, 0), MOV64K(R0, 0), EXIT)),
	XDP("stack above its frame", STACK, 0, (ST(DW, R10, -7, 0), MOV64K(R0, 0), EXIT),
	    (ST(DW, R10, -8, 0), MOV64K(R0, 0), EXIT)),
	/* arguments of helpers */
	XDP("key that is a number", HELPER_ARG, 3, (LDMAP(R1, MAP_ARRAY), MOV64K(R2, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_ARRAY), LDVALUE(R2, MAP_ARRAY, 0), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("key over the stack's top", STACK, 4,
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -4), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (LDMAP(R1, MAP_HASH), MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("map that is a number", HELPER_ARG, 3,
	    (MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), MOV64K(R1, 5), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT),
	    (MOV64X(R2, R10), ALU64K(BPF_ADD, R2, -8), LDMAP(R1, MAP_HASH), CALL(BPF_FUNC_map_lookup_elem), MOV64K(R0, 0), EXIT)),
	XDP("context that was moved", HELPER_ARG, 2, (ALU64K(BPF_ADD, R1, 4), MOV64K(R2, 0), CALL(BPF_FUNC_xdp_adjust_head), EXIT),
	    (MOV64X(R3, R1), MOV64K(R2, 0), CALL(BPF_FUNC_xdp_adjust_head), EXIT)),
	XDP("size that is a pointer", HELPER_ARG, 4,
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64X(R4, R10), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 8), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
	XDP("size that is negative", HELPER_ARG, 4,
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, -8), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 0), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
	XDP("buffer of a helper over the stack's top", STACK, 4,
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -8), MOV64K(R4, 9), CALL(BPF_FUNC_xdp_load_bytes), EXIT),
	    (MOV64K(R2, 0), MOV64X(R3, R10), ALU64K(BPF_ADD, R3, -9), MOV64K(R4, 9), CALL(BPF_FUNC_xdp_load_bytes), EXIT)),
};
/* clang-format on */

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

START_TEST(test_rule)
{
	const struct rule *rule = &rules[_i];
	struct gp_verdict verdict;

	ck_assert_msg(!validate(rule->kind, &rule->bad, &verdict), "%s: accepted", rule->name);
	ck_assert_msg(verdict.reason == rule->reason, "%s: reason %u instead of %u (%s)", rule->name,
		      verdict.reason, rule->reason, verdict.message);
	ck_assert_msg(verdict.insn == rule->at, "%s: instruction %u instead of %u (%s)", rule->name,
		      verdict.insn, rule->at, verdict.message);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_REJECTED);
	ck_assert_msg(strlen(verdict.message) > 8, "%s: no message", rule->name);

	ck_assert_msg(validate(rule->kind, &rule->good, &verdict), "%s: the legal one is refused: %s",
		      rule->name, verdict.message);
	ck_assert_uint_eq(verdict.status, VIRTIO_GPGPU_S_OK);
}
END_TEST

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
	TCase *tcase = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, test_rule, 0, sizeof(rules) / sizeof(*rules));
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
