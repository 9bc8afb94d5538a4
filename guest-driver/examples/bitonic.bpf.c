// SPDX-License-Identifier: BSD-3-Clause
/*
 * bitonic - sorts up to 4,096 numbers in local memory, by one group. Places behind the last are filled with the largest.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

#define MAX 4096

struct bitonic_args {
	__u32 *keys;
	__u64 n;
};

GP_LOCAL __u32 sorted[MAX];

/* Puts the numbers at i and i ^ distance in order: upwards where the bit `size` of i is 0. */
static __always_inline void exchange(__u64 i, __u64 distance, __u64 size)
{
	__u64 other = i ^ distance;
	__u32 a, b;

	if (other <= i)
		return;
	a = sorted[i & (MAX - 1)];
	b = sorted[other & (MAX - 1)];
	if ((a > b) == !(i & size)) {
		sorted[i & (MAX - 1)] = b;
		sorted[other & (MAX - 1)] = a;
	}
}

SEC("gpgpu/bitonic")
int bitonic(struct bitonic_args *arg)
{
	__u64 item = gp_local_id(0), step = gp_local_size(0), n = arg->n, width = 1;

	if (n > MAX)
		return 1;
	while (width < n)
		width *= 2;
	for (__u64 i = item; i < width; i += step)
		sorted[i & (MAX - 1)] = i < n ? arg->keys[i] : ~0u;
	gp_barrier();
	for (__u64 size = 2; size <= width; size *= 2) {
		for (__u64 distance = size / 2; distance; distance /= 2) {
			for (__u64 i = item; i < width; i += step)
				exchange(i, distance, size);
			gp_barrier();
		}
	}
	for (__u64 i = item; i < n; i += step)
		arg->keys[i] = sorted[i & (MAX - 1)];
	return 0;
}
