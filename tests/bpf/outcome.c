// SPDX-License-Identifier: BSD-3-Clause
/* outcome.c - records of what a run did, and their comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "target.h"

void outcome_free(struct outcome *outcome)
{
	free(outcome->bytes);
	outcome->bytes = NULL;
	outcome->num_bytes = 0;
	free(outcome->records);
	outcome->records = NULL;
	outcome->num_records_bytes = 0;
}

enum run_map_form run_map_form(uint32_t type)
{
	switch (type) {
	case VIRTIO_GPGPU_MAP_ARRAY:
	case VIRTIO_GPGPU_MAP_PERCPU_ARRAY:
		return RUN_MAP_VALUES;
	case VIRTIO_GPGPU_MAP_HASH:
	case VIRTIO_GPGPU_MAP_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_HASH:
	case VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH:
	case VIRTIO_GPGPU_MAP_LPM_TRIE:
		return RUN_MAP_KEYED;
	case VIRTIO_GPGPU_MAP_QUEUE:
	case VIRTIO_GPGPU_MAP_STACK:
		return RUN_MAP_POPPED;
	case VIRTIO_GPGPU_MAP_RINGBUF:
	case VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY:
		return RUN_MAP_RECORDS;
	default:
		return RUN_MAP_NONE;
	}
}

bool run_map_percpu(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_PERCPU_ARRAY || type == VIRTIO_GPGPU_MAP_PERCPU_HASH ||
	       type == VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH;
}

bool run_map_of_maps(uint32_t type)
{
	return type == VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS || type == VIRTIO_GPGPU_MAP_HASH_OF_MAPS;
}

void outcome_add_record(struct outcome *outcome, const void *bytes, uint32_t size)
{
	const uint8_t *from = bytes;
	uint32_t padded;

	while (size && size % 8 && !from[size - 1])
		size--;
	padded = (size + 7) & ~7u;
	outcome->records = realloc(outcome->records, outcome->num_records_bytes + 4 + padded);
	if (!outcome->records)
		abort();
	memset(outcome->records + outcome->num_records_bytes, 0, 4 + padded);
	memcpy(outcome->records + outcome->num_records_bytes, &padded, 4);
	memcpy(outcome->records + outcome->num_records_bytes + 4, bytes, size);
	outcome->num_records_bytes += 4 + padded;
}

void outcome_add(struct outcome *outcome, const void *bytes, size_t size)
{
	outcome->bytes = realloc(outcome->bytes, outcome->num_bytes + size + 1);
	if (!outcome->bytes)
		abort();
	memcpy(outcome->bytes + outcome->num_bytes, bytes, size);
	outcome->num_bytes += size;
}

void outcome_add_key(struct outcome *outcome, const struct run_map *map, const void *key)
{
	uint8_t *at;
	uint32_t bits;

	outcome_add(outcome, key, map->key_size);
	if (map->type != VIRTIO_GPGPU_MAP_LPM_TRIE)
		return;
	at = outcome->bytes + outcome->num_bytes - map->key_size;
	memcpy(&bits, at, 4);
	for (uint32_t i = bits; i < (map->key_size - 4) * 8; i++)
		at[4 + i / 8] &= (uint8_t)~(0x80 >> i % 8);
}

/* Insertion sort: maps of tests are small. */
void outcome_sort(struct outcome *outcome, size_t from, size_t record)
{
	uint8_t *base = outcome->bytes + from, swap[1024];
	size_t n = (outcome->num_bytes - from) / record;

	if (record > sizeof(swap))
		abort();
	for (size_t i = 1; i < n; i++) {
		for (size_t k = i; k > 0 && memcmp(base + (k - 1) * record, base + k * record, record) > 0;
		     k--) {
			memcpy(swap, base + k * record, record);
			memcpy(base + k * record, base + (k - 1) * record, record);
			memcpy(base + (k - 1) * record, swap, record);
		}
	}
}

#define DIFFER(kind, what, format, x, y)                                           \
	do {                                                                       \
		if ((x) != (y)) {                                                  \
			snprintf(why, 256, what ": " format " and " format, x, y); \
			return kind;                                               \
		}                                                                  \
	} while (0)

static enum outcome_difference packet_diff(const struct outcome_packet *a, const struct outcome_packet *b,
					   char why[256])
{
	DIFFER(OUTCOME_FAULT, "fault", "%u", (uint32_t)a->fault, (uint32_t)b->fault);
	DIFFER(OUTCOME_VERDICT, "verdict", "%u", a->verdict, b->verdict);
	if (a->egress_port != OUTCOME_UNKNOWN && b->egress_port != OUTCOME_UNKNOWN)
		DIFFER(OUTCOME_PLACE, "egress port", "%u", a->egress_port, b->egress_port);
	if (a->data_moved != OUTCOME_UNKNOWN && b->data_moved != OUTCOME_UNKNOWN)
		DIFFER(OUTCOME_PLACE, "data moved by", "%d", a->data_moved, b->data_moved);
	DIFFER(OUTCOME_PLACE, "length", "%u", a->len, b->len);
	DIFFER(OUTCOME_PLACE, "metadata length", "%u", (uint32_t)a->meta_len, (uint32_t)b->meta_len);
	return OUTCOME_SAME;
}

/* Bytes in front of the maps'. */
static size_t front(const struct run *run, const struct outcome *a)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < run->num_packets; i++)
		bytes += a->packets[i].meta_len + a->packets[i].len;
	for (uint32_t i = 0; i < run->num_args; i++)
		bytes += run->args[i].size;
	return bytes;
}

enum outcome_difference outcome_diff(const struct run *run, const struct outcome *a, const struct outcome *b,
				     char why[256])
{
	enum outcome_difference kind;

	why[0] = 0;
	DIFFER(OUTCOME_REFUSED, "refused", "%d", a->refused, b->refused);
	if (a->refused)
		return OUTCOME_SAME;
	for (uint32_t i = 0; i < run->num_packets; i++) {
		kind = packet_diff(&a->packets[i], &b->packets[i], why);
		if (kind) {
			snprintf(why + strlen(why), 256 - strlen(why), ", of packet %u", i);
			return kind;
		}
	}
	DIFFER(OUTCOME_FAULT, "faults", "%llu", (unsigned long long)a->faults, (unsigned long long)b->faults);
	DIFFER(OUTCOME_FAULT, "fault", "%u", a->fault, b->fault);
	DIFFER(OUTCOME_MAP_BYTES, "bytes of packets, buffers and maps", "%zu", a->num_bytes, b->num_bytes);
	for (size_t i = 0; i < a->num_bytes; i++) {
		if (a->bytes[i] == b->bytes[i])
			continue;
		snprintf(why, 256, "byte %zu of %zu (%zu of them in front of the maps): %02x and %02x", i,
			 a->num_bytes, front(run, a), a->bytes[i], b->bytes[i]);
		return i < front(run, a) ? OUTCOME_PACKET_BYTES : OUTCOME_MAP_BYTES;
	}
	if (a->no_records || b->no_records)
		return OUTCOME_SAME;
	DIFFER(OUTCOME_RECORDS, "bytes of records", "%zu", a->num_records_bytes, b->num_records_bytes);
	if (a->num_records_bytes && memcmp(a->records, b->records, a->num_records_bytes)) {
		snprintf(why, 256, "records");
		return OUTCOME_RECORDS;
	}
	return OUTCOME_SAME;
}
