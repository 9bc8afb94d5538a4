// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_fft.c - transforms against the same stages in plain C, every bit, and against the definition in double.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define TOLERANCE 1e-6 /* of the largest a sum can be, times the stages */

struct complex {
	float re, im;
};

static void stages(const struct complex *in, struct complex *out, const struct complex *roots, uint32_t n)
{
	struct complex *spare = allocate(n, sizeof(*spare)), *from = out, *to = spare, *swap;

	memcpy(from, in, n * sizeof(*in));
	for (uint32_t half = 1; half < n; half *= 2) {
		for (uint32_t i = 0; i < n / 2; i++) {
			uint32_t k = i % half, at = (i - k) * 2 + k;
			struct complex w = roots[k * (n / 2 / half)], a = from[i], b = from[i + n / 2];
			float re = b.re * w.re - b.im * w.im, im = b.re * w.im + b.im * w.re;

			to[at] = (struct complex){ a.re + re, a.im + im };
			to[at + half] = (struct complex){ a.re - re, a.im - im };
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != out)
		memcpy(out, from, n * sizeof(*out));
	free(spare);
}

/* Every 7th frequency by its sum. */
static void by_definition(const struct complex *in, const struct complex *got, uint32_t n)
{
	double scale = TOLERANCE * n * log2(n);
	double *cosine = allocate(n, sizeof(*cosine)), *sine = allocate(n, sizeof(*sine));

	for (uint32_t k = 0; k < n; k++) {
		cosine[k] = cos(-2 * M_PI * k / n);
		sine[k] = sin(-2 * M_PI * k / n);
	}
	for (uint32_t f = 0; f < n; f += 7) {
		double re = 0, im = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = f * i % n;

			re += (double)in[i].re * cosine[k] - (double)in[i].im * sine[k];
			im += (double)in[i].re * sine[k] + (double)in[i].im * cosine[k];
		}
		if (!(fabs(re - (double)got[f].re) <= scale && fabs(im - (double)got[f].im) <= scale))
			fail("fft: frequency %u of %u: %g + %gi instead of %g + %gi", f, n, (double)got[f].re,
			     (double)got[f].im, re, im);
	}
	free(cosine);
	free(sine);
}

static void fft_of(struct gpgpu_device *dev, uint32_t n, uint32_t signals, uint32_t group)
{
	struct kernel kernel = kernel_load(dev, "fft");
	struct complex *in = kernel_buffer(&kernel, dev, "in", (uint64_t)signals * n * sizeof(*in));
	struct complex *got = kernel_buffer(&kernel, dev, "out", (uint64_t)signals * n * sizeof(*got));
	struct complex *roots = kernel_buffer(&kernel, dev, "roots", n / 2 * sizeof(*roots));
	struct complex *want = allocate(n, sizeof(*want));
	uint64_t random = 22;

	for (uint32_t k = 0; k < n / 2; k++)
		roots[k] = (struct complex){ (float)cos(-2 * M_PI * k / n), (float)sin(-2 * M_PI * k / n) };
	for (uint32_t i = 0; i < signals * n; i++) {
		in[i].re = random_float(&random);
		in[i].im = random_float(&random);
	}
	kernel_value(&kernel, "n", n);
	kernel_run_group(&kernel, (uint32_t[]){ group * signals, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (uint32_t s = 0; s < signals; s++) {
		stages(in + (size_t)s * n, want, roots, n);
		if (memcmp(want, got + (size_t)s * n, n * sizeof(*want)))
			fail("fft: signal %u of %u points is another", s, n);
	}
	by_definition(in, got, n);
	passed("fft", &kernel, "%u signals of %u points by %u items each, f32, every bit", signals, n, group);
	free(want);
	kernel_free(&kernel);
}

void check_fft(struct gpgpu_device *dev, const char *out)
{
	fft_of(dev, 1024, 3, 128);
	fft_of(dev, 512, 5, 100);
}
