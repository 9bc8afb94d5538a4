// SPDX-License-Identifier: BSD-3-Clause
/* Kernels for the library's test on a device. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

__u64 total; /* .bss */
__u32 step = 3; /* .data */
const volatile __u32 scale = 10; /* .rodata */

struct add_args {
	__u64 *sum;
	__u64 value;
};

/* Everybody adds at once: to a buffer and to global data. */
SEC("gpgpu") int add(struct add_args *arg)
{
	__sync_fetch_and_add(arg->sum, arg->value);
	__sync_fetch_and_add(&total, step * scale);
	return 0;
}

struct append_args {
	__u64 *list; /* list[0]: how many */
	__u64 value;
};

/* In which order jobs ran. */
SEC("gpgpu") int append(struct append_args *arg)
{
	__u64 n = ++arg->list[0];

	if (n < 64)
		arg->list[n] = arg->value;
	return 0;
}

struct spin_args {
	__u64 *out;
	__u64 rounds;
};

/* Takes time. */
SEC("gpgpu") int spin(struct spin_args *arg)
{
	__u64 x = gp_global_id(0) + 1;

	for (__u64 i = 0; i < arg->rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	arg->out[gp_global_id(0) & 63] = x;
	return 0;
}

struct wrong_args {
	const __u32 *in;
	__u64 index;
};

SEC("gpgpu") int write_const(struct wrong_args *arg)
{
	((__u32 *)arg->in)[arg->index] = 1;
	return 0;
}

struct ids_args {
	__u32 *out;
};

SEC("gpgpu") int ids(struct ids_args *arg)
{
	__u64 x = gp_global_id(0), y = gp_global_id(1), z = gp_global_id(2);
	__u64 i = (z * gp_global_size(1) + y) * gp_global_size(0) + x;

	arg->out[i] = gp_local_id(0) | gp_local_id(1) << 4 | gp_local_id(2) << 8 | gp_group_id(0) << 12 |
		      gp_group_id(1) << 16 | gp_group_id(2) << 20;
	return 0;
}

struct clock_args {
	__u64 *out;
};

/* Never twice the same. */
SEC("gpgpu") int clock(struct clock_args *arg)
{
	arg->out[gp_global_id(0)] = bpf_ktime_get_ns() + 1;
	return 0;
}
