// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_blackscholes.c - prices of options against the same formula in double: the kernel's f32 is off by what rounding and
 * cancellation make of it, which is little against the price of the share.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT	   10007
#define RATE	   0.02f
#define VOLATILITY 0.3f
#define TOLERANCE  2e-6 /* of the spot price and the strike */

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static double normal(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

static void compare(int i, const char *what, double got, double want, double scale)
{
	if (!(fabs(got - want) <= TOLERANCE * scale))
		fail("blackscholes: %s %d is %g instead of %g", what, i, got, want);
}

void check_blackscholes(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "blackscholes");
	float *spot = kernel_buffer(&kernel, dev, "spot", COUNT * sizeof(*spot));
	float *strike = kernel_buffer(&kernel, dev, "strike", COUNT * sizeof(*strike));
	float *years = kernel_buffer(&kernel, dev, "years", COUNT * sizeof(*years));
	float *call = kernel_buffer(&kernel, dev, "call", COUNT * sizeof(*call));
	float *put = kernel_buffer(&kernel, dev, "put", COUNT * sizeof(*put));
	uint64_t state = 5;

	for (int i = 0; i < COUNT; i++) {
		spot[i] = 5 + random_unit(&state) * 25;
		strike[i] = 1 + random_unit(&state) * 99;
		years[i] = 0.25f + random_unit(&state) * 9.75f;
	}
	kernel_value(&kernel, "rate", bits_of(RATE));
	kernel_value(&kernel, "volatility", bits_of(VOLATILITY));
	kernel_run_group(&kernel, (uint32_t[]){ COUNT, 1, 1 }, (uint32_t[]){ 100, 1, 1 });
	for (int i = 0; i < COUNT; i++) {
		double s = (double)spot[i], k = (double)strike[i], t = (double)years[i];
		double r = (double)RATE, v = (double)VOLATILITY, d1, d2, worth = k * exp(-r * t);

		d1 = (log(s / k) + (r + 0.5 * v * v) * t) / (v * sqrt(t));
		d2 = d1 - v * sqrt(t);
		compare(i, "call", (double)call[i], s * normal(d1) - worth * normal(d2), s + k);
		compare(i, "put", (double)put[i], worth * normal(-d2) - s * normal(-d1), s + k);
	}
	passed("blackscholes", &kernel, "%d options, f32, within %g of the price", COUNT, TOLERANCE);
	kernel_free(&kernel);
}
