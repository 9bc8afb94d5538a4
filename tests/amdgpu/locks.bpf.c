/* SPDX-License-Identifier: BSD-3-Clause */
/* locks.bpf.c - programs whose lanes all want the same lock; test_run.c says what is to come of them. */
#include <linux/bpf.h>
#include "gpgpu_bpf.h"

#define SEC(name)	  __attribute__((section(name), used))
#define ATTR(name, value) int(*name)[value]

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static long (*const map_push)(void *map, const void *value, __u64 flags) = (void *)87;
static long (*const map_pop)(void *map, void *value) = (void *)88;
static long (*const ring_output)(void *map, void *data, __u64 size, __u64 flags) = (void *)130;

struct {
	ATTR(type, BPF_MAP_TYPE_HASH);
	__u32 *key;
	__u64 *value;
	ATTR(max_entries, 256);
} hash SEC(".maps");

struct {
	ATTR(type, BPF_MAP_TYPE_LRU_HASH);
	__u32 *key;
	__u64 *value;
	ATTR(max_entries, 16);
} lru SEC(".maps");

struct {
	ATTR(type, BPF_MAP_TYPE_QUEUE);
	__u64 *value;
	ATTR(max_entries, 1024);
} queue SEC(".maps");

struct {
	ATTR(type, BPF_MAP_TYPE_RINGBUF);
	ATTR(max_entries, 16384);
} ring SEC(".maps");

struct lpm_key {
	__u32 prefixlen, address;
};

struct {
	ATTR(type, BPF_MAP_TYPE_LPM_TRIE);
	struct lpm_key *key;
	__u64 *value;
	ATTR(max_entries, 1024);
	ATTR(map_flags, 1);
} lpm SEC(".maps");

/* Each packet has its number in its first word. Return: -1 where it has not. */
static __always_inline long number(struct xdp_md *ctx)
{
	__u32 *data = (void *)(long)ctx->data;

	return (void *)(data + 1) > (void *)(long)ctx->data_end ? -1 : *data;
}

#define PASS(ok) ((ok) ? XDP_PASS : XDP_DROP)

/* All of them the same element. */
SEC("xdp") int same_key(struct xdp_md *ctx)
{
	__u32 key = 7;
	__u64 value = number(ctx);

	return PASS(!map_update(&hash, &key, &value, BPF_ANY));
}

/* Each its own, which is deleted again by every second; what is there is one's own. */
SEC("xdp") int own_key(struct xdp_md *ctx)
{
	__u32 key = number(ctx);
	__u64 value = key * 3ull, *found;

	if (map_update(&hash, &key, &value, BPF_NOEXIST))
		return XDP_DROP;
	found = map_lookup(&hash, &key);
	if (!found || *found != value)
		return XDP_DROP;
	return PASS(!(key & 1) || !map_delete(&hash, &key));
}

/* More keys than there is room for. */
SEC("xdp") int evict(struct xdp_md *ctx)
{
	__u32 key = number(ctx);
	__u64 value = key;

	return PASS(!map_update(&lru, &key, &value, BPF_ANY));
}

SEC("xdp") int push(struct xdp_md *ctx)
{
	__u64 value = number(ctx);

	return PASS(!map_push(&queue, &value, BPF_ANY));
}

SEC("xdp") int push_and_pop(struct xdp_md *ctx)
{
	__u64 value = number(ctx), other;

	return PASS(!map_push(&queue, &value, BPF_ANY) && !map_pop(&queue, &other));
}

SEC("xdp") int record(struct xdp_md *ctx)
{
	__u64 value = number(ctx);

	return PASS(!ring_output(&ring, &value, sizeof(value), 0));
}

SEC("xdp") int route(struct xdp_md *ctx)
{
	struct lpm_key key = { 32, number(ctx) };
	__u64 value = key.address, *found;

	if (map_update(&lpm, &key, &value, BPF_ANY))
		return XDP_DROP;
	found = map_lookup(&lpm, &key);
	return PASS(found && *found == value);
}

/* Every third never ends. */
SEC("xdp") int endless(struct xdp_md *ctx)
{
	__u64 n = number(ctx);

	while (n % 3 == 0)
		__asm__ volatile("%0 += 3" : "+r"(n));
	return XDP_PASS;
}
