// SPDX-License-Identifier: BSD-3-Clause
/*
 * scan - prefix sums: out[i] = in[0] + .. + in[i - 1], by one group, which goes over the array in steps of its size.
 *
 * What has been summed so far is the same for all items, since a reduction gives all the same.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct scan_args {
	const __u32 *in;
	__u64 *out;
	__u64 n;
};

SEC("gpgpu/scan")
int scan(struct scan_args *arg)
{
	__u64 item = gp_local_id(0), step = gp_local_size(0), n = arg->n, before = 0;

	for (__u64 first = 0; first < n; first += step) {
		__u64 i = first + item, value = i < n ? arg->in[i] : 0;
		__u64 sum = before + gp_scan_before(value, GP_ADD);

		if (i < n)
			arg->out[i] = sum;
		before += gp_reduce(value, GP_ADD);
	}
	return 0;
}
