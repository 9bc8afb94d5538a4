/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer.c - buffers: ranges of the shared memory, and device memory.
 *
 * A buffer of kind SHM is a name for a range of memory that the guest has anyway, so ranges may
 * overlap. Device memory is the worker's own, zeroed and charged to the session.
 *
 * Threads: under the session's lock, but for gp_window_*() and gp_table_*(), which any thread may call.
 */
#include <string.h>
#include <sys/mman.h>
#include "engine.h"

#define PAGE 4096u

/*
 * A window is three mappings of the process, which by default may have 65,530 in all; so many windows leave
 * enough of them for threads, code and the heap, where to be without one is fatal.
 */
#define MAX_WINDOWS 16384u

static uint32_t num_windows; /* atomic */

/* Up to the end of the power-of-two window that generated code masks offsets to. */
static uint64_t window_bytes(uint64_t size)
{
	uint64_t window = PAGE;

	while (window < size)
		window <<= 1;
	return window;
}

static uint64_t round_page(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static void *map_window(uint64_t size)
{
	uint64_t whole;
	uint8_t *base;

	whole = GP_GUARD + window_bytes(size) + GP_GUARD;
	base = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return NULL;
	if (!mprotect(base + GP_GUARD, round_page(size), PROT_READ | PROT_WRITE))
		return base + GP_GUARD;
	munmap(base, whole);
	return NULL;
}

void *gp_window_alloc(struct gpgpu_engine *engine, uint64_t size, enum gp_mem mem)
{
	void *base = NULL;

	if (!size || size > 1ull << 42)
		return NULL;
	if (__atomic_add_fetch(&num_windows, 1, __ATOMIC_RELAXED) <= MAX_WINDOWS)
		base = engine->ops->alloc ? engine->ops->alloc(engine->device, size, mem) : map_window(size);
	if (!base)
		__atomic_sub_fetch(&num_windows, 1, __ATOMIC_RELAXED);
	return base;
}

bool gp_window_write(struct gpgpu_engine *engine, enum gp_mem mem, void *to, const void *from, uint64_t size)
{
	if (mem == GP_MEM_DEVICE && engine->ops->write)
		return engine->ops->write(engine->device, to, from, size);
	memcpy(to, from, size);
	return true;
}

void gp_window_free(struct gpgpu_engine *engine, void *base, uint64_t size)
{
	if (!base)
		return;
	if (engine->ops->free)
		engine->ops->free(engine->device, base, size);
	else
		munmap((uint8_t *)base - GP_GUARD, GP_GUARD + window_bytes(size) + GP_GUARD);
	__atomic_sub_fetch(&num_windows, 1, __ATOMIC_RELAXED);
}

void *gp_table_alloc(struct gpgpu_engine *engine, uint64_t size, enum gp_mem mem)
{
	return engine->ops->alloc ? engine->ops->alloc(engine->device, size, mem) : g_malloc0(size);
}

void gp_table_free(struct gpgpu_engine *engine, void *base, uint64_t size)
{
	if (base && engine->ops->free)
		engine->ops->free(engine->device, base, size);
	else
		g_free(base);
}

void gp_buffer_release(struct gp_buffer *buffer)
{
	struct gpgpu_session *s = buffer->object.session;

	if (buffer->mem == VIRTIO_GPGPU_MEM_DEVICE)
		gp_window_free(s->engine, buffer->base, buffer->size);
	else if (s->engine->ops->unreach)
		s->engine->ops->unreach(s->engine->device, s, buffer->base, buffer->size);
	g_free(buffer);
}

#define OFF(member) offsetof(struct virtio_gpgpu_req_buffer_create, member)

struct gp_result gp_cmd_buffer_create(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				      struct list *done)
{
	const struct virtio_gpgpu_req_buffer_create *r = (const void *)req->bytes;
	struct gp_result result;
	struct gp_buffer *buffer;
	uint8_t *base;

	if (r->mem != VIRTIO_GPGPU_MEM_SHM && r->mem != VIRTIO_GPGPU_MEM_DEVICE)
		return GP_ERR(INVALID, KIND, r->mem);
	if (r->mem == VIRTIO_GPGPU_MEM_DEVICE && !(s->features & 1 << VIRTIO_GPGPU_F_DEVICE_MEM))
		return GP_ERR(UNSUPPORTED, FEATURE, 1 << VIRTIO_GPGPU_F_DEVICE_MEM);
	if (!r->size)
		return GP_ERR(INVALID, SIZE, r->size);
	if (r->size % PAGE)
		return GP_ERR(INVALID, ALIGN, OFF(size));
	if (r->offset % PAGE)
		return GP_ERR(INVALID, ALIGN, OFF(offset));
	if (r->mem == VIRTIO_GPGPU_MEM_DEVICE && r->offset)
		return GP_ERR(INVALID, RANGE, OFF(offset));
	if (r->mem == VIRTIO_GPGPU_MEM_SHM && !gp_range_ok(r->offset, r->size, s->shm_size))
		return GP_ERR(INVALID, RANGE, OFF(offset));
	if (r->size > s->limits.max_buffer)
		return GP_ERR(LIMIT, SIZE, s->limits.max_buffer);
	result = gp_object_new_check(s, VIRTIO_GPGPU_OBJ_BUFFER, r->id);
	if (result.status)
		return result;

	if (r->mem == VIRTIO_GPGPU_MEM_DEVICE) {
		if (!gp_charge(s, r->size))
			return GP_ERR(NO_MEMORY, MEMORY_LIMIT, s->memory_limit);
		base = gp_window_alloc(s->engine, r->size, GP_MEM_DEVICE);
		if (!base) {
			gp_uncharge(s, r->size);
			return GP_ERR(NO_MEMORY, HOST_MEMORY, r->size);
		}
	} else {
		base = s->shm + r->offset;
		if (s->engine->ops->reach && !s->engine->ops->reach(s->engine->device, s, base, r->size))
			return GP_ERR(NO_MEMORY, HOST_MEMORY, r->size);
	}
	buffer = g_new0(struct gp_buffer, 1);
	buffer->mem = r->mem;
	buffer->base = base;
	buffer->size = r->size;
	buffer->offset = r->offset;
	if (r->mem == VIRTIO_GPGPU_MEM_DEVICE)
		buffer->object.memory = r->size;
	gp_object_add(s, &buffer->object, VIRTIO_GPGPU_OBJ_BUFFER, r->id, ctx->id);
	return GP_OK;
}

struct gp_result gp_cmd_buffer_destroy(struct gpgpu_session *s, struct gp_context *ctx,
				       struct gp_request *req, struct list *done)
{
	struct gp_object *object;
	struct gp_result result = gp_object_find_req(s, VIRTIO_GPGPU_OBJ_BUFFER, req, true, &object);

	if (result.status)
		return result;
	/* The guest may give the range to something else as soon as it has the answer. */
	if (object->refs > 1)
		return GP_ERR(BUSY, IN_USE, object->id);
	gp_object_remove(object);
	return GP_OK;
}
