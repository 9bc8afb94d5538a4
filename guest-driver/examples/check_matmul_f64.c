// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_matmul_f64.c - products of matrices in f64, every bit: the kernel adds in the order of the plain loop. Compiled without
 * contraction, as the kernel computes.
 */
#include <string.h>

#include "check.h"

#define TILE 16

static void product_of(struct gpgpu_device *dev, uint32_t rows, uint32_t inner, uint32_t columns)
{
	struct kernel kernel = kernel_load(dev, "matmul_f64");
	double *a = kernel_buffer(&kernel, dev, "a", (uint64_t)rows * inner * sizeof(*a));
	double *b = kernel_buffer(&kernel, dev, "b", (uint64_t)inner * columns * sizeof(*b));
	double *c = kernel_buffer(&kernel, dev, "c", (uint64_t)rows * columns * sizeof(*c));
	uint64_t random = 21;

	for (uint32_t i = 0; i < rows * inner; i++)
		a[i] = random_double(&random);
	for (uint32_t i = 0; i < inner * columns; i++)
		b[i] = random_double(&random);
	kernel_value(&kernel, "rows", rows);
	kernel_value(&kernel, "inner", inner);
	kernel_value(&kernel, "columns", columns);
	kernel_run_group(&kernel,
			 (uint32_t[]){ (columns + TILE - 1) / TILE * TILE, (rows + TILE - 1) / TILE * TILE,
				       1 },
			 (uint32_t[]){ TILE, TILE, 1 });
	for (uint32_t row = 0; row < rows; row++) {
		for (uint32_t column = 0; column < columns; column++) {
			double sum = 0, got = c[row * columns + column];

			for (uint32_t i = 0; i < inner; i++)
				sum += a[row * inner + i] * b[i * columns + column];
			if (memcmp(&sum, &got, sizeof(sum)))
				fail("matmul_f64: row %u, column %u: %a instead of %a", row, column, got,
				     sum);
		}
	}
	passed("matmul_f64", &kernel, "%u x %u by %u x %u, f64, every bit", rows, inner, inner, columns);
	kernel_free(&kernel);
}

void check_matmul_f64(struct gpgpu_device *dev, const char *out)
{
	product_of(dev, 48, 64, 32);
	product_of(dev, 35, 19, 50);
}
