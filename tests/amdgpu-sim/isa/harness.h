/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * harness.h - for tests of the instruction side: memory of a few regions where an address is the host's own, code
 * objects as clang writes them, and launches of their kernels.
 */
#ifndef AMDGPU_SIM_HARNESS_H
#define AMDGPU_SIM_HARNESS_H

#include "isa.h"

struct region {
	uint64_t base;
	size_t size;
	uint32_t allowed; /* SIM_READ, SIM_WRITE, SIM_EXECUTE */
};

struct harness {
	enum sim_gfx gfx;
	uint32_t wave;
	struct sim_machine *machine;
	struct sim_counts counts;
	struct sim_fault fault;
	struct region region[16];
	unsigned int regions;
	void *memory[16];
	unsigned int memories;
	uint8_t *object; /* code object loaded */
	size_t object_size;
};

/* harness_open() - @options may be NULL. harness_close() frees all that came from harness_memory(). */
void harness_open(struct harness *h, enum sim_gfx gfx, uint32_t wave, const struct sim_options *options);
void harness_close(struct harness *h);
/* harness_memory() - page-aligned, filled with @fill. */
void *harness_memory(struct harness *h, size_t size, uint32_t allowed, uint8_t fill);
/* harness_load() - the object file at @path; Return: false if it can't be read. */
bool harness_load(struct harness *h, const char *path);

struct launch {
	const char *kernel;
	const void *args; /* kernarg segment, in harness_memory() */
	uint32_t groups, group_size;
};

/* harness_launch() - Return: sim_run()'s; false too if there is no such kernel. */
bool harness_launch(struct harness *h, const struct launch *l);
/* harness_symbol() - the bytes from symbol @name on of the object loaded. Return: NULL if there is no such symbol. */
const uint8_t *harness_symbol(const struct harness *h, const char *name, size_t *size);
/* harness_run() - the code at symbol @name; @d lacks only its address and the generation. Return: sim_run()'s. */
bool harness_run(struct harness *h, const char *name, struct sim_dispatch *d);
/*
 * harness_snippet() - runs the code at symbol @name of the object loaded: one group of @waves.
 * Return: sim_run()'s.
 */
bool harness_snippet(struct harness *h, const char *name, const uint32_t user_data[16], uint32_t rsrc1,
		     uint32_t rsrc2, uint32_t waves);
/* harness_coverage() - mnemonics (by encoding) that a generation has, and how many of them are executed. */
void harness_coverage(enum sim_gfx gfx, unsigned int *all, unsigned int *done);

#endif
