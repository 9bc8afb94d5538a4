// SPDX-License-Identifier: BSD-3-Clause
/*
 * blackscholes - prices of European options by the formula of Black and Scholes, in f32, one option per work item. In plain
 * C, for gpgpu-cc.
 */
#include <math.h>
#include "gpgpu_bpf.h"

struct blackscholes_args {
	const float *spot, *strike, *years;
	float *call, *put;
	float rate GP_SLOT, volatility GP_SLOT;
};

/* The normal distribution: Abramowitz and Stegun, 26.2.17; the error is below 7.5e-8. */
static inline __attribute__((always_inline)) float normal(float x)
{
	float t = 1 / (1 + 0.2316419f * fabsf(x));
	float tail = t * (0.319381530f +
			  t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));

	tail *= 0.39894228f * expf(-0.5f * x * x);
	return x < 0 ? tail : 1 - tail;
}

__attribute__((section("gpgpu/blackscholes"), used)) int blackscholes(struct blackscholes_args *arg)
{
	__u64 i = gp_global_id(0);
	float spot = arg->spot[i], strike = arg->strike[i], years = arg->years[i];
	float spread = arg->volatility * sqrtf(years);
	float d1 = (logf(spot / strike) + (arg->rate + 0.5f * arg->volatility * arg->volatility) * years) /
		   spread;
	float d2 = d1 - spread, worth = strike * expf(-arg->rate * years);
	float n1 = normal(d1), n2 = normal(d2);

	arg->call[i] = spot * n1 - worth * n2;
	arg->put[i] = worth * (1 - n2) - spot * (1 - n1);
	return 0;
}
