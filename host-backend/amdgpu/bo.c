/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bo.c - buffer objects, the list of them that submissions carry, and addresses that CPU and GPU share.
 *
 * Addresses: the process reserves them, inaccessible, where the GPU has addresses too. Usually every address that
 * the kernel gives will do (47 bits here, 48 there); with a smaller GPU address space places below its end are tried.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "amdgpu/private.h"
#include "rt/abi.h"

#define BIG   (2u << 20) /* one entry of a page directory, on both sides */
#define TRIES 256

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static void *reserve(uint64_t size, uint64_t at)
{
	void *got = mmap((void *)(uintptr_t)at, size, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (got != MAP_FAILED && at && (uintptr_t)got != at) { /* kernels before 4.17 take it for a hint */
		munmap(got, size);
		return MAP_FAILED;
	}
	return got;
}

bool gp_range_reserve(struct gp_gpu *gpu, uint64_t size, struct gp_range *range)
{
	uint64_t align = size >= BIG ? BIG : GP_GUARD, step, at;
	void *got;

	if (!size || size > 1ull << 42)
		return false;
	range->whole_size = GP_GUARD + gp_round_up(size, GP_GPU_PAGE) + GP_GUARD + align;
	got = reserve(range->whole_size, 0);
	if (got != MAP_FAILED &&
	    ((uintptr_t)got < gpu->va_min || (uintptr_t)got + range->whole_size > gpu->va_end)) {
		munmap(got, range->whole_size);
		got = MAP_FAILED;
		step = gp_round_up(range->whole_size, BIG);
		at = gpu->va_end / BIG * BIG;
		for (int i = 0; i < TRIES && got == MAP_FAILED && at > step + gpu->va_min; i++) {
			at -= step;
			got = reserve(range->whole_size, at);
		}
	}
	if (got == MAP_FAILED)
		return false;
	range->whole = got;
	range->base = (uint8_t *)got + (gp_round_up((uintptr_t)got + GP_GUARD, align) - (uintptr_t)got);
	return true;
}

void gp_range_release(struct gp_range *range)
{
	if (range->whole)
		munmap(range->whole, range->whole_size);
	memset(range, 0, sizeof(*range));
}

static struct gp_bo *add(struct gp_gpu *gpu, amdgpu_bo_handle lib, uint32_t handle, uint64_t size)
{
	struct drm_amdgpu_bo_list_entry entry = { .bo_handle = handle };
	struct gp_bo *bo = g_new0(struct gp_bo, 1);

	bo->lib = lib;
	bo->handle = handle;
	bo->size = size;
	g_mutex_lock(&gpu->bos);
	bo->index = gpu->list->len;
	g_array_append_val(gpu->list, entry);
	g_ptr_array_add(gpu->listed, bo);
	g_mutex_unlock(&gpu->bos);
	return bo;
}

static int wrap(struct gp_gpu *gpu, amdgpu_bo_handle lib, uint64_t size, struct gp_bo **bo)
{
	uint32_t handle;
	int ret = gpu->drm->amdgpu_bo_export(lib, amdgpu_bo_handle_type_kms_noimport, &handle);

	if (ret) {
		gpu->drm->amdgpu_bo_free(lib);
		return ret;
	}
	*bo = add(gpu, lib, handle, size);
	return 0;
}

int gp_bo_new(struct gp_gpu *gpu, uint64_t size, uint32_t domain, uint64_t flags, struct gp_bo **bo)
{
	struct amdgpu_bo_alloc_request request = {
		.alloc_size = gp_round_up(size, GP_GPU_PAGE),
		.phys_alignment = size >= BIG ? BIG : GP_GPU_PAGE,
		.preferred_heap = domain,
		.flags = flags,
	};
	union drm_amdgpu_gem_mmap where = { 0 };
	amdgpu_bo_handle lib;
	struct gp_bo *got;
	int ret = gpu->drm->amdgpu_bo_alloc(gpu->device, &request, &lib);

	if (!ret)
		ret = wrap(gpu, lib, request.alloc_size, &got);
	if (ret)
		return ret;
	if (!(flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS)) {
		/* amdgpu_bo_cpu_map() chooses an address of its own: ask where the node has it instead. */
		where.in.handle = got->handle;
		ret = gpu->drm->drmCommandWriteRead(gpu->fd, DRM_AMDGPU_GEM_MMAP, &where, sizeof(where));
		if (ret) {
			gp_bo_free(gpu, got);
			return ret;
		}
		got->cpu_offset = where.out.addr_ptr;
	}
	*bo = got;
	return 0;
}

int gp_bo_import(struct gp_gpu *gpu, int dmabuf, uint64_t size, struct gp_bo **bo)
{
	struct amdgpu_bo_import_result result;
	int ret = gpu->drm->amdgpu_bo_import(gpu->device, amdgpu_bo_handle_type_dma_buf_fd, (uint32_t)dmabuf,
					     &result);

	if (ret)
		return ret == -1 && errno ? -errno : ret; /* -1 is its ioctl()'s, not -EPERM */
	if (result.alloc_size < size) {
		gpu->drm->amdgpu_bo_free(result.buf_handle);
		return -EINVAL;
	}
	return wrap(gpu, result.buf_handle, size, bo);
}

int gp_bo_user(struct gp_gpu *gpu, void *at, uint64_t size, struct gp_bo **bo)
{
	/* Not amdgpu_create_bo_from_user_mem(), which asks for anonymous memory only. */
	struct drm_amdgpu_gem_userptr user = {
		.addr = (uintptr_t)at,
		.size = size,
		.flags = AMDGPU_GEM_USERPTR_REGISTER | AMDGPU_GEM_USERPTR_VALIDATE,
	};
	int ret = gpu->drm->drmCommandWriteRead(gpu->fd, DRM_AMDGPU_GEM_USERPTR, &user, sizeof(user));

	if (!ret)
		*bo = add(gpu, NULL, user.handle, size);
	return ret;
}

void gp_bo_free(struct gp_gpu *gpu, struct gp_bo *bo)
{
	struct drm_gem_close close = { .handle = bo->handle };
	struct gp_bo *last;

	g_mutex_lock(&gpu->bos);
	g_array_remove_index_fast(gpu->list, bo->index);
	last = g_ptr_array_index(gpu->listed, gpu->listed->len - 1);
	last->index = bo->index;
	g_ptr_array_remove_index_fast(gpu->listed, bo->index);
	g_mutex_unlock(&gpu->bos);
	if (bo->lib)
		gpu->drm->amdgpu_bo_free(bo->lib);
	else
		gpu->drm->drmIoctl(gpu->fd, DRM_IOCTL_GEM_CLOSE, &close);
	g_free(bo);
}

static int va_op(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at,
		 uint64_t flags, uint32_t op)
{
	struct drm_amdgpu_gem_va va = {
		.handle = bo->handle,
		.operation = op,
		.flags = (uint32_t)flags,
		.va_address = (uintptr_t)at,
		.offset_in_bo = offset,
		.map_size = size,
	};

	if (bo->lib)
		return gpu->drm->amdgpu_bo_va_op_raw(gpu->device, bo->lib, offset, size, (uintptr_t)at, flags,
						     op);
	return gpu->drm->drmCommandWriteRead(gpu->fd, DRM_AMDGPU_GEM_VA, &va, sizeof(va));
}

int gp_bo_map(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at, uint64_t flags)
{
	return va_op(gpu, bo, offset, size, at, flags, AMDGPU_VA_OP_MAP);
}

int gp_bo_unmap(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at)
{
	return va_op(gpu, bo, offset, size, at, 0, AMDGPU_VA_OP_UNMAP);
}

int gp_bo_cpu_map(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at)
{
	void *got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, gpu->fd,
			 (off_t)(bo->cpu_offset + offset));

	return got == MAP_FAILED ? -errno : 0;
}

int gp_bo_cpu_hide(uint64_t size, void *at)
{
	void *got = mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return got == MAP_FAILED ? -errno : 0;
}
