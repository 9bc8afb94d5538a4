// SPDX-License-Identifier: BSD-3-Clause
/*
 * link.c - from functions in sections to one array of instructions.
 *
 * A program starts with its own function; each subprogram that is reached by a call is appended once, in the
 * order in which calls are met, and calls are then pointed at where the subprograms came to lie. clang leaves
 * calls in two forms: with a relocation to a symbol (another section, or a global function), or already resolved
 * within a section. References to data become ld_imm64 with BPF_PSEUDO_MAP_FD (a map) or BPF_PSEUDO_MAP_VALUE
 * (global data, offset in the second half); the first imm is the map's index in the object and is exchanged for
 * its handle when the object is loaded. The address of a function, as bpf_loop() takes it, becomes a ld_imm64 with
 * BPF_PSEUDO_FUNC, whose imm counts like a call's. What lies in LOCAL_SECTION is a group's local memory (GP_LOCAL): its
 * address is a ld_imm64 of its own kind, with the offset and the section's size. Calls of helpers of the group go by name
 * in the file, so that the compiler can be told not to move or repeat them, and by number from here on.
 *
 * Instructions are not judged here: that is the device's part. What is checked is what linking itself relies on.
 */
#include <stdlib.h>
#include <string.h>

#include "gpgpu_bpf.h"
#include "internal.h"
#include "virtio_gpgpu.h"

/* Helpers that gpgpu_bpf.h declares as functions. */
static const struct {
	const char *name;
	int number;
} named_helpers[] = {
#define NAMED(name) { "gp_" #name, GPGPU_HELPER_##name }
	NAMED(barrier), NAMED(broadcast), NAMED(shuffle), NAMED(reduce), NAMED(scan), NAMED(scan_before),
#undef NAMED
};

#define R_BPF_64_64 1 /* ld_imm64 */
#define R_BPF_64_32 10 /* call */
#define INSN_SIZE   sizeof(struct bpf_insn)

struct placed { /* a function in the program */
	size_t symbol, start, count; /* instructions */
};

struct linker {
	struct elf_file *elf;
	const struct gpgpu_object *obj;
	const char *prog; /* name, for messages */
	uint32_t *func_of; /* by symbol: 1 + number of the function that it is in the program, or 0 */
	struct bpf_insn *insns;
	size_t count, room;
	struct placed *funcs;
	size_t num_funcs, room_funcs;
};

static int grow(struct linker *l, size_t insns)
{
	void *p;

	if (insns > MAX_LINKED_INSNS - l->count)
		return gpgpu_fail(-E2BIG, "%s: program '%.64s' has over %u instructions", l->elf->name,
				  l->prog, MAX_LINKED_INSNS);
	while (l->room < l->count + insns) {
		l->room = l->room ? l->room * 2 : 256;
		p = realloc(l->insns, l->room * INSN_SIZE);
		if (!p)
			return gpgpu_fail(-ENOMEM, "out of memory");
		l->insns = p;
	}
	if (l->num_funcs == l->room_funcs) {
		l->room_funcs = l->room_funcs ? l->room_funcs * 2 : 8;
		p = realloc(l->funcs, l->room_funcs * sizeof(*l->funcs));
		if (!p)
			return gpgpu_fail(-ENOMEM, "out of memory");
		l->funcs = p;
	}
	return 0;
}

/* Appends a function's instructions as they are in the file. Return: its number or negative errno. */
static int place(struct linker *l, size_t symbol)
{
	const struct elf_symbol *sym = &l->elf->symbols[symbol];
	const struct elf_section *sec = &l->elf->sections[sym->shndx];
	size_t count;
	int r;

	if (l->func_of[symbol])
		return (int)l->func_of[symbol] - 1;
	if (sym->size == 0 || sym->value % INSN_SIZE || sym->size % INSN_SIZE || sym->value > sec->size ||
	    sym->size > sec->size - sym->value)
		return gpgpu_fail(-EINVAL, "%s: damaged: function '%.64s' is not inside section %s",
				  l->elf->name, sym->name, sec->name);
	count = sym->size / INSN_SIZE;
	r = grow(l, count);
	if (r)
		return r;
	memcpy(l->insns + l->count, sec->data + sym->value, sym->size);
	l->funcs[l->num_funcs] = (struct placed){ symbol, l->count, count };
	l->count += count;
	l->func_of[symbol] = (uint32_t)++l->num_funcs;
	return (int)l->num_funcs - 1;
}

static bool link_named_helper(struct bpf_insn *insn, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(named_helpers); i++) {
		if (strcmp(named_helpers[i].name, name))
			continue;
		insn->src_reg = 0;
		insn->imm = named_helpers[i].number;
		return true;
	}
	return false;
}

static int link_call(struct linker *l, size_t pos, size_t section, uint64_t next_offset,
		     const struct elf_reloc *rel)
{
	struct bpf_insn *insn = &l->insns[pos];
	/* imm counts instructions from the one behind the call; with a relocation, from the symbol less one. */
	uint64_t target = next_offset + (uint64_t)((int64_t)insn->imm * (int64_t)INSN_SIZE);
	long symbol;
	int func;

	if (rel) {
		const struct elf_symbol *sym = &l->elf->symbols[rel->symbol];

		if (sym->shndx == SHN_UNDEF && link_named_helper(insn, sym->name))
			return 0;
		if (sym->shndx == SHN_UNDEF)
			return gpgpu_fail(-EINVAL,
					  "%s: program '%.64s' calls '%.64s', which is not in the file: a "
					  "kernel function (kfunc) cannot be called on a device",
					  l->elf->name, l->prog, sym->name);
		section = sym->shndx;
		target = sym->value + (uint64_t)(((int64_t)insn->imm + 1) * (int64_t)INSN_SIZE);
	}
	if (!elf_is_code(&l->elf->sections[section]))
		return gpgpu_fail(-EINVAL, "%s: program '%.64s' calls into section %s", l->elf->name, l->prog,
				  l->elf->sections[section].name);
	symbol = elf_function_at(l->elf, section, target);
	if (symbol < 0)
		return gpgpu_fail(-EINVAL,
				  "%s: program '%.64s' calls byte %llu of section %s: no function starts "
				  "there",
				  l->elf->name, l->prog, (unsigned long long)target,
				  l->elf->sections[section].name);
	func = place(l, (size_t)symbol);
	if (func < 0)
		return func;
	insn = &l->insns[pos]; /* place() may have moved them */
	insn->src_reg = BPF_PSEUDO_CALL;
	insn->imm = (int)((long)l->funcs[func].start - (long)pos - 1);
	return 0;
}

/* Return: index of the map that a symbol means, or negative errno. */
static int find_map(const struct linker *l, struct elf_symbol *sym, bool *is_data)
{
	const struct elf_section *sec = &l->elf->sections[sym->shndx];

	if (sym->map) {
		*is_data = l->obj->maps[sym->map - 1].section != 0;
		return sym->map - 1;
	}
	for (uint32_t i = 0; i < l->obj->num_maps; i++) {
		const struct gpgpu_map *m = &l->obj->maps[i];

		*is_data = m->section != 0;
		if (m->section ? m->section == sym->shndx
			       : !strcmp(sec->name, ".maps") && !strcmp(m->name, sym->name)) {
			sym->map = (int)i + 1;
			return (int)i;
		}
	}
	return gpgpu_fail(-EINVAL,
			  "%s: program '%.64s' uses '%.64s' in section %s, which is no map and no data",
			  l->elf->name, l->prog, sym->name, sec->name);
}

/* The address of a function, as bpf_loop() takes it: the number of instructions to it, like a call's. */
static int link_function_address(struct linker *l, size_t pos, const struct elf_symbol *sym)
{
	uint64_t target = sym->value + (uint64_t)(int64_t)l->insns[pos].imm;
	long symbol = elf_function_at(l->elf, sym->shndx, target);
	struct bpf_insn *insn;
	int func;

	if (symbol < 0)
		return gpgpu_fail(-EINVAL,
				  "%s: program '%.64s' takes the address of byte %llu of section %s: no "
				  "function starts there",
				  l->elf->name, l->prog, (unsigned long long)target,
				  l->elf->sections[sym->shndx].name);
	func = place(l, (size_t)symbol);
	if (func < 0)
		return func;
	insn = &l->insns[pos]; /* place() may have moved them */
	insn->src_reg = BPF_PSEUDO_FUNC;
	insn->imm = (int)((long)l->funcs[func].start - (long)pos - 1);
	insn[1].imm = 0;
	return 0;
}

/* Addend and symbol wrap as the machine's own address arithmetic would; the device checks what comes out. */
static int link_local(const struct linker *l, struct bpf_insn *insn, const struct elf_symbol *sym)
{
	uint64_t size = l->elf->sections[sym->shndx].size;

	if (size > VIRTIO_GPGPU_MAX_LOCAL)
		return gpgpu_fail(
			-E2BIG,
			"%s: program '%.64s' has %llu bytes of local memory (GP_LOCAL), at most %u are possible",
			l->elf->name, l->prog, (unsigned long long)size, VIRTIO_GPGPU_MAX_LOCAL);
	insn->src_reg = VIRTIO_GPGPU_LD_LOCAL;
	insn->imm = (int)((uint32_t)insn->imm + (uint32_t)sym->value);
	insn[1].imm = (int)size;
	return 0;
}

static int link_data(struct linker *l, size_t pos, const struct elf_reloc *rel)
{
	struct elf_symbol *sym = &l->elf->symbols[rel->symbol];
	struct bpf_insn *insn = &l->insns[pos];
	bool is_data = false;
	int map;

	if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
		return gpgpu_fail(-EINVAL,
				  "%s: damaged: relocation of instruction %zu of '%.64s', which loads no "
				  "address",
				  l->elf->name, pos, l->prog);
	if (sym->shndx == SHN_UNDEF)
		return gpgpu_fail(-EINVAL, "%s: program '%.64s' needs '%.64s', which only a kernel has",
				  l->elf->name, l->prog, sym->name);
	if (elf_is_code(&l->elf->sections[sym->shndx]))
		return link_function_address(l, pos, sym);
	if (!strcmp(l->elf->sections[sym->shndx].name, LOCAL_SECTION))
		return link_local(l, insn, sym);
	map = find_map(l, sym, &is_data);
	if (map < 0)
		return map;
	if (is_data) {
		/* Addend and symbol wrap as the machine's own address arithmetic would. */
		insn[1].imm = (int)((uint32_t)insn->imm + (uint32_t)sym->value);
		insn->src_reg = BPF_PSEUDO_MAP_VALUE;
	} else {
		insn[1].imm = 0;
		insn->src_reg = BPF_PSEUDO_MAP_FD;
	}
	insn->imm = map;
	return 0;
}

static const struct elf_reloc *reloc_at(const struct elf_reloc *relocs, size_t count, uint64_t offset)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (relocs[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < count && relocs[low].offset == offset ? &relocs[low] : NULL;
}

static int link_insn(struct linker *l, const struct placed *f, size_t i, const struct elf_reloc *rel)
{
	const struct elf_symbol *sym = &l->elf->symbols[f->symbol];
	size_t pos = f->start + i;
	const struct bpf_insn *insn = &l->insns[pos];
	bool is_call = insn->code == (BPF_JMP | BPF_CALL);

	if (rel && rel->type == R_BPF_64_64 && !is_call)
		return link_data(l, pos, rel);
	if (rel && rel->type != R_BPF_64_32)
		return gpgpu_fail(-EINVAL, "%s: relocation type %u in '%.64s' is not known", l->elf->name,
				  rel->type, l->prog);
	if (rel && !is_call)
		return gpgpu_fail(-EINVAL,
				  "%s: damaged: relocation of instruction %zu of '%.64s', which is no "
				  "call",
				  l->elf->name, pos, l->prog);
	if (rel || (is_call && insn->src_reg == BPF_PSEUDO_CALL))
		return link_call(l, pos, sym->shndx, sym->value + (i + 1) * INSN_SIZE, rel);
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg)
		return gpgpu_fail(-EINVAL,
				  "%s: instruction %zu of '%.64s' is an address that nothing relocates",
				  l->elf->name, pos, l->prog);
	return 0;
}

static int link_function(struct linker *l, size_t func)
{
	struct placed f = l->funcs[func]; /* a copy: place() moves the array */
	const struct elf_reloc *relocs;
	size_t count;
	int r = elf_relocs(l->elf, l->elf->symbols[f.symbol].shndx, &relocs, &count);

	for (size_t i = 0; !r && i < f.count; i++) {
		uint64_t offset = l->elf->symbols[f.symbol].value + i * INSN_SIZE;
		bool two = l->insns[f.start + i].code == (BPF_LD | BPF_IMM | BPF_DW);

		/* Whoever walks the program relies on both halves being there. */
		if (two && i + 1 == f.count)
			r = gpgpu_fail(-EINVAL, "%s: damaged: function '%.64s' ends inside an instruction",
				       l->elf->name, l->elf->symbols[f.symbol].name);
		else
			r = link_insn(l, &f, i, reloc_at(relocs, count, offset));
		i += two; /* its second half is no instruction */
	}
	return r;
}

/* Notes for source.c where the functions came from. */
static int keep_functions(const struct linker *l, struct gpgpu_program *prog)
{
	size_t room = MAX_OBJECT_FUNCTIONS;

	for (uint32_t i = 0; i < l->obj->num_programs; i++)
		room -= l->obj->programs[i].num_functions;
	if (l->num_funcs > room)
		return gpgpu_fail(-E2BIG, "%s: its programs have over %u functions in all", l->elf->name,
				  MAX_OBJECT_FUNCTIONS);
	prog->functions = calloc(l->num_funcs, sizeof(*prog->functions));
	if (!prog->functions)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (size_t f = 0; f < l->num_funcs; f++) {
		const struct elf_symbol *sym = &l->elf->symbols[l->funcs[f].symbol];

		prog->functions[f] = (struct linked_function){
			.name = strdup(sym->name),
			.section = sym->shndx,
			.start = (uint32_t)l->funcs[f].start,
			.count = (uint32_t)l->funcs[f].count,
			.offset = sym->value,
		};
		prog->num_functions++;
		if (!prog->functions[f].name)
			return gpgpu_fail(-ENOMEM, "out of memory");
	}
	return 0;
}

int gpgpu_link(struct elf_file *elf, const struct gpgpu_object *obj, size_t symbol,
	       struct gpgpu_program *prog)
{
	struct linker l = { .elf = elf, .obj = obj, .prog = elf->symbols[symbol].name };
	int r;

	l.func_of = calloc(elf->num_symbols, sizeof(*l.func_of));
	if (!l.func_of)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = place(&l, symbol);
	for (size_t f = 0; r >= 0 && f < l.num_funcs; f++)
		r = link_function(&l, f);
	if (r >= 0)
		r = keep_functions(&l, prog);
	free(l.funcs);
	free(l.func_of);
	if (r < 0) {
		free(l.insns);
		return r;
	}
	prog->insns = l.insns;
	prog->num_insns = (uint32_t)l.count;
	return 0;
}
