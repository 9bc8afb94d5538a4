/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * private.h - what the files of cuda/ share: the card, its memory, its queue.
 *
 * Files by concern: ops.h (the operations), driver.h and driver.c (the driver's functions), open.c (finding and judging a
 * card), memory.c (alloc, free, write), share.c (the shared region), ptx.c (the assembler's process, which ptx_main.c is),
 * load.c (images), queue.c (launches, copies, waits), clock.c (the card's clock), lost.c (what an error means).
 *
 * One address on both sides: the host's memory is registered where it is, and the driver is held to answer with the
 * same address; the card's own memory is mapped at addresses that the driver has reserved in the process, where the CPU
 * finds nothing.
 *
 * Locks, in this order: `queue` (the stream, what is in flight), `memory` (what is allocated and shared), `writing` (the
 * second stream and its buffer), `waking`. None is held while waiting for launches.
 */
#ifndef GPGPU_CUDA_PRIVATE_H
#define GPGPU_CUDA_PRIVATE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "cuda/driver.h"
#include "cuda/ops.h"

#define GP_CUDA_PAGE  4096u
#define GP_CUDA_DEPTH 32u /* launches in flight */
#define GP_CUDA_GROUP \
	128u /* lanes of a work group: as many as leave a lane all the registers that it can have */

struct gp_ptx;

/* What alloc() handed out. */
struct gp_memory {
	uint8_t *base;
	uint64_t size; /* whole pages */
	enum gp_gpu_mem kind;
	/* the host's, with GP_GUARD on either side; or the card's: addresses, and a physical piece `at` in the middle */
	void *whole;
	uint64_t whole_size;
	uint64_t mapped; /* bytes at `base` or, of a chunk, of all of it */
	struct gp_chunk *chunk; /* the card's memory that small pieces share; NULL: its own */
};

/* Part of the shared region that is registered while a buffer of the guest's lies in it. */
struct gp_window {
	bool registered;
	uint32_t uses;
};

struct gp_shared {
	uint8_t *at;
	uint64_t size;
	struct gp_window *windows;
	uint32_t num_windows;
	uint64_t window; /* bytes of each but the last */
};

struct gp_gpu_code {
	CUmodule module;
	CUfunction function;
};

/* A launch in flight. */
struct gp_slot {
	CUevent begin, end;
	uint64_t since; /* ns of CLOCK_MONOTONIC when it was queued */
};

struct gp_gpu {
	const struct gp_cuda *cuda;
	CUdevice device;
	CUcontext context;
	uint32_t sm; /* 10 * major + minor */
	uint64_t lanes; /* that can be resident at once */
	uint64_t bytes; /* of the card's memory */
	uint64_t granularity; /* of the card's memory and its addresses */
	bool read_only; /* the card can be kept from writing memory of the host's */
	struct gp_ptx *ptx;

	GMutex memory;
	GHashTable *allocated; /* by address: struct gp_memory */
	GPtrArray *chunks; /* struct gp_chunk */
	GPtrArray *shares; /* struct gp_shared */

	GMutex writing;
	CUstream side; /* what is no launch: clearing, writing, the clock */
	uint8_t *buffer; /* HOST memory that goes through it */

	GMutex queue;
	CUstream stream;
	uint64_t next, oldest; /* tickets: to be given, not reported yet */
	struct gp_slot slots[GP_CUDA_DEPTH];
	uint32_t *stamp; /* low half of the last ticket that has ended; the card writes it */
	int state; /* enum gp_gpu_state; atomic */
	char lost_by[160]; /* what the driver said */

	GMutex waking;
	GCond woken_cond;
	int woken; /* atomic */

	struct gp_gpu_code *clock;
	uint64_t *clock_word; /* HOST memory; the card writes it */
	int64_t clock_ahead; /* of CLOCK_MONOTONIC, ns; under `writing` */
	uint64_t clock_read; /* when, by CLOCK_MONOTONIC; 0: never */
};

/*
 * gp_cuda_enter() - from here on this thread's calls are about this card. Each operation begins with it: threads of the engine's
 * call whatever they need.
 */
void gp_cuda_enter(const struct gp_gpu *gpu);
uint64_t gp_cuda_now(void); /* ns of CLOCK_MONOTONIC */

/* memory.c */
void *gp_cuda_alloc(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem);
void gp_cuda_free(struct gp_gpu *gpu, void *at, uint64_t size);
int gp_cuda_write(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes);
/* gp_cuda_memory_open() - Return: what failed. */
CUresult gp_cuda_memory_open(struct gp_gpu *gpu);
void gp_cuda_memory_close(struct gp_gpu *gpu);
/*
 * gp_cuda_settle() - until @stream has done all, a matter of SETTLE_NS at most; its lock is held. Return: its error; NOT_READY:
 * it does not get on.
 */
CUresult gp_cuda_settle(struct gp_gpu *gpu, CUstream stream);
/* gp_cuda_register() - let the card see @size bytes of the process's at @at, under the same address. */
CUresult gp_cuda_register(struct gp_gpu *gpu, void *at, uint64_t size, bool read_only);

/* share.c */
int gp_cuda_share(struct gp_gpu *gpu, void *at, uint64_t size, int fd);
void gp_cuda_unshare(struct gp_gpu *gpu, void *at, uint64_t size);
int gp_cuda_reach(struct gp_gpu *gpu, void *at, uint64_t size);
void gp_cuda_unreach(struct gp_gpu *gpu, void *at, uint64_t size);
/* gp_cuda_share_is_whole() - do [@at, @at + @bytes) lie in one registration, as copies need? */
bool gp_cuda_share_is_whole(struct gp_gpu *gpu, const void *at, uint64_t bytes);

/* load.c */
struct gp_gpu_code *gp_cuda_load_image(struct gp_gpu *gpu, const struct gp_image *image,
				       char why[GP_MESSAGE]);
struct gp_gpu_code *gp_cuda_load_text(struct gp_gpu *gpu, const char *text, size_t size,
				      char why[GP_MESSAGE]);
void gp_cuda_unload(struct gp_gpu *gpu, struct gp_gpu_code *code);

/* queue.c */
CUresult gp_cuda_queue_open(struct gp_gpu *gpu);
void gp_cuda_queue_close(struct gp_gpu *gpu);
int gp_cuda_launch(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		   uint32_t group, uint32_t times, uint64_t *ticket);
int gp_cuda_copy(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		 uint64_t *ticket);
int gp_cuda_wait(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max);
void gp_cuda_wake(struct gp_gpu *gpu);

/* clock.c */
bool gp_cuda_clock_open(struct gp_gpu *gpu, char why[GP_MESSAGE]);
void gp_cuda_clock_close(struct gp_gpu *gpu);
bool gp_cuda_ticks(struct gp_gpu *gpu, uint64_t *ticks);

/* lost.c */

/* gp_cuda_lost() - @error came from the queue: it is lost. Any lock may be held but `waking`. */
void gp_cuda_lost(struct gp_gpu *gpu, CUresult error);
/* gp_cuda_check() - note @error if it is one that ends the context, whatever was asked for. Return: @error. */
CUresult gp_cuda_check(struct gp_gpu *gpu, CUresult error);
static inline bool gp_cuda_is_lost(struct gp_gpu *gpu)
{
	return g_atomic_int_get(&gpu->state) != GP_GPU_OK;
}
enum gp_gpu_state gp_cuda_state(struct gp_gpu *gpu);
bool gp_cuda_recover(struct gp_gpu *gpu, bool *contents);

/* ptx.c: PTX to machine code, in a process that has a context of its own and nothing else of ours */

/* gp_ptx_new() - start it, for cards like that at @bus_id. Return: NULL with @error. */
struct gp_ptx *gp_ptx_new(const char *bus_id, GError **error);
void gp_ptx_free(struct gp_ptx *ptx);
/*
 * gp_ptx_assemble() - Return: machine code, to be given back with gp_ptx_release(); NULL with the reason in @why. Any thread;
 * bounded by GP_PTX_SECONDS.
 */
void *gp_ptx_assemble(struct gp_ptx *ptx, const char *text, size_t size, uint32_t sm, size_t *code_size,
		      char why[GP_MESSAGE]);
void gp_ptx_release(void *code, size_t size);

static inline uint64_t gp_round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step * step;
}

#endif
