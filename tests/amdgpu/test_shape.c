// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_shape.c - machine code of programs that lock and of one that never ends, looked at (shape.c says what for); and that
 * code which is wrong in these ways is seen to be. The object with the programs (locks.bpf.c) is the argument.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "programs.h"
#include "shape.h"

static const char *const generations[] = { "gfx900", "gfx90a", "gfx1030", "gfx1100", "gfx1200" };
#define NUM_GENERATIONS ((int)(sizeof(generations) / sizeof(*generations)))

static struct program *programs;
static size_t num_programs;
static struct gp_jit *jit;
static const struct gp_generation *gen;

/* A program's code, taken apart. */
struct code {
	struct gp_image *image;
	struct listing_line *lines;
	struct shape_step *steps;
	int count;
};

static struct code code_of(const char *name)
{
	struct code code = { 0 };
	struct gp_verdict verdict = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < num_programs; i++)
		if (!strcmp(strchr(programs[i].name, ':') + 1, name))
			code.image = gp_jit_compile(jit, &programs[i].prog, &verdict);
	ck_assert_msg(code.image, "%s for %s: %s", name, gen->name, verdict.message);
	code.lines = listing_make(code.image, gen, &count);
	code.steps = shape_steps(code.image, code.lines, count);
	ck_assert_ptr_nonnull(code.steps);
	code.count = (int)count;
	return code;
}

static void code_free(struct code *code)
{
	free(code->steps);
	free(code->lines);
	gp_image_unref(code->image);
}

static void start(int i)
{
	struct gp_jit_options options = {
		.program = getenv("GPGPU_JIT"), .fd = -1, .cpu_seconds = 60, .target = generations[i]
	};

	gen = gp_generation_find(generations[i]);
	jit = gp_jit_new(&options, NULL);
	ck_assert_ptr_nonnull(jit);
}

/* A wave's own lanes never keep each other from a lock; code in which nothing lets go of one is not taken for good. */
START_TEST(locks)
{
	static const char *const names[] = { "same_key", "own_key", "evict", "push", "record", "route" };

	start(_i);
	for (size_t p = 0; p < sizeof(names) / sizeof(*names); p++) {
		struct code code = code_of(names[p]);
		const char *wrong;
		int found;

		wrong = shape_locks(code.steps, code.count, &found);
		ck_assert_msg(!wrong, "%s for %s: %s", names[p], gen->name, wrong);
		ck_assert_msg(found, "%s for %s has no lock", names[p], gen->name);
		for (int i = 0; i < code.count; i++)
			if (!strncmp(code.steps[i].text, "global_store_", 13))
				code.steps[i].text = "s_nop 0";
		ck_assert_ptr_nonnull(shape_locks(code.steps, code.count, &found));
		code_free(&code);
	}
	gp_jit_free(jit);
}
END_TEST

/* Fuel is each lane's own, in a register; code with the loop's subtraction taken out is not taken for good. */
START_TEST(fuel)
{
	struct code code;
	const char *wrong;

	start(_i);
	code = code_of("endless");
	wrong = shape_fuel(code.steps, code.count);
	ck_assert_msg(!wrong, "%s: %s", gen->name, wrong);
	ck_assert_uint_eq(code.image->scratch_bytes, 0);
	ck_assert_uint_eq(code.image->lds_bytes, 0);
	for (int i = 0; i < code.count; i++)
		if (strstr(code.steps[i].text, ", -1") || strstr(code.steps[i].text, ", 1"))
			code.steps[i].text = "s_nop 0";
	ck_assert_ptr_nonnull(shape_fuel(code.steps, code.count));
	code_free(&code);
	gp_jit_free(jit);
}
END_TEST

/* As `while (!try()) ;` becomes: lanes leave the loop when they have the lock, and wait behind it for the others. */
static const struct shape_step spins[] = {
	{ "v_mov_b32_e32 v4, 0", -1 },
	{ "global_atomic_cmpswap v5, v[2:3], v[6:7], off offset:4 glc", -1 },
	{ "v_cmp_eq_u32_e32 vcc, 0, v5", -1 },
	{ "s_or_b64 s[4:5], vcc, s[4:5]", -1 },
	{ "s_andn2_b64 exec, exec, s[4:5]", -1 },
	{ "s_cbranch_execnz 65529", 1 },
	{ "s_or_b64 exec, exec, s[4:5]", -1 },
	{ "global_store_dword v[2:3], v4, off offset:4", -1 },
	{ "s_endpgm", -1 },
};

/* The same where those that have it let go of it before anybody is asked whether the loop goes on. */
static const struct shape_step takes_turns[] = {
	{ "v_mov_b32_e32 v4, 0", -1 },
	{ "global_atomic_cmpswap v5, v[2:3], v[6:7], off offset:4 glc", -1 },
	{ "v_cmp_eq_u32_e32 vcc, 0, v5", -1 },
	{ "s_and_saveexec_b64 s[4:5], vcc", -1 },
	{ "s_cbranch_execz 2", 6 },
	{ "global_store_dword v[2:3], v4, off offset:4", -1 },
	{ "s_or_b64 exec, exec, s[4:5]", -1 },
	{ "s_cbranch_vccz 65529", 1 },
	{ "s_endpgm", -1 },
};

/* Fuel that is the whole wave's, and fuel that is in memory. */
static const struct shape_step scalar_fuel[] = {
	{ "s_movk_i32 s2, 0x4000", -1 }, { "v_add_u32_e32 v1, 3, v1", -1 }, { "s_sub_u32 s2, s2, 1", -1 },
	{ "s_cmp_lg_u32 s2, 0", -1 },	 { "s_cbranch_scc1 65531", 1 },	    { "s_endpgm", -1 },
};
static const struct shape_step fuel_in_memory[] = {
	{ "ds_read_b32 v1, v0", -1 },	       { "v_add_u32_e32 v1, -1, v1", -1 },
	{ "v_cmp_ne_u32_e32 vcc, 0, v1", -1 }, { "ds_write_b32 v0, v1", -1 },
	{ "s_cbranch_vccnz 65530", 0 },	       { "s_endpgm", -1 },
};
#define STEPS(x) x, (int)(sizeof(x) / sizeof(*(x)))

START_TEST(wrong_shapes)
{
	int found;

	ck_assert_str_eq(shape_locks(STEPS(spins), &found),
			 "a lane that has the lock waits for those that have not");
	ck_assert_int_eq(found, 1);
	ck_assert_ptr_null(shape_locks(STEPS(takes_turns), &found));
	ck_assert_int_eq(found, 1);
	ck_assert_ptr_nonnull(shape_fuel(STEPS(scalar_fuel)));
	ck_assert_ptr_nonnull(shape_fuel(STEPS(fuel_in_memory)));
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("amdgpu shape");
	TCase *tc = tcase_create("shape");
	SRunner *runner;
	int failed;

	if (argc != 2)
		return 1;
	programs = programs_read(argv[1], &num_programs);
	tcase_set_timeout(tc, 0);
	tcase_add_test(tc, wrong_shapes);
	tcase_add_loop_test(tc, locks, 0, NUM_GENERATIONS);
	tcase_add_loop_test(tc, fuel, 0, NUM_GENERATIONS);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	programs_free(programs, num_programs);
	return failed != 0;
}
