// SPDX-License-Identifier: BSD-3-Clause
/*
 * mapconfig.c - setting maps from text and writing them as text.
 *
 * The same text sets the maps of a program on a device and in the kernel, and the same form dumps both, so
 * that two runs can be compared line by line: that is why the dump is sorted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_DUMP (1u << 24) /* entries */

size_t map_target_bytes(const struct map_target *t)
{
	return t->copies ? (((size_t)t->value_size + 7) & ~(size_t)7) * t->copies : t->value_size;
}

const struct map_target *map_target_find(const char *where, const struct map_target *targets, size_t count,
					 const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	}
	die("%s: the program has no map '%s'", where, name);
}

void mapconfig_entry(const char *where, const struct map_target *t, char *text)
{
	size_t bytes = map_target_bytes(t), each = t->copies ? bytes / t->copies : bytes;
	char *value_text = strchr(text, '=');
	uint8_t *key, *value;
	uint64_t steps, more;

	if (!value_text)
		die("%s: not of the form KEY = VALUE", where);
	*value_text++ = '\0';
	key = xcalloc(1, t->key_size);
	value = xcalloc(1, bytes);
	steps = fields_steps(where, text);
	more = fields_steps(where, value_text);
	if (more > steps)
		steps = more;
	for (uint64_t i = 0; i < steps; i++) {
		int r;

		fields_parse(where, text, key, t->key_size, i);
		fields_parse(where, value_text, value, t->value_size, i);
		for (uint32_t c = 1; c < t->copies; c++)
			memcpy(value + c * each, value, t->value_size);
		r = t->update(t->map, key, value, bytes);
		if (r)
			die("%s: map '%s': %s", where, t->name, t->error(r));
	}
	free(key);
	free(value);
}

void mapconfig_apply(const char *path, const struct map_target *targets, size_t count)
{
	FILE *f = fopen(path, "re");
	size_t room = 0, number = 0;
	char *line = NULL, where[512];

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (getline(&line, &room, f) >= 0) {
		char *hash = strchr(line, '#'), *name, *rest;

		number++;
		snprintf(where, sizeof(where), "%s:%zu", path, number);
		if (hash)
			*hash = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		name = line + strspn(line, " \t\r\n");
		if (!*name)
			continue;
		rest = name + strcspn(name, " \t\r\n");
		if (*rest)
			*rest++ = '\0';
		mapconfig_entry(where, map_target_find(where, targets, count, name), rest);
	}
	if (ferror(f))
		die("%s: %s", path, strerror(errno));
	free(line);
	fclose(f);
}

static size_t sort_size; /* bytes of a key, for qsort() */

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, sort_size);
}

/* Return: the map's keys, sorted; *count of them. */
static uint8_t *all_keys(const struct map_target *t, size_t *count)
{
	uint8_t *keys = NULL, *key = xcalloc(1, t->key_size), *from = NULL;
	size_t n = 0, room = 0;
	int r;

	while (!(r = t->next_key(t->map, from, key))) {
		from = key;
		if (n == MAX_DUMP)
			die("map '%s': over %u entries", t->name, MAX_DUMP);
		if (n == room) {
			room = room ? room * 2 : 64;
			keys = realloc(keys, room * t->key_size);
			if (!keys)
				die("out of memory");
		}
		memcpy(keys + n++ * t->key_size, key, t->key_size);
	}
	if (r != -ENOENT)
		die("map '%s': %s", t->name, t->error(r));
	free(key);
	sort_size = t->key_size;
	/* Keys of arrays are numbers and come in order. */
	if (n && !t->is_array)
		qsort(keys, n, t->key_size, by_key);
	*count = n;
	return keys;
}

static void add_copies(const struct map_target *t, uint8_t *value)
{
	size_t each = (((size_t)t->value_size + 7) & ~(size_t)7);

	for (uint32_t c = 1; c < t->copies; c++) {
		for (size_t at = 0; at < each; at += 8) {
			uint64_t sum, more;

			memcpy(&sum, value + at, 8);
			memcpy(&more, value + c * each + at, 8);
			sum += more;
			memcpy(value + at, &sum, 8);
		}
	}
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

static void put_bytes(FILE *to, const uint8_t *bytes, size_t size)
{
	fputc(' ', to);
	for (size_t i = 0; i < size; i++)
		fprintf(to, "%02x", bytes[i]);
}

void mapconfig_dump(FILE *to, const struct map_target *t)
{
	size_t count, bytes = map_target_bytes(t);
	uint8_t *keys = all_keys(t, &count), *value = xcalloc(1, bytes);

	for (size_t i = 0; i < count; i++) {
		const uint8_t *key = keys + i * t->key_size;
		int r = t->lookup(t->map, key, value, bytes);

		if (r)
			die("map '%s': %s", t->name, t->error(r));
		if (t->copies)
			add_copies(t, value);
		if (t->is_array && is_zero(value, t->value_size))
			continue;
		fputs(t->name, to);
		put_bytes(to, key, t->key_size);
		put_bytes(to, value, t->value_size);
		fputc('\n', to);
	}
	free(keys);
	free(value);
}
