/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_edges.c - instructions at the edges of what they take, against what AMD's documents of the instruction sets say.
 *
 * A row of edges/ is a few instructions, what registers and memory hold before, and what they must hold after:
 *
 *     WHERE CODE [; CODE]... | BEFORE... | AFTER...
 *
 * WHERE is all, gfx9, gfx10, wave64 (gfx9, and gfx10 with waves of 64) or wave32, and +2 behind it for a group of two waves
 * (or more), of which only memory can be looked at. The code is written as LLVM prints
 * it, so that what our decoder makes of its bytes is compared with it too; in waves of 32 "vcc" stands for "vcc_lo".
 *
 *     BEFORE  v3=VALUE s10=VALUE (one register), v[2:3]=VALUE s[10:11]=VALUE (two), vcc= exec= m0= scc=, m[BYTES]=
 *             (a dword of the page at s[2:3])
 *     AFTER   likewise; v3=VALUE is of all lanes, v3[5]=VALUE of one; m[BYTES]=; or fault:TEXT, to the end of the line
 *     VALUE   integers as C has them, 1.5f or 1.5d as the bits of a number
 *
 * v0 is the lane, s[0:1] the page for results, s[4:5] the scratch memory, s8 the wave's offset in it; v40 and s80 and up
 * are this program's. All rows are assembled at once by clang (CLANG names it; the files are arguments), for each of
 * three machines.
 */
#include <check.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness.h"

#define MAX_ROWS    1024
#define MAX_FIELDS  24
#define DATA	    4096 /* bytes of the page at s[2:3] */
#define OUT	    4096
#define LDS_BYTES   1024
#define SCRATCH_ROW 256 /* bytes a lane has */

enum { ALL = 7, GFX900 = 1, GFX1030_64 = 2, GFX1030_32 = 4 };

static const struct machine {
	const char *name, *flags;
	enum sim_gfx gfx;
	uint32_t wave, rsrc1;
	int bit;
} machines[] = {
	/* 64 vector registers; gfx9: 104 scalar ones; denormals, IEEE mode and DX10_CLAMP as compilers have it */
	{ "gfx900", "-mcpu=gfx900", SIM_GFX900, 64, 15 | 12u << 6 | 0xf0u << 12 | 1u << 21 | 1u << 23,
	  GFX900 },
	{ "gfx1030, waves of 64", "-mcpu=gfx1030 -mwavefrontsize64", SIM_GFX1030, 64,
	  15 | 0xf0u << 12 | 1u << 21 | 1u << 23 | 3u << 29, GFX1030_64 },
	{ "gfx1030", "-mcpu=gfx1030", SIM_GFX1030, 32, 7 | 0xf0u << 12 | 1u << 21 | 1u << 23 | 3u << 29,
	  GFX1030_32 },
};

enum kind { K_VGPR, K_SGPR, K_NAMED, K_MEMORY };

struct field {
	enum kind kind;
	char name[12]; /* of K_NAMED */
	unsigned int at; /* register, or byte */
	int lane; /* -1: all */
	bool wide;
	uint64_t value;
};

struct row {
	const char *file;
	unsigned int line;
	int where;
	uint32_t waves;
	char code[400], fault[100];
	struct field before[MAX_FIELDS], after[MAX_FIELDS];
	unsigned int befores, afters;
};

static struct row rows[MAX_ROWS];
static size_t num_rows;

/* ------------------------------------------------------------------ reading */

static void bad(const struct row *row, const char *what)
{
	fprintf(stderr, "%s:%u: %s\n", row->file, row->line, what);
	exit(EXIT_FAILURE);
}

static uint64_t value_of(const struct row *row, const char *text, bool wide)
{
	size_t length = strlen(text);
	bool hex = !strncmp(text, "0x", 2) || !strncmp(text, "-0x", 3);
	char *end;

	if (!hex && length && (text[length - 1] == 'f' || text[length - 1] == 'd')) {
		double number = strtod(text, &end);
		float single = (float)number;
		uint32_t bits;
		uint64_t value;

		memcpy(&bits, &single, 4);
		memcpy(&value, &number, 8);
		if (end != text + length - 1 || (text[length - 1] == 'd') != wide)
			bad(row, text);
		return wide ? value : bits;
	}
	if (*text == '-') {
		uint64_t value = (uint64_t)strtoll(text, &end, 0);

		if (*end)
			bad(row, text);
		return wide ? value : (uint32_t)value;
	}
	uint64_t value = strtoull(text, &end, 0);
	if (*end || !*text || (!wide && value >> 32))
		bad(row, text);
	return value;
}

static void read_field(struct row *row, char *text, struct field *f)
{
	char *value = strchr(text, '='), *end;
	unsigned int second;

	if (!value)
		bad(row, text);
	*value++ = 0;
	f->lane = -1;
	if ((*text == 'v' || *text == 's' || *text == 'm') && (isdigit(text[1]) || text[1] == '[')) {
		f->kind = *text == 'v' ? K_VGPR : *text == 's' ? K_SGPR : K_MEMORY;
		if (text[1] != '[') {
			f->at = (unsigned int)strtoul(text + 1, &end, 10);
			if (*end == '[')
				f->lane = (int)strtol(end + 1, &end, 10);
			f->kind = !strcmp(text, "m0") ? K_NAMED : f->kind;
		} else if (*text == 'm') {
			f->at = (unsigned int)strtoul(text + 2, &end, 0);
			if (f->at > DATA - 4)
				bad(row, text);
		} else if (sscanf(text + 2, "%u:%u]", &f->at, &second) == 2 && second == f->at + 1) {
			f->wide = true;
			end = strchr(text, ']') + 1;
			if (*end == '[')
				f->lane = (int)strtol(end + 1, &end, 10);
		} else {
			bad(row, text);
		}
	} else {
		f->kind = K_NAMED;
	}
	if (f->kind == K_NAMED) {
		static const char *const names[] = { "vcc",    "exec",	 "m0",	    "scc",
						     "vcc_lo", "vcc_hi", "exec_lo", "exec_hi" };
		size_t n = 0;

		while (n < 8 && strcmp(names[n], text) != 0)
			n++;
		if (n == 8)
			bad(row, text);
		f->wide = n < 2;
		snprintf(f->name, sizeof(f->name), "%s", text);
	}
	f->value = value_of(row, value, f->wide);
}

static unsigned int read_fields(struct row *row, char *text, struct field *to)
{
	unsigned int n = 0;
	char *save = NULL;

	for (char *t = strtok_r(text, " \t\n", &save); t; t = strtok_r(NULL, " \t\n", &save)) {
		if (n == MAX_FIELDS)
			bad(row, "too much in one row");
		read_field(row, t, &to[n++]);
	}
	return n;
}

static void read_row(struct row *row, char *line)
{
	static const struct {
		const char *name;
		int machines;
	} places[] = { { "all", ALL },
		       { "gfx9", GFX900 },
		       { "gfx10", GFX1030_64 | GFX1030_32 },
		       { "wave64", GFX900 | GFX1030_64 },
		       { "wave32", GFX1030_32 } };
	char *code = strpbrk(line, " \t"), *before = strstr(line, " | "), *after;
	size_t n = strcspn(line, " \t+");

	after = before ? strstr(before + 2, "| ") : NULL; /* nothing may be between the two */
	if (!code || !after)
		bad(row, "no three parts");
	*before = *after = 0;
	before += 3;
	after += 2;
	for (size_t i = 0; i < 5; i++)
		if (strlen(places[i].name) == n && !strncmp(line, places[i].name, n))
			row->where = places[i].machines;
	if (!row->where)
		bad(row, "for which machine?");
	row->waves = line[n] == '+' ? (uint32_t)atoi(line + n + 1) : 1;
	if (!row->waves || row->waves > 4)
		bad(row, "how many waves?");
	code += strspn(code, " \t");
	snprintf(row->code, sizeof(row->code), "%s", code);
	row->befores = read_fields(row, before, row->before);
	after += strspn(after, " ");
	if (!strncmp(after, "fault:", 6)) {
		snprintf(row->fault, sizeof(row->fault), "%s", after + 6);
		row->fault[strcspn(row->fault, "\n")] = 0;
		if (!*row->fault)
			bad(row, "which fault?");
	} else {
		row->afters = read_fields(row, after, row->after);
		if (!row->afters)
			bad(row, "nothing is expected");
		for (unsigned int i = 0; i < row->afters && row->waves > 1; i++)
			if (row->after[i].kind != K_MEMORY)
				bad(row, "of several waves there is only memory");
	}
}

static void read_rows(const char *path)
{
	FILE *f = fopen(path, "r");
	const char *name = strrchr(path, '/');
	char line[1024];

	if (!f) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(EXIT_FAILURE);
	}
	for (unsigned int n = 1; fgets(line, sizeof(line), f); n++) {
		struct row *row = &rows[num_rows];

		if (*line == '#' || line[strspn(line, " \t\n")] == 0)
			continue;
		if (num_rows == MAX_ROWS)
			exit(EXIT_FAILURE);
		row->file = name ? name + 1 : path;
		row->line = n;
		read_row(row, line);
		num_rows++;
	}
	fclose(f);
}

/* ----------------------------------------------------------------- assembling */

/* The next instruction of @at, as @m's assembler wants it. Return: behind it, or NULL. */
static const char *next_code(const struct machine *m, const char *at, char *text, size_t room)
{
	size_t n = 0;

	at += strspn(at, " ;");
	if (!*at)
		return NULL;
	while (*at && *at != ';' && n + 4 < room) {
		bool word = !n || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');

		if (m->wave == 32 && word && !strncmp(at, "vcc", 3) && at[3] != '_' && at[3] != 'z' &&
		    at[3] != 'n') {
			memcpy(text + n, "vcc_lo", 6);
			n += 6;
			at += 3;
			continue;
		}
		text[n++] = *at++;
	}
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = 0;
	return at;
}

static void put_before(FILE *f, const struct machine *m, const struct field *b)
{
	const char *letter = b->kind == K_VGPR ? "v_mov_b32_e32 v" : "s_mov_b32 s";

	if (b->kind == K_VGPR || b->kind == K_SGPR) {
		fprintf(f, "\t%s%u, 0x%x\n", letter, b->at, (uint32_t)b->value);
		if (b->wide)
			fprintf(f, "\t%s%u, 0x%x\n", letter, b->at + 1, (uint32_t)(b->value >> 32));
	} else if (b->kind == K_NAMED && !strcmp(b->name, "scc")) {
		fprintf(f, "\ts_cmp_eq_u32 0, %d\n", b->value ? 0 : 1);
	} else if (b->kind == K_NAMED && b->wide) {
		fprintf(f, "\ts_mov_b32 %s_lo, 0x%x\n", b->name, (uint32_t)b->value);
		if (m->wave == 64)
			fprintf(f, "\ts_mov_b32 %s_hi, 0x%x\n", b->name, (uint32_t)(b->value >> 32));
	} else if (b->kind == K_NAMED) {
		fprintf(f, "\ts_mov_b32 %s, 0x%x\n", b->name, (uint32_t)b->value);
	}
}

static bool wants(const struct row *row, const char *name)
{
	for (unsigned int i = 0; i < row->afters; i++)
		if (row->after[i].kind == K_NAMED && !strncmp(row->after[i].name, name, strlen(name)))
			return true;
	return false;
}

/* Which register holds dword @half of @a when results are stored. */
static void put_name(const struct field *a, unsigned int half, char *to, size_t room)
{
	if (!strcmp(a->name, "scc"))
		snprintf(to, room, "s80");
	else if (!strncmp(a->name, "exec", 4))
		snprintf(to, room, "s%u", !strcmp(a->name, "exec_hi") || half ? 83 : 82);
	else if (!strcmp(a->name, "vcc"))
		snprintf(to, room, "vcc_%s", half ? "hi" : "lo");
	else if (a->kind == K_NAMED)
		snprintf(to, room, "%s", a->name);
	else
		snprintf(to, room, "s%u", a->at + half);
}

static void put_after(FILE *f, const struct machine *m, const struct row *row)
{
	unsigned int slot = 0;

	if (wants(row, "scc"))
		fprintf(f, "\ts_cselect_b32 s80, 1, 0\n");
	if (wants(row, "exec"))
		fprintf(f, "\ts_mov_b32 s82, exec_lo\n\ts_mov_b32 s83, %s\n",
			m->wave == 64 ? "exec_hi" : "0");
	fprintf(f, m->wave == 64 ? "\ts_mov_b64 exec, -1\n" : "\ts_mov_b32 exec_lo, -1\n");
	fprintf(f, "\ts_waitcnt 0\n\ts_nop 7\n");
	for (unsigned int i = 0; i < row->afters; i++) {
		const struct field *a = &row->after[i];

		for (unsigned int half = 0; half < (a->wide ? 2u : 1u) && a->kind != K_MEMORY;
		     half++, slot++) {
			unsigned int from = a->at + half;

			if (a->kind != K_VGPR) {
				char name[16];

				put_name(a, half, name, sizeof(name));
				from = 41 + slot;
				fprintf(f, "\tv_mov_b32_e32 v%u, %s\n", from, name);
			}
			fprintf(f, "\tglobal_store_dword v40, v%u, s[0:1] offset:%u\n", from,
				slot * m->wave * 4);
		}
	}
	ck_assert_msg(slot * m->wave * 4 <= (m->gfx == SIM_GFX1030 ? 2048 : 4096), "%s:%u: too many results",
		      row->file, row->line);
}

static void put_row(FILE *f, const struct machine *m, size_t number)
{
	const struct row *row = &rows[number];
	const char *at = row->code;
	char text[256];

	fprintf(f, "\t.p2align 8\n\t.globl e%zu\ne%zu:\n\tv_lshlrev_b32_e32 v40, 2, v0\n", number, number);
	for (unsigned int i = 0; i < row->befores; i++)
		put_before(f, m, &row->before[i]);
	fprintf(f, "\ts_nop 7\n\t.globl c%zu\nc%zu:\n", number, number);
	while ((at = next_code(m, at, text, sizeof(text))))
		fprintf(f, "\t%s\n", text);
	fprintf(f, "\ts_nop 7\n");
	put_after(f, m, row);
	fprintf(f, "\ts_endpgm\n");
}

static void assemble(const struct machine *m, char object[32])
{
	const char *clang = getenv("CLANG");
	char source[] = "/tmp/sim-edges-XXXXXX", command[512];
	FILE *f = fdopen(mkstemp(source), "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(clang);
	fprintf(f, "\t.text\n");
	for (size_t i = 0; i < num_rows; i++)
		if (rows[i].where & m->bit)
			put_row(f, m, i);
	fclose(f);
	snprintf(object, 32, "%s.o", source);
	snprintf(command, sizeof(command), "%s --target=amdgcn-amd-amdhsa %s -x assembler -c %s -o %s", clang,
		 m->flags, source, object);
	ck_assert_int_eq(system(command), 0);
	unlink(source);
}

/* -------------------------------------------------------------------- running */

struct state {
	struct harness h;
	uint32_t *out, *data, *scratch;
	unsigned int wrong;
};

static void complain(struct state *s, const struct row *row, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void complain(struct state *s, const struct row *row, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%u: %.60s: ", row->file, row->line, row->code);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	s->wrong++;
}

/* Our decoder's text of the row's bytes. It takes gfx10's masks to be those of waves of 32. */
static void check_text(struct state *s, const struct machine *m, size_t number)
{
	const struct row *row = &rows[number];
	char name[16], want[256], got[256];
	const char *at = row->code;
	const uint8_t *bytes;
	size_t size = 0;

	snprintf(name, sizeof(name), "c%zu", number);
	bytes = harness_symbol(&s->h, name, &size);
	ck_assert_ptr_nonnull(bytes);
	while ((at = next_code(m, at, want, sizeof(want)))) {
		uint32_t n = sim_disassemble(m->gfx, bytes, size, 0, got, sizeof(got));

		if (!n || strcmp(want, got) != 0) {
			complain(s, row, "decoded as '%s'", n ? got : "nothing");
			return;
		}
		bytes += n;
		size -= n;
	}
}

static void check_after(struct state *s, const struct machine *m, const struct row *row)
{
	unsigned int slot = 0;

	for (unsigned int i = 0; i < row->afters; i++) {
		const struct field *a = &row->after[i];

		if (a->kind == K_MEMORY) {
			uint32_t got;

			memcpy(&got, (uint8_t *)s->data + a->at, 4);
			if (got != (uint32_t)a->value)
				complain(s, row, "m[%u] is 0x%x, not 0x%x", a->at, got, (uint32_t)a->value);
			continue;
		}
		for (unsigned int lane = 0; lane < m->wave; lane++) {
			uint64_t got = s->out[slot * m->wave + lane];

			if (a->wide)
				got |= (uint64_t)s->out[(slot + 1) * m->wave + lane] << 32;
			if ((a->lane >= 0 && (unsigned int)a->lane != lane) || got == a->value)
				continue;
			complain(s, row, "%s%c%u is 0x%llx in lane %u, not 0x%llx", a->name,
				 a->kind == K_NAMED  ? ' '
				 : a->kind == K_VGPR ? 'v'
						     : 's',
				 a->at, (unsigned long long)got, lane, (unsigned long long)a->value);
			break;
		}
		slot += a->wide ? 2 : 1;
	}
}

static void run_row(struct state *s, const struct machine *m, size_t number)
{
	const struct row *row = &rows[number];
	struct sim_dispatch d = { .rsrc1 = m->rsrc1,
				  .rsrc2 = 1 | 8u << 1 | LDS_BYTES / 512 << 15,
				  .groups = { 1, 1, 1 },
				  .group_size = { m->wave * row->waves, 1, 1 },
				  .scratch = (uintptr_t)s->scratch,
				  .scratch_wave_bytes = SCRATCH_ROW * 64,
				  .scratch_waves = row->waves };
	const uint64_t places[] = { (uintptr_t)s->out, (uintptr_t)s->data, (uintptr_t)s->scratch };
	char name[16];
	bool good;

	memset(s->out, 0xee, OUT);
	memset(s->data, 0, DATA);
	for (unsigned int i = 0; i < 3; i++) {
		d.user_data[2 * i] = (uint32_t)places[i];
		d.user_data[2 * i + 1] = (uint32_t)(places[i] >> 32);
	}
	for (unsigned int i = 0; i < row->befores; i++)
		if (row->before[i].kind == K_MEMORY) {
			uint32_t value = (uint32_t)row->before[i].value;

			memcpy((uint8_t *)s->data + row->before[i].at, &value, 4);
		}
	if (m->gfx != SIM_GFX1030 || m->wave == 32)
		check_text(s, m, number);
	snprintf(name, sizeof(name), "e%zu", number);
	good = harness_run(&s->h, name, &d);
	if (*row->fault) {
		if (good)
			complain(s, row, "no fault");
		else if (!strstr(s->h.fault.text, row->fault))
			complain(s, row, "another fault: %s", s->h.fault.text);
	} else if (!good) {
		complain(s, row, "%s", s->h.fault.text);
	} else {
		check_after(s, m, row);
	}
}

START_TEST(test_rows)
{
	const struct machine *m = &machines[_i];
	struct sim_options options = { .max_instructions = 10000 };
	struct state s = { 0 };
	char object[32];
	size_t count = 0;

	assemble(m, object);
	harness_open(&s.h, m->gfx, m->wave, &options);
	ck_assert(harness_load(&s.h, object));
	unlink(object);
	s.out = harness_memory(&s.h, OUT, SIM_READ | SIM_WRITE, 0);
	s.data = harness_memory(&s.h, DATA, SIM_READ | SIM_WRITE, 0);
	s.scratch = harness_memory(&s.h, SCRATCH_ROW * 64 * 4, SIM_READ | SIM_WRITE, 0xa5);
	for (size_t i = 0; i < num_rows; i++)
		if (rows[i].where & m->bit) {
			run_row(&s, m, i);
			count++;
		}
	harness_close(&s.h);
	printf("%s: %zu rows, %u wrong\n", m->name, count, s.wrong);
	ck_assert_uint_eq(s.wrong, 0);
	ck_assert_uint_gt(count, 100);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("sim-edges");
	TCase *t = tcase_create("edges");
	SRunner *r;
	int failed;

	for (int i = 1; i < argc; i++)
		read_rows(argv[i]);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_rows, 0, sizeof(machines) / sizeof(machines[0]));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
