/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lost.c - what an error of the driver's means for the queue.
 *
 * The driver has two kinds of error. Most say that a call was not done, and nothing else has changed. A few
 * end the context: from then on every call returns the same error, whatever it is about, and no context can be made in
 * this process any more. Which these are is the table below; by whose fault is the driver's word for what happened, since the
 * context is ours alone: a kernel of ours is what faults in it.
 *
 * So recover() cannot give the engine a queue again. It says that the card is there but what memory held is gone, upon
 * which the engine gives up everything that it has, and its process ends (device_gpu.c, worker/connection.c); the next one
 * begins anew. Only where the card itself is gone it says so.
 */
#include <string.h>
#include "cuda/private.h"

static const struct {
	CUresult error;
	enum gp_gpu_state state;
} fatal[] = {
	/* by what a kernel did */
	{ CUDA_ERROR_ILLEGAL_ADDRESS, GP_GPU_GUILTY },
	{ CUDA_ERROR_LAUNCH_TIMEOUT, GP_GPU_GUILTY },
	{ CUDA_ERROR_ASSERT, GP_GPU_GUILTY },
	{ CUDA_ERROR_HARDWARE_STACK_ERROR, GP_GPU_GUILTY },
	{ CUDA_ERROR_ILLEGAL_INSTRUCTION, GP_GPU_GUILTY },
	{ CUDA_ERROR_MISALIGNED_ADDRESS, GP_GPU_GUILTY },
	{ CUDA_ERROR_INVALID_ADDRESS_SPACE, GP_GPU_GUILTY },
	{ CUDA_ERROR_INVALID_PC, GP_GPU_GUILTY },
	{ CUDA_ERROR_LAUNCH_FAILED, GP_GPU_GUILTY },
	/* by somebody or something else */
	{ CUDA_ERROR_ECC_UNCORRECTABLE, GP_GPU_INNOCENT },
	{ CUDA_ERROR_NVLINK_UNCORRECTABLE, GP_GPU_INNOCENT },
	{ CUDA_ERROR_CONTAINED, GP_GPU_INNOCENT },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED, GP_GPU_INNOCENT },
	{ CUDA_ERROR_INVALID_CONTEXT, GP_GPU_INNOCENT },
	{ CUDA_ERROR_UNKNOWN, GP_GPU_INNOCENT },
	/* no card any more */
	{ CUDA_ERROR_DEINITIALIZED, GP_GPU_GONE },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, GP_GPU_GONE },
	{ CUDA_ERROR_NO_DEVICE, GP_GPU_GONE },
	{ CUDA_ERROR_INVALID_DEVICE, GP_GPU_GONE },
	{ CUDA_ERROR_SYSTEM_NOT_READY, GP_GPU_GONE },
};

static enum gp_gpu_state state_of(CUresult error)
{
	for (size_t i = 0; i < G_N_ELEMENTS(fatal); i++)
		if (fatal[i].error == error)
			return fatal[i].state;
	return GP_GPU_OK;
}

void gp_cuda_lost(struct gp_gpu *gpu, CUresult error)
{
	enum gp_gpu_state state = state_of(error);

	/* One that is not in the table, but for which there is no way on. */
	if (state == GP_GPU_OK)
		state = GP_GPU_INNOCENT;
	if (!g_atomic_int_compare_and_exchange(&gpu->state, GP_GPU_OK, (int)state))
		return;
	gp_cuda_text(gpu->cuda, error, gpu->lost_by);
	g_info("cuda: the context is lost: %s", gpu->lost_by);
	gp_cuda_wake(gpu);
}

CUresult gp_cuda_check(struct gp_gpu *gpu, CUresult error)
{
	if (error && state_of(error) != GP_GPU_OK)
		gp_cuda_lost(gpu, error);
	return error;
}

enum gp_gpu_state gp_cuda_state(struct gp_gpu *gpu)
{
	return (enum gp_gpu_state)g_atomic_int_get(&gpu->state);
}

bool gp_cuda_recover(struct gp_gpu *gpu, bool *contents)
{
	enum gp_gpu_state state = gp_cuda_state(gpu);

	*contents = state == GP_GPU_OK;
	return state != GP_GPU_GONE;
}
