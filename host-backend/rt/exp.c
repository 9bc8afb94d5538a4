/* SPDX-License-Identifier: BSD-3-Clause */
/* exp.c - e^x and 2^x; expo.h says how. Those of float compute in double. */
#include "expo.h"
#include "mathfn.h"
#include "lanes.h"
#include "rt.h"

/* Where the result is 0 or infinite all the same; a NaN passes. */
GP_ALWAYS double gp_within(double x, double low, double high)
{
	x = x > high ? high : x;
	return x < low ? low : x;
}

GP_RT uint64_t gp_helper_exp32(struct gp_lane *lane, uint64_t a)
{
	double x = gp_within((double)gp_f32(a), -104, 89), big = x * GP_1_LN2 + GP_BIG, k = big - GP_BIG;
	double r = x - k * GP_LN2;

	/* The low bits of @big are k, and the rest goes with the shift. */
	return gp_b32((float)(gp_exp_short(r) * gp_f64((gp_b64(big) + 1023) << 52)));
}

GP_RT uint64_t gp_helper_exp232(struct gp_lane *lane, uint64_t a)
{
	double x = gp_within((double)gp_f32(a), -151, 129), big = x + GP_BIG, k = big - GP_BIG;

	return gp_b32((float)(gp_exp_short((x - k) * GP_LN2) * gp_f64((gp_b64(big) + 1023) << 52)));
}

uint64_t gp_exp64(uint64_t a)
{
	double x = gp_within(gp_f64(a), -750, 710), big = x * GP_1_LN2 + GP_BIG, k = big - GP_BIG;
	double high = x - k * GP_LN2_33, low = k * GP_LN2_REST, r = high - low;

	if (x != x)
		return a | GP_QUIET64;
	return gp_b64(gp_scale(1 + gp_exp_minus_1(r, (high - r) - low), (int64_t)k));
}

/* 2^(k + t + u) with |t| <= 1/2 and a tiny u. */
double gp_exp2_parts(double k, double t, double u)
{
	/* t ln 2 in two parts: 26 bits by 27 bits are exact. */
	double top = gp_f64(gp_b64(t) & ~0x7ffffffull), ln2_top = 0x1.62e42fcp-1;
	double high = top * ln2_top;
	double low = (t - top) * ln2_top + (t * (0x1.62e42fefa39efp-1 - 0x1.62e42fcp-1) + u * GP_LN2);
	double r = high + low;

	return gp_scale(1 + gp_exp_minus_1(r, (high - r) + low), (int64_t)k);
}

uint64_t gp_exp264(uint64_t a)
{
	double x = gp_within(gp_f64(a), -1100, 1100), k = (x + GP_BIG) - GP_BIG;

	if (x != x)
		return a | GP_QUIET64;
	return gp_b64(gp_exp2_parts(k, x - k, 0));
}

GP_RT uint64_t gp_helper_exp64(struct gp_lane *lane, uint64_t a)
{
	return gp_exp64(a);
}

GP_RT uint64_t gp_helper_exp264(struct gp_lane *lane, uint64_t a)
{
	return gp_exp264(a);
}

GP_LANES_1(exp32)
GP_LANES_1(exp232)
GP_LANES_1(exp64)
GP_LANES_1(exp264)
