// SPDX-License-Identifier: BSD-3-Clause
/* A program for something else. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("kprobe/do_nothing") int bad(void *ctx)
{
	return 0;
}
