/* SPDX-License-Identifier: BSD-3-Clause */
/* scalar.c - scalar arithmetic: one row per instruction, with what it gives and what scc becomes. */
#include "internal.h"

#define A  ((uint32_t)a)
#define B  ((uint32_t)b)
#define SA ((int32_t)a)
#define SB ((int32_t)b)
#define LA ((int64_t)a)

static uint64_t reverse(uint64_t x, unsigned int n)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < n; i++)
		r |= (x >> i & 1) << (n - 1 - i);
	return r;
}

static uint32_t lowest(uint64_t x)
{
	return x ? (uint32_t)__builtin_ctzll(x) : ~0u;
}

static uint32_t leading32(uint32_t x)
{
	return x ? (uint32_t)__builtin_clz(x) : ~0u;
}

static uint32_t leading64(uint64_t x)
{
	return x ? (uint32_t)__builtin_clzll(x) : ~0u;
}

/* Bits above the lowest copies of the sign. */
static uint32_t sign_bits64(int64_t x)
{
	return x == 0 || x == -1 ? ~0u : (uint32_t)__builtin_clzll((uint64_t)(x < 0 ? ~x : x));
}

static uint32_t sign_bits32(int32_t x)
{
	return x == 0 || x == -1 ? ~0u : (uint32_t)__builtin_clz((uint32_t)(x < 0 ? ~x : x));
}

static uint64_t field_u(uint64_t x, uint32_t at, uint32_t width, unsigned int size)
{
	at &= size - 1;
	width &= 127;
	x >>= at;
	return width >= size ? x : x & ((1ull << width) - 1);
}

static uint64_t field_s(uint64_t x, uint32_t at, uint32_t width, unsigned int size)
{
	uint64_t r = field_u(x, at, width, size);
	uint32_t have = size - (at & (size - 1));

	width &= 127;
	if (!width)
		return 0;
	width = width < have ? width : have;
	return r | (r >> (width - 1) & 1 && width < 64 ? ~0ull << width : 0);
}

static uint64_t replicate(uint32_t x)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 32; i++)
		r |= (uint64_t)(x >> i & 1) * 3 << 2 * i;
	return r;
}

static uint32_t absolute(int32_t x)
{
	return x < 0 ? 0u - (uint32_t)x : (uint32_t)x;
}

static uint32_t overflow_add(uint32_t a, uint32_t b)
{
	return (~(a ^ b) & (a ^ (a + b))) >> 31;
}

static uint32_t overflow_sub(uint32_t a, uint32_t b)
{
	return ((a ^ b) & (a ^ (a - b))) >> 31;
}

static uint32_t shift_overflow(uint32_t a, uint32_t b, unsigned int n)
{
	return (((uint64_t)a << n) + b) >> 32 != 0;
}

#define O  F_SCC_OUT
#define I  F_SCC_IN
#define NZ r != 0
/* clang-format off */
#define BOTH(X, name, undef, extra, expression) \
	X(name##_b32, undef, O, extra, NZ, (uint32_t)(expression)) \
	X(name##_b64, undef, O, extra, NZ, expression)
/* name, undefined bits, flags, extra, scc, result */
#define LIST(X) \
	X(s_mov_b32, U_MOVE, 0, 0, 0, a) \
	X(s_mov_b64, U_MOVE, 0, 0, 0, a) \
	X(s_movk_i32, U_MOVE, 0, 0, 0, a) \
	X(s_cmov_b32, U_ALL, I | F_ACC, 0, 0, *scc ? a : b) \
	X(s_cmov_b64, U_ALL, I | F_ACC, 0, 0, *scc ? a : b) \
	X(s_cmovk_i32, U_ALL, I | F_ACC, 0, 0, *scc ? a : b) \
	X(s_cselect_b32, U_XOR, I, 0, 0, *scc ? a : b) \
	X(s_cselect_b64, U_XOR, I, 0, 0, *scc ? a : b) \
	X(s_add_u32, U_ADD, O, 0, ((uint64_t)A + B) >> 32, A + B) \
	X(s_sub_u32, U_ADD, O, 0, B > A, A - B) \
	X(s_add_i32, U_ADD, O, 0, overflow_add(A, B), A + B) \
	X(s_sub_i32, U_ADD, O, 0, overflow_sub(A, B), A - B) \
	X(s_addc_u32, U_ADD, I | O, 0, ((uint64_t)A + B + *scc) >> 32, A + B + *scc) \
	X(s_subb_u32, U_ADD, I | O, 0, (uint64_t)B + *scc > A, A - B - *scc) \
	X(s_addk_i32, U_ADD, O | F_ACC, 0, overflow_add(A, B), A + B) \
	X(s_mulk_i32, U_ADD, F_ACC, 0, 0, A * B) \
	X(s_mul_i32, U_ADD, 0, 0, 0, A * B) \
	X(s_mul_hi_u32, U_ALL, 0, 0, 0, (uint64_t)A * B >> 32) \
	X(s_mul_hi_i32, U_ALL, 0, 0, 0, (uint64_t)((int64_t)SA * SB) >> 32) \
	X(s_min_i32, U_ALL, O, 0, SA < SB, SA < SB ? A : B) \
	X(s_min_u32, U_ALL, O, 0, A < B, A < B ? A : B) \
	X(s_max_i32, U_ALL, O, 0, SA > SB, SA > SB ? A : B) \
	X(s_max_u32, U_ALL, O, 0, A > B, A > B ? A : B) \
	BOTH(X, s_and, U_AND, 0, a & b) \
	BOTH(X, s_or, U_OR, 0, a | b) \
	BOTH(X, s_xor, U_XOR, 0, a ^ b) \
	BOTH(X, s_andn2, U_AND, 2, a & ~b) \
	BOTH(X, s_orn2, U_OR, 2, a | ~b) \
	BOTH(X, s_nand, U_AND, 0, ~(a & b)) \
	BOTH(X, s_nor, U_OR, 0, ~(a | b)) \
	BOTH(X, s_xnor, U_XOR, 0, ~(a ^ b)) \
	BOTH(X, s_not, U_XOR, 0, ~a) \
	X(s_lshl_b32, U_SHIFT, O, 0, NZ, A << (B & 31)) \
	X(s_lshl_b64, U_SHIFT, O, 0, NZ, a << (B & 63)) \
	X(s_lshr_b32, U_SHIFT, O, 0, NZ, A >> (B & 31)) \
	X(s_lshr_b64, U_SHIFT, O, 0, NZ, a >> (B & 63)) \
	X(s_ashr_i32, U_SHIFT, O, 0, NZ, (uint32_t)(SA >> (B & 31))) \
	X(s_ashr_i64, U_SHIFT, O, 0, NZ, (uint64_t)(LA >> (B & 63))) \
	X(s_lshl1_add_u32, U_ADD, O, 0, shift_overflow(A, B, 1), (A << 1) + B) \
	X(s_lshl2_add_u32, U_ADD, O, 0, shift_overflow(A, B, 2), (A << 2) + B) \
	X(s_lshl3_add_u32, U_ADD, O, 0, shift_overflow(A, B, 3), (A << 3) + B) \
	X(s_lshl4_add_u32, U_ADD, O, 0, shift_overflow(A, B, 4), (A << 4) + B) \
	X(s_bfm_b32, U_ALL, 0, 0, 0, ((1u << (A & 31)) - 1) << (B & 31)) \
	X(s_bfm_b64, U_ALL, 0, 0, 0, ((1ull << (A & 63)) - 1) << (B & 63)) \
	X(s_bfe_u32, U_SHIFT, O, 0, NZ, field_u(A, B & 31, B >> 16 & 127, 32)) \
	X(s_bfe_i32, U_SHIFT, O, 0, NZ, (uint32_t)field_s(A, B & 31, B >> 16 & 127, 32)) \
	X(s_bfe_u64, U_SHIFT, O, 0, NZ, field_u(a, B & 63, B >> 16 & 127, 64)) \
	X(s_bfe_i64, U_SHIFT, O, 0, NZ, field_s(a, B & 63, B >> 16 & 127, 64)) \
	X(s_absdiff_i32, U_ALL, O, 0, NZ, absolute((int32_t)(A - B))) \
	X(s_abs_i32, U_ALL, O, 0, NZ, absolute(SA)) \
	X(s_pack_ll_b32_b16, U_ALL, 0, 0, 0, (A & 0xffff) | B << 16) \
	X(s_pack_lh_b32_b16, U_ALL, 0, 0, 0, (A & 0xffff) | (B & 0xffff0000)) \
	X(s_pack_hh_b32_b16, U_ALL, 0, 0, 0, A >> 16 | (B & 0xffff0000)) \
	X(s_brev_b32, U_SHIFT, 0, 0, 0, reverse(A, 32)) \
	X(s_brev_b64, U_SHIFT, 0, 0, 0, reverse(a, 64)) \
	X(s_bcnt0_i32_b32, U_ALL, O, 0, NZ, (uint32_t)__builtin_popcount(~A)) \
	X(s_bcnt0_i32_b64, U_ALL, O, 0, NZ, (uint32_t)__builtin_popcountll(~a)) \
	X(s_bcnt1_i32_b32, U_ALL, O, 0, NZ, (uint32_t)__builtin_popcount(A)) \
	X(s_bcnt1_i32_b64, U_ALL, O, 0, NZ, (uint32_t)__builtin_popcountll(a)) \
	X(s_ff0_i32_b32, U_ALL, 0, 0, 0, lowest((uint32_t)~A)) \
	X(s_ff0_i32_b64, U_ALL, 0, 0, 0, lowest(~a)) \
	X(s_ff1_i32_b32, U_ALL, 0, 0, 0, lowest(A)) \
	X(s_ff1_i32_b64, U_ALL, 0, 0, 0, lowest(a)) \
	X(s_flbit_i32_b32, U_ALL, 0, 0, 0, leading32(A)) \
	X(s_flbit_i32_b64, U_ALL, 0, 0, 0, leading64(a)) \
	X(s_flbit_i32, U_ALL, 0, 0, 0, sign_bits32(SA)) \
	X(s_flbit_i32_i64, U_ALL, 0, 0, 0, sign_bits64(LA)) \
	X(s_sext_i32_i8, U_SHIFT, 0, 0, 0, (uint32_t)(int8_t)a) \
	X(s_sext_i32_i16, U_SHIFT, 0, 0, 0, (uint32_t)(int16_t)a) \
	X(s_bitset0_b32, U_ALL, F_ACC, 0, 0, B & ~(1u << (A & 31))) \
	X(s_bitset0_b64, U_ALL, F_ACC, 0, 0, b & ~(1ull << (A & 63))) \
	X(s_bitset1_b32, U_ALL, F_ACC, 0, 0, B | 1u << (A & 31)) \
	X(s_bitset1_b64, U_ALL, F_ACC, 0, 0, b | 1ull << (A & 63)) \
	X(s_bitreplicate_b64_b32, U_ALL, 0, 0, 0, replicate(A)) \
	X(s_quadmask_b32, U_ALL, O, 0, NZ, quads(A)) \
	X(s_quadmask_b64, U_ALL, O, 0, NZ, quads(a)) \
	X(s_wqm_b32, U_ALL, O, 0, NZ, (uint32_t)(whole_quads(A))) \
	X(s_wqm_b64, U_ALL, O, 0, NZ, whole_quads(a)) \
	X(s_cmp_eq_i32, U_ALL, O, 0, A == B, 0) \
	X(s_cmp_lg_i32, U_ALL, O, 0, A != B, 0) \
	X(s_cmp_gt_i32, U_ALL, O, 0, SA > SB, 0) \
	X(s_cmp_ge_i32, U_ALL, O, 0, SA >= SB, 0) \
	X(s_cmp_lt_i32, U_ALL, O, 0, SA < SB, 0) \
	X(s_cmp_le_i32, U_ALL, O, 0, SA <= SB, 0) \
	X(s_cmp_eq_u32, U_ALL, O, 0, A == B, 0) \
	X(s_cmp_lg_u32, U_ALL, O, 0, A != B, 0) \
	X(s_cmp_gt_u32, U_ALL, O, 0, A > B, 0) \
	X(s_cmp_ge_u32, U_ALL, O, 0, A >= B, 0) \
	X(s_cmp_lt_u32, U_ALL, O, 0, A < B, 0) \
	X(s_cmp_le_u32, U_ALL, O, 0, A <= B, 0) \
	X(s_cmp_eq_u64, U_ALL, O, 0, a == b, 0) \
	X(s_cmp_lg_u64, U_ALL, O, 0, a != b, 0) \
	X(s_bitcmp0_b32, U_ALL, O, 0, !(A >> (B & 31) & 1), 0) \
	X(s_bitcmp1_b32, U_ALL, O, 0, A >> (B & 31) & 1, 0) \
	X(s_bitcmp0_b64, U_ALL, O, 0, !(a >> (B & 63) & 1), 0) \
	X(s_bitcmp1_b64, U_ALL, O, 0, a >> (B & 63) & 1, 0) \
	X(s_cmpk_eq_i32, U_ALL, O, 0, A == B, 0) \
	X(s_cmpk_lg_i32, U_ALL, O, 0, A != B, 0) \
	X(s_cmpk_gt_i32, U_ALL, O, 0, SA > SB, 0) \
	X(s_cmpk_ge_i32, U_ALL, O, 0, SA >= SB, 0) \
	X(s_cmpk_lt_i32, U_ALL, O, 0, SA < SB, 0) \
	X(s_cmpk_le_i32, U_ALL, O, 0, SA <= SB, 0) \
	X(s_cmpk_eq_u32, U_ALL, O, 0, A == B, 0) \
	X(s_cmpk_lg_u32, U_ALL, O, 0, A != B, 0) \
	X(s_cmpk_gt_u32, U_ALL, O, 0, A > B, 0) \
	X(s_cmpk_ge_u32, U_ALL, O, 0, A >= B, 0) \
	X(s_cmpk_lt_u32, U_ALL, O, 0, A < B, 0) \
	X(s_cmpk_le_u32, U_ALL, O, 0, A <= B, 0)
/* clang-format on */

static uint64_t quads(uint64_t x)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 16; i++)
		r |= (uint64_t)((x >> 4 * i & 15) != 0) << i;
	return r;
}

static uint64_t whole_quads(uint64_t x)
{
	uint64_t r = 0;

	for (unsigned int i = 0; i < 16; i++)
		r |= x >> 4 * i & 15 ? 15ull << 4 * i : 0;
	return r;
}

#define FUNCTION(name, undef, flags, extra, condition, result)                           \
	static uint64_t do_##name(struct wave *w, uint64_t a, uint64_t b, uint32_t *scc) \
	{                                                                                \
		uint64_t r = (result);                                                   \
                                                                                         \
		(void)w, (void)a, (void)b;                                               \
		if ((flags) & F_SCC_OUT)                                                 \
			*scc = (condition);                                              \
		return r;                                                                \
	}
LIST(FUNCTION)

#define ROW(name, undef, flags, extra, condition, result) \
	{ #name, isa_run_salu, NULL, NULL, do_##name, 0, { 0 }, undef, C_SALU, flags, 0, 0, extra },
const struct sem isa_sem_scalar[] = { LIST(ROW) };
SEM_END(scalar);

void isa_run_salu(struct wave *w, const struct uop *u)
{
	uint64_t a = isa_scalar(w, &u->src[0]);
	uint64_t b = isa_scalar(w, u->sem->flags & F_ACC ? &u->dst : &u->src[1]);
	uint32_t scc = w->scc;
	uint64_t r = u->sem->scalar(w, a, b, &scc);

	isa_set_scalar(w, &u->dst, r);
	if (u->sem->flags & F_SCC_OUT) {
		w->scc = scc;
		w->scc_undef = 0;
	}
}
