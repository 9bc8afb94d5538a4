/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * math.h - what gpgpu-cc knows of <math.h>; error bounds are in docs/floats.md, and rules for special values.
 *
 * A function that is missing here is missing on devices. rsqrt() is not C's.
 */
#ifndef GPGPU_CC_MATH_H
#define GPGPU_CC_MATH_H

#define GP_MATH1(name)         \
	double name(double x); \
	float name##f(float x)
#define GP_MATH2(name)                   \
	double name(double x, double y); \
	float name##f(float x, float y)

GP_MATH1(sqrt);
GP_MATH1(rsqrt); /* 1 / sqrt(x), rounded better */
GP_MATH1(exp);
GP_MATH1(exp2);
GP_MATH1(log);
GP_MATH1(log2);
GP_MATH1(sin);
GP_MATH1(cos);
GP_MATH2(pow);
GP_MATH2(fmod);
GP_MATH2(fmin);
GP_MATH2(fmax);
GP_MATH1(floor);
GP_MATH1(ceil);
GP_MATH1(trunc);
GP_MATH1(rint);
GP_MATH1(nearbyint);
GP_MATH1(round);
GP_MATH1(fabs);
GP_MATH2(copysign);
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);

#undef GP_MATH1
#undef GP_MATH2

#define HUGE_VAL	     __builtin_huge_val()
#define HUGE_VALF	     __builtin_huge_valf()
#define INFINITY	     __builtin_inff()
#define NAN		     __builtin_nanf("")

#define isnan(x)	     __builtin_isnan(x)
#define isinf(x)	     __builtin_isinf(x)
#define isfinite(x)	     __builtin_isfinite(x)
#define isnormal(x)	     __builtin_isnormal(x)
#define signbit(x)	     (__builtin_copysign(1.0, (x)) < 0)

#define isgreater(x, y)	     __builtin_isgreater(x, y)
#define isgreaterequal(x, y) __builtin_isgreaterequal(x, y)
#define isless(x, y)	     __builtin_isless(x, y)
#define islessequal(x, y)    __builtin_islessequal(x, y)
#define islessgreater(x, y)  __builtin_islessgreater(x, y)
#define isunordered(x, y)    __builtin_isunordered(x, y)

#define M_E		     2.7182818284590452354
#define M_LOG2E		     1.4426950408889634074
#define M_LOG10E	     0.43429448190325182765
#define M_LN2		     0.69314718055994530942
#define M_LN10		     2.30258509299404568402
#define M_PI		     3.14159265358979323846
#define M_PI_2		     1.57079632679489661923
#define M_PI_4		     0.78539816339744830962
#define M_1_PI		     0.31830988618379067154
#define M_2_PI		     0.63661977236758134308
#define M_2_SQRTPI	     1.12837916709551257390
#define M_SQRT2		     1.41421356237309504880
#define M_SQRT1_2	     0.70710678118654752440

#endif
