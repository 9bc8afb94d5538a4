/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - helpers for the lanes of a vector: gp_simd_NAME() is gp_helper_NAME() for GP_SIMD words in memory each.
 *
 * Stands behind the helpers, which inline, so that the loop becomes vectors where the compiler finds a way. Only for
 * compiled kernels on a processor (jit/simd.h).
 */
#ifndef GPGPU_RT_LANES_H
#define GPGPU_RT_LANES_H

#include "rt.h"

#if defined(GP_RT_BITCODE) && !defined(GP_RT_GPU)

/* Unrolled first, nothing would see that it is a vector. */
#define GP_AS_VECTOR _Pragma("clang loop unroll(disable)")

#define GP_LANES_1(name)                                                        \
	void gp_simd_##name(uint64_t *restrict to, const uint64_t *restrict a); \
	void gp_simd_##name(uint64_t *restrict to, const uint64_t *restrict a)  \
	{                                                                       \
		uint32_t i;                                                     \
                                                                                \
		GP_AS_VECTOR                                                    \
		for (i = 0; i < GP_SIMD; i++)                                   \
			to[i] = (uint64_t)gp_helper_##name(NULL, a[i]);         \
	}

#define GP_LANES_2(name)                                                                                    \
	void gp_simd_##name(uint64_t *restrict to, const uint64_t *restrict a, const uint64_t *restrict b); \
	void gp_simd_##name(uint64_t *restrict to, const uint64_t *restrict a, const uint64_t *restrict b)  \
	{                                                                                                   \
		uint32_t i;                                                                                 \
                                                                                                            \
		GP_AS_VECTOR                                                                                \
		for (i = 0; i < GP_SIMD; i++)                                                               \
			to[i] = (uint64_t)gp_helper_##name(NULL, a[i], b[i]);                               \
	}

#else
#define GP_LANES_1(name)
#define GP_LANES_2(name)
#endif

#endif
