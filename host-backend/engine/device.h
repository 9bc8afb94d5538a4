/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h - what runs code: one table of operations per kind of device.
 *
 * A device takes work from the scheduler when it can run some (gp_sched_pick() and gp_job_take() under the
 * engine's lock), runs it, and settles it with the time that it measured. Nobody pushes work to it;
 * kick() only says that there is some.
 */
#ifndef GPGPU_DEVICE_H
#define GPGPU_DEVICE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "bpf/prog.h"
#include "gpgpu-host.h"

struct gp_device;
struct gp_job;
struct gp_map_call;
struct gp_program;

/* What memory is for that programs see. */
enum gp_mem {
	GP_MEM_DEVICE, /* near to whatever runs programs; the engine writes it, by write(), before any of them sees it, then no more */
	GP_MEM_HOST, /* the engine uses it while programs read it, who see changes from their next slice on at the latest */
};

struct gp_device_ops {
	const char *name; /* what gpgpu_engine_options.device says */
	/*
	 * create() - open it and start its threads, before the sandbox closes. Fills in what engine.h says of
	 * the device. @where: of a GPU: render node, PCI address or NULL.
	 */
	struct gp_device *(*create)(struct gpgpu_engine *engine, const struct gpgpu_engine_options *options,
				    const char *where, GError **error);
	/* start() - there is a compiler now. Return: false with @error. NULL: nothing to do. */
	bool (*start)(struct gp_device *device, GError **error);
	/* stop() - the compiler is about to go, and answers no more. NULL: nothing to do. */
	void (*stop)(struct gp_device *device);
	/* destroy() - no work is queued any more. */
	void (*destroy)(struct gp_device *device);
	/* kick() - work was queued. Engine's lock held. */
	void (*kick)(struct gp_device *device);
	/*
	 * interrupt() - end @session's running slices (@job: only its) soon, within an item where its job is cancelled
	 * or the item takes much longer than a slice. Engine's lock held.
	 */
	void (*interrupt)(struct gp_device *device, struct gpgpu_session *session, struct gp_job *job);
	/* watch() - end slices that have run for too long; called every few ms. Engine's lock held. Return: something runs. */
	bool (*watch)(struct gp_device *device, uint64_t now);
	/* help() - as kick(), but a single small job may be run here. Engine's lock held, not all the time. */
	void (*help)(struct gp_device *device);

	/* ---- of devices with memory and code of their own; NULL for the others, whose memory is the process's */

	/*
	 * alloc() - @size zeroed bytes with GP_GUARD inaccessible ones around them, at one address for everybody.
	 * Return: NULL without memory. free() - nothing that runs uses it. Any thread.
	 */
	void *(*alloc)(struct gp_device *device, uint64_t size, enum gp_mem mem);
	void (*free)(struct gp_device *device, void *base, uint64_t size);
	/* write() - put @size bytes into DEVICE memory that nothing that runs uses yet. Return: false: it cannot. Any thread. */
	bool (*write)(struct gp_device *device, void *to, const void *from, uint64_t size);

	/* load() - make @prog, which has an image, ready to run. Return: false, and what is wrong in @why. */
	bool (*load)(struct gp_device *device, struct gp_program *prog, char why[GP_MESSAGE]);
	/* unload() - nothing runs it any more; it may not have been loaded. */
	void (*unload)(struct gp_device *device, struct gp_program *prog);

	/* session_new() - its shared memory is mapped, from the file @fd or -1. session_free() - nothing of it runs. */
	void (*session_new)(struct gp_device *device, struct gpgpu_session *session, int fd);
	void (*session_free)(struct gp_device *device, struct gpgpu_session *session);

	/*
	 * reach() - a buffer is made of [@at, @at + @size) of @session's shared memory. Return: false without memory. unreach() -
	 * it is gone; nothing uses it. NULL: nothing to do. Session's lock held.
	 */
	bool (*reach)(struct gp_device *device, struct gpgpu_session *session, void *at, uint64_t size);
	void (*unreach)(struct gp_device *device, struct gpgpu_session *session, void *at, uint64_t size);

	/* forget() - @job is about to be freed. Session's lock held. */
	void (*forget)(struct gp_device *device, struct gp_job *job);

	/* map_call() - have it done behind everything that was begun before; gp_map_call_ended(). Session's lock held. */
	void (*map_call)(struct gp_device *device, struct gp_map_call *call);
};

extern const struct gp_device_ops gp_device_cpu, gp_device_gpu;

#endif
