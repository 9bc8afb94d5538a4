/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * card.h - the card and its kernel driver, as the files here see each other.
 *
 * Objects (buffers, contexts, fences, ...) are counted; counts, tables and queues are changed under one lock, sim.lock,
 * and whatever waits does so on sim.changed. The rings' threads take a job under the lock and run it without:
 * of the shared state they then touch memory, and page tables by sim_vm_find(), which takes the lock.
 */
#ifndef AMDGPU_SIM_CARD_H
#define AMDGPU_SIM_CARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <amdgpu_drm.h>
#include "isa/isa.h"

#define SIM_PAGE	4096ull
#define SIM_MAX_QUEUED	32 /* fences that a context's ring remembers (amdgpu.sched_jobs) */
#define SIM_VA_BOTTOM	0x10000ull
#define SIM_VA_HOLE	0x0000800000000000ull
#define SIM_VA_HOLE_END 0xffff800000000000ull
#define SIM_VA_MASK	0x0000ffffffffffffull
#define SIM_VA_TOP \
	0x0000ffffffbfe000ull /* of the 48 bits; the driver's own lie above (AMDGPU_VA_RESERVED_TOP) */
#define SIM_MAX_CTXS   4096u /* AMDGPU_VM_MAX_NUM_CTX: numbers are below it */
#define SIM_NR_UDMABUF 0x1000u /* for sim_injected(), above the numbers of the node's ioctls */
#define SIM_NR_OPEN    0x1001u

enum sim_pm4 { SIM_PM4_GFX9, SIM_PM4_GFX10 };

/* A chip (chips.c). */
struct sim_chip {
	const char *name, *title;
	uint32_t family, external_rev, device_id, pci_rev;
	uint8_t ip[3]; /* version of the graphics core */
	enum sim_pm4 pm4;
	enum sim_gfx gfx;
	bool runs; /* else its registers are not known here and a dispatch is refused; the rest works */
	uint32_t wave, engines, arrays,
		units; /* shader engines, arrays of each, compute units of each array */
	uint32_t vgprs; /* registers of a lane on one SIMD */
	uint32_t vram_type, vram_bits, vram_mib;
	uint32_t mhz, memory_mhz;
	uint32_t l1_kib, l2_kib, mall_mib;
};

extern const struct sim_chip sim_chips[];
extern const size_t sim_num_chips;
const struct sim_chip *sim_chip_find(const char *name);

/* Numbers to objects, from 1 (idr.c). */
struct sim_idr {
	void **slots;
	uint32_t size;
};

/* sim_idr_add() - Return: number, or 0 without memory. The others: NULL for a number that is not there. */
uint32_t sim_idr_add(struct sim_idr *idr, void *object);
void *sim_idr_find(const struct sim_idr *idr, uint32_t number);
void *sim_idr_remove(struct sim_idr *idr, uint32_t number);

/* Fences (fence.c). */
struct sim_fence {
	uint32_t refs;
	bool done;
	int error; /* 0, or -errno once done */
	const void *owner; /* client whose job it is; NULL: nobody's */
};

struct sim_fence *sim_fence_new(void);
struct sim_fence *sim_fence_ref(struct sim_fence *fence);
void sim_fence_put(struct sim_fence *fence);
void sim_fence_end(struct sim_fence *fence, int error);

/* A set of them, such as those of the jobs that use a buffer. */
struct sim_fences {
	struct sim_fence **all;
	uint32_t count;
};

int sim_fences_add(struct sim_fences *set, struct sim_fence *fence);
bool sim_fences_done(struct sim_fences *set); /* forgets those that are */
void sim_fences_clear(struct sim_fences *set);

/* Absolute, CLOCK_MONOTONIC. sim_wait_until() - on sim.changed. Return: false once @ns has passed; INT64_MAX: never. */
int64_t sim_now(void);
bool sim_wait_until(int64_t ns);

/* The card's clock (clock.c). sim_ticks() - of 100 MHz. */
int64_t sim_clock_ns(void);
uint64_t sim_ticks(void);
/* From begin() to end() it goes by the instructions that waves execute, of which at() is told. Return: nanoseconds. */
void sim_clock_begin(void);
uint64_t sim_clock_at(uint64_t instructions);
void sim_clock_end(void);

/* Memory (memory.c, gem.c). */
enum sim_bo_kind { SIM_BO_VRAM, SIM_BO_GTT, SIM_BO_USER, SIM_BO_IMPORT, SIM_BO_ON_CHIP };

/* A piece of somebody's memory file, in a buffer that was imported. */
struct sim_segment {
	int file;
	uint64_t offset, size;
};

struct sim_bo {
	uint32_t refs;
	enum sim_bo_kind kind;
	uint64_t size, offset; /* @offset: in the card's memory file */
	uint8_t *host; /* where we see it */
	uint64_t alignment, domains, flags;
	uint32_t user_flags;
	uint64_t tiling, metadata_flags;
	uint32_t metadata_size, metadata[64];
	const void *owner; /* the only client whose address space it may be in (VM_ALWAYS_VALID) */
	struct sim_fences users;
	struct sim_segment *segments; /* of an imported one, which owns their descriptors */
	uint32_t num_segments;
	struct sim_bo *next_user; /* of all user pointers: what munmap() must wait for */
};

/* sim_memory_start() - the file, mapped. Return: 0 or -errno. */
int sim_memory_start(uint64_t vram, uint64_t gtt);
/* sim_memory_take() - Return: offset in the file, or UINT64_MAX without memory. */
uint64_t sim_memory_take(bool vram, uint64_t size, uint64_t alignment, bool cleared);
void sim_memory_give(bool vram, uint64_t offset, uint64_t size);
void sim_memory_lose_vram(void);
uint64_t sim_memory_used(bool vram);

struct sim_bo *sim_bo_ref(struct sim_bo *bo);
void sim_bo_put(struct sim_bo *bo);
/* sim_bo_import() - maps @segments; their descriptors become the buffer's if it is made. Return: NULL: it is not. */
struct sim_bo *sim_bo_import(const struct sim_segment *segments, uint32_t count);
/* sim_bo_mmap() - for the program. Return: as mmap(). */
void *sim_bo_mmap(const struct sim_bo *bo, void *at, size_t size, int prot, int flags, uint64_t offset);
/* The kernel's own, behind the hooks. */
int sim_real_munmap(void *at, size_t size);
void *sim_real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
/* sim_bo_populate() - a user pointer's pages are there. Return: 0 or -EFAULT. */
int sim_bo_populate(struct sim_bo *bo);
/* sim_user_unmap() - the process is about to unmap or move memory: jobs that use it end first. Takes the lock. */
void sim_user_unmap(uintptr_t at, size_t size);

/* Address spaces (vm.c). */
struct sim_mapping {
	uint64_t va, size, offset; /* @offset: in the buffer */
	struct sim_bo *bo; /* NULL: PRT, reads 0 and drops writes */
	uint32_t flags;
};

struct sim_vm {
	struct sim_mapping *map; /* by address */
	uint32_t count, room;
	uint32_t generation; /* counts changes; atomic, since the rings look without the lock */
	bool reserved_vmid;
};

struct sim_page {
	uint8_t *host; /* NULL: PRT */
	uint32_t flags;
	struct sim_bo *bo;
};

int sim_vm_map(struct sim_vm *vm, struct sim_bo *bo, uint64_t va, uint64_t offset, uint64_t size,
	       uint32_t flags, bool replace);
int sim_vm_unmap(struct sim_vm *vm, const struct sim_bo *bo, uint64_t va);
int sim_vm_clear(struct sim_vm *vm, uint64_t va, uint64_t size);
void sim_vm_drop_bo(struct sim_vm *vm, const struct sim_bo *bo);
void sim_vm_end(struct sim_vm *vm);
/* sim_vm_find() - the page at @va. Takes the lock. */
bool sim_vm_find(struct sim_vm *vm, uint64_t va, struct sim_page *page);

/* Contexts and their queues (ctx.c). */
enum sim_ring { SIM_RING_COMPUTE, SIM_RING_SDMA, SIM_RINGS };

struct sim_job;
struct sim_client;

struct sim_entity {
	struct sim_ctx *ctx;
	enum sim_ring ring;
	uint32_t number; /* the user's ring index */
	uint64_t sequence; /* the next one's */
	struct sim_fence *fences[SIM_MAX_QUEUED]; /* by sequence */
	struct sim_job *first, *last;
	int error; /* of the job scheduled last: all that follow fail with it */
	struct sim_entity *next; /* of its ring, for the round */
};

#define SIM_RING_COUNT 4 /* rings that a context sees of each kind */

struct sim_ctx {
	uint32_t refs;
	struct sim_client *client;
	int32_t priority;
	uint32_t pstate;
	bool guilty;
	uint32_t resets, resets_queried, vram_losses; /* counters as they were */
	struct sim_entity *entities[SIM_RINGS][SIM_RING_COUNT];
};

struct sim_ctx *sim_ctx_ref(struct sim_ctx *ctx);
void sim_ctx_put(struct sim_ctx *ctx);
struct sim_entity *sim_ctx_entity(struct sim_ctx *ctx, uint32_t ip, uint32_t instance, uint32_t ring,
				  int *error);
/* sim_max_ibs() - of one submission to a ring (amdgpu_ring_max_ibs()). */
uint32_t sim_max_ibs(enum sim_ring ring);
/* sim_ctx_fence() - Return: a reference; NULL with *@error 0: ended long ago. */
struct sim_fence *sim_ctx_fence(struct sim_entity *entity, uint64_t sequence, int *error);

/* Sync objects (syncobj.c). */
struct sim_point {
	uint64_t point;
	struct sim_fence *fence;
};

struct sim_client;

struct sim_syncobj {
	uint32_t refs;
	struct sim_point *points; /* rising; a binary one has one, 0 */
	uint32_t count;
	uint64_t passed; /* points up to here are done and forgotten */
};

/* sim_syncobj_notify() - those who asked for events are told of what is done by now. */
void sim_syncobj_notify(void);
/* sim_syncobj_new() - @fence may be NULL. The other two: a descriptor, or -errno. */
int sim_syncobj_new(struct sim_client *client, struct sim_fence *fence, uint32_t *handle);
int sim_syncobj_fd_new(struct sim_syncobj *obj);
int sim_sync_file_new(struct sim_fence *fence);

void sim_syncobj_put(struct sim_syncobj *obj);
void sim_syncobj_set(struct sim_syncobj *obj, struct sim_fence *fence);
int sim_syncobj_add_point(struct sim_syncobj *obj, struct sim_fence *fence, uint64_t point);
/*
 * sim_syncobj_deps() - what must be done for @point to be. Return: 0, or -EINVAL where nothing was submitted for it.
 * Adds to @set.
 */
int sim_syncobj_deps(struct sim_syncobj *obj, uint64_t point, struct sim_fences *set);

/* An open node (client.c). */
struct sim_client {
	uint32_t refs, number;
	bool may_raise; /* CAP_SYS_NICE, as it was when the node was opened */
	struct sim_vm vm;
	struct sim_idr bos, ctxs, lists, syncobjs;
	uint64_t fault_va; /* of the last page fault */
	struct sim_machine *machine; /* its code, decoded; used by the compute ring alone */
	uint32_t machine_options; /* those that it was made with */
};

struct sim_list {
	struct sim_bo **bos;
	uint32_t count;
};

void sim_client_put(struct sim_client *client);
void sim_list_free(struct sim_list *list);

/* Jobs (cs.c, ring.c). */
struct sim_ib {
	uint64_t va;
	uint32_t dwords, flags;
};

struct sim_job {
	struct sim_job *next;
	struct sim_client *client;
	struct sim_entity *entity;
	struct sim_ctx *ctx;
	struct sim_ib *ibs;
	uint32_t num_ibs;
	struct sim_list buffers;
	struct sim_fences deps;
	struct sim_fence *fence;
	uint64_t sequence;
	struct sim_bo *user_fence;
	uint32_t user_fence_offset;
	uint32_t vram_losses;
	int64_t started; /* by the card's clock */
};

void sim_job_free(struct sim_job *job);
/* sim_thread_start() - one for which the program's signals are not. Return: 0 or -errno. */
int sim_thread_start(pthread_t *thread, void *(*run)(void *), void *opaque);
int sim_ring_start(void);
void sim_ring_push(struct sim_job *job);
/* sim_ring_reset() - as the driver resets a card. @guilty: by what runs, or runs next. */
void sim_ring_reset(bool guilty, bool vram_lost);
void sim_ring_unplug(void);
/* sim_job_has() - whether the buffer was named in the job's list or is always there. */
bool sim_job_has(const struct sim_job *job, const struct sim_bo *bo);

/* How a job went wrong. */
enum sim_trouble {
	SIM_TROUBLE_NONE,
	SIM_TROUBLE_WAVES, /* waves fault or do not end: they can be killed (soft recovery) */
	SIM_TROUBLE_RING, /* the packet processor hangs: only a reset helps */
};

/* What a ring's thread works with (exec.c: page tables; cache.c: caches). */
#define SIM_TLB	     1024
#define SIM_UNITS    8 /* compute units whose caches are modelled */
#define SIM_L1_LINES 128
#define SIM_K_LINES  256
#define SIM_L2_LINES 4096
#define SIM_LINE     64

struct sim_line {
	uint64_t tag; /* address | 1; 0: nothing there */
	uint8_t data[SIM_LINE];
};

struct sim_l2_line {
	uint8_t *at; /* of memory; NULL: nothing there */
	uint64_t valid, dirty; /* by byte */
	uint8_t data[SIM_LINE];
};

/* Beside AMDGPU_VM_PAGE_*, of a page that was found. */
#define SIM_PAGE_SYSTEM	 (1u << 30) /* of the host's memory */
#define SIM_PAGE_FOREIGN (1u << 31) /* of a buffer that the job does not name */

struct sim_tlb {
	uint64_t tag; /* page number + 1 */
	uint8_t *host; /* NULL: PRT */
	uint32_t flags;
};

struct sim_exec {
	struct sim_job *job;
	struct sim_client *client;
	enum sim_ring ring;
	uint32_t vm_generation;
	bool l1_on, l2_on;
	uint32_t dirty; /* lines of the L2 */
	uint32_t l2_count; /* of l2_used: lines that hold something, so that walks are short */
	uint16_t l2_used[SIM_L2_LINES];
	bool l1_used[SIM_UNITS], k_used;
	struct sim_tlb tlb[SIM_TLB];
	struct sim_line l1[SIM_UNITS][SIM_L1_LINES], k[SIM_K_LINES];
	struct sim_l2_line l2[SIM_L2_LINES];
	uint32_t stop; /* makes a dispatch end */
	enum sim_trouble trouble;
	char why[320];
	char page_fault[160]; /* of the last access that failed */
	uint64_t fault_va;
	/* compute registers: what the job's stream has set; the rest is another client's */
	uint32_t sh[0x400];
	uint32_t sh_set[0x400 / 32];
	uint32_t dispatches; /* of this job */
	uint64_t random;
	uint32_t body[0x4000]; /* of the packet */
};

/* sim_page_fault() - notes why an access fails. Return: NULL, for those who look for a page. */
struct sim_tlb *sim_page_fault(struct sim_exec *exec, uint64_t va, uint32_t access, const char *why);
struct sim_tlb *sim_translate(struct sim_exec *exec, uint64_t va, uint32_t access);

/* Access, physical behind page tables: 0, or not 0 for a page fault. CP: what the packet processor itself does. */
int sim_read(struct sim_exec *exec, uint64_t va, void *to, uint32_t size);
int sim_write(struct sim_exec *exec, uint64_t va, const void *from, uint32_t size);
void sim_memory_ops(struct sim_exec *exec, struct sim_memory *ops);
void sim_l1_invalidate(struct sim_exec *exec);
void sim_k_invalidate(struct sim_exec *exec);
void sim_l2_write_back(struct sim_exec *exec, uint64_t va, uint64_t size);
void sim_l2_invalidate(struct sim_exec *exec, uint64_t va, uint64_t size);
/* sim_trouble() - the first one stands. Return: false, for callers to pass on. */
bool sim_trouble(struct sim_exec *exec, enum sim_trouble trouble, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct sim_exec *sim_exec_new(enum sim_ring ring);
void sim_exec_begin(struct sim_exec *exec, struct sim_job *job); /* with the lock */
void sim_exec_end(struct sim_exec *exec); /* what the driver's own end fence does */

bool sim_pm4_run(struct sim_exec *exec, const struct sim_ib *ib);
bool sim_sdma_run(struct sim_exec *exec, const struct sim_ib *ib);
bool sim_dispatch(struct sim_exec *exec, const uint32_t groups[3], uint32_t initiator);
void sim_code_forget(struct sim_exec *exec); /* the instruction cache */
/* sim_reg_set() - SET_SH_REG. sim_reg_missing() - a register that a dispatch needs and was not set, or NULL. */
bool sim_reg_set(struct sim_exec *exec, uint32_t reg, uint32_t value);
bool sim_reg_is_set(const struct sim_exec *exec, uint32_t number);
const char *sim_reg_missing(const struct sim_exec *exec);

/* ioctls; each returns 0 or -errno, called with the lock. */
int sim_gem_ioctl(struct sim_client *client, unsigned int nr, void *arg);
int sim_va_ioctl(struct sim_client *client, void *arg);
int sim_info_ioctl(struct sim_client *client, void *arg);
int sim_ctx_ioctl(struct sim_client *client, void *arg);
int sim_list_ioctl(struct sim_client *client, void *arg);
int sim_cs_ioctl(struct sim_client *client, void *arg);
int sim_wait_cs_ioctl(struct sim_client *client, void *arg);
int sim_wait_fences_ioctl(struct sim_client *client, void *arg);
int sim_fence_to_handle_ioctl(struct sim_client *client, void *arg);
int sim_sched_ioctl(struct sim_client *client, void *arg);
int sim_syncobj_ioctl(struct sim_client *client, unsigned int nr, void *arg);
int sim_prime_ioctl(struct sim_client *client, unsigned int nr, void *arg);
int sim_handle_new(struct sim_client *client, struct sim_bo *bo, uint32_t *handle);

/* Options and what is told to a running card (control.c). */
struct sim_options_card {
	char node[128], generation[16];
	uint64_t vram, gtt, units, seed, instructions, poison;
	uint64_t clock; /* ns that an instruction takes */
	uint64_t family, revision; /* that it says it is of; 0: the chip's */
	uint64_t minor; /* of the driver's version */
	char driver[16]; /* its name */
	int64_t timeout; /* ns */
	bool l1, l2, hard, ring_reset, reset_loses, list_strict;
	char capture[256], statistics[256], trace[256], listen[256];
	bool trace_packets, trace_instructions;
	uint32_t trace_lane;
	uint32_t changes; /* counts what a machine has to be made anew for */
};

/* sim_options_read() - once, from the environment. */
void sim_options_read(void);
/* sim_control() - one command. Return: false: not one. Takes the lock. */
bool sim_control(const char *command);
/* sim_injected() - whether the call is to fail now. Return: 0 or -errno. @nr: as _IOC_NR(). */
int sim_injected(unsigned int nr);
/* sim_submitted() - a job was, so that commands can be due. With the lock. */
void sim_submitted(void);
/* sim_listen() - to the pipe, if one is named. Return: 0 or -errno. */
int sim_listen(void);
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

void sim_records_open(void);
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_capture(struct sim_exec *exec, const struct sim_ib *ib);
void sim_count(const struct sim_exec *exec, const struct sim_dispatch *dispatch,
	       const struct sim_counts *counts, int64_t ns);
void sim_statistics(void);

struct sim {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, unplugged;
	bool hang; /* the next job does not end */
	enum { SIM_ARMED_NOTHING, SIM_ARMED_GUILTY } armed; /* the next job is lost by a reset */
	bool armed_loses;
	uint32_t enomem; /* submissions that fail for want of memory */
	const struct sim_chip *chip;
	int file; /* the card's memory; what a node's descriptor is a copy of */
	int maps; /* /proc/self/maps */
	uint8_t *memory;
	uint64_t vram, gtt;
	uint32_t resets, vram_losses;
	uint64_t bytes_moved;
	uint32_t clients;
	struct sim_bo *user_bos;
	struct sim_exec *exec[SIM_RINGS];
	struct sim_options_card options;
};

extern struct sim sim;

#endif
