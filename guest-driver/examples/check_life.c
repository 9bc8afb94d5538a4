// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_life.c - generations of the Game of Life, cell by cell, with a picture of the last: from a soup, and a glider, of which it
 * is known where it goes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define GENERATIONS 4 /* in which a glider moves by one cell */
#define SCALE	    4 /* of the picture */

static void generation(const uint8_t *from, uint8_t *to, uint32_t width, uint32_t height)
{
	for (uint32_t y = 0; y < height; y++) {
		for (uint32_t x = 0; x < width; x++) {
			int alive = 0;

			for (uint32_t i = 0; i < 9; i++)
				alive += i == 4 ? 0
						: from[(y + height + i / 3 - 1) % height * width +
						       (x + width + i % 3 - 1) % width];
			to[y * width + x] = alive == 3 || (alive == 2 && from[y * width + x]);
		}
	}
}

static void draw(const uint8_t *cells, uint32_t width, uint32_t height, const char *path)
{
	static const uint8_t colours[2][3] = { { 255, 252, 240 }, { 20, 60, 110 } };
	uint8_t *rgb = allocate((size_t)width * height * SCALE * SCALE, 3);

	for (uint32_t y = 0; y < height * SCALE; y++)
		for (uint32_t x = 0; x < width * SCALE; x++)
			memcpy(rgb + ((size_t)y * width * SCALE + x) * 3,
			       colours[cells[y / SCALE * width + x / SCALE]], 3);
	write_picture(path, rgb, width * SCALE, height * SCALE);
	free(rgb);
}

static void put_glider(uint8_t *cells, uint32_t width)
{
	static const uint8_t glider[3][3] = { { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 } };

	for (uint32_t y = 0; y < 3; y++)
		memcpy(cells + y * width, glider[y], 3);
}

static void life_of(struct gpgpu_device *dev, uint32_t width, uint32_t height, const char *out)
{
	struct kernel kernel = kernel_load(dev, "life");
	uint32_t cells = width * height;
	uint8_t *from = kernel_buffer(&kernel, dev, "from", cells),
		*to = kernel_buffer(&kernel, dev, "to", cells);
	uint8_t *now = allocate(1, cells), *next = allocate(1, cells), *swap;
	uint64_t random = 25;

	/* A soup in the lower half; above it the glider, on its way over nothing. */
	for (uint32_t i = cells / 2; i < cells - 8 * width; i++)
		from[i] = next_random(&random) % 3 == 0;
	put_glider(from + 4 * width + 4, width);
	memcpy(now, from, cells);
	for (int g = 0; g < GENERATIONS; g++) {
		generation(now, next, width, height);
		/* The larger one is whole groups, the other is not. */
		kernel_run_group(&kernel, (uint32_t[]){ width, height, 1 }, (uint32_t[]){ 16, 16, 1 });
		for (uint32_t i = 0; i < cells; i++) {
			if (to[i] != next[i])
				fail("life: generation %d, cell %u, %u is %u", g + 1, i % width, i / width,
				     to[i]);
		}
		memcpy(from, to, cells);
		swap = now;
		now = next;
		next = swap;
	}
	memset(next, 0, cells);
	put_glider(next + 5 * width + 5, width);
	for (uint32_t i = 0; i < 12 * width; i++) {
		if (to[i] != next[i])
			fail("life: the glider did not move by one cell");
	}
	if (out)
		draw(to, width, height, out);
	passed("life", &kernel, "%u x %u cells, %d generations%s%s", width, height, GENERATIONS,
	       out ? ", picture in " : "", out ? out : "");
	free(now);
	free(next);
	kernel_free(&kernel);
}

void check_life(struct gpgpu_device *dev, const char *out)
{
	life_of(dev, 160, 128, out);
	life_of(dev, 61, 47, NULL);
}
