/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_load.c - images that the loader takes, and for each field of a kernel descriptor one that it refuses, in words.
 *
 * A descriptor that is right is made for each generation by hand, from LLVM's AMDGPU backend guide (kernel descriptor,
 * COMPUTE_PGM_RSRC1 to 3, initial register state); then one thing at a time is made wrong.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/private.h"

#define IMAGE	   1024u
#define DESCRIPTOR 512u

static uint8_t image[IMAGE];
static uint32_t bytes, entry;
static const struct gp_generation *gen;
static struct gp_gpu_code code;
static char why[GP_MESSAGE];

static void put32(uint32_t at, uint32_t value)
{
	memcpy(image + DESCRIPTOR + at, &value, 4);
}

static uint32_t get32(uint32_t at)
{
	uint32_t value;

	memcpy(&value, image + DESCRIPTOR + at, 4);
	return value;
}

static void put16(uint32_t at, uint16_t value)
{
	memcpy(image + DESCRIPTOR + at, &value, 2);
}

static void put_entry(int64_t offset)
{
	memcpy(image + DESCRIPTOR + 16, &offset, 8);
}

static bool has_descriptor(void)
{
	return strcmp(gen->name, "gfx942") && gen->gfx <= 10;
}

/* prepare() - what LLVM makes of a small kernel: 16 VGPRs, no scratch, argument of 8 bytes. Code at 0. */
static void prepare(const char *name)
{
	uint32_t user;

	gen = gp_generation_find(name);
	ck_assert_ptr_nonnull(gen);
	memset(image, 0, sizeof(image));
	memset(&code, 0, sizeof(code));
	bytes = IMAGE;
	entry = DESCRIPTOR;
	put32(8, 8);
	put_entry(-(int64_t)DESCRIPTOR);
	put32(48, (gen->gfx == 9 ? 3u | 1u << 6 : 1u) | 0xcu << 16);
	user = has_descriptor() ? 6 : 2;
	if (!strcmp(name, "gfx1100") || !strcmp(name, "gfx1102"))
		user = 15;
	put32(52, user << 1 | 1u << 7);
	put16(56, (uint16_t)((has_descriptor() ? 1u : 0u) | 1u << 3 | (gen->gfx >= 10 ? 1u << 10 : 0u)));
}

static bool check(void)
{
	why[0] = 0;
	return gp_load_check(gen, image, bytes, entry, &code, why);
}

static void refused(const char *words)
{
	ck_assert_msg(!check(), "%s: taken, though %s", gen->name, words);
	ck_assert_msg(strstr(why, words), "%s: '%s', not '%s'", gen->name, why, words);
}

static const char *const names[] = { "gfx900",	"gfx906",  "gfx908",  "gfx90a",	 "gfx942",  "gfx1010",
				     "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201" };
#define NAMES ((int)(sizeof(names) / sizeof(*names)))

START_TEST(taken)
{
	prepare(names[_i]);
	ck_assert_msg(check(), "%s: %s", names[_i], why);
	ck_assert_uint_eq(code.entry, 0);
	ck_assert_uint_eq(code.rsrc1, get32(48));
	ck_assert_uint_eq(code.rsrc2, get32(52));
	ck_assert_uint_eq(code.private_bytes, 0);
	/* with scratch memory */
	put32(4, 4096);
	put32(52, get32(52) | 1);
	ck_assert_msg(check(), "%s: %s", names[_i], why);
	ck_assert_uint_eq(code.private_bytes, 4096);
	/* code behind the descriptor */
	put_entry(256);
	ck_assert_msg(check(), "%s: %s", names[_i], why);
	ck_assert_uint_eq(code.entry, DESCRIPTOR + 256);
}
END_TEST

START_TEST(sizes)
{
	prepare(names[_i]);
	bytes = 0;
	refused("an image of 0 bytes");
	prepare(names[_i]);
	entry = DESCRIPTOR + 8;
	refused("the kernel descriptor is said to be at");
	entry = IMAGE;
	refused("the kernel descriptor is said to be at");
	entry = 0xffffffc0;
	refused("the kernel descriptor is said to be at");
	entry = DESCRIPTOR;
	bytes = DESCRIPTOR + 63;
	refused("the kernel descriptor is said to be at");

	prepare(names[_i]);
	put32(0, 65537);
	refused("65537 bytes of local memory, a work group has 65536");
	put32(0, 4);
	refused("local memory, which nothing clears");

	prepare(names[_i]);
	put32(4, 131057);
	put32(52, get32(52) | 1);
	refused("131057 bytes of scratch memory for each lane, at most");
	put32(4, 0xffffffff);
	refused("bytes of scratch memory for each lane, at most");

	prepare(names[_i]);
	put32(8, 16);
	refused("arguments of 16 bytes");
	put32(8, 0);
	refused("arguments of 0 bytes");
}
END_TEST

START_TEST(reserved)
{
	static const uint8_t at[] = { 12, 13, 14, 15, 24, 31, 32, 40, 43, 60, 61, 62, 63 };

	for (size_t i = 0; i < sizeof(at); i++) {
		prepare(names[_i]);
		image[DESCRIPTOR + at[i]] = 1;
		refused("reserved bytes");
	}
	prepare(names[_i]);
	put16(58, 1);
	refused("arguments are to be in registers");
}
END_TEST

START_TEST(entry_offset)
{
	static const int64_t outside[] = {
		-(int64_t)DESCRIPTOR - 256, (int64_t)IMAGE - DESCRIPTOR,    1 << 20, INT64_MIN, INT64_MAX,
		-(int64_t)DESCRIPTOR - 1,   (int64_t)IMAGE - DESCRIPTOR - 3
	};
	static const int64_t crooked[] = { -(int64_t)DESCRIPTOR + 4, -(int64_t)DESCRIPTOR + 128, 260, 1 };

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		prepare(names[_i]);
		put_entry(outside[i]);
		refused("outside the image");
	}
	for (size_t i = 0; i < sizeof(crooked) / sizeof(*crooked); i++) {
		prepare(names[_i]);
		put_entry(crooked[i]);
		refused("not at a multiple of 256");
	}
	prepare(names[_i]);
	put_entry(0);
	refused("code begins in it");
}
END_TEST

START_TEST(rsrc1)
{
	/* PRIORITY 11:10, PRIV 20, DEBUG_MODE 22, BULKY 24, CDBG_USER 25 are the driver's. */
	static const uint8_t never[] = { 10, 11, 20, 22, 24, 25, 26, 27, 28 };

	for (size_t i = 0; i < sizeof(never); i++) {
		prepare(names[_i]);
		put32(48, get32(48) | 1u << never[i]);
		refused("RSRC1 has bits");
	}
	prepare(names[_i]);
	if (gen->gfx >= 10) {
		/* SGPRS: LLVM counts them all the same; the register gets 0 */
		put32(48, get32(48) | 3u << 6);
		ck_assert_msg(check(), "%s", why);
		ck_assert_uint_eq(code.rsrc1, get32(48) & ~0x3c0u);
		prepare(names[_i]);
		put32(48, (get32(48) & ~0x3fu) | 32); /* 33 * 8 */
		refused("264 vector registers, a wave has 256");
		return;
	}
	/* gfx9: SGPRS 9:6, 16 for each 2; 102 and six more are 112 */
	put32(48, (get32(48) & ~(0xfu << 6)) | 12u << 6);
	ck_assert_msg(check(), "%s", why);
	put32(48, (get32(48) & ~(0xfu << 6)) | 14u << 6);
	refused("128 scalar registers, a wave has 112");
	for (int bit = 26; bit < 32; bit++) {
		prepare(names[_i]);
		put32(48, get32(48) | 1u << bit);
		refused("RSRC1 has bits");
	}
}
END_TEST

START_TEST(rsrc2)
{
	/* TRAP_PRESENT 6, TGID_Y 8, TGID_Z 9, TG_SIZE 10, TIDIG 12:11, EXCP_EN_MSB 14:13, LDS_SIZE 23:15, EXCP_EN 30:24 */
	for (int bit = 6; bit < 32; bit++) {
		if (bit == 7)
			continue;
		prepare(names[_i]);
		put32(52, get32(52) | 1u << bit);
		refused("RSRC2 has bits");
	}
	prepare(names[_i]);
	put32(52, get32(52) & ~(1u << 7));
	refused("not told their work group");
	prepare(names[_i]);
	put32(52, get32(52) | 1);
	refused("0 bytes of scratch memory, and it is enabled");
	prepare(names[_i]);
	put32(4, 64);
	refused("64 bytes of scratch memory, and it is not enabled");
	prepare(names[_i]);
	put32(52, (get32(52) & ~0x3eu) | 7u << 1);
	refused("7 user scalar registers");
	prepare(names[_i]);
	put32(52, get32(52) & ~0x3eu);
	refused("0 user scalar registers");
}
END_TEST

START_TEST(rsrc3)
{
	prepare(names[_i]);
	put32(44, 1u << 16); /* gfx90a: TG_SPLIT */
	refused("RSRC3 has bits");
	put32(44, 1u << 31); /* gfx11: IMAGE_OP */
	refused("RSRC3 has bits");
	prepare(names[_i]);
	if (!strcmp(gen->name, "gfx90a") || !strcmp(gen->name, "gfx942")) {
		put32(44, 7); /* accumulation registers from 32, of (3 + 1) * 8 */
		ck_assert_msg(check(), "%s", why);
		put32(44, 8);
		refused("accumulation registers from 36, a wave has 32");
	} else if (gen->gfx >= 11) {
		put32(44, 8u << 4); /* eight lines of 128 bytes: the image's 1024 */
		ck_assert_msg(check(), "%s", why);
		put32(44, 9u << 4);
		refused("9 lines of code fetched ahead, there are 8");
	} else {
		put32(44, 1);
		refused("RSRC3 has bits");
	}
}
END_TEST

START_TEST(properties)
{
	/* 1 dispatch pointer, 2 queue pointer, 4 dispatch id, 6 private size, 7 to 9, 12 to 15 reserved */
	static const uint8_t never[] = { 1, 2, 4, 6, 7, 8, 9, 12, 13, 14, 15 };
	uint16_t right;

	for (size_t i = 0; i < sizeof(never); i++) {
		prepare(names[_i]);
		right = (uint16_t)get32(56);
		put16(56, (uint16_t)(right | 1u << never[i]));
		refused("properties 0x");
	}
	prepare(names[_i]);
	right = (uint16_t)get32(56);
	put16(56, right & (uint16_t)~8u);
	refused("the argument is not asked for");
	if (gen->wave == 32) {
		put16(56, right & (uint16_t)~(1u << 10));
		refused("waves of 64 lanes, not of 32");
	} else {
		put16(56, right | 1u << 10);
		refused("properties 0x");
	}
	if (!has_descriptor()) {
		put16(56, right | 1);
		refused("properties 0x");
	}
}
END_TEST

/* Any byte of the descriptor may be anything: it is judged without harm, and what is taken is within the limits. */
START_TEST(any_bytes)
{
	uint32_t random = 1;

	for (int i = 0; i < 200000; i++) {
		prepare(names[i % NAMES]);
		for (int n = 0; n < 1 + i % 3; n++) {
			random = random * 1664525 + 1013904223;
			image[DESCRIPTOR + (random >> 8) % 64] = (uint8_t)(random >> 24);
		}
		if (!check()) {
			ck_assert_uint_gt(strlen(why), 0);
			continue;
		}
		ck_assert_uint_le(code.entry + 4, IMAGE);
		ck_assert_uint_eq(code.entry % 256, 0);
		ck_assert_uint_le(code.private_bytes, gen->scratch_max);
		ck_assert_uint_eq(code.rsrc1 & 1u << 20, 0);
		ck_assert_uint_eq(code.rsrc2 >> 8, 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("load");
	TCase *tc = tcase_create("descriptor");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, taken, 0, NAMES);
	tcase_add_loop_test(tc, sizes, 0, NAMES);
	tcase_add_loop_test(tc, reserved, 0, NAMES);
	tcase_add_loop_test(tc, entry_offset, 0, NAMES);
	tcase_add_loop_test(tc, rsrc1, 0, NAMES);
	tcase_add_loop_test(tc, rsrc2, 0, NAMES);
	tcase_add_loop_test(tc, rsrc3, 0, NAMES);
	tcase_add_loop_test(tc, properties, 0, NAMES);
	tcase_add_test(tc, any_bytes);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
