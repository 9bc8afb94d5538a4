/* SPDX-License-Identifier: BSD-3-Clause */
/* object.c - object.h: sections by name, and the one relocation there is, from the descriptor to the code. */
#include <elf.h>
#include <glib.h>
#include <string.h>
#include "object.h"

#define DESCRIPTOR 64
#define CODE	   256 /* where code begins: a multiple of 256 */

static const Elf64_Shdr *find(const uint8_t *file, size_t size, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file + header->e_shoff);
	const char *names;

	if (size < sizeof(*header) || memcmp(file, ELFMAG, SELFMAG) || header->e_machine != EM_AMDGPU)
		g_error("not an object of an AMD GPU");
	names = (const char *)file + sections[header->e_shstrndx].sh_offset;
	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	g_error("there is no section %s", name);
}

void object_load(const char *path, struct gp_image *image)
{
	const Elf64_Shdr *text, *rodata;
	int64_t offset = CODE;
	GError *error = NULL;
	char *file = NULL;
	uint8_t *code;
	gsize size;

	if (!g_file_get_contents(path, &file, &size, &error))
		g_error("%s", error->message);
	text = find((const uint8_t *)file, size, ".text");
	rodata = find((const uint8_t *)file, size, ".rodata");
	memset(image, 0, sizeof(*image));
	image->code_bytes = (uint32_t)(CODE + text->sh_size);
	image->map_bytes = image->code_bytes;
	code = g_malloc0(image->map_bytes);
	memcpy(code, file + rodata->sh_offset, DESCRIPTOR);
	memcpy(code + 16, &offset, sizeof(offset));
	memcpy(code + CODE, file + text->sh_offset, text->sh_size);
	image->code = code;
	g_free(file);
}

void object_free(struct gp_image *image)
{
	g_free(image->code);
	image->code = NULL;
}
