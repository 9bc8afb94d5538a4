// SPDX-License-Identifier: BSD-3-Clause
/* bench_none - nothing, in what again.h puts around a program: what that costs by itself. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#define AGAIN_WORDS 8
#include "again.h"

static __noinline int run_once(struct xdp_md *ctx)
{
	return ctx->data ? XDP_DROP : XDP_PASS;
}

#include "again.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
