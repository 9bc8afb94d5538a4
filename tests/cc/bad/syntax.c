// SPDX-License-Identifier: BSD-3-Clause
#include <math.h>
#include "gpgpu_bpf.h"
struct a {
	double *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: undeclared library function 'tanh' */
	a->x[0] = tanh(a->x[1]);
	return 0;
}
