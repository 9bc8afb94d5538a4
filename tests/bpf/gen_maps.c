// SPDX-License-Identifier: BSD-3-Clause
/*
 * gen_maps.c - the maps of random programs, and statements that use them.
 *
 * A map is made when the first instruction wants it, so that a program that uses none costs none. README.md says
 * what of each type is compared; what is not, these statements do not let into a program's result.
 */
#include <stdlib.h>
#include <string.h>
#include "gen.h"
#include "gpgpu_bpf.h"

#define INNER 3 /* inner maps of a map of maps: two arrays; three of a hash */

static const struct {
	uint32_t type, key_size, value_size, entries;
	uint32_t min_init, max_init; /* elements to start with */
} shapes[GEN_MAPS] = {
	[GEN_ARRAY] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 8, 8, 8 },
	[GEN_ARRAY_2] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 8, 8, 8 },
	[GEN_HASH] = { VIRTIO_GPGPU_MAP_HASH, 4, 8, 8, 0, 8 },
	[GEN_HASH_2] = { VIRTIO_GPGPU_MAP_HASH, 4, 8, 8, 0, 8 },
	[GEN_PERCPU] = { VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 8, 8, 8, 8 },
	[GEN_LPM] = { VIRTIO_GPGPU_MAP_LPM_TRIE, 8, 8, 16, 0, 8 },
	[GEN_DATA] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 64, 1, 1, 1 },
	[GEN_STRINGS] = { VIRTIO_GPGPU_MAP_ARRAY, 4, 32, 1, 1, 1 },
	[GEN_PERCPU_HASH] = { VIRTIO_GPGPU_MAP_PERCPU_HASH, 4, 8, 8, 0, 8 },
	/* So many that nothing is ever evicted, which every LRU does in an order of its own. */
	[GEN_LRU] = { VIRTIO_GPGPU_MAP_LRU_HASH, 4, 8, 1024, 0, 8 },
	[GEN_LRU_PERCPU] = { VIRTIO_GPGPU_MAP_LRU_PERCPU_HASH, 4, 8, 1024, 0, 8 },
	[GEN_QUEUE] = { VIRTIO_GPGPU_MAP_QUEUE, 0, 8, 6, 0, 6 },
	[GEN_STACK] = { VIRTIO_GPGPU_MAP_STACK, 0, 8, 6, 0, 6 },
	[GEN_BLOOM] = { VIRTIO_GPGPU_MAP_BLOOM_FILTER, 0, 4, 64, 4, 4 },
	[GEN_DEVMAP] = { VIRTIO_GPGPU_MAP_DEVMAP, 4, 4, 8, 0, 5 },
	[GEN_DEVMAP_HASH] = { VIRTIO_GPGPU_MAP_DEVMAP_HASH, 4, 4, 8, 0, 5 },
	[GEN_CPUMAP] = { VIRTIO_GPGPU_MAP_CPUMAP, 4, 4, 8, 0, 5 },
	[GEN_ARRAY_OF] = { VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 4, 4, 0, 4 },
	[GEN_HASH_OF] = { VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 4, 4, 4, 0, 4 },
	[GEN_RING] = { VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 65536, 0, 0 },
	[GEN_PERF] = { VIRTIO_GPGPU_MAP_PERF_EVENT_ARRAY, 4, 4, 4, 0, 0 },
	[GEN_FIB] = { VIRTIO_GPGPU_MAP_FIB, sizeof(struct virtio_gpgpu_fib_key),
		      sizeof(struct virtio_gpgpu_fib_entry), 16, 1, 6 },
	[GEN_PROGS] = { VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, 4, 0, 0 },
};

static const char strings[32] = "GET\0POST\0PUT\0\xff\x80\x01\0a longer one";

static bool is_of_maps(enum gen_map map)
{
	return map == GEN_ARRAY_OF || map == GEN_HASH_OF;
}

static struct run_map *add_map(struct gen *g, enum gen_map like, uint8_t **init)
{
	struct run *run = &g->made->run;
	struct run_map *map = &g->made->maps[run->num_maps];

	if (run->num_maps == RANDOM_MAPS)
		abort();
	*init = g->made->map_init[run->num_maps++];
	*map = (struct run_map){ .type = shapes[like].type,
				 .key_size = shapes[like].key_size,
				 .value_size = shapes[like].value_size,
				 .max_entries = shapes[like].entries,
				 .init = *init };
	run->maps = g->made->maps;
	return map;
}

/* A route to 10.x, or fd..., which queries ask for. */
static void fill_route(struct gen *g, uint8_t *at)
{
	static const uint32_t mtus[] = { 0, 64, 1500 };
	bool six = gen_chance(g, 30);
	struct virtio_gpgpu_fib_key key = { .prefixlen = 32 + (six ? 8 : gen_below(g, 25)),
					    .family = six ? VIRTIO_GPGPU_FIB_INET6 : VIRTIO_GPGPU_FIB_INET,
					    .addr = { six ? 0xfd : 10, (uint8_t)gen_below(g, 3) } };
	struct virtio_gpgpu_fib_entry entry = { .ifindex = 1 + gen_below(g, 9),
						.mtu = mtus[gen_below(g, 3)],
						.smac = { 2, 0, 0, 0, 0, (uint8_t)gen_random(g) },
						.dmac = { 2, 0, 0, 0, 1, (uint8_t)gen_random(g) },
						.flags = gen_chance(g, 60) ? 0 : gen_below(g, 16) };

	memcpy(at, &key, sizeof(key));
	memcpy(at + sizeof(key), &entry, sizeof(entry));
}

static void fill_element(struct gen *g, enum gen_map which, uint32_t i, uint32_t first_inner, uint8_t *at)
{
	uint32_t key[2] = { i, 0 }, key_size = shapes[which].key_size, value = 0;

	if (which == GEN_FIB) {
		fill_route(g, at);
		return;
	}
	if (which == GEN_LPM) {
		key[0] = gen_below(g, 33);
		key[1] = 10 | gen_below(g, 3) << 8 | gen_below(g, 2) << 16 | gen_below(g, 2) << 31;
	}
	memcpy(at, key, key_size);
	at += key_size;
	switch (which) {
	case GEN_STRINGS:
		memcpy(at, strings, sizeof(strings));
		return;
	case GEN_BLOOM:
		value = i * 3;
		break;
	case GEN_DEVMAP:
	case GEN_DEVMAP_HASH:
		value = 1; /* the loopback device, which the kernel has everywhere */
		break;
	case GEN_CPUMAP:
		value = 192; /* length of a queue */
		break;
	case GEN_ARRAY_OF:
	case GEN_HASH_OF:
		value = first_inner + gen_below(g, INNER);
		break;
	case GEN_PROGS:
		value = i;
		break;
	default:
		for (uint32_t k = 0; k < shapes[which].value_size; k++)
			at[k] = (uint8_t)gen_random(g);
		return;
	}
	memcpy(at, &value, 4);
}

/* Inner maps stand in front of theirs. */
static uint32_t make_map(struct gen *g, enum gen_map which)
{
	enum gen_map inner = which == GEN_ARRAY_OF ? GEN_ARRAY : GEN_HASH;
	uint32_t first = g->made->run.num_maps, element, num;
	struct run_map *map;
	uint8_t *init;

	for (int i = 0; is_of_maps(which) && i < INNER; i++) {
		map = add_map(g, inner, &init);
		num = inner == GEN_ARRAY ? 8 : gen_below(g, 9);
		element = map->key_size + map->value_size;
		for (uint32_t k = 0; k < num; k++)
			fill_element(g, inner, k, 0, init + k * element);
		map->num_init = num;
	}
	map = add_map(g, which, &init);
	map->inner = first;
	map->rdonly = which == GEN_STRINGS;
	num = shapes[which].min_init + gen_below(g, shapes[which].max_init - shapes[which].min_init + 1);
	if (which == GEN_PROGS)
		num = g->made->run.num_tails;
	element = map->key_size + map->value_size;
	for (uint32_t k = 0; k < num; k++)
		fill_element(g, which, k, first, init + k * element);
	map->num_init = num;
	/* CPUs that the machine may not have; perf events that nobody opened; routes of the machine's own. */
	if (which == GEN_CPUMAP || which == GEN_PERF || which == GEN_FIB)
		g->made->no_kernel = true;
	return g->made->run.num_maps - 1;
}

static uint32_t map_index(struct gen *g, enum gen_map which)
{
	if (!g->map_at[which])
		g->map_at[which] = make_map(g, which) + 1;
	return g->map_at[which] - 1;
}

void gen_make_map(struct gen *g, enum gen_map map)
{
	map_index(g, map);
}

void gen_load_map(struct gen *g, uint8_t reg, enum gen_map map)
{
	const struct bpf_insn pair[] = { LDMAP(reg, map_index(g, map)) };

	gen_emit2(g, pair);
}

/* ------------------------------------------------------------------ keys and values */
static void put_key(struct gen *g, enum gen_map map)
{
	if (map == GEN_LPM) {
		gen_emit(g, ST(W, R10, GEN_KEY, gen_below(g, 34)));
		gen_emit(g, ST(W, R10, GEN_KEY + 4,
			       10 | gen_below(g, 3) << 8 | gen_below(g, 2) << 16 | gen_below(g, 2) << 31));
	} else if (gen_chance(g, 50)) {
		gen_emit(g, ST(W, R10, GEN_KEY, gen_below(g, 10)));
	} else {
		uint8_t src = gen_read(g);

		gen_emit(g, STX(W, R10, GEN_KEY, src));
		gen_emit(g, LDX(B, src, R10, GEN_KEY));
		gen_emit(g, ALU64K(BPF_AND, src, is_of_maps(map) ? 3 : 15));
		gen_emit(g, STX(W, R10, GEN_KEY, src));
	}
}

/* R0 is a value or NULL. */
static void use_value(struct gen *g)
{
	uint32_t jump, live;

	gen_after_call(g);
	g->live &= ~1u;
	g->held |= 1u;
	live = g->live;
	jump = gen_jump(g, JK(BPF_JEQ, R0, 0, 0));
	if (gen_chance(g, 30))
		gen_emit(g, ATOMIC(gen_chance(g, 50) ? DW : W, BPF_ADD, R0, 0, gen_read(g)));
	else
		gen_access(g, R0, 0, 8, true, false, true);
	/* What only this branch initialised does not count. */
	g->live &= live;
	g->held &= ~1u;
	gen_here(g, jump);
	gen_void(g);
}

void gen_load_value(struct gen *g, uint8_t reg, enum gen_map map, int32_t offset)
{
	const struct bpf_insn pair[] = { LDVALUE(reg, map_index(g, map), offset) };

	gen_emit2(g, pair);
}

void gen_data(struct gen *g)
{
	if (g->made->run.kind != VIRTIO_GPGPU_PROG_XDP)
		return;
	gen_load_value(g, R0, GEN_DATA, (int32_t)gen_below(g, 7) * 8);
	g->live &= ~1u;
	g->held |= 1u;
	if (gen_chance(g, 50))
		gen_access(g, R0, 0, 16, true, false, true);
	else
		gen_emit(g, ATOMIC(DW, BPF_ADD, R0, 8, gen_read(g)));
	g->held &= ~1u;
	gen_void(g);
}

/* R1 = the map; sometimes one of two, by a number that only the run knows. */
static void load_one_of(struct gen *g, enum gen_map map)
{
	enum gen_map other = map == GEN_ARRAY ? GEN_ARRAY_2 : GEN_HASH_2;
	uint32_t jump;
	uint8_t by;

	if ((map != GEN_ARRAY && map != GEN_HASH) || gen_chance(g, 80)) {
		gen_load_map(g, R1, map);
		return;
	}
	by = gen_read(g);
	gen_emit(g, MOV64X(R3, by));
	gen_load_map(g, R1, map);
	g->live &= ~0xau;
	jump = gen_jump(g, JK(BPF_JSET, R3, 1 + (int32_t)gen_below(g, 8), 0));
	gen_load_map(g, R1, other);
	gen_here(g, jump);
}

static void keyed(struct gen *g, enum gen_map map)
{
	put_key(g, map);
	/* R7 and R8 may be in use; the value comes from the stack. */
	gen_emit(g, STX(DW, R10, GEN_VALUE, gen_read(g)));
	load_one_of(g, map);
	gen_stack_pointer(g, R2, GEN_KEY);
	switch (gen_below(g, 4)) {
	case 0:
		gen_stack_pointer(g, R3, GEN_VALUE);
		gen_emit(g, MOV64K(R4, gen_below(g, 4)));
		gen_emit(g, CALL(BPF_FUNC_map_update_elem));
		gen_after_call(g);
		return;
	case 1:
		gen_emit(g, CALL(BPF_FUNC_map_delete_elem));
		gen_after_call(g);
		return;
	default:
		gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
		use_value(g);
	}
}

static void of_cpu(struct gen *g)
{
	enum gen_map map = gen_chance(g, 50) ? GEN_PERCPU : GEN_PERCPU_HASH;

	put_key(g, map);
	gen_load_map(g, R1, map);
	gen_stack_pointer(g, R2, GEN_KEY);
	gen_emit(g, MOV64K(R3, gen_chance(g, 70) ? RUN_CPU : 100000));
	gen_emit(g, CALL(BPF_FUNC_map_lookup_percpu_elem));
	use_value(g);
}

static void queue(struct gen *g)
{
	static const int32_t flags[] = { 0, 0, 0, 2, 2, 1, 5 };
	enum gen_map map = gen_chance(g, 50) ? GEN_QUEUE : GEN_STACK;
	uint8_t value = gen_read(g);

	gen_emit(g, STX(DW, R10, GEN_VALUE, value));
	gen_load_map(g, R1, map);
	gen_stack_pointer(g, R2, GEN_VALUE);
	if (gen_chance(g, 50)) {
		gen_emit(g, MOV64K(R3, flags[gen_below(g, 7)]));
		gen_emit(g, CALL(BPF_FUNC_map_push_elem));
		gen_after_call(g);
		return;
	}
	gen_emit(g, CALL(gen_chance(g, 60) ? BPF_FUNC_map_pop_elem : BPF_FUNC_map_peek_elem));
	gen_after_call(g);
	gen_emit(g, LDX(DW, R1, R10, GEN_VALUE));
	g->live |= 2;
}

/* What was pushed is found; of the rest a filter may say anything. */
static void bloom(struct gen *g)
{
	bool pushed = gen_chance(g, 50);

	gen_emit(g, ST(W, R10, GEN_VALUE, pushed ? 3 * gen_below(g, 4) : gen_below(g, 1000)));
	gen_load_map(g, R1, GEN_BLOOM);
	gen_stack_pointer(g, R2, GEN_VALUE);
	if (!pushed && gen_chance(g, 50)) {
		gen_emit(g, MOV64K(R3, gen_below(g, 2)));
		gen_emit(g, CALL(BPF_FUNC_map_push_elem));
		gen_after_call(g);
		return;
	}
	gen_emit(g, CALL(BPF_FUNC_map_peek_elem));
	gen_after_call(g);
	if (!pushed)
		gen_void(g);
}

static void inner(struct gen *g)
{
	enum gen_map map = gen_chance(g, 50) ? GEN_ARRAY_OF : GEN_HASH_OF;
	uint32_t none;

	put_key(g, map);
	gen_load_map(g, R1, map);
	gen_stack_pointer(g, R2, GEN_KEY);
	gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
	gen_after_call(g);
	g->live &= ~1u;
	none = gen_jump(g, JK(BPF_JEQ, R0, 0, 0));
	gen_emit(g, MOV64X(R1, R0));
	gen_emit(g, ST(W, R10, GEN_KEY, gen_below(g, 10)));
	gen_stack_pointer(g, R2, GEN_KEY);
	if (gen_chance(g, 25)) {
		gen_emit(g, ST(DW, R10, GEN_VALUE, (int32_t)gen_constant(g)));
		gen_stack_pointer(g, R3, GEN_VALUE);
		gen_emit(g, MOV64K(R4, gen_below(g, 3)));
		gen_emit(g, CALL(BPF_FUNC_map_update_elem));
		gen_after_call(g);
	} else {
		gen_emit(g, CALL(BPF_FUNC_map_lookup_elem));
		use_value(g);
	}
	gen_here(g, none);
	gen_void(g);
}

/* ------------------------------------------------------------------ records */
static void ring_output(struct gen *g)
{
	gen_load_map(g, R1, GEN_RING);
	gen_stack_pointer(g, R2, -8 * g->slots);
	gen_emit(g, MOV64K(R3, 1 + (int32_t)gen_below(g, 8 * (uint32_t)g->slots)));
	gen_emit(g, MOV64K(R4, gen_chance(g, 90) ? (int32_t)gen_below(g, 3) : 8));
	gen_emit(g, CALL(BPF_FUNC_ringbuf_output));
	gen_after_call(g);
}

static void ring_record(struct gen *g)
{
	uint32_t none;
	uint8_t value;

	gen_load_map(g, R1, GEN_RING);
	gen_emit(g, MOV64K(R2, 16));
	gen_emit(g, MOV64K(R3, 0));
	gen_emit(g, CALL(BPF_FUNC_ringbuf_reserve));
	gen_after_call(g);
	g->live &= ~1u;
	g->held |= 1u;
	none = gen_jump(g, JK(BPF_JEQ, R0, 0, 0));
	/* All of it: what is not written is whatever was there. */
	value = gen_read(g);
	gen_emit(g, STX(DW, R0, 0, value));
	gen_emit(g, ST(W, R0, 8, (int32_t)gen_constant(g)));
	gen_emit(g, STX(W, R0, 12, value));
	gen_emit(g, MOV64X(R1, R0));
	gen_emit(g, MOV64K(R2, 0));
	gen_emit(g, CALL(gen_chance(g, 75) ? BPF_FUNC_ringbuf_submit : BPF_FUNC_ringbuf_discard));
	g->held &= ~1u;
	gen_after_call(g);
	g->live &= ~1u;
	gen_here(g, none);
	gen_void(g);
}

static void perf_record(struct gen *g)
{
	static const uint64_t flags[] = { 0xffffffff, 0, 3, 4, 0xeffffffffull, 0x10000000000000ull };
	const struct bpf_insn pair[] = { LD64(R3, flags[gen_below(g, 6)]) };

	gen_load_map(g, R2, GEN_PERF);
	gen_emit(g, MOV64X(R1, R9));
	gen_emit2(g, pair);
	gen_stack_pointer(g, R4, -8 * g->slots);
	gen_emit(g, MOV64K(R5, 8 * (1 + (int32_t)gen_below(g, (uint32_t)g->slots))));
	gen_emit(g, CALL(BPF_FUNC_perf_event_output));
	gen_after_call(g);
}

void gen_map(struct gen *g)
{
	static const enum gen_map plain[] = { GEN_ARRAY, GEN_HASH, GEN_PERCPU, GEN_LPM };
	static const enum gen_map more[] = { GEN_PERCPU_HASH, GEN_LRU, GEN_LRU_PERCPU };
	uint32_t what = gen_below(g, 100);

	if (g->made->run.kind != VIRTIO_GPGPU_PROG_XDP)
		return;
	if (g->without & RANDOM_WITHOUT_MAPS)
		what %= 50;
	if (what < 50)
		keyed(g, plain[gen_below(g, 4)]);
	else if (what < 62)
		keyed(g, more[gen_below(g, 3)]);
	else if (what < 67)
		of_cpu(g);
	else if (what < 77)
		queue(g);
	else if (what < 81)
		bloom(g);
	else if (what < 89)
		inner(g);
	else if (what < 93)
		ring_output(g);
	else if (what < 97 || !g->main)
		ring_record(g);
	else
		perf_record(g);
}

/* ------------------------------------------------------------------ ways to end */
void gen_verdict(struct gen *g)
{
	static const enum gen_map maps[] = { GEN_DEVMAP, GEN_DEVMAP_HASH, GEN_CPUMAP, GEN_DEVMAP };

	if ((g->without & RANDOM_WITHOUT_MAPS) || gen_chance(g, 40)) {
		gen_emit(g, MOV64K(R1, 1 + gen_below(g, 5)));
		gen_emit(g, MOV64K(R2, gen_below(g, 5) == 0));
		gen_emit(g, CALL(BPF_FUNC_redirect));
		return;
	}
	gen_emit(g, MOV64X(R2, R7));
	gen_emit(g, ALU64K(BPF_AND, R2, 7));
	gen_load_map(g, R1, maps[gen_below(g, 4)]);
	gen_emit(g, MOV64K(R3, gen_chance(g, 80) ? gen_below(g, 4) : 0x100));
	gen_emit(g, CALL(BPF_FUNC_redirect_map));
}

void gen_tail_call(struct gen *g)
{
	uint8_t index = gen_read(g);

	gen_emit(g, MOV64X(R3, index));
	gen_emit(g, ALU64K(BPF_AND, R3, 3));
	gen_emit(g, MOV64X(R1, R9));
	gen_load_map(g, R2, GEN_PROGS);
	gen_emit(g, CALL(BPF_FUNC_tail_call));
	gen_after_call(g);
	gen_void(g);
}
