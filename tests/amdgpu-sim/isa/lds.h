/* SPDX-License-Identifier: BSD-3-Clause */
/* lds.h - a group's local memory, for DS instructions and for FLAT ones that hit it. */
#ifndef AMDGPU_SIM_LDS_H
#define AMDGPU_SIM_LDS_H

#include "internal.h"

/* Both: false after a fault (outside, misaligned, or never written). @lane: for the report. */
bool isa_lds_read(struct wave *w, uint64_t at, void *to, uint32_t size, int lane);
bool isa_lds_write(struct wave *w, uint64_t at, const void *from, uint32_t size, int lane);

#endif
