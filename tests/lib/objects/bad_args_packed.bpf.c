// SPDX-License-Identifier: BSD-3-Clause
/* Two narrow arguments share a slot. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct args {
	__u32 width, height;
	__u32 *out;
};

SEC("gpgpu/bad") int bad(struct args *arg)
{
	*arg->out = arg->width * arg->height;
	return 0;
}
