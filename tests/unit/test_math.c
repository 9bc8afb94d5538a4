/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_math.c - mathematical helpers against MPFR: how far from the exact result they are, in units of the last place of the
 * result's type (ULP; that of denormals where the exact result is one), on a stratified sample: every exponent and sign
 * alike, so that tiny and huge arguments are met as often as ordinary ones, and then the range where the function is
 * busy. The largest error met is printed, and must stay within the bound that docs/floats.md gives.
 *
 * What is no question of accuracy (NaN, infinities, zeros, exact cases) is compared with the C library, which follows
 * C's annex F, or with a rule of ours.
 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rt/rt.h"

#define PRECISION      200 /* bits of the reference */
#define PER_EXPONENT32 64
#define PER_EXPONENT64 16
#define BUSY	       40000 /* arguments from where the function is busy */

static struct gp_lane lane;
static uint64_t state = 1;

static uint64_t random64(void)
{
	/* splitmix64 */
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

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

/* The functions; each as MPFR has it. */
static int reference_rsqrt(mpfr_t to, const mpfr_t x, mpfr_rnd_t round)
{
	return mpfr_rec_sqrt(to, x, round);
}

struct function {
	const char *name;
	uint64_t (*narrow)(struct gp_lane *, uint64_t), (*wide)(struct gp_lane *, uint64_t);
	int (*reference)(mpfr_t, const mpfr_t, mpfr_rnd_t);
	double (*library)(double); /* for special values */
	double bound32, bound64; /* ULP, of docs/floats.md */
	double low, high; /* where it is busy */
};

static double library_rsqrt(double x)
{
	return 1 / sqrt(x);
}

#define F(name) #name, gp_helper_##name##32, gp_helper_##name##64
static const struct function functions[] = {
	{ F(sqrt), mpfr_sqrt, sqrt, 0.5, 0.5, 0, 4 },
	{ F(rsqrt), reference_rsqrt, library_rsqrt, 0.501, 0.51, 0, 4 },
	{ F(exp), mpfr_exp, exp, 0.501, 1.0, -100, 90 },
	{ F(exp2), mpfr_exp2, exp2, 0.501, 1.0, -140, 130 },
	{ F(log), mpfr_log, log, 0.501, 1.0, 0, 3 },
	{ F(log2), mpfr_log2, log2, 0.501, 0.51, 0, 3 },
	{ F(sin), mpfr_sin, sin, 0.501, 1.0, -50, 50 },
	{ F(cos), mpfr_cos, cos, 0.501, 1.0, -50, 50 },
};

/* -------------------------------------------------------------------- error */

static double worst;
static uint64_t worst_at[2];

/* @got against @exact, a number of @digits bits and a smallest exponent of @lowest. */
static void compare(double got, const mpfr_t exact, int digits, int lowest, uint64_t a, uint64_t b)
{
	mpfr_t difference;
	long exponent = mpfr_zero_p(exact) ? lowest : mpfr_get_exp(exact) - digits;
	double top = ldexp(1, digits == 24 ? 128 : 1023), ulps;

	if (exponent < lowest)
		exponent = lowest;
	/* From half of a place beyond the largest number on the result is infinite. */
	if (isinf(got)) {
		mpfr_t edge;

		mpfr_init2(edge, PRECISION);
		mpfr_set_d(edge, digits == 24 ? top : top, MPFR_RNDN);
		if (digits == 53)
			mpfr_mul_2ui(edge, edge, 1, MPFR_RNDN);
		mpfr_init2(difference, PRECISION);
		mpfr_abs(difference, exact, MPFR_RNDN);
		mpfr_sub(difference, edge, difference, MPFR_RNDN);
		ulps = mpfr_get_d(difference, MPFR_RNDN) * ldexp(1, digits == 24 ? -104 : -971);
		ulps = ulps < 0 ? 0 : ulps;
		if ((got < 0) != (mpfr_sgn(exact) < 0))
			ulps = INFINITY;
		mpfr_clear(edge);
		mpfr_clear(difference);
	} else {
		mpfr_init2(difference, PRECISION);
		mpfr_set_d(difference, got, MPFR_RNDN);
		mpfr_sub(difference, difference, exact, MPFR_RNDN);
		mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
		ulps = fabs(mpfr_get_d(difference, MPFR_RNDN));
		mpfr_clear(difference);
	}
	if (!(ulps <= worst)) {
		worst = ulps;
		worst_at[0] = a;
		worst_at[1] = b;
	}
}

static void one32(const struct function *f, uint32_t a)
{
	mpfr_t x;

	mpfr_init2(x, PRECISION);
	mpfr_set_d(x, (double)f32(a), MPFR_RNDN);
	f->reference(x, x, MPFR_RNDN);
	if (mpfr_number_p(x))
		compare((double)f32(f->narrow(&lane, a)), x, 24, -149, a, 0);
	mpfr_clear(x);
}

static void one64(const struct function *f, uint64_t a)
{
	mpfr_t x;

	mpfr_init2(x, PRECISION);
	mpfr_set_d(x, f64(a), MPFR_RNDN);
	f->reference(x, x, MPFR_RNDN);
	if (mpfr_number_p(x))
		compare(f64(f->wide(&lane, a)), x, 53, -1074, a, 0);
	mpfr_clear(x);
}

static double busy(const struct function *f)
{
	return f->low + (f->high - f->low) * (double)(random64() >> 11) * 0x1p-53;
}

static void say(const char *name, int bits, double bound)
{
	printf("%s%d: %.4f ULP, at most %.4g, at %#llx\n", name, bits, worst, bound,
	       (unsigned long long)worst_at[0]);
	fflush(stdout);
	ck_assert_msg(worst <= bound, "%s%d(%#llx, %#llx): %.4f ULP, over %.4g", name, bits,
		      (unsigned long long)worst_at[0], (unsigned long long)worst_at[1], worst, bound);
}

START_TEST(test_accuracy32)
{
	const struct function *f = &functions[_i];

	worst = 0;
	for (uint32_t top = 0; top < 512; top++)
		for (int i = 0; i < PER_EXPONENT32; i++)
			if ((top & 0xff) != 0xff)
				one32(f, top << 23 | (uint32_t)(random64() >> 41));
	for (int i = 0; i < BUSY; i++)
		one32(f, (uint32_t)b32((float)busy(f)));
	say(f->name, 32, f->bound32);
}
END_TEST

START_TEST(test_accuracy64)
{
	const struct function *f = &functions[_i];

	worst = 0;
	for (uint64_t top = 0; top < 4096; top++)
		for (int i = 0; i < PER_EXPONENT64; i++)
			if ((top & 0x7ff) != 0x7ff)
				one64(f, top << 52 | random64() >> 12);
	for (int i = 0; i < BUSY; i++)
		one64(f, b64(busy(f)));
	/* Near 1 a logarithm is small, and near multiples of pi/2 a sine or cosine. */
	for (int i = 0; i < 4000; i++) {
		one64(f, 0x3ff0000000000000 + (random64() >> (12 + i % 52)));
		one64(f, 0x3ff0000000000000 - (random64() >> (12 + i % 52)));
		one64(f, b64((double)(random64() >> (12 + i % 52)) * 0x1.921fb54442d18p+0));
	}
	/* The double that is nearest of all to a multiple of pi/2. */
	one64(f, 0x7506ac5b262ca1ff);
	say(f->name, 64, f->bound64);
}
END_TEST

/* -------------------------------------------------------------------- power */

static void power64(double x, double y)
{
	mpfr_t a, b;

	mpfr_init2(a, PRECISION);
	mpfr_init2(b, PRECISION);
	mpfr_set_d(a, x, MPFR_RNDN);
	mpfr_set_d(b, y, MPFR_RNDN);
	mpfr_pow(a, a, b, MPFR_RNDN);
	if (mpfr_number_p(a))
		compare(f64(gp_helper_pow64(&lane, b64(x), b64(y))), a, 53, -1074, b64(x), b64(y));
	mpfr_clear(a);
	mpfr_clear(b);
}

static void power32(float x, float y)
{
	mpfr_t a, b;

	mpfr_init2(a, PRECISION);
	mpfr_init2(b, PRECISION);
	mpfr_set_d(a, (double)x, MPFR_RNDN);
	mpfr_set_d(b, (double)y, MPFR_RNDN);
	mpfr_pow(a, a, b, MPFR_RNDN);
	if (mpfr_number_p(a))
		compare((double)f32(gp_helper_pow32(&lane, b32(x), b32(y))), a, 24, -149, b32(x), b32(y));
	mpfr_clear(a);
	mpfr_clear(b);
}

/* An exponent with which the result is in range, mostly. */
static double fitting(double x, double range)
{
	double y = range * ((double)(random64() >> 11) * 0x1p-53 - 0.5) / log2(x);

	return isfinite(y) ? y : 1;
}

START_TEST(test_power)
{
	worst = 0;
	for (uint64_t top = 1; top < 2047; top++)
		for (int i = 0; i < 16; i++) {
			double x = f64(top << 52 | random64() >> 12);

			power64(x, fitting(x, 2200));
		}
	for (int i = 0; i < 20000; i++) {
		double x = 1 + ((double)(random64() >> 11) * 0x1p-53 - 0.5) * ldexp(1, -(i % 50));

		power64(x, fitting(x, 2200));
		power64(-(double)(random64() >> 52), (double)(random64() >> 58) - 32);
	}
	say("pow", 64, 1.0);
	worst = 0;
	for (uint32_t top = 1; top < 255; top++)
		for (int i = 0; i < 128; i++) {
			float x = f32(top << 23 | (uint32_t)(random64() >> 41));

			power32(x, (float)fitting((double)x, 300));
		}
	for (int i = 0; i < 20000; i++) {
		float x = 1 + (float)(((double)(random64() >> 11) * 0x1p-53 - 0.5) * ldexp(1, -(i % 23)));

		power32(x, (float)fitting((double)x, 300));
		power32(-(float)(random64() >> 52), (float)(random64() >> 58) - 32);
	}
	say("pow", 32, 0.501);
}
END_TEST

/* ----------------------------------------------------------- special values */

static const double special[] = { 0.0,	     -0.0,
				  1,	     -1,
				  0.5,	     -0.5,
				  2,	     -2,
				  3,	     -3,
				  1.5,	     -1.5,
				  INFINITY,  -INFINITY,
				  NAN,	     1e30,
				  -1e30,     0x1p-149,
				  -0x1p-149, 0x1p127,
				  16777217,  4503599627370497.0,
				  0.75 };
#define NUM_SPECIAL (sizeof(special) / sizeof(*special))

static bool same(double got, double want)
{
	return isnan(want) ? isnan(got) : b64(got) == b64(want);
}

/* Only where the result is a special value itself. */
START_TEST(test_special)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		for (size_t k = 0; k < NUM_SPECIAL; k++) {
			const struct function *f = &functions[i];
			double x = special[k], want = f->library(x), got = f64(f->wide(&lane, b64(x)));
			double got32 = (double)f32(f->narrow(&lane, b32((float)x)));

			if (isfinite(want) && want != 0 && want != 1)
				continue;
			ck_assert_msg(same(got, want), "%s64(%a) is %a, not %a", f->name, x, got, want);
			if ((double)(float)x == x)
				ck_assert_msg(same(got32, want), "%s32(%a) is %a, not %a", f->name, x, got32,
					      want);
		}
}
END_TEST

START_TEST(test_special_power)
{
	for (size_t i = 0; i < NUM_SPECIAL; i++)
		for (size_t k = 0; k < NUM_SPECIAL; k++) {
			double x = special[i], y = special[k], want = pow(x, y);
			double got = f64(gp_helper_pow64(&lane, b64(x), b64(y)));
			float x32 = (float)x, y32 = (float)y, want32 = powf(x32, y32);
			float got32 = f32(gp_helper_pow32(&lane, b32(x32), b32(y32)));

			if (!isfinite(want) || want == 0 || want == 1 ||
			    (want == rint(want) && fabs(want) < 0x1p53))
				ck_assert_msg(same(got, want), "pow64(%a, %a) is %a, not %a", x, y, got,
					      want);
			if (!isfinite(want32) || want32 == 0 || want32 == 1)
				ck_assert_msg(same((double)got32, (double)want32),
					      "pow32(%a, %a) is %a, not %a", (double)x32, (double)y32,
					      (double)got32, (double)want32);
		}
}
END_TEST

/* -------------------------------------------------------------------- exact */

static void remainders(uint64_t a, uint64_t b)
{
	double want = fmod(f64(a), f64(b)), got = f64(gp_helper_fmod64(&lane, a, b));
	float want32 = fmodf(f32(a), f32(b)), got32 = f32(gp_helper_fmod32(&lane, a, b));

	ck_assert_msg(same(got, want), "fmod64(%#lx, %#lx) is %a, not %a", a, b, got, want);
	ck_assert_msg(same((double)got32, (double)want32), "fmod32(%#lx, %#lx) is %a, not %a", a, b,
		      (double)got32, (double)want32);
}

static void rounds(uint64_t a)
{
	double want = round(f64(a)), got = f64(gp_helper_round64(&lane, a));
	float want32 = roundf(f32(a)), got32 = f32(gp_helper_round32(&lane, a));

	ck_assert_msg(same(got, want), "round64(%#lx) is %a, not %a", a, got, want);
	ck_assert_msg(same((double)got32, (double)want32), "round32(%#lx) is %a, not %a", a, (double)got32,
		      (double)want32);
}

static int64_t clamped(double x, double low, double high)
{
	return isnan(x) ? 0 : x <= low ? (int64_t)low : x >= high ? (int64_t)high : (int64_t)x;
}

static void integers(uint64_t a)
{
	double x = f64(a), x32 = (double)f32(a);

	ck_assert_int_eq((int64_t)gp_helper_s32_from_f64(&lane, a), clamped(x, INT32_MIN, INT32_MAX));
	ck_assert_int_eq((int64_t)gp_helper_u32_from_f64(&lane, a), clamped(x, 0, UINT32_MAX));
	ck_assert_int_eq((int64_t)gp_helper_s32_from_f32(&lane, a), clamped(x32, INT32_MIN, INT32_MAX));
	ck_assert_int_eq((int64_t)gp_helper_u32_from_f32(&lane, a), clamped(x32, 0, UINT32_MAX));
	ck_assert(same(f64(gp_helper_copysign64(&lane, a, ~a)), copysign(x, -x)) || isnan(x));
	ck_assert_uint_eq(gp_helper_copysign32(&lane, a, 0), (uint32_t)a & 0x7fffffff);
}

START_TEST(test_exact)
{
	for (size_t i = 0; i < NUM_SPECIAL; i++) {
		for (size_t k = 0; k < NUM_SPECIAL; k++) {
			remainders(b64(special[i]), b64(special[k]));
			remainders(b32((float)special[i]), b32((float)special[k]));
		}
		for (int64_t d = -2; d <= 2; d++) {
			rounds(b64(special[i]) + (uint64_t)d);
			rounds(b32((float)special[i]) + (uint64_t)d);
			integers(b64(special[i]) + (uint64_t)d);
			integers(b32((float)special[i]) + (uint64_t)d);
		}
	}
	for (int i = 0; i < 100000; i++) {
		uint64_t a = random64(), b = random64();

		remainders(a, b);
		/* Far apart, and below normal numbers. */
		if (i % 4 == 0)
			remainders(a, b & 0x001fffffffffffff);
		/* Like ordinary numbers. */
		a = (a & 0x800fffffffffffff) | (0x3f0 + (a >> 52) % 80) << 52;
		rounds(a);
		integers(a);
		a = (a & 0x807fffff) | (uint64_t)(0x70 + b % 64) << 23;
		rounds(a);
		integers(a);
	}
}
END_TEST

/* ------------------------------------------------------------ half precision */

/* The half next to @x by trying: the nearest of all 2^16, even where two are as near. */
static double half_value(uint32_t h)
{
	int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
	double v = exponent == 31 ? fraction ? NAN : INFINITY
		   : exponent	  ? ldexp(1024 + fraction, exponent - 25)
				  : ldexp(fraction, -24);

	return h & 0x8000 ? -v : v;
}

static uint32_t nearest_half(double x)
{
	uint32_t sign = signbit(x) ? 0x8000 : 0, low = 0, high = 0x7c00;
	double a = fabs(x), below, above;

	/* 65,520 is half-way to what would be 2^16, which is even. */
	if (a >= 65520)
		return sign | 0x7c00;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (half_value(middle) <= a)
			low = middle;
		else
			high = middle;
	}
	below = a - half_value(low);
	above = (high == 0x7c00 ? 65536 : half_value(high)) - a;
	return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}

START_TEST(test_half)
{
	for (uint32_t h = 0; h < 0x10000; h++) {
		float got = f32(gp_helper_f32_from_f16(&lane, h));

		ck_assert_msg(same((double)got, half_value(h)), "f32_from_f16(%#x) is %a", h, (double)got);
		if (isnan(half_value(h)))
			continue;
		/* Each half, what is half-way to the next, and its neighbours. */
		for (int64_t d = -1; d <= 1; d++) {
			double middle = h % 0x8000 == 0x7c00 ? half_value(h)
							     : (half_value(h) + half_value(h + 1)) / 2;
			double x = f64(b64(isfinite(middle) ? middle : half_value(h)) + (uint64_t)d);
			uint32_t got16 = (uint32_t)gp_helper_f16_from_f64(&lane, b64(x));

			if (isnan(x))
				continue;
			ck_assert_msg(got16 == nearest_half(x), "f16_from_f64(%a) is %#x, not %#x", x, got16,
				      nearest_half(x));
			x = (double)f32(b32((float)middle) + (uint64_t)d);
			if (isnan(x))
				continue;
			got16 = (uint32_t)gp_helper_f16_from_f32(&lane, b32((float)x));
			ck_assert_msg(got16 == nearest_half(x), "f16_from_f32(%a) is %#x, not %#x", x, got16,
				      nearest_half(x));
		}
	}
	ck_assert_uint_eq(gp_helper_f16_from_f32(&lane, 0x7f800001), 0x7e00);
	ck_assert_uint_eq(gp_helper_f16_from_f64(&lane, 0xfff0000000000001), 0xfe00);
}
END_TEST

int main(void)
{
	const int count = sizeof(functions) / sizeof(*functions);
	Suite *suite = suite_create("math");
	TCase *accuracy = tcase_create("accuracy"), *values = tcase_create("values");
	SRunner *runner;
	int failed;

	tcase_set_timeout(accuracy, 300);
	tcase_add_loop_test(accuracy, test_accuracy32, 0, count);
	tcase_add_loop_test(accuracy, test_accuracy64, 0, count);
	tcase_add_test(accuracy, test_power);
	suite_add_tcase(suite, accuracy);
	tcase_set_timeout(values, 300);
	tcase_add_test(values, test_special);
	tcase_add_test(values, test_special_power);
	tcase_add_test(values, test_exact);
	tcase_add_test(values, test_half);
	suite_add_tcase(suite, values);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
