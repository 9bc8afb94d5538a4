// SPDX-License-Identifier: BSD-3-Clause
/*
 * idioms.bpf.c - how programs count, to be compiled for every BPF version and looked at by test_sums.c.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct counters {
	__u64 packets, bytes;
	__u32 a, b;
	__u16 s;
	__u8 t, flags;
};

#define MAP(name, kind, what)                      \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_##kind); \
		__uint(max_entries, 16);           \
		__type(key, __u32);                \
		__type(value, what);               \
	} name SEC(".maps")

MAP(array, ARRAY, struct counters);
MAP(other, ARRAY, struct counters);
MAP(hash, HASH, struct counters);
MAP(percpu, PERCPU_ARRAY, struct counters);

__u64 total, sum;
__u32 small;

#define LEN(ctx) ((ctx)->data_end - (ctx)->data)
#define FIND(c, map)                                              \
	__u32 key_##c = 0;                                        \
	struct counters *c = bpf_map_lookup_elem(&map, &key_##c); \
	if (!c)                                                   \
	return XDP_ABORTED

/* The number of sums is in test_sums.c. */
#define PROGRAM(name) SEC("xdp") int name(struct xdp_md *ctx __attribute__((unused)))

PROGRAM(count)
{
	FIND(c, array);
	c->packets++;
	return XDP_PASS;
}

PROGRAM(count_two)
{
	FIND(c, array);
	c->packets++;
	c->bytes += LEN(ctx);
	return XDP_PASS;
}

PROGRAM(count_32)
{
	FIND(c, array);
	c->a++;
	c->b += LEN(ctx);
	return XDP_PASS;
}

PROGRAM(count_small)
{
	FIND(c, array);
	c->s++;
	c->t++;
	c->flags |= 4;
	return XDP_PASS;
}

PROGRAM(operations)
{
	FIND(c, array);
	c->packets--;
	c->bytes -= ctx->rx_queue_index;
	c->a ^= ctx->rx_queue_index;
	c->b &= ctx->rx_queue_index;
	return XDP_PASS;
}

PROGRAM(value_first)
{
	FIND(c, array);
	c->bytes = LEN(ctx) + c->bytes;
	c->a = 5 + ctx->rx_queue_index + c->a;
	return XDP_PASS;
}

PROGRAM(globals)
{
	total++;
	sum += LEN(ctx);
	small++;
	return XDP_PASS;
}

static __attribute__((noinline)) void bump(struct counters *c, __u32 len)
{
	c->packets++;
	c->bytes += len;
}

PROGRAM(in_function)
{
	FIND(c, array);
	bump(c, LEN(ctx));
	return XDP_PASS;
}

PROGRAM(insert)
{
	__u32 key = ctx->rx_queue_index;
	struct counters zero = { 0 }, *c = bpf_map_lookup_elem(&hash, &key);

	if (!c) {
		bpf_map_update_elem(&hash, &key, &zero, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&hash, &key);
		if (!c)
			return XDP_ABORTED;
	}
	c->packets++;
	c->bytes += LEN(ctx);
	return XDP_PASS;
}

PROGRAM(one_of_two_fields)
{
	FIND(c, array);
	if (ctx->rx_queue_index & 1)
		c->packets++;
	else
		c->bytes++;
	c->a++;
	return XDP_PASS;
}

PROGRAM(in_a_switch)
{
	int verdict = XDP_PASS;

	FIND(c, array);
	c->packets++;
	switch (ctx->rx_queue_index) {
	case 1:
		c->bytes += 10;
		verdict = XDP_DROP;
		break;
	case 2:
		c->bytes += 20;
		verdict = XDP_TX;
		break;
	default:
		c->bytes += 30;
	}
	return verdict;
}

PROGRAM(by_index)
{
	FIND(c, array);
	((__u64 *)c)[ctx->rx_queue_index & 1]++;
	return XDP_PASS;
}

PROGRAM(mixed_pointer)
{
	__u64 *p;

	FIND(c, array);
	p = ctx->rx_queue_index ? &c->packets : &total;
	*p += 1;
	return XDP_PASS;
}

PROGRAM(limit)
{
	FIND(c, array);
	return ++c->packets > 100 ? XDP_DROP : XDP_PASS;
}

PROGRAM(next_id)
{
	FIND(c, array);
	return c->a++ & 1 ? XDP_PASS : XDP_DROP;
}

PROGRAM(with_packet)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	FIND(c, array);
	if (data + 14 > end)
		return XDP_ABORTED;
	c->packets++;
	c->bytes += end - data;
	data[0] = 1;
	c->a += data[12];
	return XDP_PASS;
}

PROGRAM(two_maps)
{
	FIND(c, array);
	FIND(d, other);
	c->packets++;
	d->packets++;
	c->bytes += LEN(ctx);
	d->bytes += LEN(ctx);
	return XDP_PASS;
}

/* What is none: */

PROGRAM(per_cpu)
{
	FIND(c, percpu);
	c->packets++;
	return XDP_PASS;
}

PROGRAM(maximum)
{
	FIND(c, array);
	if (LEN(ctx) > c->a)
		c->a = LEN(ctx);
	return XDP_PASS;
}

PROGRAM(average)
{
	FIND(c, array);
	c->packets = (c->packets * 7 + LEN(ctx)) / 8;
	return XDP_PASS;
}

PROGRAM(bucket)
{
	FIND(c, array);
	if (!c->packets)
		return XDP_DROP;
	c->packets--;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
