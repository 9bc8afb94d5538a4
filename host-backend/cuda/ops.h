/* SPDX-License-Identifier: BSD-3-Clause */
/* ops.h - NVIDIA GPUs through the CUDA driver, as the engine sees them; open.c says how they are found. */
#ifndef GPGPU_CUDA_OPS_H
#define GPGPU_CUDA_OPS_H

#include "engine/gpu.h"

extern const struct gp_gpu_ops gp_gpu_cuda;

#endif
