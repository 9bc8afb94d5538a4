/* SPDX-License-Identifier: BSD-3-Clause */
/* integer.c - vector instructions on 32-bit and 16-bit integers, and on bits. */
#include "lanes.h"

static inline uint32_t field_u(uint32_t x, uint32_t at, uint32_t width)
{
	return x >> (at & 31) & ((1u << (width & 31)) - 1);
}

static inline uint32_t field_s(uint32_t x, uint32_t at, uint32_t width)
{
	uint32_t have;

	at &= 31;
	width &= 31;
	have = width < 32 - at ? width : 32 - at;
	return width ? (uint32_t)((int32_t)(x << (32 - at - have)) >> (32 - have)) : 0;
}

/* Bytes of {a, b} by each byte of the selector: 0-3 of b, 4-7 of a, 8-11 signs, 12 zero, above ones. */
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t both = (uint64_t)a << 32 | b;
	uint32_t r = 0;

	for (int k = 0; k < 4; k++) {
		uint32_t sel = selector >> 8 * k & 255, byte;

		if (sel < 8)
			byte = both >> 8 * sel & 255;
		else if (sel < 12)
			byte = both >> (15 + 16 * (sel - 8)) & 1 ? 255 : 0;
		else
			byte = sel == 12 ? 0 : 255;
		r |= byte << 8 * k;
	}
	return r;
}

static uint32_t difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static uint32_t sad8(uint32_t a, uint32_t b, uint32_t c, unsigned int shift, bool masked)
{
	uint32_t sum = 0;

	for (int k = 0; k < 32; k += 8)
		if (!masked || b >> k & 255)
			sum += difference(a >> k & 255, b >> k & 255);
	return (sum << shift) + c;
}

static uint32_t lerp8(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t r = 0;

	for (int k = 0; k < 32; k += 8)
		r |= (((a >> k & 255) + (b >> k & 255) + (c >> k & 1)) >> 1 & 255) << k;
	return r;
}

static uint32_t reverse(uint32_t x)
{
	x = __builtin_bswap32(x);
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	return (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
}

static uint32_t leading(uint32_t x)
{
	return x ? (uint32_t)__builtin_clz(x) : ~0u;
}

static uint32_t signs(int32_t x)
{
	return x == 0 || x == -1 ? ~0u : (uint32_t)__builtin_clz((uint32_t)(x < 0 ? ~x : x));
}

static uint32_t lowest(uint32_t x)
{
	return x ? (uint32_t)__builtin_ctz(x) : ~0u;
}

/* Results with the clamp bit stay inside of their type. */
static inline uint32_t to_u32(int64_t x, bool clamp)
{
	return !clamp ? (uint32_t)x : x < 0 ? 0 : x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}

static inline uint32_t to_i32(int64_t x, bool clamp)
{
	return !clamp	       ? (uint32_t)x
	       : x < INT32_MIN ? (uint32_t)INT32_MIN
	       : x > INT32_MAX ? INT32_MAX
			       : (uint32_t)x;
}

static inline uint32_t to_u16(int32_t x, bool clamp)
{
	return !clamp ? (uint16_t)x : x < 0 ? 0 : x > UINT16_MAX ? UINT16_MAX : (uint16_t)x;
}

static inline uint32_t to_i16(int32_t x, bool clamp)
{
	return (uint16_t)(!clamp ? x : x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

static inline uint32_t low_u16(uint32_t x)
{
	return x > UINT16_MAX ? UINT16_MAX : x;
}

static inline int32_t s24(uint32_t x)
{
	return (int32_t)(x << 8) >> 8;
}

#define U24(x)	     ((x) & 0xffffff)
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))
#define MED(a, b, c) MAX(MIN(a, b), MIN(MAX(a, b), c))
#define W	     T_B32
#define H	     T_B16
#define S	     T_I16
#define NO	     T_NONE
/* clang-format off */
#define LIST(X) \
	X(v_mov_b32, U_MOVE, 0, 0, W, W, NO, NO, A) \
	X(v_accvgpr_read_b32, U_MOVE, 0, 0, W, W, NO, NO, A) \
	X(v_accvgpr_write_b32, U_MOVE, 0, 0, W, W, NO, NO, A) \
	X(v_accvgpr_mov_b32, U_MOVE, 0, 0, W, W, NO, NO, A) \
	X(v_not_b32, U_MOVE, 0, 0, W, W, NO, NO, ~A) \
	X(v_and_b32, U_AND, 0, 0, W, W, W, NO, A & B) \
	X(v_or_b32, U_OR, 0, 0, W, W, W, NO, A | B) \
	X(v_xor_b32, U_XOR, 0, 0, W, W, W, NO, A ^ B) \
	X(v_xnor_b32, U_XOR, 0, 0, W, W, W, NO, ~(A ^ B)) \
	X(v_xor3_b32, U_XOR, 0, 0, W, W, W, W, A ^ B ^ C) \
	X(v_or3_b32, U_XOR, 0, 0, W, W, W, W, A | B | C) \
	X(v_and_or_b32, U_SHIFT, 0, 2, W, W, W, W, (A & B) | C) \
	X(v_add_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)A + B, CLAMP)) \
	X(v_sub_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)A - B, CLAMP)) \
	X(v_subrev_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)B - A, CLAMP)) \
	X(v_add_nc_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)A + B, CLAMP)) \
	X(v_sub_nc_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)A - B, CLAMP)) \
	X(v_subrev_nc_u32, U_ADD, 0, 0, W, W, W, NO, to_u32((int64_t)B - A, CLAMP)) \
	X(v_add_i32, U_ADD, 0, 0, W, W, W, NO, to_i32((int64_t)SA + SB, CLAMP)) \
	X(v_sub_i32, U_ADD, 0, 0, W, W, W, NO, to_i32((int64_t)SA - SB, CLAMP)) \
	X(v_add_nc_i32, U_ADD, 0, 0, W, W, W, NO, to_i32((int64_t)SA + SB, CLAMP)) \
	X(v_sub_nc_i32, U_ADD, 0, 0, W, W, W, NO, to_i32((int64_t)SA - SB, CLAMP)) \
	X(v_add3_u32, U_ADD, 0, 0, W, W, W, W, A + B + C) \
	X(v_xad_u32, U_ADD, 0, 0, W, W, W, W, (A ^ B) + C) \
	X(v_add_lshl_u32, U_ALL, 0, 0, W, W, W, W, (A + B) << (C & 31)) \
	X(v_lshl_add_u32, U_ALL, 0, 0, W, W, W, W, (A << (B & 31)) + C) \
	X(v_lshl_or_b32, U_SHIFT, 0, 2, W, W, W, W, A << (B & 31) | C) \
	X(v_lshlrev_b32, U_SHIFT, 0, 1, W, W, W, NO, B << (A & 31)) \
	X(v_lshrrev_b32, U_SHIFT, 0, 1, W, W, W, NO, B >> (A & 31)) \
	X(v_ashrrev_i32, U_SHIFT, 0, 1, W, W, W, NO, (uint32_t)(SB >> (A & 31))) \
	X(v_lshl_b32, U_SHIFT, 0, 2, W, W, W, NO, A << (B & 31)) \
	X(v_mul_lo_u32, U_ADD, 0, 0, W, W, W, NO, A * B) \
	X(v_mul_hi_u32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)((uint64_t)A * B >> 32)) \
	X(v_mul_hi_i32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)((int64_t)SA * SB >> 32)) \
	X(v_mul_u32_u24, U_ALL, 0, 0, W, W, W, NO, U24(A) * U24(B)) \
	X(v_mul_i32_i24, U_ALL, 0, 0, W, W, W, NO, (uint32_t)((int64_t)s24(A) * s24(B))) \
	X(v_mul_hi_u32_u24, U_ALL, 0, 0, W, W, W, NO, (uint32_t)((uint64_t)U24(A) * U24(B) >> 32)) \
	X(v_mul_hi_i32_i24, U_ALL, 0, 0, W, W, W, NO, (uint32_t)((int64_t)s24(A) * s24(B) >> 32)) \
	X(v_mad_u32_u24, U_ALL, 0, 0, W, W, W, W, to_u32((int64_t)U24(A) * U24(B) + C, CLAMP)) \
	X(v_mad_i32_i24, U_ALL, 0, 0, W, W, W, W, to_i32((int64_t)s24(A) * s24(B) + SC, CLAMP)) \
	X(v_min_i32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)MIN(SA, SB)) \
	X(v_max_i32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)MAX(SA, SB)) \
	X(v_min_u32, U_ALL, 0, 0, W, W, W, NO, MIN(A, B)) \
	X(v_max_u32, U_ALL, 0, 0, W, W, W, NO, MAX(A, B)) \
	X(v_min3_i32, U_ALL, 0, 0, W, W, W, W, (uint32_t)MIN(MIN(SA, SB), SC)) \
	X(v_max3_i32, U_ALL, 0, 0, W, W, W, W, (uint32_t)MAX(MAX(SA, SB), SC)) \
	X(v_min3_u32, U_ALL, 0, 0, W, W, W, W, MIN(MIN(A, B), C)) \
	X(v_max3_u32, U_ALL, 0, 0, W, W, W, W, MAX(MAX(A, B), C)) \
	X(v_med3_i32, U_ALL, 0, 0, W, W, W, W, (uint32_t)MED(SA, SB, SC)) \
	X(v_med3_u32, U_ALL, 0, 0, W, W, W, W, MED(A, B, C)) \
	X(v_bfe_u32, U_SHIFT, 0, 6, W, W, W, W, field_u(A, B, C)) \
	X(v_bfe_i32, U_SHIFT, 0, 6, W, W, W, W, field_s(A, B, C)) \
	X(v_bfi_b32, U_SHIFT, 0, 1, W, W, W, W, (A & B) | (~A & C)) \
	X(v_bfm_b32, U_ALL, 0, 0, W, W, W, NO, ((1u << (A & 31)) - 1) << (B & 31)) \
	X(v_alignbit_b32, U_SHIFT, 0, 4, W, W, W, W, (uint32_t)(((uint64_t)A << 32 | B) >> (C & 31))) \
	X(v_alignbyte_b32, U_SHIFT, 0, 4, W, W, W, W, (uint32_t)(((uint64_t)A << 32 | B) >> 8 * (C & 3))) \
	X(v_perm_b32, U_SHIFT, 0, 4, W, W, W, W, permute(A, B, C)) \
	X(v_bfrev_b32, U_RUN, 0, 0, W, W, NO, NO, reverse(A)) \
	X(v_bcnt_u32_b32, U_ALL, 0, 0, W, W, W, NO, (uint32_t)__builtin_popcount(A) + B) \
	X(v_ffbh_u32, U_ALL, 0, 0, W, W, NO, NO, leading(A)) \
	X(v_ffbh_i32, U_ALL, 0, 0, W, W, NO, NO, signs(SA)) \
	X(v_ffbl_b32, U_ALL, 0, 0, W, W, NO, NO, lowest(A)) \
	X(v_sad_u8, U_ALL, 0, 0, W, W, W, W, sad8(A, B, C, 0, false)) \
	X(v_sad_hi_u8, U_ALL, 0, 0, W, W, W, W, sad8(A, B, C, 16, false)) \
	X(v_msad_u8, U_ALL, 0, 0, W, W, W, W, sad8(A, B, C, 0, true)) \
	X(v_sad_u16, U_ALL, 0, 0, W, W, W, W, difference(A & 0xffff, B & 0xffff) + difference(A >> 16, B >> 16) + C) \
	X(v_sad_u32, U_ALL, 0, 0, W, W, W, W, difference(A, B) + C) \
	X(v_lerp_u8, U_ALL, 0, 0, W, W, W, W, lerp8(A, B, C)) \
	X(v_cvt_pk_u16_u32, U_ALL, 0, 0, W, W, W, NO, low_u16(A) | low_u16(B) << 16) \
	X(v_cvt_pk_i16_i32, U_ALL, 0, 0, W, W, W, NO, to_i16(SA, true) | to_i16(SB, true) << 16) \
	X(v_pack_b32_f16, U_RUN, 0, 0, W, T_F16, T_F16, NO, A | B << 16) \
	X(v_add_u16, U_ADD, 0, 0, H, H, H, NO, to_u16((int)(A + B), CLAMP)) \
	X(v_sub_u16, U_ADD, 0, 0, H, H, H, NO, to_u16((int)(A - B), CLAMP)) \
	X(v_subrev_u16, U_ADD, 0, 0, H, H, H, NO, to_u16((int)(B - A), CLAMP)) \
	X(v_add_nc_u16, U_ADD, 0, 0, H, H, H, NO, to_u16((int)(A + B), CLAMP)) \
	X(v_sub_nc_u16, U_ADD, 0, 0, H, H, H, NO, to_u16((int)(A - B), CLAMP)) \
	X(v_add_i16, U_ADD, F_KEEP_HIGH, 0, S, S, S, NO, to_i16(SA + SB, CLAMP)) \
	X(v_sub_i16, U_ADD, F_KEEP_HIGH, 0, S, S, S, NO, to_i16(SA - SB, CLAMP)) \
	X(v_add_nc_i16, U_ADD, 0, 0, S, S, S, NO, to_i16(SA + SB, CLAMP)) \
	X(v_sub_nc_i16, U_ADD, 0, 0, S, S, S, NO, to_i16(SA - SB, CLAMP)) \
	X(v_mul_lo_u16, U_ADD, 0, 0, H, H, H, NO, (A * B) & 0xffff) \
	X(v_lshlrev_b16, U_SHIFT, 0, 1, H, H, H, NO, (B << (A & 15)) & 0xffff) \
	X(v_lshrrev_b16, U_SHIFT, 0, 1, H, H, H, NO, B >> (A & 15)) \
	X(v_ashrrev_i16, U_SHIFT, 0, 1, S, H, S, NO, (uint16_t)(SB >> (A & 15))) \
	X(v_min_u16, U_ALL, 0, 0, H, H, H, NO, MIN(A, B)) \
	X(v_max_u16, U_ALL, 0, 0, H, H, H, NO, MAX(A, B)) \
	X(v_min_i16, U_ALL, 0, 0, S, S, S, NO, (uint16_t)MIN(SA, SB)) \
	X(v_max_i16, U_ALL, 0, 0, S, S, S, NO, (uint16_t)MAX(SA, SB)) \
	X(v_min3_u16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, MIN(MIN(A, B), C)) \
	X(v_max3_u16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, MAX(MAX(A, B), C)) \
	X(v_med3_u16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, MED(A, B, C)) \
	X(v_min3_i16, U_ALL, F_KEEP_HIGH, 0, S, S, S, S, (uint16_t)MIN(MIN(SA, SB), SC)) \
	X(v_max3_i16, U_ALL, F_KEEP_HIGH, 0, S, S, S, S, (uint16_t)MAX(MAX(SA, SB), SC)) \
	X(v_med3_i16, U_ALL, F_KEEP_HIGH, 0, S, S, S, S, (uint16_t)MED(SA, SB, SC)) \
	X(v_mad_u16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, mad_u16(A, B, C, CLAMP)) \
	X(v_mad_i16, U_ALL, F_KEEP_HIGH, 0, S, S, S, S, to_i16((int)((uint32_t)(SA * SB) + C), CLAMP)) \
	X(v_mad_legacy_u16, U_ALL, 0, 0, H, H, H, H, mad_u16(A, B, C, CLAMP)) \
	X(v_mad_legacy_i16, U_ALL, 0, 0, S, S, S, S, to_i16((int)((uint32_t)(SA * SB) + C), CLAMP)) \
	X(v_mad_u32_u16, U_ALL, 0, 0, W, H, H, W, to_u32((int64_t)A * B + C, CLAMP)) \
	X(v_mad_i32_i16, U_ALL, 0, 0, W, S, S, W, to_i32((int64_t)SA * SB + SC, CLAMP)) \
	X(v_sat_pk_u8_i16, U_ALL, 0, 0, H, W, NO, NO, pack_u8(A))
/* clang-format on */

static uint32_t mad_u16(uint32_t a, uint32_t b, uint32_t c, bool clamp)
{
	uint64_t r = (uint64_t)a * b + c;

	return clamp && r > 0xffff ? 0xffff : (uint16_t)r;
}

static uint32_t pack_u8(uint32_t x)
{
	int32_t low = (int16_t)x, high = (int32_t)x >> 16;

	low = low < 0 ? 0 : low > 255 ? 255 : low;
	high = high < 0 ? 0 : high > 255 ? 255 : high;
	return (uint32_t)(low | high << 8);
}

LIST(FUNCTION_W)
const struct sem isa_sem_integer[] = { LIST(VALU_ROW) };
SEM_END(integer);
