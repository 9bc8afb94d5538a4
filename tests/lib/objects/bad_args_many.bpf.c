// SPDX-License-Identifier: BSD-3-Clause
/* Seventeen arguments. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct args {
	__u64 a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, *out;
};

SEC("gpgpu/bad") int bad(struct args *arg)
{
	*arg->out = arg->p;
	return 0;
}
