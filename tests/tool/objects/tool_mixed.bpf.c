// SPDX-License-Identifier: BSD-3-Clause
/* One program that is accepted, two that are not, and one that faults. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static __attribute__((noinline)) int twice(int n)
{
	return n + n;
}

SEC("xdp") int good(struct xdp_md *ctx)
{
	return twice((int)ctx->rx_queue_index) ? XDP_PASS : XDP_DROP;
}

SEC("xdp") int bad_context(struct xdp_md *ctx)
{
	return *(volatile int *)((char *)ctx + 400); /* refused */
}

SEC("xdp") int bad_helper(struct xdp_md *ctx)
{
	return (int)bpf_get_current_pid_tgid();
}

SEC("xdp") int faults(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;

	return data[1 << 20] + 1; /* outside */
}

char _license[] SEC("license") = "GPL";
