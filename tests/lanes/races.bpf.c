// SPDX-License-Identifier: BSD-3-Clause
/*
 * races.bpf.c - programs whose results lanes can change, for test_lanes.c, which says what must come out.
 *
 * A packet is an Ethernet header whose bytes 2 and 3 are its flow, then struct body.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include "races.h"

#define MAP(name, kind, entries, what)             \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_##kind); \
		__uint(max_entries, entries);      \
		__type(key, __u32);                \
		__type(value, what);               \
	} name SEC(".maps")

MAP(counters, ARRAY, 4, struct counters);
MAP(percpu, PERCPU_ARRAY, 4, struct counters);
MAP(flows, HASH, RACES_FLOWS, struct flow);
MAP(wide, ARRAY, 1, struct wide);
MAP(recent, LRU_HASH, RACES_RECENT, __u64);

struct packet {
	__u8 dst[6], src[6];
	__u16 proto;
	struct body body;
} __attribute__((packed));

#define PROGRAM(name)                                                                  \
	static __always_inline int do_##name(struct packet *p, __u32 len);             \
	SEC("xdp") int name(struct xdp_md *ctx)                                        \
	{                                                                              \
		struct packet *p = (void *)(long)ctx->data;                            \
                                                                                       \
		if ((void *)(p + 1) > (void *)(long)ctx->data_end)                     \
			return XDP_ABORTED;                                            \
		return do_##name(p, ctx->data_end - ctx->data);                        \
	}                                                                              \
	static __always_inline int do_##name(struct packet *p __attribute__((unused)), \
					     __u32 len __attribute__((unused)))

#define FIND(c, map, index)                                       \
	__u32 key_##c = (index);                                  \
	struct counters *c = bpf_map_lookup_elem(&map, &key_##c); \
	if (!c)                                                   \
	return XDP_ABORTED

static __always_inline __u32 flow_of(const struct packet *p)
{
	return p->dst[2] << 8 | p->dst[3];
}

/* What every program does. */
PROGRAM(count)
{
	FIND(c, counters, 0);
	c->packets++;
	c->bytes += len;
	c->small++;
	return XDP_PASS;
}

/* The number of each packet. */
PROGRAM(number)
{
	FIND(c, counters, 0);
	p->body.out = c->packets++;
	return XDP_PASS;
}

/* Each operation in each size, and what is done with the results. */
PROGRAM(operations)
{
	__u32 key = 0, v = p->body.value;
	struct wide *w = bpf_map_lookup_elem(&wide, &key);
	__u64 old;

	if (!w)
		return XDP_ABORTED;
	w->add += v * 0x100000001ull;
	w->sub -= v;
	w->or |= 1ull << (v & 63);
	w->and &= ~(1ull << (v % 61));
	w->xor ^= v * 0x9e3779b97f4a7c15ull;
	w->add32 += v * 0x10001u;
	w->add16 += v;
	w->or16 |= 1u << (v & 15);
	w->add8 += v;
	w->xor8 ^= v;
	asm volatile("r1 = *(u64 *)(%0 + 49)\n r1 += %1\n *(u64 *)(%0 + 49) = r1" ::"r"(w), "r"((__u64)v)
		     : "r1", "memory");
	old = w->next;
	w->next = old + v;
	p->body.time = old * 3 + w->next;
	p->body.out = (w->next32 += v) ^ v;
	return XDP_PASS;
}

/* No sum: what was loaded is compared. */
PROGRAM(saturate)
{
	FIND(c, counters, 0);
	if (c->packets < RACES_MANY)
		c->packets++;
	return XDP_PASS;
}

PROGRAM(maximum)
{
	FIND(c, counters, 0);
	if (p->body.value > c->bytes)
		c->bytes = p->body.value;
	return XDP_PASS;
}

PROGRAM(per_cpu)
{
	FIND(c, percpu, 0);
	FIND(shared, counters, 0);
	c->packets++;
	if (c->small < RACES_MANY)
		c->small++;
	/* Scratch: written, then read again with others in between. */
	c->bytes = p->body.value;
	shared->packets++;
	p->body.out = c->bytes;
	return XDP_PASS;
}

/* As `saturate`, for each flow. */
PROGRAM(saturate_flow)
{
	__u32 key = flow_of(p);
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);

	if (!flow)
		return XDP_ABORTED;
	if (flow->packets < RACES_MANY)
		flow->packets++;
	return XDP_PASS;
}

/* A token bucket for each flow; the packet says what time it is. */
PROGRAM(bucket)
{
	__u32 key = flow_of(p);
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);
	__u64 tokens;

	if (!flow)
		return XDP_ABORTED;
	tokens = flow->tokens + (p->body.time - flow->time) * RACES_RATE;
	if (tokens > RACES_BURST)
		tokens = RACES_BURST;
	flow->time = p->body.time;
	if (tokens < RACES_COST) {
		flow->tokens = tokens;
		return XDP_DROP;
	}
	flow->tokens = tokens - RACES_COST;
	return XDP_PASS;
}

/* A lock of the program's own, tried a number of times. A value of 0 keeps it for ever. */
PROGRAM(lock)
{
	int taken = 0;

	FIND(c, counters, 0);
	for (int i = 0; i < RACES_TRIES && !taken; i++)
		taken = !__sync_val_compare_and_swap(&c->lock, 0, 1);
	if (!taken)
		return XDP_DROP;
	if (c->packets < RACES_MANY)
		c->packets++;
	if (p->body.value)
		__sync_fetch_and_and(&c->lock, 0);
	return XDP_PASS;
}

/* Without a bound. */
PROGRAM(lock_for_ever)
{
	FIND(c, counters, 0);
	while (__sync_val_compare_and_swap(&c->lock, 0, 1))
		;
	if (c->packets < RACES_MANY)
		c->packets++;
	if (p->body.value)
		__sync_fetch_and_and(&c->lock, 0);
	return XDP_PASS;
}

/* The first packet of a flow makes its entry: two may both be the first, and the second wipes out the other's count. */
PROGRAM(insert_any)
{
	struct flow *flow, first = { .packets = 1 };
	__u32 key = flow_of(p);

	flow = bpf_map_lookup_elem(&flows, &key);
	if (flow)
		flow->packets++;
	else if (bpf_map_update_elem(&flows, &key, &first, BPF_ANY))
		return XDP_ABORTED;
	return XDP_PASS;
}

/* Only one of them is let in, and both count in what is there then. */
PROGRAM(insert_once)
{
	struct flow *flow, none = { 0 };
	__u32 key = flow_of(p);

	flow = bpf_map_lookup_elem(&flows, &key);
	if (!flow) {
		bpf_map_update_elem(&flows, &key, &none, BPF_NOEXIST);
		flow = bpf_map_lookup_elem(&flows, &key);
	}
	if (!flow)
		return XDP_ABORTED;
	flow->packets++;
	return XDP_PASS;
}

/* Key `value` is used: inserted if it is not there. */
PROGRAM(lru)
{
	__u64 *found, one = 1;
	__u32 key = p->body.value;

	FIND(c, counters, 0);
	found = bpf_map_lookup_elem(&recent, &key);
	if (found) {
		*found += 1;
		c->packets++;
	} else if (bpf_map_update_elem(&recent, &key, &one, BPF_ANY)) {
		c->small++;
	} else {
		c->bytes++;
	}
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
