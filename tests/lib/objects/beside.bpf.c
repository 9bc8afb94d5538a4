// SPDX-License-Identifier: BSD-3-Clause
/* A static subprogram in the section of its program: libbpf refuses that, devices have no reason to. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static __attribute__((noinline)) SEC("xdp") int beside(int x)
{
	asm volatile("" : "+r"(x));
	return x & 3;
}

SEC("xdp") int program(struct xdp_md *ctx)
{
	return beside(ctx->data_end - ctx->data);
}
