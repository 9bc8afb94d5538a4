/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rows.c - the table of instructions, and finding a row and its meaning.
 *
 * opcodes.inc holds facts only: what exists and how it is written. What an instruction does is in the tables of
 * sem_*.c, by the mnemonic without the suffix of its encoding. Both are joined once per process.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "rows.h"

#define ROW(cpus, enc, op, name, shape, mods) { cpus, enc, op, name, shape, mods },
const struct row isa_rows[] = {
#include "opcodes.inc"
};
const size_t isa_row_count = sizeof(isa_rows) / sizeof(isa_rows[0]);

#define CPUS	 5
#define OPS	 1024
#define MEANINGS 2048

static uint16_t index_of[CPUS][ENCODINGS][OPS];
static const struct sem *meaning[sizeof(isa_rows) / sizeof(isa_rows[0])];
static const struct sem *sorted[MEANINGS];
static size_t sorted_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct sem *const *)a)->name, (*(const struct sem *const *)b)->name);
}

static const struct sem *look_up(const char *name)
{
	const struct sem key = { .name = name }, *of = &key;
	const struct sem **found = bsearch(&of, sorted, sorted_count, sizeof(*sorted), by_name);

	return found ? *found : NULL;
}

/* Memory instructions mean the same behind every prefix. */
static const struct sem *look_up_row(const struct row *row)
{
	static const char *const suffixes[] = { "_e32", "_e64", "_sdwa", "_dpp" };
	static const char *const prefixes[] = { "flat_", "global_", "scratch_", "buffer_" };
	char name[64];
	const struct sem *sem;
	size_t length;

	length = strlen(row->name);
	if (length >= sizeof(name))
		return NULL;
	memcpy(name, row->name, length + 1);
	for (size_t i = 0; i < 4; i++) {
		size_t tail = strlen(suffixes[i]);

		if (length > tail && !strcmp(name + length - tail, suffixes[i])) {
			name[length - tail] = 0;
			break;
		}
	}
	sem = look_up(name);
	for (size_t i = 0; !sem && i < 4; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			sem = look_up(name + strlen(prefixes[i]));
	return sem;
}

static void join(void)
{
#define ADD(name)                                                                      \
	for (size_t i = 0; i < isa_sem_##name##_count && sorted_count < MEANINGS; i++) \
		sorted[sorted_count++] = &isa_sem_##name[i];
	SEM_TABLES(ADD)
	qsort(sorted, sorted_count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < isa_row_count; i++) {
		for (unsigned int cpu = 0; cpu < CPUS; cpu++)
			if (isa_rows[i].cpus >> cpu & 1)
				index_of[cpu][isa_rows[i].enc][isa_rows[i].op] = (uint16_t)(i + 1);
		meaning[i] = look_up_row(&isa_rows[i]);
	}
}

const struct row *isa_row(enum sim_gfx gfx, unsigned int enc, unsigned int op)
{
	uint16_t at;

	pthread_once(&once, join);
	at = enc < ENCODINGS && op < OPS ? index_of[gfx][enc][op] : 0;
	return at ? &isa_rows[at - 1] : NULL;
}

const struct sem *isa_sem(const struct row *row)
{
	pthread_once(&once, join);
	return meaning[row - isa_rows];
}
