// SPDX-License-Identifier: BSD-3-Clause
/*
 * line_table.c - the line table (DWARF 4, section .debug_line) that LLVM wrote for lines.c.
 *
 * A line program is a list of opcodes for a machine with an address and a line; each row that it emits says that
 * the code from that address on is of that line. The object is relocatable, so the address that a sequence starts
 * at is a relocation: a symbol and an addend, of which the image's places make an offset. As in image.c nothing
 * of the object is believed.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jit/lines.h"

#define NOWHERE INT64_MIN /* not known yet, or code that is not in the image */

enum { /* DWARF 4, section 7.21 */
       EXTENDED = 0,
       COPY = 1,
       ADVANCE_PC = 2,
       ADVANCE_LINE = 3,
       SET_FILE = 4,
       SET_COLUMN = 5,
       CONST_ADD_PC = 8,
       FIXED_ADVANCE_PC = 9,
       END_SEQUENCE = 1, /* extended ones */
       SET_ADDRESS = 2,
};

struct row {
	struct gp_line line;
	uint32_t order;
	bool ends; /* a sequence: code of no line, if there is any */
};

struct table {
	const uint8_t *elf;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections, *lines, *rela;
	struct gp_code *code;
	struct row *rows;
	size_t num_rows, room;
	const uint8_t *at, *end; /* in the section */
	bool bad;
};

struct unit {
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of standard opcodes */
};

static uint64_t take(struct table *t, size_t bytes)
{
	uint64_t value = 0;

	if (bytes > (size_t)(t->end - t->at)) {
		t->bad = true;
		t->at = t->end;
		return 0;
	}
	memcpy(&value, t->at, bytes);
	t->at += bytes;
	return value;
}

static uint64_t take_leb(struct table *t, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned int shift = 0;

	do {
		byte = take(t, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static const Elf64_Shdr *find_section(const struct table *t, const char *name)
{
	const Elf64_Shdr *names = &t->sections[t->header->e_shstrndx];

	if (t->header->e_shstrndx >= t->header->e_shnum || names->sh_type != SHT_STRTAB)
		return NULL;
	for (int i = 0; i < t->header->e_shnum; i++) {
		const Elf64_Shdr *s = &t->sections[i];
		size_t size = strlen(name) + 1;

		/* Only those without bytes may lie outside. */
		if (s->sh_type != SHT_NOBITS && s->sh_name < names->sh_size &&
		    size <= names->sh_size - s->sh_name &&
		    !memcmp(t->elf + names->sh_offset + s->sh_name, name, size))
			return s;
	}
	return NULL;
}

/* The image's offset that the address at byte @where of the section is relocated to, or NOWHERE. */
static int64_t relocated(const struct table *t, uint64_t where)
{
	const Elf64_Rela *rela = (const void *)(t->elf + t->rela->sh_offset);
	const Elf64_Shdr *symtab;

	if (t->rela->sh_link >= t->header->e_shnum)
		return NOWHERE;
	symtab = &t->sections[t->rela->sh_link];
	if (symtab->sh_type != SHT_SYMTAB || symtab->sh_offset % 8)
		return NOWHERE;
	for (uint64_t i = 0; i < t->rela->sh_size / sizeof(*rela); i++) {
		const Elf64_Sym *symbols = (const void *)(t->elf + symtab->sh_offset), *sym;

		if (rela[i].r_offset != where || ELF64_R_TYPE(rela[i].r_info) != R_X86_64_64 ||
		    ELF64_R_SYM(rela[i].r_info) >= symtab->sh_size / sizeof(*symbols))
			continue;
		sym = &symbols[ELF64_R_SYM(rela[i].r_info)];
		if (sym->st_shndx >= t->code->num_places || t->code->place[sym->st_shndx] == GP_NOT_PLACED)
			return NOWHERE;
		return (int64_t)(t->code->place[sym->st_shndx] + sym->st_value + (uint64_t)rela[i].r_addend);
	}
	return NOWHERE;
}

static void add_row(struct table *t, int64_t address, uint64_t line, bool ends)
{
	if (address == NOWHERE)
		return;
	if (address < 0 || address > t->code->size) {
		t->bad = true;
		return;
	}
	if (t->num_rows == t->room) {
		struct row *more;

		t->room = t->room ? t->room * 2 : 1024;
		more = realloc(t->rows, t->room * sizeof(*more));
		if (!more) {
			t->bad = true;
			return;
		}
		t->rows = more;
	}
	t->rows[t->num_rows] = (struct row){
		.line.offset = (uint32_t)address,
		.line.insn = !ends && line && line <= GP_MAX_INSNS ? (uint32_t)line - 1 : GP_LINE_NONE,
		.order = (uint32_t)t->num_rows,
		.ends = ends,
	};
	t->num_rows++;
}

/* Wraps where a table is damaged: such a row is refused. */
static void advance(int64_t *address, uint64_t by)
{
	if (*address != NOWHERE)
		*address = (int64_t)((uint64_t)*address + by);
}

/* One sequence, up to the row that ends it. */
static void read_sequence(struct table *t, const struct unit *u)
{
	const uint8_t *start = t->elf + t->lines->sh_offset, *next;
	uint64_t line = 1, op, size;
	int64_t address = NOWHERE;

	while (!t->bad && t->at < t->end) {
		op = take(t, 1);
		if (op >= u->opcode_base) {
			op -= u->opcode_base;
			advance(&address, op / u->line_range * u->min_length);
			line += (uint64_t)(int64_t)(u->line_base + (int)(op % u->line_range));
			add_row(t, address, line, false);
			continue;
		}
		switch (op) {
		case EXTENDED:
			size = take_leb(t, false);
			if (size > (uint64_t)(t->end - t->at) || !size) {
				t->bad = true;
				return;
			}
			next = t->at + size;
			op = take(t, 1);
			if (op == SET_ADDRESS)
				address = relocated(t, (uint64_t)(t->at - start));
			t->at = next;
			if (op == END_SEQUENCE) {
				add_row(t, address, 0, true);
				return;
			}
			break;
		case COPY:
			add_row(t, address, line, false);
			break;
		case ADVANCE_PC:
			advance(&address, take_leb(t, false) * u->min_length);
			break;
		case ADVANCE_LINE:
			line += take_leb(t, true);
			break;
		case CONST_ADD_PC:
			advance(&address, (uint64_t)((255 - u->opcode_base) / u->line_range) * u->min_length);
			break;
		case FIXED_ADVANCE_PC:
			advance(&address, take(t, 2));
			break;
		default:
			for (uint8_t i = 0; i < u->operands[op]; i++)
				take_leb(t, false);
		}
	}
}

static void read_unit(struct table *t)
{
	const uint8_t *end = t->end, *program;
	struct unit u = { 0 };
	uint64_t size = take(t, 4);

	if (size > (uint64_t)(t->end - t->at) || take(t, 2) != 4) {
		t->bad = true;
		return;
	}
	t->end = t->at - 2 + size;
	size = take(t, 4);
	if (size > (uint64_t)(t->end - t->at)) {
		t->bad = true;
		return;
	}
	program = t->at + size;
	u.min_length = (uint8_t)take(t, 1);
	take(t, 2); /* operations of an instruction; whether rows begin statements */
	u.line_base = (int8_t)take(t, 1);
	u.line_range = (uint8_t)take(t, 1);
	u.opcode_base = (uint8_t)take(t, 1);
	for (int i = 1; i < u.opcode_base; i++)
		u.operands[i] = (uint8_t)take(t, 1);
	if (!u.line_range || !u.opcode_base || t->bad || t->at > program) {
		t->bad = true;
		return;
	}
	t->at = program; /* behind the names of files */
	while (!t->bad && t->at < t->end)
		read_sequence(t, &u);
	t->end = end;
}

/* By offset; where one sequence ends another may begin. */
static int by_offset(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->line.offset != y->line.offset)
		return x->line.offset > y->line.offset ? 1 : -1;
	if (x->ends != y->ends)
		return x->ends ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Sorted, without rows that say nothing new; of several at one offset the last holds: the others are of no code. */
static bool fill_lines(struct table *t)
{
	struct gp_line *lines = malloc((t->num_rows + 1) * sizeof(*lines));
	uint32_t n = 0;

	if (!lines)
		return false;
	if (t->num_rows)
		qsort(t->rows, t->num_rows, sizeof(*t->rows), by_offset);
	for (size_t i = 0; i < t->num_rows; i++) {
		if (n && lines[n - 1].offset == t->rows[i].line.offset)
			n--;
		if (n && lines[n - 1].insn == t->rows[i].line.insn)
			continue;
		lines[n++] = t->rows[i].line;
	}
	t->code->lines = lines;
	t->code->num_lines = n;
	return true;
}

bool gp_line_table(const uint8_t *elf, size_t size, struct gp_code *code, char error[GP_MESSAGE])
{
	/* Flattening checked the header and that sections lie inside. */
	struct table t = { .elf = elf, .header = (const void *)elf, .code = code };

	t.sections = (const void *)(elf + t.header->e_shoff);
	t.lines = find_section(&t, ".debug_line");
	t.rela = find_section(&t, ".rela.debug_line");
	if (!t.lines || !t.rela || t.rela->sh_offset % 8 || t.lines->sh_offset > size) {
		snprintf(error, GP_MESSAGE, "no line table");
		return false;
	}
	t.at = elf + t.lines->sh_offset;
	t.end = t.at + t.lines->sh_size;
	while (!t.bad && t.at < t.end)
		read_unit(&t);
	if (t.bad || !fill_lines(&t)) {
		snprintf(error, GP_MESSAGE, "bad line table");
		free(t.rows);
		return false;
	}
	free(t.rows);
	return true;
}
