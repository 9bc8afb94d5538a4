// SPDX-License-Identifier: BSD-3-Clause
/*
 * conv2d - a picture of f32 with a square kernel of odd width, one pixel per work item; beyond the picture its edge goes on.
 * In plain C, for gpgpu-cc.
 */
#include "gpgpu_bpf.h"

struct conv2d_args {
	const float *in, *weights;
	float *out;
	int radius GP_SLOT;
};

static int within(int x, int size)
{
	return x < 0 ? 0 : x >= size ? size - 1 : x;
}

__attribute__((section("gpgpu/conv2d"), used)) int conv2d(struct conv2d_args *arg)
{
	int x = (int)gp_global_id(0), y = (int)gp_global_id(1);
	int width = (int)gp_global_size(0), height = (int)gp_global_size(1), radius = arg->radius;
	const float *weight = arg->weights;
	float sum = 0;

	for (int dy = -radius; dy <= radius; dy++)
		for (int dx = -radius; dx <= radius; dx++)
			sum += *weight++ * arg->in[within(y + dy, height) * width + within(x + dx, width)];
	arg->out[y * width + x] = sum;
	return 0;
}
