// SPDX-License-Identifier: BSD-3-Clause
/*
 * source.c - which line of the source an instruction comes from.
 *
 * clang -g writes that into .BTF.ext: per code section an array of records, each with the byte that it holds from,
 * and file name, the line's text and its number as BTF knows them. Linking moved instructions into programs, so a
 * program keeps where its functions came from. An object without such records has no lines; one whose records do not
 * fit is damaged.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

#define MAX_SOURCE_LINES   (1u << 20)
#define MAX_LINE_SECTIONS  1024 /* each is looked for by its name */
#define RECORD_LINE(col)   ((col) >> 10)
#define RECORD_COLUMN(col) ((col) & 0x3ff)

struct line_record {
	uint32_t insn_off, file_name_off, line_off, line_col;
};

struct source_line {
	uint32_t section;
	struct line_record record;
};

static int by_place(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return (x->record.insn_off > y->record.insn_off) - (x->record.insn_off < y->record.insn_off);
}

struct reader {
	const struct elf_file *elf;
	const struct btf *btf;
	struct gpgpu_object *obj;
	uint32_t sections;
};

static int add_lines(void *opaque, uint32_t section, const uint8_t *p, uint32_t count, uint32_t size)
{
	struct reader *reader = opaque;
	struct gpgpu_object *obj = reader->obj;
	const struct elf_section *s;
	struct source_line *more;
	const char *name;

	if (!count)
		return gpgpu_ext_damaged(reader->elf);
	if (++reader->sections > MAX_LINE_SECTIONS)
		return gpgpu_fail(-E2BIG, "%s: lines of over %u sections", reader->elf->name,
				  MAX_LINE_SECTIONS);
	name = btf__name_by_offset(reader->btf, section);
	s = name ? elf_find(reader->elf, name) : NULL;
	if (!s || count > MAX_SOURCE_LINES - obj->num_lines)
		return gpgpu_ext_damaged(reader->elf);
	more = realloc(obj->lines, (obj->num_lines + count) * sizeof(*more));
	if (!more)
		return gpgpu_fail(-ENOMEM, "out of memory");
	obj->lines = more;
	for (uint32_t i = 0; i < count; i++, p += size) {
		struct source_line *line = &obj->lines[obj->num_lines++];

		line->section = (uint32_t)(s - reader->elf->sections);
		memcpy(&line->record, p, sizeof(line->record));
	}
	return 0;
}

int gpgpu_read_lines(const struct elf_file *elf, struct btf *btf, struct gpgpu_object *obj)
{
	struct reader reader = { elf, btf, obj, 0 };
	int r;

	if (!btf)
		return 0;
	r = gpgpu_ext_each(elf, EXT_LINES, sizeof(struct line_record), add_lines, &reader);
	if (!r && obj->num_lines)
		qsort(obj->lines, obj->num_lines, sizeof(*obj->lines), by_place);
	return r;
}

/* Return: the last record of @section at or before byte @offset, or NULL. */
static const struct source_line *find_line(const struct gpgpu_object *obj, uint32_t section, uint64_t offset)
{
	size_t low = 0, high = obj->num_lines;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct source_line *line = &obj->lines[mid];

		if (line->section < section || (line->section == section && line->record.insn_off <= offset))
			low = mid + 1;
		else
			high = mid;
	}
	return low && obj->lines[low - 1].section == section ? &obj->lines[low - 1] : NULL;
}

/* Functions lie one behind the other. Return: the one that has the instruction, or NULL. */
static const struct linked_function *find_function(const struct gpgpu_program *prog, size_t insn)
{
	size_t low = 0, high = prog->num_functions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct linked_function *f = &prog->functions[mid];

		if (insn < f->start)
			high = mid;
		else if (insn - f->start >= f->count)
			low = mid + 1;
		else
			return f;
	}
	return NULL;
}

int gpgpu_program_source(const struct gpgpu_program *prog, size_t insn, struct gpgpu_source *source)
{
	const struct linked_function *f = find_function(prog, insn);
	const struct source_line *line;
	const char *file, *text;
	uint64_t offset;

	memset(source, 0, sizeof(*source));
	if (!f)
		return gpgpu_fail(-EINVAL, "program '%.64s' has no instruction %zu", prog->name, insn);
	source->function = f->name;
	source->function_start = f->start;
	offset = f->offset + (insn - f->start) * sizeof(struct bpf_insn);
	line = find_line(prog->obj, f->section, offset);
	if (!line || line->record.insn_off < f->offset)
		return gpgpu_fail(-ENOENT, "program '%.64s': no source line is known of instruction %zu",
				  prog->name, insn);
	file = btf__name_by_offset(prog->obj->btf, line->record.file_name_off);
	text = btf__name_by_offset(prog->obj->btf, line->record.line_off);
	source->file = file ? file : "";
	source->text = text ? text : "";
	source->line = RECORD_LINE(line->record.line_col);
	source->column = RECORD_COLUMN(line->record.line_col);
	return 0;
}
