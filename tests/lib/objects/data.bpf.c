// SPDX-License-Identifier: BSD-3-Clause
/* Global data of every kind, and a map of every type. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 limit = 7;
static volatile __u32 counter = 3;
static volatile __u64 zeroed[4];
volatile __u32 own SEC(".data.own") = 5;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(key_size, 8);
	__uint(value_size, 12);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32);
	__type(key, __u64);
	__type(value, __u32);
} unused SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(map_flags, BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, __u32);
} constant SEC(".maps");

SEC("xdp.frags") int data(struct xdp_md *ctx)
{
	__u64 key = 32;
	__u32 index = 1, *fixed = bpf_map_lookup_elem(&constant, &index);
	__u64 *value = bpf_map_lookup_elem(&per_cpu, &index);

	if (value)
		*value += 1;
	if (bpf_map_lookup_elem(&prefixes, &key) || fixed == (void *)-1)
		return XDP_DROP;
	counter += limit;
	zeroed[3] = counter + own;
	return counter > 9 ? XDP_PASS : XDP_TX;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
