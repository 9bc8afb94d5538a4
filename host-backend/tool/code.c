// SPDX-License-Identifier: BSD-3-Clause
/*
 * code.c - asks the compiler for a program's code; code.h says why.
 */
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "rt/maps.h"
#include "tool.h"

struct gp_jit *code_open(const struct session *s, const char *target)
{
	struct gp_jit_options options = { .program = session_compiler(s), .fd = -1, .target = target };
	GError *error = NULL;
	struct gp_jit *jit;

	if (!target && strcmp((const char *)session_caps(s)->target, "x86_64"))
		options.target = (const char *)session_caps(s)->target;
	jit = gp_jit_new(&options, &error);
	if (!jit)
		die("%s", error->message);
	return jit;
}

void code_close(struct gp_jit *jit)
{
	gp_jit_free(jit);
}

static void describe(const struct loaded_map *map, uint32_t cpus, struct gp_map_desc *desc)
{
	struct gpgpu_map_info inner;

	*desc = (struct gp_map_desc){
		.type = map->info.type,
		.key_size = map->info.key_size,
		.value_size = map->info.value_size,
		.max_entries = map->info.max_entries,
		.flags = map->info.flags & GPGPU_MAP_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
	};
	if (!gpgpu_map_inner(map->map, &inner))
		desc->inner = (struct gp_map_shape){
			.type = inner.type,
			.key_size = inner.key_size,
			.value_size = inner.value_size,
			.max_entries = inner.max_entries,
			.flags = inner.flags & GPGPU_MAP_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
		};
	if (gp_map_check(desc, cpus))
		die("map '%s' has no shape", map->name); /* the session made it */
}

struct gp_image *code_compile(struct gp_jit *jit, const struct loaded *l,
			      const struct loaded_program *program, struct gp_sums_info *lanes)
{
	uint32_t *index = xcalloc(l->num_maps, sizeof(*index)); /* + 1 */
	struct gp_map_desc *maps = xcalloc(GP_MAX_PROG_MAPS, sizeof(*maps));
	struct gp_prog prog = { .kind = program->info.kind,
				.flags = GP_PROG_LINES,
				.num_args = program->info.num_args,
				.maps = maps };
	struct gp_verdict verdict = { 0 };
	const struct bpf_insn *from;
	struct bpf_insn *insns;
	struct gp_image *image;
	size_t count;

	from = gpgpu_program_insns(program->prog, &count);
	insns = xcalloc(count, sizeof(*insns));
	memcpy(insns, from, count * sizeof(*insns));
	for (size_t i = 0; i < count; i += insn_is_wide(&insns[i]) ? 2 : 1) {
		uint32_t m = (uint32_t)insns[i].imm;

		if (!insn_names_map(&insns[i]))
			continue;
		if (!index[m]) {
			if (prog.num_maps == GP_MAX_PROG_MAPS)
				die("too many maps"); /* the session took it */
			describe(&l->maps[m], session_caps(l->session)->num_cpus, &maps[prog.num_maps]);
			index[m] = ++prog.num_maps;
		}
		insns[i].imm = (int)index[m] - 1;
	}
	for (uint32_t i = 0; i < program->info.num_args; i++) {
		struct gpgpu_arg_info arg;

		gpgpu_program_arg(program->prog, i, &arg);
		prog.arg_kind[i] = (uint8_t)arg.kind;
	}
	prog.insns = insns;
	prog.num_insns = (uint32_t)count;
	image = gp_jit_compile(jit, &prog, &verdict);
	if (!image)
		die("%s: %s", program->info.name, verdict.message);
	if (lanes)
		gp_sums_of(&prog, lanes);
	free(insns);
	free(maps);
	free(index);
	return image;
}
