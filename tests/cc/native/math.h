/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * math.h - for the twin of kernels.c: the C library's functions where they are exact, the run-time library's where they have an
 * error, so that equal bits can be asked for.
 */
#ifndef TESTS_CC_MATH_H
#define TESTS_CC_MATH_H

#include_next <math.h>
#include <string.h>
#include "rt/rt.h"

#define TWIN_MATH(name)                                                     \
	static inline __attribute__((unused)) double twin_##name(double x)  \
	{                                                                   \
		unsigned long long u;                                       \
                                                                            \
		memcpy(&u, &x, 8);                                          \
		u = gp_helper_##name##64(NULL, u);                          \
		memcpy(&x, &u, 8);                                          \
		return x;                                                   \
	}                                                                   \
	static inline __attribute__((unused)) float twin_##name##f(float x) \
	{                                                                   \
		unsigned int u;                                             \
                                                                            \
		memcpy(&u, &x, 4);                                          \
		u = (unsigned int)gp_helper_##name##32(NULL, u);            \
		memcpy(&x, &u, 4);                                          \
		return x;                                                   \
	}

TWIN_MATH(rsqrt)
TWIN_MATH(exp)
TWIN_MATH(exp2)
TWIN_MATH(log)
TWIN_MATH(log2)
TWIN_MATH(sin)
TWIN_MATH(cos)

static inline double twin_pow(double x, double y)
{
	unsigned long long u, v;

	memcpy(&u, &x, 8);
	memcpy(&v, &y, 8);
	u = gp_helper_pow64(NULL, u, v);
	memcpy(&x, &u, 8);
	return x;
}

static inline float twin_powf(float x, float y)
{
	unsigned int u, v;

	memcpy(&u, &x, 4);
	memcpy(&v, &y, 4);
	u = (unsigned int)gp_helper_pow32(NULL, u, v);
	memcpy(&x, &u, 4);
	return x;
}

/* The C library's says nothing of the order of zeros. */
#define TWIN_MINMAX(name, type, bits)                                                         \
	static inline type twin_##name(type x, type y)                                        \
	{                                                                                     \
		uint##bits##_t u, v;                                                          \
                                                                                              \
		memcpy(&u, &x, sizeof(x));                                                    \
		memcpy(&v, &y, sizeof(y));                                                    \
		if (x == y)                                                                   \
			u = #name[2] == 'i' ? u | v : u & v;                                  \
		else                                                                          \
			return #name[2] == 'i' ? __builtin_fmin(x, y) : __builtin_fmax(x, y); \
		memcpy(&x, &u, sizeof(x));                                                    \
		return x;                                                                     \
	}

TWIN_MINMAX(fmin, double, 64)
TWIN_MINMAX(fmax, double, 64)
TWIN_MINMAX(fminf, float, 32)
TWIN_MINMAX(fmaxf, float, 32)

#define rsqrt  twin_rsqrt
#define rsqrtf twin_rsqrtf
#define exp    twin_exp
#define expf   twin_expf
#define exp2   twin_exp2
#define exp2f  twin_exp2f
#define log    twin_log
#define logf   twin_logf
#define log2   twin_log2
#define log2f  twin_log2f
#define sin    twin_sin
#define sinf   twin_sinf
#define cos    twin_cos
#define cosf   twin_cosf
#define pow    twin_pow
#define powf   twin_powf
#define fmin   twin_fmin
#define fminf  twin_fminf
#define fmax   twin_fmax
#define fmaxf  twin_fmaxf

#endif
