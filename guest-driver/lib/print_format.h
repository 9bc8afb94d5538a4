/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * print_format.h - formats of printf() in kernels: which there are. For the library, which renders them, and for gpgpu-cc, which
 * refuses the others with their lines.
 *
 * An object has its formats in the section PRINT_SECTION: PRINT_MAGIC, and then one after the other formats (a byte
 * PRINT_FORMAT, the text, a NUL) and strings (PRINT_STRING, likewise). A record in the ring buffer PRINT_MAP says where
 * in the section its format begins.
 */
#ifndef GPGPU_PRINT_FORMAT_H
#define GPGPU_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRINT_SECTION  ".gpgpu.printf"
#define PRINT_MAP      "gpgpu_printf"
#define PRINT_MAGIC    "gpgpu printf 1" /* with its NUL */
#define PRINT_FORMAT   'F'
#define PRINT_STRING   'S'
#define PRINT_MAX_ARGS 12 /* as bpf_trace_vprintk() */
#define PRINT_MAX_SPEC 48 /* bytes of a conversion, without its length and letter */

/* A record: this, and `count` words. Strings are where they begin in the section. */
struct print_record {
	uint32_t format, count;
	uint32_t item[3]; /* global id */
	uint32_t reserved;
};

enum print_kind { PRINT_INTEGER, PRINT_DOUBLE, PRINT_TEXT, PRINT_POINTER };

struct print_conversion {
	enum print_kind kind;
	char spec[PRINT_MAX_SPEC]; /* "%", flags, width, precision */
	uint8_t bytes; /* of an integer */
	char letter;
};

/*
 * print_next() - the next conversion of a format
 * @format: where to look on; out: behind the conversion
 * @conversion: out
 * @why: out, where there is something else: what is wrong, a constant string
 *
 * Return: 1; 0: there are no more; -1: @why.
 */
int print_next(const char **format, struct print_conversion *conversion, const char **why);

/* print_count() - conversions of a format. Return: -1: one is refused, see @why. */
int print_count(const char *format, const char **why);

#endif
