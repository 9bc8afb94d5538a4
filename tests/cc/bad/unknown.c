// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
double lgamma(double);
struct a {
	double *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: 'lgamma' is neither in this file nor a function that devices have */
	a->x[0] = lgamma(a->x[1]);
	return 0;
}
