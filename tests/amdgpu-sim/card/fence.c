/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.c - fences, sets of them, numbers for objects, waiting.
 *
 * A fence ends once, with an error or none. Everybody who waits sleeps on sim.changed, which is told whenever a
 * fence ends or a queue grows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "card.h"

uint32_t sim_idr_add(struct sim_idr *idr, void *object)
{
	void **slots;
	uint32_t size;

	for (uint32_t i = 0; i < idr->size; i++)
		if (!idr->slots[i]) {
			idr->slots[i] = object;
			return i + 1;
		}
	size = idr->size ? idr->size * 2 : 16;
	slots = size > 1u << 20 ? NULL : realloc(idr->slots, size * sizeof(*slots));
	if (!slots)
		return 0;
	memset(slots + idr->size, 0, (size - idr->size) * sizeof(*slots));
	slots[idr->size] = object;
	idr->slots = slots;
	size = idr->size;
	idr->size = size ? size * 2 : 16;
	return size + 1;
}

void *sim_idr_find(const struct sim_idr *idr, uint32_t number)
{
	return number && number <= idr->size ? idr->slots[number - 1] : NULL;
}

void *sim_idr_remove(struct sim_idr *idr, uint32_t number)
{
	void *object = sim_idr_find(idr, number);

	if (object)
		idr->slots[number - 1] = NULL;
	return object;
}

struct sim_fence *sim_fence_new(void)
{
	struct sim_fence *fence = calloc(1, sizeof(*fence));

	if (fence)
		fence->refs = 1;
	return fence;
}

struct sim_fence *sim_fence_ref(struct sim_fence *fence)
{
	if (fence)
		fence->refs++;
	return fence;
}

void sim_fence_put(struct sim_fence *fence)
{
	if (fence && !--fence->refs)
		free(fence);
}

void sim_fence_end(struct sim_fence *fence, int error)
{
	if (fence->done)
		return;
	fence->done = true;
	fence->error = error;
	pthread_cond_broadcast(&sim.changed);
	sim_syncobj_notify();
}

int sim_fences_add(struct sim_fences *set, struct sim_fence *fence)
{
	struct sim_fence **all;

	if (!fence || fence->done)
		return 0;
	for (uint32_t i = 0; i < set->count; i++)
		if (set->all[i] == fence)
			return 0;
	all = realloc(set->all, (set->count + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	set->all = all;
	all[set->count++] = sim_fence_ref(fence);
	return 0;
}

bool sim_fences_done(struct sim_fences *set)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		if (set->all[i]->done)
			sim_fence_put(set->all[i]);
		else
			set->all[left++] = set->all[i];
	}
	set->count = left;
	return !left;
}

void sim_fences_clear(struct sim_fences *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		sim_fence_put(set->all[i]);
	free(set->all);
	memset(set, 0, sizeof(*set));
}

int64_t sim_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

bool sim_wait_until(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	if (ns == INT64_MAX) {
		pthread_cond_wait(&sim.changed, &sim.lock);
		return true;
	}
	if (ns <= sim_now())
		return false;
	pthread_cond_timedwait(&sim.changed, &sim.lock, &ts);
	return true;
}
