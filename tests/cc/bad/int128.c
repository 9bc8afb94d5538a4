// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	double *x;
	__u64 *y;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: integers of more than 64 bits are not there on devices */
	unsigned __int128 p = (unsigned __int128)a->y[0] * a->y[1];

	/* refused: integers of more than 64 bits are not there on devices */
	a->x[0] = (double)p;
	return 0;
}
