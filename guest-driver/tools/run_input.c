// SPDX-License-Identifier: BSD-3-Clause
/*
 * run_input.c - what buffers begin with: files, lists of numbers, patterns.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "tool.h"

#define MAX_PARTS 3

static void *reserve(const char *where, const struct element *type, uint64_t count, uint64_t *size)
{
	void *p;

	if (!type)
		die("%s: what its elements are is not known: give TYPE: (u8 to u64, s8 to s64, f32, f64)",
		    where);
	if (!count)
		die("%s: a buffer of 0 bytes", where);
	if (count > SIZE_MAX / 16 || !(p = calloc((size_t)count, type->size)))
		die("%s: no memory for %llu elements", where, (unsigned long long)count);
	*size = count * type->size;
	return p;
}

static bool is_blank(char c)
{
	return isspace((unsigned char)c) || c == ',' || c == ';';
}

/* Numbers with blanks, commas, semicolons or ends of lines between them; # begins a comment. */
static void *read_list(const char *where, const struct element *type, const char *text, size_t length,
		       uint64_t *size)
{
	const char *end = text + length;
	uint64_t count = 0;
	uint8_t *bytes = NULL;

	/* Twice: to count, and to read. */
	for (int round = 0; round < 2; round++) {
		uint64_t n = 0;

		for (const char *p = text; p < end;) {
			const char *start = p;

			if (*p == '#') {
				while (p < end && *p != '\n')
					p++;
				continue;
			}
			while (p < end && !is_blank(*p) && *p != '#')
				p++;
			if (p == start) {
				p++;
				continue;
			}
			if (bytes)
				element_parse(where, type, start, (size_t)(p - start),
					      bytes + n * type->size);
			n++;
		}
		count = n;
		if (!bytes)
			bytes = reserve(where, type, count, size);
	}
	return bytes;
}

static uint64_t next_random(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Its numbers behind the pattern's name: "name:1:2". Return: how many. */
static int read_parts(const char *where, const struct element *type, const char *text,
		      uint8_t parts[MAX_PARTS][8])
{
	int n = 0;

	while (*text == ':') {
		size_t length = strcspn(++text, ":");

		if (n == MAX_PARTS)
			die("%s: the pattern has too many numbers", where);
		memset(parts[n], 0, sizeof(parts[n]));
		element_parse(where, type, text, length, parts[n++]);
		text += length;
	}
	return n;
}

static uint64_t integer_of(const struct element *type, const uint8_t *at)
{
	uint64_t u = 0;
	unsigned shift = 64 - type->size * 8;

	memcpy(&u, at, type->size);
	return type->is_signed ? (uint64_t)((int64_t)(u << shift) >> shift) : u;
}

static void make_ramp(const struct element *type, uint8_t *bytes, uint64_t count, const uint8_t *start,
		      const uint8_t *step)
{
	for (uint64_t i = 0; i < count; i++) {
		uint8_t *at = bytes + i * type->size;
		uint64_t u = integer_of(type, start) + i * integer_of(type, step);

		if (type->is_float)
			element_store(type, at,
				      element_value(type, start) + (double)i * element_value(type, step));
		else /* beyond the type's largest it begins anew */
			memcpy(at, &u, type->size);
	}
}

/* In the type itself: as doubles large integers are the same that are not. */
static bool is_over(const struct element *type, const uint8_t *low, const uint8_t *high)
{
	if (type->is_float)
		return !(element_value(type, low) <= element_value(type, high));
	if (type->is_signed)
		return (int64_t)integer_of(type, low) > (int64_t)integer_of(type, high);
	return integer_of(type, low) > integer_of(type, high);
}

static void make_random(const char *where, const struct element *type, uint8_t *bytes, uint64_t count,
			const uint8_t *low, const uint8_t *high, uint64_t seed)
{
	double from = element_value(type, low), to = element_value(type, high);
	uint64_t range = integer_of(type, high) - integer_of(type, low);

	if (is_over(type, low, high))
		die("%s: the lowest of random numbers is over the highest", where);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = next_random(&seed), u = integer_of(type, low);
		uint8_t *at = bytes + i * type->size;

		if (type->is_float) {
			element_store(type, at, from + (double)(r >> 11) * 0x1p-53 * (to - from));
			continue;
		}
		u += range == UINT64_MAX ? r : r % (range + 1);
		memcpy(at, &u, type->size);
	}
}

/* The least and the largest that random numbers have where nothing is said: 0 to 1, or all there are. */
static void whole_range(const struct element *type, uint8_t low[8], uint8_t high[8])
{
	unsigned bits = type->size * 8;
	uint64_t least = type->is_signed ? 1ull << (bits - 1) : 0, most = type->is_signed ? ~least : ~0ull;

	if (type->is_float) {
		element_store(type, low, 0);
		element_store(type, high, 1);
		return;
	}
	memcpy(low, &least, type->size);
	memcpy(high, &most, type->size);
}

static void *make_pattern(const char *where, const struct element *type, uint64_t count, const char *text,
			  uint64_t seed, uint64_t *size)
{
	size_t name = strcspn(text, ":");
	uint8_t parts[MAX_PARTS][8] = { { 0 } }, *bytes = reserve(where, type, count, size);
	int n;

	if (name == 4 && !strncmp(text, "ramp", 4)) {
		n = read_parts(where, type, text + name, parts);
		if (n > 2)
			die("%s: ramp[:START[:STEP]]", where);
		if (n < 2)
			element_store(type, parts[1], 1);
		make_ramp(type, bytes, count, parts[0], parts[1]);
	} else if (name == 6 && !strncmp(text, "random", 6)) {
		n = read_parts(where, type, text + name, parts);
		if (n != 0 && n != 2)
			die("%s: random[:LOWEST:HIGHEST]", where);
		if (!n)
			whole_range(type, parts[0], parts[1]);
		make_random(where, type, bytes, count, parts[0], parts[1], seed);
	} else if (isalpha((unsigned char)text[0]) && strncmp(text, "inf", 3) && strncmp(text, "nan", 3)) {
		die("%s: '%s' is no pattern: a number, ramp[:START[:STEP]] or random[:LOWEST:HIGHEST]", where,
		    text);
	} else {
		element_parse(where, type, text, strlen(text), parts[0]);
		make_ramp(type, bytes, count, parts[0], parts[1]);
		if (type->is_float) /* an infinity or NaN is not to be added to */
			for (uint64_t i = 0; i < count; i++)
				memcpy(bytes + i * type->size, parts[0], type->size);
	}
	return bytes;
}

static uint64_t parse_count(const char *where, const char *text, size_t length)
{
	char copy[32];

	if (length >= sizeof(copy))
		die("%s: '%s' is no count", where, text);
	memcpy(copy, text, length);
	copy[length] = '\0';
	return parse_number(copy, 1, UINT64_MAX, where);
}

void *input_make(const char *where, const struct element *type, const char *text, uint64_t seed,
		 uint64_t *size)
{
	const char *star;
	size_t length;
	void *bytes;

	if (text[0] == '+') {
		*size = parse_number(text + 1, 1, UINT64_MAX, where);
		return NULL;
	}
	if (text[0] == '@') {
		bytes = read_whole(text + 1, &length);
		if (!length)
			die("%s: %s: is empty", where, text + 1);
		*size = length;
		return bytes;
	}
	type = element_prefix(&text, type);
	if (!strncmp(text, "text@", 5)) {
		char *file = read_whole(text + 5, &length);

		bytes = read_list(where, type, file, length, size);
		free(file);
		return bytes;
	}
	star = strchr(text, '*');
	if (star)
		return make_pattern(where, type, parse_count(where, text, (size_t)(star - text)), star + 1,
				    seed, size);
	return read_list(where, type, text, strlen(text), size);
}
