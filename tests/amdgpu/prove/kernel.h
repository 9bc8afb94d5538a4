/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.h - a compute kernel out of an object, as the wire protocol wants it. */
#ifndef PROVE_KERNEL_H
#define PROVE_KERNEL_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_MAX_ARGS 8
#define KERNEL_MAX_MAPS 4

/* Global data: one value, and what it is at the beginning (NULL: zero). */
struct kernel_map {
	uint32_t type, key_size, value_size, max_entries;
	void *data;
	size_t size;
};

struct kernel {
	struct bpf_insn *insns; /* the numbers of maps in them are indices into `maps` */
	uint32_t num_insns, num_args, num_maps;
	uint8_t arg_kind[KERNEL_MAX_ARGS];
	struct kernel_map maps[KERNEL_MAX_MAPS];
};

/* kernel_read() - the first program of an object. Return: NULL, or why not. kernel_free() - what it consists of. */
const char *kernel_read(const char *path, struct kernel *kernel);
void kernel_free(struct kernel *kernel);

#endif
