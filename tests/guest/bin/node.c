// SPDX-License-Identifier: BSD-3-Clause
/*
 * node.c - see node.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "node.h"

struct drm_virtio_gpgpu_result last_result;
struct virtio_gpgpu_caps caps;
const char *node_path = "/dev/accel/accel0";

static int num_tests, num_failed;

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

/* int store(struct { __u32 *out; __u64 add; } *arg) { out[id] = id + add; return 0; } */
const struct bpf_insn store_prog[11] = {
	INSN(BPF_LDX | BPF_DW | BPF_MEM, 6, 1, 0, 0),
	INSN(BPF_LDX | BPF_DW | BPF_MEM, 7, 1, 8, 0),
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 0),
	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, GPGPU_HELPER_global_id),
	INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 0, 0, 0),
	INSN(BPF_ALU64 | BPF_LSH | BPF_K, 2, 0, 0, 2),
	INSN(BPF_ALU64 | BPF_ADD | BPF_X, 6, 2, 0, 0),
	INSN(BPF_ALU64 | BPF_ADD | BPF_X, 0, 7, 0, 0),
	INSN(BPF_STX | BPF_W | BPF_MEM, 6, 0, 0, 0),
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

/* Counts from 0 to 1,000 and returns; over a grid of billions of items that takes hours. */
const struct bpf_insn busy_prog[4] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
	INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1),
	INSN(BPF_JMP | BPF_JNE | BPF_K, 0, 0, -2, 1000),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

const struct bpf_insn pass_prog[2] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

static void tell(bool good, const char *extra, const char *format, va_list ap)
{
	printf("%sok %d - ", good ? "" : "not ", ++num_tests);
	vprintf(format, ap);
	printf("%s\n", extra);
	fflush(stdout);
	num_failed += !good;
}

bool ok(bool good, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	tell(good, "", format, ap);
	va_end(ap);
	return good;
}

bool is(long got, long want, const char *format, ...)
{
	char extra[160] = "";
	va_list ap;

	if (got != want)
		snprintf(extra, sizeof(extra), ": got %ld, wanted %ld (status %u, reason %u, detail %llu)",
			 got, want, last_result.status, last_result.reason,
			 (unsigned long long)last_result.detail);
	va_start(ap, format);
	tell(got == want, extra, format, ap);
	va_end(ap);
	return got == want;
}

int finish_tests(void)
{
	printf("1..%d\n", num_tests);
	return num_failed != 0;
}

void groan(const char *format, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

void must_not_fail(int r, const char *what)
{
	if (r < 0)
		groan("%s: %s", what, strerror(-r));
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int node_open(void)
{
	int fd = open(node_path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int bo_new(int fd, uint64_t size, uint32_t mem, struct buffer *bo)
{
	struct drm_virtio_gpgpu_bo_create c = { .size = size, .mem = mem };
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE, &c);

	*bo = (struct buffer){ 0 };
	last_result = c.result;
	if (r)
		return r;
	*bo = (struct buffer){ .handle = c.handle, .size = c.size, .mmap_offset = c.mmap_offset };
	if (mem == DRM_VIRTIO_GPGPU_BO_SHM) {
		bo->map = mmap(NULL, c.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, c.mmap_offset);
		if (bo->map == MAP_FAILED)
			return -errno;
	}
	return 0;
}

int bo_close(int fd, struct buffer *bo)
{
	struct drm_gem_close c = { .handle = bo->handle };

	if (bo->map)
		munmap(bo->map, bo->size);
	bo->map = NULL;
	return call(fd, DRM_IOCTL_GEM_CLOSE, &c);
}

int map_new(int fd, uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t *handle)
{
	struct drm_virtio_gpgpu_map_create c = {
		.type = type,
		.key_size = key,
		.value_size = value,
		.max_entries = entries,
		.name = "m",
	};
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE, &c);

	last_result = c.result;
	*handle = c.handle;
	return r;
}

int map_op(int fd, uint32_t handle, uint32_t op, const void *key, void *value, uint32_t size, uint32_t flags)
{
	struct drm_virtio_gpgpu_map_op m = {
		.handle = handle,
		.op = op,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.value_size = size,
		.flags = flags,
	};
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_OP, &m);

	last_result = m.result;
	return r;
}

int prog_new(int fd, uint32_t kind, const struct bpf_insn *insns, uint32_t n, const char *args,
	     uint32_t *handle, char *message, uint32_t size)
{
	struct drm_virtio_gpgpu_prog_create c = {
		.kind = kind,
		.num_insns = n,
		.insns = (uintptr_t)insns,
		.num_args = strlen(args),
		.name = "p",
		.message = (uintptr_t)message,
		.message_size = size,
	};
	char why[VIRTIO_GPGPU_MESSAGE] = "";
	int r;

	if (!message) {
		c.message = (uintptr_t)why;
		c.message_size = sizeof(why);
	}

	/* One letter for each argument: v(alue), b(uffer), r(ead-only buffer). */
	for (uint32_t i = 0; i < c.num_args; i++)
		c.arg_kind[i] = args[i] == 'v'	 ? VIRTIO_GPGPU_ARG_VALUE
				: args[i] == 'b' ? VIRTIO_GPGPU_ARG_BUFFER
						 : VIRTIO_GPGPU_ARG_BUFFER_RO;
	r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &c);
	last_result = c.result;
	*handle = c.handle;
	if (why[0])
		printf("# program refused: %s\n", why);
	return r;
}

int by_handle(int fd, unsigned long request, uint32_t handle)
{
	struct drm_virtio_gpgpu_handle h = { .handle = handle };
	int r = call(fd, request, &h);

	last_result = h.result;
	return r;
}

int submit(int fd, struct drm_virtio_gpgpu_submit *s, uint32_t *job)
{
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_SUBMIT, s);

	*job = s->job;
	return r;
}

int submit_nop(int fd, uint32_t timeline, uint32_t in, uint32_t out, uint32_t *job)
{
	struct drm_virtio_gpgpu_submit s = {
		.type = DRM_VIRTIO_GPGPU_JOB_NOP,
		.timeline = timeline,
		.in_syncobjs = (uintptr_t)&in,
		.num_in_syncobjs = in != 0,
		.out_syncobj = out,
	};

	return submit(fd, &s, job);
}

int submit_fill(int fd, uint32_t bo, uint64_t offset, uint64_t size, uint32_t pattern, uint32_t *job)
{
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_FILL };

	s.copy.dst = bo;
	s.copy.dst_offset = offset;
	s.copy.size = size;
	s.copy.pattern = pattern;
	return submit(fd, &s, job);
}

int submit_busy(int fd, uint32_t prog, uint32_t timeline, uint32_t out, uint32_t *job)
{
	struct drm_virtio_gpgpu_submit s = {
		.type = DRM_VIRTIO_GPGPU_JOB_DISPATCH,
		.timeline = timeline,
		.out_syncobj = out,
	};

	s.dispatch.prog = prog;
	for (int i = 0; i < 3; i++) {
		s.dispatch.grid[i] = i < 2 ? 1 << 20 : 1;
		s.dispatch.group[i] = 1;
	}
	return submit(fd, &s, job);
}

int new_busy_prog(int fd, uint32_t *prog)
{
	return prog_new(fd, VIRTIO_GPGPU_PROG_GPGPU, busy_prog, ARRAY_SIZE(busy_prog), "", prog, NULL, 0);
}

int job_wait(int fd, uint32_t job, int64_t timeout_ns)
{
	struct drm_virtio_gpgpu_job_wait w = { .job = job, .timeout_ns = timeout_ns };
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w);

	last_result = w.result;
	return r;
}

int job_end(int fd, uint32_t job)
{
	struct drm_virtio_gpgpu_result result;
	int r = job_wait(fd, job, -1), r2;

	result = last_result;
	r2 = by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);
	last_result = result;
	return r ? r : r2;
}

int syncobj_new(int fd, uint32_t *handle)
{
	struct drm_syncobj_create c = { 0 };
	int r = call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &c);

	*handle = c.handle;
	return r;
}

int syncobj_wait(int fd, uint32_t handle, double seconds)
{
	struct drm_syncobj_wait w = {
		.handles = (uintptr_t)&handle,
		.count_handles = 1,
		.timeout_nsec = (int64_t)((now() + seconds) * 1e9),
	};

	return call(fd, DRM_IOCTL_SYNCOBJ_WAIT, &w);
}

uint64_t device_memory(int fd)
{
	struct virtio_gpgpu_resp_stats stats = { 0 };
	struct drm_virtio_gpgpu_get_stats g = { .ptr = (uintptr_t)&stats, .size = sizeof(stats) };

	return call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_STATS, &g) ? UINT64_MAX : stats.memory;
}
