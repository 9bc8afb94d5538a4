/* SPDX-License-Identifier: BSD-3-Clause */
/* queue_helpers.c - bpf_map_push_elem, _pop_elem and _peek_elem: queues, stacks and Bloom filters. */
#include <errno.h>
#include "virtio_gpgpu.h"
#include "fuel.h"
#include "map_queue.h"
#include "rt.h"

#define GP_BLOOM_COST 2 /* two hashes and five lines of memory */

GP_ALWAYS bool gp_is_queue(const struct gp_map *map)
{
	return map->type == VIRTIO_GPGPU_MAP_QUEUE || map->type == VIRTIO_GPGPU_MAP_STACK;
}

GP_ALWAYS int64_t gp_charged(struct gp_lane *lane, const struct gp_map *map, int64_t err)
{
	gp_charge_bytes(lane, map->value_size);
	if (gp_unlikely(err == -EBUSY))
		gp_charge_steps(lane, GP_STEPS_WITHOUT_LOCK);
	return err;
}

GP_RT int64_t gp_helper_map_push(struct gp_lane *lane, struct gp_map *map, const uint8_t *value,
				 uint64_t flags)
{
	if (gp_is_queue(map))
		return gp_charged(lane, map, gp_queue_push(map, value, flags));
	if (map->type != VIRTIO_GPGPU_MAP_BLOOM_FILTER)
		return -EINVAL;
	gp_charge(lane, GP_BLOOM_COST);
	return gp_charged(lane, map, gp_bloom_push(map, value, flags));
}

GP_RT int64_t gp_helper_map_pop(struct gp_lane *lane, struct gp_map *map, uint8_t *value)
{
	if (!gp_is_queue(map))
		return -EOPNOTSUPP;
	return gp_charged(lane, map, gp_queue_pop(map, value, true));
}

GP_RT int64_t gp_helper_map_peek(struct gp_lane *lane, struct gp_map *map, uint8_t *value)
{
	if (gp_is_queue(map))
		return gp_charged(lane, map, gp_queue_pop(map, value, false));
	if (map->type != VIRTIO_GPGPU_MAP_BLOOM_FILTER)
		return -EINVAL;
	gp_charge(lane, GP_BLOOM_COST);
	return gp_charged(lane, map, gp_bloom_peek(map, value));
}
