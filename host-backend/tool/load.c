// SPDX-License-Identifier: BSD-3-Clause
/*
 * load.c - an object's maps and programs on the session; load.h says when.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "tool.h"

int insn_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

int insn_names_map(const struct bpf_insn *insn)
{
	return insn_is_wide(insn) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

void load_open(struct loaded *l, struct session *s, const char *path)
{
	struct gpgpu_map *m = NULL;

	*l = (struct loaded){ .session = s, .path = path };
	if (gpgpu_object_open(path, &l->obj))
		die("%s", gpgpu_error_message());
	while ((m = gpgpu_object_next_map(l->obj, m)))
		l->num_maps++;
	l->maps = xcalloc(l->num_maps, sizeof(*l->maps));
	for (uint32_t i = 0; i < l->num_maps; i++) {
		struct loaded_map *map = &l->maps[i];

		map->session = s;
		map->map = m = gpgpu_object_next_map(l->obj, m);
		map->name = gpgpu_map_name(m);
		gpgpu_map_get_info(m, &map->info);
	}
}

void load_close(struct loaded *l)
{
	free(l->maps);
	gpgpu_object_close(l->obj);
}

struct gpgpu_program *load_find(struct loaded *l, const char *name, uint32_t kind)
{
	const char *what = kind == GPGPU_PROGRAM_XDP ? "XDP program" : "program";
	struct gpgpu_program *p = NULL, *found = NULL;
	struct gpgpu_program_info info;

	while ((p = gpgpu_object_next_program(l->obj, p))) {
		gpgpu_program_get_info(p, &info);
		if (name ? strcmp(info.name, name) : kind && info.kind != kind)
			continue;
		if (found)
			die("%s: has several programs, say which: --program NAME", l->path);
		found = p;
	}
	if (!found && name)
		die("%s: has no program '%s'", l->path, name);
	if (!found)
		die("%s: has no %s", l->path, what);
	gpgpu_program_get_info(found, &info);
	if (kind && info.kind != kind)
		die("%s: '%s' is not an %s", l->path, info.name, what);
	return found;
}

/* --------------------------------------------------------------------- maps */

static uint32_t make_map(struct loaded_map *map, struct refusal *refusal)
{
	struct virtio_gpgpu_req_map_create shape = {
		.map_type = map->info.type,
		.key_size = map->info.key_size,
		.value_size = map->info.value_size,
		.max_entries = map->info.max_entries,
		.map_flags = map->info.flags & GPGPU_MAP_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
	};
	const uint32_t key = 0;
	uint32_t status, id;
	void *data;
	size_t size;

	memcpy(shape.name, map->info.name, strnlen(map->info.name, sizeof(shape.name) - 1));
	status = session_map(map->session, &shape, &id, refusal);
	if (status)
		return status;
	data = gpgpu_map_initial_value(map->map, &size);
	if (data)
		status = session_map_op(map->session, VIRTIO_GPGPU_CMD_MAP_UPDATE, id, &key, sizeof(key),
					data, (uint32_t)size, NULL, 0, refusal);
	if (!status && data && (map->info.flags & GPGPU_MAP_RDONLY_PROG))
		status = session_map_freeze(map->session, id, refusal);
	if (!status)
		map->id = id;
	return status;
}

uint32_t load_one(struct loaded *l, struct gpgpu_program *prog, struct loaded_program *out,
		  struct refusal *refusal, const struct loaded_map **map)
{
	struct program_desc desc = { 0 };
	uint8_t kinds[GPGPU_MAX_ARGS];
	const struct bpf_insn *from;
	struct bpf_insn *insns;
	uint32_t status = 0;
	size_t count;

	*out = (struct loaded_program){ .prog = prog };
	*map = NULL;
	gpgpu_program_get_info(prog, &out->info);
	from = gpgpu_program_insns(prog, &count);
	insns = xcalloc(count, sizeof(*insns));
	memcpy(insns, from, count * sizeof(*insns));
	for (size_t i = 0; !status && i < count; i += insn_is_wide(&insns[i]) ? 2 : 1) {
		struct loaded_map *m;

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
	for (uint32_t i = 0; i < out->info.num_args; i++) {
		struct gpgpu_arg_info arg;

		gpgpu_program_arg(prog, i, &arg);
		kinds[i] = (uint8_t)arg.kind;
	}
	if (!status) {
		desc.name = out->info.name;
		desc.kind = out->info.kind;
		desc.insns = insns;
		desc.num_insns = (uint32_t)count;
		desc.num_args = out->info.num_args;
		desc.arg_kind = kinds;
		status = session_program(l->session, &desc, &out->id, &out->cost, refusal);
	}
	free(insns);
	return status;
}

/* ---------------------------------------------------------- maps as targets */

/* Of the last operation that failed. */
static struct refusal why;

static int op(const struct loaded_map *map, uint32_t type, const void *key, const void *value,
	      uint32_t value_size, void *out, size_t out_size)
{
	uint32_t status = session_map_op(map->session, type, map->id, key, map->info.key_size, value,
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

static const char *error(int err)
{
	return refusal_text(&why);
}

static bool is_per_cpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

struct map_target *load_targets(struct loaded *l, size_t *count)
{
	struct map_target *targets = xcalloc(l->num_maps, sizeof(*targets));
	uint32_t cpus = session_caps(l->session)->num_cpus;

	*count = 0;
	for (uint32_t i = 0; i < l->num_maps; i++) {
		struct loaded_map *m = &l->maps[i];

		if (!m->id)
			continue;
		targets[(*count)++] = (struct map_target){
			.name = m->name,
			.key_size = m->info.key_size,
			.value_size = m->info.value_size,
			.copies = is_per_cpu(m->info.type) ? cpus : 0,
			.is_array = m->info.type == BPF_MAP_TYPE_ARRAY ||
				    m->info.type == BPF_MAP_TYPE_PERCPU_ARRAY,
			.map = m,
			.update = update,
			.lookup = lookup,
			.next_key = next_key,
			.error = error,
		};
	}
	return targets;
}
