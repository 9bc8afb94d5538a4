/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - memory at one address for CPU and GPU, with guards, and zero whenever somebody gets it.
 *
 * What the kinds are:
 *  - DEVICE: the card's own. Addresses are reserved with the driver, which takes them in the process as well, physical memory is
 *    mapped there for the card, and the CPU finds nothing: what it has to put there goes through write(). Pages are of 2 MiB, so
 *    small pieces share one (a chunk), with GP_GUARD bytes between them that nobody uses: whoever got past a check by
 *    so little would hit nothing, but not fault. At both ends of each chunk and of each large piece there is nothing.
 *  - HOST: the process's pages, registered with the driver in place.
 *  - HOST_RO, TABLE: likewise, and the card cannot write them, where it knows that (all that could be asked do; else
 *    `read_only` is false, and what keeps programs from writing there is their checks alone).
 *
 * The driver pins what is registered: it cannot be swapped, and takes the process's memory limit from the start.
 *
 * Cleared: the kernel zeroes the host's pages, and the card's are set to zero when they are handed out, by the second
 * stream, which is waited for: a piece that comes is used by whatever is launched next.
 *
 * Memory that the driver does not let go of is kept, with its addresses, until the card is closed: nobody gets an address
 * that the card may still see something at. In a lost context nothing runs any more, and all is let go.
 *
 * Threads: any.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "cuda/private.h"

#define SMALL	     (256u << 10) /* at most that much of a chunk */
#define GUARD_PAGES  (GP_GUARD / GP_CUDA_PAGE)
#define BUFFER_BYTES 65536u
#define SETTLE_NS    10000000000ull

struct gp_chunk {
	struct gp_memory memory; /* all of it, not in the table */
	uint32_t pages, used;
	uint8_t *taken; /* of each page, and GUARD_PAGES that are not there */
};

uint64_t gp_cuda_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void gp_cuda_enter(const struct gp_gpu *gpu)
{
	gpu->cuda->cuCtxSetCurrent(gpu->context);
}

/* -------------------------------------------------------------------- the second stream */

CUresult gp_cuda_settle(struct gp_gpu *gpu, CUstream stream)
{
	uint64_t began = gp_cuda_now();
	CUresult ret;

	/* Whatever it answers but that all is done, or that the context has ended: it may still be under way. */
	while ((ret = gp_cuda_check(gpu, gpu->cuda->cuStreamQuery(stream)))) {
		uint64_t took = gp_cuda_now() - began;

		if (took > SETTLE_NS || gp_cuda_is_lost(gpu))
			break;
		if (took > 100000)
			g_usleep(50);
	}
	return ret;
}

static CUresult clear(struct gp_gpu *gpu, const void *at, uint64_t size)
{
	CUresult ret;

	g_mutex_lock(&gpu->writing);
	ret = gp_cuda_check(gpu, gpu->cuda->cuMemsetD8Async((uintptr_t)at, 0, size, gpu->side));
	if (!ret)
		ret = gp_cuda_settle(gpu, gpu->side);
	g_mutex_unlock(&gpu->writing);
	return ret;
}

int gp_cuda_write(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes)
{
	CUresult ret = CUDA_SUCCESS;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->writing);
	for (uint64_t at = 0, n; at < bytes && !ret; at += n) {
		n = MIN(bytes - at, BUFFER_BYTES);
		memcpy(gpu->buffer, (const uint8_t *)from + at, n);
		ret = gp_cuda_check(gpu, gpu->cuda->cuMemcpyAsync((uintptr_t)to + at, (uintptr_t)gpu->buffer,
								  n, gpu->side));
		if (!ret)
			ret = gp_cuda_settle(gpu, gpu->side);
	}
	g_mutex_unlock(&gpu->writing);
	if (!ret)
		return 0;
	return ret == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

/* -------------------------------------------------------------------- the host's */

CUresult gp_cuda_register(struct gp_gpu *gpu, void *at, uint64_t size, bool read_only)
{
	unsigned int flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
	CUdeviceptr seen = 0;
	CUresult ret;

	if (read_only && gpu->read_only)
		flags |= CU_MEMHOSTREGISTER_READ_ONLY;
	ret = gp_cuda_check(gpu, gpu->cuda->cuMemHostRegister_v2(at, size, flags));
	if (ret)
		return ret;
	ret = gp_cuda_check(gpu, gpu->cuda->cuMemHostGetDevicePointer_v2(&seen, at, 0));
	if (!ret && seen == (uintptr_t)at)
		return CUDA_SUCCESS;
	gpu->cuda->cuMemHostUnregister(at);
	return ret ? ret : CUDA_ERROR_NOT_SUPPORTED;
}

static bool alloc_host(struct gp_gpu *gpu, struct gp_memory *m)
{
	m->whole_size = m->size + 2 * GP_GUARD;
	m->whole = mmap(NULL, m->whole_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->whole == MAP_FAILED)
		return false;
	m->base = (uint8_t *)m->whole + GP_GUARD;
	if (!mprotect(m->base, m->size, PROT_READ | PROT_WRITE) &&
	    !gp_cuda_register(gpu, m->base, m->size, m->kind != GP_GPU_MEM_HOST))
		return true;
	munmap(m->whole, m->whole_size);
	return false;
}

/* Return: whether it is gone. */
static bool free_host(struct gp_gpu *gpu, struct gp_memory *m)
{
	if (gp_cuda_check(gpu, gpu->cuda->cuMemHostUnregister(m->base)) && !gp_cuda_is_lost(gpu))
		return false;
	munmap(m->whole, m->whole_size);
	return true;
}

/* -------------------------------------------------------------------- the card's */

/* Return: whether there are no addresses left of it. */
static bool drop_card(struct gp_gpu *gpu, struct gp_memory *m)
{
	if (m->mapped && gp_cuda_check(gpu, gpu->cuda->cuMemUnmap((uintptr_t)m->base, m->mapped)) &&
	    !gp_cuda_is_lost(gpu))
		return false;
	m->mapped = 0;
	return !gp_cuda_check(gpu, gpu->cuda->cuMemAddressFree((uintptr_t)m->whole, m->whole_size)) ||
	       gp_cuda_is_lost(gpu);
}

static CUresult map_card(struct gp_gpu *gpu, struct gp_memory *m, uint64_t bytes)
{
	const CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, gpu->device };
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
	const CUmemAccessDesc access = { here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUresult ret = gpu->cuda->cuMemCreate(&handle, bytes, &prop, 0);

	if (ret)
		return ret;
	ret = gpu->cuda->cuMemMap((uintptr_t)m->base, bytes, 0, handle, 0);
	/* Mapped, it stays until it is unmapped. */
	if (!ret)
		m->mapped = bytes;
	gpu->cuda->cuMemRelease(handle);
	return ret ? ret : gpu->cuda->cuMemSetAccess((uintptr_t)m->base, bytes, &access, 1);
}

/* @m->base, of @bytes, and as many as a page has on either side that are nobody's. */
static bool alloc_card(struct gp_gpu *gpu, struct gp_memory *m, uint64_t bytes)
{
	uint64_t guard = gp_round_up(GP_GUARD, gpu->granularity);
	CUdeviceptr at = 0;

	bytes = gp_round_up(bytes, gpu->granularity);
	m->whole_size = bytes + 2 * guard;
	if (gp_cuda_check(gpu, gpu->cuda->cuMemAddressReserve(&at, m->whole_size, 0, 0, 0)))
		return false;
	m->whole = (void *)(uintptr_t)at;
	m->base = (uint8_t *)m->whole + guard;
	if (!gp_cuda_check(gpu, map_card(gpu, m, bytes)))
		return true;
	drop_card(gpu, m);
	return false;
}

static struct gp_chunk *new_chunk(struct gp_gpu *gpu)
{
	struct gp_chunk *chunk = g_new0(struct gp_chunk, 1);

	chunk->memory.kind = GP_GPU_MEM_DEVICE;
	if (!alloc_card(gpu, &chunk->memory, gpu->granularity)) {
		g_free(chunk);
		return NULL;
	}
	chunk->pages = (uint32_t)(chunk->memory.mapped / GP_CUDA_PAGE);
	chunk->taken = g_malloc0(chunk->pages + GUARD_PAGES);
	g_ptr_array_add(gpu->chunks, chunk);
	return chunk;
}

/* Takes @pages and a guard behind them out of @chunk. Return: the first, or UINT32_MAX. */
static uint32_t take_pages(struct gp_chunk *chunk, uint32_t pages)
{
	uint32_t want = pages + GUARD_PAGES, run = 0;

	for (uint32_t i = 0; i < chunk->pages + GUARD_PAGES; i++) {
		run = chunk->taken[i] ? 0 : run + 1;
		if (run < want)
			continue;
		memset(chunk->taken + i + 1 - want, 1, want);
		chunk->used += pages;
		return i + 1 - want;
	}
	return UINT32_MAX;
}

static bool take_small(struct gp_gpu *gpu, struct gp_memory *m)
{
	uint32_t pages = (uint32_t)(m->size / GP_CUDA_PAGE), first = UINT32_MAX;
	struct gp_chunk *chunk = NULL;

	for (guint i = 0; i < gpu->chunks->len && first == UINT32_MAX; i++) {
		chunk = g_ptr_array_index(gpu->chunks, i);
		first = take_pages(chunk, pages);
	}
	if (first == UINT32_MAX) {
		chunk = new_chunk(gpu);
		if (!chunk)
			return false;
		first = take_pages(chunk, pages);
	}
	m->chunk = chunk;
	m->base = chunk->memory.base + (uint64_t)first * GP_CUDA_PAGE;
	return true;
}

static bool put_small(struct gp_gpu *gpu, struct gp_memory *m)
{
	struct gp_chunk *chunk = m->chunk;
	uint64_t first = (uint64_t)(m->base - chunk->memory.base) / GP_CUDA_PAGE;
	uint32_t pages = (uint32_t)(m->size / GP_CUDA_PAGE);

	memset(chunk->taken + first, 0, pages + GUARD_PAGES);
	chunk->used -= pages;
	/* The last one is kept: there will be more. */
	if (!chunk->used && gpu->chunks->len > 1 && drop_card(gpu, &chunk->memory)) {
		g_ptr_array_remove_fast(gpu->chunks, chunk);
		g_free(chunk->taken);
		g_free(chunk);
	}
	return true;
}

/* -------------------------------------------------------------------- operations */

static bool is_small(const struct gp_gpu *gpu, uint64_t size)
{
	return size <= SMALL && size + GP_GUARD <= gpu->granularity;
}

static bool get(struct gp_gpu *gpu, struct gp_memory *m)
{
	if (m->kind != GP_GPU_MEM_DEVICE)
		return alloc_host(gpu, m);
	return is_small(gpu, m->size) ? take_small(gpu, m) : alloc_card(gpu, m, m->size);
}

static bool put(struct gp_gpu *gpu, struct gp_memory *m)
{
	if (m->kind != GP_GPU_MEM_DEVICE)
		return free_host(gpu, m);
	return m->chunk ? put_small(gpu, m) : drop_card(gpu, m);
}

void *gp_cuda_alloc(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem)
{
	struct gp_memory *m = g_new0(struct gp_memory, 1);
	bool ok;

	m->size = gp_round_up(size, GP_CUDA_PAGE);
	m->kind = mem;
	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->memory);
	ok = size && !gp_cuda_is_lost(gpu) && get(gpu, m);
	if (ok)
		g_hash_table_insert(gpu->allocated, m->base, m);
	g_mutex_unlock(&gpu->memory);
	if (!ok) {
		g_free(m);
		return NULL;
	}
	if (mem == GP_GPU_MEM_DEVICE && clear(gpu, m->base, m->size)) {
		gp_cuda_free(gpu, m->base, size);
		return NULL;
	}
	return m->base;
}

void gp_cuda_free(struct gp_gpu *gpu, void *at, uint64_t size)
{
	struct gp_memory *m;

	gp_cuda_enter(gpu);
	g_mutex_lock(&gpu->memory);
	m = g_hash_table_lookup(gpu->allocated, at);
	/* What is not gone stays in the table, for the end. */
	if (m && put(gpu, m)) {
		g_hash_table_remove(gpu->allocated, at);
		g_free(m);
	}
	g_mutex_unlock(&gpu->memory);
}

CUresult gp_cuda_memory_open(struct gp_gpu *gpu)
{
	const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, gpu->device } };
	size_t granularity = 0;
	CUresult ret = gpu->cuda->cuMemGetAllocationGranularity(&granularity, &prop,
								CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (ret)
		return ret;
	gpu->granularity = gp_round_up(MAX(granularity, GP_GUARD), GP_CUDA_PAGE);
	ret = gpu->cuda->cuStreamCreate(&gpu->side, CU_STREAM_NON_BLOCKING);
	if (ret)
		return ret;
	gpu->buffer = gp_cuda_alloc(gpu, BUFFER_BYTES, GP_GPU_MEM_HOST);
	return gpu->buffer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The driver gives back with the context what is left, so that nobody finds it at its addresses any more. */
void gp_cuda_memory_close(struct gp_gpu *gpu)
{
	GHashTableIter iter;
	struct gp_memory *m;

	if (gpu->buffer)
		gp_cuda_free(gpu, gpu->buffer, BUFFER_BYTES);
	if (gpu->side)
		gpu->cuda->cuStreamDestroy_v2(gpu->side);
	g_hash_table_iter_init(&iter, gpu->allocated);
	while (g_hash_table_iter_next(&iter, NULL, (void **)&m)) {
		put(gpu, m);
		g_free(m);
	}
	for (guint i = gpu->chunks->len; i-- > 0;) {
		struct gp_chunk *chunk = g_ptr_array_index(gpu->chunks, i);

		drop_card(gpu, &chunk->memory);
		g_free(chunk->taken);
		g_free(chunk);
	}
	g_ptr_array_set_size(gpu->chunks, 0);
	g_hash_table_remove_all(gpu->allocated);
}
