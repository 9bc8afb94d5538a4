// SPDX-License-Identifier: BSD-3-Clause
/* target_interp.c - runs on the reference interpreter. */
#include <stdlib.h>
#include <string.h>
#include "interp.h"
#include "target.h"

static const char *interp_open(void)
{
	return NULL;
}

static void interp_close(void)
{
}

static struct interp_map *make_map(const struct run_map *from)
{
	struct interp_map *map = interp_map_new(from->type, from->key_size, from->value_size,
						from->max_entries, RUN_CPUS, from->rdonly);
	uint32_t record = from->key_size + from->value_size;
	uint32_t copies = run_map_percpu(from->type) ? RUN_CPUS : 1;
	bool numbers = run_map_of_maps(from->type) || from->type == VIRTIO_GPGPU_MAP_PROG_ARRAY;

	for (uint32_t i = 0; i < from->num_init; i++) {
		const uint8_t *at = from->init + (size_t)i * record, *value = at + from->key_size;
		uint32_t number;

		if (numbers) {
			memcpy(&number, value, 4);
			number++;
			value = (const uint8_t *)&number;
		}
		for (uint32_t cpu = 0; cpu < copies; cpu++)
			interp_map_update(map, at, value, BPF_ANY, cpu);
	}
	return map;
}

static void add_map(struct outcome *outcome, const struct run_map *from, struct interp_map *map)
{
	enum run_map_form form = run_map_form(from->type);
	uint8_t popped[VIRTIO_GPGPU_MAX_KEY];
	size_t start = outcome->num_bytes;
	const void *key, *value;
	uint32_t size;

	switch (form) {
	case RUN_MAP_VALUES:
	case RUN_MAP_KEYED:
		for (uint32_t i = 0; i < interp_map_count(map); i++) {
			interp_map_at(map, i, &key, &value, RUN_CPU);
			if (key)
				outcome_add_key(outcome, from, key);
			outcome_add(outcome, value, from->value_size);
		}
		if (form == RUN_MAP_KEYED)
			outcome_sort(outcome, start, from->key_size + from->value_size);
		return;
	case RUN_MAP_POPPED:
		while (from->value_size <= sizeof(popped) && !interp_map_pop(map, popped))
			outcome_add(outcome, popped, from->value_size);
		return;
	case RUN_MAP_RECORDS:
		for (uint32_t i = 0; i < interp_map_num_records(map); i++) {
			value = interp_map_record(map, i, &size);
			if (value)
				outcome_add_record(outcome, value, size);
		}
		return;
	case RUN_MAP_NONE:
		return;
	}
}

static void run_packet(const struct run_packet *in, struct interp_env *env, struct outcome *outcome,
		       struct outcome_packet *out)
{
	static uint8_t slot[RUN_STRIDE];
	struct interp_packet packet = { .slot = slot,
					.stride = RUN_STRIDE,
					.data_off = RUN_DATA_OFF,
					.data_len = in->len,
					.meta_len = in->meta_len,
					.rx_queue = in->rx_queue,
					.ingress_port = in->ingress_port };
	struct interp_result result;

	memset(slot, 0, sizeof(slot));
	memcpy(slot + RUN_DATA_OFF - in->meta_len, in->bytes, (size_t)in->meta_len + in->len);
	interp_xdp(env, &packet, &result);
	if (result.fault && outcome->faults++ == 0) {
		outcome->fault = result.fault;
		outcome->fault_insn = result.fault_insn;
	}
	out->fault = result.fault;
	out->verdict = result.verdict;
	out->egress_port = result.egress_port;
	out->data_moved = (int32_t)result.data_off - RUN_DATA_OFF;
	out->len = result.data_len;
	out->meta_len = result.meta_len;
	outcome_add(outcome, slot + result.data_off - result.meta_len,
		    (size_t)result.meta_len + result.data_len);
}

/* The first fault is that of the item with the smallest number in the grid. */
static void run_groups(const struct run *run, struct interp_env *env, const struct interp_arg *args,
		       const struct interp_grid *grid, struct outcome *outcome)
{
	uint32_t items = grid->group[0] * grid->group[1] * grid->group[2];
	uint32_t nx = grid->size[0] / grid->group[0], ny = grid->size[1] / grid->group[1];
	uint64_t groups = (uint64_t)nx * ny * (grid->size[2] / grid->group[2]), first = UINT64_MAX;
	struct interp_result *results = calloc(items, sizeof(*results));

	if (!results)
		abort();
	for (uint64_t g = 0; g < groups; g++) {
		interp_group(env, args, run->num_args, grid, g, results);
		for (uint32_t i = 0; i < items; i++) {
			uint64_t x = g % nx * grid->group[0] + i % grid->group[0];
			uint64_t y = g / nx % ny * grid->group[1] + i / grid->group[0] % grid->group[1];
			uint64_t z = g / nx / ny * grid->group[2] + i / grid->group[0] / grid->group[1];
			uint64_t item = x + grid->size[0] * (y + grid->size[1] * z);

			if (!results[i].fault)
				continue;
			outcome->faults++;
			if (item > first)
				continue;
			first = item;
			outcome->fault = results[i].fault;
			outcome->fault_insn = results[i].fault_insn;
		}
	}
	free(results);
}

static void run_grid(const struct run *run, struct interp_env *env, struct outcome *outcome)
{
	struct interp_arg args[VIRTIO_GPGPU_MAX_ARGS] = { 0 };
	struct interp_grid grid;
	struct interp_result result;
	uint64_t items = (uint64_t)run->grid[0] * run->grid[1] * run->grid[2];

	memcpy(grid.size, run->grid, sizeof(grid.size));
	memcpy(grid.group, run->group, sizeof(grid.group));
	for (uint32_t i = 0; i < run->num_args; i++) {
		args[i].value = run->args[i].value;
		if (run->args[i].kind == VIRTIO_GPGPU_ARG_VALUE)
			continue;
		args[i].base = malloc(run->args[i].size);
		if (!args[i].base)
			abort();
		memcpy(args[i].base, run->args[i].init, run->args[i].size);
		args[i].size = run->args[i].size;
		args[i].writable = run->args[i].kind == VIRTIO_GPGPU_ARG_BUFFER;
	}
	if (interp_groups(run->insns, run->num_insns)) {
		run_groups(run, env, args, &grid, outcome);
		items = 0;
	}
	for (uint64_t i = 0; i < items; i++) {
		if (interp_item(env, args, run->num_args, &grid, run->backwards ? items - 1 - i : i, &result))
			continue;
		if (outcome->faults++ == 0) {
			outcome->fault = result.fault;
			outcome->fault_insn = result.fault_insn;
		}
	}
	for (uint32_t i = 0; i < run->num_args; i++) {
		outcome_add(outcome, args[i].base ? (void *)args[i].base : "", args[i].size);
		free(args[i].base);
	}
}

static void interp_run(const struct run *run, struct outcome *outcome)
{
	struct interp_tail tails[RUN_MAX_TAILS];
	struct interp_env env = { .trace = run->trace,
				  .insns = run->insns,
				  .num_insns = run->num_insns,
				  .tails = tails,
				  .num_tails = run->num_tails,
				  .num_maps = run->num_maps,
				  .strict = run->strict,
				  .fuel = run->fuel,
				  .ktime_ns = 1000000007,
				  .random = 0x9e3779b9,
				  .cpu = RUN_CPU };
	uint32_t fib = UINT32_MAX;

	memset(outcome, 0, sizeof(*outcome));
	for (uint32_t i = 0; i < run->num_tails; i++)
		tails[i] = (struct interp_tail){ run->tails[i].insns, run->tails[i].num_insns };
	for (uint32_t i = 0; i < run->num_maps; i++) {
		if (run->maps[i].type == VIRTIO_GPGPU_MAP_FIB)
			fib = i;
		env.maps[i] = make_map(&run->maps[i]);
	}
	env.fib = fib < run->num_maps ? env.maps[fib] : NULL;
	for (uint32_t i = 0; i < run->num_packets; i++)
		run_packet(&run->packets[i], &env, outcome, &outcome->packets[i]);
	if (run->kind == VIRTIO_GPGPU_PROG_GPGPU)
		run_grid(run, &env, outcome);
	for (uint32_t i = 0; i < run->num_maps; i++) {
		add_map(outcome, &run->maps[i], env.maps[i]);
		interp_map_free(env.maps[i]);
	}
}

const struct target target_interp = { .name = "interpreter",
				      .open = interp_open,
				      .run = interp_run,
				      .close = interp_close };
