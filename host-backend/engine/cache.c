/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cache.c - what became of programs, so that the same program need not be compiled again.
 *
 * Results, refusals included, are remembered per session by a hash of everything that went in, and
 * never shared between sessions. What depends on the moment is not remembered: that a compiler died, was missing
 * or took too long. The oldest go first.
 *
 * Threads: under the session's lock.
 */
#include <string.h>
#include "compile.h"
#include "engine.h"

#define CACHE_ENTRIES 128
#define CACHE_BYTES   (32u << 20)

struct result {
	struct list link; /* oldest first */
	uint8_t key[GP_PROG_KEY];
	struct gp_image *image; /* or NULL, and why: */
	struct gp_verdict verdict;
};

struct gp_cache {
	struct list results;
	uint32_t entries;
	size_t bytes;
};

struct gp_cache *gp_cache_new(void)
{
	struct gp_cache *cache = g_new0(struct gp_cache, 1);

	list_init(&cache->results);
	return cache;
}

static void forget(struct gp_cache *cache, struct result *result)
{
	list_del(&result->link);
	cache->entries--;
	if (result->image) {
		cache->bytes -= gp_image_bytes(result->image);
		gp_image_unref(result->image);
	}
	g_free(result);
}

void gp_cache_free(struct gp_cache *cache)
{
	while (!list_empty(&cache->results))
		forget(cache, container_of(cache->results.next, struct result, link));
	g_free(cache);
}

static struct result *find_result(struct gp_cache *cache, const uint8_t *key)
{
	struct list *pos;

	list_for_each(pos, &cache->results)
	{
		struct result *result = container_of(pos, struct result, link);

		if (!memcmp(result->key, key, GP_PROG_KEY))
			return result;
	}
	return NULL;
}

void gp_cache_remember(struct gp_cache *cache, const struct gp_compile *compile, struct gp_image *image,
		       const struct gp_verdict *verdict)
{
	struct result *result;

	if (find_result(cache, compile->key))
		return;
	if (!image && verdict->reason == VIRTIO_GPGPU_R_COMPILER)
		return;
	/* The validator's limits count steps, the compiler's time. */
	if (!image && verdict->reason == VIRTIO_GPGPU_R_COMPILE_LIMIT && compile->validated)
		return;
	if (image && image->map_bytes > CACHE_BYTES)
		return;
	result = g_new0(struct result, 1);
	memcpy(result->key, compile->key, GP_PROG_KEY);
	result->verdict = *verdict;
	if (image) {
		result->image = gp_image_ref(image);
		cache->bytes += image->map_bytes;
	}
	list_add_tail(&cache->results, &result->link);
	cache->entries++;
	while (cache->entries > CACHE_ENTRIES || cache->bytes > CACHE_BYTES)
		forget(cache, container_of(cache->results.next, struct result, link));
}

bool gp_compile_known(struct gpgpu_session *s, const struct gp_compile *compile, struct gp_image **image,
		      struct gp_verdict *verdict)
{
	struct result *result = find_result(s->cache, compile->key);

	if (!result)
		return false;
	*image = result->image ? gp_image_ref(result->image) : NULL;
	*verdict = result->verdict;
	return true;
}

void gp_cache_improved(struct gp_cache *cache, const struct gp_compile *compile, const struct gp_image *image)
{
	struct result *result = find_result(cache, compile->key);

	if (result && result->image == image)
		cache->bytes += gp_image_best(image)->map_bytes;
}
