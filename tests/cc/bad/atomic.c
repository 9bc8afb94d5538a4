// SPDX-License-Identifier: BSD-3-Clause
#include "gpgpu_bpf.h"
struct a {
	__fp16 *x;
};
__attribute__((section("gpgpu/k"), used)) int k(struct a *a)
{
	/* refused: arithmetic of this type is not there on devices */
	__atomic_fetch_add(&a->x[0], 1.0f, __ATOMIC_RELAXED);
	return 0;
}
