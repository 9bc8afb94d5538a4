/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib_test.h - what the files of lib_test share: the device under test, counting, and what the test cannot do without.
 */
#ifndef LIB_TEST_H
#define LIB_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "gpgpu.h"

extern struct gpgpu_device *dev;
extern struct gpgpu_caps caps;
extern const char *folder; /* with the objects */

/* Counts a case. Return: @good. */
bool ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A case: a call returned @want, and the library's message has @message in it. */
void is_error(int got, int want, const char *message, const char *what);

struct gpgpu_object *load(const char *name);
void *make_buffer(uint64_t size, struct gpgpu_buffer **buf);

/* Waits for a job and lets go of it. A pointer, since nothing says which argument is evaluated first. */
int finish(int submitted, struct gpgpu_job **job);
bool all_bytes(const void *p, size_t n, uint8_t value);

/* misuse.c */
void test_misuse(void);

#endif
