// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_objects.c - the node itself, capabilities, buffers, maps, programs: right, and every field wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node.h"

#define BAD_POINTER ((void *)(uintptr_t)0x1000)
#define KIB	    1024ull
#define MIB	    (KIB * KIB)

void test_caps(void)
{
	int fd = node_open();
	struct virtio_gpgpu_caps c = { 0 };
	struct drm_virtio_gpgpu_get_caps g = { .ptr = (uintptr_t)&c, .size = sizeof(c) };
	struct virtio_gpgpu_resp_stats stats = { 0 };
	struct drm_virtio_gpgpu_get_stats s = { .ptr = (uintptr_t)&stats, .size = sizeof(stats) };
	char name[32] = "";
	struct drm_version v = { .name = name, .name_len = sizeof(name) - 1 };

	if (!ok(fd >= 0, "the node opens"))
		groan("cannot open %s: %s", node_path, strerror(-fd));
	is(call(fd, DRM_IOCTL_VERSION, &v), 0, "version");
	ok(!strcmp(name, "virtio_gpgpu"), "driver is virtio_gpgpu");

	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g), 0, "caps");
	is(g.size, sizeof(c), "caps: size filled");
	ok(g.generation >= 1, "caps: generation %u", g.generation);
	ok(c.version >= 1 && c.num_cpus && c.shm_size && c.max_jobs, "caps: filled");
	caps = c;
	memset(&c, 0xaa, sizeof(c));
	g.size = 8;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g), 0, "caps: a short one");
	ok(g.size == 8 && c.version == caps.version && c.device_name[0] == 0xaa, "caps: only what fits");
	g.size = 1 << 20;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g), 0, "caps: room for more");
	is(g.size, sizeof(c), "caps: says what there is");
	g.ptr = (uintptr_t)BAD_POINTER;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_CAPS, &g), -EFAULT, "caps: bad pointer");

	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_STATS, &s), 0, "stats");
	ok(stats.hdr.status == VIRTIO_GPGPU_S_OK && stats.weight, "stats: filled");
	s.pad = 1;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_STATS, &s), -EINVAL, "stats: pad");
	s.pad = 0;
	s.ptr = (uintptr_t)BAD_POINTER;
	s.size = sizeof(stats);
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_GET_STATS, &s), -EFAULT, "stats: bad pointer");
	is(call(fd, DRM_IO(DRM_COMMAND_BASE + 0x3f), NULL), -EINVAL, "an ioctl that does not exist");
	close(fd);
}

static bool all_bytes(const uint8_t *p, uint64_t size, uint8_t value)
{
	for (uint64_t i = 0; i < size; i++) {
		if (p[i] != value)
			return false;
	}
	return true;
}

static void test_buffers(int fd)
{
	uint32_t page = sysconf(_SC_PAGESIZE);
	struct buffer bo, big[64];
	unsigned int n = 0, again = 0;
	void *p;

	is(bo_new(fd, 100, DRM_VIRTIO_GPGPU_BO_SHM, &bo), 0, "buffer: created and mapped");
	is(bo.size, page, "buffer: size rounded up to a page");
	ok(bo.map && all_bytes(bo.map, bo.size, 0), "buffer: zero");
	memset(bo.map, 0x5a, bo.size);
	p = mmap(NULL, bo.size, PROT_READ, MAP_SHARED, fd, bo.mmap_offset);
	ok(p != MAP_FAILED && all_bytes(p, bo.size, 0x5a), "buffer: a second mapping shows the same");
	if (p != MAP_FAILED)
		munmap(p, bo.size);
	ok(mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, bo.mmap_offset) == MAP_FAILED,
	   "buffer: no private mapping");
	ok(mmap(NULL, bo.size + page, PROT_READ, MAP_SHARED, fd, bo.mmap_offset) == MAP_FAILED,
	   "buffer: no mapping beyond its end");
	ok(mmap(NULL, page, PROT_READ, MAP_SHARED, fd, bo.mmap_offset + 64 * page) == MAP_FAILED,
	   "buffer: no mapping of what is nobody's");
	ok(mremap(bo.map, bo.size, 2 * bo.size, MREMAP_MAYMOVE) == MAP_FAILED, "buffer: mapping cannot grow");
	p = bo.map;
	bo.map = NULL;
	is(bo_close(fd, &bo), 0, "buffer: closed while mapped");
	ok(all_bytes(p, bo.size, 0x5a), "buffer: the mapping keeps it");
	munmap(p, bo.size);
	is(bo_close(fd, &bo), -EINVAL, "buffer: closed twice");

	is(bo_new(fd, 0, DRM_VIRTIO_GPGPU_BO_SHM, &bo), -EINVAL, "buffer: size 0");
	is(bo_new(fd, UINT64_MAX, DRM_VIRTIO_GPGPU_BO_SHM, &bo), -EINVAL, "buffer: size 2^64 - 1");
	is(bo_new(fd, 1ull << 62, DRM_VIRTIO_GPGPU_BO_SHM, &bo), -ENOMEM, "buffer: size 2^62");
	is(bo_new(fd, page, 0, &bo), -EINVAL, "buffer: memory kind 0");
	is(bo_new(fd, page, 3, &bo), -EINVAL, "buffer: memory kind 3");
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_BO_CREATE, BAD_POINTER), -EFAULT, "buffer: bad pointer");

	if (is(bo_new(fd, 3 * page, DRM_VIRTIO_GPGPU_BO_DEVICE, &bo), 0, "buffer: device memory")) {
		is(bo.mmap_offset, 0, "buffer: device memory has no mapping");
		bo_close(fd, &bo);
	}

	/* All of the region, then all of it again: closing gives it back, and not one byte shows through. */
	for (n = 0; n < ARRAY_SIZE(big); n++) {
		if (bo_new(fd, caps.shm_size / 32, DRM_VIRTIO_GPGPU_BO_SHM, &big[n]))
			break;
		memset(big[n].map, 0xc3, big[n].size);
	}
	ok(n >= 16 && n <= 32, "buffer: %u of a 32nd of the region", n);
	is(bo_new(fd, caps.shm_size / 16, DRM_VIRTIO_GPGPU_BO_SHM, &bo), -ENOMEM, "buffer: region is full");
	for (unsigned int i = 0; i < n; i++)
		bo_close(fd, &big[i]);
	for (again = 0; again < n; again++) {
		if (bo_new(fd, caps.shm_size / 32, DRM_VIRTIO_GPGPU_BO_SHM, &big[again]) ||
		    !all_bytes(big[again].map, big[again].size, 0))
			break;
	}
	is(again, n, "buffer: as many again, all zero");
	for (unsigned int i = 0; i < again; i++)
		bo_close(fd, &big[i]);
}

static void test_map_ops(int fd, uint32_t map)
{
	uint32_t key = 7, next = 0;
	uint64_t value = 42, got = 0;

	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 8, 0), -ENOENT, "map: empty");
	is(last_result.status, VIRTIO_GPGPU_S_NOT_FOUND, "map: the device's status is told");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_NEXT_KEY, NULL, &next, 4, 0), -ENOENT, "map: no first key");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, BPF_EXIST), -ENOENT,
	   "map: update of what is not there");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, BPF_NOEXIST), 0, "map: insert");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, BPF_NOEXIST), -EEXIST,
	   "map: insert again");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 8, 0), 0, "map: look up");
	is(got, 42, "map: value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_NEXT_KEY, NULL, &next, 4, 0), 0, "map: first key");
	is(next, 7, "map: it is the key");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_NEXT_KEY, &key, &next, 4, 0), -ENOENT, "map: last key");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 99), -EINVAL, "map: bad flags");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 4, 0), -EINVAL, "map: short value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 1 << 30, 0), -EINVAL,
	   "map: long value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 7, 0), -EINVAL, "map: no room for value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 8, 1), -EINVAL, "map: flags on look-up");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, &got, 8, 0), -EFAULT, "map: no key");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, BAD_POINTER, 8, 0), -EFAULT,
	   "map: bad value pointer");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, BAD_POINTER, &value, 8, 0), -EFAULT,
	   "map: bad key pointer");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_NEXT_KEY, NULL, &next, 3, 0), -EINVAL,
	   "map: no room for key");
	is(map_op(fd, map, 0, &key, &value, 8, 0), -EINVAL, "map: operation 0");
	is(map_op(fd, map, 6, &key, &value, 8, 0), -EINVAL, "map: operation 6");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, &key, &got, 7, 0), -EINVAL,
	   "map: no room for what is popped");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, &key, &got, 8, 1), -EINVAL, "map: flags on a pop");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, &key, &got, 8, 0), 0, "map: pop");
	is(got, 42, "map: popped value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, &key, &got, 8, 0), -ENOENT, "map: popped, it is gone");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0), 0, "map: back again");
	is(map_op(fd, map + 1000, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 8, 0), -ENOENT, "map: bad handle");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, &value, 8, 0), -EINVAL,
	   "map: delete takes no value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, NULL, 0, 0), 0, "map: delete");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, NULL, 0, 0), -ENOENT, "map: delete again");
	for (key = 0; key < 16; key++) {
		if (map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0))
			break;
	}
	is(key, 16, "map: as many as it has room for");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0), -E2BIG, "map: full");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE, map), 0, "map: frozen");
	key = 0;
	ok(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 8, 0) < 0, "map: frozen, no update");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &got, 8, 0), 0, "map: frozen, look up");
}

static void test_maps(int fd)
{
	struct drm_virtio_gpgpu_handle h = { .pad = 1 };
	uint64_t values[VIRTIO_GPGPU_MAX_QUEUES * 16] = { 0 };
	uint32_t map, key = 0;
	uint32_t bytes = caps.num_cpus * 8;

	if (is(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 4, 8, 16, &map), 0, "map: hash")) {
		test_map_ops(fd, map);
		h.handle = map;
		is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, &h), -EINVAL, "map: destroy, pad");
		is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE, &h), -EINVAL, "map: freeze, pad");
		is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map), 0, "map: destroyed");
		is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map), -ENOENT, "map: destroyed twice");
		is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_FREEZE, map), -ENOENT, "map: freeze of none");
	}
	if (bytes <= sizeof(values) &&
	    is(map_new(fd, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, 5, 3, &map), 0, "map: per-CPU array")) {
		for (uint32_t i = 0; i < caps.num_cpus; i++)
			values[i] = i + 1;
		is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, values, bytes, 0), 0,
		   "map: per CPU, update");
		memset(values, 0xff, sizeof(values));
		is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, values, bytes, 0), 0,
		   "map: per CPU, look up");
		ok(values[0] == 1 && values[caps.num_cpus - 1] == caps.num_cpus &&
			   (bytes == sizeof(values) || values[caps.num_cpus] == UINT64_MAX),
		   "map: per CPU, the values, and nothing behind them");
		is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, values, 5, 0), -EINVAL,
		   "map: per CPU, one value is not enough");
		by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);
	}
	ok(map_new(fd, 99, 4, 8, 16, &map) < 0 && last_result.status, "map: type 99 refused by the device");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 0, 8, 16, &map) < 0, "map: key size 0");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 1 << 20, 8, 16, &map) < 0, "map: key size 2^20");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 4, 0, 16, &map) < 0, "map: value size 0");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 4, UINT32_MAX, 16, &map) < 0, "map: value size 2^32 - 1");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_PERCPU_ARRAY, 4, UINT32_MAX, 16, &map) < 0,
	   "map: per-CPU value size 2^32 - 1");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 0, &map) < 0, "map: no entries");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 8, 8, 1, &map) < 0, "map: array with a key of 8 bytes");
	ok(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, 65536, UINT32_MAX, &map) < 0, "map: larger than memory");
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE, BAD_POINTER), -EFAULT, "map: bad pointer");
}

void test_objects(void)
{
	int fd = node_open();

	test_buffers(fd);
	test_maps(fd);
	close(fd);
}

void test_programs(void)
{
	struct bpf_insn ref[4] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_insn bad[2] = { pass_prog[0], { .code = 0xff } };
	struct drm_virtio_gpgpu_prog_create c;
	struct drm_virtio_gpgpu_handle h = { .pad = 1 };
	char message[VIRTIO_GPGPU_MESSAGE] = "", tiny[4];
	int fd = node_open();
	uint32_t prog, map;

	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, pass_prog, 2, "", &prog, message, sizeof(message)), 0,
	   "program: XDP");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog), 0, "program: destroyed");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog), -ENOENT, "program: destroyed twice");
	h.handle = prog;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, &h), -EINVAL, "program: destroy, pad");

	memset(message, 'x', sizeof(message));
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, bad, 2, "", &prog, message, sizeof(message)), -EINVAL,
	   "program: bad opcode");
	ok(last_result.status == VIRTIO_GPGPU_S_REJECTED && last_result.reason == VIRTIO_GPGPU_R_OPCODE &&
		   last_result.detail == 1,
	   "program: refused at instruction 1");
	ok(memchr(message, 0, sizeof(message)) && message[0] && message[0] != 'x', "program: says why: %.80s",
	   message);
	memset(tiny, 'x', sizeof(tiny));
	prog_new(fd, VIRTIO_GPGPU_PROG_XDP, bad, 2, "", &prog, tiny, 3);
	ok(tiny[2] == 0 && tiny[3] == 'x', "program: the message is cut to its room");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, bad, 2, "", &prog, BAD_POINTER, 10), -EFAULT,
	   "program: bad message pointer");

	is(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, &map), 0, "program: its map");
	ref[0].imm = map;
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, ref, 4, "", &prog, NULL, 0), 0, "program: refers to a map");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map), 0, "program: keeps its map");
	is(by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog), 0, "program: goes with its map");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, ref, 4, "", &prog, NULL, 0), -ENOENT,
	   "program: refers to a map that is gone");
	is(last_result.reason, VIRTIO_GPGPU_R_MAP_REF, "program: says that it is the map");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, ref, 1, "", &prog, NULL, 0), -ENOENT,
	   "program: half an instruction, no map");
	ref[0].src_reg = 0;
	ok(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, ref, 1, "", &prog, NULL, 0) < 0 &&
		   last_result.status == VIRTIO_GPGPU_S_REJECTED,
	   "program: half an instruction");
	ok(prog_new(fd, 99, pass_prog, 2, "", &prog, NULL, 0) < 0, "program: kind 99");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, pass_prog, 0, "", &prog, NULL, 0), -EINVAL, "program: empty");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, pass_prog, UINT32_MAX, "", &prog, NULL, 0), -E2BIG,
	   "program: 2^32 - 1 instructions");
	is(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, BAD_POINTER, 2, "", &prog, NULL, 0), -EFAULT,
	   "program: bad pointer");

	c = (struct drm_virtio_gpgpu_prog_create){
		.kind = VIRTIO_GPGPU_PROG_XDP,
		.num_insns = 2,
		.insns = (uintptr_t)pass_prog,
		.pad = 1,
	};
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &c), -EINVAL, "program: pad");
	c.pad = 0;
	c.flags = 1 << 7;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &c), -EINVAL, "program: unknown flag");
	c.flags = VIRTIO_GPGPU_PROG_F_BIG_ENDIAN;
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &c), -EOPNOTSUPP, "program: big endian");
	c.flags = 0;
	c.num_args = 17;
	ok(call(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_CREATE, &c) < 0, "program: 17 arguments");
	close(fd);
}
