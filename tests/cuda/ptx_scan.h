/* SPDX-License-Identifier: BSD-3-Clause */
/* ptx_scan.h - what PTX says of itself, for tests. */
#ifndef TESTS_CUDA_PTX_SCAN_H
#define TESTS_CUDA_PTX_SCAN_H

#include "jit/jit.h"

struct ptx_scan {
	unsigned int version; /* times 10 */
	char target[32]; /* all of the line's: "sm_90" */
	unsigned int kernels, functions; /* .entry; .func with a body */
	unsigned int undefined; /* functions that are called and have no body */
	unsigned int local_bytes; /* of stack that LLVM laid out, all functions */
	unsigned int global; /* accesses that say that they go to global memory, and may change what is there */
	unsigned int generic; /* accesses that do not say which memory they go to */
	unsigned int
		scopeless; /* atomic operations, fences and ordered accesses at no scope or at another than the card's */
	unsigned int system; /* loads past all caches: of the stop word */
	unsigned int inexact; /* floating point that may be fused, is approximate or drops denormals */
	unsigned int exact; /* floating point that is rounded as IEEE 754 has it */
	unsigned int bytes; /* accesses to one byte of global memory */
	unsigned int loops; /* branches back */
	char first[5][96]; /* the first line of each: generic, scopeless, inexact, undefined, local; or "" */
};

enum { PTX_GENERIC, PTX_SCOPELESS, PTX_INEXACT, PTX_UNDEFINED, PTX_LOCAL };

/* ptx_scan() - read an image, which must be text with a NUL at its end. */
void ptx_scan(const struct gp_image *image, struct ptx_scan *scan);

#endif
