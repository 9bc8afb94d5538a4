// SPDX-License-Identifier: BSD-3-Clause
/* A record for each frame: its length and a word. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

SEC("xdp") int tell(struct xdp_md *ctx)
{
	__u32 record[2] = { ctx->data_end - ctx->data, 0x600d };

	bpf_ringbuf_output(&ring, record, sizeof(record), 0);
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
