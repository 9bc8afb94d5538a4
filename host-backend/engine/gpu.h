/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu.h - a GPU as device_gpu.c drives it: one table of operations per vendor's interface.
 *
 * A GPU is opened once per process, with an address space that nobody else has. Memory lies at one address for
 * CPU and GPU. Launches are queued on one in-order queue, run one at a time - each begins when the one before has ended,
 * and sees what that one wrote - and end in order; each has a ticket, which counts up from 1.
 * What goes wrong is an errno as below, and a sentence where a person will read it; nothing here waits
 * without a bound.
 *
 * Threads: open() and close() by one thread; wait() by one thread at a time, the others by any.
 */
#ifndef GPGPU_GPU_H
#define GPGPU_GPU_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "jit/jit.h"
#include "rt/launch.h"

struct gp_gpu;
struct gp_gpu_code;

/* What memory is for. Zeroed when it comes, and before anybody else gets it. */
enum gp_gpu_mem {
	/* Maps, device buffers: the GPU's own and cached there. The CPU reaches it by write() alone. */
	GP_GPU_MEM_DEVICE,
	GP_GPU_MEM_HOST, /* launches and what they refer to: the host's, coherent for both when none is under way */
	GP_GPU_MEM_HOST_RO, /* the host's, that the GPU only reads, and sees changes of while a launch runs (*env.stop) */
	/* The host's, that the GPU only reads, and sees changes of in the next launch: so that the CPU can trust it. */
	GP_GPU_MEM_TABLE,
};

enum gp_gpu_state {
	GP_GPU_OK,
	GP_GPU_GUILTY, /* lost, by what we had submitted */
	GP_GPU_INNOCENT, /* lost, by somebody else's work or a reset */
	GP_GPU_GONE, /* lost for good: unplugged, or it does not come back */
};

struct gp_gpu_info {
	char title[64]; /* for people: "amdgpu: AMD Radeon RX 6600, gfx1032, 8 GiB" */
	char target[32]; /* for the compiler: "gfx1030" */
	uint32_t wave; /* lanes of a wave */
	uint32_t group; /* lanes of a work group of launches, whole waves; 0: one wave */
	uint32_t waves; /* that can be resident at once */
	uint32_t times; /* as often can launch() queue what it is given; 0: any number */
	uint32_t depth; /* launches that may be queued and not ended */
	uint32_t cpus; /* copies that per-CPU maps have at most; 0: as many as the engine likes */
	uint64_t memory; /* bytes, the GPU's own */
	uint64_t tick_hz; /* of the clock that programs see */
};

/* A launch that has ended. */
struct gp_gpu_end {
	uint64_t ticket;
	uint64_t ns; /* that the GPU took for it, by the GPU's clock */
	bool odd; /* that cannot be: what the GPU had written down was written over */
};

struct gp_gpu_ops {
	const char *name; /* what gpgpu_engine_options.device says */

	/*
	 * open() - @where: render node or PCI address, NULL: the first that will do. Before the sandbox closes.
	 * Return: NULL with @error, which says what was found and why it will not do.
	 */
	struct gp_gpu *(*open)(const char *where, struct gp_gpu_info *info, GError **error);
	void (*close)(struct gp_gpu *gpu);

	/*
	 * alloc() - @size bytes with GP_GUARD bytes around them that neither side can access (where the GPU's pages are too
	 * large for that: that are nobody's). Return: NULL without memory. free() - no launch that is queued uses it.
	 */
	void *(*alloc)(struct gp_gpu *gpu, uint64_t size, enum gp_gpu_mem mem);
	void (*free)(struct gp_gpu *gpu, void *at, uint64_t size);

	/*
	 * write() - put @bytes at @from where @to is, in DEVICE memory that no launch uses yet. They are there for the
	 * next launch. Return: 0 or -errno. NULL: the CPU writes there itself.
	 */
	int (*write)(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes);

	/*
	 * share() - let the GPU reach the shared region, mapped at @at from the memory file @fd.
	 * Return: 0; -errno where it cannot be had in place. unshare() - no launch uses it.
	 */
	int (*share)(struct gp_gpu *gpu, void *at, uint64_t size, int fd);
	void (*unshare)(struct gp_gpu *gpu, void *at, uint64_t size);

	/*
	 * reach() - a buffer of @size bytes is at @at in the shared region: launches may use it until unreach(), which is told the
	 * same, and then no launch does. Return: 0 or -errno. Both NULL: share() has done that for all of it.
	 */
	int (*reach)(struct gp_gpu *gpu, void *at, uint64_t size);
	void (*unreach)(struct gp_gpu *gpu, void *at, uint64_t size);

	/*
	 * load() - make an image ready to run; everything in it is checked. Return: NULL, with the reason in @why.
	 * unload() - no launch uses it.
	 */
	struct gp_gpu_code *(*load)(struct gp_gpu *gpu, const struct gp_image *image, char why[GP_MESSAGE]);
	void (*unload)(struct gp_gpu *gpu, struct gp_gpu_code *code);

	/*
	 * builtin() - instead of an image that the compiler makes of a kernel that is no program's. NULL: ask the compiler
	 * and load() that. Unloaded as other code.
	 */
	struct gp_gpu_code *(*builtin)(struct gp_gpu *gpu, enum gp_kernel kernel);

	/*
	 * launch() - queue @groups work groups of @group lanes. @arg: address of the struct gp_launch. @times: where that
	 * has parts, as often as their packets ask for (rt/launch.h), each behind the last and seeing what that wrote; else 1.
	 * Return: 0; -EAGAIN: depth reached; -ENOMEM: not now; -ENODEV: lost, see state().
	 */
	int (*launch)(struct gp_gpu *gpu, struct gp_gpu_code *code, uint64_t arg, uint32_t groups,
		      uint32_t group, uint32_t times, uint64_t *ticket);

	/*
	 * copy() - queue that @bytes are copied from @from to @to, or with @from NULL that @to is filled with @pattern, in order
	 * with launches and with a ticket as they have. Return: as launch(); -EOPNOTSUPP: not this one, launch GP_KERNEL_COPY.
	 * NULL: none.
	 */
	int (*copy)(struct gp_gpu *gpu, void *to, const void *from, uint64_t bytes, uint32_t pattern,
		    uint64_t *ticket);

	/*
	 * wait() - until a launch has ended that was not reported, wake() is called, or @ns have passed.
	 * @ends: out: those that have ended, in order. Return: how many; -ENODEV: lost, and none of those
	 * that were queued will end any more.
	 */
	int (*wait)(struct gp_gpu *gpu, uint64_t ns, struct gp_gpu_end *ends, uint32_t max);
	void (*wake)(struct gp_gpu *gpu);

	/* ticks() - the GPU's clock now. Return: false where it cannot be read. */
	bool (*ticks)(struct gp_gpu *gpu, uint64_t *ticks);

	enum gp_gpu_state (*state)(struct gp_gpu *gpu);
	/*
	 * recover() - after a loss: a new context; memory and code stay where they are, but what DEVICE memory
	 * held is gone where @contents comes back false. Return: false where it is GONE.
	 */
	bool (*recover)(struct gp_gpu *gpu, bool *contents);
};

/* gp_gpu_register() - let engines be made on @ops, which stays. Before the first of them; at most 4. */
void gp_gpu_register(const struct gp_gpu_ops *ops);

#endif
