// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_lb - a layer 4 load balancer for XDP.
 *
 * How it works: a service is an address, a protocol and a port (map vips; port 0 there: any port). The
 * packet's addresses and ports are hashed; the hash picks a place in the service's ring, the ring names a
 * real server. The whole packet then travels to that server inside an IPv4 or IPv6 header of ours, in front
 * of which the Ethernet header of the next hop is written. Rings are filled by whoever configures the
 * balancer, so that a change of servers moves few flows (Maglev, for instance).
 *
 * The outer source address carries bits of the flow's hash, so that the servers' network cards spread flows
 * over their queues. There is no table of connections: a flow's server follows from its packet alone, so
 * the order of packets does not matter. Counters grow by atomics.
 */
#include "rewrite.h"

#define MAX_VIPS	64
#define MAX_REALS	256
#define RING_SIZE	127 /* places per service; prime, as Maglev wants it */

#define VIP_SOURCE_ONLY 1 /* flag: all of a client's flows go to one server */

#define REAL_IPV6	1 /* flag: the server is reached by IPv6 */

enum { /* indices of `totals` */
       TOTAL_MALFORMED,
       TOTAL_NOT_IP,
       TOTAL_FRAGMENT, /* any fragment: only the first has ports, so all are passed */
       TOTAL_TAGGED, /* VLANs are not balanced */
       TOTAL_NO_VIP,
       TOTAL_NO_REAL, /* its ring has no server there: dropped */
       TOTAL_SENT4,
       TOTAL_SENT6,
       TOTAL_NO_ROOM, /* no headroom: dropped */
       NUM_TOTALS,
};

struct vip_key {
	__be32 addr[4];
	__be16 port;
	__u16 family; /* ETH_P_IP or ETH_P_IPV6 */
	__u8 proto;
	__u8 pad[3];
};

struct vip {
	__u32 number; /* below MAX_VIPS: which ring and which statistics */
	__u32 flags; /* VIP_* */
};

struct real {
	__be32 addr[4];
	__u32 flags; /* REAL_* */
};

struct next_hop {
	__u8 dst_mac[6], src_mac[6];
	__be32 src4; /* outer source address; upper 16 bits are used */
	__be32 src6[4]; /* the same; the first 96 bits are used */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_VIPS);
	__type(key, struct vip_key);
	__type(value, struct vip);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_VIPS *RING_SIZE);
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
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct next_hop);
} next_hop SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_VIPS);
	__type(key, __u32);
	__type(value, struct count);
} vip_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_REALS);
	__type(key, __u32);
	__type(value, struct count);
} real_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUM_TOTALS);
	__type(key, __u32);
	__type(value, struct count);
} totals SEC(".maps");

/* Global data: lets one balancer's rings differ from another's. */
const volatile __u32 hash_seed = 0x5eed0001;

/* Bob Jenkins' lookup3 over a multiple of three words. */
static __always_inline void mix(__u32 *a, __u32 *b, __u32 *c)
{
	*a -= *c;
	*a ^= rotate32(*c, 4);
	*c += *b;
	*b -= *a;
	*b ^= rotate32(*a, 6);
	*a += *c;
	*c -= *b;
	*c ^= rotate32(*b, 8);
	*b += *a;
	*a -= *c;
	*a ^= rotate32(*c, 16);
	*c += *b;
	*b -= *a;
	*b ^= rotate32(*a, 19);
	*a += *c;
	*c -= *b;
	*c ^= rotate32(*b, 4);
	*b += *a;
}

static __always_inline __u32 final(__u32 a, __u32 b, __u32 c)
{
	c ^= b;
	c -= rotate32(b, 14);
	a ^= c;
	a -= rotate32(c, 11);
	b ^= a;
	b -= rotate32(a, 25);
	c ^= b;
	c -= rotate32(b, 16);
	a ^= c;
	a -= rotate32(c, 4);
	b ^= a;
	b -= rotate32(a, 14);
	c ^= b;
	c -= rotate32(b, 24);
	return c;
}

/* Five words; a function of its own, so that its many instructions are there once. */
static __noinline __u32 hash_words(__u32 w0, __u32 w1, __u32 w2, __u32 w3, __u32 w4)
{
	__u32 a = hash_seed + w0, b = hash_seed + w1, c = hash_seed + w2;

	mix(&a, &b, &c);
	return final(a + w3, b + w4, c);
}

/* The destination is the service's and says nothing; source, ports and protocol make the flow. */
static __always_inline __u32 hash_flow(const struct flow *f, __u32 flags)
{
	__u32 ports = ((__u32)f->sport << 16 | f->dport) + f->proto * 0x9e3779b1;

	return hash_words(f->src[0], f->src[1], f->src[2], f->src[3], flags & VIP_SOURCE_ONLY ? 0 : ports);
}

static __always_inline struct vip *find_vip(const struct flow *f)
{
	struct vip_key key = { .family = f->family, .proto = f->proto, .port = f->dport };
	struct vip *vip;

	__builtin_memcpy(key.addr, f->dst, sizeof(key.addr));
	vip = bpf_map_lookup_elem(&vips, &key);
	if (vip)
		return vip;
	key.port = 0;
	return bpf_map_lookup_elem(&vips, &key);
}

static __always_inline int send4(struct xdp_md *ctx, const struct flow *f, const struct real *real,
				 const struct next_hop *hop, __u32 hash, __u16 payload)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = 5,
		.ttl = OUTER_TTL,
		.protocol = f->family == ETH_P_IP ? IPPROTO_IPIP : IPPROTO_IPV6,
		.tot_len = bpf_htons(payload + sizeof(ip)),
		.saddr = (hop->src4 & bpf_htonl(0xffff0000)) | bpf_htonl(hash & 0xffff),
		.daddr = real->addr[0],
	};
	void *data, *end;

	ip.check = checksum(&ip, sizeof(ip));
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(ip)))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + sizeof(struct ethhdr) + sizeof(ip) > end)
		return -1;
	outer_ethernet(data, hop->dst_mac, hop->src_mac, ETH_P_IP);
	__builtin_memcpy(data + sizeof(struct ethhdr), &ip, sizeof(ip));
	return 0;
}

static __always_inline int send6(struct xdp_md *ctx, const struct flow *f, const struct real *real,
				 const struct next_hop *hop, __u32 hash, __u16 payload)
{
	struct ipv6hdr ip = {
		.version = 6,
		.payload_len = bpf_htons(payload),
		.nexthdr = f->family == ETH_P_IP ? IPPROTO_IPIP : IPPROTO_IPV6,
		.hop_limit = OUTER_TTL,
	};
	void *data, *end;

	__builtin_memcpy(&ip.saddr, hop->src6, 12);
	ip.saddr.in6_u.u6_addr32[3] = bpf_htonl(hash);
	__builtin_memcpy(&ip.daddr, real->addr, sizeof(ip.daddr));
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(ip)))
		return -1;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + sizeof(struct ethhdr) + sizeof(ip) > end)
		return -1;
	outer_ethernet(data, hop->dst_mac, hop->src_mac, ETH_P_IPV6);
	__builtin_memcpy(data + sizeof(struct ethhdr), &ip, sizeof(ip));
	return 0;
}

static __always_inline int balance(struct xdp_md *ctx, const struct flow *f, __u64 bytes)
{
	struct vip *vip = find_vip(f);
	__u32 hash, place, zero = 0, *number, server;
	struct next_hop *hop;
	struct real *real;
	int r;

	if (!vip) {
		count(&totals, TOTAL_NO_VIP, bytes);
		return XDP_PASS;
	}
	hash = hash_flow(f, vip->flags);
	count(&vip_counts, vip->number, bytes);
	place = vip->number * RING_SIZE + hash % RING_SIZE;
	number = bpf_map_lookup_elem(&rings, &place);
	hop = bpf_map_lookup_elem(&next_hop, &zero);
	if (!number || !*number || !hop)
		goto no_real;
	server = *number;
	real = bpf_map_lookup_elem(&reals, &server);
	if (!real || !real->addr[0])
		goto no_real;
	if (real->flags & REAL_IPV6)
		r = send6(ctx, f, real, hop, hash, bytes - sizeof(struct ethhdr));
	else
		r = send4(ctx, f, real, hop, hash, bytes - sizeof(struct ethhdr));
	if (r < 0) {
		count(&totals, TOTAL_NO_ROOM, bytes);
		return XDP_DROP;
	}
	count(&real_counts, server, bytes);
	count(&totals, real->flags & REAL_IPV6 ? TOTAL_SENT6 : TOTAL_SENT4, bytes);
	return XDP_TX;

no_real:
	count(&totals, TOTAL_NO_REAL, bytes);
	return XDP_DROP;
}

SEC("xdp")
int balancer(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	__u64 bytes = ctx->data_end - ctx->data;
	struct flow f = { 0 };
	__u16 proto, tags;
	int r;

	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
	if (tags) {
		count(&totals, TOTAL_TAGGED, bytes);
		return XDP_PASS;
	}
	if (proto == ETH_P_IP) {
		r = parse_ipv4(&c, &f);
	} else if (proto == ETH_P_IPV6) {
		r = parse_ipv6(&c, &f);
	} else {
		count(&totals, TOTAL_NOT_IP, bytes);
		return XDP_PASS;
	}
	if (r < 0)
		goto malformed;
	if (f.fragment) {
		count(&totals, TOTAL_FRAGMENT, bytes);
		return XDP_PASS;
	}
	if (parse_ports(&c, &f) < 0)
		goto malformed;
	return balance(ctx, &f, bytes);

malformed:
	count(&totals, TOTAL_MALFORMED, bytes);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
