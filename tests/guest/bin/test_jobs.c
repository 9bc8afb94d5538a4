// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_jobs.c - jobs of every type, right and with every field wrong; waiting, cancelling, fences.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node.h"

#define BAD_POINTER 0x1000
#define MS	    1000000ll

static int copy(int fd, uint32_t dst, uint64_t dst_offset, uint32_t src, uint64_t src_offset, uint64_t size)
{
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_COPY };
	uint32_t job;
	int r;

	s.copy.dst = dst;
	s.copy.src = src;
	s.copy.dst_offset = dst_offset;
	s.copy.src_offset = src_offset;
	s.copy.size = size;
	r = submit(fd, &s, &job);
	return r ? r : job_end(fd, job);
}

static int fill(int fd, uint32_t bo, uint64_t offset, uint64_t size, uint32_t pattern)
{
	uint32_t job;
	int r = submit_fill(fd, bo, offset, size, pattern, &job);

	return r ? r : job_end(fd, job);
}

static void test_memory_jobs(int fd)
{
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_FILL };
	uint32_t *words, job, bad = 0;
	struct buffer a, b, dev;

	must(bo_new(fd, 65536, DRM_VIRTIO_GPGPU_BO_SHM, &a));
	must(bo_new(fd, 65536, DRM_VIRTIO_GPGPU_BO_SHM, &b));
	is(fill(fd, a.handle, 4096, 8192, 0xdeadbeef), 0, "fill");
	words = (uint32_t *)a.map;
	for (uint32_t i = 0; i < 65536 / 4; i++)
		bad += words[i] != (i >= 1024 && i < 3072 ? 0xdeadbeef : 0);
	is(bad, 0, "fill: these words and no others");
	is(copy(fd, b.handle, 0, a.handle, 4096, 4096), 0, "copy");
	ok(!memcmp(b.map, a.map + 4096, 4096) && !b.map[4096], "copy: these bytes and no others");
	if (!bo_new(fd, 65536, DRM_VIRTIO_GPGPU_BO_DEVICE, &dev)) {
		is(copy(fd, dev.handle, 0, a.handle, 0, 65536), 0, "copy: into device memory");
		is(copy(fd, b.handle, 0, dev.handle, 0, 65536), 0, "copy: out of device memory");
		ok(!memcmp(a.map, b.map, 65536), "copy: there and back");
		bo_close(fd, &dev);
	}
	is(fill(fd, a.handle, 65536, 4, 0), -EINVAL, "fill: beyond the end");
	is(last_result.reason, VIRTIO_GPGPU_R_RANGE, "fill: says that it is the range");
	is(fill(fd, a.handle, UINT64_MAX - 3, 8, 0), -EINVAL, "fill: overflow");
	is(copy(fd, b.handle, 0, a.handle, 60000, 65536), -EINVAL, "copy: beyond the end");
	is(submit_fill(fd, a.handle + 1000, 0, 4, 0, &job), -ENOENT, "fill: bad handle");
	is(submit_fill(fd, 0, 0, 4, 0, &job), -ENOENT, "fill: handle 0");
	s.copy.dst = a.handle;
	s.copy.src = b.handle;
	s.copy.size = 4;
	is(submit(fd, &s, &job), -EINVAL, "fill: a source");
	s.copy.src = 0;
	s.copy.pad = 1;
	is(submit(fd, &s, &job), -EINVAL, "fill: pad");
	s.copy.pad = 0;
	s.space[15] = 1;
	is(submit(fd, &s, &job), -EINVAL, "fill: the unused words");
	s.space[15] = 0;
	s.type = DRM_VIRTIO_GPGPU_JOB_COPY;
	s.copy.src = b.handle;
	s.copy.pattern = 1;
	is(submit(fd, &s, &job), -EINVAL, "copy: a pattern");

	/* What a job uses lives until the job has ended, whatever becomes of the handles. */
	must(submit_fill(fd, a.handle, 0, 65536, 1, &job));
	bo_close(fd, &a);
	is(job_end(fd, job), 0, "fill: buffer closed meanwhile");
	bo_close(fd, &b);
}

static void test_dispatch(int fd)
{
	struct drm_virtio_gpgpu_arg args[2] = { { .kind = VIRTIO_GPGPU_ARG_BUFFER },
						{ .kind = VIRTIO_GPGPU_ARG_VALUE, .value = 1000 } };
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_DISPATCH };
	struct drm_virtio_gpgpu_job_wait w = { .timeout_ns = -1 };
	uint32_t job, prog, bad = 0;
	struct buffer bo;

	must(bo_new(fd, 1 << 16, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	if (!is(prog_new(fd, VIRTIO_GPGPU_PROG_GPGPU, store_prog, ARRAY_SIZE(store_prog), "bv", &prog, NULL,
			 0),
		0, "dispatch: its program"))
		return;
	args[0].handle = bo.handle;
	s.dispatch.prog = prog;
	s.dispatch.num_args = 2;
	s.dispatch.args = (uintptr_t)args;
	for (int i = 0; i < 3; i++)
		s.dispatch.grid[i] = s.dispatch.group[i] = 1;
	s.dispatch.grid[0] = 10000;
	s.dispatch.group[0] = 16;
	is(submit(fd, &s, &job), 0, "dispatch");
	w.job = job;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), 0, "dispatch: ended");
	for (uint32_t i = 0; i < (1 << 14); i++)
		bad += ((uint32_t *)bo.map)[i] != (i < 10000 ? i + 1000 : 0);
	is(bad, 0, "dispatch: every work item wrote its word");
	ok(w.device_ns > 0 && w.slices >= 1 && !w.fault_count, "dispatch: %llu ns in %u slices",
	   (unsigned long long)w.device_ns, w.slices);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);

	s.dispatch.grid[0] = 1 << 20; /* far beyond the buffer */
	submit(fd, &s, &job);
	w.job = job;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), -EIO, "dispatch: out of bounds is a fault");
	ok(w.result.status == VIRTIO_GPGPU_S_FAULT && w.result.reason == VIRTIO_GPGPU_R_OUT_OF_BOUNDS &&
		   w.fault_count == (1 << 20) - (1 << 14) && w.fault_insn == 8,
	   "dispatch: %llu faults, at instruction %u, first item %llu", (unsigned long long)w.fault_count,
	   w.fault_insn, (unsigned long long)w.result.detail);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);

	s.dispatch.grid[0] = 0;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "dispatch: grid of 0");
	s.dispatch.grid[0] = 16;
	s.dispatch.prog = prog + 1000;
	is(submit(fd, &s, &job), -ENOENT, "dispatch: bad program");
	s.dispatch.prog = prog;
	s.dispatch.num_args = 1;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "dispatch: too few arguments");
	s.dispatch.num_args = 17;
	is(submit(fd, &s, &job), -EINVAL, "dispatch: 17 arguments");
	s.dispatch.num_args = 2;
	s.dispatch.args = BAD_POINTER;
	is(submit(fd, &s, &job), -EFAULT, "dispatch: bad pointer");
	s.dispatch.args = (uintptr_t)args;
	args[0].handle = bo.handle + 1000;
	is(submit(fd, &s, &job), -ENOENT, "dispatch: bad buffer");
	args[0].handle = bo.handle;
	args[0].value = 1 << 20;
	is(submit(fd, &s, &job), -EINVAL, "dispatch: offset beyond the buffer, to its end");
	args[0].size = 64;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "dispatch: range beyond the buffer");
	args[0].value = UINT64_MAX - 7;
	args[0].size = 16;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "dispatch: range that overflows");
	args[0] = (struct drm_virtio_gpgpu_arg){ .kind = VIRTIO_GPGPU_ARG_VALUE };
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "dispatch: argument of another kind");
	args[0].kind = 99;
	is(submit(fd, &s, &job), -EINVAL, "dispatch: argument of kind 99");
	args[0] = (struct drm_virtio_gpgpu_arg){ .kind = VIRTIO_GPGPU_ARG_VALUE, .handle = 1 };
	is(submit(fd, &s, &job), -EINVAL, "dispatch: value with a handle");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
	bo_close(fd, &bo);
}

static void test_packets(int fd)
{
	enum { N = 3000, STRIDE = 128 };
	struct drm_virtio_gpgpu_packet_desc *descs = calloc(N, sizeof(*descs));
	struct drm_virtio_gpgpu_packet_result *results = calloc(N + 1, sizeof(*results));
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_PACKETS };
	struct drm_virtio_gpgpu_job_wait w = { .timeout_ns = -1 };
	uint32_t job, prog, bad = 0;
	struct buffer bo;

	if (!descs || !results)
		groan("no memory");
	must(bo_new(fd, N * STRIDE, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, pass_prog, 2, "", &prog, NULL, 0), 0,
	   "packets: their program");
	for (uint32_t i = 0; i < N; i++)
		descs[i] = (struct drm_virtio_gpgpu_packet_desc){ .data_off = 32, .data_len = 60 + i % 30 };
	s.packets.prog = prog;
	s.packets.buffer = bo.handle;
	s.packets.stride = STRIDE;
	s.packets.num_packets = N;
	s.packets.descs = (uintptr_t)descs;
	if (!is(submit(fd, &s, &job), 0, "packets"))
		return;
	results[N].verdict = 77;
	w.job = job;
	w.results = (uintptr_t)results;
	w.max_results = N + 1;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), 0, "packets: ended");
	for (uint32_t i = 0; i < N; i++)
		bad += results[i].verdict != XDP_PASS || results[i].data_off != 32 ||
		       results[i].data_len != 60 + i % 30 || results[i].fault;
	is(bad, 0, "packets: all passed as they came");
	ok(w.num_results == N && w.verdicts[XDP_PASS] == N && !w.verdicts[XDP_DROP] &&
		   w.bytes == N * 60 + N / 30 * 435,
	   "packets: %llu passed, %llu bytes", (unsigned long long)w.verdicts[XDP_PASS],
	   (unsigned long long)w.bytes);
	is(results[N].verdict, 77, "packets: nothing behind the results");
	memset(results, 0xff, N * sizeof(*results));
	w.max_results = 5;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), 0, "packets: asked again");
	ok(w.num_results == N && results[4].verdict == XDP_PASS && results[5].verdict == UINT32_MAX,
	   "packets: only as many as there is room for");
	w.results = BAD_POINTER;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), -EFAULT, "packets: bad pointer for results");
	w.results = 0;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), -EINVAL, "packets: room for results nowhere");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);

	s.flags = VIRTIO_GPGPU_PACKETS_ORDER_FLOW;
	ok(!submit(fd, &s, &job) && !job_end(fd, job), "packets: order of flows");
	s.flags = VIRTIO_GPGPU_PACKETS_ORDER_ALL;
	s.packets.num_packets = 100;
	ok(!submit(fd, &s, &job) && !job_end(fd, job), "packets: order of all");
	s.flags = 4;
	is(submit(fd, &s, &job), -EINVAL, "packets: unknown flag");
	s.flags = 0;
	s.packets.num_packets = 0;
	is(submit(fd, &s, &job), -EINVAL, "packets: none");
	s.packets.num_packets = VIRTIO_GPGPU_MAX_BATCH + 1;
	is(submit(fd, &s, &job), -EINVAL, "packets: too many");
	s.packets.num_packets = N;
	s.packets.stride = 100;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "packets: stride of 100");
	s.packets.stride = 256;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "packets: slots beyond the buffer");
	s.packets.stride = STRIDE;
	s.packets.offset = UINT64_MAX - 63;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL, "packets: offset that overflows");
	s.packets.offset = 0;
	descs[2].data_len = STRIDE;
	ok(!submit(fd, &s, &job) && job_end(fd, job) == -EINVAL && last_result.detail == 2,
	   "packets: packet 2 beyond its slot");
	s.packets.descs = BAD_POINTER;
	is(submit(fd, &s, &job), -EFAULT, "packets: bad pointer");
	s.packets.descs = (uintptr_t)descs;
	s.packets.buffer = 0;
	is(submit(fd, &s, &job), -ENOENT, "packets: bad buffer");
	s.packets.buffer = bo.handle;
	s.packets.prog = 0;
	is(submit(fd, &s, &job), -ENOENT, "packets: bad program");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
	bo_close(fd, &bo);
	free(descs);
	free(results);
}

static void test_waiting(int fd)
{
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_NOP };
	struct drm_virtio_gpgpu_job_wait w = { .timeout_ns = -1, .pad = 1 };
	struct drm_virtio_gpgpu_handle h = { .pad = 1 };
	uint32_t job, other, next, prog, good;
	double start;

	is(submit_nop(fd, 0, 0, 0, &job), 0, "job: submitted");
	is(job_wait(fd, job, -1), 0, "job: ended");
	is(job_wait(fd, job, 0), 0, "job: polled afterwards");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job), 0, "job: cancelled afterwards");
	is(job_wait(fd, job, 0), 0, "job: has still ended well");
	w.job = job;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w), -EINVAL, "job: wait, pad");
	h.handle = job;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, &h), -EINVAL, "job: cancel, pad");
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, &h), -EINVAL, "job: destroy, pad");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job), 0, "job: destroyed");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job), -ENOENT, "job: destroyed twice");
	is(job_wait(fd, job, 0), -ENOENT, "job: wait for none");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job), -ENOENT, "job: cancel none");

	s.type = 0;
	is(submit(fd, &s, &job), -EINVAL, "job: type 0");
	s.type = 6;
	is(submit(fd, &s, &job), -EINVAL, "job: type 6");
	s.type = DRM_VIRTIO_GPGPU_JOB_NOP;
	s.flags = 1;
	is(submit(fd, &s, &job), -EINVAL, "job: flags");
	s.flags = 0;
	s.pad = 1;
	is(submit(fd, &s, &job), -EINVAL, "job: pad");
	s.pad = 0;
	s.timeline = 16;
	is(submit(fd, &s, &job), -EINVAL, "job: timeline 16");
	s.timeline = 15;
	s.queue = UINT32_MAX;
	ok(!submit(fd, &s, &job) && !job_end(fd, job), "job: last timeline, last queue");
	s.space[0] = 1;
	is(submit(fd, &s, &job), -EINVAL, "job: the unused words");
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_SUBMIT, (void *)BAD_POINTER), -EFAULT, "job: bad pointer");

	if (!is(new_busy_prog(fd, &prog), 0, "job: a program that takes long"))
		return;
	is(submit_busy(fd, prog, 0, 0, &job), 0, "job: one that takes hours");
	must(submit_nop(fd, 0, 0, 0, &next));
	must(submit_nop(fd, 1, 0, 0, &other));
	is(job_wait(fd, job, 0), -ETIME, "job: polled");
	start = now();
	is(job_wait(fd, job, 50 * MS), -ETIME, "job: waited for 50 ms");
	ok(now() - start >= 0.05 && now() - start < 5, "job: %.0f ms", (now() - start) * 1e3);
	is(job_end(fd, other), 0, "job: another timeline goes on");
	is(job_wait(fd, next, 0), -ETIME, "job: the same timeline does not");
	start = now();
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job), 0, "job: cancelled");
	is(job_end(fd, job), -ECANCELED, "job: ends as cancelled");
	ok(now() - start < 5, "job: within %.0f ms", (now() - start) * 1e3);
	is(last_result.status, VIRTIO_GPGPU_S_CANCELLED, "job: status of it");
	is(job_end(fd, next), 0, "job: the next one goes on");
	good = 0;
	for (int i = 0; i < 50; i++) {
		/* At once, so that it may overtake the job on its way to the device. */
		must(submit_busy(fd, prog, i % 3, 0, &job));
		by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job);
		good += job_end(fd, job) == -ECANCELED;
	}
	is(good, 50, "job: 50 cancelled as soon as they were submitted");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
}

/* More jobs at once than the device or the ring takes. */
static void test_many(int fd)
{
	enum { N = 3000 };
	uint32_t *jobs = calloc(N, sizeof(*jobs)), good = 0;

	if (!jobs)
		groan("no memory");
	for (uint32_t i = 0; i < N; i++)
		good += !submit_nop(fd, i % 16, 0, 0, &jobs[i]);
	is(good, N, "jobs: %d submitted at once", N);
	good = 0;
	for (uint32_t i = 0; i < N; i++)
		good += !job_end(fd, jobs[i]);
	is(good, N, "jobs: %d ended", N);
	free(jobs);
}

void test_jobs(void)
{
	int fd = node_open();

	test_memory_jobs(fd);
	test_dispatch(fd);
	if (caps.prog_kinds & (1 << VIRTIO_GPGPU_PROG_XDP))
		test_packets(fd);
	test_waiting(fd);
	test_many(fd);
	close(fd);
}

void test_fences(void)
{
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_NOP };
	uint32_t a, b, c, prog, job, held, after, handles[65];
	int fd = node_open();

	must(syncobj_new(fd, &a));
	must(syncobj_new(fd, &b));
	must(syncobj_new(fd, &c));
	is(submit_nop(fd, 0, 0, a, &job), 0, "fence: a job with one");
	is(syncobj_wait(fd, a, 5), 0, "fence: signals");
	is(job_end(fd, job), 0, "fence: the job ended");
	is(submit_nop(fd, 0, b, 0, &job), -EINVAL, "fence: wait for one that no job has");
	is(submit_nop(fd, 0, 12345, 0, &job), -ENOENT, "fence: wait for one that does not exist");
	is(submit_nop(fd, 0, 0, 12345, &job), -ENOENT, "fence: signal one that does not exist");
	s.in_syncobjs = BAD_POINTER;
	s.num_in_syncobjs = 1;
	is(submit(fd, &s, &job), -EFAULT, "fence: bad pointer");
	for (uint32_t i = 0; i < ARRAY_SIZE(handles); i++)
		handles[i] = a;
	s.in_syncobjs = (uintptr_t)handles;
	s.num_in_syncobjs = 65;
	is(submit(fd, &s, &job), -EINVAL, "fence: too many");
	s.num_in_syncobjs = 64;
	ok(!submit(fd, &s, &job) && !job_end(fd, job), "fence: 64 of them");

	if (!is(new_busy_prog(fd, &prog), 0, "fence: a program that takes long"))
		return;
	must(submit_busy(fd, prog, 0, a, &job));
	is(submit_nop(fd, 1, a, b, &held), 0, "fence: a job that waits for a long one");
	is(submit_nop(fd, 1, 0, 0, &after), 0, "fence: a job behind that");
	is(submit_nop(fd, 2, b, c, &s.job), 0, "fence: a job that waits for the waiting one");
	is(syncobj_wait(fd, c, 0.1), -ETIME, "fence: none has signalled");
	is(job_wait(fd, after, 0), -ETIME, "fence: nor has the one behind ended");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job), 0, "fence: the long one is cancelled");
	is(job_end(fd, job), -ECANCELED, "fence: the long one ends");
	is(syncobj_wait(fd, c, 5), 0, "fence: the last one signals");
	ok(!job_end(fd, held) && !job_end(fd, after) && !job_end(fd, s.job), "fence: all ended well");

	must(submit_busy(fd, prog, 0, a, &job));
	must(submit_nop(fd, 1, a, b, &held));
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, held), 0, "fence: a waiting job is cancelled");
	is(job_end(fd, held), -ECANCELED, "fence: it ends as cancelled");
	is(syncobj_wait(fd, b, 5), 0, "fence: its fence signals");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job);
	is(job_end(fd, job), -ECANCELED, "fence: what it waited for is cancelled, too");
	close(fd);
}
