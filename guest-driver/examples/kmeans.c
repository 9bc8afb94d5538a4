// SPDX-License-Identifier: BSD-3-Clause
/*
 * kmeans - clusters of points in the plane by Lloyd's method, in f32, by one group: each point goes to the nearest centre, each centre
 * to the middle of its points, until no point changes. In plain C, for gpgpu-cc.
 *
 * Sums over the group come from gp_reduce, which adds in the same order on every device, so the centres have the same
 * bits on all of them. A centre without points stays where it is.
 */
#include "gpgpu_bpf.h"

#define MAX_CENTRES 64

struct point {
	float x, y;
};

struct kmeans_args {
	const struct point *points;
	struct point *centres; /* in: where to begin */
	__u32 *labels; /* which centre each point belongs to */
	__u32 *rounds; /* out: how many it took */
	__u64 n, k, max_rounds;
};

GP_LOCAL struct point centre[MAX_CENTRES];

static inline __attribute__((always_inline)) float group_sum(float x)
{
	union {
		float f;
		__u32 u;
	} v = { .f = x };

	v.u = gp_reduce(v.u, GP_FADD32);
	return v.f;
}

static inline __u32 nearest(struct point p, __u64 k)
{
	float least = 0;
	__u32 best = 0;

	for (__u32 c = 0; c < k; c++) {
		float dx = p.x - centre[c & (MAX_CENTRES - 1)].x, dy = p.y - centre[c & (MAX_CENTRES - 1)].y;
		float distance = dx * dx + dy * dy;

		if (c && distance >= least)
			continue;
		least = distance;
		best = c;
	}
	return best;
}

/* The middle of the points that have the label. All items of the group come here. */
static inline __attribute__((always_inline)) void move_centre(struct kmeans_args *arg, __u64 c, __u64 item,
							      __u64 size, __u64 n)
{
	float x = 0, y = 0;
	__u64 count = 0;

	for (__u64 i = item; i < n; i += size) {
		if (arg->labels[i] != c)
			continue;
		x += arg->points[i].x;
		y += arg->points[i].y;
		count++;
	}
	x = group_sum(x);
	y = group_sum(y);
	count = gp_reduce(count, GP_ADD);
	if (!item && count)
		centre[c & (MAX_CENTRES - 1)] = (struct point){ x / (float)count, y / (float)count };
}

__attribute__((section("gpgpu/kmeans"), used)) int kmeans(struct kmeans_args *arg)
{
	__u64 item = gp_local_id(0), size = gp_local_size(0), n = arg->n, k = arg->k, max = arg->max_rounds;
	__u64 changed = 1, round;

	if (k > MAX_CENTRES || !k)
		return 1;
	for (__u64 c = item; c < k; c += size)
		centre[c & (MAX_CENTRES - 1)] = arg->centres[c];
	gp_barrier();
	for (round = 0; round < max && changed; round++) {
		changed = 0;
		for (__u64 i = item; i < n; i += size) {
			__u32 label = nearest(arg->points[i], k);

			changed += !round || label != arg->labels[i];
			arg->labels[i] = label;
		}
		changed = gp_reduce(changed, GP_ADD);
		for (__u64 c = 0; c < k; c++)
			move_centre(arg, c, item, size, n);
		gp_barrier();
	}
	for (__u64 c = item; c < k; c += size)
		arg->centres[c] = centre[c & (MAX_CENTRES - 1)];
	if (!item)
		*arg->rounds = (__u32)round;
	return 0;
}
