/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_float.c - floating-point helpers against the C library and long double, on the values where things go
 * wrong: zeros of both signs, denormals, halves, the ends of every range, infinities, quiet and
 * signalling NaNs, and random patterns. Also the software stand-ins for libm. Part of test_rt.
 */
#include <check.h>
#include <glib.h>
#include <math.h>
#include <string.h>
#include "rt/libc.h"
#include "rt/rt.h"

Suite *float_suite(void);

static const uint32_t edge32[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x3f000000,
	0xbf000000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3fc00000, 0x40200000, 0x4b000000, 0x4b000001,
	0x4affffff, 0xcb000001, 0x5effffff, 0x5f000000, 0xdf000000, 0xdf000001, 0x5f7fffff, 0x5f800000,
	0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffa00000,
};

static const uint64_t edge64[] = {
	0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001, 0x000fffffffffffff,
	0x0010000000000000, 0x0010000000000001, 0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
	0xbff0000000000000, 0x3ff0000000000001, 0x3ff8000000000000, 0x4004000000000000, 0x4330000000000000,
	0x4330000000000001, 0x432fffffffffffff, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000,
	0xc3e0000000000001, 0x43efffffffffffff, 0x43f0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001, 0x7ff0000000000001,
	0xfff4000000000000, 0x36a0000000000000, 0x3690000000000000, 0x47efffffe0000000, 0x47efffffefffffff,
};

static float f32(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, 4);
	return f;
}

static double f64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, 8);
	return f;
}

static uint64_t b32(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return bits;
}

static uint64_t b64(double f)
{
	uint64_t bits;

	memcpy(&bits, &f, 8);
	return bits;
}

/* What a result must be: these bits, or any quiet NaN. The high half of an f32 is zero. */
static void same32(uint64_t got, float want, const char *what, uint64_t a, uint64_t b)
{
	bool ok = want != want ? (got & ~0x803fffffull) == 0x7fc00000 : got == b32(want);

	if (!ok)
		ck_abort_msg("%s(%#lx, %#lx): %#lx, not %#lx", what, a, b, got, b32(want));
}

static void same64(uint64_t got, double want, const char *what, uint64_t a, uint64_t b)
{
	bool ok = want != want ? (got & 0x7ff8000000000000) == 0x7ff8000000000000 : got == b64(want);

	if (!ok)
		ck_abort_msg("%s(%#lx, %#lx): %#lx, not %#lx", what, a, b, got, b64(want));
}

static void same_int(uint64_t got, uint64_t want, const char *what, uint64_t a, uint64_t b)
{
	if (got != want)
		ck_abort_msg("%s(%#lx, %#lx): %#lx, not %#lx", what, a, b, got, want);
}

/* Random patterns, half of them near one another, so that sums cancel; high halves hold rubbish. */
static uint64_t random32(uint32_t n)
{
	uint64_t high = (uint64_t)g_random_int() << 32;

	if (n % 3 == 0)
		return high | edge32[g_random_int() % G_N_ELEMENTS(edge32)];
	if (n % 3 == 1)
		return high | (g_random_int() & 0x81ffffff) | 0x3e000000;
	return high | g_random_int();
}

static uint64_t random64(uint32_t n)
{
	uint64_t r = (uint64_t)g_random_int() << 32 | g_random_int();

	if (n % 3 == 0)
		return edge64[g_random_int() % G_N_ELEMENTS(edge64)];
	if (n % 3 == 1)
		return (r & 0x803fffffffffffff) | 0x3fc0000000000000;
	return r;
}

/* IEEE 754 minimumNumber, for what the header promises. */
#define MINMAX(bits, type)                                       \
	static type min##bits(type a, type b)                    \
	{                                                        \
		if (isnan(a) || isnan(b))                        \
			return isnan(a) ? b : a;                 \
		return a < b || (a == b && signbit(a)) ? a : b;  \
	}                                                        \
                                                                 \
	static type max##bits(type a, type b)                    \
	{                                                        \
		if (isnan(a) || isnan(b))                        \
			return isnan(a) ? b : a;                 \
		return a > b || (a == b && !signbit(a)) ? a : b; \
	}

MINMAX(32, float)
MINMAX(64, double)

/* Operands through volatile, so that the expected value is the machine's and not a constant folder's. */
#define ARITHMETIC(bits, type, suffix)                                                                     \
	static void arithmetic##bits(uint64_t a, uint64_t b, uint64_t c)                                   \
	{                                                                                                  \
		volatile type x = f##bits(a), y = f##bits(b), z = f##bits(c);                              \
		struct gp_lane lane = { 0 };                                                               \
                                                                                                           \
		same##bits(gp_helper_fadd##bits(&lane, a, b), x + y, "fadd", a, b);                        \
		same##bits(gp_helper_fsub##bits(&lane, a, b), x - y, "fsub", a, b);                        \
		same##bits(gp_helper_fmul##bits(&lane, a, b), x *y, "fmul", a, b);                         \
		same##bits(gp_helper_fdiv##bits(&lane, a, b), x / y, "fdiv", a, b);                        \
		same##bits(gp_helper_fma##bits(&lane, a, b, c), fma##suffix(x, y, z), "fma", a, b);        \
		same##bits(gp_helper_sqrt##bits(&lane, a), sqrt##suffix(x), "sqrt", a, 0);                 \
		same##bits(gp_helper_fabs##bits(&lane, a), fabs##suffix(x), "fabs", a, 0);                 \
		same##bits(gp_helper_floor##bits(&lane, a), floor##suffix(x), "floor", a, 0);              \
		same##bits(gp_helper_ceil##bits(&lane, a), ceil##suffix(x), "ceil", a, 0);                 \
		same##bits(gp_helper_trunc##bits(&lane, a), trunc##suffix(x), "trunc", a, 0);              \
		same##bits(gp_helper_rint##bits(&lane, a), rint##suffix(x), "rint", a, 0);                 \
		same##bits(gp_helper_fmin##bits(&lane, a, b), min##bits(x, y), "fmin", a, b);              \
		same##bits(gp_helper_fmax##bits(&lane, a, b), max##bits(x, y), "fmax", a, b);              \
		same_int(gp_helper_flt##bits(&lane, a, b), x < y, "flt", a, b);                            \
		same_int(gp_helper_fle##bits(&lane, a, b), x <= y, "fle", a, b);                           \
		same_int(gp_helper_feq##bits(&lane, a, b), x == y, "feq", a, b);                           \
	/* and the stand-ins */                                                                    \
		same##bits(b##bits(gp_soft_fma##suffix(x, y, z)), fma##suffix(x, y, z), "soft fma", a, b); \
		same##bits(b##bits(gp_soft_floor##suffix(x)), floor##suffix(x), "soft floor", a, 0);       \
		same##bits(b##bits(gp_soft_ceil##suffix(x)), ceil##suffix(x), "soft ceil", a, 0);          \
		same##bits(b##bits(gp_soft_trunc##suffix(x)), trunc##suffix(x), "soft trunc", a, 0);       \
		same##bits(b##bits(gp_soft_rint##suffix(x)), rint##suffix(x), "soft rint", a, 0);          \
	}

ARITHMETIC(32, float, f)
ARITHMETIC(64, double, )

START_TEST(test_edges)
{
	size_t i, j, k;

	for (i = 0; i < G_N_ELEMENTS(edge32); i++)
		for (j = 0; j < G_N_ELEMENTS(edge32); j++)
			for (k = 0; k < G_N_ELEMENTS(edge32); k++)
				arithmetic32(edge32[i], edge32[j], edge32[k]);
	for (i = 0; i < G_N_ELEMENTS(edge64); i++)
		for (j = 0; j < G_N_ELEMENTS(edge64); j++)
			for (k = 0; k < G_N_ELEMENTS(edge64); k++)
				arithmetic64(edge64[i], edge64[j], edge64[k]);
}
END_TEST

START_TEST(test_random)
{
	uint32_t n;

	for (n = 0; n < 300000; n++) {
		arithmetic32(random32(n), random32(n / 3), random32(n / 9));
		arithmetic64(random64(n), random64(n / 3), random64(n / 9));
	}
}
END_TEST

/* A product and nearly its negative: what tells a fused operation from two. */
START_TEST(test_fused)
{
	struct gp_lane lane = { 0 };
	uint32_t n, fused = 0;

	for (n = 0; n < 100000; n++) {
		double x = f64((random64(1) & ~(1ull << 63))), y = f64(random64(1));
		float u = f32(random32(1)), v = f32(random32(1));

		same64(gp_helper_fma64(&lane, b64(x), b64(y), b64(-(x * y))), fma(x, y, -(x * y)), "fma",
		       b64(x), b64(y));
		same64(b64(gp_soft_fma(x, y, -(x * y))), fma(x, y, -(x * y)), "soft fma", b64(x), b64(y));
		same32(gp_helper_fma32(&lane, b32(u), b32(v), b32(-(u * v))), fmaf(u, v, -(u * v)), "fma",
		       b32(u), b32(v));
		same32(b32(gp_soft_fmaf(u, v, -(u * v))), fmaf(u, v, -(u * v)), "soft fma", b32(u), b32(v));
		fused += gp_helper_fma64(&lane, b64(x), b64(y), b64(-(x * y))) != 0;
		/* Sums that end among the denormals. */
		x = ldexp(x, -530);
		y = ldexp(y, -530);
		same64(b64(gp_soft_fma(x, y, 0x1p-1060)), fma(x, y, 0x1p-1060), "soft fma", b64(x), b64(y));
		same64(b64(gp_soft_fma(x, y, -0x1p-1074)), fma(x, y, -0x1p-1074), "soft fma", b64(x), b64(y));
	}
	ck_assert_uint_gt(fused, 90000);
}
END_TEST

static uint64_t to_signed(long double x)
{
	if (isnan(x))
		return 0;
	return (uint64_t)(x >= 0x1p63L ? INT64_MAX : x <= -0x1p63L ? INT64_MIN : (int64_t)x);
}

static uint64_t to_unsigned(long double x)
{
	if (isnan(x) || x <= 0)
		return 0;
	return x >= 0x1p64L ? UINT64_MAX : (uint64_t)x;
}

static void convert(uint64_t a)
{
	struct gp_lane lane = { 0 };
	long double f = f32(a), d = f64(a), s = (long double)(int64_t)a, u = (long double)a;

	/* long double holds every 64-bit integer and every double. */
	same_int(gp_helper_s_from_f32(&lane, a), to_signed(f), "s_from_f32", a, 0);
	same_int(gp_helper_u_from_f32(&lane, a), to_unsigned(f), "u_from_f32", a, 0);
	same_int(gp_helper_s_from_f64(&lane, a), to_signed(d), "s_from_f64", a, 0);
	same_int(gp_helper_u_from_f64(&lane, a), to_unsigned(d), "u_from_f64", a, 0);
	same32(gp_helper_f32_from_s(&lane, a), (float)s, "f32_from_s", a, 0);
	same32(gp_helper_f32_from_u(&lane, a), (float)u, "f32_from_u", a, 0);
	same64(gp_helper_f64_from_s(&lane, a), (double)s, "f64_from_s", a, 0);
	same64(gp_helper_f64_from_u(&lane, a), (double)u, "f64_from_u", a, 0);
	same64(gp_helper_f64_from_f32(&lane, a), (double)f, "f64_from_f32", a, 0);
	same32(gp_helper_f32_from_f64(&lane, a), (float)d, "f32_from_f64", a, 0);
}

START_TEST(test_convert)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(edge32); i++)
		convert(edge32[i]);
	for (i = 0; i < G_N_ELEMENTS(edge64); i++)
		convert(edge64[i]);
	for (i = 0; i < 64; i++) {
		convert(UINT64_C(1) << i);
		convert((UINT64_C(1) << i) - 1);
		convert(-(UINT64_C(1) << i));
		/* Half-way cases of both roundings. */
		convert((UINT64_C(3) << i) + (UINT64_C(1) << i >> 24));
		convert((UINT64_C(1) << 63 >> i) | (UINT64_C(1) << 39 >> i));
		convert((UINT64_C(1) << 63 >> i) | (UINT64_C(1) << 10 >> i));
	}
	for (i = 0; i < 1000000; i++)
		convert(i & 1 ? random64((uint32_t)i) : random32((uint32_t)i));
}
END_TEST

Suite *float_suite(void)
{
	Suite *s = suite_create("float");
	TCase *t = tcase_create("float");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_edges);
	tcase_add_test(t, test_random);
	tcase_add_test(t, test_fused);
	tcase_add_test(t, test_convert);
	suite_add_tcase(s, t);
	return s;
}
