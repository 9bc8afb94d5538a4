/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load.h - an object's maps and programs on the session.
 *
 * libgpgpu reads and links the object; its maps are made here when the first program that uses them is loaded, with
 * their global data. A map of maps gets a map of its template's shape as a pattern. What maps are declared with
 * (`.values`) is a step of its own, since a program may be looked at while those that it may call are refused.
 */
#ifndef GPGPU_BPF_LOAD_H
#define GPGPU_BPF_LOAD_H

#include "gpgpu.h"
#include "session.h"

struct map_target;

struct loaded;

struct loaded_map {
	struct loaded *loaded;
	struct gpgpu_map *map;
	struct gpgpu_map_info info;
	const char *name;
	uint32_t id; /* 0: no program that was loaded uses it */
};

struct loaded_program {
	struct gpgpu_program *prog;
	struct gpgpu_program_info info;
	uint32_t id; /* 0: not loaded */
	struct program_cost cost;
};

struct loaded {
	struct session *session;
	struct gpgpu_object *obj;
	const char *path;
	struct loaded_map *maps; /* as instructions number them */
	uint32_t num_maps;
	struct loaded_map
		routes; /* that bpf_fib_lookup() answers from: made for the first program that calls it */
	struct loaded_program *programs;
	uint32_t num_programs;
};

/* load_open() - read an object, or die. */
void load_open(struct loaded *l, struct session *s, const char *path);
void load_close(struct loaded *l);

/* load_entry() - what is known of a program of the object. */
struct loaded_program *load_entry(struct loaded *l, const struct gpgpu_program *prog);

/* load_find() - the program of this name, or with NULL the only one of the kind (0: any kind), or die. */
struct loaded_program *load_find(struct loaded *l, const char *name, uint32_t kind);

/*
 * load_one() - make the maps that a program uses, and the program; nothing if that was done.
 *
 * Return: 0, or the device's status; what refused is in @refusal, and in *@map the map that could not be made, or NULL.
 */
uint32_t load_one(struct loaded *l, struct loaded_program *program, struct refusal *refusal,
		  const struct loaded_map **map);

/*
 * load_all() - load a program, what its maps are declared with, and where there are tail calls all others of its
 * kind, which the user may put into program arrays; or die.
 */
void load_all(struct loaded *l, struct loaded_program *program);

/* load_targets() - the maps that were made, for mapconfig.c; free(). */
struct map_target *load_targets(struct loaded *l, size_t *count);

struct bpf_insn;
/* insn_names_map() - an ld_imm64 whose first imm is a map. */
int insn_names_map(const struct bpf_insn *insn);
int insn_is_wide(const struct bpf_insn *insn);

#endif
