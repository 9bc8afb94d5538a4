// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_matmul.c - every bit of an f32 matrix product, for the tiled one of check_groups.c too. Compiled without contraction,
 * as the kernels compute.
 */
#include <string.h>

#include "check.h"

#define ROWS	144
#define INNER	176
#define COLUMNS 208

void fill_factors(float *a, float *b, uint64_t *random, uint32_t rows, uint32_t inner, uint32_t columns)
{
	for (uint32_t i = 0; i < rows * inner; i++)
		a[i] = random_float(random);
	for (uint32_t i = 0; i < inner * columns; i++)
		b[i] = random_float(random);
}

void compare_product(const char *name, const float *a, const float *b, const float *c, uint32_t rows,
		     uint32_t inner, uint32_t columns)
{
	for (uint32_t row = 0; row < rows; row++) {
		for (uint32_t column = 0; column < columns; column++) {
			float sum = 0, got = c[row * columns + column];

			for (uint32_t i = 0; i < inner; i++)
				sum = sum + a[row * inner + i] * b[i * columns + column];
			if (memcmp(&sum, &got, sizeof(sum)))
				fail("%s: row %u, column %u: %a instead of %a", name, row, column,
				     (double)got, (double)sum);
		}
	}
}

void check_matmul(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "matmul");
	float *a = kernel_buffer(&kernel, dev, "a", ROWS * INNER * sizeof(*a));
	float *b = kernel_buffer(&kernel, dev, "b", INNER * COLUMNS * sizeof(*b));
	float *c = kernel_buffer(&kernel, dev, "c", ROWS * COLUMNS * sizeof(*c));
	uint64_t random = 2;

	fill_factors(a, b, &random, ROWS, INNER, COLUMNS);
	kernel_value(&kernel, "inner", INNER);
	kernel_run(&kernel, COLUMNS, ROWS, 1);
	compare_product("matmul", a, b, c, ROWS, INNER, COLUMNS);
	passed("matmul", &kernel, "%d x %d by %d x %d, f32, every bit", ROWS, INNER, INNER, COLUMNS);
	kernel_free(&kernel);
}
