// SPDX-License-Identifier: BSD-3-Clause
/* A map that no device can make, and one that it can. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 30);
	__uint(key_size, 64);
	__uint(value_size, 4096);
} huge SEC(".maps");

SEC("xdp") int uses_huge(struct xdp_md *ctx)
{
	char key[64] = { 0 };

	return bpf_map_lookup_elem(&huge, key) ? XDP_PASS : XDP_DROP;
}

SEC("xdp") int uses_none(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
