/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels.cpu.c - the functions of kernels.h on the CPU, as a table. */
#include "kernels_cpu.h"

#define X(name, type, expression)                  \
	static u64 ref_##name(u64 a, u64 b, u64 c) \
	{                                          \
		(void)b, (void)c;                  \
		return (u64)(expression);          \
	}
#include "kernels.inc"
#undef X

#define X(name, type, expression) { "k_" #name, #type[0], ref_##name },
const struct reference references[] = {
#include "kernels.inc"
};
#undef X

const unsigned int reference_count = sizeof(references) / sizeof(references[0]);
