/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_stage.c - jobs on shared memory that the GPU does not reach in place: they work on copies.
 *
 * Packets: a slice has its slots copied, and what was run is copied back when it ends. Copies: likewise, a piece at a
 * time; where the GPU's memory is not involved at all, the CPU does it.
 *
 * Grids: arguments are copied when the first slice begins, and all slices work on those copies, with ranges that overlap in
 * one copy, as they are one in the original. When the job ends, only bytes that differ from what was copied
 * are written back: jobs on other timelines, and the guest, may have written next to them meanwhile. Atomics
 * of different jobs on one word do not add up here; those of one job do. All copies of a virtual machine together, and what
 * they are compared with, are at most what its memory limit is, beside what it has: a job for which there is no room fails.
 *
 * Threads: made by the submitter; written back by whoever puts the last slice.
 */
#include <string.h>
#include "gpu_priv.h"

struct span {
	uint8_t *at; /* in the shared memory */
	uint64_t size;
	bool writable;
	struct gpu_block *block; /* the copy */
	uint8_t *twin; /* what was copied, where it is writable */
	uint64_t charged; /* bytes of gp_device.staged */
};

struct gp_gpu_staging {
	struct gp_device *dev;
	uint32_t num;
	struct span spans[VIRTIO_GPGPU_MAX_ARGS];
};

bool gp_gpu_is_far(const struct gp_job *job, const void *at)
{
	const struct gpgpu_session *s = job->session;

	return !s->shared && (const uint8_t *)at >= s->shm && (const uint8_t *)at < s->shm + s->shm_size;
}

static int by_address(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Those that overlap become one. */
static void merge(struct gp_gpu_staging *staging)
{
	uint32_t num = 0;

	qsort(staging->spans, staging->num, sizeof(*staging->spans), by_address);
	for (uint32_t i = 0; i < staging->num; i++) {
		const struct span *next = &staging->spans[i];
		struct span *last = num ? &staging->spans[num - 1] : NULL;

		if (!last || next->at >= last->at + last->size) {
			staging->spans[num++] = *next;
			continue;
		}
		last->size = MAX(last->size, (uint64_t)(next->at - last->at) + next->size);
		last->writable |= next->writable;
	}
	staging->num = num;
}

/* Return: whether there is room for so much more. */
static bool may_stage(struct gp_device *dev, const struct gpgpu_session *s, uint64_t bytes)
{
	uint64_t limit = __atomic_load_n(&s->memory_limit, __ATOMIC_RELAXED);
	bool may;

	pthread_mutex_lock(&dev->blocks_lock);
	may = dev->staged <= limit && bytes <= limit - dev->staged;
	if (may)
		dev->staged += bytes;
	pthread_mutex_unlock(&dev->blocks_lock);
	return may;
}

static void not_staged(struct gp_device *dev, uint64_t bytes)
{
	pthread_mutex_lock(&dev->blocks_lock);
	dev->staged -= bytes;
	pthread_mutex_unlock(&dev->blocks_lock);
}

static bool copy_in(struct gp_device *dev, const struct gpgpu_session *s, struct span *span)
{
	uint64_t bytes = span->writable ? 2 * span->size : span->size;

	if (!may_stage(dev, s, bytes))
		return false;
	span->charged = bytes;
	span->block = gp_gpu_block(dev, span->size);
	if (!span->block)
		return false;
	memcpy(span->block->base, span->at, span->size);
	if (span->writable) {
		span->twin = g_try_malloc(span->size);
		if (!span->twin)
			return false;
		memcpy(span->twin, span->block->base, span->size);
	}
	return true;
}

bool gp_gpu_stage_args(struct gp_device *dev, struct gp_job *job, struct gp_region *args)
{
	struct gp_gpu_staging *staging = job->staging;
	bool ok = true;

	if (!staging) {
		staging = job->staging = g_new0(struct gp_gpu_staging, 1);
		staging->dev = dev;
		for (uint32_t i = 0; i < job->env.num_args; i++)
			if (args[i].size && gp_gpu_is_far(job, args[i].base))
				staging->spans[staging->num++] = (struct span){
					.at = args[i].base,
					.size = args[i].size,
					.writable = args[i].writable,
				};
		merge(staging);
		for (uint32_t i = 0; i < staging->num; i++)
			ok = ok && copy_in(dev, job->session, &staging->spans[i]);
	}
	for (uint32_t i = 0; ok && i < job->env.num_args; i++) {
		for (uint32_t n = 0; args[i].size && n < staging->num; n++) {
			const struct span *span = &staging->spans[n];

			if (args[i].base < span->at || args[i].base >= span->at + span->size)
				continue;
			if (!span->block)
				return false;
			args[i].base = span->block->base + (args[i].base - span->at);
			break;
		}
	}
	return ok;
}

static void copy_back(const struct span *span)
{
	const uint8_t *now = span->block->base, *then = span->twin;
	uint64_t at = 0, size = span->size;

	while (at < size) {
		if (at % 8 == 0 && size - at >= 8 && !memcmp(now + at, then + at, 8)) {
			at += 8;
			continue;
		}
		if (now[at] != then[at])
			span->at[at] = now[at];
		at++;
	}
}

void gp_gpu_stage_end(struct gp_job *job, bool back)
{
	struct gp_gpu_staging *staging = job->staging;

	job->staging = NULL;
	for (uint32_t i = 0; staging && i < staging->num; i++) {
		struct span *span = &staging->spans[i];

		if (back && span->block && span->twin)
			copy_back(span);
		gp_gpu_block_put(staging->dev, span->block);
		g_free(span->twin);
		not_staged(staging->dev, span->charged);
	}
	g_free(staging);
}
