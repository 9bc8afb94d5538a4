/* SPDX-License-Identifier: BSD-3-Clause */
/* ops.h - AMD GPUs through libdrm_amdgpu, as the engine sees them; open.c says how they are found. */
#ifndef GPGPU_AMDGPU_OPS_H
#define GPGPU_AMDGPU_OPS_H

#include "engine/gpu.h"

extern const struct gp_gpu_ops gp_gpu_amdgpu;

#endif
