/* SPDX-License-Identifier: BSD-3-Clause */
/* object.h - an object file of kernels.c as an image, such as gpgpu-jit makes them. */
#ifndef TESTS_AMDGPU_OBJECT_H
#define TESTS_AMDGPU_OBJECT_H

#include "jit/jit.h"

/*
 * object_load() - the kernel descriptor, then the code, in @image; object_free() - what was allocated for it. Ends the
 * process where the file is not one.
 */
void object_load(const char *path, struct gp_image *image);
void object_free(struct gp_image *image);

#endif
