/* SPDX-License-Identifier: BSD-3-Clause */
/* test_record.c - what the card writes down: captured streams, traces, statistics. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"

static const char *const generations[] = { "gfx900", "gfx1030" };

static struct card card;

START_TEST(test_capture)
{
	char path[] = "/tmp/amdgpu-sim-capture-XXXXXX", text[128] = "", line[300] = "";
	struct stream s;
	FILE *file;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	snprintf(text, sizeof(text), "capture %s", path);
	card_open(&card, "gfx1201", text);
	s = stream_new(&card);
	put(&s, PACKET(0x76, 2));
	put(&s, 0x22f);
	put(&s, 0x12345678);
	put(&s, PACKET(0x15, 4));
	for (size_t i = 0; i < 4; i++)
		put(&s, 1);
	/* its waves do not run here; its stream is written down all the same */
	ck_assert_int_eq(run(&card, &s), -ETIME);
	file = fdopen(fd, "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	snprintf(text, sizeof(text), "ib compute %#llx 8 0\n", (unsigned long long)s.mem->va);
	ck_assert_str_eq(line, text);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	ck_assert_str_eq(line, "c0017600 0000022f 12345678 c0031500 00000001 00000001 00000001 00000001\n");
	fclose(file);
	unlink(path);
}
END_TEST

/* Behind @text, which the trace has after @from; it begins a line or ends one. */
static const char *traced(const char *from, const char *text)
{
	const char *at = strstr(from, text);

	ck_assert_msg(at, "'%s' is not in:\n%s", text, from);
	return at + strlen(text);
}

/* A trace has each packet with its dwords, then each instruction of each wave with the registers that a lane reads. */
START_TEST(test_trace)
{
	char path[] = "/tmp/amdgpu-sim-trace-XXXXXX", text[160], trace[16384] = "";
	const char *exec = _i ? "0xffffffff" : "0xffffffffffffffff", *at = trace;
	struct launch l;
	struct stream s;
	struct mem *out;
	FILE *file;
	size_t size;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	snprintf(text, sizeof(text), "trace packets %s;trace instructions %s 5", path, path);
	card_open(&card, generations[_i], text);
	l = launch_ids(&card, &out);
	l.groups = 2;
	s = stream_new(&card);
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	amdgpu_sim_control("trace off");
	ck_assert_int_eq(run(&card, &s), 0);
	file = fdopen(fd, "r");
	size = fread(trace, 1, sizeof(trace) - 1, file);
	fclose(file);
	unlink(path);
	ck_assert_uint_lt(size, sizeof(trace) - 1);

	snprintf(text, sizeof(text), "%#llx %08x ACQUIRE_MEM %08x ", (unsigned long long)s.mem->va,
		 PACKET(0x58, card.gfx10 ? 7u : 6u), card.gfx10 ? 0 : 0x28c40000);
	ck_assert_int_eq(strncmp(trace, text, strlen(text)), 0);
	snprintf(text, sizeof(text), " c0017600 SET_SH_REG 0000020c %08x\n", (uint32_t)(l.code >> 8));
	at = traced(at, text);
	snprintf(text, sizeof(text), " c0031500 DISPATCH_DIRECT 00000002 00000001 00000001 %08x\n",
		 card.gfx10 ? 0x8005 : 0x45);
	at = traced(at, text);
	for (uint32_t group = 0; group < 2; group++) {
		const char *const lines[] = {
			_i ? "s_lshl_b32 s3, s2, 5 ; s2=%08x\n" : "s_lshl_b32 s3, s2, 6 ; s2=%08x\n",
			_i ? "v_add_nc_u32_e32 v1, s3, v0 ; v0=00000005 s3=%08x\n"
			   : "v_add_u32_e32 v1, s3, v0 ; v0=00000005 s3=%08x\n",
			"v_lshlrev_b32_e32 v2, 2, v1 ; v1=%08x\n",
		};
		const uint32_t values[] = { group, group * l.size, group * l.size + 5 };

		for (uint32_t i = 0; i < 3; i++) {
			int n = snprintf(text, sizeof(text),
					 " %#llx exec %s: ", (unsigned long long)(l.code + 4 * i), exec);

			snprintf(text + n, sizeof(text) - (size_t)n, lines[i], values[i]);
			at = traced(at, text);
		}
		at = traced(at, "global_store_dword v2, v1, s[0:1] ; ");
		snprintf(text, sizeof(text), "v1=%08x", group * l.size + 5);
		at = traced(at, text);
		at = traced(at, ": s_endpgm\n");
	}
	snprintf(text, sizeof(text), " %08x EVENT_WRITE 00000407\n", PACKET(0x46, 1));
	at = traced(at, text);
	ck_assert_ptr_null(strstr(at, "DISPATCH"));
	card_close(&card);
}
END_TEST

/* Statistics count what a dispatch did. */
START_TEST(test_statistics)
{
	char path[] = "/tmp/amdgpu-sim-statistics-XXXXXX", text[128], line[700] = "";
	struct mem *out;
	struct launch l;
	struct stream s;
	FILE *file;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	snprintf(text, sizeof(text), "statistics %s", path);
	card_open(&card, generations[_i], text);
	l = launch_ids(&card, &out);
	s = stream_new(&card);
	l.groups = 3;
	put_acquire(&s, card.gfx10);
	put_launch(&s, &card, &l);
	ck_assert_int_eq(run(&card, &s), 0);
	amdgpu_sim_control("statistics now");
	file = fdopen(fd, "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	snprintf(text, sizeof(text), "dispatch client=1 code=%#llx groups=3x1x1 size=%ux1x1 ",
		 (unsigned long long)l.code, l.size);
	ck_assert_int_eq(strncmp(line, text, strlen(text)), 0);
	snprintf(text, sizeof(text), " bytes_stored=%u\n", 3 * l.size * 4);
	ck_assert_ptr_nonnull(strstr(line, text));
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
	ck_assert_int_eq(strncmp(line, "total dispatches=1 ", 19), 0);
	fclose(file);
	unlink(path);
	card_close(&card);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("record");
	TCase *tc = tcase_create("record");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_capture);
	tcase_add_loop_test(tc, test_trace, 0, 2);
	tcase_add_loop_test(tc, test_statistics, 0, 2);
	suite_add_tcase(suite, tc);
	return sim_main(suite, argv);
}
