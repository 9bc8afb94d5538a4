// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_flows - a flow counter for XDP: who talks to whom, how much, since when.
 *
 * How it works: addresses, ports and protocol, found behind VLAN tags, IPv4 options and IPv6 extension
 * headers, name a flow (one direction). A table of the least recently used kind keeps packets, bytes, all
 * TCP flags seen and the times of the first and the last packet. Later fragments have no ports and count
 * for a flow of ports 0. Beside it, per CPU: packets and bytes of each protocol (a hash) and a histogram of
 * lengths (an array).
 *
 * Everything passes. Order does not matter, unless the clock moves with each packet (rewrite.h): flows grow
 * by atomics, the rest has one writer per CPU.
 */
#include "rewrite.h"

#define MAX_FLOWS     65536
#define MAX_PROTOCOLS 1024
#define NUM_SIZES     16 /* frames of 2^n bytes and more */

enum { /* indices of `totals` */
       TOTAL_MALFORMED,
       TOTAL_NOT_IP,
       TOTAL_FRAGMENT, /* all but the first of a packet */
       TOTAL_TAGGED,
       TOTAL_NO_ROOM, /* the table did not take the flow */
       TOTAL_NEW, /* flows, not packets */
       NUM_TOTALS,
};

struct flow_key {
	__be32 src[4], dst[4];
	__be16 sport, dport;
	__u16 family;
	__u8 proto, pad;
};

struct flow_value {
	__u64 packets, bytes;
	__u64 first, last; /* ns */
	__u64 flags; /* of TCP, all that were seen */
};

struct protocol_key {
	__u16 family;
	__u8 proto, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_FLOWS);
	__type(key, struct flow_key);
	__type(value, struct flow_value);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, MAX_PROTOCOLS);
	__type(key, struct protocol_key);
	__type(value, struct count);
} protocols SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NUM_SIZES);
	__type(key, __u32);
	__type(value, struct count);
} sizes SEC(".maps");

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

static __always_inline void count_protocol(const struct flow *f, __u64 bytes)
{
	struct protocol_key key = { .family = f->family, .proto = f->proto };
	struct count *c = bpf_map_lookup_elem(&protocols, &key);
	struct count none = { 0 };

	if (!c) {
		/* Another CPU may be as quick; then its entry has room for this one as well. */
		bpf_map_update_elem(&protocols, &key, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&protocols, &key);
		if (!c)
			return;
	}
	c->packets += 1;
	c->bytes += bytes;
}

static __always_inline void count_size(__u64 bytes)
{
	__u32 n = 0;

#pragma unroll
	for (int i = 1; i < NUM_SIZES; i++)
		n += bytes >> i != 0;
	count_cpu(&sizes, n, bytes);
}

static __always_inline void count_flow(const struct flow *f, __u64 bytes, __u8 flags)
{
	struct flow_key key = { .family = f->family, .proto = f->proto, .sport = f->sport, .dport = f->dport };
	struct flow_value fresh = { .first = clock_now(&clock) }, *v;

	__builtin_memcpy(key.src, f->src, sizeof(key.src));
	__builtin_memcpy(key.dst, f->dst, sizeof(key.dst));
	v = bpf_map_lookup_elem(&flows, &key);
	if (!v) {
		if (!bpf_map_update_elem(&flows, &key, &fresh, BPF_NOEXIST))
			count(&totals, TOTAL_NEW, 0);
		v = bpf_map_lookup_elem(&flows, &key);
	}
	if (!v) {
		count(&totals, TOTAL_NO_ROOM, bytes);
		return;
	}
	__sync_fetch_and_add(&v->packets, 1);
	__sync_fetch_and_add(&v->bytes, bytes);
	__sync_fetch_and_or(&v->flags, flags);
	v->last = fresh.first;
}

/* Return: the flags, 0 for what is not TCP, -1 if the packet ends too early. */
static __always_inline int tcp_flags(const struct cursor *c, const struct flow *f)
{
	__u8 *tcp = c->pos;

	if (f->proto != IPPROTO_TCP || f->fragment == FRAGMENT_LATER)
		return 0;
	if ((void *)(tcp + sizeof(struct tcphdr)) > c->end)
		return -1;
	return tcp[13];
}

SEC("xdp")
int flow_counter(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	__u64 bytes = ctx->data_end - ctx->data;
	struct flow f = { 0 };
	__u16 proto, tags;
	int r, flags;

	count_size(bytes);
	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
	if (tags)
		count(&totals, TOTAL_TAGGED, bytes);
	if (proto == ETH_P_IP) {
		r = parse_ipv4(&c, &f);
	} else if (proto == ETH_P_IPV6) {
		r = parse_ipv6(&c, &f);
	} else {
		count(&totals, TOTAL_NOT_IP, bytes);
		return XDP_PASS;
	}
	if (r < 0 || parse_ports(&c, &f) < 0)
		goto malformed;
	flags = tcp_flags(&c, &f);
	if (flags < 0)
		goto malformed;
	if (f.fragment == FRAGMENT_LATER)
		count(&totals, TOTAL_FRAGMENT, bytes);
	count_protocol(&f, bytes);
	count_flow(&f, bytes, flags);
	return XDP_PASS;

malformed:
	count(&totals, TOTAL_MALFORMED, bytes);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
