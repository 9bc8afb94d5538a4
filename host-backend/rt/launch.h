/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.h - what a launch on a GPU is: a kernel's only argument is the address of a struct gp_launch.
 *
 * Everything that a launch refers to lies at one address for the CPU and the GPU (engine/gpu.h), so that struct
 * gp_env and the maps behind it are those of abi.h as they are. The engine fills a launch before it is queued and
 * reads it when its ticket has ended; in between it is the GPU's. Only *env.stop changes meanwhile, and is
 * read past the GPU's caches.
 *
 * A lane's number is its work group times `group` plus its place in the group; lanes from `count` on do nothing.
 */
#ifndef GPGPU_RT_LAUNCH_H
#define GPGPU_RT_LAUNCH_H

#include "rt/abi.h"

/* Packets that run one after the other on one lane (order=flow, order=all). */
struct gp_launch_part {
	uint32_t next, end; /* in gp_launch.order, or packet numbers without one */
	uint32_t ran; /* out: fewer than end - next only where *env.stop was set before one began */
	uint32_t reserved;
};

enum gp_map_op_kind {
	GP_MAP_OP_LOOKUP,
	GP_MAP_OP_UPDATE,
	GP_MAP_OP_DELETE,
	GP_MAP_OP_NEXT_KEY, /* key NULL: the first; the next is written to `value` */
	GP_MAP_OP_POP,
	GP_MAP_OP_DUMP, /* behind `key`: up to `count` entries to `value`, `stride` apart: key padded to 8, value */
};

/* One operation of the guest's on a map; run one after the other by one lane. Memory as gp_map_lookup() etc. want it. */
struct gp_map_op {
	uint32_t kind; /* enum gp_map_op_kind */
	uint32_t flags;
	struct gp_map *map;
	const uint8_t *key;
	uint8_t *value;
	uint32_t count, stride; /* DUMP */
	uint32_t done; /* out: DUMP: entries written */
	uint32_t reserved;
	int64_t result; /* out: 0 or a negative errno, as rt/maps.h says */
};

struct gp_launch {
	struct gp_env env; /* env.clock: in ticks of the GPU */
	uint32_t group; /* lanes of a work group */
	uint32_t num_cpus; /* copies of per-CPU maps: lane n has copy n % num_cpus */
	uint64_t first; /* first item; lane n has item first + n */
	uint64_t count; /* lanes that do something: items, parts, or 1 for map operations */
	uint64_t seed; /* of random numbers; each lane makes its own of it and its item */
	uint64_t ticks; /* that a lane may take, by the GPU's clock, before it ends with R_OUT_OF_FUEL; 0: any */

	/* packets */
	const struct gp_packet_in *in; /* by packet number */
	struct gp_packet_out *out; /* likewise */
	const uint32_t *order; /* or NULL */
	struct gp_launch_part *parts; /* NULL: a packet a lane; else a part a lane */

	struct gp_grid grid;
	uint32_t num_ops;
	struct gp_map_op *ops; /* map operations */

	/* out; zero and all ones when queued. Counted by lanes with a fault, GP_FAULT_TAIL left out. */
	uint64_t fault_count;
	uint64_t fault_first; /* smallest of item - first << 32 | reason << 16 | insn */
};

/*
 * The kernels. Program images have one of the first two; gp_kernel_map_ops is compiled by itself.
 * In the native build they are ordinary functions that run one lane, for a GPU that is none (tests).
 */
void gp_kernel_packets(struct gp_launch *launch);
void gp_kernel_grid(struct gp_launch *launch);
void gp_kernel_map_ops(struct gp_launch *launch);

#endif
