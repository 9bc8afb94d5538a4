// SPDX-License-Identifier: BSD-3-Clause
/*
 * groups_random.c - random kernels whose work items wait for each other, on the interpreter and on our compiler.
 *
 *	groups_random [--count N] [--seed N] [--device NAME] [--kind groups|rows]
 *
 * How it works: a kernel is a random tree of straight code, branches and loops. Where control flow is uniform there are also
 * barriers, exchanges by way of local memory and calls of the group; r9 is kept uniform for that. Local memory is only
 * read with a barrier on either side, so that the result does not depend on the order of items. What is live over a
 * barrier is in registers and in the frame, in words and in halves. Some items fault on the way. A program that is
 * refused counts as a failure: all are legal.
 *
 * With --kind rows no item waits for another, and programs are such as the compiler makes vectors of (jit/simd.h): branches and
 * loops that items take differently, stores on the way, faults before and behind them, rows of all lengths.
 *
 * A program is known by the seed and its number. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "asm.h"
#include "gpgpu_bpf.h"
#include "target.h"

#define MAX_INSNS  4096
#define ROOM	   3000 /* no more is begun from here on */
#define LOCAL_SIZE (8 * 64 + 8)
#define COUNTER	   (8 * 64) /* in local memory */
#define TABLE_SIZE 4096
#define MAX_ITEMS  (64 * 12)

struct gen {
	struct bpf_insn insns[MAX_INSNS];
	uint32_t count;
	uint64_t random;
	uint32_t depth;
	bool rows;
};

static uint32_t draw(struct gen *g, uint32_t below)
{
	uint64_t z = g->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) >> 32) % below;
}

static void put(struct gen *g, struct bpf_insn insn)
{
	if (g->count == MAX_INSNS)
		abort();
	g->insns[g->count++] = insn;
}

/* r0 = number of the item in its group; r7 and r8 stay, r1 to r5 do not. The frame's last words hold what is between. */
static void put_number(struct gen *g)
{
	static const int32_t ids[] = { GPGPU_HELPER_local_id, GPGPU_HELPER_local_size };

	put(g, ST(DW, R10, -512, 0));
	for (int d = 2; d >= 0; d--) {
		for (int k = 1; k >= 0; k--) {
			put(g, MOV64K(R1, d));
			put(g, CALL(ids[k]));
			put(g, LDX(DW, R1, R10, -512));
			put(g, k ? ALU64X(BPF_MUL, R1, R0) : ALU64X(BPF_ADD, R1, R0));
			put(g, STX(DW, R10, -512, R1));
		}
	}
	put(g, LDX(DW, R0, R10, -512));
}

/* r1 = &local[8 * r0] */
static void put_local(struct gen *g)
{
	put(g, ALU64K(BPF_AND, R0, 63));
	put(g, ALU64K(BPF_LSH, R0, 3));
	put(g, INSN(BPF_LD | BPF_IMM | BPF_DW, R1, VIRTIO_GPGPU_LD_LOCAL, 0, 0));
	put(g, INSN(0, 0, 0, 0, LOCAL_SIZE));
	put(g, ALU64X(BPF_ADD, R1, R0));
}

static void put_alu(struct gen *g, bool uniform)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_XOR, BPF_OR, BPF_AND };
	int dst = draw(g, 2) ? R7 : R8, src = draw(g, 3) ? R7 + R8 - dst : R9;
	uint8_t op = ops[draw(g, sizeof(ops))];

	if (uniform && !draw(g, 4))
		put(g, ALU64K(ops[draw(g, 4)], R9, (int32_t)draw(g, 1000) + 1));
	else if (draw(g, 2))
		put(g, ALU64X(op, dst, src));
	else
		put(g, ALU64K(op, dst, (int32_t)draw(g, 1u << 31)));
}

static void put_frame(struct gen *g)
{
	int reg = draw(g, 2) ? R7 : R8;
	int16_t word = (int16_t)(-8 * (int)(draw(g, 6) + 1)), half = (int16_t)(word + 4 * (int)draw(g, 2));

	if (g->rows) /* a word is always accessed alike */
		half = (int16_t)(word - 64);
	switch (draw(g, 4)) {
	case 0:
		put(g, STX(DW, R10, word, reg));
		break;
	case 1:
		put(g, LDX(DW, reg, R10, word));
		break;
	case 2:
		put(g, STX(W, R10, half, reg));
		break;
	case 3:
		put(g, LDX(W, reg, R10, half));
		break;
	}
}

/* A word that only pointers reach, so that the frame lies in memory. */
static void put_pointer(struct gen *g)
{
	put(g, MOV64X(R1, R10));
	put(g, MOV64X(R2, R8));
	put(g, ALU64K(BPF_AND, R2, 24));
	put(g, ALU64K(BPF_ADD, R1, -128));
	put(g, ALU64X(BPF_ADD, R1, R2));
	put(g, draw(g, 2) ? STX(DW, R1, 0, R7) : LDX(DW, R7, R1, 0));
}

/* Some items may be out of the table's bounds. */
static void put_table(struct gen *g)
{
	put(g, LDX(DW, R1, R6, 16));
	put(g, MOV64X(R2, R8));
	put(g, ALU64K(BPF_AND, R2, draw(g, 8) ? TABLE_SIZE - 8 : 2 * TABLE_SIZE - 8));
	put(g, ALU64X(BPF_ADD, R1, R2));
	put(g, LDX(DW, R7, R1, 0));
}

/* r9 = number in the grid */
static void put_place(struct gen *g)
{
	put(g, MOV64K(R9, 0));
	for (int d = 2; d >= 0; d--) {
		put(g, MOV64K(R1, d));
		put(g, CALL(GPGPU_HELPER_global_size));
		put(g, ALU64X(BPF_MUL, R9, R0));
		put(g, MOV64K(R1, d));
		put(g, CALL(GPGPU_HELPER_global_id));
		put(g, ALU64X(BPF_ADD, R9, R0));
	}
}

/* To the item's own place, which later stores overwrite in part. */
static void put_store(struct gen *g)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	uint32_t size = draw(g, 4);

	put(g, STX(DW, R10, -248, R9));
	put_place(g);
	put(g, ALU64K(BPF_LSH, R9, 4));
	put(g, LDX(DW, R1, R6, 0));
	put(g, ALU64X(BPF_ADD, R1, R9));
	put(g, INSN(BPF_STX | BPF_MEM | sizes[size], R1, R7, (int16_t)(8 * (int)draw(g, 2)), 0));
	put(g, LDX(DW, R9, R10, -248));
}

/* Neighbouring elements, as most kernels load them; with a size of their own. */
static void put_row(struct gen *g)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	uint32_t size = draw(g, 4);

	put(g, MOV64K(R1, 0));
	put(g, CALL(GPGPU_HELPER_global_id));
	put(g, ALU64K(BPF_LSH, R0, (int32_t)size));
	put(g, LDX(DW, R1, R6, 16));
	put(g, ALU64X(BPF_ADD, R1, R0));
	put(g, INSN(BPF_LDX | (draw(g, 3) || size == 3 ? BPF_MEM : BPF_MEMSX) | sizes[size], R8, R1,
		    (int16_t)draw(g, 100), 0));
}

static void put_float(struct gen *g)
{
	static const int32_t one[] = { GPGPU_HELPER_sqrt32,	GPGPU_HELPER_fabs64,
				       GPGPU_HELPER_rint32,	GPGPU_HELPER_f64_from_f32,
				       GPGPU_HELPER_f32_from_u, GPGPU_HELPER_f64_from_s,
				       GPGPU_HELPER_s_from_f64, GPGPU_HELPER_floor32,
				       GPGPU_HELPER_trunc64,	GPGPU_HELPER_u32_from_f32 };
	static const int32_t two[] = { GPGPU_HELPER_fadd32, GPGPU_HELPER_fsub64, GPGPU_HELPER_fmul32,
				       GPGPU_HELPER_fdiv64, GPGPU_HELPER_fmin32, GPGPU_HELPER_fmax64,
				       GPGPU_HELPER_flt32,  GPGPU_HELPER_fle64 };
	bool from_one = draw(g, 2);

	/* A number first: a NaN's bits are any. */
	put(g, MOV64X(R1, R7));
	put(g, ALU64K(BPF_AND, R1, 0xffff));
	put(g, ALU64K(BPF_OR, R1, 1));
	put(g, CALL(GPGPU_HELPER_f64_from_u));
	put(g, MOV64X(R1, R0));
	put(g, MOV64X(R2, R0));
	put(g, CALL(from_one ? one[draw(g, sizeof(one) / sizeof(*one))]
			     : two[draw(g, sizeof(two) / sizeof(*two))]));
	put(g, MOV64X(R7, R0));
}

static void put_exchange(struct gen *g)
{
	put_number(g);
	put_local(g);
	put(g, STX(DW, R1, 0, R7));
	put(g, CALL(GPGPU_HELPER_barrier));
	put_number(g);
	put(g, ALU64K(BPF_ADD, R0, (int32_t)draw(g, 64)));
	put_local(g);
	put(g, LDX(DW, draw(g, 2) ? R7 : R8, R1, 0));
	put(g, CALL(GPGPU_HELPER_barrier));
}

static void put_counter(struct gen *g)
{
	put(g, INSN(BPF_LD | BPF_IMM | BPF_DW, R1, VIRTIO_GPGPU_LD_LOCAL, 0, COUNTER));
	put(g, INSN(0, 0, 0, 0, LOCAL_SIZE));
	put(g, ATOMIC(DW, BPF_ADD, R1, 0, R7));
	put(g, CALL(GPGPU_HELPER_barrier));
	put(g, INSN(BPF_LD | BPF_IMM | BPF_DW, R1, VIRTIO_GPGPU_LD_LOCAL, 0, COUNTER));
	put(g, INSN(0, 0, 0, 0, LOCAL_SIZE));
	put(g, LDX(DW, R8, R1, 0));
	put(g, CALL(GPGPU_HELPER_barrier));
}

static void put_together(struct gen *g)
{
	uint32_t what = draw(g, 6), op = draw(g, GP_NUM_OPS);
	int dst = draw(g, 2) ? R7 : R8;

	put(g, MOV64X(R1, R7));
	switch (what) {
	case 0:
		put(g, CALL(GPGPU_HELPER_barrier));
		return;
	case 1:
		put(g, MOV64X(R2, R9));
		put(g, ALU64K(BPF_AND, R2, 63));
		put(g, CALL(GPGPU_HELPER_broadcast));
		put(g, MOV64X(draw(g, 2) ? R9 : R8, R0));
		return;
	case 2:
		put(g, MOV64X(R2, R8));
		put(g, ALU64K(BPF_AND, R2, 63));
		put(g, CALL(GPGPU_HELPER_shuffle));
		break;
	default:
		if (op >= GP_FADD32) {
			put(g, ALU64K(BPF_AND, R1, 0xfffff));
			put(g, CALL(op < GP_FADD64 ? GPGPU_HELPER_f32_from_s : GPGPU_HELPER_f64_from_s));
			put(g, MOV64X(R1, R0));
		}
		put(g, MOV64K(R2, (int32_t)op));
		put(g, CALL(what == 3	? GPGPU_HELPER_reduce
			    : what == 4 ? GPGPU_HELPER_scan
					: GPGPU_HELPER_scan_before));
	}
	put(g, MOV64X(dst, R0));
}

static void put_block(struct gen *g, bool uniform);

/* if (reg & mask) { ... } */
static void put_branch(struct gen *g, int reg, bool uniform)
{
	uint32_t at = g->count;

	put(g, JK(BPF_JSET, reg, 1 << draw(g, 6), 0));
	g->depth++;
	put_block(g, uniform);
	g->depth--;
	g->insns[at].off = (int16_t)(g->count - at - 1);
}

/* A loop that counts in the frame. */
static void put_loop(struct gen *g, bool uniform)
{
	int16_t counter = (int16_t)(-256 - 8 * (int)g->depth);
	uint32_t at;

	put(g, ST(DW, R10, counter, (int32_t)draw(g, 4) + 1));
	at = g->count;
	g->depth++;
	put_block(g, uniform);
	g->depth--;
	put(g, LDX(DW, R1, R10, counter));
	put(g, ALU64K(BPF_SUB, R1, 1));
	put(g, STX(DW, R10, counter, R1));
	put(g, JK(BPF_JNE, R1, 0, (int)at - (int)g->count - 1));
}

/* What only rows have. */
static void put_for_rows(struct gen *g)
{
	switch (draw(g, 8)) {
	case 0:
		put_store(g);
		break;
	case 1:
	case 2:
	case 3:
		put_row(g);
		break;
	case 4:
	case 5:
		put_float(g);
		break;
	default:
		put_table(g);
	}
}

static void put_block(struct gen *g, bool uniform)
{
	uint32_t length = draw(g, 5) + 1;

	for (uint32_t i = 0; i < length; i++) {
		bool deeper = g->depth < (g->rows ? 3 : 4) && g->count < (g->rows ? ROOM / 4 : ROOM);

		if (g->rows && draw(g, 2)) {
			put_for_rows(g);
			continue;
		}
		switch (draw(g, uniform ? 12 : 7)) {
		case 0:
		case 1:
			put_alu(g, uniform);
			break;
		case 2:
		case 3:
			put_frame(g);
			break;
		case 4:
			if (g->rows || draw(g, 2))
				put_table(g);
			else
				put_pointer(g);
			break;
		case 5:
			if (deeper)
				put_branch(g, draw(g, 2) ? R7 : R8, false);
			break;
		case 6:
			if (deeper)
				put_loop(g, uniform);
			break;
		case 7:
			if (deeper)
				put_branch(g, R9, true);
			break;
		case 8:
			put_exchange(g);
			break;
		case 9:
			put_counter(g);
			break;
		default:
			put_together(g);
		}
	}
}

/* out[2 * number in the grid] = r7, r8 */
static void put_result(struct gen *g)
{
	put_place(g);
	put(g, ALU64K(BPF_LSH, R9, 4));
	put(g, LDX(DW, R1, R6, 0));
	put(g, ALU64X(BPF_ADD, R1, R9));
	put(g, STX(DW, R1, 0, R7));
	put(g, STX(DW, R1, 8, R8));
	put(g, MOV64K(R0, 0));
	put(g, EXIT);
}

static void make(struct gen *g, uint64_t seed, uint64_t number, struct run *run)
{
	g->count = g->depth = 0;
	g->random = seed + number * 0xd1342543de82ef95ull;
	put(g, MOV64X(R6, R1));
	put(g, LDX(DW, R9, R6, 8));
	put(g, MOV64K(R1, 0));
	put(g, CALL(GPGPU_HELPER_global_id));
	put(g, MOV64X(R7, R0));
	put(g, ALU64K(BPF_MUL, R7, (int32_t)draw(g, 1u << 31)));
	put_number(g);
	put(g, MOV64X(R8, R0));
	for (uint32_t i = draw(g, 4) + 1; i; i--)
		put_block(g, !g->rows);
	put_result(g);

	run->insns = g->insns;
	run->num_insns = g->count;
	run->args[1].value = draw(g, 1u << 31);
	do {
		for (int d = 0; d < 3; d++)
			run->group[d] = draw(g, d ? 4 : 16) + 1;
	} while (run->group[0] * run->group[1] * run->group[2] > 64);
	for (int d = 0; d < 3; d++)
		run->grid[d] = run->group[d] * (draw(g, d ? 2 : 3) + 1);
	if (g->rows) {
		run->grid[0] = draw(g, 40) + 1;
		run->group[0] = 1u << draw(g, 6);
	}
}

/* Return: whether all is well. */
static bool compare(const struct target *target, const struct run *run, uint64_t number, uint64_t *faults)
{
	struct outcome want, got;
	char why[256] = "";
	bool ok;

	target_interp.run(run, &want);
	target->run(run, &got);
	*faults += want.faults;
	ok = !got.refused && outcome_diff(run, &want, &got, why) == OUTCOME_SAME;
	if (!ok)
		printf("# program %llu, %u instructions: %s\n", (unsigned long long)number, run->num_insns,
		       got.refused ? got.message : why);
	outcome_free(&want);
	outcome_free(&got);
	return ok;
}

int main(int argc, char **argv)
{
	static uint8_t out[16 * MAX_ITEMS], table[TABLE_SIZE];
	static struct gen gen;
	struct run run = {
		.name = "random groups", .kind = VIRTIO_GPGPU_PROG_GPGPU, .fuel = 1 << 20, .num_args = 3
	};
	const struct target *target = &target_jit;
	uint64_t count = 300, seed = 1, bad = 0, faults = 0;
	const char *why;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--device"))
			target = target_find(argv[i + 1]);
		else if (!strcmp(argv[i], "--kind"))
			gen.rows = !strcmp(argv[i + 1], "rows");
	}
	if (!target) {
		fprintf(stderr, "there is no such device\n");
		return 1;
	}
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		table[i] = (uint8_t)(i * 37 + i / 8);
	run.args[0] = (struct run_arg){ .kind = VIRTIO_GPGPU_ARG_BUFFER, .init = out, .size = sizeof(out) };
	run.args[1] = (struct run_arg){ .kind = VIRTIO_GPGPU_ARG_VALUE };
	run.args[2] =
		(struct run_arg){ .kind = VIRTIO_GPGPU_ARG_BUFFER_RO, .init = table, .size = sizeof(table) };
	why = target->open();
	if (why) {
		printf("1..0 # SKIP %s: %s\n", target->name, why);
		return 0;
	}
	for (uint64_t n = 0; n < count; n++) {
		make(&gen, seed, n, &run);
		bad += !compare(target, &run, n, &faults);
	}
	target->close();
	printf("%s 1 - %llu programs on %s as on the interpreter; %llu differ\n", bad ? "not ok" : "ok",
	       (unsigned long long)count, target->name, (unsigned long long)bad);
	printf("%s 2 - some items fault: %llu\n", faults || count < 100 ? "ok" : "not ok",
	       (unsigned long long)faults);
	printf("1..2\n");
	return bad != 0;
}
