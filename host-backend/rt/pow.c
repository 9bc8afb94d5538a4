/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pow.c - x^y = 2^(y log2 x).
 *
 * The error of the logarithm grows with y log2 x, which is at most 1,100: so that in 64 bits it is needed to 2^-68, as
 * two doubles (log.c). In 32 bits a double is enough. Special values are those of C's annex F.
 */
#include "expo.h"
#include "mathfn.h"
#include "lanes.h"
#include "rt.h"

#define GP_INF64 0x7ff0000000000000ull

enum { GP_NO_INTEGER, GP_EVEN, GP_ODD };

/* Of a finite or infinite y, as double. */
GP_ALWAYS int gp_parity(uint64_t y)
{
	uint64_t magnitude = y & ~GP_SIGN64;
	uint32_t exponent = (uint32_t)(magnitude >> 52), drop;

	if (!magnitude || exponent >= 1023 + 53)
		return GP_EVEN;
	if (exponent < 1023)
		return GP_NO_INTEGER;
	drop = 1023 + 52 - exponent; /* bits of the fraction */
	magnitude = (magnitude & 0xfffffffffffffull) | 1ull << 52;
	if (magnitude & ((1ull << drop) - 1))
		return GP_NO_INTEGER;
	return magnitude >> drop & 1 ? GP_ODD : GP_EVEN;
}

/* What needs no logarithm. Return: whether *result has it; else *sign is that of the result. */
GP_ALWAYS bool gp_pow_special(uint64_t x, uint64_t y, uint64_t *result, uint64_t *sign)
{
	uint64_t ax = x & ~GP_SIGN64, ay = y & ~GP_SIGN64;
	int parity = gp_parity(y);

	*sign = x & GP_SIGN64 && parity == GP_ODD ? GP_SIGN64 : 0;
	if (!ay || x == 0x3ff0000000000000ull) {
		*result = 0x3ff0000000000000ull;
	} else if (ax > GP_INF64 || ay > GP_INF64) {
		*result = GP_INF64 | GP_QUIET64;
	} else if (ay == GP_INF64) {
		if (ax == 0x3ff0000000000000ull)
			*result = ax;
		else
			*result = (ax > 0x3ff0000000000000ull) == !(y & GP_SIGN64) ? GP_INF64 : 0;
	} else if (!ax || ax == GP_INF64) {
		*result = *sign | ((ax != 0) == !(y & GP_SIGN64) ? GP_INF64 : 0);
	} else if (x & GP_SIGN64 && parity == GP_NO_INTEGER) {
		*result = GP_INF64 | GP_QUIET64;
	} else {
		return false;
	}
	return true;
}

uint64_t gp_pow64(uint64_t x, uint64_t y)
{
	uint64_t result, sign;
	struct gp_twice l, p;
	double k;

	if (gp_pow_special(x, y, &result, &sign))
		return result;
	l = gp_log2_twice(x & ~GP_SIGN64);
	/* Out of range for sure; and then y is small enough for what follows. */
	k = gp_f64(y) * l.high;
	if (k >= 1100)
		return sign | GP_INF64;
	if (k <= -1200)
		return sign;
	if (k > -0x1p-60 && k < 0x1p-60)
		return sign | gp_b64(1 + k);
	p = gp_product(gp_f64(y), l.high);
	p.low += gp_f64(y) * l.low;
	k = (p.high + GP_BIG) - GP_BIG;
	return gp_b64(gp_exp2_parts(k, p.high - k, p.low)) | sign;
}

uint64_t gp_pow32(uint64_t a, uint64_t b)
{
	uint64_t x = gp_b64((double)gp_f32(a)), y = gp_b64((double)gp_f32(b)), result, sign;
	struct gp_number n;
	double s, p, k;

	if (gp_pow_special(x, y, &result, &sign))
		return gp_b32((float)gp_f64(result));
	n = gp_take_apart(x & ~GP_SIGN64);
	s = (n.m - 1) / (n.m + 1);
	p = ((double)n.k + (2 * s + s * gp_log_tail(s * s)) * GP_1_LN2) * gp_f64(y);
	p = p > 200 ? 200 : p;
	p = p < -200 ? -200 : p;
	k = (p + GP_BIG) - GP_BIG;
	p = (p - k) * GP_LN2;
	p = (1 + gp_exp_minus_1(p, 0)) * gp_power_of_2((int64_t)k);
	return gp_b32((float)gp_f64(gp_b64(p) | sign));
}

GP_RT uint64_t gp_helper_pow32(struct gp_lane *lane, uint64_t a, uint64_t b)
{
	return gp_pow32(a, b);
}

GP_RT uint64_t gp_helper_pow64(struct gp_lane *lane, uint64_t a, uint64_t b)
{
	return gp_pow64(a, b);
}

GP_LANES_2(pow32)
GP_LANES_2(pow64)
