// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	float *x;
};
/* refused: 'six' takes more than five arguments, or a vector or a structure: make it static */
__attribute__((noinline)) float six(float a, float b, float c, float d, float e, float f)
{
	return a * b + c * d + e * f;
}
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	a->x[0] = six(a->x[0], a->x[1], a->x[2], 1, 2, 3);
	return 0;
}
