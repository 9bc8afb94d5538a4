// SPDX-License-Identifier: BSD-3-Clause
/*
 * load.c - an object's maps and programs on the session; load.h says when.
 */
#include <errno.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "tool.h"

#define MAX_ROUTES 4096

int insn_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

int insn_names_map(const struct bpf_insn *insn)
{
	return insn_is_wide(insn) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

static void list_maps(struct loaded *l)
{
	struct gpgpu_map *m = NULL;

	while ((m = gpgpu_object_next_map(l->obj, m)))
		l->num_maps++;
	l->maps = xcalloc(l->num_maps, sizeof(*l->maps));
	for (uint32_t i = 0; i < l->num_maps; i++) {
		struct loaded_map *map = &l->maps[i];
		uint32_t entries;

		map->loaded = l;
		map->map = m = gpgpu_object_next_map(l->obj, m);
		map->name = gpgpu_map_name(m);
		entries = map_entries_of(map->name);
		if (entries)
			gpgpu_map_set_max_entries(m, entries);
		gpgpu_map_get_info(m, &map->info);
	}
}

static void list_programs(struct loaded *l)
{
	struct gpgpu_program *p = NULL;

	while ((p = gpgpu_object_next_program(l->obj, p)))
		l->num_programs++;
	l->programs = xcalloc(l->num_programs, sizeof(*l->programs));
	for (uint32_t i = 0; i < l->num_programs; i++) {
		l->programs[i].prog = p = gpgpu_object_next_program(l->obj, p);
		gpgpu_program_get_info(p, &l->programs[i].info);
	}
}

static bool looks_up_routes(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == BPF_FUNC_fib_lookup;
}

void load_open(struct loaded *l, struct session *s, const char *path)
{
	*l = (struct loaded){ .session = s, .path = path };
	l->routes = (struct loaded_map){
		.loaded = l,
		.name = ROUTES_MAP,
		.info.name = "routes",
		.info.type = GPGPU_MAP_TYPE_FIB,
		.info.key_size = sizeof(struct virtio_gpgpu_fib_key),
		.info.value_size = sizeof(struct virtio_gpgpu_fib_entry),
		.info.max_entries = MAX_ROUTES,
	};
	if (gpgpu_object_open(path, &l->obj))
		die("%s", gpgpu_error_message());
	list_maps(l);
	list_programs(l);
}

void load_close(struct loaded *l)
{
	free(l->programs);
	free(l->maps);
	gpgpu_object_close(l->obj);
}

struct loaded_program *load_entry(struct loaded *l, const struct gpgpu_program *prog)
{
	for (uint32_t i = 0; i < l->num_programs; i++) {
		if (l->programs[i].prog == prog)
			return &l->programs[i];
	}
	die("%s: a program that it does not have", l->path);
}

struct loaded_program *load_find(struct loaded *l, const char *name, uint32_t kind)
{
	const char *what = kind == GPGPU_PROGRAM_XDP ? "XDP program" : "program";
	struct loaded_program *found = NULL;

	for (uint32_t i = 0; i < l->num_programs; i++) {
		struct loaded_program *p = &l->programs[i];

		if (name ? strcmp(p->info.name, name) : kind && p->info.kind != kind)
			continue;
		if (found)
			die("%s: has several programs, say which: --program NAME", l->path);
		found = p;
	}
	if (!found && name)
		die("%s: has no program '%s'", l->path, name);
	if (!found)
		die("%s: has no %s", l->path, what);
	if (kind && found->info.kind != kind)
		die("%s: '%s' is not an %s", l->path, found->info.name, what);
	return found;
}

/* --------------------------------------------------------------------- maps */

static uint32_t make_shape(struct session *s, const struct gpgpu_map_info *info, uint32_t inner, uint32_t *id,
			   struct refusal *refusal)
{
	struct virtio_gpgpu_req_map_create shape = {
		.map_type = info->type,
		.key_size = info->key_size,
		.value_size = info->value_size,
		.max_entries = info->max_entries,
		.map_flags = info->flags & GPGPU_MAP_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
		.inner = inner,
	};

	if (info->type >= 32 || !(session_caps(s)->map_types & 1u << info->type)) {
		const char *type = libbpf_bpf_map_type_str(info->type);

		*refusal = (struct refusal){ .status = VIRTIO_GPGPU_S_UNSUPPORTED,
					     .reason = VIRTIO_GPGPU_R_KIND,
					     .detail = info->type };
		snprintf(refusal->message, sizeof(refusal->message), "devices have no maps of type %u%s%s%s",
			 info->type, type ? " (" : "", type ? type : "", type ? ")" : "");
		return refusal->status;
	}
	memcpy(shape.name, info->name, strnlen(info->name, sizeof(shape.name) - 1));
	return session_map(s, &shape, id, refusal);
}

static uint32_t make_map(struct loaded_map *map, struct refusal *refusal)
{
	struct session *s = map->loaded->session;
	struct gpgpu_map_info inner;
	uint32_t status, id, inner_id = 0;
	const uint32_t key = 0;
	void *data;
	size_t size;

	if (!gpgpu_map_inner(map->map, &inner)) {
		status = make_shape(s, &inner, 0, &inner_id, refusal);
		if (status)
			return status;
	}
	status = make_shape(s, &map->info, inner_id, &id, refusal);
	if (status)
		return status;
	data = gpgpu_map_initial_value(map->map, &size);
	if (data)
		status = session_map_op(s, VIRTIO_GPGPU_CMD_MAP_UPDATE, id, &key, sizeof(key), data,
					(uint32_t)size, NULL, 0, refusal);
	if (!status && data && (map->info.flags & GPGPU_MAP_RDONLY_PROG))
		status = session_map_freeze(s, id, refusal);
	if (!status)
		map->id = id;
	return status;
}

static struct loaded_map *map_entry(struct loaded *l, const struct gpgpu_map *map)
{
	for (uint32_t i = 0; i < l->num_maps; i++) {
		if (l->maps[i].map == map)
			return &l->maps[i];
	}
	die("%s: a map that it does not have", l->path);
}

/* ----------------------------------------------------------------- programs */

uint32_t load_one(struct loaded *l, struct loaded_program *program, struct refusal *refusal,
		  const struct loaded_map **map)
{
	struct program_desc desc = { 0 };
	uint8_t kinds[GPGPU_MAX_ARGS];
	const struct bpf_insn *from;
	struct bpf_insn *insns;
	uint32_t status = 0, id;
	size_t count;

	*map = NULL;
	if (program->id)
		return 0;
	from = gpgpu_program_insns(program->prog, &count);
	insns = xcalloc(count, sizeof(*insns));
	memcpy(insns, from, count * sizeof(*insns));
	for (size_t i = 0; !status && i < count; i += insn_is_wide(&insns[i]) ? 2 : 1) {
		struct loaded_map *m;

		if (looks_up_routes(&insns[i]) && !l->routes.id) {
			status = make_shape(l->session, &l->routes.info, 0, &l->routes.id, refusal);
			if (status)
				*map = &l->routes;
		}
		if (!insn_names_map(&insns[i]))
			continue;
		m = &l->maps[insns[i].imm];
		if (!m->id) {
			status = make_map(m, refusal);
			if (status)
				*map = m;
		}
		insns[i].imm = (int)m->id;
	}
	for (uint32_t i = 0; i < program->info.num_args; i++) {
		struct gpgpu_arg_info arg;

		gpgpu_program_arg(program->prog, i, &arg);
		kinds[i] = (uint8_t)arg.kind;
	}
	if (!status) {
		desc.name = program->info.name;
		desc.kind = program->info.kind;
		desc.insns = insns;
		desc.num_insns = (uint32_t)count;
		desc.num_args = program->info.num_args;
		desc.arg_kind = kinds;
		status = session_program(l->session, &desc, &id, &program->cost, refusal);
	}
	if (!status)
		program->id = id;
	free(insns);
	return status;
}

static void load_or_die(struct loaded *l, struct loaded_program *program)
{
	const struct loaded_map *map;
	struct refusal refusal;

	if (!load_one(l, program, &refusal, &map))
		return;
	if (map)
		die("%s: map '%s': %s", l->path, map->name, refusal_text(&refusal));
	die("%s: %s: refused: %s", l->path, program->info.name, refusal_text(&refusal));
}

static bool has_tail_calls(const struct loaded *l)
{
	for (uint32_t i = 0; i < l->num_maps; i++) {
		if (l->maps[i].info.type == BPF_MAP_TYPE_PROG_ARRAY)
			return true;
	}
	return false;
}

/* Makes the programs and maps that a map is declared with. Return: whether there was one to make. */
static bool make_declared(struct loaded *l, struct loaded_map *map)
{
	struct gpgpu_declared value;
	struct refusal refusal;
	bool made = false;

	for (uint32_t i = 0; !gpgpu_map_declared(map->map, i, &value); i++) {
		struct loaded_map *m = value.map ? map_entry(l, value.map) : NULL;
		struct loaded_program *p = value.program ? load_entry(l, value.program) : NULL;

		if (p && !p->id) {
			load_or_die(l, p);
			made = true;
		}
		if (!m || m->id)
			continue;
		if (make_map(m, &refusal))
			die("%s: map '%s': %s", l->path, m->name, refusal_text(&refusal));
		made = true;
	}
	return made;
}

static void set_declared(struct loaded *l, struct loaded_map *map)
{
	struct gpgpu_declared value;
	struct refusal refusal;

	for (uint32_t i = 0; !gpgpu_map_declared(map->map, i, &value); i++) {
		uint32_t id = value.map ? map_entry(l, value.map)->id : load_entry(l, value.program)->id;

		if (session_map_op(l->session, VIRTIO_GPGPU_CMD_MAP_UPDATE, map->id, &value.key,
				   sizeof(value.key), &id, sizeof(id), NULL, 0, &refusal))
			die("%s: map '%s': %s", l->path, map->name, refusal_text(&refusal));
	}
}

void load_all(struct loaded *l, struct loaded_program *program)
{
	bool made;

	load_or_die(l, program);
	for (uint32_t i = 0; has_tail_calls(l) && i < l->num_programs; i++) {
		if (l->programs[i].info.kind == program->info.kind)
			load_or_die(l, &l->programs[i]);
	}
	/* What is made may use further maps. */
	do {
		made = false;
		for (uint32_t i = 0; i < l->num_maps; i++)
			made |= l->maps[i].id && make_declared(l, &l->maps[i]);
	} while (made);
	for (uint32_t i = 0; i < l->num_maps; i++) {
		if (l->maps[i].id)
			set_declared(l, &l->maps[i]);
	}
}

/* ---------------------------------------------------------- maps as targets */

/* Of the last operation that failed. */
static struct refusal why;

static int op(const struct loaded_map *map, uint32_t type, const void *key, const void *value,
	      uint32_t value_size, void *out, size_t out_size)
{
	uint32_t status = session_map_op(map->loaded->session, type, map->id, key, map->info.key_size, value,
					 value_size, out, out_size, &why);

	if (status == VIRTIO_GPGPU_S_END || status == VIRTIO_GPGPU_S_NOT_FOUND)
		return -ENOENT;
	return status ? -EIO : 0;
}

static int update(void *map, const void *key, const void *value, size_t size)
{
	return op(map, VIRTIO_GPGPU_CMD_MAP_UPDATE, key, value, (uint32_t)size, NULL, 0);
}

static int lookup(void *map, const void *key, void *value, size_t size)
{
	return op(map, VIRTIO_GPGPU_CMD_MAP_LOOKUP, key, NULL, 0, value, size);
}

static int next_key(void *map, const void *key, void *next)
{
	const struct loaded_map *m = map;

	return op(m, VIRTIO_GPGPU_CMD_MAP_NEXT_KEY, key, NULL, 0, next, m->info.key_size);
}

static int pop(void *map, void *value, size_t size)
{
	return op(map, VIRTIO_GPGPU_CMD_MAP_POP, NULL, NULL, 0, value, size);
}

static uint32_t named(void *map, const char *name)
{
	const struct loaded_map *m = map;
	struct loaded *l = m->loaded;

	for (uint32_t i = 0; m->info.type == BPF_MAP_TYPE_PROG_ARRAY && i < l->num_programs; i++) {
		if (!strcmp(l->programs[i].info.name, name))
			return l->programs[i].id;
	}
	for (uint32_t i = 0; m->info.type != BPF_MAP_TYPE_PROG_ARRAY && i < l->num_maps; i++) {
		if (!strcmp(l->maps[i].name, name))
			return l->maps[i].id;
	}
	return 0;
}

static const char *error(int err)
{
	return refusal_text(&why);
}

static bool is_per_cpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static struct map_target target_of(struct loaded_map *m)
{
	return (struct map_target){
		.name = m->name,
		.key_size = m->info.key_size,
		.value_size = m->info.value_size,
		.copies = is_per_cpu(m->info.type) ? session_caps(m->loaded->session)->num_cpus : 0,
		.is_array = m->info.type == BPF_MAP_TYPE_ARRAY || m->info.type == BPF_MAP_TYPE_PERCPU_ARRAY,
		.type = m->info.type,
		.map = m,
		.update = update,
		.lookup = lookup,
		.next_key = next_key,
		.pop = pop,
		.named = named,
		.error = error,
	};
}

struct map_target *load_targets(struct loaded *l, size_t *count)
{
	struct map_target *targets = xcalloc(l->num_maps + 1, sizeof(*targets));

	*count = 0;
	for (uint32_t i = 0; i < l->num_maps; i++) {
		if (l->maps[i].id)
			targets[(*count)++] = target_of(&l->maps[i]);
	}
	if (l->routes.id)
		targets[(*count)++] = target_of(&l->routes);
	return targets;
}
