/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_prints.c - what kernels print, from the compiler to the text.
 *
 *	test_prints OBJECT [TARGET...]	targets of tests/bpf; without: the compiler, and the interpreter
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chosen.h"
#include "gpgpu.h"

#define MAX_ITEMS 1024
#define FITS	  (4096 / 40)

static const char *path;

struct line {
	uint32_t item;
	char text[GPGPU_LINE_BYTES];
};

static struct line lines[MAX_ITEMS];
static uint32_t num_lines;
static int32_t returned[MAX_ITEMS];

static int by_item(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->item != y->item ? (x->item > y->item ? 1 : -1) : strcmp(x->text, y->text);
}

static void decode(const struct outcome *outcome)
{
	num_lines = 0;
	for (size_t at = 0; at < outcome->num_records_bytes;) {
		struct line *line = &lines[num_lines++];
		uint32_t size, item[3];
		int r;

		memcpy(&size, outcome->records + at, 4);
		at += 4;
		r = gpgpu_print_decode(object, outcome->records + at, size, item, line->text,
				       sizeof(line->text));
		ck_assert_msg(r >= 0, "%s", gpgpu_error_message());
		ck_assert_uint_eq((uint32_t)r, strlen(line->text));
		ck_assert(!item[1] && !item[2]);
		line->item = item[0];
		at += size;
	}
	qsort(lines, num_lines, sizeof(*lines), by_item);
}

static void run(const struct target *target, const char *name, uint32_t items)
{
	struct gpgpu_program *program = gpgpu_object_program(object, name);
	static float x[MAX_ITEMS];
	static int32_t nothing[MAX_ITEMS];
	struct run_map map = { .type = VIRTIO_GPGPU_MAP_RINGBUF, .max_entries = 4096 };
	struct run run = { .name = name,
			   .kind = VIRTIO_GPGPU_PROG_GPGPU,
			   .fuel = 1000000,
			   .grid = { items, 1, 1 },
			   .group = { 4, 1, 1 },
			   .num_args = 2,
			   .num_maps = 1,
			   .maps = &map };
	struct outcome outcome = { 0 };
	size_t count = 0;

	ck_assert_msg(program != NULL, "no kernel %s: %s", name, gpgpu_error_message());
	for (uint32_t i = 0; i < items; i++) {
		x[i] = (float)i * 0.75f - 3;
		nothing[i] = 77;
	}
	run.insns = gpgpu_program_insns(program, &count);
	run.num_insns = (uint32_t)count;
	run.args[0] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, (uint8_t *)x, sizeof(x) };
	run.args[1] = (struct run_arg){ VIRTIO_GPGPU_ARG_BUFFER, 0, (uint8_t *)nothing, sizeof(nothing) };
	target->run(&run, &outcome);
	ck_assert_msg(!outcome.refused, "%s on %s is refused: %s", name, target->name, outcome.message);
	ck_assert_msg(!outcome.faults, "%s on %s: fault %u at %u", name, target->name, outcome.fault,
		      outcome.fault_insn);
	ck_assert_uint_ge(outcome.num_bytes, sizeof(x) + sizeof(returned));
	memcpy(returned, outcome.bytes + sizeof(x), sizeof(returned));
	decode(&outcome);
	outcome_free(&outcome);
}

START_TEST(text)
{
	for (int t = 0; t < num_chosen; t++) {
		uint32_t at = 0;

		run(chosen[t], "say", 20);
		ck_assert_uint_eq(num_lines, 21);
		for (int i = 0; i < 20; i++, at++) {
			char want[256];
			float x = (float)i * 0.75f - 3;

			snprintf(want, sizeof(want), "item %d%%: %g %8.3f|%-6s|%c %lld %#x %hhu\n", i - 3,
				 (double)x, x / 4.0,
				 i & 1	 ? "odd"
				 : i & 2 ? "even"
					 : "four",
				 'A' + i, -5000000000ll * i, 255u + (unsigned int)i,
				 (unsigned char)(250 + i));
			ck_assert_uint_eq(lines[at].item, (uint32_t)i);
			ck_assert_str_eq(lines[at].text, want);
			ck_assert_int_eq(returned[i], 0);
			if (i == 3)
				ck_assert_str_eq(lines[++at].text, "three\n");
		}
	}
}
END_TEST

/* More than there is room for: what did not fit is known to who printed it, and nothing else is lost. */
START_TEST(overflow)
{
	for (int t = 0; t < num_chosen; t++) {
		uint32_t fine = 0;

		run(chosen[t], "flood", MAX_ITEMS);
		ck_assert_uint_gt(num_lines, 0);
		ck_assert_uint_le(num_lines, FITS);
		for (int i = 0; i < MAX_ITEMS; i++) {
			char want[32];

			if (returned[i]) {
				ck_assert_int_lt(returned[i], 0);
				continue;
			}
			snprintf(want, sizeof(want), "%d\n", i);
			ck_assert_uint_lt(fine, num_lines);
			ck_assert_uint_eq(lines[fine].item, (uint32_t)i);
			ck_assert_str_eq(lines[fine++].text, want);
		}
		ck_assert_uint_eq(fine, num_lines);
	}
}
END_TEST

/* Whoever made it: no record leads out of the section, or to more arguments than there are. */
START_TEST(damaged_records)
{
	uint8_t record[24 + 13 * 8] = { 0 };
	uint32_t item[3], count;
	int good = 0;
	char text[32];

	for (uint32_t format = 0; format < 400; format++)
		for (count = 0; count <= 13; count++) {
			memcpy(record, &format, 4);
			memcpy(record + 4, &count, 4);
			memset(record + 24, 0xff, sizeof(record) - 24);
			for (size_t size = 0; size <= sizeof(record); size += 4)
				good += gpgpu_print_decode(object, record, size, item, text, sizeof(text)) >=
					0;
		}
	/* Of three formats with 8, 0 and 1 arguments: those sizes that hold them. */
	ck_assert_int_eq(good, (104 - 64) / 4 + 1 + 104 / 4 + 1 + (104 - 8) / 4 + 1);
}
END_TEST

static uint8_t *read_object(size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = malloc(1 << 20);

	ck_assert(f && bytes);
	*size = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

/* Formats are checked again when an object is opened: not all come from gpgpu-cc. */
START_TEST(refused_at_load)
{
	static const struct {
		const char *from, *to, *why;
	} cases[] = {
		{ "F%d\n", "F%n\n", "%n, which writes to memory" },
		{ "F%d\n", "F%*\n", "a width that is an argument" },
		{ "F%d\n", "F%y\n", "a conversion that is none of" },
		{ "F%d\n", "F%L\n", "long double" },
		{ "F%d\n", "F\nd%", "a % at the end" },
		{ "F%d\n", "Q%d\n", "damaged" },
		{ "gpgpu printf 1", "gpgpu printf 2", "newer than this library" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpgpu_object *bad;
		size_t size, length = strlen(cases[i].from) + 1;
		uint8_t *bytes = read_object(&size), *at = memmem(bytes, size, cases[i].from, length);

		ck_assert_msg(at != NULL, "the object has no %s", cases[i].from);
		memcpy(at, cases[i].to, length);
		ck_assert_int_eq(gpgpu_object_open_memory(bytes, size, "bad", &bad), -EINVAL);
		ck_assert_msg(strstr(gpgpu_error_message(), cases[i].why) != NULL, "%s",
			      gpgpu_error_message());
		free(bytes);
	}
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("printf");
	TCase *tcase = tcase_create("printf");
	SRunner *runner;
	int failed;

	path = argv[1];
	if (!chosen_read(argc, argv))
		return 2;
	tcase_add_unchecked_fixture(tcase, chosen_open, chosen_close);
	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, text);
	tcase_add_test(tcase, overflow);
	tcase_add_test(tcase, damaged_records);
	tcase_add_test(tcase, refused_at_load);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	/* The engine has threads, which a fork would leave behind. */
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	gpgpu_object_close(object);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
