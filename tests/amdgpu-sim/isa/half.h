/* SPDX-License-Identifier: BSD-3-Clause */
/* half.h - half precision for the packed instructions. */
#ifndef AMDGPU_SIM_HALF_H
#define AMDGPU_SIM_HALF_H

#include "internal.h"
#include "float.h"

uint32_t isa_minmax16(const struct wave *w, uint32_t a, uint32_t b, bool max);
uint32_t isa_fma16(const struct wave *w, uint32_t a, uint32_t b, uint32_t c);

#endif
