// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_nat64 - a translator between IPv6 and IPv4 for XDP: stateless for those it knows, with state for the
 * rest.
 *
 * How it works: an IPv4 host is seen by IPv6 as a prefix of 96 bits and its address (RFC 6052). A packet
 * from IPv6 to such an address becomes IPv4 (RFC 7915). Its source becomes what the map hosts6 says (a
 * fixed pair, RFC 7757), or else the pool's one address and a port that stands for the client's address and
 * port from then on (RFC 6146, endpoint-independent). A packet from IPv4 to a host of the map hosts4, or to
 * the pool's address and a port that is bound, becomes IPv6; its source is behind the prefix.
 *
 * Headers in front of TCP, UDP or an ICMP echo are replaced in one piece: VLAN tags stay, IPv4 options and
 * IPv6 extension headers go, a fragment stays one (stateless only, as later ones have no ports). Checksums are
 * updated by the difference between old and new pseudo headers and ports. ICMP errors are translated with the
 * header of TCP or UDP that they quote. The time to live goes down by one; at its end, and for what is not
 * translated (other protocols), the kernel gets the packet as it is.
 *
 * A port is chosen by the client's hash, with a few more attempts where it is taken, so order matters only
 * to clients that want the same port.
 */
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

/* ------------------------------------------------------------------- bindings */

static __always_inline bool same_client(const struct client *a, const struct client *b)
{
	return a->addr.word[0] == b->addr.word[0] && a->addr.word[1] == b->addr.word[1] &&
	       a->addr.word[2] == b->addr.word[2] && a->addr.word[3] == b->addr.word[3] && a->port == b->port;
}

/* Return: the port that stands for the client, host order; 0 if there is none. Global: long, and there once. */
__noinline __u32 bind_client(const struct client *c, __u32 first, __u32 num)
{
	struct pool_port key = { 0 };
	__u32 hash = 0x6e617436;
	struct client me, *other;

	if (!c || !num)
		return 0;
	me = *c;
	for (int i = 0; i < 4; i++)
		hash = hash_word(hash, me.addr.word[i]);
	hash = hash_finish(hash_word(hash, (__u32)me.proto << 16 | me.port));
	key.proto = me.proto;
	for (int i = 0; i < ATTEMPTS; i++) {
		__u32 port = first + (hash + i * 0x9e3779b1u) % num;

		key.port = bpf_htons(port);
		if (!bpf_map_update_elem(&bindings4, &key, &me, BPF_NOEXIST))
			return port;
		/* Perhaps another packet of the same client was as quick. */
		other = bpf_map_lookup_elem(&bindings4, &key);
		if (other && same_client(other, &me))
			return port;
	}
	return 0;
}

/* Finds or makes the binding of an IPv6 client. Return: its port, network order; 0 if there is none. */
static __always_inline __be16 client_port(const struct packet *p, const struct settings *s)
{
	struct client c = { .port = p->port, .proto = p->flow.proto };
	struct binding6 fresh = { .time = clock_now(&clock) }, *b;

	__builtin_memcpy(&c.addr, p->flow.src, sizeof(c.addr));
	b = bpf_map_lookup_elem(&bindings6, &c);
	if (b) {
		b->time = fresh.time;
		return b->port;
	}
	fresh.port = bpf_htons(bind_client(&c, s->first_port, s->num_ports));
	if (!fresh.port)
		return 0;
	if (!bpf_map_update_elem(&bindings6, &c, &fresh, BPF_NOEXIST))
		count(&totals, TOTAL_BOUND, 0);
	return fresh.port;
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

/* -------------------------------------------------------------------- to IPv4 */

static __always_inline int to4(struct xdp_md *ctx, const struct packet *p, const struct settings *s)
{
	bool icmp = p->flow.proto == IPPROTO_ICMPV6, later = p->flow.fragment == FRAGMENT_LATER;
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.tos = p->traffic_class,
		.tot_len = bpf_htons(p->length + sizeof(ip)),
		.ttl = p->ttl - 1,
		.protocol = icmp ? IPPROTO_ICMP : p->flow.proto,
		.daddr = p->flow.dst[3],
	};
	__be16 port = p->port;
	struct addr6 src;
	__be32 *fixed;
	void *l4, *end;
	int r = 0;

	__builtin_memcpy(&src, p->flow.src, sizeof(src));
	fixed = bpf_map_lookup_elem(&hosts6, &src);
	if (fixed) {
		ip.saddr = *fixed;
	} else {
		if (!s->pool)
			return pass(TOTAL_OTHER, p);
		if (p->is_fragment)
			return drop(TOTAL_FRAGMENT, p);
		ip.saddr = s->pool;
		port = client_port(p, s);
		if (!port)
			return drop(TOTAL_NO_PORT, p);
	}
	if (p->is_fragment) {
		ip.id = bpf_htons(p->id);
		ip.frag_off = bpf_htons((p->offset & 0x1fff) | (p->offset & 0x8000 ? IP_MORE_FRAGMENTS : 0));
	} else {
		ip.frag_off = bpf_htons(0x4000); /* don't fragment: then the id may be 0 (RFC 6864) */
	}
	ip.check = checksum(&ip, sizeof(ip));
	l4 = put_headers(ctx, p, s, &ip, sizeof(ip), ETH_P_IP);
	if (!l4)
		return drop(TOTAL_NO_ROOM, p);
	end = (void *)(long)ctx->data_end;
	if (!later)
		r = icmp ? fix_echo4(l4, end, p, port) : fix_transport4(l4, end, p, &ip, port);
	if (r < 0)
		return drop(TOTAL_MALFORMED, p);
	count(&totals, TOTAL_TO4, p->bytes);
	return XDP_TX;
}

/* -------------------------------------------------------------------- to IPv6 */

struct ipv6_fragment {
	struct ipv6hdr ip;
	struct fragment_header fragment;
};

static __always_inline int to6(struct xdp_md *ctx, const struct packet *p, const struct settings *s,
			       const struct addr6 *dst, __be16 port)
{
	bool icmp = p->flow.proto == IPPROTO_ICMP, later = p->flow.fragment == FRAGMENT_LATER;
	__u8 proto = icmp ? IPPROTO_ICMPV6 : p->flow.proto;
	__u32 length = p->length + (p->is_fragment ? sizeof(struct fragment_header) : 0);
	struct ipv6_fragment h = {
		.ip = {
			.version = 6,
			.priority = p->traffic_class >> 4,
			.flow_lbl = { p->traffic_class << 4 },
			.payload_len = bpf_htons(length),
			.nexthdr = p->is_fragment ? IPPROTO_FRAGMENT : proto,
			.hop_limit = p->ttl - 1,
		},
		.fragment = {
			.next = proto,
			.offset = bpf_htons(p->offset << 3 | p->offset >> 15),
			.id = bpf_htonl(p->id),
		},
	};
	void *l4, *end;
	int r = 0;

	if (s->mtu && length + sizeof(h.ip) > s->mtu)
		return drop(TOTAL_TOO_LONG, p);
	__builtin_memcpy(&h.ip.saddr, s->prefix, sizeof(s->prefix));
	h.ip.saddr.in6_u.u6_addr32[3] = p->flow.src[0];
	__builtin_memcpy(&h.ip.daddr, dst, sizeof(*dst));
	if (p->is_fragment)
		l4 = put_headers(ctx, p, s, &h, sizeof(h), ETH_P_IPV6);
	else
		l4 = put_headers(ctx, p, s, &h.ip, sizeof(h.ip), ETH_P_IPV6);
	if (!l4)
		return drop(TOTAL_NO_ROOM, p);
	end = (void *)(long)ctx->data_end;
	if (!later)
		r = icmp ? fix_echo6(l4, end, p, &h.ip, port) : fix_transport6(l4, end, p, &h.ip, port);
	if (r < 0)
		return drop(TOTAL_MALFORMED, p);
	count(&totals, TOTAL_TO6, p->bytes);
	return XDP_TX;
}

static __always_inline int find_host6(struct xdp_md *ctx, const struct packet *p, const struct settings *s)
{
	struct pool_port key = { .port = p->port, .proto = p->flow.proto };
	__be32 dst4 = p->flow.dst[0];
	__be16 port = p->port;
	struct addr6 *fixed, dst;
	struct client *c;

	fixed = bpf_map_lookup_elem(&hosts4, &dst4);
	if (fixed) {
		dst = *fixed;
	} else {
		if (p->is_fragment)
			return drop(TOTAL_FRAGMENT, p);
		/* Bindings go by IPv6's number of ICMP. */
		if (key.proto == IPPROTO_ICMP)
			key.proto = IPPROTO_ICMPV6;
		c = bpf_map_lookup_elem(&bindings4, &key);
		if (!c)
			return drop(TOTAL_NO_BINDING, p);
		dst = c->addr;
		port = c->port;
	}
	return to6(ctx, p, s, &dst, port);
}

/* ---------------------------------------------------------------- ICMP errors */

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

/* -------------------------------------------------------------------- parsing */

/*
 * What this side says behind IP. Return: 0 with p->port, 1 for what is not translated, 2 for UDP without a
 * checksum, 3 for an ICMP error, -1 if the packet ends too early.
 */
static __always_inline int parse_transport(const struct cursor *c, struct packet *p)
{
	bool v4 = p->flow.family == ETH_P_IP;
	struct icmp_header *icmp = c->pos;
	struct tcphdr *tcp = c->pos;
	struct udphdr *udp = c->pos;

	switch (p->flow.proto) {
	case IPPROTO_TCP:
		if (p->flow.fragment == FRAGMENT_LATER)
			return 0;
		if ((void *)(tcp + 1) > c->end || p->length < sizeof(*tcp))
			return -1;
		p->port = v4 ? tcp->dest : tcp->source;
		return 0;
	case IPPROTO_UDP:
		if (p->flow.fragment == FRAGMENT_LATER)
			return 0;
		if ((void *)(udp + 1) > c->end || p->length < sizeof(*udp))
			return -1;
		p->port = v4 ? udp->dest : udp->source;
		return udp->check ? 0 : 2;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		/* A checksum over all fragments has a length in it that no fragment says. */
		if (v4 != (p->flow.proto == IPPROTO_ICMP) || p->is_fragment)
			return 1;
		if ((void *)(icmp + 1) > c->end || p->length < sizeof(*icmp))
			return -1;
		if (v4 ? icmp->type == ICMP4_UNREACHABLE || icmp->type == ICMP4_TIME_EXCEEDED
		       : icmp->type >= ICMP6_UNREACHABLE && icmp->type <= ICMP6_PARAMETER)
			return 3;
		if (icmp->type != (v4 ? ICMP4_ECHO : ICMP6_ECHO) &&
		    icmp->type != (v4 ? ICMP4_ECHO_REPLY : ICMP6_ECHO_REPLY))
			return 1;
		p->port = icmp->id;
		return 0;
	default:
		return 1;
	}
}

static __always_inline int handle4(struct xdp_md *ctx, struct cursor *c, struct packet *p,
				   const struct settings *s)
{
	void *data = (void *)(long)ctx->data;
	struct iphdr *ip = c->pos;
	__u16 fragment;
	__u64 total;
	int r;

	if ((void *)(ip + 1) > c->end)
		return drop(TOTAL_MALFORMED, p);
	p->ttl = ip->ttl;
	p->traffic_class = ip->tos;
	p->id = bpf_ntohs(ip->id);
	fragment = bpf_ntohs(ip->frag_off);
	p->offset = (fragment & IP_FRAGMENT_OFFSET) | (fragment & IP_MORE_FRAGMENTS ? 0x8000 : 0);
	p->is_fragment = p->offset != 0;
	total = bpf_ntohs(ip->tot_len);
	if (parse_ipv4(c, &p->flow) < 0)
		return drop(TOTAL_MALFORMED, p);
	if (p->flow.dst[0] != s->pool && !bpf_map_lookup_elem(&hosts4, p->flow.dst))
		return pass(TOTAL_OTHER, p);
	p->l4 = c->pos - data;
	p->length = total - ip->ihl * 4;
	if (total < ip->ihl * 4 || p->length > p->bytes - p->l4)
		return drop(TOTAL_MALFORMED, p);
	if (p->ttl <= 1)
		return pass(TOTAL_TTL, p);
	r = parse_transport(c, p);
	if (r < 0)
		return drop(TOTAL_MALFORMED, p);
	if (r == 3)
		return handle_error4(ctx, c, p, s);
	if (r)
		return r == 1 ? pass(TOTAL_PROTOCOL, p) : drop(TOTAL_NO_CHECKSUM, p);
	return find_host6(ctx, p, s);
}

/* Return: 0, -1 if the packet ends too early, 1 for a route that is not at its end. */
static __always_inline int parse_chain6(struct cursor *c, struct packet *p)
{
	struct ipv6hdr *ip = c->pos;
	struct fragment_header *frag;
	struct ext_header *ext;
	__u8 next;

	if ((void *)(ip + 1) > c->end)
		return -1;
	next = ip->nexthdr;
	c->pos = ip + 1;
	for (int i = 0; i < MAX_EXT_HEADERS; i++) {
		ext = c->pos;
		frag = c->pos;
		switch (next) {
		case IPPROTO_ROUTING:
			if ((void *)(ext + 2) > c->end)
				return -1;
			if (((__u8 *)ext)[3])
				return 1;
			break;
		case IPPROTO_HOPOPTS:
		case IPPROTO_DSTOPTS:
			if ((void *)(ext + 1) > c->end)
				return -1;
			break;
		case IPPROTO_FRAGMENT:
			if ((void *)(frag + 1) > c->end)
				return -1;
			p->is_fragment = 1;
			p->id = bpf_ntohl(frag->id);
			p->offset = bpf_ntohs(frag->offset) >> 3 | (bpf_ntohs(frag->offset) & 1) << 15;
			p->flow.fragment = p->offset & 0x1fff ? FRAGMENT_LATER : FRAGMENT_FIRST;
			p->flow.proto = frag->next;
			c->pos = frag + 1;
			return c->pos > c->end ? -1 : 0;
		default:
			p->flow.proto = next;
			return 0;
		}
		next = ext->next;
		c->pos += (ext->length + 1) * 8;
		if (c->pos > c->end)
			return -1;
	}
	return -1;
}

static __always_inline int handle6(struct xdp_md *ctx, struct cursor *c, struct packet *p,
				   const struct settings *s)
{
	void *data = (void *)(long)ctx->data;
	struct ipv6hdr *ip = c->pos;
	__u64 total, start = c->pos - data;
	int r;

	if ((void *)(ip + 1) > c->end || ip->version != 6)
		return drop(TOTAL_MALFORMED, p);
	__builtin_memcpy(p->flow.src, &ip->saddr, sizeof(p->flow.src));
	__builtin_memcpy(p->flow.dst, &ip->daddr, sizeof(p->flow.dst));
	if (p->flow.dst[0] != s->prefix[0] || p->flow.dst[1] != s->prefix[1] ||
	    p->flow.dst[2] != s->prefix[2])
		return pass(TOTAL_OTHER, p);
	p->ttl = ip->hop_limit;
	p->traffic_class = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	total = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	r = parse_chain6(c, p);
	if (r < 0)
		return drop(TOTAL_MALFORMED, p);
	if (r)
		return drop(TOTAL_ROUTE, p);
	p->l4 = c->pos - data;
	if (start + total > p->bytes || p->l4 > start + total)
		return drop(TOTAL_MALFORMED, p);
	p->length = start + total - p->l4;
	if (p->ttl <= 1)
		return pass(TOTAL_TTL, p);
	r = parse_transport(c, p);
	if (r < 0)
		return drop(TOTAL_MALFORMED, p);
	if (r == 3)
		return handle_error6(ctx, c, p, s);
	if (r)
		return r == 1 ? pass(TOTAL_PROTOCOL, p) : drop(TOTAL_NO_CHECKSUM, p);
	return to4(ctx, p, s);
}

SEC("xdp")
int nat64(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	struct packet p = { .bytes = ctx->data_end - ctx->data };
	struct settings *s;
	__u16 proto, tags;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&settings, &zero);
	if (!s)
		return XDP_ABORTED;
	if (parse_ethernet(&c, &proto, &tags) < 0)
		return drop(TOTAL_MALFORMED, &p);
	p.tags = tags;
	p.flow.family = proto;
	if (proto == ETH_P_IP)
		return handle4(ctx, &c, &p, s);
	if (proto == ETH_P_IPV6)
		return handle6(ctx, &c, &p, s);
	return pass(TOTAL_OTHER, &p);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
