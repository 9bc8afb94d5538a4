/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet.h - what the two XDP examples know of packets: headers with their bounds checks.
 *
 * Everything is read through a pointer that was compared with data_end just before, which is what the kernel's
 * verifier asks for; loops are bounded, and offsets stay below MAX_HEADERS.
 */
#ifndef EXAMPLES_PACKET_H
#define EXAMPLES_PACKET_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_VLAN_TAGS	   2
#define MAX_EXT_HEADERS	   6 /* IPv6 extension headers that are looked past */

#define IP_MORE_FRAGMENTS  0x2000
#define IP_FRAGMENT_OFFSET 0x1fff

#ifndef IPPROTO_MH
#define IPPROTO_MH 135
#endif

struct vlan_tag {
	__be16 tci;
	__be16 next_proto;
};

struct ext_header {
	__u8 next;
	__u8 length; /* in 8 bytes, less the first; authentication: in 4, less two */
};

struct fragment_header {
	__u8 next, reserved;
	__be16 offset; /* in 8 bytes, upper 13 bits; lowest bit: more follow */
	__be32 id;
};

/* Of IPv4 and IPv6 both; <linux/icmp.h> wants a C library that BPF has not. */
struct icmp_header {
	__u8 type, code;
	__be16 check;
	__be16 id, sequence; /* of an echo; errors: other things */
};

enum {
	ICMP4_ECHO_REPLY = 0,
	ICMP4_UNREACHABLE = 3,
	ICMP4_ECHO = 8,
	ICMP4_TIME_EXCEEDED = 11,
	ICMP6_UNREACHABLE = 1,
	ICMP6_TOO_BIG = 2,
	ICMP6_TIME_EXCEEDED = 3,
	ICMP6_PARAMETER = 4,
	ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY = 129,
};

struct ports {
	__be16 source, dest;
};

/* A position in a packet. */
struct cursor {
	void *pos, *end;
};

/* What was found; addresses of IPv4 are in the first word. */
struct flow {
	__be32 src[4], dst[4];
	__be16 sport, dport;
	__u16 family; /* ETH_P_IP or ETH_P_IPV6, host order; 0: another protocol */
	__u8 proto;
	__u8 fragment; /* FRAGMENT_* */
};

enum {
	FRAGMENT_NONE,
	FRAGMENT_FIRST, /* has the ports */
	FRAGMENT_LATER, /* has none */
};

/* Return: 0, or -1 if the packet ends too early. */
static __always_inline int parse_ethernet(struct cursor *c, __u16 *proto, __u16 *tags)
{
	struct ethhdr *eth = c->pos;
	__be16 next;

	if ((void *)(eth + 1) > c->end)
		return -1;
	next = eth->h_proto;
	c->pos = eth + 1;
	*tags = 0;
#pragma unroll
	for (int i = 0; i < MAX_VLAN_TAGS; i++) {
		struct vlan_tag *tag = c->pos;

		if (next != bpf_htons(ETH_P_8021Q) && next != bpf_htons(ETH_P_8021AD))
			break;
		if ((void *)(tag + 1) > c->end)
			return -1;
		next = tag->next_proto;
		c->pos = tag + 1;
		*tags += 1;
	}
	*proto = bpf_ntohs(next);
	return 0;
}

static __always_inline int parse_ipv4(struct cursor *c, struct flow *f)
{
	struct iphdr *ip = c->pos;
	__u32 length;
	__u16 fragment;

	if ((void *)(ip + 1) > c->end)
		return -1;
	length = ip->ihl * 4;
	if (ip->version != 4 || length < sizeof(*ip))
		return -1;
	if (c->pos + length > c->end)
		return -1;
	fragment = bpf_ntohs(ip->frag_off);
	f->family = ETH_P_IP;
	f->src[0] = ip->saddr;
	f->dst[0] = ip->daddr;
	f->proto = ip->protocol;
	if (fragment & IP_FRAGMENT_OFFSET)
		f->fragment = FRAGMENT_LATER;
	else if (fragment & IP_MORE_FRAGMENTS)
		f->fragment = FRAGMENT_FIRST;
	c->pos += length;
	return 0;
}

static __always_inline int parse_ipv6(struct cursor *c, struct flow *f)
{
	struct ipv6hdr *ip = c->pos;
	__u8 next;

	if ((void *)(ip + 1) > c->end || ip->version != 6)
		return -1;
	f->family = ETH_P_IPV6;
	__builtin_memcpy(f->src, &ip->saddr, sizeof(f->src));
	__builtin_memcpy(f->dst, &ip->daddr, sizeof(f->dst));
	next = ip->nexthdr;
	c->pos = ip + 1;
	for (int i = 0; i < MAX_EXT_HEADERS; i++) {
		struct ext_header *ext = c->pos;
		struct fragment_header *frag = c->pos;
		__u32 length;

		switch (next) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_MH:
			if ((void *)(ext + 1) > c->end)
				return -1;
			length = (ext->length + 1) * 8;
			break;
		case IPPROTO_AH:
			if ((void *)(ext + 1) > c->end)
				return -1;
			length = (ext->length + 2) * 4;
			break;
		case IPPROTO_FRAGMENT:
			if ((void *)(frag + 1) > c->end)
				return -1;
			length = sizeof(*frag);
			if (frag->offset & bpf_htons(0xfff8)) {
				f->fragment = FRAGMENT_LATER;
				f->proto = frag->next;
				c->pos = frag + 1;
				return 0;
			}
			f->fragment = FRAGMENT_FIRST;
			break;
		default:
			f->proto = next;
			return 0;
		}
		next = ext->next;
		c->pos += length;
		if (c->pos > c->end)
			return -1;
	}
	/* Longer chains are somebody hiding something. */
	return -1;
}

/* Return: 0 with ports, or without for protocols that have none; -1 if the packet ends too early. */
static __always_inline int parse_ports(struct cursor *c, struct flow *f)
{
	struct ports *p = c->pos;

	if (f->fragment == FRAGMENT_LATER || (f->proto != IPPROTO_TCP && f->proto != IPPROTO_UDP))
		return 0;
	if ((void *)(p + 1) > c->end)
		return -1;
	f->sport = p->source;
	f->dport = p->dest;
	return 0;
}

#endif
