/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctx.c - contexts, by the rules of amdgpu_ctx.c.
 *
 * A context has a queue (entity) per ring that it used. An entity remembers the fences of its last SIM_MAX_QUEUED
 * submissions; asking for an older one gets "ended", as the driver answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "card.h"

struct sim_ctx *sim_ctx_ref(struct sim_ctx *ctx)
{
	ctx->refs++;
	return ctx;
}

static void entity_free(struct sim_entity *entity)
{
	if (!entity)
		return;
	for (size_t i = 0; i < SIM_MAX_QUEUED; i++)
		sim_fence_put(entity->fences[i]);
	free(entity);
}

void sim_ctx_put(struct sim_ctx *ctx)
{
	if (--ctx->refs)
		return;
	for (size_t r = 0; r < SIM_RINGS; r++)
		for (size_t i = 0; i < SIM_RING_COUNT; i++)
			entity_free(ctx->entities[r][i]);
	sim_client_put(ctx->client);
	free(ctx);
}

struct sim_entity *sim_ctx_entity(struct sim_ctx *ctx, uint32_t ip, uint32_t instance, uint32_t ring,
				  int *error)
{
	enum sim_ring kind = ip == AMDGPU_HW_IP_DMA ? SIM_RING_SDMA : SIM_RING_COMPUTE;
	struct sim_entity **slot;

	*error = -EINVAL;
	if (ip != AMDGPU_HW_IP_DMA && ip != AMDGPU_HW_IP_COMPUTE) {
		sim_say("no ring of IP %u", ip);
		return NULL;
	}
	if (instance || ring >= (kind == SIM_RING_SDMA ? 2 : SIM_RING_COUNT))
		return NULL;
	slot = &ctx->entities[kind][ring];
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		*error = -ENOMEM;
		if (!*slot)
			return NULL;
		**slot = (struct sim_entity){ .ctx = ctx, .ring = kind, .number = ring, .sequence = 1 };
	}
	*error = 0;
	return *slot;
}

struct sim_fence *sim_ctx_fence(struct sim_entity *entity, uint64_t sequence, int *error)
{
	*error = 0;
	if (sequence == UINT64_MAX)
		sequence = entity->sequence - 1;
	if (sequence >= entity->sequence) {
		*error = -EINVAL;
		return NULL;
	}
	if (sequence + SIM_MAX_QUEUED < entity->sequence)
		return NULL;
	return sim_fence_ref(entity->fences[sequence % SIM_MAX_QUEUED]);
}

static bool known_priority(int32_t priority)
{
	switch (priority) {
	case AMDGPU_CTX_PRIORITY_VERY_LOW:
	case AMDGPU_CTX_PRIORITY_LOW:
	case AMDGPU_CTX_PRIORITY_NORMAL:
	case AMDGPU_CTX_PRIORITY_HIGH:
	case AMDGPU_CTX_PRIORITY_VERY_HIGH:
		return true;
	default:
		return false;
	}
}

/* CAP_SYS_NICE is asked of the kernel by its call, not of a file: it is read when the node is opened. */
static int alloc(struct sim_client *client, union drm_amdgpu_ctx *args)
{
	/* The driver takes garbage for "normal", for programs older than the member. */
	int32_t priority = known_priority(args->in.priority) ? args->in.priority : AMDGPU_CTX_PRIORITY_NORMAL;
	struct sim_ctx *ctx;
	uint32_t id;

	if (priority > AMDGPU_CTX_PRIORITY_NORMAL && !client->may_raise)
		return -EACCES;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	id = sim_idr_add(&client->ctxs, ctx);
	if (id >= SIM_MAX_CTXS)
		sim_idr_remove(&client->ctxs, id);
	if (!id || id >= SIM_MAX_CTXS) {
		free(ctx);
		return id ? -ENOSPC : -ENOMEM;
	}
	*ctx = (struct sim_ctx){ .refs = 1,
				 .client = client,
				 .priority = priority,
				 .resets = sim.resets,
				 .resets_queried = sim.resets,
				 .vram_losses = sim.vram_losses };
	client->refs++;
	memset(args, 0, sizeof(*args));
	args->out.alloc.ctx_id = id;
	return 0;
}

static int query(struct sim_ctx *ctx, union drm_amdgpu_ctx *args)
{
	uint32_t status = AMDGPU_CTX_NO_RESET;

	if (ctx->resets_queried != sim.resets)
		status = AMDGPU_CTX_UNKNOWN_RESET; /* whose it was only QUERY_STATE2 says */
	ctx->resets_queried = sim.resets;
	memset(args, 0, sizeof(*args));
	args->out.state.reset_status = status;
	return 0;
}

static int query2(struct sim_ctx *ctx, union drm_amdgpu_ctx *args)
{
	uint64_t flags = 0;

	if (ctx->resets != sim.resets)
		flags |= AMDGPU_CTX_QUERY2_FLAGS_RESET;
	if (ctx->vram_losses != sim.vram_losses)
		flags |= AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST;
	if (ctx->guilty)
		flags |= AMDGPU_CTX_QUERY2_FLAGS_GUILTY;
	memset(args, 0, sizeof(*args));
	args->out.state.flags = flags;
	return 0;
}

int sim_ctx_ioctl(struct sim_client *client, void *arg)
{
	union drm_amdgpu_ctx *args = arg;
	struct sim_ctx *ctx;

	if (args->in.op == AMDGPU_CTX_OP_ALLOC_CTX)
		return args->in.flags ? -EINVAL : alloc(client, args);
	ctx = sim_idr_find(&client->ctxs, args->in.ctx_id);
	switch (args->in.op) {
	case AMDGPU_CTX_OP_FREE_CTX:
		if (args->in.flags || !ctx)
			return -EINVAL;
		sim_idr_remove(&client->ctxs, args->in.ctx_id);
		sim_ctx_put(ctx);
		return 0;
	case AMDGPU_CTX_OP_QUERY_STATE:
		return args->in.flags || !ctx ? -EINVAL : query(ctx, args);
	case AMDGPU_CTX_OP_QUERY_STATE2:
		return args->in.flags || !ctx ? -EINVAL : query2(ctx, args);
	case AMDGPU_CTX_OP_GET_STABLE_PSTATE:
		if (args->in.flags || !ctx)
			return -EINVAL;
		memset(args, 0, sizeof(*args));
		args->out.pstate.flags = ctx->pstate;
		return 0;
	case AMDGPU_CTX_OP_SET_STABLE_PSTATE:
		if (args->in.flags & ~AMDGPU_CTX_STABLE_PSTATE_FLAGS_MASK ||
		    args->in.flags > AMDGPU_CTX_STABLE_PSTATE_PEAK || !ctx)
			return -EINVAL;
		ctx->pstate = args->in.flags;
		return 0;
	default:
		return -EINVAL;
	}
}

int sim_sched_ioctl(struct sim_client *client, void *arg)
{
	const struct drm_amdgpu_sched_in *in = arg;

	/* DRM_ROOT_ONLY on a primary node; a render node has no master to ask. */
	if (!client->may_raise)
		return -EACCES;
	if (in->op != AMDGPU_SCHED_OP_PROCESS_PRIORITY_OVERRIDE &&
	    in->op != AMDGPU_SCHED_OP_CONTEXT_PRIORITY_OVERRIDE)
		return -EINVAL;
	return known_priority(in->priority) ? 0 : -EINVAL;
}
