// SPDX-License-Identifier: BSD-3-Clause
/*
 * run_element.c - the numbers that buffers hold, as text and as bytes.
 *
 * Bytes are moved through memcpy(), since a buffer's elements may lie anywhere; this machine is little endian as the
 * device is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "tool.h"

static const struct element elements[] = {
	{ "u8", 1, false, false },  { "s8", 1, true, false },	{ "u16", 2, false, false },
	{ "s16", 2, true, false },  { "u32", 4, false, false }, { "s32", 4, true, false },
	{ "u64", 8, false, false }, { "s64", 8, true, false },	{ "f32", 4, true, true },
	{ "f64", 8, true, true },
};

const struct element *element_find(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
		if (strlen(elements[i].name) == length && !strncmp(elements[i].name, name, length))
			return &elements[i];
	}
	return NULL;
}

const struct element *element_of(uint32_t size, bool is_signed, bool is_float)
{
	for (size_t i = 0; i < ARRAY_SIZE(elements); i++) {
		if (elements[i].size == size && elements[i].is_float == is_float &&
		    (is_float || elements[i].is_signed == is_signed))
			return &elements[i];
	}
	return NULL;
}

const struct element *element_prefix(const char **text, const struct element *otherwise)
{
	const char *colon = strchr(*text, ':');
	const struct element *type = colon ? element_find(*text, (size_t)(colon - *text)) : NULL;

	if (!type)
		return otherwise;
	*text = colon + 1;
	return type;
}

static void put_integer(const char *where, const struct element *type, const char *text, void *at)
{
	unsigned bits = type->size * 8;
	uint64_t max = type->is_signed ? (1ull << (bits - 1)) - 1
		       : bits == 64    ? UINT64_MAX
				       : (1ull << bits) - 1;
	bool negative = text[0] == '-';
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text + negative, &end, 0);
	if (end == text + negative || *end || errno || text[negative] == '-' || text[negative] == '+')
		die("%s: '%s' is not an integer", where, text);
	if (negative ? !type->is_signed || n > max + 1 : n > max)
		die("%s: %s does not fit type %s", where, text, type->name);
	if (negative)
		n = 0 - n;
	memcpy(at, &n, type->size);
}

void element_parse(const char *where, const struct element *type, const char *text, size_t length, void *at)
{
	char copy[64], *end;
	double d;
	float f;

	if (!length || length >= sizeof(copy))
		die("%s: '%.*s' is not a number", where, (int)(length < 64 ? length : 64), text);
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (!type->is_float) {
		put_integer(where, type, copy, at);
		return;
	}
	/* Each in its own precision, so that nothing is rounded twice. */
	f = strtof(copy, &end);
	d = strtod(copy, &end);
	if (end == copy || *end)
		die("%s: '%s' is not a number", where, copy);
	memcpy(at, type->size == 8 ? (void *)&d : (void *)&f, type->size);
}

const char *element_print(const struct element *type, const void *at, char buffer[32])
{
	uint64_t u = 0;
	double d;
	float f;

	memcpy(&u, at, type->size);
	if (type->is_float && type->size == 4) {
		memcpy(&f, at, sizeof(f));
		snprintf(buffer, 32, "%.9g", (double)f);
	} else if (type->is_float) {
		memcpy(&d, at, sizeof(d));
		snprintf(buffer, 32, "%.17g", d);
	} else if (type->is_signed) {
		unsigned shift = 64 - type->size * 8;

		snprintf(buffer, 32, "%" PRId64, (int64_t)(u << shift) >> shift);
	} else {
		snprintf(buffer, 32, "%" PRIu64, u);
	}
	return buffer;
}

double element_value(const struct element *type, const void *at)
{
	char text[32];

	return strtod(element_print(type, at, text), NULL);
}

void element_store(const struct element *type, void *at, double value)
{
	uint64_t u;
	float f = (float)value;

	if (type->is_float) {
		memcpy(at, type->size == 8 ? (void *)&value : (void *)&f, type->size);
		return;
	}
	u = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
	memcpy(at, &u, type->size);
}
