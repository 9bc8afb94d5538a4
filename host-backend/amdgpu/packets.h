/* SPDX-License-Identifier: BSD-3-Clause */
/* packets.h - the indirect buffer of one launch, or copy; packets.c and sdma.c say what is in it and why. */
#ifndef GPGPU_AMDGPU_PACKETS_H
#define GPGPU_AMDGPU_PACKETS_H

#include <stdint.h>
#include "amdgpu/generations.h"

#define GP_PACKETS_MAX	 720u /* dwords of an indirect buffer, padding included */
#define GP_PACKETS_TIMES 32u /* that one may dispatch the same */
#define GP_USER_SGPRS	 16u

/* What the GPU writes about a launch. */
struct gp_stamps {
	uint64_t begin, end; /* its clock */
	uint64_t ticket; /* of the launch that has ended here */
	uint64_t reserved;
};

struct gp_dispatch {
	uint64_t code; /* address of the first instruction, 256-aligned */
	uint32_t rsrc1, rsrc2, rsrc3;
	uint32_t user[GP_USER_SGPRS]; /* scalar registers that waves start with */
	uint32_t num_user;
	uint32_t groups, group; /* work groups, lanes of each */
	uint32_t times; /* one behind the other, each seeing what the last wrote; GP_PACKETS_TIMES at most */
	uint64_t scratch; /* address, 256-aligned; 0: none */
	uint64_t scratch_bytes; /* cleared first */
	uint32_t scratch_waves, scratch_units; /* COMPUTE_TMPRING_SIZE: waves, units of a wave */
	uint64_t stamps; /* address of struct gp_stamps */
	uint64_t ticket;
	uint32_t align; /* dwords: the buffer's size is a multiple; 8 at least */
};

/*
 * gp_packets_build() - the packets of a launch. @ib: room for GP_PACKETS_MAX dwords.
 * Return: dwords, or 0 where they do not fit.
 */
uint32_t gp_packets_build(const struct gp_generation *gen, const struct gp_dispatch *dispatch, uint32_t *ib);

/* For the engine of copies. */
struct gp_move {
	uint64_t to, from; /* addresses; from 0: a fill, for which `to` and `bytes` are multiples of 4 */
	uint64_t bytes;
	uint32_t pattern;
	uint64_t stamps; /* address of struct gp_stamps */
	uint64_t ticket;
	uint32_t align; /* as of struct gp_dispatch */
};

/* gp_sdma_build() - the packets of a copy. @ib, and what is returned: as of gp_packets_build(). */
uint32_t gp_sdma_build(const struct gp_generation *gen, const struct gp_move *move, uint32_t *ib);

#endif
