// SPDX-License-Identifier: BSD-3-Clause
/*
 * nbody - one step of bodies that attract each other, in f32: each work item moves one of them. In plain C, for
 * gpgpu-cc.
 *
 * Positions are read from one buffer and written to another, so that all bodies see the same moment.
 */
#include <math.h>
#include "gpgpu_bpf.h"

struct body {
	float x, y, z, mass;
};

struct nbody_args {
	const struct body *from;
	struct body *to;
	float *velocity; /* three for each body */
	float dt GP_SLOT;
	float softening GP_SLOT; /* squared; keeps near ones apart */
};

__attribute__((section("gpgpu/nbody"), used)) int nbody(struct nbody_args *arg)
{
	__u64 i = gp_global_id(0), n = gp_global_size(0);
	const struct body *from = arg->from;
	struct body me = from[i];
	float ax = 0, ay = 0, az = 0, dt = arg->dt, softening = arg->softening;
	float *v = arg->velocity + 3 * i;

	for (__u64 j = 0; j < n; j++) {
		float dx = from[j].x - me.x, dy = from[j].y - me.y, dz = from[j].z - me.z;
		float r2 = dx * dx + dy * dy + dz * dz + softening;
		float pull = from[j].mass / (r2 * sqrtf(r2));

		ax += dx * pull;
		ay += dy * pull;
		az += dz * pull;
	}
	v[0] += ax * dt;
	v[1] += ay * dt;
	v[2] += az * dt;
	arg->to[i] = (struct body){ me.x + v[0] * dt, me.y + v[1] * dt, me.z + v[2] * dt, me.mass };
	return 0;
}
