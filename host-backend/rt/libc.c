/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libc.c - what generated code may call although nobody wrote the call; images have no undefined symbols.
 *
 * LLVM turns loops and large copies into calls of memcpy and its kin, and floating-point operations that the
 * target has no instruction for into calls of libm. In the bitcode these have their usual names, in the
 * native build gp_soft_*, so that tests can compare them with the C library's.
 */
#include <stddef.h>
#include <stdint.h>
#include "libc.h"

/* Loops here must not become calls of themselves. */
#ifdef __clang__
#define GP_NO_IDIOM __attribute__((no_builtin, used))
#else
#define GP_NO_IDIOM __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

GP_NO_IDIOM void *GP_LIBC(memcpy)(void *restrict to, const void *restrict from, size_t n)
{
	void *start = to;

#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
	uint8_t *d = to;
	const uint8_t *s = from;

	while (n--)
		*d++ = *s++;
#endif
	return start;
}

GP_NO_IDIOM void *GP_LIBC(memmove)(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if ((uintptr_t)d - (uintptr_t)s >= n)
		return GP_LIBC(memcpy)(to, from, n);
	/* Eight bytes at a time would write over what is still to be read where the distance is short. */
	while (n--) {
		d[n] = s[n];
		__asm__ volatile("" : : : "memory");
	}
	return to;
}

GP_NO_IDIOM void *GP_LIBC(memset)(void *to, int c, size_t n)
{
	void *start = to;

#if defined(__x86_64__)
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
#else
	uint8_t *d = to;

	while (n--)
		*d++ = (uint8_t)c;
#endif
	return start;
}

GP_NO_IDIOM int GP_LIBC(memcmp)(const void *a, const void *b, size_t n)
{
	const uint8_t *x = a, *y = b;
	size_t i;

	for (i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* --------------------------------------------------------------------- libm
 * Rounding to integers. From 2^mantissa on every number is one; below, the added and subtracted constant
 * makes the machine round (to nearest even, the only mode there is here).
 */
#define GP_ROUND(type, suffix, big)                                        \
	GP_NO_IDIOM type GP_LIBC(rint##suffix)(type x)                     \
	{                                                                  \
		type a = __builtin_fabs##suffix(x);                        \
		volatile type sum = a + big;                               \
                                                                           \
		if (!(a < big))                                            \
			return x == x ? x : x + x;                         \
		return __builtin_copysign##suffix(sum - big, x);           \
	}                                                                  \
                                                                           \
	GP_NO_IDIOM type GP_LIBC(trunc##suffix)(type x)                    \
	{                                                                  \
		type r = GP_LIBC(rint##suffix)(x);                         \
                                                                           \
		if (__builtin_fabs##suffix(r) > __builtin_fabs##suffix(x)) \
			r -= __builtin_copysign##suffix(1, x);             \
		return __builtin_copysign##suffix(r, x);                   \
	}                                                                  \
                                                                           \
	GP_NO_IDIOM type GP_LIBC(floor##suffix)(type x)                    \
	{                                                                  \
		type r = GP_LIBC(rint##suffix)(x);                         \
                                                                           \
		return r > x ? r - 1 : r;                                  \
	}                                                                  \
                                                                           \
	GP_NO_IDIOM type GP_LIBC(ceil##suffix)(type x)                     \
	{                                                                  \
		type r = GP_LIBC(rint##suffix)(x);                         \
                                                                           \
		return r < x ? __builtin_copysign##suffix(r + 1, x) : r;   \
	}

GP_ROUND(double, , 0x1p52)
GP_ROUND(float, f, 0x1p23f)

__extension__ typedef unsigned __int128 gp_u128;

/* A finite number as mantissa (53 bits where it is not 0) times 2^exponent. */
struct gp_parts {
	uint64_t mantissa;
	int exponent;
	int negative;
};

static uint64_t gp_bits(double x)
{
	union {
		double f;
		uint64_t u;
	} v = { .f = x };

	return v.u;
}

static double gp_double(uint64_t u)
{
	union {
		uint64_t u;
		double f;
	} v = { .u = u };

	return v.f;
}

static struct gp_parts gp_split(double x)
{
	uint64_t u = gp_bits(x);
	struct gp_parts p = { u & 0xfffffffffffffull, (int)(u >> 52 & 0x7ff), (int)(u >> 63) };

	if (p.exponent) {
		p.mantissa |= 1ull << 52;
	} else {
		p.exponent = 1;
		while (p.mantissa && !(p.mantissa >> 52)) {
			p.mantissa <<= 1;
			p.exponent--;
		}
	}
	p.exponent -= 1075;
	return p;
}

/* Rounds @m (not 0, bit 0 sticky) times 2^@e to the nearest double, ties to even. */
static double gp_join(gp_u128 m, int e, int negative)
{
	uint64_t top, half, sign = (uint64_t)negative << 63;
	int shift, len;

	len = (uint64_t)(m >> 64) ? 128 - __builtin_clzll((uint64_t)(m >> 64))
				  : 64 - __builtin_clzll((uint64_t)m);
	/* Bits to drop: down to 53, or to the place of the smallest denormal. */
	shift = len - 53;
	if (e + shift < -1074)
		shift = -1074 - e;
	if (shift <= 0) {
		top = (uint64_t)(m << -shift);
	} else if (shift > 126) {
		top = 0;
	} else {
		gp_u128 rest = m & (((gp_u128)1 << shift) - 1);
		gp_u128 mid = (gp_u128)1 << (shift - 1);

		top = (uint64_t)(m >> shift);
		half = rest > mid || (rest == mid && (top & 1));
		top += half;
	}
	e += shift;
	if (top >> 53) {
		top >>= 1;
		e++;
	}
	if (!(top >> 52))
		return gp_double(sign | top); /* denormal or 0: e is -1074 */
	if (e + 1075 >= 0x7ff)
		return gp_double(sign | 0x7ffull << 52);
	return gp_double(sign | (uint64_t)(e + 1075) << 52 | (top & 0xfffffffffffffull));
}

GP_NO_IDIOM double GP_LIBC(fma)(double x, double y, double z)
{
	struct gp_parts a, b, c;
	gp_u128 p, q, lost;
	int e, shift, negative;

	/* Not finite, or a zero: the plain operations are exact and give the right NaNs and signs. */
	if (!(x - x == 0 && y - y == 0) || x == 0 || y == 0)
		return x * y + z;
	if (z - z != 0)
		return z + z;
	a = gp_split(x);
	b = gp_split(y);
	c = gp_split(z);
	p = (gp_u128)a.mantissa * b.mantissa;
	e = a.exponent + b.exponent;
	negative = a.negative ^ b.negative;
	if (!c.mantissa)
		return gp_join(p, e, negative);

	/* p below 2^106; both moved up by 20, so that what is shifted out below only decides ties. */
	p <<= 20;
	e -= 20;
	q = c.mantissa;
	shift = c.exponent - e;
	if (shift > 126 - 53) {
		/* The sum is far above the product, which is then only a sticky bit, or nearly. */
		q <<= 126 - 53;
		shift -= 126 - 53;
		lost = shift > 127 ? p : p & (((gp_u128)1 << shift) - 1);
		p = (shift > 127 ? 0 : p >> shift) | (lost != 0);
		e += shift;
	} else if (shift >= 0) {
		q <<= shift;
	} else {
		shift = -shift;
		lost = shift > 127 ? q : q & (((gp_u128)1 << shift) - 1);
		q = (shift > 127 ? 0 : q >> shift) | (lost != 0);
	}
	if (negative == c.negative) {
		p += q;
	} else if (p >= q) {
		p -= q;
	} else {
		p = q - p;
		negative = c.negative;
	}
	if (!p)
		return 0;
	return gp_join(p, e, negative);
}

/* The product is exact in double; rounding the sum to odd makes the second rounding harmless. */
GP_NO_IDIOM float GP_LIBC(fmaf)(float x, float y, float z)
{
	double p = (double)x * y, sum = p + z, low, err;
	uint64_t bits = gp_bits(sum);

	if (!(sum - sum == 0))
		return (float)sum;
	/* What the addition lost, exactly (Knuth). */
	low = sum - p;
	err = (p - (sum - low)) + (z - low);
	if (err != 0 && !(bits & 1))
		bits += (err > 0) == (sum > 0) ? 1 : -1;
	return (float)gp_double(bits);
}
