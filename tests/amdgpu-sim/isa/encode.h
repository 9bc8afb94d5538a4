/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.h - instructions with drawn operands, for tests that need many of each kind. */
#ifndef AMDGPU_SIM_ENCODE_H
#define AMDGPU_SIM_ENCODE_H

#include "internal.h"

/* encode_row() - @row as words, its fields drawn from *@seed. Return: words (a literal is counted). */
unsigned int encode_row(const struct row *row, enum sim_gfx gfx, uint64_t *seed, uint32_t words[3]);

#endif
