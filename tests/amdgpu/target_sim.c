// SPDX-License-Identifier: BSD-3-Clause
/*
 * target_sim.c - images for AMD GPUs on the simulator of the instruction set: targets for tests/bpf's vectors and random
 * programs. A run's packets are one part, that is one after the other on one lane; a grid's items are lanes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/target_jit.h"
#include "launch.h"

static void run(const struct gp_generation *gen, const struct gp_image *image, struct gp_launch *launch)
{
	static const struct sim_options options = { .max_instructions = 200000000 };
	char why[256];

	if (launch_run(gen, image, launch, &options, NULL, why))
		return;
	fprintf(stderr, "%s: %s\n", gen->name, why);
	abort();
}

static struct gp_launch prepare(const struct gp_env *env, uint64_t count)
{
	return (struct gp_launch){ .env = *env,
				   .num_cpus = RUN_CPUS,
				   .count = count,
				   .seed = 0x1234567,
				   .fault_first = UINT64_MAX };
}

static void packets(const struct gp_generation *gen, const struct gp_image *image, struct gp_env *env,
		    const struct gp_packet_in *in, struct gp_packet_out *out, uint32_t first, uint32_t count)
{
	struct gp_launch_part part = { .next = first, .end = first + count };
	struct gp_launch launch = prepare(env, 1);

	launch.in = in;
	launch.out = out;
	launch.parts = &part;
	for (uint32_t i = 0; i < count; i++)
		run(gen, image, &launch);
	if (part.ran != count)
		abort();
}

static void grid(const struct gp_generation *gen, const struct gp_image *image, struct gp_env *env,
		 const struct gp_grid *size, uint64_t items, struct gp_faults *faults)
{
	struct gp_launch launch = prepare(env, items);

	launch.grid = *size;
	run(gen, image, &launch);
	faults->count = launch.fault_count;
	if (!faults->count)
		return;
	faults->first = launch.fault_first >> 32;
	faults->reason = launch.fault_first >> 16 & 0xffff;
	faults->insn = launch.fault_first & 0xffff;
}

#define SIM_TARGET(gfx)                                                                                      \
	static void gfx##_packets(const struct gp_image *image, struct gp_env *env,                          \
				  const struct gp_packet_in *in, struct gp_packet_out *out, uint32_t first,  \
				  uint32_t count)                                                            \
	{                                                                                                    \
		packets(gp_generation_find(#gfx), image, env, in, out, first, count);                        \
	}                                                                                                    \
                                                                                                             \
	static void gfx##_grid(const struct gp_image *image, struct gp_env *env, const struct gp_grid *size, \
			       uint64_t items, struct gp_faults *faults)                                     \
	{                                                                                                    \
		grid(gp_generation_find(#gfx), image, env, size, items, faults);                             \
	}                                                                                                    \
                                                                                                             \
	static const struct jit_device gfx##_device = {                                                      \
		.target = #gfx, .cpu_seconds = 60, .packets = gfx##_packets, .grid = gfx##_grid              \
	};                                                                                                   \
                                                                                                             \
	static const char *gfx##_open(void)                                                                  \
	{                                                                                                    \
		return jit_device_open(&gfx##_device);                                                       \
	}                                                                                                    \
                                                                                                             \
	static void gfx##_run(const struct run *run, struct outcome *outcome)                                \
	{                                                                                                    \
		jit_device_run(&gfx##_device, run, outcome);                                                 \
	}                                                                                                    \
                                                                                                             \
	static const struct target target_##gfx = { .name = #gfx,                                            \
						    .open = gfx##_open,                                      \
						    .run = gfx##_run,                                        \
						    .close = jit_device_close,                               \
						    .validates = true }

SIM_TARGET(gfx900);
SIM_TARGET(gfx1030);

const struct target *const targets[] = { &target_interp, &target_gfx900, &target_gfx1030 };
const uint32_t num_targets = sizeof(targets) / sizeof(targets[0]);

const struct target *target_find(const char *name)
{
	for (uint32_t i = 0; i < num_targets; i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}
