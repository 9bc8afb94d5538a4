/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run.h - what the files of gpgpu run share: numbers as text and as bytes (run_element.c), where a buffer's first contents come
 * from (run_input.c), and how its last are written (run_output.c). None of these three knows a device.
 */
#ifndef GPGPU_TOOL_RUN_H
#define GPGPU_TOOL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A type of number that a buffer may hold, little endian as the device has it. */
struct element {
	const char *name; /* "u8" .. "f64" */
	uint32_t size; /* bytes */
	bool is_signed, is_float;
};

/* Return: the type of that name (@length characters of it), or NULL. */
const struct element *element_find(const char *name, size_t length);

/* Return: the type of that shape, or NULL: no number of ours. */
const struct element *element_of(uint32_t size, bool is_signed, bool is_float);

/* Takes "TYPE:" from the start of @text. Return: the type, or @otherwise where there is none. */
const struct element *element_prefix(const char **text, const struct element *otherwise);

/* Writes the number in @text (@length characters) to @at, or dies: @where starts the message. */
void element_parse(const char *where, const struct element *type, const char *text, size_t length, void *at);

/* The number at @at as text that gives the same number when it is read. Return: @buffer. */
const char *element_print(const struct element *type, const void *at, char buffer[32]);

double element_value(const struct element *type, const void *at);
void element_store(const struct element *type, void *at, double value);

/*
 * input_make() - the bytes that a buffer begins with, or die
 * @where: start of a message
 * @type: what the kernel says its elements are, or NULL
 * @text: "@FILE", "+BYTES", "[TYPE:]text@FILE", "[TYPE:]COUNT*PATTERN" or "[TYPE:]NUMBER,NUMBER..."; gpgpu(1) has the
 *	patterns
 * @seed: of random patterns
 * @size: out: bytes, not 0
 *
 * Return: the bytes, to be freed; NULL: zeros.
 */
void *input_make(const char *where, const struct element *type, const char *text, uint64_t seed,
		 uint64_t *size);

struct output {
	const struct element *type;
	const struct output_format *format;
	uint64_t width; /* elements or pixels of a row; 0: not said */
	double low, high; /* which values are black and white */
	bool has_range;
	const char *path;
};

/*
 * output_parse() - understand "[TYPE:][FORMAT[:WIDTH[:LOW:HIGH]]]@FILE", or die
 * @where: start of a message
 * @type: what the kernel says its elements are, or NULL
 * @text: lives as long as the result
 */
struct output output_parse(const char *where, const struct element *type, const char *text);

/*
 * output_write() - write a buffer's bytes to a stream, or die
 * @width: of a row where none was said
 */
void output_write(const char *where, const struct output *output, uint64_t width, const void *bytes,
		  uint64_t size, FILE *to);

#endif
