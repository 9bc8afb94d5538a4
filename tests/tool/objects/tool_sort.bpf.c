// SPDX-License-Identifier: BSD-3-Clause
/* What a frame's 15th byte asks for, with counters: of known outcome for any frame. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} lengths SEC(".maps");

const volatile __u32 redirect_to = 7;
__u32 seen;

SEC("xdp") int sort(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 length = (__u32)(end - data), what;
	__u64 *count;

	if (data + 15 > end)
		return XDP_DROP;
	what = data[14] & 7;
	__sync_fetch_and_add(&seen, 1);
	count = bpf_map_lookup_elem(&counts, &what);
	if (count)
		__sync_fetch_and_add(count, 1);
	bpf_map_update_elem(&lengths, &length, &what, BPF_ANY);
	switch (what) {
	case XDP_TX:
		data[0] = 0xaa;
		return XDP_TX;
	case XDP_REDIRECT:
		return bpf_redirect(redirect_to, 0);
	case 5:
		return bpf_xdp_adjust_head(ctx, -4) ? XDP_ABORTED : XDP_PASS;
	case 6:
		return 77; /* no verdict */
	case 7:
		return bpf_xdp_adjust_tail(ctx, -1) ? XDP_ABORTED : XDP_PASS;
	}
	return what;
}

char _license[] SEC("license") = "GPL";
