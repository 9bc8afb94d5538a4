/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nat64.h - maps of xdp_nat64, what it knows of a packet, and how headers are replaced and checksums follow.
 */
#ifndef EXAMPLES_NAT64_H
#define EXAMPLES_NAT64_H

#include <stdbool.h>
#include <stddef.h>
#include "rewrite.h"

#define MAX_HOSTS    1024
#define MAX_BINDINGS 65536
#define ATTEMPTS     8

enum { /* indices of `totals` */
       TOTAL_MALFORMED, /* dropped */
       TOTAL_OTHER, /* neither to the prefix nor to a host of ours: passed */
       TOTAL_PROTOCOL, /* not translated: passed */
       TOTAL_TTL, /* at its end: passed */
       TOTAL_ROUTE, /* a source route that is not at its end: dropped */
       TOTAL_FRAGMENT, /* that has no state: dropped */
       TOTAL_NO_CHECKSUM, /* UDP over IPv4 may leave it out, over IPv6 not: dropped */
       TOTAL_TOO_LONG, /* for IPv6's side: dropped */
       TOTAL_NO_PORT, /* dropped */
       TOTAL_NO_BINDING, /* to a port of the pool's that nobody has: dropped */
       TOTAL_NO_ROOM, /* dropped */
       TOTAL_BOUND, /* new bindings */
       TOTAL_TO4,
       TOTAL_TO6,
       TOTAL_ERROR4, /* ICMP errors, translated with what they quote */
       TOTAL_ERROR6,
       NUM_TOTALS,
};

struct settings {
	__be32 prefix[3]; /* what IPv4 hosts have in front of their address */
	__be32 pool; /* 0: stateless only */
	__u16 first_port, num_ports; /* of the pool */
	__u8 dst_mac[ETH_ALEN], src_mac[ETH_ALEN]; /* to the next hop, on both sides */
	__u32 mtu; /* of IPv6's side; 0: no limit */
};

struct addr6 {
	__be32 word[4];
};

/* Who a port of the pool stands for. */
struct client {
	struct addr6 addr;
	__be16 port; /* ICMP: an echo's id */
	__u8 proto, pad;
};

struct pool_port {
	__be16 port;
	__u8 proto, pad;
};

struct binding6 {
	__be16 port;
	__u8 pad[6];
	__u64 time; /* ns: of the last packet from the client */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_HOSTS);
	__type(key, struct addr6);
	__type(value, __be32);
} hosts6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_HOSTS);
	__type(key, __be32);
	__type(value, struct addr6);
} hosts4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_BINDINGS);
	__type(key, struct client);
	__type(value, struct binding6);
} bindings6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_BINDINGS);
	__type(key, struct pool_port);
	__type(value, struct client);
} bindings4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUM_TOTALS);
	__type(key, __u32);
	__type(value, struct count);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock);
} clock SEC(".maps");

/* What is known of a packet before it is changed. */
struct packet {
	struct flow flow;
	__u64 bytes; /* of the frame */
	__u64 l4; /* where the header behind IP begins */
	__u32 length; /* from there on */
	__u32 id; /* of a fragment */
	__u16 offset; /* of a fragment: 13 bits; more follow: bit 15 */
	__u8 tags, traffic_class, ttl;
	__u8 is_fragment; /* has a fragment header, or a mark like it */
	__be16 port; /* of this side's end that changes: source to IPv4, destination to IPv6; an echo's id */
};

static __always_inline int drop(__u32 why, const struct packet *p)
{
	count(&totals, why, p->bytes);
	return XDP_DROP;
}

static __always_inline int pass(__u32 why, const struct packet *p)
{
	count(&totals, why, p->bytes);
	return XDP_PASS;
}

/* ------------------------------------------------------------------- changing */

/* What is in front of IP: addresses and up to two VLAN tags. */
struct link {
	__attribute__((
		aligned(4))) __u8 bytes[sizeof(struct ethhdr) + MAX_VLAN_TAGS * sizeof(struct vlan_tag)];
};

static __always_inline void put_link(void *data, const struct link *link, const struct settings *s,
				     __u32 tags, __be16 proto)
{
	copy_header(data, s->dst_mac, ETH_ALEN);
	copy_header(data + ETH_ALEN, s->src_mac, ETH_ALEN);
	/* The last two bytes of each variant say what follows. */
	if (tags == 0) {
		copy_header(data + 12, &proto, 2);
	} else if (tags == 1) {
		copy_header(data + 12, link->bytes + 12, 4);
		copy_header(data + 16, &proto, 2);
	} else {
		copy_header(data + 12, link->bytes + 12, 8);
		copy_header(data + 20, &proto, 2);
	}
}

/*
 * Puts link and IP headers in front of what follows the IP header now. Return: where that is then, or NULL
 * if there is no room.
 */
static __always_inline void *put_headers(struct xdp_md *ctx, const struct packet *p, const struct settings *s,
					 const void *ip, __u32 size, __u16 proto)
{
	__u32 before = sizeof(struct ethhdr) + (p->tags & 3) * sizeof(struct vlan_tag);
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct link link;

	/* IP's own header makes every frame as long as this. */
	if (data + sizeof(link) > end)
		return NULL;
	copy_header(&link, data, sizeof(link));
	if (bpf_xdp_adjust_head(ctx, (int)p->l4 - (int)(before + size)))
		return NULL;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + sizeof(link) > end)
		return NULL;
	put_link(data, &link, s, p->tags, bpf_htons(proto));
	data += before;
	if (data + size > end)
		return NULL;
	copy_header(data, ip, size);
	return data + size;
}

/* Adds a difference to a checksum that is there. */
static __always_inline void update_check(__be16 *check, const void *old, __u32 old_size, const void *new,
					 __u32 new_size)
{
	*check = checksum_fold(
		bpf_csum_diff((__be32 *)old, old_size, (__be32 *)new, new_size, (__u16) ~*check));
}

/* Pseudo headers in words; `last` is the port that changes, or what an ICMP checksum covers instead. */
struct words4 {
	__be32 src, dst, last;
};

struct words6 {
	__be32 src[4], dst[4], last;
};

/* An ICMP checksum has a pseudo header in IPv6 only. Types, codes and ids count as words. */
struct words_icmp4 {
	__be16 type_code, id;
};

struct words_icmp6 {
	__be32 src[4], dst[4], length, proto;
	__be16 type_code, id;
};

/* Ports and checksums at @l4. Return: 0, or -1 if the packet ends too early. */
static __always_inline int fix_transport4(void *l4, void *end, const struct packet *p, const struct iphdr *ip,
					  __be16 port)
{
	struct words6 old = { .last = p->port };
	struct words4 new = { ip->saddr, ip->daddr, port };
	struct tcphdr *tcp = l4;
	struct udphdr *udp = l4;

	__builtin_memcpy(old.src, p->flow.src, sizeof(old.src));
	__builtin_memcpy(old.dst, p->flow.dst, sizeof(old.dst));
	if (p->flow.proto == IPPROTO_TCP) {
		if ((void *)(tcp + 1) > end)
			return -1;
		tcp->source = port;
		update_check(&tcp->check, &old, sizeof(old), &new, sizeof(new));
	} else {
		if ((void *)(udp + 1) > end)
			return -1;
		udp->source = port;
		update_check(&udp->check, &old, sizeof(old), &new, sizeof(new));
		if (!udp->check)
			udp->check = 0xffff;
	}
	return 0;
}

static __always_inline int fix_transport6(void *l4, void *end, const struct packet *p,
					  const struct ipv6hdr *ip, __be16 port)
{
	struct words4 old = { p->flow.src[0], p->flow.dst[0], p->port };
	struct words6 new = { .last = port };
	struct tcphdr *tcp = l4;
	struct udphdr *udp = l4;

	__builtin_memcpy(new.src, &ip->saddr, sizeof(new.src));
	__builtin_memcpy(new.dst, &ip->daddr, sizeof(new.dst));
	if (p->flow.proto == IPPROTO_TCP) {
		if ((void *)(tcp + 1) > end)
			return -1;
		tcp->dest = port;
		update_check(&tcp->check, &old, sizeof(old), &new, sizeof(new));
	} else {
		if ((void *)(udp + 1) > end)
			return -1;
		udp->dest = port;
		update_check(&udp->check, &old, sizeof(old), &new, sizeof(new));
		if (!udp->check)
			udp->check = 0xffff;
	}
	return 0;
}

static __always_inline int fix_echo4(void *l4, void *end, const struct packet *p, __be16 id)
{
	struct words_icmp6 old = { .length = bpf_htonl(p->length), .proto = bpf_htonl(IPPROTO_ICMPV6) };
	struct icmp_header *icmp = l4;
	struct words_icmp4 new;

	if ((void *)(icmp + 1) > end)
		return -1;
	__builtin_memcpy(old.src, p->flow.src, sizeof(old.src));
	__builtin_memcpy(old.dst, p->flow.dst, sizeof(old.dst));
	old.type_code = bpf_htons(icmp->type << 8 | icmp->code);
	old.id = icmp->id;
	icmp->type = icmp->type == ICMP6_ECHO ? ICMP4_ECHO : ICMP4_ECHO_REPLY;
	icmp->id = id;
	new.type_code = bpf_htons(icmp->type << 8 | icmp->code);
	new.id = id;
	update_check(&icmp->check, &old, sizeof(old), &new, sizeof(new));
	return 0;
}

static __always_inline int fix_echo6(void *l4, void *end, const struct packet *p, const struct ipv6hdr *ip,
				     __be16 id)
{
	struct words_icmp6 new = { .length = bpf_htonl(p->length), .proto = bpf_htonl(IPPROTO_ICMPV6) };
	struct icmp_header *icmp = l4;
	struct words_icmp4 old;

	if ((void *)(icmp + 1) > end)
		return -1;
	__builtin_memcpy(new.src, &ip->saddr, sizeof(new.src));
	__builtin_memcpy(new.dst, &ip->daddr, sizeof(new.dst));
	old.type_code = bpf_htons(icmp->type << 8 | icmp->code);
	old.id = icmp->id;
	icmp->type = icmp->type == ICMP4_ECHO ? ICMP6_ECHO : ICMP6_ECHO_REPLY;
	icmp->id = id;
	new.type_code = bpf_htons(icmp->type << 8 | icmp->code);
	new.id = id;
	update_check(&icmp->check, &old, sizeof(old), &new, sizeof(new));
	return 0;
}

#endif
