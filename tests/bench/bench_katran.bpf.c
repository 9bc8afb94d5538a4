// SPDX-License-Identifier: BSD-3-Clause
/* bench_katran - xdp_katran of the examples, made to be run over and over on one packet (again.h). */
#define AGAIN_WORDS 8
#include "again.h"
#define katran(ctx) AGAIN_ENTRY(ctx)
#include "xdp_katran.bpf.c"
#include "again.h"
