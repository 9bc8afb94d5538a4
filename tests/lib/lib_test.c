// SPDX-License-Identifier: BSD-3-Clause
/*
 * lib_test.c - libgpgpu on a device, in a guest. TAP.
 *
 *	lib_test FOLDER		with the objects of tests/lib
 *
 * Each function tests one part of the library and reports case by case; a case that fails does not end the run.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib_test.h"

const char *folder;
struct gpgpu_device *dev;
struct gpgpu_caps caps;

static int cases, failures;

bool ok(bool good, const char *format, ...)
{
	va_list ap;

	printf("%s %d ", good ? "ok" : "not ok", ++cases);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	if (!good) {
		printf("# the library's last message: %s\n", gpgpu_error_message());
		failures++;
	}
	fflush(stdout);
	return good;
}

void is_error(int got, int want, const char *message, const char *what)
{
	bool right = got == want && strstr(gpgpu_error_message(), message);

	if (!right)
		printf("# returned %d, not %d\n", got, want);
	ok(right, "%s", what);
}

struct gpgpu_object *load(const char *name)
{
	struct gpgpu_object *obj;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.bpf.o", folder, name);
	if (ok(!gpgpu_object_open(path, &obj) && !gpgpu_object_load(obj, dev), "%s is loaded", name))
		return obj;
	printf("Bail out! nothing works without it\n");
	exit(1);
}

void *make_buffer(uint64_t size, struct gpgpu_buffer **buf)
{
	void *p;

	if (!gpgpu_buffer_create(dev, size, GPGPU_BUFFER_SHARED, buf) && !gpgpu_buffer_map(*buf, &p))
		return p;
	printf("Bail out! no buffer: %s\n", gpgpu_error_message());
	exit(1);
}

int finish(int submitted, struct gpgpu_job **job)
{
	int r = submitted ? submitted : gpgpu_job_wait(*job, -1, NULL, NULL, 0);

	if (!submitted)
		gpgpu_job_destroy(*job);
	return r;
}

bool all_bytes(const void *p, size_t n, uint8_t value)
{
	for (size_t i = 0; i < n; i++) {
		if (((const uint8_t *)p)[i] != value)
			return false;
	}
	return true;
}

static void test_buffers(void)
{
	struct gpgpu_buffer *a, *b, *c;
	struct gpgpu_job *job;
	uint8_t *pa = make_buffer(5000, &a), *pb = make_buffer(8192, &b);
	void *p;

	ok(gpgpu_buffer_size(a) == 8192, "sizes are rounded up to pages");
	ok(all_bytes(pa, 8192, 0), "a buffer holds zeros");
	ok(!gpgpu_buffer_map(a, &p) && p == pa, "a buffer is mapped once");
	ok(!gpgpu_buffer_create(dev, 8192, GPGPU_BUFFER_DEVICE, &c), "a buffer in device memory");
	is_error(gpgpu_buffer_map(c, &p), -EINVAL, "cannot be mapped", "device memory has no address");
	for (int i = 0; i < 8192; i++)
		pa[i] = (uint8_t)(i * 7);
	ok(!finish(gpgpu_copy(c, 0, a, 0, 8192, NULL, &job), &job), "copy to device memory");
	ok(!finish(gpgpu_copy(b, 0, c, 0, 8192, NULL, &job), &job) && !memcmp(pa, pb, 8192),
	   "and back: the same bytes");
	ok(!finish(gpgpu_copy(b, 3, a, 1000, 11, NULL, &job), &job) && !memcmp(pb + 3, pa + 1000, 11) &&
		   pb[2] == pa[2] && pb[14] == pa[14],
	   "copy of a few bytes, unaligned, and no others");
	ok(!finish(gpgpu_fill(b, 4, 4096, 0x5a5a5a5a, NULL, &job), &job) && all_bytes(pb + 4, 4096, 0x5a) &&
		   pb[4100] == pa[4100],
	   "fill");
	is_error(finish(gpgpu_fill(b, 8000, 4096, 0, NULL, &job), &job), -EINVAL, "outside the object",
		 "fill past the end");
	is_error(gpgpu_buffer_create(dev, 0, GPGPU_BUFFER_SHARED, &c), -EINVAL, "0 bytes",
		 "a buffer of nothing");
	ok(gpgpu_buffer_create(dev, UINT64_MAX - 100, GPGPU_BUFFER_SHARED, &c) < 0 && !c,
	   "a buffer of too much");
	ok(gpgpu_buffer_create(dev, caps.shm_size * 2, GPGPU_BUFFER_SHARED, &c) < 0 && !c,
	   "a buffer larger than the shared memory");
	gpgpu_buffer_destroy(a);
	gpgpu_buffer_destroy(b);
	pa = make_buffer(8192, &a);
	ok(all_bytes(pa, 8192, 0), "used memory comes back as zeros");
	gpgpu_buffer_destroy(a);
}

static void test_hash(void)
{
	const struct gpgpu_map_info info = { "hash", BPF_MAP_TYPE_HASH, 4, 8, 8, 0, NULL };
	struct gpgpu_map *map;
	uint64_t value = 5;
	uint32_t key, next, seen = 0;
	int r;

	if (!ok(!gpgpu_map_create(dev, &info, &map), "a hash"))
		return;
	key = 1;
	is_error(gpgpu_map_lookup(map, &key, &value, 8), -ENOENT, "not found", "a key that is not there");
	ok(!gpgpu_map_update(map, &key, &value, 8, BPF_NOEXIST), "a new key");
	is_error(gpgpu_map_update(map, &key, &value, 8, BPF_NOEXIST), -EEXIST, "exists", "twice");
	key = 2;
	is_error(gpgpu_map_update(map, &key, &value, 8, BPF_EXIST), -ENOENT, "not found",
		 "only if it exists");
	is_error(gpgpu_map_update(map, &key, &value, 4, BPF_ANY), -EINVAL, "takes 8 bytes, not 4",
		 "a value that is too short");
	value = 0;
	key = 1;
	ok(!gpgpu_map_lookup(map, &key, &value, 8) && value == 5, "the value is there");
	for (key = 2; key <= 8; key++)
		gpgpu_map_update(map, &key, &value, 8, BPF_ANY);
	is_error(gpgpu_map_update(map, &key, &value, 8, BPF_ANY), -E2BIG, "full", "a full map");
	r = gpgpu_map_next_key(map, NULL, &next);
	while (!r) {
		seen |= 1u << next;
		key = next;
		r = gpgpu_map_next_key(map, &key, &next);
	}
	ok(r == -ENOENT && seen == 0x1fe, "a walk over all keys");
	key = 3;
	ok(!gpgpu_map_delete(map, &key) && gpgpu_map_lookup(map, &key, &value, 8) == -ENOENT,
	   "a deleted key");
	gpgpu_map_destroy(map);
}

static void test_other_maps(void)
{
	const struct gpgpu_map_info array = { "array", BPF_MAP_TYPE_ARRAY,    4,   12,
					      4,       GPGPU_MAP_RDONLY_PROG, NULL };
	const struct gpgpu_map_info percpu = { "percpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 4, 4, 0, NULL };
	const struct gpgpu_map_info lpm = { "lpm", BPF_MAP_TYPE_LPM_TRIE, 8, 4, 4, 0, NULL };
	const struct gpgpu_map_info none = { "none", BPF_MAP_TYPE_STACK_TRACE, 4, 8, 4, 0, NULL };
	const struct gpgpu_map_info huge = { "huge", BPF_MAP_TYPE_ARRAY, 4, 65536, 0x7fffffff, 0, NULL };
	struct gpgpu_map *map;
	uint32_t key = 2, value[3] = { 1, 2, 3 }, got[3] = { 0 };
	uint8_t prefix[8] = { 16, 0, 0, 0, 10, 7, 0, 0 }, host[8] = { 32, 0, 0, 0, 10, 7, 3, 4 };
	uint64_t *copies;
	size_t bytes;
	bool same = true;

	ok(!gpgpu_map_create(dev, &array, &map) && !gpgpu_map_update(map, &key, value, 12, BPF_ANY) &&
		   !gpgpu_map_lookup(map, &key, got, 12) && !memcmp(value, got, 12),
	   "an array of 12-byte values");
	key = 4;
	ok(gpgpu_map_update(map, &key, value, 12, BPF_ANY) < 0, "an index past its end");
	key = 1;
	ok(gpgpu_map_delete(map, &key) < 0, "elements of arrays stay");
	ok(!gpgpu_map_freeze(map), "freeze");
	is_error(gpgpu_map_update(map, &key, value, 12, BPF_ANY), -EACCES, "read only", "a frozen map");
	gpgpu_map_destroy(map);

	ok(!gpgpu_map_create(dev, &percpu, &map), "a per-CPU array");
	bytes = gpgpu_map_value_bytes(map);
	ok(bytes == 8 * caps.num_cpus, "its values take 8 bytes for each CPU");
	copies = calloc(2, bytes);
	for (uint32_t i = 0; i < caps.num_cpus; i++)
		copies[i] = 100 + i;
	ok(!gpgpu_map_update(map, &key, copies, bytes, BPF_ANY) &&
		   !gpgpu_map_lookup(map, &key, copies + caps.num_cpus, bytes),
	   "all of them are written and read");
	for (uint32_t i = 0; i < caps.num_cpus; i++)
		same &= (uint32_t)copies[caps.num_cpus + i] == 100 + i;
	ok(same, "as they were");
	free(copies);
	gpgpu_map_destroy(map);

	ok(!gpgpu_map_create(dev, &lpm, &map) && !gpgpu_map_update(map, prefix, value, 4, BPF_ANY) &&
		   !gpgpu_map_lookup(map, host, got, 4) && got[0] == 1,
	   "the longest prefix is found");
	host[5] = 8;
	is_error(gpgpu_map_lookup(map, host, got, 4), -ENOENT, "not found", "or none");
	gpgpu_map_destroy(map);
	is_error(gpgpu_map_create(dev, &none, &map), -EOPNOTSUPP, "does not offer",
		 "a type that is not offered");
	ok(gpgpu_map_create(dev, &huge, &map) < 0 && !map, "a map of too much");
}

static void test_programs(void)
{
	const struct bpf_insn bad[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 5 },
					{ .code = BPF_JMP | BPF_EXIT } };
	struct gpgpu_program_desc desc = { "bad", GPGPU_PROGRAM_XDP, bad, 2, 0, { 0 } };
	struct gpgpu_result result;
	struct gpgpu_program *prog;
	struct bpf_insn *many;

	is_error(gpgpu_program_create(dev, &desc, &prog), -EINVAL, "'bad': refused at instruction 0",
		 "a refused program says where");
	gpgpu_error_result(&result);
	ok(result.status && result.reason && result.detail == 0, "in numbers as well");
	desc.num_insns = 1;
	is_error(gpgpu_program_create(dev, &desc, &prog), -EINVAL, "refused", "a program without an end");
	many = calloc(caps.max_insns + 1, sizeof(*many));
	for (uint32_t i = 0; i < caps.max_insns + 1; i++)
		many[i].code = BPF_ALU64 | BPF_MOV | BPF_K;
	many[caps.max_insns].code = BPF_JMP | BPF_EXIT;
	desc.insns = many;
	desc.num_insns = caps.max_insns + 1;
	is_error(gpgpu_program_create(dev, &desc, &prog), -E2BIG, "the device takes",
		 "too many instructions");
	free(many);
}

static void test_dispatch(struct gpgpu_object *obj)
{
	struct gpgpu_program *add = gpgpu_object_program(obj, "add"), *ids = gpgpu_object_program(obj, "ids");
	struct gpgpu_program *wrong = gpgpu_object_program(obj, "write_const");
	const uint32_t grid[3] = { 1000, 1, 1 }, cube[3] = { 8, 6, 4 }, group[3] = { 4, 3, 2 };
	struct gpgpu_job_result result = { 0 };
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_buffer *buf;
	uint64_t *sum = make_buffer(4096, &buf), total = 0;
	uint32_t zero = 0, *out = (uint32_t *)sum, step;
	struct gpgpu_job *job;
	bool right = true;

	is_error(gpgpu_object_load(obj, dev), -EBUSY, "loaded already", "an object is loaded once");
	is_error(gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job), -EINVAL, "(sum) is not given",
		 "an argument that is missing");
	is_error(gpgpu_dispatch(add, grid, NULL, args, 1, NULL, &job), -EINVAL, "takes 2 arguments",
		 "too few arguments");
	gpgpu_arg_set_buffer(add, args, "sum", buf);
	gpgpu_arg_set_value(add, args, "value", 7);
	ok(!gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job) &&
		   !gpgpu_job_wait(job, -1, &result, NULL, 0) && *sum == 7000,
	   "1,000 work items add up");
	ok(!gpgpu_job_wait(job, 0, &result, NULL, 0), "a job that has ended can be asked again");
	ok(result.result.status == 0 && result.fault_count == 0 && result.slices > 0, "its result");
	gpgpu_job_destroy(job);
	ok(!gpgpu_map_lookup(gpgpu_object_map(obj, ".bss"), &zero, &total, 8) && total == 30000,
	   "global data: 1,000 times step (.data) times scale (.rodata)");
	step = 4;
	ok(!gpgpu_map_update(gpgpu_object_map(obj, ".data"), &zero, &step, 4, BPF_ANY) &&
		   !finish(gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job), &job) &&
		   !gpgpu_map_lookup(gpgpu_object_map(obj, ".bss"), &zero, &total, 8) && total == 70000,
	   "global data that is changed between two runs");
	is_error(gpgpu_map_update(gpgpu_object_map(obj, ".rodata"), &zero, &step, 4, BPF_ANY), -EACCES,
		 "read only", ".rodata cannot be");

	memset(args, 0, sizeof(args));
	gpgpu_arg_set_buffer(ids, args, "out", buf);
	ok(!finish(gpgpu_dispatch(ids, cube, group, args, 1, NULL, &job), &job),
	   "three dimensions, in groups");
	for (uint32_t z = 0; z < 4; z++) {
		for (uint32_t y = 0; y < 6; y++) {
			for (uint32_t x = 0; x < 8; x++)
				right &= out[(z * 6 + y) * 8 + x] ==
					 (x % 4 | y % 3 << 4 | z % 2 << 8 | x / 4 << 12 | y / 3 << 16 |
					  z / 2 << 20);
		}
	}
	ok(right, "each item has its ids");

	gpgpu_arg_set_buffer(wrong, args, "in", buf);
	gpgpu_arg_set_value(wrong, args, "index", 0);
	is_error(finish(gpgpu_dispatch(wrong, group, NULL, args, 2, NULL, &job), &job), -EIO, "out of bounds",
		 "a write to a const buffer");
	gpgpu_arg_set_buffer(add, args, "sum", buf);
	args[0].value = 4096 - 8;
	args[0].size = 8;
	gpgpu_arg_set_value(add, args, "value", 1);
	ok(!finish(gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job), &job) && sum[511] == 1000,
	   "an argument that is a range of a buffer");
	args[0].value = 4096;
	ok(finish(gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job), &job) < 0,
	   "a range outside the buffer");
	gpgpu_buffer_destroy(buf);
}

static void test_order(struct gpgpu_object *obj)
{
	struct gpgpu_program *append = gpgpu_object_program(obj, "append"),
			     *spin = gpgpu_object_program(obj, "spin");
	const uint32_t one[3] = { 1, 1, 1 }, many[3] = { 1 << 20, 1, 1 };
	struct gpgpu_arg args[2] = { 0 }, spin_args[2] = { 0 };
	struct gpgpu_buffer *buf, *out;
	uint64_t *list = make_buffer(4096, &buf);
	struct gpgpu_job *jobs[32], *job, *before;
	struct gpgpu_submit submit = { .timeline = 1 }, late = { .timeline = 2 };
	uint32_t fence = 0;
	bool right = true;
	int r = 0;

	make_buffer(4096, &out);
	gpgpu_arg_set_buffer(append, args, "list", buf);
	for (int i = 0; i < 32; i++) {
		gpgpu_arg_set_value(append, args, "value", (uint64_t)i);
		submit.queue = (uint32_t)i;
		r |= gpgpu_dispatch(append, one, NULL, args, 2, &submit, &jobs[i]);
	}
	for (int i = 0; i < 32 && !r; i++)
		r |= finish(0, &jobs[i]);
	for (int i = 0; i < 32; i++)
		right &= list[i + 1] == (uint64_t)i;
	ok(!r && list[0] == 32 && right, "jobs on one timeline run in order, whatever their queue");

	/* A fence orders two timelines: the second job is submitted first to run, but has to wait. */
	ok(!gpgpu_fence_create(dev, &fence), "a fence");
	list[0] = 0;
	gpgpu_arg_set_buffer(spin, spin_args, "out", out);
	gpgpu_arg_set_value(spin, spin_args, "rounds", 50);
	submit.signal = fence;
	late.wait = &fence;
	late.num_wait = 1;
	r = gpgpu_dispatch(spin, many, NULL, spin_args, 2, &submit, &before);
	ok(!r && gpgpu_fence_wait(dev, fence, 0) == -ETIME, "a fence that has not signalled");
	ok(!gpgpu_dispatch(append, one, NULL, args, 2, &late, &job), "a job waits for it");
	ok(!gpgpu_job_wait(job, -1, NULL, NULL, 0) && !gpgpu_job_wait(before, 0, NULL, NULL, 0),
	   "and ends after what it waited for");
	ok(!gpgpu_fence_wait(dev, fence, 0) && list[0] == 1, "the fence has signalled");
	gpgpu_job_destroy(job);
	gpgpu_job_destroy(before);
	gpgpu_fence_destroy(dev, fence);

	/* Long enough that it cannot be over. */
	gpgpu_arg_set_value(spin, spin_args, "rounds", 1000000);
	submit.signal = 0;
	ok(!gpgpu_dispatch(spin, many, NULL, spin_args, 2, &submit, &job), "a job of hours");
	is_error(gpgpu_job_wait(job, 20000000, NULL, NULL, 0), -ETIME, "not ended yet",
		 "waiting has its limit");
	ok(!gpgpu_job_cancel(job), "it is cancelled");
	is_error(gpgpu_job_wait(job, -1, NULL, NULL, 0), -ECANCELED, "cancelled", "and says so");
	gpgpu_job_destroy(job);
	ok(!finish(gpgpu_nop(dev, NULL, &job), &job), "the device goes on");
	gpgpu_buffer_destroy(buf);
	gpgpu_buffer_destroy(out);
}

static void test_packets(void)
{
	struct gpgpu_object *obj = load("calls");
	struct gpgpu_program *prog = gpgpu_object_program(obj, "first");
	struct gpgpu_packet packets[64] = { 0 };
	struct gpgpu_packet_result results[64];
	struct gpgpu_job_result result;
	struct gpgpu_buffer *buf;
	struct gpgpu_job *job;
	bool right = true;

	make_buffer(64 * 512, &buf);
	for (uint32_t i = 0; i < 64; i++)
		packets[i] = (struct gpgpu_packet){ .data_off = 256, .data_len = 14 + i };
	ok(!gpgpu_packets(prog, buf, 0, 512, packets, 64, 0, NULL, &job) &&
		   !gpgpu_job_wait(job, -1, &result, results, 64),
	   "a batch of packets");
	/* first() returns (2 * length + 1) & 1: always XDP_DROP. */
	for (uint32_t i = 0; i < 64; i++)
		right &= results[i].verdict == XDP_DROP && results[i].data_len == 14 + i &&
			 results[i].data_off == 256 && !results[i].fault;
	ok(right, "each has its verdict");
	ok(result.verdicts[XDP_DROP] == 64 && result.bytes == 64 * 14 + 63 * 32, "and the batch its sums");
	gpgpu_job_destroy(job);
	packets[5].data_len = 300;
	ok(finish(gpgpu_packets(prog, buf, 0, 512, packets, 64, 0, NULL, &job), &job) < 0 &&
		   strstr(gpgpu_error_message(), "packet 5"),
	   "a packet that does not fit its slot is named");
	ok(gpgpu_packets(gpgpu_object_program(obj, "second"), buf, 0, 500, packets, 4, 0, NULL, &job) ||
		   finish(0, &job) < 0,
	   "a stride that is not a multiple of 64");
	gpgpu_buffer_destroy(buf);
	gpgpu_object_close(obj);
}

/* @count packets of 64 bytes through a program. Return: how many came out with @verdict. */
static uint64_t run_packets(struct gpgpu_program *prog, uint32_t count, uint32_t verdict)
{
	struct gpgpu_packet packets[64] = { 0 };
	struct gpgpu_job_result result = { 0 };
	struct gpgpu_buffer *buf;
	struct gpgpu_job *job;

	make_buffer(64 * 512, &buf);
	for (uint32_t i = 0; i < count; i++)
		packets[i] = (struct gpgpu_packet){ .data_off = 256, .data_len = 64 };
	if (!gpgpu_packets(prog, buf, 0, 512, packets, count, 0, NULL, &job)) {
		gpgpu_job_wait(job, -1, &result, NULL, 0);
		gpgpu_job_destroy(job);
	}
	gpgpu_buffer_destroy(buf);
	return result.verdicts[verdict];
}

struct seen {
	uint32_t records, good, enough;
};

static int see_record(void *opaque, uint32_t cpu, const void *data, size_t size)
{
	struct seen *seen = opaque;
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	seen->records++;
	seen->good += size == 8 && value == 1 && cpu < caps.num_cpus;
	return seen->records == seen->enough;
}

static void test_records(struct gpgpu_map *map, uint32_t count, const char *what)
{
	struct seen seen = { .enough = 3 };

	ok(gpgpu_map_read(map, see_record, &seen, -1) == 3 && seen.records == 3, "%s: as many as are wanted",
	   what);
	seen.enough = 0;
	while (seen.records < count && gpgpu_map_read(map, see_record, &seen, 1000000000) > 0)
		;
	ok(seen.records == count && seen.good == count, "%s: all records as they were written", what);
	ok(gpgpu_map_read(map, see_record, &seen, 0) == 0, "%s: no more", what);
	ok(gpgpu_map_dropped(map) == 0, "%s: none was dropped", what);
}

/* Declared with their values; the program that is asked for brings the one it may call. */
static void test_map_values(void)
{
	struct gpgpu_object *obj;
	struct gpgpu_program *first;
	uint32_t key = 0, index = 3, id = 0;
	uint64_t value = 0;
	char path[512];

	snprintf(path, sizeof(path), "%s/map_values.bpf.o", folder);
	if (!ok(!gpgpu_object_open(path, &obj), "maps with values are read"))
		return;
	first = gpgpu_object_program(obj, "first");
	gpgpu_program_set_autoload(gpgpu_object_program(obj, "last"), false);
	ok(!gpgpu_object_load(obj, dev), "and loaded: %s", gpgpu_error_message());
	ok(gpgpu_program_handle(gpgpu_object_program(obj, "last")) != 0,
	   "with the program that an array names");
	ok(run_packets(first, 40, XDP_TX) == 40, "a tail call");
	ok(!gpgpu_map_lookup(gpgpu_object_map(obj, "inner_b"), &key, &value, 8) && value == 80,
	   "a map is reached through the map that it is in, and by itself");
	ok(!gpgpu_map_lookup(gpgpu_object_map(obj, "outer"), &index, &id, 4) && id,
	   "what is in a map of maps");
	index = 0;
	is_error(gpgpu_map_lookup(gpgpu_object_map(obj, "outer"), &index, &id, 4), -ENOENT, "not found",
		 "and what is not");
	test_records(gpgpu_object_map(obj, "ring"), 40, "ring buffer");
	test_records(gpgpu_object_map(obj, "perf"), 40, "perf event array");
	index = 2;
	ok(!gpgpu_map_delete(gpgpu_object_map(obj, "progs"), &index) && run_packets(first, 8, XDP_PASS) == 8,
	   "without the program the caller goes on");
	is_error(gpgpu_map_read(gpgpu_object_map(obj, "lru"), see_record, NULL, 0), -EINVAL, "",
		 "records of a hash");
	gpgpu_object_close(obj);

	obj = load("callback");
	ok(run_packets(gpgpu_object_program(obj, "callback"), 4, XDP_TX) == 4, "bpf_loop calls back");
	gpgpu_object_close(obj);
}

static void test_bulk(void)
{
	const struct gpgpu_map_info info = { "bulk", BPF_MAP_TYPE_LRU_HASH, 6, 3, 5000, 0, NULL };
	uint8_t entries[1000][16] = { 0 }, got[1000][16];
	uint32_t count = 1000, total = 0;
	struct gpgpu_map *map;
	uint8_t key[8], value[8];
	int r;

	if (!ok(!gpgpu_map_create(dev, &info, &map), "a map for bulk"))
		return;
	ok(gpgpu_map_entry_bytes(map) == 16, "an entry with its padding");
	for (uint32_t i = 0; i < 1000; i++) {
		memcpy(entries[i], &i, sizeof(i));
		entries[i][8] = (uint8_t)i;
	}
	ok(!gpgpu_map_load(map, entries, &count, BPF_ANY) && count == 1000, "many entries are written");
	do {
		count = 300;
		r = gpgpu_map_dump(map, total ? key : NULL, got[total], &count);
		if (!r)
			memcpy(key, got[total + count - 1], sizeof(key));
		total += count;
	} while (!r && total < 1000);
	ok(total == 1000 && gpgpu_map_dump(map, key, got[0], &count) == -ENOENT, "and read");
	memcpy(key, entries[500], sizeof(key));
	ok(!gpgpu_map_pop(map, key, value, sizeof(value)) && value[0] == (uint8_t)500, "one is taken out");
	is_error(gpgpu_map_pop(map, key, value, sizeof(value)), -ENOENT, "not found", "once");
	is_error(gpgpu_map_pop(map, key, value, 2), -EINVAL, "takes 3 bytes, not 2", "room for less");
	gpgpu_map_destroy(map);
}

/* Jobs in queues: their order, what they wait for, when they were where, who is told. */

struct told {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int calls, status[8];
	bool right;
};

static void tell(void *opaque, int status, const struct gpgpu_job_result *result)
{
	struct told *told = opaque;

	pthread_mutex_lock(&told->lock);
	told->status[told->calls++ % 8] = status;
	told->right = !status == !result->result.status &&
		      (!status || strstr(gpgpu_error_message(), "cancelled"));
	pthread_cond_signal(&told->cond);
	pthread_mutex_unlock(&told->lock);
}

/* Return: whether so many calls came within seconds. */
static bool wait_told(struct told *told, int calls)
{
	struct timespec until;
	bool came;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&told->lock);
	while (told->calls < calls && !pthread_cond_timedwait(&told->cond, &told->lock, &until))
		;
	came = told->calls >= calls;
	pthread_mutex_unlock(&told->lock);
	return came;
}

static void test_queues(struct gpgpu_object *obj)
{
	struct gpgpu_program *append = gpgpu_object_program(obj, "append"),
			     *spin = gpgpu_object_program(obj, "spin");
	const uint32_t one[3] = { 1, 1, 1 }, many[3] = { 1 << 16, 1, 1 }, any[3] = { 0 };
	struct gpgpu_queue *in_order, *free_order, *more[20];
	struct gpgpu_job *jobs[16], *job, *plain;
	struct gpgpu_arg args[2] = { 0 }, spin_args[2] = { 0 };
	struct gpgpu_submit submit = { 0 };
	struct gpgpu_buffer *buf, *out;
	uint64_t *list = make_buffer(4096, &buf);
	bool right = true;
	uint32_t first = 99;
	int r = 0;

	make_buffer(4096, &out);
	is_error(gpgpu_queue_create(dev, 7, &in_order), -EINVAL, "in order or out of order",
		 "a queue of no order");
	ok(!gpgpu_queue_create(dev, GPGPU_QUEUE_IN_ORDER, &in_order) &&
		   !gpgpu_queue_create(dev, GPGPU_QUEUE_OUT_OF_ORDER, &free_order),
	   "two queues");
	for (int i = 0; i < 20; i++)
		r |= gpgpu_queue_create(dev, i & 1, &more[i]);
	ok(!r, "and more than there are timelines");
	for (int i = 0; i < 20; i++)
		gpgpu_queue_destroy(more[i]);

	gpgpu_arg_set_buffer(append, args, "list", buf);
	submit.in = in_order;
	for (int i = 0; i < 16; i++) {
		gpgpu_arg_set_int(append, args, "value", i);
		r |= gpgpu_dispatch(append, one, any, args, 2, &submit, &jobs[i]);
	}
	ok(!r && !gpgpu_queue_finish(in_order, -1), "jobs in order, all waited for");
	for (int i = 0; i < 16 && !r; i++) {
		right &= list[i + 1] == (uint64_t)i && !gpgpu_job_wait(jobs[i], 0, NULL, NULL, 0);
		gpgpu_job_destroy(jobs[i]);
	}
	ok(list[0] == 16 && right, "ran in order");

	/* A chain by what each waits for, over timelines that know nothing of each other. */
	list[0] = 0;
	submit = (struct gpgpu_submit){ .in = free_order, .after = &jobs[0] };
	for (int i = 0; i < 16; i++) {
		gpgpu_arg_set_int(append, args, "value", 100 + i);
		submit.after = &jobs[i ? i - 1 : 0];
		submit.num_after = i > 0;
		r |= gpgpu_dispatch(append, one, NULL, args, 2, &submit, &jobs[i]);
	}
	ok(!r && !gpgpu_jobs_wait(jobs, 16, true, -1, NULL), "jobs after each other, out of order");
	right = list[0] == 16;
	for (int i = 0; i < 16 && !r; i++) {
		right &= list[i + 1] == (uint64_t)(100 + i);
		gpgpu_job_destroy(jobs[i]);
	}
	ok(right, "each after the one that it waited for");

	/* What may overtake does. */
	gpgpu_arg_set_buffer(spin, spin_args, "out", out);
	gpgpu_arg_set_int(spin, spin_args, "rounds", 1000000);
	submit = (struct gpgpu_submit){ .in = free_order };
	r = gpgpu_dispatch(spin, many, NULL, spin_args, 2, &submit, &jobs[0]);
	r |= gpgpu_nop(dev, &submit, &jobs[1]);
	ok(!r && !gpgpu_jobs_wait(jobs, 2, false, -1, &first) && first == 1,
	   "a short job overtakes a long one");
	is_error(gpgpu_jobs_wait(jobs, 2, true, 1000000, NULL), -ETIME, "not ended yet", "which goes on");
	is_error(gpgpu_queue_finish(free_order, 1000000), -ETIME, "not ended yet",
		 "so the queue is not empty");
	ok(!gpgpu_job_cancel(jobs[0]) && !gpgpu_jobs_wait(jobs, 2, true, -1, NULL) &&
		   gpgpu_job_wait(jobs[0], 0, NULL, NULL, 0) == -ECANCELED,
	   "until it is cancelled");
	gpgpu_job_destroy(jobs[0]);
	gpgpu_job_destroy(jobs[1]);

	ok(!gpgpu_nop(dev, NULL, &plain), "a job without a queue");
	is_error(gpgpu_jobs_wait(&plain, 1, true, -1, NULL), -EINVAL, "not submitted in a queue",
		 "has no fence");
	submit.after = &plain;
	submit.num_after = 1;
	is_error(gpgpu_nop(dev, &submit, &job), -EINVAL, "not submitted in a queue", "to be waited for");
	is_error(gpgpu_job_notify(plain, tell, NULL), -EINVAL, "not submitted in a queue", "or to tell of");
	submit.num_after = 65;
	is_error(gpgpu_nop(dev, &submit, &job), -E2BIG, "more than 64", "too much to wait for");
	gpgpu_job_destroy(plain);
	gpgpu_queue_destroy(in_order);
	gpgpu_queue_destroy(free_order);
	gpgpu_buffer_destroy(buf);
	gpgpu_buffer_destroy(out);
}

static void test_events(struct gpgpu_object *obj)
{
	struct gpgpu_program *spin = gpgpu_object_program(obj, "spin");
	struct told told = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, { 0 }, false };
	const uint32_t many[3] = { 4096, 1, 1 };
	struct gpgpu_job_times before = { 0 }, after = { 0 };
	struct gpgpu_job_result result = { 0 };
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_submit submit = { 0 };
	struct gpgpu_queue *queue;
	struct gpgpu_buffer *out;
	struct gpgpu_job *a = NULL, *b = NULL;

	make_buffer(4096, &out);
	gpgpu_arg_set_buffer(spin, args, "out", out);
	gpgpu_arg_set_int(spin, args, "rounds", 2000);
	ok(!gpgpu_queue_create(dev, GPGPU_QUEUE_IN_ORDER, &queue), "a queue");
	submit.in = queue;
	ok(!gpgpu_dispatch(spin, many, NULL, args, 2, &submit, &a) &&
		   !gpgpu_dispatch(spin, many, NULL, args, 2, &submit, &b),
	   "two jobs that take time");
	is_error(gpgpu_job_times(b, &after), -ETIME, "not ended yet", "times that are not known yet");
	ok(!gpgpu_job_wait(b, -1, &result, NULL, 0) && !gpgpu_job_times(a, &before) &&
		   !gpgpu_job_times(b, &after),
	   "and then are");
	ok(before.queued && before.queued <= before.submitted && before.submitted <= before.started &&
		   before.started <= before.ended,
	   "queued, submitted, started, ended");
	ok(after.queued >= before.queued && after.ended >= before.ended && after.started >= before.queued,
	   "the second after the first");
	ok(after.ended - after.queued >= result.device_ns / caps.num_cpus / 2 && result.device_ns,
	   "no less than the device was busy");
	gpgpu_job_destroy(b);

	ok(!gpgpu_job_notify(a, tell, &told) && wait_told(&told, 1) && told.right && !told.status[0],
	   "who wants to know of a job that has ended is told");
	gpgpu_job_destroy(a);
	gpgpu_arg_set_int(spin, args, "rounds", 1000000000);
	ok(!gpgpu_dispatch(spin, many, NULL, args, 2, &submit, &a) && !gpgpu_job_notify(a, tell, &told) &&
		   !gpgpu_nop(dev, &submit, &b) && !gpgpu_job_notify(b, tell, &told),
	   "and of jobs that have not");
	ok(told.calls == 1, "not before they end");
	ok(!gpgpu_job_cancel(a), "of which one is cancelled");
	gpgpu_job_destroy(a);
	gpgpu_job_destroy(b);
	ok(wait_told(&told, 3) && (told.status[1] == -ECANCELED || told.status[2] == -ECANCELED) &&
		   told.status[1] + told.status[2] == -ECANCELED,
	   "also where their owner has let go of them");
	gpgpu_queue_destroy(queue);
	gpgpu_buffer_destroy(out);
}

/* Parts of buffers, and buffers that have one memory. */
static void test_sharing(void)
{
	struct gpgpu_buffer *shared, *device, *own, *twin = NULL, *again = NULL;
	uint8_t *p = make_buffer(8192, &shared), *q, mine[5002];
	struct gpgpu_device *other;
	struct gpgpu_job *job;
	int fd, null[2];
	void *range;

	ok(!gpgpu_buffer_map_range(shared, 4096, 16, GPGPU_ACCESS_WRITE, &range) && range == p + 4096 &&
		   !gpgpu_buffer_unmap(shared, range),
	   "a part of a shared buffer is where it is");
	is_error(gpgpu_buffer_map_range(shared, 8192, 1, GPGPU_ACCESS_READ, &range), -EINVAL,
		 "are not within", "a part behind its end");
	is_error(gpgpu_buffer_map_range(shared, 8000, UINT64_MAX, GPGPU_ACCESS_READ, &range), -EINVAL,
		 "are not within", "or beyond all bounds");
	is_error(gpgpu_buffer_map_range(shared, 0, 1, 0, &range), -EINVAL, "neither", "for nothing");
	is_error(gpgpu_buffer_unmap(shared, &fd), -EINVAL, "not an address", "an address that is none");

	memset(mine, 0x66, sizeof(mine));
	ok(!gpgpu_buffer_create_user(dev, mine + 1, 5000, &own) &&
		   !gpgpu_buffer_sync(own, 0, 5000, GPGPU_TO_DEVICE) &&
		   !finish(gpgpu_copy(shared, 0, own, 0, 5000, NULL, &job), &job) && all_bytes(p, 5000, 0x66),
	   "the device sees an application's memory");
	ok(!finish(gpgpu_fill(own, 0, 4096, 0x77777777, NULL, &job), &job) &&
		   all_bytes(mine, sizeof(mine), 0x66) && !gpgpu_buffer_sync(own, 8, 16, GPGPU_FROM_DEVICE) &&
		   all_bytes(mine, 9, 0x66) && all_bytes(mine + 9, 16, 0x77) &&
		   all_bytes(mine + 25, sizeof(mine) - 25, 0x66),
	   "and it what the device wrote, where it asks");
	is_error(gpgpu_buffer_sync(own, 4096, 905, GPGPU_TO_DEVICE), -EINVAL, "not within the memory's 5000",
		 "not behind its end");
	is_error(gpgpu_buffer_sync(own, 0, 8, 3), -EINVAL, "to the device or comes from it", "not both ways");
	is_error(gpgpu_buffer_sync(shared, 0, 8, GPGPU_TO_DEVICE), -EINVAL, "not of an application's memory",
		 "not of other buffers");
	gpgpu_buffer_destroy(own);
	memset(p, 0, 8192);

	ok(!gpgpu_buffer_create(dev, 65536, GPGPU_BUFFER_DEVICE, &device) &&
		   !finish(gpgpu_fill(device, 0, 65536, 0x11111111, NULL, &job), &job),
	   "device memory");
	ok(!gpgpu_buffer_map_range(device, 1000, 5000, GPGPU_ACCESS_READ | GPGPU_ACCESS_WRITE, &range) &&
		   all_bytes(range, 5000, 0x11),
	   "a part of it can be read");
	memset(range, 0x22, 5000);
	ok(!gpgpu_buffer_unmap(device, range), "written, and put back");
	is_error(gpgpu_buffer_unmap(device, range), -EINVAL, "not an address", "once");
	ok(!gpgpu_buffer_map_range(device, 0, 65536, GPGPU_ACCESS_READ, &range) &&
		   all_bytes(range, 1000, 0x11) && all_bytes((uint8_t *)range + 1000, 5000, 0x22) &&
		   all_bytes((uint8_t *)range + 6000, 59536, 0x11),
	   "it alone has changed");
	memset(range, 0x33, 65536);
	q = range;
	ok(!gpgpu_buffer_map_range(device, 0, 8, GPGPU_ACCESS_READ, &range) &&
		   !gpgpu_buffer_unmap(device, q) && all_bytes(range, 8, 0x11),
	   "what is mapped for reading is not written back");
	gpgpu_buffer_destroy(device);

	p[5] = 77;
	ok(!gpgpu_buffer_export(shared, &fd), "a buffer as a dma-buf");
	ok(!gpgpu_buffer_import(dev, fd, &again) && gpgpu_buffer_size(again) == 8192 &&
		   !gpgpu_buffer_map(again, &range) && ((uint8_t *)range)[5] == 77,
	   "and back: the same bytes");
	gpgpu_buffer_destroy(shared);
	ok(!finish(gpgpu_fill(again, 0, 64, 0x44444444, NULL, &job), &job) && all_bytes(range, 64, 0x44),
	   "what is left of it works when the first is gone");
	ok(!gpgpu_open(NULL, &other) && !gpgpu_buffer_import(other, fd, &twin) &&
		   !gpgpu_buffer_map(twin, &range) && ((uint8_t *)range)[5] == 0x44,
	   "another context has it, too");
	ok(!finish(gpgpu_fill(twin, 0, 8192, 0x55555555, NULL, &job), &job) &&
		   !gpgpu_buffer_map(again, &range) && all_bytes(range, 8192, 0x55),
	   "and both see what it does");
	gpgpu_buffer_destroy(again);
	gpgpu_buffer_destroy(twin);
	gpgpu_close(other);
	close(fd);
	is_error(gpgpu_buffer_import(dev, fd, &again), -EINVAL, "no dma-buf", "a descriptor that is closed");
	if (!pipe(null)) {
		is_error(gpgpu_buffer_import(dev, null[0], &again), -EINVAL, "no dma-buf",
			 "or is something else");
		close(null[0]);
		close(null[1]);
	}
}

static void *one_thread(void *arg)
{
	struct gpgpu_object *obj = arg;
	struct gpgpu_program *add = gpgpu_object_program(obj, "add");
	const uint32_t grid[3] = { 100, 1, 1 };
	struct gpgpu_arg args[2] = { 0 };
	struct gpgpu_buffer *buf;
	struct gpgpu_job *job;
	uint64_t *sum = make_buffer(4096, &buf);
	long bad = 0;

	gpgpu_arg_set_buffer(add, args, "sum", buf);
	gpgpu_arg_set_value(add, args, "value", 1);
	for (int i = 1; i <= 20; i++)
		bad += finish(gpgpu_dispatch(add, grid, NULL, args, 2, NULL, &job), &job) ||
		       *sum != (uint64_t)i * 100;
	gpgpu_buffer_destroy(buf);
	return (void *)bad;
}

/* A device is for many threads. Programs are only read by gpgpu_dispatch(). */
static void test_threads(struct gpgpu_object *obj)
{
	pthread_t threads[4];
	void *bad;
	long sum = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, one_thread, obj);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &bad);
		sum += (long)bad;
	}
	ok(sum == 0, "four threads at once");
}

int main(int argc, char **argv)
{
	struct gpgpu_device_info info;
	struct gpgpu_stats before, after;
	struct gpgpu_buffer *last;
	struct gpgpu_object *obj;
	void *p;

	folder = argc > 1 ? argv[1] : ".";
	ok(gpgpu_enumerate(&info, 1) >= 1 && info.accessible && !strcmp(info.driver, "virtio_gpgpu"),
	   "a device is found");
	if (!ok(!gpgpu_open(NULL, &dev) && !gpgpu_get_caps(dev, &caps), "and opened")) {
		printf("Bail out! %s\n", gpgpu_error_message());
		return 1;
	}
	ok(caps.max_insns && caps.num_cpus && caps.shm_size && caps.device_name[0] && caps.target[0],
	   "what it offers");
	gpgpu_get_stats(dev, &before);
	test_buffers();
	test_hash();
	test_other_maps();
	test_programs();
	obj = load("kernels");
	test_dispatch(obj);
	test_order(obj);
	test_queues(obj);
	test_events(obj);
	test_sharing();
	test_misuse();
	test_threads(obj);
	test_packets();
	test_map_values();
	test_bulk();
	ok(!gpgpu_get_stats(dev, &after) && after.jobs > before.jobs + 100 &&
		   after.packets >= before.packets + 64 && after.device_ns > before.device_ns,
	   "the counters grew");
	gpgpu_object_close(obj);

	p = make_buffer(4096, &last);
	gpgpu_close(dev);
	memset(p, 1, 4096);
	gpgpu_buffer_destroy(last);
	ok(true, "a device may be closed before what was made from it");
	printf("1..%d\n", cases);
	return failures ? 1 : 0;
}
