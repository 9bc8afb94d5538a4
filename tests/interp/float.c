// SPDX-License-Identifier: BSD-3-Clause
/*
 * float.c - floating point of compute kernels, by the host's own C (gpgpu_bpf.h has the rules).
 *
 * Compiled without contraction and for SSE arithmetic, where C's float and double are IEEE 754 binary32
 * and binary64 with every operation rounded once.
 */
#include <float.h>
#include <math.h>
#include "gpgpu_bpf.h"
#include "priv.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float arithmetic must not carry extra precision");

static float f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, 4);
	return f;
}

static double f64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, 8);
	return f;
}

static uint64_t bits32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

static uint64_t bits64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, 8);
	return bits;
}

/* Truncates and saturates; NaN becomes 0. A float converts to double exactly, so this serves both. */
static uint64_t to_signed(double f)
{
	if (isnan(f))
		return 0;
	if (f >= 0x1p63)
		return INT64_MAX;
	if (f < -0x1p63)
		return (uint64_t)INT64_MIN;
	return (uint64_t)(int64_t)f;
}

static uint64_t to_unsigned(double f)
{
	if (isnan(f) || f <= -1.0)
		return 0;
	if (f >= 0x1p64)
		return UINT64_MAX;
	if (f < 0)
		return 0;
	return (uint64_t)f;
}

/* The C library says nothing of the order of zeros; here -0 is the smaller. */
static uint64_t extreme64(uint64_t a, uint64_t b, bool greater)
{
	if (f64(a) == f64(b))
		return greater ? a & b : a | b;
	return bits64(greater ? fmax(f64(a), f64(b)) : fmin(f64(a), f64(b)));
}

static uint64_t extreme32(uint64_t a, uint64_t b, bool greater)
{
	if (f32(a) == f32(b))
		return (uint32_t)(greater ? a & b : a | b);
	return bits32(greater ? fmaxf(f32(a), f32(b)) : fminf(f32(a), f32(b)));
}

static uint64_t to_32(double f, double low, double high)
{
	if (isnan(f))
		return 0;
	return (uint64_t)(int64_t)(f < low ? low : f > high ? high : f);
}

/* To half precision, by the place of the last bit that is kept. */
static uint64_t to_half(double f)
{
	uint64_t sign = signbit(f) ? 0x8000 : 0, steps;
	double a = fabs(f);
	int exponent;

	if (isnan(f))
		return sign | 0x7e00;
	if (a >= 65520)
		return sign | 0x7c00;
	frexp(a, &exponent); /* 0 for 0 */
	if (a == 0)
		return sign;
	if (exponent < -13)
		exponent = -13;
	steps = (uint64_t)nearbyint(ldexp(a, 11 - exponent));
	return sign | (((uint64_t)(exponent + 13) << 10) + steps);
}

static double from_half(uint64_t bits)
{
	int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
	double f = exponent == 31 ? fraction ? NAN : INFINITY
		   : exponent	  ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return bits & 0x8000 ? -f : f;
}

/*
 * Functions of the C library, which is a second opinion within the error bounds of either: what the vectors ask for is either
 * exact or the nearest by far.
 */
static bool function(uint32_t number, double x, double y, double *r)
{
	switch (number) {
	case GPGPU_HELPER_rsqrt32:
	case GPGPU_HELPER_rsqrt64:
		*r = (double)(1 / sqrtl((long double)x));
		return true;
	case GPGPU_HELPER_exp32:
	case GPGPU_HELPER_exp64:
		*r = exp(x);
		return true;
	case GPGPU_HELPER_exp232:
	case GPGPU_HELPER_exp264:
		*r = exp2(x);
		return true;
	case GPGPU_HELPER_log32:
	case GPGPU_HELPER_log64:
		*r = log(x);
		return true;
	case GPGPU_HELPER_log232:
	case GPGPU_HELPER_log264:
		*r = log2(x);
		return true;
	case GPGPU_HELPER_sin32:
	case GPGPU_HELPER_sin64:
		*r = sin(x);
		return true;
	case GPGPU_HELPER_cos32:
	case GPGPU_HELPER_cos64:
		*r = cos(x);
		return true;
	case GPGPU_HELPER_pow32:
	case GPGPU_HELPER_pow64:
		*r = pow(x, y);
		return true;
	case GPGPU_HELPER_fmod32:
	case GPGPU_HELPER_fmod64:
		*r = fmod(x, y);
		return true;
	case GPGPU_HELPER_round32:
	case GPGPU_HELPER_round64:
		*r = round(x);
		return true;
	case GPGPU_HELPER_copysign32:
	case GPGPU_HELPER_copysign64:
		*r = copysign(x, y);
		return true;
	}
	return false;
}

static bool math(uint32_t number, const uint64_t *a, uint64_t *r)
{
	double result;

	if (number >= GPGPU_HELPER_rsqrt32 && number <= GPGPU_HELPER_copysign32) {
		if (!function(number, (double)f32(a[0]), (double)f32(a[1]), &result))
			return false;
		*r = bits32((float)result);
		/* A sNaN to a power of 0: the C library differs in what it makes of such NaNs. */
		if (number == GPGPU_HELPER_pow32 && !(a[1] & 0x7fffffff))
			*r = bits32(1);
		return true;
	}
	if (number >= GPGPU_HELPER_rsqrt64 && number <= GPGPU_HELPER_copysign64) {
		if (!function(number, f64(a[0]), f64(a[1]), &result))
			return false;
		*r = bits64(result);
		if (number == GPGPU_HELPER_pow64 && !(a[1] << 1))
			*r = bits64(1);
		return true;
	}
	switch (number) {
	case GPGPU_HELPER_s32_from_f32:
		*r = to_32((double)f32(a[0]), INT32_MIN, INT32_MAX);
		return true;
	case GPGPU_HELPER_s32_from_f64:
		*r = to_32(f64(a[0]), INT32_MIN, INT32_MAX);
		return true;
	case GPGPU_HELPER_u32_from_f32:
		*r = to_32((double)f32(a[0]), 0, UINT32_MAX);
		return true;
	case GPGPU_HELPER_u32_from_f64:
		*r = to_32(f64(a[0]), 0, UINT32_MAX);
		return true;
	case GPGPU_HELPER_f32_from_f16:
		*r = bits32((float)from_half(a[0]));
		return true;
	case GPGPU_HELPER_f16_from_f32:
		*r = to_half((double)f32(a[0]));
		return true;
	case GPGPU_HELPER_f16_from_f64:
		*r = to_half(f64(a[0]));
		return true;
	}
	return false;
}

/* Absolute value is a matter of the sign bit alone, for NaNs too. */
bool interp_float(uint32_t number, const uint64_t *a, uint64_t *r)
{
	switch (number) {
	case GPGPU_HELPER_fadd32:
		*r = bits32(f32(a[0]) + f32(a[1]));
		return true;
	case GPGPU_HELPER_fsub32:
		*r = bits32(f32(a[0]) - f32(a[1]));
		return true;
	case GPGPU_HELPER_fmul32:
		*r = bits32(f32(a[0]) * f32(a[1]));
		return true;
	case GPGPU_HELPER_fdiv32:
		*r = bits32(f32(a[0]) / f32(a[1]));
		return true;
	case GPGPU_HELPER_fma32:
		*r = bits32(fmaf(f32(a[0]), f32(a[1]), f32(a[2])));
		return true;
	case GPGPU_HELPER_sqrt32:
		*r = bits32(sqrtf(f32(a[0])));
		return true;
	case GPGPU_HELPER_fmin32:
		*r = extreme32(a[0], a[1], false);
		return true;
	case GPGPU_HELPER_fmax32:
		*r = extreme32(a[0], a[1], true);
		return true;
	case GPGPU_HELPER_flt32:
		*r = f32(a[0]) < f32(a[1]);
		return true;
	case GPGPU_HELPER_fle32:
		*r = f32(a[0]) <= f32(a[1]);
		return true;
	case GPGPU_HELPER_feq32:
		*r = f32(a[0]) == f32(a[1]);
		return true;
	case GPGPU_HELPER_fabs32:
		*r = (uint32_t)a[0] & 0x7fffffffu;
		return true;
	case GPGPU_HELPER_floor32:
		*r = bits32(floorf(f32(a[0])));
		return true;
	case GPGPU_HELPER_ceil32:
		*r = bits32(ceilf(f32(a[0])));
		return true;
	case GPGPU_HELPER_trunc32:
		*r = bits32(truncf(f32(a[0])));
		return true;
	case GPGPU_HELPER_rint32:
		*r = bits32(nearbyintf(f32(a[0])));
		return true;
	case GPGPU_HELPER_fadd64:
		*r = bits64(f64(a[0]) + f64(a[1]));
		return true;
	case GPGPU_HELPER_fsub64:
		*r = bits64(f64(a[0]) - f64(a[1]));
		return true;
	case GPGPU_HELPER_fmul64:
		*r = bits64(f64(a[0]) * f64(a[1]));
		return true;
	case GPGPU_HELPER_fdiv64:
		*r = bits64(f64(a[0]) / f64(a[1]));
		return true;
	case GPGPU_HELPER_fma64:
		*r = bits64(fma(f64(a[0]), f64(a[1]), f64(a[2])));
		return true;
	case GPGPU_HELPER_sqrt64:
		*r = bits64(sqrt(f64(a[0])));
		return true;
	case GPGPU_HELPER_fmin64:
		*r = extreme64(a[0], a[1], false);
		return true;
	case GPGPU_HELPER_fmax64:
		*r = extreme64(a[0], a[1], true);
		return true;
	case GPGPU_HELPER_flt64:
		*r = f64(a[0]) < f64(a[1]);
		return true;
	case GPGPU_HELPER_fle64:
		*r = f64(a[0]) <= f64(a[1]);
		return true;
	case GPGPU_HELPER_feq64:
		*r = f64(a[0]) == f64(a[1]);
		return true;
	case GPGPU_HELPER_fabs64:
		*r = a[0] & ~(1ull << 63);
		return true;
	case GPGPU_HELPER_floor64:
		*r = bits64(floor(f64(a[0])));
		return true;
	case GPGPU_HELPER_ceil64:
		*r = bits64(ceil(f64(a[0])));
		return true;
	case GPGPU_HELPER_trunc64:
		*r = bits64(trunc(f64(a[0])));
		return true;
	case GPGPU_HELPER_rint64:
		*r = bits64(nearbyint(f64(a[0])));
		return true;
	case GPGPU_HELPER_f32_from_s:
		*r = bits32((float)(int64_t)a[0]);
		return true;
	case GPGPU_HELPER_f32_from_u:
		*r = bits32((float)a[0]);
		return true;
	case GPGPU_HELPER_f64_from_s:
		*r = bits64((double)(int64_t)a[0]);
		return true;
	case GPGPU_HELPER_f64_from_u:
		*r = bits64((double)a[0]);
		return true;
	case GPGPU_HELPER_s_from_f32:
		*r = to_signed(f32(a[0]));
		return true;
	case GPGPU_HELPER_u_from_f32:
		*r = to_unsigned(f32(a[0]));
		return true;
	case GPGPU_HELPER_s_from_f64:
		*r = to_signed(f64(a[0]));
		return true;
	case GPGPU_HELPER_u_from_f64:
		*r = to_unsigned(f64(a[0]));
		return true;
	case GPGPU_HELPER_f64_from_f32:
		*r = bits64(f32(a[0]));
		return true;
	case GPGPU_HELPER_f32_from_f64:
		*r = bits32((float)f64(a[0]));
		return true;
	}
	return math(number, a, r);
}
