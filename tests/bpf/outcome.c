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

#define DIFFER(what, format, x, y)                                                 \
	do {                                                                       \
		if ((x) != (y)) {                                                  \
			snprintf(why, 256, what ": " format " and " format, x, y); \
			return true;                                               \
		}                                                                  \
	} while (0)

static bool packet_diff(const struct outcome_packet *a, const struct outcome_packet *b, char why[256])
{
	DIFFER("verdict", "%u", a->verdict, b->verdict);
	DIFFER("fault", "%u", (uint32_t)a->fault, (uint32_t)b->fault);
	if (a->egress_port != OUTCOME_UNKNOWN && b->egress_port != OUTCOME_UNKNOWN)
		DIFFER("egress port", "%u", a->egress_port, b->egress_port);
	if (a->data_moved != OUTCOME_UNKNOWN && b->data_moved != OUTCOME_UNKNOWN)
		DIFFER("data moved by", "%d", a->data_moved, b->data_moved);
	DIFFER("length", "%u", a->len, b->len);
	DIFFER("metadata length", "%u", (uint32_t)a->meta_len, (uint32_t)b->meta_len);
	return false;
}

bool outcome_diff(const struct run *run, const struct outcome *a, const struct outcome *b, char why[256])
{
	size_t packets = 0;

	why[0] = 0;
	DIFFER("refused", "%d", a->refused, b->refused);
	if (a->refused)
		return false;
	for (uint32_t i = 0; i < run->num_packets; i++) {
		if (packet_diff(&a->packets[i], &b->packets[i], why)) {
			snprintf(why + strlen(why), 256 - strlen(why), ", of packet %u", i);
			return true;
		}
		packets += a->packets[i].meta_len + a->packets[i].len;
	}
	DIFFER("faults", "%llu", (unsigned long long)a->faults, (unsigned long long)b->faults);
	DIFFER("fault", "%u", a->fault, b->fault);
	DIFFER("bytes of packets, maps and buffers", "%zu", a->num_bytes, b->num_bytes);
	for (size_t i = 0; i < a->num_bytes; i++) {
		if (a->bytes[i] == b->bytes[i])
			continue;
		snprintf(why, 256, "byte %zu of %zu (%zu are packets): %02x and %02x", i, a->num_bytes,
			 packets, a->bytes[i], b->bytes[i]);
		return true;
	}
	return false;
}
