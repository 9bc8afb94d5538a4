// SPDX-License-Identifier: BSD-3-Clause
/*
 * object.c - objects: the programs, kernels, maps and global data of an ELF file.
 *
 * Opening reads everything and keeps nothing of the file but its BTF, for names of the source: programs are linked
 * (link.c), kernels have their arguments (kernel_args.c), maps their definitions and what they are declared with
 * (map_values.c). BTF-defined maps are libbpf's business, which reads the same file a second time; global data is read
 * here, as one array of one element per section. Loading makes the maps that are used, fills global data, freezes
 * .rodata (read only for programs before they are compiled, so that the host may take its values as constants),
 * exchanges map indices for handles and compiles. A failing load takes back what it made, so an object is either loaded
 * or as it was.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "internal.h"

/* -------------------------------------------------------------------- libbpf */

/* libbpf's print function is one per process: ours is in place only while the lock is held. */
static pthread_mutex_t libbpf_lock = PTHREAD_MUTEX_INITIALIZER;
static char libbpf_warning[256];

static int note_warning(enum libbpf_print_level level, const char *format, va_list ap)
{
	/* The first warning names the cause, later ones only pass it on. */
	if (level == LIBBPF_WARN && !libbpf_warning[0])
		vsnprintf(libbpf_warning, sizeof(libbpf_warning), format, ap);
	return 0;
}

static int libbpf_fail(const struct elf_file *elf, int err)
{
	const char *why = libbpf_warning[0] ? libbpf_warning : strerror(-err);

	return gpgpu_fail(-EINVAL, "%s: %s", elf->name, !strncmp(why, "libbpf: ", 8) ? why + 8 : why);
}

/* ------------------------------------------------------------------- reading */

static int read_file(const char *path, uint8_t **bytes, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t n = 0;
	int r = 0;

	if (fd < 0)
		return gpgpu_fail(-errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		r = gpgpu_fail(-errno, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		r = gpgpu_fail(-EINVAL, "%s: not a regular file", path);
	else if (st.st_size > (off_t)MAX_OBJECT_SIZE)
		r = gpgpu_fail(-EFBIG, "%s: larger than %u bytes", path, MAX_OBJECT_SIZE);
	*bytes = r ? NULL : malloc((size_t)st.st_size + 1);
	if (!r && !*bytes)
		r = gpgpu_fail(-ENOMEM, "out of memory");
	while (!r && n < (size_t)st.st_size) {
		ssize_t got = read(fd, *bytes + n, (size_t)st.st_size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			r = gpgpu_fail(-errno, "%s: %s", path, strerror(errno));
		if (got <= 0)
			break; /* shorter than it was: the parser will say so */
		n += (size_t)got;
	}
	close(fd);
	*size = n;
	return r;
}

/* ---------------------------------------------------------------------- maps */

static struct gpgpu_map *add_map(struct gpgpu_object *obj, const char *name)
{
	struct gpgpu_map *m = &obj->maps[obj->num_maps];

	m->name = strdup(name);
	if (!m->name)
		return NULL;
	m->obj = obj;
	snprintf(m->info.name, sizeof(m->info.name), "%.15s", name);
	obj->num_maps++;
	return m;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_data_section(const struct elf_section *s)
{
	static const char *const names[] = { ".rodata", ".data", ".bss" };

	if (!strcmp(s->name, LOCAL_SECTION))
		return false; /* not the object's, but each group's */
	if (!(s->flags & SHF_ALLOC) || (s->type != SHT_PROGBITS && s->type != SHT_NOBITS) || s->size == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (has_prefix(s->name, names[i]) && (s->name[n] == '\0' || s->name[n] == '.'))
			return true;
	}
	return false;
}

static int add_data_map(const struct elf_file *elf, struct gpgpu_object *obj, size_t section)
{
	const struct elf_section *s = &elf->sections[section];
	uint64_t room = MAX_OBJECT_SIZE; /* the file need not hold it */
	struct gpgpu_map *m;

	if (obj->num_maps == MAX_OBJECT_MAPS)
		return gpgpu_fail(-E2BIG, "%s: over %u maps", elf->name, MAX_OBJECT_MAPS);
	for (uint32_t i = 0; i < obj->num_maps; i++)
		room -= obj->maps[i].info.value_size;
	if (s->size > room)
		return gpgpu_fail(-E2BIG, "%s: section %s has %llu bytes of global data: over %u in all",
				  elf->name, s->name, (unsigned long long)s->size, MAX_OBJECT_SIZE);
	m = add_map(obj, s->name);
	if (!m)
		return gpgpu_fail(-ENOMEM, "out of memory");
	m->section = section;
	m->info.type = BPF_MAP_TYPE_ARRAY;
	m->info.key_size = 4;
	m->info.value_size = (uint32_t)s->size;
	m->info.max_entries = 1;
	m->info.flags = has_prefix(s->name, ".rodata") ? GPGPU_MAP_RDONLY_PROG : 0;
	m->data = calloc(1, s->size);
	if (!m->data)
		return gpgpu_fail(-ENOMEM, "out of memory");
	if (s->data)
		memcpy(m->data, s->data, s->size);
	return 0;
}

/* What has no meaning on a device, or none that programs see, and what has one. */
static int map_flags(const struct elf_file *elf, const char *name, uint32_t flags, uint32_t *out)
{
	const uint32_t ignored = BPF_F_NO_PREALLOC | BPF_F_NO_COMMON_LRU | BPF_F_NUMA_NODE | BPF_F_MMAPABLE;

	flags &= ~ignored;
	if (flags & ~(uint32_t)BPF_F_RDONLY_PROG)
		return gpgpu_fail(-EOPNOTSUPP, "%s: map '%.64s' has flags 0x%x, which devices do not know",
				  elf->name, name, flags);
	*out = flags ? GPGPU_MAP_RDONLY_PROG : 0;
	return 0;
}

static int fill_info(const struct elf_file *elf, const char *name, const struct bpf_map *from,
		     struct gpgpu_map_info *info)
{
	info->type = bpf_map__type(from);
	info->key_size = bpf_map__key_size(from);
	info->value_size = bpf_map__value_size(from);
	info->max_entries = bpf_map__max_entries(from);
	if (info->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		/* Often left to the loader, which knows how many CPUs there are; a device has one queue. */
		info->key_size = info->value_size = sizeof(uint32_t);
		if (!info->max_entries)
			info->max_entries = 1;
	}
	return map_flags(elf, name, bpf_map__map_flags(from), &info->flags);
}

/* bpf_map__inner_map() wants one that can be changed. */
static int add_inner(const struct elf_file *elf, struct gpgpu_map *m, struct bpf_map *from)
{
	struct bpf_map *inner = bpf_map__inner_map(from);

	if (!inner)
		return 0;
	m->inner = calloc(1, sizeof(*m->inner));
	if (!m->inner)
		return gpgpu_fail(-ENOMEM, "out of memory");
	snprintf(m->inner->name, sizeof(m->inner->name), "%.15s", m->name);
	return fill_info(elf, m->name, inner, m->inner);
}

static int add_btf_map(const struct elf_file *elf, struct gpgpu_object *obj, struct bpf_map *from)
{
	const char *name = bpf_map__name(from);
	struct gpgpu_map *m;
	int r;

	if (obj->num_maps == MAX_OBJECT_MAPS)
		return gpgpu_fail(-E2BIG, "%s: over %u maps", elf->name, MAX_OBJECT_MAPS);
	m = add_map(obj, name);
	if (!m)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = fill_info(elf, name, from, &m->info);
	return r ? r : add_inner(elf, m, from);
}

static int read_maps(const struct elf_file *elf, struct gpgpu_object *obj)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "gpgpu");
	struct bpf_object *bpf;
	struct bpf_map *map;
	int r = 0;

	obj->maps = calloc(MAX_OBJECT_MAPS, sizeof(*obj->maps));
	if (!obj->maps)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (size_t i = 1; !r && i < elf->num_sections; i++) {
		if (is_data_section(&elf->sections[i]))
			r = add_data_map(elf, obj, i);
	}
	if (r || !elf_find(elf, ".maps"))
		return r;

	pthread_mutex_lock(&libbpf_lock);
	libbpf_print_fn_t before = libbpf_set_print(note_warning);

	libbpf_warning[0] = '\0';
	bpf = bpf_object__open_mem(elf->bytes, elf->size, &opts);
	if (!bpf)
		r = libbpf_fail(elf, -errno);
	libbpf_set_print(before);
	pthread_mutex_unlock(&libbpf_lock);
	if (r)
		return r;
	bpf_object__for_each_map(map, bpf) {
		if (!r && !bpf_map__is_internal(map))
			r = add_btf_map(elf, obj, map);
	}
	bpf_object__close(bpf);
	return r;
}

/* ------------------------------------------------------------------ programs */

/* What a section's functions are; 0: nothing for a device. */
static uint32_t section_kind(const char *name)
{
	if (has_prefix(name, "xdp"))
		return GPGPU_PROGRAM_XDP;
	if (has_prefix(name, "gpgpu") && (name[5] == '\0' || name[5] == '/'))
		return GPGPU_PROGRAM_KERNEL;
	return 0;
}

static bool is_program(const struct elf_file *elf, const struct elf_symbol *s)
{
	/* A static function beside a program is a subprogram of it. */
	return s->type == STT_FUNC && s->bind != STB_LOCAL && s->shndx != SHN_UNDEF &&
	       elf_is_code(&elf->sections[s->shndx]) && section_kind(elf->sections[s->shndx].name);
}

static int add_program(struct elf_file *elf, const struct btf *btf, struct gpgpu_object *obj, size_t symbol)
{
	const struct elf_symbol *s = &elf->symbols[symbol];
	struct gpgpu_program *p;
	int r;

	if (obj->num_programs == MAX_OBJECT_PROGRAMS)
		return gpgpu_fail(-E2BIG, "%s: over %u programs", elf->name, MAX_OBJECT_PROGRAMS);
	p = &obj->programs[obj->num_programs++];
	p->obj = obj;
	p->kind = section_kind(elf->sections[s->shndx].name);
	p->autoload = true;
	p->name = strdup(s->name);
	p->section = strdup(elf->sections[s->shndx].name);
	if (!p->name || !p->section)
		return gpgpu_fail(-ENOMEM, "out of memory");
	r = gpgpu_link(elf, obj, symbol, p);
	if (!r && p->kind == GPGPU_PROGRAM_KERNEL)
		r = gpgpu_kernel_args(btf, p);
	return r;
}

/* Return: 0 or negative errno; *unknown is the name of a code section that was passed over, if any. */
static int read_programs(struct elf_file *elf, const struct btf *btf, struct gpgpu_object *obj)
{
	int r = 0;

	obj->programs = calloc(MAX_OBJECT_PROGRAMS, sizeof(*obj->programs));
	if (!obj->programs)
		return gpgpu_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < elf->num_symbols; i++) {
		if (is_program(elf, &elf->symbols[i]))
			r = add_program(elf, btf, obj, i);
	}
	if (r || obj->num_programs)
		return r;
	for (size_t i = 1; i < elf->num_sections; i++) {
		const struct elf_section *s = &elf->sections[i];

		if (elf_is_code(s) && s->size && strcmp(s->name, ".text"))
			return gpgpu_fail(-EINVAL,
					  "%s: section '%.64s' is not for a device: programs are in "
					  "sections \"xdp\" and \"gpgpu\"",
					  elf->name, s->name);
	}
	return gpgpu_fail(-EINVAL, "%s: no program in a section \"xdp\" or \"gpgpu\"", elf->name);
}

/* Pointers in global data would need addresses, which devices do not have. */
static int check_data_relocs(struct elf_file *elf, const struct gpgpu_object *obj)
{
	for (uint32_t i = 0; i < obj->num_maps; i++) {
		const struct elf_reloc *relocs;
		size_t count;
		int r;

		if (!obj->maps[i].section)
			continue;
		r = elf_relocs(elf, obj->maps[i].section, &relocs, &count);
		if (r)
			return r;
		if (count)
			return gpgpu_fail(-EINVAL,
					  "%s: global data in %s holds pointers: devices cannot do that",
					  elf->name, obj->maps[i].name);
	}
	return 0;
}

static int read_object(struct elf_file *elf, struct gpgpu_object *obj)
{
	const struct elf_section *s = elf_find(elf, ".BTF");
	struct btf *btf = NULL;
	int r = 0;

	if (s && s->data && s->size <= UINT32_MAX) {
		pthread_mutex_lock(&libbpf_lock);
		libbpf_print_fn_t before = libbpf_set_print(note_warning);

		libbpf_warning[0] = '\0';
		btf = btf__new(s->data, (__u32)s->size);
		if (!btf)
			r = gpgpu_fail(-EINVAL, "%s: damaged: section .BTF", elf->name);
		libbpf_set_print(before);
		pthread_mutex_unlock(&libbpf_lock);
	}
	if (!r)
		r = gpgpu_check_core_relocs(elf, btf);
	if (!r)
		r = read_maps(elf, obj);
	if (!r)
		r = check_data_relocs(elf, obj);
	if (!r)
		r = read_programs(elf, btf, obj);
	if (!r)
		r = gpgpu_map_values(elf, btf, obj);
	if (!r)
		r = gpgpu_read_lines(elf, btf, obj);
	if (!r)
		r = gpgpu_read_formats(elf, obj);
	obj->btf = btf;
	return r;
}

/* Takes @elf->bytes in any case. */
static int open_elf(struct elf_file *elf, struct gpgpu_object **out)
{
	struct gpgpu_object *obj = calloc(1, sizeof(*obj));
	int r = 0;

	if (obj)
		obj->name = strdup(elf->name);
	if (!obj || !obj->name)
		r = gpgpu_fail(-ENOMEM, "out of memory");
	if (!r)
		r = elf_parse(elf);
	if (!r)
		r = read_object(elf, obj);
	elf_free(elf);
	if (r) {
		gpgpu_object_close(obj);
		return r;
	}
	*out = obj;
	return 0;
}

int gpgpu_object_open(const char *path, struct gpgpu_object **out)
{
	struct elf_file elf = { .name = path };
	int r;

	*out = NULL;
	r = read_file(path, &elf.bytes, &elf.size);
	if (r) {
		free(elf.bytes);
		return r;
	}
	return open_elf(&elf, out);
}

int gpgpu_object_open_memory(const void *data, size_t size, const char *name, struct gpgpu_object **out)
{
	struct elf_file elf = { .name = name, .size = size };

	*out = NULL;
	if (size > MAX_OBJECT_SIZE)
		return gpgpu_fail(-EFBIG, "%s: larger than %u bytes", name, MAX_OBJECT_SIZE);
	elf.bytes = malloc(size + 1);
	if (!elf.bytes)
		return gpgpu_fail(-ENOMEM, "out of memory");
	if (size)
		memcpy(elf.bytes, data, size);
	return open_elf(&elf, out);
}

/* ------------------------------------------------------------------- loading */

static bool names_map(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

static void want_program(struct gpgpu_object *obj, struct gpgpu_program *prog);

static void want_map(struct gpgpu_object *obj, struct gpgpu_map *map)
{
	if (map->wanted)
		return;
	map->wanted = true;
	for (uint32_t i = 0; i < map->num_values; i++) {
		if (map->info.type == BPF_MAP_TYPE_PROG_ARRAY)
			want_program(obj, &obj->programs[map->values[i].target]);
		else
			want_map(obj, &obj->maps[map->values[i].target]);
	}
}

/* As deep as there are programs and maps, at most. */
static void want_program(struct gpgpu_object *obj, struct gpgpu_program *prog)
{
	if (prog->wanted)
		return;
	prog->wanted = true;
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		if (names_map(&prog->insns[i]))
			want_map(obj, &obj->maps[prog->insns[i].imm]);
		i += prog->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
	}
}

static void mark_wanted(struct gpgpu_object *obj)
{
	for (uint32_t i = 0; i < obj->num_maps; i++)
		obj->maps[i].wanted = false;
	for (uint32_t i = 0; i < obj->num_programs; i++)
		obj->programs[i].wanted = false;
	for (uint32_t i = 0; i < obj->num_programs; i++) {
		if (obj->programs[i].autoload)
			want_program(obj, &obj->programs[i]);
	}
}

static int load_values(struct gpgpu_object *obj, struct gpgpu_map *map)
{
	bool progs = map->info.type == BPF_MAP_TYPE_PROG_ARRAY;
	int r = 0;

	for (uint32_t i = 0; !r && i < map->num_values; i++) {
		const struct gpgpu_value *v = &map->values[i];
		uint32_t handle = progs ? obj->programs[v->target].handle : obj->maps[v->target].handle;

		r = gpgpu_map_update(map, &v->index, &handle, sizeof(handle), BPF_ANY);
	}
	return r;
}

static int load_map(struct gpgpu_map *map, struct gpgpu_device *dev)
{
	const uint32_t key = 0;
	int r = gpgpu_map_attach(map, dev);

	if (!r && map->data)
		r = gpgpu_map_update(map, &key, map->data, map->info.value_size, BPF_ANY);
	if (!r && map->data && (map->info.flags & GPGPU_MAP_RDONLY_PROG))
		r = gpgpu_map_freeze(map);
	return r;
}

static int load_program(struct gpgpu_object *obj, struct gpgpu_program *prog, struct gpgpu_device *dev)
{
	struct bpf_insn *insns = malloc(prog->num_insns * sizeof(*insns));
	int r;

	if (!insns)
		return gpgpu_fail(-ENOMEM, "out of memory");
	memcpy(insns, prog->insns, prog->num_insns * sizeof(*insns));
	for (uint32_t i = 0; i < prog->num_insns; i++) {
		if (names_map(&insns[i]))
			insns[i].imm = (int)obj->maps[insns[i].imm].handle;
		i += insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
	}
	r = gpgpu_program_attach(prog, dev, insns, prog->num_insns);
	free(insns);
	return r;
}

static void unload(struct gpgpu_object *obj)
{
	for (uint32_t i = 0; i < obj->num_programs; i++)
		gpgpu_program_detach(&obj->programs[i]);
	for (uint32_t i = 0; i < obj->num_maps; i++)
		gpgpu_map_detach(&obj->maps[i]);
}

int gpgpu_object_load(struct gpgpu_object *obj, struct gpgpu_device *dev)
{
	int r = 0;

	if (obj->loaded)
		return gpgpu_fail(-EBUSY, "%s is loaded already", obj->name);
	mark_wanted(obj);
	for (uint32_t i = 0; !r && i < obj->num_maps; i++) {
		if (obj->maps[i].wanted)
			r = load_map(&obj->maps[i], dev);
	}
	for (uint32_t i = 0; !r && i < obj->num_programs; i++) {
		if (obj->programs[i].wanted)
			r = load_program(obj, &obj->programs[i], dev);
	}
	/* Once all that they may name is there. */
	for (uint32_t i = 0; !r && i < obj->num_maps; i++) {
		if (obj->maps[i].wanted)
			r = load_values(obj, &obj->maps[i]);
	}
	if (r)
		unload(obj);
	obj->loaded = !r;
	return r;
}

/* ------------------------------------------------------------------- looking */

struct gpgpu_program *gpgpu_object_program(struct gpgpu_object *obj, const char *name)
{
	if (!name)
		return obj->num_programs == 1 ? &obj->programs[0] : NULL;
	for (uint32_t i = 0; i < obj->num_programs; i++) {
		if (!strcmp(obj->programs[i].name, name))
			return &obj->programs[i];
	}
	return NULL;
}

struct gpgpu_program *gpgpu_object_next_program(struct gpgpu_object *obj, struct gpgpu_program *prev)
{
	size_t next = prev ? (size_t)(prev - obj->programs) + 1 : 0;

	return next < obj->num_programs ? &obj->programs[next] : NULL;
}

struct gpgpu_map *gpgpu_object_map(struct gpgpu_object *obj, const char *name)
{
	for (uint32_t i = 0; i < obj->num_maps; i++) {
		if (!strcmp(obj->maps[i].name, name))
			return &obj->maps[i];
	}
	return NULL;
}

struct gpgpu_map *gpgpu_object_next_map(struct gpgpu_object *obj, struct gpgpu_map *prev)
{
	size_t next = prev ? (size_t)(prev - obj->maps) + 1 : 0;

	return next < obj->num_maps ? &obj->maps[next] : NULL;
}

void gpgpu_object_close(struct gpgpu_object *obj)
{
	if (!obj)
		return;
	unload(obj);
	for (uint32_t i = 0; i < obj->num_programs; i++) {
		struct gpgpu_program *p = &obj->programs[i];

		for (uint32_t a = 0; a < p->num_args; a++)
			free(p->args[a].name);
		free(p->name);
		free(p->section);
		free(p->insns);
		for (uint32_t f = 0; f < p->num_functions; f++)
			free(p->functions[f].name);
		free(p->functions);
	}
	for (uint32_t i = 0; i < obj->num_maps; i++) {
		free(obj->maps[i].name);
		free(obj->maps[i].data);
		free(obj->maps[i].inner);
		free(obj->maps[i].values);
	}
	btf__free(obj->btf);
	free(obj->lines);
	free(obj->formats);
	free(obj->programs);
	free(obj->maps);
	free(obj->name);
	free(obj);
}
