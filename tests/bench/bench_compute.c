/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_compute.c - the example kernels on one core: our compiler's code, the same in plain C, and PoCL.
 *
 *	bench_compute GPGPU-JIT OBJECTS [NAME...]
 *
 * How it works: each subject (bench_compute_kernels.c) is compiled by us as the CPU device would, with the engine's entry
 * point called here; by this program's compiler at -O3 for this machine, without contraction; and, where OpenCL is
 * there, by PoCL from the same algorithm in OpenCL C, on one thread. All three run on the same data in rounds that
 * alternate, on one core, and the best of each counts: other load only ever adds time. Results are compared before.
 *
 * Output: a table for people; `bench` puts it in its report.
 */
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench_compute.h"
#include "gpgpu.h"
#include "bpf/groups.h"
#include "jit/jit.h"
#include "rt/abi.h"

enum { ROUNDS = 7 };

static uint32_t no_stop;

void compute_die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("bench_compute: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double least(double a, double b)
{
	return a > 0 && a < b ? a : b;
}

/* --------------------------------------------------------------------------- ours */

struct ours {
	struct gpgpu_object *object;
	struct gp_image *image;
	struct gp_group_needs needs;
};

static struct ours ours_load(struct gp_jit *jit, const char *objects, const char *name)
{
	struct gpgpu_program_info info;
	struct gp_verdict verdict;
	struct gpgpu_program *prog;
	struct gp_prog p = { .kind = VIRTIO_GPGPU_PROG_GPGPU };
	struct ours o = { 0 };
	size_t count = 0;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", objects, name);
	if (gpgpu_object_open(path, &o.object))
		compute_die("%s", gpgpu_error_message());
	prog = gpgpu_object_program(o.object, name);
	if (!prog)
		compute_die("%s: no kernel", path);
	gpgpu_program_get_info(prog, &info);
	p.insns = gpgpu_program_insns(prog, &count);
	p.num_insns = (uint32_t)count;
	p.num_args = info.num_args;
	for (uint32_t i = 0; i < info.num_args; i++) {
		struct gpgpu_arg_info arg;

		gpgpu_program_arg(prog, i, &arg);
		p.arg_kind[i] = (uint8_t)arg.kind;
	}
	gp_group_find(p.insns, p.num_insns, &o.needs);
	o.image = gp_jit_compile(jit, &p, &verdict);
	if (!o.image)
		compute_die("%s: %s", name, verdict.message);
	return o;
}

GP_CALLS_AN_IMAGE
static void ours_run(const struct ours *o, const struct compute *c, uint8_t *const *buffers)
{
	static struct gp_group group;
	struct gp_thread thread = { .random = 1, .group = &group };
	struct gp_grid grid = { { c->grid[0], c->grid[1], 1 }, { c->group[0], c->group[1], 1 } };
	struct gp_region regions[COMPUTE_ARGS] = { 0 };
	uint64_t values[COMPUTE_ARGS] = { 0 }, items = (uint64_t)c->grid[0] * c->grid[1];
	struct gp_env env = { .args = regions,
			      .arg_values = values,
			      .num_args = c->num_args,
			      .fuel = 1ull << 40,
			      .stop = &no_stop,
			      .local_bytes = o->needs.local_bytes };
	void *code = (uint8_t *)o->image->code + o->image->entry;
	struct gp_faults faults = { 0 };
	gp_grid_entry *entry;

	for (uint32_t i = 0; i < c->num_args; i++) {
		regions[i] = (struct gp_region){ buffers[i], c->args[i].bytes, 1 };
		values[i] = c->args[i].value;
	}
	if (o->needs.any) {
		items /= (uint64_t)c->group[0] * c->group[1];
		thread.local = aligned_alloc(4096, GP_MAX_LOCAL);
	}
	memcpy(&entry, &code, sizeof(entry));
	if (entry(&env, &thread, &grid, 0, items, &faults) != items || faults.count)
		compute_die("%s: %lu faults, the first of reason %u at instruction %u", c->name,
			    (unsigned long)faults.count, faults.reason, faults.insn);
	free(thread.local);
}

/* ----------------------------------------------------------------------------- all */

struct set {
	uint8_t *buffers[COMPUTE_ARGS];
};

static struct set make_set(const struct compute *c)
{
	struct set s = { 0 };

	for (uint32_t i = 0; i < c->num_args; i++) {
		size_t bytes = (c->args[i].bytes + 4095) / 4096 * 4096;

		if (!bytes)
			continue;
		s.buffers[i] = aligned_alloc(4096, bytes);
		if (!s.buffers[i])
			compute_die("out of memory");
		memset(s.buffers[i], 0, bytes);
	}
	c->fill(s.buffers);
	return s;
}

static void free_set(struct set *s)
{
	for (int i = 0; i < COMPUTE_ARGS; i++)
		free(s->buffers[i]);
}

/* Relative to the larger one, and where both are small to 1e-3: what others contract differs in the last bits. */
static void compare(const struct compute *c, const struct set *a, const struct set *b, const char *who)
{
	for (uint32_t i = 0; i < c->num_args; i++) {
		const float *x = (const float *)(const void *)a->buffers[i],
			    *y = (const float *)(const void *)b->buffers[i];

		for (uint64_t k = 0; k < c->args[i].bytes / 4; k++) {
			float size = fmaxf(fmaxf(fabsf(x[k]), fabsf(y[k])), 1e-3f);
			bool same = c->counts ? !memcmp(&x[k], &y[k], 4) : fabsf(x[k] - y[k]) <= 1e-3f * size;

			if (!same)
				compute_die("%s: element %lu of argument %u is %g of ours and %g of %s",
					    c->name, (unsigned long)k, i, (double)x[k], (double)y[k], who);
		}
	}
}

struct times {
	double ours, twin, pocl;
};

static struct times measure(const struct compute *c, const struct ours *o, struct pocl *pocl)
{
	struct set ours = make_set(c), twin = make_set(c), theirs = make_set(c);
	struct times t = { 1e30, 1e30, 1e30 };
	struct pocl_kernel *kernel = pocl ? pocl_load(pocl, c, theirs.buffers) : NULL;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now();

		ours_run(o, c, ours.buffers);
		t.ours = least(now() - start, t.ours);
		start = now();
		c->twin(twin.buffers);
		t.twin = least(now() - start, t.twin);
		if (kernel)
			t.pocl = least(pocl_run(kernel), t.pocl);
		if (round)
			continue;
		compare(c, &ours, &twin, "plain C");
		if (kernel) {
			pocl_read(kernel, theirs.buffers);
			compare(c, &ours, &theirs, "PoCL");
		}
	}
	pocl_free(kernel);
	free_set(&ours);
	free_set(&twin);
	free_set(&theirs);
	return t;
}

static bool chosen(const char *name, int count, char **names)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return !count;
}

int main(int argc, char **argv)
{
	double from_twin = 1, from_pocl = 1;
	struct gp_jit_options options = { .fd = -1, .cpu_seconds = 20 };
	GError *error = NULL;
	struct gp_jit *jit;
	struct pocl *pocl;
	const char *why;
	cpu_set_t cpus;
	int count = 0;

	if (argc < 3)
		compute_die("usage: bench_compute GPGPU-JIT OBJECTS [NAME...]");
	options.program = argv[1];
	jit = gp_jit_new(&options, &error);
	if (!jit)
		compute_die("%s", error->message);
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	pocl = pocl_open(&why);
	if (!pocl)
		printf("PoCL left out: %s\n", why);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	printf("Milliseconds on one core, and how many times as fast ours is\n\n%-14s %9s %9s %9s | %7s %7s\n",
	       "kernel", "ours", "plain C", "PoCL", "plain C", "PoCL");
	for (const struct compute *c = compute_kernels; c->name; c++) {
		struct ours o;
		struct times t;

		if (!chosen(c->name, argc - 3, argv + 3))
			continue;
		o = ours_load(jit, argv[2], c->name);
		t = measure(c, &o, pocl);
		printf("%-14s %9.3f %9.3f", c->name, t.ours, t.twin);
		if (pocl)
			printf(" %9.3f | %7.2f %7.2f\n", t.pocl, t.twin / t.ours, t.pocl / t.ours);
		else
			printf(" %9s | %7.2f %7s\n", "-", t.twin / t.ours, "-");
		fflush(stdout);
		from_twin *= t.twin / t.ours;
		from_pocl *= t.pocl / t.ours;
		count++;
		gp_image_unref(o.image);
		gpgpu_object_close(o.object);
	}
	printf("%-14s %29s | %7.2f", "mean", "geometric", pow(from_twin, 1.0 / count));
	if (pocl)
		printf(" %7.2f", pow(from_pocl, 1.0 / count));
	putchar('\n');
	gp_jit_free(jit);
	return 0;
}
