// SPDX-License-Identifier: BSD-3-Clause
/*
 * cost.c - what programs take of an AMD GPU, by generation: registers, scratch, code, and what compiling took.
 *
 * A table for people, and with --listing the code. GPGPU_JIT names the compiler.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "listing.h"
#include "programs.h"

static bool with_listing;

static void print_code(const struct gp_image *image, const struct gp_generation *gen)
{
	size_t count;
	struct listing_line *lines = listing_make(image, gen, &count);

	for (size_t i = 0; i < count; i++)
		printf("  %6x: %s\n", lines[i].at, lines[i].text);
	free(lines);
}

static void print_image(const char *name, const struct gp_image *image, const struct gp_generation *gen)
{
	printf("%-44s %-8s %5u %5u %5u %7u %7u %7u %9.1f\n", name, gen->name, image->vgprs,
	       gp_generation_waves(gen, image->vgprs), image->sgprs, image->vgpr_spills + image->sgpr_spills,
	       image->scratch_bytes, image->code_bytes, (double)image->cpu_ns / 1e6);
	if (with_listing)
		print_code(image, gen);
}

static int compile(struct gp_jit *jit, const struct gp_generation *gen, const struct program *program)
{
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_compile(jit, &program->prog, &verdict);

	if (!image) {
		printf("%-44s %-8s refused: %s\n", program->name, gen->name, verdict.message);
		return 1;
	}
	print_image(program->name, image, gen);
	gp_image_unref(image);
	return 0;
}

static int compile_kernels(struct gp_jit *jit, const struct gp_generation *gen)
{
	static const char *const names[] = {
		[GP_KERNEL_MAP_OPS] = "(map operations)", [GP_KERNEL_COPY] = "(copies)"
	};
	int failed = 0;

	for (int k = GP_KERNEL_MAP_OPS; k <= GP_KERNEL_COPY; k++) {
		struct gp_verdict verdict;
		struct gp_image *image = gp_jit_kernel(jit, k, &verdict);

		if (!image) {
			printf("%-44s %-8s refused: %s\n", names[k], gen->name, verdict.message);
			failed++;
			continue;
		}
		print_image(names[k], image, gen);
		gp_image_unref(image);
	}
	return failed;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "target", required_argument, NULL, 't' },
						 { "listing", no_argument, NULL, 'l' },
						 { "kernels", no_argument, NULL, 'k' },
						 { "seconds", required_argument, NULL, 's' },
						 { 0 } };
	const char *only = NULL;
	const struct gp_generation *gens;
	bool kernels = false;
	uint32_t seconds = 60;
	int failed = 0, c;
	size_t num_gens;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			only = optarg;
		else if (c == 'l')
			with_listing = true;
		else if (c == 'k')
			kernels = true;
		else if (c == 's')
			seconds = (uint32_t)atoi(optarg);
		else
			return 1;
	}
	printf("%-44s %-8s %5s %5s %5s %7s %7s %7s %9s\n", "program", "target", "VGPR", "waves", "SGPR",
	       "spills", "scratch", "bytes", "CPU ms");
	gens = gp_generations(&num_gens);
	for (size_t g = 0; g < num_gens; g++) {
		struct gp_jit_options jit_options = { .program = getenv("GPGPU_JIT"),
						      .fd = -1,
						      .cpu_seconds = seconds,
						      .memory = 2ull << 30,
						      .target = gens[g].name };
		struct gp_jit *jit;

		if (only && gp_generation_find(only) != &gens[g])
			continue;
		jit = gp_jit_new(&jit_options, NULL);
		if (!jit) {
			fprintf(stderr, "no compiler; GPGPU_JIT names it\n");
			return 1;
		}
		for (int i = optind; i < argc; i++) {
			size_t count;
			struct program *programs = programs_read(argv[i], &count);

			for (size_t p = 0; p < count; p++)
				failed += compile(jit, &gens[g], &programs[p]);
			programs_free(programs, count);
		}
		if (kernels)
			failed += compile_kernels(jit, &gens[g]);
		gp_jit_free(jit);
	}
	return failed != 0;
}
