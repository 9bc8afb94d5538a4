// SPDX-License-Identifier: BSD-3-Clause
/* A map with flags that only a kernel understands. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_RDONLY);
	__type(key, __u32);
	__type(value, __u32);
} map SEC(".maps");

SEC("xdp") int bad(struct xdp_md *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&map, &key) ? XDP_PASS : XDP_DROP;
}
