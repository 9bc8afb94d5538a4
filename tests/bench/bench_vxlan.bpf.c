// SPDX-License-Identifier: BSD-3-Clause
/* bench_vxlan - xdp_vxlan of the examples, made to be run over and over on one packet (again.h). */
#define AGAIN_WORDS 14
#include "again.h"
#define vxlan_gateway(ctx) AGAIN_ENTRY(ctx)
#include "xdp_vxlan.bpf.c"
#include "again.h"
