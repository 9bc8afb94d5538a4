// SPDX-License-Identifier: BSD-3-Clause
/*
 * vectors_run.c - runs the tables of vectors.h on every target that this machine has.
 *
 * Rows become programs here: one for each operation and form (64 or 32 bits, register or immediate), which
 * loads the operands of all its rows from the packet and stores the results beside them. Vectors get a
 * prologue (R9 = context) and an epilogue (R0 over the packet's first 8 bytes).
 *
 *	vectors [--device TARGET]...	all that can be opened unless named
 *	vectors --find			every target that is broken on purpose must fail
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "coverage.h"
#include "gpgpu_bpf.h"
#include "target.h"
#include "vector_maps.h"
#include "vectors.h"

#define MAX_PROG  4096
#define FUEL	  100000
#define ROW_BYTES 24  /* a, b, result */

static uint32_t cases, failures, found;
static bool good;  /* the case that runs has not failed yet */
static bool quiet; /* looking for failures: only count them */
static void (*trace)(void *opaque, const struct interp_step *step); /* of all runs */

/* A case is one program on one target, and one line of TAP, after what is wrong with it. */
static void begin(void)
{
	good = true;
}

static void end(const struct target *target, const char *name)
{
	if (quiet) {
		found += !good;
		return;
	}
	failures += !good;
	printf("%s %u - %s: %s\n", good ? "ok" : "not ok", ++cases, target->name, name);
}

/* @format: of @got and @want, two uint64_t. */
static void check(bool ok, const char *name, const char *format, uint64_t got, uint64_t want)
{
	if (ok)
		return;
	good = false;
	if (quiet)
		return;
	printf("# FAIL %s: ", name);
	printf(format, got, want);
	printf("\n");
}

static void complain(const char *message)
{
	printf("# ");
	for (; *message; message++)
		if (*message != '\n')
			putchar(*message);
		else if (message[1])
			printf("\n# ");
	printf("\n");
}

/* Return: false, and the case has failed, if the target did not take or finish the program. */
static bool ran(const struct run *run, const struct outcome *outcome)
{
	if (quiet) {
		good = !outcome->refused && !outcome->faults;
		return good;
	}
	if (outcome->refused) {
		printf("# FAIL %s: refused: status %u, reason %u, instruction %u\n", run->name,
		       outcome->status, outcome->reason, outcome->insn);
		complain(outcome->message);
	} else if (outcome->faults) {
		printf("# FAIL %s: fault %u at instruction %u\n", run->name, outcome->fault,
		       outcome->fault_insn);
	} else {
		return true;
	}
	good = false;
	return false;
}

/* ------------------------------------------------------------------ rows */
static const struct {
	const char *name;
	uint8_t op;
	int16_t off;
} row_ops[ROW_OPS] = {
	[ADD] = { "add", BPF_ADD, 0 }, [SUB] = { "sub", BPF_SUB, 0 },	 [MUL] = { "mul", BPF_MUL, 0 },
	[DIV] = { "div", BPF_DIV, 0 }, [SDIV] = { "sdiv", BPF_DIV, 1 },	 [OR] = { "or", BPF_OR, 0 },
	[AND] = { "and", BPF_AND, 0 }, [LSH] = { "lsh", BPF_LSH, 0 },	 [RSH] = { "rsh", BPF_RSH, 0 },
	[MOD] = { "mod", BPF_MOD, 0 }, [SMOD] = { "smod", BPF_MOD, 1 },	 [XOR] = { "xor", BPF_XOR, 0 },
	[MOV] = { "mov", BPF_MOV, 0 }, [ARSH] = { "arsh", BPF_ARSH, 0 },
};

static const struct {
	const char *name;
	uint8_t op;
} jump_ops[] = {
	{ "jeq", BPF_JEQ },   { "jne", BPF_JNE },   { "jgt", BPF_JGT },	  { "jge", BPF_JGE },
	{ "jlt", BPF_JLT },   { "jle", BPF_JLE },   { "jset", BPF_JSET }, { "jsgt", BPF_JSGT },
	{ "jsge", BPF_JSGE }, { "jslt", BPF_JSLT }, { "jsle", BPF_JSLE },
};

struct rows {
	struct bpf_insn insns[MAX_PROG];
	uint32_t n;
	uint8_t packet[RUN_MAX_LEN];
	uint64_t expect[RUN_MAX_LEN / ROW_BYTES];
	uint32_t num;
	char name[64];
};

static void put(struct rows *rows, struct bpf_insn insn)
{
	rows->insns[rows->n++] = insn;
}

/* R6 = data after a check that the whole packet is there. */
static void rows_begin(struct rows *rows, uint32_t num, const char *op, bool wide, bool reg)
{
	memset(rows, 0, sizeof(*rows));
	snprintf(rows->name, sizeof(rows->name), "rows of %s%s, %s", op, wide ? "" : "32",
		 reg ? "register" : "immediate");
	put(rows, MOV64K(R0, XDP_DROP));
	put(rows, LDX(W, R6, R1, 0));
	put(rows, LDX(W, R7, R1, 4));
	put(rows, MOV64X(R2, R6));
	put(rows, ALU64K(BPF_ADD, R2, (int32_t)(num * ROW_BYTES)));
	put(rows, JX(BPF_JLE, R2, R7, 1));
	put(rows, EXIT);
}

static void rows_add(struct rows *rows, uint64_t a, uint64_t b, uint64_t expect)
{
	memcpy(rows->packet + rows->num * ROW_BYTES, &a, 8);
	memcpy(rows->packet + rows->num * ROW_BYTES + 8, &b, 8);
	memset(rows->packet + rows->num * ROW_BYTES + 16, 0xee, 8);
	rows->expect[rows->num++] = expect;
	put(rows, LDX(DW, R3, R6, (int16_t)((rows->num - 1) * ROW_BYTES)));
	put(rows, LDX(DW, R4, R6, (int16_t)((rows->num - 1) * ROW_BYTES + 8)));
}

static void rows_store(struct rows *rows, uint8_t reg)
{
	put(rows, STX(DW, R6, (int16_t)((rows->num - 1) * ROW_BYTES + 16), reg));
}

static void rows_run(const struct target *target, struct rows *rows)
{
	struct run run = { .name = rows->name,
			   .kind = VIRTIO_GPGPU_PROG_XDP,
			   .insns = rows->insns,
			   .fuel = FUEL,
			   .packets = { { rows->packet, rows->num * ROW_BYTES, 0, 0, 1 } },
			   .num_packets = 1 };
	struct outcome outcome;
	char what[160];

	put(rows, MOV64K(R0, XDP_PASS));
	put(rows, EXIT);
	run.num_insns = rows->n;
	begin();
	run.trace = trace;
	target->run(&run, &outcome);
	if (ran(&run, &outcome)) {
		for (uint32_t i = 0; i < rows->num; i++) {
			uint64_t row[3];

			memcpy(row, outcome.bytes + i * ROW_BYTES, sizeof(row));
			snprintf(what, sizeof(what), "%s: %#" PRIx64 ", %#" PRIx64, rows->name, row[0],
				 row[1]);
			check(row[2] == rows->expect[i], what, "%#" PRIx64 " instead of %#" PRIx64, row[2],
			      rows->expect[i]);
		}
	}
	end(target, run.name);
	outcome_free(&outcome);
}

/* As an immediate @b must be what sign extension makes of its low half; 32-bit forms see no more. */
static bool fits(uint64_t b, bool wide)
{
	return !wide || b == (uint64_t)(int64_t)(int32_t)b;
}

/* The kernel refuses immediates that divide by zero or shift by the width or more. */
static bool usable(const struct target *target, const struct alu_row *row, bool wide, bool reg)
{
	if (reg)
		return true;
	if (!fits(row->b, wide))
		return false;
	if (!target->kernel)
		return true;
	switch (row->op) {
	case DIV:
	case SDIV:
	case MOD:
	case SMOD:
		return (uint32_t)row->b != 0;
	case LSH:
	case RSH:
	case ARSH:
		return (uint32_t)row->b < (wide ? 64 : 32);
	default:
		return true;
	}
}

static void alu_form(const struct target *target, enum row_op op, bool wide, bool reg)
{
	static struct rows rows;
	uint32_t num = 0;

	for (uint32_t i = 0; i < num_alu_rows; i++)
		num += alu_rows[i].op == op && usable(target, &alu_rows[i], wide, reg);
	rows_begin(&rows, num, row_ops[op].name, wide, reg);
	for (uint32_t i = 0; i < num_alu_rows; i++) {
		const struct alu_row *row = &alu_rows[i];

		if (row->op != op || !usable(target, row, wide, reg))
			continue;
		rows_add(&rows, row->a, row->b, wide ? row->wide : row->narrow);
		put(&rows, INSN((wide ? BPF_ALU64 : BPF_ALU) | (reg ? BPF_X : BPF_K) | row_ops[op].op, R3,
				reg ? R4 : 0, row_ops[op].off, reg ? 0 : row->b));
		rows_store(&rows, R3);
	}
	rows_run(target, &rows);
}

/* Taken it goes forward over a move, or @back to one. */
static void jump_form(const struct target *target, uint32_t op, bool wide, bool reg, bool back)
{
	static struct rows rows;
	uint32_t num = 0;

	for (uint32_t i = 0; i < num_jump_rows; i++)
		num += jump_rows[i].op == jump_ops[op].op && (reg || fits(jump_rows[i].b, wide));
	rows_begin(&rows, num, jump_ops[op].name, wide, reg);
	if (back)
		strcat(rows.name, ", backward");
	for (uint32_t i = 0; i < num_jump_rows; i++) {
		const struct jump_row *row = &jump_rows[i];
		struct bpf_insn jump = INSN((wide ? BPF_JMP : BPF_JMP32) | (reg ? BPF_X : BPF_K) | row->op,
					    R3, reg ? R4 : 0, back ? -3 : 1, reg ? 0 : row->b);

		if (row->op != jump_ops[op].op || (!reg && !fits(row->b, wide)))
			continue;
		rows_add(&rows, row->a, row->b, wide ? row->wide : row->narrow);
		if (back) {
			put(&rows, MOV64K(R5, 0));
			put(&rows, JA(2));
			put(&rows, MOV64K(R5, 1));
			put(&rows, JA(1));
			put(&rows, jump);
		} else {
			put(&rows, MOV64K(R5, 1));
			put(&rows, jump);
			put(&rows, MOV64K(R5, 0));
		}
		rows_store(&rows, R5);
	}
	rows_run(target, &rows);
}

static void all_rows(const struct target *target)
{
	for (int form = 0; form < 4; form++) {
		for (uint32_t op = 0; op < ROW_OPS; op++)
			alu_form(target, op, form & 1, form & 2);
		for (uint32_t op = 0; op < sizeof(jump_ops) / sizeof(jump_ops[0]); op++)
			for (int back = 0; back < 2; back++)
				jump_form(target, op, form & 1, form & 2, back);
	}
}

/* ------------------------------------------------------------------ vectors */
static uint8_t packet[VECTOR_META + VECTOR_LEN];
static uint8_t result_init[64], input_init[64];

static void make_inputs(void)
{
	vector_maps_init();
	for (int i = 0; i < VECTOR_META; i++)
		packet[i] = (uint8_t)(0xa0 + i);
	for (int i = 0; i < VECTOR_LEN; i++)
		packet[VECTOR_META + i] = (uint8_t)(0xc0 + i);
	for (int i = 0; i < 64; i++) {
		input_init[i] = (uint8_t)i;
	}
	memset(result_init, 0xee, sizeof(result_init));
}

static void check_r0(const struct vector *vector, const struct outcome *outcome)
{
	uint64_t r0;

	if (vector->kind == VECTOR_R0) {
		if (outcome->packets[0].verdict != XDP_PASS) {
			check(false, vector->name, "verdict %" PRIu64 " instead of %" PRIu64,
			      outcome->packets[0].verdict, XDP_PASS);
			return;
		}
		memcpy(&r0, outcome->bytes + outcome->packets[0].meta_len, 8);
	} else {
		memcpy(&r0, outcome->bytes, 8);
	}
	check(r0 == vector->expect, vector->name, "R0 %#" PRIx64 " instead of %#" PRIx64, r0, vector->expect);
}

static void check_refused(const struct vector *vector, const struct outcome *outcome)
{
	if (!outcome->refused)
		check(false, vector->name, "accepted (%" PRIu64 "); reason wanted: %" PRIu64, 1,
		      vector->expect);
	else if (outcome->reason != vector->expect && vector->expect != VIRTIO_GPGPU_R_ANY)
		check(false, vector->name, "refused with reason %" PRIu64 " instead of %" PRIu64,
		      outcome->reason, vector->expect);
	else
		check(outcome->insn == vector->at || vector->at == ANY_INSN, vector->name,
		      "refused at instruction %" PRIu64 " instead of %" PRIu64, outcome->insn, vector->at);
}

static void check_fault(const struct vector *vector, const struct outcome *outcome)
{
	if (outcome->refused)
		check(false, vector->name, "refused with reason %" PRIu64 "; fault wanted: %" PRIu64,
		      outcome->reason, vector->expect);
	else if (outcome->faults != 1 || outcome->fault != vector->expect)
		check(false, vector->name, "fault %" PRIu64 " instead of %" PRIu64, outcome->fault,
		      vector->expect);
	else
		check(outcome->packets[0].verdict == XDP_ABORTED, vector->name,
		      "verdict %" PRIu64 " instead of %" PRIu64, outcome->packets[0].verdict, XDP_ABORTED);
}

static void vector_run(const struct target *target, const struct vector *vector)
{
	static struct bpf_insn insns[MAX_PROG];
	static struct used_maps used;
	struct run run = { .name = vector->name,
			   .kind = VIRTIO_GPGPU_PROG_XDP,
			   .insns = insns,
			   .fuel = FUEL,
			   .packets = { { packet, VECTOR_LEN, VECTOR_META, 0, 1 } },
			   .num_packets = 1 };
	bool kernel = vector->kind == VECTOR_KERNEL;
	bool whole = vector->kind == VECTOR_VERDICT || vector->kind == VECTOR_REFUSED;
	struct outcome outcome;
	uint32_t n = 0;

	if (!whole)
		insns[n++] = MOV64X(R9, R1);
	n += asm_resolve(vector->insns, vector->num_insns, insns + n, MAX_PROG - n,
			 kernel ? done_kernel : done_xdp,
			 whole	  ? 0
			 : kernel ? num_done_kernel
				  : num_done_xdp);
	run.num_insns = n;
	vector_use_maps(&run, &used, insns);
	if (kernel) {
		run.kind = VIRTIO_GPGPU_PROG_GPGPU;
		run.num_packets = 0;
		run.num_args = 3;
		run.args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, result_init, 64 };
		run.args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER_RO, 0, input_init, 64 };
		run.args[2] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, 0x1122334455667788, NULL, 0 };
		for (int i = 0; i < 3; i++)
			run.grid[i] = run.group[i] = 1;
	}
	begin();
	run.trace = trace;
	target->run(&run, &outcome);
	if (vector->kind == VECTOR_REFUSED)
		check_refused(vector, &outcome);
	else if (vector->kind == VECTOR_FAULT)
		check_fault(vector, &outcome);
	else if (ran(&run, &outcome)) {
		if (vector->kind == VECTOR_VERDICT)
			check(outcome.packets[0].verdict == vector->expect, vector->name,
			      "verdict %" PRIu64 " instead of %" PRIu64, outcome.packets[0].verdict,
			      vector->expect);
		else
			check_r0(vector, &outcome);
	}
	end(target, run.name);
	outcome_free(&outcome);
}

/* Over much code: in both senses, plainly and by gotol, and to a function behind it. */
static void long_jumps(const struct target *target)
{
	enum { FILL = 1200 };
	static const int32_t distance[2] = { FILL + 1, FILL + 1 };
	static struct bpf_insn insns[MAX_PROG];
	const char *names[3] = { "goto over 1,200 instructions and back",
				 "gotol over 1,200 instructions and back", "call over 1,200 instructions" };

	for (int form = 0; form < 3; form++) {
		struct run run = { .name = names[form],
				   .kind = VIRTIO_GPGPU_PROG_XDP,
				   .insns = insns,
				   .fuel = FUEL,
				   .packets = { { packet, VECTOR_LEN, VECTOR_META, 0, 1 } },
				   .num_packets = 1 };
		struct outcome outcome;
		uint32_t n = 0, filled;

		/* R7 says that the way back was taken; R6, which nothing knows, that the code between is not dead. */
		insns[n++] = LDX(W, R6, R1, 12);
		insns[n++] = MOV64K(R0, XDP_DROP);
		insns[n++] = MOV64K(R7, 0);
		insns[n++] = JK(BPF_JEQ, R6, 77, form == 2 ? 2 : 1);
		if (form == 2)
			insns[n++] = CALL_LOCAL(FILL + 2);
		insns[n++] = form == 0 ? JA(distance[0]) : form == 1 ? GOTOL(distance[0]) : JA(FILL);
		filled = n;
		for (int i = 0; i < FILL; i++)
			insns[n++] = i == 0 && form < 2 ? JK(BPF_JEQ, R7, 1, FILL + 1)
							: ALU64K(BPF_XOR, R0, i);
		if (form == 2) {
			insns[n++] = EXIT;
			insns[n++] = MOV64K(R0, XDP_TX);
			insns[n++] = EXIT;
		} else {
			insns[n++] = EXIT;
			/* Where the jump arrives: go back to the code's start, and from there on to the end. */
			insns[n++] = MOV64K(R7, 1);
			insns[n] = form == 0 ? JA((int32_t)filled - (int32_t)n - 1)
					     : GOTOL((int32_t)filled - (int32_t)n - 1);
			n++;
			insns[filled].off = (int16_t)(n - filled - 1);
			insns[n++] = MOV64K(R0, XDP_TX);
			insns[n++] = EXIT;
		}
		run.num_insns = n;
		run.trace = trace;
		begin();
		target->run(&run, &outcome);
		if (ran(&run, &outcome))
			check(outcome.packets[0].verdict == XDP_TX, run.name,
			      "verdict %" PRIu64 " instead of %" PRIu64, outcome.packets[0].verdict, XDP_TX);
		end(target, run.name);
		outcome_free(&outcome);
	}
}

static bool can(const struct target *target, const struct vector *vector)
{
	if (vector->kind == VECTOR_REFUSED)
		return target->validates;
	return !(target->kernel && (vector->flags & VECTOR_NO_KERNEL));
}

/* ------------------------------------------------------------------ floating point */
#define FLOAT_BATCH 128

static bool is_quiet_nan(uint64_t bits, uint64_t which)
{
	if (which == F32_NAN)
		return (bits & 0x7fc00000) == 0x7fc00000 && bits >> 32 == 0;
	return (bits & F64_NAN) == F64_NAN;
}

static void float_batch(const struct target *target, const struct float_row *row, uint32_t num)
{
	static struct bpf_insn insns[MAX_PROG];
	struct run run = { .name = "floating-point helpers",
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .insns = insns,
			   .fuel = FUEL,
			   .num_args = 2,
			   .grid = { 1, 1, 1 },
			   .group = { 1, 1, 1 } };
	uint64_t in[FLOAT_BATCH * 3], out[FLOAT_BATCH];
	struct outcome outcome;
	uint32_t n = 0;
	char what[128];

	memset(out, 0xee, sizeof(out));
	insns[n++] = LDX(DW, R6, R1, 0);
	insns[n++] = LDX(DW, R7, R1, 8);
	for (uint32_t i = 0; i < num; i++) {
		in[i * 3] = row[i].a;
		in[i * 3 + 1] = row[i].b;
		in[i * 3 + 2] = row[i].c;
		insns[n++] = LDX(DW, R1, R7, (int16_t)(i * 24));
		insns[n++] = LDX(DW, R2, R7, (int16_t)(i * 24 + 8));
		insns[n++] = LDX(DW, R3, R7, (int16_t)(i * 24 + 16));
		insns[n++] = CALL((int32_t)row[i].helper);
		insns[n++] = STX(DW, R6, (int16_t)(i * 8), R0);
	}
	insns[n++] = MOV64K(R0, 0);
	insns[n++] = EXIT;
	run.num_insns = n;
	run.args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, (uint8_t *)out, num * 8 };
	run.args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER_RO, 0, (uint8_t *)in, num * 24 };
	begin();
	run.trace = trace;
	target->run(&run, &outcome);
	if (ran(&run, &outcome)) {
		for (uint32_t i = 0; i < num; i++) {
			uint64_t got;

			memcpy(&got, outcome.bytes + i * 8, 8);
			snprintf(what, sizeof(what),
				 "float helper %#x (%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ")", row[i].helper,
				 row[i].a, row[i].b, row[i].c);
			check(got == row[i].expect ||
				      ((row[i].expect == F32_NAN || row[i].expect == F64_NAN) &&
				       is_quiet_nan(got, row[i].expect)),
			      what, "%#" PRIx64 " instead of %#" PRIx64, got, row[i].expect);
		}
	}
	end(target, run.name);
	outcome_free(&outcome);
}

static void all_floats(const struct target *target)
{
	for (uint32_t i = 0; i < num_float_rows; i += FLOAT_BATCH)
		float_batch(target, float_rows + i,
			    num_float_rows - i < FLOAT_BATCH ? num_float_rows - i : FLOAT_BATCH);
}

/* ------------------------------------------------------------------ a grid of three dimensions */
static void grid_ids(const struct target *target)
{
	static const uint32_t helpers[6] = { GPGPU_HELPER_global_id, GPGPU_HELPER_global_size,
					     GPGPU_HELPER_local_id,  GPGPU_HELPER_local_size,
					     GPGPU_HELPER_group_id,  GPGPU_HELPER_num_groups };
	enum { X = 5, Y = 3, Z = 2, ITEMS = X * Y * Z, IDS = 18 };
	static const uint32_t size[3] = { X, Y, Z }, group[3] = { 2, 2, 1 }, groups[3] = { 3, 2, 2 };
	static uint8_t out[ITEMS * IDS];
	static struct bpf_insn insns[MAX_PROG];
	struct run run = { .name = "ids of a 5 x 3 x 2 grid",
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .insns = insns,
			   .fuel = FUEL,
			   .num_args = 1,
			   .grid = { X, Y, Z },
			   .group = { 2, 2, 1 } };
	struct outcome outcome;
	uint32_t n = 0, wrong = 0;

	memset(out, 0xee, sizeof(out));
	insns[n++] = LDX(DW, R6, R1, 0);
	/* R7 = (z * 3 + y) * 5 + x */
	insns[n++] = MOV64K(R7, 0);
	for (int d = 2; d >= 0; d--) {
		insns[n++] = MOV64K(R1, d);
		insns[n++] = CALL(GPGPU_HELPER_global_id);
		insns[n++] = ALU64K(BPF_MUL, R7, (int32_t)size[d]);
		insns[n++] = ALU64X(BPF_ADD, R7, R0);
	}
	insns[n++] = ALU64K(BPF_MUL, R7, IDS);
	insns[n++] = ALU64X(BPF_ADD, R6, R7);
	for (int i = 0; i < IDS; i++) {
		insns[n++] = MOV64K(R1, i % 3);
		insns[n++] = CALL((int32_t)helpers[i / 3]);
		insns[n++] = STX(B, R6, (int16_t)i, R0);
	}
	insns[n++] = MOV64K(R0, 0);
	insns[n++] = EXIT;
	run.num_insns = n;
	run.args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, out, sizeof(out) };
	begin();
	run.trace = trace;
	target->run(&run, &outcome);
	if (ran(&run, &outcome)) {
		for (uint32_t item = 0; item < ITEMS; item++) {
			uint32_t id[3] = { item % X, item / X % Y, item / X / Y };
			const uint8_t *got = outcome.bytes + item * IDS;

			for (int d = 0; d < 3; d++)
				wrong += got[d] != id[d] || got[3 + d] != size[d] ||
					 got[6 + d] != id[d] % group[d] || got[9 + d] != group[d] ||
					 got[12 + d] != id[d] / group[d] || got[15 + d] != groups[d];
		}
		check(wrong == 0, run.name, "%" PRIu64 " wrong instead of %" PRIu64, wrong, 0);
	}
	end(target, run.name);
	outcome_free(&outcome);
}

static void all_vectors(const struct target *target)
{
	all_rows(target);
	for (uint32_t i = 0; i < num_vectors; i++)
		if (can(target, &vectors[i]))
			vector_run(target, &vectors[i]);
	for (uint32_t i = 0; i < num_more_vectors; i++)
		if (can(target, &more_vectors[i]))
			vector_run(target, &more_vectors[i]);
	long_jumps(target);
	if (!target->kernel) {
		all_floats(target);
		grid_ids(target);
	}
}

static void on_target(const struct target *target, bool asked)
{
	const char *why = target->open();

	if (why) {
		/* Asked for by name it must be there. */
		failures += asked;
		printf("%s %u - %s # SKIP %s\n", asked ? "not ok" : "ok", ++cases, target->name, why);
		return;
	}
	all_vectors(target);
	target->close();
}

static void find_broken(void)
{
	quiet = true;
	for (uint32_t t = 0; t < num_targets; t++) {
		if (!targets[t]->broken)
			continue;
		found = 0;
		all_vectors(targets[t]);
		failures += !found;
		printf("%s %u - %s: %u vectors fail\n", found ? "ok" : "not ok", ++cases, targets[t]->name,
		       found);
	}
}

/* Every row of the table of coverage.c must be reached by some vector. */
static void check_coverage(void)
{
	uint32_t rows, missing;

	quiet = true;
	trace = coverage_trace;
	all_vectors(&target_interp);
	quiet = false;
	trace = NULL;
	missing = coverage_missing(&rows);
	failures += missing != 0;
	printf("%s %u - coverage: %u of %u rows of (opcode, mode, corner) are reached\n",
	       missing ? "not ok" : "ok", ++cases, rows - missing, rows);
}

int main(int argc, char **argv)
{
	bool find = argc == 2 && !strcmp(argv[1], "--find");

	make_inputs();
	if (find)
		find_broken();
	else if (argc == 1)
		check_coverage();
	for (uint32_t t = 0; argc == 1 && t < num_targets; t++)
		if (!targets[t]->optional)
			on_target(targets[t], false);
	for (int i = 1; i < argc && !find; i++) {
		const struct target *target = target_find(argv[i]);

		if (!strcmp(argv[i], "--device"))
			continue;
		if (!target) {
			fprintf(stderr, "vectors: no target %s\n", argv[i]);
			return 2;
		}
		on_target(target, true);
	}
	printf("1..%u\n", cases);
	return failures ? 1 : 0;
}
