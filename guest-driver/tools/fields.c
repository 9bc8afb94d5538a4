// SPDX-License-Identifier: BSD-3-Clause
/*
 * fields.c - keys and values of maps as text.
 *
 * A string of bytes is written as fields with blanks between them, each a type, a colon and what it holds; one
 * row of a table per type. What is shorter than the key or value ends in zeros. Two forms make many entries from
 * one line: a number may be a range (0..9), which steps, or a list ({1,2,3}), of which each step takes the next.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

enum field_kind { INTEGER, INTEGER_BE, IPV4, IPV6, MAC, HEX, ZERO, WHOLE_FILE };

/* clang-format off */
static const struct field_type {
	const char *name;
	enum field_kind kind;
	size_t size;			/* bytes; 0: as its text says */
} field_types[] = {
	{ "u8:",		INTEGER,	1 },
	{ "u16:",	INTEGER,	2 },
	{ "u32:",	INTEGER,	4 },
	{ "u64:",	INTEGER,	8 },
	{ "be16:",	INTEGER_BE,	2 },
	{ "be32:",	INTEGER_BE,	4 },
	{ "be64:",	INTEGER_BE,	8 },
	{ "ip4:",	IPV4,		4 },
	{ "ip6:",	IPV6,		16 },
	{ "mac:",	MAC,		6 },
	{ "hex:",	HEX,		0 },
	{ "zero:",	ZERO,		0 },
	{ "@",		WHOLE_FILE,	0 },
};
/* clang-format on */

static const struct field_type *type_of(const char *where, const char *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_types); i++) {
		if (!strncmp(field, field_types[i].name, strlen(field_types[i].name)))
			return &field_types[i];
	}
	die("%s: '%s' is no field: u8, u16, u32, u64, be16, be32, be64, ip4, ip6, mac, hex, zero or @FILE",
	    where, field);
}

static uint64_t integer(const char *where, const char *text, const char **end)
{
	bool negative = *text == '-';
	uint64_t n;
	char *e;

	errno = 0;
	n = strtoull(text + negative, &e, 0);
	if (e == text + negative || errno || !isdigit((unsigned char)text[negative]))
		die("%s: '%s' is not a number", where, text);
	*end = e;
	return negative ? -n : n;
}

/* A number, the step of a range, or the element of a list. */
static uint64_t number(const char *where, const char *text, uint64_t index)
{
	const char *p = text, *end;
	uint64_t n, count = 1, last, chosen = 0;

	if (*p != '{') {
		n = integer(where, p, &end);
		if (!strncmp(end, "..", 2)) {
			last = integer(where, end + 2, &end);
			/* Steps beyond this range's own start again, for a longer one beside it. */
			n += last == n - 1 ? 0 : index % (last - n + 1);
		}
		if (*end)
			die("%s: '%s' is not a number", where, text);
		return n;
	}
	for (const char *q = p; *q; q++)
		count += *q == ',';
	index %= count;
	for (uint64_t i = 0; i < count; i++) {
		n = integer(where, p + 1, &end);
		if (i == index)
			chosen = n;
		p = end;
		if (*p != (i + 1 < count ? ',' : '}'))
			die("%s: '%s' is not a list", where, text);
	}
	if (p[1])
		die("%s: '%s' is not a list", where, text);
	return chosen;
}

static size_t put_integer(const char *where, const struct field_type *t, const char *text, uint64_t index,
			  uint8_t out[8])
{
	uint64_t n = number(where, text, index);
	int64_t high = t->size == 8 ? 0 : (int64_t)n >> (8 * t->size);

	if (high && (high != -1 || !((n >> (8 * t->size - 1)) & 1)))
		die("%s: %s does not fit into %zu bytes", where, text, t->size);
	n = t->kind == INTEGER_BE ? htobe64(n << (64 - 8 * t->size)) : htole64(n);
	memcpy(out, &n, t->size);
	return t->size;
}

static size_t put_hex(const char *where, const char *text, uint8_t *out, size_t room)
{
	size_t n = 0;

	for (; *text; text += 2, n++) {
		unsigned byte;

		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
		    sscanf(text, "%2x", &byte) != 1)
			die("%s: not pairs of hexadecimal digits: %s", where, text);
		if (n < room)
			out[n] = (uint8_t)byte;
	}
	return n;
}

static size_t put_file(const char *path, uint8_t *out, size_t room)
{
	size_t n;
	uint8_t *bytes = read_whole(path, &n);

	memcpy(out, bytes, n < room ? n : room);
	free(bytes);
	return n;
}

/* Return: bytes that the field has; not more than @room of them are written. */
static size_t put_field(const char *where, const char *field, uint64_t index, uint8_t *out, size_t room)
{
	const struct field_type *t = type_of(where, field);
	const char *text = field + strlen(t->name);
	uint8_t small[16];
	size_t n = t->size;

	switch (t->kind) {
	case INTEGER:
	case INTEGER_BE:
		put_integer(where, t, text, index, small);
		break;
	case IPV4:
		if (inet_pton(AF_INET, text, small) != 1)
			die("%s: '%s' is not an IPv4 address", where, text);
		break;
	case IPV6:
		if (inet_pton(AF_INET6, text, small) != 1)
			die("%s: '%s' is not an IPv6 address", where, text);
		break;
	case MAC: {
		int used = 0;

		if (sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &small[0], &small[1], &small[2],
			   &small[3], &small[4], &small[5], &used) != 6 ||
		    text[used])
			die("%s: '%s' is not a MAC address", where, text);
		break;
	}
	case HEX:
		return put_hex(where, text, out, room);
	case ZERO:
		return parse_number(text, 0, 65536, where); /* the output is zero already */
	case WHOLE_FILE:
		return put_file(text, out, room);
	}
	memcpy(out, small, n < room ? n : room);
	return n;
}

void fields_parse(const char *where, const char *text, uint8_t *out, size_t size, uint64_t index)
{
	char *copy = xstrdup(text), *save = NULL;
	size_t at = 0;

	memset(out, 0, size);
	for (char *f = strtok_r(copy, " \t\r\n", &save); f; f = strtok_r(NULL, " \t\r\n", &save)) {
		at += put_field(where, f, index, out + at, size - at);
		if (at > size)
			die("%s: '%s' has more than %zu bytes", where, text, size);
	}
	free(copy);
}

uint64_t fields_steps(const char *where, const char *text)
{
	char *copy = xstrdup(text), *save = NULL;
	uint64_t steps = 1;

	for (char *f = strtok_r(copy, " \t\r\n", &save); f; f = strtok_r(NULL, " \t\r\n", &save)) {
		const struct field_type *t = type_of(where, f);
		const char *range = strstr(f, ".."), *end;
		uint64_t first, last;

		if (!range || (t->kind != INTEGER && t->kind != INTEGER_BE))
			continue;
		first = integer(where, f + strlen(t->name), &end);
		if (end != range)
			die("%s: '%s' is not a range", where, f);
		last = integer(where, range + 2, &end);
		if (*end || last < first || last - first >= 1u << 24)
			die("%s: '%s' is not a range", where, f);
		if (last - first + 1 > steps)
			steps = last - first + 1;
	}
	free(copy);
	return steps;
}
