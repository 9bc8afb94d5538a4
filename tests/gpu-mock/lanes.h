/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h - what a launch does, in plain C, for GPUs that are none: the mock, and the one behind the fake driver of
 * tests/cuda-fake. Images are compiled for this machine.
 */
#ifndef GPU_MOCK_LANES_H
#define GPU_MOCK_LANES_H

#include <stdbool.h>
#include "jit/jit.h"
#include "rt/launch.h"

/*
 * lanes_run() - all lanes, beginning somewhere in the middle unless @in_order: nobody may rely on their order.
 * @image: NULL: @kernel, which is no program's.
 */
void lanes_run(struct gp_launch *launch, const struct gp_image *image, enum gp_kernel kernel, bool in_order);
/* lanes_move() - a copy, as an engine for that does it. */
void lanes_move(const struct gp_launch_copy *copy);
/* lanes_scribble() - as a program that had got out of its bounds: all over what came in. Only results are left. */
void lanes_scribble(struct gp_launch *launch);

#endif
