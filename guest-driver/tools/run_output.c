// SPDX-License-Identifier: BSD-3-Clause
/*
 * run_output.c - buffers as files: as they are, as text, as tables, as pictures.
 *
 * A picture of bytes shows them as they are; other numbers are spread evenly between the smallest and the largest of them, or between
 * the two that were given, which are black and white.
 */
#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "tool.h"

struct output_format {
	const char *name;
	uint32_t pixel; /* bytes of one, of a picture */
	void (*write)(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		      uint64_t width, FILE *to);
};

static void write_raw(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		      uint64_t width, FILE *to)
{
	fwrite(bytes, 1, (size_t)count, to);
}

static void write_rows(const struct output *o, const uint8_t *bytes, uint64_t count, uint64_t width,
		       char between, FILE *to)
{
	char text[32];

	for (uint64_t i = 0; i < count; i++) {
		fputs(element_print(o->type, bytes + i * o->type->size, text), to);
		fputc((i + 1) % width && i + 1 < count ? between : '\n', to);
	}
}

static void write_text(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		       uint64_t width, FILE *to)
{
	write_rows(o, bytes, count, o->width ? o->width : 1, ' ', to);
}

static void write_csv(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		      uint64_t width, FILE *to)
{
	write_rows(o, bytes, count, width, ',', to);
}

static void find_range(const struct output *o, const uint8_t *bytes, uint64_t count, double *low,
		       double *high)
{
	*low = o->low;
	*high = o->high;
	if (o->has_range)
		return;
	*low = INFINITY;
	*high = -INFINITY;
	for (uint64_t i = 0; i < count; i++) {
		double v = element_value(o->type, bytes + i * o->type->size);

		if (!isfinite(v))
			continue;
		*low = v < *low ? v : *low;
		*high = v > *high ? v : *high;
	}
}

static uint8_t *make_grey(const struct output *o, const uint8_t *bytes, uint64_t count)
{
	uint8_t *grey = xcalloc((size_t)count, 1);
	double low, high;

	if (o->type->size == 1 && !o->type->is_signed && !o->has_range) {
		memcpy(grey, bytes, (size_t)count);
		return grey;
	}
	find_range(o, bytes, count, &low, &high);
	for (uint64_t i = 0; i < count; i++) {
		double v = (element_value(o->type, bytes + i * o->type->size) - low) / (high - low);

		/* Also what is no number, or where all are the same, is black. */
		grey[i] = v > 0 ? (uint8_t)((v < 1 ? v : 1) * 255 + 0.5) : 0;
	}
	return grey;
}

static void write_pgm(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		      uint64_t width, FILE *to)
{
	uint8_t *grey = make_grey(o, bytes, count);

	fprintf(to, "P5\n%llu %llu\n255\n", (unsigned long long)width, (unsigned long long)(count / width));
	fwrite(grey, 1, (size_t)count, to);
	free(grey);
}

static void write_png(const char *where, const struct output *o, const uint8_t *bytes, uint64_t count,
		      uint64_t width, FILE *to)
{
	uint32_t pixel = o->format->pixel;
	png_image image = { .version = PNG_IMAGE_VERSION,
			    .width = (png_uint_32)width,
			    .height = (png_uint_32)(count / pixel / width),
			    .format = pixel == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB };
	uint8_t *grey = pixel == 1 ? make_grey(o, bytes, count) : NULL;

	if (!png_image_write_to_stdio(&image, to, 0, grey ? grey : bytes, 0, NULL))
		die("%s: %s: %s", where, o->path, image.message);
	free(grey);
}

static const struct output_format formats[] = {
	{ "raw", 0, write_raw }, { "text", 0, write_text }, { "csv", 0, write_csv },
	{ "pgm", 1, write_pgm }, { "png", 1, write_png },   { "png-rgb", 3, write_png },
};

/* Reads ":WIDTH" and ":LOW:HIGH" up to the @, or dies. */
static void parse_numbers(const char *where, struct output *o, const char *text, const char *end)
{
	const struct element *f64 = element_find("f64", 3), *u64 = element_find("u64", 3);
	double numbers[2] = { 0 };
	int n = 0;

	while (text < end) {
		const char *next = memchr(text + 1, ':', (size_t)(end - text - 1));
		size_t length = (size_t)((next ? next : end) - text - 1);

		if (n == 0)
			element_parse(where, u64, text + 1, length, &o->width);
		else if (n < 3)
			element_parse(where, f64, text + 1, length, &numbers[n - 1]);
		n++;
		text = next ? next : end;
	}
	if ((n != 0 && n != 1 && n != 3) || (n && !o->width) || (n == 3 && o->format->pixel != 1))
		die("%s: a format is FORMAT, FORMAT:WIDTH or, of a grey picture, FORMAT:WIDTH:BLACK:WHITE",
		    where);
	o->has_range = n == 3;
	o->low = numbers[0];
	o->high = numbers[1];
	if (o->has_range && !(o->low < o->high))
		die("%s: black is not below white", where);
}

struct output output_parse(const char *where, const struct element *type, const char *text)
{
	struct output o = { .type = element_prefix(&text, type), .format = &formats[0] };
	const char *at = strchr(text, '@');
	size_t length;

	if (!at || !at[1])
		die("%s: '>%s' is not of the form NAME>[TYPE:][FORMAT]@FILE", where, text);
	o.path = at + 1;
	length = strcspn(text, ":@");
	if (length) {
		o.format = NULL;
		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			if (strlen(formats[i].name) == length && !strncmp(formats[i].name, text, length))
				o.format = &formats[i];
		}
		if (!o.format)
			die("%s: '%.*s' is no format: raw, text, csv, pgm, png or png-rgb", where,
			    (int)length, text);
	}
	parse_numbers(where, &o, text + length, at);
	if (o.format->write != write_raw && !o.type)
		die("%s: what its elements are is not known: write NAME>TYPE:FORMAT@FILE", where);
	if (o.format->pixel == 3 && o.type->size != 1)
		die("%s: a picture in colour is of bytes, not of %s", where, o.type->name);
	return o;
}

void output_write(const char *where, const struct output *o, uint64_t width, const void *bytes, uint64_t size,
		  FILE *to)
{
	uint64_t count = o->format->write == write_raw ? size : size / o->type->size;
	uint32_t pixel = o->format->pixel;

	if (o->width)
		width = o->width;
	if (pixel && (!count || count % pixel || count / pixel % width || width > INT32_MAX ||
		      count / pixel / width > INT32_MAX))
		die("%s: %llu elements make no picture of width %llu: say which, NAME>%s:WIDTH@FILE", where,
		    (unsigned long long)count, (unsigned long long)width, o->format->name);
	o->format->write(where, o, bytes, count, width, to);
	if (ferror(to))
		die("%s: writing failed", o->path);
}
