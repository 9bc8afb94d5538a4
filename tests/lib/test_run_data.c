// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_run_data.c - what gpgpu run makes of the text that buffers are given by, and the files it makes of buffers. Without a device.
 *
 * What is refused ends the program (die()), so these tests are of their exit status; tools.py has what is said.
 */
#include <check.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static const struct element *type_of(const char *name)
{
	return element_find(name, strlen(name));
}

static void *make(const char *type, const char *text, uint64_t want_size)
{
	uint64_t size = 0;
	void *bytes = input_make("test", type ? type_of(type) : NULL, text, 1, &size);

	ck_assert_uint_eq(size, want_size);
	return bytes;
}

START_TEST(types_are_found)
{
	const char *text = "f32:1,2", *none = "ramp:1";

	ck_assert_ptr_null(element_find("u3", 2));
	ck_assert_ptr_eq(element_find("u32x", 3), type_of("u32"));
	ck_assert_ptr_eq(element_of(4, true, true), type_of("f32"));
	ck_assert_ptr_eq(element_of(4, true, false), type_of("s32"));
	ck_assert_ptr_eq(element_of(1, false, false), type_of("u8"));
	ck_assert_ptr_null(element_of(2, true, true));
	ck_assert_ptr_eq(element_prefix(&text, NULL), type_of("f32"));
	ck_assert_str_eq(text, "1,2");
	ck_assert_ptr_eq(element_prefix(&none, type_of("s8")), type_of("s8"));
	ck_assert_str_eq(none, "ramp:1");
}
END_TEST

/* Text, and what it is as text again. */
static const struct {
	const char *type, *text, *again;
} numbers[] = {
	{ "u8", "255", "255" },
	{ "s8", "-128", "-128" },
	{ "u16", "0xffff", "65535" },
	{ "s32", "-2147483648", "-2147483648" },
	{ "u64", "18446744073709551615", "18446744073709551615" },
	{ "s64", "-9223372036854775808", "-9223372036854775808" },
	{ "f32", "0.1", "0.100000001" },
	{ "f64", "0.1", "0.10000000000000001" },
	{ "f32", "-inf", "-inf" },
	{ "f32", "0x1.8p1", "3" },
};

START_TEST(numbers_and_back)
{
	const struct element *type = type_of(numbers[_i].type);
	uint8_t at[16];
	char text[32];

	memset(at, 0xaa, sizeof(at));
	element_parse("test", type, numbers[_i].text, strlen(numbers[_i].text), at);
	ck_assert_str_eq(element_print(type, at, text), numbers[_i].again);
	for (size_t i = type->size; i < sizeof(at); i++)
		ck_assert_uint_eq(at[i], 0xaa);
}
END_TEST

START_TEST(lists)
{
	int16_t *s = make("s16", "1, -2;3", 6);
	float *f = make("u8", "f32:0.5,1.5", 8);

	ck_assert(s[0] == 1 && s[1] == -2 && s[2] == 3);
	ck_assert(f[0] == 0.5f && f[1] == 1.5f);
	free(s);
	free(f);
}
END_TEST

START_TEST(patterns)
{
	uint32_t *same = make("u32", "3*7", 12), *ramp = make("u32", "4*ramp:10:0", 16);
	double *steps = make("f64", "3*ramp:1:0.25", 24);
	uint8_t *wraps = make("u8", "300*ramp", 300);
	int8_t *down = make("s8", "3*ramp:1:-1", 3);
	float *nan = make("f32", "2*nan", 8);

	ck_assert(same[0] == 7 && same[2] == 7);
	ck_assert(ramp[0] == 10 && ramp[3] == 10);
	ck_assert(steps[0] == 1 && steps[1] == 1.25 && steps[2] == 1.5);
	ck_assert(wraps[255] == 255 && wraps[256] == 0 && wraps[299] == 43);
	ck_assert(down[0] == 1 && down[1] == 0 && down[2] == -1);
	ck_assert(isnan(nan[0]) && isnan(nan[1]));
	free(same);
	free(ramp);
	free(steps);
	free(wraps);
	free(down);
	free(nan);
}
END_TEST

START_TEST(random_numbers)
{
	uint64_t size;
	int32_t *a = make("s32", "1000*random:-3:3", 4000), *b = make("s32", "1000*random:-3:3", 4000);
	int32_t *other = input_make("test", type_of("s32"), "1000*random:-3:3", 2, &size);
	float *f = make("f32", "1000*random", 4000);
	int seen[7] = { 0 };

	ck_assert_mem_eq(a, b, 4000);
	ck_assert_mem_ne(a, other, 4000);
	for (int i = 0; i < 1000; i++) {
		ck_assert(a[i] >= -3 && a[i] <= 3);
		seen[a[i] + 3]++;
		ck_assert(f[i] >= 0 && f[i] <= 1);
	}
	for (int i = 0; i < 7; i++)
		ck_assert_int_gt(seen[i], 80);
	free(a);
	free(b);
	free(other);
	free(f);
}
END_TEST

START_TEST(files)
{
	char path[] = "/tmp/run_data.XXXXXX", text[64];
	FILE *f = fdopen(mkstemp(path), "w");
	uint8_t *raw;
	float *read;

	fputs("# two rows\n1,2.5\n\n-3 4 # and a half\n", f);
	fclose(f);
	snprintf(text, sizeof(text), "text@%s", path);
	read = make("f32", text, 16);
	ck_assert(read[0] == 1 && read[1] == 2.5f && read[2] == -3 && read[3] == 4);
	snprintf(text, sizeof(text), "@%s", path);
	raw = make(NULL, text, 36);
	ck_assert_mem_eq(raw, "# two rows\n1,2.5", 16);
	ck_assert_ptr_null(make(NULL, "+4096", 4096));
	free(read);
	free(raw);
	unlink(path);
}
END_TEST

static const struct {
	const char *type, *text;
} refused[] = {
	{ "u8", "256,1" },
	{ "u8", "-1,1" },
	{ "s8", "128,1" },
	{ "s8", "1,-129" },
	{ "u32", "1.5,2" },
	{ "u32", "1,x" },
	{ "f32", "1,2x" },
	{ NULL, "1,2" },
	{ "u32", "0*1" },
	{ "u32", "x*1" },
	{ "u32", "3*hello" },
	{ "u32", "3*ramp:1:2:3" },
	{ "u32", "3*random:1" },
	{ "u32", "3*random:5:4" },
	{ "u64", "3*random:1152921504606846977:1152921504606846976" },
	{ "s8", "3*random:-3:-4" },
	{ "u32", "," },
	{ "u64", "18446744073709551616,1" },
	{ "f64", "99999999999999999999*1" },
	{ "u32", "4611686018427387904*1" },
	{ "u32", "@/nothing/there" },
	{ NULL, "+0" },
	{ "u64", "9999999999999999*1" },
};

START_TEST(bad_text)
{
	uint64_t size;

	fclose(stderr);
	input_make("test", refused[_i].type ? type_of(refused[_i].type) : NULL, refused[_i].text, 1, &size);
}
END_TEST

/* What output_write() makes of it, as a string to be freed. */
static char *written(const char *type, const char *how, uint64_t width, const void *bytes, uint64_t size,
		     size_t *length)
{
	struct output o = output_parse("test", type ? type_of(type) : NULL, how);
	char *text = NULL;
	FILE *f = open_memstream(&text, length);

	output_write("test", &o, width, bytes, size, f);
	fclose(f);
	return text;
}

START_TEST(text_and_tables)
{
	const float f[4] = { 1, -0.5f, 1e10f, 0.1f };
	const int16_t s[3] = { 1, -2, 3 };
	size_t n;
	char *text = written("f32", "text@x", 7, f, sizeof(f), &n);

	ck_assert_str_eq(text, "1\n-0.5\n1e+10\n0.100000001\n");
	free(text);
	text = written("u8", "f32:csv:2@x", 7, f, sizeof(f), &n);
	ck_assert_str_eq(text, "1,-0.5\n1e+10,0.100000001\n");
	free(text);
	text = written("s16", "csv@x", 2, s, sizeof(s), &n);
	ck_assert_str_eq(text, "1,-2\n3\n");
	free(text);
	text = written(NULL, "@x", 2, s, sizeof(s), &n);
	ck_assert_uint_eq(n, sizeof(s));
	ck_assert_mem_eq(text, s, n);
	free(text);
}
END_TEST

START_TEST(grey_pictures)
{
	const uint8_t bytes[6] = { 0, 1, 2, 253, 254, 255 };
	const float f[4] = { -1, 0, 1, NAN };
	size_t n;
	char *text = written("u8", "pgm@x", 3, bytes, sizeof(bytes), &n);

	ck_assert_uint_eq(n, 11 + 6);
	ck_assert_mem_eq(text, "P5\n3 2\n255\n", 11);
	ck_assert_mem_eq(text + 11, bytes, 6);
	free(text);
	text = written("f32", "pgm:2@x", 3, f, sizeof(f), &n);
	ck_assert_mem_eq(text, "P5\n2 2\n255\n\0\x80\xff\0", 15);
	free(text);
	text = written("f32", "pgm:2:0:2@x", 3, f, sizeof(f), &n);
	ck_assert_mem_eq(text, "P5\n2 2\n255\n\0\0\x80\0", 15);
	free(text);
}
END_TEST

START_TEST(png_pictures)
{
	const uint8_t rgb[12] = { 255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7 };
	png_image image = { .version = PNG_IMAGE_VERSION };
	uint8_t got[12];
	size_t n;
	char *file = written("u8", "png-rgb:2@x", 3, rgb, sizeof(rgb), &n);

	ck_assert(png_image_begin_read_from_memory(&image, file, n));
	ck_assert(image.width == 2 && image.height == 2);
	image.format = PNG_FORMAT_RGB;
	ck_assert(png_image_finish_read(&image, NULL, got, 0, NULL));
	ck_assert_mem_eq(got, rgb, 12);
	free(file);
	file = written("u8", "png@x", 6, rgb, sizeof(rgb), &n);
	image = (png_image){ .version = PNG_IMAGE_VERSION };
	ck_assert(png_image_begin_read_from_memory(&image, file, n));
	ck_assert(image.width == 6 && image.height == 2);
	image.format = PNG_FORMAT_GRAY;
	ck_assert(png_image_finish_read(&image, NULL, got, 0, NULL));
	ck_assert_mem_eq(got, rgb, 12);
	free(file);
}
END_TEST

static const struct {
	const char *type, *how;
	uint64_t size;
} bad_outputs[] = {
	{ "u8", "text", 4 },	      { "u8", "text@", 4 },	  { "u8", "gif@x", 4 },
	{ NULL, "text@x", 4 },	      { "u8", "png:3@x", 4 },	  { "u8", "png-rgb:1@x", 4 },
	{ "u32", "png-rgb:1@x", 12 }, { "u8", "png:0@x", 4 },	  { "u8", "pgm:2:1@x", 4 },
	{ "u8", "pgm:2:5:4@x", 4 },   { "u8", "csv:2:0:1@x", 4 }, { "u8", "pgm:x@x", 4 },
};

START_TEST(bad_output)
{
	const uint8_t bytes[16] = { 0 };
	size_t n;

	fclose(stderr);
	written(bad_outputs[_i].type, bad_outputs[_i].how, 1, bytes, bad_outputs[_i].size, &n);
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))

int main(void)
{
	Suite *suite = suite_create("gpgpu run");
	TCase *tc = tcase_create("data");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, types_are_found);
	tcase_add_loop_test(tc, numbers_and_back, 0, COUNT(numbers));
	tcase_add_test(tc, lists);
	tcase_add_test(tc, patterns);
	tcase_add_test(tc, random_numbers);
	tcase_add_test(tc, files);
	tcase_add_loop_exit_test(tc, bad_text, 1, 0, COUNT(refused));
	tcase_add_test(tc, text_and_tables);
	tcase_add_test(tc, grey_pictures);
	tcase_add_test(tc, png_pictures);
	tcase_add_loop_exit_test(tc, bad_output, 1, 0, COUNT(bad_outputs));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
