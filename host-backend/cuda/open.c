/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * open.c - finding a card, and saying what it is or why it will not do.
 *
 * A card is named by its number (the driver's, in the order of the bus), its UUID as nvidia-smi has it, or its PCI address;
 * without a name the first that will do is taken, and where none does the reasons of all are given. All that needs a path or
 * a process happens here, before the worker's sandbox closes: the driver's library, its nodes and threads, the assembler's
 * process, a context, a first launch. Later there are calls that come down to ioctl() on open descriptors and mmap().
 *
 * One process has one card and one context on it, which nobody shares: a fault of a kernel ends the context and all that
 * the process could do with the driver (lost.c), so what must not end together must not be in one process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/private.h"
#include "jit/ptx_targets.h"

#define FAIL(error, code, ...) g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_##code, __VA_ARGS__)

#define UUID_TEXT	       40 /* "GPU-" and 32 digits in five groups */
#define BUS_TEXT	       32

/* What a card must have, and what it is said to lack. */
static const struct {
	int attribute;
	const char *what;
} wanted[] = {
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "one address for CPU and GPU" },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, "the host's memory in place" },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, "the host's memory at its address" },
	{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "memory at addresses of our choice" },
};

static int attribute(const struct gp_cuda *cuda, CUdevice device, int which)
{
	int value = 0;

	return cuda->cuDeviceGetAttribute(&value, which, device) ? 0 : value;
}

static bool get_uuid(const struct gp_cuda *cuda, CUdevice device, char text[UUID_TEXT + 1])
{
	CUuuid uuid;
	int at;

	if (cuda->cuDeviceGetUuid_v2(&uuid, device))
		return false;
	at = sprintf(text, "GPU-");
	for (int i = 0; i < 16; i++)
		at += sprintf(text + at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      uuid.bytes[i]);
	return true;
}

/* Both as the driver writes it, "0000:65:00.0"; some write eight digits first, or none. */
static bool same_bus(const char *a, const char *b)
{
	unsigned int x[4], y[4];

	if (sscanf(a, "%x:%x:%x.%x", &x[0], &x[1], &x[2], &x[3]) != 4) {
		x[0] = 0;
		if (sscanf(a, "%x:%x.%x", &x[1], &x[2], &x[3]) != 3)
			return false;
	}
	return sscanf(b, "%x:%x:%x.%x", &y[0], &y[1], &y[2], &y[3]) == 4 && !memcmp(x, y, sizeof(x));
}

/* Is it the one that is asked for? */
static bool is_named(const struct gp_cuda *cuda, CUdevice device, int number, const char *where)
{
	char text[MAX(UUID_TEXT, BUS_TEXT) + 1], *end;
	long index = strtol(where, &end, 10);

	if (!*end && end != where)
		return index == number;
	if (!g_ascii_strncasecmp(where, "GPU-", 4))
		return get_uuid(cuda, device, text) && !g_ascii_strcasecmp(text, where);
	return !cuda->cuDeviceGetPCIBusId(text, BUS_TEXT, device) && same_bus(where, text);
}

static bool is_name(const char *where)
{
	unsigned int part[4];
	char *end;

	if (strtol(where, &end, 10) >= 0 && !*end && end != where)
		return true;
	return !g_ascii_strncasecmp(where, "GPU-", 4) ||
	       sscanf(where, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) == 4 ||
	       sscanf(where, "%x:%x.%x", &part[0], &part[1], &part[2]) == 3;
}

static void describe(struct gp_gpu *gpu, const struct gp_ptx_target *target, struct gp_gpu_info *info)
{
	char name[48] = "NVIDIA GPU", *title;
	int version = gpu->cuda->version;

	gpu->cuda->cuDeviceGetName(name, sizeof(name), gpu->device);
	title = g_strdup_printf("cuda %d.%d: %.32s, sm_%u, %u GiB", version / 1000, version % 1000 / 10, name,
				gpu->sm, (unsigned int)((gpu->bytes + (1u << 29)) >> 30));
	g_strlcpy(info->title, title, sizeof(info->title));
	g_free(title);
	g_strlcpy(info->target, target->name, sizeof(info->target));
	info->wave = GP_PTX_WAVE;
	info->group = GP_CUDA_GROUP;
	info->waves = (uint32_t)(gpu->lanes / GP_PTX_WAVE);
	info->depth = GP_CUDA_DEPTH;
	info->memory = gpu->bytes;
	info->tick_hz = 1000000000;
}

static void gpu_close(struct gp_gpu *gpu)
{
	if (gpu->context) {
		gp_cuda_enter(gpu);
		gp_cuda_clock_close(gpu);
		gp_cuda_queue_close(gpu);
		gp_cuda_memory_close(gpu);
		gpu->cuda->cuCtxDestroy_v2(gpu->context);
	}
	gp_ptx_free(gpu->ptx);
	g_hash_table_destroy(gpu->allocated);
	g_ptr_array_free(gpu->chunks, true);
	g_ptr_array_free(gpu->shares, true);
	g_mutex_clear(&gpu->memory);
	g_mutex_clear(&gpu->writing);
	g_mutex_clear(&gpu->queue);
	g_mutex_clear(&gpu->waking);
	g_cond_clear(&gpu->woken_cond);
	g_free(gpu);
}

static struct gp_gpu *gpu_new(const struct gp_cuda *cuda, CUdevice device)
{
	struct gp_gpu *gpu = g_new0(struct gp_gpu, 1);

	gpu->cuda = cuda;
	gpu->device = device;
	gpu->allocated = g_hash_table_new(NULL, NULL);
	gpu->chunks = g_ptr_array_new();
	gpu->shares = g_ptr_array_new();
	g_mutex_init(&gpu->memory);
	g_mutex_init(&gpu->writing);
	g_mutex_init(&gpu->queue);
	g_mutex_init(&gpu->waking);
	g_cond_init(&gpu->woken_cond);
	return gpu;
}

/* Return: what its code is compiled for; NULL where it will not do. */
static const struct gp_ptx_target *judge(struct gp_gpu *gpu, GError **error)
{
	const struct gp_cuda *cuda = gpu->cuda;
	uint32_t major = (uint32_t)attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	uint32_t minor = (uint32_t)attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	const struct gp_ptx_target *target = gp_ptx_target_for(major, minor);
	size_t bytes = 0;

	gpu->sm = 10 * major + minor;
	gpu->lanes =
		(uint64_t)attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
		(uint64_t)attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
	gpu->read_only = attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
	if (!target) {
		FAIL(error, NODEV, "compute capability %u.%u is too old", major, minor);
		return NULL;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
		if (attribute(cuda, gpu->device, wanted[i].attribute))
			continue;
		FAIL(error, NOSYS, "it does not have %s", wanted[i].what);
		return NULL;
	}
	if (cuda->cuDeviceTotalMem_v2(&bytes, gpu->device) || !bytes || !gpu->lanes ||
	    attribute(cuda, gpu->device, CU_DEVICE_ATTRIBUTE_WARP_SIZE) != GP_PTX_WAVE) {
		FAIL(error, IO,
		     "the driver says of it that it has no memory, no processors or no waves of %d lanes",
		     GP_PTX_WAVE);
		return NULL;
	}
	gpu->bytes = bytes;
	return target;
}

static struct gp_gpu *open_device(const struct gp_cuda *cuda, CUdevice device, struct gp_gpu_info *info,
				  GError **error)
{
	struct gp_gpu *gpu = gpu_new(cuda, device);
	const struct gp_ptx_target *target = judge(gpu, error);
	char text[160], bus[BUS_TEXT] = "", why[GP_MESSAGE] = "";
	CUresult ret;

	if (!target)
		goto fail;
	ret = cuda->cuDeviceGetPCIBusId(bus, sizeof(bus), device);
	if (!ret)
		gpu->ptx = gp_ptx_new(bus, error);
	if (!ret && !gpu->ptx)
		goto fail;
	if (!ret)
		ret = cuda->cuCtxCreate_v2(&gpu->context,
					   CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST |
						   CU_CTX_LMEM_RESIZE_TO_MAX,
					   device);
	if (ret)
		gpu->context = NULL;
	if (!ret)
		ret = gp_cuda_memory_open(gpu);
	if (!ret)
		ret = gp_cuda_queue_open(gpu);
	if (ret) {
		FAIL(error, IO, "the driver gives no context: %s", gp_cuda_text(cuda, ret, text));
		goto fail;
	}
	if (!gp_cuda_clock_open(gpu, why)) {
		FAIL(error, IO, "it runs nothing: %s", why);
		goto fail;
	}
	describe(gpu, target, info);
	return gpu;

fail:
	gpu_close(gpu);
	return NULL;
}

static struct gp_gpu *gpu_open(const char *where, struct gp_gpu_info *info, GError **error)
{
	const struct gp_cuda *cuda;
	struct gp_gpu *gpu = NULL;
	GString *reasons;
	GError *reason = NULL;
	CUdevice device;
	int count = 0;

	memset(info, 0, sizeof(*info));
	if (where && !is_name(where)) {
		FAIL(error, INVAL,
		     "'%s' is neither a number, a UUID (GPU-...) nor a PCI address (0000:65:00.0) of a GPU",
		     where);
		return NULL;
	}
	cuda = gp_cuda_load(error);
	if (!cuda)
		return NULL;
	reasons = g_string_new(NULL);
	if (cuda->cuDeviceGetCount(&count))
		count = 0;
	for (int i = 0; i < count && !gpu; i++) {
		if (cuda->cuDeviceGet(&device, i) || (where && !is_named(cuda, device, i, where)))
			continue;
		gpu = open_device(cuda, device, info, &reason);
		if (reason)
			g_string_append_printf(reasons, "%sGPU %d: %s", reasons->len ? "; " : ": ", i,
					       reason->message);
		g_clear_error(&reason);
	}
	if (!gpu)
		FAIL(error, NODEV, "no NVIDIA GPU%s%s%s", where ? " " : "", where ? where : "",
		     reasons->len ? reasons->str
		     : count	  ? ": there are others"
				  : ": the driver has none");
	g_string_free(reasons, true);
	return gpu;
}

const struct gp_gpu_ops gp_gpu_cuda = {
	.name = "cuda",
	.open = gpu_open,
	.close = gpu_close,
	.alloc = gp_cuda_alloc,
	.free = gp_cuda_free,
	.write = gp_cuda_write,
	.share = gp_cuda_share,
	.unshare = gp_cuda_unshare,
	.reach = gp_cuda_reach,
	.unreach = gp_cuda_unreach,
	.load = gp_cuda_load_image,
	.unload = gp_cuda_unload,
	.launch = gp_cuda_launch,
	.copy = gp_cuda_copy,
	.wait = gp_cuda_wait,
	.wake = gp_cuda_wake,
	.ticks = gp_cuda_ticks,
	.state = gp_cuda_state,
	.recover = gp_cuda_recover,
};
