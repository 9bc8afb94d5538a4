/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tail.c - bpf_tail_call: the half of it that runs in a program.
 *
 * A program cannot jump into another image. It ends, by the path of a fault, and says which program is wanted; the
 * device then runs that one on the packet as it is (GP_FAULT_TAIL). So the target has a stack and fuel of its
 * own, and a tail call in a local function ends all functions. The kernel comes back to that function's caller
 * instead; the validator takes one there only where the caller returns what the function does.
 */
#include <errno.h>
#include "virtio_gpgpu.h"
#include "map_array.h"
#include "rt.h"

GP_RT int64_t gp_helper_tail_call(struct gp_lane *lane, struct gp_map *map, uint32_t m, uint64_t index)
{
	uint32_t i = (uint32_t)index;
	uint64_t at;

	if (map->type != VIRTIO_GPGPU_MAP_PROG_ARRAY)
		return -EINVAL;
	at = gp_array_find_here(i, 4, map->max_entries);
	if (!at)
		return -E2BIG;
	if (!gp_load32((const uint32_t *)(const void *)(map->store + at - 1)))
		return -ENOENT;
	if (lane->env->tail_calls >= GP_MAX_TAIL)
		return -ELOOP;
	lane->tail_map = m;
	lane->tail_index = i;
	lane->fault = gp_fault(GP_FAULT_TAIL, 0);
	return 0;
}
