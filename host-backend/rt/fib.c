/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fib.c - bpf_fib_lookup: where a packet would be forwarded, from the routes that the guest put into a FIB map.
 *
 * A FIB map is a trie of prefixes of (family, address) whose values are struct virtio_gpgpu_fib_entry. Results and
 * what is written back are the kernel's (net/core/filter.c of 6.12), as far as an entry says: there is one
 * table, without policy rules, multipath or tunnels, so the source, the ports and TOS decide nothing, and the address
 * of the next hop is not written into the packet's destination, since the entry has its MAC address already.
 * BPF_FIB_LOOKUP_DIRECT and _OUTPUT change nothing; a table number or a source address cannot be asked for.
 */
#include <errno.h>
#include <linux/bpf.h>
#include "virtio_gpgpu.h"
#include "fuel.h"
#include "map_lpm.h"
#include "rt.h"

/* linux/bpf.h of older headers lacks the last one. */
#define GP_FIB_DIRECT	  (1u << 0)
#define GP_FIB_OUTPUT	  (1u << 1)
#define GP_FIB_SKIP_NEIGH (1u << 2)
#define GP_FIB_KNOWN	  (GP_FIB_DIRECT | GP_FIB_OUTPUT | GP_FIB_SKIP_NEIGH)

#define GP_FIB_INET_BITS  (32 + 32)
#define GP_FIB_INET6_BITS (32 + 128)

/* Why there is no way, or 0. */
static int64_t gp_fib_verdict(const struct virtio_gpgpu_fib_entry *entry)
{
	if (entry->flags & VIRTIO_GPGPU_FIB_F_BLACKHOLE)
		return BPF_FIB_LKUP_RET_BLACKHOLE;
	if (entry->flags & VIRTIO_GPGPU_FIB_F_UNREACHABLE)
		return BPF_FIB_LKUP_RET_UNREACHABLE;
	if (entry->flags & VIRTIO_GPGPU_FIB_F_PROHIBIT)
		return BPF_FIB_LKUP_RET_PROHIBIT;
	return 0;
}

static int64_t gp_fib_answer(const struct virtio_gpgpu_fib_entry *entry, struct bpf_fib_lookup *params,
			     uint32_t flags)
{
	int64_t verdict = gp_fib_verdict(entry);

	if (verdict)
		return verdict;
	if (entry->mtu && params->tot_len > entry->mtu) {
		params->mtu_result = (uint16_t)entry->mtu;
		return BPF_FIB_LKUP_RET_FRAG_NEEDED;
	}
	params->rt_metric = 0;
	params->ifindex = entry->ifindex;
	if (!(flags & GP_FIB_SKIP_NEIGH)) {
		if (entry->flags & VIRTIO_GPGPU_FIB_F_NO_NEIGH)
			return BPF_FIB_LKUP_RET_NO_NEIGH;
		memcpy(params->dmac, entry->dmac, sizeof(params->dmac));
		memcpy(params->smac, entry->smac, sizeof(params->smac));
	}
	params->h_vlan_proto = 0;
	params->h_vlan_TCI = 0;
	if (entry->mtu)
		params->mtu_result = (uint16_t)entry->mtu;
	return BPF_FIB_LKUP_RET_SUCCESS;
}

/* @at: struct bpf_fib_lookup, at any address. Return: the result in the low half, steps in the high half. */
uint64_t gp_fib_lookup(struct gp_map *map, uint8_t *at, uint32_t flags);

__attribute__((noinline)) uint64_t gp_fib_lookup(struct gp_map *map, uint8_t *at, uint32_t flags)
{
	struct virtio_gpgpu_fib_key key = { 0 };
	struct virtio_gpgpu_fib_entry entry;
	struct bpf_fib_lookup params;
	uint64_t found;
	int64_t ret;

	memcpy(&params, at, sizeof(params));
	key.family = params.family;
	if (params.family == VIRTIO_GPGPU_FIB_INET) {
		key.prefixlen = GP_FIB_INET_BITS;
		memcpy(key.addr, &params.ipv4_dst, 4);
	} else if (params.family == VIRTIO_GPGPU_FIB_INET6) {
		key.prefixlen = GP_FIB_INET6_BITS;
		memcpy(key.addr, params.ipv6_dst, 16);
	} else {
		return (uint32_t)-EAFNOSUPPORT;
	}
	if (!map)
		return BPF_FIB_LKUP_RET_NOT_FWDED;
	found = gp_lpm_find_any(map, (const uint8_t *)&key);
	if (!(uint32_t)found)
		return (found & ~0xffffffffull) | BPF_FIB_LKUP_RET_NOT_FWDED;
	gp_copy_out((uint8_t *)&entry, map->store + (uint64_t)((uint32_t)found - 1) * map->stride,
		    sizeof(entry));
	ret = gp_fib_answer(&entry, &params, flags);
	memcpy(at, &params, sizeof(params));
	return (found & ~0xffffffffull) | (uint32_t)ret;
}

GP_RT int64_t gp_helper_fib_lookup(struct gp_lane *lane, uint8_t *params, uint64_t size, uint64_t flags)
{
	uint64_t found;

	if (size < sizeof(struct bpf_fib_lookup) || flags & ~(uint64_t)GP_FIB_KNOWN)
		return -EINVAL;
	found = gp_fib_lookup(lane->env->fib, params, (uint32_t)flags);
	gp_charge_steps(lane, (uint32_t)(found >> 32));
	return (int32_t)found;
}
