// SPDX-License-Identifier: BSD-3-Clause
/* A map of a kind that devices do not have. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

SEC("xdp") int to_socket(struct xdp_md *ctx)
{
	return (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
