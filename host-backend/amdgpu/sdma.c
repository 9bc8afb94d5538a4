/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sdma.c - the indirect buffer of one copy or fill, for the engine of copies (SDMA).
 *
 * How it works: the clock is written down, the bytes are moved in as many packets as their counts allow, then the clock and
 * the copy's number are written, so that it ends as a launch does (struct gp_stamps). The engine runs its packets one after
 * the other. It has no part in the caches of the compute units: what launches before it wrote is in memory by the driver's
 * fence behind them, and launches behind it begin with an invalidation.
 *
 * Layouts: Linux 6.12, amdgpu's vega10_sdma_pkt_open.h (SDMA 4), navi10_sdma_pkt_open.h (5), sdma_v6_0_0_pkt_open.h (6, 7);
 * how they are used: sdma_v4_0.c, sdma_v5_0.c, sdma_v5_2.c, sdma_v6_0.c, sdma_v7_0.c (emit_copy_buffer, emit_fill_buffer,
 * ring_emit_fence). What differs is in generations.c. Nothing here was seen on silicon.
 */
#include <stdbool.h>
#include "amdgpu/packets.h"
#include "amdgpu/stream.h"

/* Header: OP 7:0, SUB_OP 15:8. */
enum {
	OP_NOP = 0,
	OP_COPY_LINEAR = 1,
	OP_FENCE = 5,
	OP_CONST_FILL = 11,
	OP_TIMESTAMP_GET_GLOBAL = 13 | 2 << 8,
};

#define FILL_DWORDS (2u << 30) /* FILLSIZE; the count is of bytes all the same */
#define FENCE_UC    (3u << 16) /* MTYPE: not cached; SDMA 5 and later */

static void stamp(struct out *out, uint64_t to)
{
	put(out, OP_TIMESTAMP_GET_GLOBAL);
	put64(out, to);
}

static void fence(struct out *out, const struct gp_generation *gen, uint64_t to, uint32_t value)
{
	put(out, OP_FENCE | (gen->sdma == GP_SDMA_V4 ? 0 : FENCE_UC));
	put64(out, to);
	put(out, value);
}

static void move(struct out *out, const struct gp_generation *gen, const struct gp_move *move)
{
	uint64_t at = 0;
	uint32_t step;

	for (; at < move->bytes && !out->full; at += step) {
		step = move->bytes - at < gen->sdma_max ? (uint32_t)(move->bytes - at) : gen->sdma_max;
		if (!move->from) {
			put(out, OP_CONST_FILL | FILL_DWORDS);
			put64(out, move->to + at);
			put(out, move->pattern);
			put(out, step - 1);
			continue;
		}
		put(out, OP_COPY_LINEAR);
		put(out, step - 1);
		put(out, 0); /* no swapping */
		put64(out, move->from + at);
		put64(out, move->to + at);
		if (gen->sdma == GP_SDMA_V7)
			put(out, 0); /* no compression */
	}
}

uint32_t gp_sdma_build(const struct gp_generation *gen, const struct gp_move *what, uint32_t *ib)
{
	uint32_t align = what->align < 8 ? 8 : what->align;
	struct out out = { .ib = ib };

	stamp(&out, what->stamps + offsetof(struct gp_stamps, begin));
	move(&out, gen, what);
	stamp(&out, what->stamps + offsetof(struct gp_stamps, end));
	fence(&out, gen, what->stamps + offsetof(struct gp_stamps, ticket) + 4,
	      (uint32_t)(what->ticket >> 32));
	fence(&out, gen, what->stamps + offsetof(struct gp_stamps, ticket), (uint32_t)what->ticket);
	while (out.used % align && !out.full)
		put(&out, OP_NOP);
	return out.full ? 0 : out.used;
}
