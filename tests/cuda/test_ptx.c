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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <virtio_gpgpu.h>
#include "amdgpu/images.h"
#include "jit/jit.h"
#include "jit/ptx_targets.h"
#include "ptx_scan.h"

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

static struct ptx_scan scans[MAX_IMAGES]; /* of made[] */

static bool among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(names[i], name, strlen(names[i])) && name[strlen(names[i])] == ':')
			return true;
	return false;
}
#define AMONG(list, name) among(list, sizeof(list) / sizeof(*(list)), name)

static bool wanted(const struct program *program, const void *row)
{
	const struct expected *want = row;

	return getenv("GPGPU_EVERY_PROGRAM") ||
	       (want->every ? !AMONG(slow, program->name) : AMONG(few, program->name));
}

static void dump(const char *dir)
{
	char path[512];

	for (size_t i = 0; i < num_made; i++) {
		const struct made *m = &made[i];
		FILE *to;

		if (!m->image) {
			fprintf(stderr, "%s for %s: %s\n", image_name(m), m->target, m->verdict.message);
			continue;
		}
		printf("%-44s %-6s %8u bytes %7.1f ms, scratch %u, generic %u, functions %u\n", image_name(m),
		       m->target, m->image->code_bytes, (double)m->image->cpu_ns / 1e6,
		       m->image->scratch_bytes, scans[i].generic, scans[i].functions);
		snprintf(path, sizeof(path), "%s/%s-%s.ptx", dir, m->target, image_name(m));
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

START_TEST(all_compile)
{
	ck_assert_uint_ge(images_check(), 10 + 4 * NUM_EXPECTED);
}
END_TEST

/* What an image is (ptx_targets.h), and what the driver is told. */
START_TEST(images_are_text)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct expected *row = made[i].row;
		const struct gp_image *image = made[i].image;
		const struct ptx_scan *scan = &scans[i];
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
		ck_assert_str_eq(scan->target, made[i].target);
		/* 6.3 is what we need ourselves. */
		ck_assert_uint_eq(scan->version, row->since > 63 ? row->since : 63);
		ck_assert_ptr_nonnull(strstr(image->code, ".address_size 64\n"));
		ck_assert_uint_eq(scan->kernels, 1);
		snprintf(want, sizeof(want), kernel, sizeof(struct gp_launch));
		ck_assert_ptr_nonnull(strstr(image->code, want));
		ck_assert_msg(!scan->undefined, "%s for %s calls %s", image_name(&made[i]), made[i].target,
			      scan->first[PTX_UNDEFINED]);
		ck_assert_uint_eq(image->scratch_bytes, scan->local_bytes);
	}
}
END_TEST

/* Nothing but registers: fuel, the lane and the program's stack among them, and no call that needs a stack. */
START_TEST(stacks_stay_in_registers)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct ptx_scan *scan = &scans[i];

		if (!made[i].image || !made[i].program || AMONG(large, made[i].program->name))
			continue;
		ck_assert_msg(!scan->local_bytes, "%s for %s: %s", image_name(&made[i]), made[i].target,
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
		ck_assert_msg(packets || !scans[i].generic, "%s for %s: %u accesses to just anywhere: %s",
			      image_name(m), m->target, scans[i].generic, scans[i].first[PTX_GENERIC]);
		ck_assert_msg(!packets || scans[i].global, "%s for %s: no map is known to be global memory",
			      image_name(m), m->target);
		/* A piece of a packet is moved at once. */
		ck_assert(!packets || strstr(m->image->code, "ld.global.v4.u32"));
	}
}
END_TEST

/* Orders and scopes are said, and the scope is the card; but where the host has its say. */
START_TEST(scopes_are_the_card)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct ptx_scan *scan = &scans[i];

		if (!made[i].image || !made[i].program)
			continue;
		ck_assert_msg(!scan->scopeless, "%s for %s: %s", image_name(&made[i]), made[i].target,
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
		const struct ptx_scan *scan = &scans[i];

		if (!made[i].image)
			continue;
		ck_assert_msg(!scan->inexact, "%s for %s: %s", image_name(&made[i]), made[i].target,
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
		ck_assert_msg(!scans[i].bytes, "%s for %s: %u accesses to bytes", image_name(&made[i]),
			      made[i].target, scans[i].bytes);
	}
	ck_assert_uint_ge(found, 1);
}
END_TEST

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
	images_read(argc, argv);
	if (!num_programs || !getenv("GPGPU_JIT")) {
		fprintf(stderr, "usage: GPGPU_JIT=... test_ptx [--dump DIR] OBJECT...\n");
		return 1;
	}
	for (size_t e = 0; e < NUM_EXPECTED; e++)
		images_plan(expected[e].name, &expected[e], wanted);
	images_compile();
	for (size_t i = 0; i < num_made; i++)
		if (made[i].image)
			ptx_scan(made[i].image, &scans[i]);
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
	images_free();
	return failed != 0;
}
