/* SPDX-License-Identifier: BSD-3-Clause */
/* box.h - a map with its memory, and its operations in each of the ways that there are. Included by one file a test. */
#ifndef TESTS_UNIT_BOX_H
#define TESTS_UNIT_BOX_H

#include <check.h>
#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include "rt/maps.h"
#include "rt/rt.h"
#include "virtio_gpgpu.h"

struct box {
	struct gp_map map;
	struct gp_map_desc desc;
	void *values, *index;
};

static inline void *zeroed(uint64_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~63ull);

	ck_assert_ptr_nonnull(p);
	return memset(p, 0, (bytes + 63) & ~63ull);
}

static inline void box_open(struct box *b, uint32_t type, uint32_t key_size, uint32_t value_size,
			    uint32_t max_entries, uint32_t cpus)
{
	b->desc = (struct gp_map_desc){
		.type = type,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = max_entries,
	};
	ck_assert_uint_eq(gp_map_check(&b->desc, cpus), VIRTIO_GPGPU_R_NONE);
	/* Exact sizes, so that a sanitizer sees the first byte too many. */
	b->values = b->desc.values_size ? zeroed(b->desc.values_size) : NULL;
	b->index = zeroed(gp_map_index_bytes(&b->desc));
	ck_assert_uint_eq(gp_map_bytes(&b->desc), b->desc.values_size + gp_map_index_bytes(&b->desc));
	gp_map_layout(&b->map, &b->desc, b->values, b->index, g_random_int());
}

static inline void box_close(struct box *b)
{
	free(b->values);
	free(b->index);
}

/* A lane on which helpers can be called. */
static struct gp_thread thread;
static struct gp_env env;

static inline struct gp_lane new_lane(void)
{
	return (struct gp_lane){ .env = &env, .thread = &thread, .fuel = 1000000 };
}

#define DESC(b)                                                                                              \
	(b)->desc.type, (b)->desc.key_size, (b)->desc.value_size, (b)->desc.max_entries, (b)->desc.num_cpus, \
		(b)->desc.num_buckets

/* One operation in one of three ways: guest, program with a known map, with one chosen at run time. */
static inline int op_update(struct box *b, const uint8_t *key, const uint8_t *value, uint64_t flags, int way)
{
	struct gp_lane lane = new_lane();

	if (way == 0)
		return gp_map_update(&b->map, key, value, flags);
	if (way == 1)
		return (int)gp_helper_map_update(&lane, &b->map, key, value, flags, DESC(b));
	return (int)gp_helper_map_update_any(&lane, &b->map, key, value, flags);
}

static inline int op_delete(struct box *b, const uint8_t *key, int way)
{
	struct gp_lane lane = new_lane();

	if (way == 0)
		return gp_map_delete(&b->map, key);
	if (way == 1)
		return (int)gp_helper_map_delete(&lane, &b->map, key, DESC(b));
	return (int)gp_helper_map_delete_any(&lane, &b->map, key);
}

static inline int op_lookup(struct box *b, const uint8_t *key, uint8_t *value, int way)
{
	struct gp_lane lane = new_lane();
	uint64_t at;

	if (way == 0)
		return gp_map_lookup(&b->map, key, value);
	at = way == 1 ? gp_helper_map_lookup(&lane, &b->map, key, DESC(b))
		      : gp_helper_map_lookup_any(&lane, &b->map, key);
	if (!at)
		return -ENOENT;
	ck_assert_uint_le(at - 1 + b->map.value_size, b->map.values_size);
	ck_assert_uint_eq((at - 1) % 8, 0);
	memcpy(value, b->map.values + at - 1, b->map.value_size);
	return 0;
}

#endif
