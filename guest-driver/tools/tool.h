/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool.h - what the files of the commands gpgpu and gpgpu-oracle share.
 *
 * Both are programs that do one thing and end: a failure prints one line and exits with status 1, output files
 * appear whole or not at all (outfile.c).
 */
#ifndef GPGPU_TOOL_H
#define GPGPU_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NUM_VERDICTS  5 /* XDP_ABORTED .. XDP_REDIRECT */

/* util.c */

extern const char *tool_name; /* set by main() */
extern void (*on_death)(void); /* called by die(), or NULL */

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *xcalloc(size_t count, size_t size);
char *xstrdup(const char *s);

/* Parse a whole string or die; @what names it. */
uint64_t parse_number(const char *text, uint64_t min, uint64_t max, const char *what);

/* Splits "FILE:NAME" in place; *name is NULL without one. */
void split_object(char *spec, const char **name);

/* "1,024" and the like; valid until the eighth call after this one. */
const char *grouped(uint64_t n);
const char *verdict_name(uint32_t verdict);

/* Return: whole contents of a file, to be freed, or die. */
void *read_whole(const char *path, size_t *size);
uint64_t now_ns(void);

/* outfile.c: a file that gets its name when it is complete */

struct outfile;

/*
 * outfile_open() - start to write a file, or die
 * @path: its name; what is not a regular file (/dev/null, a pipe) is written directly
 * @stream: out: write here
 *
 * The file appears with outfile_commit(). When the program ends before that nothing is left behind.
 */
struct outfile *outfile_open(const char *path, FILE **stream);
void outfile_commit(struct outfile *out);

/* mapconfig.c: contents of maps as text */

struct map_target { /* a map of a device or of the kernel */
	const char *name;
	uint32_t key_size, value_size;
	uint32_t copies; /* values per key: CPUs for per-CPU maps, else 0 */
	bool is_array;
	uint32_t type; /* BPF_MAP_TYPE_*; 0: one with keys and values */
	void *map;
	/* 0 or negative errno; @value holds one value, or copies values padded to 8 */
	int (*update)(void *map, const void *key, const void *value, size_t size);
	int (*lookup)(void *map, const void *key, void *value, size_t size);
	int (*next_key)(void *map, const void *key, void *next);
	int (*pop)(void *map, void *value, size_t size); /* of QUEUE and STACK; may be NULL for others */
	/* many entries, each a key padded to 8 and a value padded to 8; NULL: one by one */
	int (*dump)(void *map, const void *key, void *entries, uint32_t *count);
	int (*load)(void *map, const void *entries, uint32_t count);
	/* what a PROG_ARRAY or a map of maps takes for a program or map of this name; 0: there is none */
	uint32_t (*named)(void *map, const char *name);
	const char *(*error)(int err); /* words for what these return */
};

/* Bytes of a value as update and lookup take it. */
size_t map_target_bytes(const struct map_target *t);

/*
 * mapconfig_apply() - set map entries from a file, or die with its name and line
 * @path: text: lines MAP KEY = VALUE, see gpgpu(1)
 * @targets: maps that lines may name
 */
void mapconfig_apply(const char *path, const struct map_target *targets, size_t count);

/* The same for one entry "KEY = VALUE" (or "KEY=VALUE") of one map; @where starts a message. */
void mapconfig_entry(const char *where, const struct map_target *target, char *text);

/*
 * mapconfig_dump() - write all of a map as lines "NAME KEY VALUE" in hexadecimal, sorted by key, or die
 *
 * Values of per-CPU maps are added up in words of 64 bits. Entries of arrays that are all zero are left out. A
 * queue or stack is emptied: its keys are the order in which values came out. What holds programs, maps or records, or
 * cannot be read, is left out.
 */
void mapconfig_dump(FILE *to, const struct map_target *target);

/* Option --entries NAME N: how many entries a map is to have, whatever its object says. Dies if N is no number. */
void map_entries_add(const char *name, const char *number);

/* Return: that number, or 0 if nothing was said about the map. */
uint32_t map_entries_of(const char *name);

/* Return: the target, or die: @where starts the message. */
const struct map_target *map_target_find(const char *where, const struct map_target *targets, size_t count,
					 const char *name);

/* fields.c: bytes as text */

/*
 * fields_parse() - turn "u32:24 ip4:10.0.0.0" into bytes, or die
 * @where: start of a message
 * @text: fields, separated by blanks
 * @out: bytes; the rest is zeroed
 * @size: of @out
 * @index: which of a range's steps this is; picks from lists
 */
void fields_parse(const char *where, const char *text, uint8_t *out, size_t size, uint64_t index);

/* Return: how many steps the ranges ("u32:0..9") in @text have: 1 without one. */
uint64_t fields_steps(const char *where, const char *text);

/* cmd_*.c: argv[0] is the command's own name; return the exit status */

int cmd_info(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_pkt(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_top(int argc, char **argv);

#define ROUTES_MAP ".routes" /* the name by which text sets the map that bpf_fib_lookup() answers from */

/*
 * device.c: maps of a loaded object as targets; with ROUTES_MAP, where one of its programs looks up routes, which
 * load_program() makes a map for
 */

struct gpgpu_object;
struct gpgpu_device;
struct map_target *device_maps(struct gpgpu_object *obj, struct gpgpu_device *dev, size_t *count);

/* Opens the device of option --device, or the first, or dies. */
struct gpgpu_device *open_device(const char *path);

/* Opens "FILE[:NAME]", in which there is that one program of the kind, or dies. @spec is split in place and kept. */
struct gpgpu_program;
struct gpgpu_object *open_program(char *spec, uint32_t kind, struct gpgpu_program **prog);

/* Loads that program of an object, and those it may call in turn, or dies. */
void load_object(struct gpgpu_object *obj, struct gpgpu_program *prog, struct gpgpu_device *dev);

/* Both. */
struct gpgpu_object *load_program(struct gpgpu_device *dev, char *spec, uint32_t kind,
				  struct gpgpu_program **prog);

#endif
