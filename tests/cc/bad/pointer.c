// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	float *x;
	int n GP_SLOT;
};
static __attribute__((noinline)) float one(float x)
{
	return x + 1;
}
static __attribute__((noinline)) float two(float x)
{
	return x * 2;
}
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	float (*volatile f)(float) = a->n ? one : two;

	/* refused: a call through a pointer: devices call functions that they know */
	a->x[0] = f(a->x[1]);
	return 0;
}
