// SPDX-License-Identifier: BSD-3-Clause
/*
 * coverage.c - a table of (opcode, mode, corner), each of which some vector must reach.
 *
 * How it works: the table is written down by build(), group by group, from what RFC 9669 has and from the corners that
 * implementations got wrong. The interpreter runs the vectors and tells of each instruction what its operands were;
 * corners_of() says which corners that is. What is left over is missing. The mode is the field that makes one
 * opcode several instructions: the offset of a division or move, the width of a swap, the operation of an
 * atomic, the kind of an ld_imm64 or call.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "asm.h"
#include "coverage.h"
#include "disasm.h"
#include "gpgpu_bpf.h"

enum corner {
	ANY,
	DST_HIGH, /* the half of the destination that a 32-bit form must not look at and must clear */
	SRC_HIGH,
	WRAPS,
	BY_ZERO,
	LEAST, /* the most negative number, divided */
	LEAST_BY_MINUS_ONE,
	NEGATIVE_DIVIDEND,
	NEGATIVE_DIVISOR,
	NEGATIVE,
	POSITIVE,
	ZERO,
	COUNT_0,
	COUNT_LAST, /* one under the width */
	COUNT_WIDTH,
	COUNT_OVER,
	TAKEN,
	NOT_TAKEN,
	BACK, /* taken, backward */
	FORWARD,
	NOWHERE, /* to the next instruction */
	LONG_FORWARD, /* further than what stands between would explain: over 1,000 instructions */
	LONG_BACK,
	UPPER_DECIDES, /* the low halves are equal, the high halves are not */
	SUCCEEDS,
	FAILS,
	ON_STACK,
	ON_PACKET,
	ON_VALUE,
	ON_BUFFER,
	ON_CONTEXT,
	UNALIGNED,
	OFFSET, /* not 0 */
	DEPTH_1, /* frames; the next seven follow */
	DEPTH_8 = DEPTH_1 + 7,
};

static const char *const corner_names[] = {
	[ANY] = "at all",
	[DST_HIGH] = "high half of the destination set",
	[SRC_HIGH] = "high half of the source set",
	[WRAPS] = "result wraps",
	[BY_ZERO] = "by zero",
	[LEAST] = "of the most negative number",
	[LEAST_BY_MINUS_ONE] = "of the most negative number by -1",
	[NEGATIVE_DIVIDEND] = "negative dividend",
	[NEGATIVE_DIVISOR] = "negative divisor",
	[NEGATIVE] = "negative",
	[POSITIVE] = "positive",
	[ZERO] = "zero",
	[COUNT_0] = "count 0",
	[COUNT_LAST] = "count one under the width",
	[COUNT_WIDTH] = "count the width",
	[COUNT_OVER] = "count over the width",
	[TAKEN] = "taken",
	[NOT_TAKEN] = "not taken",
	[BACK] = "backward",
	[FORWARD] = "forward",
	[NOWHERE] = "to the next instruction",
	[LONG_FORWARD] = "over 1,000 instructions forward",
	[LONG_BACK] = "over 1,000 instructions backward",
	[UPPER_DECIDES] = "low halves equal, high halves not",
	[SUCCEEDS] = "succeeds",
	[FAILS] = "fails",
	[ON_STACK] = "on the stack",
	[ON_PACKET] = "on a packet",
	[ON_VALUE] = "on a map's value",
	[ON_BUFFER] = "on a buffer",
	[ON_CONTEXT] = "on the context",
	[UNALIGNED] = "not aligned",
	[OFFSET] = "with an offset",
	[DEPTH_1] = "in frame 1",
	"in frame 2",
	"in frame 3",
	"in frame 4",
	"in frame 5",
	"in frame 6",
	"in frame 7",
	"in frame 8",
};

struct row {
	uint8_t code;
	int32_t mode;
	enum corner corner;
	bool hit;
};

#define MAX_ROWS 2048
static struct row table[MAX_ROWS];
static uint32_t num_rows;

static void need(uint8_t code, int32_t mode, enum corner corner)
{
	if (num_rows == MAX_ROWS)
		abort();
	table[num_rows++] = (struct row){ code, mode, corner, false };
}

/* ------------------------------------------------------------------ what there must be */
static const uint8_t alu_ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,	BPF_AND,
				   BPF_LSH, BPF_RSH, BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };
static const uint8_t jump_ops[] = { BPF_JEQ,  BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT,
				    BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE };
static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };

#define EACH(i, array) (size_t i = 0; i < sizeof(array) / sizeof(array[0]); i++)

static void need_alu(uint8_t op, uint8_t code, bool wide)
{
	bool reg = BPF_SRC(code) == BPF_X, divides = op == BPF_DIV || op == BPF_MOD;

	for (int32_t mode = 0; mode <= divides; mode++) {
		need(code, mode, ANY);
		if (!wide)
			need(code, mode, DST_HIGH);
		if (!wide && reg)
			need(code, mode, SRC_HIGH);
		if (!divides)
			continue;
		need(code, mode, BY_ZERO);
		need(code, mode, LEAST);
		need(code, mode, NEGATIVE_DIVIDEND);
		need(code, mode, NEGATIVE_DIVISOR);
		need(code, mode, LEAST_BY_MINUS_ONE);
	}
	if (op == BPF_ADD || op == BPF_SUB || op == BPF_MUL)
		need(code, 0, WRAPS);
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		for (enum corner c = COUNT_0; c <= COUNT_OVER; c++)
			need(code, 0, c);
	if (op == BPF_ARSH || op == BPF_MOV) {
		need(code, 0, NEGATIVE);
		need(code, 0, POSITIVE);
	}
	if (op == BPF_MOV && reg)
		for (int32_t bits = 8; bits <= (wide ? 32 : 16); bits *= 2) {
			need(code, bits, NEGATIVE);
			need(code, bits, POSITIVE);
		}
}

static void need_alus(void)
{
	static const uint8_t ends[] = { BPF_ALU | BPF_END | BPF_TO_LE, BPF_ALU | BPF_END | BPF_TO_BE,
					BPF_ALU64 | BPF_END };

	for (int form = 0; form < 4; form++) {
		uint8_t base = (form & 1 ? BPF_ALU64 : BPF_ALU) | (form & 2 ? BPF_X : BPF_K);

		for
			EACH(i, alu_ops)
		need_alu(alu_ops[i], base | alu_ops[i], form & 1);
	}
	for (int wide = 0; wide < 2; wide++) {
		uint8_t neg = (wide ? BPF_ALU64 : BPF_ALU) | BPF_NEG;

		need(neg, 0, ZERO);
		need(neg, 0, LEAST);
		need(neg, 0, POSITIVE);
		if (!wide)
			need(neg, 0, DST_HIGH);
	}
	for
		EACH(i, ends)
	for (int32_t bits = 16; bits <= 64; bits *= 2)
		need(ends[i], bits, DST_HIGH);
}

static void need_jumps(void)
{
	for (int form = 0; form < 4; form++) {
		uint8_t base = (form & 1 ? BPF_JMP : BPF_JMP32) | (form & 2 ? BPF_X : BPF_K);

		for
			EACH(i, jump_ops)
			{
				need(base | jump_ops[i], 0, TAKEN);
				need(base | jump_ops[i], 0, NOT_TAKEN);
				need(base | jump_ops[i], 0, BACK);
				if (form & 2 || !(form & 1))
					need(base | jump_ops[i], 0, UPPER_DECIDES);
			}
	}
	for (enum corner c = BACK; c <= LONG_BACK; c++) {
		need(BPF_JMP | BPF_JA, 0, c);
		need(BPF_JMP32 | BPF_JA, 0, c);
	}
	need(BPF_JMP | BPF_CALL, 0, ANY);
	need(BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL, FORWARD);
	need(BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL, BACK);
	need(BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL, LONG_FORWARD);
	for (enum corner c = DEPTH_1; c <= DEPTH_8; c++)
		need(BPF_JMP | BPF_EXIT, 0, c);
}

static void need_memory(void)
{
	for
		EACH(i, sizes)
		{
			uint8_t load = BPF_LDX | BPF_MEM | sizes[i], extend = BPF_LDX | BPF_MEMSX | sizes[i];

			for (enum corner c = ON_STACK; c <= ON_VALUE; c++) {
				need(load, 0, c);
				need(BPF_STX | BPF_MEM | sizes[i], 0, c);
				need(BPF_ST | BPF_MEM | sizes[i], 0, c);
			}
			need(load, 0, ON_BUFFER);
			if (sizes[i] == BPF_W)
				need(load, 0, ON_CONTEXT);
			need(BPF_ST | BPF_MEM | sizes[i], 0, NEGATIVE);
			if (sizes[i] != BPF_B) {
				need(load, 0, UNALIGNED);
				need(BPF_STX | BPF_MEM | sizes[i], 0, UNALIGNED);
			}
			if (sizes[i] == BPF_DW)
				continue;
			need(extend, 0, NEGATIVE);
			need(extend, 0, POSITIVE);
			for (enum corner c = ON_STACK; c <= ON_VALUE; c++)
				need(extend, 0, c);
		}
	need(BPF_LD | BPF_IMM | BPF_DW, 0, NEGATIVE); /* low half */
	need(BPF_LD | BPF_IMM | BPF_DW, 0, SRC_HIGH);
	need(BPF_LD | BPF_IMM | BPF_DW, BPF_PSEUDO_MAP_FD, ANY);
	need(BPF_LD | BPF_IMM | BPF_DW, BPF_PSEUDO_MAP_VALUE, ANY);
	need(BPF_LD | BPF_IMM | BPF_DW, BPF_PSEUDO_MAP_VALUE, OFFSET);
	need(BPF_LD | BPF_IMM | BPF_DW, BPF_PSEUDO_FUNC, ANY);
}

static void need_atomics(void)
{
	static const int32_t ops[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR };

	for (int wide = 0; wide < 2; wide++) {
		uint8_t code = BPF_STX | BPF_ATOMIC | (wide ? BPF_DW : BPF_W);

		for
			EACH(i, ops)
			{
				for (int32_t fetch = 0; fetch <= BPF_FETCH; fetch++) {
					need(code, ops[i] | fetch, ON_STACK);
					need(code, ops[i] | fetch, ON_VALUE);
					if (!wide)
						need(code, ops[i] | fetch, SRC_HIGH);
				}
			}
		need(code, BPF_XCHG, ON_STACK);
		need(code, BPF_XCHG, ON_VALUE);
		need(code, BPF_CMPXCHG, SUCCEEDS);
		need(code, BPF_CMPXCHG, FAILS);
		need(code, BPF_CMPXCHG, ON_VALUE);
		if (wide)
			continue;
		need(code, BPF_XCHG, SRC_HIGH);
		need(code, BPF_CMPXCHG, SRC_HIGH); /* of R0 */
	}
}

/* Helpers, by their numbers. */
static const int32_t helpers[] = {
	BPF_FUNC_map_lookup_elem,
	BPF_FUNC_map_update_elem,
	BPF_FUNC_map_delete_elem,
	BPF_FUNC_ktime_get_ns,
	BPF_FUNC_get_prandom_u32,
	BPF_FUNC_get_smp_processor_id,
	BPF_FUNC_tail_call,
	BPF_FUNC_redirect,
	BPF_FUNC_perf_event_output,
	BPF_FUNC_csum_diff,
	BPF_FUNC_get_numa_node_id,
	BPF_FUNC_xdp_adjust_head,
	BPF_FUNC_redirect_map,
	BPF_FUNC_xdp_adjust_meta,
	BPF_FUNC_xdp_adjust_tail,
	BPF_FUNC_map_push_elem,
	BPF_FUNC_map_pop_elem,
	BPF_FUNC_map_peek_elem,
	BPF_FUNC_jiffies64,
	BPF_FUNC_ktime_get_boot_ns,
	BPF_FUNC_ringbuf_output,
	BPF_FUNC_ringbuf_reserve,
	BPF_FUNC_ringbuf_submit,
	BPF_FUNC_ringbuf_discard,
	BPF_FUNC_ringbuf_query,
	BPF_FUNC_ktime_get_coarse_ns,
	BPF_FUNC_loop,
	BPF_FUNC_strncmp,
	BPF_FUNC_xdp_get_buff_len,
	BPF_FUNC_xdp_load_bytes,
	BPF_FUNC_xdp_store_bytes,
	BPF_FUNC_map_lookup_percpu_elem,
	BPF_FUNC_fib_lookup,
	GPGPU_HELPER_atomic_fadd32,
	GPGPU_HELPER_atomic_fmin32,
	GPGPU_HELPER_atomic_fmax32,
	GPGPU_HELPER_atomic_fadd64,
	GPGPU_HELPER_atomic_fmin64,
	GPGPU_HELPER_atomic_fmax64,
};
#define HELPER_MODE 0x10000 /* + the number: mode of a call */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	if (x->mode != y->mode)
		return x->mode < y->mode ? -1 : 1;
	return x->corner < y->corner ? -1 : x->corner > y->corner;
}

static void build(void)
{
	need_alus();
	need_jumps();
	need_memory();
	need_atomics();
	for
		EACH(i, helpers)
	need(BPF_JMP | BPF_CALL, HELPER_MODE + helpers[i], ANY);
	qsort(table, num_rows, sizeof(table[0]), compare_rows);
}

/* ------------------------------------------------------------------ what there was */
static void mark(const struct interp_step *s, int32_t mode, enum corner corner)
{
	struct row key = { s->insn->code, mode, corner, false };
	struct row *row = bsearch(&key, table, num_rows, sizeof(table[0]), compare_rows);

	if (row)
		row->hit = true;
}

static void mark_if(const struct interp_step *s, int32_t mode, enum corner corner, bool condition)
{
	if (condition)
		mark(s, mode, corner);
}

static void alu(const struct interp_step *s)
{
	const struct bpf_insn *insn = s->insn;
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64, reg = BPF_SRC(insn->code) == BPF_X;
	uint8_t op = BPF_OP(insn->code);
	int32_t mode = op == BPF_END ? insn->imm : insn->off;
	uint64_t b64 = reg ? s->src : (uint64_t)(int64_t)insn->imm;
	int64_t a = wide ? (int64_t)s->dst : (int32_t)s->dst, b = wide ? (int64_t)b64 : (int32_t)b64;
	int64_t least = wide ? INT64_MIN : INT32_MIN;
	uint64_t ua = wide ? s->dst : (uint32_t)s->dst, ub = wide ? b64 : (uint32_t)b64;
	uint64_t max = wide ? UINT64_MAX : UINT32_MAX;
	uint32_t width = wide ? 64 : 32;

	mark(s, mode, ANY);
	if (op == BPF_END) {
		mark_if(s, mode, DST_HIGH, s->dst >> (mode < 64 ? mode : 32));
		return;
	}
	mark_if(s, mode, DST_HIGH, s->dst >> 32);
	mark_if(s, mode, SRC_HIGH, reg && s->src >> 32);
	mark_if(s, mode, BY_ZERO, b == 0);
	mark_if(s, mode, LEAST, a == least);
	mark_if(s, mode, LEAST_BY_MINUS_ONE, a == least && b == -1);
	mark_if(s, mode, NEGATIVE_DIVIDEND, a < 0);
	mark_if(s, mode, NEGATIVE_DIVISOR, b < 0);
	mark_if(s, mode, WRAPS,
		op == BPF_ADD	? ua > max - ub
		: op == BPF_SUB ? ua < ub
				: ub && ua > max / ub);
	mark_if(s, mode, COUNT_0, ub == 0);
	mark_if(s, mode, COUNT_LAST, ub == width - 1);
	mark_if(s, mode, COUNT_WIDTH, ub == width);
	mark_if(s, mode, COUNT_OVER, ub > width);
	mark_if(s, mode, ZERO, a == 0);
	if (op == BPF_MOV)
		a = mode == 8 ? (int8_t)b : mode == 16 ? (int16_t)b : mode == 32 ? (int32_t)b : b;
	mark_if(s, mode, NEGATIVE, a < 0);
	mark_if(s, mode, POSITIVE, a > 0);
}

static void jump(const struct interp_step *s)
{
	const struct bpf_insn *insn = s->insn;
	int64_t distance = (int64_t)s->new_pc - s->pc - 1;
	bool conditional = BPF_OP(insn->code) != BPF_JA;
	uint64_t b = BPF_SRC(insn->code) == BPF_X ? s->src : (uint64_t)(int64_t)insn->imm;

	switch (BPF_OP(insn->code)) {
	case BPF_EXIT:
		mark(s, 0, DEPTH_1 + (s->depth - 1));
		return;
	case BPF_CALL:
		mark(s, insn->src_reg, ANY);
		mark_if(s, HELPER_MODE + insn->imm, ANY, insn->src_reg == 0);
		mark_if(s, insn->src_reg, FORWARD, distance > 0);
		mark_if(s, insn->src_reg, BACK, distance < 0);
		mark_if(s, insn->src_reg, LONG_FORWARD, distance > 1000);
		return;
	}
	mark(s, 0, !conditional || distance ? TAKEN : NOT_TAKEN);
	mark_if(s, 0, BACK, distance < 0);
	mark_if(s, 0, FORWARD, distance > 0);
	mark_if(s, 0, NOWHERE, distance == 0);
	mark_if(s, 0, LONG_FORWARD, distance > 1000);
	mark_if(s, 0, LONG_BACK, distance < -1000);
	mark_if(s, 0, UPPER_DECIDES, conditional && (uint32_t)s->dst == (uint32_t)b && s->dst != b);
}

static void memory(const struct interp_step *s)
{
	static const enum corner places[] = { [INTERP_STACK] = ON_STACK,
					      [INTERP_PACKET] = ON_PACKET,
					      [INTERP_VALUE] = ON_VALUE,
					      [INTERP_BUFFER] = ON_BUFFER,
					      [INTERP_CONTEXT] = ON_CONTEXT };
	static const uint8_t bytes[4] = { 4, 2, 1, 8 };
	const struct bpf_insn *insn = s->insn;
	bool atomic = BPF_CLASS(insn->code) == BPF_STX && BPF_MODE(insn->code) == BPF_ATOMIC;
	int32_t mode = atomic ? insn->imm : 0;
	bool wide = BPF_SIZE(insn->code) == BPF_DW;

	if (s->where != INTERP_NOWHERE)
		mark(s, mode, places[s->where]);
	mark_if(s, mode, UNALIGNED, s->address % bytes[BPF_SIZE(insn->code) >> 3] != 0);
	if (atomic && mode == BPF_CMPXCHG) {
		mark(s, mode, s->new_r0 == (wide ? s->r0 : (uint32_t)s->r0) ? SUCCEEDS : FAILS);
		mark_if(s, mode, SRC_HIGH, s->r0 >> 32);
	} else if (atomic) {
		mark_if(s, mode, SRC_HIGH, s->src >> 32);
	} else if (BPF_CLASS(insn->code) == BPF_LDX) {
		mark(s, mode, (int64_t)s->new_dst < 0 ? NEGATIVE : POSITIVE);
	} else {
		mark_if(s, mode, NEGATIVE, BPF_CLASS(insn->code) == BPF_ST && insn->imm < 0);
	}
}

static void load_imm64(const struct interp_step *s)
{
	mark(s, s->insn->src_reg, ANY);
	mark_if(s, s->insn->src_reg, NEGATIVE, s->insn->imm < 0);
	mark_if(s, s->insn->src_reg, SRC_HIGH, s->insn[1].imm != 0);
	mark_if(s, s->insn->src_reg, OFFSET, s->insn[1].imm != 0);
}

void coverage_trace(void *opaque, const struct interp_step *s)
{
	if (!num_rows)
		build();
	switch (BPF_CLASS(s->insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		alu(s);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		jump(s);
		return;
	case BPF_LD:
		load_imm64(s);
		return;
	default:
		memory(s);
	}
}

uint32_t coverage_missing(uint32_t *rows)
{
	uint32_t missing = 0;

	*rows = num_rows;
	for (uint32_t i = 0; i < num_rows; i++) {
		const struct row *row = &table[i];
		struct bpf_insn insn[2] = { { .code = row->code } };
		char text[128];

		if (row->hit)
			continue;
		missing++;
		if (BPF_CLASS(row->code) == BPF_LD || (row->code == (BPF_JMP | BPF_CALL)))
			insn->src_reg = (uint8_t)(row->mode & 15);
		if (row->mode >= HELPER_MODE)
			*insn = CALL(row->mode - HELPER_MODE);
		else if (BPF_CLASS(row->code) == BPF_STX || BPF_OP(row->code) == BPF_END)
			insn->imm = row->mode;
		else
			insn->off = (int16_t)row->mode;
		disasm(insn, text, sizeof(text));
		printf("# no vector reaches opcode %#04x, mode %d (as in `%s`): %s\n", row->code, row->mode,
		       text, corner_names[row->corner]);
	}
	return missing;
}
