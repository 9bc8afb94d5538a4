/* SPDX-License-Identifier: BSD-3-Clause */
/* priv.h - what the interpreter's own files share. */
#ifndef TESTS_INTERP_PRIV_H
#define TESTS_INTERP_PRIV_H

#include <errno.h>
#include <string.h>
#include "interp.h"
#include "virtio_gpgpu.h"

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* newer than the installed <linux/bpf.h> may be */
#endif

#define FRAME_BYTES  512u
#define FRAME_STEP   (FRAME_BYTES + interp_looks.frame_gap) /* from one frame to the next */
#define MAX_FRAMES   8u
#define REGION_SHIFT 48

/* Region numbers of our own, or those that compiled code has (interp_looks). */
#define REGION_NUMBER(own, compiled) (interp_looks.compiled_numbers ? (compiled) : (own))
#define REGION_CONTEXT		     REGION_NUMBER(0x0a01u, 1u)
#define REGION_STACK		     REGION_NUMBER(0x0a02u, 2u)
#define REGION_SLOT		     REGION_NUMBER(0x0a03u, 3u)
#define REGION_LOCAL		     REGION_NUMBER(0x0a04u, 3u)
#define REGION_ARG		     REGION_NUMBER(0x0b00u, 8u)
#define REGION_VALUE		     REGION_NUMBER(0x0c00u, 32u)
#define REGION_MAP		     REGION_NUMBER(0x0d00u, 4096u)
#define REGION_FUNC		     REGION_NUMBER(0x0e00u, 0x0e00u) /* offset: instruction */

/* How pointers look, and what they mean. interp_looks moves the numbers, not the meaning. */
#define POINTER(number, at)                                             \
	((((uint64_t)(number) + interp_looks.region) << REGION_SHIFT) + \
	 ((uint64_t)(at) + interp_looks.offset))
#define POINTER_REGION(pointer) (((pointer) >> REGION_SHIFT) - interp_looks.region)
#define POINTER_OFFSET(pointer) (((pointer) & ((1ull << REGION_SHIFT) - 1)) - interp_looks.offset)

enum interp_record_state { INTERP_RECORD_OPEN, INTERP_RECORD_KEPT, INTERP_RECORD_GONE };

struct interp_record {
	uint64_t offset; /* in `values` */
	uint32_t size;
	enum interp_record_state state;
};

struct interp_map {
	uint32_t type, key_size, value_size, max_entries;
	uint32_t stride; /* of a value */
	uint32_t copies;
	bool rdonly;
	uint8_t *keys;  /* max_entries * key_size; unused for arrays */
	uint8_t *used;  /* max_entries; unused for arrays */
	uint8_t *values; /* copies * max_entries * stride; of records: a ring that is used once */
	uint64_t values_size;
	/* LRU: when each was used last */
	uint64_t *stamps, now;
	bool evicted; /* an LRU forgot something */
	/* queue, stack: a ring in `values` */
	uint32_t first, count;
	/* bloom filter: what it holds, exactly */
	uint8_t *set;
	uint32_t set_size;
	struct interp_record *records;
	uint32_t num_records;
	uint64_t records_end, lost;
};

struct frame {
	uint64_t saved[4]; /* R6-R9 of the caller */
	uint32_t back;  /* instruction after the call */
	uint32_t written;
	bool callback; /* a helper called */
};

struct machine {
	struct interp_env *env;
	uint64_t reg[11];
	uint8_t stack[2 * FRAME_BYTES * MAX_FRAMES]; /* with room for gaps */
	struct frame frame[MAX_FRAMES];
	uint32_t depth; /* frames above the main function's */
	uint32_t pc;
	uint64_t fuel;
	uint32_t fault; /* VIRTIO_GPGPU_R_*, 0 while all is well */
	uint32_t written; /* bit per register that holds something; all of them unless strict */
	/* the program that runs, which a tail call changes */
	const struct bpf_insn *insns;
	uint32_t num_insns, tail_calls;
	bool tailed; /* by the helper that was just called */
	/* XDP, else slot is NULL */
	const struct interp_packet *packet;
	uint32_t meta, data, end; /* offsets in the slot */
	uint32_t egress_port;
	/* compute, else grid is NULL */
	const struct interp_grid *grid;
	const struct interp_arg *args;
	uint32_t num_args;
	uint64_t global[3];
	/* group programs */
	uint8_t *local;
	uint64_t local_size;
	uint32_t wait; /* helper of the group that the item has come to, or 0 */
	uint64_t give, second; /* its arguments */
	bool ended;
};

/* interp_begin() - an item at its start. interp_go_on() - until it ends, faults, or waits. */
void interp_begin(struct machine *m, struct interp_env *env, const struct interp_arg *args, uint32_t num_args,
		  const struct interp_grid *grid, uint64_t item);
void interp_go_on(struct machine *m);

/*
 * interp_mem() - the one way to memory.
 * Return: @size bytes at pointer @address, or NULL with the machine's fault set.
 */
uint8_t *interp_mem(struct machine *m, uint64_t address, uint64_t size, bool write);
/* interp_context() - load @size bytes of the context at @offset. */
uint64_t interp_context(struct machine *m, uint64_t offset, uint32_t size);

/*
 * interp_callback() - run the subprogram at instruction @target with R1 and R2 set.
 * Return: its R0; 0 with the machine's fault set.
 */
uint64_t interp_callback(struct machine *m, uint32_t target, uint64_t r1, uint64_t r2);
/* interp_tail() - go on with another program from its start. */
void interp_tail(struct machine *m, const struct interp_tail *tail);

/* maps.c */
bool interp_map_is_records(const struct interp_map *map);
/* Return: offset of @size bytes in the map's values, or -1 if there is no room. */
int64_t interp_map_reserve(struct interp_map *map, uint64_t size);
/* Return: false if no open record starts at @offset. */
bool interp_map_commit(struct interp_map *map, uint64_t offset, bool keep);
void interp_map_discard_open(struct interp_map *map);

/* helpers_maps.c. Return: false if @number is none of its helpers. */
bool interp_map_helper(struct machine *m, uint32_t number, const uint64_t *arg);
/* interp_map_arg() - the map a pointer names. Return: NULL with the machine's fault set if it names none. */
struct interp_map *interp_map_arg(struct machine *m, uint64_t pointer, uint32_t *index);

/* interp_call() - helper @number with the arguments in R1-R5; sets R0 or the fault. */
void interp_call(struct machine *m, uint32_t number);
/* interp_float() - a helper of gpgpu_bpf.h that computes. Return: false if @number is none. */
bool interp_float(uint32_t number, const uint64_t *arg, uint64_t *result);

#endif
