// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_spmv.c - a sparse matrix with rows of very different lengths, some of them empty, every bit. Compiled without contraction,
 * as the kernel computes.
 */
#include <string.h>

#include "check.h"

#define COLUMNS 3001

/* Most rows are short, every 64th is long, every 5th is empty. */
static uint64_t row_length(uint32_t row, uint64_t *random)
{
	return row % 5 == 4 ? 0 : next_random(random) % (row % 64 ? 9 : 500);
}

static void product_of(struct gpgpu_device *dev, uint32_t rows, uint32_t grid)
{
	struct kernel kernel = kernel_load(dev, "spmv");
	uint64_t *starts = kernel_buffer(&kernel, dev, "starts", (rows + 1) * sizeof(*starts)), random = 23;
	double *x = kernel_buffer(&kernel, dev, "x", COLUMNS * sizeof(*x));
	double *y = kernel_buffer(&kernel, dev, "y", rows * sizeof(*y)), *elements;
	uint32_t *columns;

	for (uint32_t row = 0; row < rows; row++)
		starts[row + 1] = starts[row] + row_length(row, &random);
	columns = kernel_buffer(&kernel, dev, "columns", starts[rows] * sizeof(*columns));
	elements = kernel_buffer(&kernel, dev, "elements", starts[rows] * sizeof(*elements));
	for (uint64_t i = 0; i < starts[rows]; i++) {
		columns[i] = (uint32_t)(next_random(&random) % COLUMNS);
		elements[i] = random_double(&random);
	}
	for (uint32_t i = 0; i < COLUMNS; i++)
		x[i] = random_double(&random);
	kernel_value(&kernel, "rows", rows);
	kernel_run_group(&kernel, (uint32_t[]){ grid, 1, 1 }, (uint32_t[]){ 64, 1, 1 });
	for (uint32_t row = 0; row < rows; row++) {
		double sum = 0;

		for (uint64_t i = starts[row]; i < starts[row + 1]; i++)
			sum += elements[i] * x[columns[i]];
		if (memcmp(&sum, &y[row], sizeof(sum)))
			fail("spmv: row %u: %a instead of %a", row, y[row], sum);
	}
	passed("spmv", &kernel, "%u rows, %llu elements, f64, every bit", rows,
	       (unsigned long long)starts[rows]);
	kernel_free(&kernel);
}

void check_spmv(struct gpgpu_device *dev, const char *out)
{
	product_of(dev, 2048, 2048);
	product_of(dev, 4099, 4160);
}
