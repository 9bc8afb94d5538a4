// SPDX-License-Identifier: BSD-3-Clause
/* Asks the kernel whether a type exists. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct some_type {
	int x;
};

SEC("xdp") int bad(struct xdp_md *ctx)
{
	return __builtin_preserve_type_info(*(struct some_type *)0, 0) ? XDP_PASS : XDP_DROP;
}
