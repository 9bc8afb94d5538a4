/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prog.h - a BPF program as the engine hands it to the validator and to the compiler.
 *
 * Flat and free of pointers into other objects once serialised, since it crosses to the compiler
 * process. The engine builds it from a copy of the guest's bytes; map ids have already been replaced
 * by indices into `maps` (imm of ld_imm64 with src_reg 1 or 2).
 */
#ifndef GPGPU_BPF_PROG_H
#define GPGPU_BPF_PROG_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>
#include "rt/abi.h"
#include "virtio_gpgpu.h"

#define GP_MAX_INSNS 16384
#define GP_MESSAGE   256

struct gp_map_shape {
	uint32_t type, key_size, value_size, max_entries; /* type 0: none */
	uint32_t flags; /* VIRTIO_GPGPU_MAP_F_* */
	uint32_t reserved;
};

struct gp_map_desc {
	uint32_t type, key_size, value_size, max_entries;
	uint32_t stride, num_cpus, num_buckets; /* num_buckets: as in struct gp_map */
	uint32_t flags; /* VIRTIO_GPGPU_MAP_F_* */
	uint64_t values_size; /* of the region that programs see; 0: they see none */
	struct gp_map_shape inner; /* *_OF_MAPS: what its elements look like */
};

/* Whether programs may only read its values: a map's own for life, so that compiled code need not ask. */
static inline bool gp_map_frozen(const struct gp_map_desc *desc)
{
	return (desc->flags & VIRTIO_GPGPU_MAP_F_RDONLY_PROG) || desc->type == VIRTIO_GPGPU_MAP_DEVMAP ||
	       desc->type == VIRTIO_GPGPU_MAP_DEVMAP_HASH;
}

#define GP_PROG_LINES	   (1u << 0) /* say which instruction each piece of code is of; changes no code */
#define GP_PROG_INTERLEAVE (1u << 1) /* calls env->yield before each access to what lanes share; for tests */
#define GP_PROG_ALONE	   (1u << 2) /* one thread at a time runs programs on its maps: sums are not atomic */
#define GP_PROG_QUICK	   (1u << 3) /* code within milliseconds, a few times slower than what takes longer */

/* With GP_PROG_LINES: code from byte `offset` of the image on, up to the next such, is of instruction `insn`. */
struct gp_line {
	uint32_t offset;
	uint32_t insn; /* or GP_LINE_NONE: of the loop around the program, or of the run-time library */
};
#define GP_LINE_NONE UINT32_MAX

struct gp_prog {
	uint32_t kind; /* VIRTIO_GPGPU_PROG_* */
	uint32_t flags; /* GP_PROG_* */
	uint32_t num_insns;
	uint32_t num_maps;
	uint32_t num_args;
	const struct bpf_insn *insns;
	const struct gp_map_desc *maps;
	uint8_t arg_kind[16]; /* VIRTIO_GPGPU_ARG_* */
};

/* Why a program was refused, or OK. */
struct gp_verdict {
	uint32_t status; /* VIRTIO_GPGPU_S_* */
	uint32_t reason; /* VIRTIO_GPGPU_R_* */
	uint32_t insn; /* instruction index (slot) at fault */
	char message[GP_MESSAGE]; /* for a person: instruction, rule broken, what to change */
};

/*
 * gp_validate() - check a program's form (design: safety model 2).
 * @prog: the program; every field may be hostile.
 * @verdict: out: filled in either case.
 *
 * Return: true if the program may be compiled. Any thread; no side effects.
 */
bool gp_validate(const struct gp_prog *prog, struct gp_verdict *verdict);

#endif
