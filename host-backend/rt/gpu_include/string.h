/* SPDX-License-Identifier: BSD-3-Clause */
/* string.h - for a GPU, which has no C library: what the compiler expands itself. */
#ifndef GPGPU_RT_GPU_STRING_H
#define GPGPU_RT_GPU_STRING_H

#include <stddef.h>

#define memcpy	__builtin_memcpy
#define memmove __builtin_memmove
#define memset	__builtin_memset

#endif
