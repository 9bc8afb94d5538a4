/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels_cpu.h - what kernels.cpu.c offers. */
#ifndef AMDGPU_SIM_KERNELS_CPU_H
#define AMDGPU_SIM_KERNELS_CPU_H

#include "kernels.h"

struct reference {
	const char *kernel;
	char type;
	u64 (*run)(u64 a, u64 b, u64 c);
};

extern const struct reference references[];
extern const unsigned int reference_count;

#endif
