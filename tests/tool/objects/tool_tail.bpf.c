// SPDX-License-Identifier: BSD-3-Clause
/* A program that calls others through an array that is declared with them, and maps in a map. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

int first(struct xdp_md *ctx), second(struct xdp_md *ctx);

struct counter {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct counter short_ones SEC(".maps"), long_ones SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct counter);
} by_length SEC(".maps") = { .values = { &short_ones, &long_ones } };

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, int(struct xdp_md *));
} next SEC(".maps") = { .values = { [0] = first, [1] = second } };

static void count(struct xdp_md *ctx)
{
	__u32 which = ctx->data_end - ctx->data > 100, zero = 0;
	__u64 *n;
	void *map = bpf_map_lookup_elem(&by_length, &which);

	if (!map)
		return;
	n = bpf_map_lookup_elem(map, &zero);
	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("xdp") int first(struct xdp_md *ctx)
{
	count(ctx);
	return XDP_TX;
}

SEC("xdp") int second(struct xdp_md *ctx)
{
	bpf_printk("second: %d bytes", ctx->data_end - ctx->data);
	count(ctx);
	return XDP_PASS;
}

SEC("xdp") int start(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 14 > end)
		return XDP_ABORTED;
	bpf_tail_call(ctx, &next, data[5]);
	return XDP_DROP; /* there is none */
}

char _license[] SEC("license") = "GPL";
