// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_ptx.c - code for NVIDIA GPUs, looked at: every example, the kernels that are no program's, for every row of the
 * table, as text.
 *
 * There is no assembler here and none is needed: what is looked for are the ways in which code for such a GPU has been
 * slow or wrong elsewhere (ptx_scan.h). What a row's text is to say is written here from the PTX ISA's table of targets,
 * not from our table. By hand, --dump DIR writes each image to DIR/TARGET-PROGRAM.ptx, for an assembler.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "amdgpu/programs.h"
#include "bpf/groups.h"
#include "jit/jit.h"
#include "jit/ptx_targets.h"
#include "ptx_scan.h"

#define MAX_PROGRAMS 64
#define MAX_IMAGES   (MAX_PROGRAMS * 8)

/* PTX ISA 8.5, directives .version and .target: the processor is known from this version on. */
static const struct expected {
	const char *name;
	uint32_t major, minor;
	unsigned int since; /* PTX version, times 10 */
	bool every; /* all examples are compiled for it; for others a few */
} expected[] = {
	{ "sm_70", 7, 0, 60, false }, { "sm_72", 7, 2, 61, false }, { "sm_75", 7, 5, 63, false },
	{ "sm_80", 8, 0, 70, false }, { "sm_86", 8, 6, 71, false }, { "sm_87", 8, 7, 74, false },
	{ "sm_89", 8, 9, 78, false }, { "sm_90", 9, 0, 78, true },
};
#define NUM_EXPECTED (sizeof(expected) / sizeof(*expected))

/* What takes seconds to compile; where GPGPU_EVERY_PROGRAM is set. */
static const char *const slow[] = { "xdp_katran", "xdp_nat64" };

/* What is compiled for every row: between them they have all that differs between instruction sets. */
static const char *const few[] = { "xdp_lb", "saxpy" };

/* What may have a stack in memory: it reaches its stack, a map's value and the packet through one pointer. */
static const char *const large[] = { "xdp_nat64" };

/* What has loops that its fuel ends. */
static const char *const loops[] = { "mandelbrot", "matmul" };

/* Whose data are words, all of them. */
static const char *const aligned[] = { "saxpy", "matmul" };

static struct program programs[MAX_PROGRAMS];
static size_t num_programs;

struct made {
	const struct expected *want;
	const struct program *program; /* NULL: a kernel that is no program's */
	enum gp_kernel kernel;
	struct gp_image *image;
	struct gp_verdict verdict;
	struct ptx_scan scan;
};
static struct made made[MAX_IMAGES];
static size_t num_made;

static bool among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(names[i], name, strlen(names[i])) && name[strlen(names[i])] == ':')
			return true;
	return false;
}
#define AMONG(list, name) among(list, sizeof(list) / sizeof(*(list)), name)

static const char *name_of(const struct made *m)
{
	return m->program ? m->program->name : m->kernel == GP_KERNEL_COPY ? "(copies)" : "(map operations)";
}

/* ---------------------------------------------------------------- compiling */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t next;

static void plan(void)
{
	bool all = getenv("GPGPU_EVERY_PROGRAM");

	for (size_t e = 0; e < NUM_EXPECTED; e++) {
		for (size_t p = 0; p < num_programs; p++)
			if (all || (expected[e].every ? !AMONG(slow, programs[p].name)
						      : AMONG(few, programs[p].name)))
				made[num_made++] =
					(struct made){ .want = &expected[e], .program = &programs[p] };
		for (int k = GP_KERNEL_MAP_OPS; k <= GP_KERNEL_COPY; k++)
			made[num_made++] = (struct made){ .want = &expected[e], .kernel = (enum gp_kernel)k };
	}
}

static void *compile_some(void *opaque)
{
	const struct expected *want = NULL;
	struct gp_jit *jit = NULL;

	for (;;) {
		struct made *m = NULL;

		pthread_mutex_lock(&lock);
		if (next < num_made)
			m = &made[next++];
		pthread_mutex_unlock(&lock);
		if (!m)
			break;
		if (m->want != want) {
			struct gp_jit_options options = { .program = getenv("GPGPU_JIT"),
							  .fd = -1,
							  .cpu_seconds = 120,
							  .memory = 2ull << 30,
							  .target = m->want->name };

			gp_jit_free(jit);
			want = m->want;
			jit = gp_jit_new(&options, NULL);
			if (!jit)
				abort();
		}
		m->image = m->program ? gp_jit_compile(jit, &m->program->prog, &m->verdict)
				      : gp_jit_kernel(jit, m->kernel, &m->verdict);
		if (m->image)
			ptx_scan(m->image, &m->scan);
	}
	gp_jit_free(jit);
	return NULL;
}

static void compile_all(void)
{
	pthread_t thread;

	plan();
	if (pthread_create(&thread, NULL, compile_some, NULL))
		abort();
	compile_some(NULL);
	pthread_join(thread, NULL);
}

static void dump(const char *dir)
{
	char path[512];

	for (size_t i = 0; i < num_made; i++) {
		const struct made *m = &made[i];
		FILE *to;

		if (!m->image) {
			fprintf(stderr, "%s for %s: %s\n", name_of(m), m->want->name, m->verdict.message);
			continue;
		}
		printf("%-44s %-6s %8u bytes %7.1f ms, scratch %u, generic %u, functions %u\n", name_of(m),
		       m->want->name, m->image->code_bytes, (double)m->image->cpu_ns / 1e6,
		       m->image->scratch_bytes, m->scan.generic, m->scan.functions);
		snprintf(path, sizeof(path), "%s/%s-%s.ptx", dir, m->want->name, name_of(m));
		to = fopen(path, "w");
		if (!to || fwrite(m->image->code, m->image->code_bytes - 1, 1, to) != 1 || fclose(to))
			perror(path);
	}
}

/* ------------------------------------------------------------------- tests */

START_TEST(table_is_whole)
{
	size_t count;
	const struct gp_ptx_target *targets = gp_ptx_targets(&count);

	ck_assert_uint_eq(count, NUM_EXPECTED);
	for (size_t i = 0; i < count; i++) {
		const struct expected *want = &expected[i];

		ck_assert_str_eq(targets[i].name, want->name);
		ck_assert_uint_eq(targets[i].major, want->major);
		ck_assert_uint_eq(targets[i].minor, want->minor);
		ck_assert_ptr_eq(gp_ptx_target_find(want->name), &targets[i]);
		ck_assert_ptr_eq(gp_ptx_target_for(want->major, want->minor), &targets[i]);
	}
	ck_assert_ptr_null(gp_ptx_target_find("sm_60"));
	ck_assert_ptr_null(gp_ptx_target_find("gfx900"));
	ck_assert_ptr_null(gp_ptx_target_for(6, 9));
	/* In between, and newer than all. */
	ck_assert_str_eq(gp_ptx_target_for(7, 3)->name, "sm_72");
	ck_assert_str_eq(gp_ptx_target_for(8, 8)->name, "sm_87");
	ck_assert_str_eq(gp_ptx_target_for(9, 1)->name, "sm_90");
	ck_assert_str_eq(gp_ptx_target_for(12, 0)->name, "sm_90");
}
END_TEST

/* Whether it needs its group's other items, which is not built for GPUs. */
static bool is_grouped(const struct program *program)
{
	struct gp_group_needs needs = { 0 };

	if (program)
		gp_group_find(program->prog.insns, program->prog.num_insns, &needs);
	return needs.any;
}

START_TEST(all_compile)
{
	size_t compiled = 0;

	for (size_t i = 0; i < num_made; i++) {
		if (is_grouped(made[i].program)) {
			ck_assert_ptr_null(made[i].image);
			ck_assert_ptr_nonnull(strstr(made[i].verdict.message, "not built for GPUs"));
			continue;
		}
		compiled++;
		ck_assert_msg(made[i].image, "%s for %s: %s", name_of(&made[i]), made[i].want->name,
			      made[i].verdict.message);
	}
	ck_assert_uint_ge(compiled, 10 + 4 * NUM_EXPECTED);
}
END_TEST

/* What an image is (ptx_targets.h), and what the driver is told. */
START_TEST(images_are_text)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct gp_image *image = made[i].image;
		const struct ptx_scan *scan = &made[i].scan;
		static const char kernel[] = ".visible .entry gp_kernel(\n"
					     "\t.param .u64 gp_kernel_param_0,\n"
					     "\t.param .align 8 .b8 gp_kernel_param_1[%zu]\n"
					     ")\n"
					     ".maxntid 128, 1, 1\n";
		char want[256];

		if (!image)
			continue;
		ck_assert_int_eq(image->kind, GP_IMAGE_PTX);
		ck_assert_uint_eq(image->entry, 0);
		ck_assert_uint_eq(strlen(image->code) + 1, image->code_bytes);
		ck_assert_str_eq(scan->target, made[i].want->name);
		/* 6.3 is what we need ourselves. */
		ck_assert_uint_eq(scan->version, made[i].want->since > 63 ? made[i].want->since : 63);
		ck_assert_ptr_nonnull(strstr(image->code, ".address_size 64\n"));
		ck_assert_uint_eq(scan->kernels, 1);
		snprintf(want, sizeof(want), kernel, sizeof(struct gp_launch));
		ck_assert_ptr_nonnull(strstr(image->code, want));
		ck_assert_msg(!scan->undefined, "%s for %s calls %s", name_of(&made[i]), made[i].want->name,
			      scan->first[PTX_UNDEFINED]);
		ck_assert_uint_eq(image->scratch_bytes, scan->local_bytes);
	}
}
END_TEST

/* Nothing but registers: fuel, the lane and the program's stack among them, and no call that needs a stack. */
START_TEST(stacks_stay_in_registers)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct ptx_scan *scan = &made[i].scan;

		if (!made[i].image || !made[i].program || AMONG(large, made[i].program->name))
			continue;
		ck_assert_msg(!scan->local_bytes, "%s for %s: %s", name_of(&made[i]), made[i].want->name,
			      scan->first[PTX_LOCAL]);
		ck_assert_uint_eq(scan->functions, 0);
	}
}
END_TEST

/* Packets may be where they are or among what the group shares (rt/slots.h); nothing else may be just anywhere. */
START_TEST(spaces_are_known)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct made *m = &made[i];
		bool packets = m->program && m->program->prog.kind == VIRTIO_GPGPU_PROG_XDP;

		if (!m->image || !m->program || AMONG(large, m->program->name))
			continue;
		ck_assert_uint_eq(m->image->lds_bytes, packets ? GP_PTX_MAX_GROUP * (128 + 4) : 0);
		ck_assert_msg(packets || !m->scan.generic, "%s for %s: %u accesses to just anywhere: %s",
			      name_of(m), m->want->name, m->scan.generic, m->scan.first[PTX_GENERIC]);
		ck_assert_msg(!packets || m->scan.global, "%s for %s: no map is known to be global memory",
			      name_of(m), m->want->name);
		/* A piece of a packet is moved at once. */
		ck_assert(!packets || strstr(m->image->code, "ld.global.v4.u32"));
	}
}
END_TEST

/* Orders and scopes are said, and the scope is the card; but where the host has its say. */
START_TEST(scopes_are_the_card)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct ptx_scan *scan = &made[i].scan;

		if (!made[i].image || !made[i].program)
			continue;
		ck_assert_msg(!scan->scopeless, "%s for %s: %s", name_of(&made[i]), made[i].want->name,
			      scan->first[PTX_SCOPELESS]);
		/* The stop word is read when a lane begins, and where its fuel comes to an end. */
		ck_assert_uint_ge(scan->system, 1);
		if (AMONG(loops, made[i].program->name)) {
			ck_assert_uint_ge(scan->loops, 1);
			ck_assert_uint_ge(scan->system, 2);
		}
	}
}
END_TEST

START_TEST(floats_are_exact)
{
	size_t with_floats = 0;

	for (size_t i = 0; i < num_made; i++) {
		const struct ptx_scan *scan = &made[i].scan;

		if (!made[i].image)
			continue;
		ck_assert_msg(!scan->inexact, "%s for %s: %s", name_of(&made[i]), made[i].want->name,
			      scan->first[PTX_INEXACT]);
		with_floats += scan->exact > 0;
	}
	ck_assert_uint_ge(with_floats, NUM_EXPECTED);
}
END_TEST

/* What an access is known to be aligned to is made use of: these have none that is not. */
START_TEST(words_stay_whole)
{
	size_t found = 0;

	for (size_t i = 0; i < num_made; i++) {
		if (!made[i].image || !made[i].program || !AMONG(aligned, made[i].program->name))
			continue;
		found++;
		ck_assert_msg(!made[i].scan.bytes, "%s for %s: %u accesses to bytes", name_of(&made[i]),
			      made[i].want->name, made[i].scan.bytes);
	}
	ck_assert_uint_ge(found, 1);
}
END_TEST

static void read_programs(int argc, char **argv)
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

int main(int argc, char **argv)
{
	Suite *suite = suite_create("ptx");
	TCase *tc = tcase_create("ptx");
	const char *to = NULL;
	SRunner *runner;
	int failed;

	if (argc > 2 && !strcmp(argv[1], "--dump")) {
		to = argv[2];
		argc -= 2;
		argv += 2;
	}
	read_programs(argc, argv);
	if (!num_programs || !getenv("GPGPU_JIT")) {
		fprintf(stderr, "usage: GPGPU_JIT=... test_ptx [--dump DIR] OBJECT...\n");
		return 1;
	}
	compile_all();
	if (to)
		dump(to);
	tcase_set_timeout(tc, 0);
	tcase_add_test(tc, table_is_whole);
	tcase_add_test(tc, all_compile);
	tcase_add_test(tc, images_are_text);
	tcase_add_test(tc, stacks_stay_in_registers);
	tcase_add_test(tc, spaces_are_known);
	tcase_add_test(tc, scopes_are_the_card);
	tcase_add_test(tc, floats_are_exact);
	tcase_add_test(tc, words_stay_whole);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	for (size_t i = 0; i < num_made; i++)
		gp_image_unref(made[i].image);
	for (size_t i = 0; i < num_programs; i++) {
		free((void *)programs[i].prog.insns);
		free((void *)programs[i].prog.maps);
	}
	return failed != 0;
}
