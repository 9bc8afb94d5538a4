/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disassembler.h - what gpgpu-disasm reads: a struct disasm_head, its ranges, the code. It writes a line for each
 * machine instruction of the ranges: number of the BPF instruction, address, text.
 */
#ifndef GPGPU_BPF_DISASSEMBLER_H
#define GPGPU_BPF_DISASSEMBLER_H

#include <stdint.h>

#define DISASM_MAGIC 0x47504449u

struct disasm_head {
	uint32_t magic;
	uint32_t num_ranges, code_bytes, reserved;
	char target[32]; /* as caps have it: "x86_64" */
};

struct disasm_range {
	uint32_t offset, size;
	uint32_t insn;
};

#endif
