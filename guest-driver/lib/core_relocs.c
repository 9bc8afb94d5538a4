// SPDX-License-Identifier: BSD-3-Clause
/*
 * core_relocs.c - relocations that depend on a kernel's types (CO-RE).
 *
 * A loader for the kernel adjusts field offsets to the running kernel. A device has no kernel types, and the only
 * structures that a program reaches there are its context, packets and its own maps, whose layout never changes:
 * what clang compiled in is right, so relocations of fields are left alone. Relocations of other kinds (does a type
 * or an enumerator exist, what is its value) have no answer here and are refused, since the compiled-in one would
 * be a guess.
 */
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

#define LAST_FIELD_KIND 5 /* enum bpf_core_relo_kind: 0 to 5 are about fields */

struct core_record {
	uint32_t insn_off, type_id, access_off, kind;
};

static int check_record(const struct elf_file *elf, const struct btf *btf, const struct core_record *rec)
{
	const struct btf_type *t;
	const char *name;

	if (rec->kind <= LAST_FIELD_KIND)
		return 0;
	t = btf ? btf__type_by_id(btf, rec->type_id) : NULL;
	name = t ? btf__name_by_offset(btf, t->name_off) : NULL;
	return gpgpu_fail(-EINVAL,
			  "%s: instruction at byte %u asks the kernel about type '%.64s' (CO-RE): a device "
			  "has no kernel types",
			  elf->name, rec->insn_off, name ? name : "");
}

struct reader {
	const struct elf_file *elf;
	const struct btf *btf;
};

static int check_records(void *opaque, uint32_t section, const uint8_t *p, uint32_t count, uint32_t size)
{
	const struct reader *reader = opaque;
	struct core_record rec;
	int r = 0;

	for (uint32_t i = 0; i < count && !r; i++, p += size) {
		memcpy(&rec, p, sizeof(rec));
		r = check_record(reader->elf, reader->btf, &rec);
	}
	return r;
}

int gpgpu_check_core_relocs(const struct elf_file *elf, const struct btf *btf)
{
	struct reader reader = { elf, btf };

	return gpgpu_ext_each(elf, EXT_CORE, sizeof(struct core_record), check_records, &reader);
}
