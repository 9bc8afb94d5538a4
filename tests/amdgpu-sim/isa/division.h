/* SPDX-License-Identifier: BSD-3-Clause */
/* division.h - the three instructions around a division: scaling, the last step, special cases. */
#ifndef AMDGPU_SIM_DIVISION_H
#define AMDGPU_SIM_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

/* @a: what is scaled, either @den or @num. @scaled: the quotient has to be scaled back. */
uint32_t isa_div_scale32(uint32_t a, uint32_t den, uint32_t num, bool *scaled);
uint64_t isa_div_scale64(uint64_t a, uint64_t den, uint64_t num, bool *scaled);
/* a * b + c, scaled by a power of two if @scaled, rounded once. */
uint32_t isa_div_fmas32(uint32_t a, uint32_t b, uint32_t c, bool scaled);
uint64_t isa_div_fmas64(uint64_t a, uint64_t b, uint64_t c, bool scaled);
/* @quotient unless @den and @num are special. */
uint32_t isa_div_fixup32(uint32_t quotient, uint32_t den, uint32_t num);
uint64_t isa_div_fixup64(uint64_t quotient, uint64_t den, uint64_t num);

#endif
