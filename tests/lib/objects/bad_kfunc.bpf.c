// SPDX-License-Identifier: BSD-3-Clause
/* Calls a function of the kernel's own. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash, int *type) __ksym;

SEC("xdp") int bad(struct xdp_md *ctx)
{
	__u32 hash = 0;
	int type;

	return bpf_xdp_metadata_rx_hash(ctx, &hash, &type) ? XDP_DROP : XDP_PASS;
}
