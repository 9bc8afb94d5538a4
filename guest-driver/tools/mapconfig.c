// SPDX-License-Identifier: BSD-3-Clause
/*
 * mapconfig.c - setting maps from text and writing them as text.
 *
 * The same text sets the maps of a program on a device and in the kernel, and the same form dumps both, so
 * that two runs can be compared line by line: that is why the dump is sorted. Entries are moved in bulk where the
 * map can do that.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define MAX_DUMP (1u << 24) /* entries */

size_t map_target_bytes(const struct map_target *t)
{
	return t->copies ? (((size_t)t->value_size + 7) & ~(size_t)7) * t->copies : t->value_size;
}

#define MAX_SIZED 16 /* maps named by --entries */

static struct {
	const char *name;
	uint32_t entries;
} sized[MAX_SIZED];
static size_t num_sized;

void map_entries_add(const char *name, const char *number)
{
	if (num_sized == MAX_SIZED)
		die("--entries: at most %u times", MAX_SIZED);
	sized[num_sized].name = name;
	sized[num_sized++].entries = (uint32_t)parse_number(number, 1, UINT32_MAX, "--entries");
}

uint32_t map_entries_of(const char *name)
{
	for (size_t i = 0; i < num_sized; i++) {
		if (!strcmp(sized[i].name, name))
			return sized[i].entries;
	}
	return 0;
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

static size_t pad8(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* "NAME" for what holds programs or maps, else fields. */
static void parse_value(const char *where, const struct map_target *t, char *text, uint8_t *value,
			uint64_t step)
{
	size_t each = pad8(t->value_size);
	uint32_t named;

	if (t->type != BPF_MAP_TYPE_PROG_ARRAY && t->type != BPF_MAP_TYPE_ARRAY_OF_MAPS &&
	    t->type != BPF_MAP_TYPE_HASH_OF_MAPS) {
		fields_parse(where, text, value, t->value_size, step);
		for (uint32_t c = 1; c < t->copies; c++)
			memcpy(value + c * each, value, t->value_size);
		return;
	}
	text += strspn(text, " \t");
	text[strcspn(text, " \t")] = '\0';
	named = t->named ? t->named(t->map, text) : 0;
	if (!named)
		die("%s: map '%s' holds %s, and '%s' is none that is loaded", where, t->name,
		    t->type == BPF_MAP_TYPE_PROG_ARRAY ? "programs" : "maps", text);
	memcpy(value, &named, sizeof(named));
}

#define BULK 4096 /* entries that are written at once */

static void write_entries(const char *where, const struct map_target *t, const uint8_t *entries, size_t count)
{
	size_t bytes = map_target_bytes(t), key_bytes = pad8(t->key_size);
	int r = 0;

	if (t->load) {
		r = t->load(t->map, entries, (uint32_t)count);
	} else {
		for (size_t i = 0; !r && i < count; i++, entries += key_bytes + pad8(bytes))
			r = t->update(t->map, entries, entries + key_bytes, bytes);
	}
	if (r)
		die("%s: map '%s': %s", where, t->name, t->error(r));
}

void mapconfig_entry(const char *where, const struct map_target *t, char *text)
{
	size_t key_bytes = pad8(t->key_size), each = key_bytes + pad8(map_target_bytes(t)), n = 0;
	char *value_text = strchr(text, '=');
	uint64_t steps, more;
	uint8_t *entries;
	bool names;

	if (!value_text)
		die("%s: not of the form KEY = VALUE", where);
	*value_text++ = '\0';
	names = t->type == BPF_MAP_TYPE_PROG_ARRAY || t->type == BPF_MAP_TYPE_ARRAY_OF_MAPS ||
		t->type == BPF_MAP_TYPE_HASH_OF_MAPS;
	steps = fields_steps(where, text);
	more = names ? 1 : fields_steps(where, value_text);
	if (more > steps)
		steps = more;
	entries = xcalloc(steps < BULK ? steps : BULK, each);
	for (uint64_t i = 0; i < steps; i++) {
		uint8_t *at = entries + n * each;

		fields_parse(where, text, at, t->key_size, i);
		parse_value(where, t, value_text, at + key_bytes, i);
		if (++n < BULK && i + 1 < steps)
			continue;
		write_entries(where, t, entries, n);
		n = 0;
	}
	free(entries);
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

struct entries { /* each a key padded to 8 and a value padded to 8 */
	uint8_t *bytes;
	size_t each, count, room;
};

static void more_room(const struct map_target *t, struct entries *e, size_t count)
{
	if (e->count + count > MAX_DUMP)
		die("map '%s': over %u entries", t->name, MAX_DUMP);
	while (e->count + count > e->room) {
		e->room = e->room ? e->room * 2 : 64;
		e->bytes = realloc(e->bytes, e->room * e->each);
		if (!e->bytes)
			die("out of memory");
	}
}

/* One by one, as a kernel is asked. An entry may go between the two calls, and be empty (DEVMAP). */
static int read_singly(const struct map_target *t, struct entries *e)
{
	uint8_t *key = xcalloc(1, t->key_size), *from = NULL, *at;
	size_t key_bytes = pad8(t->key_size), bytes = map_target_bytes(t);
	int r;

	while (!(r = t->next_key(t->map, from, key))) {
		from = key;
		more_room(t, e, 1);
		at = e->bytes + e->count * e->each;
		memset(at, 0, e->each);
		memcpy(at, key, t->key_size);
		r = t->lookup(t->map, key, at + key_bytes, bytes);
		if (r && r != -ENOENT)
			break;
		e->count += !r;
	}
	free(key);
	return r;
}

static int read_bulk(const struct map_target *t, struct entries *e)
{
	uint8_t *key = xcalloc(1, t->key_size);
	uint32_t count;
	int r;

	do {
		count = BULK;
		more_room(t, e, count);
		r = t->dump(t->map, e->count ? key : NULL, e->bytes + e->count * e->each, &count);
		if (!r) {
			e->count += count;
			memcpy(key, e->bytes + (e->count - 1) * e->each, t->key_size);
		}
	} while (!r);
	free(key);
	return r;
}

/* The keys of a queue are the order in which its values come out, big endian so that text sorts like it. */
static int read_by_popping(const struct map_target *t, struct entries *e)
{
	size_t bytes = map_target_bytes(t);
	int r;

	for (;;) {
		uint8_t *at;

		more_room(t, e, 1);
		at = e->bytes + e->count * e->each;
		memset(at, 0, e->each);
		r = t->pop(t->map, at + 8, bytes);
		if (r)
			return r;
		for (int i = 0; i < 4; i++)
			at[i] = (uint8_t)(e->count >> (24 - 8 * i));
		e->count++;
	}
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

static bool can_dump(const struct map_target *t)
{
	switch (t->type) {
	case BPF_MAP_TYPE_PROG_ARRAY:
	case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
	case BPF_MAP_TYPE_RINGBUF:
	case BPF_MAP_TYPE_BLOOM_FILTER:
		return false;
	default:
		return strcmp(t->name, ROUTES_MAP) != 0;
	}
}

/* What says the same on both sides: of a device a map of devices has no more than the interface's number. */
static size_t value_shown(const struct map_target *t)
{
	bool devs = t->type == BPF_MAP_TYPE_DEVMAP || t->type == BPF_MAP_TYPE_DEVMAP_HASH ||
		    t->type == BPF_MAP_TYPE_CPUMAP;

	return devs && t->value_size > 4 ? 4 : t->value_size;
}

void mapconfig_dump(FILE *to, const struct map_target *t)
{
	bool pops = t->type == BPF_MAP_TYPE_QUEUE || t->type == BPF_MAP_TYPE_STACK;
	bool empties = t->is_array || t->type == BPF_MAP_TYPE_DEVMAP || t->type == BPF_MAP_TYPE_CPUMAP;
	size_t key_size = pops ? 4 : t->key_size, key_bytes = pad8(key_size);
	struct entries e = { .each = key_bytes + pad8(map_target_bytes(t)) };
	int r;

	if (!can_dump(t))
		return;
	r = pops ? read_by_popping(t, &e) : t->dump ? read_bulk(t, &e) : read_singly(t, &e);
	if (r != -ENOENT)
		die("map '%s': %s", t->name, t->error(r));
	sort_size = key_size;
	/* Keys of arrays are numbers and come in order. */
	if (e.count && !empties)
		qsort(e.bytes, e.count, e.each, by_key);
	for (size_t i = 0; i < e.count; i++) {
		uint8_t *key = e.bytes + i * e.each, *value = key + key_bytes;

		if (t->copies)
			add_copies(t, value);
		if (empties && is_zero(value, value_shown(t)))
			continue;
		fputs(t->name, to);
		put_bytes(to, key, key_size);
		put_bytes(to, value, value_shown(t));
		fputc('\n', to);
	}
	free(e.bytes);
}
