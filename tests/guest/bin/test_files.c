// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_files.c - who sees what, what closing does, processes and threads, and nonsense.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node.h"

static void test_isolation(void)
{
	int one = node_open(), two = node_open();
	uint32_t map, prog, job, other, key = 0;
	struct buffer bo;
	uint64_t value = 1;
	struct bpf_insn ref[4] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	must(bo_new(one, 4096, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	must(map_new(one, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, &map));
	must(new_busy_prog(one, &prog));
	must(submit_busy(one, prog, 0, 0, &job));
	ref[0].imm = map;

	is(map_op(two, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0), -ENOENT, "two files: map");
	is(by_handle(two, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map), -ENOENT, "two files: map destroyed");
	is(prog_new(two, VIRTIO_GPGPU_PROG_XDP, ref, 4, "", &other, NULL, 0), -ENOENT,
	   "two files: map in a program");
	is(submit_busy(two, prog, 0, 0, &other), -ENOENT, "two files: program");
	is(job_wait(two, job, 0), -ENOENT, "two files: job");
	is(by_handle(two, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job), -ENOENT, "two files: job cancelled");
	is(submit_fill(two, bo.handle, 0, 4, 1, &other), -ENOENT, "two files: buffer");
	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, two, bo.mmap_offset) == MAP_FAILED && errno == EACCES,
	   "two files: mapping");
	is(job_wait(one, job, 0), -ETIME, "two files: the job was not disturbed");
	close(two);
	is(job_wait(one, job, 0), -ETIME, "two files: nor by closing the other");
	close(one);
}

static void test_sharing(void)
{
	int one = node_open(), two = node_open();
	struct drm_prime_handle p = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct drm_gem_close c;
	struct buffer bo;
	uint32_t job, again;
	uint8_t *map;

	must(bo_new(one, 8192, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	p.handle = bo.handle;
	if (!is(call(one, DRM_IOCTL_PRIME_HANDLE_TO_FD, &p), 0, "shared: exported"))
		return;
	is(call(two, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), 0, "shared: imported into another file");
	again = p.handle;
	is(call(two, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), 0, "shared: imported again");
	is(p.handle, again, "shared: the same handle");
	is(submit_fill(two, p.handle, 0, 8192, 0x01010101, &job), 0, "shared: a job of the other file");
	is(job_end(two, job), 0, "shared: it may use it");
	ok(bo.map[0] == 1 && bo.map[8191] == 1, "shared: the first file sees it");
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, p.fd, 0);
	ok(map != MAP_FAILED && map[100] == 1, "shared: mapped through its descriptor");
	bo_close(one, &bo);
	close(one);
	ok(!submit_fill(two, p.handle, 0, 8192, 0x02020202, &job) && !job_end(two, job),
	   "shared: lives on when its file is closed");
	ok(map != MAP_FAILED && map[100] == 2, "shared: and so does the mapping");
	c = (struct drm_gem_close){ .handle = p.handle };
	is(call(two, DRM_IOCTL_GEM_CLOSE, &c), 0, "shared: closed");
	is(submit_fill(two, p.handle, 0, 4, 0, &job), -ENOENT, "shared: no handle any more");
	is(call(two, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), 0, "shared: imported once more");
	ok(!submit_fill(two, p.handle, 0, 8192, 0x03030303, &job) && !job_end(two, job), "shared: and used");
	if (map != MAP_FAILED)
		munmap(map, 8192);
	close(p.fd);
	close(two);
}

/* A dma-buf of this machine's own memory. Return: its descriptor, or -1: the kernel has no such driver. */
static int foreign_buffer(void)
{
	int driver = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory, fd;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = 8192 };

	if (driver < 0)
		return -1;
	memory = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(ftruncate(memory, 8192));
	must(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK));
	create.memfd = (uint32_t)memory;
	fd = ioctl(driver, UDMABUF_CREATE, &create);
	close(memory);
	close(driver);
	return fd;
}

static void test_foreign(void)
{
	int fd = node_open(), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct drm_prime_handle p = { .fd = null };

	is(call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), -EINVAL, "foreign: no dma-buf");
	p.fd = foreign_buffer();
	if (p.fd >= 0) {
		is(call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &p), -EOPNOTSUPP,
		   "foreign: another driver's dma-buf");
		close(p.fd);
	}
	close(null);
	close(fd);
}

/* Opens a file and leaves everything behind in it. */
static void leave_behind(bool busy)
{
	int fd = node_open();
	struct buffer bo, dev;
	uint32_t map, prog, job, a;

	bo_new(fd, 1 << 20, DRM_VIRTIO_GPGPU_BO_SHM, &bo);
	bo_new(fd, 1 << 20, DRM_VIRTIO_GPGPU_BO_DEVICE, &dev);
	map_new(fd, VIRTIO_GPGPU_MAP_HASH, 8, 64, 1000, &map);
	syncobj_new(fd, &a);
	if (busy) {
		new_busy_prog(fd, &prog);
		submit_busy(fd, prog, 0, a, &job);
		submit_nop(fd, 1, a, 0, &job);
		submit_nop(fd, 0, 0, 0, &job);
	}
	submit_fill(fd, bo.handle, 0, bo.size, 1, &job);
	if (bo.map)
		munmap(bo.map, bo.size);
	close(fd);
}

static void test_closing(void)
{
	int fd = node_open(), copy;
	uint64_t before, after = 0;
	uint32_t job, prog;
	double start;

	/* The first use makes the context, which then is in both figures. */
	must(submit_nop(fd, 0, 0, 0, &job));
	job_end(fd, job);
	before = device_memory(fd);

	start = now();
	leave_behind(true);
	ok(now() - start < 5, "closing with jobs under way took %.0f ms", (now() - start) * 1e3);
	start = now();
	for (int i = 0; i < 200; i++)
		leave_behind(i % 10 == 0);
	ok(true, "200 files left behind in %.0f ms", (now() - start) * 1e3);
	for (int i = 0; i < 100; i++) {
		after = device_memory(fd);
		if (after == before)
			break;
		usleep(100000);
	}
	is(after, before, "their memory has come back");

	/* A copy of the descriptor keeps everything. */
	copy = dup(fd);
	must(new_busy_prog(fd, &prog));
	must(submit_busy(fd, prog, 0, 0, &job));
	close(fd);
	is(job_wait(copy, job, 0), -ETIME, "a copied descriptor keeps the job");
	close(copy);
}

static void *hammer(void *arg)
{
	int fd = arg ? *(int *)arg : node_open();
	struct buffer bo;
	uint32_t job;
	long bad = 0;

	for (uint32_t i = 1; i <= 100; i++) {
		uint32_t value = i * 0x9e3779b9u ^ (uint32_t)(uintptr_t)&bo;

		if (bo_new(fd, 32768, DRM_VIRTIO_GPGPU_BO_SHM, &bo)) {
			bad++;
			continue;
		}
		if (submit_fill(fd, bo.handle, 0, bo.size, value, &job) || job_end(fd, job))
			bad++;
		for (uint32_t k = 0; k < bo.size / 4; k++)
			bad += ((uint32_t *)bo.map)[k] != value;
		bo_close(fd, &bo);
	}
	if (!arg)
		close(fd);
	return (void *)bad;
}

static void test_threads(void)
{
	pthread_t threads[8];
	int fd = node_open();
	long bad = 0;
	void *r;

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, hammer, i < 4 ? &fd : NULL);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &r);
		bad += (long)r;
	}
	is(bad, 0, "8 threads, 4 on one file, each sees its own data only");
	close(fd);
}

/* Fills a file's share of what the device takes with jobs that wait for @sync or behind a long one. */
static unsigned int fill_share(int fd, uint32_t timeline, uint32_t sync, unsigned int most)
{
	uint32_t prog, job;
	unsigned int n = 0;

	if (!sync) {
		must(new_busy_prog(fd, &prog));
		must(submit_busy(fd, prog, timeline, 0, &job));
		n++;
	}
	while (n < most && !submit_nop(fd, timeline, sync, 0, &job))
		n++;
	return n;
}

/*
 * Jobs that only wait for a fence keep nobody off the device. When the device has all that it takes, a job
 * waits its turn, and has it when another file's jobs have gone.
 */
static void test_crowd(void)
{
	const unsigned int share = caps.max_jobs / 4;
	int fds[4], slow = node_open(), fd;
	uint32_t prog, sync, handle, job;
	struct drm_syncobj_handle share_sync = { 0 };
	unsigned int n = 0;
	double start;

	must(new_busy_prog(slow, &prog));
	must(syncobj_new(slow, &sync));
	must(submit_busy(slow, prog, 0, sync, &job));
	share_sync.handle = sync;
	must(call(slow, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &share_sync));
	for (int i = 0; i < 4; i++) {
		fds[i] = node_open();
		must(call(fds[i], DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &share_sync));
		handle = share_sync.handle;
		n += fill_share(fds[i], 1, handle, share);
	}
	close(share_sync.fd);
	is(n, 4 * share, "crowd: jobs that wait for a fence");
	fd = node_open();
	start = now();
	ok(!submit_nop(fd, 0, 0, 0, &job) && !job_end(fd, job) && now() - start < 10,
	   "crowd: another file's job runs, after %.0f ms", (now() - start) * 1e3);
	start = now();
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	close(slow);
	ok(now() - start < 10, "crowd: all closed in %.0f ms", (now() - start) * 1e3);

	n = 0;
	for (int i = 0; i < 4; i++) {
		fds[i] = node_open();
		n += fill_share(fds[i], 2, 0, share);
	}
	is(n, 4 * share, "crowd: jobs that the device has");
	must(submit_nop(fd, 0, 0, 0, &job));
	close(fds[2]);
	is(job_wait(fd, job, 20000000000ll), 0, "crowd: a job that found no room runs when there is some");
	for (int i = 0; i < 4; i++)
		if (i != 2)
			close(fds[i]);
	must(submit_nop(fd, 0, 0, 0, &job));
	is(job_end(fd, job), 0, "crowd: and so do others");
	close(fd);
}

void test_files(void)
{
	test_isolation();
	test_sharing();
	test_foreign();
	test_closing();
	test_crowd();
	test_threads();
}

void test_processes(void)
{
	char path[64], line[256];
	bool driver = false, engine = false, memory = false;
	int fd = node_open(), status;
	uint32_t prog, job;
	struct buffer bo;
	double start;
	FILE *f;
	pid_t pid;

	must(bo_new(fd, 4096, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	pid = fork();
	if (!pid) {
		bo.map[5] = 55;
		close(fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && bo.map[5] == 55, "fork: a child writes into the mapping");
	ok(!submit_fill(fd, bo.handle, 0, 4096, 7, &job) && !job_end(fd, job),
	   "fork: the file lives on when the child closed it");

	must(new_busy_prog(fd, &prog));
	must(submit_busy(fd, prog, 0, 0, &job));
	pid = fork();
	if (!pid) {
		job_wait(fd, job, -1);
		_exit(0);
	}
	usleep(200000);
	start = now();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && now() - start < 5, "a waiting process can be killed, in %.0f ms",
	   (now() - start) * 1e3);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL, job);
	is(job_end(fd, job), -ECANCELED, "what it waited for goes on without it");

	/* Killed in the middle of making objects: nothing is left behind. */
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			int mine = node_open();

			for (;;) {
				bo_new(mine, 1 << 20, DRM_VIRTIO_GPGPU_BO_SHM, &bo);
				bo_close(mine, &bo);
				if (!new_busy_prog(mine, &prog))
					by_handle(mine, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
			}
		}
		usleep(5000 + i * 3000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	ok(!submit_fill(fd, bo.handle, 0, 4096, 9, &job) && !job_end(fd, job) && bo.map[0] == 9,
	   "processes killed while they made objects leave the rest alone");

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long ns;

		driver |= !strcmp(line, "drm-driver:\tvirtio_gpgpu\n");
		engine |= sscanf(line, "drm-engine-compute: %llu ns", &ns) == 1 && ns > 0;
		memory |= !strncmp(line, "drm-total-memory:", 17);
	}
	if (f)
		fclose(f);
	ok(driver && engine && memory, "fdinfo: driver%s, engine time%s, memory%s", driver ? "" : " missing",
	   engine ? "" : " missing", memory ? "" : " missing");
	close(fd);
}

static uint64_t random64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Calls with nonsense in them; small numbers are likely, so that some of it goes through. */
void test_fuzz(void)
{
	static const unsigned long requests[] = {
		DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS,     DRM_IOCTL_VIRTIO_GPGPU_GET_STATS,
		DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE,    DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE,
		DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY,  DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE,
		DRM_IOCTL_VIRTIO_GPGPU_MAP_OP,	     DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE,
		DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, DRM_IOCTL_VIRTIO_GPGPU_SUBMIT,
		DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT,     DRM_IOCTL_VIRTIO_GPGPU_JOB_CANCEL,
		DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY,  DRM_IOCTL_VIRTIO_GPGPU_MAP_BULK,
		DRM_IOCTL_VIRTIO_GPGPU_MAP_READ,
	};
	static uint64_t memory[1024]; /* where pointers may lead */
	uint64_t seed = 20261130, arg[64];
	uint32_t good = 0, job;
	int fd = node_open(), r;

	for (int i = 0; i < 20000; i++) {
		unsigned long request = requests[random64(&seed) % ARRAY_SIZE(requests)];

		for (uint32_t k = 0; k < ARRAY_SIZE(arg); k++) {
			uint64_t x = random64(&seed);

			switch (x % 8) {
			case 0:
				arg[k] = x;
				break;
			case 1:
				arg[k] = (uintptr_t)memory + (x >> 32) % 64 * 8;
				break;
			case 2:
				arg[k] = (x >> 40) % 5 | (x >> 50) % 5 << 32;
				break;
			case 3:
				arg[k] = (x >> 40) % 5000;
				break;
			default:
				arg[k] = 0;
			}
		}
		for (uint32_t k = 0; k < ARRAY_SIZE(memory); k++) {
			if (random64(&seed) % 64 == 0)
				memory[k] = random64(&seed) >> random64(&seed) % 64;
		}
		/* Waits must not be for ever, and buffers not of all the memory there is. */
		if (request == DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT)
			arg[1] = random64(&seed) % 1000000;
		if (request == DRM_IOCTL_VIRTIO_GPGPU_MAP_READ)
			arg[2] = random64(&seed) % 1000000;
		if (request == DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE)
			arg[0] &= 0xfffff;
		r = ioctl(fd, request, arg);
		good += !r;
		if (i % 1000 == 999) {
			close(fd);
			fd = node_open();
		}
	}
	ok(good > 100, "nonsense: %u of 20000 calls were accepted", good);
	is(submit_nop(fd, 0, 0, 0, &job), 0, "nonsense: a job afterwards");
	is(job_end(fd, job), 0, "nonsense: it ends well");
	close(fd);
}
