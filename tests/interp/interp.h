/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interp.h - a tiny reference interpreter for BPF: the second opinion of the tests.
 *
 * How it works: one item (a packet or a work item) runs at a time, one instruction at a time, with no
 * attempt at speed. Everything in here is written from RFC 9669 and from what bpf-helpers(7) says of the
 * helpers, never from the translator or its run-time library, so that the two share no mistake.
 *
 * Invariants: a pointer is (region, offset) packed into 64 bits, region in the top 16; a memory access
 * finds its bytes in one place, interp_mem(), which checks the range. No program can make the interpreter
 * touch other memory or run for ever: back edges and calls burn fuel. Region numbers differ from those of
 * the compiled code on purpose: a program whose output depends on a pointer's value shows as a mismatch.
 *
 * Ownership: the caller owns everything it passes in; maps are made and freed with the functions here.
 * Threads: none; one run at a time per environment.
 */
#ifndef TESTS_INTERP_H
#define TESTS_INTERP_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>

#define INTERP_MAX_MAPS 64
#define INTERP_MAX_ARGS 16

/* ------------------------------------------------------------------ maps
 * Simple models: linear search everywhere. Errors are the kernel's, negative errno.
 */
struct interp_map;

/*
 * interp_map_new() - make an empty map.
 * @type: VIRTIO_GPGPU_MAP_*, equal to the kernel's BPF_MAP_TYPE_*
 * @num_cpus: copies of a per-CPU array; ignored for other types
 * @rdonly: programs may not write values
 */
struct interp_map *interp_map_new(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t max_entries,
				  uint32_t num_cpus, bool rdonly);
void interp_map_free(struct interp_map *map);

/*
 * interp_map_lookup() - Return: the value of @key (of copy @cpu), or NULL. It stays valid until the map
 * is freed, but may then belong to another key.
 */
void *interp_map_lookup(struct interp_map *map, const void *key, uint32_t cpu);
int interp_map_update(struct interp_map *map, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu);
int interp_map_delete(struct interp_map *map, const void *key);

/*
 * QUEUE, STACK, BLOOM_FILTER. A bloom filter's peek asks whether *@value may be in it, and is never wrong here.
 * Return: 0, -ENOENT (and *@value is zeros), -E2BIG, -EINVAL.
 */
int interp_map_push(struct interp_map *map, const void *value, uint64_t flags);
int interp_map_pop(struct interp_map *map, void *value);
int interp_map_peek(struct interp_map *map, void *value);

/*
 * RINGBUF, PERF_EVENT_ARRAY. interp_map_record() - the @i-th that was reserved. Return: its @size bytes, or NULL if
 * it was not submitted.
 */
uint32_t interp_map_num_records(const struct interp_map *map);
const void *interp_map_record(const struct interp_map *map, uint32_t i, uint32_t *size);

/* interp_map_count() - elements in use; interp_map_at() - the @i-th of them, in no particular order. */
uint32_t interp_map_count(const struct interp_map *map);
void interp_map_at(const struct interp_map *map, uint32_t i, const void **key, const void **value,
		   uint32_t cpu);

/* ------------------------------------------------------------------ running */
/*
 * Added to what pointers look like as numbers; not while something runs. What a program does that treats pointers as
 * pointers is the same for all; one that comes out otherwise has made numbers of them, which nobody defines.
 * @offset: multiple of 8
 * @compiled_numbers: regions have the numbers of rt/abi.h, so that what is made of numbers is a pointer to the same as there
 */
extern struct interp_looks {
	uint64_t region, offset;
	bool compiled_numbers;
	uint32_t frame_gap; /* 0 or 512: bytes between frames that fault */
	bool numbers; /* out: pointers were treated as numbers, or used in ways that only layout decides */
} interp_looks;

struct interp_arg {
	uint8_t *base; /* buffer, or NULL for a value */
	uint64_t size; /* bytes */
	uint64_t value;
	bool writable;
};

struct interp_tail {
	const struct bpf_insn *insns;
	uint32_t num_insns;
};

enum interp_where {
	INTERP_NOWHERE,
	INTERP_CONTEXT,
	INTERP_STACK,
	INTERP_PACKET,
	INTERP_VALUE,
	INTERP_BUFFER
};

/* One instruction that was run: what was there before, and after. */
struct interp_step {
	const struct bpf_insn *insn;
	uint64_t dst, src, r0; /* before */
	uint64_t new_dst, new_r0;
	uint32_t pc, new_pc;
	uint32_t depth; /* frames, before: 1 in the main function */
	enum interp_where where; /* of a load or store */
	uint64_t address; /* offset there */
};

struct interp_env {
	/* Called behind every instruction that did not fault, if it is not NULL. */
	void (*trace)(void *opaque, const struct interp_step *step);
	void *trace_opaque;
	const struct bpf_insn *insns;
	uint32_t num_insns;
	const struct interp_tail *tails; /* what a PROG_ARRAY may name */
	uint32_t num_tails;
	struct interp_map *maps[INTERP_MAX_MAPS]; /* imm of ld_imm64 with src_reg 1 or 2 */
	uint32_t num_maps;
	uint64_t fuel; /* back edges taken and calls made */
	uint64_t max_steps; /* instructions; 0: no bound but the fuel */
	uint64_t ktime_ns; /* what the helpers answer */
	uint32_t random;
	uint32_t cpu;
	bool strict; /* reading a register that was not written is a fault, as the validator has it */
	struct interp_map *fib; /* of bpf_fib_lookup(), or NULL */
	uint64_t steps; /* out: instructions run */
};

struct interp_packet { /* in: as struct virtio_gpgpu_packet_desc */
	uint8_t *slot;
	uint32_t stride;
	uint32_t data_off, data_len;
	uint16_t meta_len, rx_queue;
	uint32_t ingress_port;
};

struct interp_grid {
	uint32_t size[3], group[3];
};

struct interp_result {
	uint64_t r0; /* what the program returned, all 64 bits */
	uint32_t verdict; /* XDP: R0, or XDP_ABORTED if it is none or the program faulted */
	uint32_t egress_port;
	uint32_t data_off, data_len;
	uint16_t meta_len;
	uint16_t fault; /* 0 or VIRTIO_GPGPU_R_* */
	uint32_t fault_insn;
};

/* interp_xdp() - run an XDP program on one packet. Return: true if it ended without a fault. */
bool interp_xdp(struct interp_env *env, const struct interp_packet *packet, struct interp_result *result);

/*
 * interp_item() - run a compute kernel for one work item.
 * @item: linear number, x fastest
 */
bool interp_item(struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		 const struct interp_grid *grid, uint64_t item, struct interp_result *result);

/*
 * interp_groups() - whether a kernel has to be run by groups: it has local memory or calls a helper of the group.
 * interp_group() - run group @number (x fastest) of it. @results: one for each item, in the order of their numbers in the
 * group.
 */
bool interp_groups(const struct bpf_insn *insns, uint32_t num_insns);
void interp_group(struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		  const struct interp_grid *grid, uint64_t number, struct interp_result *results);

/*
 * interp_alu() - one ALU or ALU64 instruction as a function, for tests of their own.
 * Return: false if the encoding is not in RFC 9669.
 */
bool interp_alu(const struct bpf_insn *insn, uint64_t dst, uint64_t src, uint64_t *result);
/* interp_jump() - Return: 1 taken, 0 not, -1 not a conditional jump of RFC 9669. */
int interp_jump(const struct bpf_insn *insn, uint64_t dst, uint64_t src);

#endif
