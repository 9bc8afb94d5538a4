/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.c - VOP3P: two halves at once, dot products, and fma of mixed precision.
 *
 * op_sel says which half of each source the low result takes, op_sel_hi which the high one; the negations of the
 * two are apart as well (neg_lo is in u->neg, neg_hi in u->abs).
 */
#include "lanes.h"
#include "half.h"

static inline uint32_t half_of(const struct uop *u, const union val *const s[3], int k, uint32_t i, bool high)
{
	bool upper = (high ? u->op_sel_hi : u->op_sel) >> k & 1;

	return upper ? s[k]->w[i] >> 16 : s[k]->w[i] & 0xffff;
}

static inline uint32_t real_of(const struct wave *w, const struct uop *u, const union val *const s[3], int k,
			       uint32_t i, bool high)
{
	uint32_t x = half_of(u, s, k, i, high);

	if (!(w->mode & 0x40) && !(x & 0x7c00))
		x &= 0x8000;
	return (high ? u->abs : u->neg) >> k & 1 ? x ^ 0x8000 : x;
}

static uint32_t finish(const struct wave *w, const struct uop *u, uint32_t x)
{
	if (!(w->mode & 0x80) && !(x & 0x7c00))
		x &= 0x8000;
	if (!u->clamp)
		return x;
	if (nan16(x))
		return w->mode & MODE_DX10_CLAMP ? 0 : x;
	return x >> 15 ? 0 : x > 0x3c00 ? 0x3c00 : x;
}

static uint32_t nan_of(uint32_t r, uint32_t a, uint32_t b)
{
	return !nan16(r) ? r : nan16(a) ? a | 0x200 : nan16(b) ? b | 0x200 : NAN16;
}

static int32_t limit(int32_t x, int32_t low, int32_t high)
{
	return x < low ? low : x > high ? high : x;
}

#define S(x)	  ((int32_t)(int16_t)(x))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CU(x)	  ((uint32_t)(u->clamp ? limit((int32_t)(x), 0, 65535) : (int32_t)(x)))
#define CS(x)	  ((uint32_t)(u->clamp ? limit((int32_t)(x), -32768, 32767) : (int32_t)(x)))
#define R(x)	  to16(x, w->mode >> 2 & 3)
/* clang-format off */
/* a b c: halves */
#define INTEGERS(X) \
	X(v_pk_mad_i16, CS((int32_t)((uint32_t)S(a) * (uint32_t)S(b) + (uint32_t)S(c)))) \
	X(v_pk_mad_u16, u->clamp && (uint64_t)a * b + c > 65535 ? 65535 : a * b + c) \
	X(v_pk_mul_lo_u16, a * b) \
	X(v_pk_add_i16, CS(S(a) + S(b))) \
	X(v_pk_sub_i16, CS(S(a) - S(b))) \
	X(v_pk_add_u16, CU(a + b)) \
	X(v_pk_sub_u16, CU(a - b)) \
	X(v_pk_lshlrev_b16, b << (a & 15)) \
	X(v_pk_lshrrev_b16, b >> (a & 15)) \
	X(v_pk_ashrrev_i16, (uint32_t)(S(b) >> (a & 15))) \
	X(v_pk_max_i16, (uint32_t)MAX(S(a), S(b))) \
	X(v_pk_min_i16, (uint32_t)MIN(S(a), S(b))) \
	X(v_pk_max_u16, MAX(a, b)) \
	X(v_pk_min_u16, MIN(a, b))
#define REALS(X) \
	X(v_pk_fma_f16, isa_fma16(w, a, b, c)) \
	X(v_pk_add_f16, nan_of(R(from16(a) + from16(b)), a, b)) \
	X(v_pk_mul_f16, nan_of(R(from16(a) * from16(b)), a, b)) \
	X(v_pk_min_f16, isa_minmax16(w, a, b, false)) \
	X(v_pk_max_f16, isa_minmax16(w, a, b, true))
/* clang-format on */

#define PACKED(name, get, result)                                                                 \
	static void do_##name(struct wave *w, const struct uop *u, union val *restrict d,         \
			      const union val *const s[3], uint32_t n, uint64_t exec)             \
	{                                                                                         \
		(void)w, (void)exec;                                                              \
		for (uint32_t i = 0; i < n; i++) {                                                \
			uint32_t r[2];                                                            \
                                                                                                  \
			for (int high = 0; high < 2; high++) {                                    \
				uint32_t a = get(0), b = get(1), c = u->src[2].kind ? get(2) : 0; \
                                                                                                  \
				(void)c;                                                          \
				r[high] = (result) & 0xffff;                                      \
			}                                                                         \
			d->w[i] = r[0] | r[1] << 16;                                              \
		}                                                                                 \
	}
#define GET_INTEGER(k)		     half_of(u, s, k, i, high)
#define GET_REAL(k)		     real_of(w, u, s, k, i, high)
#define DEFINE_INTEGER(name, result) PACKED(name, GET_INTEGER, result)
#define DEFINE_REAL(name, result)    PACKED(name, GET_REAL, finish(w, u, result))
INTEGERS(DEFINE_INTEGER)
REALS(DEFINE_REAL)

/* v_mad_mix, v_fma_mix: each source single or, if op_sel_hi says so, a half that op_sel picks. */
static float mixed(const struct wave *w, const struct uop *u, const union val *const s[3], int k, uint32_t i)
{
	uint32_t x = s[k]->w[i];
	float f;

	if (u->op_sel_hi >> k & 1) {
		f = (float)from16(u->op_sel >> k & 1 ? x >> 16 : x & 0xffff);
	} else {
		if (!(w->mode & 0x10) && !(x & 0x7f800000))
			x &= 0x80000000;
		f = f32(x);
	}
	if (u->abs >> k & 1)
		f = fabsf(f);
	return u->neg >> k & 1 ? -f : f;
}

static void mix(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { isa_source(w, u, 0, &room[0]), isa_source(w, u, 1, &room[1]),
				  isa_source(w, u, 2, &room[2]) };
	const uint32_t *old = w->v[u->dst.code];

	for (uint32_t i = 0; i < w->size; i++) {
		float a = mixed(w, u, s, 0, i), b = mixed(w, u, s, 1, i), c = mixed(w, u, s, 2, i);
		float x = u->sem->extra ? a * b + c : fmaf(a, b, c);

		if (u->clamp)
			x = x > 1 ? 1 : x > 0 ? x : 0;
		if (u->sem->kind == 0)
			r.w[i] = b32(x);
		else if (u->sem->kind == 1)
			r.w[i] = (old[i] & 0xffff0000) | to16((double)x, w->mode >> 2 & 3);
		else
			r.w[i] = (old[i] & 0xffff) | to16((double)x, w->mode >> 2 & 3) << 16;
	}
	isa_write(w, u, isa_exec(w), &r);
}

/* Sums of products of parts of 32 bits: @bits each, signed or not. */
static void dot(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { isa_source(w, u, 0, &room[0]), isa_source(w, u, 1, &room[1]),
				  isa_source(w, u, 2, &room[2]) };
	unsigned int bits = u->sem->bytes;
	bool sign = u->sem->kind;

	for (uint32_t i = 0; i < w->size; i++) {
		int64_t sum = sign ? (int64_t)SC : (int64_t)C;

		for (unsigned int k = 0; k < 32; k += bits) {
			uint32_t x = A >> k << (32 - bits), y = B >> k << (32 - bits);

			if (sign)
				sum += (int64_t)((int32_t)x >> (32 - bits)) * ((int32_t)y >> (32 - bits));
			else
				sum += (int64_t)((uint64_t)(x >> (32 - bits)) * (y >> (32 - bits)));
		}
		if (u->clamp)
			sum = sign ? (sum < INT32_MIN	? INT32_MIN
				      : sum > INT32_MAX ? INT32_MAX
							: sum)
				   : (sum > UINT32_MAX ? UINT32_MAX : sum);
		r.w[i] = (uint32_t)sum;
	}
	isa_write(w, u, isa_exec(w), &r);
}

static void dot2_f32_f16(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { isa_source(w, u, 0, &room[0]), isa_source(w, u, 1, &room[1]),
				  isa_source(w, u, 2, &room[2]) };

	for (uint32_t i = 0; i < w->size; i++) {
		float x = u->neg & 4 ? -f32(C) : f32(C);

		for (int high = 1; high >= 0; high--)
			x = fmaf((float)from16(real_of(w, u, s, 0, i, high)),
				 (float)from16(real_of(w, u, s, 1, i, high)), x);
		r.w[i] = b32(x);
	}
	isa_write(w, u, isa_exec(w), &r);
}

/* Two singles in a pair of registers (gfx90a). */
static void pairs(struct wave *w, const struct uop *u)
{
	union val room[3], r;
	const union val *s[3] = { &room[0], &room[1], &room[2] };

	for (int k = 0; k < 3; k++)
		if (u->src[k].kind)
			s[k] = isa_source(w, u, k, &room[k]);
	for (uint32_t i = 0; i < w->size; i++) {
		uint32_t half[2];

		for (int high = 0; high < 2; high++) {
			float x[3] = { 0 }, y;

			for (int k = 0; k < 3 && u->src[k].kind; k++) {
				bool upper = (high ? u->op_sel_hi : u->op_sel) >> k & 1;

				x[k] = f32((uint32_t)(upper ? s[k]->q[i] >> 32 : s[k]->q[i]));
				if ((high ? u->abs : u->neg) >> k & 1)
					x[k] = -x[k];
			}
			y = u->sem->kind == 0	? fmaf(x[0], x[1], x[2])
			    : u->sem->kind == 1 ? x[0] * x[1]
						: x[0] + x[1];
			half[high] = b32(y);
		}
		r.q[i] = half[0] | (uint64_t)half[1] << 32;
	}
	isa_write(w, u, isa_exec(w), &r);
}

#define ROW_OF(name, type)                                                            \
	{ #name,    isa_run_valu, do_##name, NULL, NULL, T_B32, { type, type, type }, \
	  U_PACKED, C_VALU,	  0,	     0,	   0,	 0 },
#define INTEGER_ROW(name, result) ROW_OF(name, T_B16)
#define REAL_ROW(name, result)	  ROW_OF(name, T_F16)
#define MIX(name, unfused, kind)                                                                               \
	{ name, mix, NULL,   NULL, NULL, T_B32, { T_B32, T_B32, T_B32 }, U_ALL, C_VALU, kind ? F_ACC_HALF : 0, \
	  kind, 0,   unfused }
#define DOT(name, bits, sign) \
	{ name, dot, NULL, NULL, NULL, T_B32, { T_B32, T_B32, T_B32 }, U_ALL, C_VALU, 0, sign, bits, 0 }
#define PAIR(name, kind) \
	{ name, pairs, NULL, NULL, NULL, T_B64, { T_B64, T_B64, T_B64 }, U_ALL, C_VALU, 0, kind, 0, 0 }
#define F_ACC_HALF 0

const struct sem isa_sem_packed[] = {
	INTEGERS(INTEGER_ROW) REALS(REAL_ROW) MIX("v_mad_mix_f32", 1, 0),
	MIX("v_mad_mixlo_f16", 1, 1),
	MIX("v_mad_mixhi_f16", 1, 2),
	MIX("v_fma_mix_f32", 0, 0),
	MIX("v_fma_mixlo_f16", 0, 1),
	MIX("v_fma_mixhi_f16", 0, 2),
	DOT("v_dot2_i32_i16", 16, 1),
	DOT("v_dot2_u32_u16", 16, 0),
	DOT("v_dot4_i32_i8", 8, 1),
	DOT("v_dot4_u32_u8", 8, 0),
	DOT("v_dot8_i32_i4", 4, 1),
	DOT("v_dot8_u32_u4", 4, 0),
	{ "v_dot2_f32_f16",
	  dot2_f32_f16,
	  NULL,
	  NULL,
	  NULL,
	  T_B32,
	  { T_F16, T_F16, T_B32 },
	  U_ALL,
	  C_VALU,
	  0,
	  0,
	  0,
	  0 },
	PAIR("v_pk_fma_f32", 0),
	PAIR("v_pk_mul_f32", 1),
	PAIR("v_pk_add_f32", 2),
};
SEM_END(packed);
