// SPDX-License-Identifier: BSD-3-Clause
/*
 * histogram_local - how often each of 256 values occurs, as histogram; a group counts in local memory first, and adds what it
 * has to the result once.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

#define BINS 256

struct histogram_local_args {
	const __u8 *data;
	__u64 *bins; /* 256 */
	__u64 size; /* bytes of data */
};

GP_LOCAL __u32 counts[BINS];

SEC("gpgpu/histogram_local")
int histogram_local(struct histogram_local_args *arg)
{
	__u64 step = gp_global_size(0), size = arg->size;
	const __u8 *data = arg->data;

	for (__u64 i = gp_global_id(0); i < size; i += step)
		__sync_fetch_and_add(&counts[data[i]], 1);
	gp_barrier();
	for (__u64 b = gp_local_id(0); b < BINS; b += gp_local_size(0))
		__sync_fetch_and_add(&arg->bins[b], counts[b]);
	return 0;
}
