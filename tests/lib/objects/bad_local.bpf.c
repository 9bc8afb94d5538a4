// SPDX-License-Identifier: BSD-3-Clause
/* More local memory than a group may have. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

struct bad_args {
	__u32 *out;
};

GP_LOCAL __u32 much[16385];

SEC("gpgpu/bad") int bad(struct bad_args *arg)
{
	much[gp_local_id(0)] = 1;
	gp_barrier();
	arg->out[gp_global_id(0)] = much[0];
	return 0;
}
