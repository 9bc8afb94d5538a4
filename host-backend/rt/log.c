/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - logarithms to bases e and 2; expo.h says how. Those of float compute in double. */
#include "expo.h"
#include "mathfn.h"
#include "lanes.h"
#include "rt.h"
#include "twice.h"

/* Of what is no positive finite number; @infinite: bits of infinity. */
GP_ALWAYS uint64_t gp_log_special(uint64_t bits, uint64_t infinite, uint64_t sign, uint64_t quiet)
{
	if (!(bits & ~sign))
		return infinite | sign; /* a zero */
	if ((bits & ~sign) > infinite)
		return bits | quiet;
	return bits & sign ? infinite | quiet : bits;
}

/* ln x, or of another base: times @by; within 2^-37 or so of its size. */
GP_ALWAYS double gp_log_short(uint64_t bits, double by, double by_k)
{
	struct gp_number x = gp_take_apart(bits);
	double f = x.m - 1, s = f / (2 + f);

	return (double)x.k * by_k + (2 * s + s * gp_log_tail_short(s * s)) * by;
}

GP_RT uint64_t gp_helper_log32(struct gp_lane *lane, uint64_t a)
{
	a &= GP_MASK32;
	if (a - 1 >= 0x7f800000 - 1)
		return gp_log_special(a, 0x7f800000, GP_SIGN32, GP_QUIET32);
	return gp_b32((float)gp_log_short(gp_b64((double)gp_f32(a)), 1, GP_LN2));
}

GP_RT uint64_t gp_helper_log232(struct gp_lane *lane, uint64_t a)
{
	a &= GP_MASK32;
	if (a - 1 >= 0x7f800000 - 1)
		return gp_log_special(a, 0x7f800000, GP_SIGN32, GP_QUIET32);
	return gp_b32((float)gp_log_short(gp_b64((double)gp_f32(a)), GP_1_LN2, 1));
}

/*
 * ln(1 + f) = f - (f^2/2 - s (f^2/2 + tail)) is what 2 s + s tail becomes when 2 s is written as f - s f, and f, the
 * largest term, is exact.
 */
uint64_t gp_log64(uint64_t a)
{
	double f, s, half, k;
	struct gp_number x;

	if (a - 1 >= 0x7ff0000000000000ull - 1)
		return gp_log_special(a, 0x7ff0000000000000ull, GP_SIGN64, GP_QUIET64);
	x = gp_take_apart(a);
	k = (double)x.k;
	f = x.m - 1;
	s = f / (2 + f);
	half = 0.5 * f * f;
	return gp_b64(k * GP_LN2_33 - ((half - (s * (half + gp_log_tail(s * s)) + k * GP_LN2_REST)) - f));
}

/*
 * The first terms of the series in two doubles each; 1/7 and on is small enough for one.
 */
struct gp_twice gp_log2_twice(uint64_t bits)
{
	static const struct gp_twice third = { 0x1.5555555555555p-2, 0x1.5555555555555p-56 };
	static const struct gp_twice fifth = { 0x1.999999999999ap-3, -0x1.999999999999ap-57 };
	static const struct gp_twice base = { GP_1_LN2, GP_1_LN2_LOW };
	struct gp_number x = gp_take_apart(bits);
	struct gp_twice d = gp_sum(x.m, 1), s, p, z, b, c;
	double f = x.m - 1, w, a;

	/* s = f / (m + 1): the quotient, and what it leaves. */
	s.high = f / d.high;
	p = gp_product(s.high, d.high);
	s.low = (((f - p.high) - p.low) - s.high * d.low) / d.high;
	s = gp_quick_sum(s.high, s.low);
	z = gp_twice_times(s, s);
	w = z.high;
	a = 1.0 / 7 +
	    w * (1.0 / 9 +
		 w * (1.0 / 11 +
		      w * (1.0 / 13 +
			   w * (1.0 / 15 +
				w * (1.0 / 17 +
				     w * (1.0 / 19 + w * (1.0 / 21 + w * (1.0 / 23 + w * (1.0 / 25)))))))));
	b = gp_product(w, a);
	b = gp_twice_plus(fifth.high, (struct gp_twice){ b.high, b.low + fifth.low });
	c = gp_twice_times(z, b);
	c = gp_twice_plus(third.high, (struct gp_twice){ c.high, c.low + third.low });
	c = gp_twice_plus(1, gp_twice_times(z, c));
	c = gp_twice_times(gp_twice_times(s, c), base);
	return gp_twice_plus((double)x.k, (struct gp_twice){ 2 * c.high, 2 * c.low });
}

uint64_t gp_log264(uint64_t a)
{
	struct gp_twice l;

	if (a - 1 >= 0x7ff0000000000000ull - 1)
		return gp_log_special(a, 0x7ff0000000000000ull, GP_SIGN64, GP_QUIET64);
	l = gp_log2_twice(a);
	return gp_b64(l.high + l.low);
}

GP_RT uint64_t gp_helper_log64(struct gp_lane *lane, uint64_t a)
{
	return gp_log64(a);
}

GP_RT uint64_t gp_helper_log264(struct gp_lane *lane, uint64_t a)
{
	return gp_log264(a);
}

GP_LANES_1(log32)
GP_LANES_1(log232)
GP_LANES_1(log64)
GP_LANES_1(log264)
