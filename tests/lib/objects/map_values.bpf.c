// SPDX-License-Identifier: BSD-3-Clause
/* Program arrays and maps of maps that are declared with values, and the other kinds of maps. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
};

struct inner inner_a SEC(".maps");
struct inner inner_b SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = { .values = { [1] = &inner_a, [3] = &inner_b } };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_NO_COMMON_LRU);
	__type(key, __u32);
	__type(value, __u64);
} lru SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} perf SEC(".maps");

int last(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 8);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} progs SEC(".maps") = { .values = { [2] = (void *)&last } };

SEC("xdp") int last(struct xdp_md *ctx)
{
	__u64 *value, one = 1;
	__u32 key = 0;

	bpf_map_update_elem(&lru, &key, &one, BPF_ANY);
	bpf_ringbuf_output(&ring, &one, sizeof(one), 0);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &one, sizeof(one));
	value = bpf_map_lookup_elem(&inner_b, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	return XDP_TX;
}

SEC("xdp") int first(struct xdp_md *ctx)
{
	__u32 index = 3, key = 0;
	void *map = bpf_map_lookup_elem(&outer, &index);
	__u64 *value;

	if (!map)
		return XDP_DROP;
	value = bpf_map_lookup_elem(map, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	bpf_tail_call(ctx, &progs, 2);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL"; /* for bpf_perf_event_output */
