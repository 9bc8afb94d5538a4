/* SPDX-License-Identifier: BSD-3-Clause */
/* float.h - floats as bit patterns, for float.c, half.c and the mathematics (exp.c, log.c, trig.c, pow.c, fmod.c). */
#ifndef GPGPU_RT_FLOAT_H
#define GPGPU_RT_FLOAT_H

#include "mem.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

GP_ALWAYS float gp_f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

GP_ALWAYS uint64_t gp_b32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

GP_ALWAYS double gp_f64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

GP_ALWAYS uint64_t gp_b64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

#define GP_QUIET32 0x00400000u
#define GP_QUIET64 0x0008000000000000ull
#define GP_SIGN32  0x80000000u
#define GP_SIGN64  0x8000000000000000ull
#define GP_MASK32  0xffffffffu
#define GP_MASK64  0xffffffffffffffffull

/* Rounding functions of some machines and libraries pass signalling NaNs through. */
GP_ALWAYS uint64_t gp_quiet32(float f)
{
	return f == f ? gp_b32(f) : gp_b32(f) | GP_QUIET32;
}

GP_ALWAYS uint64_t gp_quiet64(double f)
{
	return f == f ? gp_b64(f) : gp_b64(f) | GP_QUIET64;
}

#endif
