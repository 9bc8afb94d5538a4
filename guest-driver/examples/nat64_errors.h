/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nat64_errors.h - ICMP errors of xdp_nat64 (RFC 7915, 4.2 to 5.3).
 *
 * An error quotes the packet that it is about, as it was where the error was made, so what is quoted is translated
 * as well: three headers are replaced in one piece, and ports and checksum behind them.
 */
#ifndef EXAMPLES_NAT64_ERRORS_H
#define EXAMPLES_NAT64_ERRORS_H

#include "nat64.h"

/* What an error is in the other protocol. */
struct error {
	__u8 type, code;
	__be16 check; /* 0 */
	__be32 rest; /* MTU or pointer */
};

struct error4 {
	struct iphdr outer;
	struct error icmp;
	struct iphdr inner;
};

struct error6 {
	struct ipv6hdr outer;
	struct error icmp;
	struct ipv6hdr inner;
};

/* Behind a quoted IP header: ports, and of UDP length and checksum. */
struct quoted {
	__be16 sport, dport, length, check;
};

/* What the checksum of an error covered and covers; what is behind stays. */
struct sum4 {
	struct error icmp;
	struct iphdr inner;
	struct quoted quoted;
};

struct sum6 {
	__be32 src[4], dst[4], length, proto;
	struct error icmp;
	struct ipv6hdr inner;
	struct quoted quoted;
};

/* All that, which is too much for the stack. */
struct scratch {
	struct sum4 sum4;
	struct error4 error4;
	struct sum6 sum6;
	struct error6 error6;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline struct scratch *scratch_of_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/* RFC 7915, 4.2. Return: 0, or -1 for what has no counterpart. */
static __always_inline int error_to6(const struct error *from, struct error *to)
{
	__u32 mtu = (bpf_ntohl(from->rest) & 0xffff) + sizeof(struct ipv6hdr) - sizeof(struct iphdr);

	*to = (struct error){ .type = ICMP6_UNREACHABLE };
	if (from->type == ICMP4_TIME_EXCEEDED) {
		to->type = ICMP6_TIME_EXCEEDED;
		to->code = from->code;
		return 0;
	}
	switch (from->code) {
	case 2: /* no such protocol: its place in the header is at fault */
		to->type = ICMP6_PARAMETER;
		to->code = 1;
		to->rest = bpf_htonl(6);
		return 0;
	case 3: /* no such port */
		to->code = 4;
		return 0;
	case 4: /* too big; routers that do not say how big are older than IPv6 */
		to->type = ICMP6_TOO_BIG;
		to->rest = bpf_htonl(mtu < 1280 ? 1280 : mtu);
		return 0;
	case 9:
	case 10:
	case 13:
	case 15: /* not allowed */
		to->code = 1;
		return 0;
	default:
		return from->code > 15 || from->code == 14 ? -1 : 0;
	}
}

/* The same, 5.2. */
static __always_inline int error_to4(const struct error *from, struct error *to)
{
	__u32 mtu = bpf_ntohl(from->rest) - (sizeof(struct ipv6hdr) - sizeof(struct iphdr));

	*to = (struct error){ .type = ICMP4_UNREACHABLE };
	switch (from->type) {
	case ICMP6_UNREACHABLE:
		to->code = from->code == 1 ? 10 : from->code == 4 ? 3 : 1;
		return from->code > 4 ? -1 : 0;
	case ICMP6_TOO_BIG:
		to->code = 4;
		to->rest = bpf_htonl(mtu > 0xffff ? 0xffff : mtu);
		return 0;
	case ICMP6_TIME_EXCEEDED:
		to->type = ICMP4_TIME_EXCEEDED;
		to->code = from->code;
		return 0;
	default: /* a parameter; only an unknown protocol has a counterpart */
		to->code = 2;
		return from->code == 1 ? 0 : -1;
	}
}

/* A quoted header's length is that of a packet which is not here in full. */
static __always_inline void quoted_to6(struct ipv6hdr *to, const struct iphdr *from, const struct settings *s,
				       const struct addr6 *client)
{
	*to = (struct ipv6hdr){
		.version = 6,
		.priority = from->tos >> 4,
		.flow_lbl = { from->tos << 4 },
		.payload_len = bpf_htons(bpf_ntohs(from->tot_len) - sizeof(*from)),
		.nexthdr = from->protocol,
		.hop_limit = from->ttl,
	};
	__builtin_memcpy(&to->saddr, client, sizeof(*client));
	__builtin_memcpy(&to->daddr, s->prefix, sizeof(s->prefix));
	to->daddr.in6_u.u6_addr32[3] = from->daddr;
}

static __always_inline void quoted_to4(struct iphdr *to, const struct ipv6hdr *from, __be32 client)
{
	*to = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tos = from->priority << 4 | from->flow_lbl[0] >> 4,
		.tot_len = bpf_htons(bpf_ntohs(from->payload_len) + sizeof(*to)),
		.frag_off = bpf_htons(0x4000),
		.ttl = from->hop_limit,
		.protocol = from->nexthdr,
		.saddr = from->saddr.in6_u.u6_addr32[3],
		.daddr = client,
	};
	to->check = checksum(to, sizeof(*to));
}

/*
 * An error about a packet that came from IPv6: it goes to whoever sent that. Quoted TCP keeps its checksum, which
 * most errors do not quote.
 */
static __always_inline int handle_error4(struct xdp_md *ctx, const struct cursor *c, struct packet *p,
					 const struct settings *s)
{
	struct pool_port key = { 0 };
	struct sum4 *old = c->pos;
	struct words6 new_words;
	struct words4 old_words;
	__be16 port, check;
	struct addr6 to, *fixed;
	struct client *client;
	struct scratch *x = scratch_of_this_cpu();
	struct error6 *h;
	struct sum4 *was;
	struct sum6 *new;
	void *l4, *end;

	if (!x)
		return XDP_ABORTED;
	h = &x->error6;
	was = &x->sum4;
	new = &x->sum6;
	if ((void *)(old + 1) > c->end || p->length < sizeof(*old))
		return pass(TOTAL_PROTOCOL, p);
	*was = *old;
	check = was->icmp.check;
	was->icmp.check = 0;
	if (was->inner.version != 4 || was->inner.ihl != 5 || (was->inner.frag_off & bpf_htons(0x3fff)) ||
	    was->inner.saddr != p->flow.dst[0] ||
	    (was->inner.protocol != IPPROTO_TCP && was->inner.protocol != IPPROTO_UDP) ||
	    error_to6(&was->icmp, &h->icmp) < 0)
		return pass(TOTAL_PROTOCOL, p);
	port = was->quoted.sport;
	key.port = port;
	key.proto = was->inner.protocol;
	fixed = bpf_map_lookup_elem(&hosts4, &was->inner.saddr);
	if (fixed) {
		to = *fixed;
	} else {
		client = bpf_map_lookup_elem(&bindings4, &key);
		if (!client)
			return drop(TOTAL_NO_BINDING, p);
		to = client->addr;
		port = client->port;
	}
	quoted_to6(&h->inner, &was->inner, s, &to);
	p->length += sizeof(h->inner) - sizeof(was->inner);
	h->outer = (struct ipv6hdr){
		.version = 6,
		.payload_len = bpf_htons(p->length),
		.nexthdr = IPPROTO_ICMPV6,
		.hop_limit = p->ttl - 1,
	};
	__builtin_memcpy(&h->outer.saddr, s->prefix, sizeof(s->prefix));
	h->outer.saddr.in6_u.u6_addr32[3] = p->flow.src[0];
	__builtin_memcpy(&h->outer.daddr, &to, sizeof(to));

	__builtin_memset(new, 0, sizeof(*new));
	__builtin_memcpy(new->src, &h->outer.saddr, sizeof(new->src));
	__builtin_memcpy(new->dst, &to, sizeof(new->dst));
	new->length = bpf_htonl(p->length);
	new->proto = bpf_htonl(IPPROTO_ICMPV6);
	new->icmp = h->icmp;
	new->inner = h->inner;
	new->quoted = was->quoted;
	new->quoted.sport = port;
	if (was->inner.protocol == IPPROTO_UDP && was->quoted.check) {
		old_words = (struct words4){ was->inner.saddr, was->inner.daddr, was->quoted.sport };
		__builtin_memcpy(new_words.src, &h->inner.saddr, sizeof(new_words.src));
		__builtin_memcpy(new_words.dst, &h->inner.daddr, sizeof(new_words.dst));
		new_words.last = port;
		update_check(&new->quoted.check, &old_words, sizeof(old_words), &new_words,
			     sizeof(new_words));
	}
	update_check(&check, was, sizeof(*was), new, sizeof(*new));
	h->icmp.check = check;
	p->l4 += offsetof(struct sum4, quoted);
	l4 = put_headers(ctx, p, s, h, sizeof(*h), ETH_P_IPV6);
	end = (void *)(long)ctx->data_end;
	if (!l4 || l4 + sizeof(new->quoted) > end)
		return drop(TOTAL_NO_ROOM, p);
	copy_header(l4, &new->quoted, sizeof(new->quoted));
	count(&totals, TOTAL_ERROR6, p->bytes);
	return XDP_TX;
}

/* What of an IPv6 error follows its header in IPv4's. */
struct sum6_packet {
	struct error icmp;
	struct ipv6hdr inner;
	struct quoted quoted;
};

/* An error about a packet that came from IPv4. Its own source is often a router without an address in IPv4. */
static __always_inline int handle_error6(struct xdp_md *ctx, const struct cursor *c, struct packet *p,
					 const struct settings *s)
{
	struct sum6_packet *old = c->pos;
	struct words6 old_words;
	struct words4 new_words;
	struct client who = { 0 };
	struct addr6 addr;
	struct binding6 *b;
	__be16 port, check;
	__be32 to, *fixed;
	struct scratch *x = scratch_of_this_cpu();
	struct error4 *h;
	struct sum6 *was;
	struct sum4 *new;
	void *l4, *end;

	if (!x)
		return XDP_ABORTED;
	h = &x->error4;
	was = &x->sum6;
	new = &x->sum4;
	if ((void *)(old + 1) > c->end || p->length < sizeof(*old))
		return pass(TOTAL_PROTOCOL, p);
	__builtin_memset(was, 0, sizeof(*was));
	__builtin_memcpy(&was->icmp, old, sizeof(*old));
	__builtin_memcpy(was->src, p->flow.src, sizeof(was->src));
	__builtin_memcpy(was->dst, p->flow.dst, sizeof(was->dst));
	was->length = bpf_htonl(p->length);
	was->proto = bpf_htonl(IPPROTO_ICMPV6);
	check = was->icmp.check;
	was->icmp.check = 0;
	if (was->inner.version != 6 || was->inner.saddr.in6_u.u6_addr32[0] != s->prefix[0] ||
	    was->inner.saddr.in6_u.u6_addr32[1] != s->prefix[1] ||
	    was->inner.saddr.in6_u.u6_addr32[2] != s->prefix[2] ||
	    (was->inner.nexthdr != IPPROTO_TCP && was->inner.nexthdr != IPPROTO_UDP) ||
	    error_to4(&was->icmp, &h->icmp) < 0)
		return pass(TOTAL_PROTOCOL, p);
	port = was->quoted.dport;
	__builtin_memcpy(&addr, &was->inner.daddr, sizeof(addr));
	fixed = bpf_map_lookup_elem(&hosts6, &addr);
	if (fixed) {
		to = *fixed;
	} else {
		who.addr = addr;
		who.port = port;
		who.proto = was->inner.nexthdr;
		b = bpf_map_lookup_elem(&bindings6, &who);
		if (!b)
			return drop(TOTAL_NO_BINDING, p);
		to = s->pool;
		port = b->port;
	}
	quoted_to4(&h->inner, &was->inner, to);
	p->length -= sizeof(was->inner) - sizeof(h->inner);
	__builtin_memcpy(&addr, p->flow.src, sizeof(addr));
	fixed = bpf_map_lookup_elem(&hosts6, &addr);
	h->outer = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tot_len = bpf_htons(p->length + sizeof(h->outer)),
		.frag_off = bpf_htons(0x4000),
		.ttl = p->ttl - 1,
		.protocol = IPPROTO_ICMP,
		.saddr = fixed ? *fixed : to,
		.daddr = p->flow.dst[3],
	};
	h->outer.check = checksum(&h->outer, sizeof(h->outer));

	new->icmp = h->icmp;
	new->inner = h->inner;
	new->quoted = was->quoted;
	new->quoted.dport = port;
	if (was->inner.nexthdr == IPPROTO_UDP && was->quoted.check) {
		__builtin_memcpy(old_words.src, &was->inner.saddr, sizeof(old_words.src));
		__builtin_memcpy(old_words.dst, &was->inner.daddr, sizeof(old_words.dst));
		old_words.last = was->quoted.dport;
		new_words = (struct words4){ h->inner.saddr, h->inner.daddr, port };
		update_check(&new->quoted.check, &old_words, sizeof(old_words), &new_words,
			     sizeof(new_words));
	}
	update_check(&check, was, sizeof(*was), new, sizeof(*new));
	h->icmp.check = check;
	p->l4 += offsetof(struct sum6_packet, quoted);
	l4 = put_headers(ctx, p, s, h, sizeof(*h), ETH_P_IP);
	end = (void *)(long)ctx->data_end;
	if (!l4 || l4 + sizeof(new->quoted) > end)
		return drop(TOTAL_NO_ROOM, p);
	copy_header(l4, &new->quoted, sizeof(new->quoted));
	count(&totals, TOTAL_ERROR4, p->bytes);
	return XDP_TX;
}

#endif
