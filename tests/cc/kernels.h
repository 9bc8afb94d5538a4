/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.h - what kernels.c is compiled with: for BPF by gpgpu-cc, and for this machine as its own twin.
 *
 * What C leaves open has to be the same on both sides: conversions of what does not fit are macros here, which are casts for
 * gpgpu-cc and functions that saturate otherwise. Mathematical functions of the twin are the run-time library's.
 */
#ifndef TESTS_CC_KERNELS_H
#define TESTS_CC_KERNELS_H

/* Every kernel takes the same: pairs of floats and doubles, and room for results of each type. */
struct arguments {
	const float *a, *b;
	const double *c, *d;
	float *f; /* WIDTH of each for a work item */
	double *e;
	long long *i;
	unsigned short *h; /* halves */
#ifdef __bpf__
	float s GP_SLOT;
	double t;
	int n GP_SLOT;
#else
	float s __attribute__((aligned(8)));
	double t;
	int n __attribute__((aligned(8)));
#endif
};

#define WIDTH 32

typedef signed char schar;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long slong;
typedef unsigned long long ulong_;

#ifdef __bpf__
#define KERNEL(name)	    __attribute__((section("gpgpu/" #name), used)) int name(struct arguments *arg)
#define ITEM()		    ((int)gp_global_id(0))
#define TO(type, x)	    ((type)(x))
#define FETCH_ADD(p, v)	    __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
#define FETCH_SUB(p, v)	    __atomic_fetch_sub(p, v, __ATOMIC_RELAXED)
#define ADD_FETCH(p, v)	    __atomic_add_fetch(p, v, __ATOMIC_ACQ_REL)
#define EXCHANGE(p, v, old) __atomic_exchange(p, v, old, __ATOMIC_SEQ_CST)
#else
#define KERNEL(name) static int name(struct arguments *arg)
extern __thread int twin_item;
#define ITEM()	     (twin_item)

/* One item after the other. */
#define TWIN_ATOMIC(name, type, result)                                                       \
	static inline __attribute__((unused)) type twin_##name##_##type(type *at, type value) \
	{                                                                                     \
		type old = *at;                                                               \
                                                                                              \
		*at = (result);                                                               \
		return old;                                                                   \
	}
TWIN_ATOMIC(add, float, old + value)
TWIN_ATOMIC(sub, float, old - value)
TWIN_ATOMIC(min, float, fminf(old, value))
TWIN_ATOMIC(max, float, fmaxf(old, value))
TWIN_ATOMIC(add, double, old + value)
TWIN_ATOMIC(sub, double, old - value)
TWIN_ATOMIC(min, double, fmin(old, value))
TWIN_ATOMIC(max, double, fmax(old, value))

#define OF_TYPE(p, name)     _Generic(*(p), float: twin_##name##_float, double: twin_##name##_double)
#define FETCH_ADD(p, v)	     OF_TYPE(p, add)(p, v)
#define FETCH_SUB(p, v)	     OF_TYPE(p, sub)(p, v)
#define ADD_FETCH(p, v)	     (OF_TYPE(p, add)(p, v) + (v))
#define EXCHANGE(p, v, old)  (*(old) = *(p), *(p) = *(v))
#define gp_atomic_add_float  twin_add_float
#define gp_atomic_min_float  twin_min_float
#define gp_atomic_max_float  twin_max_float
#define gp_atomic_add_double twin_add_double
#define gp_atomic_min_double twin_min_double
#define gp_atomic_max_double twin_max_double

/* The nearest number of a type that is no wider than long long. */
static inline long long twin_signed(double x, double low, double high)
{
	if (x != x)
		return 0;
	if (x <= low)
		return (long long)low;
	return x >= high ? (long long)high : (long long)x;
}

#define TO(type, x)	     twin_to_##type((double)(x))
#define TWIN_TO(type, low, high)                                            \
	static inline __attribute__((unused)) type twin_to_##type(double x) \
	{                                                                   \
		return (type)twin_signed(x, low, high);                     \
	}
TWIN_TO(schar, -128, 127)
TWIN_TO(uchar, 0, 255)
TWIN_TO(short, -32768, 32767)
TWIN_TO(ushort, 0, 65535)
TWIN_TO(int, -2147483648.0, 2147483647.0)
TWIN_TO(uint, 0, 4294967295.0)

static inline __attribute__((unused)) slong twin_to_slong(double x)
{
	if (x != x)
		return 0;
	if (x >= 0x1p63)
		return 0x7fffffffffffffffll;
	return x < -0x1p63 ? -0x7fffffffffffffffll - 1 : (slong)x;
}

static inline __attribute__((unused)) ulong_ twin_to_ulong_(double x)
{
	if (!(x > 0))
		return 0;
	return x >= 0x1p64 ? ~0ull : (ulong_)x;
}
#endif

#endif
