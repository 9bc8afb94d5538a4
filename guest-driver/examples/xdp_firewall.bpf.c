// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_firewall - a stateless packet filter for XDP.
 *
 * How it works: a packet's addresses, protocol and ports are found behind up to two VLAN tags, IPv4 options
 * and IPv6 extension headers. Who may send is looked up first, by longest prefix of the source address
 * (source4, source6). If that has no answer, the rules are asked, from the most exact to the least: both
 * ends, one server's port, any server's port, a protocol. The first that is there decides, and its counter
 * grows. What nothing matches gets the default of the settings.
 *
 * Counters grow by atomics and nothing else is written, so the order of packets does not matter.
 */
#include "rewrite.h"

#define MAX_RULES 1024

/* Counters before those of rules. */
enum {
	COUNT_MALFORMED, /* packet ends inside its headers: dropped */
	COUNT_NOT_IP, /* ARP and the like: passed */
	COUNT_FRAGMENT, /* not the first of its packet: as the settings say */
	COUNT_DEFAULT, /* no rule */
	COUNT_TAGGED, /* had a VLAN tag; counted besides */
	COUNT_FIRST_RULE = 8,
};

struct settings {
	__u32 default_action; /* XDP_DROP or XDP_PASS */
	__u32 fragment_action; /* the same; 0: ask the rules, with ports 0 */
};

struct rule {
	__u32 action; /* XDP_DROP or XDP_PASS */
	__u32 id; /* number of its counter, from COUNT_FIRST_RULE */
};

struct rule_key { /* zero: any */
	__be32 src[4], dst[4];
	__be16 sport, dport;
	__u16 family;
	__u8 proto, pad;
};

struct prefix4 {
	__u32 length;
	__be32 addr;
};

struct prefix6 {
	__u32 length;
	__be32 addr[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_RULES);
	__type(key, struct rule_key);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_RULES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix4);
	__type(value, struct rule);
} source4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_RULES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, struct rule);
} source6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNT_FIRST_RULE + MAX_RULES);
	__type(key, __u32);
	__type(value, struct count);
} counters SEC(".maps");

static __always_inline struct rule *find_source(const struct flow *f)
{
	struct prefix4 p4 = { .length = 32 };
	struct prefix6 p6 = { .length = 128 };

	if (f->family == ETH_P_IP) {
		p4.addr = f->src[0];
		return bpf_map_lookup_elem(&source4, &p4);
	}
	__builtin_memcpy(p6.addr, f->src, sizeof(p6.addr));
	return bpf_map_lookup_elem(&source6, &p6);
}

static __always_inline struct rule *find_rule(const struct flow *f)
{
	struct rule_key key = { .family = f->family, .proto = f->proto };
	struct rule *rule;

	/* both ends */
	__builtin_memcpy(key.src, f->src, sizeof(key.src));
	__builtin_memcpy(key.dst, f->dst, sizeof(key.dst));
	key.sport = f->sport;
	key.dport = f->dport;
	rule = bpf_map_lookup_elem(&rules, &key);
	if (rule)
		return rule;
	/* one server's port, for whoever asks */
	__builtin_memset(key.src, 0, sizeof(key.src));
	key.sport = 0;
	rule = bpf_map_lookup_elem(&rules, &key);
	if (rule)
		return rule;
	/* a port of any server */
	__builtin_memset(key.dst, 0, sizeof(key.dst));
	rule = bpf_map_lookup_elem(&rules, &key);
	if (rule)
		return rule;
	/* a protocol */
	key.dport = 0;
	return bpf_map_lookup_elem(&rules, &key);
}

static __always_inline int decide(const struct flow *f, __u64 bytes)
{
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	struct rule *rule;

	if (!s)
		return XDP_ABORTED;
	rule = find_source(f);
	if (!rule && f->fragment == FRAGMENT_LATER && s->fragment_action) {
		count(&counters, COUNT_FRAGMENT, bytes);
		return s->fragment_action == XDP_PASS ? XDP_PASS : XDP_DROP;
	}
	if (!rule)
		rule = find_rule(f);
	if (!rule) {
		count(&counters, COUNT_DEFAULT, bytes);
		return s->default_action == XDP_PASS ? XDP_PASS : XDP_DROP;
	}
	count(&counters, rule->id, bytes);
	return rule->action == XDP_PASS ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int firewall(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	__u64 bytes = ctx->data_end - ctx->data;
	struct flow f = { 0 };
	__u16 proto, tags;
	int r;

	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
	if (tags)
		count(&counters, COUNT_TAGGED, bytes);
	if (proto == ETH_P_IP)
		r = parse_ipv4(&c, &f);
	else if (proto == ETH_P_IPV6)
		r = parse_ipv6(&c, &f);
	else
		goto not_ip;
	if (r < 0 || parse_ports(&c, &f) < 0)
		goto malformed;
	return decide(&f, bytes);

malformed:
	count(&counters, COUNT_MALFORMED, bytes);
	return XDP_DROP;
not_ip:
	count(&counters, COUNT_NOT_IP, bytes);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
