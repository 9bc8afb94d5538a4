/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_print.c - every instruction of the table, with drawn operands, printed by us and by LLVM's disassembler.
 *
 * LLVM_MC names llvm-mc. Each sample is followed by two known instructions, so that what it prints for one sample
 * is told apart from the next even where it finds no instruction in it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "encode.h"

#define EACH	6
#define SAMPLES 40000

struct sample {
	uint32_t words[3];
	unsigned int count;
	const struct row *row;
};

static struct sample samples[SAMPLES];
static const char *const cpus[] = { "gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030" };

static void put_bytes(FILE *f, const uint32_t *words, unsigned int count)
{
	for (unsigned int i = 0; i < 4 * count; i++)
		fprintf(f, "0x%02x ", ((const uint8_t *)words)[i]);
	fputc('\n', f);
}

static char *trimmed(char *line)
{
	size_t n;

	while (*line == '\t' || *line == ' ')
		line++;
	n = strlen(line);
	while (n && (line[n - 1] == '\n' || line[n - 1] == ' '))
		line[--n] = 0;
	return line;
}

/* One answer per sample: what llvm-mc printed if that was one line, or "". */
static void compare(enum sim_gfx gfx, size_t count, FILE *printed, unsigned int *same, unsigned int *neither)
{
	char line[512], first[512] = "";
	unsigned int lines = 0, complaints = 0;
	size_t at = 0;

	while (at < count && fgets(line, sizeof(line), printed)) {
		char *text = trimmed(line), ours[256] = "";
		const struct sample *s = &samples[at];
		uint32_t size;
		bool theirs;

		if (strcmp(text, "s_nop 0x1235") != 0) {
			if (!strcmp(text, ".text") || !*text)
				continue;
			if (!lines++)
				snprintf(first, sizeof(first), "%s", text);
			else if (lines == 2 && strcmp(text, "s_nop 0x1234") != 0)
				lines = 9;
			continue;
		}
		/* a wrong first word, and something else found in the second, or a complaint in a comment */
		theirs = lines == 2 && !strstr(first, "nvalid") && !strstr(first, "/*") &&
			 !strncmp(first, s->row->name, strlen(s->row->name));
		size = sim_disassemble(gfx, (const uint8_t *)s->words, 4 * s->count, 0, ours, sizeof(ours));
		size = size == 4 * s->count ? size : 0;
		if (theirs && size && !strcmp(first, ours)) {
			++*same;
		} else if (!theirs && !size) {
			++*neither;
		} else if (complaints++ < 12) {
			fprintf(stderr, "%s %s %08x %08x: '%s', LLVM '%s'\n", cpus[gfx], s->row->name,
				s->words[0], s->count > 1 ? s->words[1] : 0, size ? ours : "",
				theirs ? first : "");
		}
		lines = 0;
		first[0] = 0;
		at++;
	}
	ck_assert_uint_eq(at, count);
	ck_assert_uint_eq(complaints, 0);
}

START_TEST(test_all)
{
	static const uint32_t marks[] = { 0xbf801234, 0xbf801235 };
	const char *mc = getenv("LLVM_MC");
	char in[] = "/tmp/sim-print-XXXXXX", command[512];
	unsigned int same = 0, neither = 0;
	uint64_t seed = 20240601;
	size_t count = 0;
	FILE *f;

	ck_assert_ptr_nonnull(mc);
	f = fdopen(mkstemp(in), "w");
	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < isa_row_count; i++) {
		for (unsigned int k = 0; k < EACH && isa_rows[i].cpus >> _i & 1 && count < SAMPLES;
		     k++, count++) {
			struct sample *s = &samples[count];

			s->row = &isa_rows[i];
			s->count = encode_row(s->row, (enum sim_gfx)_i, &seed, s->words);
			put_bytes(f, s->words, s->count);
			put_bytes(f, &marks[0], 1);
			put_bytes(f, &marks[1], 1);
		}
	}
	fclose(f);
	snprintf(command, sizeof(command), "%s -disassemble -arch=amdgcn -mcpu=%s %s 2>/dev/null", mc,
		 cpus[_i], in);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	compare((enum sim_gfx)_i, count, f, &same, &neither);
	pclose(f);
	unlink(in);
	printf("%s: %zu samples, %u printed alike, %u instructions to neither\n", cpus[_i], count, same,
	       neither);
	ck_assert_uint_gt(same, count * 3 / 5);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sim-print");
	TCase *t = tcase_create("print");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_all, 0, 5);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
