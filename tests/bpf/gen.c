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
	if (g->n == RANDOM_MAX_INSNS) {
		fprintf(stderr, "random: program too long\n");
		exit(2);
	}
	g->made->insns[g->n++] = insn;
}

uint8_t gen_read(struct gen *g)
{
	uint8_t reg;

	if (!g->live) {
		reg = gen_write(g);
		gen_emit(g, MOV64K(reg, (int32_t)gen_constant(g)));
		return reg;
	}
	do
		reg = (uint8_t)gen_below(g, 10);
	while (!(g->live & 1u << reg));
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

uint32_t gen_jump(struct gen *g, struct bpf_insn insn)
{
	gen_emit(g, insn);
	return g->n - 1;
}

void gen_here(struct gen *g, uint32_t jump)
{
	struct bpf_insn *insn = &g->made->insns[jump];

	if (insn->code == (BPF_JMP32 | BPF_JA))
		insn->imm = (int32_t)(g->n - jump - 1);
	else
		insn->off = (int16_t)(g->n - jump - 1);
}

void gen_packet(struct gen *g, uint32_t len)
{
	uint32_t jump;

	gen_emit(g, LDX(W, R6, R9, 0));
	gen_emit(g, LDX(W, R1, R9, 4));
	gen_emit(g, MOV64X(R2, R6));
	gen_emit(g, ALU64K(BPF_ADD, R2, (int32_t)len));
	g->live &= ~6u;
	jump = gen_jump(g, JX(BPF_JLE, R2, R1, 0));
	gen_emit(g, MOV64K(R0, XDP_DROP));
	gen_emit(g, EXIT);
	gen_here(g, jump);
	g->len = len;
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

/* Runs 1..6 times. R0-R5 are taken for uninitialised at its head, for the sake of the second round. */
static void loop(struct gen *g)
{
	uint8_t counter = g->loops ? R7 : R8;
	uint32_t times = 1 + gen_below(g, g->loops ? 4 : 6), head;
	bool up = gen_chance(g, 50);
	int64_t back;

	gen_emit(g, MOV64K(counter, up ? 0 : (int32_t)times));
	g->live &= ~(0x3fu | 1u << counter);
	g->held |= 1u << counter;
	g->loops++;
	g->depth++;
	head = g->n;
	block(g, 1 + gen_below(g, 4));
	gen_emit(g, ALU64K(BPF_ADD, counter, up ? 1 : -1));
	back = (int64_t)head - g->n - 1;
	gen_emit(g, up ? JK(BPF_JLT, counter, (int32_t)times, back) : JK(BPF_JNE, counter, 0, back));
	g->depth--;
	g->loops--;
	g->held &= ~(1u << counter);
	g->live |= 1u << counter;
}

static void call(struct gen *g)
{
	uint32_t callee = (uint32_t)g->level + gen_below(g, GEN_SUBS - (uint32_t)g->level), args = 1;
	uint8_t source[5];

	if (g->num_calls == 64)
		return;
	for (int i = 0; i < 5; i++)
		source[i] = gen_read(g);
	for (int i = 0; i < 5; i++)
		gen_emit(g, STX(DW, R10, -8 * (i + 1), source[i]));
	if (g->pointer_sub[callee]) {
		gen_emit(g, MOV64X(R1, R10));
		gen_emit(g, ALU64K(BPF_ADD, R1, -8 * (int32_t)(2 + gen_below(g, GEN_SLOTS - 2))));
		args = 2;
	}
	for (uint32_t i = args; i <= 5; i++)
		gen_emit(g, LDX(DW, (uint8_t)i, R10, -8 * (int32_t)i));
	g->calls[g->num_calls] = g->n;
	g->callee[g->num_calls++] = callee;
	gen_emit(g, CALL_LOCAL(0));
	gen_after_call(g);
}

static void statement(struct gen *g)
{
	uint32_t what = gen_below(g, 100);

	if (what < 32)
		gen_alu(g);
	else if (what < 40)
		gen_load_constant(g);
	else if (what < 51)
		gen_stack(g);
	else if (what < 64)
		gen_memory(g);
	else if (what < 73 && g->depth < MAX_DEPTH)
		branch(g);
	else if (what < 77 && g->loops < (g->main ? 2 : 1) && g->depth < MAX_DEPTH)
		loop(g);
	else if (what < 84)
		gen_map(g);
	else if (what < 91)
		gen_helper(g);
	else if (what < 94 && g->level < GEN_SUBS && g->loops < 2)
		call(g);
	else if (what < 97)
		gen_pointer(g);
	else
		gen_data(g);
}

static void block(struct gen *g, uint32_t statements)
{
	for (uint32_t i = 0; i < statements; i++)
		statement(g);
}

static void fill_stack(struct gen *g)
{
	for (int i = 1; i <= GEN_SLOTS; i++)
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
	for (int i = 1; i <= GEN_SLOTS; i++) {
		gen_emit(g, LDX(DW, R1, R10, -8 * i));
		gen_emit(g, ALU64K(BPF_MUL, R0, 31));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
	}
	g->live = 1;
}

static void subprogram(struct gen *g, uint32_t number)
{
	for (uint32_t i = 0; i < g->num_calls; i++)
		if (g->callee[i] == number)
			g->made->insns[g->calls[i]].imm = (int32_t)(g->n - g->calls[i] - 1);
	g->main = false;
	g->level = (int)number + 1;
	g->live = 0x3e;
	g->len = 0;
	if (g->pointer_sub[number]) {
		gen_emit(g, MOV64X(R6, R1));
		g->live = 0x3c;
		g->len = 16;
		g->aligned = true;
	}
	fill_stack(g);
	block(g, 2 + gen_below(g, 6));
	digest(g);
	gen_emit(g, EXIT);
}

static bool is_called(const struct gen *g, uint32_t number)
{
	for (uint32_t i = 0; i < g->num_calls; i++)
		if (g->callee[i] == number)
			return true;
	return false;
}

static void main_xdp(struct gen *g)
{
	gen_emit(g, MOV64X(R9, R1));
	fill_stack(g);
	gen_packet(g, 1 + gen_below(g, gen_chance(g, 30) ? 200 : 32));
	block(g, gen_chance(g, 20) ? 10 + gen_below(g, 20) : 3 + gen_below(g, 9));
	if (gen_chance(g, 8))
		gen_fault(g);
	digest(g);
	gen_emit(g, MOV64X(R7, R0));
	gen_packet(g, 8);
	gen_emit(g, STX(DW, R6, 0, R7));
	if (gen_chance(g, 10)) {
		gen_emit(g, MOV64K(R1, 1 + gen_below(g, 5)));
		gen_emit(g, MOV64K(R2, gen_below(g, 5) == 0));
		gen_emit(g, CALL(BPF_FUNC_redirect));
	} else {
		gen_emit(g, MOV64X(R0, R7));
		gen_emit(g, ALU64K(BPF_AND, R0, 3));
	}
	gen_emit(g, EXIT);
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
	block(g, gen_chance(g, 20) ? 10 + gen_below(g, 20) : 3 + gen_below(g, 9));
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

/* ------------------------------------------------------------------ input */
static void make_map(struct gen *g, uint32_t which, uint32_t type, uint32_t key_size, uint32_t value_size,
		     uint32_t entries, uint32_t num_init)
{
	struct run_map *map = &g->made->maps[which];
	uint8_t *at = g->made->map_init[which];

	*map = (struct run_map){ .type = type,
				 .key_size = key_size,
				 .value_size = value_size,
				 .max_entries = entries,
				 .init = at,
				 .num_init = num_init };
	for (uint32_t i = 0; i < num_init; i++) {
		uint32_t key[2] = { i, 0 };

		if (type == VIRTIO_GPGPU_MAP_LPM_TRIE) {
			key[0] = gen_below(g, 33);
			key[1] = 10 | gen_below(g, 3) << 8 | gen_below(g, 2) << 16 | gen_below(g, 2) << 31;
		}
		memcpy(at, key, key_size);
		for (uint32_t k = 0; k < value_size; k++)
			at[key_size + k] = (uint8_t)gen_random(g);
		at += key_size + value_size;
	}
}

static void make_xdp_input(struct gen *g)
{
	struct run *run = &g->made->run;

	make_map(g, GEN_ARRAY, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 8, 8);
	make_map(g, GEN_HASH, VIRTIO_GPGPU_MAP_HASH, 4, 8, 8, gen_below(g, 9));
	make_map(g, GEN_PERCPU, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 8, 8, 8);
	make_map(g, GEN_LPM, VIRTIO_GPGPU_MAP_LPM_TRIE, 8, 8, 16, gen_below(g, 9));
	make_map(g, GEN_DATA, VIRTIO_GPGPU_MAP_ARRAY, 4, 64, 1, 1);
	run->maps = g->made->maps;
	run->num_maps = RANDOM_MAPS;
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

void random_make(uint64_t seed, struct random_case *made)
{
	struct gen g = { .made = made, .state = seed };
	struct run *run = &made->run;

	memset(made, 0, sizeof(*made));
	made->seed = seed;
	snprintf(made->name, sizeof(made->name), "seed %llu", (unsigned long long)seed);
	run->name = made->name;
	run->insns = made->insns;
	run->fuel = FUEL;
	run->kind = gen_chance(&g, 20) ? VIRTIO_GPGPU_PROG_GPGPU : VIRTIO_GPGPU_PROG_XDP;
	for (int i = 0; i < GEN_SUBS; i++)
		g.pointer_sub[i] = gen_chance(&g, 50);
	g.main = true;
	if (run->kind == VIRTIO_GPGPU_PROG_XDP) {
		make_xdp_input(&g);
		main_xdp(&g);
	} else {
		make_kernel_input(&g);
		main_kernel(&g);
	}
	for (uint32_t i = 0; i < GEN_SUBS; i++)
		if (is_called(&g, i))
			subprogram(&g, i);
	run->num_insns = g.n;
}

void random_show(const struct random_case *made)
{
	printf("# %s\n", made->name);
	disasm_all(stdout, "#   ", made->insns, made->run.num_insns);
}
