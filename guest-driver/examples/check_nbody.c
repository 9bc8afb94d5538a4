// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_nbody.c - three steps of bodies, every bit: the kernel uses nothing that is not rounded once. Compiled
 * without contraction, as the kernel computes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BODIES 333 /* no multiple of anything */
#define STEPS  3
#define DT     0.01f
#define SOFT   1e-3f

struct body {
	float x, y, z, mass;
};

static uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static void step(const struct body *from, struct body *to, float *velocity)
{
	for (int i = 0; i < BODIES; i++) {
		float a[3] = { 0 }, *v = velocity + (size_t)i * 3;

		for (int j = 0; j < BODIES; j++) {
			float dx = from[j].x - from[i].x, dy = from[j].y - from[i].y,
			      dz = from[j].z - from[i].z;
			float r2 = dx * dx + dy * dy + dz * dz + SOFT;
			float pull = from[j].mass / (r2 * sqrtf(r2));

			a[0] += dx * pull;
			a[1] += dy * pull;
			a[2] += dz * pull;
		}
		for (int k = 0; k < 3; k++)
			v[k] += a[k] * DT;
		to[i] = (struct body){ from[i].x + v[0] * DT, from[i].y + v[1] * DT, from[i].z + v[2] * DT,
				       from[i].mass };
	}
}

void check_nbody(struct gpgpu_device *dev, const char *out)
{
	struct kernel kernel = kernel_load(dev, "nbody");
	struct body *from = kernel_buffer(&kernel, dev, "from", BODIES * sizeof(*from));
	struct body *to = kernel_buffer(&kernel, dev, "to", BODIES * sizeof(*to));
	float *velocity = kernel_buffer(&kernel, dev, "velocity", BODIES * 3 * sizeof(*velocity));
	struct body *now = allocate(BODIES, sizeof(*now)), *next = allocate(BODIES, sizeof(*next)), *swap;
	float *v = allocate(BODIES, 3 * sizeof(*v));
	uint64_t state = 3;

	for (int i = 0; i < BODIES; i++) {
		float r[4];

		for (int k = 0; k < 4; k++)
			r[k] = random_unit(&state);
		now[i] = from[i] = (struct body){ r[0], r[1], r[2], r[3] / BODIES };
	}
	kernel_value(&kernel, "dt", bits_of(DT));
	kernel_value(&kernel, "softening", bits_of(SOFT));
	for (int s = 0; s < STEPS; s++) {
		step(now, next, v);
		kernel_run_group(&kernel, (uint32_t[]){ BODIES, 1, 1 }, (uint32_t[]){ 32, 1, 1 });
		if (memcmp(to, next, BODIES * sizeof(*to)) || memcmp(velocity, v, BODIES * 3 * sizeof(*v)))
			fail("nbody: step %d is another", s);
		memcpy(from, to, BODIES * sizeof(*to));
		swap = now;
		now = next;
		next = swap;
	}
	free(now);
	free(next);
	free(v);
	passed("nbody", &kernel, "%d bodies, %d steps, f32, every bit", BODIES, STEPS);
	kernel_free(&kernel);
}
