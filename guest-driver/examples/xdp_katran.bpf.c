// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_katran - a layer 4 load balancer in the manner of Katran: Maglev rings with a table of connections.
 *
 * How it works: a service (VIP) is an address, a port and a protocol; port 0 there means any. A packet to
 * one is hashed by its source and ports, and the hash picks a place in the service's ring, which names a
 * real server. Rings are made by Maglev's algorithm (see the script maglev), so that a server that comes or
 * goes moves few flows; those that it would move keep their server by a table of the least recently used
 * kind. A connection request does not ask that table, since it begins a new connection; UDP forgets its
 * server after 30 s of silence.
 *
 * The packet travels to the server inside an outer header: IPv4 or IPv6, as the server is reached, with the
 * packet directly behind (IPIP) or behind UDP (GUE, variant 1). The outer source address or the UDP source
 * port carries bits of the hash, so that the servers' network cards spread flows over their queues.
 *
 * ICMP: an echo request to an address that has a service for ICMP is answered here. An error (unreachable,
 * packet too big, time exceeded) quotes a packet that the service once sent; it goes to the server that has
 * that flow, which is found by the quoted header with its ends exchanged.
 *
 * Counters are per CPU, so they need no atomics. Order does not matter for what happens to packets; it
 * matters only for who finds a flow in the table and who has to put it there, if several of its packets
 * come at once.
 */
#include <stdbool.h>
#include <stddef.h>
#include "rewrite.h"

#define MAX_VIPS	512
#define MAX_REALS	4096
#define MAX_RINGS	64
#define RING_SIZE	1021 /* places of a ring; prime, as Maglev wants it */
#define MAX_CONNECTIONS 65536
#define UDP_TIMEOUT	30000000000ull /* ns */
#define GUE_PORT	6080

#define VIP_SOURCE_ONLY 1 /* flag: all of a client's flows go to one server */
#define VIP_NO_TABLE	2 /* flag: the ring alone decides */
#define VIP_DPORT_HASH	4 /* flag: the destination port counts too, for services of any port */
#define REAL_IPV6	1 /* flag: the server is reached by IPv6 */
#define REAL_GUE	2 /* flag: UDP in front of the packet */

enum { /* indices of `totals` */
       TOTAL_MALFORMED, /* dropped */
       TOTAL_NOT_IP, /* passed, as all that is no service's */
       TOTAL_FRAGMENT, /* only the first has ports: all are passed */
       TOTAL_TAGGED,
       TOTAL_NO_VIP,
       TOTAL_NO_REAL, /* dropped */
       TOTAL_NO_ROOM, /* dropped */
       TOTAL_ECHO, /* answered */
       TOTAL_ICMP_ERROR,
       TOTAL_TABLE_HIT,
       TOTAL_TABLE_MISS,
       TOTAL_TABLE_OLD, /* UDP after a long silence */
       TOTAL_NEW, /* TCP connection requests */
       NUM_TOTALS,
};

struct vip_key {
	__be32 addr[4];
	__be16 port;
	__u16 family;
	__u8 proto;
	__u8 pad[3];
};

struct vip {
	__u32 number; /* which ring and which statistics; below MAX_RINGS */
	__u32 flags; /* VIP_* */
};

struct real {
	__be32 addr[4];
	__u32 flags; /* REAL_* */
};

struct next_hop {
	__u8 dst_mac[ETH_ALEN], src_mac[ETH_ALEN];
	__be32 src4; /* outer source address; upper 16 bits are used */
	__be32 src6[4]; /* the same; the first 96 bits are used */
};

struct connection_key {
	__be32 src[4], dst[4];
	__be16 sport, dport;
	__u16 family;
	__u8 proto, pad;
};

struct connection {
	__u64 time; /* ns; of UDP only */
	__u32 real;
	__u32 pad;
};

/* What the header of a packet says, or the one that an ICMP error quotes. */
struct packet {
	struct flow flow;
	__u64 bytes; /* of the frame */
	__u16 length; /* of the IP packet */
	__u8 new; /* a TCP connection request */
	__u8 error; /* flow is a quoted one */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_VIPS);
	__type(key, struct vip_key);
	__type(value, struct vip);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RINGS *RING_SIZE);
	__type(key, __u32);
	__type(value, __u32); /* number of a real server; 0: none */
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_REALS);
	__type(key, __u32);
	__type(value, struct real);
} reals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_CONNECTIONS);
	__type(key, struct connection_key);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct next_hop);
} next_hop SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_RINGS);
	__type(key, __u32);
	__type(value, struct count);
} vip_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_REALS);
	__type(key, __u32);
	__type(value, struct count);
} real_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
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

/* Global data: lets one balancer's choice differ from another's. */
const volatile __u32 hash_seed = 0x6b617472;

static __always_inline __u32 hash_flow(const struct flow *f, __u32 flags)
{
	__u32 hash = hash_seed;

#pragma unroll
	for (int i = 0; i < 4; i++)
		hash = hash_word(hash, f->src[i]);
	if (!(flags & VIP_SOURCE_ONLY))
		hash = hash_word(hash, (__u32)f->sport << 16 | (flags & VIP_DPORT_HASH ? f->dport : 0));
	return hash_finish(hash);
}

static __always_inline struct vip *find_vip(const struct flow *f)
{
	struct vip_key key = { .family = f->family, .proto = f->proto, .port = f->dport };
	struct vip *vip;

	__builtin_memcpy(key.addr, f->dst, sizeof(key.addr));
	vip = bpf_map_lookup_elem(&vips, &key);
	if (vip || !key.port)
		return vip;
	key.port = 0;
	return bpf_map_lookup_elem(&vips, &key);
}

/* ------------------------------------------------------------- encapsulation */

/* The two bytes in front let the rest be aligned; the frame begins behind them. */
struct outer4 {
	__u16 pad;
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp; /* of GUE only */
};

struct outer6 {
	__u16 pad;
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct udphdr udp;
};

#define OUTER_SIZE(type, last) (offsetof(type, last) - offsetof(type, eth))

/* Puts an outer header in place of the Ethernet header. Return: 0, or -1 if there is no room. */
static __always_inline int put_outer(struct xdp_md *ctx, const void *outer, __u32 size)
{
	void *data;

	if (bpf_xdp_adjust_head(ctx, -(int)(size - sizeof(struct ethhdr))))
		return -1;
	data = (void *)(long)ctx->data;
	if (data + size > (void *)(long)ctx->data_end)
		return -1;
	copy_header(data, outer, size);
	return 0;
}

static __always_inline __u16 gue_source(__u32 hash)
{
	return 0x8000 | (hash & 0x7fff);
}

static __always_inline int send4(struct xdp_md *ctx, const struct packet *p, const struct real *real,
				 const struct next_hop *hop, __u32 hash)
{
	__be32 src = (hop->src4 & bpf_htonl(0xffff0000)) | bpf_htonl(hash & 0xffff);
	struct outer4 o;

	outer_ethernet(&o.eth, hop->dst_mac, hop->src_mac, ETH_P_IP);
	outer_ipv4(&o.ip, p->flow.family == ETH_P_IP ? IPPROTO_IPIP : IPPROTO_IPV6, p->length, src,
		   real->addr[0]);
	return put_outer(ctx, &o.eth, OUTER_SIZE(struct outer4, udp));
}

static __always_inline int send4_gue(struct xdp_md *ctx, const struct packet *p, const struct real *real,
				     const struct next_hop *hop, __u32 hash)
{
	struct outer4 o;

	outer_ethernet(&o.eth, hop->dst_mac, hop->src_mac, ETH_P_IP);
	outer_ipv4(&o.ip, IPPROTO_UDP, p->length + sizeof(o.udp), hop->src4, real->addr[0]);
	outer_udp(&o.udp, gue_source(hash), GUE_PORT, p->length);
	return put_outer(ctx, &o.eth, sizeof(o) - sizeof(o.pad));
}

static __always_inline int send6(struct xdp_md *ctx, const struct packet *p, const struct real *real,
				 const struct next_hop *hop, __u32 hash)
{
	__be32 src[4] = { hop->src6[0], hop->src6[1], hop->src6[2], bpf_htonl(hash) };
	struct outer6 o;

	outer_ethernet(&o.eth, hop->dst_mac, hop->src_mac, ETH_P_IPV6);
	outer_ipv6(&o.ip, p->flow.family == ETH_P_IP ? IPPROTO_IPIP : IPPROTO_IPV6, p->length, src,
		   real->addr);
	return put_outer(ctx, &o.eth, OUTER_SIZE(struct outer6, udp));
}

static __always_inline int send6_gue(struct xdp_md *ctx, const struct packet *p, const struct real *real,
				     const struct next_hop *hop, __u32 hash)
{
	struct outer6 o;

	outer_ethernet(&o.eth, hop->dst_mac, hop->src_mac, ETH_P_IPV6);
	outer_ipv6(&o.ip, IPPROTO_UDP, p->length + sizeof(o.udp), hop->src6, real->addr);
	outer_udp(&o.udp, gue_source(hash), GUE_PORT, p->length);
	return put_outer(ctx, &o.eth, sizeof(o) - sizeof(o.pad));
}

/* ------------------------------------------------------------------ balancing */

static __always_inline void connection_key(struct connection_key *key, const struct flow *f)
{
	*key = (struct connection_key){
		.sport = f->sport, .dport = f->dport, .family = f->family, .proto = f->proto
	};
	__builtin_memcpy(key->src, f->src, sizeof(key->src));
	__builtin_memcpy(key->dst, f->dst, sizeof(key->dst));
}

/* Return: the server that has the flow, or 0. */
static __always_inline __u32 find_connection(const struct packet *p, const struct connection_key *key)
{
	struct connection *c = bpf_map_lookup_elem(&connections, key);
	__u64 now;

	if (!c) {
		count_cpu(&totals, TOTAL_TABLE_MISS, p->bytes);
		return 0;
	}
	if (p->flow.proto == IPPROTO_UDP) {
		now = clock_now(&clock);
		if (now - c->time > UDP_TIMEOUT) {
			count_cpu(&totals, TOTAL_TABLE_OLD, p->bytes);
			return 0;
		}
		c->time = now;
	}
	count_cpu(&totals, TOTAL_TABLE_HIT, p->bytes);
	return c->real;
}

static __always_inline __u32 find_real(const struct packet *p, const struct vip *vip, __u32 hash)
{
	__u32 place = vip->number * RING_SIZE + hash % RING_SIZE, *number;
	bool table = !(vip->flags & VIP_NO_TABLE);
	struct connection fresh = { 0 };
	struct connection_key key;

	connection_key(&key, &p->flow);
	if (p->new) {
		count_cpu(&totals, TOTAL_NEW, p->bytes);
	} else if (table) {
		fresh.real = find_connection(p, &key);
		if (fresh.real)
			return fresh.real;
	}
	number = bpf_map_lookup_elem(&rings, &place);
	if (!number || !*number)
		return 0;
	fresh.real = *number;
	/* What an error quotes is no sign of a connection. */
	if (table && !p->error) {
		if (p->flow.proto == IPPROTO_UDP)
			fresh.time = clock_now(&clock);
		bpf_map_update_elem(&connections, &key, &fresh, BPF_ANY);
	}
	return fresh.real;
}

static __always_inline int balance(struct xdp_md *ctx, const struct packet *p)
{
	struct vip *vip = find_vip(&p->flow);
	__u32 hash, zero = 0, number;
	struct next_hop *hop;
	struct real *real;
	int r;

	if (!vip || vip->number >= MAX_RINGS) {
		count_cpu(&totals, TOTAL_NO_VIP, p->bytes);
		return XDP_PASS;
	}
	count_cpu(&vip_counts, vip->number, p->bytes);
	if (p->error)
		count_cpu(&totals, TOTAL_ICMP_ERROR, p->bytes);
	hash = hash_flow(&p->flow, vip->flags);
	number = find_real(p, vip, hash);
	real = bpf_map_lookup_elem(&reals, &number);
	hop = bpf_map_lookup_elem(&next_hop, &zero);
	if (!number || !real || !hop) {
		count_cpu(&totals, TOTAL_NO_REAL, p->bytes);
		return XDP_DROP;
	}
	switch (real->flags & (REAL_IPV6 | REAL_GUE)) {
	case 0:
		r = send4(ctx, p, real, hop, hash);
		break;
	case REAL_GUE:
		r = send4_gue(ctx, p, real, hop, hash);
		break;
	case REAL_IPV6:
		r = send6(ctx, p, real, hop, hash);
		break;
	default:
		r = send6_gue(ctx, p, real, hop, hash);
		break;
	}
	if (r < 0) {
		count_cpu(&totals, TOTAL_NO_ROOM, p->bytes);
		return XDP_DROP;
	}
	count_cpu(&real_counts, number, p->bytes);
	return XDP_TX;
}

/* ----------------------------------------------------------------------- ICMP */

static __always_inline void swap_macs(struct ethhdr *eth)
{
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
}

/* The checksum after its first word (type and code) was @old and is now @new (RFC 1624). */
static __always_inline __u16 checksum_word(__u16 check, __u16 old, __u16 new)
{
	__u32 sum = (__u16)~check + (__u32)(__u16)~old + new;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline int answer_echo4(struct xdp_md *ctx, struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + sizeof(*eth);
	struct icmp_header *icmp = (void *)(ip + 1);
	__be32 addr;

	/* With options the reply would have to turn a route around: left to the kernel. */
	if ((void *)(icmp + 1) > end || ip->ihl != 5)
		return XDP_PASS;
	swap_macs(eth);
	addr = ip->saddr;
	ip->saddr = ip->daddr;
	ip->daddr = addr;
	ip->check = checksum_word(ip->check, bpf_htons(ip->ttl << 8), bpf_htons(OUTER_TTL << 8));
	ip->ttl = OUTER_TTL;
	icmp->type = ICMP4_ECHO_REPLY;
	icmp->check =
		checksum_word(icmp->check, bpf_htons(ICMP4_ECHO << 8), bpf_htons(ICMP4_ECHO_REPLY << 8));
	count_cpu(&totals, TOTAL_ECHO, p->bytes);
	return XDP_TX;
}

static __always_inline int answer_echo6(struct xdp_md *ctx, struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip = data + sizeof(*eth);
	struct icmp_header *icmp = (void *)(ip + 1);
	struct in6_addr addr;

	if ((void *)(icmp + 1) > end || ip->nexthdr != IPPROTO_ICMPV6)
		return XDP_PASS;
	swap_macs(eth);
	addr = ip->saddr;
	ip->saddr = ip->daddr;
	ip->daddr = addr;
	ip->hop_limit = OUTER_TTL;
	icmp->type = ICMP6_ECHO_REPLY;
	icmp->check =
		checksum_word(icmp->check, bpf_htons(ICMP6_ECHO << 8), bpf_htons(ICMP6_ECHO_REPLY << 8));
	count_cpu(&totals, TOTAL_ECHO, p->bytes);
	return XDP_TX;
}

/* Turns a quoted flow around: it went from the service to the client. */
static __always_inline void turn_around(struct flow *f)
{
	struct flow old = *f;

	__builtin_memcpy(f->src, old.dst, sizeof(f->src));
	__builtin_memcpy(f->dst, old.src, sizeof(f->dst));
	f->sport = old.dport;
	f->dport = old.sport;
}

/* Return: 0 with p->flow that of the packet which the error quotes, -1 if there is no such. */
static __always_inline int parse_quoted(struct cursor *c, struct packet *p)
{
	__u16 family = p->flow.family;
	int r;

	c->pos += sizeof(struct icmp_header); /* as long as ICMPv6's */
	if (c->pos > c->end)
		return -1;
	p->flow = (struct flow){ 0 };
	r = family == ETH_P_IP ? parse_ipv4(c, &p->flow) : parse_ipv6(c, &p->flow);
	if (r < 0 || p->flow.fragment || parse_ports(c, &p->flow) < 0)
		return -1;
	turn_around(&p->flow);
	p->error = 1;
	return 0;
}

static __always_inline int handle_icmp(struct xdp_md *ctx, struct cursor *c, struct packet *p)
{
	struct icmp_header *icmp = c->pos;
	bool v4 = p->flow.family == ETH_P_IP;

	if ((void *)(icmp + 1) > c->end) {
		count_cpu(&totals, TOTAL_MALFORMED, p->bytes);
		return XDP_DROP;
	}
	if (icmp->type == (v4 ? ICMP4_ECHO : ICMP6_ECHO) && !icmp->code && find_vip(&p->flow))
		return v4 ? answer_echo4(ctx, p) : answer_echo6(ctx, p);
	if (v4 ? icmp->type == ICMP4_UNREACHABLE || icmp->type == ICMP4_TIME_EXCEEDED
	       : icmp->type >= ICMP6_UNREACHABLE && icmp->type <= ICMP6_TIME_EXCEEDED) {
		if (!parse_quoted(c, p))
			return balance(ctx, p);
	}
	count_cpu(&totals, TOTAL_NO_VIP, p->bytes);
	return XDP_PASS;
}

/* -------------------------------------------------------------------- parsing */

/* Return: 0, or -1 if the header's length is not that of what is there. Padding behind a short packet stays. */
static __always_inline int ip_length(const struct cursor *c, struct packet *p)
{
	struct iphdr *ip = c->pos;
	struct ipv6hdr *ip6 = c->pos;

	if (p->flow.family == ETH_P_IP) {
		if ((void *)(ip + 1) > c->end)
			return -1;
		p->length = bpf_ntohs(ip->tot_len);
	} else {
		if ((void *)(ip6 + 1) > c->end)
			return -1;
		p->length = bpf_ntohs(ip6->payload_len) + sizeof(*ip6);
	}
	return p->length < sizeof(*ip) || sizeof(struct ethhdr) + p->length > p->bytes ? -1 : 0;
}

SEC("xdp")
int katran(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	struct packet p = { .bytes = ctx->data_end - ctx->data };
	__u16 proto, tags;
	int r;

	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
	if (tags) {
		count_cpu(&totals, TOTAL_TAGGED, p.bytes);
		return XDP_PASS;
	}
	if (proto != ETH_P_IP && proto != ETH_P_IPV6) {
		count_cpu(&totals, TOTAL_NOT_IP, p.bytes);
		return XDP_PASS;
	}
	p.flow.family = proto;
	if (ip_length(&c, &p) < 0)
		goto malformed;
	r = proto == ETH_P_IP ? parse_ipv4(&c, &p.flow) : parse_ipv6(&c, &p.flow);
	if (r < 0)
		goto malformed;
	if (p.flow.fragment) {
		count_cpu(&totals, TOTAL_FRAGMENT, p.bytes);
		return XDP_PASS;
	}
	if (p.flow.proto == (proto == ETH_P_IP ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return handle_icmp(ctx, &c, &p);
	if (parse_ports(&c, &p.flow) < 0)
		goto malformed;
	if (p.flow.proto == IPPROTO_TCP) {
		struct tcphdr *tcp = c.pos;

		if ((void *)(tcp + 1) > c.end)
			goto malformed;
		p.new = tcp->syn && !tcp->ack;
	}
	return balance(ctx, &p);

malformed:
	count_cpu(&totals, TOTAL_MALFORMED, p.bytes);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
