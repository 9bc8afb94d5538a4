// SPDX-License-Identifier: BSD-3-Clause
/*
 * images.c - what images.h says.
 *
 * Two threads, each with a compiler for one target, take what is planned in its order, so that one compiler
 * makes most of what there is for a target.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/groups.h"
#include "images.h"

#define MAX_PROGRAMS 64

static struct program programs[MAX_PROGRAMS];
size_t num_programs;

struct made made[MAX_IMAGES];
size_t num_made;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t next;

void images_read(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t count;
		struct program *read = programs_read(argv[i], &count);

		for (size_t p = 0; p < count; p++) {
			if (num_programs == MAX_PROGRAMS)
				abort();
			programs[num_programs++] = read[p];
		}
		free(read);
	}
}

static void add(struct made one)
{
	if (num_made == MAX_IMAGES)
		abort();
	made[num_made++] = one;
}

void images_plan(const char *target, const void *row,
		 bool (*wanted)(const struct program *program, const void *row))
{
	for (size_t p = 0; p < num_programs; p++)
		if (wanted(&programs[p], row))
			add((struct made){ .target = target, .row = row, .program = &programs[p] });
	for (int k = GP_KERNEL_MAP_OPS; k <= GP_KERNEL_COPY; k++)
		add((struct made){ .target = target, .row = row, .kernel = (enum gp_kernel)k });
}

static void *compile_some(void *opaque)
{
	const char *target = NULL;
	struct gp_jit *jit = NULL;

	for (;;) {
		struct made *m = NULL;

		pthread_mutex_lock(&lock);
		if (next < num_made)
			m = &made[next++];
		pthread_mutex_unlock(&lock);
		if (!m)
			break;
		if (m->target != target) {
			struct gp_jit_options options = { .program = getenv("GPGPU_JIT"),
							  .fd = -1,
							  .cpu_seconds = 120,
							  .memory = 2ull << 30,
							  .target = m->target };

			gp_jit_free(jit);
			target = m->target;
			jit = gp_jit_new(&options, NULL);
			if (!jit)
				abort();
		}
		m->image = m->program ? gp_jit_compile(jit, &m->program->prog, &m->verdict)
				      : gp_jit_kernel(jit, m->kernel, &m->verdict);
	}
	gp_jit_free(jit);
	return NULL;
}

void images_compile(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, compile_some, NULL))
		abort();
	compile_some(NULL);
	pthread_join(thread, NULL);
}

const char *image_name(const struct made *m)
{
	return m->program ? m->program->name : m->kernel == GP_KERNEL_COPY ? "(copies)" : "(map operations)";
}

static bool is_grouped(const struct program *program)
{
	struct gp_group_needs needs = { 0 };

	if (program)
		gp_group_find(program->prog.insns, program->prog.num_insns, &needs);
	return needs.any;
}

size_t images_check(void)
{
	size_t compiled = 0;

	for (size_t i = 0; i < num_made; i++) {
		if (is_grouped(made[i].program)) {
			ck_assert_ptr_null(made[i].image);
			ck_assert_ptr_nonnull(strstr(made[i].verdict.message, "not built for GPUs"));
			continue;
		}
		compiled++;
		ck_assert_msg(made[i].image, "%s for %s: %s", image_name(&made[i]), made[i].target,
			      made[i].verdict.message);
	}
	return compiled;
}

void images_free(void)
{
	for (size_t i = 0; i < num_made; i++)
		gp_image_unref(made[i].image);
	for (size_t i = 0; i < num_programs; i++) {
		free((void *)programs[i].prog.insns);
		free((void *)programs[i].prog.maps);
	}
}
