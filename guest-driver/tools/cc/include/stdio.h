/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stdio.h - what gpgpu-cc knows of <stdio.h>: printf(), for debugging.
 *
 * The format is a string constant; %s takes string constants. `gpgpu run` shows what was printed on standard error, each
 * line with the number of its work item; programs call gpgpu_object_lines(). What finds no room in the buffer is dropped and
 * counted. Returns 0, or a negative number where it was dropped.
 */
#ifndef GPGPU_CC_STDIO_H
#define GPGPU_CC_STDIO_H

/* A power of two from 4096 on. */
#ifndef GP_PRINTF_BYTES
#define GP_PRINTF_BYTES 65536
#endif

/* The ring buffer, by type 27. */
struct {
	int (*type)[27];
	int (*max_entries)[GP_PRINTF_BYTES];
} gpgpu_printf __attribute__((section(".maps")));

int printf(const char *format, ...) __attribute__((format(printf, 1, 2), nomerge));

#endif
