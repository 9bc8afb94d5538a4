// SPDX-License-Identifier: BSD-3-Clause
/* bench_drop - the least that an XDP program can do: what a loop around a program costs. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int drop(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
