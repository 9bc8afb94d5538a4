/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels.cpu.c - the functions of kernels.h on the CPU, as a table. */
#include "kernels_cpu.h"

#define FUNCTION(name, type, expression)           \
	static u64 ref_##name(u64 a, u64 b, u64 c) \
	{                                          \
		(void)b, (void)c;                  \
		return (u64)(expression);          \
	}
KERNELS(FUNCTION)

#define ROW(name, type, expression) { "k_" #name, #type[0], ref_##name },
const struct reference references[] = { KERNELS(ROW) };
const unsigned int reference_count = sizeof(references) / sizeof(references[0]);
