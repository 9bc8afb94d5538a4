// SPDX-License-Identifier: BSD-3-Clause
/* Hands the address of a function to a helper. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static long callback(__u32 i, void *ctx)
{
	return 0;
}

SEC("xdp") int bad(struct xdp_md *ctx)
{
	bpf_loop(8, callback, ctx, 0);
	return XDP_PASS;
}
