/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hunt.h - whether bytes that a guest can see hold an address of this process.
 */
#ifndef TESTS_BPF_HUNT_H
#define TESTS_BPF_HUNT_H

#include <stddef.h>
#include <stdint.h>

/*
 * hunt() - look for eight bytes, at any alignment, that are an address in some named mapping of this process
 * (code, heap, stack), or in what the caller mapped for a program, which it says by hunt_also().
 * @at: where to begin; out: where one is, if there is one
 *
 * Return: the address, or 0. It may be data that looks like one: bytes of floats do, 0x00007f7fffff and what follows,
 * where a library happens to lie there. The list of mappings is read once; later ones are those of hunt_also().
 */
uint64_t hunt(const uint8_t *bytes, size_t size, size_t *at);

/* hunt_also() - a mapping that was made after the first call. hunt_forget() - all of those. */
void hunt_also(const void *base, size_t size);
void hunt_forget(void);

#endif
