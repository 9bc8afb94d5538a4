// SPDX-License-Identifier: BSD-3-Clause
/*
 * core_relocs.c - relocations that depend on a kernel's types (CO-RE).
 *
 * A loader for the kernel adjusts field offsets to the running kernel. A device has no kernel types, and the only
 * structures that a program reaches there are its context, packets and its own maps, whose layout never changes:
 * what clang compiled in is right, so relocations of fields are left alone. Relocations of other kinds (does a type
 * or an enumerator exist, what is its value) have no answer here and are refused, since the compiled-in one would
 * be a guess.
 *
 * .BTF.ext: a header, then per code section a name and an array of records.
 */
#include <string.h>

#include <bpf/btf.h>

#include "internal.h"

#define BTF_EXT_MAGIC	0xeb9f
#define LAST_FIELD_KIND 5 /* enum bpf_core_relo_kind: 0 to 5 are about fields */

struct ext_header { /* of .BTF.ext, up to what CO-RE added */
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len;
	uint32_t func_info_off, func_info_len;
	uint32_t line_info_off, line_info_len;
	uint32_t core_relo_off, core_relo_len;
};

struct core_record {
	uint32_t insn_off, type_id, access_off, kind;
};

static int damaged(const struct elf_file *elf)
{
	return gpgpu_fail(-EINVAL, "%s: damaged: section .BTF.ext", elf->name);
}

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

int gpgpu_check_core_relocs(const struct elf_file *elf, const struct btf *btf)
{
	const struct elf_section *s = elf_find(elf, ".BTF.ext");
	struct ext_header h = { 0 };
	const uint8_t *p;
	uint64_t left;
	uint32_t size;
	int r;

	if (!s || !s->data)
		return 0;
	if (s->size < offsetof(struct ext_header, core_relo_off))
		return damaged(elf);
	memcpy(&h, s->data, s->size < sizeof(h) ? s->size : sizeof(h));
	if (h.magic != BTF_EXT_MAGIC || h.hdr_len > s->size)
		return damaged(elf);
	if (h.hdr_len < sizeof(h) || h.core_relo_len == 0)
		return 0;
	if (h.core_relo_off > s->size - h.hdr_len ||
	    h.core_relo_len > s->size - h.hdr_len - h.core_relo_off || h.core_relo_len < sizeof(size))
		return damaged(elf);
	p = s->data + h.hdr_len + h.core_relo_off;
	left = h.core_relo_len;
	memcpy(&size, p, sizeof(size));
	p += sizeof(size);
	left -= sizeof(size);
	if (size < sizeof(struct core_record))
		return damaged(elf);
	while (left) {
		uint32_t info[2]; /* name of the code section, number of records */

		if (left < sizeof(info))
			return damaged(elf);
		memcpy(info, p, sizeof(info));
		p += sizeof(info);
		left -= sizeof(info);
		if (info[1] > left / size)
			return damaged(elf);
		for (uint32_t i = 0; i < info[1]; i++, p += size, left -= size) {
			struct core_record rec;

			memcpy(&rec, p, sizeof(rec));
			r = check_record(elf, btf, &rec);
			if (r)
				return r;
		}
	}
	return 0;
}
