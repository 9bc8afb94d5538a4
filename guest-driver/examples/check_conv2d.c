// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_conv2d.c - a picture with a kernel of 5 x 5, every bit. Compiled without contraction, as the kernel
 * computes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WIDTH  211
#define HEIGHT 97
#define RADIUS 2
#define SIDE   (2 * RADIUS + 1)

static int within(int x, int size)
{
	return x < 0 ? 0 : x >= size ? size - 1 : x;
}

static float pixel(const float *in, const float *weight, int x, int y)
{
	float sum = 0;

	for (int dy = -RADIUS; dy <= RADIUS; dy++)
		for (int dx = -RADIUS; dx <= RADIUS; dx++)
			sum += *weight++ * in[within(y + dy, HEIGHT) * WIDTH + within(x + dx, WIDTH)];
	return sum;
}

void check_conv2d(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "conv2d");
	float *in = kernel_buffer(&kernel, dev, "in", WIDTH * HEIGHT * sizeof(*in));
	float *weights = kernel_buffer(&kernel, dev, "weights", SIDE * SIDE * sizeof(*weights));
	float *result = kernel_buffer(&kernel, dev, "out", WIDTH * HEIGHT * sizeof(*result));
	uint64_t state = 7;

	for (int i = 0; i < WIDTH * HEIGHT; i++)
		in[i] = random_unit(&state);
	for (int i = 0; i < SIDE * SIDE; i++)
		weights[i] = (float)(next_random(&state) >> 40) * 0x1p-23f - 1;
	kernel_value(&kernel, "radius", RADIUS);
	/* Neither side is a multiple of the group's. */
	kernel_run_group(&kernel, (uint32_t[]){ WIDTH, HEIGHT, 1 }, (uint32_t[]){ 16, 8, 1 });
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			float want = pixel(in, weights, x, y), got = result[y * WIDTH + x];

			if (memcmp(&want, &got, sizeof(want)))
				fail("conv2d: pixel %d, %d is %a instead of %a", x, y, (double)got,
				     (double)want);
		}
	passed("conv2d", &kernel, "%d x %d pixels, %d x %d weights, f32, every bit", WIDTH, HEIGHT, SIDE,
	       SIDE);
	kernel_free(&kernel);
}
