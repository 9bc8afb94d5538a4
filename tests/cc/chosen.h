/* SPDX-License-Identifier: BSD-3-Clause */
/* chosen.h - the object that a test of gpgpu-cc is about, and the targets that it runs on. */
#ifndef TESTS_CC_CHOSEN_H
#define TESTS_CC_CHOSEN_H

#include "gpgpu.h"
#include "target.h"

#define MAX_TARGETS 8

extern struct gpgpu_object *object;
extern const struct target *chosen[MAX_TARGETS];
extern int num_chosen;

/* chosen_read() - "PROGRAM OBJECT [TARGET...]"; without targets jit and the interpreter. Return: false after a message. */
bool chosen_read(int argc, char **argv);

/* chosen_open(), chosen_close() - the targets, as a fixture of Check's. */
void chosen_open(void);
void chosen_close(void);

#endif
