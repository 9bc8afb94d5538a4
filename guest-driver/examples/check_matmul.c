// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_matmul.c - every bit of an f32 matrix product. Compiled without contraction, as the kernel computes.
 */
#include <string.h>

#include "check.h"

#define ROWS	144
#define INNER	176
#define COLUMNS 208

static float random_float(uint64_t *state)
{
	/* -1 .. 1, of many magnitudes, so that rounding matters */
	return (float)((double)(int64_t)next_random(state) / 9223372036854775808.0);
}

void check_matmul(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "matmul");
	float *a = kernel_buffer(&kernel, dev, "a", ROWS * INNER * sizeof(*a));
	float *b = kernel_buffer(&kernel, dev, "b", INNER * COLUMNS * sizeof(*b));
	float *c = kernel_buffer(&kernel, dev, "c", ROWS * COLUMNS * sizeof(*c));
	uint64_t random = 2;

	for (int i = 0; i < ROWS * INNER; i++)
		a[i] = random_float(&random);
	for (int i = 0; i < INNER * COLUMNS; i++)
		b[i] = random_float(&random);
	kernel_value(&kernel, "inner", INNER);
	kernel_run(&kernel, COLUMNS, ROWS, 1);

	for (int row = 0; row < ROWS; row++) {
		for (int column = 0; column < COLUMNS; column++) {
			float sum = 0, got = c[row * COLUMNS + column];

			for (int i = 0; i < INNER; i++)
				sum = sum + a[row * INNER + i] * b[i * COLUMNS + column];
			if (memcmp(&sum, &got, sizeof(sum)))
				fail("matmul: row %d, column %d: %a instead of %a", row, column, (double)got,
				     (double)sum);
		}
	}
	passed("matmul", &kernel, "%d x %d by %d x %d, f32, every bit", ROWS, INNER, INNER, COLUMNS);
	kernel_free(&kernel);
}
