// SPDX-License-Identifier: BSD-3-Clause
/* Hands the address of a function to a helper: of this section, and of another. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static long first(__u32 i, void *ctx)
{
	return i == 3;
}

__attribute__((noinline)) long second(__u32 i, void *ctx)
{
	return i == 5;
}

SEC("xdp") int callback(struct xdp_md *ctx)
{
	if (bpf_loop(8, first, ctx, 0) == 4 && bpf_loop(8, second, ctx, 0) == 6)
		return XDP_TX;
	return XDP_PASS;
}
