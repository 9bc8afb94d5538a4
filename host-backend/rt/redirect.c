/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redirect.c - bpf_redirect_map: where packets go by a table of ports (DEVMAP, DEVMAP_HASH) or CPUs (CPUMAP).
 *
 * The verdict and the port are all that happens here; what a port is, the guest knows. The rules are the kernel's
 * (include/linux/filter.h of 6.12): the low bits of the flags are the verdict where the table has no such
 * entry. Unlike there a packet cannot go to all ports at once: BPF_F_BROADCAST ends as XDP_ABORTED.
 *
 * An entry of a DEVMAP is there where its ifindex is not 0, one of a CPUMAP where its queue size is not 0.
 */
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "map_find.h"

#define GP_ACTIONS (XDP_ABORTED | XDP_DROP | XDP_PASS | XDP_TX)

/* The first word of the value at offset @at - 1; 0 where @at is 0. */
GP_ALWAYS uint32_t gp_first_word(const struct gp_map *map, uint64_t at)
{
	return at ? gp_load32((const uint32_t *)(const void *)(map->store + at - 1)) : 0;
}

GP_RT uint64_t gp_helper_redirect_map(struct gp_lane *lane, struct gp_map *map, uint64_t key, uint64_t flags,
				      uint32_t type, uint32_t key_size, uint32_t value_size,
				      uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets)
{
	uint64_t known = GP_ACTIONS | (type == VIRTIO_GPGPU_MAP_CPUMAP ? 0 : BPF_F_EXCLUDE_INGRESS);
	uint32_t index = (uint32_t)key, port = 0;

	if (flags & ~known)
		return XDP_ABORTED;
	switch (type) {
	case VIRTIO_GPGPU_MAP_DEVMAP:
		port = gp_first_word(map, gp_array_find_here(index, value_size, max_entries));
		break;
	case VIRTIO_GPGPU_MAP_DEVMAP_HASH:
		port = gp_first_word(map, gp_offset(gp_lookup_hash(lane, map, (const uint8_t *)&index, 4,
								   max_entries, num_buckets),
						    value_size));
		break;
	case VIRTIO_GPGPU_MAP_CPUMAP:
		if (gp_first_word(map, gp_array_find_here(index, value_size, max_entries)))
			port = VIRTIO_GPGPU_EGRESS_CPU | index;
		break;
	default:
		return XDP_ABORTED;
	}
	lane->egress_port = port;
	return port ? XDP_REDIRECT : flags & GP_ACTIONS;
}

GP_RT uint64_t gp_helper_redirect_map_any(struct gp_lane *lane, struct gp_map *map, uint64_t key,
					  uint64_t flags)
{
	return gp_helper_redirect_map(lane, map, key, flags, map->type, map->key_size, map->value_size,
				      map->max_entries, map->num_cpus, map->num_buckets);
}
