// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	float *x;
};
static float walk(float *x, int n)
{
	/* refused: recursion: 'walk' is called while it runs */
	return n < 2 ? x[n] : walk(x, n - 1) * walk(x, n - 2);
}
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	a->x[0] = walk(a->x, 20);
	return 0;
}
