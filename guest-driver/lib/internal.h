/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal.h - what the files of libgpgpu share.
 *
 * device.c opens nodes and is the only one that calls ioctl(); buffer.c, map.c, program.c and job.c wrap one
 * kind of object each, map_read.c what is in ring buffers, args.c a kernel's arguments, share.c buffers that have one memory,
 * queue.c jobs by the order they have, notify.c the thread that tells of their end. object.c reads an ELF file with the help of elf.c (bytes and bounds), link.c (relocations
 * and subprograms) and kernel_args.c (BTF); none of these four knows a device until an object is loaded.
 */
#ifndef GPGPU_INTERNAL_H
#define GPGPU_INTERNAL_H

#include <elf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>

#include "gpgpu.h"
#include "uapi/drm/virtio_gpgpu_drm.h"

#define ARRAY_SIZE(a)	     (sizeof(a) / sizeof((a)[0]))

#define LOCAL_SECTION	     ".bss.gpgpu.local" /* GP_LOCAL of gpgpu_bpf.h */
#define MAX_OBJECT_SIZE	     (64u << 20) /* bytes of an ELF file */
#define MAX_LINKED_INSNS     65536 /* of one program with its subprograms; a device's limit is lower */
#define MAX_OBJECT_MAPS	     256
#define MAX_OBJECT_PROGRAMS  256
#define MAX_OBJECT_FUNCTIONS 65536 /* of all programs, each with its subprograms */
#define MAX_SYMBOLS	     65536
#define MAX_RELOCS	     65536 /* of all sections that are asked for */
#define MAX_SYMBOL_NAME	     1024
#define NUM_TIMELINES	     16 /* of a file */
#define QUEUE_TIMELINES	     4 /* of a queue out of order, at most */
#define MAX_WAITS	     64 /* fences that a job waits for */

struct gpgpu_device {
	int fd;
	int refs; /* atomic: the caller's one and one for each thing made from it */
	uint32_t num_cpus, map_types, max_insns, max_group; /* from the capabilities */
	char path[64];
	pthread_mutex_t lock; /* of what follows */
	uint32_t timeline_users[NUM_TIMELINES]; /* queues; timeline 0 is for jobs without one */
	struct shared_handle *shared; /* handles that more than one buffer may have */
	struct notifier *notifier; /* NULL: nobody waits to be called */
};

struct gpgpu_buffer {
	struct gpgpu_device *dev;
	uint64_t size, mmap_offset;
	uint32_t handle, memory;
	void *ptr; /* NULL until it is mapped */
	void *user; /* the application's memory that it is a copy of, or NULL */
	uint64_t user_size;
	struct mapped_range *ranges; /* of device memory */
};

struct gpgpu_queue {
	struct gpgpu_device *dev;
	uint32_t timelines[QUEUE_TIMELINES], num_timelines;
	uint32_t next; /* atomic: job */
};

struct gpgpu_map {
	struct gpgpu_device *dev; /* NULL: of an object that is not loaded */
	struct gpgpu_object *obj; /* or NULL */
	struct gpgpu_map_info info;
	char *name;
	uint32_t handle;
	/* of an object */
	void *data; /* global data's first value, info.value_size bytes */
	size_t section; /* that the global data is; 0: a map of BTF */
	bool wanted; /* used by a program that is to be loaded */
	struct gpgpu_map_info *inner; /* of a map of maps: what its values are, or NULL */
	struct gpgpu_value *values; /* that it is declared with */
	uint32_t num_values;
	/* gpgpu_map_read() */
	uint8_t *records; /* NULL until the first */
	size_t records_at, records_end; /* taken out of the device and not handed over */
	uint64_t dropped;
};

/* A program in a program array, a map in a map of maps, as the object has it. */
struct gpgpu_value {
	uint32_t index; /* key */
	uint32_t target; /* position of the program or map in the object */
};

struct gpgpu_arg_desc {
	char *name;
	uint32_t kind, size;
	bool is_number, is_signed, is_float;
};

struct linked_function { /* where a piece of a program came from */
	char *name;
	uint32_t section, start, count; /* in the program, instructions */
	uint64_t offset; /* in the section, bytes */
};

struct gpgpu_program {
	struct gpgpu_device *dev; /* NULL: not loaded */
	struct gpgpu_object *obj; /* or NULL */
	char *name, *section;
	uint32_t kind, handle, num_args, code_bytes;
	uint64_t compile_ns;
	struct gpgpu_arg_desc args[GPGPU_MAX_ARGS];
	struct bpf_insn *insns; /* of an object: linked, maps named by their index in obj->maps */
	uint32_t num_insns;
	struct linked_function *functions; /* of an object: sorted by start */
	uint32_t num_functions;
	bool has_groups; /* of a loaded kernel: its items share local memory or wait for each other */
	bool autoload;
	bool wanted; /* to be loaded, or in a program array of one that is */
};

struct gpgpu_object {
	char *name;
	struct gpgpu_map *maps;
	struct gpgpu_program *programs;
	uint32_t num_maps, num_programs;
	struct btf *btf; /* or NULL */
	struct source_line *lines; /* sorted; their names are the BTF's */
	uint32_t num_lines;
	char *formats; /* of printf(), print_format.h; NULL: none */
	size_t formats_size;
	bool loaded;
};

struct gpgpu_job {
	struct gpgpu_device *dev;
	int refs; /* atomic: the caller's, and one while it is to be told of the end */
	uint32_t handle;
	uint32_t fence; /* that its end signals, of a job in a queue; else 0 */
	const char *what; /* for messages */
};

/* error.c */

/* Notes why a call fails: nothing from the device. Return: @err (negative errno). */
int gpgpu_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Notes why an ioctl failed: err is its negative errno; what names the operation; message is what the device
 * said besides, or NULL. Return: err.
 */
int gpgpu_fail_device(int err, const char *what, const struct drm_virtio_gpgpu_result *result,
		      const char *message);

/* device.c */

/* Return: 0 or negative errno; notes nothing. */
int gpgpu_ioctl(const struct gpgpu_device *dev, unsigned long request, void *arg);
struct gpgpu_device *gpgpu_device_get(struct gpgpu_device *dev);

/*
 * The device's lock is held by whoever makes a handle that another buffer may have, or closes one, so that a handle that has been
 * closed is not another's meanwhile.
 */

/* share.c. Return: whether the handle goes now: nobody else has it. Called with the device's lock held. */
bool gpgpu_handle_drop(struct gpgpu_device *dev, uint32_t handle);

/* queue.c. Return: the timeline of a queue's next job. */
uint32_t gpgpu_queue_next(struct gpgpu_queue *queue);

/* job.c */
void gpgpu_job_put(struct gpgpu_job *job);

/* An empty job behind all of a timeline, which can be waited for as one in a queue. Return: 0 or a negative errno that was noted. */
int gpgpu_submit_marker(struct gpgpu_device *dev, uint32_t timeline, struct gpgpu_job **job);

/* Return: a point in time on the monotonic clock, @timeout_ns (0: at once, negative: never) from now. */
int64_t gpgpu_deadline(int64_t timeout_ns);

/* map.c, program.c: make and unmake the device's side only */
int gpgpu_map_attach(struct gpgpu_map *map, struct gpgpu_device *dev);
void gpgpu_map_detach(struct gpgpu_map *map);
int gpgpu_program_attach(struct gpgpu_program *prog, struct gpgpu_device *dev, const struct bpf_insn *insns,
			 uint32_t num_insns);
void gpgpu_program_detach(struct gpgpu_program *prog);

/* elf.c */

struct elf_section {
	const char *name; /* NUL terminated, in the file */
	const uint8_t *data; /* NULL for NOBITS */
	uint64_t size, flags;
	uint32_t type, link, info;
	uint32_t first_rel; /* index of the last section with relocations of this one; 0: none */
	uint32_t next_rel; /* of such a section: the one before it */
	bool relocs_read;
	struct elf_reloc *relocs; /* sorted; once they have been asked for */
	size_t num_relocs;
};

struct elf_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t type, bind;
	uint16_t shndx;
	int map; /* what link.c found it to mean: 1 + index of a map; 0: not known */
};

struct elf_reloc {
	uint64_t offset; /* of the instruction in its section, bytes */
	uint32_t symbol, type;
};

struct elf_file {
	uint8_t *bytes;
	size_t size;
	const char *name; /* for messages */
	struct elf_section *sections;
	size_t num_sections;
	struct elf_symbol *symbols;
	size_t num_symbols;
	uint32_t *funcs; /* symbols of functions, by section and value */
	size_t num_funcs;
	size_t num_relocs; /* read so far */
};

/*
 * elf_parse() - check an ELF file and find its sections and symbols
 * @elf: bytes, size and name are set; the rest is filled and freed by elf_free()
 *
 * Every offset, size, index and string of the result lies within the file.
 *
 * Return: 0 or a negative errno that was noted.
 */
int elf_parse(struct elf_file *elf);
void elf_free(struct elf_file *elf);
const struct elf_section *elf_find(const struct elf_file *elf, const char *name);

/*
 * elf_relocs() - the relocations that apply to one section
 * @elf: parsed file
 * @section: its index
 * @relocs: out: sorted by offset, the file's; symbols are valid indices
 * @count: out
 *
 * Return: 0 or a negative errno that was noted.
 */
int elf_relocs(struct elf_file *elf, size_t section, const struct elf_reloc **relocs, size_t *count);

/* Return: symbol of the function that starts at byte @offset of a section, or -1. */
long elf_function_at(const struct elf_file *elf, size_t section, uint64_t offset);

static inline bool elf_is_code(const struct elf_section *s)
{
	return s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR);
}

/* link.c */

/*
 * gpgpu_link() - put together a program and the subprograms that it calls
 * @elf: parsed file
 * @obj: its maps, which references are resolved to
 * @symbol: index of the program's symbol
 * @prog: out: insns, num_insns
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_link(struct elf_file *elf, const struct gpgpu_object *obj, size_t symbol,
	       struct gpgpu_program *prog);

/* kernel_args.c */

struct btf;

/*
 * gpgpu_kernel_args() - what arguments a kernel takes
 * @btf: type information of the object, or NULL
 * @prog: a kernel; out: num_args, args
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_kernel_args(const struct btf *btf, struct gpgpu_program *prog);

/* btf_ext.c */

enum gpgpu_ext_part { EXT_LINES, EXT_CORE };

/*
 * One code section's records of a part.
 * @section: offset of its name in the BTF's strings, as the file has it
 * @records: @count of @size bytes each, within the file
 *
 * Return: 0, or a negative errno that was noted, which ends the reading.
 */
typedef int gpgpu_ext_fn(void *opaque, uint32_t section, const uint8_t *records, uint32_t count,
			 uint32_t size);

/*
 * gpgpu_ext_each() - call @fn for each code section in a part of .BTF.ext
 * @elf: parsed file
 * @record_size: bytes that a record has at least
 *
 * Return: 0, also where there is no such part; what @fn returned; -EINVAL, noted: damaged.
 */
int gpgpu_ext_each(const struct elf_file *elf, enum gpgpu_ext_part part, uint32_t record_size,
		   gpgpu_ext_fn *fn, void *opaque);

/* gpgpu_ext_damaged() - note that .BTF.ext is damaged. Return: -EINVAL. */
int gpgpu_ext_damaged(const struct elf_file *elf);

/* source.c */

/*
 * gpgpu_read_lines() - read which instruction came from which line of the source
 * @elf: parsed file
 * @btf: its type information, or NULL
 * @obj: out: lines, num_lines
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_read_lines(const struct elf_file *elf, struct btf *btf, struct gpgpu_object *obj);

/* print.c */

/*
 * gpgpu_read_formats() - read and check the formats of printf()
 * @elf: parsed file
 * @obj: out: formats, formats_size
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_read_formats(const struct elf_file *elf, struct gpgpu_object *obj);

/* map_values.c */

/*
 * gpgpu_map_values() - what program arrays and maps of maps are declared with (`.values`)
 * @elf: parsed file
 * @btf: its type information, or NULL
 * @obj: its maps and programs; out: values of its maps
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_map_values(struct elf_file *elf, const struct btf *btf, struct gpgpu_object *obj);

/* core_relocs.c */

/*
 * gpgpu_check_core_relocs() - refuse what only a kernel's BTF could resolve
 * @elf: parsed file
 * @btf: its type information, or NULL
 *
 * Return: 0 or a negative errno that was noted.
 */
int gpgpu_check_core_relocs(const struct elf_file *elf, const struct btf *btf);

#endif
