/* SPDX-License-Identifier: BSD-3-Clause */
/* shape.h - what machine code for an AMD GPU looks like, as far as waiting and ending depend on it. */
#ifndef TESTS_AMDGPU_SHAPE_H
#define TESTS_AMDGPU_SHAPE_H

#include "listing.h"

/* An instruction, and where a branch goes. */
struct shape_step {
	const char *text;
	int target; /* step; -1: it does not branch */
};

/* shape_steps() - a listing as steps. Return: to be freed; as many as lines. */
struct shape_step *shape_steps(const struct gp_image *image, const struct listing_line *lines, size_t count);

/*
 * shape_locks() - whether no lane of a wave that has a lock can be kept from letting go of it by one that waits for it.
 * @locks: out: how many there are.
 *
 * Return: NULL, or what is wrong.
 */
const char *shape_locks(const struct shape_step *steps, int count, int *locks);

/*
 * shape_fuel() - whether some loop ends, for each lane by itself, with what that has left in a vector register.
 *
 * Return: NULL, or what is wrong.
 */
const char *shape_fuel(const struct shape_step *steps, int count);

#endif
