/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * use.h - engines on the fake driver: "cuda-fake", which is "cuda" but that its programs are compiled for this machine, and
 * come to the fake's card as text that names their images.
 */
#ifndef CUDA_FAKE_USE_H
#define CUDA_FAKE_USE_H

#include "cuda/driver.h"
#include "engine/gpu.h"
#include "fake.h"

/* cuda_fake_ops() - for gp_gpu_register(). */
const struct gp_gpu_ops *cuda_fake_ops(void);

/* cuda_fake_plan() - the plan of the library that is found, which must be the fake. */
struct fake_plan *cuda_fake_plan(void);
uint32_t cuda_fake_calls(void);
void cuda_fake_trace(char text[FAKE_TRACE]);

#endif
