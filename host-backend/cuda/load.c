/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.c - what the compiler makes for these cards (PTX, which is text) ready to run.
 *
 * The text goes to the assembler, a process of its own (ptx.c), and comes back as machine code for this card; the
 * driver loads that as it is. It is asked for what it would need: registers, threads of a group, local memory, which the
 * driver gets for every lane that can be resident, so that a little of it is much.
 *
 * Threads: any.
 */
#include <stdio.h>
#include <string.h>
#include "cuda/private.h"
#include "jit/ptx_targets.h"

#define LOCAL_SHARE 8 /* part of the card's memory that local memory may take */

/* Return: whether a group of GP_CUDA_GROUP lanes runs, and the driver could get what lanes need of their own. */
static bool check_needs(struct gp_gpu *gpu, const struct gp_gpu_code *code, char why[GP_MESSAGE])
{
	int threads = 0, local = 0, regs = 0;

	if (gp_cuda_check(gpu,
			  gpu->cuda->cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
							code->function)) ||
	    gp_cuda_check(gpu, gpu->cuda->cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
							     code->function)) ||
	    gp_cuda_check(gpu,
			  gpu->cuda->cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, code->function))) {
		g_strlcpy(why, "the driver does not say what the code needs", GP_MESSAGE);
		return false;
	}
	if (code != gpu->clock && threads < (int)GP_CUDA_GROUP) {
		snprintf(why, GP_MESSAGE, "a group of it has at most %d lanes (%d registers), not %u",
			 threads, regs, GP_CUDA_GROUP);
		return false;
	}
	if (local < 0 || (uint64_t)local > gpu->bytes / LOCAL_SHARE / gpu->lanes) {
		snprintf(why, GP_MESSAGE,
			 "%d bytes of local memory for each of %" G_GUINT64_FORMAT " lanes are too much",
			 local, gpu->lanes);
		return false;
	}
	return true;
}

struct gp_gpu_code *gp_cuda_load_text(struct gp_gpu *gpu, const char *ptx, size_t size, char why[GP_MESSAGE])
{
	struct gp_gpu_code *code;
	char text[160];
	size_t cubin_size;
	void *cubin;
	CUresult ret;

	cubin = gp_ptx_assemble(gpu->ptx, ptx, size, gpu->sm, &cubin_size, why);
	if (!cubin)
		return NULL;
	code = g_new0(struct gp_gpu_code, 1);
	ret = gp_cuda_check(gpu, gpu->cuda->cuModuleLoadData(&code->module, cubin));
	if (ret)
		code->module = NULL;
	else
		ret = gp_cuda_check(gpu, gpu->cuda->cuModuleGetFunction(&code->function, code->module,
									GP_PTX_KERNEL));
	gp_ptx_release(cubin, cubin_size);
	if (!ret && check_needs(gpu, code, why))
		return code;
	if (ret)
		snprintf(why, GP_MESSAGE, "the driver does not load the code: %s",
			 gp_cuda_text(gpu->cuda, ret, text));
	gp_cuda_unload(gpu, code);
	return NULL;
}

struct gp_gpu_code *gp_cuda_load_image(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE])
{
	const char *text = image->code;
	uint32_t size = image->code_bytes;

	gp_cuda_enter(gpu);
	if (gp_cuda_is_lost(gpu))
		g_strlcpy(why, "the GPU is lost", GP_MESSAGE);
	else if (image->kind != GP_IMAGE_PTX || size < 2 || size > GP_PTX_MAX_BYTES ||
		 size > image->map_bytes || memchr(text, 0, size) != text + size - 1)
		snprintf(why, GP_MESSAGE, "an image of %u bytes that is no text for this GPU", size);
	else
		return gp_cuda_load_text(gpu, text, size - 1, why);
	return NULL;
}

void gp_cuda_unload(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	if (!code)
		return;
	gp_cuda_enter(gpu);
	if (code->module)
		gp_cuda_check(gpu, gpu->cuda->cuModuleUnload(code->module));
	g_free(code);
}
