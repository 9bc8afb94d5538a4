/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * abi.h - what the engine and compiled code agree on: structures, region numbers, entry points.
 *
 * Included three times: by the engine (which fills the structures), by the run-time library (the files in
 * rt/, compiled to bitcode and linked into every program) and by the native build of that library (the
 * engine runs the guest's map operations with the same code). The translator never lays a structure out
 * itself: it calls functions of the run-time library, which inline.
 *
 * Pointers in a BPF program are never addresses. Where the kind is known they are an offset in a
 * region; elsewhere a handle: region number in the high 16 bits, offset in the low 48. Base addresses
 * appear only at the access, after the check against the region's size, and are never values that a
 * program can store.
 *
 * Ownership: everything here belongs to the engine and outlives the call; struct gp_lane lives on the
 * stack of the generated loop. Threads: one call of an entry point runs on one thread with its own
 * struct gp_thread; struct gp_env and maps are shared between threads.
 */
#ifndef GPGPU_RT_ABI_H
#define GPGPU_RT_ABI_H

#include <stdint.h>
#include <stddef.h>

/*
 * GP_RT_GPU says that this is compiled for a GPU (__AMDGCN__ or __NVPTX__). Whether this build of the library has the guest's
 * map operations: a GPU runs them itself.
 */
#if !defined(GP_RT_BITCODE) || defined(GP_RT_GPU)
#define GP_RT_MAP_OPS
#endif

/* Region numbers. 0 is no region, so that a small integer is never a pointer that resolves. */
enum gp_region_id {
	GP_REGION_NONE = 0,
	GP_REGION_CTX = 1, /* xdp_md or the argument block; no memory: gp_rt_ctx_load() reads fields */
	GP_REGION_STACK = 2, /* of this lane, all frames */
	GP_REGION_PACKET = 3, /* this lane's slot, up to data_end */
	GP_REGION_LOCAL = 3, /* of compute kernels, which have no packet: the group's local memory */
	GP_REGION_ARG0 = 8, /* + argument number: buffer arguments */
	GP_REGION_MAP0 = 32, /* + map index in the program: values of a map */
	GP_REGION_MAPPTR0 = 4096, /* + map index: the map itself, as a helper's argument; no access */
	GP_REGION_INNER0 = 16384, /* + slot in env->inner: values of a map that is an element of another */
	GP_REGION_INNERPTR0 = 32768, /* + slot: that map itself */
};

#define GP_REGION_SHIFT	 48
#define GP_OFFSET_MASK	 ((1ull << GP_REGION_SHIFT) - 1)
#define GP_MAX_PROG_MAPS 64
#define GP_STACK_FRAME	 512
#define GP_MAX_FRAMES	 8
#define GP_MAX_INNER	 16384 /* slots of env->inner */
#define GP_MAX_TAIL	 33 /* tail calls on one packet */
#define GP_FAULT_TAIL	 0xffffu /* packet_out.fault: no fault, a tail call is due */
/*
 * gp_fault() - a fault in one word: VIRTIO_GPGPU_R_*, and the
 * instruction. gp_fault_reason(), gp_fault_insn() - its parts. GP_VERDICT_END is smaller than any.
 */
#define GP_VERDICT_END	       0x10000u
#define gp_fault(reason, insn) ((uint32_t)(reason) << 16 | (uint32_t)(insn))
#define gp_fault_reason(fault) ((fault) >> 16)
#define gp_fault_insn(fault)   ((fault) & 0xffff)
#define GP_LANE_RECORDS	       4 /* records that a lane may have reserved at once */
#define GP_GUARD	       (64u << 10) /* inaccessible bytes in front of and behind every region's window */

/* Of gp_rt_ctx_load(): sign extend; the context is struct xdp_md. */
#define GP_CTX_SIGN 0x100u
#define GP_CTX_XDP  0x80000000u

struct gp_region {
	uint8_t *base;
	uint64_t size; /* bytes that may be accessed; 0: none */
	uint64_t writable; /* 0 or 1 */
};

/*
 * One map, by storage. Values lie alone in their region, so that no program reaches keys or links: the
 * engine allocates them apart from the rest, both zeroed, and gp_map_layout() (rt/maps.h) splits the rest.
 */
struct gp_map {
	uint32_t type; /* VIRTIO_GPGPU_MAP_* */
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t stride; /* bytes between two values: value_size rounded up to 8 */
	uint32_t num_cpus; /* copies of a per-CPU array (CPU 0's first, on cache lines of its own), else 1 */
	uint32_t frozen; /* programs may not write */
	uint32_t seed; /* of the hash; random, per map */
	uint8_t *values;
	uint64_t values_size; /* bytes */
	uint8_t *keys; /* hash: elements; LPM: nodes */
	uint32_t *links; /* LPM: list of free values */
	uint32_t *buckets; /* hash: heads and lock words */
	uint64_t *state; /* counters and locks, on two cache lines of their own */
	uint32_t num_buckets; /* power of two */
	uint32_t reserved;
	uint64_t copy_bytes; /* per-CPU kinds: from one CPU's copy of all values to the next */
	uint8_t *store; /* where values are: `values`, or memory that no program reaches (values_size 0) */
	uint64_t *members; /* *_OF_MAPS: bit per slot of env->inner that is, or was, a value here */
};

#define GP_MAP_BYTES 112 /* for whoever makes room for one (jit/call.c) */
_Static_assert(sizeof(struct gp_map) == GP_MAP_BYTES, "size of struct gp_map");

/* *env->stop, which the engine may change while the program runs. */
enum gp_stop {
	GP_STOP_NONE = 0,
	GP_STOP_SOON = 1, /* return early, at the end of a lane */
	GP_STOP_NOW = 2, /* also end the lane that runs, with R_OUT_OF_FUEL, once it needs more fuel */
};

/* What a program needs of the outside; one per job. */
struct gp_env {
	struct gp_map **maps; /* by map index of the program */
	const struct gp_region *args; /* PROG_GPGPU: by argument number; size 0 for a value */
	const uint64_t *arg_values; /* PROG_GPGPU: by argument number; value, or 0 for a buffer */
	uint8_t *slots; /* PROG_XDP: slot 0 */
	uint64_t stride; /* bytes of a slot */
	uint64_t fuel; /* of one lane */
	const volatile uint32_t *stop; /* enum gp_stop */
	uint32_t num_maps;
	uint32_t num_args;
	const struct gp_clock *clock; /* of ktime_get_ns, set for this job; NULL: it returns 0 */
	struct gp_map **inner; /* elements of maps of maps, by slot; NULL where there is none */
	uint32_t num_inner; /* at most GP_MAX_INNER; slots from there on do not exist */
	uint32_t tail_calls; /* that this packet has made before (PROG_XDP; a count of 1 where not 0) */
	struct gp_map *fib; /* of fib_lookup; NULL: nothing is forwarded */
	struct gp_log *log; /* of trace_printk (rt/log.h); NULL: nobody reads it */
	uint64_t local_bytes; /* of a group's local memory */
	void (*yield)(const struct gp_env *env); /* images with GP_PROG_INTERLEAVE: let other lanes run */
};

/*
 * Monotonic time without a system call: time stamp counter @tsc was @ns, and one tick is mult / 2^32
 * nanoseconds. The engine sets it with gp_clock_read() (rt/clock.h) when a job starts.
 */
struct gp_clock {
	uint64_t tsc;
	uint64_t ns;
	uint64_t mult;
	uint64_t boot; /* nanoseconds of CLOCK_BOOTTIME ahead of this clock */
};

/* Per device thread. */
struct gp_thread {
	uint32_t cpu; /* smp_processor_id, copy of per-CPU maps */
	uint32_t reserved;
	uint64_t random; /* state of get_prandom_u32; not 0, seeded by the engine for each slice */
	uint64_t ktime; /* last ktime_get_ns, so that it never goes back on one thread */
	struct gp_group *group; /* of group programs: what its items leave between two phases */
	uint8_t *local; /* and local memory: a window of GP_MAX_LOCAL bytes (GP_GUARD) */
};

struct gp_packet_in { /* as struct virtio_gpgpu_packet_desc, host endian */
	uint32_t data_off, data_len;
	uint16_t meta_len, rx_queue;
	uint32_t ingress_port;
};

struct gp_packet_out { /* as struct virtio_gpgpu_packet_result */
	uint32_t verdict, egress_port;
	uint32_t data_off, data_len;
	uint16_t meta_len, fault; /* fault GP_FAULT_TAIL: egress_port is the map, fault_insn the index */
	uint32_t fault_insn;
};

struct gp_grid {
	uint32_t size[3], group[3];
};

#define GP_MAX_GROUP 1024 /* work items of one group */
#define GP_MAX_LOCAL 65536 /* bytes of a group's local memory */
#define GP_GROUP_ROW \
	(GP_MAX_GROUP + 8) /* words of a row: not a multiple of a page, or all rows share cache lines */
#define GP_GROUP_SAVED 68 /* rows of what a program keeps: r6 to r9 and the words of a frame */

/*
 * Where the items of a group are between two phases (rt/groups.c), item by item in rows: what a phase reads of
 * neighbours lies beside each other.
 */
struct gp_group {
	uint64_t fuel[GP_GROUP_ROW], reserve[GP_GROUP_ROW];
	uint32_t fault[GP_GROUP_ROW], fault_insn[GP_GROUP_ROW];
	uint64_t value[GP_GROUP_ROW]; /* what it gives to the others, and then gets from them */
	uint64_t given[GP_GROUP_ROW]; /* of a shuffle: what all gave */
	uint64_t from[GP_GROUP_ROW]; /* shuffle, broadcast: whose value it wants */
	uint64_t saved[GP_GROUP_SAVED][GP_GROUP_ROW];
	uint8_t stack[GP_MAX_GROUP * GP_MAX_FRAMES *
		      GP_STACK_FRAME]; /* as much of it as a program needs, item by item */
};

#define GP_PHASE_END UINT32_MAX /* the item has ended */

/* Faults of a call, added up by the generated loop. */
struct gp_faults {
	uint64_t count;
	uint64_t first; /* item or packet */
	uint32_t reason; /* VIRTIO_GPGPU_R_* of the first */
	uint32_t insn;
};

/*
 * Entry points of an image. Both run `count` items from `first` in order and return how many they ran
 * (fewer only when *env->stop was set). A lane that GP_STOP_NOW ended counts as run: its stores are done. A linear work-item number counts x fastest:
 * i = (z * size[1] + y) * size[0] + x. Of group programs `first` and `count` are groups, numbered likewise.
 */
typedef uint64_t gp_xdp_entry(const struct gp_env *env, struct gp_thread *thread,
			      const struct gp_packet_in *in, struct gp_packet_out *out, uint64_t first,
			      uint64_t count, struct gp_faults *faults);
typedef uint64_t gp_grid_entry(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			       uint64_t first, uint64_t count, struct gp_faults *faults);

#endif
