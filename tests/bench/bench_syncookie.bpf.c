// SPDX-License-Identifier: BSD-3-Clause
/* bench_syncookie - xdp_syncookie of the examples, made to be run over and over on one packet (again.h). */
#define AGAIN_WORDS 10
#define AGAIN_TAIL
#include "again.h"
#define syn_cookie(ctx) AGAIN_ENTRY(ctx)
#include "xdp_syncookie.bpf.c"
#include "again.h"
