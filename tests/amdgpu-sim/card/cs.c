/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cs.c - submissions, buffer lists, and waiting for them, by the rules of amdgpu_cs.c and amdgpu_bo_list.c.
 *
 * A submission is checked whole before anything is queued. What it depends on is a set of fences; the ring runs it once
 * all of them are done. The driver checks neither where a stream lies nor how long it is; the card does (ring.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "card.h"
#include "shim/shim.h"

#define MAX_CHUNKS 256

uint32_t sim_max_ibs(enum sim_ring ring)
{
	return ring == SIM_RING_COMPUTE ? 125 : 49;
}

void sim_list_free(struct sim_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		sim_bo_put(list->bos[i]);
	free(list->bos);
	list->bos = NULL;
	list->count = 0;
}

/* From the user's array of entries. */
static int list_make(struct sim_client *client, const struct drm_amdgpu_bo_list_in *in, struct sim_list *list)
{
	const uint8_t *entries = (const uint8_t *)(uintptr_t)in->bo_info_ptr;

	memset(list, 0, sizeof(*list));
	if (in->bo_number > 1u << 16)
		return -EINVAL;
	list->bos = calloc(in->bo_number + 1, sizeof(*list->bos));
	if (!list->bos)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->bo_number; i++) {
		struct drm_amdgpu_bo_list_entry entry = { 0 };
		uint32_t size = in->bo_info_size < sizeof(entry) ? in->bo_info_size : sizeof(entry);
		struct sim_bo *bo;

		memcpy(&entry, entries + (size_t)i * in->bo_info_size, size);
		bo = sim_idr_find(&client->bos, entry.bo_handle);
		if (!bo) {
			sim_list_free(list);
			return -ENOENT;
		}
		list->bos[list->count++] = sim_bo_ref(bo);
	}
	return 0;
}

int sim_list_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_bo_list *args = arg;
	struct sim_list made, *list;
	uint32_t handle;
	int error = 0;

	if (args->in.operation != AMDGPU_BO_LIST_OP_DESTROY)
		error = list_make(client, &args->in, &made);
	if (error)
		return error;
	switch (args->in.operation) {
	case AMDGPU_BO_LIST_OP_CREATE:
		list = malloc(sizeof(*list));
		handle = list ? sim_idr_add(&client->lists, list) : 0;
		if (!handle) {
			free(list);
			sim_list_free(&made);
			return -ENOMEM;
		}
		*list = made;
		break;
	case AMDGPU_BO_LIST_OP_DESTROY:
		list = sim_idr_remove(&client->lists, args->in.list_handle);
		if (list) {
			sim_list_free(list);
			free(list);
		}
		handle = 0;
		break;
	case AMDGPU_BO_LIST_OP_UPDATE:
		handle = args->in.list_handle;
		list = sim_idr_find(&client->lists, handle);
		if (!list) {
			sim_list_free(&made);
			return -ENOENT;
		}
		sim_list_free(list);
		*list = made;
		break;
	default:
		sim_list_free(&made);
		return -EINVAL;
	}
	memset(args, 0, sizeof(*args));
	args->out.list_handle = handle;
	return 0;
}

/* What a submission signals once it is queued. */
struct signal {
	struct sim_syncobj *obj;
	uint64_t point;
	bool timeline;
};

struct parser {
	struct sim_client *client;
	struct sim_job *job;
	struct sim_entity *entity;
	struct signal *signals;
	uint32_t num_signals;
	bool have_list, have_signals;
};

static int add_ib(struct parser *p, const void *data, size_t size)
{
	const struct drm_amdgpu_cs_chunk_ib *ib = data;
	struct sim_entity *entity;
	struct sim_ib *ibs;
	int error;

	if (size < sizeof(*ib))
		return -EINVAL;
	entity = sim_ctx_entity(p->job->ctx, ib->ip_type, ib->ip_instance, ib->ring, &error);
	if (!entity)
		return error;
	if (p->entity && p->entity != entity) {
		sim_say("CS: a gang (IBs for several rings) is not modelled");
		return -EINVAL;
	}
	p->entity = entity;
	if (p->job->num_ibs == sim_max_ibs(entity->ring))
		return -EINVAL;
	ibs = realloc(p->job->ibs, (p->job->num_ibs + 1) * sizeof(*ibs));
	if (!ibs)
		return -ENOMEM;
	p->job->ibs = ibs;
	ibs[p->job->num_ibs++] = (struct sim_ib){ ib->va_start, ib->ib_bytes / 4, ib->flags };
	return 0;
}

static int add_user_fence(struct parser *p, const void *data, size_t size)
{
	const struct drm_amdgpu_cs_chunk_fence *fence = data;
	struct sim_bo *bo;

	if (size < sizeof(*fence))
		return -EINVAL;
	bo = sim_idr_find(&p->client->bos, fence->handle);
	if (!bo || bo->size != SIM_PAGE || fence->offset > SIM_PAGE - 8 || bo->kind == SIM_BO_USER)
		return -EINVAL;
	if (p->job->user_fence)
		return -EINVAL;
	p->job->user_fence = sim_bo_ref(bo);
	p->job->user_fence_offset = fence->offset;
	return 0;
}

static int add_buffers(struct parser *p, const void *data, size_t size)
{
	if (size < sizeof(struct drm_amdgpu_bo_list_in) || p->have_list)
		return -EINVAL;
	p->have_list = true;
	return list_make(p->client, data, &p->job->buffers);
}

static int add_dependencies(struct parser *p, const void *data, size_t size)
{
	const struct drm_amdgpu_cs_chunk_dep *deps = data;
	int error = 0;

	for (size_t i = 0; i < size / sizeof(*deps) && !error; i++) {
		struct sim_ctx *ctx = sim_idr_find(&p->client->ctxs, deps[i].ctx_id);
		struct sim_entity *entity;
		struct sim_fence *fence;

		if (!ctx)
			return -EINVAL;
		entity = sim_ctx_entity(ctx, deps[i].ip_type, deps[i].ip_instance, deps[i].ring, &error);
		if (!entity)
			return error;
		fence = sim_ctx_fence(entity, deps[i].handle, &error);
		if (!error)
			error = sim_fences_add(&p->job->deps, fence);
		sim_fence_put(fence);
	}
	return error;
}

static int wait_syncobj(struct parser *p, uint32_t handle, uint64_t point, uint32_t flags)
{
	struct sim_syncobj *obj = sim_idr_find(&p->client->syncobjs, handle);
	int64_t until = sim_now() + 5000000000;
	int error;

	if (!obj)
		return -ENOENT;
	while ((error = sim_syncobj_deps(obj, point, &p->job->deps)) == -EINVAL &&
	       (flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT))
		if (!sim_wait_until(until))
			return -ETIME;
	return error;
}

static int add_signal(struct parser *p, uint32_t handle, uint64_t point, bool timeline)
{
	struct sim_syncobj *obj = sim_idr_find(&p->client->syncobjs, handle);
	struct signal *signals;

	if (!obj)
		return -EINVAL;
	signals = realloc(p->signals, (p->num_signals + 1) * sizeof(*signals));
	if (!signals)
		return -ENOMEM;
	p->signals = signals;
	obj->refs++;
	signals[p->num_signals++] = (struct signal){ obj, point, timeline && point };
	return 0;
}

static int add_syncobjs(struct parser *p, uint32_t id, const void *data, size_t size)
{
	const struct drm_amdgpu_cs_chunk_sem *sems = data;
	const struct drm_amdgpu_cs_chunk_syncobj *objs = data;
	bool timeline = id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT ||
			id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL;
	bool waits = id == AMDGPU_CHUNK_ID_SYNCOBJ_IN || id == AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT;
	size_t count = size / (timeline ? sizeof(*objs) : sizeof(*sems));
	int error = 0;

	/* One of both kinds together (p->post_deps). */
	if (!waits && p->have_signals)
		return -EINVAL;
	p->have_signals = p->have_signals || !waits;

	for (size_t i = 0; i < count && !error; i++) {
		uint32_t handle = timeline ? objs[i].handle : sems[i].handle;
		uint64_t point = timeline ? objs[i].point : 0;

		if (waits)
			error = wait_syncobj(p, handle, point, timeline ? objs[i].flags : 0);
		else
			error = add_signal(p, handle, point, timeline);
	}
	return error;
}

static int parse(struct parser *p, const struct drm_amdgpu_cs_in *in)
{
	const uint64_t *chunks = (const uint64_t *)(uintptr_t)in->chunks;
	struct sim_list *list;
	int error = 0;

	if (!in->num_chunks || in->num_chunks > MAX_CHUNKS)
		return -EINVAL;
	/* IBs say which queue it is about: first, as the driver's first pass. */
	for (uint32_t pass = 0; pass < 2; pass++) {
		/* What the context's address space was made for is gone: its generation is another one since then. */
		if (pass && !error && p->job->num_ibs && p->job->ctx->vram_losses != sim.vram_losses)
			error = -ECANCELED;
		for (uint32_t i = 0; i < in->num_chunks && !error; i++) {
			const struct drm_amdgpu_cs_chunk *chunk =
				(const struct drm_amdgpu_cs_chunk *)(uintptr_t)chunks[i];
			const void *data = (const void *)(uintptr_t)chunk->chunk_data;
			size_t size = (size_t)chunk->length_dw * 4;
			bool first = true;

			switch (chunk->chunk_id) {
			case AMDGPU_CHUNK_ID_IB:
				error = pass ? 0 : add_ib(p, data, size);
				break;
			case AMDGPU_CHUNK_ID_FENCE:
				error = pass ? 0 : add_user_fence(p, data, size);
				break;
			case AMDGPU_CHUNK_ID_BO_HANDLES:
				error = pass ? 0 : add_buffers(p, data, size);
				break;
			default:
				first = false;
			}
			if (first)
				continue;
			switch (chunk->chunk_id) {
			case AMDGPU_CHUNK_ID_DEPENDENCIES:
			case AMDGPU_CHUNK_ID_SCHEDULED_DEPENDENCIES:
				error = pass ? add_dependencies(p, data, size) : 0;
				break;
			case AMDGPU_CHUNK_ID_SYNCOBJ_IN:
			case AMDGPU_CHUNK_ID_SYNCOBJ_OUT:
			case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT:
			case AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL:
				error = pass ? add_syncobjs(p, chunk->chunk_id, data, size) : 0;
				break;
			default:
				sim_say("CS: chunk %#x", chunk->chunk_id);
				error = -EINVAL;
			}
		}
	}
	if (error)
		return error;
	if (!p->job->num_ibs)
		return -EINVAL;
	if (!in->bo_list_handle)
		return 0;
	if (p->have_list)
		return -EINVAL;
	list = sim_idr_find(&p->client->lists, in->bo_list_handle);
	if (!list)
		return -ENOENT;
	p->job->buffers.bos = calloc(list->count + 1, sizeof(*list->bos));
	if (!p->job->buffers.bos)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->count; i++)
		p->job->buffers.bos[p->job->buffers.count++] = sim_bo_ref(list->bos[i]);
	return 0;
}

/* Pages of user pointers; implicit synchronisation with others' jobs, unless a buffer says it has its own. */
static int settle_buffers(struct parser *p)
{
	struct sim_list *list = &p->job->buffers;

	for (uint32_t i = 0; i < list->count; i++) {
		struct sim_bo *bo = list->bos[i];
		int error = bo->kind == SIM_BO_USER ? sim_bo_populate(bo) : 0;

		if (bo->owner && bo->owner != p->client)
			error = -EPERM;
		sim_fences_done(&bo->users);
		for (uint32_t f = 0; f < bo->users.count && !error; f++)
			if (bo->users.all[f]->owner != p->client &&
			    !(bo->flags & AMDGPU_GEM_CREATE_EXPLICIT_SYNC))
				error = sim_fences_add(&p->job->deps, bo->users.all[f]);
		if (error)
			return error;
	}
	return 0;
}

static int submit(struct parser *p)
{
	struct sim_entity *entity = p->entity;
	struct sim_job *job = p->job;
	struct sim_fence **slot;
	int error = 0;

	/* amdgpu_ctx_wait_prev_fence(): the place is free once that job has ended. */
	for (;;) {
		slot = &entity->fences[entity->sequence % SIM_MAX_QUEUED];
		if (!*slot || (*slot)->done)
			break;
		sim_wait_until(INT64_MAX);
	}
	error = settle_buffers(p);
	if (error)
		return error;
	if (job->ctx->guilty)
		return -ECANCELED;
	job->fence = sim_fence_new();
	if (!job->fence)
		return -ENOMEM;
	job->fence->owner = p->client;
	for (uint32_t i = 0; i < job->buffers.count && !error; i++)
		error = sim_fences_add(&job->buffers.bos[i]->users, job->fence);
	for (uint32_t i = 1; i <= p->client->bos.size && !error; i++) {
		struct sim_bo *bo = sim_idr_find(&p->client->bos, i);

		if (bo && bo->owner == p->client)
			error = sim_fences_add(&bo->users, job->fence);
	}
	for (uint32_t i = 0; i < p->num_signals && !error; i++) {
		if (p->signals[i].timeline)
			error = sim_syncobj_add_point(p->signals[i].obj, job->fence, p->signals[i].point);
		else
			sim_syncobj_set(p->signals[i].obj, job->fence);
	}
	if (error) {
		sim_fence_end(job->fence, -ECANCELED);
		return error;
	}
	sim_fence_put(*slot);
	*slot = sim_fence_ref(job->fence);
	job->sequence = entity->sequence++;
	job->entity = entity;
	job->vram_losses = sim.vram_losses;
	sim_ring_push(job);
	sim_submitted();
	return 0;
}

void sim_job_free(struct sim_job *job)
{
	sim_list_free(&job->buffers);
	sim_fences_clear(&job->deps);
	sim_fence_put(job->fence);
	if (job->user_fence)
		sim_bo_put(job->user_fence);
	free(job->ibs);
	sim_ctx_put(job->ctx);
	sim_client_put(job->client);
	free(job);
}

int sim_cs_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_cs *args = arg;
	struct sim_ctx *ctx = sim_idr_find(&client->ctxs, args->in.ctx_id);
	struct parser p = { .client = client };
	uint64_t sequence;
	int error;

	if (args->in.flags)
		return -EINVAL;
	if (!ctx)
		return -EINVAL;
	if (ctx->guilty)
		return -ECANCELED;
	if (sim.enomem) {
		sim.enomem--;
		return -ENOMEM;
	}
	p.job = calloc(1, sizeof(*p.job));
	if (!p.job)
		return -ENOMEM;
	p.job->ctx = sim_ctx_ref(ctx);
	p.job->client = client;
	client->refs++;
	error = parse(&p, &args->in);
	if (!error)
		error = submit(&p);
	for (uint32_t i = 0; i < p.num_signals; i++)
		sim_syncobj_put(p.signals[i].obj);
	free(p.signals);
	if (error) {
		sim_job_free(p.job);
		return error;
	}
	sequence = p.entity->sequence - 1;
	memset(args, 0, sizeof(*args));
	args->out.handle = sequence;
	return 0;
}

/* The fence that a user's ctx, ring and number mean. Return: NULL with *@error 0 if it ended long ago. */
static struct sim_fence *named(struct sim_client *client, const struct drm_amdgpu_fence *name, int *error)
{
	struct sim_ctx *ctx = sim_idr_find(&client->ctxs, name->ctx_id);
	struct sim_entity *entity;

	*error = -EINVAL;
	if (!ctx)
		return NULL;
	entity = sim_ctx_entity(ctx, name->ip_type, name->ip_instance, name->ring, error);
	return entity ? sim_ctx_fence(entity, name->seq_no, error) : NULL;
}

static int64_t deadline(uint64_t ns)
{
	return (int64_t)ns < 0 ? INT64_MAX : (int64_t)ns;
}

int sim_wait_cs_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_wait_cs *args = arg;
	struct drm_amdgpu_wait_cs_in in = args->in;
	struct drm_amdgpu_fence name = { in.ctx_id, in.ip_type, in.ip_instance, in.ring, in.handle };
	bool busy = false;
	int error;
	struct sim_fence *fence = named(client, &name, &error);

	if (error)
		return error;
	if (fence) {
		while (!fence->done && sim_wait_until(deadline(in.timeout)))
			;
		busy = !fence->done;
		error = busy ? 0 : fence->error;
		sim_fence_put(fence);
	}
	if (error)
		return error;
	memset(args, 0, sizeof(*args));
	args->out.status = busy;
	return 0;
}

int sim_wait_fences_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_wait_fences *args = arg;
	struct drm_amdgpu_wait_fences_in in = args->in;
	const struct drm_amdgpu_fence *names = (const struct drm_amdgpu_fence *)(uintptr_t)in.fences;
	uint32_t first = UINT32_MAX, done = 0;
	struct sim_fence **fences;
	int error = 0;

	if (!in.fence_count || in.fence_count > 4096)
		return -EINVAL;
	fences = calloc(in.fence_count, sizeof(*fences));
	if (!fences)
		return -ENOMEM;
	for (uint32_t i = 0; i < in.fence_count && !error; i++)
		fences[i] = named(client, &names[i], &error);
	while (!error) {
		done = 0;
		first = UINT32_MAX;
		for (uint32_t i = 0; i < in.fence_count; i++)
			if (!fences[i] || fences[i]->done) {
				if (first == UINT32_MAX)
					first = i;
				done++;
			}
		if (done == in.fence_count || (done && !in.wait_all) ||
		    !sim_wait_until(deadline(in.timeout_ns)))
			break;
	}
	for (uint32_t i = 0; i < in.fence_count && !error; i++)
		if (fences[i] && fences[i]->done && (in.wait_all || i == first))
			error = fences[i]->error;
	for (uint32_t i = 0; i < in.fence_count; i++)
		sim_fence_put(fences[i]);
	free(fences);
	if (error)
		return error;
	memset(args, 0, sizeof(*args));
	args->out.status = in.wait_all ? done == in.fence_count : done > 0;
	args->out.first_signaled = first;
	return 0;
}

int sim_fence_to_handle_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_fence_to_handle *args = arg;
	struct sim_fence *fence;
	uint32_t handle = 0;
	int error, fd;

	fence = named(client, &args->in.fence, &error);
	if (error)
		return error;
	if (!fence) {
		fence = sim_fence_new();
		if (!fence)
			return -ENOMEM;
		fence->done = true;
	}
	switch (args->in.what) {
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ:
		error = sim_syncobj_new(client, fence, &handle);
		break;
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD:
		error = sim_syncobj_new(client, fence, &handle);
		if (error)
			break;
		fd = sim_syncobj_fd_new(sim_idr_find(&client->syncobjs, handle));
		sim_syncobj_put(sim_idr_remove(&client->syncobjs, handle));
		error = fd < 0 ? fd : 0;
		handle = (uint32_t)fd;
		break;
	case AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD:
		fd = sim_sync_file_new(fence);
		error = fd < 0 ? fd : 0;
		handle = (uint32_t)fd;
		break;
	default:
		error = -EINVAL;
	}
	sim_fence_put(fence);
	if (!error)
		args->out.handle = handle;
	return error;
}
