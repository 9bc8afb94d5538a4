/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * image_gpu.c - an AMDGPU object to a flat image that needs no loader but one that knows the kernel descriptor.
 *
 * The image is the code, at a multiple of 256 bytes, then constants, the kernel descriptor among them, which is where
 * the image's entry is. All that LLVM leaves to be resolved is relative and within the image: the descriptor's way to
 * its code, and the code's to constants and functions. Anything else is refused by name. Nothing in
 * the object is believed (elf_object.h).
 *
 * What the code takes (registers, scratch) is read from the descriptor and from the note that LLVM writes for
 * run-time loaders: MessagePack, of which only a few numbers behind their names are looked for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu/generations.h"
#include "jit/elf_object.h"
#include "jit/emit.h"

#define CODE_ALIGN	 256
#define DESCRIPTOR_BYTES 64

/* elf.h of older C libraries lacks them. */
enum {
	MACHINE_AMDGPU = 224,
	REL32 = 4, /* R_AMDGPU_REL32 and so on: S + A - P */
	REL64 = 5,
	REL32_LO = 10,
	REL32_HI = 11,
};

/* Kernel descriptor, by bytes (AMDGPUUsage.rst). */
enum {
	KD_LDS = 0,
	KD_SCRATCH = 4,
	KD_CODE = 16,
	KD_RSRC1 = 48,
};

#define RSRC1_SGPRS 0x000003c0u

struct object {
	struct gp_elf elf;
	struct gp_code *code;
};

static bool fail(struct object *obj, const char *what, const char *name)
{
	return gp_elf_fail(&obj->elf, what, name);
}

/* Code for another machine, or that rests on the driver's settings (XNACK), would load and go wrong later. */
static bool is_for(struct object *obj, const struct gp_generation *gen)
{
	char flags[16];

	if (obj->elf.header->e_flags == gen->elf_flags)
		return true;
	snprintf(flags, sizeof(flags), "0x%x", obj->elf.header->e_flags);
	return fail(obj, "an object of another machine: flags", flags);
}

/* ------------------------------------------------------------------- layout */

static bool place(struct object *obj, bool code, uint64_t *at)
{
	for (int i = 0; i < obj->elf.header->e_shnum; i++) {
		const Elf64_Shdr *s = &obj->elf.sections[i];

		if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type == SHT_NOTE ||
		    !(s->sh_flags & SHF_EXECINSTR) == code)
			continue;
		if (!gp_elf_place(&obj->elf, i, &obj->code->place[i], at))
			return false;
	}
	return true;
}

static bool lay_out(struct object *obj)
{
	struct gp_code *code = obj->code;
	uint64_t at = 0;

	code->num_places = obj->elf.header->e_shnum;
	code->place = malloc((obj->elf.header->e_shnum + 1u) * sizeof(*code->place));
	if (!code->place)
		return fail(obj, "out of memory", NULL);
	for (int i = 0; i < obj->elf.header->e_shnum; i++)
		code->place[i] = GP_NOT_PLACED;
	if (!place(obj, true, &at) || !place(obj, false, &at))
		return false;
	if (!at)
		return fail(obj, "no code", NULL);
	code->size = (uint32_t)at;
	code->bytes = calloc(1, at);
	if (!code->bytes)
		return fail(obj, "out of memory", NULL);
	for (int i = 0; i < obj->elf.header->e_shnum; i++)
		if (code->place[i] != GP_NOT_PLACED)
			memcpy(code->bytes + code->place[i], obj->elf.bytes + obj->elf.sections[i].sh_offset,
			       obj->elf.sections[i].sh_size);
	return true;
}

/* -------------------------------------------------------------- relocations */

/* Where a symbol is in the image. */
static bool symbol_place(struct object *obj, const Elf64_Sym *sym, uint64_t *at)
{
	const char *name = gp_elf_symbol_name(&obj->elf, sym);

	if (sym->st_shndx == SHN_UNDEF)
		return fail(obj, "undefined symbol", name);
	if (sym->st_shndx >= obj->elf.header->e_shnum || obj->code->place[sym->st_shndx] == GP_NOT_PLACED ||
	    sym->st_value > obj->elf.sections[sym->st_shndx].sh_size)
		return fail(obj, "symbol outside the code", name);
	*at = obj->code->place[sym->st_shndx] + sym->st_value;
	return true;
}

static bool relocate(struct object *obj, uint32_t section, const Elf64_Rela *rela)
{
	uint64_t type = ELF64_R_TYPE(rela->r_info), sym = ELF64_R_SYM(rela->r_info), where, to, value;
	uint64_t bytes = type == REL64 ? 8 : 4;
	char name[32];

	if (sym >= obj->elf.num_symbols || rela->r_offset > obj->elf.sections[section].sh_size ||
	    bytes > obj->elf.sections[section].sh_size - rela->r_offset)
		return fail(obj, "bad relocation", NULL);
	if (!symbol_place(obj, &obj->elf.symbols[sym], &to))
		return false;
	where = obj->code->place[section] + rela->r_offset;
	value = to + (uint64_t)rela->r_addend - where;
	switch (type) {
	case REL32:
	case REL32_LO:
	case REL64:
		break;
	case REL32_HI:
		value >>= 32;
		break;
	default:
		snprintf(name, sizeof(name), "%llu", (unsigned long long)type);
		return fail(obj, "relocation of type", name);
	}
	memcpy(obj->code->bytes + where, &value, bytes);
	return true;
}

static bool relocate_all(struct object *obj)
{
	for (int i = 0; i < obj->elf.header->e_shnum; i++) {
		const Elf64_Shdr *s = &obj->elf.sections[i];
		const Elf64_Rela *rela = (const void *)(obj->elf.bytes + s->sh_offset);

		if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) ||
		    s->sh_info >= obj->elf.header->e_shnum || obj->code->place[s->sh_info] == GP_NOT_PLACED)
			continue;
		if (s->sh_type == SHT_REL || s->sh_offset % 8)
			return fail(obj, "bad relocation", NULL);
		for (uint64_t r = 0; r < s->sh_size / sizeof(*rela); r++)
			if (!relocate(obj, s->sh_info, &rela[r]))
				return false;
	}
	return true;
}

/* --------------------------------------------------------------- descriptor */

static uint32_t word(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static bool find_descriptor(struct object *obj, const char *kernel, const struct gp_generation *gen)
{
	struct gp_code *code = obj->code;
	uint32_t rsrc1;
	int64_t entry;
	uint64_t at;
	char name[64];

	snprintf(name, sizeof(name), "%s.kd", kernel);
	for (uint64_t i = 0; i < obj->elf.num_symbols; i++) {
		if (strcmp(gp_elf_symbol_name(&obj->elf, &obj->elf.symbols[i]), name))
			continue;
		if (!symbol_place(obj, &obj->elf.symbols[i], &at))
			return false;
		if (at % DESCRIPTOR_BYTES || at + DESCRIPTOR_BYTES > code->size)
			return fail(obj, "kernel descriptor outside the image", NULL);
		memcpy(&entry, code->bytes + at + KD_CODE, sizeof(entry));
		if ((uint64_t)entry + at >= code->size || ((uint64_t)entry + at) % CODE_ALIGN)
			return fail(obj, "kernel descriptor without code", NULL);
		code->entry = (uint32_t)at;
		code->lds_bytes = word(code->bytes + at + KD_LDS);
		code->scratch_bytes = word(code->bytes + at + KD_SCRATCH);
		/* LLVM counts scalar registers where the hardware wants zeros, too. */
		rsrc1 = word(code->bytes + at + KD_RSRC1);
		if (!gen->sgpr_code)
			rsrc1 &= ~RSRC1_SGPRS;
		memcpy(code->bytes + at + KD_RSRC1, &rsrc1, sizeof(rsrc1));
		return true;
	}
	return fail(obj, "no kernel descriptor", name);
}

/* An unsigned number of MessagePack at @at, at most 32 bits. */
static bool number(const uint8_t *at, size_t size, uint32_t *value)
{
	if (size >= 1 && at[0] < 0x80)
		*value = at[0];
	else if (size >= 2 && at[0] == 0xcc)
		*value = at[1];
	else if (size >= 3 && at[0] == 0xcd)
		*value = (uint32_t)at[1] << 8 | at[2];
	else if (size >= 5 && at[0] == 0xce)
		*value = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
	else
		return false;
	return true;
}

static void note_number(const uint8_t *note, size_t size, const char *name, uint32_t *value)
{
	size_t length = strlen(name);

	for (size_t i = 0; i + 1 + length < size; i++)
		if (note[i] == (0xa0 | length) && !memcmp(note + i + 1, name, length) &&
		    number(note + i + 1 + length, size - i - 1 - length, value))
			return;
}

static void read_notes(struct object *obj)
{
	struct gp_code *code = obj->code;

	for (int i = 0; i < obj->elf.header->e_shnum; i++) {
		const Elf64_Shdr *s = &obj->elf.sections[i];
		const uint8_t *note = obj->elf.bytes + s->sh_offset;

		if (s->sh_type != SHT_NOTE)
			continue;
		note_number(note, s->sh_size, ".vgpr_count", &code->vgprs);
		note_number(note, s->sh_size, ".sgpr_count", &code->sgprs);
		note_number(note, s->sh_size, ".vgpr_spill_count", &code->vgpr_spills);
		note_number(note, s->sh_size, ".sgpr_spill_count", &code->sgpr_spills);
	}
}

bool gp_image_flatten_gpu(const uint8_t *elf, size_t size, const char *kernel,
			  const struct gp_generation *gen, struct gp_code *code, char error[GP_MESSAGE])
{
	struct object obj = { .elf = { .bytes = elf, .size = size, .error = error }, .code = code };

	*code = (struct gp_code){ 0 };
	if (gp_elf_open(&obj.elf, MACHINE_AMDGPU) && is_for(&obj, gen) && lay_out(&obj) &&
	    relocate_all(&obj) && find_descriptor(&obj, kernel, gen)) {
		read_notes(&obj);
		return true;
	}
	free(code->bytes);
	free(code->place);
	*code = (struct gp_code){ 0 };
	return false;
}
