/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_memory.c - blocks of memory for launches and what goes with them, used again and again.
 *
 * Memory that a GPU sees is expensive to get: a system call for the memory, one for its place among the GPU's addresses,
 * and more behind them. So blocks have sizes of powers of two, and those that are not used are kept, up to KEEP bytes.
 * What an earlier launch has left in one is not cleared: a worker has one guest, and no program reaches what it was not
 * given.
 *
 * Stop words are what the CPU changes while a launch runs. They lie in memory of another kind, which no cache of the GPU's
 * keeps and which it cannot write, so not among what it caches and writes back as a whole; STOP_WORD apart, in pages that
 * stay until the end.
 *
 * Threads: any; blocks_lock.
 */
#include "gpu_priv.h"

#define MIN_BLOCK (64ull << 10) /* the first class; each is four times the one before */
#define KEEP	  (64ull << 20)
#define STOP_PAGE 4096u
#define STOP_WORD 64u /* a line of any cache */

static uint64_t class_size(uint32_t class)
{
	return MIN_BLOCK << 2 * class;
}

struct gpu_block *gp_gpu_block(struct gp_device *dev, uint64_t size)
{
	uint32_t class = 0, num = G_N_ELEMENTS(dev->blocks);
	struct gpu_block *block = NULL;

	while (class < num && class_size(class) < size)
		class ++;
	if (class < num) {
		size = class_size(class);
		pthread_mutex_lock(&dev->blocks_lock);
		block = dev->blocks[class];
		if (block) {
			dev->blocks[class] = block->next;
			dev->blocks_kept -= block->size;
		}
		pthread_mutex_unlock(&dev->blocks_lock);
	}
	if (!block) {
		uint8_t *base = dev->ops->alloc(dev->gpu, size, GP_GPU_MEM_HOST);

		if (!base)
			return NULL;
		block = g_new0(struct gpu_block, 1);
		block->base = base;
		block->size = size;
	}
	block->next = NULL;
	block->used = 0;
	return block;
}

static void free_block(struct gp_device *dev, struct gpu_block *block)
{
	dev->ops->free(dev->gpu, block->base, block->size);
	g_free(block);
}

void gp_gpu_block_put(struct gp_device *dev, struct gpu_block *block)
{
	uint32_t class = 0, num = G_N_ELEMENTS(dev->blocks);

	if (!block)
		return;
	while (class < num && class_size(class) != block->size)
		class ++;
	pthread_mutex_lock(&dev->blocks_lock);
	if (class < num && dev->blocks_kept + block->size <= KEEP) {
		block->next = dev->blocks[class];
		dev->blocks[class] = block;
		dev->blocks_kept += block->size;
		block = NULL;
	}
	pthread_mutex_unlock(&dev->blocks_lock);
	if (block)
		free_block(dev, block);
}

void *gp_gpu_take(struct gpu_block *block, uint64_t size)
{
	void *at = block->base + block->used;

	block->used += gp_gpu_room(size);
	return at;
}

/* With blocks_lock. */
static bool more_stop_words(struct gp_device *dev)
{
	uint8_t *page = dev->ops->alloc(dev->gpu, STOP_PAGE, GP_GPU_MEM_HOST_RO);

	if (!page)
		return false;
	g_ptr_array_add(dev->stop_pages, page);
	for (uint32_t at = 0; at < STOP_PAGE; at += STOP_WORD)
		g_ptr_array_add(dev->stops, page + at);
	return true;
}

uint32_t *gp_gpu_stop_word(struct gp_device *dev)
{
	uint32_t *word = NULL;

	pthread_mutex_lock(&dev->blocks_lock);
	if (dev->stops->len || more_stop_words(dev))
		word = g_ptr_array_remove_index_fast(dev->stops, dev->stops->len - 1);
	pthread_mutex_unlock(&dev->blocks_lock);
	if (word)
		__atomic_store_n(word, (uint32_t)GP_STOP_NONE, __ATOMIC_RELAXED);
	return word;
}

void gp_gpu_stop_word_put(struct gp_device *dev, uint32_t *word)
{
	pthread_mutex_lock(&dev->blocks_lock);
	g_ptr_array_add(dev->stops, word);
	pthread_mutex_unlock(&dev->blocks_lock);
}

void gp_gpu_blocks_free(struct gp_device *dev)
{
	for (guint i = 0; i < dev->stop_pages->len; i++)
		dev->ops->free(dev->gpu, g_ptr_array_index(dev->stop_pages, i), STOP_PAGE);
	g_ptr_array_set_size(dev->stop_pages, 0);
	g_ptr_array_set_size(dev->stops, 0);
	for (uint32_t class = 0; class < G_N_ELEMENTS(dev->blocks); class ++) {
		while (dev->blocks[class]) {
			struct gpu_block *block = dev->blocks[class];

			dev->blocks[class] = block->next;
			free_block(dev, block);
		}
	}
}
