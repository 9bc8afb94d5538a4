/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.c - tables of objects, contexts, and who may use what.
 *
 * How it works: one hash table per kind, keyed by the guest's id. An object that leaves its table (it was
 * destroyed, or its last context was) lives on while a job or a program refers to it, and its
 * memory stays charged until then. Its id may be used again at once.
 *
 * Context 0 always exists. It may destroy any object; every other context must be attached to what it names.
 *
 * Threads: under the session's lock.
 */
#include <string.h>
#include "engine.h"
#include "job.h"
#include "retire.h"

static const uint32_t object_reason[] = {
	[VIRTIO_GPGPU_OBJ_BUFFER] = VIRTIO_GPGPU_R_BUFFER,
	[VIRTIO_GPGPU_OBJ_MAP] = VIRTIO_GPGPU_R_MAP,
	[VIRTIO_GPGPU_OBJ_PROG] = VIRTIO_GPGPU_R_PROG,
};

static gpointer key_of(uint32_t id)
{
	return GUINT_TO_POINTER(id);
}

void gp_tables_init(struct gpgpu_session *s)
{
	for (uint32_t type = VIRTIO_GPGPU_OBJ_BUFFER; type <= VIRTIO_GPGPU_OBJ_PROG; type++)
		s->tables[type].by_id = g_hash_table_new(NULL, NULL);
	s->tables[VIRTIO_GPGPU_OBJ_BUFFER].limit = s->limits.max_buffers;
	s->tables[VIRTIO_GPGPU_OBJ_MAP].limit = s->limits.max_maps;
	s->tables[VIRTIO_GPGPU_OBJ_PROG].limit = s->limits.max_programs;
	s->contexts = g_hash_table_new(NULL, NULL);
	gp_context_add(s, 0);
}

void gp_tables_free(struct gpgpu_session *s)
{
	gp_context_remove(s, gp_context_find(s, 0));
	g_hash_table_destroy(s->contexts);
	for (uint32_t type = VIRTIO_GPGPU_OBJ_BUFFER; type <= VIRTIO_GPGPU_OBJ_PROG; type++)
		g_hash_table_destroy(s->tables[type].by_id);
}

bool gp_charge(struct gpgpu_session *s, uint64_t bytes)
{
	if (s->memory > s->memory_limit || bytes > s->memory_limit - s->memory)
		return false;
	s->memory += bytes;
	if (s->memory > s->memory_max)
		s->memory_max = s->memory;
	return true;
}

void gp_uncharge(struct gpgpu_session *s, uint64_t bytes)
{
	s->memory -= bytes;
}

struct gp_result gp_object_new_check(struct gpgpu_session *s, uint32_t type, uint32_t id)
{
	struct gp_table *table = &s->tables[type];

	if (!id || id >= VIRTIO_GPGPU_MAX_ID)
		return GP_ERR(INVALID, ID, id);
	if (g_hash_table_contains(table->by_id, key_of(id)))
		return (struct gp_result){ VIRTIO_GPGPU_S_EXISTS, object_reason[type], id };
	if (g_hash_table_size(table->by_id) >= table->limit)
		return GP_ERR(LIMIT, OBJECT_LIMIT, table->limit);
	return GP_OK;
}

static bool attached(const struct gp_object *object, uint32_t ctx)
{
	for (uint32_t i = 0; i < object->num_ctx; i++)
		if (object->ctx[i] == ctx)
			return true;
	return false;
}

static void attach(struct gp_object *object, uint32_t ctx)
{
	object->ctx = g_renew(uint32_t, object->ctx, object->num_ctx + 1);
	object->ctx[object->num_ctx++] = ctx;
}

static void detach(struct gp_object *object, uint32_t ctx)
{
	for (uint32_t i = 0; i < object->num_ctx; i++) {
		if (object->ctx[i] != ctx)
			continue;
		object->ctx[i] = object->ctx[--object->num_ctx];
		return;
	}
}

void gp_object_add(struct gpgpu_session *s, struct gp_object *object, uint32_t type, uint32_t id,
		   uint32_t ctx)
{
	object->session = s;
	object->type = type;
	object->id = id;
	object->refs = 1;
	object->listed = true;
	attach(object, ctx);
	g_hash_table_insert(s->tables[type].by_id, key_of(id), object);
}

struct gp_result gp_object_find(struct gpgpu_session *s, uint32_t type, uint32_t id, uint32_t ctx,
				struct gp_object **out)
{
	struct gp_object *object = g_hash_table_lookup(s->tables[type].by_id, key_of(id));

	*out = NULL;
	if (!object)
		return (struct gp_result){ VIRTIO_GPGPU_S_NOT_FOUND, object_reason[type], id };
	if (!attached(object, ctx))
		return (struct gp_result){ VIRTIO_GPGPU_S_PERMISSION, object_reason[type], id };
	*out = object;
	return GP_OK;
}

struct gp_result gp_object_find_req(struct gpgpu_session *s, uint32_t type, const struct gp_request *req,
				    bool destroy, struct gp_object **out)
{
	const struct virtio_gpgpu_req_id *r = (const void *)req->bytes;
	struct gp_object *object = g_hash_table_lookup(s->tables[type].by_id, key_of(r->id));

	*out = NULL;
	if (r->reserved)
		return GP_ERR(INVALID, RESERVED, offsetof(struct virtio_gpgpu_req_id, reserved));
	if (!destroy || req->ctx_id || !object)
		return gp_object_find(s, type, r->id, req->ctx_id, out);
	*out = object;
	return GP_OK;
}

bool gp_object_attached(const struct gp_object *object, uint32_t ctx)
{
	return attached(object, ctx);
}

struct gp_object *gp_object_ref(struct gp_object *object)
{
	object->refs++;
	return object;
}

void gp_object_unref(struct gp_object *object)
{
	if (--object->refs)
		return;
	gp_uncharge(object->session, object->memory);
	g_free(object->ctx);
	switch (object->type) {
	case VIRTIO_GPGPU_OBJ_BUFFER:
		gp_buffer_release((struct gp_buffer *)object);
		break;
	case VIRTIO_GPGPU_OBJ_MAP:
		gp_map_release((struct gp_map_object *)object);
		break;
	case VIRTIO_GPGPU_OBJ_PROG:
		gp_program_release((struct gp_program *)object);
		break;
	}
}

void gp_object_remove(struct gp_object *object)
{
	if (!object->listed)
		return;
	object->listed = false;
	g_hash_table_remove(object->session->tables[object->type].by_id, key_of(object->id));
	if (object->type == VIRTIO_GPGPU_OBJ_MAP)
		gp_map_unlisted((struct gp_map_object *)object);
	gp_object_unref(object);
}

struct sweep {
	uint32_t ctx;
	bool all;
};

/* Takes an object out of its table (TRUE) if no context is left that has it. */
static gboolean sweep_object(gpointer key, gpointer value, gpointer opaque)
{
	struct gp_object *object = value;
	const struct sweep *sweep = opaque;

	if (!sweep->all) {
		if (!attached(object, sweep->ctx))
			return FALSE;
		detach(object, sweep->ctx);
		if (object->num_ctx)
			return FALSE;
	}
	object->listed = false;
	if (object->type == VIRTIO_GPGPU_OBJ_MAP)
		gp_map_unlisted((struct gp_map_object *)object);
	gp_object_unref(object);
	return TRUE;
}

static void sweep_objects(struct gpgpu_session *s, const struct sweep *sweep)
{
	/* Programs first: they hold maps. */
	for (uint32_t type = VIRTIO_GPGPU_OBJ_PROG; type >= VIRTIO_GPGPU_OBJ_BUFFER; type--)
		g_hash_table_foreach_remove(s->tables[type].by_id, sweep_object, (gpointer)sweep);
}

void gp_objects_detach_all(struct gpgpu_session *s, uint32_t ctx)
{
	sweep_objects(s, &(struct sweep){ .ctx = ctx });
}

/* Its jobs have ended; the scheduler may still remember its queue as one that comes back. */
static void free_context(struct gpgpu_session *s, struct gp_context *ctx)
{
	pthread_mutex_lock(&s->engine->lock);
	gp_sched_queue_remove(&s->engine->sched, &ctx->queue);
	pthread_mutex_unlock(&s->engine->lock);
	g_free(ctx);
}

void gp_objects_remove_all(struct gpgpu_session *s)
{
	GHashTableIter iter;
	gpointer value;

	sweep_objects(s, &(struct sweep){ .all = true });
	/* Nothing runs: what only a program could have used goes, too. */
	gp_retire_all(s);
	g_hash_table_iter_init(&iter, s->contexts);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct gp_context *ctx = value;

		if (ctx->id) {
			g_hash_table_iter_remove(&iter);
			free_context(s, ctx);
			continue;
		}
		for (int i = 0; i < VIRTIO_GPGPU_MAX_TIMELINES; i++)
			ctx->timelines[i].submitted = ctx->timelines[i].reached = 0;
	}
}

struct gp_context *gp_context_find(struct gpgpu_session *s, uint32_t id)
{
	return g_hash_table_lookup(s->contexts, key_of(id));
}

struct gp_context *gp_context_add(struct gpgpu_session *s, uint32_t id)
{
	struct gp_context *ctx = g_new0(struct gp_context, 1);

	ctx->id = id;
	ctx->serial = ++s->contexts_made;
	for (int i = 0; i < VIRTIO_GPGPU_MAX_TIMELINES; i++)
		list_init(&ctx->timelines[i].jobs);
	pthread_mutex_lock(&s->engine->lock);
	gp_sched_queue_init(&ctx->queue, &s->tenant);
	pthread_mutex_unlock(&s->engine->lock);
	g_hash_table_insert(s->contexts, key_of(id), ctx);
	return ctx;
}

void gp_context_remove(struct gpgpu_session *s, struct gp_context *ctx)
{
	g_hash_table_remove(s->contexts, key_of(ctx->id));
	free_context(s, ctx);
}

void gp_context_ended(struct gpgpu_session *s, struct gp_context *ctx, struct list *done)
{
	struct gp_request *req = ctx->destroy;

	if (!req || ctx->jobs)
		return;
	gp_objects_detach_all(s, ctx->id);
	gp_jobs_context_gone(s, ctx);
	gp_context_remove(s, ctx);
	gp_answer(s, req, GP_OK, done);
}

struct gp_result gp_cmd_ctx_create(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	if (!req->ctx_id || req->ctx_id >= VIRTIO_GPGPU_MAX_ID)
		return GP_ERR(INVALID, ID, req->ctx_id);
	if (ctx)
		return GP_ERR(EXISTS, CTX, req->ctx_id);
	if (g_hash_table_size(s->contexts) >= s->limits.max_contexts)
		return GP_ERR(LIMIT, OBJECT_LIMIT, s->limits.max_contexts);
	gp_context_add(s, req->ctx_id);
	return GP_OK;
}

struct gp_result gp_cmd_ctx_destroy(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				    struct list *done)
{
	struct gp_result cancelled = GP_ERR(CANCELLED, CTX, ctx->id);

	if (!ctx->id)
		return GP_ERR(INVALID, ID, 0);
	gp_compiles_cancel(s, ctx, cancelled, done);
	/* If jobs are running, the last one to end answers. */
	gp_jobs_end_early(s, ctx, cancelled, done);
	ctx->destroy = req;
	gp_context_ended(s, ctx, done);
	/* A fence on a point of a context that is gone has been reached. */
	gp_jobs_advance(s, done);
	return GP_PENDING;
}

static struct gp_result check_attach(struct gpgpu_session *s, struct gp_request *req, struct gp_object **out)
{
	const struct virtio_gpgpu_req_ctx_attach *r = (const void *)req->bytes;

	if (r->object < VIRTIO_GPGPU_OBJ_BUFFER || r->object > VIRTIO_GPGPU_OBJ_PROG)
		return GP_ERR(INVALID, KIND, r->object);
	*out = g_hash_table_lookup(s->tables[r->object].by_id, key_of(r->id));
	if (!*out)
		return (struct gp_result){ VIRTIO_GPGPU_S_NOT_FOUND, object_reason[r->object], r->id };
	return GP_OK;
}

struct gp_result gp_cmd_ctx_attach(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	struct gp_object *object;
	struct gp_result result = check_attach(s, req, &object);

	if (result.status)
		return result;
	if (attached(object, ctx->id))
		return (struct gp_result){ VIRTIO_GPGPU_S_EXISTS, object_reason[object->type], object->id };
	attach(object, ctx->id);
	return GP_OK;
}

struct gp_result gp_cmd_ctx_detach(struct gpgpu_session *s, struct gp_context *ctx, struct gp_request *req,
				   struct list *done)
{
	struct gp_object *object;
	struct gp_result result = check_attach(s, req, &object);

	if (result.status)
		return result;
	if (!attached(object, ctx->id))
		return (struct gp_result){ VIRTIO_GPGPU_S_PERMISSION, object_reason[object->type],
					   object->id };
	/* One that nobody has may be attached again, or destroyed by context 0. */
	detach(object, ctx->id);
	return GP_OK;
}
