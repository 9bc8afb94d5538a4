// SPDX-License-Identifier: BSD-3-Clause
/*
 * radix - sorts any number of 32-bit numbers by one group, four bits at a time from the lowest.
 *
 * Each item has a run of consecutive numbers and counts how many it has of each digit. Where an item's numbers of a digit go
 * is the count of smaller digits, and of the same digit of the items before it: a scan for each digit. So the order of
 * equal digits is kept, which makes the next pass right. Eight passes go to and fro between two buffers and end where they
 * began.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "gpgpu_bpf.h"

#define BITS   4
#define DIGITS (1 << BITS)
#define GROUP  256 /* items at most */

struct radix_args {
	__u32 *keys;
	__u32 *other; /* as many, for the time between */
	__u64 n;
};

GP_LOCAL __u32 places[DIGITS][GROUP]; /* counts, then where the next number goes */

static __always_inline void pass(const __u32 *from, __u32 *to, __u64 first, __u64 end, __u64 item, int shift)
{
	__u64 before = 0;

	for (int d = 0; d < DIGITS; d++)
		places[d][item] = 0;
	for (__u64 i = first; i < end; i++)
		places[from[i] >> shift & (DIGITS - 1)][item]++;
	for (int d = 0; d < DIGITS; d++) {
		__u64 count = places[d][item];

		places[d][item] = before + gp_scan_before(count, GP_ADD);
		before += gp_reduce(count, GP_ADD);
	}
	for (__u64 i = first; i < end; i++) {
		__u32 key = from[i];

		to[places[key >> shift & (DIGITS - 1)][item]++] = key;
	}
	gp_barrier();
}

SEC("gpgpu/radix")
int radix(struct radix_args *arg)
{
	__u64 n = arg->n, size = gp_local_size(0), item = gp_local_id(0) & (GROUP - 1);
	__u64 run = (n + size - 1) / size, first = item * run, end = first + run;

	if (size > GROUP)
		return 1;
	if (first > n)
		first = n;
	if (end > n)
		end = n;
	for (int shift = 0; shift < 32; shift += 2 * BITS) {
		pass(arg->keys, arg->other, first, end, item, shift);
		pass(arg->other, arg->keys, first, end, item, shift + BITS);
	}
	return 0;
}
