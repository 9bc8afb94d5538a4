// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_fields.c - maps as text: what fields become, what one line of a file sets, and what is refused.
 *
 * What is refused ends the program, so each such case is a test that has to exit with status 1.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const struct {
	const char *text;
	size_t size;
	const char *hex;
} good[] = {
	{ "u8:255", 1, "ff" },
	{ "u16:0x1234", 2, "3412" },
	{ "u32:1 u32:2", 8, "0100000002000000" },
	{ "u64:-1", 8, "ffffffffffffffff" },
	{ "u8:-128", 1, "80" },
	{ "be16:80 be32:1 be64:2", 14, "0050000000010000000000000002" },
	{ "ip4:10.7.0.2", 4, "0a070002" },
	{ "ip6:fd00:7::2", 16, "fd000007000000000000000000000002" },
	{ "mac:02:00:00:00:00:fe", 6, "0200000000fe" },
	{ "hex:00ff80", 3, "00ff80" },
	{ "u8:1 zero:2 u8:2", 4, "01000002" },
	{ "u8:1", 4, "01000000" },
	{ "", 2, "0000" },
	{ "  u8:1\tu8:2\n", 2, "0102" },
};

START_TEST(fields_become_bytes)
{
	uint8_t out[64];
	char hex[130] = "";

	fields_parse("test", good[_i].text, out, good[_i].size, 0);
	for (size_t i = 0; i < good[_i].size; i++)
		sprintf(hex + 2 * i, "%02x", out[i]);
	ck_assert_str_eq(hex, good[_i].hex);
	ck_assert_uint_eq(fields_steps("test", good[_i].text), 1);
}
END_TEST

START_TEST(ranges_and_lists)
{
	uint8_t out[8];

	ck_assert_uint_eq(fields_steps("test", "u32:10..19"), 10);
	ck_assert_uint_eq(fields_steps("test", "u32:10..19 u8:0..2"), 10);
	for (uint8_t i = 0; i < 10; i++) {
		fields_parse("test", "u32:10..19 u8:{7,8,9} be16:0..1", out, sizeof(out), i);
		ck_assert_uint_eq(out[0], 10 + i);
		ck_assert_uint_eq(out[4], 7 + i % 3);
		ck_assert_uint_eq(out[6], i % 2);
	}
}
END_TEST

static const char *const bad[] = {
	"u8:256",
	"u8:-129",
	"u8:",
	"u8:1x",
	"u8",
	"u16:{1,2",
	"u16:{1,2}x",
	"u16:{}",
	"ip4:10.7.0",
	"ip4:10.7.0.2.",
	"ip6:fd00",
	"mac:02:00:00:00:00",
	"mac:1:2:3:4:5:6x",
	"hex:0",
	"hex:0g",
	"zero:x",
	"zero:99999999",
	"@/nowhere/at/all",
	"u8:1 u8:2 u8:3 u8:4 u8:5",
	"u8:1 zero:4",
	"u64:18446744073709551616",
	"be16:65536",
	"u32:1..",
};

START_TEST(refused)
{
	uint8_t out[4];

	fields_steps("test", bad[_i]);
	fields_parse("test", bad[_i], out, sizeof(out), 0);
}
END_TEST

/* A map that only remembers: 16 keys of one byte, values of four. */
static struct {
	uint8_t set[16], value[16][4];
} memory;

static int memory_update(void *map, const void *key, const void *value, size_t size)
{
	uint8_t k = *(const uint8_t *)key;

	ck_assert_uint_eq(size, 4);
	if (k >= 16)
		return -E2BIG;
	memory.set[k] = 1;
	memcpy(memory.value[k], value, 4);
	return 0;
}

static int memory_lookup(void *map, const void *key, void *value, size_t size)
{
	memcpy(value, memory.value[*(const uint8_t *)key], 4);
	return 0;
}

/* Backwards, as a hash might. */
static int memory_next_key(void *map, const void *key, void *next)
{
	for (int k = key ? *(const uint8_t *)key - 1 : 15; k >= 0; k--) {
		if (memory.set[k]) {
			*(uint8_t *)next = (uint8_t)k;
			return 0;
		}
	}
	return -ENOENT;
}

static const char *memory_error(int err)
{
	return strerror(-err);
}

static const struct map_target target = {
	.name = "memory",
	.key_size = 1,
	.value_size = 4,
	.update = memory_update,
	.lookup = memory_lookup,
	.next_key = memory_next_key,
	.error = memory_error,
};

static const char *write_config(const char *text)
{
	static char path[] = "/tmp/gpgpu-config-XXXXXX";
	int fd;

	strcpy(path, "/tmp/gpgpu-config-XXXXXX");
	fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	ck_assert(f != NULL);
	fputs(text, f);
	fclose(f);
	return path;
}

START_TEST(files_set_and_dumps_show)
{
	const char *path = write_config("# nothing\n\n memory u8:5 = u32:0x01020304 # five\n"
					"memory u8:9..11=be32:{1,2}\nmemory u8:0 =\n");
	char *text;
	size_t size;
	FILE *f;

	memset(&memory, 0, sizeof(memory));
	mapconfig_apply(path, &target, 1);
	remove(path);
	f = open_memstream(&text, &size);
	mapconfig_dump(f, &target);
	fclose(f);
	ck_assert_str_eq(text, "memory 00 00000000\nmemory 05 04030201\nmemory 09 00000001\n"
			       "memory 0a 00000002\nmemory 0b 00000001\n");
	free(text);
}
END_TEST

static const char *const bad_files[] = {
	"memory u8:1\n",
	"other u8:1 = u32:1\n",
	"memory u8:16 = u32:1\n",
	"memory u8:1 u8:1 = u32:1\n",
	"memory u8:1 = u32:1 u8:1\n",
	"memory\n",
};

START_TEST(refused_file)
{
	/* The file stays if the test fails, and only then. */
	const char *path = write_config(bad_files[_i]);
	char copy[64];
	FILE *f = fopen(path, "r");

	ck_assert(f != NULL);
	remove(path);
	snprintf(copy, sizeof(copy), "/proc/self/fd/%d", fileno(f));
	mapconfig_apply(copy, &target, 1);
}
END_TEST

START_TEST(numbers)
{
	ck_assert_str_eq(grouped(0), "0");
	ck_assert_str_eq(grouped(999), "999");
	ck_assert_str_eq(grouped(1000), "1,000");
	ck_assert_str_eq(grouped(123456789), "123,456,789");
	ck_assert_uint_eq(parse_number("0x10", 0, 16, "test"), 16);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fields");
	TCase *tc = tcase_create("fields");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, fields_become_bytes, 0, ARRAY_SIZE(good));
	tcase_add_test(tc, ranges_and_lists);
	tcase_add_loop_exit_test(tc, refused, 1, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, files_set_and_dumps_show);
	tcase_add_loop_exit_test(tc, refused_file, 1, 0, ARRAY_SIZE(bad_files));
	tcase_add_test(tc, numbers);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
