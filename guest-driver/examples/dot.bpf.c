// SPDX-License-Identifier: BSD-3-Clause
/*
 * dot - the dot product of two vectors in f32: each item sums every global_size(0)-th product, each group adds its items'
 * sums up, and leaves one number.
 *
 * gp_reduce adds in an order that is the same on every device, so the result has the same bits on all of them.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct dot_args {
	const __u32 *x;
	const __u32 *y;
	__u32 *sums; /* one of each group */
	__u64 n;
};

SEC("gpgpu/dot")
int dot(struct dot_args *arg)
{
	__u64 step = gp_global_size(0), n = arg->n;
	const __u32 *x = arg->x, *y = arg->y;
	__u32 sum = 0;

	for (__u64 i = gp_global_id(0); i < n; i += step)
		sum = gp_fma32(x[i], y[i], sum);
	sum = gp_reduce(sum, GP_FADD32);
	if (!gp_local_id(0))
		arg->sums[gp_group_id(0)] = sum;
	return 0;
}
