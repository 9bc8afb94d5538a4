/* SPDX-License-Identifier: BSD-3-Clause */
/* listing.h - an image for an AMD GPU as text, by LLVM. */
#ifndef TESTS_AMDGPU_LISTING_H
#define TESTS_AMDGPU_LISTING_H

#include "amdgpu/generations.h"
#include "jit/jit.h"

struct listing_line {
	uint32_t at; /* byte offset in the image */
	char text[120]; /* "s_load_dwordx2 s[0:1], s[4:5], 0x0", or "?" for what is no instruction */
};

/* listing_make() - the image's code, up to what fills it up behind its end. Return: to be freed; @count: out. */
struct listing_line *listing_make(const struct gp_image *image, const struct gp_generation *gen,
				  size_t *count);

#endif
