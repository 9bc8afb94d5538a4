/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - what the files that deal with maps share.
 *
 * map.c makes maps and does what one command says of one entry; map_bulk.c does that for many entries a command;
 * map_refs.c deals with values that stand for programs and maps; records.c with ring buffers.
 *
 * Threads: under the session's lock, where nothing else is said.
 */
#ifndef GPGPU_MAP_H
#define GPGPU_MAP_H

#include "engine.h"
#include "rt/maps.h"

static inline uint32_t gp_pad8(uint32_t size)
{
	return (size + 7) & ~7u;
}

static inline bool gp_map_has_records(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_RINGBUF || type == VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY;
}

/* A copy for each CPU that programs see. */
static inline bool gp_map_has_copies(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

/* An array whose elements may be absent. */
static inline bool gp_map_has_gaps(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PROG_ARRAY || type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS ||
	       type == VIRTIO_GPGPU_MAP_DEVMAP || type == VIRTIO_GPGPU_MAP_CPUMAP;
}

/* gp_map_value_room() - as gp_map_value_bytes(), of a map whose own memory may be far away. */
static inline uint32_t gp_map_value_room(const struct gp_map_desc *desc)
{
	return gp_map_has_copies(desc->type) ? desc->num_cpus * desc->stride : desc->value_size;
}

/* map.c */

/* gp_map_types() - a bit for each type of map that can be made. */
uint32_t gp_map_types(const struct gpgpu_session *s);

/* gp_map_result() - what the kernel's errno is on the wire. */
struct gp_result gp_map_result(int err, const struct gp_map_object *map);

/* gp_map_update_check() - may the guest store @value in @map, as far as the map's own code does not say? */
struct gp_result gp_map_update_check(const struct gp_map_object *map, const uint8_t *value);

/* map_refs.c */

/* gp_map_is_outer() - a map of maps; gp_map_is_refs() - that, or a PROG_ARRAY. */
bool gp_map_is_outer(uint32_t type);
bool gp_map_is_refs(uint32_t type);

/*
 * gp_refs_template() - put the template with id @inner into @desc, a map of maps that is being made; none is
 * asked for otherwise, and given then.
 */
struct gp_result gp_refs_template(struct gpgpu_session *s, uint32_t ctx, uint32_t inner,
				  struct gp_map_desc *desc);
/* gp_refs_init() - a map has been made. gp_refs_bytes() - what that takes, to be charged. */
void gp_refs_init(struct gp_map_object *map);
uint64_t gp_refs_bytes(const struct gp_map_desc *desc);
/* gp_refs_release() - let go of what is in a map; no program uses it. */
void gp_refs_release(struct gp_map_object *map);

/* As the guest sees values: ids. For maps that are gp_map_is_refs(). */
struct gp_result gp_refs_lookup(struct gp_map_object *map, const uint8_t *key, uint8_t *value);
struct gp_result gp_refs_update(struct gp_map_object *map, uint32_t ctx, const uint8_t *key,
				const uint8_t *value, uint32_t flags);
struct gp_result gp_refs_delete(struct gp_map_object *map, const uint8_t *key);

/*
 * A value of @outer does not name @map any more. gp_inner_hide() - no program that has looked it up runs;
 * gp_inner_put() - nor any that ran when it was hidden.
 */
void gp_inner_hide(struct gp_map_object *outer, struct gp_map_object *map);
void gp_inner_put(struct gpgpu_session *s, struct gp_map_object *map);

/*
 * gp_tail_target() - the program at @index of the program array that is map @map of @prog. From within a slice; valid
 * until its end. Return: NULL if there is none.
 */
struct gp_program *gp_tail_target(const struct gp_program *prog, uint32_t map, uint32_t index);

/* records.c */

/* gp_records_tell() - tell the guest of records that @prog may have left. From within a slice, no lock held. */
void gp_records_tell(struct gpgpu_session *s, const struct gp_program *prog);
/* gp_prints_show() - to the log with what @prog printed. No lock held. */
void gp_prints_show(struct gpgpu_session *s, struct gp_program *prog);

/*
 * Of devices that the engine does not look into: gp_records_each() - @fn for each map in which @prog may have left
 * records; gp_records_found() - there are some in @map; gp_prints_line() - @prog printed a line. As above.
 */
typedef void gp_records_fn(struct gpgpu_session *s, struct gp_map_object *map, void *opaque);
void gp_records_each(struct gpgpu_session *s, const struct gp_program *prog, gp_records_fn *fn, void *opaque);
void gp_records_found(struct gpgpu_session *s, struct gp_map_object *map);
void gp_prints_line(struct gpgpu_session *s, const struct gp_program *prog, const char *text);

#endif
