// SPDX-License-Identifier: BSD-3-Clause
/* Kernels that do what they should not: each is refused, or ends with a fault that says why. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct misuse_args {
	__u64 *out;
	__u64 n;
};

/* Only some items of a group get to the barrier. */
SEC("gpgpu") int branch(struct misuse_args *arg)
{
	if (gp_local_id(0) & 1)
		gp_barrier();
	arg->out[gp_global_id(0)] = 1;
	return 0;
}

/* How often an item gets to it depends on what is in a buffer. */
SEC("gpgpu") int turns(struct misuse_args *arg)
{
	for (__u64 i = 0; i < arg->out[gp_local_id(0)]; i++)
		gp_barrier();
	return 0;
}

SEC("gpgpu") int outside(struct misuse_args *arg)
{
	arg->out[gp_global_id(0) + arg->n] = 0x5ec4e7;
	return 0;
}

SEC("gpgpu") int endless(struct misuse_args *arg)
{
	while (*(volatile __u64 *)arg->out != arg->n)
		;
	return 0;
}

/* All of a group together: where one is out of fuel, so are the others. */
SEC("gpgpu") int endless_together(struct misuse_args *arg)
{
	do
		gp_barrier();
	while (gp_broadcast(*(volatile __u64 *)arg->out, 0) != arg->n);
	return 0;
}

/* Writes its number for a while. */
SEC("gpgpu") int write_on(struct misuse_args *arg)
{
	for (__u64 i = 0; i < arg->n; i++)
		*(volatile __u64 *)&arg->out[gp_global_id(0)] = i + 1;
	return 0;
}
