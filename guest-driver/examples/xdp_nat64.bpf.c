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
#include "nat64.h"
#include "nat64_errors.h"

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
	struct binding6 *b, fresh = { 0 };
	__u64 now = clock_now(&clock);
	__be16 port;

	__builtin_memcpy(&c.addr, p->flow.src, sizeof(c.addr));
	b = bpf_map_lookup_elem(&bindings6, &c);
	if (b) {
		b->time = now;
		return b->port;
	}
	port = bpf_htons(bind_client(&c, s->first_port, s->num_ports));
	if (!port)
		return 0;
	fresh.port = port;
	fresh.time = now;
	if (!bpf_map_update_elem(&bindings6, &c, &fresh, BPF_NOEXIST))
		count(&totals, TOTAL_BOUND, 0);
	return port;
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
