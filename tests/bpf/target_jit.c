// SPDX-License-Identifier: BSD-3-Clause
/*
 * target_jit.c - runs on our compiler: gp_validate(), gp_jit_compile(), then the image itself, here or on what brings a
 * struct jit_device.
 *
 * No engine: regions are laid out here the way abi.h asks (a power-of-two window between guards). A region ends where
 * inaccessible pages begin, and what lies between its start and the page's is a pattern that is looked at
 * afterwards: an access that leaves its region is a crash or a message, with every program of every test. So is an
 * address of this process in anything that the guest would see (hunt.h), unless the interpreter, whose pointers
 * are none, comes to the same eight bytes in the same place: then they are the program's data.
 * The environment variable GPGPU_JIT names the compiler process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "bpf/groups.h"
#include "jit/jit.h"
#include "rt/clock.h"
#include "rt/maps.h"
#include "rt/rt.h"
#include "hunt.h"
#include "target.h"
#include "target_jit.h"

#define REGION_PATTERN 0xa5

static struct gp_jit *jit;
static struct gp_clock clock_now;

const char *jit_device_open(const struct jit_device *device)
{
	struct gp_jit_options options = { .program = getenv("GPGPU_JIT"),
					  .fd = -1,
					  .cpu_seconds = device->cpu_seconds,
					  .target = device->target };
	static char why[256];
	GError *error = NULL;

	if (!options.program)
		return "GPGPU_JIT does not name the compiler";
	jit = gp_jit_new(&options, &error);
	if (!jit) {
		snprintf(why, sizeof(why), "%s", error ? error->message : "no reason given");
		g_clear_error(&error);
		return why;
	}
	gp_clock_read(&clock_now);
	return NULL;
}

void jit_device_close(void)
{
	gp_jit_free(jit);
	jit = NULL;
}

/* ------------------------------------------------------------------ memory */
static size_t window(size_t size)
{
	size_t bytes = 4096;

	while (bytes < size)
		bytes *= 2;
	return bytes;
}

/* Bytes in front of a region of @size bytes that ends with its last page: accesses are of up to 8 bytes. */
static size_t lead(size_t size)
{
	size_t usable = (size + 4095) & ~(size_t)4095;

	return usable - ((size + 7) & ~(size_t)7);
}

static uint8_t *region_new(size_t size)
{
	size_t usable = (size + 4095) & ~(size_t)4095;
	uint8_t *base =
		mmap(NULL, window(size) + 2 * GP_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED || (usable && mprotect(base + GP_GUARD, usable, PROT_READ | PROT_WRITE)))
		abort();
	hunt_also(base, window(size) + 2 * GP_GUARD);
	memset(base + GP_GUARD, REGION_PATTERN, lead(size));
	return base + GP_GUARD + lead(size);
}

static void region_free(uint8_t *base, size_t size)
{
	if (!base)
		return;
	for (size_t i = 1; i <= lead(size); i++)
		if (base[-(ptrdiff_t)i] != REGION_PATTERN) {
			fprintf(stderr, "written %zu bytes in front of a region\n", i);
			abort();
		}
	munmap(base - lead(size) - GP_GUARD, window(size) + 2 * GP_GUARD);
}

/* ------------------------------------------------------------------ maps */
struct jit_map {
	struct gp_map_desc desc;
	struct gp_map map;
	uint8_t *values, *index;
};

/* The index is laid out in cache lines. */
static size_t index_size(const struct jit_map *map)
{
	return (gp_map_index_bytes(&map->desc) + 63) & ~(size_t)63;
}

/* An element of a map of maps is a map in front of it; its slot is that map's number. */
static bool make_map(struct jit_map *to, const struct run_map *from, const struct jit_map *made)
{
	uint32_t record = from->key_size + from->value_size, value_bytes;
	uint8_t *value;
	bool ok = true;

	memset(to, 0, sizeof(*to));
	to->desc.type = from->type;
	to->desc.key_size = from->key_size;
	to->desc.value_size = from->value_size;
	to->desc.max_entries = from->max_entries;
	to->desc.flags = from->rdonly ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0;
	if (run_map_of_maps(from->type)) {
		const struct gp_map_desc *inner = &made[from->inner].desc;

		to->desc.inner = (struct gp_map_shape){ .type = inner->type,
							.key_size = inner->key_size,
							.value_size = inner->value_size,
							.max_entries = inner->max_entries,
							.flags = inner->flags };
	}
	if (gp_map_check(&to->desc, RUN_CPUS))
		return false;
	to->values = region_new(to->desc.values_size);
	to->index = region_new(index_size(to));
	gp_map_layout(&to->map, &to->desc, to->values, to->index, 0x5eed);
	value_bytes = gp_map_value_bytes(&to->map);
	value = calloc(1, value_bytes);
	for (uint32_t i = 0; ok && i < from->num_init; i++) {
		for (uint32_t at = 0; at + from->value_size <= value_bytes; at += to->map.stride)
			memcpy(value + at, from->init + (size_t)i * record + from->key_size,
			       from->value_size);
		if (run_map_of_maps(from->type))
			++*(uint32_t *)(void *)value;
		if (from->type == VIRTIO_GPGPU_MAP_PROG_ARRAY)
			*(uint32_t *)(void *)value = 1;
		ok = gp_map_update(&to->map, from->init + (size_t)i * record, value, BPF_ANY) == 0;
	}
	free(value);
	to->map.frozen = from->rdonly;
	return ok;
}

static void free_map(struct jit_map *map)
{
	region_free(map->values, map->desc.values_size);
	if (map->index)
		region_free(map->index, index_size(map));
}

static void add_records(struct outcome *outcome, struct gp_map *map)
{
	static uint8_t buf[1 << 16];
	struct virtio_gpgpu_record record;
	uint64_t dropped;
	uint32_t num;

	while (gp_map_records_read(map, buf, sizeof(buf), &num, &dropped) > 0) {
		const uint8_t *at = buf;

		for (uint32_t i = 0; i < num; i++) {
			memcpy(&record, at, sizeof(record));
			outcome_add_record(outcome, at + sizeof(record), record.size);
			at += sizeof(record) + (record.size + 7) / 8 * 8;
		}
	}
}

static void add_map(struct outcome *outcome, const struct run_map *from, struct jit_map *map)
{
	bool keyed = from->type == VIRTIO_GPGPU_MAP_HASH || from->type == VIRTIO_GPGPU_MAP_LPM_TRIE;
	uint8_t key[VIRTIO_GPGPU_MAX_KEY], next[VIRTIO_GPGPU_MAX_KEY];
	uint8_t *value = calloc(1, gp_map_value_bytes(&map->map));
	size_t start = outcome->num_bytes;
	bool more = gp_map_next_key(&map->map, NULL, key) == 0;

	if (run_map_of_maps(from->type))
		more = false; /* numbers that differ between targets; what is behind them is there as a map */
	while (more) {
		if (gp_map_lookup(&map->map, key, value) == 0) {
			if (keyed)
				outcome_add_key(outcome, from, key);
			outcome_add(outcome,
				    value + (size_t)(map->map.num_cpus > 1 ? RUN_CPU : 0) * map->map.stride,
				    from->value_size);
		}
		more = gp_map_next_key(&map->map, key, next) == 0;
		memcpy(key, next, from->key_size);
	}
	if (keyed)
		outcome_sort(outcome, start, from->key_size + from->value_size);
	free(value);
}

/* ------------------------------------------------------------------ one run */
/* What adjust_head and adjust_tail keep from a packet lies around what the other runners take for a slot. */
#define DATA_OFF (GP_HEAD_RESERVED + RUN_DATA_OFF)
#define SLOT	 (GP_HEAD_RESERVED + RUN_STRIDE + GP_TAIL_RESERVED)

/* By one call of an entry point: a batch. */
GP_CALLS_AN_IMAGE
static void host_packets(const struct gp_image *image, struct gp_env *env, const struct gp_packet_in *in,
			 struct gp_packet_out *out, uint32_t first, uint32_t count)
{
	gp_xdp_entry *entry = (gp_xdp_entry *)((uintptr_t)image->code + image->entry);
	struct gp_thread thread = { .cpu = RUN_CPU, .random = 0x1234567 };
	struct gp_faults faults = { 0 };

	if (entry(env, &thread, in, out, first, count, &faults) != count)
		abort();
}

GP_CALLS_AN_IMAGE
static void host_grid(const struct gp_image *image, struct gp_env *env, const struct gp_grid *grid,
		      uint64_t items, struct gp_faults *faults)
{
	gp_grid_entry *entry = (gp_grid_entry *)((uintptr_t)image->code + image->entry);
	static struct gp_group group;
	struct gp_thread thread = { .cpu = RUN_CPU, .random = 0x1234567, .group = &group };

	thread.local = region_new(GP_MAX_LOCAL);
	memset(thread.local, REGION_PATTERN, GP_MAX_LOCAL);
	if (entry(env, &thread, grid, 0, items, faults) != items)
		abort();
	region_free(thread.local, GP_MAX_LOCAL);
}

static const struct jit_device host = { .packets = host_packets, .grid = host_grid };

/* The program that a tail call of packet @i wants: the array's value at the index. Return: its image, or NULL. */
static const struct gp_image *find_tail(const struct run *run, const struct gp_packet_out *out,
					struct gp_image *const *tails)
{
	const struct run_map *map = &run->maps[out->egress_port];
	uint32_t index, tail;

	for (uint32_t i = 0; i < map->num_init; i++) {
		memcpy(&index, map->init + (size_t)i * 8, 4);
		memcpy(&tail, map->init + (size_t)i * 8 + 4, 4);
		if (index == out->fault_insn)
			return tails[tail];
	}
	return NULL;
}

/* A packet's tail calls, on the packet as it was left. */
static void follow_tails(const struct jit_device *device, const struct run *run, struct gp_env *env,
			 struct gp_packet_in *in, struct gp_packet_out *out, uint32_t i,
			 struct gp_image *const *tails)
{
	const struct gp_image *image;

	while (out[i].fault == GP_FAULT_TAIL) {
		image = find_tail(run, &out[i], tails);
		if (!image)
			abort();
		in[i].data_off = out[i].data_off;
		in[i].data_len = out[i].data_len;
		in[i].meta_len = out[i].meta_len;
		env->tail_calls++;
		device->packets(image, env, in, out, i, 1);
	}
	env->tail_calls = 0;
}

/* The packets of a run come one after the other, each with its tail calls. */
static void run_packets(const struct jit_device *device, const struct run *run, const struct gp_image *image,
			struct gp_image *const *tails, struct gp_env *env, struct outcome *outcome)
{
	struct gp_packet_in in[RUN_PACKETS] = { 0 };
	struct gp_packet_out out[RUN_PACKETS] = { 0 };
	uint8_t *slots = region_new(run->num_packets * SLOT);

	for (uint32_t i = 0; i < run->num_packets; i++) {
		const struct run_packet *packet = &run->packets[i];

		in[i] = (struct gp_packet_in){ .data_off = DATA_OFF,
					       .data_len = packet->len,
					       .meta_len = packet->meta_len,
					       .rx_queue = packet->rx_queue,
					       .ingress_port = packet->ingress_port };
		memcpy(slots + i * SLOT + DATA_OFF - packet->meta_len, packet->bytes,
		       (size_t)packet->meta_len + packet->len);
	}
	env->slots = slots;
	env->stride = SLOT;
	if (!run->num_tails) {
		device->packets(image, env, in, out, 0, run->num_packets);
	} else {
		for (uint32_t i = 0; i < run->num_packets; i++) {
			device->packets(image, env, in, out, i, 1);
			follow_tails(device, run, env, in, out, i, tails);
		}
	}
	for (uint32_t i = 0; i < run->num_packets; i++) {
		const struct gp_packet_out *o = &out[i];

		if (o->fault && !outcome->faults++) {
			outcome->fault = o->fault;
			outcome->fault_insn = o->fault_insn;
		}
		outcome->packets[i] = (struct outcome_packet){ .verdict = o->verdict,
							       .egress_port = o->egress_port,
							       .data_moved = (int32_t)o->data_off - DATA_OFF,
							       .len = o->data_len,
							       .meta_len = o->meta_len,
							       .fault = o->fault };
		if (o->data_off > SLOT || o->data_len > SLOT - o->data_off || o->meta_len > o->data_off)
			abort();
		outcome_add(outcome, slots + i * SLOT + o->data_off - o->meta_len,
			    (size_t)o->meta_len + o->data_len);
	}
	region_free(slots, run->num_packets * SLOT);
}

static void run_grid(const struct jit_device *device, const struct run *run, const struct gp_image *image,
		     struct gp_env *env, struct outcome *outcome)
{
	struct gp_region regions[VIRTIO_GPGPU_MAX_ARGS] = { 0 };
	uint64_t values[VIRTIO_GPGPU_MAX_ARGS] = { 0 };
	uint64_t items = (uint64_t)run->grid[0] * run->grid[1] * run->grid[2];
	struct gp_faults faults = { 0 };
	struct gp_group_needs groups;
	struct gp_grid grid;

	memcpy(grid.size, run->grid, sizeof(grid.size));
	memcpy(grid.group, run->group, sizeof(grid.group));
	for (uint32_t i = 0; i < run->num_args; i++) {
		if (run->args[i].kind == VIRTIO_GPGPU_ARG_VALUE) {
			values[i] = run->args[i].value;
			continue;
		}
		regions[i].base = region_new(run->args[i].size);
		regions[i].size = run->args[i].size;
		regions[i].writable = run->args[i].kind == VIRTIO_GPGPU_ARG_BUFFER;
		memcpy(regions[i].base, run->args[i].init, run->args[i].size);
	}
	env->args = regions;
	env->arg_values = values;
	env->num_args = run->num_args;
	gp_group_find(run->insns, run->num_insns, &groups);
	env->local_bytes = groups.local_bytes;
	for (int d = 0; d < 3 && groups.any; d++)
		items /= run->group[d];
	device->grid(image, env, &grid, items, &faults);
	outcome->faults = faults.count;
	outcome->fault = faults.count ? faults.reason : 0;
	outcome->fault_insn = faults.count ? faults.insn : 0;
	for (uint32_t i = 0; i < run->num_args; i++) {
		outcome_add(outcome, regions[i].base ? (void *)regions[i].base : "", regions[i].size);
		region_free(regions[i].base, regions[i].size);
	}
}

static struct gp_image *compile(const struct run *run, const struct bpf_insn *insns, uint32_t num_insns,
				const struct gp_map_desc *descs, struct outcome *outcome)
{
	struct gp_prog prog = { .kind = run->kind,
				.num_insns = num_insns,
				.num_maps = run->num_maps,
				.num_args = run->num_args,
				.insns = insns,
				.maps = descs };
	struct gp_verdict verdict = { 0 };
	struct gp_image *image = NULL;

	for (uint32_t i = 0; i < run->num_args; i++)
		prog.arg_kind[i] = (uint8_t)run->args[i].kind;
	if (gp_validate(&prog, &verdict))
		image = gp_jit_compile(jit, &prog, &verdict);
	if (!image) {
		outcome->refused = true;
		outcome->status = verdict.status;
		outcome->reason = verdict.reason;
		outcome->insn = verdict.insn;
		snprintf(outcome->message, sizeof(outcome->message), "%s", verdict.message);
	}
	return image;
}

/* Whether the interpreter has the same eight bytes at @at. Nothing of this process's can come there through it. */
static bool is_data(const struct run *run, const struct outcome *outcome, size_t at)
{
	struct run again = *run;
	struct outcome other;
	bool same;

	again.trace = NULL;
	target_interp.run(&again, &other);
	same = other.num_bytes == outcome->num_bytes && !memcmp(other.bytes + at, outcome->bytes + at, 8);
	outcome_free(&other);
	return same;
}

static void check_addresses(const struct run *run, const struct outcome *outcome)
{
	uint64_t address;

	for (size_t at = 0; (address = hunt(outcome->bytes, outcome->num_bytes, &at)); at++) {
		if (is_data(run, outcome, at))
			continue;
		fprintf(stderr, "byte %zu of what the guest sees is an address of the host's: %#llx\n", at,
			(unsigned long long)address);
		abort();
	}
}

void jit_device_run(const struct jit_device *device, const struct run *run, struct outcome *outcome)
{
	struct jit_map maps[RUN_MAX_MAPS];
	struct gp_map_desc descs[RUN_MAX_MAPS];
	struct gp_map *pointers[RUN_MAX_MAPS];
	struct gp_env env = { .maps = pointers,
			      .num_maps = run->num_maps,
			      .fuel = run->fuel,
			      .clock = &clock_now,
			      .inner = pointers,
			      .num_inner = run->num_maps };
	static const uint32_t never;
	struct gp_image *image, *tails[RUN_MAX_TAILS] = { NULL };
	uint32_t made;

	memset(outcome, 0, sizeof(*outcome));
	env.stop = &never;
	for (made = 0; made < run->num_maps; made++) {
		if (!make_map(&maps[made], &run->maps[made], maps))
			abort();
		descs[made] = maps[made].desc;
		pointers[made] = &maps[made].map;
		if (maps[made].desc.type == VIRTIO_GPGPU_MAP_FIB)
			env.fib = pointers[made];
	}
	image = compile(run, run->insns, run->num_insns, descs, outcome);
	for (uint32_t i = 0; image && i < run->num_tails; i++) {
		tails[i] = compile(run, run->tails[i].insns, run->tails[i].num_insns, descs, outcome);
		if (!tails[i]) {
			gp_image_unref(image);
			image = NULL;
		}
	}
	if (image) {
		if (run->kind == VIRTIO_GPGPU_PROG_XDP)
			run_packets(device, run, image, tails, &env, outcome);
		else
			run_grid(device, run, image, &env, outcome);
		for (uint32_t i = 0; i < made; i++) {
			add_map(outcome, &run->maps[i], &maps[i]);
			add_records(outcome, &maps[i].map); /* of other types there are none */
		}
		hunt_also(image->code, image->map_bytes);
		check_addresses(run, outcome);
		gp_image_unref(image);
	}
	for (uint32_t i = 0; i < run->num_tails; i++)
		gp_image_unref(tails[i]);
	for (uint32_t i = 0; i < made; i++)
		free_map(&maps[i]);
	hunt_forget();
}

static const char *jit_open(void)
{
	return jit_device_open(&host);
}

static void jit_run(const struct run *run, struct outcome *outcome)
{
	jit_device_run(&host, run, outcome);
}

const struct target target_jit = { .name = "jit",
				   .open = jit_open,
				   .run = jit_run,
				   .close = jit_device_close,
				   .validates = true,
				   .optional = true };
