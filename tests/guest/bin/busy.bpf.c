// SPDX-License-Identifier: BSD-3-Clause
/* Kernels that take their time: for guests that lose their GPU while it runs them. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct busy_args {
	__u64 *out;
	__u64 rounds;
};

/* As long as it is told. Each of 256 words is then the rounds, and one more. */
SEC("gpgpu") int busy(struct busy_args *arg)
{
	__u64 n = 0;

	for (__u64 i = 0; i < arg->rounds; i++) {
		n++;
		asm volatile("" : "+r"(n));
	}
	arg->out[gp_global_id(0) & 255] = n + 1;
	return 0;
}

struct endless_args {
	__u64 *out;
};

/* For ever. */
SEC("gpgpu") int endless(struct endless_args *arg)
{
	for (__u64 i = 0; i < ~0ull; i++)
		*(volatile __u64 *)arg->out = i;
	return 0;
}
