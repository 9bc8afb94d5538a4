/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake.c - the calls of the fake driver (fake.h), each what the reference says of it as far as we rely on that.
 *
 * Threads: any; fake_lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "private.h"

#define CARDS	 2
#define CONTEXT	 ((CUcontext)0xc0ffee)
#define EXPORTED __attribute__((visibility("default")))
#define CUBIN	 "FAKE CUBIN\n"

EXPORTED struct fake_plan fake_plan;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_cond = PTHREAD_COND_INITIALIZER;
int fake_poisoned;

static bool initialised, context;
static __thread CUcontext current;
static uint32_t calls, of_name;
static bool forgives; /* what is left: something could not be given back, because that was asked for */
static char trace[FAKE_TRACE];
static GHashTable *things;

EXPORTED fake_calls_fn fake_calls;
EXPORTED fake_take_trace_fn fake_take_trace;

void fake_die(const char *what)
{
	fprintf(stderr, "fake driver: %s\n", what);
	abort();
}

uint32_t fake_calls(void)
{
	return calls;
}

void fake_take_trace(char text[FAKE_TRACE])
{
	pthread_mutex_lock(&fake_lock);
	memcpy(text, trace, FAKE_TRACE);
	trace[0] = 0;
	pthread_mutex_unlock(&fake_lock);
}

/* ------------------------------------------------------------------- on the way in */

/* What is asked of the call @name. With fake_lock. Return: the error that it returns at once. */
static CUresult begin(const char *name, bool needs_context)
{
	static const struct fake_plan none;

	static char name_before[sizeof(fake_plan.name)];

	if (!memcmp(&fake_plan, &none, sizeof(none)))
		calls = 0;
	if (strcmp(name_before, fake_plan.name) != 0) {
		g_strlcpy(name_before, fake_plan.name, sizeof(name_before));
		of_name = 0;
	}
	calls++;
	g_strlcat(trace, name, sizeof(trace));
	g_strlcat(trace, " ", sizeof(trace));
	if (fake_poisoned)
		return fake_poisoned;
	if (!initialised && strcmp(name, "cuInit") != 0 && strcmp(name, "cuDriverGetVersion") != 0)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (needs_context && (!context || current != CONTEXT))
		fake_die("a call without the context");
	if (fake_plan.error && ((fake_plan.nth && fake_plan.nth == calls) ||
				(!strcmp(fake_plan.name, name) && of_name++ == fake_plan.skip))) {
		static const char *const gives_back[] = { "Free",	"Unmap",  "Release",
							  "Unregister", "Unload", "Destroy" };

		if (fake_plan.sticky)
			fake_poisoned = fake_plan.error;
		for (size_t i = 0; i < G_N_ELEMENTS(gives_back); i++)
			forgives |= strstr(name, gives_back[i]) != NULL;
		return fake_plan.error;
	}
	return CUDA_SUCCESS;
}

/* The body is what it does, with `ret` for its result, once nothing was asked for that prevents it. */
#define CALL(name, args, needs_context, ...)       \
	EXPORTED CUresult name args;               \
	CUresult name args                         \
	{                                          \
		CUresult ret;                      \
                                                   \
		pthread_mutex_lock(&fake_lock);    \
		ret = begin(#name, needs_context); \
		if (!ret) {                        \
			__VA_ARGS__                \
		}                                  \
		pthread_mutex_unlock(&fake_lock);  \
		return ret;                        \
	}

static void *thing_new(enum thing kind, size_t size)
{
	enum thing *thing = g_malloc0(size);

	if (!things)
		things = g_hash_table_new(NULL, NULL);
	*thing = kind;
	g_hash_table_add(things, thing);
	return thing;
}

static void know(const void *thing, enum thing kind)
{
	if (!things || !g_hash_table_contains(things, thing) || *(const enum thing *)thing != kind)
		fake_die("a thing that it does not know");
}

static void thing_free(void *thing, enum thing kind)
{
	know(thing, kind);
	g_hash_table_remove(things, thing);
	g_free(thing);
}

/* ------------------------------------------------------------------- cards */

static int cards(void)
{
	return fake_plan.devices < 0 ? 0 : fake_plan.devices ? fake_plan.devices : CARDS;
}

CALL(cuInit, (unsigned int flags), false, {
	if (!g_getenv("CUDA_CACHE_DISABLE"))
		fake_die("the cache is on");
	ret = cards() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
	initialised = !ret;
})
CALL(cuDriverGetVersion, (int *version), false, { *version = fake_plan.version ? fake_plan.version : 12000; })
CALL(cuDeviceGetCount, (int *count), false, { *count = cards(); })
CALL(cuDeviceGet, (CUdevice * device, int ordinal), false, {
	*device = ordinal;
	ret = ordinal < cards() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
})
CALL(cuDeviceGetName, (char *name, int length, CUdevice device), false,
     { snprintf(name, (size_t)length, "Fake %d", device); })
CALL(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), false, {
	for (int i = 0; i < 16; i++)
		uuid->bytes[i] = (unsigned char)(16 * device + i);
})
CALL(cuDeviceGetPCIBusId, (char *text, int length, CUdevice device), false,
     { snprintf(text, (size_t)length, "0000:%02x:00.0", 0x65 + device); })
CALL(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device), false, { *bytes = 8ull << 30; })

static const struct {
	int attribute, value;
} attributes[] = {
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
	{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4 },
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 64 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1 },
};

CALL(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device), false, {
	ret = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) {
		if (attributes[i].attribute != attribute)
			continue;
		*value = fake_plan.attribute == attribute ? fake_plan.value : attributes[i].value;
		ret = CUDA_SUCCESS;
	}
})

/* ------------------------------------------------------------------- contexts */

CALL(cuCtxCreate_v2, (CUcontext * made, unsigned int flags, CUdevice device), false, {
	if (context)
		fake_die("a second context");
	*made = current = CONTEXT;
	context = true;
})

/* These three answer whatever has happened. */
EXPORTED CUresult cuCtxDestroy_v2(CUcontext which);
CUresult cuCtxDestroy_v2(CUcontext which)
{
	const char *left;

	pthread_mutex_lock(&fake_lock);
	if (!context || which != CONTEXT)
		fake_die("a context that it does not know");
	left = fake_memory_left();
	if (!fake_poisoned && !forgives && left)
		fake_die(left);
	if (!fake_poisoned && !forgives && things && g_hash_table_size(things))
		fake_die("a module, a stream, an event or a link is left");
	context = false;
	current = NULL;
	pthread_mutex_unlock(&fake_lock);
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuCtxSetCurrent(CUcontext which);
CUresult cuCtxSetCurrent(CUcontext which)
{
	current = which;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorName(CUresult error, const char **text)
{
	*text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORTED CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text)
{
	*text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : NULL;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ------------------------------------------------------------------- assembling */

CALL(cuLinkCreate_v2, (unsigned int num, int *options, void **values, CUlinkState *state), true, {
	CUlinkState link = thing_new(THING_LINK, sizeof(*link));

	for (unsigned int i = 0; i < num; i++) {
		if (options[i] == CU_JIT_TARGET)
			link->sm = (int)(uintptr_t)values[i];
		else if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			link->log = values[i];
		else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			link->log_size = (size_t)(uintptr_t)values[i];
	}
	*state = link;
})

static CUresult take_text(CUlinkState state, const char *text, size_t size)
{
	const char *target = g_strstr_len(text, (gssize)size, ".target sm_");

	if (!size || text[size - 1])
		fake_die("a text whose end is not counted");
	if (strstr(text, FAKE_DIE))
		abort();
	while (strstr(text, FAKE_HANG))
		sleep(1);
	if (strncmp(text, ".version ", 9) != 0 || !target || !strstr(text, ".visible .entry gp_kernel(")) {
		snprintf(state->log, state->log_size, "ptxas fatal: no text\nof mine");
		return CUDA_ERROR_INVALID_PTX;
	}
	if (atoi(target + strlen(".target sm_")) > state->sm) {
		snprintf(state->log, state->log_size, "ptxas fatal: too new");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	g_free(state->text);
	state->text = g_strconcat(CUBIN, text, NULL);
	state->size = strlen(state->text) + 1;
	return CUDA_SUCCESS;
}

CALL(cuLinkAddData_v2,
     (CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int num, int *options,
      void **values),
     true, {
	     know(state, THING_LINK);
	     ret = type == CU_JIT_INPUT_PTX ? take_text(state, data, size) : CUDA_ERROR_INVALID_VALUE;
     })
CALL(cuLinkComplete, (CUlinkState state, void **cubin, size_t *size), true, {
	know(state, THING_LINK);
	*cubin = state->text;
	*size = state->size;
	ret = state->text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
})
CALL(cuLinkDestroy, (CUlinkState state), true, {
	know(state, THING_LINK);
	g_free(state->text);
	thing_free(state, THING_LINK);
})

/* ------------------------------------------------------------------- modules */

static CUresult load(CUmodule *module, const char *cubin)
{
	const char *run = strstr(cubin, FAKE_RUN);
	unsigned long long image = 0;
	unsigned int kernel = 0;
	bool clock = strstr(cubin, "%globaltimer");
	CUmodule made;

	if (strncmp(cubin, CUBIN, strlen(CUBIN)) != 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (!clock && (!run || sscanf(run + strlen(FAKE_RUN), "%llx %u", &image, &kernel) != 2))
		fake_die("code that it cannot run");
	made = thing_new(THING_MODULE, sizeof(*made));
	made->image = (const struct gp_image *)(uintptr_t)image;
	made->kernel = (enum gp_kernel)kernel;
	made->clock = clock;
	*module = made;
	return CUDA_SUCCESS;
}

CALL(cuModuleLoadData, (CUmodule * module, const void *image), true, { ret = load(module, image); })
CALL(cuModuleUnload, (CUmodule module), true, {
	know(module, THING_MODULE);
	if (module->queued)
		fake_die("code is taken away that is to run");
	thing_free(module, THING_MODULE);
})
CALL(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name), true, {
	know(module, THING_MODULE);
	*function = (CUfunction)module;
	ret = strcmp(name, "gp_kernel") ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
})
CALL(cuFuncGetAttribute, (int *value, int attribute, CUfunction function), true, {
	know(function, THING_MODULE);
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 40;
	if (fake_plan.attribute == -1 - attribute)
		*value = fake_plan.value;
})

/* ------------------------------------------------------------------- memory */

CALL(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, int option), true,
     { *bytes = FAKE_PAGE; })
CALL(cuMemAddressReserve,
     (CUdeviceptr * at, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags), true,
     { ret = fake_reserve(at, size); })
CALL(cuMemAddressFree, (CUdeviceptr at, size_t size), true, { ret = fake_unreserve(at, size); })
CALL(cuMemCreate,
     (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
      unsigned long long flags),
     true, {
	     if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
		 prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		     fake_die("memory of no kind");
	     ret = fake_create(handle, size);
     })
CALL(cuMemRelease, (CUmemGenericAllocationHandle handle), true, { ret = fake_release(handle); })
CALL(cuMemMap,
     (CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
      unsigned long long flags),
     true, { ret = fake_map(at, size, handle); })
CALL(cuMemUnmap, (CUdeviceptr at, size_t size), true, { ret = fake_unmap(at, size); })
CALL(cuMemSetAccess, (CUdeviceptr at, size_t size, const CUmemAccessDesc *desc, size_t count), true, {
	if (count != 1 || desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		fake_die("no access is asked for");
	ret = fake_access(at, size);
})
CALL(cuMemHostRegister_v2, (void *at, size_t size, unsigned int flags), true, {
	if (!(flags & CU_MEMHOSTREGISTER_DEVICEMAP))
		fake_die("memory is registered that the card does not see");
	ret = fake_register(at, size, flags & CU_MEMHOSTREGISTER_READ_ONLY);
})
CALL(cuMemHostUnregister, (void *at), true, { ret = fake_unregister(at); })
CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void *at, unsigned int flags), true,
     { ret = fake_pointer(device, at); })

/* ------------------------------------------------------------------- streams */

CALL(cuStreamCreate, (CUstream * stream, unsigned int flags), true, {
	if (flags != CU_STREAM_NON_BLOCKING)
		fake_die("a stream that waits for others");
	*stream = fake_stream_new();
	if (!things)
		things = g_hash_table_new(NULL, NULL);
	g_hash_table_add(things, *stream);
})
CALL(cuStreamDestroy_v2, (CUstream stream), true, {
	know(stream, THING_STREAM);
	g_hash_table_remove(things, stream);
	fake_stream_free(stream);
})
CALL(cuStreamQuery, (CUstream stream), true, {
	know(stream, THING_STREAM);
	ret = fake_poisoned			? fake_poisoned
	      : g_queue_is_empty(&stream->work) ? CUDA_SUCCESS
						: CUDA_ERROR_NOT_READY;
})
CALL(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags), true, {
	know(stream, THING_STREAM);
	fake_stream_add(stream, (struct work){ .kind = WORK_WRITE, .to = at, .value = value });
})
CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), true, {
	know(stream, THING_STREAM);
	fake_stream_add(stream, (struct work){ .kind = WORK_COPY, .to = to, .from = from, .count = bytes });
})
CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream), true, {
	know(stream, THING_STREAM);
	fake_stream_add(stream,
			(struct work){ .kind = WORK_FILL8, .to = to, .value = value, .count = count });
})
CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream), true, {
	know(stream, THING_STREAM);
	fake_stream_add(stream,
			(struct work){ .kind = WORK_FILL32, .to = to, .value = value, .count = count });
})
CALL(cuLaunchKernel,
     (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
      CUstream stream, void **arguments, void **extra),
     true, {
	     struct work work = { .kind = WORK_KERNEL, .module = (CUmodule)function };

	     know(function, THING_MODULE);
	     know(stream, THING_STREAM);
	     if (!grid_x || grid_y != 1 || grid_z != 1 || !block_x || block_y != 1 || block_z != 1)
		     fake_die("a launch of no shape");
	     memcpy(&work.arg, arguments[0], sizeof(work.arg));
	     work.lanes = (uint64_t)grid_x * block_x;
	     fake_stream_add(stream, work);
     })

/* ------------------------------------------------------------------- events */

CALL(cuEventCreate, (CUevent * event, unsigned int flags), true,
     { *event = thing_new(THING_EVENT, sizeof(**event)); })
CALL(cuEventDestroy_v2, (CUevent event), true, {
	know(event, THING_EVENT);
	if (event->recorded && !event->done)
		fake_die("an event is destroyed that is to come");
	thing_free(event, THING_EVENT);
})
CALL(cuEventRecord, (CUevent event, CUstream stream), true, {
	know(event, THING_EVENT);
	know(stream, THING_STREAM);
	if (event->recorded && !event->done)
		fake_die("an event is recorded again that has not come");
	event->recorded = true;
	event->done = false;
	fake_stream_add(stream, (struct work){ .kind = WORK_RECORD, .event = event });
})
CALL(cuEventElapsedTime, (float *ms, CUevent from, CUevent to), true, {
	know(from, THING_EVENT);
	know(to, THING_EVENT);
	if (!from->recorded || !to->recorded)
		fake_die("the time between events that were never recorded");
	ret = from->done && to->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	*ms = (float)(to->ns - from->ns) / 1e6f;
})
