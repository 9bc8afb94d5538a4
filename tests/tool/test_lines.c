// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_lines.c - reading a line table (jit/line_table.c): one that a compiler wrote, and the same one damaged.
 *
 * lines_input.c is compiled with debug information of DWARF 4. Its sections are said to lie one behind the
 * other in an image, as flattening does.
 */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/lines.h"

static uint8_t *elf;
static size_t elf_size;

static void let_go(void)
{
	free(elf);
}

static void read_object(void)
{
	FILE *f = fopen(OBJECT, "rb");

	ck_assert_ptr_nonnull(f);
	fseek(f, 0, SEEK_END);
	elf_size = (size_t)ftell(f);
	rewind(f);
	elf = malloc(elf_size);
	ck_assert_uint_eq(fread(elf, 1, elf_size, f), elf_size);
	fclose(f);
}

static const Elf64_Shdr *sections(void)
{
	return (const void *)(elf + ((const Elf64_Ehdr *)elf)->e_shoff);
}

static const Elf64_Shdr *section(const char *name)
{
	const Elf64_Ehdr *h = (const void *)elf;
	const char *names = (const char *)elf + sections()[h->e_shstrndx].sh_offset;

	for (int i = 0; i < h->e_shnum; i++)
		if (!strcmp(names + sections()[i].sh_name, name))
			return &sections()[i];
	return NULL;
}

/* Code from byte @start of the image on; @placed false: no code is in it. */
static struct gp_code image(uint32_t start, bool placed)
{
	const Elf64_Ehdr *h = (const void *)elf;
	struct gp_code code = { .num_places = h->e_shnum, .size = start };

	code.place = calloc(h->e_shnum, sizeof(*code.place));
	for (int i = 0; i < h->e_shnum; i++) {
		code.place[i] = GP_NOT_PLACED;
		if (!placed || !(sections()[i].sh_flags & SHF_EXECINSTR) || !sections()[i].sh_size)
			continue;
		code.place[i] = code.size;
		code.size += (uint32_t)sections()[i].sh_size;
	}
	return code;
}

static void release(struct gp_code *code)
{
	free(code->place);
	free(code->lines);
}

static void check_sound(const struct gp_code *code)
{
	for (uint32_t i = 0; i < code->num_lines; i++) {
		ck_assert_uint_le(code->lines[i].offset, code->size);
		ck_assert(code->lines[i].insn < GP_MAX_INSNS || code->lines[i].insn == GP_LINE_NONE);
		if (i) {
			ck_assert_uint_gt(code->lines[i].offset, code->lines[i - 1].offset);
			ck_assert_uint_ne(code->lines[i].insn, code->lines[i - 1].insn);
		}
	}
}

static bool has_line(const struct gp_code *code, uint32_t line)
{
	for (uint32_t i = 0; i < code->num_lines; i++)
		if (code->lines[i].insn == line - 1)
			return true;
	return false;
}

START_TEST(test_good)
{
	struct gp_code code = image(4096, true);
	char error[GP_MESSAGE];

	ck_assert(gp_line_table(elf, elf_size, &code, error));
	check_sound(&code);
	ck_assert_uint_gt(code.num_lines, 4);
	/* As lines_input.c has them. */
	ck_assert(has_line(&code, FIRST_LINE));
	ck_assert(has_line(&code, FAR_LINE));
	/* Beyond what a program has: not an instruction. */
	ck_assert(!has_line(&code, 20000));
	ck_assert_uint_eq(code.lines[0].offset, 4096);
	ck_assert_uint_eq(code.lines[code.num_lines - 1].insn, GP_LINE_NONE);
	release(&code);
}
END_TEST

START_TEST(test_not_in_image)
{
	struct gp_code code = image(4096, false);
	char error[GP_MESSAGE];

	ck_assert(gp_line_table(elf, elf_size, &code, error));
	ck_assert_uint_eq(code.num_lines, 0);
	release(&code);
}
END_TEST

/* One to three bytes of the table or of its relocations are something else: refused, or sound. */
START_TEST(test_damaged)
{
	static const char *const names[] = { ".debug_line", ".rela.debug_line" };
	uint32_t random = 1, refused = 0, tries = 0;

	for (int n = 0; n < 2; n++) {
		const Elf64_Shdr *s = section(names[n]);

		ck_assert_ptr_nonnull(s);
		for (int i = 0; i < 4000; i++, tries++) {
			struct gp_code code = image(64, true);
			char error[GP_MESSAGE];
			uint8_t *whole = elf;

			elf = malloc(elf_size);
			memcpy(elf, whole, elf_size);
			for (int b = 0; b < 1 + i % 3; b++) {
				random = random * 1664525 + 1013904223;
				elf[s->sh_offset + (random >> 8) % s->sh_size] = (uint8_t)(random >> 20);
			}
			if (gp_line_table(elf, elf_size, &code, error))
				check_sound(&code);
			else
				refused++;
			free(elf);
			elf = whole;
			release(&code);
		}
	}
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_lt(refused, tries);
}
END_TEST

START_TEST(test_cut)
{
	Elf64_Shdr *s = (Elf64_Shdr *)(uintptr_t)section(".debug_line");
	uint64_t size = s->sh_size;

	for (s->sh_size = 0; s->sh_size < size; s->sh_size++) {
		struct gp_code code = image(0, true);
		char error[GP_MESSAGE];

		if (gp_line_table(elf, elf_size, &code, error))
			check_sound(&code);
		release(&code);
	}
	s->sh_size = size;
}
END_TEST

/* Flattening: names of symbols in a section that has no bytes, and so may say to lie anywhere. */
START_TEST(test_names_nowhere)
{
	Elf64_Shdr *s = (Elf64_Shdr *)(uintptr_t)section(".symtab"), *names;
	char error[GP_MESSAGE] = "";
	struct gp_code code;
	Elf64_Shdr kept;

	ck_assert_ptr_nonnull(s);
	names = (Elf64_Shdr *)(uintptr_t)sections() + s->sh_link;
	kept = *names;
	names->sh_type = SHT_NOBITS;
	names->sh_offset = 1ull << 46;
	ck_assert(!gp_image_flatten(elf, elf_size, elf, elf_size, "main", &code, error));
	ck_assert_str_eq(error, "bad symbol table");
	ck_assert_ptr_null(code.bytes);
	*names = kept;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lines");
	TCase *tc = tcase_create("line table");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_unchecked_fixture(tc, read_object, let_go);
	tcase_set_timeout(tc, 0);
	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_not_in_image);
	tcase_add_test(tc, test_damaged);
	tcase_add_test(tc, test_cut);
	tcase_add_test(tc, test_names_nowhere);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
