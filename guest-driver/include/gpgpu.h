/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpgpu.h - libgpgpu: compute and packet work on a virtio GPGPU device.
 *
 * How it works: a device is a node /dev/accel/accelN; opening it makes a context of its own. Buffers hold data,
 * maps are BPF maps on the device, programs are BPF instructions that the host compiles, jobs are what runs. A
 * struct gpgpu_object reads what clang wrote (an ELF file) and makes the maps and programs in it. Everything a
 * job touches stays alive on the device until the job has ended, whatever is destroyed meanwhile.
 *
 * Errors: calls that can fail return 0 (or a count) or a negative errno; gpgpu_error_message() then has one line
 * for a person, and gpgpu_error_result() what the device said, both of the calling thread's last failure.
 *
 * Threads: one struct gpgpu_device may be used by many threads at once; every other structure by one at a time.
 * A device is closed once the last thing made from it is gone, so the order of destruction does not matter.
 * The child of a fork() uses nothing that was made before it: handles and the thread that calls back are its parent's.
 */
#ifndef GPGPU_H
#define GPGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bpf_insn;
struct gpgpu_device;
struct gpgpu_buffer;
struct gpgpu_map;
struct gpgpu_program;
struct gpgpu_object;
struct gpgpu_job;
struct gpgpu_queue;

/* -------------------------------------------------------------------- errors */

/* What the device answered; the numbers are those of the device's specification. */
struct gpgpu_result {
	uint32_t status;		/* 0: fine, or the device was not asked */
	uint32_t reason;
	uint64_t detail;
};

/**
 * gpgpu_error_message() - why the calling thread's last failing call failed
 *
 * Return: one line without a newline, never NULL; valid until the thread's next failing call.
 */
const char *gpgpu_error_message(void);

/**
 * gpgpu_error_result() - what the device answered to the calling thread's last failing call
 * @result: out: status, reason and detail; all zero if the failure did not come from the device
 */
void gpgpu_error_result(struct gpgpu_result *result);

/**
 * gpgpu_status_name() - a device status in words
 * @status: status as in struct gpgpu_result
 *
 * Return: a constant string, "unknown status" for a number this library does not know.
 */
const char *gpgpu_status_name(uint32_t status);

/**
 * gpgpu_reason_name() - a device's reason in words
 * @reason: reason as in struct gpgpu_result, or the fault of a packet
 *
 * Return: a constant string, "unknown reason" for a number this library does not know.
 */
const char *gpgpu_reason_name(uint32_t reason);

/* ------------------------------------------------------------------- devices */

struct gpgpu_device_info {
	char path[64];			/* "/dev/accel/accel0" */
	char driver[32];
	uint32_t version_major, version_minor;
	bool accessible;		/* the caller may open it; driver and version are only known if so */
};

struct gpgpu_caps {
	uint32_t version;
	uint32_t generation;		/* grows when the device was lost */
	char device_name[65];
	char target[33];		/* what the host compiles for: "x86_64", "gfx1100" */
	uint64_t memory_limit;		/* bytes that maps, device buffers and programs may take */
	uint64_t shm_size;		/* bytes of the region that mappable buffers come from */
	uint64_t max_buffer, max_map;	/* bytes */
	uint32_t max_contexts, max_buffers, max_maps, max_programs, max_jobs;
	uint32_t max_insns;		/* of one program */
	uint32_t max_batch;		/* packets of one job */
	uint32_t max_stride;		/* bytes of a packet's slot */
	uint32_t max_group;		/* work items of a group */
	uint32_t num_cpus;		/* copies of a value in a per-CPU map */
	uint32_t map_types;		/* bit per BPF map type */
	uint32_t prog_kinds;		/* bit per GPGPU_PROGRAM_* */
	uint64_t fuel;			/* back edges and calls of one work item or packet */
	uint32_t slice_us;
};

struct gpgpu_stats {
	uint64_t device_ns, waited_ns, throttled_ns;
	uint64_t jobs, packets, bytes;
	uint64_t verdicts[5];		/* XDP_ABORTED .. XDP_REDIRECT */
	uint64_t faults;
	uint64_t memory, memory_max, memory_limit;
	uint32_t weight;		/* 1..10000, 100 unless set */
	uint32_t cap;			/* 1/10000 of the device; 10000: none */
};

/**
 * gpgpu_enumerate() - find the GPGPU devices of this machine
 * @infos: out: up to @max devices, in the order of their numbers
 * @max: room in @infos
 *
 * A node that the caller may not open is listed with accessible false if the system says that it is ours.
 *
 * Return: number of devices there are, which may exceed @max; negative errno.
 */
int gpgpu_enumerate(struct gpgpu_device_info *infos, int max);

/**
 * gpgpu_open() - open a device
 * @path: node, or NULL for the first that the caller may use
 * @dev: out
 *
 * Return: 0; -ENODEV: no such device, or not one of ours; -EACCES: the caller is not in the node's group.
 */
int gpgpu_open(const char *path, struct gpgpu_device **dev);

/**
 * gpgpu_close() - close a device
 * @dev: device, or NULL
 *
 * The node is closed when the last buffer, map, program and job of @dev is gone as well.
 */
void gpgpu_close(struct gpgpu_device *dev);

/**
 * gpgpu_device_fd() - the open node, for poll, PRIME or ioctls of one's own
 * @dev: device
 *
 * Return: a file descriptor that stays the library's.
 */
int gpgpu_device_fd(const struct gpgpu_device *dev);

/**
 * gpgpu_device_path() - the path that a device was opened by
 * @dev: device
 *
 * Return: the path, valid as long as @dev.
 */
const char *gpgpu_device_path(const struct gpgpu_device *dev);

/**
 * gpgpu_get_caps() - what a device offers and its limits
 * @dev: device
 * @caps: out; what an older device does not tell is 0
 *
 * Return: 0 or negative errno.
 */
int gpgpu_get_caps(struct gpgpu_device *dev, struct gpgpu_caps *caps);

/**
 * gpgpu_get_stats() - what a device has done since it was plugged
 * @dev: device
 * @stats: out; times in nanoseconds, sizes in bytes
 *
 * Return: 0 or negative errno.
 */
int gpgpu_get_stats(struct gpgpu_device *dev, struct gpgpu_stats *stats);

/* ------------------------------------------------------------------- buffers */

#define GPGPU_BUFFER_SHARED	1	/* can be mapped; in the region shared with the host */
#define GPGPU_BUFFER_DEVICE	2	/* device memory, reached by gpgpu_copy() and programs only */

/**
 * gpgpu_buffer_create() - make a buffer
 * @dev: device
 * @size: bytes, not 0; rounded up to pages
 * @memory: GPGPU_BUFFER_SHARED or GPGPU_BUFFER_DEVICE
 * @buf: out; holds zeros
 *
 * Return: 0; -ENOMEM: over the memory limit; other negative errno.
 */
int gpgpu_buffer_create(struct gpgpu_device *dev, uint64_t size, uint32_t memory, struct gpgpu_buffer **buf);

/**
 * gpgpu_buffer_create_user() - make a buffer of an application's own memory
 * @dev: device
 * @memory: where it is; stays the application's and has to be there as long as the buffer
 * @size: bytes, not 0
 * @buf: out; the device sees the memory as gpgpu_buffer_sync() leaves it
 *
 * Where the device can reach the memory in place there is nothing to copy; today no device can, and the buffer is a copy. Programs
 * that call gpgpu_buffer_sync() where it is due need not know.
 *
 * Return: 0; -ENOMEM: over the memory limit; other negative errno.
 */
int gpgpu_buffer_create_user(struct gpgpu_device *dev, void *memory, uint64_t size, struct gpgpu_buffer **buf);

#define GPGPU_TO_DEVICE		1	/* jobs that are submitted from now on see what the application wrote */
#define GPGPU_FROM_DEVICE	2	/* the application sees what jobs wrote that it has waited for */

/**
 * gpgpu_buffer_sync() - bring an application's memory and its buffer together
 * @buf: buffer of gpgpu_buffer_create_user()
 * @offset: bytes from its start
 * @size: bytes; what lies outside the range is left as it is on both sides
 * @direction: GPGPU_TO_DEVICE or GPGPU_FROM_DEVICE
 *
 * No job may be using the range meanwhile.
 *
 * Return: 0; -EINVAL: not such a buffer, or the range is not within the memory.
 */
int gpgpu_buffer_sync(struct gpgpu_buffer *buf, uint64_t offset, uint64_t size, uint32_t direction);

/**
 * gpgpu_buffer_map() - reach a shared buffer's bytes
 * @buf: buffer of GPGPU_BUFFER_SHARED
 * @ptr: out: address, the same each time, valid until the buffer is destroyed
 *
 * A job sees what was written before it was submitted; a caller sees what a job wrote once it has waited for it.
 *
 * Return: 0; -EINVAL: device memory has no address.
 */
int gpgpu_buffer_map(struct gpgpu_buffer *buf, void **ptr);

#define GPGPU_ACCESS_READ	1	/* the caller wants to see what is there */
#define GPGPU_ACCESS_WRITE	2	/* what the caller leaves there is to be kept */

/**
 * gpgpu_buffer_map_range() - reach a part of any buffer's bytes
 * @buf: buffer of either kind of memory
 * @offset: bytes from its start
 * @size: bytes, not 0
 * @access: GPGPU_ACCESS_READ, GPGPU_ACCESS_WRITE or both
 * @ptr: out: address of the first of them, valid until gpgpu_buffer_unmap()
 *
 * Of a shared buffer these are its bytes themselves. Of device memory it is a copy, made by jobs on timeline 0: what is mapped for
 * reading is copied out here, what is mapped for writing is copied back by gpgpu_buffer_unmap(), the whole range, with zeros where
 * a range that was not mapped for reading was not written.
 *
 * Return: 0; -EINVAL: the range is not within the buffer; other negative errno.
 */
int gpgpu_buffer_map_range(struct gpgpu_buffer *buf, uint64_t offset, uint64_t size, uint32_t access, void **ptr);

/**
 * gpgpu_buffer_unmap() - end a mapping of gpgpu_buffer_map_range()
 * @buf: buffer
 * @ptr: what that call gave
 *
 * Ranges that are still mapped when a buffer is destroyed are not copied back.
 *
 * Return: 0; -EINVAL: @ptr is no such address; other negative errno: the range was not copied back, and is gone.
 */
int gpgpu_buffer_unmap(struct gpgpu_buffer *buf, void *ptr);

/**
 * gpgpu_buffer_export() - a buffer as a dma-buf
 * @buf: buffer
 * @fd: out: a file descriptor that is the caller's, for other processes and drivers
 *
 * What is in the shared region can be mapped through the descriptor as well. Other drivers cannot use the memory in place: it is
 * the host's.
 *
 * Return: 0 or negative errno.
 */
int gpgpu_buffer_export(struct gpgpu_buffer *buf, int *fd);

/**
 * gpgpu_buffer_import() - use a dma-buf as a buffer
 * @dev: device
 * @fd: what gpgpu_buffer_export() gave, here or in another process, for the same device
 * @buf: out: the same bytes
 *
 * The memory lives as long as one of its buffers or descriptors.
 *
 * Return: 0; -EOPNOTSUPP: the memory is another driver's or another device's; other negative errno.
 */
int gpgpu_buffer_import(struct gpgpu_device *dev, int fd, struct gpgpu_buffer **buf);

/**
 * gpgpu_buffer_size() - bytes of a buffer
 * @buf: buffer
 *
 * Return: the size after rounding up.
 */
uint64_t gpgpu_buffer_size(const struct gpgpu_buffer *buf);

/**
 * gpgpu_buffer_handle() - GEM handle of a buffer, for PRIME or ioctls of one's own
 * @buf: buffer
 *
 * Return: the handle, valid on gpgpu_device_fd().
 */
uint32_t gpgpu_buffer_handle(const struct gpgpu_buffer *buf);

/**
 * gpgpu_buffer_destroy() - let go of a buffer
 * @buf: buffer, or NULL; unmapped if it was mapped
 */
void gpgpu_buffer_destroy(struct gpgpu_buffer *buf);

/* ---------------------------------------------------------------------- maps */

#define GPGPU_MAP_RDONLY_PROG	1	/* programs may not write */

struct gpgpu_map_info {
	char name[16];			/* NUL terminated */
	uint32_t type;			/* BPF_MAP_TYPE_* */
	uint32_t key_size, value_size;	/* bytes */
	uint32_t max_entries;
	uint32_t flags;			/* GPGPU_MAP_* */
	const struct gpgpu_map *inner;	/* of a map of maps: a map of the shape that its values have; else NULL */
};

#define GPGPU_MAP_TYPE_FIB	31	/* routes that bpf_fib_lookup() answers from; no kernel has such maps */

/**
 * gpgpu_map_create() - make a map on the device
 * @dev: device
 * @info: what it is to be
 * @map: out
 *
 * Return: 0; -EOPNOTSUPP: the device does not offer the type; other negative errno.
 */
int gpgpu_map_create(struct gpgpu_device *dev, const struct gpgpu_map_info *info, struct gpgpu_map **map);

/**
 * gpgpu_map_get_info() - what a map is
 * @map: map, of a loaded object or not
 * @info: out
 */
void gpgpu_map_get_info(const struct gpgpu_map *map, struct gpgpu_map_info *info);

/**
 * gpgpu_map_name() - a map's whole name
 * @map: map
 *
 * Return: the name in its object file, ".rodata" and the like for global data; valid as long as @map.
 */
const char *gpgpu_map_name(const struct gpgpu_map *map);

/**
 * gpgpu_map_initial_value() - the global data that an object brings for a map
 * @map: map of an object, before it is loaded
 * @size: out: bytes
 *
 * Return: bytes that may be changed before gpgpu_object_load(), or NULL for a map without global data.
 */
void *gpgpu_map_initial_value(struct gpgpu_map *map, size_t *size);

/**
 * gpgpu_map_set_max_entries() - how many entries a map of an object is to have
 * @map: map of an object, before it is loaded; some objects leave this to their loaders
 * @max_entries: instead of what the object says
 *
 * Return: 0; -EBUSY: the map is there already.
 */
int gpgpu_map_set_max_entries(struct gpgpu_map *map, uint32_t max_entries);

/**
 * gpgpu_map_inner() - what the values of an object's map of maps are
 * @map: map of an object
 * @info: out: their shape
 *
 * Return: 0; -ENOENT: @map is no map of maps.
 */
int gpgpu_map_inner(const struct gpgpu_map *map, struct gpgpu_map_info *info);

struct gpgpu_declared {
	uint32_t key;
	struct gpgpu_map *map;		/* of a map of maps, else NULL */
	struct gpgpu_program *program;	/* of a program array, else NULL */
};

/**
 * gpgpu_map_declared() - walk over what an object's map is declared with (`.values`)
 * @map: map of an object
 * @index: from 0
 * @value: out
 *
 * Return: 0; -ENOENT: there are not so many.
 */
int gpgpu_map_declared(const struct gpgpu_map *map, uint32_t index, struct gpgpu_declared *value);

/**
 * gpgpu_map_value_bytes() - bytes that a value takes in look-ups and updates
 * @map: map on a device
 *
 * A value of a program array or of a map of maps is written as a handle (gpgpu_program_handle(),
 * gpgpu_map_handle()) and read as the device's number of it, or 0 if it has been destroyed.
 *
 * Return: value_size; for per-CPU maps, value_size rounded up to 8 times the device's num_cpus.
 */
size_t gpgpu_map_value_bytes(const struct gpgpu_map *map);

/**
 * gpgpu_map_lookup() - read a value
 * @map: map on a device
 * @key: key_size bytes; NULL for maps without keys
 * @value: out: gpgpu_map_value_bytes(); of a queue or stack: what a pop would give; in: of a Bloom filter: is it there?
 * @size: bytes at @value, at least that many
 *
 * Return: 0; -ENOENT: no such key; other negative errno.
 */
int gpgpu_map_lookup(struct gpgpu_map *map, const void *key, void *value, size_t size);

/**
 * gpgpu_map_update() - write a value
 * @map: map on a device
 * @key: key_size bytes
 * @value: gpgpu_map_value_bytes()
 * @size: bytes at @value, exactly that many
 * @flags: BPF_ANY, BPF_NOEXIST or BPF_EXIST
 *
 * Return: 0; -EEXIST, -ENOENT: as @flags asked; -E2BIG: full; -EACCES: frozen; other negative errno.
 */
int gpgpu_map_update(struct gpgpu_map *map, const void *key, const void *value, size_t size, uint32_t flags);

/**
 * gpgpu_map_delete() - remove a key
 * @map: map on a device
 * @key: key_size bytes
 *
 * Return: 0; -ENOENT: no such key; other negative errno (elements of arrays cannot be removed).
 */
int gpgpu_map_delete(struct gpgpu_map *map, const void *key);

/**
 * gpgpu_map_next_key() - walk over a map's keys
 * @map: map on a device
 * @key: key to go on from, or NULL for the first
 * @next: out: key_size bytes; may be @key
 *
 * Return: 0; -ENOENT: no more; other negative errno.
 */
int gpgpu_map_next_key(struct gpgpu_map *map, const void *key, void *next);

/**
 * gpgpu_map_pop() - read a value and remove it
 * @map: a queue, a stack, or a hash map, on a device
 * @key: key_size bytes; NULL for a queue or stack
 * @value: out: gpgpu_map_value_bytes()
 * @size: bytes at @value, at least that many
 *
 * Return: 0; -ENOENT: empty, or no such key; other negative errno.
 */
int gpgpu_map_pop(struct gpgpu_map *map, const void *key, void *value, size_t size);

/**
 * gpgpu_map_entry_bytes() - bytes that an entry takes in gpgpu_map_dump() and gpgpu_map_load()
 * @map: map on a device
 *
 * An entry is its key, padded to 8, and its value, padded to 8.
 *
 * Return: both together.
 */
size_t gpgpu_map_entry_bytes(const struct gpgpu_map *map);

/**
 * gpgpu_map_dump() - read many entries at once
 * @map: map on a device
 * @key: key to go on from, or NULL for the first
 * @entries: out: gpgpu_map_entry_bytes() each
 * @count: room in @entries; out: entries read, at least 1
 *
 * Return: 0; -ENOENT: no more; other negative errno.
 */
int gpgpu_map_dump(struct gpgpu_map *map, const void *key, void *entries, uint32_t *count);

/**
 * gpgpu_map_load() - write many entries at once
 * @map: map on a device
 * @entries: gpgpu_map_entry_bytes() each; padding is zero
 * @count: entries; out: entries written
 * @flags: BPF_ANY, BPF_NOEXIST or BPF_EXIST
 *
 * Return: 0: all of them; as gpgpu_map_update() does for the first that was not written.
 */
int gpgpu_map_load(struct gpgpu_map *map, const void *entries, uint32_t *count, uint32_t flags);

typedef int (*gpgpu_record_fn)(void *opaque, uint32_t cpu, const void *data, size_t size);

/**
 * gpgpu_map_read() - take records out of a ring buffer or perf event array
 * @map: map on a device
 * @record: called for each, oldest first; a value other than 0 ends the call, the rest comes with the next
 * @opaque: passed on
 * @timeout_ns: how long to wait for the first: nanoseconds; 0: not at all, negative: no limit
 *
 * Only one thread may read a map. The descriptor of gpgpu_device_fd() polls as readable while there may be records.
 *
 * Return: records handed over, 0 if none came in time; what @record returned if negative; other negative errno.
 */
int gpgpu_map_read(struct gpgpu_map *map, gpgpu_record_fn record, void *opaque, int64_t timeout_ns);

/**
 * gpgpu_map_dropped() - records that found no room
 * @map: map that gpgpu_map_read() has been called on
 *
 * Return: how many since the map was made, as of the last read from the device.
 */
uint64_t gpgpu_map_dropped(const struct gpgpu_map *map);

/**
 * gpgpu_map_freeze() - refuse further updates from this side
 * @map: map on a device
 *
 * Return: 0 or negative errno.
 */
int gpgpu_map_freeze(struct gpgpu_map *map);

/**
 * gpgpu_map_handle() - handle of a map, as instructions name it
 * @map: map
 *
 * Return: the handle; 0 while the map's object has not been loaded.
 */
uint32_t gpgpu_map_handle(const struct gpgpu_map *map);

/**
 * gpgpu_map_destroy() - let go of a map that gpgpu_map_create() made
 * @map: map, or NULL; maps of an object go with gpgpu_object_close()
 */
void gpgpu_map_destroy(struct gpgpu_map *map);

/* ------------------------------------------------------------------ programs */

#define GPGPU_PROGRAM_XDP	1
#define GPGPU_PROGRAM_KERNEL	2

#define GPGPU_ARG_VALUE		1
#define GPGPU_ARG_BUFFER	2
#define GPGPU_ARG_BUFFER_RO	3
#define GPGPU_MAX_ARGS		16

struct gpgpu_program_desc {
	const char *name;
	uint32_t kind;			/* GPGPU_PROGRAM_* */
	const struct bpf_insn *insns;	/* ld_imm64 with src_reg 1 or 2: gpgpu_map_handle() in the first imm */
	uint32_t num_insns;
	uint32_t num_args;		/* kernels only */
	uint8_t arg_kind[GPGPU_MAX_ARGS];	/* GPGPU_ARG_* */
};

struct gpgpu_program_info {
	const char *name, *section;	/* section: "" without an object; valid as long as the program */
	uint32_t kind;			/* GPGPU_PROGRAM_* */
	uint32_t num_insns;
	uint32_t num_args;
	bool loaded;
	uint64_t compile_ns;		/* 0 until it is loaded */
	uint32_t code_bytes;		/* of the host's code; 0 until it is loaded */
};

struct gpgpu_arg_info {
	const char *name;		/* member of the kernel's argument structure; "" if not known */
	uint32_t kind;			/* GPGPU_ARG_* */
	uint32_t size;			/* bytes of a value, 1..8; of what a pointer points to, 0: not known */
	bool is_number;			/* a value, or a buffer of numbers: what follows is known */
	bool is_signed, is_float;	/* is_float: of 4 or 8 bytes; a value is given as its bits */
};

struct gpgpu_source {
	const char *file, *text;	/* file name, and the line itself; NULL: not known */
	uint32_t line, column;		/* from 1; 0: not known */
	const char *function;		/* that the instruction belongs to */
	size_t function_start;		/* its first instruction in the program */
};

/**
 * gpgpu_program_create() - compile instructions on the device
 * @dev: device
 * @desc: the program
 * @prog: out
 *
 * Return: 0; -EINVAL: refused, gpgpu_error_message() says at which instruction and why; other negative errno.
 */
int gpgpu_program_create(struct gpgpu_device *dev, const struct gpgpu_program_desc *desc,
			 struct gpgpu_program **prog);

/**
 * gpgpu_program_get_info() - what a program is
 * @prog: program, loaded or not
 * @info: out
 */
void gpgpu_program_get_info(const struct gpgpu_program *prog, struct gpgpu_program_info *info);

/**
 * gpgpu_program_arg() - what one argument of a kernel is
 * @prog: program
 * @index: position, from 0
 * @info: out
 *
 * Return: 0; -EINVAL: no such argument.
 */
int gpgpu_program_arg(const struct gpgpu_program *prog, uint32_t index, struct gpgpu_arg_info *info);

/**
 * gpgpu_program_arg_index() - position of an argument
 * @prog: program of an object
 * @name: member of the kernel's argument structure
 *
 * Return: the position, from 0; -ENOENT: no such argument.
 */
int gpgpu_program_arg_index(const struct gpgpu_program *prog, const char *name);

/**
 * gpgpu_program_insns() - a program's instructions
 * @prog: program of an object
 * @count: out: instructions; ld_imm64 counts two
 *
 * Subprograms follow the program itself. References to maps hold the map's position in the object until the
 * object is loaded.
 *
 * Return: the instructions, valid as long as @prog; NULL for a program without an object.
 */
const struct bpf_insn *gpgpu_program_insns(const struct gpgpu_program *prog, size_t *count);

/**
 * gpgpu_program_source() - where in the source an instruction comes from
 * @prog: program of an object
 * @insn: position as in gpgpu_program_insns()
 * @source: out; strings are valid as long as @prog
 *
 * Return: 0; -ENOENT: the object was compiled without -g: only the function is known; -EINVAL: no such
 * instruction.
 */
int gpgpu_program_source(const struct gpgpu_program *prog, size_t insn, struct gpgpu_source *source);

/**
 * gpgpu_program_set_autoload() - choose whether gpgpu_object_load() compiles a program
 * @prog: program of an object that is not loaded
 * @autoload: true unless set
 */
void gpgpu_program_set_autoload(struct gpgpu_program *prog, bool autoload);

/**
 * gpgpu_program_handle() - handle of a program, as program arrays take it
 * @prog: program
 *
 * Return: the handle; 0 while it is not loaded.
 */
uint32_t gpgpu_program_handle(const struct gpgpu_program *prog);

/**
 * gpgpu_program_destroy() - let go of a program that gpgpu_program_create() made
 * @prog: program, or NULL; programs of an object go with gpgpu_object_close()
 */
void gpgpu_program_destroy(struct gpgpu_program *prog);

/* ------------------------------------------------------------------- objects */

/**
 * gpgpu_object_open() - read what clang -target bpf wrote
 * @path: ELF file
 * @obj: out
 *
 * Functions in sections "xdp" and "xdp..." are XDP programs, those in "gpgpu" and "gpgpu/..." are compute
 * kernels. Maps are those of BTF (section ".maps") and global data. Nothing reaches a device yet.
 *
 * Return: 0; -EINVAL: not such a file, or one that cannot work on a device; other negative errno.
 */
int gpgpu_object_open(const char *path, struct gpgpu_object **obj);

/**
 * gpgpu_object_open_memory() - gpgpu_object_open() on bytes in memory
 * @data: the file's bytes; copied
 * @size: how many
 * @name: for messages
 * @obj: out
 *
 * Return: as gpgpu_object_open().
 */
int gpgpu_object_open_memory(const void *data, size_t size, const char *name, struct gpgpu_object **obj);

/**
 * gpgpu_object_load() - make an object's maps and programs on a device
 * @obj: object
 * @dev: device
 *
 * Only maps that a program to be loaded uses are made, and besides the programs that are to be loaded those that
 * such a map is declared with. What was made is taken back when something fails.
 *
 * Return: 0; -EBUSY: loaded already; other negative errno.
 */
int gpgpu_object_load(struct gpgpu_object *obj, struct gpgpu_device *dev);

/**
 * gpgpu_object_program() - find a program by name
 * @obj: object
 * @name: function name, or NULL for the only one
 *
 * Return: the program, or NULL: there is none, or @name is NULL and there are several.
 */
struct gpgpu_program *gpgpu_object_program(struct gpgpu_object *obj, const char *name);

/**
 * gpgpu_object_next_program() - walk over an object's programs
 * @obj: object
 * @prev: program to go on from, or NULL for the first
 *
 * Return: the next program, or NULL.
 */
struct gpgpu_program *gpgpu_object_next_program(struct gpgpu_object *obj, struct gpgpu_program *prev);

/**
 * gpgpu_object_map() - find a map by name
 * @obj: object
 * @name: variable name, or the section (".rodata", ".data", ".bss") of global data
 *
 * Return: the map, or NULL.
 */
struct gpgpu_map *gpgpu_object_map(struct gpgpu_object *obj, const char *name);

/**
 * gpgpu_object_next_map() - walk over an object's maps
 * @obj: object
 * @prev: map to go on from, or NULL for the first
 *
 * Return: the next map, or NULL.
 */
struct gpgpu_map *gpgpu_object_next_map(struct gpgpu_object *obj, struct gpgpu_map *prev);

#define GPGPU_LINE_BYTES	1024	/* of a line with its NUL; what is longer is cut */

/*
 * @item: global id of the work item that printed it
 * @text: what it printed, with its newlines
 */
typedef int (*gpgpu_line_fn)(void *opaque, const uint32_t item[3], const char *text);

/**
 * gpgpu_object_lines() - take out what kernels have printed by printf()
 * @obj: loaded object
 * @line: called for each, oldest first; a value other than 0 ends the call, the rest comes with the next
 * @opaque: passed on
 * @timeout_ns: how long to wait for the first: nanoseconds; 0: not at all, negative: no limit
 *
 * An object keeps what fits into its buffer (64 KiB unless GP_PRINTF_BYTES says otherwise) until it is taken; the rest is dropped and
 * counted. Only one thread may take lines of an object. Their order between work items means nothing.
 *
 * Return: lines handed over, 0 if none came in time or nothing in the object prints; what @line returned if negative; other negative
 * errno.
 */
int gpgpu_object_lines(struct gpgpu_object *obj, gpgpu_line_fn line, void *opaque, int64_t timeout_ns);

/**
 * gpgpu_object_lines_dropped() - lines that found no room
 * @obj: object that gpgpu_object_lines() has been called on
 *
 * Return: how many since it was loaded, as of the last time that lines were taken.
 */
uint64_t gpgpu_object_lines_dropped(const struct gpgpu_object *obj);

/**
 * gpgpu_print_decode() - make the text of one record in the ring buffer "gpgpu_printf", for who reads that by other means
 * @obj: object that it is of, loaded or not
 * @record: what the ring buffer had
 * @size: bytes of it
 * @item: out: global id of the work item
 * @text: out: @room bytes at most, NUL terminated if that is not 0
 * @room: bytes
 *
 * Return: bytes that the whole text has, as snprintf(); -EPROTO: not such a record.
 */
int gpgpu_print_decode(const struct gpgpu_object *obj, const void *record, size_t size, uint32_t item[3], char *text,
		       size_t room);

/**
 * gpgpu_object_close() - let go of an object with its programs and maps
 * @obj: object, or NULL
 */
void gpgpu_object_close(struct gpgpu_object *obj);

/* ---------------------------------------------------------------------- jobs */

/* Where and after what a job runs; NULL and zeros: timeline 0, queue 0, at once. What is not named has to be zero. */
struct gpgpu_submit {
	uint32_t timeline;		/* 0..15; jobs on one timeline run in order */
	uint32_t queue;			/* virtqueue of the job's kind, modulo their number */
	const uint32_t *wait;		/* fences (gpgpu_fence_create()) that must have signalled */
	uint32_t num_wait;
	uint32_t signal;		/* fence that the job's end signals, or 0; of a job in a queue 0 */
	struct gpgpu_queue *in;		/* queue (gpgpu_queue_create()) that says the timeline, or NULL */
	struct gpgpu_job *const *after;	/* jobs, submitted in queues, that must have ended */
	uint32_t num_after;		/* up to 64 together with num_wait */
};

struct gpgpu_arg {
	uint32_t kind;			/* GPGPU_ARG_* */
	struct gpgpu_buffer *buffer;	/* or NULL for a value */
	uint64_t value;			/* value, or byte offset in the buffer, a multiple of 8 */
	uint64_t size;			/* bytes of the range; 0: to the buffer's end */
};

#define GPGPU_PACKETS_ORDER_FLOW	1	/* packets of one flow in order */
#define GPGPU_PACKETS_ORDER_ALL		2	/* all packets in order */

struct gpgpu_packet {
	uint32_t data_off;		/* where the packet starts in its slot: the headroom */
	uint32_t data_len;		/* bytes */
	uint16_t meta_len;		/* metadata before the packet; multiple of 4 */
	uint16_t rx_queue;
	uint32_t ingress_port;
};

struct gpgpu_packet_result {
	uint32_t verdict;		/* XDP_ABORTED .. XDP_REDIRECT */
	uint32_t egress_port;
	uint32_t data_off, data_len;	/* where the packet is now in its slot */
	uint16_t meta_len;
	uint16_t fault;			/* 0 or a reason, see gpgpu_reason_name() */
	uint32_t fault_insn;
};

struct gpgpu_job_result {
	struct gpgpu_result result;
	uint64_t device_ns, queued_ns;
	uint64_t fault_count;		/* work items or packets that faulted */
	uint32_t fault_insn;		/* instruction of the first fault */
	uint32_t slices;
	uint64_t verdicts[5];		/* packets per verdict */
	uint64_t bytes;			/* of packets that came in */
};

/* When a job was where: nanoseconds of CLOCK_MONOTONIC. */
struct gpgpu_job_times {
	uint64_t queued;		/* the driver took it */
	uint64_t submitted;		/* it was sent to the device: what it waited for had ended; 0: it never was */
	uint64_t started;		/* on the device */
	uint64_t ended;
};

/**
 * gpgpu_arg_set() - give a kernel's argument a value by position
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @index: position, from 0
 * @value: a number of the argument's type
 * @size: bytes of it, exactly those of the argument's type
 *
 * Return: 0; -EINVAL: no such argument, a buffer, or of another size.
 */
int gpgpu_arg_set(const struct gpgpu_program *prog, struct gpgpu_arg *args, uint32_t index, const void *value,
		  size_t size);

/**
 * gpgpu_arg_set_int() - give a kernel's argument an integer by name
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @name: member of the kernel's argument structure
 * @value: the number
 *
 * Return: 0; -ENOENT: no such argument; -EINVAL: it is a buffer or a float; -ERANGE: its type does not have the number.
 */
int gpgpu_arg_set_int(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name, int64_t value);

/**
 * gpgpu_arg_set_double() - give a kernel's argument a floating-point number by name
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @name: member of the kernel's argument structure
 * @value: the number, rounded where the argument is a float
 *
 * Return: 0; -ENOENT: no such argument; -EINVAL: it is a buffer or an integer.
 */
int gpgpu_arg_set_double(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name, double value);

/**
 * gpgpu_arg_set_range() - give a kernel's argument a part of a buffer by position
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @index: position, from 0
 * @buf: buffer
 * @offset: bytes from its start, a multiple of 8
 * @size: bytes; 0: to its end
 *
 * Return: 0; -EINVAL: no such argument, a value, or a range that is not within the buffer.
 */
int gpgpu_arg_set_range(const struct gpgpu_program *prog, struct gpgpu_arg *args, uint32_t index,
			struct gpgpu_buffer *buf, uint64_t offset, uint64_t size);

/**
 * gpgpu_arg_set_value() - give a kernel's argument a value by name
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @name: member of the kernel's argument structure
 * @value: the value; bits of a float
 *
 * Return: 0; -ENOENT: no such argument; -EINVAL: it is a buffer; -ERANGE: it is of fewer bytes than the value.
 */
int gpgpu_arg_set_value(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
			uint64_t value);

/**
 * gpgpu_arg_set_buffer() - give a kernel's argument a buffer by name
 * @prog: kernel
 * @args: out: as many as the kernel has arguments
 * @name: member of the kernel's argument structure
 * @buf: buffer, the whole of it; write a struct gpgpu_arg oneself for a range
 *
 * Return: 0; -ENOENT: no such argument; -EINVAL: it is a value.
 */
int gpgpu_arg_set_buffer(const struct gpgpu_program *prog, struct gpgpu_arg *args, const char *name,
			 struct gpgpu_buffer *buf);

/**
 * gpgpu_dispatch() - run a kernel over a grid
 * @prog: loaded kernel
 * @grid: work items in each of the three dimensions, none 0
 * @group: work items of a group in each dimension; NULL or three zeros: the library chooses
 * @args: one for each argument of the kernel, by position
 * @num_args: how many
 * @submit: where and when, or NULL
 * @job: out, to be destroyed with gpgpu_job_destroy()
 *
 * Return: 0: it was submitted; negative errno: it was not.
 */
int gpgpu_dispatch(struct gpgpu_program *prog, const uint32_t grid[3], const uint32_t group[3],
		   const struct gpgpu_arg *args, uint32_t num_args, const struct gpgpu_submit *submit,
		   struct gpgpu_job **job);

/**
 * gpgpu_packets() - run an XDP program on a batch of packets
 * @prog: loaded XDP program
 * @buf: buffer with slots of @stride bytes that lie one after the other
 * @offset: bytes from the buffer's start to the first slot, a multiple of 64
 * @stride: bytes of a slot, a multiple of 64; what is not packet is head- and tailroom
 * @packets: one for each slot
 * @num_packets: how many, up to the device's max_batch
 * @flags: GPGPU_PACKETS_ORDER_*, or 0 for any order
 * @submit: where and when, or NULL
 * @job: out, to be destroyed with gpgpu_job_destroy()
 *
 * Return: 0: it was submitted; negative errno: it was not.
 */
int gpgpu_packets(struct gpgpu_program *prog, struct gpgpu_buffer *buf, uint64_t offset, uint32_t stride,
		  const struct gpgpu_packet *packets, uint32_t num_packets, uint32_t flags,
		  const struct gpgpu_submit *submit, struct gpgpu_job **job);

/**
 * gpgpu_copy() - copy bytes between buffers
 * @dst: buffer to write
 * @dst_offset: bytes from its start
 * @src: buffer to read, may be @dst if the ranges do not overlap
 * @src_offset: bytes from its start
 * @size: bytes
 * @submit: where and when, or NULL
 * @job: out, to be destroyed with gpgpu_job_destroy()
 *
 * Return: 0: it was submitted; negative errno: it was not.
 */
int gpgpu_copy(struct gpgpu_buffer *dst, uint64_t dst_offset, struct gpgpu_buffer *src, uint64_t src_offset,
	       uint64_t size, const struct gpgpu_submit *submit, struct gpgpu_job **job);

/**
 * gpgpu_fill() - fill a range of a buffer with a pattern
 * @dst: buffer to write
 * @offset: bytes from its start, a multiple of 4
 * @size: bytes, a multiple of 4
 * @pattern: 32 bits that are repeated
 * @submit: where and when, or NULL
 * @job: out, to be destroyed with gpgpu_job_destroy()
 *
 * Return: 0: it was submitted; negative errno: it was not.
 */
int gpgpu_fill(struct gpgpu_buffer *dst, uint64_t offset, uint64_t size, uint32_t pattern,
	       const struct gpgpu_submit *submit, struct gpgpu_job **job);

/**
 * gpgpu_nop() - a job that does nothing but wait for those before it
 * @dev: device
 * @submit: where and when, or NULL
 * @job: out, to be destroyed with gpgpu_job_destroy()
 *
 * Return: 0: it was submitted; negative errno: it was not.
 */
int gpgpu_nop(struct gpgpu_device *dev, const struct gpgpu_submit *submit, struct gpgpu_job **job);

/**
 * gpgpu_job_wait() - wait for a job's end
 * @job: job
 * @timeout_ns: nanoseconds; 0: only look, negative: no limit
 * @result: out, or NULL
 * @packets: out: what came of each packet of a batch, or NULL
 * @max_packets: room in @packets
 *
 * A job that faulted (-EIO), was cancelled (-ECANCELED) or lost its device (-ENODEV) fills @result and
 * @packets as well. A batch in which packets faulted has not failed: these are XDP_ABORTED.
 *
 * Return: 0: done, all went well; -ETIME: not done yet; other negative errno.
 */
int gpgpu_job_wait(struct gpgpu_job *job, int64_t timeout_ns, struct gpgpu_job_result *result,
		   struct gpgpu_packet_result *packets, uint32_t max_packets);

/**
 * gpgpu_job_times() - when a job was queued, submitted, started and ended
 * @job: job that has ended
 * @times: out
 *
 * How long a job ran is the device's device_ns of struct gpgpu_job_result; a job that other jobs interrupted takes longer from its
 * start to its end than that.
 *
 * Return: 0; -ETIME: it has not ended yet; -EOPNOTSUPP: the driver is too old to say.
 */
int gpgpu_job_times(struct gpgpu_job *job, struct gpgpu_job_times *times);

/**
 * gpgpu_jobs_wait() - wait for all of several jobs, or for any
 * @jobs: jobs of one device, each submitted in a queue
 * @num_jobs: how many, not 0
 * @all: for all of them; else for the first
 * @timeout_ns: nanoseconds; 0: only look, negative: no limit
 * @first: out: which has ended, where @all is false; or NULL
 *
 * Says nothing about how they ended: ask gpgpu_job_wait() with a timeout of 0.
 *
 * Return: 0; -ETIME: not yet; -EINVAL: one of them was not submitted in a queue; other negative errno.
 */
int gpgpu_jobs_wait(struct gpgpu_job *const *jobs, uint32_t num_jobs, bool all, int64_t timeout_ns,
		    uint32_t *first);

typedef void (*gpgpu_job_fn)(void *opaque, int status, const struct gpgpu_job_result *result);

/**
 * gpgpu_job_notify() - be called when a job has ended
 * @job: job that was submitted in a queue
 * @fn: called once, by a thread of the library; status is what gpgpu_job_wait() would return
 * @opaque: passed on
 *
 * The job may be destroyed meanwhile. The thread calls one function after the other, of the jobs that have ended the one that was
 * asked for first; what takes long should be done elsewhere. In it the library may be used, and gpgpu_error_message() says why the
 * job failed. Until then each call takes a file descriptor.
 *
 * Return: 0; -EINVAL: the job was not submitted in a queue; other negative errno: @fn will not be called.
 */
int gpgpu_job_notify(struct gpgpu_job *job, gpgpu_job_fn fn, void *opaque);

/**
 * gpgpu_job_cancel() - end a job early
 * @job: job; it and what was submitted before it on its timeline ends at the end of a slice
 *
 * Return: 0 or negative errno. The job is still to be waited for.
 */
int gpgpu_job_cancel(struct gpgpu_job *job);

/**
 * gpgpu_job_destroy() - let go of a job
 * @job: job, or NULL; one that still runs goes on
 */
void gpgpu_job_destroy(struct gpgpu_job *job);

/**
 * gpgpu_fence_create() - make a fence that orders jobs across timelines
 * @dev: device
 * @fence: out: a DRM sync object's handle for struct gpgpu_submit
 *
 * Return: 0 or negative errno.
 */
int gpgpu_fence_create(struct gpgpu_device *dev, uint32_t *fence);

/**
 * gpgpu_fence_wait() - wait for a fence
 * @dev: device
 * @fence: fence that a submitted job signals
 * @timeout_ns: nanoseconds from now; 0: only look, negative: no limit
 *
 * Return: 0; -ETIME: not signalled yet; -EINVAL: no job was submitted that signals it.
 */
int gpgpu_fence_wait(struct gpgpu_device *dev, uint32_t fence, int64_t timeout_ns);

/**
 * gpgpu_fence_destroy() - let go of a fence
 * @dev: device
 * @fence: fence; 0 is ignored
 */
void gpgpu_fence_destroy(struct gpgpu_device *dev, uint32_t fence);

/* -------------------------------------------------------------------- queues */

#define GPGPU_QUEUE_IN_ORDER	 0	/* a job starts when the one before it has ended */
#define GPGPU_QUEUE_OUT_OF_ORDER 1	/* a job starts when what it names (after, wait) has ended */

/**
 * gpgpu_queue_create() - make a queue for jobs
 * @dev: device
 * @order: GPGPU_QUEUE_IN_ORDER or GPGPU_QUEUE_OUT_OF_ORDER
 * @queue: out; is named in struct gpgpu_submit
 *
 * Queues are made of the device's timelines, of which a file has 16. Queues in order have one each while there are some left,
 * those out of order up to four; beyond that they share, which costs nothing but jobs waiting for more than they would have to. Jobs
 * that are submitted without a queue run on timeline 0, which no queue has.
 *
 * Threads: jobs may be submitted in one queue by several threads at once.
 *
 * Return: 0 or negative errno.
 */
int gpgpu_queue_create(struct gpgpu_device *dev, uint32_t order, struct gpgpu_queue **queue);

/**
 * gpgpu_queue_finish() - wait for all that was submitted in a queue
 * @queue: queue
 * @timeout_ns: nanoseconds, negative: no limit
 *
 * An empty job is sent behind the others, and waited for; so it takes a little also where all has ended, and where too many jobs
 * are under way sending it takes until there is room, whatever the limit.
 *
 * Return: 0: all has ended, well or not; -ETIME: not yet; other negative errno.
 */
int gpgpu_queue_finish(struct gpgpu_queue *queue, int64_t timeout_ns);

/**
 * gpgpu_queue_destroy() - let go of a queue
 * @queue: queue, or NULL; its jobs go on
 */
void gpgpu_queue_destroy(struct gpgpu_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
