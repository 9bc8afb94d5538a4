// SPDX-License-Identifier: BSD-3-Clause
/* Needs a symbol of the kernel. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

extern const int some_kernel_symbol __ksym;

SEC("xdp") int bad(struct xdp_md *ctx)
{
	return &some_kernel_symbol == (void *)8;
}
