/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - what the card has of memory: one sparse memory file, local memory first, then system memory.
 *
 * A node's descriptor is a copy of the file's, so a buffer's mmap() offset is its place in the file. The whole file is
 * mapped here once. Pages that are given back are taken out of the file with MADV_REMOVE on that mapping, which a
 * sandbox that allows madvise() allows, so memory is always zero when it is given out; local memory
 * that was not asked for cleared is then filled with what looks like somebody else's data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "card.h"

#define POISON 0xdb /* no small number, no address, no 0 */

struct extent {
	uint64_t at, size;
};

/* Free extents of one kind of memory, by address. */
struct pool {
	struct extent *free;
	uint32_t count, room;
	uint64_t used;
};

static struct pool pools[2];

static int pool_insert(struct pool *pool, uint32_t index, uint64_t at, uint64_t size)
{
	if (pool->count == pool->room) {
		uint32_t room = pool->room ? pool->room * 2 : 64;
		struct extent *free = realloc(pool->free, room * sizeof(*free));

		if (!free)
			return -ENOMEM;
		pool->free = free;
		pool->room = room;
	}
	memmove(pool->free + index + 1, pool->free + index, (pool->count - index) * sizeof(*pool->free));
	pool->free[index] = (struct extent){ at, size };
	pool->count++;
	return 0;
}

static void pool_remove(struct pool *pool, uint32_t index)
{
	pool->count--;
	memmove(pool->free + index, pool->free + index + 1, (pool->count - index) * sizeof(*pool->free));
}

int sim_memory_start(uint64_t vram, uint64_t gtt)
{
	int file = memfd_create("amdgpu-sim", MFD_CLOEXEC);

	if (file < 0)
		return -errno;
	if (ftruncate(file, (off_t)(vram + gtt)))
		goto fail;
	sim.memory = mmap(NULL, vram + gtt, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	if (sim.memory == MAP_FAILED)
		goto fail;
	sim.file = file;
	sim.vram = vram;
	sim.gtt = gtt;
	if (pool_insert(&pools[0], 0, vram, gtt) || pool_insert(&pools[1], 0, 0, vram))
		return -ENOMEM;
	return 0;
fail:
	vram = (uint64_t)errno;
	close(file);
	return -(int)vram;
}

static void fill(uint64_t offset, uint64_t size)
{
	memset(sim.memory + offset, POISON, size < sim.options.poison ? size : sim.options.poison);
}

uint64_t sim_memory_take(bool vram, uint64_t size, uint64_t alignment, bool cleared)
{
	struct pool *pool = &pools[vram];

	for (uint32_t i = 0; i < pool->count; i++) {
		struct extent *e = &pool->free[i];
		uint64_t at = (e->at + alignment - 1) / alignment * alignment, end = e->at + e->size;

		if (at < e->at || at > end || end - at < size)
			continue;
		if (at > e->at && at + size < end) {
			uint64_t head = at - e->at;

			if (pool_insert(pool, i + 1, at + size, end - at - size))
				return UINT64_MAX;
			pool->free[i].size = head;
		} else if (at > e->at) {
			e->size = at - e->at;
		} else if (at + size < end) {
			*e = (struct extent){ at + size, end - at - size };
		} else {
			pool_remove(pool, i);
		}
		pool->used += size;
		if (vram && !cleared)
			fill(at, size);
		return at;
	}
	return UINT64_MAX;
}

void sim_memory_give(bool vram, uint64_t offset, uint64_t size)
{
	struct pool *pool = &pools[vram];
	uint32_t i = 0;

	if (madvise(sim.memory + offset, size, MADV_REMOVE))
		memset(sim.memory + offset, 0, size);
	pool->used -= size;
	while (i < pool->count && pool->free[i].at < offset)
		i++;
	if (i && pool->free[i - 1].at + pool->free[i - 1].size == offset) {
		pool->free[i - 1].size += size;
		if (i < pool->count && offset + size == pool->free[i].at) {
			pool->free[i - 1].size += pool->free[i].size;
			pool_remove(pool, i);
		}
	} else if (i < pool->count && offset + size == pool->free[i].at) {
		pool->free[i].at = offset;
		pool->free[i].size += size;
	} else {
		/* Without memory for the list the pages are lost to us, no more. */
		pool_insert(pool, i, offset, size);
	}
}

/* Power was lost: what memory holds now is not what it held. */
void sim_memory_lose_vram(void)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i <= pools[1].count; i++) {
		uint64_t end = i < pools[1].count ? pools[1].free[i].at : sim.vram;

		if (end > at) {
			madvise(sim.memory + at, end - at, MADV_REMOVE);
			fill(at, end - at);
		}
		if (i < pools[1].count)
			at = end + pools[1].free[i].size;
	}
}

uint64_t sim_memory_used(bool vram)
{
	return pools[vram].used;
}
