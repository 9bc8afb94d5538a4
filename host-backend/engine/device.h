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
#include "gpgpu-host.h"

struct gp_device;
struct gp_job;

struct gp_device_ops {
	const char *name; /* what gpgpu_engine_options.device says */
	/*
	 * create() - @servers: out: slices that can run at the same time, and so what num_cpus says.
	 * @title, @target: out: for struct virtio_gpgpu_caps.
	 */
	struct gp_device *(*create)(struct gpgpu_engine *engine, uint32_t threads, uint32_t *servers,
				    char title[64], char target[32], GError **error);
	/* destroy() - no work is queued any more. */
	void (*destroy)(struct gp_device *device);
	/* kick() - work was queued. Engine's lock held. */
	void (*kick)(struct gp_device *device);
	/*
	 * interrupt() - end @session's running slices (@job: only its) soon, within an item where its job is cancelled
	 * or the item takes much longer than a slice. Engine's lock held.
	 */
	void (*interrupt)(struct gp_device *device, struct gpgpu_session *session, struct gp_job *job);
	/* watch() - end slices that have run for too long; called every few ms. Engine's lock held. */
	void (*watch)(struct gp_device *device, uint64_t now);
	/* help() - as kick(), but a single small job may be run here. Engine's lock held, not all the time. */
	void (*help)(struct gp_device *device);
};

extern const struct gp_device_ops gp_device_cpu;

#endif
