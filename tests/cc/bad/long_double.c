// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	double *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: 'long double' */
	long double q = a->x[0];

	/* refused: 'long double' */
	q *= 1.1L;
	/* refused: 'long double' */
	a->x[1] = q;
	return 0;
}
