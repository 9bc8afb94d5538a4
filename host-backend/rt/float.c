/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * float.c - floating point for BPF programs, on bit patterns; each helper becomes one or a few instructions.
 *
 * The rules are in spec/gpgpu_bpf.h and hold on every target, so what C or a machine leaves open is done by
 * hand: conversions that would overflow, min and max of NaNs and of zeros of different sign (-0 is
 * the smaller), NaNs that are made quiet. This file is built without contraction and without errno.
 */
#include "float.h"
#include "lanes.h"
#include "rt.h"
#include "twice.h"

#define GP_FLOAT(bits, type, suffix)                                                                   \
	GP_RT uint64_t gp_helper_fadd##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		return gp_b##bits(gp_f##bits(a) + gp_f##bits(b));                                      \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fsub##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		return gp_b##bits(gp_f##bits(a) - gp_f##bits(b));                                      \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fmul##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		return gp_b##bits(gp_f##bits(a) * gp_f##bits(b));                                      \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fdiv##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		return gp_b##bits(gp_f##bits(a) / gp_f##bits(b));                                      \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fma##bits(struct gp_lane *lane, uint64_t a, uint64_t b, uint64_t c)   \
	{                                                                                              \
		return gp_b##bits(__builtin_fma##suffix(gp_f##bits(a), gp_f##bits(b), gp_f##bits(c))); \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_sqrt##bits(struct gp_lane *lane, uint64_t a)                          \
	{                                                                                              \
		return gp_b##bits(__builtin_sqrt##suffix(gp_f##bits(a)));                              \
	}                                                                                              \
                                                                                                       \
	/* @b where @a is a NaN; a NaN then is both. */                                                \
	GP_ALWAYS uint64_t gp_other##bits(uint64_t a, uint64_t b)                                      \
	{                                                                                              \
		type y = gp_f##bits(b);                                                                \
                                                                                                       \
		return y == y ? b : a | GP_QUIET##bits;                                                \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fmin##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		type x = gp_f##bits(a), y = gp_f##bits(b);                                             \
                                                                                                       \
		a &= GP_MASK##bits;                                                                    \
		b &= GP_MASK##bits;                                                                    \
		if (x == y)                                                                            \
			return a | b;                                                                  \
		if (x < y)                                                                             \
			return a;                                                                      \
		return x == x ? y == y ? b : a : gp_other##bits(a, b);                                 \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fmax##bits(struct gp_lane *lane, uint64_t a, uint64_t b)              \
	{                                                                                              \
		type x = gp_f##bits(a), y = gp_f##bits(b);                                             \
                                                                                                       \
		a &= GP_MASK##bits;                                                                    \
		b &= GP_MASK##bits;                                                                    \
		if (x == y)                                                                            \
			return a & b;                                                                  \
		if (x > y)                                                                             \
			return a;                                                                      \
		return x == x ? y == y ? b : a : gp_other##bits(a, b);                                 \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_flt##bits(struct gp_lane *lane, uint64_t a, uint64_t b)               \
	{                                                                                              \
		return gp_f##bits(a) < gp_f##bits(b);                                                  \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fle##bits(struct gp_lane *lane, uint64_t a, uint64_t b)               \
	{                                                                                              \
		return gp_f##bits(a) <= gp_f##bits(b);                                                 \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_feq##bits(struct gp_lane *lane, uint64_t a, uint64_t b)               \
	{                                                                                              \
		return gp_f##bits(a) == gp_f##bits(b);                                                 \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_fabs##bits(struct gp_lane *lane, uint64_t a)                          \
	{                                                                                              \
		type x = gp_f##bits(a);                                                                \
                                                                                                       \
		a &= GP_MASK##bits & ~(uint64_t)GP_SIGN##bits;                                         \
		return x == x ? a : a | GP_QUIET##bits;                                                \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_floor##bits(struct gp_lane *lane, uint64_t a)                         \
	{                                                                                              \
		return gp_quiet##bits(__builtin_floor##suffix(gp_f##bits(a)));                         \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_ceil##bits(struct gp_lane *lane, uint64_t a)                          \
	{                                                                                              \
		return gp_quiet##bits(__builtin_ceil##suffix(gp_f##bits(a)));                          \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_trunc##bits(struct gp_lane *lane, uint64_t a)                         \
	{                                                                                              \
		return gp_quiet##bits(__builtin_trunc##suffix(gp_f##bits(a)));                         \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_rint##bits(struct gp_lane *lane, uint64_t a)                          \
	{                                                                                              \
		return gp_quiet##bits(__builtin_rint##suffix(gp_f##bits(a)));                          \
	}                                                                                              \
                                                                                                       \
	/* Truncates; what does not fit becomes the nearest end of the range, a NaN 0. */              \
	GP_RT uint64_t gp_helper_s_from_f##bits(struct gp_lane *lane, uint64_t a)                      \
	{                                                                                              \
		type x = gp_f##bits(a);                                                                \
                                                                                                       \
		if (x >= (type)0x1p63)                                                                 \
			return INT64_MAX;                                                              \
		if (x < (type) - 0x1p63)                                                               \
			return (uint64_t)INT64_MIN;                                                    \
		return x == x ? (uint64_t)(int64_t)x : 0;                                              \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_u_from_f##bits(struct gp_lane *lane, uint64_t a)                      \
	{                                                                                              \
		type x = gp_f##bits(a);                                                                \
                                                                                                       \
		if (x >= (type)0x1p64)                                                                 \
			return UINT64_MAX;                                                             \
		return x > 0 ? (uint64_t)x : 0;                                                        \
	}                                                                                              \
                                                                                                       \
	/* The same in 32 bits. */                                                                     \
	GP_RT uint64_t gp_helper_s32_from_f##bits(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		type x = gp_f##bits(a);                                                                \
                                                                                                       \
		if (x >= (type)0x1p31)                                                                 \
			return INT32_MAX;                                                              \
		if (x < (type) - 0x1p31)                                                               \
			return (uint64_t)INT32_MIN;                                                    \
		return x == x ? (uint64_t)(int32_t)x : 0;                                              \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_u32_from_f##bits(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		type x = gp_f##bits(a);                                                                \
                                                                                                       \
		if (x >= (type)0x1p32)                                                                 \
			return UINT32_MAX;                                                             \
		return x > 0 ? (uint32_t)x : 0;                                                        \
	}                                                                                              \
                                                                                                       \
	/* Half away from zero: the difference is exact. */                                            \
	GP_RT uint64_t gp_helper_round##bits(struct gp_lane *lane, uint64_t a)                         \
	{                                                                                              \
		type x = gp_f##bits(a), t = __builtin_trunc##suffix(x);                                \
                                                                                                       \
		if (__builtin_fabs##suffix(x - t) >= (type)0.5)                                        \
			t += __builtin_copysign##suffix(1, x);                                         \
		return gp_quiet##bits(t);                                                              \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_copysign##bits(struct gp_lane *lane, uint64_t a, uint64_t b)          \
	{                                                                                              \
		return (a & GP_MASK##bits & ~(uint64_t)GP_SIGN##bits) | (b & GP_SIGN##bits);           \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_f##bits##_from_s(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		return gp_b##bits((type)(int64_t)a);                                                   \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_f##bits##_from_u(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		return gp_b##bits((type)a);                                                            \
	}

GP_FLOAT(32, float, f)
GP_FLOAT(64, double, )

GP_RT uint64_t gp_helper_f64_from_f32(struct gp_lane *lane, uint64_t a)
{
	return gp_b64((double)gp_f32(a));
}

GP_RT uint64_t gp_helper_f32_from_f64(struct gp_lane *lane, uint64_t a)
{
	return gp_b32((float)gp_f64(a));
}

GP_RT uint64_t gp_helper_rsqrt32(struct gp_lane *lane, uint64_t a)
{
	return gp_b32((float)(1 / __builtin_sqrt((double)gp_f32(a))));
}

/*
 * y = 1 / s with s near the root. What s and y are off by is found exactly, and taken into account in first order: of
 * x / s^2 half the distance from 1, of s y all of it. Numbers are moved to where nothing underflows.
 */
GP_RT uint64_t gp_helper_rsqrt64(struct gp_lane *lane, uint64_t a)
{
	bool tiny = a < 0x0800000000000000ull;
	double x = gp_f64(a) * (tiny ? 0x1p200 : 1), s = __builtin_sqrt(x), y = 1 / s;
	struct gp_twice square = gp_product(s, s), one = gp_product(s, y);

	if (a - 1 < 0x7ff0000000000000ull - 1)
		y += y * (((1 - one.high) - one.low) - 0.5 * (((x - square.high) - square.low) / x));
	return gp_b64(y * (tiny ? 0x1p100 : 1));
}

GP_LANES_2(fmin32)
GP_LANES_2(fmax32)
GP_LANES_2(copysign32)
GP_LANES_1(floor32)
GP_LANES_1(ceil32)
GP_LANES_1(trunc32)
GP_LANES_1(rint32)
GP_LANES_1(round32)
GP_LANES_1(s_from_f32)
GP_LANES_1(u_from_f32)
GP_LANES_1(s32_from_f32)
GP_LANES_1(u32_from_f32)
GP_LANES_1(rsqrt32)
GP_LANES_2(fmin64)
GP_LANES_2(fmax64)
GP_LANES_2(copysign64)
GP_LANES_1(floor64)
GP_LANES_1(ceil64)
GP_LANES_1(trunc64)
GP_LANES_1(rint64)
GP_LANES_1(round64)
GP_LANES_1(s_from_f64)
GP_LANES_1(u_from_f64)
GP_LANES_1(s32_from_f64)
GP_LANES_1(u32_from_f64)
GP_LANES_1(rsqrt64)
