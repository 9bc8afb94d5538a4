// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_groups.c - kernels whose work items share local memory and wait for each other, on sizes that are and are not multiples
 * of the group.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static uint32_t round_up(uint32_t n, uint32_t step)
{
	return (n + step - 1) / step * step;
}

/* ------------------------------------------------------------------- matmul_tiled */

#define TILE 16

static void matmul_of(struct gpgpu_device *dev, uint32_t rows, uint32_t inner, uint32_t columns)
{
	struct kernel kernel = kernel_load(dev, "matmul_tiled");
	float *a = kernel_buffer(&kernel, dev, "a", (uint64_t)rows * inner * sizeof(*a));
	float *b = kernel_buffer(&kernel, dev, "b", (uint64_t)inner * columns * sizeof(*b));
	float *c = kernel_buffer(&kernel, dev, "c", (uint64_t)rows * columns * sizeof(*c));
	uint64_t random = 5;

	fill_factors(a, b, &random, rows, inner, columns);
	kernel_value(&kernel, "rows", rows);
	kernel_value(&kernel, "inner", inner);
	kernel_value(&kernel, "columns", columns);
	kernel_run_group(&kernel, (uint32_t[]){ round_up(columns, TILE), round_up(rows, TILE), 1 },
			 (uint32_t[]){ TILE, TILE, 1 });
	compare_product("matmul_tiled", a, b, c, rows, inner, columns);
	passed("matmul_tiled", &kernel, "%u x %u by %u x %u, f32, every bit", rows, inner, inner, columns);
	kernel_free(&kernel);
}

void check_matmul_tiled(struct gpgpu_device *dev, const char *out)
{
	matmul_of(dev, 64, 48, 80);
	matmul_of(dev, 67, 35, 51);
}

float group_sum(float *values, uint32_t group)
{
	uint32_t width = 1;

	while (width < group)
		width *= 2;
	/* Items that are not there add -0, which changes nothing. */
	for (uint32_t step = width / 2; step; step /= 2)
		for (uint32_t i = 0; i < step && i + step < group; i++)
			values[i] = values[i] + values[i + step];
	return values[0];
}

/* ---------------------------------------------------------------------------- dot */

static void dot_of(struct gpgpu_device *dev, uint32_t n, uint32_t group, uint32_t groups)
{
	struct kernel kernel = kernel_load(dev, "dot");
	float *x = kernel_buffer(&kernel, dev, "x", n * sizeof(*x));
	float *y = kernel_buffer(&kernel, dev, "y", n * sizeof(*y));
	float *sums = kernel_buffer(&kernel, dev, "sums", groups * sizeof(*sums));
	uint32_t step = group * groups;
	float *v = allocate(group, sizeof(*v)), sum;
	uint64_t random = 6;

	for (uint32_t i = 0; i < n; i++) {
		x[i] = random_float(&random);
		y[i] = random_float(&random);
	}
	kernel_value(&kernel, "n", n);
	kernel_run_group(&kernel, (uint32_t[]){ step, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (uint32_t g = 0; g < groups; g++) {
		for (uint32_t item = 0; item < group; item++) {
			v[item] = 0;
			for (uint32_t i = g * group + item; i < n; i += step)
				v[item] = fmaf(x[i], y[i], v[item]);
		}
		sum = group_sum(v, group);
		if (memcmp(&sum, &sums[g], sizeof(sum)))
			fail("dot: group %u: %a instead of %a", g, (double)sums[g], (double)sum);
	}
	passed("dot", &kernel, "%u products in %u groups of %u, every bit", n, groups, group);
	free(v);
	kernel_free(&kernel);
}

void check_dot(struct gpgpu_device *dev, const char *out)
{
	dot_of(dev, 65536, 128, 8);
	dot_of(dev, 50021, 100, 7);
}

/* --------------------------------------------------------------------------- scan */

static void scan_of(struct gpgpu_device *dev, uint32_t n, uint32_t group)
{
	struct kernel kernel = kernel_load(dev, "scan");
	uint32_t *in = kernel_buffer(&kernel, dev, "in", n * sizeof(*in));
	uint64_t *sums = kernel_buffer(&kernel, dev, "out", n * sizeof(*sums)), sum = 0, random = 7;

	for (uint32_t i = 0; i < n; i++)
		in[i] = (uint32_t)next_random(&random);
	kernel_value(&kernel, "n", n);
	kernel_run_group(&kernel, (uint32_t[]){ group, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (uint32_t i = 0; i < n; i++) {
		if (sums[i] != sum)
			fail("scan: in front of %u: %llu instead of %llu", i, (unsigned long long)sums[i],
			     (unsigned long long)sum);
		sum += in[i];
	}
	passed("scan", &kernel, "%u numbers by %u items", n, group);
	kernel_free(&kernel);
}

void check_scan(struct gpgpu_device *dev, const char *out)
{
	scan_of(dev, 8192, 256);
	scan_of(dev, 9999, 100);
}

/* ---------------------------------------------------------------- histogram_local */

static void histogram_of(struct gpgpu_device *dev, uint32_t size, uint32_t group, uint32_t groups)
{
	struct kernel kernel = kernel_load(dev, "histogram_local");
	uint8_t *data = kernel_buffer(&kernel, dev, "data", size);
	uint64_t *bins = kernel_buffer(&kernel, dev, "bins", 256 * sizeof(*bins));
	uint64_t want[256] = { 0 }, random = 8;

	for (uint32_t i = 0; i < size; i++) {
		uint64_t r = next_random(&random);

		data[i] = (uint8_t)((r & 0xff) * (r >> 8 & 0xff) >> 8);
		want[data[i]]++;
	}
	kernel_value(&kernel, "size", size);
	kernel_run_group(&kernel, (uint32_t[]){ group * groups, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (int i = 0; i < 256; i++) {
		if (bins[i] != want[i])
			fail("histogram_local: value %d was counted %llu times instead of %llu", i,
			     (unsigned long long)bins[i], (unsigned long long)want[i]);
	}
	passed("histogram_local", &kernel, "%u bytes in %u groups of %u", size, groups, group);
	kernel_free(&kernel);
}

void check_histogram_local(struct gpgpu_device *dev, const char *out)
{
	histogram_of(dev, 1 << 16, 256, 8);
	histogram_of(dev, 100003, 100, 7);
}

/* ------------------------------------------------------------------------ sorting */

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Numbers of different sizes, so that some of them occur more than once, and what they are in order. To be freed. */
static uint32_t *make_keys(uint32_t *keys, uint32_t n)
{
	uint32_t *sorted = allocate(n, sizeof(*sorted));
	uint64_t random = 9;

	for (uint32_t i = 0; i < n; i++)
		sorted[i] = keys[i] = (uint32_t)next_random(&random) >> (i % 3 * 8);
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted;
}

static void sort_by(struct gpgpu_device *dev, const char *name, uint32_t n, uint32_t group)
{
	struct kernel kernel = kernel_load(dev, name);
	uint32_t *keys = kernel_buffer(&kernel, dev, "keys", n * sizeof(*keys)), *want = make_keys(keys, n);

	if (!strcmp(name, "radix"))
		kernel_buffer(&kernel, dev, "other", n * sizeof(*keys));
	kernel_value(&kernel, "n", n);
	kernel_run_group(&kernel, (uint32_t[]){ group, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	for (uint32_t i = 0; i < n; i++) {
		if (keys[i] != want[i])
			fail("%s: place %u has %u instead of %u", name, i, keys[i], want[i]);
	}
	passed(name, &kernel, "%u numbers by %u items", n, group);
	free(want);
	kernel_free(&kernel);
}

void check_bitonic(struct gpgpu_device *dev, const char *out)
{
	sort_by(dev, "bitonic", 4096, 256);
	sort_by(dev, "bitonic", 3001, 100);
}

void check_radix(struct gpgpu_device *dev, const char *out)
{
	sort_by(dev, "radix", 8192, 256);
	sort_by(dev, "radix", 10007, 100);
}
