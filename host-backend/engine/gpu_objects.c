/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_objects.c - memory, code and shared memory of the GPU device: what the engine's objects are made of there.
 *
 * Tables that the engine follows itself while programs read them are memory that the GPU cannot write (gpu.h).
 *
 * Threads: any; nothing of the device's is used but what stays as it was made.
 */
#include <string.h>
#include "gpu_priv.h"

void *gp_gpu_alloc(struct gp_device *dev, uint64_t size, enum gp_mem mem)
{
	if (!size || size > 1ull << 42)
		return NULL;
	return dev->ops->alloc(dev->gpu, size, mem == GP_MEM_DEVICE ? GP_GPU_MEM_DEVICE : GP_GPU_MEM_TABLE);
}

void gp_gpu_free(struct gp_device *dev, void *base, uint64_t size)
{
	dev->ops->free(dev->gpu, base, size);
}

bool gp_gpu_write(struct gp_device *dev, void *to, const void *from, uint64_t size)
{
	if (dev->ops->write)
		return !dev->ops->write(dev->gpu, to, from, size);
	memcpy(to, from, size);
	return true;
}

bool gp_gpu_load(struct gp_device *dev, struct gp_program *prog, char why[GP_MESSAGE])
{
	uint64_t bytes = MAX(prog->num_maps, 1) * sizeof(*prog->device_maps);

	prog->device_maps = gp_gpu_alloc(dev, bytes, GP_MEM_DEVICE);
	if (!prog->device_maps ||
	    !gp_gpu_write(dev, prog->device_maps, prog->maps, prog->num_maps * sizeof(*prog->maps))) {
		g_strlcpy(why, "no memory of the GPU's for the program", GP_MESSAGE);
		return false;
	}
	prog->code = dev->ops->load(dev->gpu, prog->image, why);
	return prog->code;
}

void gp_gpu_unload(struct gp_device *dev, struct gp_program *prog)
{
	if (prog->code)
		dev->ops->unload(dev->gpu, prog->code);
	if (prog->device_maps)
		gp_gpu_free(dev, prog->device_maps, MAX(prog->num_maps, 1) * sizeof(*prog->device_maps));
}

void gp_gpu_session_new(struct gp_device *dev, struct gpgpu_session *s, int fd)
{
	s->shared = s->shm_size && !dev->ops->share(dev->gpu, s->shm, s->shm_size, fd);
}

void gp_gpu_session_free(struct gp_device *dev, struct gpgpu_session *s)
{
	if (s->shared)
		dev->ops->unshare(dev->gpu, s->shm, s->shm_size);
}

bool gp_gpu_reach(struct gp_device *dev, struct gpgpu_session *s, void *at, uint64_t size)
{
	return !s->shared || !dev->ops->reach || !dev->ops->reach(dev->gpu, at, size);
}

void gp_gpu_unreach(struct gp_device *dev, struct gpgpu_session *s, void *at, uint64_t size)
{
	if (s->shared && dev->ops->unreach)
		dev->ops->unreach(dev->gpu, at, size);
}

void gp_gpu_forget(struct gp_device *dev, struct gp_job *job)
{
	/* Ended between two slices: what those wrote has not been promised to anybody. */
	gp_gpu_stage_end(job, false);
}
