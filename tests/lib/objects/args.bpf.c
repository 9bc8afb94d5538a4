// SPDX-License-Identifier: BSD-3-Clause
/* Arguments of every kind. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define ALIGNED __attribute__((aligned(8)))

enum mode { OFF, ON };
typedef const __u32 *ro_t;

struct args {
	const __u8 *bytes;
	__u64 *out;
	__s32 number ALIGNED;
	__u8 small ALIGNED;
	enum mode mode ALIGNED;
	ro_t hidden ALIGNED;
	void *any;
	const void *fixed;
	const volatile __u16 *careful;
	float scale ALIGNED;
	double fine ALIGNED;
	const float *floats;
	const struct args *self;
};

SEC("gpgpu/named") int all_kinds(struct args *arg)
{
	*arg->out = arg->number + arg->small + arg->mode + arg->bytes[0] + *arg->hidden;
	return 0;
}

SEC("gpgpu") int none(void)
{
	return 0;
}
