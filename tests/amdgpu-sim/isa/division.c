/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * division.c - v_div_scale, v_div_fmas and v_div_fixup.
 *
 * From their pseudo-code in AMD's instruction set documents. Those of Vega give a factor of 2^32 for v_div_fmas
 * with vcc; that of RDNA 3 gives 2^64 or 2^-64 by the size of the quotient, which is what v_div_scale's own
 * factors need, and what is done here. Where both the reciprocal and the quotient would be denormal the denominator
 * is scaled down, since up it would overflow. An overflow is known by the quotient's exponent; the documents test
 * that of the denominator, which cannot be the largest there. Proof is that quotients come out as IEEE 754 has them.
 */
#include "division.h"
#include "float.h"

static int exponent32(uint32_t x)
{
	return (int)(x >> 23 & 255);
}

static int exponent64(uint64_t x)
{
	return (int)(x >> 52 & 2047);
}

static bool denormal32(double x)
{
	return x != 0 && fabs(x) < 0x1p-126;
}

static bool denormal64(long double x)
{
	return x != 0 && fabsl(x) < 0x1p-1022L;
}

uint32_t isa_div_scale32(uint32_t a, uint32_t den, uint32_t num, bool *scaled)
{
	double d = (double)f32(den), n = (double)f32(num);
	int by = 0;

	if (d == 0 || n == 0)
		return NAN32;
	if (exponent32(num) - exponent32(den) >= 96) {
		*scaled = true;
		by = a == den ? 64 : 0;
	} else if (denormal32(d)) {
		by = 64;
	} else if (denormal32(1 / d) && denormal32(n / d)) {
		*scaled = true;
		by = a == den ? -64 : 0;
	} else if (denormal32(1 / d)) {
		by = -64;
	} else if (denormal32(n / d)) {
		*scaled = true;
		by = a == num ? 64 : 0;
	} else if (exponent32(num) <= 23) {
		by = 64;
	}
	return by && !nan32(a) ? b32(ldexpf(f32(a), by)) : a;
}

uint64_t isa_div_scale64(uint64_t a, uint64_t den, uint64_t num, bool *scaled)
{
	long double d = (long double)f64(den), n = (long double)f64(num);
	int by = 0;

	if (d == 0 || n == 0)
		return NAN64;
	if (exponent64(num) - exponent64(den) >= 768) {
		*scaled = true;
		by = a == den ? 128 : 0;
	} else if (denormal64(d)) {
		by = 128;
	} else if (denormal64(1 / d) && denormal64(n / d)) {
		*scaled = true;
		by = a == den ? -128 : 0;
	} else if (denormal64(1 / d)) {
		by = -128;
	} else if (denormal64(n / d)) {
		*scaled = true;
		by = a == num ? 128 : 0;
	} else if (exponent64(num) <= 53) {
		by = 128;
	}
	return by && !nan64(a) ? b64(ldexp(f64(a), by)) : a;
}

uint32_t isa_div_fmas32(uint32_t a, uint32_t b, uint32_t c, bool scaled)
{
	double product = (double)f32(a) * (double)f32(b), add = (double)f32(c), sum, part, error;
	uint64_t bits;

	if (!scaled)
		return b32(fmaf(f32(a), f32(b), f32(c)));
	sum = product + add;
	if (!isfinite(sum))
		return b32((float)sum);
	/* rounded to odd, so that scaling and rounding to single precision is as if done at once */
	part = sum - product;
	error = (product - (sum - part)) + (add - part);
	bits = b64(sum);
	if (error != 0 && !(bits & 1))
		bits = (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
	return b32((float)ldexp(f64(bits), exponent32(c) > 127 ? 64 : -64));
}

/* @x scaled by 2^-128 and rounded once; @error: the exact value less @x, only its sign counts. */
static double scale_down(double x, double error)
{
	uint64_t bits = b64(x), mantissa = bits & 0xfffffffffffff, rest, half;
	int exponent = exponent64(bits), drop;
	bool sign = bits >> 63, up;

	if (exponent)
		mantissa |= 1ull << 52;
	else
		exponent = 1;
	drop = 129 - exponent; /* what lies below the smallest denormal */
	if (drop <= 0)
		return ldexp(x, -128);
	if (drop > 54)
		return sign ? -0.0 : 0.0;
	rest = mantissa & ((1ull << drop) - 1);
	half = 1ull << (drop - 1);
	mantissa >>= drop;
	up = error != 0 ? (error > 0) == !sign : mantissa & 1;
	if (rest > half || (rest == half && up))
		mantissa++;
	return f64((bits & 1ull << 63) | mantissa);
}

uint64_t isa_div_fmas64(uint64_t a, uint64_t b, uint64_t c, bool scaled)
{
	double sum = fma(f64(a), f64(b), f64(c));

	if (!scaled || !isfinite(sum))
		return b64(sum);
	if (exponent64(c) > 1023)
		return b64(ldexp(sum, 128));
	return b64(scale_down(sum, fma(f64(a), f64(b), f64(c) - sum)));
}

uint32_t isa_div_fixup32(uint32_t quotient, uint32_t den, uint32_t num)
{
	uint32_t sign = (den ^ num) & 0x80000000, d = den & 0x7fffffff, n = num & 0x7fffffff;

	if (nan32(num))
		return num | 0x400000;
	if (nan32(den))
		return den | 0x400000;
	if ((!d && !n) || (d == 0x7f800000 && n == 0x7f800000))
		return NAN32;
	if (!d || n == 0x7f800000)
		return sign | 0x7f800000;
	if (d == 0x7f800000 || !n)
		return sign;
	if (exponent32(num) - exponent32(den) < -150)
		return sign;
	if (exponent32(quotient) == 255) /* the steps before overflowed */
		return sign | 0x7f800000;
	return sign | (quotient & 0x7fffffff);
}

uint64_t isa_div_fixup64(uint64_t quotient, uint64_t den, uint64_t num)
{
	uint64_t sign = (den ^ num) & 1ull << 63, d = den & INT64_MAX, n = num & INT64_MAX;
	const uint64_t inf = 0x7ff0000000000000;

	if (nan64(num))
		return num | 0x8000000000000;
	if (nan64(den))
		return den | 0x8000000000000;
	if ((!d && !n) || (d == inf && n == inf))
		return NAN64;
	if (!d || n == inf)
		return sign | inf;
	if (d == inf || !n)
		return sign;
	if (exponent64(num) - exponent64(den) < -1075)
		return sign;
	if (exponent64(quotient) == 2047)
		return sign | inf;
	return sign | (quotient & INT64_MAX);
}
