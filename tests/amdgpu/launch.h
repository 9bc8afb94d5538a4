/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.h - runs an image on the simulator of the instruction set, on this process's own memory. */
#ifndef TESTS_AMDGPU_LAUNCH_H
#define TESTS_AMDGPU_LAUNCH_H

#include "amdgpu/generations.h"
#include "amdgpu-sim/isa/isa.h"
#include "jit/jit.h"

/*
 * launch_run() - what a device does with a launch: as many groups as @launch->count asks for, of one wave each, by the
 * kernel descriptor at the image's entry.
 * @options: may be NULL; @counts: added to, may be NULL.
 *
 * Return: true; false with the fault's text in @why.
 */
bool launch_run(const struct gp_generation *gen, const struct gp_image *image, struct gp_launch *launch,
		const struct sim_options *options, struct sim_counts *counts, char why[256]);

/* launch_can() - whether the simulator has the generation. */
bool launch_can(const struct gp_generation *gen);

#endif
