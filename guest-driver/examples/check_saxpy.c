// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_saxpy.c - y = a * x + y, every bit. Compiled without contraction, as the kernel computes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void saxpy_of(struct gpgpu_device *dev, uint32_t n, uint32_t group)
{
	struct kernel kernel = kernel_load(dev, "saxpy");
	float *x = kernel_buffer(&kernel, dev, "x", n * sizeof(*x));
	float *y = kernel_buffer(&kernel, dev, "y", n * sizeof(*y));
	float *want = allocate(n, sizeof(*want)), a = 1.7f;
	uint32_t bits;

	for (uint32_t i = 0; i < n; i++) {
		x[i] = (float)i / 3;
		y[i] = 1 / (float)(i + 1);
		want[i] = a * x[i] + y[i];
	}
	memcpy(&bits, &a, sizeof(bits));
	kernel_value(&kernel, "a", bits);
	kernel_run_group(&kernel, (uint32_t[]){ n, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (uint32_t i = 0; i < n; i++) {
		if (memcmp(&y[i], &want[i], sizeof(*y)))
			fail("saxpy: element %u is %a instead of %a", i, (double)y[i], (double)want[i]);
	}
	free(want);
	passed("saxpy", &kernel, "%u elements in groups of %u, f32, every bit", n, group);
	kernel_free(&kernel);
}

void check_saxpy(struct gpgpu_device *dev, const char *out)
{
	saxpy_of(dev, 8192, 64);
	saxpy_of(dev, 10007, 100);
}
