/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * harness.c - see harness.h.
 *
 * A code object of clang is relocatable: the kernel descriptor's offset to the code is the one relocation. It is
 * computed here from the symbols, and the text section is copied to executable memory.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"
#include "internal.h"

static const struct region *find(struct harness *h, uint64_t va, uint32_t size, uint32_t need)
{
	for (unsigned int i = 0; i < h->regions; i++) {
		const struct region *r = &h->region[i];

		if (va >= r->base && va - r->base <= r->size && size <= r->size - (va - r->base) &&
		    (r->allowed & need) == need)
			return r;
	}
	return NULL;
}

static int read_memory(void *opaque, unsigned int cu, uint64_t va, void *to, uint32_t size, uint32_t flags)
{
	if (!find(opaque, va, size, flags & SIM_EXECUTE ? SIM_EXECUTE : SIM_READ))
		return 1;
	memcpy(to, (const void *)(uintptr_t)va, size);
	return 0;
}

static int write_memory(void *opaque, unsigned int cu, uint64_t va, const void *from, uint32_t size,
			uint32_t flags)
{
	if (!find(opaque, va, size, SIM_WRITE))
		return 1;
	memcpy((void *)(uintptr_t)va, from, size);
	return 0;
}

static int atomic(void *opaque, unsigned int cu, uint64_t va, enum sim_atomic op, uint32_t size,
		  uint64_t operand, uint64_t compare, uint64_t *old, uint32_t flags)
{
	uint64_t value;

	if (!find(opaque, va, size, SIM_READ | SIM_WRITE))
		return 1;
	*old = 0;
	memcpy(old, (const void *)(uintptr_t)va, size);
	value = sim_atomic_result(op, size, *old, operand, compare);
	memcpy((void *)(uintptr_t)va, &value, size);
	return 0;
}

void harness_open(struct harness *h, enum sim_gfx gfx, uint32_t wave, const struct sim_options *options)
{
	struct sim_options defaults = { .max_instructions = 200000000 };
	struct sim_memory m = { .opaque = h, .read = read_memory, .write = write_memory, .atomic = atomic };

	memset(h, 0, sizeof(*h));
	h->gfx = gfx;
	h->wave = wave;
	h->machine = sim_machine_new(&m, options ? options : &defaults);
}

void harness_close(struct harness *h)
{
	sim_machine_free(h->machine);
	for (unsigned int i = 0; i < h->memories; i++)
		free(h->memory[i]);
	free(h->object);
}

void *harness_memory(struct harness *h, size_t size, uint32_t allowed, uint8_t fill)
{
	size_t whole = (size + 4095) & ~(size_t)4095;
	void *p = h->memories < 16 ? aligned_alloc(4096, whole) : NULL;

	if (!p)
		abort();
	memset(p, fill, whole);
	h->memory[h->memories++] = p;
	h->region[h->regions++] = (struct region){ .base = (uintptr_t)p, .size = size, .allowed = allowed };
	return p;
}

bool harness_load(struct harness *h, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size;

	if (!f)
		return false;
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	free(h->object);
	h->object = malloc((size_t)size);
	h->object_size = (size_t)size;
	if (!h->object || fread(h->object, 1, (size_t)size, f) != (size_t)size) {
		fclose(f);
		return false;
	}
	fclose(f);
	return true;
}

static const Elf64_Shdr *section(const struct harness *h, unsigned int at)
{
	const Elf64_Ehdr *e = (const void *)h->object;

	return (const void *)(h->object + e->e_shoff + (size_t)at * e->e_shentsize);
}

/* The symbol @name@suffix and its section. */
static const Elf64_Sym *symbol(const struct harness *h, const char *name, const char *suffix)
{
	const Elf64_Ehdr *e = (const void *)h->object;
	char whole[128];

	snprintf(whole, sizeof(whole), "%s%s", name, suffix);
	for (unsigned int i = 0; i < e->e_shnum; i++) {
		const Elf64_Shdr *s = section(h, i);
		const Elf64_Sym *sym = (const void *)(h->object + s->sh_offset);
		const char *names;

		if (s->sh_type != SHT_SYMTAB)
			continue;
		names = (const char *)h->object + section(h, s->sh_link)->sh_offset;
		for (size_t k = 0; k < s->sh_size / sizeof(*sym); k++)
			if (!strcmp(names + sym[k].st_name, whole))
				return &sym[k];
	}
	return NULL;
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t x;

	memcpy(&x, p, 4);
	return x;
}

/* Calls of functions in the same text section, relative to where the relocation is. */
static void relocate(const struct harness *h, const Elf64_Shdr *text, uint8_t *copy)
{
	const Elf64_Ehdr *e = (const void *)h->object;

	for (unsigned int i = 0; i < e->e_shnum; i++) {
		const Elf64_Shdr *s = section(h, i);
		const Elf64_Rela *r = (const void *)(h->object + s->sh_offset);
		const Elf64_Sym *symbols;

		if (s->sh_type != SHT_RELA || section(h, s->sh_info) != text)
			continue;
		symbols = (const void *)(h->object + section(h, s->sh_link)->sh_offset);
		for (size_t k = 0; k < s->sh_size / sizeof(*r); k++) {
			uint64_t value = symbols[ELF64_R_SYM(r[k].r_info)].st_value +
					 (uint64_t)r[k].r_addend - r[k].r_offset;
			uint32_t word = ELF64_R_TYPE(r[k].r_info) == 11 ? (uint32_t)(value >> 32)
									: (uint32_t)value;

			memcpy(copy + r[k].r_offset, &word, 4);
		}
	}
}

/* User registers in the order of the descriptor's properties. */
static bool user_data(struct sim_dispatch *d, uint32_t properties, const void *args)
{
	unsigned int at = 0;

	if (properties & 1) {
		d->user_data[at++] = (uint32_t)d->scratch;
		d->user_data[at++] = (uint32_t)(d->scratch >> 32) | 1u << 31;
		d->user_data[at++] = d->scratch_wave_bytes * d->scratch_waves;
		d->user_data[at++] = d->gfx == SIM_GFX1030 ? (d->wave == 32 ? 2u : 3u) << 21 | 1u << 23 |
								     1u << 24 | 20u << 12
							   : 0x00e00000;
	}
	for (unsigned int bit = 1; bit <= 3;
	     bit++) { /* dispatch and queue packets: nobody reads them; arguments */
		uint64_t address = bit == 3 ? (uintptr_t)args : 0x1234000;

		if (!(properties >> bit & 1))
			continue;
		d->user_data[at++] = (uint32_t)address;
		d->user_data[at++] = (uint32_t)(address >> 32);
	}
	if (properties & 16)
		at += 2;
	if (properties & 32) { /* flat scratch */
		d->user_data[at++] = (uint32_t)d->scratch;
		d->user_data[at++] = (uint32_t)(d->scratch >> 32);
	}
	return true;
}

bool harness_launch(struct harness *h, const struct launch *l)
{
	const Elf64_Sym *kd = symbol(h, l->kernel, ".kd"), *code = symbol(h, l->kernel, "");
	struct sim_dispatch d = { .gfx = h->gfx, .wave = h->wave };
	const uint8_t *descriptor;
	const Elf64_Shdr *text;
	unsigned int memories = h->memories, regions = h->regions;
	uint32_t private;
	uint8_t *copy;
	bool good;

	if (!kd || !code) {
		fprintf(stderr, "no kernel %s\n", l->kernel);
		return false;
	}
	descriptor = h->object + section(h, kd->st_shndx)->sh_offset + kd->st_value;
	text = section(h, code->st_shndx);
	copy = harness_memory(h, text->sh_size, SIM_READ | SIM_EXECUTE, 0);
	memcpy(copy, h->object + text->sh_offset, text->sh_size);
	relocate(h, text, copy);
	sim_machine_forget(h->machine);
	d.code = (uintptr_t)copy + code->st_value;
	d.rsrc3 = word_at(descriptor + 44);
	d.rsrc1 = word_at(descriptor + 48);
	d.rsrc2 = word_at(descriptor + 52) | (word_at(descriptor) + 511) / 512 << 15;
	private = word_at(descriptor + 4);
	if (d.rsrc2 & 1) {
		d.scratch_wave_bytes = ((private ? private : 4096) * h->wave + 1023) / 1024 * 1024;
		d.scratch_waves = 64;
		d.scratch = (uintptr_t)harness_memory(h, (size_t)d.scratch_wave_bytes * d.scratch_waves,
						      SIM_READ | SIM_WRITE, 0xa5);
	}
	d.groups[0] = l->groups;
	d.groups[1] = d.groups[2] = 1;
	d.group_size[0] = l->group_size;
	d.group_size[1] = d.group_size[2] = 1;
	if (!user_data(&d, word_at(descriptor + 56), l->args)) {
		fprintf(stderr, "%s wants more than its arguments\n", l->kernel);
		return false;
	}
	good = sim_run(h->machine, &d, &h->counts, &h->fault);
	if (!good)
		fprintf(stderr, "%s: %s at code + 0x%llx (wave %u, lane %u)\n", l->kernel, h->fault.text,
			(unsigned long long)(h->fault.pc - d.code), h->fault.wave, h->fault.lane);
	while (h->memories > memories)
		free(h->memory[--h->memories]);
	h->regions = regions;
	return good;
}

const uint8_t *harness_symbol(const struct harness *h, const char *name, size_t *size)
{
	const Elf64_Sym *code = symbol(h, name, "");
	const Elf64_Shdr *text;

	if (!code)
		return NULL;
	text = section(h, code->st_shndx);
	*size = text->sh_size - code->st_value;
	return h->object + text->sh_offset + code->st_value;
}

bool harness_run(struct harness *h, const char *name, struct sim_dispatch *d)
{
	const Elf64_Sym *code = symbol(h, name, "");
	const Elf64_Shdr *text;
	uint8_t *copy;
	bool good;

	if (!code) {
		fprintf(stderr, "no code %s\n", name);
		return false;
	}
	text = section(h, code->st_shndx);
	copy = harness_memory(h, text->sh_size, SIM_READ | SIM_EXECUTE, 0);
	memcpy(copy, h->object + text->sh_offset, text->sh_size);
	sim_machine_forget(h->machine);
	d->gfx = h->gfx;
	d->wave = h->wave;
	d->code = (uintptr_t)copy + code->st_value;
	good = sim_run(h->machine, d, &h->counts, &h->fault);
	free(h->memory[--h->memories]);
	h->regions--;
	return good;
}

bool harness_snippet(struct harness *h, const char *name, const uint32_t data[16], uint32_t rsrc1,
		     uint32_t rsrc2, uint32_t waves)
{
	struct sim_dispatch d = {
		.rsrc1 = rsrc1, .rsrc2 = rsrc2, .groups = { 1, 1, 1 }, .group_size = { h->wave * waves, 1, 1 }
	};

	memcpy(d.user_data, data, sizeof(d.user_data));
	return harness_run(h, name, &d);
}

void harness_coverage(enum sim_gfx gfx, unsigned int *all, unsigned int *done)
{
	*all = *done = 0;
	for (size_t i = 0; i < isa_row_count; i++) {
		if (!(isa_rows[i].cpus >> gfx & 1))
			continue;
		++*all;
		*done += isa_sem(&isa_rows[i]) != NULL;
	}
}
