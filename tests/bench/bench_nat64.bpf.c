// SPDX-License-Identifier: BSD-3-Clause
/* bench_nat64 - xdp_nat64 of the examples, made to be run over and over on one packet (again.h). */
#define AGAIN_WORDS 14
#include "again.h"
#define nat64(ctx) AGAIN_ENTRY(ctx)
#include "xdp_nat64.bpf.c"
#include "again.h"
