// SPDX-License-Identifier: BSD-3-Clause
/*
 * histogram - how often each of 256 values occurs.
 *
 * A work item takes `chunk` bytes. All items add to the same counters, so the additions are atomic.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct histogram_args {
	const __u8 *data;
	__u64 *bins; /* 256 */
	__u64 size; /* bytes of data */
	__u64 chunk; /* bytes of one work item */
};

SEC("gpgpu/histogram")
int histogram(struct histogram_args *arg)
{
	const __u8 *data = arg->data;
	__u64 *bins = arg->bins;
	__u64 first = gp_global_id(0) * arg->chunk;
	__u64 end = first + arg->chunk;

	if (end > arg->size)
		end = arg->size;
	for (__u64 i = first; i < end; i++)
		__sync_fetch_and_add(&bins[data[i]], 1);
	return 0;
}
