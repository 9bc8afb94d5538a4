/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mathfn.h - mathematics that does not inline: on bit patterns, and never with the lane (rt.h). A program calls them, and images
 * take them from the library's machine code.
 */
#ifndef GPGPU_RT_MATHFN_H
#define GPGPU_RT_MATHFN_H

#include "twice.h"

uint64_t gp_exp64(uint64_t a);
uint64_t gp_exp264(uint64_t a);
uint64_t gp_log64(uint64_t a);
uint64_t gp_log264(uint64_t a);
uint64_t gp_sin64(uint64_t a);
uint64_t gp_cos64(uint64_t a);
uint64_t gp_pow32(uint64_t a, uint64_t b);
uint64_t gp_pow64(uint64_t a, uint64_t b);
uint64_t gp_fmod64(uint64_t a, uint64_t b);

/* gp_exp2_parts() - 2^(k + t + u), for an integer k, |t| <= 1/2 and a tiny u; rounded once. */
double gp_exp2_parts(double k, double t, double u);

/* gp_log2_twice() - of a positive finite number, within 2^-68 of its size. */
struct gp_twice gp_log2_twice(uint64_t bits);

/*
 * gp_reduce() - x as a number of quarter turns and a rest.
 * @bits: of a finite x of at least 1/2
 * @rest: out: x less the nearest multiple of pi/2, within 2^-64 of its size
 *
 * Return: that multiple, modulo 4.
 */
uint32_t gp_reduce(uint64_t bits, struct gp_twice *rest);

#endif
