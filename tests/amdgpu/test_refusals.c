/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_refusals.c - why a card will not do, in the words that the operator gets: by the object in QEMU, the worker and
 * gpgpu-bpf, which all pass on what open() says.
 *
 * With the argument "card": on the software card, which is told to be another one, or to be refused. With "libdrm": where the
 * loader finds another library first, that lacks functions or is none.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/private.h"

void amdgpu_sim_control(const char *command) __attribute__((weak));

#define NODE "/dev/dri/renderD128"

/* Both ways to name a card: by its node, whose reason is the whole answer, and by none, where it is one of several. */
static void refused(const char *words)
{
	const char *const places[] = { NODE, NULL };

	for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
		struct gp_gpu_info info;
		GError *error = NULL;

		ck_assert_ptr_null(gp_gpu_amdgpu.open(places[i], &info, &error));
		ck_assert_ptr_nonnull(error);
		ck_assert_msg(strstr(error->message, words), "'%s' lacks '%s'", error->message, words);
		ck_assert_msg(strstr(error->message, NODE ": "), "'%s' names no node", error->message);
		if (!places[i])
			ck_assert_msg(g_str_has_prefix(error->message, "no AMD GPU: "), "%s", error->message);
		g_error_free(error);
	}
}

static const struct {
	const char *commands[2], *words;
} cards[] = {
	{ { "fail open 1 EACCES", "fail open 1 EACCES" },
	  "Permission denied (its group, usually render, may use it)" },
	{ { "fail open 1 ENODEV", "fail open 1 ENODEV" }, "No such device" },
	{ { "family 141 0xf0" }, "its generation (family 141, revision 0xf0) is not supported" },
	/* Raven and Renoir, whose page faults are retried */
	{ { "family 142 0x81" }, "its generation (family 142, revision 0x81) is not supported" },
	{ { "family 999 1" }, "its generation (family 999, revision 0x1) is not supported" },
	{ { "driver 37" },
	  "the kernel's amdgpu driver is version 3.37, 3.38 or newer is wanted (Linux 5.9)" },
	{ { "driver 59 radeon" }, "not an AMD GPU: its driver is radeon" },
	{ { "driver 59 i915" }, "not an AMD GPU: its driver is i915" },
	{ { "fail GET_CAP 1 EINVAL", "fail GET_CAP 1 EINVAL" }, "the kernel has no timeline sync objects" },
	{ { "fail VERSION 1 ENODEV", "fail VERSION 1 ENODEV" }, "no DRM driver answers" },
};

START_TEST(card)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cards[_i].commands) && cards[_i].commands[i]; i++)
		amdgpu_sim_control(cards[_i].commands[i]);
	refused(cards[_i].words);
}
END_TEST

/* The oldest driver that will do. */
START_TEST(oldest_driver)
{
	struct gp_gpu_info info;
	GError *error = NULL;
	struct gp_gpu *gpu;

	amdgpu_sim_control("driver 38");
	gpu = gp_gpu_amdgpu.open(NULL, &info, &error);
	ck_assert_msg(gpu, "%s", error ? error->message : "");
	ck_assert(strstr(info.title, "amdgpu 3.38:"));
	ck_assert(!gpu->fence_errors);
	gp_gpu_amdgpu.close(gpu);
}
END_TEST

START_TEST(libdrm)
{
	const char *words = getenv("WORDS");
	struct gp_gpu_info info;
	GError *error = NULL;

	ck_assert_ptr_null(gp_gpu_amdgpu.open(NULL, &info, &error));
	ck_assert_ptr_nonnull(error);
	ck_assert_msg(words && strstr(error->message, words), "'%s' lacks '%s'", error->message, words);
	g_error_free(error);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("refusals");
	TCase *tc = tcase_create("open");
	SRunner *runner;
	int failed;

	if (argc < 2)
		return EXIT_FAILURE;
	tcase_set_timeout(tc, 60);
	if (!strcmp(argv[1], "libdrm")) {
		tcase_add_test(tc, libdrm);
	} else if (amdgpu_sim_control) {
		tcase_add_loop_test(tc, card, 0, G_N_ELEMENTS(cards));
		tcase_add_test(tc, oldest_driver);
	}
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner) || !srunner_ntests_run(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
