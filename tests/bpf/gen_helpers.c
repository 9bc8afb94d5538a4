// SPDX-License-Identifier: BSD-3-Clause
/* gen_helpers.c - statements of random programs that call helpers which take no map. */
#include "gen.h"
#include "gpgpu_bpf.h"

static void checksum(struct gen *g)
{
	uint32_t most = g->slots > 2 ? 5 : 3, from = gen_below(g, most) * 4, to = gen_below(g, most) * 4;
	uint8_t seed = gen_read(g);

	gen_emit(g, MOV32X(R5, seed));
	gen_stack_pointer(g, R1, -8 * g->slots);
	gen_emit(g, MOV64K(R2, from));
	if (g->len >= 16 && gen_chance(g, 50)) {
		gen_emit(g, MOV64X(R3, R6));
	} else {
		gen_stack_pointer(g, R3, g->slots > 2 ? -24 : -16);
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
	gen_stack_pointer(g, R3, -8 * g->slots);
	gen_emit(g, MOV64K(R4, 1 + gen_below(g, 8 * (uint32_t)g->slots - 1)));
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
		gen_emit(g, STX(DW, R10, GEN_VALUE - 8 * (i + 1), args[i]));
	for (int i = 0; i < 3; i++)
		gen_emit(g, LDX(DW, (uint8_t)(R1 + i), R10, GEN_VALUE - 8 * (i + 1)));
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

/* Only the sign is defined. */
static void compare_strings(struct gen *g)
{
	static const int32_t starts[] = { 0, 4, 9, 13, 17 };
	bool good = gen_chance(g, 60);

	if (good) {
		gen_emit(g, ST(W, R10, GEN_VALUE, 0x544547)); /* "GET" */
		gen_emit(g, ST(W, R10, GEN_VALUE + 4, (int32_t)gen_constant(g)));
	} else {
		gen_emit(g, STX(DW, R10, GEN_VALUE, gen_read(g)));
	}
	gen_stack_pointer(g, R1, GEN_VALUE);
	gen_emit(g, MOV64K(R2, 1 + (int32_t)gen_below(g, 8)));
	gen_load_value(g, R3, GEN_STRINGS, starts[gen_below(g, 5)]);
	gen_emit(g, CALL(BPF_FUNC_strncmp));
	gen_emit(g, JK(BPF_JEQ, R0, 0, 2));
	gen_emit(g, ALU32K(BPF_ARSH, R0, 31));
	gen_emit(g, ALU32K(BPF_OR, R0, 1));
	gen_after_call(g);
}

/* The device answers from a map of routes, the kernel from its own, so the two are not compared. */
static void route(struct gen *g)
{
	static const int16_t parts[] = { 4, 8, 48, 52, 56, 60 };
	uint8_t address = gen_read(g);
	bool six = gen_chance(g, 25);

	gen_make_map(g, GEN_FIB);
	gen_emit(g, MOV64X(R5, address));
	for (int i = 0; i < 8; i++)
		gen_emit(g, ST(DW, R10, GEN_ROUTE + 8 * i, 0));
	gen_emit(g, ST(B, R10, GEN_ROUTE, gen_chance(g, 5) ? 1 : six ? 10 : 2));
	gen_emit(g, ST(H, R10, GEN_ROUTE + 6, gen_below(g, 2000)));
	gen_emit(g, ALU64K(BPF_AND, R5, 3));
	gen_emit(g, STX(B, R10, GEN_ROUTE + 33, R5));
	gen_emit(g, ST(B, R10, GEN_ROUTE + 32, six ? 0xfd : 10));
	gen_emit(g, MOV64X(R1, R9));
	gen_stack_pointer(g, R2, GEN_ROUTE);
	gen_emit(g, MOV64K(R3, gen_chance(g, 95) ? 64 : 63));
	gen_emit(g, MOV64K(R4, gen_chance(g, 95) ? gen_below(g, 8) : 64));
	gen_emit(g, CALL(BPF_FUNC_fib_lookup));
	gen_after_call(g);
	gen_emit(g, LDX(W, R1, R10, GEN_ROUTE + parts[gen_below(g, 6)]));
	g->live |= 2;
}

static void clock(struct gen *g)
{
	static const int32_t clocks[] = { BPF_FUNC_ktime_get_ns, BPF_FUNC_ktime_get_boot_ns,
					  BPF_FUNC_ktime_get_coarse_ns, BPF_FUNC_jiffies64 };

	gen_emit(g, CALL(clocks[g->without & RANDOM_WITHOUT_MORE ? 0 : gen_below(g, 4)]));
	gen_void(g); /* not the same twice */
	g->live &= ~0x3eu;
}

void gen_helper(struct gen *g)
{
	bool more = !(g->without & RANDOM_WITHOUT_MORE);

	if (g->made->run.kind != VIRTIO_GPGPU_PROG_XDP) {
		if (gen_chance(g, 30))
			work_item(g);
		else
			floating(g);
		return;
	}
	switch (gen_below(g, g->main ? 9 : 6)) {
	case 0:
		clock(g);
		return;
	case 1:
		gen_emit(g, CALL(BPF_FUNC_get_prandom_u32));
		gen_emit(g, ALU64K(BPF_RSH, R0, 32));
		gen_after_call(g);
		return;
	case 2:
		gen_emit(g, CALL(more && gen_chance(g, 50) ? BPF_FUNC_get_numa_node_id
							   : BPF_FUNC_get_smp_processor_id));
		gen_after_call(g);
		return;
	case 3:
		checksum(g);
		return;
	case 4:
	case 5:
		if (more)
			compare_strings(g);
		return;
	case 6:
		if (more && !(g->without & RANDOM_WITHOUT_MAPS) && gen_chance(g, 25))
			route(g);
		else
			copy_bytes(g);
		return;
	case 7:
		if (more && gen_chance(g, 40)) {
			gen_emit(g, MOV64X(R1, R9));
			gen_emit(g, CALL(BPF_FUNC_xdp_get_buff_len));
			gen_after_call(g);
			return;
		}
		/* fall through */
	default:
		/* In a loop R6 must stay what it is; so it must in a branch. */
		if (g->loops == 0)
			adjust(g);
	}
}
