// SPDX-License-Identifier: BSD-3-Clause
/* A structure is neither a pointer nor a number. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct pair {
	__u32 a, b;
};

struct args {
	struct pair pair;
	__u32 *out;
};

SEC("gpgpu/bad") int bad(struct args *arg)
{
	*arg->out = arg->pair.a + arg->pair.b;
	return 0;
}
