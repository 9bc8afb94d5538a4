/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - what the files that deal with maps share.
 *
 * map.c makes maps and does what one command says of one entry; map_bulk.c does that for many entries a command.
 *
 * Threads: under the session's lock.
 */
#ifndef GPGPU_MAP_H
#define GPGPU_MAP_H

#include "engine.h"
#include "rt/maps.h"

static inline uint32_t gp_pad8(uint32_t size)
{
	return (size + 7) & ~7u;
}

/* gp_map_types() - a bit for each type of map that can be made. */
uint32_t gp_map_types(const struct gpgpu_session *s);

/* gp_map_result() - what the kernel's errno is on the wire. */
struct gp_result gp_map_result(int err, const struct gp_map_object *map);

/* One entry, as the guest sees it. @key and @value have the map's sizes. */
struct gp_result gp_map_lookup_value(struct gp_map_object *map, const uint8_t *key, uint8_t *value);
struct gp_result gp_map_update_value(struct gp_map_object *map, uint32_t ctx, const uint8_t *key,
				     const uint8_t *value, uint32_t flags);

#endif
