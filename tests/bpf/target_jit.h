/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target_jit.h - what runs images of our compiler, for target_jit.c: this machine, or a simulated GPU (tests/amdgpu).
 */
#ifndef TESTS_BPF_TARGET_JIT_H
#define TESTS_BPF_TARGET_JIT_H

#include "jit/jit.h"
#include "target.h"

struct jit_device {
	const char *target; /* the compiler's; NULL: this machine */
	uint32_t cpu_seconds; /* of a compile; 0: as the compiler likes */
	/* Packets @first to @first + @count - 1, one after the other; in[] and out[] by packet. */
	void (*packets)(const struct gp_image *image, struct gp_env *env, const struct gp_packet_in *in,
			struct gp_packet_out *out, uint32_t first, uint32_t count);
	void (*grid)(const struct gp_image *image, struct gp_env *env, const struct gp_grid *grid,
		     uint64_t items, struct gp_faults *faults);
};

/* For the members of a struct target: one at a time. Return: as target->open(). */
const char *jit_device_open(const struct jit_device *device);
void jit_device_run(const struct jit_device *device, const struct run *run, struct outcome *outcome);
void jit_device_close(void);

#endif
