/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_array.h - arrays, one copy or one for each CPU.
 *
 * A value's place follows from its index. Copies of a per-CPU array lie one behind the other, each on
 * cache lines of its own, so that device threads do not share lines.
 */
#ifndef GPGPU_RT_MAP_ARRAY_H
#define GPGPU_RT_MAP_ARRAY_H

#include <errno.h>
#include <linux/bpf.h>
#include "rt/abi.h"
#include "mem.h"

GP_ALWAYS uint32_t gp_stride(uint32_t value_size)
{
	return gp_words(value_size) * 8;
}

/* Bytes of one CPU's copy. */
GP_ALWAYS uint64_t gp_array_copy_bytes(uint32_t value_size, uint32_t max_entries)
{
	return ((uint64_t)max_entries * gp_stride(value_size) + 63) & ~63ull;
}

/* The index of an array's key: read once, unless the compiler knows it anyway. */
GP_ALWAYS uint32_t gp_array_index(const uint8_t *key)
{
	uint32_t index;

	memcpy(&index, key, 4);
	return __builtin_constant_p(index) ? index : (uint32_t)gp_opaque(index);
}

/* gp_array_find() - Return: offset of the value in the map's values, plus 1, or 0. */
GP_ALWAYS uint64_t gp_array_find(uint32_t index, uint32_t value_size, uint32_t max_entries)
{
	return index < max_entries ? (uint64_t)index * gp_stride(value_size) + 1 : 0;
}

/*
 * gp_own_copy() - the copy of the CPU that runs this, whose number fits the map's copies; else another's. On a GPU there is
 * no branch for what does not happen.
 */
GP_ALWAYS uint32_t gp_own_copy(uint32_t cpu, uint32_t num_cpus)
{
#if defined(GP_RT_GPU)
	return cpu < num_cpus ? cpu : num_cpus - 1;
#else
	return cpu;
#endif
}

GP_ALWAYS uint64_t gp_percpu_find(uint32_t index, uint32_t cpu, uint32_t value_size, uint32_t max_entries,
				  uint32_t num_cpus)
{
	if (index >= max_entries || cpu >= num_cpus)
		return 0;
	return cpu * gp_array_copy_bytes(value_size, max_entries) + (uint64_t)index * gp_stride(value_size) +
	       1;
}

/*
 * gp_array_find_here() - for what reads the value itself: a wrong guess of the branch reads element 0. A constant that is
 * known to be in range needs no mask.
 */
GP_ALWAYS uint64_t gp_array_find_here(uint32_t index, uint32_t value_size, uint32_t max_entries)
{
	if (__builtin_constant_p(index) || index >= max_entries)
		return gp_array_find(index, value_size, max_entries);
	return (index & gp_if_room((uint64_t)max_entries - 1 - index)) * gp_stride(value_size) + 1;
}

/* gp_percpu_copy() - from one CPU's copy to @cpu's: to be added to an offset + 1, or 0, that stays 0. */
GP_ALWAYS uint64_t gp_percpu_copy(uint64_t at, uint32_t cpu, uint32_t value_size, uint32_t max_entries,
				  uint32_t num_cpus)
{
	if (!at || cpu >= num_cpus)
		return 0;
	return at + cpu * gp_array_copy_bytes(value_size, max_entries);
}

/* What the kernel says before it stores to an array. */
GP_ALWAYS int64_t gp_array_may_update(uint32_t index, uint64_t flags, uint32_t max_entries)
{
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (index >= max_entries)
		return -E2BIG;
	return flags == BPF_NOEXIST ? -EEXIST : 0;
}

#endif
