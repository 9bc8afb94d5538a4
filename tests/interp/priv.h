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
#define MAX_FRAMES   8u
#define REGION_SHIFT 48

enum region {
	REGION_NONE = 0,
	REGION_CONTEXT = 0x0a01,
	REGION_STACK = 0x0a02,
	REGION_SLOT = 0x0a03,
	REGION_ARG = 0x0b00,
	REGION_VALUE = 0x0c00,
	REGION_MAP = 0x0d00,
};

#define POINTER(region, offset) ((uint64_t)(region) << REGION_SHIFT | (uint64_t)(offset))

struct interp_map {
	uint32_t type, key_size, value_size, max_entries;
	uint32_t stride; /* of a value */
	uint32_t copies;
	bool rdonly;
	uint8_t *keys;  /* max_entries * key_size; unused for arrays */
	uint8_t *used;  /* max_entries; unused for arrays */
	uint8_t *values; /* copies * max_entries * stride */
	uint64_t values_size;
};

struct frame {
	uint64_t saved[4]; /* R6-R9 of the caller */
	uint32_t back;  /* instruction after the call */
};

struct machine {
	struct interp_env *env;
	uint64_t reg[11];
	uint8_t stack[FRAME_BYTES * MAX_FRAMES];
	struct frame frame[MAX_FRAMES];
	uint32_t depth; /* frames above the main function's */
	uint32_t pc;
	uint64_t fuel;
	uint32_t fault; /* VIRTIO_GPGPU_R_*, 0 while all is well */
	/* XDP, else slot is NULL */
	const struct interp_packet *packet;
	uint32_t meta, data, end; /* offsets in the slot */
	uint32_t egress_port;
	/* compute, else grid is NULL */
	const struct interp_grid *grid;
	const struct interp_arg *args;
	uint32_t num_args;
	uint64_t global[3];
};

/*
 * interp_mem() - the one way to memory.
 * Return: @size bytes at pointer @address, or NULL with the machine's fault set.
 */
uint8_t *interp_mem(struct machine *m, uint64_t address, uint64_t size, bool write);
/* interp_context() - load @size bytes of the context at @offset. */
uint64_t interp_context(struct machine *m, uint64_t offset, uint32_t size);

/* interp_call() - helper @number with the arguments in R1-R5; sets R0 or the fault. */
void interp_call(struct machine *m, uint32_t number);
/* interp_float() - a helper of gpgpu_bpf.h that computes. Return: false if @number is none. */
bool interp_float(uint32_t number, const uint64_t *arg, uint64_t *result);

#endif
