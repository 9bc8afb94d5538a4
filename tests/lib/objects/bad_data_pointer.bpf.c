// SPDX-License-Identifier: BSD-3-Clause
/* Global data with an address in it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

static volatile int target = 1;
static volatile int *volatile pointer = &target;

SEC("xdp") int bad(struct xdp_md *ctx)
{
	return *pointer;
}
