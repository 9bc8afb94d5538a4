/* SPDX-License-Identifier: BSD-3-Clause */
/* loops.h - what the loops (loops.c) and the kernels (kernels.c) do alike around a program. */
#ifndef GPGPU_RT_LOOPS_H
#define GPGPU_RT_LOOPS_H

#include <linux/bpf.h>
#include "mem.h"
#include "rt.h"

GP_ALWAYS void gp_end_packet(struct gp_lane *lane, struct gp_packet_out *out, int64_t ret)
{
	uint32_t verdict = (uint32_t)ret;

	if (gp_unlikely(lane->fault || verdict > XDP_REDIRECT))
		verdict = XDP_ABORTED;
	out->verdict = verdict;
	out->egress_port = verdict == XDP_REDIRECT ? lane->egress_port : 0;
	out->data_off = lane->data_off;
	out->data_len = lane->data_end - lane->data_off;
	out->meta_len = (uint16_t)(lane->data_off - lane->meta_off);
	out->fault = (uint16_t)lane->fault;
	out->fault_insn = lane->fault_insn;
	if (gp_unlikely(lane->fault == GP_FAULT_TAIL)) {
		out->egress_port = lane->tail_map;
		out->fault_insn = lane->tail_index;
	}
}

/* Where work item @item is in the grid. */
GP_ALWAYS void gp_grid_place(struct gp_lane *at, const struct gp_grid *grid, uint64_t item)
{
	uint64_t row = item / grid->size[0];
	int d;

	at->gid[0] = (uint32_t)(item % grid->size[0]);
	at->gid[1] = (uint32_t)(row % grid->size[1]);
	at->gid[2] = (uint32_t)(row / grid->size[1]);
	for (d = 0; d < 3; d++) {
		at->lid[d] = at->gid[d] % grid->group[d];
		at->grp[d] = at->gid[d] / grid->group[d];
	}
}

#endif
