/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h - finding the row of an instruction and what it does. */
#ifndef AMDGPU_SIM_ROWS_H
#define AMDGPU_SIM_ROWS_H

#include "internal.h"

/* isa_row() - Return: the row of opcode @op in encoding @enc (enum enc), or NULL. Any thread. */
const struct row *isa_row(enum sim_gfx gfx, unsigned int enc, unsigned int op);

#endif
