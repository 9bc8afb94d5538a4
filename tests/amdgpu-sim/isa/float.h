/* SPDX-License-Identifier: BSD-3-Clause */
/* float.h - bit patterns of floating point numbers, and half precision by way of double. */
#ifndef AMDGPU_SIM_FLOAT_H
#define AMDGPU_SIM_FLOAT_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What an invalid operation gives. */
#define NAN32 0xffc00000u
#define NAN64 0xfff8000000000000ull
#define NAN16 0xfe00u

static inline float f32(uint32_t x)
{
	float f;

	memcpy(&f, &x, 4);
	return f;
}

static inline uint32_t b32(float f)
{
	uint32_t x;

	memcpy(&x, &f, 4);
	return x;
}

static inline double f64(uint64_t x)
{
	double f;

	memcpy(&f, &x, 8);
	return f;
}

static inline uint64_t b64(double f)
{
	uint64_t x;

	memcpy(&x, &f, 8);
	return x;
}

static inline bool nan32(uint32_t x)
{
	return (x & 0x7fffffff) > 0x7f800000;
}

static inline bool snan32(uint32_t x)
{
	return nan32(x) && !(x & 0x400000);
}

static inline bool nan64(uint64_t x)
{
	return (x & INT64_MAX) > 0x7ff0000000000000;
}

static inline bool snan64(uint64_t x)
{
	return nan64(x) && !(x & 0x8000000000000);
}

static inline bool nan16(uint32_t x)
{
	return (x & 0x7fff) > 0x7c00;
}

static inline bool snan16(uint32_t x)
{
	return nan16(x) && !(x & 0x200);
}

static inline double from16(uint32_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 1023;
	uint64_t sign = (uint64_t)(h >> 15 & 1) << 63;

	if (e == 31)
		return f64(sign | 0x7ff0000000000000 | (uint64_t)m << 42);
	if (e)
		return f64(sign | (uint64_t)(e + 1008) << 52 | (uint64_t)m << 42);
	return sign ? -(double)m * 0x1p-24 : (double)m * 0x1p-24;
}

/* to16() - rounded by @round as MODE counts: 0 nearest even, 1 up, 2 down, 3 to zero. NaNs become quiet. */
static inline uint32_t to16(double value, unsigned int round)
{
	uint64_t x = b64(value), mantissa, rest, half;
	uint32_t sign = (uint32_t)(x >> 63) << 15, result;
	int e = (int)(x >> 52 & 2047) - 1023, drop;

	if (nan64(x))
		return sign | 0x7e00 | (uint32_t)(x >> 42 & 1023);
	if (e == 1024)
		return sign | 0x7c00;
	if (!(x << 1))
		return sign;
	mantissa = (x & 0xfffffffffffff) | (e == -1023 ? 0 : 1ull << 52);
	if (e < -40)
		e = -40; /* far below half of the smallest: only that it is not 0 counts */
	drop = e >= -14 ? 42 : 42 + (-14 - e);
	if (drop > 62)
		drop = 62;
	result = (uint32_t)(mantissa >> drop);
	rest = mantissa & ((1ull << drop) - 1);
	half = 1ull << (drop - 1);
	if (round == 0 ? rest > half || (rest == half && result & 1)
		       : rest && ((round == 1 && !sign) || (round == 2 && sign)))
		result++;
	if (e >= -14)
		result += (uint32_t)(e + 14) << 10;
	if (result >= 0x7c00)
		result = round == 0 || (round == 1 && !sign) || (round == 2 && sign) ? 0x7c00 : 0x7bff;
	return sign | result;
}

/* The host's rounding mode for one of MODE's. */
static inline int host_round(unsigned int round)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };

	return modes[round & 3];
}

#endif
