/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * twice.h - numbers as the unevaluated sum of two doubles, about 106 bits, for where double is not enough.
 *
 * The building blocks are exact: the error of a sum (Knuth, Dekker), the error of a product (Veltkamp's split, or one fused
 * multiply-add where the machine has it, which gives the same). Nothing may overflow: callers keep magnitudes
 * between 2^-400 and 2^400.
 */
#ifndef GPGPU_RT_TWICE_H
#define GPGPU_RT_TWICE_H

#include "float.h"

struct gp_twice {
	double high, low; /* |low| is at most half of the last place of high */
};

/* a + b, exactly, where |a| >= |b| or a is 0. */
GP_ALWAYS struct gp_twice gp_quick_sum(double a, double b)
{
	double sum = a + b;

	return (struct gp_twice){ sum, b - (sum - a) };
}

/* a + b, exactly. */
GP_ALWAYS struct gp_twice gp_sum(double a, double b)
{
	double sum = a + b, c = sum - a;

	return (struct gp_twice){ sum, (a - (sum - c)) + (b - c) };
}

/* a * b, exactly. */
GP_ALWAYS struct gp_twice gp_product(double a, double b)
{
	double p = a * b;
#if defined(__FMA__) || defined(GP_RT_GPU)
	return (struct gp_twice){ p, __builtin_fma(a, b, -p) };
#else
	double ca = a * 134217729.0, cb = b * 134217729.0; /* 2^27 + 1 */
	double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;

	return (struct gp_twice){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
#endif
}

GP_ALWAYS struct gp_twice gp_twice_times(struct gp_twice a, struct gp_twice b)
{
	struct gp_twice p = gp_product(a.high, b.high);

	return gp_quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/* a + b, where |a| >= |b.high| or a is 0. */
GP_ALWAYS struct gp_twice gp_twice_plus(double a, struct gp_twice b)
{
	struct gp_twice s = gp_quick_sum(a, b.high);

	return gp_quick_sum(s.high, s.low + b.low);
}

#endif
