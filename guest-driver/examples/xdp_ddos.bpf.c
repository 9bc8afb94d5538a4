// SPDX-License-Identifier: BSD-3-Clause
/*
 * xdp_ddos - a filter against floods for XDP: lists of sources and a rate for everybody else.
 *
 * How it works: the source is looked up by longest prefix (lists4, lists6): a denied one is dropped, an
 * allowed one passes whatever it sends. The others have a token bucket per source (an IPv6 source is its
 * /64) and class of traffic (connection requests, UDP, ICMP, fragments, the rest), in a table of the least
 * recently used kind, so that a flood of sources cannot fill it. A packet takes a token or is dropped;
 * tokens come back with time, up to the class's burst.
 *
 * Tokens are counted in millionths, so that a rate in packets a second times microseconds is a whole
 * number. A bucket is refilled by whoever moves its time (compare and exchange), and a token is taken by an
 * atomic, so that packets that run together take no token twice. How many pass does not depend on order
 * while the clock stands still; which ones they are does.
 */
#include "rewrite.h"

#define MAX_PREFIXES 4096
#define MAX_BUCKETS  65536
#define MAX_RULES    256
#define TOKEN	     1000000

enum { /* classes: indices of `rates` */
       CLASS_SYN,
       CLASS_UDP,
       CLASS_ICMP,
       CLASS_FRAGMENT, /* all but the first of a packet */
       CLASS_OTHER,
       NUM_CLASSES,
};

enum { /* indices of `totals` */
       TOTAL_MALFORMED, /* dropped */
       TOTAL_NOT_IP, /* passed, as ARP has to */
       TOTAL_ALLOWED,
       TOTAL_DENIED,
       TOTAL_NO_RATE, /* the class has none: passed */
       TOTAL_WITHIN,
       TOTAL_OVER, /* dropped */
       TOTAL_NO_BUCKET, /* passed: rather that than to drop everybody */
       NUM_TOTALS,
};

enum { ACTION_DENY = 1, ACTION_ALLOW = 2 };

struct listed {
	__u32 action; /* ACTION_* */
	__u32 rule; /* its counter */
};

struct rate {
	__u64 rate; /* packets a second; 0: no limit */
	__u64 burst; /* packets */
};

struct bucket_key {
	__be32 src[4];
	__u16 family;
	__u8 class, pad;
};

struct bucket {
	__u64 time; /* us: when it was refilled */
	__s64 tokens; /* millionths of a packet */
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
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix4);
	__type(value, struct listed);
} lists4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, struct listed);
} lists6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_BUCKETS);
	__type(key, struct bucket_key);
	__type(value, struct bucket);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUM_CLASSES);
	__type(key, __u32);
	__type(value, struct rate);
} rates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_RULES);
	__type(key, __u32);
	__type(value, struct count);
} rule_counts SEC(".maps");

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

static __always_inline struct listed *find_listed(const struct flow *f)
{
	struct prefix4 p4 = { .length = 32 };
	struct prefix6 p6 = { .length = 128 };

	if (f->family == ETH_P_IP) {
		p4.addr = f->src[0];
		return bpf_map_lookup_elem(&lists4, &p4);
	}
	__builtin_memcpy(p6.addr, f->src, sizeof(p6.addr));
	return bpf_map_lookup_elem(&lists6, &p6);
}

/* Return: the class, or -1 if the packet ends too early. */
static __always_inline int classify(const struct cursor *c, const struct flow *f)
{
	struct tcphdr *tcp = c->pos;

	if (f->fragment == FRAGMENT_LATER)
		return CLASS_FRAGMENT;
	switch (f->proto) {
	case IPPROTO_TCP:
		if ((void *)(tcp + 1) > c->end)
			return -1;
		return tcp->syn && !tcp->ack ? CLASS_SYN : CLASS_OTHER;
	case IPPROTO_UDP:
		return CLASS_UDP;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return CLASS_ICMP;
	default:
		return CLASS_OTHER;
	}
}

static __always_inline struct bucket *find_bucket(const struct flow *f, int class, const struct rate *rate,
						  __u64 now)
{
	struct bucket_key key = { .family = f->family, .class = class, .src = { f->src[0] } };
	struct bucket full = { .time = now, .tokens = rate->burst * TOKEN }, *b;

	if (f->family == ETH_P_IPV6)
		key.src[1] = f->src[1];
	b = bpf_map_lookup_elem(&buckets, &key);
	if (b)
		return b;
	bpf_map_update_elem(&buckets, &key, &full, BPF_NOEXIST);
	return bpf_map_lookup_elem(&buckets, &key);
}

static __always_inline void refill(struct bucket *b, const struct rate *rate, __u64 now)
{
	__u64 then = b->time, elapsed = now - then, most = rate->burst * TOKEN, add;

	if (now <= then || __sync_val_compare_and_swap(&b->time, then, now) != then)
		return;
	/* Longer than it takes to fill the bucket is as good as that, and cannot overflow. */
	add = elapsed > most ? most : elapsed * rate->rate;
	if (add > most)
		add = most;
	if (b->tokens + (__s64)add > (__s64)most)
		add = most - b->tokens;
	__sync_fetch_and_add(&b->tokens, add);
}

static __always_inline int take_token(const struct flow *f, int class, __u64 bytes)
{
	__u32 index = class;
	struct rate *rate = bpf_map_lookup_elem(&rates, &index);
	struct bucket *b;
	__u64 now;

	if (!rate || !rate->rate) {
		count(&totals, TOTAL_NO_RATE, bytes);
		return XDP_PASS;
	}
	now = clock_now(&clock) / 1000;
	b = find_bucket(f, class, rate, now);
	if (!b) {
		count(&totals, TOTAL_NO_BUCKET, bytes);
		return XDP_PASS;
	}
	refill(b, rate, now);
	if (__sync_fetch_and_add(&b->tokens, -TOKEN) < TOKEN) {
		__sync_fetch_and_add(&b->tokens, TOKEN);
		count(&totals, TOTAL_OVER, bytes);
		return XDP_DROP;
	}
	count(&totals, TOTAL_WITHIN, bytes);
	return XDP_PASS;
}

SEC("xdp")
int ddos_filter(struct xdp_md *ctx)
{
	struct cursor c = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	__u64 bytes = ctx->data_end - ctx->data;
	struct flow f = { 0 };
	struct listed *listed;
	__u16 proto, tags;
	int r, class;

	if (parse_ethernet(&c, &proto, &tags) < 0)
		goto malformed;
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
	listed = find_listed(&f);
	if (listed && listed->action == ACTION_DENY) {
		count(&rule_counts, listed->rule, bytes);
		count(&totals, TOTAL_DENIED, bytes);
		return XDP_DROP;
	}
	class = classify(&c, &f);
	if (class < 0)
		goto malformed;
	if (listed && listed->action == ACTION_ALLOW) {
		count(&rule_counts, listed->rule, bytes);
		count(&totals, TOTAL_ALLOWED, bytes);
		return XDP_PASS;
	}
	return take_token(&f, class, bytes);

malformed:
	count(&totals, TOTAL_MALFORMED, bytes);
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
