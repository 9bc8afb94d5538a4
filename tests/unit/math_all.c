// SPDX-License-Identifier: BSD-3-Clause
/*
 * math_all - a function of float over all 2^32 arguments, by hand:
 *
 *	math_all FUNCTION [THREADS]	sqrt, rsqrt, exp, exp2, log, log2, sin, cos
 *
 * The reference is the C library's function of double, whose own error is below 2^-28 of a float's last place. Prints the
 * largest error, where it is, and how many results are not the nearest float; exits with 1 where docs/floats.md promises less, or a
 * special value is wrong.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rt/rt.h"

#define BOUND	    0.501
#define MAX_THREADS 64

static double library_rsqrt(double x)
{
	return 1 / sqrt(x);
}

static const struct function {
	const char *name;
	uint64_t (*ours)(struct gp_lane *, uint64_t);
	double (*library)(double);
} functions[] = {
	{ "sqrt", gp_helper_sqrt32, sqrt }, { "rsqrt", gp_helper_rsqrt32, library_rsqrt },
	{ "exp", gp_helper_exp32, exp },    { "exp2", gp_helper_exp232, exp2 },
	{ "log", gp_helper_log32, log },    { "log2", gp_helper_log232, log2 },
	{ "sin", gp_helper_sin32, sin },    { "cos", gp_helper_cos32, cos },
};

struct part {
	const struct function *function;
	uint64_t first, end;
	double worst;
	uint32_t at;
	uint64_t inexact, wrong; /* not the nearest; a special value that is another */
};

static float f32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

/* Of the last place of a finite result's float. */
static double last_place(double x)
{
	uint64_t bits;
	int exponent;

	memcpy(&bits, &x, 8);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023 - 23;
	if (exponent < -149)
		exponent = -149;
	bits = (uint64_t)(exponent + 1023) << 52;
	memcpy(&x, &bits, 8);
	return x;
}

static void *run(void *opaque)
{
	struct part *p = opaque;

	for (uint64_t a = p->first; a < p->end; a++) {
		double want = p->function->library((double)f32((uint32_t)a)), error;
		float nearest = (float)want, got = f32((uint32_t)p->function->ours(NULL, a));

		if (isnan(want) || isinf(nearest) || isinf(want)) {
			p->wrong += isnan(want) ? !isnan(got) : got != nearest;
			continue;
		}
		p->inexact += got != nearest || signbit(got) != signbit(nearest);
		error = fabs((double)got - want) / last_place(want);
		if (!(error <= p->worst)) {
			p->worst = error;
			p->at = (uint32_t)a;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct part parts[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	const struct function *f = NULL;
	int num = argc > 2 ? atoi(argv[2]) : 1;
	struct part all = { 0 };

	for (size_t i = 0; argc > 1 && i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(argv[1], functions[i].name))
			f = &functions[i];
	if (!f || num < 1 || num > MAX_THREADS) {
		fprintf(stderr, "usage: math_all FUNCTION [THREADS]\n");
		return 2;
	}
	for (int i = 0; i < num; i++) {
		parts[i] = (struct part){ .function = f,
					  .first = (1ull << 32) * (unsigned int)i / (unsigned int)num,
					  .end = (1ull << 32) * (unsigned int)(i + 1) / (unsigned int)num };
		if (pthread_create(&threads[i], NULL, run, &parts[i]))
			return 2;
	}
	for (int i = 0; i < num; i++) {
		pthread_join(threads[i], NULL);
		all.inexact += parts[i].inexact;
		all.wrong += parts[i].wrong;
		if (!(parts[i].worst <= all.worst)) {
			all.worst = parts[i].worst;
			all.at = parts[i].at;
		}
	}
	printf("%s32, all 2^32: %.6f ULP at %#x; %llu not the nearest; %llu special values wrong\n", f->name,
	       all.worst, all.at, (unsigned long long)all.inexact, (unsigned long long)all.wrong);
	return all.worst > BOUND || all.wrong;
}
