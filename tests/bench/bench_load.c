/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_load.c - one program in the kernel and compiled by us, with maps of the same contents.
 *
 * An object is loaded by libbpf and its maps are filled from the configuration that the example comes with. The very
 * instructions that the kernel got are handed to our compiler, and our maps are filled from the kernel's.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include "bench_engine.h"
#include "rt/maps.h"
#include "tool.h"
#include "virtio_gpgpu.h"

#define LOOPBACK 1

uint8_t *bench_window(uint64_t size)
{
	uint64_t bytes = 4096;
	uint8_t *at;

	while (bytes < size)
		bytes *= 2;
	at = mmap(NULL, bytes + 2 * GP_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED ||
	    (size && mprotect(at + GP_GUARD, (size + 4095) & ~4095ull, PROT_READ | PROT_WRITE)))
		bench_die("no memory");
	return at + GP_GUARD;
}

/* ------------------------------------------------- the kernel's maps, as the tools see them */

static int update(void *map, const void *key, const void *value, size_t size)
{
	return bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY) ? -errno : 0;
}

static int lookup(void *map, const void *key, void *value, size_t size)
{
	return bpf_map_lookup_elem(bpf_map__fd(map), key, value) ? -errno : 0;
}

static int next_key(void *map, const void *key, void *next)
{
	return bpf_map_get_next_key(bpf_map__fd(map), key, next) ? -errno : 0;
}

static const char *words(int err)
{
	return strerror(-err);
}

static bool has_copies(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static void configure(struct bpf_object *obj, const char *path)
{
	struct map_target targets[GP_MAX_PROG_MAPS] = { 0 };
	struct bpf_map *m;
	size_t n = 0;

	bpf_object__for_each_map(m, obj) {
		if (n == GP_MAX_PROG_MAPS)
			bench_die("%s: too many maps", path);
		targets[n++] = (struct map_target){
			.name = bpf_map__name(m),
			.key_size = bpf_map__key_size(m),
			.value_size = bpf_map__value_size(m),
			.copies = has_copies(bpf_map__type(m)) ? (uint32_t)libbpf_num_possible_cpus() : 0,
			.is_array = bpf_map__type(m) == BPF_MAP_TYPE_ARRAY ||
				    bpf_map__type(m) == BPF_MAP_TYPE_PERCPU_ARRAY,
			.type = bpf_map__type(m),
			.map = m,
			.update = update,
			.lookup = lookup,
			.next_key = next_key,
			.error = words,
		};
	}
	mapconfig_apply(path, targets, n);
}

/* ------------------------------------------------------------------ our copies */

/* What is there at the start; values of maps with a copy for each CPU start at zero on both sides. */
static void copy_entries(struct gp_map *map, const struct bpf_map_info *info, int fd)
{
	uint8_t key[512], *value = calloc(1, info->value_size + 8);

	if (has_copies(info->type) || info->type == BPF_MAP_TYPE_RINGBUF)
		return;
	for (int err = bpf_map_get_next_key(fd, NULL, key); !err; err = bpf_map_get_next_key(fd, key, key)) {
		if (bpf_map_lookup_elem(fd, key, value))
			continue; /* a place in an array of devices that is empty */
		if (gp_map_update(map, key, value, BPF_ANY))
			bench_die("map %s: our update failed", info->name);
	}
	free(value);
}

/* Our map of the kernel's shape and contents. Return: its index. */
static int add_map(struct bench_program *p, int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info), n = p->prog.num_maps;
	struct gp_map_desc *desc = &p->descs[n];

	for (uint32_t i = 0; i < n; i++)
		if (p->map_fds[i] == fd)
			return (int)i;
	if (n == GP_MAX_PROG_MAPS || bpf_map_get_info_by_fd(fd, &info, &len))
		bench_die("map: %s", strerror(errno));
	*desc = (struct gp_map_desc){
		.type = info.type,
		.key_size = info.key_size,
		.value_size = info.value_size,
		.max_entries = info.max_entries,
		.flags = info.map_flags & BPF_F_RDONLY_PROG ? VIRTIO_GPGPU_MAP_F_RDONLY_PROG : 0,
	};
	if (gp_map_check(desc, 1))
		bench_die("map %s: not a shape that we have", info.name);
	gp_map_layout(&p->maps[n], desc, bench_window(desc->values_size),
		      bench_window(gp_map_index_bytes(desc)), 12345);
	copy_entries(&p->maps[n], &info, fd);
	p->map_ptrs[n] = &p->maps[n];
	p->map_fds[n] = fd;
	return (int)p->prog.num_maps++;
}

static struct gp_image *compile(struct bench_program *p, struct gp_jit *jit, uint32_t flags)
{
	struct gp_verdict verdict;
	struct gp_image *image;

	p->prog.flags = flags;
	image = gp_jit_compile(jit, &p->prog, &verdict);
	if (!image)
		bench_die("%s: our compiler refuses it at instruction %u: %s", p->subject->name, verdict.insn,
			  verdict.message);
	return image;
}

void bench_load(struct bench_program *p, const struct subject *s, const char *objects, const char *examples,
		struct gp_jit *jit, struct gp_jit *unchecked)
{
	struct bpf_program *first;
	char path[4096];

	p->subject = s;
	snprintf(path, sizeof(path), "%s/bench_%s.bpf.o", objects, s->name);
	p->obj = bpf_object__open(path);
	if (!p->obj || bpf_object__load(p->obj))
		bench_die("%s: the kernel does not load it: %s", path, strerror(errno));
	if (s->config) {
		snprintf(path, sizeof(path), "%s/%s", examples, s->config);
		configure(p->obj, path);
	}
	first = bpf_object__next_program(p->obj, NULL);
	p->fd = bpf_program__fd(first);
	/* Otherwise each BPF_PROG_TEST_RUN patches the kernel's dispatcher, which takes tens of milliseconds. */
	bpf_xdp_attach(LOOPBACK, p->fd, XDP_FLAGS_SKB_MODE, NULL);

	p->prog.kind = VIRTIO_GPGPU_PROG_XDP;
	p->prog.num_insns = (uint32_t)bpf_program__insn_cnt(first);
	p->insns = malloc(p->prog.num_insns * sizeof(*p->insns));
	memcpy(p->insns, bpf_program__insns(first), p->prog.num_insns * sizeof(*p->insns));
	for (uint32_t i = 0; i < p->prog.num_insns; i++) {
		struct bpf_insn *insn = &p->insns[i];

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE)
			insn->imm = add_map(p, insn->imm);
		i++;
	}
	p->prog.insns = p->insns;
	p->prog.maps = p->descs;
	p->quick = compile(p, jit, GP_PROG_ALONE | GP_PROG_QUICK);
	p->best = compile(p, jit, GP_PROG_ALONE);
	p->unchecked = compile(p, unchecked, GP_PROG_ALONE);
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

struct gp_prog bench_random(uint32_t num)
{
	struct bpf_insn *insns = calloc(num, sizeof(*insns));
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_OR,  BPF_AND, BPF_XOR,
				       BPF_LSH, BPF_RSH, BPF_DIV, BPF_MOD, BPF_MOV };
	uint32_t n = 0, state = 7;

	insns[n++] =
		(struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 6, .src_reg = 1, .off = 0 };
	insns[n++] =
		(struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 7, .src_reg = 1, .off = 4 };
	for (uint8_t r = 0; r < 6; r++)
		insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
						.dst_reg = r,
						.imm = (int)draw(&state, 1000) };
	while (n + 8 < num) {
		uint8_t a = (uint8_t)(draw(&state, 6)), b = (uint8_t)(draw(&state, 6));
		uint32_t what = draw(&state, 10);

		if (what == 0) { /* a packet access that is checked */
			insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
							.dst_reg = 8,
							.src_reg = 6 };
			insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K,
							.dst_reg = 8,
							.imm = 14 + (int)draw(&state, 50) };
			insns[n++] = (struct bpf_insn){
				.code = BPF_JMP | BPF_JGT | BPF_X, .dst_reg = 8, .src_reg = 7, .off = 1
			};
			insns[n++] = (struct bpf_insn){
				.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = a, .src_reg = 8, .off = -4
			};
		} else if (what == 1) {
			insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_JGT | BPF_X,
							.dst_reg = a,
							.src_reg = b,
							.off = 1 + (short)draw(&state, 3) };
		} else if (what < 5) {
			insns[n++] = (struct bpf_insn){ .code = (uint8_t)((what == 2 ? BPF_ALU : BPF_ALU64) |
									  ops[draw(&state, 6)] | BPF_K),
							.dst_reg = a,
							.imm = (int)draw(&state, 1 << 20) };
		} else {
			insns[n++] = (struct bpf_insn){ .code = (uint8_t)((what == 5 ? BPF_ALU : BPF_ALU64) |
									  ops[draw(&state, 11)] | BPF_X),
							.dst_reg = a,
							.src_reg = b };
		}
	}
	while (n + 2 < num)
		insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_X, .src_reg = 1 };
	insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_AND | BPF_K, .imm = 1 };
	insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	return (struct gp_prog){ .kind = VIRTIO_GPGPU_PROG_XDP, .num_insns = n, .insns = insns };
}
