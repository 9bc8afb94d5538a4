/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * real.c - vector arithmetic on single and double precision.
 *
 * What is exact in hardware is the host's own arithmetic, in the rounding mode that valu.c has set. What hardware
 * approximates (reciprocals, roots, powers, angles) is correctly rounded here, or as good as double precision
 * makes it: inside of the documented error, but not bit for bit what a card gives.
 */
#include "lanes.h"
#include "float.h"
#include "division.h"

#define MIN_MAX(name, bits, type, value, nan, snan, quiet, sign)              \
	static bits name(const struct wave *w, bits a, bits b, bool max)      \
	{                                                                     \
		type x = value(a), y = value(b);                              \
                                                                              \
		if (w->mode & MODE_IEEE && (snan(a) || snan(b)))              \
			return (snan(a) ? a : b) | quiet;                     \
		if (nan(a) || nan(b))                                         \
			return nan(a) ? b : a;                                \
		if (x == y)                                                   \
			return max ? (a & sign ? b : a) : (a & sign ? a : b); \
		return (max ? x > y : x < y) ? a : b;                         \
	}
MIN_MAX(minmax32, uint32_t, float, f32, nan32, snan32, 0x400000u, 0x80000000u)
MIN_MAX(minmax64, uint64_t, double, f64, nan64, snan64, 0x8000000000000ull, 1ull << 63)

static uint32_t med3(const struct wave *w, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t max;

	if (nan32(a) || nan32(b) || nan32(c))
		return minmax32(w, minmax32(w, a, b, false), c, false);
	max = minmax32(w, minmax32(w, a, b, true), c, true);
	if (f32(max) == f32(a))
		return minmax32(w, b, c, true);
	if (f32(max) == f32(b))
		return minmax32(w, a, c, true);
	return minmax32(w, a, b, true);
}

static uint32_t flushed(uint32_t x)
{
	return x & 0x7f800000 ? x : x & 0x80000000;
}

/* Not fused, and without denormals. */
static uint32_t mad(uint32_t a, uint32_t b, uint32_t c)
{
	return b32(f32(flushed(b32(f32(a) * f32(b)))) + f32(c));
}

static uint32_t legacy_mul(uint32_t a, uint32_t b)
{
	return f32(a) == 0 || f32(b) == 0 ? 0 : b32(f32(a) * f32(b));
}

static float fract32(float x)
{
	float r = x - floorf(x);

	return isinf(x) ? NAN : r >= 1 ? 0x1.fffffep-1f : r;
}

static double fract64(double x)
{
	double r = x - floor(x);

	return isinf(x) ? NAN : r >= 1 ? 0x1.fffffffffffffp-1 : r;
}

static uint32_t exponent32(uint32_t x)
{
	int e;

	if (!(x << 1) || (x & 0x7f800000) == 0x7f800000)
		return 0;
	frexpf(f32(x), &e);
	return (uint32_t)e;
}

static uint32_t exponent64(uint64_t x)
{
	int e;

	if (!(x << 1) || (x & 0x7ff0000000000000) == 0x7ff0000000000000)
		return 0;
	frexp(f64(x), &e);
	return (uint32_t)e;
}

static float mantissa32(float x)
{
	int e;

	return isinf(x) ? x : frexpf(x, &e);
}

static double mantissa64(double x)
{
	int e;

	return isinf(x) ? x : frexp(x, &e);
}

/* Angles are in turns. */
static float turns(float x, bool cosine)
{
	double r = (double)x;

	if (!isfinite(x))
		return NAN;
	if (fabs(r) > 256)
		return cosine ? 1 : 0;
	r -= rint(r);
	return (float)(cosine ? cos(2 * M_PI * r) : sin(2 * M_PI * r));
}

#define FA  f32(A)
#define FB  f32(B)
#define FC  f32(C)
#define DA  f64(AQ)
#define DB  f64(BQ)
#define DC  f64(CQ)
#define R   b32
#define RD  b64
#define F   T_F32
#define D   T_F64
#define W   T_B32
#define NO  T_NONE
#define VCC ((w->s[106] | (uint64_t)w->s[107] << 32) >> i & 1)
/* clang-format off */
#define SINGLE(X) \
	X(v_add_f32, U_ALL, 0, 0, F, F, F, NO, R(FA + FB)) \
	X(v_sub_f32, U_ALL, 0, 0, F, F, F, NO, R(FA - FB)) \
	X(v_subrev_f32, U_ALL, 0, 0, F, F, F, NO, R(FB - FA)) \
	X(v_mul_f32, U_ALL, 0, 0, F, F, F, NO, R(FA * FB)) \
	X(v_mul_legacy_f32, U_ALL, 0, 0, F, F, F, NO, legacy_mul(A, B)) \
	X(v_min_f32, U_ALL, 0, 0, F, F, F, NO, minmax32(w, A, B, false)) \
	X(v_max_f32, U_ALL, 0, 0, F, F, F, NO, minmax32(w, A, B, true)) \
	X(v_min3_f32, U_ALL, 0, 0, F, F, F, F, minmax32(w, minmax32(w, A, B, false), C, false)) \
	X(v_max3_f32, U_ALL, 0, 0, F, F, F, F, minmax32(w, minmax32(w, A, B, true), C, true)) \
	X(v_med3_f32, U_ALL, 0, 0, F, F, F, F, med3(w, A, B, C)) \
	X(v_mad_f32, U_ALL, F_FLUSH, 0, F, F, F, F, mad(A, B, C)) \
	X(v_madmk_f32, U_ALL, F_FLUSH, 0, F, F, F, F, mad(A, B, C)) \
	X(v_madak_f32, U_ALL, F_FLUSH, 0, F, F, F, F, mad(A, B, C)) \
	X(v_mac_f32, U_ALL, F_FLUSH | F_ACC, 0, F, F, F, F, mad(A, B, C)) \
	X(v_mad_legacy_f32, U_ALL, F_FLUSH, 0, F, F, F, F, R(f32(legacy_mul(A, B)) + FC)) \
	X(v_fma_f32, U_ALL, 0, 0, F, F, F, F, R(fmaf(FA, FB, FC))) \
	X(v_fmac_f32, U_ALL, F_ACC, 0, F, F, F, F, R(fmaf(FA, FB, FC))) \
	X(v_fmaak_f32, U_ALL, 0, 0, F, F, F, F, R(fmaf(FA, FB, FC))) \
	X(v_fmamk_f32, U_ALL, 0, 0, F, F, F, F, R(fmaf(FA, FB, FC))) \
	X(v_floor_f32, U_ALL, 0, 0, F, F, NO, NO, R(floorf(FA))) \
	X(v_ceil_f32, U_ALL, 0, 0, F, F, NO, NO, R(ceilf(FA))) \
	X(v_trunc_f32, U_ALL, 0, 0, F, F, NO, NO, R(truncf(FA))) \
	X(v_rndne_f32, U_ALL, 0, 0, F, F, NO, NO, R(roundevenf(FA))) \
	X(v_fract_f32, U_ALL, 0, 0, F, F, NO, NO, R(fract32(FA))) \
	X(v_sqrt_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R(sqrtf(FA))) \
	X(v_rcp_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R(1.0f / FA)) \
	X(v_rcp_iflag_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R(1.0f / FA)) \
	X(v_rsq_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R((float)(1.0 / sqrt((double)FA)))) \
	X(v_exp_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R((float)exp2((double)FA))) \
	X(v_log_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R((float)log2((double)FA))) \
	X(v_exp_legacy_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R((float)exp2((double)FA))) \
	X(v_log_legacy_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R((float)log2((double)FA))) \
	X(v_sin_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R(turns(FA, false))) \
	X(v_cos_f32, U_ALL, F_FLUSH, 0, F, F, NO, NO, R(turns(FA, true))) \
	X(v_ldexp_f32, U_ALL, 0, 0, F, F, W, NO, R(ldexpf(FA, SB))) \
	X(v_frexp_exp_i32_f32, U_ALL, 0, 0, W, F, NO, NO, exponent32(A)) \
	X(v_frexp_mant_f32, U_ALL, 0, 0, F, F, NO, NO, R(mantissa32(FA))) \
	X(v_div_fmas_f32, U_ALL, F_VCC, 0, F, F, F, F, isa_div_fmas32(A, B, C, VCC)) \
	X(v_div_fixup_f32, U_ALL, F_TRANS, 0, F, F, F, F, isa_div_fixup32(A, B, C)) \
	X(v_frexp_exp_i32_f64, U_ALL, 0, 0, W, D, NO, NO, exponent64(AQ))
#define DOUBLE(X) \
	X(v_add_f64, U_ALL, 0, 0, D, D, D, NO, RD(DA + DB)) \
	X(v_mul_f64, U_ALL, 0, 0, D, D, D, NO, RD(DA * DB)) \
	X(v_min_f64, U_ALL, 0, 0, D, D, D, NO, minmax64(w, AQ, BQ, false)) \
	X(v_max_f64, U_ALL, 0, 0, D, D, D, NO, minmax64(w, AQ, BQ, true)) \
	X(v_fma_f64, U_ALL, 0, 0, D, D, D, D, RD(fma(DA, DB, DC))) \
	X(v_fmac_f64, U_ALL, F_ACC, 0, D, D, D, D, RD(fma(DA, DB, DC))) \
	X(v_floor_f64, U_ALL, 0, 0, D, D, NO, NO, RD(floor(DA))) \
	X(v_ceil_f64, U_ALL, 0, 0, D, D, NO, NO, RD(ceil(DA))) \
	X(v_trunc_f64, U_ALL, 0, 0, D, D, NO, NO, RD(trunc(DA))) \
	X(v_rndne_f64, U_ALL, 0, 0, D, D, NO, NO, RD(roundeven(DA))) \
	X(v_fract_f64, U_ALL, 0, 0, D, D, NO, NO, RD(fract64(DA))) \
	X(v_sqrt_f64, U_ALL, 0, 0, D, D, NO, NO, RD(sqrt(DA))) \
	X(v_rcp_f64, U_ALL, 0, 0, D, D, NO, NO, RD(1.0 / DA)) \
	X(v_rsq_f64, U_ALL, 0, 0, D, D, NO, NO, RD(1.0 / sqrt(DA))) \
	X(v_ldexp_f64, U_ALL, 0, 0, D, D, W, NO, RD(ldexp(DA, SB))) \
	X(v_frexp_mant_f64, U_ALL, 0, 0, D, D, NO, NO, RD(mantissa64(DA))) \
	X(v_div_fmas_f64, U_ALL, F_VCC, 0, D, D, D, D, isa_div_fmas64(AQ, BQ, CQ, VCC)) \
	X(v_div_fixup_f64, U_ALL, F_TRANS, 0, D, D, D, D, isa_div_fixup64(AQ, BQ, CQ))
/* clang-format on */
SINGLE(FUNCTION_W)
DOUBLE(FUNCTION_Q)

/* Source 0 scaled so that the division's steps stay in range; vcc: the result needs scaling back. */
static void div_scale(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { isa_source(w, u, 0, &room[0]), isa_source(w, u, 1, &room[1]),
				  isa_source(w, u, 2, &room[2]) };
	uint64_t exec = isa_exec(w), out = 0;

	for (uint32_t i = 0; i < w->size; i++) {
		bool scaled = false;

		if (!(exec >> i & 1))
			continue;
		if (u->sem->d == T_F32)
			r.w[i] = isa_div_scale32(A, B, C, &scaled);
		else
			r.q[i] = isa_div_scale64(AQ, BQ, CQ, &scaled);
		out |= (uint64_t)scaled << i;
	}
	isa_write(w, u, exec, &r);
	isa_set_scalar(w, &u->sdst, out);
}

const struct sem isa_sem_real[] = {
	SINGLE(VALU_ROW) DOUBLE(VALU_ROW){ "v_div_scale_f32",
					   div_scale,
					   NULL,
					   NULL,
					   NULL,
					   F,
					   { F, F, F },
					   U_ALL,
					   C_VALU,
					   0,
					   0,
					   0,
					   0 },
	{ "v_div_scale_f64", div_scale, NULL, NULL, NULL, D, { D, D, D }, U_ALL, C_VALU, 0, 0, 0, 0 },
};
SEM_END(real);
