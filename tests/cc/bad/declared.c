// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
double sinf(float x, int n);
struct a {
	double *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: 'sinf' is declared otherwise than in <math.h> */
	a->x[0] = sinf(1, 2);
	return 0;
}
