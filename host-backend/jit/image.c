/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.c - an ELF relocatable to a flat image that needs no loader.
 *
 * Code and constants are laid out one behind the other and references between them, all relative, are
 * filled in. Whatever would need more than that is refused by name: writable data, undefined
 * symbols, absolute addresses. So the process that maps an image has nothing to resolve.
 *
 * The object is LLVM's work on hostile input, so nothing in it is believed: every offset is checked.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jit/emit.h"

#define IMAGE_MAX  (64u << 20)
#define NOT_PLACED GP_NOT_PLACED

struct object {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	uint32_t *place;	 /* by section: offset in the image, or NOT_PLACED */
	const Elf64_Sym *symbols;
	uint64_t num_symbols;
	const char *strings;  /* of the symbols; ends with a NUL */
	uint64_t strings_size;
	struct gp_code *code;
	char *error;
};

static bool fail(struct object *obj, const char *what, const char *name)
{
	snprintf(obj->error, GP_MESSAGE, "%s%s%s", what, name ? " " : "", name ? name : "");
	return false;
}

static bool inside(const struct object *obj, uint64_t off, uint64_t size)
{
	return off <= obj->size && size <= obj->size - off;
}

static bool open_object(struct object *obj)
{
	const Elf64_Ehdr *h = (const void *)obj->bytes;

	if (obj->size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL || h->e_machine != EM_X86_64 ||
	    h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
	    !inside(obj, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
		return fail(obj, "not an object of this target", NULL);
	obj->header = h;
	obj->sections = (const void *)(obj->bytes + h->e_shoff);
	for (int i = 0; i < h->e_shnum; i++) {
		const Elf64_Shdr *s = &obj->sections[i];

		if (s->sh_type != SHT_NOBITS && !inside(obj, s->sh_offset, s->sh_size))
			return fail(obj, "section outside the object", NULL);
		if (s->sh_type == SHT_SYMTAB) {
			if (s->sh_link >= h->e_shnum || s->sh_offset % 8)
				return fail(obj, "bad symbol table", NULL);
			obj->symbols = (const void *)(obj->bytes + s->sh_offset);
			obj->num_symbols = s->sh_size / sizeof(Elf64_Sym);
			obj->strings = (const char *)obj->bytes + obj->sections[s->sh_link].sh_offset;
			obj->strings_size = obj->sections[s->sh_link].sh_size;
		}
	}
	if (!obj->symbols || !obj->strings_size || obj->strings[obj->strings_size - 1])
		return fail(obj, "no symbols", NULL);
	return true;
}

static const char *symbol_name(const struct object *obj, const Elf64_Sym *sym)
{
	return sym->st_name < obj->strings_size ? obj->strings + sym->st_name : "?";
}

/* Code first, then constants, each at its alignment. */
static bool place_sections(struct object *obj)
{
	uint64_t at = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < obj->header->e_shnum; i++) {
			const Elf64_Shdr *s = &obj->sections[i];
			uint64_t align = s->sh_addralign ? s->sh_addralign : 1;

			if (!pass)
				obj->place[i] = NOT_PLACED;
			/* Unwind tables have no reader here. */
			if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type == SHT_X86_64_UNWIND ||
			    s->sh_type == SHT_NOTE || !!(s->sh_flags & SHF_EXECINSTR) == pass)
				continue;
			if ((s->sh_flags & SHF_WRITE) || s->sh_type != SHT_PROGBITS)
				return fail(obj, "code needs writable data", NULL);
			if ((align & (align - 1)) || align > 4096 || s->sh_size > IMAGE_MAX)
				return fail(obj, "impossible section", NULL);
			at = (at + align - 1) & ~(align - 1);
			obj->place[i] = (uint32_t)at;
			at += s->sh_size;
			if (at > IMAGE_MAX)
				return fail(obj, "image too large", NULL);
		}
	}
	if (!at)
		return fail(obj, "no code", NULL);
	obj->code->size = (uint32_t)at;
	obj->code->bytes = calloc(1, at);
	if (!obj->code->bytes)
		return fail(obj, "out of memory", NULL);
	for (int i = 0; i < obj->header->e_shnum; i++)
		if (obj->place[i] != NOT_PLACED)
			memcpy(obj->code->bytes + obj->place[i], obj->bytes + obj->sections[i].sh_offset,
			       obj->sections[i].sh_size);
	return true;
}

/* Where a symbol is in the image. */
static bool symbol_place(struct object *obj, const Elf64_Sym *sym, int64_t *at)
{
	if (sym->st_shndx == SHN_UNDEF)
		return fail(obj, "undefined symbol", symbol_name(obj, sym));
	if (sym->st_shndx >= obj->header->e_shnum || obj->place[sym->st_shndx] == NOT_PLACED ||
	    sym->st_value > obj->sections[sym->st_shndx].sh_size)
		return fail(obj, "symbol outside the code", symbol_name(obj, sym));
	*at = (int64_t)obj->place[sym->st_shndx] + (int64_t)sym->st_value;
	return true;
}

static bool relocate(struct object *obj, uint32_t section, const Elf64_Rela *rela)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info), sym = ELF64_R_SYM(rela->r_info);
	uint64_t bytes = type == R_X86_64_PC64 ? 8 : 4;
	int64_t where = (int64_t)obj->place[section] + (int64_t)rela->r_offset, target, value;
	char name[32];

	if (sym >= obj->num_symbols || rela->r_offset > obj->sections[section].sh_size ||
	    bytes > obj->sections[section].sh_size - rela->r_offset)
		return fail(obj, "bad relocation", NULL);
	if (!symbol_place(obj, &obj->symbols[sym], &target))
		return false;
	value = (int64_t)((uint64_t)target + (uint64_t)rela->r_addend - (uint64_t)where);
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		if (value != (int32_t)value)
			return fail(obj, "relocation out of reach", NULL);
		/* fall through */
	case R_X86_64_PC64:
		memcpy(obj->code->bytes + where, &value, bytes);
		return true;
	default:
		snprintf(name, sizeof(name), "%llu", (unsigned long long)type);
		return fail(obj, "relocation of type", name);
	}
}

static bool relocate_all(struct object *obj)
{
	for (int i = 0; i < obj->header->e_shnum; i++) {
		const Elf64_Shdr *s = &obj->sections[i];
		const Elf64_Rela *rela = (const void *)(obj->bytes + s->sh_offset);

		if (s->sh_type != SHT_RELA || s->sh_info >= obj->header->e_shnum ||
		    obj->place[s->sh_info] == NOT_PLACED)
			continue;
		if (s->sh_offset % 8)
			return fail(obj, "bad relocation", NULL);
		for (uint64_t r = 0; r < s->sh_size / sizeof(*rela); r++)
			if (!relocate(obj, s->sh_info, &rela[r]))
				return false;
	}
	return true;
}

static bool find_entry(struct object *obj, const char *entry)
{
	int64_t at;

	for (uint64_t i = 0; i < obj->num_symbols; i++) {
		const Elf64_Sym *sym = &obj->symbols[i];

		if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || strcmp(symbol_name(obj, sym), entry))
			continue;
		if (!symbol_place(obj, sym, &at))
			return false;
		obj->code->entry = (uint32_t)at;
		return true;
	}
	return fail(obj, "no entry point", entry);
}

bool gp_image_flatten(const uint8_t *elf, size_t size, const char *entry, struct gp_code *code,
		      char error[GP_MESSAGE])
{
	struct object obj = { .bytes = elf, .size = size, .code = code, .error = error };
	bool ok;

	*code = (struct gp_code){ 0 };
	if (!open_object(&obj))
		return false;
	obj.place = calloc(obj.header->e_shnum + 1u, sizeof(*obj.place));
	if (!obj.place)
		return fail(&obj, "out of memory", NULL);
	ok = place_sections(&obj) && relocate_all(&obj) && find_entry(&obj, entry);
	code->place = obj.place;
	code->num_places = obj.header->e_shnum;
	if (!ok) {
		free(code->bytes);
		free(code->place);
		*code = (struct gp_code){ 0 };
	}
	return ok;
}
