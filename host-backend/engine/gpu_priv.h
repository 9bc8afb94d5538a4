/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_priv.h - between the files of the GPU device (device_gpu.c says how they work together).
 */
#ifndef GPGPU_GPU_PRIV_H
#define GPGPU_GPU_PRIV_H

#include "engine.h"
#include "gpu.h"
#include "gpu_time.h"
#include "job.h"
#include "map_call.h"

/* Memory that both sides use, handed out from the front. */
struct gpu_block {
	struct gpu_block *next;
	uint8_t *base;
	uint64_t size, used;
};

enum gpu_launch_kind {
	GPU_PACKETS,
	GPU_GRID,
	GPU_COPY,
	GPU_LOOK, /* for what programs have left to be read */
	GPU_CALLS, /* the guest's operations on maps */
};

/*
 * What a launch is made of lies in memory that the GPU writes, and so may a program that got out of its bounds. So whoever
 * reads what came back takes pointers and counts from here, and only results from there.
 */
struct gpu_launch {
	struct list link; /* in one of the device's lists, or nowhere */
	enum gpu_launch_kind kind;
	struct gp_gpu_code *code;
	struct gpu_block *block; /* where the rest lies */
	struct gp_launch *args;
	uint64_t count; /* lanes that do something; in `args`, too */
	uint32_t *stop; /* enum gp_stop; in memory that the GPU only reads */
	struct gpu_slice *slice; /* but of CALLS */
	struct gp_program *prog; /* PACKETS */
	struct gp_launch_copy copy; /* COPY */
	bool by_engine; /* COPY: by the GPU's engine for that */
	uint32_t num; /* PACKETS: packets, or parts; CALLS: operations */
	uint32_t times; /* that it is launched, one behind the other; 0: once */
	struct gp_launch_part *parts; /* PACKETS with parts; else NULL */
	uint32_t *part_of; /* the job's parts, by those of the launch */
	uint32_t *order; /* PACKETS without parts: which of the slice; NULL: all, one after the other */
	struct gp_map_op *ops; /* LOOK, CALLS */
	struct list calls; /* CALLS: of ... */
	struct gpgpu_session *session;
	struct gp_sched_grant grant;
	GPtrArray *looked_at; /* LOOK: of each operation, its map object or its program ... */
	const char **texts; /* ... and the lines of that; NULL: a map */
	uint64_t ticket;
	uint64_t queued; /* ns when it was handed to the GPU */
	uint64_t front; /* ns when it was seen to be the oldest that runs; 0: not yet */
	bool looked; /* by the GPU's clock a little later, and that said ... */
	uint64_t ticks;
	uint32_t tries; /* to queue it, while the driver had no memory */
	bool hurry; /* somebody waits for it */
	bool skip; /* it need not be run: nobody has the time */
};

/* A packet whose program has ended with a tail call. */
struct gpu_tail {
	struct gp_program *to;
	uint32_t packet; /* from the slice's first */
};

/* A chunk of a job, through all launches that it takes. */
struct gpu_slice {
	struct gp_job *job;
	struct gp_chunk chunk;
	struct gp_sched_grant grant;
	uint32_t outstanding; /* launches that have not ended */
	uint64_t ns; /* that those which have ended took */
	struct gp_clock clock;
	uint32_t status, reason; /* why it failed, S_OK otherwise */
	bool looked; /* for what programs have left */

	/* packets */
	struct gpu_block *packets;
	struct gp_packet_in *in; /* of the packets from `base` on */
	struct gp_packet_out *out;
	uint32_t base, num;
	uint8_t *slots; /* of the packet `base` */
	struct gpu_block *staging; /* what slots, or dst, are a copy in; NULL: they are in place */
	GPtrArray *progs; /* that ran */
	GArray *tails; /* struct gpu_tail, for the next pass */
	uint32_t pass; /* tail calls that the packets under way have made */
	uint32_t *ran; /* with parts: packets of each that were run */
};

struct gp_device {
	struct gpgpu_engine *engine;
	const struct gp_gpu_ops *ops;
	struct gp_gpu *gpu;
	struct gp_gpu_info info;
	struct gp_gpu_code *copy_kernel;
	pthread_t submitter, waiter, maker;
	bool started, making; /* threads that are to be joined */
	struct gp_clock clock; /* the submitter's, read ... */
	uint64_t clock_read; /* then, in ns */
	gpgpu_lost_fn *lost_fn;
	void *lost_opaque;

	pthread_mutex_t blocks_lock;
	struct gpu_block *blocks[8]; /* not used, by size */
	uint64_t blocks_kept; /* bytes */
	GPtrArray *stops; /* words for enum gp_stop that no launch has */
	GPtrArray *stop_pages; /* that they are in */
	uint64_t staged; /* bytes: copies that jobs work on */

	/* engine's lock */
	struct gp_gpu_code *map_kernel; /* NULL: it is being made, or could not be */
	bool map_kernel_failed, stopping;
	pthread_cond_t wake; /* the submitter's */
	pthread_cond_t flying; /* the waiter's: there is something to wait for */
	struct list launches; /* queued on the GPU, oldest first */
	struct list ready; /* to be queued before anything new */
	struct list later; /* when there is a map kernel */
	uint32_t in_flight; /* launches */
	bool waiting; /* the waiter waits, and does not deal with what has ended */
	uint32_t fruitless; /* waits since a launch last ended */
	struct gp_gpu_times times;
	uint64_t planned_ns; /* of slices that have begun and not ended */
	bool launching; /* the submitter is about to add one to `launches` */
	bool full; /* the GPU takes no more until one has ended */
	bool lost; /* the waiter has to deal with that */
	bool hung; /* because a launch does not end */
	bool gone; /* for good */
	bool quit;
	uint32_t lost_reason; /* that goes with S_DEVICE_LOST */
};

/* gp_gpu_reason() - what goes with the @status of a launch that was given up. */
static inline uint32_t gp_gpu_reason(const struct gp_device *dev, uint32_t status)
{
	if (!status)
		return VIRTIO_GPGPU_R_NONE;
	return status == VIRTIO_GPGPU_S_DEVICE_LOST ? dev->lost_reason : VIRTIO_GPGPU_R_HOST_MEMORY;
}

/*
 * gp_gpu_read() - what a launch has left in its memory. A launch that runs now may write there, if its program got out of its
 * bounds: so it is read once, and what was read is checked.
 */
#define gp_gpu_read(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)

/* How long the waiter waits at a time. */
#define GP_GPU_WAIT_NS 200000000ull

/* gpu_ready.c; engine's lock, but for the last */

void gp_gpu_move_all(struct list *from, struct list *to);
/* gp_gpu_hurry() - it is told to end where somebody waits for that; after all that changes it. */
void gp_gpu_hurry(struct gpu_launch *launch);
/* gp_gpu_make_ready() - those of @from are to be queued, once there is code for them. */
void gp_gpu_make_ready(struct gp_device *dev, struct list *from);
/* gp_gpu_try_later() - there is a map kernel, or never will be one: those that have waited for it go on, or end. */
void gp_gpu_try_later(struct gp_device *dev);
/* gp_gpu_end_launch() - it has ended, or will not for what @status says. No lock held. */
void gp_gpu_end_launch(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status);

/* gpu_submit.c, gpu_wait.c, gpu_watch.c: threads, and an operation of device.h */
void *gp_gpu_submit_thread(void *opaque);
void *gp_gpu_wait_thread(void *opaque);
bool gp_gpu_watch(struct gp_device *dev, uint64_t now);

/* gpu_memory.c: blocks. Any thread. */

/* gp_gpu_block() - one of at least @size bytes. Return: NULL without memory. */
struct gpu_block *gp_gpu_block(struct gp_device *dev, uint64_t size);
void gp_gpu_block_put(struct gp_device *dev, struct gpu_block *block);
/* gp_gpu_take() - @size bytes of @block, aligned to 64; not zeroed. It has that many: gp_gpu_room() was asked for. */
void *gp_gpu_take(struct gpu_block *block, uint64_t size);
static inline uint64_t gp_gpu_room(uint64_t size)
{
	return (size + 63) & ~63ull;
}
void gp_gpu_blocks_free(struct gp_device *dev);
/* gp_gpu_stop_word() - for one launch, GP_STOP_NONE. Return: NULL without memory. */
uint32_t *gp_gpu_stop_word(struct gp_device *dev);
void gp_gpu_stop_word_put(struct gp_device *dev, uint32_t *word);

/* gpu_launch.c */

/*
 * gp_gpu_launch_new() - a launch with @room bytes of memory behind it, and what all launches have filled in.
 * Return: NULL without memory.
 */
struct gpu_launch *gp_gpu_launch_new(struct gp_device *dev, enum gpu_launch_kind kind, uint64_t room);
void gp_gpu_launch_free(struct gp_device *dev, struct gpu_launch *launch);
/* gp_gpu_launch_lanes() - how many it has. */
static inline void gp_gpu_launch_lanes(struct gpu_launch *launch, uint64_t count)
{
	launch->args->count = launch->count = count;
}
/* gp_gpu_clock() - the clock of what is launched now. The submitter. */
void gp_gpu_clock(struct gp_device *dev, struct gp_clock *clock);
/* gp_gpu_stop() - tell a launch to end. Engine's lock. */
void gp_gpu_stop(struct gpu_launch *launch, enum gp_stop stop);

/* gpu_slice.c */

/*
 * gp_gpu_slice_begin() - prepare what @slice (job, chunk and grant are set) needs.
 * @ready: launches are added to it.
 * Return: false if it is over already, in most cases failed; gp_gpu_slice_finish() is due.
 */
bool gp_gpu_slice_begin(struct gp_device *dev, struct gpu_slice *slice, struct list *ready);
/*
 * gp_gpu_slice_ended() - a launch of it has ended, or will not for what @status says. @launch is freed.
 * @ready: launches that go on with it are added.
 * Return: whether it is over; gp_gpu_slice_finish() is due.
 */
bool gp_gpu_slice_ended(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status,
			struct list *ready);
/* gp_gpu_slice_finish() - settle it and free it; ends its job, if that was the last. No lock held. */
void gp_gpu_slice_finish(struct gp_device *dev, struct gpu_slice *slice);

/* gpu_tail.c */

/* gp_gpu_tails_note() - remember those of @launch's packets that a tail call is due for. */
void gp_gpu_tails_note(struct gpu_slice *slice, const struct gpu_launch *launch);
/* gp_gpu_tails_launch() - make the next pass. Return: false without memory. */
bool gp_gpu_tails_launch(struct gp_device *dev, struct gpu_slice *slice, struct list *ready);
/* gp_gpu_packets() - a launch of @prog over packets of @slice. Return: NULL without memory. */
struct gpu_launch *gp_gpu_packets(struct gp_device *dev, struct gpu_slice *slice, struct gp_program *prog,
				  const uint32_t *order, uint32_t count, uint64_t room);

/* gpu_look.c: what programs have left to be read. Its code is the map kernel's, when there is one: not filled in. */
struct gpu_launch *gp_gpu_look(struct gp_device *dev, struct gpu_slice *slice);
void gp_gpu_looked(struct gpu_slice *slice, const struct gpu_launch *launch);

/* gpu_objects.c: of the operations of device.h, those that need no launch */
void *gp_gpu_alloc(struct gp_device *dev, uint64_t size, enum gp_mem mem);
void gp_gpu_free(struct gp_device *dev, void *base, uint64_t size);
bool gp_gpu_write(struct gp_device *dev, void *to, const void *from, uint64_t size);
bool gp_gpu_load(struct gp_device *dev, struct gp_program *prog, char why[GP_MESSAGE]);
void gp_gpu_unload(struct gp_device *dev, struct gp_program *prog);
void gp_gpu_session_new(struct gp_device *dev, struct gpgpu_session *s, int fd);
void gp_gpu_session_free(struct gp_device *dev, struct gpgpu_session *s);
bool gp_gpu_reach(struct gp_device *dev, struct gpgpu_session *s, void *at, uint64_t size);
void gp_gpu_unreach(struct gp_device *dev, struct gpgpu_session *s, void *at, uint64_t size);
void gp_gpu_forget(struct gp_device *dev, struct gp_job *job);

/* gpu_calls.c */

/*
 * gp_gpu_calls_begin() - a launch of what waits of @s, whose entry was picked with @grant. Engine's lock held, not all the time.
 * Return: NULL where they were answered without one, since there is no memory or the device is gone.
 */
struct gpu_launch *gp_gpu_calls_begin(struct gp_device *dev, struct gpgpu_session *s,
				      const struct gp_sched_grant *grant);
/* gp_gpu_calls_ended() - answer them. @launch is freed. No lock held. */
void gp_gpu_calls_ended(struct gp_device *dev, struct gpu_launch *launch, uint64_t ns, uint32_t status);

/* gpu_stage.c */

/* gp_gpu_is_far() - is @at in shared memory that the GPU does not reach? */
bool gp_gpu_is_far(const struct gp_job *job, const void *at);
/* gp_gpu_stage_args() - have @args, a grid's, name copies of what is far. Return: false without memory. */
bool gp_gpu_stage_args(struct gp_device *dev, struct gp_job *job, struct gp_region *args);
/* gp_gpu_stage_end() - forget the copies. @back: what was written to them goes where it belongs. */
void gp_gpu_stage_end(struct gp_job *job, bool back);

#endif
