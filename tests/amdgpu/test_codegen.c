// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_codegen.c - code for every generation of the table, looked at: kernel descriptors, what programs take, and which
 * instructions they are made of.
 *
 * What a descriptor is to hold is written here from AMDGPUUsage.rst ("Kernel Descriptor", "Initial Kernel Execution
 * State"), not from our table. What programs take is kept from growing by cost.txt beside this (GPGPU_COST names it), which
 * this program writes with --write. The examples are arguments.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "images.h"
#include "isa.h"
#include "listing.h"

/* By AMDGPUUsage.rst: waves of our choice, how scratch is reached, what the descriptor's words say. */
static const struct expected {
	const char *name;
	bool wave32;
	bool architected; /* scratch needs no user registers; else a kernel gets its descriptor in four */
	bool gfx12; /* no DX10_CLAMP, no IEEE_MODE */
	bool user_15; /* of a chip that wants 15 user registers (LLVM: FeatureUserSGPRInit16Bug) */
	uint32_t vgpr_granule;
	bool every; /* all examples are compiled for it; for others the smaller ones */
} expected[] = {
	{ "gfx900", .vgpr_granule = 4, .every = true },
	{ "gfx906", .vgpr_granule = 4 },
	{ "gfx908", .vgpr_granule = 4 },
	{ "gfx90a", .vgpr_granule = 8 },
	{ "gfx942", .architected = true, .vgpr_granule = 8 },
	{ "gfx1010", .wave32 = true, .vgpr_granule = 8 },
	{ "gfx1030", .wave32 = true, .vgpr_granule = 8, .every = true },
	{ "gfx1100", .wave32 = true, .architected = true, .user_15 = true, .vgpr_granule = 8, .every = true },
	{ "gfx1101", .wave32 = true, .architected = true, .vgpr_granule = 8 },
	{ "gfx1102", .wave32 = true, .architected = true, .user_15 = true, .vgpr_granule = 8 },
	{ "gfx1200", .wave32 = true, .architected = true, .gfx12 = true, .vgpr_granule = 8 },
	{ "gfx1201", .wave32 = true, .architected = true, .gfx12 = true, .vgpr_granule = 8 },
};
#define NUM_EXPECTED (sizeof(expected) / sizeof(*expected))

/*
 * Instructions of the largest programs that are compiled for every generation: those that are larger take most of the time,
 * and the generations beside those of `every` are their relatives. GPGPU_EVERY_PROGRAM: all for all.
 */
#define SMALL_INSNS 600

static bool wanted(const struct program *program, const void *row)
{
	const struct expected *want = row;

	return want->every || getenv("GPGPU_EVERY_PROGRAM") || program->prog.num_insns <= SMALL_INSNS;
}

static const struct gp_generation *generation_of(const struct made *m)
{
	return gp_generation_find(m->target);
}

/* ------------------------------------------------------------------- tests */

static uint32_t word(const struct gp_image *image, uint32_t at)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)image->code + image->entry + at, sizeof(v));
	return v;
}

START_TEST(table_is_whole)
{
	size_t count;
	const struct gp_generation *gens = gp_generations(&count);

	ck_assert_uint_eq(count, NUM_EXPECTED);
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(gens[i].name, expected[i].name);
		ck_assert_uint_eq(gens[i].wave, expected[i].wave32 ? 32 : 64);
		ck_assert_uint_eq(gens[i].vgpr_code, expected[i].vgpr_granule);
	}
}
END_TEST

START_TEST(all_compile)
{
	ck_assert_uint_ge(images_check(), 12 * NUM_EXPECTED);
}
END_TEST

/* Bytes 0.. of a descriptor, all of them. */
START_TEST(descriptors)
{
	for (size_t i = 0; i < num_made; i++) {
		const struct made *m = &made[i];
		const struct expected *want = m->row;
		const struct gp_generation *gen = generation_of(m);
		const struct gp_image *image = m->image;
		uint32_t rsrc1, rsrc2, user, properties;
		int64_t code;

		if (!image)
			continue;
		ck_assert_uint_eq(image->entry % 64, 0);
		ck_assert_uint_le(image->entry + 64, image->code_bytes);
		ck_assert_uint_eq(word(image, 0), 0); /* no local memory */
		ck_assert_uint_eq(word(image, 4), image->scratch_bytes);
		ck_assert_uint_eq(word(image, 8), 8); /* the address of the launch */
		memcpy(&code, (const uint8_t *)image->code + image->entry + 16, sizeof(code));
		/* Code is what the image begins with, in one function but for the map operations. */
		code += image->entry;
		if (m->program || m->kernel != GP_KERNEL_MAP_OPS)
			ck_assert_int_eq(code, 0);
		ck_assert(code >= 0 && code < image->entry && code % 256 == 0);
		for (uint32_t at = 24; at < 44; at += 4)
			ck_assert_uint_eq(word(image, at), 0);
		ck_assert_uint_eq(word(image, 12), 0);
		ck_assert_uint_eq(word(image, 60), 0);

		rsrc1 = word(image, 48);
		/* Denormals are kept, rounding is to nearest; nothing privileged, no debugging, no priority. */
		ck_assert_uint_eq(rsrc1 >> 12 & 0xff, 0xf0);
		ck_assert_uint_eq(rsrc1 & (3u << 10 | 1u << 20 | 1u << 22 | 1u << 24 | 1u << 25 | 1u << 26 |
					   3u << 27),
				  0);
		ck_assert_uint_eq(rsrc1 >> 21 & 1, !want->gfx12);
		ck_assert_uint_eq(rsrc1 >> 23 & 1, !want->gfx12);
		ck_assert_uint_eq(rsrc1 >> 29 & 3, want->wave32 ? 3 : 0); /* WGP_MODE, MEM_ORDERED */
		ck_assert_uint_ge(((rsrc1 & 0x3f) + 1) * want->vgpr_granule, image->vgprs);
		ck_assert_uint_lt((rsrc1 & 0x3f) * want->vgpr_granule, image->vgprs ? image->vgprs : 1);
		if (want->wave32)
			ck_assert_uint_eq(rsrc1 >> 6 & 0xf, 0);
		else
			ck_assert_uint_ge(((rsrc1 >> 6 & 0xf) + 1) * 8, image->sgprs);

		properties = word(image, 56) & 0xffff;
		ck_assert_uint_eq(word(image, 56) >> 16, 0); /* nothing preloaded */
		ck_assert_uint_eq(properties >> 10 & 1, want->wave32);
		ck_assert_uint_eq(properties >> 3 & 1, 1);
		ck_assert_uint_eq(properties & 1, !want->architected);
		ck_assert_uint_eq(properties & ~(1u << 10 | 1u << 3 | 1u | 1u << 5), 0);
		if (!image->scratch_bytes || want->architected)
			ck_assert_uint_eq(properties & 1u << 5, 0);

		rsrc2 = word(image, 52);
		user = (properties & 1 ? 4 : 0) + 2 + (properties & 1u << 5 ? 2 : 0);
		ck_assert_uint_eq(rsrc2 & 1, image->scratch_bytes != 0);
		ck_assert_uint_eq(rsrc2 >> 1 & 0x1f, want->user_15 ? 15 : user);
		ck_assert_uint_eq(rsrc2 >> 6, 1u << 1); /* the group's x, nothing else */

		ck_assert_uint_eq(rsrc1 & ~gen->rsrc1, 0);
		ck_assert_uint_eq(rsrc2 & ~gen->rsrc2, 0);
		ck_assert_uint_eq(word(image, 44) & ~gen->rsrc3, 0);
		ck_assert_uint_eq(properties & ~(uint32_t)gen->properties, 0);
	}
}
END_TEST

START_TEST(stacks_stay_in_registers)
{
	for (size_t i = 0; i < num_made; i++)
		if (made[i].image && made[i].program)
			ck_assert_msg(!made[i].image->scratch_bytes, "%s for %s: %u bytes of scratch",
				      image_name(&made[i]), made[i].target, made[i].image->scratch_bytes);
}
END_TEST

/* Instructions that find out for each lane whether it means scratch. */
START_TEST(spaces_are_known)
{
	for (size_t i = 0; i < num_made; i++) {
		struct listing_line *lines;
		size_t count;

		if (!made[i].image || !made[i].program)
			continue;
		lines = listing_make(made[i].image, generation_of(&made[i]), &count);
		for (size_t l = 0; l < count; l++)
			ck_assert_msg(strncmp(lines[l].text, "flat_", 5) && strcmp(lines[l].text, "?"),
				      "%s for %s at %#x: %s", image_name(&made[i]), made[i].target,
				      lines[l].at, lines[l].text);
		ck_assert_uint_gt(count, 20);
		free(lines);
	}
}
END_TEST

/* ------------------------------------------------------------------- simulator */

static int simulated(const char *name)
{
	static const char *const names[] = { [SIM_GFX900] = "gfx900",
					     [SIM_GFX906] = "gfx906",
					     [SIM_GFX908] = "gfx908",
					     [SIM_GFX90A] = "gfx90a",
					     [SIM_GFX1030] = "gfx1030" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

/* Whether the line is what our decoder makes of its bytes too, and an instruction that runs. */
static bool agrees(const struct made *m, enum sim_gfx gfx, const struct listing_line *line)
{
	const uint8_t *code = (const uint8_t *)m->image->code + line->at;
	uint32_t size = m->image->entry - line->at;
	char text[256] = "nothing";
	uint32_t n = sim_disassemble(gfx, code, size, line->at, text, sizeof(text));
	bool runs = sim_executes(gfx, code, size);

	if (n && !strcmp(text, line->text) && runs)
		return true;
	fprintf(stderr, "%s for %s at %#x: '%s', the simulator's '%s'%s\n", image_name(m), m->target,
		line->at, line->text, text, runs ? "" : ", which it does not execute");
	return false;
}

/* Every instruction that programs are made of, to LLVM's disassembler and to the simulator's, line by line. */
START_TEST(simulator_agrees)
{
	unsigned int wrong = 0;
	size_t total = 0;

	for (size_t i = 0; i < num_made; i++) {
		int gfx = simulated(made[i].target);
		struct listing_line *lines;
		size_t count;

		if (!made[i].image || gfx < 0)
			continue;
		lines = listing_make(made[i].image, generation_of(&made[i]), &count);
		for (size_t l = 0; l < count && wrong < 20; l++)
			wrong += !agrees(&made[i], (enum sim_gfx)gfx, &lines[l]);
		total += count;
		free(lines);
	}
	printf("%zu instructions, %u not alike\n", total, wrong);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_uint_gt(total, 20000);
}
END_TEST

/* ------------------------------------------------------------------- cost */

/* Code may grow by so much without anybody noticing: LLVM's versions differ. */
#define SLACK_PERCENT 3

struct cost {
	char program[64], target[16];
	unsigned int vgprs, scratch, bytes;
};

static size_t read_costs(struct cost *costs, size_t room)
{
	FILE *file = fopen(getenv("GPGPU_COST"), "r");
	char line[256];
	size_t n = 0;

	ck_assert_ptr_nonnull(file);
	while (n < room && fgets(line, sizeof(line), file))
		n += sscanf(line, "%63s %15s %u %u %u", costs[n].program, costs[n].target, &costs[n].vgprs,
			    &costs[n].scratch, &costs[n].bytes) == 5;
	fclose(file);
	return n;
}

START_TEST(nothing_grows)
{
	static struct cost costs[MAX_IMAGES];
	size_t count = read_costs(costs, MAX_IMAGES), found = 0;

	for (size_t i = 0; i < num_made; i++) {
		const struct gp_image *image = made[i].image;

		if (!image || !made[i].program)
			continue;
		for (size_t c = 0; c < count; c++) {
			const struct cost *cost = &costs[c];

			if (strcmp(cost->program, made[i].program->name) ||
			    strcmp(cost->target, made[i].target))
				continue;
			found++;
			ck_assert_msg(image->vgprs <= cost->vgprs + cost->vgprs * SLACK_PERCENT / 100 &&
					      image->scratch_bytes <=
						      cost->scratch + cost->scratch * SLACK_PERCENT / 100 &&
					      image->code_bytes <=
						      cost->bytes + cost->bytes * SLACK_PERCENT / 100,
				      "%s for %s: %u VGPRs (%u), %u bytes of scratch (%u), %u of code (%u)",
				      cost->program, cost->target, image->vgprs, cost->vgprs,
				      image->scratch_bytes, cost->scratch, image->code_bytes, cost->bytes);
		}
	}
	/* A program without a row would be kept by nothing. */
	for (size_t i = 0; i < num_made; i++)
		found -= made[i].image && made[i].program;
	if (!getenv("GPGPU_EVERY_PROGRAM"))
		ck_assert_uint_eq(found, 0);
}
END_TEST

static int write_costs(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return 1;
	fprintf(file,
		"# SPDX-License-Identifier: BSD-3-Clause\n"
		"# What programs take, at most: program, target, VGPRs, bytes of scratch, bytes of code; and the waves of "
		"a SIMD that the\n# VGPRs leave room for. Written by test_codegen --write FILE OBJECT...\n");
	for (size_t i = 0; i < num_made; i++)
		if (made[i].image && made[i].program)
			fprintf(file, "%-24s %-8s %4u %4u %6u %3u\n", made[i].program->name, made[i].target,
				made[i].image->vgprs, made[i].image->scratch_bytes, made[i].image->code_bytes,
				gp_generation_waves(generation_of(&made[i]), made[i].image->vgprs));
	return fclose(file) != 0;
}

int main(int argc, char **argv)
{
	Suite *suite = suite_create("amdgpu codegen");
	TCase *tc = tcase_create("codegen");
	const char *table = NULL;
	SRunner *runner;
	int failed;

	if (argc > 2 && !strcmp(argv[1], "--write")) {
		table = argv[2];
		argc -= 2;
		argv += 2;
	}
	images_read(argc, argv);
	if (num_programs < 5) {
		fprintf(stderr, "usage: test_codegen [--write FILE] OBJECT...\n");
		return 1;
	}
	for (size_t e = 0; e < NUM_EXPECTED; e++)
		images_plan(expected[e].name, &expected[e], wanted);
	images_compile();
	if (table && (write_costs(table) || setenv("GPGPU_COST", table, 1)))
		return 1;
	tcase_set_timeout(tc, 0);
	tcase_add_test(tc, table_is_whole);
	tcase_add_test(tc, all_compile);
	tcase_add_test(tc, descriptors);
	tcase_add_test(tc, stacks_stay_in_registers);
	tcase_add_test(tc, spaces_are_known);
	tcase_add_test(tc, simulator_agrees);
	tcase_add_test(tc, nothing_grows);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	images_free();
	return failed != 0;
}
