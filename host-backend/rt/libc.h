/* SPDX-License-Identifier: BSD-3-Clause */
/* libc.h - names of libc.c's functions: the C library's in the bitcode, gp_soft_* natively. */
#ifndef GPGPU_RT_LIBC_H
#define GPGPU_RT_LIBC_H

#include <stddef.h>

#ifdef GP_RT_BITCODE
#define GP_LIBC(name) name
#else
#define GP_LIBC(name) gp_soft_##name
#endif

void *GP_LIBC(memcpy)(void *restrict to, const void *restrict from, size_t n);
void *GP_LIBC(memmove)(void *to, const void *from, size_t n);
void *GP_LIBC(memset)(void *to, int c, size_t n);
int GP_LIBC(memcmp)(const void *a, const void *b, size_t n);

double GP_LIBC(rint)(double x);
double GP_LIBC(trunc)(double x);
double GP_LIBC(floor)(double x);
double GP_LIBC(ceil)(double x);
double GP_LIBC(fma)(double x, double y, double z);
float GP_LIBC(rintf)(float x);
float GP_LIBC(truncf)(float x);
float GP_LIBC(floorf)(float x);
float GP_LIBC(ceilf)(float x);
float GP_LIBC(fmaf)(float x, float y, float z);

#endif
