/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - what travels between the engine and gpgpu-jit.
 *
 * One request is one SOCK_SEQPACKET message: struct gp_jit_request with two descriptors, a memory
 * file that holds the program (struct gp_jit_prog, then maps, then instructions) and one end of a socket pair on
 * which the answer is wanted. So requests of several threads need no numbers, and a compiler that
 * dies is an end of file to whoever waits for it. The answer is struct gp_jit_reply, with the image's
 * sealed memory file if the status is OK, and with GP_PROG_LINES a second one: struct gp_line lines[num_lines].
 *
 * Both ends come from one build on one machine; the version guards against a compiler that was left running.
 */
#ifndef GPGPU_JIT_WIRE_H
#define GPGPU_JIT_WIRE_H

#include <fcntl.h>
#include "bpf/prog.h"

#define GP_JIT_MAGIC	 0x4a504747u /* "GGPJ" */
#define GP_JIT_VERSION	 4
#define GP_JIT_MAX_LINES (4u << 20)
#define GP_JIT_MAX_CODE	 (64u << 20)
#define GP_JIT_SEALS	 (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* For a compile that does not get on at all: a busy host gives it a small part of a processor. */
#define GP_JIT_WALL_SECONDS(cpu) (60 + 20 * (cpu))

#define GP_JIT_PROGRAM		 UINT32_MAX

struct gp_jit_request {
	uint32_t magic, version;
	uint32_t cpu_seconds;
	uint32_t kernel; /* GP_JIT_PROGRAM, or an enum gp_kernel that is no program's: the program is not looked at */
	uint64_t memory; /* bytes of address space */
	uint64_t size; /* bytes of the program's memory file */
};

struct gp_jit_prog {
	uint32_t kind, flags, num_insns, num_maps, num_args, reserved;
	uint8_t arg_kind[16];
	/* struct gp_map_desc maps[num_maps]; struct bpf_insn insns[num_insns] */
};

struct gp_jit_reply {
	uint32_t magic;
	uint32_t code_bytes;
	uint32_t entry;
	uint32_t num_lines;
	uint32_t frame_bytes;
	uint32_t vgprs, sgprs, vgpr_spills, sgpr_spills, scratch_bytes, lds_bytes;
	uint32_t kind; /* enum gp_image_kind */
	uint64_t cpu_ns;
	struct gp_verdict verdict;
};

static inline uint64_t gp_jit_prog_bytes(uint32_t num_maps, uint32_t num_insns)
{
	return sizeof(struct gp_jit_prog) + (uint64_t)num_maps * sizeof(struct gp_map_desc) +
	       (uint64_t)num_insns * sizeof(struct bpf_insn);
}

#endif
