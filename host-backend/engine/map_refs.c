/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_refs.c - maps whose values stand for objects: program arrays and maps of maps.
 *
 * On the wire a value is an id. In the map's own memory, which no program can read, an element of a PROG_ARRAY is 1
 * where there is a program; the programs are in `progs`, by index. An element of a map of maps is a slot in the
 * session's table of inner maps, plus 1. A map has one slot however many values name it, and keeps it until the last
 * of them has gone and no program runs that may have seen one.
 *
 * A value keeps its object, also when its id is destroyed; it then reads as id 0. An object that is taken out is
 * let go of by gp_retire(), since programs look without a lock.
 *
 * Programs and program arrays can refer to each other in a circle. Therefore a program array is emptied when its own id
 * goes, as the kernel does when its last user closes it. Maps cannot: what is in a map of maps holds nothing.
 *
 * Threads: under the session's lock, but for gp_tail_target().
 */
#include <errno.h>
#include <string.h>
#include "map.h"
#include "retire.h"

bool gp_map_is_outer(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS || type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS;
}

bool gp_map_is_refs(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PROG_ARRAY || gp_map_is_outer(type);
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;

	memcpy(&w, at, sizeof(w));
	return w;
}

/* ----------------------------------------------------------------- inner maps */

struct gp_result gp_refs_template(struct gpgpu_session *s, uint32_t ctx, uint32_t inner,
				  struct gp_map_desc *desc)
{
	const struct gp_map_desc *from;
	struct gp_object *object;
	struct gp_result result;

	if (!gp_map_is_outer(desc->type))
		return inner ? GP_ERR(INVALID, INNER, inner) : GP_OK;
	if (!inner)
		return GP_ERR(INVALID, INNER, 0);
	result = gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, inner, ctx, &object);
	if (result.status)
		return result;
	from = &((struct gp_map_object *)object)->desc;
	if (!gp_map_may_be_inner(from->type))
		return GP_ERR(INVALID, INNER, inner);
	desc->inner = (struct gp_map_shape){
		.type = from->type,
		.key_size = from->key_size,
		.value_size = from->value_size,
		.max_entries = from->max_entries,
		.flags = from->flags,
	};
	return GP_OK;
}

/* Programs read the table while it changes; it stays where it is as long as the session lives. */
static bool make_table(struct gpgpu_session *s)
{
	if (!s->inner)
		s->inner = gp_table_alloc(s->engine, GP_MAX_INNER * sizeof(*s->inner), GP_MEM_HOST);
	if (s->inner && !s->inner_objects)
		s->inner_objects = g_new0(struct gp_map_object *, GP_MAX_INNER);
	return s->inner && s->inner_used < GP_MAX_INNER;
}

/* For one more value of @outer. Return: false if there is no slot left. */
static bool inner_get(struct gpgpu_session *s, struct gp_map_object *outer, struct gp_map_object *map)
{
	uint32_t slot = s->inner_next;

	if (!map->slot_uses) {
		if (!make_table(s))
			return false;
		while (s->inner_objects[slot])
			slot = (slot + 1) % GP_MAX_INNER;
		s->inner_next = (slot + 1) % GP_MAX_INNER;
		s->inner_used++;
		map->slot = slot;
		__atomic_store_n(&s->inner_objects[slot], map, __ATOMIC_RELEASE);
		__atomic_store_n(&s->inner[slot], map->map, __ATOMIC_RELEASE);
	}
	map->slot_uses++;
	outer->uses[map->slot]++;
	gp_object_ref(&map->object);
	return true;
}

void gp_inner_hide(struct gp_map_object *outer, struct gp_map_object *map)
{
	/* Not before, since a program that has just looked it up goes on with what it found, as in the kernel. */
	if (!--outer->uses[map->slot])
		gp_map_forget_inner(outer->map, map->slot);
}

void gp_inner_put(struct gpgpu_session *s, struct gp_map_object *map)
{
	if (--map->slot_uses)
		return;
	/* Slots are given again: nobody may come to another map by this one. */
	__atomic_store_n(&s->inner[map->slot], NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&s->inner_objects[map->slot], NULL, __ATOMIC_RELEASE);
	s->inner_used--;
}

/* The map that an element of @map names, by what is stored there; NULL for an empty one. */
static struct gp_map_object *inner_of(const struct gpgpu_session *s, uint32_t value)
{
	return value && value <= GP_MAX_INNER ? s->inner_objects[value - 1] : NULL;
}

/* What is stored at @key, or 0. */
static uint32_t stored(struct gp_map_object *map, const uint8_t *key)
{
	uint32_t value;

	return gp_map_lookup(map->map, key, &value) ? 0 : value;
}

static struct gp_result update_outer(struct gp_map_object *map, uint32_t ctx, const uint8_t *key, uint32_t id,
				     uint32_t flags)
{
	struct gpgpu_session *s = map->object.session;
	struct gp_map_object *inner, *old;
	struct gp_object *object;
	struct gp_result result;
	uint32_t value;

	result = gp_object_find(s, VIRTIO_GPGPU_OBJ_MAP, id, ctx, &object);
	if (result.status)
		return result;
	inner = (struct gp_map_object *)object;
	if (!gp_map_inner_fits(&map->desc, &inner->desc))
		return GP_ERR(INVALID, INNER, id);
	if (!inner_get(s, map, inner))
		return GP_ERR(LIMIT, OBJECT_LIMIT, GP_MAX_INNER);
	old = inner_of(s, stored(map, key));
	value = inner->slot + 1;
	result = gp_map_result(gp_map_update(map->map, key, &value, flags), map);
	if (result.status)
		gp_retire_element(s, map, inner);
	else if (old)
		gp_retire_element(s, map, old);
	return result;
}

static struct gp_result delete_outer(struct gp_map_object *map, const uint8_t *key)
{
	struct gp_map_object *old = inner_of(map->object.session, stored(map, key));
	struct gp_result result = gp_map_result(gp_map_delete(map->map, key), map);

	if (!result.status && old)
		gp_retire_element(map->object.session, map, old);
	return result;
}

/* No program uses @map any more; whoever tells of records may still look at what is in it. */
static void release_outer(struct gp_map_object *map)
{
	struct gpgpu_session *s = map->object.session;

	for (uint32_t slot = 0; slot < GP_MAX_INNER; slot++)
		for (; map->uses[slot]; map->uses[slot]--)
			gp_retire_element(s, NULL, s->inner_objects[slot]);
	g_free(map->uses);
}

/* ------------------------------------------------------------- program arrays */

static struct gp_result update_progs(struct gp_map_object *map, uint32_t ctx, const uint8_t *key, uint32_t id,
				     uint32_t flags)
{
	const uint32_t there = 1;
	struct gp_program *prog, *old;
	struct gp_object *object;
	struct gp_result result;
	uint32_t index = word(key);

	if (flags)
		return GP_ERR(INVALID, FLAGS, flags);
	if (index >= map->desc.max_entries)
		return gp_map_result(-E2BIG, map);
	result = gp_object_find(map->object.session, VIRTIO_GPGPU_OBJ_PROG, id, ctx, &object);
	if (result.status)
		return result;
	prog = (struct gp_program *)object;
	if (!prog->image)
		return GP_ERR(BUSY, PROG, id);
	if (prog->kind != VIRTIO_GPGPU_PROG_XDP)
		return GP_ERR(INVALID, KIND, prog->kind);
	/* The program first: whoever sees that there is one finds it. */
	gp_object_ref(object);
	old = __atomic_exchange_n(&map->progs[index], prog, __ATOMIC_ACQ_REL);
	result = gp_map_result(gp_map_update(map->map, key, &there, BPF_ANY), map);
	if (old)
		gp_retire(map->object.session, &old->object);
	return result;
}

static struct gp_result delete_prog(struct gp_map_object *map, const uint8_t *key)
{
	struct gp_result result = gp_map_result(gp_map_delete(map->map, key), map);
	struct gp_program *old;

	if (result.status)
		return result;
	old = __atomic_exchange_n(&map->progs[word(key)], NULL, __ATOMIC_ACQ_REL);
	if (old)
		gp_retire(map->object.session, &old->object);
	return GP_OK;
}

void gp_map_unlisted(struct gp_map_object *map)
{
	for (uint32_t i = 0; map->progs && i < map->desc.max_entries; i++)
		if (map->progs[i])
			delete_prog(map, (const uint8_t *)&i);
}

struct gp_program *gp_tail_target(const struct gp_program *prog, uint32_t map, uint32_t index)
{
	const struct gp_map_object *array;

	if (map >= prog->num_maps)
		return NULL;
	array = prog->map_objects[map];
	if (!array->progs || index >= array->desc.max_entries)
		return NULL;
	return __atomic_load_n(&array->progs[index], __ATOMIC_ACQUIRE);
}

/* ------------------------------------------------------------------------ both */

uint64_t gp_refs_bytes(const struct gp_map_desc *desc)
{
	if (desc->type == VIRTIO_GPGPU_MAP_PROG_ARRAY)
		return desc->max_entries * sizeof(struct gp_program *);
	return gp_map_is_outer(desc->type) ? GP_MAX_INNER * sizeof(uint32_t) : 0;
}

void gp_refs_init(struct gp_map_object *map)
{
	if (map->desc.type == VIRTIO_GPGPU_MAP_PROG_ARRAY)
		map->progs = g_new0(struct gp_program *, map->desc.max_entries);
	if (!gp_map_is_outer(map->desc.type))
		return;
	map->uses = g_new0(uint32_t, GP_MAX_INNER);
	/* Before a program is made that may look there. */
	make_table(map->object.session);
}

void gp_refs_release(struct gp_map_object *map)
{
	if (map->uses)
		release_outer(map);
	/* It was emptied when its id went. */
	g_free(map->progs);
}

struct gp_result gp_refs_lookup(struct gp_map_object *map, const uint8_t *key, uint8_t *value)
{
	uint32_t at;
	int err = gp_map_lookup(map->map, key, &at);
	struct gp_object *object = NULL;
	uint32_t id = 0;

	if (err || !at)
		return gp_map_result(err ? err : -ENOENT, map);
	if (map->progs && map->progs[word(key)])
		object = &map->progs[word(key)]->object;
	else if (!map->progs && inner_of(map->object.session, at))
		object = &inner_of(map->object.session, at)->object;
	if (object && object->listed)
		id = object->id;
	memcpy(value, &id, sizeof(id));
	return GP_OK;
}

struct gp_result gp_refs_update(struct gp_map_object *map, uint32_t ctx, const uint8_t *key,
				const uint8_t *value, uint32_t flags)
{
	if (gp_retire_full(map->object.session))
		return GP_ERR(BUSY, IN_USE, map->object.id);
	if (map->progs)
		return update_progs(map, ctx, key, word(value), flags);
	return update_outer(map, ctx, key, word(value), flags);
}

struct gp_result gp_refs_delete(struct gp_map_object *map, const uint8_t *key)
{
	if (gp_retire_full(map->object.session))
		return GP_ERR(BUSY, IN_USE, map->object.id);
	return map->progs ? delete_prog(map, key) : delete_outer(map, key);
}
