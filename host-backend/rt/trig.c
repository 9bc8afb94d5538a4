/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trig.c - sine and cosine.
 *
 * x = q pi/2 + r with |r| <= pi/4; the series of sine or cosine of r, by q. The reduction is that of Payne and Hanek: x is
 * an integer of 53 bits times a power of 2; multiplied by those bits of 2/pi that say something about the quotient
 * modulo 4, in integers, nothing is lost however large x is. No double is nearer to a multiple of pi/2 than 2^-62 or
 * so, so that of the 126 bits of the quotient's fraction enough are left.
 *
 * For float and below 2^20, k pi/2 is subtracted in two steps, in double (Cody and Waite).
 */
#include "mathfn.h"
#include "lanes.h"
#include "rt.h"

__extension__ typedef unsigned __int128 gp_u128;

#define GP_PI_2	     0x1.921fb54442d18p+0
#define GP_PI_2_LOW  0x1.1a62633145c07p-54
#define GP_PI_2_33   0x1.921fb544p+0 /* 33 bits: times a number of 20 bits it is exact */
#define GP_PI_2_REST 0x1.0b4611a626331p-34
#define GP_2_PI	     0x1.45f306dc9c883p-1
#define GP_ROUND_BIG 0x1.8p52

/* 64 zero bits and 1,216 bits of 2/pi. */
static const uint64_t gp_two_over_pi[] = {
	0,
	0xa2f9836e4e441529,
	0xfc2757d1f534ddc0,
	0xdb6295993c439041,
	0xfe5163abdebbc561,
	0xb7246e3a424dd2e0,
	0x06492eea09d1921c,
	0xfe1deb1cb129a73e,
	0xe88235f52ebb4484,
	0xe99c7026b45f7e41,
	0x3991d639835339f4,
	0x9c845f8bbdf9283b,
	0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f,
	0x6d367ecf27cb09b7,
	0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea,
	0x6bfb5fb11f8d5d08,
	0x56033046fc7b6bab,
};

uint32_t gp_reduce(uint64_t bits, struct gp_twice *rest)
{
	uint32_t exponent = (uint32_t)(bits >> 52) & 0x7ff, quarter;
	uint64_t m = (bits & 0xfffffffffffffull) | 1ull << 52, w[3], high, low, zeros, negative;
	/* Bits of 2/pi above this one are multiples of 4 in the product. x is m 2^(exponent - 1075). */
	uint32_t at = exponent - 1075 + 62, shift = at & 63;
	gp_u128 p1, p2, f;
	double scale;
	struct gp_twice turn;

	at >>= 6; /* at most 16 */
	for (uint32_t i = 0; i < 3; i++) {
		w[i] = gp_two_over_pi[at + i] << shift;
		if (shift)
			w[i] |= gp_two_over_pi[at + i + 1] >> (64 - shift);
	}
	p2 = (gp_u128)w[2] * m;
	p1 = (gp_u128)w[1] * m + (uint64_t)(p2 >> 64);
	high = w[0] * m + (uint64_t)(p1 >> 64);
	low = (uint64_t)p1;
	/* Two bits of the multiple, then the fraction; from 1/2 on the next multiple is nearer. */
	quarter = (uint32_t)(high >> 62);
	f = ((gp_u128)high << 64 | low) << 2;
	negative = (uint64_t)(f >> 127);
	if (negative) {
		quarter++;
		f = -f;
	}
	high = (uint64_t)(f >> 64);
	low = (uint64_t)f;
	if (!high) {
		/* Not met by any double, but cheap to get right. */
		high = low;
		low = 0;
		scale = 0x1p-64;
	} else {
		scale = 1;
	}
	zeros = high ? (uint64_t)__builtin_clzll(high) : 0;
	if (zeros) {
		high = high << zeros | low >> (64 - zeros);
		low <<= zeros;
	}
	scale *= gp_f64((1023 - zeros) << 52);
	turn.high = (double)(high >> 11) * 0x1p-53 * scale;
	turn.low = (double)(high << 53 | low >> 11) * 0x1p-117 * scale;
	turn = gp_twice_times(turn, (struct gp_twice){ GP_PI_2, GP_PI_2_LOW });
	rest->high = negative ? -turn.high : turn.high;
	rest->low = negative ? -turn.low : turn.low;
	return quarter & 3;
}

/* Of r + c, |r| <= pi/4: within 2^-57 of the result, and its rounding. */
GP_ALWAYS double gp_sine(struct gp_twice x)
{
	double z = x.high * x.high, v = z * x.high, w = z * z;
	double t = (1.0 / 120 + w * (1.0 / 362880 + w * (1.0 / 6227020800 + w * (1.0 / 355687428096000)))) -
		   z * (1.0 / 5040 + w * (1.0 / 39916800 + w * (1.0 / 1307674368000)));

	return x.high - ((z * (0.5 * x.low - v * t) - x.low) + v * (1.0 / 6));
}

GP_ALWAYS double gp_cosine(struct gp_twice x)
{
	double z = x.high * x.high, w = z * z, half = 0.5 * z, first = 1 - half;
	double t = w * ((1.0 / 24 + w * (1.0 / 40320 + w * (1.0 / 479001600 + w * (1.0 / 20922789888000)))) -
			z * (1.0 / 720 + w * (1.0 / 3628800 + w * (1.0 / 87178291200))));

	return first + (((1 - first) - half) + (t - x.high * x.low));
}

/* sin(|x| + @quarters pi/2), with the sign of @sign. */
GP_ALWAYS uint64_t gp_turned(uint64_t magnitude, uint32_t quarters, uint64_t sign)
{
	struct gp_twice r = { gp_f64(magnitude), 0 };
	double y;

	if (magnitude >= 0x7ff0000000000000ull) /* infinite or a NaN */
		return gp_b64(r.high - r.high) | GP_QUIET64;
	if (magnitude >= 0x3fe921fb54442d18ull) /* pi/4 */
		quarters += gp_reduce(magnitude, &r);
	y = quarters & 1 ? gp_cosine(r) : gp_sine(r);
	return gp_b64(y) ^ (quarters & 2 ? GP_SIGN64 : 0) ^ sign;
}

uint64_t gp_sin64(uint64_t a)
{
	/* A zero keeps its sign, and what is so small is its own sine. */
	if ((a & ~GP_SIGN64) < 0x3e40000000000000ull)
		return a;
	return gp_turned(a & ~GP_SIGN64, 0, a & GP_SIGN64);
}

uint64_t gp_cos64(uint64_t a)
{
	return gp_turned(a & ~GP_SIGN64, 1, 0);
}

/* -------------------------------------------------------------------- float */

/* sin(x + @quarters pi/2); the series are good to 2^-36. */
GP_ALWAYS uint64_t gp_turned_short(uint64_t a, uint32_t quarters)
{
	double x = (double)gp_f32(a), big = x * GP_2_PI + GP_ROUND_BIG, k = big - GP_ROUND_BIG, r, z, y;
	uint64_t magnitude = a & 0x7fffffff;

	r = (x - k * GP_PI_2_33) - k * GP_PI_2_REST;
	if (gp_unlikely(magnitude >= 0x49800000)) { /* 2^20 */
		struct gp_twice rest;

		if (magnitude >= 0x7f800000)
			return gp_b32((float)(x - x)) | GP_QUIET32;
		quarters = gp_reduce(gp_b64(x) & ~GP_SIGN64, &rest) * (x < 0 ? -1u : 1u) + quarters;
		r = x < 0 ? -rest.high : rest.high;
	} else {
		quarters += (uint32_t)gp_b64(big);
	}
	z = r * r;
	if (quarters & 1)
		y = 1 +
		    z * (-1.0 / 2 +
			 z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 +
										   z * (1.0 / 479001600))))));
	else
		y = r *
		    (1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 +
							       z * (1.0 / 362880 + z * (-1.0 / 39916800))))));
	return gp_b32((float)y) ^ (quarters & 2 ? GP_SIGN32 : 0);
}

GP_RT uint64_t gp_helper_sin32(struct gp_lane *lane, uint64_t a)
{
	return gp_turned_short(a, 0);
}

GP_RT uint64_t gp_helper_cos32(struct gp_lane *lane, uint64_t a)
{
	return gp_turned_short(a, 1);
}

GP_RT uint64_t gp_helper_sin64(struct gp_lane *lane, uint64_t a)
{
	return gp_sin64(a);
}

GP_RT uint64_t gp_helper_cos64(struct gp_lane *lane, uint64_t a)
{
	return gp_cos64(a);
}

GP_LANES_1(sin32)
GP_LANES_1(cos32)
GP_LANES_1(sin64)
GP_LANES_1(cos64)
