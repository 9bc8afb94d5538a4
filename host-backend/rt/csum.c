/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csum.c - bpf_csum_diff, bit for bit as the kernel has it up to 6.12 on x86.
 *
 * That kernel runs csum_partial() over the complement of `from` followed by `to` and returns the 32-bit
 * sum, not folded to 16. Its 64-bit additions with the carry brought round make the sum of the
 * 32-bit words modulo 2^32 - 1, in the one form that is 0 only where every word is 0; so the order of
 * additions does not matter and words can be summed plainly, in 64 bits that cannot overflow.
 * (Kernels from 6.13 on fold to 16 bits: congruent modulo 2^16 - 1, so that a checksum made from
 * either is the same.)
 */
#include <errno.h>
#include "mem.h"
#include "rt.h"

#define GP_CSUM_MAX 512 /* bytes of both, as in the kernel */

GP_ALWAYS uint64_t gp_sum(const uint8_t *at, uint32_t size, uint32_t invert)
{
	uint64_t sum = 0;
	uint32_t i, word;

	for (i = 0; i < size; i += 4) {
		memcpy(&word, at + i, 4);
		sum += word ^ invert;
	}
	return sum;
}

/* Not inlined unless the compiler finds the sizes small and constant. */
static uint64_t gp_diff(const uint8_t *from, uint32_t from_size, const uint8_t *to, uint32_t to_size)
{
	return gp_sum(from, from_size, 0xffffffff) + gp_sum(to, to_size, 0);
}

GP_RT int64_t gp_helper_csum_diff(struct gp_lane *lane, const uint8_t *from, uint64_t from_size,
				  const uint8_t *to, uint64_t to_size, uint64_t seed)
{
	uint64_t sum;

	if ((from_size | to_size) & 3 || from_size > GP_CSUM_MAX || to_size > GP_CSUM_MAX ||
	    from_size + to_size > GP_CSUM_MAX)
		return -EINVAL;
	sum = (uint32_t)seed + gp_diff(from, (uint32_t)from_size, to, (uint32_t)to_size);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	return (int64_t)sum;
}
