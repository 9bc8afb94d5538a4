/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node.h - the accel node with nothing in between: raw ioctls, TAP, and the BPF programs of these tests.
 *
 * Every function returns 0 or negative errno, or a handle where it says so, and leaves what the device
 * said in last_result. Tests count with ok(); the plan comes last.
 */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>
#include <drm.h>
#include <drm/virtio_gpgpu_drm.h>

#include "gpgpu_bpf.h"
#include "virtio_gpgpu.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

extern struct drm_virtio_gpgpu_result last_result;
extern struct virtio_gpgpu_caps caps; /* of the device under test */
extern const char *node_path;

bool ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* is() - the same for a return value; says what came instead. */
bool is(long got, long want, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* must() - what the rest of the test cannot do without: bails out on an errno. */
#define must(call) must_not_fail(call, #call)
void must_not_fail(int r, const char *what);
int finish_tests(void);
void groan(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
double now(void); /* seconds */

int node_open(void);
int call(int fd, unsigned long request, void *arg);

struct buffer {
	uint32_t handle;
	uint64_t size, mmap_offset;
	uint8_t *map;  /* NULL: device memory */
};

int bo_new(int fd, uint64_t size, uint32_t mem, struct buffer *bo); /* maps SHM */
int bo_close(int fd, struct buffer *bo);

int map_new(int fd, uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t *handle);
int map_op(int fd, uint32_t handle, uint32_t op, const void *key, void *value, uint32_t size, uint32_t flags);
int prog_new(int fd, uint32_t kind, const struct bpf_insn *insns, uint32_t n, const char *args,
	     uint32_t *handle, char *message, uint32_t size);
int by_handle(int fd, unsigned long request, uint32_t handle); /* a struct drm_virtio_gpgpu_handle */

/* submit() and the like return the job's handle in @job. */
int submit(int fd, struct drm_virtio_gpgpu_submit *s, uint32_t *job);
int submit_nop(int fd, uint32_t timeline, uint32_t in, uint32_t out, uint32_t *job);
int submit_fill(int fd, uint32_t bo, uint64_t offset, uint64_t size, uint32_t pattern, uint32_t *job);
int submit_busy(int fd, uint32_t prog, uint32_t timeline, uint32_t out, uint32_t *job); /* for hours */
int job_wait(int fd, uint32_t job, int64_t timeout_ns);
int job_end(int fd, uint32_t job); /* waits without limit, then destroys the handle */
int new_busy_prog(int fd, uint32_t *prog);

int syncobj_new(int fd, uint32_t *handle);
int syncobj_wait(int fd, uint32_t handle, double seconds);

uint64_t device_memory(int fd); /* bytes that the device says are in use */

/* The programs: a compute kernel that stores its id plus an argument, and XDP that passes everything. */
extern const struct bpf_insn store_prog[11], busy_prog[4], pass_prog[2];

void test_caps(void); /* first: fills caps */
void test_objects(void);
void test_maps_of_things(void);
void test_programs(void);
void test_jobs(void);
void test_fences(void);
void test_files(void);
void test_processes(void);
void test_fuzz(void);
void test_watchdog(void);
void test_lost(void);
void test_hung(void);
void test_unbind(void);
void test_unplug(void);
void test_suspend(void);

#endif
