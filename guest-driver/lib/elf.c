// SPDX-License-Identifier: BSD-3-Clause
/*
 * elf.c - the sections, symbols and relocations of a relocatable BPF object.
 *
 * The file may be cut short or made to harm. All numbers of it are checked here, once: after elf_parse() a
 * section's bytes lie inside the file, every name is a terminated string inside the file, and a symbol's section
 * index and a relocation's symbol index are valid. The other files rely on that and check only what they add.
 * The format is small enough to be read directly, which gives messages that say what is wrong with a file.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#if __BYTE_ORDER != __LITTLE_ENDIAN
#error "the ELF reader takes its structures as they lie in the file"
#endif

#ifndef EM_BPF
#define EM_BPF 247
#endif

static bool inside(const struct elf_file *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

/* Return: the string at @offset of a string table, or NULL if it does not end inside it. */
static const char *string_at(const struct elf_file *elf, const Elf64_Shdr *table, uint64_t offset)
{
	const char *s = (const char *)elf->bytes + table->sh_offset + offset;

	if (offset >= table->sh_size || !memchr(s, '\0', table->sh_size - offset))
		return NULL;
	return s;
}

/* Headers are copied: nothing says that they are aligned in the file. */
static void read_shdr(const struct elf_file *elf, const Elf64_Ehdr *eh, size_t i, Elf64_Shdr *sh)
{
	memcpy(sh, elf->bytes + eh->e_shoff + i * sizeof(*sh), sizeof(*sh));
}

static int check_header(const struct elf_file *elf, Elf64_Ehdr *eh)
{
	if (elf->size < SELFMAG || memcmp(elf->bytes, ELFMAG, SELFMAG))
		return gpgpu_fail(-EINVAL, "%s: not an ELF file", elf->name);
	if (elf->size < sizeof(*eh))
		return gpgpu_fail(-EINVAL, "%s: cut short: %zu bytes", elf->name, elf->size);
	memcpy(eh, elf->bytes, sizeof(*eh));
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return gpgpu_fail(-EINVAL, "%s: not a 64-bit ELF file", elf->name);
	if (eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return gpgpu_fail(-EINVAL, "%s: big endian; compile with -target bpfel", elf->name);
	if (eh->e_machine != EM_BPF)
		return gpgpu_fail(-EINVAL, "%s: not a BPF object (ELF machine %u); compile with -target bpf",
				  elf->name, eh->e_machine);
	if (eh->e_type != ET_REL)
		return gpgpu_fail(-EINVAL, "%s: not a relocatable object (ELF type %u)", elf->name,
				  eh->e_type);
	if (eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shnum == 0 || eh->e_shstrndx >= eh->e_shnum)
		return gpgpu_fail(-EINVAL, "%s: damaged: no section headers", elf->name);
	if (!inside(elf, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr)))
		return gpgpu_fail(-EINVAL, "%s: cut short: section headers end at byte %llu of %zu",
				  elf->name,
				  (unsigned long long)eh->e_shoff + eh->e_shnum * sizeof(Elf64_Shdr),
				  elf->size);
	return 0;
}

static int read_sections(struct elf_file *elf, const Elf64_Ehdr *eh)
{
	Elf64_Shdr names;

	elf->sections = calloc(eh->e_shnum, sizeof(*elf->sections));
	if (!elf->sections)
		return gpgpu_fail(-ENOMEM, "out of memory");
	elf->num_sections = eh->e_shnum;
	read_shdr(elf, eh, eh->e_shstrndx, &names);
	if (names.sh_type != SHT_STRTAB || !inside(elf, names.sh_offset, names.sh_size))
		return gpgpu_fail(-EINVAL, "%s: damaged: no section names", elf->name);

	for (size_t i = 0; i < elf->num_sections; i++) {
		struct elf_section *s = &elf->sections[i];
		Elf64_Shdr sh;

		read_shdr(elf, eh, i, &sh);
		s->name = string_at(elf, &names, sh.sh_name);
		if (!s->name)
			return gpgpu_fail(-EINVAL, "%s: damaged: section %zu has no name", elf->name, i);
		s->type = sh.sh_type;
		s->flags = sh.sh_flags;
		s->link = sh.sh_link;
		s->info = sh.sh_info;
		s->size = sh.sh_size;
		if (sh.sh_type == SHT_NULL)
			s->size = 0;
		if (sh.sh_type == SHT_NOBITS || sh.sh_type == SHT_NULL)
			continue;
		if (!inside(elf, sh.sh_offset, sh.sh_size))
			return gpgpu_fail(-EINVAL, "%s: cut short: section %s ends at byte %llu of %zu",
					  elf->name, s->name, (unsigned long long)(sh.sh_offset + sh.sh_size),
					  elf->size);
		s->data = elf->bytes + sh.sh_offset;
	}
	return 0;
}

static int read_symbols(struct elf_file *elf, const Elf64_Ehdr *eh)
{
	const struct elf_section *table = NULL;
	Elf64_Shdr strings;

	for (size_t i = 0; i < elf->num_sections && !table; i++) {
		if (elf->sections[i].type == SHT_SYMTAB)
			table = &elf->sections[i];
	}
	if (!table || table->link >= elf->num_sections)
		return gpgpu_fail(-EINVAL, "%s: damaged: no symbols", elf->name);
	read_shdr(elf, eh, table->link, &strings);
	if (strings.sh_type != SHT_STRTAB)
		return gpgpu_fail(-EINVAL, "%s: damaged: no symbol names", elf->name);

	elf->num_symbols = table->size / sizeof(Elf64_Sym);
	elf->symbols = calloc(elf->num_symbols + 1, sizeof(*elf->symbols));
	if (!elf->symbols)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < elf->num_symbols; i++) {
		struct elf_symbol *s = &elf->symbols[i];
		Elf64_Sym sym;

		memcpy(&sym, table->data + i * sizeof(sym), sizeof(sym));
		s->name = string_at(elf, &strings, sym.st_name);
		if (!s->name)
			return gpgpu_fail(-EINVAL, "%s: damaged: symbol %zu has no name", elf->name, i);
		if (sym.st_shndx >= elf->num_sections && sym.st_shndx < SHN_LORESERVE)
			return gpgpu_fail(-EINVAL, "%s: damaged: symbol %s is in section %u of %zu",
					  elf->name, s->name, sym.st_shndx, elf->num_sections);
		/* Absolute and common symbols lie nowhere; what refers to one is refused as external. */
		s->shndx = sym.st_shndx < SHN_LORESERVE ? sym.st_shndx : SHN_UNDEF;
		s->value = sym.st_value;
		s->size = sym.st_size;
		s->type = ELF64_ST_TYPE(sym.st_info);
		s->bind = ELF64_ST_BIND(sym.st_info);
	}
	return 0;
}

int elf_parse(struct elf_file *elf)
{
	Elf64_Ehdr eh;
	int r = check_header(elf, &eh);

	if (!r)
		r = read_sections(elf, &eh);
	if (!r)
		r = read_symbols(elf, &eh);
	return r;
}

void elf_free(struct elf_file *elf)
{
	free(elf->bytes);
	free(elf->sections);
	free(elf->symbols);
	memset(elf, 0, sizeof(*elf));
}

const struct elf_section *elf_find(const struct elf_file *elf, const char *name)
{
	for (size_t i = 0; i < elf->num_sections; i++) {
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	}
	return NULL;
}

static int by_offset(const void *a, const void *b)
{
	const struct elf_reloc *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int elf_relocs(const struct elf_file *elf, size_t section, struct elf_reloc **out, size_t *count)
{
	struct elf_reloc *relocs = NULL;
	size_t total = 0;

	*out = NULL;
	*count = 0;
	for (size_t i = 0; i < elf->num_sections; i++) {
		const struct elf_section *s = &elf->sections[i];
		size_t n = s->size / sizeof(Elf64_Rel);
		struct elf_reloc *more;

		if (s->info != section || (s->type != SHT_REL && s->type != SHT_RELA))
			continue;
		if (s->type == SHT_RELA) {
			free(relocs);
			return gpgpu_fail(-EINVAL, "%s: relocations with addends are not BPF's", elf->name);
		}
		more = realloc(relocs, (total + n + 1) * sizeof(*relocs));
		if (!more) {
			free(relocs);
			return gpgpu_fail(-ENOMEM, "out of memory");
		}
		relocs = more;
		for (size_t k = 0; k < n; k++) {
			Elf64_Rel rel;
			struct elf_reloc *to = &relocs[total + k];

			memcpy(&rel, s->data + k * sizeof(rel), sizeof(rel));
			to->offset = rel.r_offset;
			to->symbol = ELF64_R_SYM(rel.r_info);
			to->type = ELF64_R_TYPE(rel.r_info);
			if (to->symbol >= elf->num_symbols) {
				int r = gpgpu_fail(-EINVAL, "%s: damaged: relocation to symbol %u of %zu",
						   elf->name, to->symbol, elf->num_symbols);

				free(relocs);
				return r;
			}
		}
		total += n;
	}
	if (total)
		qsort(relocs, total, sizeof(*relocs), by_offset);
	*out = relocs;
	*count = total;
	return 0;
}
