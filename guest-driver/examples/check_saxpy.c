// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_saxpy.c - y = a * x + y, every bit. Compiled without contraction, as the kernel computes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define COUNT 10000

void check_saxpy(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "saxpy");
	float *x = kernel_buffer(&kernel, dev, "x", COUNT * sizeof(*x));
	float *y = kernel_buffer(&kernel, dev, "y", COUNT * sizeof(*y));
	float *want = allocate(COUNT, sizeof(*want)), a = 1.7f;
	uint32_t bits;

	for (int i = 0; i < COUNT; i++) {
		x[i] = (float)i / 3;
		y[i] = 1 / (float)(i + 1);
		want[i] = a * x[i] + y[i];
	}
	memcpy(&bits, &a, sizeof(bits));
	kernel_value(&kernel, "a", bits);
	kernel_run(&kernel, COUNT, 1, 1);
	for (int i = 0; i < COUNT; i++) {
		if (memcmp(&y[i], &want[i], sizeof(*y)))
			fail("saxpy: element %d is %a instead of %a", i, (double)y[i], (double)want[i]);
	}
	free(want);
	passed("saxpy", &kernel, "%d elements, f32, every bit", COUNT);
	kernel_free(&kernel);
}
