// SPDX-License-Identifier: BSD-3-Clause
/*
 * bench_parse - headers only, no map: Ethernet with two VLAN tags, IPv4 with options, IPv6 with extension headers, TCP and
 * UDP. Passes well-formed TCP and UDP to ports below 1024, drops the rest.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct tag {
	__be16 tci, proto;
};

struct extension {
	__u8 next, length;
	__u8 rest[6];
};

SEC("xdp")
int parse(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	void *at = eth + 1;
	__be16 *ports;
	__be16 proto;
	__u8 next;

	if (at > end)
		return XDP_DROP;
	proto = eth->h_proto;
	for (int i = 0; i < 2; i++) {
		struct tag *tag = at;

		if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD))
			break;
		at = tag + 1;
		if (at > end)
			return XDP_DROP;
		proto = tag->proto;
	}
	if (proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = at;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
			return XDP_DROP;
		if (ip->frag_off & bpf_htons(0x1fff))
			return XDP_PASS;
		next = ip->protocol;
		at += ip->ihl * 4;
	} else if (proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = at;

		at = ip + 1;
		if (at > end || ip->version != 6)
			return XDP_DROP;
		next = ip->nexthdr;
		for (int i = 0; i < 4; i++) {
			struct extension *ext = at;

			if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
				break;
			if ((void *)(ext + 1) > end)
				return XDP_DROP;
			next = ext->next;
			at += (ext->length + 1) * 8;
		}
	} else {
		return XDP_PASS;
	}
	if (next != IPPROTO_TCP && next != IPPROTO_UDP)
		return XDP_DROP;
	ports = at;
	if ((void *)(ports + 2) > end)
		return XDP_DROP;
	return bpf_ntohs(ports[1]) < 1024 ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
