/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expo.h - the parts that exp, exp2, log, log2 and pow share.
 *
 * Exponentials: x = k ln 2 + r with |r| <= ln(2) / 2, e^x = 2^k e^r; e^r by its Taylor series, which is short there. k is
 * found by adding a number so large that its last bit is worth 1, so that it is the low bits of the sum, too.
 *
 * Logarithms: x = 2^k m with m between the roots of 1/2 and 2; with s = (m - 1) / (m + 1), at most 0.172,
 * ln m = 2 (s + s^3/3 + s^5/5 + ...).
 */
#ifndef GPGPU_RT_EXPO_H
#define GPGPU_RT_EXPO_H

#include "float.h"

#define GP_LN2	     0x1.62e42fefa39efp-1
#define GP_LN2_LOW   0x1.abc9e3b39803fp-56 /* of ln 2 beyond the one above */
#define GP_LN2_33    0x1.62e42feep-1 /* 33 bits of ln 2: times a number of 20 bits it is exact */
#define GP_LN2_REST  0x1.a39ef35793c76p-33
#define GP_1_LN2     0x1.71547652b82fep+0
#define GP_1_LN2_LOW 0x1.777d0ffda0d24p-56
#define GP_BIG	     0x1.8p52
#define GP_ROOT_HALF 0x3fe6a09e667f3bcdull

/* 2^k, -1022 <= k <= 1023. */
GP_ALWAYS double gp_power_of_2(int64_t k)
{
	return gp_f64((uint64_t)(k + 1023) << 52);
}

/* y 2^k, rounded once, for |k| up to 2000. */
GP_ALWAYS double gp_scale(double y, int64_t k)
{
	return y * gp_power_of_2(k >> 1) * gp_power_of_2(k - (k >> 1));
}

/* e^(r + c) - 1 for |r| <= 0.35 and a tiny c: within 2^-55. */
GP_ALWAYS double gp_exp_minus_1(double r, double c)
{
	double z = r * r, z2 = z * z, q;

	q = (1.0 / 2 + r * (1.0 / 6)) + z * (1.0 / 24 + r * (1.0 / 120)) +
	    z2 * ((1.0 / 720 + r * (1.0 / 5040)) + z * (1.0 / 40320 + r * (1.0 / 362880)) +
		  z2 * ((1.0 / 3628800 + r * (1.0 / 39916800)) +
			z * (1.0 / 479001600 + r * (1.0 / 6227020800))));
	return r + (z * q + (c + c * r));
}

/* e^r for |r| <= 0.35, within 2^-36: good for float. */
GP_ALWAYS double gp_exp_short(double r)
{
	double z = r * r, z2 = z * z;

	return (1 + r) + z * ((1.0 / 2 + r * (1.0 / 6)) + z * (1.0 / 24 + r * (1.0 / 120)) +
			      z2 * ((1.0 / 720 + r * (1.0 / 5040)) + z * (1.0 / 40320 + r * (1.0 / 362880))));
}

/* A positive finite number taken apart. */
struct gp_number {
	double m;
	int64_t k;
};

GP_ALWAYS struct gp_number gp_take_apart(uint64_t bits)
{
	int64_t k = 0, n;

	if (bits < 1ull << 52) {
		bits = gp_b64(gp_f64(bits) * 0x1p54);
		k = -54;
	}
	n = (int64_t)(bits - GP_ROOT_HALF) >> 52;
	return (struct gp_number){ gp_f64(bits - ((uint64_t)n << 52)), k + n };
}

/* s^2 (2/3 + s^2 (2/5 + ... )), @z: s^2; the tail of 2 atanh(s) / s. For float: within 2^-38. */
GP_ALWAYS double gp_log_tail_short(double z)
{
	return z *
	       (2.0 / 3 + z * (2.0 / 5 + z * (2.0 / 7 + z * (2.0 / 9 + z * (2.0 / 11 + z * (2.0 / 13))))));
}

/* The same, within 2^-60. */
GP_ALWAYS double gp_log_tail(double z)
{
	double w = z * z;
	double odd = 2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19))));
	double even = 2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21))));

	return z * odd + w * even;
}

#endif
