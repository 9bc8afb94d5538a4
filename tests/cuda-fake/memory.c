/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - addresses, the card's memory and the host's, as the fake driver knows them.
 *
 * The card's memory is the process's at the addresses that were reserved for it, but nobody may touch it except while
 * the fake's threads run something.
 */
#include <string.h>
#include <sys/mman.h>
#include "private.h"

struct range {
	uint64_t at, size;
	CUmemGenericAllocationHandle handle; /* mapped */
	bool access; /* mapped, and may be used; registered: the card only reads */
};

#define TURNS 16

static GArray *reserved, *mapped, *registered; /* struct range */
static GArray *handles; /* struct range: at: the handle, size, access: it was released */
static uint32_t opened;
static uint64_t last_handle = 0x1000;

static GArray *list(GArray **which)
{
	if (!*which)
		*which = g_array_new(FALSE, FALSE, sizeof(struct range));
	return *which;
}

/* The one of @which that holds all of it, or with @exactly begins there. */
static struct range *find(GArray **which, uint64_t at, uint64_t size, bool exactly)
{
	for (guint i = 0; i < list(which)->len; i++) {
		struct range *r = &g_array_index(*which, struct range, i);

		if (exactly ? r->at == at : at >= r->at && size <= r->size && at - r->at <= r->size - size)
			return r;
	}
	return NULL;
}

static bool overlaps(GArray **which, uint64_t at, uint64_t size)
{
	for (guint i = 0; i < list(which)->len; i++) {
		const struct range *r = &g_array_index(*which, struct range, i);

		if (at < r->at + r->size && r->at < at + size)
			return true;
	}
	return false;
}

static void drop(GArray *which, const struct range *r)
{
	g_array_remove_index_fast(which, (guint)(r - &g_array_index(which, struct range, 0)));
}

static void protect(const struct range *r, bool open)
{
	if (r->access && mprotect((void *)r->at, r->size, open ? PROT_READ | PROT_WRITE : PROT_NONE))
		fake_die("no protection of the card's memory");
}

/* It is not closed each time, which would take most of the time that there is. */
static bool is_open;
static uint32_t turns;

static void protect_all(bool open)
{
	for (guint i = 0; i < list(&mapped)->len; i++)
		protect(&g_array_index(mapped, struct range, i), open);
	is_open = open;
}

void fake_card_open(void)
{
	if (!opened++ && !is_open)
		protect_all(true);
}

void fake_card_close(void)
{
	if (!--opened && ++turns % TURNS == 0)
		protect_all(false);
}

enum fake_memory fake_where(uint64_t at, uint64_t size)
{
	const struct range *r = find(&mapped, at, size, false);

	if (r)
		return r->access ? FAKE_CARD : FAKE_NOWHERE;
	r = find(&registered, at, size, false);
	return r ? r->access ? FAKE_HOST_RO : FAKE_HOST : FAKE_NOWHERE;
}

CUresult fake_reserve(CUdeviceptr *at, size_t size)
{
	uint8_t *got;
	uint64_t first;
	struct range r = { .size = size };

	if (!size || size % FAKE_PAGE)
		return CUDA_ERROR_INVALID_VALUE;
	got = mmap(NULL, size + FAKE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (got == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	first = ((uint64_t)(uintptr_t)got + FAKE_PAGE - 1) & ~(uint64_t)(FAKE_PAGE - 1);
	if (first > (uint64_t)(uintptr_t)got)
		munmap(got, first - (uint64_t)(uintptr_t)got);
	munmap((void *)(first + size), (uint64_t)(uintptr_t)got + FAKE_PAGE - first);
	r.at = *at = first;
	g_array_append_val(list(&reserved), r);
	return CUDA_SUCCESS;
}

CUresult fake_unreserve(CUdeviceptr at, size_t size)
{
	struct range *r = find(&reserved, at, size, true);

	if (!r || r->size != size)
		fake_die("addresses are given back that were not had so");
	if (overlaps(&mapped, at, size))
		fake_die("addresses are given back where something is mapped");
	munmap((void *)at, size);
	drop(reserved, r);
	return CUDA_SUCCESS;
}

CUresult fake_create(CUmemGenericAllocationHandle *handle, size_t size)
{
	struct range r = { .at = ++last_handle, .size = size };

	if (!size || size % FAKE_PAGE)
		return CUDA_ERROR_INVALID_VALUE;
	g_array_append_val(list(&handles), r);
	*handle = r.at;
	return CUDA_SUCCESS;
}

CUresult fake_release(CUmemGenericAllocationHandle handle)
{
	struct range *r = find(&handles, handle, 0, true);

	if (!r || r->access)
		fake_die("memory is released that is not there");
	r->access = true;
	for (guint i = 0; i < list(&mapped)->len; i++)
		if (g_array_index(mapped, struct range, i).handle == handle)
			return CUDA_SUCCESS;
	drop(handles, r);
	return CUDA_SUCCESS;
}

CUresult fake_map(CUdeviceptr at, size_t size, CUmemGenericAllocationHandle handle)
{
	const struct range *from = find(&handles, handle, 0, true);
	struct range r = { .at = at, .size = size, .handle = handle };

	if (!from || from->access || from->size != size || !find(&reserved, at, size, false) ||
	    overlaps(&mapped, at, size))
		fake_die("memory is mapped that is not there, or where nothing may be");
	g_array_append_val(list(&mapped), r);
	return CUDA_SUCCESS;
}

CUresult fake_access(CUdeviceptr at, size_t size)
{
	struct range *r = find(&mapped, at, size, true);

	if (!r || r->size != size || r->access)
		fake_die("access to memory that is not mapped");
	if (mprotect((void *)at, size, PROT_READ | PROT_WRITE))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memset((void *)at, 0xa5, size);
	r->access = true;
	if (!is_open)
		protect(r, false);
	return CUDA_SUCCESS;
}

CUresult fake_unmap(CUdeviceptr at, size_t size)
{
	struct range *r = find(&mapped, at, size, true), *from;

	if (!r || r->size != size)
		fake_die("memory is unmapped that is not mapped so");
	if (fake_work_uses(at, size))
		fake_die("memory is unmapped that queued work uses");
	if (mmap((void *)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) == MAP_FAILED)
		fake_die("no address");
	from = find(&handles, r->handle, 0, true);
	if (from && from->access)
		drop(handles, from);
	drop(mapped, r);
	return CUDA_SUCCESS;
}

CUresult fake_register(void *at, size_t size, bool read_only)
{
	struct range r = { .at = (uintptr_t)at, .size = size, .access = read_only };
	unsigned char *there;
	int missing;

	if (!size || (r.at | size) % 4096)
		return CUDA_ERROR_INVALID_VALUE;
	if (overlaps(&registered, r.at, size))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	there = g_malloc(size / 4096);
	missing = mincore(at, size, there);
	g_free(there);
	if (missing)
		fake_die("memory is registered that is not the process's");
	g_array_append_val(list(&registered), r);
	return CUDA_SUCCESS;
}

CUresult fake_unregister(void *at)
{
	struct range *r = find(&registered, (uintptr_t)at, 0, true);

	if (!r)
		fake_die("memory is taken back that is not registered");
	if (fake_work_uses(r->at, r->size))
		fake_die("memory is taken back that queued work uses");
	drop(registered, r);
	return CUDA_SUCCESS;
}

CUresult fake_pointer(CUdeviceptr *device, void *at)
{
	if (!find(&registered, (uintptr_t)at, 1, false))
		return CUDA_ERROR_INVALID_VALUE;
	*device = (uintptr_t)at;
	return CUDA_SUCCESS;
}

const char *fake_memory_left(void)
{
	if (list(&registered)->len)
		return "memory of the host's is still registered";
	if (list(&mapped)->len)
		return "memory is still mapped";
	if (list(&handles)->len)
		return "memory was not released";
	return list(&reserved)->len ? "addresses were not given back" : NULL;
}
