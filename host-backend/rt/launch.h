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
 * Lane n has item first + n.
 *
 * Stops: *env.stop is one word, enum gp_stop. GP_STOP_SOON ends a part between two packets and means nothing to
 * others. With GP_STOP_NOW a lane that runs ends with R_OUT_OF_FUEL at its next burn that needs more fuel than the
 * portion at hand, and one that begins ends so at once; a part begins no other packet.
 */
#ifndef GPGPU_RT_LAUNCH_H
#define GPGPU_RT_LAUNCH_H

#include "rt/abi.h"

/* Packets that run one after the other on one lane (order=flow, order=all). */
struct gp_launch_part {
	uint32_t next, end; /* in gp_launch.order, or packet numbers without one */
	uint32_t ran; /* 0; out: fewer than end - next only where *env.stop was set before one began */
	uint32_t reserved;
};

enum gp_map_op_kind {
	GP_MAP_OP_LOOKUP,
	GP_MAP_OP_UPDATE,
	GP_MAP_OP_DELETE,
	GP_MAP_OP_NEXT_KEY, /* key NULL: the first; the next is written to `value` */
	GP_MAP_OP_POP,
	GP_MAP_OP_DUMP, /* behind `key` (NULL: from the first): up to `count` entries to `value`, see below */
	GP_MAP_OP_LOAD, /* update with each of `count` entries at `value`, until one fails */
	GP_MAP_OP_READ, /* records: up to `count` bytes to `value`; result: bytes, or as gp_map_records_read() */
	GP_MAP_OP_PENDING, /* records: result 1 where READ would find one, else 0 */
	GP_MAP_OP_LINES, /* `map` is a struct gp_log: up to `count` lines to `value`, GP_LOG_TEXT bytes each */
};

/*
 * One operation of the guest's on a map; run one after the other by one lane. Memory as gp_map_lookup() etc. want it.
 * Entries of DUMP and LOAD lie `stride` apart: the key padded to 8 bytes, the value padded to 8.
 */
struct gp_map_op {
	uint32_t kind; /* enum gp_map_op_kind */
	uint32_t flags; /* UPDATE, LOAD */
	struct gp_map *map;
	const uint8_t *key;
	uint8_t *value;
	uint32_t count, stride; /* DUMP, LOAD, READ */
	uint64_t ticks; /* DUMP, LOAD: begin no entry after so many of gp_ticks(); 0: any */
	uint32_t done; /* out: DUMP, LOAD: entries; READ: records; LINES: lines */
	uint32_t reserved;
	uint64_t dropped; /* out: READ: records that found no room, ever */
	int64_t result; /* out: 0 or a negative errno, as rt/maps.h says; DUMP, LOAD: -EINTR where ticks were over */
};

/*
 * gp_map_op_run() - what GP_KERNEL_MAP_OPS does with each of its operations, and the engine where maps are the
 * CPU's. Fills in what is marked as out. Any thread, as gp_map_lookup() etc.; READ one at a time for a map.
 */
void gp_map_op_run(struct gp_map_op *op);

#define GP_COPY_LANE 16u /* bytes that one lane copies or fills; the last one what is left */

/* Bytes that are moved or filled; lane n does those from (first + n) * GP_COPY_LANE on. */
struct gp_launch_copy {
	uint8_t *dst; /* any alignment; FILL: of 4 */
	const uint8_t *src; /* NULL: `pattern`, again and again; does not overlap dst */
	uint64_t size;
	uint32_t pattern;
	uint32_t reserved;
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
	const uint32_t *order; /* item i is packet order[i]; NULL: packet i */
	/*
	 * NULL: a packet a lane; else a part a lane: item n is parts[n]. Launched as often as a part has packets, one behind the
	 * other, it has run them all: each runs the next packet of a part, or as many as it likes.
	 */
	struct gp_launch_part *parts;

	struct gp_grid grid;
	uint32_t num_ops;
	struct gp_map_op *ops; /* map operations */
	struct gp_launch_copy copy;

	/*
	 * out, of grids; zero and all ones when queued. Counted by lanes with a fault. Those of packets are in `out`.
	 */
	uint64_t fault_count;
	uint64_t fault_first; /* smallest of item - first << 32 | reason << 16 | insn */
};

/*
 * The kernels. Program images have one of the first two; the others are compiled by themselves, one image each.
 * In the native build they are ordinary functions that run one lane, for a GPU that is none (tests).
 */
enum gp_kernel {
	GP_KERNEL_PACKETS,
	GP_KERNEL_GRID,
	GP_KERNEL_MAP_OPS,
	GP_KERNEL_COPY,
};

/*
 * NVIDIA's driver hands a kernel bytes, from which they are read at no cost: beside the address, which is for what a kernel
 * writes, and which may be the host's memory, it gets what lies there. GP_GIVEN is for reading.
 */
#if defined(__AMDGCN__)
#define GP_KERNEL __attribute__((amdgpu_kernel))
#elif defined(__NVPTX__)
#define GP_KERNEL      __attribute__((nvptx_kernel))
#define GP_KERNEL_ARGS struct gp_launch *launch, struct gp_launch bytes
#define GP_GIVEN       (&bytes)
#else
#define GP_KERNEL
extern __thread uint64_t gp_kernel_lane; /* native: the lane that the next call runs */
#endif

#ifndef GP_KERNEL_ARGS
#define GP_KERNEL_ARGS struct gp_launch *launch
#define GP_GIVEN       launch
#endif

GP_KERNEL void gp_kernel_packets(GP_KERNEL_ARGS);
GP_KERNEL void gp_kernel_grid(GP_KERNEL_ARGS);
GP_KERNEL void gp_kernel_map_ops(GP_KERNEL_ARGS);
GP_KERNEL void gp_kernel_copy(GP_KERNEL_ARGS);

#endif
