/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * private.h - what the files of amdgpu/ share: the card, its buffers, its queue.
 *
 * Files by concern: ops.h (the operations), libdrm.c (the library's functions, looked up), open.c (finding and judging a card), bo.c
 * (buffer objects and addresses), memory.c (alloc and free), share.c (the shared region), load.c (images), packets.c
 * and sdma.c (what the packet processor and the engine of copies read), submit.c (the queue), lost.c (resets).
 *
 * One address on both sides: an address is reserved in the process first, with its guards, and what is mapped
 * there for the CPU is mapped there for the GPU. Nothing else is ever mapped for the GPU, so that addresses
 * cannot collide there.
 *
 * Locks, in this order: `queue` (the ring, the context, the state), `memory` (what is allocated, loaded, shared), `bos`
 * (the list that each submission carries). None is held while waiting for the GPU.
 */
#ifndef GPGPU_AMDGPU_PRIVATE_H
#define GPGPU_AMDGPU_PRIVATE_H

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <xf86drm.h>
#include "amdgpu/ops.h"
#include "amdgpu/generations.h"
#include "amdgpu/packets.h"

#define GP_GPU_PAGE 4096u
#define GP_GPU_DEPTH \
	16u /* launches in flight; below the 32 that the driver lets a context have (sched_jobs) */

/* Functions of libdrm_amdgpu.so.1 and libdrm.so.2 that both 2.4.114 and later have. */
#define GP_DRM_AMDGPU_CALLS(CALL)               \
	CALL(amdgpu_device_initialize)          \
	CALL(amdgpu_device_deinitialize)        \
	CALL(amdgpu_device_get_fd)              \
	CALL(amdgpu_get_marketing_name)         \
	CALL(amdgpu_query_info)                 \
	CALL(amdgpu_query_hw_ip_info)           \
	CALL(amdgpu_bo_alloc)                   \
	CALL(amdgpu_bo_import)                  \
	CALL(amdgpu_bo_export)                  \
	CALL(amdgpu_bo_free)                    \
	CALL(amdgpu_bo_va_op_raw)               \
	CALL(amdgpu_cs_ctx_create2)             \
	CALL(amdgpu_cs_ctx_free)                \
	CALL(amdgpu_cs_query_reset_state2)      \
	CALL(amdgpu_cs_submit_raw2)             \
	CALL(amdgpu_cs_query_fence_status)      \
	CALL(amdgpu_cs_create_syncobj2)         \
	CALL(amdgpu_cs_destroy_syncobj)         \
	CALL(amdgpu_cs_syncobj_timeline_signal) \
	CALL(amdgpu_cs_syncobj_timeline_wait)   \
	CALL(amdgpu_cs_syncobj_query2)
#define GP_DRM_CORE_CALLS(CALL)   \
	CALL(drmGetVersion)       \
	CALL(drmFreeVersion)      \
	CALL(drmGetCap)           \
	CALL(drmGetDevice2)       \
	CALL(drmFreeDevice)       \
	CALL(drmCommandWriteRead) \
	CALL(drmIoctl)

struct gp_drm {
#define GP_DRM_MEMBER(name) __typeof__(&name) name;
	GP_DRM_AMDGPU_CALLS(GP_DRM_MEMBER)
	GP_DRM_CORE_CALLS(GP_DRM_MEMBER)
#undef GP_DRM_MEMBER
	/* 2.4.123 and later, else NULL: a device that is shared with nobody else in the process */
	int (*amdgpu_device_initialize2)(int fd, bool deduplicate, uint32_t *major, uint32_t *minor,
					 amdgpu_device_handle *device);
};

/* A buffer object. In the list of every submission from when it is made until it is freed. */
struct gp_bo {
	amdgpu_bo_handle lib; /* NULL: of a user pointer, which libdrm does not know */
	uint32_t handle; /* the kernel's */
	uint32_t index; /* in gpu->list */
	uint64_t size;
	uint64_t cpu_offset; /* of the node, for mmap() */
};

/* Addresses that are ours: `base` with GP_GUARD on either side, all within `whole`. */
struct gp_range {
	uint8_t *base;
	void *whole;
	uint64_t whole_size;
};

/* What alloc() handed out: a buffer object of its own, or some pages of a chunk's. */
struct gp_memory {
	struct gp_range range;
	uint64_t size; /* whole pages */
	enum gp_gpu_mem kind;
	struct gp_bo *bo;
	struct gp_chunk *chunk; /* NULL: a buffer object of its own */
	uint64_t offset; /* in the buffer object */
};

struct gp_window {
	struct gp_bo *bo; /* NULL: nobody uses it */
	uint32_t uses; /* buffers of the guest's */
};

/* Where the shared region is, or part of it. */
struct gp_shared {
	uint8_t *at;
	uint64_t size;
	int fd; /* its memory file, or -1 */
	bool udmabuf; /* else user pointers */
	struct gp_window *windows;
	uint32_t num_windows;
	uint64_t window; /* bytes of each but the last */
};

struct gp_gpu_code {
	struct gp_range range;
	struct gp_bo *bo;
	uint8_t *copy; /* of the image, for when the card loses its memory */
	uint32_t bytes;
	uint64_t entry; /* address of the first instruction */
	uint32_t rsrc1, rsrc2, rsrc3;
	uint32_t private_bytes; /* scratch of a lane */
	uint16_t properties;
};

/* A launch in flight. */
struct gp_slot {
	uint32_t ip; /* AMDGPU_HW_IP_COMPUTE, or _DMA */
	uint64_t sequence; /* the driver's number of the submission */
	uint64_t since; /* g_get_monotonic_time() */
};

struct gp_gpu {
	const struct gp_drm *drm;
	amdgpu_device_handle device;
	int fd; /* the library's, of the node */
	const struct gp_generation *gen;
	const struct gp_chip *chip;
	uint64_t va_min, va_end; /* addresses that the GPU has */
	uint64_t tick_hz;
	uint64_t visible; /* bytes of the card's memory that the CPU reaches */
	uint32_t units, engines; /* compute units, shader engines */
	uint32_t ib_align; /* dwords */
	uint32_t sdma_align; /* likewise, of the engine of copies; 0: there is none for us */
	bool fence_errors; /* the driver forwards what became of a launch to its fence */
	int udmabuf; /* /dev/udmabuf, or -1 */
	uint64_t udmabuf_max; /* bytes of one of its buffers */

	GMutex memory;
	GHashTable *allocated; /* by address: struct gp_memory */
	GPtrArray *chunks; /* struct gp_chunk */
	GPtrArray *stuck; /* struct gp_memory that the driver would not unmap: neither used nor given back */
	GPtrArray *codes; /* struct gp_gpu_code */
	GPtrArray *shares; /* struct gp_shared */

	GMutex bos;
	GArray *list; /* struct drm_amdgpu_bo_list_entry */
	GPtrArray *listed; /* struct gp_bo, alike */

	GMutex queue;
	amdgpu_context_handle context;
	uint32_t timeline; /* sync object: point n, launch n has ended */
	uint64_t next, oldest; /* tickets: to be given, not reported yet */
	uint32_t last_ip; /* of the timeline's last launch; AMDGPU_HW_IP_NUM: it has none */
	struct gp_slot slots[GP_GPU_DEPTH];
	uint64_t checked; /* when a launch that seems to take long was last asked about, ns */
	struct gp_memory *ring; /* packets and arguments: the GPU only reads them */
	struct gp_memory *stamps; /* struct gp_stamps by slot: the GPU writes them */
	struct gp_bo *scratch;
	struct gp_range scratch_range;
	int state; /* enum gp_gpu_state; atomic */
	bool memory_lost; /* with the state: what the card's own memory held is gone */
	uint32_t losses; /* since a launch last ended */

	GMutex waking;
	uint32_t wake; /* sync object, one point for each wake-up */
	uint64_t wake_point; /* the last one that was signalled */
	int woken, waiting; /* atomic */
};

/* gp_drm_load() - the libraries, once per process. Return: NULL with @error where they are missing or too old. */
const struct gp_drm *gp_drm_load(GError **error);

/* gp_range_reserve() - addresses for @size bytes that CPU and GPU have free. Return: false without any. */
bool gp_range_reserve(struct gp_gpu *gpu, uint64_t size, struct gp_range *range);
void gp_range_release(struct gp_range *range);

/*
 * gp_bo_new() - @size bytes in @domain (AMDGPU_GEM_DOMAIN_*). gp_bo_import() - of a dma-buf, which stays the caller's.
 * gp_bo_user() - of the process's own memory, in place. Return: 0 or -errno.
 */
int gp_bo_new(struct gp_gpu *gpu, uint64_t size, uint32_t domain, uint64_t flags, struct gp_bo **bo);
int gp_bo_import(struct gp_gpu *gpu, int dmabuf, uint64_t size, struct gp_bo **bo);
int gp_bo_user(struct gp_gpu *gpu, void *at, uint64_t size, struct gp_bo **bo);
/* gp_bo_free() - unmapped for the GPU by that wherever it was mapped. */
void gp_bo_free(struct gp_gpu *gpu, struct gp_bo *bo);

/*
 * gp_bo_map() - let the GPU see @size bytes from @offset at @at, as @flags (AMDGPU_VM_*) say. gp_bo_unmap() - undo it.
 * gp_bo_cpu_map() - the same for the CPU, over what was reserved there. Return: 0 or -errno.
 */
int gp_bo_map(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at, uint64_t flags);
int gp_bo_unmap(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at);
int gp_bo_cpu_map(struct gp_gpu *gpu, struct gp_bo *bo, uint64_t offset, uint64_t size, void *at);
/* gp_bo_cpu_hide() - nobody reaches it at @at any more; the addresses stay ours. */
int gp_bo_cpu_hide(uint64_t size, void *at);

/* memory.c: the operations, the memory of the queue, the end. */
void *gp_amdgpu_alloc(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem);
void gp_amdgpu_free(struct gp_gpu *gpu, void *at, uint64_t size);
/* gp_memory_new() - as alloc(), by what it is made of. Return: NULL with *@error -errno. */
struct gp_memory *gp_memory_new(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem, uint64_t flags,
				int *error);
void gp_memory_drop(struct gp_gpu *gpu, struct gp_memory *memory);
/* gp_memory_clear() - all that programs have, after the card has lost its memory. */
void gp_memory_clear(struct gp_gpu *gpu);
void gp_memory_close(struct gp_gpu *gpu);

int gp_amdgpu_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd);
int gp_amdgpu_reach(struct gp_gpu *gpu, void *at, uint64_t size);
void gp_amdgpu_unreach(struct gp_gpu *gpu, void *at, uint64_t size);
void gp_amdgpu_unshare(struct gp_gpu *gpu, void *at, uint64_t size);
void gp_share_close(struct gp_gpu *gpu);

struct gp_gpu_code *gp_amdgpu_load(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE]);
void gp_amdgpu_unload(struct gp_gpu *gpu, struct gp_gpu_code *code);
/*
 * gp_load_check() - is this image's kernel one that @gen can run, and that keeps to what we set up for it?
 * @code: out: registers and sizes. Return: false, with the reason in @why.
 */
bool gp_load_check(const struct gp_generation *gen, const uint8_t *image, uint32_t bytes, uint32_t entry,
		   struct gp_gpu_code *code, char why[GP_MESSAGE]);
/* gp_load_again() - write all code once more, after the card has lost its memory. */
bool gp_load_again(struct gp_gpu *gpu);
void gp_load_close(struct gp_gpu *gpu);

/* gp_queue_open() - ring and context. Return: 0 or -errno, with what failed in *@what. */
int gp_queue_open(struct gp_gpu *gpu, const char **what);
void gp_queue_close(struct gp_gpu *gpu);
int gp_queue_context(struct gp_gpu *gpu, const char **what);
int gp_amdgpu_launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		     uint32_t group, uint32_t times, uint64_t *ticket);
int gp_amdgpu_copy(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		   uint64_t *ticket);
int gp_amdgpu_wait(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max);
void gp_amdgpu_wake(struct gp_gpu *gpu);

/* gp_lost() - @error (-errno of a submission, a wait or a launch's end) means a loss. */
void gp_lost(struct gp_gpu *gpu, int error);
/*
 * gp_lost_poll() - ask the driver whether our context, or memory, was lost meanwhile. Return: there was a reset since the
 * context was made, ours or not. With `queue` held, both.
 */
bool gp_lost_poll(struct gp_gpu *gpu);
enum gp_gpu_state gp_amdgpu_state(struct gp_gpu *gpu);
bool gp_amdgpu_recover(struct gp_gpu *gpu, bool *contents);

static inline uint64_t gp_round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

#endif
