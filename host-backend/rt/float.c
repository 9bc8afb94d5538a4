/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * float.c - floating point for BPF programs, on bit patterns; each helper becomes one or a few instructions.
 *
 * The rules are in spec/gpgpu_bpf.h and hold on every target, so what C or a machine leaves open is done by
 * hand: conversions that would overflow, min and max of NaNs and of zeros of different sign (-0 is
 * the smaller), NaNs that are made quiet. This file is built without contraction and without errno.
 */
#include "mem.h"
#include "rt.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

GP_ALWAYS float gp_f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

GP_ALWAYS uint64_t gp_b32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

GP_ALWAYS double gp_f64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

GP_ALWAYS uint64_t gp_b64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

#define GP_QUIET32 0x00400000u
#define GP_QUIET64 0x0008000000000000ull
#define GP_SIGN32  0x80000000u
#define GP_SIGN64  0x8000000000000000ull
#define GP_MASK32  0xffffffffu
#define GP_MASK64  0xffffffffffffffffull

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
	GP_RT uint64_t gp_helper_f##bits##_from_s(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		return gp_b##bits((type)(int64_t)a);                                                   \
	}                                                                                              \
                                                                                                       \
	GP_RT uint64_t gp_helper_f##bits##_from_u(struct gp_lane *lane, uint64_t a)                    \
	{                                                                                              \
		return gp_b##bits((type)a);                                                            \
	}

/* Rounding functions of some machines and libraries pass signalling NaNs through. */
GP_ALWAYS uint64_t gp_quiet32(float f)
{
	return f == f ? gp_b32(f) : gp_b32(f) | GP_QUIET32;
}

GP_ALWAYS uint64_t gp_quiet64(double f)
{
	return f == f ? gp_b64(f) : gp_b64(f) | GP_QUIET64;
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
