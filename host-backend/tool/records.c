// SPDX-License-Identifier: BSD-3-Clause
/*
 * records.c - what a program left in ring buffers and perf event arrays, as lines of a file.
 */
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "tool.h"

#define READ_BYTES (256u << 10) /* at a time */

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static void write_record(struct records *r, const char *name, const struct virtio_gpgpu_record *record)
{
	const uint8_t *bytes = (const void *)(record + 1);

	fprintf(r->to, "%s %u ", name, record->cpu);
	for (uint32_t i = 0; i < record->size; i++)
		fprintf(r->to, "%02x", bytes[i]);
	fputc('\n', r->to);
	r->count++;
}

/* Return: whether there may be more. */
static bool read_some(struct records *r, const struct loaded_map *map, uint8_t *bytes, uint64_t *dropped)
{
	struct refusal refusal;
	uint32_t size, at = 0;

	if (session_map_read(map->loaded->session, map->id, bytes, READ_BYTES, &size, dropped, &refusal))
		die("map '%s': %s", map->name, refusal_text(&refusal));
	while (at < size) {
		const struct virtio_gpgpu_record *record = (const void *)(bytes + at);

		write_record(r, map->name, record);
		at += (uint32_t)(sizeof(*record) + padded(record->size));
	}
	return size > 0;
}

void records_read(struct records *r, const struct loaded *l)
{
	uint8_t *bytes = xcalloc(1, READ_BYTES);
	uint64_t dropped;

	r->dropped = 0;
	for (uint32_t i = 0; i < l->num_maps; i++) {
		const struct loaded_map *map = &l->maps[i];

		if (!map->id || (map->info.type != BPF_MAP_TYPE_RINGBUF &&
				 map->info.type != BPF_MAP_TYPE_PERF_EVENT_ARRAY))
			continue;
		while (read_some(r, map, bytes, &dropped))
			;
		r->dropped += dropped;
	}
	free(bytes);
}
