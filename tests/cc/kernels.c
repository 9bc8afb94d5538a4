// SPDX-License-Identifier: BSD-3-Clause
/*
 * kernels.c - C with floating point, each kernel for one part of what gpgpu-cc translates. Compiled twice (kernels.h):
 * test_cc.c compares what both make of the same numbers, bit by bit.
 */
#include <math.h>
#ifdef __bpf__
#include "gpgpu_bpf.h"
#endif
#include "kernels.h"

/* --------------------------------------------------------------- operators */

KERNEL(arithmetic)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double c = arg->c[k], d = arg->d[k], *e = arg->e + k * WIDTH;

	f[0] = a + b;
	f[1] = a - b;
	f[2] = a * b;
	f[3] = a / b;
	f[4] = -a;
	f[5] = a * b + a;
	f[6] = (a + 1.5f) * (b - 0x1p-149f);
	f[7] = a * arg->s;
	f[8] = (float)c;
	f[9] = (float)(c * d);
	e[0] = c + d;
	e[1] = c - d;
	e[2] = c * d;
	e[3] = c / d;
	e[4] = -c;
	e[5] = c * d - c;
	e[6] = a;
	e[7] = (double)a * b + c;
	e[8] = c * arg->t;
	return 0;
}

KERNEL(comparisons)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k];
	double c = arg->c[k], d = arg->d[k];
	long long *i = arg->i + k * WIDTH;

	i[0] = a == b;
	i[1] = a != b;
	i[2] = a < b;
	i[3] = a <= b;
	i[4] = a > b;
	i[5] = a >= b;
	i[6] = !(a < b);
	i[7] = !(a <= b);
	i[8] = !(a > b);
	i[9] = !(a >= b);
	i[10] = __builtin_isunordered(a, b);
	i[11] = !__builtin_isunordered(a, b);
	i[12] = __builtin_islessgreater(a, b);
	i[13] = !__builtin_islessgreater(a, b);
	i[14] = c == d;
	i[15] = c != d;
	i[16] = c < d;
	i[17] = c <= d;
	i[18] = c > d;
	i[19] = c >= d;
	i[20] = !(c < d);
	i[21] = !(c >= d);
	i[22] = __builtin_isunordered(c, d);
	i[23] = __builtin_islessgreater(c, d);
	i[24] = !__builtin_islessgreater(c, d);
	i[25] = a ? 3 : 5;
	i[26] = (a < b) + 2 * (c < d);
	i[27] = a < 1 && b > 0 && c == d;
	return 0;
}

KERNEL(classes)
{
	int k = ITEM();
	float a = arg->a[k];
	double c = arg->c[k];
	long long *i = arg->i + k * WIDTH;

	i[0] = __builtin_isnan(a);
	i[1] = __builtin_isinf(a) != 0;
	i[2] = __builtin_isfinite(a);
	i[3] = __builtin_isnormal(a);
	i[4] = signbit(a) != 0;
	i[5] = __builtin_isinf_sign(a);
	i[6] = __builtin_fpclassify(0, 1, 2, 3, 4, a);
	i[7] = __builtin_isnan(c);
	i[8] = __builtin_isinf(c) != 0;
	i[9] = __builtin_isfinite(c);
	i[10] = __builtin_isnormal(c);
	i[11] = signbit(c) != 0;
	i[12] = __builtin_fpclassify(0, 1, 2, 3, 4, c);
	return 0;
}

/* -------------------------------------------------------------- conversions */

KERNEL(to_integers)
{
	int k = ITEM();
	float a = arg->a[k];
	double c = arg->c[k];
	long long *i = arg->i + k * WIDTH;

	i[0] = TO(schar, a);
	i[1] = TO(uchar, a);
	i[2] = TO(short, a);
	i[3] = TO(ushort, a);
	i[4] = TO(int, a);
	i[5] = TO(uint, a);
	i[6] = TO(slong, a);
	i[7] = (long long)TO(ulong_, a);
	i[8] = TO(schar, c);
	i[9] = TO(uchar, c);
	i[10] = TO(short, c);
	i[11] = TO(ushort, c);
	i[12] = TO(int, c);
	i[13] = TO(uint, c);
	i[14] = TO(slong, c);
	i[15] = (long long)TO(ulong_, c);
	i[16] = (_Bool)a;
	i[17] = (_Bool)c;
	return 0;
}

KERNEL(from_integers)
{
	int k = ITEM();
	unsigned long long u;
	float *f = arg->f + k * WIDTH;
	double *e = arg->e + k * WIDTH;

	/* Bits of the input are as good as any. */
	__builtin_memcpy(&u, &arg->c[k], sizeof(u));
	f[0] = (schar)u;
	f[1] = (uchar)u;
	f[2] = (short)u;
	f[3] = (ushort)u;
	f[4] = (float)(int)u;
	f[5] = (float)(uint)u;
	f[6] = (float)(long long)u;
	f[7] = (float)u;
	f[8] = (float)(u >> 63);
	e[0] = (schar)u;
	e[1] = (uchar)u;
	e[2] = (short)u;
	e[3] = (ushort)u;
	e[4] = (int)u;
	e[5] = (uint)u;
	e[6] = (double)(long long)u;
	e[7] = (double)u;
	return 0;
}

KERNEL(halves)
{
	int k = ITEM();
	unsigned short *h = arg->h + k * WIDTH;
	float *f = arg->f + k * WIDTH;

#ifdef __bpf__
	__fp16 *p = (__fp16 *)h;
#else
	_Float16 *p = (_Float16 *)h; /* arithmetic in float, as that of __fp16 */
#endif

	p[0] = arg->a[k];
	p[1] = arg->c[k];
	f[0] = (float)p[0];
	f[1] = (float)p[1] * 3 + (float)p[0];
	p[2] = f[1];
	/* Bits of the input as a half. */
	h[3] = (unsigned short)k * 31;
	f[2] = (float)p[3];
	return 0;
}

/* ------------------------------------------------------------------ control */

/* Phis, also of values that go round twice, and switches that come to one place from several. */
KERNEL(loops)
{
	int k = ITEM(), n = arg->n;
	float x = arg->a[k], y = arg->b[k], last = 1;
	double sum = 0, best = -1e300;
	float *f = arg->f + k * WIDTH;
	double *e = arg->e + k * WIDTH;

	for (int j = 0; j < n; j++) {
		float t = x;

		x = y;
		y = t * 0.75f + last;
		last = j & 1 ? x : -y;
		sum += (double)x / (j + 1);
		if (sum > best)
			best = sum;
		if (y > 1e30f)
			break;
	}
	f[0] = x;
	f[1] = y;
	f[2] = last;
	e[0] = sum;
	e[1] = best;
	switch (k % 7) {
	case 0:
	case 3:
		x = 1;
		break;
	case 1:
		x = y;
		break;
	case 2:
	case 5:
		x = -x;
		break;
	default:
		x += y;
	}
	f[3] = x;
	f[4] = k % 3 ? x : y;
	f[5] = x < y ? x : y;
	f[6] = (x < y ? 2.5f : last) * 2;
	while (x > 0.5f && x < 1e6f)
		x = x * 0.5f - 0.125f;
	f[7] = x;
	return 0;
}

/* ---------------------------------------------------------------- functions */

static __attribute__((noinline)) float mix(float a, float b, float t)
{
	return a + (b - a) * t;
}

static __attribute__((noinline)) double widen(float a, double b, int n)
{
	double r = b;

	for (int j = 0; j < n; j++)
		r = r * 0.5 + (double)a;
	return r;
}

static __attribute__((noinline)) _Bool above(double a, float b)
{
	return a > (double)b;
}

/* Too many for BPF, which has five registers for arguments. */
static __attribute__((noinline)) float six(float a, float b, float c, float d, float e, float f)
{
	return a * b + c * d + e * f;
}

/* A name of math.h's, but the user's own function. */
static __attribute__((noinline)) float own_round(float x)
{
	return x < 0 ? x - 1 : x + 1;
}

KERNEL(functions)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double c = arg->c[k], *e = arg->e + k * WIDTH;

	f[0] = mix(a, b, 0.25f);
	f[1] = mix(b, a, arg->s);
	e[0] = widen(a, c, arg->n);
	e[1] = widen(b, arg->t, 3);
	arg->i[k * WIDTH] = above(c, a) + 2 * above(arg->d[k], b);
	f[2] = six(a, b, 1, 2, b, a);
	f[3] = own_round(a);
	return 0;
}

/* ------------------------------------------------------------------- vectors */

typedef float float4 __attribute__((vector_size(16)));
typedef double double2 __attribute__((vector_size(16)));
typedef int int4 __attribute__((vector_size(16)));

static __attribute__((noinline)) float4 twice_and_one(float4 v)
{
	return v + v + 1.0f;
}

KERNEL(vectors)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double *e = arg->e + k * WIDTH;
	float4 v = { a, b, a + b, 1 }, w = { b, 2, a, -b }, r;
	double2 p = { arg->c[k], arg->d[k] }, q = { 2, arg->t };
	int4 less = v < w;

	r = v * w - v / w;
	*(float4 *)f = r;
	*(float4 *)(f + 4) = -r + 0.5f;
	*(float4 *)(f + 8) = twice_and_one(w);
	f[12] = r[0] + r[3];
	f[13] = v[k & 3];
	v[k & 3] = 7;
	*(float4 *)(f + 16) = v;
	*(double2 *)e = p * q + p;
	*(double2 *)(e + 2) =
		__builtin_convertvector(*(const float __attribute__((vector_size(8))) *)f, double2);
	for (int j = 0; j < 4; j++)
		arg->i[k * WIDTH + j] = less[j];
	for (int j = 0; j < arg->n; j++)
		w = w * 0.5f + v;
	*(float4 *)(f + 20) = w;
	return 0;
}

/* ---------------------------------------------------------------- structures */

struct point {
	float x, y;
	double weight;
	short tag;
	float more[3];
};

static const float table[8] = { 1, -2.5f, 0x1p-149f, 3e38f, 0, -0.0f, 7, 1e-3f };
static const struct point origin = { 1.5f, -1.5f, 2.25, 9, { 1, 2, 3 } };

static struct point moved(struct point p, float by)
{
	p.x += by;
	p.more[1] *= by;
	p.weight /= 3;
	return p;
}

KERNEL(structures)
{
	int k = ITEM();
	struct point p = origin, q;
	float local[4] = { arg->a[k], arg->b[k], 1, 2 };
	float *f = arg->f + k * WIDTH;
	struct point *to = (struct point *)(f + 8);
	union {
		float f;
		uint u;
	} bits = { .f = arg->a[k] };

	p.y = arg->b[k];
	q = moved(p, arg->a[k]);
	f[0] = q.x;
	f[1] = q.y;
	f[2] = q.more[1];
	f[3] = table[k & 7] * 2;
	f[4] = local[k & 3];
	local[(k + 1) & 3] = q.x;
	f[5] = local[0] + local[1] + local[2] + local[3];
	arg->e[k * WIDTH] = q.weight;
	arg->i[k * WIDTH] = bits.u & 0x7fffff;
	bits.u ^= 0x80000000;
	f[6] = bits.f;
	/* Member by member: what is between them stays. */
	to->x = q.x;
	to->y = q.y;
	to->weight = q.weight;
	to->tag = q.tag;
	to->more[2] = q.more[2];
	return 0;
}

/* --------------------------------------------------------------- mathematics */

KERNEL(exact_math)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double c = arg->c[k], d = arg->d[k], *e = arg->e + k * WIDTH;

	f[0] = sqrtf(a);
	f[1] = floorf(a);
	f[2] = ceilf(a);
	f[3] = truncf(a);
	f[4] = rintf(a);
	f[5] = nearbyintf(a);
	f[6] = roundf(a);
	f[7] = fabsf(a);
	f[8] = copysignf(a, b);
	f[9] = fmaf(a, b, 1.5f);
	f[10] = fminf(a, b);
	f[11] = fmaxf(a, b);
	f[12] = fmodf(a, b);
	f[13] = __builtin_sqrtf(b);
	f[14] = __builtin_fabsf(b) + __builtin_floorf(b);
	e[0] = sqrt(c);
	e[1] = floor(c);
	e[2] = ceil(c);
	e[3] = trunc(c);
	e[4] = rint(c);
	e[5] = nearbyint(c);
	e[6] = round(c);
	e[7] = fabs(c);
	e[8] = copysign(c, d);
	e[9] = fma(c, d, 1.5);
	e[10] = fmin(c, d);
	e[11] = fmax(c, d);
	e[12] = fmod(c, d);
	return 0;
}

KERNEL(inexact_math)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double c = arg->c[k], d = arg->d[k], *e = arg->e + k * WIDTH;

	f[0] = rsqrtf(a);
	f[1] = expf(a);
	f[2] = exp2f(a);
	f[3] = logf(a);
	f[4] = log2f(a);
	f[5] = sinf(a);
	f[6] = cosf(a);
	f[7] = powf(a, b);
	f[8] = powf(b, a);
	e[0] = rsqrt(c);
	e[1] = exp(c);
	e[2] = exp2(c);
	e[3] = log(c);
	e[4] = log2(c);
	e[5] = sin(c);
	e[6] = cos(c);
	e[7] = pow(c, d);
	e[8] = pow(d, c);
	/* Nothing is folded by this machine's library. */
	f[9] = sinf(1) + expf(1) + logf(3) + powf(2.5f, 1.5f);
	e[9] = sin(1) + exp(1) + log(3) + pow(2.5, 1.5);
	return 0;
}

/* Each item in a place of its own, so that the order is known. */
KERNEL(atomics)
{
	int k = ITEM();
	float a = arg->a[k], b = arg->b[k], *f = arg->f + k * WIDTH;
	double c = arg->c[k], d = arg->d[k], *e = arg->e + k * WIDTH;

	for (int n = 0; n < 8; n++) {
		f[n] = a;
		e[n] = c;
	}
	f[8] = FETCH_ADD(&f[0], b);
	f[9] = FETCH_SUB(&f[1], b);
	f[10] = ADD_FETCH(&f[2], b);
	EXCHANGE(&f[3], &b, &f[11]);
	f[12] = gp_atomic_add_float(&f[4], b);
	f[13] = gp_atomic_min_float(&f[5], b);
	f[14] = gp_atomic_max_float(&f[6], b);
	e[8] = FETCH_ADD(&e[0], d);
	e[9] = FETCH_SUB(&e[1], d);
	e[10] = ADD_FETCH(&e[2], d);
	EXCHANGE(&e[3], &d, &e[11]);
	e[12] = gp_atomic_add_double(&e[4], d);
	e[13] = gp_atomic_min_double(&e[5], d);
	e[14] = gp_atomic_max_double(&e[6], d);
	return 0;
}

#ifndef __bpf__
#include "twin.h"

const struct twin twins[] = {
	{ "arithmetic", arithmetic },
	{ "comparisons", comparisons },
	{ "classes", classes },
	{ "to_integers", to_integers },
	{ "from_integers", from_integers },
	{ "halves", halves },
	{ "loops", loops },
	{ "functions", functions },
	{ "vectors", vectors },
	{ "structures", structures },
	{ "exact_math", exact_math },
	{ "inexact_math", inexact_math },
	{ "atomics", atomics },
};
const int num_twins = sizeof(twins) / sizeof(*twins);
#endif
