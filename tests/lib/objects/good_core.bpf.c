// SPDX-License-Identifier: BSD-3-Clause
/* Relocations of fields keep what was compiled in. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct own {
	int a, b;
} __attribute__((preserve_access_index));

SEC("xdp") int good(struct xdp_md *ctx)
{
	struct own *own = (void *)(long)ctx->data;

	if ((void *)(own + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	return own->b ? XDP_PASS : XDP_TX;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
