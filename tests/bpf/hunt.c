// SPDX-License-Identifier: BSD-3-Clause
/*
 * hunt.c - see hunt.h.
 *
 * Addresses of a 64-bit process are few among all numbers; small numbers are not, so what is mapped in the lowest 4 GiB does
 * not count.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hunt.h"

#define MAX_RANGES 4096
#define MAX_ALSO   64
#define LOWEST	   (1ull << 32)

struct range {
	uint64_t start, end;
};

static struct range ranges[MAX_RANGES], also[MAX_ALSO];
static size_t num_ranges, num_also;

static void read_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long long start, end;
	char line[512];

	if (!file) {
		perror("/proc/self/maps");
		exit(2);
	}
	while (num_ranges < MAX_RANGES && fgets(line, sizeof(line), file)) {
		/* Code, libraries, heap and stack have a name; a sanitizer's own may, and are terabytes. */
		if (sscanf(line, "%llx-%llx", &start, &end) != 2 || start < LOWEST || !strpbrk(line, "/[") ||
		    strstr(line, "[anon"))
			continue;
		ranges[num_ranges++] = (struct range){ start, end };
	}
	fclose(file);
}

static bool in(const struct range *list, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (value >= list[i].start && value < list[i].end)
			return true;
	return false;
}

uint64_t hunt(const uint8_t *bytes, size_t size, size_t *at)
{
	uint64_t value;

	if (!num_ranges)
		read_mappings();
	for (size_t i = *at; i + sizeof(value) <= size; i++) {
		memcpy(&value, bytes + i, sizeof(value));
		if (value < LOWEST || value >> 47)
			continue;
		if (in(ranges, num_ranges, value) || in(also, num_also, value)) {
			*at = i;
			return value;
		}
	}
	return 0;
}

void hunt_also(const void *base, size_t size)
{
	if (num_also < MAX_ALSO)
		also[num_also++] =
			(struct range){ (uint64_t)(uintptr_t)base, (uint64_t)(uintptr_t)base + size };
}

void hunt_forget(void)
{
	num_also = 0;
}
