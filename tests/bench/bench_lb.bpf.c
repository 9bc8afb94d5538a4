// SPDX-License-Identifier: BSD-3-Clause
/* bench_lb - xdp_lb of the examples, made to be run over and over on one packet (again.h). */
#define AGAIN_WORDS 8
#include "again.h"
#define balancer(ctx) AGAIN_ENTRY(ctx)
#include "xdp_lb.bpf.c"
#include "again.h"
