/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fibers.h - a job's items interleaved on one thread, by a seed, so that tests meet races at will.
 */
#ifndef GPGPU_FIBERS_H
#define GPGPU_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

#define GP_FIBERS 64 /* items that are under way at once; also the CPUs that programs see then */

struct gp_fibers;
struct gp_job;
struct gp_chunk;
struct gp_env;

/* gp_fibers_new() - with their stacks; before a sandbox. Return: NULL without memory. */
struct gp_fibers *gp_fibers_new(uint64_t seed);
void gp_fibers_free(struct gp_fibers *fibers);

struct gpgpu_engine;

/* gp_fibers_ready_groups() - give each the memory that group programs need. Return: false without it. */
bool gp_fibers_ready_groups(struct gp_fibers *fibers, struct gpgpu_engine *engine);
void gp_fibers_free_groups(struct gp_fibers *fibers, struct gpgpu_engine *engine);

/*
 * gp_fibers_run() - run @chunk of @job, which must be all that is left of it, on the calling thread.
 * @env: as the items see it, but for `yield`.
 */
void gp_fibers_run(struct gp_fibers *fibers, struct gp_job *job, struct gp_chunk *chunk,
		   const struct gp_env *env);

#endif
