// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench_lb - the load balancer of the examples, made to be run over and over on one packet.
 *
 * BPF_PROG_TEST_RUN with repeat does not put the packet back between two runs, and the balancer wraps what
 * it sends on. So this takes the outer header off again, on whatever machine it runs.
 */
#define balancer(ctx) \
	unused(void); \
	static __always_inline int balance_one(ctx)
#include "xdp_lb.bpf.c"
#undef balancer

SEC("xdp")
int lb(struct xdp_md *ctx)
{
	struct ethhdr *eth = (void *)(long)ctx->data, save;
	__u64 before = ctx->data_end - ctx->data, after;
	int r;

	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	save = *eth;
	r = balance_one(ctx);
	if (r != XDP_TX)
		return r;
	after = ctx->data_end - ctx->data;
	/* The kernel's verifier takes differences of pointers in 64 bits only. */
	asm volatile("" : "+r"(after));
	if (bpf_xdp_adjust_head(ctx, after - before))
		return XDP_ABORTED;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
	*eth = save;
	return r;
}
