/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * harness.h - the AMD device on the software card (tests/amdgpu-sim), and code for it: what its tests have in common.
 *
 * One card at a time, in `gpu`. Everything here fails the test where it goes wrong.
 */
#ifndef TESTS_AMDGPU_HARNESS_H
#define TESTS_AMDGPU_HARNESS_H

#include "amdgpu/private.h"
#include "rt/abi.h"

#define SECOND 1000000000ull

extern const struct gp_gpu_ops *const ops;
extern struct gp_gpu_info info;
extern struct gp_gpu *gpu;

enum { KERNEL_COPY = 1, KERNEL_GATE, KERNEL_SCRATCH };

/* As kernels.c has it. */
struct args {
	uint64_t count;
	uint32_t *out;
	const uint32_t *in;
};

/* harness_start() - @objects: the directory with objects of kernels.c. */
void harness_start(const char *objects);
/* control() - tell the card: its README.md has the words. */
void control(const char *command);

void open_card(void);
void close_card(void);
struct gp_gpu_code *load(int kernel, char why[GP_MESSAGE]); /* may fail */
struct gp_gpu_code *must_load(int kernel);
void *must_alloc(uint64_t size, enum gp_gpu_mem mem);
int launch(struct gp_gpu_code *code, const void *args, uint32_t lanes, uint64_t *ticket);
/* wait_one() - Return: as wait(), once it is not 0, or 0 after 20 s. */
int wait_one(struct gp_gpu_end *end);
uint64_t now(void); /* ns */

/* Code that reads and writes memory of the card. */
struct copy {
	struct gp_gpu_code *code;
	struct args *args;
	uint32_t *in, *out;
	uint32_t count;
};

void make_copy(struct copy *c, uint32_t count);
void fill_copy(struct copy *c);
void free_copy(struct copy *c);
void run_copy(struct copy *c);
bool right_copy(const struct copy *c); /* what it wrote */

/* Code that waits until the CPU opens it: what is queued stays queued. */
struct gate {
	struct gp_gpu_code *code;
	struct args *args;
	volatile uint32_t *word;
	uint32_t *out;
};

void make_gate(struct gate *g);

/* recovered() - after a loss: a new context on which everything works; memory as it was, or zero. */
void recovered(struct copy *c, bool contents);

#endif
