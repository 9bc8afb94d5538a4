// SPDX-License-Identifier: BSD-3-Clause
/*
 * test_maps.c - maps of programs and of maps, entries in bulk, records and who waits for them.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node.h"

#define BAD_POINTER ((void *)16)
#define LD_MAP(reg, handle)                  \
	{ .code = BPF_LD | BPF_IMM | BPF_DW, \
	  .dst_reg = (reg),                  \
	  .src_reg = BPF_PSEUDO_MAP_FD,      \
	  .imm = (handle) },                 \
		{ 0 }
#define MOV(reg, n)    { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (n) }
#define MOVR(to, from) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from) }
#define ADD(reg, n)    { .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (reg), .imm = (n) }
#define ST(off_, n)    { .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = (off_), .imm = (n) }
#define CALL(n)	       { .code = BPF_JMP | BPF_CALL, .imm = (n) }
#define EXIT()	       { .code = BPF_JMP | BPF_EXIT }

static int new_map_of(int fd, uint32_t type, uint32_t key, uint32_t inner, uint32_t *handle)
{
	struct drm_virtio_gpgpu_map_create c = {
		.type = type,
		.key_size = key,
		.value_size = 4,
		.max_entries = 4,
		.inner = inner,
		.name = "of",
	};
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE, &c);

	last_result = c.result;
	*handle = c.handle;
	return r;
}

static int set(int fd, uint32_t map, uint32_t key, uint32_t value)
{
	return map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, &key, &value, 4, 0);
}

/* One packet through a program. Return: its verdict, or negative errno. */
static int run_packet(int fd, uint32_t prog)
{
	struct drm_virtio_gpgpu_packet_desc desc = { .data_off = 256, .data_len = 64, .ingress_port = 1 };
	struct drm_virtio_gpgpu_packet_result result = { .verdict = 99 };
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_PACKETS };
	struct drm_virtio_gpgpu_job_wait w = { .timeout_ns = -1 };
	struct buffer bo;
	uint32_t job;
	int r;

	must(bo_new(fd, 4096, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	s.packets.prog = prog;
	s.packets.buffer = bo.handle;
	s.packets.stride = 2048;
	s.packets.num_packets = 1;
	s.packets.descs = (uintptr_t)&desc;
	r = submit(fd, &s, &job);
	if (!r) {
		w.job = job;
		w.results = (uintptr_t)&result;
		w.max_results = 1;
		r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_WAIT, &w);
		by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);
	}
	bo_close(fd, &bo);
	return r ? r : (int)result.verdict;
}

static int make_prog(int fd, const struct bpf_insn *insns, uint32_t n)
{
	char message[VIRTIO_GPGPU_MESSAGE] = "";
	uint32_t prog;
	int r = prog_new(fd, VIRTIO_GPGPU_PROG_XDP, insns, n, "", &prog, message, sizeof(message));

	if (r)
		groan("a program was refused: %d, %s", r, message);
	return (int)prog;
}

static void test_prog_array(int fd, int other)
{
	uint32_t map, id = 0, prog, alien;
	struct bpf_insn caller[] = { LD_MAP(2, 0), MOV(3, 1), CALL(BPF_FUNC_tail_call), MOV(0, XDP_DROP),
				     EXIT() };
	uint32_t key = 1;

	must(map_new(fd, VIRTIO_GPGPU_MAP_PROG_ARRAY, 4, 4, 4, &map));
	caller[0].imm = (int)map;
	prog = (uint32_t)make_prog(fd, caller, ARRAY_SIZE(caller));
	is(run_packet(fd, prog), XDP_DROP, "program array: empty");
	must(prog_new(fd, VIRTIO_GPGPU_PROG_XDP, pass_prog, 2, "", &id, NULL, 0));
	must(prog_new(other, VIRTIO_GPGPU_PROG_XDP, pass_prog, 2, "", &alien, NULL, 0));
	is(set(fd, map, 1, 12345), -ENOENT, "program array: a handle that nobody has");
	is(set(fd, map, 1, 0), -ENOENT, "program array: handle 0");
	/* Handles start anew in each file, so one that only the other has must be beyond ours. */
	for (int i = 0; i < 8; i++)
		must(prog_new(other, VIRTIO_GPGPU_PROG_XDP, pass_prog, 2, "", &alien, NULL, 0));
	is(set(fd, map, 1, alien), -ENOENT, "program array: a handle of another file");
	is(set(fd, map, 1, map + 100), -ENOENT, "program array: a map's handle is no program's");
	is(set(fd, map, 1, id), 0, "program array: a program");
	is(run_packet(fd, prog), XDP_PASS, "program array: it is called");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &alien, 4, 0), 0, "program array: look up");
	ok(alien != 0, "program array: the device's id of it");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, id);
	is(run_packet(fd, prog), XDP_PASS, "program array: keeps its program");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, &key, &alien, 4, 0), -EINVAL, "program array: no pop");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, NULL, 0, 0), 0, "program array: deleted");
	is(run_packet(fd, prog), XDP_DROP, "program array: empty again");
	/* What refers to itself in a circle goes with the file; test_files sees that memory comes back. */
	is(set(fd, map, 0, prog), 0, "program array: the program that calls");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);
}

static void test_map_in_map(int fd, int other)
{
	struct drm_virtio_gpgpu_map_create c = {
		.type = VIRTIO_GPGPU_MAP_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1, .pad = 1
	};
	uint32_t outer, hash, template, alien, value, key = 2;

	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_CREATE, &c), -EINVAL, "maps in maps: pad");
	must(map_new(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, &template));
	for (int i = 0; i < 40; i++)
		must(map_new(other, VIRTIO_GPGPU_MAP_ARRAY, 4, 8, 4, &alien));
	ok(new_map_of(fd, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, 0, &outer) < 0, "maps in maps: no template");
	is(new_map_of(fd, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, alien, &outer), -ENOENT,
	   "maps in maps: a template of another file");
	ok(new_map_of(fd, VIRTIO_GPGPU_MAP_ARRAY, 4, template, &outer) < 0,
	   "maps in maps: a template, but no such map");
	must(new_map_of(fd, VIRTIO_GPGPU_MAP_ARRAY_OF_MAPS, 4, template, &outer));
	must(new_map_of(fd, VIRTIO_GPGPU_MAP_HASH_OF_MAPS, 4, template, &hash));
	ok(set(fd, outer, 0, outer) < 0, "maps in maps: not of another shape");
	is(set(fd, outer, 0, alien), -ENOENT, "maps in maps: a handle of another file");
	is(set(fd, outer, 2, template), 0, "maps in maps: set");
	is(set(fd, hash, 77, template), 0, "maps in maps: set in a hash");
	is(map_op(fd, outer, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &value, 4, 0), 0, "maps in maps: look up");
	ok(value != 0, "maps in maps: the device's id of it");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, template);
	is(map_op(fd, outer, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, NULL, 0, 0), 0, "maps in maps: deleted");
	is(map_op(fd, outer, DRM_VIRTIO_GPGPU_MAP_DELETE, &key, NULL, 0, 0), -ENOENT,
	   "maps in maps: deleted twice");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, outer);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, hash);
}

static void test_queue_and_bloom(int fd)
{
	uint64_t value, got;
	uint32_t map;

	must(map_new(fd, VIRTIO_GPGPU_MAP_STACK, 0, 8, 4, &map));
	for (value = 1; value <= 3; value++)
		must(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, NULL, &value, 8, 0));
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, &got, 8, 0), 0, "stack: peek");
	is(got, 3, "stack: its top");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, NULL, &got, 8, 0), 0, "stack: pop");
	is(got, 3, "stack: the same");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_POP, NULL, &got, 8, 0), 0, "stack: pop again");
	is(got, 2, "stack: what was below");
	ok(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_NEXT_KEY, NULL, &got, 8, 0) < 0, "stack: has no keys");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);

	must(map_new(fd, VIRTIO_GPGPU_MAP_BLOOM_FILTER, 0, 8, 16, &map));
	value = 4711;
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, &value, 8, 0), -ENOENT,
	   "bloom filter: not there");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_UPDATE, NULL, &value, 8, 0), 0, "bloom filter: added");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, &value, 8, 0), 0, "bloom filter: there");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, &value, 4, 0), -EINVAL,
	   "bloom filter: half a value");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, NULL, BAD_POINTER, 8, 0), -EFAULT,
	   "bloom filter: bad pointer");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);
}

struct entry {
	uint32_t key, pad;
	uint64_t value;
};

static int bulk(int fd, uint32_t map, uint32_t op, const void *key, void *entries, uint32_t *count,
		uint32_t flags)
{
	struct drm_virtio_gpgpu_map_bulk b = {
		.handle = map,
		.op = op,
		.key = (uintptr_t)key,
		.entries = (uintptr_t)entries,
		.count = *count,
		.flags = flags,
	};
	int r = call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_BULK, &b);

	last_result = b.result;
	*count = b.count;
	return r;
}

#define DUMP DRM_VIRTIO_GPGPU_MAP_DUMP
#define LOAD DRM_VIRTIO_GPGPU_MAP_LOAD

static void test_bulk(int fd)
{
	enum { TOTAL = 30000 };
	struct entry *e = calloc(TOTAL, sizeof(*e)), *got = calloc(TOTAL, sizeof(*got));
	uint32_t map, count, total = 0, last;
	uint64_t sum = 0;
	double start;
	int r;

	must(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 4, 8, TOTAL, &map));
	for (uint32_t i = 0; i < TOTAL; i++)
		e[i] = (struct entry){ .key = i, .value = 1 };
	start = now();
	for (uint32_t at = 0; at < TOTAL; at += count) {
		count = 15000;
		r = bulk(fd, map, LOAD, NULL, e + at, &count, 0);
		if (r || !count)
			break;
		total += count;
	}
	is(total, TOTAL, "bulk: loaded");
	for (total = 0;; total += count) {
		count = TOTAL;
		r = bulk(fd, map, DUMP, total ? &last : NULL, got, &count, 0);
		if (r)
			break;
		for (uint32_t i = 0; i < count; i++)
			sum += got[i].key + got[i].value;
		last = got[count - 1].key;
	}
	is(r, -ENOENT, "bulk: dumped to the end");
	is(total, TOTAL, "bulk: all entries, in %.2f s", now() - start);
	ok(sum == (uint64_t)TOTAL * (TOTAL - 1) / 2 + TOTAL, "bulk: and each once");

	count = 2;
	is(bulk(fd, map, LOAD, NULL, e, &count, BPF_NOEXIST), -EEXIST, "bulk: load of what is there");
	is(count, 0, "bulk: says how far it got");
	count = 0;
	is(bulk(fd, map, LOAD, NULL, e, &count, 0), -EINVAL, "bulk: nothing to load");
	count = 0;
	is(bulk(fd, map, DUMP, NULL, got, &count, 0), -EINVAL, "bulk: no room to dump to");
	count = UINT32_MAX;
	is(bulk(fd, map, LOAD, NULL, e, &count, 0), -E2BIG, "bulk: too many to load");
	count = 1;
	is(bulk(fd, map, 3, NULL, e, &count, 0), -EINVAL, "bulk: operation 3");
	count = 1;
	is(bulk(fd, map, DUMP, NULL, got, &count, 1), -EINVAL, "bulk: dump with flags");
	count = 1;
	is(bulk(fd, map, LOAD, &last, e, &count, 0), -EINVAL, "bulk: load behind a key");
	count = 1;
	is(bulk(fd, map, DUMP, BAD_POINTER, got, &count, 0), -EFAULT, "bulk: bad key pointer");
	count = 1;
	is(bulk(fd, map, DUMP, NULL, BAD_POINTER, &count, 0), -EFAULT, "bulk: bad pointer to dump to");
	count = 1;
	is(bulk(fd, map, LOAD, NULL, BAD_POINTER, &count, 0), -EFAULT, "bulk: bad pointer to load from");
	count = 1;
	is(bulk(fd, map + 1000, DUMP, NULL, got, &count, 0), -ENOENT, "bulk: bad handle");
	e[0].pad = 1;
	count = 1;
	ok(bulk(fd, map, LOAD, NULL, e, &count, 0) < 0 && last_result.reason == VIRTIO_GPGPU_R_RESERVED,
	   "bulk: padding that is not zero");
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);
	free(e);
	free(got);
}

/* ---------------------------------------------------------------------- records */

static int read_map(int fd, uint32_t map, void *data, uint32_t size, int64_t timeout_ns,
		    struct drm_virtio_gpgpu_map_read *out)
{
	*out = (struct drm_virtio_gpgpu_map_read){
		.handle = map,
		.size = size,
		.data = (uintptr_t)data,
		.timeout_ns = timeout_ns,
	};
	return call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_READ, out);
}

static bool polls(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1 && p.revents == POLLIN;
}

struct sleeper {
	pthread_t thread;
	int fd, r;
	uint32_t map, num;
	double woken;
};

static void *sleep_for_records(void *opaque)
{
	struct sleeper *s = opaque;
	struct drm_virtio_gpgpu_map_read out;
	uint8_t data[256];

	s->r = read_map(s->fd, s->map, data, sizeof(data), 60000000000ll, &out);
	s->num = out.num_records;
	s->woken = now();
	return NULL;
}

static void test_waiting(int fd, uint32_t map, uint32_t prog)
{
	struct drm_virtio_gpgpu_map_read out;
	struct sleeper s = { .fd = fd, .map = map };
	uint8_t data[256];
	double start = now();

	is(read_map(fd, map, data, sizeof(data), 100000000, &out), -ETIME, "records: none came in time");
	ok(now() - start >= 0.1, "records: and it waited for them");
	ok(!polls(fd, 0), "records: the node says so, too");
	must(pthread_create(&s.thread, NULL, sleep_for_records, &s));
	usleep(200000);
	start = now();
	is(run_packet(fd, prog), XDP_PASS, "records: written");
	pthread_join(s.thread, NULL);
	is(s.r, 0, "records: whoever sleeps is woken");
	is(s.num, 1, "records: with the record");
	ok(s.woken - start < 30, "records: by the record, not by the clock");
	ok(polls(fd, 0), "records: the node polls as readable until a read finds nothing");
	is(read_map(fd, map, data, sizeof(data), 0, &out), -ETIME, "records: nothing more");
	ok(!polls(fd, 0), "records: the node does not");
	is(run_packet(fd, prog), XDP_PASS, "records: another");
	ok(polls(fd, 10000), "records: the node polls as readable");
	is(read_map(fd, map, data, sizeof(data), 0, &out), 0, "records: read");
}

/* Packets that leave a record each, while only this thread runs: it sleeps nowhere. Return: the job. */
static uint32_t leave_records(int fd, uint32_t prog, uint32_t bo, uint32_t n)
{
	struct drm_virtio_gpgpu_packet_desc descs[8] = { 0 };
	struct drm_virtio_gpgpu_submit s = { .type = DRM_VIRTIO_GPGPU_JOB_PACKETS };
	uint32_t job;

	for (uint32_t i = 0; i < n; i++) {
		descs[i].data_off = 256;
		descs[i].data_len = 64;
		descs[i].ingress_port = 1;
	}
	s.packets.prog = prog;
	s.packets.buffer = bo;
	s.packets.stride = 2048;
	s.packets.num_packets = n;
	s.packets.descs = (uintptr_t)descs;
	must(submit(fd, &s, &job));
	while (!polls(fd, 0))
		;
	return job;
}

/*
 * A sleeper is woken, but before it runs another thread of its file reads, and takes only some of the records: what
 * is left is the sleeper's, and no event tells of it. One CPU, on which the sleeper hardly runs unless the
 * other sleeps, makes that likely.
 */
static void test_left_over(int fd, uint32_t map, uint32_t prog)
{
	struct sched_param none = { 0 };
	struct drm_virtio_gpgpu_map_read out;
	struct sleeper s = { .fd = fd, .map = map };
	struct buffer bo;
	cpu_set_t before, one;
	uint8_t data[256];
	uint32_t job;
	double start;

	must(bo_new(fd, 4 * 4096, DRM_VIRTIO_GPGPU_BO_SHM, &bo));
	must(sched_getaffinity(0, sizeof(before), &before));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	must(sched_setaffinity(0, sizeof(one), &one));
	must(pthread_create(&s.thread, NULL, sleep_for_records, &s));
	must(pthread_setschedparam(s.thread, SCHED_IDLE, &none));
	usleep(200000);
	start = now();
	job = leave_records(fd, prog, bo.handle, 8);
	read_map(fd, map, data, 16, 0, &out);
	pthread_join(s.thread, NULL);
	must(sched_setaffinity(0, sizeof(before), &before));
	is(s.r, 0, "records: whoever sleeps is told of what another left over");
	ok(s.num > 0 && s.woken - start < 30, "records: and gets it, %u after the other's %u", s.num,
	   out.num_records);
	while (!read_map(fd, map, data, sizeof(data), 0, &out))
		;
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_JOB_DESTROY, job);
	bo_close(fd, &bo);
}

static void test_records(int fd)
{
	struct bpf_insn writer[] = {
		ST(-8, 4711),
		LD_MAP(1, 0),
		MOVR(2, 10),
		ADD(2, -8),
		MOV(3, 8),
		MOV(4, 0),
		CALL(BPF_FUNC_ringbuf_output),
		MOV(0, XDP_PASS),
		EXIT(),
	};
	struct drm_virtio_gpgpu_map_read out;
	struct virtio_gpgpu_record head;
	uint32_t map, hash, prog;
	uint64_t value, key = 0;
	uint8_t data[256];

	must(map_new(fd, VIRTIO_GPGPU_MAP_RINGBUF, 0, 0, 4096, &map));
	must(map_new(fd, VIRTIO_GPGPU_MAP_HASH, 4, 8, 4, &hash));
	writer[1].imm = (int)map;
	prog = (uint32_t)make_prog(fd, writer, ARRAY_SIZE(writer));

	is(read_map(fd, map, data, 7, 0, &out), -EINVAL, "records: room for less than a head");
	is(read_map(fd, map + 1000, data, 64, 0, &out), -ENOENT, "records: bad handle");
	is(read_map(fd, hash, data, 64, 0, &out), -EINVAL, "records: of a hash");
	is(map_op(fd, map, DRM_VIRTIO_GPGPU_MAP_LOOKUP, &key, &value, 8, 0), -EINVAL, "records: no look-up");
	is(read_map(fd, map, data, 64, 0, &out), -ETIME, "records: none");
	is(out.num_records, 0, "records: none are counted");

	is(run_packet(fd, prog), XDP_PASS, "records: a packet leaves one");
	is(run_packet(fd, prog), XDP_PASS, "records: and another");
	is(read_map(fd, map, BAD_POINTER, 16, 0, &out), -EFAULT, "records: bad pointer");
	is(read_map(fd, map, data, sizeof(data), 0, &out), 0, "records: read");
	is(out.num_records, 1, "records: the other one; the first is lost with the pointer");
	is(out.bytes, 16, "records: its bytes");
	is(out.dropped, 0, "records: nothing was dropped");
	memcpy(&head, data, sizeof(head));
	memcpy(&value, data + sizeof(head), sizeof(value));
	is(head.size, 8, "records: its size");
	is(value, 4711, "records: what is in it");
	is(read_map(fd, map, data, sizeof(data), 0, &out), -ETIME, "records: no more");
	test_waiting(fd, map, prog);
	test_left_over(fd, map, prog);

	for (int i = 0; i < 600; i++) {
		if (run_packet(fd, prog) != XDP_PASS)
			break;
	}
	is(read_map(fd, map, data, sizeof(data), 0, &out), 0, "records: a full ring is read");
	is(out.num_records, sizeof(data) / 16, "records: as many as there is room for");
	ok(out.dropped >= 300 && out.dropped < 600, "records: %llu found no room",
	   (unsigned long long)out.dropped);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_PROG_DESTROY, prog);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, map);
	by_handle(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_DESTROY, hash);
}

void test_maps_of_things(void)
{
	int fd = node_open(), other = node_open();

	test_prog_array(fd, other);
	test_map_in_map(fd, other);
	test_queue_and_bloom(fd);
	test_bulk(fd);
	test_records(fd);
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_BULK, BAD_POINTER), -EFAULT, "bulk: bad pointer");
	is(call(fd, DRM_IOCTL_VIRTIO_GPGPU_MAP_READ, BAD_POINTER), -EFAULT, "records: bad argument pointer");
	close(other);
	close(fd);
}
