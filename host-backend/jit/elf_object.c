/* SPDX-License-Identifier: BSD-3-Clause */
/* elf_object.c - ELF relocatables; elf_object.h says what is known of one that was opened. */
#include <stdio.h>
#include <string.h>
#include "jit/elf_object.h"

#define IMAGE_MAX (64u << 20)
#define ALIGN_MAX 4096

bool gp_elf_fail(struct gp_elf *elf, const char *what, const char *name)
{
	snprintf(elf->error, GP_MESSAGE, "%s%s%s", what, name ? " " : "", name ? name : "");
	return false;
}

static bool inside(const struct gp_elf *elf, uint64_t off, uint64_t size)
{
	return off <= elf->size && size <= elf->size - off;
}

bool gp_elf_open(struct gp_elf *elf, uint16_t machine)
{
	const Elf64_Ehdr *h = (const void *)elf->bytes;

	if (elf->size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL || h->e_machine != machine ||
	    h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
	    !inside(elf, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
		return gp_elf_fail(elf, "not an object of this target", NULL);
	elf->header = h;
	elf->sections = (const void *)(elf->bytes + h->e_shoff);
	for (int i = 0; i < h->e_shnum; i++) {
		const Elf64_Shdr *s = &elf->sections[i];

		if (s->sh_type != SHT_NOBITS && !inside(elf, s->sh_offset, s->sh_size))
			return gp_elf_fail(elf, "section outside the object", NULL);
		if (s->sh_type != SHT_SYMTAB)
			continue;
		/* The names' own bounds are looked at like any section's; one without bytes has none. */
		if (s->sh_link >= h->e_shnum || elf->sections[s->sh_link].sh_type != SHT_STRTAB ||
		    s->sh_offset % 8)
			return gp_elf_fail(elf, "bad symbol table", NULL);
		elf->symbols = (const void *)(elf->bytes + s->sh_offset);
		elf->num_symbols = s->sh_size / sizeof(Elf64_Sym);
		elf->strings = (const char *)elf->bytes + elf->sections[s->sh_link].sh_offset;
		elf->strings_size = elf->sections[s->sh_link].sh_size;
	}
	if (!elf->symbols || !elf->strings_size || elf->strings[elf->strings_size - 1])
		return gp_elf_fail(elf, "no symbols", NULL);
	return true;
}

const char *gp_elf_symbol_name(const struct gp_elf *elf, const Elf64_Sym *sym)
{
	return sym->st_name < elf->strings_size ? elf->strings + sym->st_name : "?";
}

bool gp_elf_place(struct gp_elf *elf, int i, uint32_t *place, uint64_t *at)
{
	const Elf64_Shdr *s = &elf->sections[i];
	uint64_t align = s->sh_addralign ? s->sh_addralign : 1;

	if ((s->sh_flags & SHF_WRITE) || s->sh_type != SHT_PROGBITS)
		return gp_elf_fail(elf, "code needs writable data", NULL);
	if ((align & (align - 1)) || align > ALIGN_MAX || s->sh_size > IMAGE_MAX)
		return gp_elf_fail(elf, "impossible section", NULL);
	*at = (*at + align - 1) & ~(align - 1);
	*place = (uint32_t)*at;
	*at += s->sh_size;
	return *at <= IMAGE_MAX || gp_elf_fail(elf, "image too large", NULL);
}
