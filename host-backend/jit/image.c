/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image.c - an ELF relocatable and parts of the run-time library to a flat image that needs no loader.
 *
 * The program's code, the library's functions that it calls, and constants are laid out one behind the other and
 * references between them, all relative, are filled in. The library lies in memory as an object, too, with a section
 * for each function. Whatever would need more than that is refused by name: writable data, undefined
 * symbols, absolute addresses. So the process that maps an image has nothing to resolve.
 *
 * Nothing in an object is believed (elf_object.h): every offset is checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jit/elf_object.h"
#include "jit/emit.h"

#define NOT_PLACED GP_NOT_PLACED
#define WANTED	   (UINT32_MAX - 1)

struct object {
	struct gp_elf elf;
	uint32_t *place; /* by section: offset in the image, NOT_PLACED, or WANTED for a while */
	struct image *image;
};

enum { PROGRAM, LIBRARY, NUM_OBJECTS };

struct image {
	struct object objects[NUM_OBJECTS];
	struct gp_code *code;
};

static bool fail(struct object *obj, const char *what, const char *name)
{
	return gp_elf_fail(&obj->elf, what, name);
}

/* Where a symbol is: @in, the object, and its section. */
static bool find_symbol(struct object *obj, const Elf64_Sym *sym, struct object **in, const Elf64_Sym **found)
{
	struct object *library = &obj->image->objects[LIBRARY];
	const char *name = gp_elf_symbol_name(&obj->elf, sym);

	*in = obj;
	*found = sym;
	if (sym->st_shndx == SHN_UNDEF) {
		*in = library;
		for (uint64_t i = 0; i < library->elf.num_symbols; i++) {
			*found = &library->elf.symbols[i];
			if ((*found)->st_shndx != SHN_UNDEF &&
			    ELF64_ST_BIND((*found)->st_info) != STB_LOCAL &&
			    !strcmp(gp_elf_symbol_name(&library->elf, *found), name))
				break;
			*found = NULL;
		}
		if (!*found)
			return fail(obj, "undefined symbol", name);
	}
	if ((*found)->st_shndx >= (*in)->elf.header->e_shnum ||
	    (*found)->st_value > (*in)->elf.sections[(*found)->st_shndx].sh_size)
		return fail(obj, "symbol outside the code", name);
	return true;
}

static const Elf64_Rela *relocations(const struct object *obj, int i, uint64_t *count)
{
	const Elf64_Shdr *s = &obj->elf.sections[i];

	*count = s->sh_type == SHT_RELA && s->sh_info < obj->elf.header->e_shnum && s->sh_offset % 8 == 0
			 ? s->sh_size / sizeof(Elf64_Rela)
			 : 0;
	return (const void *)(obj->elf.bytes + s->sh_offset);
}

static bool has_code(const Elf64_Shdr *s)
{
	/* Unwind tables have no reader here. */
	return (s->sh_flags & SHF_ALLOC) && s->sh_size && s->sh_type != SHT_X86_64_UNWIND &&
	       s->sh_type != SHT_NOTE;
}

/* Of the program everything; of the library what is referred to, and by that, until nothing new is found. */
static bool find_wanted(struct image *image)
{
	struct object *obj, *in;
	const Elf64_Sym *sym;
	bool more = true;

	for (int i = 0; i < image->objects[PROGRAM].elf.header->e_shnum; i++)
		if (has_code(&image->objects[PROGRAM].elf.sections[i]))
			image->objects[PROGRAM].place[i] = WANTED;
	while (more) {
		more = false;
		for (int o = 0; o < NUM_OBJECTS; o++) {
			obj = &image->objects[o];
			for (int i = 0; i < obj->elf.header->e_shnum; i++) {
				uint64_t count;
				const Elf64_Rela *rela = relocations(obj, i, &count);

				if (!count || obj->place[obj->elf.sections[i].sh_info] != WANTED)
					continue;
				for (uint64_t r = 0; r < count; r++) {
					if (ELF64_R_SYM(rela[r].r_info) >= obj->elf.num_symbols)
						return fail(obj, "bad relocation", NULL);
					if (!find_symbol(obj, &obj->elf.symbols[ELF64_R_SYM(rela[r].r_info)],
							 &in, &sym))
						return false;
					if (o == PROGRAM && in == obj)
						continue;
					more |= in->place[sym->st_shndx] != WANTED;
					in->place[sym->st_shndx] = WANTED;
				}
			}
		}
	}
	return true;
}

static bool place_sections(struct object *obj, bool code, uint64_t *at)
{
	for (int i = 0; i < obj->elf.header->e_shnum; i++) {
		if (obj->place[i] != WANTED || !(obj->elf.sections[i].sh_flags & SHF_EXECINSTR) == code)
			continue;
		if (!gp_elf_place(&obj->elf, i, &obj->place[i], at))
			return false;
	}
	return true;
}

/* Code first, the program's and the library's, then constants, each at its alignment. */
static bool lay_out(struct image *image)
{
	struct object *objects = image->objects;
	uint64_t at = 0;

	for (int constants = 0; constants < 2; constants++)
		for (int o = 0; o < NUM_OBJECTS; o++)
			if (!place_sections(&objects[o], !constants, &at))
				return false;
	if (!at)
		return fail(objects, "no code", NULL);
	image->code->size = (uint32_t)at;
	image->code->bytes = calloc(1, at);
	if (!image->code->bytes)
		return fail(objects, "out of memory", NULL);
	for (int o = 0; o < NUM_OBJECTS; o++)
		for (int i = 0; i < objects[o].elf.header->e_shnum; i++)
			if (objects[o].place[i] != NOT_PLACED)
				memcpy(image->code->bytes + objects[o].place[i],
				       objects[o].elf.bytes + objects[o].elf.sections[i].sh_offset,
				       objects[o].elf.sections[i].sh_size);
	return true;
}

static bool relocate(struct object *obj, uint32_t section, const Elf64_Rela *rela)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info), sym = ELF64_R_SYM(rela->r_info);
	uint64_t bytes = type == R_X86_64_PC64 ? 8 : 4;
	int64_t where = (int64_t)obj->place[section] + (int64_t)rela->r_offset, value;
	struct gp_code *code = obj->image->code;
	const Elf64_Sym *target;
	struct object *in;
	char name[32];

	if (sym >= obj->elf.num_symbols || rela->r_offset > obj->elf.sections[section].sh_size ||
	    bytes > obj->elf.sections[section].sh_size - rela->r_offset)
		return fail(obj, "bad relocation", NULL);
	if (!find_symbol(obj, &obj->elf.symbols[sym], &in, &target))
		return false;
	if (in->place[target->st_shndx] == NOT_PLACED)
		return fail(obj, "symbol outside the code", gp_elf_symbol_name(&in->elf, target));
	value = (int64_t)((uint64_t)in->place[target->st_shndx] + target->st_value +
			  (uint64_t)rela->r_addend - (uint64_t)where);
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
		if (value != (int32_t)value)
			return fail(obj, "relocation out of reach", NULL);
		/* fall through */
	case R_X86_64_PC64:
		memcpy(code->bytes + where, &value, bytes);
		return true;
	default:
		snprintf(name, sizeof(name), "%llu", (unsigned long long)type);
		return fail(obj, "relocation of type", name);
	}
}

static bool relocate_all(struct object *obj)
{
	for (int i = 0; i < obj->elf.header->e_shnum; i++) {
		uint64_t count;
		const Elf64_Rela *rela = relocations(obj, i, &count);

		if (!count || obj->place[obj->elf.sections[i].sh_info] == NOT_PLACED)
			continue;
		for (uint64_t r = 0; r < count; r++)
			if (!relocate(obj, obj->elf.sections[i].sh_info, &rela[r]))
				return false;
	}
	return true;
}

static bool find_entry(struct object *obj, const char *entry)
{
	for (uint64_t i = 0; i < obj->elf.num_symbols; i++) {
		const Elf64_Sym *sym = &obj->elf.symbols[i];

		if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
		    strcmp(gp_elf_symbol_name(&obj->elf, sym), entry))
			continue;
		if (sym->st_shndx >= obj->elf.header->e_shnum || obj->place[sym->st_shndx] == NOT_PLACED ||
		    sym->st_value > obj->elf.sections[sym->st_shndx].sh_size)
			break;
		obj->image->code->entry = obj->place[sym->st_shndx] + (uint32_t)sym->st_value;
		return true;
	}
	return fail(obj, "no entry point", entry);
}

static bool open_objects(struct image *image)
{
	for (int o = 0; o < NUM_OBJECTS; o++) {
		struct object *obj = &image->objects[o];

		obj->image = image;
		if (!gp_elf_open(&obj->elf, EM_X86_64))
			return false;
		obj->place = malloc((obj->elf.header->e_shnum + 1u) * sizeof(*obj->place));
		if (!obj->place)
			return fail(obj, "out of memory", NULL);
		for (int i = 0; i < obj->elf.header->e_shnum; i++)
			obj->place[i] = NOT_PLACED;
	}
	return true;
}

bool gp_image_flatten(const uint8_t *elf, size_t size, const uint8_t *library, size_t library_size,
		      const char *entry, struct gp_code *code, char error[GP_MESSAGE])
{
	struct image image = {
		.objects = { { .elf = { .bytes = elf, .size = size, .error = error } },
			     { .elf = { .bytes = library, .size = library_size, .error = error } } },
		.code = code,
	};
	struct object *objects = image.objects;
	bool ok;

	*code = (struct gp_code){ 0 };
	ok = open_objects(&image) && find_wanted(&image) && lay_out(&image) &&
	     relocate_all(&objects[PROGRAM]) && relocate_all(&objects[LIBRARY]) &&
	     find_entry(&objects[PROGRAM], entry);
	code->place = objects[PROGRAM].place;
	free(objects[LIBRARY].place);
	if (!ok) {
		free(code->bytes);
		free(code->place);
		*code = (struct gp_code){ 0 };
		return false;
	}
	code->num_places = objects[PROGRAM].elf.header->e_shnum;
	return true;
}
