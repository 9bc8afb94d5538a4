/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * half.c - IEEE 754 half precision as programs keep it in memory, on bit patterns.
 *
 * To half: the result is the number of steps of 2^-24 for denormals, and the upper part of the wider number with another bias
 * for the rest. Both roundings are to nearest even: the first by an addition to a number whose last bit is worth 2^-24,
 * the second by adding half of the last place, less one where that place is even. All of it without a branch.
 */
#include "float.h"
#include "lanes.h"
#include "rt.h"

#define GP_HALF_INFINITE 0x7c00u
#define GP_HALF_QUIET	 0x7e00u
#define GP_HALF_SIGN	 0x8000u

GP_RT uint64_t gp_helper_f32_from_f16(struct gp_lane *lane, uint64_t a)
{
	uint32_t magnitude = (uint32_t)a & 0x7fff, sign = ((uint32_t)a & GP_HALF_SIGN) << 16, bits;

	bits = (magnitude << 13) + ((127 - 15) << 23);
	if (magnitude < 0x400)
		bits = (uint32_t)gp_b32((float)magnitude * 0x1p-24f);
	if (magnitude >= GP_HALF_INFINITE)
		bits = 0x7f800000 | magnitude << 13 | (magnitude > GP_HALF_INFINITE ? GP_QUIET32 : 0);
	return sign | bits;
}

GP_RT uint64_t gp_helper_f16_from_f32(struct gp_lane *lane, uint64_t a)
{
	uint32_t magnitude = (uint32_t)a & 0x7fffffff, sign = (uint32_t)a >> 16 & GP_HALF_SIGN, bits;

	bits = (magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13;
	bits -= (127 - 15) << 10;
	if (magnitude < 0x38800000) /* 2^-14 */
		bits = (uint32_t)gp_b32(gp_f32(magnitude) + 0.5f) & 0x7ff;
	if (magnitude >= 0x47800000) /* 2^16 */
		bits = GP_HALF_INFINITE;
	if (magnitude > 0x7f800000)
		bits = GP_HALF_QUIET;
	return sign | bits;
}

GP_RT uint64_t gp_helper_f16_from_f64(struct gp_lane *lane, uint64_t a)
{
	uint64_t magnitude = a & ~GP_SIGN64, sign = a >> 48 & GP_HALF_SIGN, bits;

	bits = (magnitude + 0x1ffffffffffull + (magnitude >> 42 & 1)) >> 42;
	bits -= (1023 - 15) << 10;
	if (magnitude < 0x3f10000000000000ull) /* 2^-14 */
		bits = gp_b64(gp_f64(magnitude) + 0x1p28) & 0x7ff;
	if (magnitude >= 0x40f0000000000000ull) /* 2^16 */
		bits = GP_HALF_INFINITE;
	if (magnitude > 0x7ff0000000000000ull)
		bits = GP_HALF_QUIET;
	return sign | bits;
}

GP_LANES_1(f32_from_f16)
GP_LANES_1(f16_from_f32)
GP_LANES_1(f16_from_f64)
