// SPDX-License-Identifier: BSD-3-Clause
/* bench_count - packets and bytes by IP protocol, in an array for each CPU, and sources in a hash. */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct count {
	__u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct count);
} protocols SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct count);
} sources SEC(".maps");

SEC("xdp")
int count(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct count *c, first = { 1, end - data };
	__u32 proto = 255;
	__u64 source = 0;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return XDP_DROP;
		proto = ip->protocol;
		source = ip->saddr;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end)
			return XDP_DROP;
		proto = ip->nexthdr;
		source = (__u64)ip->saddr.in6_u.u6_addr32[0] << 32 | ip->saddr.in6_u.u6_addr32[3];
	}
	c = bpf_map_lookup_elem(&protocols, &proto);
	if (c) {
		c->packets++;
		c->bytes += end - data;
	}
	c = bpf_map_lookup_elem(&sources, &source);
	if (c) {
		c->packets++;
		c->bytes += end - data;
	} else {
		bpf_map_update_elem(&sources, &source, &first, BPF_NOEXIST);
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
