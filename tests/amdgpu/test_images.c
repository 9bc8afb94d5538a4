/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_images.c - what the compiler makes is what the loader takes: on every generation, also those that nothing executes
 * here.
 *
 * The loader's tables were written from the same public pages as the compiler's, but believe nothing of each other. GPGPU_JIT
 * names the compiler. Objects of clang's, in the directory that is the argument, show what is refused.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/private.h"
#include "jit/emit.h"
#include "rt/launch.h"

static void check(const struct gp_generation *gen, struct gp_jit *jit, enum gp_kernel kernel)
{
	struct gp_gpu_code code = { 0 };
	char why[GP_MESSAGE] = "";
	struct gp_verdict verdict;
	struct gp_image *image = gp_jit_kernel(jit, kernel, &verdict);

	ck_assert_msg(image, "%s: %s", gen->name, verdict.message);
	ck_assert_uint_le(image->code_bytes, image->map_bytes);
	ck_assert_msg(gp_load_check(gen, image->code, image->code_bytes, image->entry, &code, why), "%s: %s",
		      gen->name, why);
	ck_assert_uint_eq(code.private_bytes, image->scratch_bytes);
	ck_assert_uint_ge(((code.rsrc1 & 0x3f) + 1) * gen->vgpr_code, image->vgprs);
	gp_image_unref(image);
}

START_TEST(every_generation)
{
	size_t count;
	const struct gp_generation *gen = &gp_generations(&count)[_i];
	struct gp_jit_options options = { .program = getenv("GPGPU_JIT"),
					  .fd = -1,
					  .cpu_seconds = 1, /* no compiling: they are there */
					  .memory = 2ull << 30,
					  .target = gen->name };
	struct gp_jit *jit = gp_jit_new(&options, NULL);

	ck_assert_msg(jit, "no compiler; GPGPU_JIT names it");
	check(gen, jit, GP_KERNEL_COPY);
	check(gen, jit, GP_KERNEL_MAP_OPS);
	gp_jit_free(jit);
}
END_TEST

static const char *objects;

/*
 * An object says whose code it is. kernels.c is compiled without a word about XNACK, which on gfx900 means code for both
 * settings: not what we ask for.
 */
static const struct {
	const char *object, *generation, *refused; /* NULL: taken */
} flags[] = {
	{ "gfx1030", "gfx1030", NULL },
	{ "gfx1030", "gfx1100", "an object of another machine: flags 0x36" },
	{ "gfx1030", "gfx900", "an object of another machine: flags 0x36" },
	{ "gfx900", "gfx1030", "an object of another machine: flags 0x12c" },
	{ "gfx900", "gfx900", "an object of another machine: flags 0x12c" },
};

START_TEST(machines)
{
	char *path = g_strdup_printf("%s/kernel1-%s.o", objects, flags[_i].object), *bytes;
	struct gp_code code;
	char why[GP_MESSAGE] = "";
	gsize size;
	bool ok;

	ck_assert(g_file_get_contents(path, &bytes, &size, NULL));
	ok = gp_image_flatten_gpu((uint8_t *)bytes, size, "kernel", gp_generation_find(flags[_i].generation),
				  &code, why);
	ck_assert_str_eq(why, flags[_i].refused ? flags[_i].refused : "");
	ck_assert_int_eq(ok, !flags[_i].refused);
	free(code.bytes);
	free(code.place);
	g_free(bytes);
	g_free(path);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("images");
	TCase *tc = tcase_create("compiled");
	SRunner *runner;
	size_t count;
	int failed;

	if (argc < 2)
		return EXIT_FAILURE;
	objects = argv[1];
	gp_generations(&count);
	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, every_generation, 0, (int)count);
	tcase_add_loop_test(tc, machines, 0, G_N_ELEMENTS(flags));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
