// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	double *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: inline assembly: a device's instructions are not known when this is compiled */
	asm volatile("r0 = 1" ::: "r0");
	return 0;
}
