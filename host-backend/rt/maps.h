/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maps.h - maps as the engine uses them: what shapes there are, how much memory they take, the guest's
 * operations.
 *
 * The operations run the same code as programs do, on the engine's thread while device threads run
 * programs; no lock of the engine's is needed for them. A frozen or read-only map is the caller's to
 * check: here only programs are kept from writing it (map->frozen).
 *
 * Ownership: struct gp_map and both blocks of memory are the engine's. Nothing else is allocated.
 */
#ifndef GPGPU_RT_MAPS_H
#define GPGPU_RT_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include "rt/abi.h"
#include "bpf/prog.h"

#define GP_MAP_MAX_CPUS 1024

/*
 * gp_map_check() - judge a shape and fill in what follows from it.
 * @desc: type, key_size, value_size, max_entries and flags are the guest's and may be anything; the
 *	  other members are filled.
 * @num_cpus: copies that a per-CPU map has on this device, 1..GP_MAP_MAX_CPUS.
 *
 * Return: VIRTIO_GPGPU_R_NONE, or why there can be no such map: R_KIND, R_SIZE, R_COUNT, R_FLAGS.
 */
uint32_t gp_map_check(struct gp_map_desc *desc, uint32_t num_cpus);

/*
 * gp_map_index_bytes() - bytes of everything but the values. Return: not 0; no overflow after gp_map_check().
 * gp_map_bytes() - the values and that: what is charged to the guest.
 */
uint64_t gp_map_index_bytes(const struct gp_map_desc *desc);
uint64_t gp_map_bytes(const struct gp_map_desc *desc);

/*
 * gp_map_layout() - make an empty map (an array: of zeros).
 * @desc: passed by gp_map_check().
 * @values: desc->values_size zeroed bytes, aligned to 64.
 * @index: gp_map_index_bytes() zeroed bytes, aligned to 64.
 * @seed: random; keys the hash.
 *
 * Memory that no element has used yet stays untouched.
 */
void gp_map_layout(struct gp_map *map, const struct gp_map_desc *desc, void *values, void *index,
		   uint32_t seed);

/* gp_map_value_bytes() - bytes of a value as it travels: value_size, or num_cpus times the stride. */
uint32_t gp_map_value_bytes(const struct gp_map *map);

/*
 * The guest's operations. Keys are key_size bytes, values gp_map_value_bytes(). Flags are BPF_ANY,
 * BPF_NOEXIST, BPF_EXIST. gp_map_next_key() takes NULL for the first key, and goes to the first from
 * a key that is not there, as the kernel does; on a map that does not change each key comes once.
 *
 * Return: 0, or what the kernel says: -ENOENT (no such key; next_key: it was the last), -EEXIST, -E2BIG
 * (full, or no such index), -ENOSPC (full, LPM), -EINVAL; -EBUSY when a lock could not be had within
 * its bound (mem.h). Any thread.
 */
int gp_map_lookup(struct gp_map *map, const void *key, void *value);
int gp_map_update(struct gp_map *map, const void *key, const void *value, uint64_t flags);
int gp_map_delete(struct gp_map *map, const void *key);
int gp_map_next_key(struct gp_map *map, const void *key, void *next);

/*
 * gp_map_pop() - look up and delete. QUEUE, STACK: @key is not used; look-up is a peek and update a push there,
 * with BPF_ANY or BPF_EXIST (throws out the oldest of a full one). Hash kinds too.
 *
 * A Bloom filter: update adds the value; look-up takes the value as @key and only says whether it may be there.
 */
int gp_map_pop(struct gp_map *map, const void *key, void *value);

/*
 * Values that programs do not see but as what they stand for: a PROG_ARRAY has 1 where there is a program,
 * a map of maps the slot in env->inner + 1. The caller keeps the objects; what an element stood for may go when
 * no program runs any more, after gp_map_forget_inner().
 *
 * gp_map_may_be_inner() - whether maps of a type can be elements.
 * gp_map_inner_fits() - whether @desc can be an element of the map with the description @outer.
 * gp_map_forget_inner() - no element is @slot any more: programs lose access to it.
 */
bool gp_map_may_be_inner(uint32_t type);
bool gp_map_inner_fits(const struct gp_map_desc *outer, const struct gp_map_desc *desc);
void gp_map_forget_inner(struct gp_map *map, uint32_t slot);

/*
 * gp_map_records_read() - take records out of a RINGBUF or PERF_EVENT_ARRAY, oldest first.
 * @buf: out: struct virtio_gpgpu_record, then its bytes padded to 8, for each record.
 * @num, @dropped: out: how many there are; how many found no room since the map was made.
 *
 * Return: bytes, 0 where there is nothing (or what is oldest is not finished), -EMSGSIZE where the next record
 * does not fit into @size, -EINVAL for another type. One caller at a time.
 *
 * gp_map_records_pending() - whether a read would find something. Any thread that holds off readers.
 */
int64_t gp_map_records_read(struct gp_map *map, void *buf, uint64_t size, uint32_t *num, uint64_t *dropped);
bool gp_map_records_pending(struct gp_map *map);

#endif
