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

/* A load, store or atomic at @base + @off .. @off + @room, aligned to its size if @aligned. */
static void access(struct gen *g, uint8_t base, int32_t off, uint32_t room, bool aligned, bool atomic,
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

void gen_stack(struct gen *g)
{
	access(g, R10, -8 * (int32_t)(1 + gen_below(g, GEN_SLOTS)), 8, true, true, true);
}

void gen_memory(struct gen *g)
{
	if (g->len == 0)
		return;
	/* No atomics on packets, which the kernel refuses. */
	access(g, R6, 0, g->len, g->aligned, g->aligned, true);
}

void gen_data(struct gen *g)
{
	const struct bpf_insn pair[] = { LDVALUE(R0, GEN_DATA, 0) };
	struct bpf_insn first = pair[0], second = pair[1];
	uint32_t base = gen_below(g, 7) * 8;

	if (g->made->run.kind != VIRTIO_GPGPU_PROG_XDP)
		return;
	second.imm = (int32_t)base;
	gen_emit(g, first);
	gen_emit(g, second);
	g->live &= ~1u;
	g->held |= 1u;
	if (gen_chance(g, 50))
		access(g, R0, 0, 16, true, false, true);
	else
		gen_emit(g, ATOMIC(DW, BPF_ADD, R0, 8, gen_read(g)));
	g->held &= ~1u;
	gen_emit(g, MOV64K(R0, (int32_t)gen_constant(g)));
	g->live |= 1;
}

/* ------------------------------------------------------------------ maps */
static void put_key(struct gen *g, uint32_t map)
{
	if (map == GEN_LPM) {
		gen_emit(g, ST(W, R10, GEN_KEY, gen_below(g, 34)));
		gen_emit(g, ST(W, R10, GEN_KEY + 4,
			       10 | gen_below(g, 3) << 8 | gen_below(g, 2) << 16 | gen_below(g, 2) << 31));
	} else if (gen_chance(g, 50)) {
		gen_emit(g, ST(W, R10, GEN_KEY, gen_below(g, 10)));
	} else {
		uint8_t src = gen_read(g);

		gen_emit(g, STX(W, R10, GEN_KEY, src));
		gen_emit(g, LDX(B, src, R10, GEN_KEY));
		gen_emit(g, ALU64K(BPF_AND, src, 15));
		gen_emit(g, STX(W, R10, GEN_KEY, src));
	}
}

static void use_value(struct gen *g)
{
	uint32_t jump, live;

	gen_after_call(g);
	g->live &= ~1u;
	g->held |= 1u;
	live = g->live;
	jump = gen_jump(g, JK(BPF_JEQ, R0, 0, 0));
	if (gen_chance(g, 30))
		gen_emit(g, ATOMIC(DW, BPF_ADD, R0, 0, gen_read(g)));
	else
		access(g, R0, 0, 8, true, false, true);
	/* What only this branch initialised does not count. */
	g->live &= live;
	g->held &= ~1u;
	gen_here(g, jump);
	gen_emit(g, MOV64K(R0, (int32_t)gen_constant(g)));
	g->live |= 1;
}

void gen_map(struct gen *g)
{
	uint32_t map = gen_below(g, 4);
	struct bpf_insn pair[] = { LDMAP(R1, map) };

	if (g->made->run.kind != VIRTIO_GPGPU_PROG_XDP)
		return;
	put_key(g, map);
	/* R7 and R8 may be in use; the value comes from the stack. */
	gen_emit(g, STX(DW, R10, GEN_VALUE, gen_read(g)));
	gen_emit(g, pair[0]);
	gen_emit(g, pair[1]);
	gen_emit(g, MOV64X(R2, R10));
	gen_emit(g, ALU64K(BPF_ADD, R2, GEN_KEY));
	switch (gen_below(g, 4)) {
	case 0:
		gen_emit(g, MOV64X(R3, R10));
		gen_emit(g, ALU64K(BPF_ADD, R3, GEN_VALUE));
		gen_emit(g, MOV64K(R4, gen_below(g, 4)));
		gen_emit(g, CALL(BPF_FUNC_map_update_elem));
		gen_after_call(g);
		return;
	case 1:
		gen_emit(g, CALL(BPF_FUNC_map_delete_elem));
		gen_after_call(g);
		return;
	default:
		gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
		use_value(g);
	}
}

/* ------------------------------------------------------------------ helpers */
static void checksum(struct gen *g)
{
	uint32_t from = gen_below(g, 5) * 4, to = gen_below(g, 5) * 4;
	uint8_t seed = gen_read(g);

	gen_emit(g, MOV32X(R5, seed));
	gen_emit(g, MOV64X(R1, R10));
	gen_emit(g, ALU64K(BPF_ADD, R1, -8 * GEN_SLOTS));
	gen_emit(g, MOV64K(R2, from));
	if (g->len >= 16 && gen_chance(g, 50)) {
		gen_emit(g, MOV64X(R3, R6));
	} else {
		gen_emit(g, MOV64X(R3, R10));
		gen_emit(g, ALU64K(BPF_ADD, R3, -24));
	}
	gen_emit(g, MOV64K(R4, to));
	gen_emit(g, CALL(BPF_FUNC_csum_diff));
	/* Only the folded sum is defined. */
	for (int i = 0; i < 2; i++) {
		gen_emit(g, MOV64X(R1, R0));
		gen_emit(g, ALU64K(BPF_RSH, R1, 16));
		gen_emit(g, ALU64K(BPF_AND, R0, 0xffff));
		gen_emit(g, ALU64X(BPF_ADD, R0, R1));
	}
	/* Zero has two forms, and Linux 6.13 gives the other one of them sometimes. */
	gen_emit(g, JK(BPF_JNE, R0, 0xffff, 1));
	gen_emit(g, MOV64K(R0, 0));
	gen_after_call(g);
}

static void copy_bytes(struct gen *g)
{
	uint8_t offset = gen_read(g);

	gen_emit(g, MOV64X(R2, offset));
	gen_emit(g, ALU64K(BPF_AND, R2, 127));
	gen_emit(g, MOV64X(R1, R9));
	gen_emit(g, MOV64X(R3, R10));
	gen_emit(g, ALU64K(BPF_ADD, R3, -8 * GEN_SLOTS));
	gen_emit(g, MOV64K(R4, 1 + gen_below(g, 8 * GEN_SLOTS - 1)));
	gen_emit(g, CALL(gen_chance(g, 50) ? BPF_FUNC_xdp_load_bytes : BPF_FUNC_xdp_store_bytes));
	gen_after_call(g);
}

static void adjust(struct gen *g)
{
	static const int32_t helpers[] = { BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_tail,
					   BPF_FUNC_xdp_adjust_meta };
	int32_t delta = (int32_t)gen_below(g, 64) - 32;

	gen_emit(g, MOV64X(R1, R9));
	gen_emit(g, MOV64K(R2, delta));
	gen_emit(g, CALL(helpers[gen_below(g, 3)]));
	gen_after_call(g);
	/* The old pointer is worth nothing. 14 bytes are always left. */
	gen_packet(g, 1 + gen_below(g, gen_chance(g, 50) ? 14 : 40));
}

static void work_item(struct gen *g)
{
	static const int32_t ids[] = { GPGPU_HELPER_global_id, GPGPU_HELPER_global_size,
				       GPGPU_HELPER_local_id,  GPGPU_HELPER_local_size,
				       GPGPU_HELPER_group_id,  GPGPU_HELPER_num_groups };

	gen_emit(g, MOV64K(R1, gen_below(g, 3)));
	gen_emit(g, CALL(ids[gen_below(g, 6)]));
	gen_after_call(g);
}

static const int32_t floats32[] = {
	GPGPU_HELPER_fadd32,	GPGPU_HELPER_fsub32, GPGPU_HELPER_fmul32,	GPGPU_HELPER_fdiv32,
	GPGPU_HELPER_fma32,	GPGPU_HELPER_sqrt32, GPGPU_HELPER_floor32,	GPGPU_HELPER_ceil32,
	GPGPU_HELPER_trunc32,	GPGPU_HELPER_rint32, GPGPU_HELPER_f32_from_f64, GPGPU_HELPER_f32_from_s,
	GPGPU_HELPER_f32_from_u
};
static const int32_t floats64[] = {
	GPGPU_HELPER_fadd64,	GPGPU_HELPER_fsub64, GPGPU_HELPER_fmul64,	GPGPU_HELPER_fdiv64,
	GPGPU_HELPER_fma64,	GPGPU_HELPER_sqrt64, GPGPU_HELPER_floor64,	GPGPU_HELPER_ceil64,
	GPGPU_HELPER_trunc64,	GPGPU_HELPER_rint64, GPGPU_HELPER_f64_from_f32, GPGPU_HELPER_f64_from_s,
	GPGPU_HELPER_f64_from_u
};
static const int32_t exact[] = { GPGPU_HELPER_flt32,	  GPGPU_HELPER_fle32,	   GPGPU_HELPER_feq32,
				 GPGPU_HELPER_fabs32,	  GPGPU_HELPER_flt64,	   GPGPU_HELPER_fle64,
				 GPGPU_HELPER_feq64,	  GPGPU_HELPER_fabs64,	   GPGPU_HELPER_s_from_f32,
				 GPGPU_HELPER_u_from_f32, GPGPU_HELPER_s_from_f64, GPGPU_HELPER_u_from_f64 };

/* Any NaN becomes one NaN, since which NaN a helper gives is its own business. */
static void floating(struct gen *g)
{
	uint32_t kind = gen_below(g, 3);
	uint8_t args[3] = { gen_read(g), gen_read(g), gen_read(g) };
	struct bpf_insn nan[] = { LD64(R0, kind ? 0x7ff8000000000000 : 0x7fc00000) };

	/* By way of the stack, since the arguments may lie in each other's registers. */
	for (int i = 0; i < 3; i++)
		gen_emit(g, STX(DW, R10, -8 * (i + 1), args[i]));
	for (int i = 0; i < 3; i++)
		gen_emit(g, LDX(DW, (uint8_t)(R1 + i), R10, -8 * (i + 1)));
	if (kind == 2) {
		gen_emit(g, CALL(exact[gen_below(g, sizeof(exact) / 4)]));
		gen_after_call(g);
		return;
	}
	gen_emit(g, CALL(kind ? floats64[gen_below(g, sizeof(floats64) / 4)]
			      : floats32[gen_below(g, sizeof(floats32) / 4)]));
	gen_emit(g, STX(DW, R10, GEN_VALUE, R0));
	gen_emit(g, MOV64X(R1, R0));
	gen_emit(g, MOV64X(R2, R0));
	gen_emit(g, CALL(kind ? GPGPU_HELPER_feq64 : GPGPU_HELPER_feq32));
	gen_emit(g, MOV64X(R1, R0));
	gen_emit(g, LDX(DW, R0, R10, GEN_VALUE));
	gen_emit(g, JK(BPF_JNE, R1, 0, 2));
	gen_emit(g, nan[0]);
	gen_emit(g, nan[1]);
	gen_after_call(g);
}

void gen_helper(struct gen *g)
{
	bool xdp = g->made->run.kind == VIRTIO_GPGPU_PROG_XDP;

	if (!xdp) {
		if (gen_chance(g, 30))
			work_item(g);
		else
			floating(g);
		return;
	}
	switch (gen_below(g, g->main ? 7 : 4)) {
	case 0:
		gen_emit(g, CALL(BPF_FUNC_ktime_get_ns));
		gen_emit(g, MOV64K(R0, 3)); /* not the same twice */
		gen_after_call(g);
		return;
	case 1:
		gen_emit(g, CALL(BPF_FUNC_get_prandom_u32));
		gen_emit(g, ALU64K(BPF_RSH, R0, 32));
		gen_after_call(g);
		return;
	case 2:
		gen_emit(g, CALL(BPF_FUNC_get_smp_processor_id));
		gen_after_call(g);
		return;
	case 3:
		checksum(g);
		return;
	case 4:
		copy_bytes(g);
		return;
	default:
		/* In a loop R6 must stay what it is; so it must in a branch. */
		if (g->loops == 0)
			adjust(g);
	}
}

/* ------------------------------------------------------------------ pointers */
void gen_pointer(struct gen *g)
{
	uint8_t index = gen_read(g);
	uint32_t jump;

	if (g->len < 2)
		return;
	if (gen_chance(g, 40)) {
		/* Spilled and filled. */
		gen_emit(g, STX(DW, R10, GEN_SPILL, R6));
		gen_emit(g, MOV64K(R6, 0));
		gen_emit(g, LDX(DW, R6, R10, GEN_SPILL));
		return;
	}
	if (gen_chance(g, 30)) {
		/* One pointer of two kinds: the kernel refuses that. */
		g->made->no_kernel = true;
		gen_emit(g, MOV64X(R0, index));
		gen_emit(g, MOV64X(R1, R6));
		jump = gen_jump(g, JK(BPF_JSET, R0, 1, 0));
		gen_emit(g, MOV64X(R1, R10));
		gen_emit(g, ALU64K(BPF_ADD, R1, -8));
		gen_here(g, jump);
		g->live &= ~2u;
		gen_emit(g, LDX(B, R0, R1, 1));
		g->live |= 1;
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
	const struct bpf_insn map[] = { LDMAP(R1, GEN_HASH) };

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
		gen_emit(g, map[0]);
		gen_emit(g, map[1]);
		gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
		gen_emit(g, LDX(DW, R0, R0, 0));
	}
	gen_after_call(g);
}
