// SPDX-License-Identifier: BSD-3-Clause
/* Subprograms: global and static ones, called by programs and by each other. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static __attribute__((noinline)) int twice(int x)
{
	asm volatile("" : "+r"(x));
	return x * 2;
}

__attribute__((noinline)) int twice_and_one(int x)
{
	asm volatile("" : "+r"(x));
	return twice(x) + 1;
}

SEC("xdp") int first(struct xdp_md *ctx)
{
	return twice_and_one(ctx->data_end - ctx->data) & 1;
}

SEC("xdp") int second(struct xdp_md *ctx)
{
	return (twice_and_one(ctx->data_end - ctx->data) + twice(1)) & 3;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
