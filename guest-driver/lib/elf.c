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

/* Return: the string at @offset of a string table, or NULL if it does not end inside it, or only far away. */
static const char *string_at(const struct elf_file *elf, const Elf64_Shdr *table, uint64_t offset)
{
	const char *s;
	uint64_t room;

	if (offset >= table->sh_size)
		return NULL;
	s = (const char *)elf->bytes + table->sh_offset + offset;
	room = table->sh_size - offset;
	return memchr(s, '\0', room < MAX_SYMBOL_NAME ? room : MAX_SYMBOL_NAME) ? s : NULL;
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
	for (size_t i = 1; i < elf->num_sections; i++) {
		struct elf_section *s = &elf->sections[i];

		if ((s->type == SHT_REL || s->type == SHT_RELA) && s->info < elf->num_sections) {
			s->next_rel = elf->sections[s->info].first_rel;
			elf->sections[s->info].first_rel = (uint32_t)i;
		}
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

	if (table->size / sizeof(Elf64_Sym) > MAX_SYMBOLS)
		return gpgpu_fail(-E2BIG, "%s: over %u symbols", elf->name, MAX_SYMBOLS);
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

static int by_place(const void *a, const void *b, void *arg)
{
	const struct elf_symbol *symbols = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct elf_symbol *x = &symbols[i], *y = &symbols[j];

	if (x->shndx != y->shndx)
		return x->shndx < y->shndx ? -1 : 1;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int index_functions(struct elf_file *elf)
{
	elf->funcs = calloc(elf->num_symbols + 1, sizeof(*elf->funcs));
	if (!elf->funcs)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < elf->num_symbols; i++) {
		if (elf->symbols[i].type == STT_FUNC)
			elf->funcs[elf->num_funcs++] = (uint32_t)i;
	}
	qsort_r(elf->funcs, elf->num_funcs, sizeof(*elf->funcs), by_place, elf->symbols);
	return 0;
}

long elf_function_at(const struct elf_file *elf, size_t section, uint64_t offset)
{
	size_t low = 0, high = elf->num_funcs;
	const struct elf_symbol *s;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		s = &elf->symbols[elf->funcs[mid]];
		if (s->shndx < section || (s->shndx == section && s->value < offset))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == elf->num_funcs)
		return -1;
	s = &elf->symbols[elf->funcs[low]];
	return s->shndx == section && s->value == offset ? (long)elf->funcs[low] : -1;
}

int elf_parse(struct elf_file *elf)
{
	Elf64_Ehdr eh;
	int r = check_header(elf, &eh);

	if (!r)
		r = read_sections(elf, &eh);
	if (!r)
		r = read_symbols(elf, &eh);
	if (!r)
		r = index_functions(elf);
	return r;
}

void elf_free(struct elf_file *elf)
{
	for (size_t i = 0; i < elf->num_sections; i++)
		free(elf->sections[i].relocs);
	free(elf->bytes);
	free(elf->sections);
	free(elf->symbols);
	free(elf->funcs);
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

/* Appends the relocations of section @from to those of section @to, for which there is room. */
static int add_relocs(struct elf_file *elf, struct elf_section *to, const struct elf_section *from)
{
	size_t n = from->size / sizeof(Elf64_Rel);

	for (size_t k = 0; k < n; k++) {
		struct elf_reloc *r = &to->relocs[to->num_relocs];
		Elf64_Rel rel;

		memcpy(&rel, from->data + k * sizeof(rel), sizeof(rel));
		r->offset = rel.r_offset;
		r->symbol = ELF64_R_SYM(rel.r_info);
		r->type = ELF64_R_TYPE(rel.r_info);
		if (r->symbol >= elf->num_symbols)
			return gpgpu_fail(-EINVAL, "%s: damaged: relocation to symbol %u of %zu", elf->name,
					  r->symbol, elf->num_symbols);
		to->num_relocs++;
	}
	return 0;
}

/* Reads what elf_relocs() hands out, once per section. */
static int read_relocs(struct elf_file *elf, struct elf_section *s)
{
	size_t total = 0;
	int r = 0;

	for (uint32_t i = s->first_rel; i; i = elf->sections[i].next_rel) {
		if (elf->sections[i].type == SHT_RELA)
			return gpgpu_fail(-EINVAL, "%s: relocations with addends are not BPF's", elf->name);
		total += elf->sections[i].size / sizeof(Elf64_Rel);
	}
	if (total > MAX_RELOCS - elf->num_relocs)
		return gpgpu_fail(-E2BIG, "%s: over %u relocations", elf->name, MAX_RELOCS);
	elf->num_relocs += total;
	s->relocs = calloc(total + 1, sizeof(*s->relocs));
	if (!s->relocs)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (uint32_t i = s->first_rel; i && !r; i = elf->sections[i].next_rel)
		r = add_relocs(elf, s, &elf->sections[i]);
	if (r)
		return r;
	qsort(s->relocs, s->num_relocs, sizeof(*s->relocs), by_offset);
	s->relocs_read = true;
	return 0;
}

int elf_relocs(struct elf_file *elf, size_t section, const struct elf_reloc **relocs, size_t *count)
{
	struct elf_section *s = &elf->sections[section];
	int r = s->relocs_read ? 0 : read_relocs(elf, s);

	*relocs = r ? NULL : s->relocs;
	*count = r ? 0 : s->num_relocs;
	return r;
}
