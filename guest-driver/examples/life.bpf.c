// SPDX-License-Identifier: BSD-3-Clause
/*
 * life - one generation of Conway's Game of Life, one cell per work item, a byte each; what leaves the picture at one side
 * comes in at the other.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct life_args {
	const __u8 *from; /* row by row; not 0: alive */
	__u8 *to;
};

SEC("gpgpu/life")
int life(struct life_args *arg)
{
	__u64 width = gp_global_size(0), height = gp_global_size(1), x = gp_global_id(0), y = gp_global_id(1);
	__u64 left = x ? x - 1 : width - 1, right = x + 1 < width ? x + 1 : 0;
	const __u8 *above = arg->from + (y ? y - 1 : height - 1) * width, *here = arg->from + y * width,
		   *below = arg->from + (y + 1 < height ? y + 1 : 0) * width;
	int around = !!above[left] + !!above[x] + !!above[right] + !!here[left] + !!here[right] +
		     !!below[left] + !!below[x] + !!below[right];

	arg->to[y * width + x] = around == 3 || (around == 2 && here[x]);
	return 0;
}
