/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gem.c - buffers: by the rules of amdgpu_gem.c, amdgpu_object.c and ttm.
 *
 * A buffer lives while a handle, a mapping, a job or a descriptor holds it. Its contents are never moved; what is not
 * in a job's list is refused by the rings instead (see exec.c), where a card might or might not find it in place.
 * User pointers are the process's own memory; every submission that names one faults its pages in.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "card.h"

/* Newer than the header of Debian 12. */
#define GEM_CREATE_DISCARDABLE (1 << 12)
#define GEM_CREATE_GFX12_DCC   (1 << 16)

#define ON_CHIP		       (AMDGPU_GEM_DOMAIN_GDS | AMDGPU_GEM_DOMAIN_GWS | AMDGPU_GEM_DOMAIN_OA)

struct sim_bo *sim_bo_ref(struct sim_bo *bo)
{
	bo->refs++;
	return bo;
}

static void forget_user(struct sim_bo *bo)
{
	for (struct sim_bo **at = &sim.user_bos; *at; at = &(*at)->next_user)
		if (*at == bo) {
			*at = bo->next_user;
			return;
		}
}

void sim_bo_put(struct sim_bo *bo)
{
	if (!bo || --bo->refs)
		return;
	sim_fences_clear(&bo->users);
	switch (bo->kind) {
	case SIM_BO_VRAM:
	case SIM_BO_GTT:
		sim_memory_give(bo->kind == SIM_BO_VRAM, bo->offset, bo->size);
		break;
	case SIM_BO_USER:
		forget_user(bo);
		break;
	case SIM_BO_IMPORT:
		sim_real_munmap(bo->host, bo->size);
		for (uint32_t i = 0; i < bo->num_segments; i++)
			close(bo->segments[i].file);
		free(bo->segments);
		break;
	case SIM_BO_ON_CHIP:
		break;
	}
	free(bo);
}

struct sim_bo *sim_bo_import(const struct sim_segment *segments, uint32_t count)
{
	struct sim_bo *bo = calloc(1, sizeof(*bo));

	if (!bo)
		return NULL;
	bo->refs = 1;
	bo->kind = SIM_BO_IMPORT;
	bo->domains = AMDGPU_GEM_DOMAIN_GTT;
	bo->alignment = SIM_PAGE;
	bo->num_segments = count;
	bo->segments = calloc(count, sizeof(*segments));
	if (!bo->segments)
		goto fail;
	memcpy(bo->segments, segments, count * sizeof(*segments));
	for (uint32_t i = 0; i < count; i++)
		bo->size += segments[i].size;
	bo->host = sim_bo_mmap(bo, NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	if (bo->host != MAP_FAILED)
		return bo;
fail:
	free(bo->segments);
	free(bo);
	return NULL;
}

int sim_handle_new(struct sim_client *client, struct sim_bo *bo, uint32_t *handle)
{
	/* One handle per object and client, as drm_gem_prime_fd_to_handle() has it. */
	for (uint32_t i = 1; i <= client->bos.size; i++)
		if (sim_idr_find(&client->bos, i) == bo) {
			*handle = i;
			return 0;
		}
	*handle = sim_idr_add(&client->bos, bo);
	if (!*handle)
		return -ENOMEM;
	sim_bo_ref(bo);
	return 0;
}

static int new_handle(struct sim_client *client, struct sim_bo *bo, uint32_t *handle)
{
	int error = sim_handle_new(client, bo, handle);

	sim_bo_put(bo);
	return error;
}

static int create(struct sim_client *client, union drm_amdgpu_gem_create *args)
{
	const uint64_t valid = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_NO_CPU_ACCESS |
			       AMDGPU_GEM_CREATE_CPU_GTT_USWC | AMDGPU_GEM_CREATE_VRAM_CLEARED |
			       AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_EXPLICIT_SYNC |
			       AMDGPU_GEM_CREATE_ENCRYPTED | GEM_CREATE_GFX12_DCC | GEM_CREATE_DISCARDABLE;
	struct drm_amdgpu_gem_create_in in = args->in;
	uint64_t alignment = in.alignment > SIM_PAGE ? in.alignment : SIM_PAGE;
	uint64_t size = (in.bo_size + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
	struct sim_bo *bo;
	uint32_t handle;
	int error;

	if (in.domain_flags & ~valid) {
		sim_say("GEM_CREATE: flags %#llx", (unsigned long long)in.domain_flags);
		return -EINVAL;
	}
	if (in.domains & ~(uint64_t)AMDGPU_GEM_DOMAIN_MASK)
		return -EINVAL;
	if (in.domain_flags & AMDGPU_GEM_CREATE_ENCRYPTED)
		return -EINVAL;
	if ((in.domains & ON_CHIP) && (in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID))
		return -EINVAL;
	if (!size || size < in.bo_size)
		return -EINVAL;
	/* What neither pool can ever hold: ttm says so before it looks. */
	if (!(in.domains & ON_CHIP) && size > sim.vram && size > sim.gtt)
		return -ENOMEM;
	if (alignment & (SIM_PAGE - 1) || alignment > 1ull << 40)
		alignment = (alignment + SIM_PAGE - 1) & ~(SIM_PAGE - 1) & ((1ull << 40) - 1);
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->refs = 1;
	bo->size = size;
	bo->alignment = alignment;
	bo->domains = in.domains;
	bo->flags = in.domain_flags;
	if (in.domain_flags & AMDGPU_GEM_CREATE_VM_ALWAYS_VALID)
		bo->owner = client;
	if (in.domains & ON_CHIP) {
		bo->kind = SIM_BO_ON_CHIP;
		bo->flags |= AMDGPU_GEM_CREATE_NO_CPU_ACCESS;
		return new_handle(client, bo, &args->out.handle);
	}
	bo->offset = UINT64_MAX;
	if (in.domains & AMDGPU_GEM_DOMAIN_VRAM) {
		bo->kind = SIM_BO_VRAM;
		bo->offset = sim_memory_take(true, size, alignment,
					     in.domain_flags & AMDGPU_GEM_CREATE_VRAM_CLEARED);
	}
	/* What does not fit into local memory is put into the other kind. */
	if (bo->offset == UINT64_MAX) {
		bo->kind = SIM_BO_GTT;
		bo->offset = sim_memory_take(false, size, alignment, true);
	}
	if (bo->offset == UINT64_MAX) {
		free(bo);
		return -ENOMEM;
	}
	bo->host = sim.memory + bo->offset;
	error = new_handle(client, bo, &handle);
	memset(args, 0, sizeof(*args));
	args->out.handle = handle;
	return error;
}

static int mmap_offset(struct sim_client *client, union drm_amdgpu_gem_mmap *args)
{
	struct sim_bo *bo = sim_idr_find(&client->bos, args->in.handle);

	memset(args, 0, sizeof(*args));
	if (!bo)
		return -ENOENT;
	if (bo->kind == SIM_BO_USER || (bo->flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS))
		return -EPERM;
	if (bo->kind == SIM_BO_IMPORT) {
		/* drm_gem_dumb_map_offset() refuses what was imported; mapping goes through the dma-buf. */
		return -EINVAL;
	}
	args->out.addr_ptr = bo->offset;
	return 0;
}

/* Whether the memory at @at is backed by a file, by the map of the process. */
static bool is_file(uintptr_t at, uint64_t size)
{
	static char text[1 << 16];
	size_t have = 0;

	if (lseek(sim.maps, 0, SEEK_SET))
		return false;
	for (;;) {
		ssize_t n = read(sim.maps, text + have, sizeof(text) - 1 - have);
		char *line = text, *end;

		if (n <= 0)
			return false;
		have += (size_t)n;
		text[have] = 0;
		while ((end = strchr(line, '\n'))) {
			unsigned long from, to, inode;

			*end = 0;
			if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) == 3 &&
			    from < at + size && at < to && inode)
				return true;
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
	}
}

int sim_bo_populate(struct sim_bo *bo)
{
	bool read_only = bo->user_flags & AMDGPU_GEM_USERPTR_READONLY;

	if ((bo->user_flags & AMDGPU_GEM_USERPTR_ANONONLY) && is_file((uintptr_t)bo->host, bo->size))
		return -EPERM;
	if (madvise(bo->host, bo->size, read_only ? MADV_POPULATE_READ : MADV_POPULATE_WRITE))
		return errno == ENOMEM || errno == EFAULT || errno == EINVAL ? -EFAULT : -errno;
	return 0;
}

static int user_pointer(struct sim_client *client, struct drm_amdgpu_gem_userptr *args)
{
	const uint32_t valid = AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_ANONONLY |
			       AMDGPU_GEM_USERPTR_VALIDATE | AMDGPU_GEM_USERPTR_REGISTER;
	struct sim_bo *bo;
	int error;

	if ((args->addr | args->size) & (SIM_PAGE - 1))
		return -EINVAL;
	if (args->flags & ~valid)
		return -EINVAL;
	if (!(args->flags & (AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_REGISTER)))
		return -EACCES;
	if (!args->size || args->addr + args->size < args->addr)
		return -EINVAL;
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->refs = 1;
	bo->kind = SIM_BO_USER;
	bo->size = args->size;
	bo->host = (uint8_t *)(uintptr_t)args->addr;
	bo->user_flags = args->flags;
	bo->domains = AMDGPU_GEM_DOMAIN_GTT;
	bo->alignment = SIM_PAGE;
	bo->next_user = sim.user_bos;
	sim.user_bos = bo;
	error = args->flags & AMDGPU_GEM_USERPTR_VALIDATE ? sim_bo_populate(bo) : 0;
	if (error) {
		sim_bo_put(bo);
		return error;
	}
	return new_handle(client, bo, &args->handle);
}

void sim_user_unmap(uintptr_t at, size_t size)
{
	pthread_mutex_lock(&sim.lock);
	for (struct sim_bo *bo = sim.user_bos; bo;) {
		uintptr_t host = (uintptr_t)bo->host;

		if (host < at + size && at < host + bo->size && !sim_fences_done(&bo->users)) {
			sim_wait_until(INT64_MAX);
			bo = sim.user_bos;
		} else {
			bo = bo->next_user;
		}
	}
	pthread_mutex_unlock(&sim.lock);
}

static int wait_idle(struct sim_client *client, union drm_amdgpu_gem_wait_idle *args)
{
	struct sim_bo *bo = sim_idr_find(&client->bos, args->in.handle);
	int64_t until = (int64_t)args->in.timeout < 0 ? INT64_MAX : (int64_t)args->in.timeout;
	bool busy;

	if (!bo)
		return -ENOENT;
	sim_bo_ref(bo);
	while ((busy = !sim_fences_done(&bo->users)) && sim_wait_until(until))
		;
	sim_bo_put(bo);
	memset(args, 0, sizeof(*args));
	args->out.status = busy;
	return 0;
}

static int op(struct sim_client *client, struct drm_amdgpu_gem_op *args)
{
	struct sim_bo *bo = sim_idr_find(&client->bos, args->handle);
	struct drm_amdgpu_gem_create_in info;

	if (!bo)
		return -ENOENT;
	switch (args->op) {
	case AMDGPU_GEM_OP_GET_GEM_CREATE_INFO:
		info = (struct drm_amdgpu_gem_create_in){ bo->size, bo->alignment, bo->domains, bo->flags };
		memcpy((void *)(uintptr_t)args->value, &info, sizeof(info));
		return 0;
	case AMDGPU_GEM_OP_SET_PLACEMENT:
		if (bo->kind == SIM_BO_IMPORT && (args->value & AMDGPU_GEM_DOMAIN_VRAM))
			return -EINVAL;
		if (bo->kind == SIM_BO_USER)
			return -EPERM;
		bo->domains = args->value &
			      (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT | AMDGPU_GEM_DOMAIN_CPU);
		return 0;
	default:
		return -EINVAL;
	}
}

static int metadata(struct sim_client *client, struct drm_amdgpu_gem_metadata *args)
{
	struct sim_bo *bo = sim_idr_find(&client->bos, args->handle);

	if (!bo)
		return -ENOENT;
	if (args->op == AMDGPU_GEM_METADATA_OP_GET_METADATA) {
		args->data.flags = bo->metadata_flags;
		args->data.tiling_info = bo->tiling;
		args->data.data_size_bytes = bo->metadata_size;
		memcpy(args->data.data, bo->metadata, sizeof(args->data.data));
		return 0;
	}
	if (args->op != AMDGPU_GEM_METADATA_OP_SET_METADATA)
		return -EPERM; /* what the driver's -1 comes out as */
	if (args->data.data_size_bytes > sizeof(args->data.data))
		return -EINVAL;
	bo->metadata_flags = args->data.flags;
	bo->tiling = args->data.tiling_info;
	bo->metadata_size = args->data.data_size_bytes;
	memset(bo->metadata, 0, sizeof(bo->metadata));
	memcpy(bo->metadata, args->data.data, args->data.data_size_bytes);
	return 0;
}

static int gem_close(struct sim_client *client, const struct drm_gem_close *args)
{
	struct sim_bo *bo = sim_idr_remove(&client->bos, args->handle);

	if (!bo)
		return -EINVAL;
	sim_vm_drop_bo(&client->vm, bo);
	sim_bo_put(bo);
	return 0;
}

int sim_gem_ioctl(struct sim_client *client, unsigned int nr, void *arg)
{
	switch (nr) {
	case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
		return gem_close(client, arg);
	case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_CREATE:
		return create(client, arg);
	case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP:
		return mmap_offset(client, arg);
	case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_USERPTR:
		return user_pointer(client, arg);
	case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_WAIT_IDLE:
		return wait_idle(client, arg);
	case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP:
		return op(client, arg);
	default:
		return metadata(client, arg);
	}
}
