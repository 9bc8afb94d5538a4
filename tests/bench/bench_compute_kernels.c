/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_compute_kernels.c - the examples for bench_compute: their input, and the same in plain C and in OpenCL C.
 *
 * Compiled at -O3 for this machine; -ffp-contract=off, so that results are the same bits where all operations are
 * rounded once.
 */
#include <math.h>
#include <string.h>
#include "bench_compute.h"

#define BUFFER(count, type) { .bytes = (uint64_t)(count) * sizeof(type) }
#define VALUE(what, in_c)   { .value = (what), .size = (in_c) }

/* Contraction is for PoCL to leave, too. */
#define CL "#pragma OPENCL FP_CONTRACT OFF\n"

static float *floats(uint8_t *buffer)
{
	return (float *)(void *)buffer;
}

/* 0 .. 1, the same every time. */
static float unit(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(*state >> 8) * 0x1p-24f;
}

static void fill(float *to, uint64_t count, uint32_t state, float low, float high)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = low + (high - low) * unit(&state);
}

/* --------------------------------------------------------------------------- saxpy */

#define SAXPY	(1 << 16)
#define SAXPY_A 0x3a83126fu /* 0.001 */

static void saxpy_fill(uint8_t *const *b)
{
	fill(floats(b[0]), SAXPY, 1, -1, 1);
	fill(floats(b[1]), SAXPY, 2, -1, 1);
}

static void saxpy_twin(uint8_t *const *b)
{
	const float *x = floats(b[0]);
	float *y = floats(b[1]), a;
	uint32_t bits = SAXPY_A;

	memcpy(&a, &bits, sizeof(a));
	for (uint32_t i = 0; i < SAXPY; i++)
		y[i] = a * x[i] + y[i];
}

static const char saxpy_cl[] = CL "kernel void saxpy(global const float *x, global float *y, float a)\n"
				  "{ size_t i = get_global_id(0); y[i] = a * x[i] + y[i]; }\n";

/* -------------------------------------------------------------------- blackscholes */

#define OPTIONS	   (1 << 14)
#define RATE	   0x3ca3d70au /* 0.02 */
#define VOLATILITY 0x3e99999au /* 0.3 */

static void blackscholes_fill(uint8_t *const *b)
{
	fill(floats(b[0]), OPTIONS, 3, 5, 30);
	fill(floats(b[1]), OPTIONS, 4, 1, 100);
	fill(floats(b[2]), OPTIONS, 5, 0.25f, 10);
}

static float normal(float x)
{
	float t = 1 / (1 + 0.2316419f * fabsf(x));
	float tail = t * (0.319381530f +
			  t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));

	tail *= 0.39894228f * expf(-0.5f * x * x);
	return x < 0 ? tail : 1 - tail;
}

static void blackscholes_twin(uint8_t *const *b)
{
	uint32_t bits[2] = { RATE, VOLATILITY };
	float rate, volatility;

	memcpy(&rate, &bits[0], 4);
	memcpy(&volatility, &bits[1], 4);
	for (uint32_t i = 0; i < OPTIONS; i++) {
		float spot = floats(b[0])[i], strike = floats(b[1])[i], years = floats(b[2])[i];
		float spread = volatility * sqrtf(years);
		float d1 = (logf(spot / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
		float d2 = d1 - spread, worth = strike * expf(-rate * years);
		float n1 = normal(d1), n2 = normal(d2);

		floats(b[3])[i] = spot * n1 - worth * n2;
		floats(b[4])[i] = worth * (1 - n2) - spot * (1 - n1);
	}
}

static const char blackscholes_cl[] = CL
	"float normal(float x)\n"
	"{ float t = 1 / (1 + 0.2316419f * fabs(x));\n"
	"float tail = t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * "
	"1.330274429f))));\n"
	"tail *= 0.39894228f * exp(-0.5f * x * x); return x < 0 ? tail : 1 - tail; }\n"
	"kernel void blackscholes(global const float *spots, global const float *strikes, global const float *ys,\n"
	" global float *call, global float *put, float rate, float volatility)\n"
	"{ size_t i = get_global_id(0);\n"
	"float spot = spots[i], strike = strikes[i], years = ys[i];\n"
	"float spread = volatility * sqrt(years);\n"
	"float d1 = (log(spot / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;\n"
	"float d2 = d1 - spread, worth = strike * exp(-rate * years);\n"
	"float n1 = normal(d1), n2 = normal(d2);\n"
	"call[i] = spot * n1 - worth * n2; put[i] = worth * (1 - n2) - spot * (1 - n1); }\n";

/* --------------------------------------------------------------------------- nbody */

#define BODIES 1024
#define DT     0x3c23d70au /* 0.01 */
#define SOFT   0x3a83126fu

static void nbody_fill(uint8_t *const *b)
{
	fill(floats(b[0]), BODIES * 4, 6, 0, 1);
}

static void nbody_twin(uint8_t *const *b)
{
	const float(*from)[4] = (const float(*)[4])(void *)b[0];
	float(*to)[4] = (float(*)[4])(void *)b[1];
	uint32_t bits[2] = { DT, SOFT };
	float dt, soft;

	memcpy(&dt, &bits[0], 4);
	memcpy(&soft, &bits[1], 4);
	for (uint32_t i = 0; i < BODIES; i++) {
		float a[3] = { 0 }, *v = floats(b[2]) + (size_t)i * 3;

		for (uint32_t j = 0; j < BODIES; j++) {
			float dx = from[j][0] - from[i][0], dy = from[j][1] - from[i][1],
			      dz = from[j][2] - from[i][2];
			float r2 = dx * dx + dy * dy + dz * dz + soft;
			float pull = from[j][3] / (r2 * sqrtf(r2));

			a[0] += dx * pull;
			a[1] += dy * pull;
			a[2] += dz * pull;
		}
		for (int k = 0; k < 3; k++) {
			v[k] += a[k] * dt;
			to[i][k] = from[i][k] + v[k] * dt;
		}
		to[i][3] = from[i][3];
	}
}

static const char nbody_cl[] = CL
	"kernel void nbody(global const float4 *from, global float4 *to, global float *velocity, float dt, float "
	"soft)\n"
	"{ size_t i = get_global_id(0), n = get_global_size(0); float4 me = from[i];\n"
	"float ax = 0, ay = 0, az = 0; global float *v = velocity + 3 * i;\n"
	"for (size_t j = 0; j < n; j++) {\n"
	"float dx = from[j].x - me.x, dy = from[j].y - me.y, dz = from[j].z - me.z;\n"
	"float r2 = dx * dx + dy * dy + dz * dz + soft; float pull = from[j].w / (r2 * sqrt(r2));\n"
	"ax += dx * pull; ay += dy * pull; az += dz * pull; }\n"
	"v[0] += ax * dt; v[1] += ay * dt; v[2] += az * dt;\n"
	"to[i] = (float4)(me.x + v[0] * dt, me.y + v[1] * dt, me.z + v[2] * dt, me.w); }\n";

/* -------------------------------------------------------------------------- conv2d */

#define WIDTH  512
#define HEIGHT 128
#define RADIUS 2

static void conv2d_fill(uint8_t *const *b)
{
	fill(floats(b[0]), WIDTH * HEIGHT, 7, 0, 1);
	fill(floats(b[1]), (2 * RADIUS + 1) * (2 * RADIUS + 1), 8, -1, 1);
}

static int within(int x, int size)
{
	return x < 0 ? 0 : x >= size ? size - 1 : x;
}

static void conv2d_twin(uint8_t *const *b)
{
	const float *in = floats(b[0]);

	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			const float *weight = floats(b[1]);
			float sum = 0;

			for (int dy = -RADIUS; dy <= RADIUS; dy++)
				for (int dx = -RADIUS; dx <= RADIUS; dx++)
					sum += *weight++ *
					       in[within(y + dy, HEIGHT) * WIDTH + within(x + dx, WIDTH)];
			floats(b[2])[y * WIDTH + x] = sum;
		}
}

static const char conv2d_cl[] = CL
	"int within(int x, int size) { return x < 0 ? 0 : x >= size ? size - 1 : x; }\n"
	"kernel void conv2d(global const float *in, global const float *weight, global float *out, int radius)\n"
	"{ int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), height = get_global_size(1);\n"
	"float sum = 0;\n"
	"for (int dy = -radius; dy <= radius; dy++) for (int dx = -radius; dx <= radius; dx++)\n"
	"sum += *weight++ * in[within(y + dy, height) * width + within(x + dx, width)];\n"
	"out[y * width + x] = sum; }\n";

/* -------------------------------------------------------------------------- matmul */

#define SIDE 256

static void matmul_fill(uint8_t *const *b)
{
	fill(floats(b[0]), SIDE * SIDE, 9, -1, 1);
	fill(floats(b[1]), SIDE * SIDE, 10, -1, 1);
}

static void matmul_twin(uint8_t *const *b)
{
	for (uint32_t y = 0; y < SIDE; y++)
		for (uint32_t x = 0; x < SIDE; x++) {
			float sum = 0;

			for (uint32_t k = 0; k < SIDE; k++)
				sum += floats(b[0])[y * SIDE + k] * floats(b[1])[k * SIDE + x];
			floats(b[2])[y * SIDE + x] = sum;
		}
}

static const char matmul_cl[] = CL
	"kernel void matmul(global const float *a, global const float *b, global float *c, ulong inner)\n"
	"{ size_t x = get_global_id(0), y = get_global_id(1), columns = get_global_size(0); float sum = 0;\n"
	"for (size_t k = 0; k < inner; k++) sum += a[y * inner + k] * b[k * columns + x];\n"
	"c[y * columns + x] = sum; }\n";

static const char tiled_cl[] = CL
	"kernel void matmul_tiled(global const float *a, global const float *b, global float *c, ulong rows, ulong "
	"inner, ulong columns)\n"
	"{ local float ta[16][16], tb[16][16]; size_t x = get_local_id(0), y = get_local_id(1);\n"
	"size_t column = get_global_id(0), row = get_global_id(1); float sum = 0;\n"
	"for (size_t first = 0; first < inner; first += 16) { size_t left = inner - first;\n"
	"ta[y][x] = row < rows && x < left ? a[row * inner + first + x] : 0;\n"
	"tb[y][x] = column < columns && y < left ? b[(first + y) * columns + column] : 0;\n"
	"barrier(CLK_LOCAL_MEM_FENCE); if (left > 16) left = 16;\n"
	"for (size_t k = 0; k < left; k++) sum += ta[y][k] * tb[k][x];\n"
	"barrier(CLK_LOCAL_MEM_FENCE); }\n"
	"if (row < rows && column < columns) c[row * columns + column] = sum; }\n";

/* ---------------------------------------------------------------------- mandelbrot */

#define POINTS_X 256
#define POINTS_Y 128
#define STEPS	 200
#define LEFT	 0xc000000000000000ull /* -2 */
#define TOP	 0x3ff0000000000000ull /* 1 */
#define PIXEL	 0x3f88000000000000ull /* 3 / 256 */

static void mandelbrot_fill(uint8_t *const *b)
{
}

static double f64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static void mandelbrot_twin(uint8_t *const *b)
{
	uint32_t *steps = (uint32_t *)(void *)b[0];

	for (uint32_t row = 0; row < POINTS_Y; row++)
		for (uint32_t column = 0; column < POINTS_X; column++) {
			double cx = f64(LEFT) + column * f64(PIXEL), cy = f64(TOP) - row * f64(PIXEL), x = 0,
			       y = 0;
			uint32_t n;

			for (n = 0; n < STEPS; n++) {
				double xx = x * x, yy = y * y, xy = x * y;

				if (!(xx + yy <= 4.0))
					break;
				x = xx - yy + cx;
				y = xy + xy + cy;
			}
			steps[row * POINTS_X + column] = n;
		}
}

static const char mandelbrot_cl[] = CL
	"kernel void mandelbrot(global uint *steps, double left, double top, double pixel, ulong max_steps)\n"
	"{ size_t column = get_global_id(0), row = get_global_id(1);\n"
	"double cx = left + column * pixel, cy = top - row * pixel, x = 0, y = 0; ulong n;\n"
	"for (n = 0; n < max_steps; n++) { double xx = x * x, yy = y * y, xy = x * y;\n"
	"if (!(xx + yy <= 4.0)) break; x = xx - yy + cx; y = xy + xy + cy; }\n"
	"steps[row * get_global_size(0) + column] = n; }\n";

#define MATRICES BUFFER(SIDE *SIDE, float), BUFFER(SIDE *SIDE, float), BUFFER(SIDE *SIDE, float)

const struct compute compute_kernels[] = {
	{ "saxpy",
	  { SAXPY, 1 },
	  { 1, 1 },
	  false,
	  3,
	  { BUFFER(SAXPY, float), BUFFER(SAXPY, float), VALUE(SAXPY_A, 4) },
	  saxpy_fill,
	  saxpy_twin,
	  saxpy_cl },
	{ "blackscholes",
	  { OPTIONS, 1 },
	  { 1, 1 },
	  false,
	  7,
	  { BUFFER(OPTIONS, float), BUFFER(OPTIONS, float), BUFFER(OPTIONS, float), BUFFER(OPTIONS, float),
	    BUFFER(OPTIONS, float), VALUE(RATE, 4), VALUE(VOLATILITY, 4) },
	  blackscholes_fill,
	  blackscholes_twin,
	  blackscholes_cl },
	{ "nbody",
	  { BODIES, 1 },
	  { 1, 1 },
	  false,
	  5,
	  { BUFFER(BODIES * 4, float), BUFFER(BODIES * 4, float), BUFFER(BODIES * 3, float), VALUE(DT, 4),
	    VALUE(SOFT, 4) },
	  nbody_fill,
	  nbody_twin,
	  nbody_cl },
	{ "conv2d",
	  { WIDTH, HEIGHT },
	  { 1, 1 },
	  false,
	  4,
	  { BUFFER(WIDTH * HEIGHT, float), BUFFER((2 * RADIUS + 1) * (2 * RADIUS + 1), float),
	    BUFFER(WIDTH *HEIGHT, float), VALUE(RADIUS, 4) },
	  conv2d_fill,
	  conv2d_twin,
	  conv2d_cl },
	{ "matmul",
	  { SIDE, SIDE },
	  { 1, 1 },
	  false,
	  4,
	  { MATRICES, VALUE(SIDE, 8) },
	  matmul_fill,
	  matmul_twin,
	  matmul_cl },
	{ "matmul_tiled",
	  { SIDE, SIDE },
	  { 16, 16 },
	  false,
	  6,
	  { MATRICES, VALUE(SIDE, 8), VALUE(SIDE, 8), VALUE(SIDE, 8) },
	  matmul_fill,
	  matmul_twin,
	  tiled_cl },
	{ "mandelbrot",
	  { POINTS_X, POINTS_Y },
	  { 1, 1 },
	  true,
	  5,
	  { BUFFER(POINTS_X * POINTS_Y, uint32_t), VALUE(LEFT, 8), VALUE(TOP, 8), VALUE(PIXEL, 8),
	    VALUE(STEPS, 8) },
	  mandelbrot_fill,
	  mandelbrot_twin,
	  mandelbrot_cl },
	{ 0 },
};
