// SPDX-License-Identifier: BSD-3-Clause
/*
 * vector_maps.c - see vector_maps.h. A run has no map that its program does not name: making all of them for every
 * vector would take longer than the vectors.
 */
#include <string.h>
#include "vector_maps.h"

#define PUT64(v)                                                                       \
	(uint8_t)(v), (uint8_t)((v) >> 8), (uint8_t)((v) >> 16), (uint8_t)((v) >> 24), \
		(uint8_t)((uint64_t)(v) >> 32), (uint8_t)((uint64_t)(v) >> 40),        \
		(uint8_t)((uint64_t)(v) >> 48), (uint8_t)((uint64_t)(v) >> 56)
#define PUT32(v)   (uint8_t)(v), (uint8_t)((v) >> 8), (uint8_t)((v) >> 16), (uint8_t)((v) >> 24)
#define PATTERN(i) PUT64(0x0101010101010101ull * (i))

static const uint8_t array_init[] = { PUT32(0), PATTERN(0), PUT32(1), PATTERN(1),
				      PUT32(2), PATTERN(2), PUT32(3), PATTERN(3) };
static const uint8_t hash_init[] = { PUT32(1), PUT64(11), PUT32(2), PUT64(22) };
static const uint8_t percpu_init[] = { PUT32(0), PUT64(100), PUT32(1), PUT64(101),
				       PUT32(2), PUT64(102), PUT32(3), PUT64(103) };
static const uint8_t lpm_init[] = {
	PUT32(8), 10, 0, 0, 0, PUT32(8), PUT32(16), 10, 1, 0, 0, PUT32(16), PUT32(32), 10, 1, 2, 3, PUT32(32)
};
static uint8_t data_init[68], rodata_init[68]; /* key 0, then 64 bytes */
static const uint8_t queue_init[] = { PUT64(71), PUT64(72) };
static const uint8_t bloom_init[] = { PUT32(7), PUT32(8) };
static const uint8_t port_init[] = { PUT32(1), PUT32(1) };
static const uint8_t cpu_init[] = { PUT32(1), PUT32(64) };
static const uint8_t inner_init[] = { PUT32(0), PUT64(0x100), PUT32(1), PUT64(0x101),
				      PUT32(2), PUT64(0x102), PUT32(3), PUT64(0x103) };
static const uint8_t inner_2_init[] = { PUT32(0), PUT64(0x200), PUT32(1), PUT64(0x201),
					PUT32(2), PUT64(0x202), PUT32(3), PUT64(0x203) };
/* Values are indices of maps here, and of those that a run has there. */
static const uint8_t array_of_init[] = { PUT32(0), PUT32(MAP_INNER), PUT32(2), PUT32(MAP_INNER_2) };
static const uint8_t hash_of_init[] = { PUT32(5), PUT32(MAP_INNER), PUT32(6), PUT32(MAP_INNER_2) };
static const uint8_t progs_init[] = { PUT32(0), PUT32(0), PUT32(1), PUT32(1) };
static const uint8_t strings_init[] = "\0\0\0\0GET\0PUT\0GEX\0GEA\0GE\xff\0\0\0\0";

/* Key: 32 + bits, family, address. Value: port, MTU, two MAC addresses, flags, nothing. */
#define ROUTE(bits, family, a, b, port, mtu, flags)                                                          \
	PUT32(32 + (bits)), PUT32(family), a, b, 0, 0, PUT64(0), PUT32(0), PUT32(port), PUT32(mtu), 2, 0, 0, \
		0, 0, port, 2, 0, 0, 0, 1, port, PUT32(flags), PUT64(0)
static const uint8_t fib_init[] = {
	ROUTE(8, VIRTIO_GPGPU_FIB_INET, 10, 0, 1, 0, 0),
	ROUTE(16, VIRTIO_GPGPU_FIB_INET, 10, 1, 2, 100, 0),
	ROUTE(16, VIRTIO_GPGPU_FIB_INET, 10, 2, 3, 0, VIRTIO_GPGPU_FIB_F_BLACKHOLE),
	ROUTE(16, VIRTIO_GPGPU_FIB_INET, 10, 3, 4, 0, VIRTIO_GPGPU_FIB_F_NO_NEIGH),
	ROUTE(8, VIRTIO_GPGPU_FIB_INET6, 0xfd, 0, 5, 0, 0),
};

#define MAP(kind, key, value, entries, from, num) \
	{ .type = VIRTIO_GPGPU_MAP_##kind,        \
	  .key_size = (key),                      \
	  .value_size = (value),                  \
	  .max_entries = (entries),               \
	  .init = (from),                         \
	  .num_init = (num) }

static const struct run_map maps[VECTOR_MAPS] = {
	[MAP_ARRAY] = MAP(ARRAY, 4, 8, 4, array_init, 4),
	[MAP_HASH] = MAP(HASH, 4, 8, 4, hash_init, 2),
	[MAP_PERCPU] = MAP(PERCPU_ARRAY, 4, 8, 4, percpu_init, 4),
	[MAP_LPM] = MAP(LPM_TRIE, 8, 4, 4, lpm_init, 3),
	[MAP_DATA] = MAP(ARRAY, 4, 64, 1, data_init, 1),
	[MAP_RODATA] = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			 .key_size = 4,
			 .value_size = 64,
			 .max_entries = 1,
			 .rdonly = true,
			 .init = rodata_init,
			 .num_init = 1 },
	[MAP_PERCPU_HASH] = MAP(PERCPU_HASH, 4, 8, 4, hash_init, 2),
	[MAP_LRU] = MAP(LRU_HASH, 4, 8, 1024, hash_init, 2),
	[MAP_LRU_PERCPU] = MAP(LRU_PERCPU_HASH, 4, 8, 1024, hash_init, 2),
	[MAP_QUEUE] = MAP(QUEUE, 0, 8, 3, queue_init, 2),
	[MAP_STACK] = MAP(STACK, 0, 8, 3, queue_init, 2),
	[MAP_BLOOM] = MAP(BLOOM_FILTER, 0, 4, 16, bloom_init, 2),
	[MAP_DEVMAP] = MAP(DEVMAP, 4, 4, 4, port_init, 1),
	[MAP_DEVMAP_HASH] = MAP(DEVMAP_HASH, 4, 4, 4, port_init, 1),
	[MAP_CPUMAP] = MAP(CPUMAP, 4, 4, 4, cpu_init, 1),
	[MAP_INNER] = MAP(ARRAY, 4, 8, 4, inner_init, 4),
	[MAP_INNER_2] = MAP(ARRAY, 4, 8, 4, inner_2_init, 4),
	[MAP_ARRAY_OF] = MAP(ARRAY_OF_MAPS, 4, 4, 4, array_of_init, 2),
	[MAP_HASH_OF] = MAP(HASH_OF_MAPS, 4, 4, 4, hash_of_init, 2),
	[MAP_RING] = MAP(RINGBUF, 0, 0, 4096, NULL, 0),
	[MAP_PERF] = MAP(PERF_EVENT_ARRAY, 4, 4, 4, NULL, 0),
	[MAP_PROGS] = MAP(PROG_ARRAY, 4, 4, 4, progs_init, 2),
	[MAP_FIB] = MAP(FIB, 24, 32, 16, fib_init, 5),
	[MAP_STRINGS] = { .type = VIRTIO_GPGPU_MAP_ARRAY,
			  .key_size = 4,
			  .value_size = 24,
			  .max_entries = 1,
			  .rdonly = true,
			  .init = strings_init,
			  .num_init = 1 },
};

static bool names_map(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
	       (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE);
}

static void renumber(struct used_maps *used, struct bpf_insn *insns, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		if (names_map(&insns[i]) && (uint32_t)insns[i].imm < VECTOR_MAPS)
			insns[i].imm = used->index[insns[i].imm];
}

static void use_map(struct used_maps *used, uint32_t which)
{
	struct run_map *map = &used->maps[used->num];

	*map = maps[which];
	used->index[which] = (int)used->num++;
	if (!run_map_of_maps(map->type))
		return;
	map->inner = (uint32_t)used->index[MAP_INNER];
	memcpy(used->of_init[which], map->init, map->num_init * 8);
	for (uint32_t i = 0; i < map->num_init; i++) {
		uint32_t value;

		memcpy(&value, map->init + i * 8 + 4, 4);
		memcpy(used->of_init[which] + i * 8 + 4, &used->index[value], 4);
	}
	map->init = used->of_init[which];
}

void vector_use_maps(struct run *run, struct used_maps *used, struct bpf_insn *insns)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < run->num_insns; i++) {
		if (names_map(&insns[i]) && (uint32_t)insns[i].imm < VECTOR_MAPS)
			wanted |= 1u << insns[i].imm;
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].imm == BPF_FUNC_fib_lookup)
			wanted |= 1u << MAP_FIB;
	}
	if (wanted & (1u << MAP_ARRAY_OF | 1u << MAP_HASH_OF))
		wanted |= 1u << MAP_INNER | 1u << MAP_INNER_2;
	memset(used, 0, sizeof(*used));
	for (uint32_t i = 0; i < VECTOR_MAPS; i++)
		if (wanted & 1u << i)
			use_map(used, i);
	renumber(used, insns, run->num_insns);
	run->maps = used->maps;
	run->num_maps = used->num;
	if (!(wanted & 1u << MAP_PROGS))
		return;
	for (uint32_t t = 0; t < VECTOR_TAILS; t++) {
		memcpy(used->tail_insns[t], vector_tails[t], num_vector_tails[t] * sizeof(struct bpf_insn));
		renumber(used, used->tail_insns[t], num_vector_tails[t]);
		used->tails[t] = (struct run_tail){ used->tail_insns[t], num_vector_tails[t] };
	}
	run->tails = used->tails;
	run->num_tails = VECTOR_TAILS;
}

void vector_maps_init(void)
{
	for (int i = 0; i < 64; i++) {
		data_init[4 + i] = (uint8_t)i;
		rodata_init[4 + i] = (uint8_t)(0x80 + i);
	}
}
