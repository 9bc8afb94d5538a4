// SPDX-License-Identifier: BSD-3-Clause
/*
 * device.c - opening devices and objects for the gpgpu command.
 */
#include <linux/bpf.h>
#include <string.h>

#include "gpgpu.h"
#include "tool.h"
#include "virtio_gpgpu.h"

struct gpgpu_device *open_device(const char *path)
{
	struct gpgpu_device *dev;

	if (gpgpu_open(path, &dev))
		die("%s", gpgpu_error_message());
	return dev;
}

static struct gpgpu_program *only_of_kind(struct gpgpu_object *obj, const char *file, uint32_t kind)
{
	struct gpgpu_program *found = NULL, *p = NULL;
	struct gpgpu_program_info info;

	while ((p = gpgpu_object_next_program(obj, p))) {
		gpgpu_program_get_info(p, &info);
		if (info.kind != kind)
			continue;
		if (found)
			die("%s: has several programs, say which: %s:NAME", file, file);
		found = p;
	}
	return found;
}

static bool has_tail_calls(struct gpgpu_object *obj)
{
	struct gpgpu_map_info info;
	struct gpgpu_map *m = NULL;

	while ((m = gpgpu_object_next_map(obj, m))) {
		gpgpu_map_get_info(m, &info);
		if (info.type == BPF_MAP_TYPE_PROG_ARRAY)
			return true;
	}
	return false;
}

static const char *object_file; /* that was opened last, for messages */
static struct gpgpu_map *routes; /* of the device; as long as the process lives */

/* Programs find the routes that are there when they are loaded. */
static void make_routes(struct gpgpu_device *dev, struct gpgpu_object *obj)
{
	const struct gpgpu_map_info info = {
		.name = "routes",
		.type = GPGPU_MAP_TYPE_FIB,
		.key_size = sizeof(struct virtio_gpgpu_fib_key),
		.value_size = sizeof(struct virtio_gpgpu_fib_entry),
		.max_entries = 4096,
	};
	struct gpgpu_program *p = NULL;
	bool wanted = false;

	while ((p = gpgpu_object_next_program(obj, p))) {
		const struct bpf_insn *insns;
		size_t count;

		insns = gpgpu_program_insns(p, &count);
		for (size_t i = 0; i < count; i++) {
			wanted |= insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
				  insns[i].imm == BPF_FUNC_fib_lookup;
			i += insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
		}
	}
	if (wanted && !routes && gpgpu_map_create(dev, &info, &routes))
		die("%s", gpgpu_error_message());
}

struct gpgpu_object *open_program(char *spec, uint32_t kind, struct gpgpu_program **out)
{
	const char *what = kind == GPGPU_PROGRAM_XDP ? "XDP program" : "compute kernel", *name;
	struct gpgpu_program *prog;
	struct gpgpu_program_info info;
	struct gpgpu_object *obj;

	split_object(spec, &name);
	if (gpgpu_object_open(spec, &obj))
		die("%s", gpgpu_error_message());
	prog = name ? gpgpu_object_program(obj, name) : only_of_kind(obj, spec, kind);
	if (!prog)
		die(name ? "%s: has no program '%s'" : "%s: has no %s", spec, name ? name : what);
	gpgpu_program_get_info(prog, &info);
	if (info.kind != kind)
		die("%s: '%s' is not a %s", spec, info.name, what);
	object_file = spec;
	*out = prog;
	return obj;
}

void load_object(struct gpgpu_object *obj, struct gpgpu_program *prog, struct gpgpu_device *dev)
{
	struct gpgpu_program *p = NULL;
	struct gpgpu_program_info info;
	struct gpgpu_map *m = NULL;
	uint32_t kind;

	gpgpu_program_get_info(prog, &info);
	kind = info.kind;
	while ((p = gpgpu_object_next_program(obj, p))) {
		gpgpu_program_get_info(p, &info);
		/* Where there are tail calls the others may be set as their targets. */
		gpgpu_program_set_autoload(p, p == prog || (info.kind == kind && has_tail_calls(obj)));
	}
	while ((m = gpgpu_object_next_map(obj, m))) {
		uint32_t entries = map_entries_of(gpgpu_map_name(m));

		if (entries)
			gpgpu_map_set_max_entries(m, entries);
	}
	make_routes(dev, obj);
	if (gpgpu_object_load(obj, dev))
		die("%s: %s", object_file, gpgpu_error_message());
}

struct gpgpu_object *load_program(struct gpgpu_device *dev, char *spec, uint32_t kind,
				  struct gpgpu_program **out)
{
	struct gpgpu_object *obj = open_program(spec, kind, out);

	load_object(obj, *out, dev);
	return obj;
}

static int update(void *map, const void *key, const void *value, size_t size)
{
	return gpgpu_map_update(map, key, value, size, BPF_ANY);
}

static int lookup(void *map, const void *key, void *value, size_t size)
{
	return gpgpu_map_lookup(map, key, value, size);
}

static int next_key(void *map, const void *key, void *next)
{
	return gpgpu_map_next_key(map, key, next);
}

static int pop(void *map, void *value, size_t size)
{
	return gpgpu_map_pop(map, NULL, value, size);
}

static int dump(void *map, const void *key, void *entries, uint32_t *count)
{
	return gpgpu_map_dump(map, key, entries, count);
}

static int load(void *map, const void *entries, uint32_t count)
{
	return gpgpu_map_load(map, entries, &count, BPF_ANY);
}

static struct gpgpu_object *object; /* whose maps are the targets */

static uint32_t named(void *map, const char *name)
{
	struct gpgpu_program *prog = gpgpu_object_program(object, name);
	struct gpgpu_map *other = gpgpu_object_map(object, name);
	struct gpgpu_map_info info;

	gpgpu_map_get_info(map, &info);
	if (info.type == BPF_MAP_TYPE_PROG_ARRAY)
		return prog ? gpgpu_program_handle(prog) : 0;
	return other ? gpgpu_map_handle(other) : 0;
}

static bool has_copies(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static const char *error(int err)
{
	return gpgpu_error_message();
}

static struct map_target target_of(struct gpgpu_map *m, const char *name, uint32_t num_cpus)
{
	struct gpgpu_map_info info;

	gpgpu_map_get_info(m, &info);
	return (struct map_target){
		.name = name,
		.key_size = info.key_size,
		.value_size = info.value_size,
		.copies = has_copies(info.type) ? num_cpus : 0,
		.is_array = info.type == BPF_MAP_TYPE_ARRAY || info.type == BPF_MAP_TYPE_PERCPU_ARRAY,
		.type = info.type,
		.map = m,
		.update = update,
		.lookup = lookup,
		.next_key = next_key,
		.pop = pop,
		.dump = dump,
		.load = load,
		.named = named,
		.error = error,
	};
}

struct map_target *device_maps(struct gpgpu_object *obj, struct gpgpu_device *dev, size_t *count)
{
	struct map_target *targets;
	struct gpgpu_map *m = NULL;
	struct gpgpu_caps caps;
	size_t n = 1;

	if (gpgpu_get_caps(dev, &caps))
		die("%s", gpgpu_error_message());
	object = obj;
	while ((m = gpgpu_object_next_map(obj, m)))
		n++;
	targets = xcalloc(n, sizeof(*targets));
	n = 0;
	while ((m = gpgpu_object_next_map(obj, m))) {
		if (gpgpu_map_handle(m)) /* else no loaded program uses it */
			targets[n++] = target_of(m, gpgpu_map_name(m), caps.num_cpus);
	}
	if (routes)
		targets[n++] = target_of(routes, ROUTES_MAP, caps.num_cpus);
	*count = n;
	return targets;
}
