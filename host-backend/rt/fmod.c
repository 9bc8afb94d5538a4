/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fmod.c - the remainder of a division whose quotient is truncated; exact.
 *
 * Long division in base 2^11: of the quotient only its remainder is kept, which has at most 53 bits, so that 11 more fit into a
 * word. The exponents of doubles differ by at most 2,098, so that there are at most 191 turns.
 */
#include "mathfn.h"
#include "rt.h"

#define GP_DIGIT 11

GP_ALWAYS uint64_t gp_significand(uint64_t magnitude, int32_t *exponent)
{
	uint64_t m = magnitude & 0xfffffffffffffull;
	int32_t zeros;

	*exponent = (int32_t)(magnitude >> 52);
	if (*exponent)
		return m | 1ull << 52;
	zeros = __builtin_clzll(m | 1) - 11;
	*exponent = 1 - zeros;
	return m << zeros;
}

uint64_t gp_fmod64(uint64_t a, uint64_t b)
{
	uint64_t x = a & ~GP_SIGN64, y = b & ~GP_SIGN64, sign = a & GP_SIGN64, m, n;
	int32_t ex, ey, left, digit;

	if (x >= 0x7ff0000000000000ull || y > 0x7ff0000000000000ull || !y)
		return 0x7ff8000000000000ull;
	if (x < y)
		return a;
	m = gp_significand(x, &ex);
	n = gp_significand(y, &ey);
	m %= n;
	for (left = ex - ey; left > 0 && m; left -= digit) {
		digit = left < GP_DIGIT ? left : GP_DIGIT;
		m = (m << digit) % n;
	}
	if (!m)
		return sign;
	/* m is in units of b's last place, which may be below that of denormals; then its low bits are 0. */
	left = __builtin_clzll(m) - 11;
	if (ey > left)
		return sign | ((m << left) & 0xfffffffffffffull) | (uint64_t)(ey - left) << 52;
	return sign | (ey > 0 ? m << (ey - 1) : m >> (1 - ey));
}

GP_RT uint64_t gp_helper_fmod64(struct gp_lane *lane, uint64_t a, uint64_t b)
{
	return gp_fmod64(a, b);
}

/* The result has no more bits than a float. */
GP_RT uint64_t gp_helper_fmod32(struct gp_lane *lane, uint64_t a, uint64_t b)
{
	uint64_t r = gp_fmod64(gp_b64((double)gp_f32(a)), gp_b64((double)gp_f32(b)));

	return gp_b32((float)gp_f64(r));
}
