// SPDX-License-Identifier: BSD-3-Clause
/*
 * check_kmeans.c - clusters of points that were drawn around a few places, against Lloyd's method in plain C, every bit: sums are
 * made in the order of the device's reduction. Compiled without contraction, as the kernel computes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MAX_ROUNDS 12

struct point {
	float x, y;
};

struct state {
	const struct point *points;
	struct point *centres;
	uint32_t *labels;
	uint32_t n, k, group;
	float *x, *y; /* one for each item */
};

static uint32_t nearest(const struct state *s, struct point p)
{
	float least = 0;
	uint32_t best = 0;

	for (uint32_t c = 0; c < s->k; c++) {
		float dx = p.x - s->centres[c].x, dy = p.y - s->centres[c].y, distance = dx * dx + dy * dy;

		if (c && distance >= least)
			continue;
		least = distance;
		best = c;
	}
	return best;
}

static void move_centre(struct state *s, uint32_t c)
{
	uint32_t count = 0;

	memset(s->x, 0, s->group * sizeof(*s->x));
	memset(s->y, 0, s->group * sizeof(*s->y));
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->labels[i] != c)
			continue;
		s->x[i % s->group] += s->points[i].x;
		s->y[i % s->group] += s->points[i].y;
		count++;
	}
	if (count)
		s->centres[c] = (struct point){ group_sum(s->x, s->group) / (float)count,
						group_sum(s->y, s->group) / (float)count };
}

/* Return: how many rounds it took. */
static uint32_t lloyd(struct state *s)
{
	uint32_t round, changed = 1;

	for (round = 0; round < MAX_ROUNDS && changed; round++) {
		changed = 0;
		for (uint32_t i = 0; i < s->n; i++) {
			uint32_t label = nearest(s, s->points[i]);

			changed += !round || label != s->labels[i];
			s->labels[i] = label;
		}
		for (uint32_t c = 0; c < s->k; c++)
			move_centre(s, c);
	}
	return round;
}

static void clusters_of(struct gpgpu_device *dev, uint32_t n, uint32_t k, uint32_t group)
{
	struct kernel kernel = kernel_load(dev, "kmeans");
	struct point *points = kernel_buffer(&kernel, dev, "points", n * sizeof(*points));
	struct point *centres = kernel_buffer(&kernel, dev, "centres", k * sizeof(*centres));
	uint32_t *labels = kernel_buffer(&kernel, dev, "labels", n * sizeof(*labels));
	uint32_t *rounds = kernel_buffer(&kernel, dev, "rounds", sizeof(*rounds)), want;
	struct state s = { .points = points, .n = n, .k = k, .group = group };
	uint64_t random = 24;

	for (uint32_t i = 0; i < n; i++)
		points[i] = (struct point){ (float)(i % k) + random_float(&random),
					    (float)(i % k * i % 7) + random_float(&random) };
	s.centres = allocate(k, sizeof(*s.centres));
	s.labels = allocate(n, sizeof(*s.labels));
	s.x = allocate(group, sizeof(*s.x));
	s.y = allocate(group, sizeof(*s.y));
	for (uint32_t c = 0; c < k; c++)
		s.centres[c] = centres[c] = points[c * (n / k)];
	/* One that no point is near, so that it stays. */
	s.centres[k - 1] = centres[k - 1] = (struct point){ -1000, 1000 };
	kernel_value(&kernel, "n", n);
	kernel_value(&kernel, "k", k);
	kernel_value(&kernel, "max_rounds", MAX_ROUNDS);
	kernel_run_group(&kernel, (uint32_t[]){ group, 1, 1 }, (uint32_t[]){ group, 1, 1 });
	want = lloyd(&s);
	if (*rounds != want)
		fail("kmeans: %u rounds instead of %u", *rounds, want);
	if (memcmp(labels, s.labels, n * sizeof(*labels)))
		fail("kmeans: a point belongs elsewhere");
	if (memcmp(centres, s.centres, k * sizeof(*centres)))
		fail("kmeans: a centre is elsewhere");
	passed("kmeans", &kernel, "%u points, %u centres, %u rounds by %u items, f32, every bit", n, k, want,
	       group);
	free(s.centres);
	free(s.labels);
	free(s.x);
	free(s.y);
	kernel_free(&kernel);
}

void check_kmeans(struct gpgpu_device *dev, const char *out)
{
	clusters_of(dev, 2048, 8, 128);
	clusters_of(dev, 1777, 5, 100);
}
