// SPDX-License-Identifier: BSD-3-Clause
/*
 * saxpy - y = a * x + y in f32, one element per work item; the smallest kernel that does something.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct saxpy_args {
	const __u32 *x;
	__u32 *y;
	__u64 a; /* f32, low half */
};

SEC("gpgpu/saxpy")
int saxpy(struct saxpy_args *arg)
{
	__u64 i = gp_global_id(0);

	arg->y[i] = gp_fadd32(gp_fmul32(arg->a, arg->x[i]), arg->y[i]);
	return 0;
}
