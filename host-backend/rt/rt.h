/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt.h - the run-time library as the translator and its own files see it.
 *
 * How it works: every file here is compiled twice. Once by clang to bitcode (rt.bc), which the compiler
 * links into each program, makes internal and inlines; once natively into the engine (libgpgpu_rt), which
 * runs the guest's map operations with the same code (maps.h). A program is one function, gp_prog(), that
 * the translator generates; gp_entry_xdp() and gp_entry_grid() are the loops around it. One of them is the
 * image's entry point and everything else becomes internal to it.
 *
 * What a generated program may call: gp_rt_* (how to reach memory and the lane) and gp_helper_* (one
 * per BPF helper). The constants of a map are literal arguments, so that after inlining a look-up is
 * specialised for its map: a compare of constant size, a shift in place of a product.
 *
 * Invariants:
 *  - Every uint8_t * argument has been checked by the caller for the size that goes with it (a key for
 *    key_size bytes, a value for value_size). Memory behind it may be shared with the guest and change at
 *    any time: what is checked is first copied into a register (gp_opaque()).
 *  - Nothing here faults, allocates, calls the system or waits without a bound. Locks are never held while
 *    anything of the program's runs.
 *  - No pointer is stored in memory that a program can read; maps hold indices only.
 *  - Functions that do not inline never take the lane, so that it can live in registers.
 *
 * For the translator: rt.bc is built for baseline x86-64 and has no target-cpu or target-features attributes
 * of interest; set those of the target on all functions after linking, or inlining is refused. It defines
 * memcpy, memmove, memset and memcmp, and the few functions of libm that LLVM may call on targets without
 * the instruction (fma, fmaf, floor, ...): keep these until code has been generated, so that an image has no
 * undefined symbol. Division by zero, shifts and such are the translator's own.
 */
#ifndef GPGPU_RT_H
#define GPGPU_RT_H

#include <stdbool.h>
#include "rt/abi.h"

/* Inlined into programs; an ordinary function in the engine. */
#ifdef GP_RT_BITCODE
#define GP_RT __attribute__((always_inline))
#else
#define GP_RT
#endif

/* What the frame of a packet keeps from a program, after the kernel's own XDP frames. */
#define GP_HEAD_RESERVED   40 /* sizeof(struct xdp_frame) at the start of a slot */
#define GP_TAIL_RESERVED   320 /* struct skb_shared_info at the end of a slot ... */
#define GP_TAIL_MIN_STRIDE 2048 /* ... where the slot is as large as a frame; else nothing */
#define GP_ETH_HLEN	   14
#define GP_MAX_META	   252

/* One packet or work item on its way through a program. Lives in the loop's frame. */
struct gp_lane {
	const struct gp_env *env;
	struct gp_thread *thread;
	uint8_t *base;   /* slot of this packet: offset 0 of GP_REGION_PACKET */
	uint32_t data_off, data_end, meta_off; /* offsets in the slot */
	uint32_t ingress, rx_queue;
	uint32_t egress_port;  /* of the last redirect */
	uint64_t fuel;   /* left of the portion at hand */
	uint64_t reserve; /* not yet handed out (fuel.h) */
#if defined(GP_RT_GPU)
	uint64_t deadline; /* of gp_ticks(): the lane's time is over */
	struct gp_packet_out *out; /* says at any time where the packet is, so that the end need not know */
#endif
#if defined(__NVPTX__)
	uint32_t written; /* its packet was written to (slots.h) */
#endif
	uint32_t fault; /* gp_fault(); 0: none */
	struct gp_region stack; /* set by the program where a handle may point at it */
	uint32_t gid[3], lid[3], grp[3];
	const struct gp_grid *grid;
	uint32_t item; /* number in its group */
	uint32_t phase, next; /* group programs: where it goes on; where it will */
	uint32_t what; /* next is behind this helper of the group, with this enum gp_op */
	uint32_t op;
	uint32_t tail_map, tail_index; /* fault GP_FAULT_TAIL: map of the program, index in it */
	struct gp_map *open_map[GP_LANE_RECORDS]; /* records that are reserved; NULL: none */
	uint32_t open_at[GP_LANE_RECORDS]; /* offset in the map's values */
};

/*
 * The generated program. Return: r0; ignored where lane->fault was set. A packet program for a GPU returns the verdict,
 * XDP_ABORTED where it is none, or what lane->fault is: that is all that its many ends have to hand on.
 */
int64_t gp_prog(struct gp_lane *lane);

/* NVIDIA: whether it may make its packet longer, and so may reach what is behind it in the slot; the translator's, too. */
uint32_t gp_prog_grows(void);

/* The loops; see gp_xdp_entry and gp_grid_entry in abi.h.  in[n] and out[n] belong to slot n, also for n < first. */
uint64_t gp_entry_xdp(const struct gp_env *env, struct gp_thread *thread, const struct gp_packet_in *in,
		      struct gp_packet_out *out, uint64_t first, uint64_t count, struct gp_faults *faults);
uint64_t gp_entry_grid(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
		       uint64_t first, uint64_t count, struct gp_faults *faults);

/* The loop of group programs (groups.c). */
uint64_t gp_entry_groups(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			 uint64_t first, uint64_t count, struct gp_faults *faults);

/*
 * Kernels as vectors (simd.c). gp_simd() is generated: it runs the items @item to @item + GP_SIMD - 1, of which the lane is
 * the first, and adds their faults to @faults (of a group program: a phase of them, and the faults are in the group); or nothing
 * has happened and it returns 0.
 */
#define GP_SIMD 8
uint32_t gp_simd(struct gp_lane *lane, struct gp_faults *faults, uint64_t item);
uint64_t gp_entry_simd(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
		       uint64_t first, uint64_t count, struct gp_faults *faults);

/* gp_simd_fault() - note a fault in the items behind @item that the bits of @lanes say. */
void gp_simd_fault(struct gp_faults *faults, uint64_t item, uint32_t lanes, uint32_t reason, uint32_t insn);

/* Likewise for items of a group. gp_entry_groups_simd() is gp_entry_groups() for kernels as vectors. */
void gp_simd_group_fault(struct gp_group *group, uint64_t item, uint32_t lanes, uint32_t reason,
			 uint32_t insn);
uint64_t gp_entry_groups_simd(const struct gp_env *env, struct gp_thread *thread, const struct gp_grid *grid,
			      uint64_t first, uint64_t count, struct gp_faults *faults);

/*
 * gp_simd_load(), gp_simd_store() - lane by lane, at base + off[i], in this order. gp_simd_store_all(): all or none.
 * @lanes: bits of those that do something. @value: of @size bytes each, a word each; 0 where nothing was loaded.
 *
 * Return: bits of lanes that may not.
 */
uint32_t gp_simd_load(const uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes, uint64_t *value,
		      uint32_t size);
uint32_t gp_simd_store(uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes,
		       const uint64_t *value, uint32_t size);
uint32_t gp_simd_store_all(uint8_t *base, uint64_t len, const uint64_t *off, uint32_t lanes,
			   const uint64_t *value, uint32_t size);

/* ------------------------------------------------------------------- groups */

uint32_t gp_rt_phase(struct gp_lane *lane); /* where to go on: 0 at the start */

/* gp_rt_group_stack() - the item's stack of @bytes, a multiple of 8, zeroed at the start. */
uint8_t *gp_rt_group_stack(struct gp_lane *lane, uint64_t bytes);

/* gp_rt_group_row() - where the item keeps word @row over a wait. */
uint64_t *gp_rt_group_row(struct gp_lane *lane, uint32_t row);

/* gp_rt_group_busy() - whether the item may not wait: it has records that it neither submitted nor discarded. */
uint32_t gp_rt_group_busy(struct gp_lane *lane);

/*
 * gp_rt_group_wait() - the item gives @value and goes on in phase @next once all others of its group have come, too.
 * @what: helper; @second: its second argument.
 */
void gp_rt_group_wait(struct gp_lane *lane, uint32_t next, uint32_t what, uint64_t value, uint64_t second);

/* gp_rt_group_result() - what it gets for that. */
uint64_t gp_rt_group_result(struct gp_lane *lane);

/* Of vectors: where the item's value lies, and whose it wants, with those of its neighbours behind it; and the group. */
uint64_t *gp_rt_group_values(struct gp_lane *lane);
uint64_t *gp_rt_group_from(struct gp_lane *lane);
struct gp_group *gp_rt_group(struct gp_lane *lane);

/* gp_group_combine() - what the calls of @items items of @what come to: group->value. */
void gp_group_combine(struct gp_group *group, uint32_t items, uint32_t what, uint32_t op);

/* gp_group_faults() - add the faults of the group @grp, which has ended, to @faults. */
void gp_group_faults(const struct gp_group *group, const struct gp_grid *grid, const uint32_t *grp,
		     uint32_t items, struct gp_faults *faults);

/* ------------------------------------------------------------------- memory */

/*
 * gp_rt_region() - resolve a handle for an access of @size bytes.
 *
 * Return: the address, or NULL where the program may not do that. The offset is masked against
 * speculation. Stack, packet (from the start of the slot to data_end), buffer arguments, map values.
 */
uint8_t *gp_rt_region(struct gp_lane *lane, uint64_t handle, uint32_t size, uint32_t write);

/* gp_rt_packet_written() - NVIDIA: the program stores to its packet, or to anywhere. */
void gp_rt_packet_written(struct gp_lane *lane);

/*
 * gp_rt_ctx_load() - what a load through a handle of the context yields; pointers as handles.
 * @handle: of GP_REGION_CTX, else there is no such field.
 * @form: bytes, and GP_CTX_SIGN where they are to be sign extended.
 * @buffers: GP_CTX_XDP, or a bit per argument that is a buffer.
 *
 * gp_rt_ctx_holds() says whether there is such a field.
 */
uint64_t gp_rt_ctx_load(struct gp_lane *lane, uint64_t handle, uint32_t form, uint32_t buffers);
uint32_t gp_rt_ctx_holds(struct gp_lane *lane, uint64_t handle, uint32_t form, uint32_t buffers);

uint8_t *gp_rt_pkt_base(struct gp_lane *lane); /* start of the slot */
uint64_t gp_rt_pkt_end(struct gp_lane *lane); /* bytes from there to data_end */
uint8_t *gp_rt_arg_base(struct gp_lane *lane, uint32_t n); /* NULL where there is no such buffer */
uint64_t gp_rt_arg_size(struct gp_lane *lane, uint32_t n);
uint32_t gp_rt_num_args(struct gp_lane *lane);
uint64_t gp_rt_arg_writable(struct gp_lane *lane, uint32_t n);
uint64_t gp_rt_arg_value(struct gp_lane *lane, uint32_t n);
struct gp_map *gp_rt_map(struct gp_lane *lane, uint32_t n); /* n below the program's num_maps */
uint8_t *gp_rt_map_values(struct gp_lane *lane, uint32_t n);

/*
 * GPUs: a map of the program's as a local variable with the constants that are known of it, so that helpers are
 * specialised for them. @own: GP_MAP_BYTES bytes.
 */
struct gp_map *gp_rt_map_shaped(struct gp_map *own, struct gp_lane *lane, uint32_t n, uint32_t type,
				uint32_t key_size, uint32_t value_size, uint32_t max_entries,
				uint32_t num_cpus, uint32_t num_buckets, uint32_t frozen);

/* Of a map that is chosen at run time. */
uint32_t gp_rt_map_type(const struct gp_map *map);
uint32_t gp_rt_map_key_size(const struct gp_map *map);
uint32_t gp_rt_map_value_size(const struct gp_map *map);
uint32_t gp_rt_map_max_entries(const struct gp_map *map);
uint32_t gp_rt_map_num_cpus(const struct gp_map *map);
uint32_t gp_rt_map_num_buckets(const struct gp_map *map);

/*
 * gp_rt_map_any() - the map that a handle names: one of the program's, or an element of one of its maps of maps.
 * gp_rt_inner() - likewise, where it can only be an element of @outer.
 *
 * Return: NULL where it is none; also for a processor that guessed the branch wrong.
 */
struct gp_map *gp_rt_map_any(struct gp_lane *lane, uint64_t handle);
struct gp_map *gp_rt_inner(struct gp_lane *lane, const struct gp_map *outer, uint64_t handle);

/* gp_rt_map_bias() - from the handle of a map to that of offset 0 of its values. */
uint64_t gp_rt_map_bias(uint64_t handle);

/*
 * GPUs: atomic operations. @op: BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_XCHG. @at is aligned to @size. Return: what was
 * there.
 */
uint64_t gp_rt_atomic(uint8_t *at, uint64_t value, uint32_t op, uint32_t size, uint32_t relaxed);
uint64_t gp_rt_compare_exchange(uint8_t *at, uint64_t expected, uint64_t value, uint32_t size);

/* The same where it may be to the lane's stack. */
uint64_t gp_rt_atomic_any(uint8_t *at, uint64_t value, uint32_t op, uint32_t size, uint32_t relaxed);
uint64_t gp_rt_compare_exchange_any(uint8_t *at, uint64_t expected, uint64_t value, uint32_t size);

/* --------------------------------------------------------------------- lane */

uint32_t gp_rt_data(struct gp_lane *lane); /* struct xdp_md, pointers as offsets in the slot */
uint32_t gp_rt_data_end(struct gp_lane *lane);
uint32_t gp_rt_data_meta(struct gp_lane *lane);
uint32_t gp_rt_ingress(struct gp_lane *lane);
uint32_t gp_rt_rx_queue(struct gp_lane *lane);
uint32_t gp_rt_egress(struct gp_lane *lane); /* xdp_md.egress_ifindex: 0 */

/*
 * gp_rt_burn() - take @cost of the lane's fuel.
 *
 * Return: 1 where it did not have that much left, or was told to stop; else 0.
 */
uint32_t gp_rt_burn(struct gp_lane *lane, uint64_t cost);
uint64_t gp_rt_verdict(uint64_t ret); /* as gp_prog() returns it on a GPU */
void gp_rt_fault(struct gp_lane *lane, uint32_t fault); /* gp_fault() */
uint32_t gp_rt_faulted(struct gp_lane *lane); /* likewise; 0: none */
void gp_rt_yield(struct gp_lane *lane); /* other lanes may run now; GP_PROG_INTERLEAVE only */
void gp_rt_set_stack(struct gp_lane *lane, uint8_t *base, uint64_t size);

/* --------------------------------------------------------------------- maps
 * lookup returns the offset of the value in the map's values, plus 1, or 0 where there is none. The offset
 * is sound for value_size bytes whatever the key was. update and delete return 0 or a negative errno, the
 * kernel's. Every constant must be the map's own (struct gp_map_desc); the *_any forms take them from the
 * map.
 */
uint64_t gp_helper_map_lookup(struct gp_lane *lane, struct gp_map *map, const uint8_t *key, uint32_t type,
			      uint32_t key_size, uint32_t value_size, uint32_t max_entries, uint32_t num_cpus,
			      uint32_t num_buckets);
int64_t gp_helper_map_update(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
			     const uint8_t *value, uint64_t flags, uint32_t type, uint32_t key_size,
			     uint32_t value_size, uint32_t max_entries, uint32_t num_cpus,
			     uint32_t num_buckets);
int64_t gp_helper_map_delete(struct gp_lane *lane, struct gp_map *map, const uint8_t *key, uint32_t type,
			     uint32_t key_size, uint32_t value_size, uint32_t max_entries, uint32_t num_cpus,
			     uint32_t num_buckets);
uint64_t gp_helper_map_lookup_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key);
int64_t gp_helper_map_update_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				 const uint8_t *value, uint64_t flags);
int64_t gp_helper_map_delete_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key);

/* In a map of maps: the handle of the element (GP_REGION_INNERPTR0), or 0. */
uint64_t gp_helper_map_lookup_inner(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				    uint32_t type, uint32_t key_size, uint32_t value_size,
				    uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets);

/* In any map: a handle, or 0. @bias: gp_rt_map_bias(). */
uint64_t gp_helper_map_lookup_handle(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				     uint64_t bias);

/* As gp_helper_map_lookup(), another CPU's copy. */
uint64_t gp_helper_map_lookup_percpu(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
				     uint64_t cpu, uint32_t type, uint32_t key_size, uint32_t value_size,
				     uint32_t max_entries, uint32_t num_cpus, uint32_t num_buckets);
uint64_t gp_helper_map_lookup_percpu_any(struct gp_lane *lane, struct gp_map *map, const uint8_t *key,
					 uint64_t cpu);

/* Queues, stacks and Bloom filters. @value: value_size bytes; pop and peek fill it (a Bloom filter reads it). */
int64_t gp_helper_map_push(struct gp_lane *lane, struct gp_map *map, const uint8_t *value, uint64_t flags);
int64_t gp_helper_map_pop(struct gp_lane *lane, struct gp_map *map, uint8_t *value);
int64_t gp_helper_map_peek(struct gp_lane *lane, struct gp_map *map, uint8_t *value);

/* The verdict, XDP_REDIRECT where the map has that key. */
uint64_t gp_helper_redirect_map(struct gp_lane *lane, struct gp_map *map, uint64_t key, uint64_t flags,
				uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t max_entries,
				uint32_t num_cpus, uint32_t num_buckets);
uint64_t gp_helper_redirect_map_any(struct gp_lane *lane, struct gp_map *map, uint64_t key, uint64_t flags);

/*
 * gp_helper_tail_call() - @m: the map's number in the program. Return: a negative errno and the program goes on;
 * or the lane has the fault GP_FAULT_TAIL and the program has to be left.
 */
int64_t gp_helper_tail_call(struct gp_lane *lane, struct gp_map *map, uint32_t m, uint64_t index);

/*
 * Records. reserve: offset in the map's values, plus 1, or 0. submit and discard take the handle of what reserve
 * returned; not 0 where the lane has reserved no such record. @data is good for @size.
 */
uint64_t gp_helper_ringbuf_reserve(struct gp_lane *lane, struct gp_map *map, uint64_t size, uint64_t flags);
int64_t gp_helper_ringbuf_submit(struct gp_lane *lane, uint64_t record, uint64_t flags);
int64_t gp_helper_ringbuf_discard(struct gp_lane *lane, uint64_t record, uint64_t flags);
int64_t gp_helper_ringbuf_output(struct gp_lane *lane, struct gp_map *map, const uint8_t *data, uint64_t size,
				 uint64_t flags);
uint64_t gp_helper_ringbuf_query(struct gp_lane *lane, struct gp_map *map, uint64_t flags);
int64_t gp_helper_perf_output(struct gp_lane *lane, struct gp_map *map, uint64_t flags, const uint8_t *data,
			      uint64_t size);

/* gp_lane_end() - discard what a lane has left reserved; the loops call it behind every lane. */
void gp_lane_end(struct gp_lane *lane);

/* ------------------------------------------------------------------ helpers */

uint64_t gp_helper_ktime(struct gp_lane *lane); /* nanoseconds, monotonic */
uint64_t gp_helper_boot_time(struct gp_lane *lane); /* with the time that the host slept */
uint64_t gp_helper_jiffies(struct gp_lane *lane); /* 250 a second */
uint64_t gp_helper_numa_node(struct gp_lane *lane);
uint64_t gp_helper_buff_len(struct gp_lane *lane);
uint64_t gp_helper_prandom(struct gp_lane *lane); /* 32 bits */
uint64_t gp_helper_cpu(struct gp_lane *lane);
uint64_t gp_helper_redirect(struct gp_lane *lane, uint64_t ifindex, uint64_t flags);
int64_t gp_helper_adjust_head(struct gp_lane *lane, int64_t delta); /* low 32 bits count, as in the kernel */
int64_t gp_helper_adjust_tail(struct gp_lane *lane, int64_t delta);
int64_t gp_helper_adjust_meta(struct gp_lane *lane, int64_t delta);
int64_t gp_helper_load_bytes(struct gp_lane *lane, uint64_t offset, uint8_t *to, uint64_t len);
int64_t gp_helper_store_bytes(struct gp_lane *lane, uint64_t offset, const uint8_t *from, uint64_t len);

/* @from and @to are good for their sizes; NULL with size 0. Sizes beyond 512 in all: -EINVAL. */
int64_t gp_helper_csum_diff(struct gp_lane *lane, const uint8_t *from, uint64_t from_size, const uint8_t *to,
			    uint64_t to_size, uint64_t seed);

/* @string is a handle: a string ends with its region, too. */
int64_t gp_helper_strncmp(struct gp_lane *lane, const uint8_t *at, uint64_t size, uint64_t string);
int64_t gp_helper_trace(struct gp_lane *lane, const uint8_t *format, uint64_t size, uint64_t a, uint64_t b,
			uint64_t c);
int64_t gp_helper_fib_lookup(struct gp_lane *lane, uint8_t *params, uint64_t size, uint64_t flags);

/*
 * GPGPU_HELPERS of spec/gpgpu_bpf.h, by the same names: uint64_t gp_helper_<name>(lane, uint64_t a, b, c).
 * All take the lane first, and 64-bit registers as they are.
 */
uint64_t gp_helper_global_id(struct gp_lane *lane, uint64_t dimension);
uint64_t gp_helper_global_size(struct gp_lane *lane, uint64_t dimension);
uint64_t gp_helper_local_id(struct gp_lane *lane, uint64_t dimension);
uint64_t gp_helper_local_size(struct gp_lane *lane, uint64_t dimension);
uint64_t gp_helper_group_id(struct gp_lane *lane, uint64_t dimension);
uint64_t gp_helper_num_groups(struct gp_lane *lane, uint64_t dimension);

#define GP_FLOAT_HELPERS(bits)                                                                  \
	uint64_t gp_helper_fadd##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_fsub##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_fmul##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_fdiv##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_fma##bits(struct gp_lane *lane, uint64_t a, uint64_t b, uint64_t c); \
	uint64_t gp_helper_sqrt##bits(struct gp_lane *lane, uint64_t a);                        \
	uint64_t gp_helper_fmin##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_fmax##bits(struct gp_lane *lane, uint64_t a, uint64_t b);            \
	uint64_t gp_helper_flt##bits(struct gp_lane *lane, uint64_t a, uint64_t b);             \
	uint64_t gp_helper_fle##bits(struct gp_lane *lane, uint64_t a, uint64_t b);             \
	uint64_t gp_helper_feq##bits(struct gp_lane *lane, uint64_t a, uint64_t b);             \
	uint64_t gp_helper_fabs##bits(struct gp_lane *lane, uint64_t a);                        \
	uint64_t gp_helper_floor##bits(struct gp_lane *lane, uint64_t a);                       \
	uint64_t gp_helper_ceil##bits(struct gp_lane *lane, uint64_t a);                        \
	uint64_t gp_helper_trunc##bits(struct gp_lane *lane, uint64_t a);                       \
	uint64_t gp_helper_rint##bits(struct gp_lane *lane, uint64_t a)

GP_FLOAT_HELPERS(32);
GP_FLOAT_HELPERS(64);

uint64_t gp_helper_f32_from_s(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f32_from_u(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f64_from_s(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f64_from_u(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_s_from_f32(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_u_from_f32(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_s_from_f64(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_u_from_f64(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f64_from_f32(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f32_from_f64(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f32_from_f16(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f16_from_f32(struct gp_lane *lane, uint64_t a);
uint64_t gp_helper_f16_from_f64(struct gp_lane *lane, uint64_t a);

#define GP_MATH_HELPERS(bits)                                                        \
	uint64_t gp_helper_s32_from_f##bits(struct gp_lane *lane, uint64_t a);       \
	uint64_t gp_helper_u32_from_f##bits(struct gp_lane *lane, uint64_t a);       \
	uint64_t gp_helper_rsqrt##bits(struct gp_lane *lane, uint64_t a);            \
	uint64_t gp_helper_exp##bits(struct gp_lane *lane, uint64_t a);              \
	uint64_t gp_helper_exp2##bits(struct gp_lane *lane, uint64_t a);             \
	uint64_t gp_helper_log##bits(struct gp_lane *lane, uint64_t a);              \
	uint64_t gp_helper_log2##bits(struct gp_lane *lane, uint64_t a);             \
	uint64_t gp_helper_sin##bits(struct gp_lane *lane, uint64_t a);              \
	uint64_t gp_helper_cos##bits(struct gp_lane *lane, uint64_t a);              \
	uint64_t gp_helper_pow##bits(struct gp_lane *lane, uint64_t a, uint64_t b);  \
	uint64_t gp_helper_fmod##bits(struct gp_lane *lane, uint64_t a, uint64_t b); \
	uint64_t gp_helper_round##bits(struct gp_lane *lane, uint64_t a);            \
	uint64_t gp_helper_copysign##bits(struct gp_lane *lane, uint64_t a, uint64_t b)

GP_MATH_HELPERS(32);
GP_MATH_HELPERS(64);

#endif
