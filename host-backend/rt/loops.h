/* SPDX-License-Identifier: BSD-3-Clause */
/* loops.h - what the loops (loops.c) and the kernels (kernels.c) do alike around a program. */
#ifndef GPGPU_RT_LOOPS_H
#define GPGPU_RT_LOOPS_H

#include <linux/bpf.h>
#include "mem.h"
#include "rt.h"

/* gp_put_place() - where the packet is. */
GP_ALWAYS void gp_put_place(const struct gp_lane *lane, struct gp_packet_out *out)
{
	out->data_off = lane->data_off;
	out->data_len = lane->data_end - lane->data_off;
	out->meta_len = (uint16_t)(lane->data_off - lane->meta_off);
}

/* gp_put_end() - how its program ended: with a verdict below GP_VERDICT_END, or a fault. */
GP_ALWAYS void gp_put_end(const struct gp_lane *lane, struct gp_packet_out *out, uint32_t end)
{
	uint32_t fault = end < GP_VERDICT_END ? 0 : end, verdict = fault ? XDP_ABORTED : end;

	out->verdict = verdict;
	out->egress_port = verdict == XDP_REDIRECT ? lane->egress_port : 0;
	out->fault = (uint16_t)gp_fault_reason(fault);
	out->fault_insn = gp_fault_insn(fault);
	if (gp_unlikely(fault == gp_fault(GP_FAULT_TAIL, 0))) {
		out->egress_port = lane->tail_map;
		out->fault_insn = lane->tail_index;
	}
}

GP_ALWAYS void gp_end_packet(struct gp_lane *lane, struct gp_packet_out *out, int64_t ret)
{
	uint32_t verdict = (uint32_t)ret > XDP_REDIRECT ? XDP_ABORTED : (uint32_t)ret;

	gp_put_place(lane, out);
	gp_put_end(lane, out, gp_unlikely(lane->fault) ? lane->fault : verdict);
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
