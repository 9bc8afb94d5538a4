// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	float *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: an atomic operation on a floating-point number */
	__atomic_fetch_add(&a->x[0], 1.0f, __ATOMIC_RELAXED);
	return 0;
}
