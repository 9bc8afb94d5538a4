// SPDX-License-Identifier: BSD-3-Clause
/* gen_data.c - statements of random programs that compute, load, store and call helpers. */
#include "gen.h"
#include "gpgpu_bpf.h"

static const uint8_t sizes[4] = { B, H, W, DW };
static const uint8_t bytes[4] = { 1, 2, 4, 8 };
static const uint8_t atomics[] = { BPF_ADD,
				   BPF_OR,
				   BPF_AND,
				   BPF_XOR,
				   BPF_ADD | BPF_FETCH,
				   BPF_OR | BPF_FETCH,
				   BPF_AND | BPF_FETCH,
				   BPF_XOR | BPF_FETCH,
				   BPF_XCHG,
				   BPF_CMPXCHG };

void gen_load_constant(struct gen *g)
{
	uint64_t value = gen_constant(g);
	uint8_t dst = gen_write(g);

	if (gen_chance(g, 50)) {
		struct bpf_insn pair[] = { LD64(dst, value) };

		gen_emit(g, pair[0]);
		gen_emit(g, pair[1]);
	} else if (gen_chance(g, 50)) {
		gen_emit(g, MOV64K(dst, value));
	} else {
		gen_emit(g, MOV32K(dst, value));
	}
}

static void unary(struct gen *g)
{
	static const uint8_t widths[] = { 16, 32, 64 };
	uint8_t dst = gen_read(g), bits = widths[gen_below(g, 3)];

	switch (gen_below(g, 5)) {
	case 0:
		gen_emit(g, ALU64K(BPF_NEG, dst, 0));
		return;
	case 1:
		gen_emit(g, ALU32K(BPF_NEG, dst, 0));
		return;
	case 2:
		gen_emit(g, TO_LE(bits, dst));
		return;
	case 3:
		gen_emit(g, TO_BE(bits, dst));
		return;
	default:
		gen_emit(g, BSWAP(bits, dst));
	}
}

static void move(struct gen *g)
{
	static const uint8_t wide[] = { 0, 8, 16, 32 };
	uint8_t src = gen_read(g), dst = gen_write(g);

	if (gen_chance(g, 50))
		gen_emit(g, MOVSX64(wide[gen_below(g, 4)], dst, src));
	else
		gen_emit(g, MOVSX32(wide[gen_below(g, 3)], dst, src));
}

void gen_alu(struct gen *g)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB,  BPF_MUL, BPF_OR,  BPF_AND, BPF_XOR, BPF_LSH,
				       BPF_RSH, BPF_ARSH, BPF_DIV, BPF_MOD, BPF_DIV, BPF_MOD };
	uint32_t which = gen_below(g, 16);
	bool wide = gen_chance(g, 60), reg = gen_chance(g, 60);
	uint8_t op, dst, src;
	int16_t off = 0;
	int32_t imm;

	if (which >= sizeof(ops)) {
		if (which == 15)
			unary(g);
		else
			move(g);
		return;
	}
	op = ops[which];
	if (which >= 11)
		off = 1; /* signed */
	dst = gen_read(g);
	src = gen_read(g);
	imm = (int32_t)gen_constant(g);
	/* The kernel refuses these as immediates; vectors.c has them. */
	if (op == BPF_DIV || op == BPF_MOD)
		imm = imm ? imm : 7;
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		imm &= wide ? 63 : 31;
	gen_emit(g, INSN((wide ? BPF_ALU64 : BPF_ALU) | (reg ? BPF_X : BPF_K) | op, dst, reg ? src : 0, off,
			 reg ? 0 : imm));
}

void gen_access(struct gen *g, uint8_t base, int32_t off, uint32_t room, bool aligned, bool atomic,
		bool write)
{
	uint32_t size = gen_below(g, 4), slack = room - bytes[size];
	int32_t at;

	while (bytes[size] > room) {
		size--;
		slack = room - bytes[size];
	}
	at = (int32_t)gen_below(g, slack + 1);
	if (aligned)
		at -= at % bytes[size];
	at += off;
	switch (gen_below(g, write ? atomic ? 5 : 4 : 2)) {
	case 0:
		gen_emit(g, LDX(sizes[size], gen_write(g), base, at));
		return;
	case 1:
		if (size == 3)
			size = 2; /* at is fine for a smaller one too */
		gen_emit(g, LDSX(sizes[size], gen_write(g), base, at));
		return;
	case 2:
		gen_emit(g, STX(sizes[size], base, at, gen_read(g)));
		return;
	case 3:
		gen_emit(g, ST(sizes[size], base, at, (int32_t)gen_constant(g)));
		return;
	default:
		size = at % 8 ? 2 : 2 + gen_below(g, 2);
		at -= (at % bytes[size] + bytes[size]) % bytes[size];
		if (at < off || at + bytes[size] > off + (int32_t)room)
			return;
		if (!(g->live & 1))
			gen_emit(g, MOV64K(R0, (int32_t)gen_constant(g)));
		g->live |= 1;
		gen_emit(g,
			 ATOMIC(sizes[size], atomics[gen_below(g, sizeof(atomics))], base, at, gen_read(g)));
	}
}

/* A live scalar that is not @reg, which holds a pointer. */
static uint8_t gen_read_but(struct gen *g, uint8_t reg)
{
	uint8_t got;

	g->held |= 1u << reg;
	got = gen_read(g);
	g->held &= ~(1u << reg);
	return got;
}

void gen_stack(struct gen *g)
{
	uint8_t by;

	if (gen_chance(g, 80)) {
		gen_access(g, R10, -8 * (int32_t)(1 + gen_below(g, (uint32_t)g->slots)), 8, true, true, true);
		return;
	}
	/* At an offset that only the run knows: one of the slots, whose number is a power of two. */
	by = gen_read(g);
	gen_emit(g, MOV64X(R1, by));
	gen_emit(g, ALU64K(BPF_AND, R1, g->slots - 1));
	gen_emit(g, ALU64K(BPF_LSH, R1, 3));
	gen_emit(g, MOV64X(R2, R10));
	gen_emit(g, ALU64X(BPF_ADD, R2, R1));
	g->live &= ~6u;
	if (gen_chance(g, 50)) {
		gen_emit(g, LDX(DW, R1, R2, -8 * g->slots));
		g->live |= 2;
	} else {
		gen_emit(g, STX(DW, R2, -8 * g->slots, gen_read_but(g, R2)));
	}
}

void gen_memory(struct gen *g)
{
	if (g->len == 0)
		return;
	/* No atomics on packets, which the kernel refuses. */
	gen_access(g, R6, 0, g->len, g->aligned, g->aligned && !g->anywhere, true);
}

/* ------------------------------------------------------------------ pointers */
/* The context by way of the stack. */
static void spill_context(struct gen *g)
{
	gen_emit(g, STX(DW, R10, GEN_SPILL, R9));
	gen_emit(g, MOV64K(R9, 0));
	gen_emit(g, LDX(DW, R9, R10, GEN_SPILL));
}

/* One pointer of two kinds, sometimes by way of the stack: the kernel refuses that. */
static void mixed(struct gen *g, uint8_t index)
{
	uint32_t jump;

	g->made->no_kernel = true;
	gen_emit(g, MOV64X(R0, index));
	gen_emit(g, MOV64X(R1, R6));
	jump = gen_jump(g, JK(BPF_JSET, R0, 1, 0));
	if (g->made->run.kind == VIRTIO_GPGPU_PROG_XDP && gen_chance(g, 50))
		gen_load_value(g, R1, GEN_DATA, 8 * (int32_t)gen_below(g, 7));
	else
		gen_stack_pointer(g, R1, -8);
	gen_here(g, jump);
	g->live &= ~2u;
	if (gen_chance(g, 40)) {
		gen_emit(g, STX(DW, R10, GEN_SPILL, R1));
		gen_emit(g, MOV64K(R1, 0));
		gen_emit(g, LDX(DW, R1, R10, GEN_SPILL));
	}
	if (gen_chance(g, 60))
		gen_emit(g, LDX(B, R0, R1, 1));
	else
		gen_emit(g, STX(B, R1, 1, R0));
	g->live |= 1;
}

void gen_pointer(struct gen *g)
{
	uint8_t index = gen_read(g);
	uint32_t jump;

	if (g->len < 2)
		return;
	if (g->main && gen_chance(g, 10)) {
		spill_context(g);
		return;
	}
	if (gen_chance(g, 40)) {
		/* Spilled and filled. */
		gen_emit(g, STX(DW, R10, GEN_SPILL, R6));
		gen_emit(g, MOV64K(R6, 0));
		gen_emit(g, LDX(DW, R6, R10, GEN_SPILL));
		return;
	}
	if (gen_chance(g, 30)) {
		mixed(g, index);
		return;
	}
	if (!g->main || g->made->run.kind != VIRTIO_GPGPU_PROG_XDP)
		return;
	/* A variable offset, checked against the end. */
	gen_emit(g, MOV64X(R1, index));
	gen_emit(g, ALU64K(BPF_AND, R1, 127));
	gen_emit(g, MOV64X(R0, R6));
	gen_emit(g, ALU64X(BPF_ADD, R0, R1));
	gen_emit(g, MOV64X(R2, R0));
	gen_emit(g, ALU64K(BPF_ADD, R2, 8));
	gen_emit(g, LDX(W, R3, R9, 4));
	gen_emit(g, MOV64K(R1, -1));
	jump = gen_jump(g, gen_chance(g, 50) ? JX(BPF_JGT, R2, R3, 0) : JX(BPF_JLT, R3, R2, 0));
	if (gen_chance(g, 50))
		gen_emit(g, LDX(DW, R1, R0, 0));
	else
		gen_emit(g, ST(W, R0, gen_below(g, 5), (int32_t)gen_constant(g)));
	gen_here(g, jump);
	gen_emit(g, MOV64X(R0, R1));
	gen_after_call(g);
}

/* Something that faults, mostly. */
void gen_fault(struct gen *g)
{
	bool xdp = g->made->run.kind == VIRTIO_GPGPU_PROG_XDP;

	g->made->no_kernel = true;
	g->made->may_fault = true;
	gen_emit(g, MOV64X(R1, gen_read(g)));
	switch (gen_below(g, xdp ? 5 : 4)) {
	case 0:
		/* In bounds for some values only. */
		gen_emit(g, ALU64K(BPF_AND, R1, 0xff));
		gen_emit(g, MOV64X(R0, R6));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
		gen_emit(g, LDX(DW, R0, R0, 0));
		break;
	case 1:
		gen_emit(g, ALU64K(BPF_OR, R1, 0x10000));
		gen_emit(g, MOV64X(R0, R6));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
		gen_emit(g, ST(B, R0, (int16_t)gen_random(g), 1));
		gen_emit(g, MOV64K(R0, 0));
		break;
	case 2:
		/* Far over the stack's top: nearer there may be other frames. */
		gen_emit(g, ALU64K(BPF_AND, R1, 0x7fff));
		gen_emit(g, ALU64K(BPF_OR, R1, 0x8000));
		gen_emit(g, MOV64X(R0, R10));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
		gen_emit(g, LDX(DW, R0, R0, 0));
		break;
	case 3:
		/* A loop that ends after 2^64 rounds. */
		gen_emit(g, MOV64K(R0, 1));
		gen_emit(g, ALU64K(BPF_ADD, R0, 1));
		gen_emit(g, JK(BPF_JNE, R0, 0, -2));
		break;
	default:
		/* NULL, since there is no such key. */
		gen_emit(g, ST(W, R10, GEN_KEY, 77));
		gen_emit(g, MOV64X(R2, R10));
		gen_emit(g, ALU64K(BPF_ADD, R2, GEN_KEY));
		gen_load_map(g, R1, GEN_HASH);
		gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
		gen_emit(g, LDX(DW, R0, R0, 0));
	}
	gen_after_call(g);
}
