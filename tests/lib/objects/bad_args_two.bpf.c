// SPDX-License-Identifier: BSD-3-Clause
/* Two parameters instead of one structure. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("gpgpu/bad") int bad(__u32 *out, __u64 n)
{
	*out = n;
	return 0;
}
