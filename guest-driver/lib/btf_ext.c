// SPDX-License-Identifier: BSD-3-Clause
/*
 * btf_ext.c - .BTF.ext, which clang -g writes beside the types: a header, then parts, of which two are read here
 * (source.c, core_relocs.c). A part is, for each code section, the section's name, how many records there are, and these.
 *
 * This is the one place that reads the file's offsets and lengths; what a part's records say is its reader's to judge.
 */
#include <stddef.h>
#include <string.h>

#include "internal.h"

#define BTF_EXT_MAGIC 0xeb9f

struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len;
	uint32_t func_info_off, func_info_len;
	uint32_t line_info_off, line_info_len;
	uint32_t core_relo_off, core_relo_len; /* since CO-RE; headers of before end here */
};

#define OLD_HEADER offsetof(struct ext_header, core_relo_off)

int gpgpu_ext_damaged(const struct elf_file *elf)
{
	return gpgpu_fail(-EINVAL, "%s: damaged: section .BTF.ext", elf->name);
}

int gpgpu_ext_each(const struct elf_file *elf, enum gpgpu_ext_part part, uint32_t record_size,
		   gpgpu_ext_fn *fn, void *opaque)
{
	const struct elf_section *s = elf_find(elf, ".BTF.ext");
	uint32_t size, off, len, end = part == EXT_CORE ? sizeof(struct ext_header) : OLD_HEADER;
	struct ext_header h = { 0 };
	const uint8_t *p;
	uint64_t left;
	int r;

	if (!s || !s->data)
		return 0;
	if (s->size < OLD_HEADER)
		return gpgpu_ext_damaged(elf);
	memcpy(&h, s->data, s->size < sizeof(h) ? s->size : sizeof(h));
	if (h.magic != BTF_EXT_MAGIC || h.hdr_len > s->size)
		return gpgpu_ext_damaged(elf);
	if (h.hdr_len < end)
		return part == EXT_CORE ? 0 : gpgpu_ext_damaged(elf);
	off = part == EXT_CORE ? h.core_relo_off : h.line_info_off;
	len = part == EXT_CORE ? h.core_relo_len : h.line_info_len;
	if (len == 0)
		return 0;
	if (off > s->size - h.hdr_len || len > s->size - h.hdr_len - off || len < sizeof(size))
		return gpgpu_ext_damaged(elf);
	p = s->data + h.hdr_len + off;
	left = len;
	memcpy(&size, p, sizeof(size));
	p += sizeof(size);
	left -= sizeof(size);
	if (size < record_size)
		return gpgpu_ext_damaged(elf);
	while (left) {
		uint32_t info[2]; /* name of the code section, number of records */

		if (left < sizeof(info))
			return gpgpu_ext_damaged(elf);
		memcpy(info, p, sizeof(info));
		p += sizeof(info);
		left -= sizeof(info);
		if (info[1] > left / size)
			return gpgpu_ext_damaged(elf);
		r = fn(opaque, info[0], p, info[1], size);
		if (r)
			return r;
		p += (size_t)info[1] * size;
		left -= (uint64_t)info[1] * size;
	}
	return 0;
}
