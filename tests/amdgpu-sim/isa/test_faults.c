/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults.c - every kind of fault provoked by a few instructions (snippets.s), and beside them what looks much
 * like it and is right. SNIPPETS names the code object.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"

#define PAGE  1024
#define RSRC1 (3u | 2u << 6 | 0xf0u << 12 | 1u << 21 | 1u << 23) /* 16 vector, 32 scalar registers */
#define RSRC2 (2u << 1 | 1u << 15) /* two user registers, 512 bytes of LDS */

struct bad {
	const char *name;
	enum sim_fault_kind kind;
	const char *text; /* that the report has in it */
};

static const struct bad bad[] = {
	{ "f_memory", SIM_FAULT_MEMORY, "0x1000" },
	{ "f_memory_store", SIM_FAULT_MEMORY, "write of 4 bytes" },
	{ "f_memory_scalar", SIM_FAULT_MEMORY, "scalar read" },
	{ "f_fetch", SIM_FAULT_FETCH, "no code at 0x40" },
	{ "f_opcode", SIM_FAULT_OPCODE, "no such instruction" },
	{ "f_trap", SIM_FAULT_OPCODE, "trap 2" },
	{ "f_register_beyond", SIM_FAULT_REGISTER, "beyond the 16 vector" },
	{ "f_register_scalar_beyond", SIM_FAULT_REGISTER, "32 scalar" },
	{ "f_undefined_address", SIM_FAULT_REGISTER, "address: v2" },
	{ "f_undefined_data", SIM_FAULT_REGISTER, "data: v2" },
	{ "f_undefined_part", SIM_FAULT_REGISTER, "data: v2" },
	{ "f_undefined_byte", SIM_FAULT_REGISTER, "data: v2" },
	{ "f_undefined_branch", SIM_FAULT_REGISTER, "scc" },
	{ "f_undefined_vcc", SIM_FAULT_REGISTER, "s106" },
	{ "f_undefined_exec", SIM_FAULT_REGISTER, "exec gets" },
	{ "f_undefined_exec_move", SIM_FAULT_REGISTER, "exec gets" },
	{ "f_undefined_lane", SIM_FAULT_REGISTER, "lane number" },
	{ "f_lds_outside", SIM_FAULT_LDS, "0x1000 of 0x200" },
	{ "f_lds_unwritten", SIM_FAULT_LDS, "never written" },
	{ "f_wait_scalar", SIM_FAULT_HAZARD, "s4 has not arrived" },
	{ "f_wait_scalar_not_zero", SIM_FAULT_HAZARD, "s4 has not arrived" },
	{ "f_wait_vector", SIM_FAULT_HAZARD, "v2 has not arrived" },
	{ "f_wait_overwrite", SIM_FAULT_HAZARD, "v2 has not arrived" },
	{ "f_wait_lds", SIM_FAULT_HAZARD, "v2 has not arrived" },
	{ "f_nop_vmem", SIM_FAULT_HAZARD, "then VMEM" },
	{ "f_nop_lane", SIM_FAULT_HAZARD, "lane select" },
	{ "f_nop_fmas", SIM_FAULT_HAZARD, "v_div_fmas" },
	{ "f_nop_dpp", SIM_FAULT_HAZARD, "DPP" },
	{ "f_nop_setreg", SIM_FAULT_HAZARD, "s_setreg" },
	{ "f_barrier", SIM_FAULT_BARRIER, "1 of 2 waves" },
	{ "f_watchdog", SIM_FAULT_WATCHDOG, "1000 instructions" },
};

struct good {
	const char *name;
	uint32_t expected; /* dword of lane 3 */
};

static const struct good good[] = {
	{ "g_wait", 3 * 5 + 1 + (3 + 64) * 5 },
	{ "g_undefined_unused", 3 },
	{ "g_undefined_part", 3 },
	{ "g_undefined_byte", 0x300 },
	{ "g_inactive", 7 },
	{ "g_nops", 0 },
	{ "g_index", 60 },
	{ "g_mode", 0x3f800001 }, /* 1 + 2^-24 rounded up */
	{ "g_flush", 0 },
};

static const char *path;

/* The page holds 5 times the number of each dword in its first half, zeros in the second. */
static bool run(const char *name, struct harness *h, uint32_t **page, uint32_t rsrc2)
{
	struct sim_options options = { .max_instructions = 1000 };
	uint32_t user[16] = { 0 };

	harness_open(h, SIM_GFX900, 64, &options);
	ck_assert(harness_load(h, path));
	*page = harness_memory(h, PAGE, SIM_READ | SIM_WRITE, 0);
	for (unsigned int i = 0; i < PAGE / 8; i++)
		(*page)[i] = i * 5;
	user[0] = (uint32_t)(uintptr_t)*page;
	user[1] = (uint32_t)((uint64_t)(uintptr_t)*page >> 32);
	return harness_snippet(h, name, user, RSRC1, rsrc2, strcmp(name, "f_barrier") ? 1 : 2);
}

START_TEST(test_bad)
{
	struct harness h;
	uint32_t *page;

	ck_assert_msg(!run(bad[_i].name, &h, &page, RSRC2), "%s: no fault", bad[_i].name);
	ck_assert_msg(h.fault.kind == bad[_i].kind && strstr(h.fault.text, bad[_i].text), "%s: %s",
		      bad[_i].name, h.fault.text);
	harness_close(&h);
}
END_TEST

START_TEST(test_good)
{
	struct harness h;
	uint32_t *page;

	ck_assert_msg(run(good[_i].name, &h, &page, RSRC2), "%s: %s", good[_i].name, h.fault.text);
	ck_assert_msg(page[128 + 3] == good[_i].expected, "%s: 0x%x", good[_i].name, page[128 + 3]);
	harness_close(&h);
}
END_TEST

START_TEST(test_dispatch)
{
	static const uint32_t wrong[] = { 17u << 1, 1, 3u << 11, 1u << 31, 200u << 15 };
	struct harness h;
	uint32_t *page;

	ck_assert(!run("g_nops", &h, &page, wrong[_i]));
	ck_assert_int_eq(h.fault.kind, SIM_FAULT_DISPATCH);
	harness_close(&h);
}
END_TEST

/* Each generation's rows: how many of its mnemonics are executed. */
START_TEST(test_coverage)
{
	unsigned int all, done;

	harness_coverage((enum sim_gfx)_i, &all, &done);
	printf("generation %d: %u instructions, %u executed\n", _i, all, done);
	ck_assert_uint_gt(done, 500);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim-faults");
	TCase *t = tcase_create("faults");
	SRunner *r;
	int failed;

	path = getenv("SNIPPETS");
	if (!path)
		return EXIT_FAILURE;
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_bad, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_loop_test(t, test_good, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(t, test_dispatch, 0, 5);
	tcase_add_loop_test(t, test_coverage, 0, 5);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
