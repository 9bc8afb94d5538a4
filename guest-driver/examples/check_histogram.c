// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_histogram.c - counters that all work items add to at once.
 */
#include "check.h"

#define SIZE  (1 << 20)
#define CHUNK 257 /* odd, so that the last work item has less */
#define BINS  256

void check_histogram(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "histogram");
	uint8_t *data = kernel_buffer(&kernel, dev, "data", SIZE);
	uint64_t *bins = kernel_buffer(&kernel, dev, "bins", BINS * sizeof(*bins));
	uint64_t want[BINS] = { 0 }, random = 3;

	/* The product of two bytes is uneven: some counters are fought over, others are not. */
	for (int i = 0; i < SIZE; i++) {
		uint64_t r = next_random(&random);

		data[i] = (uint8_t)((r & 0xff) * (r >> 8 & 0xff) >> 8);
		want[data[i]]++;
	}
	kernel_value(&kernel, "size", SIZE);
	kernel_value(&kernel, "chunk", CHUNK);
	kernel_run(&kernel, (SIZE + CHUNK - 1) / CHUNK, 1, 1);
	for (int i = 0; i < BINS; i++) {
		if (bins[i] != want[i])
			fail("histogram: value %d was counted %llu times instead of %llu", i,
			     (unsigned long long)bins[i], (unsigned long long)want[i]);
	}
	passed("histogram", &kernel, "%d bytes into %d counters", SIZE, BINS);
	kernel_free(&kernel);
}
