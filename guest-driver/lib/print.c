// SPDX-License-Identifier: BSD-3-Clause
/*
 * print.c - lines that kernels print.
 *
 * How it works: printf() of a kernel that gpgpu-cc compiled puts a record into the ring buffer of its object: where in the object's
 * section of formats its own begins, which work item it is, and the arguments as numbers. So all that the device knows of
 * it is a ring buffer: the device tells of records by an event, keeps as many as there is room for and counts the
 * others, for each object by itself. Text is made here, by who has the object; the host never sees a format.
 *
 * What a record says is believed no more than any other number: formats are those that were checked when the object was opened,
 * strings are looked up in the section, and each conversion is written out again from its parts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#include "internal.h"
#include "print_format.h"

/* Return: the text of that kind which begins at @at, or NULL. */
static const char *text_at(const struct gpgpu_object *obj, uint64_t at, char kind)
{
	if (at < sizeof(PRINT_MAGIC) + 1 || at >= obj->formats_size)
		return NULL;
	/* The last byte is a NUL, and so is the one in front of each kind. */
	return obj->formats[at - 1] == kind && !obj->formats[at - 2] ? obj->formats + at : NULL;
}

int gpgpu_read_formats(const struct elf_file *elf, struct gpgpu_object *obj)
{
	const struct elf_section *s = elf_find(elf, PRINT_SECTION);
	const char *why;

	if (!s)
		return 0;
	if (!s->data || s->size < sizeof(PRINT_MAGIC) || memcmp(s->data, PRINT_MAGIC, sizeof(PRINT_MAGIC)) ||
	    s->data[s->size - 1])
		return gpgpu_fail(-EINVAL, "%s: damaged, or newer than this library: section %s", elf->name,
				  PRINT_SECTION);
	obj->formats = malloc(s->size);
	if (!obj->formats)
		return gpgpu_fail(-ENOMEM, "out of memory");
	memcpy(obj->formats, s->data, s->size);
	obj->formats_size = s->size;
	for (size_t at = sizeof(PRINT_MAGIC); at < s->size; at += strlen(obj->formats + at) + 1) {
		const char *text = obj->formats + at;

		if (*text != PRINT_FORMAT && *text != PRINT_STRING)
			return gpgpu_fail(-EINVAL, "%s: damaged: section %s", elf->name, PRINT_SECTION);
		if (*text == PRINT_FORMAT && print_count(text + 1, &why) < 0)
			return gpgpu_fail(-EINVAL, "%s: printf(\"%.64s\"): %s", elf->name, text + 1, why);
	}
	return 0;
}

/* ----------------------------------------------------------------- rendering */

struct output {
	char *text;
	size_t size, length; /* the length also counts what did not fit */
};

static void put(struct output *out, char c)
{
	if (out->length + 1 < out->size)
		out->text[out->length] = c;
	out->length++;
}

/* What a record holds; @spec was put together from parts that were checked. */
static void put_integer(struct output *out, const struct print_conversion *c, uint64_t value)
{
	unsigned int shift = 64 - 8 * c->bytes;
	char spec[PRINT_MAX_SPEC + 4], text[192];

	if (c->letter == 'd' || c->letter == 'i')
		value = (uint64_t)((int64_t)(value << shift) >> shift);
	else
		value = value << shift >> shift;
	snprintf(spec, sizeof(spec), "%s%s%c", c->spec, c->letter == 'c' ? "" : "ll", c->letter);
	if (c->letter == 'c')
		snprintf(text, sizeof(text), spec, (int)(unsigned char)value);
	else
		snprintf(text, sizeof(text), spec, (unsigned long long)value);
	for (const char *at = text; *at; at++)
		put(out, *at);
}

static void put_double(struct output *out, const struct print_conversion *c, uint64_t bits)
{
	char spec[PRINT_MAX_SPEC + 4], text[512]; /* 309 digits and 64 behind the point */
	double value;

	memcpy(&value, &bits, sizeof(value));
	snprintf(spec, sizeof(spec), "%s%c", c->spec, c->letter);
	snprintf(text, sizeof(text), spec, value);
	for (const char *at = text; *at; at++)
		put(out, *at);
}

static void put_string(struct output *out, const struct print_conversion *c, const char *string)
{
	char spec[PRINT_MAX_SPEC + 4], *text;
	int length;

	snprintf(spec, sizeof(spec), "%ss", c->spec);
	length = snprintf(NULL, 0, spec, string);
	text = length < 0 ? NULL : malloc((size_t)length + 1);
	if (!text)
		return;
	snprintf(text, (size_t)length + 1, spec, string);
	for (const char *at = text; *at; at++)
		put(out, *at);
	free(text);
}

static void put_conversion(const struct gpgpu_object *obj, struct output *out,
			   const struct print_conversion *c, uint64_t value)
{
	struct print_conversion pointer = { .spec = "%#", .bytes = 8, .letter = 'x' };
	const char *string;

	switch (c->kind) {
	case PRINT_DOUBLE:
		put_double(out, c, value);
		return;
	case PRINT_TEXT:
		string = text_at(obj, value, PRINT_STRING);
		put_string(out, c, string ? string : "(no string)");
		return;
	case PRINT_POINTER: /* the number that it is to the kernel, which is no address */
		put_integer(out, &pointer, value);
		return;
	default:
		put_integer(out, c, value);
	}
}

static void put_plain(struct output *out, const char *from, const char *to)
{
	for (; from < to; from++) {
		put(out, *from);
		from += from[0] == '%'; /* of which there are two */
	}
}

/* Return: where the conversion begins that print_next() found; @end is behind it. */
static const char *conversion_start(const char *from, const char *end)
{
	while (from < end && (*from != '%' || from[1] == '%'))
		from += 1 + (*from == '%');
	return from;
}

int gpgpu_print_decode(const struct gpgpu_object *obj, const void *record, size_t size, uint32_t item[3],
		       char *text, size_t room)
{
	struct output out = { text, room, 0 };
	const uint8_t *words = (const uint8_t *)record + sizeof(struct print_record);
	struct print_conversion c;
	struct print_record head;
	const char *at, *from, *why;
	uint64_t value;

	if (size < sizeof(head))
		return gpgpu_fail(-EPROTO, "%s: damaged record of printf()", obj->name);
	memcpy(&head, record, sizeof(head));
	at = obj->formats ? text_at(obj, head.format, PRINT_FORMAT) : NULL;
	if (!at || head.count > PRINT_MAX_ARGS || (size - sizeof(head)) / 8 < head.count ||
	    print_count(at, &why) != (int)head.count)
		return gpgpu_fail(-EPROTO, "%s: damaged record of printf()", obj->name);
	for (from = at; print_next(&at, &c, &why) > 0; from = at) {
		put_plain(&out, from, conversion_start(from, at));
		memcpy(&value, words, sizeof(value));
		words += sizeof(value);
		put_conversion(obj, &out, &c, value);
	}
	put_plain(&out, from, at);
	if (room)
		text[out.length < room ? out.length : room - 1] = 0;
	memcpy(item, head.item, sizeof(head.item));
	return out.length > INT32_MAX ? INT32_MAX : (int)out.length;
}

/* ------------------------------------------------------------------- reading */

struct reading {
	struct gpgpu_object *obj;
	gpgpu_line_fn fn;
	void *opaque;
};

static int one_record(void *opaque, uint32_t cpu, const void *data, size_t size)
{
	const struct reading *reading = opaque;
	uint32_t item[3];
	char text[GPGPU_LINE_BYTES];
	int r = gpgpu_print_decode(reading->obj, data, size, item, text, sizeof(text));

	(void)cpu;
	return r < 0 ? r : reading->fn(reading->opaque, item, text);
}

static struct gpgpu_map *print_map(const struct gpgpu_object *obj)
{
	struct gpgpu_map *map = gpgpu_object_map((struct gpgpu_object *)(uintptr_t)obj, PRINT_MAP);

	return map && map->info.type == BPF_MAP_TYPE_RINGBUF && map->dev && obj->formats ? map : NULL;
}

int gpgpu_object_lines(struct gpgpu_object *obj, gpgpu_line_fn fn, void *opaque, int64_t timeout_ns)
{
	struct reading reading = { obj, fn, opaque };
	struct gpgpu_map *map = print_map(obj);

	return map ? gpgpu_map_read(map, one_record, &reading, timeout_ns) : 0;
}

uint64_t gpgpu_object_lines_dropped(const struct gpgpu_object *obj)
{
	struct gpgpu_map *map = print_map(obj);

	return map ? map->dropped : 0;
}
