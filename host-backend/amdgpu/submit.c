/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * submit.c - the queue: launches go in, and come out in order.
 *
 * How it works: a ring of indirect buffers, one for each launch that may be in flight, in memory that the GPU can only
 * read. A launch is a submission of its own to the driver's compute queue, with the list of all buffer objects, and
 * signals a point of a timeline sync object, whose number is the launch's ticket. Whoever waits does so for the oldest
 * launch's point, or for a point of a second sync object, which wake() signals: one system call for both, on every kernel
 * that has timelines. (Event descriptors for points came with Linux 6.6 only.)
 *
 * Copies go to the driver's queue of the engine of copies (SDMA). Where a launch comes behind a copy, or a copy behind a
 * launch, it waits for the point of the one before; those of one queue are in order anyway. So all end in order.
 *
 * A launch has ended well when three agree: the timeline, which the driver also signals for launches that it dropped;
 * the launch's fence, which then has an error, also where the driver only killed its waves (soft recovery), after which
 * the packets behind them are still processed; and the ticket that the GPU itself wrote behind the waves. Anything
 * else is a loss (lost.c).
 *
 * Scratch memory, for code that needs it, is the queue's: one launch runs at a time (packets.c). It grows only while none
 * is in flight, which a launch waits for with -EAGAIN. It is cleared by each launch that uses it.
 *
 * Bounds: no wait is longer than SLICE_NS at a time, so that a wake-up that could not be signalled costs no more; the
 * driver ends what hangs (60 s by default), and where it does not do so, HANG_US does.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "amdgpu/private.h"

#define SLOT_BYTES   3072u /* of the ring: GP_PACKETS_MAX dwords, then the kernel's argument */
#define SLOT_ARG     2944u
#define SLICE_NS     (100ull * 1000 * 1000)
#define HANG_US	     (75ll * 1000 * 1000)
#define SCRATCH_MAX  (256ull << 20)
#define WHOLE	     0xffffffffu
#define PROP_SCRATCH (1u << 0)
#define PROP_FLAT    (1u << 5)

G_STATIC_ASSERT(GP_PACKETS_MAX * 4 <= SLOT_ARG);

static bool is_lost(const struct gp_gpu *gpu)
{
	return g_atomic_int_get(&gpu->state) != GP_GPU_OK;
}

int gp_queue_context(struct gp_gpu *gpu, const char **what)
{
	int ret;

	gpu->last_ip = AMDGPU_HW_IP_NUM;
	*what = "a context";
	ret = gpu->drm->amdgpu_cs_ctx_create2(gpu->device, AMDGPU_CTX_PRIORITY_NORMAL, &gpu->context);
	if (ret)
		return ret;
	*what = "a timeline";
	ret = gpu->drm->amdgpu_cs_create_syncobj2(gpu->device, 0, &gpu->timeline);
	if (ret) {
		gpu->drm->amdgpu_cs_ctx_free(gpu->context);
		gpu->context = NULL;
	}
	return ret;
}

int gp_queue_open(struct gp_gpu *gpu, const char **what)
{
	int ret;

	gpu->next = 1;
	gpu->oldest = 1;
	/* Executable too, as all others map packets: nobody has said that the packet processor does without. */
	*what = "memory for packets";
	gpu->ring = gp_memory_new(gpu, (uint64_t)GP_GPU_DEPTH * SLOT_BYTES, GP_GPU_MEM_HOST_RO,
				  AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_EXECUTABLE | AMDGPU_VM_MTYPE_UC,
				  &ret);
	if (!gpu->ring)
		return ret;
	gpu->stamps = gp_memory_new(gpu, GP_GPU_DEPTH * sizeof(struct gp_stamps), GP_GPU_MEM_HOST, 0, &ret);
	if (!gpu->stamps)
		return ret;
	*what = "a sync object";
	ret = gpu->drm->amdgpu_cs_create_syncobj2(gpu->device, 0, &gpu->wake);
	return ret ? ret : gp_queue_context(gpu, what);
}

static void drop_scratch(struct gp_gpu *gpu)
{
	if (gpu->scratch)
		gp_bo_free(gpu, gpu->scratch);
	gpu->scratch = NULL;
	gp_range_release(&gpu->scratch_range);
}

void gp_queue_close(struct gp_gpu *gpu)
{
	if (gpu->timeline)
		gpu->drm->amdgpu_cs_destroy_syncobj(gpu->device, gpu->timeline);
	if (gpu->wake)
		gpu->drm->amdgpu_cs_destroy_syncobj(gpu->device, gpu->wake);
	if (gpu->context)
		gpu->drm->amdgpu_cs_ctx_free(gpu->context);
	drop_scratch(gpu);
}

/* grow_scratch() - Return: 0; -EAGAIN while a launch may use what there is. */
static int grow_scratch(struct gp_gpu *gpu, uint64_t bytes)
{
	int ret;

	if (gpu->scratch && gpu->scratch->size >= bytes)
		return 0;
	if (gpu->next != gpu->oldest)
		return -EAGAIN;
	drop_scratch(gpu);
	if (!gp_range_reserve(gpu, bytes, &gpu->scratch_range))
		return -ENOMEM;
	ret = gp_bo_new(gpu, bytes, AMDGPU_GEM_DOMAIN_VRAM,
			AMDGPU_GEM_CREATE_NO_CPU_ACCESS | AMDGPU_GEM_CREATE_VRAM_CLEARED, &gpu->scratch);
	if (!ret)
		ret = gp_bo_map(gpu, gpu->scratch, 0, gpu->scratch->size, gpu->scratch_range.base,
				AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE);
	if (ret)
		drop_scratch(gpu);
	return ret;
}

/*
 * set_scratch() - as much as the waves of this launch can use at once, within SCRATCH_MAX: with less, fewer waves
 * run at a time. Counted by shader engine, since that is how the hardware hands it out.
 */
static int set_scratch(struct gp_gpu *gpu, const struct gp_gpu_code *code, struct gp_dispatch *dispatch,
		       uint64_t waves)
{
	const struct gp_generation *gen = gpu->gen;
	uint64_t wave_bytes = gp_round_up((uint64_t)code->private_bytes * gen->wave, gen->scratch_unit);
	uint64_t each, limit;
	int ret;

	waves = MIN(waves, (uint64_t)gpu->units * gen->simds * gen->waves);
	each = (waves + gpu->engines - 1) / gpu->engines;
	limit = gen->scratch_waves_max / (gen->scratch_waves_by_engine ? 1 : gpu->engines);
	limit = MIN(limit, SCRATCH_MAX / (wave_bytes * gpu->engines));
	each = MIN(each, limit);
	if (!each)
		return -ENOMEM;
	dispatch->scratch_bytes = each * gpu->engines * wave_bytes;
	ret = grow_scratch(gpu, dispatch->scratch_bytes);
	if (ret)
		return ret;
	dispatch->scratch = (uintptr_t)gpu->scratch_range.base;
	dispatch->scratch_waves = (uint32_t)(gen->scratch_waves_by_engine ? each : each * gpu->engines);
	dispatch->scratch_units = (uint32_t)(wave_bytes / gen->scratch_unit);
	return 0;
}

/* set_user() - the scalar registers that waves start with, in the order of the kernel descriptor's bits. */
static void set_user(const struct gp_generation *gen, const struct gp_gpu_code *code,
		     struct gp_dispatch *dispatch, uint64_t arg)
{
	uint32_t n = 0;

	if (code->properties & PROP_SCRATCH) {
		dispatch->user[n++] = (uint32_t)dispatch->scratch;
		dispatch->user[n++] =
			dispatch->scratch ? (uint32_t)(dispatch->scratch >> 32) | gen->scratch_word1 : 0;
		dispatch->user[n++] = dispatch->scratch ? ~0u : 0;
		dispatch->user[n++] = dispatch->scratch ? gen->scratch_word3 : 0;
	}
	dispatch->user[n++] = (uint32_t)arg;
	dispatch->user[n++] = (uint32_t)(arg >> 32);
	if (code->properties & PROP_FLAT) {
		dispatch->user[n++] = (uint32_t)dispatch->scratch;
		dispatch->user[n++] = (uint32_t)(dispatch->scratch >> 32);
	}
	dispatch->num_user = n;
}

static int submit(struct gp_gpu *gpu, uint32_t ip, uint64_t ib, uint32_t bytes, uint64_t point,
		  uint64_t *sequence)
{
	bool other = gpu->last_ip != ip && gpu->last_ip != AMDGPU_HW_IP_NUM;
	struct drm_amdgpu_bo_list_in list = {
		.operation = WHOLE,
		.list_handle = WHOLE,
		.bo_info_size = sizeof(struct drm_amdgpu_bo_list_entry),
	};
	struct drm_amdgpu_cs_chunk_ib packets = {
		.flags = ip == AMDGPU_HW_IP_COMPUTE ? AMDGPU_IB_FLAG_EMIT_MEM_SYNC : 0,
		.va_start = ib,
		.ib_bytes = bytes,
		.ip_type = ip,
	};
	struct drm_amdgpu_cs_chunk_syncobj end = { .handle = gpu->timeline, .point = point };
	struct drm_amdgpu_cs_chunk_syncobj before = { .handle = gpu->timeline, .point = point - 1 };
	struct drm_amdgpu_cs_chunk chunks[] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(packets) / 4, (uintptr_t)&packets },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, sizeof(end) / 4, (uintptr_t)&end },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, sizeof(before) / 4, (uintptr_t)&before },
	};
	int num = G_N_ELEMENTS(chunks) - !other;
	int ret;

	g_mutex_lock(&gpu->bos);
	list.bo_number = gpu->list->len;
	list.bo_info_ptr = (uintptr_t)gpu->list->data;
	ret = gpu->drm->amdgpu_cs_submit_raw2(gpu->device, gpu->context, 0, num, chunks, sequence);
	g_mutex_unlock(&gpu->bos);
	if (!ret)
		gpu->last_ip = ip;
	return ret;
}

static struct gp_stamps *stamps_of(struct gp_gpu *gpu, uint64_t ticket)
{
	return (struct gp_stamps *)gpu->stamps->range.base + ticket % GP_GPU_DEPTH;
}

/* The next launch's place in the ring. */
static uint8_t *slot_of(struct gp_gpu *gpu)
{
	return gpu->ring->range.base + gpu->next % GP_GPU_DEPTH * SLOT_BYTES;
}

static int submit_slot(struct gp_gpu *gpu, uint32_t ip, uint32_t dwords)
{
	struct gp_slot *slot = &gpu->slots[gpu->next % GP_GPU_DEPTH];

	memset(stamps_of(gpu, gpu->next), 0, sizeof(struct gp_stamps));
	slot->since = (uint64_t)g_get_monotonic_time();
	slot->ip = ip;
	return submit(gpu, ip, (uintptr_t)slot_of(gpu), dwords * 4, gpu->next, &slot->sequence);
}

/* launch() - with the queue's lock, and room in the ring. */
static int launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups, uint32_t group,
		  uint32_t times)
{
	uint8_t *at = slot_of(gpu);
	uint32_t dwords;
	struct gp_dispatch dispatch = {
		.code = code->entry,
		.rsrc1 = code->rsrc1,
		.rsrc2 = code->rsrc2,
		.rsrc3 = code->rsrc3,
		.groups = groups,
		.group = group,
		.times = times,
		.stamps = (uintptr_t)stamps_of(gpu, gpu->next),
		.ticket = gpu->next,
		.align = gpu->ib_align,
	};
	int ret = 0;

	if (code->private_bytes)
		ret = set_scratch(gpu, code, &dispatch,
				  (uint64_t)groups * ((group + gpu->gen->wave - 1) / gpu->gen->wave));
	if (ret)
		return ret;
	set_user(gpu->gen, code, &dispatch, (uintptr_t)at + SLOT_ARG);
	memcpy(at + SLOT_ARG, &arg, sizeof(arg));
	dwords = gp_packets_build(gpu->gen, &dispatch, (uint32_t *)(void *)at);
	if (!dwords)
		return -ENOMEM;
	return submit_slot(gpu, AMDGPU_HW_IP_COMPUTE, dwords);
}

/* copy() - likewise. Return: -EOPNOTSUPP where it takes more packets than there is room for. */
static int copy(struct gp_gpu *gpu, const struct gp_move *what)
{
	struct gp_move move = *what;
	uint32_t dwords;

	move.stamps = (uintptr_t)stamps_of(gpu, gpu->next);
	move.ticket = gpu->next;
	move.align = gpu->sdma_align;
	dwords = gp_sdma_build(gpu->gen, &move, (uint32_t *)(void *)slot_of(gpu));
	return dwords ? submit_slot(gpu, AMDGPU_HW_IP_DMA, dwords) : -EOPNOTSUPP;
}

/* may_queue() - with the queue's lock. Return: 0, or why not now. */
static int may_queue(struct gp_gpu *gpu)
{
	/* A reset while nothing was queued has lost no launch, but maybe the card's memory: no submission says so. */
	if (gpu->next == gpu->oldest && !is_lost(gpu))
		gp_lost_poll(gpu);
	if (is_lost(gpu))
		return -ENODEV;
	return gpu->next - gpu->oldest >= GP_GPU_DEPTH ? -EAGAIN : 0;
}

/* queued() - @ret: what came of it. With the queue's lock. Return: likewise, for the caller. */
static int queued(struct gp_gpu *gpu, int ret, uint64_t *ticket)
{
	if (!ret) {
		*ticket = gpu->next++;
	} else if (ret != -EAGAIN && ret != -ENOMEM && ret != -ENODEV && ret != -EOPNOTSUPP) {
		gp_lost(gpu, ret);
		ret = -ENODEV;
	} else if (ret == -ENODEV && !is_lost(gpu)) {
		gp_lost(gpu, ret);
	}
	return ret;
}

int gp_amdgpu_launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		     uint32_t group, uint32_t times, uint64_t *ticket)
{
	int ret;

	if (!groups || !group || group > 1024 || !times || times > GP_PACKETS_TIMES)
		return -EINVAL;
	g_mutex_lock(&gpu->queue);
	ret = may_queue(gpu);
	if (!ret)
		ret = launch(gpu, code, arg, groups, group, times);
	ret = queued(gpu, ret, ticket);
	g_mutex_unlock(&gpu->queue);
	return ret;
}

int gp_amdgpu_copy(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		   uint64_t *ticket)
{
	struct gp_move move = {
		.to = (uintptr_t)to,
		.from = (uintptr_t)from,
		.bytes = bytes,
		.pattern = pattern,
	};
	int ret;

	if (!gpu->sdma_align || !bytes || (!from && (move.to | bytes) % 4))
		return -EOPNOTSUPP;
	g_mutex_lock(&gpu->queue);
	ret = may_queue(gpu);
	if (!ret)
		ret = copy(gpu, &move);
	ret = queued(gpu, ret, ticket);
	g_mutex_unlock(&gpu->queue);
	return ret;
}

/*
 * check() - a launch whose point was signalled. Return: 0: it ended; else why it did not. Before Linux 6.5 fences did not
 * say so of killed waves: there any reset since the context was made is taken for one of ours.
 */
static int check(struct gp_gpu *gpu, uint64_t ticket, bool reset, struct gp_stamps *stamps)
{
	struct amdgpu_cs_fence fence = {
		.context = gpu->context,
		.ip_type = gpu->slots[ticket % GP_GPU_DEPTH].ip,
		.fence = gpu->slots[ticket % GP_GPU_DEPTH].sequence,
	};
	uint32_t expired = 0;
	int ret = gpu->drm->amdgpu_cs_query_fence_status(&fence, 0, 0, &expired);

	memcpy(stamps, stamps_of(gpu, ticket), sizeof(*stamps));
	if (ret)
		return ret;
	return stamps->ticket != ticket || reset ? -ECANCELED : 0;
}

/*
 * ended_at() - ns that a launch took, by the GPU's clock. What it wrote down a program could have written over, that
 * got out of its bounds: so no longer than since it was submitted, and where it took no time at all that is said. (A packet
 * that waits for all that came before lies between the two.) The engine has the host's clock to compare with.
 */
static struct gp_gpu_end ended_at(const struct gp_gpu *gpu, uint64_t ticket, const struct gp_stamps *stamps)
{
	uint64_t since = gpu->slots[ticket % GP_GPU_DEPTH].since, now = (uint64_t)g_get_monotonic_time();
	uint64_t most = (now - since + 1) * 1000;
	double ns;

	if (!stamps->begin || stamps->end <= stamps->begin)
		return (struct gp_gpu_end){ .ticket = ticket, .odd = true };
	ns = (double)(stamps->end - stamps->begin) * 1e9 / (double)gpu->tick_hz;
	return (struct gp_gpu_end){ .ticket = ticket, .ns = ns < (double)most ? (uint64_t)ns : most };
}

/* reap() - what has ended, in order. Return: how many, after which a loss may be known. With the queue's lock. */
static int reap(struct gp_gpu *gpu, struct gp_gpu_end *ends, uint32_t max)
{
	struct gp_stamps stamps;
	uint64_t passed = 0;
	bool reset = false;
	uint32_t n = 0;
	int ret;

	if (gpu->next == gpu->oldest)
		return 0;
	ret = gpu->drm->amdgpu_cs_syncobj_query2(gpu->device, &gpu->timeline, &passed, 1, 0);
	if (ret == -ENOMEM)
		return 0;
	if (ret) {
		gp_lost(gpu, ret);
		return 0;
	}
	if (passed >= gpu->oldest && !gpu->fence_errors)
		reset = gp_lost_poll(gpu);
	while (n < max && gpu->oldest < gpu->next && gpu->oldest <= passed) {
		ret = check(gpu, gpu->oldest, reset, &stamps);
		if (ret == -ENOMEM)
			break;
		if (ret) {
			gp_lost(gpu, ret);
			break;
		}
		ends[n++] = ended_at(gpu, gpu->oldest, &stamps);
		gpu->oldest++;
		gpu->losses = 0;
	}
	return (int)n;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* block() - until the oldest launch has ended, wake() was called, or @until. Without locks. Return: 0 or -errno. */
static int block(struct gp_gpu *gpu, uint32_t timeline, uint64_t oldest, uint64_t wake_point, uint64_t until)
{
	uint32_t handles[2] = { gpu->wake, timeline }, first;
	uint64_t points[2] = { wake_point, oldest };
	int ret = gpu->drm->amdgpu_cs_syncobj_timeline_wait(gpu->device, handles, points, oldest ? 2 : 1,
							    (int64_t)until,
							    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT, &first);

	if (ret == -ENOMEM)
		g_usleep(1000);
	return ret == -ETIME || ret == -ENOMEM ? 0 : ret;
}

static void check_hang(struct gp_gpu *gpu, uint64_t now)
{
	if (gpu->next == gpu->oldest || now - gpu->checked < SLICE_NS)
		return;
	gpu->checked = now;
	gp_lost_poll(gpu);
	if (!is_lost(gpu) &&
	    g_get_monotonic_time() - (int64_t)gpu->slots[gpu->oldest % GP_GPU_DEPTH].since > HANG_US)
		gp_lost(gpu, -ETIME);
}

int gp_amdgpu_wait(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max)
{
	uint64_t start = now_ns(), until = ns > INT64_MAX - start ? INT64_MAX : start + ns, now, wake_point,
		 oldest;
	uint32_t timeline;
	int ret = 0;

	g_atomic_int_set(&gpu->waiting, 1);
	g_mutex_lock(&gpu->queue);
	for (;;) {
		ret = is_lost(gpu) ? -ENODEV : reap(gpu, ends, max);
		if (!ret && is_lost(gpu))
			ret = -ENODEV;
		now = now_ns();
		g_mutex_lock(&gpu->waking);
		wake_point = gpu->wake_point + 1;
		g_mutex_unlock(&gpu->waking);
		if (ret || g_atomic_int_compare_and_exchange(&gpu->woken, 1, 0) || now >= until)
			break;
		timeline = gpu->timeline;
		oldest = gpu->next > gpu->oldest ? gpu->oldest : 0;
		g_mutex_unlock(&gpu->queue);
		ret = block(gpu, timeline, oldest, wake_point, MIN(until, now + SLICE_NS));
		g_mutex_lock(&gpu->queue);
		/* The handle may have been another context's, which was lost meanwhile. */
		if (ret && !is_lost(gpu) && timeline == gpu->timeline)
			gp_lost(gpu, ret);
		else if (!is_lost(gpu))
			check_hang(gpu, now_ns());
	}
	g_mutex_unlock(&gpu->queue);
	g_atomic_int_set(&gpu->waiting, 0);
	return ret;
}

void gp_amdgpu_wake(struct gp_gpu *gpu)
{
	uint64_t point;

	g_atomic_int_set(&gpu->woken, 1);
	if (!g_atomic_int_get(&gpu->waiting))
		return;
	g_mutex_lock(&gpu->waking);
	point = gpu->wake_point + 1;
	if (!gpu->drm->amdgpu_cs_syncobj_timeline_signal(gpu->device, &gpu->wake, &point, 1))
		gpu->wake_point = point;
	g_mutex_unlock(&gpu->waking);
}
