/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - memory at one address for CPU and GPU, with guards, and zero whenever somebody gets it.
 *
 * How it works: addresses are reserved (bo.c), a buffer object is made, mapped there for the CPU, cleared by it,
 * and then mapped there for the GPU. Small pieces share a buffer object (a chunk), each with addresses and guards
 * of its own, so that a program with many maps does not make every submission carry a long list.
 *
 * What the kinds are:
 *  - DEVICE: the card's memory where the CPU reaches enough of it, else the host's. Cached by the GPU as the driver has it
 *    by default (AMDGPU_VM_MTYPE_DEFAULT: on every generation cached in the L2).
 *  - HOST: the host's memory, snooped by the GPU, cached as DEVICE is: launches begin with an invalidate and end with a
 *    write-back. So atomics of lanes are carried out in the L2; on memory that is not cached there they would be
 *    PCI Express's, which knows no minimum, and need not exist at all.
 *  - HOST_RO: the host's memory that the GPU cannot write, and that is not cached in its L2 (MTYPE_UC): what the CPU changes
 *    there is seen by a program that is running and looks past its own caches (*env.stop).
 *  - TABLE: as HOST, but the GPU cannot write it.
 * None can be executed; code has buffer objects of its own (load.c).
 *
 * Cleared three times over: the driver clears what comes from the card (asked for by AMDGPU_GEM_CREATE_VRAM_CLEARED; newer
 * ones do so anyway), the kernel zeroes the host's pages, and whatever is handed out is cleared here, which
 * alone covers pages of a chunk that somebody had before.
 *
 * What the driver will not unmap, of a chunk, is kept as it is until the card is closed: no address is ever
 * given out that the GPU may still see something at.
 */
#include <errno.h>
#include <string.h>
#include "amdgpu/private.h"

#define CHUNK	    (2u << 20)
#define CHUNK_PAGES (CHUNK / GP_GPU_PAGE)
#define SMALL	    (256u << 10) /* at most that much of a chunk */

struct gp_chunk {
	struct gp_bo *bo;
	enum gp_gpu_mem kind;
	uint32_t used; /* pages */
	uint64_t taken[CHUNK_PAGES / 64]; /* bit per page */
};

static const struct {
	uint32_t domain;
	uint64_t create; /* AMDGPU_GEM_CREATE_* */
	uint64_t map; /* AMDGPU_VM_* */
} kinds[] = {
	[GP_GPU_MEM_DEVICE] = { AMDGPU_GEM_DOMAIN_VRAM,
				AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED | AMDGPU_GEM_CREATE_VRAM_CLEARED,
				AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE |
					AMDGPU_VM_MTYPE_DEFAULT },
	[GP_GPU_MEM_HOST] = { AMDGPU_GEM_DOMAIN_GTT, 0,
			      AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_MTYPE_DEFAULT },
	[GP_GPU_MEM_TABLE] = { AMDGPU_GEM_DOMAIN_GTT, 0, AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_MTYPE_DEFAULT },
	[GP_GPU_MEM_HOST_RO] = { AMDGPU_GEM_DOMAIN_GTT, 0, AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_MTYPE_UC },
};

/* make() - a buffer object of a kind; the host's memory where the card has none left that the CPU reaches. */
static int make(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem kind, struct gp_bo **bo)
{
	bool vram = kinds[kind].domain == AMDGPU_GEM_DOMAIN_VRAM;
	int ret = -ENOMEM;

	if (!vram || size <= gpu->visible)
		ret = gp_bo_new(gpu, size, kinds[kind].domain, kinds[kind].create, bo);
	if (ret == -ENOMEM && vram)
		ret = gp_bo_new(gpu, size, AMDGPU_GEM_DOMAIN_GTT, 0, bo);
	return ret;
}

static bool is_taken(const struct gp_chunk *chunk, uint32_t page)
{
	return chunk->taken[page / 64] >> page % 64 & 1;
}

static void mark(struct gp_chunk *chunk, uint32_t page, uint32_t count, bool taken)
{
	for (uint32_t i = page; i < page + count; i++)
		if (taken)
			chunk->taken[i / 64] |= 1ull << i % 64;
		else
			chunk->taken[i / 64] &= ~(1ull << i % 64);
	chunk->used = taken ? chunk->used + count : chunk->used - count;
}

/* find() - the first run of @count free pages. Return: its first page, or CHUNK_PAGES. */
static uint32_t find(const struct gp_chunk *chunk, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < CHUNK_PAGES; i++) {
		run = is_taken(chunk, i) ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return CHUNK_PAGES;
}

static int take_pages(struct gp_gpu *gpu, struct gp_memory *memory)
{
	uint32_t count = (uint32_t)(memory->size / GP_GPU_PAGE), page = CHUNK_PAGES;
	struct gp_chunk *chunk = NULL;
	int ret;

	for (guint i = 0; i < gpu->chunks->len && page == CHUNK_PAGES; i++) {
		chunk = g_ptr_array_index(gpu->chunks, i);
		if (chunk->kind == memory->kind && chunk->used + count <= CHUNK_PAGES)
			page = find(chunk, count);
	}
	if (page == CHUNK_PAGES) {
		chunk = g_new0(struct gp_chunk, 1);
		chunk->kind = memory->kind;
		ret = make(gpu, CHUNK, memory->kind, &chunk->bo);
		if (ret) {
			g_free(chunk);
			return ret;
		}
		g_ptr_array_add(gpu->chunks, chunk);
		page = 0;
	}
	mark(chunk, page, count, true);
	memory->chunk = chunk;
	memory->bo = chunk->bo;
	memory->offset = (uint64_t)page * GP_GPU_PAGE;
	return 0;
}

static void give_pages(struct gp_gpu *gpu, struct gp_memory *memory)
{
	struct gp_chunk *chunk = memory->chunk;

	mark(chunk, (uint32_t)(memory->offset / GP_GPU_PAGE), (uint32_t)(memory->size / GP_GPU_PAGE), false);
	if (chunk->used)
		return;
	g_ptr_array_remove_fast(gpu->chunks, chunk);
	gp_bo_free(gpu, chunk->bo);
	g_free(chunk);
}

/* give() - back to where it came from; nothing is mapped for the GPU any more. */
static void give(struct gp_gpu *gpu, struct gp_memory *memory)
{
	if (memory->chunk)
		give_pages(gpu, memory);
	else if (memory->bo)
		gp_bo_free(gpu, memory->bo);
	gp_range_release(&memory->range);
	g_free(memory);
}

struct gp_memory *gp_memory_new(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem kind, uint64_t flags,
				int *error)
{
	struct gp_memory *memory;
	int ret = -ENOMEM;

	*error = -ENOMEM;
	if (!size || size > 1ull << 42)
		return NULL;
	memory = g_new0(struct gp_memory, 1);
	memory->kind = kind;
	memory->size = gp_round_up(size, GP_GPU_PAGE);
	g_mutex_lock(&gpu->memory);
	if (gp_range_reserve(gpu, memory->size, &memory->range))
		ret = memory->size <= SMALL ? take_pages(gpu, memory)
					    : make(gpu, memory->size, kind, &memory->bo);
	g_mutex_unlock(&gpu->memory);
	if (!ret)
		ret = gp_bo_cpu_map(gpu, memory->bo, memory->offset, memory->size, memory->range.base);
	if (!ret) {
		memset(memory->range.base, 0, memory->size);
		ret = gp_bo_map(gpu, memory->bo, memory->offset, memory->size, memory->range.base,
				flags ? flags : kinds[kind].map);
	}
	g_mutex_lock(&gpu->memory);
	if (ret) {
		give(gpu, memory);
		memory = NULL;
	} else {
		g_hash_table_insert(gpu->allocated, memory->range.base, memory);
	}
	g_mutex_unlock(&gpu->memory);
	*error = ret;
	return memory;
}

void gp_memory_drop(struct gp_gpu *gpu, struct gp_memory *memory)
{
	int ret = gp_bo_unmap(gpu, memory->bo, memory->offset, memory->size, memory->range.base);

	g_mutex_lock(&gpu->memory);
	g_hash_table_remove(gpu->allocated, memory->range.base);
	/* Freeing a whole buffer object unmaps it in any case. */
	if (ret && memory->chunk && !gp_bo_cpu_hide(memory->size, memory->range.base))
		g_ptr_array_add(gpu->stuck, memory);
	else
		give(gpu, memory);
	g_mutex_unlock(&gpu->memory);
}

void *gp_amdgpu_alloc(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem)
{
	int error;
	struct gp_memory *memory = gp_memory_new(gpu, size, mem, 0, &error);

	return memory ? memory->range.base : NULL;
}

void gp_amdgpu_free(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_memory *memory;

	if (!at)
		return;
	g_mutex_lock(&gpu->memory);
	memory = g_hash_table_lookup(gpu->allocated, at);
	g_mutex_unlock(&gpu->memory);
	if (memory)
		gp_memory_drop(gpu, memory);
}

void gp_memory_clear(struct gp_gpu *gpu)
{
	struct gp_memory *memory;
	GHashTableIter iter;

	g_mutex_lock(&gpu->memory);
	g_hash_table_iter_init(&iter, gpu->allocated);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&memory))
		if (memory->kind == GP_GPU_MEM_DEVICE)
			memset(memory->range.base, 0, memory->size);
	g_mutex_unlock(&gpu->memory);
}

void gp_memory_close(struct gp_gpu *gpu)
{
	GList *left = g_hash_table_get_values(gpu->allocated);

	for (GList *at = left; at; at = at->next)
		gp_memory_drop(gpu, at->data);
	g_list_free(left);
	for (guint i = 0; i < gpu->stuck->len; i++)
		give(gpu, g_ptr_array_index(gpu->stuck, i));
	g_ptr_array_set_size(gpu->stuck, 0);
}
