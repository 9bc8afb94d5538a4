// SPDX-License-Identifier: BSD-3-Clause
/* programs.c - reads objects with libgpgpu, and makes of a program what the engine hands to the compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpgpu.h"
#include "rt/maps.h"
#include "programs.h"

static _Noreturn void die(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	exit(1);
}

static void shape(struct gp_map_desc *to, const struct gpgpu_map_info *info, const char *path)
{
	*to = (struct gp_map_desc){
		.type = info->type,
		.key_size = info->key_size,
		.value_size = info->value_size,
		.max_entries = info->max_entries ? info->max_entries : 1024,
		.flags = info->flags & GPGPU_MAP_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
	};
	/* As gpgpu-bpf has it: a perf event array says its size elsewhere. */
	if (gp_map_check(to, PROGRAMS_CPUS))
		die(path, info->name);
}

static struct gp_map_desc *read_maps(struct gpgpu_object *obj, const char *path, uint32_t *count)
{
	struct gp_map_desc *maps = calloc(GP_MAX_PROG_MAPS, sizeof(*maps)), inner;
	struct gpgpu_map *map = NULL;
	struct gpgpu_map_info info;

	if (!maps)
		die(path, "no memory");
	for (*count = 0; (map = gpgpu_object_next_map(obj, map)); ++*count) {
		if (*count == GP_MAX_PROG_MAPS)
			die(path, "too many maps");
		gpgpu_map_get_info(map, &info);
		shape(&maps[*count], &info, path);
		if (gpgpu_map_inner(map, &info))
			continue;
		shape(&inner, &info, path);
		maps[*count].inner = (struct gp_map_shape){
			.type = inner.type,
			.key_size = inner.key_size,
			.value_size = inner.value_size,
			.max_entries = inner.max_entries,
			.flags = inner.flags,
		};
	}
	return maps;
}

static void read_program(struct program *to, const struct gpgpu_program *from, const char *path,
			 const struct gp_map_desc *maps, uint32_t num_maps)
{
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct gpgpu_program_info info;
	struct gp_map_desc *own = calloc(num_maps + 1u, sizeof(*own));
	struct bpf_insn *insns;
	size_t count;

	gpgpu_program_get_info(from, &info);
	snprintf(to->name, sizeof(to->name), "%.*s:%.32s", (int)strcspn(file, "."), file, info.name);
	insns = calloc(info.num_insns, sizeof(*insns));
	if (!own || !insns)
		die(path, "no memory");
	memcpy(insns, gpgpu_program_insns(from, &count), info.num_insns * sizeof(*insns));
	memcpy(own, maps, num_maps * sizeof(*own));
	to->prog = (struct gp_prog){
		.kind = info.kind == GPGPU_PROGRAM_XDP ? VIRTIO_GPGPU_PROG_XDP : VIRTIO_GPGPU_PROG_GPGPU,
		.num_insns = (uint32_t)count,
		.num_maps = num_maps,
		.num_args = info.num_args,
		.insns = insns,
		.maps = own,
	};
	for (uint32_t i = 0; i < info.num_args; i++) {
		struct gpgpu_arg_info arg;

		gpgpu_program_arg(from, i, &arg);
		to->prog.arg_kind[i] = (uint8_t)arg.kind;
	}
}

struct program *programs_read(const char *path, size_t *count)
{
	struct gpgpu_program *prog = NULL;
	struct program *programs = NULL;
	struct gpgpu_object *obj;
	struct gp_map_desc *maps;
	uint32_t num_maps;

	if (gpgpu_object_open(path, &obj))
		die(path, gpgpu_error_message());
	maps = read_maps(obj, path, &num_maps);
	for (*count = 0; (prog = gpgpu_object_next_program(obj, prog)); ++*count) {
		programs = realloc(programs, (*count + 1) * sizeof(*programs));
		if (!programs)
			die(path, "no memory");
		read_program(&programs[*count], prog, path, maps, num_maps);
	}
	free(maps);
	gpgpu_object_close(obj);
	return programs;
}

void programs_free(struct program *programs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((void *)programs[i].prog.insns);
		free((void *)programs[i].prog.maps);
	}
	free(programs);
}
