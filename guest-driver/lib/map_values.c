// SPDX-License-Identifier: BSD-3-Clause
/*
 * map_values.c - what program arrays and maps of maps are declared with.
 *
 * In C that is `.values = { [3] = &other_map }` or `{ [0] = program }`: clang leaves a relocation in section ".maps"
 * for each, whose place in the map's variable says the index and whose symbol says what is meant. Where the
 * values begin is the size of the variable's type, which does not count the open array at its end.
 */
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

#define POINTER 8

/* Where a map's variable lies in ".maps". */
struct variable {
	uint64_t start, size, values; /* values: offset of the open array in it; 0: it has none */
};

struct reader {
	struct elf_file *elf;
	const struct btf *btf;
	struct gpgpu_object *obj;
	uint16_t section;
	struct variable vars[MAX_OBJECT_MAPS]; /* by map */
};

static long find_map(const struct gpgpu_object *obj, const char *name)
{
	for (uint32_t i = 0; i < obj->num_maps; i++) {
		if (!obj->maps[i].section && !strcmp(obj->maps[i].name, name))
			return i;
	}
	return -1;
}

static long find_program(const struct gpgpu_object *obj, const char *name)
{
	for (uint32_t i = 0; i < obj->num_programs; i++) {
		if (!strcmp(obj->programs[i].name, name))
			return i;
	}
	return -1;
}

/* By the type of the variable @id. Return: where `values` begins, or 0. */
static uint64_t values_offset(const struct btf *btf, uint32_t id)
{
	int type = btf__resolve_type(btf, id);
	const struct btf_type *t = type < 0 ? NULL : btf__type_by_id(btf, (uint32_t)type);
	const struct btf_member *last;
	const char *name;

	if (!t || !btf_is_struct(t) || !btf_vlen(t))
		return 0;
	last = btf_members(t) + btf_vlen(t) - 1;
	name = btf__name_by_offset(btf, last->name_off);
	return name && !strcmp(name, "values") ? t->size : 0;
}

static void read_types(struct reader *r)
{
	int id = btf__find_by_name_kind(r->btf, ".maps", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(r->btf, (uint32_t)id);

	for (uint32_t i = 0; section && i < btf_vlen(section); i++) {
		uint32_t var = btf_var_secinfos(section)[i].type;
		const struct btf_type *t = btf__type_by_id(r->btf, var);
		const char *name = t ? btf__name_by_offset(r->btf, t->name_off) : NULL;
		long map = t && btf_is_var(t) && name ? find_map(r->obj, name) : -1;

		if (map >= 0)
			r->vars[map].values = values_offset(r->btf, var);
	}
}

static void read_symbols(struct reader *r)
{
	for (size_t i = 0; i < r->elf->num_symbols; i++) {
		const struct elf_symbol *s = &r->elf->symbols[i];
		long map = s->shndx == r->section && s->type == STT_OBJECT ? find_map(r->obj, s->name) : -1;

		if (map >= 0) {
			r->vars[map].start = s->value;
			r->vars[map].size = s->size;
		}
	}
}

static int add_value(struct reader *r, struct gpgpu_map *map, uint64_t index, const struct elf_symbol *sym)
{
	bool progs = map->info.type == BPF_MAP_TYPE_PROG_ARRAY;
	long target = progs ? find_program(r->obj, sym->name) : find_map(r->obj, sym->name);
	struct gpgpu_value *more;

	if (!progs && map->info.type != BPF_MAP_TYPE_ARRAY_OF_MAPS &&
	    map->info.type != BPF_MAP_TYPE_HASH_OF_MAPS)
		return gpgpu_fail(-EINVAL, "%s: map '%.64s' is declared with values, which its type has not",
				  r->elf->name, map->name);
	if (target < 0)
		return gpgpu_fail(-EINVAL, "%s: map '%.64s' is declared with '%.64s', which is no %s of it",
				  r->elf->name, map->name, sym->name, progs ? "program" : "map");
	if (index >= map->info.max_entries || map->info.key_size != sizeof(uint32_t))
		return gpgpu_fail(-EINVAL,
				  "%s: map '%.64s' is declared with a value %llu, but has %u entries",
				  r->elf->name, map->name, (unsigned long long)index, map->info.max_entries);
	more = realloc(map->values, (map->num_values + 1) * sizeof(*more));
	if (!more)
		return gpgpu_fail(-ENOMEM, "out of memory");
	map->values = more;
	map->values[map->num_values++] = (struct gpgpu_value){ (uint32_t)index, (uint32_t)target };
	return 0;
}

static int read_reloc(struct reader *r, const struct elf_reloc *rel)
{
	for (uint32_t i = 0; i < r->obj->num_maps; i++) {
		const struct variable *v = &r->vars[i];
		uint64_t at = rel->offset - v->start;

		if (rel->offset < v->start || at >= v->size)
			continue;
		if (!v->values || at < v->values || (at - v->values) % POINTER)
			break;
		return add_value(r, &r->obj->maps[i], (at - v->values) / POINTER,
				 &r->elf->symbols[rel->symbol]);
	}
	return gpgpu_fail(-EINVAL, "%s: damaged: a relocation of byte %llu of section .maps", r->elf->name,
			  (unsigned long long)rel->offset);
}

int gpgpu_map_values(struct elf_file *elf, const struct btf *btf, struct gpgpu_object *obj)
{
	const struct elf_section *section = elf_find(elf, ".maps");
	const struct elf_reloc *relocs;
	struct reader *r;
	size_t count;
	int err;

	if (!section || !btf)
		return 0;
	err = elf_relocs(elf, (size_t)(section - elf->sections), &relocs, &count);
	if (err || !count)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return gpgpu_fail(-ENOMEM, "out of memory");
	*r = (struct reader){ .elf = elf, .btf = btf, .obj = obj };
	r->section = (uint16_t)(section - elf->sections);
	read_types(r);
	read_symbols(r);
	for (size_t i = 0; !err && i < count; i++)
		err = read_reloc(r, &relocs[i]);
	free(r);
	return err;
}
