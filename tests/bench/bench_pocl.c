/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_pocl.c - PoCL for bench_compute, loaded when it runs, so that nothing but this benchmark needs OpenCL.
 *
 * It gets one thread, on the core that the rest is measured on. Contraction is off, as in our kernels and in plain C.
 */
#include <stdlib.h>
#include <string.h>
#include "bench_compute.h"

#ifdef BENCH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>

#define FUNCTIONS(X)                 \
	X(clGetPlatformIDs)          \
	X(clGetPlatformInfo)         \
	X(clGetDeviceIDs)            \
	X(clCreateContext)           \
	X(clCreateCommandQueue)      \
	X(clCreateProgramWithSource) \
	X(clBuildProgram)            \
	X(clGetProgramBuildInfo)     \
	X(clCreateKernel)            \
	X(clCreateBuffer)            \
	X(clSetKernelArg)            \
	X(clEnqueueNDRangeKernel)    \
	X(clEnqueueReadBuffer)       \
	X(clWaitForEvents)           \
	X(clGetEventProfilingInfo)   \
	X(clReleaseEvent)            \
	X(clReleaseMemObject)        \
	X(clReleaseKernel)           \
	X(clReleaseProgram)

struct pocl {
#define DECLARE(name) __typeof__(&name) name;
	FUNCTIONS(DECLARE)
	cl_context context;
	cl_command_queue queue;
	cl_device_id device;
};

struct pocl_kernel {
	struct pocl *cl;
	const struct compute *c;
	cl_program program;
	cl_kernel kernel;
	cl_mem buffers[COMPUTE_ARGS];
};

struct pocl *pocl_open(const char **why)
{
	static struct pocl cl;
	cl_platform_id platforms[8], platform = NULL;
	cl_uint count = 0;
	void *library;

	setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
	setenv("POCL_DEVICES", "pthread", 1);
	library = dlopen("libOpenCL.so.1", RTLD_NOW);
	if (!library) {
		*why = "no libOpenCL.so.1 (packages ocl-icd-libopencl1 and pocl-opencl-icd)";
		return NULL;
	}
#define FIND(name)                                          \
	*(void **)(void *)&cl.name = dlsym(library, #name); \
	if (!cl.name) {                                     \
		*why = #name " is missing";                 \
		return NULL;                                \
	}
	FUNCTIONS(FIND)
	cl.clGetPlatformIDs(8, platforms, &count);
	for (cl_uint i = 0; i < count && i < 8; i++) {
		char name[64] = "";

		cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
		if (strstr(name, "Portable Computing Language"))
			platform = platforms[i];
	}
	*why = "no platform of PoCL (package pocl-opencl-icd)";
	if (!platform || cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &cl.device, NULL))
		return NULL;
	cl.context = cl.clCreateContext(NULL, 1, &cl.device, NULL, NULL, NULL);
	*why = "no context";
	if (!cl.context)
		return NULL;
	cl.queue = cl.clCreateCommandQueue(cl.context, cl.device, CL_QUEUE_PROFILING_ENABLE, NULL);
	return cl.queue ? &cl : NULL;
}

struct pocl_kernel *pocl_load(struct pocl *cl, const struct compute *c, uint8_t *const *buffers)
{
	struct pocl_kernel *k = calloc(1, sizeof(*k));
	cl_int error;

	if (!k)
		compute_die("out of memory");
	k->cl = cl;
	k->c = c;
	k->program =
		cl->clCreateProgramWithSource(cl->context, 1, (const char *[]){ c->opencl }, NULL, &error);
	if (error || cl->clBuildProgram(k->program, 1, &cl->device, "-cl-fp32-correctly-rounded-divide-sqrt",
					NULL, NULL)) {
		char log[4096] = "";

		cl->clGetProgramBuildInfo(k->program, cl->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log,
					  NULL);
		compute_die("%s in OpenCL C: %s", c->name, log);
	}
	k->kernel = cl->clCreateKernel(k->program, c->name, &error);
	for (uint32_t i = 0; !error && i < c->num_args; i++) {
		if (!c->args[i].bytes) {
			error = cl->clSetKernelArg(k->kernel, i, c->args[i].size, &c->args[i].value);
			continue;
		}
		k->buffers[i] = cl->clCreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
						   c->args[i].bytes, buffers[i], &error);
		if (!error)
			error = cl->clSetKernelArg(k->kernel, i, sizeof(cl_mem), &k->buffers[i]);
	}
	if (error)
		compute_die("%s in OpenCL C: error %d", c->name, error);
	return k;
}

double pocl_run(struct pocl_kernel *k)
{
	size_t grid[2] = { k->c->grid[0], k->c->grid[1] }, group[2] = { k->c->group[0], k->c->group[1] };
	cl_ulong start = 0, end = 0;
	cl_event event;
	cl_int error = k->cl->clEnqueueNDRangeKernel(k->cl->queue, k->kernel, 2, NULL, grid,
						     k->c->group[0] > 1 ? group : NULL, 0, NULL, &event);

	if (error || k->cl->clWaitForEvents(1, &event))
		compute_die("%s in OpenCL C: error %d", k->c->name, error);
	k->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL);
	k->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
	k->cl->clReleaseEvent(event);
	return (double)(end - start) / 1e6;
}

void pocl_read(struct pocl_kernel *k, uint8_t *const *buffers)
{
	for (uint32_t i = 0; i < k->c->num_args; i++)
		if (k->c->args[i].bytes &&
		    k->cl->clEnqueueReadBuffer(k->cl->queue, k->buffers[i], CL_TRUE, 0, k->c->args[i].bytes,
					       buffers[i], 0, NULL, NULL))
			compute_die("%s in OpenCL C: results cannot be read", k->c->name);
}

void pocl_free(struct pocl_kernel *k)
{
	if (!k)
		return;
	for (uint32_t i = 0; i < k->c->num_args; i++)
		if (k->buffers[i])
			k->cl->clReleaseMemObject(k->buffers[i]);
	k->cl->clReleaseKernel(k->kernel);
	k->cl->clReleaseProgram(k->program);
	free(k);
}

#else /* without its headers */

struct pocl *pocl_open(const char **why)
{
	*why = "built without OpenCL's headers (package opencl-c-headers)";
	return NULL;
}

struct pocl_kernel *pocl_load(struct pocl *cl, const struct compute *c, uint8_t *const *buffers)
{
	return NULL;
}

double pocl_run(struct pocl_kernel *k)
{
	return 0;
}

void pocl_read(struct pocl_kernel *k, uint8_t *const *buffers)
{
}

void pocl_free(struct pocl_kernel *k)
{
}
#endif
