/* SPDX-License-Identifier: BSD-3-Clause */
/* use.c - see use.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/ops.h"
#include "use.h"

#define TEXT                                                       \
	".version 7.8\n.target sm_90\n.address_size 64\n" FAKE_RUN \
	"%llx %u\n.visible .entry gp_kernel(.param .u64 launch)\n{\n\tret;\n}\n"

static GMutex lock;
static GHashTable *images; /* of code, what it runs */

/* Data and functions have addresses alike wherever there is dlsym(). */
static void look_up(const char *name, void *to)
{
	static void *library;
	void *symbol;

	g_mutex_lock(&lock);
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, name) : NULL;
	g_mutex_unlock(&lock);
	if (!symbol) {
		fprintf(stderr, "the libcuda.so.1 that is found is not the fake: LD_LIBRARY_PATH\n");
		abort();
	}
	memcpy(to, &symbol, sizeof(symbol));
}

struct fake_plan *cuda_fake_plan(void)
{
	struct fake_plan *plan;

	look_up(FAKE_PLAN, &plan);
	return plan;
}

uint32_t cuda_fake_calls(void)
{
	fake_calls_fn *calls;

	look_up(FAKE_CALLS, &calls);
	return calls();
}

void cuda_fake_trace(char text[FAKE_TRACE])
{
	fake_take_trace_fn *take;

	look_up(FAKE_TAKE_TRACE, &take);
	take(text);
}

static struct gp_gpu *fake_open(const char *where, struct gp_gpu_info *info, GError **error)
{
	struct gp_gpu *gpu;

	cuda_fake_plan();
	gpu = gp_gpu_cuda.open(where, info, error);
	if (!gpu)
		return NULL;
	g_strlcpy(info->target, "x86_64", sizeof(info->target));
	g_strlcpy(info->title, "cuda-fake: a card that is none", sizeof(info->title));
	info->cpus = 2;
	return gpu;
}

static struct gp_gpu_code *load(struct gp_gpu *gpu, const struct gp_image *image, enum gp_kernel kernel,
				char why[GP_MESSAGE])
{
	char *text = g_strdup_printf(TEXT, (unsigned long long)(uintptr_t)image, kernel);
	struct gp_image made = { .kind = GP_IMAGE_PTX,
				 .code = text,
				 .code_bytes = (uint32_t)strlen(text) + 1,
				 .map_bytes = strlen(text) + 1 };
	struct gp_gpu_code *code = gp_gpu_cuda.load(gpu, &made, why);

	g_free(text);
	if (!code || !image)
		return code;
	g_mutex_lock(&lock);
	if (!images)
		images = g_hash_table_new(NULL, NULL);
	g_hash_table_insert(images, code, gp_image_ref((struct gp_image *)(uintptr_t)image));
	g_mutex_unlock(&lock);
	return code;
}

static struct gp_gpu_code *fake_load(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE])
{
	return load(gpu, image, GP_KERNEL_PACKETS, why);
}

static struct gp_gpu_code *fake_builtin(struct gp_gpu *gpu, enum gp_kernel kernel)
{
	char why[GP_MESSAGE];

	return load(gpu, NULL, kernel, why);
}

static void fake_unload(struct gp_gpu *gpu, struct gp_gpu_code *code)
{
	struct gp_image *image = NULL;

	g_mutex_lock(&lock);
	if (images)
		g_hash_table_steal_extended(images, code, NULL, (void **)&image);
	g_mutex_unlock(&lock);
	gp_gpu_cuda.unload(gpu, code);
	if (image)
		gp_image_unref(image);
}

static int fake_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd)
{
	return getenv("GPGPU_MOCK_NO_SHARE") ? -1 : gp_gpu_cuda.share(gpu, at, size, fd);
}

/* Asked for, and not used: programs read this machine's counter. */
static bool fake_ticks(struct gp_gpu *gpu, uint64_t *ticks)
{
	gp_gpu_cuda.ticks(gpu, ticks);
	return false;
}

const struct gp_gpu_ops *cuda_fake_ops(void)
{
	static struct gp_gpu_ops ops;

	ops = gp_gpu_cuda;
	ops.name = "cuda-fake";
	ops.open = fake_open;
	ops.share = fake_share;
	ops.load = fake_load;
	ops.unload = fake_unload;
	ops.builtin = fake_builtin;
	ops.ticks = fake_ticks;
	return &ops;
}
