// SPDX-License-Identifier: BSD-3-Clause
/*
 * matmul - C = A * B in f32, row-major; one work item computes one element.
 *
 * A sum is made in the order of k, each product rounded before it is added, so that the same loop in C (without
 * contraction) gives the same bits.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct matmul_args {
	const __u32 *a; /* rows * inner */
	const __u32 *b; /* inner * columns */
	__u32 *c; /* rows * columns */
	__u64 inner;
};

SEC("gpgpu/matmul")
int matmul(struct matmul_args *arg)
{
	__u64 column = gp_global_id(0), row = gp_global_id(1);
	__u64 columns = gp_global_size(0), inner = arg->inner;
	const __u32 *a = arg->a + row * inner;
	const __u32 *b = arg->b + column;
	__u32 sum = 0;

	for (__u64 k = 0; k < inner; k++) {
		sum = gp_fadd32(sum, gp_fmul32(a[k], *b));
		b += columns;
	}
	arg->c[row * columns + column] = sum;
	return 0;
}
