// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_mandelbrot.c - a picture of the Mandelbrot set; each pixel's count of steps is compared, then coloured.
 * Compiled without contraction, as the kernel computes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WIDTH	  480
#define HEIGHT	  360
#define MAX_STEPS 200
#define LEFT	  (-2.25)
#define TOP	  1.2
#define PIXEL	  (3.2 / WIDTH)

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return bits;
}

static uint32_t count_steps(double cx, double cy)
{
	double x = 0, y = 0;
	uint32_t n;

	for (n = 0; n < MAX_STEPS; n++) {
		double xx = x * x, yy = y * y, xy = x * y;

		if (!(xx + yy <= 4.0))
			break;
		x = (xx - yy) + cx;
		y = (xy + xy) + cy;
	}
	return n;
}

/* Black inside; outside from deep blue over white to amber, by the number of steps. */
static void colour(uint32_t n, uint8_t rgb[3])
{
	static const uint8_t stops[][3] = {
		{ 0, 7, 100 },	 { 32, 107, 203 }, { 237, 255, 255 },
		{ 255, 170, 0 }, { 60, 20, 0 },	   { 0, 7, 100 },
	};
	const uint32_t spread = 12; /* steps from one stop to the next */
	uint32_t stop = n / spread % 5, at = n % spread;

	for (int i = 0; i < 3; i++)
		rgb[i] = n == MAX_STEPS
				 ? 0
				 : (uint8_t)((stops[stop][i] * (spread - at) + stops[stop + 1][i] * at) /
					     spread);
}

static void draw(const uint32_t *steps, const char *path)
{
	uint8_t *rgb = allocate(WIDTH * HEIGHT, 3);

	for (int i = 0; i < WIDTH * HEIGHT; i++)
		colour(steps[i], rgb + i * 3);
	write_picture(path, rgb, WIDTH, HEIGHT);
	free(rgb);
}

void check_mandelbrot(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "mandelbrot");
	uint32_t *steps = kernel_buffer(&kernel, dev, "steps", WIDTH * HEIGHT * sizeof(*steps));

	kernel_value(&kernel, "left", bits_of(LEFT));
	kernel_value(&kernel, "top", bits_of(TOP));
	kernel_value(&kernel, "pixel", bits_of(PIXEL));
	kernel_value(&kernel, "max_steps", MAX_STEPS);
	kernel_run(&kernel, WIDTH, HEIGHT, 1);

	for (int row = 0; row < HEIGHT; row++) {
		double cy = TOP - (double)row * PIXEL;

		for (int column = 0; column < WIDTH; column++) {
			uint32_t want = count_steps(LEFT + (double)column * PIXEL, cy);

			if (steps[row * WIDTH + column] != want)
				fail("mandelbrot: row %d, column %d: %u steps instead of %u", row, column,
				     steps[row * WIDTH + column], want);
		}
	}
	if (out)
		draw(steps, out);
	passed("mandelbrot", &kernel, "%d x %d pixels, f64%s%s", WIDTH, HEIGHT, out ? ", picture in " : "",
	       out ? out : "");
	kernel_free(&kernel);
}
