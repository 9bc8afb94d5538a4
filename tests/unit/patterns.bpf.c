// SPDX-License-Identifier: BSD-3-Clause
/*
 * patterns.bpf.c - the ways in which C handles pointers, as clang makes programs of them.
 *
 * Every program gets 64 bytes whose byte i is i, from port 2 on queue 3, and returns XDP_PASS where all that it
 * saw was right. test_patterns.c runs each on the compiler and on the interpreter, which must agree. How the
 * instructions look is clang's business; the same patterns by hand are in test_pointers.c.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

#define check(what)	  ((what) ? XDP_PASS : XDP_DROP)
#define NOT_INLINED	  static __attribute__((noinline))
#define pointer(x)	  ((void *)(long)(x))
#define seen(x)		  asm volatile("" : "+r"(x))
#define in_memory(object) asm volatile("" : : "r"(&(object)) : "memory")

struct value {
	__u8 mac[6];
	__u16 port;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct value);
	__uint(max_entries, 2);
} table SEC(".maps"), other SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct value);
	__uint(max_entries, 4);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64[2]);
	__uint(max_entries, 1);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 2);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 3);
	__array(values, struct inner);
} third SEC(".maps") = {
	.values = { [0] = &first, [1] = &second },
};

struct cursor {
	void *at, *end;
	struct xdp_md *ctx;
};

SEC("xdp") int length_as_difference(struct xdp_md *ctx)
{
	return check(ctx->data_end - ctx->data == 64 && pointer(ctx->data_end) - pointer(ctx->data) == 64);
}

SEC("xdp") int end_on_the_right(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);

	if (data + 20 > end)
		return XDP_DROP;
	return check(data[19] == 19);
}

SEC("xdp") int end_on_the_left(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);

	if (end < data + 65)
		return check(!(end < data + 64) && data[63] == 63);
	return XDP_DROP;
}

SEC("xdp") int end_less_an_offset(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);

	for (; end - 16 >= data && data[0] < 10; data++)
		;
	return check(data[15] == 25);
}

/* clang makes one pointer of it that is packet or map value. */
SEC("xdp") int map_value_or_packet(struct xdp_md *ctx)
{
	void *data = pointer(ctx->data), *end = pointer(ctx->data_end);
	struct ethhdr *eth = data;
	__u32 key = ctx->rx_queue_index, sum = 0;
	struct value *v;
	__u8 *mac;

	if (data + sizeof(*eth) > end)
		return XDP_DROP;
	v = bpf_map_lookup_elem(&hash, &key);
	mac = v ? v->mac : eth->h_source;
	for (int i = 0; i < 6; i++)
		sum += mac[i];
	return check(sum == 6 + 7 + 8 + 9 + 10 + 11);
}

SEC("xdp") int null_joins(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end), *found = 0;

	for (int i = 0; i < 32; i++) {
		if (data + i + 1 > end)
			break;
		if (data[i] == 9)
			found = data + i;
	}
	return check(found && *found == 9);
}

SEC("xdp") int map_chosen_at_run_time(struct xdp_md *ctx)
{
	struct value first = { .port = 1 }, second = { .port = 2 }, *v;
	void *map = ctx->ingress_ifindex == 2 ? (void *)&other : (void *)&table;
	__u32 key = 1;

	bpf_map_update_elem(&table, &key, &first, 0);
	bpf_map_update_elem(&other, &key, &second, 0);
	v = bpf_map_lookup_elem(map, &key);
	return check(v && v->port == 2);
}

SEC("xdp") int map_of_two_types(struct xdp_md *ctx)
{
	void *map = ctx->ingress_ifindex == 2 ? (void *)&hash : (void *)&table;
	struct value value = { .port = 7 }, *v;
	__u32 key = 77; /* the array has none */

	if (bpf_map_update_elem(map, &key, &value, 0))
		return XDP_DROP;
	v = bpf_map_lookup_elem(map, &key);
	return check(v && v->port == 7);
}

/* An array by a variable index beside what is spilled and beside other objects. */
SEC("xdp") int array_on_the_stack(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);
	__u32 counts[8] = { 0 }, key = 0, *k = &key;

	for (int i = 0; i < 64; i++) {
		if (data + i + 1 > end)
			break;
		counts[data[i] & 7]++;
	}
	bpf_map_lookup_elem(&table, k);
	return check(counts[ctx->ingress_ifindex] == 8 && counts[ctx->rx_queue_index] == 8);
}

NOT_INLINED int take(struct cursor *c, __u32 bytes)
{
	if (c->at + bytes > c->end)
		return -1;
	c->at += bytes;
	return 0;
}

/* A function that gets the address of a structure with pointers, and moves one. */
SEC("xdp") int cursor_that_a_function_moves(struct xdp_md *ctx)
{
	struct cursor c = { pointer(ctx->data), pointer(ctx->data_end), ctx };

	if (take(&c, 14) || take(&c, 20) || !take(&c, 31))
		return XDP_DROP;
	if (c.at + 1 > c.end)
		return XDP_DROP;
	return check(*(__u8 *)c.at == 34);
}

NOT_INLINED __u32 port_of(const struct cursor *c)
{
	return c->ctx->ingress_ifindex;
}

SEC("xdp") int context_in_a_structure(struct xdp_md *ctx)
{
	struct cursor c = { 0, 0, ctx };

	in_memory(c);
	return check(port_of(&c) == 2);
}

NOT_INLINED __u8 *byte_at(struct xdp_md *ctx, __u32 at)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);

	if (at > 1000 || data + at + 1 > end)
		return 0;
	return data + at;
}

SEC("xdp") int function_that_returns_a_pointer(struct xdp_md *ctx)
{
	__u8 *p = byte_at(ctx, 33), *none = byte_at(ctx, 64);

	return check(p && *p == 33 && !none);
}

/* Not static: the kernel checks such a function on its own, whatever its callers pass. */
__attribute__((noinline)) int global_function(__u32 *in, __u64 flags)
{
	if (!in)
		return 1;
	*in += flags;
	return 0;
}

SEC("xdp") int arguments_of_a_global_function(struct xdp_md *ctx)
{
	__u32 n = 1, key = 0, *in = bpf_map_lookup_elem(&table, &key);

	if (!in || global_function(&n, 2) || global_function(in, 3) || !global_function(0, 3))
		return XDP_DROP;
	return check(n == 3 && *in == 3);
}

SEC("xdp") int pointers_after_adjust_head(struct xdp_md *ctx)
{
	__u8 *data, *end;

	if (bpf_xdp_adjust_head(ctx, 4))
		return XDP_DROP;
	data = pointer(ctx->data);
	end = pointer(ctx->data_end);
	if (data + 60 != end)
		return XDP_DROP;
	return check(data[0] == 4);
}

SEC("xdp") int metadata_in_front(struct xdp_md *ctx)
{
	__u32 *meta;

	if (bpf_xdp_adjust_meta(ctx, -4))
		return XDP_DROP;
	meta = pointer(ctx->data_meta);
	if ((void *)(meta + 1) > pointer(ctx->data))
		return XDP_DROP;
	*meta = 5;
	return check(*meta == 5 && pointer(ctx->data) - (void *)meta == 4);
}

/* Kept in a map value, which is memory that all programs see: no address, and good for what it named. */
SEC("xdp") int pointers_in_a_map_value(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end), *back;
	__u32 key = 0, port;
	void **kept = bpf_map_lookup_elem(&scratch, &key);

	if (!kept || data + 8 > end)
		return XDP_DROP;
	kept[0] = data;
	kept[1] = ctx;
	seen(kept);
	back = kept[0];
	port = ((struct xdp_md *)kept[1])->rx_queue_index;
	seen(kept);
	kept[0] = kept[1] = 0; /* what a pointer looks like differs between targets */
	return check(back[7] == 7 && port == 3);
}

struct sum {
	__u8 *data, *end;
	__u32 bytes, turns;
};

static long add_byte(__u32 i, struct sum *sum)
{
	if (i > 1000 || sum->data + i + 1 > sum->end)
		return 1;
	sum->bytes += sum->data[i];
	sum->turns++;
	return 0;
}

SEC("xdp") int loop_that_calls_back(struct xdp_md *ctx)
{
	struct sum sum = { pointer(ctx->data), pointer(ctx->data_end), 0, 0 };
	long turns = bpf_loop(100, add_byte, &sum, 0);

	return check(turns == 65 && sum.turns == 64 && sum.bytes == 63 * 64 / 2);
}

static long inner_loop(__u32 i, __u32 *n)
{
	*n += i;
	return 0;
}

static long outer_loop(__u32 i, __u32 *n)
{
	return bpf_loop(i, inner_loop, n, 0) != i;
}

SEC("xdp") int loops_in_loops(struct xdp_md *ctx)
{
	__u32 n = 0;

	return check(bpf_loop(5, outer_loop, &n, 0) == 5 && n == 0 + 0 + 1 + 3 + 6);
}

struct record {
	__u32 port;
	__u8 bytes[12];
};

SEC("xdp") int record_that_is_filled(struct xdp_md *ctx)
{
	__u8 *data = pointer(ctx->data), *end = pointer(ctx->data_end);
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r)
		return XDP_DROP;
	if (data + sizeof(r->bytes) > end) {
		bpf_ringbuf_discard(r, 0);
		return XDP_DROP;
	}
	r->port = ctx->ingress_ifindex;
	__builtin_memcpy(r->bytes, data, sizeof(r->bytes));
	bpf_ringbuf_submit(r, 0);
	return XDP_PASS;
}

/* A map that only the run finds, like one per CPU or per address; and beside it one that is known. */
SEC("xdp") int map_from_a_map(struct xdp_md *ctx)
{
	__u32 which = ctx->rx_queue_index - 2, absent = ctx->ingress_ifindex, key = 1;
	void *map = bpf_map_lookup_elem(&third, &which);
	__u64 *value;

	if (!map || bpf_map_lookup_elem(&third, &absent))
		return XDP_DROP;
	value = bpf_map_lookup_elem(map, &key);
	if (!value)
		return XDP_DROP;
	*value += 7;
	value = bpf_map_lookup_elem(&second, &key);
	return check(value && *value == 7);
}

SEC("xdp") int map_or_map_from_a_map(struct xdp_md *ctx)
{
	__u32 which = ctx->rx_queue_index - 3, key = 0;
	void *map = bpf_map_lookup_elem(&third, &which);
	__u64 *value, seven = 7;

	if (!map)
		map = &second;
	if (ctx->ingress_ifindex == 77)
		map = &second;
	bpf_map_update_elem(map, &key, &seven, 0);
	value = bpf_map_lookup_elem(&first, &key);
	return check(value && *value == 7);
}

char _license[] SEC("license") = "Dual BSD/GPL";
