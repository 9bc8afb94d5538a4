// SPDX-License-Identifier: BSD-3-Clause
/*
 * gen.c - the structure of random programs: functions, branches, loops, calls; and their input.
 *
 * Every program ends by folding its live scalars into one number, which it stores over the packet's (buffer's)
 * first 8 bytes and takes its verdict from, so that a wrong value anywhere shows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "disasm.h"
#include "gen.h"
#include "gpgpu_bpf.h"

#define FUEL	   200000
#define MAX_DEPTH  3
#define GRID_X	   5
#define GRID_Y	   3
#define ITEMS	   (GRID_X * GRID_Y)
#define ITEM_BYTES 64

const char *const random_features[RANDOM_FEATURES] = { "maps", "loop", "tails", "more" };

uint64_t gen_random(struct gen *g)
{
	uint64_t z = (g->state += 0x9e3779b97f4a7c15ull); /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint32_t gen_below(struct gen *g, uint32_t n)
{
	return (uint32_t)((gen_random(g) >> 32) * n >> 32);
}

bool gen_chance(struct gen *g, uint32_t percent)
{
	return gen_below(g, 100) < percent;
}

uint64_t gen_constant(struct gen *g)
{
	static const uint64_t corners[] = {
		0,
		1,
		2,
		3,
		7,
		8,
		31,
		32,
		63,
		0x7f,
		0x80,
		0xff,
		0x7fff,
		0x8000,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0x3f800000,
		0x7f800000,
		0x8000000000000000,
		0x7fffffffffffffff,
		0x3ff0000000000000,
	};
	uint64_t value = gen_chance(g, 70) ? corners[gen_below(g, sizeof(corners) / 8)] : gen_random(g);

	return gen_chance(g, 30) ? 0 - value : value;
}

void gen_emit(struct gen *g, struct bpf_insn insn)
{
	if (g->n == g->max) {
		fprintf(stderr, "random: program too long\n");
		exit(2);
	}
	g->out[g->n++] = insn;
}

void gen_emit2(struct gen *g, const struct bpf_insn pair[2])
{
	gen_emit(g, pair[0]);
	gen_emit(g, pair[1]);
}

void gen_stack_pointer(struct gen *g, uint8_t reg, int32_t below)
{
	gen_emit(g, MOV64X(reg, R10));
	gen_emit(g, ALU64K(BPF_ADD, reg, below));
}

uint8_t gen_read(struct gen *g)
{
	uint8_t reg;

	if (!(g->live & ~g->held)) {
		reg = gen_write(g);
		gen_emit(g, MOV64K(reg, (int32_t)gen_constant(g)));
		return reg;
	}
	do
		reg = (uint8_t)gen_below(g, 10);
	while (!(g->live & ~g->held & 1u << reg));
	return reg;
}

uint8_t gen_write(struct gen *g)
{
	/* R7 and R8 may be counters: they are only written where they are live already. */
	uint32_t may = (0x3fu | g->live) & ~g->held;
	uint8_t reg;

	do
		reg = (uint8_t)gen_below(g, 10);
	while (!(may & 1u << reg));
	g->live |= 1u << reg;
	return reg;
}

void gen_after_call(struct gen *g)
{
	g->live = (g->live & ~0x3eu) | 1;
}

void gen_void(struct gen *g)
{
	gen_emit(g, MOV64K(R0, (int32_t)gen_constant(g)));
	g->live |= 1;
}

uint32_t gen_jump(struct gen *g, struct bpf_insn insn)
{
	gen_emit(g, insn);
	return g->n - 1;
}

void gen_here(struct gen *g, uint32_t jump)
{
	struct bpf_insn *insn = &g->out[jump];

	if (insn->code == (BPF_JMP32 | BPF_JA))
		insn->imm = (int32_t)(g->n - jump - 1);
	else
		insn->off = (int16_t)(g->n - jump - 1);
}

void gen_packet(struct gen *g, uint32_t len)
{
	uint32_t jump, good;

	gen_emit(g, LDX(W, R6, R9, 0));
	gen_emit(g, LDX(W, R1, R9, 4));
	g->live &= ~6u;
	g->len = len;
	if (gen_chance(g, 5)) {
		/* By the difference, from which the kernel learns nothing. */
		g->made->no_kernel = true;
		gen_emit(g, ALU64X(BPF_SUB, R1, R6));
		jump = gen_jump(g, JK(BPF_JGE, R1, (int32_t)len, 0));
	} else {
		gen_emit(g, MOV64X(R2, R6));
		gen_emit(g, ALU64K(BPF_ADD, R2, (int32_t)len));
		if (gen_chance(g, 40)) {
			/* The way to go on is behind the way out. */
			jump = gen_jump(g,
					gen_chance(g, 50) ? JX(BPF_JGT, R2, R1, 0) : JX(BPF_JLT, R1, R2, 0));
			good = gen_jump(g, JA(0));
			gen_here(g, jump);
			jump = good;
		} else {
			jump = gen_jump(g,
					gen_chance(g, 50) ? JX(BPF_JLE, R2, R1, 0) : JX(BPF_JGE, R1, R2, 0));
		}
	}
	gen_emit(g, MOV64K(R0, XDP_DROP));
	gen_emit(g, EXIT);
	gen_here(g, jump);
}

struct bpf_insn gen_condition(struct gen *g)
{
	static const uint8_t ops[] = { BPF_JEQ,	 BPF_JNE,  BPF_JGT,  BPF_JGE,  BPF_JLT, BPF_JLE,
				       BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };
	uint8_t op = ops[gen_below(g, sizeof(ops))], a = gen_read(g), b = gen_read(g);
	int32_t imm = (int32_t)gen_constant(g);

	switch (gen_below(g, 4)) {
	case 0:
		return JX(op, a, b, 0);
	case 1:
		return JK(op, a, imm, 0);
	case 2:
		return J32X(op, a, b, 0);
	default:
		return J32K(op, a, imm, 0);
	}
}

static void block(struct gen *g, uint32_t statements);

static void branch(struct gen *g)
{
	uint32_t skip = gen_jump(g, gen_condition(g)), before = g->live, len = g->len;
	uint32_t after, end, other;

	g->depth++;
	block(g, 1 + gen_below(g, 4));
	after = g->live;
	if (gen_chance(g, 50)) {
		end = gen_jump(g, gen_chance(g, 80) ? JA(0) : GOTOL(0));
		gen_here(g, skip);
		other = g->len;
		g->len = len;
		g->live = before;
		block(g, 1 + gen_below(g, 4));
		g->len = g->len < other ? g->len : other;
		gen_here(g, end);
	} else {
		gen_here(g, skip);
		g->live = before;
		g->len = g->len < len ? g->len : len;
	}
	g->live &= after;
	g->depth--;
}

/* Out of the innermost loop; what is live at its end is live here. */
static void leave_loop(struct gen *g)
{
	if (g->num_breaks < GEN_BREAKS)
		g->breaks[g->num_breaks++] = gen_jump(g, gen_condition(g));
}

/* Runs 1..6 times. R0-R5 are taken for uninitialised at its head, for the sake of the second round. */
static void loop(struct gen *g)
{
	uint8_t counter = g->loops ? R7 : R8;
	uint32_t times = 1 + gen_below(g, g->loops ? 4 : 6), head, live;
	uint32_t outer[GEN_BREAKS], num_outer = g->num_breaks;
	bool up = gen_chance(g, 50);
	int64_t back;

	memcpy(outer, g->breaks, sizeof(outer));
	g->num_breaks = 0;
	gen_emit(g, MOV64K(counter, up ? 0 : (int32_t)times));
	g->live &= ~(0x3fu | 1u << counter);
	live = g->live;
	g->held |= 1u << counter;
	g->loops++;
	g->depth++;
	head = g->n;
	if (gen_chance(g, 30))
		leave_loop(g);
	block(g, 1 + gen_below(g, 4));
	if (gen_chance(g, 30))
		leave_loop(g);
	gen_emit(g, ALU64K(BPF_ADD, counter, up ? 1 : -1));
	back = (int64_t)head - g->n - 1;
	gen_emit(g, up ? JK(BPF_JLT, counter, (int32_t)times, back) : JK(BPF_JNE, counter, 0, back));
	for (uint32_t i = 0; i < g->num_breaks; i++)
		gen_here(g, g->breaks[i]);
	if (g->num_breaks)
		g->live &= live;
	memcpy(g->breaks, outer, sizeof(outer));
	g->num_breaks = num_outer;
	g->depth--;
	g->loops--;
	g->held &= ~(1u << counter);
	g->live |= 1u << counter;
}

/* R1 = 16 bytes of the stack, mostly; one function is called with pointers of several kinds. */
static void pass_pointer(struct gen *g)
{
	if (g->len >= 16 && gen_chance(g, 30))
		gen_emit(g, MOV64X(R1, R6));
	else if (g->made->run.kind == VIRTIO_GPGPU_PROG_XDP && gen_chance(g, 20))
		gen_load_value(g, R1, GEN_DATA, 8 * (int32_t)gen_below(g, 6));
	else
		gen_stack_pointer(g, R1, -8 * (int32_t)(2 + gen_below(g, (uint32_t)g->slots - 1)));
}

static void call(struct gen *g)
{
	uint32_t callee = (uint32_t)g->level + gen_below(g, GEN_SUBS - (uint32_t)g->level), args = 1;
	int args_at = GEN_SPILL - 40;
	uint8_t source[5];

	if (g->num_calls == GEN_CALLS)
		return;
	for (int i = 0; i < 5; i++)
		source[i] = gen_read(g);
	for (int i = 0; i < 5; i++)
		gen_emit(g, STX(DW, R10, args_at + 8 * i, source[i]));
	if (g->pointer_sub[callee]) {
		pass_pointer(g);
		args = 2;
	}
	for (uint32_t i = args; i <= 5; i++)
		gen_emit(g, LDX(DW, (uint8_t)i, R10, args_at + 8 * ((int32_t)i - 1)));
	g->calls[g->num_calls] = g->n;
	g->callee[g->num_calls++] = callee;
	gen_emit(g, CALL_LOCAL(0));
	gen_after_call(g);
}

/* Of a function with 16 bytes of this frame. */
static void call_back(struct gen *g)
{
	const struct bpf_insn pair[] = { INSN(BPF_LD | BPF_IMM | BPF_DW, R2, BPF_PSEUDO_FUNC, 0, 0),
					 INSN(0, 0, 0, 0, 0) };

	if (g->num_calls == GEN_CALLS)
		return;
	if (gen_chance(g, 50)) {
		gen_emit(g, MOV64X(R1, gen_read(g)));
		gen_emit(g, ALU64K(BPF_AND, R1, 7));
	} else {
		gen_emit(g, MOV64K(R1, (int32_t)gen_below(g, 9)));
	}
	g->calls[g->num_calls] = g->n;
	g->callee[g->num_calls++] = GEN_SUBS + gen_below(g, GEN_CALLBACKS);
	gen_emit2(g, pair);
	gen_stack_pointer(g, R3, -8 * (int32_t)(2 + gen_below(g, (uint32_t)g->slots - 1)));
	gen_emit(g, MOV64K(R4, gen_chance(g, 95) ? 0 : 1));
	gen_emit(g, CALL(BPF_FUNC_loop));
	gen_after_call(g);
}

static void statement(struct gen *g)
{
	uint32_t what = gen_below(g, 100);

	if (what < 32)
		gen_alu(g);
	else if (what < 39)
		gen_load_constant(g);
	else if (what < 50)
		gen_stack(g);
	else if (what < 62)
		gen_memory(g);
	else if (what < 71 && g->depth < MAX_DEPTH)
		branch(g);
	else if (what < 75 && g->loops < (g->main ? 2 : 1) && g->depth < MAX_DEPTH)
		loop(g);
	else if (what < 83)
		gen_map(g);
	else if (what < 90)
		gen_helper(g);
	else if (what < 93 && g->level < GEN_SUBS && g->loops < 2)
		call(g);
	else if (what < 95 && g->level < GEN_SUBS && g->loops < 2 && !(g->without & RANDOM_WITHOUT_LOOP))
		call_back(g);
	else if (what < 98)
		gen_pointer(g);
	else
		gen_data(g);
}

static void block(struct gen *g, uint32_t statements)
{
	for (uint32_t i = 0; i < statements; i++)
		statement(g);
}

/* The body of a main function: most are short, since what is wrong with a compiler mostly shows in few instructions. */
static void body(struct gen *g)
{
	uint32_t size = gen_below(g, 100);

	if (size < 68)
		block(g, 1 + gen_below(g, 3));
	else if (size < 96)
		block(g, 4 + gen_below(g, 5));
	else
		block(g, 10 + gen_below(g, 20));
}

static void fill_stack(struct gen *g)
{
	g->slots = gen_chance(g, 70) ? 2 : gen_chance(g, 50) ? 4 : GEN_SLOTS;
	for (int i = 1; i <= g->slots; i++)
		gen_emit(g, ST(DW, R10, -8 * i, (int32_t)gen_constant(g)));
	gen_emit(g, ST(DW, R10, GEN_KEY, 0));
	gen_emit(g, ST(DW, R10, GEN_VALUE, 0));
	gen_emit(g, ST(DW, R10, GEN_VALUE + 8, 0));
}

/* R0 = all live scalars and the stack, mixed. */
static void digest(struct gen *g)
{
	uint8_t first = gen_read(g);
	uint32_t live = g->live & ~(1u << first) & ~1u;

	if (first != R0 && (g->live & 1))
		gen_emit(g, ALU64X(BPF_XOR, first, R0));
	if (first != R0)
		gen_emit(g, MOV64X(R0, first));
	for (uint8_t reg = R1; reg <= R9; reg++) {
		if (!(live & 1u << reg))
			continue;
		gen_emit(g, ALU64K(BPF_MUL, R0, 31));
		gen_emit(g, ALU64X(BPF_ADD, R0, reg));
	}
	for (int i = 1; i <= g->slots; i++) {
		gen_emit(g, LDX(DW, R1, R10, -8 * i));
		gen_emit(g, ALU64K(BPF_MUL, R0, 31));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
	}
	g->live = 1;
}

/* Where function @number starts: calls and references to it come here. */
static void function_starts(struct gen *g, uint32_t number)
{
	for (uint32_t i = 0; i < g->num_calls; i++)
		if (g->callee[i] == number)
			g->out[g->calls[i]].imm = (int32_t)(g->n - g->calls[i] - 1);
	g->main = false;
	g->anywhere = false;
	g->level = (int)number + 1;
	g->len = 0;
}

static void subprogram(struct gen *g, uint32_t number)
{
	function_starts(g, number);
	g->live = 0x3e;
	if (g->pointer_sub[number]) {
		gen_emit(g, MOV64X(R6, R1));
		g->live = 0x3c;
		g->len = 16;
		g->aligned = true;
		g->anywhere = true;
	}
	fill_stack(g);
	block(g, 1 + gen_below(g, 3));
	digest(g);
	gen_emit(g, EXIT);
}

/* R1 counts, R2 points at 16 bytes of the caller's. Goes on, mostly. */
static void callback(struct gen *g, uint32_t number)
{
	function_starts(g, number);
	gen_emit(g, MOV64X(R6, R2));
	g->live = 2;
	g->len = 16;
	g->aligned = true;
	fill_stack(g);
	block(g, 1 + gen_below(g, 3));
	digest(g);
	gen_emit(g, ALU64K(BPF_AND, R0, 15));
	gen_emit(g, JK(BPF_JNE, R0, 0, 2));
	gen_emit(g, MOV64K(R0, 1));
	gen_emit(g, EXIT);
	gen_emit(g, MOV64K(R0, 0));
	gen_emit(g, EXIT);
}

static bool is_called(const struct gen *g, uint32_t number)
{
	for (uint32_t i = 0; i < g->num_calls; i++)
		if (g->callee[i] == number)
			return true;
	return false;
}

/* Functions that call others come first, so that all that are called are there. */
static void functions(struct gen *g)
{
	for (uint32_t i = 0; i < GEN_FUNCS; i++) {
		if (!is_called(g, i))
			continue;
		if (i < GEN_SUBS)
			subprogram(g, i);
		else
			callback(g, i);
	}
}

/* R7 = what all came to, which also goes into the packet; then a verdict. */
static void finish_xdp(struct gen *g)
{
	digest(g);
	gen_emit(g, MOV64X(R7, R0));
	gen_packet(g, 8);
	gen_emit(g, STX(DW, R6, 0, R7));
	if (gen_chance(g, 10)) {
		gen_verdict(g);
	} else {
		gen_emit(g, MOV64X(R0, R7));
		gen_emit(g, ALU64K(BPF_AND, R0, 3));
	}
	gen_emit(g, EXIT);
}

static void main_xdp(struct gen *g)
{
	bool tails = g->made->run.num_tails > 0;

	gen_emit(g, MOV64X(R9, R1));
	fill_stack(g);
	gen_packet(g, 1 + gen_below(g, gen_chance(g, 30) ? 200 : 32));
	body(g);
	if (gen_chance(g, 8))
		gen_fault(g);
	if (tails)
		gen_tail_call(g);
	finish_xdp(g);
}

/* Each item has bytes of its own in argument 0, shares argument 1 read only and adds to argument 2. */
static void main_kernel(struct gen *g)
{
	gen_emit(g, MOV64X(R9, R1));
	fill_stack(g);
	gen_emit(g, MOV64K(R1, 1));
	gen_emit(g, CALL(GPGPU_HELPER_global_id));
	gen_emit(g, MOV64X(R7, R0));
	gen_emit(g, ALU64K(BPF_MUL, R7, GRID_X));
	gen_emit(g, MOV64K(R1, 0));
	gen_emit(g, CALL(GPGPU_HELPER_global_id));
	gen_emit(g, ALU64X(BPF_ADD, R7, R0));
	gen_emit(g, MOV64X(R8, R7));
	gen_emit(g, ALU64K(BPF_MUL, R8, ITEM_BYTES));
	gen_emit(g, LDX(DW, R6, R9, 0));
	gen_emit(g, ALU64X(BPF_ADD, R6, R8));
	/* Something of its own to work on, by the item's number. */
	gen_emit(g, LDX(DW, R1, R9, 8));
	gen_emit(g, ALU64K(BPF_AND, R7, 63));
	gen_emit(g, ALU64K(BPF_LSH, R7, 3));
	gen_emit(g, ALU64X(BPF_ADD, R1, R7));
	gen_emit(g, LDX(DW, R0, R1, 0));
	gen_emit(g, LDX(DW, R1, R1, 128));
	gen_emit(g, LDX(DW, R2, R9, 24));
	gen_emit(g, LDX(W, R3, R9, 28));
	g->live = 1 << R0 | 1 << R1 | 1 << R2 | 1 << R3 | 1 << R7 | 1 << R8;
	g->len = ITEM_BYTES;
	g->aligned = true;
	body(g);
	if (gen_chance(g, 8))
		gen_fault(g);
	digest(g);
	gen_emit(g, STX(DW, R6, 0, R0));
	gen_emit(g, LDX(DW, R1, R9, 16));
	gen_emit(g, ATOMIC(DW, BPF_ADD, R1, 8, R0));
	gen_emit(g, ATOMIC(W, BPF_XOR, R1, 4, R0));
	gen_emit(g, MOV64K(R0, 0));
	gen_emit(g, EXIT);
}

/* What the main function may go on with. The maps are the same; a tail may go on with another or with itself. */
static void make_tails(struct gen *g)
{
	struct run *run = &g->made->run;

	run->tails = g->made->tails;
	run->num_tails = 1 + gen_below(g, 2);
	for (uint32_t i = 0; i < run->num_tails; i++) {
		struct gen tail = { .made = g->made,
				    .out = g->made->tail_insns[i],
				    .max = RANDOM_MAX_TAIL,
				    .without = g->without | RANDOM_WITHOUT_LOOP,
				    .state = gen_random(g),
				    .main = true,
				    .level = GEN_SUBS };

		memcpy(tail.map_at, g->map_at, sizeof(tail.map_at));
		gen_emit(&tail, MOV64X(R9, R1));
		fill_stack(&tail);
		gen_packet(&tail, 1 + gen_below(&tail, 32));
		block(&tail, 1 + gen_below(&tail, 3));
		if (gen_chance(&tail, 60))
			gen_tail_call(&tail);
		finish_xdp(&tail);
		memcpy(g->map_at, tail.map_at, sizeof(tail.map_at));
		g->made->tails[i] = (struct run_tail){ g->made->tail_insns[i], tail.n };
	}
}

/* ------------------------------------------------------------------ input */
static void make_xdp_input(struct gen *g)
{
	struct run *run = &g->made->run;

	run->num_packets = RUN_PACKETS;
	for (uint32_t p = 0; p < RUN_PACKETS; p++) {
		struct run_packet *packet = &run->packets[p];

		packet->meta_len = (uint16_t)(gen_chance(g, 50) ? 0 : 4 * gen_below(g, 9));
		packet->len = 14 + gen_below(g, gen_chance(g, 20) ? 900 : 120);
		packet->bytes = g->made->packet[p];
		packet->ingress_port = 1;
		for (uint32_t i = 0; i < packet->meta_len + packet->len; i++)
			g->made->packet[p][i] = (uint8_t)gen_random(g);
	}
}

static void make_kernel_input(struct gen *g)
{
	struct run *run = &g->made->run;

	for (uint32_t i = 0; i < sizeof(g->made->buffer); i += 8) {
		uint64_t value = gen_constant(g);

		memcpy(&g->made->buffer[0][0] + i, &value, 8);
	}
	run->args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, g->made->buffer[0], ITEMS * ITEM_BYTES };
	run->args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER_RO, 0, g->made->buffer[1], 1024 };
	run->args[2] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, g->made->buffer[0] + 2048, 64 };
	run->args[3] = (struct run_arg){ VIRTIO_GPGPU_ARG_VALUE, gen_random(g), NULL, 0 };
	run->num_args = 4;
	run->grid[0] = GRID_X;
	run->grid[1] = GRID_Y;
	run->grid[2] = 1;
	run->group[0] = 1 + gen_below(g, 4);
	run->group[1] = 1 + gen_below(g, 2);
	run->group[2] = 1;
	g->made->no_kernel = true;
}

void random_make(uint64_t seed, uint32_t without, struct random_case *made)
{
	struct gen g = {
		.made = made, .out = made->insns, .max = RANDOM_MAX_INSNS, .without = without, .state = seed
	};
	struct run *run = &made->run;

	memset(made, 0, sizeof(*made));
	made->seed = seed;
	made->without = without;
	snprintf(made->name, sizeof(made->name), "seed %llu", (unsigned long long)seed);
	run->name = made->name;
	run->insns = made->insns;
	run->fuel = FUEL;
	run->strict = true;
	run->kind = gen_chance(&g, 15) ? VIRTIO_GPGPU_PROG_GPGPU : VIRTIO_GPGPU_PROG_XDP;
	for (int i = 0; i < GEN_SUBS; i++)
		g.pointer_sub[i] = gen_chance(&g, 50);
	g.main = true;
	if (run->kind == VIRTIO_GPGPU_PROG_XDP) {
		make_xdp_input(&g);
		if (gen_chance(&g, 4) && !(without & RANDOM_WITHOUT_TAILS))
			make_tails(&g);
		main_xdp(&g);
	} else {
		make_kernel_input(&g);
		main_kernel(&g);
	}
	functions(&g);
	run->num_insns = g.n;
}

void random_show(const struct random_case *made)
{
	printf("# %s\n", made->name);
	disasm_all(stdout, "#   ", made->insns, made->run.num_insns);
	for (uint32_t i = 0; i < made->run.num_tails; i++) {
		printf("#   tail %u\n", i);
		disasm_all(stdout, "#   ", made->tails[i].insns, made->tails[i].num_insns);
	}
}
