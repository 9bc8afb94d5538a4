/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ptx_wire.h - what travels between the device and gpgpu-ptx, the assembler's process.
 *
 * A socket of messages (SOCK_SEQPACKET). When it can serve, the process sends a reply with the number 0. A request has one
 * descriptor, a memory file with the text; the reply to it has the same number and, where there is code, one descriptor: a
 * sealed memory file with machine code. One request at a time; who has given up waiting for a reply passes it over.
 */
#ifndef GPGPU_CUDA_PTX_WIRE_H
#define GPGPU_CUDA_PTX_WIRE_H

#include <fcntl.h>
#include <stdint.h>
#include "bpf/prog.h"

#define GP_PTX_MAGIC	0x50504747u /* "GGPP" */
#define GP_PTX_SECONDS	60 /* by the clock, for one text */
#define GP_PTX_CODE_MAX (64u << 20)
#define GP_PTX_SEALS	(F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct gp_ptx_request {
	uint32_t magic;
	uint32_t number; /* not 0 */
	uint32_t sm; /* 10 * major + minor of the card */
	uint32_t size; /* bytes of text */
};

struct gp_ptx_reply {
	uint32_t magic;
	uint32_t number;
	uint32_t size; /* bytes of code; 0: none */
	uint32_t reserved;
	char why[GP_MESSAGE]; /* there is none */
};

#endif
