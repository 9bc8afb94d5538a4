// SPDX-License-Identifier: BSD-3-Clause
/*
 * fuzz_validate.c - libFuzzer target: any bytes to gp_validate().
 *
 * An input is a byte for the kind, a byte for the arguments, then instructions. Six maps of different shapes are there.
 * Checked, besides what the sanitizers see: a verdict either way, with a message that ends, and a second opinion
 * like the first. Accepted programs are run on the reference interpreter with a bounded number of steps: what validation
 * let through must be a program, so the interpreter must not meet an instruction, register, jump, helper or map that
 * does not exist.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/prog.h"
#include "interp.h"
#include "rt/maps.h"
#include "virtio_gpgpu.h"

#define NUM_MAPS  6
#define MAX_STEPS 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static const struct gp_map_desc shapes[NUM_MAPS] = {
	{ .type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .type = VIRTIO_GPGPU_MAP_HASH, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .type = VIRTIO_GPGPU_MAP_PERCPU_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4 },
	{ .type = VIRTIO_GPGPU_MAP_LPM_TRIE, .key_size = 8, .value_size = 4, .max_entries = 4 },
	{ .type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 64, .max_entries = 1 },
	{ .type = VIRTIO_GPGPU_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1,
	  .flags = VIRTIO_GPGPU_MAP_F_RDONLY_PROG },
};

/* Faults that a valid program may have when it runs. */
static bool may_happen(uint32_t fault)
{
	switch (fault) {
	case 0:
	case VIRTIO_GPGPU_R_OUT_OF_BOUNDS:
	case VIRTIO_GPGPU_R_OUT_OF_FUEL:
	case VIRTIO_GPGPU_R_MISALIGNED:
	/* Where a register may be a pointer of several kinds these are found at run time only. */
	case VIRTIO_GPGPU_R_HELPER_ARG:
	case VIRTIO_GPGPU_R_CTX_ACCESS:
		return true;
	}
	return false;
}

static void interpret(const struct gp_prog *prog)
{
	struct interp_env env = { .insns = prog->insns,
				  .num_insns = prog->num_insns,
				  .num_maps = NUM_MAPS,
				  .fuel = 100,
				  .max_steps = MAX_STEPS };
	uint8_t slot[512] = { 0 }, buffer[256] = { 0 };
	struct interp_packet packet = {
		.slot = slot, .stride = sizeof(slot), .data_off = 128, .data_len = 128, .meta_len = 8
	};
	struct interp_arg args[VIRTIO_GPGPU_MAX_ARGS] = { 0 };
	struct interp_grid grid = { { 2, 2, 2 }, { 1, 1, 1 } };
	struct interp_result result;

	for (int i = 0; i < NUM_MAPS; i++)
		env.maps[i] = interp_map_new(shapes[i].type, shapes[i].key_size, shapes[i].value_size,
					     shapes[i].max_entries, 1,
					     shapes[i].flags & VIRTIO_GPGPU_MAP_F_RDONLY_PROG);
	for (uint32_t i = 0; i < prog->num_args; i++) {
		args[i].value = 0x0102030405060708;
		if (prog->arg_kind[i] == VIRTIO_GPGPU_ARG_VALUE)
			continue;
		args[i].base = buffer;
		args[i].size = sizeof(buffer);
		args[i].writable = prog->arg_kind[i] == VIRTIO_GPGPU_ARG_BUFFER;
	}
	if (prog->kind == VIRTIO_GPGPU_PROG_XDP)
		interp_xdp(&env, &packet, &result);
	else
		interp_item(&env, args, prog->num_args, &grid, 5, &result);
	if (!may_happen(result.fault)) {
		fprintf(stderr, "accepted, but fault %u at instruction %u\n", result.fault,
			result.fault_insn);
		abort();
	}
	for (int i = 0; i < NUM_MAPS; i++)
		interp_map_free(env.maps[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_map_desc maps[NUM_MAPS];
	struct gp_verdict verdict, again;
	struct gp_prog prog = { .num_maps = NUM_MAPS, .maps = maps };
	struct bpf_insn *insns;
	bool valid;

	if (size < 2)
		return 0;
	memcpy(maps, shapes, sizeof(maps));
	for (int i = 0; i < NUM_MAPS; i++)
		CHECK(gp_map_check(&maps[i], 2) == VIRTIO_GPGPU_R_NONE);
	prog.kind = data[0] & 1 ? VIRTIO_GPGPU_PROG_GPGPU : VIRTIO_GPGPU_PROG_XDP;
	if (prog.kind == VIRTIO_GPGPU_PROG_GPGPU) {
		prog.num_args = data[1] % (VIRTIO_GPGPU_MAX_ARGS + 1);
		for (uint32_t i = 0; i < prog.num_args; i++)
			prog.arg_kind[i] = (uint8_t)(1 + (data[1] + i) % 3);
	}
	prog.num_insns = (uint32_t)((size - 2) / sizeof(struct bpf_insn));
	/* A copy of its own, so that a look behind its end is seen. */
	insns = malloc(prog.num_insns * sizeof(*insns) + 1);
	CHECK(insns);
	memcpy(insns, data + 2, prog.num_insns * sizeof(*insns));
	prog.insns = insns;
	memset(&verdict, 0xee, sizeof(verdict));
	memset(&again, 0x11, sizeof(again));
	valid = gp_validate(&prog, &verdict);
	CHECK(valid == (verdict.status == VIRTIO_GPGPU_S_OK));
	CHECK(valid ||
	      (verdict.reason && memchr(verdict.message, 0, sizeof(verdict.message)) && verdict.message[0]));
	CHECK(gp_validate(&prog, &again) == valid && again.reason == verdict.reason &&
	      (valid || again.insn == verdict.insn));
	if (valid)
		interpret(&prog);
	free(insns);
	return 0;
}
