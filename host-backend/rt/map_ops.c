/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map_ops.c - the guest's operations on a map, as they are handed to whatever the map's memory is near to: the engine
 * runs them itself, or has a lane of a GPU run them (launch.h).
 *
 * Long ones, DUMP and LOAD, look at the clock between two entries: keys that share a bucket, or programs that take out
 * the very key from which a walk would go on, make entries slow to come by.
 */
#include <errno.h>
#include "virtio_gpgpu.h"
#include "clock.h"
#include "launch.h"
#include "log.h"
#include "maps.h"
#include "mem.h"

#define GP_MAX_STEPS (2 * VIRTIO_GPGPU_MAX_ENTRIES)

static bool gp_op_over(const struct gp_map_op *op, uint64_t start)
{
	return op->ticks && gp_ticks() - start > op->ticks;
}

/* An array whose elements may be absent: it has a key for each of them all the same. */
static bool gp_op_has_gaps(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PROG_ARRAY || type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS ||
	       type == VIRTIO_GPGPU_MAP_DEVMAP || type == VIRTIO_GPGPU_MAP_CPUMAP;
}

/* Memory that others may read, in whole words. */
static void gp_op_zero(uint8_t *at, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		*(volatile uint64_t *)(void *)(at + i) = 0;
}

static void gp_op_copy_key(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		to[i] = from[i];
}

/*
 * What is done with entries, of which DUMP and LOAD have many: each step is one entry's. For a GPU everything here
 * becomes one function, and registers have to do: so what is large is called from one place only.
 */
static int64_t gp_op_entries(struct gp_map_op *op)
{
	bool dump = op->kind == GP_MAP_OP_DUMP, load = op->kind == GP_MAP_OP_LOAD;
	uint32_t key_bytes = gp_words(op->map->key_size) * 8, step, count = dump || load ? op->count : 1;
	uint64_t last[VIRTIO_GPGPU_MAX_KEY / 8], start = gp_ticks();
	const uint8_t *key = op->key;
	uint8_t *to = op->value;
	int err = 0;

	/* Of a dump, an entry that goes between the two calls takes a step and no room. */
	for (step = 0; step < GP_MAX_STEPS && op->done < count; step++) {
		if (step && gp_op_over(op, start))
			return -EINTR;
		if (dump || op->kind == GP_MAP_OP_NEXT_KEY) {
			err = gp_map_next_key(op->map, key, to);
			if (err)
				return err;
		}
		if (dump) {
			gp_op_copy_key((uint8_t *)last, to, op->map->key_size);
			key = (const uint8_t *)last;
		}
		if (dump || op->kind == GP_MAP_OP_LOOKUP)
			err = gp_map_lookup(op->map, key, dump ? to + key_bytes : to);
		if (load || op->kind == GP_MAP_OP_UPDATE)
			err = gp_map_update(op->map, load ? to : key, load ? to + key_bytes : to, op->flags);
		/* An element of an array that is empty comes as zeros, so that the walk gets on. */
		if (dump && err == -ENOENT && gp_op_has_gaps(op->map->type)) {
			gp_op_zero(to + key_bytes, op->stride - key_bytes);
			err = 0;
		}
		if (dump && err == -ENOENT) {
			gp_op_zero(to, op->stride);
			continue;
		}
		if (err)
			return err;
		to += op->stride;
		op->done++;
	}
	return 0;
}

static int64_t gp_op_lines(struct gp_map_op *op)
{
	struct gp_log *log = (struct gp_log *)(void *)op->map;

	while (op->done < op->count && gp_log_take(log, (char *)op->value + op->done * GP_LOG_TEXT) >= 0)
		op->done++;
	return 0;
}

void gp_map_op_run(struct gp_map_op *op)
{
	op->done = 0;
	op->dropped = 0;
	switch (op->kind) {
	case GP_MAP_OP_LOOKUP:
	case GP_MAP_OP_UPDATE:
	case GP_MAP_OP_NEXT_KEY:
	case GP_MAP_OP_DUMP:
	case GP_MAP_OP_LOAD:
		op->result = gp_op_entries(op);
		break;
	case GP_MAP_OP_DELETE:
		op->result = gp_map_delete(op->map, op->key);
		break;
	case GP_MAP_OP_POP:
		op->result = gp_map_pop(op->map, op->key, op->value);
		break;
	case GP_MAP_OP_READ:
		op->result = gp_map_records_read(op->map, op->value, op->count, &op->done, &op->dropped);
		break;
	case GP_MAP_OP_PENDING:
		op->result = gp_map_records_pending(op->map);
		break;
	case GP_MAP_OP_LINES:
		op->result = gp_op_lines(op);
		break;
	default:
		op->result = -EINVAL;
		break;
	}
}
