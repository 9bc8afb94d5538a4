/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elf_object.h - an ELF relocatable, opened: for those that make an image of one (image.c, image_gpu.c).
 *
 * An object is LLVM's work on hostile input, so nothing in it is believed: once gp_elf_open() has returned, sections that
 * have bytes lie inside of the object, and so do the symbols and their names. What refers to them by number
 * or offset is for the caller to check.
 */
#ifndef GPGPU_JIT_ELF_OBJECT_H
#define GPGPU_JIT_ELF_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/prog.h"

struct gp_elf {
	const uint8_t *bytes;
	size_t size;
	const Elf64_Ehdr *header;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	uint64_t num_symbols;
	const char *strings; /* of the symbols; ends with a NUL */
	uint64_t strings_size;
	char *error; /* GP_MESSAGE bytes */
};

/* gp_elf_open() - @elf: bytes, size and error are set, the rest is filled. Return: false with the reason in error. */
bool gp_elf_open(struct gp_elf *elf, uint16_t machine);

/* gp_elf_fail() - note that @what does not fit, of the thing called @name (or NULL). Return: false. */
bool gp_elf_fail(struct gp_elf *elf, const char *what, const char *name);

const char *gp_elf_symbol_name(const struct gp_elf *elf, const Elf64_Sym *sym);

/*
 * gp_elf_place() - give section @i a place in an image, which must be read-only data or code.
 * @at: the first byte that is free; moved behind the section. Return: false with the reason in error.
 */
bool gp_elf_place(struct gp_elf *elf, int i, uint32_t *place, uint64_t *at);

#endif
