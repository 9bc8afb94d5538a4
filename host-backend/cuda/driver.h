/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * driver.h - the part of NVIDIA's driver interface (libcuda.so.1) that is used: types, numbers, functions.
 *
 * Written from NVIDIA's "CUDA Driver API" reference: names, numbers and layouts only, so that neither a build nor a run
 * needs the toolkit. The library is part of the driver; gp_cuda_load() opens it and looks functions up by the names that
 * it exports, whose versions (_v2) say which layout of arguments is meant: it keeps old ones.
 */
#ifndef GPGPU_CUDA_DRIVER_H
#define GPGPU_CUDA_DRIVER_H

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

#define GP_CUDA_WANT 12000 /* of cuDriverGetVersion(): 1000 * major + 10 * minor; driver 525 */

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUlinkState_st *CUlinkState;

typedef struct {
	unsigned char bytes[16];
} CUuuid;

enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_MAP_FAILED = 205,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_CONTAINED = 226,
	CUDA_ERROR_OPERATING_SYSTEM = 304,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
	CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_UNKNOWN = 999,
};

enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
	CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
	CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
	CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
};

enum {
	CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
	CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
	CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
	CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
};

enum {
	CU_CTX_SCHED_BLOCKING_SYNC = 4,
	CU_CTX_MAP_HOST = 8,
	CU_CTX_LMEM_RESIZE_TO_MAX = 16,
	CU_STREAM_NON_BLOCKING = 1,
	CU_EVENT_DEFAULT = 0,
	CU_STREAM_WRITE_VALUE_DEFAULT = 0,
	CU_MEMHOSTREGISTER_PORTABLE = 1,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_MEMHOSTREGISTER_READ_ONLY = 8,
};

/* Of cuLinkCreate(), cuLinkAddData(). */
enum {
	CU_JIT_INFO_LOG_BUFFER = 3,
	CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
	CU_JIT_TARGET = 9, /* 10 * major + minor of the card */
	CU_JIT_INPUT_PTX = 1,
};

/* Physical memory, and who may use it where it is mapped. */
enum {
	CU_MEM_ALLOCATION_TYPE_PINNED = 1,
	CU_MEM_LOCATION_TYPE_DEVICE = 1,
	CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
	CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
};

typedef struct {
	int type;
	int id;
} CUmemLocation;

typedef struct {
	int type;
	int requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType;
		unsigned char gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;

/* Each with the name that the library exports, and its arguments. */
#define GP_CUDA_CALLS(CALL)                                                                                  \
	CALL(cuInit, (unsigned int flags))                                                                   \
	CALL(cuDriverGetVersion, (int *version))                                                             \
	CALL(cuGetErrorName, (CUresult error, const char **text))                                            \
	CALL(cuGetErrorString, (CUresult error, const char **text))                                          \
	CALL(cuDeviceGetCount, (int *count))                                                                 \
	CALL(cuDeviceGet, (CUdevice * device, int ordinal))                                                  \
	CALL(cuDeviceGetName, (char *name, int length, CUdevice device))                                     \
	CALL(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                           \
	CALL(cuDeviceGetPCIBusId, (char *text, int length, CUdevice device))                                 \
	CALL(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                             \
	CALL(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                                          \
	CALL(cuCtxCreate_v2, (CUcontext * context, unsigned int flags, CUdevice device))                     \
	CALL(cuCtxDestroy_v2, (CUcontext context))                                                           \
	CALL(cuCtxSetCurrent, (CUcontext context))                                                           \
	CALL(cuModuleLoadData, (CUmodule * module, const void *image))                                       \
	CALL(cuModuleUnload, (CUmodule module))                                                              \
	CALL(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))                \
	CALL(cuFuncGetAttribute, (int *value, int attribute, CUfunction function))                           \
	CALL(cuLinkCreate_v2, (unsigned int num, int *options, void **values, CUlinkState *state))           \
	CALL(cuLinkAddData_v2, (CUlinkState state, int type, void *data, size_t size, const char *name,      \
				unsigned int num, int *options, void **values))                              \
	CALL(cuLinkComplete, (CUlinkState state, void **cubin, size_t *size))                                \
	CALL(cuLinkDestroy, (CUlinkState state))                                                             \
	CALL(cuMemGetAllocationGranularity, (size_t *bytes, const CUmemAllocationProp *prop, int option))    \
	CALL(cuMemAddressReserve,                                                                            \
	     (CUdeviceptr * at, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags))      \
	CALL(cuMemAddressFree, (CUdeviceptr at, size_t size))                                                \
	CALL(cuMemCreate, (CUmemGenericAllocationHandle * handle, size_t size,                               \
			   const CUmemAllocationProp *prop, unsigned long long flags))                       \
	CALL(cuMemRelease, (CUmemGenericAllocationHandle handle))                                            \
	CALL(cuMemMap, (CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,     \
			unsigned long long flags))                                                           \
	CALL(cuMemUnmap, (CUdeviceptr at, size_t size))                                                      \
	CALL(cuMemSetAccess, (CUdeviceptr at, size_t size, const CUmemAccessDesc *desc, size_t count))       \
	CALL(cuMemHostRegister_v2, (void *at, size_t size, unsigned int flags))                              \
	CALL(cuMemHostUnregister, (void *at))                                                                \
	CALL(cuMemHostGetDevicePointer_v2, (CUdeviceptr * device, void *at, unsigned int flags))             \
	CALL(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))               \
	CALL(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))          \
	CALL(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream))          \
	CALL(cuStreamCreate, (CUstream * stream, unsigned int flags))                                        \
	CALL(cuStreamDestroy_v2, (CUstream stream))                                                          \
	CALL(cuStreamQuery, (CUstream stream))                                                               \
	CALL(cuStreamWriteValue32_v2, (CUstream stream, CUdeviceptr at, uint32_t value, unsigned int flags)) \
	CALL(cuEventCreate, (CUevent * event, unsigned int flags))                                           \
	CALL(cuEventDestroy_v2, (CUevent event))                                                             \
	CALL(cuEventRecord, (CUevent event, CUstream stream))                                                \
	CALL(cuEventElapsedTime, (float *ms, CUevent from, CUevent to))                                      \
	CALL(cuLaunchKernel,                                                                                 \
	     (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,            \
	      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,   \
	      CUstream stream, void **arguments, void **extra))

struct gp_cuda {
#define GP_CUDA_MEMBER(name, args) CUresult(*name) args;
	GP_CUDA_CALLS(GP_CUDA_MEMBER)
#undef GP_CUDA_MEMBER
	int version; /* of the driver, as cuDriverGetVersion() has it */
};

/*
 * gp_cuda_load() - the library, once per process, initialised: its threads and open nodes are there afterwards. The cache
 * that it would keep in the user's home is off.
 * Return: NULL with @error, which says what is missing or too old.
 */
const struct gp_cuda *gp_cuda_load(GError **error);

/* gp_cuda_text() - what an error means: "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)". */
const char *gp_cuda_text(const struct gp_cuda *cuda, CUresult error, char text[160]);

#endif
