/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object.h - what a guest names by id: contexts, buffers, maps and programs.
 *
 * Ids are device-wide and the guest's choice. An object is in its session's table until it is destroyed
 * and in memory until nobody holds a reference: a job keeps what it uses, a program keeps its maps.
 * The set of contexts that an object is attached to says who may use it.
 *
 * Threads: tables, attach sets and references are changed under the session's lock only.
 */
#ifndef GPGPU_OBJECT_H
#define GPGPU_OBJECT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include "device.h"
#include "jit/jit.h"
#include "list.h"
#include "rt/abi.h"
#include "sched.h"
#include "virtio_gpgpu.h"

struct gpgpu_session;
struct gp_request;

struct gp_timeline {
	struct list jobs; /* accepted and not ended, in order; the first may run */
	uint64_t submitted; /* seq of the last job accepted */
	uint64_t reached; /* seq of the last job that ended */
};

struct gp_context {
	uint32_t id;
	uint32_t jobs;  /* not ended */
	uint64_t serial; /* no other context of the session has it, whatever its id */
	struct gp_request *destroy; /* CTX_DESTROY that waits for the jobs to end, or NULL */
	struct gp_sched_queue queue; /* under the engine's lock */
	struct gp_timeline timelines[VIRTIO_GPGPU_MAX_TIMELINES];
};

struct gp_object {
	uint32_t id;
	uint32_t type;  /* enum virtio_gpgpu_object */
	uint32_t refs;  /* the table's counts for one */
	bool listed;  /* in its table */
	uint32_t num_ctx;
	uint32_t *ctx;  /* ids of the contexts it is attached to */
	uint64_t memory; /* bytes charged to the session */
	struct gpgpu_session *session;
};

struct gp_buffer {
	struct gp_object object;
	uint32_t mem;  /* enum virtio_gpgpu_mem */
	uint8_t *base;
	uint64_t size;
	uint64_t offset; /* SHM: in the shared memory */
};

struct gp_map_object {
	struct gp_object object;
	struct gp_map *map; /* as programs see it: of a GPU, the engine does not read it */
	struct gp_map_desc desc;
	void *values, *index; /* what it is made of */
	bool here; /* which is the engine's to operate on; else the device's */
	bool frozen;  /* by MAP_FREEZE: the guest may not write it any more */
	struct gp_program **progs; /* PROG_ARRAY: desc.max_entries, each NULL or with a reference; atomic */
	uint32_t slot;  /* in session->inner while it is a value of another map; with slot_uses */
	uint32_t slot_uses; /* values that name it, and values that did while a program may still use them */
	uint32_t *uses; /* a map of maps: those of its own values, by slot */
	bool notified; /* RINGBUF, PERF_EVENT_ARRAY: the guest has been told of records; records_lock */
	struct list fib_link; /* FIB: in session->fibs */
};

struct gp_program {
	struct gp_object object;
	uint32_t kind; /* enum virtio_gpgpu_prog_kind */
	uint32_t num_args;
	uint32_t num_insns;
	uint32_t num_maps;
	char name[32];
	bool tail_calls; /* it makes some */
	bool grouped; /* a group program (bpf/groups.h): it runs group by group */
	uint32_t local_bytes; /* of a group's local memory */
	bool prints;
	bool has_records; /* it uses maps that hold records, itself or as values of others */
	bool per_cpu; /* likewise maps that have copies for each CPU */
	uint8_t arg_kind[VIRTIO_GPGPU_MAX_ARGS];
	struct gp_map_object *fib; /* reference, or NULL: what bpf_fib_lookup() answers from */
	struct gp_log *log; /* NULL: it prints nothing */
	struct gp_map_object **map_objects; /* num_maps, each with a reference */
	struct gp_map **maps; /* the same, as generated code sees them */
	struct gp_map **device_maps; /* where a device needs a copy of that; else NULL */
	void *code; /* of a device with code of its own */
	struct gp_image *image; /* NULL while it is being compiled */
	uint64_t compile_ns;
	double item_ns; /* what one item took lately, 0: unknown; engine's lock */
};

/* A table per kind of object. */
struct gp_table {
	GHashTable *by_id;
	uint32_t limit;
};

/* Status, reason and detail of an answer. */
struct gp_result {
	uint32_t status, reason;
	uint64_t detail;
};

#define GP_OK		((struct gp_result){ VIRTIO_GPGPU_S_OK, VIRTIO_GPGPU_R_NONE, 0 })
#define GP_ERR(s, r, d) ((struct gp_result){ VIRTIO_GPGPU_S_##s, VIRTIO_GPGPU_R_##r, (d) })

void gp_tables_init(struct gpgpu_session *s);
void gp_tables_free(struct gpgpu_session *s);

/* gp_object_new_check() - may an object of @type with @id be made? */
struct gp_result gp_object_new_check(struct gpgpu_session *s, uint32_t type, uint32_t id);
/* gp_object_add() - into the table, attached to @ctx; the check has passed. */
void gp_object_add(struct gpgpu_session *s, struct gp_object *object, uint32_t type, uint32_t id,
		   uint32_t ctx);
/* gp_object_find() - look up and check that @ctx may use it. @out: NULL unless S_OK. */
struct gp_result gp_object_find(struct gpgpu_session *s, uint32_t type, uint32_t id, uint32_t ctx,
				struct gp_object **out);
/* gp_object_find_req() - the same for a struct virtio_gpgpu_req_id. @destroy: context 0 may. */
struct gp_result gp_object_find_req(struct gpgpu_session *s, uint32_t type, const struct gp_request *req,
				    bool destroy, struct gp_object **out);
bool gp_object_attached(const struct gp_object *object, uint32_t ctx);
/* gp_object_remove() - out of the table, if it is there still; freed once nobody uses it. */
void gp_object_remove(struct gp_object *object);
struct gp_object *gp_object_ref(struct gp_object *object);
void gp_object_unref(struct gp_object *object);
/* gp_objects_detach_all() - @ctx goes: objects that no other context has are removed. */
void gp_objects_detach_all(struct gpgpu_session *s, uint32_t ctx);
/* gp_objects_remove_all() - for a reset. */
void gp_objects_remove_all(struct gpgpu_session *s);

struct gp_context *gp_context_find(struct gpgpu_session *s, uint32_t id);
struct gp_context *gp_context_add(struct gpgpu_session *s, uint32_t id);
void gp_context_remove(struct gpgpu_session *s, struct gp_context *ctx);
/* gp_context_ended() - answer CTX_DESTROY if no job of @ctx is left; frees @ctx then. */
void gp_context_ended(struct gpgpu_session *s, struct gp_context *ctx, struct list *done);

/* Per kind; object.c calls them when the last reference goes. */
void gp_buffer_release(struct gp_buffer *buffer);
void gp_map_release(struct gp_map_object *map);
/* gp_map_unlisted() - no id names it any more: what would keep programs alive in a circle goes. */
void gp_map_unlisted(struct gp_map_object *map);
void gp_program_release(struct gp_program *prog);
/* gp_program_env() - what @prog itself needs of the outside. */
void gp_program_env(const struct gp_program *prog, struct gp_env *env);

/* gp_charge() - take @bytes of the session's memory. Return: false if over its limit. */
bool gp_charge(struct gpgpu_session *s, uint64_t bytes);
void gp_uncharge(struct gpgpu_session *s, uint64_t bytes);

/*
 * gp_window_alloc() - zeroed memory that programs reach, near to the device: maps, buffers. With GP_GUARD
 * inaccessible bytes in front; and behind it a guard and, where the CPU runs programs, at least the rest of the
 * power-of-two window that generated code masks offsets to.
 * Return: NULL without memory. Any thread.
 */
void *gp_window_alloc(struct gpgpu_engine *engine, uint64_t size, enum gp_mem mem);
/* gp_window_write() - put @size bytes there before any program sees it. Return: false: the device cannot. */
bool gp_window_write(struct gpgpu_engine *engine, enum gp_mem mem, void *to, const void *from, uint64_t size);
void gp_window_free(struct gpgpu_engine *engine, void *base, uint64_t size);

/*
 * gp_table_alloc() - zeroed memory that programs read by way of struct gp_env: of the heap, where that will do.
 * Return: NULL without memory. Any thread.
 */
void *gp_table_alloc(struct gpgpu_engine *engine, uint64_t size, enum gp_mem mem);
void gp_table_free(struct gpgpu_engine *engine, void *base, uint64_t size);

#endif
