/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half.c - vector arithmetic on half precision: done in double, where sums and products are exact, and rounded
 * once. Of a * b + c the part that double drops is kept as an odd last bit.
 */
#include "lanes.h"
#include "half.h"

uint32_t isa_minmax16(const struct wave *w, uint32_t a, uint32_t b, bool max)
{
	double x = from16(a), y = from16(b);

	if (w->mode & MODE_IEEE && (snan16(a) || snan16(b)))
		return (snan16(a) ? a : b) | 0x200;
	if (nan16(a) || nan16(b))
		return nan16(a) ? b : a;
	if (x == y)
		return max ? (a & 0x8000 ? b : a) : (a & 0x8000 ? a : b);
	return (max ? x > y : x < y) ? a : b;
}

uint32_t isa_fma16(const struct wave *w, uint32_t a, uint32_t b, uint32_t c)
{
	double product = from16(a) * from16(b), add = from16(c), sum = product + add, part, error;
	uint64_t bits = b64(sum);

	if (isfinite(sum) && sum != 0) {
		part = sum - product;
		error = (product - (sum - part)) + (add - part);
		if (error != 0 && !(bits & 1))
			bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
	}
	return to16(f64(bits), w->mode >> 2 & 3);
}

static uint32_t med3(const struct wave *w, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t max;

	if (nan16(a) || nan16(b) || nan16(c))
		return isa_minmax16(w, isa_minmax16(w, a, b, false), c, false);
	max = isa_minmax16(w, isa_minmax16(w, a, b, true), c, true);
	if (from16(max) == from16(a))
		return isa_minmax16(w, b, c, true);
	if (from16(max) == from16(b))
		return isa_minmax16(w, a, c, true);
	return isa_minmax16(w, a, b, true);
}

static double fract(double x)
{
	double r = x - floor(x);

	return isinf(x) ? NAN : r >= 0x1.ffcp-1 ? 0x1.ffcp-1 : r;
}

static double turns(double x, bool cosine)
{
	if (!isfinite(x))
		return NAN;
	if (fabs(x) > 256)
		return cosine ? 1 : 0;
	x -= rint(x);
	return cosine ? cos(2 * M_PI * x) : sin(2 * M_PI * x);
}

static uint32_t exponent(uint32_t x)
{
	int e;

	if (!(x & 0x7fff) || (x & 0x7c00) == 0x7c00)
		return 0;
	frexp(from16(x), &e);
	return (uint16_t)e;
}

static double mantissa(double x)
{
	int e;

	return isinf(x) ? x : frexp(x, &e);
}

static uint32_t div_fixup(uint32_t quotient, uint32_t den, uint32_t num)
{
	uint32_t sign = (den ^ num) & 0x8000, d = den & 0x7fff, n = num & 0x7fff;

	if (nan16(num))
		return num | 0x200;
	if (nan16(den))
		return den | 0x200;
	if ((!d && !n) || (d == 0x7c00 && n == 0x7c00))
		return NAN16;
	if (!d || n == 0x7c00)
		return sign | 0x7c00;
	if (d == 0x7c00 || !n)
		return sign;
	return sign | (quotient & 0x7fff);
}

/* Not fused. */
static uint32_t mad(const struct wave *w, uint32_t a, uint32_t b, uint32_t c)
{
	return to16(from16(to16(from16(a) * from16(b), w->mode >> 2 & 3)) + from16(c), w->mode >> 2 & 3);
}

#define HA   from16(A)
#define HB   from16(B)
#define R(x) to16(x, w->mode >> 2 & 3)
#define H    T_F16
#define S16  T_I16
#define NO   T_NONE
/* clang-format off */
#define LIST(X) \
	X(v_add_f16, U_ALL, 0, 0, H, H, H, NO, R(HA + HB)) \
	X(v_sub_f16, U_ALL, 0, 0, H, H, H, NO, R(HA - HB)) \
	X(v_subrev_f16, U_ALL, 0, 0, H, H, H, NO, R(HB - HA)) \
	X(v_mul_f16, U_ALL, 0, 0, H, H, H, NO, R(HA * HB)) \
	X(v_min_f16, U_ALL, 0, 0, H, H, H, NO, isa_minmax16(w, A, B, false)) \
	X(v_max_f16, U_ALL, 0, 0, H, H, H, NO, isa_minmax16(w, A, B, true)) \
	X(v_min3_f16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, isa_minmax16(w, isa_minmax16(w, A, B, false), C, false)) \
	X(v_max3_f16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, isa_minmax16(w, isa_minmax16(w, A, B, true), C, true)) \
	X(v_med3_f16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, med3(w, A, B, C)) \
	X(v_mad_f16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, mad(w, A, B, C)) \
	X(v_mad_legacy_f16, U_ALL, 0, 0, H, H, H, H, mad(w, A, B, C)) \
	X(v_mac_f16, U_ALL, F_ACC, 0, H, H, H, H, mad(w, A, B, C)) \
	X(v_madak_f16, U_ALL, 0, 0, H, H, H, H, mad(w, A, B, C)) \
	X(v_madmk_f16, U_ALL, 0, 0, H, H, H, H, mad(w, A, B, C)) \
	X(v_fma_f16, U_ALL, F_KEEP_HIGH, 0, H, H, H, H, isa_fma16(w, A, B, C)) \
	X(v_fma_legacy_f16, U_ALL, 0, 0, H, H, H, H, isa_fma16(w, A, B, C)) \
	X(v_fmac_f16, U_ALL, F_ACC, 0, H, H, H, H, isa_fma16(w, A, B, C)) \
	X(v_fmaak_f16, U_ALL, 0, 0, H, H, H, H, isa_fma16(w, A, B, C)) \
	X(v_fmamk_f16, U_ALL, 0, 0, H, H, H, H, isa_fma16(w, A, B, C)) \
	X(v_floor_f16, U_ALL, 0, 0, H, H, NO, NO, R(floor(HA))) \
	X(v_ceil_f16, U_ALL, 0, 0, H, H, NO, NO, R(ceil(HA))) \
	X(v_trunc_f16, U_ALL, 0, 0, H, H, NO, NO, R(trunc(HA))) \
	X(v_rndne_f16, U_ALL, 0, 0, H, H, NO, NO, R(roundeven(HA))) \
	X(v_fract_f16, U_ALL, 0, 0, H, H, NO, NO, R(fract(HA))) \
	X(v_sqrt_f16, U_ALL, 0, 0, H, H, NO, NO, R(sqrt(HA))) \
	X(v_rcp_f16, U_ALL, 0, 0, H, H, NO, NO, R(1.0 / HA)) \
	X(v_rsq_f16, U_ALL, 0, 0, H, H, NO, NO, R(1.0 / sqrt(HA))) \
	X(v_exp_f16, U_ALL, 0, 0, H, H, NO, NO, R(exp2(HA))) \
	X(v_log_f16, U_ALL, 0, 0, H, H, NO, NO, R(log2(HA))) \
	X(v_sin_f16, U_ALL, 0, 0, H, H, NO, NO, R(turns(HA, false))) \
	X(v_cos_f16, U_ALL, 0, 0, H, H, NO, NO, R(turns(HA, true))) \
	X(v_ldexp_f16, U_ALL, 0, 0, H, H, S16, NO, R(ldexp(HA, SB))) \
	X(v_frexp_exp_i16_f16, U_ALL, 0, 0, S16, H, NO, NO, exponent(A)) \
	X(v_frexp_mant_f16, U_ALL, 0, 0, H, H, NO, NO, R(mantissa(HA))) \
	X(v_div_fixup_f16, U_ALL, F_TRANS | F_KEEP_HIGH, 0, H, H, H, H, div_fixup(A, B, C)) \
	X(v_div_fixup_legacy_f16, U_ALL, F_TRANS, 0, H, H, H, H, div_fixup(A, B, C))
/* clang-format on */
LIST(FUNCTION_W)

const struct sem isa_sem_half[] = { LIST(VALU_ROW) };
SEM_END(half);
