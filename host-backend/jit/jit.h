/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jit.h - the compiler as the engine sees it: a process reached over a socket.
 *
 * gpgpu-jit is a zygote: it loads LLVM once, then forks for each request; the child closes what it does
 * not need, enters its sandbox (seccomp, RLIMIT_AS, RLIMIT_CPU, wall-clock alarm), validates once more, compiles and
 * answers with a sealed memory file that holds a flat, relocation-free, position-independent image.
 * LLVM never loads in the worker. A compiler that dies costs one program a refusal with
 * VIRTIO_GPGPU_R_COMPILER or R_COMPILE_LIMIT.
 *
 * Threads: gp_jit_compile() may be called from several threads at once and blocks for one compile;
 * the engine calls it from a compile thread, never from the thread that serves the ring.
 */
#ifndef GPGPU_JIT_H
#define GPGPU_JIT_H

#include <glib.h>
#include "bpf/prog.h"
#include "jit/image.h"
#include "rt/launch.h"

struct gp_jit;

struct gp_jit_options {
	const char *program; /* path of gpgpu-jit to spawn, or NULL with @fd */
	int fd; /* connected SOCK_SEQPACKET to a gpgpu-jit, or -1; ownership passes */
	uint32_t cpu_seconds; /* per compile; 0: 2, for a GPU 20: all of the library is part of each program there */
	uint64_t memory; /* bytes of address space per compile; 0: 1 GiB */
	const char *
		target; /* with @program: a GPU, as "gfx1030" (amdgpu/generations.h) or "sm_90" (ptx_targets.h); NULL or "": this
			   machine */
};

/* gp_jit_new() - connect to or spawn the compiler. Return: NULL and @error set on failure. */
struct gp_jit *gp_jit_new(const struct gp_jit_options *options, GError **error);
void gp_jit_free(struct gp_jit *jit);

/*
 * gp_jit_no_respawn() - do not start the compiler again when it dies; call before entering a sandbox that
 * may not start programs.
 */
void gp_jit_no_respawn(struct gp_jit *jit);

struct gp_image {
	void *code; /* mapped read-execute; PTX: read-only */
	enum gp_image_kind kind;
	size_t map_bytes;
	uint32_t code_bytes;
	uint32_t entry; /* byte offset in @code: of gp_xdp_entry or gp_grid_entry; AMD: of the kernel descriptor; PTX: 0 */
	uint64_t compile_ns; /* wall time of the compile */
	uint64_t cpu_ns; /* CPU time it took; metered per VM */
	/* with GP_PROG_LINES */
	struct gp_line *lines; /* sorted by offset */
	uint32_t num_lines;
	uint32_t frame_bytes; /* of stack that the program's own functions take, at most */
	/* GPUs (PTX: scratch only): registers of a lane, scalar ones of a wave; how many values had to leave them; bytes of a lane, a group */
	uint32_t vgprs, sgprs, vgpr_spills, sgpr_spills, scratch_bytes, lds_bytes;
	int refs;
	struct gp_image *better; /* of the same program, made later, or NULL; gp_image_best() */
};

/* gp_image_best() - the best code that there is of what @image was made of. Any thread. */
static inline const struct gp_image *gp_image_best(const struct gp_image *image)
{
	const struct gp_image *better = __atomic_load_n(&image->better, __ATOMIC_ACQUIRE);

	return better ? better : image;
}

/* gp_image_bytes() - what it takes of memory, all versions. */
static inline size_t gp_image_bytes(const struct gp_image *image)
{
	const struct gp_image *best = gp_image_best(image);

	return image->map_bytes + (best != image ? best->map_bytes : 0);
}

/* gp_image_improve() - from now on @better runs in its place; once. The reference passes. */
void gp_image_improve(struct gp_image *image, struct gp_image *better);

/*
 * gp_jit_compile() - compile a validated program for the compiler's target.
 * @verdict: out: OK, or REJECTED / LIMIT with reason, instruction and message.
 *
 * Return: an image to be freed with gp_image_unref(), or NULL.
 */
struct gp_image *gp_jit_compile(struct gp_jit *jit, const struct gp_prog *prog, struct gp_verdict *verdict);

/* gp_jit_kernel() - likewise, what runs on a GPU and is no program's: GP_KERNEL_MAP_OPS, GP_KERNEL_COPY. */
struct gp_image *gp_jit_kernel(struct gp_jit *jit, enum gp_kernel kernel, struct gp_verdict *verdict);

struct gp_image *gp_image_ref(struct gp_image *image);
void gp_image_unref(struct gp_image *image);

/* For functions that call an image: UBSan looks for a function's type in front of it, where an image has none. */
#if defined(__clang__)
#define GP_CALLS_AN_IMAGE __attribute__((no_sanitize("function")))
#else
#define GP_CALLS_AN_IMAGE
#endif

/* gp_jit_stop() - wait for no answers any more, for the end of an engine. Any thread. */
void gp_jit_stop(struct gp_jit *jit);

/* gp_jit_pid() - the zygote's process id, or -1 when reached by descriptor. For tests. */
int gp_jit_pid(const struct gp_jit *jit);

#endif
